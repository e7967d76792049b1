"""The counts study's checks: hits against stated mass, ranks of the truth, and sums of documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant.estimation import central_set_hits, poisson_binomial, quantile_calibration, total_interval
from calibrant.estimation.results import QuantileCalibration
from calibrant.metrics.tails import quantile, wilson
from calibrant_studies._base import Row
from calibrant_studies._counts_numbers import Counts, spread
from calibrant_studies.arrays import Floats

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
SIZE_LEVELS = (0.5, 0.8, 0.95)
LEVEL = 0.95
RESAMPLES = 2_000
BINS = 10
SIZES = (1, 10, 100)
GROUPS = 1_000
TOGETHER = "all together"
CHECKED_SAMPLES = 200
REPLICATIONS = 200


def together(parts: Sequence[Counts]) -> tuple[Floats, Floats, NDArray[np.str_]]:
    """Samples, gold numbers and documents of several counts: those of a document are one cluster."""
    samples = np.concatenate([part.samples for part in parts]).astype(np.float64)
    gold = np.concatenate([part.gold for part in parts]).astype(np.float64)
    return samples, gold, np.array([name for part in parts for name in part.documents])


def check_rows(name: Row, parts: Sequence[Counts], seed: int) -> dict[str, list[Row]]:
    """Compute ranks, hits and mean errors per count, and over all counts."""
    tables: dict[str, list[Row]] = {"ranks": [], "hits": [], "errors": []}
    groups: list[tuple[str, Sequence[Counts]]] = [(part.name, [part]) for part in parts]
    for kind, some in [*groups, (TOGETHER, parts)]:
        samples, gold, documents = together(some)
        clusters = documents if len(some) > 1 else None
        row = {**name, "count": kind, "when": some[0].when}
        ranks = quantile_calibration(samples, gold, clusters=clusters, levels=LEVELS, seed=seed)
        tables["ranks"].append(row | _ranks(ranks, documents, seed))
        hits = central_set_hits(samples, gold, clusters=clusters, levels=LEVELS)
        for found, covered in zip(hits.sets, ranks.coverage, strict=True):
            tables["hits"].append(
                {
                    **row,
                    "mass": "samples",
                    "n": hits.n,
                    "level": found.nominal,
                    "hits": found.hits,
                    "stated": found.stated,
                    "p_value": found.p_value,
                    "coverage": covered.coverage.estimate,
                    "coverage, low": covered.coverage.low,
                    "coverage, high": covered.coverage.high,
                }
            )
        if len(some) == 1:
            tables["errors"].append(row | error_row(some[0], seed))
            if some[0].starts:
                tables["hits"] += [{**row, **found} for found in exact_hits(some[0])]
    return tables


def _ranks(found: QuantileCalibration, documents: NDArray[np.str_], seed: int) -> Row:
    low, high = _resampled(found.pit, documents, seed)
    histogram = np.histogram(found.pit, bins=BINS, range=(0.0, 1.0))[0]
    return {
        "numbers": found.n,
        "documents": len(np.unique(documents)),
        "degenerate": found.degenerate,
        "statistic": found.statistic,
        "p_value": found.p_value,
        "mean rank": float(found.pit.mean()),
        "mean rank, low": low,
        "mean rank, high": high,
        "shares": (histogram / found.n).tolist(),
    }


def _resampled(values: Floats, documents: NDArray[np.str_], seed: int) -> tuple[float, float]:
    """The 95 % interval of a mean when documents are drawn with replacement."""
    codes = np.unique(documents, return_inverse=True)[1]
    sums, sizes = np.bincount(codes, values), np.bincount(codes)
    weight = draws_of(len(sums), seed)
    return ends((weight @ sums) / (weight @ sizes))


def draws_of(documents: int, seed: int) -> NDArray[np.int64]:
    """Return how often each document is drawn, in each of `RESAMPLES` draws."""
    rng = np.random.default_rng(seed)
    return rng.multinomial(documents, np.full(documents, 1 / documents), size=RESAMPLES)


def ends(values: Floats) -> tuple[float, float]:
    """Return the ends of the central 95 % of the values."""
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def error_row(part: Counts, seed: int) -> Row:
    """Return the relative error of the mean, and the spread of the errors in stated standard deviations.

    The spread is the root of the sum of squared errors over the sum of stated variances.
    """
    mean = part.samples.mean(axis=1)
    error, variance = part.gold - mean, part.samples.var(axis=1, ddof=1)
    weight = draws_of(len(mean), seed)
    relative = (weight @ error) / (weight @ mean)
    spreads = np.sqrt((weight @ error**2) / np.maximum(weight @ variance, 1e-12))
    low, high = ends(relative)
    spread_low, spread_high = ends(spreads)
    return {
        "documents": len(mean),
        "gold": int(part.gold.sum()),
        "expected": float(mean.sum()),
        "error": float(error.sum() / mean.sum()),
        "error, low": low,
        "error, high": high,
        "spread": spread(part),
        "spread, low": spread_low,
        "spread, high": spread_high,
        "widened spread": float(np.sqrt((error**2).sum() / (part.factor**2 @ variance))),
        "mean sd": float(np.sqrt(variance).mean()),
    }


def exact_hits(part: Counts) -> list[Row]:
    """Hits of central sets of exact distributions of the number of entities, against their exact mass."""
    exact = [poisson_binomial(starts) for starts in part.starts]
    rows: list[Row] = []
    for level in LEVELS:
        hits, stated = 0, []
        for one, gold in zip(exact, part.gold, strict=True):
            low, high = one.interval(level)
            hits += low <= gold <= high
            inside = (low <= one.values) & (one.values <= high)
            stated.append(min(1.0, float(one.probabilities[inside].sum())))
        number = poisson_binomial(stated)
        below, above = (
            float(number.probabilities[side].sum()) for side in (number.values <= hits, number.values >= hits)
        )
        rows.append(
            {
                "mass": "exact",
                "n": len(exact),
                "level": level,
                "hits": int(hits),
                "stated": float(sum(stated)),
                "p_value": min(1.0, 2 * min(below, above)),
            }
        )
    return rows


def whole_interval(drawn: Floats) -> tuple[Floats, Floats]:
    """Whole numbers around the central 95 % of the samples of each of several sums, (sums, L).

    The truth is one of L + 1 equally distributed numbers, so it is below the limit p (L + 1) with probability
    p.
    """
    tails = [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
    low, high = np.quantile(drawn, tails, axis=1, method="weibull")
    return np.floor(low), np.ceil(high)


@dataclass(frozen=True)
class _Sums:
    """Sums over groups of documents: gold, two sets of samples of them, and the widened sd."""

    gold: Floats
    narrow: Floats
    total: Floats | None
    widened_sd: Floats

    def row(self) -> Row:
        """Return the coverage and width of each interval."""
        mean, sd = self.narrow.mean(axis=1), self.narrow.std(axis=1, ddof=1)
        row: Row = {
            "gold": float(self.gold.mean()),
            "expected": float(mean.mean()),
            "error in sds": float(np.sqrt((((self.gold - mean) / np.maximum(sd, 1e-12)) ** 2).mean())),
        }
        for kind, drawn in (("narrow", self.narrow), ("total", self.total)):
            if drawn is None:
                row |= {kind: None, f"{kind}, stated": None, f"{kind}, width": None}
                continue
            low, high = whole_interval(drawn)
            inside = (low[:, None] <= drawn) & (drawn <= high[:, None])
            row[kind] = float(((low <= self.gold) & (self.gold <= high)).mean())
            row[f"{kind}, stated"] = float(inside.mean())
            row[f"{kind}, width"] = float((high - low).mean())
        half = quantile(LEVEL) * self.widened_sd
        row["widened"] = float((np.abs(self.gold - mean) <= np.ceil(half)).mean())
        row["widened, width"] = float(2 * half.mean())
        return row


def sum_rows(name: Row, part: Counts, seed: int) -> list[Row]:
    """Return the coverage of 95 % intervals of sums over 1, 10, 100 and all documents.

    Groups are drawn at random, so they share documents; their proportions have no separate interval.
    """
    documents = len(part.gold)
    rng = np.random.default_rng(seed)
    rows = []
    for size in [*(size for size in SIZES if size < documents), documents]:
        groups = GROUPS if size < documents else 1
        member = np.zeros((groups, documents))
        for group in member:
            group[rng.choice(documents, size, replace=False)] = 1.0
        total = None if part.total is None else member @ part.total
        widened = np.sqrt(member @ (part.factor**2 * part.samples.var(axis=1, ddof=1)))
        found = _Sums(member @ part.gold, member @ part.samples, total, widened).row()
        rows.append({**name, "count": part.name, "when": part.when, "size": size, "groups": groups, **found})
    return rows


def interval_row(name: Row, part: Counts) -> Row:
    """The sum over all documents with both intervals; exact under the model for entities."""
    gold, expected = int(part.gold.sum()), float(part.samples.mean(axis=1).sum())
    sums = part.samples.sum(axis=0)
    limits: dict[str, tuple[float, float] | None] = {"narrow": ends(sums), "total": None}
    if part.total is not None:
        limits["total"] = ends(part.total.sum(axis=0))
    if part.starts:
        expected = float(sum(starts.sum() for starts in part.starts))
        limits["narrow"] = total_interval([np.concatenate(part.starts)], level=LEVEL)
    if part.refitted_starts:
        every = np.concatenate(part.refitted_starts, axis=1)
        limits["total"] = total_interval(every, level=LEVEL)
    row: Row = {**name, "count": part.name, "when": part.when, "documents": len(part.gold)}
    row |= {"gold": gold, "expected": expected}
    variance = part.factor**2 @ part.samples.var(axis=1, ddof=1)
    half = quantile(LEVEL) * float(np.sqrt(variance))
    limits["widened"] = (expected - half, expected + half)
    for kind, found in limits.items():
        row |= {f"{kind}, low": found and found[0], f"{kind}, high": found and found[1]}
    return row


def size_rows(name: Row, parts: Sequence[Counts], seed: int) -> list[Row]:
    """Return how often tests reject at 5 % if gold is one more sample, with documents as clusters."""
    samples, _, documents = together(parts)
    kept = samples[:, :CHECKED_SAMPLES]
    ranks, hits = [], []
    for replication in range(REPLICATIONS):
        true = samples[:, CHECKED_SAMPLES + replication]
        found = quantile_calibration(
            kept, true, clusters=documents, levels=SIZE_LEVELS, seed=seed + replication
        )
        ranks.append(found.p_value)
        sets = central_set_hits(kept, true, clusters=documents, levels=SIZE_LEVELS).sets
        hits.append([each.p_value for each in sets])
    return rejected({**name, "count": TOGETHER}, np.array(ranks, np.float64), np.array(hits))


def rejected(name: Row, ranks: Floats, hits: Floats, alpha: float = 0.05) -> list[Row]:
    """Return proportions of p-values of at most ``alpha``, with their intervals."""
    tests = {"ranks": ranks, **{f"hits at {level:.0%}": hits[:, k] for k, level in enumerate(SIZE_LEVELS)}}
    rows = []
    for test, values in tests.items():
        share = float((values <= alpha).mean())
        low, high = interval_of_share(share, len(values))
        row = {**name, "test": test, "replications": len(values), "rejected": share}
        rows.append({**row, "low": low, "high": high})
    return rows


def interval_of_share(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval."""
    low, high = wilson(np.array([share]), np.array([float(n)]), LEVEL)
    return float(low[0]), float(high[0])
