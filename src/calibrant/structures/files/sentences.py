"""Readers of sentences: CoNLL-U, and files with one token and its tags per line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from calibrant._checks import shown
from calibrant.exceptions import FormatError, InputError
from calibrant.lazy import from_extra

Column = str | int

FORM, UPOS, XPOS, FEATS = 2, 4, 5, 6  # columns of CoNLL-U, from 1
NAMED = {"upos": UPOS, "xpos": XPOS, "upos+feats": UPOS}
STANDARD = 10
STANDARD_NAMES = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
CONLLU = (".conllu", ".conllulex", ".conllup")
LONGEST = 300  # characters of a message
DOCUMENT_START = "-DOCSTART-"  # in the format of CoNLL-2003


def reader_of(name: str, lines: Sequence[str], column: Column | None, require_tags: bool) -> Reader:
    """Choose the reader by the file's name or its first line with a token; see `read_tagged`."""
    kind = ConlluReader if is_conllu(name, lines) else ColumnReader
    return kind(name, lines, column, require_tags)


def is_conllu(name: str, lines: Sequence[str]) -> bool:
    """Return True for CoNLL-U, by the file's name or the first line with a token among ``lines``."""
    if _stem(name).endswith(CONLLU):
        return True
    comments = (line.startswith("# ") or (line.startswith("#") and "\t" not in line) for line in lines)
    words = (line for line, comment in zip(lines, comments, strict=True) if line.strip() and not comment)
    columns = next(words, "").split("\t")
    return len(columns) >= STANDARD and columns[0].partition("-")[0] in ("1", "0.1")


def _stem(name: str) -> str:
    return name.lower().removesuffix(".gz")


def _columns(fields: Sequence[str]) -> str:
    return "1 column" if len(fields) == 1 else f"{len(fields)} columns"


@dataclass
class Reader(ABC):
    """Base of the readers, with the current sentence and the finished ones."""

    name: str
    column: Column | None
    require_tags: bool
    sentences: list[list[str]] = field(default_factory=list)
    tags: list[list[str]] = field(default_factory=list)
    sentence_ids: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    document: str = "0"  # document of sentences before the first mark
    document_count: int = 0
    tokens: list[str] = field(default_factory=list)
    token_tags: list[str] = field(default_factory=list)
    sentence_id: str | None = None
    missing_line: int | None = None
    tagged: bool = False
    known: dict[str, str] = field(
        default_factory=dict, repr=False
    )  # interned strings, since most are repeated

    @abstractmethod
    def add(self, number: int, line: str) -> None:
        """Process a line."""

    def broken(self, line: int, message: str, hint: str, code: str = "file-row") -> FormatError:
        """Return an error for a line; long messages are truncated."""
        message = message if len(message) <= LONGEST else f"{message[:LONGEST]}..."
        return FormatError(message, hint, code=code, file=self.name, line=line)

    def start_document(self, identity: str | None) -> None:
        """Begin another document, with a name or else a number."""
        self.document_count += 1
        self.document = identity or str(self.document_count)

    def take(self, line: int, token: str, tag: str | None) -> None:
        """Add a token; its tag is None if the file has no tag."""
        if not token.strip(" "):
            raise self.broken(
                line, "the token is empty", "add the token, or remove the line", "missing-value"
            )
        if tag is None:
            self.missing_line = self.missing_line or line
        elif not tag.strip(" "):
            raise self.broken(line, "the tag is empty", "add the tag, or remove the line", "missing-value")
        elif tag != tag.strip(" "):
            message = f"there is a space next to the tag {tag.strip(' ')!r}"
            raise self.broken(line, message, "remove the space, which would make another tag")
        else:
            self.tagged = self.tagged or tag != "_"
        self.tokens.append(self.known.setdefault(token, token))
        self.token_tags.append(self.known.setdefault(tag or "", tag or ""))

    def end_sentence(self) -> None:
        """End the current sentence, if there is one."""
        if self.tokens:
            self.sentences.append(self.tokens)
            self.tags.append(self.token_tags)
            self.sentence_ids.append(self.sentence_id or str(len(self.sentences)))
            self.documents.append(self.document)
            self.tokens, self.token_tags = [], []
        self.sentence_id = None

    def finish(self) -> None:
        """Process the end of the file."""
        self.end_sentence()
        if not self.sentences:
            raise InputError("the file has no sentence", "write the file again", code="empty", file=self.name)

    def has_tags(self) -> bool:
        """Return True if every token has a tag; raise if only some have one, or tags are required."""
        if self.tagged and self.missing_line is not None:
            message, hint = f"the token has no {self.column}", "add it, or choose another column"
            raise self.broken(self.missing_line, message, hint, "missing-value")
        if not self.tagged and self.require_tags:
            what = self.column if isinstance(self.column, str) else f"tags in column {self.column}"
            message, hint = f"the file has no {what}: every value is _", "choose another column"
            raise InputError(message, hint, code="missing-value", file=self.name)
        return self.tagged


class ColumnReader(Reader):
    """Reader of files with one token and its tags per line."""

    def __init__(self, name: str, lines: Sequence[str], column: Column | None, require_tags: bool) -> None:
        first = next(line for line in lines if line.strip(" \t"))
        self.tabbed = "\t" in first
        self.width = len(self.fields(first))
        chosen = 2 if column is None else column
        super().__init__(name, chosen, require_tags)
        if not require_tags and self.width == 1:
            self.place = None
            return
        if isinstance(chosen, str):
            hint = "give the number of a column; only CoNLL-U has names of columns"
            message = f"the file is not CoNLL-U, so it has no column {chosen!r}"
            raise InputError(message, hint, code="column-missing", file=name)
        if not 2 <= chosen <= self.width:
            hint = "choose 2" if self.width == 2 else f"choose one from 2 to {self.width}"
            hint += "; column 1 is the token"
            message = f"there is no column {chosen} with tags"
            if self.width == 1:
                message = "the file has only one column, the token, and no tags"
                hint = "separate token and tag by a tab or a space"
            raise InputError(message, hint, code="column-missing", file=name)
        self.place = chosen - 1

    def fields(self, line: str) -> list[str]:
        """Split a line at a tab or at one or several spaces; other blanks do not separate."""
        return line.split("\t") if self.tabbed else [part for part in line.split(" ") if part]

    def add(self, number: int, line: str) -> None:
        """Process a line; a line of tabs and spaces ends the sentence, as in the data of WNUT 2017."""
        if not line.strip(" \t"):
            self.end_sentence()
            return
        fields = self.fields(line)
        if len(fields) != self.width:
            by = "tabs" if self.tabbed else "spaces"
            message = f"the line has {_columns(fields)}, and the first line {self.width}, separated by {by}"
            raise self.broken(number, message, "give every token the same columns")
        self.take(number, fields[0], None if self.place is None else fields[self.place])

    def end_sentence(self) -> None:
        """End the current sentence, or begin a document if the sentence is its mark."""
        if self.tokens == [DOCUMENT_START]:
            self.start_document(None)
            self.tokens, self.token_tags = [], []
        super().end_sentence()


class ConlluReader(Reader):
    """Reader of CoNLL-U, and of formats that add columns to it.

    The library conllu reads ids and comments. Lines are split here, since its reader of whole sentences also
    splits at two spaces, accepts lines with too few columns, and does not report the line of an error.
    """

    def __init__(self, name: str, lines: Sequence[str], column: Column | None, require_tags: bool) -> None:
        conllu = from_extra("conllu.parser", "reading CoNLL-U needs conllu", "structures")
        self._parse_id, self._parse_comment = conllu.parse_id_value, conllu.parse_comment_line
        plain = _stem(name).endswith(".conllu")
        first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
        self.width = STANDARD if plain else max(STANDARD, first.count("\t") + 1)
        chosen: Column = "upos" if column is None else column
        chosen = {UPOS: "upos", XPOS: "xpos"}.get(chosen, chosen) if isinstance(chosen, int) else chosen
        place = NAMED.get(chosen, 0) if isinstance(chosen, str) else chosen
        if not FORM < place <= self.width:
            hint = f"choose one of {', '.join(NAMED)}, or a number from {FORM + 1} to {self.width}"
            message = f"there is no column {column!r} with tags"
            raise InputError(message, hint, code="column-missing", file=name)
        super().__init__(name, chosen, require_tags)
        self.place = place - 1
        self.last_id = self.covered = 0  # the last word, and the last word of a multiword token
        self.last_line = 0
        self.first_line: dict[str, int] = {}
        self.known_features: dict[str, str] = {}
        self.cut = False

    def add(self, number: int, line: str) -> None:
        """Process a line."""
        self.last_line, self.cut = number, line.startswith("#")
        if line.startswith("#"):
            self.comment(number, line)
            return
        if not line.strip(" "):
            self.end_sentence_at(number)
            return
        fields = line.split("\t")
        if len(fields) != self.width:
            expected = "CoNLL-U has" if self.width == STANDARD else "the first line has"
            message = f"the line has {_columns(fields)}, and {expected} {self.width}"
            raise self.broken(number, message, "separate the columns by single tabs")
        self.node(number, fields, is_word=self.is_word(number, fields[0]))

    def node(self, number: int, fields: list[str], *, is_word: bool) -> None:
        """Process a word; multiword tokens and empty nodes are not words."""
        if is_word:
            self.take(number, fields[FORM - 1], self.tag(number, fields))

    def is_word(self, number: int, text: str) -> bool:
        """Check the order of ids; return whether the line is a word."""
        following = self.last_id + 1
        if text == str(following):  # the usual case
            self.last_id = following
            return True
        from conllu.exceptions import ParseException

        try:
            identity = self._parse_id(text)
        except (ParseException, ValueError):  # Python refuses integers of more than 4,300 digits
            identity = None
        if isinstance(identity, tuple) and identity[1] == "-":
            if identity[0] == following > self.covered and identity[2] > identity[0]:
                self.covered = identity[2]
                return False
        elif isinstance(identity, tuple) and identity[0] == self.last_id:
            return False
        hint = "number the words of a sentence 1, 2, 3, ... and put a blank line after it"
        raise self.broken(number, f"the id is {shown(text, 20)} instead of {following}", hint)

    def tag(self, number: int, fields: list[str]) -> str | None:
        """Return the tag of a word, or None if UPOS or XPOS is missing."""
        tag = fields[self.place]
        if tag == "_" and self.place < FEATS - 1:
            return None
        if self.column != "upos+feats" or fields[FEATS - 1] == "_":
            return tag
        if not fields[FEATS - 1]:
            raise self.broken(number, "FEATS is empty", "write _ for no features", "missing-value")
        return f"{tag}|{self.features(number, fields[FEATS - 1])}"

    def features(self, number: int, text: str) -> str:
        """Return checked features in the order of CoNLL-U."""
        if text not in self.known_features:
            parts = text.split("|")
            wrong = [part for part in parts if not all(part.partition("="))]
            if wrong:
                message, hint = f"the feature {wrong[0]!r} has no name or no value", "write Name=Value"
                raise self.broken(number, message, hint)
            self.known_features[text] = "|".join(sorted(parts, key=str.lower))
        return self.known_features[text]

    def comment(self, number: int, line: str) -> None:
        """Process a comment on sentence or document."""
        if self.tokens or self.covered:
            hint = "put comments before the first word, and a blank line after each sentence"
            raise self.broken(number, "there is a comment inside a sentence", hint)
        for key, value in self._parse_comment(line):
            self.remark(number, key, value)

    def remark(self, number: int, key: str, value: str | None) -> None:
        """Process a comment ``# key = value``."""
        if key == "sent_id" and value is not None:
            other = self.first_line.setdefault(value, number)
            if other != number:
                message = f"sent_id {value!r} also occurs in line {other}"
                raise self.broken(number, message, "give every sentence a unique sent_id")
            self.sentence_id = value
        elif key in ("newdoc", "newdoc id"):
            self.start_document(value)
        elif key == "global.columns" and (value or "").split()[:STANDARD] != STANDARD_NAMES.split():
            hint = f"begin each line with {STANDARD_NAMES}"
            raise self.broken(number, "the columns are not the columns of CoNLL-U", hint)

    def end_sentence_at(self, number: int) -> None:
        """End the sentence; raise an error if a multiword token lacks words."""
        if self.covered > self.last_id:
            message = f"the sentence ends before word {self.covered}, which a multiword token contains"
            raise self.broken(number, message, "complete the sentence")
        self.last_id = self.covered = 0
        self.end_sentence()

    def end_file(self) -> None:
        """End the last sentence; raise an error if the file ends in a comment."""
        if self.cut:
            message, hint = "the file ends in a comment", "copy or write the file again"
            raise self.broken(self.last_line, message, hint, "file-truncated")
        self.end_sentence_at(self.last_line)

    def finish(self) -> None:
        """Process the end of the file."""
        self.end_file()
        super().finish()
        # A sentence without a sent_id is named by its number, which may be the sent_id of another sentence.
        counts = Counter(self.sentence_ids)
        for identity, line in self.first_line.items():
            if counts[identity] > 1:
                message = f"{identity!r} is a sent_id, and the number of a sentence without sent_id"
                raise self.broken(line, message, "give every sentence a sent_id")
