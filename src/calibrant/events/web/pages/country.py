"""The page of one country by period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from calibrant.events.web._countries import find
from calibrant.events.web._store_in_memory import Series, StoreInMemory
from calibrant.events.web.pages._page import Address, Page
from calibrant.metrics.periods import By


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

    @classmethod
    def at(cls, store: StoreInMemory, address: Address) -> Self:
        """Return the page of an address."""
        return cls.of(store, address.text("country"), by=address.by, rates=address.rates)

    @classmethod
    def of(cls, store: StoreInMemory, country: str, *, by: By | None, rates: bool) -> Self:
        """Return the page of a country, given by code or name."""
        by = by or store.default_by
        code = find(country, store.countries)
        return cls(store.about, by, rates, store.countries, store.series(code, by))
