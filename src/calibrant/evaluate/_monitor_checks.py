"""What a monitor takes: edges of regions, and days in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant.exceptions import InputError

Day = str | int | date
Floats = NDArray[np.float64]


def checked_edges(edges: Sequence[float] | Floats) -> Floats:
    """Return inner edges as an array, or raise."""
    hint = "give rising numbers between 0 and 1, such as [0.1, 0.5, 0.9]"
    try:
        array = np.asarray(edges, dtype=np.float64) if _checks.is_list(edges) else np.array([np.nan])
    except (TypeError, ValueError) as error:
        raise InputError(f"edges is {edges!r:.60}", hint, code="parameter") from error
    if array.ndim != 1 or not ((array > 0) & (array < 1)).all() or (np.diff(array) <= 0).any():
        raise InputError(f"edges is {edges!r:.60}", hint, code="parameter")
    return array


def checked_day(day: object, seen: Sequence[str | int]) -> str | int:
    """Return a day's name, which must come after all that were seen."""
    name = day.isoformat() if isinstance(day, date) else day
    if isinstance(name, bool) or not isinstance(name, (str, int)) or name == "":
        raise InputError(f"the day is {day!r:.40}", "name it by a date, text or a number", code="parameter")
    if not seen:
        return name
    last = seen[-1]
    if isinstance(name, str) != isinstance(last, str):
        message = f"the day {name!r} cannot be ordered with {last!r}"
        raise InputError(message, "name all by text, or all by numbers", code="parameter")
    if name in seen:
        raise InputError(f"day {name!r} was taken already", "each counts once", code="duplicate")
    if max(name, last, key=_order) == last:
        hint = "labels that come late belong to the day on which they come"
        raise InputError(f"day {name!r} lies before {last!r}, which was taken", hint, code="parameter")
    return name


def _order(day: str | int) -> tuple[int, str]:
    """A key that orders numbers by value and text as text."""
    return (0, day) if isinstance(day, str) else (day, "")


def check_evidence(state: Mapping[str, Any], regions: int, wealth: Floats, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless what a saved monitor holds can be what a monitor came to."""
    if state["against"] not in ("calibrated", "reference"):
        raise ValueError(f"against is {state['against']!r:.20}")
    bound = np.array(state["bound"], np.float64)
    if bound.shape != (2, regions) or not np.isfinite(bound).all():
        raise ValueError("bound is no (2, regions) finite numbers")
    if wealth.shape != shape:
        raise ValueError("log_wealth has another shape")
    logs = [*wealth.ravel().tolist(), state["log_cash"], state["largest"]]
    if not all(value is None or float(value) < np.inf for value in logs):
        raise ValueError("evidence is not finite")
    days = [day["day"] for day in state["days"]]
    if state["looks"] != len(days) or not set(state["alarms"]) <= set(days):
        raise ValueError("looks, days and alarms differ")
    for place, day in enumerate(days):
        checked_day(day, days[:place][-1:])
