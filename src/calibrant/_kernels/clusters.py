"""Sums over the cells (cluster, bin) of residuals, for estimates that leave pairs of one cluster out.

Rows and cells come ordered by cluster: those of cluster c are ``start[c]:start[c + 1]``. Each has a bin, a
weight and a residual, the weighted sum of ``y - q``; a cell is all rows of one cluster in one bin.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, by_size, by_size_or


@by_size
def scatter_by_cluster(
    score: NDArray[Any],
    residual: Floats,
    weight: Floats,
    cluster: Integers,
    first_key: Integers,
    table: NDArray[np.int32],
    low: int,
    shift: int,
    place: Integers,
    row_bin: NDArray[np.int32],
    row_residual: Floats,
    row_weight: Floats,
) -> None:
    """Find each row's bin and write the row where its cluster's next row belongs. Keys are bits of scores."""
    last = len(table) - 1
    value = np.empty(1, np.float64)
    bits = value.view(np.int64)
    for i in range(len(score)):
        value[0] = np.float64(score[i]) + 0.0
        key = bits[0]
        cell = (key >> shift) - low
        below = np.int64(table[min(cell, last)]) if cell >= 0 else 0
        above = np.int64(table[max(cell, -1) + 1]) if cell < last else len(first_key) - 1
        while below < above:  # the last bin whose first key is at most this key
            middle = (below + above + 1) >> 1
            if first_key[middle] <= key:
                below = middle
            else:
                above = middle - 1
        at = place[cluster[i]]
        place[cluster[i]] = at + 1
        row_bin[at] = below
        row_residual[at] = residual[i]
        if len(weight):
            row_weight[at] = weight[i]


@by_size
def write_cells(
    start: Integers,
    row_bin: NDArray[np.int32],
    row_residual: Floats,
    row_weight: Floats,
    group: NDArray[np.int32],
    cell_start: Integers,
    cell_bin: NDArray[np.int32],
    cell_residual: Floats,
    cell_weight: Floats,
) -> int:
    """Sum rows by cell (cluster, ``group[bin]``), ordered by cluster; return the number of cells.

    Without weights (an empty array) every row weighs one.
    """
    bins = group[-1] + 1
    seen = np.full(bins, -1, np.int64)
    place = np.empty(bins, np.int64)
    weighted = len(row_weight) > 0
    used = 0
    for c in range(len(start) - 1):
        cell_start[c] = used
        for i in range(start[c], start[c + 1]):
            b = group[row_bin[i]]
            if seen[b] != c:
                seen[b] = c
                place[b] = used
                cell_bin[used] = b
                cell_residual[used] = 0.0
                cell_weight[used] = 0.0
                used += 1
            at = place[b]
            cell_residual[at] += row_residual[i]
            cell_weight[at] += row_weight[i] if weighted else 1.0
    cell_start[len(start) - 1] = used
    return used


@by_size
def squares_by_bin(
    start: Integers,
    row_bin: NDArray[np.int32],
    weight: Floats,
    positives: Floats,
    frequency: Floats,
    mass: Floats,
    sums: Floats,
) -> None:
    """Add sums over clusters to ``sums`` (bins, 3): W^2, R^2 / (1 - W / mass) and the terms of that sum.

    W is a cluster's weight in a bin, R its weight of positives less W times the frequency. A cluster that has
    all of a bin's mass has no term.
    """
    seen = np.full(len(mass), -1, np.int64)
    place = np.empty(len(mass), np.int64)
    cell_bin = np.empty(len(mass), np.int64)
    total = np.empty(len(mass))
    residual = np.empty(len(mass))
    for c in range(len(start) - 1):
        used = 0
        for i in range(start[c], start[c + 1]):
            b = row_bin[i]
            if seen[b] != c:
                seen[b] = c
                place[b] = used
                cell_bin[used] = b
                total[used] = 0.0
                residual[used] = 0.0
                used += 1
            total[place[b]] += weight[i]
            residual[place[b]] += positives[i] - frequency[b] * weight[i]
        for k in range(used):
            b = cell_bin[k]
            sums[b, 0] += total[k] * total[k]
            rest = 1.0 - total[k] / mass[b]
            if rest > 1e-9:
                sums[b, 1] += residual[k] * residual[k] / rest
                sums[b, 2] += 1.0


@by_size
def power_sums(cell_bin: NDArray[np.int32], cell_residual: Floats, cell_weight: Floats, sums: Floats) -> None:
    """Add W^2, U^2, U^3, U^4 and U^6 of the cells to ``sums`` (bins, 5)."""
    for i in range(len(cell_bin)):
        b = cell_bin[i]
        u = cell_residual[i]
        square = u * u
        sums[b, 0] += cell_weight[i] * cell_weight[i]
        sums[b, 1] += square
        sums[b, 2] += square * u
        sums[b, 3] += square * square
        sums[b, 4] += square * square * square


@by_size
def grouped_power_sums(
    start: Integers,
    cell_bin: NDArray[np.int32],
    cell_residual: Floats,
    cell_weight: Floats,
    groups: NDArray[np.int32],
    sums: Floats,
) -> None:
    """Add W^2, U^2, U^3, U^4 and U^6 to ``sums`` (levels, bins, 5), for each row of ``groups``."""
    levels, bins = sums.shape[:2]
    residual = np.zeros(bins)
    weight = np.zeros(bins)
    for c in range(len(start) - 1):
        first, stop = start[c], start[c + 1]
        for level in range(levels):
            group = groups[level]
            for i in range(first, stop):
                b = group[cell_bin[i]]
                residual[b] += cell_residual[i]
                weight[b] += cell_weight[i]
            for i in range(first, stop):
                b = group[cell_bin[i]]
                if weight[b] != 0.0:  # else it is counted already
                    u = residual[b]
                    square = u * u
                    sums[level, b, 0] += weight[b] * weight[b]
                    sums[level, b, 1] += square
                    sums[level, b, 2] += square * u
                    sums[level, b, 3] += square * square
                    sums[level, b, 4] += square * square * square
                    residual[b] = 0.0
                    weight[b] = 0.0


@by_size
def contrast(
    start: Integers,
    cell_bin: NDArray[np.int32],
    cell_residual: Floats,
    cell_weight: Floats,
    of_residual: Floats,
    of_weight: Floats,
) -> tuple[float, float, float]:
    """Sums over clusters of X^2, X Y and Y^2, where X = sum_b a_b U_cb and Y = sum_b b_b W_cb."""
    xx = 0.0
    xy = 0.0
    yy = 0.0
    for c in range(len(start) - 1):
        x = 0.0
        y = 0.0
        for i in range(start[c], start[c + 1]):
            b = cell_bin[i]
            x += of_residual[b] * cell_residual[i]
            y += of_weight[b] * cell_weight[i]
        xx += x * x
        xy += x * y
        yy += y * y
    return xx, xy, yy


def products_in_arrays(
    start: Integers, cell_bin: NDArray[np.int32], cell_residual: Floats, product: Floats
) -> None:
    """Do what `products` does, to the same bit."""
    dense = np.zeros(len(product))
    for first, stop in pairwise(start.tolist()):
        b, u = cell_bin[first:stop], cell_residual[first:stop]
        dense[b] = u
        product[b] += u[:, np.newaxis] * dense
        dense[b] = 0.0


@by_size_or(products_in_arrays)
def products(start: Integers, cell_bin: NDArray[np.int32], cell_residual: Floats, product: Floats) -> None:
    """Add up U_b U_b' over clusters into ``product`` (bins, bins); the diagonal is U_b^2."""
    bins = len(product)
    dense = np.zeros(bins)
    for c in range(len(start) - 1):
        for i in range(start[c], start[c + 1]):
            dense[cell_bin[i]] = cell_residual[i]
        for i in range(start[c], start[c + 1]):
            b = cell_bin[i]
            u = cell_residual[i]
            for other in range(bins):
                product[b, other] += u * dense[other]
        for i in range(start[c], start[c + 1]):
            dense[cell_bin[i]] = 0.0


@by_size
def influence(
    start: Integers,
    cell_bin: NDArray[np.int32],
    cell_residual: Floats,
    cell_weight: Floats,
    factor: Floats,
    gap: Floats,
    centre: float,
) -> tuple[float, float]:
    """Sums over clusters: own cross products, and squared first-order influence.

    The first is sum_c [(sum_b f_b U_cb^2)^2 - sum_b (f_b U_cb^2)^2]; the second
    sum_c [sum_b 2 gap_b U_cb - (gap_b^2 + center) W_cb]^2.
    """
    own = 0.0
    total = 0.0
    for c in range(len(start) - 1):
        linear = 0.0
        squares = 0.0
        fourths = 0.0
        for i in range(start[c], start[c + 1]):
            b = cell_bin[i]
            u = cell_residual[i]
            linear += 2.0 * gap[b] * u - (gap[b] * gap[b] + centre) * cell_weight[i]
            term = factor[b] * u * u
            squares += term
            fourths += term * term
        own += squares * squares - fourths
        total += linear * linear
    return own, total


@by_size
def signed_sums(
    start: Integers, cell_bin: NDArray[np.int32], cell_residual: Floats, sign: Floats, residual: Floats
) -> None:
    """Sum the residuals by bin after multiplying each cluster's by its sign (or by any factor)."""
    residual[:] = 0.0
    for c in range(len(start) - 1):
        for i in range(start[c], start[c + 1]):
            residual[cell_bin[i]] += sign[c] * cell_residual[i]


@by_size
def resampled_sums(
    start: Integers,
    cell_bin: NDArray[np.int32],
    cell_residual: Floats,
    cell_weight: Floats,
    copies: Integers,
    sums: Floats,
) -> None:
    """Sums by bin of U, U^2, W and W^2, (4, bins), when cluster c counts ``copies[c]`` times."""
    sums[:] = 0.0
    for c in range(len(start) - 1):
        times = float(copies[c])
        if times > 0.0:
            for i in range(start[c], start[c + 1]):
                b = cell_bin[i]
                u = times * cell_residual[i]
                w = times * cell_weight[i]
                sums[0, b] += u
                sums[1, b] += u * u
                sums[2, b] += w
                sums[3, b] += w * w


@by_size
def leave_one_out(
    start: Integers,
    cell_bin: NDArray[np.int32],
    cell_residual: Floats,
    cell_weight: Floats,
    residual: Floats,
    weight: Floats,
    numerator: Floats,
    denominator: Floats,
    total: float,
    estimate: Floats,
) -> None:
    """Estimate without each cluster in turn: sum_b W_b N_b / D_b over sum_b W_b, bins fixed."""
    whole = 0.0
    for b in range(len(residual)):
        whole += weight[b] * numerator[b] / denominator[b]
    for c in range(len(start) - 1):
        value = whole
        left = total
        for i in range(start[c], start[c + 1]):
            b = cell_bin[i]
            u = cell_residual[i]
            w = cell_weight[i]
            left -= w
            value -= weight[b] * numerator[b] / denominator[b]
            rest = denominator[b] - 2.0 * w * (weight[b] - w)
            if rest > 1e-12 * denominator[b]:
                value += (weight[b] - w) * (numerator[b] - 2.0 * u * (residual[b] - u)) / rest
            else:  # one cluster is left in this bin: it says nothing alone
                left -= weight[b] - w
        estimate[c] = value / left if left > 0.0 else 0.0
