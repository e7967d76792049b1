"""Exact sums between order statistics and score edges, in two passes and without sorting all scores.

The first pass counts scores on a fine grid of key ranges; only ranges in which a cut falls are
refined: counted again on a finer grid while they are too many to hold, then gathered and sorted.
The second pass sums everything between the cuts. Cost grows with n, memory with the number of cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant._kernels import selection as kernels
from calibrant._parallel import fold
from calibrant.metrics.grid import Tree, keys_of, scores_of

ScoresAndLabels = tuple[NDArray[Any], NDArray[Any]]
Chunks = Callable[[], Iterable[ScoresAndLabels]]


_SAMPLED = 512  # scores a chunk, in which heavy ties are looked for


class UncheckedValuesError(Exception):
    """A score or label is out of range, or a score is -0.0: checking the pairs names the row or cures it."""


@dataclass(frozen=True)
class CutSums:
    """Sums of the pairs between consecutive cuts.

    Arrays have one entry a cell, in order of the score. ``low`` and ``high`` bound the scores: where a
    cell is a tie (one score, cut on both sides) they are equal, else cell i holds ``low <= q < high``.
    """

    low: Floats
    high: Floats
    n: Integers
    positives: Integers
    sum_score: Floats
    sum_score2: Floats
    sum_score_positive: Floats


def select(
    chunks: Chunks,
    ranks: Integers,
    edges: Floats,
    *,
    threads: int = 1,
    gather_limit: int | None = None,
) -> CutSums:
    """Cut pairs before the given ranks and after the given scores, and sum between the cuts.

    Parameters
    ----------
    chunks
        Called once a pass; yields the same (score, label) arrays each time, in any order.
    ranks
        Sorted positions in the order of the scores (0 < rank < n): the pairs before the rank lie left
        of the cut. A rank inside a tie cuts before and after the tie, whose order is nobody's.
    edges
        Scores: pairs with ``q <= edge`` lie left of the cut.
    threads
        Chunks are summed on as many threads.
    gather_limit
        At most about this many pairs are gathered and sorted; 2^22 or 512 a rank if not given.
    """
    limit = gather_limit or max(1 << 22, 512 * len(ranks))
    tree = _count(chunks, ranks, edges, threads, limit)
    leaves, local = tree.locate(ranks)
    edge_leaves = tree.locate_keys(keys_of(edges))
    needed = _Needed(tree, np.unique(np.concatenate([leaves, edge_leaves])))
    totals, gathered = _sum(chunks, tree, needed, threads)
    cuts = _Cuts.join(
        [
            _cuts_at_ranks(needed, gathered, leaves, local),
            _cuts_after_scores(needed, gathered, edge_leaves, edges),
        ]
    )
    return _assemble(needed, totals, gathered, cuts)


def _count(chunks: Chunks, ranks: Integers, edges: Floats, threads: int, limit: int) -> Tree:
    """Count scores by key range, finer where cuts fall, until what must be gathered is within the limit."""
    bits = int(np.clip(np.ceil(np.log2(4 * (len(ranks) + 1))), 10, 15))
    tree = Tree.rooted(bits)
    samples: list[NDArray[Any]] = []
    tree.count = _counted(chunks, tree.offset[1], partial(_count_root, tree, samples), threads)
    sample = np.sort(np.concatenate([keys_of(some) for some in samples]))
    while True:
        leaves = np.unique(np.concatenate([tree.locate(ranks)[0], tree.locate_keys(keys_of(edges))]))
        leaves = leaves[~tree.are_single(leaves)]
        if tree.count[leaves].sum() <= limit:
            return tree
        allowed = limit // (2 * len(leaves))
        first_new = len(tree.low)
        for row in leaves[tree.count[leaves] > allowed].tolist():
            tree.split(row, tree.count[row] / max(1, allowed), sample)
        low, shift, offset = tree.arrays()
        table = np.zeros(offset[-1], np.int32)
        for row, node in tree.child.items():
            table[row] = -2 - node

        new = _counted(
            chunks, len(table), partial(_count_nodes, (table, low, shift, offset, first_new)), threads
        )
        new[: len(tree.count)] = tree.count
        tree.count = new


class _Counter:
    """One thread's counts: 32 bits, which stay in the cache, emptied into 64 before they overflow."""

    def __init__(self, rows: int) -> None:
        self.small = np.zeros(rows, np.uint32)
        self.large: Integers | None = None
        self.seen = 0

    def room_for(self, n: int) -> NDArray[np.uint32]:
        if self.seen + n >= 1 << 32:
            self.large = self.total()
            self.small[:] = 0
            self.seen = 0
        self.seen += n
        return self.small

    def total(self) -> Integers:
        return self.small.astype(np.int64) if self.large is None else self.large + self.small


def _counted(
    chunks: Chunks, rows: int, count: Callable[[NDArray[np.uint32], NDArray[Any]], None], threads: int
) -> Integers:
    def update(counter: _Counter, chunk: ScoresAndLabels) -> None:
        count(counter.room_for(len(chunk[0])), chunk[0])

    counters = fold(chunks(), partial(_Counter, rows), update, threads)
    total = counters[0].total()
    for counter in counters[1:]:
        total += counter.total()
    return total


def _count_root(
    tree: Tree, samples: list[NDArray[Any]], count: NDArray[np.uint32], score: NDArray[Any]
) -> None:
    samples.append(score[:: len(score) // _SAMPLED + 1].copy())
    if kernels.count_root(score, tree.low[0], tree.shift[0], count):
        raise UncheckedValuesError("a score is not in [0, 1], or is -0.0")


def _count_nodes(arguments: tuple[Any, ...], count: NDArray[np.uint32], score: NDArray[Any]) -> None:
    table, low, shift, offset, first_new = arguments
    kernels.count_nodes(score, table, low, shift, offset, first_new, count)


class _Needed:
    """The leaves in which cuts fall, in order, with a cell for every gap between them.

    Gap g is before needed leaf g. A leaf with a single possible score has a separate cell; the scores of the
    other leaves are gathered.
    """

    def __init__(self, tree: Tree, leaves: Integers) -> None:
        first, beyond = tree.key_ranges(leaves)
        order = np.argsort(first)
        self.leaves, self.first, self.beyond = leaves[order], first[order], beyond[order]
        self.single = self.beyond - self.first == 1
        self.cell_of_single = len(leaves) + np.cumsum(self.single)  # after the len(leaves) + 1 gaps
        self.cells = len(leaves) + 1 + int(self.single.sum())

    def number_of(self, leaves: Integers) -> Integers:
        """Return the position of each leaf (a row of the whole table) among the needed leaves."""
        order = np.argsort(self.leaves)
        return order[np.searchsorted(self.leaves, leaves, sorter=order)]

    def table(self, tree: Tree) -> NDArray[np.int32]:
        """Return the action for each row: a cell, -1 to gather, -2 - node to look further."""
        marks = np.zeros(tree.offset[-1] + 1, np.int32)
        marks[self.leaves + 1] = 1
        parents = {node: row for row, node in tree.child.items()}
        for node in range(len(tree.low) - 1, 0, -1):  # children are numbered after their parents
            inside = marks[tree.offset[node] + 1 : tree.offset[node + 1] + 1].sum()
            marks[parents[node] + 1] += inside
        table = np.empty(tree.offset[-1], np.int32)
        for node in range(len(tree.low)):
            start, stop = tree.offset[node], tree.offset[node + 1]
            before = int(table[parents[node]]) if node else 0
            np.cumsum(marks[start:stop], out=table[start:stop])
            table[start:stop] += before - marks[start]
        table[self.leaves] = np.where(self.single, self.cell_of_single, -1)
        for row, node in tree.child.items():
            table[row] = -2 - node
        return table


class _Gathered:
    """Packed pairs from all threads, in one array of the size that the counting pass found."""

    def __init__(self, size: int) -> None:
        self.pairs = np.empty(size, np.int64)
        self._used = 0
        self._lock = Lock()

    def append(self, pairs: Integers) -> None:
        with self._lock:
            start = self._used
            self._used += len(pairs)
        self.pairs[start : start + len(pairs)] = pairs


@dataclass
class _Sums:
    """One thread's sums by cell and label, [n, sum q, sum q^2]: of the step, and compensated totals."""

    part: Floats
    total: Floats
    lost: Floats


def _sum(chunks: Chunks, tree: Tree, needed: _Needed, threads: int) -> tuple[Floats, Integers]:
    """Second pass: totals (cell, label, [n, sum q, sum q^2]) and the gathered pairs, packed and sorted."""
    table = needed.table(tree)
    low, shift, offset = tree.arrays()
    shape = (2 * needed.cells, 3)
    step = int(np.clip(64 * needed.cells, 1 << 13, 1 << 20))
    gathered = _Gathered(int(tree.count[needed.leaves[~needed.single]].sum()))

    def update(state: _Sums, chunk: ScoresAndLabels) -> None:
        score, label = chunk
        buffer = np.empty(min(len(score), len(gathered.pairs)), np.int64)
        used = kernels.accumulate_compensated(
            score, label, table, low, shift, offset, state.part, state.total, state.lost, buffer, step
        )
        if used < 0:
            raise UncheckedValuesError("a label is neither 0 nor 1")
        gathered.append(buffer[:used])

    states = fold(chunks(), lambda: _Sums(np.zeros(shape), np.zeros(shape), np.zeros(shape)), update, threads)
    whole = states[0]
    for state in states[1:]:
        kernels.fold_compensated(state.total.reshape(-1), whole.total.reshape(-1), whole.lost.reshape(-1))
        whole.lost += state.lost
    gathered.pairs.sort()
    return (whole.total + whole.lost).reshape(needed.cells, 2, 3), gathered.pairs


@dataclass(frozen=True)
class _Cuts:
    """Where cuts fall: in which needed leaf, at which place, at which score, and whether a tie starts there.

    The place is a position in the gathered pairs; in a leaf with a single score 0 is before, 1 after.
    """

    leaf: Integers
    place: Integers
    score: Floats
    tie: NDArray[np.bool_]

    @staticmethod
    def join(parts: list[_Cuts]) -> _Cuts:
        columns: Any = zip(*(vars(part).values() for part in parts), strict=True)
        return _Cuts(*map(np.concatenate, columns))


def _cuts_at_ranks(needed: _Needed, gathered: Integers, leaves: Integers, local: Integers) -> _Cuts:
    leaf = needed.number_of(leaves)
    single = needed.single[leaf]
    place = np.searchsorted(gathered, needed.first[leaf] * 2) + local
    key = needed.first[leaf]
    key[~single] = gathered[place[~single]] >> 1
    before = np.where(single, 0, np.searchsorted(gathered, key * 2))
    after = np.where(single, 1, np.searchsorted(gathered, key * 2 + 2))
    tied = single | (before < place)
    score = scores_of(key)
    return _Cuts.join(
        [
            _Cuts(leaf[~tied], place[~tied], score[~tied], np.zeros(int((~tied).sum()), bool)),
            _Cuts(leaf[tied], before[tied], score[tied], np.ones(int(tied.sum()), bool)),
            _Cuts(leaf[tied], after[tied], score[tied], np.zeros(int(tied.sum()), bool)),
        ]
    )


def _cuts_after_scores(needed: _Needed, gathered: Integers, leaves: Integers, edges: Floats) -> _Cuts:
    leaf = needed.number_of(leaves)
    place = np.where(needed.single[leaf], 1, np.searchsorted(gathered, keys_of(edges) * 2 + 2))
    return _Cuts(leaf, place, edges, np.zeros(len(edges), bool))


def _assemble(needed: _Needed, totals: Floats, gathered: Integers, cuts: _Cuts) -> CutSums:
    """Put gaps, single scores and gathered runs in order, and merge what no cut parts."""
    leaves = len(needed.leaves)
    start = np.where(needed.single, 0, np.searchsorted(gathered, needed.first * 2))
    stop = np.where(needed.single, 1, np.searchsorted(gathered, needed.beyond * 2))
    # A cut at the end of its leaf parts the leaf from the gap that follows.
    at_end = cuts.place == stop[cuts.leaf]
    run_leaf = np.concatenate([np.flatnonzero(~needed.single & (stop > start)), cuts.leaf[~at_end]])
    run_place = np.concatenate([start[run_leaf[: len(run_leaf) - int((~at_end).sum())]], cuts.place[~at_end]])
    gathered_run = ~needed.single[run_leaf]
    segments, first = np.unique(run_place[gathered_run], return_index=True)
    segment_leaf = run_leaf[gathered_run][first]
    segment_sums = np.zeros((2 * len(segments), 3))
    kernels.sum_gathered(gathered, segments, segment_sums)

    single = np.flatnonzero(needed.single)
    leaf = np.concatenate([np.arange(leaves + 1), segment_leaf, single])
    place = np.concatenate([np.full(leaves + 1, -1), segments, np.zeros(len(single), np.int64)])
    sums = np.concatenate([totals[: leaves + 1], segment_sums.reshape(-1, 2, 3), totals[leaves + 1 :]])
    order = np.lexsort((place, leaf))
    leaf, place, sums = leaf[order], place[order], sums[order]

    target_leaf = np.where(at_end, cuts.leaf + 1, cuts.leaf)
    target_place = np.where(at_end, -1, cuts.place)
    piece = _positions(leaf, place, target_leaf, target_place)
    opens = np.zeros(len(leaf), bool)
    opens[piece] = True
    opens[0] = True
    edge = np.zeros(len(leaf))
    np.maximum.at(edge, piece, cuts.score)
    tie = np.zeros(len(leaf), bool)
    tie[piece[cuts.tie]] = True

    group = np.flatnonzero(opens)
    summed = np.add.reduceat(sums, group, axis=0)
    low = edge[group]
    high = np.where(tie[group], low, np.append(low[1:], 1.0))
    kept = summed[:, :, 0].sum(axis=1) > 0
    summed, low, high = summed[kept], low[kept], high[kept]
    return CutSums(
        low=low,
        high=high,
        n=summed[:, :, 0].sum(axis=1).astype(np.int64),
        positives=summed[:, 1, 0].astype(np.int64),
        sum_score=summed[:, :, 1].sum(axis=1),
        sum_score2=summed[:, :, 2].sum(axis=1),
        sum_score_positive=summed[:, 1, 1],
    )


def _positions(leaf: Integers, place: Integers, wanted_leaf: Integers, wanted_place: Integers) -> Integers:
    """Index of each wanted (leaf, place) in the sorted list of pieces."""
    width = int(max(place.max(initial=0), wanted_place.max(initial=0))) + 2
    return np.searchsorted(leaf * width + place + 1, wanted_leaf * width + wanted_place + 1)
