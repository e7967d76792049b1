"""A number with its interval, and how records show several of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from calibrant.results._base import Result
from calibrant.results.errors import Estimate
from calibrant.results.table import Cell, Column, between, interval_heading, known


@dataclass(frozen=True)
class IntervalEstimate(Result):
    """One number with its interval.

    Attributes
    ----------
    estimate
        The number; None where it is undefined.
    standard_error
        Standard error of the estimate; None where there is no interval.
    low, high
        Ends of the interval; None where undefined.
    level
        Nominal coverage of the interval.
    units
        Items, or clusters of them, that are taken as independent.
    reasons
        For each field that is None, why; and warnings, under ``warning``.
    """

    estimate: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    level: float
    units: int
    reasons: dict[str, str] = field(default_factory=dict)


def estimate_columns(name: str, heading: str, level: float) -> tuple[Column, Column]:
    """The columns of `estimate_cells`."""
    return Column(name, heading), Column(name, interval_heading(level), "interval")


def estimate_cells(value: IntervalEstimate | Estimate, reasons: Mapping[str, str]) -> tuple[Cell, Cell]:
    """A number and its interval, or why they are not there."""
    reason = "estimate", "low", "high"
    return known(value.estimate, reasons, *reason), between(
        value.low, value.high, reasons, *reason[1:], reason[0]
    )


def flattened(record: dict[str, Any]) -> dict[str, Any]:
    """Put each estimate of a record's dictionary as a number, its interval beside it, its reasons with all.

    Examples
    --------
    >>> found = IntervalEstimate(None, None, None, None, 0.95, 1, {"estimate": "one item"})
    >>> flat = flattened({"kappa": found.to_dict(), "reasons": {}})
    >>> flat["kappa"], flat["kappa_interval"]["level"], flat["reasons"]
    (None, 0.95, {'kappa': 'one item'})
    """
    flat: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for name, value in record.items():
        if not (isinstance(value, dict) and {"estimate", "units"} <= value.keys()):
            flat[name] = value
            continue
        flat[name] = value["estimate"]
        flat[f"{name}_interval"] = {key: part for key, part in value.items() if key != "reasons"}
        for key, reason in value["reasons"].items():
            place = name if key == "estimate" else f"{name}_interval.{key}"
            reasons[place] = reason
    return {**flat, "reasons": record.get("reasons", {}) | reasons}
