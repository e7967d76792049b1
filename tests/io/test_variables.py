"""Columns of any kind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from calibrant.exceptions import InputError
from calibrant.io.roles import open_table
from calibrant.io.variables import read_variables, write_columns

NUMBERS = [
    pa.array([1, None, 3]),
    pa.array([1.0, float("nan"), 3.0]),
    pa.array(["1", None, " 3 "]),
    pa.array(["1.0", " ", "3e0"]),
    pa.array(["1", "", "3"]).dictionary_encode(),
    pa.array([1, None, 3], pa.decimal128(5, 2)),
]


@pytest.mark.parametrize("values", NUMBERS, ids=lambda values: str(values.type))
def test_numbers_are_numbers_however_they_are_written(values: pa.Array) -> None:
    column = read_variables(open_table(pa.table({"x": values})), ["x"])["x"]
    assert column.names is None
    assert column.known.tolist() == [True, False, True]
    np.testing.assert_array_equal(column.values, [1, np.nan, 3])


def test_truth_values_are_numbers_and_other_values_names() -> None:
    table = pa.table({"x": [True, None, False], "y": ["1", None, "b"], "z": pa.nulls(3)})
    x, y, z = read_variables(open_table(table), ["x", "y", "z"]).values()
    np.testing.assert_array_equal(x.values, [1, np.nan, 0])
    assert (y.names, y.values.tolist(), y.known.tolist()) == (["1", "b"], [0, -1, 1], [True, False, True])
    assert z.names is None
    assert not z.known.any()


def test_errors_name_the_row(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x,y,z\n1,a,2\nNA,b,inf\n", encoding="utf-8")
    table = open_table(path)
    with pytest.raises(InputError, match="'NA' may be a missing value") as caught:
        read_variables(table, ["x"])
    assert (caught.value.row, caught.value.column) == (2, "x")
    with pytest.raises(InputError, match="inf is not a finite number") as caught:
        read_variables(table, ["z"])
    assert caught.value.row == 2


def test_written_columns_are_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new.parquet"
    write_columns(str(path), "old.csv", {"item": ["a", "b"], "x": np.array([0.1, 1 / 3])})
    item, x = read_variables(open_table(path), ["item", "x"]).values()
    assert item.names == ["a", "b"]
    assert x.values.tolist() == [0.1, 1 / 3]
