"""Tables of results: Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from calibrant.evaluation import mean_interval
from calibrant.exceptions import InputError
from calibrant.records.formats import Column, Table, Undefined, latex_text

HOSTILE = (
    r"a_b & c%",
    r"\input{x} $y$ #1 ~^",
    "--- '' `` ,, << >> ?` |",
    '"quoted", with a comma',
    "[CLS]",
    "*",
    "=cmd()|x",
    "-LRB-",
    "two\nlines",
    "\u22120.5 \u2264 x \u2192 \u00e9",
    "\x1b[31mred",
)
COLUMNS = (
    Column("name", "name & more", "name"),
    Column("n", "n", "count"),
    Column("error", "error_1"),
    Column("error", "95 % interval", "interval"),
    Column("p", "p", "p-value"),
)
NUMBERS = (0.1 + 0.2, 1e-17, -0.25, 1234.5, 1 / 3, 5e-5, 0.0, 1.0, -1e-9, 2 / 3, 3.0)


def hostile() -> Table:
    """A row a name, whose numbers need all digits."""
    rows = tuple(
        (name, 1000 * place, value, (value - 0.1, value + 1 / 7), abs(value) / 2000)
        for place, (name, value) in enumerate(zip(HOSTILE, NUMBERS, strict=True))
    )
    last = ("no data", 0, Undefined("too few & small"), Undefined("too few & small"), None)
    return Table(
        "errors", COLUMNS, (*rows, last), "Errors of a_b: 95 % intervals, n = 10, seed 3", ("A note.",)
    )


def test_csv_parses_back_to_the_same_floats() -> None:
    rows = list(csv.DictReader(io.StringIO(hostile().to_csv(), newline="")))
    assert list(rows[0]) == ["name", "n", "error", "error_low", "error_high", "p"]
    for row, value in zip(rows, NUMBERS, strict=False):
        assert float(row["error"]) == value
        assert (float(row["error_low"]), float(row["error_high"])) == (value - 0.1, value + 1 / 7)
        assert float(row["p"]) == abs(value) / 2000
    assert [rows[-1][name] for name in ("error", "error_low", "error_high", "p")] == [""] * 4


def test_csv_keeps_names_but_for_what_a_spreadsheet_or_a_terminal_obeys() -> None:
    names = [row["name"] for row in csv.DictReader(io.StringIO(hostile().to_csv(), newline=""))]
    obeyed = {
        "=cmd()|x": "'=cmd()|x",
        "-LRB-": "'-LRB-",
        "--- '' `` ,, << >> ?` |": "'--- '' `` ,, << >> ?` |",
    }
    kept = [obeyed.get(name, name).replace("\x1b", r"\x1b") for name in HOSTILE]
    assert names[:-1] == kept
    assert hostile().to_csv().count("\r\n") == len(HOSTILE) + 2


def test_markdown_has_one_cell_for_each_column_whatever_the_names() -> None:
    caption, table, *notes = hostile().to_markdown().strip().split("\n\n")
    assert caption == r"Errors of a\_b: 95 % intervals, n = 10, seed 3"
    cells = [re.split(r"(?<!\\)\|", line) for line in table.splitlines()]
    assert {len(line) for line in cells} == {len(COLUMNS) + 2}
    assert cells[1][1].strip().startswith(":-")
    assert all(cell.strip().endswith("-:") for cell in cells[1][2:-1])
    assert notes == ["A note.", "Undefined (no data: error\\_1; no data: 95 % interval): too few &amp; small"]


def test_latex_writes_each_row_with_its_columns_and_a_true_minus() -> None:
    lines = hostile().to_latex().splitlines()
    body = lines[lines.index(r"    \midrule") + 1 : lines.index(r"    \bottomrule")]
    assert all(len(re.findall(r"(?<!\\)&", line)) == len(COLUMNS) - 1 for line in body)
    assert r"\begin{tabular}{lrrrr}" in lines[3]
    assert body[2].endswith(r"& 2,000 & $-0.2500$ & [$-0.3500$, $-0.1071$] & 0.0001 \\")
    assert body[1].endswith(r"& 1,000 & $1 \times 10^{-17}$ & [$-0.1000$, 0.1429] & $<$ 0.0001 \\")
    assert body[4].startswith("    {}[CLS] &"), "else the bracket ends the row before"
    assert body[5].startswith("    {}* &")


def test_a_tabular_alone_has_its_caption_and_notes_in_comments() -> None:
    comments = [line for line in hostile().to_latex(tabular=True).splitlines() if line.startswith("%")]
    assert comments[:2] == ["% Errors of a_b: 95 % intervals, n = 10, seed 3", "% A note."]
    assert "{table}" not in hostile().to_latex(tabular=True)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
@pytest.mark.parametrize("encoding", ["OT1", "T1"])
def test_latex_compiles_and_prints_the_names_to_the_letter(tmp_path: Path, encoding: str) -> None:
    text = (
        rf"\documentclass{{article}}\usepackage[{encoding}]{{fontenc}}\usepackage{{booktabs,lmodern}}"
        rf"\begin{{document}}{hostile().to_latex()}\input{{tabular}}\end{{document}}"
    )
    (tmp_path / "paper.tex").write_text(text, encoding="utf-8")
    (tmp_path / "tabular.tex").write_text(hostile().to_latex(tabular=True), encoding="utf-8")
    command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout[-2000:]
    if encoding == "T1" and shutil.which("pdftotext") is not None:
        subprocess.run(["pdftotext", "-layout", "paper.pdf"], cwd=tmp_path, check=True)
        printed = (tmp_path / "paper.txt").read_text(encoding="utf-8")
        for part in ("a_b & c%", r"\input{x} $y$ #1", "[CLS]", "=cmd()|x", "-LRB-", "95 % interval"):
            assert part in printed, printed


def test_a_text_for_latex_has_no_letter_that_latex_obeys() -> None:
    for name in HOSTILE:
        written = re.sub(
            r"\$(-|\\[a-z]+)\$|\\(text\w+\{\}|[{}$&#%_])|\{\\char\d+\}|\{\}", "", latex_text(name)
        )
        assert not set(written) & set('\\{}$&#%_~^<>|"`\n\x1b'), written


def test_a_record_without_a_table_of_its_own_shows_its_fields_and_why_some_are_empty() -> None:
    record = mean_interval([0.5])
    assert re.search(r"\| Mean +\| 0.5000 \| +- \|", record.to_markdown())
    assert record.to_markdown().endswith("Standard deviation): one value has no variance\n")


def test_a_table_that_is_not_there_is_an_error_that_names_those_there_are() -> None:
    record = mean_interval([0.5])
    with pytest.raises(InputError, match="no table 'bins': it has numbers"):
        record.to_csv("bins")


def test_a_table_takes_neither_nan_nor_rows_of_another_length() -> None:
    with pytest.raises(ValueError, match="undefined values need a reason"):
        Table("t", COLUMNS[2:3], ((float("nan"),),))
    with pytest.raises(ValueError, match="has 2 cells"):
        Table("t", COLUMNS[:1], (("a", 1),))
