"""Comparison of two countries, on shared and separate documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats
from calibrant.estimation.counts import compare_counts, joint_probabilities
from calibrant.estimation.results import Exceedance
from calibrant.estimation.total import RefittedRecalibrator
from calibrant.events.files.store import Counts
from calibrant.events.verbs.tables import Calendar
from calibrant.records import Record, name, number, part

Rows = NDArray[np.int64]

LEVEL = 0.95  # coverage of all intervals


class PeriodComparison(Record, frozen=True, kw_only=True):
    """Comparison of two countries in one period."""

    period: Annotated[str, name("Period", "Name of the period.")]
    first_best: Annotated[
        int,
        number(
            "1-best of the first",
            "Documents that count for the first country in the 1-best structure.",
            group="1-best",
            headline=True,
        ),
    ]
    second_best: Annotated[
        int,
        number(
            "1-best of the second",
            "Documents that count for the second country in the 1-best structure.",
            group="1-best",
            headline=True,
        ),
    ]
    counts: Annotated[
        Exceedance,
        part("Counts", "Comparison of the two counts, from joint samples of both countries."),
    ]


@dataclass(frozen=True)
class Joint:
    """Documents that may count for at least one of two countries.

    Attributes
    ----------
    counts
        Counts of the store.
    names
        Codes of the two countries.
    rows
        Rows of ``counts`` for each of the two.
    documents
        (D,) indices of the documents in ``counts.names``.
    only_first, only_second
        (D,) probabilities that a document counts for one country and not for the other: proportions of
        samples, or recalibrated.
    """

    counts: Counts
    names: tuple[str, str]
    rows: tuple[Rows, Rows]
    documents: Rows
    only_first: NDArray[np.float64]
    only_second: NDArray[np.float64]

    @classmethod
    def of(cls, counts: Counts, recalibrator: RefittedRecalibrator | None, first: str, second: str) -> Joint:
        """Return the documents of two countries in counts, recalibrated if there is a recalibrator."""
        rows = counts.rows_of(first), counts.rows_of(second)
        documents = np.union1d(*(counts.document[own] for own in rows))
        bits = [np.zeros((counts.sample_count, len(documents)), np.bool_) for _ in rows]
        for own, matrix in zip(rows, bits, strict=True):
            matrix[:, np.searchsorted(documents, counts.document[own])] = counts.bits(own)
        both, only_first, only_second, _ = joint_probabilities(*bits)
        if recalibrator is not None:
            both, only_first, only_second = _recalibrated(recalibrator, both, only_first, only_second)
        return cls(counts, (first, second), rows, documents, only_first, only_second)

    @property
    def both(self) -> int:
        """Return the number of documents that may count for both countries."""
        return len(self.rows[0]) + len(self.rows[1]) - len(self.documents)

    @cached_property
    def together(self) -> PeriodComparison:
        """Return the comparison over all periods."""
        best = [int(self.counts.best[rows].sum()) for rows in self.rows]
        return PeriodComparison(
            period="all periods",
            first_best=best[0],
            second_best=best[1],
            counts=self._compared(slice(None)),
        )

    def periods(self, calendar: Calendar) -> tuple[PeriodComparison, ...]:
        """Return the comparison of each period in which a document may count for one of the two."""
        names = calendar.periods
        best = [
            np.bincount(calendar.place[rows], self.counts.best[rows], len(names)).astype(int)
            for rows in self.rows
        ]
        place = np.zeros(len(self.counts.names), np.int64)
        place[self.counts.document] = calendar.place
        place = place[self.documents]  # sorted, since documents are sorted by day
        starts = np.searchsorted(place, np.arange(len(names) + 1))
        return tuple(
            PeriodComparison(
                period=names[at],
                first_best=int(best[0][at]),
                second_best=int(best[1][at]),
                counts=self._compared(slice(int(starts[at]), int(starts[at + 1]))),
            )
            for at in np.unique(place)
        )

    def _compared(self, part: slice) -> Exceedance:
        return compare_counts(self.only_first[part], self.only_second[part], names=self.names, level=LEVEL)


def _recalibrated(
    recalibrator: RefittedRecalibrator, both: Floats, only_first: Floats, only_second: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return joint probabilities whose sums are the recalibrated ones of each country, as in the charts."""
    sums = both + only_first, both + only_second
    changed = [np.where(total > 0, recalibrator.probabilities(total), 0.0) for total in sums]
    ratios = [
        np.divide(new, old, out=np.zeros(len(old)), where=old > 0)
        for new, old in zip(changed, sums, strict=True)
    ]
    both = both * np.minimum(*ratios)  # the smaller change keeps the differences at 0 or more
    return both, changed[0] - both, changed[1] - both
