"""Two models on the same items: pairing their rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs
from calibrant._rng import Seed
from calibrant.exceptions import InputError
from calibrant.measure.compare import error_difference
from calibrant.results.intervals import ErrorDifference
from calibrant.workflow._sources import EventSource, Rows


def difference_of(
    one: EventSource, other: EventSource, *, level: float, seed: Seed
) -> ErrorDifference | None:
    """Compare two models' errors for one event; None where their rows are not of the same items.

    Raises
    ------
    InputError
        If the tables disagree about the gold label of an item.
    """
    both = paired(one, other)
    if both is None:
        return None
    first, second = both
    return error_difference(first, _clustered_as(first, second), level=level, seed=seed)


def paired(one: EventSource, other: EventSource) -> tuple[Pairs, Pairs] | None:
    """Put the pairs of two models in the same order: by item where both name items, else as they stand.

    Returns None for tallies, and where items differ: their names, or (without names) their number or gold
    labels.
    """
    if one.rows is None or other.rows is None:
        return None
    if not isinstance(one.source, Pairs) or not isinstance(other.source, Pairs):
        return None
    if len(one.source) != len(other.source):
        return None
    if one.rows.item is None or other.rows.item is None:
        same = bool(np.array_equal(one.rows.truth, other.rows.truth))
        return (one.source, other.source) if same else None
    order = _orders(one.rows.item, other.rows.item)
    if order is None:
        return None
    _check_truth(one.rows, other.rows, order, one.event)
    return _taken(one.source, order[0]), _taken(other.source, order[1])


def _orders(
    first: NDArray[np.generic], second: NDArray[np.generic]
) -> tuple[NDArray[np.int64], NDArray[np.int64]] | None:
    """Orders that bring both lists of items in line; None where they hold different items."""
    if first.dtype.kind != second.dtype.kind and "U" in (first.dtype.kind, second.dtype.kind):
        first, second = first.astype(str), second.astype(str)
    if np.array_equal(first, second):
        same = np.arange(len(first))
        return same, same
    one, other = np.argsort(first, kind="stable"), np.argsort(second, kind="stable")
    return (one, other) if np.array_equal(first[one], second[other]) else None


def _check_truth(
    one: Rows, other: Rows, order: tuple[NDArray[np.int64], NDArray[np.int64]], event: str
) -> None:
    assert one.item is not None
    differ = np.flatnonzero(one.truth[order[0]] != other.truth[order[1]])
    if len(differ):
        place = int(order[0][differ[0]])
        item = one.item[place].item()
        message = f"the tables disagree about the label of item {item!r} ({len(differ)} such; event {event})"
        raise InputError(message, "compare predictions of the same gold labels", code="label-value")


def _clustered_as(first: Pairs, second: Pairs) -> Pairs:
    """Number the second model's clusters as the first's, where they are the same sets of rows."""
    if first.cluster is None or second.cluster is None:
        return second
    both = np.unique(first.cluster * second.cluster_count + second.cluster)
    if not len(both) == first.cluster_count == second.cluster_count:
        return second
    return replace(second, cluster=first.cluster)


def _taken(pairs: Pairs, order: NDArray[np.int64]) -> Pairs:
    return Pairs(
        pairs.score[order],
        pairs.outcome[order],
        None if pairs.weight is None else pairs.weight[order],
        None if pairs.cluster is None else pairs.cluster[order],
        pairs.cluster_count,
    )
