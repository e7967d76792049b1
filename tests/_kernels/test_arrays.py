"""A kernel and what NumPy computes in its place are the same to the last bit."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant._kernels import clusters, debiased, logistic, selection, smooth, tally
from calibrant.metrics.grid import scores_of

Floats = NDArray[np.float64]
SEEDS = range(20)


def pairs(seed: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Scores, some of them equal, some at the edges, and labels."""
    rng = np.random.default_rng(seed)
    q = rng.beta(0.3, 1.5, int(rng.integers(1, 6000)))
    q[rng.random(len(q)) < 0.2] = rng.choice([0.0, 5e-324, 1e-9, 0.25, 0.5, 1 - 2**-53, 1.0])
    return q.round(int(rng.integers(1, 4))) if seed % 3 == 0 else q, rng.random(len(q)) < q


def assert_same(one: Any, other: Any) -> None:
    """Compare bits, so that signs of zeros count."""
    np.testing.assert_array_equal(np.asarray(one).view(np.int64), np.asarray(other).view(np.int64))


@pytest.mark.parametrize("seed", SEEDS)
def test_log_likelihood(seed: int) -> None:
    q, y = pairs(seed)
    rng = np.random.default_rng(seed)
    inside = (q > 0) & (q < 1)
    x, weight = np.log(q[inside]), rng.gamma(0.5, 1, np.count_nonzero(inside))
    intercept, slope = rng.normal(size=2).tolist()
    sums = np.empty((2, 6))
    logistic.log_likelihood(x, weight, weight * y[inside], intercept, slope, sums[0])
    logistic.log_likelihood_in_arrays(x, weight, weight * y[inside], intercept, slope, sums[1])
    assert_same(*sums)


@pytest.mark.parametrize("seed", SEEDS)
def test_logistic_sums_by_cluster(seed: int) -> None:
    q, y = pairs(seed)
    rng = np.random.default_rng(seed)
    inside = (q > 0) & (q < 1)
    x, weight = np.log(q[inside]), rng.gamma(0.5, 1, np.count_nonzero(inside))
    cluster = rng.integers(0, 50, len(x))
    intercept, slope = rng.normal(size=2).tolist()
    sums = np.zeros((2, 50, 5))
    logistic.sums_by_cluster(x, weight, weight * y[inside], cluster, intercept, slope, sums[0])
    logistic.sums_by_cluster_in_arrays(x, weight, weight * y[inside], cluster, intercept, slope, sums[1])
    assert_same(*sums)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["float64", "float32"])
def test_keys_of_scores_and_scores_of_keys(seed: int, kind: str) -> None:
    q = pairs(seed)[0].astype(kind)
    buffers, keys = np.empty((2, len(q))), np.empty((2, len(q)), np.int64)
    selection.write_keys(q, buffers[0], keys[0])
    selection.write_keys_in_arrays(q, buffers[1], keys[1])
    assert_same(*buffers)
    assert_same(*keys)
    assert_same(scores_of(keys[0]), q.astype(np.float64))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("shared", [False, True])
def test_sums_over_runs(seed: int, shared: bool) -> None:
    q, _ = pairs(seed)
    rng = np.random.default_rng(seed)
    columns = rng.normal(0, 10.0 ** rng.integers(-9, 9, (3, len(q))))
    columns[:, rng.random(len(q)) < 0.1] = -0.0
    row = np.sort(rng.integers(0, len(q), len(q)))
    start = np.unique(np.append(0, rng.integers(0, len(q), int(rng.integers(0, 30)))))
    fraction = rng.random(len(row)) if shared else np.empty(0)
    sums = np.empty((2, 3, len(start)))
    tally.sum_runs(columns, start, row, fraction, sums[0])
    tally.sum_runs_in_arrays(columns, start, row, fraction, sums[1])
    assert_same(*sums)


@pytest.mark.parametrize("seed", SEEDS)
def test_bins_that_keep_ties_whole(seed: int) -> None:
    q, y = pairs(seed)
    rng = np.random.default_rng(seed)
    packed = np.sort(q.view(np.int64) * 2 + y)
    edge = np.sort(rng.random(int(rng.integers(0, 40)))).view(np.int64)
    size, least = int(rng.integers(2, 60)), int(rng.integers(1, 20))
    first, sums = np.empty((2, len(q) + len(edge) + 1), np.int64), np.empty((2, len(q) + len(edge) + 1, 5))
    used = debiased.sum_whole_ties(packed, size, least, edge, first[0], sums[0])
    assert debiased.sum_whole_ties_in_arrays(packed, size, least, edge, first[1], sums[1]) == used
    assert_same(*first[:, :used])
    assert_same(*sums[:, :used])


@pytest.mark.parametrize("seed", SEEDS)
def test_mean_absolute_values_and_sums_by_cluster(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0, 10.0 ** rng.integers(-9, 9, (5, int(rng.integers(2, 300)))))
    values[:, rng.random(values.shape[1]) < 0.2] = 0.0
    means = np.empty((2, 5))
    smooth.mean_absolute(values, means[0])
    smooth.mean_absolute_in_arrays(values, means[1])
    assert_same(*means)
    rows = int(rng.integers(1, 500))
    place, cluster, value = rng.integers(0, 9, rows), rng.integers(0, 50, rows), rng.normal(0, 1, rows)
    factor, sums = rng.integers(0, 3, (50, 40)).astype(np.float64), np.zeros((2, 9, 40))
    smooth.add_by_cluster(place, cluster, value, factor, sums[0])
    smooth.add_by_cluster_in_arrays(place, cluster, value, factor, sums[1])
    assert_same(*sums)


@pytest.mark.parametrize("seed", SEEDS)
def test_items_sorted_and_grouped_by_their_codes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 400))
    code, within = rng.integers(0, 30, n), rng.integers(0, 5, n)
    items = np.empty(0, np.int64)
    for each in (within, code):
        in_order = np.empty((2, n), np.int64)
        selection.counting_sort(each, items, in_order[0])
        selection.counting_sort_in_arrays(each, items, in_order[1])
        np.testing.assert_array_equal(*in_order)
        items = in_order[0]
    start = np.empty((2, n + 1), np.int64)
    groups = selection.group_starts(code, within, items, start[0])
    assert selection.group_starts_in_arrays(code, within, items, start[1]) == groups
    np.testing.assert_array_equal(*start[:, :groups])


@pytest.mark.parametrize("seed", SEEDS)
def test_products_of_the_cells_of_clusters(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = [np.sort(rng.permutation(12)[: rng.integers(0, 13)]) for _ in range(int(rng.integers(0, 50)))]
    start = np.cumsum([0, *map(len, cells)])
    cell_bin = np.concatenate([np.empty(0, np.int64), *cells]).astype(np.int32)
    residual, product = rng.normal(size=len(cell_bin)), np.zeros((2, 12, 12))
    clusters.products(start, cell_bin, residual, product[0])
    clusters.products_in_arrays(start, cell_bin, residual, product[1])
    assert_same(*product)


def cells(seed: int) -> tuple[NDArray[np.int64], NDArray[np.int32], Floats, Floats]:
    """Starts of clusters, and the bins, residuals and weights of their cells."""
    rng = np.random.default_rng(seed)
    held = [np.sort(rng.choice(12, rng.integers(0, 12), replace=False)) for _ in range(30)]
    start = np.cumsum([0, *map(len, held)])
    return (
        start,
        np.concatenate(held).astype(np.int32),
        rng.normal(size=start[-1]),
        rng.gamma(2, 1, start[-1]),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_power_sums_of_groups_are_those_of_each_cluster(seed: int) -> None:
    start, where, residual, weight = cells(seed)
    groups = np.stack([np.arange(12) // width for width in (1, 3, 5)]).astype(np.int32)
    sums = np.zeros((3, 12, 5))
    clusters.grouped_power_sums(start, where, residual, weight, groups, sums)
    expected = np.zeros((3, 12, 5))
    for first, stop in pairwise(start.tolist()):
        for level, group in enumerate(groups):
            of_group = group[where[first:stop]]
            u = np.bincount(of_group, residual[first:stop], 12)
            w = np.bincount(of_group, weight[first:stop], 12)
            expected[level] += np.stack([w**2, u**2, u**3, u**4, u**6], axis=1)
    np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_sums_of_a_contrast_are_those_of_each_cluster(seed: int) -> None:
    start, where, residual, weight = cells(seed)
    a, b = np.random.default_rng(seed + 100).normal(size=(2, 12))
    spans = list(pairwise(start.tolist()))
    x = np.array([a[where[i:j]] @ residual[i:j] for i, j in spans])
    y = np.array([b[where[i:j]] @ weight[i:j] for i, j in spans])
    sums = clusters.contrast(start, where, residual, weight, a, b)
    np.testing.assert_allclose(sums, [x @ x, x @ y, y @ y], rtol=1e-12)
