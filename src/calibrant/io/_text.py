"""Whole text files, plain or compressed, decoded with errors that name the line."""

from __future__ import annotations

import gzip
import os
import sys
from pathlib import Path

from calibrant.exceptions import FormatError, InputError
from calibrant.io._origin import NAMES, looks_like, reading

GZIP = b"\x1f\x8b"


def read_lines(path: str | os.PathLike[str]) -> tuple[str, list[str]]:
    r"""Read the lines of a text, without their ends; return the name that errors give it, and them.

    What gzip has packed is unpacked, whatever the name; ``-`` is standard input.

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
            data = gzip.decompress(data)
    elif name.endswith(".gz") and data:
        message = f"the name says .gz but the content is {NAMES[looks_like(data[:512])]}"
        raise FormatError(message, "rename it, or write it again", code="file-mislabelled", file=name)
    if not data.strip():
        raise InputError("the file is empty", "write it again", code="empty", file=name)
    if b"\x00" in data[:4096] or looks_like(data[:512]) == "parquet":
        found = NAMES["parquet" if looks_like(data[:512]) == "parquet" else "other"]
        raise FormatError(f"this is no text but {found}", "give a text", code="file-mislabelled", file=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"the byte 0x{data[error.start]:02x} is not UTF-8"
        raise FormatError(message, "save it as UTF-8", code="file-broken", file=name, line=line) from error
    # Not splitlines: a token may hold any of the other characters that it takes for line ends.
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if "\r" in text:
        _check_line_ends(name, lines)
    return name, lines


def _check_line_ends(name: str, lines: list[str]) -> None:
    """Raise where a carriage return is no part of a line's end: each may have been meant as one."""
    for number, line in enumerate(lines, 1):
        if "\r" in line:
            message, hint = "a carriage return stands inside the line", "save it with line ends LF or CRLF"
            raise FormatError(message, hint, code="file-broken", file=name, line=number)


def _bytes(name: str, path: str | os.PathLike[str]) -> bytes:
    if name == "stdin":
        return sys.stdin.buffer.read()
    try:
        return Path(path).read_bytes()
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "no such file" if missing else (error.strerror or str(error)).lower()
        raise InputError(reason, "check the path", code="file-missing", file=name) from error
