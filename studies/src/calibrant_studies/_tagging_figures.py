"""The tagging study's figures, drawn from its record alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from calibrant.plots import calibration_curve, style
from calibrant_studies._base import Row, Study, shared_legend
from calibrant_studies._curve_rows import drawable
from calibrant_studies._tagging_binnings import draw_binnings
from calibrant_studies._tagging_data import TITLE as SET_TITLE
from calibrant_studies._tagging_measure import ALL_TAGS, DRAWN
from calibrant_studies._tagging_models import TITLE

MODELS = ("HMM", "CRF-basic")


def draw(study: Study) -> dict[str, Figure]:
    """Curves, errors by tag and by pair of tags, dependence on the pseudocount, and the ablation."""
    tables = study.tables
    names = [
        name for name, title in SET_TITLE.items() if any(row["set"] == title for row in tables["errors"])
    ]
    drawn = {f"curves-{name}": _curves(name, tables["curves"]) for name in names}
    for name in names:
        if name == "twitter":
            continue
        for key, title in (("tags", "tags"), ("pairs", "pairs of tags")):
            rows = [row for row in tables[key] if (row["set"], row["comparison"]) == (name, "equal")]
            drawn[f"{key}-{name}"] = _by_class(rows, f"{SET_TITLE[name]}: {title}, equal accuracy", key)
    drawn["pseudocounts"] = _pseudocounts([SET_TITLE[name] for name in names], tables["pseudocounts"])
    drawn["binnings"] = draw_binnings(tables["binnings"])
    if tables["ablation"]:
        drawn["ablation"] = _ablation(tables["ablation"])
    return drawn


def _curves(name: str, rows: Sequence[Row]) -> Figure:
    """The HMM beside the CRFs, on all tags and on one (figure 3 of the paper)."""
    figure, axes = style.new_figure(11.4, 9.0, 3, 2)
    queries = list(dict.fromkeys(row["query"] for row in rows if row["set"] == name))
    queries.sort(key=lambda query: query != ALL_TAGS)
    panels = [(query, index, key) for query in queries for index, key in enumerate(DRAWN)]
    for letter, (query, index, key), ax in zip("abcdef", panels, axes, strict=True):
        wanted = (name, key, query)
        points = [row for row in rows if (row["set"], row["model"], row["query"]) == wanted]
        label = f"({letter}) {TITLE[key]}, {query}"
        calibration_curve(*drawable(points, "wilson"), label=label, index=index, ax=ax)
    return figure


def _by_class(rows: Sequence[Row], title: str, kind: str) -> Figure:
    """Errors of both models by class, the most frequent first (figure 4 of the paper)."""
    decided = [row for row in rows if row["decided"]]
    decided.sort(key=lambda row: -row["positives"])
    figure, (ax,) = style.new_figure(9.6, 4.6)
    place = np.arange(len(decided), dtype=np.float64)
    for index, (model, key) in enumerate(zip(MODELS, ("first", "second"), strict=True)):
        look = style.series(index)
        error = _roots([row[key] for row in decided])
        x = place + (index - 0.5) * 0.3
        if f"{key}_low" in decided[0]:
            low, high = (np.array([row[f"{key}_{end}"] for row in decided]) for end in ("low", "high"))
            ax.vlines(x, low, high, colors=look.color, linewidth=1.1, alpha=0.6)
        points: dict[str, Any] = {
            "marker": look.marker,
            "markersize": 4,
            "linestyle": "none",
            "color": look.color,
        }
        ax.plot(x, error, label=model, **points)
    settled = [i for i, row in enumerate(decided) if row["holm"] < 0.05]
    if settled:
        top = ax.get_ylim()[1]
        label = "differ after Holm (p < 0.05)"
        ax.plot(settled, [top] * len(settled), "k*", markersize=4, clip_on=False, label=label)
        ax.set_ylim(0, top * 1.02)
    many = len(decided) > 60
    ax.set_xticks(place, [row["class"] for row in decided], rotation=90, fontsize=4.5 if many else 7)
    for tick in ax.get_xticklabels():
        tick.set_parse_math(False)
    ax.set_xlim(-1, len(decided))
    style.grid(ax, "y")
    ax.set_ylabel("calibration error (debiased)")
    ends = "; 95 % intervals, each alone" if kind == "tags" else ""
    style.plain_title(ax, f"{title}, by frequency{ends}")
    shared_legend(figure, ax, 3)
    return figure


def _roots(squares: Sequence[float]) -> NDArray[np.float64]:
    return np.sqrt(np.maximum(0.0, np.array(squares, dtype=np.float64)))


def _pseudocounts(titles: Sequence[str], rows: Sequence[Row]) -> Figure:
    """Accuracy and error of the HMM against its pseudocount."""
    figure, axes = style.new_figure(8.6, 4.4, 2)
    for index, title in enumerate(titles):
        for unseen, line in ((TITLE["hmm"], "-"), (TITLE["hmm-classes"], ":")):
            found = [row for row in rows if (row["set"], row["model"]) == (title, unseen)]
            label = title if line == "-" else None
            for key, ax in zip(("accuracy on test", "error"), axes, strict=True):
                _line(ax, found, key, index, line, label)
    for ax, name in zip(axes, ("accuracy on test", "calibration error, all tags (debiased)"), strict=True):
        ax.set_xscale("log")
        ax.set_xlabel("pseudocount")
        ax.set_ylabel(name)
        style.grid(ax)
    axes[1].set_ylim(bottom=0)
    handles, labels = axes[0].get_legend_handles_labels()
    axes[0].legend(handles, labels, frameon=False, fontsize=8, title="dotted: unseen words in classes")
    return figure


def _line(ax: Axes, rows: Sequence[Row], key: str, index: int, line: str, label: str | None) -> None:
    look = style.series(index)
    x = np.array([float(row["pseudocount"]) for row in rows])
    if key == "error":
        low, high = (np.array([row[end] for row in rows]) for end in ("low", "high"))
        ax.fill_between(x, low, high, color=look.color, alpha=0.15, linewidth=0)
    looks: dict[str, Any] = {"color": look.color, "marker": look.marker, "markersize": 4, "linestyle": line}
    ax.plot(x, [row[key] for row in rows], label=label, **looks)


def _ablation(rows: Sequence[Row]) -> Figure:
    """Accuracy and errors of the CRF as features are added."""
    figure, axes = style.new_figure(8.6, 4.6, 2)
    titles = list(dict.fromkeys(row["set"] for row in rows))
    for index, title in enumerate(titles):
        look = style.series(index)
        of_set = [row for row in rows if row["set"] == title]
        steps = list(dict.fromkeys(row["features"] for row in of_set))
        query = next(row["query"] for row in of_set if row["query"] != ALL_TAGS)
        found = [row for row in of_set if row["query"] == query]
        looks: dict[str, Any] = {"color": look.color, "marker": look.marker, "linestyle": look.line}
        x = np.arange(len(steps)) + (index - 0.5) * 0.1
        accuracy = [row["accuracy"] for row in found]
        axes[0].plot(x, accuracy, **looks)
        error, low, high = ([row[key] for row in found] for key in ("debiased", "low", "high"))
        axes[1].vlines(x, low, high, colors=look.color, alpha=0.5)
        axes[1].plot(x, error, label=f"{title}, {query}", **looks)
        for ax in axes:
            ax.set_xticks(np.arange(len(steps)), steps, rotation=35, ha="right", fontsize=8)
    for ax, name in zip(
        axes, ("accuracy on test", "calibration error (debiased), 95 % intervals"), strict=True
    ):
        ax.set_ylabel(name)
        style.grid(ax, "y")
    axes[1].set_ylim(bottom=0)
    shared_legend(figure, axes[1])
    return figure
