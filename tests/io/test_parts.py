"""Folders and patterns of Parquet files, and lazy frames, through the workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant.exceptions import InputError
from calibrant.io import Columns, open_predictions
from calibrant.verbs import measure, sources, tally

NAMES = ("a", "b")


@pytest.fixture
def pairs() -> pa.Table:
    draw = np.random.default_rng(8)
    score = np.concatenate([draw.beta(0.3, 1.0, 3000), np.full(400, 0.25)])
    columns = {"score": score, "label": (draw.random(len(score)) < score).astype(np.int8)}
    columns["class"] = np.array(NAMES)[np.arange(len(score)) % 2]
    columns["item"] = np.arange(len(score)) // 2
    return pa.table(columns)


@pytest.fixture
def folder(tmp_path: Path, pairs: pa.Table) -> Path:
    parts = tmp_path / "parts"
    (parts / "later").mkdir(parents=True)
    two = pairs.select(["score", "label"])
    parquet.write_table(two.slice(0, 1000), parts / "1.parquet")
    parquet.write_table(two.slice(1000, 0), parts / "2.parquet")
    parquet.write_table(two.slice(1000), parts / "later" / "3.parquet")
    return parts


@pytest.fixture
def _in_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small a lazy frame is, it stays in its engine."""
    monkeypatch.setattr(sources, "LARGEST_COLLECTED", 0)


def test_a_folder_and_a_pattern_are_one_table(folder: Path, pairs: pa.Table) -> None:
    expected = pairs["score"].to_numpy()
    for source in (folder, f"{folder}/**/*.parquet"):
        found = open_predictions(source)
        assert found.rows == len(expected)
        np.testing.assert_array_equal(found.read().score, expected)
    assert measure(folder).recipe.file == str(folder)


def test_an_error_names_the_file_of_a_folder_and_its_row(folder: Path) -> None:
    file = folder / "later" / "0.parquet"
    parquet.write_table(pa.table({"score": [0.5, 1.5], "label": pa.array([0, 1], pa.int8())}), file)
    with pytest.raises(InputError, match="not a probability") as caught:
        open_predictions(folder).read()
    assert (caught.value.file, caught.value.row, caught.value.column) == (str(file), 2, "score")


@pytest.mark.parametrize(
    ("columns", "words", "code"),
    [
        pytest.param(
            {"score": pa.float32(), "label": pa.int8()},
            "is float in .*9.* and double in",
            "column-type",
            id="type",
        ),
        pytest.param(
            {"score": pa.float64()}, "'label' is in .*1.* and not in .*9", "column-missing", id="missing"
        ),
        pytest.param(
            {"score": pa.float64(), "label": pa.int8(), "task": pa.string()},
            "'task' is in .*9.* and not in .*1",
            "column-missing",
            id="added",
        ),
    ],
)
def test_files_that_disagree_are_both_named(folder: Path, columns: Any, words: str, code: str) -> None:
    empty = pa.schema(list(columns.items())).empty_table()
    parquet.write_table(empty, folder / "later" / "9.parquet")
    for engine in ("kernel", "duckdb"):
        with pytest.raises(InputError, match=words) as caught:
            open_predictions(folder, Columns(engine=engine))
        assert caught.value.code == code


def test_a_pattern_that_fits_nothing_or_too_much_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="no file fits"):
        open_predictions(f"{folder}/*.nothing")
    (folder / "notes.txt").write_text("no table")
    with pytest.raises(InputError, match=r"also fits notes\.txt"):
        open_predictions(f"{folder}/[12n]*")


def test_duckdb_reads_parquet_only(tmp_path: Path) -> None:
    file = tmp_path / "pairs.csv"
    file.write_text("score,label\n0.5,1\n")
    with pytest.raises(InputError, match="something else") as caught:
        measure(file, columns=Columns(engine="duckdb"))
    assert caught.value.code == "file-kind"


@pytest.mark.usefixtures("_in_engine")
def test_files_measured_in_duckdb_give_the_same_numbers(folder: Path) -> None:
    kernel = measure(folder)["binary"]
    inside = measure(folder, columns=Columns(engine="duckdb"), exact=True)["binary"]
    assert inside.tally == "exact"
    np.testing.assert_array_equal(inside.sums.n, kernel.sums.n)
    assert inside.plug_in_calibration_error == pytest.approx(kernel.plug_in_calibration_error, rel=1e-12)
    assert inside.ece == pytest.approx(kernel.ece, rel=1e-12)
    assert inside.brier == pytest.approx(kernel.brier, rel=1e-12)
    assert measure(folder, columns=Columns(engine="duckdb"))["binary"].tally == "compressed"


def test_a_small_lazy_frame_is_measured_from_its_scores(pairs: pa.Table) -> None:
    import polars as pl

    two = pairs.select(["score", "label"])
    assert measure(pl.LazyFrame(pl.from_arrow(two))).to_dict() == measure(two).to_dict()


@pytest.mark.usefixtures("_in_engine")
def test_classes_and_items_of_a_lazy_frame_are_those_of_the_table(pairs: pa.Table) -> None:
    import polars as pl

    frame = pl.LazyFrame(pl.from_arrow(pairs))
    found, expected = measure(frame, exact=True), measure(pairs)
    assert sorted(found.recipe.classes or []) == ["a", "b"]
    for view in ("pooled", "class:a", "class:b"):
        assert (found[view].n, found[view].clusters) == (expected[view].n, expected[view].clusters)
        assert found[view].plug_in_calibration_error == pytest.approx(
            expected[view].plug_in_calibration_error, rel=1e-12
        )
    both = tally(frame, view="pooled"), tally(pairs, view="pooled")
    assert both[0].cluster_names.tolist() == both[1].cluster_names.tolist()
    assert both[0].total_n == both[1].total_n
