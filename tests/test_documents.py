"""A document's parts fit each other."""

from __future__ import annotations

import pytest

from calibrant.documents import Document, Mention, Tree
from calibrant.exceptions import InputError

SENTENCES = [["Ann", "sleeps"], ["She", "dreams", "."]]


def test_a_mention_is_its_words() -> None:
    document = Document("d", SENTENCES, [Mention(0, 0, 1), Mention(1, 0, 2)])
    assert document.mentions is not None
    assert [document.words(mention) for mention in document.mentions] == [["Ann"], ["She", "dreams"]]


def test_a_document_without_mentions_is_legal() -> None:
    assert Document("d", [], []).mentions == []


@pytest.mark.parametrize(
    ("mentions", "message"),
    [
        pytest.param([(0, 1, 1)], "mention 0 .* is empty", id="empty"),
        pytest.param([(0, 1, 0)], "mention 0 .* runs backwards", id="backwards"),
        pytest.param([(0, -1, 1)], "mention 0 .* runs backwards", id="negative"),
        pytest.param(
            [(0, 1, 3)], "mention 0 .* past the end of its sentence.*has 2 words", id="across-sentences"
        ),
        pytest.param([(2, 0, 1)], "mention 0 .* outside the document.*2 sentences", id="no-such-sentence"),
        pytest.param([(0, 0, 1), (0, 0, 1)], "mention 1 .* is there twice", id="repeated"),
        pytest.param([(1, 0, 1), (0, 0, 1)], "mention 1 .* is out of order", id="unordered"),
    ],
)
def test_a_mention_that_cannot_be_is_refused(mentions: list[tuple[int, int, int]], message: str) -> None:
    with pytest.raises(InputError, match=f"document 'd', {message}"):
        Document("d", SENTENCES, [Mention(*mention) for mention in mentions])


def test_what_describes_other_things_must_be_as_many() -> None:
    with pytest.raises(InputError, match="1 clusters for 0 mentions"):
        Document("d", SENTENCES, [], clusters=["a"])
    with pytest.raises(InputError, match="1 trees for 2 sentences"):
        Document("d", SENTENCES, trees=[Tree([0], ["root"], ["Ann"], ["PROPN"], [""])])
    with pytest.raises(InputError, match="1 speakers for 2 sentences"):
        Document("d", SENTENCES, speakers=["Ann"])
