"""Number with its interval and its number of independent units."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import setting, warning
from calibrant.results.errors import Estimate

Few = Annotated[
    str | None,
    warning("The clusters are too few or too unequal, or the values too skewed, for the intervals."),
]


class IntervalEstimate(Estimate, frozen=True, kw_only=True):
    """Number with its interval and its number of independent units."""

    units: Annotated[
        int, setting("Units", "Number of items, or of clusters, that are assumed to be independent.")
    ]
