"""The explorer: a store of events in memory, and the pages made from it."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import one_of
from calibrant.events.files.readings import Readings
from calibrant.events.files.store import EventStore, StoredDocument
from calibrant.events.files.store_parts import stored_evidence
from calibrant.events.lexicon import display_name
from calibrant.events.results.corrected import CorrectedEvents
from calibrant.events.rules import AGENT, DYAD, TARGET
from calibrant.events.verbs.reading import are_readings, check_readings, corrected_events
from calibrant.events.verbs.tables import Calendar, Counting, country_codes, labelled_recalibrator
from calibrant.events.verbs.uncertain import texts_of
from calibrant.events.web._comparing import LEVEL, Joint, PeriodComparison
from calibrant.events.web._countries import find, nouns_of
from calibrant.events.web.pages import About
from calibrant.events.web.pages.comparison import ComparisonPage
from calibrant.events.web.pages.country import CountryPage, Series
from calibrant.events.web.pages.document import (
    DocumentCount,
    DocumentPage,
    decisive,
    note_of,
    pairs_of,
    why_below_one,
    why_uncertain,
)
from calibrant.events.web.pages.documents import LISTED, ORDERS, DocumentsPage, ListedDocument
from calibrant.events.web.pages.overview import TOP, OverviewPage
from calibrant.events.web.pages.reading import ReadingPage
from calibrant.exceptions import FormatError, InputError
from calibrant.lazy import from_extra
from calibrant.metrics.periods import By
from calibrant.progress import Progress, tell

if TYPE_CHECKING:
    import duckdb

Rows = NDArray[np.int64]

MOST_PERIODS = 60  # of the charts in the default view
REMEMBERED = 400
LISTING = "SELECT id, title, filename FROM read_parquet(?, filename = true) WHERE len(counts) > 0"
DOCUMENT = "SELECT date, evidence, title, text FROM read_parquet(?) WHERE id = ?"


def verbs_of(rules: Any) -> tuple[str, ...]:
    """Return the verbs of a store's rules; empty if the store does not name them."""
    verbs = rules.get("verbs") if isinstance(rules, dict) else None
    return tuple(str(verb) for verb in verbs) if isinstance(verbs, list) else ()


def counted(verbs: Sequence[str], role: str = AGENT, noun: str = "country") -> str:
    """Return a phrase for the counted documents.

    Examples
    --------
    >>> counted(["attack", "raid"]), counted(["sign"], noun="actor")
    ('documents in which a country attacks', 'documents in which an actor is the agent of the verb sign')
    >>> counted(["attack"], role="dyad")
    'documents in which one attacks another'
    """
    one = "an actor" if noun == "actor" else f"a {noun}"
    if "attack" in verbs:
        done = {AGENT: f"{one} attacks", TARGET: f"{one} is attacked", DYAD: "one attacks another"}
        return f"documents in which {done[role]}"
    verb = f"the verb {verbs[0]}" if len(verbs) == 1 else "a verb of the rules"
    done = {
        AGENT: f"{one} is the agent",
        TARGET: f"{one} is the target",
        DYAD: "the two are agent and target",
    }
    return f"documents in which {done[role]} of {verb}"


class PartReader:
    """Reader of documents that count.

    Parts that cannot be read are left out; `EventStore.problems` names them.

    Parameters
    ----------
    parts
        Files of the store, from `EventStore.parts`.

    Attributes
    ----------
    titles : dict
        Titles by id, of the documents with a title.
    """

    def __init__(self, parts: Iterable[Path]) -> None:
        library = from_extra("duckdb", "the explorer needs DuckDB", "web")
        self._failure = library.Error
        settings: dict[str, str | bool | int | float | list[str]] = {
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        }
        self._connection: duckdb.DuckDBPyConnection = library.connect(":memory:", config=settings)
        self.titles: dict[str, str] = {}
        self._place: dict[str, str] = {}
        for name, title, file in self._listing([os.path.abspath(file) for file in parts]):
            self._place[name] = file
            if title:
                self.titles[name] = title

    def _cursor(self) -> duckdb.DuckDBPyConnection:
        return self._connection.cursor()  # a connection belongs to one thread at a time

    def _listing(self, files: list[str]) -> list[tuple[str, str | None, str]]:
        if not files:
            return []
        try:
            return self._cursor().execute(LISTING, [[glob.escape(file) for file in files]]).fetchall()
        except self._failure:
            if len(files) == 1:
                return []
            half = len(files) // 2
            return self._listing(files[:half]) + self._listing(files[half:])

    def document(self, name: str) -> StoredDocument | None:
        """Return a document's day, evidence, title and text, or None if it does not exist."""
        file = self._place.get(name)
        if file is None:
            return None
        try:
            row = self._cursor().execute(DOCUMENT, [glob.escape(file), name]).fetchone()
            return None if row is None else _record(name, row)
        except (self._failure, TypeError) as error:
            message = "the part of the store is missing or damaged"
            hint = "run `calibrant events run` again, then restart the explorer"
            raise FormatError(message, hint, code="file-truncated", file=file) from error


def _record(name: str, values: tuple[Any, ...]) -> StoredDocument:
    day, evidence, title, text = values
    pairs = tuple(map(stored_evidence, evidence))
    if any(None in pair for pair in pairs):
        raise TypeError("an empty field")
    return StoredDocument(name, day, evidence=pairs, title=title, text=text)


class Explorer:
    r"""Explorer of a store of events.

    Counts are read once and kept in memory; texts and evidence are read when a document is requested.

    Parameters
    ----------
    store
        Folder of the store.
    documents
        File of the run's documents, for texts that the store does not contain.
    labels
        Labeled documents, as in `calibrant.events.event_table`; they add the total interval. Or readings, as
        in `calibrant.events.corrected_events`; they add corrected counts of their country.
    readings
        Documents to read, whose answers are written; they add the page ``/read`` and, when enough are read,
        corrected counts.
    progress
        Called with a stage, the number of documents done, and their total (None if unknown).

    Attributes
    ----------
    about : About
        Description of the store.
    counts : Counts
        Counts, one row per pair of a document and a country.
    countries : tuple of str
        Codes, by decreasing mean.
    calendar, series, joint, comparison : callable
        Functions that return the `Calendar` of (by), the `Series` of (country, by), the `Joint` of
        (first, second, by), and the periods of (first, second, by), each also of a range (since, until).
        Results are cached.

    Examples
    --------
    >>> from calibrant.data import event_store
    >>> round(float(Explorer(event_store("reuters-21578")).country("IRN", by="year").series.overall.count), 2)
    14.47
    """

    def __init__(
        self,
        store: str | os.PathLike[str],
        *,
        documents: str | os.PathLike[str] | None = None,
        labels: Any = None,
        readings: Readings | None = None,
        progress: Progress | None = None,
    ) -> None:
        self._store = EventStore(store)
        self._recalibrator = self._caution = None
        self._answers = None if readings is None else readings.path
        if labels is not None and are_readings(labels):
            self._answers = labels
        elif labels is not None:
            self._recalibrator, self._caution = labelled_recalibrator(labels, 0, self._store.sample_count)
        tell(progress, "reading the store")
        self.counts = self._store.counts()
        self._parts = PartReader(self._store.parts)
        names = {*self.counts.names, *(() if readings is None else readings.items)}
        if readings is not None:
            check_readings(self._store, readings)
        given = partial(texts_of, self._store, progress=progress)
        self._texts = {} if documents is None else given(documents, names)
        self.readings = readings
        if readings is not None:
            self._read_texts = {name: given.text for name, given in self._texts.items()} | readings.texts()
            missing = [item for item in readings.items if item not in self._read_texts]
            if missing:
                message = (
                    f"there is no text of {len(missing):,} documents to read, such as {missing[0]!r:.60}"
                )
                hint = "give the documents of the run (`documents`)"
                raise InputError(message, hint, code="missing-value", file=os.fspath(readings.path))
        self.calendar = lru_cache(partial(Calendar.of, self._store))
        self.series = lru_cache(REMEMBERED)(self._count)
        self.joint = lru_cache(REMEMBERED)(self._joint)
        self.comparison = lru_cache(REMEMBERED)(self._compare)
        self._corrected = lru_cache(REMEMBERED)(self._correct)
        self.countries = country_codes(None, self.counts)

    def prepare(self) -> None:
        """Compute the counts of the overview in advance, so that the first request is fast."""
        for by in self._lengths:
            self.overview(by=by)

    def overview(
        self,
        *,
        by: By | None = None,
        rates: bool = False,
        since: str | None = None,
        until: str | None = None,
        own_scales: bool = False,
    ) -> OverviewPage:
        """Return the page of the countries with the most documents.

        Parameters
        ----------
        by
            Length of a period; None: the shortest one that a chart shows well.
        rates
            True if charts show counts divided by the documents of the period.
        since, until
            First and last period, as in `calibrant.events.event_table`.
        own_scales
            True if each chart has its own scale.

        Raises
        ------
        InputError
            If a period is invalid, or the store has no documents from ``since`` to ``until``.
        """
        by = by or self.fitting(since, until)
        countries = country_codes(None, self.calendar(by, since, until).counts)
        return OverviewPage(
            about=self.about,
            by=by,
            rates=rates,
            since=since,
            until=until,
            own_scales=own_scales,
            countries=countries,
            series=tuple(self.series(country, by, since, until) for country in countries[:TOP]),
            corrected=self.corrected(None, by, since, until),
        )

    def country(
        self,
        country: str,
        *,
        by: By | None = None,
        rates: bool = False,
        since: str | None = None,
        until: str | None = None,
    ) -> CountryPage:
        """Return the page of one country.

        Parameters
        ----------
        country
            Code or name of the country.
        by, rates, since, until
            As in `overview`.

        Raises
        ------
        InputError
            As in `overview`, and if the store has no document of the country, or several countries fit the
            name.
        """
        by = by or self.fitting(since, until)
        country = find(country, self.countries)
        return CountryPage(
            about=self.about,
            by=by,
            rates=rates,
            since=since,
            until=until,
            countries=self.countries,
            series=self.series(country, by, since, until),
            corrected=self.corrected(country, by, since, until),
        )

    def compare(
        self,
        first: str,
        second: str,
        *,
        by: By | None = None,
        rates: bool = False,
        since: str | None = None,
        until: str | None = None,
    ) -> ComparisonPage:
        """Return the page that compares two countries, with the probability that one has more documents.

        Parameters
        ----------
        first, second
            Codes or names of the countries.
        by, rates, since, until
            As in `overview`.

        Raises
        ------
        InputError
            As in `overview`, and if the store has no document of one country, or the countries are the same.
        """
        first, second = find(first, self.countries), find(second, self.countries)
        if first == second:
            raise InputError("the two countries are the same", "choose two countries", code="parameter")
        by = by or self.fitting(since, until)
        joint = self.joint(first, second, by, since, until)
        return ComparisonPage(
            about=self.about,
            by=by,
            rates=rates,
            since=since,
            until=until,
            countries=self.countries,
            first=self.series(first, by, since, until),
            second=self.series(second, by, since, until),
            both=joint.both,
            together=joint.together,
            periods=self.comparison(first, second, by, since, until),
        )

    def documents(
        self,
        country: str,
        *,
        by: By | None = None,
        rates: bool = False,
        since: str | None = None,
        until: str | None = None,
        period: str | None = None,
        order: str = "uncertain",
        offset: int = 0,
    ) -> DocumentsPage:
        """Return the page of documents that may count for a country.

        Parameters
        ----------
        country
            Code or name of the country.
        by, rates, since, until
            As in `overview`; links to other pages keep them.
        period
            One period; None: all from ``since`` to ``until``.
        order
            ``uncertain`` (nearest 50 % first), ``probability`` or ``date``.
        offset
            Number of documents to skip.
        """
        one_of(order, ORDERS, "order")
        by = by or self.fitting(since, until)
        country = find(country, self.countries)
        calendar = self.calendar(by, since, until)
        rows = calendar.counts.rows_of(country)
        if period is not None:
            if period not in calendar.periods:
                hint = f"the store covers {self.about.first} to {self.about.last}"
                raise InputError(f"there is no {by} {period!r:.20}", hint, code="parameter")
            rows = rows[calendar.place[rows] == calendar.periods.index(period)]
        rows = rows + calendar.rows.start
        chance = self.counts.probability[rows]
        key = {"uncertain": np.abs(chance - 0.5), "probability": -chance, "date": np.zeros(len(rows))}[order]
        listed = rows[np.argsort(key, kind="stable")][offset : offset + LISTED]
        return DocumentsPage(
            about=self.about,
            by=by,
            rates=rates,
            since=since,
            until=until,
            country=country,
            name=display_name(country),
            period=period,
            order=order,
            offset=offset,
            total=len(rows),
            documents=tuple(self._listed(int(row)) for row in listed),
        )

    def document(self, name: str) -> DocumentPage:
        """Return the page of a document, with the countries for which it counts and the evidence.

        Parameters
        ----------
        name
            Id of the document.
        """
        rows = self.rows_by_name.get(name)
        if rows is None:
            hint = "the store contains only documents that may count for a country"
            raise InputError(f"there is no document {name!r:.80}", hint, code="parameter")
        stored = self.document_of(name)
        pairs = pairs_of(stored.evidence, stored.text)
        counts = sorted((self._document_count(int(row)) for row in rows), key=lambda each: -each.probability)
        sampled = self._store.manifest.settings.get("trees") == "sampled"
        names = {each.country: each.name for each in counts}
        first = {pair.country: pair for pair in reversed(pairs)}
        explained = []
        for each in counts:
            why: tuple[str, ...] = ()
            if self.about.role != DYAD:
                why = why_below_one(each.country, each.probability, pairs, names)
            if each.country in first:
                why += why_uncertain(first[each.country], sampled=sampled)
            explained.append(replace(each, why=why, line=decisive(each.country, pairs, stored.text)))
        return DocumentPage(
            about=self.about,
            id=name,
            date=str(self.counts.day[rows[0]]),
            title=stored.title,
            counts=tuple(explained),
            pairs=pairs,
            text=stored.text,
            note=note_of(stored.text, pairs),
        )

    def reading(self, key: str, item: str | None = None) -> ReadingPage:
        """Return the page of the next document to read, or the corrected counts after the last one.

        Parameters
        ----------
        key
            Value that the form must send back.
        item
            Document to show again; None: the first one that was not read.
        """
        readings = self.readings
        if readings is None:
            hint = "start the explorer with the documents to read (`readings`)"
            raise InputError("there is nothing to read", hint, code="parameter")
        shown = readings.next() if item is None else item
        if shown is not None and shown not in readings.items:
            raise InputError(f"{shown!r:.40} is not to be read", "start at /read", code="parameter")
        corrected, problem = None, ""
        if shown is None:
            corrected, problem = self._corrected(readings.done, self.fitting(), None, None)
        place = readings.items.index(shown) if shown is not None else len(readings.items)
        return ReadingPage(
            about=self.about,
            country=readings.country,
            name=display_name(readings.country),
            id=shown,
            title=None if shown not in self._texts else self._texts[shown].title or None,
            text=None if shown is None else self._read_texts[shown],
            label=readings.labels[place] if shown is not None else None,
            done=readings.done,
            total=len(readings.items),
            previous=readings.items[place - 1] if shown is not None and place else None,
            key=key,
            corrected=corrected,
            problem=problem,
        )

    @cached_property
    def about(self) -> About:
        """Return the description of the store."""
        days, documents = self._store.seen()
        rules = self._store.manifest.settings.get("rules")
        verbs = verbs_of(rules)
        role = self._store.role
        noun, nouns = nouns_of(self.countries)
        return About(
            store=self._store.path.resolve().name,
            counted=counted(verbs, role, noun),
            role=role,
            noun=noun,
            nouns=nouns,
            verbs=verbs,
            documents=int(documents.sum()),
            matched=len(self.counts.names),
            first=str(days[0]) if len(days) else None,
            last=str(days[-1]) if len(days) else None,
            samples=self._store.sample_count,
            sampled=self._store.sampled,
            level=LEVEL,
            recalibrated=self._recalibrator is not None,
            labels_warning=self._caution,
            finished=self._store.manifest.finished,
            problems=self._store.problems,
        )

    def fitting(self, since: str | None = None, until: str | None = None) -> By:
        """Return the shortest length of a period that a chart shows well."""
        for by in self._lengths:
            if len(self.calendar(by, since, until).periods) <= MOST_PERIODS:
                return by
        return "year"

    @cached_property
    def _lengths(self) -> tuple[By, ...]:
        """Return the lengths of periods of which the store has not too many."""
        lengths: list[By] = []
        for by in get_args(By):
            with suppress(InputError):  # one wrong date can span thousands of years
                lengths += [by] if self.calendar(by).periods else []
        return tuple(lengths)

    def corrected(
        self, country: str | None, by: By, since: str | None = None, until: str | None = None
    ) -> CorrectedEvents | None:
        """Return the counts that readings corrected; None for another country or too few readings.

        Enough are those without a warning on the count over all documents.
        """
        if self._answers is None:
            return None
        done = 0 if self.readings is None else self.readings.done
        whole, _ = self._corrected(done, by, None, None)
        if whole is None or country not in (None, whole.country) or whole.counts[0].few_warning:
            return None
        return whole if since is until is None else self._corrected(done, by, since, until)[0]

    def _correct(
        self, done: int, by: By, since: str | None, until: str | None
    ) -> tuple[CorrectedEvents | None, str]:
        """Return the corrected counts, or why there are none; the number of answers is for the cache."""
        try:
            return corrected_events(
                self._store, self._answers, by=by, level=LEVEL, since=since, until=until
            ), ""
        except InputError as error:
            return None, str(error)

    @cached_property
    def rows_by_name(self) -> dict[str, Rows]:
        """Return the rows of the counts of each document."""
        counts = self.counts
        starts = np.searchsorted(counts.document, np.arange(len(counts.names) + 1))
        return {name: np.arange(starts[place], starts[place + 1]) for place, name in enumerate(counts.names)}

    def title(self, name: str) -> str | None:
        """Return the title of a document, or None."""
        given = self._texts.get(name)
        return (given.title if given is not None else self._parts.titles.get(name)) or None

    def document_of(self, name: str) -> StoredDocument:
        """Return a document that counts, with its evidence, title and text."""
        day = self.counts.day[self.rows_by_name[name][0]].item()
        stored = self._parts.document(name) or StoredDocument(name, day)
        given = self._texts.get(name)
        return stored if given is None else replace(stored, title=given.title or None, text=given.text)

    def _count(self, country: str, by: By, since: str | None = None, until: str | None = None) -> Series:
        counting = Counting(self.calendar(by, since, until), "poisson-binomial", LEVEL, self._recalibrator)
        (overall,) = counting.overall([country])
        return Series(country, display_name(country), overall, tuple(counting.rows(country)))

    def _joint(
        self, first: str, second: str, by: By, since: str | None = None, until: str | None = None
    ) -> Joint:
        return Joint.of(self.calendar(by, since, until).counts, self._recalibrator, first, second)

    def _compare(
        self, first: str, second: str, by: By, since: str | None = None, until: str | None = None
    ) -> tuple[PeriodComparison, ...]:
        return self.joint(first, second, by, since, until).periods(self.calendar(by, since, until))

    def _listed(self, row: int) -> ListedDocument:
        name = self.counts.names[self.counts.document[row]]
        return ListedDocument(
            id=name,
            date=str(self.counts.day[row]),
            title=self.title(name),
            probability=float(self.counts.probability[row]),
            best=bool(self.counts.best[row]),
        )

    def _document_count(self, row: int) -> DocumentCount:
        probability = float(self.counts.probability[row])
        samples = self.about.samples
        country = self.counts.countries[self.counts.country[row]]
        return DocumentCount(
            country=country,
            name=display_name(country),
            probability=probability,
            samples_counted=round(probability * samples),
            samples=samples,
            best=bool(self.counts.best[row]),
        )
