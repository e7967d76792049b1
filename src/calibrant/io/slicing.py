"""Prediction tables cut into slices by the values of their columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy

from calibrant.exceptions import InputError
from calibrant.io.predictions import ITEMS_NOTE, Predictions
from calibrant.io.roles import blocks
from calibrant.io.slice_columns import SliceColumn, Slices
from calibrant.io.tables import Kind, Table, one_column

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
    table, columns = _table(predictions), slice_columns(predictions, by)
    for column in columns:
        if column.bands is not None:
            kind: dict[str, Kind] = {column.name: "number"}
            column.cut(block.column(column.name) for block in blocks(table, kind))
    new = copy(predictions)
    new.slices, new.log = Slices(columns), None
    return new, new.slices


def cluster_on_workers(predictions: Predictions, by: Sequence[str] = ()) -> str | None:
    """Return the column of clusters for workers: the named one, or items that repeat (in one slice)."""
    item = predictions.column_of("item")
    if predictions.clustered or item is None:
        return predictions.column_of("cluster")
    from calibrant.io.engines import has_repeats  # of all engines, which files do not need

    predictions.items_repeat = has_repeats(predictions.lazy, [item, *by])
    if not predictions.items_repeat:
        return None
    note = ITEMS_NOTE.format("some items")
    predictions.notes = tuple(dict.fromkeys([*predictions.notes, note]))
    return item


def _table(predictions: Predictions) -> Table:
    """Return a table with named columns, or raise an error."""
    if predictions.table is None or not predictions.columns:
        message, hint = "there are no columns to slice by", "slice a table that has them"
        raise InputError(message, hint, code="column-missing", file=predictions.name)
    return predictions.table


def slice_columns(predictions: Predictions, by: Sequence[str]) -> list[SliceColumn]:
    """Return the columns that make slices."""
    columns = [_slice_column(predictions, name) for name in by]
    names = [column.name for column in columns]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        message, hint = "the column is named twice", "name each column once"
        raise InputError(message, hint, code="column", file=predictions.name, column=twice)
    return columns


def _slice_column(predictions: Predictions, asked: str) -> SliceColumn:
    """The column asked for; a name that ends in a number of bands may also be the whole name."""
    table = _table(predictions)
    name, bands = asked, None
    banded = _BANDED.fullmatch(asked)
    if asked not in table.columns and banded:
        name, bands = banded[1], int(banded[2])
    one_column(table.name, table.columns, name, "to cross columns, pass a list" if "," in name else "")
    if (meaning := predictions.meaning_of(name)) is not None:
        message = f"the column is {meaning} and cannot define slices"
        hint = "slice by a property of the items; calibrant measure shows the error by score"
        raise InputError(message, hint, code="column", file=table.name, column=name)
    if bands is not None and not 2 <= bands <= MOST_BANDS:
        hint = f"give a number from 2 to {MOST_BANDS:,}"
        raise InputError(f"{bands} bands are asked for", hint, code="parameter", file=table.name, column=name)
    return SliceColumn(name, bands)
