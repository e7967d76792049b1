"""Measure the coverage of estimates of classes, grades, groups, differences and trends, for the guide.

python scripts/group_coverage.py [CORPORA]     writes docs/studies/group_coverage.md

Corpora of 6,000 documents, of which some are labeled; 200 corpora per cell, seed 0.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "group_coverage.md"
DOCUMENTS = 6000
CORPORA = 200
GROUPS = 8
COMPARED: dict[str, Any] = {"methods": ["labels", "ppi++"], "compare": True}
SIZES = (30, 60, 200, 800)
Z = 1.959964
PREDICTIONS = ("good", "useless", "biased in two groups")
Floats = NDArray[np.float64]
Hits = dict[str, list[tuple[float, float, float]]]  # covered, width, warned


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
        add(hits, "difference", each.difference, aim, each.few_warning is not None)
        ends = each.simultaneous or each.difference
        joint = joint and ends.low is not None and ends.high is not None and ends.low <= aim <= ends.high
    if of:
        hits["all differences"].append((float(joint), np.nan, 0.0))
    for line in found.trends:
        rows = [one for one in found.estimates if one.method == line.method and one.period != "all"]
        known = [int(one.period) for one in rows if one.share.low is not None]
        aim = float(np.polyfit(known, means[known], 1)[0])
        if line.method == "ppi++":
            add(hits, "trend", line.slope, aim, line.few_warning is not None)


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


def binary_cells(corpora: int, *, clustered: bool) -> list[tuple[list[str], Hits]]:
    """Binary labels."""
    cells = []
    shares = (0.3, 0.1) if clustered else (0.5, 0.3, 0.1, 0.02, 0.005)
    for share in shares:
        for predictions in PREDICTIONS:
            for labels in (200, 800) if clustered else SIZES:
                rng, hits = np.random.default_rng(0), new_hits()
                for _ in range(corpora):
                    one = binary(share, predictions, labels, clustered, rng)
                    given: dict[str, Any] = {"methods": ["labels", "ppi++"], "compare": True, **one.given}
                    truth = one.truth[one.rows]
                    found = corrected_counts(one.score, one.rows, truth, periods=by_time(one), **given)
                    count(hits, found, one.means())
                    published(hits, one, one.means())
                cells.append(([f"{100 * share:g}", predictions, str(labels)], hits))
    return cells


def graded_cells(corpora: int) -> list[tuple[list[str], Hits]]:
    """Grades."""
    cells = []
    for kind in ("grades 1 to 5", "skewed, 0 to 1"):
        for predictions in PREDICTIONS:
            for labels in SIZES:
                rng, hits = np.random.default_rng(0), new_hits()
                for _ in range(corpora):
                    one = graded(kind, predictions, labels, rng)
                    ends = (1, 5) if kind.startswith("grades") else (0, 1)
                    truth, given = one.truth[one.rows], COMPARED
                    found = corrected_means(
                        one.score, one.rows, truth, label_range=ends, periods=by_time(one), **given
                    )
                    count(hits, found, one.means())
                    published(hits, one, one.means())
                cells.append(([kind, predictions, str(labels)], hits))
    return cells


def weighted_cells(corpora: int) -> list[tuple[list[str], Hits]]:
    """Survey weights with a coefficient of variation of 0.7."""
    cells = []
    for share in (0.3, 0.1):
        for predictions in PREDICTIONS:
            for labels in SIZES:
                rng, hits = np.random.default_rng(0), new_hits()
                for _ in range(corpora):
                    one = binary(share, predictions, labels, False, rng)
                    weight = rng.gamma(2, 0.5, DOCUMENTS)
                    truth, given = one.truth[one.rows], COMPARED
                    found = corrected_means(
                        one.score, one.rows, truth, weights=weight, periods=by_time(one), **given
                    )
                    count(hits, found, one.means(weight))
                cells.append(([f"{100 * share:g}", predictions, str(labels)], hits))
    return cells


def class_cells(corpora: int) -> list[tuple[list[str], Hits]]:
    """Four classes, of which one is rare, by a model that is right for 80 % of the documents."""
    cells = []
    for rare in (0.1, 0.02):
        for right in (0.95, 0.8, 0.25):
            for labels in SIZES:
                rng, hits = np.random.default_rng(0), new_hits()
                for _ in range(corpora):
                    chances = [0.5, 0.3, 0.2 - rare, rare]
                    truth = rng.choice(4, DOCUMENTS, p=chances)
                    model = np.where(rng.random(DOCUMENTS) < right, truth, rng.choice(4, DOCUMENTS))
                    rows = rng.choice(DOCUMENTS, labels, replace=False)
                    scores, names = class_scores(model, 4), list("abcd")
                    found = corrected_classes(scores, rows, truth[rows], names, methods="ppi++")
                    joint = True
                    for number, one in enumerate(found.estimates):
                        aim = float(np.mean(truth == number))
                        add(
                            hits,
                            "rare class" if number == 3 else "other classes",
                            one.share,
                            aim,
                            bool(one.few_warning),
                        )
                        ends = one.simultaneous
                        joint = joint and ends is not None and ends.low <= aim <= ends.high  # type: ignore[operator]
                    hits["all classes"].append((float(joint), np.nan, 0.0))
                cells.append(([f"{100 * rare:g}", f"{100 * right:g}", str(labels)], hits))
    return cells


LEAD = """# Coverage of groups, differences, trends, classes and grades

Coverage in percent of 95 % intervals and, in parentheses, their mean width, over {corpora} corpora
of {documents:,} documents in {groups} groups per cell (`scripts/group_coverage.py`). The labels are
those of all groups together, so 200 labels are 25 per group. *w 30*: 30 % of the intervals have a
warning (of few labels or clusters, or of labels near an end of their range). *published*: the
normal interval of PPI++ (Angelopoulos et al. 2023) with each group's own weight, as ppi_py computes
it. *all differences*: how often all simultaneous intervals of consecutive groups contain the
differences. The model's predictions are calibrated but 0.7 log-odds too high (good), random
(useless), or random in two of the groups (biased).

The command warns of few labels of a kind, in totals, classes and weighted groups, and of differences and
trends of groups with fewer than 10 labels (30 or 60 labels here). With 60 corpora, the standard error of
one coverage is about 3 points. Some totals, rare classes and trends cover 87 to 92 % without a warning;
more corpora must show which of these are below 93 %.
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


def parts(corpora: int) -> Iterator[str]:
    """Yield the parts of the page."""
    columns = [
        "total ppi++",
        "group labels",
        "group ppi++",
        "published",
        "difference",
        "all differences",
        "trend",
    ]
    fewer = [one for one in columns if one != "published"]
    heads = ["positive, %", "predictions", "labels"]
    yield LEAD.format(corpora=corpora, documents=DOCUMENTS, groups=GROUPS)
    yield table("## Binary labels", heads, columns, binary_cells(corpora, clustered=False))
    heads_of_classes, of_classes = ["rare class, %", "right, %", "labels"], ["rare class", "other classes"]
    yield table(CLASSES, heads_of_classes, [*of_classes, "all classes"], class_cells(corpora))
    yield table("## Grades", ["labels are", "predictions", "labels"], columns, graded_cells(corpora))
    yield table(SURVEY, heads, fewer, weighted_cells(corpora))
    yield table(CLUSTERS, heads, fewer, binary_cells(corpora, clustered=True))


if __name__ == "__main__":
    written: list[str] = []
    for part in parts(int(sys.argv[1]) if len(sys.argv) > 1 else CORPORA):
        written.append(part)
        TARGET.write_text("\n".join(written), encoding="utf-8")
