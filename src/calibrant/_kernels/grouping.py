"""Items in order of their codes, by counting, and the groups that have equal codes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit

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
    last_code, last_within = -1, -1
    for i in range(len(items)):
        item_code, item_within = code[items[i]], within[items[i]]
        start[groups] = i  # for the next item to overwrite, unless a group begins here: no branch to guess
        groups += (item_code != last_code) | (item_within != last_within)
        last_code, last_within = item_code, item_within
    return groups
