"""Loops of the smooth error and of resampling by cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, by_size, by_size_or


def mean_absolute_in_arrays(values: Floats, mean: Floats) -> None:
    """Do what `mean_absolute` does, to the same bit."""
    left, right = values[:, :-1], values[:, 1:]
    area = np.abs(left) + np.abs(right)
    np.divide(left * left + right * right, area, out=area, where=left * right < 0.0)
    mean[:] = np.add.accumulate(area, axis=1)[:, -1] / (2 * area.shape[1])


@by_size_or(mean_absolute_in_arrays)
def mean_absolute(values: Floats, mean: Floats) -> None:
    """Integral over [0, 1] of the absolute value of each row, taken as linear between equal steps."""
    rows, nodes = values.shape
    for row in range(rows):
        total = 0.0
        left = values[row, 0]
        for node in range(1, nodes):
            right = values[row, node]
            area = abs(left) + abs(right)
            if left * right < 0.0:  # two triangles instead of a trapezoid
                area = (left * left + right * right) / area
            total += area
            left = right
        mean[row] = total / (2 * (nodes - 1))


@by_size
def put_residuals(
    score: NDArray[Any], label: NDArray[np.bool_], weight: Floats, nodes: Floats
) -> tuple[float, float]:
    """Share each pair's w (y - q) between the two nodes around its score; return the sums of w and w |y - q|.

    An empty ``weight`` counts every pair once.
    """
    count = len(nodes) - 1
    weighted = len(weight) > 0
    total = 0.0
    absolute = 0.0
    for i in range(len(score)):
        position = np.float64(score[i]) * count
        node = min(int(position), count - 1)
        residual = (1.0 if label[i] else 0.0) - np.float64(score[i])
        w = weight[i] if weighted else 1.0
        right = w * residual * (position - node)
        nodes[node] += w * residual - right
        nodes[node + 1] += right
        total += w
        absolute += w * abs(residual)
    return total, absolute


def add_by_cluster_in_arrays(
    place: Integers, cluster: Integers, value: Floats, factor: Floats, sums: Floats
) -> None:
    """Do what `add_by_cluster` does, to the same bit."""
    for row, at, x in zip(cluster.tolist(), place.tolist(), value.tolist(), strict=True):
        sums[at] += x * factor[row]


@by_size_or(add_by_cluster_in_arrays)
def add_by_cluster(place: Integers, cluster: Integers, value: Floats, factor: Floats, sums: Floats) -> None:
    """Add every value times its cluster's factors to the sums of its place.

    ``factor`` is (clusters, times) and ``sums`` (places, times): one column a resample.
    """
    times = sums.shape[1]
    for i in range(len(value)):
        row, at, x = cluster[i], place[i], value[i]
        for time in range(times):
            sums[at, time] += x * factor[row, time]
