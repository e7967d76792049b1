"""Dataframes and lazy frames of any library that Narwhals reads, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from calibrant.exceptions import InputError
from calibrant.io.tables import Kind

KEPT = 1 << 20  # rows of a lazy frame up to which they are held, to be read again

if TYPE_CHECKING:
    import pyarrow as pa


class FrameTable:
    """A dataframe; a lazy one is read as it comes (only the columns asked for), and a small one is kept.

    Parameters
    ----------
    frame
        Anything that ``narwhals.from_native`` takes.
    name
        What errors call it.

    Raises
    ------
    InputError
        If it is no dataframe.
    """

    first_row = 0

    def __init__(self, frame: Any, name: str = "the dataframe") -> None:
        import narwhals as nw

        self.name = name
        try:
            self._frame: Any = nw.from_native(frame)
        except TypeError:
            hint = "pass a path, or a frame of pandas, Polars, PyArrow, DuckDB or the like"
            raise InputError(f"no table: a {type(frame).__name__}", hint, code="source") from None
        except nw.exceptions.DuplicateError as error:
            hint = "rename one of each"
            raise InputError("columns share a name", hint, code="column", file=name) from error
        self.columns = tuple(self._frame.collect_schema().names())
        for column in self.columns:
            if not isinstance(column, str):
                raise InputError(
                    f"the name of column {column!r} is no text", "rename it", code="column", file=name
                )
        arrow = nw.dependencies.is_pyarrow_table(frame)
        self.metadata: Mapping[bytes, bytes] = (frame.schema.metadata or {}) if arrow else {}
        self.rows: int | None = None if isinstance(self._frame, nw.LazyFrame) else len(self._frame)
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
        """The batches of a lazy frame of DuckDB or Polars, which need not be held; None for other frames."""
        import narwhals as nw

        if not isinstance(self._frame, nw.LazyFrame):
            return None
        chosen = self._frame.select(columns).to_native()
        if self._frame.implementation.is_duckdb():
            batches = _of_duckdb(chosen, size)
        elif self._frame.implementation.is_polars() and hasattr(chosen, "collect_batches"):
            batches = _of_polars(chosen, size)
        else:
            return None
        return _explained(batches, self._frame, self.name)

    def _collect(self, columns: list[str]) -> pa.Table:
        import narwhals as nw
        import pyarrow as pa

        if self._collected is None or self._collected.column_names != columns:
            chosen = self._frame.select(columns)
            try:
                eager = chosen.collect(backend="pyarrow") if isinstance(chosen, nw.LazyFrame) else chosen
                self._collected = eager.to_arrow()
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                reason = " ".join(str(error).split())[:160]
                raise InputError(
                    f"a column mixes types ({reason})",
                    "give each column one type",
                    code="column-type",
                    file=self.name,
                ) from error
        return self._collected


def _of_duckdb(relation: Any, size: int) -> Iterator[pa.RecordBatch]:
    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    yield from reader(size)


def _of_polars(frame: Any, size: int) -> Iterator[pa.RecordBatch]:
    for part in frame.collect_batches(chunk_size=size, maintain_order=True, engine="streaming"):
        yield from part.to_arrow().to_batches(max_chunksize=size)


def _explained(batches: Iterator[pa.RecordBatch], frame: Any, name: str) -> Iterator[pa.RecordBatch]:
    """Raise an error that names the engine where its query fails."""
    while True:
        try:
            batch = next(batches)
        except StopIteration:
            return
        except Exception as error:
            from calibrant.io._engine_frames import failure

            raise failure(frame, "sending rows", error).at(file=name) from error
        yield batch
