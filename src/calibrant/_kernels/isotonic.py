"""Pool adjacent violators; and find, without sorting, the few pairs that decide where they pool."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit
from calibrant._kernels.selection import write_keys, write_rows

_BLOCK = 2048
NO_KEY = np.iinfo(np.int64).max


@jit
def pool_adjacent_violators(
    weight: NDArray[np.float64], weight_positives: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return where each block of the isotonic fit begins; rows come in order of the score."""
    n = len(weight)
    start = np.empty(n, np.int64)
    total = np.empty(n, np.float64)
    positive = np.empty(n, np.float64)
    blocks = 0
    for row in range(n):
        start[blocks] = row
        total[blocks] = weight[row]
        positive[blocks] = weight_positives[row]
        blocks += 1
        # cross-multiplied, so that equal frequencies pool without rounding
        while (
            blocks > 1
            and positive[blocks - 2] * total[blocks - 1] >= positive[blocks - 1] * total[blocks - 2]
        ):
            total[blocks - 2] += total[blocks - 1]
            positive[blocks - 2] += positive[blocks - 1]
            blocks -= 1
    return start[:blocks].copy()


@jit
def count_labels(
    score: NDArray[Any], label: NDArray[Any], low: int, shift: int, count: NDArray[np.int64]
) -> None:
    """Add checked pairs to ``count`` (2 row + label); a key's row is (key >> shift) - low, or an end one."""
    last = len(count) // 2 - 1
    buffer = np.empty(_BLOCK, np.float64)
    row = np.empty(_BLOCK, np.int32)
    for start in range(0, len(score), _BLOCK):
        stop = min(len(score), start + _BLOCK)
        write_rows(score[start:stop], low, shift, last, buffer, row)
        for i in range(stop - start):
            count[2 * np.int64(row[i]) + (label[start + i] != 0)] += 1


@jit
def gather(
    score: NDArray[Any],
    label: NDArray[Any],
    low: int,
    shift: int,
    wanted: NDArray[np.bool_],
    first: NDArray[np.int64],
    count: NDArray[np.int64],
    gathered: NDArray[np.int64],
) -> int:
    """Write key * 2 + label of the pairs in ``wanted`` rows, and return their number.

    Pairs with the first score that was met in their row (key ``first``, or `NO_KEY`) are not written but
    added to ``count`` (2 row + label), so that heavy ties cost nothing.
    """
    used = 0
    last = len(wanted) - 1
    buffer = np.empty(_BLOCK, np.float64)
    key = np.empty(_BLOCK, np.int64)
    for start in range(0, len(score), _BLOCK):
        stop = min(len(score), start + _BLOCK)
        write_keys(score[start:stop], buffer, key)
        for i in range(stop - start):
            row = min(max((key[i] >> shift) - low, 0), last)
            if wanted[row]:
                positive = np.int64(label[start + i] != 0)
                if first[row] == NO_KEY:
                    first[row] = key[i]
                if first[row] == key[i]:
                    count[2 * row + positive] += 1
                else:
                    gathered[used] = key[i] * 2 + positive
                    used += 1
    return used
