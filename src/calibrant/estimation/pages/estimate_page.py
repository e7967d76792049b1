"""Page of estimates: the corrected numbers beside the others, comparisons, and how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrant._version import __version__
from calibrant.estimation.plots import MOST_LINES, estimates_by_group, lines_of
from calibrant.estimation.results import CorrectedCounts
from calibrant.pages.sections import Lines, Picture, TextTable, no_figures
from calibrant.pages.text import signed
from calibrant.records import Column, Table
from calibrant.records.formats import ASIDE, word

DIGITS = 3
CAPTION = (
    "Corrected estimates with their intervals, beside the labels alone and the model's scores alone. Where "
    "the model's scores are far from the corrected estimate, do not report them."
)


@dataclass(frozen=True)
class Version:
    """Version of calibrant, which the page names."""

    version: str = __version__


@dataclass(frozen=True)
class EstimateStep:
    """One part of the page."""

    heading: str
    before: tuple[str, ...]
    table: TextTable | None
    after: tuple[str, ...]


@dataclass(frozen=True)
class EstimatePage:
    """Estimates, ready for display.

    Attributes
    ----------
    title, lead
        Title and first sentence.
    steps
        Parts of the page.
    next
        Commands that reproduce the page.
    result
        The estimates, from which the figure is drawn.
    demo
        The version to name.
    """

    title: str
    lead: str
    steps: tuple[EstimateStep, ...]
    next: tuple[tuple[str, Lines], ...]
    result: CorrectedCounts
    demo: Version = Version()

    @classmethod
    def of(cls, result: CorrectedCounts) -> EstimatePage:
        """Return the page of estimates."""
        kind = {"grades": "Mean grades", "classes": "Proportions of classes"}.get(
            result.outcome, "Proportions"
        )
        lead = (
            f"{result.labelled:,} labels correct the model's scores of {result.documents:,} documents. "
            f"Sampling of the labels: {result.sampling}."
        )
        main, *compared = result.main_tables()
        every = result.to_tables()[0]
        steps = [
            EstimateStep("Figure", (), None, tuple(filter(None, [result.summary()]))),
            EstimateStep(kind, (), _table(main), ()),
        ]
        steps += [EstimateStep(one.title or one.caption, (), _table(one), ()) for one in compared]
        if result.reported is not None:
            steps.append(
                EstimateStep(
                    "All methods", ("The same by the other methods, for comparison.",), _table(every), ()
                )
            )
        command = result.command or "calibrant.estimate(...)"
        again = (("Reproduce this page", ((command, "the same data give the same numbers"),)),)
        return cls(kind, lead, tuple(steps), again, result)

    def to_html(self) -> str:
        """Return one HTML document."""
        from calibrant.pages.html import render_story

        figures: list[list[Picture]] = [[] for _ in self.steps]
        if not no_figures() and len(lines_of(self.result)) <= MOST_LINES:
            from calibrant.plots import inline_svg

            svg = inline_svg(estimates_by_group(self.result), name="estimates", description=CAPTION)
            figures[0] = [Picture(svg, "Estimates", CAPTION)]
        return render_story(self, figures)


def _table(table: Table) -> TextTable:
    """Format the cells of a table, with three decimals."""
    table = table.rounded(DIGITS)
    shown = [number for number, column in enumerate(table.columns) if column.kind not in ASIDE]
    return TextTable(
        title="",
        head=tuple(table.columns[number].heading for number in shown),
        rows=tuple(
            tuple(_cell(row[number], table.columns[number]) for number in shown) for row in table.rows
        ),
        note=" ".join(f"{note.removesuffix('.')}." for note in table.all_notes()),
    )


def _cell(cell: Any, column: Column) -> str:
    return cell if isinstance(cell, str) else signed(word(cell, column))
