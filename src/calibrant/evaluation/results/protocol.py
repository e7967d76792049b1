"""Record of a complete evaluation: task, reference, agreement, systems, tests and conclusions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from msgspec import Meta

from calibrant.evaluation.results.agreement import Agreement
from calibrant.evaluation.results.classification import Classification
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.results.selective import RiskCoverage
from calibrant.evaluation.results.significance import Comparison, Detectable, McNemarTest, ResampledTest
from calibrant.records import Quantity, Record, Table, number, part, rows, setting
from calibrant.records import name as heading
from calibrant.records.record import columns_of, warnings_of_rows
from calibrant.records.words import counted, percent
from calibrant.results.drawing import Report

DIFFERENCE, SCORE = "Difference", "Score"
DIGITS = 3


class ControlTask(Record, frozen=True):
    """Step 1: the decision of annotators and systems."""

    name: Annotated[str, setting("Task", "Name of the task.", headline=True)]
    description: Annotated[str, setting("Description", "Description of the task.", headline=True)]
    labels: Annotated[tuple[str, ...], setting("Labels", "Labels, in order.", headline=True)]
    positive: Annotated[
        str | None,
        setting("Target label", "Label to detect; null if all labels are equally important.", headline=True),
    ]
    budget: Annotated[
        int | None,
        setting("Budget", "Most items per document that get this label; null: no limit.", headline=True),
    ]


class Reference(Record, frozen=True, kw_only=True):
    """Step 2: the labels that systems are compared with."""

    rule: Annotated[
        str,
        setting(
            "Rule",
            "Source of the labels: majority of annotators, adjudicated (a file), or one annotator.",
            headline=True,
        ),
    ]
    items: Annotated[int, setting("Items", "Items with a label.", headline=True)]
    documents: Annotated[
        int | None,
        setting(
            "Documents",
            "Documents of these items, which intervals and tests resample; null if unknown: items are.",
            headline=True,
        ),
    ]
    by_label: Annotated[dict[str, int], setting("By label", "Items by label.", headline=True)]
    annotated: Annotated[
        int, setting("Annotated", "Items that at least one annotator labeled.", headline=True)
    ]
    single: Annotated[
        int, setting("Labeled once", "Items with a label of one annotator only.", headline=True)
    ]
    tied: Annotated[int, setting("Without majority", "Items without a majority.", headline=True)]
    adjudicated: Annotated[
        int, setting("Adjudicated", "Items whose label is from the adjudicated file.", headline=True)
    ]
    by_ties: Annotated[
        int, setting("Settled by rule", "Ties that received the label that `ties` names.", headline=True)
    ]
    left_out: Annotated[
        int,
        setting(
            "Left out",
            "Items that have no reference label (ties; gold classes that a tagger does not know) and are "
            "excluded.",
            headline=True,
        ),
    ]
    over_budget: Annotated[
        int, setting("Over budget", "Documents in which the reference exceeds the budget.", headline=True)
    ]
    annotators_over_budget: Annotated[
        dict[str, int],
        setting("Annotators over budget", "Documents in which each annotator exceeds the budget."),
    ]


class SystemEvaluation(Record, frozen=True, kw_only=True):
    """Step 4: one system against the reference."""

    name: Annotated[str, heading("System", "Name of the system.")]
    description: Annotated[str, setting("Description", "Description of the system.")]
    gives: Annotated[str, setting("Gives", "labels or probabilities.")]
    decision: Annotated[
        str | None,
        setting("Decision", "Rule that turned probabilities into labels; null if the system gives labels."),
    ]
    values: Annotated[
        dict[str, IntervalEstimate], Meta(description="Metrics that the file asks for, by name.")
    ]
    scores: Annotated[Classification, Meta(description="Scores of all classes.")]
    unused: Annotated[int, setting("Unused", "Items of the system that the reference does not have.")]
    over_budget: Annotated[int, setting("Over budget", "Documents in which the system exceeds the budget.")]
    selective: Annotated[
        RiskCoverage | None,
        Meta(description="Gain from leaving out items of low confidence; null if the system gives labels."),
    ]
    reason: Annotated[
        str | None, setting("Reason", "Reason why decision and selective are null, if they are.")
    ] = None


class MetricScore(Record, frozen=True, kw_only=True):
    """Score of one system by one metric."""

    system: Annotated[str, heading("System", "Name of the system.")]
    metric: Annotated[str, heading("Metric", "Name of the metric.")]
    value: Annotated[
        IntervalEstimate,
        number("Value", "Value of the metric.", group=SCORE, best=1, headline=True, digits=DIGITS),
    ]


class MetricPair(Record, frozen=True, kw_only=True):
    """Difference of two systems by one metric."""

    first: Annotated[str, heading("First", "First system.")]
    second: Annotated[str, heading("Second", "Second system.")]
    difference: Annotated[
        Quantity,
        number(
            "Difference",
            "Value of the first minus that of the second; interval by the paired bootstrap (Student's t with "
            "fewer than 30 units), not adjusted for the number of pairs.",
            group=DIFFERENCE,
            headline=True,
            digits=DIGITS,
            signed=True,
        ),
    ]
    p_value: Annotated[
        float | None,
        number(
            "p-value",
            "Permutation test of no difference; from the two scores' own intervals if one score rests on far "
            "fewer units.",
            group=DIFFERENCE,
            unit="p-value",
            headline=True,
            short="p",
        ),
    ]
    holm_p_value: Annotated[
        float | None,
        number(
            "p-value (Holm)",
            "The p-value adjusted for the number of pairs by Holm's method.",
            group=DIFFERENCE,
            unit="p-value",
            headline=True,
            short="p (Holm)",
        ),
    ] = None
    benjamini_hochberg_p_value: Annotated[
        float | None,
        number(
            "p-value (Benjamini-Hochberg)",
            "The p-value adjusted for the number of pairs by the method of Benjamini and Hochberg.",
            group=DIFFERENCE,
            unit="p-value",
        ),
    ] = None
    better: Annotated[
        str | None,
        number(
            "Better",
            "System that is better at this level, by Holm's p-value and, unless the test is one-sided, the "
            "interval; empty if neither is shown to be.",
            group=DIFFERENCE,
            headline=True,
        ),
    ] = None
    bootstrap: Annotated[ResampledTest, part("Bootstrap", "Paired bootstrap of documents (or items).")]
    permutation: Annotated[ResampledTest, part("Permutation", "Permutation of documents (or items).")]
    mcnemar: Annotated[
        McNemarTest | None,
        part("McNemar", "McNemar's test; null unless the metric is accuracy and items are independent."),
    ] = None
    mcnemar_reason: Annotated[
        str | None, setting("No McNemar", "Reason why McNemar's test is missing, if it is.")
    ] = None
    detectable: Annotated[
        Detectable | None,
        part(
            "Power",
            "Difference that this number of units detects, from the jackknife's deviation; null if the "
            "metric is undefined without one of them, or if all units have the same difference.",
        ),
    ] = None
    reason: Annotated[str | None, setting("Reason", "Reason why numbers are undefined, if they are.")] = None

    @property
    def level(self) -> float:
        """Level of the interval."""
        return self.bootstrap.level


class MetricComparison(Record, frozen=True, kw_only=True):
    """Step 5: all pairs of systems by one metric."""

    metric: Annotated[str, heading("Metric", "Name of the metric.")]
    unit: Annotated[
        str,
        setting(
            "Unit",
            "Unit that is resampled: item, sentence, document, or group of these that shares a form.",
            headline=True,
        ),
    ]
    units: Annotated[int, setting("Units", "Number of units.", headline=True)]
    pairs: Annotated[
        tuple[MetricPair, ...], rows("Pairs", "Each pair of systems, or each system with the baseline.")
    ]

    def to_tables(self) -> tuple[Table, ...]:
        """Return the differences, with the metric in their title; none for one system."""
        title = f"Differences of {self.metric} on {counted(self.units, self.unit)}"
        return tuple(
            replace(table, name=f"differences {self.metric}", title=title)
            for table in super().to_tables()
            if table.rows
        )


class Finding(Record, frozen=True):
    """A conclusion that the data allow, or do not allow."""

    about: Annotated[
        str,
        heading("About", "reference, score, difference, calibration, selective or scope."),
    ]
    concluded: Annotated[
        bool, setting("Concluded", "True if the data support the conclusion at the chosen level.")
    ]
    text: Annotated[str, setting("Finding", "The conclusion in a sentence or two.")]


class Protocol(Record, frozen=True, kw_only=True):
    """A whole evaluation, step by step."""

    file: Annotated[str, setting("File", "File that describes the evaluation.", headline=True)]
    task: Annotated[ControlTask, Meta(description="Step 1: the decision of annotators and systems.")]
    reference: Annotated[Reference, Meta(description="Step 2: the labels that systems are compared with.")]
    agreement: Annotated[
        Agreement | None,
        Meta(
            title="Agreement", description="Step 3: agreement of the annotators; null without two annotators."
        ),
    ]
    agreement_reason: Annotated[
        str | None, setting("No agreement", "Reason why agreement is missing, if it is.")
    ] = None
    systems: Annotated[tuple[SystemEvaluation, ...], Meta(description="Step 4: one entry per system.")]
    calibration: Annotated[
        Report | None,
        Meta(
            description="Calibration of the systems that give probabilities, as `calibrant report --json` "
            "prints it; null if no system does."
        ),
    ]
    metrics: Annotated[
        tuple[str, ...],
        setting("Metrics", "Names of the metrics; conclusions use the first.", headline=True),
    ]
    comparisons: Annotated[tuple[MetricComparison, ...], Meta(description="Step 5: one entry per metric.")]
    folds: Annotated[
        Comparison | None,
        Meta(
            title="Folds",
            description="Comparison on folds of cross-validation, which then decides the "
            "conclusions; null without folds.",
        ),
    ]
    fold_metric: Annotated[
        str | None, setting("Scores of folds", "Metric of the folds; null without folds.", headline=True)
    ]
    findings: Annotated[
        tuple[Finding, ...],
        rows("Findings", "Conclusions that the data support, and those that they do not support."),
    ]
    level: Annotated[
        float, setting("Level", "Level of all intervals and tests.", unit="percent", headline=True)
    ]
    alternative: Annotated[
        str,
        setting(
            "Alternative",
            "Hypothesis of the tests: two-sided, greater (the first of a pair is better) or less.",
            headline=True,
        ),
    ]
    power: Annotated[
        float,
        setting("Power", "Power of differences that are called detectable.", unit="percent", headline=True),
    ]
    samples: Annotated[int, setting("Samples", "Draws of each bootstrap.", headline=True)]
    seed: Annotated[int, setting("Seed", "Seed of the draws.", unit="seed", headline=True)]
    notes: Annotated[tuple[str, ...], setting("Notes", "Notes on the data.")]
    version: Annotated[str, setting("calibrant", "Version of calibrant.", headline=True)]
    command: Annotated[
        str | None, setting("Command", "Command line that repeats the evaluation; null from Python.")
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the notes on the data."""
        yield from (("findings", note) for note in self.notes)

    @property
    def grouping(self) -> str:
        """Name of a group of items: sentence in a reference in CoNLL columns, otherwise document."""
        return "sentence" if self.comparisons[0].unit.startswith("sentence") else "document"

    def to_tables(self) -> tuple[Table, ...]:
        """Return the systems' scores, their differences by each metric, and the conclusions."""
        compared = (table for comparison in self.comparisons for table in comparison.to_tables())
        return (self.scores(), *compared, *self._conclusions(*super().to_tables()))

    def main_tables(self) -> tuple[Table, ...]:
        """Return the conclusions, those that the data support and those that they do not."""
        return tuple(self._conclusions(*super().to_tables()))

    def _conclusions(self, findings: Table) -> Iterator[Table]:
        """Return a table of supported conclusions and one of unsupported ones; both may be empty."""
        place = [column.name for column in findings.columns].index("concluded")
        level = percent(self.level)
        for name, wanted, title in (
            ("concluded", "yes", f"Conclusions that the data support at {level}"),
            ("open", "no", f"Conclusions that the data do not support at {level}"),
        ):
            rows = tuple(row[:place] + row[place + 1 :] for row in findings.rows if row[place] == wanted)
            columns = findings.columns[:place] + findings.columns[place + 1 :]
            caption = f"{title}. {findings.caption}"
            empty = () if rows else ("There is no such conclusion.",)
            notes = (*empty, *(findings.notes if name == "open" else ()))
            yield replace(
                findings, name=name, title=title, caption=caption, columns=columns, rows=rows, notes=notes
            )

    def scores(self) -> Table:
        """Return the metrics of all systems, one row each."""
        scored = [
            MetricScore(system=system.name, metric=metric, value=value)
            for system in self.systems
            for metric, value in system.values.items()
        ]
        size = counted(self.reference.items, "item")
        if self.reference.documents is not None:
            size += f" of {counted(self.reference.documents, self.grouping)}"
        caption = f"{self.task.name}: {size}, {counted(len(self.systems), 'system')}"
        notes = tuple(warnings_of_rows(scored, self))
        return Table("scores", *columns_of(scored, self.level), caption, notes, f"Scores. {caption}")
