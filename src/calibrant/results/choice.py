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
            "Its loss minus that of the chosen one, with a paired interval over clusters; null for the "
            "chosen one. The chosen one is the best of several on these data, so that differences are a "
            "little too large.",
            group=LOSS,
            headline=True,
        ),
    ] = None


class RecalibratorChoice(Record, frozen=True, kw_only=True):
    """The best of some recalibrators by cross-validation."""

    chosen: Annotated[
        str,
        setting("Chosen", "Candidate with the smallest loss; of equally good ones the first.", headline=True),
    ]
    objective: Annotated[str, setting("Loss", "The loss: brier, log-loss or calibration.", headline=True)]
    unchanged: Annotated[
        float | None, setting("Loss unchanged", "Loss of the scores as they are; null if it is infinite.")
    ]
    candidates: Annotated[
        tuple[RecalibratorCandidate, ...], rows("Candidates", "Every candidate, in the order given.")
    ]
    folds: Annotated[int, setting("Folds", "Parts of the data, each held out once.", headline=True)]
    pairs: Annotated[int, setting("Pairs", "Scores that count.", headline=True)]
    clusters: Annotated[
        int | None, setting("Clusters", "Their clusters; null if scores are taken as independent.")
    ]
    threshold: Annotated[float, setting("Threshold", "Scores below it were left out.")]
    level: Annotated[float, setting("Level", "Nominal coverage of the intervals.", unit="percent")]
    seed: Annotated[
        int | None, setting("Seed", "Seed of the folds; null if a generator was given.", unit="seed")
    ]
