"""Record of a whole evaluation: task, reference, agreement, systems, tests, and what follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.records.table import Column, Table, between, interval_heading, known
from calibrant.records.words import counted, percent
from calibrant.results._base import Result
from calibrant.results.agreement import Agreement
from calibrant.results.classification import Classification
from calibrant.results.drawing import Report
from calibrant.results.interval_estimate import IntervalEstimate, estimate_cells, estimate_columns
from calibrant.results.selective import RiskCoverage
from calibrant.results.significance import Comparison, Detectable, McNemarTest, ResampledTest


@dataclass(frozen=True)
class ControlTask(Result):
    """Step 1: what annotators and systems decide.

    Attributes
    ----------
    name, description
        As the file has them.
    labels
        In order.
    positive
        The label that is looked for; None where all labels count alike.
    budget
        How many items of a document get it at most; None without a limit.
    """

    name: str
    description: str
    labels: tuple[str, ...]
    positive: str | None
    budget: int | None


@dataclass(frozen=True)
class Reference(Result):
    """Step 2: the labels that systems are held against.

    Attributes
    ----------
    rule
        ``majority``, ``adjudicated`` or ``annotator``.
    items
        Items with a label.
    documents
        What they belong to, which is resampled in the place of items; None where that is not known.
    by_label
        Items by label.
    annotated
        Items that at least one annotator labelled.
    single
        Of these, items that one alone labelled.
    tied
        Items without a majority.
    adjudicated
        Items whose label is from the adjudicated file.
    by_ties
        Ties that got the label that ``ties`` names.
    left_out
        Items that have no label in the end (ties; gold classes that a tagger does not know), and count
        nowhere.
    over_budget
        Documents in which the reference has the positive label too often.
    annotators_over_budget
        The same for each annotator.
    """

    rule: str
    items: int
    documents: int | None
    by_label: dict[str, int]
    annotated: int
    single: int
    tied: int
    adjudicated: int
    by_ties: int
    left_out: int
    over_budget: int
    annotators_over_budget: dict[str, int]


@dataclass(frozen=True)
class SystemEvaluation(Result):
    """Step 4: one system against the reference.

    Attributes
    ----------
    name, description
        As the file has them.
    gives
        ``labels`` or ``probabilities``.
    decision
        How probabilities became labels, such as ``top 3 of a document``; None for labels.
    values
        The metrics that the file asks for, by name.
    scores
        Accuracy, precision, recall and F of all classes.
    unused
        Items of the system that the reference has not.
    over_budget
        Documents in which it gives the positive label too often.
    selective
        What is gained by leaving out what it is unsure of; None for labels.
    reasons
        For each field that is None, why.
    """

    name: str
    description: str
    gives: str
    decision: str | None
    values: dict[str, IntervalEstimate]
    scores: Classification
    unused: int
    over_budget: int
    selective: RiskCoverage | None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MetricPair(Result):
    """How two systems differ by one metric.

    Attributes
    ----------
    first, second
        The systems.
    difference
        Value of the first minus that of the second; None where one is undefined.
    bootstrap, permutation
        Its interval, and the test, which resample or swap documents (or items).
    holm_p_value, benjamini_hochberg_p_value
        The permutation's p-value among those of all pairs, by either method.
    better
        The system that is better at this level, by Holm's p-value; None where neither is.
    mcnemar
        For accuracy on independent items; else None.
    detectable
        What difference so many documents (or items) show, from the jackknife's deviation.
    reasons
        For each field that is None, why.
    """

    first: str
    second: str
    difference: float | None
    bootstrap: ResampledTest
    permutation: ResampledTest
    holm_p_value: float | None
    benjamini_hochberg_p_value: float | None
    better: str | None
    mcnemar: McNemarTest | None
    detectable: Detectable | None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MetricComparison(Result):
    """Step 5: all pairs of systems by one metric.

    Attributes
    ----------
    metric
        Its name.
    unit
        ``document`` or ``item``: what is resampled.
    units
        How many there are.
    pairs
        Each pair, or each system with the baseline.
    """

    metric: str
    unit: str
    units: int
    pairs: tuple[MetricPair, ...]


@dataclass(frozen=True)
class Finding(Result):
    """One thing that can, or cannot, be concluded.

    Attributes
    ----------
    about
        ``reference``, ``score``, ``difference``, ``calibration``, ``selective`` or ``scope``.
    concluded
        Whether the data say so at the chosen level.
    text
        In a sentence or two.
    """

    about: str
    concluded: bool
    text: str


@dataclass(frozen=True)
class Protocol(Result):
    """A whole evaluation, step by step.

    Attributes
    ----------
    file
        The file that describes it.
    task
        Step 1.
    reference
        Step 2.
    agreement
        Step 3; None without two annotators.
    systems
        Step 4, one a system.
    calibration
        Of the systems that give probabilities; None where none does.
    metrics
        Names of the metrics; conclusions are drawn from the first.
    comparisons
        Step 5, one a metric.
    folds
        Step 5 on folds of cross-validation: then it decides which system is better. None without folds.
    fold_metric
        What the folds' scores are; None without folds.
    findings
        What can and cannot be concluded.
    level, alternative, power, samples, seed
        Of all intervals and tests.
    notes
        What the reader must know of the data.
    version
        Of calibrant.
    command
        The command line; None where there is none.
    reasons
        For each field that is None, why.
    """

    file: str
    task: ControlTask
    reference: Reference
    agreement: Agreement | None
    systems: tuple[SystemEvaluation, ...]
    calibration: Report | None
    metrics: tuple[str, ...]
    comparisons: tuple[MetricComparison, ...]
    folds: Comparison | None
    fold_metric: str | None
    findings: tuple[Finding, ...]
    level: float
    alternative: str
    power: float
    samples: int
    seed: int
    notes: tuple[str, ...]
    version: str
    command: str | None
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row a system and metric, with its interval."""
        return [
            {"system": system.name, "metric": name, **value.to_dict()}
            for system in self.systems
            for name, value in system.values.items()
        ]

    def to_tables(self) -> tuple[Table, ...]:
        """Return the systems' scores, their differences, and what can and cannot be concluded."""
        scores = tuple(
            (system.name, name, *estimate_cells(value, value.reasons))
            for system in self.systems
            for name, value in system.values.items()
        )
        columns = Column("system", "system", "name"), Column("metric", "metric", "name")
        reference = (
            f"{self.task.name}: {counted(self.reference.items, 'item')}, labels by {self.reference.rule}"
        )
        how = f"{interval_heading(self.level)}s; {counted(self.samples, 'resample')}, seed {self.seed}"
        told = tuple((("yes" if each.concluded else "no"), each.text) for each in self.findings)
        return (
            Table(
                "scores",
                (*columns, *estimate_columns("value", "value", self.level)),
                scores,
                f"{reference}; {how}",
                self.notes,
            ),
            *self._differences(),
            Table(
                "findings",
                (Column("concluded", "concluded", "name"), Column("text", "what", "text")),
                told,
                f"What can and cannot be concluded at {percent(self.level)}",
            ),
        )

    def _differences(self) -> tuple[Table, ...]:
        columns = (
            Column("metric", "metric", "name"),
            Column("first", "first", "name"),
            Column("second", "second", "name"),
            Column("difference", "difference"),
            Column("difference", interval_heading(self.level), "interval"),
            Column("p_value", "p", "p-value"),
            Column("holm_p_value", "p (Holm)", "p-value"),
            Column("better", "better", "text"),
        )
        rows = tuple(
            (
                *(compared.metric, pair.first, pair.second),
                known(pair.difference, pair.reasons, "difference"),
                between(*_ends(pair), {"low": pair.bootstrap.reason or ""}, "low"),
                known(pair.permutation.p_value, {"p": pair.permutation.reason or ""}, "p"),
                known(pair.holm_p_value, pair.reasons, "holm_p_value"),
                pair.better,
            )
            for compared in self.comparisons
            for pair in compared.pairs
        )
        caption = f"Differences, first minus second: intervals, {self.alternative} permutation test"
        return (Table("differences", columns, rows, caption),) if rows else ()


def _ends(pair: MetricPair) -> tuple[float | None, float | None]:
    return pair.bootstrap.difference.low, pair.bootstrap.difference.high
