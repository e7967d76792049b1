"""Notes on rows of the test table that are in the table to which the maps were fitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from pyarrow import parquet as pq

from calibrant.io import open_predictions
from calibrant.verbs import comparing, report
from calibrant.verbs.comparing import SAME_DATA as SAME
from calibrant.verbs.comparing import overlap_note


def judged(n: int, seed: int, name: str = "i", digits: int = 15) -> pa.Table:
    """Return calibrated scores of named items."""
    rng = np.random.default_rng(seed)
    score = rng.uniform(0.02, 0.98, n).round(digits)
    items = [f"{name}{place}" for place in range(n)]
    return pa.table({"item": items, "score": score, "label": (rng.random(n) < score).astype(int)})


def confident(n: int, seed: int) -> pa.Table:
    """Return the few confidences that a language model states, for items that are numbered."""
    rng = np.random.default_rng(seed)
    score = rng.choice([0.8, 0.9, 0.95, 0.99, 1.0], n, p=[0.1, 0.2, 0.5, 0.1, 0.1])
    return pa.table(
        {"item": np.arange(n), "score": score, "label": (rng.random(n) < score - 0.05).astype(int)}
    )


def distribution(n: int, seed: int) -> pa.Table:
    """Return overconfident probabilities of three classes, one row per item."""
    rng = np.random.default_rng(seed)
    logit = rng.normal(size=(n, 3))
    true = (logit + rng.gumbel(size=(n, 3))).argmax(axis=1)
    sharp = np.exp(2 * logit) / np.exp(2 * logit).sum(axis=1, keepdims=True)
    scores = {f"p_{name}": sharp[:, place] for place, name in enumerate("abc")}
    return pa.table({**scores, "label": np.array(list("abc"))[true]})


def with_classes(n: int, seed: int) -> pa.Table:
    """Return the same with one row per item and class; items are numbered."""
    wide = distribution(n, seed)
    score = np.column_stack([wide[f"p_{name}"].to_numpy() for name in "abc"])
    label = np.array(wide["label"].to_pylist())[:, None] == np.array(list("abc"))
    item = np.repeat(np.arange(n), 3)
    return pa.table({"item": item, "class": list("abc") * n, "score": score.ravel(), "label": label.ravel()})


def overlap(test: Any, dev: Any, method: Any = "platt") -> list[str]:
    return [note for note in report(test, method=method, dev=dev).notes if "underestimated" in note]


def test_a_report_notes_that_dev_in_another_format_is_the_test_table(tmp_path: Path) -> None:
    table = judged(300, 50)
    csv.write_csv(table, tmp_path / "dev.csv")
    narrow = table.set_column(1, "score", table["score"].cast(pa.float32()))
    pq.write_table(narrow, tmp_path / "test.parquet")
    assert overlap(tmp_path / "test.parquet", tmp_path / "dev.csv") == [SAME]
    assert overlap(table, table) == [SAME]
    unnamed = table.drop_columns("item")
    shuffled = unnamed.take(np.random.default_rng(0).permutation(300))
    assert overlap(unnamed, shuffled) == [SAME]
    few = confident(300, 51)
    assert overlap(few, few) == [SAME]
    assert overlap(few.drop_columns("item"), few.drop_columns("item")) == [SAME]
    wide = distribution(300, 52)
    assert overlap(wide, wide.select(wide.column_names[::-1]), "temperature") == [SAME]


def test_a_report_counts_the_items_that_are_also_in_dev() -> None:
    dev = judged(1000, 53)
    test = pa.concat_tables([dev.slice(100, 600), judged(200, 54, "other")])
    said = "600 of 800 items of the test table are in dev: the maps were fitted to them, so"
    assert overlap(test, dev) == [f"{said} their errors here are underestimated."]


@pytest.mark.parametrize("digits", [15, 4, 2])
def test_items_that_are_numbered_from_1_in_each_table_are_not_the_same(digits: int) -> None:
    dev, test = judged(2000, 55, digits=digits), judged(700, 56, digits=digits)
    assert overlap(test, dev) == []
    assert overlap(test.drop_columns("item"), dev.drop_columns("item")) == []
    assert overlap(with_classes(200, 57), with_classes(300, 58)) == []
    assert overlap(with_classes(200, 57), with_classes(300, 57)) == []
    assert overlap(with_classes(200, 57), with_classes(200, 57)) == [SAME]


@pytest.mark.parametrize("n", [30, 800])
@pytest.mark.parametrize(
    "by", [[], [("score", "ascending")], [("score", "ascending"), ("label", "ascending")]]
)
def test_few_distinct_scores_do_not_look_like_the_same_data(n: int, by: list[Any]) -> None:
    for seed in range(20 if n == 30 else 2):
        tables = [
            table.sort_by(by) if by else table for table in (confident(n, seed), confident(n, seed + 100))
        ]
        for left_out in ([], ["item"]):
            one, other = (open_predictions(table.drop_columns(left_out)) for table in tables)
            assert overlap_note(one, other) is None


def test_large_tables_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "MOST", 299)
    assert overlap(judged(300, 50), judged(300, 50)) == []
