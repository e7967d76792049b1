"""Calibration curves on log-odds axes, for scores near 0 or 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogitLocator, NullFormatter

from calibrant.exceptions import InputError
from calibrant.plots import style
from calibrant.plots._calibration import (
    X_LABEL,
    Y_LABEL,
    areas,
    draw_points,
    draw_rug,
    interval_lines,
    name_sides,
)
from calibrant.results import Bins
from calibrant.results.bins import BinIntervals

SMALLEST = 1e-7
STRIP = 0.045  # height of the ticks below the curve, as a share of the axes


def log_odds_curve(
    curves: Sequence[tuple[str, Bins, BinIntervals | None]], *, legend: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw calibration curves on axes of log-odds, where 0.001 and 0.999 are as far from 0.5 as from 1e-6.

    Most scores of a tagger or a coreference model are within 0.01 of 0 or 1, where points on a linear
    axis cover each other. Frequencies and scores of exactly 0 or 1 have no log-odds: they are triangles at
    the edge without a line to them. Values beyond 1e-7 (or 1 - 1e-7) are at the edge too.

    Parameters
    ----------
    curves
        A name, the bins and their intervals (or None) for each model; at least one.
    legend
        True to draw the legend, above the axes.
    ax
        Axes to draw on; None makes a figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If there is no curve.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import adaptive
    >>> bins = adaptive(pairs([0, 0, 0, 1], [0.001, 0.002, 0.01, 0.97]), size=2)
    >>> log_odds_curve([("tagger", bins, None)]).get_xscale()
    'logit'
    """
    if not curves:
        raise InputError("curves is empty", "pass at least one model", code="empty")
    ax = style.axes_or_new(ax)
    low, high = _reach(curves)
    _frame(ax, low, high)
    for index, (label, bins, intervals) in enumerate(curves):
        _draw(ax, index, label, bins, intervals, (low, high))
    if legend:
        style.legend_outside(ax)
    return ax


def _reach(curves: Sequence[tuple[str, Bins, BinIntervals | None]]) -> tuple[float, float]:
    """The decades of odds that hold every score, frequency and end of an interval other than 0 and 1."""
    ends = [end for *_, limits in curves if limits is not None for end in (limits.low, limits.high)]
    values = np.concatenate([part for _, bins, _ in curves for part in (bins.score, bins.frequency)] + ends)
    values = values[(values > 0) & (values < 1)]
    least = min(0.1, float(values.min(initial=0.1)))
    most = min(0.1, float((1 - values).min(initial=0.1)))
    return _decade(least), 1 - _decade(most)


def _decade(value: float) -> float:
    return float(max(SMALLEST, 10.0 ** math.floor(math.log10(max(value, SMALLEST)))))


def _frame(ax: Axes, low: float, high: float) -> None:
    style.grid(ax)
    dotted = style.DOTTED
    ax.set_xscale("logit")
    ax.set_yscale("logit")
    ax.plot([low, high], [low, high], zorder=2, gid="diagonal", **dotted)
    style.key(ax, "perfectly calibrated", 4, **dotted)
    name_sides(ax)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(LogitLocator(nbins=9))
        axis.set_major_formatter(lambda value, position: tick_label(value))
        axis.set_minor_formatter(NullFormatter())
    ax.set_xlim(low / 2, 1 - (1 - high) / 2)
    ax.set_ylim(low / 8, 1 - (1 - high) / 2)
    ax.set_box_aspect(1.0)
    ax.set_xlabel(f"{X_LABEL} (log-odds)")
    ax.set_ylabel(f"{Y_LABEL} (log-odds)")


def tick_label(value: float) -> str:
    """Return a probability in few signs.

    Examples
    --------
    >>> [tick_label(value) for value in (1e-5, 0.001, 0.5, 0.999, 1 - 1e-5)]
    ['1e-5', '0.001', '0.5', '0.999', '1−1e-5']
    """
    if value > 0.9995:
        return f"1−{tick_label(1 - value)}"
    return f"{value:.0e}".replace("e-0", "e-") if value < 0.0005 else f"{value:.3g}"


def _draw(
    ax: Axes,
    index: int,
    label: str,
    bins: Bins,
    intervals: BinIntervals | None,
    reach: tuple[float, float],
) -> None:
    look = style.series(index)
    score, frequency = np.clip(bins.score, *reach), np.clip(bins.frequency, *reach)
    drawn: dict[str, Any] = {"color": look.color, "linestyle": look.line}
    style.key(ax, style.shown(label), 1, marker=look.marker, markersize=6, **drawn)
    if intervals is not None:
        low, high = np.clip(intervals.low, *reach), np.clip(intervals.high, *reach)
        interval_lines(ax, score, low, high, bins.n, intervals, index)
    size, alpha = areas(bins.weight), style.strength(bins.n)
    inside = (bins.frequency > 0) & (bins.frequency < 1)
    sides = [(bins.frequency <= 0, "v", "zero"), (bins.frequency >= 1, "^", "one")]
    sides += [(inside & (bins.score <= 0), "<", "score-zero"), (inside & (bins.score >= 1), ">", "score-one")]
    inside &= (bins.score > 0) & (bins.score < 1)
    line = np.where(inside, frequency, np.nan)
    ax.plot(score, line, linewidth=1.2, zorder=4, gid=f"line-{index}", **drawn)
    for chosen, marker, name in ((inside, look.marker, "points"), *sides):
        if chosen.any():
            at = (score[chosen], frequency[chosen], size[chosen], alpha[chosen])
            draw_points(ax, *at, look.color, marker, f"{name}-{index}")
    draw_rug(ax, score, bins.weight, index, 0, STRIP, transform=ax.get_xaxis_transform())
