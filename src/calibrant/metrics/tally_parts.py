"""Tallies of the parts of a stream of pairs, with clusters by their codes, and their merger."""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from calibrant._checks import Integers, Pairs
from calibrant.metrics.tally import LARGEST_EXACT, Tally

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

TALLIED_AT_ONCE = 1 << 21  # largest number of pairs of all views that are tallied at the same time
LEAST_AT_ONCE = 1 << 14  # smallest number for one view
FEW_BESIDE = 16


def compact(pairs: Pairs, order: Integers | None = None) -> tuple[Pairs, Integers | None]:
    """Return codes of the clusters that occur, from 0 without gaps, and their original codes.

    ``order`` contains all codes in the new order; None keeps their order.
    """
    if pairs.cluster is None:
        return pairs, None
    used = np.zeros(pairs.cluster_count, bool)
    used[pairs.cluster] = True
    codes = np.flatnonzero(used) if order is None else order[used[order]]
    if order is None and len(codes) == pairs.cluster_count:
        return pairs, codes
    place = np.zeros(pairs.cluster_count, np.int64)
    place[codes] = np.arange(len(codes))
    return replace(pairs, cluster=place[pairs.cluster], cluster_count=len(codes)), codes


class TallyParts:
    """Tallies of parts of a stream, merged in pairs, so that each row is merged at most log(parts) times.

    ``beside``: number of streams that are tallied at the same time, such as hundreds of classes. If there are
    many, fewer pairs of each are kept, and their tallies are merged immediately.
    """

    def __init__(self, pool: ThreadPoolExecutor, beside: Sized = ()) -> None:
        self._pool = pool
        self._beside = beside
        self._waiting: list[Pairs] = []
        self._length = 0
        self._running: Future[None] | None = None
        self._merged: list[tuple[int, Tally]] = []

    def add(self, pairs: Pairs) -> None:
        """Add pairs, whose clusters have the same codes in all parts."""
        if len(pairs):
            self._waiting.append(pairs)
            self._length += len(pairs)
        most = TALLIED_AT_ONCE // max(1, len(self._beside))
        if pairs.cluster is not None:
            most *= 4  # a pair takes less memory than the row of a tally that it may become
        if self._length >= max(most, min(LEAST_AT_ONCE, TALLIED_AT_ONCE)):
            self._flush()

    def tally(self, *, exact: bool = False) -> Tally | None:
        """Return the tally of all pairs, with codes as names of clusters; None without pairs.

        With ``exact``, at most 2^20 pairs get one row per distinct score.
        """
        if exact and 0 < self._length <= LARGEST_EXACT and self._running is None and not self._merged:
            return tally_of_pairs(Pairs.joined(self._waiting), exact=True)
        self._flush()
        self._finish()
        parts = [part for _, part in reversed(self._merged)]
        return reduce(Tally.merge, parts) if parts else None

    def _flush(self) -> None:
        if self._waiting:
            self._finish()
            waiting, self._waiting, self._length = self._waiting, [], 0
            self._running = self._pool.submit(self._merge, waiting)

    def _finish(self) -> None:
        if self._running is not None:
            self._running.result()
            self._running = None

    def _merge(self, waiting: list[Pairs]) -> None:
        new = tally_of_pairs(Pairs.joined(waiting), threads=1)
        merge_part(self._merged, new, at_once=len(self._beside) > FEW_BESIDE)


def merge_part(merged: list[tuple[int, Tally]], new: Tally, *, at_once: bool = False) -> None:
    """Add a part, merged with neighbors of equal size as in a tree, or with all of them at once."""
    depth = 0
    while merged and (at_once or merged[-1][0] == depth):
        depth, new = depth + 1, merged.pop()[1].merge(new)
    merged.append((depth, new))


def tally_of_pairs(pairs: Pairs, *, exact: bool = False, threads: int | None = None) -> Tally:
    """Return the tally of pairs, with codes as names of clusters."""
    alone, codes = compact(pairs)
    return Tally.from_pairs(alone, exact=exact, threads=threads, names=codes)
