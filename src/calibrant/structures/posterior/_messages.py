"""Forward and backward messages of sentences, from which all probabilities of a chain are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._parallel import check_threads, fold
from calibrant.structures._kernels import chain as kernels
from calibrant.structures.posterior.blocks import Block, blocks

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

RUN = 8  # blocks per task of a thread, if there are many, to reduce overhead


@dataclass(frozen=True)
class Steps:
    """Transitions, padded to a multiple of 8 tags and shifted so that the largest is 0."""

    logarithm: Floats
    plain: Floats
    top: float
    spread: float
    forbids: bool
    independent: bool

    @classmethod
    def of(cls, transition: Floats | None, tags: int) -> Steps:
        """Return padded and shifted transitions; None means that tags are independent."""
        width = -(-tags // 8) * 8
        logarithm = np.full((width, width), -np.inf)
        values = np.zeros((tags, tags)) if transition is None else transition
        allowed = values[values > -np.inf]
        top, low = (float(allowed.max()), float(allowed.min())) if len(allowed) else (0.0, 0.0)
        logarithm[:tags, :tags] = values - top
        forbids = len(allowed) < values.size
        return cls(logarithm, np.exp(logarithm), top, top - low, forbids, transition is None)


@dataclass(frozen=True)
class Messages:
    """Messages of a block of sentences; W is the number of tags padded to a multiple of 8.

    Attributes
    ----------
    block
        Block of sentences.
    alpha, future
        (n, W) messages. The probability of tags i, j at consecutive tokens t, t + 1 of a sentence is
        ``alpha[t, i] * steps.plain[i, j] * future[t + 1, j]``, or, in a sentence in logarithms,
        ``exp(alpha[t, i] + steps.logarithm[i, j] + future[t + 1, j])``. alpha[t] is the distribution of tag t
        given the words up to t.
    marginal
        (n, K) probability of each tag at each token.
    log_partition
        (sentences,) logarithm of the partition function.
    state
        (sentences,) `kernels.PLAIN`, `kernels.LOGARITHMS`, or `kernels.FORBIDDEN`.
    """

    block: Block
    alpha: Floats
    future: Floats
    marginal: Floats
    log_partition: Floats
    state: NDArray[np.int8]


def messages(unary: Floats, steps: Steps, block: Block, marginal: Floats | None = None) -> Messages:
    """Return the messages of a block; ``unary`` contains the potentials of the whole batch."""
    values = unary[block.tokens]
    n, tags = values.shape
    width = len(steps.plain)
    future, top, low = np.empty((n, width)), np.empty(n), np.empty(n)
    kernels.shift_rows(values, future, top, low)
    np.exp(future, out=future)
    if marginal is None:
        marginal = np.empty((n, tags))
    sentences = block.last - block.first
    state = np.zeros(sentences, np.int8)
    if steps.independent:
        total = np.empty(n)
        kernels.normalise_rows(future, top, marginal, total)
        log_partition = np.add.reduceat(total, block.offsets[:-1])
        state[~np.isfinite(log_partition)] = kernels.FORBIDDEN
        return Messages(block, future, future, marginal, log_partition, state)
    log_partition = np.empty(sentences)
    alpha = np.empty((n, width))
    kernels.forward_backward(
        values,
        top,
        low,
        steps.logarithm,
        steps.plain,
        steps.spread,
        steps.forbids,
        block.offsets,
        alpha,
        future,
        marginal,
        log_partition,
        state,
    )
    log_partition += (np.diff(block.offsets) - 1) * steps.top
    return Messages(block, alpha, future, marginal, log_partition, state)


def each_block(offsets: Integers, work: Callable[[Block], None], threads: int | None) -> None:
    """Call ``work`` once per block of a batch, on several threads; blocks must write to separate places."""
    used = check_threads(threads)
    every = list(blocks(offsets))
    size = max(1, min(RUN, len(every) // (4 * used)))

    def update(_: None, run: list[Block]) -> None:
        for block in run:
            work(block)

    fold((every[place : place + size] for place in range(0, len(every), size)), lambda: None, update, used)
