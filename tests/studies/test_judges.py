"""The study of judges: its record has the criterion, and parts of it are computed again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant_studies import Study, judges
from calibrant_studies.datasets._layouts import LAYOUTS


def test_the_findings_follow_from_the_record_s_tables(record: dict[str, Any]) -> None:
    assert [finding.to_dict() for finding in judges.findings(record["tables"])] == record["findings"]


def test_the_figures_come_from_the_record_alone(record: dict[str, Any]) -> None:
    assert set(judges.figures(Study.from_dict(record))) == {"arena", "labels"}


def test_the_system_that_fools_the_judge_is_flagged_and_two_others_pass(
    data: Path, record: dict[str, Any]
) -> None:
    rows = judges.transport_rows(judges.arena(data))
    for now, then in zip(rows, record["tables"]["transport"], strict=True):
        assert now == pytest.approx(then)
    assert {row["system"]: row["verdict"] for row in rows} == {
        "clone": "holds",
        "parallel-universe-prompt": "holds",
        "unhelpful": "does not hold",
    }
    margins = [round(row["smallest margin"], 3) for row in rows]
    assert margins == [0.051, 0.052, 0.313]


def test_a_judge_and_the_experts_are_compared_again(data: Path, record: dict[str, Any]) -> None:
    one = judges.grades(data)[0]
    assert one.judge.shape == one.label.shape == (16, 100)
    assert judges.pairs_row(one) == pytest.approx(record["tables"]["pairs"][0])


def test_corrected_verdicts_are_less_often_wrong_than_those_of_the_judge(record: dict[str, Any]) -> None:
    for row in record["tables"]["labels"]:
        assert row["corrected: wrong"] < 1 < row["judge alone: wrong"]


def test_verdicts_are_tallied_by_the_sign_of_the_true_difference() -> None:
    found = judges._tally([1, -1, 0, 1, 0], np.array([0.2, 0.1, 0.3, 0.0, -0.1]))
    assert found.tolist() == [1, 1, 3]


def test_texts_become_their_lengths_and_labels_a_table(tmp_path: Path) -> None:
    row = {"prompt_id": "a", "prompt": "two words", "response": "é", "judge_score": 0.5}
    (tmp_path / "a.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    lines = LAYOUTS["judged"]([tmp_path / "a.jsonl"]).decode().splitlines()
    assert lines[1] == "a,0.5,,9,1"
    people, models = tmp_path / "people.json", tmp_path / "models.json"
    people.write_text(json.dumps({"b": {"y": 1, 'x "q"': 2}, "a": {"y": "tie"}}), encoding="utf-8")
    models.write_text(json.dumps({"m": {"y": 3}}), encoding="utf-8")
    lines = LAYOUTS["annotated"]([people, models]).decode().splitlines()
    assert lines[1:] == ["y\ta\thuman\ttie", '"x ""q"""\tb\thuman\t2', "y\tb\thuman\t1", "y\tm\tmodel\t3"]
