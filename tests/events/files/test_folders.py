"""Folders of text files and tables are read as dated documents; what is wrong is named with its place."""

from __future__ import annotations

import gzip
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import feather
from pyarrow import parquet as pq

from calibrant.events import check_dated, iter_dated
from calibrant.events.files.dated import layout_note
from calibrant.events.files.layout import Layout, finder_of
from calibrant.exceptions import InputError

CSV = 'id,date,text,title\na,2001-09-11,They left.,News\nb,2001-09-12,"Yes, ""no"".\nMore.",\n'


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def short(path: Path, layout: Layout | None = None) -> list[tuple[str, str, str]]:
    return [(each.id, str(each.date), each.text) for each in iter_dated(path, layout=layout)]


def test_a_folder_has_one_document_per_text_file(tmp_path: Path) -> None:
    written(tmp_path, "news/2001-09-11 one.txt", "\ufeffThey left.\r\nYes.")
    written(tmp_path, "news/2001/09/12/two.TXT", "No.")
    written(tmp_path, "news/20010913.txt.gz", gzip.compress(b"Packed."))
    written(tmp_path, "news/.hidden.txt", "x")
    written(tmp_path, "news/readme.md", "x")
    assert short(tmp_path / "news") == [
        ("2001-09-11 one", "2001-09-11", "They left.\nYes."),
        ("2001/09/12/two", "2001-09-12", "No."),
        ("20010913", "2001-09-13", "Packed."),
    ]
    assert check_dated(tmp_path / "news") == 3


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv", "a.parquet", "days.parquet", "a.arrow"])
def test_a_table_has_one_document_per_row(tmp_path: Path, name: str) -> None:
    rows: dict[str, Any] = {
        "id": ["a", "b"],
        "date": ["2001-09-11", "2001-09-12"],
        "text": ["They left.", "No."],
    }
    path = tmp_path / name
    if name.endswith("parquet"):
        if name.startswith("days"):
            rows["date"] = pa.array([date(2001, 9, 11), date(2001, 9, 12)])
        pq.write_table(pa.table(rows), path)
    elif name.endswith("arrow"):
        with pa.ipc.new_file(path, pa.table(rows).schema) as file:
            file.write_table(pa.table(rows))
    else:
        sign = "\t" if "tsv" in name else ","
        lines = [sign.join(rows), *(sign.join(row) for row in zip(*rows.values(), strict=True))]
        content = ("\n".join(lines) + "\n").encode()
        path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    assert short(path) == [("a", "2001-09-11", "They left."), ("b", "2001-09-12", "No.")]
    assert check_dated(path) == 2
    assert layout_note(path, Layout()) is None


def test_times_that_python_cannot_hold_are_read_or_named(tmp_path: Path) -> None:
    """A time in nanoseconds is a date; no date has the year 2,941,764."""
    path, text = tmp_path / "a.arrow", ["They left.", "No."]
    feather.write_feather(pa.table({"text": text, "date": pa.array([1, 2], pa.timestamp("ns"))}), path)
    assert [document.date for document in iter_dated(path)] == [date(1970, 1, 1)] * 2
    feather.write_feather(pa.table({"text": text, "date": pa.array([1, 2**30], pa.date32())}), path)
    with pytest.raises(InputError, match=r"a.arrow, row 2, column date: .* is not a date"):
        list(iter_dated(path))


def test_columns_are_found_by_usual_names_and_by_options(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", "Published,Body,n\n11.9.2001,They left.,7\n")
    layout = Layout(date_from="%d.%m.%Y")
    assert short(path, layout) == [("1", "2001-09-11", "They left.")]
    assert layout_note(path, layout) == (
        "Columns: texts are from 'Body', dates are from 'Published', ids are the numbers of the rows, since "
        "there is no column of ids."
    )
    assert short(path, Layout("Published", "n", "Published", "%d.%m.%Y")) == [
        ("7", "2001-09-11", "11.9.2001")
    ]
    lines = written(tmp_path, "a.jsonl", '{"url": "x.org/2001/9/11", "content": "Yes."}\n')
    dated = Layout(date_from=r"/(?P<year>\d+)/(?P<month>\d+)/(?P<day>\d+)")
    assert short(lines, dated) == [("x.org/2001/9/11", "2001-09-11", "Yes.")]


def test_an_empty_text_of_a_csv_is_empty_and_a_missing_one_of_parquet_is_an_error(tmp_path: Path) -> None:
    assert short(written(tmp_path, "a.csv", CSV.replace("They left.", "")))[0] == ("a", "2001-09-11", "")
    pq.write_table(
        pa.table({"date": ["2001-09-11"], "text": pa.array([None], pa.string())}), tmp_path / "a.parquet"
    )
    with pytest.raises(InputError, match="row 1, column text: there is no text"):
        check_dated(tmp_path / "a.parquet")


def test_dates_are_found_anywhere_in_a_text() -> None:
    for pattern, text, day in (
        (None, "v2_2001-13-01_20010911", "2001-09-11"),
        ("%b %d, %Y", "on Sep 11, 2001 at noon", "2001-09-11"),
        ("%Y-%m", "2001-09", "2001-09-01"),
        (r"no (\d{8})", "no 20010911", "2001-09-11"),
    ):
        assert str(finder_of(pattern)(text)) == day
    assert finder_of("%d.%m.%Y")("31.2.2001") is None
    for bad in ("%Q", "%d.%m", "("):
        with pytest.raises(InputError, match="date_from"):
            finder_of(bad)


@pytest.mark.parametrize(
    ("name", "content", "layout", "wanted"),
    [
        ("a.csv", CSV.replace("2001-09-12", "soon"), None, "row 2, column date: 'soon' is not a date"),
        ("a.csv", CSV.replace("2001-09-12", ""), None, "row 2, column date: there is no date"),
        ("a.csv", CSV.replace("b,2001", "a,2001"), None, "row 2, column id: two documents have the id 'a'"),
        ("a.csv", CSV.replace("text", "words"), None, "there is no column of texts: .*id, date, words"),
        ("a.csv", CSV.replace("date", "when"), None, "there is no column of dates: name it with"),
        ("a.csv", CSV, Layout(text="txt"), "there is no column 'txt': did you mean 'text'"),
        ("a.csv", CSV, Layout(date_from="%d/%m/%Y"), "row 1, column date: '2001-09-11' has no date of the"),
        ("a.csv", "id,date,text\n", None, "the table has no rows"),
        ("a.csv", b"id,date,text\na,2001-09-11,caf\xe9\n", None, "UTF-8"),
        ("a.parquet", b"id,date,text", None, "the name says .parquet but"),
        ("a.jsonl", '{"date": "2001-09-11"}\n', None, "there is no column of texts"),
        ("f/2001-09-11.txt", b"caf\xe9", None, r"txt, line 1: the byte 0xe9 is not UTF-8: .*iconv"),
        ("f/2001-09-11.txt", b"\x00\x01", None, r"2001-09-11\.txt: this is something else, not text"),
        ("f/2001-09-11.txt", "", None, r"2001-09-11\.txt: the file is empty: delete it"),
        ("f/one.txt", "Yes.", None, r"one\.txt: the file has no date of the form YYYY-MM-DD"),
        ("f/one.pdf", "Yes.", None, r"f: the folder has no \.txt file; it has 1 with \.pdf"),
        ("f/2001-09-11.txt", "Yes.", Layout(text="body"), "text_column names a column"),
        ("a.conllu", "1\tx", Layout(text="body"), "text_column describes folders, tables"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    tmp_path: Path, name: str, content: str | bytes, layout: Layout | None, wanted: str
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(InputError, match=wanted) as error:
        check_dated(tmp_path / name.split("/")[0], layout=layout)
    assert str(error.value).startswith(
        str(path.parent if "folder has" in wanted else path)[: len(str(tmp_path))]
    )
    assert error.value.hint


def test_a_store_is_no_folder_of_texts(tmp_path: Path) -> None:
    written(tmp_path, "store/manifest.json", "{}")
    written(tmp_path, "store/documents/part-000000.parquet", "")
    with pytest.raises(InputError, match="this is a store of events"):
        check_dated(tmp_path / "store")
