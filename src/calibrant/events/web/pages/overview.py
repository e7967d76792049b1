"""The page with small charts of the countries with the most documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant.events.web.pages._page import Page
from calibrant.events.web.pages.country import Series

TOP = 20


@dataclass(frozen=True)
class OverviewPage(Page):
    """Small charts of the countries with the most documents.

    Attributes
    ----------
    about
        Description of the store.
    by
        Length of a period: ``week``, ``month``, ``quarter`` or ``year``.
    rates
        True if the charts show rates; the rows contain counts and rates.
    countries
        All codes of the store, by decreasing mean.
    series
        Series of the first countries.
    """

    path: ClassVar[str] = "/"
    template: ClassVar[str] = "overview.html"

    by: str
    rates: bool
    countries: tuple[str, ...]
    series: tuple[Series, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per country and period."""
        return [row for series in self.series for row in series.to_rows()]
