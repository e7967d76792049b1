"""`calibrant report`."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.data import predictions
from tests.command_line import Run


def test_a_report_shows_models_side_by_side_with_their_difference(run: Run, tmp_path: Path) -> None:
    output = tmp_path / "r.html"
    tables = [predictions("dated", "naive-bayes"), predictions("dated", "logistic-regression")]
    ran = run(
        "report", *tables, "-o", output, "--name", "NB", "--name", "LR", "--title", "Two models", "--full"
    )
    assert (ran.code, ran.err) == (0, "")
    assert "Difference of the errors in common bins (above: own bins), NB - LR, view binary" in ran.out
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
    run("report", tmp_path / "a.parquet", tmp_path / "b.parquet", "-o", tmp_path / "r.html").refused(
        "different labels of item 'x'"
    )
    assert not (tmp_path / "r.html").exists()


def test_two_models_of_one_name_are_refused(run: Run, long_table: Path) -> None:
    run("report", long_table, long_table).refused("2 models need as many different names", "(--name)")


def test_warnings_of_models_and_of_their_difference_are_printed_and_on_the_page(
    run: Run, tmp_path: Path
) -> None:
    label, cluster = [0, 0, 1, 0, 1, 1] * 60, [place // 40 for place in range(360)]
    for name, score in (("a", [0.2, 0.4, 0.6] * 120), ("b", [0.1, 0.5, 0.7] * 120)):
        table = pa.table({"score": score, "label": label, "cluster": cluster})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    output = tmp_path / "r.html"
    ran = run("report", tmp_path / "a.parquet", tmp_path / "b.parquet", "-o", output)
    few = "few clusters: 9 (effective number 9.0), and coverage may fall short"
    assert ran.out.count(f"\n  {few}\n") == 1  # once for what shares it
    assert f'<p class="note">{few}</p>' in output.read_text(encoding="utf-8")


def test_a_warning_of_one_model_names_it(run: Run, tmp_path: Path) -> None:
    for name, share in (("many", 2), ("few", 60)):
        label = [int(place % share == 0) for place in range(360)]
        pq.write_table(pa.table({"score": [1 / share] * 360, "label": label}), tmp_path / f"{name}.parquet")
    found = run("report", tmp_path / "many.parquet", tmp_path / "few.parquet", "-o", tmp_path / "r.html")
    assert "\n  few: few positives or negatives: only 6 positives" in found.out
