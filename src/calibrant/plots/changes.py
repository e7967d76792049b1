"""Errors before and after recalibration, as dots and arrows: figures 2 and 3 of the 2021 paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from matplotlib.axes import Axes

from calibrant.exceptions import InputError
from calibrant.plots import style
from calibrant.results.groups import MarginalChange

FALLS, RISES, OTHER = style.SERIES[2].color, style.SERIES[1].color, style.SERIES[0].color
LINE_HEIGHT = 0.24  # inches
BETWEEN_GROUPS = 0.6  # of a line
POINT: dict[str, Any] = {"linestyle": "none", "markersize": 6}

Changes = Mapping[str, Sequence[MarginalChange]]


def error_changes(
    changes: Changes,
    others: Changes | None = None,
    *,
    measure: Literal["mce", "smce", "gmce"] = "gmce",
    label: str = "after",
    other_label: str = "after, one map for all",
    legend: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """Draw one line per group and technique: a dot for the error before, an arrow to the error after.

    Arrows to the left are decreases and arrows to the right increases; their colors differ too. The errors
    are the plug-in errors of the papers, which are positive for calibrated scores too.

    Parameters
    ----------
    changes
        By technique: what `calibrant.metrics.calibration_changes` returned.
    others
        The same after another way of sharing maps: squares. Techniques that are not in it have none.
    measure
        ``"smce"`` for figure 2, ``"gmce"`` (one block of lines per group) for figure 3, or ``"mce"``.
    label, other_label
        Names of the arrows and the squares in the legend.
    legend
        True to draw a legend, above the axes.
    ax
        Axes to draw on; None makes a figure as tall as the lines need.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    InputError
        If nothing in ``changes`` is of that measure.

    References
    ----------
    M. Kranzlein, N. F. Liu and N. Schneider (2021), Making heads and tails of models with marginal
    calibration for sparse tagsets, Findings of EMNLP 2021, figures 2 and 3.

    Examples
    --------
    >>> from calibrant.metrics import calibration_changes
    >>> y, tags = [0, 1] * 100, ["N"] * 100 + ["V"] * 100
    >>> changes = calibration_changes(y, [0.5] * 100 + [0.3] * 100, [0.4] * 200, tags, [["N"], ["V"]])
    >>> ax = error_changes({"histogram binning": changes})
    >>> [name.get_text() for name in ax.get_yticklabels()]
    ['1: histogram binning', '2: histogram binning']
    """
    lines = _lines(changes, measure)
    if not lines:
        message = f"{measure!r} is not an error"
        raise InputError(message, 'give "mce", "smce" or "gmce", and groups for the last', code="empty")
    squares = {} if others is None else _lines(others, measure)
    groups = list(dict.fromkeys(group for group, _ in lines))
    heights: list[float] = []
    names: list[tuple[str | None, str]] = []
    for place, group in enumerate(groups):
        for name in changes:
            if (group, name) in lines:
                heights.append(len(heights) + BETWEEN_GROUPS * place)
                names.append((group, name))
    ax = style.axes_or_new(ax, (style.PANEL_SIZE[0] + 1.0, 1.6 + LINE_HEIGHT * heights[-1]))
    style.grid(ax, "x")
    for y, line in zip(heights, names, strict=True):
        change, other = lines[line], squares.get(line)
        before, after = change.before.plug_in_calibration_error, change.after.plug_in_calibration_error
        if before is not None and after is not None:  # else no score is left
            error = None if other is None else other.after.plug_in_calibration_error
            draw_change(ax, y, before, after, error)
    ax.set_yticks(heights, labels=[style.shown(name if g is None else f"{g}: {name}") for g, name in names])
    for text in ax.get_yticklabels():
        text.set_parse_math(False)
    ax.set_ylim(heights[-1] + 0.7, -0.7)
    ax.set_xlim(left=0)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(f"{measure.upper()} (plug-in)")
    if legend:
        key_of_changes(ax, label, other_label if squares else None)
        style.legend_outside(ax)
    return ax


def _lines(changes: Changes, measure: str) -> dict[tuple[str | None, str], MarginalChange]:
    """The changes of one measure by group and technique."""
    return {
        (change.before.group, name): change
        for name, of_model in changes.items()
        for change in of_model
        if change.before.measure == measure
    }


def draw_change(ax: Axes, y: float, before: float, after: float, other: float | None) -> None:
    """Draw a dot, an arrow from it, and a square if there is one."""
    falls = after <= before
    color = FALLS if falls else RISES
    ax.plot([before, after], [y, y], color=color, linewidth=1.6, zorder=2)
    ax.plot([before], [y], color=style.INK, marker="o", zorder=3, gid="before", **POINT)
    if other is not None:
        ax.plot([other], [y], color=OTHER, marker="s", zorder=4, gid="other", **POINT | {"markersize": 5})
    ax.plot([after], [y], color=color, marker="<" if falls else ">", zorder=5, gid="after", **POINT)


def key_of_changes(ax: Axes, label: str, other_label: str | None) -> None:
    """Add the dots, arrows and squares to the legend."""
    style.key(ax, "before", 0, color=style.INK, marker="o", **POINT)
    style.key(ax, style.shown(f"{label}: falls"), 1, color=FALLS, marker="<", **POINT)
    style.key(ax, style.shown(f"{label}: rises"), 1, color=RISES, marker=">", **POINT)
    if other_label is not None:
        style.key(ax, style.shown(other_label), 2, color=OTHER, marker="s", **POINT)
