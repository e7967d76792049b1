from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from calibrant import plots
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.binning import uniform
from calibrant.metrics.curve import smooth_curve
from calibrant.metrics.noise_floor import consistency_bars
from calibrant.plots.style import SERIES, figure_of
from calibrant.results import Bins
from calibrant.results.bins import BinIntervals


def collection(ax: Axes, gid: str) -> LineCollection:
    (found,) = [c for c in ax.collections if c.get_gid() == gid]
    assert isinstance(found, LineCollection)
    return found


def points(ax: Axes, index: int = 0) -> PathCollection:
    (found,) = [c for c in ax.collections if c.get_gid() == f"points-{index}"]
    assert isinstance(found, PathCollection)
    return found


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    return [] if found is None else [text.get_text() for text in found.get_texts()]


def test_the_points_are_the_bins_scores_and_frequencies(bins: Bins) -> None:
    drawn = np.asarray(points(plots.calibration_curve(bins)).get_offsets())
    np.testing.assert_allclose(drawn, [[0.1, 0.2], [0.4, 0.4], [0.6, 0.8], [0.9, 0.7]])


def test_the_numbers_twin_holds_what_is_drawn(bins: Bins) -> None:
    drawn = np.asarray(points(plots.calibration_curve(bins)).get_offsets())
    rows = [(row["score"], row["frequency"]) for row in bins.to_rows()]
    np.testing.assert_array_equal(drawn, rows)


def test_the_vertical_lines_are_the_intervals(bins: Bins, intervals: BinIntervals) -> None:
    ax = plots.calibration_curve(bins, intervals)
    segments = np.asarray(collection(ax, "intervals-0").get_segments())
    np.testing.assert_allclose(segments[:, 0, 0], [0.1, 0.4, 0.6, 0.9])
    np.testing.assert_array_equal(segments[:, 0, 1], intervals.low)
    np.testing.assert_array_equal(segments[:, 1, 1], intervals.high)


def test_the_legend_says_that_intervals_are_of_one_bin_each_and_how_they_were_made(
    bins: Bins, intervals: BinIntervals
) -> None:
    assert "90 % interval, each bin alone (Wilson)" in legend(plots.calibration_curve(bins, intervals))


def test_consistency_bars_are_drawn_where_the_record_has_them(bins: Bins) -> None:
    bars = consistency_bars(bins, level=0.8)
    ax = plots.calibration_curve(bins, consistency=bars)
    segments = np.asarray(collection(ax, "consistency").get_segments())
    np.testing.assert_array_equal(segments[:, :, 1], np.column_stack([bars.low, bars.high]))
    assert "consistency bars (80 %, each bin alone)" in legend(ax)


def test_scores_below_the_diagonal_are_called_too_high(bins: Bins) -> None:
    names = {text.get_text(): text.get_position() for text in plots.calibration_curve(bins).texts}
    x, y = names["scores too high"]
    assert y < x
    x, y = names["scores too low"]
    assert y > x


def test_the_diagonal_is_drawn_once_however_many_models(bins: Bins) -> None:
    ax = plots.calibration_curves([("first", bins, None), ("second", bins, None)])
    diagonals = [line for line in ax.get_lines() if line.get_gid() == "diagonal"]
    assert len(diagonals) == 1
    np.testing.assert_array_equal(diagonals[0].get_xydata(), [[0, 0], [1, 1]])


def test_models_differ_in_colour_in_marker_and_in_line(bins: Bins) -> None:
    assert len({str(look.line) for look in SERIES}) == len(SERIES)
    ax = plots.calibration_curves([(name, bins, None) for name in "abcdef"])
    lines = [line for line in ax.get_lines() if str(line.get_gid()).startswith("key-1")]
    assert len({line.get_color() for line in lines}) == 6
    assert len({line.get_marker() for line in lines}) == 6


def test_the_first_models_can_be_told_apart_in_grey() -> None:
    luminance = [float(np.dot(to_rgb(look.color), [0.2126, 0.7152, 0.0722])) for look in SERIES[:3]]
    assert min(abs(a - b) for a, b in combinations(luminance, 2)) > 0.02


def test_two_models_lie_on_the_same_axes_with_their_own_numbers(bins: Bins, wide: Bins) -> None:
    ax = plots.calibration_curves([("first", bins, None), ("second", wide, None)])
    assert len(np.asarray(points(ax, 0).get_offsets())) == 4
    np.testing.assert_allclose(np.asarray(points(ax, 1).get_offsets()), [[0.25, 0.3], [0.75, 0.75]])
    assert legend(ax) == ["first", "second", "perfectly calibrated"]


def test_points_and_ticks_grow_with_the_weight_of_the_bin() -> None:
    uneven = uniform(pairs([0, 1, 1, 1], [0.2, 0.9, 0.9, 0.9]), n_bins=2)
    ax = plots.calibration_curve(uneven)
    small, large = points(ax).get_sizes()
    assert large == pytest.approx(3 * small)
    ticks = np.asarray(collection(ax, "rug-0").get_segments())
    heights = ticks[:, 1, 1] - ticks[:, 0, 1]
    assert heights[1] == pytest.approx(3 * heights[0])
    np.testing.assert_allclose(ticks[:, 0, 0], [0.2, 0.9])


def test_the_rug_stays_below_the_lowest_frequency(bins: Bins) -> None:
    ticks = np.asarray(collection(plots.calibration_curve(bins), "rug-0").get_segments())
    assert ticks[:, :, 1].max() < 0


def test_the_callers_axes_are_drawn_on_and_returned(bins: Bins) -> None:
    figure = Figure()
    ax = figure.subplots()
    assert plots.calibration_curve(bins, ax=ax, legend=False) is ax
    assert ax.get_legend() is None
    assert figure.axes == [ax]


def test_a_name_is_shown_to_the_letter(bins: Bins) -> None:
    ax = plots.calibration_curve(bins, label="_a $x_1$ <b>")
    found = ax.get_legend()
    assert found is not None
    text = found.get_texts()[0]
    assert text.get_text().strip("\u200b") == "_a $x_1$ <b>"
    assert not text.get_parse_math()
    assert b"_a $x_1$ &lt;b&gt;" in plots.render(figure_of(ax), "svg")


def test_a_long_name_is_cut_in_the_figure(bins: Bins) -> None:
    assert len(legend(plots.calibration_curve(bins, label="x" * 300))[0]) == 40


def test_names_that_differ_at_their_ends_stay_different_in_the_legend(bins: Bins) -> None:
    names = [f"runs/{'x' * 50}/seed-{seed}" for seed in range(8)]
    assert len(set(legend(plots.calibration_curves([(name, bins, None) for name in names])))) == 9
    assert (
        legend(plots.calibration_curves([("x" * 60, bins, None), ("x" * 50, bins, None)]))[0]
        == "x" * 19 + "…" + "x" * 20
    )


def test_the_smooth_curve_its_band_and_its_density_are_the_records(data: Pairs) -> None:
    curve = smooth_curve(data, resamples=20, seed=1)
    ax = plots.smooth_curve(curve, label="smooth")
    (line,) = [line for line in ax.get_lines() if line.get_gid() == "smooth-0"]
    np.testing.assert_array_equal(line.get_xdata(), curve.score)
    np.testing.assert_array_equal(line.get_ydata(), curve.frequency)
    (band,) = [c for c in ax.collections if c.get_gid() == "band-0"]
    heights = np.concatenate([path.vertices for path in band.get_paths()])[:, 1]
    assert np.isin(curve.low[np.isfinite(curve.low)], heights).all()
    assert np.isin(curve.high[np.isfinite(curve.high)], heights).all()
    assert "95 % band, each score alone (pointwise)" in legend(ax)
