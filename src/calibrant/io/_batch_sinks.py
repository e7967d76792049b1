"""What takes record batches of any columns, and writes them in one format."""

from __future__ import annotations

import csv
import io
import json
from typing import IO, TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class BatchSink(Protocol):
    """Writes record batches."""

    def write_batch(self, batch: pa.RecordBatch) -> None:
        """Write rows."""

    def close(self) -> None:
        """Write what is held back."""


def parquet_batches(file: IO[bytes], schema: pa.Schema) -> Any:
    """Parquet, a row group a batch."""
    import pyarrow as pa
    from pyarrow import parquet

    # Scores hardly repeat: a dictionary of them would be built for nothing.
    repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
    return parquet.ParquetWriter(file, schema, compression="zstd", use_dictionary=repeated)


def arrow_batches(file: IO[bytes], schema: pa.Schema) -> Any:
    """Arrow IPC, in the form of a stream."""
    import pyarrow as pa

    return pa.ipc.new_stream(file, schema)


class TextBatches:
    """Comma- or tab-separated text."""

    def __init__(self, file: IO[bytes], schema: pa.Schema, *, tabbed: bool = False) -> None:
        import pyarrow as pa
        from pyarrow import csv as writer

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
        for row in batch.to_pylist():
            known = {name: None if value != value else value for name, value in row.items()}
            self._file.write(json.dumps(known, ensure_ascii=False, default=str).encode() + b"\n")

    def close(self) -> None:
        """Nothing is held back."""
