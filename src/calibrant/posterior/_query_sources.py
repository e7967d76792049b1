"""Where the pairs of a query come from: one block of sentences after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs
from calibrant._kernels import chain as chain_kernels
from calibrant._kernels import queries as kernels
from calibrant.measure._grid_sums import GridSums
from calibrant.measure.grid import grid
from calibrant.posterior._messages import Block, Messages, blocks
from calibrant.posterior._query_gold import Gold
from calibrant.posterior.chain import ChainPosterior

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BATCH = 1 << 20  # pairs a batch, unless one sentence has more
MESSAGES = 1024  # tokens a block at most: messages of a block stay in a processor's cache


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
class TagSource(Source):
    """Single tags: some columns of the marginals."""

    posterior: ChainPosterior
    gold: Gold
    codes: Integers

    @property
    def size(self) -> int:
        return self.posterior.token_count * len(self.codes)

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        self.posterior.marginals(threads=threads)
        return blocks(self.posterior.offsets, max(1, BATCH // len(self.codes)))

    def scored(self, block: Block) -> Scored:
        marginal = self.posterior.marginals()[block.tokens]
        everything = len(self.codes) == self.posterior.tag_count
        score = np.minimum(marginal if everything else marginal[:, self.codes], 1.0)
        label = self.gold.codes[block.tokens, None] == self.codes
        return Scored(score.ravel(), label.ravel(), block.offsets * len(self.codes))

    def class_codes(self, block: Block, size: int) -> Integers:
        return np.tile(np.arange(len(self.codes)), int(block.offsets[-1]))


@dataclass(frozen=True)
class TopSource(Source):
    """The most probable tag of each token; classes are the tags."""

    posterior: ChainPosterior
    gold: Gold

    @property
    def size(self) -> int:
        return self.posterior.token_count

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        self.posterior.marginals(threads=threads)
        return blocks(self.posterior.offsets, BATCH)

    def scored(self, block: Block) -> Scored:
        top = self._top[block.tokens]
        marginal = self.posterior.marginals()[block.tokens]
        score = np.minimum(marginal[np.arange(len(top)), top], 1.0)
        return Scored(score, top == self.gold.codes[block.tokens], block.offsets)

    def class_codes(self, block: Block, size: int) -> Integers:
        return self._top[block.tokens]

    @cached_property
    def _top(self) -> Integers:
        return self.posterior.minimum_bayes_risk()


@dataclass(frozen=True)
class PairSource(Source):
    """Some pairs of tags at consecutive tokens; ``first`` and ``second`` are the codes of each."""

    posterior: ChainPosterior
    gold: Gold
    first: Integers
    second: Integers

    @property
    def size(self) -> int:
        return (self.posterior.token_count - self.posterior.sentence_count) * len(self.first)

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        return blocks(self.posterior.offsets, min(MESSAGES, max(1, BATCH // len(self.first))))

    def scored(self, block: Block) -> Scored:
        found = self.posterior.messages(block)
        starts = _pair_starts(block)
        score = np.empty((int(starts[-1]), len(self.first)))
        label = np.empty(score.shape, np.bool_)
        kernels.pair_scores(
            found.alpha,
            found.future,
            self.posterior.steps.plain,
            self.posterior.steps.logarithm,
            in_logarithms(found),
            block.offsets,
            self.gold.codes[block.tokens],
            self.first,
            self.second,
            score,
            label,
        )
        return Scored(score.ravel(), label.ravel(), starts * len(self.first))

    def class_codes(self, block: Block, size: int) -> Integers:
        return np.tile(np.arange(len(self.first)), int(_pair_starts(block)[-1]))


class AllPairsSource(PairSource):
    """All pairs of tags: the same, but tallied without listing them."""

    def add(self, sums: GridSums, block: Block) -> None:
        found = self.posterior.messages(block)
        most_large = 34 * len(found.marginal)  # a place has at most 32 scores of 2^-5 or more
        kernels.tally_all_pairs(
            found.alpha,
            found.future,
            found.marginal,
            self.posterior.steps.plain,
            self.posterior.steps.logarithm,
            in_logarithms(found),
            block.offsets,
            self.gold.codes[block.tokens],
            grid().part_of,
            grid().cut,
            sums.room(most_large),
        )


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


def in_logarithms(found: Messages) -> NDArray[np.bool_]:
    """Which sentences of a block have messages in logarithms."""
    logarithms: NDArray[np.bool_] = found.state == chain_kernels.LOGARITHMS
    return logarithms


def _pair_starts(block: Block) -> Integers:
    """Where each sentence's consecutive tokens begin, counted in such places."""
    return block.offsets - np.arange(len(block.offsets))
