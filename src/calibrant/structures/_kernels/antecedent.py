"""Antecedent distributions: normalized rows, samples of entities, and exact probabilities of pairs.

Mention j of a document selects one of the mentions ``first[j]`` to j - 1 or starts an entity; its row
contains these probabilities in this order. An entity is identified by the number of its first mention in the
document.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit

Labels = NDArray[np.int32]

UNROLLED = 4  # antecedents per pass over a row of results

NO_GAIN = 1e-12  # smaller gains of a mean F are rounding errors
MOST_ROUNDS = 100


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


@jit
def f_score(both: float, predicted: float, true: float) -> float:
    """Return F from the numbers of pairs joined by both and by each; 1 if neither joins a pair."""
    return 2.0 * both / (predicted + true) if predicted + true > 0.0 else 1.0


@jit
def _joined(labels: Labels, size: Integers) -> int:
    """Return the number of coreferent pairs of mentions; ``size`` gets the mentions of each entity."""
    size[:] = 0
    joined = 0
    for mention in range(len(labels)):
        joined += size[labels[mention]]
        size[labels[mention]] += 1
    return joined


@jit
def _members(labels: Labels, size: Integers, start: Integers, order: Integers) -> None:
    """Write the mentions sorted by entity; ``start`` gets the index of each entity's first."""
    total = 0
    for label in range(len(labels)):
        start[label] = total
        total += size[label]
    for mention in range(len(labels)):
        order[start[labels[mention]]] = mention
        start[labels[mention]] += 1
    for label in range(len(labels)):
        start[label] -= size[label]


@jit
def _joined_by_both(
    labels: Labels, other: Labels, start: Integers, size: Integers, order: Integers, count: Integers
) -> int:
    """Return the number of pairs that two clusterings both join; ``count`` is zero before and after."""
    both = 0
    for label in range(len(labels)):
        for place in range(start[label], start[label] + size[label]):
            both += count[other[order[place]]]
            count[other[order[place]]] += 1
        for place in range(start[label], start[label] + size[label]):
            count[other[order[place]]] = 0
    return both


@jit
def mean_f(candidates: Labels, samples: Labels) -> Floats:
    """Return the mean pairwise F of each candidate against the samples."""
    n = samples.shape[1]
    size, start, order = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    count = np.zeros(n, np.int64)
    true = np.empty(len(samples))
    for s in range(len(samples)):
        true[s] = _joined(samples[s], size)
    result = np.zeros(len(candidates))
    for c in range(len(candidates)):
        labels = candidates[c]
        predicted = _joined(labels, size)
        _members(labels, size, start, order)
        for s in range(len(samples)):
            both = _joined_by_both(labels, samples[s], start, size, order, count)
            result[c] += f_score(both, predicted, true[s])
        result[c] /= len(samples)
    return result


@jit
def _next_of_entity(samples: Labels) -> Labels:
    """Return the next mention of each mention's entity in each sample; -1 after the last."""
    after = np.full(samples.shape, -1, np.int32)
    last = np.empty(samples.shape[1], np.int32)
    for s in range(len(samples)):
        for mention in range(samples.shape[1]):
            label = samples[s, mention]
            if label != mention:
                after[s, last[label]] = mention
            last[label] = mention
    return after


class Search(NamedTuple):
    """State of the search, with n mentions and S samples.

    Attributes
    ----------
    labels, size
        (n,) entity of each mention, and number of mentions of each entity.
    samples, after
        (S, n) entities of the samples, and next mention of a mention's entity, -1 after the last.
    both, joined, true
        (S,), (1,), (S,) numbers of pairs joined by a sample and the labels, by the labels, and by a sample.
    moving
        (n,) mask of the mentions that may move.
    together, touched, place
        (n, S) pairs of moving mentions and another entity that a sample joins, with one row per entity of
        ``touched``; ``place`` is the row of each entity, or -1.
    """

    labels: Labels
    size: Integers
    samples: Labels
    after: Labels
    both: Integers
    joined: Integers
    true: Integers
    moving: NDArray[np.bool_]
    together: Labels
    touched: Integers
    place: Integers


@jit
def _count_together(search: Search, group: Integers) -> int:
    """Count the pairs of the group and other mentions by entity and sample; return the number of entities."""
    entity_count = 0
    for mention in group:
        for s in range(len(search.samples)):
            other = search.samples[s, mention]
            while other >= 0:
                if not search.moving[other]:
                    entity = search.labels[other]
                    if search.place[entity] < 0:
                        search.place[entity] = entity_count
                        search.touched[entity_count] = entity
                        search.together[entity_count] = 0
                        entity_count += 1
                    search.together[search.place[entity], s] += 1
                other = search.after[s, other]
    return entity_count


@jit
def _mean_after(search: Search, own: int, target: int, joined: int) -> float:
    """Return the mean F after a move from entity ``own`` to ``target``, given as rows of counts or -1."""
    total = 0.0
    for s in range(len(search.samples)):
        both = search.both[s]
        if own >= 0:
            both -= search.together[own, s]
        if target >= 0:
            both += search.together[target, s]
        total += f_score(both, joined, search.true[s])
    return total / len(search.samples)


@jit
def _move(search: Search, group: Integers) -> bool:
    """Move a group of one entity to the entity with the highest mean F; return True if it moved."""
    entity = search.labels[group[0]]
    for mention in group:
        search.moving[mention] = True
    entity_count = _count_together(search, group)
    own = search.place[entity]
    rest = search.size[entity] - len(group)
    alone = search.joined[0] - len(group) * rest
    best = _mean_after(search, -1, -1, search.joined[0]) + NO_GAIN
    moves, target = False, -1
    if rest > 0:
        value = _mean_after(search, own, -1, alone)
        if value > best:
            best, moves = value, True
    for row in range(entity_count):
        if row != own:
            value = _mean_after(search, own, row, alone + len(group) * search.size[search.touched[row]])
            if value > best:
                best, moves, target = value, True, row
    if moves:
        new = search.touched[target] if target >= 0 else np.flatnonzero(search.size == 0)[0]
        search.joined[0] = alone + len(group) * search.size[new]
        search.size[entity] -= len(group)
        search.size[new] += len(group)
        for s in range(len(search.samples)):
            if own >= 0:
                search.both[s] -= search.together[own, s]
            if target >= 0:
                search.both[s] += search.together[target, s]
        for mention in group:
            search.labels[mention] = new
    for mention in group:
        search.moving[mention] = False
    for row in range(entity_count):
        search.place[search.touched[row]] = -1
    return moves


@jit
def _search_from(labels: Labels, samples: Labels) -> Search:
    count, n = samples.shape
    size, start, order = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    zeros = np.zeros(n, np.int64)
    true, both = np.empty(count, np.int64), np.empty(count, np.int64)
    for s in range(count):
        true[s] = _joined(samples[s], size)
    joined = np.array([_joined(labels, size)])
    _members(labels, size, start, order)
    for s in range(count):
        both[s] = _joined_by_both(labels, samples[s], start, size, order, zeros)
    return Search(
        labels,
        size,
        samples,
        _next_of_entity(samples),
        both,
        joined,
        true,
        np.zeros(n, np.bool_),
        np.empty((n, count), np.int32),
        np.empty(n, np.int64),
        np.full(n, -1, np.int64),
    )


@jit
def improve(labels: Labels, samples: Labels) -> None:
    """Move single mentions and whole entities while mean F increases; final labels are first mentions."""
    n = len(labels)
    search = _search_from(labels, samples)
    for _ in range(MOST_ROUNDS):
        moved = False
        for mention in range(n):
            moved = _move(search, np.array([mention])) or moved
        for entity in range(n):
            if search.size[entity] > 1:
                moved = _move(search, np.flatnonzero(labels == entity)) or moved
        if not moved:
            break
    first = np.full(n, -1, np.int64)
    for mention in range(n):
        if first[labels[mention]] < 0:
            first[labels[mention]] = mention
        labels[mention] = first[labels[mention]]


@jit
def assign_entities(
    probability: Floats,
    row_offset: Integers,
    first: Integers,
    start: int,
    stop: int,
    label: NDArray[np.int32],
) -> None:
    """Assign each mention of one document to the entity that most probably contains its antecedent.

    Mentions are ``start .. stop - 1`` of the batch. Ties are resolved to the entity that began first, and
    starting an entity is last.
    """
    total = np.zeros(stop - start)
    for i in range(stop - start):
        row = row_offset[start + i]
        candidates = row_offset[start + i + 1] - row - 1
        offset = first[start + i]
        for c in range(candidates):
            total[label[start + offset + c]] += probability[row + c]
        best, most = i, probability[row + candidates]
        for c in range(candidates):
            entity = label[start + offset + c]
            mass = total[entity]
            if mass > most or (mass == most and mass > 0.0 and entity < best):
                best, most = entity, mass
        label[start + i] = best
        for c in range(candidates):
            total[label[start + offset + c]] = 0.0
