"""Tallies on the workers of Dask and PySpark, which sum the parts of a frame with the kernel."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from calibrant.exceptions import InputError
from calibrant.io.arrow_tables import arrow_table
from calibrant.io.engines import failure
from calibrant.io.roles import ROWS
from calibrant.io.saved import table_of_tally, tally_of_table
from calibrant.io.slice_columns import Keys
from calibrant.io.tables import Kind, Table
from calibrant.metrics.tally import Tally

if TYPE_CHECKING:
    import pyarrow as pa

Work = Callable[[Table], Mapping[Keys, Tally]]
Row = tuple[str | None, bytes]  # a key as JSON and its tally; or None and an error

MERGED_ON = 32  # tasks of Spark that merge tallies before they are sent
NOTHING = ("there are no rows", "every weight is zero")  # errors of a part, but not of the frame


def merged_tallies(frame: Any, columns: Sequence[str], work: Work, name: str) -> dict[Keys, Tally]:
    """Tally the parts of a Dask or PySpark frame where they are, and merge the tallies.

    Parameters
    ----------
    frame
        The lazy frame.
    columns
        Columns that ``work`` reads.
    work
        Picklable function that returns tallies of a part by their keys. It reads the part once.
    name
        Name of the frame in errors.

    Returns
    -------
    dict
        Tallies by key, in sorted order, missing values last.
    """
    import narwhals as nw

    lazy = nw.from_native(frame)
    chosen = lazy.select(*dict.fromkeys(columns)).to_native()
    run = _on_dask if lazy.implementation.is_dask() else _on_spark
    try:
        rows = run(chosen, work, name)
    except Exception as error:
        raise failure(lazy, "tallying on its workers", error).at(file=name) from error
    tallies: dict[Keys, Tally] = {}
    faults = []
    for key, content in _merged(rows):
        if key is None:
            message, hint, code, column = json.loads(content)
            faults.append(InputError(message, hint, code=code, file=name, column=column))
        else:
            tallies[tuple(json.loads(key))] = _unpacked(content)
    if faults and not (tallies and faults[0].message in NOTHING):
        raise faults[0]
    if not tallies:
        raise InputError(NOTHING[0], "write at least one", code="empty", file=name)
    return dict(sorted(tallies.items(), key=lambda item: [(part is None, part or "") for part in item[0]]))


def _on_dask(frame: Any, work: Work, name: str) -> Iterable[Row]:
    import pandas as pd

    meta = pd.DataFrame({"key": pd.Series(dtype=object), "tally": pd.Series(dtype=object)})
    summed = frame.map_partitions(partial(_part_of_dask, work=work, name=name), meta=meta)
    merged = summed.reduction(_merged_in_dask, meta=meta, split_every=8).compute()
    return list(zip(merged["key"], merged["tally"], strict=True))


def _part_of_dask(part: Any, work: Work, name: str) -> Any:
    return _frame_of(_worked(_Part(map(str, part.columns), _rows_of(part, name), name), work))


def _rows_of(part: Any, name: str) -> Iterator[pa.RecordBatch]:
    import narwhals as nw

    yield from arrow_table(nw.from_native(part), name).to_batches(max_chunksize=ROWS)


def _merged_in_dask(parts: Any) -> Any:
    return _frame_of(_merged(zip(parts["key"], parts["tally"], strict=True)))


def _frame_of(rows: Iterable[Row]) -> Any:
    import pandas as pd

    return pd.DataFrame(list(rows), columns=["key", "tally"], dtype=object)


def _on_spark(frame: Any, work: Work, name: str) -> Iterable[Row]:
    schema = "key string, tally binary"
    summed = frame.mapInArrow(partial(_part_of_spark, work=work, name=name), schema)
    # A part's tally may have 30,000 rows: those of thousands of parts would be too much for one process.
    merged = summed.repartition(MERGED_ON).mapInArrow(_merged_in_spark, schema)
    return [(row["key"], bytes(row["tally"])) for row in merged.collect()]


def _part_of_spark(batches: Iterator[pa.RecordBatch], work: Work, name: str) -> Iterator[pa.RecordBatch]:
    first = next(batches, None)
    if first is not None:
        yield _batch_of(_worked(_Part(first.schema.names, chain([first], batches), name), work))


def _merged_in_spark(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows: list[Row] = []
    for batch in batches:
        both = (batch.column(place).to_pylist() for place in (0, 1))
        rows = _merged([*rows, *zip(*both, strict=True)])
    if rows:
        yield _batch_of(rows)


def _batch_of(rows: Iterable[Row]) -> pa.RecordBatch:
    import pyarrow as pa

    schema = pa.schema([("key", pa.string()), ("tally", pa.binary())])
    return pa.RecordBatch.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)


class _Part:
    """Part of a frame, whose rows can be read once."""

    metadata: Mapping[bytes, bytes] = {}
    rows: int | None = None
    first_row = 0

    def __init__(self, columns: Iterable[str], batches: Iterator[pa.RecordBatch], name: str) -> None:
        self.name, self.columns, self._batches = name, tuple(columns), batches

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield the batches that the engine has made."""
        names = list(columns)
        return (batch.select(names) for batch in self._batches)


def _worked(table: Table, work: Work) -> list[Row]:
    """Return the tallies of a part, or its error."""
    try:
        tallies = work(table)
    except InputError as error:
        return [_fault(error)]  # without a row: an engine keeps no order
    return [(json.dumps(key), _packed(tally)) for key, tally in tallies.items()]


def _fault(error: InputError) -> Row:
    return None, json.dumps([error.message, error.hint, error.code, error.column]).encode()


def _merged(rows: Iterable[Row]) -> list[Row]:
    """Merge the tallies with the same key; keep one error, if possible one of a value."""
    tallies: dict[str, Tally] = {}
    faults: list[Row] = []
    for key, content in rows:
        if key is None:
            faults.append((None, content))
            continue
        tally = _unpacked(content)
        try:
            tallies[key] = tallies[key] + tally if key in tallies else tally
        except InputError as error:
            faults.append(_fault(error))
    faults.sort(key=lambda fault: json.loads(fault[1])[0] in NOTHING)
    return [*faults[:1], *((key, _packed(tally)) for key, tally in tallies.items())]


def _packed(tally: Tally) -> bytes:
    import pyarrow as pa

    table, sink = table_of_tally(tally), pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _unpacked(content: bytes) -> Tally:
    import pyarrow as pa

    return tally_of_table(pa.ipc.open_stream(content).read_all(), "a worker's tally")
