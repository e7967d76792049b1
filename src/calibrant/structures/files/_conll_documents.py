"""Documents in columns, line by line, as in CoNLL-2012 and LitBank: a word a line, entities last."""

from __future__ import annotations

import re
from collections import Counter

from calibrant.exceptions import FormatError
from calibrant.structures.files._brackets import Place
from calibrant.structures.files._document_parts import Parts, Shelf

START, END = "#begin document", "#end document"
TITLE = re.compile(r"\s*\((.*)\)(?:; part ([0-9]{1,6}))?\s*")
BRACKET = re.compile(r"(\()?([^()|]+)(\))?")
NO_ENTITY = ("", "-", "_", "*")
EMPTY = ("", "-", "_")
FEWEST, FULL = 5, 12  # document, part, number, word, entities; and all columns but those of predicates
NUMBER, WORD, SPEAKER = 3, 4, 10  # columns, from 1
GENRES = ("bc", "bn", "mz", "nw", "pt", "tc", "wb")  # of OntoNotes, with which its names begin


def part_name(name: str, part: int) -> str:
    """Name a part of a document: part 0 like the document, the others by their number too.

    Examples
    --------
    >>> part_name("bc/cctv/00/cctv_0000", 0), part_name("bc/cctv/00/cctv_0000", 1)
    ('bc/cctv/00/cctv_0000', 'bc/cctv/00/cctv_0000; part 1')
    """
    return f"{name}; part {part}" if part else name


class ColumnDocuments:
    """Documents in columns.

    Parameters
    ----------
    name
        The file.
    changed
        A counter for what is left out or changed; see `read_documents`.
    """

    def __init__(self, name: str, changed: Counter[str]) -> None:
        self.name = name
        self.shelf = Shelf(self._broken, changed)
        self._parts: Parts | None = None
        self._begun = 0
        self._words: list[str] = []
        self._speaker = ""
        self._width = self._number = 0
        self._last_line = 0

    def add(self, number: int, line: str) -> None:
        """Take a line."""
        self._last_line = number
        if line.startswith(START):
            self._begin(number, line.removeprefix(START))
        elif line.startswith(END):
            if self._parts is None:
                message = "the document ends and has not begun"
                raise self._broken(number, message, f"put '{START} (NAME); part 000' before it")
            self._end_sentence()
            self.shelf.put(self._parts)
            self._parts = None
        elif not line.strip():
            self._end_sentence()
        elif not line.startswith("#"):
            self._take(number, line)

    def finish(self) -> None:
        """Take the end of the file."""
        if self._parts is not None:
            message = f"the document {self._parts.name!r} of line {self._begun} has no '{END}'"
            raise self._broken(self._last_line, message, "copy or write the file again", "file-truncated")

    def _broken(self, line: int, message: str, hint: str, code: str = "file-row") -> FormatError:
        return FormatError(message, hint, code=code, file=self.name, line=line)

    def _begin(self, number: int, title: str) -> None:
        if self._parts is not None:
            message = f"a document begins, and that of line {self._begun} has not ended"
            raise self._broken(number, message, f"put '{END}' before it")
        match = TITLE.fullmatch(title)
        name = part_name(match[1], int(match[2] or 0)) if match else title.strip()
        if not name:
            raise self._broken(number, "the document has no name", f"write '{START} (NAME); part 000'")
        self._parts, self._begun = self.shelf.begin(name, number), number
        genre = name.partition("/")[0]
        self._parts.genre = genre if "/" in name and genre in GENRES else None

    def _take(self, number: int, line: str) -> None:
        """Take a word."""
        if self._parts is None:
            message = "a word stands outside a document"
            raise self._broken(number, message, f"put '{START} (NAME); part 000' before it")
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) < FEWEST:
            hint = f"CoNLL-2012 has {FULL} or more: document, part, number, word, ..., entities"
            raise self._broken(number, f"there are only {len(fields)} columns", hint)
        if self._words and len(fields) != self._width:
            message = f"{len(fields)} columns where the sentence began with {self._width}"
            raise self._broken(number, message, "give every word of a sentence the same columns")
        self._check_number(number, fields[NUMBER - 1])
        word = fields[WORD - 1]
        if not word.strip():
            raise self._broken(number, "the word is empty", "fill it in or drop the line", "missing-value")
        if not self._words:
            self._width = len(fields)
            speaker = fields[SPEAKER - 1] if len(fields) >= FULL else ""
            self._speaker = "" if speaker in EMPTY else speaker
        before = len(self._words)
        self._words.append(word)
        if fields[-1] not in NO_ENTITY:
            self._take_brackets(self._parts, Place(number, before, before + 1, before), fields[-1])

    def _check_number(self, line: int, text: str) -> None:
        """Check that words of a sentence follow each other, which finds blank lines that are missing."""
        if not (text.isascii() and text.isdecimal() and len(text) < 10):
            message = f"the number of the word is {text!r}"
            raise self._broken(line, message, "number the words of a sentence 0, 1, 2, ...")
        if self._words and int(text) != self._number + 1:
            message = f"word {text} follows word {self._number}"
            raise self._broken(line, message, "put a blank line after each sentence, and leave no word out")
        self._number = int(text)

    def _take_brackets(self, parts: Parts, place: Place, text: str) -> None:
        for cell in text.split("|"):
            match = BRACKET.fullmatch(cell.strip())
            if match is None or not (match[1] or match[3]):
                message = f"the brackets {text!r} cannot be read"
                raise self._broken(place.line, message, "write (1, 1) or (1), and | between several")
            if match[1]:
                parts.brackets.open(len(parts.sentences), place, match[2])
            if match[3]:
                parts.brackets.close(len(parts.sentences), place, match[2])

    def _end_sentence(self) -> None:
        if self._words and self._parts is not None:
            self._parts.sentences.append(self._words)
            self._parts.speakers.append(self._speaker)
        self._words = []
