"""Batches of sentences that processes and machines tag, each with a separate tagger."""

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
    """Source from which workers load a tagger.

    Attributes
    ----------
    path
        Path of a saved model, or path or name of a spaCy pipeline.
    column
        Annotation to request from a pipeline; None for a saved model.
    run
        Identifier of the run; each run loads its model again, since the file may have changed.
    """

    path: str
    column: Any = None
    run: str = field(default_factory=lambda: uuid4().hex)


def tagger_source(model: Any, pool: Workers) -> TaggerSource:
    """Return the source of a model: a path, or the path or name of a tagger's spaCy pipeline.

    Raises
    ------
    InputError
        If the model has neither.
    """
    from calibrant.structures.models.spacy_tagger import SpacyTagger

    if isinstance(model, SpacyTagger) and model.path is not None:
        return TaggerSource(named_source(model.path, pool, "model"), model.column)
    return TaggerSource(named_source(model, pool, "model"))


_alone = Lock()  # threads of a process share a pipeline, which is not thread-safe


@lru_cache(maxsize=1)
def _tagger(source: TaggerSource) -> Any:
    if source.column is None:
        from calibrant.structures.files.saved_models import load_tagger

        return load_tagger(source.path)
    from calibrant.structures.models.spacy_tagger import SpacyTagger

    return SpacyTagger(source.path, column=source.column)


def tagged(source: TaggerSource, sentences: Sentences) -> ChainPosterior:
    """Return the distribution over the tags of some sentences."""
    with _alone:
        found: ChainPosterior = _tagger(source).posterior(sentences)
    return found
