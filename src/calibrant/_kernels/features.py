"""Scores of tags at tokens, from the weights of the attributes that are present."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@jit
def add_weights(
    first: Integers,
    attribute: Integers,
    shifts: Integers,
    row_first: Integers,
    tag: NDArray[np.int32],
    weight: Floats,
    total: Floats,
) -> None:
    """Add to ``total[i, o]`` the weights in row ``shifts[o] + a`` for each attribute ``a`` of item ``i``.

    ``first`` (items + 1,) delimits each item's part of ``attribute``, in which negative numbers stand for
    nothing; ``row_first`` (rows + 1,) delimits each row's part of ``tag`` and ``weight``; ``total`` has
    shape (items, offsets, tags).
    """
    for i in range(len(first) - 1):
        for o in range(len(shifts)):
            for k in range(first[i], first[i + 1]):
                if attribute[k] < 0:
                    continue
                row = shifts[o] + attribute[k]
                for j in range(row_first[row], row_first[row + 1]):
                    total[i, o, tag[j]] += weight[j]


@jit
def gather(word: Integers, lengths: Integers, offsets: Integers, table: Floats, unary: Floats) -> None:
    """Write to ``unary[t]`` the sum over offsets of ``table[word[t + offset], offset's index]``.

    ``table`` has shape (words, offsets, tags); its first row stands for every place outside the sentence.
    """
    tags = table.shape[2]
    start = 0
    for length in lengths:
        for t in range(length):
            here = unary[start + t]
            here[:] = 0.0
            for o in range(len(offsets)):
                place = t + offsets[o]
                row = word[start + place] if 0 <= place < length else 0
                for k in range(tags):
                    here[k] += table[row, o, k]
        start += length
