"""Assertions on calibration, for a test suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from calibrant.records.words import count, decimal, percent

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from calibrant.results.measurement import Measurement

__all__ = ["assert_calibrated"]

MOST_SHOWN = 10


def assert_calibrated(
    source: Any,
    y_prob: ArrayLike | None = None,
    *,
    max_error: float = 0.05,
    strict: bool = False,
    view: str | Sequence[str] | None = None,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    **settings: Any,
) -> None:
    """Raise `AssertionError` if the calibration error is too large.

    By default, the assertion fails only if the data show an error above ``max_error``: the interval's lower
    end is above it. On few data, where the interval is wide, the assertion therefore passes. With ``strict``,
    it fails unless the data show an error of at most ``max_error``: the interval's upper end must not exceed
    it. On few data, such an assertion fails. Without an interval, both fail.

    Parameters
    ----------
    source
        (n,) labels, 0 or 1, or class indices for a matrix of probabilities; or, without ``y_prob``, whatever
        `calibrant.measure` takes (a path, a dataframe), or what it has returned.
    y_prob
        (n,) probabilities of label 1, or (n, K) probabilities of K classes.
    max_error
        Largest calibration error that is acceptable, in [0, 1]; 0.05 is five percentage points.
    strict
        Whether the data have to show that the error is at most ``max_error``.
    view
        As in `calibrant.measure`. Each view has to pass. None: for a matrix ``top``, else the default views.
    sample_weight, clusters
        (n,) weights and clusters of arrays; those of a table are columns.
    level
        Coverage of the interval, between 0 and 1. If the error is ``max_error`` or less, the assertion fails
        with a probability of about (1 - level) / 2 for each view: raise the level if you test many.
    **settings
        Other arguments of `calibrant.measure`, such as ``columns``.

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

    most = _checks.non_negative(max_error, "max_error")
    if most > 1:
        raise InputError(f"max_error is {most:g}", "give a number from 0 to 1", code="parameter")
    found = [*_measurements(source, y_prob, view, sample_weight, clusters, level=level, **settings)]
    failed = [line for each in found if (line := _failure(each, most, strict)) is not None]
    if failed:
        more = [f"{len(failed) - MOST_SHOWN} more views fail."] if len(failed) > MOST_SHOWN else []
        raise AssertionError("\n".join([*failed[:MOST_SHOWN], *more]))


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


def _measurements(
    source: Any,
    y_prob: ArrayLike | None,
    view: str | Sequence[str] | None,
    sample_weight: ArrayLike | None,
    clusters: ArrayLike | None,
    **settings: Any,
) -> Iterator[Measurement]:
    """The measurement of each view."""
    from calibrant.exceptions import InputError
    from calibrant.results.measurement import Measured, Measurement
    from calibrant.verbs import measure

    if isinstance(source, Measured | Measurement):
        if y_prob is not None:
            raise InputError(
                "there are probabilities beside a measurement", "leave them out", code="parameter"
            )
        yield from source.views if isinstance(source, Measured) else (source,)
        return
    if y_prob is None:
        if sample_weight is not None or clusters is not None:
            hint = "name their columns (`columns`)"
            raise InputError("a table has weights and clusters in columns", hint, code="parameter")
        yield from measure(source, view=view, **settings).views
        return
    for name, tally in _tallies(source, y_prob, view, sample_weight, clusters).items():
        yield from measure(tally, view=name, **settings).views


def _tallies(
    y_true: Any,
    y_prob: ArrayLike,
    view: str | Sequence[str] | None,
    sample_weight: ArrayLike | None,
    clusters: ArrayLike | None,
) -> dict[str, Any]:
    """The tally of each view of arrays."""
    from numpy import ndim

    from calibrant.exceptions import InputError
    from calibrant.metrics.tally import Tally
    from calibrant.metrics.views import class_predictions, named_views

    asked = [view] if isinstance(view, str) else view
    units: dict[str, Any] = {"sample_weight": sample_weight, "clusters": clusters}
    if ndim(y_prob) < 2:
        if asked is not None and [*asked] != ["binary"]:
            message = f"one probability per row has the view binary, not {', '.join(asked)}"
            raise InputError(message, "leave the view out, or give a matrix", code="view")
        return {"binary": Tally.from_arrays(y_true=y_true, y_prob=y_prob, **units)}
    found = class_predictions(y_true, y_prob, **units)
    pairs = {name: each for one in asked or ["top"] for name, each in named_views(found, one).items()}
    return {name: Tally.from_pairs(each) for name, each in pairs.items()}
