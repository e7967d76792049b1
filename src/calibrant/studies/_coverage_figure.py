"""The coverage study's figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from calibrant.studies._base import Row
from calibrant.studies._coverage_tables import HIGHEST, LOWEST

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKERS = {"calibrated": "o", "k = 0.05": "v", "k = 0.1": "^", "logits x 1.5": "s"}
_NOMINAL = 95.0


def draw(cells: Sequence[Row]) -> Figure:
    """One panel a dependence: coverage of each cell against the number of pairs; the band is the bar."""
    from matplotlib.figure import Figure

    kinds = list(dict.fromkeys(row["dependence"] for row in cells))
    scores = list(dict.fromkeys(row["scores"] for row in cells))
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for ax, kind in zip(panels, kinds, strict=True):
        ax.axhspan(LOWEST, HIGHEST, color="0.92", zorder=0)
        ax.axhline(_NOMINAL, color="0.6", linewidth=0.8, zorder=1)
        for row in (row for row in cells if row["dependence"] == kind):
            shift = 0.88 + 0.12 * scores.index(row["scores"])
            colour = f"C{scores.index(row['scores'])}"
            ax.plot(row["n"] * shift, row["coverage"], _MARKERS[row["transform"]], color=colour, markersize=5)
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
