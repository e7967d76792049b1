"""Dependency relations of country entities, to design rules such as those of attacks."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import sample_count
from calibrant.events.files.dated import iter_dated
from calibrant.events.results.reading import RelationCount, RelationCounts
from calibrant.events.rules import find
from calibrant.events.verbs.extraction import SAMPLES, rules_of
from calibrant.events.verbs.settings import UNKNOWN_TEXTS
from calibrant.events.verbs.worker import Extraction, Extractor, models_of
from calibrant.progress import Progress
from calibrant.seeds import number
from calibrant.structures.documents import Document
from calibrant.structures.models.mentions import detect_mentions, head_of

GOVERNORS = 5
ROOT = "(root)"


def country_relations(
    documents: str | os.PathLike[str],
    *,
    coref: str | os.PathLike[str] | None = None,
    parser: str | os.PathLike[str] | None = None,
    lexicon: str | os.PathLike[str] | None = None,
    rules: str = "default",
    samples: int = SAMPLES,
    seed: int = 0,
    possessive_endings: bool = True,
    progress: Progress | None = None,
) -> RelationCounts:
    """Count the dependency relations of mentions of country entities.

    A country entity has mentions that are described as exactly one country. For each of its mentions, the
    relation of the head word to its governor counts with the proportion of samples in which the mention
    belongs to a country entity. Use the table to choose the relations for a rule that finds agents.

    Parameters
    ----------
    documents
        As in `calibrant.events.extract_events`, but any number of samples, since the counts have no
        intervals. All documents with a name of the lexicon are parsed.
    coref, parser, lexicon, rules
        As in `calibrant.events.verbs.extraction.extract_events`.
    samples
        Sampled clusterings per document; any number, since the counts have no intervals.
    seed, possessive_endings
        As in `calibrant.events.verbs.extraction.extract_events`.
    progress
        Called with a stage, the number of documents done, and their total (None if unknown).

    Returns
    -------
    RelationCounts

    References
    ----------
    Nguyen and O'Connor (2015), appendix, section 3.

    Examples
    --------
    >>> from calibrant.data import dated_documents
    >>> first = country_relations(dated_documents(), samples=10).relations[0]
    >>> first.relation, first.acting > 0
    ('nsubj', True)
    """
    parser, coref = models_of(documents, parser, coref)
    settings = Extraction(
        coref,
        parser,
        None if lexicon is None else os.fspath(lexicon),
        rules_of(rules, None),
        sample_count(samples),
        number(seed),
        False,
        possessive_endings,
    )
    extractor = Extractor(settings)
    frequencies = _Frequencies(frozenset(settings.rules.verbs))
    read = described = 0
    for item in iter_dated(documents, progress=progress):
        read += 1
        if any(extractor.lexicon.matches(words) for words in extractor.words(item)):
            described += frequencies.add(extractor.parsed(item)[0], extractor)
    return RelationCounts(
        source=os.fspath(documents),
        documents=read,
        described=described,
        relations=frequencies.rows(),
        coref=settings.coref,
        trained_on=extractor.model.trained_on or UNKNOWN_TEXTS,
        samples=settings.samples,
        seed=settings.seed,
        rules=settings.rules.name,
    )


@dataclass
class _Frequencies:
    """Expected mentions of country entities, by relation, and by relation and governor."""

    verbs: Collection[str]
    mentions: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    governors: dict[str, dict[str, float]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, document: Document, extractor: Extractor) -> bool:
        """Add the mentions of a document; return whether one is described as a country."""
        settings = extractor.settings
        if document.mentions is None:
            endings = settings.possessive_endings
            document = replace(document, mentions=detect_mentions(document, possessive_endings=endings))
        described = find(document, extractor.lexicon, settings.rules).described
        if not described:
            return False
        labels = extractor.model.posterior([document]).sample(settings.samples, seed=settings.seed, threads=1)
        for mention, share in zip(document.mentions or (), _shares(described, labels).tolist(), strict=True):
            if share > 0:
                tree = (document.trees or ())[mention.sentence]
                head = head_of(tree, mention)
                relation, governor = tree.relations[head], tree.heads[head] - 1
                lemma = ROOT if governor < 0 else tree.lemmas[governor].lower()
                lemmas = self.governors[relation]
                self.mentions[relation] += share
                lemmas[lemma] = lemmas.get(lemma, 0.0) + share
        return True

    def rows(self) -> tuple[RelationCount, ...]:
        """Return one row per relation, the most frequent relation first."""
        total = sum(self.mentions.values())
        return tuple(
            RelationCount(
                relation=relation,
                mentions=mentions,
                share=mentions / total,
                acting=sum((n for lemma, n in self.governors[relation].items() if lemma in self.verbs), 0.0),
                governors=", ".join(lemma for lemma, _ in _falling(self.governors[relation])[:GOVERNORS]),
            )
            for relation, mentions in _falling(self.mentions)
        )


def _falling(counts: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def _shares(described: list[tuple[int, str]], labels: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the (M,) proportions of samples in which each mention's entity is described as one country."""
    mentions = np.array([mention for mention, _ in described])
    codes = np.unique([code for _, code in described], return_inverse=True)[1]
    shares = np.zeros(labels.shape[1])
    for sample in labels:
        named = np.zeros((len(sample), codes.max() + 1), np.bool_)
        named[sample[mentions], codes] = True
        shares += (named.sum(axis=1) == 1)[sample]
    return shares / len(labels)
