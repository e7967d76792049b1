"""Batches of sentences, as processes and machines tag them, each with a tagger of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any
from uuid import uuid4

from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.verbs.batches import named_source
from calibrant.verbs.executors import Workers

Sentences = Sequence[Sequence[str]]


@dataclass(frozen=True)
class TaggerSource:
    """What workers load a tagger from.

    Attributes
    ----------
    path
        Of a saved model, or path or name of a spaCy pipeline.
    column
        What is asked of a pipeline; None: it is a saved model.
    run
        What tells runs apart: each loads its model anew, since a file may have changed.
    """

    path: str
    column: Any = None
    run: str = field(default_factory=lambda: uuid4().hex)


def tagger_source(model: Any, pool: Workers) -> TaggerSource:
    """Where workers find a model: a path, or a tagger of a spaCy pipeline that has one.

    Raises
    ------
    InputError
        If it has none.
    """
    from calibrant.structures.models.spacy_tagger import SpacyTagger

    if isinstance(model, SpacyTagger) and model.path is not None:
        return TaggerSource(named_source(model.path, pool, "model"), model.column)
    return TaggerSource(named_source(model, pool, "model"))


_alone = Lock()  # threads of one process share a pipeline, which is made for one


@lru_cache(maxsize=1)
def _tagger(source: TaggerSource) -> Any:
    if source.column is None:
        from calibrant.structures.files.saved_models import load_tagger

        return load_tagger(source.path)
    from calibrant.structures.models.spacy_tagger import SpacyTagger

    return SpacyTagger(source.path, column=source.column)


def tagged(source: TaggerSource, sentences: Sentences) -> ChainPosterior:
    """Distribution over the tags of some sentences."""
    with _alone:
        found: ChainPosterior = _tagger(source).posterior(sentences)
    return found
