"""Text files, plain or compressed, with errors that name the line; small files with a text for each class."""

from __future__ import annotations

import io
import os
import sys
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO, Any, cast

from calibrant.exceptions import FormatError, InputError
from calibrant.io.origin import LONGEST, long_line, reading, reads_once, ungzipped, unpacking, unreadable
from calibrant.io.table_formats import looks_like, title_of

GZIP = b"\x1f\x8b"
HEAD = 4096  # bytes by which a text is told from something else


def read_lines(path: str | os.PathLike[str]) -> tuple[str, list[str]]:
    r"""Read the lines of a text, without their ends; return the name that errors give it, and them.

    Content compressed by gzip is unpacked for any name; ``-`` is standard input.

    Raises
    ------
    InputError
        The file is not there or empty.
    FormatError
        The file is cut short, is no text, is not encoded as UTF-8, or has a carriage return inside a line.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/a.txt").write_text("one\r\n\ntwo\n")
    ...     read_lines(f"{folder}/a.txt")[1]
    ['one', '', 'two', '']
    """
    name = "stdin" if os.fspath(path) == "-" else os.fspath(path)
    data = _bytes(name, path)
    if data.startswith(GZIP):
        with reading(name):
            data = ungzipped(data, name)
    elif name.endswith(".gz") and data:
        raise _not_packed(name, data)
    if not data.removeprefix(BOM_UTF8).strip():
        raise _empty(name)
    _check_head(name, data[:HEAD])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(name, data, error, data.count(b"\n", 0, error.start) + 1) from error
    # Not splitlines: a token may hold any of the other characters that it takes for line ends.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if "\r" in text:
        _check_line_ends(name, lines)
    return name, lines


@contextmanager
def open_lines(path: str | os.PathLike[str]) -> Iterator[tuple[str, Iterator[str]]]:
    r"""Yield lines as `read_lines`, for files that may be larger than memory.

    Errors inside the file are raised when they are reached.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(f"{folder}/a.txt").write_text("one\r\n\ntwo\n")
    ...     with open_lines(f"{folder}/a.txt") as (name, lines):
    ...         list(lines)
    ['one', '', 'two', '']
    """
    name = "stdin" if os.fspath(path) == "-" else os.fspath(path)
    with ExitStack() as stack:
        file: IO[bytes] = io.BytesIO(_bytes(name, path)) if name == "stdin" else _opened(name, path)
        raw: io.BufferedReader[Any] = stack.enter_context(io.BufferedReader(cast(io.RawIOBase, file)))
        packed = raw.peek(2).startswith(GZIP)
        if packed:
            raw = stack.enter_context(unpacking(raw, name))
        elif name.endswith(".gz") and raw.peek(1):
            raise _not_packed(name, raw.peek(512))
        with reading(name) if packed else nullcontext():
            _check_head(name, raw.peek(HEAD)[:HEAD])
        yield name, _lines(name, raw, packed)


def is_json_lines(path: str | os.PathLike[str]) -> bool:
    """Return True if a file contains JSON lines, by its name or its first character; True for a pipe."""
    name = os.fspath(path)
    if reads_once(path) or name.removesuffix(".gz").endswith(".jsonl"):
        return True
    if not Path(name).is_file():
        return False
    with open_lines(path) as (_, lines):
        return next((line.lstrip().startswith("{") for line in lines if line.strip()), False)


def _opened(name: str, path: str | os.PathLike[str]) -> IO[bytes]:
    try:
        return Path(path).open("rb", buffering=0)
    except OSError as error:
        raise unreadable(name, error) from error


def _lines(name: str, raw: IO[bytes], packed: bool) -> Iterator[str]:
    blank, data, number = True, b"\n", 0
    with reading(name) if packed else nullcontext():
        for number, data in enumerate(iter(partial(raw.readline, LONGEST + 1), b""), 1):
            if len(data) > LONGEST:
                raise long_line(name, number)
            try:
                line = data.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise _not_utf8(name, data, error, number) from error
            line = line.removesuffix("\n").removesuffix("\r")
            if "\r" in line:
                _check_line_ends(name, [line], number)
            blank = blank and not (data.removeprefix(BOM_UTF8) if number == 1 else data).strip()
            yield line
    if blank:
        raise _empty(name)
    if data.endswith(b"\n"):
        yield ""


def _check_line_ends(name: str, lines: list[str], first: int = 1) -> None:
    """Raise `FormatError` at a carriage return inside a line, which may have been meant as its end."""
    for number, line in enumerate(lines, first):
        if "\r" in line:
            message, hint = "a carriage return is inside the line", "save it with line ends LF or CRLF"
            raise FormatError(message, hint, code="file-broken", file=name, line=number)


def _bytes(name: str, path: str | os.PathLike[str]) -> bytes:
    if name == "stdin":
        return sys.stdin.buffer.read()
    with _opened(name, path) as file:
        return file.read()


def _check_head(name: str, head: bytes) -> None:
    if looks_like(head) == "utf16":
        raise FormatError("this is UTF-16", "save it as UTF-8", code="file-mislabelled", file=name)
    if b"\x00" in head or looks_like(head[:512]) == "parquet":
        kind = title_of("parquet" if looks_like(head[:512]) == "parquet" else "other")
        raise FormatError(f"this is {kind}, not text", "give a text", code="file-mislabelled", file=name)


def _empty(name: str) -> InputError:
    return InputError("the file is empty", "write it again", code="empty", file=name)


def _not_packed(name: str, data: bytes) -> FormatError:
    message = f"the name says .gz but the content is {title_of(looks_like(data[:512]))}"
    return FormatError(message, "rename it, or write it again", code="file-mislabelled", file=name)


def _not_utf8(name: str, data: bytes, error: UnicodeDecodeError, line: int) -> FormatError:
    message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
    return FormatError(message, "save it as UTF-8", code="file-broken", file=name, line=line)


def read_class_table(path: str | os.PathLike[str]) -> dict[str, str]:
    r"""Read a text of lines with a class, a tab, and what belongs to it; empty lines are skipped.

    Raises
    ------
    InputError
        If there is no such file, a line does not have two parts, or a class is in two lines.
    FormatError
        The file is not UTF-8.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "groups.tsv").write_text("NN\topen\nDT\tclosed\n")
    ...     read_class_table(f"{folder}/groups.tsv")
    {'NN': 'open', 'DT': 'closed'}
    """
    name, lines = read_lines(path)
    text_of: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        parts = [part.strip() for part in line.split("\t")]
        if len(parts) != 2 or not all(parts):
            hint = "write a name, a tab, and what it has, such as its group, count or answer"
            message = f"{line[:60]!r} does not have two parts"
            raise InputError(message, hint, code="file-row", file=name, line=number)
        if parts[0] in text_of:
            message = f"{parts[0]!r} is in two lines"
            raise InputError(message, "name each once", code="file-row", file=name, line=number)
        text_of[parts[0]] = parts[1]
    if not text_of:
        raise InputError("the file is empty", "write one line per class", code="empty", file=name)
    return text_of
