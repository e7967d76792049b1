"""The page of one country by period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant.events.results.corrected import CorrectedEvents
from calibrant.events.results.events import EventCount
from calibrant.events.web.pages._page import PeriodsPage
from calibrant.records.formats import as_rows
from calibrant.records.record import columns_of


@dataclass(frozen=True)
class Series:
    """Counts of a country by period.

    Attributes
    ----------
    country, name
        Code and display name.
    overall
        Count over all periods.
    rows
        One row per period, including empty periods.
    """

    country: str
    name: str
    overall: EventCount
    rows: tuple[EventCount, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per period."""
        return as_rows(*columns_of(self.rows)) if self.rows else []


@dataclass(frozen=True)
class CountryPage(PeriodsPage):
    """Counts of one country by period.

    Attributes
    ----------
    about, by, rates, since, until, countries
        As in `OverviewPage`.
    series
        Counts of the country.
    corrected
        Counts that readings corrected; None without enough readings of this country.
    """

    path: ClassVar[str] = "/country"
    template: ClassVar[str] = "country.html"

    countries: tuple[str, ...]
    series: Series
    corrected: CorrectedEvents | None = None

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per period."""
        return self.series.to_rows()
