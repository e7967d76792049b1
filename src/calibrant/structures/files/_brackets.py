"""Parts of documents in coreference formats: mentions from the brackets at words, sentences, names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from calibrant.exceptions import FormatError
from calibrant.structures.documents import Document, Mention, Tree

ZERO, DISCONTINUOUS, REPEATED = "zero", "discontinuous", "repeated"
BALANCE = "give every opening bracket one closing bracket, in the same sentence"

PART = re.compile("([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")

Broken = Callable[[int, str, str], FormatError]


class Place(NamedTuple):
    """Position of a bracket.

    Attributes
    ----------
    line
        Line of the file.
    start
        Number of words before it in its sentence: the start of a mention that opens here.
    end
        Number of words up to it: the end of a mention that closes here. Equal to ``start`` at an empty node.
    node
        Number of words and empty nodes before it, by which heads are counted.
    """

    line: int
    start: int
    end: int
    node: int


class Opening(NamedTuple):
    """Opening bracket, with its number in the document.

    ``part`` is "1/2" in a mention of two parts; ``head`` counts from 1, and 0 is unknown.
    """

    number: int
    sentence: int
    place: Place
    part: str
    head: int


class Part(NamedTuple):
    """Contiguous words of a mention in parts, and the number of its nodes, including empty ones."""

    start: int
    end: int
    nodes: int


@dataclass
class Pieces:
    """Mention in parts, of which some have been read."""

    opening: Opening
    entity: str
    count: int
    parts: list[Part]

    def chosen(self) -> Part:
        """Return the part with the head; the longest part if the head is unknown or not a word."""
        rest = self.opening.head
        for part in self.parts:
            if 0 < rest <= part.nodes and part.end > part.start:
                return part
            rest -= part.nodes
        return max(self.parts, key=lambda part: part.end - part.start)


class Brackets:
    """Mentions of a document, collected from its brackets.

    Brackets of one entity nest: a closing bracket ends the mention that opened last.

    Parameters
    ----------
    broken
        Function that returns an error for a line, a message and a hint.
    changed
        Counter of mentions that were left out or changed; see `read_documents`.
    """

    def __init__(self, broken: Broken, changed: Counter[str]) -> None:
        self._broken, self._changed = broken, changed
        self._open: dict[str, list[Opening]] = {}
        self._pieces: list[Pieces] = []
        self._entities: dict[Mention, tuple[int, str]] = {}
        self._openings = 0

    def open(self, sentence: int, place: Place, entity: str, part: str = "", head: int = 0) -> None:
        opening = Opening(self._openings, sentence, place, part, head)
        self._openings += 1
        self._open.setdefault(entity, []).append(opening)

    def close(self, sentence: int, place: Place, entity: str, part: str = "") -> None:
        waiting = self._open.get(entity, [])
        last = next((at for at in reversed(range(len(waiting))) if waiting[at].part == part), None)
        if last is None:
            raise self._broken(place.line, f"entity {entity!r} is closed but was not opened", BALANCE)
        opening = waiting.pop(last)
        if opening.sentence != sentence:
            message = f"a mention of entity {entity!r}, opened in line {opening.place.line}, "
            message += "crosses the end of its sentence"
            raise self._broken(place.line, message, "close the mention in the sentence in which it opens")
        if part:
            nodes = place.node + 1 - opening.place.node
            self._join(opening, entity, Part(opening.place.start, place.end, nodes), place.line)
        else:
            self._add(opening, opening.place.start, place.end, entity)

    def finish(self) -> tuple[list[Mention], list[str]]:
        """Return the mentions in the order of the text, and the entity of each."""
        left = [(openings[0].place.line, entity) for entity, openings in self._open.items() if openings]
        for line, entity in sorted(left):
            raise self._broken(line, f"entity {entity!r} is opened but not closed", BALANCE)
        for pieces in self._pieces:
            message = f"a mention of entity {pieces.entity!r} has {len(pieces.parts)} of {pieces.count} parts"
            raise self._broken(pieces.opening.place.line, message, "write all parts in one sentence")
        mentions = sorted(self._entities)
        return mentions, [self._entities[mention][1] for mention in mentions]

    def _join(self, opening: Opening, entity: str, part: Part, line: int) -> None:
        """Add a part to its mention; a mention with all its parts becomes the chosen one."""
        match = PART.fullmatch(opening.part)
        number, count = map(int, match.groups()) if match else (1, 0)
        if number > count:
            message = f"entity {entity!r} has the part [{opening.part}]"
            raise self._broken(line, message, "number the parts [1/2], [2/2]")
        if number == 1:
            self._pieces.append(Pieces(opening, entity, count, []))
        wanted = (entity, opening.sentence, count, number - 1)
        for pieces in reversed(self._pieces):
            if (pieces.entity, pieces.opening.sentence, pieces.count, len(pieces.parts)) == wanted:
                break
        else:
            message = f"part [{opening.part}] of entity {entity!r} follows no part [{number - 1}/{count}]"
            raise self._broken(line, message, "write all parts in one sentence, in order")
        pieces.parts.append(part)
        if len(pieces.parts) == pieces.count:
            self._pieces.remove(pieces)
            if pieces.count > 1:
                self._changed[DISCONTINUOUS] += 1
            chosen = pieces.chosen()
            self._add(pieces.opening, chosen.start, chosen.end, entity)

    def _add(self, opening: Opening, start: int, end: int, entity: str) -> None:
        """Add a mention; of several with the same words, the one that opens first is kept."""
        if start == end:
            self._changed[ZERO] += 1
            return
        mention = Mention(opening.sentence, start, end)
        if mention in self._entities:
            self._changed[REPEATED] += 1
        named = (opening.number, entity)
        self._entities[mention] = min(self._entities.get(mention, named), named)


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
