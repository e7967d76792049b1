"""Intervals of many groups, which share the weight of the scores and the variance of the residuals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.estimation.sampling import PRIOR, Sample
from calibrant.metrics.tails import critical_value

FEWEST_GROUPS = 5  # fewer do not show how far the variances of groups differ
FEWEST = 2
OWN_LABELS = 20.0  # labels with which a group's own variance, if larger, counts as much as that of all
PERMUTATIONS = 199
DIFFERENT = 0.1  # p-value below which groups do not share their variance


class SharedIntervals(NamedTuple):
    """Intervals of groups that share their variance.

    Attributes
    ----------
    low, high
        (G,) ends of the intervals; NaN for groups with fewer than 2 labels.
    freedom
        Degrees of freedom of the variance.
    """

    low: Floats
    high: Floats
    freedom: float


class Quadratic(NamedTuple):
    """Variance of label minus weighted score, as a polynomial of the proportion of positives."""

    constant: float
    linear: float
    square: float

    def at(self, share: Floats) -> Floats:
        """Return the variance at proportions."""
        value: Floats = self.constant + share * (self.linear + share * self.square)
        return value


def variance_by_share(label: Floats, score: Floats, factor: float) -> Quadratic:
    """Return the variance of ``label - factor * score`` as a function of the proportion of positives.

    The scores of a kind are those of its labels, shrunken towards those of all labels by as much as if two
    labels had been drawn from these.

    Parameters
    ----------
    label, score
        (n,) labels, 0 or 1, and scores of the labeled documents.
    factor
        Weight of the scores.

    Examples
    --------
    >>> label = np.repeat([0.0, 1.0], 50)
    >>> [round(value, 3) for value in variance_by_share(label, label, 0.0)]
    [0.0, 1.0, -1.0]
    """
    first, second = [], []
    for kind in (0, 1):
        own, every = kind - factor * score[label == kind], kind - factor * score
        count = len(own) + PRIOR
        first.append((own.sum() + PRIOR * every.mean()) / count)
        second.append((own @ own + PRIOR * (every @ every) / len(every)) / count)
    gap = first[1] - first[0]
    linear = second[1] - second[0] - 2 * first[0] * gap
    return Quadratic(float(second[0] - first[0] ** 2), float(linear), float(-(gap**2)))


def shared_intervals(
    sample: Sample, code: Integers, groups: int, factor: float, *, corpus: bool, level: float
) -> SharedIntervals | None:
    """Return intervals of the groups' proportions, whose residuals share one variance.

    An interval contains the proportions whose distance from the estimate is less than a critical number of
    standard errors at that proportion, as Wilson's. The variance at a proportion follows from the scores of
    all labeled positives and negatives. A factor corrects it for each group: its own variance relative to the
    shared one, shrunken towards 1 by as much as the groups' variances show that they are alike, and at least
    1.

    Parameters
    ----------
    sample
        All documents, with a simple random sample of labels.
    code, groups
        (N,) code of each document's group, and the number of groups.
    factor
        Weight of the scores, the same for all groups.
    corpus
        True if the documents are all that is asked about.
    level
        Level of the intervals.

    Returns
    -------
    SharedIntervals or None
        None if there are fewer than 5 groups with 2 labels, or if a permutation test contradicts that the
        variances are the same (p below 0.1).

    References
    ----------
    Wilson (1927); Smyth (2004), "Linear models and empirical Bayes methods for assessing differential
    expression in microarray experiments", for variances that are shrunken towards that of all groups.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth, rows = (rng.random(4000) < 0.3).astype(float), rng.choice(4000, 240, replace=False)
    >>> score = np.clip(truth * 0.5 + rng.normal(0.2, 0.1, 4000), 0, 1)
    >>> sample = Sample(score, rows, truth[rows], np.full(240, 0.06), None)
    >>> found = shared_intervals(sample, np.arange(4000) % 12, 12, 1.0, corpus=True, level=0.95)
    >>> round(float((found.high - found.low).mean()), 2)
    0.22
    """
    own = code[sample.rows]
    count, size = np.bincount(own, minlength=groups), np.bincount(code, minlength=groups)
    known = count >= FEWEST
    if np.count_nonzero(known) < FEWEST_GROUPS:
        return None
    most = np.maximum(count, 1)
    x = sample.label - factor * sample.scores
    mean = np.bincount(own, x, minlength=groups) / most
    estimate = factor * np.bincount(code, sample.score, minlength=groups) / size + mean
    variance = variance_by_share(sample.label, sample.scores, factor)
    near = (np.bincount(own, sample.label, minlength=groups) + sample.label.mean()) / (count + 1)
    residual = (x - mean[own]) ** 2 * (most / np.maximum(1, count - 1))[own] / variance.at(near)[own]
    inflation = inflation_of(residual[known[own]], own[known[own]], groups)
    if inflation is None:
        return None
    freedom = float((count[known] - 1).sum())
    t = critical_value(level, freedom, "two-sided")
    drawn = t * t * inflation * np.maximum(0, 1 / most - 1 / size)
    extra = np.zeros(groups) if corpus else t * t / size  # of documents that are drawn from more
    # (estimate - p)^2 = drawn variance(p) + extra p (1 - p)
    square = 1 - drawn * variance.square + extra
    middle = (2 * estimate + drawn * variance.linear + extra) / (2 * square)
    half = np.sqrt(np.maximum(0, middle**2 - (estimate**2 - drawn * variance.constant) / square))
    low, high = np.clip(middle - half, 0, 1), np.clip(middle + half, 0, 1)
    return SharedIntervals(np.where(known, low, np.nan), np.where(known, high, np.nan), freedom)


def inflation_of(square: Floats, group: Integers, groups: int) -> Floats | None:
    """Return the factor of each group's variance; None if the variances differ significantly.

    The squares are those of residuals over their shared variance, of expectation 1.
    """
    count = np.bincount(group, minlength=groups)
    freedom = np.maximum(count - 1, 0)
    scale = np.bincount(group, square, minlength=groups)
    ratio = np.where(count > 1, scale / np.maximum(count, 1), 1.0)
    if not _alike(square, group, count):
        return None
    overall = float(square.mean())
    kurtosis = float((square @ square) / len(square)) / overall**2 if overall > 0 else 1.0
    noise = np.maximum(kurtosis - 1, 1e-9) / np.maximum(count, 1)
    between = max(0.0, float(freedom @ ((ratio - 1) ** 2 - noise)) / float(freedom.sum()))
    weight = between / (between + noise)
    weight = np.where(ratio > 1, np.maximum(weight, count / (count + OWN_LABELS)), weight)
    factor: Floats = np.maximum(1.0, 1 + weight * (ratio - 1))
    return factor


def _alike(square: Floats, group: Integers, count: NDArray[np.int64]) -> bool:
    """Return whether a permutation test finds the groups' mean squares alike."""
    most = np.maximum(count, 1)

    def spread(values: Floats) -> float:
        return float((np.bincount(group, values, minlength=len(count)) ** 2 / most).sum())

    rng, seen = np.random.default_rng(0), spread(square)
    as_far = sum(spread(rng.permutation(square)) >= seen for _ in range(PERMUTATIONS))
    return (1 + as_far) / (1 + PERMUTATIONS) >= DIFFERENT and math.isfinite(seen)
