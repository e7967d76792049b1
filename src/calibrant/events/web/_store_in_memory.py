"""Store of events in memory, with its counts and the values computed from them once."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from calibrant.events.files.store import EventStore, StoredDocument, StoredEvidence
from calibrant.events.results.events import EventCount
from calibrant.events.verbs.tables import Calendar, Counting, country_codes, labelled_recalibrator
from calibrant.events.verbs.uncertain import texts_of
from calibrant.events.web._comparing import LEVEL, Joint, PeriodComparison
from calibrant.events.web._countries import name_of
from calibrant.exceptions import FormatError, InputError
from calibrant.lazy import from_extra
from calibrant.metrics.periods import By
from calibrant.progress import Progress
from calibrant.records.formats import as_rows
from calibrant.records.record import columns_of

if TYPE_CHECKING:
    import duckdb

Rows = NDArray[np.int64]

MOST_PERIODS = 60  # of the charts in the default view
REMEMBERED = 400
LISTING = "SELECT id, title, filename FROM read_parquet(?, filename = true) WHERE len(counts) > 0"
DOCUMENT = "SELECT date, evidence, title, text FROM read_parquet(?) WHERE id = ?"


@dataclass(frozen=True)
class About:
    """Description of the store on every page.

    Attributes
    ----------
    store
        Name of the folder.
    counted
        Counted documents in words, such as "documents in which a country attacks".
    verbs
        Verbs whose agents are found; empty if the store does not name them.
    documents
        Documents that were read, including those skipped because they cannot count.
    matched
        Documents that count for some country in some sample or in the 1-best structure.
    first, last
        Days of the first and last document; None in an empty store.
    samples
        Samples per document.
    level
        Coverage of all intervals.
    recalibrated
        True if rows have a total interval.
    finished
        True if the run that wrote the store has finished.
    problems
        Parts that cannot be read; no page shows their documents.
    """

    store: str
    counted: str
    verbs: tuple[str, ...]
    documents: int
    matched: int
    first: str | None
    last: str | None
    samples: int
    level: float
    recalibrated: bool
    finished: bool
    problems: tuple[str, ...]


def verbs_of(rules: Any) -> tuple[str, ...]:
    """Return the verbs of a store's rules; empty if the store does not name them."""
    verbs = rules.get("verbs") if isinstance(rules, dict) else None
    return tuple(str(verb) for verb in verbs) if isinstance(verbs, list) else ()


def counted(verbs: Sequence[str]) -> str:
    """Return a phrase for the counted documents.

    Examples
    --------
    >>> counted(["attack", "raid"]), counted(["sign"])
    ('documents in which a country attacks', 'documents in which a country is the agent of the verb sign')
    """
    if "attack" in verbs:
        return "documents in which a country attacks"
    verb = f"the verb {verbs[0]}" if len(verbs) == 1 else "a verb of the rules"
    return f"documents in which a country is the agent of {verb}"


@dataclass(frozen=True)
class Series:
    """Counts of a country by period.

    Attributes
    ----------
    country, name
        Code and display name.
    matched, mean, best
        Sums over all periods.
    rows
        One row per period, including empty periods.
    """

    country: str
    name: str
    matched: int
    mean: float
    best: int
    rows: tuple[EventCount, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per period."""
        return as_rows(*columns_of(self.rows)) if self.rows else []


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

    Raises
    ------
    MissingExtraError
        If DuckDB is not installed.
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
            found = self._cursor().execute(DOCUMENT, [glob.escape(file), name]).fetchone()
            return None if found is None else _record(name, found)
        except (self._failure, TypeError) as error:
            message = "the part of the store is missing or damaged"
            hint = "run `calibrant events run` again, then restart the explorer"
            raise FormatError(message, hint, code="file-truncated", file=file) from error


def _record(name: str, values: tuple[Any, ...]) -> StoredDocument:
    day, evidence, title, text = values
    pairs = tuple(StoredEvidence(**pair) for pair in evidence)
    if any(None in pair for pair in pairs):
        raise TypeError("an empty field")
    return StoredDocument(name, day, evidence=pairs, title=title, text=text)


class StoreInMemory:
    """Data of the pages; the parameters are those of `calibrant.events.web.Explorer`.

    Attributes
    ----------
    counts : Counts
        Counts, one row per pair of a document and a country.
    countries : tuple of str
        Codes, by decreasing mean.
    series, joint, comparison : callable
        Functions that return the `Series` of (country, by), the `Joint` of two countries, and the periods of
        (first, second, by). Results are cached.
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
        self._recalibrator = None if dev is None else labelled_recalibrator(dev, 0, self._store.sample_count)
        if progress is not None:
            progress("reading the store", 0, None)
        self.counts = self._store.counts()
        self._parts = PartReader(self._store.parts)
        self._texts = (
            {} if documents is None else texts_of(documents, set(self.counts.names), progress=progress)
        )
        self._calendars: dict[By, Calendar] = {}
        self.series = lru_cache(REMEMBERED)(self._count)
        self.joint = lru_cache(REMEMBERED)(partial(Joint.of, self.counts))
        self.comparison = lru_cache(REMEMBERED)(self._compare)
        self.countries = country_codes(None, self.counts)

    @cached_property
    def about(self) -> About:
        """Return the description of the store."""
        days, documents = self._store.seen()
        verbs = verbs_of(self._store.manifest.settings.get("rules"))
        return About(
            store=self._store.path.resolve().name,
            counted=counted(verbs),
            verbs=verbs,
            documents=int(documents.sum()),
            matched=len(self.counts.names),
            first=str(days[0]) if len(days) else None,
            last=str(days[-1]) if len(days) else None,
            samples=self._store.sample_count,
            level=LEVEL,
            recalibrated=self._recalibrator is not None,
            finished=self._store.manifest.finished,
            problems=self._store.problems,
        )

    @cached_property
    def default_by(self) -> By:
        """Return the shortest length of a period that a chart shows well."""
        fitting = [by for by, periods in self._cuts.items() if periods <= MOST_PERIODS]
        return fitting[0] if fitting else "year"

    @cached_property
    def _cuts(self) -> dict[By, int]:
        """Return the number of periods of each length, if small: a wrong date can span thousands of years."""
        found: dict[By, int] = {}
        for by in get_args(By):
            with suppress(InputError):
                found[by] = len(self.calendar(by).periods)
        return found

    @cached_property
    def rows_by_name(self) -> dict[str, Rows]:
        """Return the rows of the counts of each document."""
        counts = self.counts
        starts = np.searchsorted(counts.document, np.arange(len(counts.names) + 1))
        return {name: np.arange(starts[place], starts[place + 1]) for place, name in enumerate(counts.names)}

    def calendar(self, by: By) -> Calendar:
        """Return the calendar of a length of periods."""
        if by not in self._calendars:
            self._calendars[by] = Calendar.of(self._store, by)
        return self._calendars[by]

    def title(self, name: str) -> str | None:
        """Return the title of a document, or None."""
        given = self._texts.get(name)
        return (given.title if given is not None else self._parts.titles.get(name)) or None

    def document_of(self, name: str) -> StoredDocument:
        """Return a document that counts, with its evidence, title and text."""
        day = self.counts.day[self.rows_by_name[name][0]].item()
        found = self._parts.document(name) or StoredDocument(name, day)
        given = self._texts.get(name)
        return found if given is None else replace(found, title=given.title or None, text=given.text)

    def _count(self, country: str, by: By) -> Series:
        rows = tuple(Counting(self.calendar(by), "poisson-binomial", LEVEL, self._recalibrator).rows(country))
        return Series(
            country=country,
            name=name_of(country),
            matched=sum(row.matched for row in rows),
            mean=float(sum(row.count.estimate or 0.0 for row in rows)),
            best=sum(row.best for row in rows),
            rows=rows,
        )

    def _compare(self, first: str, second: str, by: By) -> tuple[PeriodComparison, ...]:
        return self.joint(first, second).periods(self.calendar(by))
