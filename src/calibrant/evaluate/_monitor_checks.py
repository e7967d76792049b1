"""What a monitor takes: edges of regions, and days in order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant.exceptions import InputError
from calibrant.results.monitoring import MonitoredDay

Day = str | int | date
FEWEST_DAYS = 10  # from which the autocorrelation of their errors is tested
CRITICAL = 2.326  # the 99 % point of the normal distribution
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
    if isinstance(name, str) and not name.isprintable() and not _is_text(name):
        raise InputError(f"the day {name!a:.40} is not valid Unicode", "rename it", code="text")
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


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # a half of a character
        return False
    return True


def persistent_errors(error: Floats, n: Floats) -> str | None:
    """Warn if the mean errors of days, with so many labels each, are correlated from one day to the next.

    The statistic is the lag-1 autocorrelation of the errors times the root of n, about their mean. For
    independent days its standard deviation is about one over the root of the number of days.
    """
    if len(error) < FEWEST_DAYS:
        return None
    scaled = error * np.sqrt(n)
    scaled = scaled - scaled.mean()
    square = float(scaled @ scaled)
    found = float(scaled[1:] @ scaled[:-1]) / square if square > 0 else 0.0
    if found <= CRITICAL / math.sqrt(len(error)):
        return None
    return (
        f"the errors of days persist (lag-1 autocorrelation {found:.2f} over {len(error)} days): the "
        "condition of the promise does not hold, and an alarm may be false; use the unit dependent-day"
    )


def check_state(state: Mapping[str, Any], regions: int, wealth: Floats, shape: tuple[int, ...]) -> None:
    """Raise ValueError unless what a saved monitor holds can be what a monitor came to."""
    if state["against"] not in ("calibrated", "reference"):
        raise ValueError(f"against is {state['against']!r:.20}")
    bound = np.array(state["bound"], np.float64)
    if bound.shape != (2, regions) or not (np.abs(bound) <= (state["against"] == "reference")).all():
        raise ValueError("bound is no (2, regions) mean errors")
    if wealth.shape != shape:
        raise ValueError("log_wealth has another shape")
    logs = [*wealth.ravel().tolist(), state["log_cash"], state["largest"]]
    if not all(value is None or float(value) < np.inf for value in logs):
        raise ValueError("evidence is not finite")
    largest = state["largest"]
    if largest is not None and largest < 0 and not state["restart"]:
        raise ValueError("the largest evidence is below that at the start")
    days = [day["day"] for day in state["days"]]
    if state["looks"] != len(days) or not set(state["alarms"]) <= set(days):
        raise ValueError("looks, days and alarms differ")
    for place, day in enumerate(days):
        checked_day(day, days[:place][-1:])


def check_evidence(
    days: Sequence[MonitoredDay],
    alarms: Sequence[str | int],
    evidence: float,
    largest: float,
    threshold: float,
    restart: bool,
) -> None:
    """Raise ValueError unless days, alarms and evidence of a saved monitor go together."""
    limit, top = math.log10(threshold), -math.inf if restart else 0.0
    raised: list[str | int] = []
    for day in days:
        error = (x for x in (day.error.estimate, day.error.low, day.error.high) if x is not None)
        shares = [day.score, day.frequency, *error]
        counts = type(day.n) is int and type(day.groups) is int and 1 <= day.groups <= day.n
        if not counts or not all(0 <= share <= 1 for share in shares):
            raise ValueError(f"day {day.day!r:.20} has numbers that cannot be")
        if day.p_value is not None and not 0 <= day.p_value <= 1:
            raise ValueError("a p-value is outside 0 to 1")
        top = max(top, day.log10_e)
        if not math.isclose(top, day.log10_largest, rel_tol=1e-6, abs_tol=1e-9):
            raise ValueError("the largest evidence is not that of the days")
        if day.log10_e >= limit and (restart or not raised):
            raised.append(day.day)
            top = -math.inf if restart else top
        if day.alarm != (day.day in raised if restart else bool(raised)):
            raise ValueError("alarms are not where the evidence is")
    if raised != list(alarms):
        raise ValueError("alarms are not where the evidence is")
    begun = not days or (restart and days[-1].alarm)
    last = 0.0 if not days else days[-1].log10_e * math.log(10)
    if not begun and not math.isclose(evidence, last, rel_tol=1e-6, abs_tol=1e-6):
        raise ValueError("the wealth is not the evidence of the last day")
    if not math.isclose(top * math.log(10), largest, rel_tol=1e-6, abs_tol=1e-6):
        raise ValueError("the largest evidence is not that of the days")
