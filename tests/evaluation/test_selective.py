"""`calibrant.evaluation.risk_coverage`: the definition, every order of ties, resampling, simulation."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from calibrant.evaluation import risk_coverage
from calibrant.exceptions import InputError
from calibrant_studies._error_rates import selective_coverage

Array = NDArray[Any]


def area_of(correct: Array) -> float:
    """Return the area for items in the order of descending confidence."""
    return float(np.mean(np.cumsum(1 - correct) / np.arange(1, len(correct) + 1)))


def example(seed: int, n: int) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    confidence = random.random(n)
    return (random.random(n) < confidence).astype(int), confidence


def test_the_curve_is_the_error_rate_of_what_is_kept() -> None:
    correct, confidence = example(0, 50)
    found = risk_coverage(correct, confidence)
    order = np.argsort(-confidence)
    for coverage, risk, threshold in zip(found.coverage, found.risk, found.threshold, strict=True):
        kept = correct[confidence >= threshold]
        assert coverage == pytest.approx(len(kept) / 50)
        assert risk == pytest.approx(1 - kept.mean())
    assert found.area.estimate == pytest.approx(area_of(correct[order]))
    assert found.error_rate == pytest.approx(1 - correct.mean())
    assert found.best_area == pytest.approx(area_of(np.sort(correct)[::-1]))


def test_equally_confident_items_have_no_order() -> None:
    correct, confidence = [1, 0, 1, 0, 1], [0.9, 0.5, 0.5, 0.5, 0.1]
    areas = [area_of(np.array([1, *middle, 1])) for middle in itertools.permutations([0, 1, 0])]
    assert risk_coverage(correct, confidence).area.estimate == pytest.approx(np.mean(areas))
    shuffled = risk_coverage([0, 1, 0, 1, 1], [0.5, 0.9, 0.5, 0.1, 0.5])
    assert shuffled.area.estimate == pytest.approx(np.mean(areas))


def test_the_order_of_rows_changes_nothing() -> None:
    random = np.random.default_rng(0)
    confidence, cluster = random.integers(0, 3, 60) / 3, random.integers(0, 9, 60)
    correct = (random.random(60) < 0.3 + 0.6 * confidence).astype(int)
    for clusters in (None, cluster):
        found = risk_coverage(correct, confidence, coverages=[0.1, 0.5], clusters=clusters)
        for _ in range(5):
            order = random.permutation(60)
            moved = None if clusters is None else clusters[order]
            other = risk_coverage(correct[order], confidence[order], coverages=[0.1, 0.5], clusters=moved)
            for one, same in zip(found.points, other.points, strict=True):
                assert same.accuracy.low == pytest.approx(one.accuracy.low)
                assert same.accuracy.high == pytest.approx(one.accuracy.high)
            assert [other.area.low, other.area.high] == pytest.approx([found.area.low, found.area.high])


def test_the_interval_of_the_area_holds_the_truth_also_if_errors_are_rare() -> None:
    random = np.random.default_rng(2)
    intervals = []
    for _ in range(300):
        confidence = random.random(200)  # an error has probability 0.04 (1 - confidence): the area is 0.01
        found = risk_coverage((random.random(200) < 0.96 + 0.04 * confidence).astype(int), confidence)
        if found.area.low is not None and found.area.high is not None:
            intervals.append(found.area.low <= 0.01 <= found.area.high)
    assert np.mean(intervals) >= 0.93


def test_the_interval_of_the_area_holds_the_truth_if_few_of_many_errors_carry_it() -> None:
    random = np.random.default_rng(12)
    inside = []
    for _ in range(1000):
        confidence = random.random(100)
        correct = random.random(100) > np.where(confidence > 0.15, 0.05, 0.6)  # an area of 0.0565
        area = risk_coverage(correct, confidence, coverages=[]).area
        assert area.low is not None
        assert area.high is not None
        inside.append(area.low <= 0.0565 <= area.high)
    assert np.mean(inside) >= 0.93  # 0.914 if all errors count alike


def test_the_standard_error_of_the_area_is_that_of_a_bootstrap() -> None:
    correct, confidence = example(1, 400)
    random = np.random.default_rng(2)
    draws = []
    for _ in range(800):
        rows = random.integers(400, size=400)
        draws.append(risk_coverage(correct[rows], confidence[rows], coverages=()).area.estimate or 0.0)
    assert risk_coverage(correct, confidence).area.standard_error == pytest.approx(np.std(draws), rel=0.08)


def test_copies_in_clusters_count_once() -> None:
    correct, confidence = example(3, 200)
    alone = risk_coverage(correct, confidence)
    copies = risk_coverage(
        np.repeat(correct, 3), np.repeat(confidence, 3), clusters=np.repeat(np.arange(200), 3)
    )
    assert copies.area.standard_error == pytest.approx(alone.area.standard_error, rel=0.02)
    assert copies.points[0].accuracy.low == pytest.approx(alone.points[0].accuracy.low, abs=0.015)


def test_an_accuracy_without_errors_is_as_uncertain_as_that_of_one_item_per_cluster() -> None:
    confidence = np.linspace(0.9, 0.5, 10)
    alone = risk_coverage([1] * 10, confidence, coverages=[0.5, 1.0])
    clustered = risk_coverage(
        [1] * 30, np.repeat(confidence, 3), coverages=[0.5, 1.0], clusters=np.repeat(np.arange(10), 3)
    )
    for one, other in zip(alone.points, clustered.points, strict=True):
        assert other.accuracy.low == pytest.approx(one.accuracy.low)


def test_a_model_that_is_always_right_has_no_interval_of_the_area() -> None:
    found = risk_coverage([1, 1, 1], [0.9, 0.8, 0.7], coverages=[1.0])
    assert (found.area.estimate, found.area.low) == (0, None)
    assert "all items are correct" in (found.area.reason or "")
    assert found.points[0].accuracy.estimate == 1
    assert found.points[0].accuracy.low == pytest.approx(0.4385, abs=1e-4)  # Wilson's, of three items


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(InputError, match=r"confidence\[1\] is nan"):
        risk_coverage([1, 0], [0.5, np.nan])
    with pytest.raises(InputError, match=r"coverage 1\.5 is asked for"):
        risk_coverage([1, 0], [0.5, 0.6], coverages=[1.5])
    with pytest.raises(InputError, match=r"correct\[0\] is 2"):
        risk_coverage([2, 0], [0.5, 0.6])


def test_intervals_hold_the_truth_about_19_times_in_20() -> None:
    for name, rate in selective_coverage(4, 300, items=300).items():
        assert 0.91 <= rate <= 0.985, name


@pytest.mark.slow
def test_intervals_of_clustered_items_hold_the_truth_about_19_times_in_20() -> None:
    for name, rate in selective_coverage(5, 1500, items=2000, cluster_size=10).items():
        assert 0.925 <= rate <= 0.97, name


def test_the_interval_of_an_accuracy_with_one_error_has_an_upper_end_that_holds() -> None:
    correct = np.ones(25, int)
    correct[20] = 0
    found = risk_coverage(correct, np.linspace(0.9, 0.5, 25), coverages=[1.0])
    assert found.points[0].accuracy.high == pytest.approx(0.998, abs=5e-4)  # Wilson's is 0.993


def test_the_area_of_few_errors_has_a_warning() -> None:
    confidence = np.linspace(0.9, 0.5, 100)
    few, enough = (np.isin(np.arange(100), np.arange(10, 10 + errors)) for errors in (4, 5))
    assert "4 errors" in (risk_coverage(~few, confidence).area.warning or "")
    assert risk_coverage(~enough, confidence).area.warning is None


@pytest.mark.parametrize("ties", [True, False])
def test_the_accuracy_holds_the_truth_if_the_error_rate_jumps_at_the_cut(ties: bool) -> None:
    random = np.random.default_rng(8)
    inside = []
    for _ in range(400):
        confidence = random.random(100)
        correct = random.random(100) < np.where(confidence > 0.5, 0.95, 0.1)
        found = risk_coverage(correct, np.rint(confidence) if ties else confidence, coverages=[0.5])
        accuracy = found.points[0].accuracy
        assert accuracy.low is not None
        assert accuracy.high is not None
        inside.append(accuracy.low <= 0.95 <= accuracy.high)
    assert np.mean(inside) >= 0.93  # 0.83 without the shift


@pytest.mark.parametrize(("n", "samples"), [(100, 400), (200, 1000)])
def test_the_accuracy_holds_the_truth_if_all_items_before_a_change_are_correct(n: int, samples: int) -> None:
    random = np.random.default_rng(13)
    inside = []
    for _ in range(samples):
        confidence = random.random(n)
        accuracy = risk_coverage(confidence > 0.25, confidence, coverages=[0.8]).points[0].accuracy
        assert accuracy.low is not None
        assert accuracy.high is not None
        inside.append(accuracy.low <= 0.9375 <= accuracy.high)
    assert np.mean(inside) >= 0.94  # n = 100: 0.82 if only the upper end is shifted; n = 200: 0.92 before


def test_an_accuracy_with_few_errors_has_a_warning_if_few_items_are_left_out() -> None:
    confidence = np.linspace(0.9, 0.5, 40)
    few, enough = risk_coverage(np.ones(40, int), confidence, coverages=[0.8, 0.75]).points
    assert "few items are left out" in (few.accuracy.warning or "")
    assert enough.accuracy.warning is None
    correct = np.arange(40) % 8 > 0
    assert risk_coverage(correct, confidence, coverages=[0.8]).points[0].accuracy.warning is None


def test_few_clusters_with_errors_have_a_warning_and_wider_intervals() -> None:
    random = np.random.default_rng(9)
    inside, warned = [], []
    for _ in range(200):
        uniform, confidence = random.random(300), random.random(300)
        uniform = np.where(random.random(300) < 0.5, np.repeat(uniform[::5], 5), uniform)
        correct = uniform < 0.99 - 0.91 * (1 - confidence) ** 16
        found = risk_coverage(correct, confidence, coverages=[1.0], clusters=np.arange(300) // 5)
        area, accuracy = found.area, found.points[0].accuracy
        assert area.low is not None
        assert area.high is not None
        inside.append(area.low <= 0.0131 <= area.high)
        warned.append((area.warning is not None, accuracy.warning is not None))
    assert np.mean(inside) >= 0.93
    assert np.mean(warned, axis=0).min() >= 0.9


def test_independent_items_have_no_warning_of_clusters() -> None:
    correct, confidence = example(3, 200)
    assert [point.accuracy.warning for point in risk_coverage(correct, confidence).points] == [None] * 4
