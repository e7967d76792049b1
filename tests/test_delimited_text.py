"""Delimited text as other programs write it: quotes, line separators, long headers, encodings."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

import calibrant
from calibrant.exceptions import FormatError, InputError

ROWS = [(f"0.{1 + row % 9}", str(row // 2 % 2)) for row in range(40)]


def table(header: str, sign: str = ",", *, more: str = "x", before: bool = False) -> str:
    """Return rows of a score, a label and one more value, which may be the first."""
    rows = [sign.join([more, *row] if before else [*row, more]) for row in ROWS]
    return "\n".join([header, *rows, ""])


def written(folder: Path, name: str, text: str, encoding: str = "utf-8") -> Path:
    data, path = text.encode(encoding), folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


# The quotes of the second and of the seventh row are never closed: together they hide five rows.
HIDING = ["x", '"disk 5""', "x", "x", "x", "x", '"big 3""', "x"]
LOUD = ["x", '"no" he said', "x", "x", "x", "x", "x", "x"]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
@pytest.mark.parametrize("column", ["note", "cluster", "class", "item"])
@pytest.mark.parametrize("notes", [HIDING, LOUD], ids=["rows are hidden", "no row is hidden"])
def test_text_after_a_closing_quote_is_refused(
    tmp_path: Path, notes: list[str], column: str, name: str
) -> None:
    rows = [f"0.{row},{row % 2},{note}" for row, note in enumerate(notes, 1)]
    path = written(tmp_path, name, "\n".join([f"score,label,{column}", *rows, ""]))
    with pytest.raises(FormatError, match="closing quote") as error:
        calibrant.measure(path)
    assert (error.value.file, error.value.row) == (str(path), 2)


@pytest.mark.parametrize("cell", ['"0.2"5', '"1"0'])
def test_numbers_after_a_closing_quote_are_refused(tmp_path: Path, cell: str) -> None:
    row = f"0.2,{cell}" if cell.startswith('"1"') else f"{cell},1"
    path = written(tmp_path, "t.csv", f"score,label\n0.1,0\n{row}\n0.3,1\n")
    with pytest.raises(FormatError, match="closing quote") as error:
        calibrant.measure(path)
    assert error.value.row == 2


@pytest.mark.parametrize("verb", ["agree", "compare", "estimate", "slices"])
def test_text_after_a_closing_quote_is_refused_by_the_other_verbs(tmp_path: Path, verb: str) -> None:
    columns = {
        "agree": ("item,annotator,label", [f"{row // 2},{row % 2},{row // 4 % 2}" for row in range(40)]),
        "compare": ("system,item,score", [f"{row % 2},{row // 2},0.{row % 7}" for row in range(40)]),
        "estimate": ("item,score,label", [f"{row},0.{row % 9},{row % 2}" for row in range(40)]),
        "slices": ("slice,score,label", [f"{row % 2},0.{row % 9},{row // 3 % 2}" for row in range(40)]),
    }
    header, rows = columns[verb]
    text = "\n".join([f"{header},note", *(f'{row},"a"b' if row == rows[4] else f"{row},x" for row in rows)])
    path = written(tmp_path, "t.csv", text + "\n")
    options = {"by": "slice"} if verb == "slices" else {}
    with pytest.raises(FormatError, match="closing quote") as error:
        getattr(calibrant, verb)(path, **options)
    assert error.value.row == 5


@pytest.mark.parametrize("note", ['"a ""b"" c"', '"a, b"', '"two\nlines"', 'a 5" disk', '""', '""""'])
def test_quotes_as_strict_parsers_take_them_are_read(tmp_path: Path, note: str) -> None:
    path = written(tmp_path, "t.csv", table("score,label,note", more=note))
    assert calibrant.measure(path).views[0].n == 40


SEPARATORS = {"U+0085": "\u0085", "U+2028": "\u2028", "U+2029": "\u2029", "vertical tab": "\v"}
SEPARATORS |= {"form feed": "\f", "U+001C": "\x1c"}


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
@pytest.mark.parametrize("separator", SEPARATORS)
def test_a_header_ends_where_its_line_ends(tmp_path: Path, separator: str, name: str) -> None:
    sign = "\t" if "tsv" in name else ","
    column = f"a{SEPARATORS[separator]}b"
    path = written(tmp_path, name, table(sign.join([column, "score", "label"]), sign, before=True))
    assert calibrant.measure(path).views[0].n == 40
    assert calibrant.slices(path, by=column).slices[0].slice == "x"


LONG = {
    "one name": "a" * 140_000,
    "many names": ",".join(f"column{place:08d}" for place in range(10_000)),
    "more than a mebibyte": ",".join(f"column{place:0120d}" for place in range(10_000)),
}


@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
@pytest.mark.parametrize("header", LONG)
def test_headers_may_be_long(tmp_path: Path, name: str, header: str) -> None:
    count = 1 + LONG[header].count(",")
    text = table(f"score,label,{LONG[header]}", more=",".join(["x"] * count))
    path = written(tmp_path, name, text.replace(",", "\t") if "tsv" in name else text)
    assert calibrant.measure(path).views[0].n == 40


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("sign", [";", ",", "\t"])
def test_a_line_that_states_the_delimiter_is_no_header(
    tmp_path: Path, sign: str, ends: str, quoted: bool
) -> None:
    line = f'"sep={sign}"' if quoted else f"sep={sign}"
    text = f"{line}\n" + table(sign.join(["score", "label", "note"]), sign)
    path = written(tmp_path, "t.csv", text.replace("\n", ends))
    assert calibrant.measure(path).views[0].n == 40


def test_errors_after_a_stated_delimiter_count_rows_from_the_header(tmp_path: Path) -> None:
    path = written(tmp_path, "t.csv", "sep=;\nscore;label\n0,1;0\n0,2;2\n")
    with pytest.raises(InputError, match="label '2' is not 0 or 1") as error:
        calibrant.measure(path)
    assert (error.value.row, error.value.column) == (2, "label")


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz", "t.jsonl"])
def test_text_that_is_not_utf8_is_refused_with_its_place(tmp_path: Path, name: str) -> None:
    rows = [(*row, "Größe" if place == 6 else "x") for place, row in enumerate(ROWS)]
    if name == "t.jsonl":
        text = "".join(f'{{"score": {score}, "label": {y}, "cluster": "{c}"}}\n' for score, y, c in rows)
    else:
        sign = "\t" if "tsv" in name else ","
        text = "".join(sign.join(row) + "\n" for row in [("score", "label", "cluster"), *rows])
    path = written(tmp_path, name, text, "latin-1")
    with pytest.raises(FormatError) as error:
        calibrant.measure(path)
    assert "the byte 0xf6 is not UTF-8" in error.value.message
    assert "UTF-8" in error.value.hint
    assert (error.value.file, error.value.row) == (str(path), 7)


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.csv.gz"])
def test_a_header_that_is_not_utf8_is_refused(tmp_path: Path, name: str) -> None:
    sign = "\t" if "tsv" in name else ","
    rows = ["p_Größe,p_b,label", *["0.3,0.7,b"] * 20, ""]
    path = written(tmp_path, name, "\n".join(rows).replace(",", sign), "latin-1")
    with pytest.raises(FormatError) as error:
        calibrant.measure(path)
    assert "the byte 0xf6 is not UTF-8" in error.value.message
    assert "UTF-8" in error.value.hint


def test_text_after_a_closing_quote_is_refused_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"0.{row},{row % 2},{note}" for row, note in enumerate(HIDING, 1)]
    text = "\n".join(["score,label,note", *rows, ""])
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    with pytest.raises(FormatError, match="closing quote") as error:
        calibrant.measure("-")
    assert (error.value.file, error.value.row) == ("stdin", 2)
