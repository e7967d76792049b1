from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logit

from calibrant import measure
from calibrant.exceptions import InputError
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.logistic import (
    FLAT,
    calibration_in_the_large,
    cox_calibration,
)
from calibrant.metrics.tails import quantile, wilson
from calibrant.metrics.tally import Tally
from tests.quantities import defined

Floats = NDArray[np.float64]


def sample(n: int, seed: int = 0, *, weights: bool = False, clusters: int = 0) -> Pairs:
    """Labels whose logit is 0.3 + 0.7 logit(q)."""
    rng = np.random.default_rng(seed)
    q = rng.beta(0.8, 1.5, n).clip(1e-6, 1 - 1e-6)
    return pairs(
        rng.random(n) < expit(0.3 + 0.7 * logit(q)),
        q,
        sample_weight=rng.exponential(size=n) if weights else None,
        clusters=rng.integers(clusters, size=n) if clusters else None,
    )


def reference(source: Pairs, design: Floats, offset: Floats) -> tuple[Floats, Floats]:
    """Return estimates by a general optimizer, and the sandwich covariance by its definition.

    Without clusters no variance is below the model's; with clusters influences are those of a jackknife.
    """
    y = source.label.astype(float)
    w = np.ones(len(y)) if source.weight is None else source.weight

    def loss(beta: Floats) -> float:
        eta = design @ beta + offset
        return float(np.sum(w * (np.logaddexp(0, eta) - y * eta)))

    beta = minimize(loss, np.zeros(design.shape[1]), method="BFGS", options={"gtol": 1e-9}).x
    p = expit(design @ beta + offset)
    bread = np.linalg.inv((design * (w * p * (1 - p))[:, None]).T @ design)
    each = design * (w * (y - p))[:, None]
    if source.cluster is None:
        robust = bread @ each.T @ each @ bread
        model = bread @ (design * (w**2 * p * (1 - p))[:, None]).T @ design @ bread
        wider = np.diag(np.sqrt(np.maximum(1, np.diag(model) / np.diag(robust))))
        return beta, wider @ robust @ wider
    covariance = np.zeros((len(beta), len(beta)))
    for cluster in range(source.cluster_count):
        own = source.cluster == cluster
        information = (design[own] * (w * p * (1 - p))[own, None]).T @ design[own]
        share = np.diag(bread @ information @ bread) / np.diag(bread)
        influence = bread @ each[own].sum(axis=0) / (1 - share)
        covariance += np.outer(influence, influence)
    return beta, covariance * (source.cluster_count - 1) / source.cluster_count


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("clusters", [0, 40])
def test_intercept_and_slope_are_those_of_a_logistic_regression(weights: bool, clusters: int) -> None:
    source = sample(800, weights=weights, clusters=clusters)
    design = np.stack([np.ones(800), logit(source.score)], axis=1)
    beta, covariance = reference(source, design, np.zeros(800))
    record = cox_calibration(source)
    assert record.intercept.estimate == pytest.approx(beta[0], abs=1e-5)
    assert record.slope.estimate == pytest.approx(beta[1], abs=1e-5)
    assert record.intercept.standard_error == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-4)
    assert record.slope.standard_error == pytest.approx(np.sqrt(covariance[1, 1]), rel=1e-4)
    assert record.covariance == pytest.approx(covariance[0, 1], rel=1e-3)
    assert record.clusters == (clusters or None)


def test_estimates_solve_the_score_equations_where_nearly_all_scores_are_tiny() -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(-9, 4, 20_000).clip(-60, 30)
    source = pairs(rng.random(len(x)) < expit(0.5 + 0.8 * x), expit(x))
    found = cox_calibration(source)
    x = logit(source.score)
    residual = source.label - expit(defined(found.intercept.estimate) + defined(found.slope.estimate) * x)
    assert residual.sum() == pytest.approx(0, abs=1e-9)
    assert (residual * x).sum() == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("clusters", [0, 40])
def test_the_intercept_in_the_large_is_that_of_a_logistic_regression_with_slope_one(
    weights: bool, clusters: int
) -> None:
    source = sample(800, weights=weights, clusters=clusters)
    beta, covariance = reference(source, np.ones((800, 1)), logit(source.score))
    record = calibration_in_the_large(source)
    assert record.intercept.estimate == pytest.approx(beta[0], abs=1e-5)
    assert record.intercept.standard_error == pytest.approx(np.sqrt(covariance[0, 0]), rel=1e-4)
    w = np.ones(800) if source.weight is None else source.weight
    error = source.score - source.label
    assert record.mean_error.estimate == pytest.approx(np.average(error, weights=w), abs=1e-14)
    assert record.mean_score - record.base_rate == pytest.approx(record.mean_error.estimate, abs=1e-14)


def test_the_standard_error_of_the_mean_error_is_that_of_a_mean() -> None:
    source = sample(500)
    residual = source.label - source.score
    record = calibration_in_the_large(source)
    assert record.mean_error.standard_error == pytest.approx(residual.std(ddof=1) / np.sqrt(500), rel=1e-12)


def test_intervals_cover_where_positives_are_few() -> None:
    rng = np.random.default_rng(1)
    hits: dict[str, list[bool]] = {"slope": [], "intercept": [], "mean error": []}
    for _ in range(500):
        x = rng.normal(-4, 1.5, 100)
        y, q = rng.random(100) < expit(x), expit(x)
        cox, large = cox_calibration(y, q), calibration_in_the_large(y, q)
        found = {"slope": cox.slope, "intercept": cox.intercept, "mean error": large.mean_error}
        for (name, estimate), truth in zip(found.items(), (1.0, 0.0, 0.0), strict=True):
            if estimate.low is not None:
                hits[name].append(estimate.low <= truth <= defined(estimate.high))
    assert all(len(each) > 450 and np.mean(each) > 0.94 for each in hits.values())


def test_positives_of_few_clusters_give_a_warning() -> None:
    rng = np.random.default_rng(2)
    q = expit(rng.normal(-3, 1.5, 1000))
    cluster = np.repeat(np.arange(100), 10)
    shared = rng.random(100)[cluster] < q
    independent = rng.random(1000) < q
    for y, some in ((shared, True), (independent, False)):
        cox, large = cox_calibration(y, q, clusters=cluster), calibration_in_the_large(y, q, clusters=cluster)
        for found in (cox.slope, cox.intercept, large.mean_error, large.intercept):
            assert (found.warning is not None) == some
    number = np.bincount(cluster, shared).sum() ** 2 / (np.bincount(cluster, shared) ** 2).sum()
    warning = defined(cox_calibration(shared, q, clusters=cluster).slope.warning)
    assert warning.startswith(f"the positives count as those of {number:.1f} equal clusters")
    assert cox_calibration(shared, q).slope.warning is None


def test_intervals_cover_clustered_estimates() -> None:
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(50), 10)
    hits = {"mean error": 0, "slope": 0}
    for _ in range(400):
        q = rng.beta(2, 2, 500)
        shared = np.where(rng.random(50) < 0.5, 1, 0)[cluster] == 1
        uniform = np.where(shared, rng.random(50)[cluster], rng.random(500))
        y = uniform < q
        large = calibration_in_the_large(y, q, clusters=cluster).mean_error
        slope = cox_calibration(y, q, clusters=cluster).slope
        for name, estimate, truth in (("mean error", large, 0.0), ("slope", slope, 1.0)):
            hits[name] += defined(estimate.low) <= truth <= defined(estimate.high)
    assert all(0.91 < hit / 400 < 0.985 for hit in hits.values())


@pytest.mark.parametrize("clusters", [0, 30])
def test_a_compressed_tally_gives_the_same_estimates(clusters: int) -> None:
    source = sample(20_000, clusters=clusters)
    exact, compressed = (
        cox_calibration(Tally.from_pairs(source, exact=exact)).to_dict() for exact in (True, False)
    )
    for name in ("intercept", "slope"):
        assert compressed[name]["estimate"] == pytest.approx(exact[name]["estimate"], abs=1e-5)
        assert compressed[name]["standard_error"] == pytest.approx(exact[name]["standard_error"], rel=1e-4)


@pytest.mark.parametrize("weights", [False, True])
def test_pairs_with_clusters_give_the_estimates_of_their_exact_tally(weights: bool) -> None:
    source = sample(20_000, weights=weights, clusters=700)
    tally = Tally.from_pairs(source)
    cox = (cox_calibration(held).to_dict() for held in (source, tally))
    large = (calibration_in_the_large(held).to_dict() for held in (source, tally))
    for (of_pairs, of_tally), names in ((cox, ("intercept", "slope")), (large, ("intercept", "mean_error"))):
        for name in names:
            assert of_pairs[name] == pytest.approx(of_tally[name], rel=1e-9, abs=1e-13)


def test_many_pairs_have_the_estimates_that_solve_the_score_equations() -> None:
    source = sample(400_000, clusters=40_000)
    record = cox_calibration(source)
    x = logit(source.score)
    residual = source.label - expit(defined(record.intercept.estimate) + defined(record.slope.estimate) * x)
    assert abs(residual.sum()) < 1e-7
    assert abs((residual * x).sum()) < 1e-7


def test_scores_of_zero_and_one_are_left_out_and_counted() -> None:
    inner = sample(200)
    q = np.concatenate([inner.score, [0.0, 0.0, 1.0, 1.0]])
    y = np.concatenate([inner.label, [0, 1, 1, 0]])
    record = cox_calibration(y, q)
    assert (record.left_out, record.left_out_wrong) == (4, 2)
    assert msgspec.structs.replace(record.slope, warning=None) == cox_calibration(inner).slope
    assert calibration_in_the_large(y, q).left_out == 4


@pytest.mark.parametrize(
    ("y", "q", "reason"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9], "separates"),
        ([1, 1, 0, 0], [0.1, 0.2, 0.8, 0.9], "separates"),
        ([0, 0, 1, 1], [0.1, 0.5, 0.5, 0.9], "separates"),
        ([0] * 3 + [1, 0] * 20, [0.5, 0.8, 0.9] + [0.93, 0.93 + 1e-15] * 20, "separates"),
        ([0, 1] * 20, [0.93, 0.93 + 1e-15] * 20, "all scores are equal"),
        ([0, 1, 0, 1], [0.3, 0.3, 0.3, 0.3], "all scores are equal"),
        ([0, 0, 0], [0.1, 0.2, 0.3], "only one class"),
        ([0, 1], [0.0, 1.0], "strictly between"),
    ],
)
def test_slopes_that_do_not_exist_are_null_with_a_reason(y: list[int], q: list[float], reason: str) -> None:
    record = cox_calibration(y, q)
    assert record.slope.estimate is None
    assert reason in (record.slope.reason or "")
    assert record.to_dict()["intercept"]["estimate"] is None


def test_one_class_has_a_mean_error_but_no_intercept() -> None:
    record = calibration_in_the_large([0, 0], [0.2, 0.4])
    assert record.mean_error.estimate == pytest.approx(0.3)
    assert record.intercept.estimate is None
    assert "only one class" in (record.intercept.reason or "")


def test_one_cluster_has_estimates_and_no_interval() -> None:
    source = sample(100)
    one = np.zeros(100, int)
    large = calibration_in_the_large(source.label, source.score, clusters=one)
    cox = cox_calibration(source.label, source.score, clusters=one)
    assert large.mean_error.low is None
    assert "one cluster" in (large.mean_error.reason or "")
    assert cox.slope.estimate is not None
    assert cox.slope.low is None
    assert "one cluster" in (cox.slope.reason or "")


def test_one_pair_has_a_mean_error_and_no_interval() -> None:
    record = calibration_in_the_large([1], [0.3])
    assert record.mean_error.estimate == pytest.approx(-0.7)
    assert record.mean_error.reason == "there is one pair"


@pytest.mark.parametrize(("label", "score"), [(0, 0.1), (1, 0.9)])
@pytest.mark.parametrize("size", [0, 10])
def test_equal_labels_leave_the_noise_of_their_frequency(label: int, score: float, size: int) -> None:
    clusters = np.arange(60) // size if size else None
    found = calibration_in_the_large(np.full(60, label), np.full(60, score), clusters=clusters).mean_error
    low, high = wilson(np.array([float(label)]), np.array([6.0 if size else 60.0]), 0.95)
    assert found.estimate == pytest.approx(score - label)
    assert found.low == pytest.approx(score - high[0])
    assert found.high == pytest.approx(score - low[0])


def test_labels_that_equal_their_scores_show_no_noise() -> None:
    label = np.repeat([0, 1], 30)
    found = calibration_in_the_large(label, label.astype(float)).mean_error
    assert (found.estimate, found.low, found.high) == (0, None, None)
    assert "every label equals its score" in defined(found.reason)


def test_extreme_logits_converge() -> None:
    q = np.array([1e-300, 1e-30, 0.2, 0.5, 0.8, 1 - 1e-15])
    record = cox_calibration([1, 0, 0, 1, 0, 1], q)
    assert np.isfinite(defined(record.slope.estimate))


def test_few_clusters_take_quantiles_of_t() -> None:
    assert quantile(0.95, 0) == pytest.approx(1.959964, abs=1e-6)
    assert quantile(0.95, 10) == pytest.approx(2.262157, abs=1e-6)


def test_clusters_of_scores_near_zero_count_by_their_information() -> None:
    rng = np.random.default_rng(1)
    cluster = np.repeat(np.arange(20), 40)
    q = np.where(cluster < 15, 0.001, 0.4 + 0.2 * rng.random(800))
    intercept = calibration_in_the_large(rng.random(800) < q, q, clusters=cluster).intercept
    reach = (defined(intercept.high) - defined(intercept.estimate)) / defined(intercept.standard_error)
    assert quantile(0.95, 5.2) < reach < quantile(0.95, 4.9), "15 of 20 have hardly any information"


def test_a_level_outside_zero_and_one_is_refused() -> None:
    with pytest.raises(InputError, match="level"):
        cox_calibration([0, 1], [0.2, 0.9], level=95)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_scores_that_add_up_in_every_cluster_are_calibrated_in_the_large(kind: type) -> None:
    rng = np.random.default_rng(2)
    prob: NDArray[np.floating[Any]] = rng.dirichlet(np.full(17, 0.2), 3000).astype(kind)
    label = np.eye(17)[rng.integers(17, size=3000)]
    sentence = np.repeat(rng.integers(200, size=3000), 17)
    found = calibration_in_the_large(label.ravel(), prob.ravel(), clusters=sentence)
    for value in (found.mean_error, found.intercept):
        assert (value.estimate, value.standard_error, value.low, value.high) == (0, 0, 0, 0)
    assert "0 for any model" in (found.mean_error.warning or "")
    label[5] = 0  # a gold class that the model has not
    found = calibration_in_the_large(label.ravel(), prob.ravel(), clusters=sentence)
    assert found.mean_error.estimate == pytest.approx(1 / label.size, rel=1e-3)
    assert found.mean_error.warning is None


def test_scores_recalibrated_by_their_own_labels_have_deviations_of_exactly_0() -> None:
    source = sample(5000)
    cox = cox_calibration(source)
    line = defined(cox.intercept.estimate) + defined(cox.slope.estimate) * logit(source.score)
    large = calibration_in_the_large(source.label, expit(line))
    assert (large.mean_error.estimate, large.intercept.estimate) == (0, 0)
    assert cox_calibration(source.label, expit(line)).intercept.estimate == 0


def test_tiny_scores_without_events_do_not_add_up() -> None:
    found = calibration_in_the_large([0] * 40, [1e-9] * 40, clusters=[0, 1] * 20)
    assert found.mean_error.estimate == pytest.approx(1e-9)
    assert found.intercept.reason == "only one class occurs among the scores that have a logit"


def test_scores_without_log_odds_are_stated_in_a_warning_of_the_slope() -> None:
    y, q = [0, 1, 0, 1, 0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8, 1.0, 1.0, 0.0, 0.0]
    found = cox_calibration(y, q)
    assert found.slope.warning is not None
    assert found.slope.warning.startswith("4 of 8 scores are exactly 0 or 1")
    assert found.slope.warning.endswith("2 of them wrong")
    assert cox_calibration(y[:4], q[:4]).slope.warning is None


def test_one_large_weight_leaves_little_information() -> None:
    # With quantiles of the normal distribution, 3 % of intervals contained the difference.
    found = calibration_in_the_large([1] + [0, 1] * 50, [0.5] * 101, sample_weight=[1000.0] + [1.0] * 100)
    assert defined(found.mean_error.high) - defined(found.mean_error.low) > 0.9


@pytest.mark.parametrize("sd", [1.0, 2.0])
def test_the_mean_error_covers_with_unequal_weights(sd: float) -> None:
    rng, inside = np.random.default_rng(0), 0
    for _ in range(300):
        weight, p = rng.lognormal(0, sd, 50), rng.random(50)
        found = calibration_in_the_large(rng.random(50) < p, p, sample_weight=weight).mean_error
        inside += defined(found.low) <= 0 <= defined(found.high)
    assert inside >= 0.91 * 300


def test_scores_of_0_and_1_that_are_all_right_do_not_add_up_by_force() -> None:
    label = np.arange(100) % 2
    found = calibration_in_the_large(label, label, clusters=np.arange(100) // 4).mean_error
    assert (found.low, found.warning) == (None, None)
    assert found.reason


@pytest.mark.parametrize(("low", "high"), [(-740, -716), (-716, -700), (-745, -1), (-30, 36)])
@pytest.mark.parametrize("events", [1, 6666])
def test_scores_far_beyond_rounding_have_estimates_at_once(low: float, high: float, events: int) -> None:
    rng = np.random.default_rng(0)
    log_odds = rng.uniform(low, high, 20_000)
    score = np.exp(np.minimum(log_odds, 0)) / (1 + np.exp(-np.abs(log_odds)))
    label = np.zeros(20_000, bool)
    label[rng.permutation(20_000)[:events]] = True
    began = perf_counter()
    found = calibration_in_the_large(label, score)
    slope = cox_calibration(label, score).slope
    assert perf_counter() - began < 5  # each step of Newton's method took a thousand passes of the data
    inside = (score > 0) & (score < 1)
    shifted = expit(defined(found.intercept.estimate) + logit(score[inside]))
    assert shifted.sum() == pytest.approx(label[inside].sum(), rel=1e-6)
    assert defined(slope.low) < defined(slope.estimate) < defined(slope.high)


def test_a_class_whose_softmax_underflows_is_measured(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    logits = np.column_stack([rng.normal(size=(500, 2)), rng.uniform(-740, -716, 500)])
    labels = rng.integers(2, size=500)
    labels[3] = 2
    np.savez(tmp_path / "scores.npz", logits=logits, labels=labels)
    found = measure(tmp_path / "scores.npz")["class:2"]
    assert found.cox_slope.low is not None
    assert defined(found.mean_error.estimate) == pytest.approx(-1 / 500)


def test_a_likelihood_that_is_flat_to_the_last_digit_has_no_estimate_but_a_reason() -> None:
    assert calibration_in_the_large([0, 1], [1e-5, 5e-324]).intercept.reason == FLAT
