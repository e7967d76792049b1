"""Training of scores of arcs by the likelihood of trees, and of labels by their likelihood given the arcs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Integers, jit
from calibrant.structures._kernels.adagrad import stepped
from calibrant.structures._kernels.dependency import inside
from calibrant.structures._kernels.dependency_features import (
    LABEL_FEATURES,
    MOST_BETWEEN,
    MOST_FEATURES,
    PAD,
    Weights,
    arc_features,
    dropped,
    label_scores,
    pass_word,
    score_arcs,
)

NEGLIGIBLE = 1e-3  # arcs whose probability is this close to the truth are skipped


@jit
def train_arcs(
    codes: Integers,
    kinds: Integers,
    offsets: Integers,
    heads: Integers,
    order: Integers,
    bits: int,
    weight: Weights,
    squares: Weights,
    gradient: Weights,
    drift: Weights,
    touched: NDArray[np.int32],
    marked: NDArray[np.bool_],
    rate: float,
    l1: float,
    l2: float,
    batch: int,
    step: int,
    below: int,
    salts: Integers,
) -> float:
    """Take a step of AdaGrad after each ``batch`` sentences, in the given order; return the sum of losses.

    The loss of a sentence is the negative log-likelihood of its tree; its gradient is the marginal
    probability of each arc less 1 for gold arcs. ``heads`` has one row per row of ``codes``. ``drift`` sums
    changes of weights times the number of the step, which gives the mean weights of all steps. In each
    sentence, about ``below`` of 256 features are left out, by the sentence's salt.
    """
    out = np.empty(MOST_FEATURES, np.int32)
    between, counts = np.empty(MOST_BETWEEN, np.int64), np.zeros(5, np.int64)
    loss, used, waiting = 0.0, 0, 0
    for at in range(len(order)):
        first, last = offsets[order[at]], offsets[order[at] + 1]
        own, kind, gold = codes[first:last], kinds[first:last], heads[first:last]
        n = last - first - 2 * PAD - 1
        score, marginal = np.empty((n, n + 1)), np.empty((n, n + 1))
        salt = salts[at]
        score_arcs(own, kind, bits, weight, salt, below, score)
        loss += inside(score, marginal)
        for word in range(n):
            loss -= score[word, gold[word + 1 + PAD]]
        for head in range(n + 1):
            for side in (1, -1):
                found = 0
                counts[:] = 0
                word = head + side
                while 1 <= word <= n:
                    slope = np.exp(marginal[word - 1, head]) - (gold[word + PAD] == head)
                    if abs(slope) > NEGLIGIBLE:
                        count = arc_features(own, head + PAD, word + PAD, between, found, counts, bits, out)
                        for k in range(count):
                            place = out[k]
                            if below > 0 and dropped(place, salt, below):
                                continue
                            gradient[place] += np.float32(slope)
                            if not marked[place]:
                                marked[place] = True
                                touched[used] = place
                                used += 1
                    found = pass_word(own, kind, word + PAD, between, found, counts)
                    word += side
        waiting += 1
        if waiting == batch or at == len(order) - 1:
            for k in range(used):
                place = touched[k]
                marked[place] = False
                slope = gradient[place] / waiting
                gradient[place] = 0.0
                squares[place] += np.float32(slope * slope)
                before = weight[place]
                weight[place] = np.float32(stepped(before, slope, squares[place], rate, l1, l2))
                drift[place] += (weight[place] - before) * np.float32(step)
            used, waiting = 0, 0
            step += 1
    return loss


@jit
def train_labels(
    codes: Integers,
    kinds: Integers,
    offsets: Integers,
    heads: Integers,
    labels: Integers,
    order: Integers,
    bits: int,
    weight: Weights,
    squares: Weights,
    rate: float,
    l2: float,
) -> float:
    """Take a step of AdaGrad after each gold arc; return the sum of losses.

    The loss of an arc is the negative logarithm of the probability of its label, given the arc.
    """
    size = weight.shape[1]
    out, total, slope = np.empty(LABEL_FEATURES, np.int32), np.empty(size, np.float32), np.empty(size)
    loss = 0.0
    for at in range(len(order)):
        first, last = offsets[order[at]], offsets[order[at] + 1]
        own, kind = codes[first:last], kinds[first:last]
        n = last - first - 2 * PAD - 1
        for m in range(PAD + 1, PAD + 1 + n):
            h, gold = heads[first + m] + PAD, labels[first + m]
            count = label_scores(own, kind, n, h, m, bits, weight, out, total)
            high, mass = np.float64(total.max()), 0.0
            for label in range(size):
                slope[label] = np.exp(total[label] - high)
                mass += slope[label]
            loss += high + np.log(mass) - total[gold]
            for label in range(size):
                slope[label] /= mass
            slope[gold] -= 1.0
            for k in range(count):
                row, square = weight[out[k]], squares[out[k]]
                for label in range(size):
                    if abs(slope[label]) > NEGLIGIBLE:
                        square[label] += np.float32(slope[label] * slope[label])
                        row[label] = np.float32(
                            stepped(row[label], slope[label], square[label], rate, 0.0, l2)
                        )
    return loss
