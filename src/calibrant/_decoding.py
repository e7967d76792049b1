"""Plain values as the structs that declare them; an error names the path of the value that is wrong."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

Kind = TypeVar("Kind")
LONGEST = 200  # characters of an error that may quote a file


def decoded(values: Any, kind: type[Kind], at: str = "$") -> Kind:
    """Return plain values as a struct, or as another type that is declared.

    Parameters
    ----------
    values
        As JSON or TOML has them; a struct of the kind is returned as it is.
    kind
        A `msgspec.Struct`, a dataclass, or any annotation that msgspec knows.
    at
        Path of the values in their file.

    Raises
    ------
    ValueError
        Its text begins with the path of the first value that does not fit.

    Examples
    --------
    >>> decoded({"n": ["1"]}, dict[str, list[int]])
    Traceback (most recent call last):
    ValueError: $[...][0]: expected int, got str
    """
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise ValueError(located(error, at)) from error


def located(error: msgspec.DecodeError, at: str = "$") -> str:
    """Return what msgspec found, its path first.

    Examples
    --------
    >>> located(msgspec.ValidationError("Expected `int`, got `str` - at `$.n`"), "$.state")
    '$.state.n: expected int, got str'
    """
    what, _, where = str(error).replace("`", "").rpartition(" - at ")
    if not what:
        what, where = where, "$"
    what = what if what.startswith("JSON") else what[:1].lower() + what[1:]
    return f"{where.replace('$', at, 1)}: {what:.{LONGEST}}"
