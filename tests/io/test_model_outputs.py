"""Outputs of Hugging Face models as arrays and data sets, and logs of tokens."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import ipc
from pyarrow import parquet as pq

from calibrant.exceptions import FormatError, InputError
from calibrant.io import Columns, open_predictions
from calibrant.io.converting import write_predictions
from tests.quantities import defined

SAVED = Path(__file__).resolve().parents[1] / "archives" / "logs" / "datasets-5.2.0"


def saved_rows() -> list[dict[str, Any]]:
    with pa.memory_map(str(SAVED / "data-00000-of-00001.arrow")) as source:
        rows: list[dict[str, Any]] = ipc.open_stream(source).read_all().to_pylist()
    return rows


def softmax(logits: Any) -> Any:
    each = np.exp(np.asarray(logits, np.float64))
    return each / each.sum()


def test_tokens_of_a_saved_data_set_are_read_without_those_that_do_not_count() -> None:
    found = open_predictions(SAVED)
    assert found.classes == ("O", "B", "I")
    batch = found.read()
    pairs = [
        (softmax(logits), label, text)
        for text, row in enumerate(saved_rows())
        for logits, label in zip(row["logits"], row["labels"], strict=True)
        if label != -100
    ]
    assert batch.score == pytest.approx(np.array([pair[0] for pair in pairs]))
    assert batch.label.tolist() == [pair[1] for pair in pairs]
    assert defined(batch.cluster).tolist() == [pair[2] for pair in pairs]


def test_padded_arrays_of_a_trainer_say_the_same_as_the_data_set(tmp_path: Path) -> None:
    rows = saved_rows()
    longest = max(len(row["labels"]) for row in rows)
    labels, logits = np.full((len(rows), longest), -100), np.zeros((len(rows), longest, 3))
    for place, row in enumerate(rows):
        labels[place, : len(row["labels"])] = row["labels"]
        logits[place, : len(row["labels"])] = row["logits"]
    np.savez(tmp_path / "out.npz", predictions=logits, label_ids=labels)
    one, other = open_predictions(tmp_path / "out.npz").read(), open_predictions(SAVED).read()
    assert one.score == pytest.approx(other.score)
    assert np.array_equal(one.label, other.label)
    assert defined(one.cluster).tolist() == defined(other.cluster).tolist()


def test_probabilities_named_predictions_are_not_taken_for_logits(tmp_path: Path) -> None:
    np.savez(tmp_path / "out.npz", predictions=np.full((4, 2), 0.5), label_ids=np.zeros(4, int))
    with pytest.raises(
        InputError, match=r"the predictions look like probabilities .*: they are read as logits; name"
    ):
        open_predictions(tmp_path / "out.npz")


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_probabilities_named_logits_are_not_taken_for_logits(tmp_path: Path, kind: type[np.generic]) -> None:
    probs = np.random.default_rng(0).dirichlet(np.ones(3), 30).astype(kind)
    labels = np.zeros(30, int)
    labels[-1] = -100
    columns = {f"logit_{place}": column for place, column in enumerate(probs.T)}
    np.savez(tmp_path / "a.npz", logits=probs, labels=labels)
    np.savez(tmp_path / "b.npz", logits=np.log(probs), labels=labels)
    pq.write_table(pa.table({"logits": probs.tolist(), "labels": labels}), tmp_path / "a.parquet")
    pq.write_table(pa.table({**columns, "label": ["0"] * 30}), tmp_path / "b.parquet")
    lines = [
        {**{name: float(values[row]) for name, values in columns.items()}, "label": "0"} for row in range(30)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name in ("a.npz", "a.parquet", "b.parquet", "a.jsonl"):
        with pytest.raises(
            InputError, match=f"{name}: the logits look like probabilities .*: they are .*name the array"
        ):
            open_predictions(tmp_path / name).read()
    assert open_predictions(tmp_path / "b.npz").read().score == pytest.approx(probs[:-1], abs=1e-6)


def test_rows_of_an_archive_that_do_not_count_have_a_note(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", probs=np.full((4, 2), 0.5), labels=[-100, 0, -100, 1])
    assert open_predictions(tmp_path / "a.npz").notes == (
        "Left out: 2 rows with the label -100, which does not count.",
    )
    np.savez(tmp_path / "b.npz", logits=np.zeros((2, 2, 2)), labels=[[0, -100], [1, 1]])
    assert not open_predictions(tmp_path / "b.npz").notes
    np.savez(tmp_path / "c.npz", probs=np.full((4, 2), 0.5), labels=np.full(4, -100))
    with pytest.raises(InputError, match=r"there are no rows: .* labels of -100 do not count"):
        open_predictions(tmp_path / "c.npz")


def test_labels_of_another_shape_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "out.npz", logits=np.zeros((4, 3, 2)), labels=np.zeros((4, 2), int))
    with pytest.raises(InputError, match=r"labels has shape \(4, 2\) and logits \(4, 3, 2\)"):
        open_predictions(tmp_path / "out.npz")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_text_classification_with_lists_is_read_from_files(tmp_path: Path, ending: str) -> None:
    table = pa.table({"id": ["a", "b"], "probs": [[0.3, 0.7], [0.9, 0.1]], "label": [1, 1]})
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        pq.write_table(table, path)
    else:
        with ipc.new_file(path, table.schema) as file:
            file.write_table(table)
    found = open_predictions(path)
    assert found.read(items=True).score.tolist() == [[0.3, 0.7], [0.9, 0.1]]
    assert found.items == ["a", "b"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"probs": [[0.3, 0.7], [1.0]], "label": [1, 0]},
            "row 2, column probs: 1 scores for 2 classes: write a score for every class",
        ),
        ({"probs": [[0.3, 0.7], None], "label": [1, 0]}, "row 2, column probs: the value is missing"),
        ({"probs": [[1.0], [1.0]], "label": [0, 0]}, "one score per row: write one per class, two or more"),
        ({"probs": [[0.3, None]], "label": [0]}, "row 1, column probs: the value is missing"),
        ({"probs": pa.array([], pa.list_(pa.float64())), "label": pa.array([], pa.int64())}, "are no rows"),
        ({"probs": [[0.3, 0.7]], "label": [2]}, "row 1, column label: label 2 is not a class position"),
        ({"probs": [[0.3, 0.6]], "label": [0]}, "row 1: the class probabilities add up to 0.9"),
        (
            {"probs": [[[0.5, 0.5]] * 2, [[0.3, 0.6]]], "labels": [[1, -100], [0]]},
            "row 2: the class probabilities add up to 0.9",
        ),
        (
            {"logits": [[[0.5, 0.5]] * 2, [[0.3, math.nan]]], "labels": [[1, -100], [0]]},
            "row 2, column logits: class 1: nan is not",
        ),
        ({"probs": [[[0.3, 0.7]] * 2], "labels": [[1, None]]}, "row 1, column labels: the value is missing"),
        ({"probs": [[[0.3, 0.7], None]], "labels": [[1, 0]]}, "row 1, column probs: the value is missing"),
        ({"logits": [[0.3, math.nan]], "label": [0]}, "class 1: nan is not a finite number"),
        ({"probs": [[0.3, 0.7]], "label": [-100]}, "there are no labeled rows"),
        (
            {"probs": [[[0.3, 0.7]]], "labels": [[1, 1]]},
            "row 1, column probs: 1 lists of scores, but 2 labels",
        ),
        (
            {"probs": [[0.3, 0.7]], "labels": [["a"]]},
            "probs is list<.*> and labels is list<.*: write class pos",
        ),
    ],
    ids=[
        "width",
        "null",
        "single",
        "null score",
        "empty",
        "label",
        "sum",
        "sum of a token",
        "nan of a token",
        "label of a token",
        "no scores of a token",
        "nan",
        "ignored",
        "tokens",
        "types",
    ],
)
def test_a_bad_row_of_lists_is_named(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=message):
        open_predictions(tmp_path / "a.parquet").read(items=True)


def test_a_row_of_lists_without_its_name_is_refused_if_rows_are_named(tmp_path: Path) -> None:
    table = {"id": ["a", None], "probs": [[0.3, 0.7]] * 2, "label": [1, 0]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="row 2, column id: the value is missing"):
        open_predictions(tmp_path / "a.parquet").read(items=True)


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ("{", "its state.json is not the file of a saved data set"),
        (
            '{"_data_files": [{"filename": "../a.arrow"}]}',
            "the file '../a.arrow' of the data set is missing",
        ),
        ('{"_data_files": []}', "the data set is empty"),
    ],
    ids=["no-json", "outside", "empty"],
)
def test_a_damaged_data_set_is_refused(tmp_path: Path, state: str, message: str) -> None:
    (tmp_path / "state.json").write_text(state)
    with pytest.raises(InputError, match=message):
        open_predictions(tmp_path)


def tokens(tmp_path: Path, rows: list[dict[str, Any]]) -> Path:
    path = tmp_path / "tokens.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


TOKENS = [("the", "the", 0.9)] * 6 + [
    ("a", "the", 0.4),
    ("a", "a", 0.7),
    ("a", "a", 0.6),
    ("rare", "odd", 0.1),
]


def test_a_token_is_right_if_it_is_the_reference_and_grouped_by_the_references(tmp_path: Path) -> None:
    rows = [{"token": a, "reference": b, "logprob": math.log(p), "document": 1} for a, b, p in TOKENS]
    found = open_predictions(tokens(tmp_path, rows), Columns(cluster="document"))
    batch = found.read()
    assert batch.score == pytest.approx([p for *_, p in TOKENS])
    assert batch.label.tolist() == [a == b for a, b, _ in TOKENS]
    groups = [found.classes[code] for code in defined(batch.class_code)]
    assert groups == ["frequency 1 of 3"] * 6 + ["frequency 2 of 3"] * 3 + ["frequency 3 of 3"]


def test_tokens_in_parquet_with_probabilities_say_the_same(tmp_path: Path) -> None:
    rows = [{"token": a, "reference": b, "score": p} for a, b, p in TOKENS]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    one = open_predictions(tmp_path / "a.parquet").read()
    other = open_predictions(tokens(tmp_path, rows)).read()
    assert np.array_equal(one.score, other.score)
    assert defined(one.class_code).tolist() == defined(other.class_code).tolist()


@pytest.mark.parametrize("value", [0.5, math.nan], ids=["above-0", "nan"])
def test_a_bad_log_probability_of_a_token_is_named(tmp_path: Path, value: float) -> None:
    table = pa.table({"token": ["a", "a"], "reference": ["a", "b"], "logprob": [-0.1, value]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(
        InputError, match=f"row 2, column logprob: the log-probability {value} is not a number"
    ):
        open_predictions(tmp_path / "a.parquet").read()


def test_lists_of_tokens_are_refused_by_their_column(tmp_path: Path) -> None:
    pq.write_table(
        pa.table({"token": [["a"]], "reference": [["a"]], "score": [0.5]}), tmp_path / "tokens.parquet"
    )
    with pytest.raises(InputError, match="column reference: a column of lists or objects contains no tokens"):
        open_predictions(tmp_path / "tokens.parquet").read()


def test_a_table_with_labels_of_its_own_is_no_log_of_tokens(tmp_path: Path) -> None:
    rows = [{"token": "a", "reference": "b", "score": 0.5, "label": 1}]
    assert open_predictions(tokens(tmp_path, rows)).read().label.tolist() == [True]


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    np.savez(tmp_path / "out.npz", logits=np.array([[object()]], dtype=object), labels=np.zeros(1, int))
    with pytest.raises(InputError, match="logits holds Python objects") as caught:
        open_predictions(tmp_path / "out.npz")
    assert not isinstance(caught.value, FormatError)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (
            {"threshold": np.array([0.1, 0.2])},
            r"threshold is not one number in \[0, 1\): store a single number",
        ),
        ({"probs": np.zeros((2, 0))}, "probs is no array, or damaged: write the archive again"),
        ({"weights": np.array([1.0, -1.0])}, "row 2, column weights: -1.0 is not a finite weight >= 0"),
    ],
    ids=["threshold", "probs", "weights"],
)
def test_a_bad_array_of_an_archive_is_named(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    good = {"probs": np.full((2, 2), 0.5), "labels": np.array([0, 1])}
    np.savez(tmp_path / "a.npz", **good | arrays)
    with pytest.raises(InputError, match=message):
        open_predictions(tmp_path / "a.npz").read()


def test_a_data_set_without_lists_of_scores_names_its_columns(tmp_path: Path) -> None:
    table = pa.table({"text": ["a"], "label": [1]})
    with ipc.new_stream(tmp_path / "a.arrow", table.schema) as file:
        file.write_table(table)
    (tmp_path / "state.json").write_text('{"_data_files": [{"filename": "a.arrow"}]}', encoding="utf-8")
    with pytest.raises(InputError, match="no lists of scores; its columns are text, label: it needs one"):
        open_predictions(tmp_path)
    with pytest.raises(InputError, match=r"for one score per row, name its \.arrow file"):
        open_predictions(tmp_path)


def test_a_missing_list_of_scores_is_reported_with_its_row_also_if_it_is_the_first(tmp_path: Path) -> None:
    scores = pa.array([None, [0.25, 0.75]], pa.list_(pa.float64()))
    pq.write_table(pa.table({"logits": scores, "label": [0, 1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="row 1"):
        open_predictions(tmp_path / "a.parquet").read()


def test_a_folder_of_saved_data_sets_names_its_splits(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "state.json").write_text("{}")
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    with pytest.raises(InputError, match=r"name one of them: .*test, .*train$"):
        open_predictions(tmp_path)


def test_tokens_without_rows_are_refused(tmp_path: Path) -> None:
    empty = {"token": pa.array([], pa.string()), "reference": pa.array([], pa.string())}
    pq.write_table(pa.table({**empty, "logprob": pa.array([], pa.float64())}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="there are no rows: write at least one"):
        open_predictions(tmp_path / "a.parquet").read()


@pytest.mark.parametrize("names", [("one.npz", "two.npz"), ("one/test.npz", "two/test.npz")])
def test_texts_of_two_converted_archives_stay_different_clusters(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    logits = np.linspace(-1, 1, 24).reshape(2, 4, 3)
    (tmp_path / "parts").mkdir()
    for place, name in enumerate(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        labels = np.tile([place, 1, 2, -100], (2, 1))
        np.savez(tmp_path / name, predictions=logits, label_ids=labels)
        write_predictions(open_predictions(tmp_path / name), tmp_path / "parts" / f"{place}.parquet")
    found = open_predictions(tmp_path / "parts")
    assert found.read().cluster is not None
    assert len(set(found.clusters)) == 4
    assert all(":" in name for name in found.clusters)


def test_labels_that_are_names_of_classes_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    scores = np.array([[0.25, 0.75], [0.5, 0.5]])
    np.savez(path, probs=scores, labels=np.array(["no", "yes"]), classes=np.array(["no", "yes"]))
    assert open_predictions(path).read().label.tolist() == [0, 1]
    np.savez(path, probs=scores, labels=np.array(["no", "maybe"]), classes=np.array(["no", "yes"]))
    with pytest.raises(
        InputError, match="row 2, column labels: label 'maybe' is not one of the classes no, yes"
    ):
        open_predictions(path).read()


def test_an_archive_of_predicted_classes_or_without_labels_says_what_to_save(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, predictions=np.zeros((4, 3), int), label_ids=np.zeros((4, 3), int))
    with pytest.raises(InputError, match=r"predicted classes \(argmax\): save the scores of all classes"):
        open_predictions(path)
    np.savez(path, predictions=np.zeros((4, 3, 2)))
    with pytest.raises(InputError, match="the archive has predictions without label_ids"):
        open_predictions(path)
    several = np.empty(2, object)
    np.savez(path, predictions=several, label_ids=np.zeros((4, 3), int))
    with pytest.raises(InputError, match=r"often predictions\[0\]"):
        open_predictions(path)


def test_a_folder_of_archives_says_how_to_read_them_together(tmp_path: Path) -> None:
    np.savez(tmp_path / "one.npz", probs=np.full((2, 2), 0.5), labels=[0, 1])
    with pytest.raises(InputError, match=r"write each as \.parquet into a new folder"):
        open_predictions(tmp_path)
