"""Comparison of systems on the same folds or items: means, and a test per pair, adjusted for their number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from msgspec.structs import asdict, replace
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation.results.significance import Comparison, PairedTest, SystemMean, SystemPair
from calibrant.evaluation.significance import (
    UNITS,
    adjusted_p_values,
    mcnemar,
    mean_interval,
    minimum_detectable_difference,
    paired_bootstrap,
    paired_permutation,
    paired_t_test,
)
from calibrant.exceptions import InputError
from calibrant.metrics.resampling import SAMPLES, check_samples
from calibrant.metrics.tails import ALTERNATIVES, Alternative
from calibrant.records.words import counted
from calibrant.seeds import Seed, number

ALLOWED = (
    "folds share training data; the intervals, t and the p-values allow for this, except those as if folds "
    "were independent"
)
IGNORED = (
    "folds share training data, which the intervals, t and the p-values ignore: they are too optimistic. To "
    "show which system is better, the ratio of test to training data is needed"
)
PLAIN = "the interval ignores that folds share training data"
UNKNOWN_RATIO = (
    "give it, 1 / (k - 1) for k folds, or a column repeat that names the cross-validation of each fold"
)
COPIES = (
    "repeats {} and {} have the same scores, as if they had the same split: copies are counted as further "
    "evidence, and p-values are too small. Give each repeat another split"
)
OTHER_RATIO = "the ratio given is {:.3g}, but {} folds per repeat have {:.3g}"
FAR = 2  # times the ratio that the folds have
UNEQUAL = "repeats have different numbers of folds, so the ratio is unknown"
SINGLE = "a repeat has one fold, so the ratio is unknown"
ONE_SYSTEM = "there is one system"
MOST_ITEMS = 100_000
MOST_SYSTEMS = 100  # without a baseline
FEWEST_DIFFERENT = 10  # with 3 expected, a 95 % interval covers 91 % for any number of items; with 5, 95 %
FEW_DIFFERENT = "the systems differ on {} only: intervals of 95 % then cover as little as 91 %"

__all__ = ["compare_systems"]


def compare_systems(
    systems: Sequence[str],
    scores: ArrayLike,
    *,
    unit: str = "item",
    repeat: ArrayLike | None = None,
    test_train_ratio: float | None = None,
    clusters: ArrayLike | None = None,
    alternative: Alternative = "two-sided",
    higher_is_better: bool = True,
    baseline: str | None = None,
    power: float = 0.8,
    level: float = 0.95,
    samples: int = SAMPLES,
    seed: Seed = 0,
) -> Comparison:
    """Compare systems by their scores on the same folds or items.

    Parameters
    ----------
    systems
        Names of the systems.
    scores
        (systems, n) score of each system on each fold or item.
    unit
        ``fold`` (of cross-validation) or ``item``.
    repeat
        (n,) repeat of cross-validation of each fold; with k folds per repeat the ratio is 1 / (k - 1). Two
        repeats with the same scores have a warning: repeats need different splits.
    test_train_ratio
        Size of a fold's test data divided by that of its training data. Without it and without ``repeat``,
        intervals of folds ignore that folds share training data, and the record has a warning; it has one as
        well if the folds of each repeat have a ratio more than twice as large, or less than half.
    clusters
        (n,) cluster of each item.
    alternative
        Alternative for each pair, in the order of ``systems``: ``two-sided``, ``greater`` (the first system
        has the greater score) or ``less``.
    higher_is_better
        False for error rates and the like; it decides only the field ``better``.
    baseline
        Compare each system with this one only (the other system first). None: all pairs.
    power
        Power at which the smallest detectable difference is computed.
    level
        Level of every test and interval.
    samples, seed
        Number of draws of the resampled tests, and their seed.

    Examples
    --------
    >>> scores = [[67, 63, 68, 65, 69, 61, 64, 67, 68, 65], [65, 66, 67, 68, 61, 62, 63, 66, 69, 60]]
    >>> comparison = compare_systems(["system1", "system2"], scores, unit="fold", alternative="greater")
    >>> print(f"{comparison.pairs[0].t:.3f}", comparison.pairs[0].difference.warning)
    0.921 the interval ignores that folds share training data
    """
    _checks.one_of(unit, UNITS, "unit")
    _checks.one_of(alternative, ALTERNATIVES, "alternative")
    _checks.proportion(power, "power", such_as=0.8)
    higher_is_better = _checks.flag(higher_is_better, "higher_is_better")
    samples = check_samples(samples)
    systems = _checks.list_of_names(systems, "systems")
    table = _table(systems, scores)
    repeats, ratio, why = _known_ratio(unit, repeat, test_train_ratio, table)
    tests = {
        pair: paired_t_test(
            table[pair[0]],
            table[pair[1]],
            alternative=alternative,
            unit=unit,
            test_train_ratio=ratio,
            clusters=clusters,
            level=level,
        )
        for pair in pairs_of(systems, baseline)
    }
    seeded = number(seed)
    pairs = _adjusted(systems, tests, unit, ratio, higher_is_better, level)
    if unit == "item":
        pairs = [
            _resampled(pair, table[[*codes]], clusters, alternative, higher_is_better, power, samples, seeded)
            for codes, pair in zip(tests, pairs, strict=True)
        ]
    means = [
        mean_interval(row, unit=unit, test_train_ratio=ratio, clusters=clusters, level=level) for row in table
    ]
    if unit == "fold" and ratio is None:
        means = [replace(system, mean=replace(system.mean, warning=PLAIN)) for system in means]
        pairs = [replace(pair, difference=replace(pair.difference, warning=PLAIN)) for pair in pairs]
    return Comparison(
        unit=unit,
        n=table.shape[1],
        systems=tuple(
            SystemMean(system=name, **asdict(mean)) for name, mean in zip(systems, means, strict=True)
        ),
        pairs=tuple(pairs),
        alternative=alternative,
        higher_is_better=higher_is_better,
        level=level,
        test_train_ratio=ratio,
        repeats=repeats,
        clusters=means[0].clusters,
        samples=samples,
        seed=seeded,
        warning=means[0].warning,
        folds_warning=why or None,
        pairs_warning=ONE_SYSTEM if len(table) == 1 else None,
    )


def _table(systems: Sequence[str], scores: ArrayLike) -> Floats:
    array = _checks.as_array(scores, "scores", "give one score per system and fold or item")
    if array.dtype.kind not in "fiub":
        raise InputError(f"scores has dtype {array.dtype}", "pass numbers", code="dtype")
    if array.ndim != 2 or not array.size or len(array) != len(systems):
        message = f"scores has shape {array.shape} and there are {len(systems)} systems"
        raise InputError(message, "expected (systems, n)", code="shape")
    return np.asarray(array, np.float64)


def _known_ratio(
    unit: str, repeat: ArrayLike | None, given: float | None, table: Floats
) -> tuple[int | None, float | None, str]:
    """Return the number of repeats, the ratio of test to training data, and the warning on folds."""
    if unit == "item":
        if given is not None or repeat is not None:
            message = "scores of items have no repeats and no ratio of test to training data"
            raise InputError(message, "leave them out, or name folds", code="parameter")
        return None, None, ""
    if repeat is None:
        return None, given, f"{IGNORED}: {UNKNOWN_RATIO}" if given is None else ALLOWED
    codes, names = _checks.cluster_codes(repeat, "repeat")
    _checks.same_length("repeat", len(codes), "each system", table.shape[1])
    folds = np.bincount(codes)
    unknown = UNEQUAL if folds.min() != folds.max() else SINGLE if folds[0] == 1 else None
    implied = None if unknown else 1 / (int(folds[0]) - 1)
    ratio = implied if given is None else _checks.non_negative(given, "test_train_ratio")
    notes = [f"{IGNORED}: {unknown}" if ratio is None else ALLOWED]
    if ratio and implied and max(ratio / implied, implied / ratio) > FAR:
        notes.append(OTHER_RATIO.format(ratio, folds[0], implied))
    copies = _copies(table, codes)
    if copies is not None:
        notes.append(COPIES.format(*(names[code] for code in copies)))
    return len(names), ratio, "; ".join(notes)


def _copies(table: Floats, codes: Integers) -> tuple[int, int] | None:
    """Return the first two repeats whose folds have the same scores of all systems, in any order."""
    seen: dict[tuple[tuple[float, ...], ...], int] = {}
    order = np.argsort(codes, kind="stable")
    parts = np.split(table.T[order], np.cumsum(np.bincount(codes))[:-1])
    for code, part in enumerate(parts):
        folds = tuple(sorted(map(tuple, part.tolist())))
        if len(set(folds)) < 2:  # one fold, or equal scores: other splits may well have the same
            continue
        if folds in seen:
            return seen[folds], code
        seen[folds] = code
    return None


def pairs_of(systems: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    """Return all pairs of systems, or each system with the baseline.

    Examples
    --------
    >>> pairs_of(["a", "b", "c"], None), pairs_of(["a", "b", "c"], "b")
    ([(0, 1), (0, 2), (1, 2)], [(0, 1), (2, 1)])
    """
    if baseline is None:
        if len(systems) > MOST_SYSTEMS:
            message = f"{len(systems):,} systems have {math.comb(len(systems), 2):,} pairs"
            hint = "give a baseline, with which each is compared; or swap the columns of system and item"
            raise InputError(message, hint, code="parameter")
        return list(combinations(range(len(systems)), 2))
    given: object = baseline
    if not isinstance(given, str) or given not in systems:
        message = f"there is no system {_checks.shown(given)}"
        raise InputError(message, f"the systems are {', '.join(systems[:20])}", code="parameter")
    base = list(systems).index(baseline)
    return [(code, base) for code in range(len(systems)) if code != base]


def _adjusted(
    systems: Sequence[str],
    tests: dict[tuple[int, int], PairedTest],
    unit: str,
    ratio: float | None,
    higher_is_better: bool,
    level: float,
) -> list[SystemPair]:
    p_values = [test.p_value for test in tests.values()]
    holm = adjusted_p_values(p_values)
    hochberg = adjusted_p_values(p_values, "benjamini-hochberg")
    decided = unit == "item" or ratio is not None
    compared = []
    for place, ((one, other), test) in enumerate(tests.items()):
        adjusted = holm[place]
        sure = decided and adjusted is not None and adjusted <= 1 - level
        winner = one if ((test.difference.estimate or 0) > 0) == higher_is_better else other
        wins, losses = (test.wins, test.losses) if higher_is_better else (test.losses, test.wins)
        compared.append(
            SystemPair(
                first=systems[one],
                second=systems[other],
                holm_p_value=adjusted,
                benjamini_hochberg_p_value=hochberg[place],
                better=systems[winner] if sure else None,
                **asdict(test) | {"wins": wins, "losses": losses},
            )
        )
    return compared


def _resampled(
    pair: SystemPair,
    scores: Floats,
    clusters: ArrayLike | None,
    alternative: Alternative,
    higher_is_better: bool,
    power: float,
    samples: int,
    seed: int,
) -> SystemPair:
    """Add the tests that need independent items or clusters."""
    first, second = scores
    right_or_wrong = bool(np.isin(scores, (0, 1)).all())
    bootstrap = permutation = detectable = None
    # For more items, the t-test gives the same result.
    if len(first) <= MOST_ITEMS or right_or_wrong or clusters is not None:
        bootstrap, permutation = (
            resampled(
                first,
                second,
                clusters=clusters,
                alternative=alternative,
                level=pair.level,
                samples=samples,
                seed=seed,
            )
            for resampled in (paired_bootstrap, paired_permutation)
        )
    if pair.t is not None:
        # With clusters, the deviation that independent items would need for the same standard error.
        mean = pair.difference.estimate or 0.0
        deviation = abs(mean / pair.t) * np.sqrt(pair.n) if pair.t else pair.standard_deviation
        detectable = minimum_detectable_difference(
            float(deviation or 0.0),
            pair.n,
            difference=mean,
            power=power,
            level=pair.level,
            alternative=alternative,
            freedom=pair.freedom,
        )
    correct = scores if higher_is_better else 1 - scores
    difference, different = pair.difference, pair.wins + pair.losses
    # Student's p-value is too small if values are skewed, or if the systems differ on few items.
    ends = difference
    if alternative != "two-sided":  # a one-sided test at 95 % goes with an interval of 90 %
        level = max(1e-9, 2 * pair.level - 1)
        ends = paired_t_test(first, second, clusters=clusters, level=level).difference
    swapped = 0.0 if permutation is None else permutation.p_value or 0.0
    unsure = (ends.low or 0) <= 0 <= (ends.high or 0) or swapped > 1 - pair.level
    if pair.ties and pair.t is not None and different < FEWEST_DIFFERENT:
        difference = replace(difference, warning=FEW_DIFFERENT.format(counted(different, "item")))
    return replace(
        pair,
        better=None if unsure else pair.better,
        difference=difference,
        bootstrap=bootstrap,
        permutation=permutation,
        mcnemar=mcnemar(*correct) if right_or_wrong and clusters is None else None,
        detectable=detectable,
    )
