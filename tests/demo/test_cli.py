"""`calibrant demo`, `calibrant report` and `calibrant study`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.data import predictions

Run = Callable[..., Any]


def test_the_demo_needs_nothing_and_tells_its_story_on_one_page(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run("demo")
    assert (ran.code, ran.err) == (0, "")
    for part in (
        "1. A model that looks good",
        "2. How far its probabilities can be trusted",
        "3. Mended on other text",
        "4. The rare tags",
        "5. Counts over time, with and without the doubt",
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
    ran = run("demo", "-o", output)
    assert ran.code == 2
    assert ran.err.startswith(f"calibrant: {output}: {why}")
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_report_shows_models_side_by_side_with_their_difference(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "r.html"
    tables = [predictions("dated", "naive-bayes"), predictions("dated", "logistic-regression")]
    ran = run("report", *tables, "-o", output, "--name", "NB", "--name", "LR", "--title", "Two models")
    assert (ran.code, ran.err) == (0, "")
    assert "Difference of the errors, NB - LR, event binary" in ran.out
    page = output.read_text(encoding="utf-8")
    assert "Two models" in page
    assert "calibrant report " in page
    assert len(page) < 1_000_000
    found = json.loads(run("report", *tables, "-o", output, "--json").out)
    assert [model["name"] for model in found["models"]] == [
        table.name[: -len(".parquet")] for table in tables
    ]


def test_models_are_paired_by_item(run: Run, tmp_path: Path) -> None:
    table = pq.read_table(predictions("dated", "naive-bayes"))
    other = pq.read_table(predictions("dated", "logistic-regression"))
    pq.write_table(table.take(list(reversed(range(len(table))))), tmp_path / "nb.parquet")
    pq.write_table(other, tmp_path / "lr.parquet")
    arguments = [
        "report",
        tmp_path / "nb.parquet",
        tmp_path / "lr.parquet",
        "-o",
        tmp_path / "r.html",
        "--json",
    ]
    shuffled = json.loads(run(*arguments).out)["differences"]
    pq.write_table(table, tmp_path / "nb.parquet")
    straight = json.loads(run(*arguments).out)["differences"]
    assert shuffled[0]["difference"]["mse_difference"] == pytest.approx(
        straight[0]["difference"]["mse_difference"], rel=1e-9
    )


def test_models_of_other_items_are_not_compared(run: Run, tmp_path: Path) -> None:
    for name, count in (("a", 300), ("b", 301)):
        pq.write_table(pa.table({"score": [0.4] * count, "label": [0] * count}), tmp_path / f"{name}.parquet")
    arguments = [
        "report",
        tmp_path / "a.parquet",
        tmp_path / "b.parquet",
        "-o",
        tmp_path / "r.html",
        "--json",
    ]
    assert json.loads(run(*arguments).out)["differences"] == []


def test_tables_that_disagree_about_a_label_are_refused(run: Run, tmp_path: Path) -> None:
    for name, label in (("a", 0), ("b", 1)):
        columns = {"score": [0.4, 0.6], "label": [label, 1], "item": ["x", "y"]}
        pq.write_table(pa.table(columns), tmp_path / f"{name}.parquet")
    ran = run("report", tmp_path / "a.parquet", tmp_path / "b.parquet", "-o", tmp_path / "r.html")
    assert ran.code == 2
    assert "disagree about the label of item 'x'" in ran.err
    assert not (tmp_path / "r.html").exists()


def test_two_models_of_one_name_are_refused(run: Run, long_table: Path) -> None:
    ran = run("report", long_table, long_table)
    assert ran.code == 2
    assert "2 models have the names " in ran.err
    assert "(--name)" in ran.err


def test_an_unknown_study_lists_the_known_ones(run: Run) -> None:
    ran = run("study", "nope")
    assert ran.code == 2
    assert "synthetic" in ran.err


def test_a_study_does_not_run_if_its_folder_is_a_file(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ran = run("study", "synthetic", "-o", tmp_path / "file")
    assert ran.code == 2
    assert "is not a folder" in ran.err
