"""Figures at the widths of a column and of a page: no text is cut off, and no two texts overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from calibrant import plots
from calibrant.metrics import pairs
from calibrant.metrics.binning import adaptive
from calibrant.plots.predictions import WHAT, What
from calibrant.plots.style import figure_of
from calibrant.results import Bins
from calibrant.verbs import report
from tests.figures import misplaced

ONE_MODEL = ("confidence", "labels")


@pytest.fixture(scope="module")
def tables() -> list[Any]:
    """Two models of the same 300 items of two classes."""
    random = np.random.default_rng(5)
    score = random.random((2, 300))
    label = np.where(random.random(300) < score[0], "sports", "politics")
    return [pa.table({"label": label, "p_sports": each, "p_politics": 1 - each}) for each in score]


@pytest.mark.parametrize("width", [3.3, 6.9])
@pytest.mark.parametrize("what", WHAT)
def test_every_text_of_every_kind_is_inside(what: What, width: float, tables: list[Any]) -> None:
    models = tables[:1] if what in ONE_MODEL else tables
    view = "classwise" if what == "classes" else "class:sports" if what == "labels" else None
    names = ["naive Bayes", "logistic regression"][: len(models)]
    figure = plots.report_figure(report(models, view=view, what=what, names=names), what)
    plots.render(figure, "svg", width=width)
    assert figure.get_figwidth() == width
    assert misplaced(figure) == []


@pytest.mark.parametrize(("width", "rows"), [(3.3, 2), (4.9, 2), (5.0, 1), (6.9, 1)])
@pytest.mark.parametrize("score", ["predicted probability", "confidence"])
def test_the_two_panels_are_stacked_where_they_do_not_fit_side_by_side(
    width: float, rows: int, score: str, wide: Bins
) -> None:
    figure = plots.confidence_and_reliability(wide, score_name=score, frequency_name="label frequency")
    plots.render(figure, "svg", width=width)
    assert misplaced(figure) == []
    boxes = [ax.get_position() for ax in figure.axes]
    assert len({round(box.y0, 3) for box in boxes}) == rows
    panels = [(box.width * width, box.height * figure.get_figheight()) for box in boxes]
    assert min(min(panel) for panel in panels) >= 1.7  # inches


def test_a_stacked_figure_has_the_same_size_if_it_is_rendered_twice(wide: Bins) -> None:
    figure = plots.confidence_and_reliability(wide)
    plots.render(figure, "svg", width=3.3)
    size = tuple(figure.get_size_inches())
    plots.render(figure, "svg", width=3.3)
    assert size == tuple(figure.get_size_inches())
    assert misplaced(figure) == []


def test_log_odds_of_extreme_scores_have_room_for_their_labels() -> None:
    random = np.random.default_rng(1)
    score = np.clip(1 / (1 + np.exp(-6 * random.normal(size=2000))), 1e-9, 1 - 1e-9)
    bins = adaptive(pairs(random.random(2000) < score, score), size=100)
    figure = figure_of(plots.log_odds_curve([("tagger", bins, None)]))
    plots.render(figure, "svg", width=2.6)
    assert misplaced(figure) == []
    (ax,) = figure.axes
    assert "0.5" in [label.get_text() for label in ax.get_xticklabels()]
    assert len(ax.get_xticks()) >= 5  # the lines of the grid remain where labels have no room
    assert figure.get_figheight() < 1.2 * 2.6  # no empty strip above the legend


def test_a_long_name_of_a_model_stays_inside(bins: Bins) -> None:
    name = "bert-large-uncased-whole-word-masking-finetuned"
    for draw in (plots.calibration_curves, plots.log_odds_curve):
        figure = figure_of(draw([(name, bins, None), ("other", bins, None)]))
        plots.render(figure, "svg", width=3.3)
        assert misplaced(figure) == []
