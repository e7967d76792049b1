"""Features of arcs between words, as indices of hashed weights, and scores of arcs and of their labels.

A word is a row of codes (hashes of its word, tag, suffix, stem, preposition and conjunction; numbers that
describe its place among the verbs and punctuation) and its kind. Row ``PAD`` of a sentence is the root, and
rows before the root and after the last word are the sentence's boundaries. A feature is a hash of its
template and values, truncated to the number of bits of the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit
from calibrant.structures._kernels.coreference_features import place

Weights = NDArray[np.float32]
Places = NDArray[np.int32]

PAD = 2  # rows before the root, and after the last word
WORD, TAG, SUFFIX, STEM, CASE, JOINED, EARLIER, LATER, PAIRED = range(9)  # columns of codes
COLUMNS = 9
OTHER, VERB, PUNCTUATION, ADPOSITION, CONJUNCTION = range(5)  # kinds of words
AUXILIARY_REACH = 3  # words from a verb to an auxiliary before it
CASE_REACH = 6  # words from a word to the preposition before it
MOST_BETWEEN = 48  # tags and words between two words
MOST_FEATURES = 256  # of an arc
LABEL_FEATURES = 40  # of a label

_FIRST, _SECOND, _THIRD, _FOURTH = (
    -0x61C8864680B583EB,
    0x2545F4914F6CDD1D,
    -0x40A7B892E31B1A47,
    0x1F83D9ABFB41BD6B,
)
_TEMPLATE = -0x6B2FB644ECCEEE15
_DIRECTION, _DISTANCE = 0x3C6EF372FE94F82B, 0x5BE0CD19137E2179
_LAST = 16  # distances from here on are alike


@jit
def _pair(template: int, a: int, b: int) -> int:
    return template * _TEMPLATE + a * _FIRST + b * _SECOND


@jit
def _triple(template: int, a: int, b: int, c: int) -> int:
    return template * _TEMPLATE + a * _FIRST + b * _SECOND + c * _THIRD


@jit
def _four(template: int, a: int, b: int, c: int, d: int) -> int:
    return template * _TEMPLATE + a * _FIRST + b * _SECOND + c * _THIRD + d * _FOURTH


@jit
def _bucket(distance: int) -> int:
    """Return the bucket of a distance: 1 to 5 unchanged, then 6-7, 8-10, 11-15, 16-25 and more."""
    if distance <= 5:
        return distance
    for bucket, end in enumerate((7, 10, 15, 25)):
        if distance <= end:
            return 6 + bucket
    return 10


@jit
def add_context(codes: Integers, kinds: Integers, offsets: Integers) -> None:
    """Write the columns of words that depend on other words of the sentence.

    ``CASE`` is the preposition or subordinating word before a word, if no verb or punctuation is between
    them (an auxiliary is allowed before a verb); ``JOINED`` is the coordinating conjunction before it;
    ``EARLIER`` and ``LATER`` are the numbers of verbs before and after it, at most 3. ``PAIRED`` tells
    whether the same punctuation occurs earlier an even or odd number of times, and whether later.
    """
    for s in range(len(offsets) - 1):
        first, last = offsets[s] + PAD + 1, offsets[s + 1] - PAD
        verbs = 0
        for m in range(first, last):
            codes[m, EARLIER] = min(verbs, 3)
            verbs += kinds[m] == VERB
            open_case = open_join = True
            for k in range(m - 1, max(first, m - CASE_REACH) - 1, -1):
                if kinds[k] == ADPOSITION and open_case:
                    codes[m, CASE] = codes[k, WORD]
                if kinds[k] == CONJUNCTION and open_join:
                    codes[m, JOINED] = codes[k, WORD]
                auxiliary = kinds[k] == VERB and kinds[m] == VERB and m - k <= AUXILIARY_REACH
                open_case = open_case and (kinds[k] == OTHER or auxiliary)
                open_join = open_join and (kinds[k] in (OTHER, ADPOSITION) or auxiliary)
        for m in range(first, last):
            verbs -= kinds[m] == VERB
            codes[m, LATER] = min(verbs, 3)
            if kinds[m] == PUNCTUATION:
                earlier = later = 0
                for k in range(first, last):
                    same = codes[k, WORD] == codes[m, WORD]
                    earlier += same and k < m
                    later += same and k > m
                codes[m, PAIRED] = 1 + min(earlier, 2 - earlier % 2) + 3 * min(later, 1)


@jit
def _both(code: int, direction: int, distance: int, bits: int, out: Places, count: int) -> int:
    """Write the feature with the arc's direction, and with direction and distance."""
    out[count] = place(code, direction, bits)
    out[count + 1] = place(code, distance, bits)
    return count + 2


@jit
def arc_features(
    codes: Integers, h: int, m: int, between: Integers, found: int, counts: Integers, bits: int, out: Places
) -> int:
    """Write the indices of the features of the arc from row ``h`` to row ``m``; return their number.

    ``between`` are the codes of the tags and small words between the two, and ``counts`` the numbers of words
    of each kind between them.
    """
    w, t = WORD, TAG
    hw, ht, hs, hp = codes[h, w], codes[h, t], codes[h, SUFFIX], codes[h, STEM]
    mw, mt, ms, mp, mc = codes[m, w], codes[m, t], codes[m, SUFFIX], codes[m, STEM], codes[m, CASE]
    hl, hr, ml, mr = codes[h - 1, t], codes[h + 1, t], codes[m - 1, t], codes[m + 1, t]
    right = m > h
    bucket = _bucket(m - h if right else h - m)
    direction = _DIRECTION if right else -_DIRECTION
    far = direction + bucket * _DISTANCE
    n = 0
    n = _both(_pair(1, hw, ht), direction, far, bits, out, n)
    n = _both(_pair(2, hw, 0), direction, far, bits, out, n)
    n = _both(_pair(3, ht, 0), direction, far, bits, out, n)
    n = _both(_pair(4, mw, mt), direction, far, bits, out, n)
    n = _both(_pair(5, mw, 0), direction, far, bits, out, n)
    n = _both(_pair(6, mt, 0), direction, far, bits, out, n)
    n = _both(_pair(7, hs, ht), direction, far, bits, out, n)
    n = _both(_pair(8, ms, mt), direction, far, bits, out, n)
    n = _both(_four(9, hw, ht, mw, mt), direction, far, bits, out, n)
    n = _both(_triple(10, ht, mw, mt), direction, far, bits, out, n)
    n = _both(_triple(11, hw, mw, mt), direction, far, bits, out, n)
    n = _both(_triple(12, hw, ht, mt), direction, far, bits, out, n)
    n = _both(_triple(13, hw, ht, mw), direction, far, bits, out, n)
    n = _both(_pair(14, hw, mw), direction, far, bits, out, n)
    n = _both(_pair(15, ht, mt), direction, far, bits, out, n)
    n = _both(_four(16, hs, ht, ms, mt), direction, far, bits, out, n)
    n = _both(_triple(17, ht, ms, mt), direction, far, bits, out, n)
    n = _both(_triple(18, hs, ht, mt), direction, far, bits, out, n)
    n = _both(_pair(19, hp, mp), direction, far, bits, out, n)
    n = _both(_triple(20, hp, ht, mt), direction, far, bits, out, n)
    n = _both(_triple(21, ht, mp, mt), direction, far, bits, out, n)
    n = _both(_four(22, ht, hr, ml, mt), direction, far, bits, out, n)
    n = _both(_four(23, hl, ht, ml, mt), direction, far, bits, out, n)
    n = _both(_four(24, ht, hr, mt, mr), direction, far, bits, out, n)
    n = _both(_four(25, hl, ht, mt, mr), direction, far, bits, out, n)
    n = _both(_triple(26, hl, ht, mt), direction, far, bits, out, n)
    n = _both(_triple(27, ht, hr, mt), direction, far, bits, out, n)
    n = _both(_triple(28, ht, ml, mt), direction, far, bits, out, n)
    n = _both(_triple(29, ht, mt, mr), direction, far, bits, out, n)
    n = _both(_four(30, hl, ht, hr, mt), direction, far, bits, out, n)
    n = _both(_four(31, ht, ml, mt, mr), direction, far, bits, out, n)
    n = _both(_four(32, ht, codes[m - 2, t], ml, mt), direction, far, bits, out, n)
    n = _both(_four(33, ht, mt, mr, codes[m + 2, t]), direction, far, bits, out, n)
    n = _both(_four(34, codes[h - 2, t], hl, ht, mt), direction, far, bits, out, n)
    n = _both(_four(35, ht, hr, codes[h + 2, t], mt), direction, far, bits, out, n)
    n = _both(_triple(36, ht, mt, codes[m - 1, w]), direction, far, bits, out, n)
    n = _both(_triple(37, ht, mt, codes[m + 1, w]), direction, far, bits, out, n)
    n = _both(_triple(38, ht, mt, codes[h - 1, w]), direction, far, bits, out, n)
    n = _both(_triple(39, ht, mt, codes[h + 1, w]), direction, far, bits, out, n)
    n = _both(_triple(40, ht, mt, mc), direction, far, bits, out, n)
    n = _both(_triple(41, hw, mt, mc), direction, far, bits, out, n)
    n = _both(_triple(42, hp, mt, mc), direction, far, bits, out, n)
    n = _both(_triple(43, ht, mw, mc), direction, far, bits, out, n)
    n = _both(_four(44, hw, mw, mc, ht), direction, far, bits, out, n)
    verbs, marks = min(counts[VERB], 3), min(counts[PUNCTUATION], 4)
    passed = verbs + 4 * marks + 20 * min(counts[CONJUNCTION], 2)
    n = _both(_triple(45, ht, mt, passed), direction, far, bits, out, n)
    n = _both(_pair(46, mt, passed), direction, far, bits, out, n)
    n = _both(_triple(47, ht, mt, verbs), direction, far, bits, out, n)
    n = _both(_triple(48, ht, mt, marks), direction, far, bits, out, n)
    n = _both(_four(49, ht, mt, verbs, mw), direction, far, bits, out, n)
    n = _both(_four(50, ht, mt, verbs, hw), direction, far, bits, out, n)
    low, high = min(h, m), max(h, m)
    outside = codes[low, EARLIER] + 4 * codes[high, LATER]
    hc, join, pair = codes[h, CASE], codes[m, JOINED], codes[m, PAIRED]
    alike = 2 * (hs == ms) + (ht == mt)
    n = _both(_triple(52, ht, mt, outside), direction, far, bits, out, n)
    n = _both(_four(53, ht, mw, outside, pair), direction, far, bits, out, n)
    n = _both(_triple(54, ht, hc, mt), direction, far, bits, out, n)
    n = _both(_four(55, ht, hc, mw, outside), direction, far, bits, out, n)
    n = _both(_four(56, ht, mw, pair, passed), direction, far, bits, out, n)
    n = _both(_triple(57, hw, mt, outside), direction, far, bits, out, n)
    n = _both(_four(58, ht, mw, ml, mr), direction, far, bits, out, n)
    n = _both(_triple(59, ht, mt, join), direction, far, bits, out, n)
    n = _both(_four(60, ht, mt, join, passed + 64 * alike), direction, far, bits, out, n)
    n = _both(_four(61, ht, mt, verbs, outside), direction, far, bits, out, n)
    for k in range(found):
        out[n] = place(_triple(51, ht, between[k], mt), direction, bits)
        n += 1
    return n


@jit
def pass_word(
    codes: Integers, kinds: Integers, k: int, between: Integers, found: int, counts: Integers
) -> int:
    """Add a word to those between two words; return the number of different tags and small words."""
    kind = kinds[k]
    counts[kind] += 1
    for column in range(2):
        if column == 0 or kind != OTHER:
            code = codes[k, TAG] if column == 0 else codes[k, WORD]
            seen = found == MOST_BETWEEN
            for place_of in range(found):
                seen = seen or between[place_of] == code
            if not seen:
                between[found] = code
                found += 1
    return found


@jit
def dropped(feature: int, salt: int, below: int) -> bool:
    """Return True for a feature that is left out with a salt: for ``below`` of 256 salts."""
    return (((feature + salt) * _FIRST) >> 40) & 255 < below


@jit
def score_arcs(
    codes: Integers, kinds: Integers, bits: int, weight: Weights, salt: int, below: int, score: Floats
) -> None:
    """Write the (n, n + 1) scores of all arcs of a sentence; a word's arc from itself is minus infinity.

    With ``below`` above 0, features are left out by `dropped`.
    """
    n = score.shape[0]
    out = np.empty(MOST_FEATURES, np.int32)
    between, counts = np.empty(MOST_BETWEEN, np.int64), np.zeros(5, np.int64)
    for head in range(n + 1):
        for step in (1, -1):
            found = 0
            counts[:] = 0
            word = head + step
            while 1 <= word <= n:
                count = arc_features(codes, head + PAD, word + PAD, between, found, counts, bits, out)
                total = np.float32(0.0)
                for k in range(count):
                    if below == 0 or not dropped(out[k], salt, below):
                        total += weight[out[k]]
                score[word - 1, head] = total
                found = pass_word(codes, kinds, word + PAD, between, found, counts)
                word += step
        if head > 0:
            score[head - 1, head] = -np.inf


@jit
def label_features(codes: Integers, kinds: Integers, n: int, h: int, m: int, bits: int, out: Places) -> int:
    """Write the rows of the features of the label of an arc between rows; return their number."""
    w, t = WORD, TAG
    hw, ht, hs = codes[h, w], codes[h, t], codes[h, SUFFIX]
    mw, mt, ms, mc = codes[m, w], codes[m, t], codes[m, SUFFIX], codes[m, CASE]
    right = m > h
    direction = _DIRECTION if right else -_DIRECTION
    far = direction + _bucket(m - h if right else h - m) * _DISTANCE
    verbs = marks = 0
    for k in range(min(h, m) + 1, max(h, m)):
        verbs += kinds[k] == VERB
        marks += kinds[k] == PUNCTUATION
    passed = min(verbs, 2) + 3 * min(marks, 2)
    values = (
        _pair(1, ht, mt),
        _pair(2, mw, mt),
        _pair(3, hw, ht),
        _triple(4, ht, mt, mw),
        _triple(5, ht, mt, hw),
        _pair(6, hw, mw),
        _triple(7, ht, mt, ms),
        _triple(8, ht, mt, hs),
        _triple(9, ht, mt, mc),
        _triple(10, mt, mc, mw),
        _triple(11, hw, mt, mc),
        _triple(12, ht, mt, codes[m - 1, w]),
        _triple(13, ht, mt, codes[m + 1, w]),
        _triple(14, ht, mt, codes[h - 1, w]),
        _triple(15, ht, mt, codes[h + 1, w]),
        _triple(16, ht, mt, codes[m - 1, t]),
        _triple(17, ht, mt, codes[m + 1, t]),
        _triple(18, ht, mt, codes[h - 1, t]),
        _triple(19, ht, mt, codes[h + 1, t]),
        _four(20, mt, ht, codes[m - 1, t], codes[m + 1, t]),
        _triple(21, mt, ht, passed),
        _pair(22, mt, mc),
        _triple(23, hw, mt, codes[h - 1, w]),
        _four(24, ht, mt, codes[h - 2, w], hs),
        _four(25, ht, mt, codes[h - 1, w], hs),
        _pair(26, codes[m, STEM], codes[h, STEM]),
        _triple(27, ht, mt, codes[m - 2, t]),
        _triple(28, ht, mt, codes[m + 2, t]),
        _pair(29, ms, mt),
    )
    count = 0
    for value in values:
        out[count] = place(value, direction, bits)
        count += 1
    out[count] = place(_pair(30, ht, mt), far, bits)
    out[count + 1] = place(_pair(31, mw, mt), far, bits)
    out[count + 2] = place(_pair(32, mt, min(m - PAD, 3) + 4 * (m - PAD == n)), direction, bits)
    return count + 3


@jit
def score_labels(codes: Integers, kinds: Integers, bits: int, weight: Weights, score: Floats) -> None:
    """Write the (n, n + 1, L) logarithms of the probabilities of the labels of each arc."""
    n, size = score.shape[0], score.shape[2]
    out, total = np.empty(LABEL_FEATURES, np.int32), np.empty(size, np.float32)
    for word in range(n):
        for head in range(n + 1):
            if head == word + 1:
                score[word, head, :] = -np.log(size)
                continue
            label_scores(codes, kinds, n, head + PAD, word + 1 + PAD, bits, weight, out, total)
            high, mass = total.max(), 0.0
            for label in range(size):
                mass += np.exp(np.float64(total[label] - high))
            mass = high + np.log(mass)
            for label in range(size):
                score[word, head, label] = total[label] - mass


@jit
def label_scores(
    codes: Integers,
    kinds: Integers,
    n: int,
    h: int,
    m: int,
    bits: int,
    weight: Weights,
    out: Places,
    total: Weights,
) -> int:
    """Write the scores of the labels of an arc and the rows of its features; return their number."""
    count = label_features(codes, kinds, n, h, m, bits, out)
    total[:] = 0.0
    for k in range(count):
        row = weight[out[k]]
        for label in range(len(total)):
            total[label] += row[label]
    return count
