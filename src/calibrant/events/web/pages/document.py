"""The page of one document, with the countries for which it counts and the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from calibrant.events.files.store import StoredEvidence
from calibrant.events.web.pages._page import Page
from calibrant.records.record import plain

NO_TEXT = (
    "The store contains no texts. To show them, start the explorer with the file of the run's documents "
    "(`documents`), or write the store with texts (`with_text`)."
)
OTHER_TEXT = "No mention is marked, because this text differs from the text of the run that wrote the store."


@dataclass(frozen=True)
class Pair:
    """Two mentions that may corefer.

    Attributes
    ----------
    number
        Number of the pair, from 1, over all countries of the document.
    country, verb, probability
        Country of the first mention, verb of the second one, and proportion of samples in which they corefer.
    mention_sentence, agent_sentence
        Numbers of the sentences, from 1.
    mention_span, agent_span
        Character offsets in the text, the end exclusive.
    mention, agent
        Words of the mentions; None without a text.
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
    """Piece of text between two boundaries of marks.

    Attributes
    ----------
    text
        Characters of the piece.
    mentions, agents
        Numbers of the pairs whose mention of a country, or whose agent, contains the piece.
    ends
        Numbers of the pairs with a mention that ends here.
    """

    text: str
    mentions: tuple[int, ...] = ()
    agents: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()


def pairs_of(evidence: Sequence[StoredEvidence], text: str | None) -> tuple[Pair, ...]:
    """Return the displayed evidence, with words if there is a text that fits."""
    spans = [(stored.mention_from, stored.mention_to) for stored in evidence]
    spans += [(stored.agent_from, stored.agent_to) for stored in evidence]
    fitting = text if text is not None and _fits(text, spans) else None
    return tuple(
        Pair(
            number=number,
            country=stored.country,
            verb=stored.verb,
            probability=stored.probability,
            mention_sentence=stored.mention_sentence + 1,
            mention_span=(stored.mention_from, stored.mention_to),
            agent_sentence=stored.agent_sentence + 1,
            agent_span=(stored.agent_from, stored.agent_to),
            mention=_words(fitting, stored.mention_from, stored.mention_to),
            agent=_words(fitting, stored.agent_from, stored.agent_to),
        )
        for number, stored in enumerate(evidence, 1)
    )


def pieces_of(text: str, pairs: Sequence[Pair]) -> tuple[Piece, ...]:
    """Return the text, split where a mention begins or ends."""
    mentions, agents = [pair.mention_span for pair in pairs], [pair.agent_span for pair in pairs]
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
    """Return the note on the text, or an empty string."""
    if text is None:
        return NO_TEXT
    spans = [span for pair in pairs for span in (pair.mention_span, pair.agent_span)]
    return "" if _fits(text, spans) else OTHER_TEXT


def _covering(place: int, spans: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(number for number, (start, end) in enumerate(spans, 1) if start <= place < end)


def _fits(text: str, spans: Sequence[tuple[int, int]]) -> bool:
    return all(0 <= start < end <= len(text) for start, end in spans)


def _words(text: str | None, start: int, end: int) -> str | None:
    return None if text is None else " ".join(text[start:end].split())


@dataclass(frozen=True)
class DocumentCount:
    """Probability that a document counts for a country.

    Attributes
    ----------
    country, name
        Code and display name of the country.
    probability
        Proportion of samples in which the document counts.
    samples_counted, samples
        Number of samples in which the document counts, and of all samples.
    best
        True if the document counts in the 1-best structure.
    """

    country: str
    name: str
    probability: float
    samples_counted: int
    samples: int
    best: bool


@dataclass(frozen=True)
class DocumentPage(Page):
    """Document with the countries for which it counts and the evidence.

    Attributes
    ----------
    about
        Description of the store.
    id, date, title
        Id, day and title; the title is None without texts.
    counts
        One entry per country.
    pairs
        Evidence by country, the most probable pair first.
    text
        Whole text, or None.
    note
        Note on the text, or an empty string.
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
        """Return the text, split where a mention begins or ends."""
        return () if self.text is None else pieces_of(self.text, self.pairs)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per pair of mentions."""
        return [
            {name: value for name, value in plain(pair).items() if not name.endswith("_span")}
            for pair in self.pairs
        ]
