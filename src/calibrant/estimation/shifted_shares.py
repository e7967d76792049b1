"""Proportions of classes in groups whose class frequencies differ from those of the labels (label shift)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, one_of, proportion
from calibrant.estimation.regression_variance import sums_of
from calibrant.estimation.results.label_shift import LabelShift, ShiftedShare
from calibrant.exceptions import InputError
from calibrant.metrics.tails import NARROW, critical_value, effective_number
from calibrant.records import Quantity

METHODS = ("confusion", "em")
ENOUGH = 30  # labels of each class, from which on a group has its own error rates
FEWEST = 2  # labels of each class
STEPS = 500
SMALLEST = 1e-9  # probability
SPREAD = 10.0  # variance of the prior of the recalibration, in log-odds
ALIKE = 1e-3  # smallest singular value of the confusion matrix
NO_LABELS = "a class has fewer than 2 labels"
UNKNOWN = "the probabilities do not tell the classes apart"
OUTSIDE = "the whole interval is outside of 0 to 1: error rates of this group are not those of the labels"


@dataclass(frozen=True)
class _Source:
    """Labels that the error rates are estimated from: probabilities (n, K), classes, weights and units."""

    score: Floats
    label: Integers
    weight: Floats
    unit: Integers

    @property
    def kinds(self) -> Floats:
        """(K,) effective numbers of labels (or clusters) of each class."""
        found = np.zeros(self.score.shape[1])
        for k in range(len(found)):
            inside = self.label == k
            if inside.any():
                units, code = np.unique(self.unit[inside], return_inverse=True)
                found[k] = effective_number(np.bincount(code, self.weight[inside], minlength=len(units)))
        return found


@dataclass(frozen=True)
class _Solution:
    """Proportions (K,), and the contributions of labels (n, K) and of documents (N, K) to their errors."""

    share: Floats
    of_labels: Floats
    of_documents: Floats


def label_shift(
    probabilities: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    classes: list[str] | None = None,
    clusters: ArrayLike | None = None,
    inclusion_probabilities: ArrayLike | None = None,
    method: str = "confusion",
    population: str = "corpus",
    level: float = 0.95,
) -> LabelShift:
    """Estimate the proportion of each class in each group, which may have no labels.

    The method assumes that documents of a class have the same distribution of probabilities in all groups,
    and that only the frequencies of classes differ. Groups with at least 30 labels of each class have their
    own error rates, which needs no such assumption.

    - ``confusion``: mean probabilities, multiplied by the inverse of the soft confusion matrix (the mean
      probabilities of each class of the labels).
    - ``em``: maximum likelihood by expectation-maximization, after a recalibration of the probabilities on
      the labels (one temperature, and one bias per class). It is more precise, and also assumes that these
      recalibrated probabilities are correct.

    Parameters
    ----------
    probabilities
        (N, K) probabilities of the classes of all documents.
    labelled
        (n,) positions of the labeled documents, from 0.
    labels
        (n,) their classes, as positions from 0 to K - 1.
    groups
        (N,) groups of the documents; None for one.
    classes
        Names of the K classes. None: their positions.
    clusters
        (N,) clusters of the documents; None if they are independent.
    inclusion_probabilities
        (n,) probabilities of being labeled; None if they are equal.
    method
        ``confusion`` or ``em``.
    population
        ``corpus``: the documents are all that is asked about. ``superpopulation``: a sample of more.
    level
        Level of the intervals.

    Notes
    -----
    The variance is that of the sum of the contributions of labels and documents (the delta method), added
    within clusters. It includes that of the confusion matrix, or of the recalibration.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), "Adjusting the outputs of a classifier to new a priori
    probabilities"; Lipton, Wang and Smola (2018), "Detecting and correcting for label shift with black box
    predictors"; Alexandari, Kundaje and Shrikumar (2020), "Maximum likelihood with bias-corrected calibration
    is hard-to-beat at label shift adaptation".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> year = np.repeat([2020, 2021], 1000)
    >>> truth = (rng.random(2000) < np.where(year == 2020, 0.5, 0.1)).astype(int)
    >>> positive = np.clip(0.3 + 0.4 * truth + 0.1 * rng.normal(size=2000), 0.01, 0.99)
    >>> scores = np.stack([1 - positive, positive], axis=1)
    >>> found = label_shift(scores, np.arange(300), truth[:300], groups=year)
    >>> [(one.group, one.label, round(one.share.estimate, 2)) for one in found.shares if one.label == "1"]
    [('2020', '1', 0.46), ('2021', '1', 0.13)]
    """
    one_of(method, METHODS, "method")
    one_of(population, ("corpus", "superpopulation"), "population")
    proportion(level, "level")
    score = _probabilities(probabilities)
    count, width = score.shape
    rows, label = np.asarray(labelled, np.int64), _classes(labels, width)
    _checks.same_length("labels", len(label), "labelled", len(rows))
    if len(rows) and (rows.min() < 0 or rows.max() >= count or len(np.unique(rows)) < len(rows)):
        message = "a position of a labeled document is outside of the documents, or there twice"
        raise InputError(message, "give each position once, from 0", code="parameter")
    names = [str(place) for place in range(width)] if classes is None else list(map(str, classes))
    _checks.same_length("classes", len(names), "columns of probabilities", width)
    weight = np.ones(len(rows))
    if inclusion_probabilities is not None:
        chance = np.asarray(inclusion_probabilities, np.float64)
        _checks.same_length("inclusion_probabilities", len(chance), "labels", len(rows))
        if not ((chance > 0) & (chance <= 1)).all():
            message = "an inclusion probability is outside (0, 1]"
            raise InputError(message, "give the probability of being labeled", code="score-range")
        weight = 1 / chance
    cluster, number = _checks.clusters_of(clusters, "probabilities", count)
    unit = np.arange(count) if cluster is None else cluster
    kinds, code = ["all"], np.zeros(count, np.int64)
    if groups is not None:
        code, found = _checks.cluster_codes(groups, "groups")
        _checks.same_length("groups", len(code), "probabilities", count)
        kinds = [str(one) for one in found]
    source = _Source(score[rows], label, weight, unit[rows])
    shares: list[ShiftedShare] = []
    for place, name in enumerate(kinds):
        own = code[rows] == place
        inside = _Source(score[rows[own]], label[own], weight[own], unit[rows[own]])
        pooled = bool((inside.kinds < ENOUGH - 1e-9).any()) if own.any() else True
        used = source if pooled else inside
        documents = np.flatnonzero(code == place)
        found_shares, few = _estimate(
            used,
            score[documents],
            unit[documents],
            method,
            population == "corpus",
            cluster is not None,
            level,
        )
        shares += [
            ShiftedShare(
                group=name,
                label=names[k],
                documents=len(documents),
                labels=len(used.label),
                rates="pooled" if pooled else "own",
                share=one,
                few_warning=few,
            )
            for k, one in enumerate(found_shares)
        ]
    return LabelShift(
        method=method,
        documents=count,
        labelled=len(rows),
        clusters=None if cluster is None else number,
        population=population,
        level=level,
        shares=tuple(shares),
    )


def _probabilities(values: ArrayLike) -> Floats:
    try:
        score = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        score = np.zeros(0)
    if score.ndim != 2 or score.shape[1] < 2:
        message = "the probabilities are not a table of numbers, with one column per class"
        raise InputError(message, "pass an array of documents by classes", code="parameter")
    missing = np.flatnonzero(~np.isfinite(score).all(axis=1))
    if len(missing):
        message = f"a probability of row {missing[0]} is missing or infinite"
        raise InputError(message, "drop the row, or predict it again", code="class-sum", row=int(missing[0]))
    wrong = np.flatnonzero((score < 0).any(axis=1) | (np.abs(score.sum(axis=1) - 1) > 0.01))
    if len(wrong):
        message = f"the probabilities of row {wrong[0]} are negative, or do not add up to 1"
        raise InputError(message, "pass one probability per class", code="class-sum", row=int(wrong[0]))
    normal: Floats = score / score.sum(axis=1, keepdims=True)
    return normal


def _classes(labels: ArrayLike, width: int) -> Integers:
    try:
        label = np.asarray(labels, np.float64)
    except (TypeError, ValueError):
        message, hint = "the labels are no numbers", f"give positions from 0 to {width - 1}"
        raise InputError(message, hint, code="label-value") from None
    wrong = np.flatnonzero(~((label >= 0) & (label < width) & (label == np.round(label))))
    if len(wrong):
        message = f"the label {label[wrong[0]]:g} is no class"
        hint = f"give positions from 0 to {width - 1}"
        raise InputError(message, hint, code="label-value", row=int(wrong[0]))
    return label.astype(np.int64)


def _estimate(
    source: _Source, score: Floats, unit: Integers, method: str, corpus: bool, clustered: bool, level: float
) -> tuple[list[Quantity], str | None]:
    """Return the proportion of each class in one group, and a warning of few labels."""
    width, kinds = score.shape[1], source.kinds
    if (kinds < FEWEST - 1e-9).any():
        return [Quantity(None, reason=NO_LABELS)] * width, None
    solution = (_by_confusion if method == "confusion" else _by_likelihood)(source, score)
    if solution is None:
        return [Quantity(None, reason=UNKNOWN)] * width, None
    least = float(kinds.min())
    few = None
    if least < ENOUGH - 1e-9:
        few = f"the labels of a class count as {least:.1f} equal ones, fewer than {ENOUGH}: {NARROW}"
    inside = np.clip(solution.share, 0, None)
    inside = inside / inside.sum()
    both = np.concatenate([source.unit, unit])
    names, code = np.unique(both, return_inverse=True)
    # The mean over the units of a class has one degree of freedom less.
    larger = np.sqrt(kinds / (kinds - 1))[source.label]
    of_labels = sums_of(solution.of_labels * larger[:, None], code[: len(source.unit)], len(names))
    of_documents = sums_of(solution.of_documents, code[len(source.unit) :], len(names))
    units = len(np.unique(unit))
    if clustered:
        of_documents *= math.sqrt(units / max(1, units - 1))
    whole = of_labels + of_documents
    variance, alone = (whole**2).sum(axis=0), (of_labels**2).sum(axis=0)
    if corpus:  # the proportions in the corpus vary less from their estimate than those of more documents
        variance = np.maximum(variance - inside * (1 - inside) / len(score), alone)
    freedom = _freedom(source, solution, variance, alone, units if clustered else 0)
    found = []
    for k in range(width):
        half = critical_value(level, float(freedom[k]), "two-sided") * math.sqrt(float(variance[k]))
        low, high = solution.share[k] - half, solution.share[k] + half
        if low - half > 1 or high + half < 0:
            found.append(Quantity(None, reason=OUTSIDE))
            continue
        low, high = min(low, 1 - half / 2), max(high, half / 2)  # the estimate of a class without documents
        found.append(Quantity(float(inside[k]), max(0.0, float(low)), min(1.0, float(high))))
    return found, few


def _freedom(source: _Source, solution: _Solution, variance: Floats, alone: Floats, units: int) -> Floats:
    """Return Satterthwaite's degrees of freedom (K,) of the variances."""
    inverse, kinds = np.zeros(len(variance)), source.kinds
    for k in range(len(kinds)):
        part = (solution.of_labels[source.label == k] ** 2).sum(axis=0)
        inverse += part**2 / max(1e-9, kinds[k] - 1)
    if units:
        inverse += np.maximum(0, variance - alone) ** 2 / max(1, units - 1)
    freedom: Floats = np.maximum(1.0, variance**2 / np.maximum(inverse, 1e-300))
    return np.minimum(freedom, 1e9)


def _by_confusion(source: _Source, score: Floats) -> _Solution | None:
    """Solve for the proportions of which the mean probabilities are a mixture (Lipton et al. 2018)."""
    width = score.shape[1]
    confusion = np.empty((width, width))
    part = np.empty(len(source.label))
    for k in range(width):
        inside = source.label == k
        part[inside] = source.weight[inside] / source.weight[inside].sum()
        confusion[:, k] = part[inside] @ source.score[inside]
    if np.linalg.svd(confusion, compute_uv=False)[-1] < ALIKE:
        return None
    inverse = np.linalg.inv(confusion)
    mean = score.mean(axis=0)
    share = inverse @ mean
    inside_share = np.clip(share, 0, 1)
    scale = part * inside_share[source.label]
    of_labels = -scale[:, None] * ((source.score - confusion[:, source.label].T) @ inverse.T)
    return _Solution(share, of_labels, (score - mean) @ inverse.T / len(score))


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


def _by_likelihood(source: _Source, score: Floats) -> _Solution | None:
    """Maximize the likelihood of the proportions (Saerens et al. 2002), with recalibrated probabilities."""
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
    share = maximum_likelihood_shares(ratio)
    share = _beyond(ratio, share)

    def equation(values: Floats) -> Floats:
        each: Floats = (values[:, :-1] - values[:, -1:]) / (values @ share)[:, None]
        return each

    each = equation(ratio)
    information = each.T @ each / len(score)
    if np.linalg.eigvalsh(information)[0] < ALIKE**2:
        return None
    inverse = np.linalg.inv(information)
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
    of_documents = (each - each.mean(axis=0)) @ inverse / len(score)

    def completed(values: NDArray[Any]) -> Floats:
        return np.concatenate([values, -values.sum(axis=1, keepdims=True)], axis=1)

    return _Solution(share, completed(of_labels), completed(of_documents))


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
