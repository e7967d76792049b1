"""Figures of a calibration error against a size."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from calibrant.plots import style
from calibrant_studies._error_curves import ErrorCurve, error_against_size

Floats = NDArray[np.float64]


def plotted(curves: list[ErrorCurve], *, log_error: bool = False) -> Axes:
    [ax] = style.new_figure(3.3, 3.0, 1, 1)[1]
    error_against_size(curves, ax, log_error=log_error)
    return ax


def drawn(ax: Axes, gid: str) -> Floats:
    (line,) = [line for line in ax.get_lines() if line.get_gid() == gid]
    return np.asarray(line.get_xydata())


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
    ax = plotted([curve(debiased=[0.01, 0.001, -0.0001])])
    np.testing.assert_allclose(drawn(ax, "plug-in-0"), [[2, 0.05], [16, 0.00625], [1024, 0.1 / 1024]])
    np.testing.assert_allclose(drawn(ax, "debiased-0")[:, 1], [0.01, 0.001, -0.0001])
    np.testing.assert_allclose(drawn(ax, "expected-0")[:, 1], [0.045, 0.09 / 16, 0.09 / 1024])
    assert drawn(ax, "truth-0")[0, 1] == 0.0001
    assert ax.get_xscale() == "log"


def test_a_negative_debiased_error_is_marked_on_a_logarithmic_axis() -> None:
    ax = plotted([curve(debiased=[0.01, 0.0, -0.0001])], log_error=True)
    assert drawn(ax, "debiased-below-0")[:, 0].tolist() == [16, 1024]


def test_sizes_of_one_magnitude_are_drawn_on_a_linear_axis() -> None:
    size = np.arange(1000, 5001, 1000)
    ax = plotted([ErrorCurve("calibrated", "sample_size", size, 0.1 / size)])
    assert ax.get_xscale() == "linear"
    assert ax.get_xlabel() == "sample size (pairs)"


def test_small_errors_have_their_power_of_ten_in_the_label() -> None:
    size = np.arange(1000, 5001, 1000)
    ax = plotted([ErrorCurve("calibrated", "sample_size", size, 0.1 / size)])
    assert ax.get_ylabel() == "calibration MSE (in units of $10^{-4}$)"
    assert ax.yaxis.get_major_formatter()(0.0001, 0) == "1"
