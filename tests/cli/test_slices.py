"""`calibrant slices`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.verbs import slice_tables
from tests.command_line import Run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Predictions on eight subjects; those on law are overconfident, and there are few on war."""
    random = np.random.default_rng(1)
    subject = np.array([*"abcdef", "law", None])[random.integers(0, 8, 4000)]
    subject[:9] = "war"
    score = random.random(4000)
    label = (random.random(4000) < score - 0.25 * (subject == "law")).astype(np.int8)
    path = tmp_path / "p.parquet"
    columns = {
        "score": score,
        "label": label,
        "subject": subject.tolist(),
        "length": random.integers(1, 99, 4000),
    }
    pq.write_table(pa.table(columns), path)
    return path


def test_the_command_says_what_the_library_says(run: Run, table: Path) -> None:
    found = json.loads(run("slices", table, "--by", "subject", "--by", "length:3", "--json").out)
    expected = slice_tables(table, [["subject"], ["length:3"]]).to_dict()
    assert found["tables"] == json.loads(json.dumps(expected["tables"]))
    assert found["command"].startswith("calibrant slices")


def test_the_worst_slice_comes_first_and_small_ones_are_named(run: Run, table: Path) -> None:
    lines = run("slices", table, "--by", "subject", "--most", "3").out.splitlines()
    assert lines[0] == "Slices by subject"
    assert lines[2].split()[0] == "law"
    assert lines[5] == "  (3 of 9 rows; the JSON output has all)"
    assert "  Undefined (war): 9 pairs, fewer than 30" in lines
    assert "  1 of 8 found to have a calibration error (adjusted p <= 5 %)" in lines


def test_a_slice_without_an_interval_is_named_with_the_reason(run: Run, tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    score = random.random(1000)
    label = random.random(1000) < score
    score[:200], label[:200] = 0.02, np.arange(200) < 3
    columns = {"score": score, "label": label, "tag": ["rare"] * 200 + [*"abcd"] * 200}
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    lines = run("slices", tmp_path / "p.parquet", "--by", "tag").out.splitlines()
    reason = "too few positives or negatives (3): the pairs that carry the error may be missing"
    assert f"  Undefined (rare: 95 % interval): {reason}" in lines


def test_a_signed_table_tells_over_from_underconfidence(run: Run, table: Path) -> None:
    out = run("slices", table, "--by", "subject", "--rank", "signed", "--adjust", "fcr").out
    row = next(line for line in out.splitlines() if line.startswith("  law"))
    assert " 0.2" in row
    assert "Benjamini and Yekutieli" in out
    assert "(none)" in out


def test_columns_stand_below_each_other_whatever_names_hold(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("score,label,of\n" + "0.5,0,\u202eabc\n0.5,1,plain\n" * 40)
    head, *rows = run("slices", path, "--by", "of").out.splitlines()[1:4]
    assert rows[0].lstrip().startswith(("\\u202eabc", "plain"))
    assert {line.index("40") + 1 for line in rows} == {head.index("n ")}


@pytest.mark.parametrize("shape", ["text", "md", "latex", "tabular", "csv"])
def test_a_terminal_obeys_no_name_of_a_column_or_a_slice(shape: str, run: Run, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text("score,label,a\x1b[2J\n" + "0.5,0,b\x07\x1b[31m\n0.5,1,c\n" * 40)
    ran = run("slices", path, "--by", "a\x1b[2J", "--format", shape)
    assert ran.code == 0
    assert not {"\x1b", "\x07"} & {*ran.out, *ran.err}
    if shape == "csv":
        assert "This is the table by a\\x1b[2J" in ran.err


def test_columns_are_crossed_by_a_comma(run: Run, table: Path) -> None:
    out = run("slices", table, "--by", "subject,length:2", "--least", "100").out
    assert "Slices by subject, length:2" in out
    assert "  law  " in out


def test_a_figure_is_written(run: Run, table: Path, tmp_path: Path) -> None:
    out = run("slices", table, "--by", "subject", "-o", tmp_path / "a.svg").out
    assert f"Wrote {tmp_path / 'a.svg'}" in out.splitlines()
    assert "law" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_slices_that_are_all_too_small_are_listed(run: Run, table: Path) -> None:
    ran = run("slices", table, "--by", "subject", "--least", "4000")
    assert ran.code == 0
    assert "Undefined (war): 9 pairs, fewer than 4000" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--by", "topic"], "there is no column 'topic'"),
        (["--by", "score"], "is the score"),
        (["--by", "subject", "--by", "subject"], "is given twice"),
        (["--by", "subject,subject"], "named twice"),
        (["--by", "subject", "--level", "2"], "level is 2"),
        (["--by", "subject", "--view", "top"], "no view 'top'"),
        (["--by", "subject", "-o", "a.gif"], "no known ending of a figure"),
        ([], "--by"),
    ],
    ids=["unknown", "score", "twice", "crossed with itself", "level", "view", "figure", "none"],
)
def test_bad_input_is_one_line(run: Run, table: Path, arguments: list[str], words: str) -> None:
    run("slices", table, *arguments).refused(words)
