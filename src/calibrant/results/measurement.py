"""The record of `calibrant measure`: every number about one event of one model, with its recipe."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant._checks import Floats
from calibrant.results._base import Result, plain
from calibrant.results.bins import Bins
from calibrant.results.errors import Estimate, NoiseFloor
from calibrant.results.intervals import CalibrationTest, ErrorInterval
from calibrant.results.table import Table


@dataclass(frozen=True)
class Binning(Result):
    """How bins were made.

    Attributes
    ----------
    kind
        ``adaptive`` (equal counts), ``uniform`` (equal widths) or ``edges``.
    size
        Pairs a bin that were asked for; None when a number of bins was.
    asked, used
        Bins asked for (None when a size was) and bins made.
    """

    kind: str
    size: int | None
    asked: int | None
    used: int


@dataclass(frozen=True)
class EqualWidthError(Result):
    """The expected calibration error on equal-width bins, beside what noise alone would give.

    Attributes
    ----------
    value
        Mean absolute gap, in [0, 1].
    bins
        Number of equal-width bins.
    noise_floor
        What a calibrated model with these scores would get.
    """

    value: float
    bins: int
    noise_floor: NoiseFloor


@dataclass(frozen=True)
class SmoothedError(Result):
    """The smooth calibration error, beside what noise alone would give.

    Attributes
    ----------
    value
        The error, in [0, 1].
    bandwidth
        Of the kernel.
    noise_floor
        What a calibrated model with these scores would get.
    """

    value: float
    bandwidth: float
    noise_floor: NoiseFloor


@dataclass(frozen=True)
class Measurement(Result):
    """What is known about the calibration of one model for one event.

    Attributes
    ----------
    event
        ``binary``, ``top``, ``class:NAME`` or ``pooled``; of a query its own, such as ``tag:V``.
    n, positives
        Pairs, and pairs in which the event happened.
    weight_sum
        Total weight; n without weights.
    clusters
        Independent units behind interval and test; None when pairs are taken as independent.
    tally
        ``exact``: computed from all scores as they are; ``compressed``: from sums on a fixed fine grid.
    binning, bins
        How the plotted bins were made, and their sums.
    bin_low, bin_high
        (bins,) interval of each bin's frequency, for this bin alone.
    bin_interval
        Method of these intervals.
    rms_calibration_error, calibration_mse, max_calibration_error
        Plug-ins of these bins: the papers' CalibErr, its square, the largest gap.
    ece
        Mean absolute gap on equal-width bins, with its noise floor.
    smooth_ece
        Smooth calibration error with its noise floor; None when not asked for.
    debiased_mse, debiased_rms
        Estimate of the squared error itself (signed), and the root of what is above 0.
    interval
        Confidence interval of the error.
    test
        Test of the hypothesis that the model is calibrated.
    brier, brier_skill, log_loss, log_loss_skill
        Proper scores, and the share of the base rate's score that the model saves.
    refinement, remainder, reliability, resolution, uncertainty
        The Brier score taken apart on these bins.
    calibration_in_the_large
        Base rate minus mean score, with its interval.
    cox_intercept, cox_slope
        Logistic recalibration, with intervals; 0 and 1 when calibrated.
    level
        Nominal coverage of every interval.
    seed
        Of everything that was drawn; None when a generator was given.
    reasons
        For each field that is None, why.
    """

    event: str
    n: int
    positives: int
    weight_sum: float
    clusters: int | None
    tally: str
    binning: Binning
    rms_calibration_error: float
    calibration_mse: float
    max_calibration_error: float
    ece: EqualWidthError
    smooth_ece: SmoothedError | None
    debiased_mse: float | None
    debiased_rms: float | None
    interval: ErrorInterval
    test: CalibrationTest
    brier: float
    brier_skill: float | None
    log_loss: float | None
    log_loss_skill: float | None
    refinement: float
    remainder: float
    reliability: float
    resolution: float
    uncertainty: float
    calibration_in_the_large: Estimate
    cox_intercept: Estimate
    cox_slope: Estimate
    level: float
    seed: int | None
    bins: Bins
    bin_low: Floats
    bin_high: Floats
    bin_interval: str
    reasons: dict[str, str] = field(default_factory=dict)

    def bin_rows(self) -> list[dict[str, Any]]:
        """Return the bins as table rows: sums, mean score, frequency, edges and interval."""
        limits = zip(plain(self.bin_low), plain(self.bin_high), strict=True)
        return [
            {**row, "low": low, "high": high}
            for row, (low, high) in zip(self.bins.to_rows(), limits, strict=True)
        ]

    def to_tables(self) -> tuple[Table, ...]:
        """Return every number, and the bins."""
        from calibrant.results._measured_tables import bins_table, numbers_table

        return numbers_table(self), bins_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values; ``bins`` is a list with one entry a bin."""
        record = super().to_dict()
        del record["bin_low"], record["bin_high"]
        record["bins"] = self.bin_rows()
        return record


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
        from calibrant.results._measured_tables import errors_table

        return (errors_table(self), *(self.events[0].to_tables() if len(self.events) == 1 else ()))

    def to_dict(self) -> dict[str, Any]:
        """Return one event's fields at the top, or several events in a list under ``events``."""
        record: dict[str, Any] = {"recipe": self.recipe.to_dict()}
        if len(self.events) == 1:
            return record | self.events[0].to_dict()
        record["events"] = [measurement.to_dict() for measurement in self.events]
        if self.mean is not None:
            record["mean"] = self.mean.to_dict()
        return record
