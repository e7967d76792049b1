"""Messages of a block of sentences as kernels take them, and the probability of two consecutive tags."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit
from calibrant.structures._kernels.chain import LOGARITHMS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class BlockMessages(NamedTuple):
    """Messages of the sentences whose tokens lie between successive ``offsets``, and the transitions.

    Where ``state`` says so, ``alpha`` and ``future`` of a sentence are in logarithms, as is ``log_step``.
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
    """Those of sentence s of a block."""
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
    """Probability of tags i and j at t and t + 1."""
    if sentence.logarithms:
        return float(np.exp(sentence.alpha[t, i] + sentence.step[i, j] + sentence.future[t + 1, j]))
    return float(sentence.alpha[t, i] * sentence.step[i, j] * sentence.future[t + 1, j])
