"""Records, which verbs return: one declaration per number, one renderer per format."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from importlib import import_module
from itertools import chain, compress, islice
from textwrap import wrap
from typing import Annotated, Any, ClassVar, Protocol, Self, get_origin

import msgspec
import numpy as np

from calibrant.exceptions import InputError
from calibrant.records import words
from calibrant.records.fields import Field, Interval, Library, fields_of, in_full, numbers_of
from calibrant.records.formats import Cell, Column, PValue, Signed, Table, Undefined, interval_heading, named
from calibrant.records.words import counted, decimal, first_line, interval, lower, percent, setting

SCHEMA_VERSION = 1
MOST_ROWS, ALL_ROWS = 30, 40  # of a main table shown alone: 30 rows, or all of at most 40
WIDTH = 100  # of a summary
MOST_NAMED = 3  # rows that share a warning
# Cells of a number and its interval that a row shows.
PLACES: dict[Interval, tuple[bool, bool]] = {True: (True, True), False: (True, False), "only": (False, True)}
OPTIONAL = ("low", "high", "standard_error", "reason", "warning")  # fields of a quantity, left out if None


def _array(kind: Any, value: Any) -> Any:
    """Return the array that `plain` turned into a list; None becomes NaN."""
    if get_origin(kind) is not np.ndarray or not isinstance(value, list):
        raise NotImplementedError
    return np.array(value, np.float64)


def plain(value: Any) -> Any:
    """Return records, arrays and NumPy numbers as types of JSON; raise an error for NaN and infinity.

    Undefined values are None with a reason; a NaN is a bug in calibrant.

    Examples
    --------
    >>> plain({"n": np.int64(3), "means": np.array([0.5, 1.0])})
    {'n': 3, 'means': [0.5, 1.0]}
    """
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, np.ndarray):
        return [plain(item) for item in value.tolist()]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a result contains {value!r}; undefined values must be None with a reason")
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return value


class Printed:
    """Base of all results: writes every format from `to_dict` and `to_tables`."""

    __slots__ = ()
    main_table: ClassVar[str] = ""  # name of the table that is shown alone; empty for the first

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values, undefined ones as None."""
        raise NotImplementedError

    def to_tables(self) -> tuple[Table, ...]:
        """Return the record's tables, the main table first."""
        raise NotImplementedError

    def to_json(self, *, indent: int | None = None) -> str:
        """Return the record as JSON, its schema version first."""
        record = {"schema_version": SCHEMA_VERSION, **self.to_dict()}
        return json.dumps(record, indent=indent, allow_nan=False, ensure_ascii=False)

    def to_text(self, *, full: bool = True, meanings: bool = False, most: int | None = None) -> str:
        """Return the record's tables for a terminal; with ``meanings``, also the sentence on each number.

        Tables that a terminal shows in part have ``most`` rows, if that is given. Without ``full``, there is
        only the main table, and a summary in words.
        """
        tables = self.to_tables() if full else self.main_tables()
        once, said, lines = self._said_once(), set[str](), []
        for table in tables:
            # A row's warning has the row's name before it.
            texts = [next((one for one in once if note.endswith(f": {one}")), note) for note in table.notes]
            notes = tuple(note for note, text in zip(table.notes, texts, strict=True) if text not in said)
            said |= once & {*texts}
            few = MOST_ROWS if len(table.rows) > ALL_ROWS and not full else None
            rows = most if most and table.most else table.most or few
            lines.append(replace(table, notes=notes, most=rows).to_text(meanings=meanings))
        summary = "" if full else self.summary()
        return "\n".join([*lines, *(["\n".join(wrap(summary, WIDTH)) + "\n"] if summary else [])])

    def main_tables(self) -> tuple[Table, ...]:
        """Return the table that is shown alone, by default the first, with the notes on the whole record."""
        first, *others = self.to_tables()
        main = next((table for table in others if table.name == self.main_table), first)
        notes, once = list(main.notes), self._said_once()
        for note in first.notes if main is not first else ():
            text = next((text for text in once if note.endswith(text)), note)
            notes += [] if any(own.endswith(text) for own in notes) else [note]
        return (replace(main, notes=tuple(notes)),)

    def summary(self) -> str:
        """Return one or two sentences on the main numbers; an empty text if the main table says it all."""
        return ""

    def _said_once(self) -> set[str]:
        """Return notes that a terminal shows only at the first table that has them."""
        return set()

    def to_markdown(self, table: str | None = None, *, meanings: bool = False) -> str:
        """Return the record's tables in Markdown, or only the named table."""
        return "\n".join(one.to_markdown(meanings=meanings) for one in self._chosen(table))

    def to_latex(self, table: str | None = None, *, tabular: bool = False, meanings: bool = False) -> str:
        """Return the record's tables in LaTeX for the package booktabs, or only the named table.

        With ``tabular``, each is a tabular alone, for your table environment.
        """
        return "\n".join(one.to_latex(tabular=tabular, meanings=meanings) for one in self._chosen(table))

    def to_csv(self, table: str | None = None) -> str:
        """Return the record's first table, or the named table, as CSV with all digits."""
        return named(self.to_tables(), table).to_csv()

    def to_frame(self, table: str | None = None, *, library: Library | None = None) -> Any:
        """Return the record's first table, or the named table, as a dataframe with the columns of its CSV.

        Parameters
        ----------
        table
            Name of the table.
        library
            ``pandas``, ``polars`` or ``pyarrow``. None: the library of the measured dataframe, else the
            library that the session has imported, else PyArrow.

        Raises
        ------
        InputError
            If there is no such table or library.
        """
        from calibrant.records.formats import frame_of, session_library

        return frame_of(named(self.to_tables(), table), library or self._library() or session_library())

    def _library(self) -> Library | None:
        """Return the library of the measured dataframe."""
        return None

    def to_html(self) -> str:
        """Return the record's tables in HTML."""
        return "".join(table.to_html() for table in self.to_tables())

    def _repr_html_(self) -> str:
        """Return the summary and the main table for a notebook, under its title."""
        from html import escape

        summary = self.summary()
        shown = (replace(table, caption=table.title or table.caption) for table in self.main_tables())
        lead = f"<p>{escape(summary)}</p>\n" if summary else ""
        return lead + "".join(table.to_html() for table in shown)

    def _chosen(self, table: str | None) -> tuple[Table, ...]:
        tables = self.to_tables()
        return tables if table is None else (named(tables, table),)


class Display(Protocol):
    """A figure of a record, which a notebook shows; ``ax_`` and ``figure_`` are matplotlib's."""

    ax_: Any
    figure_: Any


class Record(msgspec.Struct, Printed, frozen=True, forbid_unknown_fields=True):
    """Base of the records: frozen, with fields that are declared by `calibrant.records.number` and others.

    Examples
    --------
    >>> from calibrant.evaluation import DisputedItem
    >>> disputed = DisputedItem("sentence 7", 0.5, {"ann": "x", "bob": "y"})
    >>> print(disputed.to_text(), end="")
    An item on which annotators differ: sentence 7
      number      value
    Agreement
      Agreement  0.5000
    >>> disputed
    DisputedItem(item='sentence 7', agreement=0.5000)
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain Python values, undefined ones as None; hidden fields are left out."""
        return {field.name: plain(getattr(self, field.name)) for field in fields_of(type(self))}

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Self:
        """Return the record of a dictionary from `to_dict` or from a JSON file.

        Raises
        ------
        InputError
            If a field is missing, unknown or of another type; the error names its place.
        """
        try:
            fields = {key: value[key] for key in value if key != "schema_version"}
            return msgspec.convert(fields, cls, dec_hook=_array)
        except msgspec.ValidationError as error:
            message = f"this is not a record of type {cls.__name__}: {error}"
            hint = "give the output of `to_dict`, or the JSON that a command prints"
            raise InputError(message, hint, code="input") from None

    def remarks(self) -> Iterable[tuple[str, str]]:
        """Return remarks, each with the name of its field (``""`` for the record)."""
        return ()

    def called(self) -> str | None:
        """Return what the record is called among others, if no field has its name."""
        return None

    def warnings(self) -> tuple[str, ...]:
        """Return the warnings of the record, its parts and its quantities: fields that end in ``warning``."""
        labels_of: dict[str, dict[str, None]] = {}  # labels, each once
        for label, text in _warnings(self):
            labels_of.setdefault(text, {})[label] = None
        labels = {text: "" if "" in about else f"{', '.join(about)}: " for text, about in labels_of.items()}
        return tuple(f"{label}{text}" for text, label in labels.items())

    def settings(self, *, parts: bool = True) -> dict[str, str]:
        """Return the label and value of each headline setting, and of those that all its rows share.

        With ``parts``, include those of inner records that are shown in full.
        """
        shown = (field for field in numbers_of(type(self)) if field.role == "setting" and field.headline)
        said = {field.label: worded(field.of(self)[0], field.unit) for field in shown}
        for field in fields_of(type(self)):
            value = getattr(self, field.name)
            if field.role == "rows" and value:
                inside = [record.settings().items() for record in value]
                said |= dict(pair for pair in inside[0] if all(pair in other for other in inside))
            elif parts and in_full(field) and value is not None:
                for label, text in value.settings().items():
                    same = said.get(label, text) == text
                    said[label if same else f"{field.label}: {lower(label)}"] = text
        return {label: text for label, text in said.items() if text}

    def to_text(self, *, full: bool = True, meanings: bool = False, most: int | None = None) -> str:
        """Return the tables for a terminal, and the settings of the record; see `Printed.to_text`."""
        tables = super().to_text(full=full, meanings=meanings, most=most)
        said = self.settings() if full else {}
        if not said:
            return tables
        width = max(map(len, said))
        lines = (f"  {label:<{width}}  {value}\n" for label, value in said.items())
        return f"{tables}\nHow\n{''.join(lines)}"

    def _said_once(self) -> set[str]:
        """Return every warning in the record, those of its rows too."""
        values = [(field.name, getattr(self, field.name)) for field in fields_of(type(self))]
        inside = [one for _, value in values for one in (value if isinstance(value, tuple) else [value])]
        own = {value for name, value in values if name.endswith("warning") and isinstance(value, str)}
        return own.union(*(part._said_once() for part in inside if isinstance(part, Record)))

    def to_metrics(self) -> dict[str, float]:
        """Return all numbers as floats by name, for MLflow, Weights & Biases or a test; see `metrics_of`."""
        numbers: dict[str, float] = import_module("calibrant.records.metrics").metrics_of(self)
        return numbers

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the first table as dictionaries."""
        return self.to_tables()[0].to_rows()

    def to_tables(self) -> tuple[Table, ...]:
        """Return the record's numbers as a table, and one table for each field of rows, in their order.

        A single row that contains rows is also shown in full.
        """
        level = getattr(self, "level", None)
        tables: list[Table] = []
        for field in fields_of(type(self)):
            if field.role == "rows":
                records: tuple[Record, ...] = getattr(self, field.name)
                tables += [self._rows_table(field, records, level)] if records else []
                if len(records) == 1 and any(inner.role == "rows" for inner in fields_of(type(records[0]))):
                    tables += records[0].to_tables()
            elif in_full(field):
                tables += self._inner_tables(field)
            elif _has_numbers(field) and all(table.name != "numbers" for table in tables):
                tables += self._numbers_table(level)
        if not tables:  # there are no rows: only their headings
            empty = (field for field in fields_of(type(self)) if field.role == "rows")
            tables = [self._rows_table(field, (), level) for field in islice(empty, 1)]
        own = self._notes()  # which are of all rows, and need not be told of each
        if tables and not any({*own} <= {*table.notes} for table in tables):  # a row's numbers lack them
            first = (
                note for note in tables[0].notes if not note.endswith(tuple(f": {text}" for text in own))
            )
            tables[0] = replace(tables[0], notes=(*first, *own))
        return (*tables, *self.more_tables())

    def more_tables(self) -> tuple[Table, ...]:
        """Return tables that no field declares, such as a confusion matrix."""
        return ()

    def __str__(self) -> str:
        return self.to_text(full=False).removesuffix("\n")

    def __repr__(self) -> str:
        own = numbers_of(type(self))
        numbers = [field for field in own if field.role == "number"]
        shown = [field for field in own if field.role == "name"]
        shown += [field for field in numbers if field.headline] or numbers
        values = ((field.name, field.of(self)[0]) for field in shown)
        said = [f"{name}={_short(value)}" for name, value in values if value is not None]
        rows = (field.name for field in fields_of(type(self)) if field.role == "rows")
        said += [f"{name}=<{len(getattr(self, name))}>" for name in rows]
        return f"{type(self).__name__}({', '.join(said)})"

    def _caption(self) -> str:
        names = (field for field in fields_of(type(self)) if field.role == "name")
        said = {field.label: worded(getattr(self, field.name)) for field in names}
        said |= self.settings(parts=False)
        clauses = "; ".join(f"{lower(label)} {text}" for label, text in said.items() if text)
        title = _title(type(self))
        return f"{title}: {clauses}" if clauses else title

    def _numbers_table(self, level: float | None) -> Iterator[Table]:
        """Return a table with one row per number; none if there is no number to show."""
        remarks, rows = list(self.remarks()), []
        for field in numbers_of(type(self)):
            value, reason = field.of(self)
            if field.role != "number" or (value is None and reason is None):
                continue
            estimate, interval = cells(value, reason, field)
            why = next((cell.reason for cell in (estimate, interval) if isinstance(cell, Undefined)), None)
            remark = "; ".join(text for name, text in remarks if name == field.name) or None
            about = field.group, field.name, field.label
            rows.append((*about, estimate, interval, remark, why, field.meaning))
        groups = list(dict.fromkeys(row[0] for row in rows))
        rows.sort(key=lambda row: groups.index(row[0]))
        columns = (
            Column("group", "", "group"),
            Column("field", "", "key"),
            Column("number", "number", "name"),
            Column("value", "value"),
            Column("", interval_heading(level) if level else "interval", "interval"),
            Column("remark", "remark", "text"),
            Column("reason", "", "reason"),
            Column("meaning", "", "meaning"),
        )
        own = (field for field in fields_of(type(self)) if field.role == "name")
        said = ", ".join(worded(getattr(self, field.name)) for field in own)
        empty = {place for place in (4, 5) if all(row[place] is None for row in rows)}
        kept = [place for place in range(len(columns)) if place not in empty]
        if rows:
            yield Table(
                "numbers",
                tuple(columns[place] for place in kept),
                tuple(tuple(row[place] for place in kept) for row in rows),
                self._caption(),
                self._notes(),
                f"{_title(type(self))}{f': {said}' if said else ''}",
            )

    def _notes(self) -> tuple[str, ...]:
        """Return the caption of the first table, about the whole record."""
        return (*(text for name, text in self.remarks() if not name), *self.warnings())

    def _inner_tables(self, field: Field) -> Iterator[Table]:
        """Return the tables of an inner record, under its name."""
        inner = getattr(self, field.name)
        tables = () if inner is None else inner.to_tables()
        for table in tables[:1] if field.brief else tables:
            title = f"{field.label}: {lower(table.title)}" if table.title else ""
            yield replace(table, name=f"{field.name}.{table.name}", title=title)

    def _rows_table(self, field: Field, records: Sequence[Record], level: float | None) -> Table:
        caption, before = self._caption(), fields_of(type(self))
        before = before[: before.index(field)]
        main = not any(column.role == "number" or column.role == "rows" for column in before)
        remarks = (text for name, text in self.remarks() if name == field.name)
        return Table(
            field.name,
            *columns_of(records, level, field.kind),
            f"{field.label}. {caption}" if main else field.meaning.removesuffix("."),
            (*remarks, *(warnings_of_rows(records, self) if records else ())),
            field.label,
            field.most,
            field.ranked,
        )


def columns_of(
    records: Sequence[Record], level: float | None = None, kind: type[msgspec.Struct] | None = None
) -> tuple[tuple[Column, ...], tuple[tuple[Cell, ...], ...]]:
    """Return columns and rows of records of one kind, one row per record; ``kind`` is for an empty list.

    The columns are the names, then the headline numbers, or all numbers and settings if none is a headline.
    Parts and quantities that no record has get no column.
    """
    own = numbers_of(type(records[0]) if records else kind or Record)
    headline = [field for field in own if field.role == "number" and field.headline]
    names = [key for field in own if field.role == "name" for key in _keys(field, records)]
    shown = names + (headline or [field for field in own if field.role != "name"])
    if records:
        shown = [field for field in shown if any(field.in_(record) for record in records)]
        level = getattr(records[0], "level", level)
    columns: list[Column] = []
    for field in shown:
        alone = field.interval == "only"
        if not alone:
            columns.append(_column(field, [field.of(record)[0] for record in records]))
        if field.interval:
            heading = interval_heading(level) if level else "interval"
            heading = field.short if alone else heading
            meaning = f"Interval of: {field.meaning}"
            columns.append(Column(field.name, heading, "interval", field.digits, meaning))
    rows = []
    for record in records:
        row: list[Cell] = []
        for field in shown:
            row += compress(cells(*field.of(record), field), PLACES[field.interval])
        rows.append(tuple(row))
    return tuple(columns), tuple(rows)


def _keys(field: Field, records: Sequence[Record]) -> list[Field]:
    """Yield a field, or one field per key if it is a mapping in each record."""
    values = [field.of(record)[0] for record in records]
    if not values or not all(isinstance(value, Mapping) for value in values):
        return [field]
    keys = dict.fromkeys(key for value in values for key in value)
    return [replace(field, path=(*field.path, key), label=key.replace("_", " ")) for key in keys]


class Quantity(Record, frozen=True):
    """A number with its interval, or the reason why it is undefined.

    Examples
    --------
    >>> print(Quantity(0.043, 0.035, 0.051), Quantity(None, reason="one item"))
    0.0430 [0.0350, 0.0510] -
    >>> Quantity(None, reason="one item").to_dict()
    {'estimate': None, 'reason': 'one item'}
    >>> f"{Quantity(0.043, 0.035, 0.051):.2f}", float(Quantity(0.043))
    ('0.04 [0.04, 0.05]', 0.043)
    """

    estimate: Annotated[float | None, msgspec.Meta(description="The number; null if it is undefined.")]
    low: Annotated[float | None, msgspec.Meta(description="Lower end of the interval, if any.")] = None
    high: Annotated[float | None, msgspec.Meta(description="Upper end of the interval, if any.")] = None
    standard_error: Annotated[
        float | None, msgspec.Meta(description="Standard error of the estimate, if there is one.")
    ] = None
    reason: Annotated[
        str | None, msgspec.Meta(description="Reason why the number, or its interval, is undefined.")
    ] = None
    warning: Annotated[
        str | None, msgspec.Meta(description="Condition that limits how far the interval can be trusted.")
    ] = None

    def to_dict(self) -> dict[str, Any]:
        """Return the quantity as plain Python values, without missing fields."""
        record = super().to_dict()
        return {key: value for key, value in record.items() if value is not None or key not in OPTIONAL}

    def to_tables(self) -> tuple[Table, ...]:
        """Return the number and its interval as one row."""
        field = Field(("estimate",), "Estimate", "", "number")
        columns = Column("estimate", "estimate"), Column("", "interval", "interval")
        return (Table("quantity", columns, (cells(self, None, field),), _title(type(self))),)

    def __str__(self) -> str:
        ends = "" if self.low is None and self.high is None else f" {interval(self.low, self.high)}"
        return decimal(self.estimate) + ends

    def __format__(self, spec: str) -> str:
        if not spec or self.estimate is None:
            return str(self)
        ends = "" if self.low is None or self.high is None else f" [{self.low:{spec}}, {self.high:{spec}}]"
        return f"{self.estimate:{spec}}{ends}"

    def __float__(self) -> float:
        if self.estimate is None:
            raise TypeError(f"the number is undefined: {self.reason}")
        return float(self.estimate)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.to_dict().items())})"


def cells(value: Any, reason: str | None, field: Field) -> tuple[Cell, Cell]:
    """Return a value and its interval as cells of a table."""
    if field.role == "name":
        return worded(value, "seed"), None
    if isinstance(value, Quantity):
        interval: Cell = None if value.low is None and value.high is None else (value.low, value.high)
        if interval is None and value.estimate is not None and value.reason is not None:
            interval = Undefined(value.reason)
        return _number(value.estimate, value.reason, field), interval
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return _number(value, reason, field), None
    return worded(value), None


def _number(value: float | None, reason: str | None, field: Field) -> Cell:
    if value is None:
        return None if reason is None else Undefined(reason)
    if field.unit == "p-value":
        return PValue(value)
    return Signed(value) if field.signed else value


def worded(value: Any, unit: str | None = None) -> str:
    """Return a setting as text; an empty text for None.

    Examples
    --------
    >>> worded(None), worded(True), worded(1200), worded(("a", "b")), worded({"x": 0.5})
    ('', 'yes', '1,200', 'a, b', 'x: 0.5')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {worded(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(worded, value))
    if isinstance(value, int):
        return f"{value}" if unit == "seed" else f"{value:,}"
    if unit == "percent":
        return percent(value)
    return setting(value) if isinstance(value, float) else str(value)


def _has_numbers(field: Field) -> bool:
    if field.role != "part" or field.kind is None:
        return field.role == "number"
    return any(inner.role == "number" for inner in numbers_of(field.kind))


def _title(kind: type[Record]) -> str:
    return first_line(kind.__doc__) or kind.__name__


def _short(value: Any) -> str:
    if isinstance(value, Quantity):
        return str(value)
    return decimal(value) if isinstance(value, float) else repr(value)


def _column(field: Field, values: Sequence[Any]) -> Column:
    """Return the column of a field: text, counts or numbers, by its values."""
    heading = field.short or lower(field.label)
    if field.role == "name":
        return Column(field.name, heading, "key" if field.code else "name", meaning=field.meaning)
    present = [value for value in values if value is not None]
    if field.unit == "p-value":
        return Column(field.name, heading, "p-value", meaning=field.meaning)
    whole = present and all(isinstance(value, int) and not isinstance(value, bool) for value in present)
    if whole or field.unit == "count":
        return Column(field.name, heading, "count", meaning=field.meaning)
    numeric = not any(
        isinstance(value, bool) or not isinstance(value, int | float | Quantity) for value in present
    )
    return Column(field.name, heading, "number" if numeric else "text", field.digits, field.meaning)


def _warnings(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the warnings in a record, those of quantities with their labels; rows keep their warnings."""
    for field in fields_of(type(record)):
        value = getattr(record, field.name)
        if field.name.endswith("warning") and isinstance(value, str):
            yield "", value
        elif isinstance(value, Record):
            label = field.label if field.role in ("number", "plain") else ""
            yield from ((label, text) for _, text in _warnings(value))


def warnings_of_rows(records: Sequence[Record], whole: Record) -> Iterator[str]:
    """Return the warnings of the rows of the ``whole`` record, with the names of the rows.

    A warning of a quantity is left out if the rows' table does not show the quantity, or if a warning of a
    quantity of the whole record differs in its numbers alone. If more than `MOST_NAMED` rows have warnings
    that differ in their numbers alone, these are one warning with the ranges of the numbers.
    """
    alike_texts: dict[str, dict[str, list[str]]] = {}  # the texts by the names of the row
    own = numbers_of(type(records[0]))
    values = (getattr(whole, field.name) for field in fields_of(type(whole)))
    told = {words.alike(value.warning or "") for value in values if isinstance(value, Quantity)}
    names = [field for field in own if field.role == "name"]
    shown = {field.label for field in own if field.headline} or {field.label for field in own}
    for place, record in enumerate(records):
        about = ", ".join(filter(None, (worded(field.of(record)[0]) for field in names))) or f"{place}"
        for label, text in _warnings(record):
            if not label or (label in shown and words.alike(text) not in told):
                alike_texts.setdefault(words.alike(text), {}).setdefault(about, []).append(text)
    for texts_of in alike_texts.values():
        texts = {name: words.merged(same) for name, same in texts_of.items()}
        if names and len(records) > 1 and len(texts) > MOST_NAMED:
            named = "; ".join(islice(texts, MOST_NAMED))
            rows = counted(len(records), lower(names[0].label) if len(names) == 1 else "row")
            yield f"{len(texts)} of {rows} ({named}, ...): {words.merged([*chain(*texts_of.values())])}"
            continue
        for text in dict.fromkeys(texts.values()):
            about = "; ".join(name for name, same in texts.items() if same == text)
            yield f"{about}: {text}" if names and len(records) > 1 else text


def schema(kind: type[Record], *, command: str = "") -> dict[str, Any]:
    """Return the JSON Schema of the output of a record's ``to_json``.

    Parameters
    ----------
    kind
        The record.
    command
        Command that prints the record, for the schema's title; without one, the title is the first line of
        the record's docstring.

    Examples
    --------
    >>> from calibrant.records import Quantity
    >>> schema(Quantity)["properties"]["reason"]["type"]
    ['string', 'null']
    """
    (_,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}", schema_hook=_unseen)
    known = _inside(kind)
    shown = {name: _shown(_known(node, known), known[name]) for name, node in parts.items() if name in known}
    top = shown.pop(kind.__name__)
    version = {"const": SCHEMA_VERSION, "description": "Version of this format."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **top,
        "title": f"calibrant {command} --json" if command else first_line(kind.__doc__),
        "properties": {"schema_version": version, **top["properties"]},
        "required": ["schema_version", *top["required"]],
        "$defs": shown,
    }


def _unseen(kind: Any) -> dict[str, Any]:
    """Return the record without hidden fields, whose types JSON may not know."""
    return {"type": "object"}


def _shown(node: Any, kind: type[Record]) -> dict[str, Any]:
    """Return a record's schema without hidden fields; `to_dict` always writes all other fields."""
    properties = {
        name: _typed(inner)
        for name, inner in node.get("properties", {}).items()
        if inner.get("role") != "hidden"
    }
    left_out = OPTIONAL if issubclass(kind, Quantity) else ()
    required = [name for name in properties if name not in left_out]
    text = first_line(kind.__doc__)
    return {**node, "description": f"{text}.", "properties": properties, "required": required}


def _known(node: Any, known: Container[str]) -> Any:
    """Return a schema in which records without declared fields are any object."""
    if isinstance(node, list):
        return [_known(item, known) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node and node["$ref"].rpartition("/")[2] not in known:
        return {**{key: node[key] for key in node if key != "$ref"}, "type": "object"}
    return {key: _known(value, known) for key, value in node.items()}


def _typed(node: dict[str, Any]) -> dict[str, Any]:
    """Return a field's schema without its default, and with alternative types as one list."""
    node = {key: value for key, value in node.items() if key != "default"}
    kinds = node.get("anyOf", ())
    if kinds and all(set(kind) == {"type"} for kind in kinds):
        del node["anyOf"]
        node["type"] = [kind["type"] for kind in kinds]
    return node


def _inside(kind: type[Record]) -> dict[str, type[Record]]:
    """Return the record and every record in its fields, by name."""
    kinds, waiting = {kind.__name__: kind}, [kind]
    while waiting:
        for field in fields_of(waiting.pop()):
            if field.kind is not None and issubclass(field.kind, Record) and field.kind.__name__ not in kinds:
                kinds[field.kind.__name__] = field.kind
                waiting.append(field.kind)
    return kinds
