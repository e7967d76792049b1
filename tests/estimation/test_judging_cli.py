"""`calibrant judge` and its verb: tables, options, and one line for bad input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import calibrant
from calibrant.estimation import JudgedSystems, JudgedTable, judged_systems
from tests.command_line import Run


@pytest.fixture
def judged() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    quality = np.round(rng.random((2, 200)), 3)
    judge = np.round(np.clip(quality + 0.1 * rng.normal(size=(2, 200)), 0, 1), 3)
    judge[1] = np.clip(judge[1] + 0.3, 0, 1)
    frame = pd.DataFrame({"system": np.repeat(["new", "old"], 200), "item": np.tile(np.arange(200), 2)})
    frame["judge"], frame["length"] = judge.ravel(), rng.integers(1, 90, 400)
    frame["label"] = np.where(frame["item"] < 50, quality.ravel(), np.nan)
    return frame


def systems_of(source: Any, **options: Any) -> JudgedSystems:
    record = calibrant.judge(source, **options)
    assert isinstance(record, JudgedSystems)
    return record


def write(frame: pd.DataFrame, folder: Path) -> Path:
    path = folder / "judged.csv"
    frame.to_csv(path, index=False)
    return path


def test_the_command_says_what_the_library_says(run: Run, judged: pd.DataFrame, tmp_path: Path) -> None:
    path = write(judged, tmp_path)
    found = json.loads(run("judge", path, "--json").out)
    table = JudgedTable(
        ("new", "old"),
        np.repeat([0, 1], 200),
        np.tile(np.arange(200), 2),
        judged["judge"].to_numpy(),
        judged["label"].to_numpy(),
    )
    expected = json.loads(judged_systems(table).to_json())
    assert found["systems"] == expected["systems"]
    assert found["differences"] == expected["differences"]
    assert found["command"].startswith("calibrant judge")
    ran = run("judge", path, "--bias", "length", "--method", "labels")
    assert ran.code == 0
    assert all(
        word in ran.out for word in ("judge alone", "judge says", "per SD", "Methods", "does not hold")
    )
    assert systems_of(judged, bias=["length"]).bias == systems_of(path, bias=["length"]).bias


def test_columns_have_any_name_and_classes_are_compared_one_at_a_time(
    run: Run, judged: pd.DataFrame, tmp_path: Path
) -> None:
    judged["judge"] = np.where(judged["judge"] > 0.5, "good", "bad")
    judged["label"] = np.where(judged["label"].isna(), "", np.where(judged["label"] > 0.5, "good", "bad"))
    names = {"system": "model", "item": "prompt", "judge": "verdict", "label": "human"}
    path = write(judged.rename(columns=names), tmp_path)
    options = [word for part, name in names.items() for word in (f"--{part}", name)]
    both = json.loads(run("judge", path, *options, "--json").out)
    ran = run("judge", path, *options, "--view", "class:good", "--json")
    found = json.loads(ran.out)
    share = (judged["judge"] == "good").groupby(judged["system"]).mean()
    alone = {row["system"]: row["judge_alone"]["estimate"] for row in found["systems"]}
    assert alone == pytest.approx(share.to_dict())
    assert len(found["errors"]) == 2
    good = [row["corrected"] for row in both["shares"] if row["kind"] == "good"]
    assert {row["estimate"] for row in good} == {row["corrected"]["estimate"] for row in found["systems"]}
    run("judge", path, *options, "--view", "class:fine").refused("only good, bad")


def test_grades_have_the_range_of_the_judge_or_the_one_that_is_given(
    run: Run, judged: pd.DataFrame, tmp_path: Path
) -> None:
    judged["judge"], judged["label"] = 1 + np.round(4 * judged["judge"]), 1 + np.round(4 * judged["label"])
    found = json.loads(run("judge", write(judged, tmp_path), "--json").out)
    assert (found["low"], found["high"], found["transport_margin"]) == (1, 5, pytest.approx(0.4))
    found = json.loads(run("judge", write(judged, tmp_path), "--label-range", "0", "10", "--json").out)
    assert (found["low"], found["high"], found["transport_margin"]) == (0, 10, pytest.approx(1))
    run("judge", write(judged, tmp_path), "--label-range", "1", "4").refused("outside the range of labels")


def test_runs_of_a_prompt_are_one_cluster_and_matched_in_order(judged: pd.DataFrame) -> None:
    again = judged.assign(judge=judged["judge"].iloc[::-1].to_numpy() / 2)
    runs = pd.concat([judged.assign(run=1), again.assign(run=2)], ignore_index=True)
    runs.loc[(runs["system"] == "old") & (runs["run"] == 2), "run"] = 7  # another number of the second run
    apart = runs.assign(item=runs["item"] + 200 * (runs.index >= 400), cluster=runs["item"])
    found, expected = systems_of(runs), systems_of(apart.drop(columns="run"))
    for own, other in zip(
        (*(row.corrected for row in found.systems), found.differences[0].difference),
        (*(row.corrected for row in expected.systems), expected.differences[0].difference),
        strict=True,
    ):
        assert (own.estimate, own.low, own.high) == pytest.approx((other.estimate, other.low, other.high))
    assert found.differences[0].both_labelled == 100
    assert found.clusters == "prompts"


def test_a_run_with_two_scores_is_refused(run: Run, judged: pd.DataFrame, tmp_path: Path) -> None:
    path = write(pd.concat([judged.assign(epoch=1), judged.assign(epoch=1)]), tmp_path)
    run("judge", path, "--run", "epoch").refused(
        "row 401, column item: 'new' has two scores for prompt '0', run '1'"
    )


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "outside": ({"label": {3: 1.5}}, "row 4, column label: label 1.5 is outside the judge's range, 0 to 1"),
    "scales": ({"judge": {3: 70}}, "labels are from 0 to 1, and judge scores from 0 to 70"),
    "equal": ({"label": dict.fromkeys(range(400), 1)}, "judged.csv, column label: all 400 labels are 1"),
    "none": ({"label": dict.fromkeys(range(400))}, "no answer has a label"),
    "few": (
        {"label": {row: None for row in range(400) if row % 200 > 8}},
        "judged.csv, column label: no system has 10 labels",
    ),
    "cluster": (
        {"cluster": {row: max(0, row % 200 - 49) for row in range(400)}},
        "judged.csv, column label: all 50 labels of new are of one cluster",
    ),
    "twice": ({"item": {4: 3}}, "row 5, column item: 'new' has two scores for prompt '3'"),
    "clusters": (
        {"cluster": {row: row % 200 // 10 if row != 399 else 7 for row in range(400)}},
        "column cluster: prompt '199' is in two clusters",
    ),
    "zero": (
        {"inclusion_probability": {row: 0.5 if row else 0 for row in range(400)}},
        "row 1, column inclusion_probability: the inclusion probability of a labeled answer is 0",
    ),
    "above": (
        {"inclusion_probability": {row: 0.5 if row else 1.5 for row in range(400)}},
        "row 1, column inclusion_probability",
    ),
    "mixed": ({"label": {3: "good"}}, "class"),
    "text": ({"judge": {3: "great"}}, "row 4, column judge: 'great' is not a number, and other values are"),
    "weight": ({"weight": dict.fromkeys(range(400), 1)}, "do not use weights"),
    "constant": ({"judge": dict.fromkeys(range(400), 3), "label": {0: 3}}, "outside the judge's range"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD.keys())
def test_bad_input_is_one_line_and_no_number(
    run: Run, judged: pd.DataFrame, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    for column, values in change.items():
        own = judged[column].astype(object) if column in judged else pd.Series([None] * 400, dtype=object)
        for row, value in values.items():
            own[row] = value
        judged[column] = own
    run("judge", write(judged, tmp_path)).refused(message)


def test_a_column_that_is_missing_or_named_twice_is_named_with_its_option(
    run: Run, judged: pd.DataFrame, tmp_path: Path
) -> None:
    path = write(judged, tmp_path)
    run("judge", path, "--judge", "judge,nope").refused("there is no column 'nope': name it with --judge")
    run("judge", path, "--bias", "nope").refused("there is no column 'nope': name it with --bias")
    run("judge", path, "--label", "label,label").refused("column 'label' is named twice")


def test_a_comparison_of_judge_scores_beside_labels_points_to_judge(
    run: Run, judged: pd.DataFrame, tmp_path: Path
) -> None:
    path = write(judged, tmp_path)
    run("compare", path, "--score", "judge").refused("a judge's scores", "`calibrant judge`")
    other = judged.rename(columns={"judge": "judge_score", "label": "oracle_label"})
    run("compare", write(other, tmp_path), "--score", "judge_score").refused("`calibrant judge`")
    del judged["label"]
    assert run("compare", write(judged, tmp_path), "--score", "judge").code == 0


def test_a_map_from_one_system_holds_for_its_clone_and_not_for_answers_made_to_fool_the_judge(
    data: Path,
) -> None:
    folder, tables = data / "judged-arena", []
    for system in ("base", "clone", "parallel-universe-prompt", "unhelpful"):
        answers = pd.read_csv(folder / f"{system}.fresh.csv.gz").assign(system=system)
        if system != "base":
            probe = pd.read_csv(folder / f"{system}.probe.csv.gz").set_index("prompt_id")["oracle_label"]
            answers["oracle_label"] = answers["prompt_id"].map(probe)
        tables.append(answers)
    record = systems_of(
        pd.concat(tables, ignore_index=True), item="prompt_id", judge="judge_score", label="oracle_label"
    )
    assert [(row.system, row.labelled, row.verdict) for row in record.transport] == [
        ("clone", 50, "holds"),
        ("parallel-universe-prompt", 50, "holds"),
        ("unhelpful", 50, "does not hold"),
    ]
    margins = [row.least_margin for row in record.transport]
    assert margins == pytest.approx([0.051, 0.052, 0.313], abs=0.0005)
    residual = record.transport[-1].residual
    # The residual under the calibrator of the source is -0.331 [-0.403, -0.259].
    assert residual.estimate == pytest.approx(-0.275, abs=0.0005)
    assert record.systems[-1].system == "unhelpful"
    assert record.systems[-1].letters not in {row.letters for row in record.systems[:-1]}
