"""The page of one country by period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant.events.results.events import EventCount
from calibrant.events.web.pages._page import Page
from calibrant.records.formats import as_rows
from calibrant.records.record import columns_of


@dataclass(frozen=True)
class Series:
    """Counts of a country by period.

    Attributes
    ----------
    country, name
        Code and display name.
    matched, mean, best
        Sums over all periods.
    rows
        One row per period, including empty periods.
    """

    country: str
    name: str
    matched: int
    mean: float
    best: int
    rows: tuple[EventCount, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per period."""
        return as_rows(*columns_of(self.rows)) if self.rows else []


@dataclass(frozen=True)
class CountryPage(Page):
    """Counts of one country by period.

    Attributes
    ----------
    about, by, rates, countries
        As in `OverviewPage`.
    series
        Counts of the country.
    """

    path: ClassVar[str] = "/country"
    template: ClassVar[str] = "country.html"

    by: str
    rates: bool
    countries: tuple[str, ...]
    series: Series

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per period."""
        return self.series.to_rows()
