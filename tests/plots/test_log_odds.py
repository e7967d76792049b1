from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from numpy.typing import NDArray

from calibrant import plots
from calibrant.exceptions import InputError
from calibrant.metrics import pairs
from calibrant.metrics.binning import adaptive
from calibrant.metrics.frequencies import bin_intervals
from calibrant.results import Bins

Floats = NDArray[np.float64]


@pytest.fixture
def skewed() -> Bins:
    """Three bins of ten pairs: none positive at 0.001, one at 0.01, nine at 0.9."""
    score = np.repeat([0.001, 0.01, 0.9], 10)
    label = np.concatenate([np.arange(10) < positives for positives in (0, 1, 9)])
    return adaptive(pairs(label, score), size=10)


def points(ax: Axes, gid: str) -> Floats:
    (found,) = [c for c in ax.collections if c.get_gid() == gid]
    assert isinstance(found, PathCollection)
    return np.asarray(found.get_offsets(), dtype=np.float64)


def test_points_stand_at_their_scores_and_frequencies(skewed: Bins) -> None:
    ax = plots.log_odds_curve([("tagger", skewed, None)])
    np.testing.assert_allclose(points(ax, "points-0"), [[0.01, 0.1], [0.9, 0.9]])


def test_a_bin_without_positives_is_a_triangle_at_the_edge_to_which_no_line_leads(skewed: Bins) -> None:
    ax = plots.log_odds_curve([("tagger", skewed, None)])
    ((x, y),) = points(ax, "zero-0")
    assert x == pytest.approx(0.001)
    assert y == pytest.approx(0.001)
    (line,) = [line for line in ax.get_lines() if line.get_gid() == "line-0"]
    np.testing.assert_allclose(np.asarray(line.get_ydata()), [np.nan, 0.1, 0.9])


def test_everything_drawn_lies_within_the_axes(skewed: Bins) -> None:
    ax = plots.log_odds_curve([("tagger", skewed, bin_intervals(skewed))])
    (lines,) = [c for c in ax.collections if c.get_gid() == "intervals-0"]
    assert isinstance(lines, LineCollection)
    heights = np.asarray(lines.get_segments())[:, :, 1]
    low, high = ax.get_ylim()
    assert low < heights.min()
    assert heights.max() < high
    assert ax.get_xlim()[0] < 0.001


def test_intervals_are_drawn_to_their_ends(skewed: Bins) -> None:
    found = bin_intervals(skewed)
    ax = plots.log_odds_curve([("tagger", skewed, found)])
    (lines,) = [c for c in ax.collections if c.get_gid() == "intervals-0"]
    assert isinstance(lines, LineCollection)
    drawn = np.asarray(lines.get_segments())[:, :, 1]
    np.testing.assert_allclose(drawn[1:], np.column_stack([found.low, found.high])[1:])
    assert drawn[0, 1] == found.high[0]


def test_a_score_of_zero_is_marked_as_lying_beyond_the_axis() -> None:
    score = np.repeat([0.0, 0.5], 10)
    bins = adaptive(pairs(np.arange(20) % 5 == 0, score), size=10)
    ax = plots.log_odds_curve([("rule", bins, None)])
    np.testing.assert_allclose(points(ax, "score-zero-0"), [[0.1, 0.2]])
    np.testing.assert_allclose(points(ax, "points-0"), [[0.5, 0.2]])


def test_both_sides_are_named_and_both_axes_are_of_log_odds(skewed: Bins) -> None:
    ax = plots.log_odds_curve([("first", skewed, None), ("second", skewed, None)])
    assert {"scores too high", "scores too low"} <= {text.get_text() for text in ax.texts}
    assert (ax.get_xscale(), ax.get_yscale()) == ("logit", "logit")
    assert ax.get_xlabel() == "predicted probability (log-odds)"


def test_scores_of_zero_and_one_stand_at_the_edges() -> None:
    certain = adaptive(pairs([0, 0, 1, 1], [0.0, 0.0, 1.0, 1.0]), size=2)
    ax = plots.log_odds_curve([("certain", certain, None)])
    np.testing.assert_allclose(points(ax, "zero-0"), [[0.1, 0.1]])
    np.testing.assert_allclose(points(ax, "one-0"), [[0.9, 0.9]])


def test_no_model_is_refused() -> None:
    with pytest.raises(InputError, match="curves is empty"):
        plots.log_odds_curve([])
