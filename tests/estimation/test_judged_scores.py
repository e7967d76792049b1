"""Scores that are fitted to labels by folds: maps of one judge, combinations of several, pooled errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from calibrant.estimation import JudgedTable, judged_systems, rogan_gladen
from calibrant.estimation.judged_scores import cross_fitted, isotonic_map, mapped, together
from tests.command_line import Run
from tests.quantities import defined

Floats = NDArray[np.float64]


def table_of(scores: Floats, label: Floats, labelled: int) -> JudgedTable:
    """Return a table of (judges, systems, prompts) scores and labels of the first prompts."""
    judges, systems, prompts = scores.shape
    known = np.where(np.arange(prompts) < labelled, label, np.nan)
    flat = scores.reshape(judges, -1)
    names = tuple(f"judge {place}" for place in range(judges))
    return JudgedTable(
        tuple("ABCD"[:systems]), np.repeat(np.arange(systems), prompts), np.tile(np.arange(prompts), systems),
        flat.mean(axis=0), known.ravel(), judges=names if judges > 1 else (),
        scores=flat if judges > 1 else None,
    )  # fmt: skip


def two_judges(labelled: int, seed: int = 0) -> JudgedTable:
    """Return answers of two systems, by a good judge and a useless one."""
    rng = np.random.default_rng(seed)
    quality = rng.beta(3, 2, (2, 600))
    good = np.clip(quality + 0.1 * rng.normal(size=(2, 600)), 0, 1)
    return table_of(np.stack([good, rng.random((2, 600))]), quality, labelled)


def test_a_label_has_no_influence_on_the_scores_of_its_own_prompt() -> None:
    table = two_judges(60)
    label = table.label.copy()
    label[table.item == 7] = 0.0
    changed = replace(table, label=label)
    own = table.item == 7
    for fitted in (mapped, together):
        before, after = fitted(table).judge, fitted(changed).judge
        # The combination is moved by a constant, the mean of all labels, which no estimate depends on.
        moved = after[own] - before[own]
        assert np.ptp(moved) == pytest.approx(0, abs=1e-12)
        assert np.ptp(after[~own] - before[~own]) > 0.001


def test_a_useless_judge_costs_little_beside_a_good_one() -> None:
    record = judged_systems(two_judges(100))
    for system in ("A", "B"):
        gains = {row.judge: defined(row.gain.estimate) for row in record.judges if row.system == system}
        assert gains["judge 1"] == pytest.approx(1, abs=0.1)
        assert gains["together"] > 0.93 * gains["judge 0"] > 1.5
    [mean] = [row.corrected for row in record.judges if (row.system, row.judge) == ("A", "together")]
    assert mean == next(row.corrected for row in record.systems if row.system == "A")
    assert "weights" in record.rule


def test_with_fewer_than_ten_labels_per_judge_their_mean_is_used() -> None:
    table = two_judges(19)
    assert together(table) is table
    record = judged_systems(table)
    assert "fewer than 10 labeled prompts" in record.rule
    alone = judged_systems(replace(table, scores=None, judges=()))
    assert [row.corrected for row in record.systems] == [row.corrected for row in alone.systems]


def test_a_map_is_used_where_the_judge_is_not_linear_in_the_labels() -> None:
    rng = np.random.default_rng(1)
    quality = rng.beta(3, 2, (2, 1000))
    noisy = np.clip(quality + 0.1 * rng.normal(size=(2, 1000)), 0, 1)
    curved, linear = (judged_systems(table_of(one[None], quality, 100)) for one in (noisy**6, noisy))
    assert {row.method for row in curved.systems} == {"map"}
    assert "isotonic" in curved.rule
    assert {row.method for row in linear.systems} == {"ppi++"}
    compared = judged_systems(table_of(noisy[None] ** 6, quality, 100), methods=["ppi++", "map"]).methods
    width = {(row.system, row.method): defined(row.mean.high) - defined(row.mean.low) for row in compared}
    assert width["A", "map"] < 0.8 * width["A", "ppi++"]


def test_folds_are_of_whole_clusters() -> None:
    rng = np.random.default_rng(2)
    score = rng.random(300)
    table = JudgedTable(
        ("A",), np.zeros(300, int), np.arange(300), score, np.where(np.arange(300) < 100, score**2, np.nan),
        np.arange(300) // 10,
    )  # fmt: skip
    label = table.label.copy()
    label[25] = 1.0
    before, after = (
        cross_fitted(one, score[None], isotonic_map) for one in (table, replace(table, label=label))
    )
    assert (after[20:30] == before[20:30]).all()


def test_pooled_error_rates_are_those_of_all_labels_or_are_refused() -> None:
    rng = np.random.default_rng(3)
    truth = (rng.random((2, 1000)) < [[0.7], [0.5]]).astype(float)
    right = rng.random((2, 1000)) < 0.85
    judge = np.where(right, truth, 1 - truth)
    table = table_of(judge[None], truth, 150)
    rows = judged_systems(table, methods=["rogan-gladen", "rogan-gladen-pooled"]).methods
    means = {(row.system, row.method): row.mean for row in rows}
    label, flat = table.label, table.judge
    rates = [float((label == 1).sum()), float(flat[label == 1].sum())]
    rates += [float((label == 0).sum()), float((1 - flat[label == 0]).sum())]
    expected = rogan_gladen(
        judge[1], label.reshape(2, -1)[1], 0.95, rates=(rates[0], rates[1], rates[2], rates[3])
    )
    pooled, own = means["B", "rogan-gladen-pooled"], means["B", "rogan-gladen"]
    assert pooled == expected
    assert defined(pooled.high) - defined(pooled.low) < defined(own.high) - defined(own.low)
    lenient = judge.copy()
    lenient[1] = np.maximum(lenient[1], rng.random(1000) < 0.5)
    found = judged_systems(table_of(lenient[None], truth, 150), methods="rogan-gladen-pooled").methods
    assert all("differ between systems" in str(row.mean.reason) for row in found)


def test_judges_are_columns(run: Run, tmp_path: Path) -> None:
    table = two_judges(60)
    assert table.scores is not None
    frame = pd.DataFrame(
        {"system": np.array(table.systems)[table.system], "item": table.item, "label": table.label}
    )
    frame["gpt"], frame["claude"] = table.scores
    frame.to_csv(tmp_path / "judged.csv", index=False)
    found = json.loads(run("judge", tmp_path / "judged.csv", "--judge", "gpt,claude", "--json").out)
    expected = judged_systems(replace(table, judges=("gpt", "claude")))
    assert found["judges"] == json.loads(expected.to_json())["judges"]
    ran = run("judge", tmp_path / "judged.csv", "--judge", "gpt", "--judge", "claude")
    assert "together" in ran.out
    run("judge", tmp_path / "judged.csv").refused("there is no column 'judge'")
