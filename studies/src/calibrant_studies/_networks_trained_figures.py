"""Figures of the trained networks, after figures 2 and 3 of Guo et al. (2017), drawn from the record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.plots import style
from calibrant_studies._base import Row, Study, shared_legend
from calibrant_studies._networks_trained_effects import WITH, WITHOUT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FACTORS = {"depth": "hidden layers", "width": "units per layer", "weight decay": "weight decay"}


def draw(study: Study) -> dict[str, Figure]:
    """Error against depth, width, normalization and weight decay for each set; loss and error by epoch."""
    rows = study.tables["trained-levels"]
    sets = list(dict.fromkeys(row["set"] for row in rows))
    drawn = {f"trained-{name}": _factors([row for row in rows if row["set"] == name]) for name in sets}
    return drawn | {"trained-epochs": _epochs(study.tables["trained-epochs"], sets)}


def _factors(rows: Sequence[Row]) -> Figure:
    """Draw one set's four panels."""
    figure, axes = style.new_figure(7.6, 6.4, 2, 2)
    for ax, (factor, title) in zip((axes[0], axes[1], axes[3]), FACTORS.items(), strict=True):
        chosen = [row for row in rows if row["factor"] == factor]
        for index, norm in enumerate((WITHOUT, WITH)):
            _lines(ax, [row for row in chosen if row["networks"] == norm], norm, index)
        values = sorted({row["value"] for row in chosen})
        ax.set_xscale("log")
        ax.set_xticks(values, [f"{value:g}" for value in values])
        ax.minorticks_off()
        ax.set_xlabel(title)
    _normalization(axes[2], [row for row in rows if row["factor"] == "depth"])
    for ax in axes:
        ax.set_ylim(bottom=0)
        style.grid(ax, "y")
    axes[0].set_ylabel("error")
    shared_legend(figure, axes[0])
    return figure


def _lines(ax: Axes, rows: Sequence[Row], norm: str, index: int) -> None:
    look = style.series(index)
    value = np.array([row["value"] for row in rows])
    middle = np.array([row["calibration_error"] for row in rows])
    ends = np.abs([[row[f"calibration_error_{end}"] for row in rows] for end in ("low", "high")] - middle)
    shape: dict[str, Any] = {"color": look.color, "marker": look.marker}
    ax.plot(value, middle, linewidth=1.6, label=f"calibration error, {norm}", **shape)
    apart = value * (0.98, 1.02)[index]  # so that intervals do not hide each other
    ax.errorbar(apart, middle, ends, capsize=2, linestyle="none", color=look.color)
    ax.plot(value, [row["ece"] for row in rows], color=look.color, linestyle="--", label=f"ECE, {norm}")
    ax.plot(
        value,
        [row["error"] for row in rows],
        linestyle=":",
        markerfacecolor=style.PAPER,
        label=f"classification error, {norm}",
        **shape,
    )


def _normalization(ax: Axes, rows: Sequence[Row]) -> None:
    """Draw the calibration error without and with batch normalization, a line per depth."""
    depths = sorted({row["value"] for row in rows})
    for index, depth in enumerate(depths):
        chosen = {row["networks"]: row["calibration_error"] for row in rows if row["value"] == depth}
        look = style.series(index + 2)
        ends = [chosen[WITHOUT], chosen[WITH]]
        layers = "1 layer" if depth == 1 else f"{depth:g} layers"
        ax.plot([0, 1], ends, marker=look.marker, color=look.color, linestyle=look.line, label=layers)
    ax.legend(loc="lower left", ncols=2, frameon=False, fontsize=8)
    ax.set_xlim(-0.2, 1.2)
    ax.set_xticks([0, 1], ["without", "with"])
    ax.set_xlabel("batch normalization")
    ax.set_ylabel("calibration error")


def _epochs(rows: Sequence[Row], sets: Sequence[str]) -> Figure:
    """Draw log loss and classification error by epoch, a column per set."""
    figure, axes = style.new_figure(7.6, 5.6, len(sets), 2)
    for column, name in enumerate(sets):
        upper, lower = axes[column], axes[len(sets) + column]
        for index, norm in enumerate((WITHOUT, WITH)):
            chosen = [row for row in rows if (row["set"], row["networks"]) == (name, norm)]
            look = style.series(index)
            epoch = [row["epoch"] for row in chosen]
            for ax, key in ((upper, "test_loss"), (lower, "test_error")):
                ax.plot(
                    epoch, [row[key] for row in chosen], color=look.color, linestyle=look.line, label=norm
                )
            best = min(chosen, key=lambda row: row["dev_loss"])
            for ax, key in ((upper, "test_loss"), (lower, "test_error")):
                ax.plot([best["epoch"]], [best[key]], look.marker, color=look.color)
        style.plain_title(upper, name)
        lower.set_xlabel("epoch")
        for ax in (upper, lower):
            ax.set_ylim(bottom=0)
            style.grid(ax, "y")
    axes[0].set_ylabel("log loss on test")
    axes[len(sets)].set_ylabel("classification error on test")
    shared_legend(figure, axes[0])
    return figure
