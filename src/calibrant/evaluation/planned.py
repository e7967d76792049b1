"""Plans of runs: how many items, and how many runs of each, a wanted interval or a difference needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.evaluation.detectable import minimum_detectable_difference
from calibrant.evaluation.results.planned import (
    DIFFERENCE,
    HALF_WIDTH,
    PilotVariance,
    PlannedRuns,
    RunPlan,
)
from calibrant.evaluation.runs import TaskTable
from calibrant.evaluation.significance import paired_t_test
from calibrant.exceptions import InputError

RUNS = (1, 2, 3, 4, 6, 8, 12, 16)
MOST_ITEMS = 10**9
SAME = "all differences of the pilot are equal"
TOO_MANY = f"more than {MOST_ITEMS:,} items"


def plan_tasks(
    systems: Sequence[str],
    tables: Sequence[TaskTable],
    *,
    half_width: float | None = None,
    difference: float | None = None,
    item_cost: float = 0.0,
    baseline: str | None = None,
    level: float = 0.95,
    power: float = 0.8,
    notes: Sequence[str] = (),
    warning: str | None = None,
) -> RunPlan:
    """Return the items that each number of runs per item needs, from the variances of a pilot.

    The variance of a mean difference of n items with k runs each is (s2_items + s2_runs / k) / n.

    Parameters
    ----------
    systems, tables
        The pilot, as in `calibrant.evaluation.runs.compare_tasks`; one system is enough for a half width.
    half_width
        Half the width of the interval that is wanted, on average.
    difference
        Difference to detect with the power; give this or a half width.
    item_cost
        Cost of a further item, such as of writing and labeling it, in answers of each system. The cheapest
        number of runs grows with it.
    baseline
        Plan comparisons with this system only. None: all pairs.
    level, power
        Level of the interval and the test, and power.
    notes, warning
        Notes on the pilot, which are listed with the assumptions.

    References
    ----------
    Miller (2024), "Adding error bars to evals", arXiv:2411.00640, sections 3 and 5.

    Examples
    --------
    >>> scores = np.array([[1, 0.5, 0, 1, 0.5, 1, 0, 0.5], [0.5, 0.5, 0, 1, 0, 1, 0, 0]])
    >>> within = np.where(scores == 0.5, 0.5, 0.0)  # variance of one right and one wrong run
    >>> table = TaskTable("quiz", "acc", scores, np.full((2, 8), 2), run_variances=within)
    >>> plan = plan_tasks(["new", "old"], [table], difference=0.05)
    >>> [(row.runs, row.items) for row in plan.plans if row.second][:3]
    [(1, 984), (2, 493), (3, 329)]
    """
    if (half_width is None) == (difference is None):
        message = "give one goal, a half width or a difference"
        raise InputError(message, "give `half_width` or `difference`", code="parameter")
    for name, value in (("half_width", half_width), ("difference", difference)):
        if value is not None and not 0 < _checks.finite(value, name) < 1:
            raise InputError(f"{name} is {value!r}", "give a number between 0 and 1", code="parameter")
    item_cost = _checks.non_negative(item_cost, "item_cost")
    _checks.proportion(level, "level")
    _checks.proportion(power, "power", such_as=0.8)
    targets: list[tuple[int, int | None]]
    if baseline is None:
        targets = [*combinations(range(len(systems)), 2)]
    elif baseline in systems:
        targets = [(place, [*systems].index(baseline)) for place, s in enumerate(systems) if s != baseline]
    else:
        hint = f"the systems are {', '.join(systems)}"
        raise InputError(f"there is no system {baseline!r}", hint, code="parameter")
    if half_width is not None:
        targets += [(place, None) for place in range(len(systems))]
    if not targets:
        message = f"there is one system, {systems[0]}, and a difference needs two"
        raise InputError(message, "add another system, or give `half_width`", code="empty")
    plans: list[PlannedRuns] = []
    pilot: list[PilotVariance] = []
    for first, second in targets:
        variance, highest, freedom = _variances(systems, tables, (first, second), level)
        pilot.append(variance)
        share = freedom / (variance.items - 1)
        needed: list[tuple[int, int | None, int | None]] = []
        for runs, high in highest.items():
            low = variance.item_variance + (variance.run_variance or 0.0) / runs
            items, most = (
                None
                if own <= 0
                else _items_of_width(own, half_width or 0.0, share, level)
                if difference is None
                else minimum_detectable_difference(
                    math.sqrt(own),
                    variance.items,
                    difference=difference,
                    power=power,
                    level=level,
                    freedom=freedom,
                ).needed
                for own in (low, high)
            )
            needed.append((runs, items, most))
        costs = [math.inf if most is None else most * (item_cost + runs) for runs, _, most in needed]
        alike = variance.item_variance + (variance.run_variance or 0.0) <= 0
        plans += [
            PlannedRuns(
                first=variance.first,
                second=variance.second,
                runs=runs,
                items=items,
                safe_items=most,
                answers=None if most is None else most * runs,
                cost=None if most is None else cost,
                cheapest=cost == min(costs) and most is not None,
                reason=None if items is not None else SAME if alike else TOO_MANY,
            )
            for (runs, items, most), cost in zip(needed, costs, strict=True)
        ]
    assumed = ["further items and runs are like those of the pilot, and runs are independent"]
    if any(variance.run_variance is None for variance in pilot):
        assumed.append("as many runs as in the pilot: with one run per item, more runs cannot be planned")
    return RunPlan(
        goal=DIFFERENCE if difference is not None else HALF_WIDTH,
        wanted=float(difference if difference is not None else half_width or 0.0),
        plans=tuple(plans),
        pilot=tuple(pilot),
        item_cost=item_cost,
        level=level,
        power=power,
        clusters=any(table.clusters is not None for table in tables),
        assumptions=(*assumed, *notes, *([warning] if warning else ())),
    )


def _variances(
    systems: Sequence[str], tables: Sequence[TaskTable], pair: tuple[int, int | None], level: float
) -> tuple[PilotVariance, dict[int, float], float]:
    """Return the variances of a system or of a pair, with the degrees of freedom of the pilot's mean.

    Between them is, for each number of runs, the upper end of the interval of the variance per item.
    """
    from calibrant._special import stdtrit

    first, second = pair
    places = [first] if second is None else [first, second]
    values: list[Floats] = []
    noise: list[Floats] = []  # of the mean of an item's runs
    between: list[Floats] = []  # runs
    runs: list[NDArray[np.int64]] = []
    clusters: list[NDArray[np.object_]] = []
    for number, table in enumerate(tables):
        there = ~np.isnan(table.scores[places]).any(axis=0)
        own = table.scores[places][:, there]
        values.append(own[0] if second is None else own[0] - own[1])
        runs.append(table.runs[places][:, there])
        known = table.run_variances
        variance = np.full(own.shape, np.nan) if known is None else known[places][:, there]
        noise.append((variance / runs[-1]).sum(axis=0))
        between.append(variance.sum(axis=0))
        names = np.arange(table.scores.shape[1]) if table.clusters is None else table.clusters
        lone = table.clusters is None
        clusters.append(np.array([f"{number}/{n}" if lone else f"{n}" for n in names[there]], object))
    whole = np.concatenate(values)
    if len(whole) < 2:
        called = " and ".join(systems[place] for place in places)
        message = f"the pilot has {len(whole)} items of {called}"
        raise InputError(message, "give a pilot with more items", code="empty")
    clustered = any(table.clusters is not None for table in tables)
    test = paired_t_test(
        whole, np.zeros(len(whole)), clusters=np.concatenate(clusters) if clustered else None
    )
    error = 0.0 if (whole == whole[0]).all() else test.difference.standard_error
    if error is None:
        message = test.difference.reason or "the pilot has no standard error"
        raise InputError(message, "give a pilot with more items", code="empty")
    within, part = np.concatenate(between), np.concatenate(noise)
    measured = not np.isnan(within).any()
    mean_runs = float(np.concatenate(runs, axis=1).mean())
    item_variance = len(whole) * error**2 - (float(part.mean()) if measured else 0.0)
    run_variance = float(within.mean()) if measured else None
    # The variance is a mean of squares, of clusters or items, less that of runs: it has a mean's error.
    _, owner = np.unique(np.concatenate(clusters), return_inverse=True)
    count = int(owner.max()) + 1
    squares = np.bincount(owner, whole - whole.mean(), count) ** 2
    highest: dict[int, float] = {}
    for number in RUNS if measured else (max(1, round(mean_runs)),):
        less = part - within / number if measured else np.zeros(len(whole))
        sums = (squares - np.bincount(owner, less, count)) * count / len(whole)
        half = float(stdtrit(count - 1, 0.5 + level / 2) * sums.std(ddof=1)) / math.sqrt(count)
        highest[number] = max(0.0, item_variance) + (run_variance or 0.0) / number + half
    variances = PilotVariance(
        first=systems[first],
        second="" if second is None else systems[second],
        items=len(whole),
        runs=mean_runs,
        estimate=float(whole.mean()),
        item_variance=max(0.0, item_variance),
        run_variance=run_variance,
    )
    return variances, highest, float(test.freedom or len(whole) - 1)


def _items_of_width(variance: float, half_width: float, share: float, level: float) -> int | None:
    """Return the smallest number of items with that half width; ``share`` degrees of freedom per item."""
    from calibrant._special import stdtrit

    def too_wide(items: int) -> bool:
        t = float(stdtrit(max(1.0, share * (items - 1)), 0.5 + level / 2))
        return t * math.sqrt(variance / items) > half_width

    low, high = 1, 2
    while too_wide(high):
        low, high = high, 2 * high
        if high > MOST_ITEMS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if too_wide(middle) else (low, middle)
    return high
