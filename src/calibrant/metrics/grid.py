"""The fixed grid of a compressed tally: which row a score belongs to, and where rows begin and end.

Rows cut every octave of min(q, 1 - q) in 256 equal parts, from 2^-64 at the low end and 2^-53 at the
high end to 1/2, so that the grid is fine near 0 and near 1, where the scores of language models crowd.
Rows are further cut after 0 and after every k/10, k/15 and k/20, so that equal-width bins (lo, hi] of
those numbers are unions of rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels import tally as kernels
from calibrant.metrics.key_tree import keys_of, scores_of

VERSION = 1
UNIFORM_COUNTS = (10, 15, 20)


class Grid(NamedTuple):
    """The rows' first and last scores, the score that offsets count from, and the order of the rows.

    Rows are numbered as the kernels do: rows that a cut splits keep their number for the part above the
    cut; the parts up to the cut follow at the end. ``order`` sorts the rows by score.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    anchor: NDArray[np.float64]
    order: NDArray[np.int64]
    part_of: NDArray[np.int8]
    cut: NDArray[np.float64]


@cache
def grid() -> Grid:
    """Return the grid, made once."""
    cut = np.array(sorted({0.0} | {k / count for count in UNIFORM_COUNTS for k in range(1, count)}))
    first_key = (np.arange(kernels.GRID_ROWS) + kernels.LOWEST_ROW) << kernels.GRID_SHIFT
    anchor = scores_of(first_key)
    anchor[0], anchor[-1] = 0.0, 1.0
    high = np.append(anchor[1:], 1.0)
    split = np.clip((keys_of(cut) >> kernels.GRID_SHIFT) - kernels.LOWEST_ROW, 0, kernels.GRID_ROWS - 1)
    part_of = np.full(kernels.GRID_ROWS, -1, np.int8)
    part_of[split] = np.arange(len(cut))
    low = anchor.copy()
    low[split] = cut
    all_low = np.concatenate([low, anchor[split]])
    all_high = np.concatenate([high, cut])
    order = np.lexsort((all_high, all_low))
    return Grid(all_low, all_high, np.concatenate([anchor, anchor[split]]), order, part_of, cut)


def rows_of(score: NDArray[np.floating[Any]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return each score's row and its offset from the row's anchor."""
    row = np.empty(len(score), np.int64)
    offset = np.empty(len(score), np.float64)
    kernels.grid_rows(score, grid().part_of, grid().cut, row, offset)
    return row, offset
