"""Records of a choice among recalibrators."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Quantity, Record, name, number, rows, setting

LOSS = "Loss on held-out folds"


class RecalibratorCandidate(Record, frozen=True, kw_only=True):
    """One recalibrator that was tried."""

    name: Annotated[str, name("Candidate", "Name that the caller gave it.")]
    loss: Annotated[
        Quantity,
        number(
            "Loss",
            "Loss of scores recalibrated by maps that were fitted to the other folds.",
            group=LOSS,
            headline=True,
            interval=False,
        ),
    ]
    difference: Annotated[
        Quantity | None,
        number(
            "Difference",
            "Loss of the candidate minus loss of the chosen candidate, with a paired interval over clusters; "
            "null for the chosen candidate. Differences are slightly too large, because the chosen candidate "
            "is the best of several on these data.",
            group=LOSS,
            headline=True,
        ),
    ] = None


class RecalibratorChoice(Record, frozen=True, kw_only=True):
    """The best of several recalibrators by cross-validation."""

    chosen: Annotated[
        str,
        setting("Chosen", "Candidate with the smallest loss; the first of equally good ones.", headline=True),
    ]
    objective: Annotated[str, setting("Loss", "The loss: brier, log-loss or calibration.", headline=True)]
    unchanged: Annotated[
        float | None,
        setting("Loss unchanged", "Loss of the scores without recalibration; null if it is infinite."),
    ]
    candidates: Annotated[
        tuple[RecalibratorCandidate, ...], rows("Candidates", "Every candidate, in the order given.")
    ]
    folds: Annotated[int, setting("Folds", "Parts of the data, each held out once.", headline=True)]
    pairs: Annotated[int, setting("Pairs", "Number of scores used.", headline=True)]
    clusters: Annotated[
        int | None, setting("Clusters", "Number of clusters; null if scores are treated as independent.")
    ]
    threshold: Annotated[float, setting("Threshold", "Scores below it were left out.")]
    level: Annotated[float, setting("Level", "Nominal coverage of the intervals.", unit="percent")]
    seed: Annotated[
        int | None, setting("Seed", "Seed of the folds; null if a generator was given.", unit="seed")
    ]
