"""What the verbs of coreference share: models by name, texts with the mentions asked for, posteriors."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrant.exceptions import InputError
from calibrant.io.text import open_lines
from calibrant.progress import Progress
from calibrant.structures.documents import Document, Mention
from calibrant.structures.files.coreference import iter_documents
from calibrant.structures.files.coreference_posteriors import read_posteriors
from calibrant.structures.files.saved_models import load_coreference_model
from calibrant.structures.models.coreference import CoreferenceModel, FeatureSet
from calibrant.structures.models.shipped import is_shipped, shipped_models
from calibrant.structures.posterior import AntecedentPosterior

Clusters = Sequence[str | None]
OBJECT = "{"


@dataclass(frozen=True)
class Mentions:
    """Which mentions of a text get a posterior.

    Attributes
    ----------
    detect
        Those detected in its trees; else its own.
    possessive_endings
        Whether *'s* belongs to a detected mention.
    """

    detect: bool = False
    possessive_endings: bool = True


@dataclass(frozen=True)
class Gold:
    """The mentions and entities that predictions are compared with.

    Attributes
    ----------
    name
        The document.
    mentions, clusters
        Mentions and the entity of each; None: a mention without one.
    """

    name: str
    mentions: Sequence[Mention]
    clusters: Clusters


@dataclass(frozen=True)
class Prediction:
    """A batch of documents with posteriors, and what is known of them.

    Attributes
    ----------
    posterior
        Of the D documents.
    mentions
        For each document those that have a posterior.
    clusters
        For each document the gold entity of each of them, None for one without.
    gold
        For each document all mentions and entities of gold.
    """

    posterior: AntecedentPosterior
    mentions: Sequence[Sequence[Mention]]
    clusters: Sequence[Clusters]
    gold: Sequence[Gold]


def open_model(model: Any) -> tuple[CoreferenceModel, str]:
    """Return a model and its name: given, read from a file, or one that ships."""
    if isinstance(model, CoreferenceModel):
        return model, type(model).__name__
    name = os.fspath(model)
    shipped = shipped_models()
    if is_shipped(name):
        return load_coreference_model(shipped[name]), name
    try:
        return load_coreference_model(name), name
    except InputError as error:
        if error.code != "file-missing":
            raise
        hint = f"check the path, or name a model that ships: {', '.join(shipped) or 'none does'}"
        raise InputError(error.message, hint, code=error.code, file=name) from error


def texts(source: Any, parser: Any, progress: Progress | None) -> Iterator[Document]:
    """Documents of a file, or those given; with the trees of a parser, if there is one."""
    documents: Iterable[Document]
    if isinstance(source, (str, os.PathLike)):
        documents = iter_documents(source, progress=progress)
    else:
        documents = source
    if parser is None:
        yield from documents
        return
    from calibrant.structures.models.parsing import parse

    yield from parse(documents, parser)


def asked_mentions(document: Document, how: Mentions, file: str | None) -> Document:
    """The document with its own mentions, or with those detected in its trees and their gold entities."""
    if not how.detect:
        if document.mentions is None:
            message = f"document {document.name!r} has no mentions"
            raise InputError(message, "detect them (`detect`)", code="missing-value", file=file)
        return document
    if document.trees is None:
        message = f"document {document.name!r} has no trees to detect mentions in"
        raise InputError(message, "name a parser (`parser`)", code="missing-value", file=file)
    from calibrant.structures.models.mentions import detect_mentions

    found = detect_mentions(document, possessive_endings=how.possessive_endings)
    clusters = None
    if document.mentions is not None and document.clusters is not None:
        entity = dict(zip(document.mentions, document.clusters, strict=True))
        clusters = [entity.get(mention) for mention in found]
    return replace(document, mentions=found, clusters=clusters)


def check_trees(document: Document, features: FeatureSet, file: str | None) -> None:
    """Raise if a model needs trees that a document has not."""
    if features == "syntax" and document.trees is None:
        message = f"document {document.name!r} has no trees, which syntax features are made of"
        hint = "name a parser (`parser`), or use a model with surface features"
        raise InputError(message, hint, code="missing-value", file=file)


def gold_of(document: Document, file: str | None) -> Gold:
    """The gold entities of a document; raise if it has none."""
    if document.mentions is None or document.clusters is None:
        message = f"document {document.name!r} has no gold entities"
        hint = "scores compare with them: give a text that has them"
        raise InputError(message, hint, code="missing-value", file=file)
    return Gold(document.name, document.mentions, document.clusters)


def predicted(
    model: CoreferenceModel, documents: Sequence[Document], how: Mentions, file: str | None
) -> Prediction:
    """What a model says of documents with gold entities."""
    gold = [gold_of(document, file) for document in documents]
    asked = [asked_mentions(document, how, file) for document in documents]
    for document in asked:
        check_trees(document, model.features, file)
    return Prediction(
        model.posterior(asked),
        [document.mentions or () for document in asked],
        [document.clusters or () for document in asked],
        gold,
    )


def read_prediction(path: str, text: Any, progress: Progress | None) -> Prediction:
    """What a file of posteriors says; gold is that of a text, or its own."""
    documents = list(read_posteriors(path, progress=progress))
    posterior = AntecedentPosterior(
        np.concatenate([np.empty(0), *(each.posterior().log_probabilities for each in documents)]),
        [len(each.mentions) for each in documents],
        names=[each.name for each in documents],
    )
    mentions = [each.mentions for each in documents]
    if text is None:
        without = next((each.name for each in documents if each.mentions and each.clusters is None), None)
        if without is not None:
            message = f"document {without!r} has no gold entities (clusters)"
            hint = "name the text that has them, after the posteriors"
            raise InputError(message, hint, code="missing-value", file=path)
        clusters: list[Clusters] = [each.clusters or () for each in documents]
        gold = [
            Gold(each.name, each.mentions, entities)
            for each, entities in zip(documents, clusters, strict=True)
        ]
        return Prediction(posterior, mentions, clusters, gold)
    file = os.fspath(text) if isinstance(text, (str, os.PathLike)) else None
    by_name = {}
    known = dict(zip(posterior.names, mentions, strict=True))
    for document in texts(text, None, progress):
        by_name[document.name] = gold_of(document, file)
        _check_words(document, known.get(document.name, ()), path)
    missing = sorted(set(by_name) ^ set(posterior.names))
    if missing:
        where = "the text has it, the posteriors have not" if missing[0] in by_name else "the text has it not"
        message = f"document {missing[0]!r}: {where}"
        raise InputError(message, "give posteriors of the documents of the text", file=path)
    gold = [by_name[name] for name in posterior.names]
    entities = [dict(zip(each.mentions, each.clusters, strict=True)) for each in gold]
    clusters = [[of.get(mention) for mention in each] for of, each in zip(entities, mentions, strict=True)]
    return Prediction(posterior, mentions, clusters, gold)


def _check_words(document: Document, mentions: Sequence[Mention], file: str) -> None:
    """Raise if a mention is of words that the text has not: then the posteriors are of another text."""
    lengths = [len(words) for words in document.sentences]
    for number, (sentence, start, end) in enumerate(mentions):
        if sentence >= len(lengths) or end > lengths[sentence]:
            place = f"document {document.name!r}, mention {number} [{sentence}, {start}, {end}]"
            hint = "give posteriors of this text, with the same words and sentences"
            raise InputError(f"{place}: the text has it not", hint, file=file)


def is_posteriors(path: Any) -> bool:
    """Whether a file holds posteriors: JSON lines, by name, or by what it begins with."""
    if not isinstance(path, (str, os.PathLike)):
        return False
    name = os.fspath(path)
    if name.removesuffix(".gz").endswith(".jsonl") or name == "-":
        return True
    file = Path(name)
    if not file.is_file():
        return False
    try:
        with open_lines(name) as (_, lines):
            first = next((line for line in lines if line.strip()), "")
    except InputError:
        return False
    return first.lstrip().startswith(OBJECT)
