"""Figures of the study of conclusions from predicted labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant_studies._base import Study, shared_legend
from calibrant_studies._hacking_simulation import DOCUMENTS, LABELS, SCENARIOS
from calibrant_studies._hacking_tables import BEST, DIFFERENT, MEDIUM, METHODS, QUALITY

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLES = {
    "shares": "difference of shares",
    "logistic": "class as the outcome",
    "covariate": "class as a covariate",
}


def drawn(study: Study) -> dict[str, Figure]:
    """Draw all figures."""
    return {"errors": _errors(study), "power": _power(study), "widths": _widths(study)}


def _errors(study: Study) -> Figure:
    """Errors of both kinds of each method, with 50 to 500 labels."""
    from calibrant.plots import style

    figure, axes = style.new_figure(9.6, 4.0, columns=3)
    false = {
        (row["analysis"], row["n"]): row
        for row in study.tables["false"]
        if row["scenario"] == SCENARIOS[DIFFERENT].name
    }
    power = {
        (row["analysis"], row["n"]): row
        for row in study.tables["power"]
        if row["scenario"] == SCENARIOS[MEDIUM].name
    }
    for ax, (analysis, title) in zip(axes, TITLES.items(), strict=True):
        ax.axvline(5, color=style.INK, linewidth=0.8)
        for place, method in enumerate(METHODS):
            first = [false[analysis, labels][method] for labels in LABELS]
            if None in first:
                continue
            missed = [100 - power[analysis, labels][method] for labels in LABELS]
            look = style.series(place)
            ax.plot(
                np.maximum(first, 0.5),
                missed,
                color=look.color,
                marker=look.marker,
                linestyle=look.line,
                markersize=4,
                label=method,
            )
        ax.set_xscale("log")
        ax.set_xlim(0.4, 130)
        ax.set_ylim(-3, 100)
        ax.set_xticks([0.5, 1, 2, 5, 20, 100], ["≤0.5", "1", "2", "5", "20", "100"])
        ax.minorticks_off()
        ax.set_title(title, fontsize=9)
        ax.set_xlabel("true nulls rejected, %")
        style.grid(ax)
    axes[0].set_ylabel("medium effects missed, %")
    shared_legend(figure, axes[1], columns=6)
    return figure


def _power(study: Study) -> Figure:
    """Power by number of labels and quality of the model."""
    from calibrant.plots import style

    figure, axes = style.new_figure(9.6, 3.8, columns=3)
    for ax, quality in zip(axes, QUALITY, strict=True):
        for place, (analysis, title) in enumerate(TITLES.items()):
            rows = [
                row
                for row in study.tables["quality"]
                if row["analysis"] == analysis and row["model"] == quality
            ]
            look = style.series(place)
            for name, line, filled in (("corrected", "-", True), ("labels", ":", False)):
                ax.plot(
                    LABELS,
                    [row[f"power, {name}"] for row in rows],
                    color=look.color,
                    marker=look.marker,
                    linestyle=line,
                    markersize=4,
                    markerfacecolor=look.color if filled else style.PAPER,
                    label=f"{title}, {name if filled else 'labels alone'}",
                )
        ax.set_xscale("log")
        ax.set_xticks(LABELS, [str(labels) for labels in LABELS])
        ax.minorticks_off()
        ax.set_ylim(0, 100)
        low, high = QUALITY[quality]
        span = f"below {high}" if quality == "weak" else f"{low} to {high}"
        ax.set_title(f"{quality}: correlation {span if quality != 'good' else f'{low} or more'}", fontsize=9)
        ax.set_xlabel("labels")
        style.grid(ax)
    axes[0].set_ylabel("medium effects found, %")
    shared_legend(figure, axes[0], columns=3)
    return figure


def _widths(study: Study) -> Figure:
    """Width of corrected intervals against the correlation of the model's labels with gold labels."""
    from calibrant.plots import style

    figure, axes = style.new_figure(9.6, 3.4, columns=3)
    curve = np.linspace(-0.2, 1, 200)
    best = np.sqrt(1 - np.maximum(curve, 0) ** 2 * (1 - 200 / DOCUMENTS))
    for ax, (place, (analysis, title)) in zip(axes, enumerate(TITLES.items()), strict=True):
        look = style.series(place)
        rows = [row for row in study.tables["points"] if row[analysis] is not None]
        ax.axhline(1, color=style.MUTED, linewidth=0.8)
        ax.plot(
            [row["correlation"] for row in rows],
            [row[analysis] for row in rows],
            look.marker,
            color=look.color,
            markersize=3,
            alpha=0.6,
            label=BEST[analysis],
        )
        ax.plot(curve, best, color=style.INK, linewidth=1, label="attainable")
        ax.set_ylim(0.2, 1.4)
        ax.set_title(f"{title}: {BEST[analysis]}", fontsize=9)
        ax.set_xlabel("correlation with gold labels")
        style.grid(ax)
    axes[0].set_ylabel("width relative to labels alone")
    return figure
