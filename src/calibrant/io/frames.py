"""Dataframes and lazy frames of any library that Narwhals reads, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io.arrow_tables import arrow_table
from calibrant.io.engines import failure, streamed
from calibrant.io.tables import Kind

KEPT = 1 << 20  # rows of a lazy frame up to which they are held, to be read again

if TYPE_CHECKING:
    import pyarrow as pa


class FrameTable:
    """A dataframe; a lazy one is read as it comes (only the columns asked for), and a small one is kept.

    Parameters
    ----------
    frame
        Any object that ``narwhals.from_native`` accepts.
    name
        Name of the frame in errors.
    zones
        Time zones of columns of DuckDB, which returns all times in the zone of its session.
    """

    first_row = 0
    eager: Any | None  # the frame as it was given, in Narwhals; None for a lazy one

    def __init__(
        self, frame: Any, name: str = "the dataframe", zones: Mapping[str, str] | None = None
    ) -> None:
        import narwhals as nw

        self.name = name
        self._zones = zones or {}
        try:
            self.eager = nw.from_native(frame)
            self._frame: Any = nw.from_native(_with_named_index(frame))
        except TypeError:
            hint = "pass a path, or a frame of pandas, Polars, PyArrow, DuckDB or the like"
            if isinstance(frame, dict):
                hint = (
                    "pass pandas.DataFrame(...) of columns; for several models, `report([a, b], names=[...])`"
                )
            raise InputError(f"a {type(frame).__name__} is not a table", hint, code="source") from None
        except nw.exceptions.DuplicateError as error:
            names = list(map(str, frame.columns))
            twice = next((column for column in names if names.count(column) > 1), "")
            hint = "rename one of them"
            message = f"two columns have the same name {twice!r}"
            raise InputError(message, hint, code="column", file=name) from error
        try:
            self.columns = tuple(self._frame.collect_schema().names())
        except Exception as error:  # each engine has its own errors for a query that cannot be resolved
            raise failure(self._frame, "resolving the query", error).at(file=name) from error
        for column in self.columns:
            if not isinstance(column, str):
                message, hint = f"the name of column {column!r} is not text", "rename it"
                raise InputError(message, hint, code="column", file=name)
        arrow = nw.dependencies.is_pyarrow_table(frame)
        self.metadata: Mapping[bytes, bytes] = (frame.schema.metadata or {}) if arrow else {}
        if isinstance(self._frame, nw.LazyFrame):
            self.eager = None
        self.rows: int | None = None if self.eager is None else len(self._frame)
        self._collected: pa.Table | None = None

    @property
    def lazy(self) -> Any | None:
        """The frame as it was given, if it is a lazy one: its engine can compute without sending rows."""
        import narwhals as nw

        return self._frame.to_native() if isinstance(self._frame, nw.LazyFrame) else None

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, in order; of a large lazy frame, as they come."""
        names = list(columns)
        streamed = None
        if self._collected is None or self._collected.column_names != names:
            streamed = self._streamed(names, size)
        if streamed is None:
            yield from self._collect(names).to_batches(max_chunksize=size)
            return
        import pyarrow as pa

        kept: list[pa.RecordBatch] = []
        rows = 0
        for batch in streamed:
            rows += batch.num_rows
            if rows <= KEPT:
                kept.append(batch)
            else:
                kept.clear()
            yield batch
        if rows <= KEPT and kept:  # read again without running the query again
            self._collected = pa.Table.from_batches(kept)

    def _streamed(self, columns: list[str], size: int) -> Iterator[pa.RecordBatch] | None:
        """The batches of a lazy frame, of which few are in memory; None for other frames."""
        import narwhals as nw

        if not isinstance(self._frame, nw.LazyFrame):
            return None
        try:
            batches = streamed(self._frame, columns, size, self._zones)
        except Exception as error:
            raise failure(self._frame, "sending rows", error).at(file=self.name) from error
        return None if batches is None else _explained(batches, self._frame, self.name)

    def _collect(self, columns: list[str]) -> pa.Table:
        import narwhals as nw

        if self._collected is None or self._collected.column_names != columns:
            chosen = self._frame.select(columns)
            if isinstance(chosen, nw.LazyFrame):
                try:
                    chosen = chosen.collect(backend="pyarrow")
                except Exception as error:
                    raise failure(self._frame, "sending rows", error).at(file=self.name) from error
            self._collected = arrow_table(chosen, self.name)
        return self._collected


def _with_named_index(frame: Any) -> Any:
    """A pandas dataframe with its named index as columns, as in a Parquet file that pandas writes of it."""
    levels = [name for name in getattr(getattr(frame, "index", None), "names", ()) if isinstance(name, str)]
    new = {name: frame.index.get_level_values(name) for name in levels if name not in frame.columns}
    return frame.assign(**new) if new else frame


def is_frame(source: Any) -> bool:
    """Tell if something is a dataframe or a lazy frame of any library.

    Examples
    --------
    >>> import pyarrow as pa
    >>> is_frame(pa.table({"score": [0.2]})), is_frame([0.2])
    (True, False)
    """
    import narwhals as nw

    return isinstance(nw.from_native(source, pass_through=True), (nw.DataFrame, nw.LazyFrame))


def in_library_of(source: Any, values: NDArray[Any]) -> Any:
    """Return values as an array, a tensor or a column of the library that another one is of.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> in_library_of(pd.Series([0.2, 0.9], index=["a", "b"], name="p"), np.array([0.3, 0.8]))
    a    0.3
    b    0.8
    Name: p, dtype: float64
    """
    import narwhals as nw

    column = nw.from_native(source, series_only=True, pass_through=True)
    if isinstance(column, nw.Series):
        new = nw.new_series(column.name, values, backend=column.implementation).to_native()
        if (index := nw.maybe_get_index(column)) is not None:
            new.index = index
        return new
    if hasattr(source, "__array_namespace__"):
        return source.__array_namespace__().asarray(values, device=source.device)
    if hasattr(source, "new_tensor"):  # of PyTorch
        return source.new_tensor(values, requires_grad=False)
    return values


def _explained(batches: Iterator[pa.RecordBatch], frame: Any, name: str) -> Iterator[pa.RecordBatch]:
    """Raise an error that names the engine where its query fails."""
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except InputError as error:
            raise error.at(file=name) from None
        except Exception as error:
            raise failure(frame, "sending rows", error).at(file=name) from error
        yield batch
