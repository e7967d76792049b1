"""The record of `calibrant measure`: one measurement per event, the mean over classes, and the recipe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Quantity, Record, number, part, rows, setting
from calibrant.results.measurement import Measurement

MEAN = "Mean over classes"


class Recipe(Record, frozen=True):
    """The predictions that were measured, and the command that does it again."""

    file: Annotated[str, setting("File", "Name of the predictions, as it was given.", headline=True)]
    form: Annotated[
        str,
        setting(
            "Form", "Form of the table: long or wide; tally or query where there is no table.", headline=True
        ),
    ]
    rows: Annotated[int, setting("Rows", "Rows read, of weight above 0.", headline=True)]
    classes: Annotated[list[str] | None, setting("Classes", "Class names; null for a binary table.")]
    threshold: Annotated[
        float | None,
        setting("Threshold", "Scores below it were not written; null if all were.", headline=True),
    ]
    version: Annotated[str, setting("calibrant", "Version of calibrant.", headline=True)]
    command: Annotated[
        str | None, setting("Command", "Command line that does it again; null if there is none.")
    ]
    notes: Annotated[tuple[str, ...], setting("Notes", "Rows of a log that were left out, and why.")] = ()


class ClassMean(Record, frozen=True):
    """Mean over classes: marginal calibration error."""

    classes: Annotated[int, number("Classes", "Number of classes.", group=MEAN)]
    calibration_error: Annotated[
        Quantity,
        number(
            "Calibration error",
            "Root of the mean of the classes' signed debiased squared errors, where it is above 0, else 0.",
            group=MEAN,
            best=0,
            headline=True,
            interval=False,
        ),
    ]
    debiased_mse: Annotated[
        Quantity,
        number(
            "Its square, signed",
            "Mean of the classes' signed debiased squared errors.",
            group=MEAN,
            interval=False,
        ),
    ]
    rms_calibration_error: Annotated[
        float,
        number(
            "CalibErr (plug-in)",
            "Root mean of the classes' plug-in squared errors: the papers' marginal calibration error.",
            group=MEAN,
            best=0,
            headline=True,
        ),
    ]
    ece: Annotated[
        float, number("ECE", "Mean of the classes' equal-width errors.", group=MEAN, best=0, headline=True)
    ]


class Measured(Record, frozen=True):
    """Calibration errors of one table of predictions."""

    recipe: Annotated[Recipe, part("Recipe", "The predictions that were measured, and how.")]
    events: Annotated[tuple[Measurement, ...], rows("Events", "One entry per event.")]
    mean: Annotated[
        ClassMean | None, part("Mean", "Mean over classes; null unless each class was measured.")
    ] = None

    def __getitem__(self, event: str) -> Measurement:
        for measurement in self.events:
            if measurement.event == event:
                return measurement
        raise KeyError(event)

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the notes on rows of a log that were left out."""
        yield from (("events", note) for note in self.recipe.notes)
