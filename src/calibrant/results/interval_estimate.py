"""A number with its interval."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import setting
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
