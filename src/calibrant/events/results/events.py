"""Records of events: extractions, counts by period, and uncertain documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from calibrant._checks import FEWEST_SAMPLED
from calibrant.estimation.results import Deviation, Expected, HowDrift, HowInterval, Shared
from calibrant.records import Column, Quantity, Record, Table, name, number, rows, setting, warning
from calibrant.records.record import columns_of
from calibrant.results.errors import IntervalLevel

DOCUMENTS, COUNT = "Documents", "Count"
ENTITIES = "entities"
LEFT_OUT = (
    "The interval covers uncertainty about coreference only. It does not cover errors of the parser, the "
    "lexicon and the rules, or errors that all documents share."
)
LEFT_OUT_OF_DRAWS = (
    "The interval covers the uncertainty about {} that the models state. It does not cover errors of these "
    "probabilities, of sentences, the lexicon and the rules, or errors that all documents share."
)
TOTAL_LEFT_OUT = (
    "Count, SD and intervals use probabilities recalibrated on labeled documents; the 1-best count does not. "
    "The total interval also covers uncertainty about the recalibration. No interval covers errors of the "
    "parser, the lexicon and the rules."
)
UNFINISHED = "The run that wrote this store has not finished; repeat its command to complete the store."
FEW_SAMPLES = f"Intervals are too narrow: the store has fewer than {FEWEST_SAMPLED} samples per document."
Sampled = Annotated[
    str,
    setting(
        "Sampled",
        "Structures in which the samples differ: entities, and possibly trees and tags.",
        headline=True,
    ),
]
Finished = Annotated[bool, setting("Finished", "True if the store contains all documents of its run.")]
Problems = Annotated[
    tuple[str, ...],
    setting("Problems", "Parts of the store that cannot be read; their documents are omitted."),
]


def store_notes(finished: bool, problems: Sequence[str], samples: int = FEWEST_SAMPLED) -> tuple[str, ...]:
    """Return the sentences that belong to every result of an incomplete store, or of one with few samples."""
    unfinished = () if finished else (UNFINISHED,)
    return (*unfinished, *(() if samples >= FEWEST_SAMPLED else (FEW_SAMPLES,)), *problems)


class ExtractedEvents(Record, frozen=True, kw_only=True):
    """Extraction of events into a store."""

    store: Annotated[str, setting("Store", "Folder of the store.", headline=True)]
    documents: Annotated[
        int, number("Documents", "Documents that were read.", group=DOCUMENTS, headline=True)
    ]
    kept: Annotated[
        int, number("From before", "Documents of the file that an earlier run had finished.", group=DOCUMENTS)
    ]
    skipped: Annotated[
        int,
        number("Cannot count", "Documents that cannot count and were not parsed.", group=DOCUMENTS),
    ]
    matched: Annotated[
        int,
        number(
            "May count",
            "Documents that count for some country in some sample or in the 1-best structure.",
            group=DOCUMENTS,
            headline=True,
        ),
    ]
    countries: Annotated[
        int, number("Countries", "Number of countries for which these documents count.", group=DOCUMENTS)
    ]
    parser: Annotated[
        str | None,
        setting("Parser", "Name or path of the parser; null for trees of the file.", headline=True),
    ]
    coref: Annotated[
        str, setting("Coreference model", "Name or path of the coreference model.", headline=True)
    ]
    sampled: Sampled
    trained_on: Annotated[
        str,
        setting(
            "Trained on",
            "Texts that the coreference model was trained on; it is less accurate on other kinds of text.",
            headline=True,
        ),
    ]
    samples: Annotated[int, setting("Samples", "Samples per document.", headline=True)]
    seed: Annotated[int, setting("Seed", "Seed of the samples.", unit="seed", headline=True)]
    rules: Annotated[str, setting("Rules", "Rules that find agents of verbs.", headline=True)]
    verbs: Annotated[tuple[str, ...], setting("Verbs", "Verbs of the rules.", headline=True)]
    workers: Annotated[
        int | None, setting("Workers", "Number of processes; null for another executor.", headline=True)
    ]
    seconds: Annotated[float, setting("Seconds", "Time of the run, in seconds.", headline=True)]
    notes: Annotated[
        tuple[str, ...],
        setting(
            "Notes",
            "Texts that the coreference model was trained on, damaged parts that were replaced, and "
            "conflicts in the lexicon.",
        ),
    ] = ()

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the number of the other documents, and the notes."""
        others = self.documents - self.skipped - self.matched
        if others:
            which = "1 parsed document counts" if others == 1 else f"{others:,} parsed documents count"
            yield "", f"The other {which} for no country."
        yield "", f"The samples differ in their {self.sampled}."
        yield from (("", note) for note in self.notes)


class EventCount(Record, frozen=True, kw_only=True):
    """Number of documents of a period that count for a country, or of entities in them."""

    country: Annotated[str, name("Country", "Code of the country.")]
    period: Annotated[str, name("Period", "Period: 2001, 2001-Q2, 2001-04 or 2001-W05.")]
    documents: Annotated[
        int, number("Documents", "All documents of the period.", group=DOCUMENTS, headline=True)
    ]
    matched: Annotated[
        int,
        number("Matched", "Documents that count in at least one sample.", group=DOCUMENTS, headline=True),
    ]
    count: Expected
    sd: Deviation
    total: Shared = None
    rate: Annotated[
        Quantity,
        number(
            "Rate",
            "Count divided by all documents of the period, to compare periods. Undefined in a period without "
            "documents.",
            group=COUNT,
            headline=True,
            interval=False,
        ),
    ]
    best: Annotated[
        int,
        number(
            "1-best",
            "Documents or entities that count in the single most probable structure. If this count is "
            "outside the intervals, inspect the documents.",
            group=COUNT,
            headline=True,
        ),
    ]


class EventTable(Record, frozen=True, kw_only=True):
    """Counts by country and period."""

    store: Annotated[str, setting("Store", "Folder of the store.", headline=True)]
    by: Annotated[str, setting("By", "Length of a period: week, month, quarter or year.", headline=True)]
    counted: Annotated[
        str, setting("Counted", "Unit of the counts: documents or entities.", headline=True)
    ] = "documents"
    interval: HowInterval
    level: IntervalLevel
    sampled: Sampled = ENTITIES
    samples: Annotated[int, setting("Samples", "Samples per document.", headline=True)]
    recalibrated: Annotated[
        bool,
        setting(
            "Recalibrated",
            "True if a recalibrator fitted to labeled documents transformed the probabilities.",
            headline=True,
        ),
    ]
    finished: Finished
    problems: Problems = ()
    counts: Annotated[
        tuple[EventCount, ...],
        rows(
            "Counts",
            "Countries in the requested order, else by decreasing count over all periods; periods in order, "
            "including those without documents.",
        ),
    ]
    drift: HowDrift = None
    condition: Annotated[
        str | None,
        setting("Condition", "Assumption of the total interval; null if there is no such interval."),
    ] = None
    labels_warning: Annotated[
        str | None, warning("Few labels, or labeled documents with probability 0 that count.")
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield the limits and assumptions of the intervals, and the notes on the store."""
        left_out = LEFT_OUT if self.sampled == ENTITIES else LEFT_OUT_OF_DRAWS.format(self.sampled)
        yield "", TOTAL_LEFT_OUT if self.recalibrated else left_out
        if self.condition is not None:
            yield "", self.condition
        yield from (("", note) for note in store_notes(self.finished, self.problems, self.samples))


class EvidencePair(Record, frozen=True, kw_only=True):
    """Two mentions that may corefer."""

    probability: Annotated[
        float,
        number(
            "Probability",
            "Proportion of the samples in which the two mentions corefer.",
            group=DOCUMENTS,
            digits=2,
        ),
    ]
    verb: Annotated[str, setting("Verb", "Lemma of the agent's verb.")]
    mention_sentence: Annotated[
        int, number("Mention's sentence", "Number of the sentence, from 0.", group=DOCUMENTS)
    ]
    agent_sentence: Annotated[
        int, number("Agent's sentence", "Number of the sentence, from 0.", group=DOCUMENTS)
    ]
    mention: Annotated[
        str | None,
        setting("Mention", "Words of the mention of the country; null without the texts."),
    ]
    agent: Annotated[str | None, setting("Agent", "Words of the agent; null without the texts.")]


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
            "True if the document counts in the single most probable structure.",
            group=DOCUMENTS,
            headline=True,
        ),
    ]
    evidence: Annotated[
        tuple[EvidencePair, ...],
        rows("Evidence", "Pairs of mentions for which the document counts, the most probable pair first."),
    ]


class UncertainDocuments(Record, frozen=True, kw_only=True):
    """Documents with probabilities nearest 50 %."""

    store: Annotated[str, setting("Store", "Folder of the store.", headline=True)]
    finished: Finished
    problems: Problems = ()
    documents: Annotated[
        tuple[UncertainDocument, ...], rows("Documents", "Documents, the most uncertain one first.")
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield the notes on the store."""
        yield from (("", note) for note in store_notes(self.finished, self.problems))

    def to_tables(self) -> tuple[Table, ...]:
        """Return the documents, and the evidence of all of them."""
        tables = super().to_tables()[:1]
        pairs = [(row, evidence) for row in self.documents for evidence in row.evidence]
        if not pairs:
            return tables
        which = tuple(Column(key, key, "name") for key in ("id", "date", "country"))
        columns, cells = columns_of([evidence for _, evidence in pairs])
        body = tuple(
            (row.id, row.date, row.country, *fields) for (row, _), fields in zip(pairs, cells, strict=True)
        )
        title = "Mentions that may corefer"
        return (*tables, Table("evidence", (*which, *columns), body, title, title=title))
