"""`calibrant plan-regress`: labels that a coefficient needs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.estimation import plan_regress
from calibrant.estimation.regression import fit
from calibrant.estimation.regression_planning import CoefficientPilot
from calibrant.estimation.regression_problems import Problem
from calibrant.exceptions import InputError
from tests.command_line import Run
from tests.estimation.test_regressing import frame
from tests.quantities import defined


def drawn(rng: np.random.Generator, labels: int, *, useless: bool = False, size: int = 3000) -> Problem:
    x = np.stack([np.ones(size), rng.normal(size=size)], axis=1)
    y = (rng.random(size) < 1 / (1 + np.exp(0.5 - 0.4 * x[:, 1]))).astype(float)
    guess = np.where(rng.random(size) < (0.5 if useless else 0.1), 1 - y, y)
    rows = rng.choice(size, labels, replace=False)
    return Problem("logistic", ["1", "x"], x, guess, rows, x[rows], y[rows], np.full(labels, labels / size))


def test_the_planned_number_of_labels_gives_the_width_and_the_power() -> None:
    rng = np.random.default_rng(0)
    wanted: dict[str, Any] = {"power": 0.8, "level": 0.95}
    plans: dict[str, list[Any]] = {"width": [], "effect": []}
    for _ in range(40):
        pilot = CoefficientPilot.of(drawn(rng, 150), 1)
        plans["width"].append(pilot.labels_for(pilot.of_predictions, width=0.35, effect=None, **wanted))
        plans["effect"].append(pilot.labels_for(pilot.of_predictions, width=None, effect=0.4, **wanted))
    for goal, needed in plans.items():
        n = round(float(np.mean(needed)))
        assert np.std(needed) < 0.4 * n  # pilots differ
        widths, found = [], []
        for _ in range(100):
            best = fit(drawn(rng, n), "recalibrated")
            error = np.sqrt(best.covariance[1, 1])
            widths.append(2 * 1.97 * error)
            found.append(best.coefficients[1] > 1.97 * error)
        if goal == "width":
            assert np.mean(widths) == pytest.approx(0.35, rel=0.08)
        else:
            assert 0.68 <= np.mean(found) <= 0.92


def test_all_labels_have_the_variance_of_the_whole_corpus() -> None:
    pilot = CoefficientPilot(1000, 2, whole=4.0, left=1.0)
    assert pilot.of_labels(1000) == pilot.of_predictions(1000) == 0.004
    assert pilot.of_predictions(100) == pytest.approx(0.004 + 0.009)
    assert pilot.labels_for(pilot.of_labels, width=0.001, effect=None, power=0.8, level=0.95) is None


def test_the_command_says_when_predictions_do_not_help(run: Run, tmp_path: Path) -> None:
    table, out = frame(2000, 200), tmp_path / "posts.parquet"
    pq.write_table(pa.table(table), out)
    line = ["plan-regress", out, "--formula", "y ~ x", "--family", "logistic", "--term", "x"]
    found = json.loads(run(*line, "--effect", "-0.3", "--json").out)
    labels, best = found["plans"]
    assert best["labels"] < 0.7 * labels["labels"]
    assert found["predictions_warning"] is None
    table["pred_y"] = np.random.default_rng(0).integers(0, 2, 2000)
    useless = plan_regress(pa.table(table), "y ~ x", term="x", width=0.1, family="logistic")
    assert "predictions do not help" in defined(useless.predictions_warning)


BAD_PLANS: list[tuple[dict[str, Any], str]] = [
    ({}, "not exactly one of width and effect"),
    ({"width": 1, "effect": 1}, "not exactly one of width and effect"),
    ({"width": -1}, "width"),
    ({"effect": 0}, "effect is 0"),
    ({"width": 1, "term": "z"}, "'z' is no term of the formula: its terms are Intercept, x"),
    ({"width": 1, "power": 0.2}, "power is 0.2"),
]


@pytest.mark.parametrize("place", range(len(BAD_PLANS)))
def test_bad_plans_are_one_clear_line(place: int) -> None:
    options, message = BAD_PLANS[place]
    given: dict[str, Any] = {"term": "x", **options}
    with pytest.raises(InputError, match=message):
        plan_regress(pa.table(frame()), "y ~ x", **given)


def test_clusters_are_refused() -> None:
    rows = pa.table({**frame(), "cluster": np.arange(400) // 4})
    with pytest.raises(InputError, match="the plan is for independent rows"):
        plan_regress(rows, "y ~ x", term="x", width=0.1)


def test_a_width_that_labels_of_all_rows_do_not_reach_says_so() -> None:
    plan = plan_regress(pa.table(frame()), "y ~ x", family="logistic", term="x", width=0.01)
    assert [one.labels for one in plan.plans] == [None, None]
    assert plan.explained > 0.1
    assert plan.predictions_warning is None
    assert plan.summary().startswith("Labels of all 400 rows are not enough")
