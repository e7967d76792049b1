"""Where the pairs of queries of chains come from: single tags, the best ones, pairs of tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics.grid import GridSums, grid
from calibrant.structures._kernels import chain as chain_kernels
from calibrant.structures._kernels import queries as kernels
from calibrant.structures.posterior import _query_sources
from calibrant.structures.posterior._blocks import Block, blocks
from calibrant.structures.posterior._messages import Messages
from calibrant.structures.posterior._query_gold import Gold
from calibrant.structures.posterior._query_sources import Scored, Source
from calibrant.structures.posterior.chain import ChainPosterior

Integers = NDArray[np.int64]

MESSAGES = 1024  # tokens a block at most: messages of a block stay in a processor's cache


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
        return blocks(self.posterior.offsets, max(1, _query_sources.BATCH // len(self.codes)))

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
        return blocks(self.posterior.offsets, _query_sources.BATCH)

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
        return blocks(self.posterior.offsets, min(MESSAGES, max(1, _query_sources.BATCH // len(self.first))))

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


def in_logarithms(found: Messages) -> NDArray[np.bool_]:
    """Which sentences of a block have messages in logarithms."""
    logarithms: NDArray[np.bool_] = found.state == chain_kernels.LOGARITHMS
    return logarithms


def _pair_starts(block: Block) -> Integers:
    """Where each sentence's consecutive tokens begin, counted in such places."""
    return block.offsets - np.arange(len(block.offsets))
