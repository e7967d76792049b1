"""Records that figures and reports are drawn from, beside the measurement itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from calibrant._checks import Floats
from calibrant.records.record import columns_of
from calibrant.records.table import Cell, Column, Table, between, interval_heading, known
from calibrant.results._base import Result, plain
from calibrant.results.bins import Bins
from calibrant.results.errors import ConsistencyBars, SmoothCurve
from calibrant.results.groups import MAPS, GroupedChanges, ResampledChange
from calibrant.results.intervals import ErrorDifference
from calibrant.results.measured import Measured
from calibrant.results.measurement import Measurement
from calibrant.results.slices import SliceTable


@dataclass(frozen=True)
class BinIntervals:
    """An interval of each bin's frequency, each for its bin alone (pointwise).

    Attributes
    ----------
    low, high
        (bins,) ends of the intervals, in [0, 1].
    level
        Nominal coverage of each.
    method
        ``"wilson"`` or ``"normal"`` (the papers').

    Examples
    --------
    >>> import numpy as np
    >>> BinIntervals(np.array([0.1]), np.array([0.3]), 0.95, "wilson").to_rows()
    [{'low': 0.1, 'high': 0.3}]
    """

    low: Floats
    high: Floats
    level: float
    method: str

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a bin: the ends of its interval."""
        return [
            {"low": low, "high": high} for low, high in zip(plain(self.low), plain(self.high), strict=True)
        ]


def bin_limits(found: Measurement) -> BinIntervals:
    """Return the intervals of a measurement's bins, as plots take them."""
    ends = np.array([(each.frequency.low, each.frequency.high) for each in found.bins]).reshape(-1, 2)
    return BinIntervals(ends[:, 0], ends[:, 1], found.level, found.bin_interval)


@dataclass(frozen=True)
class Drawing:
    """What a report draws of one event of one model, beyond its measurement.

    Attributes
    ----------
    event
        As in the measurement.
    equal_width
        The equal-width bins behind the ECE, for the confidence histogram and the reliability bars.
    consistency
        Bars around the diagonal at the measurement's bins; None when not computed.
    curve
        The smooth curve with its band; None when not computed.
    """

    event: str
    equal_width: Bins
    consistency: ConsistencyBars | None = None
    curve: SmoothCurve | None = None


@dataclass(frozen=True)
class ModelDifference:
    """How two named models differ on the same items, for one event.

    Attributes
    ----------
    event
        As in the measurements.
    first, second
        Names of the models; the difference is first minus second.
    difference
        The paired difference of their calibration errors. If the second model is the first after
        recalibration, its ``calibration_map`` states whether the intervals treat the map as fixed.
    adjusted_p_value
        The p-value adjusted by Holm's method for all differences of the report; None where there is none.
    """

    event: str
    first: str
    second: str
    difference: ErrorDifference
    adjusted_p_value: float | None


@dataclass(frozen=True)
class ReportedModel:
    """One model of a report.

    Attributes
    ----------
    name
        What the report calls it, such as its file's name without the ending; unique in a report.
    measured
        What `calibrant.workflow.measure` says of it.
    drawings
        What is drawn of its events; an event without one (each of many classes, say) stands in a
        table only.
    """

    name: str
    measured: Measured
    drawings: tuple[Drawing, ...] = ()


@dataclass(frozen=True)
class TaskErrors:
    """How one model does task by task, in a run of an evaluation.

    Attributes
    ----------
    model
        Its name.
    table
        A slice a task and subject: accuracy (``frequency``), mean confidence (``mean_score``) and errors of
        the top labels, the worst first.
    """

    model: str
    table: SliceTable


@dataclass(frozen=True)
class Report(Result):
    """All that a report shows: models side by side, and how they differ.

    Attributes
    ----------
    models
        At least one; not always measured for the same events.
    differences
        Paired differences; empty for one model, or where the items are not the same.
    command
        The command line that made the report; None where there is none.
    notes
        What is left out, and why: differences that cannot be told, events that not all models have.
    recalibrator
        The recalibrator that the second model's scores are the first's after; None where there is none.
    resampled
        Its changes with intervals that include the sampling error of the map; empty without dev data.
    tasks
        Of logs of evaluations with several tasks or subjects, each model's errors task by task.
    groups
        What the recalibrator does to each group of classes; None where there are no groups.
    """

    models: tuple[ReportedModel, ...]
    differences: tuple[ModelDifference, ...] = ()
    command: str | None = None
    notes: tuple[str, ...] = ()
    recalibrator: str | None = None
    resampled: tuple[ResampledChange, ...] = ()
    tasks: tuple[TaskErrors, ...] = ()
    groups: GroupedChanges | None = None

    def to_tables(self) -> tuple[Table, ...]:
        """Return the errors, a row a model and event; those of each class; and the differences."""
        return _report_tables(self)


def _report_tables(report: Report) -> tuple[Table, ...]:
    """The models' errors side by side, those of each class, and the paired differences."""
    first = report.models[0].measured.events[0]
    every = [(model, found) for model in report.models for found in model.measured.events]
    own, lines = columns_of([found for _, found in every])
    columns = Column("model", "model", "name"), *own
    rows: tuple[list[tuple[Cell, ...]], list[tuple[Cell, ...]]] = ([], [])
    for (model, found), line in zip(every, lines, strict=True):
        of_class = len(model.measured.events) > 1 and found.event.startswith("class:")
        rows[of_class].append((model.name, *line))
    names = ", ".join(model.name for model in report.models)
    version = report.models[0].measured.recipe.version
    caption = f"Calibration errors of {names}: {_how(first)}; calibrant {version}"
    tables = [Table("errors", columns, tuple(rows[0]), caption, report.notes)] if rows[0] else []
    if rows[1]:
        tables.append(Table("classes", columns, tuple(rows[1]), f"Class by class. {caption}"))
    if report.differences:
        tables.append(_differences(report, first.level))
    if report.groups is not None:
        tables += report.groups.to_tables()
    return tuple(tables)


def _how(found: Measurement) -> str:
    """Say in a clause how intervals were made."""
    seed = "" if found.seed is None else f", seed {found.seed}"
    return f"{interval_heading(found.level)}s, method {found.interval.method}{seed}"


def _differences(report: Report, level: float) -> Table:
    columns = (
        Column("first", "first", "name"),
        Column("second", "second", "name"),
        Column("event", "event", "name"),
        Column("n", "n", "count"),
        Column("rms_difference", "difference"),
        Column("rms_difference", interval_heading(level), "interval"),
        Column("p_value", "p", "p-value"),
        Column("adjusted_p_value", "adjusted p", "p-value"),
        Column("mse_difference", "of squares"),
        Column("mse_difference", interval_heading(level), "interval"),
    )
    rows = []
    for found in report.differences:
        value, reasons = found.difference, found.difference.reasons
        row: tuple[Cell, ...] = (
            found.first,
            found.second,
            found.event,
            value.n,
            known(value.rms_difference, reasons, "rms_difference"),
            between(value.rms_low, value.rms_high, reasons, "rms_low", "rms_high"),
            known(value.p_value, reasons, "p_value"),
            known(found.adjusted_p_value, reasons, "adjusted_p_value", "p_value"),
            known(value.mse_difference, reasons, "mse_difference"),
            between(value.mse_low, value.mse_high, reasons, "mse_low", "mse_high"),
        )
        rows.append(row)
    caption = (
        "Paired differences of the debiased errors, first minus second; p: squared errors are equal; "
        "adjusted by Holm's method"
    )
    maps = {found.difference.calibration_map for found in report.differences} - {None}
    if maps:
        caption += f"; intervals {MAPS[maps.pop()] if len(maps) == 1 else 'differ in the map'}"
    return Table("differences", columns, tuple(rows), caption)
