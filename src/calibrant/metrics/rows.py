"""Pairs as rows of sums by score and cluster, for what takes a tally by cluster.

Where clusters have few pairs, hardly two pairs of a cluster have the same score: a tally by cluster then has
as many rows as there are pairs, and making it takes longer than anything that is computed from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, Pairs
from calibrant._kernels.clusters import write_cells
from calibrant.metrics.grouping import sorted_by
from calibrant.metrics.tails import effective_number
from calibrant.metrics.tally import Tally, as_tally


@dataclass(frozen=True)
class PairRows:
    """Pairs with the sums of a tally that has one row per pair; see `Tally`. Rows are in order of clusters.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> rows = PairRows.of(pairs([0, 1, 1], [0.25, 0.5, 1.0], clusters=["a", "b", "a"]))
    >>> rows.cluster.tolist(), rows.sum_score2.tolist(), rows.weight_positives.tolist(), rows.total_weight
    ([0, 0, 1], [0.0625, 1.0, 0.25], [0.0, 1.0, 1.0], 3.0)
    """

    pairs: Pairs

    @classmethod
    def of(cls, pairs: Pairs) -> PairRows:
        """Return the rows of pairs with clusters."""
        assert pairs.cluster is not None
        in_order = bool((pairs.cluster[1:] >= pairs.cluster[:-1]).all())
        return cls(pairs if in_order else pairs.part(sorted_by(pairs.cluster)))

    @cached_property
    def score(self) -> Floats:
        """(n,) scores."""
        return self.pairs.score.astype(np.float64, copy=False)

    @property
    def n(self) -> Integers:
        """(n,) ones."""
        return np.broadcast_to(np.int64(1), len(self.pairs))

    @property
    def positives(self) -> Floats:
        """(n,) labels as numbers."""
        return self.pairs.label.astype(np.float64)

    @property
    def weight(self) -> Floats:
        """(n,) weights."""
        return np.ones(len(self.pairs)) if self.pairs.weight is None else self.pairs.weight

    @property
    def weight_positives(self) -> Floats:
        """(n,) weights of the positive pairs, 0 for the others."""
        return self._weighted(self.positives)

    @property
    def weight2(self) -> Floats:
        """(n,) squared weights."""
        return self._weighted(self.weight)

    @property
    def weight2_positives(self) -> Floats:
        """(n,) squared weights of the positive pairs, 0 for the others."""
        return self._weighted(self.weight_positives)

    @property
    def sum_score(self) -> Floats:
        """(n,) products w q."""
        return self._weighted(self.score)

    @property
    def sum_score2(self) -> Floats:
        """(n,) products w q^2."""
        return self.sum_score * self.score

    @property
    def cluster(self) -> Integers:
        """(n,) codes of the clusters, ascending."""
        assert self.pairs.cluster is not None
        return self.pairs.cluster

    @property
    def cluster_count(self) -> int:
        """Number of clusters."""
        return self.pairs.cluster_count

    @property
    def total_n(self) -> int:
        """Number of pairs."""
        return len(self.pairs)

    @property
    def total_positives(self) -> int:
        """Number of positive pairs."""
        return int(np.count_nonzero(self.pairs.outcome))

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return float(len(self.pairs) if self.pairs.weight is None else self.pairs.weight.sum())

    @property
    def weighted(self) -> bool:
        """True if the pairs have weights."""
        return self.pairs.weight is not None

    @cached_property
    def effective_clusters(self) -> float:
        """Number of clusters of equal weight with the same information (Kish)."""
        return effective_number(np.bincount(self.cluster, self.weight))

    def _weighted(self, values: Floats) -> Floats:
        return values if self.pairs.weight is None else values * self.pairs.weight


def rows_of(source: Pairs | PairRows | Tally) -> PairRows | Tally:
    """Return a tally of pairs, or the pairs themselves as rows if they have clusters.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> len(rows_of(pairs([0, 1, 1], [0.2, 0.2, 0.5])).weight)
    2
    >>> len(rows_of(pairs([0, 1, 1], [0.2, 0.2, 0.5], clusters=["a", "a", "b"])).weight)
    3
    """
    if isinstance(source, Pairs) and source.cluster is not None:
        return PairRows.of(source)
    return source if isinstance(source, PairRows) else as_tally(source)


class ClusterCells(NamedTuple):
    """Sums over the rows of a cluster in one place (bin or cell); cluster c's begin at ``start[c]``."""

    start: Integers
    place: NDArray[np.int32]
    value: Floats
    weight: Floats

    @property
    def cluster(self) -> Integers:
        """The cluster of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


def in_order_of_clusters(rows: PairRows | Tally, *values: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return where each cluster's rows begin (and where the last ends), and values of rows in that order.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> rows = rows_of(pairs([0, 1, 1], [0.2, 0.2, 0.5], clusters=["a", "b", "b"]))
    >>> [values.tolist() for values in in_order_of_clusters(rows, rows.score)]
    [[0, 1, 3], [0.2, 0.2, 0.5]]
    """
    assert rows.cluster is not None
    start = np.append(0, np.cumsum(np.bincount(rows.cluster, minlength=rows.cluster_count)))
    if isinstance(rows, Tally):
        order = sorted_by(rows.cluster)
        values = tuple(column[order] for column in values)
    return start, *values


def cells_by_cluster(
    rows: PairRows | Tally, place: NDArray[np.int32], places: int, value: Floats
) -> ClusterCells:
    """Sum a value of every row, and the weights, by cluster and place.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> rows = rows_of(pairs([0, 1, 1], [0.2, 0.2, 0.5], clusters=["a", "b", "b"]))
    >>> cells = cells_by_cluster(rows, np.array([0, 0, 1], np.int32), 2, rows.score)
    >>> cells.cluster.tolist(), cells.place.tolist(), cells.value.tolist()
    ([0, 1, 1], [0, 0, 1], [0.2, 0.2, 0.5])
    """
    start, place, value, weight = in_order_of_clusters(rows, place, value, rows.weight)
    count = len(value)
    cells = ClusterCells(
        np.empty(len(start), np.int64), np.empty(count, np.int32), np.empty(count), np.empty(count)
    )
    used = write_cells(start, place, value, weight, np.arange(places, dtype=np.int32), *cells)
    return ClusterCells(cells.start, cells.place[:used], cells.value[:used], cells.weight[:used])
