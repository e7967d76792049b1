"""Batches of documents that processes and machines parse and predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, Literal
from uuid import uuid4

from calibrant.seeds import Seed
from calibrant.structures.documents import Document
from calibrant.structures.files.coreference_posteriors import line_of, posterior_documents
from calibrant.structures.posterior import AntecedentPosterior, probable_entities
from calibrant.structures.verbs.coreference_source import Mentions, asked_mentions, check_trees, open_model

Clustering = Literal["probable", "expected", "antecedents"]
BATCH = 16  # documents per batch; a parser gets all sentences of a batch at once, on every executor
SAMPLES = 200  # per document, to find entities with high expected F


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


def predicted(settings: Predicting, batch: Sequence[Document]) -> list[Predicted]:
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
        labelled=sum(each is not None for each in asked.clusters or ()),
        gold=None if document.clusters is None else sum(each is not None for each in document.clusters),
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
    found: list[int] = labels.tolist()
    return found
