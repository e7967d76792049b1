"""Sources of the pairs of a query, in blocks of sentences."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, Pairs
from calibrant.metrics.grid import GridSums
from calibrant.structures.posterior.blocks import Block, blocks

BATCH = 1 << 20  # pairs per batch, unless one sentence has more


class Scored(NamedTuple):
    """Pairs of a block: scores, labels, and (sentences + 1,) offsets of each sentence's pairs."""

    score: Floats
    label: NDArray[np.bool_]
    start: Integers


class Source(ABC):
    """Source of pairs in blocks, sorted by sentence."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the number of pairs."""

    @abstractmethod
    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        """Yield blocks with pairs that fit into memory; shared values are computed first, in threads."""

    @abstractmethod
    def scored(self, block: Block) -> Scored:
        """Return the pairs of a block."""

    @abstractmethod
    def class_codes(self, block: Block, size: int) -> Integers:
        """Return the class of each pair of a block, or of a piece with ``size`` pairs."""

    def pieces(self, block: Block) -> Iterator[Scored]:
        """Yield the pairs of a block in pieces that fit into memory."""
        yield self.scored(block)

    def add(self, sums: GridSums, block: Block) -> None:
        """Add the pairs of a block to sums on the grid."""
        for score, label, _ in self.pieces(block):
            sums.add(Pairs(score, label))


@dataclass(frozen=True)
class ListedSource(Source):
    """Source of given pairs, sorted by sentence, with offsets ``start``."""

    score: Floats
    label: NDArray[np.bool_]
    code: Integers
    start: Integers

    @property
    def size(self) -> int:
        return len(self.score)

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        return blocks(self.start, BATCH)

    def scored(self, block: Block) -> Scored:
        return Scored(self.score[block.tokens], self.label[block.tokens], block.offsets)

    def class_codes(self, block: Block, size: int) -> Integers:
        return self.code[block.tokens]
