"""The coverage study's figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from calibrant_studies._base import Row
from calibrant_studies._coverage_tables import HIGHEST, LOWEST, warns

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = {"calibrated": "o", "k = 0.05": "v", "k = 0.1": "^", "logits x 1.5": "s"}
_NOMINAL = 95.0


def draw_grid(cells: Sequence[Row]) -> Figure:
    """One panel per dependence: coverage of each cell against the number of pairs; the band is the bar."""
    from matplotlib.figure import Figure

    cells = [row for row in cells if row["situation"] == "grid"]
    kinds = list(dict.fromkeys(row["dependence"] for row in cells))
    names = [row["cell"].rsplit(", ", 1) for row in cells]
    scores = list(dict.fromkeys(name for name, _ in names))
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for ax, kind in zip(panels, kinds, strict=True):
        ax.axhspan(LOWEST, HIGHEST, color="0.92", zorder=0)
        ax.axhline(_NOMINAL, color="0.6", linewidth=0.8, zorder=1)
        for row, (name, transform) in zip(cells, names, strict=True):
            if row["dependence"] == kind:
                shift = 0.88 + 0.12 * scores.index(name)
                color = f"C{scores.index(name)}"
                ax.plot(row["n"] * shift, row["coverage"], _MARKERS[transform], color=color, markersize=5)
        ax.set_xscale("log")
        ax.set_title(kind, fontsize=9)
        ax.set_xlabel("pairs")
    panels[0].set_ylabel("coverage, %")
    for i, name in enumerate(scores):
        panels[-1].plot([], [], "o", color=f"C{i}", label=f"scores {name}")
    for name, marker in _MARKERS.items():
        panels[-1].plot([], [], marker, color="0.4", label=name)
    handles, labels = panels[-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False, fontsize=8)
    return figure


def draw_situations(cells: Sequence[Row]) -> Figure:
    """One line per situation: coverage of each cell, in another color where most draws warn."""
    from matplotlib.figure import Figure

    cells = [row for row in cells if row["coverage"] is not None]
    situations = list(dict.fromkeys(row["situation"] for row in cells))
    figure = Figure(figsize=(8, 0.9 + 0.38 * len(situations)), layout="constrained")
    ax = figure.subplots()
    ax.axvspan(LOWEST, HIGHEST, color="0.92", zorder=0)
    ax.axvline(_NOMINAL, color="0.6", linewidth=0.8, zorder=1)
    shift = np.random.default_rng(0).uniform(-0.28, 0.28, len(cells))
    for warned, color, label in (
        (False, "C0", "no warning"),
        (True, "C1", "a warning or no interval in most draws"),
    ):
        chosen = [place for place, row in enumerate(cells) if warns(row) == warned]
        lines = [situations.index(cells[place]["situation"]) + shift[place] for place in chosen]
        covered = [cells[place]["coverage"] for place in chosen]
        ax.plot(covered, lines, "o", color=color, markersize=4, alpha=0.6, label=label)
    ax.set_yticks(range(len(situations)), situations)
    ax.invert_yaxis()
    ax.set_xlabel("coverage, %")
    figure.legend(loc="outside upper left", ncols=2, frameon=False, fontsize=8)
    return figure
