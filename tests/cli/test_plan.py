"""`calibrant plan`."""

from __future__ import annotations

import json
import re
from pathlib import Path

from calibrant.metrics.planning import labels_needed
from tests.command_line import Run


def test_the_command_says_what_the_library_says(run: Run) -> None:
    found = json.loads(run("plan", "--error", "0.03", "--beta", "2", "2", "--json").out)
    expected = labels_needed(error=0.03, beta=(2, 2))
    assert found["labels"] == expected.labels
    text = run("plan", "--error", "0.03", "--beta", "2", "2").out
    assert re.search(rf"Labels +{expected.labels:,}\n", text)
    assert all(assumption in text for assumption in expected.assumptions)


def test_a_pilot_gives_the_scores(run: Run, long_table: Path, wide_table: Path) -> None:
    for arguments in ([long_table], [wide_table], [wide_table, "--view", "class:red"]):
        ran = run("plan", "--difference", "0.05", "--pilot", *arguments, "--cluster-size", "10", "--json")
        found = json.loads(ran.out)
        assert "scores are like those of the pilot" in found["assumptions"]
        assert found["clusters"] == found["labels"] / 10


def test_a_goal_is_asked_for(run: Run) -> None:
    run("plan").refused("Give --error, --difference or both")
    assert run("plan", "--error", "2").code == 2
    run("plan", "--error", "0.9").refused("--error is 0.9, but the largest RMS error")
    assert run("plan", "--error", "0.02", "--pilot", "none.csv").code == 2
    assert (
        "classwise cannot be planned"
        in run("plan", "--error", "0.02", "--pilot", "a", "--view", "classwise").err
    )


def test_a_pilot_in_clusters_says_that_they_were_left_out(run: Run) -> None:
    from calibrant.data import tagger_predictions

    given = ["plan", "--error", "0.02", "--pilot", tagger_predictions("dev"), "--view", "pooled"]
    assert "the pilot has clusters or items with several rows, which the plan ignores" in run(*given).out
    named = run(*given, "--cluster-size", "12", "--label-correlation", "0.1").out
    assert "which the plan ignores" not in named


def test_a_pilot_of_several_answers_per_question_says_that_they_depend(run: Run, tmp_path: Path) -> None:
    for name, items in ("several", (1, 1, 2)), ("single", (1, 2, 3)):
        rows = [f"{item},0.{item},{item % 2}" for item in items]
        (tmp_path / f"{name}.csv").write_text("\n".join(["item,score,label", *rows]))
        said = run("plan", "--error", "0.1", "--pilot", tmp_path / f"{name}.csv", "--view", "top").out
        assert ("which the plan ignores" in said) == (name == "several")
