"""Figures of the monitoring study."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calibrant.plots import style
from calibrant_studies._base import Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(study: Study) -> dict[str, Figure]:
    """Draw the evidence of the tweets by day, if they were read, and the delays of all drifts."""
    figures = {"delays": _delays(study)}
    if "day" in study.tables["days"][0]:
        figures["tweets"] = _tweets(study)
    return figures


def _delays(study: Study) -> Figure:
    rows = study.tables["delays"]
    names = [name for name in rows[0] if name not in ("drift", "size")]
    figure, (ax,) = style.new_figure(7.2, 4.2)
    for place, name in enumerate(names):
        look = style.series(place)
        days = np.array([row[name] for row in rows], np.float64)
        ax.plot(days, np.arange(len(rows)), look.marker, color=look.color, label=name, linestyle="none")
    ax.set_xscale("log")
    ax.set_yticks(np.arange(len(rows)), [f"{row['drift']}, {row['size']}" for row in rows])
    ax.invert_yaxis()
    ax.set_xlabel("median days from the change to the alarm")
    style.grid(ax)
    style.legend_outside(ax)
    return figure


def _tweets(study: Study) -> Figure:
    rows = study.tables["days"]
    limit = {(row["model"], row["against"]): row["alarm at"] for row in study.tables["tweets"]}
    models = list(dict.fromkeys(row["model"] for row in rows))
    figure, axes = style.new_figure(7.2, 3.2, len(models))
    for ax, model in zip(axes, models, strict=True):
        for place, against in enumerate(("calibrated", "reference")):
            chosen = [row for row in rows if (row["model"], row["against"]) == (model, against)]
            look = style.series(place)
            evidence = [row["log10_e"] for row in chosen]
            ax.plot(evidence, look.marker, color=look.color, linestyle=look.line, label=f"against: {against}")
            ax.axhline(limit[model, against], color=look.color, linewidth=0.8, linestyle=look.line, alpha=0.6)
            days = [row["day"] for row in chosen]
        shown = [0, len(days) // 2, len(days) - 1]
        ax.set_xticks(shown, [days[place][5:] for place in shown])
        style.grid(ax, "y")
        style.plain_title(ax, model)
    axes[0].set_ylabel("log10 of the e-value")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)
    return figure
