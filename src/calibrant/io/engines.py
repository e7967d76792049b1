"""Rows of lazy frames in batches, from DuckDB, Polars, Ibis, Dask and PySpark.

An engine runs the query of its frame and nothing else: the rows are checked and summed as those of a file.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.exceptions import InputError
from calibrant.io.arrow_tables import arrow_table
from calibrant.parts import installing

if TYPE_CHECKING:
    import pyarrow as pa


def engine_name(frame: Any) -> str:
    """Return the name of the engine of a lazy frame in Narwhals."""
    name = frame.implementation.name.replace("_", " ").capitalize()
    return {"Duckdb": "DuckDB", "Pyspark": "PySpark", "Pyspark connect": "PySpark"}.get(name, str(name))


def failure(frame: Any, doing: str, error: Exception) -> InputError:
    """Return the error of an engine that failed at a step."""
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    hint = "collect the frame to see whether its query works; if so, pass the result, or write it to Parquet"
    if "No module named 'calibrant'" in str(error):
        reason, hint = "a worker has no module calibrant", "install the same release on all workers"
    return InputError(f"{engine_name(frame)} failed at {doing} ({reason})", hint, code="engine")


def streamed(
    frame: Any, columns: Sequence[str], size: int, zones: Mapping[str, str]
) -> Iterator[pa.RecordBatch] | None:
    """Return the rows of a lazy frame in batches, of which few are in memory; None if its engine has none.

    Parameters
    ----------
    frame
        Lazy frame in Narwhals.
    columns
        Columns to read.
    size
        Largest number of rows of a batch.
    zones
        Time zones of columns of DuckDB, which returns all times in the zone of its session.
    """
    kind = frame.implementation
    if kind.is_duckdb():
        # DuckDB 1.5 parses names in `select`.
        return _of_duckdb(frame.to_native().project(", ".join(map(quoted, columns))), size, zones)
    chosen = frame.select(*columns).to_native()
    if kind.is_polars() and hasattr(chosen, "collect_batches"):
        return _of_polars(chosen, size)
    if kind.is_ibis():
        return _of_ibis(chosen, size)
    if kind.is_dask():
        return _of_dask(chosen, size)
    return _of_spark(chosen) if is_spark(frame) else None


def _of_duckdb(relation: Any, size: int, zones: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    for batch in reader(size):
        for place, name in enumerate(batch.schema.names):
            if name in zones:
                times = batch.column(place)
                batch = batch.set_column(place, name, times.cast(pa.timestamp(times.type.unit, zones[name])))
        yield batch


def _of_polars(frame: Any, size: int) -> Iterator[pa.RecordBatch]:
    for part in frame.collect_batches(chunk_size=size, maintain_order=True, engine="streaming"):
        yield from part.to_arrow().to_batches(max_chunksize=size)


def _of_ibis(table: Any, size: int) -> Iterator[pa.RecordBatch]:
    # The batches of Ibis 12 on DuckDB need a function that DuckDB 2 no longer has.
    relation = getattr(table.get_backend(), "_to_duckdb_relation", None)
    if relation is None:
        return iter(table.to_pyarrow_batches(chunk_size=size))
    return _of_duckdb(relation(table), size, {})


def _of_dask(frame: Any, size: int) -> Iterator[pa.RecordBatch]:
    import narwhals as nw

    for place in range(frame.npartitions):
        part = nw.from_native(frame.get_partition(place).compute())
        yield from arrow_table(part, "the dataframe").to_batches(max_chunksize=size)


def _of_spark(frame: Any) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    # Defined here, it travels by its content, so that workers need PyArrow alone.
    def packed(batches: Iterable[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, batch.schema) as writer:
                writer.write_batch(batch)
            yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()], pa.binary())], ["rows"])

    # A row of Spark in Python is slow, and a whole partition as one row needs memory for one partition only.
    for row in frame.mapInArrow(packed, "rows binary").toLocalIterator(prefetchPartitions=True):
        yield from pa.ipc.open_stream(bytes(row[0]))


def is_spark(frame: Any) -> bool:
    """Return True for a lazy frame of PySpark in Narwhals."""
    return bool(frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect())


def has_workers(frame: Any) -> bool:
    """Return True for a lazy frame of an engine whose workers can run calibrant: Dask and PySpark.

    Examples
    --------
    >>> import polars as pl
    >>> has_workers(pl.LazyFrame({"score": [0.5]}))
    False
    """
    import narwhals as nw

    lazy = nw.from_native(frame)
    return lazy.implementation.is_dask() or is_spark(lazy)


def row_count(frame: Any) -> int:
    """Count the rows of a lazy frame.

    Examples
    --------
    >>> import polars as pl
    >>> row_count(pl.LazyFrame({"score": [0.5, 0.7]}))
    2
    """
    import narwhals as nw

    return _counted(nw.from_native(frame), "counting rows")


def has_repeats(frame: Any, columns: Sequence[str]) -> bool:
    """Return True if two rows of a lazy frame have the same values in some columns.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.LazyFrame({"item": [1, 1, 2], "model": ["a", "b", "a"]})
    >>> has_repeats(frame, ["item"]), has_repeats(frame, ["item", "model"])
    (True, False)
    """
    import narwhals as nw

    lazy = nw.from_native(frame)
    distinct = lazy.select(*dict.fromkeys(columns)).unique()
    return _counted(distinct, "counting items") < _counted(lazy, "counting rows")


def _counted(lazy: Any, doing: str) -> int:
    import narwhals as nw

    try:
        return int(lazy.select(nw.len().alias("rows")).collect(backend="pyarrow")["rows"][0])
    except Exception as error:
        raise failure(lazy, doing, error) from error


def relation_of(files: Sequence[Path], partitions: Mapping[str, str] | None = None) -> Any:
    """Return Parquet files as a relation of a new connection; partition columns have types of SQL."""
    # DuckDB reads each name as a pattern, and a leading ~ as the home directory.
    names = [glob.escape(os.path.abspath(file)) for file in files]
    types = ", ".join(f"{quoted(name)}: {kind}" for name, kind in (partitions or {}).items())
    hive = f"hive_partitioning = true, hive_types = {{{types}}}" if types else "hive_partitioning = false"
    listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    with _duckdb_errors():
        return _connection().sql(f"SELECT * FROM read_parquet([{listed}], {hive}, union_by_name = true)")


@contextmanager
def _duckdb_errors() -> Iterator[None]:
    """Raise an error of DuckDB as `InputError`."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"DuckDB cannot run the query ({reason})", "repair the relation that you passed", code="engine"
        ) from error


@cache  # before DuckDB 2 a relation does not keep its connection open
def _connection() -> Any:
    try:
        import duckdb
    except ImportError as error:
        message, hint = "DuckDB is not installed", installing("duckdb")
        raise InputError(message, hint, code="engine") from error
    connection = duckdb.connect()
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def quoted(name: str) -> str:
    """Return the name of a column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'
