"""Probabilities of labeled spans, from the messages of a chain.

Entities are runs of tags of one type in which each tag joins the next. Tables define which tags join, and
which tags may begin and end an entity. The probability of a span is computed from its first token to its
last, as the joint probability that an entity begins there, that its tags join, and of the current tag.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit
from calibrant.structures._kernels.chain import (
    BlockMessages,
    SentenceMessages,
    pair_probability,
    sentence_messages,
)

Booleans = NDArray[np.bool_]


class Reading(NamedTuple):
    """Tables of tags that join, begin and end entities, and the tags of each type.

    The tags of type x are ``members[bounds[x] : bounds[x + 1]]``.
    """

    joins: Booleans
    opens: Booleans
    closes: Booleans
    members: Integers
    bounds: Integers


@jit
def _borders(sentence: SentenceMessages, reading: Reading, begin: Floats, stop: Floats) -> None:
    """Write joint probabilities of a tag and an entity that begins with it, and of its end given the tag."""
    length, tags = begin.shape
    begin[:] = 0.0
    stop[:] = 0.0
    for q in range(tags):
        if reading.opens[q]:
            begin[0, q] = sentence.marginal[0, q]
        if reading.closes[q]:
            stop[length - 1, q] = 1.0
    for t in range(length - 1):
        for p in range(tags):
            for q in range(tags):
                if not reading.joins[p, q] and (reading.closes[p] or reading.opens[q]):
                    both = pair_probability(sentence, t, p, q)
                    if reading.opens[q]:
                        begin[t + 1, q] += both
                    if reading.closes[p]:
                        stop[t, p] += both
            if sentence.marginal[t, p] > 0.0:
                stop[t, p] = min(1.0, stop[t, p] / sentence.marginal[t, p])


@jit
def _begin(begin: Floats, group: Integers, weight: Floats) -> float:
    """Write weights of the tags of an entity that begins at a token; return their sum."""
    total = 0.0
    for q in group:
        weight[q] = begin[q]
        total += weight[q]
    return total


@jit
def _extend(
    sentence: SentenceMessages, joins: Booleans, t: int, group: Integers, weight: Floats, new: Floats
) -> float:
    """Propagate the weights of an entity's tags from t to t + 1; return their sum."""
    total = 0.0
    for q in group:
        new[q] = 0.0
        for p in group:
            if joins[p, q] and sentence.marginal[t, p] > 0.0:
                share = weight[p] / sentence.marginal[t, p]
                new[q] += share * pair_probability(sentence, t, p, q)
        total += new[q]
    for q in group:
        weight[q] = new[q]
    return total


@jit
def _end(stop: Floats, group: Integers, weight: Floats) -> float:
    """Return the probability that an entity ends at a token."""
    total = 0.0
    for q in group:
        total += weight[q] * stop[q]
    return min(1.0, total)


@jit
def likely_spans(
    block: BlockMessages, reading: Reading, threshold: float
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return spans with probability at least ``threshold``: (sentence, first, last, type), and probability.

    A span is not extended if its beginning is less probable than the threshold. Beginnings that continue at
    one token exclude each other, so at most 1 / threshold of them are active.
    """
    tags = block.marginal.shape[1]
    place, probability = np.empty((256, 4), np.int64), np.empty(256)
    weight, new = np.empty(tags), np.empty(tags)
    begin, stop = np.empty(block.marginal.shape), np.empty(block.marginal.shape)
    count = 0
    for s in range(len(block.offsets) - 1):
        sentence = sentence_messages(block, s)
        first, last = block.offsets[s], block.offsets[s + 1]
        _borders(sentence, reading, begin[first:last], stop[first:last])
        for a in range(last - first):
            for x in range(len(reading.bounds) - 1):
                group = reading.members[reading.bounds[x] : reading.bounds[x + 1]]
                alive = _begin(begin[first + a], group, weight)
                t = a
                while alive >= threshold:
                    whole = _end(stop[first + t], group, weight)
                    if whole >= threshold:
                        if count == len(place):
                            place = np.concatenate((place, place))
                            probability = np.concatenate((probability, probability))
                        place[count, 0], place[count, 1], place[count, 2], place[count, 3] = s, a, t + 1, x
                        probability[count] = whole
                        count += 1
                    if first + t + 1 == last:
                        break
                    alive = _extend(sentence, reading.joins, t, group, weight, new)
                    t += 1
    return place[:count], probability[:count]


@jit
def span_probabilities(block: BlockMessages, reading: Reading, places: Integers, probability: Floats) -> None:
    """Return the probability of each span (sentence, first, last, type); spans are sorted by sentence."""
    tags = block.marginal.shape[1]
    weight, new = np.empty(tags), np.empty(tags)
    begin, stop = np.empty(block.marginal.shape), np.empty(block.marginal.shape)
    ready = -1
    for query in range(len(places)):
        s, a, b, x = places[query]
        sentence = sentence_messages(block, s)
        first, last = block.offsets[s], block.offsets[s + 1]
        if s != ready:
            _borders(sentence, reading, begin[first:last], stop[first:last])
            ready = s
        group = reading.members[reading.bounds[x] : reading.bounds[x + 1]]
        _begin(begin[first + a], group, weight)
        for t in range(a, b - 1):
            _extend(sentence, reading.joins, t, group, weight, new)
        probability[query] = _end(stop[first + b - 1], group, weight)
