"""One document: for whom it counts, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from calibrant.events.web._countries import name_of
from calibrant.events.web._evidence import Pair, Piece, note_of, pairs_of, pieces_of
from calibrant.events.web._store_in_memory import StoreInMemory
from calibrant.events.web.pages._page import Address, Page
from calibrant.exceptions import InputError
from calibrant.records.record import plain


@dataclass(frozen=True)
class DocumentCount:
    """Whether a document counts for a country.

    Attributes
    ----------
    country, name
        Its code, and what people call it.
    probability
        Share of the samples in which it counts.
    samples_counted, samples
        The same as whole numbers.
    best
        Whether it counts in the 1-best structure.
    """

    country: str
    name: str
    probability: float
    samples_counted: int
    samples: int
    best: bool


@dataclass(frozen=True)
class DocumentPage(Page):
    """A document: for whom it counts, and why.

    Attributes
    ----------
    about
        The store.
    id, date, title
        The title is None where texts are not there.
    counts
        One a country.
    pairs
        The evidence, by country, the most probable first.
    text
        The whole text; None where it is not there.
    note
        What is to be known about the text; empty if nothing.
    """

    path: ClassVar[str] = "/document"
    template: ClassVar[str] = "document.html"

    id: str
    date: str
    title: str | None
    counts: tuple[DocumentCount, ...]
    pairs: tuple[Pair, ...]
    text: str | None
    note: str

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The text, cut where a mention begins or ends."""
        return () if self.text is None else pieces_of(self.text, self.pairs)

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a pair of mentions."""
        return [
            {name: value for name, value in plain(pair).items() if not name.endswith("_span")}
            for pair in self.pairs
        ]

    @classmethod
    def at(cls, store: StoreInMemory, address: Address) -> Self:
        """Make the page that an address asks for."""
        return cls.of(store, address.text("id"))

    @classmethod
    def of(cls, store: StoreInMemory, name: str) -> Self:
        """Make the page of a document, by its id."""
        rows = store.rows_by_name.get(name)
        if rows is None:
            hint = "only documents that may count for a country are kept"
            raise InputError(f"there is no document {name!r:.80}", hint, code="parameter")
        found = store.document_of(name)
        pairs = pairs_of(found.evidence, found.text)
        return cls(
            about=store.about,
            id=name,
            date=str(store.counts.day[rows[0]]),
            title=found.title,
            counts=tuple(_count(store, int(row)) for row in rows),
            pairs=pairs,
            text=found.text,
            note=note_of(found.text, pairs),
        )


def _count(store: StoreInMemory, row: int) -> DocumentCount:
    probability = float(store.counts.probability[row])
    samples = store.about.samples
    country = store.counts.countries[store.counts.country[row]]
    return DocumentCount(
        country=country,
        name=name_of(country),
        probability=probability,
        samples_counted=round(probability * samples),
        samples=samples,
        best=bool(store.counts.best[row]),
    )
