"""Rules of peers for bins, written down in plain numpy: what shows that a named rule is why they differ."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics import class_predictions, top_view
from crosscheck.inputs import ClassInput, Input

UPPER = (
    "The peer puts a score on the edge between two bins into the upper one; Guo et al. and "
    "calibrant into the lower one. With the peer's rule the numbers are equal."
)
OWN_BIN = (
    "The peer puts a score of exactly 1 into a separate bin above the last one, and a score on another "
    "edge into the upper bin. With these rules the numbers are equal."
)


def errors(index: NDArray[np.int64], label: Any, score: Any, norm: str) -> float:
    """The plug-in error of given bins: ``l1`` (ECE), ``l2`` (root mean square) or ``max``."""
    score = np.asarray(score, np.float64)
    index = np.unique(index, return_inverse=True)[1]  # without the empty ones
    n = np.bincount(index)
    gap = np.abs(np.bincount(index, np.asarray(label, np.float64) - score)) / n
    if norm == "max":
        return float(gap.max())
    power = {"l1": 1, "l2": 2}[norm]
    return float((n @ gap**power / n.sum()) ** (1 / power))


def upper(score: Any, edges: Any) -> NDArray[np.int64]:
    """Bins [lo, hi), the last one closed."""
    found: NDArray[np.int64] = np.searchsorted(
        np.asarray(edges)[1:-1], np.asarray(score, np.float64), "right"
    )
    return found


def own_bin(score: Any, edges: Any) -> NDArray[np.int64]:
    """Bins [lo, hi), and one more for scores on the last edge."""
    found: NDArray[np.int64] = np.searchsorted(np.asarray(edges), np.asarray(score, np.float64), "right")
    return found


def top_pairs(one: ClassInput) -> Input:
    """Return 1 if the top label is correct, and its probability."""
    pairs = top_view(class_predictions(one.label, one.prob))
    return Input(one.name, np.asarray(pairs.label, np.int64), np.asarray(pairs.score))
