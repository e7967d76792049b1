"""Loss of antecedents, its gradient, and AdaGrad."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit
from calibrant.structures._kernels.adagrad import stepped
from calibrant.structures._kernels.coreference_features import PAIR_TEMPLATES, VARIANTS, row_features

NEGLIGIBLE = 1e-7  # candidates with a smaller weight are skipped
BLOCK_BITS = 6  # weights are updated in blocks of 64; untouched blocks are skipped


@jit
def gold_rows(
    entity: Integers, i: int, first: int, costs: Floats, gold: NDArray[np.bool_], cost: Floats
) -> None:
    """Write a mask of the correct candidates of mention ``i``, and the costs of wrong ones.

    ``costs`` are the costs of linking a mention that is new, of starting an entity wrongly, and of a wrong
    antecedent. A mention whose antecedents are all before the window is new.
    """
    width = i - first
    anaphoric = False
    for c in range(width):
        gold[c] = entity[first + c] == entity[i]
        anaphoric = anaphoric or gold[c]
    gold[width] = not anaphoric
    for c in range(width):
        cost[c] = 0.0 if gold[c] else costs[2] if anaphoric else costs[0]
    cost[width] = costs[1] if anaphoric else 0.0


@jit
def log_sum(score: Floats, width: int, only: NDArray[np.bool_], everything: bool) -> float:
    """Return the logarithm of the sum of exponentials of all or some scores."""
    largest = -np.inf
    for c in range(width):
        if everything or only[c]:
            largest = max(largest, score[c])
    total = 0.0
    for c in range(width):
        if everything or only[c]:
            total += math.exp(score[c] - largest)
    return largest + math.log(total)


@jit
def add_gradient(
    mentions: Integers,
    own: Integers,
    tokens: Integers,
    entity: Integers,
    start: int,
    stop: int,
    window: int,
    active: NDArray[np.bool_],
    bits: int,
    costs: Floats,
    weight: NDArray[np.float32],
    gradient: Floats,
    touched: NDArray[np.bool_],
) -> float:
    """Return the loss of mentions ``start .. stop - 1``, add its gradient, and mark the blocks it touches.

    The loss of a mention is the logarithm of the sum over all candidates of exp(score + cost), minus that
    over the correct ones. With zero costs, this is the negative log-likelihood of the set of correct
    candidates.
    """
    most = min(window, stop) + 1
    feature = np.empty((most, VARIANTS * (2 * own.shape[1] + PAIR_TEMPLATES)), np.int32)
    count = np.empty(most, np.int64)
    score = np.empty(most)
    cost = np.empty(most)
    gold = np.empty(most, np.bool_)
    loss = 0.0
    for i in range(start, stop):
        first = max(0, i - window)
        width = i - first + 1
        row_features(mentions, own, tokens, i, first, active, bits, feature, count)
        gold_rows(entity, i, first, costs, gold, cost)
        for c in range(width):
            total = cost[c]
            for k in range(count[c]):
                total += weight[feature[c, k]]
            score[c] = total
        every = log_sum(score, width, gold, True)
        right = log_sum(score, width, gold, False)
        loss += every - right
        for c in range(width):
            slope = math.exp(score[c] - every)
            if gold[c]:
                slope -= math.exp(score[c] - right)
            if abs(slope) > NEGLIGIBLE:
                for k in range(count[c]):
                    gradient[feature[c, k]] += slope
                    touched[feature[c, k] >> BLOCK_BITS] = True
    return loss


@jit
def adagrad(
    weight: NDArray[np.float32],
    squares: NDArray[np.float32],
    gradient: Floats,
    touched: NDArray[np.bool_],
    scale: float,
    rate: float,
    l1: float,
    l2: float,
) -> None:
    """Apply a step of AdaGrad with penalties (composite mirror descent), and set the gradient to 0."""
    for block in range(len(touched)):
        if not touched[block]:
            continue
        for k in range(block << BLOCK_BITS, (block + 1) << BLOCK_BITS):
            slope = gradient[k] * scale
            if slope == 0.0 and weight[k] == 0.0:
                continue
            squares[k] += np.float32(slope * slope)
            weight[k] = np.float32(stepped(weight[k], slope, squares[k], rate, l1, l2))
            gradient[k] = 0.0
