"""`calibrant.evaluation.agree` and `compare` on real text: taggers as annotators, and as systems."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from sklearn.metrics import cohen_kappa_score

from calibrant import evaluation
from calibrant.evaluation import Comparison, agree
from calibrant.evaluation.coefficients import Distance
from calibrant.exceptions import InputError
from calibrant.structures import read_tagged
from calibrant.structures.models import HMMTagger


def compare(source: Any, **options: Any) -> Comparison:
    """Compare a table without tasks and runs."""
    found = evaluation.compare(source, **options)
    assert isinstance(found, Comparison)
    return found


@pytest.fixture(scope="module")
def tags(data: Path) -> dict[str, list[Any]]:
    """Tags of tweets: gold, and of two HMMs."""
    train, test = (read_tagged(data / "twitter-pos" / f"oct27.{part}.tsv.gz") for part in ("train", "test"))
    assert train.tags is not None
    assert test.tags is not None
    found: dict[str, list[Any]] = {"gold": [tag for sentence in test.tags for tag in sentence]}
    for pseudocount in (0.1, 10.0):
        tagger = HMMTagger(pseudocount=pseudocount).fit(train.sentences, train.tags)
        codes = tagger.posterior(test.sentences).viterbi()
        found[f"hmm {pseudocount:g}"] = [tagger.tags[code] for code in codes]
    found["tweet"] = [name for name, sentence in enumerate(test.tags) for _ in sentence]
    return found


def long(tags: dict[str, list[Any]], names: list[str], column: str, value: Any) -> pa.Table:
    items = range(len(tags["gold"]))
    rows = [(item, name, tags["tweet"][item], value(name, item)) for name in names for item in items]
    item, who, cluster, values = zip(*rows, strict=True)
    return pa.table({"item": item, column: who, "cluster": cluster, "label": values, "score": values})


def test_taggers_are_annotators(tags: dict[str, list[Any]]) -> None:
    names = ["gold", "hmm 0.1", "hmm 10"]
    found = agree(long(tags, names, "annotator", lambda name, item: tags[name][item]))
    assert (found.items, found.annotators, found.clusters) == (7152, 3, 500)
    for pair in found.by_pair:
        expected = cohen_kappa_score(tags[pair.first], tags[pair.second])
        assert pair.cohen_kappa.estimate == pytest.approx(expected)


@pytest.mark.parametrize("distance", ["interval", "ratio"])
def test_labels_with_a_distance_are_numbers_however_they_are_written(distance: Distance) -> None:
    names = {"item": [1, 1, 2, 2, 3, 3, 4, 4, 4], "annotator": ["a", "b", "a", "b", "a", "b", "a", "b", "c"]}
    written = ["00", "0", "1.50", "1.5", "2", "+3", "1e1", "10.0", None]
    found = agree(pa.table({**names, "label": written}), distance=distance)
    expected = agree(
        pa.table({**names, "label": [None if each is None else float(each) for each in written]}),
        distance=distance,
    )
    assert found == expected
    assert found.raw_agreement.estimate == 0.75
    assert list(found.labels) == ["0", "1.5", "2", "3", "10"]
    with pytest.raises(InputError, match="'0' and '00' are the same number"):
        agree(pa.table({**names, "label": written}))
    listed = agree(
        pa.table({**names, "label": written}), distance=distance, labels=list(filter(None, written))
    )
    assert listed.raw_agreement.estimate == 0  # labels that the task lists stay apart


def test_taggers_are_compared_on_tweets(tags: dict[str, list[Any]]) -> None:
    names = ["hmm 0.1", "hmm 10"]
    table = long(tags, names, "system", lambda name, item: int(tags[name][item] == tags["gold"][item]))
    found = compare(table, samples=500)
    accuracy = [np.mean(np.array(tags[name]) == np.array(tags["gold"])) for name in names]
    assert [system.mean.estimate for system in found.systems] == pytest.approx(accuracy)
    pair = found.pairs[0]
    assert found.clusters == 500
    assert pair.bootstrap is not None
    assert (pair.bootstrap.difference.low, pair.bootstrap.difference.high) == pytest.approx(
        (pair.difference.low, pair.difference.high), abs=0.004
    )
    assert pair.mcnemar is None
    ignorant = compare(table.drop_columns("cluster"), samples=500).pairs[0]
    assert ignorant.difference.estimate == pytest.approx(pair.difference.estimate)


def test_an_argument_that_is_wrong_is_not_the_tables_fault() -> None:
    table = pa.table({"item": [1, 1], "annotator": ["a", "b"], "label": ["x", "y"]})
    with pytest.raises(InputError, match=r"^level is 2"):
        agree(table, level=2.0)


@pytest.mark.parametrize(
    ("names", "hint"),
    [
        ({"score": "fold"}, "used for both fold and score: name another column with `score`"),
        ({"system": "score"}, "used for both system and score: name another column with `score`"),
        ({"fold": "score"}, "used for both fold and score: name another column with `score`"),
        ({"cluster": "score"}, "used for both score and cluster: name another column with `cluster`"),
    ],
    ids=["score", "system", "fold", "cluster"],
)
def test_a_column_is_one_thing(names: dict[str, Any], hint: str) -> None:
    folds = pa.table({"system": ["a", "a", "b", "b"], "fold": [1, 2, 1, 2], "score": [3.0, 4.0, 2.0, 2.5]})
    with pytest.raises(InputError, match=hint):
        compare(folds, **names)


def test_labels_are_not_read_from_another_column() -> None:
    table = pa.table({"item": [1, 1, 2, 2], "annotator": ["a", "b"] * 2, "label": ["x", "x", "x", "y"]})
    with pytest.raises(InputError, match="column 'annotator' is used for both annotator and label"):
        agree(table, label="annotator")
    assert agree(table, cluster="item").raw_agreement.estimate == 0.5  # an item may be its own cluster


def test_a_power_that_cannot_be_is_refused_for_folds_too() -> None:
    folds = pa.table({"system": ["a", "a", "b", "b"], "fold": [1, 2, 1, 2], "score": [3.0, 4.0, 2.0, 2.5]})
    with pytest.raises(InputError, match=r"power is 2"):
        compare(folds, power=2)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_true_and_false_are_scores_of_1_and_0(ending: str, tmp_path: Path) -> None:
    right = np.random.default_rng(1).random((2, 60)) < [[0.9], [0.6]]
    table = pl.DataFrame(
        {"system": np.repeat(["a", "b"], 60), "item": np.tile(np.arange(60), 2), "score": right.ravel()}
    )
    path = tmp_path / f"right.{ending}"
    getattr(table, {"jsonl": "write_ndjson"}.get(ending, f"write_{ending}"))(path)
    numbers = table.with_columns(pl.col("score").cast(pl.Int64))
    assert compare(path).pairs == compare(numbers).pairs
    with pytest.raises(InputError, match="row 1, column system: 'a' is not a number"):
        compare(path, system="item", item="score", score="system")


def test_agreement_warns_that_it_does_not_use_chances() -> None:
    rows = {"item": [1, 1, 2, 2], "annotator": ["ann", "bob"] * 2, "label": ["x", "x", "x", "y"]}
    assert agree(pa.table(rows)).inclusion_warning is None
    assert "column inclusion_probability" in str(
        agree(pa.table(rows | {"inclusion_probability": [0.1] * 4})).inclusion_warning
    )


@pytest.mark.parametrize(("one", "other"), [("0", "-0"), ("0.0", "-0"), ("-1", "-01")])
def test_labels_that_are_the_same_number_are_refused(one: str, other: str) -> None:
    table = pa.table({"item": ["1", "1"], "annotator": ["a", "b"], "label": [one, other]})
    with pytest.raises(InputError, match="are the same number"):
        agree(table)
