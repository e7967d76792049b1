"""A measurement as text: the numbers, the bins, and the recipe that made them."""

from __future__ import annotations

import shlex

from calibrant.cli import _text as text
from calibrant.io.predictions import listed
from calibrant.results.errors import NoiseFloor
from calibrant.results.measured import Measured
from calibrant.results.measurement import Measurement

MOST_BINS = 25
MOST_NOTES = 20
NORM = "RMS (error and CalibErr), L1 (ECE), maximum (largest gap)"
HOW = {"exact": "from the scores", "compressed": "from sums on a fixed grid, in one pass"}
METHODS = {
    "inverted": "inverted test (default)",
    "sampling": "Algorithm 2 by sampling, of the binned error",
    "bootstrap": "bootstrap of the debiased error",
}


def lines_of(measured: Measured, source: str) -> list[str]:
    """Word a whole measurement."""
    recipe = measured.recipe
    lines = [f"{recipe.file}: {text.counted(recipe.rows, 'row')}, {recipe.form} table"]
    lines += [f"  note: {note}" for note in recipe.notes[:MOST_NOTES]]
    if len(measured.events) == 1:
        event = measured.events[0]
        lines += ["", *numbers(event), "", *bins(event)]
    else:
        lines += ["", *events(measured)]
    lines += ["", *recipe_lines(measured), "", *next_steps(measured, source)]
    return lines


def numbers(found: Measurement) -> list[str]:
    """Word every number of one event."""
    interval, floor = found.interval, found.ece.noise_floor
    limits = text.between(interval.low, interval.high)
    level = text.percent(found.level)
    of_error = "" if interval.method != "sampling" else " of the binned error"
    clear = " (excludes 0)" if interval.low is not None and interval.low > 0 else ""
    rows = [
        (
            "Calibration error (RMS, debiased)",
            text.number(found.debiased_rms),
            f"{level} interval {limits}{of_error}{clear}",
        ),
        ("  its square, signed", text.number(found.debiased_mse), ""),
        ("  test of calibration", "", text.p_value(found.test.p_value)),
        (
            "CalibErr (RMS, plug-in on the bins)",
            text.number(found.rms_calibration_error),
            plug_in_bias(found),
        ),
        ("  its square", text.number(found.calibration_mse), ""),
        ("Largest gap of a bin", text.number(found.max_calibration_error), ""),
        (
            f"ECE ({found.ece.bins} equal-width bins)",
            text.number(found.ece.value),
            f"a calibrated model: {text.number(floor.mean)} on average, {below(floor)}",
        ),
    ]
    if found.smooth_ece is not None:
        smooth = found.smooth_ece
        remark = f"a calibrated model: {below(smooth.noise_floor)}"
        rows.append(("Smooth ECE", text.number(smooth.value), remark))
    rows += [
        ("Brier score", text.number(found.brier), f"skill {text.number(found.brier_skill)}"),
        (
            "  = calibration + refinement + remainder",
            "",
            f"{text.number(found.reliability)} + {text.number(found.refinement)} "
            f"{'-' if found.remainder < 0 else '+'} {text.number(abs(found.remainder))}",
        ),
        (
            "  resolution, uncertainty",
            "",
            f"{text.number(found.resolution)}, {text.number(found.uncertainty)}",
        ),
        ("Log loss", text.number(found.log_loss), f"skill {text.number(found.log_loss_skill)}"),
    ]
    for label, value in (
        ("Calibration in the large", found.calibration_in_the_large),
        ("Cox intercept (0 if calibrated)", found.cox_intercept),
        ("Cox slope (1 if calibrated)", found.cox_slope),
    ):
        rows.append((label, text.number(value.estimate), text.between(value.low, value.high)))
    lines = [f"Event {found.event}", *text.labelled(rows)]
    notes = text.notes(found.interval.reasons, found.test.reasons, found.reasons)
    return [*lines, *(f"  {note}" for note in notes)]


def plug_in_bias(found: Measurement) -> str:
    """Name the bias of the plug-in error that shows in these data."""
    if found.debiased_rms is not None and found.rms_calibration_error < found.debiased_rms:
        return "below the debiased error: gaps can cancel within a bin"
    return "biased upward by noise"


def below(floor: NoiseFloor) -> str:
    """Word the upper end of a noise floor."""
    return f"below {text.number(floor.high)} in {text.percent(floor.level)}"


def bins(found: Measurement) -> list[str]:
    """Show the bins."""
    rows = found.bin_rows()
    lines = text.bin_lines(rows, found.level, MOST_BINS)
    if len(rows) > MOST_BINS:
        lines.append(f"  ({MOST_BINS} of {len(rows):,} bins; --json has all)")
    return lines


def events(measured: Measured) -> list[str]:
    """Show several events, one a row."""
    header = ["event", "n", "positives", "error", "interval", "test", "CalibErr", "bins", "ECE", "Brier"]
    rows = [
        [
            each.event,
            text.count(each.n),
            text.count(each.positives),
            text.number(each.debiased_rms),
            text.between(each.interval.low, each.interval.high),
            text.p_value(each.test.p_value),
            text.number(each.rms_calibration_error),
            f"{each.binning.used:,}" + ("" if each.binning.size is None else f" of {each.binning.size:,}"),
            text.number(each.ece.value),
            text.number(each.brier),
        ]
        for each in measured.events
    ]
    mean = measured.mean
    if mean is not None:
        plug_in = [text.number(mean.rms_calibration_error), "", text.number(mean.ece), ""]
        rows.append(
            [f"mean of {mean.classes} classes", "", "", text.number(mean.debiased_rms), "", "", *plug_in]
        )
    lines = text.table([header, *rows])
    notes = [
        f"  {each.event}: {note}"
        for each in measured.events
        for note in text.notes(each.interval.reasons, each.reasons)
    ]
    more = [f"  ({len(notes) - MOST_NOTES} more notes; --json has all)"] if len(notes) > MOST_NOTES else []
    return [*lines, *notes[:MOST_NOTES], *more]


def recipe_lines(measured: Measured) -> list[str]:
    """Say how the numbers were made."""
    recipe, first = measured.recipe, measured.events[0]
    rows = [("file", recipe.file, "")]
    if recipe.threshold is not None:
        rows.append(("threshold", f"{recipe.threshold:g}", "scores below it were not written"))
    rows += _recipe_of(first) if len(measured.events) == 1 else _recipe_of_several(measured)
    rows += [
        ("interval", METHODS[first.interval.method], f"level {text.percent(first.level)}"),
        ("seed", "-" if first.seed is None else str(first.seed), f"calibrant {recipe.version}"),
    ]
    width = max(len(label) for label, _, _ in rows)
    return [
        "How",
        *(
            f"  {label:<{width}}  {value}" + (f"; {remark}" if remark else "")
            for label, value, remark in rows
        ),
    ]


def _recipe_of(found: Measurement) -> list[tuple[str, str, str]]:
    binning, interval = found.binning, found.interval
    asked = f"{binning.asked:,} bins asked for"
    if binning.size is not None:
        asked = f"{binning.size:,} pairs a bin asked for"
    return [
        ("pairs", f"{found.n:,}", f"{found.positives:,} positive; {_weights(found)}; {_units(found)}"),
        ("event", found.event, ""),
        ("bins", f"{binning.kind}, {asked}, {binning.used:,} used", HOW[found.tally]),
        ("norm", NORM, ""),
        ("debiased on", f"{interval.bins:,} bins of about {interval.bin_size:,} pairs", ""),
    ]


def _recipe_of_several(measured: Measured) -> list[tuple[str, str, str]]:
    first = measured.events[0]
    units: dict[str, list[str]] = {}
    for each in measured.events:
        units.setdefault(_units(each), []).append(each.event)
    taken = [
        unit if len(units) == 1 else f"{listed(events, most=3)}: {unit}" for unit, events in units.items()
    ]
    counts = "number of bins of so many pairs" if first.binning.size is not None else "number of bins"
    return [
        ("events", f"{len(measured.events)}", f"{_weights(first)}; {'; '.join(taken[:3])}"),
        ("bins", f"{first.binning.kind}, {counts} in the table", HOW[first.tally]),
        ("norm", f"{NORM}; ECE on {first.ece.bins} equal-width bins", ""),
    ]


def _weights(found: Measurement) -> str:
    return "no weights" if found.weight_sum == found.n else f"weights that sum to {found.weight_sum:,.6g}"


def _units(found: Measurement) -> str:
    return "pairs independent" if found.clusters is None else f"{text.counted(found.clusters, 'cluster')}"


def next_steps(measured: Measured, source: str) -> list[str]:
    """Say what to type next."""
    name = "PRED" if source == "-" else shlex.quote(source)
    lines = [f"  calibrant report {name} -o report.html    the same to look at"]
    if len(measured.events) > 1:
        event = shlex.quote(measured.events[0].event)
        lines.append(f"  calibrant measure {name} --event {event}    one event in full, with its bins")
    return ["Next", *lines]
