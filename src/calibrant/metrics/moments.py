"""Moments of the debiased squared error at every resolution: under calibration, and per unit of error.

A resolution joins the fine bins of a table into wider ones. Its statistic T_m estimates
theta_m = E[(E[y - q | bin])^2], which is at most theta and grows with the number of bins.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats
from calibrant._kernels import clusters as kernels
from calibrant.metrics.crossed import two_way
from calibrant.metrics.residuals import CrossedResiduals, Residuals, sum_by

Group = NDArray[np.int32]

LARGEST_EFFECT = 1e12  # of a design: more can only come from rounding
_FEWEST_CLUSTERS = 1.5  # effective number; below, one cluster has more than three quarters of the weight
_STEP = 1.4  # a resolution has at least this factor of bins more than the one before
_MOST_DOUBLINGS = 32  # bins; beyond, each resolution has four times as many bins as the one before
_MOST_WINDOWS = 40  # between which covariances of clusters are summed
_LEAST_SIGNAL = 1 / 3  # of the squared gaps of windows, however little of them is not noise
_LEAST_DESIGN_EFFECT = 0.5
_LARGEST_SKEWNESS = 8**0.5  # of a single squared normal; beyond it a gamma distribution is nearly an atom
_LARGEST_RELATIVE_ERROR = 0.4  # of the null variance by residuals; from there on the scores alone give it
_ROUNDING = 1e-14
_LEAST = 1e-150  # squared error, and null variance: the squares of smaller ones underflow


@dataclass(frozen=True)
class Moments:
    """Moments of T for inference about theta, at one resolution.

    Attributes
    ----------
    estimate
        T, the signed debiased squared error.
    null_variance
        Variance of T if the scores are calibrated (V2): of its degenerate part.
    null_third
        Third cumulant of T if the scores are calibrated.
    slope
        First-order variance of T per unit of theta, from the labels: 4 E[delta^2 p (1 - p)] / (n theta).
    curvature
        First-order variance of T per unit of theta^2, from the scores: Var(delta^2) / (n theta^2). Its
        inverse is about the effective number of pairs that carry theta.
    bins
        Number of bins.
    """

    estimate: float
    null_variance: float
    null_third: float
    slope: float
    curvature: float
    bins: int

    @property
    def null_skewness(self) -> float:
        """Skewness of T if the scores are calibrated."""
        if self.null_variance <= _LEAST:
            return 0.0
        return min(self.null_third / math.sqrt(self.null_variance) ** 3, _LARGEST_SKEWNESS)

    def variance(self, theta: float) -> float:
        """Return the variance of T for a squared error ``theta``."""
        return self.null_variance + self.slope * theta + self.curvature * theta**2


def undefined(table: Residuals) -> str | None:
    """Return the reason why there is no estimate, or None."""
    if not (table.denominator > 1e-9 * table.weight**2).all():
        return "no bin holds pairs of two clusters (or two pairs)"
    if 0 < table.effective_clusters < _FEWEST_CLUSTERS:
        share = table.largest_cluster
        return (
            f"one cluster has {share:.0%} of the weight, and pairs of one cluster say nothing without others"
        )
    return None


def estimate_of(table: Residuals) -> float:
    """Return T, the sum over bins of (W_b / W) times the mean product of residuals of different units."""
    return float(np.sum(table.factor * (table.residual**2 - table.unit[1])))


def moments(table: Residuals) -> Moments | None:
    """Return T and its moments in the finest bins; None if `undefined` gives a reason."""
    return None if undefined(table) else moments_by_resolution(table)[-1]


def moments_by_resolution(table: Residuals) -> list[Moments]:
    """Return T and its moments for each resolution of a defined table, the finest last.

    The variance per unit of error, and the covariances of clusters, come from *windows*: the bins themselves
    where they are few, else those of the last resolution with at most sqrt(n) bins (40 with clusters).
    """
    if isinstance(table, CrossedResiduals):
        return _crossed_moments(table)
    groups = _resolutions(table)
    count = [int(group[-1]) + 1 for group in groups]
    most = max(_MOST_WINDOWS if table.clusters else table.total_n**0.5, count[0])
    place = sum(bins <= most for bins in count) - 1
    windows = _Windows.of(table.joined(groups[place]))
    finer = groups[place + 1 :]
    results = []
    for group, unit in zip(finer, [*_power_sums(table, finer[:-1]), None], strict=bool(finer)):
        bins = table if group is groups[-1] else table.joined(group, cells=False, unit=unit)
        results.append(_moments(bins, groups[place][_starts(group)], windows))
    # Coarser ones, each from the one before, which has fewer cells than the table.
    coarse, before = windows, groups[place]
    for group in groups[place::-1]:
        if group is not before:
            coarse, before = coarse.joined(group[_starts(before)]), group
        results.insert(0, _moments(coarse.table, np.arange(len(coarse.gap), dtype=np.int32), coarse))
    return results


def _crossed_moments(table: CrossedResiduals) -> list[Moments]:
    """Return T of pairs that share no cluster, with the two-way sums of its variances, by resolution."""
    of_ways = [moments_by_resolution(way) for way in table.ways]
    results = []
    for group, *ways in zip(_resolutions(table), *of_ways, strict=True):
        bins = table.joined(group)
        # Each kind leaves out fewer pairs than T does: its factors are too small.
        scales = []
        for way in bins.ways:
            squares = way.unit[1] ** 2
            of_way = float(np.sum(way.factor**2 * squares))
            scales.append(float(np.sum(bins.factor**2 * squares)) / of_way if of_way > 0 else 1.0)
        null, slope, curvature = (
            two_way(values)
            for values in (
                [way.null_variance * scale for way, scale in zip(ways, scales, strict=True)],
                [way.slope for way in ways],
                [way.curvature for way in ways],
            )
        )
        third = max(way.null_skewness for way in ways[:2]) * null**1.5
        estimate = estimate_of(bins)
        rounding = _ROUNDING * float(np.sum(bins.pair[2]) / np.sum(bins.weight))  # of sums that are fixed
        estimate = estimate if abs(estimate) > rounding else 0.0
        results.append(Moments(estimate, null, third, slope, curvature, len(bins.n)))
    return results


def _resolutions(table: Residuals) -> list[Group]:
    """Return the bin of each fine bin at each resolution: 1, 2, 4, ... bins in each part, and the finest.

    The bins of a resolution have equal sums of w sqrt(q (1 - q)): between equal numbers of pairs and equal
    information.
    """
    mean = np.clip(table.score / table.weight, 0, 1)
    size = table.weight * np.sqrt(mean * (1 - mean))
    part = np.cumsum(np.diff(table.part, prepend=table.part[0]) > 0)
    whole = np.bincount(part, size)
    before = np.cumsum(size) - size / 2 - (np.cumsum(whole) - whole)[part]
    place = np.divide(before, whole[part], out=np.zeros(len(size)), where=whole[part] > 0)
    groups: list[Group] = []
    m = 1
    while m < len(mean):
        cell = part * m + np.clip((place * m).astype(np.int64), 0, m - 1)
        group = np.cumsum(np.diff(cell, prepend=cell[0]) > 0).astype(np.int32)
        bins = int(group[-1]) + 1
        if bins == len(mean) or (groups and _STEP * bins > len(mean)):
            break
        if not groups or bins >= _STEP * (groups[-1][-1] + 1):
            groups.append(group)
        m *= 2 if m < _MOST_DOUBLINGS else 4
    return [*groups, np.arange(len(mean), dtype=np.int32)]


def _starts(group: Group) -> NDArray[np.intp]:
    """Return the first fine bin of each bin."""
    return np.flatnonzero(np.diff(group, prepend=-1))


def _power_sums(table: Residuals, groups: list[Group]) -> list[Floats | None]:
    """Return the power sums of units at several resolutions; None where pairs are units."""
    cells = table.cells
    if cells is None or not table.clusters or not groups:
        return [None] * len(groups)
    most = int(groups[-1][-1]) + 1
    sums = np.zeros((len(groups), most, 5))
    kernels.grouped_power_sums(cells.start, cells.bin, cells.residual, cells.weight, np.stack(groups), sums)
    return [sums[place, : int(group[-1]) + 1].T for place, group in enumerate(groups)]


@dataclass(frozen=True)
class _Windows:
    """Bins in which first-order variances and covariances of clusters are estimated.

    Attributes
    ----------
    table
        Residuals in the windows.
    gap
        (windows,) mean residuals.
    slope, curvature
        First-order variance of T per unit of theta and of theta^2.
    product
        (windows, windows) sums over clusters of products of residuals in two windows; without clusters, and
        on the diagonal, 0.
    between
        Sum of squared products between windows, with their factors, less each cluster's own.
    share
        Part of ``product`` squared that ``between`` is.
    """

    table: Residuals
    gap: Floats
    slope: float
    curvature: float
    product: Floats
    between: float = 0.0
    share: float = 0.0

    def joined(self, group: Group) -> _Windows:
        starts = _starts(group)
        whole = self.product + np.diag(self.table.unit[1]) if self.table.clusters else self.product
        wider = np.add.reduceat(np.add.reduceat(whole, starts, 0), starts, 1) if len(whole) else whole
        return _Windows.of(self.table.joined(group), wider)

    @classmethod
    def of(cls, table: Residuals, product: Floats | None = None) -> _Windows:
        """Return the moments of joined residuals; ``product`` if it is known."""
        gap = table.residual / table.weight
        whole = float(table.weight.sum())
        theta = float(np.sum(table.weight * gap**2)) / whole
        # The variance is (4 E[delta^2 p (1 - p)] + Var(delta^2)) / n with delta = p - q. Were delta s times
        # as large, the first part would grow as theta does and the second as theta^2. Squared gaps carry
        # noise in proportion to p (1 - p) / n, in numerator and denominator alike, which keeps the ratios
        # steady where there is nothing but noise.
        slope = curvature = alone = 0.0
        if theta >= _LEAST:
            alone = _influence_of_pairs(table, gap, theta)
            of_scores = float(np.sum(table.pair[0] * (gap**2 - theta) ** 2))
            slope = max(0.0, alone - of_scores) / theta / whole**2
            curvature = of_scores / theta**2 / whole**2
        if not table.clusters:
            return cls(table, gap, slope, curvature, np.zeros((0, 0)))
        cells, factor = table.cells, table.factor
        assert cells is not None
        if product is None:
            product = np.zeros((len(gap), len(gap)))
            kernels.products(cells.start, cells.bin, cells.residual, product)
        own, clustered = kernels.influence(
            cells.start, cells.bin, cells.residual, cells.weight, factor, gap, theta
        )
        np.fill_diagonal(product, 0.0)
        raw = float(factor @ product**2 @ factor)  # with each cluster's own products
        between = max(0.0, raw - own)
        if alone > 0:
            # Some of the gaps is noise, which does not depend on clusters as the signal does.
            signal = float(np.clip(estimate_of(table) / theta, _LEAST_SIGNAL, 1)) if len(gap) > 3 else 1.0
            effect = max(_LEAST_DESIGN_EFFECT, 1 + (clustered - alone) / (alone * signal))
            slope, curvature = slope * effect, curvature * effect
        return cls(table, gap, slope, curvature, product, between, between / raw if raw > 0 else 0.0)


def _influence_of_pairs(table: Residuals, gap: Floats, theta: float) -> float:
    """Sum over pairs of w^2 (2 gap (u - gap) + gap^2 - theta)^2."""
    weight2, first, second = table.pair
    constant = gap**2 + theta
    return float(np.sum(4 * gap**2 * second - 4 * gap * constant * first + constant**2 * weight2))


def _moments(table: Residuals, window: Group, windows: _Windows) -> Moments:
    """Return the moments at one resolution; ``window`` is that of each bin."""
    variance, third = _same_bin(table)
    if table.clusters:
        between, triple = _between_bins(table, window, windows)
        variance, third = variance + between, third + triple
    variance = variance if variance > _LEAST else 0.0
    return Moments(estimate_of(table), variance, third, windows.slope, windows.curvature, len(table.n))


def _same_bin(table: Residuals) -> tuple[float, float]:
    """Second and third null cumulant from units that share a bin.

    T is a quadratic form sum_{c != d} A_cd; its variance is 2 sum A_cd^2 and its third cumulant
    8 sum A_cd A_de A_ec + 4 sum A_cd^3, here by power sums of the units' residuals.
    """
    factor = table.factor
    second, third, fourth, sixth = table.unit[1:]
    observed = 2 * float(np.sum(factor**2 * (second**2 - fourth)))
    triple = second**3 - 3 * second * fourth + 2 * sixth
    observed_third = float(np.sum(factor**3 * (8 * triple + 4 * (third**2 - sixth))))
    apart = table.denominator / table.weight**2
    null, null_third = table.null
    effect = 1.0
    if table.clusters:  # labels of a cluster that come together are as one label of that many pairs
        alone = float(np.sum(factor * table.pair[2]))
        # The variance of single labels may be 0 within rounding, if all scores are near 0 or 1.
        effect = max(1.0, float(np.sum(factor * second)) / alone) if alone > 1e-300 else 1.0
        effect = min(effect, LARGEST_EFFECT)
    null, null_third = null * effect, null_third * effect**2
    expected = 2 * float(np.sum(factor**2 * null**2 * apart))
    if observed >= expected or expected < _LEAST:
        return observed, observed_third
    # Where positives are so rare that residuals tell little about their own variance, q (1 - q) takes over.
    skew = 1 - 2 * table.score / table.weight
    noise = 16 * effect**2 * np.sum(factor**4 * null**3 * skew**2 * table.pair[0] / table.n) / expected**2
    trust = min(1.0, float(noise) / _LARGEST_RELATIVE_ERROR**2)
    expected_third = float(np.sum(factor**3 * (8 * null**3 * apart**2 + 4 * null_third**2 * apart)))
    observed_third += trust * (expected_third - observed_third)
    return observed + trust * (expected - observed), observed_third


def _between_bins(table: Residuals, window: Group, windows: _Windows) -> tuple[float, float]:
    """Second and third null cumulant from clusters that share several bins."""
    # Covariances between bins are smooth in the score, so they are summed over windows: a pair of windows
    # then contributes as much as all pairs of bins in it.
    wide, factor = windows.table, windows.table.factor
    count = len(wide.n)
    within = factor * (wide.unit[1] - sum_by(window, table.unit[1], count))  # different bins of one window
    matrix = windows.product * np.sqrt(np.outer(factor, factor) * windows.share)
    same = sum_by(window, table.factor * table.unit[1] * table.weight, count) / wide.weight
    np.fill_diagonal(matrix, same + within)
    triple = float(np.trace(matrix @ matrix @ matrix) - np.sum(same**3))
    return 2 * windows.between + 2 * float(np.sum(within**2)), 8 * max(0.0, triple)
