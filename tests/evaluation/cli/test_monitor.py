"""`calibrant monitor`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import Run


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    """Six days of 100 pairs; from the fourth on the scores are too high."""
    random = np.random.default_rng(1)
    lines = ["score,label,date"]
    for day in range(6):
        score = random.random(100)
        label = random.random(100) < score - (0.25 if day >= 3 else 0.0)
        pairs = zip(score, label, strict=True)
        lines += [f"{one:.4f},{int(other)},2026-11-{day + 1:02}" for one, other in pairs]
    path = tmp_path / "stream.csv"
    path.write_text("\n".join(lines))
    return path


def test_a_line_a_window_and_what_an_alarm_means(run: Run, stream: Path, tmp_path: Path) -> None:
    figure, state = tmp_path / "stream.png", tmp_path / "state.json"
    options = ["--time", "date", "--unit", "item", "--state", state]
    text = run("monitor", stream, *options, "-o", figure).out
    found = json.loads(run("monitor", stream, *options, "--json").out)
    assert [day["day"] for day in found["days"]] == [f"2026-11-{day:02}" for day in range(1, 7)]
    first = found["alarms"][0]
    assert first >= "2026-11-04"
    assert f"ALARM on {first}" in text
    assert text.count(" yes\n") == 6 - found["days"].index(next(d for d in found["days"] if d["alarm"]))
    assert "never calibrated" in text
    assert "frequencies below the scores" in text
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_a_condition_on_the_alarm_makes_it_fail(run: Run, stream: Path) -> None:
    watched = ("monitor", stream, "--time", "date", "--unit", "item")
    ran = run(*watched, "--fail-if", "alarm")
    assert ran.code == 3
    assert "ALARM on" in ran.out
    assert ran.err.startswith("calibrant: failed: alarm (")
    assert "true" in ran.err
    assert run(*watched, "--epsilon", "0.5", "--fail-if", "alarm").code == 0
    assert "alarm is true or false" in run(*watched, "--fail-if", "alarm > 0").err


def test_without_an_alarm_it_says_so(run: Run, stream: Path) -> None:
    text = run("monitor", stream, "--time", "date", "--restart").out
    assert "No alarm" in text
    assert "At least 100 windows between false alarms" in text


def test_the_condition_of_the_promise_is_printed_and_in_the_record(run: Run, stream: Path) -> None:
    for unit, words in {"day": "do not depend on those of earlier windows", "dependent-day": "AR(1)"}.items():
        options = ["--time", "date", "--unit", unit]
        assert words in run("monitor", stream, *options).out
        assert words in json.loads(run("monitor", stream, *options, "--json").out)["condition"]


def test_mistakes_are_one_line(run: Run, stream: Path, tmp_path: Path) -> None:
    assert run("monitor", stream).code == 2
    run("monitor", stream, "--time", "day").refused("the columns are score, label, date")
    run("monitor", stream, "--time", "date", "--state", stream).refused("would replace this file")
    run("monitor", stream, "--time", "date", "--state", tmp_path / "no" / "state.json").refused(
        "cannot write"
    )
    stream.write_text(stream.read_text().replace("2026-11-02", "yesterday"))
    assert "row 101, column date: 'yesterday' is not a date" in run("monitor", stream, "--time", "date").err


@pytest.mark.parametrize(
    ("header", "row", "options", "message"),
    [
        (
            "score,label,week",
            "0.2,0,{}",
            ["--against", "reference", "--reference", "a"],
            "the reference ends at 'a'",
        ),
        (
            "score,label,class,item,week",
            "0.2,0,A,1,{}",
            ["--view", "top"],
            "a long table cannot be monitored for top",
        ),
    ],
)
def test_options_that_do_not_suit_the_table_are_one_line(
    run: Run, tmp_path: Path, header: str, row: str, options: list[str], message: str
) -> None:
    path = tmp_path / "weeks.csv"
    path.write_text("\n".join([header, *(row.format(week) for week in range(9))]), encoding="utf-8")
    run("monitor", path, "--time", "week", "--by", "value", *options).refused(message)


def test_logs_of_two_models_are_not_monitored_as_one(run: Run) -> None:
    logs = Path(__file__).resolve().parents[2] / "archives" / "logs" / "lm_eval-0.4.13"
    options = ["--time", "subject", "--by", "value", "--view", "class:1"]
    run("monitor", logs, *options).refused(
        "logs of 2 models: toy/large, toy/small: name the folder of one model"
    )
