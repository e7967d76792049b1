"""The page that compares two countries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant.events.web._comparing import PeriodComparison
from calibrant.events.web.pages._page import PeriodsPage
from calibrant.events.web.pages.country import Series
from calibrant.records.formats import as_rows
from calibrant.records.record import columns_of


@dataclass(frozen=True)
class ComparisonPage(PeriodsPage):
    """Comparison of two countries.

    Attributes
    ----------
    about, by, rates, since, until, countries
        As in `OverviewPage`.
    first, second
        Series of the two countries.
    both
        Number of documents that may count for both.
    together
        Comparison over all periods.
    periods
        Comparison of each period in which a document may count for one of them.
    """

    path: ClassVar[str] = "/compare"
    template: ClassVar[str] = "comparison.html"

    countries: tuple[str, ...]
    first: Series
    second: Series
    both: int
    together: PeriodComparison
    periods: tuple[PeriodComparison, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per period."""
        return as_rows(*columns_of(self.periods)) if self.periods else []
