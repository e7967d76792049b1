"""Tests of a risk above alpha: exact values, bounds, and validity by enumeration."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from calibrant.evaluation.risk_tests import betting_p, binomial_p, convex_p, fewest_units, most_evidence


@pytest.mark.parametrize(("n", "alpha"), [(1, 0.3), (22, 0.1), (400, 0.02)])
def test_the_binomial_p_value_is_exact(n: int, alpha: float) -> None:
    for errors in {0, 1, n // 3, n}:
        assert binomial_p(errors, n, alpha) == pytest.approx(binom.cdf(errors, n, alpha))


@pytest.mark.parametrize(("alpha", "delta"), [(0.1, 0.1), (0.01, 0.05), (0.5, 0.4), (0.9, 0.1)])
def test_fewest_units_without_an_error_just_reach_delta(alpha: float, delta: float) -> None:
    n = fewest_units(alpha, delta)
    assert binomial_p(0, n, alpha) <= delta + 1e-12
    assert n == 1 or binomial_p(0, n - 1, alpha) > delta


def test_the_convex_bound_is_the_binomial_p_value_without_losses_and_at_most_e_times_it() -> None:
    for n, alpha in ((1, 0.2), (30, 0.1), (500, 0.05)):
        assert convex_p(0, n, alpha) == pytest.approx((1 - alpha) ** n)
        for errors in range(1, int(n * alpha)):
            exact = binomial_p(errors, n, alpha)
            assert exact <= convex_p(errors, n, alpha) <= min(1, math.e * exact * 1.01)
        assert convex_p(n * alpha, n, alpha) == 1


def _graded(losses: tuple[float, ...], alpha: float) -> float:
    return convex_p(sum(losses), len(losses), alpha)


def _bets(losses: tuple[float, ...], alpha: float) -> float:
    return betting_p(np.array(losses, np.float64) - alpha, alpha, 0.1)


@pytest.mark.parametrize("test", [_graded, _bets], ids=["convex", "betting"])
@pytest.mark.parametrize(
    ("values", "chances"),
    [((0.0, 0.5, 1.0), (0.7, 0.2, 0.1)), ((0.0, 1.0), (0.8, 0.2)), ((0.1, 0.3), (0.5, 0.5))],
)
def test_p_values_are_small_no_more_often_than_they_say(
    test: Callable[[tuple[float, ...], float], float], values: tuple[float, ...], chances: tuple[float, ...]
) -> None:
    alpha = float(np.dot(values, chances))  # the risk is at the limit
    for n in (3, 8):
        p = np.array([test(losses, alpha) for losses in product(values, repeat=n)])
        chance = np.array([math.prod(chosen) for chosen in product(chances, repeat=n)])
        for level in np.unique(p[p < 0.7]):
            assert chance[p <= level].sum() <= level + 1e-9


def test_bets_do_not_depend_on_the_order_and_may_be_counted() -> None:
    random = np.random.default_rng(0)
    excess = random.choice([-0.1, -0.05, 0.4], 333)
    found = betting_p(excess, 0.1, 0.05)
    assert found == pytest.approx(betting_p(np.sort(excess), 0.1, 0.05))
    values, count = np.unique(excess, return_counts=True)
    assert found == pytest.approx(betting_p(values, 0.1, 0.05, count))
    items = random.integers(1, 5, 50)
    least = betting_p((-0.1 * items / 4).astype(np.float64), 0.1, 0.05)
    assert math.exp(-most_evidence(items, 4, 0.1, 0.05)) == pytest.approx(least)


def test_unequal_units_whose_means_add_up_to_zero_are_no_evidence() -> None:
    random = np.random.default_rng(1)
    chance = np.where(np.arange(60) < 30, 0.05, 0.15)  # of a limit of 0.1
    p = [betting_p((random.random(60) < chance).astype(float) - 0.1, 0.1, 0.1) for _ in range(2000)]
    assert np.mean(np.array(p) <= 0.1) <= 0.1
