"""Train a tagger, write its probabilities, and measure how far they can be trusted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal

import numpy as np

from calibrant import __version__
from calibrant._checks import cluster_codes
from calibrant._rng import Seed
from calibrant.exceptions import InputError
from calibrant.io import TaggedText, read_tagged
from calibrant.measure.logistic import calibration_in_the_large
from calibrant.results.errors import Estimate
from calibrant.results.measurement import Recipe
from calibrant.results.tagging import TagEvaluation
from calibrant.workflow._events import asked_events, asked_names
from calibrant.workflow._measurement import IntervalMethod, Settings, check_threads
from calibrant.workflow._sources import event_sources
from calibrant.workflow._tagger_rows import Progress, Tagger, TaggerRows
from calibrant.workflow.measuring import measured

Cluster = Literal["sentence", "document"]
Column = str | int
CANNOT_SAY = "the model does not say which words it was trained on"
NONE_UNSEEN = "every word of the text is in the training data"


def evaluate_tagger(
    model: Any,
    text: Any,
    *,
    column: Column | None = None,
    cluster: Cluster = "sentence",
    event: str | Sequence[str] | None = None,
    bin_size: int | None = None,
    bin_count: int | None = None,
    ece_bins: int = 15,
    level: float = 0.95,
    interval: IntervalMethod = "inverted",
    samples: int | None = None,
    seed: Seed = 0,
    smooth: bool = False,
    exact: bool = False,
    threads: int | None = None,
    progress: Progress | None = None,
    command: str | None = None,
) -> TagEvaluation:
    asked = asked_names(event) or ["pooled"]
    settings = Settings(bin_size, bin_count, ece_bins, level, interval, samples, seed, smooth)
    settings.check()
    check_threads(threads)
    tagger, name = open_tagger(model)
    read = _text(text, column, progress)
    rows = TaggerRows(tagger, read, cluster, "wide" if "top" in asked else "long", progress)
    predictions = rows.predictions
    sources, count = event_sources(
        predictions, asked_events(asked, predictions), exact=exact, threads=threads
    )
    recipe = Recipe(read.name, rows.form, count, list(tagger.tags), None, __version__, command)
    found = measured(sources, recipe, asked, settings, progress)
    unseen, unseen_accuracy, reasons = _on_unseen_words(tagger, rows)
    return TagEvaluation(
        accuracy=float(rows.right.mean()),
        accuracy_interval=_accuracy(rows, level),
        tokens=len(rows.right),
        sentences=len(read.sentences),
        cluster=cluster,
        unseen_words=unseen,
        unseen_words_accuracy=unseen_accuracy,
        unseen_tags=rows.unseen_tags,
        model=name,
        measured=found,
        reasons=reasons,
    )


def open_tagger(model: Any) -> tuple[Tagger, str]:
    """Return a tagger and its name: loaded, if a path is given."""
    if isinstance(model, (str, os.PathLike)):
        from calibrant.io.saved_models import load_model

        return load_model(model), os.fspath(model)
    return model, type(model).__name__


def _text(text: Any, column: Column | None, progress: Progress | None) -> TaggedText:
    if not isinstance(text, TaggedText):
        return read_tagged(text, column=column, progress=progress)
    if text.tags is None:
        message, hint = "the text has no gold tags", "labels come from them: give a text that has them"
        raise InputError(message, hint, code="missing-value", file=text.name)
    return text


def _accuracy(rows: TaggerRows, level: float) -> Estimate:
    """Mean of what is right, with clusters as units."""
    clusters = np.repeat(rows.cluster, [len(sentence) for sentence in rows.text.sentences])
    nothing = np.zeros(len(rows.right))
    return calibration_in_the_large(rows.right, nothing, clusters=clusters, level=level).difference


def _on_unseen_words(tagger: Tagger, rows: TaggerRows) -> tuple[int | None, float | None, dict[str, str]]:
    """Tokens that training has not seen, the accuracy on them, and why either is not known."""
    vocabulary = getattr(tagger, "vocabulary", None)
    if vocabulary is None:
        return None, None, dict.fromkeys(("unseen_words", "unseen_words_accuracy"), CANNOT_SAY)
    known = set(vocabulary)
    flat = chain.from_iterable(rows.text.sentences)
    unseen = np.fromiter((token not in known for token in flat), bool, len(rows.right))
    if not unseen.any():
        return 0, None, {"unseen_words_accuracy": NONE_UNSEEN}
    return int(unseen.sum()), float(rows.right[unseen].mean()), {}
