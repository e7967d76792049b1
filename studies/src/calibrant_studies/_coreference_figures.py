"""The coreference study's figures, drawn from its record alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.plots import calibration_curve, style
from calibrant_studies._base import Row, Study, shared_legend
from calibrant_studies._curve_rows import drawable

SCORES = ("exact", "1,000 samples", "after temperature")
COSTS = ("no costs", "small costs", "the paper's costs")


def draw(study: Study) -> dict[str, Figure]:
    """Draw calibration curves, the effect of costs on them, errors by distance, and the ablation."""
    tables = study.tables
    drawn = {}
    curves = tables.get("curves", [])
    plain = [row for row in curves if row["scores"] in SCORES]
    if plain:
        drawn["curves"] = _curves(plain, SCORES)
    costs = [row for row in curves if row["scores"] in COSTS]
    if costs:
        drawn["costs"] = _curves(costs, COSTS)
    distances = [row for row in tables.get("strata", []) if row["by"] == "distance in mentions"]
    if distances:
        drawn["distance"] = _by_distance(distances)
    if tables.get("ablation"):
        drawn["ablation"] = _ablation(tables["ablation"])
    return drawn


def _sets(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["set"] for row in rows))


def _curves(rows: Sequence[Row], kinds: Sequence[str]) -> Figure:
    """Draw one row of panels per corpus: figure 5 of the paper, and its variants beside it."""
    names = _sets(rows)
    figure, axes = style.new_figure(11.4, 4.4 * len(names), len(kinds), len(names))
    panels = [(name, index, kind) for name in names for index, kind in enumerate(kinds)]
    for (name, index, kind), ax in zip(panels, axes, strict=True):
        points = [row for row in rows if (row["set"], row["scores"]) == (name, kind)]
        if points:
            calibration_curve(*drawable(points, "wilson"), label=f"{name}, {kind}", index=index, ax=ax)
    return figure


def _by_distance(rows: Sequence[Row]) -> Figure:
    """Draw frequency minus score of pairs from 0.5, by the distance in mentions."""
    figure, (ax,) = style.new_figure(8.4, 4.2)
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    names = _sets(rows)
    for index, name in enumerate(names):
        look = style.series(index)
        found = {row["kind"]: row for row in rows if row["set"] == name and row["gap from 0.5"] is not None}
        place = np.array([kinds.index(kind) for kind in found]) + (index - (len(names) - 1) / 2) * 0.15
        gap = np.array([row["gap from 0.5"] for row in found.values()])
        ends = [(x, row) for x, row in zip(place, found.values(), strict=True) if row["gap, low"] is not None]
        _bars(ax, ends, "gap, low", "gap, high", look.color)
        ax.plot(place, gap, label=name, marker=look.marker, markersize=5, linestyle="none", color=look.color)
    ax.axhline(0, color="black", linewidth=0.8)
    ax.set_ylim(-0.4, 0.3)
    ax.set_xticks(range(len(kinds)), kinds)
    ax.set_xlabel("mentions apart")
    ax.set_ylabel("frequency minus score")
    style.grid(ax, "y")
    style.plain_title(ax, "pairs from 0.5: below 0 is overconfident; 95 % intervals, documents as clusters")
    shared_legend(figure, ax, 3)
    return figure


def _bars(ax: Axes, ends: Sequence[tuple[float, Row]], low: str, high: str, color: str) -> None:
    for x, row in ends:
        ax.vlines(x, row[low], row[high], colors=color, linewidth=1.1, alpha=0.6)


def _ablation(rows: Sequence[Row]) -> Figure:
    """Draw the contribution of each group of features, in CoNLL F1 on test."""
    names = _sets(rows)
    figure, axes = style.new_figure(11.4, 5.2, len(names))
    for index, (name, ax) in enumerate(zip(names, axes, strict=True)):
        look = style.series(index)
        found = [row for row in rows if row["set"] == name][1:]
        found.sort(key=lambda row: -row["change"])
        place = np.arange(len(found))
        low, high = (np.array([row[f"change, {end}"] for row in found]) for end in ("low", "high"))
        ax.hlines(place, low, high, colors=look.color, linewidth=1.1, alpha=0.6)
        change = [row["change"] for row in found]
        ax.plot(change, place, marker=look.marker, markersize=5, linestyle="none", color=look.color)
        ax.axvline(0, color="black", linewidth=0.8)
        ax.set_yticks(place, [row["without"] for row in found])
        ax.set_xlabel("change of CoNLL F1 on test, points")
        style.grid(ax, "x")
        style.plain_title(ax, f"{name}: without one group of features")
    return figure
