from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.metrics import Pairs, pairs
from calibrant.metrics.binning import adaptive, uniform_bins
from calibrant.metrics.compare import error_difference
from calibrant.metrics.debiased import debiased_squared_error
from calibrant.metrics.intervals import (
    calibration_error,
    calibration_test,
    error_interval,
)
from calibrant.metrics.residuals import residuals
from calibrant.metrics.tails import p_value_of, quantile, two_sided_p_value
from calibrant.metrics.tally import Tally
from calibrant.synthetic import BetaScores, LogitSlope, Shift, sample, squared_error
from tests.quantities import defined


def drawn(n: int, k: float, *, seed: int = 0, cluster_size: int = 1, label_correlation: float = 0.0) -> Pairs:
    found = sample(
        n,
        a=0.5,
        b=0.5,
        transform=Shift(k),
        seed=seed,
        cluster_size=cluster_size,
        label_correlation=label_correlation,
    )
    return pairs(found.label, found.score, clusters=found.cluster)


CLUSTERED: Any = {"cluster_size": 20, "label_correlation": 0.3}


@pytest.mark.parametrize("method", ["inverted", "wald"])
def test_no_interval_reaches_beyond_the_largest_possible_error(method: Any) -> None:
    interval = calibration_error([0, 1] * 20, [1, 0] * 20, method=method)
    assert 0.9 < defined(interval.low) < 1
    assert interval.high == 1
    few = calibration_error([0, 1] * 20, [0.4] * 40, clusters=[0, 1] * 20, method=method)
    assert few.high == 1


def test_the_record_names_its_recipe() -> None:
    record = error_interval(drawn(2000, 0.1, **CLUSTERED), level=0.9)
    assert (record.method, record.level, record.estimand, record.clusters) == ("inverted", 0.9, "rms", 100)
    assert (record.bin_size, record.bins, record.n) == (20, 120, 2000)
    assert 0 <= defined(record.low) < defined(record.estimate) < defined(record.high)
    assert record.reason is None
    assert record.warnings() == ()


def test_a_higher_level_gives_a_wider_interval() -> None:
    source = drawn(5000, 0.1)
    narrow, wide = (error_interval(source, level=level) for level in (0.8, 0.99))
    assert defined(wide.low) < defined(narrow.low) < defined(narrow.high) < defined(wide.high)


@pytest.mark.parametrize(
    ("n", "k", "more", "near"),
    [(3000, 0.05, {}, 1e-9), (2000, 0.1, CLUSTERED, 1e-9), (100_000, 0.1, {}, 0.03)],
    ids=["exact", "clustered", "compressed"],
)
def test_pairs_and_a_tally_give_one_interval(n: int, k: float, more: dict[str, Any], near: float) -> None:
    source, exact = drawn(n, k, **more), n < 100_000
    expected, found = error_interval(source), error_interval(Tally.from_pairs(source, exact=exact))
    assert found.clusters == (100 if more else None)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=near)


def test_correlated_labels_widen_the_interval() -> None:
    source = drawn(20_000, 0.1, cluster_size=20, label_correlation=0.9)
    with_clusters = error_interval(source)
    without = calibration_error(source.label, source.score)
    assert defined(with_clusters.standard_error) > 1.3 * defined(without.standard_error)


def test_few_clusters_give_a_warning_and_a_wider_quantile() -> None:
    source = drawn(900, 0.1, cluster_size=100, label_correlation=0.3)
    record = error_interval(source)
    assert record.clusters == 9
    assert "few clusters: 9" in (record.few_clusters_warning or "")
    assert quantile(0.95, 10) == pytest.approx(2.262, abs=1e-3)
    assert quantile(0.95, 30) == pytest.approx(2.045, abs=1e-3)


def test_one_cluster_has_no_interval_but_a_reason() -> None:
    record = calibration_error([0, 1, 1], [0.2, 0.4, 0.8], clusters=[7, 7, 7])
    assert record.estimate is None
    assert record.low is None
    assert "two clusters" in (record.reason or "")


def test_a_single_pair_has_no_interval_but_a_reason() -> None:
    assert calibration_error([1], [0.3]).high is None


def test_labels_equal_to_scores_have_no_interval_but_a_reason() -> None:
    record = calibration_error([0] * 60 + [1] * 40, [0.0] * 60 + [1.0] * 40)
    assert (record.estimate, record.low, record.high) == (0.0, None, None)
    assert "every score is 0 or 1" in (record.reason or "")


def test_one_class_only_is_allowed() -> None:
    record = calibration_error([0] * 500, np.linspace(0.3, 0.5, 500))
    assert defined(record.low) > 0.2


def test_rare_events_that_did_not_happen_do_not_speak_against_calibration() -> None:
    q = np.full(5000, 1e-5) * np.linspace(0.5, 1.5, 5000)
    source = pairs(np.zeros(5000), q)
    assert error_interval(source).low == 0.0
    p_value = defined(calibration_test(source).p_value)
    assert p_value > 0.2


def test_equal_seeds_give_equal_results() -> None:
    source = drawn(2000, 0.1, **CLUSTERED)
    for method in ("sampling", "bootstrap"):
        one, other = (error_interval(source, method=method, seed=5, samples=50) for _ in range(2))
        assert one == other
        assert one.seed == 5


def test_algorithm_2_is_the_mean_and_sd_of_its_draws() -> None:
    source = drawn(1000, 0.1)
    bins = adaptive(source, size=200)
    record = error_interval(source, method="sampling", bin_size=200, seed=3, samples=1000)
    normal = np.random.default_rng(3).standard_normal((1000, 5))
    p = bins.frequency
    draws = np.clip(p + np.sqrt(p * (1 - p) / bins.n) * normal, 0, 1)
    errors = np.sqrt(((draws - bins.score) ** 2 * bins.n).sum(axis=1) / 1000)
    assert record.low == pytest.approx(errors.mean() - 1.959964 * errors.std(), rel=1e-7)
    assert record.high == pytest.approx(errors.mean() + 1.959964 * errors.std(), rel=1e-7)
    assert record.estimate == pytest.approx(math.sqrt(((p - bins.score) ** 2 * bins.n).sum() / 1000))
    assert record.estimand == "binned rms"


def test_the_thesis_version_is_on_the_square_and_unclipped() -> None:
    source = drawn(1000, 0.1)
    bins = adaptive(source, size=200)
    record = error_interval(source, method="sampling-thesis", bin_size=200, seed=3, samples=1000)
    normal = np.random.default_rng(3).standard_normal((1000, 5))
    p = bins.frequency
    draws = p + np.sqrt(p * (1 - p) / bins.n) * normal
    squares = ((draws - bins.score) ** 2 * bins.n).sum(axis=1) / 1000
    assert record.high == pytest.approx(squares.mean() + 1.959964 * squares.std(), rel=1e-7)
    assert record.estimand == "binned mse"


def test_algorithm_2_draws_once_a_tie() -> None:
    record = calibration_error([0, 1] * 500, [0.4] * 1000, method="sampling", bin_size=100, samples=100)
    assert record.bins == 1


def test_a_bootstrap_of_clusters_agrees_with_resampling_the_pairs() -> None:
    drawn_widely = drawn(3200, 0.2, cluster_size=32, label_correlation=0.3)
    assert drawn_widely.cluster is not None
    source = Pairs(0.3 + 0.4 * drawn_widely.score, drawn_widely.outcome, None, drawn_widely.cluster, 100)
    assert source.cluster is not None
    record = error_interval(source, method="bootstrap", samples=400, bin_size=800)
    rng = np.random.default_rng(1)
    values = []
    table = residuals(source, 800)
    edges = np.sort(source.score)[np.cumsum(table.n[:-1]).astype(int)]
    for _ in range(400):
        chosen = rng.integers(100, size=100)
        rows = np.concatenate([np.flatnonzero(source.cluster == c) for c in chosen])
        u = (source.label - source.score)[rows]
        where = np.searchsorted(edges, source.score[rows], side="right")
        value = 0.0
        for b in range(len(table.n)):
            inside = where == b
            units = source.cluster[rows][inside]
            sums = np.bincount(units, u[inside])
            counts = np.bincount(units)
            size = inside.sum()
            value += (
                size / len(rows) * (u[inside].sum() ** 2 - (sums**2).sum()) / (size**2 - (counts**2).sum())
            )
        values.append(value)
    assert record.standard_error == pytest.approx(float(np.std(values)), rel=0.15)


def test_a_bootstrap_of_counts_agrees_with_a_bootstrap_of_pairs() -> None:
    source = drawn(3000, 0.1)
    by_counts = error_interval(source, method="bootstrap", samples=800, bin_size=300)
    every = Pairs(source.score, source.outcome, np.ones(3000))
    by_pairs = error_interval(every, method="bootstrap", samples=800, bin_size=300)
    assert by_counts.standard_error == pytest.approx(by_pairs.standard_error, rel=0.1)
    assert by_counts.low == pytest.approx(by_pairs.low, rel=0.05)


def test_methods_of_the_test_agree() -> None:
    source = drawn(3000, 0.03, seed=8)
    values = {}
    for method in ("gamma", "redraw", "sign-flip"):
        values[method] = calibration_test(source, method=method, samples=4000).p_value
    assert values["gamma"] is not None
    assert 0.001 < values["gamma"] < 0.3
    assert values["redraw"] == pytest.approx(values["gamma"], abs=0.03)
    assert values["sign-flip"] == pytest.approx(values["gamma"], abs=0.03)


def test_sign_flips_of_clusters_agree_with_the_gamma_distribution() -> None:
    source = drawn(2000, 0.05, seed=2, **CLUSTERED)
    gamma = calibration_test(source, method="gamma")
    flips = calibration_test(source, method="sign-flip", samples=4000)
    assert flips.p_value == pytest.approx(defined(gamma.p_value), abs=0.03)
    assert (flips.samples, flips.seed, gamma.samples, gamma.seed) == (4000, 0, None, None)


def test_signs_of_clusters_do_not_depend_on_the_order_of_rows_or_clusters() -> None:
    rng = np.random.default_rng(4)
    score, cluster, order = rng.random(200), np.arange(200) // 4, rng.permutation(50)
    label = rng.random(200) < score
    moved = np.argsort(order[cluster], kind="stable")
    sources = [
        Pairs(score, label, None, cluster, 50),
        Pairs(score[moved], label[moved], None, np.arange(200) // 4, 50),
    ]
    first, second = (calibration_test(each, method="sign-flip").p_value for each in sources)
    assert first == second


def test_redrawn_labels_are_refused_for_clusters() -> None:
    with pytest.raises(InputError, match="cannot be redrawn"):
        calibration_test(drawn(200, 0.1, **CLUSTERED), method="redraw")


def test_a_gross_error_is_seen_by_every_method() -> None:
    source = drawn(2000, 0.2)
    for method in ("resolutions", "gamma", "normal", "redraw", "sign-flip"):
        p_value = defined(calibration_test(source, method=method, samples=500).p_value)
        assert p_value < 0.01


def test_the_gamma_tail_becomes_the_normal_one_without_skewness() -> None:
    assert p_value_of(1.645, 0.0, 0) == pytest.approx(0.05, abs=1e-4)
    assert p_value_of(1.645, 0.002, 0) == pytest.approx(0.05, abs=1e-3)
    assert p_value_of(1.645, 0.6, 0) > 0.055
    assert p_value_of(1.645, 0.0, 10) > 0.06
    assert two_sided_p_value(1.96, 10) > 0.05


@pytest.mark.parametrize(
    ("argument", "value"), [("method", "magic"), ("level", 1.5), ("bin_size", 0), ("samples", 0)]
)
def test_a_bad_argument_is_named(argument: str, value: object) -> None:
    arguments: dict[str, Any] = {argument: value}
    if argument == "samples":
        arguments["method"] = "bootstrap"
    with pytest.raises(InputError, match=argument):
        calibration_error([0, 1, 1], [0.2, 0.5, 0.7], **arguments)


def test_an_unknown_test_is_named() -> None:
    arguments: dict[str, Any] = {"method": "magic"}
    with pytest.raises(InputError, match="method"):
        calibration_test(drawn(100, 0.1), **arguments)


def test_bins_take_no_bin_size() -> None:
    with pytest.raises(InputError, match="existing bins"):
        error_interval(uniform_bins([0, 1], [0.4, 0.6], n_bins=1), bin_size=20)


def test_weighted_bins_are_not_bootstrapped() -> None:
    source = pairs([0, 1, 1, 0], [0.1, 0.4, 0.6, 0.7], sample_weight=[1, 2, 1, 3])
    with pytest.raises(InputError, match="weighted bins"):
        error_interval(Tally.from_pairs(source, exact=True), method="bootstrap", bin_size=2)


def test_weights_are_used() -> None:
    rng = np.random.default_rng(0)
    q = rng.random(4000)
    y = rng.random(4000) < np.where(q < 0.5, q, q**2)
    weight = np.where(q < 0.5, 1.0, 1e-3)
    heavy = calibration_error(y, q, sample_weight=weight)
    plain = calibration_error(y, q)
    assert defined(plain.low) > defined(heavy.high)


def test_weighted_intervals_cover() -> None:
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(200):
        q = rng.random(1500)
        weight = rng.exponential(size=1500)
        record = calibration_error(rng.random(1500) < np.clip(q + 0.1, 0, 1), q, sample_weight=weight)
        theta = (0.9 * 0.1**2 + 0.1**3 / 3) ** 0.5
        hits += defined(record.low) <= theta <= defined(record.high)
    assert hits >= 180


def test_the_estimate_is_that_of_the_debiased_error() -> None:
    source = drawn(1000, 0.1)
    record = error_interval(source)
    assert record.debiased_squared_error == debiased_squared_error(source.label, source.score)


@pytest.mark.slow
def test_the_interval_of_a_million_pairs_costs_a_few_tallies() -> None:
    rng = np.random.default_rng(0)
    q = rng.beta(0.5, 0.5, 1_000_000)
    cluster = rng.permutation(np.repeat(np.arange(10_000), 100))
    source = pairs(rng.random(1_000_000) < q, q, clusters=cluster)
    plain = pairs(source.label, q)

    def seconds(function: Any) -> float:
        function()
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    tally = seconds(lambda: Tally.from_pairs(plain, exact=False, threads=1))
    assert seconds(lambda: error_interval(source)) < 20 * tally


def logit_normal(
    n: int, rng: np.random.Generator, mean: float, sd: float, slope: float, intercept: float
) -> tuple[Pairs, float]:
    """Pairs with log-odds N(mean, sd) and true log-odds slope z + intercept, and the true squared error."""
    z = mean + sd * (grid := np.linspace(-8, 8, 4001))
    density = np.exp(-(grid**2) / 2)
    theta = float(np.sum(density * (_expit(z) - _expit(slope * z + intercept)) ** 2) / density.sum())
    z = rng.normal(mean, sd, n)
    return pairs(rng.random(n) < _expit(slope * z + intercept), _expit(z)), theta


def _expit(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def _holds(interval: Any, theta: float) -> bool:
    return bool(interval.low**2 <= theta <= interval.high**2)


def shared_scores(items: int, labels: int, rng: np.random.Generator) -> tuple[Pairs, float]:
    """Several labels of each item, which share its score; the item is the cluster."""
    half = LogitSlope(0.5)
    grid = np.sin((np.arange(100_000) + 0.5) / 200_000 * np.pi) ** 2  # quantiles of Beta(0.5, 0.5)
    q = np.repeat(rng.beta(0.5, 0.5, items), labels)
    y = rng.random(len(q)) < half(q)
    return pairs(y, q, clusters=np.repeat(np.arange(items), labels)), float(np.mean((grid - half(grid)) ** 2))


def test_an_error_is_found_where_the_pairs_of_a_cluster_share_a_score() -> None:
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(20):
        source, theta = shared_scores(300, 20, rng)
        found = error_interval(source)
        assert found.estimate == pytest.approx(theta**0.5, rel=0.2)
        held += _holds(found, theta)
    assert held >= 18


def test_an_improvement_is_found_where_the_pairs_of_a_cluster_share_a_score() -> None:
    source, _ = shared_scores(300, 20, np.random.default_rng(12))
    better = Pairs(
        LogitSlope(0.5)(source.score.astype(np.float64)),
        source.outcome,
        None,
        source.cluster,
        source.cluster_count,
    )
    found = error_difference(source, better)
    assert defined(found.mse_difference.low) > 0


def test_rare_events_do_not_bias_the_error_to_zero() -> None:
    rng = np.random.default_rng(13)
    estimates: list[float] = []
    held = 0
    for _ in range(150):
        source, theta = logit_normal(3000, rng, -10, 3, 0.5, -3)
        found = error_interval(source)
        estimates.append(defined(found.debiased_squared_error))
        held += _holds(found, theta)
    assert (np.mean(estimates) - theta) / np.std(estimates) > -0.5
    assert held >= 0.9 * 150


@pytest.mark.parametrize("rows", ["rounded", "appended", "doubled"])
def test_small_changes_of_the_rows_change_the_error_by_less_than_its_standard_error(rows: str) -> None:
    rng = np.random.default_rng(14)
    for _ in range(20):
        source, _ = logit_normal(6000, rng, -9, 3, 0.7, -1)
        y, q = source.label, source.score
        before = calibration_error(y, q)
        if rows == "rounded":
            after = calibration_error(y, np.round(q, 6))
        elif rows == "appended":
            after = calibration_error(np.append(y, [0] * 4), np.append(q, [1e-9] * 4))
        else:
            item = np.arange(len(q))
            after = calibration_error(np.tile(y, 2), np.tile(q, 2), clusters=np.tile(item, 2))
        assert after.debiased_squared_error == pytest.approx(
            before.debiased_squared_error, abs=defined(before.standard_error)
        )


def test_weights_that_depend_on_labels_do_not_bias_the_error() -> None:
    rng = np.random.default_rng(15)
    held, ratio = 0, 20.0
    for _ in range(20):
        found = sample(100_000, a=0.5, b=2, transform=Shift(0.1), seed=int(rng.integers(1 << 30)))
        kept = (found.label == 1) | (rng.random(len(found.label)) < 1 / ratio)
        weight = np.where(found.label == 1, 1.0, ratio)[kept]
        interval = calibration_error(found.label[kept], found.score[kept], sample_weight=weight)
        assert "weights depend on labels" in (interval.weights_warning or "")
        held += _holds(interval, squared_error(BetaScores(0.5, 2), Shift(0.1)))
    assert held >= 17


def test_weights_that_do_not_depend_on_labels_give_no_warning() -> None:
    rng = np.random.default_rng(16)
    q = rng.random(5000)
    for weight in (rng.lognormal(size=5000), np.where(q < 0.5, 1.0, 10.0)):
        found = calibration_error(rng.random(5000) < q, q, sample_weight=weight)
        assert found.weights_warning is None


def test_few_positives_give_a_warning() -> None:
    q = np.linspace(0.001, 0.01, 1000)
    found = calibration_error(np.arange(1000) % 200 == 0, q)
    assert "only 5 positives among 1,000 pairs" in (found.few_positives_warning or "")


@pytest.mark.parametrize(
    ("positives", "n", "few"), [(499, 1_000_000, True), (501, 1_010_000, False), (31, 60_000, False)]
)
def test_positives_that_are_rarer_than_one_in_2000_are_few_below_500(
    positives: int, n: int, few: bool
) -> None:
    """The interval covered 88 % with 100 positives among 10^6 pairs, and with 250 among 2.5 million."""
    tally = Tally.from_arrays(
        y_true=[1] * positives + [0] * (n - positives), y_prob=np.full(n, positives / n)
    )
    assert (error_interval(tally).few_positives_warning is not None) == few


def test_few_labels_that_contradict_scores_near_0_and_1_give_a_warning() -> None:
    q = np.where(np.arange(1000) % 10 == 0, 1.0, 1e-12)
    for wrong, few in ((19, True), (20, False)):
        y = (q > 0.5) ^ (np.arange(1000) % 50 == 1) & (np.arange(1000) < 50 * wrong)
        for found in (calibration_error(y, q), calibration_error(~y, 1 - q)):
            assert (
                "the other side of 0.5 than their scores: only 19" in (found.few_positives_warning or "")
            ) == few


@pytest.mark.parametrize(("score", "n"), [(0.99, 5), (0.99, 20), (0.999, 40), (0.001, 40)])
def test_labels_that_all_agree_with_extreme_scores_exclude_no_error_that_they_have_often(
    score: float, n: int
) -> None:
    found = calibration_error(np.full(n, score > 0.5), np.full(n, score))
    agreeing = 0.025 ** (1 / n)  # the probability of the label with which all n are equal in 2.5 % of samples
    assert defined(found.high) == pytest.approx(max(score, 1 - score) - agreeing)


def test_intervals_of_few_overconfident_scores_cover() -> None:
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        q = np.where(rng.random(15) < 0.5, 0.02, 0.98)
        found = calibration_error(rng.random(15) < np.where(q > 0.5, 0.9, 0.1), q)
        covered.append(defined(found.low) <= 0.08 <= defined(found.high))
    assert np.mean(covered) > 0.95


@pytest.mark.parametrize(("slope", "positives"), [(0.5, 40), (1.5, 40)])
def test_intervals_of_rare_events_cover_with_few_positives(slope: float, positives: int) -> None:
    """They covered 85 to 92 % with 50 to 100 positives, and had a warning."""
    rng = np.random.default_rng(positives)
    held = []
    for _ in range(60):
        intercept = {0.5: -3.6, 1.5: 2.6}[slope]
        source, theta = logit_normal(positives * 500, rng, -8.3, 2.5, slope, intercept)
        interval = error_interval(source)
        held.append(_holds(interval, theta))
    assert np.mean(held) > 0.9


def test_a_wide_bin_gives_a_warning_and_a_cluster_that_has_nearly_all_pairs_a_reason() -> None:
    rng = np.random.default_rng(17)
    q = rng.random(4000)
    y = rng.random(4000) < q
    others = rng.integers(1, 40, 4000)
    cluster = np.arange(4000) % 12
    score = np.linspace(0.05, 0.95, 12)[cluster]
    wide = calibration_error(rng.random(4000) < score, score, clusters=cluster)
    assert "33% of the weight is in one bin, since few of 12 clusters" in (wide.wide_bin_warning or "")
    same = calibration_error(rng.random(4000) < 0.4, np.full(4000, 0.4), clusters=cluster)
    assert same.wide_bin_warning is None
    nearly_all = calibration_error(y, q, clusters=np.where(np.arange(4000) < 3700, 0, others))
    assert nearly_all.low is None
    assert "one cluster has 92% of the weight" in (nearly_all.reason or "")


def test_residuals_are_not_resampled_in_bins() -> None:
    with pytest.raises(InputError, match="a Residuals object has no bins to resample: pass pairs, a tally"):
        error_interval(residuals(drawn(200, 0.1)), method="sampling")


@pytest.mark.parametrize("exponent", [80, 90, 120, 160, 200])
def test_an_error_whose_square_underflows_is_measured_without_an_interval(exponent: int) -> None:
    score = np.tile([10.0**-exponent, 3 * 10.0**-exponent, 1.0, 1.0], 50)
    found = calibration_error(score > 0.5, score)
    assert found.estimate is not None
    assert found.estimate < 1e-79
    assert (found.low, found.high) == (None, None)
    assert "nothing shows the noise of the labels" in str(found.reason)


@pytest.mark.parametrize(("n", "score", "truth"), [(60, 0.9, 0.97), (2000, 0.5, 0.0025), (500, 0.1, 0.004)])
def test_few_contrary_labels_do_not_raise_the_lower_end(n: int, score: float, truth: float) -> None:
    """It was above the true error in 8 to 16 % of samples."""
    random, above = np.random.default_rng(n), 0
    for _ in range(200):
        interval = calibration_error(random.random(n) < truth, np.full(n, score))
        above += interval.low is not None and interval.low > abs(score - truth)
    assert above <= 5
