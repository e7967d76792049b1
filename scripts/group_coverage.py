"""Measure the coverage of estimates of classes, grades, groups, differences and trends, for the guide.

python scripts/group_coverage.py [CORPORA [SEED]]     writes docs/studies/group_coverage.md

Corpora of 6,000 documents, of which some are labeled; 140 corpora per cell, seed 0. Intervals are kept in
build/group_coverage/SEED.jsonl, from where a later run continues; delete the file after a change of the
estimates.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from calibrant.estimation import (
    CorrectedCounts,
    Groups,
    class_scores,
    corrected_classes,
    corrected_counts,
    corrected_means,
)

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "studies" / "group_coverage.md"
STORE = ROOT / "build" / "group_coverage"
PROCESSES = 2
BATCH = 20  # corpora of a job
BAR, HALF = 0.93, 0.5
DOCUMENTS = 6000
CORPORA = 140
GROUPS = 8
COMPARED: dict[str, Any] = {"methods": ["labels", "ppi++"], "compare": True}
Z = 1.959964
PREDICTIONS = ("good", "useless", "biased in two groups")
Floats = NDArray[np.float64]
Hits = dict[str, list[tuple[float, float, float]]]  # covered, width, warned
Place = tuple[str, ...]  # settings of a cell


def new_hits() -> Hits:
    """Return an empty count of intervals."""
    return defaultdict(list)


@dataclass
class Corpus:
    """Documents of 8 groups, and which of them have a label."""

    truth: Floats
    score: Floats
    group: NDArray[np.int64]
    rows: NDArray[np.int64]
    given: dict[str, Any] = field(default_factory=dict)

    def means(self, weight: Floats | None = None) -> Floats:
        """Return the true mean of each group, and of all documents."""
        weight = np.ones(len(self.truth)) if weight is None else weight
        size = np.bincount(self.group, weight)
        total = np.bincount(self.group, weight * self.truth)
        return np.append(total / size, total.sum() / size.sum())


def binary(share: float, predictions: str, labels: int, clustered: bool, rng: np.random.Generator) -> Corpus:
    """Labels 0 and 1 whose log-odds differ between groups, and with clusters between clusters."""
    group = rng.integers(0, GROUPS, DOCUMENTS)
    cluster = rng.integers(0, 600, DOCUMENTS)
    effect = rng.normal(0, 1, 600)[cluster] if clustered else 0.0
    middle = {0.5: 0.0, 0.3: -1.2, 0.1: -3.1, 0.02: -5.6, 0.005: -7.6}[share]
    z = rng.normal(middle, 2, DOCUMENTS) + rng.normal(0, 0.3, GROUPS)[group]
    truth = (rng.random(DOCUMENTS) < expit(z + effect)).astype(float)
    score = expit(z + 0.7)
    if predictions == "useless":
        score = rng.random(DOCUMENTS)
    if predictions == "biased in two groups":
        score = np.where(group < 2, rng.permutation(score), score)
    if not clustered:
        return Corpus(truth, score, group, rng.choice(DOCUMENTS, labels, replace=False))
    chosen = rng.choice(600, labels // 10, replace=False)
    rows = np.flatnonzero(np.isin(cluster, chosen))
    return Corpus(truth, score, group, rows, {"clusters": cluster[rows]})


def graded(kind: str, predictions: str, labels: int, rng: np.random.Generator) -> Corpus:
    """Grades from 1 to 5, or skewed numbers from 0 to 1."""
    found = binary(0.5, predictions, labels, False, rng)
    if kind == "grades 1 to 5":
        found.truth = np.clip(np.round(rng.normal(3 + 0.2 * (found.group % 3), 1.2)), 1, 5)
    else:
        found.truth = rng.beta(0.4, 4, DOCUMENTS)
    if predictions != "useless":
        noise = rng.normal(0.3, 0.7, DOCUMENTS) * found.truth.std()
        found.score = found.truth + noise
    if predictions == "biased in two groups":
        found.score = np.where(found.group < 2, rng.permutation(found.score), found.score)
    return found


def add(hits: Hits, name: str, ends: Any, aim: float, warned: bool) -> None:
    """Count an interval; one without ends is counted as missing."""
    if ends.low is None or ends.high is None:
        hits[name].append((np.nan, np.nan, float(warned)))
        return
    inside = ends.low - 1e-12 <= aim <= ends.high + 1e-12
    hits[name].append((float(inside), ends.high - ends.low, float(warned)))


def count(hits: Hits, found: CorrectedCounts, means: Floats) -> None:
    """Count the intervals of a result."""
    for one in found.estimates:
        place = GROUPS if one.period == "all" else int(one.period)
        what = "total" if one.period == "all" else "group"
        warned = any((one.few_warning, one.clusters_warning, one.dominant_warning))
        add(hits, f"{what} {one.method}", one.share, float(means[place]), warned)
    joint, of = True, [one for one in found.differences if one.method == "ppi++"]
    for each in of:
        aim = float(means[int(each.first)] - means[int(each.second)])
        add(hits, "difference", each.difference, aim, False)
        ends = each.simultaneous or each.difference
        joint = joint and ends.low is not None and ends.high is not None and ends.low <= aim <= ends.high
    if of:
        hits["all differences"].append((float(joint), np.nan, 0.0))
    for line in found.trends:
        rows = [one for one in found.estimates if one.method == line.method and one.period != "all"]
        known = [int(one.period) for one in rows if one.share.low is not None]
        aim = float(np.polyfit(known, means[known], 1)[0])
        if line.method == "ppi++":
            add(hits, "trend", line.slope, aim, False)


def published(hits: Hits, corpus: Corpus, means: Floats) -> None:
    """Count the normal interval of PPI++ of each group with its own weight, as ppi_py computes it."""
    for number in range(GROUPS):
        own = corpus.rows[corpus.group[corpus.rows] == number]
        rest = corpus.score[corpus.group == number]
        if len(own) < 2:
            continue
        y, f = corpus.truth[own], corpus.score[own]
        weight = float(np.clip(np.cov(y, f)[0, 1] / ((1 + len(own) / len(rest)) * rest.var(ddof=1)), 0, 1))
        mean = weight * rest.mean() + (y - weight * f).mean()
        half = Z * np.sqrt((y - weight * f).var() / len(own) + weight**2 * rest.var() / len(rest))
        hits["published"].append((float(abs(mean - means[number]) <= half), 2 * half, 0.0))


def by_time(corpus: Corpus) -> Groups:
    """Return the groups as periods."""
    names = tuple(map(str, range(GROUPS)))
    return Groups(names, corpus.group, tuple(range(GROUPS)), ("",) * GROUPS)


def shown(values: list[tuple[float, float, float]], scale: float = 1.0) -> str:
    """Coverage in percent, mean width, and how many have a warning."""
    of = np.array(values)
    known = of[~np.isnan(of[:, 0])]
    if not len(known):
        return "-"
    text = f"{100 * known[:, 0].mean():.1f}"
    if not np.isnan(known[:, 1]).all():
        text += f" ({scale * known[:, 1].mean():.3f})"
    warned = known[:, 2].mean()
    return text + (f" *w {100 * warned:.0f}*" if warned >= 0.005 else "")


def table(title: str, heads: list[str], columns: list[str], cells: list[tuple[list[str], Hits]]) -> str:
    """One row per cell."""
    lines = [
        title,
        "",
        f"| {' | '.join([*heads, *columns])} |",
        "|" + "---|" * len(heads) + "---:|" * len(columns),
    ]
    for place, hits in cells:
        values = [shown(hits[name]) if name in hits else "-" for name in columns]
        lines.append(f"| {' | '.join([*place, *values])} |")
    return "\n".join(lines) + "\n"


def binary_corpus(hits: Hits, place: Place, rng: np.random.Generator, *, clustered: bool = False) -> None:
    """Count the intervals of one corpus with binary labels."""
    share, predictions, labels = place
    one = binary(float(share) / 100, predictions, int(labels), clustered, rng)
    truth, given = one.truth[one.rows], {**COMPARED, **one.given}
    count(hits, corrected_counts(one.score, one.rows, truth, periods=by_time(one), **given), one.means())
    published(hits, one, one.means())


def clustered_corpus(hits: Hits, place: Place, rng: np.random.Generator) -> None:
    """Count the intervals of one corpus whose labels are those of some clusters."""
    binary_corpus(hits, place, rng, clustered=True)


def graded_corpus(hits: Hits, place: Place, rng: np.random.Generator) -> None:
    """Count the intervals of one corpus with grades."""
    kind, predictions, labels = place
    one = graded(kind, predictions, int(labels), rng)
    ends, truth = (1, 5) if kind.startswith("grades") else (0, 1), one.truth[one.rows]
    found = corrected_means(one.score, one.rows, truth, label_range=ends, periods=by_time(one), **COMPARED)
    count(hits, found, one.means())
    published(hits, one, one.means())


def weighted_corpus(hits: Hits, place: Place, rng: np.random.Generator) -> None:
    """Count the intervals of one corpus with survey weights, whose coefficient of variation is 0.7."""
    share, predictions, labels = place
    one = binary(float(share) / 100, predictions, int(labels), False, rng)
    weight, truth = rng.gamma(2, 0.5, DOCUMENTS), one.truth[one.rows]
    given = {"weights": weight, "periods": by_time(one), **COMPARED}
    count(hits, corrected_means(one.score, one.rows, truth, **given), one.means(weight))


def weighted_grades_corpus(hits: Hits, place: Place, rng: np.random.Generator) -> None:
    """Count the intervals of one corpus with grades from 1 to 5 and survey weights."""
    predictions, labels = place
    one = graded("grades 1 to 5", predictions, int(labels), rng)
    weight, truth = rng.gamma(2, 0.5, DOCUMENTS), one.truth[one.rows]
    given = {"weights": weight, "periods": by_time(one), "label_range": (1, 5), **COMPARED}
    count(hits, corrected_means(one.score, one.rows, truth, **given), one.means(weight))


def class_corpus(hits: Hits, place: Place, rng: np.random.Generator) -> None:
    """Count the intervals of four classes, of which one is rare."""
    rare, right, labels = (float(one) for one in place)
    truth = rng.choice(4, DOCUMENTS, p=[0.5, 0.3, 0.2 - rare / 100, rare / 100])
    model = np.where(rng.random(DOCUMENTS) < right / 100, truth, rng.choice(4, DOCUMENTS))
    rows = rng.choice(DOCUMENTS, int(labels), replace=False)
    found = corrected_classes(class_scores(model, 4), rows, truth[rows], list("abcd"), methods="ppi++")
    joint = True
    for number, one in enumerate(found.estimates):
        aim, name = float(np.mean(truth == number)), "rare class" if number == 3 else "other classes"
        add(hits, name, one.share, aim, bool(one.few_warning))
        ends = one.simultaneous
        low, high = (None, None) if ends is None else (ends.low, ends.high)
        joint = joint and low is not None and high is not None and low <= aim <= high
    hits["all classes"].append((float(joint), np.nan, 0.0))


LEAD = """# Coverage of groups, differences, trends, classes and grades

Coverage in percent of 95 % intervals and, in parentheses, their mean width, over {corpora} corpora
of {documents:,} documents in {groups} groups per cell (`scripts/group_coverage.py`). The labels are
those of all groups together, so 200 labels are 25 per group. *w 30*: 30 % of the intervals have a
warning (of few labels or clusters, or of labels near an end of their range). *published*: the
normal interval of PPI++ (Angelopoulos et al. 2023) with each group's own weight, as ppi_py computes
it. *all differences*: how often all simultaneous intervals of consecutive groups contain the
differences. The model's predictions are calibrated but 0.7 log-odds too high (good), random
(useless), or random in two of the groups (biased).

The standard error of one coverage is about {error:.1f} points near 95 %; it is less for groups and
differences, of which each corpus has several. {below} of the {cells} cells cover less than 93 %, and
these by more than two standard errors:

{low}
"""
CLUSTERS = """## Binary labels of clusters

All documents of some of 600 clusters are labeled, about 10 each. The log-odds of clusters have a
standard deviation of 1, and clusters are in all groups."""
SURVEY = """## Survey weights

Binary labels, and weights with a coefficient of variation of 0.7."""
CLASSES = """## Classes

Four classes, of which one is rare. The model is right for a percentage of the documents, and names
a random class for the others. *all classes*: how often all simultaneous intervals contain the
proportions."""


HEADS, COLUMNS = ("positive, %", "predictions", "labels"), ("difference", "all differences", "trend")
GROUP_COLUMNS = ("total ppi++", "group labels", "group ppi++")
FEWER, EVERY = (*GROUP_COLUMNS, *COLUMNS), (*GROUP_COLUMNS, "published", *COLUMNS)


class Table(NamedTuple):
    """A table of the page.

    Attributes
    ----------
    title, heads, columns
        Text above the table, and names of columns of settings and of intervals.
    draw
        Function that adds the intervals of one corpus.
    settings
        Values of each column of settings.
    """

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    draw: Callable[[Hits, Place, np.random.Generator], None]
    settings: tuple[tuple[str, ...], ...]


SIZES = ("30", "60", "200", "800")
TABLES = {
    "binary": Table(
        "## Binary labels",
        HEADS,
        EVERY,
        binary_corpus,
        (("50", "30", "10", "2", "0.5"), PREDICTIONS, SIZES),
    ),
    "classes": Table(
        CLASSES,
        ("rare class, %", "right, %", "labels"),
        ("rare class", "other classes", "all classes"),
        class_corpus,
        (("10", "2"), ("95", "80", "25"), SIZES),
    ),
    "grades": Table(
        "## Grades",
        ("labels are", "predictions", "labels"),
        EVERY,
        graded_corpus,
        (("grades 1 to 5", "skewed, 0 to 1"), PREDICTIONS, SIZES),
    ),
    "weighted": Table(SURVEY, HEADS, FEWER, weighted_corpus, (("30", "10"), PREDICTIONS, SIZES)),
    "weighted grades": Table(
        "## Survey weights of grades from 1 to 5",
        HEADS[1:],
        FEWER,
        weighted_grades_corpus,
        (PREDICTIONS, SIZES),
    ),
    "clusters": Table(CLUSTERS, HEADS, FEWER, clustered_corpus, (("30", "10"), PREDICTIONS, ("200", "800"))),
}


def batch(job: tuple[str, Place, int, int]) -> tuple[tuple[str, Place, int, int], Hits]:
    """Return the intervals of a batch of corpora of a cell; each corpus has its seed."""
    name, place, first, seed = job
    hits, key = new_hits(), crc32(repr((name, place)).encode())
    for number in range(first, first + BATCH):
        TABLES[name].draw(hits, place, np.random.default_rng([seed, key, number]))
    return job, hits


def simulate(corpora: int, seed: int, names: Sequence[str]) -> dict[tuple[str, Place], Hits]:
    """Return the intervals of all cells; those in the file of an earlier run are not simulated again."""
    cells = [(name, place) for name in names for place in product(*TABLES[name].settings)]
    jobs = [(*cell, first, seed) for first in range(0, corpora, BATCH) for cell in cells]
    STORE.mkdir(parents=True, exist_ok=True)
    store, known = STORE / f"{seed}.jsonl", {}
    if store.exists():
        lines = (json.loads(line) for line in store.read_text(encoding="utf-8").splitlines())
        known = {(name, tuple(place), first, seed): hits for name, place, first, hits in lines}
    left = [job for job in jobs if job not in known]
    with store.open("a", encoding="utf-8") as stream, ProcessPoolExecutor(PROCESSES) as pool:
        for job, hits in pool.map(batch, left):
            stream.write(json.dumps([*job[:3], hits]) + "\n")
            stream.flush()
            known[job] = hits
    every: dict[tuple[str, Place], Hits] = defaultdict(new_hits)
    for job in jobs:
        for name, values in known[job].items():
            every[job[0], job[1]][name] += values
    return every


def summary(found: dict[tuple[str, Place], Hits], corpora: int) -> dict[str, Any]:
    """Return the numbers of the text, and the cells that cover less than the bar by two standard errors."""
    low, below, cells = [], 0, 0
    for (name, place), hits in found.items():
        section, settings = TABLES[name].title.splitlines()[0].removeprefix("## "), ", ".join(place)
        for column in TABLES[name].columns:
            if column == "published":
                continue
            values = np.array(hits[column])
            coverage, warned = np.nanmean(values[:, 0]), values[:, 2].mean() >= HALF
            below, cells = below + (coverage < BAR), cells + 1
            if coverage < BAR - 2 * np.sqrt(BAR * (1 - BAR) / corpora):
                how = "most have a warning" if warned else "**most have no warning**"
                low.append(f"- {section}, {settings} labels: {column}, {100 * coverage:.1f} %; {how}")
    error = 100 * np.sqrt(0.95 * 0.05 / corpora)
    return {"error": error, "cells": cells, "below": below, "low": "\n".join(low) or "- none"}


def page(corpora: int, seed: int) -> str:
    """Return the page."""
    found = simulate(corpora, seed, list(TABLES))
    parts = [LEAD.format(corpora=corpora, documents=DOCUMENTS, groups=GROUPS, **summary(found, corpora))]
    for name, one in TABLES.items():
        cells = [(list(place), hits) for (of, place), hits in found.items() if of == name]
        parts.append(table(one.title, list(one.heads), list(one.columns), cells))
    return "\n".join(parts)


if __name__ == "__main__":
    given = [int(one) for one in sys.argv[1:]]
    TARGET.write_text(page(*(given + [CORPORA, 0][len(given) :])), encoding="utf-8")
