"""Items grouped by one or two codes, and sums by group: tallies and estimates by cluster are made of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant._kernels import selection as kernels
from calibrant._kernels.tally import sum_runs

_WHOLE = np.empty(0)


@dataclass(frozen=True)
class Grouping:
    """Groups of items with equal codes, in order of their codes.

    Attributes
    ----------
    items
        Items in order of their group; within a group as they came.
    start
        (groups,) where in ``items`` each group begins.
    """

    items: NDArray[Any]
    start: Integers

    def __len__(self) -> int:
        return len(self.start)

    @property
    def size(self) -> Integers:
        """(groups,) numbers of items."""
        return np.diff(self.start, append=len(self.items))

    def first(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return (groups,) values of each group's first item."""
        firsts: NDArray[Any] = values[self.items[self.start]]
        return firsts

    def sum(self, values: NDArray[Any]) -> Floats:
        """Return (groups,) sums of a value of every item, with compensation of rounding errors."""
        sums: Floats = np.empty(len(self))
        column = np.ascontiguousarray(values, np.float64)
        sum_runs(column[np.newaxis], self.start, self.items, _WHOLE, sums[np.newaxis])
        return sums


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Return quotients, 0 where the denominator is not positive.

    Examples
    --------
    >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    return np.divide(top, bottom, out=np.zeros(bottom.shape), where=bottom > 0)


def sorted_by(*codes: Integers) -> NDArray[Any]:
    """Sort items by their first code, then by the next, then by position; codes count from 0.

    Examples
    --------
    >>> sorted_by(np.array([1, 0, 1, 0])).tolist()
    [1, 3, 0, 2]
    """
    count = len(codes[0])
    kind = np.int32 if count <= np.iinfo(np.int32).max else np.int64
    items = np.empty(0, kind)
    for code in reversed(codes):
        in_order = np.empty(count, kind)
        kernels.counting_sort(code, items, in_order)
        items = in_order
    return items


def group_by(code: Integers, within: Integers | None = None) -> Grouping:
    """Group items by their code and, if given, by a second one within it.

    Examples
    --------
    >>> groups = group_by(np.array([1, 0, 1, 0]), np.array([0, 2, 0, 1]))
    >>> groups.items.tolist(), groups.sum(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    ([3, 1, 0, 2], [4.0, 2.0, 4.0])
    """
    items = sorted_by(code) if within is None else sorted_by(code, within)
    start = np.empty(len(items), np.int64)
    groups = kernels.group_starts(code, code if within is None else within, items, start)
    return Grouping(items, start[:groups].copy())
