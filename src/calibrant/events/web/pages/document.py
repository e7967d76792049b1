"""One document: for whom it counts, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

from calibrant.events.files.store import StoredEvidence
from calibrant.events.web._countries import name_of
from calibrant.events.web._store_in_memory import StoreInMemory
from calibrant.events.web.pages._page import Address, Page
from calibrant.exceptions import InputError
from calibrant.records.record import plain

NO_TEXT = (
    "The store holds no texts. They are shown with `calibrant explore STORE --documents DOCS`, or by a store "
    "that was made with `--with-text`."
)
OTHER_TEXT = (
    "The evidence does not fit this text: it is not the one that the store was made from, "
    "and no mention is marked."
)


@dataclass(frozen=True)
class Pair:
    """Two mentions that may be of one entity.

    Attributes
    ----------
    number
        From 1, over all countries of the document.
    country, verb, probability
        Of which country the one mention is, what the other does, and the share of the samples in which the
        two are one entity.
    mention_sentence, agent_sentence
        From 1.
    mention_span, agent_span
        Characters of the text, the end exclusive.
    mention, agent
        Their words; None without a text.
    """

    number: int
    country: str
    verb: str
    probability: float
    mention_sentence: int
    mention_span: tuple[int, int]
    agent_sentence: int
    agent_span: tuple[int, int]
    mention: str | None
    agent: str | None


@dataclass(frozen=True)
class Piece:
    """A stretch of text between two ends of marks.

    Attributes
    ----------
    text
        Its characters.
    mentions, agents
        Numbers of the pairs of which it is the mention of a country, or the agent.
    ends
        Numbers of the pairs one of whose mentions ends here.
    """

    text: str
    mentions: tuple[int, ...] = ()
    agents: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()


def pairs_of(evidence: Sequence[StoredEvidence], text: str | None) -> tuple[Pair, ...]:
    """Evidence as it is shown, with words where there is a text that fits."""
    spans = [(each.mention_from, each.mention_to) for each in evidence]
    spans += [(each.agent_from, each.agent_to) for each in evidence]
    fitting = text if text is not None and _fits(text, spans) else None
    return tuple(
        Pair(
            number=number,
            country=each.country,
            verb=each.verb,
            probability=each.probability,
            mention_sentence=each.mention_sentence + 1,
            mention_span=(each.mention_from, each.mention_to),
            agent_sentence=each.agent_sentence + 1,
            agent_span=(each.agent_from, each.agent_to),
            mention=_words(fitting, each.mention_from, each.mention_to),
            agent=_words(fitting, each.agent_from, each.agent_to),
        )
        for number, each in enumerate(evidence, 1)
    )


def pieces_of(text: str, pairs: Sequence[Pair]) -> tuple[Piece, ...]:
    """The text, cut where a mention begins or ends."""
    mentions, agents = [each.mention_span for each in pairs], [each.agent_span for each in pairs]
    if not _fits(text, [*mentions, *agents]):
        return (Piece(text),)
    cuts = sorted({0, len(text)}.union(*mentions, *agents))
    return tuple(
        Piece(
            text[start:end],
            _covering(start, mentions),
            _covering(start, agents),
            tuple(
                number
                for number, spans in enumerate(zip(mentions, agents, strict=True), 1)
                if end in (spans[0][1], spans[1][1])
            ),
        )
        for start, end in pairwise(cuts)
    )


def note_of(text: str | None, pairs: Sequence[Pair]) -> str:
    """What is to be known about the text."""
    if text is None:
        return NO_TEXT
    spans = [span for each in pairs for span in (each.mention_span, each.agent_span)]
    return "" if _fits(text, spans) else OTHER_TEXT


def _covering(place: int, spans: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(number for number, (start, end) in enumerate(spans, 1) if start <= place < end)


def _fits(text: str, spans: Sequence[tuple[int, int]]) -> bool:
    return all(0 <= start < end <= len(text) for start, end in spans)


def _words(text: str | None, start: int, end: int) -> str | None:
    return None if text is None else " ".join(text[start:end].split())


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
