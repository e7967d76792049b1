"""Draw the figures of the documentation's own pages: docs/images.

The figures of the gallery and of the notebooks come from `scripts/notebooks.py`.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
from matplotlib.figure import Figure
from pyarrow import parquet

from calibrant._checks import Pairs, pairs
from calibrant.data import event_store, predictions, tag_counts, tagger_predictions
from calibrant.estimation.verbs.regressing import regress
from calibrant.estimation.verbs.sampling import sample as draw_sample
from calibrant.evaluation import monitor
from calibrant.evaluation.plots import evidence_over_time
from calibrant.events import draw_events
from calibrant.metrics import by_frequency, expected_calibration_error
from calibrant.metrics.moments import moments_by_resolution
from calibrant.metrics.residuals import residuals
from calibrant.metrics.resolutions import resolutions_of
from calibrant.plots import calibration_curves, render, style
from calibrant.results.drawing import bin_limits
from calibrant.synthetic import sample
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


def noise() -> Figure:
    """The ECE of a calibrated model over the sample size, beside the calibration error."""
    sizes = np.array([100, 200, 500, 1000, 2000, 5000, 10_000, 20_000])
    draws = 40
    ece, error = np.empty((2, len(sizes), draws))
    for place, size in enumerate(sizes):
        for draw in range(draws):
            drawn = sample(int(size), a=0.5, b=0.5, seed=1000 * place + draw)
            source = pairs(drawn.label, drawn.score)
            ece[place, draw] = expected_calibration_error(drawn.label, drawn.score)
            error[place, draw] = moments_by_resolution(residuals(source))[-1].estimate
    figure, (ax,) = style.new_figure(5.2, 3.2)
    for place, (label, values) in enumerate((("ECE, 15 bins", ece), ("squared error, debiased", error))):
        look = style.series(place)
        low, high = np.quantile(values, (0.1, 0.9), axis=1)
        ax.plot(
            sizes, values.mean(axis=1), color=look.color, marker=look.marker, linestyle=look.line, label=label
        )
        ax.fill_between(sizes, low, high, color=look.color, alpha=0.2, linewidth=0)
    ax.axhline(0, color=style.MUTED, linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xlabel("pairs of a calibrated model (mean and 80 % of 40 samples)")
    ax.set_ylabel("estimate")
    style.grid(ax)
    style.legend_outside(ax)
    return figure


def by_resolution() -> Figure:
    """The part of three kinds of errors that each number of bins shows."""
    figure, (ax,) = style.new_figure(5.2, 3.2)
    score = np.random.default_rng(3).beta(0.8, 0.8, 4000)
    truths = {
        "up to 4 points too high": score - 0.04 * np.sin(np.pi * score),
        "overconfident": score + 0.09 * np.sin(2 * np.pi * score),
        "five waves": score + 0.08 * np.sin(10 * np.pi * score) * np.sin(np.pi * score),
    }
    for place, (label, truth) in enumerate(truths.items()):
        chance = np.clip(truth, 0, 1)
        shown: dict[int, list[float]] = {}
        for seed in range(400):
            outcome = np.random.default_rng(seed).random(len(score)) < chance
            for moments in moments_by_resolution(residuals(pairs(outcome, score))):
                shown.setdefault(moments.bins, []).append(moments.estimate)
        look = style.series(place)
        bins = sorted(bins for bins, values in shown.items() if len(values) > 200)
        true = float(np.mean((chance - score) ** 2))
        means = [float(np.mean(shown[bins_])) / true for bins_ in bins]
        ax.plot(bins, means, color=look.color, marker=look.marker, linestyle=look.line, label=label)
    ax.axhline(1, color=style.MUTED, linewidth=0.8)
    ax.set_xscale("log", base=2)
    ax.set_xlabel("bins")
    ax.set_ylabel("mean of T / true squared error")
    style.grid(ax)
    style.legend_outside(ax)
    return figure


def inversion() -> Figure:
    """P-values of all values of the calibration error of the tweets, and the interval that they give."""
    table = pq_pairs(predictions("dated", "naive-bayes"))
    found = resolutions_of(residuals(table))
    assert found is not None
    roots = np.linspace(0.02, 0.1, 161)
    figure, (ax,) = style.new_figure(5.2, 3.2)
    look = style.series(0)
    ax.plot(
        roots,
        [found.p_value(root**2) for root in roots],
        color=look.color,
        label="p-value of: the error is at most this",
    )
    low, high = found.interval(0.95)
    ax.axvspan(low, high, color=style.series(1).color, alpha=0.2, linewidth=0, label="95 % interval")
    ax.axvline(found.estimate(), color=style.series(1).color, linestyle="--", label="estimate")
    ax.axhline(0.025, color=style.MUTED, linewidth=0.8)
    ax.set_xlabel("calibration error")
    ax.set_ylabel("p-value")
    style.grid(ax)
    style.legend_outside(ax)
    return figure


def pq_pairs(file: Path) -> Pairs:
    """The pairs of a table."""
    table = parquet.read_table(file)
    return pairs(table["label"].to_numpy(), table["score"].to_numpy())


def coefficient() -> Figure:
    """The coefficient of time in the regression of the tutorial, by each method."""
    import pandas as pd

    tweets = pd.read_parquet(predictions("dated", "naive-bayes"))
    tweets["time"] = ((tweets["item"] - 1) / 6003).round(4)
    tweets["model"] = (tweets["score"] >= 0.5).astype(int)
    with tempfile.TemporaryDirectory() as folder:
        table = f"{folder}/tweets.csv"
        tweets[["item", "time", "model"]].to_csv(table, index=False)
        draw_sample(table, f"{folder}/sample.csv", size=400)
        coded = pd.read_csv(f"{folder}/sample.csv").merge(tweets[["item", "label"]], on="item")
        coded.rename(columns={"label": "positive"}).to_csv(f"{folder}/coded.csv", index=False)
        found = regress(
            table, "positive ~ time", f"{folder}/coded.csv", predicted="positive=model", family="logistic"
        )
    time = found.terms[1]
    rows = {"naive": time.naive, "labels only": time.labels, "corrected": time.corrected}
    figure, (ax,) = style.new_figure(5.6, 2.0)
    for place, (name, one) in enumerate(rows.items()):
        look = style.series(place)
        ax.plot(np.array([one.low, one.high], float), [name, name], color=look.color)
        ax.plot(np.array([one.estimate], float), [name], look.marker, color=look.color)
    ax.axvline(0, **style.DOTTED)
    ax.set_ylim(-0.5, 2.5)
    ax.set_xlabel("log-odds of the last tweet minus those of the first")
    return figure


PICTURES: dict[str, Callable[[], bytes]] = {
    "demo.svg": lambda: render(curves(), "svg"),
    "tutorial-tags.svg": lambda: render(tag_groups(), "svg"),
    "tutorial-monitor.svg": lambda: render(evidence(), "svg"),
    "tutorial-events.svg": attacks,
    "tutorial-regression.svg": lambda: render(coefficient(), "svg"),
    "error-noise.svg": lambda: render(noise(), "svg"),
    "error-resolutions.svg": lambda: render(by_resolution(), "svg"),
    "error-inversion.svg": lambda: render(inversion(), "svg"),
}


if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        (IMAGES / name).write_bytes(PICTURES[name]())
