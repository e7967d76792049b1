"""Order statistics and sums between cuts, without sorting: count on a tree of key ranges, then refine.

A score's *key* is an integer that keeps its order and is fine near 0 and near 1: the bits of q less
those of 1/2 below one half, and the mirrored bits of 1 - q (exact there) above. Twice a key fits 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, by_size, by_size_or

HALF_BITS = 0x3FE0000000000000  # the bits of 0.5
TOP_KEY = HALF_BITS  # the key of 1.0; that of 0.0 is -TOP_KEY
_BLOCK = 2048


def write_keys_in_arrays(score: NDArray[Any], buffer: Floats, key: Integers) -> None:
    """Do what `write_keys` does, to the same bit."""
    n = len(score)
    q = score.astype(np.float64, copy=False)
    np.minimum(q, 1.0 - q, out=buffer[:n])
    from_half = HALF_BITS - buffer[:n].view(np.int64)
    key[:n] = np.where(q >= 0.5, from_half, -from_half)


@by_size_or(write_keys_in_arrays)
def write_keys(score: NDArray[Any], buffer: Floats, key: Integers) -> None:
    """Write the key of each score to the front of ``key``, and min(q, 1 - q) to that of ``buffer``."""
    bits = buffer.view(np.int64)
    for i in range(len(score)):
        q = np.float64(score[i])
        buffer[i] = min(q, 1.0 - q)
    for i in range(len(score)):
        from_half = HALF_BITS - bits[i]
        key[i] = from_half if np.float64(score[i]) >= 0.5 else -from_half


@by_size
def write_rows(
    score: NDArray[Any], low: int, shift: int, last: int, buffer: Floats, row: NDArray[np.int32]
) -> int:
    """As `write_keys`, for the rows of the root: in 32 bits, which halves the traffic.

    Returns the number of scores that are not in [0, 1], or that are -0.0.
    """
    bits = buffer.view(np.int64)
    bad = 0
    for i in range(len(score)):
        q = np.float64(score[i])
        buffer[i] = min(q, 1.0 - q)
    for i in range(len(score)):
        bad += bits[i] < 0 or bits[i] > HALF_BITS  # of a number in [0, 1/2]; -0.0 and NaN are not
    for i in range(len(score)):
        from_half = HALF_BITS - bits[i]
        key = from_half if np.float64(score[i]) >= 0.5 else -from_half
        row[i] = np.int32(min(max((key >> shift) - low, 0), last))
    return bad


@by_size
def count_root(score: NDArray[Any], low: int, shift: int, count: NDArray[np.uint32]) -> int:
    """Add the number of scores in each row of the root to ``count``; the end rows take what lies beyond.

    Returns the number of scores that are not in [0, 1] or are -0.0: the check costs a pass elsewhere.
    """
    n = len(score)
    bad = 0
    last = len(count) - 1
    buffer = np.empty(_BLOCK, np.float64)
    row = np.empty(_BLOCK, np.int32)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        bad += write_rows(score[start:stop], low, shift, last, buffer, row)
        for i in range(stop - start):
            count[row[i]] += np.uint32(1)
    return bad


@by_size
def _row_of_node(key: int, node: Any, low: Integers, shift: Integers, offset: Integers) -> int:
    last = offset[node + 1] - offset[node] - 1
    return int(offset[node] + min(max((key >> shift[node]) - low[node], 0), last))


@by_size
def count_nodes(
    score: NDArray[Any],
    table: NDArray[np.int32],
    low: Integers,
    shift: Integers,
    offset: Integers,
    first_new: int,
    count: NDArray[np.uint32],
) -> None:
    """Add to ``count`` (indexed as ``table``) the scores that reach node ``first_new`` or a later one."""
    n = len(score)
    last = offset[1] - 1
    buffer = np.empty(_BLOCK, np.float64)
    key = np.empty(_BLOCK, np.int64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        write_keys(score[start:stop], buffer, key)
        for i in range(stop - start):
            row = min(max((key[i] >> shift[0]) - low[0], 0), last)
            node = -2 - table[row]
            while node > 0:
                row = _row_of_node(key[i], node, low, shift, offset)
                if node >= first_new:
                    count[row] += np.uint32(1)
                    break
                node = -2 - table[row]


@by_size
def _key(q: float, buffer: Floats, bits: Integers) -> int:
    """The key of one score, through a buffer of one."""
    buffer[0] = min(q, 1.0 - q)
    from_half = HALF_BITS - bits[0]
    return int(from_half if q >= 0.5 else -from_half)


@by_size
def accumulate(
    score: NDArray[Any],
    label: NDArray[Any],
    table: NDArray[np.int32],
    low: Integers,
    shift: Integers,
    offset: Integers,
    sums: Floats,
    gathered: Integers,
    used: int,
) -> int:
    """Add pairs to their rows of ``sums`` (2 cell + label, [n, sum q, sum q^2]), or append to ``gathered``.

    ``table`` holds a cell (>= 0), -1 for "gather", or -2 - node. Gathered pairs are packed as
    key * 2 + label. Returns the number of gathered pairs, or -1 if a label is neither 0 nor 1.
    """
    n = len(score)
    last = offset[1] - 1
    bad = 0
    buffer = np.empty(_BLOCK, np.float64)
    bits = buffer.view(np.int64)
    row = np.empty(_BLOCK, np.int32)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        write_rows(score[start:stop], low[0], shift[0], last, buffer, row)
        for i in range(stop - start):
            cell = np.int64(table[np.uint32(row[i])])  # unsigned: no wrap-around to look for
            q = np.float64(score[start + i])
            given = label[start + i]
            y = np.int64(given != 0)
            bad += y & (given != 1)
            if cell < 0:
                key = _key(q, buffer, bits)
                while cell <= -2:
                    node = -2 - cell
                    cell = np.int64(table[_row_of_node(key, node, low, shift, offset)])
                if cell == -1:
                    gathered[used] = key * 2 + y
                    used += 1
                    continue
            at = np.uint64(2 * cell + y)
            sums[at, 0] += 1.0
            sums[at, 1] += q
            sums[at, 2] += q * q
    return -1 if bad else used


@by_size
def fold_compensated(part: Floats, total: Floats, lost: Floats) -> None:
    """Add ``part`` to ``total``, keep in ``lost`` what rounding took, clear ``part`` (all flat).

    The error of each addition is exact (Knuth's TwoSum). It has no branch, so that it is vectorized: most
    entries are zero, and nobody can guess which.
    """
    for i in range(len(part)):
        old, value = total[i], part[i]
        new = old + value
        added = new - old
        lost[i] += (old - (new - added)) + (value - added)
        total[i] = new
        part[i] = 0.0


@by_size
def accumulate_compensated(
    score: NDArray[Any],
    label: NDArray[Any],
    table: NDArray[np.int32],
    low: Integers,
    shift: Integers,
    offset: Integers,
    part: Floats,
    total: Floats,
    lost: Floats,
    gathered: Integers,
    step: int,
) -> int:
    """`accumulate` in steps of ``step`` pairs, each folded into compensated totals."""
    used = 0
    for start in range(0, len(score), step):
        stop = min(len(score), start + step)
        used = accumulate(
            score[start:stop], label[start:stop], table, low, shift, offset, part, gathered, used
        )
        if used < 0:
            break
        fold_compensated(part.reshape(-1), total.reshape(-1), lost.reshape(-1))
    return used


@by_size
def sum_gathered(gathered: Integers, start: Integers, sums: Floats) -> None:
    """Sum packed, sorted pairs by segment into ``sums`` (2 segment + label, [n, sum q, sum q^2])."""
    buffer = np.empty(1, np.float64)
    bits = buffer.view(np.int64)
    for segment in range(len(start)):
        stop = start[segment + 1] if segment + 1 < len(start) else len(gathered)
        for i in range(start[segment], stop):
            key = gathered[i] >> 1
            row = 2 * segment + (gathered[i] & 1)
            bits[0] = HALF_BITS - abs(key)
            q = 1.0 - buffer[0] if key >= 0 else buffer[0]
            sums[row, 0] += 1.0
            sums[row, 1] += q
            sums[row, 2] += q * q


def counting_sort_in_arrays(code: NDArray[Any], items: NDArray[Any], sorted_items: NDArray[Any]) -> None:
    """Do what `counting_sort` does."""
    given = items if len(items) else np.arange(len(code))
    sorted_items[:] = given[np.argsort(code[given], kind="stable")]


@by_size_or(counting_sort_in_arrays)
def counting_sort(code: NDArray[Any], items: NDArray[Any], sorted_items: NDArray[Any]) -> None:
    """Write items in order of their code, those of one code in the order of ``items``.

    Codes count from 0; empty ``items`` mean all items in their order.
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


def group_starts_in_arrays(
    code: NDArray[Any], within: NDArray[Any], items: NDArray[Any], start: Integers
) -> int:
    """Do what `group_starts` does."""
    changes = (np.diff(code[items]) != 0) | (np.diff(within[items]) != 0)
    starts = np.flatnonzero(np.append(len(items) > 0, changes)[: len(items)])
    start[: len(starts)] = starts
    return len(starts)


@by_size_or(group_starts_in_arrays)
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
