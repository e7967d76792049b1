"""Simulated streams of a deployed model: calibrated, never calibrated, or changing; with dependent labels."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.evaluation.monitoring import (
    DAY_STRENGTHS,
    EDGES,
    STRENGTHS,
    Bets,
    bets_of,
    look,
    reference_bounds,
    regions_of,
    start,
    sums_by_group,
)
from calibrant.seeds import generator_of
from calibrant_studies.arrays import Floats

Truth = Callable[[Floats, NDArray[np.int64]], Floats]

DAYS = 365
CLUSTERS = 20  # a day
SIZE = 5  # items a cluster
CORRELATION = 0.3  # of two labels that share a cluster (or a day), given equal scores
BATCH = 50


@dataclass(frozen=True)
class Stream:
    """Sums of one simulated stream by day, group and region, and each day's t statistic.

    Attributes
    ----------
    total, score, count
        (days, groups, regions) sums of y - q and of q, and counts.
    t
        (days,) mean residual of clusters over its standard error: the statistic of a daily t-test.
    """

    total: Floats
    score: Floats
    count: Floats
    t: Floats


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
    shared_by_day: bool = False,
) -> Stream:
    """Draw a stream whose labels depend on each other in clusters, or (``unit="day"``) over the whole day."""
    items = CLUSTERS * SIZE
    score = np.sin(0.5 * math.pi * random.random(days * items)) ** 2  # Beta(1/2, 1/2)
    score = np.clip(score, 1e-9, 1 - 1e-9)
    day = np.repeat(np.arange(days), items)
    cluster = np.arange(days * items) // SIZE
    group = day if unit == "day" else cluster
    shared = random.random(len(day))[day if shared_by_day else group]
    own = random.random(days * items)
    uniform = np.where(random.random(days * items) < math.sqrt(CORRELATION), shared, own)
    residual = (uniform < truth(score, day)) - score
    groups = 1 if unit == "day" else CLUSTERS
    sums = sums_by_group(residual, score, regions_of(score, edges), group, len(edges) + 1)
    by_cluster = np.add.reduceat(residual, np.arange(0, days * items, SIZE)).reshape(days, CLUSTERS)
    error = by_cluster.std(axis=1, ddof=1) / math.sqrt(CLUSTERS)
    t = by_cluster.mean(axis=1) / error
    total, scores, count = (each.reshape(days, groups, -1) for each in sums)
    return Stream(total, scores, count, t)


def evidence(stream: Stream, bets: Bets, *, restart: bool = False, threshold: float = math.inf) -> Floats:
    """Return the log e-value after each day (up to the threshold; minus infinity after it)."""
    cash, wealth = start(bets, restart)
    found = np.full(len(stream.total), -math.inf)
    for t, sums in enumerate(zip(stream.total, stream.score, stream.count, strict=True)):
        cash, found[t] = look(sums, bets, cash, wealth, t, restart)
        if found[t] >= threshold:
            break
    return found


def plain_bets(unit: str = "cluster") -> Bets:
    """Bets against a calibrated model."""
    strengths = DAY_STRENGTHS if unit == "day" else STRENGTHS
    return bets_of(np.array(EDGES), np.zeros((2, len(EDGES) + 1)), strengths)


def reference_bets(reference: Stream, edges: Floats, risk: float, unit: str = "cluster") -> Bets:
    """Bets against what a reference stream bounds."""
    strengths = DAY_STRENGTHS if unit == "day" else STRENGTHS
    regions = reference.total.shape[2]
    total, count = reference.total.reshape(-1, regions), reference.count.reshape(-1, regions)
    return bets_of(edges, reference_bounds(total, count, edges, risk), strengths)


def upper(share: float, n: int) -> float:
    """Return the upper end of the 95 % Wilson interval of a fraction, in percent."""
    z = 1.959964
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return 100 * (centre + half) / (1 + z * z / n)


def each_stream(
    seed: int, name: str, streams: int, work: Callable[[np.random.Generator], Floats]
) -> Iterator[Floats]:
    """Run a function on each stream with a separate generator, on all threads; return results in order."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        yield from pool.map(lambda place: work(generator_of(seed, f"{name} {place}")), range(streams))


def quantile_edges() -> Floats:
    """Return edges that split the simulated scores into five equal parts."""
    edges: Floats = np.sin(0.5 * math.pi * np.arange(1, 5) / 5) ** 2
    return edges


def alarms(stream: Stream, bets: Bets, threshold: float, *, restart: bool) -> NDArray[np.int64]:
    """Return the days with an alarm; without restarts only the first."""
    found: list[int] = []
    first = 0
    while first < len(stream.total):
        rest = Stream(*(values[first:] for values in vars(stream).values()))
        above = np.flatnonzero(evidence(rest, bets, restart=restart, threshold=threshold) >= threshold)
        if not len(above):
            break
        found.append(first + int(above[0]))
        if not restart:
            break
        first = found[-1] + 1
    return np.array(found, np.int64)


def calibrated(score: Floats, day: NDArray[np.int64]) -> Floats:
    """Return the probabilities of a calibrated model."""
    return score


def never_calibrated(score: Floats, day: NDArray[np.int64]) -> Floats:
    """Return probabilities of a model that was always overconfident and too high, and does not change."""
    return expit(0.8 * logit(score) - 0.2)


def _from(change: int, new: Callable[[Floats], Floats], ramp: int = 1) -> Truth:
    """Make a change that begins on a day and is complete after ``ramp`` days."""

    def truth(score: Floats, day: NDArray[np.int64]) -> Floats:
        part = np.clip((day - change + 1) / ramp, 0.0, 1.0)
        return score + part * (new(score) - score)

    return truth


def _shifted(by: float) -> Callable[[Floats], Floats]:
    return lambda score: expit(logit(score) - by)


def _flatter(by: float) -> Callable[[Floats], Floats]:
    return lambda score: expit(logit(score) * by)


def _worse_between(by: float) -> Callable[[Floats], Floats]:
    return lambda score: np.where((score > 0.7) & (score <= 0.9), score - by, score)


CHANGE = 100
DRIFTS: tuple[tuple[str, str, Truth], ...] = (
    ("base rate, within a day", "0.3 logits", _from(CHANGE, _shifted(0.3))),
    ("base rate, within a day", "0.6 logits", _from(CHANGE, _shifted(0.6))),
    ("base rate, within a day", "1.2 logits", _from(CHANGE, _shifted(1.2))),
    ("base rate, over 60 days", "0.6 logits", _from(CHANGE, _shifted(0.6), 60)),
    ("overconfident, within a day", "logits x 0.8", _from(CHANGE, _flatter(0.8))),
    ("overconfident, within a day", "logits x 0.6", _from(CHANGE, _flatter(0.6))),
    ("scores 0.7 to 0.9 too high", "0.1", _from(CHANGE, _worse_between(0.1))),
    ("scores 0.7 to 0.9 too high", "0.2", _from(CHANGE, _worse_between(0.2))),
)


def _as_clusters(random: np.random.Generator, edges: Floats) -> Stream:
    """Simulate labels that depend on each other over the whole day; clusters are treated as independent."""
    return simulate(random, calibrated, edges, shared_by_day=True)


def _same_clusters(random: np.random.Generator, edges: Floats) -> Stream:
    """Return the same clusters every day, each with a persistent error; no error on average."""
    own = random.normal(0, 0.5, CLUSTERS)
    error = np.tile(np.repeat(own - own.mean(), SIZE), DAYS)

    def truth(score: Floats, day: NDArray[np.int64]) -> Floats:
        return expit(logit(score) + error)

    return simulate(random, truth, edges)


def _negatives_late(random: np.random.Generator, edges: Floats, delay: int = 3) -> Stream:
    """Simulate positive labels that arrive at once, and negative ones that arrive days later."""
    items = CLUSTERS * SIZE
    score = np.sin(0.5 * math.pi * random.random(DAYS * items)) ** 2
    label = random.random(DAYS * items) < score
    day = np.repeat(np.arange(DAYS), items) + np.where(label, 0, delay)
    group = day * CLUSTERS + random.integers(0, CLUSTERS, len(day))
    there = day < DAYS
    region = regions_of(score, edges)
    shape = (DAYS, CLUSTERS, len(edges) + 1)
    last = np.append(group[there][:-1], DAYS * CLUSTERS - 1)
    sums = sums_by_group((label - score)[there], score[there], region[there], last, shape[2])
    total, scores, count = (each.reshape(shape) for each in sums)
    return Stream(total, scores, count, np.zeros(DAYS))


Maker = Callable[[np.random.Generator, Floats], Stream]
BROKEN: dict[str, Maker] = {
    "labels depend on each other over the whole day; clusters are treated as independent": _as_clusters,
    "the same clusters every day, with persistent errors": _same_clusters,
    "positive labels arrive at once, negative ones three days later": _negatives_late,
}
