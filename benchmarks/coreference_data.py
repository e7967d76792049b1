"""The antecedent distributions that coreference is measured on: real ones, made once, kept in the cache.

A model trained on `litbank-coref` scores its test documents. The folder lies where CALIBRANT_DATA says.
"""

from __future__ import annotations

import os
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from data import FOLDER

MENTIONS = 300  # of the document whose matrix is computed: the first ones of a document with 350
WINDOW = 400  # candidates of a mention: all earlier ones of that document, fewer in the long one


def available() -> bool:
    """Return True if the texts exist."""
    return _file("train").exists() and _file("test").exists()


def posterior(*, long: bool = False) -> Any:
    """One document with 300 mentions, or all test documents as one of 2,832."""
    from calibrant.structures.posterior import AntecedentPosterior

    found = np.load(_scores())
    if long:
        return AntecedentPosterior(found["long"], [int(found["mentions"])], window=WINDOW)
    return AntecedentPosterior(found["short"], [MENTIONS])


def _scores() -> Path:
    path = FOLDER / "litbank-scores.npz"
    if not path.exists():
        from calibrant.structures.files.coreference import read_documents
        from calibrant.structures.models.coreference import CoreferenceModel

        FOLDER.mkdir(parents=True, exist_ok=True)
        model = CoreferenceModel(window=WINDOW).fit(list(read_documents(_file("train"))))
        documents = list(read_documents(_file("test")))
        short = model.posterior([max(documents, key=lambda document: len(document.mentions or ()))])
        long = model.posterior([_joined(documents)])
        np.savez(
            path,
            short=short.log_probabilities[: short.row_offsets[MENTIONS]],
            long=long.log_probabilities,
            mentions=long.mention_count,
        )
    return path


def _joined(documents: list[Any]) -> Any:
    """All documents as one."""
    from calibrant.structures.documents import Document

    starts = np.cumsum([0, *(len(document.sentences) for document in documents)]).tolist()
    mentions = [
        mention._replace(sentence=mention.sentence + start)
        for document, start in zip(documents, starts, strict=False)
        for mention in document.mentions
    ]
    return Document("all", list(chain(*(document.sentences for document in documents))), mentions)


def _file(split: str) -> Path:
    folder = Path(os.environ.get("CALIBRANT_DATA") or "missing") / "litbank-coref"
    return folder / f"litbank-coref.{split}.conll.gz"
