"""The page of documents that may count for a country."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant.events.web.pages._page import PeriodsPage
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
class DocumentsPage(PeriodsPage):
    """Documents that may count for a country.

    Attributes
    ----------
    about
        Description of the store.
    by, rates, since, until
        As in `OverviewPage`.
    country, name
        Code and display name of the country.
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
    period: str | None
    order: str
    offset: int
    total: int
    documents: tuple[ListedDocument, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per document."""
        return [plain(document) for document in self.documents]
