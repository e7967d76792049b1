"""Sources of distributions over dependency trees: a parser and tags, or scores of another parser."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError
from calibrant.io import Batch, Predictions
from calibrant.io.columns import Codes
from calibrant.io.roles import Role
from calibrant.progress import Progress, tell
from calibrant.structures.files.arc_scores import Rows, Scale, is_arc_scores, read_arc_scores
from calibrant.structures.files.dependency_trees import TreeText, read_trees
from calibrant.structures.files.saved_models import load_dependency_model, load_tagger, model_column
from calibrant.structures.models.dependency import DependencyModel
from calibrant.structures.posterior import dependency_queries as queries
from calibrant.structures.posterior.dependency import DependencyPosterior
from calibrant.structures.posterior.tree_tempering import tempered_trees

LARGEST = 1 << 22  # potentials in memory at a time, unless one sentence has more
TreeQuery = Literal["head", "relation", "arcs", "labeled"]
QUERIES = ("head", "relation", "arcs", "labeled")
LABELED = ("relation", "labeled")
THRESHOLD = 0.01  # smallest probability of a labeled arc


@dataclass(frozen=True)
class TreeSource:
    """Distributions over the trees of a text, in blocks of sentences.

    Attributes
    ----------
    text
        Sentences, with or without gold trees.
    model
        Parser; None for scores of another parser.
    tags
        Tags of each sentence, for the parser.
    arcs
        Log-potentials of each sentence, without a parser.
    temperature
        Divisor of the log-potentials of arcs.
    progress
        Called with the number of words done.
    """

    text: TreeText
    model: DependencyModel | None
    tags: Sequence[Sequence[str]] = ()
    arcs: Sequence[Floats] = ()
    temperature: float = 1.0
    progress: Progress | None = None

    @property
    def relations(self) -> tuple[str, ...]:
        """Return the labels of arcs; empty for scores of another parser."""
        return () if self.model is None else self.model.relations

    def blocks(self, *, labels: bool = False) -> Iterator[tuple[slice, DependencyPosterior]]:
        """Yield some sentences and the distribution over their trees, with labels if asked and known."""
        start = size = 0
        per_arc = max(1, len(self.relations)) if labels else 1
        lengths = [len(sentence) for sentence in self.text.sentences]
        done = 0
        for place, length in enumerate(lengths):
            own = length * (length + 1) * per_arc
            if place > start and size + own > LARGEST:
                yield from self._block(start, place, labels)
                done += sum(lengths[start:place])
                tell(self.progress, "parsing", done, self.text.token_count)
                start, size = place, 0
            size += own
        yield from self._block(start, len(lengths), labels)
        tell(self.progress, "parsing", self.text.token_count, self.text.token_count)

    def _block(self, first: int, last: int, labels: bool) -> Iterator[tuple[slice, DependencyPosterior]]:
        part = slice(first, last)
        if self.model is None:
            posterior = _posterior(self.arcs[part], self.text.sentence_ids[part], self.text.name)
        else:
            posterior = self.model.posterior(self.text.sentences[part], self.tags[part], labels=labels)
        if self.temperature != 1.0:
            posterior = tempered_trees(posterior, self.temperature)
        yield part, posterior


def _posterior(arcs: Sequence[Floats], names: Sequence[str], file: str) -> DependencyPosterior:
    """Return the distribution of scores of another parser; an error names the sentence."""
    posterior = DependencyPosterior(list(arcs))
    try:
        posterior.marginals()
    except InputError as error:
        first, _, rest = error.message.partition(": ")
        number = first.removeprefix("sentence ")
        if number.isdecimal():
            message = f"sentence {names[int(number)]!r:.60}: {rest}"
            raise InputError(message, error.hint, code=error.code, file=file) from None
        raise
    return posterior


def open_source(
    model: Any,
    text: Any,
    *,
    arcs: Any = None,
    tagger: Any = None,
    column: str | int | None = None,
    scores: Scale = "log",
    rows: Rows = "heads",
    trees: bool = True,
    keep_lines: bool = False,
    progress: Progress | None = None,
) -> tuple[TreeSource, str]:
    """Return the source of a text's trees, and the name of its parser.

    Parameters
    ----------
    model
        Path of a saved parser or of arc scores, or a `DependencyModel`.
    text
        Path of CoNLL-U, or `TreeText`.
    arcs
        Path of the arc scores of this text, if ``model`` names others.
    tagger, column, scores, rows
        As in `calibrant.structures.evaluate_parser`.
    trees, keep_lines
        True if the text needs gold trees, and if it keeps its lines.
    progress
        Called with a stage, the work done and the whole work.
    """
    given = model if arcs is None else arcs
    called = os.fspath(given) if isinstance(given, (str, os.PathLike)) else type(given).__name__
    if is_arc_scores(given):
        read = _read(text, None, trees, keep_lines, progress)
        own = read_arc_scores(given, scores=scores, rows=rows, progress=progress)
        lengths = [len(sentence) for sentence in read.sentences]
        aligned = own.in_order(read.sentence_ids, lengths, read.name)
        return TreeSource(read, None, arcs=aligned, progress=progress), called
    parser = given if isinstance(given, DependencyModel) else load_dependency_model(given)
    if column is None and not isinstance(given, DependencyModel):
        column = model_column(given)
    read = _read(text, column, trees, keep_lines, progress)
    if tagger is None:
        if read.tags is None:
            message, hint = f"the file has no {column or 'upos'} tags", "give a tagger (`tagger`)"
            raise InputError(message, hint, code="missing-value", file=read.name)
        tags: Sequence[Sequence[str]] = read.tags
    else:
        tags = tagged(tagger, read, progress)
    try:
        parser.check_tags(tags)
    except InputError as error:
        raise InputError(error.message, error.hint, code=error.code, file=read.name) from None
    return TreeSource(read, parser, tags, progress=progress), called


def tagged(tagger: Any, text: TreeText, progress: Progress | None) -> list[list[str]]:
    """Return the tags of a text by a saved or trained tagger."""
    model = load_tagger(tagger) if isinstance(tagger, (str, os.PathLike)) else tagger
    tell(progress, "tagging")
    tags: list[list[str]] = model.predict(text.sentences)
    return tags


def _read(
    text: Any, column: str | int | None, trees: bool, keep: bool, progress: Progress | None
) -> TreeText:
    if not isinstance(text, TreeText):
        return read_trees(text, column=column, require_trees=trees, keep_lines=keep, progress=progress)
    if trees and text.heads is None:
        raise InputError("the text has no trees", "give gold trees", code="missing-value", file=text.name)
    return text


def potentials_of(source: TreeSource) -> list[Floats]:
    """Return the log-potentials of the arcs of each sentence of a source."""
    return [
        posterior.potentials(place)
        for _, posterior in source.blocks()
        for place in range(posterior.sentence_count)
    ]


@dataclass(frozen=True)
class Chosen:
    """Head and relation of each word in the tree with the most expected correct arcs.

    Attributes
    ----------
    heads, labels
        (N,) heads, 0 for the root, and codes of relations; -1 without relations.
    arc, labeled
        (N,) probabilities of the arc, and of the arc with its relation.
    log_loss
        (S,) minus the logarithms of the probabilities of gold trees; empty without gold trees.
    """

    heads: Integers
    labels: Integers
    arc: Floats
    labeled: Floats
    log_loss: Floats


def chosen_trees(source: TreeSource) -> Chosen:
    """Return the heads and relations of all words, with their probabilities."""
    parts: list[tuple[NDArray[Any], ...]] = []
    for part, posterior in source.blocks(labels=bool(source.relations)):
        heads = posterior.minimum_bayes_risk().astype(np.int64)
        marginals = posterior.marginals()
        arc = np.concatenate(
            [
                own[np.arange(len(own)), heads[first:last]]
                for own, first, last in zip(marginals, posterior.offsets, posterior.offsets[1:], strict=False)
            ]
        )
        labels, labeled = np.full(len(heads), -1), arc
        if posterior.labels:
            labels = posterior.best_labels(heads)
            share = [
                own[np.arange(len(own)), heads[first:last], labels[first:last]]
                - np.logaddexp.reduce(own[np.arange(len(own)), heads[first:last]], axis=1)
                for own, first, last in zip(
                    posterior.labels, posterior.offsets, posterior.offsets[1:], strict=False
                )
            ]
            labeled = arc * np.exp(np.concatenate(share))
        loss = np.zeros(0)
        if source.text.heads is not None:
            loss = -posterior.log_probability(list(chain.from_iterable(source.text.heads[part])))
        parts.append((heads, labels, arc, labeled, loss))
    heads, labels, arc, labeled, loss = (np.concatenate(own) for own in zip(*parts, strict=True))
    return Chosen(heads, labels, np.minimum(arc, 1.0), np.minimum(labeled, 1.0), loss)


@dataclass(frozen=True)
class TreeRows:
    """Rows of a query of trees: a score, a label, and a class, a distance or a relation.

    Attributes
    ----------
    source
        Distributions over trees, with gold trees.
    chosen
        Trees with the most expected correct arcs.
    query
        ``head``, ``relation``, ``arcs`` or ``labeled``.
    cluster
        ``sentence`` or ``document``.
    """

    source: TreeSource
    chosen: Chosen
    query: TreeQuery
    cluster: str

    @property
    def gold(self) -> tuple[Integers, Integers]:
        """Return (N,) gold heads, and codes of relations; -1 for those that the model lacks."""
        text = self.source.text
        assert text.heads is not None
        assert text.relations is not None
        code = {name: place for place, name in enumerate(self.source.relations)}
        labels = [code.get(name, -1) for name in chain.from_iterable(text.relations)]
        return np.array(list(chain.from_iterable(text.heads)), np.int64), np.array(labels, np.int64)

    @property
    def unseen(self) -> dict[str, int]:
        """Return words per gold relation that the model lacks."""
        known = set(self.source.relations)
        given = chain.from_iterable(self.source.text.relations or [])
        return dict(Counter(name for name in given if name not in known).most_common())

    @property
    def predictions(self) -> Predictions:
        """Return the rows as `calibrant.io.open_predictions` returns those of a table."""
        every = self.source.relations if self.query in LABELED else queries.DISTANCES
        classes = [every[code] for code in self.present]
        threshold = THRESHOLD if self.query == "labeled" else None
        roles = {part: Role(part) for part in ("score", "label", "class", "cluster")}
        rows = Predictions(
            self.batches, roles, classes=classes, name=self.source.text.name, threshold=threshold
        )
        rows.codes["cluster"] = Codes(list(dict.fromkeys(self.source.text.clusters(self.cluster))))
        return rows

    @cached_property
    def present(self) -> list[int]:
        """Return the sorted codes of classes that have rows, since views of others do not exist."""
        codes: set[int] = set()
        for batch in self._rows():
            assert batch.class_code is not None
            codes.update(np.unique(batch.class_code).tolist())
        return sorted(codes)

    def clusters(self) -> Integers:
        """Return the code of each sentence's cluster."""
        names = self.source.text.clusters(self.cluster)
        code = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return np.array([code[name] for name in names], np.int64)

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield batches of rows; classes are numbered among those that are present."""
        number = np.full(max(self.present, default=0) + 1, -1)
        number[self.present] = np.arange(len(self.present))
        for batch in self._rows():
            assert batch.class_code is not None
            yield replace(batch, class_code=number[batch.class_code])

    def _rows(self) -> Iterator[Batch]:
        gold, labels = self.gold
        cluster = self.clusters()
        lengths = np.array([len(sentence) for sentence in self.source.text.sentences])
        own = self.chosen
        if self.query in ("head", "relation"):
            of_word = np.repeat(cluster, lengths)
            right = own.heads == gold
            if self.query == "head":
                word = np.concatenate([np.arange(length) for length in lengths.tolist()])
                yield Batch(own.arc, right, cluster=of_word, class_code=queries.distance(word, own.heads))
            else:
                yield Batch(
                    own.labeled, right & (own.labels == labels), cluster=of_word, class_code=own.labels
                )
            return
        start = 0
        quiet = replace(self.source, progress=None)
        for part, posterior in quiet.blocks(labels=self.query == "labeled"):
            stop = start + int(posterior.offsets[-1])
            if self.query == "arcs":
                query = queries.arcs(posterior, gold[start:stop], clusters=cluster[part])
            else:
                names = list(chain.from_iterable((self.source.text.relations or [])[part]))
                query = queries.labeled_arcs(
                    posterior, gold[start:stop], names, threshold=THRESHOLD, clusters=cluster[part]
                )
            for batch in query:
                codes = np.asarray(query.clusters)[batch.cluster]
                yield Batch(batch.score, batch.label, cluster=codes, class_code=batch.class_code)
            start = stop
