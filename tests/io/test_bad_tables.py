"""Every bad table is refused with an error that names the file, the row, the column and what to do."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import ipc
from pyarrow import parquet as pq

from calibrant.exceptions import FormatError, InputError
from calibrant.io import Columns, open_predictions, tables

TEXT = [
    ("a.csv", "score,label\n0.1,0\nnan,1\n", "row 2, column score: nan is not a probability"),
    ("a.csv", "score,label\n0.1,0\ninf,1\n", "row 2, column score: inf is not a probability"),
    ("a.csv", "score,label\n0.1,0\n\n1.0000001,1\n", "row 2, column score: 1.0000001 is not .*clip it"),
    (
        "a.csv",
        "score,label\n0.1,0\n12.5,1\n",
        "row 2, column score: 12.5 is not .*percentages; divide by 100",
    ),
    ("a.csv", "score,label\n0.1,0\n80 %,1\n", "row 2, column score: '80 %' is not .*0.25 for 25 %"),
    ("a.csv", "score,label\n0.1,0\n-3,1\n", "row 2, column score: -3.0 is not .*logits"),
    ("a.csv", "score,label\n0.1,0\n0.3,2\n", "row 2, column label: label '2' is not 0 or 1"),
    (
        "a.csv",
        "score,label\n0.1,spam\n",
        "row 1, column label: label 'spam' is not 0 or 1: write 1, true or yes where "
        "the event happened, and 0, false or no elsewhere, or name the label of the event "
        ".`columns={'event': 'spam'}`.",
    ),
    (
        "a.csv",
        "0.1,0\n0.3,1\n",
        "no line of column names: the first line is 0.1, 0: write a line of column names above",
    ),
    (
        "a.csv",
        "rate,y\n0.1,0\n",
        "no column 'score': name it with `columns={'score': ...}`; the columns are rate, y",
    ),
    (
        "a.csv",
        "document,start,end,type,score\nd,0,2,PER,0.9\n",
        "a table of spans .document, start, end. without labels: match them .*: `calibrant spans`",
    ),
    ("a.csv", "score,label\n0.1,0\n,1\n", "row 2, column score: the value is missing"),
    ("a.csv", "score,label\n0.1,0\n0.2,\n", "row 2, column label: the value is missing"),
    ("a.csv", "score,label\n0.1,0\nhigh,1\n", "row 2, column score: 'high' is not a number"),
    ("a.csv", "score,label\n0.1,0\n1_0,1\n", "row 2, column score: '1_0' is not a number: .*digits 0 to 9"),
    ("a.csv", "score,label\n0.1,0\n\u0660,1\n", "row 2, column score: '\u0660' is not a number"),
    ("a.csv", 'score,label\n"0,1",0\n', "row 1, column score: '0,1' is not a number: .*with a decimal point"),
    ("a.csv", "score;label\n0,1;0\n0.5;1\n", "row 2, column score: '0.5' is not a number: .*decimal commas"),
    ("a.csv", "score;label\n0,1;0\n0,5;1;2\n", "row 2: 3 fields, but the header has 2"),
    ("a.csv", 'score;label;item\n0,1;0;a\n0,5;1;"b\n', "row 2: a quote is opened and never closed"),
    (
        "a.csv",
        "Score,label\n0.1,0\n",
        "did you mean 'Score'. Name it with `columns={'score': ...}`; the columns are Score, l",
    ),
    ("a.csv", "score,label\n0.1,0\n0x1,1\n", "row 2, column score: '0x1' is not a number"),
    ("a.csv", 'score,label\n0.1,0\n"0.5\n",1\n', "row 2, column score: '0.5..' is not a number"),
    ("a.csv", 'score,label\n0.1,0\n0.5,"1\n"\n', "row 2, column label: label '1..' is not 0 or 1"),
    ("a.csv", "score,label\n0.1," + "x" * 5000 + "\n", "label 'x{60}[.]{3}' is not"),
    ("a.csv", "p_a,p_b,label\n0.1,0.9," + "x" * 5000 + "\n", "label 'x{60}[.]{3}' is not"),
    ("a.csv", "score,label\n" + "x" * 5000 + ",1\n", "'x{60}[.]{3}' is not a number"),
    ("a.csv", "score,label", "there are no rows"),
    ("a.csv", "# calibrant threshold=0.1\nscore,label", "there are no rows"),
    ("a.csv", "\n\n", "the file is empty"),
    ("a.tsv", " \n", "the file is empty"),
    ("a.jsonl", "\n\n", "the file is empty"),
    ("a.jsonl", "{}\n", "the file is empty: it has no object"),
    ("a.csv", "\n" * 600, "the file is empty: it has no line of column"),
    (
        "a.csv",
        "rate,label\n0.1,0\n",
        "no column 'score': name it with `columns={'score': ...}`; the columns are rate, label",
    ),
    ("a.csv", "score, label\n0.1,0\n", "the columns are score, ' label'"),
    (
        "a.csv",
        "score,result\n0.1,0\n",
        "no column 'label': name it with `columns={'label': ...}`; the columns are score, result",
    ),
    ("a.csv", "score,label,score\n0.1,0,1\n", "column score: two columns have this name"),
    ("a.csv", "p_a,p_b,p_a,label\n0.5,0,0.5,a\n", "column p_a: two columns have this name"),
    ("a.csv", "p_a,p_,label\n0.5,0.5,a\n", "column p_: the class has no name"),
    (
        "a.csv",
        'score,label,item\n0.1,0,a\n0.1,0,"b\n0.1,1,c\n0.2,0,d\n',
        "row 2: a quote is opened and never",
    ),
    (
        "a.csv",
        '# calibrant threshold=0.1\nscore,label,item\n0.1,1,"5"" pipe"\n\n0.2,0,"c\n0.3,0,d\n',
        "row 2: a quote is opened and never closed",
    ),
    ("a.csv", "score,label\n0.1,0\n0.2\n", "row 2: 1 fields, but the header has 2"),
    ("a.csv", "score,label\n0.1,0\n0.2,1,2\n", "row 2: 3 fields, but the header has 2"),
    ("a.csv", "score,label\n", "there are no rows"),
    ("a.csv", "", "the file is empty"),
    ("a.csv", "score,label,weight\n0.1,0,1\n0.1,0,-1\n", "row 2, column weight: -1.0 is not a finite weight"),
    ("a.csv", "score,label,weight\n0.1,0,0\n0.1,0,0\n", "column weight: every weight is zero"),
    ("a.csv", "score,label,cluster\n0.1,0,a\n0.1,0,\n", "row 2, column cluster: the value is missing"),
    ("a.csv", "score,p_a,p_b,label\n0.1,0.1,0.9,a\n", "fit both a long table .* and a wide table"),
    (
        "a.csv",
        "p_a,p_b,label\n0.1,0.9,a\n0.5,0.5,c\n",
        "row 2, column label: label 'c' is not one of .* a, b",
    ),
    ("a.csv", "p_a,p_b,label\n0.1,0.9,a\n0.5,0.7,b\n", "row 2: the class probabilities add up to 1.2"),
    ("a.csv", "p_a,p_b,label\n0.1,0.9,a\n0.5,nan,b\n", "row 2, column p_b: nan is not a probability"),
    ("a.csv", "logit_a,logit_b,label\n0.1,0.9,a\n0.5,inf,b\n", "row 2, column logit_b: inf is not a finite"),
    ("a.csv", "p_a,logit_b,label\n0.1,0.9,a\n", "the table has p_ and logit_ columns"),
    ("a.csv", "p_a,label\n0.1,a\n", "not a wide table: write one p_<class> column per class"),
    ("a.csv", "# calibrant threshold=high\nscore,label\n0.1,0\n", "the stored threshold 'high' is not"),
    ("a.csv", "# calibrant threshold=0.1\nscore,label\n0.1,0\n0.1,0,1\n", "row 2: 3 fields"),
    (
        "a.csv",
        "# calibrant threshold=0.9\nscore,label\n0.95,1\n0.5,0\n",
        "row 2, column score: 0.5 is below the threshold 0.9 stored in the table",
    ),
    ("a.tsv", "score\tlabel\n0.1\t0\n0.2\t5\n", "row 2, column label: label '5' is not 0 or 1"),
    ("a.jsonl", '{"score": 0.1, "label": 1}\n{"score": NaN, "label": 1}\n', "row 2, column score: nan"),
    ("a.jsonl", '{"score": 0.1, "label": 1}\n{"score": 0.2}\n', "row 2, column label: the value is missing"),
    (
        "a.jsonl",
        '{"score": 0.1, "label": 1}\n{"score": "x", "label": 1}\n',
        "row 2, column score: 'x' is not",
    ),
    (
        "a.jsonl",
        '{"score": 0.1, "label": 1}\n{"score": 1, "label": "no"}\n',
        "row 2, column label: 'no' has another type",
    ),
    ("a.jsonl", '{"score": 0.1, "label": 1}\n{"score": 0.2, "la', "row 2: not a JSON object"),
    ("a.jsonl", '{"score": 0.1, "label": 1}\n[1, 2]\n', "row 2: not a JSON object"),
    ("a.jsonl", '{"score": ' + "[" * 200_000, "row 1: not a JSON object"),
    ("a.jsonl", '{"score": ' + "9" * 5_000 + "}", "row 1: not a JSON object"),
    ("a.jsonl", '{"rate": 0.1, "label": 1}\n', "no column 'score'.*the columns are rate, label"),
    (
        "a.jsonl",
        '{"score": 0.1, "label": 1, "class": 1}\n{"score": 0.1, "label": 1, "class": 18446744073709551615}\n',
        "row 2, column class: 18446744073709551615 is too large for a number: write the column as text",
    ),
    ("a.jsonl", "score,label\n", "the name says .jsonl but the content is plain text"),
    ("a.parquet", "score,label\n0.1,0\n", "the name says .parquet but the content is plain text"),
    ("a.csv.gz", "score,label\n0.1,0\n", "the name says .csv.gz but the content is plain text"),
    ("a.csv", '{"score": 0.1, "label": 1}\n', "the name says .csv but the content is JSON lines"),
    ("a.npz", "score,label\n0.1,0\n", "the name says .npz but the content is plain text"),
    ("a.txt", "score,label\n0.1,0\n", "unknown kind of file"),
    ("a.parquet.gz", "score,label\n0.1,0\n", "unknown kind of file"),
    ("a.npy", "", r"unknown kind of file: write scores and labels to one \.npz archive: numpy\.savez"),
]


@pytest.mark.parametrize(("name", "text", "message"), TEXT, ids=[case[2][:50] for case in TEXT])
def test_a_bad_table_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError, match=message) as caught:
        open_predictions(path).read()
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_utf_16_is_named(tmp_path: Path, encoding: str) -> None:
    text = "\ufeff" * (encoding == "utf-16-be") + "score,label\n0.1,0\n"
    (tmp_path / "a.csv").write_text(text, encoding=encoding)
    with pytest.raises(InputError, match=r"the content is UTF-16: save it as UTF-8 \(Excel: CSV UTF-8\)"):
        open_predictions(tmp_path / "a.csv").read()


def test_a_lone_quote_inside_a_field_is_no_open_quote(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('score,label,item\n0.1,0,5" pipe\n0.2,1,"two\nlines"\n')
    assert len(open_predictions(tmp_path / "a.csv").read()) == 2


def test_quoted_text_may_hold_lines_wherever_the_reader_cuts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.io.tables.BLOCK", 1000)
    rows = "".join(f'0.5,1,"some\nlines, {row}\n"\n' for row in range(2000))
    (tmp_path / "a.csv").write_text("score,label,item\n" + rows)
    predictions = open_predictions(tmp_path / "a.csv")
    assert len(predictions.read(items=True)) == 2000
    assert predictions.items[7] == "some\nlines, 7\n"


def test_a_row_number_counts_over_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("calibrant.io.tables.BLOCK", 2000)
    rows = ["0.5,1"] * 5000
    for place, bad, message in [(4000, "1.5,1", "1.5"), (3210, "x,1", "'x'"), (2999, "1", "1 fields")]:
        path = tmp_path / "a.csv"
        path.write_text("\n".join(["score,label", *rows[:place], bad, *rows[place:]]) + "\n")
        with pytest.raises(InputError, match=rf"row {place + 1}\b.*{message}"):
            open_predictions(path).read()
    table = pa.table({"score": [0.5] * 4000 + [1.5], "label": [0] * 4001})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    with pytest.raises(InputError, match=r"row 4001, column score: 1\.5"):
        list(open_predictions(tmp_path / "a.parquet").batches(size=300))


@pytest.mark.parametrize("kind", ["parquet", "arrow", "stream.arrow", "csv.gz", "npz"])
def test_a_truncated_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"a.{kind}"
    random = np.random.default_rng(1)
    table = pa.table({"score": random.random(5000), "label": random.integers(0, 2, 5000)})
    if kind == "parquet":
        pq.write_table(table, path)
    elif kind.endswith("arrow"):
        with (ipc.new_stream if "stream" in kind else ipc.new_file)(str(path), table.schema) as writer:
            writer.write_table(table)
    elif kind == "npz":
        np.savez_compressed(path, probs=np.full((5000, 2), 0.5), labels=np.zeros(5000, int))
    else:
        path.write_bytes(gzip.compress(table.to_pandas().to_csv(index=False).encode()))
    whole = path.read_bytes()
    for keep in (len(whole) // 3, len(whole) // 2, len(whole) - 40, len(whole) - 3):
        path.write_bytes(whole[:keep])
        if kind == "stream.arrow" and keep == len(whole) - 3:
            continue  # only the end mark is missing, which readers of streams allow
        with pytest.raises(FormatError, match=r"a\..*: (the file is cut short|cannot be read)"):
            open_predictions(path).read()


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    for name, text in (
        ("a.csv", b"score,label\n0.5,\xff\n"),
        ("a.jsonl", b'{"score": 0.5, "label": "\xff"}\n'),
    ):
        (tmp_path / name).write_bytes(text)
        with pytest.raises(FormatError, match=r"row 1.* the byte 0xff is not UTF-8: save it as UTF-8"):
            open_predictions(tmp_path / name).read()


def test_a_parquet_file_named_csv_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"score": [0.5], "label": [1]}), tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(tmp_path / "a.csv")
    with pytest.raises(FormatError, match=r"says \.csv but the content is Parquet"):
        open_predictions(tmp_path / "a.csv")


def test_bytes_in_the_middle_that_are_damaged_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"score": np.random.default_rng(1).random(9000), "label": [1] * 9000}), path)
    whole = bytearray(path.read_bytes())
    whole[4:40] = b"\xff" * 36
    path.write_bytes(whole)
    with pytest.raises(FormatError, match=r"a\.parquet: "):
        open_predictions(path).read()


GOOD: dict[str, Any] = {"probs": [[0.1, 0.9], [0.2, 0.8]], "labels": [1, 0]}
ARCHIVES = [
    ({"labels": [1, 0, 1]}, "labels has 3 values for 2 rows"),
    ({"labels": [0, 2]}, "row 2, column labels: label 2 is not a class position from 0 to 1"),
    ({"labels": [0, -1]}, "row 2, column labels: label -1 is not a class position"),
    ({"labels": ["a", "b"]}, "labels has dtype <U1: store each label as a whole number, the position of"),
    ({"labels": [[0], [1]]}, r"labels has shape \(2, 1\), expected \(n,\)"),
    ({"labels": None}, "the archive has no labels"),
    ({"probs": [[0.1, np.nan], [0.2, 0.8]]}, "row 1, column probs: class 1: nan is not"),
    ({"probs": [[0.1, 0.9], [-2, 0.8]]}, "row 2, column probs: class 0: -2.0 is not .*logits"),
    ({"probs": [[0.1, 0.9], [20, 80]]}, "row 2, column probs: class 0: 20.0 is not .*percentages"),
    ({"probs": [[0.1, 0.9], [0.5, 0.9]]}, "row 2: the class probabilities add up to 1.4"),
    ({"probs": [0.1, 0.9, 0.5]}, "labels has 2 values for 3 rows"),
    ({"probs": None, "logits": [0.1, 0.9]}, r"logits has shape \(2,\), expected \(n, K\)"),
    ({"y_true": [0, 1]}, "labels is not the only array of labels"),
    ({"probs": [[0.1, 0.9], [-2.0, 3.0]]}, "row 2, .*these look like logits; name the array or list logits"),
    ({"probs": [[2.4, 0.9], [-2.0, 3.0]]}, "row 1, .*these look like logits; name the array or list logits"),
    ({"probs": [["a", "b"]] * 2}, "probs has dtype <U1"),
    (
        {"probs": None, "labels": None, "label_ids": [0], "predictions": np.zeros((1, 2), "datetime64[D]")},
        "logits has dtype datetime64",
    ),
    ({"probs": np.empty((0, 2)), "labels": []}, "there are no rows"),
    ({"probs": None}, "neither probs nor logits"),
    ({"logits": [[0.1, 0.9], [0.2, 0.8]]}, "both probs and logits"),
    (
        {"probs": None, "logits": [[0.1, np.inf], [1, 1]]},
        "row 1, column logits: class 1: inf is not a finite",
    ),
    ({"classes": ["a"]}, "classes has 1 names"),
    ({"classes": ["a", "a"]}, "classes has 2 names .1 distinct"),
    ({"clusters": ["a"]}, "clusters has 1 values for 2 rows"),
    ({"clusters": np.zeros(2, [("a", int)])}, "clusters has dtype .*: store one value per row"),
    ({"clusters": [1.0, np.nan]}, "row 2, column clusters: the value is missing"),
    (
        {"items": np.array(["2026-01-01", "NaT"], "datetime64[D]")},
        "row 2, column items: the value is missing",
    ),
    ({"clusters": [1j, 2j]}, "clusters has dtype complex128: store one value per row"),
    ({"cluster": ["a", "b"]}, "unknown array 'cluster': rename it or leave it out; the names are probs"),
    ({"weights": [1.0, -1.0]}, "row 2, column weights: "),
]


def save(folder: Path, arrays: dict[str, Any]) -> None:
    keywords: dict[str, Any] = {name: np.asarray(value) for name, value in arrays.items()}
    np.savez(folder / "a.npz", **keywords)


@pytest.mark.parametrize(("change", "message"), ARCHIVES, ids=[case[1][:40] for case in ARCHIVES])
def test_a_bad_archive_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    arrays = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    save(tmp_path, arrays)
    with pytest.raises(InputError, match=message):
        open_predictions(tmp_path / "a.npz").read(items=True)


def test_python_objects_in_an_archive_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", probs=[[0.1, 0.9]], labels=np.array([0], object))
    with pytest.raises(InputError, match="labels holds Python objects"):
        open_predictions(tmp_path / "a.npz")


def test_clusters_of_an_archive_may_be_hashes_of_64_bits(tmp_path: Path) -> None:
    largest = 2**64 - 1
    save(tmp_path, {**GOOD, "clusters": np.array([largest, 7], np.uint64)})
    predictions = open_predictions(tmp_path / "a.npz")
    predictions.read()
    assert predictions.clusters == [largest, 7]


def test_arrays_of_an_archive_cannot_be_renamed(tmp_path: Path) -> None:
    save(tmp_path, GOOD)
    with pytest.raises(InputError, match="score cannot be renamed here"):
        open_predictions(tmp_path / "a.npz", Columns(score="probs"))


def test_a_column_that_is_named_must_be_there() -> None:
    table = pa.table({"score": [0.1], "label": [0]})
    for part in ("score", "label", "cluster", "weight", "item"):
        renamed: dict[str, Any] = {part: "x"}
        with pytest.raises(InputError, match=f"no column 'x': name it with `columns={{'{part}': ...}}`"):
            open_predictions(table, renamed)


@pytest.mark.parametrize(
    ("columns", "message"),
    [({"scores": "p"}, "the unknown key 'scores': the keys are form, score,"), (["p"], "pass a mapping")],
)
def test_columns_that_name_no_known_part_are_refused(columns: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_predictions(pa.table({"p": [0.1], "label": [0]}), columns)


def test_rows_of_a_dataframe_count_from_zero() -> None:
    with pytest.raises(InputError, match="the dataframe, row 1, column score: the value is missing"):
        open_predictions(pd.DataFrame({"score": [0.1, np.nan], "label": [0, 1]})).read()
    with pytest.raises(InputError, match="the dataframe: a column mixes types"):
        open_predictions(pd.DataFrame({"score": [0.1, "x"], "label": [0, 1]})).read()
    with pytest.raises(InputError, match="a list is not a table"):
        open_predictions([0.1, 0.2])


def test_text_where_numbers_are_meant_is_refused() -> None:
    with pytest.raises(InputError, match=r"row 0, column score: '0\.1' is not a number"):
        open_predictions(pa.table({"score": ["0.1"], "label": [0]})).read()
    with pytest.raises(InputError, match="row 0, column label: "):
        open_predictions(pa.table({"score": [0.1], "label": [[0]]})).read()


def test_frames_whose_columns_cannot_be_told_apart_by_text_are_refused() -> None:
    with pytest.raises(InputError, match="two columns have the same name 'score': rename one of them"):
        open_predictions(pd.DataFrame([[0.1, 0.2, 1]], columns=["score", "score", "label"]))
    with pytest.raises(InputError, match="the name of column 0 is not text: rename it"):
        open_predictions(pd.DataFrame({0: [0.1], "label": [1]}))


@pytest.mark.parametrize("name", ["nothing", "nothing.xlsx", "nothing.csv"])
def test_a_file_that_is_not_there_is_missing_whatever_its_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="no such file") as caught:
        open_predictions(tmp_path / name)
    assert caught.value.code == "file-missing"


@pytest.mark.parametrize("name", ["folder", "folder.parquet"])
def test_a_folder_is_called_one(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=r"the folder has no \.parquet files and no logs") as caught:
        open_predictions(tmp_path / name)
    assert caught.value.code == "file-missing"


def test_a_line_longer_than_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "LONGEST", 100)
    monkeypatch.setattr(tables, "BLOCK", 10)
    (tmp_path / "a.jsonl").write_text('{"score": 0.1, "label": 1, "text": "' + 200 * "a" + '"}\n')
    with pytest.raises(FormatError, match=r"a line of more than .* MiB: write one record per line"):
        open_predictions(tmp_path / "a.jsonl")
