"""Scores of tags at tokens, from the weights of the attributes that are present."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, jit


@jit
def sum_weights(
    first: Integers,
    attribute: Integers,
    row_first: Integers,
    tag: NDArray[np.int32],
    weight: Floats,
    total: Floats,
) -> None:
    """Write to ``total[i]`` the sum of the rows of weights of item ``i``'s attributes.

    ``first`` (items + 1,) delimits each item's part of ``attribute``, in which negative numbers are ignored;
    ``row_first`` (rows + 1,) delimits each row's part of ``tag`` and ``weight``; ``total`` has shape (items,
    tags).
    """
    for i in range(len(first) - 1):
        here = total[i]
        here[:] = 0.0
        for k in range(first[i], first[i + 1]):
            row = attribute[k]
            if row >= 0:
                for j in range(row_first[row], row_first[row + 1]):
                    here[tag[j]] += weight[j]


@jit
def gather(word: Integers, lengths: Integers, offsets: Integers, table: Floats, unary: Floats) -> None:
    """Write to ``unary[t]`` the sum over offsets of ``table[offset's index, word[t + offset]]``.

    ``table`` has shape (offsets, words, tags); word 0 represents every position outside the sentence.
    """
    tags = table.shape[2]
    start = 0
    for length in lengths:
        for t in range(length):
            here = unary[start + t]
            here[:] = 0.0
            for o in range(len(offsets)):
                place = t + offsets[o]
                scores = table[o, word[start + place] if 0 <= place < length else 0]
                for k in range(tags):
                    here[k] += scores[k]
        start += length
