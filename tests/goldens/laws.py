"""Laws by which the JSON of a command, and with it every other format, follow from its text.

The JSON fits the schema of the command's record, the record that is read from it is the same, and the text of
that record is in the text that the command prints. So one format is stored; `tests/records/test_renderers.py`
tests the renderers, and `tests/test_formats.py` that every command prints its record with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import jsonschema

from calibrant.outputs import outputs
from calibrant.records import schema
from tests.decimals import decimals, decimals_in
from tests.goldens.commands import command_of, masked

UNDESCRIBED = {"demo"}
"""Commands without a schema: the demo prints parts of other results."""

ALONE = {
    "protocol-example": "writes a folder, which a second run refuses to overwrite",
    "study": "takes a minute; its JSON is in `docs/studies`, which other tests compare",
}
"""Goldens whose commands are not run a second time, with the reason."""

SHORTER = {
    "data list",
    "data where",
    "events plot",
    "events relations",
    "events table",
    "plot",
    "report",
    "slices",
}
"""Commands whose text may be a part or a summary; its decimals are then in the texts of the record."""


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


def broken(line: str, printed: str, written: str) -> list[str]:
    """Return the laws that the text and the JSON of a command line break, a line each.

    Examples
    --------
    >>> broken("data where", "data: exists", '{"schema_version": 1, "folder": 3, "exists": true}')
    ["calibrant data where: $.folder: 3 is not of type 'string'"]
    """
    command, value = command_of(line), json.loads(written)
    if " --candidate " in line:  # which makes `agree` print another record
        command = "agree candidate"
    if command == "judge" and "shares" in value:  # of class names
        command = "judge classes"
    if line.startswith("threshold ") and " --risk " in line:
        command = "threshold risk"
    if line.startswith("apply thresholds.json "):
        command = "apply thresholds"
    if command in UNDESCRIBED:
        return []
    found = [f"{each.json_path}: {each.message}" for each in validator(command).iter_errors(value)]
    return [f"calibrant {line}: {each}" for each in found or _misprinted(command, printed, value)]


def _misprinted(command: str, printed: str, value: Any) -> Iterator[str]:
    record = outputs()[command].from_dict(value)
    if json.loads(record.to_json()) != value:
        yield "the record that is read from its JSON is another one"
    if _squeezed(record.to_text()) in _squeezed(printed):
        return
    if command not in SHORTER:
        yield "its text does not contain the text of the record that its JSON is"
    for number in sorted(decimals(printed) - decimals_in(record)):
        yield f"{number} is not in the text of the record that its JSON is"


def _squeezed(text: str) -> str:
    """Return a text with its columns one blank apart: how many digits a time has differs from run to run."""
    return re.sub(" +", " ", masked(text))
