"""Counts of events by country and period."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from calibrant._checks import one_of, proportion
from calibrant.estimation.counts import INTERVALS, Interval, count_interval, number_interval
from calibrant.estimation.results.propagation import CountInterval, Drift
from calibrant.estimation.total import NO_DRIFT, RefittedRecalibrator
from calibrant.estimation.verbs import periods_of
from calibrant.events.files.store import Counts, EventStore
from calibrant.events.lexicon import code_named, country_names
from calibrant.events.results.events import EventCount, EventTable
from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.io.roles import Role, read
from calibrant.metrics.periods import PERIODS, By, period_of, periods_between
from calibrant.recalibrate import LabelledScores, Platt
from calibrant.records import Quantity

Counted = Literal["documents", "entities"]
COUNTED = ("documents", "entities")
MOST_PERIODS = 50_000
NO_DOCUMENTS = "the period has no documents"


@dataclass(frozen=True)
class Calendar:
    """The periods of a store, and which pairs of documents and countries lie in each.

    Attributes
    ----------
    counts
        Of the store.
    days, documents
        Days with documents, and how many each has.
    by
        ``week``, ``month``, ``quarter`` or ``year``.
    """

    counts: Counts
    days: NDArray[np.datetime64]
    documents: NDArray[np.int64]
    by: By

    @classmethod
    def of(cls, store: EventStore, by: By) -> Calendar:
        """Of a whole store."""
        one_of(by, PERIODS, "by")
        return cls(store.counts(), *store.seen(), by)

    @cached_property
    def periods(self) -> tuple[str, ...]:
        """All periods from the first document's to the last one's, those without documents included."""
        if not len(self.days):
            return ()
        first, last = self.days[0].item(), self.days[-1].item()
        found = tuple(periods_between(first, last, self.by))
        if len(found) > MOST_PERIODS:
            message = f"from {first} to {last} there are {len(found):,} periods of a {self.by}"
            raise InputError(message, "take longer ones, or mend the dates of the documents", code="date")
        return found

    @cached_property
    def _of_day(self) -> NDArray[np.int64]:
        number = {period: place for place, period in enumerate(self.periods)}
        return np.array([number[period_of(day.item(), self.by)] for day in self.days], np.int64)

    @cached_property
    def totals(self) -> NDArray[np.int64]:
        """Documents of each period."""
        return np.bincount(self._of_day, self.documents, len(self.periods)).astype(np.int64)

    @cached_property
    def place(self) -> NDArray[np.int64]:
        """(K,) the place in `periods` of each pair of a document and a country."""
        return self._of_day[np.searchsorted(self.days, self.counts.day)]

    def cells(self, country: str) -> list[NDArray[np.int64]]:
        """For each period, the rows of ``counts`` that are of a country."""
        rows = self.counts.rows_of(country)
        ends = np.searchsorted(self.place[rows], np.arange(1, len(self.periods)))  # rows are in order of days
        return np.split(rows, ends) if self.periods else []


def event_table(
    store: str | os.PathLike[str] | EventStore,
    *,
    by: By = "month",
    countries: Sequence[str] | None = None,
    count: Counted = "documents",
    interval: Interval = "poisson-binomial",
    level: float = 0.95,
    dev: Any = None,
    seed: int = 0,
    drift: float | str | None = None,
) -> EventTable:
    """Count documents, or the entities in them, by country and period.

    Parameters
    ----------
    store
        Its folder, or opened.
    by
        ``week`` (ISO 8601), ``month``, ``quarter`` or ``year``.
    countries
        Codes or names; one that never counts has zeros throughout. None: all of the store, by falling mean.
    count
        ``"documents"`` that have an entity that counts, or ``"entities"`` that count, of all documents. An
        entity is counted anew in each document.
    interval
        Of ``count``, as in `calibrant.estimation.count_interval` and, of entities,
        `calibrant.estimation.number_interval`.
    level
        Of all intervals.
    dev
        A prediction table of documents with gold entities: ``score`` (the probability that a document
        counts), ``label``, and ``cluster`` if they are dependent. The stored probabilities then go through a
        recalibrator (Platt) fitted to it, and the interval ``total`` includes how well that is known. Only
        for documents. Documents that count in no sample stay at 0.
    seed
        Of the draws of ``dev``.
    drift
        Standard deviation, in log-odds, by which probabilities shift from period to period, or
        ``"estimate"``: from the column ``period`` or ``date`` of ``dev``, with at least 3 periods. It widens
        the interval ``total``. None: no drift.

    Returns
    -------
    EventTable

    Raises
    ------
    InputError
        If the store is none, or an argument is bad.

    References
    ----------
    Nguyen and O'Connor (2015), section 6.2; entities: footnote 11.

    Examples
    --------
    >>> import tempfile
    >>> from datetime import date
    >>> from calibrant.events.files.store import StoredCount, StoredDocument
    >>> from calibrant.events.files.store_writing import StoreWriter
    >>> half = StoredDocument("d", date(1866, 5, 2), False, [StoredCount("ESP", 0.5, True, bytes([0b01]))])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(f"{folder}/s", {"samples": 2, "with_text": False}) as writer:
    ...         writer.write(half)
    ...     row = event_table(f"{folder}/s", by="year").counts[0]
    >>> row.country, row.period, row.count, row.best
    ('ESP', '1866', Quantity(estimate=0.5, low=0.0, high=1.0), 1)
    """
    one_of(interval, INTERVALS, "interval")
    one_of(count, COUNTED, "count")
    proportion(level, "level")
    opened = store if isinstance(store, EventStore) else EventStore(store)
    calendar = Calendar.of(opened, by)
    if dev is None and drift is not None:
        hint = "give labelled documents (dev)"
        raise InputError("a drift widens an interval that needs labels", hint, code="parameter")
    if dev is not None and count == "entities":
        hint = "count documents, or leave `dev` out"
        raise InputError("labels of documents do not recalibrate numbers of entities", hint, code="parameter")
    mended = None
    if dev is not None:
        mended = labelled_recalibrator(dev, seed, opened.sample_count, drift=drift, by=by)
    if mended is not None and interval == "samples":
        hint = "use poisson-binomial or normal, or leave `dev` out"
        raise InputError("samples cannot be recalibrated", hint, code="parameter")
    chosen = country_codes(countries, calendar.counts)
    entities = opened.entities() if count == "entities" else None
    counted = Counting(calendar, interval, level, mended, entities)
    return EventTable(
        store=os.fspath(opened.path),
        by=by,
        counted=count,
        interval=interval,
        level=level,
        samples=opened.sample_count,
        recalibrated=mended is not None,
        finished=opened.manifest.finished,
        problems=opened.problems,
        counts=tuple(row for country in chosen for row in counted.rows(country)),
        drift=None if mended is None else mended.drift,
        condition=None if mended is None else condition_of(mended.drift),
    )


@dataclass(frozen=True)
class Counting:
    """How the documents of a cell are counted.

    Attributes
    ----------
    calendar
        Of the store.
    interval, level
        Of the counts.
    mended
        Recalibrator with its refits, or None.
    entities
        (K, S + 1) as of `EventStore.entities`, if entities are counted.
    """

    calendar: Calendar
    interval: Interval
    level: float
    mended: RefittedRecalibrator | None = None
    entities: NDArray[np.uint8] | None = None

    def rows(self, country: str) -> Iterator[EventCount]:
        """A country's counts, period by period."""
        calendar, counts = self.calendar, self.calendar.counts
        cells = calendar.cells(country)
        for place, (rows, found) in enumerate(zip(cells, self.intervals_of(cells), strict=True)):
            documents = int(calendar.totals[place])
            mean = found.count.estimate or 0.0
            rate = Quantity(mean / documents) if documents else Quantity(None, reason=NO_DOCUMENTS)
            yield EventCount(
                country=country,
                period=calendar.periods[place],
                documents=documents,
                matched=int(np.count_nonzero(counts.probability[rows])),
                count=replace(found.count, standard_error=None),
                sd=found.sd,
                total=found.total,
                rate=rate,
                best=int(counts.best[rows].sum() if self.entities is None else self.entities[rows, -1].sum()),
            )

    def intervals_of(self, cells: Sequence[NDArray[np.int64]]) -> list[CountInterval]:
        """The count of the documents of each cell, and how sure it is."""
        counts = self.calendar.counts
        zero = Quantity(0.0, 0.0, 0.0)
        nothing = CountInterval(
            count=zero,
            sd=0.0,
            total=None if self.mended is None else zero,
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
        if self.mended is not None:
            return self.mended.counts(chances, interval=self.interval, level=self.level)
        return [
            count_interval(chance, bits=counts.bits(rows), interval=self.interval, level=self.level)
            for chance, rows in zip(chances, cells, strict=True)
        ]


def country_codes(countries: Sequence[str] | None, counts: Counts) -> tuple[str, ...]:
    """Codes of countries asked for by code or name, each once; None: all of a store, by falling mean.

    Raises
    ------
    InputError
        If one is empty, or has blanks around it, or neither the store nor the lexicon has it.
    """
    if countries is None:
        sums = np.bincount(counts.country, counts.probability, len(counts.countries))
        order = sorted(range(len(sums)), key=lambda place: (-sums[place], counts.countries[place]))
        return tuple(counts.countries[place] for place in order)
    found = []
    for given in countries:
        if not given or given != given.strip():
            message = f"{given!r:.20} is no code of a country"
            raise InputError(message, "give codes such as IRQ, or names", code="parameter")
        code = given.upper()
        if code not in counts.countries and code not in country_names():
            named = code_named(given)
            if named is None:
                message = f"no document counts for {given[:40]!r}, and the lexicon does not have it either"
                raise InputError(message, "give codes such as IRQ, or names", code="parameter")
            code = named
        found.append(code)
    return tuple(dict.fromkeys(found))


def condition_of(drift: Drift | None) -> str:
    """Return what the total intervals assume about periods."""
    if drift is None:
        return NO_DRIFT
    known = "" if drift.periods is None else f", estimated from {drift.periods} labelled periods"
    return (
        "The interval with shared doubt assumes that the log-odds of periods differ by a normal shift with "
        f"standard deviation {drift.estimate:.2g}{known}."
    )


def labelled_recalibrator(
    dev: Any, seed: int, samples: int, *, drift: float | str | None = None, by: By = "month"
) -> RefittedRecalibrator:
    """Platt scaling fitted to a table of labelled documents, and to resampled clusters of it.

    A probability of 0 or 1 that ``samples`` samples gave is at least half a sample from there: without that
    a single wrong label at 1 would settle the fit.

    Raises
    ------
    InputError
        If the table cannot be read, or has classes.
    """
    table = open_predictions(dev)
    batch = table.read()
    if table.classes:
        hint = "give one event: score, label, and cluster if there are any"
        raise InputError("the labelled documents have classes", hint, code="view", file=table.name)
    clusters = None if batch.cluster is None else np.asarray(batch.cluster)
    labelled = LabelledScores(batch.score, batch.label, clusters=clusters)
    if isinstance(drift, str):
        one_of(drift, ("estimate",), "drift")
    periods = None if drift is None else _periods_of(dev, by)
    if periods is None and drift == "estimate":
        hint = "add the column period or date, or give the standard deviation"
        raise InputError("the labelled documents have no periods", hint, code="parameter", file=table.name)
    sd = None if drift is None or isinstance(drift, str) else drift
    platt = Platt(clip=0.5 / samples)
    try:
        return RefittedRecalibrator(platt, labelled, seed=seed, drift=sd, periods=periods)
    except InputError as error:
        if error.code == "undefined":
            error.hint = "label more documents"
        raise error.at(file=table.name, row=error.row) from None


def _periods_of(dev: Any, by: By) -> Any:
    """Periods of labelled documents: those of their dates, or the column period; None without either."""
    times = read(dev, [Role("score", "score"), *(Role(each, needed=False) for each in ("period", "date"))])
    return periods_of(times, by if "date" in times else None)
