"""Checks of a monitor's input and state: edges of regions, days in order, evidence."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any, Literal
from zlib import crc32

import numpy as np
from msgspec import Struct

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.evaluation.persistent import PersistentState
from calibrant.evaluation.results.monitoring import MonitoredDay
from calibrant.exceptions import InputError
from calibrant.records.words import percent

Day = str | int | date
FEWEST_DAYS = 10  # from which the autocorrelation of their errors is tested
CRITICAL = 2.326  # the 99 % point of the normal distribution
Unit = Literal["day", "cluster", "item", "dependent-day"]
VERSION = 4
MOST_KEYS = 1_000
OFTEN = 0.05


class Returns(Struct, frozen=True, forbid_unknown_fields=True):
    """How many clusters were also in the window before, counted among those with the smallest hashes."""

    keys: tuple[int, ...] = ()
    compared: int = 0
    returned: int = 0

    def after(self, names: Iterable[Any]) -> Returns:
        """Return the counts after one more window."""
        keys = sorted({crc32(str(name).encode(errors="surrogatepass")) for name in names})
        seen = keys if len(self.keys) < MOST_KEYS else keys[: bisect_right(keys, self.keys[-1])]
        compared = self.compared + len(seen) if self.keys else 0
        again = self.returned + len(set(seen).intersection(self.keys))
        return Returns(tuple(keys[:MOST_KEYS]), compared, again)

    def warning(self) -> str | None:
        """Return a warning if clusters often return."""
        if self.returned <= OFTEN * self.compared:
            return None
        return (
            f"{percent(self.returned / self.compared, 0)} of the clusters of a window were also in the one "
            "before. If the model makes the same errors for them each time, the condition fails, and an "
            "alarm may be false: use the unit dependent-day"
        )


class MonitorState(Struct, frozen=True, forbid_unknown_fields=True):
    """State of a `CalibrationMonitor`; logarithms of zero are None."""

    version: Literal[4]
    against: Literal["calibrated", "reference"]
    alpha: float
    unit: Unit
    epsilon: float
    restart: bool
    edges: tuple[float, ...]
    bound: tuple[tuple[float, ...], tuple[float, ...]]
    looks: int
    log_cash: float | None
    log_wealth: tuple[tuple[float | None, ...], ...]
    largest: float | None
    persistent: PersistentState | None
    alarms: tuple[str | int, ...]
    days: tuple[MonitoredDay, ...]
    returns: Returns = Returns()


def checked_edges(edges: Sequence[float] | Floats) -> Floats:
    """Return inner edges as an array, or raise `InputError`."""
    hint = "give ascending numbers between 0 and 1, such as [0.1, 0.5, 0.9]"
    try:
        array = np.asarray(edges, dtype=np.float64) if _checks.is_list(edges) else np.array([np.nan])
    except (TypeError, ValueError) as error:
        raise InputError(f"edges is {edges!r:.60}", hint, code="parameter") from error
    if array.ndim != 1 or not ((array > 0) & (array < 1)).all() or (np.diff(array) <= 0).any():
        raise InputError(f"edges is {edges!r:.60}", hint, code="parameter")
    return array


def checked_day(day: object, seen: Sequence[str | int]) -> str | int:
    """Return a day's name; raise `InputError` unless it comes after all earlier days."""
    name = day.isoformat() if isinstance(day, date) else day
    if isinstance(name, bool) or not isinstance(name, (str, int)) or name == "":
        hint = "name the day by a date, text or a number"
        raise InputError(f"the day is {day!r:.40}", hint, code="parameter")
    if isinstance(name, str) and not _checks.is_unicode(name):
        raise InputError(f"the day {name!a:.40} is not valid Unicode", "rename it", code="text")
    if not seen:
        return name
    last = seen[-1]
    if isinstance(name, str) != isinstance(last, str):
        message = f"the day {name!r} cannot be ordered with {last!r}"
        raise InputError(message, "name all days by text, or all by numbers", code="parameter")
    if name in seen:
        raise InputError(f"day {name!r} was added before", "add each day once", code="duplicate")
    if order(name) < order(last):
        hint = "assign late labels to the day on which they arrive"
        raise InputError(f"day {name!r} is before {last!r}, which was added", hint, code="parameter")
    return name


def order(day: str | int) -> tuple[int, list[int | str], str]:
    """Return a key that orders numbers by value, also those within text: v2 comes before v10."""
    if not isinstance(day, str):
        return day, [], ""
    parts = re.split(r"([0-9]{1,18})", day)  # text and numbers take turns
    return 0, [int(part) if place % 2 else part for place, part in enumerate(parts)], day


def persistent_errors(error: Floats, n: Floats) -> str | None:
    """Return a warning if the mean errors of adjacent days are correlated, given the labels per day.

    The statistic is the lag-1 autocorrelation, about their mean, of the errors times the root of n. For
    independent days its standard deviation is about one over the root of the number of days.
    """
    if len(error) < FEWEST_DAYS:
        return None
    scaled = error * np.sqrt(n)
    scaled = scaled - scaled.mean()
    square = float(scaled @ scaled)
    lagged = float(scaled[1:] @ scaled[:-1]) / square if square > 0 else 0.0
    if lagged <= CRITICAL / math.sqrt(len(error)):
        return None
    return (
        f"the errors of windows persist (lag-1 autocorrelation {lagged:.2f} over {len(error)} windows): the "
        "model has changed, or windows depend on each other. If they do, an alarm may be false, and the unit "
        "dependent-day allows for it; if not, no unit finds a change sooner than item"
    )


def check_state(state: MonitorState, wealth: Floats, shape: tuple[int, ...]) -> None:
    """Raise ValueError if the values of a saved monitor cannot come from a monitor."""
    bound, regions = np.array(state.bound), len(state.edges) + 1
    if bound.shape != (2, regions) or not (np.abs(bound) <= (state.against == "reference")).all():
        raise ValueError("$.bound: the shape is not (2, regions)")
    if wealth.shape != shape:
        raise ValueError("$.log_wealth: wrong shape")
    if not all(value is None or value < np.inf for value in (*wealth.flat, state.log_cash, state.largest)):
        raise ValueError("$.log_wealth: evidence is not finite")
    if state.largest is not None and state.largest < 0 and not state.restart:
        raise ValueError("$.largest: below the evidence at the start")
    days = [day.day for day in state.days]
    if state.looks != len(days) or not set(state.alarms) <= set(days):
        raise ValueError("$.days: looks, days and alarms differ")
    if not 0 <= state.returns.returned <= state.returns.compared:
        raise ValueError("$.returns: more clusters returned than were compared")
    for place, day in enumerate(days):
        checked_day(day, days[:place][-1:])


def check_evidence(state: MonitorState, evidence: float, largest: float, threshold: float) -> None:
    """Raise ValueError if days, alarms and evidence of a saved monitor contradict each other."""
    days, restart = state.days, state.restart
    limit, top = math.log10(threshold), -math.inf if restart else 0.0
    raised: list[str | int] = []
    for place, day in enumerate(days):
        error = (day.error.estimate, day.error.low, day.error.high, day.p_value)
        shares = [day.score, day.frequency, *(x for x in error if x is not None)]
        if not 1 <= day.groups <= day.n or not all(0 <= share <= 1 for share in shares):
            raise ValueError(f"$.days[{place}]: impossible numbers")
        top = max(top, day.log10_e)
        if not math.isclose(top, day.log10_largest, rel_tol=1e-6, abs_tol=1e-9):
            raise ValueError(f"$.days[{place}].log10_largest: not the largest evidence of the days")
        if day.log10_e >= limit and (restart or not raised):
            raised.append(day.day)
            top = -math.inf if restart else top
        if day.alarm != (day.day in raised if restart else bool(raised)):
            raise ValueError(f"$.days[{place}].alarm: alarms contradict the evidence")
    if raised != list(state.alarms):
        raise ValueError("$.alarms: they contradict the evidence")
    begun = not days or (restart and days[-1].alarm)
    last = 0.0 if not days else days[-1].log10_e * math.log(10)
    if not begun and not math.isclose(evidence, last, rel_tol=1e-6, abs_tol=1e-6):
        raise ValueError("$.log_wealth: not the evidence of the last day")
    if not math.isclose(top * math.log(10), largest, rel_tol=1e-6, abs_tol=1e-6):
        raise ValueError("$.largest: not the largest evidence of the days")
