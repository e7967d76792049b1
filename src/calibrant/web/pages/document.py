"""One document: for whom it counts, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from calibrant.exceptions import InputError
from calibrant.results._base import Result, plain
from calibrant.web._countries import name_of
from calibrant.web._evidence import Pair, Piece, note_of, pairs_of, pieces_of
from calibrant.web._store_in_memory import StoreInMemory
from calibrant.web.pages._page import Address, Page


@dataclass(frozen=True)
class DocumentCount(Result):
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
        Pieces whose texts make up the whole; empty without a text.
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
    text: tuple[Piece, ...]
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Return the page with its text in one piece."""
        whole = "".join(piece.text for piece in self.text) if self.text else None
        return {**super().to_dict(), "text": whole}

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
        return cls(
            about=store.about,
            id=name,
            date=str(store.counts.day[rows[0]]),
            title=found.title,
            counts=tuple(_count(store, int(row)) for row in rows),
            pairs=pairs_of(found.evidence, found.text),
            text=pieces_of(found.text, found.evidence),
            note=note_of(found.text, found.evidence),
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
