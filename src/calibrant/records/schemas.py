"""The JSON Schema of a record, generated from its fields."""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import msgspec

from calibrant.records.fields import fields_of
from calibrant.records.record import OPTIONAL, SCHEMA_VERSION, Quantity, Record
from calibrant.records.words import first_line


def schema(kind: type[Record], *, command: str = "") -> dict[str, Any]:
    """Return the JSON Schema of what ``to_json`` of a record writes.

    Parameters
    ----------
    kind
        The record.
    command
        Command that prints the record, for the schema's title; without one, the title is the first line of
        the record's docstring.

    Examples
    --------
    >>> from calibrant.records import Quantity
    >>> schema(Quantity)["properties"]["reason"]["type"]
    ['string', 'null']
    """
    (_,), parts = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}", schema_hook=_unseen)
    known = _inside(kind)
    found = {name: _shown(_known(node, known), known[name]) for name, node in parts.items() if name in known}
    top = found.pop(kind.__name__)
    version = {"const": SCHEMA_VERSION, "description": "Version of this format."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **top,
        "title": f"calibrant {command} --json" if command else first_line(kind.__doc__),
        "properties": {"schema_version": version, **top["properties"]},
        "required": ["schema_version", *top["required"]],
        "$defs": found,
    }


def _unseen(kind: Any) -> dict[str, Any]:
    """Hidden fields may have types that JSON does not know; they are taken out."""
    return {"type": "object"}


def _shown(node: Any, kind: type[Record]) -> dict[str, Any]:
    """A record's schema without hidden fields; `to_dict` always writes every other field."""
    properties = {
        name: _typed(each)
        for name, each in node.get("properties", {}).items()
        if each.get("role") != "hidden"
    }
    left_out = OPTIONAL if issubclass(kind, Quantity) else ()
    required = [name for name in properties if name not in left_out]
    text = first_line(kind.__doc__)
    return {**node, "description": f"{text}.", "properties": properties, "required": required}


def _known(node: Any, known: Container[str]) -> Any:
    """A schema without references to records that have no declared fields: they are any object."""
    if isinstance(node, list):
        return [_known(each, known) for each in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node and node["$ref"].rpartition("/")[2] not in known:
        return {**{key: node[key] for key in node if key != "$ref"}, "type": "object"}
    return {key: _known(value, known) for key, value in node.items()}


def _typed(node: dict[str, Any]) -> dict[str, Any]:
    """A field's schema without its default, and with types of a choice as one list."""
    node = {key: value for key, value in node.items() if key != "default"}
    kinds = node.get("anyOf", ())
    if kinds and all(set(each) == {"type"} for each in kinds):
        del node["anyOf"]
        node["type"] = [each["type"] for each in kinds]
    return node


def _inside(kind: type[Record]) -> dict[str, type[Record]]:
    """The record and every record in its fields, by name."""
    found, waiting = {kind.__name__: kind}, [kind]
    while waiting:
        for field in fields_of(waiting.pop()):
            if field.kind is not None and issubclass(field.kind, Record) and field.kind.__name__ not in found:
                found[field.kind.__name__] = field.kind
                waiting.append(field.kind)
    return found
