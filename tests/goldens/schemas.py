"""JSON of every command fits the schema that is generated from the command's record."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema

from calibrant.outputs import outputs
from calibrant.records import schema

UNDESCRIBED = {"demo"}
"""Commands without a schema: the demo prints parts of other results."""


@cache
def validator(command: str) -> jsonschema.Draft202012Validator:
    """Return the validator of a command's JSON.

    Examples
    --------
    >>> validator("data where").is_valid({"schema_version": 1, "folder": "data", "exists": True})
    True
    """
    found = schema(outputs()[command], command=command)
    jsonschema.Draft202012Validator.check_schema(found)
    return jsonschema.Draft202012Validator(found)


def check_schema(line: str, value: Any) -> None:
    """Raise if what a command line printed does not fit the schema of its command.

    Examples
    --------
    >>> check_schema("data where", {"schema_version": 1, "folder": 3, "exists": True})
    Traceback (most recent call last):
    ValueError: calibrant data where: $.folder: 3 is not of type 'string'
    """
    words = line.split()
    command = next(each for each in (" ".join(words[:2]), words[0]) if each in UNDESCRIBED | outputs().keys())
    if command not in UNDESCRIBED:
        for error in validator(command).iter_errors(value):
            raise ValueError(f"calibrant {line}: {error.json_path}: {error.message}")
