"""Counts of events by country and period."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from calibrant._checks import one_of, proportion
from calibrant.estimation.counts import INTERVALS, Interval, count_interval, number_interval
from calibrant.estimation.results import CountInterval, Drift
from calibrant.estimation.total import NO_DRIFT, RefittedRecalibrator
from calibrant.estimation.verbs import periods_of
from calibrant.events.files.store import Counts, EventStore
from calibrant.events.lexicon import code_named, country_names, display_name
from calibrant.events.results.events import EventCount, EventTable
from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.io.roles import Role, read
from calibrant.metrics.periods import PERIODS, By, days_of, period_of, periods_between
from calibrant.recalibrate import LabelledScores, Platt
from calibrant.records import Quantity

Counted = Literal["documents", "entities"]
COUNTED = ("documents", "entities")
MOST_PERIODS = 50_000
NO_DOCUMENTS = "the period has no documents"
ALL = "all"


@dataclass(frozen=True)
class Calendar:
    """Periods of a store, with the pairs of documents and countries of each period.

    Attributes
    ----------
    counts
        Counts of the documents in these periods.
    days, documents
        Days with documents, and the number of documents of each day.
    by
        ``week``, ``month``, ``quarter`` or ``year``.
    first, last
        Days in the first and in the last period; None without documents.
    rows
        Range of ``counts`` in the counts of the store.
    """

    counts: Counts
    days: NDArray[np.datetime64]
    documents: NDArray[np.int64]
    by: By
    first: date | None
    last: date | None
    rows: slice

    @classmethod
    def of(cls, store: EventStore, by: By, since: str | None = None, until: str | None = None) -> Calendar:
        """Return the calendar of a store, or of its whole periods from ``since`` to ``until``."""
        one_of(by, PERIODS, "by")
        counts = store.counts()
        days, documents = store.seen()
        low = None if since is None else _whole(days_of(since)[0], by)[0]
        high = None if until is None else _whole(days_of(until)[1], by)[1]
        if not len(days):
            return cls(counts, days, documents, by, None, None, slice(0, 0))
        ends = days[0].item(), days[-1].item()
        first, last = max(ends[0], low or ends[0]), min(ends[1], high or ends[1])
        if first > last:
            asked = " ".join(filter(None, (since and f"from {since}", until and f"to {until}")))
            hint = f"it covers {ends[0]} to {ends[1]}"
            raise InputError(f"the store has no documents {asked}", hint, code="parameter")
        bounds = np.array([first, last], "datetime64[D]") + np.array([0, 1])
        start, end = (int(place) for place in np.searchsorted(days, bounds))
        rows = slice(*(int(place) for place in np.searchsorted(counts.day, bounds)))
        return cls(counts.between(rows), days[start:end], documents[start:end], by, first, last, rows)

    @cached_property
    def periods(self) -> tuple[str, ...]:
        """Return all periods from the first to the last one, including those without documents."""
        first, last = self.first, self.last
        if first is None or last is None:
            return ()
        periods = tuple(periods_between(first, last, self.by))
        if len(periods) > MOST_PERIODS:
            message = f"there are {len(periods):,} periods of one {self.by} from {first} to {last}"
            raise InputError(
                message, "use longer periods, or correct the dates of the documents", code="date"
            )
        return periods

    @cached_property
    def _of_day(self) -> NDArray[np.int64]:
        number = {period: place for place, period in enumerate(self.periods)}
        return np.array([number[period_of(day.item(), self.by)] for day in self.days], np.int64)

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """Return the number of documents of each period."""
        return np.bincount(self._of_day, self.documents, len(self.periods)).astype(np.int64)

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """Return (K,) indices in `periods`, one per pair of a document and a country."""
        return self._of_day[np.searchsorted(self.days, self.counts.day)]

    def cells(self, country: str) -> list[NDArray[np.int64]]:
        """Return, for each period, the rows of ``counts`` of a country."""
        rows = self.counts.rows_of(country)
        ends = np.searchsorted(self.place[rows], np.arange(1, len(self.periods)))  # rows are sorted by day
        return np.split(rows, ends) if self.periods else []


def _whole(day: date, by: By) -> tuple[date, date]:
    """Return the ends of the period with a day."""
    return days_of(period_of(day, by))


def event_table(
    store: str | os.PathLike[str] | EventStore,
    *,
    by: By = "month",
    countries: Sequence[str] | None = None,
    count: Counted = "documents",
    interval: Interval = "poisson-binomial",
    level: float = 0.95,
    labels: Any = None,
    seed: int = 0,
    drift: float | str | None = None,
    since: str | None = None,
    until: str | None = None,
) -> EventTable:
    """Count documents, or the entities in them, by country and period.

    Parameters
    ----------
    store
        Folder of the store, or an `EventStore`.
    by
        Length of a period. Weeks are ISO 8601 weeks.
    countries
        Use only these countries, each given by its code in the lexicon (IRQ) or its name; a country that
        never counts has zero counts. None: all, by decreasing mean.
    count
        Unit to count: ``documents`` with at least one entity that counts, or all ``entities`` that count,
        separately in each document.
    interval
        Interval of a count: exact quantiles of the sum (``poisson-binomial``), the normal approximation of
        Nguyen & O'Connor (2015) (``normal``), or quantiles of sampled sums (``samples``).
    level
        Confidence level of all intervals, between 0 and 1.
    labels
        Predictions for labeled documents (columns ``score``, ``label``, and ``cluster`` if documents are
        dependent). They recalibrate the probabilities by Platt scaling and add the total interval of each
        count. Documents that count in no sample keep the probability 0. Only for documents. None: no
        recalibration; on the command line the labels of an included store.
    seed
        Seed of all random draws.
    drift
        Standard deviation, in log-odds, of the shift of probabilities between periods; it widens the total
        interval. With the value ``estimate``, it is estimated from the column ``period`` or ``date`` of
        `labels`, which needs at least 3 periods. None: no drift.
    since
        First period to count: a year, quarter, month, week or day, such as 2001 or 2001-04. Periods are not
        cut: all documents of the period with this day count. None: that of the first document.
    until
        Last period to count. None: that of the last document.

    Returns
    -------
    EventTable

    References
    ----------
    Nguyen and O'Connor (2015), section 6.2; entities: footnote 11.

    Examples
    --------
    >>> from calibrant.data import event_store
    >>> row = event_table(event_store("reuters-21578"), by="year").counts[0]
    >>> row.country, row.period, round(row.count.estimate, 1), row.count.low, row.count.high, row.best
    ('IRN', '1987', 14.5, 14.0, 16.0, 14)
    """
    one_of(interval, INTERVALS, "interval")
    one_of(count, COUNTED, "count")
    proportion(level, "level")
    opened = store if isinstance(store, EventStore) else EventStore(store)
    calendar = Calendar.of(opened, by, since, until)
    if labels is None and drift is not None:
        hint = "give labeled documents (labels), or leave drift out"
        raise InputError("drift needs labeled documents", hint, code="parameter")
    if labels is not None and count == "entities":
        hint = "count documents, or leave `labels` out"
        raise InputError("labels of documents cannot recalibrate counts of entities", hint, code="parameter")
    recalibrator = caution = None
    if labels is not None:
        recalibrator, caution = labelled_recalibrator(labels, seed, opened.sample_count, drift=drift, by=by)
    if recalibrator is not None and interval == "samples":
        hint = "use poisson-binomial or normal, or leave `labels` out"
        raise InputError("the interval samples cannot be recalibrated", hint, code="parameter")
    chosen = country_codes(countries, calendar.counts)
    entities = opened.entities()[calendar.rows] if count == "entities" else None
    counted = Counting(calendar, interval, level, recalibrator, entities)
    return EventTable(
        store=os.fspath(opened.path),
        by=by,
        counted=count,
        interval=interval,
        level=level,
        sampled=opened.sampled,
        samples=opened.sample_count,
        recalibrated=recalibrator is not None,
        finished=opened.manifest.finished,
        problems=opened.problems,
        counts=tuple(row for country in chosen for row in counted.rows(country)),
        overall=counted.overall(chosen),
        drift=None if recalibrator is None else recalibrator.drift,
        condition=None if recalibrator is None else condition_of(recalibrator.drift),
        labels_warning=caution,
    )


@dataclass(frozen=True)
class Counting:
    """Settings for counting the documents of a cell.

    Attributes
    ----------
    calendar
        Periods of the store.
    interval, level
        Method and coverage of the counts' intervals.
    recalibrator
        Recalibrator with its refits, or None.
    entities
        (K, S + 1) numbers from `EventStore.entities`, if entities are counted.
    """

    calendar: Calendar
    interval: Interval
    level: float
    recalibrator: RefittedRecalibrator | None = None
    entities: NDArray[np.uint8] | None = None

    def rows(self, country: str) -> Iterator[EventCount]:
        """Yield a country's counts, one row per period; those of a period without documents are undefined."""
        calendar = self.calendar
        cells = calendar.cells(country)
        for place, (rows, estimate) in enumerate(zip(cells, self.intervals_of(cells), strict=True)):
            yield self._row(country, calendar.periods[place], int(calendar.totals[place]), rows, estimate)

    def overall(self, countries: Sequence[str]) -> tuple[EventCount, ...]:
        """Return the counts over all periods, one row per country.

        With drift, the interval is that of a shift which all periods share.
        """
        counts = self.calendar.counts
        cells = [counts.rows_of(country) for country in countries]
        documents = int(self.calendar.documents.sum())
        return tuple(
            self._row(country, ALL, documents, rows, estimate)
            for country, rows, estimate in zip(countries, cells, self.intervals_of(cells), strict=True)
        )

    def _row(
        self, country: str, period: str, documents: int, rows: NDArray[np.int64], estimate: CountInterval
    ) -> EventCount:
        counts, missing = self.calendar.counts, Quantity(None, reason=NO_DOCUMENTS)
        best = counts.best[rows].sum() if self.entities is None else self.entities[rows, -1].sum()
        return EventCount(
            country=country,
            name=display_name(country),
            period=period,
            documents=documents,
            matched=int(np.count_nonzero(counts.probability[rows])),
            count=replace(estimate.count, standard_error=None) if documents else missing,
            sd=estimate.sd if documents else None,
            total=estimate.total if documents or estimate.total is None else missing,
            rate=Quantity((estimate.count.estimate or 0.0) / documents) if documents else missing,
            best=int(best) if documents else None,
        )

    def intervals_of(self, cells: Sequence[NDArray[np.int64]]) -> list[CountInterval]:
        """Return the count of each cell with its interval."""
        counts = self.calendar.counts
        zero = Quantity(0.0, 0.0, 0.0)
        nothing = CountInterval(
            count=zero,
            sd=0.0,
            total=None if self.recalibrator is None else zero,
            documents=0,
            level=self.level,
            interval=self.interval,
        )
        possible = [rows[counts.probability[rows] > 0] for rows in cells]
        filled = iter(self._filled([rows for rows in possible if len(rows)]))
        return [next(filled) if len(rows) else nothing for rows in possible]

    def _filled(self, cells: Sequence[NDArray[np.int64]]) -> list[CountInterval]:
        counts = self.calendar.counts
        if self.entities is not None:
            samples = self.entities[:, :-1]
            return [
                number_interval(samples[rows].T, interval=self.interval, level=self.level) for rows in cells
            ]
        chances = [counts.probability[rows] for rows in cells]
        if self.recalibrator is not None:
            return self.recalibrator.counts(chances, interval=self.interval, level=self.level)
        return [
            count_interval(chance, bits=counts.bits(rows), interval=self.interval, level=self.level)
            for chance, rows in zip(chances, cells, strict=True)
        ]


def country_codes(countries: Sequence[str] | None, counts: Counts) -> tuple[str, ...]:
    """Return distinct codes of countries given by code or name; None: all that count, by decreasing mean.

    Raises
    ------
    InputError
        If a name is empty or has blanks around it, or neither the store nor the lexicon has it.
    """
    if countries is None:
        sums = np.bincount(counts.country, counts.probability, len(counts.countries))
        order = sorted(np.unique(counts.country), key=lambda place: (-sums[place], counts.countries[place]))
        return tuple(counts.countries[place] for place in order)
    codes = []
    for given in countries:
        if not given or given != given.strip():
            message = f"{given!r:.20} is not a country code"
            raise InputError(message, "give codes such as IRQ, or names", code="parameter")
        same = [code for code in counts.countries if code.upper() == given.upper()]
        code = given if given in same else next(iter(same), None)  # codes of an own lexicon may be lower case
        if code is None:
            code = given.upper() if given.upper() in country_names() else code_named(given)
        if code is None:
            message = f"neither the store nor the lexicon has a country {given[:40]!r}"
            raise InputError(message, "give codes such as IRQ, or names", code="parameter")
        codes.append(code)
    return tuple(dict.fromkeys(codes))


def condition_of(drift: Drift | None) -> str:
    """Return the assumption of the total intervals about periods."""
    if drift is None:
        return NO_DRIFT
    known = "" if drift.periods is None else f", estimated from {drift.periods} labeled periods"
    return (
        "The total interval assumes that the log-odds of periods differ by a normal shift with "
        f"standard deviation {drift.estimate:.2g}{known}."
    )


def labelled_recalibrator(
    labels: Any, seed: int, samples: int, *, drift: float | str | None = None, by: By = "month"
) -> tuple[RefittedRecalibrator, str | None]:
    """Return Platt scaling fitted to a table of labeled documents and its resampled clusters, and a warning.

    Probabilities of 0 and 1 from ``samples`` samples are moved inward by half a sample. Otherwise a single
    wrong label at 1 would determine the fit.
    """
    table = open_predictions(labels)
    batch = table.read()
    if table.classes:
        hint = "give the columns score, label and, if documents are dependent, cluster"
        raise InputError("the labeled documents have classes", hint, code="view", file=table.name)
    clusters = None if batch.cluster is None else np.asarray(batch.cluster)
    labelled = LabelledScores(batch.score, batch.label, clusters=clusters)
    if isinstance(drift, str):
        one_of(drift, ("estimate",), "drift")
    periods = None if drift is None else _periods_of(labels, by)
    if periods is None and drift == "estimate":
        hint = "add a column period or date, or give the standard deviation of the drift between periods"
        raise InputError("the labeled documents have no periods", hint, code="parameter", file=table.name)
    sd = None if drift is None or isinstance(drift, str) else drift
    platt = Platt(clip=0.5 / samples)
    try:
        refitted = RefittedRecalibrator(platt, labelled, seed=seed, drift=sd, periods=periods)
    except InputError as error:
        if error.code == "undefined":
            error.hint = "label more documents"
        raise error.at(file=table.name, row=error.row) from None
    impossible = np.asarray(batch.label)[np.asarray(batch.score) == 0]
    missed = int(np.count_nonzero(impossible))
    note = f"{missed:,} of {len(impossible):,} labeled documents with probability 0 count. Documents with "
    note += "probability 0 count for nothing here, so that counts and intervals are too low."
    return refitted, " ".join(filter(None, (refitted.warning, note if missed else None))) or None


def _periods_of(labels: Any, by: By) -> Any:
    """Return the periods of labeled documents, from their dates or the column period; None without either."""
    times = read(labels, [Role("score", "score"), *(Role(part, needed=False) for part in ("period", "date"))])
    return periods_of(times, by if "date" in times else None)
