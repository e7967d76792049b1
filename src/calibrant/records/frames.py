"""A table of a record as a dataframe of the caller's library."""

from __future__ import annotations

import sys
from typing import Any, get_args

from calibrant._checks import one_of
from calibrant.exceptions import MissingExtraError
from calibrant.records.fields import Library
from calibrant.records.formats import Table

LIBRARIES: tuple[Library, ...] = get_args(Library)


def session_library() -> Library:
    """Return the library of dataframes that the session has imported; PyArrow if there is none."""
    return next((name for name in LIBRARIES if name in sys.modules), "pyarrow")


def library_of(frame: Any) -> Library | None:
    """Return the library of a dataframe or of a lazy frame of Polars; None for anything else.

    Examples
    --------
    >>> import pyarrow as pa
    >>> library_of(pa.table({"score": [0.2]})), library_of("table.csv")
    ('pyarrow', None)
    """
    module = type(frame).__module__.partition(".")[0]
    known = hasattr(frame, "shape") or type(frame).__name__ == "LazyFrame"
    return next((name for name in LIBRARIES if name == module and known), None)


def frame_of(table: Table, library: Library) -> Any:
    """Return a table as a dataframe, with the columns of its CSV.

    Raises
    ------
    InputError
        If the library is unknown.
    MissingExtraError
        If the library is not installed.
    """
    import narwhals as nw

    one_of(library, LIBRARIES, "library")
    rows = table.to_rows()
    columns = {name: [row[name] for row in rows] for name in (rows[0] if rows else ())}
    try:
        return nw.from_dict(
            {name: _of_one_type(values) for name, values in columns.items()}, backend=library
        ).to_native()
    except ImportError as error:
        raise MissingExtraError(
            f"a dataframe of {library} needs {library}", f"pip install {library}"
        ) from error


def _of_one_type(values: list[Any]) -> list[Any]:
    """Return the values of a column; mixed texts and numbers as texts, and lists as texts."""
    kinds = {
        str if isinstance(each, str | list | tuple | dict) else float for each in values if each is not None
    }
    if kinds == {float} and any(isinstance(each, float) for each in values):
        return [None if each is None else float(each) for each in values]
    return [None if each is None else str(each) for each in values] if str in kinds else values
