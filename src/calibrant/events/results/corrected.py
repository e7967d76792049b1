"""Records of counts that are corrected by documents that people read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Quantity, Record, name, number, rows, setting, warning
from calibrant.results.errors import IntervalLevel

DOCUMENTS, COUNT = "Documents", "Count"
INCLUDED = (
    "The interval covers the errors of the tagger, the parser, the mentions, coreference, the lexicon and "
    "the rules. It does not cover errors of the readers."
)
UNCLEAR = "{} unclear: the interval contains the counts with all of them as no and with all as yes."


class CorrectedPeriod(Record, frozen=True, kw_only=True):
    """Corrected number of documents of a period that count."""

    period: Annotated[str, name("Period", "Period; all for all documents together, which come first.")]
    documents: Annotated[
        int, number("Documents", "All documents of the period.", group=DOCUMENTS, headline=True)
    ]
    read: Annotated[int, number("Read", "Documents that were read.", group=DOCUMENTS, headline=True)]
    count: Annotated[
        Quantity,
        number("Count", "Number of documents that count, corrected.", group=COUNT, headline=True, digits=1),
    ]
    model: Annotated[
        float | None,
        number(
            "Model",
            "Sum of the model's probabilities, without correction; null without documents.",
            group=COUNT,
            headline=True,
            digits=1,
        ),
    ] = None
    few_warning: Annotated[str | None, warning("Few documents were read, or few of them count.")] = None


class CorrectedEvents(Record, frozen=True, kw_only=True):
    """Counts of a country, corrected by documents that people read."""

    store: Annotated[str, setting("Store", "Folder of the store.", headline=True)]
    country: Annotated[str, setting("Code", "Code of the country, or pair of countries.")]
    name: Annotated[str, setting("Name", "Name of the country, or pair of countries.", headline=True)]
    by: Annotated[str, setting("By", "Length of a period: week, month, quarter or year.", headline=True)]
    documents: Annotated[int, setting("Documents", "Documents of the store.", headline=True)]
    read: Annotated[int, setting("Read", "Documents that were read.", headline=True)]
    unclear: Annotated[int, setting("Unclear", "Documents with the answer unclear.", headline=True)]
    level: IntervalLevel
    counts: Annotated[
        tuple[CorrectedPeriod, ...], rows("Counts", "All documents, then the periods in order.")
    ]
    selection_warning: Annotated[
        str | None, warning("The readings contradict the probabilities of being drawn.")
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield what the intervals cover, and the number of unclear answers."""
        yield "", f"Documents that count for {self.name}, corrected by {self.read:,} readings."
        yield "", INCLUDED
        if self.unclear:
            yield "", UNCLEAR.format("1 answer is" if self.unclear == 1 else f"{self.unclear:,} answers are")
