"""A document's evidence in its text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from calibrant.events.files.store import StoredEvidence

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
