"""Whole numbers as labels: they are columns of the probabilities, and never other classes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.typing import NDArray

import calibrant
from calibrant import recalibrate
from calibrant.exceptions import InputError
from calibrant.testing import assert_calibrated

# Labels of tokens and pixels that do not count, and one that leaves a gap. The third class does not occur, so
# that there are as many different labels as columns.
IGNORED = -100
STRANGE = [-1, 255, 7]
METHODS = ["Beta", "HistogramBinning", "Isotonic", "MatrixScaling", "Platt", "ScalingBinning", "Temperature"]
METHODS += ["BBQ", "VectorScaling", "VennAbers"]


def predictions(strange: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return labels, of which each third is strange, and probabilities of three classes."""
    random = np.random.default_rng(1)
    prob = random.dirichlet([3, 2, 1], 300)
    labels = np.arange(300) % 2
    labels[::3] = strange
    return labels, prob


def of_two(strange: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return labels 1 and a strange one, and probabilities of two classes."""
    labels, prob = predictions(strange)
    return np.where(labels == 0, strange, labels), prob[:, :2] / prob[:, :2].sum(axis=1, keepdims=True)


SOURCES: dict[str, Callable[[Any, Any], tuple[Any, Any]]] = {
    "arrays": lambda y, p: (y, p),
    "lists": lambda y, p: (y.tolist(), p.tolist()),
    "narrow integers": lambda y, p: (y.astype(np.int16), p),
    "pandas": lambda y, p: (pd.Series(y), pd.DataFrame(p)),
    "pandas with names": lambda y, p: (pd.Series(y), pd.DataFrame(p, columns=[0, 1, 2])),
    "Polars": lambda y, p: (pl.Series(y), pl.DataFrame(p)),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("strange", STRANGE)
def test_measure_refuses_labels_that_are_no_columns(strange: int, source: str) -> None:
    labels, prob = SOURCES[source](*predictions(strange))
    with pytest.raises(InputError, match=f"{strange}"):
        calibrant.measure(labels, prob)


@pytest.mark.parametrize("strange", STRANGE)
def test_measure_refuses_labels_that_are_no_columns_of_two(strange: int) -> None:
    labels, prob = of_two(strange)
    with pytest.raises(InputError, match=f"{strange}"):
        calibrant.measure(labels, prob)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("strange", [IGNORED, *STRANGE])
def test_recalibrators_refuse_labels_that_are_no_columns(strange: int, method: str) -> None:
    labels, prob = predictions(strange)
    with pytest.raises(InputError, match=f"{strange}"):
        getattr(recalibrate, method)().fit(prob, labels)


@pytest.mark.parametrize("strange", STRANGE)
def test_the_other_verbs_of_arrays_refuse_them_too(strange: int) -> None:
    labels, prob = predictions(strange)
    with pytest.raises(InputError, match=f"{strange}"):
        assert_calibrated(labels, prob, max_error=0.99)


@pytest.mark.parametrize("form", [*SOURCES, "frame", "csv", "parquet", "jsonl"])
def test_ignored_labels_are_left_out_of_arrays_and_tables_as_of_archives(tmp_path: Path, form: str) -> None:
    labels, prob = predictions(IGNORED)
    np.savez(tmp_path / "p.npz", probs=prob, labels=labels)
    expected = calibrant.measure(tmp_path / "p.npz")
    if form in SOURCES:
        measured = calibrant.measure(*SOURCES[form](labels, prob))
    else:
        table = pd.DataFrame({"label": labels, **{f"p_{place}": prob[:, place] for place in range(3)}})
        table.to_csv(tmp_path / "p.csv", index=False)
        table.to_parquet(tmp_path / "p.parquet")
        table.to_json(tmp_path / "p.jsonl", orient="records", lines=True, double_precision=15)
        measured = calibrant.measure(table if form == "frame" else tmp_path / f"p.{form}")
    assert [(view.view, view.n, view.positives) for view in measured.views] == [
        (view.view, view.n, view.positives) for view in expected.views
    ]
    assert any(note.startswith("Left out: 100 rows with the label -100") for note in measured.recipe.notes)


@pytest.mark.parametrize("strange", STRANGE)
def test_archives_refuse_other_labels_that_are_no_columns(tmp_path: Path, strange: int) -> None:
    labels, prob = predictions(strange)
    np.savez(tmp_path / "p.npz", probs=prob, labels=labels)
    with pytest.raises(InputError, match=f"row 1, column labels: label {strange} is not a class position"):
        calibrant.measure(tmp_path / "p.npz")


@pytest.mark.parametrize("strange", STRANGE)
def test_names_of_the_columns_allow_any_labels(strange: int) -> None:
    labels, prob = predictions(strange)
    names = [0, 1, strange]
    assert calibrant.measure(labels, prob, classes=names).views[0].n == 300


def test_labels_that_count_from_one_are_the_columns_in_order() -> None:
    labels = 1 + np.arange(300) % 3
    prob = np.random.default_rng(1).dirichlet([3, 2, 1], 300)
    measured = calibrant.measure(labels, prob)
    assert measured.views[0].n == 300
    assert [view.view for view in measured.views[1:4]] == ["class:1", "class:2", "class:3"]


def test_ignored_labels_are_left_out_with_their_clusters_and_weights() -> None:
    labels, prob = predictions(IGNORED)
    kept = labels != IGNORED
    columns: dict[str, Any] = {"clusters": np.arange(300) // 5, "sample_weight": 1.0 + np.arange(300) % 4}
    measured = calibrant.measure(labels, prob, **columns)
    expected = calibrant.measure(
        labels[kept], prob[kept], **{name: values[kept] for name, values in columns.items()}
    )
    assert measured.views == expected.views


def test_labels_that_are_all_ignored_are_refused() -> None:
    with pytest.raises(InputError, match="there are no labeled rows"):
        calibrant.measure([IGNORED] * 3, [[0.5, 0.5]] * 3)


@pytest.mark.parametrize("names", [["a", "b", "c"], [10, 20, 30]])
def test_names_of_columns_and_ignored_labels(names: list[Any]) -> None:
    labels, prob = predictions(IGNORED)
    given = np.where(labels == IGNORED, IGNORED, np.array([10, 20, 30])[np.maximum(labels, 0)])
    labels = labels if names == ["a", "b", "c"] else given
    assert calibrant.measure(labels, prob, classes=names).views[0].n == 200
    if names[0] == 10:
        assert calibrant.measure(given, pd.DataFrame(prob, columns=names)).views[0].n == 200


@pytest.mark.parametrize("to", ["long", "wide"])
def test_ignored_labels_are_left_out_of_converted_tables(tmp_path: Path, to: Any) -> None:
    labels, prob = predictions(IGNORED)
    table = pd.DataFrame({"label": labels, **{f"p_{place}": prob[:, place] for place in range(3)}})
    table["note"] = np.arange(300)
    converted = calibrant.convert(table, tmp_path / "t.csv", to=to)
    assert converted.notes == ("Left out: 100 rows with the label -100, which does not count.",)
    assert converted.rows == (600 if to == "long" else 200)
    expected = np.repeat(np.flatnonzero(labels != IGNORED), 3 if to == "long" else 1)
    assert pd.read_csv(tmp_path / "t.csv")["note"].tolist() == expected.tolist()
