"""A measurement as tables."""

from __future__ import annotations

from collections.abc import Iterator

from calibrant.results._words import counted, percent
from calibrant.results.drawing import Report
from calibrant.results.measurement import Measured, Measurement
from calibrant.results.table import Cell, Column, Table, between, interval_heading, known

EVENT = Column("event", "event", "name")


def errors_table(measured: Measured) -> Table:
    """The headline numbers, a row an event, and the mean over classes."""
    recipe, first = measured.recipe, measured.events[0]
    rows = [headline(found) for found in measured.events]
    if measured.mean is not None:
        mean = measured.mean
        errors = (mean.debiased_rms, None, None, mean.rms_calibration_error, mean.ece, None, None)
        rows.append((f"mean of {mean.classes} classes", None, None, *errors))
    sizes = _size(first) if len(measured.events) == 1 else counted(recipe.rows, "row")
    caption = f"Calibration errors of {recipe.file}: {sizes}; {_how(first)}; calibrant {recipe.version}"
    notes = [f"{found.event}: {text}" for found in measured.events for text in _warnings(found)]
    columns = EVENT, *error_columns(first.level)
    return Table("errors", columns, tuple(rows), caption, (*recipe.notes, *notes))


def error_columns(level: float) -> tuple[Column, ...]:
    """The columns of `headline`, after the event."""
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


def headline(found: Measurement) -> tuple[Cell, ...]:
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


def numbers_table(found: Measurement) -> Table:
    """Every number of an event, a row each."""
    interval = Column("interval", interval_heading(found.level), "interval")
    columns = Column("number", "number", "name"), Column("value", "value"), interval
    caption = f"Event {found.event}: {_size(found)}; {_how(found)}"
    return Table("numbers", columns, tuple(_numbers(found)), caption, _warnings(found))


def bins_table(found: Measurement) -> Table:
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


def _size(found: Measurement) -> str:
    units = "" if found.clusters is None else f" in {counted(found.clusters, 'cluster')}"
    return f"n = {found.n:,}{units}"


def _how(found: Measurement) -> str:
    """Say how intervals were made."""
    seed = "" if found.seed is None else f", seed {found.seed}"
    return f"{interval_heading(found.level)}s, method {found.interval.method}{seed}"


def _warnings(found: Measurement) -> tuple[str, ...]:
    reasons = (found.reasons, found.interval.reasons, found.test.reasons)
    texts = [text for each in reasons for name, text in each.items() if name.endswith("warning")]
    return tuple(dict.fromkeys(texts))


def _numbers(found: Measurement) -> Iterator[tuple[Cell, ...]]:
    (_, n, positives, error, interval, p_value, *_), ece = headline(found), found.ece
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


def report_tables(report: Report) -> tuple[Table, ...]:
    """The models' errors side by side, those of each class, and the paired differences."""
    first = report.models[0].measured.events[0]
    columns = Column("model", "model", "name"), EVENT, *error_columns(first.level)
    rows: tuple[list[tuple[Cell, ...]], list[tuple[Cell, ...]]] = ([], [])
    for model in report.models:
        several = len(model.measured.events) > 1
        for found in model.measured.events:
            of_class = several and found.event.startswith("class:")
            rows[of_class].append((model.name, *headline(found)))
    names = ", ".join(model.name for model in report.models)
    version = report.models[0].measured.recipe.version
    caption = f"Calibration errors of {names}: {_how(first)}; calibrant {version}"
    tables = [Table("errors", columns, tuple(rows[0]), caption, report.notes)] if rows[0] else []
    if rows[1]:
        tables.append(Table("classes", columns, tuple(rows[1]), f"Class by class. {caption}"))
    if report.differences:
        tables.append(_differences(report, first.level))
    return tuple(tables)


def _differences(report: Report, level: float) -> Table:
    columns = (
        Column("first", "first", "name"),
        Column("second", "second", "name"),
        EVENT,
        Column("n", "n", "count"),
        Column("rms_difference", "difference"),
        Column("rms_difference", interval_heading(level), "interval"),
        Column("p_value", "p", "p-value"),
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
            known(value.mse_difference, reasons, "mse_difference"),
            between(value.mse_low, value.mse_high, reasons, "mse_low", "mse_high"),
        )
        rows.append(row)
    caption = "Paired differences of the debiased errors, first minus second; p: squared errors are equal"
    return Table("differences", columns, tuple(rows), caption)
