"""Style of calibrant's figures: colors, markers, line styles, new axes, legends.

Series differ by lightness, color, marker and line style at once: any two are at least 8 steps of L*
apart in greyscale, and remain distinct to readers without red, green or blue cones, all on white paper
(tests/plots/test_style.py). This module does not change pyplot or matplotlib's settings; the caller's axes
keep their style.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec
from matplotlib.legend import Legend
from matplotlib.text import Text

from calibrant._checks import Floats
from calibrant.records.words import percent
from calibrant.results import Bins

INK = "#1f2328"
MUTED = "#59636e"
FAINT = "#c8d1da"
SHADE = "#e3e8ed"
PAPER = "#ffffff"

ROLES = {INK: "ink", MUTED: "muted", FAINT: "faint", SHADE: "shade", PAPER: "paper"}

CURVE_SIZE = (4.6, 5.7)
PANEL_SIZE = (4.6, 3.7)
FONT_SIZE = 10.0
FEW_PAIRS, WEAK = 10, 0.25  # below which a bin's mark is weak, and how weak
LEAST_TEXT = 0.8
STACKED_BELOW = 0.54  # of their own width, of panels side by side; narrower ones are stacked
LETTERS = 10.0  # of an axis' name, an inch of the panel
PAD = 0.04  # inches around a figure, and between labels of ticks
LONGEST_NAME = 40


DOTTED: dict[str, Any] = {"color": MUTED, "linestyle": (0, (1, 1.5)), "linewidth": 1.1}


Drawn = Axes | Figure


@dataclass(frozen=True)
class Series:
    """How one series is told from the others."""

    color: str
    marker: str
    line: Any


SERIES = (
    Series("#175ecc", "o", "-"),
    Series("#ea6b26", "s", "--"),
    Series("#044037", "^", "-."),
    Series("#9769a7", "D", ":"),
    Series("#6f4700", "v", (0, (6, 2, 1, 2, 1, 2))),
    Series("#311a50", "P", (0, (3, 1))),
)
ROLES.update({series.color: f"series-{number}" for number, series in enumerate(SERIES, start=1)})


def series(index: int) -> Series:
    """Return the style of the ``index``-th series (from 0; after six, colors repeat with other markers)."""
    other = SERIES[(index + index // len(SERIES)) % len(SERIES)]
    return Series(SERIES[index % len(SERIES)].color, other.marker, other.line)


def new_figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure in the house style and its axes, row by row."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor=PAPER)
    grid = figure.subplots(rows, columns, squeeze=False)
    axes = [ax for row in grid for ax in row]
    for ax in axes:
        _dress(ax)
    return figure, axes


def axes_or_new(ax: Axes | None, size: tuple[float, float] = CURVE_SIZE) -> Axes:
    """Return the caller's axes, or those of a new figure."""
    return new_figure(*size)[1][0] if ax is None else ax


def figure_of(drawn: Drawn) -> Figure:
    """Return the figure of axes that are directly on it (not on a part of it), or the figure itself."""
    figure = drawn.figure if isinstance(drawn, Axes) else drawn
    assert isinstance(figure, Figure)
    return figure


def _dress(ax: Axes) -> None:
    ax.set_facecolor("none")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(MUTED)
        ax.spines[side].set_linewidth(0.8)
    ax.tick_params(colors=MUTED, labelcolor=INK, labelsize=FONT_SIZE - 0.5, width=0.8, length=3.5)
    ax.tick_params(which="minor", colors=MUTED, width=0.5, length=2)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_color(INK)
        label.set_fontsize(FONT_SIZE)
    ax.title.set_color(INK)
    ax.title.set_fontsize(FONT_SIZE + 0.5)
    ax.set_axisbelow(True)


def resize(figure: Figure, width: float) -> None:
    """Make a figure so many inches wide.

    Texts shrink with it, though to no less than 0.8 of their size, and long names of axes are broken. Panels
    that are square get the height they need. A row of panels becomes a column if the panels would be too
    narrow for their texts, and the figure becomes taller.
    """
    if width < STACKED_BELOW * figure.get_figwidth():
        _stack(figure)
    text = max(LEAST_TEXT, min(1.0, width / figure.get_figwidth()))
    square = any(ax.get_aspect() != "auto" or ax.get_box_aspect() is not None for ax in figure.axes)
    height = figure.get_figheight() * text
    figure.set_size_inches(width, max(height, 1.3 * width) if square else height)
    for ax in figure.axes:
        ax.tick_params(labelsize=(FONT_SIZE - 0.5) * text)
        ticks = {id(label) for axis in (ax.xaxis, ax.yaxis) for label in axis.get_ticklabels()}
        shrink((label for label in ax.findobj(Text) if id(label) not in ticks), text)
        spec = ax.get_subplotspec()
        panel = width / (1 if spec is None else spec.get_gridspec().ncols)
        for label in (ax.xaxis.label, ax.yaxis.label):
            label.set_text(fill(label.get_text(), max(10, int(LETTERS * panel / text))))
    for legend in figure.legends:
        shrink(legend.get_texts(), text)
    _avoid_overlaps(figure, text)
    if square:
        figure.draw_without_rendering()
        figure.set_figheight(figure.get_tightbbox().height + 2 * PAD)


def _stack(figure: Figure) -> None:
    """Put the panels of a single row one above the other, each of the same size as before."""
    specs = [spec for ax in figure.axes if (spec := ax.get_subplotspec()) is not None]
    count = len(figure.axes)
    if count < 2 or any(spec.get_gridspec().get_geometry() != (1, count) for spec in specs):
        return
    grid = GridSpec(count, 1, figure=figure)
    for row, ax in enumerate(figure.axes):
        ax.set_subplotspec(grid[row])
        ax.set_ylabel(ax.get_ylabel() or figure.axes[0].get_ylabel())  # panels of a row may share the name
    figure.set_size_inches(figure.get_figwidth() / count, figure.get_figheight() * count)


def _avoid_overlaps(figure: Figure, text: float) -> None:
    """Set legends of the house style that leave the figure in one column; leave out labels of close ticks."""
    figure.draw_without_rendering()
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is not None and not legend.get_frame_on():
            box = legend.get_window_extent()
            if box.x1 > figure.bbox.x1:
                narrow = legend_outside(ax, below=box.y1 < ax.bbox.y1, columns=1)
                shrink([] if narrow is None else narrow.get_texts(), text)
        low, high = sorted(ax.get_xlim())
        labels = [tick.label1 for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
        boxes = [label.get_window_extent() for label in labels]
        step = 1
        while any(one.x1 + PAD * figure.dpi > other.x0 for one, other in pairwise(boxes[::step])):
            step += 1
        if step > 1:
            places = [label.get_position()[0] for label in labels]
            ax.set_xticks(places, ["" if at % step else label.get_text() for at, label in enumerate(labels)])


def shrink(texts: Iterable[Any], ratio: float) -> None:
    """Make texts smaller."""
    for label in texts:
        label.set_fontsize(label.get_fontsize() * ratio)


def grid(ax: Axes, axis: Any = "both") -> None:
    """Draw a faint grid behind the data."""
    ax.grid(True, axis=axis, which="major", color=SHADE, linewidth=0.7)


def strength(count: Floats, of: float = 1.0) -> Floats:
    """Return the opacity of each bin's mark: that of a bin of few pairs is low, since its place is noise.

    Examples
    --------
    >>> strength(np.array([3.0, 300.0]))
    array([0.25, 1.  ])
    """
    opacity: Floats = np.where(count < FEW_PAIRS, WEAK * of, of)
    return opacity


def draw_bars(ax: Axes, bins: Bins, heights: Floats, **look: Any) -> None:
    """Draw one bar per bin, as wide as the bin."""
    width = bins.edge_high - bins.edge_low
    ax.bar(bins.edge_low, heights, width=width, align="edge", edgecolor=PAPER, **look)


def shown(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name fit for a legend: not too long, and not hidden by a leading underscore."""
    name = " ".join(name.split())
    if len(name) > longest:
        name = f"{name[: (longest - 1) // 2]}…{name[-(longest // 2) :]}"
    return f"\u200b{name}" if name.startswith("_") else name


def plain_title(ax: Axes, text: str) -> None:
    """Set a title unchanged, so that a dollar sign does not start a formula."""
    ax.set_title(text, loc="left", color=INK).set_parse_math(False)


def score_names(view: str) -> tuple[str, str]:
    """Return what the score and the frequency of a view are called."""
    return ("confidence", "accuracy") if view == "top" else ("predicted probability", "label frequency")


def name_axes(ax: Axes, view: str, scale: str = "") -> Axes:
    """Label axes with the score and the frequency of a view, and return them."""
    score, frequency = score_names(view)
    ax.set_xlabel(f"{score}{scale}")
    ax.set_ylabel(f"{frequency}{scale}")
    return ax


def key(ax: Axes, label: str, rank: int, **look: Any) -> None:
    """Add an entry to the legend, for all but series (rank 1) once a label; listed by rank, then by age."""
    lines = ax.get_lines()
    if rank == 1 or all(line.get_label() != label for line in lines):
        ax.plot([], [], label=label, gid=f"key-{rank}-{len(lines):03}", **look)


def interval_key(ax: Axes, level: float, method: str) -> None:
    """Add the vertical lines to the legend."""
    label = f"{percent(level)} interval, each bin alone ({method.capitalize()})"
    key(ax, label, 2, color=MUTED, linestyle="none", marker="|", markersize=9)


def _rank(entry: tuple[Any, str]) -> str:
    gid = str(getattr(entry[0], "get_gid", str)() or "")
    return gid if gid.startswith("key-") else "key-0"


def curve_count(ax: Axes) -> int:
    """Return how many calibration curves there are on axes."""
    return sum(str(line.get_gid()).startswith("line-") for line in ax.get_lines())


def legend_outside(ax: Axes, *, below: bool = False, columns: int | None = None) -> Legend | None:
    """Put the legend above the axes, or below their label, which leaves room for a title.

    There it covers no data. Names are shown unchanged. By default short names are in two columns.
    """
    entries = sorted(zip(*ax.get_legend_handles_labels(), strict=True), key=_rank)
    if not entries:
        return None
    handles, labels = zip(*entries, strict=True)
    if columns is None:
        half = (len(labels) + 1) // 2
        narrow = max(map(len, labels[:half])) + max(map(len, labels[half:]), default=0) <= 40
        columns = 2 if len(labels) > 2 and narrow else 1
    legend = ax.legend(
        handles,
        labels,
        loc="upper left" if below else "lower left",
        bbox_to_anchor=(0.0, -0.14 if below else 1.015),
        borderaxespad=0.0,
        ncols=columns,
        frameon=False,
        fontsize=FONT_SIZE - 1.5,
        labelcolor=INK,
        handlelength=2.4,
        columnspacing=1.6,
        labelspacing=0.4,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)
    return legend
