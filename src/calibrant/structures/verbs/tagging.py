"""Prediction and evaluation with a trained tagger."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import chain
from threading import Lock
from typing import Any, Literal, Protocol, Unpack
from uuid import uuid4

import numpy as np

from calibrant.exceptions import InputError
from calibrant.io import Batch, Predictions
from calibrant.io.atomic import keep_sources
from calibrant.io.columns import Codes
from calibrant.io.predictions import BATCH_ROWS, LISTS, Form, listed
from calibrant.io.roles import Role
from calibrant.io.writing_predictions import PredictionWriter
from calibrant.metrics.logistic import calibration_in_the_large
from calibrant.metrics.tails import effective_number, few_clusters, quantile, wilson
from calibrant.progress import Progress, tell
from calibrant.records import Quantity
from calibrant.structures.files.saved_models import load_tagger, model_column
from calibrant.structures.files.tagged import TaggedText, read_tagged
from calibrant.structures.posterior import ChainPosterior
from calibrant.structures.posterior.blocks import blocks
from calibrant.structures.posterior.queries import all_tags
from calibrant.structures.results.tagging import TagEvaluation, WrittenPredictions
from calibrant.structures.verbs.batches import named_source
from calibrant.verbs.executors import Workers, workers_of
from calibrant.verbs.measuring import measured, read
from calibrant.verbs.options import MeasuringOptions, settings_of, takes
from calibrant.verbs.sources import asked_names

FEWEST_TOKENS = 1 << 12  # tokens per piece, for any number of tags, since small pieces are slow
UNKNOWN = -1
_ALONE = Lock()  # threads of a process share a pipeline, which is not thread-safe


class Tagger(Protocol):
    """Model that predicts tags: an HMM, a CRF, a spaCy pipeline, or a custom model."""

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the names of the tags."""

    def posterior(self, sentences: Sequence[Sequence[str]]) -> ChainPosterior:
        """Return the distribution over the tags of some sentences."""


@dataclass(frozen=True)
class Part:
    """Consecutive sentences of a text, with the positions of sentences and tokens, and the posterior."""

    sentences: slice
    tokens: slice
    posterior: ChainPosterior


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


@lru_cache(maxsize=1)
def _tagger(source: TaggerSource) -> Any:
    if source.column is None:
        return load_tagger(source.path)
    from calibrant.structures.models.spacy_tagger import SpacyTagger

    return SpacyTagger(source.path, column=source.column)


def tagged(source: TaggerSource, sentences: Sequence[Sequence[str]]) -> ChainPosterior:
    """Return the distribution over the tags of some sentences."""
    with _ALONE:
        posterior: ChainPosterior = _tagger(source).posterior(sentences)
    return posterior


class TaggerRows:
    """Scores and labels of all tags at all tokens, computed by a tagger in batches of sentences.

    Parameters
    ----------
    tagger
        Model.
    text
        Sentences, with or without gold tags.
    cluster
        ``sentence`` or ``document``.
    form
        ``long``: one row per token and tag; ``wide``: one row per token.
    progress
        Called with the number of tokens done.
    pool, source
        Workers that tag, and the source from which other processes load the tagger.

    Attributes
    ----------
    gold
        (N,) code of each token's gold tag; `UNKNOWN` for tags that the tagger does not know, and for all
        tokens of a text without gold tags.
    unseen_tags
        Tokens per gold tag that the tagger does not know.
    right
        (N,) bool, True if the best sequence has the gold tag; filled as sentences are read.
    cluster
        (S,) code of each sentence's cluster.
    clusters
        Names of the clusters, by code.

    Raises
    ------
    InputError
        If the tagger knows none of the gold tags.
    """

    def __init__(
        self,
        tagger: Tagger,
        text: TaggedText,
        cluster: str,
        form: Form = "long",
        progress: Progress | None = None,
        pool: Workers | None = None,
        source: TaggerSource | None = None,
    ) -> None:
        self._pool = Workers() if pool is None else pool
        self._tag = tagger.posterior if source is None else partial(tagged, source)
        self.tagger, self.text, self.form, self.progress = tagger, text, form, progress
        places: dict[str, int] = {}
        codes = [places.setdefault(name, len(places)) for name in text.clusters(cluster)]
        self.cluster = np.array(codes, np.int64)
        self.clusters = list(places)
        code = {tag: place for place, tag in enumerate(tagger.tags)}
        gold = list(chain.from_iterable(text.tags or []))
        self.gold = np.full(text.token_count, UNKNOWN)
        self.gold[: len(gold)] = [code.get(tag, UNKNOWN) for tag in gold]
        self.unseen_tags = dict(Counter(tag for tag in gold if tag not in code).most_common())
        if gold and (self.gold == UNKNOWN).all():
            raise _other_tags(tagger, gold, text.name)
        self.right = np.zeros(len(self.gold), bool)
        self._offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in text.sentences])])

    @property
    def predictions(self) -> Predictions:
        """Return the rows as `calibrant.io.open_predictions` returns them for the written table."""
        rows = len(self.gold) * (len(self.tagger.tags) if self.form == "long" else 1)
        parts = ("score", "label", "class", "cluster") if self.form == "long" else (LISTS, "label", "cluster")
        roles = {part: Role(part) for part in parts}
        name, tags = self.text.name, self.tagger.tags
        predictions = Predictions(self.batches, roles, classes=tags, name=name, rows=rows)
        predictions.codes["cluster"] = Codes(self.clusters)
        return predictions

    def parts(self, size: int = BATCH_ROWS) -> Iterator[Part]:
        """Yield parts of whole sentences with about ``size`` scores, but at least some thousand tokens."""
        tokens = max(FEWEST_TOKENS, size // len(self.tagger.tags))
        parts = list(blocks(self._offsets, tokens))
        batches = (self.text.sentences[block.first : block.last] for block in parts)
        with closing(self._pool.map(self._tag, batches, lambda _: "some sentences")) as posteriors:
            for block, posterior in zip(parts, posteriors, strict=True):
                self.right[block.tokens] = posterior.viterbi() == self.gold[block.tokens]
                yield Part(slice(block.first, block.last), block.tokens, posterior)
                tell(self.progress, "tagging", block.tokens.stop, len(self.gold))

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield the batches of each part."""
        assert self.text.tags is not None
        for part in self.parts(size):
            cluster = self.cluster[part.sentences]
            if self.form == "wide":
                score = np.minimum(part.posterior.marginals(), 1.0)
                by_token = np.repeat(cluster, part.posterior.lengths)
                yield Batch(score, self.gold[part.tokens], cluster=by_token)
                continue
            for pairs in all_tags(part.posterior, self.text.tags[part.sentences]):
                yield Batch(
                    pairs.score, pairs.label, cluster=cluster[pairs.cluster], class_code=pairs.class_code
                )


def _other_tags(tagger: Tagger, gold: Sequence[str], file: str) -> InputError:
    other = dict.fromkeys(gold)
    message = (
        f"the model knows none of the file's tags ({listed(list(other), most=3)}): "
        f"its tags are {listed(tagger.tags, most=3)}"
    )
    return InputError(message, "choose another column (`column`)", code="class-unknown", file=file)


Cluster = Literal["sentence", "document"]
Column = str | int
CANNOT_SAY = "the model does not say which words it was trained on"
NO_SPREAD = "all tokens are correct, or all wrong, so the variance between clusters is unknown"
NONE_UNSEEN = "every word of the text is in the training data"


def predict_tags(
    model: Any,
    text: Any,
    output: str | os.PathLike[str],
    *,
    column: Column | None = None,
    drop_below: float = 0.0,
    cluster: Cluster = "sentence",
    workers: int = 1,
    executor: Executor | str | None = None,
    progress: Progress | None = None,
) -> WrittenPredictions:
    """Write a tagger's probability of every tag at every token to a long prediction table.

    The columns are ``score``, ``label`` (1 if the tag is the gold tag; only if the text has gold tags),
    ``class`` (the tag), ``cluster``, ``token`` (the token's number in the sentence) and ``item`` (its number
    in the text). Tokens are tagged in batches, so that memory use does not grow with the text.

    Parameters
    ----------
    model
        Path of a model that `train_tagger` saved, or anything with ``tags`` and ``posterior(sentences)``,
        such as `calibrant.structures.models.SpacyTagger`.
    text
        Path of a file with or without gold tags (see `calibrant.structures.read_tagged`), or a `TaggedText`.
    output
        Table to write, a name in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl``.
    column
        Column of the tags; None for the column of training, or else the default of the file format.
    drop_below
        Leave out scores below this number in [0, 1), which the table records as its threshold.
    cluster
        Unit named in the column ``cluster``: ``"sentence"`` or ``"document"``.
    workers, executor
        Processes that tag, as in `extract_events`. With more than one worker, the model needs a path. The
        output does not depend on the workers.
    progress
        Called with a stage, the work done and the total work.

    Returns
    -------
    WrittenPredictions

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.structures.models import HMMTagger
    >>> from calibrant import measure
    >>> text = TaggedText([["dogs", "bark"]], [["N", "V"]], ["s1"], None, "dev")
    >>> tagger = HMMTagger().fit(text.sentences, text.tags)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     written = predict_tags(tagger, text, f"{folder}/dev.parquet")
    ...     view = measure(f"{folder}/dev.parquet", view="pooled")["pooled"]
    >>> written.rows, view.n, view.positives
    (4, 4, 2)
    """
    keep_sources(output, model, text)
    tagger, _, column = open_tagger(model, column)
    with ExitStack() as stack:
        read = read_text(text, column, progress)
        labelled = read.tags is not None
        writer = stack.enter_context(
            PredictionWriter(output, tagger.tags, labelled=labelled, threshold=drop_below)
        )
        pool = stack.enter_context(workers_of(executor, workers))
        source = None if pool.local else tagger_source(model, pool)
        rows = TaggerRows(tagger, read, cluster, progress=progress, pool=pool, source=source)
        names = read.clusters(cluster)
        for part in rows.parts():
            writer.write(
                part.posterior.marginals(),
                rows.gold[part.tokens],
                lengths=part.posterior.lengths,
                clusters=names[part.sentences],
            )
    return WrittenPredictions(
        output=os.fspath(output),
        rows=writer.rows,
        dropped=read.token_count * len(tagger.tags) - writer.rows,
        threshold=drop_below,
        sentences=len(read.sentences),
        tokens=read.token_count,
        tags=len(tagger.tags),
        labelled=labelled,
        unseen_tags=rows.unseen_tags,
    )


@takes(MeasuringOptions)
def evaluate_tagger(
    model: Any,
    text: Any,
    *,
    name: str | None = None,
    column: Column | None = None,
    cluster: Cluster = "sentence",
    view: str | Sequence[str] | None = None,
    workers: int = 1,
    executor: Executor | str | None = None,
    **options: Unpack[MeasuringOptions],
) -> TagEvaluation:
    """Measure the accuracy of a tagger and the calibration of its probabilities.

    The calibration errors equal those of `measure` on the table that `predict_tags` writes. By default all
    tags are pooled.

    Parameters
    ----------
    model, text, column
        As in `predict_tags`.
    name
        Name of the model in the record; None for its path.
    cluster
        Unit that intervals treat as independent: ``"sentence"`` or ``"document"``.
    view
        View to measure: ``pooled`` (all tags together), ``top`` (the most probable tag), ``class:TAG`` or
        ``classwise`` (each tag, then their mean). None: ``pooled``.
    workers, executor
        As in `predict_tags`.
    **options
        As in `calibrant.verbs.options.MeasuringOptions`.

    Returns
    -------
    TagEvaluation

    Examples
    --------
    >>> from calibrant.structures.models import HMMTagger
    >>> text = TaggedText([["dogs", "bark"], ["cats"]], [["N", "V"], ["N"]], ["1", "2"], None, "dev")
    >>> evaluation = evaluate_tagger(HMMTagger().fit(text.sentences, text.tags), text)
    >>> evaluation.accuracy, evaluation.tokens, evaluation.measured["pooled"].n
    (Quantity(estimate=1.0, reason='all tokens are correct, or all wrong, ...'), 3, 6)
    """
    asked = asked_names(view) or ["pooled"]
    settings, run = settings_of(asked, options)
    tagger, path, column = open_tagger(model, column)
    gold = read_gold(text, column, run.progress)
    with workers_of(executor, workers) as pool:
        form: Form = "wide" if "top" in asked else "long"
        source = None if pool.local else tagger_source(model, pool)
        rows = TaggerRows(tagger, gold, cluster, form, run.progress, pool, source)
        # The rows report the progress of tagging.
        measurement = measured(*read(rows.predictions, settings, replace(run, progress=None)), settings, run)
    unseen, unseen_accuracy = _on_unseen_words(tagger, rows)
    return TagEvaluation(
        accuracy=_accuracy(rows, settings.level),
        tokens=len(rows.right),
        sentences=len(gold.sentences),
        cluster=cluster,
        unseen_words=unseen,
        unseen_words_accuracy=unseen_accuracy,
        unseen_tags=rows.unseen_tags,
        model=name or path,
        measured=measurement,
        level=settings.level,
    )


def open_tagger(model: Any, column: Column | None) -> tuple[Tagger, str, Column | None]:
    """Return a tagger, its name, and the column of its tags: the requested column, or that of training."""
    if isinstance(model, (str, os.PathLike)):
        tagger: Tagger = load_tagger(model)
        return tagger, os.fspath(model), model_column(model) if column is None else column
    return model, type(model).__name__, column


def read_text(text: Any, column: Column | None, progress: Progress | None) -> TaggedText:
    """Return a text with or without gold tags, read from a file if a path is given."""
    if isinstance(text, TaggedText):
        return text
    return read_tagged(text, column=column, require_tags=False, progress=progress)


def read_gold(text: Any, column: Column | None, progress: Progress | None) -> TaggedText:
    """Return a text with gold tags, read from a file if a path is given."""
    if not isinstance(text, TaggedText):
        return read_tagged(text, column=column, progress=progress)
    if text.tags is None:
        message, hint = "the text has no gold tags", "give a text with gold tags, from which labels are made"
        raise InputError(message, hint, code="missing-value", file=text.name)
    return text


def _accuracy(rows: TaggerRows, level: float) -> Quantity:
    """Return the accuracy with clusters as units.

    References
    ----------
    .. [1] Korn and Graubard (1998). Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data. Survey Methodology 24, 193-201.
    """
    mean = float(rows.right.mean())
    if mean in (0.0, 1.0):
        return Quantity(mean, reason=NO_SPREAD)
    clusters = np.repeat(rows.cluster, [len(sentence) for sentence in rows.text.sentences])
    overall = calibration_in_the_large(rows.right, 0.0 * rows.right, clusters=clusters, level=level)
    error = overall.mean_error.standard_error
    if error is None or overall.clusters is None:
        return Quantity(mean, standard_error=error, reason=overall.mean_error.reason)
    # The Wilson interval uses an effective number of tokens, as for the frequency in a bin: the number of
    # tokens divided by the design effect and by a factor for quantiles of t, since the variance is estimated
    # from the clusters.
    independent = mean * (1 - mean) / len(rows.right)
    effect = max(1.0, error**2 / independent)
    size = np.bincount(clusters)
    quantiles = quantile(level, effective_number(size)) / quantile(level, 0)
    number = len(rows.right) / (effect * quantiles**2)
    low, high = (float(end[0]) for end in wilson(np.array([mean]), np.array([number]), level))
    return Quantity(mean, low, high, error, warning=few_clusters(size) or overall.mean_error.warning)


def _on_unseen_words(tagger: Tagger, rows: TaggerRows) -> tuple[int | None, Quantity]:
    """Return the number of tokens not seen in training, and the accuracy on them."""
    vocabulary = getattr(tagger, "vocabulary", None)
    if vocabulary is None:
        return None, Quantity(None, reason=CANNOT_SAY)
    known = set(vocabulary)
    flat = chain.from_iterable(rows.text.sentences)
    unseen = np.fromiter((token not in known for token in flat), bool, len(rows.right))
    if not unseen.any():
        return 0, Quantity(None, reason=NONE_UNSEEN)
    return int(unseen.sum()), Quantity(float(rows.right[unseen].mean()))
