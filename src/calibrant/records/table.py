"""A result as a table: columns that know what they hold, rows, caption and notes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from calibrant.exceptions import InputError
from calibrant.records import formats
from calibrant.records.formats import ASIDE, Cell, Column, Kind, Rows, Undefined
from calibrant.records.words import counted, percent

__all__ = [
    "Cell",
    "Column",
    "Table",
    "Undefined",
    "between",
    "confusion_table",
    "fields_table",
    "interval_heading",
    "known",
    "named",
    "settings_clause",
    "table_of",
    "warnings_of",
]

MOST_LABELS = 12  # of a confusion matrix
NAMED = 3  # cells that a note names; of a row with more, the row alone


@dataclass(frozen=True)
class Table:
    r"""What a result shows in print.

    Attributes
    ----------
    name
        By which it is asked for, where a result has several tables.
    columns, rows
        What it holds: of an interval the two ends; None where there is nothing to say; `Undefined` where a
        number could not be had.
    caption
        What the numbers are and how they were made: method, level, n, seed.
    notes
        Sentences that belong below the table.
    title
        Heading in a terminal, where the caption is too long.
    most
        Rows that a terminal shows; None for all.
    ranked
        If a terminal cannot show all rows, show the first ones, not some from everywhere.

    Raises
    ------
    ValueError
        If a row has another number of cells than there are columns, or a number is not finite.

    Examples
    --------
    >>> columns = Column("tag", "tag", "name"), Column("ece", "ECE"), Column("ece", "limits", "interval")
    >>> table = Table("errors", columns, (("a_b", 0.0213, (0.0101, 0.0325)), ("c", 0.5, Undefined("few"))))
    >>> print(table.to_markdown())
    | tag  |    ECE |           limits |
    | :--- | -----: | ---------------: |
    | a\_b | 0.0213 | [0.0101, 0.0325] |
    | c    | 0.5000 |                - |
    <BLANKLINE>
    Undefined (c: limits): few
    <BLANKLINE>
    >>> table.to_csv().splitlines()[1]
    'a_b,0.0213,0.0101,0.0325'
    """

    name: str
    columns: tuple[Column, ...]
    rows: Rows
    caption: str = ""
    notes: tuple[str, ...] = ()
    title: str = ""
    most: int | None = None
    ranked: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"a row of table {self.name!r} has {len(row)} cells: {row}")
            for cell in row:
                ends = cell if isinstance(cell, tuple) else (cell,)
                if any(isinstance(end, float) and not math.isfinite(end) for end in ends):
                    raise ValueError(f"table {self.name!r} holds {cell!r}; undefined values need a reason")

    def rounded(self, digits: int) -> Table:
        """Return the table with at most so many decimals in each column."""
        columns = tuple(replace(column, digits=min(column.digits, digits)) for column in self.columns)
        return replace(self, columns=columns)

    def to_text(self, *, meanings: bool = False) -> str:
        """Return the table for a terminal; with ``meanings``, the sentence on each number below it."""
        head = [self.title or self.caption] if self.title or self.caption else []
        notes = [f"  {note}" for note in self.all_notes(meanings=meanings)]
        lines = formats.text(self.columns, self.rows, self.most, ranked=self.ranked)
        return "\n".join([*head, *lines, *notes]) + "\n"

    def to_markdown(self, *, meanings: bool = False) -> str:
        """Return the table in Markdown, with its caption above and its notes below."""
        return formats.markdown(self.columns, self.rows, self.caption, self.all_notes(meanings=meanings))

    def to_latex(self, *, tabular: bool = False, meanings: bool = False) -> str:
        """Return the table in LaTeX, for the package booktabs.

        Parameters
        ----------
        tabular
            Only the tabular, to stand in a table environment of your own; caption and notes are then
            comments.
        meanings
            Also the sentence on each number, as a note.
        """
        notes = self.all_notes(meanings=meanings)
        return formats.latex(self.columns, self.rows, self.caption, notes, tabular=tabular)

    def to_html(self) -> str:
        """Return the table in HTML; meanings appear when the pointer is over a heading."""
        return formats.html(self.columns, self.rows, self.caption, self.all_notes())

    def to_csv(self) -> str:
        """Return the table as CSV (RFC 4180), with all digits.

        An empty cell is an undefined one. A text that a spreadsheet would take for a formula begins with an
        apostrophe.
        """
        return formats.as_csv(self.columns, self.rows)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one dictionary per row, under the names of the columns in CSV."""
        return formats.as_rows(self.columns, self.rows)

    def all_notes(self, *, meanings: bool = False) -> tuple[str, ...]:
        """Return the notes, and why cells are undefined: one note per reason."""
        found: dict[str, dict[str, dict[str, None]]] = {}
        for row in self.rows:
            parts = (cell for cell, at in zip(row, self.columns, strict=True) if at.kind == "name")
            about = ", ".join(str(part) for part in parts if isinstance(part, str | int))
            for cell, column in zip(row, self.columns, strict=True):
                if isinstance(cell, Undefined) and column.kind not in ASIDE:
                    here = column.heading if column.name != "value" else ""
                    found.setdefault(cell.reason, {}).setdefault(about, {})[here] = None
        undefined = []
        for reason, rows in found.items():
            places = [
                ": ".join(filter(None, (about, here)))
                for about, cells in rows.items()
                for here in (cells if len(cells) <= NAMED or not about else [""])
            ]
            more = f" and {counted(len(places) - NAMED, 'cell')} more" if len(places) > NAMED else ""
            undefined.append(f"Undefined ({'; '.join(places[:NAMED])}{more}): {reason}")
        return (*self.notes, *undefined, *(self.meanings() if meanings else ()))

    def meanings(self) -> Iterable[str]:
        """Return the sentence on each row, or on each column."""
        kinds = [column.kind for column in self.columns]
        if "meaning" not in kinds:
            own = {each.name: each for each in reversed(self.columns) if each.meaning}
            yield from (f"{each.heading}: {each.meaning}" for each in reversed(own.values()))
            return
        yield from (f"{row[kinds.index('name')]}: {row[kinds.index('meaning')]}" for row in self.rows)


def known(value: Cell, reasons: Mapping[str, str], *names: str) -> Cell:
    """Return a value, or why there is none: the reason of the first of these names that has one.

    Examples
    --------
    >>> known(0.5, {}), known(None, {}), known(None, {"low": "one cluster"}, "interval", "low")
    (0.5, None, Undefined(reason='one cluster'))
    """
    if value is not None:
        return value
    return next((Undefined(reasons[name]) for name in names if name in reasons), None)


def between(low: float | None, high: float | None, reasons: Mapping[str, str], *names: str) -> Cell:
    """Return an interval, or why there is none.

    Examples
    --------
    >>> between(0.1, 0.2, {}), between(None, None, {"low": "one cluster"}, "low")
    ((0.1, 0.2), Undefined(reason='one cluster'))
    """
    return known(None if low is None and high is None else (low, high), reasons, *names)


def interval_heading(level: float) -> str:
    """Return what stands above intervals.

    Examples
    --------
    >>> interval_heading(0.95)
    '95 % interval'
    """
    return f"{percent(level)} interval"


def settings_clause(record: object) -> str:
    """Return how a record was made, of its fields that say so, to follow a caption.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> settings_clause(SimpleNamespace(n=1200, level=0.95, samples=None, seed=3))
    ': n = 1,200; 95 % intervals; seed 3'
    """
    words: dict[str, Callable[[Any], str]] = {
        "n": lambda n: f"n = {n:,}",
        "clusters": lambda number: counted(number, "cluster"),
        "level": lambda level: f"{interval_heading(level)}s",
        "samples": lambda number: counted(number, "sample"),
        "seed": lambda seed: f"seed {seed}",
    }
    said = [(word, getattr(record, name, None)) for name, word in words.items()]
    clauses = "; ".join(word(value) for word, value in said if value is not None)
    return f": {clauses}" if clauses else ""


def warnings_of(reasons: Mapping[str, str]) -> tuple[str, ...]:
    """Return what of a record's reasons is a warning, not why a field is empty."""
    return tuple(dict.fromkeys(text for name, text in reasons.items() if name.endswith("warning")))


def named(tables: Sequence[Table], name: str | None) -> Table:
    """Return the table of that name, the first for None.

    The heading of a table, and a part of a dotted name, name it too; of several tables the first is meant.
    Case does not count, and neither does the sign between words.

    Examples
    --------
    >>> tables = [Table("numbers", (), ()), Table("by_pair", (), (), title="Pairs")]
    >>> [named([*tables, Table("scores.by_class", (), ())], name).name for name in ("pairs", "By-Class")]
    ['by_pair', 'scores.by_class']
    """
    if name is None:
        return tables[0]
    wanted = _key(name)
    ways: tuple[Callable[[Table], list[str]], ...] = (
        lambda table: [_key(table.name)],
        lambda table: [_key(table.title)],
        lambda table: _key(table.name).split("."),
    )
    for names_of in ways:
        for table in tables:
            if wanted in names_of(table):
                return table
    known_names = ", ".join(dict.fromkeys(table.name for table in tables))
    raise InputError(f"this result has no table {name!r}", f"it has {known_names}", code="parameter")


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.casefold())


def confusion_table(labels: Sequence[str], counts: Sequence[Sequence[int]], title: str) -> tuple[Table, ...]:
    """Return the counts of pairs of labels as a table, if the labels are few enough to be read.

    Examples
    --------
    >>> print(confusion_table(["x", "y"], [[3, 0], [1, 2]], "Counts")[0].to_text(), end="")
    Counts
         x  y
      x  3  0
      y  1  2
    """
    if not 0 < len(labels) <= MOST_LABELS:
        return ()
    columns = Column("label", "", "name"), *(Column(label, label, "count") for label in labels)
    lines = zip(labels, counts, strict=True)
    return (Table("confusion", columns, tuple((label, *line) for label, line in lines), title),)


def table_of(rows: Iterable[Mapping[str, Any]], *, name: str, caption: str = "") -> Table:
    """Make a table of a record's rows: keys are columns, ``x_low`` and ``x_high`` an interval.

    What is no number, text or None stands in JSON only; reasons become those of empty cells.

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


def fields_table(record: Mapping[str, Any], *, name: str, caption: str = "") -> Table:
    """Make a table of one record: a row a field, those inside another with its name before theirs.

    Examples
    --------
    >>> fields_table({"n": 3, "ece": {"value": 0.5}}, name="errors").rows
    (('n', 3), ('ece value', 0.5))
    """
    columns = (Column("field", "field", "name"), Column("value", "value"))
    return Table(name, columns, tuple(_fields(record, "")), caption)


def _fields(record: Mapping[str, Any], before: str) -> Iterable[tuple[Cell, ...]]:
    reasons = record.get("reasons", {})
    for key, value in record.items():
        if isinstance(value, Mapping):
            if key != "reasons":
                yield from _fields(value, f"{before}{_spaced(key)} ")
        elif value is None or isinstance(value, str | int | float):
            yield (f"{before}{_spaced(key)}", known(_shown(value), reasons, key))
        elif isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            yield (f"{before}{_spaced(key)}", ", ".join(value))


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


def _cell(row: Mapping[str, Any], source: tuple[str, ...]) -> Cell:
    reasons = row.get("reasons") or {}
    if len(source) == 1:
        return known(_shown(row.get(source[0])), reasons, *source)
    return between(row.get(source[0]), row.get(source[1]), reasons, *source)


def _shown(value: Any) -> Any:
    """A truth value in a word; all else as it is."""
    return ("yes" if value else "no") if isinstance(value, bool) else value
