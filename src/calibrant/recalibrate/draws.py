"""An order of rows or clusters by their content, so that random draws do not depend on the order of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers

_ODD = np.uint64(0x9E3779B97F4A7C15)
_ROUNDS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))  # of splitmix64


def content_order(
    scores: Sequence[NDArray[Any]], rest: Sequence[NDArray[Any]], unit: Integers | None, count: int
) -> Integers:
    """Return the ``count`` units in an order by their scores; equal ones by the rest, such as labels.

    Labels matter only where scores are equal, so that a draw from this order is independent of them
    elsewhere. Units have sums of hashes of their rows: unlike those of floats, they have no rounding error.

    Parameters
    ----------
    scores, rest
        Columns of numbers (n,).
    unit
        (n,) codes of units; None: each row is one.

    Examples
    --------
    >>> scores, unit = np.array([0.2, 0.7, 0.4, 0.9]), np.array([0, 1, 0, 2])
    >>> first = content_order([scores], [], unit, 3)
    >>> again = content_order([scores[::-1]], [], 2 - unit[::-1], 3)
    >>> (2 - again).tolist() == first.tolist()
    True
    """
    of_scores = _hashed(np.zeros(len(scores[0]), np.uint64), scores)
    keys = _hashed(of_scores, rest), of_scores
    return np.lexsort(keys if unit is None else [_summed(key, unit, count) for key in keys])


def dealt(order: Integers, folds: int, rng: np.random.Generator) -> Integers:
    """Return a random fold of each unit, in almost equal numbers, drawn in the given order of units."""
    fold = np.empty(len(order), np.int64)
    fold[order] = rng.permutation(len(order)) % folds
    return fold


def _hashed(key: NDArray[np.uint64], columns: Sequence[NDArray[Any]]) -> NDArray[np.uint64]:
    for column in columns:
        key = (key ^ (column.astype(np.float64) + 0.0).view(np.uint64)) + _ODD  # 0.0: zeros without a sign
        for shift, factor in _ROUNDS:
            key = (key ^ (key >> np.uint64(shift))) * np.uint64(factor)
        key ^= key >> np.uint64(31)
    return key


def _summed(key: NDArray[np.uint64], unit: Integers, count: int) -> NDArray[np.uint64]:
    """Return the sum of the keys of each unit, modulo 2^64."""
    total = np.zeros(count, np.uint64)
    np.add.at(total, unit, key)
    return total
