"""Records of events: what an extraction did, counts by period, and documents that are uncertain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from calibrant.records import Record, number, setting
from calibrant.records.table import Column, Table, between, interval_heading, known
from calibrant.records.words import counted, percent
from calibrant.results._base import Result
from calibrant.results.propagation import Drift

DOCUMENTS = "Documents"


class ExtractedEvents(Record, frozen=True, kw_only=True):
    """Events that were extracted into a store."""

    store: Annotated[str, setting("Store", "Folder of the store.", headline=True)]
    documents: Annotated[
        int, number("Documents", "Documents that were read.", group=DOCUMENTS, headline=True)
    ]
    kept: Annotated[int, number("From before", "Documents that the store had before.", group=DOCUMENTS)]
    skipped: Annotated[
        int,
        number(
            "Cannot count",
            "Documents that were done now and cannot count, and so were not parsed.",
            group=DOCUMENTS,
        ),
    ]
    matched: Annotated[
        int,
        number(
            "May count",
            "Documents that were done now and count for some country in some sample or in the 1-best "
            "structure.",
            group=DOCUMENTS,
            headline=True,
        ),
    ]
    countries: Annotated[
        int, number("Countries", "Countries that these documents count for, together.", group=DOCUMENTS)
    ]
    samples: Annotated[int, setting("Samples", "Samples of each document's entities.", headline=True)]
    seed: Annotated[int, setting("Seed", "Seed of the samples.", unit="seed", headline=True)]
    rules: Annotated[str, setting("Rules", "Rules of what counts as doing something.", headline=True)]
    verbs: Annotated[tuple[str, ...], setting("Verbs", "Verbs of the rules.", headline=True)]
    workers: Annotated[
        int | None, setting("Workers", "Number of processes; null for another executor.", headline=True)
    ]
    seconds: Annotated[float, setting("Seconds", "Time of the run, in seconds.", headline=True)]
    notes: Annotated[
        tuple[str, ...],
        setting("Notes", "Damaged parts that were done again, and conflicts in the lexicon."),
    ] = ()

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the notes."""
        yield from (("", note) for note in self.notes)


@dataclass(frozen=True)
class EventCount(Result):
    """How many documents of a period count for a country.

    Attributes
    ----------
    country
        Its code.
    period
        ``2001``, ``2001-Q2``, ``2001-04`` or ``2001-W05``.
    documents
        All documents of the period.
    matched
        Those that count in some sample.
    mean, sd
        Of the number of documents that count.
    low, high
        The interval under the model: what the documents' entities leave open. Errors that all documents
        share (of the model, parser, lexicon, rules) are not in it.
    low_total, high_total
        The interval with the recalibration's doubt as well. None: see ``reasons``.
    rate
        Mean over documents; None in a period without documents.
    best
        How many documents count in the 1-best structure.
    reasons
        Why numbers are None.
    """

    country: str
    period: str
    documents: int
    matched: int
    mean: float
    sd: float
    low: float
    high: float
    low_total: float | None
    high_total: float | None
    rate: float | None
    best: int
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class EventTable(Result):
    """Counts by country and period.

    Attributes
    ----------
    store
        The folder.
    by
        ``week``, ``month``, ``quarter`` or ``year``.
    interval, level
        Of ``low`` and ``high``.
    samples
        A document.
    recalibrated
        Whether probabilities went through a recalibrator fitted to labelled documents.
    finished
        Whether the store holds all documents of its run.
    problems
        Parts that cannot be read; their documents are in no count.
    rows
        Countries as asked for, or by falling mean of all periods; periods in order, empty ones included.
    drift
        The drift between periods that ``low_total`` and ``high_total`` include; None for none.
    conditions
        What ``low_total`` and ``high_total`` assume.
    """

    store: str
    by: str
    interval: str
    level: float
    samples: int
    recalibrated: bool
    finished: bool
    problems: tuple[str, ...]
    rows: tuple[EventCount, ...]
    drift: Drift | None = None
    conditions: tuple[str, ...] = ()

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a country and period."""
        return [row.to_dict() for row in self.rows]

    def to_tables(self) -> tuple[Table, ...]:
        """Return a row a country and period."""
        total = (Column("total", "with shared doubt", "interval", digits=1),) if self.recalibrated else ()
        columns = (
            Column("country", "country", "name"),
            Column("period", "period", "name"),
            Column("documents", "documents", "count"),
            Column("matched", "matched", "count"),
            Column("mean", "mean", digits=2),
            Column("sd", "sd", digits=2),
            Column("model", interval_heading(self.level), "interval", digits=1),
            *total,
            Column("rate", "rate"),
            Column("best", "1-best", "count"),
        )
        rows = []
        for row in self.rows:
            counts = (row.documents, row.matched, row.mean, row.sd, (row.low, row.high))
            doubt = between(row.low_total, row.high_total, row.reasons, "low_total", "high_total")
            rate = known(row.rate, row.reasons, "rate")
            rows.append((row.country, row.period, *counts, *((doubt,) if total else ()), rate, row.best))
        caption = (
            f"Documents that count, by country and {self.by}, in {Path(self.store).name}: {self.interval} "
            f"intervals of {percent(self.level)} of what entities leave open under the model; "
            f"{counted(self.samples, 'sample')} a document"
        )
        unfinished = () if self.finished else ("The run that made this store is not at its end.",)
        return (
            Table("counts", columns, tuple(rows), caption, (*self.conditions, *unfinished, *self.problems)),
        )


@dataclass(frozen=True)
class EvidencePair(Result):
    """Two mentions that may be of one entity.

    Attributes
    ----------
    verb
        Lemma of what the agent does.
    probability
        Share of the samples in which the two are one entity.
    mention_sentence, agent_sentence
        Numbers of their sentences, from 0.
    mention, agent
        Their words; None where the texts are not there.
    """

    verb: str
    probability: float
    mention_sentence: int
    agent_sentence: int
    mention: str | None
    agent: str | None


@dataclass(frozen=True)
class UncertainDocument(Result):
    """A document and a country for which it may count.

    Attributes
    ----------
    id, date, country
        Which.
    probability
        Share of the samples in which it counts.
    best
        Whether it counts in the 1-best structure.
    evidence
        Why it counts, the most probable first.
    """

    id: str
    date: str
    country: str
    probability: float
    best: bool
    evidence: tuple[EvidencePair, ...]


@dataclass(frozen=True)
class UncertainDocuments(Result):
    """Documents nearest 50 %.

    Attributes
    ----------
    store
        The folder.
    problems
        Parts that cannot be read.
    rows
        The least certain first.
    """

    store: str
    problems: tuple[str, ...]
    rows: tuple[UncertainDocument, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a document and country."""
        return [row.to_dict() for row in self.rows]

    def to_tables(self) -> tuple[Table, ...]:
        """Return the documents, and the evidence of each."""
        which = tuple(Column(name, name, "name") for name in ("id", "date", "country"))
        columns = (*which, Column("probability", "probability", digits=2), Column("best", "1-best", "text"))
        rows = tuple(
            (row.id, row.date, row.country, row.probability, "counts" if row.best else "does not count")
            for row in self.rows
        )
        caption = f"Documents of {Path(self.store).name} that are nearest 50 %"
        details = (
            *which,
            Column("probability", "probability", digits=2),
            Column("mention", "mention", "text"),
            Column("mention_sentence", "its sentence", "count"),
            Column("agent", "agent", "text"),
            Column("agent_sentence", "its sentence", "count"),
            Column("verb", "verb", "text"),
        )
        pairs = tuple(
            (
                *(row.id, row.date, row.country, each.probability),
                *(each.mention, each.mention_sentence, each.agent, each.agent_sentence, each.verb),
            )
            for row in self.rows
            for each in row.evidence
        )
        return (
            Table("documents", columns, rows, caption, self.problems),
            Table("evidence", details, pairs, "Mentions that may be of one entity"),
        )
