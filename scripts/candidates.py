"""Measure size and coverage of the test of candidates, and compare it with published results.

python scripts/candidates.py [SAMPLES]     writes docs/studies/candidates.md

1,000 samples per cell, seed 0. The comparison needs the data set model-annotators in CALIBRANT_DATA.
"""

from __future__ import annotations

import csv
import gzip
import math
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from calibrant.evaluation import (
    CandidateComparison,
    CandidateTest,
    Ratings,
    adjusted_p_values,
    candidate_test,
)
from calibrant.exceptions import InputError
from calibrant.records import Quantity

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "candidates.md"
SAMPLES = 1000
MANY = 300_000  # items from which the candidate at the margin is computed

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Generator = np.random.Generator


@dataclass(frozen=True)
class Cell:
    """A population, with a candidate whose true difference to each annotator is the margin.

    Attributes
    ----------
    annotators, items
        Their numbers.
    size
        Items per cluster; 1 for independent items, 0 for log-normal sizes with mean 8.
    margin
        Margin of the test.
    right
        Probability that an annotator gives an item's true label; of grades, the standard deviation of errors.
    kind
        ``categories`` (four, of unequal frequency), ``preferences`` (two and a tie) or ``grades`` (1 to 5).
    missing
        Probability that an annotator did not label an item.
    shared
        Correlation of errors in a cluster.
    worse
        Annotators who are wrong on every second item, so that the candidate truly wins against them.
    """

    annotators: int
    items: int
    size: int
    margin: float
    right: float
    kind: str = "categories"
    missing: float = 0.0
    shared: float = 0.3
    worse: int = 0


CELLS = (
    Cell(3, 30, 1, 0.2, 0.65),
    Cell(3, 30, 1, 0.15, 0.95),
    Cell(3, 80, 1, 0.1, 0.98),
    Cell(7, 50, 1, 0.1, 0.65, missing=0.2),
    Cell(4, 150, 1, 0.2, 0.8, "preferences"),
    Cell(13, 150, 1, 0.1, 0.7),
    Cell(5, 250, 1, 0.15, 0.8, "grades"),
    Cell(13, 500, 1, 0.2, 0.85, missing=0.4),
    Cell(3, 30, 5, 0.15, 0.7),
    Cell(3, 80, 5, 0.1, 0.85),
    Cell(4, 150, 5, 0.1, 0.65, "preferences"),
    Cell(7, 150, 5, 0.15, 0.7, missing=0.2),
    Cell(3, 250, 5, 0.1, 0.8, "grades"),
    Cell(13, 250, 5, 0.15, 0.85, missing=0.4),
    Cell(3, 400, 5, 0.1, 0.95),
    Cell(3, 80, 20, 0.15, 0.8),
    Cell(3, 150, 20, 0.1, 0.85),
    Cell(4, 150, 20, 0.15, 0.8, "grades", missing=0.2),
    Cell(7, 250, 20, 0.2, 0.8, "preferences"),
    Cell(9, 400, 20, 0.1, 0.7, missing=0.2),
    Cell(13, 400, 20, 0.1, 0.65),
    Cell(3, 400, 20, 0.15, 0.85, shared=0.5),
    Cell(5, 500, 20, 0.2, 0.8, "grades", shared=0.5),
    Cell(3, 150, 0, 0.15, 0.7),
    Cell(7, 250, 0, 0.1, 0.85, missing=0.2),
    Cell(9, 400, 0, 0.2, 0.65, "preferences"),
    Cell(6, 150, 1, 0.1, 0.8, worse=2),
    Cell(12, 400, 1, 0.1, 0.8, worse=5),
    Cell(6, 250, 12, 0.15, 0.8, worse=2),
    Cell(12, 400, 12, 0.1, 0.8, worse=5),
)
"""None of them was used to choose the method."""


def uniform(rng: Generator, cluster: Integers, shared: float) -> Floats:
    """Uniform numbers of items; with the root of the probability, an item has that of its cluster."""
    own, common = rng.random(len(cluster)), rng.random(int(cluster.max()) + 1)[cluster]
    return np.where(rng.random(len(cluster)) < math.sqrt(shared), common, own)


def normal(rng: Generator, cluster: Integers, shared: float) -> Floats:
    """Normal numbers of items, correlated in clusters."""
    common = rng.standard_normal(int(cluster.max()) + 1)[cluster]
    return math.sqrt(shared) * common + math.sqrt(1 - shared) * rng.standard_normal(len(cluster))


def clusters_of(rng: Generator, cell: Cell, items: int) -> Integers:
    """Cluster of each item."""
    if cell.size:
        return np.arange(items) // cell.size
    sizes = np.maximum(1, np.exp(rng.normal(0, 1, items) - 0.5) * 8).astype(np.int64)
    return np.repeat(np.arange(items), sizes)[:items]


def drawn(rng: Generator, cell: Cell, cluster: Integers, quality: float) -> tuple[Integers, Integers]:
    """Labels of annotators (annotators, items), -1 where missing, and of a candidate of a quality."""
    items = len(cluster)
    if cell.kind == "grades":
        true = 3 + 1.2 * normal(rng, cluster, cell.shared)

        def graded(shift: float) -> Integers:
            noisy = true + shift + cell.right * normal(rng, cluster, cell.shared)
            return np.clip(np.round(noisy), 1, 5).astype(np.int64) - 1

        labels = np.array([graded(0.0) for _ in range(cell.annotators)])
        candidate = graded(quality)
    else:
        often = [0.45, 0.4, 0.15] if cell.kind == "preferences" else [0.4, 0.3, 0.2, 0.1]
        kinds = len(often)
        gold = np.searchsorted(np.cumsum(often)[:-1], uniform(rng, cluster, cell.shared))

        def named(right: float) -> Integers:
            other = (gold + 1 + (uniform(rng, cluster, cell.shared) * (kinds - 1)).astype(np.int64)) % kinds
            return np.where(uniform(rng, cluster, cell.shared) < right, gold, other)

        rates = [0.5 if place < cell.worse else cell.right for place in range(cell.annotators)]
        labels = np.array([named(rate) for rate in rates])
        candidate = named(quality)
    labels[rng.random((cell.annotators, items)) < cell.missing] = -1
    return labels, candidate


def ratings_of(labels: Integers, candidate: Integers, kinds: int = 5) -> Ratings:
    """Ratings of annotators 0, 1, ... and of the candidate."""
    item, annotator = np.nonzero(np.vstack([labels, candidate]).T >= 0)
    names = (*map(str, range(len(labels))), "candidate")
    items = tuple(map(str, range(labels.shape[1])))
    value = np.vstack([labels, candidate]).T[item, annotator]
    return Ratings(item, annotator, value, items, names, tuple(map(str, range(1, kinds + 1))))


@cache
def at_the_margin(cell: Cell) -> tuple[float, float]:
    """Return the quality of the candidate, and its mean advantage, from many independent items."""

    def differences(quality: float) -> CandidateTest:
        rng = np.random.default_rng(1)
        labels, candidate = drawn(rng, cell, np.arange(MANY), quality)
        return tested(cell, labels, candidate, None)

    def last(quality: float) -> float:
        rows = differences(quality).by_annotator[cell.worse :]
        return float(np.mean([float(row.difference) for row in rows]))

    if cell.kind == "grades":  # a shift, by bisection
        low, high = 0.0, 3.0
        for _ in range(18):
            middle = (low + high) / 2
            low, high = (low, middle) if last(middle) > cell.margin else (middle, high)
        quality = low
    else:  # the difference is linear in the probability of being right
        none, always = last(0.0), last(1.0)
        quality = (none - cell.margin) / (none - always)
        assert 0 <= quality <= 1, f"no candidate is at the margin of {cell}"
    return quality, float(differences(quality).candidates[0].advantage)


def tested(cell: Cell, labels: Integers, candidate: Integers, cluster: Integers | None) -> CandidateTest:
    """Test a candidate."""
    distance = "interval" if cell.kind == "grades" else "nominal"
    ratings = ratings_of(labels, candidate)
    return candidate_test(ratings, "candidate", margin=cell.margin, distance=distance, clusters=cluster)


def published_p_value(row: CandidateComparison, margin: float) -> float:
    """The t-test of the paper, from the counts of an annotator."""
    items = row.items
    above, below = 1 - (row.candidate_advantage or 0.0), 1 - (row.annotator_advantage or 0.0)
    mean = above - below
    variance = (above + below - mean**2) * items / (items - 1)
    if variance <= 1e-12:
        return 0.0 if mean < margin else 1.0
    return float(stdtr(items - 1, (mean - margin) / math.sqrt(variance / items)))


@dataclass(frozen=True)
class Measured:
    """Percentages of samples: false passes of both methods, size of single tests, and coverage."""

    cell: Cell
    samples: int
    t_test_single: float
    t_test_passes: float
    single: float
    any_win: float
    passes: float
    covers: float
    advantage_covers: float
    warned: float


def measure(cell: Cell, samples: int, seed: int = 0) -> Measured:
    """Simulate a cell."""
    quality, advantage = at_the_margin(cell)
    rng = np.random.default_rng([seed, cell.annotators, cell.items, cell.size])
    counts, rows, used = np.zeros(8), 0, 0
    for _ in range(samples):
        cluster = clusters_of(rng, cell, cell.items)
        labels, candidate = drawn(rng, cell, cluster, quality)
        try:
            test = tested(cell, labels, candidate, None if cell.size == 1 else cluster)
        except InputError:  # fewer than three annotators with 30 items
            continue
        used += 1
        known = [row for row in test.by_annotator if row.adjusted_p_value is not None]
        equal = [row for row in known if int(row.annotator) >= cell.worse]
        rows += len(equal)
        old = [published_p_value(row, cell.margin) for row in known]
        by = adjusted_p_values(old, "benjamini-yekutieli")
        old_wins = sum(p is not None and p <= 0.05 for p in by)
        counts[0] += sum(published_p_value(row, cell.margin) <= 0.05 for row in equal)
        counts[1] += bool(known) and 2 * old_wins >= len(known)
        counts[2] += sum(row.p_value is not None and row.p_value <= 0.05 for row in equal)
        counts[3] += any(row.verdict == "wins" for row in equal)
        counts[4] += test.candidates[0].verdict == "passes"
        counts[5] += sum(covered(row.difference, cell.margin) for row in equal)
        counts[6] += covered(test.candidates[0].advantage, advantage)
        counts[7] += test.candidates[0].advantage.warning is not None
    per = np.array([rows, used, rows, used, used, rows, used, used])
    percent = (100 * counts / np.maximum(per, 1)).tolist()
    return Measured(cell, used, *percent)


def covered(quantity: Quantity, truth: float) -> bool:
    """Tell if an interval contains the truth."""
    low, high = quantity.low, quantity.high
    return low is not None and high is not None and low <= truth <= high


# Published results: the notebook of github.com/nitaytech/AltTest, commit 18428b1.
MODELS = ("gemini_flash", "gemini_pro", "gpt-4o", "llama-31", "gpt-4o-mini", "mistral-v03")
PUBLISHED = {
    "wax": ((0.38, 0.69), (0.50, 0.74), (0.50, 0.73), (0.00, 0.57), (0.00, 0.59), (0.00, 0.50)),
    "lgbteen": ((0.25, 0.71), (0.00, 0.67), (0.75, 0.77), (0.00, 0.72), (0.75, 0.76), (0.25, 0.75)),
    "mtbench": ((0.00, 0.72), (0.00, 0.76), (0.00, 0.77), (0.00, 0.69), (0.00, 0.74), (0.00, 0.68)),
    "framing": ((1.00, 0.83), (1.00, 0.91), (1.00, 0.92), (0.50, 0.80), (1.00, 0.87), (0.25, 0.80)),
    "summeval": ((0.00, 0.46), (0.00, 0.44), (0.00, 0.48), (0.00, 0.58), (0.00, 0.54), (0.00, 0.62)),
    "cebab_stars": ((0.60, 0.82), (0.80, 0.87), (0.90, 0.90), (0.60, 0.85), (0.90, 0.89), (0.50, 0.83)),
}
MARGINS = {"wax": 0.1, "lgbteen": 0.2, "mtbench": 0.2, "framing": 0.15, "summeval": 0.2, "cebab_stars": 0.1}
GRADES = ("summeval", "cebab_stars")
CLUSTERS = {
    "wax": "cue word",
    "lgbteen": "post",
    "mtbench": "question",
    "framing": "article",
    "summeval": "source text",
    "cebab_stars": "original review",
}


def task_tests(folder: Path, task: str) -> tuple[CandidateTest, CandidateTest]:
    """Test the six models of a task, without and with clusters."""
    with gzip.open(folder / "model-annotators" / f"{task}.tsv.gz", "rt", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    columns = [[row[name] for row in rows] for name in ("item", "annotator", "label")]
    ratings = Ratings.from_table(*columns)
    groups = [name.split("__")[0] for name in ratings.items]
    if task == "cebab_stars":  # edited versions of one review share all digits but the last six
        groups = [name[:-6] for name in groups]
    distance = "interval" if task in GRADES else "nominal"
    margin = MARGINS[task]
    without = candidate_test(ratings, MODELS, margin=margin, distance=distance)
    return without, candidate_test(ratings, MODELS, margin=margin, distance=distance, clusters=groups)


def compared(folder: Path) -> Iterator[str]:
    """Lines of the table of published results."""
    for task, published in PUBLISHED.items():
        without, within = task_tests(folder, task)
        pairs = zip(MODELS, published, without.candidates, within.candidates, strict=True)
        for model, (rate, advantage), plain, clustered in pairs:
            interval = f"[{clustered.advantage.low:.2f}, {clustered.advantage.high:.2f}]"
            needed = "-" if clustered.needed is None else f"{clustered.needed:,}"
            yield (
                f"| {task} | {model} | {rate:.2f} | {advantage:.2f} | {plain.winning_rate:.2f} | "
                f"{float(plain.advantage):.2f} | {clustered.winning_rate:.2f} | {interval} | {needed} |"
            )


def simulated(results: Sequence[Measured]) -> Iterator[str]:
    """Lines of the table of simulations."""
    for row in results:
        cell = row.cell
        size = {1: "-", 0: "unequal"}.get(cell.size, str(cell.size))
        data = f"{cell.kind}, {cell.right:g}" + (f", {cell.missing:.0%} missing" if cell.missing else "")
        data += f", correlation {cell.shared:g}" if cell.shared != 0.3 else ""
        data += f", {cell.worse} worse" if cell.worse else ""
        yield (
            f"| {cell.annotators} | {cell.items} | {size} | {cell.margin:g} | {data} | "
            f"{row.t_test_single:.1f} | {row.t_test_passes:.1f} | {row.single:.1f} | {row.passes:.1f} | "
            f"{row.covers:.1f} | {row.advantage_covers:.1f} | {row.warned:.0f} |"
        )


HEAD = """# May a model take an annotator's place?

[`calibrant agree --candidate`](../guide/evaluate.md#may-a-model-take-an-annotators-place) is the
alternative annotator test of Calderon, Reichart and Dror (2025) with another test of each annotator.
This page compares it with their published results, and measures by simulation how often candidates pass
that should not. `python scripts/candidates.py` writes the page.

## Published results

The data are six tasks of [github.com/nitaytech/AltTest](https://github.com/nitaytech/AltTest) (commit
18428b1), and the published numbers are those that its notebook prints. Each table has one row per label
of its files `human_annotations.json` and `llm_annotations.json`: item, annotator, label, and for the
last columns the group of the item. The commands have one `--candidate` per model:

```text
calibrant agree wax.csv --margin 0.1 --candidate gemini_flash --candidate gemini_pro ... [--cluster group]
calibrant agree lgbteen.csv --margin 0.2 --candidate ...
calibrant agree mtbench.csv --margin 0.2 --candidate ...
calibrant agree framing.csv --margin 0.15 --candidate ...
calibrant agree summeval.csv --margin 0.2 --distance interval --candidate ...
calibrant agree cebab_stars.csv --margin 0.1 --distance interval --candidate ...
```

Clusters are the cue word (wax), the post (lgbteen), the question (mtbench), the article (framing), the
source text (summeval) and the original review (cebab_stars). The table has the published winning rate
(*rate*) and mean advantage, then those of calibrant without clusters, and with clusters the winning
rate, the interval of the mean advantage, and the items per annotator with which the model would pass.
These are for a probability of 80 %, so a model can pass with fewer.

| task | model | published rate | advantage | rate | advantage | rate, clusters | 95 % interval | needed |
|---|---|---:|---:|---:|---:|---:|---|---:|
"""

BETWEEN = """
All 36 winning rates and advantages without clusters are the published ones, though two things differ:

- The notebook has a t-test of each annotator, and calibrant a score test (Tango 1998). They decide alike
  on these data. If ties are frequent, the t-test rejects too often; with ties on all items it has no
  variance and a p-value of 0, for any number of items.
- The notebook compares root mean squares of grades as floating-point numbers. calibrant takes
  differences of rounding for ties.

With clusters, results on lgbteen change. Its 880 items are 10 questions about 4 answers to each of 22
posts. As if items were independent, `gpt-4o-mini` wins against three of four annotators and passes; with
posts as clusters it wins against none, and would need about 1,350 items per annotator. `gpt-4o` passes
in both cases.

## Simulations

The candidate's true difference to each annotator is the margin, so that it should not win. The columns
are percentages of SAMPLES samples (standard error 0.7 points at 5 %): *single*, a test of one annotator
rejects at a level of 5 %; *passes*, the candidate passes. Both are given for the t-test of the paper,
which takes items as independent, and for calibrant. *Cover* and *mean* are the coverage of the 95 % intervals
of the difference and of the mean advantage, and *warned* counts warnings of the latter. None of the rows
was used to choose the methods.

The candidate passes in up to MOST_T % of samples by the t-test, and in at most MOST % by calibrant. The
interval of the mean advantage covers less than 93 % in BELOW rows, where WARNED of the samples have a
warning.

| people | items | cluster | margin | data | t single | t passes | single | passes | cover | mean | warned |
|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|
"""

FOOT = """
*Data*: the kind of labels and the probability that an annotator gives the true label (of grades: the
standard deviation of errors, where that of the true grades is 1.2). *Categories* are four of unequal
frequency. *Preferences* are two and a tie, compared as categories. In a cluster, true labels, errors and
wrong labels have a correlation of 0.3, unless another one is given. *Unequal* clusters have log-normal
sizes with mean 8. Annotators who are *worse* give the true label with probability 0.5. The candidate
truly wins against them; they are fewer than half, so it should not pass either.

"""


def page(simulations: Sequence[str], published: Sequence[str], samples: int) -> str:
    """Return the page."""
    numbers = [[float(cell) for cell in line.strip("|").split("|")[-7:]] for line in simulations]
    below = [row for row in numbers if row[5] < 93]
    between = BETWEEN.replace("SAMPLES", f"{samples:,}")
    between = between.replace("MOST_T", f"{max(row[1] for row in numbers)}")
    between = between.replace("MOST", f"{max(row[3] for row in numbers)}")
    least = min((row[6] for row in below), default=100.0)
    warned = "all" if least == 100 else f"at least {least:.0f} %"
    between = between.replace("BELOW", f"{len(below)}").replace("WARNED", warned)
    return HEAD + "\n".join(published) + "\n" + between + "\n".join(simulations) + "\n" + FOOT


if __name__ == "__main__":
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    lines: list[str] = []
    for cell in CELLS:
        lines += simulated([measure(cell, samples)])
        print(lines[-1], flush=True)
    published = list(compared(Path(os.environ["CALIBRANT_DATA"])))
    TARGET.write_text(page(lines, published, samples), encoding="utf-8")
