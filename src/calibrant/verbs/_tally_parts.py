"""Tallies of parts of a stream of pairs, merged as they come."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs
from calibrant.metrics.tally import Tally

Integers = NDArray[np.int64]

TALLIED_AT_ONCE = 1 << 21


def compact(pairs: Pairs, order: Integers | None = None) -> tuple[Pairs, Integers | None]:
    """Number the clusters that occur from 0, without gaps; also return their numbers before.

    ``order`` holds all numbers in the order to give them; as they stand if None.
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
    return Pairs(pairs.score, pairs.outcome, pairs.weight, place[pairs.cluster], len(codes)), codes


class TallyParts:
    """Tallies of parts of a stream, merged two and two: each row is merged log(parts) times at most."""

    def __init__(self, pool: ThreadPoolExecutor) -> None:
        self._pool = pool
        self._waiting: list[Pairs] = []
        self._length = 0
        self._running: Future[None] | None = None
        self._merged: list[tuple[int, Tally]] = []

    def add(self, pairs: Pairs) -> None:
        """Add pairs; their clusters are numbered alike in all parts."""
        if len(pairs):
            self._waiting.append(pairs)
            self._length += len(pairs)
        if self._length >= TALLIED_AT_ONCE:
            self._flush()

    def tally(self) -> Tally | None:
        """Return the tally of all pairs, its clusters named by their numbers; None without pairs."""
        self._flush()
        self._finish()
        whole: Tally | None = None
        for _, part in reversed(self._merged):
            whole = part if whole is None else whole.merge(part)
        return whole

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
        new = (0, tally_of_pairs(_concatenated(waiting), threads=1))
        while self._merged and self._merged[-1][0] == new[0]:
            new = (new[0] + 1, self._merged.pop()[1].merge(new[1]))
        self._merged.append(new)


def _concatenated(parts: Sequence[Pairs]) -> Pairs:
    def join(arrays: list[NDArray[Any] | None]) -> NDArray[Any] | None:
        present = [array for array in arrays if array is not None]
        return np.concatenate(present) if present else None

    return Pairs(
        np.concatenate([part.score for part in parts]),
        np.concatenate([part.outcome for part in parts]),
        join([part.weight for part in parts]),
        join([part.cluster for part in parts]),
        max(part.cluster_count for part in parts),
    )


def tally_of_pairs(pairs: Pairs, *, exact: bool = False, threads: int | None = None) -> Tally:
    """Tally pairs; clusters are named by their codes."""
    alone, codes = compact(pairs)
    return Tally.from_pairs(alone, exact=exact, threads=threads, names=codes)
