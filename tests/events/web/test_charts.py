from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from calibrant.events.files.store import StoredCount, StoredDocument
from calibrant.events.results.events import EventCount
from calibrant.events.web import Explorer
from calibrant.events.web.charts import Scale, across, chance_chart, series_chart
from calibrant.metrics.periods import By
from calibrant.records import Quantity

Make = Callable[..., Path]
PageOf = Callable[[Explorer, str], str]


def row(period: str, mean: float, *, documents: int = 10, total: float | None = None) -> EventCount:
    low, high = max(0.0, mean - 1), mean + 1
    return EventCount(
        country="USA",
        name="United States",
        period=period,
        documents=documents,
        matched=5,
        count=Quantity(mean, low, high) if documents else Quantity(None, reason="no documents"),
        sd=1.0,
        total=None if total is None else Quantity(mean, 0.0, total),
        rate=Quantity(mean / documents if documents else None),
        best=round(mean) if documents else None,
    )


def series(explorer: Explorer, *rows: EventCount) -> Any:
    """Counts of a country with other rows."""
    return replace(explorer.country("USA").series, rows=rows)


def ys(path: str) -> list[float]:
    """Heights of a path of steps."""
    found = re.findall(r"M[\d.]+ ([\d.]+)|V([\d.]+)", path)
    return [float(one or other) for one, other in found]


def test_a_line_has_a_level_a_period_and_gaps_where_there_is_no_value() -> None:
    scale = Scale(10.0)
    path = scale.line([0.0, 10.0, None, 5.0])
    assert path.count("M") == 2
    assert ys(path) == pytest.approx([100.0, 100 * (1 - 10 / scale.top), 100 * (1 - 5 / scale.top)], abs=0.01)


def filled(path: str) -> dict[float, tuple[float, float]]:
    """Top and bottom of each tenth of the width that boxes cover."""
    found: dict[float, tuple[float, float]] = {}
    for left, top, right, bottom, back in re.findall(r"M([\d.]+) ([\d.]+)H([\d.]+)V([\d.]+)H([\d.]+)z", path):
        assert back == left
        found |= {
            place: (float(top), float(bottom))
            for place in range(0, 1000, 100)
            if float(left) <= place < float(right)
        }
    return found


def test_lines_and_areas_hold_what_each_period_holds_however_neighbours_are_joined() -> None:
    low = [0.0, 0.0, 1.0, 1.0, None, 2.0, 2.0, 0.0, 0.0, 3.0]
    high = [4.0, 4.0, 4.0, 1.0, None, 5.0, 5.0, 5.0, None, 4.0]
    scale = Scale(5.0)
    boxes = filled(scale.area(low, high))
    expected = {
        100 * place: (float(scale.y(upper)), float(scale.y(lower)))
        for place, (lower, upper) in enumerate(zip(low, high, strict=True))
        if lower is not None and upper is not None and upper > lower
    }
    assert boxes == expected
    assert scale.line([1.0, 1.0, 2.0, 2.0]) == f"M0 {scale.y(1.0)}H500V{scale.y(2.0)}H1000"
    assert scale.line([None, 1.0, 1.0, None]) == f"M250 {scale.y(1.0)}H750"
    assert scale.line([]) == scale.area([], []) == ""


@pytest.mark.parametrize("highest", [0.0, 0.3, 1.0, 1.7, 2.6, 4.9, 5.1, 9.99, 10.0, 73.0, 4200.0])
def test_a_scale_has_between_one_and_six_lines_and_holds_the_highest_value(highest: float) -> None:
    scale = Scale(highest)
    labels = scale.labels()
    assert 2 <= len(labels) <= 6
    assert scale.top >= highest
    assert labels[0].place == 100
    assert all(0 <= label.place <= 100 for label in labels)


@pytest.mark.parametrize("rates", [False, True])
def test_periods_without_documents_are_gaps(explorer: Explorer, rates: bool) -> None:
    rows = series(explorer, row("2001", 2.0), row("2002", 0.0, documents=0), row("2003", 3.0))
    chart = series_chart([rows], rates=rates, with_best=True)
    assert [shape.path.count("M") for shape in chart.shapes if shape.kind in ("mean c1", "best")] == [2, 2]


def test_the_total_band_is_drawn_where_there_is_one(explorer: Explorer) -> None:
    alone = series_chart([series(explorer, row("2001", 2.0))], rates=False, with_best=True)
    assert [shape.kind for shape in alone.shapes] == ["band c1", "best", "mean c1"]
    with_total = series_chart([series(explorer, row("2001", 2.0, total=7.0))], rates=False, with_best=False)
    assert [shape.kind for shape in with_total.shapes] == ["total c1", "band c1", "mean c1"]
    assert Scale(7.0).labels() == with_total.up


def test_labels_are_years_where_there_are_several_and_never_many() -> None:
    weeks = [f"{year}-W{week:02}" for year in range(2001, 2024) for week in range(1, 53)]
    assert [label.text for label in across(weeks)][:2] == ["2001", "2004"]
    assert len(across(weeks)) <= 8
    assert [label.text for label in across(["2001-01", "2001-02"])] == ["2001-01", "2001-02"]
    assert across([]) == ()


def test_bars_of_chances_are_as_high_as_the_chances(explorer: Explorer) -> None:
    page = explorer.compare("USA", "IRQ", by="month")
    periods = [each.period for each in page.first.rows]
    greater = chance_chart(periods, page.periods).shapes[0].path
    heights = [float(found) for found in re.findall(r"v([\d.]+)", greater)]
    assert heights == pytest.approx([100 * each.counts.greater for each in page.periods], abs=0.01)


def test_addresses_hold_any_value(make_store: Make, page_of: PageOf) -> None:
    count = StoredCount("USA", 0.5, True, b"\x0f")
    store = make_store([StoredDocument("a&b=c d/é", date(2001, 1, 1), counts=[count])])
    html = page_of(Explorer(store), "/documents?country=USA")
    assert 'href="/document?id=a%26b%3Dc+d%2F%C3%A9"' in html


@pytest.mark.parametrize("by", ["year", "quarter", "month", "week"])
@pytest.mark.parametrize("rates", ["", "&rates=1"], ids=["counts", "rates"])
def test_drawings_are_well_formed(explorer: Explorer, page_of: PageOf, by: By, rates: str) -> None:
    for path in ("/?", "/country?country=USA&", "/compare?first=USA&second=IRQ&"):
        html = page_of(explorer, f"{path}by={by}{rates}")
        drawings = re.findall(r"<svg class=\"chart.*?</svg>\s*<text.*?</svg>", html, re.DOTALL)
        assert drawings
        for drawing in drawings:
            ElementTree.fromstring(drawing)
