"""Where the bytes of a table come from."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, cast

from calibrant.exceptions import FormatError, InputError

if TYPE_CHECKING:
    import zipfile

    import pyarrow as pa
    from _typeshed import WriteableBuffer
    from numpy.typing import NDArray

SMALL = 1 << 26  # bytes up to which a Parquet file is read into memory whole
DESCRIPTORS = re.compile(r"/dev/(stdin|fd/\d+)|/proc/self/fd/\d+")


@dataclass(frozen=True)
class Origin:
    """A readable file, or bytes already in memory, with the name that errors give it.

    Attributes
    ----------
    name
        As the user wrote it.
    path
        The file; None for standard input.
    data
        The bytes, of standard input and of a small file, from `in_memory`; None for a larger one.
    format
        Key of `calibrant.io.table_formats.FORMATS`.
    packed
        True if the bytes are compressed by gzip.
    """

    name: str
    path: Path | None
    data: pa.Buffer | None
    format: str
    packed: bool

    def open(self) -> pa.NativeFile:
        """Open from the start; compressed text comes out unpacked."""
        import pyarrow as pa

        source = os.fsencode(cast(Path, self.path)) if self.data is None else self.data
        if self.packed or self.data is not None:
            return pa.input_stream(source, compression="gzip" if self.packed else None)
        return pa.memory_map(source) if self.format == "arrow" else pa.OSFile(source)


def in_memory(data: bytes) -> pa.Buffer:
    """Copy bytes to where threads of a reader can free them without the interpreter."""
    import pyarrow as pa

    # Threads that free objects of Python wait for the interpreter; if it shuts down, the process aborts.
    buffer = pa.allocate_buffer(len(data))
    pa.FixedSizeBufferWriter(buffer).write(data)
    return buffer


def parquet_file(source: str | Path | pa.NativeFile, **settings: Any) -> Any:
    """Open a Parquet file so that the sizes that a small file states allocate no memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pa.OSFile(os.fsencode(source)) if isinstance(source, (str, Path)) else source
    in_memory = isinstance(file, pa.BufferReader)
    # PyArrow allocates and fills as many bytes as the header of a page states, up to 2 GiB, unless the file
    # is in memory. Larger files are read a few pages at a time.
    if not in_memory and file.size() <= SMALL:
        file, in_memory = pa.BufferReader(file.read_buffer()), True
    return pq.ParquetFile(file, buffer_size=0 if in_memory else 1 << 20, pre_buffer=False, **settings)


def check_name(name: str) -> None:
    r"""Raise `InputError` if a name has bytes that are not UTF-8, which no result can contain.

    Examples
    --------
    >>> check_name("dev\udcff.csv")
    Traceback (most recent call last):
    calibrant.exceptions.InputError: dev\udcff.csv: the name is not UTF-8: rename it
    """
    try:
        name.encode()
    except UnicodeEncodeError:
        raise InputError("the name is not UTF-8", "rename it", code="text", file=name) from None


def reads_once(source: Any) -> bool:
    """Return True for standard input (``-``) and pipes, whose content tells their format.

    Examples
    --------
    >>> reads_once("-"), reads_once("/dev/stdin"), reads_once("dev.csv"), reads_once([0.5])
    (True, True, False, False)
    """
    if not isinstance(source, (str, os.PathLike)):
        return False
    name = os.fspath(source)
    return name == "-" or bool(DESCRIPTORS.fullmatch(name)) or Path(name).is_fifo()


def piped(name: str) -> bytes:
    """Return all bytes of a source that can be read once."""
    called = "stdin" if name == "-" else name
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise unreadable(called, error) from error
    if not data:
        message, hint = "there is nothing to read", "write rows into the pipe"
        raise InputError(message, hint, code="empty", file=called)
    return data


def unreadable(name: str, error: OSError) -> InputError:
    """Make the error for a file that cannot be opened."""
    missing = isinstance(error, FileNotFoundError)
    reason = "no such file" if missing else (error.strerror or str(error)).lower()
    return InputError(reason, "check the path", code="file-missing", file=name)


def arrow_reader(source: Any, options: Any = None) -> Any:
    """Open Arrow IPC in the file form or the stream form."""
    import pyarrow as pa

    random_access = source.read(6) == b"ARROW1"
    source.seek(0)
    return (pa.ipc.open_file if random_access else pa.ipc.open_stream)(source, options=options)


def stored_batches(reader: Any) -> Iterator[pa.RecordBatch]:
    """Return the record batches of a reader of either form."""
    stored = getattr(reader, "num_record_batches", None)
    return iter(reader) if stored is None else (reader.get_batch(place) for place in range(stored))


def truncated(name: str) -> FormatError:
    """Make the error for a file that ends too early."""
    return FormatError("the file is cut short", "copy or write it again", code="file-truncated", file=name)


def _of_broken_files() -> tuple[type[Exception], ...]:
    # Called only after an error, so that these modules are imported late.
    import csv
    import zipfile

    import pyarrow as pa

    unread = (EOFError, OSError, UnicodeDecodeError, NotImplementedError)  # the last of packing and encodings
    return (pa.ArrowException, csv.Error, zipfile.BadZipFile, zlib.error, *unread)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn whatever a reader raises on a broken file into a `FormatError` that names the file."""
    try:
        yield
    except InputError:
        raise
    except _of_broken_files() as error:
        reason = " ".join(str(error).split())
        # Arrow's, where memory is limited; a damaged file may state a size that no memory has.
        asked = re.search(r"alloc of size (\d+) failed", reason)
        if "Failed to launch worker thread" in reason or (asked and int(asked[1]) <= LONGEST):
            raise MemoryError(reason) from error
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


LONGEST = 1 << 28  # bytes of one line, and to which any file may unpack
TIMES = 200  # a larger file may unpack to so many times its size; texts and numbers come to 5 to 50


def most_unpacked(size: int) -> int:
    """Return the largest number of bytes to which a file of this size may unpack."""
    return max(LONGEST, TIMES * size)


def ungzipped(data: bytes, name: str) -> bytes:
    """Unpack bytes that gzip has packed.

    Raises
    ------
    FormatError
        It unpacks to far more than any text does.
    gzip.BadGzipFile, zlib.error, EOFError
        It is damaged or cut short.

    Examples
    --------
    >>> ungzipped(gzip.compress(b"text"), "a.gz")
    b'text'
    """
    most = most_unpacked(len(data))
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        unpacked = stream.read(most + 1)
    if len(unpacked) > most:
        raise too_large(name, most)
    return unpacked


def unpacking(packed: IO[bytes], name: str) -> io.BufferedReader:
    """Return a stream that unpacks what gzip has packed while it is read.

    Examples
    --------
    >>> unpacking(io.BytesIO(gzip.compress(b"text")), "a.gz").read()
    b'text'
    """
    # If a file states that it unpacks to far more than any text of its size, the error is raised at once if
    # that is true; otherwise it would be raised while the stream is read.
    if packed.seekable() and _states_far_more(packed):
        with suppress(EOFError, OSError, zlib.error):  # of a damaged file, which reading raises again
            for _ in iter(partial(_Unpacked(packed, name).read, 1 << 20), b""):
                pass
        packed.seek(0)
    return io.BufferedReader(_Unpacked(packed, name))


def _states_far_more(packed: IO[bytes]) -> bool:
    size = packed.seek(0, io.SEEK_END)  # a valid file ends with its unpacked size modulo 2^32
    packed.seek(max(0, size - 4))
    stated = int.from_bytes(packed.read(), "little")
    packed.seek(0)
    return stated > most_unpacked(size)


class _Counted(io.RawIOBase):
    """A stream that counts the bytes that are read from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        data = self._stream.read(len(memoryview(buffer)))
        memoryview(buffer)[: len(data)] = data
        self.count += len(data)
        return len(data)


class _Unpacked(_Counted):
    """The bytes that gzip has packed into a stream; the count is that of the unpacked bytes."""

    def __init__(self, packed: IO[bytes], name: str) -> None:
        self._packed, self._name = _Counted(packed), name
        super().__init__(cast(IO[bytes], gzip.GzipFile(fileobj=cast(IO[bytes], self._packed))))

    def readinto(self, buffer: WriteableBuffer) -> int:
        count = super().readinto(buffer)
        most = most_unpacked(self._packed.count)
        if self.count > most:
            raise too_large(self._name, most)
        return count


def members(
    archive: zipfile.ZipFile, names: Iterable[str], size: int, name: str
) -> Iterator[tuple[str, bytes]]:
    """Yield members of a zip file of a given size, with a limit on their total size."""
    most = left = most_unpacked(size)
    for member in names:
        try:
            with archive.open(member) as stream:
                data = stream.read(left + 1)
        except RuntimeError as error:
            hint = "save it without a password"
            raise FormatError("the archive is encrypted", hint, code="file-broken", file=name) from error
        left -= len(data)
        if left < 0:
            raise too_large(name, most)
        yield member, data


def array_of(data: bytes) -> NDArray[Any]:
    """Read a NumPy array from the bytes of an ``.npy`` file, in the machine's byte order.

    Raises
    ------
    ValueError
        If it is not an array, or contains Python objects.
    MemoryError
        If its stated size is larger than the memory.

    Examples
    --------
    >>> array_of(b"no array")
    Traceback (most recent call last):
    ValueError: ...
    """
    import numpy as np

    try:
        with warnings.catch_warnings(action="error"):
            array: NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except (SyntaxError, TokenError, RecursionError, OverflowError, TypeError, Warning) as error:
        raise ValueError(f"not an array ({error})") from error
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def too_large(name: str, most: int) -> FormatError:
    """Make the error for a file that unpacks to more than so many bytes."""
    message = f"it unpacks to more than {most >> 20} MiB"
    return FormatError(message, "if you trust the file, unpack it yourself", code="file-broken", file=name)


def long_line(name: str, number: int | None = None) -> FormatError:
    """Make the error for a line that no text has."""
    message = f"a line of more than {LONGEST >> 20} MiB"
    return FormatError(message, "write one record per line", code="file-row", file=name, line=number)
