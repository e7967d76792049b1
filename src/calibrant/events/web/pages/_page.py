"""Base of the pages: values at a path, computed from a store and rendered by a template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from calibrant._checks import one_of
from calibrant.events.results.events import store_notes
from calibrant.exceptions import InputError
from calibrant.metrics.periods import PERIODS, By
from calibrant.records.record import SCHEMA_VERSION, plain

MOST_YEARS = 500


@dataclass(frozen=True)
class Address:
    """Query of an address.

    Attributes
    ----------
    query
        Values by name.
    by
        Length of a period; None if the query does not give it.
    """

    query: Mapping[str, str]
    by: By | None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Address:
        """Return the parsed query; raise `InputError` if the length of a period is unknown."""
        by: Any = query.get("by")
        if by is not None:
            one_of(by, PERIODS, "by")
        return cls(query, by)

    @property
    def shown(self) -> dict[str, Any]:
        """Return which periods a page shows, and how: arguments of the explorer's methods."""
        return {
            "by": self.by,
            "rates": self.flag("rates"),
            "since": self.query.get("from") or None,
            "until": self.query.get("to") or None,
        }

    def flag(self, name: str) -> bool:
        return self.query.get(name) == "1"

    def text(self, name: str) -> str:
        """Return a required value."""
        value = self.query.get(name)
        if not value:
            raise InputError(f"the address has no {name}", "start at /", code="parameter")
        return value

    def number(self, name: str) -> int:
        """Return a number of documents; 0 if the query does not give it."""
        text = self.query.get(name, "0")
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise InputError(f"{text!r:.20} is not a number of documents", "start at /", code="parameter")
        return int(text)


class Served:
    """Values of a page as JSON and rows."""

    def to_json(self) -> str:
        """Return the values of the page as JSON, the schema version first."""
        values = {"schema_version": SCHEMA_VERSION, **plain(self)}
        return json.dumps(values, allow_nan=False, ensure_ascii=False)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the values of the page as one row."""
        return [plain(self)]


@dataclass(frozen=True)
class About:
    """Description of the store on every page.

    Attributes
    ----------
    store
        Name of the folder.
    counted
        Counted documents in words, such as "documents in which a country attacks".
    role
        Role of the counted countries: ``agent``, ``target`` or ``dyad``.
    noun, nouns
        Words for one and for several codes of the store, such as "country" and "countries".
    verbs
        Verbs of the rules; empty if the store does not name them.
    documents
        Documents that were read, including those skipped because they cannot count.
    matched
        Documents that count for some country in some sample or in the 1-best structure.
    first, last
        Days of the first and last document; None in an empty store.
    samples
        Samples per document.
    sampled
        Parts in which the samples of a document differ, such as "trees and entities".
    level
        Coverage of all intervals.
    recalibrated
        True if rows have a total interval.
    labels_warning
        Warning on the labeled documents, or None.
    finished
        True if the run that wrote the store has finished.
    problems
        Parts that cannot be read; no page shows their documents.
    """

    store: str
    counted: str
    role: str
    noun: str
    nouns: str
    verbs: tuple[str, ...]
    documents: int
    matched: int
    first: str | None
    last: str | None
    samples: int
    sampled: str
    level: float
    recalibrated: bool
    labels_warning: str | None
    finished: bool
    problems: tuple[str, ...]

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes on the store and the labels, except for problems, which are a separate list."""
        notes = store_notes(self.finished, (), self.samples)
        return notes if self.labels_warning is None else (*notes, self.labels_warning)


@dataclass(frozen=True)
class Page(Served):
    """Base of the pages; `calibrant.events.web.pages.PAGES` lists the pages that are served.

    Attributes
    ----------
    path
        Address of the page, without the query.
    template
        File in the folder ``templates``, which gets the page as ``page``.
    about
        Description of the store.
    """

    path: ClassVar[str]
    template: ClassVar[str]

    about: About


@dataclass(frozen=True)
class PeriodsPage(Page):
    """Base of the pages that show counts by period.

    Attributes
    ----------
    by
        Length of a period: ``week``, ``month``, ``quarter`` or ``year``.
    rates
        True if the charts show rates; the rows contain counts and rates.
    since, until
        First and last period, as the address names them; None: from the first, or to the last document.
    """

    by: str
    rates: bool
    since: str | None
    until: str | None

    @property
    def kept(self) -> dict[str, Any]:
        """Return the part of the query that links to other pages keep."""
        return {"by": self.by, "rates": self.rates, "from": self.since, "to": self.until}

    @property
    def years(self) -> tuple[str, ...]:
        """Return the years of the store from which a reader can choose; none if there are too many."""
        if self.about.first is None or self.about.last is None:
            return ()
        first, last = int(self.about.first[:4]), int(self.about.last[:4])
        return tuple(f"{year:04}" for year in range(first, last + 1)) if last - first < MOST_YEARS else ()
