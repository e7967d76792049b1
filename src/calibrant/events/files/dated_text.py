"""A dated document, as readers of files return it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

from calibrant.structures.documents import Document

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class DatedText:
    """Dated document of a file.

    Attributes
    ----------
    id
        Id, unique in the file.
    date
        Day of the document.
    text
        Text of the document; for CoNLL-U, words separated by blanks with one sentence per line.
    title
        Title, empty if there is none.
    document
        Sentences, trees and mentions of CoNLL-U; None for raw text.
    file, line, row
        File, and line or row at which the document begins, for messages. Equality ignores them.
    """

    id: str
    date: date
    text: str
    title: str = ""
    document: Document | None = None
    file: str | None = field(default=None, compare=False)
    line: int | None = field(default=None, compare=False)
    row: int | None = field(default=None, compare=False)


def joined(sentences: Sequence[Sequence[str]]) -> tuple[str, list[list[Span]]]:
    r"""Return a text with one sentence per line, and the character offsets of each word, ends exclusive.

    Examples
    --------
    >>> joined([["They", "left", "."], ["Yes"]])
    ('They left .\nYes', [[(0, 4), (5, 9), (10, 11)], [(12, 15)]])
    """
    spans: list[list[Span]] = []
    place = 0
    for words in sentences:
        spans.append([])
        for word in words:
            spans[-1].append((place, place + len(word)))
            place += len(word) + 1
    return "\n".join(" ".join(words) for words in sentences), spans
