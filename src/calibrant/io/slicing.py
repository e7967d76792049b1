"""Prediction tables cut into slices by the values of their columns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from calibrant.exceptions import InputError
from calibrant.io.columns import Column
from calibrant.io.frames import FrameTable
from calibrant.io.predictions import BATCH_ROWS, Predictions
from calibrant.io.readers import Reader, TableReader
from calibrant.io.slice_columns import MOST_SLICES, Keys, SliceColumn, Slices
from calibrant.io.tables import Table, one_column
from calibrant.metrics.tally import Tally

MOST_BANDS = 1_000
_BANDED = re.compile(r"(?s)(.+):(\d{1,9})")


def sliced(predictions: Predictions, by: Sequence[str]) -> tuple[Predictions, Slices]:
    """Return a table whose batches tell the slice of each row, and what slices there are.

    Parameters
    ----------
    predictions
        A table that is open.
    by
        Names of columns; ``NAME:4`` cuts the numbers of a column into four bands.

    Raises
    ------
    InputError
        A column is not there, is named twice, or holds what the model says or should say.
    """
    reader = _reader(predictions)
    found = _slice_columns(reader, by)
    for column in found:
        if column.bands is not None:
            column.cut(_each(reader.table, column.name))
    slices = Slices(found)
    return predictions.through(lambda _: replace(reader, slices=slices), predictions.name), slices


def tallies_in_engine(predictions: Predictions, by: Sequence[str]) -> dict[Keys, Tally] | None:
    """Tally the slices of a lazy frame inside its engine; None where its rows have to come here.

    That is so for frames with classes and for bands, and for what is no lazy frame.

    Raises
    ------
    InputError
        As `sliced`, and as `calibrant.io.engines.engine_tallies`.
    """
    reader = _reader(predictions)
    frame = reader.table.lazy if isinstance(reader.table, FrameTable) else None
    if frame is None or predictions.has_classes or reader.columns.score is None:
        return None
    if any(column.bands is not None for column in _slice_columns(reader, by)):
        return None
    from calibrant.io.engines import engine_tallies

    parts = reader.columns
    found = engine_tallies(
        frame,
        by,
        score=reader.columns.score,
        label=parts.label,
        weight=parts.weight,
        cluster=parts.cluster,
        name=predictions.name,
    )
    if len(found) > MOST_SLICES:
        message, hint = (
            f"there are {len(found):,} slices",
            f"choose columns that make at most {MOST_SLICES:,}",
        )
        raise InputError(message, hint, code="parameter", file=predictions.name)
    return found


def _reader(predictions: Predictions) -> TableReader:
    """What reads a table with named columns, or raise."""
    found: list[Reader] = []

    def look(reader: Reader) -> Reader:
        found.append(reader)
        return reader

    predictions.through(look, predictions.name)
    reader = found[0]
    if not isinstance(reader, TableReader):
        message, hint = "there are no columns to slice by", "slice a table that has them"
        raise InputError(message, hint, code="column-missing", file=predictions.name)
    return reader


def _slice_columns(reader: TableReader, by: Sequence[str]) -> list[SliceColumn]:
    parts = reader.columns
    taken = {parts.score: "the score", parts.label: "the label"}
    taken |= dict.fromkeys(parts.class_scores, "a score")
    found = [_slice_column(reader.table, name, taken) for name in by]
    names = [column.name for column in found]
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        message, hint = "the column is named twice", "name each column once"
        raise InputError(message, hint, code="column", file=reader.table.name, column=twice)
    return found


def _slice_column(table: Table, asked: str, taken: dict[str | None, str]) -> SliceColumn:
    """The column asked for; a name that ends in a number of bands may also be the whole name."""
    name, bands = asked, None
    banded = _BANDED.fullmatch(asked)
    if asked not in table.columns and banded:
        name, bands = banded[1], int(banded[2])
    one_column(table.name, table.columns, name)
    if name in taken:
        message = f"the column is {taken[name]}, which makes no slices"
        hint = "calibrant measure shows the error by score; slice by what is known of an item beforehand"
        raise InputError(message, hint, code="column", file=table.name, column=name)
    if bands is not None and not 2 <= bands <= MOST_BANDS:
        hint = f"give a number from 2 to {MOST_BANDS:,}"
        raise InputError(f"{bands} bands", hint, code="parameter", file=table.name, column=name)
    return SliceColumn(name, bands)


def _each(table: Table, name: str) -> Iterator[Column]:
    """The column, batch by batch."""
    first = table.first_row
    for batch in table.batches({name: "number"}, BATCH_ROWS):
        yield Column(batch.column(name), table.name, name, first)
        first += batch.num_rows
