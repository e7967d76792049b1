"""Prediction tables cut into slices by the values of their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from calibrant.exceptions import InputError
from calibrant.io.predictions import ITEMS_NOTE, Predictions
from calibrant.io.readers import TableReader
from calibrant.io.roles import blocks
from calibrant.io.slice_columns import SliceColumn, Slices
from calibrant.io.tables import Kind, one_column

MOST_BANDS = 1_000
_BANDED = re.compile(r"(?s)(.+):(\d{1,9})")


def sliced(predictions: Predictions, by: Sequence[str]) -> tuple[Predictions, Slices]:
    """Return a table whose batches tell the slice of each row, and what slices there are.

    Parameters
    ----------
    predictions
        Open table.
    by
        Names of columns; ``NAME:4`` cuts the numbers of a column into four bands.
    """
    reader = _reader(predictions)
    columns = slice_columns(reader, by)
    for column in columns:
        if column.bands is not None:
            kind: dict[str, Kind] = {column.name: "number"}
            column.cut(block.column(column.name) for block in blocks(reader.table, kind))
    slices = Slices(columns)
    return predictions.through(replace(reader, slices=slices), predictions.name), slices


def cluster_on_workers(predictions: Predictions, by: Sequence[str] = ()) -> str | None:
    """Return the column of clusters for workers: the named one, or items that repeat (in one slice)."""
    reader = _reader(predictions)
    item = reader.column_of("item")
    if predictions.clustered or item is None:
        return reader.column_of("cluster")
    from calibrant.io.engines import has_repeats  # of all engines, which files do not need

    predictions.items_repeat = has_repeats(reader.lazy, [item, *by])
    if not predictions.items_repeat:
        return None
    note = ITEMS_NOTE.format("some items")
    predictions.notes = tuple(dict.fromkeys([*predictions.notes, note]))
    return item


def _reader(predictions: Predictions) -> TableReader:
    """Return the reader of a table with named columns, or raise an error."""
    if predictions.table_reader is None:
        message, hint = "there are no columns to slice by", "slice a table that has them"
        raise InputError(message, hint, code="column-missing", file=predictions.name)
    return predictions.table_reader


def slice_columns(reader: TableReader, by: Sequence[str]) -> list[SliceColumn]:
    """Return the columns that make slices."""
    columns = [_slice_column(reader, name) for name in by]
    names = [column.name for column in columns]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        message, hint = "the column is named twice", "name each column once"
        raise InputError(message, hint, code="column", file=reader.table.name, column=twice)
    return columns


def _slice_column(reader: TableReader, asked: str) -> SliceColumn:
    """Return a column by its name, which may end in a number of bands."""
    table = reader.table
    name, bands = asked, None
    banded = _BANDED.fullmatch(asked)
    if asked not in table.columns and banded:  # else the whole name ends so
        name, bands = banded[1], int(banded[2])
    one_column(table.name, table.columns, name, "to cross columns, pass a list" if "," in name else "")
    if (meaning := reader.meaning_of(name)) is not None:
        message = f"the column is {meaning} and cannot define slices"
        hint = "slice by a property of the items; calibrant measure shows the error by score"
        raise InputError(message, hint, code="column", file=table.name, column=name)
    if bands is not None and not 2 <= bands <= MOST_BANDS:
        hint = f"give a number from 2 to {MOST_BANDS:,}"
        raise InputError(f"{bands} bands are asked for", hint, code="parameter", file=table.name, column=name)
    return SliceColumn(name, bands)
