"""Extraction of events from dated documents into a store, in one process or several."""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from hashlib import blake2b
from threading import Lock
from typing import Any, Literal
from uuid import uuid4

from calibrant._checks import FEWEST_SAMPLED, one_of, sample_count
from calibrant.events.files.dated import check_dated, layout_note
from calibrant.events.files.dated_pieces import Item, Unread, iter_unread, source_of
from calibrant.events.files.layout import Layout
from calibrant.events.files.store import Manifest, StoredDocument
from calibrant.events.files.store_writing import PART, StoreWriter
from calibrant.events.files.verb_lists import read_verbs
from calibrant.events.lexicon import default_lexicon
from calibrant.events.results.events import ExtractedEvents
from calibrant.events.rules import AGENT, NOUN, RULES, VERB, Rules
from calibrant.events.verbs.settings import UNKNOWN_TEXTS, store_settings, store_sources, training_note
from calibrant.events.verbs.worker import DRAWN, SAMPLED, Drawn, Extraction, Extractor, models_of
from calibrant.exceptions import InputError
from calibrant.io.tables import listed
from calibrant.progress import Progress, tell
from calibrant.seeds import number
from calibrant.structures.files.english import ENGLISH
from calibrant.structures.models.english import known_fraction
from calibrant.structures.verbs.batches import batches_of, same_paths, span
from calibrant.verbs.executors import workers_of

SHOWN = 5
CHANGED = "from the store in date, title or text; the store keeps the earlier version: use a new store"
ONE_TREE = "`--trees sampled` includes the uncertainty of the parser, and takes about twice as long."
FEWEST_KNOWN = 0.5  # of the words of a text; 99 % of English news have more, other languages at most 0.25
FOREIGN = (
    "words of which the English models know less than half; they may be in another language or of another "
    "kind, and have more errors"
)
WORD = re.compile(r"[^\W\d_]+")
COMMENT = re.compile(r"^#.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Prepared:
    """Description of an extraction that a worker returns when its models are loaded.

    Attributes
    ----------
    settings
        Settings of the store.
    trained_on
        Texts that the coreference model was trained on.
    notes
        Notes on the lexicon.
    vocabulary
        Words that the English models know; empty for other parsers.
    """

    settings: dict[str, Any]
    trained_on: str
    notes: tuple[str, ...]
    vocabulary: frozenset[str] = frozenset()

    @property
    def digest(self) -> str:
        """Return the digest of the settings."""
        return Manifest.digest_of(self.settings)


_opening = Lock()


@lru_cache(maxsize=1)
def _load(settings: Extraction) -> tuple[Extractor, Prepared]:
    extractor = Extractor(settings)
    lexicon = extractor.lexicon
    conflicts = () if lexicon is default_lexicon() else lexicon.conflicts[:SHOWN]
    notes = [
        f"the lexicon gives {name.name!r} to {name.kept} and {name.dropped}; it counts for {name.kept}"
        for name in conflicts
    ]
    trained_on = extractor.model.trained_on or UNKNOWN_TEXTS
    described = store_settings(settings, extractor)
    return extractor, Prepared(described, trained_on, tuple(notes), extractor.vocabulary)


def _opened(settings: Extraction) -> tuple[Extractor, Prepared]:
    """Load the models once per process; threads share them."""
    with _opening:
        return _load(settings)


def prepare(settings: Extraction) -> Prepared:
    """Load the models and return their description."""
    return _opened(settings)[1]


def work(
    settings: Extraction, digest: str, batch: Sequence[Item]
) -> tuple[list[StoredDocument], Counter[tuple[str, str]]]:
    """Extract some documents, and count the uses of the verbs; the models must be those of the store."""
    extractor, prepared = _opened(settings)
    if prepared.digest != digest:
        message = "a worker has another coreference model, parser or lexicon under the same path"
        raise InputError(message, "give all workers the same files", code="worker")
    documents, uses = [], Counter[tuple[str, str]]()
    for item in batch:
        found = extractor.extracted(item.read() if isinstance(item, Unread) else item)
        documents.append(replace(found.stored, source=source_of(item)))
        uses.update(found.uses)
    return documents, uses


BATCH = 256  # most documents per batch
CHARACTERS = 1 << 16  # approximate characters per batch
SAMPLES = 100


def extract_events(
    documents: str | os.PathLike[str],
    store: str | os.PathLike[str],
    *,
    coref: str | os.PathLike[str] | None = None,
    parser: str | os.PathLike[str] | None = None,
    text_column: str | None = None,
    id_column: str | None = None,
    date_column: str | None = None,
    date_from: str | None = None,
    lexicon: str | os.PathLike[str] | None = None,
    rules: str = "default",
    role: Literal["agent", "target", "dyad"] = "agent",
    verbs: str | os.PathLike[str] | Sequence[str] | None = None,
    trees: Drawn = "1-best",
    tags: Drawn = "1-best",
    samples: int = SAMPLES,
    seed: int = 0,
    with_text: bool = False,
    possessive_endings: bool = True,
    workers: int = 1,
    executor: Executor | str | None = None,
    part: int = PART,
    progress: Progress | None = None,
) -> ExtractedEvents:
    """Extract the countries for which each document counts in samples of its entities, and store them.

    To continue an interrupted run, call the function again. The content of the store depends neither on the
    order of the documents nor on the number of workers.

    Parameters
    ----------
    documents
        Path of a folder of text files, a table, JSON lines or CoNLL-U, as for `calibrant.events.iter_dated`.
    store
        New folder, or a store with the same settings, to which new documents are added.
    coref
        Coreference model: a file written by `calibrant coref train`, litbank, which is included and was
        trained on fiction, or calibrant-english. None: calibrant-english for texts that it parses, otherwise
        litbank.
    parser
        Parser of raw text and of documents without trees: a spaCy pipeline (path or name), or
        calibrant-english. None: calibrant-english for raw text.
    text_column
        Column of a table, or key of JSON lines, with the text. None: a usual name such as text or body.
    id_column
        Column with the id. None: a usual name such as id; without one, the number of the row.
    date_column
        Column with the date. None: a usual name such as date or published.
    date_from
        Form of the date, in its column or in the path of a text file: codes such as ``%d.%m.%Y``, or a
        regular expression with the groups year, month and day. None: YYYY-MM-DD, in paths also YYYYMMDD.
    lexicon
        Names of countries: a CSV with the columns code and name, or a list in the format of country_igos.txt.
        None: the included lexicon.
    rules
        Rules that find agents. ``paper``: agents of the verb attack, as in Nguyen & O'Connor (2015).
        ``default``: agents of verbs of force, with compounds and coordination, without places; an agent that
        itself names one country counts for it.
    role
        Count the countries that act (``agent``) or that are acted on (``target``), or pairs of both
        (``dyad``), such as "USA -> IRQ".
    verbs
        Verbs to use instead of those of the rules: a file with one lemma per line, or lemmas.
    trees
        ``sampled``: draw 10 trees of each sentence from the probabilities of calibrant-english, and divide
        the samples of entities among them. ``1-best``: all samples have the same tree.
    tags
        ``sampled``: draw parts of speech, too, from the tagger of calibrant-english. ``1-best``: all samples
        have the same.
    samples
        Samples per document, at least 20.
    seed
        Seed of all random draws.
    with_text
        Also store the texts of documents that may count.
    possessive_endings
        Include 's in detected mentions, as in GUM, or leave it out, as in LitBank.
    workers
        Number of processes. With more than one, the calling script must be importable
        (``if __name__ == "__main__":``).
    executor
        Replacement for processes of this machine: a `concurrent.futures.Executor`, which gets ``workers``
        batches at once, or the address of a Dask scheduler (``tcp://...``), whose workers determine the
        number of batches. Workers must find models, lexicon and parser under the same paths.
    part
        Documents per part of the store; a killed run loses at most one part.
    progress
        Called with a stage, the number of documents done, and their total (None if unknown).

    Returns
    -------
    ExtractedEvents

    Raises
    ------
    InputError
        If documents, models or settings are invalid, or the store has other settings. The message names an
        invalid document and its line. Documents that were written before are kept.
    CalibrantError
        If workers fail repeatedly, or all workers or the scheduler are lost (code ``worker``). Documents that
        were written before are kept.
    MissingExtraError
        If spaCy or Dask is required and not installed.

    References
    ----------
    Nguyen and O'Connor (2015), section 6.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.data import dated_documents
    >>> from calibrant.structures import read_documents, save_model
    >>> from calibrant.structures.models import CoreferenceModel
    >>> model = CoreferenceModel(bits=10, least=1, epochs=5).fit(read_documents(dated_documents()))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_model(model, f"{folder}/small.model")
    ...     extraction = extract_events(dated_documents(), f"{folder}/store", coref=f"{folder}/small.model")
    >>> extraction.documents, extraction.skipped
    (14, 1)
    """
    began = time.monotonic()
    parser, coref = models_of(documents, parser, coref)
    settings = Extraction(
        coref,
        parser,
        None if lexicon is None else os.fspath(lexicon),
        rules_of(rules, verbs, role),
        sample_count(samples, least=FEWEST_SAMPLED),
        number(seed),
        with_text,
        possessive_endings,
        drawn(trees, "trees", parser),
        drawn(tags, "tags", parser),
        uuid4().hex,
    )
    layout = Layout(text_column, id_column, date_column, date_from)
    total = check_dated(documents, layout=layout, progress=progress)
    columns = layout_note(documents, layout)
    with ExitStack() as stack:
        pool = stack.enter_context(workers_of(executor, workers))
        named = [name for name in ("coref", "parser") if getattr(settings, name) != ENGLISH]
        there = same_paths(settings, *named, "lexicon")
        # Every worker loads its models now; the first to finish gives the settings of the store.
        with closing(pool.map(prepare, [there] * pool.slots, lambda _: "the models")) as loading:
            prepared = next(loading)
        done = Done(prepared.vocabulary, () if verbs is None else settings.rules.verbs)
        given = {f"layout {field}": value for field, value in vars(layout).items() if value is not None}
        sources = store_sources(settings, prepared.trained_on) | given
        opening = StoreWriter(store, prepared.settings, sources=sources, part=part)
        writer = stack.enter_context(opening)
        fresh = done.fresh(iter_unread(documents, layout), writer)
        batches = batches_of(fresh, BATCH, size=lambda item: len(item.text), full=CHARACTERS)
        doing = partial(work, there, prepared.digest)
        results = pool.map(doing, batches, lambda batch: span([item.id for item in batch]))
        for stored, uses in stack.enter_context(closing(results)):
            done.uses.update(uses)
            for document in stored:
                writer.write(document)
                done.add(writer[document.id])
            tell(progress, "extracting", done.read, total)
        writer.finish()
        problem = "was damaged, changed or missing; its documents were extracted again"
        notes = [f"{name} {problem}" for name in writer.put_aside]
    notes = [
        *filter(None, [columns]),
        *[ONE_TREE] * (settings.parser == ENGLISH and settings.trees != SAMPLED),
        training_note(settings.coref, prepared.trained_on, settings.parser),
        *notes,
        *done.notes(),
        *prepared.notes,
    ]
    return ExtractedEvents(
        store=os.fspath(store),
        documents=done.read,
        kept=done.kept,
        skipped=done.skipped,
        matched=done.matched,
        countries=len(done.countries),
        parser=settings.parser,
        coref=settings.coref,
        trained_on=prepared.trained_on,
        sampled=settings.sampled,
        samples=settings.samples,
        seed=settings.seed,
        rules=settings.rules.name,
        verbs=settings.rules.verbs,
        workers=workers if executor is None else None,
        seconds=time.monotonic() - began,
        notes=tuple(notes),
    )


def drawn(value: Drawn, name: str, parser: str | None) -> Drawn:
    """Return the setting of trees or tags; only the English models have probabilities to draw from."""
    one_of(value, DRAWN, name)
    if value == SAMPLED and parser != ENGLISH:
        what = "trees of the file" if parser is None else f"those of the parser {parser}"
        hint = f"parse the texts with calibrant-english (`parser`), or leave `{name}` out"
        raise InputError(f"{name} cannot be sampled: {what} have no probabilities", hint, code="parameter")
    return value


class Done:
    """Progress of a run; ``verbs`` are those that its user chose."""

    def __init__(self, vocabulary: frozenset[str] = frozenset(), verbs: Sequence[str] = ()) -> None:
        self.vocabulary, self.verbs = vocabulary, verbs
        self.uses: Counter[tuple[str, str]] = Counter()
        self.read = self.kept = self.skipped = self.matched = 0
        self.foreign: list[str] = []
        self.empty: list[str] = []
        self.countries: set[str] = set()
        self.texts: set[bytes] = set()
        self.repeats: list[str] = []
        self.changed: list[str] = []

    def fresh(self, items: Iterator[Item], writer: StoreWriter) -> Iterator[Item]:
        """Yield the documents that the store does not contain, and count the others."""
        for item in items:
            text = (COMMENT.sub("", item.text) if isinstance(item, Unread) else item.text).strip()
            key = blake2b(text.encode(), digest_size=16).digest()
            if not text:
                self.empty.append(item.id)
            elif key in self.texts:
                self.repeats.append(item.id)
            if self.vocabulary:
                known = known_fraction((word[0] for word in WORD.finditer(text)), self.vocabulary)
                if known is not None and known < FEWEST_KNOWN:
                    self.foreign.append(item.id)
            self.texts.add(key)
            if item.id in writer:
                self.kept += 1
                if writer.has_other(item.id, source_of(item)):
                    self.changed.append(item.id)
                self.add(writer[item.id])
            else:
                yield item

    def notes(self) -> list[str]:
        """Return notes on repeated, changed, foreign and empty documents, and on verbs used as nouns."""
        notes = []
        for names, one, more, what in (
            (self.repeats, "has", "have", "the same text as an earlier one; each counts separately"),
            (self.changed, "differs", "differ", CHANGED),
            (self.foreign, "has", "have", FOREIGN),
            (self.empty, "has", "have", "no text, and so no events; rates include them"),
        ):
            if names:
                some = f"{len(names):,} documents {more}" if names[1:] else f"1 document {one}"
                notes.append(f"{some} {what}: {listed(names, SHOWN)}")
        nouns = {verb: self.uses[verb, NOUN] for verb in self.verbs}
        totals = {verb: times + self.uses[verb, VERB] for verb, times in nouns.items()}
        mostly = [
            f"{verb} is a noun in {100 * times / totals[verb]:.0f} % of {totals[verb]:,} "
            f"occurrence{'s' * (totals[verb] != 1)}"
            for verb, times in nouns.items()
            if 2 * times > totals[verb]
        ]
        if mostly:
            notes.append(f"{'; '.join(mostly)}; only verbs count")
        return notes

    def add(self, countries: frozenset[str] | None) -> None:
        """Count a document of the store by its countries, which are None if it was not parsed."""
        self.read += 1
        self.skipped += countries is None
        self.matched += bool(countries)
        self.countries.update(countries or ())


def rules_of(name: str, verbs: str | os.PathLike[str] | Sequence[str] | None, role: str = AGENT) -> Rules:
    """Return rules by name, with another role, and with other verbs if given."""
    one_of(name, tuple(RULES), "rules")
    rules = replace(RULES[name], role=role)
    if verbs is None:
        return rules
    chosen = read_verbs(verbs) if isinstance(verbs, (str, os.PathLike)) else verbs
    return rules.with_verbs(chosen)
