"""Counts over time: the legend fits the figure, and every text follows the page into the dark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch
from matplotlib.path import Path as Path_
from msgspec.structs import replace

from calibrant.events.plots import corrected_series, event_series
from calibrant.events.results.corrected import CorrectedEvents, CorrectedPeriod
from calibrant.events.results.events import FEW_SAMPLES, UNFINISHED, EventCount, EventTable
from calibrant.events.verbs import figures
from calibrant.exceptions import InputError
from calibrant.plots import inline_svg, render
from calibrant.records import Quantity
from tests.figures import misplaced

YEARS = ("2001", "2002", "2003")


def table(countries: int, periods: Sequence[str] = YEARS) -> EventTable:
    """Some periods of some countries, with both intervals."""
    rows = tuple(
        EventCount(
            country=f"C{code}",
            name=f"Country {code}",
            period=period,
            documents=9,
            matched=2,
            count=Quantity(1.2, 1.0, 2.0),
            sd=0.4,
            total=Quantity(1.2, 0.5, 3.0),
            rate=Quantity(0.13),
            best=2,
        )
        for code in range(countries)
        for period in periods
    )
    return EventTable(
        store="s",
        by="year",
        interval="normal",
        level=0.95,
        samples=100,
        sampled="entities",
        recalibrated=True,
        finished=True,
        counts=rows,
    )


@pytest.mark.parametrize("countries", [1, 2, 3])
def test_the_legend_is_no_wider_than_the_figure(countries: int) -> None:
    figure = event_series(table(countries))
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


@pytest.mark.parametrize("weeks", [2, 5, 6, 8, 9, 12, 53])
def test_labels_of_periods_do_not_overlap(weeks: int) -> None:
    figure = event_series(table(3, [f"2022-W{week:02}" for week in range(1, weeks + 1)]))
    figure.draw_without_rendering()
    for ax in figure.axes:
        boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
        assert len(boxes) >= 2
        assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


@pytest.mark.parametrize("countries", [1, 3])
def test_a_figure_of_an_unfinished_store_or_of_few_samples_says_so_inside(countries: int) -> None:
    assert event_series(table(countries)).get_supxlabel() == ""
    figure = event_series(replace(table(countries), finished=False, samples=10))
    figure.draw_without_rendering()
    assert figure.get_supxlabel().replace("\n", " ") == f"{UNFINISHED} {FEW_SAMPLES}"
    (box,) = [each.get_window_extent() for each in figure.texts]
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width


@pytest.mark.parametrize(("width", "rows"), [(3.3, 5), (4.5, 3), (6.9, 2)])
def test_a_narrow_figure_has_fewer_panels_per_row(
    width: float, rows: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(
        figures, "counted_events", lambda store: table(5, [f"2022-W{k:02}" for k in range(1, 30)])
    )
    made: list[Figure] = []
    monkeypatch.setattr(figures, "save_figure", lambda figure, output, width: made.append(figure))
    figures.draw_events("store", tmp_path / "a.svg", width=width)
    render(made[0], "svg", width=width)
    assert misplaced(made[0]) == []
    assert len({round(ax.get_position().y0, 3) for ax in made[0].axes if ax.get_visible()}) == rows


def test_no_text_has_a_colour_of_its_own_on_a_page() -> None:
    svg = inline_svg(event_series(table(1)), name="x", description="y")
    texts = re.findall(r"<text[^>]*>", svg)
    assert len(texts) > 8
    assert [each for each in texts if "var(--ink" not in each and "var(--muted" not in each] == []


@pytest.mark.parametrize("rates", [False, True])
def test_periods_without_documents_are_gaps(rates: bool) -> None:
    years = [str(year) for year in range(2001, 2008)]
    whole = table(1, years)
    none, gaps = Quantity(None, reason="no documents"), ("2003", "2005")
    counts = tuple(
        replace(row, documents=0, matched=0, count=none, total=none, best=None) if row.period in gaps else row
        for row in whole.counts
    )
    (ax,) = event_series(replace(whole, counts=counts), rates=rates).axes
    drawn = {str(patch.get_label()): patch for patch in ax.patches if isinstance(patch, StepPatch)}
    assert drawn.keys() == {"total interval", "band", "mean", "1-best"}
    for patch in drawn.values():
        values = np.asarray(patch.get_data()[0])
        assert [year for year, y in zip(years, values, strict=True) if np.isnan(y)] == [*gaps]
        starts = np.count_nonzero(patch.get_path().codes == Path_.MOVETO)
        assert starts == 3  # 2004, between two gaps, is drawn too


@pytest.mark.parametrize("own", [False, True])
def test_panels_have_one_scale_or_say_that_each_has_its_own(own: bool) -> None:
    whole = table(2)
    counts = tuple(replace(row, best=40) if row.country == "C1" else row for row in whole.counts)
    figure = event_series(replace(whole, counts=counts), own_scales=own)
    tops = {ax.get_ylim() for ax in figure.axes if ax.get_visible()}
    assert len(tops) == (2 if own else 1)
    assert max(top for _, top in tops) >= 40
    assert ("own scale" in figure.get_supxlabel()) == own


def test_corrected_counts_are_drawn_beside_the_models() -> None:
    rows = [
        CorrectedPeriod(period=period, documents=9, read=3, count=Quantity(n + 4.0, 1.0, 6.0), model=n + 3.0)
        for n, period in enumerate(("all", *YEARS))
    ]
    events = CorrectedEvents(
        store="s",
        country="IRN",
        name="Iran",
        by="year",
        documents=27,
        read=9,
        unclear=0,
        level=0.9,
        counts=(*rows,),
    )
    (ax,) = corrected_series(events).axes
    band, mean, model = (patch.get_data() for patch in ax.patches if isinstance(patch, StepPatch))
    assert np.asarray(mean[0]).tolist() == [5.0, 6.0, 7.0]
    assert np.asarray(model[0]).tolist() == [4.0, 5.0, 6.0]
    assert (np.asarray(band[2]).tolist(), np.asarray(band[0]).tolist()) == ([1.0] * 3, [6.0] * 3)
    rates = corrected_series(events, rates=True).axes[0].patches[1]
    assert isinstance(rates, StepPatch)
    assert np.asarray(rates.get_data()[0]) == pytest.approx(np.array([5.0, 6.0, 7.0]) / 9)
    with pytest.raises(InputError, match="no periods"):
        corrected_series(replace(events, counts=(rows[0],)))
