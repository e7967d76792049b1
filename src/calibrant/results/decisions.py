"""Record of a table of decisions by saved thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Record, number, setting
from calibrant.records.words import counted, percent

DECISIONS, TABLE = "Decisions", "Table"
MOST_NAMED = 5  # groups


class AppliedThresholds(Record, frozen=True, kw_only=True):
    """Decisions that were written with saved thresholds."""

    model: Annotated[
        str | None, setting("Thresholds", "File of the thresholds; null for some in memory.", headline=True)
    ]
    source: Annotated[str, setting("Read", "Table that was read.", headline=True)]
    output: Annotated[str, setting("Written", "Table that was written.", headline=True)]
    rows: Annotated[int, number("Rows", "Rows written.", group=TABLE, headline=True)]
    accepted: Annotated[int, number("Accepted", "Rows that are accepted.", group=DECISIONS, headline=True)]
    refused: Annotated[int, number("Refused", "Rows that are refused.", group=DECISIONS, headline=True)]
    to_person: Annotated[
        int, number("To a person", "Rows without a decision.", group=DECISIONS, headline=True)
    ]
    missing: Annotated[
        int, number("Without a score", "Rows without a score, which go to a person.", group=DECISIONS)
    ]
    unseen: Annotated[
        int,
        number(
            "In other groups",
            "Rows of groups without a threshold, or without a group, which go to a person.",
            group=DECISIONS,
        ),
    ]
    unseen_groups: Annotated[
        tuple[str, ...],
        setting("Other groups", "Groups without a threshold, in order of first appearance."),
    ]
    risk: Annotated[str, setting("Risk", "Risk that is limited: errors, missed or loss.")]
    alpha: Annotated[float, setting("Alpha", "Largest risk that is allowed.", unit="percent")]
    delta: Annotated[
        float, setting("Delta", "Largest probability that the thresholds have a larger risk.", unit="percent")
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return why rows have no decision."""
        if self.missing:
            yield "missing", "they go to a person"
        if self.unseen_groups:
            named, others = self.unseen_groups[:MOST_NAMED], len(self.unseen_groups) - MOST_NAMED
            more = f" and {counted(others, 'other')}" if others > 0 else ""
            yield "", f"Groups without a threshold, whose rows go to a person: {', '.join(named)}{more}."

    def summary(self) -> str:
        """Return the guarantee."""
        of = {
            "errors": f"at most {percent(self.alpha)} of the decided rows are wrong",
            "missed": f"at most {percent(self.alpha)} of the positives are not accepted",
            "loss": f"the mean loss of the accepted rows is at most {self.alpha:g}",
        }[self.risk]
        return (
            f"With a probability of at least {percent(1 - self.delta)}, {of}, if the rows are like those "
            "that the thresholds are from."
        )
