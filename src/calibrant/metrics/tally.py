"""The tally: predicted probabilities and outcomes summed by score. Everything else is computed from it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, Pairs
from calibrant._parallel import default_threads, fold, slices
from calibrant.exceptions import InputError
from calibrant.metrics.grid import GridSums, grid, keys_of, rows_of, scores_of
from calibrant.metrics.grouping import Grouping, group_by, sorted_by
from calibrant.metrics.tails import effective_number

Kind = Literal["compressed", "exact"]

LARGEST_EXACT = 1 << 20  # up to so many pairs a tally is exact unless asked otherwise


@dataclass(frozen=True, eq=False)
class Tally:
    """Pairs (q, y) summed by score: small, mergeable, and enough for every calibration measure.

    A *compressed* tally has rows on a fixed grid that is fine near 0 and near 1 (at most about 30,000 of
    them, whatever n is). An *exact* one has a row for every distinct score. With clusters there is a
    row for every (score row, cluster) that occurs. Rows are sorted by score, then cluster.

    Attributes
    ----------
    kind
        ``"compressed"`` or ``"exact"``.
    low, high
        (rows,) range of the scores of each row; equal in an exact tally.
    anchor
        (rows,) the score from which ``offset`` counts.
    n, positives
        (rows,) int64 counts of pairs and of positive pairs.
    weight, weight_positives, weight2, weight2_positives
        (rows,) sums of w, w y, w^2 and w^2 y; w is 1 without weights.
    offset, offset2, offset_positive
        (rows,) sums of w d, w d^2 and w d y with d = q - anchor. Sums of offsets lose nothing to rounding
        that sums of scores would keep, so that merging in any order agrees to 1e-12.
    cluster
        (rows,) index into ``clusters``, or None.
    clusters
        The names of the clusters, sorted, or None.
    weighted
        True if weights were given.
    view
        View of the probabilities (``binary``, ``top``, ``class:NAME`` or ``pooled``), if it is known.

    Examples
    --------
    >>> tally = Tally.from_arrays(y_true=[0, 1, 1], y_prob=[0.2, 0.7, 0.7])
    >>> tally.total_n, tally.total_positives, len(tally)
    (3, 2, 2)
    >>> (tally + tally).total_n
    6
    """

    kind: Kind
    low: Floats
    high: Floats
    anchor: Floats
    n: Integers
    positives: Integers
    weight: Floats
    weight_positives: Floats
    weight2: Floats
    weight2_positives: Floats
    offset: Floats
    offset2: Floats
    offset_positive: Floats
    cluster: Integers | None = None
    clusters: NDArray[Any] | None = None
    weighted: bool = False
    view: str | None = None

    @classmethod
    def from_arrays(
        cls,
        *,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        exact: bool | None = None,
        threads: int | None = None,
    ) -> Tally:
        """Tally labels and scores.

        Parameters
        ----------
        y_true
            (n,) labels 0 / 1: bool, integer or float.
        y_prob
            (n,) scores in [0, 1], float32 or float64.
        sample_weight
            (n,) non-negative weights.
        clusters
            (n,) what each pair depends on: sentence, document, annotator; any hashable names.
        exact
            True: a row a distinct score. False: the grid. None: exact up to 2^20 pairs.
        threads
            Threads to sum on; by default all processors, at most 8. The result does not depend on it.

        Raises
        ------
        InputError
            If a score, label, weight or length is wrong; it names the row.
        """
        checked = _checks.pairs(y_true, y_prob, sample_weight=sample_weight, clusters=clusters)
        if clusters is not None and sample_weight is not None:  # pairs of weight 0 are not counted
            used = _checks.as_array(sample_weight, "sample_weight") > 0
            clusters = _checks.as_array(clusters, "clusters")[used]
        names = None if clusters is None else _checks.cluster_codes(clusters)[1]
        return cls.from_pairs(checked, exact=exact, threads=threads, names=names)

    @classmethod
    def from_pairs(
        cls,
        pairs: Pairs,
        *,
        exact: bool | None = None,
        threads: int | None = None,
        names: NDArray[Any] | None = None,
    ) -> Tally:
        """Tally checked pairs; ``names`` are the clusters' names (their codes if not given)."""
        _checks.instance(pairs, Pairs, "pairs", "of labels and scores Tally.from_arrays makes a tally")
        exact = len(pairs) <= LARGEST_EXACT if exact is None else exact
        if pairs.cluster is not None and names is None:
            names = np.arange(pairs.cluster_count)
        if exact:
            return _exact(pairs, names)
        if pairs.cluster is not None:
            return _by_cluster(pairs, names)
        return cls.from_batches((pairs.part(piece) for piece in slices(len(pairs))), threads=threads)

    @classmethod
    def from_batches(cls, batches: Iterable[Pairs], *, threads: int | None = None) -> Tally:
        """Tally a stream of checked pairs (without clusters) on the grid, in one pass."""
        first, *others = fold(
            batches, GridSums, GridSums.add, default_threads() if threads is None else threads
        )
        for other in others:
            first.absorb(other)
        return cls("compressed", **first.columns())

    def __len__(self) -> int:
        return len(self.n)

    def __add__(self, other: Tally) -> Tally:
        return self.merge(other)

    def merge(self, other: Tally) -> Tally:
        """Return the tally of both: counts exactly, sums to 1e-12, in whatever order parts are merged.

        An exact and a compressed tally merge to a compressed one.

        Raises
        ------
        InputError
            If the other is no tally, only one has clusters or weights, or they are of different views.
        """
        _checks.instance(other, Tally, "other", "make it with Tally.from_arrays")
        weights_differ = self.weighted != other.weighted and len(self) > 0 and len(other) > 0
        if weights_differ or (self.cluster is None) != (other.cluster is None):
            message = f"one tally has {'weights' if weights_differ else 'clusters'} and the other has none"
            raise InputError(message, "tally both with or both without")
        if len({tally.view for tally in (self, other)} - {None}) > 1:
            message = f"one tally is of the view {self.view} and the other of the view {other.view}"
            raise InputError(message, "merge tallies of one view", code="view")
        if self.kind != other.kind:
            return self.compress().merge(other.compress())
        _check_weights(self, other)
        cluster, names = None, None
        if self.cluster is not None and other.cluster is not None:
            names, code = np.unique(
                np.concatenate([self.cluster_names, other.cluster_names]), return_inverse=True
            )
            cluster = np.concatenate([code[self.cluster], code[self.cluster_count + other.cluster]])
        return sum_equal_rows([self, other], cluster, names)

    def compress(self) -> Tally:
        """Return the tally on the fixed grid (itself if it is already there)."""
        if self.kind == "compressed":
            return self
        row, offset = rows_of(self.anchor)
        shared = grid()
        moved = replace(
            self,
            kind="compressed",
            low=shared.low[row],
            high=shared.high[row],
            anchor=shared.anchor[row],
            offset=self.weight * offset,
            offset2=self.weight * offset**2,
            offset_positive=self.weight_positives * offset,
        )
        return sum_equal_rows([moved], self.cluster, self.clusters)

    def without_clusters(self) -> Tally:
        """Return the tally by score alone."""
        if self.cluster is None:
            return self
        return sum_equal_rows([self], None, None)

    @property
    def sum_score(self) -> Floats:
        """(rows,) sums of w q."""
        return self.weight * self.anchor + self.offset

    @property
    def sum_score2(self) -> Floats:
        """(rows,) sums of w q^2."""
        return self.weight * self.anchor**2 + 2 * self.anchor * self.offset + self.offset2

    @property
    def sum_score_positive(self) -> Floats:
        """(rows,) sums of w q y."""
        return self.weight_positives * self.anchor + self.offset_positive

    @property
    def score(self) -> Floats:
        """(rows,) mean score."""
        return self.anchor + self.offset / self.weight

    @property
    def total_n(self) -> int:
        """Number of pairs."""
        return int(self.n.sum())

    @property
    def total_positives(self) -> int:
        """Number of positive pairs."""
        return int(self.positives.sum())

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(self.weight.sum())

    @property
    def cluster_names(self) -> NDArray[Any]:
        """The names of the clusters; none without clusters."""
        return np.zeros(0, np.int64) if self.clusters is None else self.clusters

    @property
    def cluster_count(self) -> int:
        """Number of clusters; 0 without clusters."""
        return 0 if self.clusters is None else len(self.clusters)

    @property
    def effective_clusters(self) -> float:
        """Number of clusters of equal weight with the same information (Kish); 0 without clusters."""
        return 0.0 if self.cluster is None else effective_number(np.bincount(self.cluster, self.weight))


APART = ("kind", "cluster", "clusters", "weighted", "view")
COLUMNS = tuple(column.name for column in fields(Tally) if column.name not in APART)  # one number per row
_WEIGHTS = ("weight", "weight_positives", "weight2", "weight2_positives")


def _exact(pairs: Pairs, names: NDArray[Any] | None) -> Tally:
    """One row a distinct score (and cluster)."""
    key = keys_of(pairs.score)
    if pairs.weight is None and pairs.cluster is None:
        packed = key * 2 + pairs.label
        packed.sort()
        key = packed >> 1
        start = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        n = np.diff(np.append(start, len(key)))
        positives = np.add.reduceat(packed & 1, start)
        score = scores_of(key[start])
        zeros = np.zeros(len(start))
        w, wk = n.astype(np.float64), positives.astype(np.float64)
        return Tally("exact", score, score, score, n, positives, w, wk, w, wk, zeros, zeros, zeros)
    distinct, row = np.unique(key, return_inverse=True)
    groups = group_by(row, pairs.cluster)
    score = scores_of(distinct)[groups.first(row)]
    return _summed("exact", pairs, groups, (score, score, score), np.zeros(len(key)), names)


def _by_cluster(pairs: Pairs, names: NDArray[Any] | None) -> Tally:
    """Return a tally with one row per row of the grid and cluster."""
    shared = grid()
    row, offset = rows_of(pairs.score)
    place = np.empty(len(shared.order), np.int64)
    place[shared.order] = np.arange(len(place))
    row = place[row]
    groups = group_by(row, pairs.cluster)
    row = shared.order[groups.first(row)]
    ends = (shared.low[row], shared.high[row], shared.anchor[row])
    return _summed("compressed", pairs, groups, ends, offset, names)


def _summed(
    kind: Kind,
    pairs: Pairs,
    groups: Grouping,
    ends: tuple[Floats, Floats, Floats],
    offset: Floats,
    names: NDArray[Any] | None,
) -> Tally:
    """Sum pairs by group; ``ends`` are low, high and anchor of the groups."""
    label = pairs.label.astype(np.float64)
    n, positives = groups.size, groups.sum(label)
    if pairs.weight is None:
        weight = weight2 = n.astype(np.float64)
        weight_positives = weight2_positives = positives
        first, second = groups.sum(offset), groups.sum(offset**2)
        label *= offset
    else:
        weight, weight2 = groups.sum(pairs.weight), groups.sum(pairs.weight**2)
        weight_positives = groups.sum(pairs.weight * label)
        weight2_positives = groups.sum(pairs.weight**2 * label)
        moment = pairs.weight * offset
        first, second = groups.sum(moment), groups.sum(moment * offset)
        label *= moment
    return Tally(
        kind,
        *ends,
        n,
        positives.astype(np.int64),
        weight,
        weight_positives,
        weight2,
        weight2_positives,
        first,
        second,
        groups.sum(label),
        None if pairs.cluster is None else groups.first(pairs.cluster),
        names,
        pairs.weight is not None,
    )


def sum_equal_rows(parts: Sequence[Tally], cluster: Integers | None, names: NDArray[Any] | None) -> Tally:
    """Put the rows of tallies of one kind in order and add up those of equal scores and cluster."""

    def column(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name) for part in parts])

    code, example = _codes(column("low"), column("high"))
    groups = group_by(code, cluster)
    row = example[groups.first(code)]
    weighted = any(part.weighted for part in parts)
    columns = {name: column(name)[row] for name in ("low", "high", "anchor")}
    columns |= {name: groups.sum(column(name)).astype(np.int64) for name in ("n", "positives")}
    if weighted:
        columns |= {name: groups.sum(column(name)) for name in _WEIGHTS}
    else:
        counts = {name: columns[name].astype(np.float64) for name in ("n", "positives")}
        columns |= {"weight": counts["n"], "weight2": counts["n"]}
        columns |= {"weight_positives": counts["positives"], "weight2_positives": counts["positives"]}
    columns |= {name: groups.sum(column(name)) for name in ("offset", "offset2", "offset_positive")}
    if cluster is not None:
        cluster = groups.first(cluster)
    view = next((part.view for part in parts if part.view is not None), None)
    return Tally(parts[0].kind, **columns, cluster=cluster, clusters=names, weighted=weighted, view=view)


def _codes(low: Floats, high: Floats) -> tuple[Integers, Integers]:
    """Return codes of rows by score, equal for equal scores (mostly adjacent), and one row per code."""
    new = np.ones(len(low), bool)
    new[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    head = np.flatnonzero(new)
    order = np.lexsort((high[head], low[head]))
    low, high = low[head][order], high[head][order]
    other = np.ones(len(head), bool)
    other[1:] = (low[1:] != low[:-1]) | (high[1:] != high[:-1])
    code = np.empty(len(head), np.int64)
    code[order] = np.cumsum(other) - 1
    return np.repeat(code, np.diff(head, append=len(new))), head[order[other]]


def _check_weights(*tallies: Tally) -> None:
    """Raise where weights of one tally are far larger than those of another, as far as their rows tell."""
    if not any(tally.weighted and len(tally) for tally in tallies):
        return
    used = [tally for tally in tallies if len(tally)]
    low = min(float((tally.weight / tally.n).min()) for tally in used)
    high = max(float((tally.weight2 / tally.weight).max()) for tally in used)
    if high > _checks.LARGEST_RATIO * low:
        what, hint = _checks.too_unequal(low, high)
        raise InputError(f"the weights of one tally are {what}", hint, code="weight-value")


def as_tally(source: Pairs | Tally) -> Tally:
    """Return the tally of pairs (or the tally itself)."""
    return source if isinstance(source, Tally) else Tally.from_pairs(source)


@dataclass(frozen=True)
class Cells:
    """Sums of a tally over equal cells of [0, 1]; each array has one entry a cell."""

    weight: Floats
    weight_positives: Floats
    weight2: Floats
    weight2_positives: Floats
    sum_score: Floats
    sum_score2: Floats
    sum_score_positive: Floats


def cell_of_rows(tally: Tally, count: int) -> Integers:
    """Return the cell of each row by its mean score; a score of exactly 1 belongs to the last cell."""
    return np.minimum((tally.score * count).astype(np.int64), count - 1)


def cells_of(tally: Tally, count: int) -> Cells:
    """Add the rows of a tally up by cell."""
    cell = cell_of_rows(tally, count)

    def total(values: Floats) -> Floats:
        return np.bincount(cell, values, minlength=count).astype(np.float64, copy=False)

    return Cells(
        weight=total(tally.weight),
        weight_positives=total(tally.weight_positives),
        weight2=total(tally.weight2),
        weight2_positives=total(tally.weight2_positives),
        sum_score=total(tally.sum_score),
        sum_score2=total(tally.sum_score2),
        sum_score_positive=total(tally.sum_score_positive),
    )


def on_nodes(mass: Floats, moment: Floats) -> Floats:
    """Distribute each cell's mass to its two end points, preserving mass and first moment.

    Parameters
    ----------
    mass, moment
        (..., count) sums of v and of v q over the cell's pairs, for any v.

    Returns
    -------
    ndarray
        (..., count + 1) masses at the nodes j / count.

    Examples
    --------
    >>> on_nodes(np.array([1.0, 2.0]), np.array([0.25, 1.5])).tolist()
    [0.5, 1.5, 1.0]
    """
    count = mass.shape[-1]
    right = moment * count - mass * np.arange(count)
    nodes = np.zeros((*mass.shape[:-1], count + 1))
    nodes[..., :-1] = mass - right
    nodes[..., 1:] += right
    return nodes


def ordered(tally: Tally, keys: NDArray[Any]) -> Tally:
    """Return the tally with clusters in the order of their keys."""
    assert tally.cluster is not None
    assert tally.clusters is not None
    order = np.argsort(keys, kind="stable")
    if (order[1:] > order[:-1]).all():
        return tally
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    cluster = place[tally.cluster]
    new_score = (np.diff(tally.low, prepend=0) > 0) | (np.diff(tally.high, prepend=0) > 0)
    rows = sorted_by(np.cumsum(new_score, dtype=np.int64), cluster)
    columns = {name: getattr(tally, name) for name in COLUMNS}
    moved = {id(column): column[rows] for column in {id(one): one for one in columns.values()}.values()}
    columns = {name: moved[id(column)] for name, column in columns.items()}  # those of two names stay one
    return replace(tally, cluster=cluster[rows], clusters=tally.clusters[order], **columns)
