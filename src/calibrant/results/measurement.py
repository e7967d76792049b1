"""The record of `calibrant measure`: every number about one event of one model, with its recipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from calibrant._checks import Floats
from calibrant.results._base import Result, plain
from calibrant.results._words import counted, percent
from calibrant.results.bins import Bins
from calibrant.results.errors import Estimate, NoiseFloor
from calibrant.results.intervals import CalibrationTest, ErrorInterval
from calibrant.results.table import Cell, Column, Table, between, interval_heading, known, warnings_of


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
        Plug-ins of these bins: the papers' CalibErr, its square, the largest gap. Where gaps of opposite sign
        cancel within a bin, they understate the error, and ``reasons`` contains
        ``rms_calibration_error_warning``.
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

    def size(self) -> str:
        """Say in a clause how many pairs there are, and in how many clusters."""
        units = "" if self.clusters is None else f" in {counted(self.clusters, 'cluster')}"
        return f"n = {self.n:,}{units}"

    def how(self) -> str:
        """Say in a clause how intervals were made."""
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"{interval_heading(self.level)}s, method {self.interval.method}{seed}"

    def warnings(self) -> tuple[str, ...]:
        """Return what is to be known of the numbers."""
        found = (self.reasons, self.interval.reasons, self.test.reasons)
        return tuple(dict.fromkeys(text for reasons in found for text in warnings_of(reasons)))

    def to_tables(self) -> tuple[Table, ...]:
        """Return every number, and the bins."""
        return _numbers_table(self), _bins_table(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values; ``bins`` is a list with one entry a bin."""
        record = super().to_dict()
        del record["bin_low"], record["bin_high"]
        record["bins"] = self.bin_rows()
        return record


def _numbers_table(found: Measurement) -> Table:
    """Every number of an event, a row each."""
    interval = Column("interval", interval_heading(found.level), "interval")
    columns = Column("number", "number", "name"), Column("value", "value"), interval
    caption = f"Event {found.event}: {found.size()}; {found.how()}"
    return Table("numbers", columns, tuple(_numbers(found)), caption, found.warnings())


def _bins_table(found: Measurement) -> Table:
    """The bins, a row each."""
    columns = (
        Column("bin", "bin", "name"),
        Column("n", "n", "count"),
        Column("score", "score"),
        Column("frequency", "frequency"),
        Column("frequency", interval_heading(found.level), "interval"),
        Column("edge", "edges", "interval"),
    )
    rows = tuple(
        (
            str(place),
            row["n"],
            row["score"],
            row["frequency"],
            (row["low"], row["high"]),
            (row["edge_low"], row["edge_high"]),
        )
        for place, row in enumerate(found.bin_rows(), 1)
    )
    binning = found.binning
    caption = (
        f"Bins of event {found.event}: {binning.kind}, {binning.used:,} used; n = {found.n:,}; "
        f"each interval for its bin alone ({found.bin_interval})"
    )
    return Table("bins", columns, rows, caption)


def _numbers(found: Measurement) -> Iterator[tuple[Cell, ...]]:
    (_, n, positives, error, interval, p_value, *_), ece = headline_cells(found), found.ece
    yield "n", n, None
    yield "positives", positives, None
    yield "calibration error (RMS, debiased)", error, interval
    yield "its square, signed", known(found.debiased_mse, found.reasons, "debiased_mse"), None
    yield "p-value of calibration", p_value, None
    yield "CalibErr (RMS, plug-in)", found.rms_calibration_error, None
    yield "its square", found.calibration_mse, None
    yield "largest gap of a bin", found.max_calibration_error, None
    yield f"ECE ({ece.bins} equal-width bins)", ece.value, None
    yield "ECE of a calibrated model, mean", ece.noise_floor.mean, None
    yield f"ECE of a calibrated model, {percent(ece.noise_floor.level)} below", ece.noise_floor.high, None
    if found.smooth_ece is not None:
        yield "smooth ECE", found.smooth_ece.value, None
    for name, text in (
        ("brier", "Brier score"),
        ("brier_skill", "Brier skill"),
        ("reliability", "reliability"),
        ("resolution", "resolution"),
        ("uncertainty", "uncertainty"),
        ("refinement", "refinement"),
        ("log_loss", "log loss"),
        ("log_loss_skill", "log loss skill"),
    ):
        yield text, known(getattr(found, name), found.reasons, name), None
    for name, text in (
        ("calibration_in_the_large", "calibration in the large"),
        ("cox_intercept", "Cox intercept"),
        ("cox_slope", "Cox slope"),
    ):
        value = getattr(found, name)
        limits = between(value.low, value.high, found.reasons, name)
        yield text, known(value.estimate, found.reasons, name), limits


def headline_cells(found: Measurement) -> tuple[Cell, ...]:
    """The headline numbers of an event, as a row."""
    interval = found.interval
    return (
        found.event,
        found.n,
        found.positives,
        known(found.debiased_rms, found.reasons, "debiased_rms"),
        between(interval.low, interval.high, interval.reasons, "low", "high"),
        known(found.test.p_value, found.test.reasons, "p_value"),
        found.rms_calibration_error,
        found.ece.value,
        found.brier,
        known(found.log_loss, found.reasons, "log_loss"),
    )
