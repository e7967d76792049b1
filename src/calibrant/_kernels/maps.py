"""Apply step functions and piecewise linear functions to many scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit

_BLOCK = 1024


@jit
def _count_at_most(edge: NDArray[np.float64], score: NDArray[np.float64], count: NDArray[np.int64]) -> None:
    """Write the number of sorted edges that are at most each score.

    The searches of a block halve in step: without branches, and without waiting for one another.
    """
    for i in range(len(score)):
        count[i] = 0
    length = len(edge)
    while length > 0:
        half = (length + 1) >> 1
        for i in range(len(score)):
            count[i] += half * (edge[count[i] + half - 1] <= score[i])
        length -= half


@jit
def steps(
    edge: NDArray[np.float64],
    value: NDArray[np.float64],
    score: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write ``value[i]`` where i edges are at most the score; one value more than edges."""
    count = np.empty(_BLOCK, np.int64)
    for start in range(0, len(score), _BLOCK):
        stop = min(len(score), start + _BLOCK)
        _count_at_most(edge, score[start:stop], count)
        for i in range(stop - start):
            out[start + i] = value[count[i]]


@jit
def interpolate(
    knot: NDArray[np.float64],
    value: NDArray[np.float64],
    score: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the values of the line through the knots, flat beyond them; it never leaves [value, next]."""
    last = len(knot) - 1
    count = np.empty(_BLOCK, np.int64)
    for start in range(0, len(score), _BLOCK):
        stop = min(len(score), start + _BLOCK)
        _count_at_most(knot, score[start:stop], count)
        for i in range(stop - start):
            right = count[i]
            if right == 0:
                out[start + i] = value[0]
            elif right > last:
                out[start + i] = value[last]
            else:
                low, high = value[right - 1], value[right]
                share = (score[start + i] - knot[right - 1]) / (knot[right] - knot[right - 1])
                out[start + i] = min(high, low + (high - low) * share)
