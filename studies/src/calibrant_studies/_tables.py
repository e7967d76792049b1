"""Rows of a study as tables of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from calibrant.records import Column, Table
from calibrant.records.formats import Kind


def table_of(rows: Iterable[Mapping[str, Any]], *, name: str, caption: str = "") -> Table:
    """Make a table of a record's rows: keys are columns, ``x_low`` and ``x_high`` an interval.

    Values other than numbers, texts and None are only in the JSON.

    Examples
    --------
    >>> rows = [{"n": 3, "ece": 0.5, "ece_low": 0.25, "ece_high": 0.75, "parts": [1]}]
    >>> table = table_of(rows, name="errors")
    >>> [(column.name, column.kind) for column in table.columns], table.rows
    ([('n', 'count'), ('ece', 'number'), ('ece', 'interval')], ((3, 0.5, (0.25, 0.75)),))
    """
    rows = list(rows)
    keys = [key for key in dict.fromkeys(key for row in rows for key in row) if _plain(rows, key)]
    columns: list[Column] = []
    sources: list[tuple[str, ...]] = []
    for key in keys:
        stem = key.removesuffix("low").removesuffix("high")
        if key != stem and {f"{stem}low", f"{stem}high"} <= set(keys):
            if key.endswith("low"):
                columns.append(_interval(stem.removesuffix("_")))
                sources.append((f"{stem}low", f"{stem}high"))
            continue
        columns.append(Column(key, _spaced(key), _kind([row.get(key) for row in rows], columns)))
        sources.append((key,))
    body = tuple(tuple(_cell(row, source) for source in sources) for row in rows)
    return Table(name, tuple(columns), body, caption)


def _plain(rows: Sequence[Mapping[str, Any]], key: str) -> bool:
    return all(row.get(key) is None or isinstance(row[key], str | int | float) for row in rows)


def _spaced(key: str) -> str:
    return str(key).replace("_", " ")


def _interval(stem: str) -> Column:
    return Column(stem or "interval", f"{_spaced(stem)} interval".strip(), "interval")


def _kind(values: Sequence[Any], before: Sequence[Column]) -> Kind:
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present):
        return "count" if all(isinstance(value, int) for value in present) else "number"
    return "name" if all(column.kind == "name" for column in before) else "text"


def _cell(row: Mapping[str, Any], source: tuple[str, ...]) -> Any:
    if len(source) == 1:
        return _shown(row.get(source[0]))
    low, high = (row.get(name) for name in source)
    return None if low is None and high is None else (low, high)


def _shown(value: Any) -> Any:
    """A truth value in a word; all else as it is."""
    return ("yes" if value else "no") if isinstance(value, bool) else value
