"""Where the pairs of a query come from, whatever the structure: one block of sentences after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs
from calibrant.metrics.grid import GridSums
from calibrant.structures.posterior._blocks import Block, blocks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BATCH = 1 << 20  # pairs a batch, unless one sentence has more


class Scored(NamedTuple):
    """Pairs of a block: scores, labels, and where each sentence's pairs begin, (sentences + 1,)."""

    score: Floats
    label: NDArray[np.bool_]
    start: Integers


class Source(ABC):
    """Pairs in order of the sentence, block by block."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Pairs in all."""

    @abstractmethod
    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        """Blocks whose pairs are few enough to hold; what all of them need is done first, on some threads."""

    @abstractmethod
    def scored(self, block: Block) -> Scored:
        """The pairs of a block."""

    @abstractmethod
    def class_codes(self, block: Block, size: int) -> Integers:
        """The class of each pair of a block, or of a piece with so many pairs."""

    def pieces(self, block: Block) -> Iterator[Scored]:
        """The pairs of a block in pieces that are few enough to hold."""
        yield self.scored(block)

    def add(self, sums: GridSums, block: Block) -> None:
        """Add the pairs of a block to sums on the grid."""
        for score, label, _ in self.pieces(block):
            sums.add(Pairs(score, label))


@dataclass(frozen=True)
class ListedSource(Source):
    """Pairs at hand, in order of the sentence, whose pairs begin at ``start``."""

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
