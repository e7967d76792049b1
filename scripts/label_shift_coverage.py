"""Measure the coverage of proportions under label shift, for the guide.

python scripts/label_shift_coverage.py [CORPORA]     writes docs/studies/label_shift_coverage.md

Corpora with labels of one group, whose classes are equally frequent, and a second group without labels, whose
classes have other frequencies; 200 corpora per cell, seed 0.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.estimation.shifted_shares import METHODS, label_shift

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "label_shift_coverage.md"
CORPORA = 200
SIZE = 1000  # documents of the shifted group
PER_CLUSTER = 10
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One situation.

    Attributes
    ----------
    classes
        Number of classes.
    share
        Proportion of the first class in the shifted group; the others share the rest equally.
    labels
        Number of labels.
    model
        ``calibrated``, ``overconfident`` (log-odds doubled), ``weak`` (classes overlap) or ``skewed`` (not
        calibrated by any temperature and bias).
    clustered
        True if documents of a cluster resemble each other.
    """

    classes: int
    share: float
    labels: int
    model: str = "calibrated"
    clustered: bool = False


def draw(rng: np.random.Generator, n: int, share: Floats, cell: Cell) -> tuple[Floats, Any, Any]:
    """Return probabilities, classes and clusters."""
    width = len(share)
    cluster = np.arange(n) // PER_CLUSTER
    if cell.clustered:  # half of the documents have the class of their cluster
        own = rng.choice(width, cluster.max() + 1, p=share)[cluster]
        y = np.where(rng.random(n) < 0.5, own, rng.choice(width, n, p=share))
    else:
        y = rng.choice(width, n, p=share)
    apart = 1.0 if cell.model == "weak" else 1.8
    noise = rng.normal(size=(n, width))
    if cell.clustered:
        noise = 0.8 * noise + 0.6 * rng.normal(size=(cluster.max() + 1, width))[cluster]
    if cell.model == "skewed":
        noise = (rng.gamma(1.0, 1.0, size=(n, width)) - 1.0) * (1 + 0.5 * (y == 0))[:, None]
    # Densities of normal features around the unit vector of the class: posteriors are a softmax.
    logits = apart * (noise + apart * (np.arange(width) == y[:, None]))
    logits *= 2.0 if cell.model == "overconfident" else 1.0
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True), y, cluster


def simulate(cell: Cell, corpora: int, method: str, seed: int = 0) -> tuple[float, float, float, float]:
    """Return the coverage of the first class and of all, its mean width, and the percentage refused."""
    rng = np.random.default_rng([seed, cell.classes, int(1000 * cell.share), cell.labels, cell.clustered])
    width = cell.classes
    target = np.full(width, (1 - cell.share) / (width - 1))
    target[0] = cell.share
    inside, widths, refused = [], [], 0
    for _ in range(corpora):
        source = draw(rng, cell.labels, np.full(width, 1 / width), cell)
        other = draw(rng, SIZE, target, cell)
        score = np.concatenate([source[0], other[0]])
        found = label_shift(
            score,
            np.arange(cell.labels),
            source[1],
            groups=np.repeat(["labels", "new"], [cell.labels, SIZE]),
            clusters=np.concatenate([source[2], other[2] + 10**6]) if cell.clustered else None,
            method=method,
        )
        shares = [one.share for one in found.shares if one.group == "new"]
        if any(one.low is None for one in shares):
            refused += 1
            continue
        true = np.bincount(other[1], minlength=width) / SIZE
        low, high = (np.array([getattr(one, end) for one in shares], float) for end in ("low", "high"))
        inside.append((low - 1e-12 <= true) & (true <= high + 1e-12))
        widths.append(high - low)
    if not inside:
        return float("nan"), float("nan"), float("nan"), 100.0
    each = 100 * np.mean(inside, axis=0)
    return float(each[0]), float(each.mean()), float(np.mean(widths, axis=0)[0]), 100 * refused / corpora


CELLS = [
    *(Cell(2, share, labels) for share in (0.05, 0.2, 0.5, 0.9) for labels in (60, 300)),
    *(Cell(width, share, labels) for width in (3, 5) for share in (0.02, 0.5, 0.9) for labels in (100, 400)),
    *(Cell(width, 0.1, 200, model) for width in (2, 3) for model in ("overconfident", "weak", "skewed")),
    *(Cell(width, share, 400, clustered=True) for width in (2, 3) for share in (0.1, 0.7)),
]


def table(corpora: int) -> Iterator[str]:
    """Yield the lines of the table."""
    yield "| classes | proportion | labels | probabilities | clusters | confusion | em | refused, % |"
    yield "|---:|---:|---:|---|---|---:|---:|---:|"
    for cell in CELLS:
        texts = []
        refused = 0.0
        for method in METHODS:
            first, mean, width, none = simulate(cell, corpora, method)
            texts.append(f"{first:.1f} ({mean:.1f}) {width:.3f}")
            refused = max(refused, none)
        row = [str(cell.classes), f"{cell.share:g}", str(cell.labels), cell.model]
        row += ["yes" if cell.clustered else "no", *texts, f"{refused:.0f}"]
        print(" | ".join(row), flush=True)
        yield "| " + " | ".join(row) + " |"
    yield ""


def main(corpora: int) -> None:
    """Write the page."""
    lines = [
        "# Coverage of proportions under label shift",
        "",
        "The table evaluates the 95 % intervals of `calibrant.estimation.label_shift` by simulation: "
        f"{corpora} corpora per cell. A first group has all labels, and its classes are equally frequent. A "
        f"second group of {SIZE:,} documents has no labels; *proportion* is that of its first class. Each "
        "method has the coverage of this proportion in percent, in parentheses the mean coverage of all "
        "classes, and the mean width. With 200 corpora, the standard error of the coverage is 1.5 points.",
        "",
        "*overconfident* probabilities have doubled log-odds, *weak* ones overlap, and *skewed* ones are "
        "those of a model that no temperature and bias makes calibrated, which `em` supposes. In *clusters* "
        f"of {PER_CLUSTER}, documents resemble each other.",
        "",
        "`python scripts/label_shift_coverage.py` writes this page.",
        "",
    ]
    lines += table(corpora)
    TARGET.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CORPORA)
