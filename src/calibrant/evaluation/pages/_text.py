"""Tables of records for the page of an evaluation."""

from __future__ import annotations

from itertools import takewhile

from calibrant.evaluation.results.protocol import MetricComparison, Protocol
from calibrant.evaluation.results.significance import Comparison
from calibrant.pages import text
from calibrant.pages.sections import TextTable
from calibrant.records import Table
from calibrant.records.formats import ASIDE, word

DIGITS = 3
METRICS = {
    "accuracy": "accuracy",
    "f1_macro": "F1, mean over labels",
    "precision_macro": "precision, mean over labels",
    "recall_macro": "recall, mean over labels",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "entity_f1": "F1 of entities",
    "entity_precision": "precision of entities",
    "entity_recall": "recall of entities",
    "surface_f1": "F1 of surface forms",
    "surface_precision": "precision of surface forms",
    "surface_recall": "recall of surface forms",
}


def metric_name(name: str) -> str:
    """Return the display name of a metric.

    Examples
    --------
    >>> metric_name("f1:keep"), metric_name("accuracy")
    ('F1 of keep', 'accuracy')
    """
    kind, colon, label = name.partition(":")
    return f"{METRICS[kind]} of {label}" if colon else METRICS[kind]


def text_table(found: Table, *, title: str | None = None, folded: bool = False) -> TextTable:
    """Format the cells of a table, with three decimals.

    Examples
    --------
    >>> from calibrant.records import Column
    >>> made = text_table(Table("t", (Column("a", "a", "name"), Column("x", "x")), (("one", -0.5),)))
    >>> made.head, made.rows
    (('a', 'x'), (('one', '−0.500'),))
    """
    found = found.rounded(DIGITS)
    shown = [column for column in found.columns if column.kind not in ASIDE]
    rows = (
        tuple(
            cell if isinstance(cell, str) else text.signed(word(cell, column))
            for cell, column in zip(row, found.columns, strict=True)
            if column.kind not in ASIDE
        )
        for row in found.rows
    )
    words = len(list(takewhile(lambda column: column.kind == "text", reversed(shown))))
    return TextTable(
        title=found.title or found.caption if title is None else title,
        head=tuple(column.heading for column in shown),
        rows=tuple(rows),
        note=" ".join(f"{note.removesuffix('.')}." for note in found.all_notes()),
        folded=folded,
        words=words,
    )


def score_tables(found: Protocol) -> tuple[TextTable, ...]:
    """Return the tables of step 4: the metrics, and all classes."""
    classes = (
        text_table(table, title=f"All labels: {system.name}", folded=True)
        for system in found.systems
        for table in system.scores.to_tables()
        if table.name == "by_class"
    )
    return (text_table(found.scores(), title="Scores"), *classes)


def selective_tables(found: Protocol) -> tuple[TextTable, ...]:
    """Return the tables of the gain from abstaining; none without probabilities."""
    return tuple(
        text_table(table, title=f"{table.title or table.caption}: {system.name}")
        for system in found.systems
        if system.selective is not None
        for table in system.selective.to_tables()
    )


def pair_tables(found: MetricComparison) -> tuple[TextTable, ...]:
    """Return the tables of step 5: each pair by one metric, and all numbers of each."""
    title = f"Differences of {metric_name(found.metric)}, on {found.units:,} {found.unit}s"
    each = (
        text_table(table, title=f"{pair.first} {text.MINUS} {pair.second}: every number", folded=True)
        for pair in found.pairs
        for table in pair.to_tables()
    )
    return (*(text_table(table, title=title) for table in found.to_tables()), *each)


def fold_tables(found: Comparison) -> tuple[TextTable, ...]:
    """Return the tables of step 5 on folds of cross-validation."""
    return tuple(text_table(table, folded=table.name == "numbers") for table in found.to_tables())
