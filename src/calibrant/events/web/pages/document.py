"""The page of one document, with the countries for which it counts and the evidence."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from calibrant.events.files.store import StoredEvidence
from calibrant.events.web._share import share
from calibrant.events.web.pages._page import Page
from calibrant.records.record import plain

END = re.compile(r"(?<!\b[A-Z])[.!?][\"'”’)]*\s+|\n+")  # of a sentence
ASIDE = ("mention_span", "agent_span", "arcs")  # fields of a pair that no row has
LONGEST_LINE = 300  # characters on either side of a mention
CERTAIN = 0.95  # arcs of at least this probability need no sentence
DIGITS = 9  # of differences of proportions
NO_TEXT = (
    "The store contains no texts. To show them, start the explorer with the file of the run's documents "
    "(`documents`), or write the store with texts (`with_text`)."
)
OTHER_TEXT = "No mention is marked, because this text differs from the text of the run that wrote the store."


@dataclass(frozen=True)
class UncertainArc:
    """An arc of the dependency tree on which a pair depends.

    Attributes
    ----------
    word, relation, head
        The dependent, the label of the arc, and the head.
    probability
        Probability of the arc with its label under the parser.
    """

    word: str
    relation: str
    head: str
    probability: float


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
    arcs
        Arcs between the verb and its agent or target; empty if the parser gave no probabilities.
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
    arcs: tuple[UncertainArc, ...] = ()

    @property
    def weakest(self) -> UncertainArc | None:
        """Return the least probable arc, or None."""
        return min(self.arcs, key=lambda arc: arc.probability, default=None)

    @staticmethod
    def called(words: str | None, otherwise: str) -> str:
        """Return quoted words, or what to call them if there is no text."""
        return otherwise if words is None else f"“{words}”"


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
            arcs=tuple(UncertainArc(*arc) for arc in stored.arcs),
        )
        for number, stored in enumerate(evidence, 1)
    )


def line_of(text: str, span: tuple[int, int]) -> tuple[str, str, str]:
    """Return the sentence around a mention: the words before it, its own, and those after it.

    Sentences end at a line break, and at a full stop, question mark or exclamation mark before a blank,
    unless it follows a single capital letter, as in U.S. At most 300 characters of either side are returned.

    Examples
    --------
    >>> line_of("They left. U.S. planes attacked two towns. Many fled.", (11, 22))
    ('', 'U.S. planes', 'attacked two towns.')
    """
    start, end = span
    begin = max((match.end() for match in END.finditer(text, 0, start)), default=0)
    stop = END.search(text, max(start, end - 1))
    last = len(text) if stop is None else stop.end()
    before, after = " ".join(text[begin:start].split()), " ".join(text[end:last].split())
    if len(before) > LONGEST_LINE:
        before = f"… {before[-LONGEST_LINE:].partition(' ')[2]}"
    if len(after) > LONGEST_LINE:
        after = f"{after[:LONGEST_LINE].rpartition(' ')[0]} …"
    return before, " ".join(text[start:end].split()), after


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


def decisive(country: str, pairs: Sequence[Pair], text: str | None) -> tuple[str, str, str] | None:
    """Return the sentence with the agent of a country's most probable pair; None without a fitting text."""
    own = next((pair for pair in pairs if pair.country == country), None)
    return None if own is None or text is None or own.agent is None else line_of(text, own.agent_span)


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


def why_below_one(
    country: str, probability: float, pairs: Sequence[Pair], names: Mapping[str, str]
) -> tuple[str, ...]:
    """Return sentences on why a document counts for a country in some samples only.

    If the most probable pair is one entity in more samples than the document counts, the entity is described
    as another country in the difference at least, so it counts for neither. The store names the mention of
    this country if the document counts for it, too, in some samples.

    Parameters
    ----------
    country, probability
        Code of the country, and the proportion of samples in which the document counts for it.
    pairs
        Evidence for all countries of the document, the most probable pair of each first.
    names
        Display names by code.

    Examples
    --------
    >>> there, agent = (0, 9), (20, 24)
    >>> pair = Pair(1, "IRQ", "attack", 0.9, 1, there, 2, agent, "Iraqi men", "they")
    >>> other = Pair(2, "IRN", "attack", 0.3, 1, (10, 19), 2, agent, "Iranians", "they")
    >>> apart, blocked = why_below_one("IRQ", 0.7, [pair, other], {"IRN": "Iran"})
    >>> apart
    'In 10 % of the samples, “they” and “Iraqi men” are different entities.'
    >>> blocked.partition(":")[2]
    ' “Iranians” (sentence 1) names Iran, and is the same entity as “they” in 30 %.'
    """
    own = [pair for pair in pairs if pair.country == country]
    if probability >= 1 or not own:
        return ()
    decides, sentences = own[0], []
    agent = decides.called(decides.agent, "the agent")
    mention = decides.called(decides.mention, "the mention")
    if decides.probability < 1:
        rest = share(round(1 - decides.probability, DIGITS))
        others = ", but another pair counts in some of them" if probability > decides.probability else ""
        sentences.append(f"In {rest} of the samples, {agent} and {mention} are different entities{others}.")
    blocked = round(decides.probability - probability, DIGITS)
    if blocked > 0:
        text = f"In at least {share(blocked)} of the samples, their entity is also described as another "
        text += "country, so that it counts for neither"
        spans = decides.agent_span
        blocking = [pair for pair in pairs if pair.country != country and pair.agent_span == spans]
        if blocking:
            most = max(blocking, key=lambda pair: pair.probability)
            named, other = most.called(most.mention, "a mention"), names.get(most.country, most.country)
            text += f": {named} (sentence {most.mention_sentence}) names {other}, and is the same entity as "
            text += f"{agent} in {share(most.probability)}"
        sentences.append(f"{text}.")
    return tuple(sentences)


def why_uncertain(pair: Pair, *, sampled: bool) -> tuple[str, ...]:
    """Return a sentence on the arc of a pair of which the parser is least certain; none if it is certain.

    Parameters
    ----------
    pair
        Most probable pair of a country.
    sampled
        True if the trees were sampled, so that the document's probability includes them.

    Examples
    --------
    >>> arcs = (UncertainArc("they", "nsubj", "attack", 0.62),)
    >>> pair = Pair(1, "IRQ", "attack", 0.9, 1, (0, 9), 2, (20, 24), "Iraqi men", "they", arcs)
    >>> why_uncertain(pair, sampled=True)
    ('The parser is uncertain that “they” is nsubj of “attack”: 0.62.',)
    """
    arc = pair.weakest
    if arc is None or arc.probability >= CERTAIN:
        return ()
    text = f"The parser is uncertain that “{arc.word}” is {arc.relation} of “{arc.head}”: "
    text += f"{arc.probability:.2f}."
    return (text if sampled else f"{text} The probability above takes its tree as certain.",)


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
    why
        Sentences on why the probability is below 1 and which arc the parser is uncertain of, as far as the
        stored evidence shows it; for pairs of countries only on the arc.
    line
        Sentence with the agent (or target) of the most probable pair, as `line_of` returns it; None without a
        text or a pair.
    """

    country: str
    name: str
    probability: float
    samples_counted: int
    samples: int
    best: bool
    why: tuple[str, ...] = ()
    line: tuple[str, str, str] | None = None


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
        One entry per country, the most probable one first.
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
            {
                **{name: value for name, value in plain(pair).items() if name not in ASIDE},
                "arc": None if (arc := pair.weakest) is None else f"{arc.relation} of {arc.head}",
                "arc_probability": None if arc is None else arc.probability,
            }
            for pair in self.pairs
        ]
