"""Records of figures and reports, beyond the measurement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
from msgspec import Meta

from calibrant.records import Column, Quantity, Record, Table, name, number, part, rows, setting
from calibrant.records.formats import Cell, interval_heading
from calibrant.records.record import columns_of
from calibrant.records.words import percent, points
from calibrant.results.bins import BinIntervals, Bins
from calibrant.results.errors import ConsistencyBars, IntervalLevel, SmoothCurve
from calibrant.results.groups import MAPS, GroupedChanges, ResampledChange
from calibrant.results.intervals import DIFFERENCE, ErrorDifference
from calibrant.results.measurement import Measured, Measurement
from calibrant.results.slices import SliceTable

MOST_COMPARED = 3  # differences that a summary mentions


def bin_limits(measurement: Measurement) -> BinIntervals:
    """Return the intervals of a measurement's bins, in the form that plots use."""
    ends = np.array([(row.frequency.low, row.frequency.high) for row in measurement.bins]).reshape(-1, 2)
    return BinIntervals(ends[:, 0], ends[:, 1], measurement.level, measurement.bin_interval)


class Drawing(Record, frozen=True):
    """Data of the figures of one view of one model, beyond its measurement."""

    view: Annotated[str, name("View", "View, as in the measurement.")]
    equal_width: Annotated[
        Bins,
        Meta(
            description="Equal-width bins behind the ECE, for the confidence histogram and reliability bars."
        ),
    ]
    consistency: Annotated[
        ConsistencyBars | None,
        Meta(description="Bars around the diagonal at the measurement's bins; null if not computed."),
    ] = None
    curve: Annotated[
        SmoothCurve | None, Meta(description="Smooth curve with its band; null if not computed.")
    ] = None


class ModelDifference(Record, frozen=True):
    """Difference of two named models on the same items, for one view."""

    view: Annotated[str, name("View", "View, as in the measurements.")]
    first: Annotated[str, name("First", "Name of the first model.")]
    second: Annotated[str, name("Second", "Name of the second model.")]
    difference: Annotated[
        ErrorDifference,
        part("Difference", "Paired difference of the calibration errors, first minus second."),
    ]
    adjusted_p_value: Annotated[
        float | None,
        number(
            "Adjusted p-value",
            "P-value after Holm's method for all differences of the report, on which verdicts are based. "
            "Null if there is no p-value.",
            group=DIFFERENCE,
            unit="p-value",
            headline=True,
            short="adjusted p",
        ),
    ]

    @property
    def level(self) -> float:
        """Nominal coverage of the intervals."""
        return self.difference.level

    def summary(self) -> str:
        """Return sentences on which model is better calibrated, and which has the lower Brier score.

        The first is by the adjusted p-value, the second by the interval of the scores' difference.
        """
        return f"{self._calibration()} {self._brier()}".rstrip()

    def change(self) -> str:
        """Return a sentence on the change of the error by recalibration, from the first to the second."""
        roots = self.difference.rms_difference
        if roots.estimate is None or roots.low is None or roots.high is None:
            return f"The change of the error has no interval: {roots.reason or 'too few data'}."
        by = f"by {points(abs(roots.estimate))} percentage points"
        if roots.low > 0:
            within = f"{percent(self.level)} interval {points(roots.low)} to {points(roots.high)}"
            return f"Recalibration reduces the error {by} ({within})."
        if roots.high < 0:
            within = f"{percent(self.level)} interval {points(-roots.high)} to {points(-roots.low)}"
            return f"Recalibration increases the error {by} ({within})."
        within = f"{percent(self.level)} interval {_change(-roots.high)} to {_change(-roots.low)}"
        return f"The change of the error is inconclusive: {_change(-roots.estimate)} points ({within})."

    def _brier(self) -> str:
        scores = self.difference.brier_difference
        if scores is None or scores.low is None or scores.high is None:
            return ""
        if scores.low <= 0 <= scores.high:
            return "The comparison of the Brier scores is inconclusive."
        return f"{self.first if scores.high < 0 else self.second} has the lower (better) Brier score."

    def _calibration(self) -> str:
        squares, p_value = self.difference.mse_difference, self.adjusted_p_value
        if squares.low is None or squares.high is None or squares.estimate is None:
            return f"The difference has no interval: {squares.reason or 'too few data'}."
        if p_value is None or p_value > 1 - self.level:
            return (
                f"The comparison of the calibration errors of {self.first} and {self.second} is inconclusive."
            )
        if squares.estimate < 0:
            return f"{self.first} is better calibrated than {self.second}."
        return f"{self.second} is better calibrated than {self.first}."


def _change(value: float) -> str:
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{points(abs(value))}"


ACCURACY = "Accuracy"


class AccuracyDifference(Record, frozen=True, kw_only=True):
    """Accuracies of two models on the same items, over all or of one task."""

    task: Annotated[str | None, name("Task", "Task and subject of logs; null over all items.")]
    view: Annotated[str, name("View", "View: top labels, or scores of at least 0.5.")]
    first: Annotated[str, name("First", "Name of the first model.")]
    second: Annotated[str, name("Second", "Name of the second model.")]
    items: Annotated[int, number("Items", "Items that both models have.", group=ACCURACY, headline=True)]
    first_accuracy: Annotated[
        Quantity,
        number(
            "First's accuracy",
            "Proportion of right answers of the first model.",
            group=ACCURACY,
            best=1,
            headline=True,
        ),
    ]
    second_accuracy: Annotated[
        Quantity,
        number(
            "Second's accuracy",
            "Proportion of right answers of the second model.",
            group=ACCURACY,
            best=1,
            headline=True,
        ),
    ]
    difference: Annotated[
        Quantity,
        number(
            "Difference",
            "Accuracy of the first minus that of the second, with its paired interval.",
            group=ACCURACY,
            headline=True,
            signed=True,
        ),
    ]
    p_value: Annotated[
        float | None,
        number("p-value", "P-value of equal expected accuracies.", group=ACCURACY, unit="p-value"),
    ]
    adjusted_p_value: Annotated[
        float | None,
        number(
            "Adjusted p-value",
            "P-value after Holm's method, over all comparisons of tasks or of all items; null if there is "
            "no p-value.",
            group=ACCURACY,
            unit="p-value",
            headline=True,
            short="adjusted p",
        ),
    ]
    level: IntervalLevel

    @property
    def verdict(self) -> str:
        """The more accurate model, by the adjusted p-value and the interval, or ``inconclusive``."""
        low, high, p_value = self.difference.low, self.difference.high, self.adjusted_p_value
        if low is None or high is None or p_value is None or p_value > 1 - self.level or low <= 0 <= high:
            return "inconclusive"
        return self.first if low > 0 else self.second

    def summary(self) -> str:
        """Return a sentence on which model is more accurate."""
        gap = self.difference
        if gap.estimate is None or gap.low is None or gap.high is None:
            return f"The difference of the accuracies has no interval: {gap.reason or 'too few items'}."
        ends = f"{_change(gap.low)} to {_change(gap.high)}"
        within = f"first minus second, {percent(self.level)} interval {ends}"
        if self.verdict == "inconclusive":
            return (
                f"The comparison of the accuracies of {self.first} and {self.second} is inconclusive: "
                f"{_change(gap.estimate)} points ({within})."
            )
        other = self.second if self.verdict == self.first else self.first
        return (
            f"{self.verdict} is more accurate than {other} by {points(abs(gap.estimate))} points ({within})."
        )


class ReportedModel(Record, frozen=True):
    """One model of a report."""

    name: Annotated[str, name("Model", "Name of the model, such as its file's without ending; unique.")]
    measured: Annotated[Measured, part("Measured", "Numbers of the model, as calibrant measure prints them.")]
    drawings: Annotated[
        tuple[Drawing, ...],
        Meta(
            title="Figures",
            description="Data of the figures of its views; a view without them (such as each of many "
            "classes) is only in a table.",
        ),
    ] = ()


class TaskErrors(Record, frozen=True):
    """Calibration of one model for each task of an evaluation run."""

    model: Annotated[str, name("Model", "Name of the model.")]
    table: Annotated[
        SliceTable,
        part(
            "Tasks",
            "One slice per task and subject: accuracy (frequency), mean confidence (mean_score) and errors "
            "of the top labels, the worst first.",
        ),
    ]


class Report(Record, frozen=True):
    """Calibration of models side by side, and how they differ."""

    models: Annotated[
        tuple[ReportedModel, ...],
        rows("Models", "At least one model; not all are always measured for the same views."),
    ]
    differences: Annotated[
        tuple[ModelDifference, ...],
        rows(
            "Differences of the errors",
            "Paired differences of the debiased errors on the same items, first minus second; p-values test "
            "that the squared errors are equal.",
        ),
    ] = ()
    accuracies: Annotated[
        tuple[AccuracyDifference, ...],
        rows(
            "Accuracy, first minus second",
            "Paired differences of the accuracies over all items, then by task; none after recalibration.",
        ),
    ] = ()
    command: Annotated[
        str | None, setting("Command", "Command line that reproduces the report; null if there is none.")
    ] = None
    notes: Annotated[
        tuple[str, ...],
        setting(
            "Notes", "Differences that are left out, and views that not all models have, with the reason."
        ),
    ] = ()
    recalibrator: Annotated[
        str | None,
        setting(
            "Recalibrator",
            "Recalibrator that maps the scores of the first model to those of the second; null if there is "
            "none. On the data of its fit it looks better than it is; a note then warns.",
            headline=True,
        ),
    ] = None
    resampled: Annotated[
        tuple[ResampledChange, ...],
        Meta(
            title="Resampled changes",
            description="Changes with intervals that include the sampling error of the calibration map; "
            "empty without dev data.",
        ),
    ] = ()
    tasks: Annotated[
        tuple[TaskErrors, ...],
        Meta(
            title="Tasks",
            description="Errors of each model for each task, for logs of several tasks or subjects.",
        ),
    ] = ()
    groups: Annotated[
        GroupedChanges | None,
        Meta(
            title="Groups",
            description="Changes of each group of classes by the recalibrator; null without groups.",
        ),
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return remarks on the adjustment of p-values and on the treatment of a calibration map."""
        if len(self.differences) > 1:
            yield "differences", "Adjusted by Holm's method for all of them."
        for kind in dict.fromkeys(pair.difference.calibration_map for pair in self.differences):
            if kind is not None:
                about = [pair.view for pair in self.differences if pair.difference.calibration_map == kind]
                yield "differences", f"The intervals of {', '.join(about)} {MAPS[kind]}."

    def summary(self) -> str:
        """Return sentences on the change by recalibration, the models' differences, or the one model."""
        if not self.differences:
            return self.models[0].measured.summary() if len(self.models) == 1 else ""
        if self.recalibrator is not None:
            return self.differences[0].change()
        over_all = [row for row in self.accuracies if row.task is None]
        compared = [*over_all[:MOST_COMPARED], *self.differences[:MOST_COMPARED]]
        return " ".join(row.summary() for row in compared)

    def to_tables(self) -> tuple[Table, ...]:
        """Return the errors, one row per model and view; those of each class; and the differences."""
        _, *differences = super().to_tables()
        groups = () if self.groups is None else self.groups.to_tables()
        return (*self._errors(), *differences, *groups)

    def _errors(self) -> Iterator[Table]:
        """Return the models' errors side by side, and those of each class."""
        first = self.models[0].measured.views[0]
        every = [(model, measured) for model in self.models for measured in model.measured.views]
        own, lines = columns_of([measured for _, measured in every])
        columns = Column("model", "model", "name"), *own
        body: tuple[list[tuple[Cell, ...]], list[tuple[Cell, ...]]] = ([], [])
        for (model, measured), line in zip(every, lines, strict=True):
            of_class = len(model.measured.views) > 1 and measured.view.startswith("class:")
            body[of_class].append((model.name, *line))
        names = ", ".join(model.name for model in self.models)
        version = self.models[0].measured.recipe.version
        seed = "" if first.seed is None else f", seed {first.seed}"
        how = f"{interval_heading(first.level)}s, method {first.interval.method}{seed}"
        caption = f"Calibration errors of {names}: {how}; calibrant {version}"
        if body[0]:
            yield Table("errors", columns, tuple(body[0]), caption, self.notes)
        if body[1]:
            yield Table("classes", columns, tuple(body[1]), f"Classes. {caption}")
