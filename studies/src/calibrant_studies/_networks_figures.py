"""The figures of the given logits, drawn from the record alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from calibrant.plots import confidence_histogram, reliability_bars, style
from calibrant_studies._base import Row, Study, shared_legend
from calibrant_studies._curve_rows import bins_of
from calibrant_studies._networks_classes import SHOWN
from calibrant_studies._networks_measure import ALL, NONE


def draw(study: Study) -> dict[str, Figure]:
    """Diagrams before and after (figures 1 and 4 of the paper), errors by method and by number of classes."""
    return {
        "given-diagrams": _diagrams(study.tables["given-bins"]),
        "given-methods": _methods(study.tables["given"], study.tables["given-noise"]),
        "given-classes": _classes(study.tables["given-classes"]),
    }


def _diagrams(rows: Sequence[Row]) -> Figure:
    """Histogram and reliability diagram before, and reliability diagram after temperature scaling."""
    names = list(dict.fromkeys(row["network"] for row in rows))
    figure, axes = style.new_figure(11.4, 4.0 * len(names), 3, len(names))
    for index, name in enumerate(names):
        before, after = (
            bins_of([row for row in rows if (row["network"], row["method"]) == (name, method)], "uniform")
            for method in (NONE, "temperature")
        )
        first, second, third = axes[3 * index : 3 * index + 3]
        confidence_histogram(before, legend=False, ax=first)
        reliability_bars(before, legend=False, ax=second)
        reliability_bars(after, legend=False, ax=third)
        total = float(before.n.sum())
        accuracy, mean = float(before.positives.sum()) / total, float(before.sum_score.sum()) / total
        style.plain_title(first, name)
        text = f"accuracy {accuracy:.3f}\nmean confidence {mean:.3f}"
        first.text(0.05, 0.85, text, transform=first.transAxes, fontsize=9)
        style.plain_title(second, "before")
        style.plain_title(third, "after temperature scaling")
    shared_legend(figure, axes[5], 3)
    return figure


def _methods(rows: Sequence[Row], noise: Sequence[Row]) -> Figure:
    """ECE of every network and seed by method, and its log loss minus that of temperature scaling."""
    figure, axes = style.new_figure(11.4, 5.2, 2)
    names = list(dict.fromkeys(row["network"] for row in rows))
    base = {(row["network"], row["seed"]): row["log loss"] for row in rows if row["method"] == "temperature"}
    for index, name in enumerate(names):
        look = style.series(index)
        own = [row for row in rows if row["network"] == name]
        middle = max(row["seed"] for row in own) / 2
        y = [ALL.index(row["method"]) + 0.24 * (index - 1) + 0.07 * (row["seed"] - middle) for row in own]
        loss = [
            np.nan if row["log loss"] is None else row["log loss"] - base[name, row["seed"]] for row in own
        ]
        for ax, x in zip(axes, ([row["ECE"] for row in own], loss), strict=True):
            ax.plot(x, y, look.marker, color=look.color, markersize=5, label=name, linestyle="none")
    for ax, label in zip(axes, ("ECE", "log loss minus that of temperature scaling"), strict=True):
        ax.set_yticks(range(len(ALL)), ALL)
        ax.set_ylim(len(ALL) - 0.5, -0.5)
        ax.set_xlabel(label)
        style.grid(ax, "x")
    floor = np.mean([row["ECE of calibrated scores"] for row in noise])
    axes[0].set_xlim(left=0)
    axes[0].axvline(floor, color=style.MUTED, linestyle=":", linewidth=1.2, label="calibrated scores (mean)")
    axes[1].axvline(0, color=style.MUTED, linewidth=0.8)
    shared_legend(figure, axes[0], 4)
    return figure


def _classes(rows: Sequence[Row]) -> Figure:
    """ECE against the number of classes, and the log loss minus that of temperature scaling."""
    figure, axes = style.new_figure(9.6, 4.4, 2)
    counts = list(dict.fromkeys(row["classes"] for row in rows))
    base = {
        (row["classes"], row["repeat"]): row["log loss"] for row in rows if row["method"] == "temperature"
    }
    for index, name in enumerate((NONE, *SHOWN)):
        look = style.series(index)
        own = [row for row in rows if row["method"] == name and row["ECE"] is not None]
        known = [count for count in counts if any(row["classes"] == count for row in own)]
        ece = [np.mean([row["ECE"] for row in own if row["classes"] == count]) for count in known]
        loss = [
            np.mean([row["log loss"] - base[count, row["repeat"]] for row in own if row["classes"] == count])
            for count in known
        ]
        for ax, y in zip(axes, (ece, loss), strict=True):
            ax.plot(known, y, look.marker + "-", color=look.color, label=name, markersize=5)
    for ax, label in zip(axes, ("ECE", "log loss minus that of temperature scaling"), strict=True):
        ax.set_xscale("log")
        ax.set_xticks(counts, [str(count) for count in counts])
        ax.minorticks_off()
        ax.set_xlabel("classes")
        ax.set_ylabel(label)
        style.grid(ax, "y")
    axes[0].set_ylim(bottom=0)
    shared_legend(figure, axes[0], 5)
    return figure
