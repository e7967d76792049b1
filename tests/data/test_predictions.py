from __future__ import annotations

from collections import Counter
from itertools import product

import pyarrow.parquet as pq
import pytest

from calibrant import InputError
from calibrant.data import MODELS, SETS, SPLITS, predictions, tag_counts, tagger_predictions
from calibrant.io import open_predictions, read_class_table

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
    assert sum(path.stat().st_size for path in folder.glob("*.parquet")) < 1_600_000


def test_an_unknown_table_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="model is 'bert': use one of naive-bayes"):
        predictions(model="bert")


@pytest.mark.parametrize(("split", "words"), [("dev", 25_147), ("test", 25_094)])
def test_the_taggers_tables_hold_the_likely_tags_of_every_word_and_say_what_they_leave_out(
    split: str, words: int
) -> None:
    table = pq.read_table(tagger_predictions(split))
    assert sorted(set(table["item"].to_pylist())) == list(range(1, words + 1))
    assert table["score"].to_numpy().min() >= 0.01
    assert open_predictions(tagger_predictions(split)).threshold == 0.01
    gold = Counter(
        item
        for item, label in zip(table["item"].to_pylist(), table["label"].to_pylist(), strict=True)
        if label
    )
    assert set(gold.values()) == {1}
    assert 0.97 * words < len(gold) < words


def test_each_tag_of_the_tagger_has_a_count_in_its_training_text() -> None:
    counts = read_class_table(tag_counts())
    tags = set(pq.read_table(tagger_predictions())["class"].to_pylist())
    assert tags <= set(counts)
    assert sum(map(int, counts.values())) == 204_577


def test_an_unknown_split_of_the_tagger_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="split is 'train': use one of test, dev"):
        tagger_predictions("train")
