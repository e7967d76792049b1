"""Documents that are being read: what readers of both formats collect, and the names they have used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from calibrant.exceptions import FormatError
from calibrant.structures.documents import Document, Tree
from calibrant.structures.files._brackets import Brackets


@dataclass
class Parts:
    """A document that is being read; the fields are those of `Document`.

    Attributes
    ----------
    broken
        Makes an error of a line, a message and a hint.
    annotated
        Whether mentions are known, be there any or not.
    bare
        The line of the first sentence without a tree.
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
            message = "the sentence has no tree, and others of its document have one"
            raise self.broken(self.bare, message, "parse it, or leave out the trees of the whole document")
        return has_tree

    def document(self) -> Document:
        """Put it together."""
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
    """The documents that are whole, until they are taken away, and the names of all.

    Parameters
    ----------
    broken
        Makes an error of a line, a message and a hint.
    changed
        A counter for what is left out or changed.
    """

    def __init__(self, broken: Callable[[int, str, str], FormatError], changed: Counter[str]) -> None:
        self._broken, self._changed = broken, changed
        self._lines: dict[str, int] = {}
        self.documents: list[Document] = []

    def begin(self, name: str, line: int) -> Parts:
        """Begin a document, whose name stands in a line."""
        other = self._lines.setdefault(name, line)
        if other != line:
            message = f"document {name!r} is also in line {other}"
            raise self._broken(line, message, "give every document another name")
        return Parts(name, self._broken, Brackets(self._broken, self._changed))

    def put(self, parts: Parts) -> None:
        """Put a whole document away."""
        self.documents.append(parts.document())

    def take(self) -> list[Document]:
        """Take away the documents that are whole."""
        taken, self.documents = self.documents, []
        return taken
