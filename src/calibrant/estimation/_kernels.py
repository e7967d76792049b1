"""The distribution of a sum of independent steps of -1, 0 and 1: document counts, and differences of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from calibrant._kernels.jit import jit

NEGLIGIBLE = 1e-30  # mass at either end that is dropped, a cell at a time
LARGE_SD = 20.0  # from here on the normal distribution with skewness is within 1e-3 of the exact one
REACH = 8.0  # standard deviations


@jit
def sum_of_steps(down: Any, up: Any) -> Any:
    """Return the smallest value of the sum that is kept, and the probabilities of it and those after it.

    Step i is -1 with probability ``down[i]``, 1 with ``up[i]``, else 0. One step after another is convolved;
    all terms are positive, so that every probability keeps its relative accuracy.
    """
    lowest, highest = 0, 0
    for i in range(len(up)):
        lowest += down[i] > 0
        highest += up[i] > 0
    now = np.zeros(lowest + highest + 5)
    after = np.zeros(lowest + highest + 5)
    first = lowest + 2  # where the sum 0 stands, with two free cells at both ends
    last = first
    now[first] = 1.0
    for i in range(len(up)):
        if down[i] <= 0 and up[i] <= 0:
            continue
        stay = max(0.0, 1.0 - down[i] - up[i])
        begin = first - 1 if down[i] > 0 else first
        end = last + 1 if up[i] > 0 else last
        now[first - 2 : first] = 0.0
        now[last + 1 : last + 3] = 0.0
        for k in range(begin, end + 1):
            after[k] = stay * now[k] + up[i] * now[k - 1] + down[i] * now[k + 1]
        first, last = begin, end
        while first < last and after[first] < NEGLIGIBLE:
            first += 1
        while first < last and after[last] < NEGLIGIBLE:
            last -= 1
        now, after = after, now
    return first - lowest - 2, now[first : last + 1].copy()


@jit
def add_count(chance: Any, share: float, mixed: Any) -> None:
    """Add ``share`` times the distribution of how many of n independent events happen to ``mixed`` (n + 1,).

    It is exact; of many uncertain events its normal form with skewness (Edgeworth's first term).
    """
    mean, variance, third = 0.0, 0.0, 0.0
    for p in chance:
        noise = p * (1.0 - p)
        mean += p
        variance += noise
        third += noise * (1.0 - 2.0 * p)
    if variance < LARGE_SD**2:
        up = chance[(chance > 0.0) & (chance < 1.0)]
        lowest, summed = sum_of_steps(np.zeros(len(up)), up)
        lowest += np.sum(chance >= 1.0)
        for k in range(len(summed)):
            mixed[lowest + k] += share * summed[k]
        return
    sd = math.sqrt(variance)
    skewness = third / sd**3
    first, last = max(0, int(mean - REACH * sd)), min(len(chance), int(mean + REACH * sd))
    before = _below((first - 0.5 - mean) / sd, skewness)
    for k in range(first, last + 1):
        after = _below((k + 0.5 - mean) / sd, skewness)
        mixed[k] += share * max(after - before, 0.0)
        before = after


@jit
def _below(z: float, skewness: float) -> float:
    density = math.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    below = 0.5 * math.erfc(-z / math.sqrt(2.0)) + skewness / 6.0 * (1.0 - z * z) * density
    return min(max(below, 0.0), 1.0)


@jit
def add_counts(chance: Any, code: Any, start: Any, share: float, mixed: Any) -> None:
    """Do `add_count` for groups of events: group g has ``chance[code[start[g]:start[g + 1]]]``.

    ``mixed`` holds the distributions one after another, ``start[g + 1] - start[g] + 1`` cells of group g.
    """
    for group in range(len(start) - 1):
        first, last = start[group], start[group + 1]
        add_count(chance[code[first:last]], share, mixed[first + group : last + group + 1])
