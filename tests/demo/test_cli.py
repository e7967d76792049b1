"""`calibrant demo`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import Run


def test_the_demo_needs_nothing_and_tells_its_story_on_one_page(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("demo")
    assert (ran.code, ran.err) == (0, "")
    for part in (
        "1. A model that looks good",
        "2. How far its probabilities can be trusted",
        "3. Recalibrated on other text",
        "4. The rare tags",
        "5. Counts over time, with their uncertainty",
        "25,094 words",
        "Wrote calibrant-demo.html",
        "  calibrant measure test.csv",
    ):
        assert part in ran.out
    lines = ran.out.splitlines()
    assert 40 < len(lines) <= 72
    assert max(map(len, lines)) <= 100
    assert [path.name for path in tmp_path.iterdir()] == ["calibrant-demo.html"]
    page = (tmp_path / "calibrant-demo.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 4
    assert len(page) < 500_000


@pytest.mark.slow
def test_the_demo_for_machines_is_the_same_story_with_its_records(run: Run, tmp_path: Path) -> None:
    told = run("demo", "-o", tmp_path / "r.html")
    ran = run("demo", "-o", tmp_path / "r.html", "--json")
    assert ran.code == 0
    found = json.loads(ran.out)
    words = " ".join(told.out.split())
    for step in found["steps"]:
        assert step["heading"] in words
        for paragraph in (*step["before"], *step["after"]):
            assert " ".join(paragraph.split()) in words
    rows = found["demonstration"]["tagger"]["grouped_changes"]["groups"]
    assert len(rows) == 6


@pytest.mark.parametrize(
    ("output", "why"),
    [("none/r.html", "cannot write: no such file or directory"), (".", "this is a folder")],
    ids=["no such folder", "a folder"],
)
def test_a_bad_place_for_the_report_is_refused_before_any_work(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("calibrant.demo.demonstrate", None)  # it is not called
    run("demo", "-o", output).refused(f"calibrant: {output}: {why}")
    assert list(tmp_path.iterdir()) == []


def test_a_story_is_not_called_what_it_is_not(run: Run, tmp_path: Path) -> None:
    run("demo", "-o", tmp_path / "story.pdf").refused(
        "story.pdf: a report is an HTML file: give a name that ends in .html"
    )
    assert not (tmp_path / "story.pdf").exists()


def test_commands_that_print_no_record_of_numbers_refuse_conditions(run: Run) -> None:
    run("demo", "--fail-if", "n > 0").refused("--fail-if requires a command that measures something")
