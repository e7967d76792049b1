from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.compare import by_item, calibration_difference, error_difference
from calibrant.metrics.debiased import debiased_squared_error
from calibrant.metrics.intervals import without_each
from calibrant.metrics.residuals import residuals
from calibrant.synthetic import BetaScores, LogitSlope, draw_uniforms, squared_error
from tests.quantities import defined, limits


def two_models(
    n: int, rng: np.random.Generator, slopes: tuple[float, float], *, clustered: bool = False
) -> tuple[Pairs, Pairs]:
    uniform, threshold, cluster = draw_uniforms(
        n, 20 if clustered else 1, rng, label_correlation=0.3, score_correlation=0.5
    )
    p = BetaScores(1, 1)(uniform)
    first, second = (pairs(threshold < p, LogitSlope(slope)(p), clusters=cluster) for slope in slopes)
    return first, second


def true_error(slope: float) -> float:
    p = (np.arange(200_000) + 0.5) / 200_000
    return float(np.mean((LogitSlope(slope)(p) - p) ** 2))


def test_the_estimates_are_the_debiased_errors() -> None:
    first, second = two_models(1000, np.random.default_rng(0), (0.6, 1.0))
    found = error_difference(first, second)
    assert found.mse_first == pytest.approx(debiased_squared_error(first.label, first.score))
    assert found.mse_second == pytest.approx(debiased_squared_error(second.label, second.score))


def test_exchanging_the_models_changes_the_sign() -> None:
    first, second = two_models(2000, np.random.default_rng(1), (0.6, 0.8))
    one, other = error_difference(first, second), error_difference(second, first)
    assert defined(one.mse_difference.low) == pytest.approx(-(other.mse_difference.high or 0.0))
    assert defined(one.rms_difference.low) == pytest.approx(-(other.rms_difference.high or 0.0))
    assert one.p_value == pytest.approx(other.p_value)


def test_leaving_one_cluster_out_is_the_estimate_of_the_rest() -> None:
    rng = np.random.default_rng(2)
    q = np.round(rng.random(300), 1)
    y = rng.random(300) < q
    cluster = rng.integers(30, size=300)
    table = residuals(pairs(y, q, clusters=cluster), 20)
    left_out = without_each(table)
    table_size = len(table.n)
    for c in (0, 7, 29):
        keep = cluster != c
        rest = residuals(pairs(y[keep], q[keep], clusters=cluster[keep]), 15)
        if len(rest.n) == table_size:
            expected = debiased_squared_error(y[keep], q[keep], clusters=cluster[keep], bin_size=15)
            assert left_out[c] == pytest.approx(expected, rel=1e-9)


def test_items_are_their_own_clusters_where_none_are_named() -> None:
    first, _ = two_models(100, np.random.default_rng(3), (1.0, 1.0))
    assert by_item(first).cluster_count == 100


@pytest.mark.slow
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("slopes", [(0.6, 0.8), (1.0, 1.0), (0.7, 1 / 0.7)])
def test_the_interval_of_the_difference_covers(slopes: tuple[float, float], clustered: bool) -> None:
    rng = np.random.default_rng(4)
    truth = true_error(slopes[0]) - true_error(slopes[1])
    hits = 0
    for _ in range(100):
        first, second = two_models(1500, rng, slopes, clustered=clustered)
        found = error_difference(first, second)
        hits += defined(found.mse_difference.low) <= truth <= defined(found.mse_difference.high)
    assert hits >= 88


@pytest.mark.slow
def test_the_interval_of_the_difference_covers_where_a_fifth_of_the_items_have_most_labels() -> None:
    """The error of an item with many labels outweighs their noise, and random signs must not count it."""
    rng = np.random.default_rng(0)
    truth = squared_error(BetaScores(0.5, 0.5), LogitSlope(2.0))
    cluster = np.concatenate([np.arange(400), np.repeat(np.arange(400, 500), 100)])
    covered = 0
    for _ in range(200):
        p = rng.beta(0.5, 0.5, 500)
        labels = rng.random(len(cluster)) < p[cluster]
        both = (pairs(labels, scores[cluster], clusters=cluster) for scores in (LogitSlope(2.0)(p), p))
        found = error_difference(*both).mse_difference
        covered += defined(found.low) <= truth <= defined(found.high)
    assert covered > 0.89 * 200


def test_the_statement_on_root_errors_is_conservative() -> None:
    rng = np.random.default_rng(5)
    truth = true_error(0.6) ** 0.5 - true_error(0.8) ** 0.5
    ratio = (true_error(0.8) / true_error(0.6)) ** 0.5 - 1
    for _ in range(40):
        found = error_difference(*two_models(3000, rng, (0.6, 0.8)))
        assert (
            defined(found.rms_difference.low) - 0.005 <= truth <= defined(found.rms_difference.high) + 0.005
        )
        assert (
            defined(found.relative_change.low) - 0.05 <= ratio <= defined(found.relative_change.high) + 0.05
        )


def test_pairing_makes_the_interval_of_similar_models_narrow() -> None:
    first, second = two_models(5000, np.random.default_rng(6), (0.6, 0.62))
    found = error_difference(first, second)
    shuffled = np.random.default_rng(0).permutation(5000)
    apart = Pairs(second.score[shuffled], second.outcome[shuffled])
    unpaired = error_difference(first, apart)
    assert _width(found) < 0.3 * _width(unpaired)


def _width(found: Any) -> float:
    return float(found.mse_difference.high - found.mse_difference.low)


def test_a_model_compared_with_itself_does_not_differ() -> None:
    first, _ = two_models(500, np.random.default_rng(7), (0.6, 0.6))
    found = error_difference(first, first)
    assert (found.mse_difference.low, found.mse_difference.high, found.p_value) == (0.0, 0.0, None)
    assert "do not differ" in (found.reason or "")


@pytest.mark.parametrize("clusters", [None, np.arange(40) // 2])
def test_models_that_differ_by_a_constant_have_no_interval_of_width_0(clusters: Any) -> None:
    found = calibration_difference(np.ones(40), np.full(40, 0.8), np.full(40, 0.7), clusters=clusters)
    unit = "item" if clusters is None else "cluster"
    assert found.mse_difference.estimate == pytest.approx(0.2**2 - 0.3**2)
    assert (found.mse_difference.low, found.p_value) == (None, None)
    assert found.reason == found.mse_difference.reason == f"all {unit}s have the same difference"
    low, _, high = limits(found.rms_difference)
    assert low < -0.1 < high


def test_a_first_error_that_may_be_zero_has_no_relative_change() -> None:
    found = error_difference(*two_models(500, np.random.default_rng(8), (1.0, 0.5)))
    assert (found.relative_change.estimate, found.relative_change.low) == (None, None)
    assert "reaches 0" in (found.relative_change.reason or "")
    assert found.to_json()


def test_labels_may_depend_on_the_model() -> None:
    rng = np.random.default_rng(9)
    q: NDArray[np.float64] = rng.random(1000)
    found = error_difference(pairs(rng.random(1000) < q, q), pairs(rng.random(1000) < q, q))
    assert found.p_value is not None


def test_a_weight_counts_as_so_many_clusters_of_one_item() -> None:
    rng = np.random.default_rng(4)
    q, other, y = rng.random(200), rng.random(200), rng.random(200) < 0.5
    weight = rng.integers(0, 3, 200)
    weighted = calibration_difference(y, q, other, sample_weight=weight).brier_difference
    repeated = np.repeat(np.arange(200), weight)
    chosen = (each[repeated] for each in (y, q, other))
    plain = calibration_difference(*chosen, clusters=repeated).brier_difference
    assert weighted is not None
    assert plain is not None
    assert weighted.estimate == pytest.approx(plain.estimate, rel=1e-12)
    assert (weighted.low, weighted.high) == pytest.approx((plain.low, plain.high), rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("unequal", [False, True])
@pytest.mark.parametrize(("n", "mean", "clusters"), [(60, 0.0, 0), (1000, -5.0, 0), (600, 0.0, 12)])
def test_the_interval_of_brier_scores_covers(n: int, mean: float, clusters: int, unequal: bool) -> None:
    """With unequal clusters, the largest has a fifth of the items; unequal weights vary tenfold."""
    rng = np.random.default_rng(0)

    def draw(n: int, clusters: int) -> tuple[Pairs, Pairs]:
        place = np.arange(n) / n
        cluster = (clusters * (place**1.5 if unequal else place)).astype(int) if clusters else None
        weight = rng.lognormal(0, 0.7, n) if unequal else None
        z = rng.normal(mean, 2 if mean == 0 else 1.5, n)
        if cluster is not None:
            z += rng.normal(0, 0.8, clusters)[cluster]
        first, second, p = (1 / (1 + np.exp(-slope * z)) for slope in (1.6, 0.8, 1.0))
        y = rng.random(n) < p
        given: dict[str, Any] = {"sample_weight": weight, "clusters": cluster}
        return pairs(y, first, **given), pairs(y, second, **given)

    first, second = draw(400_000, 8_000 if clusters else 0)
    truth = float(np.mean((first.label - first.score) ** 2 - (second.label - second.score) ** 2))
    covered = 0
    for _ in range(600):
        found = error_difference(*draw(n, clusters)).brier_difference
        assert found is not None
        covered += defined(found.low) <= truth <= defined(found.high)
    assert covered / 600 > 0.93


def test_equal_models_have_no_interval_of_brier_scores_but_a_reason() -> None:
    found = calibration_difference([0, 1, 1, 0], [0.2, 0.7, 0.9, 0.4], [0.2, 0.7, 0.9, 0.4]).brier_difference
    assert found is not None
    assert (found.estimate, found.low) == (0.0, None)
    assert found.reason == "all items have the same difference"


def test_few_clusters_with_events_have_a_warning() -> None:
    cluster, label, score = np.repeat(np.arange(60), 20), np.zeros((60, 20)), np.tile([0.05, 0.2], 600)
    label[:, :2] = 1
    spread = calibration_difference(label.ravel(), score, score / 2, clusters=cluster)
    assert spread.few_positives_warning is None
    label[:], label[:6] = 0, 1  # as many
    concentrated = calibration_difference(label.ravel(), score, score / 2, clusters=cluster)
    assert str(concentrated.few_positives_warning).startswith(
        "the positives count as those of 6.0 equal clus"
    )


def test_one_cluster_has_no_difference_but_a_reason() -> None:
    found = calibration_difference([0, 1], [0.1, 0.9], [0.2, 0.8], clusters=["a", "a"])
    assert found.mse_difference.estimate is None
    assert "two clusters" in (found.mse_difference.reason or "")


def test_other_items_are_refused() -> None:
    with pytest.raises(InputError, match="same items"):
        error_difference(pairs([0, 1], [0.1, 0.9]), pairs([1], [0.9]))
    with pytest.raises(InputError, match="clusters differ"):
        error_difference(pairs([0, 1], [0.1, 0.9], clusters=[0, 1]), pairs([0, 1], [0.1, 0.9]))


def test_equal_seeds_give_equal_results() -> None:
    first, second = two_models(500, np.random.default_rng(10), (0.6, 0.9))
    assert error_difference(first, second, seed=3) == error_difference(first, second, seed=3)


@pytest.mark.parametrize("clustered", [False, True])
def test_the_p_value_does_not_depend_on_the_order_of_rows(clustered: bool) -> None:
    rng = np.random.default_rng(0)
    q = rng.random(300)
    y, p = rng.random(300) < q, np.round(np.clip(q + rng.normal(0, 0.07, 300), 0, 1), 2)
    cluster = rng.integers(0, 50, 300) if clustered else None
    found = calibration_difference(y, p, q, clusters=cluster)
    for _ in range(3):
        order = rng.permutation(300)
        moved = None if cluster is None else cluster[order]
        other = calibration_difference(y[order], p[order], q[order], clusters=moved)
        assert other.p_value == pytest.approx(found.p_value, rel=1e-6)


@pytest.mark.parametrize("each", [3, 100])
def test_two_clusters_have_no_difference_of_calibration_errors_but_a_reason(each: int) -> None:
    # Without one of two, nothing is left: the standard error was the rounding of zeros, and p 1e-15.
    rng, n = np.random.default_rng(0), 2 * each
    found = calibration_difference(
        rng.random(n) < 0.5, rng.random(n), rng.random(n), clusters=np.arange(n) % 2
    )
    assert (found.mse_difference.estimate, found.p_value) == (None, None)
    assert "3 clusters or more" in str(found.mse_difference.reason)
