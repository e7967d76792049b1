"""Records of predicted spans that were matched with gold spans."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Quantity, Record, number, setting

PAIRS, GOLD = "Predicted spans", "Gold spans"
MOST_TYPES = 8


class MatchedSpans(Record, frozen=True, kw_only=True):
    """Predicted spans matched with gold spans, written as pairs of a score and a label."""

    predicted: Annotated[str, setting("Predicted", "Table of the predicted spans.", headline=True)]
    gold_source: Annotated[
        str | None,
        setting(
            "Gold", "Table of the gold spans; null if the predicted spans' table has them.", headline=True
        ),
    ]
    output: Annotated[str, setting("Output", "Table of the pairs.", headline=True)]
    match: Annotated[
        str,
        setting(
            "Match",
            "exact: boundary and type. boundary: boundary only. type: type, of spans whose boundary is gold.",
            headline=True,
        ),
    ]
    type_scores: Annotated[
        str,
        setting(
            "Types", "How the scores of several types of one boundary combine: exclusive or independent."
        ),
    ]
    rows: Annotated[
        int, number("Pairs", "Pairs written: scored spans, or scored boundaries.", group=PAIRS, headline=True)
    ]
    positives: Annotated[int, number("Right", "Pairs whose span is gold.", group=PAIRS, headline=True)]
    repeated: Annotated[
        int,
        number("Repeated", "Rows that repeat the span of another row; each span counts once.", group=PAIRS),
    ]
    documents: Annotated[
        int,
        number(
            "Documents", "Documents with predicted or gold spans; each is a cluster of pairs.", group=PAIRS
        ),
    ]
    without_gold: Annotated[
        int, number("Documents without gold", "Documents with predicted spans but no gold span.", group=PAIRS)
    ]
    gold: Annotated[
        int,
        number(
            "Gold",
            "Number of distinct gold spans; for the match boundary, of distinct gold boundaries; for the "
            "match type, of gold spans whose boundary is predicted.",
            group=GOLD,
            headline=True,
        ),
    ]
    missed: Annotated[
        int,
        number(
            "Missed",
            "Gold spans that the model does not output. They are not written as pairs, so calibration errors "
            "describe the model's output only.",
            group=GOLD,
            headline=True,
        ),
    ]
    recall: Annotated[
        Quantity,
        number(
            "Recall",
            "Proportion of gold spans that the model outputs with any score, in [0, 1].",
            group=GOLD,
            best=1,
            headline=True,
            interval=False,
        ),
    ]
    repeated_gold: Annotated[
        int, number("Repeated gold", "Gold rows that repeat another row; each span counts once.", group=GOLD)
    ]
    missed_types: Annotated[
        dict[str, int], setting("Missed by type", "Missed gold spans by type, the most frequent first.")
    ]
    unseen_types: Annotated[
        dict[str, int],
        setting("Types never output", "Missed gold spans of types that the model never outputs, by type."),
    ]
    threshold: Annotated[
        float | None, setting("Threshold", "Smallest score of a written span; null if there is no threshold.")
    ]

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Yield notes for the measurement of the pairs."""
        if self.missed:
            yield "missed", "not written as pairs; calibration errors describe the model's output only"
        if not self.positives:
            yield (
                "positives",
                "check that both tables count positions alike, with ends after the last position",
            )
        if self.unseen_types:
            first = list(self.unseen_types.items())[:MOST_TYPES]
            shown = ", ".join(f"{name} ({count:,})" for name, count in first)
            more = len(self.unseen_types) - MOST_TYPES
            shown += f" and {more} more" if more > 0 else ""
            yield (
                "",
                f"The model never outputs these gold types: {shown}. Check that both tables use the same "
                "names.",
            )
        if self.without_gold:
            yield "without_gold", "leave out documents that were not annotated"
        if self.match == "type":
            yield "", "A type without a score at a boundary has probability 0."
        if self.threshold and self.match != "exact":
            yield (
                "threshold",
                "if the table of spans lacks scores below it, the sums at boundaries lack them too, and even "
                "a calibrated model has an error",
            )
