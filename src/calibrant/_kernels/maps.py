"""Apply step functions and piecewise linear functions to many scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit


@jit
def _count_at_most(edge: NDArray[np.float64], score: float) -> int:
    """The number of sorted edges that are at most ``score``; halving without branches."""
    first = 0
    length = len(edge)
    while length > 0:
        half = (length + 1) >> 1
        first += half * (edge[first + half - 1] <= score)
        length -= half
    return first


@jit
def steps(
    edge: NDArray[np.float64],
    value: NDArray[np.float64],
    score: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write ``value[i]`` where i edges are at most the score; one value more than edges."""
    for i in range(len(score)):
        out[i] = value[_count_at_most(edge, score[i])]


@jit
def interpolate(
    knot: NDArray[np.float64],
    value: NDArray[np.float64],
    score: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """Write the values of the line through the knots, flat beyond them; it never leaves [value, next]."""
    last = len(knot) - 1
    for i in range(len(score)):
        q = score[i]
        right = _count_at_most(knot, q)
        if right == 0:
            out[i] = value[0]
        elif right > last:
            out[i] = value[last]
        else:
            low, high = value[right - 1], value[right]
            share = (q - knot[right - 1]) / (knot[right] - knot[right - 1])
            out[i] = min(high, low + (high - low) * share)
