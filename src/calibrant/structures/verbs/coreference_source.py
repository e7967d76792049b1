"""Sources of the coreference verbs: models by name, texts with mentions, posteriors, batches for workers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from threading import Lock
from typing import Any, Literal
from uuid import uuid4

import numpy as np

from calibrant.exceptions import InputError
from calibrant.io.text import is_json_lines
from calibrant.progress import Progress
from calibrant.seeds import Seed
from calibrant.structures.documents import Document, Mention
from calibrant.structures.files.coreference import iter_documents
from calibrant.structures.files.coreference_posteriors import line_of, posterior_documents, read_posteriors
from calibrant.structures.files.english import COREFERENCE, ENGLISH, english_folder
from calibrant.structures.files.saved_models import load_coreference_model
from calibrant.structures.models.coreference import CoreferenceModel, FeatureSet
from calibrant.structures.models.shipped import is_shipped, shipped_models
from calibrant.structures.posterior import AntecedentPosterior, probable_entities

Clusters = Sequence[str | None]

Clustering = Literal["probable", "expected", "antecedents"]
BATCH = 16  # documents per batch; a parser gets all sentences of a batch at once, on every executor
SAMPLES = 200  # per document, to find entities with high expected F


@dataclass(frozen=True)
class Mentions:
    """Mentions of a text that get a posterior.

    Attributes
    ----------
    detect
        True for mentions detected in trees, False for the text's mentions.
    possessive_endings
        True if detected mentions include *'s*.
    """

    detect: bool = False
    possessive_endings: bool = True


@dataclass(frozen=True)
class Gold:
    """Gold mentions and entities of a document.

    Attributes
    ----------
    name
        Name of the document.
    mentions, clusters
        Mentions, and the entity of each mention or None.
    """

    name: str
    mentions: Sequence[Mention]
    clusters: Clusters


@dataclass(frozen=True)
class Prediction:
    """Batch of documents with posteriors and gold.

    Attributes
    ----------
    posterior
        Posterior of the D documents.
    mentions
        Mentions with a posterior, per document.
    clusters
        Gold entity of each of these mentions or None, per document.
    gold
        All gold mentions and entities, per document.
    """

    posterior: AntecedentPosterior
    mentions: Sequence[Sequence[Mention]]
    clusters: Sequence[Clusters]
    gold: Sequence[Gold]


def open_model(model: Any) -> tuple[CoreferenceModel, str]:
    """Return a model and its name: the given model, a file, or an included model."""
    if isinstance(model, CoreferenceModel):
        return model, type(model).__name__
    name = os.fspath(model)
    if name == ENGLISH:
        return load_coreference_model(english_folder() / COREFERENCE), name
    shipped = shipped_models()
    if is_shipped(name):
        return load_coreference_model(shipped[name]), name
    try:
        return load_coreference_model(name), name
    except InputError as error:
        if error.code != "file-missing":
            raise
        hint = f"check the path, or name an included model: {', '.join([*shipped, ENGLISH])}"
        raise InputError(error.message, hint, code=error.code, file=name) from error


def file_of(source: Any) -> str | None:
    """Return the path of a text; None for documents."""
    return os.fspath(source) if isinstance(source, (str, os.PathLike)) else None


def texts(source: Any, parser: Any, progress: Progress | None) -> Iterator[Document]:
    """Yield the documents of a file, or the given documents, with the trees of a parser if there is one."""
    documents: Iterable[Document]
    if isinstance(source, (str, os.PathLike)):
        documents = iter_documents(source, progress=progress)
    else:
        documents = source
    if parser is not None:
        from calibrant.structures.models.parsing import parse

        documents = parse(documents, parser)
    yield from documents


def asked_mentions(document: Document, how: Mentions, file: str | None) -> Document:
    """Return the document with its mentions, or with detected mentions and their gold entities."""
    if not how.detect:
        if document.mentions is None:
            message = f"document {document.name!r} has no mentions"
            raise InputError(message, "detect mentions (`detect`)", code="missing-value", file=file)
        return document
    if document.trees is None:
        message = f"document {document.name!r} has no trees, which detection of mentions needs"
        raise InputError(message, "give a parser (`parser`)", code="missing-value", file=file)
    from calibrant.structures.models.mentions import detect_mentions

    mentions = detect_mentions(document, possessive_endings=how.possessive_endings)
    clusters = None
    if document.mentions is not None and document.clusters is not None:
        entity = dict(zip(document.mentions, document.clusters, strict=True))
        clusters = [entity.get(mention) for mention in mentions]
    return replace(document, mentions=mentions, clusters=clusters)


def check_trees(document: Document, features: FeatureSet, file: str | None) -> None:
    """Raise `InputError` if a model needs trees and the document has none."""
    if features == "syntax" and document.trees is None:
        message = f"document {document.name!r} has no trees, which syntax features need"
        hint = "give a parser (`parser`), or use a model with surface features"
        raise InputError(message, hint, code="missing-value", file=file)


def gold_of(document: Document, file: str | None) -> Gold:
    """Return the gold entities of a document; raise `InputError` if it has none."""
    if document.mentions is None or document.clusters is None:
        message = f"document {document.name!r} has no gold entities"
        hint = "give a text with gold entities, with which predictions are compared"
        raise InputError(message, hint, code="missing-value", file=file)
    return Gold(document.name, document.mentions, document.clusters)


def predicted(
    model: CoreferenceModel, documents: Sequence[Document], how: Mentions, file: str | None
) -> Prediction:
    """Return a model's prediction for documents with gold entities."""
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
    """Return the prediction in a file of posteriors, with gold from a text or from the file."""
    documents = list(read_posteriors(path, progress=progress))
    posterior = AntecedentPosterior(
        np.concatenate([np.empty(0), *(document.posterior().log_probabilities for document in documents)]),
        [len(document.mentions) for document in documents],
        names=[document.name for document in documents],
    )
    mentions = [document.mentions for document in documents]
    if text is None:
        without = next(
            (document.name for document in documents if document.mentions and document.clusters is None), None
        )
        if without is not None:
            message = f"document {without!r} has no gold entities (clusters)"
            hint = "give the text with gold entities after the posteriors"
            raise InputError(message, hint, code="missing-value", file=path)
        clusters: list[Clusters] = [document.clusters or () for document in documents]
        gold = [
            Gold(document.name, document.mentions, entities)
            for document, entities in zip(documents, clusters, strict=True)
        ]
        return Prediction(posterior, mentions, clusters, gold)
    file = file_of(text)
    by_name = {}
    known = dict(zip(posterior.names, mentions, strict=True))
    for document in texts(text, None, progress):
        by_name[document.name] = gold_of(document, file)
        _check_words(document, known.get(document.name, ()), path)
    missing = sorted(set(by_name) ^ set(posterior.names))
    if missing:
        where = "missing in the posteriors" if missing[0] in by_name else "missing in the text"
        message = f"document {missing[0]!r} is {where}"
        raise InputError(message, "give posteriors of the documents of the text", file=path)
    gold = [by_name[name] for name in posterior.names]
    entities = [dict(zip(truth.mentions, truth.clusters, strict=True)) for truth in gold]
    clusters = [[of.get(mention) for mention in here] for of, here in zip(entities, mentions, strict=True)]
    return Prediction(posterior, mentions, clusters, gold)


def _check_words(document: Document, mentions: Sequence[Mention], file: str) -> None:
    """Raise `InputError` if a mention is outside the text."""
    lengths = [len(words) for words in document.sentences]
    for number, (sentence, start, end) in enumerate(mentions):
        if sentence >= len(lengths) or end > lengths[sentence]:  # these are posteriors of another text
            place = f"document {document.name!r}, mention {number} [{sentence}, {start}, {end}]"
            hint = "give posteriors of this text, with the same words and sentences"
            raise InputError(f"{place} is outside the text", hint, file=file)


def is_posteriors(path: Any) -> bool:
    """Return True if a file contains posteriors, that is JSON lines, by its name or its first character."""
    if not isinstance(path, (str, os.PathLike)):
        return False
    try:
        return is_json_lines(path)
    except InputError:
        return False


@dataclass(frozen=True)
class Predicting:
    """Settings of a prediction.

    Attributes
    ----------
    model
        Path or name of a model, or the model.
    parser
        spaCy pipeline; None: documents have trees, or need none.
    how
        Mentions that get a posterior.
    file
        File of the documents, for messages.
    clustering
        Method to find entities; None: no entities.
    seed
        Seed of the samples for the entities.
    run
        Identifier of the run; each run loads its models again, since files may have changed.
    """

    model: Any
    parser: Any
    how: Mentions
    file: str | None
    clustering: Clustering | None
    seed: int
    run: str = field(default_factory=lambda: uuid4().hex)


@dataclass(frozen=True)
class Predicted:
    """Predicted document.

    Attributes
    ----------
    name
        Name of the document.
    line
        Written posterior.
    mentions, labelled
        Number of mentions, and of mentions with a gold entity.
    gold
        Number of gold mentions with an entity; None without gold.
    document, entities
        Document with its mentions, and the entity of each mention; None if not requested.
    """

    name: str
    line: str
    mentions: int
    labelled: int
    gold: int | None
    document: Document | None
    entities: list[int]


_alone = Lock()  # threads of a process share a parser, which is not thread-safe


@lru_cache(maxsize=1)
def _model(model: Any, run: str) -> Any:
    return open_model(model)[0]


@lru_cache(maxsize=1)
def _pipeline(parser: Any, run: str) -> Any:
    from calibrant.structures.models.spacy_tagger import load_pipeline

    return load_pipeline(parser)[0]


def parsed(parser: Any, run: str, batch: Sequence[Document]) -> list[Document]:
    """Return documents with the trees of a parser."""
    from calibrant.structures.models.parsing import parse

    with _alone:
        return list(parse(batch, _pipeline(parser, run)))


def predicted_batch(settings: Predicting, batch: Sequence[Document]) -> list[Predicted]:
    """Predict some documents."""
    with _alone:
        model = _model(settings.model, settings.run)
    if settings.parser is not None:
        batch = parsed(settings.parser, settings.run, batch)
    return [_predicted(settings, model, document) for document in batch]


def _predicted(settings: Predicting, model: Any, document: Document) -> Predicted:
    asked = asked_mentions(document, settings.how, settings.file)
    check_trees(asked, model.features, settings.file)
    posterior = model.posterior([asked])
    (written,) = posterior_documents(posterior, [asked])
    wanted = settings.clustering is not None
    return Predicted(
        name=asked.name,
        line=line_of(written),
        mentions=posterior.mention_count,
        labelled=sum(entity is not None for entity in asked.clusters or ()),
        gold=None if document.clusters is None else sum(entity is not None for entity in document.clusters),
        document=asked if wanted else None,
        entities=entities_of(posterior, settings.clustering, settings.seed) if settings.clustering else [],
    )


def entities_of(
    posterior: AntecedentPosterior, clustering: Clustering, seed: Seed = 0, threads: int | None = None
) -> list[int]:
    """Return the entity of each mention of all documents, concatenated."""
    if clustering == "probable":
        labels = probable_entities(posterior)
    elif clustering == "expected":
        labels = posterior.best_clustering(SAMPLES, seed=seed, threads=threads)
    else:
        labels = posterior.clusters_of(posterior.best_antecedents())
    entities: list[int] = labels.tolist()
    return entities
