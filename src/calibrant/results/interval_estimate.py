"""A number with its interval, and how records show several of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

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
