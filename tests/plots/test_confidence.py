from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.container import BarContainer

from calibrant import plots
from calibrant.metrics import pairs
from calibrant.metrics.binning import uniform
from calibrant.results import Bins


@pytest.fixture
def overconfident() -> Bins:
    """Two pairs near 0.6, both right, and eight near 0.9, half of them right."""
    return uniform(pairs([1, 1] + [1, 0] * 4, [0.6] * 2 + [0.9] * 8), n_bins=5)


def bars(ax: Axes, label: str) -> list[tuple[float, float, float, float]]:
    """Left edge, width, bottom and height of the bars under a label."""
    (found,) = [c for c in ax.containers if isinstance(c, BarContainer) and c.get_label() == label]
    return [(bar.get_x(), bar.get_width(), bar.get_y(), bar.get_height()) for bar in found]


def line(ax: Axes, gid: str) -> float:
    (found,) = [line for line in ax.get_lines() if line.get_gid() == gid]
    return float(np.asarray(found.get_xdata())[0])


def labels(ax: Axes) -> list[str]:
    legend = ax.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_the_histograms_bars_are_the_shares_of_the_pairs(overconfident: Bins) -> None:
    drawn = bars(plots.confidence_histogram(overconfident), "fraction of the pairs")
    np.testing.assert_allclose(drawn, [(0.4, 0.2, 0, 0.2), (0.8, 0.2, 0, 0.8)])


def test_the_histograms_lines_are_accuracy_and_mean_confidence(overconfident: Bins) -> None:
    ax = plots.confidence_histogram(overconfident)
    assert line(ax, "frequency") == pytest.approx(0.6)
    assert line(ax, "score") == pytest.approx(0.84)
    assert {"accuracy 0.600", "mean confidence 0.840"} <= set(labels(ax))


def test_the_reliability_bars_are_the_accuracies(overconfident: Bins) -> None:
    drawn = bars(plots.reliability_bars(overconfident), "accuracy")
    np.testing.assert_allclose(drawn, [(0.4, 0.2, 0, 1.0), (0.8, 0.2, 0, 0.5)])


def test_a_gap_reaches_from_the_accuracy_to_the_mean_confidence_inside_the_bin(overconfident: Bins) -> None:
    ax = plots.reliability_bars(overconfident)
    np.testing.assert_allclose(bars(ax, "gap: scores too high"), [(0.8, 0.2, 0.5, 0.4)])
    np.testing.assert_allclose(bars(ax, "gap: scores too low"), [(0.4, 0.2, 0.6, 0.4)])


def test_a_score_near_zero_that_is_too_high_is_not_called_overconfident() -> None:
    rare = uniform(pairs([0] * 10, [0.1] * 10), n_bins=5)
    ax = plots.reliability_bars(rare, score_name="predicted probability", frequency_name="label frequency")
    assert labels(ax) == ["label frequency", "gap: scores too high"]


def test_the_gaps_add_up_to_the_ece(overconfident: Bins) -> None:
    from calibrant.metrics.plug_in import expected_calibration_error

    ax = plots.reliability_bars(overconfident)
    gaps = {x: height for name in ("high", "low") for x, _, _, height in bars(ax, f"gap: scores too {name}")}
    total = sum(
        share * gaps[float(x)] for share, x in zip(overconfident.share, overconfident.edge_low, strict=True)
    )
    assert total == pytest.approx(expected_calibration_error(overconfident))


def test_the_two_kinds_of_gap_differ_without_colour(overconfident: Bins) -> None:
    ax = plots.reliability_bars(overconfident)
    assert len({bar.get_hatch() for bar in ax.patches if bar.get_hatch()}) == 2


def test_the_pair_of_figures_is_named_for_what_it_shows(overconfident: Bins) -> None:
    figure = plots.confidence_and_reliability(overconfident, score_name="score", frequency_name="frequency")
    left, right = figure.axes
    assert (left.get_xlabel(), left.get_ylabel()) == ("score", "fraction of the pairs")
    assert (right.get_xlabel(), right.get_ylabel()) == ("score", "frequency")
