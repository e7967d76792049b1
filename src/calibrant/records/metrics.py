"""A record as a flat dictionary of floats, for trackers of experiments and for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from calibrant.records.fields import fields_of
from calibrant.records.record import Quantity, Record, worded

ENDS = ("estimate", "low", "high")


def metrics_of(record: Record | Mapping[str, Any]) -> dict[str, float]:
    """Return all numbers of a record by their names, joined with ``/``; undefined ones are left out.

    An interval is two further entries, ``NAME_low`` and ``NAME_high``. Rows are called by their names, and by
    their places where two have the same name. No value is NaN.

    Parameters
    ----------
    record
        Any record, or a mapping with records.

    Examples
    --------
    >>> from calibrant import measure
    >>> found = metrics_of(measure([0, 1, 1, 0] * 50, [0.2, 0.9, 0.6, 0.3] * 50))
    >>> found["views/binary/n"], found["views/binary/calibration_error_low"] > 0
    (200.0, True)
    """
    return dict(_numbers(record, ""))


def _numbers(value: Any, name: str) -> Iterator[tuple[str, float]]:
    before = f"{name}/" if name else ""
    if isinstance(value, Quantity):
        for end in ENDS:
            part = getattr(value, end)
            if part is not None:
                yield name if end == "estimate" else f"{name}_{end}", float(part)
    elif isinstance(value, Record):
        for field in fields_of(type(value)):
            yield from _numbers(getattr(value, field.name), f"{before}{field.name}")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _numbers(inner, f"{before}{key}")
    elif isinstance(value, tuple) and value and all(isinstance(row, Record) for row in value):
        names = [_name(row) for row in value]
        for place, (row, own) in enumerate(zip(value, names, strict=True)):
            called = own if own and names.count(own) == 1 else f"{place}"
            yield from _numbers(row, f"{before}{called}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield name, float(value)


def _name(row: Record) -> str:
    names = (field.name for field in fields_of(type(row)) if field.role == "name")
    return " ".join(filter(None, (worded(getattr(row, name)) for name in names))).replace("/", ":")
