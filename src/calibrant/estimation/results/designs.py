"""Records of samples of documents to label."""

from __future__ import annotations

from typing import Annotated, Any

from calibrant.records import Record, hidden, name, number, rows, setting
from calibrant.records.words import counted

DRAWN = "Drawn"


class SampledStratum(Record, frozen=True, kw_only=True):
    """Documents of one stratum, and how many of them are to be labeled."""

    stratum: Annotated[str, name("Stratum", "Stratum; all if documents were not divided into strata.")]
    documents: Annotated[int, number("Documents", "Documents to draw from.", group=DRAWN, headline=True)]
    drawn: Annotated[int, number("Drawn", "Documents drawn.", group=DRAWN, headline=True)]
    smallest: Annotated[
        float,
        number("Smallest probability", "Smallest inclusion probability.", group=DRAWN, headline=True),
    ]
    largest: Annotated[
        float, number("Largest probability", "Largest inclusion probability.", group=DRAWN, headline=True)
    ]


class DrawnSample(Record, frozen=True, kw_only=True):
    """Documents that were drawn to be labeled, with their inclusion probabilities."""

    design: Annotated[str, setting("Design", "simple, stratified, uncertainty or cluster.", headline=True)]
    documents: Annotated[
        int, setting("Documents", "Documents to draw from: those without an earlier round.", headline=True)
    ]
    drawn: Annotated[int, setting("Drawn", "Documents drawn.", headline=True)]
    clusters: Annotated[
        int | None, setting("Clusters", "Clusters drawn; null if documents were drawn.", headline=True)
    ]
    round: Annotated[int, setting("Round", "Number of the round, from 1.", headline=True)]
    earlier: Annotated[int, setting("Earlier", "Documents of earlier rounds, which the output repeats.")]
    allocation: Annotated[
        str | None,
        setting("Allocation", "Rule for the labels of each stratum; null without strata.", headline=True),
    ]
    floor: Annotated[
        float | None,
        setting(
            "Floor",
            "Lower limit of the probabilities, as a fraction of the mean probability; null for other designs "
            "than uncertainty.",
        ),
    ]
    relative_width: Annotated[
        float | None,
        setting(
            "Relative width",
            "Expected width of the interval of dsl, relative to that of a simple sample of as many "
            "documents, if the scores are calibrated. Null without scores, and for clusters.",
            headline=True,
        ),
    ]
    seed: Annotated[int, setting("Seed", "Seed of the draw.", unit="seed", headline=True)]
    output: Annotated[
        str | None, setting("Written", "Table that was written; null if none was.", headline=True)
    ]
    strata: Annotated[
        tuple[SampledStratum, ...], rows("Strata", "One entry per stratum, in order of appearance.")
    ]
    table: Annotated[Any, hidden()] = None

    def summary(self) -> str:
        """Return what was drawn, and how much the design is expected to help."""
        what = counted(self.drawn, "document")
        if self.clusters is not None:
            what += f" of {counted(self.clusters, 'cluster')}"
        text = f"{what} drawn of {self.documents:,} (design {self.design}, seed {self.seed})."
        if self.relative_width is None or self.design == "simple":
            return text
        return (
            f"{text} If the scores are calibrated, the interval of dsl is expected to be "
            f"{self.relative_width:.2f} times as wide as with a simple sample."
        )
