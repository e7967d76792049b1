"""Marginal effects and predicted means of regressions with predicted variables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.estimation import regress
from calibrant.estimation.regression import Method, fit
from calibrant.estimation.regression_margins import Covariates, Margin, margin
from calibrant.estimation.regression_problems import Problem
from calibrant.exceptions import InputError
from tests.command_line import Run
from tests.estimation.test_regressing import frame, problem
from tests.quantities import defined


def moved(one: Problem, column: int, step: float) -> Covariates:
    every, gold = one.design.copy(), one.gold_design.copy()
    every[:, column] += step
    gold[:, column] += step
    return Covariates(every, gold)


def fixed(one: Problem, column: int, value: float) -> Covariates:
    every, gold = one.design.copy(), one.gold_design.copy()
    every[:, column] = gold[:, column] = value
    return Covariates(every, gold)


def derivative(one: Problem, column: int) -> Margin:
    return Margin(moved(one, column, 1e-5), moved(one, column, -1e-5), 2e-5)


@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_effects_of_labels_are_those_of_statsmodels(family: str) -> None:
    import statsmodels.api as sm

    one = problem(family, 150, 150)
    model = sm.Logit if family == "logistic" else sm.Poisson
    theirs = model(one.gold_outcome, one.gold_design).fit(disp=0)
    ours = fit(one, "labels")
    effects = theirs.get_margeff(at="overall")
    for column in (1, 2):
        wanted = derivative(one, column)
        found = margin(one, ours, wanted, "labels")
        assert found.value == pytest.approx(effects.margeff[column - 1], rel=1e-6)
        gradient = np.empty(3)
        for j in range(3):
            ends = [
                margin(one, replace(ours, coefficients=ours.coefficients + move), wanted, "labels").value
                for move in (1e-4 * np.eye(3)[j], -1e-4 * np.eye(3)[j])
            ]
            gradient[j] = (ends[0] - ends[1]) / 2e-4
        theirs_squared = gradient @ theirs.cov_params() @ gradient
        assert np.sqrt(theirs_squared) == pytest.approx(effects.margeff_se[column - 1], rel=1e-4)
        own = gradient @ ours.covariance @ gradient
        # The mean over rows adds its own variance; here, a small one.
        assert own * 0.9 < found.error**2 < own * 1.4


@pytest.mark.parametrize(
    ("method", "covariate", "clusters"),
    [("labels", False, None), ("recalibrated", False, None), ("recalibrated", True, None), ("dsl", True, 40)],
)
def test_the_error_is_that_of_the_jackknife(method: Method, covariate: bool, clusters: int | None) -> None:
    one = problem("logistic", 150, 450, covariate=covariate, clusters=clusters)
    code = np.arange(450) if one.cluster is None else one.cluster
    wanted = (Margin(fixed(one, 1, 0.5)), Margin(moved(one, 1, 1.0), fixed(one, 1, 0.0)))

    def found(kept: Any) -> list[float]:
        rows = np.flatnonzero(kept[one.rows])
        part = Problem(
            "logistic",
            one.names,
            one.design[kept],
            one.outcome[kept],
            (np.cumsum(kept) - 1)[one.rows[rows]],
            one.gold_design[rows],
            one.gold_outcome[rows],
            one.chance[rows],
            cluster=None if clusters is None else np.unique(code[kept], return_inverse=True)[1],
        )
        best = fit(part, method)
        pairs = (Margin(fixed(part, 1, 0.5)), Margin(moved(part, 1, 1.0), fixed(part, 1, 0.0)))
        return [margin(part, best, own, method).value for own in pairs]

    units = np.unique(code)
    without = np.array([found(code != unit) for unit in units])
    jackknife = np.sqrt(((without - without.mean(axis=0)) ** 2).sum(axis=0) * (len(units) - 1) / len(units))
    best = fit(one, method)
    for own, error in zip(wanted, jackknife, strict=True):
        assert margin(one, best, own, method).error == pytest.approx(error, rel=0.12)


def test_effects_of_a_linear_regression_are_its_coefficients() -> None:
    one = problem("linear", 80, 400, unequal=True)
    methods: tuple[Method, ...] = ("recalibrated", "dsl", "labels", "naive")
    for method in methods:
        best = fit(one, method)
        for column in (1, 2):
            found = margin(one, best, derivative(one, column), method)
            assert found.value == pytest.approx(best.coefficients[column], rel=1e-8)
            assert found.error == pytest.approx(np.sqrt(best.covariance[column, column]), rel=1e-6)
            assert found.freedom == pytest.approx(best.freedom[column], rel=1e-6)


def test_the_command_compares_categories_and_derives_by_numbers(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "posts.parquet"
    pq.write_table(pa.table(frame(800, 200)), table)
    line = ["regress", table, "--formula", "y ~ x * party", "--family", "logistic", "--effects"]
    found = json.loads(run(*line, "--at", "party", "--at", "x=-1,0.5", "--json").out)
    names = [one["effect"] for one in found["effects"]]
    assert names == ["x", "party: left - green", "party: right - green"]
    means = {one["at"]: one["corrected"]["estimate"] for one in found["means"]}
    assert list(means)[:2] == ["party=green, x=-1", "party=green, x=0.5"]
    assert len(means) == 6
    for at, value in means.items():  # a mean of one combination of all variables is a fitted probability
        party, x = at.split(", ")
        coefficients = {one["term"]: one["corrected"]["estimate"] for one in found["terms"]}
        slope, level = coefficients["x"], coefficients["Intercept"]
        if "green" not in party:
            term = f"party[T.{party.removeprefix('party=')}]"
            level += coefficients[term]
            slope += next(own for name, own in coefficients.items() if "x" in name and term in name)
        eta = level + slope * float(x.removeprefix("x="))
        assert value == pytest.approx(1 / (1 + np.exp(-eta)), rel=1e-9)
    out = run(*line).out
    assert "Average marginal effects" in out
    assert "Predicted means" not in out


def test_intervals_of_means_are_in_the_range_of_the_outcome() -> None:
    table = pa.table(frame(800, 60))
    for family, most in (("logistic", 1.0), ("poisson", np.inf)):
        found: Any = regress(table, "y ~ x", family=family, at=["x=-6,6"])  # type: ignore[arg-type]
        for one in found.means:
            assert 0 < defined(one.corrected.low) < defined(one.corrected.estimate)
            assert defined(one.corrected.estimate) < defined(one.corrected.high) < most


BAD_VALUES = [
    ("nope=1", "'nope' is no variable to the right of the tilde: these are x, party"),
    ("x", "'x' has no value at which to predict"),
    ("x=a", "'a' is no number"),
    ("x=inf", "'inf' is no number"),
    ("party=blue", "'blue' is no value of party in the table: its values are green, left, right"),
    ("x=1,,2", "'x' has no value at which to predict"),
    ("x=" + ",".join(map(str, range(101))), "`at` has 101 combinations"),
]


@pytest.mark.parametrize(("at", "message"), BAD_VALUES, ids=lambda text: text[:12])
def test_bad_values_are_one_clear_line(at: str, message: str) -> None:
    with pytest.raises(InputError, match=r".+") as caught:
        regress(pa.table(frame()), "y ~ x + party", at=at)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_effects_that_are_not_defined_are_refused() -> None:
    table = pa.table(frame())
    with pytest.raises(InputError, match=r"because C\(n % 3\) is a function of it"):
        regress(table, "y ~ x + C(n % 3)", effects=True)
    with pytest.raises(InputError, match="cannot be estimated with absorbed fixed effects"):
        regress(table, "y ~ x", fixed="n", effects=True)
    with pytest.raises(InputError, match="'x' is in `at` twice"):
        regress(table, "y ~ x", at=["x=1", "x=2"])
