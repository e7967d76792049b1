"""Moments of the debiased squared error: its null variance and skewness, and variance per unit of error."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats
from calibrant._kernels import clusters as kernels
from calibrant.metrics.crossed import two_way
from calibrant.metrics.residuals import CrossedResiduals, Residuals, sum_by

Group = NDArray[np.int32]

_FEWEST_CLUSTERS = 1.5  # effective number; below, one cluster has more than three quarters of the weight
_WIDE_WINDOWS = 40
_SMALLEST_WIDE_WINDOW = 100
_LEAST_SIGNAL = 1 / 3  # of the squared gaps of wide windows, however little of them is not noise
_LEAST_DESIGN_EFFECT = 0.5
_LARGEST_SKEWNESS = 8**0.5  # of a single squared normal; beyond it a gamma distribution is nearly an atom
_LARGEST_RELATIVE_ERROR = 0.4  # of the null variance by residuals; from there on the scores alone give it
_LEAST = 1e-150  # squared error, and null variance: the squares of smaller ones underflow


@dataclass(frozen=True)
class Moments:
    """Moments for inference about theta.

    Attributes
    ----------
    estimate
        T, the signed debiased squared error.
    null_variance
        Variance of T if the scores are calibrated (V2): of its degenerate part.
    null_skewness
        Skewness of T if the scores are calibrated.
    slope
        First-order variance of T per unit of theta, from the labels: 4 E[delta^2 p (1 - p)] / (n theta).
    curvature
        First-order variance of T per unit of theta^2, from the scores: Var(delta^2) / (n theta^2). Its
        inverse is about the effective number of pairs that carry theta.
    """

    estimate: float
    null_variance: float
    null_skewness: float
    slope: float
    curvature: float

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
    """Return T and its moments; None if `undefined` gives a reason."""
    if undefined(table):
        return None
    if isinstance(table, CrossedResiduals):
        return _two_way(table)
    variance, third = _same_bin(table)
    slope, curvature = _signal(table)
    if table.clusters:
        width = max(_SMALLEST_WIDE_WINDOW, table.total_n / _WIDE_WINDOWS)
        wide = table.windows(width, width / 4)
        cross = _Cross(table, wide)
        variance += cross.variance
        third += cross.third
        slope *= cross.design_effect
        curvature *= cross.design_effect
    skewness = min(third / variance**1.5, _LARGEST_SKEWNESS) if variance > _LEAST else 0.0
    return Moments(estimate_of(table), variance if variance > _LEAST else 0.0, skewness, slope, curvature)


def _two_way(table: CrossedResiduals) -> Moments:
    """Return T over pairs that share no cluster, with the two-way sums of its variances."""
    ways = []
    for way in table.ways:
        unit = np.concatenate([table.unit[:1], way.unit[1:]])  # the factor is that of the pairs in T
        found = moments(replace(way, unit=unit))
        assert found is not None
        ways.append(found)
    variance, slope, curvature = (
        two_way([getattr(way, name) for way in ways]) for name in ("null_variance", "slope", "curvature")
    )
    skewness = max(way.null_skewness for way in ways[:2])
    return Moments(estimate_of(table), variance, skewness, slope, curvature)


def _same_bin(table: Residuals) -> tuple[float, float]:
    """Second and third null cumulant from units that share a bin.

    T is a quadratic form sum_{c != d} A_cd; its variance is 2 sum A_cd^2 and its third cumulant
    8 sum A_cd A_de A_ec + 4 sum A_cd^3, here by power sums of the units' residuals. Where positives are so
    rare that residuals tell little about their own variance (there may be none), q (1 - q) takes over.
    """
    factor = table.factor
    second, third, fourth, sixth = table.unit[1:]
    observed = 2 * float(np.sum(factor**2 * (second**2 - fourth)))
    triple = second**3 - 3 * second * fourth + 2 * sixth
    observed_third = float(np.sum(factor**3 * (8 * triple + 4 * (third**2 - sixth))))
    apart = table.denominator / table.weight**2
    null, null_third = table.null
    expected = 2 * float(np.sum(factor**2 * null**2 * apart))
    if observed >= expected or expected < _LEAST:
        return observed, observed_third
    skew = 1 - 2 * table.score / table.weight
    noise = 16 * np.sum(factor**4 * null**3 * skew**2 * table.pair[0] / table.n) / expected**2
    trust = min(1.0, float(noise) / _LARGEST_RELATIVE_ERROR**2)
    expected_third = float(np.sum(factor**3 * (8 * null**3 * apart**2 + 4 * null_third**2 * apart)))
    observed_third += trust * (expected_third - observed_third)
    return observed + trust * (expected - observed), observed_third


def _signal(table: Residuals) -> tuple[float, float]:
    """First-order variance of T by theta and by theta^2, for independent pairs.

    The variance is (4 E[delta^2 p (1 - p)] + Var(delta^2)) / n with delta = p - q, taken from windows of
    about sqrt(n) pairs. Were delta s times as large, the first part would grow as theta does and the second
    as theta^2. Squared gaps of the windows carry noise in proportion to p (1 - p) / n, in numerator and
    denominator alike, which keeps the ratios steady when there is nothing but noise.
    """
    local = table.joined(table.windows(np.sqrt(table.total_n)), cells=False)
    gap = local.residual / local.weight
    whole = float(local.weight.sum())
    theta = float(np.sum(local.weight * gap**2)) / whole
    if theta < _LEAST:
        return 0.0, 0.0
    of_scores = float(np.sum(local.pair[0] * (gap**2 - theta) ** 2))
    of_labels = max(0.0, _influence_of_pairs(local, gap, theta) - of_scores)
    return of_labels / theta / whole**2, of_scores / theta**2 / whole**2


def _influence_of_pairs(table: Residuals, gap: Floats, theta: float) -> float:
    """Sum over pairs of w^2 (2 gap (u - gap) + gap^2 - theta)^2."""
    weight2, first, second = table.pair
    constant = gap**2 + theta
    return float(np.sum(4 * gap**2 * second - 4 * gap * constant * first + constant**2 * weight2))


class _Cross:
    """Contribution of pairs of clusters that share several bins, and the design effect.

    Covariances between bins are smooth in the score, so they are summed over wide windows: a pair of windows
    then contributes as much as all pairs of bins in it.
    """

    def __init__(self, table: Residuals, group: Group) -> None:
        wide = table.joined(group)
        cells = wide.cells
        assert cells is not None
        windows = len(wide.n)
        gap = wide.residual / wide.weight
        theta = float(np.sum(wide.weight * gap**2) / wide.weight.sum())
        product = np.zeros((windows, windows))
        kernels.products(cells.start, cells.bin, cells.residual, product)
        own, clustered = kernels.influence(
            cells.start, cells.bin, cells.residual, cells.weight, wide.factor, gap, theta
        )
        self._sum(table, group, wide, product, own)
        alone = _influence_of_pairs(wide, gap, theta)
        share = max(estimate_of(wide) / theta, _LEAST_SIGNAL) if theta > 0 else 1.0
        extra = (clustered - alone) / (alone * share) if alone > 0 else 0.0
        self.design_effect = max(1 + extra, _LEAST_DESIGN_EFFECT)

    def _sum(self, table: Residuals, group: Group, wide: Residuals, product: Floats, own: float) -> None:
        """Second and third cumulants of all pairs of different bins."""
        factor = wide.factor
        np.fill_diagonal(product, 0.0)
        between = 2 * float(factor @ product**2 @ factor)  # of windows: with each cluster's own products
        within = wide.unit[1] - sum_by(group, table.unit[1], len(wide.n))  # different bins of one window
        apart = 1 - sum_by(group, table.weight**2, len(wide.n)) / wide.weight**2
        squares = float(np.sum(factor**2 * within**2 * apart))
        self.variance = max(0.0, between - 2 * own) + 2 * squares
        matrix = product.copy()
        np.fill_diagonal(matrix, within * np.sqrt(apart))
        matrix *= np.sqrt(np.outer(factor, factor))
        signal = max(0.0, 1 - 2 * own / between) if between > 0 else 0.0
        diagonal = sum_by(group, table.factor * table.unit[1] * table.weight, len(wide.n)) / wide.weight
        triple = np.trace(matrix @ matrix @ matrix) + 3 * signal * float(diagonal @ np.diag(matrix @ matrix))
        self.third = 8 * max(0.0, float(triple)) if self.variance > 0 else 0.0
