"""`calibrant.evaluation.order_quality`: definitions, every order of ties, laws, simulation."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from calibrant.evaluation import order_quality, risk_coverage
from calibrant.exceptions import InputError

Array = NDArray[Any]


def value(number: float | None) -> float:
    assert number is not None
    return number


def ratio_of(correct: Array, confidence: Array) -> float:
    """Return the prediction-rejection ratio as lm-polygraph computes it, for confidences without ties."""

    def area(scores: Array) -> float:
        target = correct[np.argsort(-scores)]
        return float(np.mean(np.cumsum(target) / np.arange(1, len(target) + 1)))

    random = float(correct.mean())  # mean over all orders
    return (area(confidence) - random) / (area(correct) - random)


def example(n: int = 60, levels: int = 0, seed: int = 3) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    correct = (random.random(n) < 0.7).astype(int)
    confidence = random.normal(size=n) + correct
    return correct, np.round(confidence * levels) / levels if levels else confidence


@pytest.mark.parametrize("levels", [0, 1, 2])
def test_the_auroc_is_that_of_scikit_learn(levels: int) -> None:
    correct, confidence = example(levels=levels)
    assert order_quality(correct, confidence).auroc.estimate == pytest.approx(
        roc_auc_score(correct, confidence)
    )


def test_the_rejection_ratio_is_that_of_lm_polygraph() -> None:
    correct, confidence = example()
    found = order_quality(correct, confidence)
    assert found.rejection_ratio.estimate == pytest.approx(ratio_of(correct, confidence))
    curve = risk_coverage(correct, confidence)
    assert found.excess_area.estimate == pytest.approx(curve.excess_area)
    gain = (curve.error_rate - value(curve.area.estimate)) / (curve.error_rate - curve.best_area)
    assert found.rejection_ratio.estimate == pytest.approx(gain)


def test_the_ratio_of_errors_per_all_items_is_twice_the_auroc_less_one() -> None:
    """Malinin and Gales count the errors left among all items, as if a person corrects those rejected."""
    correct, confidence = example(n=400)
    errors = 1 - correct[np.argsort(-confidence)]
    n, wrong = len(errors), errors.sum()
    left = np.cumsum(errors) - errors / 2  # errors among the k most confident, by the trapezoidal rule
    random, best = wrong * n / 2, wrong**2 / 2
    ratio = (random - left.sum()) / (random - best)
    assert ratio == pytest.approx(2 * value(order_quality(correct, confidence).auroc.estimate) - 1)


def test_ties_have_the_mean_of_all_orders() -> None:
    correct, confidence = np.array([1, 0, 1, 0, 1]), np.array([0.9, 0.5, 0.5, 0.5, 0.1])
    ratios = []
    for middle in itertools.permutations([0.4, 0.5, 0.6]):
        ratios.append(ratio_of(correct, np.array([0.9, *middle, 0.1])))
    assert order_quality(correct, confidence).rejection_ratio.estimate == pytest.approx(np.mean(ratios))


def test_only_the_order_of_confidences_and_of_no_rows_counts() -> None:
    correct, confidence = example(levels=2)
    cluster = np.arange(60) // 3
    found = order_quality(correct, confidence, clusters=cluster)
    assert order_quality(correct, np.exp(confidence), clusters=cluster) == found
    moved = np.random.default_rng(0).permutation(60)
    other = order_quality(correct[moved], confidence[moved], clusters=cluster[moved])
    for name in ("auroc", "rejection_ratio", "excess_area"):
        one, same = getattr(found, name), getattr(other, name)
        assert (same.low, same.high) == pytest.approx((one.low, one.high))


def test_the_standard_error_of_the_auroc_is_that_of_delong() -> None:
    correct, confidence = example(n=80, levels=3)
    right, wrong = confidence[correct == 1], confidence[correct == 0]
    above = (right[:, None] > wrong) + (right[:, None] == wrong) / 2
    variance = above.mean(1).var(ddof=1) / len(right) + above.mean(0).var(ddof=1) / len(wrong)
    found = order_quality(correct, confidence).auroc.standard_error
    assert found == pytest.approx(np.sqrt(variance), rel=0.03)


def test_copies_of_items_in_clusters_tell_no_more_than_the_items() -> None:
    correct, confidence = example(n=100)
    cluster = np.repeat(np.arange(100), 4)
    copied = order_quality(np.repeat(correct, 4), np.repeat(confidence, 4), clusters=cluster)
    once = order_quality(correct, confidence)
    assert copied.auroc.standard_error == pytest.approx(once.auroc.standard_error, rel=0.02)
    widths = [value(number.high) - value(number.low) for number in (copied.auroc, once.auroc)]
    assert widths[0] > 0.9 * widths[1]


def test_without_errors_there_is_no_order() -> None:
    for correct in ([1, 1, 1], [0, 0, 0]):
        found = order_quality(correct, [0.2, 0.5, 0.9])
        assert found.auroc.estimate is None
        assert found.rejection_ratio.estimate is None
        assert "no order of errors" in (found.auroc.reason or "")
        assert found.excess_area.estimate == 0
    with pytest.raises(InputError, match="confidence"):
        order_quality([1, 0], [0.5, np.nan])


def test_a_perfect_order_is_not_certain() -> None:
    found = order_quality([1] * 90 + [0] * 10, np.arange(100, 0, -1))
    assert found.auroc.estimate == found.rejection_ratio.estimate == 1
    assert 0.6 < (found.auroc.low or 0) < 0.9
    assert found.auroc.high == 1


def test_few_errors_have_a_warning() -> None:
    found = order_quality([1] * 50 + [0] * 3, np.arange(53, 0, -1))
    assert all("few" in (number.warning or "") for number in (found.auroc, found.rejection_ratio))


CELLS: dict[str, Any] = {
    "calibrated": (lambda random, n: (lambda q: (random.random(n) < q, q))(random.beta(4, 1, n)), 120),
    "rare": (lambda random, n: (lambda q: (random.random(n) < q, q))(random.beta(20, 1, n)), 400),
    "near-perfect": (
        lambda random, n: (lambda y: (y, np.where(y | (random.random(n) < 0.05), 1, -1) * random.random(n)))(
            random.random(n) < 0.8
        ),
        120,
    ),
    "verbal": (
        lambda random, n: (lambda y: (y, np.round(3 * random.normal(size=n) / 2 + y).clip(-2, 2)))(
            random.random(n) < 0.6
        ),
        60,
    ),
}


@pytest.mark.parametrize("cell", list(CELLS))
def test_intervals_hold_the_truth(cell: str) -> None:
    draw, n = CELLS[cell]
    random = np.random.default_rng(11)
    right, sure = draw(random, 400_000)
    names = ("auroc", "rejection_ratio", "excess_area")
    truth = {name: getattr(order_quality(right, sure), name).estimate for name in names}
    inside: dict[str, list[bool]] = {name: [] for name in names}
    for _ in range(200):
        right, sure = draw(random, n)
        found = order_quality(right, sure)
        for name in names:
            number = getattr(found, name)
            inside[name].append(number.low <= truth[name] <= number.high)
    assert all(np.mean(held) >= 0.91 for held in inside.values()), inside
