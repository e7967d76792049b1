"""Sum pairs on the fixed grid of a compressed tally, and sums over runs of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit
from calibrant._kernels.selection import HALF_BITS, write_keys

GRID_SHIFT = 44  # 2^8 rows an octave of min(q, 1 - q)
LOWEST_ROW = (1 - 64) * 256 - 1  # scores below 2^-64 share row 0
GRID_ROWS = (52 - (1 - 64)) * 256 + 3  # ... up to 1 - q = 2^-53, and 1.0 itself
_BLOCK = 2048


@jit
def _rows_and_offsets(
    score: NDArray[Any],
    start: int,
    stop: int,
    part_of: NDArray[np.int8],
    cut: NDArray[np.float64],
    buffer: NDArray[np.float64],
    key: NDArray[np.int64],
    offset: NDArray[np.float64],
) -> None:
    """Turn keys into grid rows in place, and scores into offsets from the first score of their row."""
    write_keys(score, start, stop, buffer, key)
    bits = offset.view(np.int64)
    for i in range(stop - start):
        row = (key[i] >> GRID_SHIFT) - LOWEST_ROW
        row = 0 if row < 0 else (GRID_ROWS - 1 if row > GRID_ROWS - 1 else row)
        bits[i] = HALF_BITS - abs((row + LOWEST_ROW) << GRID_SHIFT)
        key[i] = row
    for i in range(stop - start):
        anchor = 0.0 if key[i] == 0 else (1.0 if key[i] == GRID_ROWS - 1 else offset[i])
        # buffer holds min(q, 1 - q); both differences are exact
        offset[i] = anchor - buffer[i] if np.float64(score[start + i]) >= 0.5 else buffer[i] - anchor
    for i in range(stop - start):
        if key[i] == GRID_ROWS - 1:
            offset[i] = 0.0
        part = part_of[key[i]]
        if part >= 0 and np.float64(score[start + i]) <= cut[part]:
            key[i] = GRID_ROWS + part


@jit
def tally(
    score: NDArray[Any],
    label: NDArray[Any],
    part_of: NDArray[np.int8],
    cut: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Add pairs to ``sums`` (row, label, [n, sum d, sum d^2, unused]); d is the offset inside the row."""
    n = len(score)
    buffer = np.empty(_BLOCK, np.float64)
    offset = np.empty(_BLOCK, np.float64)
    key = np.empty(_BLOCK, np.int64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        _rows_and_offsets(score, start, stop, part_of, cut, buffer, key, offset)
        for i in range(stop - start):
            y = 1 if label[start + i] != 0 else 0
            d = offset[i]
            sums[key[i], y, 0] += 1.0
            sums[key[i], y, 1] += d
            sums[key[i], y, 2] += d * d


@jit
def tally_weighted(
    score: NDArray[Any],
    label: NDArray[Any],
    weight: NDArray[np.float64],
    part_of: NDArray[np.int8],
    cut: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """As `tally`, with ``sums`` (row, label, [n, w, w^2, w d, w d^2])."""
    n = len(score)
    buffer = np.empty(_BLOCK, np.float64)
    offset = np.empty(_BLOCK, np.float64)
    key = np.empty(_BLOCK, np.int64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        _rows_and_offsets(score, start, stop, part_of, cut, buffer, key, offset)
        for i in range(stop - start):
            y = 1 if label[start + i] != 0 else 0
            w = weight[start + i]
            sums[key[i], y, 0] += 1.0
            sums[key[i], y, 1] += w
            sums[key[i], y, 2] += w * w
            sums[key[i], y, 3] += w * offset[i]
            sums[key[i], y, 4] += w * offset[i] * offset[i]


@jit
def grid_rows(
    score: NDArray[Any],
    part_of: NDArray[np.int8],
    cut: NDArray[np.float64],
    row: NDArray[np.int64],
    offset: NDArray[np.float64],
) -> None:
    """Write the grid row and the offset inside it of every score."""
    n = len(score)
    buffer = np.empty(_BLOCK, np.float64)
    for start in range(0, n, _BLOCK):
        stop = min(n, start + _BLOCK)
        _rows_and_offsets(score, start, stop, part_of, cut, buffer, row[start:stop], offset[start:stop])


@jit
def sum_runs(
    columns: NDArray[np.float64],
    start: NDArray[np.int64],
    row: NDArray[np.int64],
    fraction: NDArray[np.float64],
    sums: NDArray[np.float64],
) -> None:
    """Sum ``fraction * columns[:, row]`` over runs that begin at ``start``, with Neumaier's correction."""
    for run in range(len(start)):
        stop = start[run + 1] if run + 1 < len(start) else len(row)
        for column in range(columns.shape[0]):
            total = 0.0
            lost = 0.0
            for i in range(start[run], stop):
                value = fraction[i] * columns[column, row[i]]
                new = total + value
                if abs(total) >= abs(value):
                    lost += (total - new) + value
                else:
                    lost += (value - new) + total
                total = new
            sums[column, run] = total + lost
