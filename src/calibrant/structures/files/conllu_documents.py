"""Reader of CoNLL-U documents: trees, speakers, dates, and entities in the last column."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from calibrant.exceptions import InputError
from calibrant.metrics.periods import parse_date
from calibrant.structures.documents import Tree, check_tree
from calibrant.structures.files._brackets import Parts, Place, Shelf
from calibrant.structures.files.sentences import FEATS, UPOS, ConlluReader

LEMMA, HEAD, RELATION, MISC = 3, 7, 8, 10  # columns, from 1
ENTITY_IDS = ("GRP", "eid")  # names, in `global.Entity`, of the field with the name of the entity
DATES = ("date", "meta::date", "meta::dateCreated")
GENRES = ("genre", "meta::genre")
BRACKET = re.compile(r"\((?P<opened>[^()]+)(?P<single>\))?|(?P<closed>[^()]+)\)")
NAME = re.compile(r"([^\[\]]+)(?:\[([^\[\]]*)\])?")
TYPE_FIRST = re.compile("[a-z]+-[0-9]+")  # an entity of GUM 7, which has no comment `global.Entity`
NUMBER = re.compile("[0-9]{1,6}")
NO_DAY = re.compile("([0-9X]{4}(-[0-9X]{2})?(-XX)?)?")


class ConlluDocuments(ConlluReader):
    """Reader of CoNLL-U documents.

    Parameters
    ----------
    name
        Name of the file.
    lines
        First lines of the file, up to the first word.
    title
        Name of documents without a name.
    changed
        Counter of mentions that were left out or changed; see `read_documents`.
    """

    def __init__(self, name: str, lines: Sequence[str], title: str, changed: Counter[str]) -> None:
        super().__init__(name, lines, None, require_tags=False)
        self.shelf = Shelf(self.broken, changed)
        self._title = title
        self._parts: Parts | None = None
        self._id_field, self._head_field = 0, -1
        self._fields_stated = self._annotated = self._any_words = False
        self._speaker = self._date_key = ""
        self._words: list[tuple[int, list[str]]] = []
        self._nodes = 0

    def resume(self, documents: int, entity: str, *, annotated: bool) -> None:
        """Continue inside a file, after some documents, a comment on entities, and possibly entities."""
        self.document_count, self._any_words = documents, True
        if entity:
            self.comment(0, entity)
        self._annotated = self._annotated or annotated

    def remark(self, number: int, key: str, value: str | None) -> None:
        """Process a comment ``# key = value``."""
        self.last_line = number
        if key == "global.Entity":
            self._order_fields(number, (value or "").split("-"))
        elif key == "speaker":
            self._speaker = value or ""
        elif key in DATES:
            day, known = self._day(number, value or ""), self._current().date
            if known and day and day != known and key == self._date_key:
                hint = "give each document one date, after its newdoc"
                raise self.broken(number, f"the document has the dates {known} and {day}", hint)
            if not known:
                self._current().date, self._date_key = day, key
        elif key in GENRES:
            self._current().genre = self._current().genre or value
        else:
            super().remark(number, key, value)

    def start_document(self, identity: str | None) -> None:
        """End the current document, and begin another."""
        super().start_document(identity)
        self._put_away()
        self._parts = self.shelf.begin(self.document, self.last_line)
        self._parts.annotated = self._annotated

    def node(self, number: int, fields: list[str], *, is_word: bool) -> None:
        """Process a word, or the brackets at an empty node."""
        super().node(number, fields, is_word=is_word)
        if "-" in fields[0]:
            return
        if is_word:
            self._words.append((number, fields))
        self._nodes += 1
        if "Entity=" not in fields[MISC - 1]:
            return
        place = Place(number, self.last_id - is_word, self.last_id, self._nodes - 1)
        for entry in fields[MISC - 1].split("|"):
            if entry.startswith("Entity="):
                self._annotated = self._current().annotated = True
                self._take_brackets(place, entry.removeprefix("Entity="))

    def end_sentence(self) -> None:
        """End the current sentence, if there is one."""
        if self.tokens:
            parts = self._current()
            self._take_tree(parts)
            parts.sentences.append(self.tokens)
            parts.speakers.append(self._speaker)
            self._any_words = True
        elif self._nodes:
            raise self.broken(
                self.last_line, "the sentence has no words", "remove the sentence, or add its words"
            )
        self.tokens, self.token_tags, self._words = [], [], []
        self.sentence_id, self._speaker, self._nodes = None, "", 0

    def finish(self) -> None:
        """Process the end of the file."""
        self.end_file()
        if not self._any_words:
            raise InputError("the file has no sentence", "write the file again", code="empty", file=self.name)
        self._put_away()

    def _current(self) -> Parts:
        if self._parts is None:
            self._parts = self.shelf.begin(self._title, 0)
            self._parts.annotated = self._annotated
        return self._parts

    def _put_away(self) -> None:
        # Comments before the first document, such as a date, are not a document.
        if self._parts is not None and (self._parts.sentences or self.document_count > 1):
            self.shelf.documents.append(self._parts.document())
        self._parts = None

    def _order_fields(self, number: int, names: list[str]) -> None:
        places = [names.index(name) for name in ENTITY_IDS if name in names]
        if not places:
            message = f"global.Entity has no field {' or '.join(ENTITY_IDS)}"
            raise self.broken(number, message, "name the fields, GRP-etype-head-other")
        self._id_field = places[0]
        self._head_field = names.index("head") if "head" in names else -1
        self._fields_stated = self._annotated = True
        if self._parts is not None:
            self._parts.annotated = True

    def _take_brackets(self, place: Place, text: str) -> None:
        parts, end = self._current(), 0
        sentence = len(parts.sentences)
        while match := BRACKET.match(text, end):  # a search would try every place of a text without brackets
            end = match.end()
            opened = match["opened"]
            fields = (opened or match["closed"]).split("-")
            # In an older order, the type is first, and the end is `person-1)` or `1)`.
            at = min(self._id_field, len(fields) - 1)
            if not self._fields_stated and TYPE_FIRST.fullmatch(opened or match["closed"]):
                at = 1
            named = NAME.fullmatch(fields[at])
            if named is None or (opened and at < self._id_field):
                message = f"the entity {fields[at]!r} has no name"
                raise self.broken(place.line, message, "write the fields that global.Entity lists")
            entity, part = named[1], named[2] or ""
            if opened:
                head = fields[self._head_field] if 0 <= self._head_field < len(fields) else ""
                known = int(head) if NUMBER.fullmatch(head) else 0
                parts.brackets.open(sentence, place, entity, part, known)
            if match["single"] or not opened:
                parts.brackets.close(sentence, place, entity, part)
        if end != len(text) or not text:
            message, hint = f"the brackets {text!r} cannot be read", "write (1-person, 1) or (1-person)"
            raise self.broken(place.line, message, hint)

    def _take_tree(self, parts: Parts) -> None:
        """Add the tree of the current sentence; all sentences of a document must have one, or none."""
        first = self._words[0][0]
        has_tree = any(fields[HEAD - 1] != "_" for _, fields in self._words)
        if not parts.takes_tree(first, has_tree):
            return
        heads = [self._head(number, fields[HEAD - 1]) for number, fields in self._words]
        relations, lemmas, tags, features = (
            [_given(fields[column - 1]) for _, fields in self._words]
            for column in (RELATION, LEMMA, UPOS, FEATS)
        )
        tree = Tree(heads, relations, lemmas, tags, features)
        try:
            check_tree(tree, len(heads), "the tree of the sentence")
        except InputError as error:
            raise self.broken(self._words[error.row or 0][0], error.message, error.hint) from None
        parts.trees.append(tree)

    def _day(self, number: int, text: str) -> str | None:
        """Return a date, or None if month or day are missing."""
        if NO_DAY.fullmatch(text.strip()):
            return None
        try:
            return parse_date(text).isoformat()
        except InputError as error:
            raise self.broken(number, error.message, f"{error.hint}, or remove it", "date") from None

    def _head(self, number: int, text: str) -> int:
        if not NUMBER.fullmatch(text):
            message = f"the head {text!r} is not the number of a word"
            raise self.broken(number, message, "give the id of a word of the sentence, or 0 for the root")
        return int(text)


def _given(text: str) -> str:
    return "" if text == "_" else text
