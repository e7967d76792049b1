"""Page of systems that a judge compares: means, differences, and what qualifies the judge."""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from calibrant.estimation.results.judged_classes import JudgedClasses
from calibrant.estimation.results.judging import JudgedSystems
from calibrant.pages.report_page import check_page, write
from calibrant.pages.sections import Lines, Picture, TextTable, no_figures
from calibrant.pages.tables import text_table
from calibrant.records import Table
from calibrant.records.words import percent
from calibrant.verbs.figures import KINDS, figure_kind, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_LINES = 60  # of a figure
MOST_ROWS = 15  # of a table that is open
TITLES = {"systems": "Means", "shares": "Proportions", "differences": "Differences"}
LEADS = {
    "systems": "The corrected mean estimates the mean label of all answers. The mean judge score is no "
    "estimate of it: its interval ignores the judge's errors.",
    "shares": "The corrected proportion estimates how many answers have the label. The judge alone is no "
    "estimate of it: its interval ignores the judge's errors.",
    "differences": "Differences are paired by prompt. P-values are adjusted for the number of tests (Holm).",
    "judges": "Each judge beside the labels, and all judges together.",
    "strengths": "Log-odds of winning a comparison, with mean 0.",
    "transport": "Tests if the map from scores to labels of one system holds for the others. If it does not, "
    "labels of that system do not show the judge's errors on them.",
    "errors": "How often the judge agrees with a label of 1 (sensitivity) and of 0 (specificity).",
    "confusion": "How often the judge names each class for answers with a label.",
    "bias": "Differences of judge minus label: above 0, the judge favors answers with the value.",
    "methods": "Means by other methods, each right under its own assumptions.",
}
WORTH = "Labels alone, and what the judge adds to them"
MEANS_CAPTION = (
    "Points with {level} intervals, each for one mean alone. Where the judge alone is outside of the "
    "corrected interval, the judge is wrong about the system."
)
GAPS_CAPTION = (
    "Points with {level} intervals, and what the judge alone says. An interval that contains 0 shows no "
    "difference."
)


@dataclass(frozen=True)
class Part:
    """Part of the page: one table, what it is, and a figure (drawn when the page is rendered)."""

    name: str
    heading: str
    lead: str
    tables: tuple[TextTable, ...]
    warnings: tuple[str, ...] = ()
    draw: Callable[[], Axes] | None = None
    caption: str = ""


@dataclass(frozen=True)
class JudgePage:
    """Comparison by a judge, ready for display.

    Attributes
    ----------
    title
        Title of the page.
    record
        Record behind all numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from calibrant.estimation import JudgedTable, judged_systems
    >>> rng = np.random.default_rng(0)
    >>> label = rng.random(200)
    >>> table = JudgedTable(("A", "B"), np.repeat([0, 1], 100), np.tile(np.arange(100), 2), label, label)
    >>> made = JudgePage("My judge", judged_systems(table))
    >>> [part.heading for part in made.parts][:2]
    ['Systems', 'Differences, first minus second']
    """

    title: str
    record: JudgedSystems | JudgedClasses

    @property
    def lead(self) -> str:
        """The summary in words."""
        return self.record.summary()

    @property
    def command(self) -> str | None:
        """The command line of the record."""
        return self.record.command

    @property
    def recipe(self) -> Lines:
        """Settings of the record."""
        how = {"Method": self.record.rule, "Units": self.record.clusters}
        return tuple({**self.record.settings(), **how}.items())

    @property
    def file(self) -> str:
        """Name of the file of all numbers."""
        return "judge.json"

    @property
    def data(self) -> str:
        """All numbers as JSON, as a data URL that a browser can save."""
        code = base64.b64encode(self.record.to_json(indent=1).encode("utf-8")).decode("ascii")
        return f"data:application/json;base64,{code}"

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts with their tables."""
        parts = []
        for table in self.record.to_tables():
            if table.name not in LEADS:
                continue
            notes = [note for note in table.notes if not note.startswith("Undefined")]
            folded = len(table.rows) > MOST_ROWS and table.name not in ("systems", "shares", "differences")
            title, table = f"All {len(table.rows)} rows" if folded else "", replace(table, notes=())
            made = [text_table(table, title=title, folded=folded)]  # with a note on undefined numbers
            if table.name in ("systems", "shares") and any(one.name == "gain" for one in table.columns):
                worth = ("labels_alone", "gain")
                made = [
                    text_table(_without(table, worth), title=""),
                    text_table(_without(table, ("corrected", "judge_alone", "letters")), title=WORTH),
                ]
            parts.append(
                replace(
                    self._drawn(table.name),
                    heading=table.title,
                    tables=tuple(made),
                    warnings=tuple(notes),
                )
            )
        return tuple(parts)

    def _drawn(self, name: str) -> Part:
        """Return a part with its figure, if it has one that is small enough."""
        from calibrant.estimation.plots import judged_differences, judged_means

        record, level = self.record, percent(self.record.level)
        part = Part(name, "", LEADS[name], ())
        lines = len(getattr(record, name))
        if lines > MOST_LINES or no_figures():
            return part
        if name in ("systems", "shares"):
            caption = MEANS_CAPTION.format(level=level)
            return replace(part, draw=lambda: judged_means(record), caption=caption)
        if name == "differences" and any(row.difference.low is not None for row in record.differences):
            caption = GAPS_CAPTION.format(level=level)
            return replace(part, draw=lambda: judged_differences(record), caption=caption)
        return part

    def to_html(self) -> str:
        """Return the page as one self-contained HTML document."""
        from calibrant.pages.html import render_record

        return render_record(self, [_pictures(part) for part in self.parts])


def _without(table: Table, names: Sequence[str]) -> Table:
    """Return a table without some columns: all of them together are wider than a page."""
    kept = [place for place, column in enumerate(table.columns) if column.name not in names]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in kept),
        rows=tuple(tuple(row[place] for place in kept) for row in table.rows),
    )


def _pictures(part: Part) -> Sequence[Picture]:
    """Draw the figure of a part."""
    if part.draw is None:
        return ()
    from calibrant.pages.figures import picture

    title = TITLES[part.name]
    return (picture(part.draw(), part.name, f"{title} with intervals", title, part.caption),)


def check_output(output: str) -> None:
    """Raise an error if a page or a figure cannot be written to a file, before the work begins."""
    if _is_figure(output):
        figure_kind(output)
    else:
        check_page(output)


def write_output(output: str, record: JudgedSystems | JudgedClasses) -> None:
    """Write the page, or the figure of the means, to a file; its ending says which."""
    if _is_figure(output):
        from calibrant.estimation.plots import judged_means

        save_figure(judged_means(record), output)
    else:
        several = isinstance(record, JudgedSystems) and len(record.systems) > 1
        write(
            output,
            JudgePage("Systems compared by a judge" if several else "Answers scored by a judge", record),
        )


def _is_figure(output: str) -> bool:
    return output.rpartition(".")[2].lower() in KINDS
