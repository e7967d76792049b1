"""Counts of documents, against enumeration."""

from __future__ import annotations

import itertools
from typing import Any, get_args

import numpy as np
import pytest
from scipy.stats import binom

from calibrant.estimation import (
    compare_counts,
    count_interval,
    joint_probabilities,
    number_interval,
    poisson_binomial,
)
from calibrant.estimation.counts import Interval
from calibrant.exceptions import InputError
from tests.quantities import limits


def enumerated(up: np.ndarray, down: np.ndarray) -> dict[int, float]:
    """The distribution of a sum of steps, over all outcomes."""
    found: dict[int, float] = {}
    for steps in itertools.product((-1, 0, 1), repeat=len(up)):
        chance = 1.0
        for step, one, other in zip(steps, up, down, strict=True):
            chance *= {1: one, -1: other, 0: 1 - one - other}[step]
        found[sum(steps)] = found.get(sum(steps), 0.0) + chance
    return found


def test_the_distribution_is_that_of_all_outcomes() -> None:
    chance = np.random.default_rng(0).random(9)
    chance[:2] = 0.0, 1.0
    exact = enumerated(chance, np.zeros(9))
    found = poisson_binomial(chance)
    for value, probability in zip(found.values, found.probabilities, strict=True):
        assert probability == pytest.approx(exact[int(value)], rel=1e-13)
    assert found.mean == pytest.approx(chance.sum())
    assert found.sd**2 == pytest.approx((chance * (1 - chance)).sum())


@pytest.mark.parametrize("chance", [0.001, 0.3, 0.97])
def test_equal_probabilities_give_the_binomial_distribution_tails_included(chance: float) -> None:
    found = poisson_binomial(np.full(5000, chance))
    exact = binom.pmf(found.values, 5000, chance)
    assert (np.abs(found.probabilities - exact) <= 1e-11 * exact + 1e-24).all()
    assert found.probabilities.sum() == pytest.approx(1, abs=1e-12)
    assert found.interval(0.95) == (binom.ppf(0.025, 5000, chance), binom.isf(0.025, 5000, chance))


@pytest.mark.parametrize("level", [0.5, 0.8, 0.95])
def test_the_interval_is_the_smallest_with_small_enough_tails(level: float) -> None:
    found = poisson_binomial(np.random.default_rng(1).random(30))
    low, high = found.interval(level)
    tail = (1 - level) / 2
    for beyond, one_more in (
        (found.values < low, found.values <= low),
        (found.values > high, found.values >= high),
    ):
        assert found.probabilities[beyond].sum() <= tail < found.probabilities[one_more].sum()


def test_no_documents_and_certain_ones_have_no_doubt() -> None:
    for chance, count in (([], 0), ([0.0, 0.0], 0), ([1.0, 0.0, 1.0], 2)):
        found = count_interval(np.array(chance))
        assert (limits(found.count), found.sd) == ((count, count, count), 0)


def test_intervals_from_samples_are_of_the_sums_and_the_normal_one_stops_at_zero() -> None:
    rng = np.random.default_rng(2)
    chance = rng.random(40) * 0.06
    bits = rng.random((100, 40)) < chance
    exact, normal, sampled = (count_interval(bits=bits, interval=interval) for interval in get_args(Interval))
    sums = bits.sum(axis=1)
    assert normal.count.low == 0
    assert limits(sampled.count)[::2] == (
        np.quantile(sums, 0.025, method="lower"),
        np.quantile(sums, 0.975, method="higher"),
    )
    shares = bits.mean(axis=0)
    noise = (shares * (1 - shares)).sum()
    assert exact.sd == pytest.approx(np.sqrt(noise * 100 / 99))
    assert exact.count.standard_error == pytest.approx(np.sqrt(noise / 100))
    assert normal.count.high == pytest.approx(shares.sum() + 1.959964 * exact.sd, rel=1e-6)


def test_the_exact_interval_covers_counts_from_the_model() -> None:
    rng = np.random.default_rng(3)
    chance = rng.beta(0.3, 1, 200)
    low, _, high = limits(count_interval(chance).count)
    counts = (rng.random((4000, 200)) < chance).sum(axis=1)
    stated = poisson_binomial(chance)
    mass = stated.probabilities[(stated.values >= low) & (stated.values <= high)].sum()
    assert mass >= 0.95
    assert ((counts >= low) & (counts <= high)).mean() == pytest.approx(mass, abs=0.015)


@pytest.mark.parametrize("interval", get_args(Interval))
def test_numbers_of_at_most_one_have_the_interval_of_counts(interval: Interval) -> None:
    bits = np.random.default_rng(4).random((30, 12)) < 0.3
    found, expected = number_interval(bits, interval=interval), count_interval(bits=bits, interval=interval)
    assert limits(found.count) == pytest.approx(limits(expected.count))
    assert found.sd == pytest.approx(expected.sd)


def test_the_sum_of_numbers_has_the_distribution_of_all_outcomes() -> None:
    numbers = np.array([[0, 2, 1], [3, 0, 1], [0, 0, 0], [1, 2, 1]])
    sums = np.array([sum(each) for each in itertools.product(*numbers.T.tolist())])
    for level in (0.5, 0.8, 0.95):
        found = number_interval(numbers, level=level)
        tail = (1 - level) / 2
        low, mean, high = limits(found.count)
        assert mean == pytest.approx(sums.mean())
        assert (sums < low).mean() <= tail < (sums <= low).mean()
        assert (sums > high).mean() <= tail < (sums >= high).mean()
    assert found.sd == pytest.approx(sums.std() * np.sqrt(4 / 3))


def test_the_exact_interval_covers_numbers_from_the_model() -> None:
    rng = np.random.default_rng(8)
    covered = []
    for documents, most in ((5, 2), (40, 4), (150, 3)):
        for _ in range(100):
            chance = rng.dirichlet([3, *[0.6] * most], documents)  # of 0, 1, ..., most entities
            below = np.cumsum(chance, axis=1)[:, None, :-1]
            numbers = (rng.random((documents, 101, 1)) > below).sum(axis=2).T
            low, _, high = limits(number_interval(numbers[:100]).count)
            covered.append(low <= numbers[100].sum() <= high)
    assert np.mean(covered) >= 0.93


@pytest.mark.parametrize(
    "numbers", [[1, 2], np.zeros((0, 3), int), [[-1]], [[0.5]]], ids=["flat", "none", "negative", "half"]
)
def test_bad_numbers_are_refused(numbers: Any) -> None:
    with pytest.raises(InputError, match="numbers"):
        number_interval(numbers)


def test_a_comparison_is_that_of_all_outcomes() -> None:
    rng = np.random.default_rng(4)
    up, down = rng.random(7) * 0.6, rng.random(7) * 0.4
    down[0] = up[1] = 0.0
    exact = enumerated(up, down)
    found = compare_counts(up, down)
    assert found.greater == pytest.approx(sum(chance for value, chance in exact.items() if value > 0))
    assert found.equal == pytest.approx(exact[0])
    assert found.difference.estimate == pytest.approx(sum(value * chance for value, chance in exact.items()))
    swapped = compare_counts(down, up)
    assert swapped.less == pytest.approx(found.greater)
    assert limits(swapped.difference) == pytest.approx([-end for end in limits(found.difference)][::-1])


def test_shared_documents_do_not_blur_a_comparison() -> None:
    rng = np.random.default_rng(5)
    shared = rng.random((400, 50)) < 0.5
    more = rng.random((400, 50)) < 0.1
    first, second = shared | more, shared
    joint = joint_probabilities(first, second)
    assert np.sum(joint, axis=0) == pytest.approx(np.ones(50))
    found = compare_counts(joint[1], joint[2])
    assert found.less == 0
    assert found.greater == pytest.approx((first.sum(axis=1) > second.sum(axis=1)).mean(), abs=0.05)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "neither"),
        ({"probabilities": [1.5]}, "1.5"),
        ({"probabilities": [0.5], "interval": "samples"}, "needs bits"),
        ({"bits": [[0.5]]}, "0 or 1"),
        ({"bits": [0, 1]}, "shape"),
        ({"bits": [[0, 1]], "probabilities": [0.5]}, "columns"),
        ({"probabilities": [0.5], "interval": "wald"}, "interval"),
    ],
    ids=["nothing", "range", "samples", "bits", "shape", "length", "interval"],
)
def test_bad_counts_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        count_interval(**given)


def test_probabilities_of_both_directions_fit_together() -> None:
    with pytest.raises(InputError, match=r"document 1 are 0\.7 and 0\.6"):
        compare_counts([0.1, 0.7], [0.2, 0.6])
    with pytest.raises(InputError, match="shapes"):
        joint_probabilities([[1]], [[1, 0]])
