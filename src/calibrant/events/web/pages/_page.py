"""What every page is: values at a path, made from a store and rendered by a template."""

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
    """What stands in an address after the question mark.

    Attributes
    ----------
    query
        Values by name.
    by
        How time is cut; None if it does not say.
    """

    query: Mapping[str, str]
    by: By | None

    @classmethod
    def of(cls, query: Mapping[str, str]) -> Address:
        """Raise InputError where time is cut in a way that is not known."""
        by: Any = query.get("by")
        if by is not None:
            one_of(by, PERIODS, "by")
        return cls(query, by)

    @property
    def rates(self) -> bool:
        """Whether charts are to show rates."""
        return self.query.get("rates") == "1"

    def text(self, name: str) -> str:
        """A value that has to be there."""
        found = self.query.get(name)
        if not found:
            raise InputError(f"the address has no {name}", "begin at /", code="parameter")
        return found

    def number(self, name: str) -> int:
        """A number of documents; 0 if it is not there."""
        text = self.query.get(name, "0")
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            raise InputError(f"{text!r:.20} is no number of documents", "begin at /", code="parameter")
        return int(text)


class Served:
    """What a page is for programs."""

    def to_json(self) -> str:
        """Return the values of the page as JSON, the schema version first."""
        values = {"schema_version": SCHEMA_VERSION, **plain(self)}
        return json.dumps(values, allow_nan=False, ensure_ascii=False)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return the values of the page as one row."""
        return [plain(self)]


@dataclass(frozen=True)
class Page(Served, ABC):
    """Base of the pages. `calibrant.events.web.pages.PAGES` has those that are served.

    Attributes
    ----------
    path
        Its address without the query.
    template
        In the folder ``templates``; it is given this as ``page``.
    about
        The store.
    """

    path: ClassVar[str]
    template: ClassVar[str]

    about: About

    @classmethod
    @abstractmethod
    def at(cls, store: StoreInMemory, address: Address) -> Self:
        """Make the page that an address asks for; raise InputError where there is none."""
