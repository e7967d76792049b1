"""A number with its interval, and how many units it is based on."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import setting
from calibrant.results.errors import Estimate


class IntervalEstimate(Estimate, frozen=True, kw_only=True):
    """A number with its interval and what the interval is based on."""

    units: Annotated[
        int, setting("Units", "Number of items, or of clusters of items, that are taken as independent.")
    ]
