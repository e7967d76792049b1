from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaincc, ndtri

from calibrant.metrics import Pairs, pairs
from calibrant.metrics.intervals import calibration_error, calibration_test, error_interval
from calibrant.metrics.moments import moments_by_resolution
from calibrant.metrics.residuals import residuals
from calibrant.metrics.resolutions import Resolutions, resolutions_of, shares_below
from calibrant.metrics.tally import Tally
from tests.quantities import defined


def overconfident(n: int, shift: float, rng: np.random.Generator, cluster_size: int = 1) -> Pairs:
    """Scores of a top label, all too high by ``shift``, whose labels are alike within clusters."""
    q = np.clip(rng.beta(8, 2, n), 0.5, 0.995)
    cluster = np.arange(n) // cluster_size
    shared = rng.random(n) < math.sqrt(0.3)
    uniform = np.where(shared, rng.random(n)[cluster], rng.random(n))
    return pairs(uniform < q - shift, q, clusters=cluster if cluster_size > 1 else None)


def mean_error(source: Pairs) -> float:
    """z statistic of the mean error of independent pairs."""
    score = source.score.astype(np.float64)
    return float((source.label - score).sum() / np.sqrt((score * (1 - score)).sum()))


@pytest.mark.parametrize(("n", "shift"), [(200, 0.08), (500, 0.05), (1000, 0.04), (5000, 0.02)])
def test_a_shift_that_the_z_test_of_the_mean_sees_is_seen(n: int, shift: float) -> None:
    rng = np.random.default_rng(n)
    z, low, p, estimate = [], [], [], []
    for _ in range(60):
        source = overconfident(n, shift, rng)
        interval = error_interval(source)
        z.append(abs(mean_error(source)))
        low.append(defined(interval.low))
        p.append(defined(calibration_test(source).p_value))
        estimate.append(defined(interval.estimate))
    rejected = np.array(z) > 1.96
    assert np.mean(np.array(low)[rejected] > 0) > 0.8
    assert np.mean(np.array(p) < 0.05) > rejected.mean() - 0.12
    assert min(np.array(low)[np.array(z) > 3], default=1.0) > 0
    assert abs(np.mean(estimate) - shift) < 0.2 * shift


def test_a_wrong_slope_is_seen_where_the_mean_is_right() -> None:
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(40):
        q = rng.beta(0.5, 0.5, 400).clip(0.001, 0.999)
        p = 1 / (1 + ((1 - q) / q) ** 1.5)
        rejected += defined(calibration_test(pairs(rng.random(400) < p, q)).p_value) < 0.05
    assert rejected > 30


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("kind", ["independent", "clusters", "weights"])
def test_the_lower_end_is_above_zero_exactly_if_the_test_rejects(kind: str, level: float) -> None:
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(60):
        source = overconfident(400, rng.choice([0, 0.03, 0.06]), rng, 10 if kind == "clusters" else 1)
        weight = rng.random(400) + 0.5 if kind == "weights" else None
        source = Pairs(source.score, source.outcome, weight, source.cluster, source.cluster_count)
        interval = error_interval(source, level=level)
        low = defined(interval.low)
        assert (low > 0) == (defined(calibration_test(source).p_value) < 1 - level)
        assert low <= defined(interval.estimate) <= defined(interval.high)
        seen.add(low > 0)
    assert seen == {True, False}


@pytest.mark.parametrize("cluster_size", [1, 10])
def test_a_calibrated_model_is_rejected_in_one_of_twenty_samples(cluster_size: int) -> None:
    rng = np.random.default_rng(5)
    rejected = [
        defined(calibration_test(overconfident(600, 0.0, rng, cluster_size)).p_value) < 0.05
        for _ in range(400)
    ]
    assert 0.02 < np.mean(rejected) < 0.08


@pytest.mark.parametrize("center", [-10, -8, -6])
def test_one_label_among_rare_scores_is_no_evidence(center: int) -> None:
    # Half a positive, or three, in 200 pairs; a gamma distribution has nothing below its end, and no steps.
    rng = np.random.default_rng(-center)
    rejected = []
    for _ in range(300):
        q = 1 / (1 + np.exp(-rng.normal(center, 2.5, 200)))
        rejected.append(defined(calibration_test(pairs(rng.random(200) < q, q)).p_value) < 0.05)
    assert np.mean(rejected) < 0.08


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("n", [1000, 4000])
def test_few_clusters_with_events_are_not_taken_for_many(n: int, shared: bool) -> None:
    # Labels of a cluster of 20 come together, in one cluster of 50: the variance of what was drawn is small
    # where few such clusters were drawn. It rejected in 10 to 20 % of the samples.
    rng = np.random.default_rng(n)
    rejected = []
    for _ in range(300):
        cluster = np.arange(n) // 20
        q = 1 / (1 + np.exp(5 - 1.5 * rng.normal(size=n)[cluster if shared else np.arange(n)]))
        uniform = np.where(rng.random(n) < 0.55, rng.random(n)[cluster], rng.random(n))
        rejected.append(defined(calibration_test(pairs(uniform < q, q, clusters=cluster)).p_value) < 0.05)
    assert np.mean(rejected) < 0.09


def test_one_score_gets_the_test_of_the_mean() -> None:
    n, positives, q = 400, 140, 0.3
    label = np.arange(n) < positives
    resolutions = resolutions_of(residuals(pairs(label, np.full(n, q))))
    assert resolutions is not None
    assert [moments.bins for moments in resolutions.moments] == [1]
    assert (list(resolutions.contrasts), resolutions.strongest) == (["mean"], "mean")
    z = (positives - n * q) / math.sqrt(n * q * (1 - q))
    skewness = (1 - 2 * q) / math.sqrt(n * q * (1 - q))
    shape = 4 / skewness**2
    upper = float(gammaincc(shape, shape + z * math.sqrt(shape)))
    assert resolutions.p_value() == pytest.approx(2 * upper, rel=1e-6)


def test_each_resolution_has_the_debiased_error_of_its_bins() -> None:
    rng = np.random.default_rng(7)
    q = np.sort(rng.random(3000))
    y, cluster = rng.random(3000) < q**1.3, rng.integers(300, size=3000)
    table = residuals(pairs(y, q, clusters=cluster))
    resolutions = moments_by_resolution(table)
    assert [moments.bins for moments in resolutions] == [1, 2, 4, 8, 16, 32, len(table.n)]
    # The bins of a resolution have equal sums of sqrt(q (1 - q)), and consist of the finest bins.
    score = table.score / table.weight
    size = table.weight * np.sqrt(score * (1 - score))
    place = (np.cumsum(size) - size / 2) / size.sum()
    for moments in resolutions[:-1]:
        row_bin = np.repeat((place * moments.bins).astype(int), table.n.astype(int))
        expected = 0.0
        for b in range(moments.bins):
            rows = row_bin == b
            apart = cluster[rows][:, np.newaxis] != cluster[rows]
            u = (y - q)[rows]
            expected += rows.mean() * float(u @ apart @ u) / apart.sum()
        assert moments.estimate == pytest.approx(expected, rel=1e-9)


def test_residuals_that_sum_to_zero_in_every_item_have_no_contrast_of_the_mean() -> None:
    rng = np.random.default_rng(8)
    probability = rng.dirichlet(np.ones(4), 300)
    label = np.array([rng.multinomial(1, row) for row in probability])
    item = np.repeat(np.arange(300), 4)
    resolutions = resolutions_of(residuals(pairs(label.ravel(), probability.ravel(), clusters=item)))
    assert resolutions is not None
    assert list(resolutions.contrasts) == ["slope"]
    assert resolutions.p_value() > 0.01


def test_a_tally_by_cluster_gives_the_interval_of_the_pairs() -> None:
    source = overconfident(2000, 0.05, np.random.default_rng(9), 20)
    expected, tallied = error_interval(source), error_interval(Tally.from_pairs(source, exact=True))
    assert (tallied.estimate, tallied.low, tallied.high) == pytest.approx(
        (expected.estimate, expected.low, expected.high), rel=1e-6
    )


def test_the_acceptance_regions_are_those_of_feldman_and_cousins() -> None:
    """Their table X: for a measured mean of 2, the interval at 95 % begins at 0.35, and ends at 3.96."""
    distances, shares = shares_below(0.05)
    share = np.interp([0.35, 3.96], distances, shares)
    assert 0.35 - ndtri(0.05 - share[0]) == pytest.approx(2.0, abs=0.01)
    assert 3.96 + ndtri(share[1]) == pytest.approx(2.0, abs=0.01)


def test_a_component_is_named() -> None:
    rng = np.random.default_rng(11)
    assert calibration_test(overconfident(2000, 0.1, rng)).strongest == "mean"
    q = rng.random(20_000)
    wave = calibration_test(pairs(rng.random(20_000) < q + 0.1 * np.sin(6 * np.pi * q) * (1 - q), q))
    assert "bins" in (wave.strongest or "")


def test_the_summary_of_a_table_is_computed_once_for_interval_and_test() -> None:
    table = residuals(overconfident(500, 0.05, np.random.default_rng(12)))
    resolutions = resolutions_of(table)
    assert isinstance(resolutions, Resolutions)
    assert error_interval(resolutions) == error_interval(table)
    assert calibration_test(resolutions) == calibration_test(table)


def test_the_level_does_not_change_the_estimate() -> None:
    source = overconfident(500, 0.05, np.random.default_rng(13))
    estimates = {
        calibration_error(source.label, source.score, level=level).estimate for level in (0.95, 0.99)
    }
    assert len(estimates) == 1


@pytest.mark.parametrize("off", [1e-6, 1e-9, 1e-12, 1e-16])
@pytest.mark.parametrize("wrong", [0, 1])
def test_scores_within_rounding_of_1_have_an_interval_in_clusters_too(off: float, wrong: int) -> None:
    # The variance of a single label was 0 within rounding, and the design effect above all numbers.
    label, score = np.ones(300, np.int64), np.full(300, 1 - off)
    label[:wrong], score[::3] = 0, 1 - off / 3
    found = error_interval(pairs(label, score, clusters=np.arange(300) // 10))
    assert 0 <= defined(found.low) <= defined(found.high) < 0.2
