"""Several proxies of one variable, survey weights and rounds of labels in `calibrant regress`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.estimation import combine_proxies, regress
from calibrant.estimation.designs import combine_rounds
from calibrant.estimation.proxies import combined, weights_of
from calibrant.estimation.regression import Method, fit
from calibrant.estimation.sampling import Sample
from calibrant.exceptions import InputError
from tests.command_line import Run
from tests.estimation.test_regressing import frame, problem
from tests.quantities import defined


def test_the_weights_minimize_the_variance() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=(4000, 2))
    proxies = np.stack([gold + scale * rng.normal(size=(4000, 2)) for scale in (0.5, 1.0)])
    found = weights_of(gold, proxies)

    def left(first: float, second: float) -> float:
        rest = gold - first * proxies[0] - second * proxies[1]
        return float(((rest**2).sum(axis=0) / (gold**2).sum(axis=0)).mean())

    grid = [(a, b) for a in np.arange(0, 1, 0.02) for b in np.arange(0, 1, 0.02)]
    best = min(grid, key=lambda pair: left(*pair))
    assert found.weight[0] == pytest.approx(best[0] / sum(best), abs=0.03)
    assert found.together == pytest.approx(left(*best), abs=0.002)
    assert found.alone[1] == pytest.approx(min(left(0, b) for b in np.arange(0, 1, 0.01)), abs=0.002)


def test_a_useless_or_opposite_proxy_gets_no_weight() -> None:
    rng = np.random.default_rng(0)
    gold = rng.normal(size=(200, 1))
    found = weights_of(gold, np.stack([gold, -gold, 0 * gold]))
    assert found.weight.tolist() == [1.0, 0.0, 0.0]
    nothing = weights_of(gold, np.stack([-gold, -gold]))
    assert nothing.weight.tolist() == [0.5, 0.5]
    assert nothing.together == 1.0
    truth = rng.random(3000) < 0.4
    models = np.stack([truth ^ (rng.random(3000) < 0.1), rng.random(3000) < 0.4], axis=1)
    score, weights = combine_proxies(models, np.arange(400), truth[:400])
    assert weights.weight[0] > 0.9
    np.testing.assert_allclose(score, models @ weights.weight)
    clustered = combine_proxies(models, np.arange(400), truth[:400], clusters=np.arange(400) // 8)[1]
    assert clustered.weight[0] > 0.9


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize("covariate", [False, True])
def test_the_same_proxy_twice_is_one_proxy(family: str, covariate: bool) -> None:
    one = problem(family, 80, 400, covariate=covariate)
    both, found = combined([one, replace(one)])
    assert found.weight == pytest.approx(0.5)
    methods: tuple[Method, ...] = ("recalibrated", "dsl")
    for method in methods:
        alone, twice = fit(one, method), fit(both, method)
        np.testing.assert_allclose(twice.coefficients, alone.coefficients, rtol=1e-9)
        larger = np.sqrt(79 / 78) if method == "recalibrated" else 1.0  # one more weight is tuned
        assert (np.sqrt(np.diag(twice.covariance) / np.diag(alone.covariance)) <= larger + 1e-9).all()


def test_two_proxies_are_more_precise_than_each() -> None:
    table = frame(3000, 300)
    rng = np.random.default_rng(0)
    whole = frame(3000, 3000)["y"]
    table["words"] = [1 - one if rng.random() < 0.15 else one for one in whole]
    rows = pa.table(table)
    errors = {
        columns: regress(rows, "y ~ x", predicted=f"y={columns}").terms[1].standard_error
        for columns in ("pred_y", "words", "pred_y,words")
    }
    assert errors["pred_y,words"] < 0.95 * min(errors["pred_y"], errors["words"])


def test_the_command_prints_the_error_rates_of_each_proxy(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    kind = rng.choice(["a", "b", "c"], 1000)
    table: dict[str, Any] = {
        "y": 1.0 * (kind == "b") + rng.normal(size=1000),
        "kind": [text if row < 200 else None for row, text in enumerate(kind)],
        "gpt": np.where(rng.random(1000) < 0.25, rng.choice(["a", "b", "c"], 1000), kind),
        "words": np.where(rng.random(1000) < 0.5, rng.choice(["a", "b", "c"], 1000), kind),
    }
    file = tmp_path / "posts.parquet"
    pq.write_table(pa.table(table), file)
    line = ["regress", file, "--formula", "y ~ kind", "--predicted", "kind=gpt,words", "--at", "kind"]
    found = json.loads(run(*line, "--json").out)
    rates = {(one["proxy"], one["value"]): (one["labels"], one["error"]) for one in found["proxies"]}
    for (proxy, value), (labels, error) in rates.items():
        inside = kind[:200] == value
        assert labels == inside.sum()
        assert error == pytest.approx(np.mean(table[proxy][:200][inside] != value))
    assert len(rates) == 6
    assert found["proxies"][0]["weight"] > found["proxies"][-1]["weight"]
    assert found["relative_variance"] <= min(one["relative_variance"] for one in found["proxies"]) + 1e-9
    assert len(found["means"]) == 3
    out = run(*line).out
    assert "Proxies" in out
    assert "with the best proxy alone" in out.replace("\n", " ")


BAD_PROXIES = [
    ("y=pred_y,pred_y", "are not 1 to 20 different columns"),
    ("y=pred_y,", "are not 1 to 20 different columns"),
    ("y=pred_y,nope", "there is no column 'nope'"),
]


@pytest.mark.parametrize(("predicted", "message"), BAD_PROXIES, ids=["twice", "empty", "unknown"])
def test_bad_proxies_are_one_clear_line(predicted: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        regress(pa.table(frame()), "y ~ x", predicted=predicted)


def test_bad_arrays_of_proxies_are_refused() -> None:
    models = np.zeros((10, 2))
    with pytest.raises(InputError, match="not a table of finite numbers"):
        combine_proxies(np.zeros(10), [0, 1, 2], [0, 1, 1])
    with pytest.raises(InputError, match="2 labels, or clusters of them, are too few to weight 2 proxies"):
        combine_proxies(models, [0, 1], [0, 1])
    table = pa.table({**frame(400, 19), "words": frame(400, 400)["y"]})
    with pytest.raises(InputError, match="19 labels, or clusters of them, are too few to weight 2 proxies"):
        regress(table, "y ~ x", predicted="y=pred_y,words")
    with pytest.raises(InputError, match=r"outside \(0, 1\]"):
        combine_proxies(models, [0, 1, 2], [0, 1, 1], inclusion_probabilities=[0, 0.5, 1])


@pytest.mark.parametrize("family", ["linear", "logistic"])
def test_survey_weights_are_those_of_statsmodels(family: Any) -> None:
    import statsmodels.api as sm

    table = frame(600, 600)
    weight = np.random.default_rng(0).gamma(4, 1, 600)
    found = regress(pa.table({**table, "w": weight}), "y ~ x", family=family, weight="w")
    design = sm.add_constant(np.array(table["x"]))
    kind = sm.families.Gaussian() if family == "linear" else sm.families.Binomial()
    for column, name in (("pred_y", "naive"), ("y", "labels")):
        outcome = np.asarray(table[column], float)
        theirs = sm.GLM(outcome, design, family=kind, freq_weights=weight / weight.mean()).fit()
        ours = [defined(getattr(one, name).estimate) for one in found.terms]
        np.testing.assert_allclose(ours, theirs.params, rtol=1e-6)
    equal = regress(pa.table({**table, "w": np.full(600, 3.0)}), "y ~ x", family=family, weight="w")
    plain = regress(pa.table(table), "y ~ x", family=family)
    for one, other in zip(equal.terms, plain.terms, strict=True):
        assert one.standard_error == pytest.approx(other.standard_error, rel=1e-9)


def test_other_programs_use_the_survey_weights_of_the_written_table(tmp_path: Path) -> None:
    import pandas as pd
    import statsmodels.formula.api as smf

    weight = np.random.default_rng(0).gamma(4, 1, 400)
    out = tmp_path / "corrected.parquet"
    found = regress(pa.table({**frame(), "w": weight}), "y ~ x + party", weight="w", output=str(out))
    data = pd.read_parquet(out)
    params = smf.wls("corrected ~ x + party", data, weights=data["w"]).fit().params
    for one in found.terms:
        assert params[one.term] == pytest.approx(one.corrected.estimate, rel=1e-8)


@pytest.mark.parametrize(("value", "message"), [(0.0, "the survey weight is 0"), (None, "value is missing")])
def test_bad_survey_weights_are_refused(value: float | None, message: str) -> None:
    weight = [value, *[1.0] * 399]
    with pytest.raises(InputError, match=message) as caught:
        regress(pa.table({**frame(), "w": weight}), "y ~ x", weight="w")
    assert (caught.value.row, caught.value.column) == (0, "w")


def test_strata_of_a_drawn_sample_narrow_the_interval() -> None:
    table = frame(1000, 200)
    high = np.array([one or 0 for one in table["y"]]) * (np.arange(1000) < 200)
    drawn = {**table, "inclusion_probability": np.full(1000, 0.2)}
    simple = regress(pa.table({**drawn, "stratum": ["all"] * 1000}), "y ~ 1")
    strata = regress(pa.table({**drawn, "stratum": np.where(high, "b", "a")}), "y ~ 1")
    assert (simple.sampling, strata.sampling) == ("simple", "fixed")
    # Labels of a stratum are alike: the interval is that of the sampling of all rows.
    errors = [defined(one.terms[0].labels.standard_error) for one in (strata, simple)]
    assert errors[0] == pytest.approx(errors[1] * np.sqrt(0.2), rel=0.01)


def test_rounds_weigh_by_their_labels() -> None:
    table = frame(1000, 150)
    turn = np.where(np.arange(1000) < 100, 1, 2)
    chance = np.where(turn == 1, 0.1, 50 / 900)
    rows = pa.table({**table, "round": turn, "inclusion_probability": chance})
    found = regress(rows, "y ~ 1")
    nothing = np.zeros(150)
    weight = combine_rounds(Sample(nothing, np.arange(150), nothing, chance[:150], None), turn[:150]).weight
    gold = np.array(table["y"][:150], float)
    assert defined(found.terms[0].labels.estimate) == pytest.approx(np.average(gold, weights=weight))
    assert found.sampling == "fixed"
    with pytest.raises(InputError, match="the round of a labeled row is missing"):
        regress(rows.set_column(6, "round", pa.array([None, *turn[1:]])), "y ~ 1")
