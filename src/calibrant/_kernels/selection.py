"""Order statistics and sums between cuts, without sorting: count on a tree of key ranges, then refine.

A score's *key* is an integer that keeps its order and is fine near 0 and near 1: the bits of q less
those of 1/2 below one half, and the mirrored bits of 1 - q (exact there) above. Twice a key fits 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit

HALF_BITS = 0x3FE0000000000000  # the bits of 0.5
TOP_KEY = HALF_BITS  # the key of 1.0; that of 0.0 is -TOP_KEY
_BLOCK = 2048


@jit
def write_keys(score: NDArray[Any], start: int, stop: int, buffer: NDArray[Any], key: NDArray[np.int64]) -> None:
    """Write the keys of ``score[start:stop]`` to the front of ``key``."""
    bits = buffer.view(np.int64)
    for i in range(stop - start):
        q = np.float64(score[start + i])
        buffer[i] = 1.0 - q if q >= 0.5 else q
    for i in range(stop - start):
        key[i] = HALF_BITS - bits[i] if np.float64(score[start + i]) >= 0.5 else bits[i] - HALF_BITS


@jit
def score_of_key(key: NDArray[np.int64], score: NDArray[np.float64]) -> None:
    """Invert `write_keys`."""
    bits = score.view(np.int64)
    for i in range(len(key)):
        bits[i] = HALF_BITS - abs(key[i])
    for i in range(len(key)):
        if key[i] >= 0:
            score[i] = 1.0 - score[i]


@jit
def count_root(score: NDArray[Any], low: int, shift: int, count: NDArray[np.int64]) -> None:
    """Add the number of scores in each row of the root to ``count``; the end rows take what lies beyond."""
    n = len(score)
    last = len(count) - 1
    buffer = np.empty(_BLOCK, np.float64)
    key = np.empty(_BLOCK, np.int64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        write_keys(score, start, stop, buffer, key)
        for i in range(stop - start):
            row = (key[i] >> shift) - low
            key[i] = 0 if row < 0 else (last if row > last else row)
        for i in range(stop - start):
            count[key[i]] += 1


@jit
def count_nodes(
    score: NDArray[Any],
    table: NDArray[np.int32],
    low: NDArray[np.int64],
    shift: NDArray[np.int64],
    offset: NDArray[np.int64],
    first_new: int,
    count: NDArray[np.int64],
) -> None:
    """Add to ``count`` (indexed as ``table``) the scores that reach a node numbered ``first_new`` or later."""
    n = len(score)
    last = offset[1] - 1
    buffer = np.empty(_BLOCK, np.float64)
    key = np.empty(_BLOCK, np.int64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        write_keys(score, start, stop, buffer, key)
        for i in range(stop - start):
            row = (key[i] >> shift[0]) - low[0]
            row = 0 if row < 0 else (last if row > last else row)
            node = -2 - table[row]
            while node > 0:
                row = offset[node] + (key[i] >> shift[node]) - low[node]
                if node >= first_new:
                    count[row] += 1
                    break
                node = -2 - table[row]


@jit
def accumulate(
    score: NDArray[Any],
    label: NDArray[Any],
    table: NDArray[np.int32],
    low: NDArray[np.int64],
    shift: NDArray[np.int64],
    offset: NDArray[np.int64],
    sums: NDArray[np.float64],
    gathered: NDArray[np.int64],
    used: int,
) -> int:
    """Add each pair to its cell of ``sums`` (cell, label, [n, sum q, sum q^2]) or append it to ``gathered``.

    ``table`` holds a cell (>= 0), -1 for "gather", or -2 - node. Gathered pairs are packed as
    key * 2 + label. Returns the number of gathered pairs.
    """
    n = len(score)
    last = offset[1] - 1
    buffer = np.empty(_BLOCK, np.float64)
    key = np.empty(_BLOCK, np.int64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        write_keys(score, start, stop, buffer, key)
        for i in range(stop - start):
            row = (key[i] >> shift[0]) - low[0]
            row = 0 if row < 0 else (last if row > last else row)
            cell = np.int64(table[row])
            while cell <= -2:
                node = -2 - cell
                cell = np.int64(table[offset[node] + (key[i] >> shift[node]) - low[node]])
            y = 1 if label[start + i] != 0 else 0
            if cell >= 0:
                q = np.float64(score[start + i])
                sums[cell, y, 0] += 1.0
                sums[cell, y, 1] += q
                sums[cell, y, 2] += q * q
            else:
                gathered[used] = key[i] * 2 + y
                used += 1
    return used


@jit
def fold_compensated(part: NDArray[np.float64], total: NDArray[np.float64], lost: NDArray[np.float64]) -> None:
    """Add ``part`` to ``total`` with Neumaier's correction kept in ``lost``, and clear ``part`` (all flat)."""
    for i in range(len(part)):
        value = part[i]
        if value != 0.0:
            new = total[i] + value
            if abs(total[i]) >= abs(value):
                lost[i] += (total[i] - new) + value
            else:
                lost[i] += (value - new) + total[i]
            total[i] = new
            part[i] = 0.0


@jit
def accumulate_compensated(
    score: NDArray[Any],
    label: NDArray[Any],
    table: NDArray[np.int32],
    low: NDArray[np.int64],
    shift: NDArray[np.int64],
    offset: NDArray[np.int64],
    part: NDArray[np.float64],
    total: NDArray[np.float64],
    lost: NDArray[np.float64],
    gathered: NDArray[np.int64],
    step: int,
) -> int:
    """`accumulate` in steps of ``step`` pairs, each folded into compensated totals."""
    used = 0
    for start in range(0, len(score), step):
        stop = min(len(score), start + step)
        used = accumulate(score[start:stop], label[start:stop], table, low, shift, offset, part, gathered, used)
        fold_compensated(part.reshape(-1), total.reshape(-1), lost.reshape(-1))
    return used


@jit
def sum_gathered(gathered: NDArray[np.int64], start: NDArray[np.int64], sums: NDArray[np.float64]) -> None:
    """Sum packed, sorted pairs by segment into ``sums`` (segment, label, [n, sum q, sum q^2])."""
    buffer = np.empty(1, np.float64)
    bits = buffer.view(np.int64)
    for segment in range(len(start)):
        stop = start[segment + 1] if segment + 1 < len(start) else len(gathered)
        for i in range(start[segment], stop):
            key = gathered[i] >> 1
            y = gathered[i] & 1
            bits[0] = HALF_BITS - abs(key)
            q = 1.0 - buffer[0] if key >= 0 else buffer[0]
            sums[segment, y, 0] += 1.0
            sums[segment, y, 1] += q
            sums[segment, y, 2] += q * q
