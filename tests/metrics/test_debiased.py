from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.binning import adaptive, uniform_bins
from calibrant.metrics.debiased import (
    debiased_squared_error,
    kumar_debiased_squared_error,
)
from calibrant.metrics.intervals import calibration_error
from calibrant.metrics.moments import moments
from calibrant.metrics.residuals import EDGES, residuals
from calibrant.metrics.tally import Tally
from tests.quantities import defined

Floats = NDArray[np.float64]


def sample(n: int, seed: int = 0, *, clusters: int = 0, weights: bool = False, ties: bool = False) -> Pairs:
    rng = np.random.default_rng(seed)
    q = rng.beta(0.6, 1.2, n)
    if ties:
        q = np.round(q, 1)
    y = rng.random(n) < np.clip(q + 0.1, 0, 1)
    return pairs(
        y,
        q,
        sample_weight=rng.choice([0.5, 1.0, 3.0], n) if weights else None,
        clusters=rng.integers(clusters, size=n) if clusters else None,
    )


def whole_tie_bins(source: Pairs, size: int) -> list[list[int]]:
    """Bins by the definition.

    Close one at ``size`` pairs, or at 4 where a section of the score ends, never inside a tie; then join
    neighbors until each has 4 clusters, or 4 effective pairs.
    """
    score = source.score
    section = np.searchsorted(EDGES, score, side="right")
    order = np.argsort(score, kind="stable")
    bins: list[list[int]] = [[]]
    for i, j in zip(order, [*order[1:], None], strict=True):
        bins[-1].append(int(i))
        if j is not None and score[j] != score[i]:
            enough = size if section[j] == section[bins[-1][0]] else 4
            if len(bins[-1]) >= enough:
                bins.append([])
    return _joined(_joined(bins, lambda rows: len(rows) >= 4), lambda rows: _units(source, rows) >= 4)


def _joined(bins: list[list[int]], enough: Callable[[list[int]], bool]) -> list[list[int]]:
    found: list[list[int]] = [[]]
    for rows in bins:
        if found[-1] and enough(found[-1]):
            found.append([])
        found[-1] = found[-1] + rows
    if len(found) > 1 and not enough(found[-1]):
        last = found.pop()
        found[-1] = found[-1] + last
    return found


def _units(source: Pairs, rows: list[int]) -> float:
    if source.cluster is not None:
        return len(np.unique(source.cluster[rows]))
    weight = np.ones(len(rows)) if source.weight is None else source.weight[rows]
    return float(weight.sum() ** 2 / np.sum(weight**2))


def coefficient_matrix(source: Pairs, size: int) -> tuple[Floats, float, float]:
    """A with T = sum of A: the definition over all pairs of pairs; T; and T's null variance 2 sum A_cd^2."""
    n = len(source)
    weight = np.ones(n) if source.weight is None else source.weight
    cluster = np.arange(n) if source.cluster is None else source.cluster
    residual = source.label - source.score
    matrix = np.zeros((n, n))
    for members in whole_tie_bins(source, size):
        apart = cluster[members][:, None] != cluster[members][None, :]
        products = np.outer(weight[members], weight[members]) * apart
        share = weight[members].sum() / weight.sum()
        matrix[np.ix_(members, members)] = (
            share * products * np.outer(residual[members], residual[members]) / products.sum()
        )
    codes = np.unique(cluster, return_inverse=True)[1]
    one_hot = np.eye(codes.max() + 1)[codes]
    by_cluster = one_hot.T @ matrix @ one_hot
    return matrix, float(matrix.sum()), float(2 * (by_cluster**2).sum())


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("clusters", [0, 25])
def test_the_estimate_is_the_mean_over_pairs_of_different_clusters(
    ties: bool, weights: bool, clusters: int
) -> None:
    source = sample(150, clusters=clusters, weights=weights, ties=ties)
    _, expected, _ = coefficient_matrix(source, 20)
    assert debiased_squared_error(source, bin_size=20) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("clusters", [0, 25])
def test_an_exact_tally_gives_the_estimate_of_the_pairs(clusters: int) -> None:
    source = sample(300, clusters=clusters, ties=True)
    tally = Tally.from_pairs(source, exact=True)
    expected = debiased_squared_error(source, bin_size=20)
    assert debiased_squared_error(tally, bin_size=20) == pytest.approx(expected, rel=1e-10)


def test_given_bins_are_kept_as_they_are() -> None:
    source = sample(300)
    bins = adaptive(source, size=20)
    residual, n = bins.positives - bins.sum_score, bins.n
    squares = bins.positives - 2 * bins.sum_score_positive + bins.sum_score2
    expected = float(np.sum((residual**2 - squares) / (n - 1))) / 300
    assert debiased_squared_error(bins) == pytest.approx(expected, rel=1e-10)


def test_the_null_variance_of_independent_pairs_is_that_of_the_quadratic_form_closely() -> None:
    source = sample(200, ties=True)
    found = defined(moments(residuals(source, 20)))
    assert found.null_variance == pytest.approx(coefficient_matrix(source, 20)[2], rel=5e-3)


def test_the_null_variance_of_clusters_adds_what_they_share_between_bins() -> None:
    rng = np.random.default_rng(3)
    n, clusters = 2000, 100
    cluster = np.repeat(np.arange(clusters), n // clusters)
    q = rng.random(n)
    shared = np.where(rng.random(n) < 0.8, rng.random(clusters)[cluster], rng.random(n))
    source = pairs(shared < q, q, clusters=cluster)
    exact = coefficient_matrix(source, 20)[2]
    table = residuals(source, 20)
    found = moments(table)
    same_bin = 2 * float(np.sum(table.factor**2 * (table.unit[1] ** 2 - table.unit[3])))
    assert same_bin < 0.8 * exact
    assert defined(found).null_variance == pytest.approx(exact, rel=0.15)


def test_the_null_skewness_is_that_of_flipped_signs() -> None:
    rng = np.random.default_rng(5)
    q = rng.uniform(0.35, 0.65, 600)
    source = pairs(rng.random(600) < q, q)
    matrix, _, variance = coefficient_matrix(source, 20)
    signs = rng.choice([-1.0, 1.0], (20_000, 600))
    draws = np.einsum("si,ij,sj->s", signs, matrix, signs, optimize=True)
    found = defined(moments(residuals(source, 20)))
    assert found.null_skewness == pytest.approx(float(np.mean(draws**3)) / variance**1.5, rel=0.15)


def test_the_slope_is_the_first_order_variance_over_theta() -> None:
    rng = np.random.default_rng(1)
    q = rng.uniform(0.2, 0.7, 400_000)
    found = defined(moments(residuals(pairs(rng.random(len(q)) < q + 0.1, q))))
    p = q + 0.1
    assert found.slope * len(q) == pytest.approx(4 * np.mean(p * (1 - p)), rel=0.02)


def test_a_calibrated_model_gets_zero_on_average() -> None:
    rng = np.random.default_rng(2)
    values = []
    for _ in range(300):
        q = rng.beta(0.3, 0.6, 1000)
        values.append(debiased_squared_error(rng.random(1000) < q, q))
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(300)


def test_the_order_of_the_pairs_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    q = np.round(rng.random(500), 2)
    y = rng.random(500) < q
    cluster = rng.integers(40, size=500)
    order = rng.permutation(500)
    assert debiased_squared_error(y, q, clusters=cluster) == pytest.approx(
        debiased_squared_error(y[order], q[order], clusters=cluster[order]), rel=1e-12
    )


def test_float32_scores_are_widened_exactly() -> None:
    source = sample(300)
    narrow = source.score.astype(np.float32)
    assert debiased_squared_error(source.label, narrow) == debiased_squared_error(
        source.label, narrow.astype(np.float64)
    )


def test_negative_zero_is_zero() -> None:
    y = [0, 0, 1, 0] * 10
    assert debiased_squared_error(y, [0.0, -0.0] * 20) == debiased_squared_error(y, [0.0] * 40)


@pytest.mark.parametrize(
    "more", [{"sample_weight": np.full(400, 2.5)}, {"clusters": np.arange(400)}], ids=list
)
def test_equal_weights_and_clusters_of_one_pair_change_nothing(more: dict[str, Any]) -> None:
    source = sample(400)
    expected = debiased_squared_error(source.label, source.score)
    assert debiased_squared_error(source.label, source.score, **more) == pytest.approx(expected, rel=1e-12)


def test_a_bin_of_one_cluster_joins_its_neighbour() -> None:
    q = np.repeat([0.2, 0.4, 0.6, 0.8], 20)
    y = np.tile([0, 1], 40)
    cluster = np.repeat([0, 1, 1, 2], 20)
    value = debiased_squared_error(y, q, clusters=cluster, bin_size=20)
    assert np.isfinite(value)


def test_one_cluster_alone_is_refused() -> None:
    with pytest.raises(InputError, match="two clusters"):
        debiased_squared_error([0, 1, 1], [0.1, 0.2, 0.9], clusters=["a", "a", "a"])


def test_a_single_pair_is_refused() -> None:
    with pytest.raises(InputError, match="two clusters"):
        debiased_squared_error([1], [0.9])


def test_a_bin_size_below_1_is_refused() -> None:
    with pytest.raises(InputError, match="bin_size"):
        debiased_squared_error([0, 1], [0.1, 0.9], bin_size=0)


def test_the_root_cuts_at_zero() -> None:
    assert debiased_squared_error([0, 1] * 30, [0.5] * 60) < 0
    assert calibration_error([0, 1] * 30, [0.5] * 60).estimate == 0.0


def test_scores_of_98_percent_tiny_values_are_binned_whole() -> None:
    q = np.concatenate([np.full(980, 1e-6), np.linspace(0.01, 0.99, 20)])
    table = residuals(pairs(np.arange(1000) >= 990, q))
    assert table.n[0] == 980.0
    assert table.n[1:].sum() == 20.0


def test_kumar_subtracts_the_variance_of_the_frequency() -> None:
    y, q = [1, 1, 1, 0] * 10, [0.3] * 40
    expected = 0.45**2 - 0.75 * 0.25 / 39
    assert kumar_debiased_squared_error(y, q) == pytest.approx(expected, rel=1e-12)


def test_kumar_and_the_default_agree_where_a_bin_holds_one_score() -> None:
    source = sample(500, ties=True)
    bins = adaptive(source, size=20, ties="whole")
    one_score = uniform_bins([0, 1, 1, 0, 1, 1], [0.2] * 3 + [0.7] * 3, n_bins=2)
    assert kumar_debiased_squared_error(one_score) == pytest.approx(debiased_squared_error(one_score))
    assert kumar_debiased_squared_error(bins) == pytest.approx(debiased_squared_error(bins), abs=1e-3)


def test_kumar_refuses_bins_of_one_pair() -> None:
    with pytest.raises(InputError, match="single pair"):
        kumar_debiased_squared_error(uniform_bins([0, 1], [0.2, 0.7], n_bins=2))


def test_sections_are_alike_at_both_ends_and_at_most_a_tenth_of_the_arcsine_root_wide() -> None:
    assert np.abs(EDGES - (1 - EDGES[::-1])).max() < 1e-15
    assert np.diff(np.arcsin(np.sqrt([0, *EDGES, 1]))).max() < 0.1
