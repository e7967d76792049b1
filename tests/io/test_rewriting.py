"""Tables with new scores: every other column and every kind of file as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet as pq

from calibrant.exceptions import InputError
from calibrant.io import open_predictions, rewriting
from calibrant.io.rewriting import open_scores

Floats = NDArray[np.float64]


def squared(scores: Floats, codes: Any) -> Floats:
    return scores**2


@pytest.fixture
def table() -> pa.Table:
    random = np.random.default_rng(0)
    n = 1000
    return pa.table(
        {
            "text": pa.array([None if i % 7 == 0 else f'word "{i}", ä' for i in range(n)]),
            "score": random.random(n),
            "label": random.integers(0, 2, n).astype(np.int8),
            "class": pa.array([f"T{i % 5}" for i in range(n)]).dictionary_encode(),
            "nested": [[i, i + 1] for i in range(n)],
            "item": np.arange(n),
        }
    ).replace_schema_metadata({"made by": "hand"})


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_other_columns_types_and_notes_stay(
    ending: str, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewriting, "ROWS", 300)
    source, output = tmp_path / "in.parquet", tmp_path / f"out.{ending}"
    pq.write_table(table, source, row_group_size=170)
    assert open_scores(source).rewrite(output, squared, note="n") == 1000
    found = pq.read_table(output) if ending == "parquet" else pa.ipc.open_stream(output).read_all()
    assert found.column_names == table.column_names
    for name in ("text", "label", "nested", "item"):
        assert found[name].to_pylist() == table[name].to_pylist()
        assert found[name].type == table[name].type
    assert found["class"].cast(pa.string()) == table["class"].cast(pa.string())
    np.testing.assert_array_equal(found["score"].to_numpy(), table["score"].to_numpy() ** 2)
    assert found.schema.metadata[b"made by"] == b"hand"
    assert found.schema.metadata[b"calibrant.recalibrated"] == b"n"


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "tsv", "jsonl", "jsonl.gz"])
def test_text_stays_text(ending: str, table: pa.Table, tmp_path: Path) -> None:
    source, output = tmp_path / "in.parquet", tmp_path / f"out.{ending}"
    pq.write_table(table.select(["score", "label", "class", "item"]), source)
    open_scores(source).rewrite(output, squared, note="")
    again = tmp_path / f"again.{ending}"
    open_scores(output).rewrite(again, squared, note="")
    read = open_predictions(again).read(items=True)
    np.testing.assert_allclose(read.score, table["score"].to_numpy() ** 4)
    np.testing.assert_array_equal(read.label, table["label"].to_numpy())
    assert open_predictions(again).has_items


def test_json_lines_keep_what_stands_beside_the_scores(tmp_path: Path) -> None:
    rows = [
        {"text": '\u00e4 "x"', "score": 0.5, "label": 1, "at": None, "n": 3, "other": 0.5},
        {"text": "b\n", "score": 0.25, "label": 0, "at": None, "n": 4, "other": float("nan")},
    ]
    table = pa.Table.from_pylist(rows).append_column("day", pa.array([0, 1], pa.date32()))
    open_scores(table).rewrite(tmp_path / "out.jsonl", squared, note="")
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert found[0] == rows[0] | {"score": 0.25, "day": "1970-01-01"}
    assert found[1] == rows[1] | {"score": 0.0625, "other": None, "day": "1970-01-02"}
    open_scores(tmp_path / "out.jsonl").rewrite(tmp_path / "again.jsonl", squared, note="")
    assert json.loads((tmp_path / "again.jsonl").read_text("utf-8").splitlines()[1])["n"] == 4


def test_lists_in_json_lines_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"score": 0.5, "label": 1, "words": ["a"]}\n', encoding="utf-8")
    assert len(open_predictions(tmp_path / "in.jsonl").read()) == 1
    with pytest.raises(InputError, match="lists") as caught:
        open_scores(tmp_path / "in.jsonl").rewrite(tmp_path / "out.jsonl", squared, note="")
    assert caught.value.column == "words"


def test_labels_need_not_be_there_and_logits_become_probabilities(tmp_path: Path) -> None:
    wide = pa.table({"logit_a": [1.0, 0.0], "id": ["x", "y"], "logit_b": [0.0, 3.0]})
    opened = open_scores(wide)
    assert (opened.form, opened.classes, opened.rows) == ("wide", ("a", "b"), 2)
    opened.rewrite(tmp_path / "out.parquet", lambda scores, _: scores[:, ::-1], note="")
    found = pq.read_table(tmp_path / "out.parquet")
    assert found.column_names == ["p_a", "id", "p_b"]
    np.testing.assert_allclose(found["p_b"].to_numpy(), [1 / (1 + np.exp(-1)), 0.5 * 0 + 1 / (1 + np.exp(3))])


def test_codes_of_classes_hold_over_batches(table: pa.Table, tmp_path: Path) -> None:
    opened = open_scores(table)
    seen: list[int] = []

    def change(scores: Floats, codes: Any) -> Floats:
        seen.extend(codes.tolist())
        return scores

    opened.rewrite(tmp_path / "out.parquet", change, note="")
    assert [opened.classes[code] for code in seen] == table["class"].to_pylist()


def test_a_threshold_is_kept_and_lower_scores_are_read(tmp_path: Path) -> None:
    columns = {"score": [0.3, 0.2], "label": [0, 1], "class": ["a", "b"]}
    table = pa.table(columns).replace_schema_metadata({"calibrant.threshold": "0.1"})
    open_scores(table).rewrite(tmp_path / "out.parquet", squared, note="")
    found = open_predictions(tmp_path / "out.parquet")
    assert found.threshold == 0.1
    np.testing.assert_allclose(found.read().score, [0.09, 0.04])
    with pytest.raises(
        InputError, match="cannot record that a table with a threshold was recalibrated"
    ) as caught:
        open_scores(table).rewrite(tmp_path / "out.csv", squared, note="")
    assert caught.value.code == "threshold"


@pytest.mark.parametrize(
    ("columns", "output", "code"),
    [
        ({"score": [0.5, 1.5]}, "out.parquet", "score-range"),
        ({"score": ["a", "b"]}, "out.parquet", "column-type"),
        ({"score": [0.5, None]}, "out.parquet", "missing-value"),
        ({"p_a": [0.5, 0.1], "p_b": [0.5, 0.1]}, "out.parquet", "class-sum"),
        ({"score": [0.5], "class": [None]}, "out.parquet", "missing-value"),
        ({"label": [0]}, "out.parquet", "column-missing"),
        ({"score": pa.array([], pa.float64())}, "out.parquet", "empty"),
        ({"score": [0.5], "list": [[1]]}, "out.csv", "column-type"),
        ({"score": [0.5], "text": ["a\tb"]}, "out.tsv", "column-type"),
        ({"score": [0.5]}, "out.txt", "file-kind"),
        ({"score": [0.5]}, "out.parquet.gz", "file-kind"),
        ({"score": [0.5]}, "no/such/folder.parquet", "output"),
    ],
)
def test_bad_tables_and_places_leave_nothing_behind(
    columns: dict[str, Any], output: str, code: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as caught:
        open_scores(pa.table(columns)).rewrite(tmp_path / output, squared, note="")
    assert caught.value.code == code
    assert not list(tmp_path.iterdir())


def test_a_table_is_not_written_over_itself(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(InputError, match="replace") as caught:
        open_scores(tmp_path / "in.parquet").rewrite(tmp_path / "in.parquet", squared, note="")
    assert caught.value.code == "output"


def test_an_archive_without_labels_becomes_a_table_of_probabilities(tmp_path: Path) -> None:
    logits = np.random.default_rng(0).normal(size=(5, 3))
    np.savez(tmp_path / "in.npz", logits=logits, items=np.arange(5), classes=np.array(["a", "b", "c"]))
    open_scores(tmp_path / "in.npz").rewrite(tmp_path / "out.parquet", lambda q, _: q, note="same")
    new = pq.read_table(tmp_path / "out.parquet")
    assert new.column_names == ["item", "p_a", "p_b", "p_c"]
    assert new["item"].to_pylist() == list(range(5))
    expected = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert np.column_stack([new[f"p_{name}"] for name in "abc"]) == pytest.approx(expected, abs=1e-15)


def test_an_archive_keeps_its_labels_clusters_weights_and_threshold(tmp_path: Path) -> None:
    arrays: dict[str, Any] = {
        "labels": np.array([1, 0]),
        "clusters": np.array(["x", "y"]),
        "weights": np.array([1.0, 2.0]),
    }
    np.savez(tmp_path / "in.npz", probs=[[0.5, 0.5], [0.25, 0.75]], threshold=0.01, **arrays)
    opened = open_scores(tmp_path / "in.npz")
    assert opened.threshold == 0.01
    opened.rewrite(tmp_path / "out.parquet", lambda q, _: q, note="same")
    again = next(iter(open_predictions(tmp_path / "out.parquet").batches(items=False)))
    assert again.label.tolist() == [1, 0]
    assert again.weight is not None
    assert again.weight.tolist() == [1.0, 2.0]
    assert again.cluster is not None
    assert again.cluster.tolist() == [0, 1]
    assert again.score.tolist() == [[0.5, 0.5], [0.25, 0.75]]


def test_a_folder_of_files_is_rewritten_as_one_table_and_its_files_stay(
    table: pa.Table, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    parts = tmp_path / "parts"
    parts.mkdir()
    for part in range(2):
        pq.write_table(table.slice(500 * part, 500), parts / f"{part}.parquet")
    assert open_scores(parts).rewrite(tmp_path / "new.parquet", squared, note="n") == 1000
    assert pq.read_table(tmp_path / "new.parquet")["item"].to_pylist() == list(range(1000))
    (tmp_path / "new.parquet").unlink()
    for name in ("1.parquet", "2.parquet"):
        with pytest.raises(InputError, match="the output would be in the folder that is read"):
            open_scores(parts).rewrite(parts / name, squared, note="n")
    assert sorted(each.name for each in parts.iterdir()) == ["0.parquet", "1.parquet"]
    with pytest.raises(InputError, match="the output would be in the folder that is read"):
        open_scores(tmp_path).rewrite(tmp_path / "3.parquet", squared, note="n")  # its files are all in parts
    bad = table.set_column(1, "score", pa.array([0.5] * 3 + [1.5] * 997)).slice(0, 500)
    pq.write_table(bad, parts / "1.parquet")
    with pytest.raises(InputError, match=r"1\.parquet, row 4, column score: 1\.5 is not"):
        open_scores(parts).rewrite(tmp_path / "other.parquet", squared, note="n")
    assert not (tmp_path / "other.parquet").exists()
    assert capfd.readouterr().err == ""


def test_a_class_may_be_a_full_stop(tmp_path: Path) -> None:
    """A word for a missing value is refused as a name of an item or a cluster, not as a tag."""
    path = tmp_path / "tags.csv"
    path.write_text("class,score,label\n.,0.2,0\nNN,0.9,1\n-,0.4,1\n")
    assert open_scores(path).rewrite(tmp_path / "new.csv", squared, note="squared") == 3
    rows = (tmp_path / "new.csv").read_text().split()
    assert [row.split(",")[0].strip('"') for row in rows[1:]] == [".", "NN", "-"]
