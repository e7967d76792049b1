from __future__ import annotations

from typing import Any

from calibrant_studies._tables import table_of


def test_rows_make_intervals_of_lows_and_highs_and_leave_out_what_is_nested() -> None:
    rows: list[dict[str, Any]] = [
        {"a": "x", "low": None, "high": None, "bins": [1]},
        {"a": "y", "low": 0.1, "high": 0.2, "bins": []},
    ]
    table = table_of(rows, name="rows")
    assert [(column.name, column.kind) for column in table.columns] == [
        ("a", "name"),
        ("interval", "interval"),
    ]
    assert table.rows == (("x", None), ("y", (0.1, 0.2)))
    assert table.to_csv() == "a,interval_low,interval_high\r\nx,,\r\ny,0.1,0.2\r\n"
