"""Lines and members of log files, read with limits: a log says nothing true about its own size."""

from __future__ import annotations

import gzip
import json
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from calibrant.exceptions import FormatError
from calibrant.io.origin import truncated, unpacking, unreadable

LONGEST = 1 << 28  # bytes of one line, or of one member of a zip file
BUFFER = 1 << 20  # bytes, which hold many lines
HEAD = 1 << 16  # bytes by which a JSON file is recognized
NO_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
LARGEST = 1 << 31  # bytes of a file that is parsed as a whole
ZSTANDARD = 93
HALF = re.compile(  # of a surrogate pair: no character, so that no table could hold it
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)

raw_fields: Callable[[bytes], dict[str, Any]] = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
"""Return the values of an object, not yet parsed."""


def mapping(value: Any) -> dict[str, Any]:
    """Return the value if it is an object, else an empty one.

    Examples
    --------
    >>> mapping({"a": 1}), mapping("text")
    ({'a': 1}, {})
    """
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    """Return the value if it is a list, else an empty one.

    Examples
    --------
    >>> sequence([1]), sequence(None)
    ([1], [])
    """
    return value if isinstance(value, list) else []


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Open for bytes, unpacked where the file is compressed by gzip; broken files raise `FormatError`."""
    name = str(path)
    try:
        with path.open("rb", buffering=BUFFER) as file:
            packed = file.read(2) == b"\x1f\x8b"
            file.seek(0)
            yield unpacking(file, name) if packed else file
    except EOFError as error:
        raise truncated(name) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        message, hint = f"cannot be unpacked ({error})", "copy it again"
        raise FormatError(message, hint, code="file-broken", file=name) from error
    except OSError as error:
        raise unreadable(name, error) from error


def lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Objects of a file of JSON lines, or of one JSON list, each with the number of its line (or place)."""
    for number, line in _pieces(path):
        if isinstance(line, bytes):
            line = parsed(line, str(path), number, cut=not line.endswith(b"\n"))
        yield number, line


def scanned(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The same objects, of which each value is parsed when `value_of` asks for it.

    A line that is no object is an empty one here; only the last line may raise, if it was cut off.
    """
    for number, line in _pieces(path):
        if isinstance(line, bytes):
            line = _scanned_line(line, str(path), number)
        yield number, line


def _scanned_line(line: bytes, name: str, number: int) -> dict[str, Any]:
    try:
        return raw_fields(line)
    except NO_JSON:  # or it has NaN, which Python writes
        try:
            return parsed(line, name, number, cut=not line.endswith(b"\n"))
        except FormatError as error:
            if error.code == "file-truncated":
                raise
            return {}


def value_of(fields: Mapping[str, Any], key: str) -> Any:
    """Return a value of an object of `scanned`; None if there is none, or it is not valid JSON.

    Examples
    --------
    >>> value_of(raw_fields(b'{"a": [1], "b": 2}'), "a")
    [1]
    """
    value = fields.get(key)
    if type(value) is not msgspec.Raw:
        return value
    try:
        return msgspec.json.decode(value)
    except NO_JSON:
        with suppress(ValueError, RecursionError):
            return loaded(bytes(value))
        return None


def _pieces(path: Path) -> Iterator[tuple[int, bytes | dict[str, Any]]]:
    with opened(path) as stream:
        number = 0
        while line := stream.readline(LONGEST + 1):
            number += 1
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
                if line.strip() == b"[":
                    yield from enumerate(whole(path, list), 1)
                    return
            if len(line) > LONGEST:
                message = f"a line of more than {LONGEST >> 20} MiB"
                raise FormatError(message, "is this a log?", code="file-row", file=str(path), line=number)
            if line.strip():
                yield number, line


def loaded(data: bytes) -> Any:
    r"""Parse JSON in UTF-8; half a surrogate pair becomes the replacement character.

    Examples
    --------
    >>> ascii(loaded(b'["\\ud800", "\\ud83d\\ude00"]'))
    "['\\ufffd', '\\U0001f600']"
    """
    text = data.decode("utf-8")
    if "\\ud" in text or "\\uD" in text:
        text = HALF.sub(r"\\ufffd", text)
    return json.loads(text)


def parsed(line: bytes, name: str, number: int, *, cut: bool = False) -> dict[str, Any]:
    """One JSON object; ``cut``: the last line, which may have been cut off."""
    try:
        value = loaded(line)
    except UnicodeDecodeError as error:
        message, hint = "this is not UTF-8 text", "save it as UTF-8"
        raise FormatError(message, hint, code="file-broken", file=name, line=number) from error
    except (ValueError, RecursionError) as error:
        if cut:
            raise truncated(name) from error
        value = None
    if not isinstance(value, dict):
        shown = line.strip()[:60].decode("utf-8", "replace")
        hint = "write one object per line"
        raise FormatError(f"not a JSON object: {shown!r}", hint, code="file-row", file=name, line=number)
    return value


def head(path: Path) -> bytes:
    """Return the first bytes of a file, unpacked, without blanks before them."""
    with opened(path) as stream:
        data: bytes = stream.read(HEAD)
    return data.removeprefix(b"\xef\xbb\xbf").lstrip()


def whole(path: Path, kind: type[Any] | tuple[type[Any], ...]) -> Any:
    """Parse a whole file as JSON of a kind (list or dict)."""
    with opened(path) as stream:
        data = stream.read(LARGEST + 1)
    if len(data) > LARGEST:
        message = f"more than {LARGEST >> 30} GiB in one piece"
        raise FormatError(message, "write it as JSON lines, or as .eval", code="file-broken", file=str(path))
    try:
        value = loaded(data.removeprefix(b"\xef\xbb\xbf"))
    except UnicodeDecodeError as error:
        message, hint = "this is not UTF-8 text", "save it as UTF-8"
        raise FormatError(message, hint, code="file-broken", file=str(path)) from error
    except (ValueError, RecursionError) as error:
        hint = "write it again"
        message = f"the file is not valid JSON ({error})"
        raise FormatError(message, hint, code="file-broken", file=str(path)) from error
    if not isinstance(value, kind):
        expected = "a list" if kind is list else "an object"
        hint = "write other results as a table (.csv or .jsonl) with one row per answer"
        raise FormatError(f"the JSON is not {expected}", hint, code="file-broken", file=str(path))
    if kind is list and not all(isinstance(item, dict) for item in value):
        raise FormatError("the list has something else than objects", "is this a log?", file=str(path))
    return value


class Members:
    """The members of a zip file, each read up to a limit, whatever the file says of their sizes.

    Parameters
    ----------
    path
        The file.
    """

    def __init__(self, path: Path) -> None:
        self.name = os.fspath(path)
        try:
            self._file = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            with path.open("rb") as file:
                if file.read(2) == b"PK":
                    raise truncated(self.name) from error
            hint = "is this a log of inspect_ai?"
            raise FormatError("this is not a zip file", hint, code="log", file=self.name) from error
        except (NotImplementedError, ValueError) as error:  # of another version, or names that are no text
            message, hint = "the zip file cannot be read", "write the log again"
            raise FormatError(message, hint, code="file-broken", file=self.name) from error
        self._known = {member.filename: member for member in self._file.infolist()}

    def __contains__(self, name: str) -> bool:
        return name in self._known

    @property
    def names(self) -> list[str]:
        """All names, in the order of the file."""
        return list(self._known)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def json(self, name: str) -> Any:
        """Parse one member."""
        data = self.data(name)
        try:
            return loaded(data)
        except (ValueError, RecursionError) as error:
            message, hint = "this is not valid JSON", "write the log again"
            where = f"{self.name}, {name}"
            raise FormatError(message, hint, code="file-broken", file=where) from error

    def scanned(self, name: str) -> dict[str, Any]:
        """Return the fields of one member, as `scanned` does those of a line; empty if it is no object."""
        data = self.data(name)
        try:
            return raw_fields(data)
        except NO_JSON:
            return mapping(self.json(name))

    def data(self, name: str) -> bytes:
        """Unpack one member."""
        where = f"{self.name}, {name}"
        try:
            data = self._read(self._known[name])
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, struct.error) as error:
            reason = " ".join(str(error).split())[:120]
            message, hint = f"cannot be unpacked ({reason})", "copy it again"
            raise FormatError(message, hint, code="file-broken", file=where) from error
        if len(data) > LONGEST:
            message = f"it unpacks to more than {LONGEST >> 20} MiB"
            raise FormatError(message, "is this a log?", code="file-broken", file=where)
        return data

    def _read(self, member: zipfile.ZipInfo) -> bytes:
        if member.compress_type == ZSTANDARD:  # the standard library does not read it before Python 3.14
            return self._zstandard(member)
        try:
            with self._file.open(member) as stream:
                return stream.read(LONGEST + 1)
        except (NotImplementedError, RuntimeError) as error:
            raise OSError(str(error)) from error

    def _zstandard(self, member: zipfile.ZipInfo) -> bytes:
        import pyarrow as pa

        with open(self.name, "rb") as file:
            file.seek(member.header_offset)
            head = file.read(30)
            name, extra = struct.unpack("<26xHH", head)
            file.seek(name + extra, os.SEEK_CUR)
            most = min(LONGEST, os.fstat(file.fileno()).st_size)
            if member.compress_size > most:
                raise zipfile.BadZipFile(
                    f"{member.compress_size:,} bytes are stated, and at most {most:,} possible"
                )
            packed = file.read(member.compress_size)
        with pa.input_stream(pa.BufferReader(packed), compression="zstd") as stream:
            data: bytes = stream.read(LONGEST + 1)
        return data
