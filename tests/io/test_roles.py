"""Columns are found, checked and read by what they are for, whatever table they are in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from calibrant.exceptions import InputError
from calibrant.io.roles import Role, find, open_table, read

ROLES = [
    Role("item", once=True),
    Role("score", "score"),
    Role("label", "label", gaps=True),
    Role("cluster", needed=False),
]
ROWS: dict[str, list[Any]] = {"item": [7, 8, 9], "score": [0.5, 0.25, 1.0], "label": [1, None, 0]}


def told(source: Any, roles: list[Role]) -> str:
    with pytest.raises(InputError) as caught:
        read(source, roles)
    return str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "folder", "pandas", "polars", "lazy"])
def test_every_kind_of_table_gives_the_same_columns(kind: str, tmp_path: Path) -> None:
    frame = pl.DataFrame(ROWS)
    path = tmp_path / f"a.{kind}"
    source: Any = {"pandas": pd.DataFrame(ROWS), "polars": frame, "lazy": frame.lazy()}.get(kind, path)
    if kind in ("csv", "tsv"):
        frame.write_csv(path, separator="," if kind == "csv" else "\t")
    elif kind == "jsonl":
        frame.write_ndjson(path)
    elif kind == "parquet":
        frame.write_parquet(path)
    elif kind == "folder":
        path.mkdir()
        for part in range(3):
            frame[part : part + 1].write_parquet(path / f"{part}.parquet")
    found = read(source, ROLES)
    assert found.names["item"] == ("7", "9")
    assert (found["score"].tolist(), found["label"].tolist()) == ([0.5, 1.0], [True, False])
    assert (found["item"].tolist(), found.texts("item").tolist()) == ([0, 1], ["7", "9"])
    assert (found.left_out, "cluster" in found, found.get("cluster")) == (1, False, None)
    first = open_table(source).first_row
    assert found.rows.tolist() == [first, first + 2]


def test_an_optional_column_is_needed_once_it_is_named() -> None:
    table = open_table(pa.table({"score": [0.5], "group": ["a"]}))
    assert list(find(table, [Role("cluster", needed=False)])) == []
    assert find(table, [Role("cluster", column="group", needed=False)])["cluster"].name == "group"
    with pytest.raises(
        InputError, match="no column 'text': name it with `cluster`; the columns are score, g"
    ):
        find(table, [Role("cluster", column="text", needed=False)])


@pytest.mark.parametrize(
    ("columns", "name", "meant"),
    [
        (["Score", "y"], "score", "Score"),
        (["scores", "y"], "score", "scores"),
        ([" score", "y"], "score", " score"),
        (["probability", "y"], "score", None),
    ],
)
def test_a_column_with_nearly_the_name_is_offered(columns: list[str], name: str, meant: str | None) -> None:
    message = told(pa.table({each: [1] for each in columns}), [Role("score", "score", name)])
    offer = "" if meant is None else f"did you mean {meant!r}? N"
    assert f"there is no column 'score': {offer or 'n'}ame it with `score`; the columns are" in message


def test_a_column_that_is_asked_for_as_something_else_is_not_offered() -> None:
    roles = [Role("p_first", "score"), Role("p_second", "score"), Role("p_secund", "score")]
    assert "did you mean" not in told(pa.table({"p_first": [0.5], "p_second": [0.5]}), roles)


def test_a_column_has_one_role_unless_it_groups() -> None:
    table = pa.table({"day": ["mon"], "item": ["a"]})
    shared = [Role("item"), Role("cluster", column="item"), Role("document", column="item")]
    assert read(table, shared)["cluster"].tolist() == [0]
    message = "column 'item' is used for both item and annotator: name another column with `annotator`"
    assert message in told(table, [Role("item"), Role("annotator", column="item")])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"item": [7, 8, 7]}, "row 2, column item: item '7' is also in row 0: keep one row per item"),
        ({"item": ["a", "", "c"]}, "row 1, column item: the value is missing"),
        ({"item": [7.0, float("nan"), 8.0]}, "row 1, column item: the value is missing"),
        ({"score": [0.5, None, 1.5]}, "row 1, column score: the value is missing"),
        ({"score": [0.5, 0.5, 1.5]}, "row 2, column score: 1.5 is not a probability"),
        ({"label": [None, None, 2]}, "row 2, column label: label 2 is not 0 or 1"),
        ({"label": ["", "", "x"]}, "row 2, column label: label 'x' is not 0 or 1"),
    ],
    ids=["twice", "blank", "nan", "gap", "range", "label", "word"],
)
def test_a_value_that_does_not_fit_its_role_is_named_by_its_row(change: dict[str, Any], said: str) -> None:
    roles = [*ROLES[:2], Role("label", "label", gaps="label" in change)]
    assert said in told(pa.table({**ROWS, "label": [1, 1, 0], **change}), roles)


def test_a_column_of_gaps_alone_and_a_table_without_rows_are_refused() -> None:
    empty = pa.table({name: pa.array([], pa.int64()) for name in ROWS})
    assert "there are no rows" in told(empty, ROLES)
    blank = pa.table({**ROWS, "label": ["", None, ""]})
    assert "column label: there is no value in any row" in told(blank, ROLES)


def test_an_error_in_a_folder_names_the_file_and_its_row(tmp_path: Path) -> None:
    for part in range(3):
        pq.write_table(pa.table({"item": [part, part % 2 + 10]}), tmp_path / f"{part}.parquet")
    message = told(tmp_path, [Role("item", once=True)])
    assert f"{tmp_path}/2.parquet, row 2, column item: item '10' is also in row 2 of {tmp_path}/0" in message
