"""Where the bytes of a table come from, and what they look like."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from calibrant.exceptions import FormatError, InputError

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "csv", "tsv", "jsonl", "arrow", "npz")
TEXT = ("csv", "tsv", "jsonl")
NAMES = {
    "parquet": "Parquet",
    "arrow": "Arrow IPC",
    "npz": "an .npz archive",
    "gzip": "gzip",
    "jsonl": "JSON lines",
    "text": "plain text",
    "other": "something else",
}


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
        One of `FORMATS`.
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


def locate(path: str | os.PathLike[str]) -> Origin:
    """Find the format of ``path`` by its ending, and check that the content agrees.

    ``-`` is standard input, whose format is taken from its content.

    Raises
    ------
    InputError
        The file is not there, empty, or of an unknown kind.
    FormatError
        The content is not what the ending says.
    """
    name = os.fspath(path)
    if name == "-":
        data = sys.stdin.buffer.read()
        if not data:
            raise InputError(
                "there is nothing to read", "write rows into the pipe", code="empty", file="stdin"
            )
        return _stdin(data)
    file = Path(name)
    if file.is_dir():
        raise InputError("this is a folder", "name a file", code="file-missing", file=name)
    suffixes = [suffix.lower().lstrip(".") for suffix in file.suffixes]
    packed = suffixes[-1:] == ["gz"]
    kind = suffixes[-2:-1] if packed else suffixes[-1:]
    if file.exists() and (not kind or kind[0] not in (TEXT if packed else FORMATS)):
        known = (
            ", ".join(f".{each}" for each in FORMATS)
            + "; gz for "
            + ", ".join(f".{each}.gz" for each in TEXT)
        )
        raise InputError(
            "unknown kind of file", f"name it by its content: {known}", code="file-kind", file=name
        )
    try:
        with file.open("rb") as stream:
            head = stream.read(512)
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - 8))
            tail = stream.read()
    except OSError as error:
        reason = (
            "no such file" if isinstance(error, FileNotFoundError) else (error.strerror or str(error)).lower()
        )
        raise InputError(reason, "check the path", code="file-missing", file=name) from error
    if not head.strip() and size == len(head):
        raise InputError("the file is empty", "write it again", code="empty", file=name)
    _agree(name, kind[0], packed, head, tail)
    return Origin(name, file, None, kind[0], packed)


def looks_like(head: bytes) -> str:
    """Name what the first bytes of a file look like: a key of `NAMES`."""
    for magic, kind in ((b"PAR1", "parquet"), (b"ARROW1", "arrow"), (b"\xff\xff\xff\xff", "arrow")):
        if head.startswith(magic):
            return kind
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return "npz"
    if head.startswith(b"\x1f\x8b"):
        return "gzip"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"{"):
        return "jsonl"
    return "other" if b"\x00" in text else "text"


def _stdin(data: bytes) -> Origin:
    kind = looks_like(data[:512])
    packed = kind == "gzip"
    head = data[:512]
    if packed:
        import zlib

        head = zlib.decompressobj(31).decompress(data[:65536], 512)
        kind = looks_like(head)
    if kind == "text":
        first_line = head.removeprefix(b"\xef\xbb\xbf").split(b"\n", 1)[0]
        kind = "tsv" if b"\t" in first_line else "csv"
    if kind not in FORMATS:
        raise FormatError(
            "neither a table nor an archive", "pipe CSV, TSV, JSON lines or Parquet", file="stdin"
        )
    return Origin("stdin", None, data, kind, packed)


def _agree(name: str, kind: str, packed: bool, head: bytes, tail: bytes) -> None:
    found = looks_like(head)
    expected = "gzip" if packed else ("text" if kind in ("csv", "tsv") else kind)
    if found == "jsonl" and expected == "text" and not head.lstrip().startswith((b'{"', b"{ ")):
        found = "text"
    if found != expected:
        ending = f".{kind}.gz" if packed else f".{kind}"
        raise FormatError(
            f"the name says {ending} but the content is {NAMES[found]}",
            "rename it, or write it again",
            code="file-mislabelled",
            file=name,
        )
    if kind == "parquet" and not tail.endswith(b"PAR1"):
        raise truncated(name)


def truncated(name: str) -> FormatError:
    """Make the error for a file that ends too early."""
    return FormatError("the file is cut short", "copy or write it again", code="file-truncated", file=name)


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn whatever a reader raises on a broken file into a `FormatError` that names the file."""
    import zipfile
    import zlib

    import pyarrow as pa

    try:
        yield
    except InputError:
        raise
    except (
        pa.ArrowException,
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
