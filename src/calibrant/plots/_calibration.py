"""Calibration curves: label frequency against predicted probability."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from calibrant._checks import Floats
from calibrant.plots import style
from calibrant.records.words import percent
from calibrant.results import Bins
from calibrant.results.bins import BinIntervals
from calibrant.results.errors import ConsistencyBars, SmoothCurve

X_LABEL = "predicted probability"
Y_LABEL = "label frequency"
RUG_TOP, RUG_BOTTOM = -0.025, -0.085
LEAST_AREA, LEAST_TICK = 0.3, 0.15  # of the largest
TICKS = np.linspace(0, 1, 6)


def calibration_curve(
    bins: Bins,
    intervals: BinIntervals | None = None,
    *,
    consistency: ConsistencyBars | None = None,
    label: str = "model",
    index: int = 0,
    rug: bool = True,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw label frequency against mean predicted probability, bin by bin.

    The points of a calibrated model are on the diagonal; below it scores are too high, above it too low.
    Points grow with their bin's weight, and the strip under the curve has one tick per bin, whose height is
    the bin's weight. Tall or dense ticks show where the predictions are, and such ticks near 0 and 1 mean
    that the model tells cases apart (refinement). Call it again on the same axes with another ``index`` to
    lay a second model over the first.

    Parameters
    ----------
    bins
        The points; their numbers are ``bins.to_rows()``. Empty bins are left out.
    intervals
        Intervals of the same bins' frequencies, drawn as vertical lines; each is for its bin alone
        (pointwise), as stated in the legend.
    consistency
        Bars around the diagonal that contain a calibrated model's frequencies.
    label
        Name of the model in the legend, shown unchanged.
    index
        Number of the color, marker and line style, from 0.
    rug
        True to draw the strip of bin positions.
    legend
        True to draw the legend, above the axes.
    ax
        Axes to draw on; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes drawn on; ``ax.figure`` is the figure.

    References
    ----------
    K. Nguyen and B. O'Connor (2015), section 3.3; J. Broecker and L. Smith (2007) for the bars.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> ax = calibration_curve(uniform(pairs([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9]), n_bins=2))
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('predicted probability', 'label frequency')
    """
    ax = style.axes_or_new(ax)
    look = style.series(index)
    _frame(ax, rug)
    used = bins.weight > 0
    score, frequency, weight = bins.score[used], bins.frequency[used], bins.weight[used]
    if consistency is not None:
        _consistency_bars(ax, consistency)
    style.key(
        ax, style.shown(label), 1, color=look.color, linestyle=look.line, marker=look.marker, markersize=6
    )
    if intervals is not None:
        ends = intervals.low[used], intervals.high[used]
        interval_lines(ax, score, *ends, bins.n[used], intervals, index)
    ax.plot(
        score, frequency, color=look.color, linestyle=look.line, linewidth=1.2, zorder=4, gid=f"line-{index}"
    )
    size, alpha = areas(weight), style.strength(bins.n[used])
    draw_points(ax, score, frequency, size, alpha, look.color, look.marker, f"points-{index}")
    if rug:
        draw_rug(ax, score, weight, index, RUG_BOTTOM, RUG_TOP - RUG_BOTTOM)
    if legend:
        style.legend_outside(ax)
    return ax


def calibration_curves(
    curves: Sequence[tuple[str, Bins, BinIntervals | None]], *, ax: Axes | None = None
) -> Axes:
    """Draw the calibration curves of several models on the same axes, with different colors and markers.

    Parameters
    ----------
    curves
        A name, the bins and their intervals (or None) for each model.
    ax
        Axes to draw on; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> bins = uniform(pairs([0, 1, 1, 1], [0.2, 0.2, 0.9, 0.9]), n_bins=2)
    >>> ax = calibration_curves([("naive Bayes", bins, None), ("logistic regression", bins, None)])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['naive Bayes', 'logistic regression', 'perfectly calibrated']
    """
    ax = style.axes_or_new(ax)
    for index, (label, bins, intervals) in enumerate(curves):
        calibration_curve(bins, intervals, label=label, index=index, legend=False, ax=ax)
    style.legend_outside(ax)
    return ax


def smooth_curve(
    curve: SmoothCurve,
    *,
    label: str = "smoothed",
    index: int = 0,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw label frequency as a smooth function of the predicted probability, with its band.

    Where fewer than 10 effective pairs carry a point, nothing is drawn. The strip under the curve shows the
    density of the scores; the band is pointwise: at each score alone it holds what the curve
    estimates at the stated level.

    Parameters
    ----------
    curve
        The curve; its numbers are ``curve.to_rows()``.
    label, index, legend, ax
        As in `calibration_curve`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> from calibrant import metrics
    >>> curve = metrics.smooth_curve([0, 1] * 50, [0.2, 0.8] * 50, seed=1)
    >>> smooth_curve(curve).get_ylabel()
    'label frequency'
    """
    ax = style.axes_or_new(ax)
    look = style.series(index)
    _frame(ax, rug=True)
    ax.fill_between(
        curve.score,
        curve.low,
        curve.high,
        color=look.color,
        alpha=0.2,
        linewidth=0,
        zorder=3,
    ).set_gid(f"band-{index}")
    band = f"{percent(curve.level)} band, each score alone (pointwise)"
    style.key(ax, band, 2, color=style.MUTED, alpha=0.35, linewidth=6)
    ax.plot(
        curve.score,
        curve.frequency,
        color=look.color,
        linestyle=look.line,
        linewidth=1.6,
        zorder=4,
        gid=f"smooth-{index}",
    )
    style.key(ax, style.shown(label), 1, color=look.color, linestyle=look.line, linewidth=1.6)
    height = (RUG_TOP - RUG_BOTTOM) * curve.density / max(float(np.nanmax(curve.density)), 1e-300)
    ax.fill_between(
        curve.score, RUG_BOTTOM, RUG_BOTTOM + height, color=look.color, alpha=0.45, linewidth=0, zorder=2
    ).set_gid(f"density-{index}")
    if legend:
        style.legend_outside(ax)
    return ax


def _frame(ax: Axes, rug: bool) -> None:
    """Diagonal, named sides, limits and labels; drawn once an axes."""
    if any(line.get_gid() == "diagonal" for line in ax.get_lines()):
        return
    style.grid(ax)
    ax.plot([0, 1], [0, 1], zorder=2, gid="diagonal", **style.DOTTED)
    style.key(ax, "perfectly calibrated", 4, **style.DOTTED)
    name_sides(ax)
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(RUG_BOTTOM - 0.01 if rug else -0.02, 1.02)
    ax.set_xticks(TICKS)
    ax.set_yticks(TICKS)
    ax.set_aspect("equal")
    ax.set_xlabel(X_LABEL)
    ax.set_ylabel(Y_LABEL)


def name_sides(ax: Axes) -> None:
    """Name the sides of the diagonal, in the corners farthest from it.

    The names are true of every score. A score below one half that is too low is overconfident, not under-.
    """
    sides = (
        ("scores too low", 0.05, 0.95, "left", "top"),
        ("scores too high", 0.95, 0.12, "right", "bottom"),
    )
    for text, x, y, horizontal, vertical in sides:
        ax.text(
            x,
            y,
            text,
            color=style.MUTED,
            fontsize=style.FONT_SIZE - 1,
            fontstyle="italic",
            horizontalalignment=horizontal,
            verticalalignment=vertical,
            transform=ax.transAxes,
            gid=text.replace(" ", "-"),
        )


def _consistency_bars(ax: Axes, consistency: ConsistencyBars) -> None:
    used = np.isfinite(consistency.low)
    ax.vlines(
        consistency.score[used],
        consistency.low[used],
        consistency.high[used],
        colors=style.FAINT,
        linewidth=max(1.5, min(6.0, 120 / max(1, int(used.sum())))),
        zorder=1.5,
    ).set_gid("consistency")
    label = f"consistency bars ({percent(consistency.level)}, each bin alone)"
    style.key(ax, label, 3, color=style.FAINT, linewidth=5)


def areas(weight: Floats) -> Floats:
    """Marker areas in proportion to the bins' weights, smaller where there are many bins; all can be seen."""
    largest = float(np.clip(1200 / len(weight), 9, 60))
    areas: Floats = np.maximum(largest * weight / weight.max(), max(3.0, LEAST_AREA * largest))
    return areas


def interval_lines(
    ax: Axes, score: Floats, low: Floats, high: Floats, count: Floats, intervals: BinIntervals, index: int
) -> None:
    """Draw the intervals of the frequencies as vertical lines, and add them to the legend."""
    color, alpha = style.series(index).color, style.strength(count, 0.55)
    lines = ax.vlines(score, low, high, colors=color, linewidth=1.3, alpha=alpha, zorder=3)
    lines.set_gid(f"intervals-{index}")
    style.interval_key(ax, intervals.level, intervals.method)


def draw_points(
    ax: Axes, x: Floats, y: Floats, size: Floats, alpha: Floats, color: str, marker: str, gid: str
) -> None:
    """Draw the points of a curve."""
    look: dict[str, Any] = {"alpha": alpha, "edgecolors": style.PAPER, "linewidths": 0.6}
    points = ax.scatter(x, y, s=size, marker=marker, color=color, zorder=5, **look)
    points.set_gid(gid)


def draw_rug(
    ax: Axes, score: Floats, weight: Floats, index: int, bottom: float, tallest: float, **place: Any
) -> None:
    """Draw one tick per bin at its mean score, as tall as the bin is heavy."""
    top = bottom + tallest * np.maximum(weight / weight.max(), LEAST_TICK)
    color = style.series(index).color
    rug = ax.vlines(score, bottom, top, colors=color, linewidth=0.9, alpha=0.6, zorder=2, **place)
    rug.set_gid(f"rug-{index}")
