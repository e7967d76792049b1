"""A number with its interval, and how records show several of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from calibrant.records import Quantity, setting
from calibrant.records.table import Cell, Column, between, interval_heading, known
from calibrant.results.errors import Estimate


class IntervalEstimate(Estimate, frozen=True, kw_only=True):
    """A number with its interval and what the interval is based on."""

    units: Annotated[
        int, setting("Units", "Number of items, or of clusters of items, that are taken as independent.")
    ]

    @property
    def reasons(self) -> dict[str, str]:
        """Why fields are None, and the warning: as records without declared fields take them."""
        if self.reason is None:
            return {} if self.warning is None else {"warning": self.warning}
        names = ("estimate", "standard_error", "low", "high")
        return {name: self.reason for name in names if getattr(self, name) is None}


def estimate_columns(name: str, heading: str, level: float) -> tuple[Column, Column]:
    """The columns of `estimate_cells`."""
    return Column(name, heading), Column(name, interval_heading(level), "interval")


def estimate_cells(value: Quantity, reasons: Mapping[str, str]) -> tuple[Cell, Cell]:
    """A number and its interval, or why they are not there."""
    reason = "estimate", "low", "high"
    return known(value.estimate, reasons, *reason), between(
        value.low, value.high, reasons, *reason[1:], reason[0]
    )


def flattened(record: dict[str, Any]) -> dict[str, Any]:
    """Put each estimate of a record's dictionary as a number, its interval beside it, its reasons with all.

    Examples
    --------
    >>> found = IntervalEstimate(0.5, reason="one item", level=0.95, units=1)
    >>> flat = flattened({"kappa": found.to_dict(), "reasons": {}})
    >>> flat["kappa"], flat["kappa_interval"]["level"], flat["reasons"]
    (0.5, 0.95, {'kappa_interval.standard_error': 'one item', ...})
    """
    flat: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    parts = ("estimate", "standard_error", "low", "high", "level", "units")
    for name, value in record.items():
        if not (isinstance(value, dict) and {"estimate", "units"} <= value.keys()):
            flat[name] = value
            continue
        flat[name] = value["estimate"]
        flat[f"{name}_interval"] = {key: value.get(key) for key in parts}
        for key, reason in IntervalEstimate.from_dict(value).reasons.items():
            place = name if key == "estimate" else f"{name}_interval.{key}"
            reasons[place] = reason
    return {**flat, "reasons": record.get("reasons", {}) | reasons}
