"""Two models on the same items: the difference of their calibration errors, with a paired interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Pairs, instance, pairs, proportion
from calibrant.exceptions import InputError
from calibrant.metrics.binning import uniform
from calibrant.metrics.frequencies import bin_intervals
from calibrant.metrics.intervals import interval_of, signed, signs_of, warnings_of, without_each
from calibrant.metrics.moments import estimate_of, undefined
from calibrant.metrics.residuals import EDGES, Residuals, residuals
from calibrant.metrics.tails import (
    FEW_CLUSTERS,
    cr2,
    few_clusters,
    few_events,
    quantile,
    skewed,
    skewness_of,
    student,
    tail,
    two_sided_p_value,
)
from calibrant.records import Quantity
from calibrant.results.intervals import ErrorDifference, ErrorInterval
from calibrant.seeds import Seed, generator, recorded

_MOST_FLIPS = 400
_FEWEST_FLIPS = 100
_CELLS_IN_ALL = 10**8
FEWEST_UNITS = 3  # without one of two, no products of different units are left
NO_DIFFERENCE = "the two models' residuals do not differ at all"
SAME_DIFFERENCE = "all {}s have the same difference"
FIRST_MAY_BE_0 = "the first model's error may be 0: its interval reaches 0"


class _Range(NamedTuple):
    low: float
    high: float

    def within(self, other: _Range) -> _Range:
        return _Range(max(self.low, other.low), min(self.high, other.high))


def calibration_difference(
    y_true: ArrayLike,
    y_prob_first: ArrayLike,
    y_prob_second: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    bin_size: int | None = None,
    seed: Seed = 0,
) -> ErrorDifference:
    """Compare the calibration errors of two models on the same items; see `error_difference`.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1 of the items.
    y_prob_first, y_prob_second
        (n,) each model's predicted probabilities, in [0, 1].
    sample_weight
        (n,) non-negative weights.
    clusters
        (n,) names of what is dependent.
    level, bin_size, seed
        As in `error_difference`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(4000)
    >>> difference = calibration_difference(rng.random(4000) < q, q**2, q)
    >>> difference.mse_difference.low > 0, difference.rms_difference.low > 0
    (True, True)
    """
    first = pairs(y_true, y_prob_first, sample_weight=sample_weight, clusters=clusters)
    second = pairs(y_true, y_prob_second, sample_weight=sample_weight, clusters=clusters)
    return error_difference(first, second, level=level, bin_size=bin_size, seed=seed)


def error_difference(
    first: Pairs,
    second: Pairs,
    *,
    level: float = 0.95,
    bin_size: int | None = None,
    seed: Seed = 0,
) -> ErrorDifference:
    """Return the difference of two models' calibration errors on the same items, first minus second.

    The interval is for the difference of *squared* errors: that of the debiased estimates, plus and minus
    z times a standard error from leaving out one cluster at a time, both models at once. (The
    jackknife counts the estimates' degenerate part twice; sign flips of whole clusters say how much that is.)
    Statements on the root errors and on the relative change follow from it and from each error's own
    interval, by Bonferroni: they are conservative.

    Parameters
    ----------
    first, second
        Each model's pairs, in the same order of the items. Labels may differ where the event depends
        on the model (is its top label right?).
    level
        Nominal coverage of each interval.
    bin_size
        Pairs per bin; None takes n^(1/3), at least 20.
    seed
        Integer, generator or None.

    Returns
    -------
    ErrorDifference
        If one model is the other after recalibration, the statement is about the fitted map, not about
        recalibrating in general: fitting it again on other data would give another.

    Raises
    ------
    InputError
        If the two differ in length, weights or clusters.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(4000)
    >>> y = rng.random(4000) < q
    >>> difference = error_difference(pairs(y, q**2), pairs(y, q))
    >>> round(difference.rms_difference.estimate, 1), difference.relative_change.estimate < -0.5
    (0.2, True)
    """
    level = proportion(level, "level")
    hint = "for arrays, use calibration_difference"
    instance(first, Pairs, "first", hint)
    instance(second, Pairs, "second", hint)
    check_same_items(first, second)
    both = (first, second)
    paired = [
        residuals(by_item(one), bin_size, edges=common_edges(one, other)) for one, other in (both, both[::-1])
    ]
    alone = [residuals(source, bin_size) for source in both]
    difference = difference_of(paired, alone, level, seed, _few_events(first) or _few_events(second))
    return msgspec.structs.replace(difference, brier_difference=_brier_difference(first, second, level))


def _few_events(source: Pairs) -> str | None:
    weight = np.ones(len(source)) if source.weight is None else source.weight
    return few_events(source.cluster, weight, weight * source.label)


def _brier_difference(first: Pairs, second: Pairs, level: float) -> Quantity:
    """Return the difference of the Brier scores with its paired interval."""
    loss = [(source.label - source.score.astype(np.float64)) ** 2 for source in (first, second)]
    return mean_difference(loss[0] - loss[1], first, level)[0]


def mean_difference(gap: Floats, items: Pairs, level: float) -> tuple[Quantity, float | None]:
    """Return the mean of paired differences with Student's interval, and the p-value of a mean of 0.

    The variance is CR2 over clusters, and the interval extends further on the side of the skewness, as that
    of `calibrant.evaluation.mean_interval`.

    Parameters
    ----------
    gap
        (n,) difference of each item.
    items
        Pairs of the items, whose weights and clusters count.
    level
        Nominal coverage.

    Examples
    --------
    >>> items = Pairs(np.zeros(4), np.zeros(4))
    >>> difference, p_value = mean_difference(np.array([1.0, 0, 1, 0]), items, 0.95)
    >>> print(difference, round(p_value, 3))
    0.5000 [-0.4187, 1.4187] 0.182
    """
    size: Floats = np.ones(len(items)) if items.weight is None else items.weight
    size, gap, order = _in_order(size, gap)
    total = float(size.sum())
    mean = float(size @ gap) / total
    residual: Floats = size * (gap - mean)
    if items.cluster is not None:
        cluster = items.cluster[order]
        size = np.bincount(cluster, size).astype(np.float64)
        size, residual, _ = _in_order(size, np.bincount(cluster, residual).astype(np.float64))
    variance, freedom = cr2(size, residual)
    if not freedom or variance <= (1e-12 * total) ** 2:
        unit = "cluster" if items.cluster is not None else "item"
        reason = SAME_DIFFERENCE.format(unit) if freedom else f"there is one {unit}"
        return Quantity(mean, reason=reason), None
    skewness = skewness_of(residual)
    warning = (few_clusters(size) if items.cluster is not None else None) or skewed(skewness, len(size))
    error = math.sqrt(variance) / total
    ends = student(mean, error, freedom, level, skewness)
    return Quantity(mean, *ends, error, warning=warning), tail(mean / error, freedom, "two-sided")


def accuracy(right: NDArray[np.bool_], items: Pairs, level: float) -> Quantity:
    """Return the proportion of right answers with Wilson's interval, as `bin_intervals` has it.

    Parameters
    ----------
    right
        (n,) True for right answers.
    items
        Pairs of the items, whose weights and clusters count.
    level
        Nominal coverage.

    Examples
    --------
    >>> print(accuracy(np.array([True] * 8 + [False] * 2), Pairs(np.zeros(10), np.zeros(10)), 0.95))
    0.8000 [0.4902, 0.9433]
    """
    whole = replace(items, score=np.zeros(len(items)), outcome=right)
    bins = uniform(whole, 1)
    ends = bin_intervals(bins, level=level, clustered=whole if items.cluster is not None else None)
    return Quantity(float(bins.frequency[0]), float(ends.low[0]), float(ends.high[0]))


def _in_order(size: Floats, value: Floats) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """Return units with a weight, by value, and their places: sums must not depend on the order of rows."""
    order = np.lexsort((size, value))
    order = order[size[order] > 0]
    return size[order], value[order], order


def difference_of(
    tables: Sequence[Residuals], alone: Sequence[Residuals], level: float, seed: Seed, few: str | None = None
) -> ErrorDifference:
    """Return the difference of two models from summed residuals.

    ``tables`` have clusters or items (`by_item`) as units, and bins that end at the same ranks
    (`common_edges`); they give the difference. ``alone`` are those of each model's own interval; they give
    the two errors, whose difference is the same but for the noise of the choice of bins. ``few`` is a
    warning of few events, which holds if few units carry the difference.
    """
    clusters = alone[0].clusters or None
    reason = next(filter(None, map(undefined, (*tables, *alone))), None)
    if not reason and tables[0].clusters < FEWEST_UNITS:
        reason = f"the difference needs {FEWEST_UNITS} {'clusters' if clusters else 'items'} or more"
    if reason:
        return _undefined(tables[0], level, clusters, reason)
    squares = [estimate_of(table) for table in tables]
    difference = squares[0] - squares[1]
    variance, effective = _variance(tables, generator(seed))
    error = math.sqrt(variance) if variance > 1e-24 else 0.0  # rounding
    constant = error == 0 and abs(difference) > 1e-12  # which no test and no interval can judge
    ends = (difference - quantile(level, effective) * error, difference + quantile(level, effective) * error)
    if error > 0:
        reason = None
    elif constant:
        reason = SAME_DIFFERENCE.format("cluster" if clusters else "item")
    else:
        reason = NO_DIFFERENCE
    warned = warnings_of(alone[0])
    if few and effective < FEW_CLUSTERS:
        warned.setdefault("few_positives_warning", few)
    record = ErrorDifference(
        level=level,
        mse_first=estimate_of(alone[0]),
        mse_second=estimate_of(alone[1]),
        mse_difference=Quantity(difference, reason=reason) if constant else Quantity(difference, *ends),
        p_value=two_sided_p_value(difference / error, effective) if error > 0 else None,
        rms_difference=Quantity(None, reason=""),
        relative_change=Quantity(None, reason=FIRST_MAY_BE_0),
        n=tables[0].total_n,
        bin_size=tables[0].size,
        clusters=clusters,
        seed=recorded(seed),
        reason=reason,
        **warned,
    )
    half = (1 - level) / 2
    margin = math.inf if constant else quantile(1 - half, effective) * error
    ranges = [interval_of(table, "inverted", 1 - half / 2) for table in alone]
    return _with_roots(record, _Range(difference - margin, difference + margin), ranges)


def check_same_items(first: Pairs, second: Pairs) -> None:
    """Raise if two models' pairs are not of the same items."""
    if len(first) != len(second):
        message = f"the models have {len(first)} and {len(second)} pairs"
        raise InputError(message, "compare them on the same items", code="length")
    described: tuple[tuple[str, NDArray[Any] | None, NDArray[Any] | None], ...] = (
        ("clusters", first.cluster, second.cluster),
        ("weights", first.weight, second.weight),
    )
    for name, one, other in described:
        if one is not other and (one is None or other is None or not np.array_equal(one, other)):
            raise InputError(f"the models' {name} differ", "compare them on the same items", code="length")


def common_edges(first: Pairs, second: Pairs) -> Floats:
    """Return the edges of the first model's sections and those at the ranks of the second model's.

    Where one model's scores are an increasing function of the other's, as after recalibration, both then have
    the same bins, and their noise cancels in the difference.
    """
    ranks = [int(np.count_nonzero(second.score < edge)) for edge in EDGES]
    inside = [rank for rank in ranks if 0 < rank < len(first)]
    if not inside:
        return EDGES
    return np.unique(np.concatenate([EDGES, np.partition(first.score, inside)[inside].astype(np.float64)]))


def by_item(source: Pairs) -> Pairs:
    """Return pairs with one cluster per item if there are no clusters, to match both models' residuals."""
    if source.cluster is not None:
        return source
    return replace(source, cluster=np.arange(len(source)), cluster_count=len(source))


def _variance(tables: Sequence[Residuals], rng: np.random.Generator) -> tuple[float, float]:
    """Variance of the difference of two debiased squared errors, and the effective number of units behind it.

    The jackknife's expectation is the linear part plus twice the degenerate part, and the latter is the
    variance of the difference over random signs of residuals without their mean in the bin: the error itself
    is no noise, and outweighs it if many pairs of a unit share a score.
    """
    without = [without_each(table) for table in tables]
    left_out = without[0] - without[1]
    units = len(left_out)
    squared = (left_out - left_out.mean()) ** 2
    jackknife = (units - 1) / units * float(squared.sum())
    fourth = float(np.sum(squared**2))
    # Where few units carry the difference, as with rare events, the variance is known from few of them.
    effective = float(squared.sum()) ** 2 / fourth if fourth > 0 else float(units)
    cells = sum(len(table.cells.bin) for table in tables if table.cells is not None)
    flips = int(np.clip(_CELLS_IN_ALL // cells, _FEWEST_FLIPS, _MOST_FLIPS))
    # Exchanging the tables keeps the keys.
    keys = (left_out * np.sign(left_out.mean()), without[0] + without[1])
    noise = [_noise(table) for table in tables]
    total = 0.0
    for sign in signs_of(flips, rng, *keys):
        total += (signed(noise[0], sign) - signed(noise[1], sign)) ** 2
    degenerate = total / flips
    return max(jackknife - degenerate, degenerate), effective


def _noise(table: Residuals) -> Residuals:
    """Return the residuals of units less their mean in the bin, scaled to their variance without it."""
    cells = table.cells
    assert cells is not None
    units = np.maximum(table.weight**2 / table.unit[0], 1.5)  # effective number per bin
    left = cells.residual - cells.weight * (table.residual / table.weight)[cells.bin]
    left *= np.sqrt(units / (units - 1))[cells.bin]
    unit = table.unit.copy()
    unit[1] = np.bincount(cells.bin, left**2, len(table.n))
    return replace(table, cells=replace(cells, residual=left), unit=unit)


def _root(squared: float) -> float:
    return math.sqrt(max(0.0, squared))


def _with_roots(record: ErrorDifference, squares: _Range, errors: list[ErrorInterval]) -> ErrorDifference:
    """Add what follows when the three intervals hold at once: of the difference, and of each error."""
    first, second = (
        _Range(error.low, error.high)
        if error.low is not None and error.high is not None
        else _Range(0.0, 1.0)
        for error in errors
    )
    # r1 - r2 = (r1^2 - r2^2) / (r1 + r2), which is between the differences of the limits.
    least, most = first.low + second.low, first.high + second.high
    quotients = _Range(
        _quotient(squares.low, most if squares.low > 0 else least),
        _quotient(squares.high, least if squares.high > 0 else most),
    )
    roots = _Range(first.low - second.high, first.high - second.low).within(quotients)
    estimates = [error.estimate or 0.0 for error in errors]
    difference = min(max(estimates[0] - estimates[1], min(roots)), max(roots))
    record = msgspec.structs.replace(record, rms_difference=Quantity(difference, min(roots), max(roots)))
    if first.low == 0:
        return record
    # (r2 / r1)^2 = 1 - (r1^2 - r2^2) / r1^2
    worst = 1 - squares.low / (first.high**2 if squares.low > 0 else first.low**2)
    best = 1 - squares.high / (first.low**2 if squares.high > 0 else first.high**2)
    ratio = _Range(second.low / first.high, second.high / first.low).within(_Range(_root(best), _root(worst)))
    estimate = min(max(estimates[1] / estimates[0], min(ratio)), max(ratio))
    relative = Quantity(estimate - 1, min(ratio) - 1, max(ratio) - 1)
    return msgspec.structs.replace(record, relative_change=relative)


def _quotient(numerator: float, denominator: float) -> float:
    if denominator > 0:
        return numerator / denominator
    return math.copysign(math.inf, numerator) if numerator else 0.0


def _undefined(table: Residuals, level: float, clusters: int | None, reason: str) -> ErrorDifference:
    nothing = Quantity(None, reason=reason)
    return ErrorDifference(
        level=level,
        mse_first=None,
        mse_second=None,
        mse_difference=nothing,
        p_value=None,
        rms_difference=nothing,
        relative_change=nothing,
        n=table.total_n,
        bin_size=table.size,
        clusters=clusters,
        reason=reason,
    )
