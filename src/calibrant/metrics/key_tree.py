"""A tree of key ranges: what the counting pass of a selection fills, and where ranks and scores are found.

A score's key is an integer that keeps its order; see `calibrant._kernels.selection`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels import selection as kernels

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_LOWEST_EXPONENT = 64  # scores below 2^-64 share the root's first row, refined only when a cut falls there
_HIGHEST_EXPONENT = 53  # 1 - q is 0 or at least 2^-53
_MOST_BITS, _FEWEST_BITS = 14, 4  # rows of an inner node, as powers of two
_TIE_SHARE, _TIE_HITS = 4, 8  # a score is split off where it has a quarter of a row's sample, and 8 hits


def keys_of(score: NDArray[np.floating[Any]]) -> Integers:
    """Return the order-preserving integer key of each score."""
    key = np.empty(len(score), np.int64)
    kernels.write_keys(score, np.empty(len(score)), key)
    return key


def scores_of(key: Integers) -> Floats:
    """Invert `keys_of`."""
    score = np.empty(len(key), np.float64)
    kernels.score_of_key(np.ascontiguousarray(key), score)
    return score


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
        """First keys of rows of the whole table, and the first keys beyond them."""
        low, shift, offset = self.arrays()
        node = self.nodes_of(rows)
        first = (rows - offset[node] + low[node]) << shift[node]
        beyond = first + (np.int64(1) << shift[node])
        at_start, at_end = rows == offset[node], rows == offset[node + 1] - 1
        first[at_start] = np.array(self.first)[node[at_start]]
        beyond[at_end] = np.array(self.beyond)[node[at_end]]
        first[rows == offset[1] - 1] = kernels.TOP_KEY  # the root's last row holds nothing but the key of 1.0
        return first, beyond

    @classmethod
    def rooted(cls, bits: int) -> Tree:
        """A root that cuts every octave of min(q, 1 - q) in 2^bits rows, with an end row on either side."""
        tree = cls()
        lowest, highest = 1 - _LOWEST_EXPONENT, _HIGHEST_EXPONENT - 1
        rows = ((highest - lowest) << bits) + 3
        tree.add(-kernels.TOP_KEY, kernels.TOP_KEY + 1, (lowest << bits) - 1, 52 - bits, rows)
        return tree

    def nodes_of(self, rows: Integers) -> Integers:
        """The node to which each row of the whole table belongs."""
        node: Integers = np.searchsorted(self.offset, rows, side="right") - 1
        return node

    def are_single(self, rows: Integers) -> NDArray[np.bool_]:
        """Whether only one score can lie in each row."""
        first, beyond = self.key_ranges(rows)
        single: NDArray[np.bool_] = beyond - first == 1
        return single

    def split(self, row: int, parts: float, sample: Integers) -> None:
        """Give a row a node of its own: one part for a heavy tie, if the sample has one, else many.

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
        """The leaf (row of the whole table) that holds each rank, and the rank's position inside it."""
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
        """The leaf that holds each key."""
        leaves = np.empty(len(keys), np.int64)
        for i, key in enumerate(keys.tolist()):
            row = min(max((key >> self.shift[0]) - self.low[0], 0), self.offset[1] - 1)
            while row in self.child:
                node = self.child[row]
                last = self.offset[node + 1] - self.offset[node] - 1
                row = self.offset[node] + min(max((key >> self.shift[node]) - self.low[node], 0), last)
            leaves[i] = row
        return leaves
