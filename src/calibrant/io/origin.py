"""Where the bytes of a table come from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from calibrant.exceptions import FormatError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

SMALL = 1 << 26  # bytes up to which a Parquet file is read into memory whole


@dataclass(frozen=True)
class Origin:
    """A readable file, or bytes already in memory, with the name that errors give it.

    Attributes
    ----------
    name
        As the user wrote it.
    path
        The file; None for bytes in memory.
    data
        The bytes; None for a file.
    format
        A key of `calibrant.io.table_formats.FORMATS`.
    packed
        Whether the bytes are compressed by gzip.
    """

    name: str
    path: Path | None
    data: bytes | None
    format: str
    packed: bool

    def open(self) -> pa.NativeFile:
        """Open from the start; compressed text comes out unpacked."""
        import pyarrow as pa

        compression = "gzip" if self.packed else None
        if self.path is None:
            return pa.input_stream(pa.BufferReader(self.data), compression=compression)
        if self.packed:
            return pa.input_stream(str(self.path), compression=compression)
        return pa.memory_map(str(self.path)) if self.format == "arrow" else pa.OSFile(str(self.path))


def parquet_file(source: str | Path | pa.NativeFile, **settings: Any) -> Any:
    """Open a Parquet file so that the sizes that a small file states allocate no memory.

    The library allocates and fills as many bytes as the header of a page states, up to 2 GiB, unless the file
    is in memory already. Files of more than 64 MiB are read a few pages at a time, and only their pages may
    do that.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pa.OSFile(str(source)) if isinstance(source, (str, Path)) else source
    in_memory = isinstance(file, pa.BufferReader)
    if not in_memory and file.size() <= SMALL:
        file, in_memory = pa.BufferReader(file.read_buffer()), True
    return pq.ParquetFile(file, buffer_size=0 if in_memory else 1 << 20, pre_buffer=False, **settings)


def truncated(name: str) -> FormatError:
    """Make the error for a file that ends too early."""
    return FormatError("the file is cut short", "copy or write it again", code="file-truncated", file=name)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn whatever a reader raises on a broken file into a `FormatError` that names the file."""
    import csv
    import zipfile
    import zlib

    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (
        pa.ArrowException,
        csv.Error,
        NotImplementedError,  # of packing and encodings
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        OSError,
        UnicodeDecodeError,
    ) as error:
        reason = " ".join(str(error).split())
        early = (
            "truncat",
            "unexpected end",
            "end of file",
            "end-of-stream",
            "not a zip file",
            "not an arrow file",
            "but only read",
            "smaller than the size",
        )
        if any(word in reason.lower() for word in early):
            raise truncated(name) from error
        hint = "save it as UTF-8" if "utf" in reason.lower() else "write it again"
        raise FormatError(f"cannot be read ({reason[:160]})", hint, code="file-broken", file=name) from error
