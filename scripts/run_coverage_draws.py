"""Draws of two systems on common items, and the intervals of calibrant and of other libraries on them."""

from __future__ import annotations

import math
import os
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from itertools import combinations, pairwise, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from calibrant import compare
from calibrant.evaluation.results.runs import RunComparison
from calibrant.evaluation.runs import TaskTable, compare_tasks
from calibrant.evaluation.significance import mean_interval, paired_t_test

DRAWS, PEER_DRAWS, FAMILIES = 2000, 500, 1000
SAME_DRAWS = 20  # of inspect_ai, whose ends equal those of errorbars
SPREAD, BETWEEN = (
    1.5,
    0.3,
)  # standard deviation of the log-odds, and the part of its variance between clusters
CLUSTERS = (0, 5, 10, 20, 50, 200)
ACCURACIES = (0.5, 0.8, 0.95, 0.99)
ALONE = 200  # items, if they are in no cluster
TASKS = (0.4, 0.7, 1.0, 1.5, 2.4)  # sizes of five tasks, relative to their mean

Floats = NDArray[np.float64]
Generator = np.random.Generator
Ends = tuple[float, float] | None
Method = Callable[[Floats, Floats, NDArray[np.int64] | None, Floats], Ends]


@dataclass(frozen=True)
class Cell:
    """One design: two systems on items of clusters, all of which each draw takes from a population."""

    clusters: int  # per task; 0: none, and 200 items
    accuracy: float  # expected score of the first system
    correlation: float = 0.5  # of the log-odds of the two systems on an item
    runs: int = 1
    gap: float = 0.0  # true difference
    scores: str = "right or wrong"
    tasks: int = 1

    @property
    def name(self) -> str:
        """Name, of which the seed is made."""
        return "/".join(str(value) for value in vars(self).values())


def cells() -> Iterator[Cell]:
    """Yield the cells of the grid."""
    for clusters, accuracy, correlation in product(CLUSTERS, ACCURACIES, (0.0, 0.5, 0.9)):
        yield Cell(clusters, accuracy, correlation)
    for clusters, accuracy, runs in product((0, 5, 20, 200), ACCURACIES, (3, 10)):
        yield Cell(clusters, accuracy, runs=runs)
    for clusters, accuracy in product(CLUSTERS, (0.75, 0.9)):
        yield Cell(clusters, accuracy, gap=0.05)
    for clusters, accuracy in product(CLUSTERS, (0.5, 0.95)):
        yield Cell(clusters, accuracy, scores="continuous")
    for clusters, accuracy in product((0, 5, 20), (0.8, 0.95)):
        yield Cell(clusters, accuracy, tasks=5)


SMALL = (
    Cell(0, 0.8),
    Cell(0, 0.75, gap=0.05),
    Cell(20, 0.8),
    Cell(20, 0.8, runs=3),
    Cell(20, 0.5, scores="continuous"),
    Cell(10, 0.8, tasks=5),
)


@cache
def center(accuracy: float) -> float:
    """Return the mean of the normal log-odds whose expected probability is the accuracy."""
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    low, high = -20.0, 20.0
    for _ in range(80):
        middle = (low + high) / 2
        below = expit(middle + SPREAD * z) @ weight / weight.sum() < accuracy
        low, high = (middle, high) if below else (low, middle)
    return low


def task(cell: Cell, rng: Generator, size: float = 1.0) -> tuple[Floats, NDArray[np.int64] | None]:
    """Return scores (2, items, runs) of one task, and the clusters."""
    if cell.clusters:
        sizes = np.ceil(np.exp(rng.normal(np.log(5 * size), 0.8, cell.clusters))).astype(np.int64)
        cluster = np.repeat(np.arange(cell.clusters), sizes)
    else:
        cluster = np.arange(round(ALONE * size))
    shared, own = math.sqrt(cell.correlation), math.sqrt(1 - cell.correlation)
    latent = np.zeros((2, len(cluster)))
    for part, place in ((BETWEEN, cluster), (1 - BETWEEN, np.arange(len(cluster)))):
        count = int(place.max()) + 1
        effect = shared * rng.normal(size=count) + own * rng.normal(size=(2, count))
        latent += SPREAD * math.sqrt(part) * effect[:, place]
    middle = np.array([[center(cell.accuracy)], [center(cell.accuracy + cell.gap)]])
    chance = expit(middle + latent)[:, :, None]
    if cell.scores == "continuous":
        scores = rng.beta(4 * chance, 4 * (1 - chance), (2, len(cluster), cell.runs))
    else:
        scores = (rng.random((2, len(cluster), cell.runs)) < chance).astype(np.float64)
    return scores, cluster if cell.clusters else None


def measured(cell: Cell, draws: int, peer_draws: int) -> dict[str, Any]:
    """Return coverage, width and more of calibrant's intervals, and of the peers' on the first draws."""
    rng = np.random.default_rng(zlib.crc32(cell.name.encode()))
    ours: dict[str, list[tuple[float, ...]]] = {}
    others: dict[str, list[tuple[float, ...]]] = {}
    methods, apart = peers(), 0.0
    same: Ends = None
    for draw in range(draws):
        tables: list[TaskTable] = []
        scores, cluster = np.empty((2, 0, 1)), None
        for number in range(cell.tasks):
            scores, cluster = task(cell, rng, TASKS[number] if cell.tasks > 1 else 1.0)
            if cell.tasks > 1:
                names = None if cluster is None else np.array([f"{number}/{own}" for own in cluster], object)
                runs = np.full(scores.shape[:2], cell.runs)
                tables.append(TaskTable(f"t{number}", "score", scores.mean(2), runs, names))
        # One task has the test of `compare` without its other numbers, which take longer.
        first, second = scores.mean(2)
        if cell.tasks == 1:
            test = paired_t_test(first, second, clusters=cluster)
            tests = [("items", test.difference, test.p_value, test.warning)]
        else:
            overall = compare_tasks(["a", "b"], tables).overall
            tests = [(row.over, row.difference, row.p_value, row.interval_warning) for row in overall]
        for over, difference, p_value, warning in tests:
            ends = None if difference.low is None else (difference.low, difference.high or 0.0)
            shown = float(p_value is not None and p_value <= 0.05)
            ours.setdefault(over, []).append((*outcome(ends, -cell.gap), float(warning is not None), shown))
        if draw < peer_draws and cell.tasks == 1 and cell.correlation == 0.5:
            for name, method in methods.items():
                if name == BAYES and (cell.clusters or cell.runs > 1 or cell.scores == "continuous"):
                    continue
                if name == "inspect_ai" and draw >= SAME_DRAWS:
                    continue
                ends = method(first, second, cluster, scores)
                others.setdefault(name, []).append(outcome(ends, -cell.gap))
                if name == "errorbars":
                    same = ends
                if name == "inspect_ai" and same is not None and ends is not None:
                    apart = max(apart, *(abs(one - other) for one, other in zip(same, ends, strict=True)))
    return {
        "cell": vars(cell),
        "name": cell.name,
        "draws": draws,
        "ours": {over: summary(np.array(rows)) for over, rows in ours.items()},
        "same": {over: summary(np.array(rows[:peer_draws])) for over, rows in ours.items()},
        "peers": {name: summary(np.array(rows)) for name, rows in others.items()},
        "apart": apart,
    }


def outcome(ends: Ends, truth: float) -> tuple[float, float]:
    """Return whether an interval contains the truth, and its width; NaN without an interval."""
    if ends is None or not all(math.isfinite(end) for end in ends):
        return math.nan, math.nan
    return float(ends[0] - 1e-12 <= truth <= ends[1] + 1e-12), ends[1] - ends[0]


def summary(rows: Floats) -> dict[str, float | None]:
    """Return percentages and the mean width in points over the draws with an interval."""
    if not len(rows):
        return {}
    known = rows[~np.isnan(rows[:, 0])]
    found: dict[str, float | None] = {
        "none": 100 * (1 - len(known) / len(rows)),
        "coverage": None,
        "width": None,
    }
    if len(known):
        found |= {"coverage": 100 * float(known[:, 0].mean()), "width": 100 * float(known[:, 1].mean())}
        if rows.shape[1] > 2:
            silent = known[known[:, 2] == 0, 0]
            found["warned"] = 100 * float(known[:, 2].mean())
            found["silent"] = 100 * float(silent.mean()) if len(silent) >= len(rows) / 20 else None
            found["rejected"] = 100 * float(rows[:, 3].mean())
    return found


BAYES = "bayes_evals"
PEERS = ("errorbars", "inspect_ai", "truescore", "evalstats", BAYES)


@cache
def peers() -> dict[str, Method]:
    """Return the peers' intervals of first minus second, by name; none if they are not installed."""
    try:
        import errorbars.compare
        from evalstats.core.paired import pairwise_differences
        from evalstats.core.resampling import bayes_paired_diff_ci
        from inspect_ai.scorer import SampleScore, Score
        from truescore.compare import paired_bootstrap

        inspect = import_module("inspect_ai.scorer._metrics.std")  # whose package has a function of its name
    except ImportError:
        return {}
    # Both search for the quantile of t at every call; it depends on the degrees of freedom only.
    errorbars.compare.t_for_confidence = lru_cache(errorbars.compare.t_for_confidence)
    vars(inspect)["_t_inv_cdf"] = lru_cache(vars(inspect)["_t_inv_cdf"])

    def of_errorbars(first: Floats, second: Floats, cluster: Any, _: Floats) -> Ends:
        pair = errorbars.compare.paired_compare(first, second, cluster)
        return (
            (pair.ci_low, pair.ci_high)
            if cluster is None
            else (pair.ci_low_clustered, pair.ci_high_clustered)
        )

    def of_inspect(first: Floats, second: Floats, cluster: Any, _: Floats) -> Ends:
        codes = range(len(first)) if cluster is None else cluster.tolist()
        samples = [
            SampleScore(score=Score(value=gap), sample_metadata={"cluster": code})
            for gap, code in zip((first - second).tolist(), codes, strict=True)
        ]
        ends = inspect.ci(cluster=None if cluster is None else "cluster")(samples)
        return ends["lower"], ends["upper"]

    def of_truescore(first: Floats, second: Floats, cluster: Any, _: Floats) -> Ends:
        pair = paired_bootstrap(first, second, n_bootstrap=1000, clusters=cluster)
        return pair.low, pair.high

    def of_evalstats(first: Floats, second: Floats, cluster: Any, scores: Floats) -> Ends:
        method = "bonett_price" if np.isin(scores, (0, 1)).all() else "logit_t"
        table = scores if scores.shape[2] > 2 else np.stack([first, second])
        pair = pairwise_differences(
            table, 0, 1, method=method, rng=np.random.default_rng(0), n_bootstrap=100, score_range=(0, 1)
        )
        return pair.ci_low, pair.ci_high

    def of_bayes(first: Floats, second: Floats, cluster: Any, _: Floats) -> Ends:
        low, high, _ = bayes_paired_diff_ci(first, second, 0.05, rng=np.random.default_rng(0))
        return low, high

    return dict(zip(PEERS, (of_errorbars, of_inspect, of_truescore, of_evalstats, of_bayes), strict=True))


def family_name(systems: int, clusters: int, accuracy: float) -> str:
    """Return the name of a design, of which the seed is made."""
    return f"family/{systems}/{clusters}/{accuracy}"


def family(systems: int, clusters: int, accuracy: float, families: int) -> dict[str, Any]:
    """Return how often all simultaneous intervals of equal systems contain 0."""
    name = family_name(systems, clusters, accuracy)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    pairs = list(combinations(range(systems), 2))
    level, middle, held = 1 - 0.05 / len(pairs), center(accuracy), []
    for _ in range(families):
        cluster = np.arange(ALONE)
        if clusters:
            sizes = np.ceil(np.exp(rng.normal(np.log(5), 0.8, clusters))).astype(np.int64)
            cluster = np.repeat(np.arange(clusters), sizes)
        latent = np.zeros((systems, len(cluster)))
        for part, place in ((BETWEEN, cluster), (1 - BETWEEN, np.arange(len(cluster)))):
            count = int(place.max()) + 1
            effect = math.sqrt(0.5) * (rng.normal(size=count) + rng.normal(size=(systems, count)))
            latent += SPREAD * math.sqrt(part) * effect[:, place]
        scores = (rng.random(latent.shape) < expit(middle + latent)).astype(np.float64)
        held.append(True)
        for one, other in pairs:
            gap = scores[one] - scores[other]
            if not gap.any():
                continue
            ends = mean_interval(gap, clusters=cluster if clusters else None, level=level).mean
            if ends.low is not None and ends.high is not None and not ends.low <= 0 <= ends.high:
                held[-1] = False
                break
    return {"name": name, "all": 100 * float(np.mean(held)), "draws": families}


FAMILY_CELLS = tuple(
    (systems, clusters, accuracy)
    for systems, clusters, accuracy in product((3, 10, 30), (0, 5, 10, 20, 50), (0.8, 0.95))
    if systems < 30 or (accuracy == 0.8 and clusters in (0, 10, 50))
)


LIVEBENCH = "repeated-runs/livebench-2025-01-13.parquet"
RELEASE = "o1-preview-2024-09-12"  # a model that answered the 1,000 questions of the release of August 2024
# Averages over six categories as percentages, by the names in the scores, of which three differ there:
# public/table_2024_08_31.csv of https://github.com/LiveBench/livebench.github.io, commit 18ad495. These are
# its first 19 models.
PUBLISHED = {
    "o1-preview-2024-09-12": 66.020,
    "claude-3-5-sonnet-20240620": 59.802,
    "o1-mini-2024-09-12": 59.094,
    "gpt-4o-2024-08-06": 56.027,
    "gemini-1.5-pro-002": 54.941,
    "chatgpt-4o-latest": 54.247,
    "gpt-4o-2024-05-13": 53.976,
    "gemini-1.5-pro-exp-0827": 53.754,
    "Meta-Llama-3.1-405B-Instruct-Turbo": 53.240,
    "Qwen2.5-72B-Instruct": 52.888,
    "gpt-4-turbo-2024-04-09": 51.831,
    "gemini-1.5-pro-exp-0801": 51.562,
    "claude-3-opus-20240229": 50.034,
    "gemini-1.5-flash-002": 49.571,
    "mistral-large-2407": 48.503,
    "gpt-4-0125-preview": 47.343,
    "deepseek-chat": 47.313,
    "coding-meta-llama-3.1-70b-instruct-chk-50": 46.996,
    "Meta-Llama-3.1-70B-Instruct-Turbo": 46.576,
}


def livebench() -> dict[str, Any]:
    """Return the ranking of the models that answered all questions of a release, beside the published one."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(Path(os.environ["CALIBRANT_DATA"]) / LIVEBENCH)
    questions = pc.unique(table.filter(pc.equal(table["model"], RELEASE))["question_id"])
    table = table.filter(pc.is_in(table["question_id"], questions))
    answered = table.group_by(["model"]).aggregate([("question_id", "count_distinct")])
    every = answered.filter(pc.equal(answered["question_id_count_distinct"], len(questions)))["model"]
    table = table.filter(pc.is_in(table["model"], pa.array(every.to_pylist())))
    started = time.perf_counter()
    found = compare(table, system="model", item="question_id", score="score", run="tstamp")
    seconds = time.perf_counter() - started
    assert isinstance(found, RunComparison)
    differ = {
        over: {
            frozenset((row.first, row.second))
            for row in found.overall
            if row.over == over and row.verdict != "inconclusive"
        }
        for over in ("items", "tasks")
    }
    order = sorted(PUBLISHED, key=lambda name: -PUBLISHED[name])
    return {
        "name": "livebench",
        "questions": len(questions),
        "models": len(found.systems),
        "tasks": found.systems[0].tasks,
        "compare_seconds": round(seconds, 1),
        "pairs": len(found.overall) // 2,
        "differ": {over: len(pairs) for over, pairs in differ.items()},
        "neighbors": {
            over: sum(frozenset(pair) in pairs for pair in pairwise(order)) for over, pairs in differ.items()
        },
        "first_differ": {
            over: sum(frozenset((order[0], name)) in pairs for name in order[1:])
            for over, pairs in differ.items()
        },
        "rows": [
            {
                "model": row.system,
                "published": PUBLISHED.get(row.system),
                "items": [100 * (end or 0.0) for end in (row.mean.estimate, row.mean.low, row.mean.high)],
                "tasks": 100 * row.task_mean,
                "letters": row.letters,
            }
            for row in found.systems
        ],
    }
