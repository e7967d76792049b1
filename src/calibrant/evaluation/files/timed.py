"""Prediction tables with a column of time, split into windows, and a store of the rows of each window."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers, shown
from calibrant.evaluation.monitor_checks import order
from calibrant.exceptions import InputError
from calibrant.io.batches import Batch
from calibrant.io.predictions import Predictions
from calibrant.io.roles import Block, Role, place_of
from calibrant.io.tables import one_column
from calibrant.metrics.periods import TIME, parse_date, period_of

if TYPE_CHECKING:
    import pyarrow as pa

BY = ("day", "week", "month", "value")
WHOLE = re.compile(r"[+-]?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)

HELD = 1 << 27  # bytes of rows in memory


class RowStore:
    """Keeps rows apart by a number, in the order in which they came, and gives them back number by number.

    Parameters
    ----------
    held
        Bytes of rows in memory; when there are more, all go to a temporary file.

    Examples
    --------
    >>> with RowStore(held=10) as store:
    ...     store.add(np.array([1, 0, 1]), {"score": np.array([0.1, 0.2, 0.3])})
    ...     store.add(np.array([1]), {"score": np.array([0.4])})
    ...     store.read(1)["score"].tolist(), store.counts
    ([0.1, 0.3, 0.4], {0: 1, 1: 3})
    """

    def __init__(self, held: int = HELD) -> None:
        self.counts: dict[int, int] = {}
        self._file = tempfile.SpooledTemporaryFile(held)  # noqa: SIM115 (closed by __exit__)
        self._pieces: dict[int, list[tuple[int, int, np.dtype[Any]]]] = {}  # place, rows, their type

    def __enter__(self) -> RowStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, key: NDArray[np.int64], columns: Mapping[str, NDArray[Any]]) -> None:
        """Add rows: the number of each, from 0, and columns (n,) of any type of numbers."""
        if not len(key):
            return
        rows = np.empty(len(key), [(name, values.dtype) for name, values in columns.items()])
        for name, values in columns.items():
            rows[name] = values
        if (key[1:] < key[:-1]).any():
            order = np.argsort(key, kind="stable")
            key, rows = key[order], rows[order]
        start = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        for number, part in zip(key[start].tolist(), np.split(rows, start[1:]), strict=True):
            self._pieces.setdefault(number, []).append((self._file.tell(), len(part), part.dtype))
            self._file.write(part.tobytes())
            self.counts[number] = self.counts.get(number, 0) + len(part)

    def read(self, key: int) -> NDArray[Any]:
        """Return the rows of a number, as a structured array with a field per column."""
        parts: list[NDArray[Any]] = []
        for place, rows, dtype in self._pieces[key]:
            self._file.seek(place)
            parts.append(np.frombuffer(self._file.read(rows * dtype.itemsize), dtype))
        self._file.seek(0, 2)
        return np.concatenate(parts)


class LabeledRows:
    """Finds the rows that have a label, and keeps the places of the others.

    Parameters
    ----------
    predictions
        The open table.
    time
        Column of time, which has the items.
    dated
        True to cut times to days.

    Attributes
    ----------
    unlabeled
        Numbers of the rows without a label, from 0, by block.
    """

    def __init__(self, predictions: Predictions, time: str, *, dated: bool) -> None:
        assert predictions.table is not None
        self._table, self._label = predictions.table, predictions.roles["label"].name
        self._time, self._dated = time, dated
        self._seen = 0
        self.unlabeled: list[Integers] = []

    def of(self, block: Block) -> Block:
        """Return the rows of the next block that have a label, their times as days if requested."""
        if self._dated:  # so that few time stamps differ
            place = block.rows.schema.get_field_index(self._time)
            rows = block.rows.set_column(place, self._time, _days(block.column(self._time).values))
            block = block._replace(rows=rows)
        there = block.column(self._label).present()
        self.unlabeled.append(self._seen + np.flatnonzero(~there))
        self._seen += len(there)
        return block if there.all() else block.take(np.flatnonzero(there))

    def place(self, number: int) -> tuple[str, int, str]:
        """Return file, row and column of a time, by the row's number from 0 among those with a label."""
        places = np.concatenate(self.unlabeled)
        earlier = np.searchsorted(places - np.arange(len(places)), number, side="right")
        return *place_of(self._table, self._table.first_row + number + int(earlier)), self._time


def timed(
    predictions: Predictions, column: str, by: str = "value", *, items: bool = False
) -> tuple[Predictions, LabeledRows]:
    """Return the labeled rows of a table, whose items are the values of its column of time, and their places.

    Except by ``value``, time stamps are cut to their days.

    Parameters
    ----------
    predictions
        An open table.
    column
        Name of the column.
    by
        One of `BY`.
    items
        True to read the column of items as clusters.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io import open_predictions
    >>> table = pa.table({"score": [0.2, 0.9], "label": [0, 1], "day": ["2026-11-20", "2026-11-21"]})
    >>> stream, _ = timed(open_predictions(table), "day")
    >>> stream.read(items=True).item.tolist(), stream.items
    ([0, 1], ['2026-11-20', '2026-11-21'])
    """
    hint = "name the column of time (`time`)"
    one_column(predictions.name, predictions.columns, column, hint)
    if predictions.meaning_of(column) is not None:
        message = "the column is a score or the label"
        raise InputError(message, hint, code="column", file=predictions.name, column=column)
    dated = by != "value" and column not in [
        role.name for role in predictions.roles.values() if role.part != "item"
    ]
    labeled = LabeledRows(predictions, column, dated=dated)
    roles = {**predictions.roles, "item": Role("item", column=column)}
    if items and predictions.has_items:
        roles.setdefault("cluster", predictions.roles["item"])
    stream = predictions.read_anew(roles)
    stream.change, stream.whole_items = labeled.of, False

    def read(size: int, items: bool) -> Iterator[Batch]:
        try:
            yield from stream.batches(size, items=items)
        except InputError as error:
            if error.code in ("label-value", "class-unknown"):
                error.hint = f"leave the field of a missing label empty, or {error.hint}"
            raise

    return stream.through(read, predictions.name), labeled


def _days(values: pa.Array) -> pa.Array:
    """Truncate time stamps, and texts that begin with a date and a time, to days; keep other values."""
    import pyarrow as pa
    from pyarrow import compute

    kind = values.type
    if pa.types.is_timestamp(kind):
        local = values if kind.tz is None else compute.local_timestamp(values)
        return compute.floor_temporal(local, unit="day").cast(pa.date32())
    if pa.types.is_dictionary(kind):
        values, kind = values.dictionary_decode(), kind.value_type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return values
    timed = compute.match_substring_regex(values, rf"^\d{{4}}-\d\d-\d\d{TIME}$")
    return compute.if_else(timed, compute.utf8_slice_codeunits(values, 0, 10), values)


def window_of(value: Any, by: str) -> str | int:
    """Return the window of a value of the column of time: a day, a week, a month, or the value itself.

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
    if isinstance(value, date):
        day = value.date() if isinstance(value, datetime) else value
    else:
        try:
            text = value if isinstance(value, str) else ""
            day = parse_date(f"{text}-01" if by == "month" and len(text) == 7 else text)
        except InputError:
            hint = "write it as YYYY-MM-DD, or use values as windows (`by='value'`)"
            raise InputError(f"{shown(value)} is not a date", hint, code="date") from None
    return day.isoformat() if by == "day" else period_of(day, "week" if by == "week" else "month")


class Windows:
    """Windows of the values of a column of time, numbered batch by batch.

    Parameters
    ----------
    by
        One of `BY`.
    until
        Last day (by ``value``: last value) of the reference period; None without one.
    place
        Function that returns file, row and column of a row, by its number from 0.
    """

    def __init__(
        self, by: str, until: str | int | None, place: Callable[[int], tuple[str, int, str]]
    ) -> None:
        self._by, self._until, self._place = by, until, place
        self._of_value: list[int] = []
        self._numbers: dict[tuple[str | int, bool], int] = {}
        self._first: list[int] = []  # row with which each window begins

    def numbers(self, values: Sequence[Any], codes: Integers, first: int) -> Integers:
        """Return the window numbers of rows, from the values found so far, their codes and the first row."""
        for code in range(len(self._of_value), len(values)):
            row = first + int(np.argmax(codes == code))
            try:
                window = window_of(values[code], self._by)
                old = self._by != "value" and self._until is not None
                old = old and not after(window_of(values[code], "day"), self._until)
            except InputError as error:
                raise self._placed(error, row) from None
            number = self._numbers.setdefault((window, old), len(self._numbers))
            self._of_value.append(number)
            if number == len(self._first):
                self._first.append(row)
        return np.array(self._of_value, np.int64)[codes]

    def names(self) -> tuple[list[str | int], list[bool]]:
        """Return the window of each number, and True for the numbers that belong to the reference."""
        windows = [window for window, _ in self._numbers]
        if self._by == "value":
            windows = _numbered(windows, lambda number: self._place(self._first[number]))
        if windows and len({type(window) for window in windows}) > 1:
            message = "some values are numbers and some are text"
            error = InputError(message, "write all values as numbers, or all as text", code="column-type")
            raise self._placed(error, self._first[0], row=False)
        until = self._until
        if self._by != "value" or until is None or not windows:
            return windows, [old for _, old in self._numbers]
        until = str(until) if isinstance(windows[0], str) else until
        if type(windows[0]) is not type(until):
            message = f"the reference ends at {until!r}, but the column contains {windows[0]!r}"
            raise InputError(message, "give a value of the same type", code="parameter")
        return windows, [not after(window, until) for window in windows]

    def _placed(self, error: InputError, number: int, *, row: bool = True) -> InputError:
        file, at, column = self._place(number)
        return error.at(file=file, row=at if row else None, column=column)


def after(point: str | int, until: str | int | None) -> bool:
    """Return True if a window comes after another one; numbers within text are compared by value.

    Examples
    --------
    >>> after(10, 9), after("v10", "v9"), after("2026-09-30", "2026-10-01")
    (True, True, False)
    """
    return until is not None and order(point) > order(until)


def _numbered(windows: list[str | int], place: Callable[[int], tuple[str, int, str]]) -> list[str | int]:
    """Convert windows to numbers if all are numbers."""
    texts = [str(window).strip() for window in windows]
    if not all(_NUMBER.fullmatch(text) for text in texts):
        return windows
    for code, text in enumerate(texts):
        if not WHOLE.fullmatch(text):
            file, row, column = place(code)
            message, hint = f"{shown(windows[code])} names no window", "use whole numbers, text or dates"
            raise InputError(message, hint, code="date", file=file, row=row, column=column)
    return [int(text) for text in texts]  # as text, 10 would come before 9
