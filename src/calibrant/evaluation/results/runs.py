"""Records of the comparison of runs: scores of systems over tasks, and their paired differences."""

from __future__ import annotations

import re
from typing import Annotated

from calibrant.records import Quantity, Record, Table, name, number, rows, setting, warning
from calibrant.records.words import counted, percent
from calibrant.results.errors import IntervalLevel

DATA, DIFFERENCE, RUNS, SCORES = "Data", "Difference", "Runs", "Scores"
ITEMS, TASKS = "items", "tasks"

First = Annotated[str, name("First", "First system of the pair.")]
Second = Annotated[str, name("Second", "Second system of the pair.")]
Difference = Annotated[
    Quantity,
    number(
        "Difference",
        "Mean of first minus second over the items that both answered, with its paired interval.",
        group=DIFFERENCE,
        headline=True,
        signed=True,
    ),
]
PValue = Annotated[
    float | None,
    number(
        "p-value",
        "P-value of the hypothesis that both have the same expected score.",
        group=DIFFERENCE,
        unit="p-value",
        headline=True,
        short="p",
    ),
]
Holm = Annotated[
    float | None,
    number(
        "p-value (Holm)",
        "The p-value adjusted by Holm's method for the comparisons in this table. It is below 1 - level if a "
        "verdict names a system.",
        group=DIFFERENCE,
        unit="p-value",
        headline=True,
        short="p (Holm)",
    ),
]
ExactPValue = Annotated[
    float | None,
    number(
        "Exact p-value",
        "McNemar's exact test, which assumes nothing about the number of items: for right and wrong answers, "
        "one run per item, without clusters; else null.",
        group=DIFFERENCE,
        unit="p-value",
    ),
]
Verdict = Annotated[
    str,
    number(
        "Verdict",
        "The better system; tied, if the whole interval is within the margin; not worse, if it excludes that "
        "the first is worse by the margin; or inconclusive.",
        group=DIFFERENCE,
        headline=True,
    ),
]
Items = Annotated[int, number("Items", "Items that both systems answered.", group=DATA, headline=True)]
IntervalWarning = Annotated[str | None, warning("Few clusters, or scores that are very skewed.")]


class RunScore(Record, frozen=True, kw_only=True):
    """Score of a system over all tasks."""

    system: Annotated[str, name("System", "Name of the system.")]
    tasks: Annotated[int, number("Tasks", "Tasks with scores.", group=DATA, headline=True)]
    items: Annotated[int, number("Items", "Items with scores.", group=DATA, headline=True)]
    runs: Annotated[
        float, number("Runs", "Mean number of runs of an item.", group=DATA, headline=True, digits=1)
    ]
    mean: Annotated[
        Quantity,
        number(
            "Mean over items",
            "Mean score over all items, each the mean of its runs.",
            group=SCORES,
            headline=True,
            short="over items",
        ),
    ]
    task_mean: Annotated[
        float,
        number(
            "Mean over tasks", "Mean of the tasks' means.", group=SCORES, headline=True, short="over tasks"
        ),
    ]
    letters: Annotated[
        str,
        number(
            "Group",
            "Letters: two systems share one exactly if the simultaneous interval of their difference over "
            "all items contains 0.",
            group=SCORES,
            headline=True,
        ),
    ]
    item_variance: Annotated[
        float | None,
        number(
            "Variance between items",
            "Variance of the items' expected scores: that of their means, less the part of the runs; null "
            "without several runs of each item.",
            group=RUNS,
        ),
    ] = None
    run_variance: Annotated[
        float | None,
        number(
            "Variance between runs",
            "Mean variance of an item's runs. The variance of the mean of n independent items with k runs "
            "is (variance between items + variance between runs / k) / n.",
            group=RUNS,
        ),
    ] = None
    interval_warning: IntervalWarning = None


class Reliability(Record, frozen=True, kw_only=True):
    """How often a system is right in at least one, and in all, of k runs of an item."""

    system: Annotated[str, name("System", "Name of the system.")]
    k: Annotated[int, name("k", "Number of runs.")]
    items: Annotated[int, number("Items", "Items, each with k runs or more.", group=DATA, headline=True)]
    once: Annotated[
        Quantity,
        number(
            "pass@k",
            "Probability that at least one of k runs of an item is right.",
            group=RUNS,
            headline=True,
        ),
    ]
    always: Annotated[
        Quantity,
        number("pass^k", "Probability that all of k runs of an item are right.", group=RUNS, headline=True),
    ]
    interval_warning: IntervalWarning = None


class TaskDifference(Record, frozen=True, kw_only=True):
    """Difference of two systems on one task."""

    task: Annotated[str, name("Task", "Name of the task.")]
    first: First
    second: Second
    metric: Annotated[str, setting("Metric", "Metric of the task.")]
    items: Items
    first_mean: Annotated[
        float, number("First's mean", "Mean score of the first.", group=SCORES, headline=True, short="mean 1")
    ]
    second_mean: Annotated[
        float,
        number("Second's mean", "Mean score of the second.", group=SCORES, headline=True, short="mean 2"),
    ]
    difference: Difference
    p_value: PValue
    holm_p_value: Holm = None
    exact_p_value: ExactPValue = None
    detectable: Annotated[
        float | None,
        number(
            "Detectable",
            "Smallest difference that these items show with the power; null if it is undefined.",
            group=DIFFERENCE,
        ),
    ] = None
    verdict: Verdict = "inconclusive"
    interval_warning: IntervalWarning = None


class OverallDifference(Record, frozen=True, kw_only=True):
    """Difference of two systems over all tasks."""

    first: First
    second: Second
    over: Annotated[str, name("Over", "items: every item counts alike; tasks: every task counts alike.")]
    items: Items
    difference: Difference
    p_value: PValue
    holm_p_value: Holm = None
    exact_p_value: ExactPValue = None
    simultaneous: Annotated[
        Quantity | None,
        number(
            "Simultaneous",
            "The difference with an interval at 1 - (1 - level) / pairs (Bonferroni): all intervals "
            "over items contain the true differences with a probability of at least the level, and so do all "
            "intervals over tasks. Verdicts and letters follow from it. Null with one pair.",
            group=DIFFERENCE,
            signed=True,
        ),
    ] = None
    detectable: Annotated[
        float | None,
        number("Detectable", "Smallest difference that these items show with the power.", group=DIFFERENCE),
    ] = None
    verdict: Verdict = "inconclusive"
    interval_warning: IntervalWarning = None


class RunComparison(Record, frozen=True, kw_only=True):
    """Comparison of runs on the same tasks and items."""

    main_table = "overall"

    systems: Annotated[tuple[RunScore, ...], rows("Systems", "Scores, the best first.")]
    overall: Annotated[
        tuple[OverallDifference, ...],
        rows("Over all tasks, first minus second", "Paired differences over all tasks."),
    ]
    tasks: Annotated[
        tuple[TaskDifference, ...], rows("By task, first minus second", "Paired differences on each task.")
    ] = ()
    reliability: Annotated[
        tuple[Reliability, ...],
        rows("Right in one and in all of k runs", "Reliability of right and wrong answers over runs."),
    ] = ()
    metric: Annotated[
        str | None,
        setting(
            "Metric", "Metric of tables of predictions; null for scores of logs and tables.", headline=True
        ),
    ] = None
    margin: Annotated[
        float | None,
        setting("Margin", "Difference that does not matter; null if none was given.", headline=True),
    ]
    level: IntervalLevel
    power: Annotated[
        float, setting("Power", "Power of the detectable differences.", unit="percent", headline=True)
    ]
    clusters: Annotated[
        bool, setting("Clusters", "True if items are in clusters that were named.", headline=True)
    ]
    notes: Annotated[
        tuple[str, ...],
        setting("Notes", "Tasks and samples that were left out, and means that differ from the logs'."),
    ]
    items_warning: Annotated[
        str | None, warning("Items that not all systems answered, or whose questions differ.")
    ] = None

    def remarks(self) -> tuple[tuple[str, str], ...]:
        """Return the notes."""
        return tuple(("", note) for note in self.notes)

    def main_tables(self) -> tuple[Table, ...]:
        """Return both means and their difference; by task, the differences; of more than two, the ranking."""
        tables = {table.name: table for table in self.to_tables()}
        if len(self.systems) == 2 and not self.tasks:
            return tables["systems"], tables["overall"]
        first, main = self.to_tables()[0], tables["systems" if len(self.systems) > 2 else "tasks"]
        notes = tuple(note for note in first.notes if note not in main.notes) if main is not first else ()
        from dataclasses import replace

        return (replace(main, notes=(*main.notes, *notes), ranked=True),)

    def summary(self) -> str:
        """Return the verdict over all items."""
        whole = [pair for pair in self.overall if pair.over == ITEMS]
        if len(self.systems) > 2:
            best = self.systems[0]
            groups = [{*re.findall("[A-Za-z][0-9]*", row.letters)} for row in self.systems]
            equal = [own for own in groups[1:] if own & groups[0]]
            beside = f", not distinguishable from {counted(len(equal), 'other')}" if equal else ""
            shown = sum(pair.verdict not in ("tied", "inconclusive") for pair in whole)
            pairs = counted(len(whole), "pair")
            return f"{best.system} has the best mean{beside}. {shown} of {pairs} differ."
        [pair] = whole
        ends = pair.difference
        factor, unit = (1, "nats") if self.metric == "log-loss" else (100, "points")
        digits = 4 if factor == 1 else 1
        by = f"{factor * abs(ends.estimate or 0):.{digits}f} {unit}"
        if ends.low is None or ends.high is None:
            return f"The difference has no interval: {ends.reason or 'too few items'}."
        low, high = (f"{factor * end:+.{digits}f}" for end in (ends.low, ends.high))
        within = f"{percent(self.level)} interval {low} to {high}"
        over = f"over all {counted(pair.items, 'item')}"
        if pair.verdict in (pair.first, pair.second):
            other = pair.second if pair.verdict == pair.first else pair.first
            return f"{pair.verdict} is better than {other} by {by} {over} (first minus second: {within})."
        if pair.verdict == "tied":
            margin = f"{factor * (self.margin or 0):g} {unit}"
            return f"{pair.first} and {pair.second} are tied {over}: {within}, within {margin}."
        seen = (
            ""
            if pair.detectable is None
            else f" These items show differences from {factor * pair.detectable:.{digits}f} {unit} on."
        )
        return f"No difference is shown {over}: {within}.{seen}"
