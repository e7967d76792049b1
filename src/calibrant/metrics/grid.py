"""The fixed grid of a compressed tally, sums by its rows, and the tree of keys that finds cuts.

Rows cut every octave of min(q, 1 - q) in 256 equal parts, from 2^-64 at the low end and 2^-53 at the
high end to 1/2, so that the grid is fine near 0 and near 1, where the scores of language models crowd.
Rows are further cut after 0 and after every k/10, k/15 and k/20, so that equal-width bins (lo, hi] of
those numbers are unions of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, Pairs
from calibrant._kernels import selection as key_kernels
from calibrant._kernels import tally as kernels
from calibrant._kernels.selection import fold_compensated

_LOWEST_EXPONENT = 64  # scores below 2^-64 share the root's first row, refined only when a cut falls there
_HIGHEST_EXPONENT = 53  # 1 - q is 0 or at least 2^-53
_MOST_BITS, _FEWEST_BITS = 14, 4  # rows of an inner node, as powers of two
_TIE_SHARE, _TIE_HITS = 4, 8  # a score is split off where it has a quarter of a row's sample, and 8 hits


def keys_of(score: NDArray[np.floating[Any]]) -> Integers:
    """Return the order-preserving integer key of each score."""
    key = np.empty(len(score), np.int64)
    key_kernels.write_keys(score, np.empty(len(score)), key)
    return key


def scores_of(key: Integers) -> Floats:
    """Return the scores of keys (the inverse of `keys_of`)."""
    score = (key_kernels.HALF_BITS - np.abs(key)).view(np.float64)  # of min(q, 1 - q)
    return np.subtract(1.0, score, out=score, where=key >= 0)


@dataclass
class Tree:
    """Key ranges: node 0 is the root; a row of a node is a leaf or another node.

    A node covers the keys ``first <= key < beyond``; a key's row is ``(key >> shift) - low``, cut to the rows
    that there are.
    """

    first: list[int] = field(default_factory=list)
    beyond: list[int] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    shift: list[int] = field(default_factory=list)
    offset: list[int] = field(default_factory=lambda: [0])
    count: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    child: dict[int, int] = field(default_factory=dict)  # row of the whole table -> node

    def add(self, first: int, beyond: int, low: int, shift: int, rows: int) -> int:
        """Add a node and return its number."""
        self.first.append(first)
        self.beyond.append(beyond)
        self.low.append(low)
        self.shift.append(shift)
        self.offset.append(self.offset[-1] + rows)
        return len(self.low) - 1

    def arrays(self) -> tuple[Integers, Integers, Integers]:
        """Return lows, shifts and offsets of the nodes."""
        return (np.array(self.low, np.int64), np.array(self.shift, np.int64), np.array(self.offset, np.int64))

    def key_ranges(self, rows: Integers) -> tuple[Integers, Integers]:
        """Return the first keys of rows of the whole table, and the first keys beyond them."""
        low, shift, offset = self.arrays()
        node = self.nodes_of(rows)
        first = (rows - offset[node] + low[node]) << shift[node]
        beyond = first + (np.int64(1) << shift[node])
        at_start, at_end = rows == offset[node], rows == offset[node + 1] - 1
        first[at_start] = np.array(self.first)[node[at_start]]
        beyond[at_end] = np.array(self.beyond)[node[at_end]]
        first[rows == offset[1] - 1] = key_kernels.TOP_KEY  # that row holds nothing but the key of 1.0
        return first, beyond

    @classmethod
    def rooted(cls, bits: int) -> Tree:
        """Return a root with 2^bits rows per octave of min(q, 1 - q), and an end row on either side."""
        tree = cls()
        lowest, highest = 1 - _LOWEST_EXPONENT, _HIGHEST_EXPONENT - 1
        rows = ((highest - lowest) << bits) + 3
        tree.add(-key_kernels.TOP_KEY, key_kernels.TOP_KEY + 1, (lowest << bits) - 1, 52 - bits, rows)
        return tree

    def nodes_of(self, rows: Integers) -> Integers:
        """Return the node of each row of the whole table."""
        return np.searchsorted(self.offset, rows, side="right") - 1

    def are_single(self, rows: Integers) -> NDArray[np.bool_]:
        """Return True for each row that can contain only one score."""
        first, beyond = self.key_ranges(rows)
        single: NDArray[np.bool_] = beyond - first == 1
        return single

    def split(self, row: int, parts: float, sample: Integers) -> None:
        """Add a node for a row: one part for a frequent tie, if the sample has one, else many parts.

        Parameters
        ----------
        row
            Row of the whole table.
        parts
            Into how many parts the row's scores should fall, about.
        sample
            Sorted keys of some of the scores.
        """
        first, beyond = (int(key[0]) for key in self.key_ranges(np.array([row])))
        inside = sample[np.searchsorted(sample, first) : np.searchsorted(sample, beyond)]
        values, hits = np.unique(inside, return_counts=True)
        if len(values) and hits.max() >= max(_TIE_HITS, len(inside) / _TIE_SHARE):
            tie = int(values[np.argmax(hits)])
            low = tie - (tie > first)
            self.child[row] = self.add(first, beyond, low, 0, 1 + (tie > first) + (tie < beyond - 1))
            return
        bits = int(np.clip(np.ceil(np.log2(parts)) + 3, _FEWEST_BITS, _MOST_BITS))
        shift = max(0, (beyond - first - 1).bit_length() - bits)
        low = first >> shift
        self.child[row] = self.add(first, beyond, low, shift, ((beyond - 1) >> shift) - low + 1)

    def locate(self, ranks: Integers) -> tuple[Integers, Integers]:
        """Return the leaf (row of the whole table) of each rank, and the rank's position inside it."""
        leaves = np.empty(len(ranks), np.int64)
        local = np.empty(len(ranks), np.int64)
        pending: list[tuple[int, Integers, Integers]] = [
            (0, np.arange(len(ranks)), np.asarray(ranks, np.int64))
        ]
        while pending:
            node, which, position = pending.pop()
            start, stop = self.offset[node], self.offset[node + 1]
            before = np.concatenate([[0], np.cumsum(self.count[start:stop])])
            row = np.searchsorted(before, position, side="right") - 1
            leaves[which] = start + row
            local[which] = position - before[row]
            for parent in np.unique(leaves[which]) if self.child else []:
                if int(parent) in self.child:
                    inside = which[leaves[which] == parent]
                    pending.append((self.child[int(parent)], inside, local[inside]))
        return leaves, local

    def locate_keys(self, keys: Integers) -> Integers:
        """Return the leaf of each key."""
        leaves = np.empty(len(keys), np.int64)
        for i, key in enumerate(keys.tolist()):
            row = min(max((key >> self.shift[0]) - self.low[0], 0), self.offset[1] - 1)
            while row in self.child:
                node = self.child[row]
                last = self.offset[node + 1] - self.offset[node] - 1
                row = self.offset[node] + min(max((key >> self.shift[node]) - self.low[node], 0), last)
            leaves[i] = row
        return leaves


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


_FOLD_AFTER = 1 << 20  # pairs summed plainly before they are folded into compensated totals


class _Compensated:
    """Sums of the latest pairs, and totals that keep what rounding loses."""

    def __init__(self, columns: int) -> None:
        shape = (2 * len(grid().low), columns)
        self.part, self.total, self.lost = np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def fold(self) -> None:
        fold_compensated(self.part.reshape(-1), self.total.reshape(-1), self.lost.reshape(-1))

    def absorb(self, other: _Compensated) -> None:
        fold_compensated(other.total.reshape(-1), self.total.reshape(-1), self.lost.reshape(-1))
        self.lost += other.lost

    def sums(self) -> Floats:
        """Array (rows, label, columns)."""
        return (self.total + self.lost).reshape(len(self.total) // 2, 2, -1)


class GridSums:
    """One thread's sums by row and label: plain pairs and weighted pairs apart."""

    def __init__(self) -> None:
        self._plain = _Compensated(4)
        self._weighted: _Compensated | None = None
        self._pending = 0

    def add(self, pairs: Pairs) -> None:
        """Add checked pairs; their clusters are ignored."""
        shared = grid()
        if pairs.weight is None:
            kernels.tally(pairs.score, pairs.outcome, shared.part_of, shared.cut, self._plain.part)
        else:
            self._weighted = self._weighted or _Compensated(5)
            kernels.tally_weighted(
                pairs.score, pairs.outcome, pairs.weight, shared.part_of, shared.cut, self._weighted.part
            )
        self._pending += len(pairs)
        if self._pending >= _FOLD_AFTER:
            self._fold()

    def room(self, additions: int) -> Floats:
        """Return arrays to which a kernel adds sums of pairs without weights, with a limit per row."""
        if self._pending + additions > _FOLD_AFTER:
            self._fold()
        self._pending += additions
        return self._plain.part

    def _fold(self) -> None:
        self._pending = 0
        self._plain.fold()
        if self._weighted is not None:
            self._weighted.fold()

    def absorb(self, other: GridSums) -> None:
        """Add another thread's sums."""
        self._fold()
        other._fold()
        self._plain.absorb(other._plain)
        if other._weighted is not None:
            self._weighted = self._weighted or _Compensated(5)
            self._weighted.absorb(other._weighted)

    def columns(self) -> dict[str, Any]:
        """Return the columns of a tally: the rows that contain pairs, in order of the score."""
        self._fold()
        plain = self._plain.sums()
        n, d, d2 = plain[:, :, 0], plain[:, :, 1], plain[:, :, 2]
        w, w2 = n, n
        if self._weighted is not None:
            sums = self._weighted.sums()
            n, w, w2 = n + sums[:, :, 0], w + sums[:, :, 1], w2 + sums[:, :, 2]
            d, d2 = d + sums[:, :, 3], d2 + sums[:, :, 4]
        shared = grid()
        kept = shared.order[n.sum(axis=1)[shared.order] > 0]
        return {
            "low": shared.low[kept],
            "high": shared.high[kept],
            "anchor": shared.anchor[kept],
            "n": n[kept].sum(axis=1).astype(np.int64),
            "positives": n[kept, 1].astype(np.int64),
            "weight": w[kept].sum(axis=1),
            "weight_positives": w[kept, 1],
            "weight2": w2[kept].sum(axis=1),
            "weight2_positives": w2[kept, 1],
            "offset": d[kept].sum(axis=1),
            "offset2": d2[kept].sum(axis=1),
            "offset_positive": d[kept, 1],
            "weighted": self._weighted is not None,
        }
