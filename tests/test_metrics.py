from __future__ import annotations

import json
import math
from typing import Any

import pytest

from calibrant import compare, measure
from calibrant.records import Quantity
from calibrant.records.metrics import metrics_of
from calibrant.results import SliceTables
from calibrant.verbs import slice_tables


def numbers(value: Any) -> int:
    """Count the numbers of plain JSON."""
    if isinstance(value, dict):
        return sum(map(numbers, value.values()))
    if isinstance(value, list):
        return sum(map(numbers, value))
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def test_numbers_are_floats_by_name_and_undefined_ones_are_left_out() -> None:
    found = measure([1, 1, 1, 1], [0.5, 0.9, 0.8, 1.0])
    flat = found.to_metrics()
    assert all(type(value) is float and math.isfinite(value) for value in flat.values())
    assert flat["views/binary/n"] == 4
    assert not any("brier_skill" in name for name in flat)
    assert flat["views/binary/calibration_error_high"] == found["binary"].calibration_error.high
    assert json.loads(json.dumps(flat)) == flat


def test_rows_are_called_by_their_names_and_else_by_their_places() -> None:
    rows = {"score": [0.2, 0.7, 0.9, 0.4] * 20, "label": [0, 1, 1, 0] * 20, "part": ["a", "a", "b", "b"] * 20}
    pandas = pytest.importorskip("pandas")
    tables = slice_tables(pandas.DataFrame(rows), [["part"]])
    assert isinstance(tables, SliceTables)
    flat = tables.to_metrics()
    assert any("/a/" in name for name in flat)
    bins = [name for name in measure(pandas.DataFrame(rows)).to_metrics() if "/bins/0/" in name]
    assert bins
    assert metrics_of(Quantity(0.5, 0.4, 0.6)) == {"": 0.5, "_low": 0.4, "_high": 0.6}


def test_a_comparison_has_the_difference_of_each_pair() -> None:
    table = pytest.importorskip("pandas").DataFrame(
        {
            "system": ["a"] * 6 + ["b"] * 6,
            "item": [*range(6)] * 2,
            "score": [1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 0, 1],
        }
    )
    found = compare(table)
    assert found.to_metrics()["pairs/a b/difference"] == pytest.approx(2 / 6)
