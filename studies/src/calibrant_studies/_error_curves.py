"""Calibration error against bin size and against sample size: the thesis' figures 4.7 to 4.11."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes

from calibrant.plots import style
from calibrant_studies.arrays import Floats, Integers

X_LABELS = {"bin_size": "bin size (pairs)", "sample_size": "sample size (pairs)"}
LOG_RATIO = 100  # sizes that span more than this are drawn on a logarithmic axis


@dataclass(frozen=True)
class ErrorCurve:
    """Calibration MSE of one model as a function of the bin size or the sample size.

    Attributes
    ----------
    name
        Name of the predictions, such as ``"calibrated"``.
    against
        Quantity that varies: ``"bin_size"`` or ``"sample_size"``.
    size
        (points,) sizes, ascending.
    plug_in
        (points,) plug-in calibration MSE (the square of the papers' CalibErr), in [0, 1].
    debiased
        (points,) debiased MSE at the same sizes, signed; None if not computed.
    expected
        (points,) expected plug-in MSE of a calibrated model, ``E[p (1 - p)] / b``; None if not computed.
    truth
        Squared error of the population from which the pairs were drawn; None if unknown.
    """

    name: str
    against: Literal["bin_size", "sample_size"]
    size: Integers
    plug_in: Floats
    debiased: Floats | None = None
    expected: Floats | None = None
    truth: float | None = None


def error_against_size(curves: Sequence[ErrorCurve], ax: Axes, *, log_error: bool = False) -> None:
    """Draw the calibration MSE while the bin size or the sample size varies, on axes without a legend.

    Markers are the plug-in error, hollow markers the debiased estimate, the gray line the expected
    plug-in error of a calibrated model, and a thin line in the series' style the population's error.
    The distance of the plug-in error from that line is its bias. Sizes that span more than a factor
    of 100 are drawn on a logarithmic axis, as are errors with ``log_error``; debiased values at or below 0
    are then arrow heads at the bottom. All curves are against the same kind of size.

    Examples
    --------
    >>> import numpy as np
    >>> curve = ErrorCurve("calibrated", "bin_size", np.array([2, 2048]), np.array([0.1, 0.001]))
    >>> [ax] = style.new_figure(3.3, 3.0, 1, 1)[1]
    >>> error_against_size([curve], ax)
    >>> ax.get_xlabel(), ax.get_xscale()
    ('bin size (pairs)', 'log')
    """
    style.grid(ax)
    if log_error:
        ax.set_yscale("log", nonpositive="mask")
    else:
        ax.axhline(0.0, color=style.MUTED, linewidth=0.8, zorder=1)
    if max(curve.size[-1] for curve in curves) > LOG_RATIO * min(curve.size[0] for curve in curves):
        ax.set_xscale("log", base=2 if _powers_of_two(curves) else 10)
    else:
        ax.xaxis.set_major_formatter("{x:,.0f}")
    for index, curve in enumerate(curves):
        _draw(ax, curve, index)
    ax.set_xlabel(X_LABELS[curves[0].against])
    ax.set_ylabel("calibration MSE")
    if not log_error:
        _power_in_label(ax, curves)


def _power_in_label(ax: Axes, curves: Sequence[ErrorCurve]) -> None:
    """Name the power of ten of small errors in the axis' label, so that the ticks are short numbers."""
    largest = max(float(curve.plug_in.max()) for curve in curves)
    power = math.floor(math.log10(largest)) if largest > 0 else 0
    if power < -2:
        ax.yaxis.set_major_formatter(lambda value, position: f"{value / 10**power:g}")
        ax.set_ylabel(f"calibration MSE (in units of $10^{{{power}}}$)")


def _powers_of_two(curves: Sequence[ErrorCurve]) -> bool:
    sizes = np.concatenate([curve.size for curve in curves])
    return bool(np.all((sizes & (sizes - 1)) == 0))


def _draw(ax: Axes, curve: ErrorCurve, index: int) -> None:
    look = style.series(index)
    name = style.shown(curve.name)
    size = _marker_size(curve.size)
    if curve.expected is not None:
        ax.plot(
            curve.size,
            curve.expected,
            color=style.MUTED,
            linewidth=1.0,
            linestyle=(0, (5, 2)),
            zorder=2,
            label=f"{name}: plug-in expected from noise alone",
            gid=f"expected-{index}",
        )
    if curve.truth is not None and curve.truth > 0:
        ax.axhline(
            curve.truth,
            color=look.color,
            linewidth=1.0,
            linestyle=(0, (1, 1)),
            label=f"{name}: population",
            gid=f"truth-{index}",
        )
    ax.plot(
        curve.size,
        curve.plug_in,
        color=look.color,
        linestyle=look.line,
        linewidth=0.9,
        marker=look.marker,
        markersize=size,
        markeredgecolor=style.PAPER,
        markeredgewidth=0.4,
        zorder=4,
        label=f"{name}: plug-in",
        gid=f"plug-in-{index}",
    )
    if curve.debiased is not None:
        _draw_debiased(ax, curve.size, curve.debiased, name, index)


def _draw_debiased(ax: Axes, sizes: Integers, debiased: Floats, name: str, index: int) -> None:
    look = style.series(index)
    hollow: dict[str, Any] = {
        "color": look.color,
        "linestyle": "none",
        "markerfacecolor": "none",
        "markeredgewidth": 0.9,
    }
    size = _marker_size(sizes)
    ax.plot(
        sizes,
        debiased,
        marker=look.marker,
        markersize=size,
        zorder=3,
        label=f"{name}: debiased",
        gid=f"debiased-{index}",
        **hollow,
    )
    below = sizes[debiased <= 0]
    if ax.get_yscale() == "log" and len(below):
        ax.plot(
            below,
            np.full(len(below), 0.02),
            marker="v",
            markersize=size + 1,
            transform=ax.get_xaxis_transform(),
            label=f"{name}: debiased, at or below 0",
            gid=f"debiased-below-{index}",
            **hollow,
        )


def _marker_size(sizes: Integers) -> float:
    return 4.0 if len(sizes) <= 20 else 2.6
