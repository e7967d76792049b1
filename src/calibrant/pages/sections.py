"""The parts of a page: headlines, differences, sections, the table of classes."""

from __future__ import annotations

from dataclasses import dataclass

from calibrant.pages._rows import Group
from calibrant.results.drawing import Drawing
from calibrant.results.measurement import ClassMean, Measurement
from calibrant.results.slices import SliceErrors

FEW_CLASSES = 15  # are found at a glance
Lines = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Card:
    """The headline of one model for one view.

    Attributes
    ----------
    name
        Of the model.
    error, interval, estimand
        The debiased calibration error, an interval, and what the interval is of, worded.
    plug_in, bins
        The papers' CalibErr beside it, and the bins it is of.
    verdict, direction
        What they say, in a sentence each; the second may be empty.
    warnings
        What the reader must know before believing the numbers.
    """

    name: str
    error: str
    interval: str
    estimand: str
    plug_in: str
    bins: str
    verdict: str
    direction: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class Contrast:
    """Two models' difference, worded.

    Attributes
    ----------
    title
        Which minus which.
    difference, interval
        Of the debiased squared errors.
    root_difference, root_interval
        The same for the errors themselves; the interval is conservative.
    p_value, p_reason
        Of the test that the squared errors are equal; why it has none, or empty.
    verdict
        What they say, in a sentence.
    notes
        The adjustment of the p-value for several comparisons, and how the intervals treat a calibration map.
    """

    title: str
    difference: str
    interval: str
    root_difference: str
    root_interval: str
    p_value: str
    p_reason: str
    verdict: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Section:
    """One view, all models side by side.

    Attributes
    ----------
    view
        Its name, and in ``heading`` and ``meaning`` what it is.
    heading, meaning
        For the reader.
    models
        Names of the models that were measured for it.
    measurements
        One a model.
    drawings
        One a model, or none.
    cards, contrasts, numbers
        Headlines, differences, and the table of all numbers.
    """

    view: str
    heading: str
    meaning: str
    models: tuple[str, ...]
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
        One a class: its name and one measurement a model.
    means
        The means over classes, one a model; None where not every class was measured.
    """

    models: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Measurement, ...]], ...]
    means: tuple[ClassMean | None, ...]

    @property
    def searched(self) -> bool:
        """Whether the table is long enough for a search box."""
        return len(self.rows) > FEW_CLASSES


@dataclass(frozen=True)
class TaskTable:
    """Each task and subject of a run of an evaluation.

    Attributes
    ----------
    models
        Names of the models.
    rows
        One a task and subject, the worst of any model first: its name, and one slice a model (None where the
        model was not asked).
    level
        Of the intervals, which hold for all tasks of a model together.
    measured
        Tasks of each model that are large enough.
    least
        Items that takes.
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
        Above and below it; may be empty.
    head
        Names of the columns; the first column names the rows.
    rows
        One text a column.
    folded
        Whether it opens on a click only.
    words
        How many of the last columns are words, not numbers.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    folded: bool = False
    words: int = 0
