"""Calibration errors with their intervals, one line each: many classes or models at a glance."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from calibrant.plots import style
from calibrant.plots.lines import check_lines, draw_series, named_lines, zero_line
from calibrant.records.words import percent
from calibrant.results.intervals import ErrorInterval

LINE_HEIGHT = 0.24  # inches
LONGEST_LABEL = 22


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
        Names of the lines, from the top, shown unchanged.
    models
        Name of each model and its intervals, one per line; models differ by color and marker.
    legend
        True to name the models above the axes, if there are several.
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
    >>> from calibrant.metrics.intervals import error_interval
    >>> interval = error_interval(pairs([0, 1] * 100, [0.2, 0.7] * 100))
    >>> ax = error_intervals(["NOUN"], [("tagger", [interval])])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['NOUN']
    """
    check_lines(names, models, "interval")
    height = 1.1 + LINE_HEIGHT * len(names) * (1 + len(models)) / 2
    ax = named_lines(ax, names, longest=LONGEST_LABEL, width=1.0, height=height)
    for place, (name, intervals) in enumerate(models):
        draw_series(ax, place, len(models), name, intervals)
    zero_line(ax, first=True)
    ax.set_xlabel(f"calibration error ({percent(models[0][1][0].level)} interval, each line alone)")
    if legend and len(models) > 1:
        style.legend_outside(ax)
    return ax
