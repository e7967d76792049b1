"""Prediction and evaluation with a trained coreference model."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import closing
from functools import partial
from itertools import chain, pairwise
from typing import Any, Unpack
from uuid import uuid4

from msgspec.structs import replace

from calibrant._checks import one_of
from calibrant.exceptions import InputError
from calibrant.io.atomic import check_place, keep_sources
from calibrant.progress import Progress, tell
from calibrant.results.measurement import Measured
from calibrant.seeds import Seed
from calibrant.structures.documents import Document
from calibrant.structures.entity_scores import coreference_scores
from calibrant.structures.files.coreference_posteriors import PosteriorWriter
from calibrant.structures.files.writing_coreference import write_coreference
from calibrant.structures.posterior import AntecedentPosterior
from calibrant.structures.posterior.coreference_queries import mention_pairs
from calibrant.structures.results.coreference import CoreferenceEvaluation, WrittenPosteriors
from calibrant.structures.verbs.batches import batches_of, named_source, span
from calibrant.structures.verbs.coreference_source import (
    BATCH,
    Clustering,
    Mentions,
    Predicting,
    Prediction,
    entities_of,
    file_of,
    is_posteriors,
    open_model,
    parsed,
    predicted,
    predicted_batch,
    read_prediction,
    texts,
)
from calibrant.verbs.executors import Workers, workers_of
from calibrant.verbs.measuring import measured, read
from calibrant.verbs.options import MeasuringOptions, settings_of, takes

CLUSTERINGS = ("probable", "expected", "antecedents")
NO_PAIRS = "no document has two mentions with gold entities"
TRIVIAL = 0.01


def predict_coreference(
    model: Any,
    text: Any,
    output: str | os.PathLike[str],
    *,
    detect: bool = False,
    possessive_endings: bool = True,
    parser: str | os.PathLike[str] | None = None,
    clusters: str | os.PathLike[str] | None = None,
    clustering: Clustering = "probable",
    seed: int = 0,
    workers: int = 1,
    executor: Executor | str | None = None,
    progress: Progress | None = None,
) -> WrittenPosteriors:
    """Write a model's distribution over the antecedents of each mention, one line per document.

    Parameters
    ----------
    model
        Path of a model that `train_coreference` saved, the included model ``"litbank"``, or a trained
        `calibrant.structures.models.CoreferenceModel`.
    text
        Path, as for `calibrant.structures.read_documents`, or documents.
    output
        JSON lines to write, as for `calibrant.structures.read_posteriors`; ``-`` is standard output.
    detect
        Detect mentions in the trees of the text instead of using the annotated mentions.
    possessive_endings
        Include 's in detected mentions, as in GUM, or leave it out, as in LitBank.
    parser
        spaCy pipeline that parses the text if it has no trees.
    clusters
        Also write the predicted entities to this file, as CoNLL-2012.
    clustering, seed
        As in `evaluate_coreference`.
    workers, executor
        Processes that parse and predict, as in `extract_events`. With more than one worker, model and parser
        need a path or a name. The output does not depend on the workers.
    progress
        Called with a stage, the number of documents done, and None.

    Returns
    -------
    WrittenPosteriors

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.documents import Mention
    >>> from calibrant.structures.models import CoreferenceModel
    >>> words = [["Ann", "sleeps"], ["She", "snores"]]
    >>> text = [Document("d", words, [Mention(0, 0, 1), Mention(1, 0, 1)], ["ann", "ann"])]
    >>> model = CoreferenceModel(bits=12, least=1, epochs=20).fit(text)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = predict_coreference(model, text, f"{folder}/d.jsonl")
    >>> written.documents, written.mentions, written.labelled
    (1, 2, 2)
    """
    one_of(clustering, CLUSTERINGS, "clustering")
    keep_sources(output, model, text)
    if clusters is not None:
        _check_clusters(clusters, output, model, text)
    trained, _ = open_model(model)
    file = file_of(text)
    mentions = labelled = gold = documents = 0
    has_gold = False
    kept: list[Document] = []
    entities: list[int] = []
    with workers_of(executor, workers) as pool, PosteriorWriter(output) as writer:
        settings = Predicting(
            trained if pool.local else named_source(model, pool, "model"),
            named_source(parser, pool, "parser"),
            Mentions(detect, possessive_endings),
            file,
            None if clusters is None else clustering,
            seed,
        )
        batches = batches_of(texts(text, None, progress), BATCH)
        with closing(pool.map(partial(predicted_batch, settings), batches, document_span)) as results:
            for prediction in chain.from_iterable(results):
                writer.write_line(prediction.name, prediction.line)
                documents += 1
                mentions += prediction.mentions
                labelled += prediction.labelled
                has_gold = has_gold or prediction.gold is not None
                gold += prediction.gold or 0
                if prediction.document is not None:
                    kept.append(prediction.document)
                    entities += prediction.entities
                tell(progress, "predicting", documents)
        if not mentions and not detect:
            message, hint = "no document has mentions", "detect mentions (`detect`)"
            raise InputError(message, hint, code="missing-value", file=file)
    if clusters is not None:
        write_coreference(clusters, kept, entities)
    return WrittenPosteriors(
        output=os.fspath(output),
        clusters=None if clusters is None else os.fspath(clusters),
        documents=documents,
        mentions=mentions,
        detected=detect,
        labelled=labelled,
        gold_mentions=gold if has_gold else None,
    )


@takes(MeasuringOptions)
def evaluate_coreference(
    model: Any,
    text: Any = None,
    *,
    name: str | None = None,
    detect: bool = False,
    possessive_endings: bool = True,
    parser: str | os.PathLike[str] | None = None,
    clustering: Clustering = "probable",
    singletons: bool = True,
    threshold: float = TRIVIAL,
    window: int | None = None,
    workers: int = 1,
    executor: Executor | str | None = None,
    **options: Unpack[MeasuringOptions],
) -> CoreferenceEvaluation:
    """Score the entities that a model finds, and measure its probabilities that two mentions corefer.

    Parameters
    ----------
    model
        As in `predict_coreference`, or the path of any system's posteriors in JSON lines.
    text
        As in `predict_coreference`, with gold entities. None for posteriors with gold entities: gold then
        contains only the mentions of the posteriors.
    name
        Name of the model in the record; None for its path.
    detect, possessive_endings, parser
        As in `predict_coreference`.
    clustering
        How entities are chosen. ``probable``: entities with high probability
        (`calibrant.structures.posterior.probable_entities`). ``expected``: entities with high expected
        pairwise F (`calibrant.structures.posterior.AntecedentPosterior.best_clustering`). ``antecedents``:
        each mention is linked to its most probable antecedent.
    singletons
        Include entities of one mention in the scores; if not, they are left out of prediction and gold.
    threshold
        Also measure the pairs with at least this score separately, since most others are trivial.
    window
        Measure only pairs at most this many mentions apart. None: all.
    workers, executor
        Processes that parse and predict, as in `extract_events`.
    level
        Confidence level of all intervals, between 0 and 1. Documents are the independent units.
    **options
        As in `calibrant.verbs.options.MeasuringOptions`.

    Returns
    -------
    CoreferenceEvaluation

    Examples
    --------
    >>> from calibrant.structures.documents import Mention
    >>> from calibrant.structures.models import CoreferenceModel
    >>> words = [["Ann", "sleeps"], ["She", "snores"]]
    >>> text = [Document("d", words, [Mention(0, 0, 1), Mention(1, 0, 1)], ["ann", "ann"])]
    >>> model = CoreferenceModel(bits=12, least=1, epochs=20).fit(text)
    >>> evaluation = evaluate_coreference(model, text)
    >>> evaluation.scores["muc"].f1.estimate, evaluation.pairs.views[0].n
    (1.0, 1)
    """
    one_of(clustering, CLUSTERINGS, "clustering")
    settings, run = settings_of(None, options)
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold is {threshold}", "give a number in [0, 1]", code="parameter")
    how = Mentions(detect, possessive_endings)
    asked = (executor, workers) if parser is not None else (None, 1)
    with workers_of(*asked) as pool:
        prediction, called = _prediction(model, text, how, parser, pool, run.progress)
    file = called if text is None else file_of(text) or "documents"
    if all(entity is None for gold in prediction.gold for entity in gold.clusters):
        hint = "give a text with gold entities, with which predictions are compared"
        raise InputError("no mention has a gold entity", hint, code="missing-value", file=file)
    posterior = prediction.posterior
    run.say("finding entities")
    scores = coreference_scores(
        [gold.mentions for gold in prediction.gold],
        [gold.clusters for gold in prediction.gold],
        prediction.mentions,
        entities_by_document(posterior, clustering, settings.seed, run.threads),
        names=posterior.names,
        singletons=singletons,
        level=settings.level,
        seed=settings.seed,
    )

    def of_pairs(least: float | None) -> Measured | None:
        query = mention_pairs(posterior, prediction.clusters, window=window, threshold=least)
        if not len(query):
            return None
        sources, recipe = read(query, settings, run)
        return measured(sources, replace(recipe, file=file), settings, run)

    pairs, above = of_pairs(None), of_pairs(threshold)
    reason = NO_PAIRS if pairs is None else f"no pair has a score of at least {threshold:g}"
    return CoreferenceEvaluation(
        model=name or called,
        text=file,
        documents=posterior.document_count,
        mentions=posterior.mention_count,
        detected=detect,
        clustering=clustering,
        left_out=_left_out(prediction, window),
        scores=scores,
        pairs=pairs,
        threshold=threshold,
        pairs_above=above,
        reason=reason if above is None else None,
    )


def entities_by_document(
    posterior: AntecedentPosterior, clustering: Clustering, seed: Seed = 0, threads: int | None = None
) -> list[list[int]]:
    """Return the entity of each mention, per document."""
    entities = entities_of(posterior, clustering, seed, threads)
    return [entities[start:end] for start, end in pairwise(posterior.document_offsets.tolist())]


def _prediction(
    model: Any, text: Any, how: Mentions, parser: Any, pool: Workers, progress: Progress | None
) -> tuple[Prediction, str]:
    """Return the prediction to measure, and the name of the model."""
    if is_posteriors(model):
        if how.detect or parser is not None:
            message, hint = "posteriors already have mentions", "leave `detect` and `parser` out"
            raise InputError(message, hint, code="parameter", file=os.fspath(model))
        return read_prediction(os.fspath(model), text, progress), os.fspath(model)
    trained, called = open_model(model)
    if text is None:
        message, hint = "there is no text to evaluate the model on", "give a file with gold entities (FILE)"
        raise InputError(message, hint, code="parameter", file=called)
    file = file_of(text)
    documents = list(texts(text, None, progress))
    if parser is not None:
        parsing = partial(parsed, named_source(parser, pool, "parser"), uuid4().hex)
        with closing(pool.map(parsing, batches_of(documents, BATCH), document_span)) as results:
            documents = list(chain.from_iterable(results))
    tell(progress, "predicting")
    return predicted(trained, documents, how, file), called


def _left_out(prediction: Prediction, window: int | None) -> int:
    """Return the number of pairs without a label, because a mention has no gold entity."""
    known = [[None if entity is None else "" for entity in document] for document in prediction.clusters]
    every = [[""] * len(document) for document in known]
    all_pairs, labelled = (
        len(mention_pairs(prediction.posterior, labels, window=window)) for labels in (every, known)
    )
    return all_pairs - labelled


def _check_clusters(clusters: str | os.PathLike[str], output: str | os.PathLike[str], *sources: Any) -> None:
    """Raise `InputError` before the prediction if the entities cannot be written."""
    if os.fspath(clusters) == "-" or os.path.realpath(clusters) == os.path.realpath(output):
        message, hint = "the entities need a separate file", "give another file (`clusters`)"
        raise InputError(message, hint, code="output", file=os.fspath(clusters))
    keep_sources(clusters, *sources)
    check_place(clusters)


def document_span(batch: Sequence[Document]) -> str:
    """Return a phrase for a batch of documents."""
    return span([document.name for document in batch])
