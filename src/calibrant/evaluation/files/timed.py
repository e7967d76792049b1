"""Prediction tables with a column of time, in windows."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from calibrant._checks import shown
from calibrant.exceptions import InputError
from calibrant.io.columns import Codes
from calibrant.io.predictions import Predictions
from calibrant.io.roles import Role
from calibrant.io.tables import one_column
from calibrant.metrics.periods import parse_date, period_of

BY = ("day", "week", "month", "value")
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def timed(predictions: Predictions, column: str) -> tuple[Predictions, int]:
    """Return a table whose items are the values of its column of time, and the number of its first row.

    Parameters
    ----------
    predictions
        A table that is open.
    column
        Name of the column.

    Raises
    ------
    InputError
        There is no such column, or it is that of scores or labels.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io import open_predictions
    >>> table = pa.table({"score": [0.2, 0.9], "label": [0, 1], "day": ["2026-11-20", "2026-11-21"]})
    >>> found, _ = timed(open_predictions(table), "day")
    >>> found.read(items=True).item.tolist(), found.items
    ([0, 1], ['2026-11-20', '2026-11-21'])
    """
    reader, hint = predictions.table_reader, "name the column of time (`time`)"
    one_column(predictions.name, () if reader is None else reader.table.columns, column, hint)
    assert reader is not None  # no other reader has columns
    if reader.meaning_of(column) is not None:
        message = "the column is a score or the label"
        raise InputError(message, hint, code="column", file=predictions.name, column=column)
    roles = {**reader.roles, "item": Role("item", column=column)}
    days = replace(reader, roles=roles, item_codes=Codes(), whole_items=False)
    found = predictions.through(lambda _: days, predictions.name)
    found.has_items = True
    return found, reader.table.first_row


def window_of(value: Any, by: str) -> str | int:
    """The window that a value of the column of time lies in: a day, a week, a month, or the value itself.

    Raises
    ------
    InputError
        If it is no date.

    Examples
    --------
    >>> [window_of("2009-06-05T08:34:11-07:00", by) for by in ("day", "week", "month")]
    ['2009-06-05', '2009-W23', '2009-06']
    >>> window_of(17, "value")
    17
    """
    if by == "value":
        if isinstance(value, (str, int)) and not isinstance(value, bool):
            return value
        if isinstance(value, date):
            return value.isoformat()
        hint = "use whole numbers, text or dates"
        raise InputError(f"{shown(value)} names no window", hint, code="date")
    if isinstance(value, datetime):
        day = value.date()
    elif isinstance(value, date):
        day = value
    elif isinstance(value, str):
        day = parse_date(value)
    else:
        hint = "write it as YYYY-MM-DD, or take values as they stand (`by='value'`)"
        raise InputError(f"{shown(value)} is no date", hint, code="date")
    return day.isoformat() if by == "day" else period_of(day, "week" if by == "week" else "month")


def windows_of(values: list[Any], by: str, place: Callable[[int], tuple[str, int, str]]) -> list[str | int]:
    """The window of each value; an error says where, by ``place`` (file, row and column of a value)."""
    found: list[str | int] = []
    for code, value in enumerate(values):
        try:
            found.append(window_of(value, by))
        except InputError as error:
            file, row, column = place(code)
            raise error.at(file=file, row=row, column=column) from None
    if by == "value":
        found = _numbered(found, place)
    if found and len({type(window) for window in found}) > 1:
        file, row, column = place(0)
        message = "some values are numbers and some are text"
        raise InputError(message, "write all alike", code="column-type", file=file, column=column)
    return found


def _numbered(windows: list[str | int], place: Callable[[int], tuple[str, int, str]]) -> list[str | int]:
    """Windows as numbers where all are, as in a text file: as text, 10 would come before 9."""
    texts = [str(window).strip() for window in windows]
    if not all(_NUMBER.fullmatch(text) for text in texts):
        return windows
    for code, text in enumerate(texts):
        if not WHOLE.fullmatch(text):
            file, row, column = place(code)
            message, hint = f"{shown(windows[code])} names no window", "use whole numbers, text or dates"
            raise InputError(message, hint, code="date", file=file, row=row, column=column)
    return [int(text) for text in texts]
