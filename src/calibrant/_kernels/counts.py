"""The distribution of a sum of independent steps of -1, 0 and 1: document counts, and differences of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._kernels._jit import jit

NEGLIGIBLE = 1e-30  # mass at either end that is dropped, a cell at a time


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
    now = np.zeros(lowest + highest + 3)
    after = np.zeros(lowest + highest + 3)
    first = lowest + 1  # where the sum 0 stands, with a free cell at both ends
    last = first
    now[first] = 1.0
    for i in range(len(up)):
        if down[i] <= 0 and up[i] <= 0:
            continue
        stay = max(0.0, 1.0 - down[i] - up[i])
        begin = first - 1 if down[i] > 0 else first
        end = last + 1 if up[i] > 0 else last
        for k in range(begin, end + 1):
            after[k] = 0.0
        for k in range(first, last + 1):
            after[k] += stay * now[k]
        if up[i] > 0:
            for k in range(first, last + 1):
                after[k + 1] += up[i] * now[k]
        if down[i] > 0:
            for k in range(first, last + 1):
                after[k - 1] += down[i] * now[k]
        first, last = begin, end
        while first < last and after[first] < NEGLIGIBLE:
            first += 1
        while first < last and after[last] < NEGLIGIBLE:
            last -= 1
        now, after = after, now
    return first - lowest - 1, now[first : last + 1].copy()
