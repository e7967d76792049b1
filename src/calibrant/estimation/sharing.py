"""Intervals of many groups, which share the weight of the scores and the variance of the residuals."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.estimation.sampling import EQUAL, PRIOR, Sample
from calibrant.metrics.tails import critical_value

FEWEST_GROUPS = 5  # fewer do not show how far the variances of groups differ
FEWEST = 2
OWN_LABELS = 20.0  # labels with which a group's own variance, if larger, counts as much as that of all
PERMUTATIONS = 199
DIFFERENT = 0.1  # p-value below which groups do not share their variance


class SharedIntervals(NamedTuple):
    """Intervals of groups whose variances follow from the labels of all groups.

    Attributes
    ----------
    low, high
        (G,) ends of the intervals; NaN for groups with fewer than 2 labels.
    freedom
        (G,) degrees of freedom.
    below, above, error
        (G,) standard errors on both sides of the estimate, and at it, for comparisons of groups.
    shared
        True if the groups share their variance.
    """

    low: Floats
    high: Floats
    freedom: Floats
    below: Floats
    above: Floats
    error: Floats
    shared: bool


class Quadratic(NamedTuple):
    """Variance of label minus weighted score, as a polynomial of the proportion of positives."""

    constant: float
    linear: float
    square: float

    def at(self, share: Floats) -> Floats:
        """Return the variance at proportions."""
        value: Floats = self.constant + share * (self.linear + share * self.square)
        return value


def variance_by_share(label: Floats, score: Floats, factor: float, weight: Floats) -> Quadratic:
    """Return the variance of ``label - factor * score`` as a function of the proportion of positives.

    The scores of a kind are those of its labels, shrunken towards those of all labels by as much as if two
    labels had been drawn from these.

    Parameters
    ----------
    label, score
        (n,) labels, 0 or 1, and scores of the labeled documents.
    factor
        Weight of the scores.
    weight
        (n,) survey weights, with a mean of 1.

    Examples
    --------
    >>> label = np.repeat([0.0, 1.0], 50)
    >>> [round(value, 3) for value in variance_by_share(label, label, 0.0, np.ones(100))]
    [0.0, 1.0, -1.0]
    """
    first, second = [], []
    for kind in (0, 1):
        every, own = kind - factor * score, weight * (label == kind)
        count = own.sum() + PRIOR
        first.append((own @ every + PRIOR * np.average(every, weights=weight)) / count)
        second.append((own @ every**2 + PRIOR * np.average(every**2, weights=weight)) / count)
    gap = first[1] - first[0]
    linear = second[1] - second[0] - 2 * first[0] * gap
    return Quadratic(float(second[0] - first[0] ** 2), float(linear), float(-(gap**2)))


def shared_intervals(
    sample: Sample,
    code: Integers,
    groups: int,
    factor: float,
    *,
    corpus: bool,
    level: float,
    survey: Floats | None = None,
    pooled: bool = True,
) -> SharedIntervals:
    """Return intervals of the groups' proportions, whose residuals share one variance if they are alike.

    An interval contains the proportions whose distance from the estimate is less than a critical number of
    standard errors at that proportion, as Wilson's. The variance at a proportion follows from the scores of
    all labeled positives and negatives. A factor of at least 1 corrects it for each group: its own variance
    relative to the shared one, shrunken towards 1 by as much as the groups' variances show that they are
    alike.

    The groups share their variance if at least 5 have 2 labels, and a permutation test does not contradict
    that their variances are the same (p of at least 0.1). Otherwise, the factor and the degrees of freedom
    are those of the labels of each group. With survey weights, the effective number of labels (Kish 1965)
    takes the place of their number.

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
    survey
        (N,) survey weights of the documents; None if each counts alike.
    pooled
        False if the groups do not share their variance in any case.

    References
    ----------
    Wilson (1927); Korn and Graubard (1998), "Confidence intervals for proportions with small expected number
    of positive counts estimated from survey data", Survey Methodology 24, for intervals of an effective
    number of labels; Smyth (2004), "Linear models and empirical Bayes methods for assessing differential
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
    weight = np.ones(len(code)) if survey is None else survey
    own, at = code[sample.rows], weight[sample.rows]

    def total(values: Floats) -> Floats:
        return np.bincount(own, values, minlength=groups).astype(np.float64)

    count, size = np.bincount(own, minlength=groups), np.bincount(code, minlength=groups)
    every = np.bincount(code, weight, groups)
    part = at / np.where(total(at) > 0, total(at), 1)[own]
    known = (count >= FEWEST) & (total(at) > 0) & (every > 0)
    effective = np.where(known, 1 / np.where(known, total(part**2), 1), np.minimum(count, 1))
    most = np.maximum(effective, EQUAL)
    x = sample.label - factor * sample.scores
    mean = total(part * x)
    estimate = (
        factor * np.bincount(code, weight * sample.score, groups) / np.where(every > 0, every, 1) + mean
    )
    variance = variance_by_share(sample.label, sample.scores, factor, at / (at.mean() or 1.0))
    overall = (sample.label.sum() + 0.5) / (len(sample.label) + 1)
    near = (effective * total(part * sample.label) + overall) / (effective + 1)
    # A residual is the deviation from a mean that contains it.
    at_estimate = np.maximum(EQUAL, variance.at(near))
    expected = at_estimate[own] * np.maximum(EQUAL, 1 - 2 * part + (1 / most)[own])
    residual = (x - mean[own]) ** 2 / expected * (count * effective)[own] * part**2
    inside = known[own]
    inflation, alike = inflation_of(residual[inside], own[inside], groups)
    shared = pooled and alike and np.count_nonzero(known) >= FEWEST_GROUPS
    freedom = np.maximum(1.0, effective - 1)
    if shared:
        freedom = np.full(groups, float((effective[known] - 1).sum()))
    drawn = inflation * np.maximum(0, 1 - count / np.maximum(size, 1)) / most
    # Documents of a superpopulation are drawn from more.
    second = np.bincount(code, weight**2, groups) / np.where(every > 0, every, 1) ** 2
    extra = np.zeros(groups) if corpus else second

    def ends(t: Floats | float) -> list[Floats]:
        """Solve (estimate - p)^2 = t^2 (drawn variance(p) + extra p (1 - p))."""
        square = 1 + t**2 * (extra - drawn * variance.square)
        middle = (2 * estimate + t**2 * (drawn * variance.linear + extra)) / (2 * square)
        left = (estimate**2 - t**2 * drawn * variance.constant) / square
        half = np.sqrt(np.maximum(0, middle**2 - left))
        return [np.where(known, np.clip(one, 0, 1), np.nan) for one in (middle - half, middle + half)]

    low, high = ends(np.array([critical_value(level, one, "two-sided") for one in freedom.tolist()]))
    z, center = critical_value(level, math.inf, "two-sided"), np.clip(estimate, 0, 1)
    error = np.sqrt(drawn * at_estimate * most / np.maximum(1, most - 1) + extra * near * (1 - near))
    below, above = (np.abs(one - center) / z for one in ends(z))
    return SharedIntervals(low, high, freedom, below, above, error, bool(shared))


def inflation_of(square: Floats, group: Integers, groups: int) -> tuple[Floats, bool]:
    """Return the factor of each group's variance, and whether a test finds the variances alike.

    The squares are those of residuals over their shared variance, of expectation 1. The factor of variances
    that are not alike is that of the group's own labels.
    """
    count = np.bincount(group, minlength=groups)
    freedom = np.maximum(count - 1, 0)
    scale = np.bincount(group, square, minlength=groups)
    ratio = np.where(count > 1, scale / np.maximum(count, 1), 1.0)
    if not _alike(square, group, count):
        return np.maximum(1.0, ratio), False
    overall = float(square.mean())
    kurtosis = float((square @ square) / len(square)) / overall**2 if overall > 0 else 1.0
    noise = np.maximum(kurtosis - 1, 1e-9) / np.maximum(count, 1)
    between = max(0.0, float(freedom @ ((ratio - 1) ** 2 - noise)) / float(freedom.sum()))
    weight = between / (between + noise)
    weight = np.where(ratio > 1, np.maximum(weight, count / (count + OWN_LABELS)), weight)
    factor: Floats = np.maximum(1.0, 1 + weight * (ratio - 1))
    return factor, True


def _alike(square: Floats, group: Integers, count: NDArray[np.int64]) -> bool:
    """Return whether a permutation test finds the groups' mean squares alike."""
    most = np.maximum(count, 1)

    def spread(values: Floats) -> float:
        return float((np.bincount(group, values, minlength=len(count)) ** 2 / most).sum())

    rng, seen = np.random.default_rng(0), spread(square)
    as_far = sum(spread(rng.permutation(square)) >= seen for _ in range(PERMUTATIONS))
    return (1 + as_far) / (1 + PERMUTATIONS) >= DIFFERENT and math.isfinite(seen)
