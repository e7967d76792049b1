"""The pages of the explorer, a module each: a new one gets a place in the list of `PAGES`."""

from __future__ import annotations

from calibrant.web.pages._page import Address, Page
from calibrant.web.pages.comparison import ComparisonPage
from calibrant.web.pages.country import CountryPage
from calibrant.web.pages.document import DocumentPage
from calibrant.web.pages.documents import DocumentsPage
from calibrant.web.pages.overview import OverviewPage
from calibrant.web.pages.problem import ProblemPage

PAGES: dict[str, type[Page]] = {
    page.path: page for page in (OverviewPage, CountryPage, ComparisonPage, DocumentsPage, DocumentPage)
}

__all__ = ["PAGES", "Address", "Page", "ProblemPage"]
