"""Columns of tables by what they are for: a verb lists roles, and one function finds, checks and reads them.

A `Role` says what a column must hold and how it is called. `find` looks for the columns, `blocks` reads them
batch by batch, and `read` reads them whole.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers, shown
from calibrant.exceptions import InputError
from calibrant.io.columns import MISSING, Codes, Column, class_name
from calibrant.io.table_formats import format_of, locate, parquet_parts
from calibrant.io.tables import Kind, Table, one_column

if TYPE_CHECKING:
    import pyarrow as pa

What = Literal["score", "percent", "finite", "label", "position", "name"]
KINDS: dict[What, Kind] = {
    "score": "number",
    "percent": "label",
    "finite": "number",
    "label": "label",
    "position": "number",
    "name": "name",
}
# Groups may be the column of each other, and of units:
GROUPS = {"cluster", "second cluster", "document", "period", "date"}
UNITS = {"item", "fold", "class"}
NAMED = {"annotator", "cluster", "document", "item", "system"}  # whose names are never a word such as NA
ROWS = 1 << 18  # of a batch
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad"  # spaces of no width, joiners, soft hyphens


@dataclass(frozen=True)
class Role:
    """Role of a column of a table.

    Attributes
    ----------
    part
        Name of the role, which is also the parameter that names the column.
    what
        Kind of values: a ``score``, a ``percent`` (also as text), a ``finite`` number, a ``label`` 0 or 1,
        the ``position`` of a class, or a ``name``.
    column
        Requested name of the column; None for the name of the part.
    needed
        True if a table must have the column even if it is not requested.
    once
        True if each name is in at most one row.
    gaps
        True if rows without a value are left out; otherwise they are errors.
    how
        Hint for a missing column; None to suggest the parameter.

    Examples
    --------
    >>> Role("label", "label", "gold").name
    'gold'
    """

    part: str
    what: What = "name"
    column: str | None = None
    needed: bool = True
    once: bool = False
    gaps: bool = False
    how: str | None = None

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.part if self.column is None else self.column

    def checked(self, column: Column, codes: Codes) -> NDArray[Any]:
        """Return float64 numbers, bool labels, or codes of names; raise an error for an invalid value."""
        if self.what == "name":
            return column.codes(codes, words=self.part in NAMED)
        if self.what == "label":
            return column.labels().astype(np.bool_, copy=False)
        return column.scores().astype(np.float64, copy=False) if self.what == "score" else column.finite()


def open_table(source: Any) -> Table:
    """Open what has rows and named columns.

    Parameters
    ----------
    source
        A file, ``-`` for standard input, a folder or a pattern of Parquet files, or a dataframe.

    Examples
    --------
    >>> import pyarrow as pa
    >>> open_table(pa.table({"score": [0.5]})).columns
    ('score',)
    """
    if not isinstance(source, (str, os.PathLike)):
        from calibrant.io.frames import FrameTable

        return FrameTable(source)
    parts = parquet_parts(source)
    if parts is not None:
        from calibrant.io._parts import PartsTable

        return PartsTable(parts, os.fspath(source))
    origin = locate(source)
    form = format_of(origin.format)
    if form.reader is None:
        hint = "write CSV, TSV, JSON lines or Parquet"
        raise InputError("an .npz archive is no table of names", hint, code="file-kind", file=origin.name)
    return form.table(origin)


def find(table: Table, roles: Iterable[Role]) -> dict[str, Role]:
    """Return the roles that columns of a table have, by part.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = open_table(pa.table({"score": [0.5], "gold": [1]}))
    >>> roles = Role("score", "score"), Role("label", "label", "gold"), Role("item", needed=False)
    >>> list(find(table, roles))
    ['score', 'label']
    """
    asked = list(roles)
    by_part: dict[str, Role] = {}
    parts: dict[str, str] = {}
    for role in asked:
        if not (role.needed or role.column is not None or role.name in table.columns):
            continue
        how = f"name it with `{role.part}`" if role.how is None else role.how
        one_column(table.name, table.columns, role.name, how, others=[other.name for other in asked])
        by_part[role.part] = role
    for part, role in by_part.items():
        first = parts.setdefault(role.name, part)
        both = {first, part}
        if first != part and not (both & GROUPS and both <= GROUPS | UNITS):
            message = f"column {role.name!r} is used for both {first} and {part}"
            hint = role.how or f"name another column with `{part}`"
            raise InputError(message, hint, code="column-ambiguous", file=table.name)
    return by_part


def kinds_of(roles: Iterable[Role]) -> dict[str, Kind]:
    """Return the types as which the columns of roles are read."""
    kinds: dict[str, Kind] = {}
    for role in roles:
        kinds.setdefault(role.name, KINDS[role.what])
    return kinds


class Block(NamedTuple):
    """Some rows of a table: values, their file, the number of the first row there.

    Attributes
    ----------
    places
        (n,) places of the rows after the first; None if they follow each other.
    """

    rows: pa.RecordBatch
    file: str
    first: int
    places: Integers | None = None

    def column(self, name: str) -> Column:
        """Return one column of the rows, with its place."""
        return Column(self.rows.column(name), self.file, name, self.first, self.places)

    def take(self, rows: Integers) -> Block:
        """Return some of the rows."""
        import pyarrow as pa

        names = self.rows.schema.names
        # As columns, since Arrow takes no rows of views and runs.
        values = [self.column(name).take(rows).values for name in names]
        places = rows if self.places is None else self.places[rows]
        return Block(pa.RecordBatch.from_arrays(values, names), self.file, self.first, places)


def blocks(
    table: Table, kinds: Mapping[str, Kind], size: int = ROWS, *, may_be_empty: bool = False
) -> Iterator[Block]:
    """Read some columns batch by batch.

    Parameters
    ----------
    table
        The table.
    kinds
        As what each column is read.
    size
        Rows of a batch, about.
    may_be_empty
        True if the table may have no rows.

    Examples
    --------
    >>> import pyarrow as pa
    >>> (block,) = blocks(open_table(pa.table({"score": [0.5, 0.2]})), {"score": "number"})
    >>> block.column("score").scores(), block.first
    (array([0.5, 0.2]), 0)
    """
    first = table.first_row
    for rows in table.batches(kinds, size):
        yield Block(rows, *place_of(table, first))
        first += rows.num_rows
    if first == table.first_row and not may_be_empty:
        raise InputError("there are no rows", "write at least one", code="empty", file=table.name)


def place_of(table: Table, row: int) -> tuple[str, int]:
    """Return the file of a row, and its number there; a table of many files knows the file."""
    place = getattr(table, "place", None)
    return (table.name, row) if place is None else place(row)


@dataclass(frozen=True)
class FoundColumns:
    """Whole columns, checked.

    Attributes
    ----------
    table
        Where they are from.
    roles
        Which parts are there.
    rows
        (n,) numbers of the rows, as errors count them.
    left_out
        How many rows have a gap where that is allowed.
    values
        By part: (n,) float64 numbers, bool labels, or int64 codes of names in order of appearance.
    names
        By part: the names, as text, by code.
    """

    table: Table
    roles: Mapping[str, Role]
    rows: Integers
    left_out: int
    values: Mapping[str, NDArray[Any]]
    names: Mapping[str, tuple[str, ...]]

    def __contains__(self, part: str) -> bool:
        return part in self.values

    def __getitem__(self, part: str) -> NDArray[Any]:
        return self.values[part]

    def get(self, part: str) -> NDArray[Any] | None:
        """Return the values of a part; None if the table has no such column."""
        return self.values.get(part)

    def texts(self, part: str) -> NDArray[Any]:
        """Return the names of a part as an array (n,) of texts."""
        texts: NDArray[Any] = np.array(self.names[part], object)[self[part]]
        return texts

    def error(self, row: int, message: str, hint: str, code: str, *, part: str | None = None) -> InputError:
        """Make an error about a value, by its place among the rows."""
        return self.placed(InputError(message, hint, code=code, row=row), part)

    def check_spelling(self, part: str, hint: str) -> None:
        """Raise if two names of a part look alike: but for capitals and spaces, or as 1, 01 and 1.0 do."""
        seen: dict[str, tuple[str, str]] = {}
        for code, name in enumerate(self.names[part]):
            visible = "".join(sign for sign in unicodedata.normalize("NFKC", name) if sign not in INVISIBLE)
            text = " ".join(visible.split()).casefold()
            number = re.sub(r"^\+?(-?)0*(\d+)(\.0*)?$", r"\1\2", text)
            number = "0" if number == "-0" else number
            other, written = seen.setdefault(number, (name, text))
            if other != name:
                how = "look alike" if text == written else "are the same number"
                if name.strip().casefold() == other.strip().casefold():
                    how = "differ in spaces or capitals only"
                self._refuse(
                    code, part, f"{shown(name)} and {shown(other)} {how}", hint, code="name-spelling"
                )

    def check_gaps(self, part: str, hint: str) -> None:
        """Raise if a name of a part is a word for a missing value."""
        for code, name in enumerate(self.names[part]):
            if name.strip().casefold() in MISSING:
                self._refuse(code, part, f"{shown(name)} may be a missing value", hint, code="missing-value")

    def _refuse(self, name: int, part: str, message: str, hint: str, *, code: str) -> NoReturn:
        raise self.error(int(np.flatnonzero(self[part] == name)[0]), message, hint, code, part=part)

    def placed(self, error: InputError, part: str | None = None) -> InputError:
        """Add the place in the file to an error of code that only knew the values."""
        column = error.column if part is None else self.roles[part].name
        if error.row is None:
            return error.at(file=self.table.name, column=column)
        file, row = place_of(self.table, int(self.rows[error.row]))
        return error.at(file=file, row=row, column=column)


@contextmanager
def from_file(table: Table, column: str | None = None) -> Iterator[None]:
    """Name the file, and its column, in errors of code that only knew the values.

    Parameters
    ----------
    table
        Where the values are from.
    column
        Name of the column that such errors are about.

    Examples
    --------
    >>> import pyarrow as pa
    >>> try:
    ...     with from_file(open_table(pa.table({"label": [1, 1]})), "label"):
    ...         raise InputError("all labels are 1", code="undefined")
    ... except InputError as error:
    ...     print(error)
    the dataframe, column label: all labels are 1
    """
    try:
        yield
    except InputError as error:
        if error.file is None and error.row is None and error.code != "parameter":
            error.at(file=table.name, column=column)
        raise


def read(source: Any, roles: Iterable[Role]) -> FoundColumns:
    """Read whole columns of a table.

    Parameters
    ----------
    source
        As in `open_table`.
    roles
        Roles of the columns.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"item": [7, 8, 9], "label": [1, None, 0]})
    >>> roles = Role("item", once=True), Role("label", "label", gaps=True), Role("date", needed=False)
    >>> columns = read(table, roles)
    >>> columns["label"].tolist(), columns.names["item"], columns.left_out, "date" in columns
    ([True, False], ('7', '9'), 1, False)
    """
    return read_table(open_table(source), roles)


def read_table(table: Table, roles: Iterable[Role], *, may_be_empty: bool = False) -> FoundColumns:
    """Read whole columns of an open table, which may have no rows if this is stated; see `read`."""
    by_part = find(table, roles)
    codes = {part: Codes() for part in by_part}
    parts: dict[str, list[NDArray[Any]]] = {part: [] for part in by_part}
    rows = [np.empty(0, np.int64)]
    seen = 0
    gaps = [role for role in by_part.values() if role.gaps]
    for block in blocks(table, kinds_of(by_part.values()), may_be_empty=may_be_empty):
        count = block.rows.num_rows
        columns = {part: block.column(role.name) for part, role in by_part.items()}
        there = np.ones(count, np.bool_)
        for role in gaps:
            there &= columns[role.part].present()
        kept = np.flatnonzero(there)
        for part, role in by_part.items():
            column = columns[part] if len(kept) == count else columns[part].take(kept)
            parts[part].append(role.checked(column, codes[part]))
        rows.append(table.first_row + seen + kept)
        seen += count
    names = {
        part: tuple(class_name(name) for name in codes[part].names)
        for part, role in by_part.items()
        if role.what == "name"
    }
    values = {part: np.concatenate(pieces or rows) for part, pieces in parts.items()}
    whole = FoundColumns(table, by_part, np.concatenate(rows), seen - sum(map(len, rows)), values, names)
    _check(whole)
    return whole


def _check(columns: FoundColumns) -> None:
    """Raise if no row is left, or a name that is there once is repeated."""
    for part, role in columns.roles.items():
        if role.gaps and not len(columns.rows):
            message, hint = "there is no value in any row", "fill in some"
            raise InputError(message, hint, code="empty", file=columns.table.name, column=role.name)
        names, code = columns.names.get(part, ()), columns[part]
        if role.once and len(names) < len(code):
            last = np.maximum.accumulate(code)  # codes count up as names appear
            row = 1 + int(np.flatnonzero(code[1:] <= last[:-1])[0])
            file, other = place_of(columns.table, int(columns.rows[np.flatnonzero(code == code[row])[0]]))
            of = "" if file == columns.table.name else f" of {file}"
            message = f"{part} {shown(names[code[row]])} is also in row {other}{of}"
            raise columns.error(row, message, f"keep one row per {part}", "duplicate", part=part)
