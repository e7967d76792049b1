"""Number with its interval and its number of independent units."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import setting
from calibrant.results.errors import Estimate


class IntervalEstimate(Estimate, frozen=True, kw_only=True):
    """Number with its interval and its number of independent units."""

    units: Annotated[
        int, setting("Units", "Number of items, or of clusters, that are assumed to be independent.")
    ]
