"""Records of thresholds with a guarantee on the risk of what they accept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Record, name, number, rows, setting
from calibrant.records.words import counted, percent

GUARANTEE, HERE = "Guarantee", "In this table"
ACCEPT, REFUSE = "accept", "refuse"
ERRORS, MISSED, LOSS = "errors", "missed", "loss"
ALL = "all"  # the group of all rows


class GuaranteedThreshold(Record, frozen=True, kw_only=True):
    """Threshold of one decision in one group, or the reason why there is none."""

    group: Annotated[str, name("Group", "Group of rows; all if they share the threshold.")] = ALL
    decision: Annotated[str, name("Decision", "accept: from the threshold up; refuse: from it down.")]
    threshold: Annotated[
        float | None,
        number(
            "Threshold",
            "Smallest score that is accepted, or largest that is refused, as the table has it; of "
            "uncertainties, the reverse. Null if no threshold has the guarantee.",
            group=GUARANTEE,
            headline=True,
        ),
    ]
    items: Annotated[
        int | None, number("Rows", "Number of rows with this decision.", group=HERE, headline=True)
    ]
    fraction: Annotated[
        float | None,
        number("Fraction", "Proportion of the rows with this decision.", group=HERE, headline=True),
    ]
    losses: Annotated[
        float | None,
        number(
            "Errors",
            "Errors among the rows with this decision, or the sum of their losses; with the risk missed, the "
            "positives that are not accepted.",
            group=HERE,
            best=0,
            headline=True,
            digits=1,
        ),
    ]
    rate: Annotated[
        float | None,
        number(
            "Rate",
            "Errors per row with this decision, or their mean loss; with the risk missed, the proportion of "
            "the positives that are not accepted.",
            group=HERE,
            best=0,
            headline=True,
        ),
    ]
    labels: Annotated[int, number("Labels", "Labeled rows of the group.", group=HERE, headline=True)]
    delta: Annotated[
        float,
        number(
            "Delta",
            "Probability that this threshold is worse than promised; the deltas of all rows add up to the "
            "delta of the whole.",
            group=GUARANTEE,
        ),
    ]
    needed: Annotated[
        int | None,
        number(
            "Labels needed",
            "Labels with which a threshold would get the guarantee with a probability of about 80 %, if the "
            "errors were as here; a rough number. Null if there is a threshold, or the rate is above the "
            "limit at every threshold.",
            group=GUARANTEE,
            headline=True,
            short="labels needed",
        ),
    ] = None
    reason: Annotated[
        str | None, setting("Reason", "Reason why there is no threshold; null if there is one.")
    ] = None


class ThresholdGuarantee(Record, frozen=True, kw_only=True):
    """Thresholds whose risk is at most alpha, with a probability of at least 1 - delta."""

    thresholds: Annotated[
        tuple[GuaranteedThreshold, ...],
        rows("Guaranteed thresholds", "Thresholds by group and decision, and what they decide here."),
    ]
    risk: Annotated[
        str,
        setting(
            "Risk",
            "errors: the error rate among the rows with a decision; loss: their mean loss; missed: the "
            "proportion of the positives that are not accepted.",
            headline=True,
        ),
    ]
    alpha: Annotated[float, setting("Alpha", "Largest risk that is allowed.", unit="percent", headline=True)]
    delta: Annotated[
        float,
        setting(
            "Delta",
            "Largest probability, over samples of labels, that a threshold here has a larger risk.",
            unit="percent",
            headline=True,
        ),
    ]
    n: Annotated[int, setting("n", "Number of labeled rows.", headline=True)]
    accepted: Annotated[int, setting("Accepted", "Rows that are accepted here.", headline=True)]
    refused: Annotated[int, setting("Refused", "Rows that are refused here.", headline=True)]
    to_person: Annotated[int, setting("To a person", "Rows without a decision here.", headline=True)]
    clusters: Annotated[
        int | None,
        setting(
            "Clusters",
            "Clusters of dependent rows; null if rows are assumed to be independent.",
            headline=True,
        ),
    ] = None
    cluster_size: Annotated[
        int | None,
        setting("Largest cluster", "Most rows of a cluster for which the guarantee holds; null without."),
    ] = None
    by: Annotated[str | None, setting("Groups by", "Column of groups; null without groups.")] = None
    source: Annotated[str | None, setting("Source", "The table or log; null for arrays.")] = None
    output: Annotated[
        str | None, setting("Output", "Table of the rows for a person; null if none was written.")
    ] = None
    saved: Annotated[
        str | None, setting("Saved", "File of the thresholds for apply; null if none was written.")
    ] = None
    score_kind: Annotated[str, setting("Kind of scores", "Meaning of the scores.", headline=True)] = (
        "probability"
    )
    notes: Annotated[tuple[str, ...], setting("Notes", "How the source was read.")] = ()

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return what the guarantee assumes, and the notes."""
        if self.cluster_size is not None:
            largest = counted(self.cluster_size, "row")
            yield "", f"The guarantee is for new clusters like these, of at most {largest} each."
        for note in self.notes:
            yield "", note

    def summary(self) -> str:
        """Return what is guaranteed, and what is decided here."""
        found = [row for row in self.thresholds if row.threshold is not None]
        if not found:
            return self._without()
        of = {
            ERRORS: f"at most {percent(self.alpha)} of the rows with a decision are wrong",
            LOSS: f"the mean loss of the accepted rows is at most {self.alpha:g}",
            MISSED: f"at most {percent(self.alpha)} of the positives are not accepted",
        }[self.risk]
        if self.risk == ERRORS and len({row.decision for row in self.thresholds}) == 1:
            of = f"at most {percent(self.alpha)} of the accepted rows are wrong"
        sure = f"with a probability of at least {percent(1 - self.delta)}, {of}"
        if self.by is None:
            what = " and ".join(f"{row.decision} {self._from(row)}" for row in found)
            first = f"{what[0].upper()}{what[1:]}: {sure}."
        else:
            groups = len({row.group for row in self.thresholds})
            named = f"{len({row.group for row in found})} of {counted(groups, 'group')}"
            first = f"{sure[0].upper()}{sure[1:]}, in each of the groups with a threshold ({named})."
        return f"{first} {self._decided()}"

    def _decided(self) -> str:
        """Return how many rows of this table have which decision."""
        parts = (
            (self.accepted, "are accepted"),
            (self.refused, "are refused"),
            (self.to_person, "go to a person"),
        )
        told = [f"{count:,} {what}" for count, what in parts if count]
        listed = ", ".join(told[:-1]) + (" and " if len(told) > 1 else "") + told[-1]
        return f"In this table of {counted(self.n, 'row')}, {listed}."

    def _without(self) -> str:
        """Return why no threshold has the guarantee."""
        told = "No threshold has the guarantee."
        needed = [row.needed for row in self.thresholds if row.needed is not None]
        if needed:
            told += (
                f" About {min(needed):,} labels{' of a group' if self.by else ''} would give one, if the "
                "error rates stay as they are here."
            )
        return told

    def _from(self, row: GuaranteedThreshold) -> str:
        """Return the scores of a decision in words."""
        up = (row.decision == ACCEPT) != (self.score_kind == "uncertainty")
        return f"scores of {row.threshold:.4g} {'or more' if up else 'or less'}"
