"""What a whole measurement gives: one record an event, the mean over classes, and the recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrant.results._base import Result
from calibrant.results._words import counted
from calibrant.results.measurement import Measurement, headline_cells
from calibrant.results.table import Column, Table, interval_heading

EVENT = Column("event", "event", "name")


@dataclass(frozen=True)
class Recipe(Result):
    """What was measured, and how: enough to do it again.

    Attributes
    ----------
    file
        The predictions, as they were named.
    form
        ``long`` or ``wide``; ``tally`` or ``query`` where there is no table.
    rows
        Rows read (of weight above 0).
    classes
        Class names; None for a binary table.
    threshold
        Scores below it had not been written; None when all were.
    version
        Of calibrant.
    command
        The command line that does it again; None where there is none.
    notes
        What of a log was left out, and why.
    """

    file: str
    form: str
    rows: int
    classes: list[str] | None
    threshold: float | None
    version: str
    command: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClassMean(Result):
    """The mean over classes: marginal calibration error.

    Attributes
    ----------
    classes
        Number of classes.
    debiased_mse
        Mean of the classes' signed debiased squared errors.
    debiased_rms
        Its root, where it is above 0, else 0.
    rms_calibration_error
        Root mean of the classes' plug-in squared errors: the papers' marginal calibration error.
    ece
        Mean of the classes' equal-width errors.
    """

    classes: int
    debiased_mse: float | None
    debiased_rms: float | None
    rms_calibration_error: float
    ece: float


@dataclass(frozen=True)
class Measured(Result):
    """What `calibrant.workflow.measure` returns: one measurement an event.

    Attributes
    ----------
    recipe
        What was measured and how.
    events
        The measurements.
    mean
        Over classes, where each class was measured; None otherwise.
    """

    recipe: Recipe
    events: tuple[Measurement, ...]
    mean: ClassMean | None = None

    def __getitem__(self, event: str) -> Measurement:
        for measurement in self.events:
            if measurement.event == event:
                return measurement
        raise KeyError(event)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the headline numbers as a table, one row an event."""
        return [
            {
                "event": found.event,
                "n": found.n,
                "positives": found.positives,
                "debiased_rms": found.debiased_rms,
                "low": found.interval.low,
                "high": found.interval.high,
                "p_value": found.test.p_value,
                "rms_calibration_error": found.rms_calibration_error,
                "ece": found.ece.value,
                "brier": found.brier,
                "log_loss": found.log_loss,
            }
            for found in self.events
        ]

    def to_tables(self) -> tuple[Table, ...]:
        """Return the errors, a row an event; of one event also every number, and the bins."""
        return (_errors_table(self), *(self.events[0].to_tables() if len(self.events) == 1 else ()))

    def to_dict(self) -> dict[str, Any]:
        """Return one event's fields at the top, or several events in a list under ``events``."""
        record: dict[str, Any] = {"recipe": self.recipe.to_dict()}
        if len(self.events) == 1:
            return record | self.events[0].to_dict()
        record["events"] = [measurement.to_dict() for measurement in self.events]
        if self.mean is not None:
            record["mean"] = self.mean.to_dict()
        return record


def _errors_table(measured: Measured) -> Table:
    """The headline numbers, a row an event, and the mean over classes."""
    recipe, first = measured.recipe, measured.events[0]
    rows = [headline_cells(found) for found in measured.events]
    if measured.mean is not None:
        mean = measured.mean
        errors = (mean.debiased_rms, None, None, mean.rms_calibration_error, mean.ece, None, None)
        rows.append((f"mean of {mean.classes} classes", None, None, *errors))
    sizes = first.size() if len(measured.events) == 1 else counted(recipe.rows, "row")
    caption = f"Calibration errors of {recipe.file}: {sizes}; {first.how()}; calibrant {recipe.version}"
    notes = [f"{found.event}: {text}" for found in measured.events for text in found.warnings()]
    columns = EVENT, *error_columns(first.level)
    return Table("errors", columns, tuple(rows), caption, (*recipe.notes, *notes))


def error_columns(level: float) -> tuple[Column, ...]:
    """The columns of `headline_cells`, after the event."""
    return (
        Column("n", "n", "count"),
        Column("positives", "positives", "count"),
        Column("debiased_rms", "error"),
        Column("debiased_rms", interval_heading(level), "interval"),
        Column("p_value", "p", "p-value"),
        Column("rms_calibration_error", "CalibErr"),
        Column("ece", "ECE"),
        Column("brier", "Brier"),
        Column("log_loss", "log loss"),
    )
