"""Measure the coverage and width of estimates for each design of `calibrant sample`, for the guide.

python scripts/sampling_coverage.py [CORPORA]     writes docs/studies/sampling_coverage.md

Corpora of 4,000 documents, of which some are drawn and labeled: 100 per cell, 200 for rounds, seed 0.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from calibrant.estimation import CorrectedCounts, corrected_counts
from calibrant.estimation.drawing import Population, draw
from calibrant.recalibrate import Platt
from calibrant.records.words import counted

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "sampling_coverage.md"
DOCUMENTS = 4000
CORPORA = 100
SPREAD = 2.0  # standard deviation of the log-odds
LABELS = (30, 60, 200, 800)
POSITIVES = (0.005, 0.05, 0.2, 0.5)
PREDICTIONS = ("good", "useless", "biased", "classes")
DESIGNS = ("uncertainty", "strata of scores", "model's class", "cluster")
BAND = (0.93, 0.97)  # of coverage, from which a cell is named
NAMES = [str(number) for number in range(DOCUMENTS)]
QUARTERS = ["1", "2", "3", "4"]

Floats = NDArray[np.float64]


class Corpus(NamedTuple):
    """Documents: true labels, scores, and clusters of 10."""

    truth: NDArray[np.bool_]
    score: Floats
    cluster: NDArray[np.int64]


class Cell(NamedTuple):
    """Coverage, width relative to the ideal, and proportion of samples with a warning, of one method."""

    coverage: float
    ratio: float
    warned: float
    undefined: float


def documents(predictions: str, share: float, clustered: bool, rng: np.random.Generator) -> Corpus:
    """Simulate documents of which a share is positive."""
    grid = np.linspace(-6, 6, 2001)
    density = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    middle = brentq(lambda one: float(density @ expit(one + SPREAD * grid)) - share, -30, 30)
    cluster = np.arange(DOCUMENTS) // 10
    own, of_cluster = rng.normal(size=DOCUMENTS), rng.normal(size=DOCUMENTS // 10)[cluster]
    odds = middle + SPREAD * (np.sqrt(0.7) * own + np.sqrt(0.3) * of_cluster if clustered else own)
    truth = rng.random(DOCUMENTS) < expit(odds)
    if predictions == "useless":
        return Corpus(truth, expit(rng.permutation(odds)), cluster)
    if predictions == "biased":  # too high, and far too low in a quarter of the documents
        group = rng.random(DOCUMENTS) < 0.25
        return Corpus(truth, expit(odds + np.where(group, -2.0, 1.0)), cluster)
    if predictions == "classes":  # of a model that is wrong for 8 % of the positives, and for some negatives
        wrong = rng.random(DOCUMENTS) < np.where(truth, 0.08, 0.08 * min(1.0, share / (1 - share)))
        return Corpus(truth, (truth != wrong).astype(np.float64), cluster)
    return Corpus(truth, expit(odds), cluster)


def labelled(design: str, labels: int, corpus: Corpus, seed: int) -> CorrectedCounts | None:
    """Draw documents, label them, and estimate; None if the scores do not have the uncertainty it needs."""
    score, code, names = corpus.score, np.zeros(DOCUMENTS, np.int64), ["all"]
    kind, allocation, size = design, "neyman", labels
    if design == "model's class":
        kind, allocation, code, names = "stratified", "equal", (score >= 0.5).astype(np.int64), ["no", "yes"]
        least = int(np.bincount(code, minlength=2).min())
        if least < labels // 2:  # too few of one class: as many as there are
            if least < 2:
                return None
            allocation = "neyman" if (score % 1).any() else "proportional"
    elif design == "strata of scores":
        kind, names = "stratified", QUARTERS
        code = np.minimum(np.argsort(np.argsort(score)) * 4 // DOCUMENTS, 3)
    elif design == "cluster":
        size = labels // 10
    if kind != "simple" and kind != "cluster" and design != "model's class" and not (score % 1).any():
        return None
    clusters = [str(number) for number in range(DOCUMENTS // 10)]
    of = (corpus.cluster, clusters) if design == "cluster" else (None, ())
    rows, chance = draw(
        Population(NAMES, score, code, names, *of), size, kind, allocation=allocation, seed=seed
    )
    methods = ["labels", "ppi++"] if kind in ("simple", "cluster") else ["labels", "dsl"]
    given: dict[str, Any] = {"clusters": corpus.cluster[rows]} if design == "cluster" else {}
    if kind not in ("simple", "cluster"):
        given = {"inclusion_probabilities": chance[rows], "strata": code[rows]}
        methods = methods if np.ptp(chance) > 1e-9 else ["labels", "ppi"]
    return corrected_counts(score, rows, corpus.truth[rows], methods=methods, **given)


def in_rounds(rounds: int, labels: int, corpus: Corpus, seed: int) -> CorrectedCounts:
    """Draw a simple sample, then rounds by uncertainty under a map that is fitted to the labels so far."""
    score, truth = corpus.score, corpus.truth
    rows, chances, turns = np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64)
    for turn in range(1, rounds + 1):
        rest = np.setdiff1d(np.arange(DOCUMENTS), rows)
        current, design = score, "simple"
        if turn > 1 and 0 < truth[rows].sum() < len(rows):
            current = Platt(smoothing=True).fit(score[rows], truth[rows]).transform(score)
            design = "uncertainty"
        population = Population(
            [NAMES[row] for row in rest], current[rest], np.zeros(len(rest), np.int64), ["all"]
        )
        new, chance = draw(population, labels // rounds, design, seed=seed, stage=f"round {turn}")
        rows, chances = np.append(rows, rest[new]), np.append(chances, chance[new])
        turns = np.append(turns, np.full(len(new), turn))
    return corrected_counts(
        score,
        rows,
        truth[rows],
        methods=["labels", "dsl"],
        inclusion_probabilities=chances,
        rounds=turns,
        strata=np.zeros(len(rows), np.int64),
    )


def measured(
    make: Callable[[np.random.Generator], Corpus],
    estimate: Callable[[Corpus, int], CorrectedCounts | None],
    corpora: int,
) -> list[Cell | None]:
    """Return the results of the labels alone, and of the method to report."""
    rng = np.random.default_rng(0)
    values: dict[int, list[list[float]]] = {0: [], 1: []}
    for seed in range(corpora):
        corpus = make(rng)
        result = estimate(corpus, seed)
        if result is None:
            continue
        for place, one in enumerate(result.estimates):
            share, aim = one.share, float(corpus.truth.mean())
            warned = any((one.few_warning, one.clusters_warning, one.dominant_warning))
            low, high = share.low, share.high
            if share.estimate is None or low is None or high is None:
                values[place].append([np.nan] * 4)
            else:
                hit = low - 1e-12 <= aim <= high + 1e-12
                values[place].append([hit, high - low, share.estimate - aim, warned])
    cells: list[Cell | None] = []
    for rows in values.values():
        if len(rows) < corpora / 2:
            cells.append(None)
            continue
        table = np.array(rows, np.float64)
        known = table[~np.isnan(table[:, 0])]
        if len(known) < 2:
            cells.append(None)
            continue
        hits, width, error, warned = known.T
        ideal = 2 * 1.959964 * np.sqrt((error**2).mean())
        cells.append(Cell(hits.mean(), width.mean() / ideal, warned.mean(), 1 - len(known) / len(table)))
    return cells


def cell_of(design: str, predictions: str, share: float, labels: int, corpora: int) -> list[Cell | None]:
    """Return a cell of the grid: the labels alone, and the method to report."""
    make = partial(documents, predictions, share, design == "cluster")
    return measured(make, partial(labelled, design, labels), corpora)


def round_cell(predictions: str, rounds: int, labels: int, corpora: int) -> list[Cell | None]:
    """Return a cell of the table of rounds."""
    return measured(partial(documents, predictions, 0.2, False), partial(in_rounds, rounds, labels), corpora)


def shown(cell: Cell | None) -> str:
    """Return coverage in percent, the ratio of widths, and marks."""
    if cell is None:
        return "-"
    mark = "w" if cell.warned >= 0.5 else ""
    text = f"{100 * cell.coverage:.1f}{mark} ({cell.ratio:.2f})"
    return f"**{text}**" if is_low(cell) else text


def is_low(cell: Cell) -> bool:
    """Return True if a cell without a warning covers less than the band, by a standard error."""
    return cell.warned < 0.5 and cell.coverage < BAND[0] - np.sqrt(0.95 * 0.05 / CORPORA)


def design_table(design: str, corpora: int, cells: list[tuple[str, Cell]]) -> str:
    """Return the table of a design."""
    head = [f"labels, {number}" for number in LABELS] + [f"reported, {number}" for number in LABELS]
    lines = [
        f"| predictions | positive, % | {' | '.join(head)} |",
        "|---|---:|" + "---:|" * len(head),
    ]
    for predictions in PREDICTIONS:
        for share in POSITIVES:
            row = [cell_of(design, predictions, share, number, corpora) for number in LABELS]
            if all(one is None for pair in row for one in pair):
                continue
            for number, pair in zip(LABELS, row, strict=True):
                name = f"{design}, {predictions}, {100 * share:g} % positive, {number} labels"
                cells += [(name, one) for one in pair if one is not None]
            texts = [shown(pair[place]) for place in (0, 1) for pair in row]
            lines.append(f"| {predictions} | {100 * share:g} | {' | '.join(texts)} |")
            print(design, lines[-1], flush=True)
    return f"## Design: {design}\n\n" + "\n".join(lines) + "\n"


def round_table(corpora: int, cells: list[tuple[str, Cell]]) -> str:
    """Return the table of 2 to 5 rounds."""
    lines = ["| predictions | labels | rounds | labels alone | dsl |", "|---|---:|---:|---:|---:|"]
    for predictions in ("good", "biased"):
        for labels in (200, 800):
            for rounds in (1, 2, 3, 4, 5):
                pair = round_cell(predictions, rounds, labels, corpora)
                name = f"{counted(rounds, 'round')}, {predictions}, {labels} labels"
                cells += [(name, one) for one in pair if one is not None]
                place = f"{predictions} | {labels} | {rounds}"
                lines.append(f"| {place} | {shown(pair[0])} | {shown(pair[1])} |")
                print(lines[-1], flush=True)
    return (
        "## Rounds\n\nOne in five documents is positive. The first round is a simple sample. For each "
        "later one, a map (Platt with smoothing) is fitted to the labels so far, and documents are drawn "
        "by the uncertainty of the mapped scores. The labels are divided evenly among the rounds.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def page(corpora: int) -> str:
    """Return all tables."""
    cells: list[tuple[str, Cell]] = []
    tables = [design_table(design, corpora, cells) for design in DESIGNS]
    tables.append(round_table(2 * corpora, cells))
    quiet = [(name, one) for name, one in cells if one.warned < 0.5]
    low = [f"{name}: {100 * one.coverage:.1f}" for name, one in quiet if is_low(one)]
    error = np.sqrt(0.95 * 0.05 / corpora)
    inside = sum(BAND[0] - 2 * error <= one.coverage <= BAND[1] + 2 * error for _, one in quiet)
    ratios = np.array([one.ratio for _, one in quiet])
    head = (
        "# Coverage of estimates by sampling design\n\n"
        "The tables evaluate the 95 % intervals of [`estimate`](../guide/counts.md#with-some-labels) for "
        "documents drawn by [`sample`](../guide/counts.md#which-documents-to-label) in simulations: coverage "
        "in percent and, in parentheses, the mean width relative to the ideal width, which is 2 × 1.96 true "
        f"standard errors of the estimate ({corpora:,} corpora of {DOCUMENTS:,} documents per cell, "
        "twice as many for rounds; the "
        f"standard error of a coverage of 95 % is {100 * error:.1f} points). *reported* is the method that "
        "`estimate` reports: `dsl`, or `ppi++` for simple samples and clusters. *w*: at least half of the "
        "samples have a warning, for example of few positive labels. **Bold**: coverage below "
        f"{100 * BAND[0]:.0f} % by more than a standard error, without a warning in most samples.\n\n"
        "Predictions: *good*, calibrated probabilities; *useless*, the same in random order; *biased*, "
        "log-odds too high by 1, and too low by 2 in a quarter of the documents; *classes*, labels 0 and 1 "
        "that are wrong for 8 % of the positives and as many negatives.\n\n"
        f"Most samples of {len(quiet)} of the {len(cells)} cells have no warning. The mean coverage of these "
        f"cells is {100 * np.mean([one.coverage for _, one in quiet]):.1f} %. {inside} of them cover "
        f"{100 * BAND[0]:.0f} to {100 * BAND[1]:.0f} %, give or take two standard errors. Their median width "
        f"is {np.median(ratios):.2f} of the ideal (90 % of them: {np.quantile(ratios, 0.05):.2f} to "
        f"{np.quantile(ratios, 0.95):.2f}).\n\n"
        + (f"Cells in bold: {'; '.join(low)}.\n\n" if low else "")
        + "`python scripts/sampling_coverage.py` writes this page.\n"
    )
    return "\n".join([head, *tables])


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else CORPORA
    TARGET.write_text(page(number), encoding="utf-8")
