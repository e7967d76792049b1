"""Bins that keep ties whole, from sorted keys; draws of Algorithm 2."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, by_size, by_size_or


def sum_whole_ties_in_arrays(
    packed: Integers, size: int, least: int, edge_key: Integers, first_key: Integers, sums: Floats
) -> int:
    """Do what `sum_whole_ties` does, to the same bit."""
    key, first, count = np.unique(packed >> 1, return_index=True, return_counts=True)
    positives, q = np.add.reduceat(packed & 1, first), key.view(np.float64)
    section: Any = np.searchsorted(edge_key, key, side="right")
    bin_of = np.empty(len(key), np.int64)
    used = filled = begun = 0
    for i, (there, more) in enumerate(zip(section.tolist(), count.tolist(), strict=True)):
        if used == 0 or filled >= (size if there == begun else least):
            first_key[used], begun, filled = key[i], there, 0
            used += 1
        filled += more
        bin_of[i] = used - 1
    for column, terms in enumerate((count, positives, count * q, count * q * q, positives * q)):
        sums[:used, column] = np.bincount(bin_of, terms)
    if used > 1 and filled < least:
        sums[used - 2] += sums[used - 1]
        used -= 1
    return used


@by_size_or(sum_whole_ties_in_arrays)
def sum_whole_ties(
    packed: Integers, size: int, least: int, edge_key: Integers, first_key: Integers, sums: Floats
) -> int:
    """Close a bin at ``size`` pairs, or at ``least`` pairs where a section of the score ends; never in a tie.

    Sections begin at 0 and at the ascending keys ``edge_key``. Fills ``first_key`` and ``sums`` (bins,
    [n, positives, sum q, sum q^2, sum q y]) and returns the number of bins. A last bin with fewer than
    ``least`` pairs joins the one before.
    """
    n = len(packed)
    value = np.empty(1, np.float64)
    bits = value.view(np.int64)
    used = 0
    section = 0
    begun = 0  # section in which the bin begins
    i = 0
    while i < n:
        key = packed[i] >> 1
        while section < len(edge_key) and edge_key[section] <= key:
            section += 1
        if used == 0 or sums[used - 1, 0] >= (size if section == begun else least):
            begun = section
            first_key[used] = key
            sums[used, :] = 0.0
            used += 1
        b = used - 1
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
    if used > 1 and sums[used - 1, 0] < least:
        sums[used - 2] += sums[used - 1]
        used -= 1
    return used


@by_size
def bins_of_rows(
    low: Floats, n: Integers, size: int, least: int, edge: Floats, row_bin: NDArray[np.int32]
) -> int:
    """The same rule on the rows of a tally, ordered by score; rows of equal ``low`` are one tie."""
    rows = len(low)
    used = 0
    filled = 0
    before = 0
    section = 0
    begun = 0
    i = 0
    while i < rows:
        while section < len(edge) and edge[section] <= low[i]:
            section += 1
        if used == 0 or filled >= (size if section == begun else least):
            begun = section
            used += 1
            before = i
            filled = 0
        first = low[i]
        while i < rows and low[i] == first:
            filled += n[i]
            row_bin[i] = used - 1
            i += 1
    if used > 1 and filled < least:
        row_bin[before:] = used - 2
        used -= 1
    return used


@by_size
def join_thin(
    start: Integers,
    unit: Integers,
    unit_weight: Floats,
    alone: Floats,
    weight: Floats,
    units: int,
    fewest: int,
    least: float,
    group: NDArray[np.int32],
) -> None:
    """Join adjoining bins until each has ``fewest`` units, and ``least`` effective ones.

    The effective number is (sum W_c)^2 / sum W_c^2. Bin b's units are ``unit[start[b]:start[b + 1]]`` with
    their weights; ``alone`` adds the squared weights of units that are in this bin only. A last bin that
    stays thin joins the one before.
    """
    inside = np.zeros(units)
    used = 0
    first = 0
    whole = 0.0
    squares = 0.0
    count = 0
    for b in range(len(weight)):
        group[b] = used
        whole += weight[b]
        squares += alone[b]
        for i in range(start[b], start[b + 1]):
            w = unit_weight[i]
            count += inside[unit[i]] == 0.0
            squares += w * (2.0 * inside[unit[i]] + w)
            inside[unit[i]] += w
        if count >= fewest and whole * whole >= least * squares:
            for i in range(start[first], start[b + 1]):
                inside[unit[i]] = 0.0
            used += 1
            first = b + 1
            whole = 0.0
            squares = 0.0
            count = 0
    if first < len(weight) and used > 0:
        group[first:] = used - 1


@by_size
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
