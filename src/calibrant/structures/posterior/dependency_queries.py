"""Queries about parts of dependency trees: arcs, the head of each word, labeled arcs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Integers
from calibrant.exceptions import InputError
from calibrant.structures.posterior import _query as batches
from calibrant.structures.posterior._query import Query, Scored, Source
from calibrant.structures.posterior.blocks import Block, blocks
from calibrant.structures.posterior.dependency import DependencyPosterior

__all__ = ["arcs", "head_of", "labeled_arcs"]

DISTANCES = ("root", "1", "2", "3 to 5", "6 to 10", "more than 10")
FARTHEST = np.array([0, 1, 2, 5, 10])  # words, of all distances but the last


@dataclass(frozen=True)
class ArcSource(Source):
    """Source of all arcs; classes are distances of a word from its head."""

    posterior: DependencyPosterior
    heads: Integers

    @property
    def size(self) -> int:
        lengths = np.diff(self.posterior.offsets)
        return int((lengths * lengths).sum())  # n heads for each of n words, without the word itself

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        self.posterior.marginals(threads=threads)
        longest = int(np.diff(self.posterior.offsets).max())
        return blocks(self.posterior.offsets, max(1, batches.BATCH // longest))

    def scored(self, block: Block) -> Scored:
        parts, labels = [], []
        for place in range(block.first, block.last):
            marginal = self.posterior.marginals()[place]
            gold = self.heads[self.posterior.offsets[place] : self.posterior.offsets[place + 1]]
            kept = _other_words(len(marginal))
            parts.append(marginal[kept])
            labels.append((gold[:, None] == np.arange(len(marginal) + 1))[kept])
        start = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        return Scored(np.concatenate(parts), np.concatenate(labels), start)

    def class_codes(self, block: Block, size: int) -> Integers:
        codes = []
        for length in np.diff(block.offsets).tolist():
            word, head = np.nonzero(_other_words(length))
            codes.append(distance(word, head))
        return np.concatenate(codes)


@dataclass(frozen=True)
class HeadSource(Source):
    """Source of each word's head in the tree with the most expected correct arcs; classes are distances."""

    posterior: DependencyPosterior
    heads: Integers

    @property
    def size(self) -> int:
        return int(self.posterior.offsets[-1])

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        self.posterior.marginals(threads=threads)
        return blocks(self.posterior.offsets, batches.BATCH)

    def scored(self, block: Block) -> Scored:
        chosen = self._chosen[block.tokens]
        marginal = self.posterior.marginals()[block.first : block.last]
        words = [np.arange(length) for length in np.diff(block.offsets).tolist()]
        ends = zip(block.offsets, block.offsets[1:], strict=False)
        score = [
            own[word, chosen[first:last]]
            for own, word, (first, last) in zip(marginal, words, ends, strict=True)
        ]
        return Scored(np.concatenate(score), chosen == self.heads[block.tokens], block.offsets)

    def class_codes(self, block: Block, size: int) -> Integers:
        words = np.concatenate([np.arange(length) for length in np.diff(block.offsets).tolist()])
        return distance(words, self._chosen[block.tokens])

    @cached_property
    def _chosen(self) -> Integers:
        return self.posterior.minimum_bayes_risk().astype(np.int64)


def arcs(posterior: DependencyPosterior, heads: ArrayLike, *, clusters: ArrayLike | None = None) -> Query:
    """Return a query of all arcs: the probability that one word is the head of another.

    Parameters
    ----------
    posterior
        Distribution over the trees of S sentences.
    heads
        (N,) gold heads: 0 for the root, h + 1 for word h of the sentence.
    clusters
        (S,) cluster of each sentence, such as its document; None: each sentence is a cluster.

    Raises
    ------
    InputError
        If the gold heads of a sentence are no tree with one root.

    Examples
    --------
    >>> query = arcs(DependencyPosterior(np.zeros((2, 3))), [0, 1])
    >>> [(batch.score.tolist(), batch.label.tolist()) for batch in query]
    [([0.5, 0.5, 0.5, 0.5], [True, False, False, True])]
    """
    gold, cluster, names = _gold(posterior, heads, clusters)
    return Query("arcs", DISTANCES, names, {}, _source=ArcSource(posterior, gold), _cluster=cluster)


def head_of(posterior: DependencyPosterior, heads: ArrayLike, *, clusters: ArrayLike | None = None) -> Query:
    """Return a query of one head per word, that of the tree with the most expected correct arcs.

    Its mean label is the unlabeled attachment score. Parameters as of `arcs`.

    Examples
    --------
    >>> query = head_of(DependencyPosterior(np.log([[0.8, 0.5, 0.2], [0.2, 0.8, 0.5]])), [0, 1])
    >>> [(batch.score.round(3).tolist(), batch.label.tolist()) for batch in query]
    [([0.941, 0.941], [True, True])]
    """
    gold, cluster, names = _gold(posterior, heads, clusters)
    return Query("heads", DISTANCES, names, {}, _source=HeadSource(posterior, gold), _cluster=cluster)


def labeled_arcs(
    posterior: DependencyPosterior,
    heads: ArrayLike,
    labels: Sequence[str],
    *,
    threshold: float = 0.01,
    clusters: ArrayLike | None = None,
) -> Query:
    """Return a query of arcs with their labels, such as "the subject of this verb is that noun".

    Parameters
    ----------
    posterior
        Distribution with labels.
    heads, clusters
        As of `arcs`.
    labels
        (N,) name of the label of each word's gold arc.
    threshold
        Smallest probability of a labeled arc; ``missed`` counts gold arcs below it by label, and ``unseen``
        those with a label that the posterior lacks.

    Examples
    --------
    >>> posterior = DependencyPosterior(
    ...     np.zeros((1, 2)), np.log([[[0.7, 0.3], [0.5, 0.5]]]), names=["root", "nsubj"]
    ... )
    >>> query = labeled_arcs(posterior, [0], ["root"])
    >>> [(batch.score.round(2).tolist(), batch.label.tolist()) for batch in query]
    [([0.7, 0.3], [True, False])]
    """
    threshold = _checks.proportion(threshold, "threshold", such_as=0.01)
    gold, cluster, names = _gold(posterior, heads, clusters)
    given = list(labels)
    if len(given) != len(gold):
        message = f"there are {len(given)} labels for {len(gold)} words"
        raise InputError(message, "give one label per word", code="length")
    known = {name: code for code, name in enumerate(posterior.names)}
    codes = np.array([known.get(name, -1) for name in given])
    missed: Counter[str] = Counter()
    score, label, sentence, class_code = [], [], [], []
    for place in range(posterior.sentence_count):
        own = posterior.label_marginals(place)
        first, last = posterior.offsets[place], posterior.offsets[place + 1]
        word, head, code = np.nonzero(own >= threshold)
        right = (head == gold[first:last][word]) & (code == codes[first:last][word])
        score.append(own[word, head, code])
        label.append(right)
        sentence.append(np.full(len(word), place))
        class_code.append(code)
        reached = np.zeros(last - first, np.bool_)
        reached[word[right]] = True
        missed.update(
            given[first + at] for at in np.flatnonzero(~reached & (codes[first:last] >= 0)).tolist()
        )
    return Query.of_parts(
        "labeled arcs",
        np.concatenate(score),
        np.concatenate(label),
        np.concatenate(sentence),
        count=posterior.sentence_count,
        clusters=names[cluster],
        classes=posterior.names,
        class_code=np.concatenate(class_code),
        unseen=dict(Counter(name for name in given if name not in known).most_common()),
        missed=dict(missed.most_common()),
        threshold=threshold,
    )


def _gold(
    posterior: DependencyPosterior, heads: ArrayLike, clusters: ArrayLike | None
) -> tuple[Integers, Integers, NDArray[np.generic]]:
    """Return checked gold heads, the cluster of each sentence, and the names of the clusters."""
    gold, count = posterior.check_heads(heads), posterior.sentence_count
    if clusters is None:
        return gold, np.arange(count), np.arange(count)
    cluster, names = _checks.cluster_codes(clusters)
    if len(cluster) != count:
        message = f"clusters has {len(cluster)} names for {count} sentences"
        raise InputError(message, "give one cluster per sentence", code="length")
    return gold, cluster, names


def _other_words(n: int) -> NDArray[np.bool_]:
    """Return (n, n + 1) True for arcs, False for a word from itself."""
    kept = np.ones((n, n + 1), np.bool_)
    kept[np.arange(n), np.arange(n) + 1] = False
    return kept


def distance(word: Integers, head: Integers) -> Integers:
    """Return the place in `DISTANCES` of arcs to words from heads (0 for the root)."""
    far = np.where(head == 0, 0, np.abs(word + 1 - head))
    return np.searchsorted(FARTHEST, far).astype(np.int64)
