"""Page of an evaluation: five steps and the conclusions, rendered as HTML or JSON."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any

from calibrant.evaluation.results.protocol import MetricComparison, Protocol
from calibrant.evaluation.results.significance import Comparison
from calibrant.pages import text
from calibrant.pages.report_page import page
from calibrant.pages.sections import Card, Contrast, Lines, Picture, Section, TextTable, no_figures
from calibrant.pages.tables import text_table
from calibrant.records import plain

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
MOST_SYSTEMS = 30
MOST_METRICS = 3
MOST_CURVES = 6  # more cannot be distinguished
SCORES_CAPTION = (
    "Each interval is for one score alone. Two systems whose intervals overlap may still differ "
    "significantly, because they were scored on the same items; step 5 tests the differences."
)
SELECTIVE_CAPTION = (
    "Error rate on the most confident items, by the fraction of items kept; at the right end all items are "
    "kept. A curve that rises to the right shows that confidence is informative; the dotted lines show "
    "uninformative confidence."
)


def metric_name(name: str) -> str:
    """Return the display name of a metric.

    Examples
    --------
    >>> metric_name("f1:keep"), metric_name("accuracy")
    ('F1 of keep', 'accuracy')
    """
    kind, colon, label = name.partition(":")
    return f"{METRICS[kind]} of {label}" if colon else METRICS[kind]


def score_tables(record: Protocol) -> tuple[TextTable, ...]:
    """Return the tables of step 4: the metrics, and all classes."""
    classes = (
        text_table(table, title=f"All labels: {system.name}", folded=True)
        for system in record.systems
        for table in system.scores.to_tables()
        if table.name == "by_class"
    )
    return (text_table(record.scores(), title="Scores"), *classes)


def selective_tables(record: Protocol) -> tuple[TextTable, ...]:
    """Return the tables of the gain from abstaining; none without probabilities."""
    return tuple(
        text_table(table, title=f"{table.title or table.caption}: {system.name}")
        for system in record.systems
        if system.selective is not None
        for table in system.selective.to_tables()
    )


def pair_tables(comparison: MetricComparison) -> tuple[TextTable, ...]:
    """Return the tables of step 5: each pair by one metric, and all numbers of each."""
    title = f"Differences of {metric_name(comparison.metric)}, on {comparison.units:,} {comparison.unit}s"
    by_pair = (
        text_table(table, title=f"{pair.first} {text.MINUS} {pair.second}: every number", folded=True)
        for pair in comparison.pairs
        for table in pair.to_tables()
    )
    return (*(text_table(table, title=title) for table in comparison.to_tables()), *by_pair)


def fold_tables(comparison: Comparison) -> tuple[TextTable, ...]:
    """Return the tables of step 5 on folds of cross-validation."""
    return tuple(text_table(table, folded=table.name == "numbers") for table in comparison.to_tables())


def score_pictures(record: Protocol) -> list[Picture]:
    """Draw the first metrics of all systems; return nothing for more systems than a figure can show."""
    if len(record.systems) > MOST_SYSTEMS:
        return []
    names = [system.name for system in record.systems]
    scores = [
        (metric_name(metric), [system.values[metric] for system in record.systems])
        for metric in record.metrics[:MOST_METRICS]
    ]
    from calibrant.evaluation.plots import score_intervals
    from calibrant.plots import inline_svg
    from calibrant.plots.style import figure_of

    ax = score_intervals(names, scores)
    svg = inline_svg(figure_of(ax), name="scores", description=f"Scores of {', '.join(names)}")
    drawn = f" The first {len(scores)} metrics are drawn." if len(record.metrics) > len(scores) else ""
    return [Picture(svg, "Scores with their intervals", SCORES_CAPTION + drawn)]


def selective_pictures(record: Protocol) -> list[Picture]:
    """Draw the risk-coverage curves of the systems that give probabilities."""
    curves = [(system.name, system.selective) for system in record.systems if system.selective is not None][
        :MOST_CURVES
    ]
    if not curves:
        return []
    from calibrant.evaluation.plots import risk_coverage_curves
    from calibrant.plots import inline_svg
    from calibrant.plots.style import figure_of

    ax = risk_coverage_curves(curves)
    description = f"Risk-coverage curves of {', '.join(name for name, _ in curves)}"
    svg = inline_svg(figure_of(ax), name="selective", description=description)
    return [Picture(svg, "Risk and coverage", SELECTIVE_CAPTION)]


@dataclass(frozen=True)
class Step:
    """Step of the protocol.

    Attributes
    ----------
    heading, lead
        Name and purpose of the step.
    lines
        Facts, as labels and texts.
    tables
        Tables of numbers.
    notes
        Reasons why something is missing.
    """

    heading: str
    lead: str
    lines: Lines = ()
    tables: tuple[TextTable, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProtocolPage:
    """Evaluation, ready for display.

    Attributes
    ----------
    title
        Title of the page.
    steps
        The five steps.
    calibration
        Calibration of the systems that give probabilities; None if no system does.
    selective
        Gain from abstaining on items of low confidence; empty if no system gives probabilities.
    concluded, open
        Supported conclusions, and unsupported ones.
    notes
        Notes on the data.
    protocol
        Record behind all numbers on the page.

    Examples
    --------
    >>> from calibrant.data import example
    >>> from calibrant import protocol
    >>> made = protocol_page(protocol(example("summaries")))
    >>> [step.heading for step in made.steps][:2]
    ['Define a control task', 'Produce a reference']
    """

    title: str
    steps: tuple[Step, ...]
    calibration: Section | None
    selective: tuple[TextTable, ...]
    concluded: tuple[str, ...]
    open: tuple[str, ...]
    notes: tuple[str, ...]
    protocol: Protocol

    @property
    def cards(self) -> tuple[Card, ...]:
        """Headline of the calibration of each system."""
        return () if self.calibration is None else self.calibration.cards

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Differences between the systems' calibration."""
        return () if self.calibration is None else self.calibration.contrasts

    @property
    def data(self) -> str:
        """All numbers as JSON, as a data URL that a browser can save."""
        code = base64.b64encode(self.protocol.to_json(indent=1).encode("utf-8")).decode("ascii")
        return f"data:application/json;base64,{code}"

    def to_dict(self) -> dict[str, Any]:
        """Return the page as plain Python values: every text, and the numbers behind it in ``protocol``."""
        return {
            "title": self.title,
            "steps": plain(self.steps),
            "calibration": plain(self.cards),
            "contrasts": plain(self.contrasts),
            "selective": plain(self.selective),
            "concluded": list(self.concluded),
            "open": list(self.open),
            "notes": list(self.notes),
            "protocol": self.protocol.to_dict(),
        }

    def to_html(self) -> str:
        """Return the page as one self-contained HTML document."""
        from calibrant.pages.html import render_protocol

        figures: dict[str, list[Picture]] = {"scores": [], "selective": []}
        if not no_figures():
            figures = {
                "scores": score_pictures(self.protocol),
                "selective": selective_pictures(self.protocol),
            }
        return render_protocol(self, figures, self.calibration, tuple(self.protocol.settings().items()))


def protocol_page(record: Protocol, *, title: str | None = None) -> ProtocolPage:
    """Make the page of an evaluation.

    Parameters
    ----------
    record
        Result of `calibrant.evaluation.protocol`.
    title
        Title of the page; None: the task's name.

    Returns
    -------
    ProtocolPage
        Its ``to_html()`` and ``to_dict()`` render the page; `calibrant.pages.write` writes it to a file.

    Examples
    --------
    >>> from calibrant.data import example
    >>> from calibrant import protocol
    >>> made = protocol_page(protocol(example("sentiment")), title="Tweets")
    >>> made.title, len(made.cards)
    ('Tweets', 2)
    """
    section = None if record.calibration is None else page(record.calibration).sections[0]
    if section is not None and section.view == "binary":
        meaning = f"The probability that the label is {record.task.positive}."
        section = replace(section, meaning=meaning)
    return ProtocolPage(
        title=title or f"Evaluation: {record.task.name}",
        steps=(_task(record), _reference(record), _agreement(record), _systems(record), _statistics(record)),
        calibration=section,
        selective=selective_tables(record),
        concluded=tuple(finding.text for finding in record.findings if finding.concluded),
        open=tuple(finding.text for finding in record.findings if not finding.concluded),
        notes=record.notes,
        protocol=record,
    )


def _task(record: Protocol) -> Step:
    lead = "The decision that annotators and systems make, and the settings that were fixed in advance."
    return Step("Define a control task", lead, tuple(record.task.settings().items()))


def _reference(record: Protocol) -> Step:
    name = f"{record.grouping.capitalize()}s"
    lines = tuple(
        (name if key == "Documents" else key, value) for key, value in record.reference.settings().items()
    )
    return Step("Produce a reference", "The labels with which systems are compared.", lines)


def _agreement(record: Protocol) -> Step:
    lead = "Agreement between annotators. Without agreement, the reference cannot measure systems."
    if record.agreement is None:
        why = record.agreement_reason
        return Step("Assess the reference", lead, notes=(f"Agreement is undefined: {why}.",))
    tables = (text_table(table, folded=table.name == "disputed") for table in record.agreement.to_tables())
    return Step("Assess the reference", lead, tables=tuple(tables))


def _systems(record: Protocol) -> Step:
    lead = "Scores of each system on the same items, and the calibration of its probabilities."
    return Step("Evaluate the systems", lead, tables=score_tables(record))


def _statistics(record: Protocol) -> Step:
    lead = "Tests of the differences, and the number of items that an inconclusive difference needs."
    if len(record.systems) < 2:
        return Step("Discuss with statistics", lead, notes=("There is one system, so nothing is compared.",))
    tables: tuple[TextTable, ...] = ()
    if record.folds is not None:
        tables = fold_tables(record.folds)
    tables += tuple(table for comparison in record.comparisons for table in pair_tables(comparison))
    notes = ("Conclusions use the folds and the corrected test.",) if record.folds is not None else ()
    return Step("Discuss with statistics", lead, tables=tables, notes=notes)
