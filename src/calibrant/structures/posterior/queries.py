"""Queries about parts of tag sequences: pairs of a probability and a gold label.

A query yields its pairs in batches, or sums them into a tally in bounded memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Integers, is_list, positive_integer
from calibrant.exceptions import InputError
from calibrant.metrics.grid import GridSums, grid
from calibrant.structures._kernels import chain as chain_kernels
from calibrant.structures._kernels import queries as kernels
from calibrant.structures.posterior import _query as batches
from calibrant.structures.posterior._potentials import Messages
from calibrant.structures.posterior._query import Batch, Gold, GoldTags, Query, Scored, Source, tag_code
from calibrant.structures.posterior.blocks import Block, blocks
from calibrant.structures.posterior.chain import ChainPosterior
from calibrant.structures.posterior.spans import Spans, gold_spans, likely_spans

MESSAGES = 1024  # most tokens per block, so that the messages of a block fit into a processor's cache


@dataclass(frozen=True)
class TagSource(Source):
    """Source of single tags: some columns of the marginals."""

    posterior: ChainPosterior
    gold: Gold
    codes: Integers

    @property
    def size(self) -> int:
        return self.posterior.token_count * len(self.codes)

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        self.posterior.marginals(threads=threads)
        return blocks(self.posterior.offsets, max(1, batches.BATCH // len(self.codes)))

    def scored(self, block: Block) -> Scored:
        marginal = self.posterior.marginals()[block.tokens]
        everything = len(self.codes) == self.posterior.tag_count
        score = np.minimum(marginal if everything else marginal[:, self.codes], 1.0)
        label = self.gold.codes[block.tokens, None] == self.codes
        return Scored(score.ravel(), label.ravel(), block.offsets * len(self.codes))

    def class_codes(self, block: Block, size: int) -> Integers:
        return np.tile(np.arange(len(self.codes)), int(block.offsets[-1]))


@dataclass(frozen=True)
class TopSource(Source):
    """Source of the most probable tag of each token; classes are the tags."""

    posterior: ChainPosterior
    gold: Gold

    @property
    def size(self) -> int:
        return self.posterior.token_count

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        self.posterior.marginals(threads=threads)
        return blocks(self.posterior.offsets, batches.BATCH)

    def scored(self, block: Block) -> Scored:
        top = self._top[block.tokens]
        marginal = self.posterior.marginals()[block.tokens]
        score = np.minimum(marginal[np.arange(len(top)), top], 1.0)
        return Scored(score, top == self.gold.codes[block.tokens], block.offsets)

    def class_codes(self, block: Block, size: int) -> Integers:
        return self._top[block.tokens]

    @cached_property
    def _top(self) -> Integers:
        return self.posterior.minimum_bayes_risk()


@dataclass(frozen=True)
class PairSource(Source):
    """Source of some pairs of tags at consecutive tokens, with codes ``first`` and ``second``."""

    posterior: ChainPosterior
    gold: Gold
    first: Integers
    second: Integers

    @property
    def size(self) -> int:
        return (self.posterior.token_count - self.posterior.sentence_count) * len(self.first)

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        return blocks(self.posterior.offsets, min(MESSAGES, max(1, batches.BATCH // len(self.first))))

    def scored(self, block: Block) -> Scored:
        messages = self.posterior.messages(block)
        starts = _pair_starts(block)
        score = np.empty((int(starts[-1]), len(self.first)))
        label = np.empty(score.shape, np.bool_)
        kernels.pair_scores(
            messages.alpha,
            messages.future,
            self.posterior.steps.plain,
            self.posterior.steps.logarithm,
            in_logarithms(messages),
            block.offsets,
            self.gold.codes[block.tokens],
            self.first,
            self.second,
            score,
            label,
        )
        return Scored(score.ravel(), label.ravel(), starts * len(self.first))

    def class_codes(self, block: Block, size: int) -> Integers:
        return np.tile(np.arange(len(self.first)), int(_pair_starts(block)[-1]))


class AllPairsSource(PairSource):
    """Source of all pairs of tags, which are tallied without listing them."""

    def add(self, sums: GridSums, block: Block) -> None:
        messages = self.posterior.messages(block)
        most_large = 34 * len(messages.marginal)  # a place has at most 32 scores of 2^-5 or more
        kernels.tally_all_pairs(
            messages.alpha,
            messages.future,
            messages.marginal,
            self.posterior.steps.plain,
            self.posterior.steps.logarithm,
            in_logarithms(messages),
            block.offsets,
            self.gold.codes[block.tokens],
            grid().part_of,
            grid().cut,
            sums.room(most_large),
        )


def in_logarithms(messages: Messages) -> NDArray[np.bool_]:
    """Return a mask of the sentences of a block with messages in logarithms."""
    logarithms: NDArray[np.bool_] = messages.state == chain_kernels.LOGARITHMS
    return logarithms


def _pair_starts(block: Block) -> Integers:
    """Return the offsets of each sentence in the list of consecutive tokens."""
    return block.offsets - np.arange(len(block.offsets))


__all__ = ["Batch", "Query", "all_tags", "spans", "tag_is", "tag_pairs", "top_label"]


def tag_is(
    posterior: ChainPosterior, gold: GoldTags, tag: str, *, clusters: ArrayLike | None = None
) -> Query:
    """Return the query for one tag: its probability at each token, and if it is the gold tag.

    Parameters
    ----------
    posterior
        Posterior of S sentences with N tokens.
    gold
        Gold tags of each sentence: names or codes 0 to K - 1, or (N,) codes as from `viterbi`. Tags that the
        model has never seen are counted in ``unseen``.
    tag
        One of the model's tags.
    clusters
        (S,) cluster of each sentence, such as its document; None: each sentence is a cluster.

    Returns
    -------
    Query
        N pairs.

    References
    ----------
    Nguyen and O'Connor (2015), section 4.2.

    Examples
    --------
    >>> posterior = ChainPosterior(np.log([[0.9, 0.1], [0.4, 0.6]]), tags=["N", "V"])
    >>> pairs = tag_is(posterior, [["N", "V"]], "V").pairs()
    >>> pairs.score.round(3).tolist(), pairs.label.tolist()
    ([0.1, 0.6], [False, True])
    """
    checked = Gold.of(posterior, gold, clusters)
    codes = np.array([tag_code(posterior, tag)])
    return _query(f"tag:{tag}", (tag,), checked, TagSource(posterior, checked, codes))


def all_tags(posterior: ChainPosterior, gold: GoldTags, *, clusters: ArrayLike | None = None) -> Query:
    """Return the query for all tags pooled: the probability of each tag at each token, and gold.

    Parameters and errors are those of `tag_is`.

    Returns
    -------
    Query
        N K pairs; the classes are the tags.

    References
    ----------
    Nguyen and O'Connor (2015), section 4.2.

    Examples
    --------
    >>> posterior = ChainPosterior(np.log([[0.9, 0.1], [0.4, 0.6]]), tags=["N", "V"])
    >>> query = all_tags(posterior, [["N", "UH"]])
    >>> query.tally().total_positives, query.unseen
    (1, {'UH': 1})
    """
    checked = Gold.of(posterior, gold, clusters)
    source = TagSource(posterior, checked, np.arange(posterior.tag_count))
    return _query("all tags", posterior.tags, checked, source)


def top_label(posterior: ChainPosterior, gold: GoldTags, *, clusters: ArrayLike | None = None) -> Query:
    """Return the query for the most probable tag of each token: its probability, and if it is the gold tag.

    Parameters and errors are those of `tag_is`.

    Returns
    -------
    Query
        N pairs; the class of each is the most probable tag (the first of equally probable ones).

    Examples
    --------
    >>> posterior = ChainPosterior(np.log([[0.9, 0.1], [0.4, 0.6]]), tags=["N", "V"])
    >>> pairs = top_label(posterior, [["N", "N"]]).pairs()
    >>> pairs.score.round(3).tolist(), pairs.label.tolist()
    ([0.9, 0.6], [True, False])
    """
    checked = Gold.of(posterior, gold, clusters)
    return _query("top label", posterior.tags, checked, TopSource(posterior, checked))


def tag_pairs(
    posterior: ChainPosterior,
    gold: GoldTags,
    *,
    pairs: Sequence[tuple[str, str]] | None = None,
    top: int | None = None,
    clusters: ArrayLike | None = None,
) -> Query:
    """Return the query for pairs of tags at consecutive tokens: the probability of each, and if gold has it.

    Parameters
    ----------
    posterior, gold, clusters
        As in `tag_is`. Gold pairs with a tag that the model has never seen have no positive pair.
    pairs
        Pairs of tags; all K^2 pairs if neither ``pairs`` nor ``top`` is given.
    top
        Number of the most frequent pairs of gold tags to use; ties are resolved in the order of the model's
        tags.

    Returns
    -------
    Query
        N - S pairs per pair of tags; classes are named like ``"DT NN"``. For all K^2 pairs, ``tally`` takes
        the time of a few single-tag tallies, and keeps a few thousand scores in memory.

    Raises
    ------
    InputError
        If gold differs in length from the sentences, the model lacks a tag, a pair is given twice, both
        ``pairs`` and ``top`` are given, or gold has fewer than ``top`` pairs.

    References
    ----------
    Nguyen and O'Connor (2015), section 4.2.

    Examples
    --------
    >>> posterior = ChainPosterior(np.log([[0.9, 0.1], [0.4, 0.6]]), tags=["N", "V"])
    >>> query = tag_pairs(posterior, [["N", "V"]], top=1)
    >>> query.classes, query.pairs().score.round(3).tolist()
    (('N V',), [0.54])
    """
    checked = Gold.of(posterior, gold, clusters)
    count = posterior.tag_count
    if pairs is not None and top is not None:
        raise InputError("both pairs and top are given", "give one of them", code="parameter")
    if pairs is not None:
        codes = _pair_codes(posterior, pairs)
    elif top is not None:
        codes = _most_frequent(posterior, checked, positive_integer(top, "top"))
    else:
        codes = np.arange(count * count)
    first, second = np.divmod(codes, count)
    names = tuple(
        f"{posterior.tags[i]} {posterior.tags[j]}"
        for i, j in zip(first.tolist(), second.tolist(), strict=True)
    )
    kind = AllPairsSource if pairs is None and top is None else PairSource
    return _query("tag pairs", names, checked, kind(posterior, checked, first, second))


def spans(
    posterior: ChainPosterior,
    gold: GoldTags,
    *,
    scheme: str = "BIO",
    strict: bool = False,
    threshold: float = 0.01,
    clusters: ArrayLike | None = None,
) -> Query:
    """Return the query for labeled spans: the probability of an entity at exactly these tokens, and gold.

    Spans with probability below the threshold have no pair, as in a prediction table with a threshold, so
    that all numbers describe the pairs above it. Gold spans below the threshold are counted in ``missed`` by
    type.

    Parameters
    ----------
    posterior, gold, clusters
        As in `tag_is`; tags are named as in `calibrant.structures.posterior.spans.likely_spans`.
    scheme, strict, threshold
        As in `calibrant.structures.posterior.spans.likely_spans`, also for gold.

    Returns
    -------
    Query
        One pair per span; the classes are the types. Gold spans of types that the model does not have are
        counted in ``unseen``.

    Examples
    --------
    >>> unary = np.log([[0.9, 0.05, 0.05], [0.2, 0.2, 0.6]])
    >>> posterior = ChainPosterior(unary, tags=["B-PER", "I-PER", "O"])
    >>> pairs = spans(posterior, [["B-PER", "I-PER"]]).pairs()
    >>> pairs.score.round(2).tolist(), pairs.label.tolist()
    ([0.76, 0.19, 0.21], [False, True, False])
    """
    checked = Gold.of(posterior, gold, clusters)
    predicted = likely_spans(posterior, scheme=scheme, strict=strict, threshold=threshold)
    bounds = posterior.offsets.tolist()
    tags = [checked.tags[first:last] for first, last in pairwise(bounds)]
    true = gold_spans(tags, scheme=scheme, strict=strict, types=predicted.types)
    keys, true_keys = (_span_keys(posterior, part, len(true.types)) for part in (predicted, true))
    known = true.type < len(predicted.types)
    missed = known & ~np.isin(true_keys, keys)
    assert predicted.probability is not None
    return Query.of_parts(
        "spans",
        np.minimum(predicted.probability, 1.0),
        np.isin(keys, true_keys),
        predicted.sentence,
        count=posterior.sentence_count,
        clusters=checked.clusters[checked.cluster],
        classes=predicted.types,
        class_code=predicted.type,
        unseen=_count(true, ~known),
        missed=_count(true, missed),
        threshold=threshold,
    )


def _span_keys(posterior: ChainPosterior, listed: Spans, types: int) -> Integers:
    """Return one unique number per span."""
    width = int(posterior.lengths.max()) + 1
    return ((listed.sentence * width + listed.first) * width + listed.last) * types + listed.type


def _count(listed: Spans, which: NDArray[np.bool_]) -> dict[str, int]:
    """Return the number of spans of each type, the most frequent first."""
    names = np.array(listed.names, object)[which]
    return dict(Counter(names.tolist()).most_common())


def _pair_codes(posterior: ChainPosterior, pairs: Sequence[Any]) -> Integers:
    """Return the code of the first tag times K plus that of the second, for each requested pair."""
    if not is_list(pairs):
        message = f"pairs is {pairs!r:.40}"
        raise InputError(message, "give pairs of tags like ('DT', 'NN')", code="dtype")
    if not len(pairs):
        raise InputError("pairs is empty", "give pairs of tags like ('DT', 'NN')", code="empty")
    for pair in pairs:
        if not (isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(tag, str) for tag in pair)):
            message = f"pairs contains {pair!r}"
            raise InputError(message, "give pairs of tags like ('DT', 'NN')", code="parameter")
    if len(set(pairs)) < len(pairs):
        raise InputError("a pair of tags is given twice", "give each pair once", code="parameter")
    codes = [tag_code(posterior, i) * posterior.tag_count + tag_code(posterior, j) for i, j in pairs]
    return np.array(codes, np.int64)


def _most_frequent(posterior: ChainPosterior, gold: Gold, top: int) -> Integers:
    """Return the most frequent pairs of gold tags that the model knows."""
    before, after = gold.codes[:-1], gold.codes[1:]
    kept = (before >= 0) & (after >= 0)
    kept[posterior.offsets[1:-1] - 1] = False  # a pair must not span two sentences
    count = np.bincount(before[kept] * posterior.tag_count + after[kept])
    distinct = int((count > 0).sum())
    if top > distinct:
        message = f"top is {top}, but gold has {distinct} distinct pairs of tags"
        raise InputError(message, f"give at most {distinct}", code="parameter")
    return np.argsort(-count, kind="stable")[:top]


def _query(view: str, classes: tuple[str, ...], gold: Gold, source: Source) -> Query:
    return Query(view, classes, gold.clusters, gold.unseen, _source=source, _cluster=gold.cluster)
