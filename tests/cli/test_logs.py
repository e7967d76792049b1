"""Logs of evaluations on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from calibrant.cli import main

LOGS = Path(__file__).resolve().parents[1] / "archives" / "logs"
HARNESS, INSPECT = LOGS / "lm_eval-0.4.13", LOGS / "inspect_ai-0.3.285"


def printed(*arguments: object) -> str:
    found = CliRunner().invoke(main, [str(each) for each in arguments])
    assert found.exit_code == 0, found.output
    return found.stdout


def test_measure_says_what_of_a_run_was_left_out() -> None:
    text = printed("measure", HARNESS / "toy__small")
    assert "Left out: task last: its samples have one option each." in text
    found = json.loads(printed("measure", HARNESS / "toy__small", "--json"))
    assert [each["view"] for each in found["views"]] == ["top", "pooled"]
    assert len(found["recipe"]["notes"]) == 2


@pytest.mark.parametrize("command", [["measure"], ["plan", "--error", "0.1", "--pilot"]])
def test_logs_of_two_models_are_not_measured_as_one(command: list[str]) -> None:
    found = CliRunner().invoke(main, [*command, str(HARNESS)])
    assert found.exit_code == 2
    assert "logs of 2 models: toy/large, toy/small: name the folder of one model" in found.stderr


def test_reports_call_logs_of_the_same_model_by_their_files(tmp_path: Path) -> None:
    option = {"token": "A", "logprob": -0.5}, {"token": "B", "logprob": -1.0}
    choice = {"logprobs": {"content": [{**option[0], "top_logprobs": option}]}}
    for name in ("short", "long"):
        lines = [{"id": str(n), "model": "m", "choices": [choice], "answer": "AB"[n % 2]} for n in range(60)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    files = [tmp_path / "short.jsonl", tmp_path / "long.jsonl"]
    found = json.loads(printed("report", *files, "--json", "-o", tmp_path / "report.html"))
    assert [model["name"] for model in found["models"]] == ["short", "long"]


def test_measure_takes_the_options_of_logs(tmp_path: Path) -> None:
    one = printed("measure", HARNESS / "toy__large", "--view", "top", "--json")
    other = printed("measure", HARNESS / "toy__large", "--view", "top", "--normalise", "bytes", "--json")
    assert json.loads(one)["views"][0]["brier"] != json.loads(other)["views"][0]["brier"]


def test_report_of_a_folder_lists_the_tasks_of_each_model(tmp_path: Path) -> None:
    text = printed("report", HARNESS, "-o", tmp_path / "report.html")
    assert "Tasks, top labels of toy/large, the worst first" in text
    assert "Tasks, top labels of toy/small, the worst first" in text
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "quiz: multiplication" in html
    assert "10 pairs, fewer than 30" in html


def test_slices_of_a_log_are_of_its_top_labels() -> None:
    text = printed("slices", HARNESS, "--by", "model", "--least", "5", "--full")
    settings = text.partition("\nHow\n")[2].split()
    assert settings[settings.index("View") + 1] == "top"
    found = json.loads(printed("slices", HARNESS, "--by", "model", "--least", "5", "--json"))
    assert [each["n"] for each in found["tables"][0]["slices"]] == [18, 26]


def test_slices_of_several_models_are_refused_unless_they_are_crossed_with_the_model() -> None:
    found = CliRunner().invoke(main, ["slices", str(HARNESS), "--by", "task"])
    assert found.exit_code == 2
    assert "logs of 2 models" in found.output
    assert "--by model,task" in found.output
    assert "toy/large" in printed("slices", HARNESS, "--by", "model,task", "--least", "5")


@pytest.mark.parametrize(
    ("name", "message"),
    [("free.eval", "has nothing to calibrate"), ("none.eval", "no such file")],
)
def test_a_log_that_says_nothing_is_one_line_and_exit_2(name: str, message: str) -> None:
    found = CliRunner().invoke(main, ["measure", str(INSPECT / name)])
    assert found.exit_code != 0
    assert message in str(found.exception) + found.output
