"""Coverage of intervals of agreement and scores if labels are rare or items few.

Each cell also has the interval of other software, the estimate plus and minus 1.96 standard errors, as
`statsmodels` computes it for kappa (``cohens_kappa``) and for proportions (``proportion_confint``).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant.evaluation import coefficient_sums as sums
from calibrant.evaluation import scores as scored
from calibrant.evaluation.coefficients import pair_agreement, pair_cells
from calibrant.evaluation.ratings import Ratings
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.score_interval import Statistic, estimates
from calibrant_studies._base import Finding, Row, Study
from calibrant_studies.arrays import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEED = 20261122
REPLICATIONS = 1000
LEVEL = 0.95
# Probabilities of the labels (other, other), (other, rare), (rare, other), (rare, rare) of two annotators.
SHARES = {
    "even": (0.45, 0.05, 0.05, 0.45),
    "skewed": (0.65, 0.05, 0.10, 0.20),
    "rare": (0.90, 0.03, 0.03, 0.04),
    "very rare": (0.96, 0.01, 0.015, 0.015),
}
ITEMS = (20, 50, 100, 200)
# Annotators, proportions of the gold labels, and the probability that an annotator certainly gives the gold
# label.
PANELS: dict[str, tuple[int, tuple[float, ...], float]] = {
    "3 annotators, rare": (3, (0.9, 0.1), 0.7),
    "5 annotators, rare": (5, (0.96, 0.04), 0.8),
    "2 annotators, 4 labels": (2, (0.7, 0.15, 0.1, 0.05), 0.7),
    "3 annotators, 3 labels": (3, (0.8, 0.15, 0.05), 0.7),
}
CLUSTERS = (5, 12, 40)
CLUSTER_SIZE = 10
SIZES = ("equal", "unequal", "one with half")
Estimates = dict[str, IntervalEstimate]


def run(*, data: Path | None = None, seed: int = SEED) -> Study:
    """Run all simulations; takes some minutes. ``data`` is not used."""
    return agreement(seed=seed)


def agreement(*, replications: int = REPLICATIONS, seed: int = SEED) -> Study:
    """Simulate intervals of agreement and scores with known true values.

    Parameters
    ----------
    replications
        Replications per cell of two annotators; panels and clusters have two fifths as many.
    seed
        Seed of all draws.

    Returns
    -------
    Study
        Tables ``pairs``, ``panels``, ``clusters``; coverage in percent.

    Examples
    --------
    >>> study = agreement(replications=2)
    >>> sorted(study.tables)
    ['clusters', 'pairs', 'panels']
    """
    started = time.perf_counter()
    fewer = max(1, replications * 2 // 5)
    tables = {
        "pairs": [
            row for place, name in enumerate(SHARES) for row in pair_rows(seed + place, replications, name)
        ],
        "panels": [row for place, name in enumerate(PANELS) for row in panel_rows(seed + place, fewer, name)],
        "clusters": cluster_rows(seed, fewer),
    }
    return Study(
        name="agreement",
        title="Coverage of intervals of agreement and scores",
        command="calibrant study agreement",
        seed=seed,
        wall_seconds=time.perf_counter() - started,
        data={},
        parameters={
            "level": LEVEL,
            "replications": f"{replications:,} of pairs, {replications * 2 // 5:,} of panels and clusters",
        },
        findings=_findings(tables),
        tables=tables,
    )


def figures(study: Study) -> dict[str, Figure]:
    """Draw the coverage of kappa's intervals for two annotators."""
    from calibrant.plots import style

    figure, (ax,) = style.new_figure(6.4, 3.2)
    rows = [row for row in study.tables["pairs"] if row["quantity"] == "kappa"]
    for place, name in enumerate(("covers", "normal covers")):
        look = style.series(place)
        label = "calibrant" if name == "covers" else "normal (statsmodels)"
        found = [row[name] for row in rows]
        ax.plot(found, range(len(rows)), look.marker, color=look.color, label=label, linestyle="none")
    ax.axvline(100 * LEVEL, color=style.INK, linewidth=0.8, label="nominal: 95 %")
    ax.set_yticks(range(len(rows)), [f"{row['labels']}, {row['items']} items" for row in rows])
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlabel("samples whose interval contains the true kappa, %")
    style.grid(ax)
    style.legend_outside(ax)
    return {"kappa": figure}


class _Tally:
    """Counts, over samples, of what the intervals of one quantity contain."""

    def __init__(self, truth: float) -> None:
        self.truth, self.defined, self.samples = truth, 0, 0
        self.below = self.above = self.normal = self.warned = 0
        self.width = 0.0

    def add(self, found: IntervalEstimate, times: int = 1) -> None:
        """Count an interval, and the normal interval around the same estimate."""
        self.samples += times
        if found.estimate is None or found.low is None or found.high is None or found.standard_error is None:
            return
        self.defined += times
        self.width += times * (found.high - found.low)
        self.warned += times * (found.warning is not None)
        self.below += times * (self.truth < found.low - 1e-6)
        self.above += times * (self.truth > found.high + 1e-6)
        self.normal += times * (abs(found.estimate - self.truth) <= 1.959964 * found.standard_error + 1e-9)

    def row(self) -> Row:
        """Return the percentages of samples with an interval."""
        number = max(1, self.defined)
        return {
            "truth": self.truth,
            "covers": 100 * (number - self.below - self.above) / number,
            "truth below": 100 * self.below / number,
            "truth above": 100 * self.above / number,
            "undefined": 100 * (self.samples - self.defined) / max(1, self.samples),
            "width": self.width / number,
            "normal covers": 100 * self.normal / number,
            "warned": 100 * self.warned / number,
        }


def pair_truth(shares: tuple[float, ...]) -> dict[str, float]:
    """Return true kappa, F1, recall and accuracy of the second label; the second annotator is right."""
    cells = np.array(shares).reshape(2, 2)
    chance = float(cells.sum(axis=0) @ cells.sum(axis=1))
    agree = float(np.trace(cells))
    return {
        "kappa": (agree - chance) / (1 - chance),
        "F1": 2 * float(cells[1, 1]) / float(2 * cells[1, 1] + cells[0, 1] + cells[1, 0]),
        "recall": float(cells[1, 1] / cells[:, 1].sum()),
        "accuracy": agree,
    }


def pair_estimates(cell: Integers, cluster: Integers | None = None) -> Estimates:
    """Compute the estimates from the cell (0 to 3) of each item."""
    one, other = cell // 2, cell % 2
    counts = np.bincount(cell, minlength=4).reshape(2, 2)
    weight = np.eye(2)
    kappa = {"kappa": sums.two_statistics(weight)["cohen_kappa"]}
    scores = scored.of_class(2, 1)
    scores = {
        "F1": scores["f1 1"],
        "recall": scores["recall 1"],
        "accuracy": scored.averages(2, np.arange(2))["accuracy"],
    }
    return estimates(pair_cells(one, other, counts, weight, cluster), kappa, LEVEL) | estimates(
        scored.score_cells(other, one, 2, counts, cluster), scores, LEVEL
    )


def pair_rows(seed: int, replications: int, name: str, items: tuple[int, ...] = ITEMS) -> list[Row]:
    """Measure coverage for two annotators and two labels; equal tables are computed once."""
    rng, shares = np.random.default_rng(seed), SHARES[name]
    rows: list[Row] = []
    for n in items:
        tallies = {key: _Tally(value) for key, value in pair_truth(shares).items()}
        tables, times = np.unique(rng.multinomial(n, shares, size=replications), axis=0, return_counts=True)
        for table, number in zip(tables, times.tolist(), strict=True):
            found = pair_estimates(np.repeat(np.arange(4), table))
            for key, tally in tallies.items():
                tally.add(found[key], number)
        rows += [
            {"labels": name, "items": n, "quantity": key, **tally.row()} for key, tally in tallies.items()
        ]
    return rows


def panel_rows(seed: int, replications: int, name: str, items: tuple[int, ...] = (20, 50, 200)) -> list[Row]:
    """Measure coverage for several annotators or labels."""
    annotators, shares, certain = PANELS[name]
    labels = len(shares)
    rng = np.random.default_rng(seed)
    truth = {key: float(value) for key, value in _panel_truth(annotators, shares, certain).items()}
    rows: list[Row] = []
    for n in items:
        tallies = {key: _Tally(value) for key, value in truth.items()}
        for _ in range(replications):
            gold = rng.choice(labels, (n, 1), p=shares)
            other = rng.choice(labels, (n, annotators), p=shares)
            given = np.where(rng.random((n, annotators)) < certain, gold, other)
            ratings = Ratings.from_table(
                np.repeat(np.arange(n), annotators),
                np.tile(np.arange(annotators), n),
                given.ravel(),
                order=range(labels),
            )
            for key, found in _panel_estimates(ratings).items():
                tallies[key].add(found)
        rows += [
            {"labels": name, "items": n, "quantity": key, **tally.row()} for key, tally in tallies.items()
        ]
    return rows


def _panel_parts(labels: int) -> Iterator[tuple[str, Callable[[sums.Patterns], Floats], Statistic]]:
    """Return the sums that each coefficient uses, and its function of them."""
    numbers = np.arange(labels, dtype=np.float64)
    chance = sums.chance_statistics(labels)
    yield "Fleiss' kappa", sums.chance_sums, chance["fleiss_kappa"]
    yield "AC1", sums.chance_sums, chance["gwet_ac1"]
    yield (
        "alpha",
        lambda patterns: sums.alpha_sums(patterns, "nominal", None),
        sums.alpha_statistic(labels, "nominal", None),
    )
    if labels > 2:
        yield (
            "alpha, interval",
            lambda patterns: sums.alpha_sums(patterns, "interval", numbers),
            sums.alpha_statistic(labels, "interval", numbers),
        )


def _panel_estimates(ratings: Ratings) -> Estimates:
    patterns = sums.patterns_of(ratings).with_possible()
    found: Estimates = {}
    for name, part, statistic in _panel_parts(len(ratings.labels)):
        warned = replace(statistic, warning=patterns.warning)
        found |= estimates(patterns.cells(part(patterns), None), {name: warned}, LEVEL)
    if len(ratings.annotators) == 2:
        found["weighted kappa"] = pair_agreement(ratings, weights="quadratic").cohen_kappa
    return found


def _panel_truth(annotators: int, shares: tuple[float, ...], certain: float) -> dict[str, float]:
    """Compute the coefficients in the population, from the probability of every combination of labels."""
    labels, many = len(shares), 10**9
    counts, probability = [], []
    for given in product(range(labels), repeat=annotators):
        each = [
            math.prod(certain * (label == gold) + (1 - certain) * shares[label] for label in given)
            for gold in range(labels)
        ]
        counts.append(np.bincount(given, minlength=labels))
        probability.append(float(np.array(shares) @ each))
    patterns = sums.Patterns(
        np.array(counts, float), np.zeros(0, np.int64), np.ones(len(counts), dtype=np.int64)
    )
    weight = np.array(probability) * many
    truth = {
        name: float(statistic.value((weight @ part(patterns))[None])[0])
        for name, part, statistic in _panel_parts(labels)
    }
    if annotators == 2:
        first, second = np.divmod(np.arange(labels**2), labels)
        weights = sums.agreement_weights(labels, "quadratic")
        totals = weight @ sums.two_sums(first, second, weights)
        truth["weighted kappa"] = float(sums.two_statistics(weights)["cohen_kappa"].value(totals[None])[0])
    return truth


def cluster_sizes(rng: np.random.Generator, kind: str, clusters: int) -> Integers:
    """Return the items per cluster: equal, log-normal with deviation 1, or one with half of all items."""
    if kind == "equal":
        return np.full(clusters, CLUSTER_SIZE, np.int64)
    if kind == "unequal":
        drawn = np.exp(rng.normal(size=clusters))
        found: Integers = np.maximum(1, np.rint(drawn / drawn.mean() * CLUSTER_SIZE)).astype(np.int64)
        return found
    size = np.full(clusters, CLUSTER_SIZE // 2, np.int64)
    size[0] = size[1:].sum()
    return size


def alike_in_clusters(rng: np.random.Generator, cell: Integers, cluster: Integers) -> Integers:
    """Make each item repeat the first item of its cluster with probability one half."""
    _, first = np.unique(cluster, return_index=True)
    same: Integers = np.where(rng.random(len(cell)) < 0.5, cell[first][cluster], cell)
    return same


def cluster_rows(
    seed: int,
    replications: int,
    clusters: tuple[int, ...] = CLUSTERS,
    names: tuple[str, ...] = ("even", "skewed", "rare"),
) -> list[Row]:
    """Measure coverage for two annotators and items in clusters."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for name, number, kind in product(names, clusters, SIZES):
        shares = SHARES[name]
        tallies = {key: _Tally(value) for key, value in pair_truth(shares).items()}
        for _ in range(replications):
            size = cluster_sizes(rng, kind, number)
            cluster = np.repeat(np.arange(number), size)
            cell = alike_in_clusters(rng, rng.choice(4, len(cluster), p=shares), cluster)
            found = pair_estimates(cell, cluster)
            for key, tally in tallies.items():
                tally.add(found[key])
        about: dict[str, Any] = {"labels": name, "clusters": number, "sizes": kind}
        rows += [{**about, "quantity": key, **tally.row()} for key, tally in tallies.items()]
    return rows


def _findings(tables: dict[str, list[Row]]) -> tuple[Finding, ...]:
    """Return the cells with the lowest coverage of each table."""
    found = []
    for name, rows in tables.items():
        for word, key in (("lowest", "covers"), ("lowest of the normal intervals", "normal covers")):
            row = rows[int(np.argmin([row[key] for row in rows]))]
            where = ", ".join(str(row[part]) for part in list(row)[: list(row).index("truth")])
            found.append(
                Finding(f"{name} {key}", f"{name}: {word}, %", row[key], note=f"{where}; nominal 95")
            )
    return tuple(found)
