"""Proportions of classes in documents whose class frequencies are not those of the labels (label shift)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.estimation.sampling import EQUAL, PRIOR, Classes, Sample
from calibrant.metrics.tails import critical_value, effective_number
from calibrant.records import Quantity

SHIFTS = ("prior-shift", "em")
OWN = 30  # effective labels of each class, from which on a group has its own error rates
FEWEST = 2  # labels of each class
STEPS = 500
SMALLEST = 1e-9  # probability
SPREAD = 10.0  # variance of the prior of the recalibration, in log-odds
ALIKE = 1e-6  # smallest eigenvalue of the information
APART = 0.95  # confidence that scores tell the classes apart, without which there is no estimate
FEW_LABELS = "a class has fewer than 2 labels"
UNKNOWN = "labels do not show that the scores tell the classes apart"
OUTSIDE = (
    "the whole interval is outside of 0 to 1: error rates of these documents are not those of the labels"
)
ONE_SIDED = "all labels of a class are in one cluster, so their variation between clusters is unknown"
NO_CLUSTERS = "the clusters of all documents are needed: write their column into the table of scores, too"


def with_classes(sample: Sample, classes: Classes | None, clusters: ArrayLike | None) -> Sample:
    """Return all documents with the scores and labels of all classes, and the clusters of the documents.

    Raises
    ------
    InputError
        If the clusters are not one per document.
    """
    count = len(sample.score)
    unit: Integers | None = np.arange(count)
    if clusters is not None:
        unit, _ = _checks.cluster_codes(clusters, "document_clusters")
        _checks.same_length("document_clusters", len(unit), "scores", count)
    elif sample.cluster is not None:
        unit = None
    if classes is None:
        both = np.stack([1 - sample.score, sample.score], axis=1)
        classes = Classes(both, sample.label.astype(np.int64), 1, None)
    return replace(sample, classes=replace(classes, unit=unit))


def own_rates(sample: Sample) -> bool:
    """Return whether a group has enough labels of each class to estimate its error rates alone."""
    return bool(_Source(sample).effective.min() >= OWN - EQUAL)


def shifted_share(
    method: str, whole: Sample, sample: Sample, period: str, within: bool, *, corpus: bool, level: float
) -> Quantity:
    """Return the proportion of the class that is counted, from the error rates of labels of other documents.

    - ``prior-shift``: the mean scores of the documents are a mixture of those of the classes (Lipton et al.
      2018). The interval contains the proportions whose mixture does not differ significantly from the
      mean scores. For two classes, this is Fieller's.
    - ``em``: maximum likelihood (Saerens et al. 2002), after a recalibration of the scores on the labels with
      one temperature and one bias per class. The variance is that of the contributions of labels and
      documents (the delta method).

    Parameters
    ----------
    method
        ``prior-shift`` or ``em``.
    whole
        All documents, whose labels tell the scores of each class.
    sample
        The documents of which the proportion is estimated.
    period
        Name of these documents, which no others have.
    within
        True if the labels are a sample of these documents.
    corpus
        True if the documents are all that is asked about.
    level
        Level of the interval.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
    probabilities"; Lipton, Wang and Smola (2018), "Detecting and correcting for label shift with black box
    predictors"; Alexandari, Kundaje and Shrikumar (2020), "Maximum likelihood with bias-corrected calibration
    is hard-to-beat at label shift adaptation".
    """
    source = _Source(whole)
    if source.count.min() < FEWEST:
        return Quantity(None, reason=FEW_LABELS)
    clustered = whole.cluster is not None
    if clustered and not source.known and not (within and method == "prior-shift"):
        return Quantity(None, reason=NO_CLUSTERS)
    if not source.tells_apart(within):
        return Quantity(None, reason=UNKNOWN)
    if method == "em":
        return _by_likelihood(source, sample, period, clustered, corpus, level)
    return _by_confusion(source, sample, within, clustered, corpus, level)


class _Source:
    """Labels that the error rates are estimated from.

    Attributes
    ----------
    score
        (n, K) scores.
    label
        (n,) classes.
    part
        (n,) weights, which add up to 1 within each class.
    unit
        (n,) codes of documents or clusters.
    confusion
        (K, K) mean scores of each class, one column per class.
    count, effective
        (K,) numbers of labels of each class, and effective numbers of their units.
    spared
        (n,) part of the variance of each label that remains in a finite corpus.
    known
        True if the clusters of all documents are known.
    """

    def __init__(self, sample: Sample) -> None:
        assert sample.classes is not None
        classes = sample.classes
        self.score, self.label, self.weight = classes.score[sample.rows], classes.label, sample.weight
        self.known = classes.unit is not None
        if classes.unit is not None:
            self.unit: Integers = classes.unit[sample.rows]
        else:
            self.unit = sample.rows if sample.cluster is None else sample.cluster
        self.width = classes.score.shape[1]
        self.spared = np.maximum(0, 1 - sample.chance)
        self.count = np.bincount(self.label, minlength=self.width)
        self.effective = np.zeros(self.width)
        self.part = np.zeros(len(self.label))
        self.confusion = np.zeros((self.width, self.width))
        self.units, self.code = np.unique(self.unit, return_inverse=True)
        for k in np.flatnonzero(self.count).tolist():
            inside = self.label == k
            self.part[inside] = self.weight[inside] / self.weight[inside].sum()
            self.confusion[:, k] = self.part[inside] @ self.score[inside]
            self.effective[k] = effective_number(np.bincount(self.code[inside], self.part[inside]))

    def errors(self, direction: Floats, within: bool) -> tuple[Floats, Floats, Floats]:
        """Return the errors of the mean scores of the classes in one direction.

        Returns the contributions (units, K) of units, whose sums of squares are the variances (CR2); the
        further variances (K,) of labels that were not seen; and the variances (K,) of one document.

        Labels of a class may all have one score: shrink as `moments_of` does, by the number of labels that
        equal probabilities would give, since the documents that the scores miss may be rarely labeled.
        """
        value = self.score @ direction
        means = direction @ self.confusion
        own = value - means[self.label]
        spared = self.spared if within else np.ones(len(own))
        every = self.weight / self.weight.sum()
        sums = np.zeros((len(self.units), self.width))
        unseen, variance = np.zeros(self.width), np.zeros(self.width)
        for k in range(self.width):
            inside = self.label == k
            spread = float(every @ (value - means[k]) ** 2)
            held = np.bincount(self.code[inside], self.part[inside], len(self.units))
            error = np.sqrt(spared) * self.part * own * inside
            prior = PRIOR / (PRIOR + len(own) * float(every[inside].sum()))
            outside = np.sqrt(np.maximum(1 - held, 1e-12))
            sums[:, k] = math.sqrt(1 - prior) * np.bincount(self.code, error, len(self.units)) / outside
            further = 1 / PRIOR + 1 / self.effective[k]
            unseen[k] = prior**2 * float(every @ spared) * spread * further
            alone = float(self.part[inside] @ own[inside] ** 2)
            variance[k] = (1 - prior) * alone + prior * spread
        return sums, unseen, variance

    def tells_apart(self, within: bool) -> bool:
        """Return whether the smallest singular value of the confusion matrix is significantly above 0."""
        left, values, right = np.linalg.svd(self.confusion)
        sums, unseen, _ = self.errors(left[:, -1], within)
        variances = right[-1] ** 2 * ((sums**2).sum(axis=0) + unseen)
        freedom = _freedom(variances, np.maximum(self.effective - 1, EQUAL))
        return bool(
            values[-1] > max(EQUAL, critical_value(APART, freedom, "two-sided") * variances.sum() ** 0.5)
        )


def _freedom(variances: Floats, freedom: Floats) -> float:
    """Return Satterthwaite's degrees of freedom of a sum of variances, at least 1."""
    total = float(variances.sum())
    if not total:
        return max(1.0, float(freedom.min()))
    return min(1e9, max(1.0, total**2 / float((variances**2 / freedom).sum())))


def _by_confusion(
    source: _Source, sample: Sample, within: bool, clustered: bool, corpus: bool, level: float
) -> Quantity:
    """Solve for the proportions of which the mean scores are a mixture, and invert tests of them."""
    from scipy.optimize import brentq

    assert sample.classes is not None
    classes, size = sample.classes, len(sample.score)
    place = classes.place
    inverse = np.linalg.inv(source.confusion)
    direction = inverse[place]
    value = classes.score @ direction
    shares = inverse @ classes.score.mean(axis=0)
    share = float(shares[place])
    if source.effective.min() < 1 + EQUAL:
        return Quantity(share, reason=ONE_SIDED)
    sums, unseen, variance = source.errors(direction, within)
    others = np.clip(shares, 0, None)
    others[place] = 0.0
    others = others / others.sum() if others.sum() > EQUAL else (np.arange(source.width) != place) / 1.0
    others = others / others.sum()
    of_clusters = 0.0  # observed variance of the mean score, by clusters
    units = 0
    if clustered and classes.unit is not None and not (within and corpus):
        _, code = np.unique(classes.unit, return_inverse=True)
        units = int(code.max()) + 1
        of_clusters = float((np.bincount(code, value - value.mean()) ** 2).sum()) / size**2
        of_clusters *= units / max(1, units - 1)
    # The documents are further draws, except those among the labeled documents.
    own = np.bincount(classes.label, minlength=source.width)
    drawn = np.zeros(source.width) if within else variance * (1 - 2 * own / source.count) / size

    def noise(at: float) -> tuple[float, Floats]:
        """Return the variance at a proportion, and its parts: of each class of labels, and of clusters."""
        mixed = (1 - at) * others
        mixed[place] = at
        joint = sums @ mixed
        labels = float(joint @ joint) + float(mixed**2 @ unseen)
        composition = at * (1 - at) / size
        documents = max(0.0, float(mixed @ drawn)) + (0.0 if corpus else composition)
        further = max(0.0, of_clusters - (composition if corpus else 0.0) - documents)
        each = mixed**2 * ((sums**2).sum(axis=0) + unseen)
        return labels + documents + further, np.append(each, further)

    inside = min(1.0, max(0.0, share))
    freedom = _freedom(noise(inside)[1], np.append(source.effective - 1, max(1, units - 1)))
    critical = critical_value(level, freedom, "two-sided")

    def excess(at: float) -> float:
        return abs(share - at) - critical * math.sqrt(noise(at)[0])

    if excess(inside) > 0:
        return Quantity(None, reason=OUTSIDE)
    low = brentq(excess, 0.0, inside) if excess(0.0) > 0 else 0.0
    high = brentq(excess, inside, 1.0) if excess(1.0) > 0 else 1.0
    return Quantity(share, low, high)


def _softmax(logits: Floats) -> Floats:
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    normal: Floats = shifted / shifted.sum(axis=1, keepdims=True)
    return normal


def _logits(log_score: Floats, theta: Floats) -> Floats:
    logits: Floats = theta[0] * log_score
    logits[:, 1:] += theta[1:]
    return logits


def _recalibrated(source: _Source) -> tuple[Floats, Floats]:
    """Return a temperature and biases (K,), and the contributions (n, K) of the labels to them."""
    log_score = np.log(np.maximum(source.score, SMALLEST))
    n, width = log_score.shape
    start = np.zeros(width)
    start[0] = 1.0
    theta, weight = start.copy(), source.weight / source.weight.mean()
    target = np.zeros((n, width))
    target[np.arange(n), source.label] = 1.0

    def parts(at: Floats) -> tuple[Floats, Floats]:
        error = target - _softmax(_logits(log_score, at))
        score = np.concatenate([(error * log_score).sum(axis=1)[:, None], error[:, 1:]], axis=1)
        return score, error

    def value(at: Floats) -> float:
        logits = _logits(log_score, at)
        top = logits.max(axis=1)
        log_likelihood = logits[np.arange(n), source.label] - top
        log_likelihood -= np.log(np.exp(logits - top[:, None]).sum(axis=1))
        return float(weight @ log_likelihood) - float(((at - start) ** 2).sum()) / (2 * SPREAD)

    for _ in range(60):
        p = _softmax(_logits(log_score, theta))
        mean = (p * log_score).sum(axis=1)
        information = np.empty((width, width))
        information[0, 0] = weight @ ((p * log_score**2).sum(axis=1) - mean**2)
        across = ((p * (log_score - mean[:, None]))[:, 1:] * weight[:, None]).sum(axis=0)
        information[0, 1:] = information[1:, 0] = across
        information[1:, 1:] = np.diag(weight @ p[:, 1:]) - p[:, 1:].T @ (p[:, 1:] * weight[:, None])
        information += np.eye(width) / SPREAD
        each = parts(theta)[0]
        step = np.linalg.solve(information, weight @ each - (theta - start) / SPREAD)
        size, before = 1.0, value(theta)
        while size > 1e-8 and value(theta + size * step) < before - 1e-10 * abs(before):
            size /= 2
        theta = theta + size * step
        if np.abs(step).max() < 1e-9:
            break
    return theta, (weight[:, None] * parts(theta)[0]) @ np.linalg.inv(information)


@dataclass(frozen=True)
class _Solution:
    """Proportions (K,), and the contributions of labels (n, K) and of documents (N, K) to their errors."""

    share: Floats
    of_labels: Floats
    of_documents: Floats


def _maximum(source: _Source, score: Floats) -> _Solution | None:
    """Maximize the likelihood of the proportions, with recalibrated scores; None if there is no maximum."""
    theta, of_theta = _recalibrated(source)
    log_source = np.log(np.maximum(source.score, SMALLEST))
    log_score = np.log(np.maximum(score, SMALLEST))
    part = source.weight / source.weight.sum()

    def ratios(at: Floats, shift: Floats | float = 0.0) -> tuple[Floats, Floats]:
        """Return the densities (N, K) of classes relative to the source, and the frequencies there."""
        prior = part @ _softmax(_logits(log_source, at)) + shift
        ratio: Floats = _softmax(_logits(log_score, at)) / prior
        return ratio, prior

    ratio, prior = ratios(theta)
    share = _beyond(ratio, maximum_likelihood_shares(ratio))

    def equation(values: Floats) -> Floats:
        each: Floats = (values[:, :-1] - values[:, -1:]) / (values @ share)[:, None]
        return each

    each = equation(ratio)
    information = each.T @ each / len(score)
    if np.linalg.eigvalsh(information)[0] < ALIKE:
        return None
    inverse = np.linalg.inv(information)
    inverse = np.append(inverse, -inverse.sum(axis=1, keepdims=True), axis=1)
    # Derivatives of the equation by the recalibration, and by the class frequencies of the source.
    step = 1e-5
    by_theta = [
        (equation(ratios(theta + move)[0]) - equation(ratios(theta - move)[0])).mean(axis=0) / (2 * step)
        for move in step * np.eye(len(theta))
    ]
    by_prior = [
        (equation(ratios(theta, move)[0]) - equation(ratios(theta, -move)[0])).mean(axis=0) / (2 * step)
        for move in step * np.eye(len(theta))
    ]
    of_prior = part[:, None] * (_softmax(_logits(log_source, theta)) - prior)
    of_labels = (of_theta @ np.array(by_theta) + of_prior @ np.array(by_prior)) @ inverse
    return _Solution(share, of_labels, (each - each.mean(axis=0)) @ inverse / len(score))


def _by_likelihood(
    source: _Source, sample: Sample, period: str, clustered: bool, corpus: bool, level: float
) -> Quantity:
    """Return the maximum of the likelihood, with an interval by the delta method."""
    assert sample.classes is not None
    classes = sample.classes
    assert classes.unit is not None
    if period not in classes.solved:
        classes.solved[period] = _maximum(source, classes.score)
    solution = classes.solved[period]
    if solution is None:
        return Quantity(None, reason=UNKNOWN)
    place, size = classes.place, len(classes.score)
    # The mean over the units of a class has one degree of freedom less.
    larger = np.sqrt(source.effective / np.maximum(source.effective - 1, EQUAL))[source.label]
    of_labels = larger * solution.of_labels[:, place]
    units, code = np.unique(np.concatenate([source.unit, classes.unit]), return_inverse=True)
    sums: Floats = np.bincount(code[: len(source.unit)], of_labels, len(units)).astype(np.float64)
    alone = float(sums @ sums)
    clusters = len(np.unique(classes.unit)) if clustered else 0
    scale = math.sqrt(clusters / max(1, clusters - 1)) if clustered else 1.0
    sums += scale * np.bincount(code[len(source.unit) :], solution.of_documents[:, place], len(units))
    variance, value = float(sums @ sums), float(solution.share[place])
    inside = np.clip(solution.share, 0, None)
    estimate = float(inside[place] / inside.sum())
    if corpus:  # the proportions in the corpus vary less from their estimate than those of more documents
        variance = max(variance - estimate * (1 - estimate) / size, alone)
    of_class = np.bincount(source.label, of_labels**2, source.width)
    further = max(0.0, variance - alone) if clustered else 0.0
    freedom = np.maximum(np.append(source.effective - 1, max(1, clusters - 1)), EQUAL)
    inverse_freedom = float((np.append(of_class, further) ** 2 / freedom).sum())
    number = min(1e9, max(1.0, variance**2 / max(inverse_freedom, 1e-300)))
    half = critical_value(level, number, "two-sided") * math.sqrt(variance)
    low, high = value - half, value + half
    if low - half > 1 or high + half < 0:
        return Quantity(None, reason=OUTSIDE)
    low, high = min(low, 1 - half / 2), max(high, half / 2)  # the estimate of a class without documents
    return Quantity(estimate, max(0.0, low), min(1.0, high))


def maximum_likelihood_shares(ratio: Floats) -> Floats:
    """Return the mixture proportions (K,) of classes by expectation-maximization.

    Parameters
    ----------
    ratio
        (N, K) densities of the documents in each class, relative to any common measure: probabilities of the
        classes divided by the frequencies of the classes for which these hold.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), equations 9 and 10.

    Examples
    --------
    >>> ratio = np.array([[1.8, 0.2], [1.8, 0.2], [0.2, 1.8], [1.8, 0.2]])
    >>> maximum_likelihood_shares(ratio).round(3).tolist()
    [0.812, 0.188]
    """
    share = np.full(ratio.shape[1], 1 / ratio.shape[1])
    for _ in range(STEPS):
        new = share * (ratio / np.maximum(ratio @ share, 1e-300)[:, None]).mean(axis=0)
        done = np.abs(new - share).max() < 1e-10
        share = new
        if done:
            break
    normal: Floats = share / share.sum()
    return normal


def _beyond(ratio: Floats, share: Floats) -> Floats:
    """Return the maximum without the condition that proportions are positive, for intervals at the edge."""
    free = share[:-1].copy()
    apart = ratio[:, :-1] - ratio[:, -1:]

    def value(at: Floats) -> float:
        mixed = ratio[:, -1] + apart @ at
        return float(np.log(mixed).mean()) if (mixed > 0).all() else -math.inf

    before = value(free)
    for _ in range(50):
        each = apart / (ratio[:, -1] + apart @ free)[:, None]
        step = np.linalg.lstsq(each.T @ each / len(each), each.mean(axis=0), rcond=None)[0]
        size = 1.0
        while size > 1e-6 and value(free + size * step) < before:
            size /= 2
        if size <= 1e-6:
            break
        free, before = free + size * step, value(free + size * step)
        if np.abs(step).max() < 1e-9:
            break
    return np.append(free, 1 - free.sum())
