"""Settings from TOML: each key is known and has the right kind, or the error names its line."""

from __future__ import annotations

import difflib
import os
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from calibrant._checks import LARGEST, repeated, shown
from calibrant.exceptions import FormatError, InputError

HEADER = re.compile(r"\s*\[+\s*([\w.-]+)\s*\]+")


class Section:
    """One table of a settings file.

    Parameters
    ----------
    file
        The file, as errors name it.
    text
        All of it, to find lines in.
    name
        Of the table; empty for the top.
    values
        What it holds.
    number
        Which of several tables of that name, from 0.
    """

    def __init__(self, file: str, text: str, name: str, values: Mapping[str, Any], number: int = 0) -> None:
        self.file = file
        self._text = text
        self._name = name
        self._values = values
        self._number = number

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def only(self, known: Iterable[str]) -> Section:
        """Raise where there is another key than those known; the nearest spelling is offered."""
        known = list(known)
        for key in self._values:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"
                kind = "table" if not self._name else "key"
                raise self.error(f"there is no {kind} {shown(key)}{self._where}", hint, key)
        return self

    def error(self, message: str, hint: str, key: str | None = None, code: str = "setting") -> InputError:
        """Make an error about a key, or about the table."""
        return InputError(message, hint, code=code, file=self.file, line=self.line(key))

    def line(self, key: str | None = None) -> int | None:
        """Line of a key, or of the table's head; None where it cannot be found."""
        current, seen, head = "", -1, None
        for number, line in enumerate(self._text.splitlines(), 1):
            found = HEADER.match(line)
            if found is not None:
                current = found[1]
                seen += current == self._name
                if current == self._name and seen == self._number:
                    head = number
                if not self._name and current == key:
                    return number
            here = current == self._name and (not self._name or seen == self._number)
            if key is not None and here and re.match(rf"""\s*["']?{re.escape(key)}["']?\s*=""", line):
                return number
        return head

    def table(self, key: str) -> Section | None:
        """Return a table; None where it is not there."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(f"{key} is no table", f"write it as [{key}]", key)
        return Section(self.file, self._text, key, value)

    def tables(self, key: str) -> list[Section]:
        """Return the tables of an array."""
        values = self._values.get(key, [])
        if not isinstance(values, list) or not all(isinstance(value, Mapping) for value in values):
            raise self.error(f"{key} is no list of tables", f"write each as [[{key}]]", key)
        return [Section(self.file, self._text, key, value, place) for place, value in enumerate(values)]

    def text(self, key: str) -> str | None:
        """Return a text that is not empty; None where it is not there."""
        value = self._values.get(key)
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self.error(f"{key} is {shown(value)}", "write a text in quotes", key)
        return value

    def needed(self, key: str) -> str:
        """Return a text that must be there."""
        value = self.text(key)
        if value is None:
            raise self.error(f"{key} is missing{self._where}", f'write {key} = "..."', None)
        return value

    def choice(self, key: str, known: Iterable[str], default: str) -> str:
        """Return one of several words."""
        value = self.text(key) or default
        known = list(known)
        if value not in known:
            near = difflib.get_close_matches(value, known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}"
            raise self.error(f"{key} is {shown(value)}", hint, key)
        return value

    def number(self, key: str) -> float | None:
        """Return a finite number; None where it is not there."""
        value = self._values.get(key)
        if value is None:
            return None
        right = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not right or not abs(value) <= sys.float_info.max:
            raise self.error(f"{key} is {shown(value)}", "write a number", key)
        return float(value)

    def share(self, key: str, default: float) -> float:
        """Return a number between 0 and 1, ends left out."""
        value = self.number(key)
        if value is None:
            return default
        if not 0 < value < 1:
            raise self.error(f"{key} is {value:g}", "write a number between 0 and 1, such as 0.95", key)
        return value

    def whole(self, key: str, least: int) -> int | None:
        """Return a whole number from ``least`` on; None where it is not there."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.error(f"{key} is {shown(value)}", f"write a whole number of {least} or more", key)
        return value

    def texts(self, key: str) -> tuple[str, ...] | None:
        """Return a list of different texts; None where it is not there. Numbers are taken as text."""
        values = self._values.get(key)
        if values is None:
            return None
        if not isinstance(values, list) or not values:
            raise self.error(f"{key} is {shown(values)}", f'write a list: {key} = ["...", "..."]', key)
        found = []
        for value in values:
            number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < LARGEST
            if not number and not (isinstance(value, str) and value.strip()):
                raise self.error(f"{key} has {shown(value)}", "write a text in quotes", key)
            found.append(str(value))
        if len(set(found)) < len(found):
            again = repeated(found)
            raise self.error(f"{key} has {again!r} twice", "name it once", key, code="duplicate")
        return tuple(found)

    def file_of(self, key: str) -> Path | None:
        """Return the path of a file, relative to the settings' folder; None where it is not there."""
        value = self.text(key)
        return None if value is None else Path(self.file).parent / value

    @property
    def _where(self) -> str:
        return f" in [{self._name}]" if self._name else ""


def read_settings(path: str | os.PathLike[str]) -> Section:
    """Read a TOML file.

    Raises
    ------
    InputError
        There is no such file.
    FormatError
        It is no TOML.
    """
    file = os.fspath(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(
            "the file is no UTF-8 text", "save it as UTF-8", code="file-broken", file=file
        ) from error
    except OSError as error:
        hint = "check the name"
        raise InputError(
            f"cannot read it ({error.strerror})", hint, code="file-missing", file=file
        ) from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"no TOML: {error}", "repair that line", code="file-broken", file=file) from error
    except (ValueError, RecursionError) as error:
        message, hint = "no TOML: nested too deep, or a number too long", "shorten it"
        raise FormatError(message, hint, code="file-broken", file=file) from error
    return Section(file, text, "", values)
