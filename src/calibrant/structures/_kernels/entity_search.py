"""Pairwise F of entities against samples of entities, and moves that raise it.

Entities are labels: of one document (n,), of samples (S, n). The label of an entity in a sample is the number
of its first mention.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Labels = NDArray[np.int32]

NO_GAIN = 1e-12  # of a mean F: less is rounding
MOST_ROUNDS = 100


@jit
def f_score(both: float, predicted: float, true: float) -> float:
    """F from the pairs that both join and that each joins; 1 where neither joins any."""
    return 2.0 * both / (predicted + true) if predicted + true > 0.0 else 1.0


@jit
def _joined(labels: Labels, size: Integers) -> int:
    """How many pairs of mentions are of one entity; ``size`` gets that of each entity."""
    size[:] = 0
    joined = 0
    for mention in range(len(labels)):
        joined += size[labels[mention]]
        size[labels[mention]] += 1
    return joined


@jit
def _members(labels: Labels, size: Integers, start: Integers, order: Integers) -> None:
    """Write the mentions of each entity one after another; ``start`` gets where each entity's begin."""
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
    """How many pairs two clusterings both join; ``count`` is zero before and after."""
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
    """Mean pairwise F of each candidate against the samples."""
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
    """The next mention of the entity of each mention of each sample; -1 after the last."""
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
    """Entities, samples, and what both join; n mentions, S samples.

    Attributes
    ----------
    labels, size
        (n,) the entity of each mention; mentions of each entity.
    samples, after
        (S, n) the same of the samples; the next mention of a mention's entity, -1 after the last.
    both, joined, true
        (S,), (1,), (S,) pairs that a sample and the labels both join; that the labels do; that a sample does.
    moving
        (n,) which mentions are about to move.
    together, touched, place
        (n, S) pairs of those and another entity that a sample joins, a row an entity of ``touched``, in this
        order; ``place`` is the row of each entity, -1 for none.
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
    """Count the pairs of the group and other mentions by entity and sample; returns how many entities."""
    found = 0
    for mention in group:
        for s in range(len(search.samples)):
            other = search.samples[s, mention]
            while other >= 0:
                if not search.moving[other]:
                    entity = search.labels[other]
                    if search.place[entity] < 0:
                        search.place[entity] = found
                        search.touched[found] = entity
                        search.together[found] = 0
                        found += 1
                    search.together[search.place[entity], s] += 1
                other = search.after[s, other]
    return found


@jit
def _mean_after(search: Search, own: int, target: int, joined: int) -> float:
    """Mean F once the moving mentions are with entity ``target`` and not ``own``: rows of counts, or -1."""
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
    """Move a group of one entity to where mean F is highest; says whether it moved."""
    entity = search.labels[group[0]]
    for mention in group:
        search.moving[mention] = True
    found = _count_together(search, group)
    own = search.place[entity]
    rest = search.size[entity] - len(group)
    alone = search.joined[0] - len(group) * rest
    best = _mean_after(search, -1, -1, search.joined[0]) + NO_GAIN
    moves, target = False, -1
    if rest > 0:
        value = _mean_after(search, own, -1, alone)
        if value > best:
            best, moves = value, True
    for row in range(found):
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
    for row in range(found):
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
    """Move single mentions and whole entities while mean F rises; labels are first mentions in the end."""
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
