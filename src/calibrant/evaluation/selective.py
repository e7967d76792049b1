"""Selective prediction: the error rate on the most confident items, and the order of the errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation.results.selective import CoveragePoint, OrderQuality, RiskCoverage
from calibrant.evaluation.score_interval import clusters_warning, information_of, proportion_interval
from calibrant.evaluation.significance import finite
from calibrant.exceptions import InputError
from calibrant.metrics.tails import cr2, effective_number, quantile, wilson
from calibrant.records import Quantity

COVERAGES = (0.5, 0.8, 0.9, 1.0)
MOST_POINTS = 200
NEAR_THE_CUT = 20  # items on each side of a cut, at least, that tell how accurate it is there
ADDED = 5  # errors
FEWEST_RARER = 5  # errors, or correct items, at least for an interval of the area without a warning
FEW = "{} errors or correct items are few: the interval covers as little as 81 % instead of 95 %"
FEWEST_LEFT_OUT = 10  # items, at least for an accuracy with few errors without a warning
LEFT_OUT = "few items are left out and few errors kept: the interval covers as little as 83 %, not 95 %"
ALL_RIGHT = "all items are correct, or all are wrong, so that their order makes no difference"
ONE_UNIT = "an interval needs two items or clusters"

ONE_KIND = "all items are correct, or all are wrong, so that there is no order of errors"

__all__ = ["order_quality", "risk_coverage"]


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
    of an accuracy allows for the choice of the threshold on the same data, and is longer if the error rate
    changes there. The interval of the area adds five errors in random places, since few errors do not show
    where others would be. With clusters, a warning says if an estimate depends on few of them.

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

    References
    ----------
    .. [1] El-Yaniv and Wiener (2010). On the foundations of noise-free selective classification. Journal of
       Machine Learning Research 11, 1605-1641.
    .. [2] Geifman, Uziel and El-Yaniv (2019). Bias-reduced uncertainty estimation for deep neural
       classifiers. ICLR. (Excess area.)

    Examples
    --------
    >>> selective = risk_coverage([1, 1, 1, 0], [0.9, 0.8, 0.7, 0.6], coverages=[0.75, 1.0])
    >>> selective.area.estimate, [point.accuracy.estimate for point in selective.points]
    (0.0625, [1.0, 0.75])
    """
    level = _checks.proportion(level, "level")
    if not _checks.is_list(coverages):
        message = f"coverages is {_checks.shown(coverages)}"
        raise InputError(message, "pass a list of numbers in (0, 1]", code="parameter")
    ranked = _ranked(correct, confidence, clusters)
    n, area, best = len(ranked.error), float(ranked.risk.mean()), ranked.best_area
    shown = np.unique(np.round(np.linspace(0, n - 1, min(n, MOST_POINTS))).astype(np.int64))
    return RiskCoverage(
        area=_area_of(ranked, level),
        best_area=best,
        excess_area=area - best,
        error_rate=float(1 - (1 - ranked.error).mean()),
        points=tuple(_point(ranked, coverage, level) for coverage in coverages),
        coverage=tuple(((shown + 1) / n).tolist()),
        risk=tuple(ranked.risk[shown].tolist()),
        threshold=tuple(ranked.confidence[shown].tolist()),
        n=n,
        level=level,
        clusters=ranked.clusters or None,
    )


def order_quality(
    correct: ArrayLike,
    confidence: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> OrderQuality:
    """Compute how well confidence puts errors behind correct items: AUROC, rejection ratio and excess area.

    All three are 1 - loss or loss, where the loss is a mean over errors: of the correct items with less
    confidence, or of the area that an error adds by not being last. Ties count half. Intervals are Wilson's,
    with the variance from the influence of each item (DeLong's for the AUROC; of clusters, CR2), Student's t
    with the number of items of the rarer kind, and five added errors in random places, as in
    `risk_coverage`: few errors do not show where others would be.

    Parameters
    ----------
    correct, confidence, clusters, level
        As in `risk_coverage`.

    References
    ----------
    .. [1] DeLong, DeLong and Clarke-Pearson (1988). Comparing the areas under two or more correlated receiver
       operating characteristic curves. Biometrics 44, 837-845.
    .. [2] Obuchowski (1997). Nonparametric analysis of clustered ROC curve data. Biometrics 53, 567-578.
    .. [3] Malinin and Gales (2021). Uncertainty estimation in autoregressive structured prediction. ICLR.
       (Rejection ratio.)

    Examples
    --------
    >>> quality = order_quality([1, 1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6, 0.5])
    >>> round(quality.auroc.estimate, 3), round(quality.rejection_ratio.estimate, 3)
    (0.833, 0.753)
    """
    level = _checks.proportion(level, "level")
    ranked = _ranked(correct, confidence, clusters)
    error, n, wrong = ranked.error, len(ranked.error), int(ranked.error.sum())
    right, rate = n - wrong, wrong / n
    settings: dict[str, Any] = {"n": n, "errors": wrong, "level": level, "clusters": ranked.clusters or None}
    if not wrong or not right:
        undefined, zero = Quantity(None, reason=ONE_KIND), Quantity(0.0, reason=ALL_RIGHT)
        return OrderQuality(auroc=undefined, rejection_ratio=undefined, excess_area=zero, **settings)

    def quantity(lost: _Lost, *, gain: bool) -> Quantity:
        value = 1 - lost.loss if gain else lost.loss
        if ranked.units < 2:
            return Quantity(value, reason=ONE_UNIT)
        low, high, spread = ranked.loss_interval(lost, level)
        rarer = min(wrong, right) / spread.effect
        warning = spread.warning or (FEW.format(f"{rarer:.2g}") if rarer < FEWEST_RARER else None)
        low, high = (1 - high, 1 - low) if gain else (low, high)
        return Quantity(value, low, high, spread.error, warning=warning)

    # The proportion of correct items below each error, and of errors above each correct item.
    below = 1 - (ranked.through(1 - error) - ranked.shared(1 - error) * ranked.tied / 2) / right
    above = (ranked.through(error) - ranked.shared(error) * ranked.tied / 2) / wrong
    loss = float((below * error).sum()) / wrong
    influence = np.where(error == 1, (below - loss) / rate, (above - loss) / (1 - rate))
    parts = below[error == 1] if wrong <= right else above[error == 0]
    auroc = _Lost(loss, influence, parts, 2 / 3 * (1 / wrong + 1 / right), 1.0)

    excess = float(ranked.risk.mean()) - ranked.best_area
    random = rate - ranked.best_area
    alone = np.cumsum((1 / ranked.rank)[::-1])[::-1]  # what an error at each rank adds to the area, times n
    worst = float(alone[:wrong].sum()) / n - ranked.best_area
    best_influence = -math.log1p(-rate) * (error - rate)
    influence = ranked.area_influence() - best_influence
    parts = np.maximum(ranked.after[error == 1] - alone[right:], 0.0)
    added = float((ranked.after**2).mean()) / n
    ratio = excess / random
    of_ratio = (influence - ratio * (error - rate - best_influence)) / random
    return OrderQuality(
        auroc=quantity(auroc, gain=True),
        rejection_ratio=quantity(_Lost(ratio, of_ratio, parts, added / random, worst / random), gain=True),
        excess_area=quantity(_Lost(excess, influence, parts, added, math.inf), gain=False),
        **settings,
    )


def _ranked(correct: ArrayLike, confidence: ArrayLike, clusters: ArrayLike | None) -> _Ranked:
    """Return checked items by descending confidence."""
    right, sure = _checks.labels(correct, "correct") != 0, finite(confidence, "confidence")
    _checks.same_length("confidence", len(sure), "correct", len(right))
    code, count = _checks.clusters_of(clusters, "correct", len(right))
    order = np.argsort(-sure, kind="stable")
    return _Ranked(1.0 - right[order], sure[order], None if code is None else code[order], count)


@dataclass(frozen=True)
class _Lost:
    """Loss of an order against the one with all errors last.

    Attributes
    ----------
    loss
        The loss, which is 0 for that order.
    influence
        (n,) influence of each item, times n.
    parts
        Losses of single items of the rarer kind.
    added
        Variance per unit of loss if errors are in random places.
    most
        Largest possible loss; infinite if it varies with the number of errors.
    """

    loss: float
    influence: Floats
    parts: Floats
    added: float
    most: float


@dataclass(frozen=True)
class _Spread:
    """Standard error, critical value, design effect of clusters, and a warning if these are few."""

    error: float
    critical: float
    effect: float
    warning: str | None


class _Ranked:
    """Return errors by descending confidence; items of equal confidence have their mean."""

    def __init__(self, error: Floats, confidence: Floats, cluster: Integers | None, clusters: int) -> None:
        self.error, self.confidence = error, confidence
        self.cluster, self.clusters, self.units = cluster, clusters, clusters or len(error)
        starts = np.flatnonzero(np.concatenate([[True], confidence[1:] != confidence[:-1]]))
        self._starts, self._sizes = starts, np.diff(starts, append=len(error))
        self.rank = np.arange(1, len(error) + 1)
        self.expected = self.shared(error)
        self.risk = np.cumsum(self.expected) / self.rank
        self.after = self.shared(np.cumsum((1 / self.rank)[::-1])[::-1])
        right = len(error) - int(error.sum())
        ranks = self.rank[right:]  # of the errors, if all are last
        self.best_area = float(np.sum((ranks - right) / ranks) / len(error))

    def shared(self, values: Floats) -> Floats:
        """Average over the items of equal confidence."""
        means: Floats = np.repeat(np.add.reduceat(values, self._starts) / self._sizes, self._sizes)
        return means

    @property
    def tied(self) -> Floats:
        """Return the number of items of equal confidence, for each item."""
        return np.repeat(self._sizes, self._sizes).astype(np.float64)

    def through(self, values: Floats) -> Floats:
        """Return the sum of the values of items of at least equal confidence, for each item."""
        sums: Floats = np.repeat(np.cumsum(np.add.reduceat(values, self._starts)), self._sizes)
        return sums

    def area_influence(self) -> Floats:
        """Return the influence of each item on the area, times n.

        If h is the risk at an item's rank and S its coverage, an item z changes the area by
        h(z) - A + mean over the items x after it of (error(z) - h(x)) / S(x).
        """
        risk_after = np.cumsum((self.risk / self.rank)[::-1])[::-1]
        shared = self.shared(self.risk) - float(self.risk.mean()) - self.shared(risk_after)
        influence: Floats = shared + self.error * self.after
        return influence

    def loss_interval(self, lost: _Lost, level: float) -> tuple[float, float, _Spread]:
        """Return the score interval of a loss, whose variance includes that of added errors.

        The variance is proportional to the loss, and to what is left to its bound, if it has one.
        """
        spread, portion = self.spread(lost.influence, level), min(1.0, lost.loss / lost.most)
        rarer = min(self.error.sum(), len(self.error) - self.error.sum())
        critical = spread.critical if self.clusters else quantile(level, rarer + 1)
        carrying, own = 0.0, 0.0
        if lost.loss > 0 and portion < 1 and lost.parts.any():
            carrying = effective_number(lost.parts)
            own = (spread.error * critical / quantile(level)) ** 2 / (lost.loss * (1 - portion))
        per_unit = (carrying * own + ADDED * lost.added * spread.effect) / (carrying + ADDED)
        if math.isinf(lost.most):
            middle = lost.loss + quantile(level) ** 2 * per_unit / 2
            half = math.sqrt(max(0.0, middle**2 - lost.loss**2))
            return max(0.0, middle - half), middle + half, spread
        low, high = wilson(np.array([portion]), np.array([lost.most / per_unit]), level)
        return float(low[0]) * lost.most, float(high[0]) * lost.most, spread

    def spread(self, influence: Floats, level: float) -> _Spread:
        """Return the standard error of the mean of influences, with clusters as units."""
        n = len(influence)
        alone = math.sqrt(float(influence @ influence) * n / (n - 1)) / n
        if self.cluster is None:
            return _Spread(alone, quantile(level), 1.0, None)
        size, total, square = (
            np.bincount(self.cluster, values, minlength=self.clusters).astype(np.float64)
            for values in (np.ones(n), influence, influence**2)
        )
        variance, freedom = cr2(information_of(size, square), total)
        error = max(alone, math.sqrt(variance) / n)
        effect = (error / alone) ** 2 if alone > 0 else 1.0
        return _Spread(error, quantile(level, freedom + 1), effect, clusters_warning(size, square))


def _area_of(ranked: _Ranked, level: float) -> Quantity:
    """Return the area and Wilson's interval; the variance per unit of area includes that of added errors."""
    area, n = float(ranked.risk.mean()), len(ranked.error)
    if ranked.units < 2:
        return Quantity(area, reason=ONE_UNIT)
    if ranked.error.min() == ranked.error.max():
        return Quantity(area, reason=ALL_RIGHT)
    spread = ranked.spread(ranked.area_influence(), level)
    rare = ranked.error if 2 * ranked.error.sum() <= n else 1 - ranked.error
    carrying = effective_number(rare * ranked.after)
    critical = spread.critical if ranked.clusters else quantile(level, n)
    own = carrying * (spread.error * critical / quantile(level)) ** 2 / (area * (1 - area))
    added = ADDED * spread.effect * float((ranked.after**2).mean()) / n
    low, high = wilson(np.array([area]), np.array([(carrying + ADDED) / (own + added)]), level)
    rarer = float(rare.sum()) / spread.effect
    warning = spread.warning or (FEW.format(f"{rarer:.2g}") if rarer < FEWEST_RARER else None)
    return Quantity(area, float(low[0]), float(high[0]), spread.error, warning=warning)


def _point(ranked: _Ranked, coverage: float, level: float) -> CoveragePoint:
    if not 0 < _checks.non_negative(coverage, "a coverage") <= 1:
        raise InputError(f"coverage {coverage} is asked for", "give numbers in (0, 1]", code="parameter")
    n = len(ranked.error)
    kept = max(1, math.ceil(coverage * n - 1e-9))
    risk = float(ranked.risk[kept - 1])
    accuracy = Quantity(1 - risk, reason=ONE_UNIT)
    if ranked.units > 1:
        effective, warning = _effective_number(ranked, kept, risk, level)
        low, high = (float(end[0]) for end in wilson(np.array([1 - risk]), np.array([effective]), level))
        if kept < n:  # the number of items before a change varies at any accuracy, unlike Wilson's variance
            high = max(high, 1 - risk + quantile(level) * math.sqrt(risk * (1 - risk) / effective))
        few = risk * kept <= 3
        if risk > 0 and few:  # Wilson's upper end is too low
            right = round(kept * (1 - risk), 9)
            high = max(high, proportion_interval(right, kept, quantile(level))[1])
        shift = _shift(ranked, kept, level)
        # If hardly an error is before the change, Wilson's variance does not include that of the cut.
        low = max(0.0, min(low - abs(shift), 1 - risk - quantile(level) * abs(shift)))
        high = min(1.0, high + max(0.0, shift))
        warning = warning or (LEFT_OUT if few and 0 < n - kept < FEWEST_LEFT_OUT else None)
        accuracy = Quantity(1 - risk, low, high, warning=warning)
    threshold = float(ranked.confidence[kept - 1])
    return CoveragePoint(coverage=kept / n, items=kept, threshold=threshold, accuracy=accuracy)


def _shift(ranked: _Ranked, kept: int, level: float) -> float:
    """Return by how much an accuracy is too low if the error rate changes at its cut.

    If the change is before the cut, the accuracy may be too high by that.
    """
    n, width = len(ranked.error), max(NEAR_THE_CUT, math.isqrt(len(ranked.error)))
    if kept == n:
        return 0.0
    tied = np.flatnonzero(ranked.confidence == ranked.confidence[kept - 1])
    ends = int(tied[0]), int(tied[-1]) + 1
    # Samples have more items than expected on one side of the change as often as on the other, and the
    # estimate has the larger error rate of the two on either side. The shift is that of one standard error
    # of the number of items before the cut.
    moved = max(n * ranked.spread((ranked.rank <= end) - np.float64(end / n), level).error for end in ends)
    reach = round(moved)
    before = ranked.expected[max(0, kept - reach - width) : max(1, kept - reach)]
    after = ranked.expected[min(n - 1, kept + reach) : kept + reach + width]
    return float(after.mean() - before.mean()) * moved / kept


def _effective_number(ranked: _Ranked, kept: int, risk: float, level: float) -> tuple[float, str | None]:
    """Return the effective number of kept items for their error rate, and a warning if clusters are few."""
    n, member = len(ranked.error), ranked.shared((ranked.rank <= kept).astype(np.float64))
    if not 0 < risk < 1:
        units = kept if ranked.cluster is None else len(np.unique(ranked.cluster[member > 0]))
        return float(min(kept, units)), None
    width = max(NEAR_THE_CUT, math.isqrt(n))
    at_cut = risk if kept == n else float(ranked.expected[max(0, kept - width) : kept + width].mean())
    influence = member * (ranked.error - at_cut) * n / kept - (risk - at_cut)
    if kept < n:
        influence -= influence.mean()
    spread = ranked.spread(influence, level)
    error = spread.error * spread.critical / quantile(level)
    return (risk * (1 - risk) / error**2 if error > 0 else float(kept)), spread.warning
