from __future__ import annotations

from itertools import product

import pyarrow.parquet as pq
import pytest

from calibrant import InputError
from calibrant.data import MODELS, SETS, SPLITS, predictions

ITEMS = {("dated", "test"): 6_004, ("dated", "dev"): 3_202, ("100k", "test"): 28_902, ("100k", "dev"): 9_634}


@pytest.mark.parametrize(("text_set", "model", "split"), [*product(SETS, MODELS, SPLITS)])
def test_each_table_holds_every_item_once_with_balanced_labels(text_set: str, model: str, split: str) -> None:
    table = pq.read_table(predictions(text_set, model, split))
    assert table.column_names == ["item", "score", "label"]
    n = ITEMS[text_set, split]
    assert table["item"].to_pylist() == list(range(1, n + 1))
    assert sum(table["label"].to_pylist()) == n / 2
    scores = table["score"].to_numpy()
    assert 0 < scores.min() < scores.max() < 1


def test_both_models_of_a_set_have_the_same_labels() -> None:
    for text_set, split in product(SETS, SPLITS):
        first, second = (pq.read_table(predictions(text_set, model, split))["label"] for model in MODELS)
        assert first == second


def test_what_ships_is_small() -> None:
    folder = predictions().parent
    assert sum(path.stat().st_size for path in folder.glob("*.parquet")) < 800_000


def test_an_unknown_table_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="model is 'bert': use one of naive-bayes"):
        predictions(model="bert")
