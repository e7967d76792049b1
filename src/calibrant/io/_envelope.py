"""Saved things as JSON: a format, a version, the content, and a checksum of all of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calibrant._checks import is_unicode
from calibrant.exceptions import FormatError, InputError
from calibrant.io._atomic import writing

LARGEST = 1 << 30  # bytes


@dataclass(frozen=True)
class Envelope:
    """One kind of saved thing.

    Attributes
    ----------
    format
        The first key of its files.
    version
        The newest format version that this release reads and writes.
    name
        Its name in messages.
    make, again
        What to do if a file is another thing, or is damaged.
    """

    format: str
    version: int
    name: str
    make: str
    again: str

    def write(self, path: str | os.PathLike[str], content: Mapping[str, Any]) -> None:
        """Write a file, whole or not at all."""
        header = {"format": self.format, "schema_version": self.version, **content}
        header["checksum"] = checksum(header)
        text = json.dumps(header, indent=1, allow_nan=False, ensure_ascii=False)
        try:
            data = text.encode() + b"\n"
        except UnicodeEncodeError as error:
            message = (
                f"a name contains half of a character (a lone surrogate, {text[error.start : error.end]!a})"
            )
            raise InputError(message, "rename it", code="text", file=os.fspath(path)) from error
        with writing(path) as file:
            file.write(data)

    def read(self, path: str | os.PathLike[str]) -> dict[str, Any]:
        """Read a file of this format, in this version or an older one.

        Raises
        ------
        InputError
            There is no such file.
        FormatError
            It is something else, is damaged, or was written by a newer calibrant.
        """
        name = os.fspath(path)
        try:
            with open(name, "rb") as file:
                data = file.read(LARGEST)
        except OSError as error:
            missing = isinstance(error, FileNotFoundError)
            reason = "no such file" if missing else (error.strerror or str(error)).lower()
            raise InputError(reason, "check the path", code="file-missing", file=name) from error
        if not data.lstrip().startswith(b"{"):
            raise self._foreign(name)
        try:
            header: dict[str, Any] = json.loads(data, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            message, hint = "this is no whole JSON object: damaged or cut short", "copy or write it again"
            raise FormatError(message, hint, code="file-broken", file=name) from error
        if header.get("format") != self.format:
            raise self._foreign(name)
        version = header.get("schema_version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise self.damaged(name)
        if version > self.version:
            reads = f"this calibrant reads up to {self.version}"
            message = f"the {self.name} has format version {version}, {reads}"
            raise FormatError(message, "install a newer calibrant", code="file-newer", file=name)
        written = json.dumps(header, ensure_ascii=False)
        if header.get("checksum") != checksum(header) or not is_unicode(written):
            raise self.damaged(name)
        return header

    def damaged(self, name: str) -> FormatError:
        """Return the error for a damaged file."""
        return FormatError(f"the {self.name} is damaged", self.again, code="file-broken", file=name)

    def _foreign(self, name: str) -> FormatError:
        return FormatError(f"this is no saved {self.name}", self.make, code="file-mislabelled", file=name)


def checksum(header: Mapping[str, Any]) -> str:
    """SHA-256 of everything else in a header: a number that was changed is seen as well as one cut off."""
    content = {key: value for key, value in header.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no number")
