"""JSON in few lines, with all digits: short values on one line, numbers many to a line."""

from __future__ import annotations

import json
from typing import Any

WIDTH = 118


def compact(value: Any) -> str:
    """Print a value as JSON; NaN and infinities are printed as Python does.

    Examples
    --------
    >>> print(compact({"a": 1.5, "b": [1, 2]}), end="")
    {"a": 1.5, "b": [1, 2]}
    """
    return "\n".join(_lines(value, "")) + "\n"


def _lines(value: Any, indent: str, before: str = "") -> list[str]:
    short = indent + before + _dumped(value)
    if len(short) <= WIDTH or not isinstance(value, dict | list) or not value:
        return [short]
    inner = indent + " "
    if isinstance(value, dict):
        parts = [_lines(each, inner, f"{_dumped(key)}: ") for key, each in value.items()]
        ends = "{}"
    elif any(isinstance(each, dict | list) for each in value):
        parts, ends = [_lines(each, inner) for each in value], "[]"
    else:
        parts, ends = [[line] for line in _filled(value, inner)], "[]"
    body = [
        line + ("," if part is not parts[-1] and line is part[-1] else "") for part in parts for line in part
    ]
    return [f"{indent}{before}{ends[0]}", *body, f"{indent}{ends[1]}"]


def _filled(values: list[Any], indent: str) -> list[str]:
    lines = [indent]
    for text in map(_dumped, values):
        if len(lines[-1]) + len(text) > WIDTH and lines[-1].strip():
            lines.append(indent)
        lines[-1] += text if lines[-1] == indent else f", {text}"
    return lines


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
