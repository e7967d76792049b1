"""Intervals of a bin's frequency against their closed forms and SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from calibrant.exceptions import InputError
from calibrant.metrics import pairs
from calibrant.metrics.binning import adaptive, display, uniform, uniform_bins
from calibrant.metrics.frequencies import bin_intervals, design_effects
from calibrant.metrics.tails import cr2
from calibrant.metrics.tally import Tally


@pytest.mark.parametrize("positives", [0, 1, 7, 20])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_wilson_intervals_are_those_of_scipy(positives: int, level: float) -> None:
    found = bin_intervals(
        uniform_bins([1] * positives + [0] * (20 - positives), [0.3] * 20, n_bins=1), level=level
    )
    wilson = binomtest(positives, 20).proportion_ci(level, method="wilson")
    assert found.low[0] == pytest.approx(wilson.low, abs=1e-12)
    assert found.high[0] == pytest.approx(wilson.high, abs=1e-12)


def test_normal_intervals_are_those_of_the_papers() -> None:
    found = bin_intervals(uniform_bins([1] * 5 + [0] * 15, [0.3] * 20, n_bins=1), method="normal")
    half = 1.959964 * np.sqrt(0.25 * 0.75 / 20)
    assert [found.low[0], found.high[0]] == pytest.approx([0.25 - half, 0.25 + half], abs=1e-6)


def test_equal_weights_change_nothing_and_unequal_ones_widen() -> None:
    label, score = [1] * 5 + [0] * 15, [0.3] * 20

    def width(weight: list[float]) -> float:
        found = bin_intervals(uniform(pairs(label, score, sample_weight=weight), 1))
        return float(found.high[0] - found.low[0])

    plain = bin_intervals(uniform_bins(label, score, n_bins=1))
    assert width([3.0] * 20) == pytest.approx(float(plain.high[0] - plain.low[0]))
    assert width([1.0, 9.0] * 10) > width([1.0] * 20)


def test_copies_of_a_pair_in_a_cluster_count_about_once() -> None:
    label = np.repeat(np.arange(40) % 3 == 0, 10)
    tally = Tally.from_arrays(y_true=label, y_prob=np.full(400, 0.3), clusters=np.repeat(np.arange(40), 10))
    clustered = bin_intervals(uniform(tally, 1), clustered=tally)
    once = bin_intervals(uniform_bins(label[::10], np.full(40, 0.3), n_bins=1))
    assert clustered.high[0] - clustered.low[0] == pytest.approx(once.high[0] - once.low[0], rel=0.1)


def test_clusters_of_independent_labels_hardly_widen_the_interval() -> None:
    rng = np.random.default_rng(0)
    label, score = rng.random(4000) < 0.3, np.full(4000, 0.3)
    tally = Tally.from_arrays(y_true=label, y_prob=score, clusters=np.repeat(np.arange(400), 10))
    clustered = bin_intervals(uniform(tally, 1), clustered=tally)
    alone = bin_intervals(uniform_bins(label, score, n_bins=1))
    assert clustered.high[0] - clustered.low[0] == pytest.approx(alone.high[0] - alone.low[0], rel=0.1)


def test_clusters_widen_the_interval_of_every_bin_of_rounded_scores() -> None:
    rng = np.random.default_rng(0)
    cluster = np.repeat(np.arange(150), 20)
    score = rng.choice([0.5, 0.7, 0.8, 0.9, 0.95], 3000, p=[0.1, 0.1, 0.1, 0.6, 0.1])
    shared = np.where(rng.random(3000) < 0.55, rng.random(150)[cluster], rng.random(3000))
    tally = Tally.from_arrays(y_true=shared < score, y_prob=score, clusters=cluster)
    bins = display(tally)
    found, alone = bin_intervals(bins, clustered=tally), bin_intervals(bins)
    assert bins.score == pytest.approx([0.5, 0.7, 0.8, 0.9, 0.95])
    effect = ((found.high - found.low) / (alone.high - alone.low)) ** 2
    assert (effect > 1.1).all()
    assert int(np.argmax(effect)) == 3  # twelve pairs of a cluster have the score 0.9, and two each other


def test_clusters_narrow_no_interval_of_bins_that_share_a_tie() -> None:
    cluster = np.repeat(np.arange(40), 10)
    tally = Tally.from_arrays(y_true=cluster % 3 == 0, y_prob=np.full(400, 0.3), clusters=cluster)
    bins = adaptive(tally, n_bins=4)
    found, alone = bin_intervals(bins, clustered=tally), bin_intervals(bins)
    assert ((found.high - found.low) > 2 * (alone.high - alone.low)).all()


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_outside_the_open_unit_interval_is_refused(level: float) -> None:
    with pytest.raises(InputError, match="level is"):
        bin_intervals(uniform_bins([0, 1], [0.1, 0.2], n_bins=1), level=level)


def test_clustered_pairs_need_clusters() -> None:
    tally = Tally.from_arrays(y_true=[0, 1], y_prob=[0.1, 0.2])
    with pytest.raises(InputError, match="the tally has no clusters: tally the pairs with their clusters"):
        bin_intervals(uniform(tally, 1), clustered=tally)


@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_have_the_design_effects_of_their_exact_tally_by_cluster(weighted: bool) -> None:
    rng = np.random.default_rng(3)
    cluster = rng.integers(0, 300, 5000)
    score = rng.beta(0.3, 1.5, 5000)
    label = np.where(rng.random(5000) < 0.5, rng.random(300)[cluster], rng.random(5000)) < score
    weight = rng.exponential(size=5000) if weighted else None
    source = pairs(label, score, sample_weight=weight, clusters=cluster)
    bins = adaptive(pairs(label, score, sample_weight=weight), n_bins=12)
    of_pairs, of_tally = (design_effects(bins, held) for held in (source, Tally.from_pairs(source)))
    assert of_pairs.tolist() == pytest.approx(of_tally.tolist(), rel=1e-9)
    assert of_pairs.max() > 1.1


def test_a_bin_of_few_clusters_has_the_design_effect_of_cr2_and_a_bin_of_one_says_nothing() -> None:
    size, positives = np.array([1, 2, 3, 30]), np.array([1, 0, 3, 12])
    label = np.concatenate([np.arange(n) < k for n, k in zip(size, positives, strict=True)])
    cluster = np.repeat(np.arange(4), size)
    tally = Tally.from_arrays(y_true=label, y_prob=np.full(36, 0.3), clusters=cluster)
    bins, p = uniform(tally, 1), 16 / 36
    variance, _ = cr2(size.astype(float), positives - p * size)
    spread = (variance - 36 * p * (1 - p)) / (p * (1 - p) * (size @ size - 36))
    expected = 1 + (size @ size / 36 - 1) * spread
    assert design_effects(bins, tally).tolist() == pytest.approx([expected])
    label, cluster = np.append(label, [1, 0, 1, 0]), np.append(cluster, [4] * 4)
    more = Tally.from_arrays(y_true=label, y_prob=np.repeat([0.3, 0.9], [36, 4]), clusters=cluster)
    assert design_effects(uniform(more, 2), more)[0] == pytest.approx(expected)


def test_equal_labels_of_a_bin_count_as_one_per_cluster() -> None:
    tally = Tally.from_arrays(y_true=[0] * 1000, y_prob=[0.05] * 1000, clusters=np.arange(1000) // 50)
    found = bin_intervals(uniform(tally, 1), clustered=tally)
    assert found.high[0] == pytest.approx(wilson_of(0, 20), rel=0.2)


def wilson_of(positives: int, n: int) -> float:
    return float(binomtest(positives, n).proportion_ci(method="wilson").high)
