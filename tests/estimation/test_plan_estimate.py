"""`calibrant plan-estimate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy.special import expit
from scipy.stats import norm

from calibrant import InputError, plan_estimate
from calibrant.estimation import corrected_counts
from calibrant.estimation.drawing import Population, draw
from calibrant.metrics.tails import quantile
from tests.command_line import Run


def corpus(spread: float, count: int = 4000, labels: int = 200) -> tuple[Any, Any, pa.Table]:
    rng = np.random.default_rng(0)
    odds = rng.normal(-1.5, spread, count)
    truth, score = rng.random(count) < expit(odds), expit(odds)
    pilot = np.isin(np.arange(count), rng.choice(count, labels, replace=False))
    table = pa.table(
        {
            "item": range(count),
            "score": score,
            "label": [int(label) if known else None for label, known in zip(truth, pilot, strict=True)],
            "place": range(count),
            "party": np.where(np.arange(count) % 3, "left", "right"),
        }
    )
    return truth, score, table


def test_labels_alone_need_what_the_formula_says() -> None:
    _, _, table = corpus(1.5)
    needed = plan_estimate(table, width=0.06).plans[0].labels
    assert needed is not None
    known = [label for label in table["label"].to_pylist() if label is not None]
    share = np.mean(known)
    share = (sum(known) + 2 * share) / (len(known) + 2)
    widths = [
        2 * quantile(0.95, n) * np.sqrt(share * (1 - share) * (1 / n - 1 / 4000))
        for n in (needed - 1, needed)
    ]
    assert widths[1] <= 0.06 < widths[0]


@pytest.mark.parametrize("spread", [1.5, 4.0])
def test_planned_numbers_of_labels_give_the_wanted_width(spread: float) -> None:
    truth, score, table = corpus(spread)
    names = [str(number) for number in range(len(score))]
    plans = plan_estimate(table, width=0.06).plans
    assert (plans[1].labels or 0) < (plans[0].labels or 0)
    for plan in plans:
        widths = []
        assert plan.labels is not None
        for seed in range(20):
            population = Population(names, score, np.zeros(len(score), np.int64), ["all"])
            rows, chance = draw(population, plan.labels, plan.design, seed=seed)
            given: dict[str, Any] = {}
            if plan.design == "uncertainty":
                given = {"inclusion_probabilities": chance[rows], "strata": np.zeros(len(rows), np.int64)}
            counts = corrected_counts(score, rows, truth[rows], methods=plan.method, **given)
            share = counts.estimates[0].share
            widths.append((share.high or 0.0) - (share.low or 0.0))
        assert np.mean(widths) == pytest.approx(0.06, rel=0.15)  # the pilot has 200 labels


def test_planned_differences_have_the_wanted_power() -> None:
    _, _, table = corpus(1.5)
    plan = plan_estimate(table, difference=0.1, by="party", power=0.8).plans[0]
    assert plan.labels is not None
    rng, detected = np.random.default_rng(1), 0
    known = [label for label in table["label"].to_pylist() if label is not None]
    share = float(np.mean(known))
    sizes = {name: table["party"].to_pylist().count(name) for name in ("left", "right")}
    for _ in range(2000):
        means, errors = [], []
        for place, size in enumerate(sizes.values()):
            n = round(plan.labels * size / 4000)
            p = share + (0.05 if place else -0.05)
            mean = rng.binomial(n, p) / n
            means.append(mean)
            errors.append(mean * (1 - mean) * (1 / n - 1 / size))
        # Labels of a finite group vary less: as many fewer as there are.
        spread = np.sqrt(sum(errors))
        noise = 0.1 + (means[1] - means[0] - 0.1) * np.sqrt(1 - plan.labels / 4000)
        detected += abs(noise) > norm.ppf(0.975) * spread
    assert 0.72 <= detected / 2000 <= 0.88


def test_predictions_that_do_not_help_are_named(run: Run, tmp_path: Path) -> None:
    from pyarrow import csv as arrow_csv

    _, score, table = corpus(1.5)
    useless = table.set_column(1, "score", pa.array(np.random.default_rng(3).permutation(score)))
    assert "predictions do not help" in str(plan_estimate(useless, width=0.06).scores_warning)
    assert plan_estimate(table, width=0.06).scores_warning is None
    arrow_csv.write_csv(useless, tmp_path / "pilot.csv")
    ran = run("plan-estimate", tmp_path / "pilot.csv", "--width", "0.06")
    assert "predictions do not help: they save fewer than 5 % of the labels" in ran.out
    found = json.loads(run("plan-estimate", tmp_path / "pilot.csv", "--width", "0.06", "--json").out)
    assert [plan["method"] for plan in found["plans"]] == ["labels", "ppi++", "dsl"]


def test_a_wish_that_needs_all_documents_has_no_number() -> None:
    _, _, table = corpus(1.5, count=300, labels=100)
    plan = plan_estimate(table, width=1e-5)
    assert [one.labels for one in plan.plans] == [None] * 3
    assert plan.scores_warning is None
    assert plan.summary() == "Nearly all of the 300 documents have to be labeled."


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "not exactly one of width and difference is given"),
        ({"width": 0.1, "difference": 0.1}, "not exactly one of width and difference is given"),
        ({"width": 2}, "width is 2"),
        ({"difference": 0.1}, "a difference needs the column of its two groups"),
        ({"width": 0.1, "by": "party"}, "a width needs no groups"),
        ({"difference": 0.1, "by": "place"}, "there are 4000 groups"),
        ({"difference": 0.1, "by": "praty"}, "no column 'praty'"),
        ({"width": 0.1, "power": 0.2}, "power is 0.2"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], message: str) -> None:
    _, _, table = corpus(1.5)
    with pytest.raises(InputError, match=message):
        plan_estimate(table, **options)


def test_a_pilot_without_positives_is_refused() -> None:
    _, _, table = corpus(1.5)
    none = [None if label is None else 0 for label in table["label"].to_pylist()]
    with pytest.raises(InputError, match="the pilot has 0 positive and 200 negative labels"):
        plan_estimate(table.set_column(2, "label", pa.array(none)), width=0.1)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("inclusion_probability", 0.0, "the inclusion probability of a labeled document is 0"),
        ("weight", 2.0, "documents have survey weights, and the plan is for independent rows"),
        ("cluster", 1.0, "rows have clusters, and the plan is for independent rows"),
    ],
)
def test_columns_that_the_plan_cannot_use_are_refused(column: str, value: float, message: str) -> None:
    _, _, table = corpus(1.5)
    with pytest.raises(InputError, match=message) as caught:
        plan_estimate(table.append_column(column, pa.array(np.full(4000, value))), width=0.1)
    assert caught.value.column == column
