"""Parsed sentences in a compact form."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from calibrant.structures.documents import Document, Mention, Tree


def parsed(text: str) -> tuple[list[str], Tree]:
    """Read ``word/lemma/TAG/head/relation`` for each word; ``word/head/relation`` where the rest is plain."""
    rows = []
    for item in text.split():
        parts = item.split("/")
        rows.append(parts if len(parts) == 5 else [parts[0], parts[0].lower(), "NOUN", *parts[1:]])
    words, lemmas, tags, heads, relations = (list(column) for column in zip(*rows, strict=True))
    return words, Tree([int(head) for head in heads], relations, lemmas, tags, [""] * len(words))


def _document(
    sentences: Sequence[str], mentions: Sequence[tuple[int, int, int]], name: str = "d"
) -> Document:
    found = [parsed(sentence) for sentence in sentences]
    return Document(
        name,
        [words for words, _ in found],
        [Mention(*mention) for mention in mentions],
        trees=[tree for _, tree in found],
    )


@pytest.fixture
def document() -> Callable[..., Document]:
    """Make a document of sentences in the compact form, and mentions."""
    return _document
