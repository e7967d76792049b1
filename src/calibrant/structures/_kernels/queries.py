"""Scores of parts of tag sequences, and their sums by sentence on rows coarser than the grid's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit
from calibrant._kernels.selection import HALF_BITS
from calibrant._kernels.tally import GRID_ROWS, GRID_SHIFT, LOWEST_ROW, grid_rows, tally

Generate = Callable[[Any, Any, Any, Any], Any]

_LANES = ir.VectorType(ir.DoubleType(), 4)
Labels = NDArray[np.int32]


def _add_moments(typing: Any, sums: Any, at: Any, d: Any) -> tuple[Any, Generate]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.bitcast(builder.gep(array.data, [arguments[1]]), _LANES.as_pointer())

        def with_d(lanes: Any, number: int) -> Any:
            return builder.insert_element(lanes, arguments[2], ir.Constant(ir.IntType(32), number))

        first = with_d(with_d(ir.Constant(_LANES, [1.0, 1.0, 1.0, 0.0]), 1), 2)
        second = with_d(ir.Constant(_LANES, [1.0, 1.0, 1.0, 1.0]), 2)
        contract = ("contract",)  # a product and a sum may be rounded once
        product = builder.fmul(first, second, flags=contract)
        added = builder.fadd(product, builder.load(place, align=8), flags=contract)
        builder.store(added, place, align=8)
        return context.get_dummy_value()

    return types.void(sums, at, d), generate


add_moments = cast(Callable[[Floats, int, float], None], intrinsic(_add_moments))


"""``add_moments(sums, at, d)`` adds [1, d, d^2, 0] to the flat array ``sums`` from ``at``."""


_BLOCK = 2048
# Scores from 2^-64 to 2^-5, nearly all scores of pairs, are summed by a fast path. Larger scores are in rows
# that the grid divides, and smaller ones share row 0.
_COMMON = HALF_BITS + ((LOWEST_ROW + 1) << GRID_SHIFT)  # bits of 2^-64
_LARGE_SCORE = 2.0**-5
_LARGE = HALF_BITS - (4 << 52)  # its bits
_COMMON_ROWS = (_LARGE - _COMMON) >> GRID_SHIFT
_ROW_OF_BITS = _COMMON >> GRID_SHIFT
_ANCHOR = ~((1 << GRID_SHIFT) - 1)  # mask of the bits that a score shares with its row's anchor
_LEAST_MARGINAL = 0.99 * _LARGE_SCORE  # lower bound, with rounding, for tags in pairs with large scores
_WAITING = 4096  # large scores per batch


@jit
def pair_scores(
    alpha: Floats,
    future: Floats,
    step: Floats,
    log_step: Floats,
    logarithms: NDArray[np.bool_],
    offsets: Integers,
    gold: Integers,
    first: Integers,
    second: Integers,
    score: Floats,
    label: NDArray[np.bool_],
) -> None:
    """Write probabilities and labels of some pairs of tags at consecutive tokens of sentences.

    ``score`` and ``label`` have one row per two consecutive tokens and one column per pair ``first[m],
    second[m]``. ``logarithms`` is True for sentences with messages in logarithms.
    """
    row = 0
    for s in range(len(offsets) - 1):
        for t in range(offsets[s] + 1, offsets[s + 1]):
            for m in range(len(first)):
                i, j = first[m], second[m]
                if logarithms[s]:
                    value = np.exp(alpha[t - 1, i] + log_step[i, j] + future[t, j])
                else:
                    value = alpha[t - 1, i] * step[i, j] * future[t, j]
                score[row, m] = min(value, 1.0)
                label[row, m] = gold[t - 1] == i and gold[t] == j
            row += 1


@jit
def tally_all_pairs(
    alpha: Floats,
    future: Floats,
    marginal: Floats,
    step: Floats,
    log_step: Floats,
    logarithms: NDArray[np.bool_],
    offsets: Integers,
    gold: Integers,
    part_of: NDArray[np.int8],
    cut: Floats,
    sums: Floats,
) -> None:
    """Add the scores of all pairs of tags to ``sums``, as `tally` does, without storing them."""
    tags, width = marginal.shape[1], step.shape[1]
    padded = step.copy()  # columns beyond the tags repeat the first, which is harmless
    padded[:, tags:] = padded[:, :1]
    after, offset, place = np.empty(width), np.empty(width), np.empty(width, np.int64)
    common = np.zeros(4 * (_COMMON_ROWS + 2 * width))
    score, label = np.empty(_WAITING), np.empty(_WAITING, np.bool_)
    whole, whole_label = np.empty(tags * tags), np.empty(tags * tags, np.bool_)
    likely = np.empty(tags + 1, np.int64)
    waiting = 0
    zeros = 0
    for s in range(len(offsets) - 1):
        for t in range(offsets[s] + 1, offsets[s + 1]):
            if logarithms[s]:
                _write_from_logarithms(
                    alpha[t - 1], log_step, future[t], gold[t - 1], gold[t], whole, whole_label
                )
                tally(whole, whole_label, part_of, cut, sums)
                continue
            if waiting > _WAITING // 2:
                tally(score[:waiting], label[:waiting], part_of, cut, sums)
                waiting = 0
            after[:tags] = future[t, :tags]
            after[tags:] = after[0]
            true = int(gold[t - 1]) if gold[t] >= 0 else -1
            zeros += _add_common(alpha[t - 1], padded, after, tags, true, int(gold[t]), place, offset, common)
            waiting = _add_large(
                alpha[t - 1],
                padded,
                after,
                marginal[t - 1 : t + 1],
                true,
                int(gold[t]),
                likely,
                score,
                label,
                waiting,
            )
    tally(score[:waiting], label[:waiting], part_of, cut, sums)
    for record in range(_COMMON_ROWS + tags):
        at = 2 * (record + 1) if record < _COMMON_ROWS else 0
        for column in range(3):
            sums[at, column] += common[4 * record + column]
    sums[0, 0] -= zeros
    sums[2 * (GRID_ROWS + part_of[0]), 0] += zeros


@jit
def _add_common(
    before: Floats,
    step: Floats,
    after: Floats,
    tags: int,
    true: int,
    true_next: int,
    place: Integers,
    offset: Floats,
    sums: Floats,
) -> int:
    """Add the scores of one place below 2^-5, except the gold pair; return the number of zeros.

    ``sums`` contains records [n, sum d, sum d^2, unused]: one per row of common scores, one per second tag
    for scores below 2^-64 (a single record would serialize the additions), and as many for discarded values.
    """
    width = len(after)
    zeros = 0
    for i in range(tags):
        weight = before[i]
        row = step[i]
        small = 0
        for j in range(width):
            value = np.float64(weight * row[j] * after[j])
            bits = value.view(np.int64)
            below, above = bits < _COMMON, bits >= _LARGE
            small += int(below)
            lane = _COMMON_ROWS + j + (width if above else 0)
            place[j] = 4 * (lane if below | above else (bits >> GRID_SHIFT) - _ROW_OF_BITS)
            offset[j] = value - np.int64(0 if below else bits & _ANCHOR).view(np.float64)
        if i == true:
            value = weight * row[true_next] * after[true_next]
            place[true_next] = 4 * (_COMMON_ROWS + width)
            zeros -= value == 0.0
        if small > 0:
            for j in range(tags):
                zeros += weight * row[j] * after[j] == 0.0
        for j in range(tags):
            add_moments(sums, place[j], offset[j])
    return zeros


@jit
def _add_large(
    before: Floats,
    step: Floats,
    after: Floats,
    marginal: Floats,
    true: int,
    true_next: int,
    likely: Integers,
    score: Floats,
    label: NDArray[np.bool_],
    used: int,
) -> int:
    """Append the scores that `_add_common` leaves out at one place; return the new length.

    ``marginal`` contains the marginals of both tokens, which bound the scores of their pairs.
    """
    if true >= 0:
        score[used] = min(before[true] * step[true, true_next] * after[true_next], 1.0)
        label[used] = True
        used += 1
    count = 0
    for j in range(marginal.shape[1]):
        likely[count] = j
        count += int(marginal[1, j] >= _LEAST_MARGINAL)
    for i in range(marginal.shape[1]):
        if marginal[0, i] >= _LEAST_MARGINAL:
            for candidate in range(count):
                j = likely[candidate]
                value = before[i] * step[i, j] * after[j]
                if value >= _LARGE_SCORE and not (i == true and j == true_next):
                    score[used] = min(value, 1.0)
                    label[used] = False
                    used += 1
    return used


@jit
def _write_from_logarithms(
    before: Floats,
    log_step: Floats,
    after: Floats,
    true: int,
    true_next: int,
    score: Floats,
    label: NDArray[np.bool_],
) -> None:
    """Write the scores of one place, sorted by the first tag, from messages in logarithms."""
    tags = int(np.sqrt(len(score)))
    for i in range(tags):
        for j in range(tags):
            score[i * tags + j] = min(np.exp(before[i] + log_step[i, j] + after[j]), 1.0)
            label[i * tags + j] = i == true and j == true_next


@jit
def sums_by_sentence(
    score: Floats,
    label: NDArray[np.bool_],
    start: Integers,
    part_of: NDArray[np.int8],
    cut: Floats,
    group_of: NDArray[np.int16],
    shift: Floats,
    sums: Floats,
    sentence: Integers,
    group: Integers,
    columns: Floats,
) -> int:
    """Sum pairs by sentence and group of grid rows; return the number of nonempty groups.

    Sentence s has the pairs ``start[s]:start[s + 1]``. ``shift`` is the distance of a grid row's anchor from
    the anchor of its group, from which d is measured. ``sums`` (2 group + label, [n, sum d, sum d^2, unused])
    is zero before and after. ``columns`` gets n, positives and the sums of d, d^2 and d y.
    """
    row = np.empty(_BLOCK, np.int64)
    offset = np.empty(_BLOCK, np.float64)
    used = 0
    for s in range(len(start) - 1):
        for begin in range(start[s], start[s + 1], _BLOCK):
            end = min(start[s + 1], begin + _BLOCK)
            grid_rows(score[begin:end], part_of, cut, row, offset)
            for i in range(end - begin):
                at = 2 * np.int64(group_of[row[i]]) + np.int64(label[begin + i])
                d = offset[i] + shift[row[i]]
                sums[at, 0] += 1.0
                sums[at, 1] += d
                sums[at, 2] += d * d
        used = _move(sums, s, sentence, group, columns, used)
    return used


@jit
def _move(sums: Floats, s: int, sentence: Integers, group: Integers, columns: Floats, used: int) -> int:
    """Append one sentence's sums to the columns and clear them; return the new length."""
    for g in range(len(sums) // 2):
        no, yes = sums[2 * g], sums[2 * g + 1]
        if no[0] + yes[0] > 0.0:
            sentence[used] = s
            group[used] = g
            columns[used, 0] = no[0] + yes[0]
            columns[used, 1] = yes[0]
            columns[used, 2] = no[1] + yes[1]
            columns[used, 3] = no[2] + yes[2]
            columns[used, 4] = yes[1]
            no[:] = 0.0
            yes[:] = 0.0
            used += 1
    return used


@jit
def mention_before(entities: Labels, out: Labels) -> None:
    """Write the nearest earlier mention of each mention's entity in each sample, or -1.

    Entities are identified by their first mention.
    """
    last = np.empty(entities.shape[1], np.int32)
    for sample in range(len(entities)):
        for mention in range(entities.shape[1]):
            entity = entities[sample, mention]
            out[sample, mention] = last[entity] if entity != mention else -1
            last[entity] = mention


@jit
def count_pairs(before: Labels, begin: int, end: int, furthest: int, count: Integers) -> None:
    """Add to ``count[j - begin, i]`` the samples that join mentions i < j, for ``begin <= j < end``."""
    for sample in range(len(before)):
        for j in range(begin, end):
            i = before[sample, j]
            while i >= 0 and j - i <= furthest:
                count[j - begin, i] += 1
                i = before[sample, i]


@jit
def list_pairs(
    pair: Floats,
    begin: int,
    end: int,
    row_base: int,
    column_base: int,
    furthest: int,
    first: Integers,
    second: Integers,
    score: Floats,
) -> int:
    """Write the pairs i < j with ``begin <= j < end`` at most ``furthest`` apart; return their number."""
    listed = 0
    for j in range(begin, end):
        for i in range(max(0, j - furthest), j):
            first[listed] = i
            second[listed] = j
            score[listed] = pair[j - row_base, i - column_base]
            listed += 1
    return listed
