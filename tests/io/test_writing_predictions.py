"""Tables that are written batch by batch are read back unchanged in every format, with the same measures."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pyarrow import parquet

from calibrant.exceptions import InputError
from calibrant.io import PredictionWriter, open_predictions
from calibrant.metrics.tally import Tally
from calibrant.records import Quantity
from calibrant.verbs import measure, report
from tests.quantities import defined

ENDINGS = ["parquet", "arrow", "csv", "tsv", "jsonl", "csv.gz", "tsv.gz", "jsonl.gz"]
NOTING = [ending for ending in ENDINGS if not ending.startswith("jsonl")]
TAGS = ["NOUN|Number=Sing", 'a,"b"', "``", "''", '"', "#", " x ", "é=1", "1", "null"]


class Tagged:
    """Made-up marginals of sentences of 1 to 6 tokens."""

    def __init__(self, sentences: int = 40, tags: int = len(TAGS), seed: int = 3) -> None:
        random = np.random.default_rng(seed)
        self.lengths = random.integers(1, 7, sentences)
        self.scores = random.dirichlet(np.full(tags, 0.1), self.lengths.sum())
        self.gold = random.integers(-1, tags, len(self.scores))
        self.clusters = [f"s,{place // 2}" for place in range(sentences)]  # two sentences a document

    def write(self, path: Path, threshold: float = 0.0, batches: int = 3, tags: list[str] = TAGS) -> int:
        with PredictionWriter(path, tags, threshold=threshold) as writer:
            ends = np.concatenate([[0], np.cumsum(self.lengths)])
            for part in np.array_split(np.arange(len(self.lengths)), batches):
                tokens = slice(ends[part[0]], ends[part[-1] + 1])
                writer.write(
                    self.scores[tokens],
                    self.gold[tokens],
                    lengths=self.lengths[part],
                    clusters=self.clusters[part[0] : part[-1] + 1],
                )
        return writer.rows

    @property
    def labels(self) -> NDArray[np.bool_]:
        return np.equal.outer(self.gold, np.arange(self.scores.shape[1]))


@pytest.fixture
def tagged() -> Tagged:
    return Tagged()


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_score_comes_back_bit_by_bit(tmp_path: Path, tagged: Tagged, ending: str) -> None:
    path = tmp_path / f"dev.{ending}"
    rows = tagged.write(path)
    table = open_predictions(path)
    batch = table.read(items=True)
    assert (rows, len(batch), table.threshold, table.form) == (tagged.scores.size, rows, None, "long")
    np.testing.assert_array_equal(batch.score, tagged.scores.ravel())
    np.testing.assert_array_equal(batch.label, tagged.labels.ravel())
    assert table.classes == tuple(TAGS)
    assert batch.class_code is not None
    np.testing.assert_array_equal(batch.class_code, np.tile(np.arange(len(TAGS)), len(tagged.scores)))
    cluster = np.repeat(np.repeat(tagged.clusters, tagged.lengths), len(TAGS))
    np.testing.assert_array_equal(np.array(table.clusters)[defined(batch.cluster)], cluster)
    items = np.repeat(np.arange(1, len(tagged.scores) + 1), len(TAGS))
    np.testing.assert_array_equal(np.array(table.items, int)[defined(batch.item)], items)


@pytest.mark.parametrize("ending", NOTING)
def test_scores_below_the_threshold_are_left_out_and_the_file_says_so(
    tmp_path: Path, tagged: Tagged, ending: str
) -> None:
    path = tmp_path / f"dev.{ending}"
    tagged.scores[0, 0] = 0.07  # a score at the threshold stays
    rows = tagged.write(path, threshold=0.07)
    table = open_predictions(path)
    kept = tagged.scores >= 0.07
    assert (rows, table.threshold) == (kept.sum(), 0.07)
    np.testing.assert_array_equal(table.read().score, tagged.scores[kept])
    np.testing.assert_array_equal(table.read().label, tagged.labels[kept])
    assert rows < tagged.scores.size / 2


def test_tokens_are_numbered_in_their_sentence_and_items_in_the_table(tmp_path: Path) -> None:
    path = tmp_path / "dev.csv"
    with PredictionWriter(path, ["a", "b"], threshold=0.3) as writer:
        writer.write([[0.2, 0.8], [0.5, 0.5]], [1, -1], lengths=[1, 1], clusters=["x", "y"])
        writer.write([[1.0, 0.0], [0.9, 0.1]], [0, 1], lengths=[2], clusters=["z"])
    with path.open(newline="") as file:
        assert next(file) == "# calibrant threshold=0.3\n"
        rows = list(csv.reader(file))
    assert rows == [
        ["score", "label", "class", "cluster", "token", "item"],
        ["0.8", "1", "b", "x", "1", "1"],
        ["0.5", "0", "a", "y", "1", "2"],
        ["0.5", "0", "b", "y", "1", "2"],
        ["1", "1", "a", "z", "1", "3"],
        ["0.9", "0", "a", "z", "2", "4"],
    ]


def test_parquet_holds_codes_for_names_and_numbers_for_the_rest(tmp_path: Path, tagged: Tagged) -> None:
    tagged.write(tmp_path / "dev.parquet", threshold=0.01)
    schema = parquet.read_schema(tmp_path / "dev.parquet")
    assert {field.name: str(field.type) for field in schema} == {
        "score": "double",
        "label": "int8",
        "class": "dictionary<values=string, indices=int32, ordered=0>",
        "cluster": "dictionary<values=string, indices=int32, ordered=0>",
        "token": "int64",
        "item": "int64",
    }
    assert schema.metadata[b"calibrant.threshold"] == b"0.01"


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("threshold", [0.0, 0.02])
def test_batches_change_nothing_and_equal_predictions_give_equal_bytes(
    tmp_path: Path, tagged: Tagged, ending: str, threshold: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    if threshold and ending not in NOTING:
        return
    one, other = tmp_path / f"one.{ending}", tmp_path / f"other.{ending}"
    tagged.write(one, threshold, batches=1)
    tagged.write(other, threshold, batches=17)
    assert one.read_bytes() == other.read_bytes()
    monkeypatch.setattr(PredictionWriter, "rows_held", 64)  # many row groups, and sentences that span them
    tagged.write(other, threshold, batches=2)
    first, second = open_predictions(one), open_predictions(other)
    for name in ("score", "label", "class_code", "cluster"):
        np.testing.assert_array_equal(getattr(first.read(), name), getattr(second.read(), name))
    assert (first.clusters, first.classes) == (second.clusters, second.classes)


def test_measuring_the_file_is_measuring_the_scores(tmp_path: Path, tagged: Tagged) -> None:
    tagged.write(tmp_path / "dev.parquet")
    pooled = measure(tmp_path / "dev.parquet")["pooled"]
    clusters = np.repeat(np.repeat(tagged.clusters, tagged.lengths), len(TAGS))
    tally = Tally.from_arrays(
        y_true=tagged.labels.ravel(), y_prob=tagged.scores.ravel(), clusters=clusters, exact=True
    )
    alone = measure(tally)["binary"]
    assert (pooled.n, pooled.positives) == (tagged.scores.size, (tagged.gold >= 0).sum())
    assert pooled.brier == pytest.approx(alone.brier, rel=1e-12)
    assert pooled.debiased_squared_error.estimate == pytest.approx(
        alone.debiased_squared_error.estimate, rel=1e-9
    )
    assert pooled.interval.clusters == len(set(tagged.clusters))


def test_measuring_knows_the_threshold(tmp_path: Path, tagged: Tagged) -> None:
    tagged.write(tmp_path / "dev.csv", threshold=0.05)
    found = measure(tmp_path / "dev.csv", view=["pooled", "class:NOUN|Number=Sing"])
    assert found.recipe.threshold == 0.05
    assert found["pooled"].n == (tagged.scores >= 0.05).sum()
    assert found["class:NOUN|Number=Sing"].n == (tagged.scores[:, 0] >= 0.05).sum()
    assert found["pooled"].log_loss == Quantity(None, reason="scores below the threshold were dropped")


def test_two_models_of_the_same_tags_are_paired(tmp_path: Path, tagged: Tagged) -> None:
    other = Tagged()
    other.scores = np.random.default_rng(9).dirichlet(np.ones(len(TAGS)), len(other.scores))
    tagged.write(tmp_path / "a.parquet")
    other.write(tmp_path / "b.csv")
    found = report([tmp_path / "a.parquet", tmp_path / "b.csv"], view="pooled")
    assert [(each.view, each.first, each.second) for each in found.differences] == [("pooled", "a", "b")]


# Whole or not at all.


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("before", [False, True])
def test_interrupted_writing_leaves_nothing_and_harms_nothing(
    tmp_path: Path, tagged: Tagged, ending: str, before: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PredictionWriter, "rows_held", 8)
    path = tmp_path / f"dev.{ending}"
    if before:
        path.write_bytes(b"old")

    def interrupted() -> None:
        with PredictionWriter(path, TAGS) as writer:
            writer.write(tagged.scores, tagged.gold, lengths=tagged.lengths, clusters=tagged.clusters)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [each.name for each in tmp_path.iterdir()] == ([path.name] if before else [])
    assert not before or path.read_bytes() == b"old"


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_table_without_rows_is_not_written(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"dev.{ending}"
    with pytest.raises(InputError, match="there are no tokens"), PredictionWriter(path, ["a"]):
        pass
    with (
        pytest.raises(InputError, match="no score reaches the threshold"),
        PredictionWriter(path, ["a", "b"], threshold=0.9) as writer,
    ):
        writer.write([[0.5, 0.5]], [0], lengths=[1], clusters=["s"])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match="cannot write: no such file"),
        PredictionWriter(tmp_path / "none" / "dev.csv", ["a"]),
    ):
        pass


# Tables that cannot be written.


@pytest.mark.parametrize("name", ["dev", "dev.txt", "dev.npz", "dev.parquet.gz", "dev.arrow.gz", "dev.gz"])
def test_an_unknown_kind_of_file_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"end it in \.parquet, \.arrow, \.csv") as caught:
        PredictionWriter(tmp_path / name, ["a", "b"])
    assert caught.value.code == "file-kind"


@pytest.mark.parametrize("threshold", [-0.1, 1.0, float("nan"), float("inf")])
def test_a_threshold_outside_0_to_1_is_an_error(tmp_path: Path, threshold: float) -> None:
    with pytest.raises(InputError, match="the threshold"):
        PredictionWriter(tmp_path / "dev.csv", ["a"], threshold=threshold)


def test_json_lines_refuse_a_threshold_that_they_cannot_note(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="JSON lines cannot store a table's threshold") as caught:
        PredictionWriter(tmp_path / "dev.jsonl.gz", ["a"], threshold=0.1)
    assert caught.value.code == "threshold"


@pytest.mark.parametrize(
    ("name", "classes", "message"),
    [
        ("dev.csv", [], "classes are repeated or none"),
        ("dev.csv", ["a", "a"], "classes are repeated"),
        ("dev.parquet", ["a", ""], "a class has no name"),
        ("dev.tsv", ["a\tb"], "holds a tab"),
    ],
)
def test_classes_that_no_reader_could_tell_apart_are_errors(
    tmp_path: Path, name: str, classes: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        PredictionWriter(tmp_path / name, classes)


GOOD: dict[str, Any] = {"scores": [[0.5, 0.5], [0.1, 0.9]], "gold": [0, 1], "lengths": [2], "clusters": ["s"]}


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"scores": [[0.5], [0.1]]}, "shape", r"scores have shape \(2, 1\): pass \(N, 2\)"),
        ({"scores": [0.5, 0.5]}, "shape", "scores have shape"),
        ({"scores": [[0.5, 0.5], [0.1, 1.1]]}, "score-range", "of token 1 and class 'b' is not a prob"),
        ({"scores": [[0.5, float("nan")], [0.1, 0.9]]}, "score-range", "nan"),
        ({"scores": [[-0.5, 0.5], [0.1, 0.9]]}, "score-range", "of token 0 and class 'a'"),
        ({"gold": [0]}, "length", "2 tokens have 1 gold tags"),
        ({"gold": [0, 2]}, "class-unknown", "the gold tag 2 of token 1"),
        ({"gold": [-2, 1]}, "class-unknown", "the gold tag -2"),
        ({"gold": [0.0, 1.0]}, "shape", "gold has shape"),
        ({"lengths": [1]}, "length", "lengths that add up to 1"),
        ({"lengths": [2, 0], "clusters": ["s", "t"]}, "length", "a sentence has no token"),
        ({"clusters": []}, "length", "0 clusters"),
        ({"clusters": [""]}, "missing-value", "a cluster has no name"),
    ],
)
def test_what_does_not_fit_is_an_error_and_nothing_is_written(
    tmp_path: Path, changed: dict[str, Any], code: str, message: str
) -> None:
    values = {**GOOD, **changed}
    path = tmp_path / "dev.csv"
    with pytest.raises(InputError, match=message) as caught, PredictionWriter(path, ["a", "b"]) as writer:
        writer.write(values["scores"], values["gold"], lengths=values["lengths"], clusters=values["clusters"])
    assert (caught.value.code, caught.value.file) == (code, str(path))
    assert list(tmp_path.iterdir()) == []


def test_rounding_above_1_is_cut(tmp_path: Path) -> None:
    with PredictionWriter(tmp_path / "dev.csv", ["a", "b"]) as writer:
        writer.write(
            [[1 + 2e-16, 0.0], [float(np.float32(1.0000001)), 0.0]], [0, 1], lengths=[2], clusters=["s"]
        )
    assert open_predictions(tmp_path / "dev.csv").read().score.tolist() == [1, 0, 1, 0]


@given(
    score=st.floats(0, 1),
    tag=st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=5
    ).filter(str.strip),  # a blank name is missing
)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_any_score_and_any_tag_survive_the_file(
    tmp_path_factory: pytest.TempPathFactory, ending: str, score: float, tag: str
) -> None:
    path = tmp_path_factory.mktemp("any") / f"dev.{ending}"
    with PredictionWriter(path, [tag, tag + "!"]) as writer:
        writer.write([[score, 0.0]], [1], lengths=[1], clusters=[f"text {tag}"])
    table = open_predictions(path)
    batch = table.read()
    assert batch.score.tolist() == [score, 0.0]
    assert (table.classes, table.clusters) == ((tag, tag + "!"), [f"text {tag}"])


def test_packed_text_is_the_text(tmp_path: Path, tagged: Tagged) -> None:
    tagged.write(tmp_path / "a.jsonl")
    tagged.write(tmp_path / "a.jsonl.gz")
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()) == (tmp_path / "a.jsonl").read_bytes()
