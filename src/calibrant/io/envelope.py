"""Saved things as JSON: a struct with a format and a version, and in most a checksum of all of it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import msgspec

from calibrant._checks import decoded, located
from calibrant.exceptions import FormatError, InputError
from calibrant.io.atomic import writing
from calibrant.io.origin import unreadable
from calibrant.records import plain

LARGEST = 1 << 30  # bytes
BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError)

Version = Annotated[int, msgspec.Meta(ge=1)]
Content = TypeVar("Content", bound=msgspec.Struct)


@dataclass(frozen=True)
class Envelope(Generic[Content]):
    """One kind of saved thing.

    Attributes
    ----------
    content
        Struct of the content of its files. If the struct has a tag, the tag identifies its files; if it
        has a field ``checksum``, `write` fills the field and reading checks it.
    version
        The newest format version that this release reads and writes.
    name
        Its name in messages.
    make, again
        Hints for a file of another kind, and for a damaged file.
    key
        The field of the format version.
    oldest
        The oldest format version that this release reads.
    """

    content: type[Content]
    version: int
    name: str
    make: str
    again: str
    key: str = "schema_version"
    oldest: int = 1

    def write(self, path: str | os.PathLike[str], content: Content) -> None:
        """Write a file, whole or not at all."""
        header = msgspec.to_builtins(content, enc_hook=plain)
        header["checksum"] = checksum(header)
        text = json.dumps(header, indent=1, allow_nan=False, ensure_ascii=False)
        try:
            data = text.encode() + b"\n"
        except UnicodeEncodeError as error:
            message = f"a name contains a lone surrogate ({text[error.start : error.end]!a})"
            raise InputError(message, "rename it", code="text", file=os.fspath(path)) from error
        with writing(path) as file:
            file.write(data)

    def read(self, path: str | os.PathLike[str]) -> Content:
        """Read a file of this format, in this version or an older one.

        Raises
        ------
        InputError
            There is no such file.
        FormatError
            It is something else, is damaged, or was written by a newer calibrant.
        """
        name = os.fspath(path)
        data = file_bytes(name)
        if not data.lstrip().startswith(b"{"):
            raise self.foreign(name)
        return self.decode(data, name)

    def decode(self, data: bytes, name: str) -> Content:
        """Return the content of a file from its JSON; errors as those of `read`."""
        try:
            values = msgspec.json.decode(data)
        except (ValueError, RecursionError) as error:
            why = located(error) if isinstance(error, msgspec.DecodeError) else str(error)
            raise self.damaged(name, f"no whole JSON object, {why.removeprefix('$: ')}") from error
        return self.checked(values, name)

    def checked(self, values: Any, name: str) -> Content:
        """Return the content of a file from its plain values; errors as those of `read`."""
        config = self.content.__struct_config__
        if not isinstance(values, dict):
            raise self.damaged(name, "not a JSON object")
        if config.tag_field is not None and values.get(config.tag_field) != config.tag:
            raise self.foreign(name)
        version = values.get(self.key)
        if type(version) is int and version > self.version:
            reads = f"but this calibrant reads up to {self.version}"
            message = f"the {self.name} has format version {version}, {reads}"
            raise FormatError(message, "install a newer calibrant", code="file-newer", file=name)
        if type(version) is int and 1 <= version < self.oldest:
            message = f"the {self.name} has format version {version}, but this calibrant reads {self.oldest}"
            raise FormatError(message, self.again, code="version", file=name)
        try:
            content = decoded(values, self.content)
            if hasattr(content, "checksum") and content.checksum != checksum(values):
                raise ValueError("$.checksum: does not match the content")
        except (ValueError, RecursionError) as error:
            raise self.damaged(name, str(error)) from error
        return content

    @contextmanager
    def reviving(self, name: str) -> Iterator[None]:
        """Name the file, and what to do, in errors about a state that it holds."""
        try:
            yield
        except InputError as error:
            newer = error.code == "version"
            hint = f"{error.hint}; install a newer calibrant" if newer else error.hint or self.again
            code = "file-newer" if newer else "file-broken"
            raise FormatError(error.message, hint, code=code, file=name) from error
        except BROKEN as error:
            raise self.damaged(name) from error

    def damaged(self, name: str, why: str = "") -> FormatError:
        """Return the error for a damaged file; it may begin with the path of a value."""
        message = f"the {self.name} is damaged" + (f" ({why})" if why else "")
        return FormatError(message, self.again, code="file-broken", file=name)

    def foreign(self, name: str) -> FormatError:
        """Return the error for a file that is another thing."""
        return FormatError(f"this is not a saved {self.name}", self.make, code="file-mislabelled", file=name)


def file_bytes(name: str) -> bytes:
    """Return the content of a file, or raise `InputError`."""
    try:
        with open(name, "rb") as file:
            return file.read(LARGEST)
    except OSError as error:
        raise unreadable(name, error) from error


def checksum(header: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the rest of a header, to detect changed and missing numbers."""
    content = {key: value for key, value in header.items() if key != "checksum"}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
