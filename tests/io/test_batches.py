"""A long table is read item by item as the wide table of the same scores, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv as pa_csv
from pyarrow import parquet as pq

from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.verbs import measure

CLASSES = ("N", "V", "D")


def columns(n: int = 50, **more: list[Any]) -> dict[str, list[Any]]:
    """Return rows of n items, each with its classes in a random order."""
    random = np.random.default_rng(1)
    order = [random.permutation(3) for _ in range(n)]
    order[0] = np.arange(3)
    prob, gold = random.dirichlet(np.ones(3), n), random.integers(-1, 3, n)
    return {
        "score": [prob[item, code] for item in range(n) for code in order[item]],
        "label": [int(gold[item] == code) for item in range(n) for code in order[item]],
        "class": [CLASSES[code] for item in range(n) for code in order[item]],
        "item": [f"i{item}" for item in range(n) for _ in CLASSES],
        "cluster": [f"c{item // 4}" for item in range(n) for _ in CLASSES],
        **more,
    }


@pytest.mark.parametrize("size", [1, 2, 3, 7, 10_000])
def test_each_item_is_a_row_wherever_batches_end(size: int) -> None:
    rows = columns()
    wide = open_predictions(pa.table(rows)).by_item()
    batches = list(wide.batches(size, items=True))
    score = np.concatenate([batch.score for batch in batches])
    label = np.concatenate([batch.label for batch in batches])
    assert (wide.form, wide.classes, score.shape) == ("wide", CLASSES, (50, 3))
    for place in range(150):
        item, code = place // 3, CLASSES.index(rows["class"][place])
        assert score[item, code] == rows["score"][place]
        assert (label[item] == code) == bool(rows["label"][place])
    assert (label == -1).any()
    names = [wide.items[code] for batch in batches if batch.item is not None for code in batch.item]
    assert names == [f"i{item}" for item in range(50)]
    clusters = [
        wide.clusters[code] for batch in batches if batch.cluster is not None for code in batch.cluster
    ]
    assert clusters == [f"c{item // 4}" for item in range(50)]


def changed(name: str, value: Any, *, place: int = 34) -> dict[str, list[Any]]:
    rows = columns()
    rows[name][place] = value
    return rows


@pytest.mark.parametrize("size", [5, 10_000])
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            {name: values[:-1] for name, values in columns().items()},
            "item i49: it has 2 scores, and earlier items",
        ),
        (
            changed("item", "i0"),
            "item i11: it has 1 scores|item 'i0' has class '[NVD]' twice",
        ),
        (changed("class", "X"), "item i11: its classes differ from those of earlier items"),
        (changed("score", 1.0), "item i11: its scores add up to 1.* not 1"),
        (changed("cluster", "c9"), "item i11: its rows differ in cluster"),
        (columns(label=[1] * 150), "item i0: it has more than one gold class"),
    ],
    ids=["incomplete", "apart", "class", "sum", "cluster", "gold"],
)
def test_rows_that_are_not_whole_items_are_refused(
    rows: dict[str, list[Any]], message: str, size: int
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        list(open_predictions(pa.table(rows)).by_item().batches(size))
    assert caught.value.code in ("view", "duplicate")


@pytest.mark.parametrize("ending", ["parquet", "csv", "frame"])
def test_an_item_that_has_a_class_twice_is_refused(ending: str, tmp_path: Path) -> None:
    rows = {"item": [0, 0, 1, 1, 2, 2], "class": ["a", "b"] * 3, "score": [0.2, 0.8, 0.6, 0.4, 0.3, 0.7]}
    table = pa.table({**rows, "label": [0, 1, 1, 0, 0, 1]})
    for doubled in (0, 3, 5):
        again = pa.concat_tables([table, table.slice(doubled, 1)])
        pq.write_table(again, tmp_path / "a.parquet")
        pa_csv.write_csv(again, tmp_path / "a.csv")
        source = again if ending == "frame" else tmp_path / f"a.{ending}"
        with pytest.raises(InputError, match=rf"item '?{doubled // 2}'? has class '[ab]' twice") as error:
            measure(source, view="pooled")
        assert error.value.code == "duplicate"


def test_a_class_that_is_written_again_in_the_next_batch_is_found(tmp_path: Path) -> None:
    rows = {"item": [0, 0, 1, 1, 1], "class": ["a", "b", "a", "b", "a"], "score": [0.2, 0.8, 0.6, 0.4, 0.3]}
    pq.write_table(pa.table({**rows, "label": [0, 1, 1, 0, 0]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="item 1 has class 'a' twice"):
        list(open_predictions(tmp_path / "a.parquet").batches(2, items=True))
    assert len(open_predictions(tmp_path / "a.parquet").read()) == 5


def test_rows_of_an_item_that_are_not_adjacent_are_refused() -> None:
    order = [0, 1, 3, 4, 5, 2, 6, 7, 8]
    rows = {name: [values[row] for row in order] for name, values in columns(3).items()}
    with pytest.raises(InputError, match="item i0: its rows are not adjacent: sort the table by item"):
        list(open_predictions(pa.table(rows)).by_item().batches(10))
