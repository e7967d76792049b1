"""What the explorer shows, page by page: records that are rendered as HTML, JSON or CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from calibrant.results._base import Result, plain
from calibrant.results.events import EventCount
from calibrant.results.propagation import Exceedance

LEVEL = 0.95
LISTED = 50  # documents a page


@dataclass(frozen=True)
class About(Result):
    """What every page says of its store.

    Attributes
    ----------
    store
        The folder's name.
    documents
        Documents seen, those among them that were skipped since they cannot count.
    matched
        Documents that count for some country in some sample or in the 1-best structure.
    first, last
        Days of the first and last document; None in an empty store.
    samples
        A document.
    level
        Of all intervals.
    recalibrated
        Whether rows have a total interval.
    finished
        Whether the run that fills the store came to its end.
    problems
        Parts that cannot be read; their documents are on no page.
    """

    store: str
    documents: int
    matched: int
    first: str | None
    last: str | None
    samples: int
    level: float
    recalibrated: bool
    finished: bool
    problems: tuple[str, ...]


@dataclass(frozen=True)
class Series(Result):
    """A country's counts, period by period.

    Attributes
    ----------
    country, name
        Its code, and what people call it.
    matched, mean, best
        Of all periods together.
    rows
        One a period, empty ones included.
    """

    country: str
    name: str
    matched: int
    mean: float
    best: int
    rows: tuple[EventCount, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a period, without the reasons."""
        return [
            {name: value for name, value in row.to_dict().items() if name != "reasons"} for row in self.rows
        ]


@dataclass(frozen=True)
class OverviewPage(Result):
    """Small multiples of the countries with the most documents.

    Attributes
    ----------
    about
        The store.
    by
        ``week``, ``month``, ``quarter`` or ``year``.
    rates
        Whether the charts show rates; the rows have both.
    countries
        All codes of the store, by falling mean.
    series
        Of the first of them.
    """

    about: About
    by: str
    rates: bool
    countries: tuple[str, ...]
    series: tuple[Series, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a country and period."""
        return [row for series in self.series for row in series.to_rows()]


@dataclass(frozen=True)
class CountryPage(Result):
    """One country's series.

    Attributes
    ----------
    about, by, rates, countries
        As in `OverviewPage`.
    series
        Its counts.
    """

    about: About
    by: str
    rates: bool
    countries: tuple[str, ...]
    series: Series

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a period."""
        return self.series.to_rows()


@dataclass(frozen=True)
class PeriodComparison(Result):
    """Two countries in one period.

    Attributes
    ----------
    period
        Its name.
    first_best, second_best
        Documents that count in the 1-best structure.
    counts
        How probable it is that the first has more documents than the second, from samples that documents
        share.
    """

    period: str
    first_best: int
    second_best: int
    counts: Exceedance


@dataclass(frozen=True)
class ComparisonPage(Result):
    """Two countries side by side.

    Attributes
    ----------
    about, by, rates, countries
        As in `OverviewPage`.
    first, second
        Their series.
    both
        Documents that may count for both.
    together
        All periods as one.
    periods
        Those in which a document may count for one of them.
    """

    about: About
    by: str
    rates: bool
    countries: tuple[str, ...]
    first: Series
    second: Series
    both: int
    together: PeriodComparison
    periods: tuple[PeriodComparison, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a period."""
        left_out = ("standard_error", "samples")
        rows = []
        for row in self.periods:
            values = row.to_dict()
            counts = values.pop("counts")
            rows.append(values | {name: counts[name] for name in counts if name not in left_out})
        return rows


@dataclass(frozen=True)
class ListedDocument(Result):
    """A document in a list.

    Attributes
    ----------
    id, date, title
        The title is None where texts are not there.
    probability
        Share of the samples in which it counts for the country.
    best
        Whether it counts in the 1-best structure.
    """

    id: str
    date: str
    title: str | None
    probability: float
    best: bool


@dataclass(frozen=True)
class DocumentsPage(Result):
    """Documents that may count for a country, the least certain first.

    Attributes
    ----------
    about
        The store.
    country, name, by
        Which counts, and what people call it; how time is cut.
    period
        None: all periods.
    order
        ``uncertain`` (nearest 50 % first), ``probability`` (falling) or ``date``.
    offset, total
        How many come before those listed, and how many there are.
    documents
        Listed.
    """

    about: About
    country: str
    name: str
    by: str
    period: str | None
    order: str
    offset: int
    total: int
    documents: tuple[ListedDocument, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a document."""
        return [document.to_dict() for document in self.documents]


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
class Pair(Result):
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
class Piece(Result):
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


@dataclass(frozen=True)
class DocumentPage(Result):
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

    about: About
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


@dataclass(frozen=True)
class ProblemPage(Result):
    """What could not be shown, and what to do.

    Attributes
    ----------
    status
        Of HTTP.
    message
        One line.
    """

    status: int
    message: str


Page = OverviewPage | CountryPage | ComparisonPage | DocumentsPage | DocumentPage | ProblemPage
