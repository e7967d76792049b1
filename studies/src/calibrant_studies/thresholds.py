"""Guaranteed thresholds on real predictions, checked on parts that are held out."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pyarrow import parquet as pq

from calibrant.data import predictions, tagger_predictions
from calibrant.evaluation import guaranteed_thresholds
from calibrant_studies._base import Finding, Row, Study, digest
from calibrant_studies._networks_data import networks, sources
from calibrant_studies.arrays import Floats, Integers
from calibrant_studies.datasets._folders import real_data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 20261128
SPLITS = 200
DELTA = 0.1
LABELS = (100, 300, 1000, 3000)
GUARANTEED, CURVE = "false", "curve: false"


@dataclass(frozen=True)
class Answers:
    """Answers of a model: its confidence, whether each is wrong, clusters, and the limits to guarantee."""

    name: str
    confidence: Floats
    wrong: NDArray[np.bool_]
    cluster: Integers | None
    limits: tuple[float, ...]


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Choose thresholds on parts of real predictions, and check them on the rest; takes a few minutes.

    Parameters
    ----------
    data
        Folder that has ``nli-logits/``.
    seed
        Seed of the splits.

    Returns
    -------
    Study
        With the table ``splits``.

    Raises
    ------
    InputError
        If there is no folder, or it lacks a file.

    Examples
    --------
    >>> run()
    Traceback (most recent call last):
    calibrant.exceptions.InputError: the study thresholds needs real data: run `calibrant data fetch ...
    """
    return thresholds(real_data("thresholds", data), seed=seed)


def thresholds(data: Path, *, seed: int = SEED, splits: int = SPLITS) -> Study:
    """Run the study with some number of splits; see `run`."""
    started = time.perf_counter()
    rows = [
        split_row(answers, limit, labels, splits, seed)
        for answers in models(data)
        for limit in answers.limits
        for labels in LABELS
    ]
    files = [*sources(data)[:6], tagger_predictions(), *map(tweets, TWEETS)]
    return Study(
        name="thresholds",
        title="Guaranteed thresholds on real predictions",
        command="calibrant study thresholds",
        seed=seed,
        wall_seconds=time.perf_counter() - started,
        data={path.name: digest(path) for path in files},
        parameters={"delta": DELTA, "splits": splits, "labels": ", ".join(map(str, LABELS))},
        findings=(
            Finding("false", "Largest percentage of false guarantees", max(row[GUARANTEED] for row in rows)),
            Finding("curve", "Largest percentage with the curve", max(row[CURVE] for row in rows)),
        ),
        tables={"splits": rows},
    )


TWEETS = ("dated", "100k")


def tweets(text_set: str) -> Path:
    """Return the predictions of logistic regression on one set of tweets."""
    return predictions(text_set, "logistic-regression")


def models(data: Path) -> Iterator[Answers]:
    """Yield the answers of every model."""
    for text_set in TWEETS:
        table = pq.read_table(tweets(text_set))
        score, label = table["score"].to_numpy(), table["label"].to_numpy()
        confidence = np.maximum(score, 1 - score)
        yield Answers(f"tweets, {text_set}", confidence, (score >= 0.5) != label, None, (0.1, 0.2))
    table = pq.read_table(tagger_predictions())
    score, item = table["score"].to_numpy().astype(np.float64), table["item"].to_numpy()
    order = np.lexsort((score, table["cluster"].to_numpy(), item))
    last = order[np.append(np.flatnonzero(np.diff(item[order])), len(order) - 1)]  # the most probable tag
    cluster = np.unique(table["cluster"].to_numpy()[last], return_inverse=True)[1].astype(np.int64)
    wrong = table["label"].to_numpy()[last] == 0
    yield Answers("tagger, tokens in sentences", score[last], wrong, cluster, (0.02, 0.05))
    yield Answers("tagger, tokens as if independent", score[last], wrong, None, (0.02, 0.05))
    seen = set[str]()
    for dev, test in networks(data):
        if dev.model in seen:
            continue
        seen.add(dev.model)
        logits = np.concatenate([dev.logits, test.logits])
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        wrong = logits.argmax(axis=1) != np.concatenate([dev.labels, test.labels])
        clusters = np.concatenate([dev.cluster, test.cluster + dev.cluster.max() + 1])
        code = np.unique(clusters, return_inverse=True)[1].astype(np.int64)
        yield Answers(dev.model, p.max(axis=1) / p.sum(axis=1), wrong, code, (0.02, 0.05, 0.1))


def split_row(answers: Answers, limit: float, labels: int, splits: int, seed: int) -> Row:
    """Return how often thresholds from about this many labels are worse than promised on the rest."""
    rng = np.random.default_rng([seed, labels, round(1000 * limit)])
    n, cluster = len(answers.wrong), answers.cluster
    most = None if cluster is None else int(np.bincount(cluster).max())
    wrong = answers.wrong.astype(np.float64)
    false, found, decided, naive = 0, 0, [], 0
    for _ in range(splits):
        chosen = _drawn(rng, n, cluster, labels)
        rest_score, rest_wrong = answers.confidence[~chosen], wrong[~chosen]
        [row] = guaranteed_thresholds(
            answers.confidence[chosen],
            wrong[chosen],
            alpha=limit,
            delta=DELTA,
            clusters=None if cluster is None else cluster[chosen],
            cluster_size=most,
        ).thresholds
        part = 0.0
        if row.threshold is not None:
            kept = rest_score >= row.threshold
            found += 1
            false += bool(rest_wrong[kept].mean() > limit) if kept.any() else False
            part = float(kept.mean())
        decided.append(part)
        shown = _read_off(answers.confidence[chosen], wrong[chosen], limit)
        kept = rest_score >= shown
        naive += bool(kept.any() and rest_wrong[kept].mean() > limit)
    best = _read_off(answers.confidence, wrong, limit)
    return {
        "predictions": answers.name,
        "error rate": round(100 * float(wrong.mean()), 1),
        "alpha": 100 * limit,
        "labels": labels,
        GUARANTEED: 100 * false / splits,
        "found": 100 * found / splits,
        "decided": round(100 * float(np.mean(decided)), 1),
        "best": round(100 * float((answers.confidence >= best).mean()), 1),
        CURVE: 100 * naive / splits,
    }


def _drawn(rng: np.random.Generator, n: int, cluster: Integers | None, labels: int) -> NDArray[np.bool_]:
    """Return which answers are labeled, in whole clusters."""
    chosen = np.zeros(n, np.bool_)
    if cluster is None:
        chosen[rng.choice(n, labels, replace=False)] = True
        return chosen
    size = np.bincount(cluster)
    order = rng.permutation(len(size))
    taken = order[: 1 + int(np.searchsorted(np.cumsum(size[order]), labels))]
    picked: NDArray[np.bool_] = np.isin(cluster, taken)
    return picked


def _read_off(confidence: Floats, wrong: Floats, limit: float) -> float:
    """Return the lowest confidence from which on the observed error rate is at most the limit."""
    order = np.argsort(-confidence, kind="stable")
    score = confidence[order]
    ends = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
    good = ends[np.cumsum(wrong[order])[ends] / (ends + 1) <= limit]
    return float(score[good[-1]]) if len(good) else np.inf


def figures(study: Study) -> dict[str, Figure]:
    """Draw the percentages of thresholds that are worse than promised."""
    from calibrant.plots import style

    rows = [row for row in study.tables["splits"] if row["labels"] == 1000]
    figure, (ax,) = style.new_figure(6.4, 4.2)
    for place, (key, label) in enumerate(((GUARANTEED, "guaranteed"), (CURVE, "read off the curve"))):
        look = style.series(place)
        rates = [row[key] for row in rows]
        ax.plot(rates, range(len(rows)), look.marker, color=look.color, label=label, linestyle="none")
    ax.axvline(100 * DELTA, color=style.INK, linewidth=0.8, label="promised: 10 %")
    ax.set_yticks(range(len(rows)), [f"{row['predictions']}, {row['alpha']:g} %" for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(left=-2)
    ax.set_xlabel("worse than promised, % of splits (1,000 labels)")
    style.grid(ax)
    style.legend_outside(ax)
    return {"false": figure}
