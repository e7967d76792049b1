from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from scipy.special import expit
from sklearn.metrics import roc_auc_score

from calibrant.exceptions import InputError
from calibrant.metrics import calibration_changes, debiased_squared_error
from calibrant.metrics.tails import quantile
from calibrant.recalibrate import (
    BBQ,
    HistogramBinning,
    Isotonic,
    LabelledScores,
    PerGroup,
    Platt,
    ScalingBinning,
    Shared,
    order_effect,
    resampled_changes,
)
from calibrant.recalibrate.changes import with_map_error
from calibrant.records import Quantity
from calibrant.results import ErrorInterval
from tests.quantities import defined

GROUPS = [["N", "V"], ["A", "UH"]]


def labelled(n: int, seed: int, *, classes: bool = True) -> LabelledScores:
    """Return overconfident scores of four classes, in clusters of ten."""
    rng = np.random.default_rng(seed)
    p = rng.random(n)
    q = p**2 / (p**2 + (1 - p) ** 2)
    tag = rng.choice(np.array(["N", "V", "A", "UH"]), n)
    return LabelledScores(q, rng.random(n) < p, tag if classes else None, np.arange(n) // 10)


def first_of(*given: Any, **settings: Any) -> Any:
    """The change of the first error."""
    return resampled_changes(*given, **settings)[0]


def test_the_change_itself_is_that_of_the_map_of_all_of_dev_above_the_threshold() -> None:
    dev, test = labelled(1000, 0), labelled(800, 1)
    q, tag = np.asarray(test.scores), np.asarray(test.classes)
    above = np.asarray(dev.scores) >= 0.1
    parts = [np.asarray(column)[above] for column in (dev.scores, dev.labels, dev.classes)]
    model = PerGroup(Platt(), GROUPS).fit(*parts)
    after = np.where(q >= 0.1, model.transform(q, tag), q)
    expected = calibration_changes(test.labels, q, after, tag, GROUPS, clusters=test.clusters, threshold=0.1)
    found = resampled_changes(PerGroup(Platt(), GROUPS), dev, test, GROUPS, threshold=0.1, draws=20)
    assert tuple(structs.replace(one.change, difference=one.fixed) for one in found) == expected
    assert [one.change.before.group for one in found] == [None, None, "1", "2"]


def test_the_interval_adds_the_variance_over_maps() -> None:
    dev, test = labelled(600, 2, classes=False), labelled(600, 3, classes=False)
    found = first_of(Platt(), dev, test, threshold=0, draws=30)
    fixed, wide = found.fixed.mse_difference, found.change.difference.mse_difference
    own, half = (fixed.high - fixed.low) / 2, (wide.high - wide.low) / 2
    added = quantile(0.95, 60) * found.map_deviation.estimate
    assert half**2 == pytest.approx(own**2 + added**2, rel=1e-6)
    assert found.change.difference.calibration_map == "resampled"
    assert (wide.high + wide.low) / 2 == pytest.approx(wide.estimate)


def test_the_spread_over_maps_is_that_of_other_dev_sets() -> None:
    test = labelled(4000, 4, classes=False)
    after = []
    for seed in range(100):
        dev = labelled(500, 100 + seed, classes=False)
        recalibrated = Platt().fit(dev.scores, dev.labels).transform(test.scores)
        after.append(debiased_squared_error(test.labels, recalibrated, clusters=test.clusters))
    row = first_of(Platt(), labelled(500, 5, classes=False), test, threshold=0, draws=100)
    assert np.std(after) / 2 < row.map_deviation.estimate < 2 * np.std(after)


def test_moving_edges_of_steps_are_no_spread_of_the_error() -> None:
    # Most scores are near 1: an edge that moves takes many along, and the error hardly changes.
    def sure(n: int, seed: int) -> LabelledScores:
        rng = np.random.default_rng(seed)
        z = rng.normal(4, 3, n)
        return LabelledScores(expit(z), rng.random(n) < expit(0.6 * z))

    test = sure(4000, 30)
    after = []
    for seed in range(60):
        dev = sure(2000, 200 + seed)
        recalibrated = ScalingBinning(n_bins=10).fit(dev.scores, dev.labels).transform(test.scores)
        after.append(debiased_squared_error(test.labels, recalibrated))
    row = first_of(ScalingBinning(n_bins=10), sure(2000, 31), test, threshold=0, draws=60)
    assert 0.4 * np.std(after) < row.map_deviation.estimate < 1.7 * np.std(after)


def test_copies_in_draws_do_not_mislead_bbq() -> None:
    # Drawn with replacement, its deviation was 0.0082, and intervals 2.3 times as wide as needed.
    rng = np.random.default_rng(2)

    def draw(n: int) -> LabelledScores:
        q = np.sin(np.pi / 2 * rng.random(n)) ** 2
        return LabelledScores(q, rng.random(n) < q)

    found = [resampled_changes(BBQ(), draw(300), draw(2000), draws=20, seed=seed)[0] for seed in range(8)]
    changes = [defined(one.change.difference).mse_difference.estimate for one in found]
    deviation = np.mean([defined(one.map_deviation.estimate) for one in found])
    assert np.std(np.array(changes, float)) / 1.5 < deviation < 0.0053


def test_more_data_to_fit_to_leave_less_to_chance() -> None:
    test = labelled(2000, 6, classes=False)
    few, many = (
        first_of(HistogramBinning(n_bins=10), labelled(n, 7, classes=False), test, threshold=0, draws=40)
        for n in (300, 12_000)
    )
    assert many.map_deviation.estimate < few.map_deviation.estimate / 3
    assert few.after.low < few.after.high


def test_draws_take_whole_clusters() -> None:
    # Within a cluster all rows are alike: drawing rows would make dev look ten times as large.
    rng = np.random.default_rng(8)
    score = rng.random(60)
    p, y = np.repeat(score, 10), np.repeat(rng.random(60) < score, 10)
    test = labelled(1000, 9, classes=False)
    rows, clusters = (
        first_of(
            Platt(), LabelledScores(p, y, clusters=names), test, threshold=0, draws=60
        ).map_deviation.estimate
        for names in (None, np.arange(600) // 10)
    )
    assert clusters > 1.5 * rows


def test_the_same_seed_gives_the_same_numbers_and_progress_is_told() -> None:
    dev, test = labelled(300, 10), labelled(300, 11)
    told: list[tuple[str, int, int | None]] = []

    def run(seed: int, **more: Any) -> Any:
        return resampled_changes(Shared(Platt()), dev, test, draws=20, seed=seed, **more)

    assert run(3, progress=lambda *seen: told.append(seen)) == run(3) != run(4)
    assert told == [("resampling", done, 20) for done in range(1, 21)]
    found = run(3)[1]
    assert found.change.before.measure == "smce"
    assert found.change.difference.mse_difference.low < found.fixed.mse_difference.low


def test_draws_that_cannot_be_fitted_are_counted_and_too_many_leave_nothing() -> None:
    rng = np.random.default_rng(12)
    # UH has three positives in three clusters of 60: many draws have none.
    q, tag = rng.random(600), np.where(np.arange(600) % 10 < 9, "N", "UH")
    y = np.where(tag == "N", rng.random(600) < q, np.isin(np.arange(600), [9, 19, 29]))
    dev = LabelledScores(q, y, tag, np.arange(600) // 10)
    groups = {"1": ["N"], "2": ["UH"]}
    test = LabelledScores(q, y, tag, np.arange(600) // 10)
    found = resampled_changes(PerGroup(Platt(), groups), dev, test, groups, draws=100)
    assert 0 < found[0].failed < 20
    assert found[0].map_deviation.estimate is not None
    rare = LabelledScores(q, np.where(tag == "N", y, np.arange(600) == 9), tag, np.arange(600) // 10)
    few = resampled_changes(PerGroup(Platt(), groups), rare, test, groups, draws=20)
    assert few[0].map_deviation.estimate is None
    assert "could not be fitted" in (few[0].map_deviation.reason or "")
    assert few[0].change.difference == few[0].fixed
    assert defined(few[0].fixed).calibration_map == "fixed"


def test_a_group_without_scores_has_no_interval() -> None:
    dev, test = labelled(300, 13), labelled(300, 14)
    found = resampled_changes(Shared(Isotonic()), dev, test, [*GROUPS, ["X"]], draws=20)
    assert found[-1].map_deviation.estimate is None
    assert found[-1].map_deviation.reason == "the change itself is undefined"
    assert found[0].map_deviation.estimate is not None


def test_the_interval_covers_the_effect_of_the_method_where_the_one_of_a_fixed_map_does_not() -> None:
    # Calibrated scores, which a map fitted to 200 pairs makes worse by this on average.
    effect, covered = -0.0016, {"fixed": 0, "resampled": 0}
    for seed in range(30):
        rng = np.random.default_rng(seed)
        q = rng.beta(0.5, 0.5, 1200)
        y = rng.random(1200) < q
        dev, test = LabelledScores(q[:200], y[:200]), LabelledScores(q[200:], y[200:])
        (found,) = resampled_changes(Platt(), dev, test, threshold=0, draws=20, seed=seed)
        for each, kind in ((found.change.difference, "resampled"), (found.fixed, "fixed")):
            assert each is not None
            covered[kind] += defined(each.mse_difference.low) <= effect <= defined(each.mse_difference.high)
    assert covered["fixed"] <= 22
    assert covered["resampled"] >= 28


def test_intervals_of_the_roots_follow_from_those_of_the_squares() -> None:
    dev, test = labelled(1500, 20, classes=False), labelled(3000, 21, classes=False)
    (found,) = resampled_changes(Isotonic(), dev, test, threshold=0, draws=20)
    change, fixed = found.change.difference, found.fixed
    assert change is not None
    assert fixed is not None
    assert (
        defined(change.rms_difference.low)
        < defined(change.rms_difference.estimate)
        < defined(change.rms_difference.high)
    )
    assert change.relative_change.low is not None
    assert change.relative_change.high is not None
    assert change.relative_change.estimate is not None
    assert -1 <= change.relative_change.low < change.relative_change.estimate < change.relative_change.high
    recipe = {"method": "inverted", "level": 0.975, "estimand": "rms", "bin_size": 20, "bins": 5, "n": 100.0}
    before = ErrorInterval.from_dict({"estimate": 0.1, "low": 0.1, "high": 0.1, **recipe})
    known = structs.replace(fixed, mse_difference=Quantity(0.0036, 0.0036, 0.0036))
    exact = with_map_error(known, 0, before, test=0, dev=0)
    assert (exact.rms_difference.low, exact.rms_difference.high) == pytest.approx((0.02, 0.02))
    assert (exact.relative_change.low, exact.relative_change.high) == pytest.approx((-0.2, -0.2))
    assert fixed.brier_difference is None
    scored = structs.replace(known, brier_difference=Quantity(0.01, 0.009, 0.011))
    assert with_map_error(scored, 1e-4, before, test=0, dev=0).brier_difference is None
    unknown = with_map_error(fixed, 1e-4, structs.replace(before, low=0.0), test=0, dev=0)
    assert unknown.relative_change.low is None
    assert "may be 0" in (unknown.relative_change.reason or "")
    assert math.isfinite(unknown.rms_difference.high or math.nan)


def test_few_clusters_of_dev_are_named() -> None:
    dev, test = labelled(80, 22, classes=False), labelled(500, 23, classes=False)
    (found,) = resampled_changes(Platt(), dev, test, threshold=0, draws=20)
    assert found.dev_clusters == 8
    assert (found.warning or "").startswith("few clusters of dev (effective number 8.0)")


def test_bad_arguments_are_refused() -> None:
    with_classes, without = labelled(100, 15), labelled(100, 16, classes=False)
    with pytest.raises(InputError, match="draws is 5"):
        resampled_changes(Platt(), without, without, draws=5)
    with pytest.raises(InputError, match="only one of dev and test has classes"):
        resampled_changes(Platt(), with_classes, without)
    with pytest.raises(InputError, match="groups need classes"):
        resampled_changes(Platt(), without, without, GROUPS)
    with pytest.raises(InputError, match="the recalibrator needs classes"):
        resampled_changes(Shared(Platt()), without, without)
    with pytest.raises(InputError, match=r"test scores\[0\] is 1.5"):
        resampled_changes(Platt(), without, LabelledScores([1.5], [1]))


def test_scores_at_the_threshold_count_in_float32_as_in_float64() -> None:
    # In float32, 0.01 is smaller than in float64.
    def rounded(n: int, seed: int, kind: Any) -> LabelledScores:
        rng = np.random.default_rng(seed)
        score = np.maximum(np.round(rng.beta(0.4, 2, n), 2), 0.01)
        return LabelledScores(score.astype(kind), rng.random(n) < np.minimum(1, 2 * score))

    narrow, wide = (
        first_of(Platt(), rounded(600, 0, kind), rounded(600, 1, kind), threshold=0.01, draws=20)
        for kind in (np.float32, np.float64)
    )
    assert narrow.change.before.n == wide.change.before.n == 600
    for one, other in ((narrow.change.after, wide.change.after), (narrow.map_deviation, wide.map_deviation)):
        assert (getattr(one, "plug_in_calibration_error", None) or one.estimate) == pytest.approx(
            getattr(other, "plug_in_calibration_error", None) or other.estimate, rel=1e-4
        )


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(4, 80), weighted=st.booleans())
def test_the_effect_is_that_of_counting(seed: int, n: int, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    before, label = rng.random(n).round(2), rng.random(n) < 0.5
    label[:2] = [True, False]
    after = Isotonic().fit(before, label).transform(before)
    weight = rng.uniform(0.5, 2, n) if weighted else np.ones(n)
    effect = order_effect(label, before, after, sample_weight=weight)
    combinations = np.outer(weight[label], weight[~label])
    tied = after[label][:, None] == after[~label][None, :]
    assert effect.tied_after == pytest.approx(combinations[tied].sum() / combinations.sum())
    assert effect.auc_before == pytest.approx(roc_auc_score(label, before, sample_weight=weight))
    assert effect.auc_after == pytest.approx(roc_auc_score(label, after, sample_weight=weight))
    assert effect.distinct_after <= effect.distinct_before == len(np.unique(before))


def test_isotonic_regression_cannot_lower_the_auc_of_its_own_pairs() -> None:
    rng = np.random.default_rng(4)
    before = rng.random(500)
    label = rng.random(500) < before
    effect = order_effect(label, before, Isotonic().fit(before, label).transform(before))
    assert defined(effect.auc_change) >= 0
    coarse = order_effect(label, before, HistogramBinning(2).fit(before, label).transform(before))
    assert defined(coarse.auc_change) < 0


def test_one_label_has_no_auc_and_the_record_says_why() -> None:
    effect = order_effect([1, 1], [0.1, 0.2], [0.3, 0.3])
    assert effect.auc_change is None
    assert effect.reason == "all labels are the same"
    assert effect.to_dict()["distinct_after"] == 1
