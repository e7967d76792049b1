"""Pairs of mentions by blocks of rows: counts over samples, and lists."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]


@jit
def mention_before(entities: Labels, out: Labels) -> None:
    """Write the nearest earlier mention of each mention's entity in each sample, or -1.

    Entities are identified by their first mention.
    """
    last = np.empty(entities.shape[1], np.int32)
    for sample in range(len(entities)):
        for mention in range(entities.shape[1]):
            entity = entities[sample, mention]
            out[sample, mention] = last[entity] if entity != mention else -1
            last[entity] = mention


@jit
def count_pairs(before: Labels, begin: int, end: int, furthest: int, count: Integers) -> None:
    """Add to ``count[j - begin, i]`` the samples that join mentions i < j, for ``begin <= j < end``."""
    for sample in range(len(before)):
        for j in range(begin, end):
            i = before[sample, j]
            while i >= 0 and j - i <= furthest:
                count[j - begin, i] += 1
                i = before[sample, i]


@jit
def list_pairs(
    pair: Floats,
    begin: int,
    end: int,
    row_base: int,
    column_base: int,
    furthest: int,
    first: Integers,
    second: Integers,
    score: Floats,
) -> int:
    """Write the pairs i < j with ``begin <= j < end`` at most ``furthest`` apart; return their number."""
    found = 0
    for j in range(begin, end):
        for i in range(max(0, j - furthest), j):
            first[found] = i
            second[found] = j
            score[found] = pair[j - row_base, i - column_base]
            found += 1
    return found
