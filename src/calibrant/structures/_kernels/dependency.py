"""Distributions over dependency trees with one root: partition function, marginals, best trees and samples.

Weights are logarithms. Row m of a matrix has the arcs into word m: column 0 is the root, column h word h - 1.
Determinants and linear systems are solved by eliminating words without a subtraction (Grassmann, Taksar and
Heyman), in logarithms, so that small weights keep all their digits beside large ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit

NEGLIGIBLE = -40.0  # a term below this changes no digit of a sum
STEPS = 50  # of a random walk, times the number of words, before words are drawn one by one


@jit
def _log_add(first: float, second: float) -> float:
    """Return the logarithm of the sum of two exponentials."""
    high, low = (first, second) if first > second else (second, first)
    gap = low - high
    if high == -np.inf or gap < NEGLIGIBLE:
        return high
    return float(high + np.log1p(np.exp(gap)))


@jit
def _log_sum(values: Floats) -> float:
    """Return the logarithm of the sum of exponentials."""
    high = -np.inf
    for value in values:
        high = max(high, value)
    if high == -np.inf:
        return float(high)
    total = 0.0
    for value in values:
        if value - high > NEGLIGIBLE:
            total += np.exp(value - high)
    return float(high + np.log(total))


@jit
def _eliminate(
    rate: Floats, reward: Floats, place: int, others: Integers, count: int, row: Floats, constant: Floats
) -> float:
    """Eliminate a word from the words ``others[:count]``, and return the logarithm of its total rate.

    ``row`` gets the probabilities of the words that follow it, and ``constant`` its expected reward.
    """
    total = -np.inf
    for place_of in range(count):
        total = _log_add(total, rate[place, others[place_of]])
    for at in range(count):
        row[others[at]] = rate[place, others[at]] - total
    constant[place] = reward[place] - total
    for at in range(count):
        word = others[at]
        through = rate[word, place]
        for to in range(count):
            if to != at:
                rate[word, others[to]] = _log_add(rate[word, others[to]], through + row[others[to]])
        reward[word] = _log_add(reward[word], through + constant[place])
    return total


@jit
def inside(weight: Floats, log_marginal: Floats) -> float:
    """Write the logarithms of the probabilities of all arcs; return that of the sum over trees.

    For each word, all others are eliminated: the product of their rates is the sum over trees with this word
    as the root, and solving backwards gives the sum over trees for each head. Words that two halves leave out
    are eliminated once for each half, so that the whole takes n^3 operations.
    """
    n = weight.shape[0]
    depth = 2
    while 1 << (depth - 2) < n:
        depth += 1
    rates, rewards = np.empty((depth, n, n)), np.empty((depth, n))
    rates[0], rewards[0] = weight[:, 1:], weight[:, 0]
    begin, end, done = np.zeros(depth, np.int64), np.zeros(depth, np.int64), np.zeros(depth, np.int64)
    products, eliminated = np.zeros(depth), np.zeros(depth, np.int64)
    order, others = np.empty(n, np.int64), np.empty(n, np.int64)
    rows, constant, values = np.empty((n, n)), np.empty(n), np.empty(n)
    end[0], level = n, 0
    while level >= 0:
        low, high = begin[level], end[level]
        if high - low == 1:
            _leaf(low, order, eliminated[level], rows, constant, values)
            log_marginal[low, 0] = weight[low, 0] + products[level]
            for head in range(n):
                arc = weight[low, head + 1] + products[level] + values[head]
                log_marginal[low, head + 1] = -np.inf if head == low else arc
            level -= 1
            continue
        if done[level] == 2:
            level -= 1
            continue
        middle = (low + high) // 2
        keep = (low, middle) if done[level] == 0 else (middle, high)
        drop = (middle, high) if done[level] == 0 else (low, middle)
        done[level] += 1
        rate, reward = rates[level + 1], rewards[level + 1]
        for word in range(low, high):
            reward[word] = rewards[level, word]
            for head in range(low, high):
                rate[word, head] = rates[level, word, head]
        product, used = products[level], eliminated[level]
        for word in range(drop[0], drop[1]):
            count = 0
            for other in range(word + 1, drop[1]):
                others[count] = other
                count += 1
            for other in range(keep[0], keep[1]):
                others[count] = other
                count += 1
            product += _eliminate(rate, reward, word, others, count, rows[word], constant)
            order[used] = word
            used += 1
        level += 1
        begin[level], end[level], done[level] = keep[0], keep[1], 0
        products[level], eliminated[level] = product, used
    total = _log_sum(log_marginal[:, 0])
    for word in range(n):
        for head in range(n + 1):
            log_marginal[word, head] -= total
    return total


@jit
def _leaf(word: int, order: Integers, used: int, rows: Floats, constant: Floats, values: Floats) -> None:
    """Solve for the expected reward from each word until the walk ends at ``word``."""
    values[word] = -np.inf
    for at in range(used - 1, -1, -1):
        place = order[at]
        total = constant[place]
        for later in range(at + 1, used):
            total = _log_add(total, rows[place, order[later]] + values[order[later]])
        values[place] = total


@jit
def _reaches(rate: Floats, alive: Integers, count: int, word: int, goal: int, values: Floats) -> None:
    """Write the logarithm of the probability of a walk from each word to reach the goal before ``word``."""
    others, order = np.empty(count, np.int64), np.empty(count, np.int64)
    rows, used = np.empty((rate.shape[0], rate.shape[0])), 0
    for at in range(count):
        if alive[at] != word and alive[at] != goal:
            order[used] = alive[at]
            used += 1
    for at in range(used):
        place, left = order[at], 0
        for later in range(at + 1, used):
            others[left] = order[later]
            left += 1
        others[left], others[left + 1] = word, goal
        left += 2
        total = -np.inf
        for other in range(left):
            total = _log_add(total, rate[place, others[other]])
        for other in range(left):
            rows[place, others[other]] = rate[place, others[other]] - total
        for later in range(at + 1, used):
            through = rate[order[later], place]
            for other in range(left):
                if others[other] != order[later]:
                    via = through + rows[place, others[other]]
                    rate[order[later], others[other]] = _log_add(rate[order[later], others[other]], via)
    values[word], values[goal] = -np.inf, 0.0
    for at in range(used - 1, -1, -1):
        place = order[at]
        total = rows[place, goal]
        for later in range(at + 1, used):
            total = _log_add(total, rows[place, order[later]] + values[order[later]])
        values[place] = total


@jit
def _chosen(log_weight: Floats, uniform: float) -> int:
    """Return an index, drawn in proportion to the exponentials of the weights."""
    goal = uniform * np.exp(_log_sum(log_weight) - log_weight.max())
    total, last = 0.0, 0
    for index in range(len(log_weight)):
        if log_weight[index] > -np.inf:
            total += np.exp(log_weight[index] - log_weight.max())
            last = index
            if total > goal:
                return index
    return last


@jit
def draw_by_walk(cumulative: Floats, root: int, uniform: Floats, heads: NDArray[np.int32]) -> bool:
    """Draw a tree with the root by Wilson's loop-erased walks; False if the numbers do not suffice.

    The cycles that are erased are independent of the tree, so that giving up does not change its
    distribution.
    """
    n = cumulative.shape[0]
    there, step = np.zeros(n, np.bool_), np.zeros(n, np.int64)
    there[root], used = True, 0
    for first in range(n):
        word = first
        while not there[word]:
            if used == len(uniform):
                return False
            step[word] = np.searchsorted(cumulative[word], uniform[used] * cumulative[word, n - 1], "right")
            used += 1
            word = step[word]
        word = first
        while not there[word]:
            there[word] = True
            word = step[word]
    for word in range(n):
        heads[word] = step[word] + 1
    heads[root] = 0
    return True


@jit
def draw_by_word(weight: Floats, root: int, uniform: Floats, heads: NDArray[np.int32]) -> None:
    """Draw a tree with the root, one word after the other, each given those before it."""
    n = weight.shape[0]
    joined = weight[:, 1:].copy()  # the columns of words that have their heads are added to their head's
    group, alive = np.arange(n), np.arange(n)
    values, log_weight = np.empty(n), np.empty(n)
    heads[root], count = 0, n
    for word in range(n):
        if word == root:
            continue
        rate = joined.copy()
        _reaches(rate, alive, count, word, root, values)
        for head in range(n):
            log_weight[head] = (
                -np.inf if group[head] == word else weight[word, head + 1] + values[group[head]]
            )
        chosen = _chosen(log_weight, uniform[word])
        heads[word], into, left = chosen + 1, group[chosen], 0
        for other in range(n):
            joined[other, into] = _log_add(joined[other, into], joined[other, word])
            if group[other] == word:
                group[other] = into
        for at in range(count):
            if alive[at] != word:
                alive[left] = alive[at]
                left += 1
        count = left


@jit
def best_tree(score: Floats, heads: NDArray[np.int32]) -> None:
    """Write the heads of the tree with the largest sum of scores: Chu and Liu, Edmonds.

    A cycle of best heads becomes one word, until there is none; then cycles are opened where their head
    enters. Arcs from the root must be so much worse than others that a tree has one.
    """
    n = score.shape[0]
    size = n + 1  # node 0 is the root, node m + 1 is word m
    best = np.full((size, size), -np.inf)
    for word in range(n):
        for head in range(size):
            if head != word + 1:
                best[word + 1, head] = score[word, head]
    active, chosen = np.ones(size, np.bool_), np.zeros(size, np.int64)
    enters, leaves = np.zeros((size, size), np.int64), np.zeros((size, size), np.int64)
    cycles, lengths = np.zeros((size, size), np.int64), np.zeros(size, np.int64)
    inner = np.zeros((size, size), np.int64)  # heads within the cycles
    seen = np.zeros(size, np.int64)
    level = 0
    while True:
        for node in range(1, size):
            if active[node]:
                head = -1
                for other in range(size):
                    better = head < 0 or best[node, other] > best[node, head]
                    if better and active[other] and other != node:
                        head = other
                chosen[node] = head
        seen[:] = 0
        start = -1
        for node in range(1, size):
            if not active[node] or seen[node]:
                continue
            at = node
            while at != 0 and seen[at] == 0:
                seen[at] = node
                at = chosen[at]
            if at != 0 and seen[at] == node:
                start = at
                break
        if start < 0:
            break
        length, at = 0, start
        while length == 0 or at != start:
            cycles[level, length] = at
            length += 1
            at = chosen[at]
        lengths[level] = length
        for place in range(length):
            inner[level, place] = chosen[cycles[level, place]]
            active[cycles[level, place]] = False
        for other in range(size):
            if not active[other]:
                continue
            enter, leave = cycles[level, 0], cycles[level, 0]
            gain, out = -np.inf, -np.inf
            for place in range(length):
                node = cycles[level, place]
                change = best[node, other] - best[node, inner[level, place]]
                if change > gain:
                    gain, enter = change, node
                if best[other, node] > out:
                    out, leave = best[other, node], node
            best[start, other], enters[level, other] = gain, enter
            best[other, start], leaves[level, other] = out, leave
        active[start] = True
        level += 1
    for at in range(level - 1, -1, -1):
        start = cycles[at, 0]
        for node in range(1, size):
            # Words inside other cycles get their heads when those are opened.
            if active[node] and node != start and chosen[node] == start:
                chosen[node] = leaves[at, node]
        head = chosen[start]
        enter = enters[at, head]
        for place in range(lengths[at]):
            active[cycles[at, place]] = True
            chosen[cycles[at, place]] = inner[at, place]
        chosen[enter] = head
    for word in range(n):
        heads[word] = chosen[word + 1]
