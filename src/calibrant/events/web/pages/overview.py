"""The page with small charts of the countries with the most documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant.events.results.corrected import CorrectedEvents
from calibrant.events.web.pages._page import PeriodsPage
from calibrant.events.web.pages.country import Series

TOP = 20


@dataclass(frozen=True)
class OverviewPage(PeriodsPage):
    """Small charts of the countries with the most documents.

    Attributes
    ----------
    about
        Description of the store.
    by, rates, since, until
        As in `PeriodsPage`.
    own_scales
        True if each chart has its own scale, without numbers; otherwise all have the same.
    countries
        All codes with a document in these periods, by decreasing mean.
    series
        Series of the first countries.
    corrected
        Counts of one country that readings corrected; None without enough readings.
    """

    path: ClassVar[str] = "/"
    template: ClassVar[str] = "overview.html"

    own_scales: bool
    countries: tuple[str, ...]
    series: tuple[Series, ...]
    corrected: CorrectedEvents | None = None

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per country and period."""
        return [row for series in self.series for row in series.to_rows()]
