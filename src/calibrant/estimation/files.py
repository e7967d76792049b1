"""Tables of scores, and of labels for some of their rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io.columns import Column
from calibrant.io.tables import Kind, Table, one_column, one_role_each

ROWS = 1 << 20


@dataclass(frozen=True)
class ScoredDocuments:
    """Documents with a score, and what places them in time.

    Attributes
    ----------
    score
        (N,) probabilities.
    item
        (N,) different names.
    period, date
        (N,) texts, if the table has such a column.
    name, first_row
        Of the file, and the number of its first row.
    """

    score: NDArray[np.float64]
    item: list[str]
    period: list[str] | None
    date: list[str] | None
    name: str
    first_row: int


@dataclass(frozen=True)
class DocumentTimes:
    """What places the rows of a table of labelled scores in time.

    Attributes
    ----------
    period, date
        (n,) texts, if the table has such a column.
    name, first_row
        Of the file, and the number of its first row.
    """

    period: list[str] | None
    date: list[str] | None
    name: str
    first_row: int


@dataclass(frozen=True)
class DocumentLabels:
    """Labels of some documents.

    Attributes
    ----------
    item
        (n,) names.
    label
        (n,) 0 or 1.
    chance
        (n,) the known chance of being labelled, if the table has it.
    cluster
        (n,) what is dependent, if the table has it.
    name, first_row
        Of the file, and the number of its first row.
    """

    item: list[str]
    label: NDArray[Any]
    chance: NDArray[np.float64] | None
    cluster: list[str] | None
    name: str
    first_row: int


def read_scored(source: Any, *, score: str = "score", item: str = "item") -> ScoredDocuments:
    """Read a table with a score and a name a document, and a period or a date where it has one.

    Parameters
    ----------
    source
        A file (``.parquet .csv .tsv .jsonl .arrow``, text also as ``.gz``), or a dataframe of any library.
    score, item
        Names of columns. ``period`` and ``date`` are read where they are.

    Raises
    ------
    InputError
        If a column or a value is missing, a score is no probability, or a name stands there twice.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_scored(pa.table({"item": [7, 8], "score": [0.2, 0.9]})).item
    ['7', '8']
    """
    table = _open(source)
    one_role_each(table.name, {"score": score, "item": item})
    found = _read(table, {score: "number", item: "name"}, {"period": "name", "date": "name"})
    items = _texts(found[item])
    _different(items, found[item])
    return ScoredDocuments(
        found[score].scores().astype(np.float64),
        items,
        _texts(found["period"]) if "period" in found else None,
        _texts(found["date"]) if "date" in found else None,
        table.name,
        table.first_row,
    )


def read_times(source: Any) -> DocumentTimes:
    """Read the column ``period`` or ``date`` of a table of scores.

    Parameters
    ----------
    source
        As in `read_scored`; it has a column ``score``.

    Raises
    ------
    InputError
        If a value is missing.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_times(pa.table({"score": [0.5], "period": [2001]})).period
    ['2001']
    """
    table = _open(source)
    found = _read(table, {"score": "number"}, {"period": "name", "date": "name"})
    period, date = (_texts(found[name]) if name in found else None for name in ("period", "date"))
    return DocumentTimes(period, date, table.name, table.first_row)


def read_document_labels(source: Any, *, label: str = "label", item: str = "item") -> DocumentLabels:
    """Read a table with a label and a name a document.

    Parameters
    ----------
    source
        As in `read_scored`.
    label, item
        Names of columns. ``chance`` (of being labelled) and ``cluster`` are read where they are.

    Raises
    ------
    InputError
        If a column or a value is missing, a label is not 0 or 1, or a name stands there twice.

    Examples
    --------
    >>> import pyarrow as pa
    >>> read_document_labels(pa.table({"item": ["a"], "label": [1]})).label.tolist()
    [1]
    """
    table = _open(source)
    one_role_each(table.name, {"label": label, "item": item})
    found = _read(table, {label: "label", item: "name"}, {"chance": "number", "cluster": "name"})
    items = _texts(found[item])
    _different(items, found[item])
    return DocumentLabels(
        items,
        found[label].labels(),
        found["chance"].scores().astype(np.float64) if "chance" in found else None,
        _texts(found["cluster"]) if "cluster" in found else None,
        table.name,
        table.first_row,
    )


def _open(source: Any) -> Table:
    import os

    if isinstance(source, (str, os.PathLike)):
        from calibrant.io.table_formats import open_table

        return open_table(source)
    from calibrant.io.frames import FrameTable

    return FrameTable(source)


def _read(table: Table, needed: Mapping[str, Kind], optional: Mapping[str, Kind]) -> dict[str, Column]:
    """Whole columns; those that are optional if they are there."""
    import pyarrow as pa

    for name in needed:
        one_column(table.name, table.columns, name, "name it")
    wanted = {**needed, **{name: kind for name, kind in optional.items() if name in table.columns}}
    for name in wanted:
        one_column(table.name, table.columns, name)
    batches = list(table.batches(wanted, ROWS))
    if not sum(batch.num_rows for batch in batches):
        raise InputError("the table has no rows", "write at least one", code="empty", file=table.name)
    whole = pa.Table.from_batches(batches).combine_chunks()
    return {
        name: Column(whole.column(name).combine_chunks(), table.name, name, table.first_row)
        for name in wanted
    }


def _texts(column: Column) -> list[str]:
    """Values as text, so that 7 in one table is "7" in another."""
    column.complete()
    values = column.values.to_pylist()
    for row, value in enumerate(values):
        if value is None or value != value or value == "":
            raise column.error(row, "the value is missing", "fill it in or drop the row", "missing-value")
    return [str(value) for value in values]


def _different(items: list[str], column: Column) -> None:
    seen: set[str] = set()
    for row, name in enumerate(items):
        if name in seen:
            hint = "give each document one row"
            raise column.error(row, f"{name!r:.60} stands there twice", hint, "parameter")
        seen.add(name)
