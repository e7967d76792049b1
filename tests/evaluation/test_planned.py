"""Plans of runs: the wanted width and power come out on newly simulated data."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from calibrant import compare
from calibrant.evaluation import plan_runs
from calibrant.evaluation.planned import plan_tasks
from calibrant.evaluation.results.planned import RunPlan
from calibrant.evaluation.results.runs import RunComparison
from calibrant.evaluation.runs import TaskTable, compare_tasks
from calibrant.exceptions import InputError
from tests.command_line import Run

LOGS = Path(__file__).resolve().parent.parent / "archives" / "logs"


def simulated(random: np.random.Generator, items: int, runs: int, shift: float = 0.0) -> TaskTable:
    """Right and wrong answers of two systems with correlated difficulties of items."""
    easy = random.normal(0.4, 1.2, items)
    p = 1 / (1 + np.exp(-(easy + random.normal(0, 0.7, (2, items)))))
    p[0] = np.clip(p[0] + shift, 0, 1)
    y = random.random((runs, 2, items)) < p
    variances = y.var(axis=0, ddof=1) if runs > 1 else np.full((2, items), np.nan)
    return TaskTable("quiz", "acc", y.mean(axis=0), np.full((2, items), runs), None, variances, True)


def planned(plan: RunPlan, runs: int, second: str = "b") -> int:
    [items] = [row.items for row in plan.plans if row.runs == runs and row.second == second]
    assert items is not None
    return items


@pytest.mark.parametrize("runs", [1, 3, 8])
def test_planned_items_give_the_wanted_width_on_average(runs: int) -> None:
    random = np.random.default_rng(runs)
    pilot = simulated(random, 2000, 4)
    plan = plan_tasks("ab", [pilot], half_width=0.03)
    items = planned(plan, runs)
    halves, means = [], []
    for _ in range(60):
        found = compare_tasks("ab", [simulated(random, items, runs)])
        low, high = found.overall[0].difference.low, found.overall[0].difference.high
        assert low is not None
        assert high is not None
        halves.append((high - low) / 2)
    assert np.mean(halves) == pytest.approx(0.03, rel=0.1)
    of_one = [row.items for row in plan.plans if row.runs == runs and row.first == "a" and not row.second]
    assert of_one[0] is not None
    for _ in range(60):
        found = compare_tasks("ab", [simulated(random, of_one[0], runs)])
        [mean] = [row.mean for row in found.systems if row.system == "a"]
        assert mean.low is not None
        assert mean.high is not None
        means.append((mean.high - mean.low) / 2)
    assert np.mean(means) == pytest.approx(0.03, rel=0.1)


def test_planned_items_have_the_power() -> None:
    random = np.random.default_rng(7)
    many = simulated(random, 1_000_000, 1, shift=0.06).scores
    difference = float((many[0] - many[1]).mean())
    pilot = simulated(random, 4000, 3, shift=0.06)
    items = planned(plan_tasks("ab", [pilot], difference=difference), 2)
    hits = [
        (compare_tasks("ab", [simulated(random, items, 2, shift=0.06)]).overall[0].p_value or 0) < 0.05
        for _ in range(400)
    ]
    assert np.mean(hits) == pytest.approx(0.8, abs=0.05)


@pytest.mark.parametrize(("items", "runs"), [(40, 4), (100, 2), (250, 3)])
def test_safe_items_are_enough_for_the_true_variance(items: int, runs: int) -> None:
    random = np.random.default_rng(items)
    many = simulated(random, 300_000, 8)
    assert many.run_variances is not None
    whole, within = (many.scores[0] - many.scores[1]).var(), many.run_variances.sum(axis=0).mean()
    enough = []
    for _ in range(200):
        plan = plan_tasks("ab", [simulated(random, items, runs)], half_width=0.02)
        for row in plan.plans:
            if row.second and row.runs in (1, 4):
                assert row.safe_items is not None
                variance = (whole - within / 8 + within / row.runs) / row.safe_items
                enough.append(1.96 * math.sqrt(variance) <= 0.02 * 1.01)
    assert np.mean(enough) > 0.93


def test_the_variances_are_those_of_the_formula() -> None:
    random = np.random.default_rng(11)
    table = simulated(random, 500, 4)
    plan = plan_tasks("ab", [table], half_width=0.05)
    pair = plan.pilot[0]
    difference = table.scores[0] - table.scores[1]
    assert table.run_variances is not None
    within = table.run_variances.sum(axis=0).mean()
    assert pair.run_variance == pytest.approx(within)
    assert pair.item_variance == pytest.approx(difference.var(ddof=1) - within / 4)
    for row in plan.plans[:8]:
        assert row.items is not None
        variance = (pair.item_variance + within / row.runs) / row.items
        assert 1.96 * math.sqrt(variance) == pytest.approx(0.05, rel=0.02)
    compared = compare_tasks("ab", [table])
    one = next(row for row in compared.systems if row.system == "a")
    own = next(row for row in plan.pilot if row.first == "a" and not row.second)
    assert (own.item_variance, own.run_variance) == pytest.approx((one.item_variance, one.run_variance))


def test_more_runs_are_cheaper_if_items_are_expensive() -> None:
    table = simulated(np.random.default_rng(5), 800, 4)
    chosen = {}
    for cost in (0, 3, 50):
        plan = plan_tasks("ab", [table], difference=0.05, item_cost=cost)
        [chosen[cost]] = [row.runs for row in plan.plans if row.cheapest]
        pair = plan.pilot[0]
        assert pair.run_variance is not None
        best = math.sqrt(max(cost, 1e-9) * pair.run_variance / pair.item_variance)
        # The classical optimum, on the grid of runs.
        assert chosen[cost] in (1, 2, 3, 4, 6, 8, 12, 16)
        assert 0.5 * best <= chosen[cost] <= max(1, 2 * best)
    assert chosen[0] == 1 < chosen[50]


def test_dependent_items_need_more() -> None:
    table = simulated(np.random.default_rng(6), 300, 2)
    order = np.argsort(table.scores[0] - table.scores[1])  # like differences are in one cluster
    clusters = np.empty(300, object)
    clusters[order] = [f"{place // 5}" for place in range(300)]
    dependent = TaskTable("quiz", "acc", table.scores, table.runs, clusters, table.run_variances, True)
    alone, together = (planned(plan_tasks("ab", [t], difference=0.05), 2) for t in (table, dependent))
    assert 2 * alone < together
    assert plan_tasks("ab", [dependent], difference=0.05).clusters


def test_one_run_per_item_plans_one_run_and_says_so() -> None:
    plan = plan_runs([LOGS / "lm_eval-0.4.13"], difference=0.1)
    assert {row.runs for row in plan.plans} == {1}
    assert all(row.run_variance is None for row in plan.pilot)
    assert "more runs cannot be planned" in " ".join(plan.assumptions)
    [compared] = [compare([LOGS / "lm_eval-0.4.13"])]
    assert isinstance(compared, RunComparison)
    assert plan.pilot[0].estimate == compared.overall[0].difference.estimate


def test_impossible_requests_are_errors(tmp_path: Path) -> None:
    rows: dict[str, Any] = {"system": ["a", "a", "b", "b"], "item": [1, 2, 1, 2], "score": [1, 0, 1, 1]}
    table = pd.DataFrame(rows)
    with pytest.raises(InputError, match="give one goal"):
        plan_runs(table)
    with pytest.raises(InputError, match="half_width is 2"):
        plan_runs(table, half_width=2)
    with pytest.raises(InputError, match="there is no system 'c'"):
        plan_runs(table, difference=0.1, baseline="c")
    with pytest.raises(InputError, match="there is one system, a, and a difference needs two"):
        plan_runs(table[:2], difference=0.1)
    assert plan_runs(table[:2], half_width=0.1).plans[0].second == ""
    with pytest.raises(InputError, match="the pilot has 1 items of a and b"):
        plan_runs(table[::2], difference=0.1)
    with pytest.raises(InputError, match="no column 'item'"):
        plan_runs(table.drop(columns="item"), difference=0.1)
    same = plan_runs(pd.DataFrame(rows | {"score": [1, 0, 1, 0]}), difference=0.1)
    assert (same.plans[0].items, same.plans[0].reason) == (None, "all differences of the pilot are equal")
    assert same.summary() == "No plan reaches the goal."


def test_the_command_prints_what_the_function_says(run: Run, tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    lines = [
        f"{system},{item},{epoch},{int(random.random() < 0.5)}"
        for system in "ab"
        for item in range(50)
        for epoch in (1, 2)
    ]
    (tmp_path / "runs.csv").write_text("system,item,run,score\n" + "\n".join(lines), encoding="utf-8")
    found = json.loads(run("plan-runs", tmp_path / "runs.csv", "--difference", "0.1", "--json").out)
    plan = plan_runs(tmp_path / "runs.csv", difference=0.1)
    assert [row["items"] for row in found["plans"]] == [row.items for row in plan.plans]
    run("plan-runs", tmp_path / "runs.csv").refused("Give one goal: --half-width or --difference")
    gated = run("plan-runs", tmp_path / "runs.csv", "--difference", "0.1", "--fail-if", "plans.items > 10")
    assert gated.code == 3
