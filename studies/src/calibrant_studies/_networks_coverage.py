"""Coverage of the intervals of the given logits, on simulated networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from calibrant.seeds import generator
from calibrant_studies._base import Row
from calibrant_studies._networks_data import Logits
from calibrant_studies._networks_measure import (
    MEASURES,
    METHODS,
    NONE,
    cluster_weights,
    fitted_to,
    interval,
    measures_of,
)
from calibrant_studies.arrays import Floats

SHOWN = ("temperature", "histogram", "vector")
NUMBERS = (
    ("temperature", NONE, "ECE"),
    ("temperature", NONE, "log loss"),
    ("vector", "temperature", "ECE"),
    ("vector", "temperature", "log loss"),
    ("histogram", NONE, "accuracy"),
)
REPLICATIONS, DRAWS = 60, 30


@dataclass(frozen=True)
class Cell:
    """A kind of simulated network.

    Attributes
    ----------
    clusters, size
        Clusters of dev and of test, and the items of each.
    scales
        Factors of the true logits, by class.
    """

    clusters: int
    size: int
    scales: tuple[float, ...]


CELLS = {
    "independent items, one temperature": Cell(1500, 1, (1.4, 1.4, 1.4)),
    "clusters of three, unequal scales": Cell(500, 3, (1.2, 2.0, 1.2)),
}


def coverage_rows(
    seed: int, cells: Sequence[str] = tuple(CELLS), replications: int = REPLICATIONS, draws: int = DRAWS
) -> list[Row]:
    """Coverage of nominal 95 % intervals of the mean over sets of dev and test."""
    rng = generator(seed)
    rows: list[Row] = []
    for name in cells:
        found = [_replication(CELLS[name], draws, rng) for _ in range(replications)]
        for index, (first, second, measure) in enumerate(NUMBERS):
            estimates = np.array([each[0, index] for each in found])
            ends = [interval(float(each[0, index]), each[1:, index]) for each in found]
            truth = float(estimates.mean())
            inside = [low is not None and high is not None and low <= truth <= high for low, high in ends]
            rows.append(
                {
                    "cell": name,
                    "number": f"{measure}, {first} minus {'before' if second == NONE else second}",
                    "mean": truth,
                    "coverage": f"{100 * float(np.mean(inside)):.0f} %",
                    "replications": replications,
                }
            )
    return rows


def _replication(cell: Cell, draws: int, rng: np.random.Generator) -> Floats:
    """The numbers (1 + draws, numbers) of one network: of its dev and test, then of each draw of both."""
    dev, test = _drawn(cell, rng), _drawn(cell, rng)
    found = [_numbers(dev, test, None, None)]
    found += [
        _numbers(dev, test, cluster_weights(dev, rng), cluster_weights(test, rng)) for _ in range(draws)
    ]
    return np.array(found)


def _drawn(cell: Cell, rng: np.random.Generator) -> Logits:
    """Items of a cluster share most of their logits and of the noise of their labels."""
    cluster = np.repeat(np.arange(cell.clusters), cell.size)
    common, own = (rng.normal(0, 1.5, (n, 3)) for n in (cell.clusters, len(cluster)))
    true = common[cluster] if cell.size == 1 else (2 * common[cluster] + own) / np.sqrt(5)
    shared = rng.random(len(cluster)) < (0.5 if cell.size > 1 else 0)
    noise = np.where(
        shared[:, None], rng.gumbel(size=common.shape)[cluster], rng.gumbel(size=(len(cluster), 3))
    )
    labels = (true + noise).argmax(axis=1)
    ids = np.arange(len(labels)).astype(str)
    return Logits("simulated", "simulated", 0, true * cell.scales, labels, ids, cluster)


def _numbers(dev: Logits, test: Logits, of_dev: Floats | None, of_test: Floats | None) -> list[float]:
    own = softmax(test.logits, axis=1)
    prob = {NONE: own}
    for name in SHOWN:
        found = fitted_to(METHODS[name], dev, of_dev)
        prob[name] = found.transform(test.logits if METHODS[name].logits else own)
    values = {
        name: measures_of(each, test.labels, own.argmax(axis=1), of_test) for name, each in prob.items()
    }
    place = {measure: MEASURES.index(measure) for _, _, measure in NUMBERS}
    return [values[a][place[measure]] - values[b][place[measure]] for a, b, measure in NUMBERS]
