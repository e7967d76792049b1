"""Comparison of runs: paired differences by task and over all, and groups that are not distinguishable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.evaluation.results.runs import (
    ITEMS,
    TASKS,
    OverallDifference,
    Reliability,
    RunComparison,
    RunScore,
    TaskDifference,
)
from calibrant.evaluation.results.significance import PairedTest
from calibrant.evaluation.significance import (
    adjusted_p_values,
    bounded_mean,
    mcnemar,
    mean_interval,
    minimum_detectable_difference,
    paired_t_test,
)
from calibrant.exceptions import InputError
from calibrant.metrics.multiplicity import groups_not_distinguishable
from calibrant.metrics.tails import cr2, student, tail
from calibrant.records import Quantity
from calibrant.records.words import counted

MOST_IN_FULL = 12  # systems whose pairs are compared on each task
MOST_NAMED = 3
LONGEST = 40  # characters of an item's name in a warning
INCONCLUSIVE, TIED, NOT_WORSE = "inconclusive", "tied", "not worse"


@dataclass(frozen=True)
class TaskTable:
    """Scores of all systems on one task.

    Attributes
    ----------
    task, metric
        Names.
    scores
        (systems, n) mean over the runs of each item; NaN where a system has no score.
    runs
        (systems, n) number of runs.
    clusters
        (n,) cluster of each item; None if items are independent.
    run_variances
        (systems, n) variance of the scores of an item's runs; NaN with one run, None if it is not known.
    right_or_wrong
        True if the score of each run is 0 or 1.
    """

    task: str
    metric: str
    scores: Floats
    runs: Integers
    clusters: NDArray[Any] | None = None
    run_variances: Floats | None = None
    right_or_wrong: bool = False


def compare_tasks(
    systems: Sequence[str],
    tables: Sequence[TaskTable],
    *,
    baseline: str | None = None,
    margin: float | None = None,
    higher_is_better: bool = True,
    level: float = 0.95,
    power: float = 0.8,
    metric: str | None = None,
    notes: Sequence[str] = (),
    warning: str | None = None,
) -> RunComparison:
    """Compare systems on the items that both systems of a pair have scores of, by task and over all tasks.

    Parameters
    ----------
    systems
        Names of the S systems, two or more.
    tables
        Scores of each task.
    baseline
        Compare each system with this one only. None: all pairs.
    margin
        Difference that does not matter, above 0: an interval within it is a tie, and one above -margin shows
        that the first system is not worse by it.
    higher_is_better
        Direction of the scores.
    level
        Level of the intervals and tests.
    power
        Power at which detectable differences are computed.
    metric
        Metric of tables of predictions; None for scores of logs and tables.
    notes, warning
        Notes on the data, and a warning of items that some systems lack.

    Examples
    --------
    >>> scores = np.array([[1, 1, 0, 1, 1, 1, 1, 0], [1, 0, 0, 0, 1, 0, 1, 0]], float)
    >>> table = TaskTable("quiz", "acc", scores, np.ones((2, 8), int))
    >>> compared = compare_tasks(["new", "old"], [table])
    >>> compared.overall[0].difference.estimate, compared.overall[0].verdict
    (0.375, 'inconclusive')
    """
    _checks.proportion(level, "level")
    _checks.proportion(power, "power", such_as=0.8)
    if margin is not None and not 0 < margin < 1:
        raise InputError(f"margin is {margin!r}", "give a difference above 0, such as 0.01", code="parameter")
    pairs, sign = _pairs(systems, baseline), 1 if higher_is_better else -1
    tables = _coded(tables)
    # No mean of scores in [0, 1], and no difference of two, is outside of these limits.
    bounded = all(np.nanmin(table.scores) >= 0 and np.nanmax(table.scores) <= 1 for table in tables)
    most = 1.0 if bounded else math.inf
    tasks = [
        _on_task(table, systems, pair, level, power, most)
        for table in tables
        for pair in (pairs if len(systems) <= MOST_IN_FULL or baseline is not None else ())
    ]
    joined, effects = _Joined.of(tables), dict[tuple[int, float | None], float]()
    rows: dict[str, list[OverallDifference]] = {over: [] for over in (ITEMS, TASKS)}
    for pair in pairs:
        for over, test, simultaneous in joined.tests(pair, level, 1 - (1 - level) / len(pairs)):
            rows[over].append(
                OverallDifference(
                    first=systems[pair[0]],
                    second=systems[pair[1]],
                    over=over,
                    items=test.n,
                    difference=_within(test.difference, -most, most),
                    p_value=test.p_value,
                    exact_p_value=_exact(tables, pair) if over == ITEMS else None,
                    simultaneous=_within(simultaneous, -most, most) if len(pairs) > 1 else None,
                    detectable=_detectable(test, level, power, effects),
                    interval_warning=test.warning,
                )
            )
    overall = [row for own in rows.values() for row in _judged(own, level, margin, sign)]
    different = {
        frozenset((row.first, row.second))
        for row in overall
        if row.over == ITEMS and row.verdict in (row.first, row.second)
    }
    ranked = sorted(
        (_score(place, systems, tables, level, bounded=bounded) for place in range(len(systems))),
        key=lambda row: -sign * (row.mean.estimate or 0.0),
    )
    names = [row.system for row in ranked]
    letters = groups_not_distinguishable(names, different) if baseline is None else [""] * len(names)
    from msgspec.structs import replace as changed

    return RunComparison(
        systems=tuple(changed(row, letters=own) for row, own in zip(ranked, letters, strict=True)),
        overall=tuple(overall),
        tasks=tuple(_judged(tasks, level, margin, sign)) if len(tables) > 1 else (),
        reliability=tuple(
            row for name in names for row in _reliability([*systems].index(name), systems, tables, level)
        ),
        metric=metric,
        margin=margin,
        level=level,
        power=power,
        clusters=any(table.clusters is not None for table in tables),
        notes=tuple(notes),
        items_warning=warning,
    )


def _pairs(systems: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    if baseline is None:
        return list(combinations(range(len(systems)), 2))
    if baseline not in systems:
        message, hint = f"there is no system {baseline!r}", f"the systems are {', '.join(systems)}"
        raise InputError(message, hint, code="parameter")
    place = list(systems).index(baseline)
    return [(other, place) for other in range(len(systems)) if other != place]


def _both(table: TaskTable, pair: tuple[int, int]) -> tuple[Floats, Floats, NDArray[Any] | None]:
    """Return the scores of the items that both systems answered, and their clusters."""
    first, second = table.scores[[*pair]]
    there = ~(np.isnan(first) | np.isnan(second))
    return first[there], second[there], None if table.clusters is None else table.clusters[there]


def _exact(tables: Sequence[TaskTable], pair: tuple[int, int]) -> float | None:
    """Return the p-value of McNemar's exact test; None unless items are independent, with one run each."""
    if not all(table.right_or_wrong and table.clusters is None and table.runs.max() == 1 for table in tables):
        return None
    both = [
        np.concatenate(scores) for scores in zip(*(_both(table, pair)[:2] for table in tables), strict=True)
    ]
    return mcnemar(*both).p_value


def _within(value: Quantity, low: float, high: float) -> Quantity:
    """Return a quantity whose interval ends at the limits of what is possible."""
    if value.low is None or value.high is None:
        return value
    from msgspec.structs import replace as changed

    return changed(value, low=max(low, value.low), high=min(high, value.high))


def _on_task(
    table: TaskTable, systems: Sequence[str], pair: tuple[int, int], level: float, power: float, most: float
) -> TaskDifference:
    first, second, clusters = _both(table, pair)
    one, other = (systems[place] for place in pair)
    if not len(first):
        message = f"task {table.task}: {one} and {other} have no item in common"
        raise InputError(message, "compare runs of the same task", code="empty")
    test = paired_t_test(first, second, clusters=clusters, level=level)
    return TaskDifference(
        task=table.task,
        first=one,
        second=other,
        metric=table.metric,
        items=test.n,
        first_mean=float(first.mean()),
        second_mean=float(second.mean()),
        difference=_within(test.difference, -most, most),
        p_value=test.p_value,
        exact_p_value=_exact([table], pair),
        detectable=_detectable(test, level, power, {}),
        interval_warning=test.warning,
    )


@dataclass(frozen=True)
class _Joined:
    """All items of all tasks: scores (systems, n), and the task and the cluster of each item by number."""

    scores: Floats
    task: Integers
    cluster: Integers | None

    @classmethod
    def of(cls, tables: Sequence[TaskTable]) -> _Joined:
        sizes = [table.scores.shape[1] for table in tables]
        cluster = None
        if any(table.clusters is not None for table in tables):
            names = [
                _clusters(number, size, table.clusters)
                for number, (size, table) in enumerate(zip(sizes, tables, strict=True))
            ]
            cluster = np.unique(np.concatenate(names), return_inverse=True)[1]
        task = np.repeat(np.arange(len(tables)), sizes)
        return cls(np.concatenate([table.scores for table in tables], axis=1), task, cluster)

    def tests(
        self, pair: tuple[int, int], level: float, joint: float
    ) -> Iterator[tuple[str, PairedTest, Quantity]]:
        """Yield the test over all items, and that of the mean over tasks, with intervals at ``joint``."""
        there = ~np.isnan(self.scores[[*pair]]).any(0)
        first, second = self.scores[[*pair]][:, there]
        cluster = None if self.cluster is None else self.cluster[there]
        whole = paired_t_test(first, second, clusters=cluster, level=level)
        wide = whole.difference
        if whole.p_value is not None:
            wide = mean_interval(first - second, clusters=cluster, level=joint).mean
        yield ITEMS, whole, wide
        if not self.task.any():  # of one task
            return
        from msgspec.structs import replace as changed

        task, gap = np.unique(self.task[there], return_inverse=True)[1], first - second
        n = np.bincount(task)
        if cluster is not None and len(np.unique([task, cluster], axis=1).T) > (whole.clusters or 0):
            none = Quantity(None, reason="clusters are in several tasks: read the difference over all items")
            yield TASKS, changed(whole, difference=none, p_value=None), none
            return
        means = np.bincount(task, gap) / n
        residual = gap - means[task]
        freedom = np.maximum(1.0, n - 1)
        squares = np.bincount(task, residual**2) / (freedom * n)
        if cluster is not None:
            for number in range(len(n)):
                own = np.unique(cluster[task == number], return_inverse=True)[1]
                spread = residual[task == number]
                items = float(n[number]), float(spread @ spread)
                variance, degrees = cr2(np.bincount(own), np.bincount(own, spread), items)
                squares[number], freedom[number] = variance / n[number] ** 2, max(1.0, degrees)
        # Differences that are meant to be equal leave rounding errors.
        dust = 1e-12 * max(1.0, float(np.abs(first).max()), float(np.abs(second).max()))
        squares[~(np.sqrt(squares) > dust) | (n < 2) | np.isinf(squares)] = np.nan
        squares[np.bincount(task, gap != 0) == 0] = 0.0
        mean = float(means.mean())
        if np.isnan(squares).any() or not squares.sum():
            none = Quantity(mean, reason="the difference of a task has no standard error")
            yield TASKS, changed(whole, difference=none, p_value=None), none
            return
        error = math.sqrt(squares.sum()) / len(n)
        degrees = float(squares.sum() ** 2 / (squares**2 / freedom).sum())  # Satterthwaite's
        narrow, wide = (
            Quantity(mean, *student(mean, error, degrees, own), standard_error=error)
            for own in (level, joint)
        )
        p_value = tail(mean / error, degrees, "two-sided")
        yield TASKS, changed(whole, difference=narrow, p_value=p_value, t=mean / error, freedom=degrees), wide


def _coded(tables: Sequence[TaskTable]) -> list[TaskTable]:
    """Return the tables with numbers for the names of clusters; a name in two tables has one number."""
    named = [table.clusters for table in tables if table.clusters is not None]
    if not named:
        return [*tables]
    codes, _ = _checks.clusters_of(np.concatenate(named), "the scores", sum(map(len, named)))
    parts = iter(np.split(np.asarray(codes), np.cumsum([len(names) for names in named])[:-1]))
    return [replace(table, clusters=None if table.clusters is None else next(parts)) for table in tables]


def _clusters(task: int, items: int, clusters: NDArray[Any] | None) -> NDArray[Any]:
    """Return the clusters of a task's items; an item without one is its own cluster."""
    return -1 - (task << 32) - np.arange(items) if clusters is None else clusters


def _detectable(
    test: PairedTest, level: float, power: float, effects: dict[tuple[int, float | None], float]
) -> float | None:
    """Return the detectable difference; ``effects`` keeps those in standard deviations."""
    error = test.difference.standard_error
    if not error or test.n < 2:
        return None
    size = test.n, test.freedom
    if size not in effects:
        effects[size] = minimum_detectable_difference(
            1.0, test.n, power=power, level=level, freedom=test.freedom
        ).detectable
    return effects[size] * error * math.sqrt(test.n)


def _judged(rows: list[Any], level: float, margin: float | None, sign: int) -> list[Any]:
    """Return the rows with Holm's p-values and verdicts."""
    from msgspec.structs import replace as changed

    known = [row.p_value for row in rows if row.p_value is not None]
    adjusted = iter(list(adjusted_p_values(known)) if known else [])
    return [
        changed(
            row,
            holm_p_value=None if row.p_value is None else (own := next(adjusted)),
            verdict=_verdict(row, None if row.p_value is None else own, level, margin, sign),
        )
        for row in rows
    ]


def _verdict(row: Any, p_value: float | None, level: float, margin: float | None, sign: int) -> str:
    """Return the verdict; ``sign`` is -1 if lower scores are better.

    If there are several pairs, it follows from the simultaneous interval alone. Where that excludes 0, Holm's
    p-value is below 1 - level too.
    """
    interval = getattr(row, "simultaneous", None) or row.difference
    if interval.low is None or interval.high is None:
        return INCONCLUSIVE
    low, high = sorted((sign * interval.low, sign * interval.high))
    if p_value is not None and p_value <= 1 - level and not low <= 0 <= high:
        return str(row.first if sign * row.difference.estimate > 0 else row.second)
    if margin is None:
        return INCONCLUSIVE
    if -margin < low and high < margin:
        return TIED
    return NOT_WORSE if low > -margin else INCONCLUSIVE


def _score(
    place: int, systems: Sequence[str], tables: Sequence[TaskTable], level: float, *, bounded: bool
) -> RunScore:
    values, runs, clusters = _of_system(place, tables)
    own = [table.scores[place][~np.isnan(table.scores[place])] for table in tables]
    between = within = None
    if len(values) > 1 and all(table.run_variances is not None for table in tables):
        variances = np.concatenate(
            [
                table.run_variances[place][table.runs[place] > 0]
                for table in tables
                if table.run_variances is not None
            ]
        )
        if runs.min() > 1:
            within = float(variances.mean())
            between = max(0.0, float(values.var(ddof=1) - (variances / runs).mean()))
    if bounded:
        mean, warning = bounded_mean(values, clusters, level)
    else:
        interval = mean_interval(values, clusters=clusters, level=level)
        mean, warning = interval.mean, interval.warning
    return RunScore(
        system=systems[place],
        tasks=sum(len(scores) > 0 for scores in own),
        items=len(values),
        runs=float(runs.mean()),
        mean=mean,
        task_mean=float(np.mean([scores.mean() for scores in own if len(scores)])),
        letters="",
        item_variance=between,
        run_variance=within,
        interval_warning=warning,
    )


def _of_system(place: int, tables: Sequence[TaskTable]) -> tuple[Floats, Integers, NDArray[Any] | None]:
    """Return the scores of a system's items in all tasks, their numbers of runs, and their clusters."""
    there = [~np.isnan(table.scores[place]) for table in tables]
    values = np.concatenate([table.scores[place][own] for table, own in zip(tables, there, strict=True)])
    runs = np.concatenate([table.runs[place][own] for table, own in zip(tables, there, strict=True)])
    if all(table.clusters is None for table in tables):
        return values, runs, None
    clusters = [
        _clusters(number, int(own.sum()), None if table.clusters is None else table.clusters[own])
        for number, (table, own) in enumerate(zip(tables, there, strict=True))
    ]
    return values, runs, np.concatenate(clusters)


def _reliability(
    place: int, systems: Sequence[str], tables: Sequence[TaskTable], level: float
) -> Iterator[Reliability]:
    """Yield pass@k and pass^k for k = 2, 4, ... and the number of runs that all items have."""
    means, runs, clusters = _of_system(place, tables)
    if not all(table.right_or_wrong for table in tables) or runs.min() < 2:
        return
    right, most = np.rint(means * runs), int(runs.min())
    for k in sorted({2**power for power in range(1, most.bit_length()) if 2**power <= most} | {most}):
        once, once_warning = bounded_mean(1 - all_of_k(runs - right, runs, k), clusters, level)
        always, always_warning = bounded_mean(all_of_k(right, runs, k), clusters, level)
        yield Reliability(
            system=systems[place],
            k=k,
            items=len(means),
            once=once,
            always=always,
            interval_warning=once_warning or always_warning,
        )


def all_of_k(events: ArrayLike, runs: ArrayLike, k: int) -> Floats:
    """Return the fraction of the sets of k of an item's runs in which all have the event.

    Parameters
    ----------
    events, runs
        (n,) runs of each item with the event, and all its runs, k or more.
    k
        Number of runs.

    References
    ----------
    Chen and others (2021), "Evaluating large language models trained on code", equation 1: pass@k is 1 less
    this for wrong answers. Yao and others (2024), "tau-bench", section 3.3: pass^k is this for right ones.

    Examples
    --------
    >>> all_of_k([3, 2, 1], [3, 3, 3], 2).round(4).tolist()
    [1.0, 0.3333, 0.0]
    """
    have, of = np.asarray(events, np.float64), np.asarray(runs, np.float64)
    share = np.ones(len(of))
    for run in range(k):
        share *= np.maximum(0.0, have - run) / (of - run)
    return share


def items_note(names: Sequence[str], lacking: Sequence[Sequence[str]]) -> str | None:
    """Return a warning of the items that some systems did not answer; None if there are none.

    Examples
    --------
    >>> items_note(["a", "b"], [[], ["q/1", "q/2"]])
    'b lacks 2 items that others have (q/1, q/2)'
    """
    parts = []
    short = [(name, items) for name, items in zip(names, lacking, strict=True) if items]
    for name, items in short[:MOST_NAMED]:
        shown = ", ".join(_short(item) for item in items[:MOST_NAMED]) + ", ..." * (len(items) > MOST_NAMED)
        parts.append(f"{name} lacks {counted(len(items), 'item')} that others have ({shown})")
    if len(short) > MOST_NAMED:
        most = max(len(items) for _, items in short[MOST_NAMED:])
        parts.append(
            f"so do {counted(len(short) - MOST_NAMED, 'other system')}, up to {counted(most, 'item')}"
        )
    return "; ".join(parts) or None


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
