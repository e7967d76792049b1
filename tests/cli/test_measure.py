"""`calibrant measure`."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.io import save_tally
from calibrant.metrics.tally import Tally
from calibrant.outputs import schema
from calibrant.verbs import measure
from tests.command_line import Run

DESIGNED = [
    "n",
    "weight_sum",
    "positives",
    "view",
    "binning",
    "plug_in_calibration_error",
    "plug_in_squared_error",
    "max_calibration_error",
    "ece",
    "debiased_squared_error",
    "calibration_error",
    "brier",
    "log_loss",
    "refinement",
    "interval",
    "test",
    "bins",
]


def test_each_view_says_what_it_takes_as_independent(run: Run, tmp_path: Path) -> None:
    columns = {"score": [0.2, 0.8] * 300, "label": [0, 1] * 300, "item": np.arange(600) // 2}
    path = tmp_path / "long.parquet"
    pq.write_table(pa.table({**columns, "class": ["no", "yes"] * 300}), path)
    found = json.loads(run("measure", path, "--json").out)
    clusters = {each["view"]: each["clusters"] for each in found["views"]}
    assert clusters == {"pooled": 300, "class:no": None, "class:yes": None}


def test_the_text_has_the_numbers_the_bins_the_recipe_and_what_to_type_next(
    run: Run, long_table: Path
) -> None:
    ran = run("measure", long_table, "--seed", 5, "--full")
    assert (ran.code, ran.err) == (0, "")
    for part in (
        "400 rows, long table",
        "Calibration error",
        "95 % interval",
        "CalibErr",
        "ECE (Guo et al.)",
        "Brier score",
        "adaptive bins of ",
        "  ECE bins                  15",
        "  Interval method           inverted",
        "  Seed                      5",
        f"calibrant report {long_table} -o report.html",
    ):
        assert part in ran.out, part


def test_the_suggested_report_has_the_views_that_were_asked_for(run: Run, wide_table: Path) -> None:
    ran = run("measure", wide_table, "--view", "top", "--view", "class:red")
    assert f"calibrant report {wide_table} --view top --view class:red -o report.html" in ran.out


def test_json_follows_the_schema_and_says_what_the_library_says(run: Run, long_table: Path) -> None:
    ran = run("measure", long_table, "--json")
    found = json.loads(ran.out)
    jsonschema.validate(found, schema("measure"))
    assert not [name for name in DESIGNED if name not in found["views"][0]]
    expected = json.loads(measure(long_table).to_json())
    assert found["recipe"].pop("command") == f"calibrant measure {long_table} --json"
    del expected["recipe"]["command"]
    assert found == expected


def test_several_views_are_a_list(run: Run, wide_table: Path) -> None:
    found = json.loads(run("measure", wide_table, "--json").out)
    jsonschema.validate(found, schema("measure"))
    assert [each["view"] for each in found["views"]] == ["top", "class:red", "class:green", "class:blue"]
    assert found["mean"]["classes"] == 3
    signed = [each["debiased_squared_error"]["estimate"] for each in found["views"][1:]]
    assert found["mean"]["debiased_squared_error"]["estimate"] == pytest.approx(np.mean(signed))
    text = run("measure", wide_table, "--full").out
    assert "Mean over classes" in text
    assert "--view top" in text


@pytest.mark.parametrize(
    "options",
    [
        ["--view", "class:red"],
        ["--view", "pooled"],
        ["--view", "top", "--view", "pooled"],
        ["--view", "classwise"],
        ["--view", "top", "--n-bins", "4"],
        ["--view", "top", "--bin-size", "10", "--n-ece-bins", "10", "--level", "0.9"],
        ["--view", "top", "--interval", "sampling", "--samples", "100"],
        ["--view", "top", "--interval", "bootstrap", "--samples", "50"],
        ["--view", "top", "--smooth", "--threads", "1"],
        ["--view", "top", "--exact"],
    ],
    ids=" ".join,
)
def test_every_option_gives_json_of_the_schema(run: Run, wide_table: Path, options: list[str]) -> None:
    ran = run("measure", wide_table, "--json", *options)
    assert (ran.code, ran.err) == (0, "")
    jsonschema.validate(json.loads(ran.out), schema("measure"))
    assert run("measure", wide_table, *options).code == 0


@pytest.mark.parametrize("command", ["measure", "report", "plot"])
def test_fewer_pairs_than_the_bin_size_are_one_bin_in_every_command(
    run: Run, long_table: Path, tmp_path: Path, command: str
) -> None:
    ends = {"measure": [], "report": ["-o", tmp_path / "out.html"], "plot": ["-o", tmp_path / "out.svg"]}
    sampling = ["--interval", "sampling", "--samples", "50"]
    ran = run(command, long_table, "--bin-size", "100000", *sampling, "--json", *ends[command])
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r'"size": 100000,\s+"asked": 1,\s+"used": 1\b', ran.out)


def test_what_is_undefined_is_null_with_a_reason(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "one-class.csv"
    path.write_text("score,label\n0.0,1\n0.5,1\n1.0,1\n")
    found = json.loads(run("measure", path, "--json").out)
    jsonschema.validate(found, schema("measure"))
    (view,) = found["views"]
    for name in ("log_loss", "brier_skill", "cox_slope", "cox_intercept"):
        assert view[name]["estimate"] is None
        assert view[name]["reason"]
    text = run("measure", path, "--full").out
    assert "Undefined (Brier skill): only one class occurs" in text
    assert view["bins_warning"] in text


def test_columns_may_be_named(run: Run, tmp_path: Path) -> None:
    columns = {
        "prob": [0.2, 0.7] * 20,
        "gold": [0, 1] * 20,
        "doc": [i // 4 for i in range(40)],
        "w": [2.0] * 40,
    }
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path)
    ran = run(
        "measure", path, "--json", "--score", "prob", "--label", "gold", "--cluster", "doc", "--weight", "w"
    )
    (found,) = json.loads(ran.out)["views"]
    assert (found["clusters"], found["weight_sum"]) == (10, 80)
    named = ("--score", "prob", "--label", "gold", "--cluster", "doc", "--weight", "w")
    text = run("measure", path, *named, "--full").out
    assert "weights sum to 80" in text
    assert "Clusters                  10" in text


def test_standard_input_can_be_measured(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    data = "score,label\n" + "0.2,0\n0.8,1\n" * 20
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data.encode())))
    ran = run("measure", "-")
    assert ran.code == 0
    assert "stdin: 40 rows, long table" in ran.out


def test_damaged_gzip_from_standard_input_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"\x1f\x8b\x08damaged")))
    run("measure", "-").refused("stdin: cannot be read")


def test_a_saved_tally_can_be_measured(run: Run, tmp_path: Path, long_table: Path) -> None:
    table = pq.read_table(long_table)
    tally = Tally.from_arrays(y_true=table["label"].to_numpy(), y_prob=table["score"].to_numpy())
    path = tmp_path / "long.tally.parquet"
    save_tally(tally, path, view="top")
    whole = json.loads(run("measure", path, "--json").out)
    (found,), (expected,) = whole["views"], json.loads(run("measure", long_table, "--json").out)["views"]
    assert found["view"] == "top"
    assert whole["recipe"]["form"] == "tally"
    assert found["plug_in_calibration_error"] == pytest.approx(
        expected["plug_in_calibration_error"], abs=1e-12
    )
    high = expected["calibration_error"]["high"]
    assert found["calibration_error"]["high"] == pytest.approx(high, abs=1e-9)
    assert "the tally has the view top, not binary" in run("measure", path, "--view", "binary").err


def test_a_table_with_a_threshold_has_no_log_loss_and_no_top_label(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    probs = np.array([[0.7, 0.29, 0.01], [0.2, 0.75, 0.05], [0.0, 0.5, 0.5]] * 20)
    np.savez(path, probs=probs, labels=[0, 1, 2] * 20, threshold=0.04)
    found = json.loads(run("measure", path, "--json").out)
    assert [each["view"] for each in found["views"]] == ["class:0", "class:1", "class:2"]
    assert [each["n"] for each in found["views"]] == [40, 60, 40]
    reason = "scores below the threshold were dropped"
    assert found["views"][0]["log_loss"] == {"estimate": None, "reason": reason}
    assert "Threshold" in run("measure", path, "--full").out
    run("measure", path, "--view", "top").refused("scores below 0.04 were dropped")


def test_a_terminal_obeys_nothing_that_comes_from_the_data(run: Run, tmp_path: Path) -> None:
    columns = {"score": [0.2, 0.7] * 20, "label": [0, 1] * 20, "class": ["\x1b[31mred", "a\tb"] * 20}
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table(columns), path)
    ran = run("measure", path)
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "class:\\x1b[31mred" in ran.out
    ran = run("measure", path, "--view", "class:\x1b[0m")
    assert ran.code == 2
    assert "\x1b" not in ran.err


def test_csv_leaves_warnings_reasons_and_other_tables_to_standard_error(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "few.csv"
    rows = "".join(f"0.{place % 10}5,{int(place % 40 == 0)}\n" for place in range(200))
    file.write_text(f"score,label\n{rows}", encoding="utf-8")
    ran = run("measure", file, "--format", "csv")
    assert "few positives" not in ran.out
    assert "few positives" in ran.err
    assert "give --table: " in ran.err
    name = ran.err.split("give --table: ")[1].split(",")[0].strip().rstrip(".")
    other = run("measure", file, "--format", "csv", "--table", name)
    assert other.out not in ("", ran.out)
    assert "give --table" not in other.err
