from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import InputError
from calibrant.metrics import pairs
from calibrant.metrics.compare import error_difference
from calibrant.metrics.intervals import error_interval
from calibrant.metrics.planning import LARGEST, labels_needed
from calibrant.synthetic import draw_uniforms
from tests.quantities import defined

REPLICATIONS = 250


def drawn_power(
    n: int, error: float, *, cluster_size: int = 1, label_correlation: float = 0.0, shifted: bool = False
) -> float:
    """Return the fraction of intervals that exclude 0 if every score from 0.2 to 0.8 is off by ``error``."""
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(REPLICATIONS):
        uniform, threshold, cluster = draw_uniforms(
            n, cluster_size, rng, label_correlation=label_correlation, score_correlation=0.0
        )
        q = 0.2 + 0.6 * uniform
        away = np.where((q < 0.5) & (not shifted), error, -error)
        low = error_interval(pairs(threshold < q + away, q, clusters=cluster)).low
        seen += low is not None and low > 0
    return seen / REPLICATIONS


@pytest.mark.slow
@pytest.mark.parametrize(("error", "low", "high"), [(0.2, 0.3, 0.7), (0.1, 0.2, 0.8), (0.05, 0.0, 1.0)])
def test_an_overconfident_model_is_detected_with_the_wanted_power(
    error: float, low: float, high: float
) -> None:
    n = defined(labels_needed(error=error, scores=np.linspace(low, high, 2001)).labels)
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(1000):
        q = low + (high - low) * rng.random(n)
        found = error_interval(pairs(rng.random(n) < q + np.where(q < 0.5, error, -error), q)).low
        seen += found is not None and found > 0
    assert seen / 1000 > 0.74


@pytest.mark.slow
@pytest.mark.parametrize("dependence", [{}, {"cluster_size": 10, "label_correlation": 0.3}])
def test_the_planned_labels_give_the_wanted_power(dependence: dict[str, Any]) -> None:
    pilot = np.linspace(0.2, 0.8, 1001)
    plan = labels_needed(error=0.1, power=0.8, scores=pilot, **dependence)
    powers = [
        drawn_power(defined(plan.labels), 0.1, **dependence, shifted=shifted) for shifted in (False, True)
    ]
    assert 0.74 < min(powers) < 0.92


@pytest.mark.slow
@pytest.mark.parametrize(("a", "b"), [(0.05, 2), (0.02, 1), (1, 1), (0.3, 6)])
def test_the_planned_labels_show_an_error_also_of_scores_near_0(a: float, b: float) -> None:
    rng, seen = np.random.default_rng(2), 0
    plan = labels_needed(error=0.05, scores=rng.beta(a, b, 20_000))
    assert plan.labels is not None
    for _ in range(150):
        q = rng.beta(a, b, plan.labels)
        y = rng.random(plan.labels) < np.clip(q + np.where(q < 0.5, 0.05, -0.05), 0, 1)
        seen += defined(error_interval(pairs(y, q)).low) > 0
    assert seen / 150 > 0.7


@pytest.mark.slow
def test_the_planned_labels_show_a_difference() -> None:
    pilot = np.linspace(0.2, 0.8, 1001)
    plan = labels_needed(error=0.15, difference=0.1, scores=pilot)
    assert plan.labels is not None
    rng = np.random.default_rng(1)
    seen = 0
    for _ in range(REPLICATIONS):
        p = 0.2 + 0.6 * rng.random(plan.labels)
        y = rng.random(plan.labels) < p
        away = np.where(p < 0.5, -0.15, 0.15)  # no two frequencies have the same score
        found = error_difference(pairs(y, p + away), pairs(y, p + 0.05), seed=0)
        seen += found.mse_difference.low is not None and found.mse_difference.low > 0
    assert seen / REPLICATIONS > 0.75


def with_values(size: int) -> Any:
    """Scores of a model that says one of ten percentages, most often a high one."""
    values = np.array([0.05, 0.2, 0.35, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95])
    return values[np.minimum(9, (10 * np.random.default_rng(3).beta(2, 1, size)).astype(int))]


def rounded(size: int) -> Any:
    return np.random.default_rng(4).beta(2, 2, size).round(2)


def half_rounded(size: int) -> Any:
    rng = np.random.default_rng(5)
    return np.where(rng.random(size) < 0.5, 0.9, rng.uniform(0.1, 0.9, size))


@pytest.mark.parametrize(
    ("scores", "pilot", "error"), [(with_values, 200, 0.06), (rounded, 150, 0.04), (half_rounded, 500, 0.08)]
)
def test_a_pilot_with_few_distinct_scores_needs_no_more_labels(scores: Any, pilot: int, error: float) -> None:
    """It asked for two to ten times as many."""
    plan = labels_needed(error=error, scores=scores(pilot))
    rng, population, seen = np.random.default_rng(1), scores(10**6), 0
    for _ in range(REPLICATIONS):
        q = rng.choice(population, defined(plan.labels))
        low = error_interval(pairs(rng.random(len(q)) < q + np.where(q < 0.5, error, -error), q)).low
        seen += low is not None and low > 0
    assert seen / REPLICATIONS > 0.72


def test_smaller_goals_need_more_labels() -> None:
    labels = [labels_needed(error=error).labels or 0 for error in (0.02, 0.05, 0.1)]
    assert labels[0] > labels[1] > labels[2]
    assert (labels_needed(error=0.05, power=0.9).labels or 0) > labels[1]
    assert (labels_needed(error=0.05, level=0.99).labels or 0) > labels[1]


def test_fewer_labels_would_not_do() -> None:
    pilot = np.linspace(0.2, 0.8, 1001)
    plan = labels_needed(error=0.1, power=0.8, scores=pilot)
    assert drawn_power(defined(plan.labels) // 2, 0.1) < 0.65


def test_labels_grow_by_less_than_the_design_effect() -> None:
    dependence: dict[str, Any] = {"cluster_size": 10, "label_correlation": 0.2}
    pilot = np.linspace(0.2, 0.8, 1001)
    alone, plan = (
        labels_needed(error=0.05, scores=pilot),
        labels_needed(error=0.05, scores=pilot, **dependence),
    )
    assert alone.labels is not None
    assert plan.labels is not None
    assert 1.5 * alone.labels < plan.labels < 2.8 * alone.labels
    assert plan.design_effect == pytest.approx(2.8)
    assert any("up to the design effect" in sentence for sentence in plan.assumptions)


@pytest.mark.parametrize(("size", "correlation", "error"), [(500, 0.0, 0.1), (40, 0.1, 0.3), (20, 0.2, 0.2)])
def test_planned_clusters_are_ten_or_more_and_show_the_error(
    size: int, correlation: float, error: float
) -> None:
    pilot = np.linspace(0.2, 0.8, 1001)
    plan = labels_needed(error=error, scores=pilot, cluster_size=size, label_correlation=correlation)
    assert defined(plan.clusters) >= 10
    power = drawn_power(defined(plan.labels), error, cluster_size=size, label_correlation=correlation)
    assert power > 0.75


def test_clusters_are_whole() -> None:
    plan = labels_needed(error=0.05, cluster_size=30, label_correlation=0.2)
    assert plan.labels is not None
    assert plan.labels % 30 == 0
    assert plan.clusters == plan.labels // 30
    assert plan.design_effect == pytest.approx(6.8)


def test_a_pilot_of_the_assumed_scores_gives_the_same_plan() -> None:
    pilot = np.random.default_rng(0).beta(2, 3, 200_000)
    from_pilot, assumed = labels_needed(error=0.05, scores=pilot), labels_needed(error=0.05, beta=(2, 3))
    assert from_pilot.labels == pytest.approx(assumed.labels, rel=0.02)


def test_the_assumptions_are_written_down() -> None:
    plan = labels_needed(difference=0.01)
    assert plan.error == 0.05
    assert any("0.05" in sentence for sentence in plan.assumptions)
    assert plan.to_dict()["goal"] == "difference"
    assert any("scores and deviations are not correlated" in sentence for sentence in plan.assumptions)
    assert any("rank items alike need fewer labels" in sentence for sentence in plan.assumptions)


def test_an_error_that_no_frequency_can_have_is_planned() -> None:
    assert labels_needed(error=0.5, scores=np.full(100, 0.5)).labels == 40


def test_a_hopeless_goal_has_no_number_but_a_reason() -> None:
    plan = labels_needed(error=1e-5)
    assert plan.labels is None
    assert f"{LARGEST:,}" in (plan.reason or "")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({}, "neither an error nor a difference is given"),
        ({"error": 2.0}, "error"),
        ({"error": 0.0}, "error is 0.0: give a number between 0 and 1, such as 0.02"),
        ({"difference": 0}, "difference is 0: .* such as 0.02"),
        ({"error": 0.02, "difference": 0.05}, "larger error"),
        ({"error": 0.9}, r"error is 0\.9, but the largest RMS error that these scores can have is 0\.764"),
        ({"error": 0.71, "scores": [0.3, 0.7]}, "these scores can have is 0.7: give a smaller error"),
        ({"error": 0.1, "label_correlation": 2.0}, "label_correlation"),
        ({"error": 0.1, "beta": (0.0, 1.0)}, "beta"),
        ({"error": 0.1, "scores": [0.0, 1.0]}, "0 or 1"),
        ({"error": 0.1, "power": 1.0}, "power"),
        ({"error": 0.1, "cluster_size": 0}, "cluster_size"),
    ],
)
def test_a_bad_argument_is_named(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(InputError, match=match):
        labels_needed(**arguments)
