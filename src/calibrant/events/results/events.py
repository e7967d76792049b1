"""Records of events: what an extraction did, counts by period, and documents that are uncertain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.estimation.results.propagation import Deviation, Expected, HowDrift, IntervalLevel, Shared
from calibrant.records import Column, Quantity, Record, Table, name, number, rows, setting
from calibrant.records.record import columns_of

DOCUMENTS, COUNT = "Documents", "Count"
LEFT_OUT = (
    "The interval holds what the entities of the documents leave open under the model. Errors of the parser, "
    "the lexicon and the rules, and errors that all documents share, are not in it."
)
TOTAL_LEFT_OUT = (
    "Count, SD and intervals are of probabilities that labelled documents recalibrated; 1-best is not. The "
    "interval with shared doubt holds how well the recalibrator is known, too. Errors of the parser, the "
    "lexicon and the rules are in no interval."
)
UNFINISHED = "The run that made this store is not at its end."
Problems = Annotated[
    tuple[str, ...],
    setting("Problems", "Parts of the store that cannot be read; their documents are left out."),
]


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
    coref: Annotated[
        str, setting("Coreference model", "Name or path of the coreference model.", headline=True)
    ]
    trained_on: Annotated[
        str,
        setting(
            "Trained on",
            "Texts that the coreference model was trained on; on other kinds of text it is worse.",
            headline=True,
        ),
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
        setting(
            "Notes",
            "Texts that the coreference model was trained on, damaged parts that were done again, and "
            "conflicts in the lexicon.",
        ),
    ] = ()

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the notes."""
        yield from (("", note) for note in self.notes)


class EventCount(Record, frozen=True, kw_only=True):
    """Documents of a period that count for a country, or entities in them."""

    country: Annotated[str, name("Country", "Code of the country.")]
    period: Annotated[str, name("Period", "Period: 2001, 2001-Q2, 2001-04 or 2001-W05.")]
    documents: Annotated[
        int, number("Documents", "All documents of the period.", group=DOCUMENTS, headline=True)
    ]
    matched: Annotated[
        int,
        number("Matched", "Documents that count in some sample.", group=DOCUMENTS, headline=True),
    ]
    count: Expected
    sd: Deviation
    total: Shared = None
    rate: Annotated[
        Quantity,
        number(
            "Rate",
            "Count divided by all documents of the period; compare periods by it. Undefined in a period "
            "without documents.",
            group=COUNT,
            headline=True,
            interval=False,
        ),
    ]
    best: Annotated[
        int,
        number(
            "1-best",
            "Documents or entities that count in the single most probable structure; if it is outside the "
            "intervals, look at the documents.",
            group=COUNT,
            headline=True,
        ),
    ]


class EventTable(Record, frozen=True, kw_only=True):
    """Documents that count, by country and period."""

    store: Annotated[str, setting("Store", "Folder of the store.", headline=True)]
    by: Annotated[str, setting("By", "Length of a period: week, month, quarter or year.", headline=True)]
    counted: Annotated[
        str, setting("Counted", "Documents, or the entities in them that count.", headline=True)
    ] = "documents"
    interval: Annotated[
        str,
        setting(
            "Interval",
            "Method of the interval under the model: poisson-binomial, normal or samples.",
            headline=True,
        ),
    ]
    level: IntervalLevel
    samples: Annotated[int, setting("Samples", "Samples of each document's entities.", headline=True)]
    recalibrated: Annotated[
        bool,
        setting(
            "Recalibrated",
            "True if the probabilities went through a recalibrator that was fitted to labelled documents.",
            headline=True,
        ),
    ]
    finished: Annotated[bool, setting("Finished", "True if the store holds all documents of its run.")]
    problems: Problems = ()
    counts: Annotated[
        tuple[EventCount, ...],
        rows(
            "Counts",
            "Countries as asked for, or by falling count of all periods; periods in order, those without "
            "documents included.",
        ),
    ]
    drift: HowDrift = None
    condition: Annotated[
        str | None,
        setting("Condition", "Assumption of the interval with shared doubt; null if there is none."),
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return what the intervals leave out and assume, and what is missing in the store."""
        yield "", TOTAL_LEFT_OUT if self.recalibrated else LEFT_OUT
        if self.condition is not None:
            yield "", self.condition
        if not self.finished:
            yield "", UNFINISHED
        yield from (("", problem) for problem in self.problems)


class EvidencePair(Record, frozen=True, kw_only=True):
    """Two mentions that may be of one entity."""

    probability: Annotated[
        float,
        number(
            "Probability",
            "Proportion of the samples in which the two are one entity.",
            group=DOCUMENTS,
            digits=2,
        ),
    ]
    verb: Annotated[str, setting("Verb", "Lemma of what the agent does.")]
    mention_sentence: Annotated[
        int, number("Mention's sentence", "Number of the sentence, from 0.", group=DOCUMENTS)
    ]
    agent_sentence: Annotated[
        int, number("Agent's sentence", "Number of the sentence, from 0.", group=DOCUMENTS)
    ]
    mention: Annotated[
        str | None,
        setting("Mention", "Words of the mention of the country; null where the texts are not there."),
    ]
    agent: Annotated[str | None, setting("Agent", "Words of the agent; null where the texts are not there.")]


class UncertainDocument(Record, frozen=True, kw_only=True):
    """A document and a country for which it may count."""

    id: Annotated[str, name("Id", "Id of the document.")]
    date: Annotated[str, name("Date", "Day of the document.")]
    country: Annotated[str, name("Country", "Code of the country.")]
    probability: Annotated[
        float,
        number(
            "Probability",
            "Proportion of the samples in which the document counts for the country.",
            group=DOCUMENTS,
            headline=True,
            digits=2,
        ),
    ]
    best: Annotated[
        bool,
        number(
            "1-best",
            "True if it counts in the single most probable structure.",
            group=DOCUMENTS,
            headline=True,
        ),
    ]
    evidence: Annotated[
        tuple[EvidencePair, ...], rows("Evidence", "Why it counts, the most probable reason first.")
    ]


class UncertainDocuments(Record, frozen=True, kw_only=True):
    """Documents nearest 50 %."""

    store: Annotated[str, setting("Store", "Folder of the store.", headline=True)]
    problems: Problems = ()
    documents: Annotated[
        tuple[UncertainDocument, ...], rows("Documents", "The least certain document first.")
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return what cannot be read."""
        yield from (("", problem) for problem in self.problems)

    def to_tables(self) -> tuple[Table, ...]:
        """Return the documents, and the evidence of all of them."""
        tables = super().to_tables()[:1]
        pairs = [(row, each) for row in self.documents for each in row.evidence]
        if not pairs:
            return tables
        which = tuple(Column(key, key, "name") for key in ("id", "date", "country"))
        columns, cells = columns_of([each for _, each in pairs])
        body = tuple(
            (row.id, row.date, row.country, *found) for (row, _), found in zip(pairs, cells, strict=True)
        )
        title = "Mentions that may be of one entity"
        return (*tables, Table("evidence", (*which, *columns), body, title, title=title))
