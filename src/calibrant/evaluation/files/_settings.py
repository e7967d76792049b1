"""Settings from TOML as structs: what does not fit is an error that names its line."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from calibrant._checks import shown
from calibrant.exceptions import FormatError, InputError

Text = Annotated[str, Meta(pattern=r"\S")]
Share = Annotated[float, Meta(gt=0, lt=1)]
Kind = TypeVar("Kind", bound=Struct)
Steps = tuple[str | int, ...]

HEADER = re.compile(r"\s*\[+\s*([\w.-]+)\s*\]+")
FIELD = re.compile(r"Object (contains unknown|missing required) field `(.*)`", re.DOTALL)
WORDS = {"str": "text", "int": "whole number", "float": "number", "object": "table", "array": "list"}


class Settings:
    """A TOML file.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        There is no such file.
    FormatError
        It is no TOML.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = os.fspath(path)
        try:
            self._text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise self._broken("the file is no UTF-8 text", "save it as UTF-8") from error
        except OSError as error:
            message = f"cannot read it ({error.strerror})"
            raise InputError(message, "check the name", code="file-missing", file=self.file) from error
        try:
            self._values: dict[str, Any] = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            raise self._broken(f"no TOML: {error}", "repair that line") from error
        except (ValueError, RecursionError) as error:
            message = "no TOML: nested too deep, or a number too long"
            raise self._broken(message, "shorten it") from error

    def decoded(self, kind: type[Kind]) -> Kind:
        """Return the settings as a struct; raise `InputError` with the line that does not fit."""
        try:
            return msgspec.convert(self._values, kind)
        except msgspec.ValidationError as error:
            what, _, path = str(error).rpartition(" - at `$")
            whole = FIELD.fullmatch(str(error))
            if not what or (whole is not None and whole[2] in self._values):  # a key may hold " - at `$"
                what, path = str(error), ""
            raise self._unfit(kind, path.strip(".`"), what) from error

    def error(self, where: str, message: str, hint: str, code: str = "setting") -> InputError:
        """Make an error about a setting, a table, or the file.

        Parameters
        ----------
        where
            A path such as ``systems[1].name`` or ``task``; empty for the file.
        message, hint, code
            As in `InputError`.
        """
        return InputError(message, hint, code=code, file=self.file, line=self._line(_steps(where)))

    def _broken(self, message: str, hint: str) -> FormatError:
        return FormatError(message, hint, code="file-broken", file=self.file)

    def _unfit(self, kind: type[Struct], where: str, what: str) -> InputError:
        """The error for what msgspec found at a place."""
        info: Any = msgspec.inspect.type_info(kind)
        value: Any = self._values
        for step in _steps(where):
            info, value = _inner(info, step), value[step]
        table, field = where.partition("[")[0], FIELD.fullmatch(what)
        if field is None:
            near = _nearest(value, getattr(info, "values", ())) if isinstance(value, str) else ""
            return self.error(where, f"{where} is {shown(value)}", near or _wanted(what))
        key, where_in = field[2], f" in [{table}]" if table else ""
        if field[1] == "missing required":
            message, write = (
                (f"{key} is missing", f"{key} = ...") if table else ("there is no table", f"[{key}]")
            )
            return self.error(where, f"{message}{where_in or f' [{key}]'}", f"write {write}")
        message = f"there is no {'key' if table else 'table'} {shown(key)}{where_in}"
        hint = _nearest(key, [each.name for each in info.fields])
        return self.error(f"{where}.{key}".strip("."), message, hint)

    def _line(self, path: Steps) -> int | None:
        """Line of a key, or of its table's head; None where it cannot be found."""
        name = path[0] if path else ""
        number = next((step for step in path[1:2] if isinstance(step, int)), 0)
        key = next((step for step in path[1:] if isinstance(step, str)), None)
        current, seen, head = "", -1, None
        for place, line in enumerate(self._text.splitlines(), 1):
            found = HEADER.match(line)
            if found is not None:
                current = found[1]
                seen += current == name
                if current == name and seen == number:
                    head = place
            here = current == name and seen == number if key is not None else not current
            if here and re.match(rf"""\s*["']?{re.escape(str(key or name))}["']?\s*=""", line):
                return place
        return head


def _steps(path: str) -> Steps:
    """Keys and places of a path such as ``systems[1].name``."""
    return tuple(
        int(place) if place else key for key, place in re.findall(r"([^.\[\]]+)(?!\])|\[(\d+)\]", path)
    )


def _inner(info: Any, step: str | int) -> Any:
    """The type of a part of a struct or of a list, without None."""
    inner = info.item_type if isinstance(step, int) else {each.name: each.type for each in info.fields}[step]
    return next(
        (each for each in getattr(inner, "types", ()) if type(each) is not msgspec.inspect.NoneType), inner
    )


def _nearest(word: str, known: Sequence[str]) -> str:
    """Offer the nearest of several words, or all of them."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(known)}" if known else ""


def _wanted(what: str) -> str:
    """Say how to write what msgspec expected."""
    found = re.fullmatch(r"Expected `(.*?)(?: \| null)?`(.*?)(?:, got .*)?", what, re.DOTALL)
    if found is None:
        return what
    kinds = " or a ".join(WORDS[each] for each in found[1].split(" | "))
    return f"write a {kinds}{found[2]}".replace(r" matching regex '\\S'", " that is not blank")
