"""Selective prediction: error rate on the most confident items, by the fraction of items kept."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation.results.selective import CoveragePoint, RiskCoverage
from calibrant.evaluation.score_interval import proportion_interval
from calibrant.evaluation.significance import finite
from calibrant.exceptions import InputError
from calibrant.metrics.tails import quantile, wilson
from calibrant.records import Quantity

COVERAGES = (0.5, 0.8, 0.9, 1.0)
MOST_POINTS = 200
NEAR_THE_CUT = 20  # items on each side of a cut, at least, that tell how accurate it is there
ADDED = 3  # errors
FEWEST_RARER = 5  # errors, or correct items, at least for an interval of the area without a warning
FEW = "{} errors or correct items are few: the interval covers as little as 81 % instead of 95 %"
ALL_RIGHT = "all items are correct, or all are wrong, so that their order makes no difference"
ONE_UNIT = "an interval needs two items or clusters"

__all__ = ["risk_coverage"]


def risk_coverage(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    coverages: Sequence[float] = COVERAGES,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> RiskCoverage:
    """Compute the risk-coverage curve of a model that may abstain on items with low confidence.

    Items are kept in the order of their confidence; items of equal confidence have the mean of their errors.
    Intervals are Wilson's, with the effective number of items from the influence of each item. The interval
    of an accuracy allows for the choice of the threshold on the same data. The interval of the area adds
    three errors in random places, since few errors do not show where others would be.

    Parameters
    ----------
    correct
        (n,) 1 if the prediction is correct, else 0.
    confidence
        (n,) finite; only its order counts.
    coverages
        Coverages in (0, 1] at which to give the accuracy.
    clusters
        (n,) cluster of each item.
    level
        Nominal coverage of the intervals.

    Raises
    ------
    InputError
        Lengths differ, or a value is out of its range.

    References
    ----------
    .. [1] El-Yaniv and Wiener (2010). On the foundations of noise-free selective classification. Journal of
       Machine Learning Research 11, 1605-1641.
    .. [2] Geifman, Uziel and El-Yaniv (2019). Bias-reduced uncertainty estimation for deep neural
       classifiers. ICLR. (Excess area.)

    Examples
    --------
    >>> found = risk_coverage([1, 1, 1, 0], [0.9, 0.8, 0.7, 0.6], coverages=[0.75, 1.0])
    >>> found.area.estimate, [point.accuracy.estimate for point in found.points]
    (0.0625, [1.0, 0.75])
    """
    level = _checks.proportion(level, "level")
    if not _checks.is_list(coverages):
        message = f"coverages is {_checks.shown(coverages)}"
        raise InputError(message, "pass a list of numbers in (0, 1]", code="parameter")
    right, sure = _checks.labels(correct, "correct") != 0, finite(confidence, "confidence")
    _checks.same_length("confidence", len(sure), "correct", len(right))
    n = len(right)
    code, count = _checks.clusters_of(clusters, "correct", n)
    order = np.argsort(-sure, kind="stable")
    ranked = _Ranked(1.0 - right[order], sure[order], None if code is None else code[order], count)
    area = float(ranked.risk.mean())
    best = _best_area(int(n - right.sum()), n)
    error, reason = _area_error(ranked)
    rarer = int(min(right.sum(), n - right.sum()))
    few = FEW.format(rarer) if rarer < FEWEST_RARER else None
    shown = np.unique(np.round(np.linspace(0, n - 1, min(n, MOST_POINTS))).astype(np.int64))
    return RiskCoverage(
        area=Quantity(area, reason=reason)
        if error is None
        else Quantity(area, *_area_interval(ranked, error, level), error, warning=few),
        best_area=best,
        excess_area=area - best,
        error_rate=float(1 - right.mean()),
        points=tuple(_point(ranked, coverage, level) for coverage in coverages),
        coverage=tuple(((shown + 1) / n).tolist()),
        risk=tuple(ranked.risk[shown].tolist()),
        threshold=tuple(ranked.confidence[shown].tolist()),
        n=n,
        level=level,
        clusters=count or None,
    )


class _Ranked:
    """Return errors by descending confidence; items of equal confidence have their mean."""

    def __init__(self, error: Floats, confidence: Floats, cluster: Integers | None, clusters: int) -> None:
        self.error, self.confidence = error, confidence
        self.cluster, self.clusters = cluster, clusters
        starts = np.flatnonzero(np.concatenate([[True], confidence[1:] != confidence[:-1]]))
        self._starts, self._sizes = starts, np.diff(starts, append=len(error))
        self.rank = np.arange(1, len(error) + 1)
        self.expected = self.shared(error)
        self.risk = np.cumsum(self.expected) / self.rank
        self.after = self.shared(np.cumsum((1 / self.rank)[::-1])[::-1])

    def shared(self, values: Floats) -> Floats:
        """Average over the items of equal confidence."""
        means: Floats = np.repeat(np.add.reduceat(values, self._starts) / self._sizes, self._sizes)
        return means

    def standard_error(self, influence: Floats) -> float:
        """Return the standard error of the mean of influences, with clusters as units."""
        n, units = len(influence), len(influence)
        if self.cluster is not None:
            units = self.clusters
            influence = np.bincount(self.cluster, influence, minlength=units).astype(np.float64)
        return math.sqrt(float(influence @ influence) * units / (units - 1)) / n

    @property
    def units(self) -> int:
        return self.clusters or len(self.error)


def _area_error(ranked: _Ranked) -> tuple[float | None, str]:
    """Return the standard error of the area, or the reason for its absence.

    If h is the risk at an item's rank and S its coverage, an item z changes the area by
    h(z) - A + mean over the items x after it of (error(z) - h(x)) / S(x).
    """
    if ranked.units < 2:
        return None, ONE_UNIT
    if ranked.error.min() == ranked.error.max():
        return None, ALL_RIGHT
    risk_after = np.cumsum((ranked.risk / ranked.rank)[::-1])[::-1]
    shared = ranked.shared(ranked.risk) - ranked.risk.mean() - ranked.shared(risk_after)
    return ranked.standard_error(shared + ranked.error * ranked.after), ""


def _area_interval(ranked: _Ranked, error: float, level: float) -> tuple[float, float]:
    """Return Wilson's interval of the area, whose variance per unit of area includes that of added errors."""
    area, n = float(ranked.risk.mean()), len(ranked.error)
    rarer = min(float(ranked.error.sum()), n - float(ranked.error.sum()))
    error *= quantile(level, ranked.clusters) / quantile(level)
    variance = rarer * error**2 / (area * (1 - area)) + ADDED * float((ranked.after**2).mean()) / n
    low, high = wilson(np.array([area]), np.array([(rarer + ADDED) / variance]), level)
    return float(low[0]), float(high[0])


def _best_area(errors: int, n: int) -> float:
    """Return the area of the order that puts all errors last."""
    rank = np.arange(n - errors + 1, n + 1)
    return float(np.sum((rank - (n - errors)) / rank) / n)


def _point(ranked: _Ranked, coverage: float, level: float) -> CoveragePoint:
    if not 0 < _checks.non_negative(coverage, "a coverage") <= 1:
        raise InputError(f"coverage {coverage} is asked for", "give numbers in (0, 1]", code="parameter")
    n = len(ranked.error)
    kept = max(1, math.ceil(coverage * n - 1e-9))
    risk = float(ranked.risk[kept - 1])
    accuracy = Quantity(1 - risk, reason=ONE_UNIT)
    if ranked.units > 1:
        effective = _effective_number(ranked, kept, risk, level)
        low, high = (float(end[0]) for end in wilson(np.array([1 - risk]), np.array([effective]), level))
        if risk > 0 and risk * kept <= 3:  # so few errors: Wilson's upper end is too low
            right = round(kept * (1 - risk), 9)
            high = max(high, proportion_interval(right, kept, quantile(level))[1])
        accuracy = Quantity(1 - risk, low, high)
    threshold = float(ranked.confidence[kept - 1])
    return CoveragePoint(coverage=kept / n, items=kept, threshold=threshold, accuracy=accuracy)


def _effective_number(ranked: _Ranked, kept: int, risk: float, level: float) -> float:
    """Return the effective number of kept items for their error rate."""
    n, member = len(ranked.error), ranked.shared((ranked.rank <= kept).astype(np.float64))
    if not 0 < risk < 1:
        units = kept if ranked.cluster is None else len(np.unique(ranked.cluster[member > 0]))
        return float(min(kept, units))
    width = max(NEAR_THE_CUT, math.isqrt(n))
    at_cut = risk if kept == n else float(ranked.expected[max(0, kept - width) : kept + width].mean())
    influence = member * (ranked.error - at_cut) * n / kept - (risk - at_cut)
    if kept < n:
        influence -= influence.mean()
    error = ranked.standard_error(influence) * quantile(level, ranked.clusters) / quantile(level)
    return risk * (1 - risk) / error**2 if error > 0 else float(kept)
