"""`calibrant threshold`: what it prints, refuses and writes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from calibrant.outputs import schema
from tests.command_line import Run


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    random = np.random.default_rng(4)
    entropy = random.exponential(2, 400).round(4)
    correct = (random.random(400) < np.exp(-entropy / 4)).astype(int)
    rows = [
        f"q{row},{value},{right}" for row, (value, right) in enumerate(zip(entropy, correct, strict=True))
    ]
    path = tmp_path / "answers.csv"
    path.write_text("\n".join(["question,entropy,correct", *rows]) + "\n", encoding="utf-8")
    return path


OPTIONS = ("--score", "entropy", "--score-kind", "uncertainty")


def test_the_sentence_and_the_table_are_printed_and_rows_are_written(
    run: Run, answers: Path, tmp_path: Path
) -> None:
    ran = run("threshold", answers, *OPTIONS, "--coverage", 0.7, "-o", tmp_path / "low.csv")
    assert ran.code == 0, ran.err
    assert "Keeping the most confident 70 % (uncertainty" in ran.out
    assert "Prediction-rejection ratio" in ran.out
    lines, low = answers.read_text().splitlines(), (tmp_path / "low.csv").read_text().splitlines()
    assert len(low) == 121
    assert set(low) <= set(lines)


def test_json_fits_its_schema(run: Run, answers: Path) -> None:
    found = json.loads(run("threshold", answers, *OPTIONS, "--confidence", 2, "--json").out)
    jsonschema.validate(found, schema("threshold"))
    assert found["score_kind"] == "uncertainty"
    cut = next(row for row in found["points"] if row["coverage"] == found["cut"])
    assert cut["threshold"] <= 2


def test_a_ranking_is_refused_by_measure_and_has_a_command(run: Run, answers: Path, tmp_path: Path) -> None:
    run("measure", answers, *OPTIONS).refused("a ranking has no calibration", "`calibrant threshold`")
    fitted = run("fit", answers, *OPTIONS, "-o", tmp_path / "model.json")
    assert "calibrant apply" in fitted.out
    assert "calibrant report" not in fitted.out
    run("apply", tmp_path / "model.json", answers, "--score", "entropy", "-o", tmp_path / "new.csv")
    assert run("measure", tmp_path / "new.csv", "--score", "entropy").code == 0


def test_bad_options_are_one_line(run: Run, answers: Path, tmp_path: Path) -> None:
    run("threshold", answers, *OPTIONS, "--coverage", 2).refused("--coverage is 2.0: give a number in (0, 1]")
    run("threshold", answers, *OPTIONS, "--confidence", -1).refused("no answer has the confidence -1")
    run("threshold", answers, *OPTIONS, "--coverage", 1, "-o", tmp_path / "a.csv").refused(
        "all answers are kept"
    )
    run("threshold", answers, *OPTIONS, "-o", answers).refused("answers.csv")
    run(
        "threshold", answers, "--score", "entropy", "--score-kind", "percent", "-o", tmp_path / "x.doc"
    ).refused()
    run("measure", answers, "--score", "entropy", "--score-kind", "logprob").refused(
        "row 1, column entropy", "is not a log-probability"
    )


def test_a_guarantee_is_printed_saved_and_applied(run: Run, answers: Path, tmp_path: Path) -> None:
    saved, new = tmp_path / "thresholds.json", tmp_path / "new.csv"
    ran = run("threshold", answers, *OPTIONS, "--risk", 0.4, "--save", saved)
    assert ran.code == 0, ran.err
    assert "at most 40 % of the accepted rows are wrong" in " ".join(ran.out.split())
    assert "calibrant apply" in ran.out
    applied = run("apply", saved, answers, "--score", "entropy", "-o", new)
    assert "With a probability of at least 90 %" in " ".join(applied.out.split())
    assert "calibrant measure" not in applied.out
    found = json.loads(run("threshold", answers, *OPTIONS, "--risk", 0.4, "--json").out)
    jsonschema.validate(found, schema("threshold risk"))
    assert new.read_text().count(",accept\n") == found["accepted"] > 0
    assert json.loads(saved.read_text())["command"].startswith("calibrant threshold")


def test_options_that_need_or_exclude_a_risk_are_refused(run: Run, answers: Path) -> None:
    run("threshold", answers, *OPTIONS, "--missed").refused("--missed requires --risk")
    run("threshold", answers, *OPTIONS, "--save", "x.json").refused("--save requires --risk")
    told = "--coverage and --risk exclude each other"
    run("threshold", answers, *OPTIONS, "--risk", 0.2, "--coverage", 0.5).refused(told)
    run("threshold", answers, *OPTIONS, "--risk", 0).refused("--risk is 0.0: give a number between 0 and 1")
