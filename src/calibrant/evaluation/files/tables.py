"""Tables of an evaluation: labels by annotators, and results of systems by fold or item."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.evaluation.ratings import Ratings
from calibrant.exceptions import InputError
from calibrant.io.roles import FoundColumns, Role, open_table, read, read_table
from calibrant.io.tables import Table, listed
from calibrant.records.words import counted

__all__ = ["RatingTable", "ResultTable", "group_of_each", "rating_table", "read_ratings", "read_results"]


@dataclass(frozen=True)
class RatingTable:
    """Labels of items by annotators, read from a table.

    Attributes
    ----------
    name
        Name of the file in error messages.
    ratings
        The labels.
    clusters
        (items,) code of each item's cluster; None if the table has no clusters.
    groups
        Names of the clusters, by code.
    has_inclusion
        True if the table has a column ``inclusion_probability``, which agreement does not use.
    unlabeled
        Number of items of the table without any label, which are left out.
    """

    name: str
    ratings: Ratings
    clusters: Integers | None
    groups: tuple[str, ...] = ()
    has_inclusion: bool = False
    unlabeled: int = 0


@dataclass(frozen=True)
class ResultTable:
    """Scores of systems, one per fold or item.

    Attributes
    ----------
    name
        Name of the file in error messages.
    unit
        Unit of a score: ``fold`` or ``item``.
    systems
        Names, in order of appearance.
    units
        Name of each fold (with its repeat) or item, in order of appearance.
    scores
        (systems, units) float64.
    repeat
        (units,) code of each fold's repeat of cross-validation; None if the table has no repeats.
    clusters
        (units,) code of each item's cluster; None if the table has no clusters.
    note
        Items that were left out, since a system has no score for them; None: no item was.
    """

    name: str
    unit: str
    systems: tuple[str, ...]
    units: tuple[str, ...]
    scores: Floats
    repeat: Integers | None
    clusters: Integers | None
    note: str | None = None


def read_ratings(
    source: Any,
    *,
    item: str = "item",
    annotator: str = "annotator",
    label: str = "label",
    cluster: str | None = None,
    order: Sequence[str] | None = None,
    numbers: bool = False,
) -> RatingTable:
    """Read a table of labels with one row per label: item, annotator and label.

    Parameters
    ----------
    source
        Path of a ``.parquet``, ``.csv``, ``.tsv``, ``.jsonl`` or ``.arrow`` file (text also as ``.gz``),
        ``-`` for standard input, or a dataframe. A row with an empty label means that the annotator gave
        none.
    item, annotator, label
        Names of the columns.
    cluster
        Column of clusters; None: ``cluster``, if there is such a column.
    order
        Labels of the task, in order; any other label is an error. None: the labels that occur.
    numbers
        Take labels without ``order`` by their values: ``00`` and ``0`` are one label, not an error.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"item": [1, 1, 2], "annotator": ["ann", "bob", "ann"], "label": ["x", "y", "x"]})
    >>> read_ratings(table).ratings.annotators
    ('ann', 'bob')
    """
    how = "name it with `annotator`; if each annotator has a column, write one row per label, in pandas: "
    how += f"table.melt({item!r}, var_name={annotator!r}, value_name={label!r})"
    roles = (
        Role("item", column=item),
        Role("annotator", column=annotator, how=how),
        Role("label", column=label, gaps=True),
        Role("cluster", column=cluster, needed=False),
    )
    return rating_table(source, roles, order, numbers=numbers)


def rating_table(
    source: Any, roles: Sequence[Role], order: Sequence[str] | None, numbers: bool = False
) -> RatingTable:
    """Read labels by roles: item, annotator, label and, last, cluster.

    Examples
    --------
    >>> import pyarrow as pa
    >>> roles = [Role("item"), Role("annotator", column="by"), Role("label"), Role("text", needed=False)]
    >>> rating_table(pa.table({"item": [1], "by": ["ann"], "label": ["x"]}), roles, None).ratings.labels
    ('x',)
    """
    columns = read(source, roles)
    _, annotator, label = (role.part for role in roles[:3])
    columns.check_spelling(annotator, "write each annotator's name in one way")
    if order is None:
        if not numbers:
            columns.check_spelling(label, "write each label in one way, or list all labels in `labels`")
        columns.check_gaps(label, "leave the field of a missing label empty, or list all labels in `labels`")
    given = [columns.texts(role.part) for role in roles[:3]]
    if numbers and order is None:
        with suppress(ValueError):  # labels that are no numbers have no distance, which is an error later
            given[2] = given[2].astype(float)
    try:
        ratings = Ratings.from_table(*given, order=order)
    except InputError as error:
        raise columns.placed(error) from None
    part = roles[-1].part
    groups = group_of_each(columns, columns["item"], columns.names["item"], part)
    has_inclusion, unlabeled = "inclusion_probability" in columns.table.columns, 0
    if columns.left_out:  # rows without a label, which may be all rows of an item
        item = roles[0].part
        whole = read_table(columns.table, [replace(roles[0], gaps=True)])
        unlabeled = len(whole.names[item]) - len(columns.names[item])
    return RatingTable(
        columns.table.name, ratings, groups, columns.names.get(part, ()), has_inclusion, unlabeled
    )


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
    """Read a table of results with one row per score of a system on a fold or an item.

    Items without a score of some system are left out.

    Parameters
    ----------
    source
        As in `read_ratings`.
    system, score
        Names of the columns. Scores are numbers, or true and false, which count as 1 and 0.
    fold, item
        Column of the unit of a score; name one of the two. None for both: ``fold`` or ``item``, if the table
        has one of them.
    repeat, cluster
        Columns of the repeat of cross-validation and of clusters; None: ``repeat`` and ``cluster``, if there
        are such columns.

    Raises
    ------
    InputError
        The table cannot be used, a system lacks the score of a fold, or no item has scores of all systems;
        the error names the file, the row and the column.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"system": ["a", "a", "b", "b"], "fold": [1, 2, 1, 2], "score": [0.5, 0.6, 0.4, 0.5]}
    >>> read_results(pa.table(columns)).scores.tolist()
    [[0.5, 0.6], [0.4, 0.5]]
    """
    table = open_table(source)
    kind, unit = _unit_column(table, fold, item)
    roles = {
        "system": Role("system", column=system),
        "unit": Role(kind, column=unit),
        "score": Role("score", "finite", score),
        "repeat": Role("repeat", column=repeat, needed=False),
        "cluster": Role("cluster", column=cluster, needed=False),
    }
    try:
        columns = read_table(table, roles.values())
    except InputError as error:
        if error.code != "column-type" or error.column != score:
            raise
        roles["score"] = Role("score", "label", score)
        try:
            columns = read_table(table, roles.values())
        except InputError:
            raise error from None
    return _results(columns, kind)


def _results(columns: FoundColumns, kind: str) -> ResultTable:
    systems, units = columns.names["system"], columns.names[kind]
    key = columns[kind]
    if "repeat" in columns:
        key = columns["repeat"] * len(units) + key
    distinct, start, code = np.unique(key, return_index=True, return_inverse=True)
    order = np.argsort(start)
    column, start = np.argsort(order)[code], start[order]
    called = [units[number] for number in columns[kind][start]]
    if "repeat" in columns:
        repeats = columns.names["repeat"]
        of = columns["repeat"][start].tolist()
        called = [f"{name} of repeat {repeats[number]}" for name, number in zip(called, of, strict=True)]
    scores = np.full((len(systems), len(distinct)), np.nan)
    cell = columns["system"] * len(distinct) + column
    _, once, times = np.unique(cell, return_index=True, return_counts=True)
    if (times > 1).any():
        chosen = cell[once[times > 1].min()]
        row = int(np.flatnonzero(cell == chosen)[1])
        message = f"{systems[columns['system'][row]]} has two scores for {kind} {called[column[row]]}"
        repeated = "(if fold numbers start again in each repeat, add a column repeat)"
        hint = f"keep one score per system {'and item, such as their mean' if kind == 'item' else repeated}"
        raise columns.error(row, message, hint, "duplicate")
    scores[columns["system"], column] = columns["score"]
    missing = np.isnan(scores)
    common = ~missing.any(axis=0)
    if not common.all() and (kind == "fold" or not common.any()):
        one, other = np.argwhere(missing)[0]
        there = int(np.sum(~missing[one]))
        of = counted(len(called), kind)
        message = f"{systems[one]} has no score for {kind} {called[other]}: it has scores for {there} of {of}"
        hint = f"systems are compared on the same {kind}s; add the score, or leave the {kind} out for all"
        raise InputError(message, hint, code="missing-value", file=columns.table.name)
    clusters = group_of_each(columns, column, called, "cluster")
    clusters = None if clusters is None else clusters[common]
    repeat = columns["repeat"][start] if "repeat" in columns else None
    units, scores = tuple(compress(called, common)), scores[:, common]
    note = None if common.all() else _left_out(systems, called, missing, len(units))
    return ResultTable(columns.table.name, kind, systems, units, scores, repeat, clusters, note)


def _left_out(systems: Sequence[str], items: Sequence[str], missing: NDArray[np.bool_], kept: int) -> str:
    """Return a sentence that counts and names the items without a score of some system."""
    lacking = [
        f"{counted(int(row.sum()), 'item')} without a score of {name} ({listed([*compress(items, row)], 3)})"
        for name, row in zip(systems, missing, strict=True)
        if row.any()
    ]
    both = f"systems are compared on the {counted(kept, 'item')} that have scores of all"
    return f"{both}; left out are {' and '.join(lacking)}"


def _unit_column(table: Table, fold: str | None, item: str | None) -> tuple[str, str]:
    """Return the unit of the scores, ``fold`` or ``item``, and the column that names it."""
    given = [(kind, name) for kind, name in (("fold", fold), ("item", item)) if name is not None]
    there = given or [(kind, kind) for kind in ("fold", "item") if kind in table.columns]
    if len(there) == 1:
        return there[0]
    if there:
        message, code = "the table has a column of folds and a column of items", "column-ambiguous"
        hint = "name the column of the unit of a score (`fold` or `item`)"
    else:
        message, code = "the table has neither a column fold nor a column item", "column-missing"
        columns = listed(table.columns)
        hint = f"name the column of the unit of a score (`fold` or `item`); the columns are {columns}"
    raise InputError(message, hint, code=code, file=table.name)


def group_of_each(columns: FoundColumns, item: Integers, items: Sequence[str], part: str) -> Integers | None:
    """Return the group of each item (items,), as codes; None if no column has groups.

    Parameters
    ----------
    columns
        Columns of the table.
    item
        (n,) item of each row.
    items
        Names of the items, by code.
    part
        Role of the groups: ``cluster`` or ``document``.

    Raises
    ------
    InputError
        An item is in two groups. The error names the row.
    """
    if part not in columns:
        return None
    code = columns[part]
    group = np.full(len(items), -1, np.int64)
    group[item[::-1]] = code[::-1]
    wrong = np.flatnonzero(group[item] != code)
    if len(wrong):
        message = f"item {items[item[wrong[0]]]} is in two {part}s"
        raise columns.error(int(wrong[0]), message, "give it one", "cluster", part=part)
    return group
