"""Given logits against a hundred people's labels of the same items (ChaosNLI)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrant.recalibrate import Temperature
from calibrant.seeds import generator
from calibrant_studies._base import Finding, Row
from calibrant_studies._networks_data import TASKS, Humans, Logits, humans
from calibrant_studies._networks_measure import BINS, LEVEL, NONE, Measured
from calibrant_studies.arrays import Floats, Integers

SHOWN = (NONE, "temperature", "vector")
HUMAN = "temperature, 100 labels"
NOISE_DRAWS = 200


def chaos(data: Path, found: Sequence[Measured], seed: int) -> tuple[list[Row], list[Finding]]:
    """Compare each network with people's distributions: a row per network, seed and method, and findings."""
    people = {task: humans(data, task) for task in TASKS}
    rows: list[Row] = []
    gaps: dict[str, list[tuple[float, float]]] = {}
    for each in found:
        asked = people[each.test.task]
        places, shares = _matched(each.test, asked)
        prob = {name: each.prob[name][places] for name in SHOWN} | {
            HUMAN: _of_humans(each, asked).transform(each.test.logits[places])
        }
        noise = _noise(shares, seed)
        for name, own in prob.items():
            rows.append(
                {
                    "network": each.test.model,
                    "seed": each.test.seed,
                    "method": name,
                    **_row(own, shares, each.test.labels[places]),
                    "distance of 100 other people": noise,
                }
            )
        gaps.setdefault(each.test.model, []).append(_gap(prob["temperature"], shares, each, places))
    return rows, list(_findings(gaps))


def _matched(part: Logits, asked: Humans) -> tuple[Integers, Floats]:
    """Return the indices of the items with a hundred labels in a part, and their class fractions."""
    row = {name: number for number, name in enumerate(asked.ids.tolist())}
    known = np.array([row.get(name, -1) for name in part.ids.tolist()])
    places = np.flatnonzero(known >= 0)
    counts = asked.counts[known[places]]
    shares: Floats = counts / counts.sum(axis=1, keepdims=True)
    return places, shares


def _of_humans(found: Measured, asked: Humans) -> Temperature:
    """One temperature, fitted to a hundred labels of each item of dev."""
    places, shares = _matched(found.dev, asked)
    count = shares.shape[1]
    labels = np.tile(np.arange(count), len(places))
    logits = np.repeat(found.dev.logits[places], count, axis=0)
    return Temperature(logits=True).fit(logits, labels, shares.ravel())


def _row(prob: Floats, shares: Floats, labels: NDArray[np.int64]) -> Row:
    top, every = prob.argmax(axis=1), np.arange(len(prob))
    score, agreed = prob[every, top], shares[every, top]
    code = np.clip(np.ceil(score * BINS).astype(np.int64) - 1, 0, BINS - 1)
    gap = np.bincount(code, agreed - score, BINS)
    return {
        "items": len(prob),
        "mean confidence": float(score.mean()),
        "accuracy, original label": float((top == labels).mean()),
        "people who agree": float(agreed.mean()),
        "ECE against people": float(np.abs(gap).sum()) / len(prob),
        "distance to people": float(np.abs(prob - shares).sum(axis=1).mean()) / 2,
        "log loss against people": float(-(shares * np.log(prob)).sum(axis=1).mean()),
    }


def _noise(shares: Floats, seed: int) -> float:
    """Return the mean total variation distance between the labels of two groups of a hundred people."""
    rng = generator(seed)
    total = 0.0
    for _ in range(NOISE_DRAWS):
        first, second = (rng.multinomial(100, shares) / 100 for _ in range(2))
        total += float(np.abs(first - second).sum(axis=1).mean()) / 2
    return total / NOISE_DRAWS


def _gap(prob: Floats, shares: Floats, found: Measured, places: Integers) -> tuple[float, float]:
    """Return the mean confidence minus the fraction of people who agree, and its variance over clusters."""
    every = np.arange(len(prob))
    gap = prob.max(axis=1) - shares[every, prob.argmax(axis=1)]
    mean = float(gap.mean())
    sums = np.bincount(found.test.cluster[places], gap - mean)
    clusters = len(np.unique(found.test.cluster[places]))
    return mean, float(clusters / (clusters - 1) * np.sum(sums**2)) / len(gap) ** 2


def _findings(gaps: dict[str, list[tuple[float, float]]]) -> Iterator[Finding]:
    for model, found in gaps.items():
        value = float(np.mean([mean for mean, _ in found]))
        half = LEVEL * float(np.sqrt(np.mean([variance for _, variance in found])))
        yield Finding(
            f"given/{model}/people",
            f"{model}: mean confidence after temperature scaling minus the fraction of 100 people who agree",
            value,
            value - half,
            value + half,
            note="items of low agreement (ChaosNLI); normal interval over clusters, as wide as of one seed",
        )
