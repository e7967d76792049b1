"""Pairs that something makes on demand, to be measured: all while they are few, else their tallies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs
from calibrant.metrics.tally import Tally
from calibrant.verbs import sources
from calibrant.verbs.sources import EventSource, Rows, compact


class PairBatch(Protocol):
    """Some of the pairs."""

    @property
    def score(self) -> NDArray[np.float64]:
        """Predicted probabilities."""
        ...

    @property
    def label(self) -> NDArray[np.bool_]:
        """What happened."""
        ...


@runtime_checkable
class PairStream(Protocol):
    """Pairs of one event, with clusters, made when they are asked for.

    The queries of `calibrant.structures.posterior.queries` are such streams.
    """

    @property
    def event(self) -> str:
        """What is asked."""
        ...

    @property
    def threshold(self) -> float | None:
        """Scores below it were left out; None: none were."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[PairBatch]: ...

    def pairs(self) -> Pairs:
        """All at once."""
        ...

    def tally(
        self, *, by_cluster: bool = False, exact: bool | None = None, threads: int | None = None
    ) -> Tally:
        """Their sums by score, or by score and cluster."""
        ...


def stream_source(stream: PairStream, *, exact: bool = False, threads: int | None = None) -> EventSource:
    """Return the pairs of a stream with their clusters, or its tallies where they are many.

    Bins and scores come from all pairs, intervals and tests from those of each cluster. ``exact``: bins are
    made from the scores themselves, however many.
    """
    if len(stream) <= sources.IN_MEMORY:
        pairs, codes = compact(stream.pairs())
        rows = Rows(pairs.outcome, None) if stream.threshold is None else None
        return EventSource(stream.event, pairs, threads, rows=rows, codes=codes)
    clustered = stream.tally(by_cluster=True, exact=False, threads=threads)
    total = stream.tally(exact=False, threads=threads)
    chunks = _Chunks(stream) if exact else None
    return EventSource(stream.event, _without_gaps(clustered), threads, chunks, total=total)


def _without_gaps(tally: Tally) -> Tally:
    """Leave out clusters that have no pairs: they are no units of what is measured."""
    assert tally.cluster is not None
    assert tally.clusters is not None
    used, cluster = np.unique(tally.cluster, return_inverse=True)
    return replace(tally, cluster=cluster, clusters=tally.clusters[used])


@dataclass(frozen=True)
class _Chunks:
    """Asks a stream again for its scores and labels."""

    stream: PairStream

    def __call__(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        for batch in self.stream:
            yield batch.score, batch.label
