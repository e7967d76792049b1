"""Writers of batches of numbers and codes of names, one class per format."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io.columns import objects
from calibrant.io.tables import THRESHOLD_KEY, THRESHOLD_LINE

if TYPE_CHECKING:
    import pyarrow as pa

NAME = "name"  # the type of a column of codes, whose names come with each batch

Columns = Mapping[str, str]  # a type of Arrow, or NAME, by column
Values = Mapping[str, NDArray[Any]]
Names = Mapping[str, Sequence[str]]


class Sink(Protocol):
    """Writes rows."""

    def write(self, values: Values, names: Names) -> None:
        """Write rows; a column of names has codes here, and the names apart."""

    def close(self) -> None:
        """Write the end of the file."""


class ArrowSink:
    """Arrow IPC, in the form of a stream: its dictionaries may grow; or Parquet, a row group at a time."""

    def __init__(self, file: IO[bytes], columns: Columns, threshold: float, *, kind: str = "arrow") -> None:
        import pyarrow as pa

        types = {
            name: pa.dictionary(pa.int32(), pa.string()) if kind == NAME else pa.type_for_alias(kind)
            for name, kind in columns.items()
        }
        metadata = {THRESHOLD_KEY: repr(threshold)} if threshold > 0 else None
        self._schema = pa.schema(types, metadata=metadata)
        self._writer = (parquet_batches if kind == "parquet" else arrow_batches)(file, self._schema)

    def write(self, values: Values, names: Names) -> None:
        """Write rows."""
        import pyarrow as pa

        arrays = [
            pa.DictionaryArray.from_arrays(values[name], pa.array(names[name], pa.string()))
            if name in names
            else pa.array(values[name])
            for name in self._schema.names
        ]
        self._writer.write_batch(pa.record_batch(arrays, schema=self._schema))

    def close(self) -> None:
        """Write the end of the file."""
        self._writer.close()


class TextSink:
    """Comma- or tab-separated text, or JSON lines."""

    def __init__(self, file: IO[bytes], columns: Columns, threshold: float, *, kind: str = "csv") -> None:
        self._file = file
        quoted: dict[str, Callable[[str], str]] = {"csv": _csv_field, "jsonl": json.dumps}
        self._quoted = quoted.get(kind, str)
        self._columns = list(columns)
        between = "\t" if kind == "tsv" else ","
        self._before = ["", *[between] * (len(columns) - 1)]
        self._end = "\n"
        if kind == "jsonl":
            self._before = [
                f"{',' if place else '{'}{json.dumps(name)}:" for place, name in enumerate(columns)
            ]
            self._end = "}\n"
            return
        if threshold > 0:
            file.write(f"{THRESHOLD_LINE}{threshold!r}\n".encode())
        file.write(f"{between.join(columns)}\n".encode())

    def write(self, values: Values, names: Names) -> None:
        """Write rows."""
        import pyarrow as pa
        from pyarrow import compute

        texts = {
            column: pa.array([self._quoted(name) for name in known], pa.string())
            for column, known in names.items()
        }
        parts: list[Any] = []
        for before, name in zip(self._before, self._columns, strict=True):
            column = pa.array(values[name])
            parts += [before, texts[name].take(column) if name in texts else column.cast(pa.string())]
        lines = compute.binary_join_element_wise(*parts, self._end, "")
        # The texts of an array lie one after another in one buffer: that is the text of all lines.
        ends = np.frombuffer(lines.buffers()[1], np.int32)
        self._file.write(memoryview(lines.buffers()[2])[: ends[len(lines)]])

    def close(self) -> None:
        """Do nothing, because the format has no end."""


def _csv_field(name: str) -> str:
    if any(mark in name for mark in ',"\n\r') or name != name.strip():
        doubled = name.replace('"', '""')
        return f'"{doubled}"'
    return name


class BatchSink(Protocol):
    """Writes record batches."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write rows."""

    def close(self) -> None:
        """Write what is held back."""


def parquet_batches(file: IO[bytes], schema: pa.Schema) -> Any:
    """Return a writer of Parquet, with one row group per batch."""
    import pyarrow as pa
    from pyarrow import parquet

    # Scores hardly repeat: a dictionary of them would be built for nothing.
    repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=repeated)


def arrow_batches(file: IO[bytes], schema: pa.Schema) -> Any:
    """Return a writer of Arrow IPC streams."""
    import pyarrow as pa

    return pa.ipc.new_stream(file, schema)


class TextBatches:
    """Comma- or tab-separated text."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, *, tabbed: bool = False) -> None:
        import pyarrow as pa
        from pyarrow import csv as writer

        if tabbed and (odd := [name for name in schema.names if any(mark in name for mark in "\t\n\r")]):
            hint = "choose another format: tab-separated text has no quotes"
            raise InputError(f"the column {odd[0]!r} contains a tab or a line end", hint, code="column")
        header = io.StringIO()
        if tabbed:
            header.write("\t".join(schema.names) + "\n")
        else:
            csv.writer(header, lineterminator="\n").writerow(schema.names)
        file.write(header.getvalue().encode())
        plain = [
            field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
            for field in schema
        ]
        self._schema = pa.schema(plain)
        options = writer.WriteOptions(
            include_header=False,
            delimiter="\t" if tabbed else ",",
            quoting_style="none" if tabbed else "needed",
        )
        self._writer = writer.CSVWriter(file, self._schema, write_options=options)

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
        self._writer.write_batch(batch.cast(self._schema))

    def close(self) -> None:
        """Write what is held back."""
        self._writer.close()


class JsonBatches:
    """JSON lines: an object a row."""

    def __init__(self, file: IO[bytes], schema: pa.Schema) -> None:
        self._file = file

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write rows; what JSON has no form for (a date, say) is written as text, NaN as null."""
        names = batch.schema.names
        for row in zip(*map(objects, batch.columns), strict=True):
            known = {name: None if value != value else value for name, value in zip(names, row, strict=True)}
            self._file.write(json.dumps(known, ensure_ascii=False, default=str).encode() + b"\n")

    def close(self) -> None:
        """Do nothing, because nothing is buffered."""
