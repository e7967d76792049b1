"""A folder or a pattern of Parquet files as one table, read file by file."""

from __future__ import annotations

import filecmp
import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import numpy as np

from calibrant.exceptions import InputError
from calibrant.io.columns import objects
from calibrant.io.table_formats import WILD, locate
from calibrant.io.tables import THRESHOLD_KEY, Kind, ParquetTable

if TYPE_CHECKING:
    import pyarrow as pa

SAME = "give the files the same columns (DuckDB can: union_by_name), or measure them separately"
MISSING = "__HIVE_DEFAULT_PARTITION__"
FOOTER = 4096  # bytes at the end of a file, which tell most files of equal size apart
WHOLE = re.compile(r"(0|-?[1-9]\d{0,17})", re.ASCII)  # 007 is a name
DECIMAL = re.compile(r"-?\d+\.\d+", re.ASCII)


class PartsTable:
    """Parquet files, one after the other; all need the columns that are read, with the same types.

    In a Hive-partitioned folder (``year=2024/part-0.parquet``) the names of folders are columns. They hold
    whole or decimal numbers where all values are numbers, and text otherwise.

    Parameters
    ----------
    files
        At least one.
    name
        The folder or the pattern.
    """

    first_row = 1

    def __init__(self, files: Sequence[Path], name: str) -> None:
        self.name = name
        self.files = tuple(files)
        self._parts = [ParquetTable(locate(file)) for file in files]
        first, *others = self._parts
        for other in others:
            if first.metadata.get(THRESHOLD_KEY) != other.metadata.get(THRESHOLD_KEY):
                message = f"the stored threshold is not that of {first.name}"
                raise InputError(message, SAME, code="threshold", file=other.name)
        self.partitions = _partitions(self.files, name)
        self._stored = dict.fromkeys(column for part in self._parts for column in part.columns)
        self.columns = tuple(dict.fromkeys((*self._stored, *self.partitions)))
        self.metadata: Mapping[bytes, bytes] = first.metadata
        self._ends = list(accumulate(part.rows or 0 for part in self._parts))
        self.rows: int | None = self._ends[-1]

    @property
    def in_both(self) -> list[str]:
        """The columns of the files whose names are also those of folders, but for capitals."""
        keys = {name.lower() for name in self.partitions}
        return [name for name in self._stored if name.lower() in keys]

    def types(self, columns: Iterable[str]) -> dict[str, Any]:
        """Return the types of columns; raise if a file lacks one, or types differ (null fits every type)."""
        import pyarrow as pa

        first_types: dict[str, tuple[ParquetTable, Any]] = {}
        for part, column in product(self._parts, columns):
            if column not in part.columns:
                holder = next(other.name for other in self._parts if column in other.columns)
                message = f"column {column!r} is in {holder} and not in {part.name}"
                raise InputError(message, SAME, code="column-missing", file=part.name)
            kind = _kind(part, column)
            one, known = first_types.setdefault(column, (part, kind))
            if known == pa.null():
                first_types[column] = part, kind
            elif kind not in (known, pa.null()):
                message = f"the column is {kind} in {part.name} and {known} in {one.name}"
                raise InputError(message, SAME, code="column-type", file=part.name, column=column)
        return {column: known for column, (_, known) in first_types.items()}

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, file by file."""
        import pyarrow as pa

        folders = {name: self.partitions[name] for name in columns if name in self.partitions}
        inside = {name: kind for name, kind in columns.items() if name in self._stored}
        types = self.types(inside)
        for place, part in enumerate(self._parts):
            first = part.first_row
            untyped = [name for name in inside if _kind(part, name) != types[name]]
            for rows in part.batches(inside, size):
                for name in untyped:
                    values = rows.column(name).cast(types[name])
                    rows = rows.set_column(rows.schema.get_field_index(name), name, values)
                if not folders:
                    yield rows
                    continue
                arrays = {name: rows.column(name) for name in inside}
                for name, values in folders.items():
                    value = values[place : place + 1].take(pa.array(np.zeros(rows.num_rows, np.int32)))
                    if name in inside:
                        _check_equal(rows.column(name), value, part.name, name, first)
                    arrays[name] = value
                yield pa.record_batch({name: arrays[name] for name in columns})
                first += rows.num_rows

    def place(self, row: int) -> tuple[str, int]:
        """Return the file of a row of the whole (from 1), and the row's number in the file."""
        part = min(bisect_right(self._ends, row - 1), len(self._ends) - 1)
        return self._parts[part].name, row - (self._ends[part - 1] if part else 0)


def notes_on_copies(files: Sequence[Path]) -> tuple[str, ...]:
    """Return a note if files with rows have the same bytes as others."""
    seen: dict[tuple[int, bytes], Path] = {}
    copies = []
    for file in files:
        with file.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - FOOTER))
            first = seen.setdefault((size, stream.read()), file)
        if first != file and filecmp.cmp(first, file, shallow=False) and ParquetTable(locate(file)).rows:
            copies.append(f"{file} has the same content as {first}")
    if not copies:
        return ()
    more = "" if len(copies) == 1 else f" ({len(copies)} such files)"
    return (f"{copies[0]}{more}: the same rows count more than once. Remove files that are copies.",)


def _partitions(files: Sequence[Path], name: str) -> dict[str, pa.Array]:
    folders = [_named(file, name) for file in files]
    for file, values in zip(files, folders, strict=True):
        if list(values) != list(folders[0]):
            one, other = (", ".join(names) or "none" for names in (folders[0], values))
            message = f"partition columns differ: its path has {other}, but that of {files[0]} has {one}"
            hint = "partition all files by the same columns, or measure them separately"
            raise InputError(message, hint, code="column-missing", file=os.fspath(file))
    return {column: _typed([values[column] for values in folders]) for column in folders[0]}


def _named(file: Path, name: str) -> dict[str, str | None]:
    """Return the ``key=value`` folders of a file: below a folder, or anywhere in its path for a pattern."""
    below = file if any(sign in name for sign in WILD) else file.relative_to(name)
    partitions: dict[str, str | None] = {}
    for folder in below.parts[:-1]:
        key, sign, value = folder.partition("=")
        if sign and key:
            if unquote(key) in partitions:
                message = f"two folders of the path name the partition {unquote(key)!r}"
                raise InputError(message, "rename one", code="column", file=os.fspath(file))
            partitions[unquote(key)] = None if value in ("", MISSING) else unquote(value)
    return partitions


def _typed(values: list[str | None]) -> pa.Array:
    import pyarrow as pa

    present = [value for value in values if value is not None]
    if present and all(WHOLE.fullmatch(value) for value in present):
        return pa.array([None if value is None else int(value) for value in values], pa.int64())
    if present and all(WHOLE.fullmatch(value) or DECIMAL.fullmatch(value) for value in present):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array(values, pa.string())


def _check_equal(values: pa.Array, expected: pa.Array, file: str, column: str, first: int) -> None:
    """Raise an error if a column of a file differs from the name of its folder."""
    import pyarrow as pa

    stored = values.dictionary_decode() if pa.types.is_dictionary(values.type) else values
    one, other = stored, expected
    if one.type != other.type:
        numbers = pa.types.is_integer(one.type) or pa.types.is_floating(one.type)
        common = pa.float64() if numbers and not pa.types.is_string(other.type) else pa.string()
        one, other = one.cast(common), other.cast(common)
    if one.equals(other):
        return
    row = next(row for row in range(len(one)) if one[row].as_py() != other[row].as_py())
    value = objects(stored[row : row + 1])[0]
    message = f"the value is {value!r}, and the folder says {column}={expected[row].as_py()}"
    hint = "move the row to its folder, or leave the column out of the files"
    raise InputError(message, hint, code="partition", file=file, row=first + row, column=column)


def _kind(table: ParquetTable, column: str) -> Any:
    return table.schema.field(column).type if table.columns.count(column) == 1 else "there twice"
