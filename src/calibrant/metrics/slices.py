"""Calibration by slice: where is the model miscalibrated? The worst slices first, without flattery of noise.

Of many slices, the one that looks worst mostly had bad luck too: its error is overstated, and its interval
at 95 % means little. So intervals and p-values are adjusted for the number of slices, and estimates shrunken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar

import numpy as np
from msgspec.structs import replace

from calibrant import _checks
from calibrant.exceptions import InputError
from calibrant.metrics._shrinkage import FEWEST, Shrinkage, shrunken, shrunken_positive
from calibrant.metrics._slice_errors import SignedError, SquaredError
from calibrant.metrics.logistic import BALANCED
from calibrant.metrics.multiplicity import Adjustment, adjusted_p_values
from calibrant.metrics.tally import Tally
from calibrant.records import Quantity
from calibrant.results.slices import NULL, SliceErrors, SliceEstimate, SliceSpread, SliceTable

Adjust = Literal["simultaneous", "fcr", "none"]
Rank = Literal["error", "signed"]
Keys = tuple[str | None, ...]
Key = TypeVar("Key", bound=Keys)

ADJUSTMENTS: dict[str, Adjustment | None] = {
    "simultaneous": "holm",
    "fcr": "benjamini-hochberg",
    "none": None,
}
RANKS = ("error", "signed")
LEAST_PAIRS = 30
LEAST_CLUSTERS = 5
LEAST_POSITIVES = 10  # and negatives, for an interval of the squared error
TOO_RARE = "only {:.0f} positives or negatives: the pairs that carry the error may be missing"
NOT_FOUND = "not found to be miscalibrated: intervals of false coverage rate are for the slices found"
TOO_FEW_SLICES = f"fewer than {FEWEST} slices were measured"


def slice_errors(
    tallies: Mapping[Key, Tally],
    *,
    by: Sequence[str] | None = None,
    level: float = 0.95,
    adjust: Adjust = "simultaneous",
    rank: Rank = "error",
    least: int = LEAST_PAIRS,
) -> SliceTable:
    """Calibration errors of every slice, with intervals adjusted for their number and shrunken estimates.

    Two errors are measured: the *signed* one, mean score - frequency, and the *squared* one, which also sees
    errors that cancel in the mean. Each is adjusted over all slices by itself.

    Parameters
    ----------
    tallies
        A tally a slice, by its keys (a tuple, None for a missing value), as `calibrant.verbs.tally_by`
        makes them: all with clusters, or all without.
    by
        Names of the columns behind the keys; "slice", or "slice 1" and so on, if not given.
    level
        1 - level is what ``adjust`` is about.
    adjust
        ``"simultaneous"``: the chance that any interval misses is at most 1 - level (Bonferroni; p-values
        after Holm). ``"fcr"``: slices are found by Benjamini and Hochberg at 1 - level, and of the intervals
        of those found a share of at most 1 - level misses on average, each at the level 1 - R (1 - level) / m
        for R found of m. ``"none"``: each slice alone.
    rank
        What worst goes by: the shrunken squared error (``"error"``) or the absolute shrunken signed error
        (``"signed"``); estimates themselves where there are fewer than 4 slices.
    least
        Pairs that a slice needs. Smaller ones (and those of fewer than 5 clusters) are listed with a reason
        instead of numbers, and do not count as comparisons.

    Returns
    -------
    SliceTable
        The worst slice first.

    Raises
    ------
    InputError
        There are no slices, they have different numbers of keys, or an argument is out of its range.

    Notes
    -----
    The interval of the squared error inverts a test, as `calibration_interval` does, with the quantile of a
    gamma distribution at its lower end: at the levels of many slices normal ones are too small. That of the
    signed error holds a normal interval by the residuals and Clopper and Pearson's, whose number of trials is
    such that the frequency varies as it does if the scores are calibrated (after Korn and Graubard).

    Shrunken estimates are means of the true errors given their estimates, for true errors that are normal
    over slices: unlike the estimates, they remain right for slices picked by them, as far as that assumption
    holds. A few bad slices among many good ones are shrunken too far: look at their intervals.

    References
    ----------
    .. [1] Benjamini and Yekutieli (2005). False discovery rate-adjusted multiple confidence intervals for
       selected parameters. JASA 100, 71-81.
    .. [2] Korn and Graubard (1998). Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data. Survey Methodology 24, 193-201.
    .. [3] Efron (2011). Tweedie's formula and selection bias. JASA 106, 1602-1614.

    Examples
    --------
    >>> labels = {"law": [1] * 60 + [0] * 40, "art": [1] * 80 + [0] * 20}
    >>> tallies = {(name,): Tally.from_arrays(y_true=y, y_prob=[0.8] * 100) for name, y in labels.items()}
    >>> found = slice_errors(tallies, by=["subject"])
    >>> [(row.slice, round(row.signed.estimate, 2), row.signed.found) for row in found.slices]
    [('law', 0.2, True), ('art', 0.0, False)]
    """
    level = _checks.proportion(level, "level")
    least = _checks.positive_integer(least, "least")
    _checks.one_of(adjust, tuple(ADJUSTMENTS), "adjust")
    _checks.one_of(rank, RANKS, "rank")
    names = _names(tallies, by)
    tallies = dict(sorted(tallies.items(), key=lambda item: _in_order(item[0])))  # sums depend on no order
    reasons = {keys: _too_small(tally, least) for keys, tally in tallies.items()}
    large = {keys: tally for keys, tally in tallies.items() if reasons[keys] is None}
    signed, signed_spread = _signed(list(large.values()), level, adjust)
    squared, squared_spread = _squared(list(large.values()), level, adjust)
    rows = [
        _row(keys, tally, one, other)
        for (keys, tally), one, other in zip(large.items(), signed, squared, strict=True)
    ]
    for keys, tally in tallies.items():
        reason = reasons[keys]
        if reason is not None:
            nothing = _undefined(reason)
            rows.append(replace(_row(keys, tally, nothing, nothing), reason=reason))
    return SliceTable(
        by=names,
        slices=tuple(sorted(rows, key=lambda row: _order(row, rank))),
        rank=rank,
        level=level,
        adjust=adjust,
        adjustment=ADJUSTMENTS[adjust] or "none",
        measured=len(large),
        least=least,
        n=sum(row.n for row in rows),
        signed=signed_spread,
        squared=squared_spread,
    )


def _names(tallies: Mapping[Key, Tally], by: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the keys' columns; raise where keys cannot be told apart or have none."""
    if not tallies:
        raise InputError("there are no slices", "pass at least one tally", code="empty")
    if not all(isinstance(keys, tuple) for keys in tallies):
        raise InputError("the keys of tallies are no tuples", 'write ("law",), not "law"', code="parameter")
    widths = {len(keys) for keys in tallies}
    if len(widths) > 1 or 0 in widths:
        raise InputError("slices have different numbers of keys", "give each the same", code="length")
    if len({tally.cluster is None for tally in tallies.values()}) > 1:
        message = "some tallies have clusters and others have none"
        raise InputError(message, "tally all with clusters or all without", code="parameter")
    width = widths.pop()
    if by is None:
        return ("slice",) if width == 1 else tuple(f"slice {place}" for place in range(1, width + 1))
    if not _checks.is_list(by):
        raise InputError(f"by is {_checks.shown(by)}", "pass a list of names", code="parameter")
    _checks.same_length("by", len(by), "the keys of a slice", width)
    return tuple(by)


def _too_small(tally: Tally, least: int) -> str | None:
    if tally.total_n < least:
        pairs = "1 pair" if tally.total_n == 1 else f"{tally.total_n} pairs"
        return f"{pairs}, fewer than {least}"
    if 0 < tally.cluster_count < LEAST_CLUSTERS:
        return f"{tally.cluster_count} clusters, fewer than {LEAST_CLUSTERS}"
    return None


def _signed(tallies: Sequence[Tally], level: float, adjust: str) -> tuple[list[SliceEstimate], SliceSpread]:
    if not tallies:
        return [], _spread(None)
    found = [SignedError.of(tally) for tally in tallies]
    if all(each.balanced for each in found):
        return [_undefined(BALANCED)] * len(found), SliceSpread(None, None, BALANCED)
    shrinkage = None
    if len(found) >= FEWEST:
        shrinkage = shrunken(
            np.array([each.estimate for each in found]), np.array([each.variance for each in found])
        )
    p_values: list[float | None] = [each.p_value for each in found]
    adjusted = _adjusted(p_values, adjust)
    intervals = _intervals([each.interval for each in found], adjusted, level, adjust)
    return [
        _estimate(each.estimate, each.variance**0.5, each.p_value, p, interval, value, level)
        for each, p, interval, value in zip(
            found, adjusted, intervals, _values(shrinkage, len(found)), strict=True
        )
    ], _spread(shrinkage)


def _squared(tallies: Sequence[Tally], level: float, adjust: str) -> tuple[list[SliceEstimate], SliceSpread]:
    every = [SquaredError.of(tally) for tally in tallies]
    found = [each for each in every if isinstance(each, SquaredError)]
    shrinkage = None
    if len(found) >= FEWEST:
        parts = [
            (m.estimate, m.null_variance, m.slope + m.curvature * max(0.0, m.estimate), m.null_skewness)
            for m in (each.moments for each in found)
        ]
        shrinkage = shrunken_positive(*np.array(parts).T)
    adjusted = _adjusted([each.p_value for each in found], adjust)
    intervals = [
        TOO_RARE.format(each.rarer) if each.rarer < LEAST_POSITIVES else interval
        for each, interval in zip(
            found, _intervals([each.interval for each in found], adjusted, level, adjust), strict=True
        )
    ]
    estimates = iter(
        _estimate(each.moments.estimate, each.standard_error, each.p_value, p, interval, value, level)
        for each, p, interval, value in zip(
            found, adjusted, intervals, _values(shrinkage, len(found)), strict=True
        )
    )
    return [_undefined(each) if isinstance(each, str) else next(estimates) for each in every], _spread(
        shrinkage
    )


def _adjusted(p_values: Sequence[float | None], adjust: str) -> list[float | None]:
    method = ADJUSTMENTS[adjust]
    return list(p_values) if method is None else adjusted_p_values(p_values, method)


def _intervals(
    makers: Sequence[Callable[[float], tuple[float, float]]],
    adjusted: Sequence[float | None],
    level: float,
    adjust: str,
) -> list[tuple[float, float] | str]:
    """Make the intervals at the levels that the adjustment wants; a reason for slices that get none."""
    count = len(makers)
    if adjust == "none":
        return [make(level) for make in makers]
    if adjust == "simultaneous":
        return [make(1 - (1 - level) / count) for make in makers]
    found = [p is not None and p <= 1 - level for p in adjusted]
    share = sum(found) * (1 - level) / max(1, count)
    return [make(1 - share) if chosen else NOT_FOUND for make, chosen in zip(makers, found, strict=True)]


def _values(shrinkage: Shrinkage | None, count: int) -> list[float | None]:
    return [None] * count if shrinkage is None else shrinkage.estimate.tolist()


def _spread(shrinkage: Shrinkage | None) -> SliceSpread:
    if shrinkage is None:
        return SliceSpread(None, None, TOO_FEW_SLICES)
    return SliceSpread(shrinkage.mean, shrinkage.spread)


def _estimate(
    estimate: float,
    error: float,
    p_value: float,
    adjusted: float | None,
    interval: tuple[float, float] | str,
    value: float | None,
    level: float,
) -> SliceEstimate:
    reason = interval if isinstance(interval, str) else None
    low, high = (None, None) if isinstance(interval, str) else interval
    return SliceEstimate(
        estimate=estimate,
        standard_error=error,
        low=low,
        high=high,
        reason=reason,
        shrunken=Quantity(value, reason=TOO_FEW_SLICES if value is None else None),
        p_value=p_value,
        adjusted_p_value=adjusted,
        found=adjusted is not None and adjusted <= 1 - level,
    )


def _undefined(reason: str) -> SliceEstimate:
    return SliceEstimate(estimate=None, reason=reason, shrunken=Quantity(None, reason=reason))


def _row(keys: Keys, tally: Tally, signed: SliceEstimate, squared: SliceEstimate) -> SliceErrors:
    total = tally.total_weight
    root = {name: _root(getattr(squared, name)) for name in ("estimate", "low", "high")}
    shrunken = replace(squared.shrunken, estimate=_root(squared.shrunken.estimate))
    return SliceErrors(
        slice=", ".join(NULL if key is None else key for key in keys),
        keys=keys,
        n=tally.total_n,
        positives=tally.total_positives,
        clusters=tally.cluster_count or None,
        mean_score=float(tally.sum_score.sum() / total),
        frequency=float(tally.weight_positives.sum() / total),
        signed=signed,
        error=replace(squared, **root, standard_error=None, shrunken=shrunken),
        squared=squared,
    )


def _root(value: float | None) -> float | None:
    """Root of a squared error, 0 if it is negative."""
    return None if value is None else float(max(0.0, value) ** 0.5)


def _order(row: SliceErrors, rank: str) -> tuple[object, ...]:
    """Measured slices from the worst on, then the others from the largest on; ties by p-value and name."""
    chosen = row.squared if rank == "error" else row.signed
    shrunk = chosen.shrunken.estimate
    value = chosen.estimate if shrunk is None else shrunk
    named = _in_order(row.keys)
    if value is None or chosen.p_value is None:
        return (1, row.reason is not None, -row.n, named)
    return (0, -(value if rank == "error" else abs(value)), chosen.p_value, named)


def _in_order(keys: Keys) -> tuple[tuple[bool, str], ...]:
    """What sorts keys: missing ones come last."""
    return tuple((key is None, key or "") for key in keys)
