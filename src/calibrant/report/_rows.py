"""The table of numbers: one row a field, one cell a model, each label with its meaning."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from calibrant.report._text import (
    ESTIMANDS,
    INTERVALS,
    TESTS,
    UNDEFINED,
    count,
    number,
    p_value,
    percent,
    span,
)
from calibrant.report.glossary import TERMS
from calibrant.results.measurement import EqualWidthError, Measurement, SmoothedError


@dataclass(frozen=True)
class Cell:
    """One number of one model, worded.

    Attributes
    ----------
    text
        The number, or ``"undefined"``.
    note
        What stands beside it in small type: an interval, a noise floor, a reason.
    """

    text: str
    note: str = ""


@dataclass(frozen=True)
class Row:
    """One field for all models of a section.

    Attributes
    ----------
    field
        The field's name in the JSON of ``calibrant measure``.
    label, meaning
        From the glossary.
    cells
        One a model.
    """

    field: str
    label: str
    meaning: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Group:
    """Rows that belong together.

    Attributes
    ----------
    title
        What the rows have in common.
    rows
        At least one.
    """

    title: str
    rows: tuple[Row, ...]


Worded = Callable[[Measurement], Cell]


def number_groups(measurements: Sequence[Measurement]) -> tuple[Group, ...]:
    """Word every number of one event for all models, grouped and explained."""
    groups = []
    for title, fields in FIELDS.items():
        rows = tuple(
            Row(name, TERMS[name].label, TERMS[name].meaning, tuple(word(m) for m in measurements))
            for name, word in fields.items()
        )
        kept = tuple(row for row in rows if any(cell.text for cell in row.cells))
        groups.append(Group(title, kept))
    return tuple(groups)


def _debiased(m: Measurement) -> Cell:
    return _plain(m, "debiased_rms", m.debiased_rms)


def _interval(m: Measurement) -> Cell:
    interval = m.interval
    text = span(interval.low, interval.high)
    recipe = f"{percent(interval.level)}, {INTERVALS[interval.method]}"
    if interval.estimand != "rms":
        recipe += f", {ESTIMANDS[interval.estimand]}"
    reason = interval.reasons.get("low") or interval.reasons.get("estimate")
    return Cell(text, reason if text == UNDEFINED and reason else recipe)


def _plug_in(m: Measurement) -> Cell:
    return Cell(number(m.rms_calibration_error), binning_text(m))


def _floored(error: EqualWidthError | SmoothedError | None) -> Cell:
    if error is None:
        return Cell("")
    floor = error.noise_floor
    return Cell(
        number(error.value),
        f"noise floor {number(floor.mean)}; {percent(floor.level)} of draws below {number(floor.high)}",
    )


def _ece(m: Measurement) -> Cell:
    cell = _floored(m.ece)
    return Cell(cell.text, f"{m.ece.bins} bins of equal width; {cell.note}")


def _test(m: Measurement) -> Cell:
    if m.test.p_value is None:
        return Cell(UNDEFINED, m.test.reasons.get("p_value", ""))
    return Cell(p_value(m.test.p_value), TESTS[m.test.method])


def _brier(m: Measurement) -> Cell:
    return Cell(number(m.brier), "" if m.brier_skill is None else f"skill {percent(m.brier_skill, 1)}")


def _log_loss(m: Measurement) -> Cell:
    cell = _plain(m, "log_loss", m.log_loss)
    skill = "" if m.log_loss_skill is None else f"skill {percent(m.log_loss_skill, 1)}"
    return Cell(cell.text, cell.note or skill)


def _plain(m: Measurement, name: str, value: float | None) -> Cell:
    return Cell(number(value), m.reasons.get(name, "") if value is None else "")


def _estimate(name: str) -> Worded:
    def word(m: Measurement) -> Cell:
        value = getattr(m, name)
        if value.estimate is None:
            return Cell(UNDEFINED, m.reasons.get(name) or m.reasons.get(name.removeprefix("cox_"), ""))
        return Cell(number(value.estimate), f"{percent(value.level)} {span(value.low, value.high)}")

    return word


def _field(name: str) -> Worded:
    def word(m: Measurement) -> Cell:
        return _plain(m, name, getattr(m, name))

    return word


def binning_text(m: Measurement) -> str:
    """Say how the plotted bins were made."""
    binning = m.binning
    asked = ""
    if binning.size is not None:
        asked = f" of {count(binning.size)} pairs"
    elif binning.asked is not None and binning.asked != binning.used:
        asked = f" ({binning.asked} asked for)"
    return f"{binning.used} {binning.kind} bin{'s' if binning.used != 1 else ''}{asked}"


FIELDS: dict[str, dict[str, Worded]] = {
    "How far off": {
        "debiased_rms": _debiased,
        "interval": _interval,
        "rms_calibration_error": _plug_in,
        "ece": _ece,
        "smooth_ece": lambda m: _floored(m.smooth_ece),
        "max_calibration_error": _field("max_calibration_error"),
        "test": _test,
    },
    "In which way": {
        "calibration_in_the_large": _estimate("calibration_in_the_large"),
        "cox_slope": _estimate("cox_slope"),
        "cox_intercept": _estimate("cox_intercept"),
    },
    "How good on the whole": {"brier": _brier, "log_loss": _log_loss},
}
