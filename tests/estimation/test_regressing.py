"""`calibrant regress`: regressions with predicted variables."""

from __future__ import annotations

import importlib.util
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet as pq

from calibrant.estimation import regress
from calibrant.estimation.regression import Method, adjusted_outcome, fit
from calibrant.estimation.regression_problems import LINKS, Problem
from calibrant.exceptions import InputError, MissingExtraError
from tests.command_line import Run
from tests.quantities import defined

ROOT = Path(__file__).resolve().parents[2]
Floats = NDArray[np.float64]


def problem(
    family: Any = "linear",
    n: int = 40,
    size: int = 160,
    *,
    seed: int = 0,
    covariate: bool = False,
    clusters: int | None = None,
    unequal: bool = False,
) -> Problem:
    rng = np.random.default_rng(seed)
    x = np.stack([np.ones(size), rng.normal(size=size), rng.random(size) < 0.4], axis=1).astype(float)
    mean = LINKS[family](x @ [0.3, 0.5, -0.4])[0]
    y: Any = mean + rng.normal(size=size)
    if family != "linear":
        y = rng.poisson(mean).astype(float) if family == "poisson" else 1.0 * (rng.random(size) < mean)
    guess = np.where(rng.random(size) < 0.7, y, rng.permutation(y)) + (family == "linear") * 0.3 * x[:, 2]
    predicted = x.copy()
    if covariate:
        predicted[:, 2] = np.where(rng.random(size) < 0.8, x[:, 2], 1 - x[:, 2])
    rows = np.sort(rng.choice(size, n, replace=False))
    chance = np.full(n, n / size)
    if unequal:
        chance = chance * np.where(x[rows, 1] > 0, 1.5, 0.5)
    code = None if clusters is None else rng.integers(0, clusters, size)
    names = ["1", "a", "b"]
    return Problem(family, names, predicted, guess, rows, x[rows], y[rows], chance, None, code)


def moments(family: str, x: Floats, y: Floats, beta: Floats) -> Floats:
    value: Floats = x * (y - LINKS[family](x @ beta)[0])[:, None]
    return value


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_naive_and_labels_are_what_statsmodels_computes(family: str) -> None:
    import statsmodels.api as sm

    one = problem(family)
    kinds = {"linear": sm.families.Gaussian, "logistic": sm.families.Binomial, "poisson": sm.families.Poisson}
    whole = sm.GLM(one.outcome, one.design, family=kinds[family]()).fit(cov_type="HC1")
    naive = fit(one, "naive")
    np.testing.assert_allclose(naive.coefficients, whole.params, rtol=1e-6)
    error = whole.bse * np.sqrt(160 / 157)  # GLM leaves the factor n / (n - p) out
    np.testing.assert_allclose(np.sqrt(np.diag(naive.covariance)), error, rtol=1e-5)
    alone = sm.GLM(one.gold_outcome, one.gold_design, family=kinds[family]()).fit()
    labels = fit(one, "labels")
    np.testing.assert_allclose(labels.coefficients, alone.params, rtol=1e-6)
    if family == "linear":
        robust = sm.OLS(one.gold_outcome, one.gold_design).fit(cov_type="HC2")
        np.testing.assert_allclose(np.sqrt(np.diag(labels.covariance)), robust.bse, rtol=1e-8)


@pytest.mark.parametrize("clusters", [None, 12])
def test_standard_errors_and_freedom_are_those_of_bell_and_mccaffrey(clusters: int | None) -> None:
    one = problem(clusters=clusters)
    found = fit(one, "labels")
    x, y, n = one.gold_design, one.gold_outcome, len(one.rows)
    code, count = one.units
    bread = np.linalg.inv(x.T @ x)
    rest = np.eye(n) - x @ bread @ x.T
    residual = rest @ y
    meat, columns = np.zeros((3, 3)), np.zeros((count, n, 3))
    for g in range(count):
        inside = np.flatnonzero(code == g)
        values, vectors = np.linalg.eigh(rest[np.ix_(inside, inside)])
        root = vectors @ np.diag(values**-0.5) @ vectors.T
        score = x[inside].T @ root @ residual[inside]
        meat += np.outer(score, score)
        columns[g] = rest[:, inside] @ root @ x[inside] @ bread
    np.testing.assert_allclose(found.covariance, bread @ meat @ bread, rtol=1e-9)
    for j in range(3):
        spectrum = np.linalg.eigvalsh(columns[:, :, j] @ columns[:, :, j].T)
        assert found.freedom[j] == pytest.approx(spectrum.sum() ** 2 / (spectrum**2).sum())


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize("covariate", [False, True])
def test_dsl_and_ppi_solve_their_equation(family: str, covariate: bool) -> None:
    one = problem(family, 80, 400, covariate=covariate, unequal=True)
    methods: tuple[Method, ...] = ("dsl", "ppi++")
    for method in methods:
        found = fit(one, method)
        beta, weight = found.coefficients, defined(found.weight)[0]
        every = moments(family, one.design, one.outcome, beta)
        gold = moments(family, one.gold_design, one.gold_outcome, beta)
        total = weight * every.sum(axis=0) + one.weight @ (gold - weight * every[one.rows])
        np.testing.assert_allclose(total, 0, atol=1e-6)
        assert weight == 1 if method == "dsl" else 0 < weight < 1


def test_one_weight_minimizes_the_variance() -> None:
    one = problem("linear", 200, 2000)
    best = fit(one, "recalibrated")
    weight = defined(best.weight)[0]

    def variance(at: float) -> float:
        beta, gamma = fit(one, "labels").coefficients, fit(one, "naive").coefficients
        every = moments("linear", one.design, one.outcome, gamma)
        score = at * every
        gold = moments("linear", one.gold_design, one.gold_outcome, beta)
        score[one.rows] += one.weight[:, None] * (gold - at * every[one.rows])
        inverse = np.linalg.inv(one.gold_design.T @ (one.gold_design * one.weight[:, None]))
        labels = one.weight[:, None] * gold @ inverse
        return float((((score @ inverse) ** 2).sum(axis=0) / (labels**2).sum(axis=0)).sum())

    assert variance(weight) < min(variance(weight - 0.05), variance(weight + 0.05))


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize("method", ["recalibrated", "ppi++", "dsl"])
def test_the_adjusted_outcome_has_the_same_coefficients(family: str, method: Method) -> None:
    one = problem(family, 80, 400, unequal=True)
    best = fit(one, method)
    adjusted = adjusted_outcome(one, method, fit(one, "naive").coefficients, best)
    score = moments(family, one.design, adjusted, best.coefficients).sum(axis=0)
    np.testing.assert_allclose(score, 0, atol=1e-7)


def test_perfect_predictions_leave_the_sampling_of_rows() -> None:
    one = problem("linear", 100, 1000)
    truth = one.outcome.copy()
    truth[one.rows] = one.gold_outcome
    perfect = replace(one, outcome=truth)
    best, naive = fit(perfect, "recalibrated"), fit(perfect, "naive")
    assert defined(best.weight)[0] == pytest.approx(1, abs=0.2)
    ratio = np.sqrt(np.diag(best.covariance) / np.diag(fit(perfect, "labels").covariance))
    assert ratio.max() < 0.6
    assert np.abs(best.coefficients - naive.coefficients).max() < 0.1


def frame(size: int = 400, labels: int = 100, seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    x, party = rng.normal(size=size).round(4), rng.choice(["left", "right", "green"], size)
    y = (rng.random(size) < 1 / (1 + np.exp(-x + 0.5 * (party == "left")))).astype(int)
    guess = np.where(rng.random(size) < 0.15, 1 - y, y)
    gold = [int(value) if row < labels else None for row, value in enumerate(y)]
    items = [f"d{row}" for row in range(size)]
    return {"item": items, "y": gold, "pred_y": guess, "x": x, "party": party, "n": np.arange(size) % 25}


def test_a_table_of_labels_is_the_same_as_a_column() -> None:
    table = frame()
    inside = regress(pa.table(table), "y ~ x + party", family="logistic")
    order = np.random.default_rng(0).permutation(100)
    labels = pa.table({"item": [table["item"][i] for i in order], "topic": [table["y"][i] for i in order]})
    rest = pa.table({name: values for name, values in table.items() if name != "y"})
    apart = regress(rest, "topic ~ x + party", labels, predicted="topic=pred_y", family="logistic")
    assert [one.term for one in apart.terms] == ["Intercept", "x", "party[T.left]", "party[T.right]"]
    for one, other in zip(inside.terms, apart.terms, strict=True):
        assert defined(one.corrected.low) == pytest.approx(defined(other.corrected.low), rel=1e-9)
    assert (apart.documents, apart.labelled, apart.sampling) == (400, 100, "simple")


@pytest.mark.parametrize("fixed", [None, "n"])
def test_other_programs_regress_the_written_outcome(run: Run, tmp_path: Path, fixed: str | None) -> None:
    import pandas as pd
    import statsmodels.formula.api as smf

    table, out = tmp_path / "posts.parquet", tmp_path / "corrected.parquet"
    pq.write_table(pa.table(frame()), table)
    more = [] if fixed is None else ["--fixed", fixed]
    found = json.loads(run("regress", table, "--formula", "y ~ x + party", *more, "-o", out, "--json").out)
    data = pd.read_parquet(out)
    assert list(data.columns)[-2:] == ["pred_y", "corrected"]
    formula = "corrected ~ x + party" + ("" if fixed is None else " + C(n)")
    params = smf.ols(formula, data).fit().params
    for one in found["terms"]:
        assert params[one["term"]] == pytest.approx(one["corrected"]["estimate"], rel=1e-8)
    assert len(found["terms"]) == (4 if fixed is None else 3)


def test_a_predicted_class_is_a_covariate(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    kind = rng.choice(["a", "b", "c"], 2000)
    guess = np.where(rng.random(2000) < 0.25, rng.choice(["a", "b", "c"], 2000), kind)
    y = 1.0 * (kind == "b") - 1.0 * (kind == "c") + rng.normal(size=2000)
    gold = [text if row < 300 else None for row, text in enumerate(kind)]
    table = tmp_path / "posts.parquet"
    pq.write_table(pa.table({"y": y, "kind": gold, "gpt": guess}), table)
    found = regress(str(table), "y ~ kind", predicted=["kind=gpt"])
    b, c = found.terms[1:]
    assert [one.term for one in found.terms] == ["Intercept", "kind[T.b]", "kind[T.c]"]
    assert defined(b.corrected.low) < 1 < defined(b.corrected.high)
    assert defined(c.corrected.low) < -1 < defined(c.corrected.high)
    assert defined(b.naive.high) < 1  # errors of the model attenuate
    assert b.weight != c.weight  # each coefficient has its own
    width = [defined(one.high) - defined(one.low) for one in (b.corrected, b.labels)]
    assert width[0] < width[1]
    run("regress", table, "--formula", "y ~ kind", "--predicted", "kind=gpt", "-o", "a.csv").refused(
        "no adjusted outcome if covariates are predicted"
    )


def test_every_format_has_the_three_columns(run: Run, tmp_path: Path) -> None:
    table = tmp_path / "posts.parquet"
    pq.write_table(pa.table(frame()), table)
    for shape in ("text", "md", "latex", "csv"):
        out = run("regress", table, "--formula", "y ~ x", "--family", "logistic", "--format", shape).out
        assert all(word in out.lower() for word in ("corrected", "naive")), shape
        assert "labels" in out.lower()
    out = run("regress", table, "--formula", "y ~ x").out
    assert "100 of 400 rows have gold values; sampling: simple" in out


def test_the_design_is_detected() -> None:
    table = frame()
    half = np.array(table["x"]) > 0
    rng = np.random.default_rng(0)
    chance = np.where(half, 60 / half.sum(), 40 / (~half).sum())
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(half), 60, False), rng.choice(np.flatnonzero(~half), 40, False)]
    )
    whole = {**frame(labels=400), "inclusion_probability": chance}
    whole["y"] = [value if row in set(rows.tolist()) else None for row, value in enumerate(whole["y"])]
    fixed = regress(pa.table(whole), "y ~ x")
    independent = regress(pa.table(whole), "y ~ x", sampling="independent")
    assert (fixed.sampling, independent.sampling) == ("fixed", "independent")
    assert fixed.terms[0].corrected.estimate == independent.terms[0].corrected.estimate
    wrong = regress(pa.table({**whole, "inclusion_probability": chance / 2}), "y ~ x")
    assert "imply 800 rows, and there are 400" in defined(wrong.selection_warning)


LABELED = np.arange(400) < 100
NONE = [None] * 300
Changes = dict[str, Any]  # by column: values, or a function of the table


def gold_or_guess(table: dict[str, Any]) -> Floats:
    gold = [value or 0 for value in table["y"]]
    return np.where(LABELED, gold, table["pred_y"]).astype(float)


LOGISTIC, POISSON = {"family": "logistic"}, {"family": "poisson"}
CHANCE = "inclusion_probability"
Case = tuple[str, Changes, dict[str, Any], str]
BAD_INPUTS: list[Case] = [
    ("y ~ z", {"z": gold_or_guess}, LOGISTIC, "covariates separate them, z above all"),
    ("y ~ x + z", {"z": lambda table: 2 * table["x"] + 1}, {}, "z is a linear combination of other terms"),
    ("y ~ x", {CHANCE: np.where(np.arange(400) == 3, 0, 0.25)}, {}, "inclusion probability is 0, outside"),
    ("y ~ x + z", {"z": ["a"] * 400}, {}, "the term z is a category with one value in all rows"),
    ("y ~ x", {"pred_y": np.ones(400)}, LOGISTIC, "all predicted outcomes are 1, so that"),
    ("y ~ x", {"y": [1, 0, 1, *[None] * 397]}, {}, "2 coefficients need at least 4 labels, and there are 3"),
    ("y ~ x", {"cluster": np.arange(400) % 2}, {}, "2 coefficients need labels from at least 3 clusters"),
    (
        "y ~ x + z",
        {"z": ["abc", *map(str, np.arange(399) / 7)]},
        {},
        "the dataframe, row 0, column z: 'abc' is not a number, and most other values are",
    ),
    ("y ~ x", {"y": ["maybe", *["1", "0"] * 50, *NONE[1:]]}, {}, "row 0, column y: gold values are names"),
    ("y ~ x", {"y": [0, 0.5] * 50 + NONE}, LOGISTIC, "row 1, column y: a gold outcome of a logistic"),
    ("y ~ x", {"x": lambda table: 1e300 * table["x"]}, {}, "has values above 1e+100"),
    (
        "y ~ x",
        {CHANCE: np.full(400, 0.25), "stratum": ["a"] * 300 + ["b"] * 100},
        {},
        "row 300, column stratum: stratum 'b' has no label",
    ),
    ("y ~ x + z", {"z": 1.0 * (np.arange(400) == 5)}, {}, "one label alone determines the coefficient of z"),
    ("y ~ x + z", {"z": 1.0 * (np.arange(400) == 300)}, {}, "z is 0 in all of the labeled rows"),
    ("y ~ x", {"x": lambda table: [None, *table["x"][1:]]}, {}, "the value is missing"),
    ("y ~ x", {"pred_y": lambda table: [None, *table["pred_y"][1:]]}, {}, "the value is missing"),
    ("y ~ x + z", {"z": np.full(400, 2.0)}, {}, "z is a linear combination of other terms in the rows"),
    ("y ~ x", {"x": lambda table: [np.inf, *table["x"][1:]]}, {}, "inf is not a finite number"),
    ("y ~ x", {"y": [1] * 100 + NONE}, LOGISTIC, "the dataframe: all gold outcomes are 1"),
    ("y ~ x", {"y": pa.nulls(400)}, {}, "no gold value in any row"),
    ("y ~ x", {"y": [0.5] * 100 + NONE}, LOGISTIC, "a gold outcome of a logistic regression is 0.5"),
    ("y ~ x", {"pred_y": lambda table: -table["pred_y"]}, POISSON, "of a poisson regression is -1"),
    ("y ~ z", {"z": [None] + [1] * 399, "pred_z": [0, 1] * 200}, {}, "a gold value of y and none of z"),
    (
        "y ~ k",
        {"k": ["c"] * 100 + NONE, "pred_k": ["a", "b"] * 200},
        {},
        "no prediction is the gold class 'c'",
    ),
    ("y ~ k", {"k": [1] * 100 + NONE, "pred_k": ["a", "b"] * 200}, {}, "gold values are numbers and pred"),
    ("y x", {}, {}, "is not a formula"),
    ("y ~ x +", {}, {}, "cannot be used: Operator"),
    ("y ~ x | n", {}, {}, "is not one column of numbers before the tilde"),
    ("party ~ x", {"pred_party": lambda table: table["party"]}, {}, "is not one column of numbers"),
    ("y ~ log(x)", {}, {}, "cannot be used"),
    ("y ~ 0", {}, {}, "no covariate"),
    ("y ~ nix", {}, {}, "there is no column 'nix'"),
    ("x ~ n", {}, {}, "no variable of the formula is predicted"),
    ("y ~ x", {}, {"predicted": "z=pred_y"}, "'z' is not in the formula"),
    ("y ~ x", {}, {"fixed": "n", "family": "poisson"}, "fixed effects cannot be absorbed with a poisson"),
    ("y ~ x", {}, {"fixed": "n", "method": "dsl"}, "fixed effects cannot be absorbed with the method dsl"),
    ("y ~ z", {"z": lambda table: table["n"] // 5}, {"fixed": "n"}, "the term z is 0 in all of the rows"),
    (
        "y ~ x",
        {CHANCE: np.where(np.arange(400) % 2, 0.2, 0.4)},
        {"sampling": "fixed"},
        "the probabilities imply",
    ),
]


@pytest.mark.parametrize("case", BAD_INPUTS, ids=lambda case: case[-1][:25])
def test_bad_input_is_one_clear_line(case: Case) -> None:
    formula, changes, options, message = case
    table = frame()
    table |= {name: make(table) if callable(make) else make for name, make in changes.items()}
    with pytest.raises(InputError, match=r".+") as caught:
        regress(pa.table(table), formula, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_labels_have_the_strata_of_their_rows() -> None:
    table = frame()
    gold = pa.table(
        {
            "item": table["item"][:100],
            "y": table["y"][:100],
            CHANCE: np.full(100, 0.25),
            "stratum": ["a", "b"] * 50,
        }
    )
    rows = pa.table({name: values for name, values in table.items() if name != "y"})
    rows = rows.append_column("stratum", pa.array(["b", *["b", "a"] * 199, "a"]))
    with pytest.raises(InputError, match="the stratum is 'b' in the dataframe") as caught:
        regress(rows, "y ~ x", gold)
    assert caught.value.column == "stratum"


def test_labels_have_to_match_the_table() -> None:
    table = pa.table({name: values for name, values in frame().items() if name != "y"})
    with pytest.raises(InputError, match="'nope' has a label but is not in") as caught:
        regress(table, "y ~ x", pa.table({"item": ["d1", "nope"], "y": [1, 0]}))
    assert caught.value.row == 1
    with pytest.raises(InputError, match="item 'd1' is also in row 0"):
        regress(table, "y ~ x", pa.table({"item": ["d1", "d1"], "y": [1, 0]}))


def test_without_formulaic_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingExtraError, match=r"regressions need formulaic.*\[estimation\]"):
        regress(pa.table(frame()), "y ~ x")


def test_intervals_cover_in_six_situations() -> None:
    path = ROOT / "scripts" / "regression_coverage.py"
    spec = defined(importlib.util.spec_from_file_location("regression_coverage", path))
    study = importlib.util.module_from_spec(spec)
    sys.modules["regression_coverage"] = study
    defined(spec.loader).exec_module(study)
    cells = [
        study.Cell("number", 60, "biased"),
        study.Cell("class", 200, "biased", 0.3, "uncertainty"),
        study.Cell("class", 200, "good", 0.4, covariate=True),
        study.Cell("number", 200, "biased", 0.3, "authors"),
        study.Cell("count", 200, "useless"),
    ]
    corpora = 200
    for cell in cells:
        result = study.simulate(cell, corpora, seed=11)
        mean, lowest = result.coverage("recalibrated")
        assert 93 <= mean <= 97.5, (cell, mean)
        assert lowest >= 93 - 2 * 100 * np.sqrt(0.93 * 0.07 / corpora), (cell, lowest)
        width = [np.mean(result.width[method]) for method in ("recalibrated", "labels")]
        assert width[0] < 1.02 * width[1], cell
        assert result.undefined == 0
    rare = study.simulate(study.Cell("class, linear", 60, "good", 0.05), corpora, seed=11)
    assert rare.coverage("recalibrated")[0] < 90
    assert rare.warned + rare.undefined == corpora


def test_predictions_that_are_separated_leave_only_the_naive_column_empty() -> None:
    rng = np.random.default_rng(0)
    count = 2000
    group = rng.integers(0, 2, count)
    topic = (rng.random(count) < 0.3) * 1.0
    guess = ((group == 1) & (rng.random(count) < 0.02)).astype(int)
    gold = np.where(rng.permutation(count) < 300, topic, np.nan)
    table = pa.table({"topic": gold, "pred": guess, "group": group})
    formula, predicted = "topic ~ group", "topic=pred"
    result = regress(table, formula=formula, predicted=predicted, family="logistic", method="ppi++")
    assert [term.naive.estimate for term in result.terms] == [None, None]
    assert all(defined(term.corrected.low) < defined(term.corrected.high) for term in result.terms)
    with pytest.raises(InputError, match=r"method='ppi\+\+'"):
        regress(table, formula=formula, predicted=predicted, family="logistic")
