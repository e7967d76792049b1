"""Periods of dates: years, quarters, months and weeks, named so that they sort."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Literal

from calibrant._checks import one_of
from calibrant.exceptions import InputError

By = Literal["week", "month", "quarter", "year"]
PERIODS = ("week", "month", "quarter", "year")
_CLOCK = r"(([01]?\d|2[0-3])(:?[0-5]\d(:?([0-5]\d|60)([.,]\d+)?)?)?|24(:?00(:?00([.,]0+)?)?)?)"
TIME = rf"[Tt ]{_CLOCK}( ?[AaPp][Mm])?( ?([Zz]|[A-Z]{{2,5}}|[+-][01]\d(:?[0-5]\d)?))?"
_DATE = re.compile(rf"(\d{{4}}-\d\d-\d\d)({TIME})?", re.ASCII)
_PERIOD = re.compile(r"(\d{4})(?:-(?:Q([1-4])|W(\d\d)|(\d\d)))?", re.ASCII)


def parse_date(text: str) -> date:
    """Read ``YYYY-MM-DD``; a time of day after it is ignored.

    Parameters
    ----------
    text
        Text of a date.

    Raises
    ------
    InputError
        If the text is not a date (code ``date``).

    Examples
    --------
    >>> parse_date("2001-09-11T08:46").year
    2001
    """
    match = _DATE.fullmatch(text.strip())
    try:
        return date.fromisoformat(match[1] if match else "")
    except ValueError:
        raise InputError(f"{text!r:.40} is not a date", "write it as YYYY-MM-DD", code="date") from None


def period_of(day: date, by: str) -> str:
    """Return the period that contains a day.

    Parameters
    ----------
    day
        The day.
    by
        ``week`` (ISO 8601, from Monday), ``month``, ``quarter`` or ``year``.

    Examples
    --------
    >>> [period_of(date(2001, 1, 31), by) for by in ("year", "quarter", "month", "week")]
    ['2001', '2001-Q1', '2001-01', '2001-W05']
    """
    one_of(by, PERIODS, "by")
    if by == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04}-W{week:02}"
    if by == "month":
        return f"{day.year:04}-{day.month:02}"
    return f"{day.year:04}-Q{(day.month + 2) // 3}" if by == "quarter" else f"{day.year:04}"


def periods_between(first: date, last: date, by: By) -> Iterator[str]:
    """Return all periods from that of one day to that of another, including those without documents.

    Parameters
    ----------
    first, last
        Days; nothing if the last comes before the first.
    by
        As in `period_of`.

    Examples
    --------
    >>> list(periods_between(date(2001, 11, 30), date(2002, 2, 1), "month"))
    ['2001-11', '2001-12', '2002-01', '2002-02']
    """
    start, end = first.toordinal(), last.toordinal()
    days = [*range(start, end + 1, 7 if by == "week" else 28), end] if start <= end else []
    yield from dict.fromkeys(period_of(date.fromordinal(day), by) for day in days)


def days_of(period: str) -> tuple[date, date]:
    """Return the first and the last day of a period, as `period_of` names it, or of a day.

    Parameters
    ----------
    period
        A year, quarter, month, week or day: ``2001``, ``2001-Q1``, ``2001-01``, ``2001-W05``, ``2001-01-31``.

    Raises
    ------
    InputError
        If the text is no period (code ``date``).

    Examples
    --------
    >>> [str(day) for day in days_of("2001-Q1")]
    ['2001-01-01', '2001-03-31']
    """
    match = _PERIOD.fullmatch(period.strip())
    try:
        if match is None:
            day = date.fromisoformat(period.strip())
            return day, day
        year, quarter, week, month = (int(part or 0) for part in match.groups())
        if week or match[3]:
            monday = date.fromisocalendar(year, week, 1)
            return monday, monday + timedelta(days=6)
        first = month if match[4] else 3 * quarter - 2 if quarter else 1
        last = month if match[4] else 3 * quarter if quarter else 12
        end = date(year, 12, 31) if last == 12 else date(year, last + 1, 1) - timedelta(days=1)
        return date(year, first, 1), end
    except (ValueError, OverflowError):
        hint = "write a year, quarter, month, week or day: 2001, 2001-Q1, 2001-01, 2001-W05 or 2001-01-31"
        raise InputError(f"{period!r:.40} is not a period", hint, code="date") from None
