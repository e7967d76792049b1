"""Missing labels and names: one list of how they are written, for every reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import calibrant
from calibrant.exceptions import InputError
from tests.command_line import Run

BLANKS = [" ", "\t ", "\u00a0"]
WORDS = ["NA", "nan", "n/a", "#N/A", "None", "none", "NULL", "null", "<NA>", "-", ".", "?"]
FORMATS = ["csv", "tsv", "jsonl", "parquet", "arrow", "pandas", "Polars"]
AT = 3  # the row with a missing value

Columns = dict[str, list[Any]]


def ratings(column: str, value: str) -> Columns:
    """Return labels of two annotators, of which one row has a given value."""
    columns: Columns = {
        "item": [f"i{row // 2}" for row in range(40)],
        "annotator": ["ann" if row % 2 else "bob" for row in range(40)],
        "label": ["xy"[row * row // 3 % 2] for row in range(40)],
        "cluster": [f"c{row // 4}" for row in range(40)],
    }
    columns[column][AT] = value
    return columns


def pairs(column: str, value: str) -> Columns:
    random = np.random.default_rng(1)
    columns: Columns = {
        "score": random.random(60).round(3).tolist(),
        "label": random.integers(0, 2, 60).tolist(),
        "cluster": [f"c{row // 3}" for row in range(60)],
        "item": [f"i{row // 2}" for row in range(60)],
        "class": ["xy"[row % 2] for row in range(60)],
    }
    columns[column][AT] = value
    if column == "item":  # which is read where no cluster is
        del columns["cluster"], columns["class"]
    return columns


def results(column: str, value: str) -> Columns:
    columns: Columns = {
        "system": ["ab"[row % 2] for row in range(60)],
        "item": [f"i{row // 2}" for row in range(60)],
        "score": np.random.default_rng(2).random(60).tolist(),
        "cluster": [f"c{row // 6}" for row in range(60)],
    }
    columns[column][AT] = value
    return columns


def documents(column: str, value: str) -> Columns:
    columns: Columns = {
        "item": [f"d{row}" for row in range(80)],
        "score": ["xy"[row % 2] for row in range(80)],
        "label": ["xy"[row // 4 % 2] if row % 2 else "" for row in range(80)],
        "cluster": [f"c{row // 4}" for row in range(80)],
    }
    columns[column][AT] = value
    return columns


TABLES = {"agree": ratings, "measure": pairs, "compare": results, "estimate": documents}
OPTIONS = {"estimate": {"view": "class:x"}}
# A class of a prediction table may be a tag such as "." or "-", so that only a blank one is missing.
NAMES = [
    ("agree", "item"), ("agree", "annotator"), ("agree", "cluster"),
    ("measure", "cluster"), ("measure", "item"),
    ("compare", "system"), ("compare", "item"), ("compare", "cluster"),
    ("estimate", "item"), ("estimate", "cluster"),
]  # fmt: skip


def written(columns: Columns, kind: str, folder: Path) -> Any:
    """Write a table in a format, or return it as a dataframe."""
    frame, path = pd.DataFrame(columns), folder / f"t.{kind}"
    if kind == "pandas":
        return frame
    if kind == "Polars":
        return pl.DataFrame(columns)
    if kind in ("csv", "tsv"):
        sign = "," if kind == "csv" else "\t"
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        path.write_text("".join(sign.join(map(str, row)) + "\n" for row in rows))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_dict("records")))
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_feather(path)
    return path


def used(verb: str, column: str, value: str, kind: str, folder: Path) -> Any:
    """Run a verb on a table with a value in one row."""
    table = written(TABLES[verb](column, value), kind, folder)
    return getattr(calibrant, verb)(table, **OPTIONS.get(verb, {}))


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("blank", BLANKS)
@pytest.mark.parametrize("verb", ["agree", "estimate"])
def test_a_blank_label_is_missing_as_an_empty_one(tmp_path: Path, verb: str, blank: str, kind: str) -> None:
    if kind == "tsv" and "\t" in blank:
        blank = "  "
    one, other = (used(verb, "label", value, kind, tmp_path) for value in (blank, ""))
    assert one == other


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(("verb", "column"), [*NAMES, ("measure", "class")])
def test_a_blank_name_is_missing_as_an_empty_one(tmp_path: Path, verb: str, column: str, kind: str) -> None:
    with pytest.raises(InputError, match="the value is missing") as empty:
        used(verb, column, "", kind, tmp_path)
    with pytest.raises(InputError) as blank:
        used(verb, column, "  ", kind, tmp_path)
    assert str(blank.value) == str(empty.value)


@pytest.mark.parametrize("kind", FORMATS)
def test_a_blank_value_is_in_the_slice_of_missing_values(tmp_path: Path, kind: str) -> None:
    columns = pairs("class", "  ")
    columns["group"] = columns.pop("class")
    sliced = calibrant.slices(written(columns, kind, tmp_path), by="group")
    assert {part.slice for part in sliced.slices} == {"x", "y", "(none)"}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("verb", ["agree", "estimate"])
def test_words_for_a_missing_label_are_refused(tmp_path: Path, verb: str, word: str) -> None:
    with pytest.raises(InputError, match="may be a missing value") as error:
        used(verb, "label", word, "csv", tmp_path)
    assert (error.value.row, error.value.column, error.value.code) == (AT + 1, "label", "missing-value")


@pytest.mark.parametrize("kind", FORMATS)
def test_words_for_a_missing_label_are_refused_in_every_format(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match="'None' may be a missing value"):
        used("agree", "label", "None", kind, tmp_path)


@pytest.mark.parametrize("word", ["NA", "None", "<NA>", "?"])
@pytest.mark.parametrize(("verb", "column"), NAMES)
def test_words_for_a_missing_name_are_refused(tmp_path: Path, verb: str, column: str, word: str) -> None:
    with pytest.raises(InputError, match="may be a missing") as error:
        used(verb, column, word, "csv", tmp_path)
    assert (error.value.row, error.value.column, error.value.code) == (AT + 1, column, "missing-value")


def test_tags_such_as_a_full_stop_are_classes(tmp_path: Path) -> None:
    columns = pairs("class", ".")
    assert calibrant.measure(written(columns, "csv", tmp_path), view="pooled").views[0].n == 60


def test_listed_labels_may_be_any_words(tmp_path: Path) -> None:
    table = written(ratings("label", "None"), "csv", tmp_path)
    assert calibrant.agree(table, labels=["x", "y", "None"]).items == 20


def test_agree_says_how_many_items_have_no_label(run: Run, tmp_path: Path) -> None:
    columns = ratings("label", "")
    columns["label"][AT - 1] = ""
    text = run("agree", written(columns, "csv", tmp_path)).out
    assert re.search(r"^  Unlabeled items +1$", text, re.MULTILINE), text
    assert re.search(r"^  Items +19$", text, re.MULTILINE), text
