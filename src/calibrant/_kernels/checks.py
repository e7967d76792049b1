"""One-pass checks that name the first bad row."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit

_BLOCK = 4096


@jit
def first_outside_unit_interval(score: NDArray[Any]) -> int:
    """Index of the first score that is not in [0, 1] (NaN included), or -1."""
    n = len(score)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        bad = 0
        for i in range(start, stop):  # no branch inside, so that it vectorises
            bad += not (score[i] >= 0.0 and score[i] <= 1.0)
        if bad:
            for i in range(start, stop):
                if not (score[i] >= 0.0 and score[i] <= 1.0):
                    return i
    return -1


@jit
def first_other_label(label: NDArray[np.uint8]) -> int:
    """Index of the first byte other than 0 and 1, or -1."""
    n = len(label)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        seen = np.uint8(0)
        for i in range(start, stop):
            seen |= label[i]
        if seen > 1:
            for i in range(start, stop):
                if label[i] > 1:
                    return i
    return -1


@jit
def to_labels(values: NDArray[Any], label: NDArray[np.bool_]) -> int:
    """Write ``values != 0`` to ``label``; return the index of the first value not 0 or 1, or -1."""
    n = len(values)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        bad = 0
        for i in range(start, stop):
            label[i] = values[i] != 0
            bad += not (values[i] == 0 or values[i] == 1)
        if bad:
            for i in range(start, stop):
                if not (values[i] == 0 or values[i] == 1):
                    return i
    return -1
