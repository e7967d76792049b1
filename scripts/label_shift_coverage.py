"""Measure the coverage of proportions under label shift, for the guide.

python scripts/label_shift_coverage.py [CORPORA]     writes docs/studies/label_shift_coverage.md

Corpora with labels of one group, and a second group without labels, whose classes have other frequencies, and
estimates by `calibrant estimate --by group`; 100 corpora per cell, seed 0. Finished cells are kept in the
folder that the environment variable CALIBRANT_STORE names.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calibrant.estimation.shifted_shares import SHIFTS
from calibrant.estimation.verbs import estimate

TARGET = Path(__file__).resolve().parent.parent / "docs" / "studies" / "label_shift_coverage.md"
CORPORA = 100
SIZE = 1000  # documents of the shifted group
PER_CLUSTER = 10
MOSTLY = 90  # percentage of corpora without an estimate, from which on no coverage is shown
WARNINGS = ("few_warning", "clusters_warning", "dominant_warning")
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
        Number of labels, of documents of the first group.
    model
        ``calibrated``, ``overconfident`` (log-odds doubled), ``weak`` (classes overlap), ``skewed`` (not
        calibrated by any temperature and bias), ``labels`` (only the most probable class is known) or
        ``useless``.
    clustered
        True if documents of a cluster resemble each other.
    source
        Proportion of the first class in the first group; None: all classes are equally frequent there.
    """

    classes: int
    share: float
    labels: int
    model: str = "calibrated"
    clustered: bool = False
    source: float | None = None


def frequencies(first: float | None, classes: int) -> Floats:
    """Return the frequencies of classes, of which the first has one, and the others share the rest."""
    first = 1 / classes if first is None else first
    return np.array([first, *[(1 - first) / (classes - 1)] * (classes - 1)])


def draw(rng: np.random.Generator, n: int, share: Floats, cell: Cell) -> tuple[Floats, Any, Any]:
    """Return probabilities, classes and clusters."""
    width = len(share)
    cluster = np.arange(n) // PER_CLUSTER
    if cell.clustered:  # half of the documents have the class of their cluster
        own = rng.choice(width, cluster.max() + 1, p=share)[cluster]
        y = np.where(rng.random(n) < 0.5, own, rng.choice(width, n, p=share))
    else:
        y = rng.choice(width, n, p=share)
    apart = {"weak": 1.0, "useless": 0.0}.get(cell.model, 1.8)
    noise = rng.normal(size=(n, width))
    if cell.clustered:
        noise = 0.8 * noise + 0.6 * rng.normal(size=(cluster.max() + 1, width))[cluster]
    if cell.model == "skewed":
        noise = (rng.gamma(1.0, 1.0, size=(n, width)) - 1.0) * (1 + 0.5 * (y == 0))[:, None]
    # Densities of normal features around the unit vector of the class: posteriors are a softmax.
    logits = (apart or 1.0) * (noise + apart * (np.arange(width) == y[:, None]))
    logits *= 2.0 if cell.model == "overconfident" else 1.0
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True), y, cluster


def table_of(rng: np.random.Generator, cell: Cell) -> tuple[pa.Table, Any]:
    """Return a table for `calibrant estimate`, and the classes of the shifted group."""
    one = draw(rng, cell.labels, frequencies(cell.source, cell.classes), cell)
    two = draw(rng, SIZE, frequencies(cell.share, cell.classes), cell)
    score = np.concatenate([one[0], two[0]])
    names = np.array([f"class {k}" for k in range(cell.classes)])
    columns: dict[str, Any] = {
        "group": np.repeat(["labels", "new"], [cell.labels, SIZE]),
        "label": [*names[one[1]], *[None] * SIZE],
    }
    if cell.model == "labels":
        columns["score"] = names[score.argmax(axis=1)]
    else:
        columns |= {f"p_{name}": score[:, k] for k, name in enumerate(names)}
    if cell.clustered:
        columns["cluster"] = np.concatenate([one[2], two[2] + 10**6])
    return pa.table(columns), two[1]


def simulate(cell: Cell, corpora: int, method: str, seed: int = 0) -> dict[str, float]:
    """Return the coverage and width of a method.

    ``first`` and ``all`` are the coverage of the first class and of all classes, ``width`` that of the first,
    ``refused`` and ``warned`` percentages of estimates without an interval, and of those with a warning.
    """
    rng = np.random.default_rng([seed, *repr(cell).encode()])
    kept = []
    for _ in range(corpora):
        table, y = table_of(rng, cell)
        truth = np.bincount(y, minlength=cell.classes) / SIZE
        score = "score" if cell.model == "labels" else "p_*"
        found = estimate(table, by="group", score=score, view="classes", methods=method)
        rows = [one for one in found.estimates if one.period == "new"]
        if any(one.share.low is None for one in rows):
            continue
        low, high = (np.array([getattr(one.share, end) for one in rows]) for end in ("low", "high"))
        covered = (low - 1e-12 <= truth) & (truth <= high + 1e-12)
        warned = any(getattr(one, name) is not None for one in rows for name in WARNINGS)
        kept.append([*covered, high[0] - low[0], warned])
    mean = np.mean(kept, axis=0) if kept else np.full(cell.classes + 2, np.nan)
    return {
        "first": 100 * float(mean[0]),
        "all": 100 * float(mean[: cell.classes].mean()),
        "width": float(mean[-2]),
        "warned": 100 * float(mean[-1]),
        "refused": 100 * (1 - len(kept) / corpora),
    }


CELLS = [
    *(Cell(width, 0.35, 60, model) for model in ("calibrated", "labels") for width in (2, 3, 4)),
    *(Cell(width, 0.75, 250, model) for width in (2, 4) for model in ("labels", "overconfident", "skewed")),
    *(Cell(width, 0.3, labels, source=0.05) for width in (2, 3) for labels in (60, 200, 800)),
    *(Cell(width, 0.3, 200, clustered=True) for width in (2, 3, 4)),
    Cell(3, 0.3, 200, "labels", clustered=True),
    *(Cell(width, 0.3, labels, "useless") for width in (2, 3, 4) for labels in (60, 300)),
    *(Cell(4, 0.6, labels, "weak") for labels in (60, 200, 800)),
    *(Cell(width, 0.01, 800, source=0.05) for width in (2, 3)),
]
"""Cells that were not used to design the intervals; the threshold of the warning comes from them."""
TEXT = """# Coverage of proportions under label shift

The table evaluates the 95 % intervals of `prior-shift` and `em` by `calibrant estimate --by group`, \
in {corpora} simulated corpora per cell. A first group has all labels. A second group of {size:,} \
documents has no labels; *proportion* is that of its first class, and the other classes share the \
rest equally. Each method has the coverage of this proportion in percent, in parentheses the mean \
coverage of all classes, and the mean width. *warned* is the percentage of corpora in which few \
labels or few clusters have a warning, and *refused* the percentage without an estimate; the other \
numbers are those of the other corpora. The standard error of a coverage is about {error:.1f} \
points.

The classes are equally frequent among the labels, unless the table says how frequent the first one \
is (*of labels*). *overconfident* scores are probabilities with doubled log-odds, *weak* ones \
overlap, and *skewed* ones are those of a model that no temperature and bias makes calibrated, which \
`em` supposes. *labels* are the predicted classes alone, for which both methods are the same, so \
that only `prior-shift` is shown; *useless* scores do not depend on the class. In *clusters* of \
{cluster}, documents resemble each other; 200 labels are those of 20 clusters.

`python scripts/label_shift_coverage.py` writes this page.
"""


def table(cells: list[Cell], corpora: int) -> Iterator[str]:
    """Yield the lines of a table."""
    store = os.environ.get("CALIBRANT_STORE")
    yield "| classes | proportion | labels | scores | prior-shift | em | warned, % | refused, % |"
    yield "|---:|---:|---:|---|---:|---:|---:|---:|"
    for cell in cells:
        found = {}
        for method in SHIFTS if cell.model != "labels" else SHIFTS[:1]:
            name = f"shift {cell} {method} {corpora}.json".replace(" ", "_")
            kept = None if store is None else Path(store) / name
            if kept is not None and kept.exists():
                found[method] = json.loads(kept.read_text(encoding="utf-8"))
                continue
            found[method] = simulate(cell, corpora, method)
            if kept is not None:
                kept.write_text(json.dumps(found[method]), encoding="utf-8")
        shown = {method: one for method, one in found.items() if one["refused"] <= MOSTLY}
        texts = [
            "-" if method not in shown else "{first:.1f} ({all:.1f}) {width:.3f}".format(**shown[method])
            for method in SHIFTS
        ]
        scores = cell.model + (", clusters" if cell.clustered else "")
        scores += "" if cell.source is None else f", {100 * cell.source:g} % of labels"
        warned = f"{max(one['warned'] for one in shown.values()):.0f}" if shown else "-"
        refused = f"{max(one['refused'] for one in found.values()):.0f}"
        row = [str(cell.classes), f"{cell.share:g}", str(cell.labels), scores, *texts, warned, refused]
        print(" | ".join(row), flush=True)
        yield "| " + " | ".join(row) + " |"
    yield ""


def main(corpora: int) -> None:
    """Write the page."""
    error = 100 * (0.95 * 0.05 / corpora) ** 0.5
    lines = [TEXT.format(corpora=corpora, size=SIZE, error=error, cluster=PER_CLUSTER)]
    lines += table(CELLS, corpora)
    TARGET.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CORPORA)
