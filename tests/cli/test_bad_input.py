"""Bad input is one line that says what is wrong, where, and what to do; exit code 2; nothing is written."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.io import save_tally
from calibrant.io.tables import TALLY_KEY
from calibrant.metrics.tally import Tally
from tests.command_line import Ran, Run

TABLES = {
    "NaN": ("a.csv", "score,label\n0.1,0\nnan,1\n", "row 2, column score: nan"),
    "infinite": ("a.csv", "score,label\ninf,0\n", "row 1, column score: inf"),
    "logits": ("a.csv", "score,label\n0.1,0\n-2.5,1\n", "these look like logits"),
    "log-probabilities": ("a.csv", "score,label\n-0.1,0\n-2.5,1\n", "look like log-probabilities"),
    "percentages": ("a.csv", "score,label\n10,0\n95,1\n", "these look like percentages; divide by 100"),
    "just above 1": ("a.csv", "score,label\n1.0000001,0\n", "1.0000001 is not a probability"),
    "labels": ("a.csv", "score,label\n0.1,0\n0.1,3\n", "row 2, column label: label '3' is not 0 or 1"),
    "a missing column": ("a.csv", "rate,label\n0.1,0\n", "no column 'score': .*the columns are rate, label"),
    "empty": ("a.csv", "", "the file is empty"),
    "no rows": ("a.csv", "score,label\n", "there are no rows"),
    "semicolons": (
        "a.csv",
        "score;label\n0,1;0\n0.2;1\n",
        "row 2, column score: '0.2' is not a number: other rows have decimal commas",
    ),
    "negative weights": ("a.csv", "score,label,weight\n0.1,0,-1\n", "row 1, column weight: -1.0"),
    "zero weights": ("a.csv", "score,label,weight\n0.1,0,0\n", "every weight is zero"),
    "mislabelled": (
        "a.parquet",
        "score,label\n0.1,0\n",
        "the name says .parquet but the content is plain text",
    ),
    "unknown class": ("a.csv", "p_a,p_b,label\n0.5,0.5,c\n", "label 'c' is not one of the classes a, b"),
    "unknown kind": ("a.xlsx", "x", "unknown kind of file"),
    "lengths": ("a.csv", "score,label\n0.1,0\n0.2\n", "row 2: 1 fields, but the header has 2"),
}


def refused(ran: Ran, message: str) -> None:
    ran.refused()
    assert re.search(message, ran.err), ran.err


@pytest.mark.parametrize("case", TABLES)
@pytest.mark.parametrize("command", ["measure", "report"])
def test_a_bad_table_is_refused(run: Run, tmp_path: Path, command: str, case: str) -> None:
    name, text, message = TABLES[case]
    path = tmp_path / name
    path.write_text(text)
    output = ["-o", tmp_path / "report.html"] if command == "report" else []
    refused(run(command, path, *output), f"calibrant: {path}.*{message}")
    assert [each.name for each in tmp_path.iterdir()] == [name]


OPTIONS = {
    "--bin-size 0": "--bin-size is 0",
    "--n-bins 0": "--n-bins is 0",
    "--n-bins 500": "--n-bins is 500, more than the 400 pairs",
    "--n-bins 5 --bin-size 5": "both a bin size and a number of bins",
    "--n-ece-bins 0": "--n-ece-bins is 0",
    "--level 95": "level is 95",
    "--level x": "Invalid value for '--level'",
    "--interval wald": "Invalid value for '--interval'",
    "--view top": "a table without classes has no view 'top'",
    "--view class:a": "a table without classes has no view",
    "--view nonsense": "unknown view 'nonsense': give binary",
    "--cluster doc": "no column 'doc': name it with --cluster; the columns are score, label",
    "--score p": "no column 'p'",
    "--form wide": "not a wide table",
    "--seed -1": "Invalid value for '--seed'",
    "--bogus": "No such option",
}


@pytest.mark.parametrize("options", OPTIONS)
def test_a_bad_option_is_refused(run: Run, long_table: Path, options: str) -> None:
    refused(run("measure", long_table, *options.split()), OPTIONS[options])


def test_one_column_that_begins_with_p_may_be_the_score_of_a_long_table(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "clicks.csv"
    path.write_text("p_click,clicked\n0.1,0\n0.9,1\n", encoding="utf-8")
    refused(run("measure", path), "two or more, or name the score by --score p_click; the columns are")


@pytest.mark.parametrize(
    ("view", "message"),
    [
        ("binary", "a table with classes has no binary view"),
        ("class:pink", "no class 'pink': the classes are red, green, blue"),
    ],
)
def test_a_view_that_a_wide_table_has_not_is_refused(
    run: Run, wide_table: Path, view: str, message: str
) -> None:
    refused(run("measure", wide_table, "--view", view), message)


def test_an_archive_of_unequal_lengths_is_refused(run: Run, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", probs=[[0.5, 0.5]], labels=[0, 1])
    refused(run("measure", tmp_path / "a.npz"), "labels has 2 values for 1 rows")
    np.savez(tmp_path / "a.npz", y_prob=[0.5, 0.5], labels=[0])
    refused(run("measure", tmp_path / "a.npz"), "labels has 1 values for 2 rows")


def test_a_truncated_file_is_refused(run: Run, long_table: Path) -> None:
    long_table.write_bytes(long_table.read_bytes()[:-20])
    refused(run("measure", long_table), "the file is cut short")


def test_a_missing_file_is_refused(run: Run, tmp_path: Path) -> None:
    refused(run("measure", tmp_path / "none.csv"), "no such file")
    refused(run("measure"), "Missing argument 'PRED'")
    refused(run("measur"), "No such command 'measur'; did you mean measure?")
    refused(run("measure", "a.parquet", "b.parquet"), "put a pattern of .parquet files in quotes")


def test_a_tally_of_a_newer_version_is_refused(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    save_tally(Tally.from_arrays(y_true=[0, 1], y_prob=[0.1, 0.9]), path)
    table = pq.read_table(path).replace_schema_metadata({TALLY_KEY: '{"version": 99}'})
    pq.write_table(table, path)
    refused(
        run("measure", path), "format version 99, but this calibrant reads up to 1: install a newer calibrant"
    )


def test_a_report_that_cannot_be_written_is_refused(run: Run, tmp_path: Path, long_table: Path) -> None:
    refused(run("report", long_table, "-o", tmp_path / "no" / "r.html"), "r.html: cannot write: no such file")


def test_a_report_is_not_called_what_it_is_not(run: Run, tmp_path: Path, long_table: Path) -> None:
    output = tmp_path / "report.pdf"
    said = "report.pdf: a report is an HTML file: give a name that ends in .html"
    refused(run("report", long_table, "-o", output), said)
    assert not output.exists()


def test_a_report_over_the_model_that_it_reads_is_refused(run: Run, tmp_path: Path, long_table: Path) -> None:
    model = tmp_path / "model.html"
    assert run("fit", long_table, "-o", model).code == 0
    before = model.read_bytes()
    ran = run("report", long_table, "--model", model, "-o", model)
    refused(ran, "the output would replace this file: name another file")
    assert model.read_bytes() == before


def test_a_report_over_its_own_predictions_is_refused(run: Run, long_table: Path) -> None:
    before = long_table.read_bytes()
    refused(run("report", long_table, "-o", long_table), "the output would replace this file")
    link = long_table.with_name("link")
    link.symlink_to(long_table)
    refused(run("report", long_table, "-o", link), "the output would replace this file")
    assert long_table.read_bytes() == before


def test_weights_may_be_missing_in_no_row(run: Run, tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"score": [0.1, 0.2], "label": [0, 1], "weight": [1.0, None]}), tmp_path / "a.parquet"
    )
    refused(run("measure", tmp_path / "a.parquet"), "row 2, column weight: the value is missing")


def test_a_figure_of_two_views_is_refused(run: Run, tmp_path: Path, long_table: Path) -> None:
    ran = run("plot", long_table, "--view", "top", "--view", "pooled", "-o", tmp_path / "a.svg")
    refused(ran, "A figure shows one view: give --view once")
