"""Assertions on calibration, for a test suite."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from calibrant.records.words import count, percent

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
    max_mean_error: float | None = None,
    strict: bool = False,
    **options: Any,
) -> None:
    """Raise `AssertionError` if the calibration error, or the mean error, is too large.

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
    max_mean_error
        Largest acceptable distance of the mean score from the mean label, in [0, 1]; None does not check it.
        Fewer data show that scores are too high or too low on average than show other errors.
    strict
        True if the data must show that the errors are at most ``max_error`` and ``max_mean_error``.
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

    for name, most in (("max_error", max_error), ("max_mean_error", max_mean_error)):
        if most is not None and _checks.non_negative(most, name) > 1:
            raise InputError(f"{name} is {most:g}", "give a number from 0 to 1", code="parameter")
    if isinstance(source, Measured | Measurement):
        if p is not None or y is not None or options:
            message = "a measurement is given together with other arguments"
            raise InputError(message, "leave the other arguments out", code="parameter")
        views, notes = (
            (source.views, source.recipe.notes) if isinstance(source, Measured) else ((source,), ())
        )
    else:
        if p is not None and options.get("view") is None:
            options["view"] = _view(source, p)
        measured = measure(source, p, y, **options)
        views, notes = measured.views, measured.recipe.notes
    failed = [line for view in views for line in _failures(view, max_error, max_mean_error, strict)]
    if failed:
        more = [f"{len(failed) - MOST_SHOWN} more errors fail."] if len(failed) > MOST_SHOWN else []
        raise AssertionError("\n".join([*failed[:MOST_SHOWN], *more, *notes]))


def _view(source: Any, p: Any) -> str:
    """The view of arrays, or of a classifier, of which nobody names one."""
    from calibrant._checks import as_array

    if hasattr(source, "predict_proba"):
        return "top" if len(getattr(source, "classes_", ())) > 2 else "binary"
    array = as_array(p, "p")
    return "top" if array.ndim == 2 and array.shape[1] > 2 else "binary"


def _failures(
    measurement: Measurement, max_error: float, max_mean_error: float | None, strict: bool
) -> Iterator[str]:
    """Yield why a measurement fails, in words."""
    checks = [("calibration error", measurement.calibration_error, max_error)]
    if max_mean_error is not None:
        checks.append(("mean error", measurement.mean_error, max_mean_error))
    for name, error, most in checks:
        if error.low is None or error.high is None:
            yield f"{measurement.view}: the {name} has no interval: {error.reason}."
            continue
        if error.low > most:
            verdict = f"The data show an error above {most:g}."
        elif error.high < -most:
            verdict = f"The data show an error below {-most:g}."
        elif strict and not -most <= error.low <= error.high <= most:
            ends = "ends above it" if error.high > most else f"begins below {-most:g}"
            verdict = f"The data do not show an error of at most {most:g}: the interval {ends}."
        else:
            continue
        about = f"({percent(measurement.level)} interval, n = {count(measurement.n)})"
        yield f"{measurement.view}: the {name} is {error:.4f} {about}. {verdict}"
