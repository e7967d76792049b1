"""Lines with names, one below the other, each with estimates and their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.plots import style

SPREAD = 0.6  # of a line's height that several series share
Ends = NDArray[np.float64] | Sequence[tuple[float, float | None, float | None]]


class Interval(Protocol):
    """An estimate with its interval; None where they are undefined."""

    @property
    def low(self) -> float | None:
        """Lower end."""

    @property
    def estimate(self) -> float | None:
        """Estimate of the interval."""

    @property
    def high(self) -> float | None:
        """Upper end."""


def check_lines(names: Sequence[str], series: Sequence[tuple[str, Sequence[object]]], values: str) -> None:
    """Raise `InputError` where there is nothing to draw, or a series has not one value a line."""
    if not names or not series:
        raise InputError("there is nothing to draw", "pass at least one name and one series", code="empty")
    for name, numbers in series:
        if len(numbers) != len(names):
            message = f"{name} has {len(numbers)} {values}s for {len(names)} names"
            raise InputError(message, f"pass one {values} per name", code="length")


def named_lines(ax: Axes | None, names: Sequence[str], *, longest: int, width: float, height: float) -> Axes:
    """Return axes with one line per name, from the top; ``width`` is added to a panel, in inches.

    Names longer than ``longest`` are shortened as far as different names remain different.
    """
    most = max(map(len, names))
    while len({style.shown(name, longest) for name in names}) < len(set(names)) and longest < most:
        longest, width = longest + 1, width + 0.08
    ax = style.axes_or_new(ax, (style.PANEL_SIZE[0] + width, height))
    style.grid(ax, "x")
    ax.set_yticks(np.arange(len(names)), labels=[style.shown(name, longest) for name in names])
    for label in ax.get_yticklabels():
        label.set_parse_math(False)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    return ax


def draw_intervals(ax: Axes, ends: Ends, *, color: str, gid: str) -> None:
    """Draw intervals, each a height, a lower and an upper end; those that are not numbers are left out."""
    intervals = np.array(ends, np.float64).reshape(-1, 3)
    heights, low, high = intervals[~np.isnan(intervals).any(axis=1)].T
    ax.hlines(heights, low, high, colors=color, linewidth=1.6, alpha=0.7).set_gid(gid)


def draw_series(
    ax: Axes, place: int, count: int, name: str, intervals: Sequence[Interval], *, gid: str = "estimates"
) -> None:
    """Draw one of several series: an estimate a line, with its interval. Undefined ones are left out."""
    look = style.series(place)
    offset = SPREAD * ((place + 0.5) / count - 0.5)
    known = [(line + offset, row) for line, row in enumerate(intervals) if row.estimate is not None]
    ends = [(height, row.low, row.high) for height, row in known]
    draw_intervals(ax, ends, color=look.color, gid=f"intervals-{place}")
    ax.plot(
        [row.estimate for _, row in known if row.estimate is not None],
        [height for height, _ in known],
        color=look.color,
        linestyle="none",
        marker=look.marker,
        markersize=5.5,
        markeredgecolor=style.PAPER,
        markeredgewidth=0.6,
        label=style.shown(name),
        gid=f"{gid}-{place}",
    )


def zero_line(ax: Axes, *, first: bool) -> None:
    """Draw where the error is 0; ``first``: start the axis of a non-negative error just before it."""
    if first:
        ax.set_xlim(left=-0.02 * ax.get_xlim()[1])
    ax.axvline(0, color=style.MUTED, linewidth=0.8, zorder=1)
