"""Simulated streams of a deployed model: calibrated, never calibrated, or changing; with dependent labels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels import betting as kernels
from calibrant._parallel import default_threads
from calibrant._rng import generator_of
from calibrant.evaluate._bets import EDGES, Bets, bets_of, reference_bounds, regions_of, sums_by_group
from calibrant.evaluate.monitoring import start

Floats = NDArray[np.float64]
Truth = Callable[[Floats, NDArray[np.int64]], Floats]

DAYS = 365
CLUSTERS = 20  # a day
SIZE = 5  # items a cluster
CORRELATION = 0.3  # of two labels that share a cluster (or a day), given equal scores
BATCH = 50


@dataclass(frozen=True)
class Stream:
    """Sums of one simulated stream by day, group and region, and each day's plain z statistic.

    Attributes
    ----------
    total, count
        (days, groups, regions) sums of y - q, and counts.
    z
        (days,) sum of residuals over its cluster-robust standard error: what a daily test looks at.
    """

    total: Floats
    count: Floats
    z: Floats


def logit(score: Floats) -> Floats:
    found: Floats = np.log(score) - np.log1p(-score)
    return found


def expit(value: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-value))
    return found


def simulate(
    random: np.random.Generator,
    truth: Truth,
    edges: Floats,
    *,
    days: int = DAYS,
    unit: str = "cluster",
    clusters: int = CLUSTERS,
    size: int = SIZE,
) -> Stream:
    """Draw a stream whose labels depend on each other in clusters, or (``unit="day"``) over the whole day."""
    items = clusters * size
    score = np.sin(0.5 * math.pi * random.random(days * items)) ** 2  # Beta(1/2, 1/2)
    score = np.clip(score, 1e-9, 1 - 1e-9)
    day = np.repeat(np.arange(days), items)
    cluster = np.arange(days * items) // size
    group = day if unit == "day" else cluster
    shared = random.random(group[-1] + 1)[group]
    own = random.random(days * items)
    uniform = np.where(random.random(days * items) < math.sqrt(CORRELATION), shared, own)
    residual = (uniform < truth(score, day)) - score
    groups = 1 if unit == "day" else clusters
    total, count = sums_by_group(residual, regions_of(score, edges), group, len(edges) + 1)
    by_cluster = np.add.reduceat(residual, np.arange(0, days * items, size)).reshape(days, clusters)
    z = by_cluster.sum(axis=1) / np.sqrt((by_cluster**2).sum(axis=1))
    return Stream(total.reshape(days, groups, -1), count.reshape(days, groups, -1), z)


def evidence(stream: Stream, bets: Bets, *, restart: bool = False, threshold: float = math.inf) -> Floats:
    """Log e-value after each day (up to the threshold; minus infinity after it)."""
    cash, wealth = start(bets, restart)
    found = np.full(len(stream.total), -math.inf)
    kernels.stream(
        stream.total,
        stream.count,
        bets.weight,
        bets.bound,
        bets.loss,
        bets.strength,
        bets.log_prior,
        wealth,
        cash,
        restart,
        threshold,
        found,
    )
    return found


def plain_bets(edges: tuple[float, ...] = EDGES) -> Bets:
    """Bets against a calibrated model."""
    return bets_of(np.array(edges), np.zeros((2, len(edges) + 1)))


def reference_bets(reference: Stream, edges: Floats, risk: float, epsilon: float = 0.0) -> Bets:
    """Bets against what a reference stream bounds."""
    regions = reference.total.shape[2]
    total, count = reference.total.reshape(-1, regions), reference.count.reshape(-1, regions)
    return bets_of(edges, reference_bounds(total, count, edges, risk) + epsilon)


def each_stream(
    seed: int, name: str, streams: int, work: Callable[[np.random.Generator], Floats]
) -> Iterator[Floats]:
    """Do some work for each stream, with its own generator, on all threads; results in order."""
    with ThreadPoolExecutor(default_threads()) as pool:
        yield from pool.map(lambda place: work(generator_of(seed, f"{name} {place}")), range(streams))
