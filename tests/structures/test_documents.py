"""A document's parts fit each other."""

from __future__ import annotations

import pytest

from calibrant.exceptions import InputError
from calibrant.structures.documents import Document, Mention, Tree, check_mentions, check_tree

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
        pytest.param([(0, 0, 1), (0, 0, 1)], "mention 1 .* repeats mention 0", id="repeated"),
        pytest.param([(1, 0, 1), (0, 0, 1)], "mention 1 .* is out of order", id="unordered"),
    ],
)
def test_a_mention_that_cannot_be_is_refused(mentions: list[tuple[int, int, int]], message: str) -> None:
    with pytest.raises(InputError, match=f"document 'd', {message}"):
        Document("d", SENTENCES, [Mention(*mention) for mention in mentions])


def test_mentions_in_any_order_are_refused_only_if_one_is_there_twice() -> None:
    mentions = [Mention(1, 0, 1), Mention(0, 0, 1), Mention(0, 1, 2)]
    check_mentions(mentions, None, "d", ordered=False)
    with pytest.raises(InputError, match=r"mention 3 .* repeats mention 0"):
        check_mentions([*mentions, mentions[0]], None, "d", ordered=False)


def tree(heads: list[int]) -> Tree:
    blank = [""] * len(heads)
    return Tree(heads, blank, blank, blank, blank)


@pytest.mark.parametrize(
    ("heads", "row", "message"),
    [
        pytest.param([0, 3], 1, "the head 3 is not a word", id="head-beyond"),
        pytest.param([-1, 0], 0, "the head -1 is not a word", id="head-negative"),
        pytest.param([1, 0], 0, r"heads form a cycle \(1 -> 1\)", id="own-head"),
        pytest.param([2, 1], 0, r"heads form a cycle \(1 -> 2 -> 1\)", id="circle-without-root"),
        pytest.param([0, 1, 5, 3, 4], 2, r"heads form a cycle \(3 -> 5 -> 4 -> 3\)", id="circle-beside-root"),
        pytest.param(
            [2, 3, 2, 0], 1, r"heads form a cycle \(2 -> 3 -> 2\)", id="word-that-hangs-on-a-circle"
        ),
        pytest.param([0], None, "2 words and a tree with 1 heads", id="too-short"),
        pytest.param([], None, "2 words and a tree with 0 heads", id="empty"),
    ],
)
def test_what_is_no_tree_is_refused(heads: list[int], row: int | None, message: str) -> None:
    words = ["w"] * max(2, len(heads))
    with pytest.raises(InputError, match=f"document 'd', sentence 1.*{message}") as caught:
        Document("d", [["a"], words], trees=[tree([0]), tree(heads)])
    assert caught.value.row == row


def test_a_sentence_may_have_several_roots() -> None:
    check_tree(tree([0, 1, 0, 3, 2]), 5, "here")


def test_what_describes_other_things_must_be_as_many() -> None:
    with pytest.raises(InputError, match="1 clusters for 0 mentions"):
        Document("d", SENTENCES, [], clusters=["a"])
    with pytest.raises(InputError, match="1 trees for 2 sentences"):
        Document("d", SENTENCES, trees=[Tree([0], ["root"], ["Ann"], ["PROPN"], [""])])
    with pytest.raises(InputError, match="1 speakers for 2 sentences"):
        Document("d", SENTENCES, speakers=["Ann"])
