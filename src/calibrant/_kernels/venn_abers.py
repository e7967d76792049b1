"""Slopes of a convex minorant after one more pair, for every place where the pair may be put."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit


@jit
def _links(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.int64]:
    """Before each point, the one that precedes it on the lower hull of the points so far; -1 for none."""
    before = np.empty(len(x), np.int64)
    for i in range(len(x)):
        corner = i - 1
        while corner > 0 and before[corner] >= 0:
            far = before[corner]
            rise = (y[corner] - y[far]) * (x[i] - x[far])
            if rise < (y[i] - y[far]) * (x[corner] - x[far]):
                break
            corner = far
        before[i] = corner
    return before


@jit
def slopes_with_positive(
    left_x: NDArray[np.float64],
    left_y: NDArray[np.float64],
    right_x: NDArray[np.float64],
    right_y: NDArray[np.float64],
    left_at: NDArray[np.int64],
    right_at: NDArray[np.int64],
) -> NDArray[np.float64]:
    """The minorant's slope at a positive pair between left point ``left_at`` and right point ``right_at``.

    The points are cumulative sums (weight, weight of the positives). The pair of weight 1 moves the right
    ones by (1, 1). Its slope is that of the common tangent of the hulls on its left and on its right.
    """
    previous = _links(left_x, left_y)
    last = len(right_x) - 1
    mirrored = _links(right_x[last] - right_x[::-1], right_y[::-1].copy())  # a mirrored hull is lower too
    slope = np.empty(len(left_at))
    for i in range(len(left_at)):
        left, right = left_at[i], right_at[i]
        moving = True
        while moving:
            moving = False
            run = right_x[right] + 1.0 - left_x[left]
            rise = right_y[right] + 1.0 - left_y[left]
            far = previous[left]
            while far >= 0 and (right_y[right] + 1.0 - left_y[far]) * run >= rise * (
                right_x[right] + 1.0 - left_x[far]
            ):
                left = far
                run = right_x[right] + 1.0 - left_x[left]
                rise = right_y[right] + 1.0 - left_y[left]
                far = previous[left]
                moving = True
            far = last - mirrored[last - right] if mirrored[last - right] >= 0 else -1
            while far >= 0 and (right_y[far] + 1.0 - left_y[left]) * run <= rise * (
                right_x[far] + 1.0 - left_x[left]
            ):
                right = far
                run = right_x[right] + 1.0 - left_x[left]
                rise = right_y[right] + 1.0 - left_y[left]
                far = last - mirrored[last - right] if mirrored[last - right] >= 0 else -1
                moving = True
        slope[i] = (right_y[right] + 1.0 - left_y[left]) / (right_x[right] + 1.0 - left_x[left])
    return slope
