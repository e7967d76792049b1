from __future__ import annotations

import numpy as np
import pytest
from matplotlib.axes import Axes
from numpy.typing import NDArray

from calibrant import plots
from calibrant.exceptions import InputError
from calibrant.results.error_curve import ErrorCurve
from calibrant.results.intervals import ErrorInterval

Floats = NDArray[np.float64]


def drawn(ax: Axes, gid: str) -> Floats:
    (line,) = [line for line in ax.get_lines() if line.get_gid() == gid]
    return np.asarray(line.get_xydata())


def interval(estimate: float | None, low: float | None, high: float | None) -> ErrorInterval:
    return ErrorInterval(
        estimate, low, high, method="inverted", level=0.95, estimand="rms", bin_size=20, bins=5, n=100
    )


def curve(name: str = "calibrated", debiased: list[float] | None = None) -> ErrorCurve:
    size = np.array([2, 16, 1024])
    return ErrorCurve(
        name,
        "bin_size",
        size,
        0.1 / size,
        None if debiased is None else np.array(debiased),
        0.09 / size,
        0.0001,
    )


def test_error_against_bin_size_draws_the_records_numbers() -> None:
    ax = plots.error_against_size([curve(debiased=[0.01, 0.001, -0.0001])])
    np.testing.assert_allclose(drawn(ax, "plug-in-0"), [[2, 0.05], [16, 0.00625], [1024, 0.1 / 1024]])
    np.testing.assert_allclose(drawn(ax, "debiased-0")[:, 1], [0.01, 0.001, -0.0001])
    np.testing.assert_allclose(drawn(ax, "expected-0")[:, 1], [0.045, 0.09 / 16, 0.09 / 1024])
    assert drawn(ax, "truth-0")[0, 1] == 0.0001
    assert ax.get_xscale() == "log"


def test_a_negative_debiased_error_is_marked_on_a_logarithmic_axis() -> None:
    ax = plots.error_against_size([curve(debiased=[0.01, 0.0, -0.0001])], log_error=True)
    assert drawn(ax, "debiased-below-0")[:, 0].tolist() == [16, 1024]


def test_class_names_that_are_cut_stay_different() -> None:
    names = [f"PRON|Case=Nom|Gender={gender}|Number=Sing|Person=3|PronType=Prs" for gender in ("Masc", "Fem")]
    ax = plots.error_intervals(names, [("tagger", [interval(0.1, 0.0, 0.2)] * 2)])
    assert len({label.get_text() for label in ax.get_yticklabels()}) == 2


def test_sizes_of_one_magnitude_are_drawn_on_a_linear_axis() -> None:
    size = np.arange(1000, 5001, 1000)
    ax = plots.error_against_size([ErrorCurve("calibrated", "sample_size", size, 0.1 / size)])
    assert ax.get_xscale() == "linear"
    assert ax.get_xlabel() == "sample size (pairs)"


def test_small_errors_have_their_power_of_ten_in_the_label() -> None:
    size = np.arange(1000, 5001, 1000)
    ax = plots.error_against_size([ErrorCurve("calibrated", "sample_size", size, 0.1 / size)])
    assert ax.get_ylabel() == "calibration MSE (in units of $10^{-4}$)"
    assert ax.yaxis.get_major_formatter()(0.0001, 0) == "1"


def test_curves_against_different_sizes_are_refused() -> None:
    other = ErrorCurve("calibrated", "sample_size", np.array([10]), np.array([0.1]))
    with pytest.raises(InputError, match="different x-axes: bin_size, sample_size: draw each kind"):
        plots.error_against_size([curve(), other])
    with pytest.raises(InputError, match="curves is empty"):
        plots.error_against_size([])


def test_an_error_curves_rows_are_its_numbers() -> None:
    rows = curve(debiased=[0.01, 0.001, -0.0001]).to_rows()
    assert rows[0] == {
        "name": "calibrated",
        "bin_size": 2,
        "plug_in": 0.05,
        "debiased": 0.01,
        "expected": 0.045,
        "truth": 0.0001,
    }


def test_each_class_has_a_line_with_its_error_and_its_interval() -> None:
    ax = plots.error_intervals(
        ["NN", "VB"], [("model", [interval(0.05, 0.02, 0.08), interval(0.01, 0, 0.03)])]
    )
    np.testing.assert_allclose(drawn(ax, "estimates-0"), [[0.05, 0], [0.01, 1]])
    (lines,) = [c for c in ax.collections if c.get_gid() == "intervals-0"]
    ends = [np.asarray(path.vertices)[:, 0].tolist() for path in lines.get_paths()]
    assert ends == [[0.02, 0.08], [0.0, 0.03]]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["NN", "VB"]


def test_an_undefined_error_leaves_its_line_empty() -> None:
    ax = plots.error_intervals(
        ["NN", "VB"], [("model", [interval(None, None, None), interval(0.01, 0, 0.03)])]
    )
    np.testing.assert_allclose(drawn(ax, "estimates-0"), [[0.01, 1]])


def test_several_models_share_a_line_without_covering_each_other() -> None:
    found = [interval(0.05, 0.02, 0.08)]
    ax = plots.error_intervals(["NN"], [("first", found), ("second", found)])
    assert drawn(ax, "estimates-0")[0, 1] < drawn(ax, "estimates-1")[0, 1]


def test_error_intervals_refuse_lists_that_do_not_fit() -> None:
    with pytest.raises(InputError, match="model has 1 intervals for 2 names"):
        plots.error_intervals(["NN", "VB"], [("model", [interval(0.05, 0.02, 0.08)])])
    with pytest.raises(InputError, match="nothing to draw"):
        plots.error_intervals([], [])
