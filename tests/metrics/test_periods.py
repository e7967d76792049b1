"""Periods of dates."""

from __future__ import annotations

from datetime import date, timedelta
from typing import get_args

import pytest

from calibrant.exceptions import InputError
from calibrant.metrics.periods import By, parse_date, period_of, periods_between


@pytest.mark.parametrize("by", get_args(By))
def test_all_periods_between_two_days_are_there_once_and_in_order(by: By) -> None:
    first = date(1999, 12, 27)
    for days in (0, 1, 6, 35, 400, 1500):
        last = first + timedelta(days=days)
        expected = sorted({period_of(first + timedelta(days=day), by) for day in range(days + 1)})
        assert list(periods_between(first, last, by)) == expected
    assert list(periods_between(first, first - timedelta(days=1), by)) == []


@pytest.mark.parametrize("by", get_args(By))
def test_periods_reach_the_last_day_that_a_date_can_be(by: By) -> None:
    expected = sorted({period_of(date.max - timedelta(days=day), by) for day in range(42)})
    assert list(periods_between(date.max - timedelta(days=41), date.max, by)) == expected


def test_weeks_are_those_of_iso_8601() -> None:
    assert period_of(date(2002, 12, 31), "week") == "2003-W01"
    assert period_of(date(2005, 1, 1), "week") == "2004-W53"


@pytest.mark.parametrize("text", ["", "2001", "2001-13-01", "11/09/2001", "20010911", "2001-09-11x"])
def test_what_is_no_date_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a date") as error:
        parse_date(text)
    assert error.value.code == "date"


@pytest.mark.parametrize(
    "after",
    [
        "",
        " ",
        "T15:01:01.79",
        " 15:01",
        "T08:34:11-07:00",
        "T00:00:00Z",
        " 15:01:01 CET",
        " 9:05:00 PM +0000",
        " 9:05 pm",
        "T150101z",
        "T23:59:60",
        "T24:00:00.0",
    ],
)
def test_a_time_of_day_after_a_date_is_ignored(after: str) -> None:
    assert parse_date(f"2003-03-01{after}") == date(2003, 3, 1)


@pytest.mark.parametrize(
    "text",
    ["2003-03-01 foo", "2003-03-01 to 2003-03-05", "2003-03-01 12 dead", "2003-03-01foo", "20030301", ""],
)
def test_other_text_after_a_date_is_an_error(text: str) -> None:
    with pytest.raises(InputError, match="is not a date: write it as YYYY-MM-DD"):
        parse_date(text)


@pytest.mark.parametrize(
    "time", ["25:99", "24:30", "24:00:01", "12:60", "12:00:61", "2599", "12:00+99:00", "12:00-05:60"]
)
def test_an_impossible_time_after_a_date_is_an_error(time: str) -> None:
    with pytest.raises(InputError, match="is not a date: write it as YYYY-MM-DD"):
        parse_date(f"2001-01-01T{time}")
