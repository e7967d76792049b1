"""The page that compares two countries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from calibrant.events.web._comparing import PeriodComparison
from calibrant.events.web._countries import find
from calibrant.events.web._store_in_memory import Series, StoreInMemory
from calibrant.events.web.pages._page import Address, Page
from calibrant.exceptions import InputError
from calibrant.metrics.periods import By
from calibrant.records.formats import as_rows
from calibrant.records.record import columns_of


@dataclass(frozen=True)
class ComparisonPage(Page):
    """Comparison of two countries.

    Attributes
    ----------
    about, by, rates, countries
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

    by: str
    rates: bool
    countries: tuple[str, ...]
    first: Series
    second: Series
    both: int
    together: PeriodComparison
    periods: tuple[PeriodComparison, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per period."""
        return as_rows(*columns_of(self.periods)) if self.periods else []

    @classmethod
    def at(cls, store: StoreInMemory, address: Address) -> Self:
        """Return the page of an address."""
        first, second = address.text("first"), address.text("second")
        return cls.of(store, first, second, by=address.by, rates=address.rates)

    @classmethod
    def of(cls, store: StoreInMemory, first: str, second: str, *, by: By | None, rates: bool) -> Self:
        """Return the page of two countries, given by code or name."""
        first, second = find(first, store.countries), find(second, store.countries)
        if first == second:
            raise InputError("the two countries are the same", "choose two countries", code="parameter")
        by = by or store.default_by
        joint = store.joint(first, second)
        return cls(
            about=store.about,
            by=by,
            rates=rates,
            countries=store.countries,
            first=store.series(first, by),
            second=store.series(second, by),
            both=joint.both,
            together=joint.together,
            periods=store.comparison(first, second, by),
        )
