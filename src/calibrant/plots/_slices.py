"""Draw slices with their errors, shrunken errors and adjusted intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from calibrant.exceptions import InputError
from calibrant.plots import style
from calibrant.plots.lines import draw_intervals, named_lines, zero_line
from calibrant.records.words import percent
from calibrant.results.slices import SliceEstimate, SliceTable

LINE_HEIGHT = 0.26  # inches
LONGEST_LABEL = 30
WORDS = {
    "simultaneous": "all intervals together",
    "fcr": "of the slices found",
    "none": "each slice alone",
}


def slice_intervals(table: SliceTable, *, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw one line a slice, the worst on top: its error, the shrunken error, and its interval.

    Parameters
    ----------
    table
        As `calibrant.metrics.slice_errors` makes it; it is drawn by what it is ranked by.
    most
        Slices to draw; those that were too small to measure are not drawn.
    ax
        Axes to draw on; None makes a figure as tall as the lines need.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If no slice was measured.

    Examples
    --------
    >>> from calibrant.metrics import Tally, slice_errors
    >>> tallies = {(name,): Tally.from_arrays(y_true=[0, 1] * 50, y_prob=[0.7] * 100) for name in "ab"}
    >>> ax = slice_intervals(slice_errors(tallies))
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['a', 'b']
    """
    lines: list[tuple[str, SliceEstimate]] = [(row.slice, getattr(row, table.rank)) for row in table.slices]
    rows = [(name, row) for name, row in lines if row.estimate is not None][:most]
    if not rows:
        raise InputError("no slice was measured", "slice by a column with fewer values", code="empty")
    height = 1.5 + LINE_HEIGHT * len(rows)
    ax = named_lines(ax, [name for name, _ in rows], longest=LONGEST_LABEL, width=1.6, height=height)
    places = np.arange(len(rows))
    color = style.series(0).color
    ends = [(row.low, row.estimate, row.shrunken.estimate, row.high) for _, row in rows]
    low, estimate, shrunken, high = np.array(ends, np.float64).T
    draw_intervals(ax, np.column_stack([places, low, high]), color=color, gid="intervals")
    dots: dict[str, Any] = {"linestyle": "none", "markersize": 6.0}
    ax.plot(
        estimate,
        places,
        marker="o",
        markeredgecolor=color,
        markerfacecolor=style.PAPER,
        label="the slice alone",
        gid="estimates",
        **dots,
    )
    if not np.isnan(shrunken).all():
        ax.plot(
            shrunken,
            places,
            marker="D",
            color=style.series(1).color,
            markeredgecolor=style.PAPER,
            markeredgewidth=0.6,
            label="shrunken: what to expect",
            gid="shrunken",
            **dots,
        )
    zero_line(ax, first=table.rank == "error")
    what = "RMS calibration error" if table.rank == "error" else "mean score - frequency"
    ax.set_xlabel(f"{what} ({percent(table.level)} intervals, {WORDS[table.adjust]})")
    style.legend_outside(ax)
    return ax
