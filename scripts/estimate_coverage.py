"""Measure the coverage of corrected counts, for the guide.

python scripts/estimate_coverage.py          writes docs/guide/estimate_coverage.md

4,000 documents in four periods, of which some are labelled at random; 1,000 corpora a cell, seed 0.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from calibrant.propagate import METHODS, corrected_counts

TARGET = Path(__file__).resolve().parent.parent / "docs" / "guide" / "estimate_coverage.md"
DOCUMENTS = 4000
LABELS = (60, 200, 800)
CASES = ("calibrated", "too high", "shifting prior", "rare")
CORPORA = 1000

Floats = NDArray[np.float64]
Cell = tuple[str, int, str]


def corpus(case: str, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats, NDArray[np.int64]]:
    """True labels, scores and periods."""
    period = rng.integers(0, 4, DOCUMENTS)
    if case == "shifting prior":
        truth = rng.random(DOCUMENTS) < np.array([0.1, 0.2, 0.3, 0.4])[period]
        return truth, expit(rng.normal(np.where(truth, 1.0, -1.0), 1)), period
    z = rng.normal(-4.5 if case == "rare" else -1.5, 1.5, DOCUMENTS)
    truth = rng.random(DOCUMENTS) < expit(z)
    return truth, expit(z + (0.0 if case == "calibrated" else 0.7)), period


def measured(corpora: int) -> dict[Cell, list[tuple[bool, float]]]:
    """Whether each interval, of all and of each period, holds the truth; and its width in documents."""
    found: dict[Cell, list[tuple[bool, float]]] = defaultdict(list)
    for case in CASES:
        for labels in LABELS:
            rng = np.random.default_rng(0)
            for _ in range(corpora):
                truth, score, period = corpus(case, rng)
                rows = rng.choice(DOCUMENTS, labels, replace=False)
                estimates = corrected_counts(score, rows, truth[rows], periods=period).estimates
                for one in estimates:
                    if one.count_low is None or one.count_high is None:
                        continue
                    inside = truth if one.period is None else truth[period == int(one.period)]
                    hit = bool(one.count_low <= inside.sum() <= one.count_high)
                    place = one.method if one.period is None else f"{one.method} by period"
                    found[case, labels, place].append((hit, one.count_high - one.count_low))
    return found


def table(found: dict[Cell, list[tuple[bool, float]]], corpora: int) -> str:
    """Coverage and mean width as a table."""
    heads = [f"{labels} labels" for labels in LABELS]
    lines = [
        f"Coverage of 95 % intervals in percent, and their mean width in documents ({corpora:,} corpora of "
        f"{DOCUMENTS:,} documents; standard error at most {50 / np.sqrt(corpora):.1f} points, near 95 % "
        f"{100 * np.sqrt(0.95 * 0.05 / corpora):.1f}). Written by `scripts/estimate_coverage.py`.",
        "",
        f"| scores | method | {' | '.join(f'{head}, all' for head in heads)} | "
        f"{' | '.join(f'{head}, a period' for head in heads)} |",
        "|---|---|" + "---:|" * 6,
    ]
    for case in CASES:
        for method in METHODS:
            cells = []
            for place in (method, f"{method} by period"):
                for labels in LABELS:
                    values = np.array(found[case, labels, place], np.float64).reshape(-1, 2)
                    shown = (
                        f"{100 * values[:, 0].mean():.1f} ({values[:, 1].mean():.0f})" if len(values) else "-"
                    )
                    cells.append(shown)
            lines.append(f"| {case} | `{method}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else CORPORA
    TARGET.write_text(table(measured(number), number), encoding="utf-8")
