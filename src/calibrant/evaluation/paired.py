"""Tests of two systems on the same items: paired bootstrap, paired permutation, McNemar's test.

A statistic is a function of sums over items, such as a mean or an F score from counts. The units that are
resampled or swapped are items or clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.evaluation.results.significance import McNemarTest, ResampledTest
from calibrant.exceptions import InputError
from calibrant.metrics.resampling import (
    FEWEST_UNITS,
    OFTEN_UNDEFINED,
    ONE_UNIT,
    SAMPLES,
    Units,
    alike,
    by_cluster,
    check_samples,
    expanded,
    resampled_totals,
)
from calibrant.metrics.tails import (
    ALTERNATIVES,
    FEW_CLUSTERS,
    SMALLEST,
    Alternative,
    cr2,
    effective_number,
    few_clusters,
    skewed,
    skewness_of,
    student,
    tail,
)
from calibrant.records import Quantity
from calibrant.records.words import counted
from calibrant.seeds import Seed, generator_of, number

Value = Callable[[Floats], Floats]
MOST_EXACT = 14  # units: 2^14 swaps
UNEVEN, ENOUGH_OF_ONE = 1.5, 100  # ratio of the units behind two statistics from which few of one matter
ROUNDING = 1e-12
_NUMBERS_A_CHUNK = 1 << 22
UNDEFINED = "the statistic is undefined"
ASYMMETRY = 0.15  # skewness of a mean from which on swaps may claim too much
ASYMMETRIC = (
    "the differences are skewed away from the difference of the systems: the test, which assumes that those "
    "of equal systems are symmetric, may claim too much"
)
NOT_SHOWN = (
    "the test assumes that differences of equal systems are symmetric, which fewer than "
    f"{FEW_CLUSTERS} units cannot show"
)
SAME = "the systems do not differ on any unit"
ALIKE = "all differences of the systems are equal"

__all__ = ["mcnemar", "paired_bootstrap", "paired_permutation"]


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    *,
    statistic: Value | None = None,
    clusters: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> ResampledTest:
    """Estimate the difference of two systems by resampling items, the same for both.

    The p-value compares the observed difference with resampled differences minus the observed one; the ends
    are percentiles of resamples, further out for few units and on the side of their skewness (see
    `mean_interval`). With fewer than 30 items or effective clusters, resampled differences vary too little,
    and the test rejects up to three times too often. The interval and the p-value are then those of Student's
    t, with the CR2 variance of the linearized statistic, and ``method`` is ``t``. Units count by their part
    in the statistic: the precision of a system with 6 positive predictions rests on 6 units. A warning says
    if far fewer units count for one system than for the other: 6 correct predictions of 6 show no variance.

    Parameters
    ----------
    first, second
        (n,) scores of items, or (n, c) contribution of each item to the sums that ``statistic`` takes.
    statistic
        Function from sums (draws, c) to values (draws,), NaN if undefined; see `calibrant.evaluation.f_of`.
        None: the mean.
    clusters
        (n,) cluster of each item; clusters are resampled instead of items.
    alternative
        ``two-sided``, ``greater`` (the first system has the greater statistic) or ``less``.
    level, samples, seed
        Level of the interval, and number and seed of the draws.

    References
    ----------
    .. [1] Berg-Kirkpatrick, Burkett and Klein (2012). An empirical investigation of statistical significance
       in NLP. EMNLP, 995-1005.

    Examples
    --------
    >>> first, second = [1, 1, 1, 0, 1, 1, 1, 1] * 4, [0, 1, 0, 0, 1, 0, 1, 1] * 4
    >>> test = paired_bootstrap(first, second, alternative="greater")
    >>> test.difference.estimate, test.p_value < 0.1
    (0.375, True)
    """
    _checks.one_of(alternative, ALTERNATIVES, "alternative")
    level, samples = _checks.proportion(level, "level"), check_samples(samples)
    units, width, value = _both(first, second, statistic, clusters)
    seeded = number(seed)
    gap = _gap(value, width)
    difference = float(gap(units.totals[None])[0])
    settings = _settings(alternative, units, samples, level, seeded)
    if np.isnan(difference):
        return _unknown("bootstrap", None, settings, UNDEFINED)
    if units.number < 2:
        return _unknown("bootstrap", difference, settings, ONE_UNIT)
    parts = _parts(units, width, statistic)
    if min([units.effective, *map(effective_number, parts)]) < FEWEST_UNITS:
        return _linearized(units, width, gap, difference, parts, settings)
    rng = generator_of(seeded, "bootstrap")
    draws = np.concatenate([gap(totals) for totals in resampled_totals(units, samples, rng)])
    draws = draws[~np.isnan(draws)]
    if 2 * len(draws) < samples:
        return _unknown("bootstrap", difference, settings, OFTEN_UNDEFINED)
    if np.ptp(draws) <= 1e-12:
        return _unknown("bootstrap", difference, settings, _no_variance(units, width))
    low, high = np.quantile(draws, expanded(level, units.effective)).tolist()
    influence, _ = _influence(units, gap)
    skewness = skewness_of(influence)
    error = float(draws.std()) * math.sqrt(units.effective / (units.effective - 1))
    ends = student(difference, error, units.effective - 1, level, skewness)
    if skewness > 0:
        high = max(high, ends[1])
    else:
        low = min(low, ends[0])
    p_value = _share(draws - difference, difference, alternative, exact=False)
    quantity = Quantity(difference, low, high)
    warning = skewed(skewness, units.number)
    return ResampledTest(
        method="bootstrap", difference=quantity, p_value=p_value, warning=warning, **settings
    )


def paired_permutation(
    first: ArrayLike,
    second: ArrayLike,
    *,
    statistic: Value | None = None,
    clusters: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    level: float = 0.95,
    samples: int = 10_000,
    seed: Seed = 0,
) -> ResampledTest:
    """Test two systems by swapping their outputs in random items.

    The test compares the difference, divided by its standard error after the swaps: the variance of a plain
    difference is too small if one system has many more of the items that count, such as positive predictions
    for precision [2]_. If 14 units or fewer differ, the test enumerates all swaps.

    Swaps assume that the differences of equal systems are symmetric about 0. If the differences of units are
    skewed away from the observed difference, or there are fewer than 10 units, a p-value of at most one
    minus the level has a warning: in simulations of skewed differences with mean 0, the test rejects in up to
    30 % of samples at 5 %, and in at most 6 % without the warning. Differences of one size, as of right and
    wrong, need no warning.

    Parameters and errors are those of `paired_bootstrap`.

    References
    ----------
    .. [1] Yeh (2000). More accurate tests for the statistical significance of result differences.
       COLING, 947-953.
    .. [2] Chung and Romano (2013). Exact and asymptotically robust permutation tests. Annals of Statistics
       41(2), 484-507.

    Examples
    --------
    >>> test = paired_permutation([1, 1, 1, 0, 1, 1, 1, 1], [0, 1, 0, 0, 1, 0, 1, 1])
    >>> test.p_value, test.exact
    (0.25, True)
    """
    _checks.one_of(alternative, ALTERNATIVES, "alternative")
    level, samples = _checks.proportion(level, "level"), check_samples(samples)
    units, width, value = _both(first, second, statistic, clusters)
    seeded = number(seed)
    swapped = replace(units, sums=np.roll(units.sums, width, axis=1))
    differs = _differs(units, width)
    flips = int(units.count[differs].sum())
    exact = flips <= MOST_EXACT
    gap = _gap(value, width)
    difference = float(gap(units.totals[None])[0])
    settings = _settings(alternative, units, 2**flips if exact else samples, level, seeded, exact=exact)
    if np.isnan(difference):
        return _unknown("permutation", None, settings, UNDEFINED)
    fixed, moving, moved = units.at(~differs), units.at(differs), swapped.at(differs)
    count = moving.count
    whole = _studentized([(units, units.count[None])], width, value)
    draws = []
    for kept in _kept(count, flips, exact, samples, generator_of(seeded, "permutation")):
        held = np.broadcast_to(fixed.count, (len(kept), len(fixed.count)))
        draws.append(_studentized([(fixed, held), (moving, kept), (moved, count - kept)], width, value))
    seen, permuted = float(whole[0]), np.concatenate(draws)
    if np.isnan(permuted).any():
        return _unknown("permutation", difference, settings, "it is undefined for some swaps")
    least = min(1.0, (2 if alternative == "two-sided" else 1) / 2**flips) if exact else 1 / (samples + 1)
    p_value = max(least, _share(permuted, seen, alternative, exact=exact))  # rounding may hide all swaps
    of = counted(flips, "differing unit") if exact else counted(samples, "sample")
    warning = f"with {of}, the smallest possible p-value is {least:.3g}" if least > 1 - level else None
    warning = warning or _uneven(_parts(units, width, statistic))
    if p_value <= 1 - level:
        warning = warning or _asymmetric(*_influence(units, gap), difference)
    return ResampledTest(
        method="permutation", difference=Quantity(difference), p_value=p_value, warning=warning, **settings
    )


def mcnemar(first: ArrayLike, second: ArrayLike, *, exact: bool = True) -> McNemarTest:
    """Test two systems' accuracy on the same, independent items by McNemar's test.

    Parameters
    ----------
    first, second
        (n,) 1 if the system is correct on the item, else 0.
    exact
        True: the binomial test. False: chi-squared with continuity correction, for 25 or more differing
        items.

    References
    ----------
    .. [1] McNemar (1947). Note on the sampling error of the difference between correlated proportions or
       percentages. Psychometrika 12, 153-157.

    Examples
    --------
    >>> mcnemar([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1]).p_value
    0.21875000000000003
    """
    from scipy.special import bdtr, chdtrc

    one, other = (
        _checks.labels(values, name) != 0 for values, name in ((first, "first"), (second, "second"))
    )
    _checks.same_length("second", len(other), "first", len(one))
    alone, others = int(np.sum(one & ~other)), int(np.sum(other & ~one))
    fewer, both = min(alone, others), alone + others
    exact = _checks.flag(exact, "exact")
    statistic: float | None = None
    p_value: float | None = None
    if exact:
        statistic, p_value = float(fewer), min(1.0, 2 * float(bdtr(fewer, both, 0.5)))
    elif both:
        statistic = max(0.0, abs(alone - others) - 1) ** 2 / both
        p_value = float(chdtrc(1, statistic))
    p_value = p_value if p_value is None else max(p_value, SMALLEST)
    return McNemarTest(
        first_only=alone,
        second_only=others,
        both=int(np.sum(one & other)),
        neither=int(np.sum(~one & ~other)),
        method="exact" if exact else "chi-squared",
        statistic=statistic,
        p_value=p_value,
        reason=SAME if p_value is None else None,
    )


def _settings(
    alternative: str, units: Units, samples: int, level: float, seed: int, *, exact: bool = False
) -> dict[str, Any]:
    return {
        "alternative": alternative,
        "units": units.number,
        "samples": samples,
        "exact": exact,
        "level": level,
        "seed": seed,
    }


def _both(
    first: ArrayLike, second: ArrayLike, statistic: Value | None, clusters: ArrayLike | None
) -> tuple[Units, int, Value]:
    """Return units with the sums of both systems side by side, the columns of one, and the statistic."""
    one, other = _columns(first, "first"), _columns(second, "second")
    if one.shape != other.shape:
        hint = "give both systems' values on the same items"
        raise InputError(f"first has shape {one.shape} and second {other.shape}", hint, code="length")
    codes, count = _checks.clusters_of(clusters, "first", len(one))
    sums, width = np.column_stack([one, other]), one.shape[1]
    given: object = statistic
    if given is not None and not callable(given):
        message = f"statistic is {_checks.shown(given)}"
        raise InputError(message, "pass a function, or None for the mean", code="parameter")
    if statistic is None:
        if width != 1:
            message = f"first has {width} columns and no statistic"
            raise InputError(message, "pass a statistic of these columns", code="parameter")
        # Items and scores need one scale, or slopes lose digits; means of scores have no origin and no unit.
        low, high = sums.min(), sums.max()
        origin, unit = np.clip(0.0, 2 * low - high, 2 * high - low), np.ldexp(1.0, np.frexp(high - low)[1])
        # Clusters differ in size, so the number of items is a sum like the others.
        sums = np.insert((sums - origin) / unit, [1, 2], 1.0, axis=1)
        return _units(sums, codes, count), 2, lambda totals: unit * totals[:, 0] / totals[:, 1]
    return _units(sums, codes, count), width, statistic


def _slopes(value: Value, totals: Floats) -> Floats:
    """Return the derivatives of a statistic by each total, for (draws, columns) totals."""
    step = 1e-6 * np.maximum(np.abs(totals), 1e-3 * np.abs(totals).max(axis=1, keepdims=True))
    slopes = np.empty(totals.shape)
    for column in range(totals.shape[1]):
        up, down = totals.copy(), totals.copy()
        up[:, column] += step[:, column]
        down[:, column] -= step[:, column]
        slopes[:, column] = (value(up) - value(down)) / (2 * step[:, column])
    return np.nan_to_num(slopes)


def _gap(value: Value, width: int) -> Value:
    """Return the difference of two systems' statistics as a function of the sums of both."""
    return lambda totals: value(totals[:, :width]) - value(totals[:, width:])


def _asymmetric(influence: Floats, size: Floats, difference: float) -> str | None:
    """Return a warning if the differences of units are skewed away from that of the systems, or may be so."""
    gap = np.abs(influence + difference * size / size.sum())
    gap = gap[gap > ROUNDING * gap.max()]
    # Differences of one size, as of right and wrong, are symmetric if their mean is 0.
    if np.ptp(gap) <= 1e-6 * gap.max():
        return None
    if len(size) < FEW_CLUSTERS:
        return NOT_SHOWN
    return ASYMMETRIC if math.copysign(1.0, difference) * skewness_of(influence) < -ASYMMETRY else None


def _influence(units: Units, gap: Value) -> tuple[Floats, Floats]:
    """Return the influence of each unit on the difference, and its size."""
    influence = np.repeat(units.sums @ _slopes(gap, units.totals[None])[0], units.count)
    size = np.ones(units.number) if units.size is None else units.size
    return influence - size * influence.sum() / size.sum(), size


def _parts(units: Units, width: int, statistic: Value | None) -> list[Floats]:
    """Return the part of each unit in the statistic of each system: its sums by the size of their slopes."""
    if statistic is None:  # a mean, in which the items count
        return []
    parts = [
        np.repeat(np.abs(sums) @ np.abs(_slopes(statistic, (units.count @ sums)[None])[0]), units.count)
        for sums in (units.sums[:, :width], units.sums[:, width:])
    ]
    return parts if all(part.any() for part in parts) else []


def _uneven(parts: Sequence[Floats]) -> str | None:
    """Return a warning if the statistic of one system rests on few units, and the other on far more."""
    if not parts:
        return None
    fewer, more = sorted(map(effective_number, parts))
    if fewer >= ENOUGH_OF_ONE or more < UNEVEN * fewer:
        return None
    return (
        f"the statistic of one system rests on {fewer:.1f} units and that of the other on {more:.1f}: "
        "bootstrap and permutation test may claim too much"
    )


def uneven(first: Floats, second: Floats, statistic: Value, clusters: ArrayLike | None) -> str | None:
    """Return the warning of the tests if the statistic of one system rests on far fewer units."""
    units, width, _ = _both(first, second, statistic, clusters)
    return _uneven(_parts(units, width, statistic))


def _studentized(parts: Sequence[tuple[Units, NDArray[np.int64]]], width: int, value: Value) -> Floats:
    """Return (draws,) differences over their standard errors, from (draws, rows) numbers of units."""
    totals: Floats = np.add.reduce([number @ units.sums for units, number in parts])
    both = value(totals[:, :width]), value(totals[:, width:])
    slopes = np.hstack([_slopes(value, totals[:, :width]), -_slopes(value, totals[:, width:])])
    squares = [(number * (slopes @ units.sums.T) ** 2).sum(axis=1) for units, number in parts]
    difference, dust = both[0] - both[1], ROUNDING * np.maximum(np.abs(both[0]), np.abs(both[1]))
    difference[np.abs(difference) <= dust] = 0.0  # equal but for rounding
    ratio: Floats = difference / np.sqrt(np.maximum(sum(squares), np.maximum(dust, 1e-150) ** 2))
    return ratio


def _differs(units: Units, width: int) -> NDArray[np.bool_]:
    """Return the rows (rows,) in which the systems have different sums."""
    differs: NDArray[np.bool_] = (units.sums[:, :width] != units.sums[:, width:]).any(axis=1)
    return differs


def _no_variance(units: Units, width: int) -> str:
    return ALIKE if _differs(units, width).any() else SAME


def _linearized(
    units: Units,
    width: int,
    gap: Value,
    difference: float,
    parts: Sequence[Floats],
    settings: dict[str, Any],
) -> ResampledTest:
    """Apply Student's t for few units, with the CR2 variance of the units' influences on the difference."""
    alternative, level = settings["alternative"], settings["level"]
    influence, size = _influence(units, gap)
    if parts:
        of_both = np.add.reduce([part / part.sum() for part in parts])
        size = size.sum() / len(parts) * of_both
    if np.abs(influence).max() < 1e-9 * max(1.0, abs(difference)):
        return _unknown("t", difference, settings, _no_variance(units, width))
    variance, freedom = cr2(size, influence)
    error = math.sqrt(variance)
    skewness = skewness_of(influence)
    return ResampledTest(
        method="t",
        difference=Quantity(difference, *student(difference, error, freedom, level, skewness), error),
        p_value=tail(difference / error, freedom, alternative),
        warning=_uneven(parts)
        or few_clusters(size, "item" if units.size is None else "cluster")
        or skewed(skewness, units.number),
        **settings,
    )


def _units(sums: Floats, codes: NDArray[np.int64] | None, count: int) -> Units:
    return alike(sums) if codes is None else by_cluster(sums, codes, count)


def _columns(values: ArrayLike, name: str) -> Floats:
    array = _checks.as_array(values, name, "give one row per item")
    if array.ndim not in (1, 2) or not array.size:
        raise InputError(f"{name} has shape {array.shape}", "expected (n,) or (n, c)", code="shape")
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}", "pass numbers", code="dtype")
    matrix = array.astype(np.float64).reshape(len(array), -1)
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        hint = "correct it, or remove the item"
        raise InputError(f"{name}[{bad[0]}] is not finite", hint, code="missing-value", row=int(bad[0]))
    return matrix


def _kept(
    count: NDArray[np.int64], flips: int, exact: bool, samples: int, rng: np.random.Generator
) -> Iterator[NDArray[np.int64]]:
    """Draw the number of identical units that keep the order of the systems: (draws, rows)."""
    if exact:
        bits = (np.arange(2**flips)[:, None] >> np.arange(flips)) & 1
        starts = np.cumsum(count) - count
        yield np.add.reduceat(bits, starts, axis=1)
        return
    step = max(1, _NUMBERS_A_CHUNK // len(count))
    for start in range(0, samples, step):
        yield rng.binomial(count, 0.5, size=(min(step, samples - start), len(count)))


def _share(draws: Floats, seen: float, alternative: str, *, exact: bool) -> float:
    """Return the Monte Carlo p-value; the observed statistic counts as one of the draws."""
    near = 1e-9 * max(1.0, abs(seen))
    if alternative == "two-sided":
        extreme = np.sum(np.abs(draws) >= abs(seen) - near)
    else:
        extreme = np.sum(draws >= seen - near if alternative == "greater" else draws <= seen + near)
    return float(extreme / len(draws)) if exact else float((extreme + 1) / (len(draws) + 1))


def _unknown(method: str, difference: float | None, settings: dict[str, Any], reason: str) -> ResampledTest:
    quantity = Quantity(difference, reason=reason)
    return ResampledTest(method=method, difference=quantity, p_value=None, reason=reason, **settings)
