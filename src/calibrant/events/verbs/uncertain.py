"""The documents of a store of events that are most uncertain, with the evidence."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence

import numpy as np

from calibrant._checks import positive_integer
from calibrant.events.files.dated import is_conllu, iter_dated
from calibrant.events.files.dated_text import DatedText
from calibrant.events.files.layout import Layout
from calibrant.events.files.store import Counts, EventStore, StoredDocument, StoredEvidence
from calibrant.events.lexicon import display_name
from calibrant.events.results.events import EvidencePair, UncertainDocument, UncertainDocuments
from calibrant.events.verbs.tables import country_codes
from calibrant.exceptions import InputError
from calibrant.progress import Progress


def uncertain_documents(
    store: str | os.PathLike[str] | EventStore,
    *,
    countries: Sequence[str] | None = None,
    most: int = 20,
    documents: str | os.PathLike[str] | None = None,
) -> UncertainDocuments:
    """Find the documents whose probability is nearest one half, with the evidence.

    Parameters
    ----------
    store
        Folder of the store, or an `EventStore`.
    countries
        Use only these countries, each given by its code in the lexicon (IRQ) or its name. None: all.
    most
        Number of documents to list.
    documents
        Documents of the run, to show the words of mentions if the store has no texts.

    Returns
    -------
    UncertainDocuments
        The most uncertain document first; ties are sorted by date and id.

    Examples
    --------
    >>> from calibrant.data import event_store
    >>> uncertain = uncertain_documents(event_store("reuters-21578"), most=1).documents
    >>> [(row.id, row.date, row.country, row.probability) for row in uncertain]
    [('13749', '1987-04-07', 'IRQ', 0.44)]
    """
    positive_integer(most, "most")
    opened = store if isinstance(store, EventStore) else EventStore(store)
    counts = opened.counts()
    rows = np.arange(len(counts.document))
    if countries is not None:
        wanted = [counts.rows_of(code) for code in country_codes(countries, counts)]
        rows = np.sort(np.concatenate([np.zeros(0, np.int64), *wanted]))
    nearest = rows[np.argsort(np.abs(counts.probability[rows] - 0.5), kind="stable")][:most]
    names = {counts.names[counts.document[row]] for row in nearest}
    texts = {} if documents is None else texts_of(opened, documents, names)
    stored = {name: opened.document(name) for name in names}
    return UncertainDocuments(
        store=os.fspath(opened.path),
        finished=opened.manifest.finished,
        problems=opened.problems,
        documents=tuple(_uncertain(counts, int(row), stored, texts) for row in nearest),
    )


def texts_of(
    store: EventStore,
    documents: str | os.PathLike[str],
    names: Collection[str],
    *,
    progress: Progress | None = None,
) -> dict[str, DatedText]:
    """Return the texts of a store's documents from a file, whose columns are those of its run."""
    layout = Layout() if is_conllu(documents) else store.layout
    read = iter_dated(documents, layout=layout, progress=progress)
    texts = {text.id: text for text in read if text.id in names}
    if names and not texts:
        hint = "give the documents of the run that wrote the store"
        raise InputError("the file has no document of the store", hint, file=os.fspath(documents))
    return texts


def _uncertain(
    counts: Counts, row: int, stored: dict[str, StoredDocument | None], texts: dict[str, DatedText]
) -> UncertainDocument:
    name, country = counts.names[counts.document[row]], counts.countries[counts.country[row]]
    document = stored[name]
    evidence = () if document is None else document.evidence
    given = texts.get(name, document)
    text = None if given is None else given.text
    return UncertainDocument(
        id=name,
        date=str(counts.day[row]),
        country=country,
        name=display_name(country),
        probability=float(counts.probability[row]),
        best=bool(counts.best[row]),
        evidence=tuple(_pair(pair, text) for pair in evidence if pair.country == country),
    )


def _pair(evidence: StoredEvidence, text: str | None) -> EvidencePair:
    def words(start: int, end: int) -> str | None:
        return None if text is None else " ".join(text[start:end].split())

    return EvidencePair(
        probability=evidence.probability,
        verb=evidence.verb,
        mention_sentence=evidence.mention_sentence,
        agent_sentence=evidence.agent_sentence,
        mention=words(evidence.mention_from, evidence.mention_to),
        agent=words(evidence.agent_from, evidence.agent_to),
    )
