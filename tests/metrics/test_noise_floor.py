from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import binom

from calibrant.exceptions import InputError
from calibrant.metrics import pairs
from calibrant.metrics.binning import adaptive, uniform
from calibrant.metrics.noise_floor import (
    MOST_FLIPPED,
    Flips,
    MatchedBinomial,
    binomial_quantile,
    consistency_bars,
    noise_floors,
    smooth_noise_floor,
)
from calibrant.metrics.plug_in import plug_in_errors
from calibrant.metrics.smooth import smooth_error
from calibrant.metrics.tally import Tally

Floats = NDArray[np.float64]


def brute_force(q: Floats, weight: Floats | None, times: int) -> dict[str, Floats]:
    """Plug-in errors with every label redrawn from its score."""
    rng = np.random.default_rng(99)
    records = [
        plug_in_errors(adaptive(pairs(rng.random(len(q)) < q, q, sample_weight=weight), size=100))
        for _ in range(times)
    ]
    names = (
        "plug_in_calibration_error",
        "expected_calibration_error",
        "max_calibration_error",
        "plug_in_squared_error",
    )
    return {name: np.array([getattr(record, name) for record in records]) for name in names}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(0.3, 1.5), (2.0, 2.0), (1.5, 0.3)])
def test_the_floor_is_that_of_labels_redrawn_one_by_one(shape: tuple[float, float], weighted: bool) -> None:
    rng = np.random.default_rng(0)
    q = rng.beta(*shape, 1000)
    weight = rng.exponential(size=1000) if weighted else None
    bins = adaptive(pairs(np.zeros(1000), q, sample_weight=weight), size=100)
    expected = brute_force(q, weight, 400)
    for name, floor in noise_floors(bins, resamples=4000, seed=1).items():
        spread = expected[name].std()
        assert abs(floor.mean - expected[name].mean()) < 4 * spread / np.sqrt(400) + 0.03 * floor.mean
        assert abs(floor.high - np.quantile(expected[name], 0.95)) < 0.5 * spread


def test_the_floor_of_the_squared_error_is_its_expectation() -> None:
    q = np.random.default_rng(0).random(10_000)
    bins = adaptive(pairs(np.zeros(10_000), q), size=200)
    floor = noise_floors(bins, resamples=4000, seed=1)["plug_in_squared_error"]
    expected = np.sum((bins.sum_score - bins.sum_score2) / bins.weight) / 10_000
    assert floor.mean == pytest.approx(expected, rel=0.02)


def test_a_calibrated_model_exceeds_its_floor_one_time_in_twenty() -> None:
    rng = np.random.default_rng(3)
    q = rng.beta(0.5, 2.0, 2000)
    high = noise_floors(uniform(pairs(np.zeros(2000), q)), resamples=4000, seed=2)[
        "expected_calibration_error"
    ].high
    above = [
        plug_in_errors(uniform(pairs(rng.random(2000) < q, q))).expected_calibration_error > high
        for _ in range(1000)
    ]
    assert 0.03 < np.mean(above) < 0.07


def test_equal_scores_are_drawn_from_their_own_binomial() -> None:
    matched = MatchedBinomial.of(uniform(pairs([0] * 30, [0.3] * 10 + [0.9] * 20), 10))
    assert matched.trials.tolist() == [10, 20]
    assert matched.probability == pytest.approx([0.3, 0.1])
    assert matched.flipped.tolist() == [False, True]


@pytest.mark.parametrize("weighted", [False, True])
def test_unequal_scores_are_drawn_with_their_mean_and_variance(weighted: bool) -> None:
    rng = np.random.default_rng(7)
    q = rng.beta(0.2, 0.4, 400)
    weight = rng.integers(1, 3, 400).astype(float) if weighted else np.ones(400)
    bins = uniform(pairs(np.zeros(400), q, sample_weight=weight), 1)
    draws = MatchedBinomial.of(bins).draw(np.random.default_rng(1), 200_000)[:, 0]
    assert draws.mean() == pytest.approx(np.sum(weight * q), rel=0.002)
    assert draws.var() == pytest.approx(np.sum(weight**2 * q * (1 - q)), rel=0.05)


def test_certain_scores_have_no_noise() -> None:
    for error in noise_floors(uniform(pairs([0, 1], [0.0, 1.0])), seed=0).values():
        assert (error.mean, error.high) == (0, 0)


def test_equal_seeds_give_equal_floors() -> None:
    bins = uniform(pairs([0, 1, 1], [0.2, 0.4, 0.9]))
    assert noise_floors(bins, seed=5) == noise_floors(bins, seed=5)
    assert noise_floors(bins, seed=5) != noise_floors(bins, seed=6)


def clustered(groups: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats, NDArray[np.int_]]:
    """Ten pairs a cluster that share one uniform: wholly dependent labels, calibrated."""
    cluster = np.repeat(np.arange(groups), 10)
    q = rng.random(groups * 10)
    return rng.random(groups)[cluster] < q, q, cluster


def test_flipping_clusters_sees_their_dependence() -> None:
    rng = np.random.default_rng(11)
    seen = []
    for _ in range(300):
        y, q, _ = clustered(200, rng)
        seen.append(plug_in_errors(adaptive(pairs(y, q), size=400)).plug_in_calibration_error)
    y, q, cluster = clustered(200, rng)
    bins = adaptive(pairs(y, q), size=400)
    tally = Tally.from_arrays(y_true=y, y_prob=q, clusters=cluster)
    flipped = noise_floors(bins, clustered=tally, seed=1)["plug_in_calibration_error"]
    independent = noise_floors(bins, seed=1)["plug_in_calibration_error"]
    assert (flipped.dependence, independent.dependence) == ("clusters", "independent")
    assert flipped.mean == pytest.approx(np.mean(seen), rel=0.15)
    assert independent.mean < 0.75 * np.mean(seen)


def test_a_calibrated_model_of_rare_events_in_clusters_exceeds_its_floor_one_time_in_twenty() -> None:
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(30), 100)
    above = 0
    for _ in range(400):
        # A shared normal variable correlates the labels of a cluster, and leaves their means at the scores.
        q = 0.002 + 0.03 * rng.beta(0.5, 2, len(cluster))
        hidden = np.sqrt(0.3) * rng.normal(size=30)[cluster] + np.sqrt(0.7) * rng.normal(size=len(cluster))
        y = hidden < ndtri(q)
        bins = uniform(pairs(y, q), 15)
        tally = Tally.from_arrays(y_true=y, y_prob=q, clusters=cluster)
        floor = noise_floors(bins, clustered=tally, resamples=200, seed=1)["expected_calibration_error"]
        above += plug_in_errors(bins).expected_calibration_error > floor.high
    assert above <= 32  # 8 %; without the scale of few events it is 14.5 %


def test_flipped_rows_keep_to_their_bins() -> None:
    q = np.array([0.0, 0.2, 0.2, 0.2, 0.4, 0.9, 1.0])
    y = np.array([0, 0, 0, 0, 1, 1, 1])
    tally = Tally.from_arrays(y_true=y, y_prob=q, clusters=np.arange(7))
    scale = np.sum(q * (1 - q)) / np.sum((y - q) ** 2)  # the residuals are smaller than the scores imply
    for bins in (uniform(pairs(y, q), 5), adaptive(pairs(y, q), size=3, ties="whole")):
        floor = noise_floors(bins, clustered=tally, resamples=2000, seed=1)["plug_in_squared_error"]
        position = np.searchsorted(bins.edge_high[:-1], q, "right" if bins.kind == "adaptive" else "left")
        squares = np.bincount(position, (y - q) ** 2)
        assert floor.mean == pytest.approx(scale * np.sum(squares / bins.n) / 7, rel=0.1)


def many_clusters(kind: str, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats, NDArray[np.int_]]:
    """Labels, scores and clusters: more clusters than are flipped."""
    count = 20_000
    if kind == "equal":  # every residual is +- 0.5
        cluster = np.repeat(np.arange(count), 2)
        q = np.full(2 * count, 0.5)
    elif kind == "Zipf":  # the largest has a fifth of the rows
        cluster = np.repeat(np.arange(count), np.maximum(1, (20_000 / np.arange(1, count + 1)).astype(int)))
        q = rng.beta(0.3, 1.5, len(cluster))
    else:  # bins of few rows, few events
        cluster = np.repeat(np.arange(count), 3)
        q = 0.02 * rng.random(3 * count)
        q[rng.integers(0, len(q), 40)] = rng.random(40)
    shared = rng.random(count)[cluster] < 0.5
    y = np.where(shared, rng.random(count)[cluster], rng.random(len(q))) < q
    return y, q, cluster


@pytest.mark.parametrize("kind", ["equal", "Zipf", "sparse"])
def test_floors_of_many_clusters_are_those_of_flipping_every_cluster(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    y, q, cluster = many_clusters(kind, np.random.default_rng(5))
    source = pairs(y, q, clusters=cluster)
    bins = uniform(pairs(y, q), 15)
    times = 2000
    normal = noise_floors(bins, clustered=source, resamples=times, seed=1)
    monkeypatch.setattr("calibrant.metrics.noise_floor.MOST_FLIPPED", len(q))
    every = noise_floors(bins, clustered=source, resamples=times, seed=2)
    for name, floor in normal.items():
        spread = (every[name].high - every[name].mean) / 1.64
        assert abs(floor.mean - every[name].mean) < 4 * spread * np.sqrt(2 / times)
        assert abs(floor.high - every[name].high) < 4 * 2.1 * spread * np.sqrt(2 / times)


@pytest.mark.slow
def test_sums_of_many_clusters_have_the_covariance_of_flipped_clusters() -> None:
    y, q, cluster = many_clusters("Zipf", np.random.default_rng(6))
    place = np.minimum((4 * q).astype(np.int32), 3)
    flips = Flips(pairs(y, q, clusters=cluster), place, 4)
    assert flips.clusters == MOST_FLIPPED
    draws = flips.draw(np.random.default_rng(1), 20_000)
    expected = (q - q * q).sum() / ((y - q) ** 2).sum()
    sums = np.bincount(cluster * 4 + place, y - q, 80_000).reshape(-1, 4)
    covariance = sums.T @ sums * max(1.0, expected)
    sd = np.sqrt(np.diag(covariance))
    assert (np.cov(draws.T) / np.outer(sd, sd)).tolist() == [
        pytest.approx(row, abs=0.05) for row in (covariance / np.outer(sd, sd)).tolist()
    ]


def test_flipping_needs_clusters() -> None:
    bins = uniform(pairs([0, 1], [0.2, 0.9]))
    with pytest.raises(InputError, match="no clusters"):
        noise_floors(bins, clustered=Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.9]))


@pytest.mark.parametrize(("argument", "value"), [("resamples", 0), ("level", 1.0)])
def test_unusable_arguments_are_refused(argument: str, value: Any) -> None:
    bins = uniform(pairs([0, 1], [0.2, 0.9]))
    with pytest.raises(InputError, match=argument):
        noise_floors(bins, **{argument: value})


def test_the_smooth_floor_is_that_of_labels_redrawn_one_by_one() -> None:
    rng = np.random.default_rng(1)
    q = rng.beta(0.3, 1.5, 500)
    expected = [smooth_error(pairs(rng.random(500) < q, q)).value for _ in range(150)]
    floor = smooth_noise_floor(pairs(np.zeros(500), q), resamples=600, seed=1)
    spread = np.std(expected)
    assert abs(floor.mean - np.mean(expected)) < 4 * spread * np.sqrt(1 / 150 + 1 / 600)
    assert abs(floor.high - np.quantile(expected, 0.95)) < 0.6 * spread


def test_the_smooth_floor_depends_on_the_scores_and_not_on_the_labels() -> None:
    q = np.random.default_rng(1).random(300)
    floors = [smooth_noise_floor(pairs(np.full(300, label), q), resamples=50, seed=1) for label in (0, 1)]
    assert floors[0] == floors[1]


def test_the_smooth_floor_flips_clusters() -> None:
    y, q, cluster = clustered(100, np.random.default_rng(2))
    together = smooth_noise_floor(pairs(y, q, clusters=cluster), resamples=100, seed=1)
    apart = smooth_noise_floor(pairs(y, q), resamples=100, seed=1)
    assert together.dependence == "clusters"
    assert together.mean > 1.2 * apart.mean


def test_consistency_bars_are_binomial_quantiles() -> None:
    bars = consistency_bars(uniform(pairs([0] * 150, [0.2] * 50 + [0.9] * 100), 10))
    assert bars.low == pytest.approx(binom.ppf(0.025, [50, 100], [0.2, 0.9]) / [50, 100])
    assert bars.high == pytest.approx(binom.ppf(0.975, [50, 100], [0.2, 0.9]) / [50, 100])
    assert [list(row) for row in bars.to_rows()] == [["score", "low", "high"]] * 2


def test_consistency_bars_hold_a_calibrated_frequency() -> None:
    rng = np.random.default_rng(0)
    q = rng.beta(0.3, 1.5, 2000)
    bars = consistency_bars(adaptive(pairs(np.zeros(2000), q), size=200))
    inside = []
    for _ in range(400):
        p = adaptive(pairs(rng.random(2000) < q, q), size=200).frequency
        inside.append((p >= bars.low - 1e-12) & (p <= bars.high + 1e-12))
    assert 0.93 < np.mean(inside) < 0.995


def test_consistency_bars_of_certain_scores_are_points() -> None:
    bars = consistency_bars(uniform(pairs([0, 1], [0.0, 1.0]), 2))
    assert bars.low.tolist() == bars.high.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("share", [0.005, 0.025, 0.5, 0.95, 0.975])
def test_binomial_quantiles_are_those_of_scipy_stats(share: float) -> None:
    rng = np.random.default_rng(0)
    trials = np.r_[rng.integers(1, 30, 2000), rng.integers(1, 10**6, 2000)]
    rare = 10 ** -rng.uniform(0, 9, 1000)
    p = np.r_[rng.random(1990), np.zeros(5), np.ones(5), rare, 1 - rare]
    assert np.array_equal(binomial_quantile(share, trials, p), binom.ppf(share, trials, p))


def test_consistency_bars_of_weighted_pairs_stay_between_0_and_1() -> None:
    rng = np.random.default_rng(0)
    source = pairs(rng.random(60) < 0.5, rng.random(60), sample_weight=rng.lognormal(0, 2, 60))
    bars = consistency_bars(uniform(source, n_bins=10))
    assert bars.low.min() >= 0
    assert bars.high.max() <= 1
