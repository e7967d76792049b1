"""Antecedent distributions: normalized rows, samples of entities, and exact probabilities of pairs.

Mention j of a document selects one of the mentions ``first[j]`` to j - 1 or starts an entity; its row
contains these probabilities in this order. An entity is identified by the number of its first mention in the
document.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]

UNROLLED = 4  # antecedents per pass over a row of results


@jit
def normalise_rows(scores: Floats, row_offsets: Integers, out: Floats) -> int:
    """Write log-scores normalized by row; return the first row without a possible choice, or -1."""
    for row in range(len(row_offsets) - 1):
        low, high = row_offsets[row], row_offsets[row + 1]
        top = -np.inf
        for place in range(low, high):
            top = max(top, scores[place])
        if top == -np.inf:
            return row
        total = 0.0
        for place in range(low, high):
            total += np.exp(scores[place] - top)
        shift = top + np.log(total)
        for place in range(low, high):
            out[place] = min(scores[place] - shift, 0.0)
    return -1


@jit
def row_entropies(log_probability: Floats, row_offsets: Integers, out: Floats) -> None:
    """Write the entropy of each row, with the largest probability as 1 minus the sum of the others."""
    for row in range(len(row_offsets) - 1):
        low, high = row_offsets[row], row_offsets[row + 1]
        top = low
        for place in range(low, high):
            if log_probability[place] > log_probability[top]:
                top = place
        others, entropy = 0.0, 0.0
        for place in range(low, high):
            p = np.exp(log_probability[place])
            if place != top and p > 0.0:
                others += p
                entropy -= p * log_probability[place]
        if others > 0.0:
            others = min(others, 1.0)
            entropy -= np.exp(log_probability[top]) * np.log1p(-others) if others < 1.0 else 0.0
        out[row] = entropy


@jit
def best_antecedents(log_probability: Floats, row_offsets: Integers, first: Integers, out: Integers) -> None:
    """Write the most probable antecedent of each mention, or -1; ties are resolved to the nearest."""
    for row in range(len(row_offsets) - 1):
        low, last = row_offsets[row], row_offsets[row + 1] - 1
        best = low
        for place in range(low, last):
            if log_probability[place] >= log_probability[best]:
                best = place
        is_link = best < last and log_probability[best] >= log_probability[last]
        out[row] = first[row] + best - low if is_link else -1


@jit
def cumulate(probability: Floats, row_offsets: Integers, out: Floats) -> None:
    """Write cumulative sums of each row; from the last possible entry on they exceed every draw."""
    for row in range(len(row_offsets) - 1):
        low, high = row_offsets[row], row_offsets[row + 1]
        total = 0.0
        possible = low
        for place in range(low, high):
            total += probability[place]
            out[place] = total
            if probability[place] > 0.0:
                possible = place
        for place in range(possible, high):
            out[place] = 2.0


@jit
def draw_antecedents(
    cumulated: Floats, row_offsets: Integers, first: Integers, uniform: Floats, out: Labels
) -> None:
    """Write the antecedent that each uniform number selects, or -1, with one row per sample."""
    for sample in range(len(uniform)):
        for row in range(len(row_offsets) - 1):
            start, last = row_offsets[row], row_offsets[row + 1] - 1
            low, high = start, last
            value = uniform[sample, row]
            while low < high:
                middle = (low + high) >> 1
                if cumulated[middle] > value:
                    high = middle
                else:
                    low = middle + 1
            out[sample, row] = first[row] + low - start if low < last else -1


@jit
def entities(antecedents: Labels, out: Labels) -> None:
    """Write the entity of each mention of one document; ``out`` may be ``antecedents``."""
    for sample in range(len(antecedents)):
        for row in range(antecedents.shape[1]):
            antecedent = antecedents[sample, row]
            out[sample, row] = row if antecedent < 0 else out[sample, antecedent]


@jit
def entity_counts(new: Floats, linked: Floats, out: Floats) -> None:
    """Write the distribution of the number of entities, from each mention's probability to start one."""
    out[:] = 0.0
    out[0] = 1.0
    for row in range(len(new)):
        for count in range(row + 1, 0, -1):
            out[count] = out[count] * linked[row] + out[count - 1] * new[row]
        out[0] *= linked[row]


@jit
def singletons(probability: Floats, row_offsets: Integers, first: Integers, out: Floats) -> None:
    """Write the probability that a mention starts an entity and no later mention selects it."""
    for row in range(len(row_offsets) - 1):
        low, last = row_offsets[row], row_offsets[row + 1] - 1
        for place in range(low, last):
            out[first[row] + place - low] *= max(1.0 - probability[place], 0.0)
        out[row] = probability[last]


@jit
def pair_rows(
    probability: Floats,
    row_offsets: Integers,
    first: Integers,
    begin: int,
    end: int,
    row_base: int,
    column_base: int,
    pair: Floats,
) -> None:
    """Write the probabilities that mentions ``begin`` to ``end - 1`` share an entity with each other mention.

    ``pair[k - row_base, i - column_base]`` is the probability of mentions k and i. It must contain the rows
    of candidates before ``begin``, from the previous call.

    P(i ~ j) is the sum over k < j of P(a_j = k) P(i ~ k), since a_j is independent of all choices that
    determine i ~ k for i, k < j.
    """
    for j in range(begin, end):
        width = j - column_base
        out = pair[j - row_base]
        out[:width] = 0.0
        place, last = row_offsets[j], row_offsets[j + 1] - 1
        k = first[j] - row_base
        while place + UNROLLED <= last:
            p0, p1 = probability[place], probability[place + 1]
            p2, p3 = probability[place + 2], probability[place + 3]
            if p0 + p1 + p2 + p3 > 0.0:
                r0, r1, r2, r3 = pair[k], pair[k + 1], pair[k + 2], pair[k + 3]
                for i in range(width):
                    out[i] += p0 * r0[i] + p1 * r1[i] + p2 * r2[i] + p3 * r3[i]
            place += UNROLLED
            k += UNROLLED
        while place < last:
            p0, r0 = probability[place], pair[k]
            for i in range(width):
                out[i] += p0 * r0[i]
            place += 1
            k += 1
        for i in range(width):
            out[i] = min(out[i], 1.0)
        out[width] = 1.0
        for k in range(max(row_base, column_base), j):
            pair[k - row_base, width] = out[k - column_base]
