"""One-pass checks that name the first bad row."""

from __future__ import annotations

from typing import Any

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
def any_other_integer(label: NDArray[Any]) -> bool:
    """Whether an integer label is neither 0 nor 1; much faster than finding it."""
    seen = label[0]
    for i in range(len(label)):
        seen |= label[i]
    return bool(seen != 0 and seen != 1)


@jit
def first_other_label(label: NDArray[Any]) -> int:
    """Index of the first label other than 0 and 1, or -1."""
    n = len(label)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        bad = 0
        for i in range(start, stop):
            bad += not (label[i] == 0 or label[i] == 1)
        if bad:
            for i in range(start, stop):
                if not (label[i] == 0 or label[i] == 1):
                    return i
    return -1
