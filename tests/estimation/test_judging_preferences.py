"""Win rates and Bradley-Terry scores against their closed forms, and from tables of preferences."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

from calibrant.estimation import JudgedTable, bradley_terry, judged_systems, preference_table
from tests.command_line import Run
from tests.quantities import defined

ODDS = np.array([0.6, 0.0, -0.6])


def drawn(rng: np.random.Generator, count: int, labels: int, right: float = 0.85) -> JudgedTable:
    first, second = rng.permuted(np.tile([0, 1, 2], (count, 1)), axis=1)[:, :2].T
    wins = (rng.random(count) < 1 / (1 + np.exp(ODDS[second] - ODDS[first]))).astype(float)
    judge = np.where(rng.random(count) < right, wins, 1 - wins)
    judge = np.where((first == 2) & (rng.random(count) < 0.5), 1.0, judge)  # it favors C in the first place
    label = np.where(np.arange(count) < labels, wins, np.nan)
    return preference_table(("A", "B", "C"), first, second, judge, label, np.arange(count))


def test_with_all_labels_the_scores_are_those_of_the_maximum_likelihood() -> None:
    table = drawn(np.random.default_rng(0), 400, 400)
    first, second, label = table.system[:400], table.system[400:], table.label[:400]

    def loss(score: np.ndarray) -> float:
        gap = score[first] - score[second]
        return float(np.log1p(np.exp(-gap))[label == 1].sum() + np.log1p(np.exp(gap))[label == 0].sum())

    fitted = minimize(loss, np.zeros(3)).x
    scores = {row.system: defined(row.score.estimate) for row in bradley_terry(table)}
    assert [scores[name] for name in "ABC"] == pytest.approx(fitted - fitted.mean(), abs=1e-4)


def test_scores_cover_although_the_judge_is_biased_and_the_judge_alone_is_wrong() -> None:
    rng, inside, alone = np.random.default_rng(1), 0, []
    for _ in range(150):
        for row in bradley_terry(drawn(rng, 1200, 200)):
            truth = ODDS["ABC".index(row.system)]
            inside += defined(row.score.low) <= truth <= defined(row.score.high)
            alone.append(defined(row.judge_alone) if row.system == "C" else np.nan)
    assert 0.92 <= inside / 450 <= 0.98
    assert np.nanmean(alone) > -0.35  # truth is -0.6


def test_win_rates_are_those_of_both_systems_and_their_difference_is_paired() -> None:
    rng = np.random.default_rng(2)
    label = rng.choice([1.0, 0.5, 0.0], 100, p=[0.5, 0.2, 0.3])
    zeros, ones = np.zeros(100, np.int64), np.ones(100, np.int64)
    table = preference_table(("A", "B"), zeros, ones, np.full(100, 0.5), label, np.arange(100))
    record = judged_systems(table)
    [pair] = record.differences
    assert {row.system: row.corrected.estimate for row in record.systems} == pytest.approx(
        {"A": label.mean(), "B": 1 - label.mean()}
    )
    assert pair.difference.estimate == pytest.approx(2 * label.mean() - 1)
    assert pair.difference.standard_error == pytest.approx(2 * label.std(ddof=1) / 10)


def test_a_system_that_wins_all_has_no_score() -> None:
    zeros, ones = np.zeros(40, np.int64), np.ones(40, np.int64)
    table = preference_table(("A", "B"), zeros, ones, np.ones(40), np.ones(40), np.arange(40))
    assert all("wins or loses all" in str(row.score.reason) for row in bradley_terry(table))


@pytest.fixture
def preferences(tmp_path: Path) -> Path:
    """Both orders of 300 prompts; the judge prefers the first answer in half of all cases."""
    rng = np.random.default_rng(3)
    rows = []
    for item in range(300):
        wins = rng.random() < 0.65
        for first, second in (("new", "old"), ("old", "new")):
            better = "a" if wins == (first == "new") else "b"
            judge = "a" if rng.random() < 0.5 else better if rng.random() < 0.8 else "tie"
            rows.append((item, first, second, judge, better if item < 100 else ""))
    frame = pd.DataFrame(rows, columns=["item", "system_a", "system_b", "judge", "label"])
    frame.to_csv(tmp_path / "preferences.csv", index=False)
    return tmp_path / "preferences.csv"


def test_a_table_of_preferences_with_the_bias_of_the_position(run: Run, preferences: Path) -> None:
    found = json.loads(run("judge", preferences, "--bias", "position", "--json").out)
    [pair] = found["differences"]
    assert (pair["items"], pair["labelled"], pair["verdict"]) == (600, 200, "new")
    assert [row["system"] for row in found["strengths"]] == ["new", "old"]
    [position] = found["bias"]
    assert (position["column"], position["value"]) == ("position", "second")
    assert position["error"]["high"] < 0
    # Both orders of a prompt are one cluster: their labels are the same.
    alone = pd.read_csv(preferences)
    alone["item"] = np.arange(600)
    alone.to_csv(preferences, index=False)
    [apart] = json.loads(run("judge", preferences, "--json").out)["differences"]
    assert pair["difference"]["standard_error"] > 1.2 * apart["difference"]["standard_error"]
    assert "Bradley-Terry scores" in run("judge", preferences).out


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\n0,new,old,", "\n0,new,new,", "'new' is compared with itself"),
        ("\n0,old,new,", "\n0,new,old,", "compared twice, in one order, on prompt '0'"),
        ("\n0,new,old,", "\n0,new,old,x", "is no preference: write a, b or tie"),
    ],
)
def test_bad_preferences_are_one_line(run: Run, preferences: Path, old: str, new: str, message: str) -> None:
    preferences.write_text(preferences.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    run("judge", preferences).refused(message)


def test_labels_that_are_names_of_systems_are_not_read_by_place(run: Run, tmp_path: Path) -> None:
    rows = [(item, *pair, "a", "A") for item in range(20) for pair in (("A", "B"), ("B", "A"))]
    frame = pd.DataFrame(rows, columns=["item", "system_a", "system_b", "judge", "label"])
    frame.to_csv(tmp_path / "named.csv", index=False)
    run("judge", tmp_path / "named.csv").refused("row 2, column label: 'A' is the name of a system")


def test_equal_preferences_have_no_number(run: Run, preferences: Path) -> None:
    frame = pd.read_csv(preferences)
    frame["label"] = frame["label"].mask(frame["label"].notna(), "a")
    frame.to_csv(preferences, index=False)
    run("judge", preferences).refused("preferences.csv, column label: all 200 labels are 'a'")


def test_preferences_have_their_plan_in_the_comparison(run: Run, preferences: Path) -> None:
    run("plan-judge", preferences, "--difference", "0.1").refused(
        "the table has preferences", "read the column labels needed"
    )
