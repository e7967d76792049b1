"""Scores of parts of tag sequences, and their sums by sentence on rows coarser than the grid's."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit
from calibrant._kernels.tally import grid_rows

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_BLOCK = 2048


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
    """Probabilities of some pairs of tags at consecutive tokens of sentences, and whether gold has them.

    ``score`` and ``label`` have one row for each two consecutive tokens and one column for each pair of
    ``first[m], second[m]``. ``logarithms`` says which sentences' messages are in logarithms.
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
    """Sum pairs by sentence and by group of the grid's rows; return how many of those have any.

    Sentence s has the pairs ``start[s]:start[s + 1]``. ``shift`` is how far a grid row's anchor lies from the
    anchor of its group, from which d counts. ``sums`` (2 group + label, [n, sum d, sum d^2, unused]) is zero
    before and after. ``columns`` gets n, positives and the sums of d, d^2 and d y.
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
