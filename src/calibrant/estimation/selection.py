"""Tell from the data if documents were labeled with other probabilities than stated."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.estimation.sampling import EQUAL, Sample, cluster_sums, effective_clusters
from calibrant.exceptions import InputError
from calibrant.metrics.tails import tail

CONTRADICTED = 0.01  # p-value below which labels contradict the mean score
ENOUGH = 10  # labels, from which on the mean error is tested
FEW_OF_A_KIND = 5  # labels of a kind, below which the kind of score is not tested
NEARLY_ALL = 0.98  # proportion of scores of 0.5 or more, that are confidences of the predicted label
LEAST_CHANCE = 1e-30  # the sums of squares of its inverse are finite
RARE = 0.001  # probability that a simple random sample is warned of
ENOUGH_EXPECTED = (
    5.0  # expected labels of each group, from which on the statistic has a chi-square distribution
)
CHANCE = (
    "inclusion_probability must be the probability of being labeled, not a relative one or a survey weight"
)


def _improbable(distance: float, variance: float, largest: float) -> bool:
    """Return whether fewer than one sample in 1,000 has this distance of a sum from its mean (Bernstein)."""
    return distance * distance > 2 * math.log(2 / RARE) * (variance + largest * distance / 3)


def rates_differ(sizes: Integers, counts: Integers, dependent: float) -> bool:
    """Return whether groups were labeled at other rates than in a simple random sample of all documents.

    Parameters
    ----------
    sizes, counts
        (G,) documents and labels of each group.
    dependent
        Labels per independent label, because of clusters.

    Examples
    --------
    >>> rates_differ(np.array([500, 500]), np.array([55, 45]), 1.0)
    False
    >>> rates_differ(np.array([500, 500]), np.array([90, 10]), 1.0)
    True
    """
    from calibrant._special import betainc, gammaincc

    n, part = float(counts.sum()) / dependent, sizes / sizes.sum()
    if len(sizes) < 2 or not n:
        return False
    seen, expected = counts / dependent, part * n
    if expected.min() >= ENOUGH_EXPECTED:
        spared = max(1e-9, 1 - float(counts.sum()) / float(sizes.sum()))
        statistic = float(((seen - expected) ** 2 / expected).sum()) / spared
        return bool(gammaincc((len(sizes) - 1) / 2, statistic / 2) < RARE)
    # Few are expected: the smallest of the groups' binomial tails, adjusted for their number.
    least = 1.0
    for k, p in zip(seen.tolist(), part.tolist(), strict=True):
        above = 1.0 if k <= 0 else float(betainc(k, n - k + 1, p))
        below = 1.0 if k >= n else float(betainc(n - k, k + 1, 1 - p))
        least = min(least, above, below)
    return 2 * len(sizes) * least < RARE


def weights_warning(sample: Sample) -> str | None:
    """Return a warning if weighted labeled documents differ from all documents in number or mean score."""
    weight, documents = sample.weight, len(sample.score)
    implied, dependent = float(weight.sum()), len(weight) / effective_clusters([sample])
    largest = dependent * float(weight.max())
    if _improbable(abs(implied - documents), dependent * float(weight @ (weight - 1)), largest):
        return f"the probabilities imply {implied:,.0f} documents, and there are {documents:,}: {CHANCE}"
    mean, weighted = float(sample.score.mean()), float(weight @ sample.scores) / implied
    # The variance is the largest that these weights can have: rare scores may be missing from the sample.
    if not _improbable(
        abs(weighted - mean) * implied, largest * documents * float(sample.score.var()), largest
    ):
        return None
    return (
        f"the mean score is {weighted:.2g} for labeled documents, weighted by 1 / probability, and "
        f"{mean:.2g} for all: {CHANCE}"
    )


def selection_warning(parts: Sequence[Sample]) -> str | None:
    """Return a warning if scores show that documents were chosen with other than equal probabilities."""
    size = np.array([len(one.score) for one in parts]) / sum(len(one.score) for one in parts)
    share = size / [len(one.rows) for one in parts]
    dependent = sum(len(one.rows) for one in parts) / effective_clusters(parts)
    for what, center in (("score", 0.0), ("distance of the scores from 0.5", 0.5)):
        values = [(np.abs(one.scores - center), np.abs(one.score - center)) for one in parts]
        variance = dependent * float(size * share @ [every.var() for _, every in values])
        means = np.array([(labeled.mean(), every.mean()) for labeled, every in values])
        labeled, every = (size @ means).tolist()
        if _improbable(abs(labeled - every), variance, dependent * float(share.max())):
            return (
                f"the mean {what} is {labeled:.2g} for labeled documents and {every:.2g} for all, so they "
                "were not equally likely to be labeled: give the probabilities (inclusion_probability)"
            )
    return None


def mean_error(sample: Sample) -> tuple[float, float]:
    """Return the mean of score minus label over all documents, by the labels, and its p-value."""
    error = sample.scores - sample.label
    share = sample.weight / sample.weight.sum()
    mean = float(share @ error)
    sums = cluster_sums([sample], error - mean) / sample.weight.sum()
    spread, freedom = math.sqrt(float(sums @ sums)), max(1.0, effective_clusters([sample]) - 1)
    if spread <= 0:
        return mean, 0.0 if abs(mean) > EQUAL else 1.0
    return mean, tail(mean / spread, freedom, "two-sided") or 0.0


def mean_error_warning(sample: Sample) -> str | None:
    """Return a warning if labels contradict the mean score at the 1 % level."""
    if len(sample.rows) < ENOUGH:
        return None
    mean, p_value = mean_error(sample)
    if p_value >= CONTRADICTED:
        return None
    way = "high" if mean > 0 else "low"
    shown = "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"
    return (
        f"labels contradict it: scores are {abs(mean):.2g} too {way} on average ({shown}); do not report it"
    )


def kind_of_score(sample: Sample) -> str | None:
    """Return a warning if labels show that scores are no probabilities of a positive label.

    Confidences of the predicted label are at least 0.5, and labels of few documents are positive, or scores
    of positive documents are lower than those of negative ones (0.1 % level).

    Parameters
    ----------
    sample
        All documents.

    Examples
    --------
    >>> label, right = np.repeat([1.0, 0.0], [20, 80]), np.tile([0.9, 0.8], 50)
    >>> sample = Sample(right, np.arange(100), label, np.full(100, 0.5), None)
    >>> "confidence of the predicted label" in kind_of_score(sample)
    True
    """
    if min(sample.kinds) < FEW_OF_A_KIND or not (sample.score % 1).any():
        return None
    mean, p_value = mean_error(sample)
    if float(np.mean(sample.score >= 0.5)) >= NEARLY_ALL and mean > 0 and p_value < RARE:
        most = 100 * float(np.mean(sample.score >= 0.5))
        positive = 100 * float(sample.weight @ sample.label / sample.weight.sum())
        return (
            f"{most:.0f} % of the scores are 0.5 or more, and labels say that {positive:.0f} % of the "
            "documents are positive: the scores may be the confidence of the predicted label. Write 1 "
            "- score for documents that the model predicts as negative; or give the predicted classes as "
            "scores, with the column of the confidence"
        )
    label = sample.label - sample.weight @ sample.label / sample.weight.sum()
    score = sample.scores - sample.weight @ sample.scores / sample.weight.sum()
    sums = cluster_sums([sample], label * score)
    spread = math.sqrt(float(sums @ sums))
    slope = float(sample.weight @ (label * score))
    if slope >= 0 or (tail(slope / spread, effective_clusters([sample]), "two-sided") or 0.0) >= RARE:
        return None
    return (
        "labeled positives have lower scores than labeled negatives: the scores may be of the other class, "
        "or the confidence of the predicted label. Write 1 - score where the model predicts the other class"
    )


def check_inclusion(probabilities: Floats, message: str) -> None:
    """Raise `InputError` if a selection probability is too small to divide by.

    The message may name the ``{row}`` and the ``{probability}``.
    """
    row = int(probabilities.argmin())
    if probabilities[row] < LEAST_CHANCE:
        message = message.format(row=row, probability=probabilities[row])
        hint = "give the probability, above 0, with which it was selected"
        raise InputError(message, hint, code="parameter", row=row)


def checked_sample(
    scores: ArrayLike,
    labelled: ArrayLike,
    labels: ArrayLike,
    inclusion_probabilities: ArrayLike | None,
    clusters: ArrayLike | None,
) -> Sample:
    """Return documents and labels, after checks."""
    score = np.asarray(_checks.scores(scores, "scores"), np.float64)
    label = np.asarray(_checks.labels(labels, "labels"), np.float64)
    rows = np.asarray(labelled)
    if rows.ndim != 1 or rows.dtype.kind not in "iu":
        message = f"labelled has shape {rows.shape} and dtype {rows.dtype}"
        raise InputError(message, "give positions of documents, counted from 0", code="shape")
    _checks.same_length("labels", len(label), "labelled", len(rows))
    if not 0 <= rows.min() <= rows.max() < len(score):
        message = f"labelled has positions from {rows.min()} to {rows.max()}"
        raise InputError(message, f"positions are from 0 to {len(score) - 1}", code="parameter")
    twice = np.flatnonzero(np.bincount(rows) > 1)
    if len(twice):
        message = f"document {twice[0]} is labeled twice"
        raise InputError(message, "give each document one label", code="parameter")
    cluster, _ = _checks.clusters_of(clusters, "labels", len(label))
    chance = np.ones(len(rows))
    if inclusion_probabilities is not None:
        chance = np.asarray(_checks.scores(inclusion_probabilities, "inclusion_probabilities"), np.float64)
        _checks.same_length("inclusion_probabilities", len(chance), "labels", len(label))
        check_inclusion(
            chance, "inclusion_probabilities[{row}] is {probability:g}, but the document is labeled"
        )
    return Sample(score, rows.astype(np.int64), label, chance, cluster)


def codes_of(values: ArrayLike | None, name: str, count: int) -> Integers | None:
    """Return codes in order of the labeled documents' strata or rounds; None if all are in one."""
    if values is None:
        return None
    codes, names = _checks.cluster_codes(values, name)
    _checks.same_length(name, len(codes), "labels", count)
    if name == "strata":
        return codes
    numbers = np.asarray(values, np.float64)
    return None if len(names) == 1 else np.unique(numbers, return_inverse=True)[1]
