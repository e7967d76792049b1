"""Features of mentions and their candidate antecedents, as indices of hashed weights.

A mention is a row of integers. Each pair of a mention and a candidate (an earlier mention, or "new") has
features. A feature is one number: a hash of its template, its value, and the forms that it is combined with,
truncated to the number of bits of the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit

# Columns of a mention's row. STRING and HEAD are only compared; HEAD_WORD is 0 for a rare word.
(
    SENTENCE,
    START,
    END,
    HEAD_PLACE,
    TYPE,
    FORM,
    GENDER,
    NUMBER,
    SPEAKER,
    QUOTATION,
    STRING,
    HEAD,
    HEAD_WORD,
    RELATION,
    TOP_PLACE,
    GOVERNOR_PLACE,
    PERSON,
    ROLE,
) = range(18)
COLUMN_COUNT = 18
PRONOUN = 0  # in TYPE
NEUTER, PERSON_GENDER, UNKNOWN_GENDER, UNKNOWN_NUMBER = 2, 3, 4, 2  # in GENDER and NUMBER
SUBJECT = 1  # in ROLE; others are 2 for an object, 3 for a possessor, 0

# Templates of pairs.
(
    LINK,
    MENTION_DISTANCE,
    SENTENCE_DISTANCE,
    NESTING,
    STRING_MATCH,
    CONTAINED,
    CONTAINS,
    HEAD_MATCH,
    HEAD_CONTAINED,
    CONTAINS_HEAD,
    GENDERS,
    NUMBERS,
    SPEAKERS,
    QUOTATIONS,
    HEAD_WORDS,
    RELATIONS,
    ARC,
    RANK,
    SUBJECT_RANK,
    PARALLEL,
    REPEATED,
) = range(21)
PAIR_TEMPLATES = 21
FURTHEST_RANK = 6
MOST_REPEATS = 4
OWN_TEMPLATES = 16  # first template of single mentions, whose codes have separate marks
FURTHEST_QUOTATION = 4
# Marks that distinguish the codes of features of the mention, before a link or as a new entity, and of the
# candidate.
OF_LINK, OF_NEW, OF_CANDIDATE = 0x3C6EF372FE94F82B, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179
VARIANTS = 3  # per feature: alone, with the mention's form, with the forms of both

_FIRST, _SECOND = -0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15  # of splitmix64
_GOLDEN = -0x61C8864680B583EB
_PAIR = 0x243F6A8885A308D3


@jit
def mixed(value: int) -> int:
    """Return hashed 64 bits (the end of splitmix64, with arithmetic shifts)."""
    value = (value ^ (value >> 30)) * _FIRST
    value = (value ^ (value >> 27)) * _SECOND
    return value ^ (value >> 31)


@jit
def mix(first: int, second: int) -> int:
    """Return one code for an ordered pair of codes."""
    return mixed(mixed(first) * 3 + second + _GOLDEN)


@jit
def place(code: int, conjoined: int, bits: int) -> int:
    """Return the index of the weight of a feature combined with a form."""
    return (((code ^ conjoined) * _GOLDEN) >> (63 - bits)) & ((1 << bits) - 1)


@jit
def span_codes(tokens: Integers, start: Integers, end: Integers, code: Integers) -> None:
    """Write one code for the words of each span."""
    for i in range(len(start)):
        value = end[i] - start[i]
        for t in range(start[i], end[i]):
            value = mix(value, tokens[t])
        code[i] = value


@jit
def own_codes(values: Integers, template: Integers, code: Integers) -> None:
    """Write the (M, U) codes of features of single mentions; negative values get code 0."""
    for i in range(values.shape[0]):
        for u in range(values.shape[1]):
            code[i, u] = mix(OWN_TEMPLATES + template[u], values[i, u]) if values[i, u] >= 0 else 0


@jit
def distance_bucket(distance: int) -> int:
    """Return the bucket of a distance: 0 to 9 unchanged, then 10-14, 15-19, 20-29, 30-49, 50-99 and more."""
    if distance < 10:
        return distance
    for bucket, end in enumerate((15, 20, 30, 50, 100)):
        if distance < end:
            return 10 + bucket
    return 15


@jit
def _holds(tokens: Integers, start: int, end: int, inner_start: int, inner_end: int) -> int:
    """Return 1 if the inner words occur contiguously in the outer ones, else 0."""
    length = inner_end - inner_start
    for t in range(start, end - length + 1):
        k = 0
        while k < length and tokens[t + k] == tokens[inner_start + k]:
            k += 1
        if k == length:
            return 1
    return 0


@jit
def quotation_value(this: int, other: int) -> int:
    """Return the relation of two mentions to quotations.

    The value is 0 for two mentions outside quotations, 1 inside the same quotation, 2 or 3 if only one is
    inside, and else depends on the distance of the quotations, which are numbered from 1 in the order of the
    text.
    """
    if this == other:
        return 1 if this > 0 else 0
    if other == 0:
        return 2
    if this == 0:
        return 3
    return 3 + min(this - other, FURTHEST_QUOTATION)


@jit
def arc_value(this: Integers, other: Integers) -> int:
    """Return a number for the arc between the heads of two mentions, or for a shared governor, else 0.

    An apposition depends on the phrase that it renames, a subject on its predicate noun.
    """
    if this[GOVERNOR_PLACE] == other[TOP_PLACE]:
        return mix(1, this[RELATION]) & 0x7FFFFFFFFFFFFFFF
    if other[GOVERNOR_PLACE] == this[TOP_PLACE]:
        return mix(2, other[RELATION]) & 0x7FFFFFFFFFFFFFFF
    if this[GOVERNOR_PLACE] >= 0 and this[GOVERNOR_PLACE] == other[GOVERNOR_PLACE]:
        return mix(mix(3, this[RELATION]), other[RELATION]) & 0x7FFFFFFFFFFFFFFF
    return 0


@jit
def agree(this: Integers, other: Integers) -> bool:
    """Return True if gender, number and person of two mentions may be those of one entity."""
    if this[NUMBER] != other[NUMBER] and this[NUMBER] != UNKNOWN_NUMBER and other[NUMBER] != UNKNOWN_NUMBER:
        return False
    if this[PERSON] != other[PERSON] and this[PERSON] != 0 and other[PERSON] != 0:
        return False
    one, two = this[GENDER], other[GENDER]
    if one == two or UNKNOWN_GENDER in (one, two):
        return True
    return PERSON_GENDER in (one, two) and NEUTER not in (one, two)


@jit
def ranks(mentions: Integers, i: int, first: int, rank: Integers) -> None:
    """Write, for each candidate of mention ``i``, the counts of closer candidates that agree with it.

    The columns are the closer agreeing candidates, those of them that are subjects, and the earlier mentions
    of the window with the same words. Mentions that contain mention ``i`` are not counted.
    """
    this = mentions[i]
    closer = subjects = 0
    for c in range(i - first - 1, -1, -1):
        other = mentions[first + c]
        fits = agree(this, other) and other[END] <= this[START]
        rank[c, 0] = min(closer, FURTHEST_RANK) if fits else FURTHEST_RANK + 1
        rank[c, 1] = min(subjects, FURTHEST_RANK) if fits else FURTHEST_RANK + 1
        if fits:
            closer += 1
            subjects += other[ROLE] == SUBJECT
    for c in range(i - first):
        count = 0
        for b in range(c):
            if mentions[first + b, STRING] == mentions[first + c, STRING]:
                count += 1
                if count == MOST_REPEATS:
                    break
        rank[c, 2] = count


@jit
def pair_values(
    mentions: Integers, tokens: Integers, i: int, j: int, active: NDArray[np.bool_], values: Integers
) -> None:
    """Write the value of each template for mention ``i`` and candidate ``j``, or -1 for no feature.

    As in Durrett and Klein, strings are compared only if the mention is not a pronoun.
    """
    this, other = mentions[i], mentions[j]
    values[:] = -1
    values[LINK] = 0
    values[MENTION_DISTANCE] = distance_bucket(i - j)
    values[SENTENCE_DISTANCE] = distance_bucket(this[SENTENCE] - other[SENTENCE])
    values[NESTING] = 0
    if this[SENTENCE] == other[SENTENCE]:
        if this[START] >= other[START] and this[END] <= other[END]:
            values[NESTING] = 1
        elif this[START] <= other[START] and this[END] >= other[END]:
            values[NESTING] = 2
    values[GENDERS] = 8 * this[GENDER] + other[GENDER]
    values[NUMBERS] = 8 * this[NUMBER] + other[NUMBER]
    if this[SPEAKER] >= 0 and other[SPEAKER] >= 0:
        values[SPEAKERS] = 1 if this[SPEAKER] == other[SPEAKER] else 0
    values[QUOTATIONS] = quotation_value(this[QUOTATION], other[QUOTATION])
    if this[RELATION] >= 0:
        values[RELATIONS] = mix(this[RELATION], other[RELATION]) & 0x7FFFFFFFFFFFFFFF
        values[ARC] = arc_value(this, other)
        away = min(this[SENTENCE] - other[SENTENCE], 3)
        values[PARALLEL] = 16 * away + 4 * this[ROLE] + other[ROLE]
    if this[TYPE] != PRONOUN:
        values[STRING_MATCH] = 1 if this[STRING] == other[STRING] else 0
        values[HEAD_MATCH] = 1 if this[HEAD] == other[HEAD] else 0
        if active[CONTAINED]:
            values[CONTAINED] = _holds(tokens, other[START], other[END], this[START], this[END])
            values[CONTAINS] = _holds(tokens, this[START], this[END], other[START], other[END])
        if active[HEAD_CONTAINED]:
            head, head_of_other = this[HEAD_PLACE], other[HEAD_PLACE]
            values[HEAD_CONTAINED] = _holds(tokens, other[START], other[END], head, head + 1)
            values[CONTAINS_HEAD] = _holds(tokens, this[START], this[END], head_of_other, head_of_other + 1)
        if this[HEAD_WORD] > 0 and other[HEAD_WORD] > 0 and other[TYPE] != PRONOUN:
            values[HEAD_WORDS] = mix(this[HEAD_WORD], other[HEAD_WORD]) & 0x7FFFFFFFFFFFFFFF
    for t in range(PAIR_TEMPLATES):
        if not active[t]:
            values[t] = -1


@jit
def row_features(
    mentions: Integers,
    own: Integers,
    tokens: Integers,
    i: int,
    first: int,
    active: NDArray[np.bool_],
    bits: int,
    feature: NDArray[np.int32],
    count: Integers,
) -> None:
    """Write the features of mention ``i`` with each candidate ``first .. i - 1``, then as a new entity.

    ``feature`` has one row per candidate, of which the first ``count`` entries are written.
    """
    form = mix(_PAIR, mentions[i, FORM])
    values = np.empty(PAIR_TEMPLATES, np.int64)
    ranked = active[RANK] and mentions[i, RELATION] >= 0  # as relations, only with trees
    rank = np.zeros((i - first + 1 if ranked else 0, 3), np.int64)
    if ranked:
        ranks(mentions, i, first, rank)
    for c in range(i - first + 1):
        j = first + c
        new = j == i
        both = mix(form, mentions[j, FORM])
        row = feature[c]
        k = 0
        for u in range(own.shape[1]):
            if own[i, u] != 0:
                code = own[i, u] ^ (OF_NEW if new else OF_LINK)
                row[k] = place(code, 0, bits)
                row[k + 1] = place(code, form, bits)
                k += 2
                if not new:
                    row[k] = place(code, both, bits)
                    k += 1
        if new:
            code = mix(LINK, 1)
            row[k] = place(code, 0, bits)
            row[k + 1] = place(code, form, bits)
            count[c] = k + 2
            continue
        for u in range(own.shape[1]):
            if own[j, u] != 0:
                code = own[j, u] ^ OF_CANDIDATE
                row[k] = place(code, 0, bits)
                row[k + 1] = place(code, form, bits)
                row[k + 2] = place(code, both, bits)
                k += 3
        pair_values(mentions, tokens, i, j, active, values)
        if ranked:
            values[RANK] = rank[c, 0] if mentions[i, TYPE] == PRONOUN else -1
            values[SUBJECT_RANK] = 8 * rank[c, 1] + mentions[j, ROLE] if mentions[i, TYPE] == PRONOUN else -1
            values[REPEATED] = rank[c, 2]
        for t in range(PAIR_TEMPLATES):
            if values[t] >= 0:
                code = mix(t, values[t])
                row[k] = place(code, 0, bits)
                row[k + 1] = place(code, form, bits)
                row[k + 2] = place(code, both, bits)
                k += 3
        count[c] = k


@jit
def score_document(
    mentions: Integers,
    own: Integers,
    tokens: Integers,
    window: int,
    active: NDArray[np.bool_],
    bits: int,
    weight: NDArray[np.float32],
    score: Floats,
) -> None:
    """Write the scores of all candidates of all mentions, "new" last in each row."""
    most = min(window, len(mentions)) + 1
    feature = np.empty((most, VARIANTS * (2 * own.shape[1] + PAIR_TEMPLATES)), np.int32)
    count = np.empty(most, np.int64)
    at = 0
    for i in range(len(mentions)):
        first = max(0, i - window)
        row_features(mentions, own, tokens, i, first, active, bits, feature, count)
        for c in range(i - first + 1):
            total = 0.0
            for k in range(count[c]):
                total += weight[feature[c, k]]
            score[at] = total
            at += 1
