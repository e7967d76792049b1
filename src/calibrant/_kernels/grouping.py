"""Items in order of their codes, by counting, and the groups that have equal codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit

Integers = NDArray[np.int64]


@jit
def counting_sort(code: NDArray[Any], items: NDArray[Any], sorted_items: NDArray[Any]) -> None:
    """Write items in order of their code, those of one code in the order of ``items``.

    Codes count from 0; empty ``items`` stand for all of them as they come.
    """
    place = np.zeros(1, np.int64)
    if len(code):
        place = np.zeros(code.max() + 2, np.int64)
    for i in range(len(code)):
        place[code[i] + 1] += 1
    for i in range(1, len(place)):
        place[i] += place[i - 1]
    given = len(items) > 0
    for i in range(len(code)):
        item = items[i] if given else i
        at = code[item]
        sorted_items[place[at]] = item
        place[at] += 1


@jit
def group_starts(code: NDArray[Any], within: NDArray[Any], items: NDArray[Any], start: Integers) -> int:
    """Write where code or ``within`` changes along sorted items; return how many groups there are."""
    groups = 0
    for i in range(len(items)):
        new = i == 0 or code[items[i]] != code[items[i - 1]] or within[items[i]] != within[items[i - 1]]
        if new:
            start[groups] = i
            groups += 1
    return groups
