"""Tables of an evaluation: labels by annotators, and results of systems by fold or item."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.evaluation.ratings import Ratings, text
from calibrant.exceptions import InputError
from calibrant.io.columns import Codes, Column, as_numpy
from calibrant.io.predictions import BATCH_ROWS, listed
from calibrant.io.tables import Kind, Table, one_column, one_role_each

__all__ = ["RatingTable", "ResultTable", "read_ratings", "read_results"]


@dataclass(frozen=True)
class RatingTable:
    """Labels of items by annotators, read from a table.

    Attributes
    ----------
    name
        The file, as errors name it.
    ratings
        The labels.
    clusters
        (items,) codes of what each item belongs to; None where the table does not say.
    """

    name: str
    ratings: Ratings
    clusters: Integers | None


@dataclass(frozen=True)
class ResultTable:
    """Scores of systems, one a fold or an item.

    Attributes
    ----------
    name
        The file, as errors name it.
    unit
        ``fold`` or ``item``: what a score is of.
    systems
        Names, in order of appearance.
    units
        Name of each fold (with its repeat) or item, in order of appearance.
    scores
        (systems, units) float64.
    repeat
        (units,) codes of the repeats of cross-validation; None where the table does not say.
    clusters
        (units,) codes of what each item belongs to; None where the table does not say.
    """

    name: str
    unit: str
    systems: tuple[str, ...]
    units: tuple[str, ...]
    scores: Floats
    repeat: Integers | None
    clusters: Integers | None


def read_ratings(
    source: Any,
    *,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    cluster: str | None = None,
    order: Sequence[str] | None = None,
) -> RatingTable:
    """Read a table of labels: one row a label, with the item, who gave it, and the label.

    Parameters
    ----------
    source
        Path of a ``.parquet``, ``.csv``, ``.tsv``, ``.jsonl`` or ``.arrow`` file (text also as ``.gz``),
        ``-`` for standard input, or a dataframe. A row without a label says that there is none.
    item, annotator, label
        Names of the columns.
    cluster
        Column of what items belong to; None: ``cluster``, if there is one.
    order
        The labels of the task, in order; others are refused. None: those that occur.

    Raises
    ------
    InputError
        Naming the file, the row and the column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"item": [1, 1, 2], "annotator": ["ann", "bob", "ann"], "label": ["x", "y", "x"]})
    >>> read_ratings(table).ratings.annotators
    ('ann', 'bob')
    """
    table = _open(source)
    names = {"item": item, "annotator": annotator, "label": label}
    cluster = cluster or ("cluster" if "cluster" in table.columns else None)
    kinds: dict[str, Kind] = dict.fromkeys([*names.values(), *([cluster] if cluster else [])], "name")
    _check_columns(table, names | ({"cluster": cluster} if cluster else {}))
    codes = {column: Codes() for column in kinds}
    parts: dict[str, list[NDArray[Any]]] = {column: [] for column in kinds}
    rows: list[NDArray[Any]] = []
    first = table.first_row
    for batch in table.batches(kinds, BATCH_ROWS):
        read = {column: Column(batch.column(column), table.name, column, first) for column in kinds}
        given = np.flatnonzero(as_numpy(read[label].values.is_valid()))
        for column, values in read.items():
            if column != label:
                values.complete()
            kept = values if len(given) == batch.num_rows else values.take(given)
            parts[column].append(kept.codes(codes[column]))
        rows.append(first + given)
        first += batch.num_rows
    if not sum(len(part) for part in rows):
        raise InputError("there are no labels", "write a row a label", code="empty", file=table.name)
    row = np.concatenate(rows)
    columns = {column: _named(np.concatenate(parts[column]), codes[column]) for column in kinds}
    try:
        ratings = Ratings.from_table(columns[item], columns[annotator], columns[label], order=order)
    except InputError as error:
        raise _placed(error, table.name, row) from None
    clusters = None
    if cluster is not None:
        code = np.concatenate(parts[cluster])
        clusters = _one_each(columns[item], code, ratings.items, table.name, row, cluster)
    return RatingTable(table.name, ratings, clusters)


def read_results(
    source: Any,
    *,
    system: str = "system",
    fold: str | None = None,
    item: str | None = None,
    score: str = "score",
    repeat: str | None = None,
    cluster: str | None = None,
) -> ResultTable:
    """Read a table of results: one row a score of a system on a fold or an item.

    Parameters
    ----------
    source
        As in `read_ratings`.
    system, score
        Names of the columns.
    fold, item
        Column of what a score is of: name one of the two. Neither: ``fold`` or ``item``, whichever there is.
    repeat, cluster
        Columns of the repeat of cross-validation, and of what items belong to; None: those names, if there.

    Raises
    ------
    InputError
        Naming the file, the row and the column; or a system lacks a score that another has.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"system": ["a", "a", "b", "b"], "fold": [1, 2, 1, 2], "score": [0.5, 0.6, 0.4, 0.5]}
    >>> read_results(pa.table(columns)).scores.tolist()
    [[0.5, 0.6], [0.4, 0.5]]
    """
    table = _open(source)
    kind, unit = _unit_column(table, fold, item)
    repeat = repeat or ("repeat" if "repeat" in table.columns else None)
    cluster = cluster or ("cluster" if "cluster" in table.columns else None)
    optional = {part: name for part, name in (("repeat", repeat), ("cluster", cluster)) if name is not None}
    _check_columns(table, {"system": system, kind: unit, "score": score, **optional})
    kinds: dict[str, Kind] = dict.fromkeys([system, unit, *optional.values()], "name")
    codes = {column: Codes() for column in kinds}
    parts: dict[str, list[NDArray[Any]]] = {column: [] for column in [*kinds, score]}
    first = table.first_row
    for batch in table.batches(kinds | {score: "number"}, BATCH_ROWS):
        for column in kinds:
            values = Column(batch.column(column), table.name, column, first)
            parts[column].append(values.codes(codes[column]))
        parts[score].append(Column(batch.column(score), table.name, score, first).finite())
        first += batch.num_rows
    if first == table.first_row:
        raise InputError("there are no rows", "write a row a score", code="empty", file=table.name)
    rows = {column: np.concatenate(part) for column, part in parts.items()}
    names = {column: [text(name) for name in code.names] for column, code in codes.items()}
    return _results(table, rows, names, system, kind, unit, score, repeat, cluster)


def _results(
    table: Table,
    rows: dict[str, NDArray[Any]],
    names: dict[str, list[str]],
    system: str,
    kind: str,
    unit: str,
    score: str,
    repeat: str | None,
    cluster: str | None,
) -> ResultTable:
    """Put the scores side by side, a row a system."""
    key = rows[unit]
    if repeat is not None:
        key = rows[repeat] * len(names[unit]) + key
    distinct, start, code = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(start)
    place = np.empty(len(distinct), np.int64)
    place[order] = np.arange(len(distinct))
    column, start = place[code], start[order]
    called = [
        names[unit][rows[unit][row]]
        if repeat is None
        else f"{names[unit][rows[unit][row]]} of repeat {names[repeat][rows[repeat][row]]}"
        for row in start.tolist()
    ]
    scores = np.full((len(names[system]), len(distinct)), np.nan)
    cell = rows[system] * len(distinct) + column
    _, once, times = np.unique(cell, return_index=True, return_counts=True)
    if (times > 1).any():
        chosen = cell[once[times > 1].min()]
        row = int(np.flatnonzero(cell == chosen)[1])
        message = f"{names[system][rows[system][row]]} has two scores for {kind} {called[column[row]]}"
        hint = "keep one score a system (if folds count anew in each repeat, add a column repeat)"
        raise InputError(message, hint, code="duplicate", file=table.name, row=table.first_row + row)
    scores[rows[system], column] = rows[score]
    missing = np.argwhere(np.isnan(scores))
    if len(missing):
        one, other = missing[0]
        there = int(np.sum(~np.isnan(scores[one])))
        message = f"{names[system][one]} has no score for {kind} {called[other]} ({there} of {len(called)})"
        hint = f"systems are compared on the same {kind}s: add the score, or leave the {kind} out for all"
        raise InputError(message, hint, code="missing-value", file=table.name)
    clusters = None
    if cluster is not None:
        own = np.array(called, object)[column]
        row_number = np.arange(len(column)) + table.first_row
        clusters = _one_each(own, rows[cluster], tuple(called), table.name, row_number, cluster)
    repeats = None if repeat is None else rows[repeat][start]
    return ResultTable(table.name, kind, tuple(names[system]), tuple(called), scores, repeats, clusters)


def _open(source: Any) -> Table:
    if isinstance(source, (str, os.PathLike)):
        from calibrant.io.table_formats import open_table

        return open_table(source)
    from calibrant.io.frames import FrameTable

    return FrameTable(source)


def _check_columns(table: Table, names: dict[str, str]) -> None:
    for part, name in names.items():
        one_column(table.name, table.columns, name, f"name it with `{part}`")
    one_role_each(table.name, names)


def _unit_column(table: Table, fold: str | None, item: str | None) -> tuple[str, str]:
    """Say whether scores are of folds or items, and which column names them."""
    given = [(kind, name) for kind, name in (("fold", fold), ("item", item)) if name is not None]
    there = given or [(kind, kind) for kind in ("fold", "item") if kind in table.columns]
    if len(there) == 1:
        return there[0]
    if there:
        message, code = "there are columns of folds and of items", "column-ambiguous"
        hint = "say which of them a score is of: name a column (`fold` or `item`)"
    else:
        message, code = "there is neither a column fold nor a column item", "column-missing"
        columns = listed(table.columns)
        hint = f"name the column of what a score is of (`fold` or `item`); the columns are {columns}"
    raise InputError(message, hint, code=code, file=table.name)


def _named(code: NDArray[Any], codes: Codes) -> NDArray[Any]:
    named: NDArray[Any] = np.array([text(name) for name in codes.names], object)[code]
    return named


def _placed(error: InputError, file: str, row: NDArray[Any]) -> InputError:
    """Say in which row of the file an error is."""
    return error.at(file=file, row=None if error.row is None else int(row[error.row]))


def _one_each(
    item: NDArray[Any],
    cluster: NDArray[Any],
    items: tuple[str, ...],
    file: str,
    row: NDArray[Any],
    column: str,
) -> Integers:
    """Return the cluster (items,) that all rows of an item have."""
    place = {name: code for code, name in enumerate(items)}
    code = np.array([place[name] for name in item.tolist()], np.int64)
    found = np.full(len(items), -1, np.int64)
    found[code[::-1]] = cluster[::-1]
    wrong = np.flatnonzero(found[code] != cluster)
    if len(wrong):
        message, hint = f"item {item[wrong[0]]} is in two clusters", "give it one"
        raise InputError(message, hint, code="cluster", file=file, row=int(row[wrong[0]]), column=column)
    return found
