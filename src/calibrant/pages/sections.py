"""Records of the parts of a page: main numbers, differences, sections, tables, and all numbers by model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from calibrant.pages import text
from calibrant.parts import installing, is_here
from calibrant.records import Column, Record, Undefined, numbers_of, words
from calibrant.records.formats import word
from calibrant.records.record import cells
from calibrant.results.drawing import Drawing
from calibrant.results.measurement import ClassMean, Measurement
from calibrant.results.slices import SliceErrors

FEW_CLASSES = 15  # need no search box
Lines = tuple[tuple[str, str], ...]
Kind = Literal["curves", "smooth", "histograms"]  # of figures


def no_figures() -> str:
    """Return why a page has no figures; an empty text if it can have them."""
    return "" if is_here("matplotlib") else f"Figures need matplotlib: {installing('plots')}."


@dataclass(frozen=True)
class Picture:
    """One figure of a page.

    Attributes
    ----------
    svg
        Markup that is safe in a page.
    title, caption
        Texts above and below the figure.
    """

    svg: str
    title: str
    caption: str


@dataclass(frozen=True)
class Cell:
    """Text of one number of one model.

    Attributes
    ----------
    text
        The number, or the symbol of an undefined one.
    note
        Text beside the number in small type: an interval, a remark, a reason.
    """

    text: str
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One field for all models of a section.

    Attributes
    ----------
    field
        The field's name in JSON.
    label, meaning
        From the field's declaration.
    cells
        One per model.
    """

    field: str
    label: str
    meaning: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Rows that belong together; at least one."""

    title: str
    rows: tuple[Row, ...]


def number_groups(records: Sequence[Record]) -> tuple[Group, ...]:
    """Return the texts of all numbers of records of one kind, side by side, grouped and explained."""
    groups: dict[str, list[Row]] = {}
    remarks = [list(record.remarks()) for record in records]
    for field in numbers_of(type(records[0])):
        if field.role != "number":
            continue
        row_cells = []
        for record, said in zip(records, remarks, strict=True):
            value, reason = field.of(record)
            estimate, interval = cells(value, reason, field)
            notes = [cell.reason for cell in (estimate, interval) if isinstance(cell, Undefined)]
            if isinstance(interval, tuple):
                notes.append(f"{words.percent(getattr(record, 'level', 0.95))} {text.span(*interval)}")
            notes += [remark for name, remark in said if name == field.name]
            shown = word(estimate, Column(field.name, "", "count" if field.unit == "count" else "number"))
            row_cells.append(Cell(text.signed(shown), "; ".join(notes)))
        if any(cell.text for cell in row_cells):
            groups.setdefault(field.group, []).append(
                Row(field.name, field.label, field.meaning, tuple(row_cells))
            )
    return tuple(Group(title, tuple(rows)) for title, rows in groups.items())


@dataclass(frozen=True)
class Card:
    """Main numbers of one model for one view.

    Attributes
    ----------
    name
        Name of the model.
    error, interval
        Texts of the debiased calibration error and its interval.
    mean_error, mean_interval
        Texts of the mean error, with its sign, and its interval.
    plug_in, bins
        Texts of the papers' CalibErr and its bins.
    verdict, direction
        Sentences on the error and on its direction; the second may be empty.
    warnings
        Caveats that the reader must know.
    """

    name: str
    error: str
    interval: str
    mean_error: str
    mean_interval: str
    plug_in: str
    bins: str
    verdict: str
    direction: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Contrast:
    """Texts on the difference of two models.

    Attributes
    ----------
    title
        Names of the models: the first minus the second.
    difference, interval
        Difference of the debiased squared errors, and its interval.
    root_difference, root_interval
        Difference of the errors themselves, and its conservative interval.
    brier_difference, brier_interval
        Difference of the Brier scores, and its interval.
    p_value, p_reason
        P-value of the test that the squared errors are equal; the reason if there is none, else empty.
    verdict
        Sentence on the difference.
    notes
        The adjustment of the p-value for several comparisons, and how the intervals treat a calibration map.
    """

    title: str
    difference: str
    interval: str
    root_difference: str
    root_interval: str
    brier_difference: str
    brier_interval: str
    p_value: str
    p_reason: str
    verdict: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One view of all models side by side.

    Attributes
    ----------
    view
        Name of the view.
    heading, meaning
        Heading and explanation of the view.
    models
        Names of the models that were measured for the view.
    verdict
        Sentence that the section leads with.
    measurements
        One measurement per model.
    drawings
        One drawing per model, or empty.
    cards, contrasts, numbers
        Main numbers, differences, and the table of all numbers.
    """

    view: str
    heading: str
    meaning: str
    models: tuple[str, ...]
    verdict: str
    measurements: tuple[Measurement, ...]
    drawings: tuple[Drawing, ...]
    cards: tuple[Card, ...]
    contrasts: tuple[Contrast, ...]
    numbers: tuple[Group, ...]


@dataclass(frozen=True)
class ClassTable:
    """Each class of a K-class model, the classes with the largest errors of the first model first.

    Attributes
    ----------
    models
        Names of the models.
    rows
        One row per class: its name and one measurement per model.
    means
        Means over classes, one per model; None if not every class was measured.
    """

    models: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Measurement, ...]], ...]
    means: tuple[ClassMean | None, ...]

    @property
    def searched(self) -> bool:
        """True if the table is long enough for a search box."""
        return len(self.rows) > FEW_CLASSES


@dataclass(frozen=True)
class TaskTable:
    """Table of the tasks and subjects of an evaluation run.

    Attributes
    ----------
    models
        Names of the models.
    rows
        One row per task and subject, the worst of any model first: its name, and one slice per model (None if
        the model was not evaluated on it).
    level
        Confidence level of the intervals, which are simultaneous for all tasks of a model.
    measured
        Numbers of tasks of each model that have enough items.
    least
        Number of items that a task needs.
    """

    models: tuple[str, ...]
    rows: tuple[tuple[str, tuple[SliceErrors | None, ...]], ...]
    level: float
    measured: tuple[int, ...]
    least: int


@dataclass(frozen=True)
class TextTable:
    """A table of texts.

    Attributes
    ----------
    title, note
        Texts above and below the table; may be empty.
    head
        Names of the columns; the first column names the rows.
    rows
        One text per column.
    folded
        True if the table opens only on a click.
    words
        Number of last columns that contain words, not numbers.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    folded: bool = False
    words: int = 0
