"""Histograms of scores by label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.container import BarContainer

from calibrant import plots
from calibrant.data import predictions
from calibrant.exceptions import InputError
from calibrant.metrics import pairs
from calibrant.metrics.binning import uniform
from calibrant.verbs import plot


def test_the_bars_of_each_label_are_its_likelihood_and_the_legend_has_the_base_rate() -> None:
    bins = uniform(pairs([0, 0, 0, 1], [0.1, 0.2, 0.7, 0.9], sample_weight=[1, 1, 2, 4]), n_bins=4)
    ax = plots.label_histograms(bins)
    negative, positive = (each for each in ax.containers if isinstance(each, BarContainer))
    assert [each.get_label() for each in (negative, positive)] == [
        "label 0: base rate 0.500",
        "label 1: base rate 0.500",
    ]
    of_bins = {round(float(low), 2): place for place, low in enumerate(bins.edge_low)}
    heights = np.array([[bar.get_height() for bar in each] for each in (negative, positive)])
    np.testing.assert_allclose(heights[:, of_bins[0.0]], [0.5, 0])
    np.testing.assert_allclose(heights[:, of_bins[0.5]], [0.5, 0])
    np.testing.assert_allclose(heights[:, of_bins[0.75]], [0, 1])
    np.testing.assert_allclose(heights.sum(axis=1), 1)
    assert all(
        bar.get_x() + bar.get_width() <= other.get_x() for bar, other in zip(negative, positive, strict=True)
    )


@pytest.mark.parametrize(("label", "which"), [(0, "positives"), (1, "negatives")])
def test_one_label_alone_has_no_second_histogram(label: int, which: str) -> None:
    with pytest.raises(InputError, match=f"no {which}"):
        plots.label_histograms(uniform(pairs([label] * 3, [0.2, 0.3, 0.9]), n_bins=4))


def test_a_file_is_drawn_with_both_labels(tmp_path: Path) -> None:
    plot([predictions()], tmp_path / "labels.svg", what="labels")
    drawn = (tmp_path / "labels.svg").read_text(encoding="utf-8")
    assert "label 0: base rate" in drawn
    assert "label 1: base rate" in drawn
