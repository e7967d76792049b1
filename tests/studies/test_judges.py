"""The study of judges: its record has the criterion, and parts of it are computed again."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calibrant.exceptions import FormatError
from calibrant_studies import Study, _judges_preferences, judges
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


def _annotation(prompt: int, preference: float | None, annotator: str, system: str = "new") -> dict[str, Any]:
    texts = {"instruction": f"prompt {prompt}", "output_1": "abc", "output_2": "x" * prompt}
    return {
        **texts,
        "generator_1": "reference",
        "generator_2": system,
        "annotator": annotator,
        "preference": preference,
    }


def test_two_annotators_of_the_same_answers_become_one_table(tmp_path: Path) -> None:
    cheap, better, other = (tmp_path / f"{name}.json" for name in ("cheap", "better", "other"))
    cheap.write_text(
        json.dumps([_annotation(0, 1.25, "fast"), _annotation(5, None, "fast")]), encoding="utf-8"
    )
    rows = [_annotation(5, 2, "slow"), _annotation(0, 1.5, "slow")]
    better.write_text(json.dumps(rows), encoding="utf-8")
    lines = LAYOUTS["preferred"]([cheap, better]).decode().splitlines()
    assert lines[1:] == ["fast,0,new,reference,0.25,0.5,0,3", "fast,1,new,reference,,1,5,3"]
    other.write_text(json.dumps([_annotation(0, 1, "slow", "old")]), encoding="utf-8")
    with pytest.raises(FormatError, match=r"other.json has no comparison of 'new' for 'prompt 0'"):
        LAYOUTS["preferred"]([cheap, other])


def _made_up(folder: Path, prompts: int = 300) -> Path:
    """Preferences of which the cheap judge adds 0.2 to one system, and more to longer answers."""
    rng = np.random.default_rng(0)
    path = folder / "preferences.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["judge_name", "item", "system_a", "system_b", "judge", "label", "length_a", "length_b"]
        )
        for system, rate, extra in (("good", 0.6, 0.0), ("flattered", 0.3, 0.2)):
            for item in range(prompts):
                label, length = float(rng.random() < rate), int(rng.integers(100, 1000))
                score = 0.1 + 0.6 * label + extra + 0.0002 * (length - 500) + rng.normal(0, 0.1)
                judge = np.clip(score, 0, 1)
                known = "" if (system, item) == ("good", 7) else label
                writer.writerow(["alpaca_eval_gpt4_turbo_fn", item, system, "ref", judge, known, length, 500])
    return path


def test_preferences_show_the_judge_s_errors_and_labels_correct_them(tmp_path: Path) -> None:
    [found] = _judges_preferences.preferences(_made_up(tmp_path))
    assert (found.judge_name, found.systems) == ("ranking", ("good", "flattered"))
    assert found.judge.shape == found.label.shape == found.longer.shape == (2, 299)
    tables = _judges_preferences.preference_tables([found], seed=1, draws=10)
    by_labels = [row for row in tables["preferences"] if row["system"] == "flattered"]
    assert [row["labels"] for row in by_labels] == [100, 200]
    for row in by_labels:
        assert row["better judge"] == pytest.approx(found.label[1].mean())
        assert row["cheap judge"] == pytest.approx(found.judge[1].mean())
        assert row["judge alone: covers"] < 20 < 80 < row["corrected: covers"]
        assert row["corrected: width"] < 0.9 * row["labels alone: width"]
    for row in tables["preference_pairs"]:
        assert (row["first"], row["second"]) == ("good", "flattered")
        assert row["judge alone: covers"] < 20 < 80 < row["corrected: covers"]
        assert row["better judge"] == pytest.approx(found.label[0].mean() - found.label[1].mean())
    [bias] = tables["lengths"]
    assert bias["error"] == pytest.approx(0.0002 * found.longer.std(), abs=0.01)
    assert bias["error, low"] < bias["error"] < bias["error, high"]
    assert tables == _judges_preferences.preference_tables([found], seed=1, draws=10)


def test_the_lengths_and_true_win_rates_are_computed_again(data: Path, record: dict[str, Any]) -> None:
    found = _judges_preferences.preferences(data / _judges_preferences.FILE)
    again = _judges_preferences.preference_tables(found, record["seed"], draws=1)
    for now, then in zip(again["lengths"], record["tables"]["lengths"], strict=True):
        assert now == pytest.approx(then)
    for name in ("preferences", "preference_pairs"):
        for now, then in zip(again[name], record["tables"][name], strict=True):
            assert now["better judge"] == pytest.approx(then["better judge"])
            assert now["cheap judge"] == pytest.approx(then["cheap judge"])
