"""Cases of events: coreference of parsed documents, and the rules over its samples."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[[], Any]
SEED = 1
SAMPLES = 100
TRAINED_ON = 8  # documents: scoring takes as long whatever the weights are


def corpus() -> Path:
    """Parsed texts with mentions; it need not be there."""
    return Path(os.environ.get("CALIBRANT_DATA", "."), "ud-english-gum", "en_gum-ud-dev.conllu.gz")


def _documents() -> list[Any]:
    from calibrant.structures import read_documents

    return [document for document in read_documents(corpus()) if document.mentions]


def _model(documents: list[Any]) -> Any:
    from calibrant.structures.models.coreference import CoreferenceModel

    return CoreferenceModel(epochs=1).fit(documents[:TRAINED_ON])


def _samples(model: Any, documents: list[Any]) -> list[Any]:
    posterior = model.posterior(documents)
    return [posterior.document(document.name).sample(SAMPLES, seed=SEED) for document in documents]


def event_coreference(**_: Any) -> Call:
    """Scores and 100 samples of each document."""
    documents = _documents()
    model = _model(documents)
    return lambda: len(_samples(model, documents))


def event_rules(rules: str, **_: Any) -> Call:
    """The rules over samples that are drawn already."""
    from calibrant.events import RULES, default_lexicon, document_samples

    documents = _documents()
    drawn = [_Drawn(labels) for labels in _samples(_model(documents), documents)]
    lexicon = default_lexicon()

    def call() -> int:
        return sum(
            len(document_samples(document, posterior, lexicon, RULES[rules], SAMPLES).evidence)
            for document, posterior in zip(documents, drawn, strict=True)
        )

    return call


class _Drawn:
    """Samples that are there already."""

    def __init__(self, labels: Any) -> None:
        self.labels = labels

    def sample(self, size: int, *, seed: Any = None) -> Any:
        return self.labels[:size]


CASES: tuple[Callable[..., Call], ...] = (event_coreference, event_rules)
