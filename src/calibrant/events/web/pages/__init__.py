"""Pages of the explorer, one module per page; add a new page to the list `PAGES`."""

from __future__ import annotations

from calibrant.events.web.pages._page import About, Address, Page, PeriodsPage
from calibrant.events.web.pages.comparison import ComparisonPage
from calibrant.events.web.pages.country import CountryPage
from calibrant.events.web.pages.document import DocumentPage
from calibrant.events.web.pages.documents import DocumentsPage
from calibrant.events.web.pages.overview import OverviewPage
from calibrant.events.web.pages.problem import ProblemPage

PAGES: dict[str, type[Page]] = {
    page.path: page for page in (OverviewPage, CountryPage, ComparisonPage, DocumentsPage, DocumentPage)
}

__all__ = ["PAGES", "About", "Address", "Page", "PeriodsPage", "ProblemPage"]
