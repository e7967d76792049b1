"""Base of the pages: values at a path, computed from a store and rendered by a template."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from calibrant._checks import one_of
from calibrant.events.web._store_in_memory import About, StoreInMemory
from calibrant.exceptions import InputError
from calibrant.metrics.periods import PERIODS, By
from calibrant.records.record import SCHEMA_VERSION, plain


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
    def rates(self) -> bool:
        """Return True if charts show rates."""
        return self.query.get("rates") == "1"

    def text(self, name: str) -> str:
        """Return a required value."""
        found = self.query.get(name)
        if not found:
            raise InputError(f"the address has no {name}", "start at /", code="parameter")
        return found

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
class Page(Served, ABC):
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

    @classmethod
    @abstractmethod
    def at(cls, store: StoreInMemory, address: Address) -> Self:
        """Return the page of an address; raise `InputError` if there is no page."""
