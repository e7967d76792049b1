"""Batches of documents, as processes and machines parse them and find their entities."""

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
BATCH = 16  # documents; a parser sees the sentences of so many together, wherever it runs
SAMPLES = 200  # of each document, by which entities of high expected F are found


@dataclass(frozen=True)
class Predicting:
    """How documents are predicted.

    Attributes
    ----------
    model
        Path, name, or a model itself.
    parser
        None: documents have trees, or need none.
    how
        Which mentions get a posterior.
    file
        Where documents come from, for errors.
    clustering
        How entities are found; None: they are not.
    seed
        Of what is drawn for them.
    run
        What tells runs apart: each loads its models anew, since a file may have changed.
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
    """A document that was predicted.

    Attributes
    ----------
    name
        Of the document.
    line
        Its posterior, as it is written.
    mentions, labelled
        How many there are, and how many have a gold entity.
    gold
        Gold mentions with an entity; None: no gold is known.
    document, entities
        With its mentions, and the entity of each; None if not asked for.
    """

    name: str
    line: str
    mentions: int
    labelled: int
    gold: int | None
    document: Document | None
    entities: list[int]


_alone = Lock()  # threads of one process share a parser, which is made for one


@lru_cache(maxsize=1)
def _model(model: Any, run: str) -> Any:
    return open_model(model)[0]


@lru_cache(maxsize=1)
def _pipeline(parser: Any, run: str) -> Any:
    from calibrant.structures.models.spacy_tagger import load_pipeline

    return load_pipeline(parser)[0]


def parsed(parser: Any, run: str, batch: Sequence[Document]) -> list[Document]:
    """Documents with the trees of a parser."""
    from calibrant.structures.models.parsing import parse

    with _alone:
        return list(parse(batch, _pipeline(parser, run)))


def predicted(settings: Predicting, batch: Sequence[Document]) -> list[Predicted]:
    """Find the entities of some documents."""
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
    """The entity of each mention of all documents, one after another."""
    if clustering == "probable":
        labels = probable_entities(posterior)
    elif clustering == "expected":
        labels = posterior.best_clustering(SAMPLES, seed=seed, threads=threads)
    else:
        labels = posterior.clusters_of(posterior.best_antecedents())
    found: list[int] = labels.tolist()
    return found
