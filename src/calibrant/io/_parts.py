"""A folder or a pattern of Parquet files as one table, read file by file."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.exceptions import InputError
from calibrant.io.table_formats import locate
from calibrant.io.tables import THRESHOLD_KEY, Kind, ParquetTable

if TYPE_CHECKING:
    import pyarrow as pa


class PartsTable:
    """Parquet files with the same columns, one after the other.

    Parameters
    ----------
    files
        At least one.
    name
        The folder or the pattern.

    Raises
    ------
    InputError
        Two files disagree about a column or the noted threshold; the message names both.
    """

    first_row = 1

    def __init__(self, files: Sequence[Path], name: str) -> None:
        self.name = name
        self.files = tuple(files)
        self._parts = [ParquetTable(locate(file)) for file in files]
        first, *others = self._parts
        for other in others:
            _check_same(first, other)
        self.columns = first.columns
        self.metadata: Mapping[bytes, bytes] = first.metadata
        self._ends = list(accumulate(part.rows or 0 for part in self._parts))
        self.rows: int | None = self._ends[-1]

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, file by file."""
        for part in self._parts:
            yield from part.batches(columns, size)

    def place(self, row: int) -> tuple[str, int]:
        """The file in which a row of the whole (from 1) stands, and its number there."""
        part = min(bisect_right(self._ends, row - 1), len(self._ends) - 1)
        return self._parts[part].name, row - (self._ends[part - 1] if part else 0)


def _check_same(one: ParquetTable, other: ParquetTable) -> None:
    def fault(message: str, code: str, column: str | None) -> InputError:
        hint = "give the files the same columns, or measure them apart"
        return InputError(message, hint, code=code, file=other.name, column=column)

    for names, others, at, elsewhere in (
        (one.columns, other.columns, one.name, other.name),
        (other.columns, one.columns, other.name, one.name),
    ):
        for column in names:
            if column not in others:
                raise fault(f"column {column!r} is in {at} and not in {elsewhere}", "column-missing", None)
    for column in one.columns:
        kinds = [_kind(table, column) for table in (one, other)]
        if kinds[0] != kinds[1]:
            message = f"the column is {kinds[1]} in {other.name} and {kinds[0]} in {one.name}"
            raise fault(message, "column-type", column)
    if one.metadata.get(THRESHOLD_KEY) != other.metadata.get(THRESHOLD_KEY):
        raise fault(f"the noted threshold is not that of {one.name}", "threshold", None)


def _kind(table: ParquetTable, column: str) -> Any:
    return table.schema.field(column).type if table.columns.count(column) == 1 else "there twice"
