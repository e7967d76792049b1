"""From a query to what is measured: its pairs while they are few, else its tallies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics.tally import Tally
from calibrant.posterior.queries import Query
from calibrant.verbs import _sources
from calibrant.verbs._sources import EventSource, Rows, compact


def query_source(query: Query, *, exact: bool = False, threads: int | None = None) -> EventSource:
    """Return the pairs of a query with their clusters, or its tallies where they are many.

    Bins and scores come from all pairs, intervals and tests from those of each cluster. ``exact``: bins are
    made from the scores themselves, however many.
    """
    if len(query) <= _sources.IN_MEMORY:
        pairs, codes = compact(query.pairs())
        rows = Rows(pairs.outcome, None) if query.threshold is None else None
        return EventSource(query.event, pairs, threads, rows=rows, codes=codes)
    clustered = query.tally(by_cluster=True, exact=False, threads=threads)
    total = query.tally(exact=False, threads=threads)
    chunks = _Chunks(query) if exact else None
    return EventSource(query.event, _without_gaps(clustered), threads, chunks, total=total)


def _without_gaps(tally: Tally) -> Tally:
    """Leave out clusters that have no pairs: they are no units of what is measured."""
    assert tally.cluster is not None
    assert tally.clusters is not None
    used, cluster = np.unique(tally.cluster, return_inverse=True)
    return replace(tally, cluster=cluster, clusters=tally.clusters[used])


@dataclass(frozen=True)
class _Chunks:
    """Asks a query again for its scores and labels."""

    query: Query

    def __call__(self) -> Iterator[tuple[NDArray[np.float64], NDArray[np.bool_]]]:
        for batch in self.query:
            yield batch.score, batch.label
