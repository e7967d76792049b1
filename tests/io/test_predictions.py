"""Prediction tables of every format give the same rows."""

from __future__ import annotations

import gzip
import io
import math
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import ipc
from pyarrow import parquet as pq

from calibrant.exceptions import FormatError, InputError
from calibrant.io import Columns, open_predictions
from tests.quantities import defined

LONG: dict[str, list[Any]] = {
    "score": [0.1, 0.9, 0.5, 0.0],
    "label": [0, 1, 1, 0],
    "class": ["a", "b", "a", '"'],
    "cluster": ["d2", "d1", "d2", "d3"],
    "weight": [1.0, 2.0, 0.5, 1.0],
    "note": ["x", "y", "z", "w"],
}
WIDE: dict[str, list[Any]] = {
    "p_no": [0.9, 0.2, 0.5],
    "p_yes": [0.1, 0.8, 0.5],
    "label": ["no", "yes", "yes"],
}


def write(folder: Path, columns: dict[str, list[Any]], kind: str) -> Path:
    path = folder / f"predictions.{kind}"
    table, frame = pa.table(columns), pd.DataFrame(columns)
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=2)
    elif kind == "arrow":
        with ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    elif kind.startswith("jsonl"):
        path.write_bytes(packed(frame.to_json(orient="records", lines=True), kind))
    elif kind.startswith("tsv"):
        lines = ["\t".join(columns)] + [
            "\t".join(map(str, row)) for row in zip(*columns.values(), strict=True)
        ]
        path.write_bytes(packed("\n".join(lines) + "\n", kind))
    else:
        path.write_bytes(packed(frame.to_csv(index=False), kind))
    return path


def packed(text: str, kind: str) -> bytes:
    return gzip.compress(text.encode()) if kind.endswith(".gz") else text.encode()


KINDS = ["parquet", "arrow", "csv", "csv.gz", "tsv", "tsv.gz", "jsonl", "jsonl.gz"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_long_table_reads_the_same_from_every_format(tmp_path: Path, kind: str) -> None:
    predictions = open_predictions(write(tmp_path, LONG, kind))
    batch = predictions.read()
    assert predictions.form == "long"
    assert batch.score.tolist() == LONG["score"]
    assert batch.label.tolist() == [False, True, True, False]
    assert defined(batch.weight).tolist() == LONG["weight"]
    assert [predictions.clusters[code] for code in defined(batch.cluster)] == LONG["cluster"]
    assert [predictions.classes[code] for code in defined(batch.class_code)] == LONG["class"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_table_reads_the_same_from_every_format(tmp_path: Path, kind: str) -> None:
    predictions = open_predictions(write(tmp_path, WIDE, kind))
    batch = predictions.read()
    assert (predictions.form, predictions.classes) == ("wide", ("no", "yes"))
    np.testing.assert_array_equal(batch.score, np.column_stack([WIDE["p_no"], WIDE["p_yes"]]))
    assert batch.label.tolist() == [0, 1, 1]


@pytest.mark.parametrize("kind", ["parquet", "arrow", "csv", "jsonl"])
def test_codes_are_the_same_over_all_batches_and_passes(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.io.tables.BLOCK", 4000)
    names = [f"d{index % 7}" for index in range(1000)]
    columns: dict[str, list[Any]] = {"score": [0.5] * 1000, "label": [0, 1] * 500, "cluster": names}
    predictions = open_predictions(write(tmp_path, columns, kind))
    batches = list(predictions.batches(size=100))
    assert len(batches) > 1
    codes = np.concatenate([batch.cluster for batch in batches if batch.cluster is not None])
    assert [predictions.clusters[code] for code in codes] == names
    again = defined(predictions.read().cluster)
    np.testing.assert_array_equal(again, codes)


@pytest.mark.parametrize("names", [["a", "b"], [3, 1], [2.5, 1.0], [True, False]])
def test_clusters_may_be_of_any_type(names: list[Any]) -> None:
    predictions = open_predictions(pa.table({"score": [0.1, 0.2], "label": [0, 1], "cluster": names}))
    codes = defined(predictions.read().cluster)
    assert codes.tolist() == [0, 1]
    assert predictions.clusters == names


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(LONG),
        pl.DataFrame(LONG),
        pl.LazyFrame(LONG),
        pa.table(LONG),
        duckdb.sql("select * from (values (0.1::double, 0), (0.9, 1), (0.5, 1), (0.0, 0)) t(score, label)"),
    ],
    ids=["pandas", "polars", "polars lazy", "pyarrow", "duckdb"],
)
def test_dataframes_of_any_library_are_tables(frame: Any) -> None:
    batch = open_predictions(frame).read()
    assert batch.score.tolist() == LONG["score"]
    assert batch.label.tolist() == [False, True, True, False]


def test_an_error_in_a_lazy_frame_names_no_row_since_an_engine_keeps_no_order() -> None:
    wrong = {"score": [0.1, 1.5], "label": [0, 1]}
    for frame, row in ((pl.DataFrame(wrong), 1), (pl.LazyFrame(wrong), None)):
        with pytest.raises(InputError, match=r"1\.5 is not a probability") as caught:
            open_predictions(frame).read()
        assert (caught.value.row, caught.value.column) == (row, "score")


@pytest.mark.parametrize(
    "labels",
    [
        [False, True],
        [0.0, 1.0],
        ["0", "1"],
        ["false", "True"],
        ["no", "Yes"],
        pa.array([0, 1], pa.uint8()),
        pa.array(["0", "1"]).dictionary_encode(),
    ],
    ids=str,
)
def test_labels_may_be_written_in_several_ways(labels: Any) -> None:
    batch = open_predictions(pa.table({"score": [0.1, 0.2], "label": labels})).read()
    assert batch.label.tolist() == [False, True]


def test_labels_of_a_wide_table_may_be_numbers() -> None:
    for labels in ([1, 0], [1.0, 0.0], ["1", "0"]):
        table = pa.table({"logit_0": [0.0, 2.0], "logit_1": [0.0, 2.0], "label": labels})
        batch = open_predictions(table).read()
        assert batch.label.tolist() == [1, 0]
        np.testing.assert_allclose(batch.score, 0.5)


def test_logits_become_probabilities() -> None:
    table = pa.table({"logit_a": [0.0, 1000.0], "logit_b": [math.log(3), -1000.0], "label": ["a", "a"]})
    score = open_predictions(table).read().score.astype(np.float64)
    np.testing.assert_allclose(score, np.array([[0.25, 0.75], [1, 0]]))


def test_columns_may_have_other_names() -> None:
    table = pa.table({"prob": [0.1, 0.2], "gold": [0, 1], "doc": [5, 5], "w": [1.0, 3.0], "tag": ["x", "y"]})
    named = Columns(score="prob", label="gold", cluster="doc", weight="w", class_column="tag")
    predictions = open_predictions(table, named)
    batch = predictions.read()
    assert predictions.clustered
    assert predictions.weighted
    assert predictions.classes == ("x", "y")
    assert batch.score.tolist() == [0.1, 0.2]


def test_rows_of_weight_zero_count_for_nothing() -> None:
    table = pa.table({"score": [0.1, 0.2], "label": [0, 1], "weight": [0.0, 2.0], "cluster": ["a", "b"]})
    batch = open_predictions(table).read()
    assert batch.score.tolist() == [0.2]
    assert defined(batch.weight).tolist() == [2.0]


def test_items_are_read_only_when_asked_for() -> None:
    predictions = open_predictions(pa.table({"score": [0.1, 0.2], "label": [0, 1], "item": ["t7", "t9"]}))
    assert predictions.has_items
    assert predictions.read().item is None
    assert predictions.read(items=True).item is not None
    assert predictions.items == ["t7", "t9"]


def test_an_archive_holds_probabilities_or_logits(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, probs=[[0.25, 0.75], [0.5, 0.5]], labels=[1, 0], classes=["n", "y"], clusters=["d", "d"])
    predictions = open_predictions(path)
    batch = predictions.read()
    assert (predictions.form, predictions.classes, predictions.rows) == ("wide", ("n", "y"), 2)
    assert predictions.clusters == ["d"]
    assert batch.label.tolist() == [1, 0]
    np.savez(path, logits=[[0.0, np.log(3)], [1.0, 1.0]], labels=[1, 0])
    np.testing.assert_allclose(open_predictions(path).read().score, [[0.25, 0.75], [0.5, 0.5]])
    assert open_predictions(path).classes == ("0", "1")


def test_a_threshold_is_known_from_the_metadata(tmp_path: Path) -> None:
    table = pa.table({"score": [0.1], "label": [1]}).replace_schema_metadata({"calibrant.threshold": "0.01"})
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text("# calibrant threshold=0.01\nscore,label\n0.1,1\n", encoding="utf-8-sig")
    np.savez(tmp_path / "a.npz", probs=[[0.5, 0.02, 0.0]], labels=[0], threshold=0.01)
    for path in tmp_path.iterdir():
        predictions = open_predictions(path)
        assert predictions.threshold == 0.01
        assert len(predictions.read()) == 1


def test_standard_input_is_known_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ["parquet", "arrow", "csv", "csv.gz", "tsv", "jsonl"]:
        data = write(tmp_path, LONG, kind).read_bytes()
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
        predictions = open_predictions("-")
        assert predictions.name == "stdin"
        assert predictions.read().score.tolist() == LONG["score"]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"")))
    with pytest.raises(InputError, match="stdin: there is nothing to read"):
        open_predictions("-")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"\x00\x01")))
    with pytest.raises(FormatError, match="stdin: this is neither a table"):
        open_predictions("-")


def test_text_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("score,label\r\n0.5,1\r\n", encoding="utf-8-sig")
    (tmp_path / "a.jsonl").write_text('{"score": 0.5, "label": 1}\n', encoding="utf-8-sig")
    for path in tmp_path.iterdir():
        assert open_predictions(path).read().score.tolist() == [0.5]


def test_what_is_not_read_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"score": 0.5, "label": 1, "x": [1]}\n\n{"label": 0, "score": 1, "x": "a"}\n')
    assert open_predictions(path).read().score.tolist() == [0.5, 1.0]


def test_a_score_at_the_threshold_may_have_been_rounded() -> None:
    score = pa.array([0.01, 0.5], pa.float32())
    table = pa.table({"score": score, "label": [0, 1]}, metadata={"calibrant.threshold": "0.01"})
    assert len(open_predictions(table).read()) == 2


@pytest.mark.parametrize(
    "text",
    [
        "score;label;item\n0.5;0;a\n1;1;b\n",
        "score;label;item\n0,5;0;a\n1;1;b\n",
        'score;label;"item;1, 2"\n,5;0,0;"a;, b"\n1,000;1,0;b\n',
        "score\tlabel\titem\n0.5\t0\ta\n1\t1\tb\n",
        "score,label,items; of two, three\n0.5,0,a,x\n1,1,b,y\n",
        "score,label\n0.5,0\n1,1\n",
    ],
    ids=["points", "commas", "quotes", "tabs", "a semicolon in a name", "usual"],
)
def test_the_header_of_a_csv_file_tells_what_separates_its_fields(text: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    found = open_predictions(path).read()
    assert (found.score.tolist(), found.label.tolist()) == ([0.5, 1.0], [False, True])


def test_a_text_beside_decimal_commas_may_be_long(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"score;label;text\n0,25;1;a\n0,5;0;{'x' * 200_000}\n")
    assert open_predictions(tmp_path / "a.csv").read().score.tolist() == [0.25, 0.5]


def test_decimal_commas_need_not_be_in_the_first_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calibrant.io.tables.BLOCK", 1000)
    path = tmp_path / "a.csv"
    path.write_text("score;label\n" + "1;1\n" * 5000 + "0,25;0\n" * 5000)
    assert open_predictions(path).read().score.sum() == 6250


@pytest.mark.parametrize("role", ["score", "cluster", "weight", "class_column"])
def test_the_column_of_labels_is_nothing_else(role: str) -> None:
    table = pa.table({"score": [0.2, 0.9], "label": [0, 1]})
    named: dict[str, Any] = {role: "label"}
    with pytest.raises(InputError, match=r"column 'label' is used for both .*label"):
        open_predictions(table, Columns(**named))
