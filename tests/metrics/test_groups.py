from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.metrics import (
    adaptive_bins,
    by_frequency,
    by_part,
    calibration_changes,
    class_errors,
    debiased_squared_error,
    error_difference,
    error_interval,
    grouped_calibration_errors,
    marginal_calibration_error,
    pairs,
    plug_in_calibration_error,
    shared_calibration_error,
    with_verdicts,
)
from calibrant.results import MarginalChange
from tests.quantities import defined

Columns = tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]


def columns(n: int, seed: int, *, classes: int = 4, slope: float = 0.6) -> Columns:
    """Labels, scores, classes and clusters of 10 scores; classes differ in how far off they are."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(n // 10), 10)
    code = rng.integers(classes, size=n)
    p = rng.beta(0.5, 1.0, n)
    y = rng.random(n) < p
    logit = np.log(p) - np.log1p(-p)
    q = 1 / (1 + np.exp(-(slope + 0.3 * code / classes) * logit))
    return y, q, np.array([f"T{c}" for c in range(classes)])[code], cluster


# Tag frequency groups.


def test_a_group_that_reaches_its_share_exactly_is_closed() -> None:
    # Figure 1's sizes: 45 instances, three groups of 15. The second group holds exactly 15.
    counts = {"a": 17, "b": 9, "c": 6, "d": 5, "e": 4, "f": 3, "g": 1}
    assert by_frequency(counts, 3) == [["a"], ["b", "c"], ["d", "e", "f", "g"]]


def test_more_than_the_share_would_have_put_another_tag_into_the_group() -> None:
    assert by_frequency({"a": 2, "b": 1, "c": 1}, 2) == [["a"], ["b", "c"]]


def test_shares_are_compared_in_integers() -> None:
    # 1/3 has no float: three equal tags are three groups, and so are 3 * 10^17 + 3 instances.
    assert by_frequency({"a": 1, "b": 1, "c": 1}, 3) == [["a"], ["b"], ["c"]]
    third = 10**17 + 1
    assert by_frequency({"a": third, "b": third - 1, "c": third + 1}, 3) == [["c"], ["a"], ["b"]]


def test_ties_in_frequency_are_in_order_of_the_name() -> None:
    assert by_frequency({"z": 1, "B": 1, "a": 1, "m": 1}, 2) == [["B", "a"], ["m", "z"]]


def test_there_can_be_fewer_groups_than_asked_for_and_none_is_empty() -> None:
    assert by_frequency({"a": 98, "b": 1, "c": 1}, 5) == [["a"], ["b", "c"]]
    assert by_frequency({"a": 3}, 5) == [["a"]]
    assert by_frequency({"a": 1, "b": 1}, 1) == [["a", "b"]]


def test_tags_that_never_occur_join_the_last_group() -> None:
    assert by_frequency({"a": 5, "never": 0, "b": 5}, 2) == [["a"], ["b", "never"]]


@given(
    st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), st.integers(1, 60), min_size=1),
    st.integers(1, 9),
)
def test_groups_partition_the_tags_and_all_but_the_last_reach_the_share_with_their_last_tag(
    counts: dict[str, int], groups: int
) -> None:
    found = by_frequency(counts, groups)
    total = sum(counts.values())
    assert sorted(tag for group in found for tag in group) == sorted(counts)
    assert 1 <= len(found) <= groups
    assert all(found)
    flat = [counts[tag] for group in found for tag in group]
    assert flat == sorted(flat, reverse=True)
    for group in found[:-1]:
        held = sum(counts[tag] for tag in group)
        assert held * groups >= total > (held - counts[group[-1]]) * groups


@pytest.mark.parametrize(
    ("counts", "groups", "words"),
    [
        ({}, 2, "no tag occurs"),
        ({"a": 0}, 2, "no tag occurs"),
        ({"a": -1}, 2, r"train_counts\['a'\] is -1"),
        ({"a": 1.5}, 2, r"is 1.5"),
        ({"a": True}, 2, "is True"),
        ({"a": 1}, 0, "groups is 0"),
    ],
)
def test_counts_that_are_none_are_refused(counts: dict[str, Any], groups: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        by_frequency(counts, groups)


# Plug-in errors.


def test_the_mce_is_the_root_mean_of_the_classes_squared_errors() -> None:
    y, q, tag, _ = columns(2000, 0)
    error = marginal_calibration_error(y, q, tag, threshold=0)
    each = [plug_in_calibration_error(y[tag == t], q[tag == t], n_bins=10) for t in np.unique(tag)]
    assert error.plug_in_calibration_error == pytest.approx(math.sqrt(np.mean(np.square(each))))
    squares = [debiased_squared_error(y[tag == t], q[tag == t]) for t in np.unique(tag)]
    assert error.debiased_squared_error == pytest.approx(np.mean(squares))
    assert (error.classes, error.n, error.below_threshold) == (4, 2000, 0)


def test_the_mce_of_all_scores_of_a_matrix_is_that_of_the_class_errors() -> None:
    rng = np.random.default_rng(1)
    prob = rng.dirichlet([1, 2, 3], 500)
    label = rng.integers(3, size=500)
    expected = class_errors(label, prob, n_bins=10).marginal_calibration_error
    y = label[:, None] == np.arange(3)
    error = marginal_calibration_error(y.ravel(), prob.ravel(), np.tile([0, 1, 2], 500), threshold=0)
    assert error.plug_in_calibration_error == pytest.approx(expected)


def test_the_smce_pools_all_scores_above_the_threshold_on_one_set_of_bins() -> None:
    y, q, tag, cluster = columns(2000, 2)
    kept = q >= 0.05
    error = shared_calibration_error(y, q, tag, clusters=cluster, threshold=0.05)
    bins = adaptive_bins(y[kept], q[kept], n_bins=10)
    by_hand = math.sqrt(np.sum(bins.n / bins.n.sum() * (bins.score - bins.frequency) ** 2))
    assert error.plug_in_calibration_error == pytest.approx(by_hand)
    assert (error.n, error.below_threshold) == (kept.sum(), (~kept).sum())
    assert error.interval == error_interval(pairs(y[kept], q[kept], clusters=cluster[kept]))


def test_a_score_equal_to_the_threshold_stays() -> None:
    q = [0.01, np.nextafter(0.01, 0), 0.5]
    assert shared_calibration_error([0, 0, 1], q, ["a", "b", "a"]).n == 2
    assert shared_calibration_error([0, 1], np.array([0.01, 0.5], np.float32), ["a", "b"]).n == 2


def test_a_group_s_error_is_the_shared_error_of_its_tags() -> None:
    y, q, tag, cluster = columns(3000, 3)
    errors = grouped_calibration_errors(y, q, tag, [["T2"], ["T0", "T3"], ["T1"]], clusters=cluster)
    for error, tags in zip(errors, (["T2"], ["T0", "T3"], ["T1"]), strict=True):
        kept = np.isin(tag, tags)
        alone = shared_calibration_error(y[kept], q[kept], tag[kept], clusters=cluster[kept])
        assert error.plug_in_calibration_error == alone.plug_in_calibration_error
        assert error.interval == alone.interval
        assert (error.n, error.classes, error.positives) == (alone.n, alone.classes, alone.positives)
    assert [error.group for error in errors] == ["1", "2", "3"]


def test_one_group_of_all_tags_has_the_shared_error() -> None:
    y, q, tag, cluster = columns(1000, 4)
    (error,) = grouped_calibration_errors(y, q, tag, {"all": ["T0", "T1", "T2", "T3"]}, clusters=cluster)
    shared = shared_calibration_error(y, q, tag, clusters=cluster)
    assert error.plug_in_calibration_error == shared.plug_in_calibration_error
    assert error.group == "all"


def test_an_unseen_tag_is_of_the_last_group_of_a_list_and_refused_by_a_mapping() -> None:
    y, q, tag = [0, 1, 1], [0.2, 0.7, 0.9], ["a", "b", "new"]
    errors = grouped_calibration_errors(y, q, tag, [["a"], ["b"]])
    assert [error.n for error in errors] == [1, 2]
    with pytest.raises(InputError, match="'new' is in no group"):
        grouped_calibration_errors(y, q, tag, {"A": ["a"], "B": ["b"]})


def test_a_group_without_scores_has_no_numbers_and_says_why() -> None:
    first, second = grouped_calibration_errors([0, 1], [0.2, 0.7], ["a", "a"], [["a"], ["b"]])
    assert first.plug_in_calibration_error is not None
    assert (second.n, second.plug_in_calibration_error, second.interval) == (0, None, None)
    assert (
        second.reason == second.calibration_error.reason == "no score of these classes reaches the threshold"
    )


def test_weights_are_copies() -> None:
    y, q, tag, _ = columns(400, 5)
    w = np.random.default_rng(0).integers(0, 3, size=400)
    copies = np.repeat(np.arange(400), w)
    weighted = marginal_calibration_error(y, q, tag, sample_weight=w, n_bins=1)
    copied = marginal_calibration_error(y[copies], q[copies], tag[copies], n_bins=1)
    assert weighted.plug_in_calibration_error == pytest.approx(copied.plug_in_calibration_error)
    assert weighted.n == (w[q >= 0.01] > 0).sum()


def test_codes_with_names_are_the_names() -> None:
    y, q, tag, cluster = columns(500, 6)
    names, code = np.unique(tag, return_inverse=True)
    by_code = marginal_calibration_error(y, q, code, names=names.tolist(), clusters=cluster)
    assert by_code == marginal_calibration_error(y, q, tag, clusters=cluster)


def test_the_order_of_the_rows_is_nothing() -> None:
    y, q, tag, cluster = columns(600, 7)
    order = np.random.default_rng(0).permutation(600)
    one = marginal_calibration_error(y, q, tag, clusters=cluster)
    other = marginal_calibration_error(y[order], q[order], tag[order], clusters=cluster[order])
    assert one.plug_in_calibration_error == pytest.approx(other.plug_in_calibration_error, rel=1e-12)
    assert one.interval is not None
    assert other.interval is not None
    assert one.interval.low == pytest.approx(other.interval.low)
    assert one.interval.high == pytest.approx(other.interval.high)


# Intervals.


def test_the_interval_of_one_class_is_that_of_its_scores() -> None:
    y, q, tag, cluster = columns(2000, 8, classes=1)
    for clusters in (cluster, None):
        error = marginal_calibration_error(y, q, tag, clusters=clusters, threshold=0)
        alone = error_interval(pairs(y, q, clusters=clusters))
        assert error.interval is not None
        assert error.interval.low == pytest.approx(alone.low)
        assert error.interval.high == pytest.approx(alone.high)
        assert error.interval.standard_error == pytest.approx(alone.standard_error)


def test_classes_with_few_scores_are_left_out_when_asked_and_counted() -> None:
    y, q, tag, cluster = columns(1000, 9)
    tag = np.where(np.arange(1000) < 3, "rare", tag)
    every = marginal_calibration_error(y, q, tag, clusters=cluster, threshold=0)
    assert every.debiased_squared_error is None  # its three scores are of one cluster
    assert "min_scores" in (every.calibration_error.reason or "")
    some = marginal_calibration_error(y, q, tag, clusters=cluster, threshold=0, min_scores=10)
    assert (some.classes, some.classes_left_out, some.n) == (4, 1, 997)
    assert some.debiased_squared_error is not None


def sparse(rng: np.random.Generator, n: int) -> Columns:
    """Classes of very different size, all off by the same slope; clusters share a label threshold."""
    cluster = np.repeat(np.arange(n // 10), 10)
    code = np.minimum(rng.geometric(0.4, n) - 1, 4)
    p = rng.beta(0.7, 1.0, n)
    shared = rng.random(n // 10)[cluster]
    u = np.where(rng.random(n) < 0.5, shared, rng.random(n))
    logit = np.log(p) - np.log1p(-p)
    return u < p, 1 / (1 + np.exp(-(1.5 + 0.2 * code) * logit)), code, cluster


def true_squared_error() -> float:
    p = np.random.default_rng(0).beta(0.7, 1.0, 400_000)
    logit = np.log(p) - np.log1p(-p)
    each = [np.mean((1 / (1 + np.exp(-(1.5 + 0.2 * code) * logit)) - p) ** 2) for code in range(5)]
    return float(np.mean(each))


@pytest.mark.parametrize("method", ["inverted", pytest.param("bootstrap", marks=pytest.mark.slow)])
def test_intervals_of_the_mce_cover_it(method: Any) -> None:
    rng = np.random.default_rng(10)
    truth = math.sqrt(true_squared_error())
    runs = 120
    hits = 0
    for run in range(runs):
        y, q, code, cluster = sparse(rng, 3000)
        error = marginal_calibration_error(y, q, code, clusters=cluster, threshold=0, method=method, seed=run)
        assert error.interval is not None
        hits += defined(error.interval.low) <= truth <= defined(error.interval.high)
    assert 0.88 * runs <= hits


def test_without_clusters_a_bootstrap_resamples_scores() -> None:
    y, q, tag, _ = columns(1000, 11)
    error = marginal_calibration_error(y, q, tag, method="bootstrap")
    assert error.interval is not None
    assert error.interval.method == "bootstrap"
    assert error.clusters is None
    assert error.interval.clusters is None


# Before and after.


def test_changes_are_of_the_same_scores_whatever_they_become() -> None:
    y, q, tag, cluster = columns(2000, 12)
    after = np.where(q < 0.3, 0.0, q)
    mce, smce, *gmce = calibration_changes(y, q, after, tag, [["T0"], ["T1", "T2", "T3"]], clusters=cluster)
    kept = q >= 0.01
    assert smce.before.n == smce.after.n == kept.sum()
    assert smce.before == shared_calibration_error(y, q, tag, clusters=cluster)
    assert smce.after.plug_in_calibration_error == pytest.approx(
        plug_in_calibration_error(y[kept], after[kept], n_bins=10)
    )
    assert [change.before.group for change in gmce] == ["1", "2"]
    assert (mce.before.measure, smce.before.measure, gmce[0].before.measure) == ("mce", "smce", "gmce")


def test_the_paired_interval_is_that_of_two_models() -> None:
    y, q, tag, cluster = columns(2000, 13)
    after = q**0.5
    for clusters in (cluster, None):
        _, smce = calibration_changes(y, q, after, tag, clusters=clusters, threshold=0)
        expected = error_difference(pairs(y, q, clusters=clusters), pairs(y, after, clusters=clusters))
        assert smce.difference == structs.replace(expected, brier_difference=None, calibration_map="fixed")
    assert smce.relative_change.estimate == pytest.approx(
        plug_in_calibration_error(y, after, n_bins=10) / plug_in_calibration_error(y, q, n_bins=10) - 1
    )


def test_recalibration_by_the_truth_shows_as_a_fall_in_every_measure() -> None:
    rng = np.random.default_rng(14)
    y, q, code, cluster = sparse(rng, 6000)
    logit = np.log(q) - np.log1p(-q)
    truth = 1 / (1 + np.exp(-logit / (1.5 + 0.2 * code)))
    changes = calibration_changes(y, q, truth, code, [["0"], ["1", "2", "3", "4"]], clusters=cluster)
    for change in changes:
        assert defined(change.relative_change.estimate) < -0.4
        assert change.difference is not None
        assert defined(change.difference.mse_difference.low) > 0
    for change in changes[:2]:  # the first group's error before may be 0
        assert change.difference is not None
        assert defined(change.difference.relative_change.high) < 0


def test_where_the_error_before_may_be_0_there_is_no_relative_change() -> None:
    rng = np.random.default_rng(15)
    q = rng.random(500)
    y = rng.random(500) < q
    _, smce = calibration_changes(y, q, q**2, np.repeat("a", 500))
    assert smce.difference is not None
    assert smce.difference.relative_change.estimate is None
    assert "may be 0" in (smce.difference.relative_change.reason or "")
    assert smce.relative_change.estimate is not None


def test_records_are_read_back() -> None:
    y, q, tag, cluster = columns(500, 16)
    for change in calibration_changes(y, q, q**2, tag, [["T0"], ["no such tag"]], clusters=cluster):
        assert MarginalChange.from_dict(json.loads(change.to_json())) == change
        assert change.to_text()


# Bad input.


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"classes": ["a"]}, "classes has 1 values"),
        ({"classes": ["a", None]}, r"classes\[1\] is missing"),
        ({"classes": [0.5, 1.0]}, "floating point"),
        ({"classes": [0, 2], "names": ["a", "b"]}, r"classes\[1\] is 2"),
        ({"classes": ["a", "b"], "names": ["a", "b"]}, "pass indices"),
        ({"classes": [0, 1], "names": ["a", "a"]}, "twice"),
        ({"y_prob": [0.2, 1.5]}, r"y_prob\[1\] is 1.5"),
        ({"y_true": [0, 2]}, r"y_true\[1\] is 2"),
        ({"threshold": 1.5}, "threshold is 1.5"),
        ({"threshold": -0.1}, "threshold is -0.1"),
        ({"threshold": 0.9}, "no score reaches the threshold of 0.9"),
        ({"n_bins": 0}, "n_bins is 0"),
        ({"min_scores": 0}, "min_scores is 0"),
        ({"method": "sampling"}, "method is 'sampling'"),
        ({"level": 2}, "level is 2"),
    ],
)
def test_bad_input_is_refused(changed: dict[str, Any], words: str) -> None:
    arguments: dict[str, Any] = {"y_true": [0, 1], "y_prob": [0.2, 0.8], "classes": ["a", "b"]}
    with pytest.raises(InputError, match=words):
        marginal_calibration_error(**(arguments | changed))


@pytest.mark.parametrize(
    ("groups", "words"),
    [
        ("ab", "neither a list nor a mapping"),
        ([], "there are no groups"),
        (["ab"], "group 1 is 'ab'"),
        ([["a"], ["b", "a"]], "'a' is in groups 1 and 2"),
        ([["a", "a"]], "twice in group 1"),
    ],
)
def test_unusable_groups_are_refused(groups: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        grouped_calibration_errors([0, 1], [0.2, 0.8], ["a", "b"], groups)


def test_no_class_with_enough_scores_is_no_error_but_has_no_numbers() -> None:
    error = marginal_calibration_error([0, 1], [0.2, 0.8], ["a", "b"], min_scores=5)
    assert (error.n, error.plug_in_calibration_error, error.classes_left_out) == (0, None, 2)


# Groups by the structure of tags.


def test_tags_are_grouped_by_what_stands_before_the_separator() -> None:
    tags = ["VERB|Tense=Past|Mood=Ind", "VERB", "NOUN|Number=Sing", "VERB"]
    assert by_part(tags) == {"NOUN": ["NOUN|Number=Sing"], "VERB": ["VERB", "VERB|Tense=Past|Mood=Ind"]}
    assert by_part(["B-PER", "I-PER", "O"], "-") == {"B": ["B-PER"], "I": ["I-PER"], "O": ["O"]}


def test_groups_by_part_are_measured_like_others() -> None:
    y, q, tag, _ = columns(400, 40)
    names = np.char.add(np.where(tag == "T0", "X|", "Y|"), tag)
    found = grouped_calibration_errors(y, q, names, by_part(names))
    assert [(one.group, one.classes) for one in found] == [("X", 1), ("Y", 3)]
    assert sum(one.n for one in found) == (q >= 0.01).sum()


def test_no_tags_and_no_separator_are_refused() -> None:
    with pytest.raises(InputError, match="there are no tags"):
        by_part([])
    with pytest.raises(InputError, match="separator is empty"):
        by_part(["N"], "")


def changes_with(*p_values: float | None) -> list[MarginalChange]:
    """Improvements with these p-values."""
    y, tags = [0, 1] * 50, ["N"] * 100
    (one,) = calibration_changes(y, [0.3] * 100, [0.5] * 100, tags, class_mean=False)
    assert one.difference is not None
    return [structs.replace(one, difference=structs.replace(one.difference, p_value=p)) for p in p_values]


def test_verdicts_hold_the_probability_of_any_false_one() -> None:
    # Holm's method: 0.01 * 4, 0.015 * 3, 0.03 * 2, which ends it; the one without a p-value does not count.
    found = with_verdicts(changes_with(0.04, 0.01, None, 0.015, 0.03))
    adjusted = [each.adjusted_p_value for each in found]
    assert adjusted == [pytest.approx(0.06), 0.04, None, pytest.approx(0.045), pytest.approx(0.06)]
    assert [each.verdict == "better" for each in found] == [False, True, False, True, False]
    assert {each.verdict for each in found} == {"better", "inconclusive"}
    assert with_verdicts(()) == ()


@pytest.mark.slow
def test_of_groups_without_a_change_few_tables_have_a_verdict() -> None:
    # All scores are 0.05 too high before and 0.05 too low after: no group's error changes.
    groups = {name: [name] for name in "ABCDEF"}
    single, adjusted = 0, 0
    for seed in range(50):
        rng = np.random.default_rng(seed)
        p = 0.1 + 0.8 * rng.beta(2, 2, 1800)
        y, tag = rng.random(1800) < p, np.repeat(list(groups), 300)
        changes = calibration_changes(y, p + 0.05, p - 0.05, tag, groups, threshold=0, class_mean=False)
        p_values = [each.difference.p_value for each in changes if each.difference is not None]
        single += any(value is not None and value < 0.05 for value in p_values)
        adjusted += any(each.verdict != "inconclusive" for each in with_verdicts(changes))
    assert (single, adjusted) == (16, 5)  # as docs/guide/recalibrate.md states


def test_verdicts_on_few_positives_or_clusters_carry_a_warning() -> None:
    (many,) = changes_with(0.01)
    for before, said in (
        (structs.replace(many.before, n=1000, positives=20), "only 20 positives"),
        (structs.replace(many.before, n=1000, positives=990), "only 10 negatives"),
        (structs.replace(many.before, n=1000, positives=400, clusters=12), "only 12 clusters"),
    ):
        (found,) = with_verdicts([structs.replace(many, before=before)])
        assert (found.verdict_warning or "").startswith(said)
    for enough in (
        structs.replace(many.before, n=1000, positives=400),
        structs.replace(many.before, n=100, positives=50, clusters=50),
    ):
        (found,) = with_verdicts([structs.replace(many, before=enough)])
        assert found.verdict_warning is None
