"""Entities written as columns are read back, and what columns cannot hold is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calibrant.exceptions import InputError
from calibrant.structures import read_documents, write_coreference
from calibrant.structures.documents import Document, Mention


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
