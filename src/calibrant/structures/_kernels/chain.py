"""Forward-backward and Viterbi on linear chains.

Rows of tags are padded to a multiple of 8 with impossible tags, so that inner loops use whole vectors.
Potentials are shifted so that the largest potential of each token, and the largest transition, are 0.

A sentence is computed with plain probabilities, normalized at each token, if underflow is impossible;
otherwise with logarithms. `forward` decides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit
from calibrant.structures._kernels.product import LANES, best_sums, times

# If nothing is forbidden, a tag's normalized forward weight is at least exp(-range of potentials) / K, so a
# range of WIDEST nats is safe. Otherwise weights are checked: if none is below SMALLEST, and ranges are below
# WIDE, no product has underflowed.
WIDEST = 500.0
WIDE = 300.0
SMALLEST = 1e-150
FORBIDDEN = -1  # states of a sentence: no path; plain; in logarithms
PLAIN = 0
LOGARITHMS = 1


@jit
def first_not_potential(values: NDArray[Any]) -> int:
    """Return the first index of a NaN or a +inf in a flat array, or -1."""
    for i in range(len(values)):
        if not values[i] < np.inf:
            return i
    return -1


@jit
def shift_rows(unary: Floats, shifted: Floats, top: Floats, low: Floats) -> None:
    """Write each row minus its largest value, padded; ``top`` and ``low`` get its extreme values."""
    rows, tags = unary.shape
    for t in range(rows):
        high = unary[t, 0]
        least = unary[t, 0]
        for k in range(tags):
            high = max(high, unary[t, k])
            least = min(least, unary[t, k])
        top[t] = high
        low[t] = least
    _shift(unary, top, shifted)


@jit
def _shift(unary: Floats, top: Floats, shifted: Floats) -> None:
    """Write each row minus ``top``, padded with impossible tags."""
    rows, tags = unary.shape
    for t in range(rows):
        shift = top[t] if top[t] > -np.inf else 0.0
        for k in range(tags):
            shifted[t, k] = unary[t, k] - shift
        for k in range(tags, shifted.shape[1]):
            shifted[t, k] = -np.inf


@jit
def _sum(row: Floats) -> float:
    """Return the sum of a row whose width is a multiple of 4, with four accumulators."""
    a = b = c = d = 0.0
    for j in range(0, len(row), 4):
        a += float(row[j])
        b += float(row[j + 1])
        c += float(row[j + 2])
        d += float(row[j + 3])
    return (a + b) + (c + d)


@jit
def _log_times(row: Floats, matrix: Floats, out: Floats) -> None:
    """Write the product of a row vector and a matrix, in logarithms."""
    width = len(out)
    for j in range(width):
        high = -np.inf
        for i in range(width):
            high = max(high, row[i] + matrix[i, j])
        total = 0.0
        if high > -np.inf:
            for i in range(width):
                total += np.exp(row[i] + matrix[i, j] - high)
        out[j] = high + np.log(total) if total > 0 else -np.inf


@jit
def _log_sum(row: Floats) -> float:
    high = float(row.max())
    if high == -np.inf:
        return high
    total = 0.0
    for value in row:
        total += np.exp(value - high)
    return high + float(np.log(total))


@jit
def _loses(row: Floats) -> bool:
    """Return True if a weight is so small that a product with it could underflow."""
    small = False
    for value in row:
        small |= 0.0 < value < SMALLEST
    return small


@jit
def _plain_forward(emission: Floats, step: Floats, look: bool, alpha: Floats, scale: Floats) -> int:
    """Write normalized forward weights and their factors for one sentence."""
    width = step.shape[0]
    for t in range(len(emission)):
        row = alpha[t]
        if t == 0:
            row[:] = emission[0]
        else:
            times(alpha[t - 1], step, row)
            for j in range(width):
                row[j] *= emission[t, j]
        total = _sum(row)
        if total <= 0.0:
            return FORBIDDEN
        factor = 1.0 / total
        for j in range(width):
            row[j] *= factor
        if look and _loses(row):
            return LOGARITHMS
        scale[t] = total
    return PLAIN


@jit
def _plain_backward(
    emission: Floats, back: Floats, look: bool, alpha: Floats, scale: Floats, marginal: Floats
) -> int:
    """Write marginals; ``emission`` becomes the weight of a tag and all that follows it."""
    width = back.shape[0]
    tags = marginal.shape[1]
    beta = np.ones(width)
    for t in range(len(emission) - 1, -1, -1):
        if t < len(emission) - 1:
            times(emission[t + 1], back, beta)
            if look and _loses(beta):
                return LOGARITHMS
        for j in range(tags):
            marginal[t, j] = alpha[t, j] * beta[j]
        factor = 1.0 / scale[t]
        for j in range(width):
            emission[t, j] *= beta[j] * factor
    return PLAIN


@jit
def _log_forward_backward(
    log_step: Floats, log_back: Floats, alpha: Floats, future: Floats, scale: Floats, marginal: Floats
) -> int:
    """Write messages and marginals in logarithms; ``future`` is overwritten as in `forward_backward`."""
    length = len(future)
    width = log_step.shape[0]
    for t in range(length):
        row = alpha[t]
        if t == 0:
            row[:] = future[0]
        else:
            _log_times(alpha[t - 1], log_step, row)
            row += future[t]
        scale[t] = _log_sum(row)
        if scale[t] == -np.inf:
            return FORBIDDEN
        row -= scale[t]
    beta = np.zeros(width)
    for t in range(length - 1, -1, -1):
        if t < length - 1:
            _log_times(future[t + 1], log_back, beta)
        for j in range(marginal.shape[1]):
            marginal[t, j] = np.exp(alpha[t, j] + beta[j])
        for j in range(width):
            future[t, j] += beta[j] - scale[t]
    return LOGARITHMS


@jit
def _range_of_possible(unary: Floats) -> float:
    """Return the largest range of a row's finite values."""
    widest = 0.0
    for t in range(len(unary)):
        low, high = np.inf, -np.inf
        for value in unary[t]:
            if value > -np.inf:
                low = min(low, value)
                high = max(high, value)
        widest = max(widest, high - low)
    return widest


@jit
def _way(unary: Floats, low: Floats, top: Floats, transition_range: float, forbids: bool) -> tuple[int, bool]:
    """Return the state to try for a sentence, and True if small weights must be checked."""
    widest = 0.0
    for t in range(len(low)):
        widest = max(widest, top[t] - low[t])
    if not forbids and widest + transition_range < WIDEST:
        return PLAIN, False
    if not forbids and widest < np.inf:
        return LOGARITHMS, False
    plain = _range_of_possible(unary) + transition_range < WIDE
    return PLAIN if plain else LOGARITHMS, True


@jit
def forward_backward(
    unary: Floats,
    top: Floats,
    low: Floats,
    log_step: Floats,
    step: Floats,
    transition_range: float,
    forbids: bool,
    offsets: Integers,
    alpha: Floats,
    future: Floats,
    marginal: Floats,
    log_partition: Floats,
    state: NDArray[np.int8],
) -> None:
    """Write messages and marginals of the sentences whose tokens are between successive ``offsets``.

    ``future`` is exp(shifted potentials) and is overwritten by backward messages, so that the probability of
    tags i, j at t, t + 1 is alpha[t, i] step[i, j] future[t + 1, j] (a sum of logarithms for the state of
    logarithms). ``transition_range`` is the range of allowed transitions; ``forbids`` is True if some are
    forbidden. ``log_partition`` does not include the largest transitions.
    """
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    scale = np.empty(longest)
    step = step.copy()  # the copy is aligned to vectors; NumPy's arrays may not be
    back = step.T.copy()
    log_back = log_step.T.copy()
    for s in range(len(offsets) - 1):
        first, last = offsets[s], offsets[s + 1]
        values, highest, past, rest = (
            unary[first:last],
            top[first:last],
            alpha[first:last],
            future[first:last],
        )
        outcome, look = _way(values, low[first:last], highest, transition_range, forbids)
        if outcome == PLAIN:
            outcome = _plain_forward(rest, step, look, past, scale)
        if outcome == PLAIN:
            outcome = _plain_backward(rest, back, look, past, scale, marginal[first:last])
        logarithms = outcome != PLAIN
        if logarithms:
            _shift(values, highest, rest)
            outcome = _log_forward_backward(log_step, log_back, past, rest, scale, marginal[first:last])
        state[s] = outcome
        total = 0.0
        for t in range(last - first):
            total += highest[t] + (scale[t] if logarithms else np.log(scale[t]))
        log_partition[s] = total


@jit
def normalise_rows(weights: Floats, top: Floats, marginal: Floats, total: Floats) -> None:
    """Write marginals of independent tags; ``total`` gets the logarithm of each row's sum."""
    rows, tags = marginal.shape
    for t in range(rows):
        whole = _sum(weights[t])
        factor = 1.0 / whole
        for k in range(weights.shape[1]):
            weights[t, k] *= factor
        for k in range(tags):
            marginal[t, k] = weights[t, k]
        total[t] = top[t] + np.log(whole)


@jit
def pair_marginals(alpha: Floats, step: Floats, future: Floats, logarithms: bool, pair: Floats) -> None:
    """Write the (n - 1, K, K) probabilities of consecutive tags; ``step`` may be in logarithms."""
    length, tags, _ = pair.shape
    for t in range(length):
        for i in range(tags):
            for j in range(tags):
                if logarithms:
                    pair[t, i, j] = np.exp(alpha[t, i] + step[i, j] + future[t + 1, j])
                else:
                    pair[t, i, j] = alpha[t, i] * step[i, j] * future[t + 1, j]


@jit
def path_scores(unary: Floats, transition: Floats, offsets: Integers, codes: Integers, score: Floats) -> None:
    """Write the sum of potentials along one tag sequence per sentence."""
    for s in range(len(offsets) - 1):
        total = 0.0
        for t in range(offsets[s], offsets[s + 1]):
            total += unary[t, codes[t]]
            if t > offsets[s]:
                total += transition[codes[t - 1], codes[t]]
        score[s] = total


@jit
def viterbi(unary: Floats, transition: Floats, offsets: Integers, codes: Integers, score: Floats) -> None:
    """Write the best tag sequence of each sentence; ties are resolved to low codes at the end."""
    tags = unary.shape[1]
    width = -(-tags // LANES) * LANES
    step = np.full((width, width), -np.inf)
    step[:tags, :tags] = transition
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    best = np.full((longest, width), -np.inf)  # score of the best sequence that ends in each tag
    for s in range(len(offsets) - 1):
        first = offsets[s]
        length = offsets[s + 1] - first
        best[0, :tags] = unary[first]
        for t in range(1, length):
            best_sums(best[t - 1], step, best[t])
            for j in range(tags):
                best[t, j] += unary[first + t, j]
        code = int(np.argmax(best[length - 1, :tags]))
        score[s] = best[length - 1, code]
        codes[first + length - 1] = code
        for t in range(length - 2, -1, -1):
            code = _origin(best[t, :tags], step, code)
            codes[first + t] = code


@jit
def _origin(before: Floats, transition: Floats, code: int) -> int:
    """Return the previous tag of the best sequence to a tag, recomputed instead of stored for all tags."""
    best, origin = -np.inf, 0
    for i in range(len(before)):
        value = before[i] + transition[i, code]
        if value > best:
            best, origin = value, i
    return origin


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
