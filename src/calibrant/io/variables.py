"""Columns of any kind: numbers where all values are numbers, and names otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, shown
from calibrant.exceptions import InputError
from calibrant.io.columns import MISSING, Codes, Column, as_numpy, class_name
from calibrant.io.rewriting import output_format, write_batches
from calibrant.io.roles import blocks, place_of
from calibrant.io.tables import Table

if TYPE_CHECKING:
    import pyarrow as pa

MANY, FEW = 20, 0.1  # different values of a number; the proportion of them that may be slips


class Variable:
    """Values of one column.

    Parameters
    ----------
    table, name
        Where it is from.
    parts
        The column in batches.

    Attributes
    ----------
    known
        (n,) True where there is a value.
    values
        (n,) float64 numbers, NaN where they are missing; or int64 codes of names, -1 where they are missing.
    names
        The names, by code; None for numbers.
    """

    def __init__(self, table: Table, name: str, parts: Sequence[Column]) -> None:
        self.table, self.name = table, name
        self.known = np.concatenate([part.present() for part in parts])
        self.names: list[str] | None = None
        numbers = [_numbers(part) for part in parts]
        if all(part is not None for part in numbers):
            self.values: NDArray[Any] = np.concatenate([part for part in numbers if part is not None])
        else:
            codes, pieces = Codes(), []
            for part in parts:
                inside = np.flatnonzero(part.present())
                code = np.full(len(part.values), -1, np.int64)
                code[inside] = part.take(inside).codes(codes, words=False) if len(inside) else 0
                pieces.append(code)
            self.values, self.names = np.concatenate(pieces), [class_name(one) for one in codes.names]
            for place, word in enumerate(self.names):
                if word.strip().casefold() in MISSING:
                    row = int(np.flatnonzero(self.values == place)[0])
                    message = f"{shown(word)} may be a missing value"
                    hint = "leave the field empty if it is missing; otherwise write another name"
                    raise self.error(row, message, hint, "missing-value")
        if self.names is None:
            bad = np.flatnonzero(self.known & ~np.isfinite(self.values))
            if len(bad):
                message = f"{self.values[bad[0]].item()!r} is not a finite number"
                raise self.error(int(bad[0]), message, "repair it", "score-range")

    def error(self, row: int | None, message: str, hint: str, code: str) -> InputError:
        """Make an error about a value."""
        file, place = self.table.name, None
        if row is not None:
            file, place = place_of(self.table, self.table.first_row + row)
        return InputError(message, hint, code=code, file=file, row=place, column=self.name)

    def check_complete(self) -> None:
        """Raise if a value is missing."""
        if not self.known.all():
            row = int(np.flatnonzero(~self.known)[0])
            raise self.error(row, "the value is missing", "fill it in, or drop the row", "missing-value")

    def check_kind(self) -> None:
        """Raise if nearly all of many different values are numbers, and another one is not."""
        if self.names is None or len(self.names) < MANY:
            return
        words = [word for word in self.names if not is_number(word)]
        if len(words) <= FEW * len(self.names):
            row = int(np.flatnonzero(self.values == self.names.index(words[0]))[0])
            number = next(word for word in self.names if is_number(word))
            message = f"{shown(words[0])} is not a number, and most other values are, such as {number}"
            raise self.error(row, message, "correct it, or drop the row", "column-type")

    def first_word(self) -> tuple[int, str] | None:
        """Return the row of the first value that is not a number, and its text; None without one."""
        words = [code for code, word in enumerate(self.names or ()) if not is_number(word)]
        if not words or self.names is None:
            return None
        row = int(np.flatnonzero(self.values == words[0])[0])
        return row, self.names[words[0]]


def is_number(word: str) -> bool:
    """Return whether a text is a number.

    Examples
    --------
    >>> is_number("0.5"), is_number("half")
    (True, False)
    """
    try:
        float(word)
    except ValueError:
        return False
    return True


def _numbers(part: Column) -> Floats | None:
    """Return values as float64, NaN where they are missing; None if one is not a number."""
    import pyarrow as pa
    from pyarrow import compute

    values = part.values
    kind = values.type
    try:
        if pa.types.is_dictionary(kind):
            texts = values.dictionary
            if pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type):
                trimmed = compute.utf8_trim_whitespace(texts)
                texts = compute.if_else(compute.equal(trimmed, ""), pa.scalar(None, trimmed.type), trimmed)
            values = pa.DictionaryArray.from_arrays(values.indices, texts.cast(pa.float64()))
            values = values.dictionary_decode()
        elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
            trimmed = compute.utf8_trim_whitespace(values)
            blank = compute.equal(trimmed, "")
            values = compute.if_else(blank, pa.scalar(None, kind), trimmed).cast(pa.float64())
        elif pa.types.is_boolean(kind):
            values = values.cast(pa.int8()).cast(pa.float64())
        elif pa.types.is_integer(kind) or pa.types.is_floating(kind):
            values = values.cast(pa.float64(), safe=False)
        elif pa.types.is_decimal(kind):
            values = values.cast(pa.string()).cast(pa.float64())
        elif pa.types.is_null(kind):
            return np.full(len(values), np.nan)
        else:
            return None
    except pa.ArrowInvalid:
        return None
    numbers: Floats = as_numpy(values.fill_null(np.nan)).astype(np.float64, copy=False)
    return numbers


def read_variables(table: Table, names: Sequence[str]) -> dict[str, Variable]:
    """Read columns as numbers, or as names if a value is not a number.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io.roles import open_table
    >>> table = open_table(pa.table({"age": ["31", None, "8.5"], "party": ["left", "right", "left"]}))
    >>> columns = read_variables(table, ["age", "party"])
    >>> columns["age"].values, columns["party"].values, columns["party"].names
    (array([31. ,  nan,  8.5]), array([0, 1, 0]), ['left', 'right'])
    """
    if not names:
        return {}
    parts: dict[str, list[Column]] = {name: [] for name in names}
    for block in blocks(table, dict.fromkeys(names, "name")):
        for name in parts:
            parts[name].append(block.column(name))
    return {name: Variable(table, name, columns) for name, columns in parts.items()}


def write_columns(output: str, source: str, columns: Mapping[str, NDArray[Any] | Sequence[str]]) -> None:
    """Write columns of numbers or texts as a table; ``source`` is the table that they are from.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.io.roles import open_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_columns(f"{folder}/new.csv", "old.csv", {"item": ["a", "b"], "age": np.array([1.5, 2.0])})
    ...     open_table(f"{folder}/new.csv").columns
    ('item', 'age')
    """
    import pyarrow as pa

    arrays: list[pa.Array] = [pa.array(values) for values in columns.values()]
    batch = pa.RecordBatch.from_arrays(arrays, list(columns))
    write_batches(output, output_format(output, source), iter([batch]))
