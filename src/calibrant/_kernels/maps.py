"""Step functions and piecewise linear functions of many scores, and the slopes of Venn-Abers."""

from __future__ import annotations

import numpy as np

from calibrant._kernels.jit import Floats, Integers, by_size

_BLOCK = 1024


@by_size
def _count_at_most(edge: Floats, score: Floats, count: Integers) -> None:
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


@by_size
def steps(edge: Floats, value: Floats, score: Floats, out: Floats) -> None:
    """Write ``value[i]`` where i edges are at most the score; one value more than edges."""
    count = np.empty(_BLOCK, np.int64)
    for start in range(0, len(score), _BLOCK):
        stop = min(len(score), start + _BLOCK)
        _count_at_most(edge, score[start:stop], count)
        for i in range(stop - start):
            out[start + i] = value[count[i]]


@by_size
def interpolate(knot: Floats, value: Floats, score: Floats, out: Floats) -> None:
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


@by_size
def _links(x: Floats, y: Floats) -> Integers:
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


@by_size
def slopes_with_positive(
    left_x: Floats, left_y: Floats, right_x: Floats, right_y: Floats, left_at: Integers, right_at: Integers
) -> Floats:
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
