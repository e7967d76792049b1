"""Queries about entities: pairs of a probability and a gold label, with documents as clusters.

A query yields its pairs in batches, or sums them into a tally in bounded memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, is_list, positive_integer, sample_count
from calibrant.exceptions import InputError
from calibrant.seeds import Seed, number
from calibrant.structures._kernels import antecedent as kernels
from calibrant.structures._kernels import queries as pair_kernels
from calibrant.structures.posterior._query import BATCH, ListedSource, Query, Scored, Source
from calibrant.structures.posterior.antecedent import AntecedentPosterior
from calibrant.structures.posterior.blocks import Block, blocks

Bools = NDArray[np.bool_]
GoldClusters = Sequence[Sequence[str | None]]

__all__ = ["MentionPairs", "each_pair", "is_new", "is_singleton", "mention_pairs", "sampling_noise"]

NONE = -1  # code of mentions without a gold entity
PAIRS = 1 << 18  # pairs of mentions per block


class MentionPairs(NamedTuple):
    """Pairs of mentions of one document.

    Attributes
    ----------
    document
        Number of the document.
    first, second
        (n,) int64 numbers of the mentions within the document, the earlier one first.
    score
        (n,) probability that they corefer.
    """

    document: int
    first: Integers
    second: Integers
    score: Floats


class Rows(NamedTuple):
    """Rows ``begin:end`` of a document's matrix; mentions j and i are at ``[j - row, i - column]``."""

    begin: int
    end: int
    row: int
    column: int
    pair: Floats


class PairStream:
    """Pairs of mentions of the documents of a posterior.

    Parameters
    ----------
    posterior
        Posterior of D documents.
    window
        Largest distance of a pair, in mentions; None: unlimited.
    samples, seed
        Number of samples from which scores are estimated, and their seed; None: exact scores.
    """

    def __init__(
        self, posterior: AntecedentPosterior, window: int | None, samples: int | None, seed: Seed
    ) -> None:
        self.posterior = posterior
        self.window = None if window is None else positive_integer(window, "window")
        self.samples = None if samples is None else sample_count(samples)
        self.seed = number(seed)

    def pairs(self, document: int) -> Iterator[MentionPairs]:
        """Yield the pairs of a document, sorted by the second mention, then the first."""
        count = int(self.posterior.mention_counts[document])
        furthest = count if self.window is None else self.window
        for rows in self._rows(document, count, furthest):
            most = (rows.end - rows.begin) * min(furthest, rows.end)
            first, second = np.empty(most, np.int64), np.empty(most, np.int64)
            score = np.empty(most)
            place = rows.begin, rows.end, rows.row, rows.column, furthest
            listed = pair_kernels.list_pairs(rows.pair, *place, first, second, score)
            yield MentionPairs(document, first[:listed], second[:listed], score[:listed])

    def _rows(self, document: int, count: int, furthest: int) -> Iterator[Rows]:
        if self.samples is None:
            return self._exact(document, count, furthest)
        return self._sampled(document, count, furthest, self.samples)

    def _exact(self, document: int, count: int, furthest: int) -> Iterator[Rows]:
        """Yield rows by the recursion, which needs only the rows of a mention's candidates."""
        # Pairs further apart than all pairs and candidates are not needed.
        kept = min(count, self.posterior.window or count)
        span = min(count, max(furthest, kept))
        step = max(1, min(count, PAIRS // max(1, span), math.isqrt(PAIRS)))
        pair = np.empty((min(count, kept + step), min(count, span + step)))
        rows = self.posterior.rows_of(document)
        row = column = 0
        for begin in range(0, count, step):
            end = min(count, begin + step)
            if end - row > pair.shape[0]:
                pair[:kept] = pair[begin - kept - row : begin - row].copy()
                row = begin - kept
            if end - column > pair.shape[1]:
                shift = begin - span - column
                pair[:, :span] = pair[:, shift : shift + span].copy()
                column += shift
            kernels.pair_rows(*rows, begin, end, row, column, pair)
            yield Rows(begin, end, row, column, pair)

    def _sampled(self, document: int, count: int, furthest: int, samples: int) -> Iterator[Rows]:
        entities = self.posterior.document(document).sample(samples, self.seed, threads=1)
        pair_kernels.mention_before(entities, entities)
        step = max(1, PAIRS // max(1, count))
        for begin in range(0, count, step):
            end = min(count, begin + step)
            joined = np.zeros((end - begin, count), np.int64)
            pair_kernels.count_pairs(entities, begin, end, furthest, joined)
            yield Rows(begin, end, begin, 0, joined / samples)


def mention_pairs(
    posterior: AntecedentPosterior,
    clusters: GoldClusters,
    *,
    window: int | None = None,
    samples: int | None = None,
    seed: Seed = None,
    threshold: float | None = None,
) -> Query:
    """Return the query for pairs of mentions: the probability that two mentions corefer, and gold.

    Parameters
    ----------
    posterior
        Posterior of D documents.
    clusters
        Gold entity of each mention, per document. Pairs with a mention without one (None) are left out.
    window
        Largest distance of a pair, in mentions; 1 for adjacent mentions. None: unlimited.
    samples
        Number of sampled clusterings from which scores are estimated, as in the paper. None: exact scores.
        Estimates from samples are noisy (`sampling_noise`), so that a calibrated posterior appears
        overconfident.
    seed
        Seed of the samples.
    threshold
        Smallest score of a pair; gold pairs with lower scores are counted in ``missed``.

    Returns
    -------
    Query
        Pairs, sorted by document, second mention and first mention.

    References
    ----------
    Nguyen and O'Connor (2015), section 5.3.

    Examples
    --------
    >>> posterior = AntecedentPosterior(np.log([1, 0.5, 0.5, 0.2, 0.6, 0.2]), [3])
    >>> pairs = mention_pairs(posterior, [["she", "she", "it"]]).pairs()
    >>> pairs.score.round(2).tolist(), pairs.label.tolist()
    ([0.5, 0.5, 0.7], [True, False, False])
    """
    gold = _codes(posterior, clusters)
    stream = PairStream(posterior, window, samples, seed)
    source: Source = PairsSource(stream, gold, _starts(stream, gold))
    missed = {}
    if threshold is not None:
        source, count = _above(source, posterior.document_count, _checked(threshold))
        missed = {"same entity": count} if count else {}
    return _query(posterior, "mention pairs", "same entity", source, missed, threshold)


def is_new(posterior: AntecedentPosterior, clusters: GoldClusters) -> Query:
    """Return the query for first mentions: the probability that a mention starts an entity, and gold.

    Parameters
    ----------
    posterior
        Posterior of D documents.
    clusters
        As in `mention_pairs`; mentions without a gold entity are left out.

    Examples
    --------
    >>> posterior = AntecedentPosterior(np.log([1, 0.5, 0.5, 0.2, 0.6, 0.2]), [3])
    >>> pairs = is_new(posterior, [["she", "she", "it"]]).pairs()
    >>> pairs.score.round(2).tolist(), pairs.label.tolist()
    ([1.0, 0.5, 0.2], [True, False, True])
    """
    gold = _codes(posterior, clusters)
    _, first = np.unique(_keys(posterior, gold), return_index=True)
    is_first = np.zeros(len(gold), np.bool_)
    is_first[first] = True
    return _of_mentions(posterior, "is new", "new", posterior.new_probabilities(), gold, is_first)


def is_singleton(posterior: AntecedentPosterior, clusters: GoldClusters) -> Query:
    """Return the query for singletons: the exact probability that a mention is alone, and if it is in gold.

    Parameters and errors are those of `is_new`.

    Examples
    --------
    >>> posterior = AntecedentPosterior(np.log([1, 0.5, 0.5, 0.2, 0.6, 0.2]), [3])
    >>> pairs = is_singleton(posterior, [["she", "she", "it"]]).pairs()
    >>> pairs.score.round(2).tolist(), pairs.label.tolist()
    ([0.4, 0.2, 0.2], [False, False, True])
    """
    gold = _codes(posterior, clusters)
    key = _keys(posterior, gold)
    _, code, size = np.unique(key, return_inverse=True, return_counts=True)
    score = posterior.singleton_probabilities()
    return _of_mentions(posterior, "is singleton", "singleton", score, gold, size[code] == 1)


def each_pair(
    posterior: AntecedentPosterior,
    *,
    window: int | None = None,
    samples: int | None = None,
    seed: Seed = None,
) -> Iterator[MentionPairs]:
    """Yield all pairs of mentions with probabilities, in batches of about 100,000, without gold.

    Parameters
    ----------
    posterior, window, samples, seed
        As in `mention_pairs`.

    Yields
    ------
    MentionPairs
        Pairs of one document, in order; documents with many mentions are divided into parts.

    Examples
    --------
    >>> posterior = AntecedentPosterior(np.log([1, 0.5, 0.5, 0.2, 0.6, 0.2]), [3])
    >>> for pairs in each_pair(posterior):
    ...     list(zip(pairs.first.tolist(), pairs.second.tolist(), pairs.score.round(2).tolist()))
    [(0, 1, 0.5), (0, 2, 0.5), (1, 2, 0.7)]
    """
    stream = PairStream(posterior, window, samples, seed)
    for document in range(posterior.document_count):
        yield from stream.pairs(document)


def sampling_noise(query: Query, samples: int) -> float:
    """Return the expected increase of the Brier score if mention pairs are scored by samples.

    The proportion of S samples that join a pair with probability q has the mean q and the variance q (1 - q)
    / S. The expected increase is the mean of these variances, for any posterior. For a calibrated posterior,
    it is the apparent squared calibration error, apart from the averaging within bins.

    Parameters
    ----------
    query
        Mention pairs with exact scores.
    samples
        Number S of samples.

    Examples
    --------
    >>> posterior = AntecedentPosterior(np.log([1, 0.5, 0.5]), [2])
    >>> sampling_noise(mention_pairs(posterior, [["she", "she"]]), 100)
    0.0025
    """
    sample_count(samples)
    if not len(query):
        raise InputError(f"{query.view}: there are no pairs", "give longer documents", code="empty")
    total = sum(float((batch.score * (1 - batch.score)).sum()) for batch in query)
    return total / len(query) / samples


@dataclass(frozen=True)
class PairsSource(Source):
    """Source of pairs of mentions with gold entities; ``start`` contains the offset of each document."""

    stream: PairStream
    gold: Integers
    start: Integers

    @property
    def size(self) -> int:
        return int(self.start[-1])

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        return blocks(self.start, BATCH)

    def pieces(self, block: Block) -> Iterator[Scored]:
        if block.last == block.first + 1:
            yield from (Scored(*kept, np.array([0, len(kept[0])])) for kept in self._of(block.first))
        else:
            yield self.scored(block)

    def scored(self, block: Block) -> Scored:
        parts = [part for document in range(block.first, block.last) for part in self._of(document)]
        score = np.concatenate([part[0] for part in parts]) if parts else np.empty(0)
        label = np.concatenate([part[1] for part in parts]) if parts else np.empty(0, np.bool_)
        return Scored(score, label, block.offsets)

    def class_codes(self, block: Block, size: int) -> Integers:
        return np.zeros(size, np.int64)

    def _of(self, document: int) -> Iterator[tuple[Floats, Bools]]:
        gold = self.gold[self.stream.posterior.mentions_of(document)]
        for pairs in self.stream.pairs(document):
            first, second = gold[pairs.first], gold[pairs.second]
            known = (first != NONE) & (second != NONE)
            yield pairs.score[known], (first == second)[known]


def _starts(stream: PairStream, gold: Integers) -> Integers:
    """Return the offsets of the pairs of each document."""
    start = np.zeros(stream.posterior.document_count + 1, np.int64)
    for document in range(stream.posterior.document_count):
        known = (gold[stream.posterior.mentions_of(document)] != NONE).astype(np.int64)
        before = np.concatenate([[0], np.cumsum(known)])
        number = np.arange(len(known))
        low = 0 * number if stream.window is None else np.maximum(0, number - stream.window)
        start[document + 1] = start[document] + int((known * (before[:-1] - before[low])).sum())
    return start


def _above(source: Source, documents: int, threshold: float) -> tuple[ListedSource, int]:
    """Return the pairs with at least the threshold as score, and the number of gold pairs below it."""
    scores, labels, counts, missed = [], [], np.zeros(documents, np.int64), 0
    for block in source.blocks():
        document = block.first
        for piece in source.pieces(block):
            kept = piece.score >= threshold
            scores.append(piece.score[kept])
            labels.append(piece.label[kept])
            missed += int(piece.label[~kept].sum())
            total = np.concatenate([[0], np.cumsum(kept)])
            counts[document : block.last] += np.diff(total[piece.start])
    score = np.concatenate(scores) if scores else np.empty(0)
    label = np.concatenate(labels) if labels else np.empty(0, np.bool_)
    start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return ListedSource(score, label, np.zeros(len(score), np.int64), start), missed


def _of_mentions(
    posterior: AntecedentPosterior, view: str, name: str, score: Floats, gold: Integers, label: Bools
) -> Query:
    known = gold != NONE
    return Query.of_parts(
        view,
        score[known],
        label[known],
        _documents(posterior)[known],
        count=posterior.document_count,
        clusters=posterior.names,
        classes=(name,),
    )


def _documents(posterior: AntecedentPosterior) -> Integers:
    """Return the number of each mention's document."""
    return np.repeat(np.arange(posterior.document_count), posterior.mention_counts)


def _query(
    posterior: AntecedentPosterior,
    view: str,
    name: str,
    source: Source,
    missed: dict[str, int],
    threshold: float | None,
) -> Query:
    names, code = np.unique(np.array(posterior.names), return_inverse=True)
    cluster = code.astype(np.int64)
    return Query(view, (name,), names, {}, missed, threshold, _source=source, _cluster=cluster)


def _checked(threshold: object) -> float:
    if not isinstance(threshold, (int, float)) or isinstance(threshold, bool) or not 0 <= threshold <= 1:
        raise InputError(f"threshold is {threshold!r:.40}", "give a number in [0, 1]", code="parameter")
    return float(threshold)


def _codes(posterior: AntecedentPosterior, clusters: GoldClusters) -> Integers:
    """Return the code of each mention's gold entity within its document."""
    if not is_list(clusters) or len(clusters) != posterior.document_count:
        given = f"are {len(clusters)}" if is_list(clusters) else f"is {clusters!r:.40}"
        message = f"clusters of documents {given}, for {posterior.document_count} documents"
        raise InputError(message, "give a list with the gold entity of each mention", code="length")
    codes = np.empty(posterior.mention_count, np.int64)
    for document, entities in enumerate(clusters):
        mentions = posterior.mentions_of(document)
        count = mentions.stop - mentions.start
        if not is_list(entities) or len(entities) != count:
            given = f"{len(entities)} clusters" if is_list(entities) else f"the clusters {entities!r:.40}"
            message = f"document {posterior.names[document]!r} has {given} for {count} mentions"
            hint = "give the gold entity of each mention, or None"
            raise InputError(message, hint, code="length", row=document)
        known: dict[object, int] = {}
        codes[mentions] = [
            NONE if entity is None else known.setdefault(entity, len(known)) for entity in entities
        ]
    return codes


def _keys(posterior: AntecedentPosterior, gold: Integers) -> Integers:
    """Return a number for each gold entity, and for no entity, that is unique over documents."""
    return _documents(posterior) * (posterior.mention_count + 1) + gold
