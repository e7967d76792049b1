from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import trapezoid

from calibrant.exceptions import InputError
from calibrant.metrics import pairs
from calibrant.metrics.curve import smooth_curve
from calibrant.metrics.smooth import smooth_calibration_error
from calibrant.metrics.tally import Tally

Floats = NDArray[np.float64]


def reflected(at: Floats, q: Floats, bandwidth: float) -> Floats:
    """(points, n) kernel weights by the definition."""
    total = np.zeros((len(at), len(q)))
    for period in range(-4, 5):
        for image in (2 * period + q, 2 * period - q):
            total += np.exp(-0.5 * ((at[:, None] - image) / bandwidth) ** 2)
    density: Floats = total / (bandwidth * np.sqrt(2 * np.pi))
    return density


def calibrated(n: int, seed: int) -> tuple[NDArray[np.bool_], Floats]:
    rng = np.random.default_rng(seed)
    q = rng.beta(1, 2, n)
    return rng.random(n) < q, q


@pytest.mark.parametrize("weighted", [False, True])
def test_the_curve_is_the_local_linear_regression_of_the_labels(weighted: bool) -> None:
    rng = np.random.default_rng(0)
    q = rng.beta(0.8, 1.2, 300)
    y = rng.random(300) < q**1.5
    weight = rng.exponential(size=300) if weighted else np.ones(300)
    curve = smooth_curve(y, q, sample_weight=weight if weighted else None, resamples=5, seed=0)
    kernel = reflected(curve.score, q, curve.bandwidth)
    seen = np.isfinite(curve.frequency)
    assert seen.sum() > 200
    for point in range(257):
        w, d = kernel[point] * weight, q - curve.score[point]
        design = np.array([[w.sum(), w @ d], [w @ d, w @ d**2 + 1e-3 * curve.bandwidth**2 * w.sum()]])
        share = np.linalg.solve(design, np.stack([w, w * d]))[0]
        if seen[point]:
            assert curve.frequency[point] == pytest.approx(np.clip(share @ y, 0, 1), abs=2e-3)
        assert abs(1 / (share @ share) - 10) < 0.5 or seen[point] == (1 / (share @ share) > 10)
    every = (kernel * weight).sum(axis=1) / weight.sum()
    assert curve.density == pytest.approx(every, rel=1e-3, abs=1e-6)


def test_the_curve_shows_the_smooth_error() -> None:
    rng = np.random.default_rng(1)
    q = rng.beta(1, 1, 5000)
    y = rng.random(5000) < q**1.5
    curve = smooth_curve(y, q, resamples=2, seed=0)
    seen = np.isfinite(curve.frequency)
    distance = (np.abs(curve.frequency - curve.score) * curve.density)[seen]
    assert curve.smooth_error == smooth_calibration_error(y, q)
    assert trapezoid(distance, curve.score[seen]) == pytest.approx(curve.smooth_error, rel=0.1)


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_alike_draw_a_flat_curve_with_a_band(label: int) -> None:
    curve = smooth_curve([label] * 40, np.linspace(0.02, 0.98, 40), resamples=20, seed=0)
    seen = np.isfinite(curve.frequency)
    assert seen.sum() > 200
    assert curve.frequency[seen] == pytest.approx(label, abs=1e-9)
    assert (curve.high - curve.low)[seen].min() > 0.04


def test_a_curve_through_the_population_line_is_not_bent_at_its_ends() -> None:
    rng = np.random.default_rng(5)
    q = rng.random(100_000)
    y = rng.random(100_000) < 0.4 + 0.2 * q
    curve = smooth_curve(y, q, resamples=2, seed=0)
    assert curve.bandwidth > 0.1
    assert curve.frequency == pytest.approx(0.4 + 0.2 * curve.score, abs=0.02)


def test_few_pairs_draw_no_curve_and_say_why() -> None:
    record = smooth_curve([0, 1, 0], [0.2, 0.4, 0.5], resamples=5, seed=0).to_dict()
    assert set(record["frequency"]) == set(record["low"]) == {None}
    assert "fewer than 10 effective pairs" in record["reasons"]["frequency"]


def test_the_curve_ends_a_bandwidth_beyond_the_scores() -> None:
    curve = smooth_curve([0, 1] * 500, [0.4, 0.6] * 500, resamples=5, seed=0)
    seen = curve.score[np.isfinite(curve.frequency)]
    assert 0.4 - curve.bandwidth <= seen.min() < 0.6 < seen.max() <= 0.6 + curve.bandwidth


def test_the_band_covers_the_diagonal_of_a_calibrated_model() -> None:
    curves = [smooth_curve(*calibrated(1000, seed), resamples=100, seed=seed) for seed in range(60)]
    assert all(np.isfinite(curve.frequency[:150]).all() for curve in curves)
    middle = slice(20, 150)
    inside = [((curve.low <= curve.score) & (curve.score <= curve.high))[middle] for curve in curves]
    assert 0.88 < np.mean(inside) < 0.99


def test_the_band_of_dependent_labels_is_wider() -> None:
    rng = np.random.default_rng(2)
    cluster = np.repeat(np.arange(100), 20)
    q = rng.random(2000)
    y = rng.random(100)[cluster] < q
    apart = smooth_curve(y, q, resamples=100, seed=0)
    together = smooth_curve(y, q, clusters=cluster, resamples=100, seed=0)
    assert together.dependence == "clusters"
    assert np.array_equal(together.frequency, apart.frequency)
    assert np.mean(together.high - together.low) > 1.4 * np.mean(apart.high - apart.low)


def test_where_no_pair_is_near_the_curve_is_null() -> None:
    y = np.tile([0, 1], 2000)
    curve = smooth_curve(y, np.where(y, 0.95, 0.05), resamples=10, seed=0)
    assert np.isfinite(curve.frequency).any()
    spread = smooth_curve(
        np.random.default_rng(0).random(4000) < 0.5, np.full(4000, 0.5), resamples=10, seed=0
    )
    far = spread.to_rows()[0]
    assert spread.bandwidth < 0.1
    assert (far["frequency"], far["low"], far["high"]) == (None, None, None)


def test_the_curve_of_a_tally_is_that_of_the_pairs() -> None:
    y, q = calibrated(5000, 3)
    exact = smooth_curve(pairs(y, q), resamples=3, seed=0)
    compressed = smooth_curve(Tally.from_arrays(y_true=y, y_prob=q, exact=False), resamples=3, seed=0)
    seen = np.isfinite(exact.frequency)
    assert compressed.frequency[seen] == pytest.approx(exact.frequency[seen], abs=5e-3)


def test_equal_seeds_give_equal_bands() -> None:
    y, q = calibrated(200, 4)
    first, second = (smooth_curve(y, q, resamples=20, seed=9) for _ in range(2))
    assert np.array_equal(first.low, second.low, equal_nan=True)
    assert first.seed == 9


def test_one_pair_has_a_curve() -> None:
    curve = smooth_curve([1], [0.3], resamples=5, seed=0)
    assert (curve.low[np.isfinite(curve.low)] >= 0).all()
    assert len(curve.to_rows()) == 257


def test_unusable_arguments_are_refused() -> None:
    with pytest.raises(InputError, match="resamples"):
        smooth_curve([0, 1], [0.2, 0.9], resamples=0)


def test_the_curve_of_a_calibrated_tagger_does_not_follow_noise() -> None:
    rng = np.random.default_rng(4)
    q = rng.beta(0.03, 1, 100_000)
    curve = smooth_curve(rng.random(len(q)) < q, q, resamples=10, seed=0)
    frequency = curve.frequency[np.isfinite(curve.frequency)]
    assert len(frequency) > 250
    assert np.abs(np.diff(frequency)).sum() < 1.05  # a curve that only rises has 1


def test_the_band_holds_where_clusters_share_a_rare_score() -> None:
    random, held = np.random.default_rng(99), []
    cluster = np.repeat(np.arange(20), 30)
    for seed in range(80):
        q = random.beta(0.5, 2, 20)[cluster]
        alike = random.random(len(q)) < 0.4
        y = np.where(alike, random.random(20)[cluster], random.random(len(q))) < q
        curve = smooth_curve(y, q, clusters=cluster, resamples=200, seed=seed)
        held += [curve.low[at] <= curve.score[at] <= curve.high[at] for at in (26, 64) if curve.high[at] >= 0]
    assert len(held) > 100
    assert np.mean(held) > 0.95, "84 to 91 % by resamples of clusters alone, few of which have a positive"
