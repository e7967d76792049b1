"""Measure how often a guaranteed threshold is worse than promised, for the guide.

python scripts/threshold_coverage.py [SAMPLES]     writes docs/studies/threshold_coverage.md

The columns on MAPIE need the environment that `scripts/bench-venv.sh` makes; without MAPIE they are empty.
A false guarantee is a threshold whose true risk is above alpha. The true risk is that of a population of
400,000 items per situation, whose probabilities of a loss are known. Seed 0.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from calibrant.evaluation import GuaranteedThreshold, guaranteed_thresholds

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "threshold_coverage.md"
POPULATION, SAMPLES, PEER_SAMPLES = 400_000, 500, 100
DELTA = 0.1

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One situation: the risk by score, the number of labels, clusters, and what is limited."""

    kind: str
    n: int
    alpha: float = 0.1
    limit: str = "errors"
    cluster: str = ""
    groups: int = 0


@dataclass(frozen=True)
class Draw:
    """Items: scores, probabilities of a loss, losses, clusters and groups."""

    score: Floats
    chance: Floats
    loss: Floats
    cluster: NDArray[np.int64] | None
    group: NDArray[np.int64] | None


# Probability of an error by score, which is uniform.
RISKS: dict[str, Callable[[Floats], Floats]] = {
    "calibrated": lambda s: 0.4 * (1 - s),
    "overconfident": lambda s: 0.05 + 0.35 * (1 - s) ** 0.5,
    "non-monotone": lambda s: np.where(s > 0.9, 0.2, np.where(s > 0.4, 0.05, 0.4)),
    "at the limit": lambda s: np.full(len(s), 0.1001),
    "all far below": lambda s: 0.04 * (1 - s),
    "rare errors": lambda s: 0.02 * (1 - s),
    "tied": lambda s: 0.4 * (1 - s),
    "both sides": lambda s: 1 - s,
}
SIZES = {"equal, 5": 5, "equal, 20": 20, "shared score": 10, "unequal": 0, "unequal, long ones worse": 0}
LONGEST, WORSE = 30, 4.0  # items of a cluster, and factor of the errors in a fourth of the clusters
LENGTHS = np.arange(2, LONGEST + 1)
ODDS = 0.85**LENGTHS / (0.85**LENGTHS).sum()  # of a cluster to have a length


def factors() -> tuple[Floats, Floats]:
    """Return the factors of errors by length of a cluster, and the proportions of items in such clusters."""
    weight = LENGTHS * ODDS / (LENGTHS * ODDS).sum()
    factor = np.minimum(LENGTHS, 20.0)
    return factor / (factor @ weight), weight


def sample(cell: Cell, n: int, rng: np.random.Generator) -> Draw:
    """Return about n items, in whole clusters; their probabilities do not know the cluster."""
    cluster, factor, weight, worse = None, np.ones(1), np.ones(1), np.ones(n)
    if cell.cluster:
        size = SIZES[cell.cluster]
        many = n // size if size else round(n / float(LENGTHS @ ODDS))
        sizes = np.full(many, size) if size else rng.choice(LENGTHS, many, p=ODDS)
        cluster = np.repeat(np.arange(many), sizes)
        if cell.cluster == "unequal, long ones worse":
            factor, weight = factors()
            worse = factor[sizes - LENGTHS[0]][cluster]
        else:  # documents in which the model is often wrong, and others in which it never is
            factor, weight = np.array([0.0, WORSE]), np.array([1 - 1 / WORSE, 1 / WORSE])
            worse = factor[(rng.random(many) < 1 / WORSE).astype(np.int64)][cluster]
    n = len(worse)
    score = rng.random(n)
    if cell.cluster == "shared score" and cluster is not None:
        score = rng.random(cluster[-1] + 1)[cluster]
    if cell.kind == "tied":
        score = np.ceil(8 * score) / 8
    risk = RISKS[cell.kind](score)
    chance = _mixed(risk, factor, weight)
    if cell.limit == "graded":
        mean = np.minimum(1, worse * risk)
        loss = rng.beta(2 * mean + 1e-9, 2 * (1 - mean) + 1e-9)
    else:
        loss = (rng.random(n) < worse * risk).astype(np.float64)
    group = rng.integers(cell.groups, size=n) if cell.groups else None
    return Draw(score, chance, loss, cluster, group)


def _mixed(risk: Floats, factor: Floats, weight: Floats) -> Floats:
    """Return the mean risk over the clusters that an item may be in."""
    total = np.zeros(len(risk))
    for one, part in zip(factor, weight, strict=True):
        total += part * np.minimum(1, one * risk)
    return total


@dataclass(frozen=True)
class Truth:
    """True risk of every threshold, and the proportion of items that it decides."""

    score: Floats
    risk: Floats
    kept: Floats

    def at(self, threshold: float) -> tuple[float, float]:
        """Return the risk and the proportion of a threshold."""
        place = int(np.searchsorted(-self.score, -threshold, side="right")) - 1
        return (0.0, 0.0) if place < 0 else (float(self.risk[place]), float(self.kept[place]))


def truth(cell: Cell) -> dict[str, Truth]:
    """Return the true risks of accepting and of refusing, and for missed positives."""
    many = sample(cell, POPULATION, np.random.default_rng(1))
    found = {}
    for which, sign in (("accept", 1), ("refuse", -1)):
        order = np.argsort(-sign * many.score, kind="stable")
        score, n = sign * many.score[order], len(order)
        ends = np.append(np.flatnonzero(np.diff(score)), n - 1)
        chance = many.chance[order] if sign == 1 else 1 - many.chance[order]
        kept = (ends + 1) / n
        risk = np.cumsum(chance)[ends] / (ends + 1)
        if cell.limit == "missed":
            right = np.cumsum(1 - chance)
            risk = 1 - right[ends] / right[-1]
        found[which] = Truth(score[ends], risk, kept)
    return found


def oracle(cell: Cell, known: dict[str, Truth]) -> float:
    """Return the proportion of items that the best thresholds decide."""
    sides = [known["accept"], *([known["refuse"]] if cell.limit == "two-sided" else [])]
    total = 0.0
    for side in sides:
        good = side.kept[side.risk <= cell.alpha]
        if cell.limit == "missed":
            total += 1 - float(good.min())  # refused
        else:
            total += float(good.max()) if len(good) else 0.0
    return min(1.0, total)


def ours(cell: Cell, draw: Draw) -> tuple[GuaranteedThreshold, ...]:
    """Return the guaranteed thresholds of a draw."""
    return guaranteed_thresholds(
        draw.score,
        draw.loss,
        alpha=cell.alpha,
        delta=DELTA,
        missed=cell.limit == "missed",
        two_sided=cell.limit == "two-sided",
        clusters=draw.cluster,
        groups=draw.group,
        cluster_size=LONGEST if cell.cluster.startswith("unequal") else None,
    ).thresholds


def naive(cell: Cell, draw: Draw) -> Iterator[tuple[str, float]]:
    """Yield the thresholds that a curve shows: the last ones with an observed risk of at most alpha."""
    for which, sign in (("accept", 1), *((("refuse", -1),) if cell.limit == "two-sided" else ())):
        order = np.argsort(-sign * draw.score, kind="stable")
        score = sign * draw.score[order]
        loss = draw.loss[order] if sign == 1 else 1 - draw.loss[order]
        ends = np.append(np.flatnonzero(np.diff(score)), len(score) - 1)
        risk = np.cumsum(loss)[ends] / (ends + 1)
        if cell.limit == "missed":
            right = np.cumsum(1 - loss)
            risk = 1 - right[ends] / right[-1]
        good = np.flatnonzero(risk <= cell.alpha)
        if len(good):
            yield which, float(score[ends[good[0 if cell.limit == "missed" else -1]]])


def mapie(cell: Cell, draw: Draw) -> float | None:
    """Return MAPIE's threshold for the same scores and labels, by its best procedure here; None if none."""
    from mapie.risk_control import BinaryClassificationController
    from mapie.risk_control.fwer_control import FWERFixedSequenceTesting

    # Accepting is predicting 1, and the rate of errors among the accepted is 1 - precision.
    missed, grid = cell.limit == "missed", np.linspace(0, 0.99, 100)
    controller = BinaryClassificationController(
        predict_function=lambda score: np.column_stack([1 - score.ravel(), score.ravel()]),
        risk="recall" if missed else "precision",
        target_level=1 - cell.alpha,
        confidence_level=1 - DELTA,
        best_predict_param_choice="precision" if missed else "recall",
        list_predict_params=grid if missed else grid[::-1],
        fwer_method=FWERFixedSequenceTesting(n_starts=1 if missed else 5),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        controller.calibrate(draw.score[:, None], (1 - draw.loss).astype(int))
    best = controller.best_predict_param
    return None if best is None else float(best)


class Count:
    """Counts of the samples of a cell."""

    def __init__(self) -> None:
        self.samples = self.false = self.found = 0
        self.kept: list[float] = []

    def add(self, cell: Cell, known: dict[str, Truth], chosen: list[tuple[str, float]]) -> None:
        """Add the thresholds of a sample."""
        at = [known[which].at(threshold) for which, threshold in chosen]
        self.samples += 1
        self.false += any(risk > cell.alpha for risk, _ in at)
        self.found += bool(at)
        missed = cell.limit == "missed"
        kept = sum(1 - part if missed else part for _, part in at) / max(1, cell.groups)
        self.kept.append(min(1.0, kept))

    def texts(self, best: float) -> list[str]:
        """Return false guarantees and the proportion decided, relative to the best possible."""
        if not self.samples:
            return ["", ""]
        relative = f"{100 * np.mean(self.kept) / best:.0f}" if best > 0 else "-"
        return [f"{100 * self.false / self.samples:.1f}", relative]


def measured(cell: Cell, known: dict[str, Truth], samples: int, peer_samples: int = 0) -> list[Count]:
    """Return the counts of calibrant, of the curve, and of MAPIE."""
    rng = np.random.default_rng(0)
    counts = [Count(), Count(), Count()]
    for number in range(samples):
        draw = sample(cell, cell.n, rng)
        rows = [row for row in ours(cell, draw) if row.threshold is not None]
        signs = {"accept": 1.0, "refuse": -1.0}
        chosen = [(row.decision, signs[row.decision] * float(row.threshold or 0)) for row in rows]
        counts[0].add(cell, known, chosen)
        if not cell.groups:
            counts[1].add(cell, known, list(naive(cell, draw)))
        if number < peer_samples and comparable(cell):
            threshold = mapie(cell, draw)
            counts[2].add(cell, known, [] if threshold is None else [("accept", threshold)])
    return counts


def comparable(cell: Cell) -> bool:
    """Return whether MAPIE has a controller of this risk; it takes every item for independent."""
    return cell.limit in ("errors", "missed") and not cell.groups


def row_of(cell: Cell, samples: int, peer_samples: int) -> str:
    """Return the row of a cell."""
    known = truth(cell)
    counts, best = measured(cell, known, samples, peer_samples), oracle(cell, known)
    limit = cell.limit + (f", {cell.groups} groups" if cell.groups else "")
    first, curve, peer = (count.texts(best) for count in counts)
    got = f"{100 * counts[0].found / samples:.0f}"
    cells = [cell.kind, cell.cluster or "-", f"{cell.n:,}", f"{100 * cell.alpha:g}", limit]
    return " | ".join([*cells, first[0], got, first[1], f"{100 * best:.0f}", *curve, *peer])


def table(title: str, cells: list[Cell], samples: int, peer_samples: int) -> str:
    """Return a table of cells in Markdown."""
    heads = (
        "risk by score | clusters | labels | alpha | limit | false | found | decided | best | curve: false | "
    )
    heads += "decided | MAPIE: false | decided"
    lines = [heads, "|".join(["---"] * 2 + ["---:"] * 2 + ["---"] + ["---:"] * 8)]
    for cell in cells:
        lines.append(row_of(cell, samples, peer_samples))
        print(lines[-1], flush=True)
    return "\n".join([f"## {title}\n", *(f"| {line} |" for line in lines), ""])


MONOTONE = ("calibrated", "overconfident", "non-monotone", "at the limit", "all far below", "tied")
QUICK = (
    Cell("calibrated", 300),
    Cell("at the limit", 100),
    Cell("tied", 300),
    Cell("at the limit", 200, cluster="equal, 5"),
    Cell("at the limit", 100, limit="graded"),
    Cell("calibrated", 300, limit="missed"),
)


def cells() -> dict[str, list[Cell]]:
    """Return the situations by heading."""
    usual = [Cell(kind, n) for kind in MONOTONE for n in (30, 100, 300, 1000)]
    usual += [Cell(kind, 10_000) for kind in ("calibrated", "non-monotone", "at the limit")]
    rare = [Cell("rare errors", n, alpha) for alpha in (0.01, 0.005) for n in (300, 1000, 10_000)]
    clusters = [
        Cell(kind, n, cluster=cluster)
        for cluster in SIZES
        for kind in ("calibrated", "at the limit", "all far below")
        for n in (100, 1000)
    ]
    clusters += [Cell("calibrated", 10_000, cluster=cluster) for cluster in ("equal, 20", "unequal")]
    graded = [Cell(kind, n, limit="graded") for kind in MONOTONE[:4] for n in (100, 1000)]
    graded += [Cell("calibrated", n, limit="graded", cluster="equal, 5") for n in (300, 1000)]
    missed = [Cell(kind, n, limit="missed") for kind in ("calibrated", "tied") for n in (30, 100, 1000)]
    missed += [Cell("calibrated", n, limit="missed", cluster="equal, 5") for n in (100, 1000)]
    sides = [Cell(kind, n, limit="two-sided") for kind in ("both sides",) for n in (100, 1000, 10_000)]
    groups = [
        Cell(kind, n, groups=number)
        for kind in ("calibrated", "at the limit")
        for number in (3, 10)
        for n in (300, 3000)
    ]
    return {
        "Independent items": usual,
        "Rare errors": rare,
        "Clusters": clusters,
        "Graded losses": graded,
        "Missed positives": missed,
        "Accept, refuse, ask a person": sides,
        "Groups": groups,
    }


def page(samples: int) -> str:
    """Return the page."""
    peer_samples = min(samples, PEER_SAMPLES) if find_spec("mapie") else 0
    error = 100 * np.sqrt(DELTA * (1 - DELTA) / samples)
    head = f"""# False guarantees of thresholds

How often a threshold of [`calibrant threshold --risk`](../guide/evaluate.md#a-threshold-with-a-guarantee) is
worse than promised: {samples:,} samples per cell, delta = {100 * DELTA:g} % (Monte Carlo standard error
{error:.1f} points). All numbers but the labels are percentages.

- *risk by score*: how the probability of an error depends on the score, which is uniform on [0, 1]. *At the
  limit*: it is 10.01 % for every item, so every threshold is a false guarantee. *Tied*: eight scores.
- *clusters*: their sizes. A fourth of the clusters has four times the errors, and the others have none.
  *Shared score*: ten items of one score. *Unequal*: 2 to 30 items, 8 on average, also if longer ones have
  more errors.
- *false*: samples with a threshold whose true risk is above alpha, of any group or side; at most delta is
  promised.
- *found*: samples with a threshold. *Decided*: items that the threshold decides, relative to those of the
  *best* threshold, which is known only in a simulation.
- *curve*: the threshold read off the curve of the same labels: the last one with an observed rate of at most
  alpha.
- *MAPIE*: `BinaryClassificationController` of MAPIE 1.6.0 on the first {peer_samples} of the same samples, by
  fixed-sequence testing (for errors from five starts, the strictest threshold first), which decides more than
  its default. It takes items for independent, also in clusters.

No cell has more false guarantees than promised. MAPIE keeps delta for independent items. It decides fewer
items in most cells, and more in the non-monotone ones, where one of its starts is at the best threshold.
In clusters it exceeds delta up to threefold. There calibrant needs several times as many labels, since it
allows for clusters whose items are all accepted and all wrong.

`$(scripts/bench-venv.sh)/bin/python scripts/threshold_coverage.py` writes this page.
"""
    parts = [table(title, some, samples, peer_samples) for title, some in cells().items()]
    return "\n".join([head, *parts])


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    TARGET.write_text(page(number), encoding="utf-8")
