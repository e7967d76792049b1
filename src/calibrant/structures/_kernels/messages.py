"""Messages of a block of sentences for the kernels, and the probability of two consecutive tags."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit
from calibrant.structures._kernels.chain import LOGARITHMS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class BlockMessages(NamedTuple):
    """Messages of the sentences whose tokens are between successive ``offsets``, and the transitions.

    Depending on ``state``, ``alpha`` and ``future`` of a sentence are in logarithms, as is ``log_step``.
    """

    alpha: Floats
    future: Floats
    marginal: Floats
    step: Floats
    log_step: Floats
    state: NDArray[np.int8]
    offsets: Integers


class SentenceMessages(NamedTuple):
    """Messages of one sentence; ``alpha``, ``future`` and ``step`` may be in logarithms."""

    alpha: Floats
    future: Floats
    marginal: Floats
    step: Floats
    logarithms: bool


@jit
def sentence_messages(block: BlockMessages, s: int) -> SentenceMessages:
    """Return the messages of sentence s of a block."""
    first, last = block.offsets[s], block.offsets[s + 1]
    logarithms = block.state[s] == LOGARITHMS
    return SentenceMessages(
        block.alpha[first:last],
        block.future[first:last],
        block.marginal[first:last],
        block.log_step if logarithms else block.step,
        logarithms,
    )


@jit
def pair_probability(sentence: SentenceMessages, t: int, i: int, j: int) -> float:
    """Return the probability of tags i and j at t and t + 1."""
    if sentence.logarithms:
        return float(np.exp(sentence.alpha[t, i] + sentence.step[i, j] + sentence.future[t + 1, j]))
    return float(sentence.alpha[t, i] * sentence.step[i, j] * sentence.future[t + 1, j])


@jit
def add_expected_pairs(block: BlockMessages, total: Floats) -> None:
    """Add to ``total`` (W, W) how many of each two consecutive tags are expected in a block."""
    width = len(block.step)
    plain = np.zeros((width, width))
    for s in range(len(block.offsets) - 1):
        for t in range(block.offsets[s] + 1, block.offsets[s + 1]):
            for i in range(width):
                weight = block.alpha[t - 1, i]
                if block.state[s] == LOGARITHMS:
                    for j in range(width):
                        total[i, j] += np.exp(weight + block.log_step[i, j] + block.future[t, j])
                elif weight > 0.0:
                    for j in range(width):
                        plain[i, j] += weight * block.future[t, j]
    total += plain * block.step
