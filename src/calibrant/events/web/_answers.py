"""Answers to requests: a page as HTML, JSON or CSV."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from calibrant._checks import one_of
from calibrant.events.web._html import render, style
from calibrant.events.web.pages import PAGES, Address, Page, ProblemPage
from calibrant.exceptions import CalibrantError, FormatError, InputError
from calibrant.records.formats import rows_as_csv

if TYPE_CHECKING:
    from starlette.datastructures import QueryParams
    from starlette.requests import Request
    from starlette.responses import Response

    from calibrant.events.web.explorer import Explorer

FORMATS = ("html", "json", "csv")
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">'
    '<path fill="#56b4e9" d="M1 9h5V5h5v4h4v5H1z"/>'
    '<path fill="none" stroke="#175ecc" stroke-width="2" d="M1 11h5V7h5v4h4"/></svg>'
)


def answer(explorer: Explorer, request: Request) -> Response:
    """Return the requested page as a response."""
    query = request.query_params
    form = query.get("format", "html")
    try:
        one_of(form, FORMATS, "format")
        page: Page | ProblemPage = page_of(explorer, request.url.path, query)
    except FormatError as error:
        page = ProblemPage(500, str(error))
    except InputError as error:
        page = ProblemPage(404, str(error))
    except CalibrantError as error:
        page = ProblemPage(500, str(error))
    return written(page, form if form in FORMATS else "html")


def page_of(explorer: Explorer, path: str, query: QueryParams) -> Page:
    """Return the page at a path; raise `InputError` if there is no page."""
    address = Address.of(query)
    if path not in PAGES:
        raise InputError("this page does not exist", "start at /", code="parameter")
    return PAGES[path].at(explorer, address)


def written(page: Page | ProblemPage, form: str) -> Response:
    """Return a page as an HTTP response."""
    from starlette.responses import Response

    status = page.status if isinstance(page, ProblemPage) else 200
    if form == "json":
        return Response(page.to_json(), status, media_type="application/json")
    if form == "csv":
        headers = {"Content-Disposition": 'attachment; filename="calibrant.csv"'}
        return Response(as_csv(page.to_rows()), status, headers, media_type="text/csv; charset=utf-8")
    return Response(render(page), status, media_type="text/html; charset=utf-8")


def as_csv(rows: list[dict[str, Any]]) -> str:
    r"""Return rows as CSV.

    Examples
    --------
    >>> as_csv([{"id": "=1+1", "probability": -0.5}])
    "id,probability\r\n'=1+1,-0.5\r\n"
    """
    names = list(rows[0]) if rows else []
    return rows_as_csv([names, *([row.get(name) for name in names] for row in rows)]) if rows else ""


def style_sheet(request: Request) -> Response:
    """Return the style sheet of all pages."""
    from starlette.responses import Response

    return Response(style(), media_type="text/css; charset=utf-8")


def icon(request: Request) -> Response:
    """Return the icon of the browser's tab."""
    from starlette.responses import Response

    return Response(ICON, media_type="image/svg+xml")
