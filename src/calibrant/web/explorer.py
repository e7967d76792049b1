"""A store of events in memory, and the pages made of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import one_of
from calibrant.exceptions import InputError
from calibrant.io.store import EventStore, StoredDocument
from calibrant.propagate.periods import By
from calibrant.web._comparing import Joint
from calibrant.web._countries import find, name_of
from calibrant.web._documents import PartReader
from calibrant.web._text import note_of, pairs_of, pieces_of
from calibrant.web.pages import (
    LEVEL,
    LISTED,
    About,
    ComparisonPage,
    CountryPage,
    DocumentCount,
    DocumentPage,
    DocumentsPage,
    ListedDocument,
    OverviewPage,
    PeriodComparison,
    Series,
)
from calibrant.workflow.event_doubts import texts_of
from calibrant.workflow.event_tables import Calendar, Counting, country_codes, labelled_recalibrator

Progress = Callable[[str, int, int | None], None]
Rows = NDArray[np.int64]

TOP = 20
MOST_PERIODS = 60  # of the charts that are shown first
ORDERS = ("uncertain", "probability", "date")
REMEMBERED = 400


class Explorer:
    r"""A store of events, ready to be looked at.

    Counts are held in memory and read once; texts and evidence are read when a document is asked for.

    Parameters
    ----------
    store
        Its folder.
    documents
        The file that the store was made from, for texts that the store does not hold.
    dev
        Labelled documents, as in `calibrant.workflow.event_table`: adds the total interval.
    progress
        Called now and then with a stage and how far it is.

    Attributes
    ----------
    about : About
        What every page says of the store.
    countries : tuple of str
        Codes, by falling mean.

    Raises
    ------
    InputError
        If there is no such store, or the documents cannot be read.
    FormatError
        If the store is damaged as a whole, or of a later release.
    MissingExtraError
        If DuckDB is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from datetime import date
    >>> from calibrant.io.store import StoredCount, StoredDocument
    >>> from calibrant.io.store_writing import StoreWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with StoreWriter(f"{folder}/s", {"samples": 8, "with_text": False}) as writer:
    ...         count = StoredCount("IRQ", 0.5, True, b"\x0f")
    ...         writer.write(StoredDocument("d1", date(2001, 9, 11), counts=[count]))
    ...     Explorer(f"{folder}/s").country("IRQ", by="year").series.mean
    0.5
    """

    def __init__(
        self,
        store: str | os.PathLike[str],
        *,
        documents: str | os.PathLike[str] | None = None,
        dev: Any = None,
        progress: Progress | None = None,
    ) -> None:
        self._store = EventStore(store)
        self._mended = None if dev is None else labelled_recalibrator(dev, 0, self._store.sample_count)
        if progress is not None:
            progress("reading the store", 0, None)
        self._counts = self._store.counts()
        self._parts = PartReader(self._store.path)
        self._texts = (
            {} if documents is None else texts_of(documents, set(self._counts.names), progress=progress)
        )
        self._calendars: dict[By, Calendar] = {}
        self._series = lru_cache(REMEMBERED)(self._count)
        self._joint = lru_cache(REMEMBERED)(self._join)
        self._comparison = lru_cache(REMEMBERED)(self._compare)
        self.countries = country_codes(None, self._counts)

    @cached_property
    def about(self) -> About:
        """What every page says of the store."""
        days, documents = self._store.seen()
        return About(
            store=self._store.path.resolve().name,
            documents=int(documents.sum()),
            matched=len(self._counts.names),
            first=str(days[0]) if len(days) else None,
            last=str(days[-1]) if len(days) else None,
            samples=self._store.sample_count,
            level=LEVEL,
            recalibrated=self._mended is not None,
            finished=self._store.manifest.finished,
            problems=self._store.problems,
        )

    @cached_property
    def default_by(self) -> By:
        """The finest cut of time that a chart shows well."""
        fitting = [by for by, periods in self._cuts.items() if periods <= MOST_PERIODS]
        return fitting[0] if fitting else "year"

    @cached_property
    def _cuts(self) -> dict[By, int]:
        """How many periods each makes, if not too many: a wrong date can span thousands of years."""
        found: dict[By, int] = {}
        for by in get_args(By):
            with suppress(InputError):
                found[by] = len(self._calendar(by).periods)
        return found

    def prepare(self) -> None:
        """Count what overviews show, so that nobody waits for it."""
        for by in self._cuts:
            self.overview(by=by)

    def overview(self, *, by: By | None = None, rates: bool = False) -> OverviewPage:
        """The countries with the most documents.

        Parameters
        ----------
        by
            How time is cut; None: `default_by`.
        rates
            Whether charts show shares of all documents of a period.

        Raises
        ------
        InputError
            If ``by`` is not known.
        """
        by = by or self.default_by
        shown = tuple(self._series(country, by) for country in self.countries[:TOP])
        return OverviewPage(self.about, by, rates, self.countries, shown)

    def country(self, country: str, *, by: By | None = None, rates: bool = False) -> CountryPage:
        """One country's series.

        Parameters
        ----------
        country
            Its code or its name.
        by, rates
            As in `overview`.

        Raises
        ------
        InputError
            If the store has no document of it, or several countries go by that name.
        """
        by = by or self.default_by
        code = find(country, self.countries)
        return CountryPage(self.about, by, rates, self.countries, self._series(code, by))

    def compare(
        self, first: str, second: str, *, by: By | None = None, rates: bool = False
    ) -> ComparisonPage:
        """Two countries, and how probable it is that one has more documents than the other.

        Parameters
        ----------
        first, second
            Their codes or names.
        by, rates
            As in `overview`.

        Raises
        ------
        InputError
            If the store has no document of one of them, or they are the same.
        """
        first, second = find(first, self.countries), find(second, self.countries)
        if first == second:
            raise InputError("the two countries are the same", "choose another one", code="parameter")
        by = by or self.default_by
        joint = self._joint(first, second)
        return ComparisonPage(
            about=self.about,
            by=by,
            rates=rates,
            countries=self.countries,
            first=self._series(first, by),
            second=self._series(second, by),
            both=joint.both,
            together=joint.together,
            periods=self._comparison(first, second, by),
        )

    def documents(
        self,
        country: str,
        *,
        by: By | None = None,
        period: str | None = None,
        order: str = "uncertain",
        offset: int = 0,
    ) -> DocumentsPage:
        """Documents that may count for a country.

        Parameters
        ----------
        country
            Its code or its name.
        by, period
            How time is cut, and which period; None: all of it.
        order
            ``uncertain`` (nearest 50 % first), ``probability`` or ``date``.
        offset
            How many to leave out at the beginning.

        Raises
        ------
        InputError
            If the country or the period is not in the store.
        """
        one_of(order, ORDERS, "order")
        by = by or self.default_by
        country = find(country, self.countries)
        rows = self._counts.rows_of(country)
        if period is not None:
            calendar = self._calendar(by)
            if period not in calendar.periods:
                hint = f"the store goes from {self.about.first} to {self.about.last}"
                raise InputError(f"there is no {by} {period!r:.20}", hint, code="parameter")
            rows = rows[calendar.place[rows] == calendar.periods.index(period)]
        chance = self._counts.probability[rows]
        key = {"uncertain": np.abs(chance - 0.5), "probability": -chance, "date": np.zeros(len(rows))}[order]
        listed = rows[np.argsort(key, kind="stable")][offset : offset + LISTED]
        return DocumentsPage(
            about=self.about,
            country=country,
            name=name_of(country),
            by=by,
            period=period,
            order=order,
            offset=offset,
            total=len(rows),
            documents=tuple(self._listed(int(row)) for row in listed),
        )

    def document(self, name: str) -> DocumentPage:
        """A document: for whom it counts, and why.

        Parameters
        ----------
        name
            Its id.

        Raises
        ------
        InputError
            If no document of this id counts.
        FormatError
            If its part cannot be read any more.
        """
        rows = self._rows_by_name.get(name)
        if rows is None:
            hint = "only documents that may count for a country are kept"
            raise InputError(f"there is no document {name!r:.80}", hint, code="parameter")
        found = self._parts.document(name) or StoredDocument(name, self._counts.day[rows[0]].item())
        given = self._texts.get(name)
        text = given.text if given is not None else found.text
        title = (given.title or None) if given is not None else found.title
        return DocumentPage(
            about=self.about,
            id=name,
            date=str(self._counts.day[rows[0]]),
            title=title,
            counts=tuple(self._document_count(int(row)) for row in rows),
            pairs=pairs_of(found.evidence, text),
            text=pieces_of(text, found.evidence),
            note=note_of(text, found.evidence),
        )

    def _calendar(self, by: By) -> Calendar:
        if by not in self._calendars:
            self._calendars[by] = Calendar.of(self._store, by)
        return self._calendars[by]

    @cached_property
    def _rows_by_name(self) -> dict[str, Rows]:
        counts = self._counts
        starts = np.searchsorted(counts.document, np.arange(len(counts.names) + 1))
        return {name: np.arange(starts[place], starts[place + 1]) for place, name in enumerate(counts.names)}

    def _count(self, country: str, by: By) -> Series:
        rows = tuple(Counting(self._calendar(by), "poisson-binomial", LEVEL, self._mended).rows(country))
        return Series(
            country=country,
            name=name_of(country),
            matched=sum(row.matched for row in rows),
            mean=float(sum(row.mean for row in rows)),
            best=sum(row.best for row in rows),
            rows=rows,
        )

    def _join(self, first: str, second: str) -> Joint:
        return Joint.of(self._counts, first, second)

    def _compare(self, first: str, second: str, by: By) -> tuple[PeriodComparison, ...]:
        return self._joint(first, second).periods(self._calendar(by))

    def _listed(self, row: int) -> ListedDocument:
        name = self._counts.names[self._counts.document[row]]
        given = self._texts.get(name)
        return ListedDocument(
            id=name,
            date=str(self._counts.day[row]),
            title=(given.title if given is not None else self._parts.titles.get(name)) or None,
            probability=float(self._counts.probability[row]),
            best=bool(self._counts.best[row]),
        )

    def _document_count(self, row: int) -> DocumentCount:
        probability = float(self._counts.probability[row])
        samples = self._store.sample_count
        country = self._counts.countries[self._counts.country[row]]
        return DocumentCount(
            country=country,
            name=name_of(country),
            probability=probability,
            samples_counted=round(probability * samples),
            samples=samples,
            best=bool(self._counts.best[row]),
        )
