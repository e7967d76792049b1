"""Calibration errors with their intervals, one line each: many classes or models at a glance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from calibrant.exceptions import InputError
from calibrant.plots import _style as style
from calibrant.results.intervals import ErrorInterval

LINE_HEIGHT = 0.24  # inches
LONGEST_LABEL = 22
SPREAD = 0.6  # of a line's height that several models share


def error_intervals(
    names: Sequence[str],
    models: Sequence[tuple[str, Sequence[ErrorInterval]]],
    *,
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw one line a name (a class, say) with each model's calibration error and its interval.

    Each interval is for its own line alone: among 20 lines at 95 % one is expected to miss. An
    undefined error leaves its line empty.

    Parameters
    ----------
    names
        What the lines are called, from the top; shown to the letter.
    models
        A model's name and its intervals, one a line; models differ by colour and marker.
    legend
        Whether to name the models above the axes (with one model there is nothing to tell apart).
    ax
        Axes to draw on; None makes a figure as tall as the lines need.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If there is no line or no model, or a model has not one interval a line.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.measure.intervals import error_interval
    >>> found = error_interval(pairs([0, 1] * 100, [0.2, 0.7] * 100))
    >>> ax = error_intervals(["NOUN"], [("tagger", [found])])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['NOUN']
    """
    if not names or not models:
        raise InputError("there is nothing to draw", "pass at least one name and one model", code="empty")
    for name, intervals in models:
        if len(intervals) != len(names):
            message = f"{name} has {len(intervals)} intervals for {len(names)} names"
            raise InputError(message, "pass one interval a name", code="length")
    height = 1.1 + LINE_HEIGHT * len(names) * (1 + len(models)) / 2
    ax = style.axes_or_new(ax, (style.PANEL_SIZE[0] + 1.0, height))
    style.grid(ax, "x")
    for index, (name, intervals) in enumerate(models):
        _draw(ax, index, (index + 0.5) / len(models) - 0.5, name, intervals)
    lines = np.arange(len(names))
    ax.set_yticks(lines, labels=[style.shown(name, LONGEST_LABEL) for name in names])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.set_xlim(left=-0.02 * ax.get_xlim()[1])
    ax.axvline(0, color=style.MUTED, linewidth=0.8, zorder=1)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"calibration error ({style.percent(models[0][1][0].level)} interval, each line alone)")
    if legend and len(models) > 1:
        style.legend_above(ax)
    return ax


def _draw(ax: Axes, index: int, offset: float, name: str, intervals: Sequence[ErrorInterval]) -> None:
    look = style.series(index)
    found = [
        (line + SPREAD * offset, interval.low, interval.estimate, interval.high)
        for line, interval in enumerate(intervals)
        if interval.low is not None and interval.high is not None and interval.estimate is not None
    ]
    height, low, estimate, high = np.array(found, dtype=np.float64).reshape(-1, 4).T
    ax.hlines(height, low, high, colors=look.color, linewidth=1.6, alpha=0.7).set_gid(f"intervals-{index}")
    ax.plot(
        estimate,
        height,
        color=look.color,
        linestyle="none",
        marker=look.marker,
        markersize=5.5,
        markeredgecolor=style.PAPER,
        markeredgewidth=0.6,
        label=style.shown(name),
        gid=f"estimates-{index}",
    )
