"""The figure of slices draws the values of the table."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from calibrant.exceptions import InputError
from calibrant.metrics import Tally, slice_errors
from calibrant.metrics.slices import Rank
from calibrant.plots import slice_intervals
from calibrant.results import SliceTable


def table(rank: Rank = "error", least: int = 30) -> SliceTable:
    random = np.random.default_rng(0)
    tallies = {}
    for place, shift in enumerate([0, 0, 0, 0.1, 0.3, 0]):
        q = random.random(200)
        y = random.random(200) < np.clip(q - shift, 0, 1)
        tallies[(f"slice {place} $x$",)] = Tally.from_arrays(y_true=y, y_prob=q)
    return slice_errors(tallies, rank=rank, least=least)


def test_points_and_intervals_are_those_of_the_table_the_worst_on_top() -> None:
    found = table("signed")
    ax = slice_intervals(found, most=4)
    lines = {line.get_gid(): line for line in ax.get_lines()}
    assert np.asarray(lines["estimates"].get_xdata()).tolist() == [
        row.signed.estimate for row in found.slices[:4]
    ]
    assert np.asarray(lines["shrunken"].get_xdata()).tolist() == [
        row.signed.shrunken.estimate for row in found.slices[:4]
    ]
    assert ax.get_yticklabels()[0].get_text() == found.slices[0].slice
    assert ax.get_ylim()[0] > ax.get_ylim()[1]
    (bars,) = [each for each in ax.collections if isinstance(each, LineCollection)]
    ends = [np.asarray(segment)[:, 0].tolist() for segment in bars.get_segments()]
    assert ends == [[row.signed.low, row.signed.high] for row in found.slices[:4]]


def test_errors_are_drawn_as_roots() -> None:
    found = table()
    ax = slice_intervals(found)
    lines = {line.get_gid(): line for line in ax.get_lines()}
    squared = found.slices[0].squared.estimate
    assert squared is not None
    assert np.asarray(lines["estimates"].get_xdata())[0] == pytest.approx(squared**0.5)


def test_nothing_measured_is_nothing_to_draw() -> None:
    with pytest.raises(InputError, match="no slice was measured"):
        slice_intervals(table(least=1000))
