"""Work of one process on dated documents: filter, parse, find entities, count."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from calibrant.events.extraction import DocumentEvents, extract
from calibrant.events.files.dated import is_conllu
from calibrant.events.files.dated_text import DatedText, joined
from calibrant.events.files.lexicons import read_lexicon
from calibrant.events.files.store import StoredArc, StoredCount, StoredDocument, StoredEvidence
from calibrant.events.files.store_parts import MOST_ENTITIES
from calibrant.events.lexicon import Lexicon, default_lexicon
from calibrant.events.rules import Rules, may_count, uses_of
from calibrant.exceptions import InputError
from calibrant.structures.documents import Document
from calibrant.structures.files.english import ENGLISH, load_english_parser
from calibrant.structures.models.coreference import CoreferenceModel
from calibrant.structures.verbs.coreference_source import open_model

if TYPE_CHECKING:
    from calibrant.structures.models.english import EnglishParser
    from calibrant.structures.models.parsing import TextParser

    AnyParser = EnglishParser | TextParser

LITBANK = "litbank"
Drawn = Literal["1-best", "sampled"]
BEST, SAMPLED = DRAWN = ("1-best", "sampled")
DRAWS = 10  # of tags and trees of a document, among which its samples are divided
Places = list[list[tuple[int, int]]]


@dataclass(frozen=True)
class Extraction:
    """Settings of an extraction, small enough to send to processes.

    Attributes
    ----------
    coref
        Path or name of a coreference model.
    parser
        Path or name of a spaCy pipeline, or calibrant-english; None: the documents have trees.
    lexicon
        Path of a lexicon; None for the included lexicon.
    rules, samples, seed, with_text, possessive_endings, trees, tags
        As in `calibrant.events.extract_events`.
    run
        Identifier of the run; each run loads its models again, since files may have changed.
    skip
        True if documents that cannot count are not parsed; this changes only the time.
    """

    coref: str
    parser: str | None
    lexicon: str | None
    rules: Rules
    samples: int
    seed: int
    with_text: bool
    possessive_endings: bool = True
    trees: Drawn = "1-best"
    tags: Drawn = "1-best"
    run: str = ""
    skip: bool = True

    @property
    def sampled(self) -> str:
        """Return the names of what is sampled."""
        names = [name for name in ("tags", "trees") if getattr(self, name) == SAMPLED]
        return " and ".join(filter(None, [", ".join(names), "entities"]))


class Extracted(NamedTuple):
    """Stored values of a document, and how often each verb is a noun or a verb in it, by lemma and tag."""

    stored: StoredDocument
    uses: Counter[tuple[str, str]]


class Extractor:
    """An extraction with its models loaded."""

    def __init__(self, settings: Extraction) -> None:
        self.settings = settings
        self.lexicon: Lexicon = (
            default_lexicon() if settings.lexicon is None else read_lexicon(settings.lexicon)
        )
        self.model: CoreferenceModel = open_model(settings.coref)[0]
        self._parser: AnyParser | None = None
        self._english: EnglishParser | None = None
        if SAMPLED in (settings.trees, settings.tags):
            self._parser = self._english = load_english_parser()
        elif settings.parser is not None:
            self._parser = text_parser(settings.parser)
        # The parser is not thread-safe, so threads take turns.
        self._alone = nullcontext() if self._parser is None else Lock()
        self._trigger = re.compile("|".join(map(re.escape, settings.rules.triggers)))

    def stored(self, item: DatedText) -> StoredDocument:
        """Return the stored values of a document; errors name the document's file and line."""
        return self.extracted(item).stored

    def extracted(self, item: DatedText) -> Extracted:
        """Return the stored values of a document and the uses of the verbs; errors as for `stored`."""
        try:
            return self._extracted(item)
        except InputError as error:
            if error.file is None:
                error.file, error.line, error.row = item.file, item.line, item.row
            raise

    def _extracted(self, item: DatedText) -> Extracted:
        with self._alone:
            skipped = self.settings.skip and not self._may_count(item)
        if skipped:
            return Extracted(StoredDocument(item.id, item.date, skipped=True), Counter())
        with self._alone:
            document, places, draws = self.parsed(item)
        uses = uses_of(document, self.settings.rules)
        settings = self.settings
        events = extract(
            document,
            lambda asked: self.model.posterior([asked]),
            self.lexicon,
            settings.rules,
            samples=settings.samples,
            seed=settings.seed,
            possessive_endings=settings.possessive_endings,
            draws=draws,
        )
        if events is None:
            return Extracted(StoredDocument(item.id, item.date), uses)
        title, text = (item.title, item.text) if settings.with_text else (None, None)
        values = _counts(events), _evidence(events, places), title, text, _entities(events)
        return Extracted(StoredDocument(item.id, item.date, False, *values), uses)

    def _may_count(self, item: DatedText) -> bool:
        if self._trigger.search(item.text.lower()) is None:
            return False
        return may_count(self.words(item), self.lexicon, self.settings.rules)

    @property
    def vocabulary(self) -> frozenset[str]:
        """Return the words that the English models know; empty for other parsers."""
        return getattr(self._parser, "vocabulary", frozenset())

    def words(self, item: DatedText) -> Iterable[list[str]]:
        """Return the words of each sentence, before anything is parsed."""
        return words_of(item, self._parser)

    def parsed(self, item: DatedText) -> tuple[Document, Places, tuple[Document, ...]]:
        """Return a document with trees, the places of its words in the text, and draws if there are any."""
        if self._english is not None:
            return self._drawn(item, self._english)
        if item.document is None:
            if self._parser is None:
                raise _no_parser(item)
            return (*self._parser.parse(item.id, item.text, item.date), ())
        document = item.document
        if document.trees is None:
            if self._parser is None:
                message = f"document {item.id!r} has no trees"
                raise InputError(
                    message, "give a spaCy pipeline that parses it (`parser`)", code="missing-value"
                )
            document = self._parser.trees(document)
        return document, joined(document.sentences)[1], ()

    def _drawn(self, item: DatedText, parser: EnglishParser) -> tuple[Document, Places, tuple[Document, ...]]:
        """Return the same as `parsed`, with sampled tags or trees."""
        if item.document is None:
            sentences, places = parser.sentences(item.text)
            document = Document(item.id, sentences, date=item.date.isoformat())
        elif item.document.trees is None:
            document, places = item.document, joined(item.document.sentences)[1]
        else:
            message = f"document {item.id!r} has trees, which have no probabilities"
            hint = "remove its trees, so that calibrant-english parses it, or sample neither tags nor trees"
            raise InputError(message, hint, code="parameter")
        settings = self.settings
        best, draws = parser.draws(
            document,
            DRAWS,
            seed=settings.seed,
            tags=settings.tags == SAMPLED,
            trees=settings.trees == SAMPLED,
            lemmas=settings.rules.verbs,
        )
        return best, places, draws


def text_parser(path: str | os.PathLike[str]) -> AnyParser:
    """Load the English models or a spaCy pipeline for raw text."""
    if os.fspath(path) == ENGLISH:
        return load_english_parser()
    from calibrant.structures.models.parsing import TextParser

    return TextParser(path)


def models_of(
    documents: str | os.PathLike[str],
    parser: str | os.PathLike[str] | None,
    coref: str | os.PathLike[str] | None,
) -> tuple[str | None, str]:
    """Return the parser and the coreference model: raw text without a pipeline gets the English models."""
    if parser is None and not is_conllu(documents):
        parser = ENGLISH
    if coref is None:
        coref = ENGLISH if parser is not None and os.fspath(parser) == ENGLISH else LITBANK
    return None if parser is None else os.fspath(parser), os.fspath(coref)


def words_of(item: DatedText, parser: AnyParser | None) -> Iterable[list[str]]:
    """Return the words of each sentence of a document; a pipeline's tokenizer splits raw text."""
    if item.document is not None:
        return map(list, item.document.sentences)
    if parser is None:
        raise _no_parser(item)
    return parser.words(item.text)


def _no_parser(item: DatedText) -> InputError:
    message = f"document {item.id!r} is raw text, which needs a parser"
    return InputError(message, "give a spaCy pipeline (`parser`)", code="parameter")


def _counts(events: DocumentEvents) -> tuple[StoredCount, ...]:
    packed = np.packbits(events.bits, axis=0, bitorder="little")
    shares = events.bits.mean(axis=0)
    return tuple(
        StoredCount(country, float(shares[place]), bool(events.best[place]), packed[:, place].tobytes())
        for place, country in enumerate(events.countries)
    )


def _entities(events: DocumentEvents) -> tuple[bytes, ...]:
    numbers = np.vstack([events.entities, events.best_entities]).clip(max=MOST_ENTITIES).astype(np.uint8)
    return tuple(column.tobytes() for column in numbers.T)


def _evidence(events: DocumentEvents, places: Places) -> tuple[StoredEvidence, ...]:
    mentions = events.document.mentions or ()
    rows = []
    for evidence in events.evidence:
        where = []
        for mention in (mentions[evidence.mention], mentions[evidence.agent]):
            words = places[mention.sentence]
            where.append((mention.sentence, words[mention.start][0], words[mention.end - 1][1]))
        arcs = tuple(StoredArc(*arc) for arc in evidence.arcs)
        values = evidence.country, evidence.verb, evidence.probability
        rows.append(StoredEvidence(*values, *where[0], *where[1], arcs))
    return tuple(rows)
