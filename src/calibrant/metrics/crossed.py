"""Pairs in two kinds of clusters that are crossed, such as items and annotators, and their two-way sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Integers, Pairs, clusters_of, pairs
from calibrant.exceptions import InputError


@dataclass(frozen=True)
class CrossedPairs(Pairs):
    """Pairs that depend on each other if they share a cluster of the first kind, of the second, or both.

    A function that knows one kind takes these pairs as pairs in clusters of the first.

    Attributes
    ----------
    second
        (n,) int64 codes 0..second_count - 1 of the clusters of the second kind.
    second_count
        Number of clusters of the second kind.
    """

    second: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    second_count: int = 0

    def part(self, piece: slice | Integers) -> CrossedPairs:
        """Return some of the pairs, with the same cluster codes."""
        return _with_second(super().part(piece), self.second[piece], self.second_count)


def _with_second(source: Pairs, second: Integers, count: int) -> CrossedPairs:
    own = source.score, source.outcome, source.weight
    return CrossedPairs(*own, source.cluster, source.cluster_count, second, count)


def crossed(source: Pairs, second: NDArray[Any]) -> CrossedPairs:
    """Return pairs with clusters of a second kind, given by (n,) codes or names."""
    code, count = clusters_of(second, "the first clusters", len(source))
    assert code is not None
    return _with_second(source, code, count)


def by_both(source: CrossedPairs) -> tuple[Pairs, Pairs, Pairs]:
    """Return the pairs by first cluster, by second, and by what is in the same cluster of both kinds.

    Sums over pairs of dependent pairs add up as S_first + S_second - S_both.

    Examples
    --------
    >>> one = pairs([0, 1, 1], [0.1, 0.5, 0.9], clusters=["a", "a", "b"])
    >>> [part.cluster.tolist() for part in by_both(crossed(one, np.array([1, 2, 1])))]
    [[0, 0, 1], [0, 1, 0], [0, 1, 2]]
    """
    assert source.cluster is not None
    joint, both = np.unique(source.cluster * source.second_count + source.second, return_inverse=True)
    own = source.score, source.outcome, source.weight
    return (
        Pairs(*own, source.cluster, source.cluster_count),
        Pairs(*own, source.second, source.second_count),
        Pairs(*own, both, len(joint)),
    )


def two_way(variances: Sequence[float]) -> float:
    """Return a variance from those by first cluster, by second and by both (Cameron, Gelbach & Miller 2011).

    It is at least the larger of the first two, since the sum can fall below them, and even below 0. A single
    variance stays as it is.

    Examples
    --------
    >>> two_way([4.0, 3.0, 1.0]), two_way([4.0, 1.0, 3.0]), two_way([4.0])
    (6.0, 4.0, 4.0)
    """
    if len(variances) == 1:
        return variances[0]
    first, second, both = variances
    return max(first + second - both, first, second)


def two_columns(clusters: Any) -> tuple[Any, Any] | None:
    """Return both kinds of clusters: of an array or frame with two columns, or of a pair of arrays.

    Raises
    ------
    InputError
        If there are more than two columns.

    Examples
    --------
    >>> [column.tolist() for column in two_columns(np.array([["a", 1], ["b", 2]], object))]
    [['a', 'b'], [1, 2]]
    >>> two_columns((["a", "b"], [1, 2])), two_columns(["a", "b"])
    ((['a', 'b'], [1, 2]), None)
    """
    if isinstance(clusters, (tuple, list)):
        inner = [
            not isinstance(column, (str, bytes)) and hasattr(column, "__len__") for column in clusters[:3]
        ]
        if len(inner) == 2 and all(inner):
            return clusters[0], clusters[1]
        clusters = np.asarray(clusters, object) if inner and all(inner) else None
    shape: tuple[int, ...] = getattr(clusters, "shape", ())
    if len(shape) != 2 or shape[1] == 1:
        return None
    if shape[1] != 2:
        hint = "pass one kind of clusters, or two that are crossed"
        raise InputError(f"clusters has {shape[1]} columns", hint, code="shape")
    if hasattr(clusters, "columns"):
        first, second = clusters.columns
        return clusters[first], clusters[second]
    return clusters[:, 0], clusters[:, 1]


def clustered_pairs(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None, clusters: Any = None
) -> Pairs:
    """Check labels and scores, weights, and clusters of one kind or of two.

    Examples
    --------
    >>> both = np.array([["a", "ann"], ["a", "bob"], ["b", "ann"]])
    >>> clustered_pairs([0, 1, 1], [0.1, 0.5, 0.9], clusters=both).second_count
    2
    """
    columns = two_columns(clusters)
    if columns is None:
        return pairs(y_true, y_prob, sample_weight=sample_weight, clusters=clusters)
    first, second = (
        pairs(y_true, y_prob, sample_weight=sample_weight, clusters=column) for column in columns
    )
    assert second.cluster is not None
    return crossed(first, second.cluster)
