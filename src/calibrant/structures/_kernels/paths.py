"""Entropy, probabilities of windows, the k best tag sequences, and samples of sequences of linear chains."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit
from calibrant.structures._kernels.chain import (
    BlockMessages,
    SentenceMessages,
    pair_probability,
    sentence_messages,
)
from calibrant.structures._kernels.product import times

CANCELS = 1e-5  # an entropy this small relative to its terms has lost a third of its digits


@jit
def _entropy(weight: Floats, log_weight: Floats, shift: float) -> float:
    """Return the entropy of weights, whose logarithms are ``log_weight - shift``.

    The largest probability is computed as 1 minus the sum of the others, which is precise near 1.
    """
    top = 0
    total = 0.0
    for k in range(len(weight)):
        total += weight[k]
        if weight[k] > weight[top]:
            top = k
    shift += float(np.log(total))
    others, entropy = 0.0, 0.0
    for k in range(len(weight)):
        if k != top and weight[k] > 0.0:
            p = weight[k] / total
            others += p
            entropy += p * (shift - log_weight[k])
    if others > 0.0:
        entropy -= (1.0 - others) * np.log1p(-others)
    return entropy


@jit
def _conditional(
    sentence: SentenceMessages,
    log_step: Floats,
    log_future: Floats,
    i: int,
    t: int,
    log_weight: Floats,
    weight: Floats,
) -> float:
    """Write weights of the tags at t + 1, given tag i at t; return the shift of their logarithms."""
    tags = len(weight)
    high = -np.inf if sentence.logarithms else 0.0
    for j in range(tags):
        log_weight[j] = log_step[i, j] + log_future[j]
        if sentence.logarithms:
            high = max(high, log_weight[j])
    for j in range(tags):
        if sentence.logarithms:
            weight[j] = np.exp(log_weight[j] - high)
        else:
            weight[j] = sentence.step[i, j] * sentence.future[t + 1, j]
    return high


@jit
def _expected_score(sentence: SentenceMessages, unary: Floats, steps: Floats) -> tuple[float, float]:
    """Return the expectation of a tag sequence's score, and the sum of its terms' absolute values.

    ``steps`` are exponentiated transitions times transitions.
    """
    total, size = 0.0, 0.0
    row = np.empty(steps.shape[0])
    for t in range(len(unary)):
        for k in range(unary.shape[1]):
            if sentence.marginal[t, k] > 0.0:
                part = sentence.marginal[t, k] * unary[t, k]
                total += part
                size += abs(part)
        if t > 0:
            times(sentence.alpha[t - 1], steps, row)
            part = 0.0
            for k in range(len(row)):
                part += row[k] * sentence.future[t, k]
            total += part
            size += abs(part)
    return total, size


@jit
def entropies(
    block: BlockMessages, unary: Floats, steps: Floats, top: float, log_partition: Floats, entropy: Floats
) -> None:
    """Write the entropy of each sentence's tag sequences.

    The entropy is the log-partition minus the expected score, unless the difference cancels or messages are
    in logarithms. ``top`` is the shift of the transitions; ``steps`` is as in `_expected_score`.
    """
    for s in range(len(block.offsets) - 1):
        first, last = block.offsets[s], block.offsets[s + 1]
        sentence = sentence_messages(block, s)
        entropy[s] = 0.0
        if not sentence.logarithms:
            expected, size = _expected_score(sentence, unary[first:last], steps)
            shift = (last - first - 1) * top
            entropy[s] = log_partition[s] - shift - expected
            size += abs(log_partition[s]) + abs(shift)
            if entropy[s] > CANCELS * size:
                continue
        entropy[s] = _exact_entropy(block, s)


@jit
def _exact_entropy(block: BlockMessages, s: int) -> float:
    """Return the entropy of one sentence: of the first tag, and of each tag given the previous tag."""
    tags = block.marginal.shape[1]
    weight, log_weight, log_future = np.empty(tags), np.empty(tags), np.empty(tags)
    sentence = sentence_messages(block, s)
    total = _entropy(sentence.marginal[0], np.log(sentence.marginal[0]), 0.0)
    for t in range(block.offsets[s + 1] - block.offsets[s] - 1):
        for j in range(tags):
            value = sentence.future[t + 1, j]
            log_future[j] = value if sentence.logarithms else np.log(value)
        for i in range(tags):
            share = sentence.marginal[t, i]
            if share > 0.0:
                shift = _conditional(sentence, block.log_step, log_future, i, t, log_weight, weight)
                total += share * _entropy(weight, log_weight, shift)
    return total


@jit
def window_probabilities(
    block: BlockMessages, sentences: Integers, first: Integers, windows: Integers, probability: Floats
) -> None:
    """Write the probability of tags at consecutive tokens; ``first`` counts from the block's first token."""
    for query in range(len(first)):
        s = sentences[query]
        sentence = sentence_messages(block, s)
        t = first[query] - block.offsets[s]
        product = min(1.0, sentence.marginal[t, windows[query, 0]])
        for k in range(1, windows.shape[1]):
            here = sentence.marginal[t, windows[query, k - 1]]
            if here == 0.0:
                product = 0.0
                break
            both = pair_probability(sentence, t, windows[query, k - 1], windows[query, k])
            product *= min(1.0, both / here)
            t += 1
        probability[query] = product


class Ranking(NamedTuple):
    """Sequences in decreasing order of score.

    Each sequence equals its parent after a token, differs in that token's tag, and is the best one before it.
    """

    score: Floats
    parent: Integers
    token: Integers
    tag: Integers


@jit
def _insert(ranking: Ranking, count: int, score: float, parent: int, token: int, tag: int) -> int:
    """Insert a sequence after those with the same score; a full ranking drops its last."""
    place = count if count < len(ranking.score) else count - 1
    while ranking.score[place - 1] < score:
        ranking.score[place] = ranking.score[place - 1]
        ranking.parent[place] = ranking.parent[place - 1]
        ranking.token[place] = ranking.token[place - 1]
        ranking.tag[place] = ranking.tag[place - 1]
        place -= 1
    ranking.score[place], ranking.parent[place] = score, parent
    ranking.token[place], ranking.tag[place] = token, tag
    return min(count + 1, len(ranking.score))


@jit
def _lattice(unary: Floats, transition: Floats, best: Floats, origin: Integers) -> None:
    """Write the score of the best sequence up to each tag, and its previous tag."""
    length, tags = unary.shape
    best[0] = unary[0]
    for t in range(1, length):
        best[t] = -np.inf
        origin[t] = 0
        for i in range(tags):
            weight = best[t - 1, i]
            for j in range(tags):
                value = weight + transition[i, j]
                better = value > best[t, j]
                best[t, j] = value if better else best[t, j]
                origin[t, j] = i if better else origin[t, j]
        best[t] += unary[t]


@jit
def _deviate(
    unary: Floats,
    transition: Floats,
    best: Floats,
    codes: NDArray[np.int32],
    rank: int,
    ranking: Ranking,
    count: int,
) -> int:
    """Rank the best sequences that deviate from one, going backward, at each token and with each tag."""
    length, tags = unary.shape
    path = codes[rank]
    follow = np.zeros(tags)
    suffix = 0.0
    for t in range(length - 1, -1, -1):
        if t + 1 < length:
            follow = transition[:, path[t + 1]]
        if t < ranking.token[rank]:
            for i in range(tags):
                score = min(best[t, i] + follow[i] + suffix, ranking.score[rank])
                full = count == len(ranking.score) and score <= ranking.score[count - 1]
                if i != path[t] and score > -np.inf and not full:
                    count = _insert(ranking, count, score, rank, t, i)
        suffix += unary[t, path[t]] + follow[path[t]]
    return count


@jit
def k_best(
    unary: Floats, transition: Floats, offsets: Integers, codes: NDArray[np.int32], score: Floats
) -> None:
    """Write (k, N) codes and (k, S) scores of the k best tag sequences of each sentence, best first.

    If fewer sequences exist, codes are -1 and scores -inf. Each sequence except the best deviates from a
    better one at one token, going backward (Lawler's partition), so one pass of Viterbi's algorithm is
    sufficient.
    """
    tags = unary.shape[1]
    most = len(codes)
    ranking = Ranking(
        np.empty(most), np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    )
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        length = last - first
        best, origin = np.empty((length, tags)), np.empty((length, tags), np.int64)
        _lattice(unary[first:last], transition, best, origin)
        code = np.argmax(best[length - 1])
        ranking.score[0], ranking.parent[0], ranking.tag[0] = best[length - 1, code], 0, code
        ranking.token[0] = length - 1
        count = 1 if ranking.score[0] > -np.inf else 0
        rank = 0
        while rank < count:
            here = codes[rank, first:last]
            here[:] = codes[ranking.parent[rank], first:last]
            code = ranking.tag[rank]
            for t in range(ranking.token[rank], -1, -1):
                here[t] = code
                code = origin[t, code]
            if rank == 0:
                ranking.token[0] = length  # other sequences may deviate at the last token, too
            count = _deviate(unary[first:last], transition, best, codes[:, first:last], rank, ranking, count)
            rank += 1
        score[:count, s] = ranking.score[:count]
        score[count:, s] = -np.inf
        codes[count:, first:last] = -1


@jit
def _draw(weight: Floats, uniform: float) -> int:
    """Return the tag that a uniform number selects; weights become cumulative sums."""
    total = 0.0
    for k in range(len(weight)):
        total += weight[k]
        weight[k] = total
    mark = uniform * total
    for k in range(len(weight)):
        if weight[k] > mark:
            return k
    k = len(weight) - 1  # after rounding at the end: the last tag with a positive weight
    while k > 0 and weight[k - 1] == weight[k]:
        k -= 1
    return k


@jit
def sample(alpha: Floats, back: Floats, logarithms: bool, uniform: Floats, codes: NDArray[np.int32]) -> None:
    """Write (size, n) sampled tag sequences of a sentence, from the last token; one uniform number per tag.

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
