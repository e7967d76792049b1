"""Two countries in the documents that they share, and in those that they do not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant.io.store import Counts
from calibrant.propagate.counts import compare_counts, joint_probabilities
from calibrant.results._base import Result
from calibrant.results.propagation import Exceedance
from calibrant.workflow.event_tables import Calendar

Rows = NDArray[np.int64]

LEVEL = 0.95  # of all intervals


@dataclass(frozen=True)
class PeriodComparison(Result):
    """Two countries in one period.

    Attributes
    ----------
    period
        Its name.
    first_best, second_best
        Documents that count in the 1-best structure.
    counts
        How probable it is that the first has more documents than the second, from samples that documents
        share.
    """

    period: str
    first_best: int
    second_best: int
    counts: Exceedance


@dataclass(frozen=True)
class Joint:
    """Two countries in the documents that may count for one of them.

    Attributes
    ----------
    counts
        Of the store.
    names
        Codes of the two.
    rows
        Of ``counts``, for each of the two.
    documents
        (D,) places of the documents in ``counts.names``.
    only_first, only_second
        (D,) shares of the samples in which a document counts for one and not for the other.
    """

    counts: Counts
    names: tuple[str, str]
    rows: tuple[Rows, Rows]
    documents: Rows
    only_first: NDArray[np.float64]
    only_second: NDArray[np.float64]

    @classmethod
    def of(cls, counts: Counts, first: str, second: str) -> Joint:
        """Of two countries of a store."""
        rows = counts.rows_of(first), counts.rows_of(second)
        documents = np.union1d(*(counts.document[each] for each in rows))
        bits = [np.zeros((counts.sample_count, len(documents)), np.bool_) for _ in rows]
        for each, found in zip(rows, bits, strict=True):
            found[:, np.searchsorted(documents, counts.document[each])] = counts.bits(each)
        _, only_first, only_second, _ = joint_probabilities(*bits)
        return cls(counts, (first, second), rows, documents, only_first, only_second)

    @property
    def both(self) -> int:
        """Documents that may count for both."""
        return len(self.rows[0]) + len(self.rows[1]) - len(self.documents)

    @cached_property
    def together(self) -> PeriodComparison:
        """All periods as one."""
        best = [int(self.counts.best[rows].sum()) for rows in self.rows]
        return PeriodComparison("all periods", best[0], best[1], self._compared(slice(None)))

    def periods(self, calendar: Calendar) -> tuple[PeriodComparison, ...]:
        """Periods in which a document may count for one of the two."""
        names = calendar.periods
        best = [
            np.bincount(calendar.place[rows], self.counts.best[rows], len(names)).astype(int)
            for rows in self.rows
        ]
        place = np.zeros(len(self.counts.names), np.int64)
        place[self.counts.document] = calendar.place
        place = place[self.documents]  # in order: documents are sorted by day
        starts = np.searchsorted(place, np.arange(len(names) + 1))
        return tuple(
            PeriodComparison(
                names[number],
                int(best[0][number]),
                int(best[1][number]),
                self._compared(slice(int(starts[number]), int(starts[number + 1]))),
            )
            for number in np.unique(place)
        )

    def _compared(self, part: slice) -> Exceedance:
        return compare_counts(self.only_first[part], self.only_second[part], names=self.names, level=LEVEL)
