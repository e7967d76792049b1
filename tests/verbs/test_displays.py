from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

from calibrant import (
    InputError,
    ReliabilityDisplay,
    load_tally,
    measure,
    report,
    save_tally,
    slices,
    tally,
)
from calibrant.results.measurement import Measured
from tests.quantities import defined

RNG = np.random.default_rng(5)
P = RNG.random(1000)
Y = (RNG.random(1000) < P).astype(int)


SLICES = pa.table({"score": P, "label": Y, "part": [*"abcd"] * 250})


def shown(display: Any) -> bytes | None:
    """Return the text that a notebook shows for a display."""
    png: bytes | None = display._repr_png_()
    return png


def test_a_display_draws_on_the_caller_s_axes() -> None:
    ax = Figure().subplots()
    ax.set_title("mine")
    display = ReliabilityDisplay.from_predictions(Y, P, ax=ax, name="model A", n_bins=4)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.get_title() == "mine"
    assert len(display.measurement.bins) == 4
    points = next(each for each in ax.collections if each.get_gid() == "points-0")
    expected = [(each.score, each.frequency.estimate) for each in display.measurement.bins]
    np.testing.assert_allclose(np.asarray(points.get_offsets()), np.array(expected, float))


def test_a_second_display_on_the_same_axes_has_the_next_color_and_one_legend() -> None:
    ax = Figure().subplots()
    for name in ("first", "second"):
        ReliabilityDisplay.from_predictions(Y, P, ax=ax, name=name)
    colors = [line.get_color() for line in ax.get_lines() if str(line.get_gid()).startswith("line-")]
    assert len(set(colors)) == 2
    legend = defined(ax.get_legend())
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts[:2] == ["first", "second"]
    assert len(texts) == len(set(texts))


@pytest.mark.parametrize("own", [True, False])
def test_the_legend_covers_no_data(own: bool) -> None:
    figure = Figure(layout="constrained")
    display = ReliabilityDisplay(measure(Y, P)).plot(None if own else figure.subplots())
    display.figure_.draw_without_rendering()
    legend = display.ax_.get_legend().get_window_extent()
    area = display.ax_.get_window_extent()
    assert legend.y0 >= area.y1 if own else legend.y1 <= area.y0


def test_a_classifier_is_drawn_under_its_name() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    model = GaussianNB().fit(X[:300], y[:300])
    display = ReliabilityDisplay.from_estimator(model, X[300:], y[300:])
    assert display.name == "GaussianNB"
    assert display.measurement.n == 269


def test_a_notebook_shows_a_figure_of_the_display_s_own_alone() -> None:
    found = measure(Y, P)
    own, other = shown(found.plot()), shown(found.plot(Figure().subplots()))
    assert defined(own).startswith(b"\x89PNG")
    assert other is None


def test_a_measurement_draws_the_view_that_is_named() -> None:
    score = np.column_stack([P / 2, P / 2, 1 - P])
    label = np.where(Y, RNG.integers(0, 2, 1000), 2)
    found = measure(label, score, n_bins=3)
    named: Any = found.plot(view="class:2")
    assert named.measurement.view == "class:2"
    assert found.plot().ax_.get_xlabel() == "confidence"
    with pytest.raises(InputError, match="there is no view 'binary': name one of top"):
        found.plot(view="binary")


def test_the_error_of_a_record_of_json_names_the_saved_tally_which_can_be_drawn(tmp_path: Path) -> None:
    found = Measured.from_dict(measure(Y, P).to_dict())
    with pytest.raises(InputError, match=r"read from JSON has no sums .*: measure .* `calibrant.save_tally`"):
        found.plot()
    save_tally(tally(pa.table({"score": P, "label": Y})), tmp_path / "saved.parquet")
    drawn: Any = measure(load_tally(tmp_path / "saved.parquet")).plot()
    assert drawn.measurement.n == len(Y)


def test_a_measurement_writes_its_page(tmp_path: Path) -> None:
    found = measure(Y, P)
    record: Any = found.report(tmp_path / "page.html", title="Mine")
    assert record.models[0].measured is found
    assert "<title>Mine" in (tmp_path / "page.html").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="cannot write"):
        found.report(tmp_path / "none" / "page.html")


@pytest.mark.parametrize("name", ["page", "page.txt"])
def test_a_page_is_not_written_under_a_name_that_no_browser_opens(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"a report is an HTML file: give a name that ends in \.html"):
        measure(Y, P).report(tmp_path / name)
    assert not [*tmp_path.iterdir()]


def test_results_of_measure_are_reported_side_by_side_without_a_difference() -> None:
    found = measure([0, 1] * 30, [0.2, 0.7] * 30)
    both = report([found, found["binary"]], names=["whole", "view"])
    assert [(model.name, model.measured.views) for model in both.models] == [
        ("whole", found.views),
        ("view", found.views),
    ]
    assert not both.differences
    assert "give tables instead of results of `measure`" in both.notes[0]


def test_a_view_of_a_measurement_writes_its_page(tmp_path: Path) -> None:
    view = measure(Y, P)["binary"]
    record: Any = view.report(tmp_path / "view.html")
    assert record.models[0].measured.views == (view,)
    assert "binary" in (tmp_path / "view.html").read_text(encoding="utf-8")


def test_slices_are_drawn_on_new_axes_and_on_the_caller_s() -> None:
    found = slices(SLICES, "part")
    display = found.plot(most=3)
    assert (shown(display) or b"").startswith(b"\x89PNG")
    names = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert names == [each.slice for each in found.slices[:3]]
    ax = Figure().subplots()
    assert found.plot(ax).ax_ is ax
    with pytest.raises(InputError, match="not matplotlib axes"):
        found.plot("figure.png")
