"""The sparse study's figures, drawn from its record alone: figures 2 and 3 of the paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from calibrant.plots import style
from calibrant.plots.changes import draw_change, key_of_changes
from calibrant_studies._base import Row, Study, shared_legend
from calibrant_studies._sparse_maps import SHORT
from calibrant_studies._sparse_scores import GROUPS


def draw(study: Study) -> dict[str, Figure]:
    """Draw errors of all tags (figure 2) and of each group (figure 3), here and as published."""
    floors = {(row["tagger"], row["measure"]): row["floor"] for row in study.tables["groups"]}
    published = [_as_ours(row) for row in study.tables["authors"]]
    drawn = _figures(study.tables["errors"], floors)
    return drawn | {f"authors-{name}": figure for name, figure in _figures(published, {}).items()}


def _as_ours(row: Row) -> Row:
    """A published error as a row of the study's own errors."""
    return {**row, "tagger": row["task"], "plug-in before": row["before"], "plug-in after": row["after"]}


def _figures(errors: Sequence[Row], floors: Mapping[tuple[str, str], float]) -> dict[str, Figure]:
    titles = list(dict.fromkeys(row["tagger"] for row in errors))
    drawn: dict[str, Figure] = {}
    for name, measures, height in (
        ("smce", ["SMCE"], 2.6),
        ("gmce", [f"GMCE {group}" for group in range(1, GROUPS + 1)], 6.4),
    ):
        figure, axes = style.new_figure(3.9 * max(2, len(titles)), height, len(titles))
        for title, ax in zip(titles, axes, strict=True):
            rows = [row for row in errors if row["tagger"] == title]
            _panel(ax, rows, measures, {measure: floors.get((title, measure)) for measure in measures})
            style.plain_title(ax, title)
            ax.set_xlabel(name.upper())
        shared_legend(figure, axes[0], 5)
        drawn[name] = figure
    return drawn


def _panel(ax: Axes, errors: Sequence[Row], measures: Sequence[str], floors: dict[str, float | None]) -> None:
    """Draw a line for each measure and technique: before, after with a map per group, after with one map."""
    heights, labels, y = [], [], 0.0
    for measure in measures:
        top = y
        for technique, short in SHORT.items():
            found = {
                row["sharing"]: row
                for row in errors
                if (row["technique"], row["measure"]) == (technique, measure)
            }
            grouped, shared = found["TFG"]["plug-in after"], found["SCW"]["plug-in after"]
            draw_change(ax, y, found["TFG"]["plug-in before"], grouped, shared)
            heights.append(y)
            labels.append(short if len(measures) == 1 else f"{measure[5:]}  {short}")
            y += 1.0
        floor = floors[measure]
        if floor is not None:
            ax.vlines(floor, top - 0.4, y - 0.6, color=style.MUTED, linewidth=1.2, linestyle=":")
        y += 0.6
    ax.set_yticks(heights, labels)
    ax.set_ylim(y - 0.9, -0.7)
    ax.set_xlim(left=0)
    style.grid(ax, "x")
    key_of_changes(ax, "after TFG", "after SCW")
    if any(floor is not None for floor in floors.values()):
        style.key(ax, "noise of a calibrated model", 3, color=style.MUTED, linestyle=":")
