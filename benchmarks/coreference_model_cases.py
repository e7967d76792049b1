"""Cases of the coreference model: news texts with parses, and training on GUM."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from data import FOLDER

Call = Callable[[], Any]
WORDS, TEXTS, SAMPLES = 700, 20, 100


def available() -> bool:
    """Return True if the texts exist."""
    return _file("train").exists()


def news_texts(copies: int = 1, **_: Any) -> Call:
    """Features, scores and 100 samples of news texts, one after another; returns entities counted."""
    model, texts = _model(), _texts()

    def call() -> int:
        found = 0
        for _ in range(copies):
            for text in texts:
                posterior = model.posterior([text])
                found += int(posterior.sample(SAMPLES, seed=1).max())
        return found

    return call


def news_stages(**_: Any) -> Call:
    """Return the seconds of features with scores, of normalization, and of samples."""
    from calibrant.structures.posterior import AntecedentPosterior

    model, texts = _model(), _texts()

    def call() -> dict[str, float]:
        seconds = dict.fromkeys(("features and scores", "probabilities", "samples"), 0.0)
        for text in texts:
            times = [time.perf_counter()]
            scores, counts = model.scores([text])
            times.append(time.perf_counter())
            posterior = AntecedentPosterior(scores, counts, window=model.window)
            times.append(time.perf_counter())
            posterior.sample(SAMPLES, seed=1)
            times.append(time.perf_counter())
            for stage, start, stop in zip(seconds, times[:-1], times[1:], strict=True):
                seconds[stage] += stop - start
        return seconds

    return call


def gum_training(**_: Any) -> Call:
    """Training on GUM with syntactic features and default settings; returns the last loss."""
    from calibrant.structures.models.coreference import CoreferenceModel

    documents = list(_read("train"))
    CoreferenceModel(features="syntax", epochs=1).fit(documents[:1])
    return lambda: CoreferenceModel(features="syntax").fit(documents).losses[-1]


def _model() -> Any:
    from calibrant.structures.files.saved_models import load_coreference_model, save_model
    from calibrant.structures.models.coreference import CoreferenceModel

    path = FOLDER / "gum-syntax.model"
    if not path.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        save_model(CoreferenceModel(features="syntax").fit(list(_read("train"))), path)
    return load_coreference_model(path)


def _texts() -> list[Any]:
    """News texts of GUM, cut after the sentence in which they reach 700 words; shorter ones are left out."""
    texts = [cut for document in _read("train") if document.genre == "news" for cut in _cut(document)]
    return (texts * TEXTS)[:TEXTS]


def _cut(document: Any) -> Iterator[Any]:
    from dataclasses import replace

    words = 0
    for number, sentence in enumerate(document.sentences, 1):
        words += len(sentence)
        if words >= WORDS:
            kept = [mention for mention in document.mentions if mention.sentence < number]
            yield replace(
                document,
                sentences=document.sentences[:number],
                mentions=kept,
                clusters=document.clusters[: len(kept)],
                trees=document.trees[:number],
                speakers=document.speakers and document.speakers[:number],
            )
            return


def _read(split: str) -> Iterator[Any]:
    from calibrant.structures.files.coreference import read_documents

    yield from read_documents(_file(split))


def _file(split: str) -> Path:
    folder = Path(os.environ.get("CALIBRANT_DATA") or "missing") / "ud-english-gum"
    return folder / f"en_gum-ud-{split}.conllu.gz"


CASES: tuple[Callable[..., Call], ...] = (news_texts, news_stages, gum_training)
