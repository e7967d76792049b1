"""Measure the coverage of corrected means and differences of judged systems, for the guide.

python scripts/judge_coverage.py [SAMPLES] [WORD ...]     writes docs/studies/judge_coverage.md

With words, only the rows that contain one (in their table's title, or their first cells) are measured, and
the others are kept. Three systems answer 2,000 prompts; a judge scores all answers, and some have labels.
200 samples per cell, seed 0. More kinds of judges and labels are in `judge_coverage_kinds.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
from judge_coverage_kinds import SECTIONS, Section
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import beta, norm

from calibrant.estimation import JudgedTable, judged_systems
from calibrant.exceptions import InputError

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "judge_coverage.md"
PROMPTS, SAMPLES = 2000, 200
MEANS = np.array([0.7, 0.6, 0.6])
CUTS = norm.ppf([0.1, 0.3, 0.55, 0.85])
JUDGES = ("good", "useless", "biased", "saturated")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One situation: kind of labels, judge, number of labeled prompts, and how they were chosen."""

    kind: str
    judge: str
    labels: int
    design: str = "same prompts"
    means: tuple[float, ...] = tuple(MEANS.tolist())
    cluster_size: int = 0


def sample(cell: Cell, rng: np.random.Generator) -> tuple[JudgedTable, Floats]:
    """Return a table, and the true means of its systems."""
    shape, means = (3, PROMPTS), np.array(cell.means)
    prompt = rng.normal(size=PROMPTS)
    cluster = None
    if cell.cluster_size:
        cluster = np.arange(PROMPTS) // cell.cluster_size
        prompt = 0.7 * rng.normal(size=cluster[-1] + 1)[cluster] + np.sqrt(0.51) * prompt
    latent = 0.7 * prompt + np.sqrt(0.51) * rng.normal(size=shape)
    low, high = (1.0, 5.0) if cell.kind == "grades 1 to 5" else (0.0, 1.0)
    if cell.kind == "binary":
        label, truth = (latent < norm.ppf(means)[:, None]).astype(float), means
    elif cell.kind == "graded":
        label = beta.ppf(ndtr(latent), 3 * means[:, None], 3 * (1 - means[:, None]))
        truth = means
    else:
        shift = 2 * means - 1
        label = 1.0 + np.searchsorted(CUTS, latent + shift[:, None])
        truth = 1 + ndtr(shift[:, None] - CUTS).sum(1)
    quality = (label - low) / (high - low)
    if cell.judge == "useless":
        judge = rng.random(shape)
    elif cell.judge == "saturated":
        judge = 1 - 0.4 * (1 - quality) * (rng.random(shape) < 0.2)
    else:
        judge = np.clip(quality + 0.2 * rng.normal(size=shape), 0, 1)
        if cell.kind == "binary":
            judge = np.where(rng.random(shape) < 0.88, quality, 1 - quality)
    if cell.judge == "biased":
        judge[2] = np.maximum(judge[2], 0.9 * (rng.random(PROMPTS) < 0.5))
    judge = low + (high - low) * judge
    known = np.zeros(shape, np.bool_)
    if cell.design == "same prompts":
        known[:, rng.choice(PROMPTS, cell.labels, replace=False)] = True
    elif cell.design == "whole clusters" and cluster is not None:
        chosen = rng.choice(cluster[-1] + 1, cell.labels // cell.cluster_size, replace=False)
        known[:, np.isin(cluster, chosen)] = True
    else:
        for system in range(3):
            known[system, rng.choice(PROMPTS, cell.labels, replace=False)] = True
    code, item = np.repeat(np.arange(3), PROMPTS), np.tile(np.arange(PROMPTS), 3)
    return JudgedTable(
        ("A", "B", "C"),
        code,
        item,
        judge.ravel(),
        np.where(known, label, np.nan).ravel(),
        None if cluster is None else np.tile(cluster, 3),
        low=low,
        high=high,
    ), truth


def measured(cell: Cell, samples: int) -> list[str]:
    """Return the row of a cell."""
    rng = np.random.default_rng(0)
    inside, defined = np.zeros(3), np.zeros(3)
    warned, wrong, ratio = np.zeros(2), 0, []
    for _ in range(samples):
        table, truth = sample(cell, rng)
        try:
            record = judged_systems(table)
        except InputError:
            continue
        for row in record.systems:
            mean, of = row.corrected, truth[table.systems.index(row.system)]
            if mean.low is not None and mean.high is not None:
                defined[0] += 1
                inside[0] += mean.low <= of <= mean.high
                warned[0] += row.mean_warning is not None
            alone = row.judge_alone
            if alone.low is not None and alone.high is not None:
                defined[2] += 1
                inside[2] += alone.low <= of <= alone.high
        for pair in record.differences:
            ends = pair.difference
            gap = float(
                np.subtract(*(truth[table.systems.index(name)] for name in (pair.first, pair.second)))
            )
            if ends.low is not None and ends.high is not None:
                defined[1] += 1
                inside[1] += ends.low <= gap <= ends.high
                warned[1] += pair.difference_warning is not None
                ratio.append(pair.gain or 1.0)
        wrong += any(
            pair.verdict in (pair.first, pair.second) for pair in record.differences if pair.first == "B"
        )
    covered = 100 * inside / np.maximum(1, defined)
    noted = 100 * warned / np.maximum(1, defined[:2])
    absent = 100 * (1 - defined[:2] / (3 * samples))
    texts = [f"{covered[0]:.1f}", f"{noted[0]:.0f}", f"{covered[1]:.1f}", f"{noted[1]:.0f}"]
    return [
        cell.kind,
        cell.judge,
        f"{cell.labels:,}",
        cell.design + (f" of {cell.cluster_size}" if cell.cluster_size else ""),
        *texts,
        f"{absent.max():.0f}",
        f"{100 * wrong / samples:.1f}",
        f"{np.median(ratio):.2f}",
        f"{covered[2]:.0f}",
    ]


@dataclass(frozen=True)
class Page:
    """The page as it is, and which of its rows are measured again."""

    lines: list[str]
    words: list[str]
    samples: int

    def rows(
        self,
        title: str,
        heads: str,
        cells: Sequence[Any],
        measure: Callable[[Any, int], list[str]],
        *,
        names: int,
    ) -> str:
        """Return a table in Markdown, whose cells have ``names`` columns that say what they are."""
        lines = [
            f"| {heads} |",
            "| " + "|".join(["---"] * names + ["---:"] * (heads.count("|") + 1 - names)) + " |",
        ]
        start = self.lines.index(f"## {title}") if f"## {title}" in self.lines else len(self.lines)
        old = [
            line
            for line in takewhile(lambda line: line[:3] != "## ", self.lines[start + 1 :])
            if line[:1] == "|"
        ]
        for place, cell in enumerate(cells, start=2):
            kept = old[place] if len(old) == len(cells) + 2 else None
            named = f"{title} {cell}"
            if kept is None or not self.words or any(word in named for word in self.words):
                kept = f"| {' | '.join(measure(cell, self.samples))} |"
                print(f"{title}: {kept}", flush=True)
            lines.append(kept)
        return "\n".join([f"## {title}\n", *lines, ""])


def table(title: str, cells: list[Cell], page: Page) -> str:
    """Return a table of cells in Markdown."""
    heads = "labels | judge | labeled | design | means | warned | differences | warned | no interval"
    heads += " | false verdicts | gain | judge alone"
    return page.rows(title, heads, cells, measured, names=4)


def transport_row(cell: tuple[int, float], samples: int) -> list[str]:
    """Return how a system with few labels fares with the labels of another."""
    labels, shift = cell
    rng = np.random.default_rng(1)
    number = dict.fromkeys(("holds", "undecided", "does not hold"), 0)
    inside, within = dict.fromkeys(number, 0), 0
    for _ in range(samples):
        quality = rng.beta(3, 2, (2, 1000))
        judge = np.clip(quality + 0.1 * rng.normal(size=(2, 1000)), 0, 1)
        judge[1] = np.clip(judge[1] + shift, 0, 1)
        known = np.full((2, 1000), np.nan)
        known[0, :200] = quality[0, :200]
        known[1, 200 : 200 + labels] = quality[1, 200 : 200 + labels]
        code, item = np.repeat([0, 1], 1000), np.tile(np.arange(1000), 2)
        record = judged_systems(JudgedTable(("A", "B"), code, item, judge.ravel(), known.ravel()))
        [verdict] = [row.verdict for row in record.transport]
        [mean] = [row.corrected for row in record.systems if row.system == "B"]
        number[verdict] += 1
        if mean.low is not None and mean.high is not None:
            inside[verdict] += mean.low <= 0.6 <= mean.high
            if verdict == "holds":
                within += mean.low - 0.1 <= 0.6 <= mean.high + 0.1
    of = [
        "-" if not number[verdict] else f"{100 * count / number[verdict]:.0f}"
        for verdict, count in (
            ("holds", inside["holds"]),
            ("holds", within),
            ("undecided", inside["undecided"]),
        )
    ]
    shares = [f"{100 * count / samples:.0f}" for count in number.values()]
    return [f"{labels}", f"{shift:g}", *shares, *of]


def transport_table(page: Page) -> str:
    """Return how systems with few labels fare with the labels of another, in Markdown."""
    heads = "labels of B | judge's shift on B | holds | undecided | does not hold | covered if it holds"
    heads += " | covered within the margin | covered if undecided"
    cells = [(labels, shift) for labels in (4, 8) for shift in (0.0, 0.05, 0.1, 0.3)]
    text = (
        "Graded answers of two systems with mean 0.6; A has 200 labels, and B has few. The judge's scores of "
        "B are shifted before they are clipped to [0, 1]. The margin is 0.1.\n"
    )
    head, *rows = page.rows("Few labels of a system", heads, cells, transport_row, names=0).split("\n")
    return "\n".join([head, "", text, *rows[1:]])


def kind_table(section: Section, page: Page) -> str:
    """Return a table of `judge_coverage_kinds.py`, in Markdown."""
    rows = page.rows(section.title, section.heads, section.cells, section.row, names=section.names)
    head, *others = rows.split("\n")
    return "\n".join([head, "", section.text, *others])


def page(old: Page) -> str:
    """Return the page."""
    samples = old.samples
    kinds = ("binary", "graded", "grades 1 to 5")
    usual = [Cell(kind, judge, labels) for kind in kinds for judge in JUDGES for labels in (30, 100, 1000)]
    apart = [Cell(kind, judge, 60, "other prompts") for kind in kinds for judge in JUDGES]
    rare = [
        Cell(kind, judge, labels, means=means)
        for kind in kinds[:2]
        for means in ((0.05, 0.02, 0.02), (0.98, 0.95, 0.95))
        for judge in ("good", "biased")
        for labels in (30, 100, 400)
    ]
    clusters = [
        Cell(kind, "biased", labels, design, cluster_size=size)
        for kind in kinds[:2]
        for size, labels in ((5, 100), (5, 400), (25, 250), (25, 1000))
        for design in ("whole clusters", "same prompts")
    ]
    head = (
        "# Coverage of judged systems\n\n"
        "95 % intervals of the [corrected means and differences](../guide/judging.md) of three systems, of "
        f"which two are equal; {samples:,} samples per cell of {PROMPTS:,} prompts (standard error of "
        f"coverage near 95 %: {100 * np.sqrt(0.05 * 0.95 / (3 * samples)):.1f} points or more, since the "
        "three means of a sample are dependent). All numbers but the gain are percentages.\n\n"
        "- *means*, *differences*: coverage; *warned*: intervals with a warning; *no interval*: the larger "
        "of both.\n"
        "- *false verdicts*: samples in which the two equal systems are said to differ (after Holm).\n"
        "- *gain*: median of the variance of the labels' difference over that of the corrected difference.\n"
        "- *judge alone*: how often the interval of the mean judge score contains the mean label.\n\n"
        "`python scripts/judge_coverage.py` writes this page.\n"
    )
    parts = [
        table("The same labeled prompts for all systems", usual, old),
        table("Other labeled prompts for each system", apart, old),
        table("Rare outcomes", rare, old),
        table("Clusters of prompts", clusters, old),
        transport_table(old),
        *(kind_table(section, old) for section in SECTIONS),
    ]
    return "\n".join([head, *parts])


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else SAMPLES
    there = TARGET.read_text(encoding="utf-8").splitlines() if TARGET.exists() else []
    TARGET.write_text(page(Page(there, sys.argv[2:], number)), encoding="utf-8")
