"""Entropy, probabilities of windows, the k best tag sequences, and samples of sequences of linear chains."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit
from calibrant._kernels.messages import BlockMessages, SentenceMessages, pair_probability, sentence_messages

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@jit
def _row_entropy(weight: Floats) -> float:
    """Entropy of the distribution that is proportional to non-negative weights, accurate near 0.

    The largest probability enters through the others' sum: near 1 it has lost what lacks to 1.
    """
    top = 0
    total = 0.0
    for k in range(len(weight)):
        total += weight[k]
        if weight[k] > weight[top]:
            top = k
    others, entropy = 0.0, 0.0
    for k in range(len(weight)):
        if k != top and weight[k] > 0.0:
            p = weight[k] / total
            others += p
            if p > 0.0:
                entropy -= p * np.log(p)
    if others > 0.0:
        entropy -= (1.0 - others) * np.log1p(-others)
    return entropy


@jit
def _conditional(sentence: SentenceMessages, t: int, i: int, weight: Floats) -> None:
    """Weights of the tags at t + 1, given tag i at t."""
    tags = len(weight)
    if not sentence.logarithms:
        for j in range(tags):
            weight[j] = sentence.step[i, j] * sentence.future[t + 1, j]
        return
    high = -np.inf
    for j in range(tags):
        weight[j] = sentence.step[i, j] + sentence.future[t + 1, j]
        high = max(high, weight[j])
    for j in range(tags):
        weight[j] = np.exp(weight[j] - high)


@jit
def entropies(
    block: BlockMessages,
    entropy: Floats,
) -> None:
    """Entropy of each sentence's tag sequences: of the first tag, and of each tag given the one before."""
    tags = block.marginal.shape[1]
    weight = np.empty(tags)
    for s in range(len(block.offsets) - 1):
        sentence = sentence_messages(block, s)
        total = _row_entropy(sentence.marginal[0])
        for t in range(block.offsets[s + 1] - block.offsets[s] - 1):
            for i in range(tags):
                share = sentence.marginal[t, i]
                if share > 0.0:
                    _conditional(sentence, t, i, weight)
                    total += share * _row_entropy(weight)
        entropy[s] = total


@jit
def window_probabilities(
    block: BlockMessages,
    sentences: Integers,
    first: Integers,
    windows: Integers,
    probability: Floats,
) -> None:
    """Probability of tags at consecutive tokens; ``first`` counts from the block's first token."""
    for query in range(len(first)):
        s = sentences[query]
        sentence = sentence_messages(block, s)
        t = first[query] - block.offsets[s]
        found = float(sentence.marginal[t, windows[query, 0]])
        for k in range(1, windows.shape[1]):
            here = sentence.marginal[t, windows[query, k - 1]]
            if here == 0.0:
                found = 0.0
                break
            both = pair_probability(sentence, t, windows[query, k - 1], windows[query, k])
            found *= min(1.0, both / here)
            t += 1
        probability[query] = found


@jit
def _insert(score: Floats, origin: Integers, count: int, value: float, came: int) -> int:
    """Insert into a descending list, after those of equal value; return its length."""
    place = count if count < len(score) else count - 1
    while place > 0 and score[place - 1] < value:
        score[place] = score[place - 1]
        origin[place] = origin[place - 1]
        place -= 1
    score[place] = value
    origin[place] = came
    return min(count + 1, len(score))


@jit
def k_best(
    unary: Floats, transition: Floats, offsets: Integers, codes: NDArray[np.int32], score: Floats
) -> None:
    """The k best tag sequences of each sentence (k, N), and their scores (k, S); best first.

    Where fewer exist, codes are -1 and scores -inf. Of equally good ones that with the lower codes at the end
    comes first, as in Viterbi's.
    """
    tags = unary.shape[1]
    most = len(codes)
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    origin = np.empty((longest, tags, most), np.int64)  # tag before * k + its rank there
    best, new = np.empty((tags, most)), np.empty((tags, most))
    count, new_count = np.empty(tags, np.int64), np.empty(tags, np.int64)
    last_score, last_origin = np.empty(most), np.empty(most, np.int64)
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        for j in range(tags):
            best[j, 0] = unary[first, j]
            count[j] = 1 if unary[first, j] > -np.inf else 0
        for t in range(first + 1, last):
            for j in range(tags):
                new_count[j] = 0
                if unary[t, j] == -np.inf:
                    continue
                for i in range(tags):
                    if transition[i, j] == -np.inf:
                        continue
                    for rank in range(count[i]):
                        value = best[i, rank] + transition[i, j]
                        if new_count[j] == most and value <= new[j, most - 1]:
                            break
                        came = i * most + rank
                        new_count[j] = _insert(new[j], origin[t - first, j], new_count[j], value, came)
                for rank in range(new_count[j]):
                    new[j, rank] += unary[t, j]
            best, new = new, best
            count, new_count = new_count, count
        found = 0
        for j in range(tags):
            for rank in range(count[j]):
                if found == most and best[j, rank] <= last_score[most - 1]:
                    break
                found = _insert(last_score, last_origin, found, best[j, rank], j * most + rank)
        for n in range(most):
            if n >= found:
                score[n, s] = -np.inf
                codes[n, first:last] = -1
                continue
            score[n, s] = last_score[n]
            came = last_origin[n]
            for t in range(last - 1, first - 1, -1):
                codes[n, t] = came // most
                if t > first:
                    came = origin[t - first, came // most, came % most]


@jit
def _draw(weight: Floats, uniform: float) -> int:
    """The tag that a uniform number picks; weights become their running sums."""
    total = 0.0
    for k in range(len(weight)):
        total += weight[k]
        weight[k] = total
    mark = uniform * total
    for k in range(len(weight)):
        if weight[k] > mark:
            return k
    k = len(weight) - 1  # rounding has taken the mark to the end: the last tag with a weight
    while k > 0 and weight[k - 1] == weight[k]:
        k -= 1
    return k


@jit
def sample(alpha: Floats, back: Floats, logarithms: bool, uniform: Floats, codes: NDArray[np.int32]) -> None:
    """Tag sequences (size, n) of a sentence, from the last token to the first; a uniform number a tag.

    ``back[j, i]`` is the weight of tags i, j at consecutive tokens.
    """
    size, length = codes.shape
    tags = back.shape[0]
    weight = np.empty(tags)
    for m in range(size):
        code = -1
        for t in range(length - 1, -1, -1):
            row = alpha[t]
            for i in range(tags):
                weight[i] = row[i]
            if logarithms:
                high = -np.inf
                for i in range(tags):
                    if code >= 0:
                        weight[i] += back[code, i]
                    high = max(high, weight[i])
                for i in range(tags):
                    weight[i] = np.exp(weight[i] - high)
            elif code >= 0:
                for i in range(tags):
                    weight[i] *= back[code, i]
            code = _draw(weight, uniform[m, t])
            codes[m, t] = code
