"""Tallies of a query by cluster, on rows coarser than the grid's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.tally import GRID_ROWS, LOWEST_ROW
from calibrant._parallel import fold
from calibrant.metrics.grid import grid
from calibrant.metrics.grouping import group_by
from calibrant.metrics.tally import Tally
from calibrant.structures._kernels import queries as kernels
from calibrant.structures.posterior._blocks import Block

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

COLUMNS = 5  # n, positives, and the sums of d, of d^2 and of d y
# Rows an octave of min(q, 1 - q), by how many octaves it lies below 1/2: the grid's own where scores matter,
# and few where a sentence has thousands of pairs whose residuals do not.
_FINE, _MIDDLE = 10, 24
_ROWS = (256, 8, 1)


class Groups(NamedTuple):
    """Unions of neighbouring rows of the grid.

    Attributes
    ----------
    of_row
        (grid rows,) the group of each.
    shift
        (grid rows,) anchor of the row less that of its group.
    low, high, anchor
        (groups,) as in a tally, in order of the score.
    """

    of_row: NDArray[np.int16]
    shift: Floats
    low: Floats
    high: Floats
    anchor: Floats


@cache
def groups() -> Groups:
    """Return the groups, made once. They end at the grid's cuts too, so that equal-width bins stay exact."""
    shared = grid()
    number = np.arange(len(shared.low))
    split = np.flatnonzero(shared.part_of >= 0)
    number[GRID_ROWS:] = split
    from_half = number + LOWEST_ROW
    octave = np.where(from_half < 0, -1 - from_half, from_half) >> 8
    rows = np.select([octave < _FINE, octave < _MIDDLE], _ROWS[:2], _ROWS[2])
    part = from_half // (256 // rows)
    ordered = np.stack([octave, from_half < 0, part])[:, shared.order]
    starts = np.ones(len(number), bool)
    starts[1:] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    starts[1:] |= np.isin(shared.high[shared.order][:-1], shared.cut)
    first = np.flatnonzero(starts)
    of_row = np.empty(len(number), np.int16)
    of_row[shared.order] = np.cumsum(starts) - 1
    last = np.append(first[1:], len(number)) - 1
    anchor = shared.anchor[shared.order][first]
    return Groups(
        of_row,
        shared.anchor - anchor[of_row],
        shared.low[shared.order][first],
        shared.high[shared.order][last],
        anchor,
    )


class SentenceSums:
    """One thread's sums by sentence and group of rows, of those that have any pairs."""

    def __init__(self) -> None:
        self.parts: list[tuple[Integers, NDArray[np.int16], Floats]] = []
        self.sums = np.zeros((2 * len(groups().low), 4))

    def add(self, first: int, score: Floats, label: NDArray[np.bool_], start: Integers) -> None:
        """Add the pairs of sentences ``first``, first + 1, ..., which begin at ``start``."""
        shared, found = grid(), groups()
        sentence, group, columns = room = self.room(np.diff(start))
        used = kernels.sums_by_sentence(
            score, label, start, shared.part_of, shared.cut, found.of_row, found.shift, self.sums, *room
        )
        self.keep(first, sentence[:used], group[:used], columns[:used])

    def room(self, pairs: Integers) -> tuple[Integers, Integers, Floats]:
        """Arrays for the sums of sentences with so many pairs each."""
        most = int(np.minimum(pairs, len(groups().low)).sum())
        return np.empty(most, np.int64), np.empty(most, np.int64), np.empty((most, COLUMNS))

    def keep(self, first: int, sentence: Integers, group: Integers, columns: Floats) -> None:
        """Keep what a kernel has written for sentences ``first``, first + 1, ...."""
        if len(sentence):
            self.parts.append((sentence + first, group.astype(np.int16), columns.copy()))


def tally_by_cluster(
    chunks: Iterable[Block],
    add: Callable[[SentenceSums, Block], None],
    cluster: Integers,
    names: NDArray[Any],
    threads: int,
) -> Tally:
    """Tally the pairs of blocks of sentences by cluster; ``cluster`` holds the code of each sentence."""
    states = fold(chunks, SentenceSums, add, threads)
    parts = sorted((part for state in states for part in state.parts), key=lambda part: int(part[0][0]))
    sentence, group = (np.concatenate([part[index] for part in parts]) for index in (0, 1))
    code = cluster[sentence]
    columns = np.concatenate([part[2] for part in parts])
    cells = group_by(group.astype(np.int64), within=code)
    n, positives, offset, offset2, offset_positive = (
        cells.sum(columns[:, index]) for index in range(COLUMNS)
    )
    found, row = groups(), cells.first(group)
    return Tally(
        "compressed",
        found.low[row],
        found.high[row],
        found.anchor[row],
        n.astype(np.int64),
        positives.astype(np.int64),
        n,
        positives,
        n,
        positives,
        offset,
        offset2,
        offset_positive,
        cells.first(code),
        names,
    )
