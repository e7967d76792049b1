"""The counts study's figures, drawn from its record alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.plots import style
from calibrant_studies._base import Row, Study, shared_legend
from calibrant_studies._counts_checks import TOGETHER
from calibrant_studies._counts_findings import rows_of
from calibrant_studies._counts_numbers import WHENS

_Drawing = Callable[[Axes, Sequence[Row]], None]


def draw(study: Study) -> dict[str, Figure]:
    """Draw coverage at every level, ranks, sums of documents, and the examples."""
    tables = study.tables
    panels = list(
        dict.fromkeys((row["set"], row["count"]) for row in tables["ranks"] if row["count"] != TOGETHER)
    )
    panels = [panel for panel in panels if panel[0] in ("LitBank", "GUM")]
    return {
        "coverage": _grid(panels, tables["hits"], _coverage),
        "ranks": _grid(panels, tables["ranks"], _ranks),
        "sums": _sums(tables["sums"]),
        "example": _example(tables["example-counts"]),
    }


def _grid(panels: Sequence[tuple[str, str]], rows: Sequence[Row], drawing: _Drawing) -> Figure:
    """Draw one row of panels per corpus, and one panel per count."""
    titles = list(dict.fromkeys(title for title, _ in panels))
    widest = max(sum(title == one for one, _ in panels) for title in titles)
    figure, axes = style.new_figure(3.1 * widest, 3.3 * len(titles), widest, len(titles))
    grid = np.array(axes, dtype=object).reshape(len(titles), widest)
    for title, row in zip(titles, grid, strict=True):
        counts = [count for one, count in panels if one == title]
        for ax, count in zip(row, counts, strict=False):
            drawing(ax, rows_of({"rows": rows}, "rows", set=title, count=count))
            style.plain_title(ax, f"{title}: {count}")
        for ax in row[len(counts) :]:
            ax.set_visible(False)
    shared_legend(figure, grid[0, 0], 3)
    return figure


def _coverage(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw the proportion of hits against the nominal one."""
    style.grid(ax)
    ax.plot([0.4, 1], [0.4, 1], **style.DOTTED)
    for index, when in enumerate(WHENS):
        found = rows_of({"rows": rows}, "rows", when=when, mass="samples")
        look = style.series(index)
        stated = [row["stated"] / row["n"] for row in found]
        share = np.array([row["hits"] / row["n"] for row in found])
        noise = 1.96 * np.sqrt(share * (1 - share) / np.array([row["n"] for row in found]))
        ax.errorbar(
            stated,
            share,
            yerr=noise,
            label=f"{when} the temperature",
            color=look.color,
            marker=look.marker,
            linestyle=look.line,
            markersize=4,
            linewidth=1.1,
            elinewidth=0.9,
        )
    ax.set_xlim(0.4, 1.01)
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("mass that the model states")
    ax.set_ylabel("fraction of gold counts inside")


def _ranks(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw a histogram of the ranks of the gold counts among the samples; flat if the model is right."""
    style.grid(ax, "y")
    for index, row in enumerate(rows):
        look = style.series(index)
        heights = np.array(row["shares"]) * len(row["shares"])
        edges = np.linspace(0, 1, len(heights) + 1)
        name = f"{row['when']} the temperature"
        ax.stairs(heights, edges, label=name, color=look.color, linestyle=look.line, linewidth=1.5)
    ax.axhline(1.0, **style.DOTTED)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, None)
    ax.set_xlabel("rank of the gold count")
    ax.set_ylabel("relative frequency")


def _sums(rows: Sequence[Row]) -> Figure:
    """Draw errors of sums in sds of the narrow interval; shared errors grow with the number of documents."""
    titles = [title for title in dict.fromkeys(row["set"] for row in rows) if title != "both"]
    figure, axes = style.new_figure(4.6 * len(titles), 3.9, len(titles))
    for ax, title in zip(axes, titles, strict=True):
        style.grid(ax)
        ax.axhline(1.0, **style.DOTTED)
        for index, count in enumerate(dict.fromkeys(row["count"] for row in rows if row["set"] == title)):
            for when, face in zip(WHENS, ("none", None), strict=True):
                look = style.series(index)
                found = rows_of({"rows": rows}, "rows", set=title, count=count, when=when)
                ax.plot(
                    [row["size"] for row in found],
                    [row["error in sds"] for row in found],
                    label=f"{count}, {when}",
                    color=look.color,
                    marker=look.marker,
                    markerfacecolor=look.color if face is None else face,
                    linestyle="--" if when == "before" else "-",
                    linewidth=1.1,
                    markersize=5,
                )
        ax.set_xscale("log")
        ax.set_xlabel("documents in the sum")
        ax.set_ylabel("error over the stated sd")
        ax.set_ylim(0, None)
        style.plain_title(ax, title)
    shared_legend(figure, axes[-1], 4)
    return figure


def _example(rows: Sequence[Row]) -> Figure:
    """Draw the stated and true distributions of the number of entities in the two examples."""
    names = list(dict.fromkeys(row["example"] for row in rows))
    figure, axes = style.new_figure(3.8 * len(names), 3.2, len(names))
    for ax, name in zip(axes, names, strict=True):
        found = rows_of({"rows": rows}, "rows", example=name)
        place = np.array([row["entities"] for row in found], np.float64)
        for index, (kind, shift) in enumerate((("stated", -0.2), ("true", 0.2))):
            look = style.series(index)
            ax.bar(place + shift, [row[kind] for row in found], 0.38, label=kind, color=look.color)
        ax.set_xticks(place)
        ax.set_xlabel("entities")
        ax.set_ylabel("probability")
        style.grid(ax, "y")
        style.plain_title(ax, f"{name}, pairs calibrated")
    shared_legend(figure, axes[0], 2)
    return figure
