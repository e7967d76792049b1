"""Cells of `judge_coverage.py` with classes, several labels, several judges, maps, and far tails."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import beta, norm

from calibrant.estimation import JudgedSystems, JudgedTable, judged_classes, judged_systems
from calibrant.estimation.judged_means import answers_of
from calibrant.estimation.judging import corrected_mean
from calibrant.estimation.verbs.judging import judge as judged_by
from calibrant.exceptions import InputError
from calibrant.records import Quantity

PROMPTS = 1000
CODE, ITEM = np.repeat([0, 1], PROMPTS), np.tile(np.arange(PROMPTS), 2)
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Section:
    """A table: title, text before it, headings, cells, how many of its columns name them, and their row."""

    title: str
    text: str
    heads: str
    cells: Sequence[Any]
    names: int
    row: Callable[[Any, int], list[str]]


@dataclass(frozen=True)
class KindCell:
    """One situation: its name, its kind, the number of labeled prompts, and prompts per cluster."""

    kind: str
    detail: str
    labels: int
    cluster_size: int = 1
    mean: float = 0.6

    @property
    def names(self) -> list[str]:
        """The first cells of its row."""
        clusters = f"clusters of {self.cluster_size}" if self.cluster_size > 1 else "prompts"
        return [self.kind, self.detail, f"{self.labels:,}", clusters]


def latent(cell: KindCell, rng: np.random.Generator, depth: int = 1) -> Floats:
    """Return (depth, 2, prompts) standard normal values, correlated within prompts and clusters."""
    cluster = np.arange(PROMPTS) // cell.cluster_size
    of = rng.normal(size=(depth, 1, int(cluster[-1]) + 1))[:, :, cluster]
    own = rng.normal(size=(depth, 2, PROMPTS))
    shared: Floats = np.sqrt(0.4) * of + np.sqrt(0.6) * own
    return shared


def known(cell: KindCell, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return (2, prompts) where both systems have labels: of whole clusters, if there are clusters."""
    cluster = np.arange(PROMPTS) // cell.cluster_size
    chosen = rng.choice(int(cluster[-1]) + 1, cell.labels // cell.cluster_size, replace=False)
    return np.tile(np.isin(cluster, chosen), (2, 1))


def table_of(
    cell: KindCell, judge: Floats, label: Floats, rng: np.random.Generator, scores: Floats | None = None
) -> JudgedTable:
    """Return the table of (2, prompts) judge scores and labels, of which some are known."""
    cluster = np.tile(np.arange(PROMPTS) // cell.cluster_size, 2) if cell.cluster_size > 1 else None
    seen = np.where(known(cell, rng), label, np.nan).ravel()
    names = () if scores is None else tuple(f"judge {place}" for place in range(len(scores)))
    return JudgedTable(
        ("A", "B"), CODE, ITEM, judge.ravel(), seen, cluster, judges=names,
        scores=None if scores is None else scores.reshape(len(scores), -1),
    )  # fmt: skip


class Covered:
    """Counts of intervals that contain the truth."""

    def __init__(self) -> None:
        self.inside, self.number = Counter[str](), Counter[str]()

    def add(self, name: str, interval: Quantity, truth: float) -> bool:
        """Count an interval, if there is one, and return True unless it misses."""
        if interval.low is None or interval.high is None:
            return True
        hit = interval.low - 1e-12 <= truth <= interval.high + 1e-12
        self.inside[name] += hit
        self.number[name] += 1
        return hit

    def percent(self, name: str) -> str:
        """Return the coverage as text."""
        return f"{100 * self.inside[name] / self.number[name]:.1f}" if self.number[name] else "-"


CLASS_CELLS = [
    KindCell(f"{number} classes", judge, labels, size)
    for number, judge in ((3, "good"), (3, "lenient"), (5, "good"), (5, "lenient"))
    for labels, size in ((50, 1), (200, 1), (400, 10))
] + [KindCell("3 classes", "3 annotators", labels, size) for labels, size in ((50, 1), (200, 1), (400, 10))]


def classes_row(cell: KindCell, samples: int) -> list[str]:
    """Measure the proportions of all classes, with two systems alike."""
    number = int(cell.kind[0])
    shares = {3: [0.55, 0.35, 0.1], 5: [0.4, 0.25, 0.2, 0.1, 0.05]}[number]
    cuts = norm.ppf(np.cumsum(shares)[:-1])
    rng, covered, wrong, together = np.random.default_rng(0), Covered(), 0, Counter[bool]()
    for _ in range(samples):
        truth = np.searchsorted(cuts, latent(cell, rng)[0])
        judge = np.where(rng.random(truth.shape) < 0.75, truth, rng.integers(0, number, truth.shape))
        if cell.detail == "lenient":
            judge[1] = np.where(rng.random(PROMPTS) < 0.4, 0, judge[1])
        seen, labels = known(cell, rng), [truth]
        if cell.detail == "3 annotators":
            labels = [
                np.where(rng.random(truth.shape) < 0.8, truth, rng.integers(0, number, truth.shape))
                for _ in range(3)
            ]
        tables = {}
        for kind in range(number):
            label = np.mean([one == kind for one in labels], axis=0)
            empty = table_of(cell, (judge == kind).astype(float), label, rng)
            tables[str(kind)] = replace(empty, label=np.where(seen, label, np.nan).ravel())
        expected = np.array(shares)
        if cell.detail == "3 annotators":
            expected = 0.8 * expected + 0.2 / number
        try:
            record = judged_classes(tables)
        except InputError:
            continue
        for system in ("A", "B"):
            rows = [row for row in record.shares if row.system == system]
            for row in rows:
                covered.add("shares", row.corrected, expected[int(row.kind)])
            hits = [covered.add("each", row.simultaneous, expected[int(row.kind)]) for row in rows]
            together[all(hits)] += 1
        for pair in record.differences:
            covered.add("differences", pair.difference, 0.0)
        wrong += any(pair.verdict in ("A", "B") for pair in record.differences)
    assert abs(ndtr(cuts[0]) - shares[0]) < 1e-9
    joint = f"{100 * together[True] / max(1, sum(together.values())):.1f}"
    return [
        *cell.names, covered.percent("shares"), joint, covered.percent("differences"),
        f"{100 * wrong / samples:.1f}",
    ]  # fmt: skip


def means_of(
    draw: Callable[[KindCell, np.random.Generator], tuple[JudgedTable, Floats]],
) -> Callable[[KindCell, int], list[str]]:
    """Return a function that measures means and differences, and the gain over another table."""

    def row(cell: KindCell, samples: int) -> list[str]:
        rng, covered, wrong, warned = np.random.default_rng(0), Covered(), 0, 0
        gains: list[float] = []
        ways = Counter[str]()
        for _ in range(samples):
            table, truth = draw(cell, rng)
            try:
                record = judged_systems(table)
            except InputError:
                continue
            for mean in record.systems:
                covered.add("means", mean.corrected, float(truth[table.systems.index(mean.system)]))
                warned += mean.mean_warning is not None
                ways[str(mean.method)] += 1
            [pair] = record.differences
            covered.add("differences", pair.difference, float(truth[0] - truth[1]))
            wrong += pair.verdict in ("A", "B")
            gains += _gain(table, record.systems)
        way = f"{100 * ways['map'] / max(1, ways.total()):.0f}"
        texts = [covered.percent("means"), f"{50 * warned / samples:.0f}", covered.percent("differences")]
        gain = f"{np.median(gains):.2f}" if gains else "-"
        return [*cell.names, *texts, f"{100 * wrong / samples:.1f}", way, gain]

    return row


def _gain(table: JudgedTable, systems: Sequence[Any]) -> Iterator[float]:
    """Yield the squared ratio of widths: of the best judge, or the scores as they are, and of the result."""
    scores = table.judge[None] if table.scores is None else table.scores
    for row in systems:
        code = table.systems.index(row.system)
        rows, widths = np.flatnonzero(table.system == code), []
        for score in scores:
            one = replace(table, judge=score, scores=None, judges=())
            mean = corrected_mean(one, answers_of(one, rows), code, 0.95).corrected
            if mean.low is not None and mean.high is not None:
                widths.append(mean.high - mean.low)
        if widths and row.corrected.low is not None:
            yield float((min(widths) / (row.corrected.high - row.corrected.low)) ** 2)


JUDGES = {
    "two alike": ((1.0, 0.6), (1.0, 0.6)),
    "one good, two useless": ((1.0, 0.4), (0.0, 1.0), (0.0, 1.0)),
    "good and fair": ((1.0, 0.4), (1.0, 1.2)),
    "five, of one family": ((1.0, 0.5), (1.0, 0.5), (1.0, 0.5), (1.0, 0.5), (1.0, 0.5)),
}
JUDGE_CELLS = [
    KindCell(kind, judges, labels, size)
    for kind in ("graded", "binary")
    for judges in JUDGES
    for labels, size in ((30, 1), (100, 1), (400, 10))
]


def several_judges(cell: KindCell, rng: np.random.Generator) -> tuple[JudgedTable, Floats]:
    """Return answers with several judges, which err alike in part."""
    quality = latent(cell, rng)[0]
    family = 0.4 * rng.normal(size=quality.shape) if "family" in cell.detail else 0.0
    scores = np.stack(
        [
            ndtr(slope * quality + family + noise * rng.normal(size=quality.shape))
            for slope, noise in JUDGES[cell.detail]
        ]
    )
    label, mean = ndtr(quality), 0.5
    if cell.kind == "binary":
        label, mean = (quality > 0.3).astype(np.float64), 1 - float(ndtr(0.3))
        scores = (scores > 0.6).astype(np.float64)
    return table_of(cell, scores.mean(axis=0), label, rng, scores), np.array([mean, mean])


MAP_CELLS = [
    KindCell(kind, judge, labels, size)
    for kind in ("graded", "binary")
    for judge in ("linear", "curved", "a step", "useless")
    for labels, size in ((30, 1), (100, 1), (400, 10))
]


def one_map(cell: KindCell, rng: np.random.Generator) -> tuple[JudgedTable, Floats]:
    """Return answers of a judge whose scores are a curve of the quality."""
    quality = ndtr(latent(cell, rng)[0])
    judge = np.clip(quality + 0.1 * rng.normal(size=quality.shape), 0, 1)
    if cell.detail == "linear":
        judge = np.clip(judge + 0.15 * rng.normal(size=quality.shape), 0, 1)
    elif cell.detail == "curved":
        judge = judge**6
    elif cell.detail == "a step":
        judge = 0.98 / (1 + np.exp(-30 * (judge - 0.6))) + 0.02 * rng.random(judge.shape)
    else:
        judge = rng.random(judge.shape)
    label, mean = quality, 0.5
    if cell.kind == "binary":
        label, mean = (rng.random(quality.shape) < quality).astype(np.float64), 0.5
    return table_of(cell, judge, label, rng), np.array([mean, mean])


LABEL_CELLS = [
    KindCell(kind, annotators, labels, size)
    for kind in ("graded", "binary")
    for annotators in ("2 annotators", "5 annotators")
    for labels, size in ((30, 1), (200, 1), (400, 10))
]


def several_labels(cell: KindCell, rng: np.random.Generator) -> tuple[JudgedTable, Floats]:
    """Return answers whose labels are the means of annotators that err."""
    quality = latent(cell, rng)[0]
    number = int(cell.detail[0])
    votes = quality + 0.8 * rng.normal(size=(number, *quality.shape))
    label = (votes > 0.5).mean(axis=0) if cell.kind == "binary" else ndtr(votes).mean(axis=0)
    mean = 1 - float(ndtr(0.5 / np.sqrt(1.64))) if cell.kind == "binary" else 0.5
    judge = ndtr(quality + 0.6 * rng.normal(size=quality.shape))
    return table_of(cell, judge, label, rng), np.array([mean, mean])


TAILS = ("beta", "few large", "halves", "grades")
TAIL_CELLS = [
    KindCell("graded", tail, labels, mean=mean)
    for tail in TAILS
    for mean in (0.02, 0.05)
    for labels in (30, 60, 100)
]


def far_tails(cell: KindCell, rng: np.random.Generator) -> tuple[JudgedTable, Floats]:
    """Return graded answers near 0, of distributions that the rule for such grades was not made on."""
    uniform, mean = ndtr(latent(cell, rng)[0]), cell.mean
    if cell.detail == "beta":
        label = beta.ppf(uniform, 2 * mean, 2 * (1 - mean))
    elif cell.detail == "few large":
        label = np.where(uniform > 1 - mean / 0.8, 0.8, 0.0)
    elif cell.detail == "halves":
        label = np.where(uniform > 1 - 1.6 * mean, 0.5, 0.0) + 0.2 * mean * 2 * rng.random(uniform.shape)
    else:
        label = np.select(
            [uniform > 1 - 0.4 * mean, uniform > 1 - 0.8 * mean, uniform > 1 - 1.2 * mean], [1.0, 0.75, 0.5]
        )
        label = np.where(label == 0, np.where(uniform > 1 - 2 * mean, 0.125, 0.0), label)
    judge = np.clip(label + 0.1 * rng.normal(size=label.shape), 0, 1)
    return table_of(cell, judge, label, rng), np.array([mean, mean])


HEADS = "labels | {} | labeled | units | means | warned | differences | false verdicts | map used | gain"


@dataclass(frozen=True)
class UnequalCell:
    """One situation: kind of labels, judge, number of labeled whole clusters, and spread of their sizes."""

    kind: str
    judge: str
    clusters: int
    spread: float


UNEQUAL_CELLS = [
    UnequalCell(kind, judge, clusters, spread)
    for clusters in (8, 17, 40)
    for spread in (0.7, 1.2)
    for kind in ("binary", "graded")
    for judge in ("good", "useless")
]


def unequal_clusters(cell: UnequalCell, rng: np.random.Generator) -> JudgedTable:
    """Return answers of two systems with mean 0.6; a fourth of the clusters is labeled."""
    sizes = np.ceil(np.exp(rng.normal(np.log(5), cell.spread, 4 * cell.clusters))).astype(np.int64)
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    shared = rng.normal(size=len(sizes))[cluster]
    uniform = ndtr(np.sqrt(0.3) * shared + np.sqrt(0.7) * rng.normal(size=(2, len(cluster))))
    label = (uniform < 0.6).astype(np.float64) if cell.kind == "binary" else beta.ppf(uniform, 1.8, 1.2)
    judge = rng.random(label.shape)
    if cell.judge == "good":
        judge = np.clip(label + 0.15 * rng.normal(size=label.shape), 0, 1)
        if cell.kind == "binary":
            judge = np.where(rng.random(label.shape) < 0.9, label, 1 - label)
    chosen = rng.choice(len(sizes), cell.clusters, replace=False)
    known = np.where(np.isin(cluster, chosen), label, np.nan)
    code, item = np.repeat([0, 1], len(cluster)), np.tile(np.arange(len(cluster)), 2)
    return JudgedTable(("A", "B"), code, item, judge.ravel(), known.ravel(), np.tile(cluster, 2))


def unequal_row(cell: UnequalCell, samples: int) -> list[str]:
    """Return coverage of means and differences: of all intervals, and of those without a warning."""
    rng = np.random.default_rng(0)
    found: list[list[tuple[bool, bool]]] = [[], []]
    for _ in range(samples):
        try:
            record = judged_systems(unequal_clusters(cell, rng))
        except InputError:
            continue
        ends = [(0, row.corrected, 0.6, row.mean_warning) for row in record.systems]
        ends += [(1, row.difference, 0.0, row.difference_warning) for row in record.differences]
        for part, mean, truth, warning in ends:
            if mean.low is not None and mean.high is not None:
                found[part].append((mean.low <= truth <= mean.high, warning is not None))
    texts = [cell.kind, cell.judge, str(cell.clusters), f"{cell.spread:g}"]
    for pairs in found:
        inside, warned = np.array(pairs).T
        quiet = inside[~warned]
        texts += [f"{100 * inside.mean():.1f}", f"{100 * warned.mean():.0f}"]
        texts.append(f"{100 * quiet.mean():.1f}" if len(quiet) >= 100 else "-")
    return texts


RUN_CELLS = [
    (kind, labelled, labels)
    for kind in ("binary", "graded")
    for labelled in ("all runs", "first run", "uneven runs")
    for labels in (20, 60)
]


def runs_row(cell: tuple[str, str, int], samples: int) -> list[str]:
    """Measure means and the difference of two systems with three runs of each of 300 prompts."""
    kind, labelled, labels = cell
    rng, covered = np.random.default_rng(0), Covered()
    system, item, run = (
        code.ravel() for code in np.meshgrid([0, 1], np.arange(300), np.arange(3), indexing="ij")
    )
    kept = (system == 0) | (run <= item % 3) if labelled == "uneven runs" else run >= 0
    seen, warned, wrong = run == 0 if labelled == "first run" else run >= 0, 0, 0
    middle = norm.ppf(0.6) * np.sqrt(1 + 1.4**2)
    for _ in range(samples):
        prompt, own = 1.2 * rng.normal(size=(1, 300)), 0.7 * rng.normal(size=(2, 300))
        chance = ndtr(middle + prompt + own).ravel().repeat(3)
        truth = (
            (rng.random(1800) < chance).astype(float)
            if kind == "binary"
            else rng.beta(4 * chance, 4 - 4 * chance)
        )
        judge = np.clip(truth + 0.2 * rng.normal(size=1800), 0, 1)
        if kind == "binary":
            judge = np.where(rng.random(1800) < 0.85, truth, 1 - truth)
        asked = np.isin(item, rng.choice(300, labels, replace=False)) & seen
        columns = {"system": np.array(["A", "B"])[system], "item": item, "run": run, "judge": judge}
        table = pa.table({name: values[kept] for name, values in columns.items()})
        label = pa.array(truth[kept], mask=~asked[kept])
        record = judged_by(table.append_column("label", label))
        assert isinstance(record, JudgedSystems)
        for row in record.systems:
            covered.add("means", row.corrected, 0.6)
        [pair] = record.differences
        covered.add("differences", pair.difference, 0.0)
        warned += pair.difference_warning is not None
        wrong += pair.verdict in ("A", "B")
    numbers = [covered.percent("means"), covered.percent("differences"), f"{100 * warned / samples:.0f}"]
    return [kind, labelled, f"{labels}", *numbers, f"{100 * wrong / samples:.1f}"]


SECTIONS = (
    Section(
        "Several runs of a system",
        "300 prompts, each answered three times by two equal systems. Labels of some prompts: of *all runs*, "
        "or of the *first run* alone; with *uneven runs*, the second system has one to three of them. Runs "
        "of a prompt are one cluster.",
        "labels | labeled | prompts | means | differences | warned | false verdicts",
        RUN_CELLS,
        3,
        runs_row,
    ),
    Section(
        "Few labeled clusters of unequal sizes",
        "Whole clusters are labeled, a fourth of all. Their sizes are log-normal with median 5 and the given "
        "standard deviation of the logarithm. *quiet*: coverage of intervals without a warning, if there are "
        "100.",
        "labels | judge | clusters | spread | means | warned | quiet | differences | warned | quiet",
        UNEQUAL_CELLS,
        4,
        unequal_row,
    ),
    Section(
        "All classes at once",
        "Two systems with equal proportions (as in all tables below), and 1,000 prompts. *all at once*: "
        "samples in which the simultaneous intervals of all classes of a system contain the truth. The judge "
        "that is lenient gives 40 % of one system's answers the first class.",
        "classes | judge | labeled | units | proportions | all at once | differences | false verdicts",
        CLASS_CELLS,
        4,
        classes_row,
    ),
    Section(
        "Several judges",
        "Two equal systems. *gain*: squared width of the interval of the best single judge over that of the "
        "combination (which judge is best is not known before; below 10 labels per judge, the mean is used).",
        HEADS.format("judges"),
        JUDGE_CELLS,
        4,
        means_of(several_judges),
    ),
    Section(
        "Maps of the judge",
        "Two equal systems. *map used*: percentage of means for which the rule chooses the map; *gain*: "
        "squared width of the interval with the scores as they are, over that of the reported one.",
        HEADS.format("judge"),
        MAP_CELLS,
        4,
        means_of(one_map),
    ),
    Section(
        "Several labels of an answer",
        "The label is the mean of annotators that err independently.",
        HEADS.format("annotators"),
        LABEL_CELLS,
        4,
        means_of(several_labels),
    ),
    Section(
        "Grades near an end of the range",
        "Two equal systems with mean grades of 0.02 (first three rows of each kind) and 0.05 in [0, 1].",
        HEADS.format("distribution"),
        TAIL_CELLS,
        4,
        means_of(far_tails),
    ),
)
