"""Entities and pairs of mentions are read back as they were written; what columns cannot hold is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.structures import PairWriter, read_documents, write_coreference
from calibrant.structures.documents import Document, Mention
from calibrant.verbs import measure


def document(mentions: list[Mention], clusters: list[str | None] | None = None, name: str = "d") -> Document:
    return Document(name, [["a", "b c", "d", "e"], ["f"]], mentions, clusters)


def test_predicted_entities_are_written_in_the_place_of_gold_ones(tmp_path: Path) -> None:
    mentions = [Mention(0, 0, 1), Mention(0, 1, 4), Mention(1, 0, 1)]
    texts = [document(mentions, ["x", "x", "y"]), document([], name="e"), document(mentions[:1], name="f")]
    write_coreference(tmp_path / "a.conll", texts, np.array([0, 1, 0, 0], np.int32))
    first, second, third = read_documents(tmp_path / "a.conll")
    assert (first.mentions, first.clusters) == (mentions, ["0", "1", "0"])
    assert (second.mentions, third.clusters) == ([], ["0"])
    assert [list(words) for words in first.sentences] == [["a", "b c", "d", "e"], ["f"]]


def test_gold_entities_are_written_where_no_labels_are_given(tmp_path: Path) -> None:
    mentions = [Mention(0, 0, 1), Mention(0, 1, 4)]
    text = Document("bc/x; part 12", [["a", "b", "c", "d"]], mentions, ["x", None], speakers=["Ann"])
    write_coreference(tmp_path / "a.conll.gz", [text])
    (found,) = read_documents(tmp_path / "a.conll.gz")
    assert (found.name, found.speakers, found.mentions, found.clusters) == (
        text.name,
        ["Ann"],
        mentions[:1],
        ["x"],
    )
    with pytest.raises(InputError, match="document 'd' has no gold entities"):
        write_coreference(tmp_path / "b.conll", [document(mentions)])


@given(data=st.data())
def test_what_brackets_can_tell_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    spans = st.tuples(st.integers(0, 5), st.integers(1, 4)).map(lambda s: Mention(0, s[0], min(6, sum(s))))
    mentions = sorted(data.draw(st.sets(spans, max_size=7)))
    clusters = [data.draw(st.sampled_from("ab")) for _ in mentions]
    text = Document("d", [list("uvwxyz")], mentions, clusters)
    crossing = any(
        one.start < other.start < one.end - 1 and one.end < other.end and entity == same
        for one, entity in zip(mentions, clusters, strict=True)
        for other, same in zip(mentions, clusters, strict=True)
    )
    path = tmp_path_factory.mktemp("columns") / "a.conll"
    if crossing:
        with pytest.raises(InputError, match=r"of entity '[ab]' cross"):
            write_coreference(path, [text])
        assert not path.exists()
    else:
        write_coreference(path, [text])
        (found,) = read_documents(path)
        assert (found.mentions, found.clusters) == (mentions, clusters)


@pytest.mark.parametrize("part", ["dev", "test"])
def test_real_documents_are_read_back(data: Path, tmp_path: Path, part: str) -> None:
    texts = read_documents(data / "ud-english-gum" / f"en_gum-ud-{part}.conllu.gz")
    write_coreference(tmp_path / "a.conll", texts)
    for text, found in zip(texts, read_documents(tmp_path / "a.conll"), strict=True):
        assert (found.name, found.sentences) == (text.name, text.sentences)
        assert (found.mentions, found.clusters, found.speakers) == (
            text.mentions,
            text.clusters,
            text.speakers,
        )


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        pytest.param([document([Mention(0, 0, 1)])], [], "0 labels for 1 mentions", id="labels-missing"),
        pytest.param([document([]), document([])], [], "two documents are named 'd'", id="name-twice"),
        pytest.param([document([Mention(0, 0, 1)])], ["a|b"], r"the entity 'a\|b'", id="entity-with-bar"),
        pytest.param([document([Mention(0, 0, 1)])], [""], "the entity ''", id="entity-empty"),
        pytest.param([Document("d", [["a\tb"]], [])], [], "sentence 0, word 0: 'a\\\\tb'", id="tab"),
        pytest.param([Document("d", [["a", " "]], [])], [], "sentence 0, word 1: ' '", id="empty-word"),
        pytest.param(
            [Document("d\n", [["a"]], [])], [], "cannot be written in columns", id="name-of-two-lines"
        ),
    ],
)
def test_what_columns_cannot_hold_is_refused(
    tmp_path: Path, texts: list[Document], labels: list[str], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        write_coreference(tmp_path / "a.conll", texts, labels)
    assert not list(tmp_path.iterdir())


ENDINGS = ["parquet", "arrow", "csv", "tsv", "jsonl", "csv.gz"]


def write(path: Path, *, labelled: bool = True, threshold: float = 0.0) -> PairWriter:
    random = np.random.default_rng(2)
    with PairWriter(path, labelled=labelled, threshold=threshold) as writer:
        for document, mentions in (("d 1", 5), ("d,2", 2), ("none", 1), ("d3", 12)):
            second, first = np.nonzero(np.tri(mentions, k=-1))
            score = random.random(len(first))
            label = random.random(len(first)) < score if labelled else None
            writer.write(document, first, second, score, label)
    return writer


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_pair_comes_back(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"pairs.{ending}"
    writer = write(path)
    table = open_predictions(path)
    batch = table.read()
    assert (writer.rows, writer.dropped, len(batch), table.threshold) == (77, 0, 77, None)
    assert batch.cluster is not None
    assert np.array(table.clusters)[batch.cluster].tolist() == ["d 1"] * 10 + ["d,2"] + ["d3"] * 66
    assert measure(path)["binary"].clusters == 3


def test_columns_are_as_documented(tmp_path: Path) -> None:
    write(tmp_path / "pairs.parquet", threshold=0.25)
    table = parquet.read_table(tmp_path / "pairs.parquet")
    assert table.column_names == ["score", "label", "cluster", "first", "second"]
    assert table.schema.metadata[b"calibrant.threshold"] == b"0.25"
    first, second = table["first"].to_numpy(), table["second"].to_numpy()
    assert (first < second).all()
    assert table["score"].to_numpy().min() >= 0.25


def test_many_row_groups_hold_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "one.parquet")
    monkeypatch.setattr(PairWriter, "rows_held", 4)
    write(tmp_path / "many.parquet")
    one, many = (parquet.read_table(tmp_path / f"{name}.parquet") for name in ("one", "many"))
    assert one.to_pylist() == many.to_pylist()
    assert parquet.ParquetFile(tmp_path / "many.parquet").num_row_groups == 2


def test_without_labels_there_is_no_such_column_and_measure_says_so(tmp_path: Path) -> None:
    write(tmp_path / "pairs.parquet", labelled=False)
    assert "label" not in parquet.read_table(tmp_path / "pairs.parquet").column_names
    with pytest.raises(InputError, match="label"):
        measure(tmp_path / "pairs.parquet")


def refused(path: Path, message: str, *pairs: Any, **options: Any) -> None:
    with pytest.raises(InputError, match=message), PairWriter(path, **options) as writer:
        writer.write(*pairs)
    assert not path.exists()


def test_bad_pairs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    refused(path, "the score 1.5 is not a probability", "d", [0], [1], [1.5], [1])
    refused(path, "the score nan is not", "d", [0], [1], [np.nan], [1])
    refused(path, "shapes", "d", [0], [1], [0.5, 0.5], [1, 1])
    refused(path, "'d' is given without labels", "d", [0], [1], [0.5])
    refused(path, "'d' is given with labels", "d", [0], [1], [0.5], [1], labelled=False)
    refused(path, "a document has no name", "", [0], [1], [0.5], [1])
    refused(path, "no document has two mentions", "d", [], [], [], [])
    refused(path, "no score reaches the threshold", "d", [0], [1], [0.5], [1], threshold=0.6)
