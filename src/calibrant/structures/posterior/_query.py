"""Queries about parts of structures: pairs in batches, all at once, or in a tally."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, Pairs
from calibrant._kernels.tally import GRID_ROWS, LOWEST_ROW
from calibrant._parallel import check_threads, fold
from calibrant.exceptions import InputError
from calibrant.metrics.grid import GridSums, grid
from calibrant.metrics.grouping import group_by
from calibrant.metrics.tally import LARGEST_EXACT, Tally
from calibrant.structures._kernels import queries as kernels
from calibrant.structures.posterior.blocks import Block, blocks
from calibrant.structures.posterior.chain import ChainPosterior

COLUMNS = 5  # n, positives, and the sums of d, of d^2 and of d y
# Rows per octave of min(q, 1 - q), by the number of octaves below 1/2: the grid's rows for scores that
# matter, and few rows for small scores, of which a sentence has thousands.
_FINE, _MIDDLE = 10, 24
_ROWS = (256, 8, 1)

GoldTags = Sequence[Sequence[str]] | Sequence[Sequence[int]] | NDArray[np.integer[Any]]
UNSEEN = -1
BATCH = 1 << 20  # pairs per batch, unless one sentence has more


class Scored(NamedTuple):
    """Pairs of a block: scores, labels, and (sentences + 1,) offsets of each sentence's pairs."""

    score: Floats
    label: NDArray[np.bool_]
    start: Integers


class Source(ABC):
    """Source of pairs in blocks, sorted by sentence."""

    @property
    @abstractmethod
    def size(self) -> int:
        """Return the number of pairs."""

    @abstractmethod
    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        """Yield blocks with pairs that fit into memory; shared values are computed first, in threads."""

    @abstractmethod
    def scored(self, block: Block) -> Scored:
        """Return the pairs of a block."""

    @abstractmethod
    def class_codes(self, block: Block, size: int) -> Integers:
        """Return the class of each pair of a block, or of a piece with ``size`` pairs."""

    def pieces(self, block: Block) -> Iterator[Scored]:
        """Yield the pairs of a block in pieces that fit into memory."""
        yield self.scored(block)

    def add(self, sums: GridSums, block: Block) -> None:
        """Add the pairs of a block to sums on the grid."""
        for score, label, _ in self.pieces(block):
            sums.add(Pairs(score, label))


@dataclass(frozen=True)
class ListedSource(Source):
    """Source of given pairs, sorted by sentence, with offsets ``start``."""

    score: Floats
    label: NDArray[np.bool_]
    code: Integers
    start: Integers

    @property
    def size(self) -> int:
        return len(self.score)

    def blocks(self, threads: int | None = None) -> Iterator[Block]:
        return blocks(self.start, BATCH)

    def scored(self, block: Block) -> Scored:
        return Scored(self.score[block.tokens], self.label[block.tokens], block.offsets)

    def class_codes(self, block: Block, size: int) -> Integers:
        return self.code[block.tokens]


class Groups(NamedTuple):
    """Unions of adjacent rows of the grid.

    Attributes
    ----------
    of_row
        (grid rows,) group of each row.
    shift
        (grid rows,) anchor of the row minus the anchor of its group.
    low, high, anchor
        (groups,) as in a tally, sorted by score.
    """

    of_row: NDArray[np.int16]
    shift: Floats
    low: Floats
    high: Floats
    anchor: Floats


@cache
def groups() -> Groups:
    """Return the cached groups."""
    shared = grid()
    number = np.arange(len(shared.low))
    split = np.flatnonzero(shared.part_of >= 0)
    number[GRID_ROWS:] = split
    from_half = number + LOWEST_ROW
    octave = np.where(from_half < 0, -1 - from_half, from_half) >> 8
    rows = np.select([octave < _FINE, octave < _MIDDLE], _ROWS[:2], _ROWS[2])
    part = from_half // (256 // rows)
    ordered = np.stack([octave, from_half < 0, part])[:, shared.order]
    starts = np.ones(len(number), bool)
    starts[1:] = np.any(ordered[:, 1:] != ordered[:, :-1], axis=0)
    # A group ends at every cut of the grid, so that equal-width bins stay exact.
    starts[1:] |= np.isin(shared.high[shared.order][:-1], shared.cut)
    first = np.flatnonzero(starts)
    of_row = np.empty(len(number), np.int16)
    of_row[shared.order] = np.cumsum(starts) - 1
    last = np.append(first[1:], len(number)) - 1
    anchor = shared.anchor[shared.order][first]
    return Groups(
        of_row,
        shared.anchor - anchor[of_row],
        shared.low[shared.order][first],
        shared.high[shared.order][last],
        anchor,
    )


class SentenceSums:
    """Sums of one thread by sentence and nonempty group of rows."""

    def __init__(self) -> None:
        self.parts: list[tuple[Integers, NDArray[np.int16], Floats]] = []
        self.sums = np.zeros((2 * len(groups().low), 4))

    def add(self, first: int, score: Floats, label: NDArray[np.bool_], start: Integers) -> None:
        """Add the pairs of sentences ``first``, first + 1, ..., which begin at ``start``."""
        shared, grouping = grid(), groups()
        sentence, group, columns = room = self.room(np.diff(start))
        used = kernels.sums_by_sentence(
            score, label, start, shared.part_of, shared.cut, grouping.of_row, grouping.shift, self.sums, *room
        )
        self.keep(first, sentence[:used], group[:used], columns[:used])

    def room(self, pairs: Integers) -> tuple[Integers, Integers, Floats]:
        """Return arrays for the sums of sentences with these numbers of pairs."""
        most = int(np.minimum(pairs, len(groups().low)).sum())
        return np.empty(most, np.int64), np.empty(most, np.int64), np.empty((most, COLUMNS))

    def keep(self, first: int, sentence: Integers, group: Integers, columns: Floats) -> None:
        """Keep the values that a kernel wrote for sentences ``first``, first + 1, ...."""
        if len(sentence):
            self.parts.append((sentence + first, group.astype(np.int16), columns.copy()))


def tally_by_cluster(
    chunks: Iterable[Block],
    add: Callable[[SentenceSums, Block], None],
    cluster: Integers,
    names: NDArray[Any],
    threads: int,
) -> Tally:
    """Return a tally of pairs by cluster; ``cluster`` contains the code of each sentence."""
    states = fold(chunks, SentenceSums, add, threads)
    parts = sorted((part for state in states for part in state.parts), key=lambda part: int(part[0][0]))
    sentence, group = (np.concatenate([part[index] for part in parts]) for index in (0, 1))
    code = cluster[sentence]
    columns = np.concatenate([part[2] for part in parts])
    cells = group_by(group.astype(np.int64), within=code)
    n, positives, offset, offset2, offset_positive = (
        cells.sum(columns[:, index]) for index in range(COLUMNS)
    )
    grouping, row = groups(), cells.first(group)
    return Tally(
        "compressed",
        grouping.low[row],
        grouping.high[row],
        grouping.anchor[row],
        n.astype(np.int64),
        positives.astype(np.int64),
        n,
        positives,
        n,
        positives,
        offset,
        offset2,
        offset_positive,
        cells.first(code),
        names,
    )


LARGEST_PAIRS = (
    1 << 26
)  # larger queries are not listed: pairs would take a gigabyte, and measuring twice as much


class Batch(NamedTuple):
    """Batch of pairs of a query.

    Attributes
    ----------
    score
        (n,) probability under the model.
    label
        (n,) bool, True if the part is in gold.
    class_code
        (n,) index into the query's ``classes``.
    cluster
        (n,) index into the query's ``clusters``.
    """

    score: Floats
    label: NDArray[np.bool_]
    class_code: Integers
    cluster: Integers


@dataclass(frozen=True, eq=False)
class Query:
    """Query about parts of sentences or documents: pairs of a score and a label, in order.

    Attributes
    ----------
    view
        View: ``"tag:V"``, ``"all tags"``, ``"top label"``, ``"tag pairs"``, ``"spans"``, ``"mention pairs"``,
        ``"is new"`` or ``"is singleton"``.
    classes
        Names of the classes; the class of a pair of tags is ``"DT NN"``.
    clusters
        (C,) sorted names of the clusters.
    unseen
        Gold tokens per tag (gold spans per type) that the model has never seen; no pair is positive for them.
    missed
        Gold spans per type, or gold pairs of mentions, with probability below the threshold; they have no
        pair.
    threshold
        Smallest score of a pair; None without a threshold.

    Notes
    -----
    `calibrant.verbs.measure` accepts a query like a table, with its clusters. The result of ``tally()`` has
    no clusters, so its pairs are treated as independent.

    Examples
    --------
    >>> from calibrant.structures.posterior import ChainPosterior
    >>> from calibrant.structures.posterior.queries import all_tags
    >>> posterior = ChainPosterior(np.log([[0.9, 0.1], [0.4, 0.6]]), tags=["N", "V"])
    >>> query = all_tags(posterior, [["N", "V"]])
    >>> [batch.score.round(3).tolist() for batch in query]
    [[0.9, 0.1, 0.4, 0.6]]
    >>> query.tally().total_positives
    2
    """

    view: str
    classes: tuple[str, ...]
    clusters: NDArray[Any]
    unseen: dict[str, int]
    missed: dict[str, int] = field(default_factory=dict)
    threshold: float | None = None
    _source: Source = field(kw_only=True, repr=False)
    _cluster: Integers = field(kw_only=True, repr=False)

    @classmethod
    def of_parts(
        cls,
        view: str,
        score: ArrayLike,
        label: ArrayLike,
        structure: ArrayLike,
        *,
        count: int,
        clusters: ArrayLike | None = None,
        classes: tuple[str, ...] = (),
        class_code: ArrayLike | None = None,
        unseen: dict[str, int] | None = None,
        missed: dict[str, int] | None = None,
        threshold: float | None = None,
    ) -> Query:
        """Return a query of given pairs, for parts of any structure.

        Parameters
        ----------
        view, classes, unseen, missed, threshold
            As the attributes; without classes there is one class with the name of the view.
        score
            (n,) probability of each part, in [0, 1].
        label
            (n,) 0 or 1, 1 if the part is in gold.
        structure
            (n,) sorted number of each part's sentence or document, from 0.
        count
            Number of sentences or documents.
        clusters
            (count,) cluster of each sentence or document; None: each is a cluster.
        class_code
            (n,) index into ``classes``; None: all are in the first class.

        Examples
        --------
        >>> heads = np.array([[0.9, 0.1], [0.3, 0.7]])  # P(the head of a word is this one), one row per word
        >>> gold = np.array([[True, False], [True, False]])
        >>> query = Query.of_parts("head", heads.ravel(), gold.ravel(), [0, 0, 0, 0], count=1)
        >>> query.tally().total_positives
        2
        """
        given, true = np.asarray(score, np.float64), np.asarray(label)
        if given.size:
            pairs = _checks.pairs(true, given, label_name="label", score_name="score")
            true = pairs.label
        place = np.asarray(structure)
        if not place.shape == given.shape == true.shape:
            message = "structure and score have different lengths"
            raise InputError(message, "give one structure per score", code="length")
        if len(place) and (place.dtype.kind not in "iu" or place[0] < 0 or place[-1] >= count):
            raise InputError("a structure is not a number below count", f"count is {count}", code="parameter")
        if (np.diff(place) < 0).any():
            raise InputError("structures are out of order", "sort pairs by structure", code="parameter")
        names: NDArray[Any] = np.arange(count)
        cluster = np.arange(count)
        if clusters is not None:
            cluster, names = _checks.cluster_codes(clusters)
        if len(cluster) != count:
            message = f"clusters has {len(cluster)} names for {count} structures"
            raise InputError(message, "give one cluster per structure", code="length")
        code = np.zeros(len(place), np.int64) if class_code is None else np.asarray(class_code, np.int64)
        start = np.searchsorted(place, np.arange(count + 1)).astype(np.int64)
        source = ListedSource(given, true.astype(np.bool_, copy=False), code, start)
        left_out = (dict(unseen or {}), dict(missed or {}), threshold)
        return cls(view, classes or (view,), names, *left_out, _source=source, _cluster=cluster)

    def __len__(self) -> int:
        return self._source.size

    def __iter__(self) -> Iterator[Batch]:
        """Yield batches of about 2^20 pairs, or of one sentence or row of mentions if it has more."""
        for block in self._source.blocks():
            for score, label, start in self._source.pieces(block):
                cluster = np.repeat(self._cluster[block.first : block.last], np.diff(start))
                yield Batch(score, label, self._source.class_codes(block, len(score)), cluster)

    def pairs(self) -> Pairs:
        """Return all pairs at once, with clusters: for intervals and comparisons of models.

        Raises
        ------
        InputError
            If there are no pairs, or more than 2^26; use a tally for more.
        """
        if len(self) > LARGEST_PAIRS:
            message = f"{self.view}: {len(self):,} pairs are too many to hold at once"
            raise InputError(message, "use their tally, some of the classes, or fewer sentences or documents")
        self._not_empty()
        score, cluster = np.empty(len(self)), np.empty(len(self), np.int64)
        label = np.empty(len(self), np.bool_)
        filled = 0
        for batch in self:
            place = slice(filled, filled + len(batch.score))
            score[place], label[place], cluster[place] = batch.score, batch.label, batch.cluster
            filled = place.stop
        return Pairs(score, label, None, cluster, len(self.clusters))

    def pairs_of(self, name: str) -> Pairs:
        """Return the pairs of one class; clusters keep their codes.

        Parameters
        ----------
        name
            One of ``classes``.
        """
        if name not in self.classes:
            known = ", ".join(self.classes[:20])
            message = f"{self.view}: there is no class {name!r}"
            raise InputError(message, f"choose one of {known}", code="class-unknown")
        code = self.classes.index(name)
        scores, labels, clusters = [], [], []
        for batch in self:
            kept = batch.class_code == code
            scores.append(batch.score[kept])
            labels.append(batch.label[kept])
            clusters.append(batch.cluster[kept])
        if not sum(map(len, scores)):
            raise InputError(f"{self.view}: {name} has no pairs", "choose another class", code="empty")
        score, label, cluster = np.concatenate(scores), np.concatenate(labels), np.concatenate(clusters)
        return Pairs(score, label, None, cluster, len(self.clusters))

    def tally(
        self, *, by_cluster: bool = False, exact: bool | None = None, threads: int | None = None
    ) -> Tally:
        """Return a tally of the pairs by score, or by score and cluster, in bounded memory.

        Parameters
        ----------
        by_cluster
            Keep clusters separate, for intervals and tests; otherwise pairs are treated as independent. A
            compressed tally by cluster has the grid's rows only for min(q, 1 - q) of at least 2^-11, and
            wider rows below; rows still end at the bounds of 10, 15 and 20 equal-width bins. Compute adaptive
            bins and scores other than the Brier score from the tally without clusters.
        exact
            True: one row per distinct score. False: fixed rows. None: exact up to 2^20 pairs.
        threads
            Threads; by default all processors, at most 8. Counts, and sums to 1e-12, do not depend on them.
        """
        self._not_empty()
        if len(self) <= LARGEST_EXACT if exact is None else exact:
            pairs = self.pairs()
            kept = pairs if by_cluster else replace(pairs, cluster=None, cluster_count=0)
            return Tally.from_pairs(kept, exact=True, names=self.clusters if by_cluster else None)
        used = check_threads(threads)
        chunks = self._source.blocks(used)
        if by_cluster:
            return tally_by_cluster(chunks, self._add_by_sentence, self._cluster, self.clusters, used)
        first, *others = fold(chunks, GridSums, self._source.add, used)
        for other in others:
            first.absorb(other)
        return Tally("compressed", **first.columns())

    def _add_by_sentence(self, sums: SentenceSums, block: Block) -> None:
        for piece in self._source.pieces(block):
            sums.add(block.first, *piece)

    def _not_empty(self) -> None:
        if not len(self):
            message, hint = f"{self.view}: there are no pairs", "give longer sentences or documents"
            raise InputError(message, hint, code="empty")


@dataclass(frozen=True)
class Gold:
    """Gold tags and clusters of a posterior's sentences.

    Attributes
    ----------
    tags
        Names of N tags.
    codes
        (N,) codes of the tags; `UNSEEN` for tags that the model does not know.
    cluster, clusters
        (S,) code of each sentence's cluster, and names of the clusters.
    """

    tags: list[str]
    codes: Integers
    cluster: Integers
    clusters: NDArray[Any]

    @classmethod
    def of(cls, posterior: ChainPosterior, gold: GoldTags, clusters: ArrayLike | None) -> Gold:
        """Return checked gold tags (names or codes) with clusters; default: each sentence is a cluster."""
        tags, codes = _tags(posterior, gold)
        count = posterior.sentence_count
        if clusters is None:
            return cls(tags, codes, np.arange(count), np.arange(count))
        cluster, names = _checks.cluster_codes(clusters)
        if len(cluster) != count:
            message = f"clusters has {len(cluster)} names for {count} sentences"
            raise InputError(message, "give one cluster per sentence", code="length")
        return cls(tags, codes, cluster, names)

    @property
    def unseen(self) -> dict[str, int]:
        """Return the number of tokens per tag that the model has never seen, the most frequent tag first."""
        count = Counter(self.tags[token] for token in np.flatnonzero(self.codes == UNSEEN))
        return dict(count.most_common())


def _tags(posterior: ChainPosterior, gold: GoldTags) -> tuple[list[str], Integers]:
    if isinstance(gold, np.ndarray) and gold.ndim == 1 and gold.dtype.kind in "iu":
        if len(gold) != posterior.token_count:
            message = f"gold has {len(gold)} codes for {posterior.token_count} tokens"
            raise InputError(message, "give one tag per token", code="length")
        return _of_codes(posterior, gold)
    if not _checks.is_list(gold):
        raise InputError(f"gold is {gold!r:.40}", "give a list with the tags of each sentence", code="dtype")
    if len(gold) != posterior.sentence_count:
        message = f"gold has {len(gold)} sentences, but the posterior has {posterior.sentence_count}"
        raise InputError(message, "give the tags of each sentence", code="length")
    flat: list[Any] = []
    for sentence, (tags, length) in enumerate(zip(gold, posterior.lengths.tolist(), strict=True)):
        if not _checks.is_list(tags) or len(tags) != length:
            given = f"has {len(tags)} tags" if _checks.is_list(tags) else f"is {tags!r:.40}"
            message = f"gold sentence {sentence} {given}, but has {length} tokens"
            raise InputError(message, "give a list with one tag per token", code="length", row=sentence)
        flat.extend(tags)
    if all(isinstance(tag, (int, np.integer)) for tag in flat):
        return _of_codes(posterior, np.array(flat, np.int64))
    if not all(map(isinstance, flat, repeat(str))):
        token = next(place for place, tag in enumerate(flat) if not isinstance(tag, str))
        sentence = int(np.searchsorted(posterior.offsets, token, side="right")) - 1
        message = f"gold sentence {sentence} has the tag {flat[token]!r:.40}"
        raise InputError(message, "give names of tags, or their codes", code="dtype", row=sentence)
    known = {tag: code for code, tag in enumerate(posterior.tags)}
    return flat, np.fromiter((known.get(tag, UNSEEN) for tag in flat), np.int64, len(flat))


def _of_codes(posterior: ChainPosterior, codes: NDArray[Any]) -> tuple[list[str], Integers]:
    wrong = np.flatnonzero((codes < 0) | (codes >= posterior.tag_count))
    if len(wrong):
        sentence = int(np.searchsorted(posterior.offsets, wrong[0], side="right")) - 1
        message = f"gold sentence {sentence} has the code {codes[wrong[0]]}"
        hint = f"give codes from 0 to {posterior.tag_count - 1}, or names if the model lacks a tag"
        raise InputError(message, hint, code="class-unknown", row=sentence)
    return [posterior.tags[code] for code in codes.tolist()], codes.astype(np.int64)


def tag_code(posterior: ChainPosterior, tag: str) -> int:
    """Return the code of a tag; raise `InputError` with known tags if the model lacks it."""
    if tag not in posterior.tags:
        known = ", ".join(posterior.tags[:20])
        raise InputError(f"the model has no tag {tag!r}", f"choose one of {known}", code="class-unknown")
    return posterior.tags.index(tag)
