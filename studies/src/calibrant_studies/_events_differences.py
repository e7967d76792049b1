"""The events study's differences: two periods or two countries, by the 1-best line and by intervals.

A difference is *shown* if the 1-best counts differ, and *real under the model* if the central 95 % interval
of the difference of the two counts excludes 0. Two periods have no document in common; two countries of
one period may, and are compared document by document through the samples that they share.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from calibrant.estimation.counts import compare_counts, joint_probabilities
from calibrant.estimation.results import Exceedance
from calibrant_studies._base import Row
from calibrant_studies._counts_checks import interval_of_share
from calibrant_studies._events_numbers import ENOUGH, LEVEL, Counted
from calibrant_studies.arrays import Floats

KINDS = ("two periods", "two countries")
SHOWN = 4  # cases per corpus and kind in each table
SOME = 1.0  # smallest mean of the smaller side


@dataclass(frozen=True)
class Side:
    """One of two counts: a country in a period, and the rows of the store behind it."""

    country: str
    period: str
    rows: NDArray[np.int64]
    mean: float
    best: int

    @property
    def name(self) -> str:
        return f"{self.country} {self.period}"


@dataclass(frozen=True)
class Difference:
    """Two counts compared.

    Attributes
    ----------
    kind
        ``two periods`` or ``two countries``.
    first, second
        The one with the higher 1-best count, and the other.
    compared
        Under the model.
    """

    kind: str
    first: Side
    second: Side
    compared: Exceedance

    @property
    def shown(self) -> int:
        """Difference of the 1-best counts."""
        return self.first.best - self.second.best

    @property
    def is_real(self) -> bool:
        """True if the interval of the difference excludes 0 in the direction of the 1-best counts."""
        return (self.compared.difference.low or 0.0) > 0


def differences(counted: Counted) -> list[Difference]:
    """All pairs with means of at least 5 and at least 1 whose 1-best counts differ."""
    sides = _sides(counted)
    pairs = [(KINDS[0], one, other) for row in sides for one, other in pairwise(row)]
    pairs += [
        (KINDS[1], one, other)
        for column in zip(*sides, strict=True)
        for one, other in combinations(column, 2)
    ]
    found = []
    for kind, one, other in pairs:
        low, high = sorted((one.mean, other.mean))
        if low >= SOME and high >= ENOUGH and one.best != other.best:
            first, second = (one, other) if one.best > other.best else (other, one)
            found.append(Difference(kind, first, second, _compared(counted, first, second)))
    return found


def _sides(counted: Counted) -> list[list[Side]]:
    """Return one row per country and one column per period with documents."""
    calendar = counted.calendar
    counts = calendar.counts
    seen = np.flatnonzero(calendar.totals)
    found = []
    for country in counted.frequent:
        cells = calendar.cells(country)
        found.append(
            [
                Side(
                    country,
                    calendar.periods[place],
                    cells[place],
                    float(counts.probability[cells[place]].sum()),
                    int(counts.best[cells[place]].sum()),
                )
                for place in seen
            ]
        )
    return found


def _compared(counted: Counted, first: Side, second: Side) -> Exceedance:
    up, down = _steps(counted, first, second)
    return compare_counts(up, down, names=(first.name, second.name), level=LEVEL)


def _steps(counted: Counted, first: Side, second: Side) -> tuple[Floats, Floats]:
    """Return each document's probabilities of counting for the first alone and for the second alone."""
    counts = counted.calendar.counts
    documents = np.unique(counts.document[np.concatenate([first.rows, second.rows])])
    sides = []
    for side in (first, second):
        bits = np.zeros((counts.sample_count, len(documents)), np.bool_)
        bits[:, np.searchsorted(documents, counts.document[side.rows])] = counts.bits(side.rows)
        sides.append(bits)
    _, up, down, _ = joint_probabilities(*sides)
    return up, down


def total_of(counted: Counted, found: Difference) -> tuple[float, float]:
    """Return P(first above second) and P(second above first), with the uncertainty of the recalibration.

    Every refit maps the probabilities of both counts; where a document counts for two countries, its two
    answers are taken as independent, since there are no samples of recalibrated answers.
    """
    chance = counted.calendar.counts.probability
    sides = [chance[side.rows] for side in (found.first, found.second)]
    above, below = [], []
    for one, other in zip(
        *(counted.recalibrated.refitted_probabilities(side) for side in sides), strict=True
    ):
        up = np.concatenate([one, np.zeros(len(other))])
        down = np.concatenate([np.zeros(len(one)), other])
        compared = compare_counts(up, down)
        above.append(compared.greater)
        below.append(compared.less)
    return float(np.mean(above)), float(np.mean(below))


def difference_tables(counted: Counted) -> dict[str, list[Row]]:
    """Return the numbers of differences that are shown and that are real, and cases of both kinds."""
    found = differences(counted)
    tables: dict[str, list[Row]] = {"differences": [], "not-real": [], "real": []}
    for kind in KINDS:
        of_kind = [each for each in found if each.kind == kind]
        summary = _summary(of_kind, counted.calendar.counts.sample_count)
        tables["differences"].append({**counted.name, "kind": kind, **summary})
        doubtful = sorted((each for each in of_kind if not each.is_real), key=_by_size)
        real = sorted((each for each in of_kind if each.is_real), key=_by_size)
        tables["not-real"] += _rows(counted, doubtful[:SHOWN])
        ends = real if len(real) <= SHOWN else real[: SHOWN // 2] + real[-SHOWN // 2 :]
        tables["real"] += _rows(counted, ends)
    return tables


def _by_size(each: Difference) -> tuple[int, float, str, str]:
    """Sort key: the largest difference of the 1-best counts first."""
    return -each.shown, each.compared.greater, each.first.name, each.second.name


def _summary(found: Sequence[Difference], samples: int) -> Row:
    doubtful = [each.compared.greater for each in found if not each.is_real]
    return {
        "shown by 1-best": len(found),
        "real": sum(each.is_real for each in found),
        "not real": len(doubtful),
        "not real beyond sampling": sum(
            interval_of_share(greater, samples)[1] < (1 + LEVEL) / 2 for greater in doubtful
        ),
        "by 1 or 2": sum(each.shown <= 2 for each in found),
        "mean has the other sign": sum((each.compared.difference.estimate or 0.0) < 0 for each in found),
        "largest not real": max((each.shown for each in found if not each.is_real), default=None),
        "smallest real": min((each.shown for each in found if each.is_real), default=None),
    }


def _rows(counted: Counted, found: Iterable[Difference]) -> Iterator[Row]:
    for each in found:
        above, below = total_of(counted, each)
        yield {
            **counted.name,
            "kind": each.kind,
            "first": each.first.name,
            "second": each.second.name,
            "best, first": each.first.best,
            "best, second": each.second.best,
            "mean, first": each.first.mean,
            "mean, second": each.second.mean,
            "difference": each.compared.difference.estimate,
            "low": each.compared.difference.low,
            "high": each.compared.difference.high,
            "P(first above)": each.compared.greater,
            "P(second above)": each.compared.less,
            "total: P(first above)": above,
            "total: P(second above)": below,
        }
