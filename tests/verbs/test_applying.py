from __future__ import annotations

from pathlib import Path
from typing import Any

import array_api_strict as xp
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from calibrant import InputError, apply, fit, measure
from calibrant.io.saved_recalibrators import SavedRecalibrator

RNG = np.random.default_rng(3)
P = RNG.random(2000)
BINARY = pa.table({"score": P, "label": (RNG.random(2000) < P**2).astype(int), "word": [*"abcd"] * 500})
NAMES = ["x", "y", "z"]
MATRIX = RNG.dirichlet([1.0, 1.0, 1.0], 600)
LOGITS = {f"logit_{name}": np.log(MATRIX[:, place]) for place, name in enumerate(NAMES)}
WIDE = pa.table({"label": [NAMES[RNG.choice(3, p=row)] for row in MATRIX], **LOGITS})


@pytest.fixture(scope="module")
def binary() -> SavedRecalibrator:
    return fit(BINARY, method="beta")


@pytest.fixture(scope="module")
def wide() -> SavedRecalibrator:
    return fit(WIDE, method="temperature")


@pytest.fixture(scope="module")
def written(binary: SavedRecalibrator, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The scores that a file gets."""
    path = tmp_path_factory.mktemp("applied") / "new.parquet"
    apply(binary, BINARY, path)
    return parquet.read_table(path)["score"].to_numpy()


@pytest.mark.parametrize("library", [pd, pl, pa])
def test_a_dataframe_comes_back_in_its_library_with_all_its_columns(
    binary: SavedRecalibrator, written: Any, library: Any
) -> None:
    frame = nw.from_arrow(BINARY, backend=library.__name__).to_native()
    new = apply(binary, frame)
    assert type(new) is type(frame)
    found = nw.from_native(new)
    assert found.columns == ["score", "label", "word"]
    np.testing.assert_array_equal(found["score"].to_numpy(), written)
    assert found["word"].to_list() == [*"abcd"] * 500
    assert measure(new)["binary"].calibration_error.estimate is not None


def test_a_dataframe_keeps_its_index_and_what_no_table_can_hold(binary: SavedRecalibrator) -> None:
    frame = pd.DataFrame({"score": [0.9, 0.1], "thing": [{"a": 1}, 2]}, index=["i", "j"])
    new = apply(binary, frame)
    assert list(new.index) == ["i", "j"]
    assert list(new["thing"]) == [{"a": 1}, 2]
    assert new["score"]["i"] > new["score"]["j"]
    assert frame["score"].tolist() == [0.9, 0.1]


def test_a_file_comes_back_as_a_dataframe_of_the_session(
    binary: SavedRecalibrator, written: Any, tmp_path: Path
) -> None:
    parquet.write_table(BINARY, tmp_path / "test.parquet")
    new = apply(binary, tmp_path / "test.parquet")
    assert isinstance(new, pd.DataFrame)  # the first library that this module has imported
    np.testing.assert_array_equal(new["score"].to_numpy(), written)


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        (list, np.ndarray),
        (np.asarray, np.ndarray),
        (xp.asarray, type(xp.asarray([0.5]))),
        (pl.Series, pl.Series),
        (lambda p: pd.Series(p, index=range(1, 2001), name="p"), pd.Series),
    ],
)
def test_an_array_comes_back_in_its_library(
    binary: SavedRecalibrator, written: Any, made: Any, kind: type
) -> None:
    new = apply(binary, made(P))
    assert type(new) is kind
    np.testing.assert_array_equal(np.asarray(new), written)
    if isinstance(new, pd.Series):
        assert (new.index[0], new.name) == (1, "p")


def test_probabilities_of_two_classes_stay_a_pair(binary: SavedRecalibrator, written: Any) -> None:
    new = apply(binary, np.column_stack([1 - P, P]))
    np.testing.assert_allclose(new[:, 1], written, rtol=1e-12)
    np.testing.assert_allclose(new.sum(axis=1), 1)


def test_logits_of_classes_come_back_as_probabilities(wide: SavedRecalibrator) -> None:
    for new in (apply(wide, WIDE), apply(wide, pl.from_arrow(WIDE))):
        table = nw.from_native(new)
        assert table.columns == ["label", "p_x", "p_y", "p_z"]
        matrix = table.select("p_x", "p_y", "p_z").to_numpy()
        np.testing.assert_allclose(matrix, apply(wide, MATRIX), rtol=1e-9)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (np.full((4, 3), 1 / 3), "the recalibrator is for a long table"),
        ([0.5, 1.5], r"p\[1\] is 1.5, not a probability in"),
        (["a"], "not a table or array of probabilities"),
        (np.zeros((2, 2, 2)), "not a table or array of probabilities"),
        ([[0.2, 0.2]], r"p\[0\] sums to 0.4, not to 1 within 0.01"),
        (7, "not a table or array of probabilities"),
    ],
)
def test_what_is_no_array_of_such_scores_is_refused(
    binary: SavedRecalibrator, source: Any, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        apply(binary, source)


def test_a_matrix_needs_a_column_per_class(wide: SavedRecalibrator) -> None:
    with pytest.raises(InputError, match=r"p has 2 columns, and the recalibrator has 3 classes: .* x, y, z"):
        apply(wide, [[0.5, 0.5]])
    with pytest.raises(InputError, match="the recalibrator is for a wide table, and the table is a long"):
        apply(wide, P)


def test_a_note_that_a_library_cannot_keep_is_not_lost(tmp_path: Path) -> None:
    noted = BINARY.filter(pa.array(P >= 0.1)).replace_schema_metadata({"calibrant.threshold": "0.1"})
    parquet.write_table(noted, tmp_path / "noted.parquet")
    model = fit(noted, method="beta")
    with pytest.raises(InputError, match="a dataframe of pandas cannot record"):
        apply(model, tmp_path / "noted.parquet")
    assert b"calibrant.recalibrated" in apply(model, noted).schema.metadata


@pytest.mark.parametrize("kind", [pa.float64(), pa.int8(), pa.string()])
def test_classes_that_are_whole_numbers_are_the_same_classes_as_floats(kind: pa.DataType) -> None:
    numbers = pa.array([1, 2, 3] * 300)
    score = np.random.default_rng(4).random(900)
    label = (np.random.default_rng(5).random(900) < score / (1 + np.arange(900) % 3)).astype(int)
    table = pa.table({"class": numbers, "score": score, "label": label})
    model = fit(table, method="histogram", group="frequency", groups=2)
    other = table.set_column(0, "class", numbers.cast(kind))
    np.testing.assert_array_equal(apply(model, other)["score"], apply(model, table)["score"])
    assert [view.view for view in measure(other, view="classwise").views] == ["class:1", "class:2", "class:3"]
