"""Pool adjacent violators; and find, without sorting, the few pairs that decide where they pool."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, by_size
from calibrant._kernels.selection import HALF_BITS, write_rows

_BLOCK = 2048
NO_KEY = np.iinfo(np.int64).max


@by_size
def pool_adjacent_violators(weight: Floats, weight_positives: Floats) -> Integers:
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


@by_size
def may_have_corners(n: Integers, positives: Integers, start: Integers, rounding: float) -> NDArray[np.bool_]:
    """Return True for each range in which a block of the fit may begin or end, from the blocks of ranges."""
    wanted = np.zeros(len(n), np.bool_)
    for block in range(len(start)):
        first = start[block]
        stop = start[block + 1] if block + 1 < len(start) else len(n)
        total = np.float64(n[first:stop].sum())
        total_positives = np.float64(positives[first:stop].sum())
        before = 0
        positives_before = 0
        for row in range(first, stop):
            negatives = n[row] - positives[row]
            mixed = positives[row] > 0 and negatives > 0
            deepest = np.float64(before + negatives) * total_positives
            wanted[row] = mixed and np.float64(positives_before) * total < deepest * (1.0 + rounding)
            before += n[row]
            positives_before += positives[row]
        wanted[first] = True
        wanted[stop - 1] = True
    return wanted


@by_size
def count_labels(score: NDArray[Any], label: NDArray[Any], low: int, shift: int, count: NDArray[Any]) -> None:
    """Add checked pairs to ``count`` (2 row + label); a key's row is (key >> shift) - low, or an end one."""
    last = len(count) // 2 - 1
    buffer = np.empty(_BLOCK, np.float64)
    row = np.empty(_BLOCK, np.int32)
    for start in range(0, len(score), _BLOCK):
        stop = min(len(score), start + _BLOCK)
        write_rows(score[start:stop], low, shift, last, buffer, row)
        for i in range(stop - start):
            count[2 * np.int64(row[i]) + (label[start + i] != 0)] += 1


@by_size
def gather(
    score: NDArray[Any],
    label: NDArray[Any],
    low: int,
    shift: int,
    wanted: NDArray[np.bool_],
    first: Integers,
    count: Integers,
    gathered: Integers,
) -> int:
    """Write key * 2 + label of the pairs in ``wanted`` rows, and return their number.

    Pairs with the first score that was met in their row (key ``first``, or `NO_KEY`) are not written but
    added to ``count`` (2 row + label), so that heavy ties cost nothing.
    """
    used = 0
    last = len(wanted) - 1
    buffer = np.empty(_BLOCK, np.float64)
    bits = buffer.view(np.int64)
    rows = np.empty(_BLOCK, np.int32)
    for start in range(0, len(score), _BLOCK):
        stop = min(len(score), start + _BLOCK)
        write_rows(score[start:stop], low, shift, last, buffer, rows)
        for i in range(stop - start):
            row = np.int64(rows[i])
            if wanted[row]:
                from_half = HALF_BITS - bits[i]
                key = from_half if np.float64(score[start + i]) >= 0.5 else -from_half
                positive = np.int64(label[start + i] != 0)
                if first[row] == NO_KEY:
                    first[row] = key
                if first[row] == key:
                    count[2 * row + positive] += 1
                else:
                    gathered[used] = key * 2 + positive
                    used += 1
    return used


@by_size
def merge_by_key(
    packed: Integers, tied: Integers, tied_count: Integers, key: Integers, count: Integers
) -> int:
    """Write the distinct keys and their pairs by label (key, label); return the number of keys.

    ``packed`` holds key * 2 + label of single pairs, ``tied`` the keys of counted ones; both are sorted.
    """
    used = -1
    single, many = 0, 0
    while single < len(packed) or many < len(tied):
        alone = packed[single] >> 1 if single < len(packed) else NO_KEY
        together = tied[many] if many < len(tied) else NO_KEY
        least = min(alone, together)
        if used < 0 or key[used] != least:
            used += 1
            key[used] = least
            count[used, 0] = 0
            count[used, 1] = 0
        if alone <= together:
            count[used, packed[single] & 1] += 1
            single += 1
        else:
            count[used, 0] += tied_count[many, 0]
            count[used, 1] += tied_count[many, 1]
            many += 1
    return used + 1
