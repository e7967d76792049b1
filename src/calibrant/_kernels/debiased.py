"""Bins that keep ties whole, from sorted keys; draws of Algorithm 2."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels._jit import jit

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@jit
def pack(score: NDArray[Any], label: NDArray[Any], packed: Integers) -> None:
    """Write bits * 2 + label, which sorts by score, then label: bits of floats >= 0 keep their order."""
    value = packed.view(np.float64)
    for i in range(len(score)):
        value[i] = np.float64(score[i]) + 0.0  # turns -0.0 into 0.0
        packed[i] = packed[i] * 2 + (1 if label[i] else 0)


@jit
def sum_whole_ties(packed: Integers, size: int, first_key: Integers, sums: Floats) -> int:
    """Close a bin once it has ``size`` pairs, never inside a tie; a short last bin joins the one before.

    Fills ``first_key`` and ``sums`` (bins, [n, positives, sum q, sum q^2, sum q y]) and returns the
    number of bins.
    """
    n = len(packed)
    value = np.empty(1, np.float64)
    bits = value.view(np.int64)
    used = 0
    i = 0
    while i < n:
        if used == 0 or sums[used - 1, 0] >= size:
            first_key[used] = packed[i] >> 1
            sums[used, :] = 0.0
            used += 1
        b = used - 1
        key = packed[i] >> 1
        count = 0
        positives = 0
        while i < n and packed[i] >> 1 == key:
            count += 1
            positives += packed[i] & 1
            i += 1
        bits[0] = key
        q = value[0]
        sums[b, 0] += count
        sums[b, 1] += positives
        sums[b, 2] += count * q
        sums[b, 3] += count * q * q
        sums[b, 4] += positives * q
    if used > 1 and sums[used - 1, 0] < size:
        sums[used - 2] += sums[used - 1]
        used -= 1
    return used


@jit
def bins_of_rows(low: Floats, n: Integers, size: int, row_bin: NDArray[np.int32]) -> int:
    """The same rule on the rows of a tally, ordered by score; rows of equal ``low`` are one tie."""
    rows = len(low)
    used = 0
    filled = 0
    before = 0
    i = 0
    while i < rows:
        if used == 0 or filled >= size:
            used += 1
            before = i
            filled = 0
        first = low[i]
        while i < rows and low[i] == first:
            filled += n[i]
            row_bin[i] = used - 1
            i += 1
    if used > 1 and filled < size:
        row_bin[before:] = used - 2
        used -= 1
    return used


@jit
def sampled_errors(
    normal: Floats,
    frequency: Floats,
    spread: Floats,
    score: Floats,
    share: Floats,
    clip: bool,
    squared: Floats,
) -> None:
    """Mean squared error of each row of draws ``frequency + spread * normal`` against ``score``."""
    draws, bins = normal.shape
    for s in range(draws):
        total = 0.0
        for b in range(bins):
            p = frequency[b] + spread[b] * normal[s, b]
            if clip:
                p = min(max(p, 0.0), 1.0)
            total += share[b] * (score[b] - p) * (score[b] - p)
        squared[s] = total
