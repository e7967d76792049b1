"""Documents under construction, for the readers of both formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from calibrant.exceptions import FormatError
from calibrant.structures.documents import Document, Tree
from calibrant.structures.files._brackets import Brackets


@dataclass
class Parts:
    """Document under construction; the fields are those of `Document`.

    Attributes
    ----------
    broken
        Function that returns an error for a line, a message and a hint.
    annotated
        True if mentions are annotated, even if there are no mentions.
    bare
        Line of the first sentence without a tree.
    """

    name: str
    broken: Callable[[int, str, str], FormatError]
    brackets: Brackets
    sentences: list[list[str]] = field(default_factory=list)
    trees: list[Tree] = field(default_factory=list)
    speakers: list[str] = field(default_factory=list)
    date: str | None = None
    genre: str | None = None
    annotated: bool = True
    bare: int | None = None

    def takes_tree(self, line: int, has_tree: bool) -> bool:
        """Return ``has_tree``; raise if only some sentences of the document have a tree."""
        if not has_tree:
            self.bare = self.bare or line
        if self.bare is not None and (self.trees or has_tree):
            message = "the sentence has no tree, but other sentences of its document have one"
            raise self.broken(self.bare, message, "parse it, or remove all trees of the document")
        return has_tree

    def document(self) -> Document:
        """Return the finished document."""
        mentions, entities = self.brackets.finish()
        return Document(
            self.name,
            self.sentences,
            mentions if self.annotated else None,
            entities if self.annotated else None,
            self.trees or None,
            self.speakers if any(self.speakers) else None,
            self.date,
            self.genre,
        )


class Shelf:
    """Finished documents, until they are taken, and the names of all documents.

    Parameters
    ----------
    broken
        Function that returns an error for a line, a message and a hint.
    changed
        Counter of mentions that were left out or changed.
    """

    def __init__(self, broken: Callable[[int, str, str], FormatError], changed: Counter[str]) -> None:
        self._broken, self._changed = broken, changed
        self._lines: dict[str, int] = {}
        self.documents: list[Document] = []

    def begin(self, name: str, line: int) -> Parts:
        """Begin a document, whose name is in a line."""
        other = self._lines.setdefault(name, line)
        if other != line:
            message = f"document {name!r} also begins in line {other}"
            raise self._broken(line, message, "give every document a unique name")
        return Parts(name, self._broken, Brackets(self._broken, self._changed))

    def take(self) -> list[Document]:
        """Return and remove the finished documents."""
        taken, self.documents = self.documents, []
        return taken
