"""Notes of `measure` and `report` on rows that depend on each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from calibrant.metrics import Pairs, cox_calibration
from calibrant.metrics.tally import Tally
from calibrant.testing import assert_calibrated
from calibrant.verbs import apply, fit, measure, report, slices


def answers(samples: int) -> pd.DataFrame:
    """Answers to 100 questions, judged right or wrong."""
    random = np.random.default_rng(3)
    score = random.random(100 * samples)
    return pd.DataFrame(
        {
            "item": np.repeat(np.arange(100), samples),
            "score": score,
            "label": random.random(len(score)) < score,
        }
    )


def test_several_answers_per_question_are_noted_until_their_clusters_are_named() -> None:
    several = answers(4)
    (note,) = measure(several, view="top").recipe.notes
    assert "100 items with several rows" in note
    assert "as the column of clusters" in note
    assert measure(several, view="top", columns={"cluster": "item"}).recipe.notes == ()
    assert measure(answers(1), view="top").recipe.notes == ()
    assert note in report(several, view="top").notes


def test_a_measurement_of_many_clusters_has_no_tally_by_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    score = random.beta(0.3, 1.5, 4000).round(3).clip(0.001, 0.999)
    label, cluster = random.random(4000) < score, random.integers(0, 400, 4000)
    expected = cox_calibration(label, score, clusters=cluster).slope
    tally_of = Tally.from_pairs

    def unclustered(pairs: Pairs, **options: Any) -> Tally:
        assert pairs.cluster is None
        return tally_of(pairs, **options)

    monkeypatch.setattr(Tally, "from_pairs", unclustered)
    slope = measure(label, score, clusters=cluster)["binary"].cox_slope
    assert slope.estimate == pytest.approx(expected.estimate, rel=1e-9)
    assert slope.standard_error == pytest.approx(expected.standard_error, rel=1e-9)


def test_several_rows_per_item_of_a_binary_table_are_noted() -> None:
    rows = {"score": [0.2, 0.7] * 40, "label": [0, 1] * 40, "item": [*range(40), *range(40)]}
    [note] = measure(pd.DataFrame(rows)).recipe.notes
    assert "40 items with several rows" in note
    assert "one file per model" in note
    assert not measure(pd.DataFrame(rows | {"cluster": rows["item"]})).recipe.notes


def test_items_without_a_gold_class_are_noted_for_the_top_label() -> None:
    rows = pd.DataFrame(
        {
            "item": np.repeat(np.arange(40), 2),
            "class": ["no", "yes"] * 40,
            "score": [0.25, 0.75] * 40,
            "label": [0, 1] * 30 + [0, 0] * 10,
        }
    )
    [note] = measure(rows, view="top").recipe.notes
    assert "the label 1: 10." in note
    assert note in report(rows, view="top").notes
    assert not measure(rows[:60], view="top").recipe.notes


@pytest.mark.parametrize("rows", [4, 10])
def test_rows_of_one_person_are_noted_by_their_equal_scores(rows: int) -> None:
    random = np.random.default_rng(rows)
    score = np.repeat(random.beta(1, 4, 300), rows)
    label = np.repeat(random.random(300), rows) < score
    [note] = measure(label, score).recipe.notes
    assert "of rows have the same score as the row before" in note
    assert not measure(label, score, clusters=np.repeat(np.arange(300), rows)).recipe.notes
    with pytest.raises(AssertionError, match="the same score as the row before"):
        assert_calibrated(label, score, max_error=0.01)


@pytest.mark.parametrize("order", ["random", "sorted"])
def test_few_different_scores_are_not_noted_as_rows_of_one_person(order: str) -> None:
    random = np.random.default_rng(3)
    score = random.choice([0.5, 0.8, 0.9, 0.95], 800)
    score = np.sort(score) if order == "sorted" else score
    assert not measure(random.random(800) < score, score).recipe.notes


def test_labels_that_lack_a_column_are_noted_as_places() -> None:
    random = np.random.default_rng(4)
    prob = random.dirichlet([1, 1, 1], 100)
    [note] = measure(random.choice([0, 2], 100), prob).recipe.notes
    assert "0 to 2; no label is 1." in note
    assert not measure(random.choice([0, 2], 100), prob, classes=[0, 1, 2]).recipe.notes


def test_a_column_chance_is_noted_until_there_are_weights(tmp_path: Path) -> None:
    rows = pd.DataFrame(
        {
            "score": [0.2, 0.7] * 40,
            "label": [0, 1] * 40,
            "inclusion_probability": [0.5, 0.1] * 40,
            "x": range(80),
        }
    )
    [note] = measure(rows).recipe.notes
    assert "1 / inclusion_probability" in note
    assert note in report(rows).notes
    assert note in slices(rows, "x").notes
    (tmp_path / "parts").mkdir()
    rows.to_parquet(tmp_path / "parts" / "a.parquet")
    assert measure(tmp_path / "parts").recipe.notes == (note,)
    assert not measure(rows.assign(weight=1 / rows.inclusion_probability)).recipe.notes
    assert not measure(rows, columns={"weight": "inclusion_probability"}).recipe.notes


def test_several_labels_per_item_of_a_wide_table_are_noted_until_their_clusters_are_named() -> None:
    random = np.random.default_rng(4)
    table = pd.DataFrame(
        np.repeat(random.dirichlet([1, 1, 1], 100), 5, axis=0), columns=["p_a", "p_b", "p_c"]
    )
    table = table.assign(item=np.repeat(np.arange(100), 5), label=random.choice(["a", "b", "c"], 500))
    (note,) = measure(table).recipe.notes
    assert "100 items with several rows" in note
    assert measure(table, view="class:a").recipe.notes == (note,)
    assert measure(table, view="classwise").recipe.notes == (note,)
    assert not measure(table.rename(columns={"item": "cluster"})).recipe.notes


def test_a_fit_to_several_rows_per_item_has_no_note_since_the_map_does_not_depend_on_clusters() -> None:
    rows = answers(4)
    methods: list[Any] = ["platt", "isotonic", "scaling-binning"]
    for method in methods:
        alone = fit(rows, method=method)
        clustered = fit(rows, method=method, columns={"cluster": "item"})
        assert not alone.notes
        assert apply(alone, rows).equals(apply(clustered, rows))


def test_a_map_that_changes_top_labels_is_compared_on_the_same_rows() -> None:
    random = np.random.default_rng(5)
    logits = random.normal(0, 1.5, (2000, 3))
    label = (logits + np.array([0, 0.5, -0.5]) + random.gumbel(size=logits.shape)).argmax(axis=1)
    scores = np.exp(2 * logits) / np.exp(2 * logits).sum(axis=1, keepdims=True)
    table = pd.DataFrame(scores, columns=["p_a", "p_b", "p_c"]).assign(label=np.array(list("abc"))[label])
    table["item"] = np.arange(len(table))
    model = fit(table[:1000], method="vector")
    test = table[1000:].reset_index(drop=True)
    (found,) = report(test, model=model).differences
    (expected,) = report([test, apply(model, test)]).differences
    assert found.view == "top"
    assert found.difference.mse_difference == expected.difference.mse_difference


def test_a_direction_that_shows_miscalibration_is_named_beside_an_interval_that_contains_0() -> None:
    rng = np.random.default_rng(1)
    score = rng.beta(9, 1, 2000)
    found = measure(rng.random(2000) < score - 0.012, score)["binary"]
    remark = dict(found.remarks())["calibration_error"]
    assert found.calibration_error.low == 0
    assert remark == "interval contains 0, but the mean error shows miscalibration"


def test_an_interval_without_upper_limit_is_explained() -> None:
    half = np.repeat([0, 1], 6)
    found = measure(half, np.full(12, 0.5), clusters=half)["binary"]
    assert (found.calibration_error.low, found.calibration_error.high) == (0, 1)
    assert (
        dict(found.remarks())["calibration_error"] == "no upper limit: few pairs or clusters carry the error"
    )


@pytest.mark.parametrize(("score", "noted"), [(0.5, True), (0.6, False)])
def test_items_whose_top_options_tie_are_counted(score: float, noted: bool) -> None:
    table = pa.table({"label": ["a", "b"] * 50, "p_a": [score] * 100, "p_b": [1 - score] * 100})
    notes = measure(table, view="top").recipe.notes
    assert (
        any("100 of 100 items have several options with the largest score" in each for each in notes) == noted
    )
