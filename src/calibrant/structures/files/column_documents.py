"""Reader of CoNLL-2011 and CoNLL-2012: documents with trees and entities, or tagged sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from calibrant._checks import shown
from calibrant.exceptions import FormatError, InputError
from calibrant.structures.constituents import constituents, dependencies
from calibrant.structures.files._brackets import Parts, Place, Shelf
from calibrant.structures.files.sentences import Column, Reader

START, END = "#begin document", "#end document"
TITLE = re.compile(r"\s*\((.*)\)(?:; part ([0-9]{1,6}))?\s*")
BRACKET = re.compile(r"(\()?([^()|]+)(\))?")
NO_ENTITY = ("", "-", "_", "*")
EMPTY = ("", "-", "_")
FEWEST, FULL = 5, 12  # document, part, number, word, entities; all columns except those of predicates
NUMBER, WORD, TAG, PARSE, LEMMA, SPEAKER, NAME = 3, 4, 5, 6, 7, 10, 11  # columns, from 1
NAMED = {"pos": TAG, "names": NAME}
NAME_BIT = re.compile(r"(?:\(([^()*\s]+))?\*?(\))?")
GENRES = ("bc", "bn", "mz", "nw", "pt", "tc", "wb")  # prefixes of document names in OntoNotes


def first_lines(lines: Iterator[str]) -> list[str]:
    """Take the lines of a file up to its first word, or to the start of its first document in columns."""
    head = []
    for line in lines:
        head.append(line)
        if line.strip() and (not line.startswith("#") or line.startswith(START)):
            break
    return head


def part_name(name: str, part: int) -> str:
    """Return the name of a part: part 0 has the document's name, other parts add their number.

    Examples
    --------
    >>> part_name("bc/cctv/00/cctv_0000", 0), part_name("bc/cctv/00/cctv_0000", 1)
    ('bc/cctv/00/cctv_0000', 'bc/cctv/00/cctv_0000; part 1')
    """
    return f"{name}; part {part}" if part else name


class ColumnDocuments:
    """Reader of documents in columns.

    Parameters
    ----------
    name
        Name of the file.
    changed
        Counter of mentions that were left out or changed; see `read_documents`.
    each_sentence
        Called with the document's name, and the line and the fields of each word, instead of reading trees.
    """

    def __init__(
        self,
        name: str,
        changed: Counter[str],
        each_sentence: Callable[[str, list[int], list[list[str]]], None] | None = None,
    ) -> None:
        self.name = name
        self._each_sentence = each_sentence
        self.shelf = Shelf(self._broken, changed)
        self._parts: Parts | None = None
        self._begun, self._title = 0, ""
        self._lines: list[int] = []
        self._rows: list[list[str]] = []
        self._number = 0
        self._last_line = 0

    def add(self, number: int, line: str) -> None:
        """Process a line."""
        self._last_line = number
        if line.startswith(START):
            self._begin(number, line.removeprefix(START))
        elif line.startswith(END):
            if self._parts is None:
                message = "a document ends that has not begun"
                raise self._broken(number, message, f"put '{START} (NAME); part 000' before it")
            self._end_sentence()
            self.shelf.documents.append(self._parts.document())
            self._parts = None
        elif not line.strip():
            self._end_sentence()
        elif not line.startswith("#") or self._names_document(line):
            self._take(number, line)

    def finish(self) -> None:
        """Process the end of the file."""
        if self._parts is not None:
            message = f"the document {self._parts.name!r} of line {self._begun} has no '{END}'"
            raise self._broken(self._last_line, message, "copy or write the file again", "file-truncated")

    def _names_document(self, line: str) -> bool:
        """Return True for a word of a document whose name begins with the sign of a comment."""
        fields = line.split("\t" if "\t" in line else None, 3)
        numbers = fields[1:3]  # part and word, which a comment after a lone # does not have
        return self._parts is not None and fields[0] == self._title and all(map(str.isdecimal, numbers))

    def _broken(self, line: int, message: str, hint: str, code: str = "file-row") -> FormatError:
        return FormatError(message, hint, code=code, file=self.name, line=line)

    def _begin(self, number: int, title: str) -> None:
        if self._parts is not None:
            message = f"a document begins before the document of line {self._begun} has ended"
            raise self._broken(number, message, f"put '{END}' before it")
        match = TITLE.fullmatch(title)
        self._title = match[1] if match else title.strip()
        name = part_name(self._title, int(match[2] or 0)) if match else self._title
        if not name:
            raise self._broken(number, "the document has no name", f"write '{START} (NAME); part 000'")
        self._parts, self._begun = self.shelf.begin(name, number), number
        genre = name.partition("/")[0]
        self._parts.genre = genre if "/" in name and genre in GENRES else None

    def _take(self, number: int, line: str) -> None:
        if self._parts is None:
            message = "there is a word outside a document"
            raise self._broken(number, message, f"put '{START} (NAME); part 000' before it")
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) < FEWEST:
            hint = f"CoNLL-2012 has {FULL} or more: document, part, number, word, ..., entities"
            raise self._broken(number, f"there are only {len(fields)} columns", hint)
        if self._rows and len(fields) != len(self._rows[0]):
            message = f"the line has {len(fields)} columns, and the sentence began with {len(self._rows[0])}"
            raise self._broken(number, message, "give every word of a sentence the same columns")
        self._check_number(number, fields[NUMBER - 1])
        if not fields[WORD - 1].strip():
            raise self._broken(
                number, "the word is empty", "add the word, or remove the line", "missing-value"
            )
        before = len(self._rows)
        self._lines.append(number)
        self._rows.append(fields)
        if fields[-1] not in NO_ENTITY:
            self._take_brackets(self._parts, Place(number, before, before + 1, before), fields[-1])

    def _check_number(self, line: int, text: str) -> None:
        """Check that the numbers of words are consecutive."""
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            message = f"the number of the word is {text!r}"
            raise self._broken(line, message, "number the words of a sentence 0, 1, 2, ...")
        if self._rows and int(text) != self._number + 1:  # a missing blank line, for example
            message = f"word {text} follows word {self._number}"
            raise self._broken(line, message, "put a blank line after each sentence, and omit no word")
        self._number = int(text)

    def _take_brackets(self, parts: Parts, place: Place, text: str) -> None:
        for cell in text.split("|"):
            match = BRACKET.fullmatch(cell.strip())
            if match is None or not (match[1] or match[3]):
                message = f"the brackets {shown(text)} cannot be read"
                raise self._broken(place.line, message, "write (1, 1) or (1), and | between several")
            if match[1]:
                parts.brackets.open(len(parts.sentences), place, match[2])
            if match[3]:
                parts.brackets.close(len(parts.sentences), place, match[2])

    def _end_sentence(self) -> None:
        rows, self._rows = self._rows, []
        lines, self._lines = self._lines, []
        if not rows or self._parts is None:
            return
        full = len(rows[0]) >= FULL
        speaker = rows[0][SPEAKER - 1] if full else ""
        if self._each_sentence is not None:
            self._each_sentence(self._parts.name, lines, rows)
        elif full:
            self._take_tree(self._parts, lines, rows)
        else:
            self._parts.takes_tree(lines[0], False)
        self._parts.sentences.append([fields[WORD - 1] for fields in rows])
        self._parts.speakers.append("" if speaker in EMPTY else speaker)

    def _take_tree(self, parts: Parts, lines: list[int], rows: list[list[str]]) -> None:
        """Add the tree of a sentence's constituents, if it has any."""
        words, tags, bits, lemmas = (
            [fields[column - 1] for fields in rows] for column in (WORD, TAG, PARSE, LEMMA)
        )
        try:
            root = constituents(bits, tags)
        except InputError as error:
            raise self._broken(lines[error.row or 0], error.message, error.hint) from None
        if parts.takes_tree(lines[0], root is not None) and root is not None:
            parts.trees.append(dependencies(root, words, tags, lemmas))


class ColumnSentences(Reader):
    """Reader of tagged sentences in columns: parts of speech, names as BIO tags, or any other column.

    Parameters
    ----------
    name
        Name of the file.
    column
        ``"pos"`` (the default), ``"names"``, or the number of a column, from 5.
    require_tags
        True if a file without tags is an error.
    """

    def __init__(self, name: str, column: Column | None, require_tags: bool) -> None:
        chosen: Column = "pos" if column is None else column
        self._place = NAMED.get(chosen, 0) if isinstance(chosen, str) else chosen
        if self._place < TAG:
            hint = f"choose one of {', '.join(NAMED)}, or a number from {TAG}"
            message = f"there is no column {column!r} with tags"
            raise InputError(message, hint, code="column-missing", file=name)
        super().__init__(name, chosen, require_tags)
        self._documents = ColumnDocuments(name, Counter(), self._take_sentence)

    def add(self, number: int, line: str) -> None:
        """Process a line."""
        self._documents.add(number, line)
        self._documents.shelf.take()

    def finish(self) -> None:
        """Process the end of the file."""
        self._documents.finish()
        super().finish()

    def _take_sentence(self, document: str, lines: list[int], rows: list[list[str]]) -> None:
        # The last column has the entities; other columns are between names and entities.
        if len(rows[0]) <= self._place or (self.column in NAMED and len(rows[0]) < FULL):
            message = (
                f"there is no column {shown(self.column)} with tags: the line has {len(rows[0])} columns"
            )
            raise self.broken(lines[0], message, f"CoNLL-2012 has {FULL} or more", "column-missing")
        if not self.document_count or document != self.document:
            self.start_document(document)
        tags = [fields[self._place - 1] for fields in rows]
        if self.column == "names":
            tags = self._names(lines, tags)
        for line, fields, tag in zip(lines, rows, tags, strict=True):
            self.take(line, fields[WORD - 1], tag if tag not in EMPTY else None)
        self.end_sentence()

    def _names(self, lines: list[int], bits: Sequence[str]) -> list[str]:
        """Return BIO tags for the brackets around names."""
        tags, inside = [], ""
        for line, bit in zip(lines, bits, strict=True):
            match = NAME_BIT.fullmatch("" if bit in EMPTY else bit)
            if match is None or (match[1] and inside) or (match[2] and not (match[1] or inside)):
                message = f"the name {shown(bit)} cannot be read, or its brackets do not match"
                raise self.broken(line, message, "write (PERSON*, * and *), or (PERSON) around one word")
            tags.append(f"B-{match[1]}" if match[1] else f"I-{inside}" if inside else "O")
            inside = "" if match[2] else match[1] or inside
        if inside:
            message = f"the name {inside} does not end in the sentence"
            raise self.broken(lines[-1], message, "close its bracket")
        return tags
