"""Tests of a difference: SciPy, statsmodels, the lecture, enumeration, simulated error rates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from calibrant.evaluation import (
    adjusted_p_values,
    compare_systems,
    f_of,
    f_sums,
    mcnemar,
    mean_interval,
    minimum_detectable_difference,
    paired_bootstrap,
    paired_permutation,
    paired_t_test,
)
from calibrant.evaluation.comparison import ALLOWED
from calibrant.exceptions import InputError
from calibrant.metrics import calibration_difference
from calibrant_studies._error_rates import (
    cluster_error_rates,
    fold_error_rates,
    item_error_rates,
    robust_p_value,
)
from tests.quantities import defined, limits

# The lecture's F scores of two systems over 2 x 5 folds.
FIRST = [0.67, 0.63, 0.68, 0.65, 0.69, 0.61, 0.64, 0.67, 0.68, 0.65]
SECOND = [0.65, 0.66, 0.67, 0.68, 0.61, 0.62, 0.63, 0.66, 0.69, 0.60]


def percent(*ends: float | None) -> list[str]:
    return [f"{100 * end:.2f}" for end in ends if end is not None]


def test_the_lecture_has_its_interval_to_the_last_digit() -> None:
    found = mean_interval(FIRST, test_train_ratio=1 / 4)
    assert percent(found.mean.estimate, found.mean.low, found.mean.high) == ["65.70", "62.30", "69.10"]
    assert f"{found.standard_deviation.estimate:.4f}" == "0.0254"
    assert found.plain is not None
    assert percent(found.plain.low, found.plain.high) == ["63.88", "67.52"]


def test_the_comparison_prints_the_lectures_interval_beside_the_corrected_one() -> None:
    found = compare_systems(["a", "b"], [FIRST, SECOND], unit="fold", test_train_ratio=1 / 4)
    heading, first = (line.split("  ") for line in found.to_text().splitlines()[1:3])
    assert [text.strip() for text in heading if text][-3:] == ["95 % interval", "as if independent", "sd"]
    assert [text.strip() for text in first if text][-3:] == ["[0.6230, 0.6910]", "[0.6388, 0.6752]", "0.0254"]
    unknown = compare_systems(["a", "b"], [FIRST, SECOND], unit="fold")
    assert percent(unknown.systems[0].mean.low, unknown.systems[0].mean.high) == ["63.88", "67.52"]
    assert "as if independent" not in unknown.to_text()


def test_only_intervals_of_items_extend_on_the_side_of_the_skewness() -> None:
    values = np.random.default_rng(4).exponential(size=30)
    items, folds = limits(mean_interval(values).mean), limits(mean_interval(values, unit="fold").mean)
    assert folds[1] - folds[0] == pytest.approx(folds[2] - folds[1])
    assert items[0] == pytest.approx(folds[0])
    assert items[2] > folds[2]
    assert mean_interval(values**5, unit="fold").warning is None
    test = paired_t_test(values, 0 * values, unit="fold")
    assert limits(test.difference) == pytest.approx(folds)
    with pytest.raises(InputError, match="unit is 'folds'"):
        mean_interval(values, unit="folds")


@pytest.mark.parametrize(
    ("repeats", "folds", "freedom"),
    [(2, 5, 9), (1, 10, 9), (10, 10, 9), (5, 2, 5), (20, 2, 9), (1, 20, 19), (3, 20, 19)],
)
def test_repeats_add_no_degrees_of_freedom_to_the_corrected_t(repeats: int, folds: int, freedom: int) -> None:
    gap = np.random.default_rng(0).normal(size=repeats * folds)
    found = paired_t_test(gap, 0 * gap, test_train_ratio=1 / (folds - 1))
    error = gap.std(ddof=1) * math.sqrt(1 / len(gap) + 1 / (folds - 1))
    half = stats.t.ppf(0.975, freedom) * error
    assert found.freedom == freedom
    assert limits(found.difference) == pytest.approx((gap.mean() - half, gap.mean(), gap.mean() + half))
    assert found.p_value == pytest.approx(2 * stats.t.sf(abs(gap.mean()) / error, freedom))
    plain = mean_interval(gap, test_train_ratio=1 / (folds - 1)).plain
    expected = stats.ttest_1samp(gap, 0).confidence_interval(0.95)
    assert limits(plain)[::2] == pytest.approx(tuple(expected))


def test_the_lecture_has_its_test_to_the_last_digit() -> None:
    found = paired_t_test(FIRST, SECOND, alternative="greater", test_train_ratio=1 / 4)
    assert percent(found.difference.estimate) == ["1.00"]
    assert found.plain is not None
    assert f"{found.standard_deviation:.3f} {found.plain.t:.3f} {found.critical:.3f}" == "0.034 0.921 1.833"
    assert f"{found.t:.4f}" == "0.4925"
    assert (found.wins, found.ties, found.losses) == (6, 0, 4)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_plain_test_is_that_of_scipy(alternative: Any) -> None:
    random = np.random.default_rng(0)
    first, second = random.random(25), random.random(25) - 0.1
    found = paired_t_test(first, second, alternative=alternative)
    expected = stats.ttest_rel(first, second, alternative=alternative)
    assert (found.t, found.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    interval = stats.ttest_rel(first, second).confidence_interval(0.95)
    low, _, high = limits(found.difference)
    assert min(abs(low - interval.low), abs(high - interval.high)) < 1e-12
    assert low <= interval.low + 1e-12
    assert high >= interval.high - 1e-12


def test_the_interval_of_skewed_values_ends_where_halls_transformation_of_t_does() -> None:
    values = np.random.default_rng(4).exponential(size=30)
    low, _, high = limits(mean_interval(values).mean)
    n, z = len(values), (values - values.mean()) / values.std()
    error, skewness, t = values.std(ddof=1) / math.sqrt(n), np.mean(z**3), stats.t.ppf(0.975, n - 1)
    assert low == pytest.approx(values.mean() - t * error)
    statistic = (values.mean() - high) / error  # t of the upper end
    root = skewness / math.sqrt(n)
    assert statistic + root * (statistic**2 / 3 + 1 / 6) + root**2 * statistic**3 / 27 == pytest.approx(-t)


def test_intervals_of_skewed_values_cover_what_they_state() -> None:
    rng = np.random.default_rng(6)
    held = []
    for seed in range(1000):
        few, many = rng.exponential(size=20), np.exp(rng.normal(size=40))
        resampled = paired_bootstrap(many, np.zeros(40), samples=500, seed=seed)
        ends = map(limits, (mean_interval(few).mean, resampled.difference))
        held.append(
            [low <= truth <= high for (low, _, high), truth in zip(ends, (1, np.exp(0.5)), strict=True)]
        )
    # The intervals cover 0.954 and 0.922 in 6,000 samples, and Student's 0.921 and 0.886.
    assert (np.mean(held, axis=0) > [0.94, 0.92]).all()


def test_two_sided_neither_system_is_better_if_the_interval_contains_0() -> None:
    gap = np.r_[np.full(30, 0.05), np.full(4, -0.13), np.full(2, 0.05)] + np.linspace(0, 1e-3, 36)
    found = compare_systems(["a", "b"], [gap, np.zeros(36)], unit="item").pairs[0]
    low, _, high = limits(found.difference)
    assert found.p_value is not None
    assert (found.p_value < 0.05, low < 0 < high, found.better) == (True, True, None)


def test_one_sided_no_system_is_better_if_an_interval_with_one_such_end_contains_0() -> None:
    gap = np.r_[np.full(30, 0.05), np.full(4, -0.18), np.full(2, 0.05)] + np.linspace(0, 1e-3, 36)
    found = compare_systems(["a", "b"], [gap, np.zeros(36)], alternative="greater").pairs[0]
    low, _, high = limits(paired_t_test(gap, np.zeros(36), level=0.9).difference)
    swapped = defined(found.permutation).p_value
    assert found.p_value is not None
    assert swapped is not None
    assert (max(found.p_value, swapped) < 0.05, low < 0 < high, found.better) == (True, True, None)


def test_too_few_samples_to_show_a_better_system_are_the_stated_reason() -> None:
    gap = np.linspace(0.5, 1.5, 40)
    found = compare_systems(["a", "b"], [gap, 0 * gap], level=0.999, samples=100).pairs[0]
    assert found.better is None
    assert [text.rpartition(" without ")[2] for _, text in found.remarks()] == [
        "more samples of the permutation test"
    ]
    assert defined(found.permutation).warning == "with 100 samples, the smallest possible p-value is 0.0099"


def test_few_clusters_to_show_a_better_system_are_the_stated_reason() -> None:
    gap, cluster = np.linspace(0.5, 1.5, 60), np.arange(60) % 3
    found = compare_systems(["a", "b"], [gap, 0 * gap], clusters=cluster).pairs[0]
    assert (found.better, [text.rpartition(" ")[2] for _, text in found.remarks()][-1]) == (None, "clusters")


def test_a_bootstrap_of_few_huge_values_has_the_interval_of_others() -> None:
    values = np.array([1.0, 2, 3, 9])
    expected = limits(mean_interval(values).mean)
    found = paired_bootstrap(1e150 * values, 0 * values).difference
    assert np.array(limits(found)) / 1e150 == pytest.approx(expected, rel=1e-6)


def test_few_items_without_clusters_are_not_called_clusters() -> None:
    assert "the 4 items count as" in (paired_bootstrap([1.0, 2, 3, 9], [0.0] * 4).warning or "")


def test_no_system_is_better_if_they_differ_on_too_few_items_for_the_permutation_test() -> None:
    found = compare_systems(["a", "b"], [[1] * 40, [0] * 4 + [1] * 36], unit="item").pairs[0]
    assert found.p_value is not None
    assert (found.p_value < 0.05, defined(found.permutation).p_value, found.better) == (True, 0.125, None)


def test_the_corrected_variance_is_that_of_nadeau_and_bengio() -> None:
    gap = np.array(FIRST) - np.array(SECOND)
    found = paired_t_test(FIRST, SECOND, test_train_ratio=0.25)
    t = gap.mean() / math.sqrt(gap.var(ddof=1) * (1 / 10 + 0.25))
    assert found.t == pytest.approx(t)
    assert found.p_value == pytest.approx(2 * stats.t.sf(t, 9))


def test_without_the_ratio_the_test_is_the_plain_one() -> None:
    plain, corrected = (paired_t_test(FIRST, SECOND, test_train_ratio=ratio) for ratio in (None, 0.25))
    assert corrected.plain is not None
    assert (plain.plain, plain.t, plain.p_value) == (None, corrected.plain.t, corrected.plain.p_value)
    symmetric = [-2, -1, 0, 1, 2, 2]
    symmetric = [*symmetric, *(4 - value for value in symmetric)]
    mean, folds = mean_interval(symmetric), mean_interval(symmetric, test_train_ratio=0.25)
    assert folds.plain is not None
    assert limits(mean.mean) == pytest.approx(limits(folds.plain))


def test_clusters_of_one_item_change_nothing_and_copies_count_once() -> None:
    random = np.random.default_rng(1)
    first, second = random.random(40), random.random(40)
    plain = paired_t_test(first, second)
    ones = paired_t_test(first, second, clusters=np.arange(40))
    assert (ones.t, ones.p_value) == pytest.approx((plain.t, plain.p_value))
    copies = paired_t_test(np.tile(first, 3), np.tile(second, 3), clusters=np.tile(np.arange(40), 3))
    assert (copies.t, copies.p_value) == pytest.approx((plain.t, plain.p_value))


def test_ties_everywhere_leave_the_test_undefined() -> None:
    for first, second in ((FIRST, FIRST), ([0.3, 0.2], [0.2, 0.1])):
        found = paired_t_test(first, second, test_train_ratio=0.25)
        assert found.t is None
        assert found.p_value is None
        assert found.reason == defined(found.plain).reason == "all differences of the systems are equal"
    assert paired_t_test(FIRST, FIRST).ties == 10


def test_intervals_of_skewed_values_that_cover_too_little_have_a_warning() -> None:
    rng = np.random.default_rng(0)
    held, warned = [], []
    for seed in range(60):
        values = np.exp(rng.normal(0, 1.5, 40))
        t, resampled = mean_interval(values), paired_bootstrap(values, np.zeros(40), samples=500, seed=seed)
        held += [low <= np.exp(1.125) <= high for low, _, high in map(limits, (t.mean, resampled.difference))]
        warned += [t.warning is not None, resampled.warning is not None]
    assert np.mean(held) < 0.95
    assert np.mean(warned) > 0.4


def test_intervals_of_values_that_are_not_skewed_have_no_warning() -> None:
    rng = np.random.default_rng(0)
    assert not any(mean_interval(rng.normal(size=n)).warning for n in [5, 10, 30] * 20)
    assert mean_interval(rng.exponential(size=1000)).warning is None
    assert paired_bootstrap(rng.normal(size=100), np.zeros(100), samples=500).warning is None


@pytest.mark.parametrize("values", [[1, 1, 1, 1], [0.1, 0.1, 0.1]])
def test_equal_values_have_no_interval(values: list[float]) -> None:
    found = mean_interval(values)
    assert found.mean.estimate == pytest.approx(values[0])
    assert (found.mean.low, found.mean.high) == (None, None)
    assert found.mean.reason == "all values are equal"
    assert found.standard_deviation.estimate == pytest.approx(0)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e99])
def test_the_scale_of_skewed_values_does_not_matter(scale: float) -> None:
    values = np.random.default_rng(0).exponential(size=30)
    found, scaled = (limits(mean_interval(factor * values).mean) for factor in (1.0, scale))
    assert np.array(scaled) / scale == pytest.approx(np.array(found))


@pytest.mark.parametrize("level", [0.01, 0.5, 0.9, 0.99, 0.9999])
@pytest.mark.parametrize("n", [2, 3, 30, 1000])
def test_the_longer_end_is_at_most_twice_as_far_out_as_students(n: int, level: float) -> None:
    values = np.r_[np.zeros(n - 1), 1.0]
    low, mean, high = limits(mean_interval(values, level=level).mean)
    t = stats.t.ppf((1 + level) / 2, n - 1) * values.std(ddof=1) / math.sqrt(n)
    assert mean - low == pytest.approx(t)
    assert 1 <= (high - mean) / t + 1e-9 <= (10 if level == 0.01 else 2)


def test_one_fold_has_no_interval() -> None:
    found = mean_interval([0.5])
    assert (found.mean.estimate, found.mean.low, found.standard_deviation.estimate) == (0.5, None, None)
    assert found.mean.reason == "one value has no variance"
    assert paired_t_test([1], [0]).reason == "one value has no variance"


@pytest.mark.parametrize("method", ["holm", "benjamini-hochberg"])
def test_adjusted_p_values_are_those_of_statsmodels(method: Any) -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    p = np.random.default_rng(2).random(30) ** 3
    name = {"holm": "holm", "benjamini-hochberg": "fdr_bh"}[method]
    assert adjusted_p_values(p.tolist(), method) == pytest.approx(multitest.multipletests(p, method=name)[1])


def test_benjamini_hochberg_is_that_of_scipy() -> None:
    p = np.random.default_rng(3).random(20) ** 2
    assert adjusted_p_values(p.tolist(), "benjamini-hochberg") == pytest.approx(
        stats.false_discovery_control(p)
    )


def test_undefined_p_values_stay_and_do_not_count() -> None:
    assert adjusted_p_values([None, 0.02, None, 0.03]) == [None, 0.04, None, 0.04]
    with pytest.raises(InputError, match="p-values are in"):
        adjusted_p_values([1.5])


def test_mcnemar_is_the_binomial_test_and_that_of_statsmodels() -> None:
    random = np.random.default_rng(4)
    first, second = random.random(80) < 0.8, random.random(80) < 0.7
    found = mcnemar(first, second)
    expected = stats.binomtest(found.first_only, found.first_only + found.second_only).pvalue
    assert found.p_value == pytest.approx(expected)
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    table = [[found.both, found.first_only], [found.second_only, found.neither]]
    for exact in (True, False):
        theirs, ours = tables.mcnemar(table, exact=exact), mcnemar(first, second, exact=exact)
        assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_exact_tests_of_systems_that_do_not_differ_have_a_p_value_of_1() -> None:
    exact = mcnemar([1, 0], [1, 0])
    assert (exact.p_value, exact.reason) == (1.0, None)
    assert mcnemar([1, 0], [1, 0], exact=False).reason == "the systems do not differ on any unit"
    f_scores = f_sums([1, 1, 0], [1, 0, 0], 1), f_sums([1, 1, 0], [1, 0, 0], 1)
    for found in (paired_permutation(FIRST, FIRST), paired_permutation(*f_scores, statistic=f_of)):
        assert (found.difference.estimate, found.p_value, found.exact, found.reason) == (0.0, 1.0, True, None)


@pytest.mark.parametrize("copies", [1, 8])  # Student's t and the bootstrap
def test_systems_that_differ_by_a_constant_are_not_said_to_be_the_same(copies: int) -> None:
    second = np.tile([0.5, 0.6, 0.7, 0.8, 0.4], copies)
    first = second + 0.1
    tested, resampled = paired_t_test(first, second), paired_bootstrap(first, second)
    assert tested.standard_deviation == 0.0
    assert tested.reason == resampled.reason == "all differences of the systems are equal"
    assert paired_bootstrap(first, first).reason == "the systems do not differ on any unit"
    assert defined(paired_permutation(first, second).p_value) <= 2 / 2**5
    clustered = paired_bootstrap(first, second, clusters=np.arange(5 * copies) % (5 * copies // 2))
    assert clustered.reason == "all differences of the systems are equal"


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_permutation_looks_at_every_swap(alternative: Any) -> None:
    random = np.random.default_rng(5)
    first, second = random.random(9), random.random(9)
    gap = first - second
    every = np.array([np.mean(gap * signs) for signs in itertools.product((1, -1), repeat=9)])
    extreme = {
        "two-sided": np.abs(every) >= abs(gap.mean()) - 1e-12,
        "greater": every >= gap.mean() - 1e-12,
        "less": every <= gap.mean() + 1e-12,
    }
    found = paired_permutation(first, second, alternative=alternative)
    assert found.exact
    assert found.p_value == pytest.approx(extreme[alternative].mean())


def test_a_permutation_of_many_units_is_that_of_scipy() -> None:
    random = np.random.default_rng(6)
    first, second = random.random(60), random.random(60) - 0.08
    found = paired_permutation(first, second, samples=20_000)
    expected = stats.permutation_test(
        (first, second),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=20_000,
        random_state=np.random.default_rng(0),
        vectorized=True,
    )
    assert found.p_value == pytest.approx(expected.pvalue, abs=0.01)


def test_a_permutation_of_f_scores_swaps_predictions() -> None:
    random = np.random.default_rng(7)
    gold = random.random(10) < 0.5
    first, second = gold ^ (random.random(10) < 0.2), gold ^ (random.random(10) < 0.5)

    def gap(swap: Any) -> float:
        one, other = np.where(swap, second, first), np.where(swap, first, second)
        return float(
            f_of(f_sums(gold, one).sum(axis=0)[None])[0] - f_of(f_sums(gold, other).sum(axis=0)[None])[0]
        )

    every = np.array([gap(np.array(swap)) for swap in itertools.product((False, True), repeat=10)])
    seen = gap(np.zeros(10, bool))
    found = paired_permutation(f_sums(gold, first), f_sums(gold, second), statistic=f_of)
    assert found.difference.estimate == pytest.approx(seen)
    assert found.p_value == pytest.approx(np.mean(np.abs(every) >= abs(seen) - 1e-12))


def test_the_paired_bootstrap_agrees_with_the_t_test_on_many_items() -> None:
    random = np.random.default_rng(8)
    first = random.random(400)
    second = first - random.normal(0.02, 0.2, 400)
    found, expected = paired_bootstrap(first, second, samples=8000), paired_t_test(first, second)
    assert (found.difference.low, found.difference.high) == pytest.approx(
        (expected.difference.low, expected.difference.high), abs=2e-3
    )
    assert found.p_value == pytest.approx(expected.p_value, abs=0.02)


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
@pytest.mark.parametrize("n", [7, 12, 35])
def test_a_permutation_of_skewed_differences_warns_where_it_claims_too_much(n: int, alternative: Any) -> None:
    rng = np.random.default_rng(11)
    rejected = silent = 0
    for seed in range(300):
        gap = np.exp(rng.normal(0, 1.3, n)) - np.exp(1.3**2 / 2)
        found = paired_permutation(gap, 0 * gap, alternative=alternative, samples=200, seed=seed)
        rejected += defined(found.p_value) <= 0.05
        silent += defined(found.p_value) <= 0.05 and found.warning is None
    assert rejected > 0.12 * 300
    assert silent <= 0.06 * 300


def test_a_permutation_of_right_and_wrong_or_without_a_difference_does_not_warn_of_skewness() -> None:
    first, second = np.ones(60), np.r_[np.zeros(12), np.ones(48)]
    assert defined(paired_permutation(first, second).p_value) < 0.01
    assert paired_permutation(first, second).warning is None
    assert paired_permutation(np.r_[np.ones(58), 0, 0], second).warning is None
    skewed = np.random.default_rng(0).exponential(size=30) - 1
    assert paired_permutation(skewed, 0 * skewed).warning is None


def test_resampled_tests_know_clusters() -> None:
    random = np.random.default_rng(9)
    cluster = np.repeat(np.arange(30), 8)
    gap = np.repeat(random.normal(0.1, 0.5, 30), 8)
    zero = np.zeros(240)
    for test in (paired_bootstrap, paired_permutation):
        alone, together = test(gap, zero).p_value, test(gap, zero, clusters=cluster).p_value
        assert defined(alone) < 0.01 < defined(together)


def test_power_is_that_of_statsmodels() -> None:
    power = pytest.importorskip("statsmodels.stats.power")
    cases: list[tuple[int, Any, str]] = [(20, "two-sided", "two-sided"), (300, "greater", "larger")]
    for n, alternative, theirs in cases:
        found = minimum_detectable_difference(2.0, n, alternative=alternative)  # in units of 2
        expected = power.TTestPower().solve_power(nobs=n, alpha=0.05, power=0.8, alternative=theirs)
        assert defined(found.detectable) / 2 == pytest.approx(expected, rel=1e-6)
    needed = minimum_detectable_difference(1.0, 20, difference=0.25).needed
    expected = power.TTestPower().solve_power(effect_size=0.25, alpha=0.05, power=0.8)
    assert needed == math.ceil(expected)


def test_no_more_items_are_needed_where_there_are_enough() -> None:
    few, many = (minimum_detectable_difference(1.0, n, difference=0.25) for n in (20, 1000))
    assert few.needed == many.needed
    assert (few.more, many.more) == ((few.needed or 0) - 20, 0)


def test_items_that_are_needed_find_the_difference_as_often_as_said() -> None:
    needed = defined(minimum_detectable_difference(1.0, 20, difference=0.4).needed)
    draws = np.random.default_rng(10).normal(0.4, 1, (4000, needed))
    p = stats.ttest_1samp(draws, 0, axis=1).pvalue
    assert np.mean(p <= 0.05) == pytest.approx(0.8, abs=0.02)


def test_what_cannot_be_settled_is_undefined_with_a_reason() -> None:
    cases: list[tuple[float, Any]] = [(0.0, "two-sided"), (-0.1, "greater"), (0.1, "less")]
    for difference, alternative in cases:
        found = minimum_detectable_difference(1.0, 9, difference=difference, alternative=alternative)
        assert (found.needed, found.reason) == (None, "the difference is 0")


def test_repeats_tell_the_ratio() -> None:
    found = compare_systems(["a", "b"], [FIRST, SECOND], unit="fold", repeat=[1] * 5 + [2] * 5)
    assert (found.repeats, found.test_train_ratio) == (2, 0.25)
    assert found.pairs[0].t == pytest.approx(0.4925, abs=1e-4)


def test_repeats_of_unequal_size_or_one_fold_do_not_tell_it() -> None:
    for repeat, reason in (
        ([1] * 4 + [2] * 6, "different numbers of folds"),
        (list(range(10)), "has one fold"),
    ):
        found = compare_systems(["a", "b"], [FIRST, SECOND], unit="fold", repeat=repeat)
        assert found.test_train_ratio is None
        assert reason in (found.folds_warning or "")
        assert found.pairs[0].plain is None
        assert "ignores that folds share training data" in (found.pairs[0].difference.warning or "")
        assert found.pairs[0].better is None


def test_two_repeats_with_the_same_scores_have_a_warning_that_names_them() -> None:
    random = np.random.default_rng(5)
    scores = random.random((2, 15))
    repeat = ["x"] * 5 + ["y"] * 5 + ["z"] * 5
    found = compare_systems(["a", "b"], scores, unit="fold", repeat=repeat)
    assert found.folds_warning == ALLOWED
    scores[:, 10:] = scores[:, random.permutation(5)]  # folds in another order
    for ratio in (None, 0.25):
        copied = compare_systems(["a", "b"], scores, unit="fold", repeat=repeat, test_train_ratio=ratio)
        assert (copied.folds_warning or "").startswith(f"{ALLOWED}; repeats x and z have the same scores")
    scores[1, 10] += 0.01  # of one system
    found = compare_systems(["a", "b"], scores, unit="fold", repeat=repeat)
    assert found.folds_warning == ALLOWED


def test_repeats_of_one_fold_or_of_equal_scores_are_not_taken_for_copies() -> None:
    cases: list[tuple[list[list[float]], list[int]]] = [
        ([[1, 1, 0], [0, 0, 1]], [1, 2, 3]),
        ([[1] * 6, [0.5] * 4 + [1, 0]], [1, 1, 2, 2, 3, 3]),
    ]
    for scores, repeat in cases:
        found = compare_systems(["a", "b"], scores, unit="fold", repeat=repeat)
        assert "the same scores" not in (found.folds_warning or "")


def test_a_ratio_far_from_that_of_the_folds_has_a_warning() -> None:
    repeat = [1] * 5 + [2] * 5
    for ratio, far in ((0.1, True), (0.125, False), (0.5, False), (1, True)):
        found = compare_systems(
            ["a", "b"], [FIRST, SECOND], unit="fold", repeat=repeat, test_train_ratio=ratio
        )
        note = f"; the ratio given is {ratio}, but 5 folds per repeat have 0.25" if far else ""
        assert found.folds_warning == ALLOWED + note
    for bad in (0, -1, math.nan):
        with pytest.raises(InputError, match="test_train_ratio is"):
            compare_systems(["a", "b"], [FIRST, SECOND], unit="fold", repeat=repeat, test_train_ratio=bad)


def test_the_better_system_is_named_by_the_adjusted_test() -> None:
    random = np.random.default_rng(11)
    base = random.random(300)
    scores = [base, base + random.normal(0.05, 0.1, 300), base + random.normal(0, 0.1, 300)]
    found = compare_systems(["a", "b", "c"], scores, samples=200)
    assert [(pair.first, pair.second, pair.better) for pair in found.pairs] == [
        ("a", "b", "b"), ("a", "c", None), ("b", "c", "b"),
    ]  # fmt: skip
    lower = compare_systems(["a", "b", "c"], scores, samples=200, higher_is_better=False, baseline="a")
    assert [(pair.first, pair.better) for pair in lower.pairs] == [("b", "a"), ("c", None)]


def test_wins_and_correct_items_are_those_of_the_better_score_if_lower_is_better() -> None:
    right = np.array([[1, 0, 1, 1, 1, 0], [0, 0, 1, 0, 1, 1]])
    for higher, scores in ((True, right), (False, 1 - right)):
        (pair,) = compare_systems(["a", "b"], scores, samples=200, higher_is_better=higher).pairs
        assert (pair.wins, pair.ties, pair.losses) == (2, 3, 1)
        assert pair.mcnemar is not None
        assert (pair.mcnemar.first_only, pair.mcnemar.second_only) == (2, 1)
        assert (pair.mcnemar.both, pair.mcnemar.neither) == (2, 1)


def test_items_have_no_ratio_and_folds_no_clusters() -> None:
    with pytest.raises(InputError, match="scores of items have no repeats"):
        compare_systems(["a", "b"], [FIRST, SECOND], test_train_ratio=0.25)
    with pytest.raises(InputError, match="folds have no clusters"):
        compare_systems(["a", "b"], [FIRST, SECOND], unit="fold", clusters=range(10))
    with pytest.raises(InputError, match="twice"):
        compare_systems(["a", "a"], [FIRST, SECOND])
    with pytest.raises(InputError, match="there is no system 'x'"):
        compare_systems(["a", "b"], [FIRST, SECOND], baseline="x")
    with pytest.raises(InputError, match=r"first\[0\] is nan"):
        paired_t_test([math.nan, 1], [1, 2])


# Clusters.


def test_the_t_test_of_clusters_is_cr2_with_satterthwaites_degrees_of_freedom() -> None:
    random = np.random.default_rng(12)
    size = np.array([60, 5, 5, 5, 5, 20])
    cluster = np.repeat(np.arange(6), size)
    gap = random.normal(0.1, 1, 100)
    found = paired_t_test(gap, np.zeros(100), clusters=cluster)
    # The definition, with matrices: Bell and McCaffrey (2002), working model of independent items.
    centering = np.eye(100) - np.full((100, 100), 0.01)
    residual = centering @ gap
    variance, directions = 0.0, []
    for name in range(6):
        own = cluster == name
        values, vectors = np.linalg.eigh(centering[np.ix_(own, own)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        weight = root @ np.ones(own.sum()) / 100
        variance += float(weight @ residual[own]) ** 2
        directions.append(centering[:, own] @ weight)
    products = np.array(directions) @ np.array(directions).T
    freedom = np.trace(products) ** 2 / float((products**2).sum())
    assert found.freedom == pytest.approx(freedom)
    assert defined(found.t) == pytest.approx(gap.mean() / math.sqrt(variance))
    assert "6 clusters count as 2.4 equal clusters" in (found.warning or "")


def test_a_bootstrap_of_few_clusters_is_replaced_by_students_t() -> None:
    random = np.random.default_rng(13)
    first, second, cluster = random.random(80), random.random(80), np.repeat(np.arange(8), 10)
    found = paired_bootstrap(first, second, clusters=cluster)
    expected = paired_t_test(first, second, clusters=cluster)
    assert found.method == "t"
    assert (found.p_value, found.difference.low, found.difference.high) == pytest.approx(
        (expected.p_value, expected.difference.low, expected.difference.high), rel=1e-4
    )
    many = paired_bootstrap(first, second, clusters=np.repeat(np.arange(40), 2))
    dominant = paired_bootstrap(first, second, clusters=np.repeat(np.arange(41), [40] + [1] * 40))
    assert (many.method, dominant.method) == ("bootstrap", "t")


def test_a_permutation_that_cannot_reject_says_so() -> None:
    found = paired_permutation([1.0, 2, 3, 4, 5], [0.0] * 5)
    assert found.p_value == 0.0625
    assert found.warning == "with 5 differing units, the smallest possible p-value is 0.0625"
    assert paired_permutation([1.0] * 6, [0.0] * 6).warning is None
    assert "fewer than 10 units" in defined(paired_permutation([1.0, 2, 3, 4, 5, 6], [0.0] * 6).warning)


def test_power_with_few_clusters_has_their_degrees_of_freedom() -> None:
    plain = minimum_detectable_difference(1.0, 60, difference=0.3)
    few = minimum_detectable_difference(1.0, 60, difference=0.3, freedom=5)
    assert defined(few.detectable) > 1.1 * defined(plain.detectable)
    assert defined(few.needed) > defined(plain.needed)


@pytest.mark.parametrize(("clusters", "sizes"), [(5, "equal"), (8, "one with half"), (40, "one with half")])
def test_tests_of_few_or_dominant_clusters_hold_their_level(clusters: int, sizes: str) -> None:
    found = cluster_error_rates(6, 200, clusters=clusters, sizes=sizes)
    ignorant = found.pop("statsmodels"), found.pop("cluster bootstrap")
    for name, rate in found.items():
        assert rate <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200), name
    assert max(ignorant) > 0.07


def test_the_peer_of_the_study_is_statsmodels() -> None:
    api = pytest.importorskip("statsmodels.api")
    random = np.random.default_rng(14)
    cluster = np.repeat(np.arange(6), [9, 3, 5, 8, 2, 13])
    gap = random.normal(0.2, 1, 40)
    fit = api.OLS(gap, np.ones(40)).fit(cov_type="cluster", cov_kwds={"groups": cluster}, use_t=True)
    ours = robust_p_value(np.bincount(cluster).astype(float), np.bincount(cluster, gap).astype(float))
    assert ours == pytest.approx(fit.pvalues[0], rel=1e-6)


# How often a test at 5 % finds a difference where there is none.


def test_on_folds_the_plain_test_errs_and_the_corrected_one_does_not() -> None:
    plain, corrected = fold_error_rates(1, 500, repeats=2, folds=5)
    assert plain > 0.12
    assert corrected <= 0.06
    plain, corrected = fold_error_rates(2, 250, repeats=10, folds=10)
    assert plain > 0.45
    assert corrected <= 0.06


@pytest.mark.slow
def test_on_repeated_folds_of_stable_learners_the_corrected_test_errs_as_often_as_it_says() -> None:
    # With 99 degrees of freedom, it would err in 8 % of data sets.
    _, corrected = fold_error_rates(4, 1500, repeats=10, folds=10, learner="ridge")
    assert corrected <= 0.065


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["nearest mean", "ridge"])
@pytest.mark.parametrize(("repeats", "folds"), [(2, 5), (1, 10), (5, 2), (10, 10)], ids=str)
def test_on_many_folds_the_corrected_test_errs_at_most_six_times_in_a_hundred(
    repeats: int, folds: int, learner: str
) -> None:
    _, corrected = fold_error_rates(3, 4000, repeats=repeats, folds=folds, learner=learner)
    assert corrected <= 0.06 + 2 * math.sqrt(0.06 * 0.94 / 4000)


def test_on_items_every_test_errs_as_often_as_it_says() -> None:
    for name, rate in item_error_rates(4, 150).items():
        assert rate <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 150), name


@pytest.mark.slow
@pytest.mark.parametrize("cluster_size", [1, 5])
def test_on_items_and_clusters_every_test_errs_about_as_often_as_it_says(cluster_size: int) -> None:
    found = item_error_rates(5, 1500, cluster_size=cluster_size)
    ignorant = found.pop("t-test without the clusters", 1.0)
    for name, rate in found.items():
        assert 0.01 <= rate <= 0.085, name
    assert ignorant > 0.15


def test_a_difference_that_few_items_carry_has_a_warning() -> None:
    first, second = np.ones(200), np.ones(200)
    second[:4], first[4] = 0, 0
    assert "on 5 items only" in (
        compare_systems(["a", "b"], [first, second]).pairs[0].difference.warning or ""
    )
    second[:11] = 0
    assert compare_systems(["a", "b"], [first, second]).pairs[0].difference.warning is None


def test_the_interval_of_a_bootstrap_agrees_with_its_p_value_for_rare_errors_in_clusters() -> None:
    rng = np.random.default_rng(3)
    held = []
    for seed in range(200):
        cluster = np.repeat(np.arange(40), 10)
        first, second = (rng.random(400) < rng.beta(0.28, 5.4, 40)[cluster] for _ in range(2))
        found = paired_bootstrap(first, second, clusters=cluster, samples=500, seed=seed).difference
        held.append(defined(found.low) <= 0 <= defined(found.high))
    assert np.mean(held) > 0.92


@pytest.mark.parametrize("clustered", [False, True])
def test_the_interval_of_two_brier_scores_is_that_of_the_mean_difference(
    clustered: bool,
) -> None:
    rng = np.random.default_rng(3)
    q, other = rng.random(300), rng.random(300)
    y = rng.random(300) < q
    clusters = np.repeat(np.arange(60), 5) if clustered else None
    found = calibration_difference(y, q, other, clusters=clusters).brier_difference
    assert found is not None
    plain = mean_interval((y - q) ** 2 - (y - other) ** 2, clusters=clusters).mean
    for name in ("estimate", "low", "high", "standard_error"):
        assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-12)


def positive_predictions(rng: np.random.Generator, n: int, rate: float, right: NDArray[Any]) -> NDArray[Any]:
    """Counts of items whose class is predicted at a rate, with the same precision at every rate."""
    chosen = rng.random(n) < rate
    return np.column_stack([chosen & right, chosen, right]).astype(float)


def precision(totals: NDArray[Any]) -> Any:
    return totals[:, 0] / totals[:, 1]


def test_swaps_err_as_often_as_stated_if_one_system_predicts_a_class_more_often() -> None:
    rng, rejected = np.random.default_rng(0), []
    for seed in range(200):
        right = rng.random(400) < 0.3
        one, other = (positive_predictions(rng, 400, rate, right) for rate in (0.1, 0.9))
        found = paired_permutation(one, other, statistic=precision, samples=200, seed=seed)
        rejected.append(defined(found.p_value) <= 0.05)
    assert np.mean(rejected) < 0.09  # 0.24 without the standard error of each swap


def test_six_right_predictions_of_six_have_a_warning_beside_sixty_predictions() -> None:
    right = np.r_[np.ones(42), np.zeros(158)].astype(bool)
    few, many = np.arange(200) < 6, (np.arange(200) >= 6) & (np.arange(200) < 66)
    one, other = (np.column_stack([each & right, each, right]).astype(float) for each in (few, many))
    for test in (paired_bootstrap, paired_permutation):
        assert "rests on 6.0 units" in str(test(one, other, statistic=precision).warning)
    assert paired_bootstrap(many, few).warning is None


@pytest.mark.parametrize(
    "change", [lambda x: 10 * x, lambda x: x + 1e6, lambda x: x / 7 - 1e5, lambda x: 1e7 * x + 1e9]
)
def test_swaps_do_not_depend_on_the_unit_and_origin_of_scores(
    change: Callable[[NDArray[Any]], NDArray[Any]],
) -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        first, second = np.round(rng.normal(size=(2, 12)), 1)
        changed = paired_permutation(change(first), change(second))
        assert changed.p_value == pytest.approx(paired_permutation(first, second).p_value)


@pytest.mark.parametrize("origin", [0, 5, 1_000_000])
def test_exact_p_values_of_swaps_equal_those_of_fractions(origin: int) -> None:
    def squared(first: list[Fraction], second: list[Fraction]) -> Fraction:
        gaps = [one - other for one, other in zip(first, second, strict=True)]
        mean = sum(gaps, Fraction()) / len(gaps)
        return mean**2 / sum((gap - mean) ** 2 for gap in gaps)

    rng = np.random.default_rng(5)
    for _ in range(10):
        scores = rng.integers(-20, 20, (2, 7)).tolist()
        first, second = ([Fraction(each, 10) for each in row] for row in scores)
        pairs = list(zip(first, second, strict=True))
        orders = itertools.product(*[(pair, pair[::-1]) if pair[0] != pair[1] else (pair,) for pair in pairs])
        draws = [squared(*map(list, zip(*order, strict=True))) for order in orders]
        expected = np.mean([draw >= squared(first, second) for draw in draws])
        found = paired_permutation(*(np.array(row) / 10 + origin for row in scores))
        assert found.p_value == pytest.approx(expected)


def test_a_p_value_of_mcnemars_test_is_not_0() -> None:
    assert defined(mcnemar([1] * 3000, [0] * 3000).p_value) > 0


def test_a_difference_of_rounding_errors_is_zero() -> None:
    first, second = np.array([0.1, 0.2, 0.3, 0.7]), np.array([0.3, 0.1, 0.2, 0.7])
    first[3] = 0.7 + (second - first).sum()
    test = paired_t_test(first, second)
    assert test.difference.estimate == 0.0
    assert mean_interval(first - second).mean.estimate == 0.0


def test_the_variance_of_unequal_clusters_counts_the_correlation_within_them() -> None:
    rng = np.random.default_rng(3)
    size = np.array([2, 3, 5, 9, 20, 31])
    cluster = np.repeat(np.arange(6), size)
    values = np.array([3, -2, 1, -1, 2, -1.5])[cluster] + rng.normal(size=len(cluster))
    residual = values - values.mean()
    total, square, n = np.bincount(cluster, residual), float(residual @ residual), len(cluster)
    # By matrices: sums of clusters have this covariance, and residuals are A times the sums.
    rho = (float(total @ total) - square) / square * n / (float(size @ size) - n)
    assert 0 < rho < 1
    sums = np.diag((1 - rho) * size + rho * size**2)
    share = size / n
    left = np.eye(6) - share[:, None]
    root = np.diag(1 / np.sqrt(1 - share))
    of_squares = root @ left @ sums @ left.T @ root
    expected = np.trace(of_squares) / np.trace(sums)
    variance = (total**2 / (1 - share)).sum() / expected / n**2
    freedom = np.trace(of_squares) ** 2 / (of_squares**2).sum()
    found = mean_interval(values, clusters=cluster)
    assert defined(found.mean.standard_error) == pytest.approx(math.sqrt(variance))
    assert defined(found.freedom) == pytest.approx(freedom)
    assert defined(found.freedom) < 3  # nearly all of the variance is that of two clusters
    alone = mean_interval(np.repeat([1.0, 2, 4], 2), clusters=[0, 0, 1, 1, 2, 2])
    assert defined(alone.freedom) == pytest.approx(2)
