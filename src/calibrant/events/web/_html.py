"""HTML of the pages: templates with autoescape, one style sheet, no script."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment

from calibrant._version import __version__
from calibrant.events.lexicon import display_name
from calibrant.events.web._countries import by_name
from calibrant.events.web._share import share
from calibrant.events.web.charts import chance_chart, corrected_chart, highest, series_chart
from calibrant.events.web.pages import PAGES, Page, ProblemPage
from calibrant.events.web.pages.country import Series
from calibrant.events.web.pages.documents import LISTED
from calibrant.metrics.periods import PERIODS
from calibrant.pages.html import templates_of
from calibrant.records import Quantity, words


def render(page: Page | ProblemPage) -> str:
    template = _environment().get_template(page.template)
    return template.render(page=page, about=getattr(page, "about", None))


def warm(first: Page) -> None:
    """Load all templates and render a page, so that the first request is fast."""
    for name in (*(page.template for page in PAGES.values()), ProblemPage.template):
        _environment().get_template(name)
    render(first)


@cache
def style() -> str:
    """Return the style sheet: the report's rules, then the explorer's."""
    report = files("calibrant.pages").joinpath("templates/style.css").read_text(encoding="utf-8")
    return report + files("calibrant.events.web").joinpath("templates/explore.css").read_text(
        encoding="utf-8"
    )


def link(path: str, **values: Any) -> str:
    """Return a relative address with its query, without values that are None or False."""
    query = {
        name: 1 if value is True else value for name, value in values.items() if value not in (None, False)
    }
    return f"{path}?{urlencode(query)}" if query else path


def quantity(value: float | None) -> str:
    """Format a count as an integer, or with one decimal.

    Examples
    --------
    >>> quantity(12.0), quantity(12.34), quantity(None)
    ('12', '12.3', '–')
    """
    if value is None:
        return "–"
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def _chart(series: Series, rates: bool, *, with_cells: bool = False, top: float | None = None) -> Any:
    return series_chart([series], rates=rates, with_best=True, with_cells=with_cells, top=top)


def between(count: Quantity) -> str:
    """Format an interval.

    Examples
    --------
    >>> between(Quantity(4.5, 3.0, 6.0)), between(Quantity(4.5))
    ('3 to 6', '–')
    """
    return "–" if count.low is None else f"{quantity(count.low)} to {quantity(count.high)}"


@cache
def _environment() -> Environment:
    environment = templates_of("calibrant.events.web")
    environment.filters.update(
        quantity=quantity,
        between=between,
        share=share,
        count=words.count,
        called=display_name,
        by_name=by_name,
    )
    environment.globals.update(
        chart=_chart,
        charts=series_chart,
        corrected_chart=corrected_chart,
        highest=highest,
        chances=chance_chart,
        link=link,
        cuts=tuple(reversed(PERIODS)),
        page_size=LISTED,
        version=__version__,
    )
    return environment
