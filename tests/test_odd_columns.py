"""Columns of every Arrow type, texts that are no Unicode, numbers of thousands of digits: read or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import parquet as pq

import calibrant
from calibrant import verbs
from calibrant.exceptions import InputError
from calibrant.io import open_predictions, save_recalibrator
from calibrant.metrics import Tally
from calibrant.recalibrate import Isotonic, Shared, VectorScaling
from calibrant.structures import read_documents, read_tagged

N = 24
HALF = "a\ud800"
MANY = "1" * 5001
NAMES = pa.array([f"n{i // 4}" for i in range(N)])
BROKEN = pa.array([b"a\xff" if i == 7 else b"a" for i in range(N)])
CODED = BROKEN.dictionary_encode()
LONG = {"score": pa.array(np.linspace(0.02, 0.98, N)), "label": pa.array(np.arange(N) % 2)}
TABLES: dict[str, tuple[dict[str, Any], Callable[[Any], Any]]] = {
    "cluster": ({**LONG, "cluster": NAMES}, verbs.measure),
    "class": ({**LONG, "class": NAMES}, verbs.measure),
    "part": ({**LONG, "part": NAMES}, lambda source: verbs.slices(source, "part")),
    "label": (
        {"p_n0": LONG["score"], "p_n1": pc.subtract(1, LONG["score"]), "label": pa.array(["n0", "n1"] * 12)},
        verbs.measure,
    ),
    "annotator": (
        {"item": pa.array(np.arange(N) // 2), "annotator": pa.array(["a", "b"] * 12), "label": NAMES},
        calibrant.agree,
    ),
    "system": (
        {"item": pa.array(np.arange(N) // 2), "system": pa.array(["a", "b"] * 12), "score": LONG["score"]},
        calibrant.compare,
    ),
}
SAME: dict[str, Callable[[pa.Array], pa.Array]] = {
    "large_string": lambda names: names.cast(pa.large_string()),
    "string_view": lambda names: names.cast(pa.string_view()),
    "run_end_encoded": pc.run_end_encode,
    "dictionary": lambda names: names.dictionary_encode(),
    "dictionary of views": lambda names: pa.DictionaryArray.from_arrays(
        names.dictionary_encode().indices, names.dictionary_encode().dictionary.cast(pa.string_view())
    ),
}
NOTHING: dict[str, Callable[[pa.Array], pa.Array]] = {
    "list": lambda names: pa.array([[name] for name in names.to_pylist()]),
    "large_list": lambda names: pa.array([[name] for name in names.to_pylist()], pa.large_list(pa.string())),
    "struct": lambda names: pa.array([{"a": name} for name in names.to_pylist()]),
    "month_day_nano": lambda names: pa.array([pa.MonthDayNano([1, 2, 3])] * len(names)),
}


def sources(columns: dict[str, Any], folder: Path) -> list[Any]:
    """A table as a frame, and in the files whose format knows its types."""
    table = pa.table(columns)
    with pa.ipc.new_file(str(folder / "a.arrow"), table.schema) as writer:
        writer.write_table(table)
    found = [table, folder / "a.arrow"]
    try:
        pq.write_table(table, folder / "a.parquet")
        found.append(folder / "a.parquet")
    except pa.ArrowNotImplementedError:
        pass
    return found


def without_file(found: Any) -> Any:
    """A record without the name of its file."""
    if isinstance(found, dict):
        return {key: without_file(value) for key, value in found.items() if key != "file"}
    return [without_file(value) for value in found] if isinstance(found, list) else found


@pytest.mark.parametrize("kind", SAME)
@pytest.mark.parametrize("column", TABLES)
def test_names_in_any_layout_are_the_same_names(column: str, kind: str, tmp_path: Path) -> None:
    columns, read = TABLES[column]
    expected = without_file(read(pa.table(columns)).to_dict())
    for source in sources({**columns, column: SAME[kind](columns[column])}, tmp_path):
        assert without_file(read(source).to_dict()) == expected


@pytest.mark.parametrize("kind", NOTHING)
@pytest.mark.parametrize("column", TABLES)
def test_a_column_that_tells_nothing_apart_is_named(column: str, kind: str, tmp_path: Path) -> None:
    columns, read = TABLES[column]
    for source in sources({**columns, column: NOTHING[kind](columns[column])}, tmp_path):
        with pytest.raises(InputError, match=r"a column of .*(names no|makes no)") as error:
            read(source)
        assert (error.value.column, error.value.code) == (column, "column-type")


@pytest.mark.parametrize("coded", [True, False])
@pytest.mark.parametrize("column", TABLES)
def test_a_text_that_is_not_utf8_is_named_by_row_and_column(column: str, coded: bool, tmp_path: Path) -> None:
    columns, read = TABLES[column]
    texts = pa.Array.from_buffers(pa.string(), N, BROKEN.buffers())
    names = pa.Array.from_buffers(pa.string(), 2, CODED.dictionary.buffers())
    values = pa.DictionaryArray.from_arrays(CODED.indices, names) if coded else texts
    for source in sources({**columns, column: values}, tmp_path):
        with pytest.raises(InputError, match="the text is not UTF-8") as error:
            read(source)
        first = 0 if isinstance(source, pa.Table) else 1
        assert (error.value.row, error.value.column) == (7 + first, column)


@pytest.mark.parametrize("column", TABLES)
def test_an_unknown_time_zone_is_named_with_its_column(column: str, tmp_path: Path) -> None:
    columns, read = TABLES[column]
    numbers = pa.array(np.arange(N), pa.int64())
    times = pa.Array.from_buffers(pa.timestamp("s", tz="Mars/Phobos"), N, numbers.buffers())
    for source in sources({**columns, column: times}, tmp_path):
        with pytest.raises(InputError, match="the time zone 'Mars/Phobos' is not known") as error:
            read(source)
        assert (error.value.column, error.value.code) == (column, "column-type")


@pytest.mark.parametrize("key", ["cluster", "class", "item", "other", HALF])
def test_half_of_a_character_in_a_line_is_refused_by_its_row(key: str, tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"score": 0.5, "label": i % 2, "cluster": "a"} for i in range(9)]
    rows[4][key] = HALF
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError, match="lone surrogate") as error:
        open_predictions(path).read(items=True)
    assert error.value.row == 5


@pytest.mark.parametrize("read", [read_tagged, lambda path: list(read_documents(path))])
@pytest.mark.parametrize("identity", [MANY, f"1-{MANY}", f"{MANY}-2", f"1.{MANY}", f"{MANY}.1"])
def test_an_id_of_thousands_of_digits_is_refused_by_its_line(
    identity: str, read: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / "a.conllu"
    path.write_text(f"{identity}\tI\tI\tPRON\tPRP\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(InputError, match="instead of 1") as error:
        read(path)
    assert error.value.line == 1
    assert len(str(error.value)) < 600


def test_numbers_of_thousands_of_digits_in_options_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("I\tPRP\n")
    with pytest.raises(InputError, match="no column"):
        read_tagged(path, column=MANY)
    with pytest.raises(InputError, match="there is no column"):
        verbs.slices(pa.table(LONG), f"score:{MANY}")


@pytest.mark.parametrize("name", ["probs", "labels", "classes", "clusters", "weights"])
def test_an_array_without_an_axis_is_refused_by_its_shape(name: str, tmp_path: Path) -> None:
    arrays: dict[str, Any] = {"probs": [[0.2, 0.8]] * 4, "labels": [0, 1, 1, -100]}
    arrays |= {"classes": ["x", "y"], "clusters": [1, 1, 2, 2], "weights": [1.0] * 4}
    np.savez(tmp_path / "a.npz", **{**arrays, name: arrays[name][0] if name != "probs" else 0.5})
    with pytest.raises(InputError, match=rf"{name} has (shape \(\)|1 names)"):
        open_predictions(tmp_path / "a.npz").read()


def test_names_that_cannot_be_written_are_refused_before_anything_is_computed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lone surrogate") as error:
        Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.8], clusters=["a", HALF])
    assert error.value.row == 1
    with pytest.raises(InputError, match="lone surrogate"):
        Shared(Isotonic()).fit([0.1, 0.2], [0, 1], ["a", HALF])
    model = VectorScaling(classes=["a", HALF], penalty=1).fit([[0.1, 0.9], [0.6, 0.4]], [0, 1])
    with pytest.raises(InputError, match="lone surrogate"):
        save_recalibrator(model, tmp_path / "a.json")
