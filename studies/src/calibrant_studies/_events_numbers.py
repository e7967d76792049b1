"""The events study's numbers: counts by country and period with both intervals, and fewer samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.estimation.counts import poisson_binomial
from calibrant.estimation.total import RefittedRecalibrator
from calibrant.events.files.store_parts import read_part
from calibrant.events.results.events import EventCount
from calibrant.events.verbs.tables import Calendar, Counting, country_codes
from calibrant_studies._base import Row
from calibrant_studies._events_data import Extracted

MOST = 20  # countries, as in the paper's appendix
ENOUGH = 5.0  # smallest mean of a period for a comparison
FEW = 10  # samples, against all
LEVEL = 0.95


@dataclass(frozen=True)
class Counted:
    """Store with its periods, and the recalibrator with the uncertainty that all documents share.

    Attributes
    ----------
    source
        The store and its source.
    recalibrated
        Recalibrator, fitted to labeled documents.
    """

    source: Extracted
    recalibrated: RefittedRecalibrator

    @cached_property
    def calendar(self) -> Calendar:
        """Periods of the corpus's figures."""
        return Calendar.of(self.source.store, self.source.corpus.by)

    @property
    def name(self) -> Row:
        """First columns of its rows."""
        return {"corpus": self.source.corpus.title, "rules": self.source.rules}

    @property
    def plain(self) -> Counting:
        """Counts under the model."""
        return Counting(self.calendar, "poisson-binomial", LEVEL)

    @property
    def total(self) -> Counting:
        """Counts after recalibration, with the uncertainty that all documents share."""
        return Counting(self.calendar, "poisson-binomial", LEVEL, self.recalibrated)

    @cached_property
    def frequent(self) -> tuple[str, ...]:
        """The countries of the highest means, the highest first."""
        return country_codes(None, self.calendar.counts)[:MOST]

    def mean_of_best_country(self, by: Any) -> float:
        """Return the mean count per period of the most frequent country."""
        periods = int(np.count_nonzero(Calendar.of(self.source.store, by).totals))
        counts = self.calendar.counts
        return float(counts.probability[counts.rows_of(self.frequent[0])].sum()) / periods


def overview_row(counted: Counted) -> Row:
    """Return the size of a store, and its counts in total."""
    counts = counted.calendar.counts
    chance = counts.probability
    store = counted.source.store
    skipped = sum(
        int(np.count_nonzero(read_part(file, store.sample_count, ("skipped",))["skipped"].to_numpy()))
        for file in store.parts
    )
    cells = [cell for country in counted.frequent for cell in counted.calendar.cells(country)]
    means = np.array([chance[cell].sum() for cell in cells])
    documents = store.document_count
    return {
        **counted.name,
        "documents": documents,
        "parsed": documents - skipped,
        "may count": len(counts.names),
        "countries": len(counts.countries),
        "pairs": len(chance),
        "pairs of probability 1": int(np.count_nonzero(chance == 1)),
        "pairs in 0.25-0.75": int(np.count_nonzero((chance >= 0.25) & (chance <= 0.75))),
        "mean": float(chance.sum()),
        "sd": float(np.sqrt(chance @ (1 - chance))),
        "best": int(counts.best.sum()),
        "by": counted.source.corpus.by,
        "periods with documents": int(np.count_nonzero(counted.calendar.totals)),
        "cells": len(cells),
        "cells not zero": int(np.count_nonzero(means)),
        "cells of 5 or more": int(np.count_nonzero(means >= ENOUGH)),
        **{f"{by} mean": counted.mean_of_best_country(by) for by in ("month", "quarter", "year")},
        "seconds": counted.source.seconds,
    }


def total_row(counted: Counted) -> Row:
    """Documents with an agent, summed over all countries and the whole time, with both intervals."""
    counts = counted.calendar.counts
    rows = np.arange(len(counts.document))
    found = _intervals_row(counted, rows)
    del found["sd"]
    return {**counted.name, **found, "best": int(counts.best.sum())}


def _intervals_row(counted: Counted, rows: NDArray[np.int64]) -> Row:
    """Return mean and interval under the model, and recalibrated with the shared uncertainty."""
    plain, total = counted.plain.intervals_of([rows])[0], counted.total.intervals_of([rows])[0]
    assert total.total is not None
    return {
        "mean": plain.count.estimate,
        "sd": plain.sd,
        "low": plain.count.low,
        "high": plain.count.high,
        "recalibrated": total.count.estimate,
        "low_total": total.total.low,
        "high_total": total.total.high,
    }


def country_rows(counted: Counted, paper: Counted) -> list[Row]:
    """The most frequent countries over the whole time, with both intervals, and by the paper's rules."""
    rows = []
    calendar, other = counted.calendar, paper.calendar.counts
    for country in counted.frequent:
        places = calendar.counts.rows_of(country)
        by_paper = other.rows_of(country)
        rows.append(
            {
                "corpus": counted.source.corpus.title,
                "country": country,
                "may count": len(places),
                **_intervals_row(counted, places),
                "best": int(calendar.counts.best[places].sum()),
                "by paper": float(other.probability[by_paper].sum()),
                "best by paper": int(other.best[by_paper].sum()),
            }
        )
    return rows


def series_rows(counted: Counted, countries: Sequence[str]) -> list[Row]:
    """Counts by period: mean and interval under the model, total interval, and the 1-best counts."""
    rows = []
    for country in countries:
        for plain, total in zip(counted.plain.rows(country), counted.total.rows(country), strict=True):
            rows.append({**counted.name, **_series_row(plain, total)})
    return rows


def _series_row(plain: EventCount, total: EventCount) -> Row:
    assert total.total is not None
    low, high = plain.count.low or 0.0, plain.count.high or 0.0
    return {
        "country": plain.country,
        "period": plain.period,
        "documents": plain.documents,
        "matched": plain.matched,
        "mean": plain.count.estimate,
        "low": low,
        "high": high,
        # The recalibrated interval may not contain that of the model; the shown interval contains both.
        "low_total": min(total.total.low or 0.0, low),
        "high_total": max(total.total.high or 0.0, high),
        "best": plain.best,
    }


def fewer_rows(counted: Counted) -> list[Row]:
    """Return the change of probabilities, means and intervals with ten samples, beside that from sampling."""
    counts = counted.calendar.counts
    bits = counts.bits().astype(np.float64)
    size = len(bits)
    chance = counts.probability
    # The first few are among all, so that their difference has this variance and not p (1 - p) / few.
    share = 1 / FEW - 1 / size
    few = bits[:FEW].mean(axis=0)
    rows = [
        {
            **counted.name,
            "of": "a document and country",
            "numbers": len(chance),
            "rms difference": float(np.sqrt(((few - chance) ** 2).mean())),
            "expected": float(np.sqrt((_variance(chance, size) * share).mean())),
            "largest": float(np.abs(few - chance).max(initial=0)),
        }
    ]
    cells = [
        cell
        for country in counted.frequent
        for cell in counted.calendar.cells(country)
        if len(cell) and chance[cell].sum() > 0
    ]
    moved = np.array([few[cell].sum() - chance[cell].sum() for cell in cells])
    noise = np.array([_variance(chance[cell], size).sum() * share for cell in cells])
    ends = np.array([np.subtract(_interval(few[cell]), _interval(chance[cell])) for cell in cells])
    square = float((moved**2).mean())
    half = 1.96 * float((moved**2).std()) / max(1, len(cells)) ** 0.5
    rows.append(
        {
            **counted.name,
            "of": "a country and period",
            "numbers": len(cells),
            "rms difference": square**0.5,
            "rms, low": max(0.0, square - half) ** 0.5,
            "rms, high": (square + half) ** 0.5,
            "expected": float(np.sqrt(noise.mean())),
            "largest": float(np.abs(moved).max(initial=0)),
            "same interval": float((ends == 0).all(axis=1).mean()),
            "ends moved by 2 or more": int(np.count_nonzero((np.abs(ends) >= 2).any(axis=1))),
        }
    )
    return rows


def _variance(chance: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """Return the variance of a binary outcome, corrected for estimation from a fraction of samples."""
    found: NDArray[np.float64] = chance * (1 - chance) * size / (size - 1)
    return found


def _interval(chance: NDArray[np.float64]) -> tuple[int, int]:
    return poisson_binomial(chance).interval(LEVEL)


def verb_rows(counted: Counted) -> list[Row]:
    """Return the weight of each verb of the most probable evidence, over documents and countries."""
    weight: dict[str, float] = {}
    for document in counted.source.store.documents():
        best: dict[str, str] = {}
        for each in document.evidence:
            best.setdefault(each.country, each.verb)
        for count in document.counts:
            if count.country in best:
                verb = best[count.country]
                weight[verb] = weight.get(verb, 0.0) + count.probability
    total = sum(weight.values())
    return [
        {"corpus": counted.source.corpus.title, "verb": verb, "mean": mean, "share": mean / total}
        for verb, mean in sorted(weight.items(), key=lambda item: (-item[1], item[0]))
    ]
