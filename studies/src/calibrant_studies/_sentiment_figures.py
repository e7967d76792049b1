"""The sentiment study's figures, drawn from its record alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from calibrant.data import SETS
from calibrant.plots import calibration_curve, style
from calibrant_studies._base import Row, Study, shared_legend
from calibrant_studies._curve_rows import drawable
from calibrant_studies._error_curves import ErrorCurve, error_against_size
from calibrant_studies._tweets import TITLE

SET_TITLE = {"dated": "dated tweets", "100k": "100k set (labels go with the date)"}


def draw(study: Study) -> dict[str, Figure]:
    """Both models' curves on each set, and their errors against the bin size."""
    drawn: dict[str, Figure] = {}
    for name in SETS:
        figure, axes = style.new_figure(8.6, 4.7, 2)
        for letter, index, (model, title), ax in zip("ab", (0, 1), TITLE.items(), axes, strict=True):
            rows = [row for row in study.tables["curves"] if (row["set"], row["model"]) == (name, model)]
            bins, intervals = drawable(rows, "normal")
            calibration_curve(bins, intervals, label=f"({letter}) {title}", index=index, ax=ax)
        drawn[f"curves-{name}"] = figure
    drawn["sizes"], axes = style.new_figure(8.6, 4.6, 2)
    for name, ax in zip(SETS, axes, strict=True):
        rows = [row for row in study.tables["sizes"] if row["set"] == name]
        curves = [_size_curve(rows, title) for title in TITLE.values()]
        error_against_size(curves, ax)
        ax.set_xscale("log")
        ax.set_xticks([row["b"] for row in rows], [f"{row['b']:,}" for row in rows])
        ax.minorticks_off()
        style.plain_title(ax, SET_TITLE[name])
    shared_legend(drawn["sizes"], axes[0])
    return drawn


def _size_curve(rows: Sequence[Row], title: str) -> ErrorCurve:
    return ErrorCurve(
        title,
        "bin_size",
        np.array([row["b"] for row in rows]),
        np.array([row[title] for row in rows]) ** 2,
        np.array([row[f"{title}, debiased"] for row in rows]) ** 2,
        np.array([row[f"floor, {title}"] for row in rows]) ** 2,
    )
