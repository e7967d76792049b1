"""The page of an evaluation: five steps and what follows, as a dataclass rendered as HTML or JSON."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace
from typing import Any

from calibrant import plots
from calibrant.evaluation import plots as evaluation_plots
from calibrant.evaluation.pages._text import (
    fold_tables,
    metric_name,
    pair_tables,
    score_tables,
    selective_tables,
    text_table,
)
from calibrant.evaluation.results.protocol import Protocol
from calibrant.pages.figures import Picture
from calibrant.pages.report_page import page
from calibrant.pages.sections import Card, Contrast, Lines, Section, TextTable
from calibrant.plots.style import figure_of
from calibrant.records import plain

MOST_SYSTEMS = 30
MOST_METRICS = 3
MOST_CURVES = 6  # more cannot be told apart
SCORES_CAPTION = (
    "Each interval is for its own score alone. Two that overlap may still differ by more than "
    "chance, since the "
    "systems were scored on the same items: step 5 says so."
)
SELECTIVE_CAPTION = (
    "Error rate on what a system is surest of, by how much of the items that is; at the right end, "
    "of all items. "
    "A curve that rises to the right knows what it does not know; the dotted lines are of one that does not."
)


def score_pictures(found: Protocol) -> list[Picture]:
    """Draw the first metrics of all systems; nothing for more systems than a figure can show."""
    if len(found.systems) > MOST_SYSTEMS:
        return []
    names = [system.name for system in found.systems]
    scores = [
        (metric_name(metric), [system.values[metric] for system in found.systems])
        for metric in found.metrics[:MOST_METRICS]
    ]
    ax = evaluation_plots.score_intervals(names, scores)
    svg = plots.inline_svg(figure_of(ax), name="scores", description=f"Scores of {', '.join(names)}")
    return [Picture(svg, "Scores with their intervals", SCORES_CAPTION)]


def selective_pictures(found: Protocol) -> list[Picture]:
    """Draw the risk-coverage curves of the systems that give probabilities."""
    curves = [(each.name, each.selective) for each in found.systems if each.selective is not None][
        :MOST_CURVES
    ]
    if not curves:
        return []
    ax = evaluation_plots.risk_coverage_curves(curves)
    description = f"Risk-coverage curves of {', '.join(name for name, _ in curves)}"
    svg = plots.inline_svg(figure_of(ax), name="selective", description=description)
    return [Picture(svg, "Risk and coverage", SELECTIVE_CAPTION)]


@dataclass(frozen=True)
class Step:
    """One step of the protocol.

    Attributes
    ----------
    heading, lead
        What it is, and what it is for.
    lines
        Facts, as labels and texts.
    tables
        Numbers.
    notes
        Why something is not there.
    """

    heading: str
    lead: str
    lines: Lines = ()
    tables: tuple[TextTable, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProtocolPage:
    """An evaluation, ready to be shown.

    Attributes
    ----------
    title
        Of the page.
    steps
        The five.
    calibration
        How calibrated the systems are that give probabilities; None where none does.
    selective
        What leaving out unsure items gains; empty likewise.
    concluded, open
        What the data say, and what they do not.
    notes
        What the reader must know of the data.
    protocol
        The record behind every number on the page.

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
        """Headlines of the calibration of each system."""
        return () if self.calibration is None else self.calibration.cards

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """Differences of their calibration."""
        return () if self.calibration is None else self.calibration.contrasts

    @property
    def data(self) -> str:
        """Every number as JSON, as an address that a browser can save."""
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
        from calibrant.evaluation.pages.page import score_pictures, selective_pictures
        from calibrant.pages.html import render_protocol

        figures = {"scores": score_pictures(self.protocol), "selective": selective_pictures(self.protocol)}
        return render_protocol(self, figures, self.calibration, tuple(self.protocol.settings().items()))


def protocol_page(found: Protocol, *, title: str | None = None) -> ProtocolPage:
    """Word an evaluation for its reader.

    Parameters
    ----------
    found
        What `calibrant.evaluation.protocol` returns.
    title
        Title of the page; None: the task's name.

    Returns
    -------
    ProtocolPage
        Rendered by its ``to_html()`` and ``to_dict()``; `calibrant.pages.write` puts it into a file.

    Examples
    --------
    >>> from calibrant.data import example
    >>> from calibrant import protocol
    >>> made = protocol_page(protocol(example("sentiment")), title="Tweets")
    >>> made.title, len(made.cards)
    ('Tweets', 2)
    """
    section = None if found.calibration is None else page(found.calibration).sections[0]
    return ProtocolPage(
        title=title or f"Evaluation: {found.task.name}",
        steps=(_task(found), _reference(found), _agreement(found), _systems(found), _statistics(found)),
        calibration=None if section is None else replace(section, meaning=_meaning(found, section)),
        selective=selective_tables(found),
        concluded=tuple(each.text for each in found.findings if each.concluded),
        open=tuple(each.text for each in found.findings if not each.concluded),
        notes=found.notes,
        protocol=found,
    )


def _meaning(found: Protocol, section: Section) -> str:
    if section.view == "binary":
        return f"The probability that the label is {found.task.positive}."
    return section.meaning


def _task(found: Protocol) -> Step:
    lead = "What annotators and systems decide, and what was settled before anybody looked at results."
    return Step("Define a control task", lead, tuple(found.task.settings().items()))


def _reference(found: Protocol) -> Step:
    lines = tuple(found.reference.settings().items())
    return Step("Produce a reference", "The labels that systems are compared with.", lines)


def _agreement(found: Protocol) -> Step:
    lead = "How far annotators agree: a reference that they do not agree on measures no system."
    if found.agreement is None:
        why = found.agreement_reason
        return Step("Assess the reference", lead, notes=(f"Agreement is undefined: {why}.",))
    tables = (text_table(each, folded=each.name == "disputed") for each in found.agreement.to_tables())
    return Step("Assess the reference", lead, tables=tuple(tables))


def _systems(found: Protocol) -> Step:
    lead = "How well each system does, on the same items, and how far its probabilities can be trusted."
    return Step("Evaluate the systems", lead, tables=score_tables(found))


def _statistics(found: Protocol) -> Step:
    lead = "Which differences are more than chance, and what it would take to settle the others."
    if len(found.systems) < 2:
        return Step("Discuss with statistics", lead, notes=("There is one system, so nothing is compared.",))
    tables: tuple[TextTable, ...] = ()
    if found.folds is not None:
        tables = fold_tables(found.folds)
    tables += tuple(table for each in found.comparisons for table in pair_tables(each))
    notes = (
        ("Conclusions are drawn from the folds, by the corrected test.",) if found.folds is not None else ()
    )
    return Step("Discuss with statistics", lead, tables=tables, notes=notes)
