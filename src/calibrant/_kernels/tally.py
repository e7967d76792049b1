"""Check pairs, sum them on the fixed grid of a compressed tally, and sum runs of rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, by_size, by_size_or
from calibrant._kernels.selection import HALF_BITS, write_keys

GRID_SHIFT = 44  # 2^8 rows an octave of min(q, 1 - q)
LOWEST_ROW = (1 - 64) * 256 - 1  # scores below 2^-64 share row 0
GRID_ROWS = (52 - (1 - 64)) * 256 + 3  # ... up to 1 - q = 2^-53, and 1.0 itself
_BLOCK = 2048


@by_size
def _rows_and_offsets(
    score: NDArray[Any], part_of: NDArray[np.int8], cut: Floats, buffer: Floats, row: Integers, offset: Floats
) -> None:
    """Write the grid row of every score and its offset from the first score of that row.

    Both differences of the offset are exact, because a row spans at most a factor of two.
    """
    n = len(score)
    write_keys(score, buffer, row)
    bits = offset.view(np.int64)
    for i in range(n):
        inside = min(max((row[i] >> GRID_SHIFT) - LOWEST_ROW, 0), GRID_ROWS - 1)
        anchor_bits = HALF_BITS - abs((inside + LOWEST_ROW) << GRID_SHIFT)
        bits[i] = 0 if inside == 0 or inside == GRID_ROWS - 1 else anchor_bits
        row[i] = inside
    for i in range(n):
        offset[i] = offset[i] - buffer[i] if np.float64(score[i]) >= 0.5 else buffer[i] - offset[i]
    for i in range(n):
        part = int(part_of[row[i]])
        if part >= 0 and np.float64(score[i]) <= cut[part]:
            row[i] = GRID_ROWS + part


@by_size
def tally(
    score: NDArray[Any], label: NDArray[Any], part_of: NDArray[np.int8], cut: Floats, sums: Floats
) -> None:
    """Add pairs to ``sums`` (2 row + label, [n, sum d, sum d^2, unused]); d is the offset inside the row."""
    n = len(score)
    buffer = np.empty(_BLOCK, np.float64)
    offset = np.empty(_BLOCK, np.float64)
    row = np.empty(_BLOCK, np.int64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        _rows_and_offsets(score[start:stop], part_of, cut, buffer, row, offset)
        for i in range(stop - start):
            row[i] = row[i] * 2 + np.int64(label[start + i] != 0)
        for i in range(stop - start):
            at = row[i]
            d = offset[i]
            sums[at, 0] += 1.0
            sums[at, 1] += d
            sums[at, 2] += d * d


@by_size
def tally_weighted(
    score: NDArray[Any],
    label: NDArray[Any],
    weight: Floats,
    part_of: NDArray[np.int8],
    cut: Floats,
    sums: Floats,
) -> None:
    """As `tally`, with ``sums`` (2 row + label, [n, w, w^2, w d, w d^2])."""
    n = len(score)
    buffer = np.empty(_BLOCK, np.float64)
    offset = np.empty(_BLOCK, np.float64)
    row = np.empty(_BLOCK, np.int64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        _rows_and_offsets(score[start:stop], part_of, cut, buffer, row, offset)
        for i in range(stop - start):
            at = row[i] * 2 + np.int64(label[start + i] != 0)
            w = weight[start + i]
            sums[at, 0] += 1.0
            sums[at, 1] += w
            sums[at, 2] += w * w
            sums[at, 3] += w * offset[i]
            sums[at, 4] += w * offset[i] * offset[i]


@by_size
def grid_rows(
    score: NDArray[Any], part_of: NDArray[np.int8], cut: Floats, row: Integers, offset: Floats
) -> None:
    """Write the grid row and the offset inside it of every score."""
    n = len(score)
    buffer = np.empty(_BLOCK, np.float64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        _rows_and_offsets(score[start:stop], part_of, cut, buffer, row[start:stop], offset[start:stop])


def sum_runs_in_arrays(
    columns: Floats, start: Integers, row: NDArray[Any], fraction: Floats, sums: Floats
) -> None:
    """Do what `sum_runs` does, to the same bit."""
    values = columns[:, row] * fraction if len(fraction) else columns[:, row]
    zero = np.zeros((len(columns), 1))
    for run, (first, stop) in enumerate(pairwise([*start.tolist(), len(row)])):
        value = values[:, first:stop]
        total = np.add.accumulate(np.hstack([zero, value]), axis=1)
        before, after = total[:, :-1], total[:, 1:]
        lost = np.where(np.abs(before) >= np.abs(value), (before - after) + value, (value - after) + before)
        sums[:, run] = total[:, -1] + np.add.accumulate(np.hstack([zero, lost]), axis=1)[:, -1]


@by_size_or(sum_runs_in_arrays)
def sum_runs(columns: Floats, start: Integers, row: NDArray[Any], fraction: Floats, sums: Floats) -> None:
    """Sum ``fraction * columns[:, row]`` over runs that begin at ``start``, with Neumaier's correction.

    Empty ``fraction`` counts all rows whole.
    """
    whole = len(fraction) == 0
    for run in range(len(start)):
        stop = start[run + 1] if run + 1 < len(start) else len(row)
        for column in range(columns.shape[0]):
            total = 0.0
            lost = 0.0
            for i in range(start[run], stop):
                value = columns[column, row[i]] if whole else fraction[i] * columns[column, row[i]]
                new = total + value
                if abs(total) >= abs(value):
                    lost += (total - new) + value
                else:
                    lost += (value - new) + total
                total = new
            sums[column, run] = total + lost


@by_size
def first_above(bits: NDArray[Any], largest: Any) -> int:
    """Index of the first unsigned integer above ``largest``, or -1.

    The bits of the floating point numbers in [0, 1] are the integers from those of 0.0 to those of 1.0. NaN,
    infinity and all numbers with a sign, including -0.0, are above.
    """
    n = len(bits)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        bad = 0
        for i in range(start, stop):  # no branch inside, so that it vectorises
            bad += bits[i] > largest
        if bad:
            for i in range(start, stop):
                if bits[i] > largest:
                    return i
    return -1


@by_size
def any_other_integer(label: NDArray[Any]) -> bool:
    """Return True if an integer label is neither 0 nor 1; much faster than finding it."""
    seen = label[0]
    for i in range(len(label)):
        seen |= label[i]
    return bool(seen != 0 and seen != 1)


@by_size
def first_other_label(label: NDArray[Any]) -> int:
    """Index of the first label other than 0 and 1, or -1."""
    n = len(label)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        bad = 0
        for i in range(start, stop):
            bad += not (label[i] == 0 or label[i] == 1)
        if bad:
            for i in range(start, stop):
                if not (label[i] == 0 or label[i] == 1):
                    return i
    return -1
