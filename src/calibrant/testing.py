"""Assertions on calibration, for a test suite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant.records.words import count, decimal, percent

if TYPE_CHECKING:
    from calibrant.results.measurement import Measurement

__all__ = ["assert_calibrated"]

MOST_SHOWN = 10


def assert_calibrated(
    source: Any,
    p: Any = None,
    y: Any = None,
    *,
    max_error: float = 0.05,
    strict: bool = False,
    **options: Any,
) -> None:
    """Raise `AssertionError` if the calibration error is too large.

    By default, the assertion fails only if the data show an error above ``max_error``: the interval's lower
    end is above it. On few data, where the interval is wide, the assertion therefore passes. With ``strict``,
    it fails unless the data show an error of at most ``max_error``: the interval's upper end must not exceed
    it. On few data, such an assertion fails. Without an interval, both fail.

    Parameters
    ----------
    source, p, y
        As in `calibrant.measure`: labels and probabilities, a classifier with items and labels, a table; or
        what `calibrant.measure` has returned.
    max_error
        Largest calibration error that is acceptable, in [0, 1]; 0.05 is five percentage points.
    strict
        True if the data must show that the error is at most ``max_error``.
    **options
        Other arguments of `calibrant.measure`, such as ``view``, ``clusters`` or ``level``. Each view has to
        pass; of a matrix or a classifier, it is ``top`` unless you name others. If the error is ``max_error``
        or less, the assertion fails with a probability of about (1 - level) / 2 for each view: raise the
        level if you test many.

    Raises
    ------
    AssertionError
        If the error of a view is too large, or undefined. The message has estimate, interval and verdict.
    InputError
        If the input cannot be used.

    Examples
    --------
    >>> from calibrant.synthetic import sample
    >>> drawn = sample(2000, a=1, b=1, seed=1)
    >>> assert_calibrated(drawn.label, drawn.score)
    >>> assert_calibrated(drawn.label, drawn.score**2)
    Traceback (most recent call last):
    AssertionError: binary: the calibration error is ... The data show an error above 0.05.
    """
    __tracebackhide__ = True
    from calibrant import _checks
    from calibrant.exceptions import InputError
    from calibrant.results.measurement import Measured, Measurement
    from calibrant.verbs import measure

    most = _checks.non_negative(max_error, "max_error")
    if most > 1:
        raise InputError(f"max_error is {most:g}", "give a number from 0 to 1", code="parameter")
    if isinstance(source, Measured | Measurement):
        if p is not None or y is not None or options:
            message = "a measurement is given together with other arguments"
            raise InputError(message, "leave the other arguments out", code="parameter")
        found, notes = (
            (source.views, source.recipe.notes) if isinstance(source, Measured) else ((source,), ())
        )
    else:
        if p is not None and options.get("view") is None:
            options["view"] = _view(source, p)
        measured = measure(source, p, y, **options)
        found, notes = measured.views, measured.recipe.notes
    failed = [line for each in found if (line := _failure(each, most, strict)) is not None]
    if failed:
        more = [f"{len(failed) - MOST_SHOWN} more views fail."] if len(failed) > MOST_SHOWN else []
        raise AssertionError("\n".join([*failed[:MOST_SHOWN], *more, *notes]))


def _view(source: Any, p: Any) -> str:
    """The view of arrays, or of a classifier, of which nobody names one."""
    from calibrant._checks import as_array

    if hasattr(source, "predict_proba"):
        return "top" if len(getattr(source, "classes_", ())) > 2 else "binary"
    array = as_array(p, "p")
    return "top" if array.ndim == 2 and array.shape[1] > 2 else "binary"


def _failure(found: Measurement, most: float, strict: bool) -> str | None:
    """Why a measurement fails, in words; None if it passes."""
    error = found.calibration_error
    if error.low is None or error.high is None:
        return f"{found.view}: the calibration error has no interval: {error.reason}."
    if (error.high if strict else error.low) <= most:
        return None
    about = f"({percent(found.level)} interval, n = {count(found.n)})"
    shown = f"{found.view}: the calibration error is {decimal(error.estimate)} "
    shown += f"[{decimal(error.low)}, {decimal(error.high)}] {about}."
    if error.low > most:
        return f"{shown} The data show an error above {most:g}."
    return f"{shown} The data do not show an error of at most {most:g}: the interval ends above it."
