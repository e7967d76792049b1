"""Draw the figures of the documentation's own pages: docs/images/demo.svg and those of the tutorials."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from pyarrow import parquet

from calibrant.data import event_store, predictions, tag_counts, tagger_predictions
from calibrant.evaluation import monitor
from calibrant.evaluation.plots import evidence_over_time
from calibrant.events import draw_events
from calibrant.metrics import by_frequency
from calibrant.plots import calibration_curves, render, style
from calibrant.results.drawing import bin_limits
from calibrant.verbs import apply, fit, measure, slices

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
MODELS = {"naive Bayes": "naive-bayes", "logistic regression": "logistic-regression"}


def curves() -> Figure:
    """The calibration curves of the two models that `calibrant demo` measures, with each bin's interval."""
    drawn = []
    for name, model in MODELS.items():
        found = measure(predictions("dated", model))["binary"]
        drawn.append((name, found.sums, bin_limits(found)))
    figure = calibration_curves(drawn).get_figure(root=True)
    assert figure is not None
    return figure


def tag_groups() -> Figure:
    """Errors of a tagger's five frequency groups, before and after two ways of recalibration."""
    lines = tag_counts().read_text(encoding="utf-8").splitlines()
    groups = by_frequency({tag: int(n) for tag, n in (line.split("\t") for line in lines)}, 5)
    group_of = {tag: f"group {number}" for number, group in enumerate(groups, 1) for tag in group}
    with tempfile.TemporaryDirectory() as folder:
        files = {split: f"{folder}/{split}.parquet" for split in ("dev", "test", "one map", "a map a group")}
        for split in ("dev", "test"):
            table = parquet.read_table(tagger_predictions(split))
            names = [group_of.get(tag, "group 5") for tag in table["class"].to_pylist()]
            parquet.write_table(table.append_column("group", pa.array(names)), files[split])
        one = fit(files["dev"])
        each = fit(files["dev"], group="frequency", counts=tag_counts())
        for model, name in ((one, "one map"), (each, "a map a group")):
            apply(model, files["test"], files[name])
        shown = {"before": "test", "one map": "one map", "a map a group": "a map a group"}
        tables = {label: slices(files[name], ["group"]) for label, name in shown.items()}
    figure, (ax,) = style.new_figure(6.4, 3.4)
    for place, (label, table) in enumerate(tables.items()):
        look = style.series(place)
        rows = sorted(table.slices, key=lambda row: row.slice)
        errors, lows, highs = (
            np.array([getattr(row.error, end) for row in rows], np.float64)
            for end in ("estimate", "low", "high")
        )
        height = np.arange(len(rows)) + 0.22 * (place - 1)
        ax.errorbar(
            errors,
            height,
            xerr=[errors - lows, highs - errors],
            fmt=look.marker,
            color=look.color,
            label=label,
        )
    ax.set_yticks(range(len(groups)), [f"group {n}, {len(g)} tags" for n, g in enumerate(groups, 1)])
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.set_xlabel("calibration error (RMS, debiased), 95 % intervals that hold together")
    style.grid(ax)
    style.legend_outside(ax)
    return figure


def evidence() -> Figure:
    """A monitored classifier that loses its recalibrator on the 11th day."""
    raw = parquet.read_table(predictions("dated", "naive-bayes")).slice(0, 4200)
    model = fit(predictions("dated", "naive-bayes", "dev"))
    mended = model.recalibrator.transform(raw["score"].to_numpy())
    day = np.arange(len(raw)) // 300 + 1
    score = np.where(day < 11, mended, raw["score"])
    live = {"date": [f"2026-11-{d:02}" for d in day], "score": score, "label": raw["label"]}
    return evidence_over_time(monitor(pa.table(live), time="date", unit="item"))


def attacks() -> bytes:
    """Articles of a newspaper by quarter in which two countries attack."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "attacks.svg"
        store = event_store("socialist-worker")
        draw_events(store, path, columns=2, by="quarter", countries=["USA", "ISR"])
        return path.read_bytes()


PICTURES: dict[str, Callable[[], bytes]] = {
    "demo.svg": lambda: render(curves(), "svg"),
    "tutorial-tags.svg": lambda: render(tag_groups(), "svg"),
    "tutorial-monitor.svg": lambda: render(evidence(), "svg"),
    "tutorial-events.svg": attacks,
}


if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (IMAGES / name).write_bytes(draw())
