"""The page of documents that may count for a country."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from calibrant._checks import one_of
from calibrant.events.web._countries import find, name_of
from calibrant.events.web._store_in_memory import StoreInMemory
from calibrant.events.web.pages._page import Address, Page
from calibrant.exceptions import InputError
from calibrant.metrics.periods import By
from calibrant.records.record import plain

LISTED = 50  # documents per page
ORDERS = ("uncertain", "probability", "date")


@dataclass(frozen=True)
class ListedDocument:
    """Document in a list.

    Attributes
    ----------
    id, date, title
        Id, day and title; the title is None without texts.
    probability
        Proportion of samples in which the document counts for the country.
    best
        True if the document counts in the 1-best structure.
    """

    id: str
    date: str
    title: str | None
    probability: float
    best: bool


@dataclass(frozen=True)
class DocumentsPage(Page):
    """Documents that may count for a country.

    Attributes
    ----------
    about
        Description of the store.
    country, name, by
        Code and display name of the country; length of a period.
    period
        Period; None: all periods.
    order
        ``uncertain`` (nearest 50 % first), ``probability`` (decreasing) or ``date``.
    offset, total
        Number of documents before the listed ones, and in all.
    documents
        Listed documents.
    """

    path: ClassVar[str] = "/documents"
    template: ClassVar[str] = "documents.html"

    country: str
    name: str
    by: str
    period: str | None
    order: str
    offset: int
    total: int
    documents: tuple[ListedDocument, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per document."""
        return [plain(document) for document in self.documents]

    @classmethod
    def at(cls, store: StoreInMemory, address: Address) -> Self:
        """Return the page of an address."""
        return cls.of(
            store,
            address.text("country"),
            by=address.by,
            period=address.query.get("period"),
            order=address.query.get("order", "uncertain"),
            offset=address.number("offset"),
        )

    @classmethod
    def of(
        cls,
        store: StoreInMemory,
        country: str,
        *,
        by: By | None,
        period: str | None,
        order: str,
        offset: int,
    ) -> Self:
        """Return the page of a country, given by code or name."""
        one_of(order, ORDERS, "order")
        by = by or store.default_by
        country = find(country, store.countries)
        counts = store.counts
        rows = counts.rows_of(country)
        if period is not None:
            calendar = store.calendar(by)
            if period not in calendar.periods:
                hint = f"the store covers {store.about.first} to {store.about.last}"
                raise InputError(f"there is no {by} {period!r:.20}", hint, code="parameter")
            rows = rows[calendar.place[rows] == calendar.periods.index(period)]
        chance = counts.probability[rows]
        key = {"uncertain": np.abs(chance - 0.5), "probability": -chance, "date": np.zeros(len(rows))}[order]
        listed = rows[np.argsort(key, kind="stable")][offset : offset + LISTED]
        return cls(
            about=store.about,
            country=country,
            name=name_of(country),
            by=by,
            period=period,
            order=order,
            offset=offset,
            total=len(rows),
            documents=tuple(_listed(store, int(row)) for row in listed),
        )


def _listed(store: StoreInMemory, row: int) -> ListedDocument:
    name = store.counts.names[store.counts.document[row]]
    return ListedDocument(
        id=name,
        date=str(store.counts.day[row]),
        title=store.title(name),
        probability=float(store.counts.probability[row]),
        best=bool(store.counts.best[row]),
    )
