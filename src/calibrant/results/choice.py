"""Records of a choice among recalibrators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.results._base import Result


@dataclass(frozen=True)
class RecalibratorCandidate(Result):
    """One recalibrator that was tried.

    Attributes
    ----------
    name
        What the caller calls it.
    loss
        Of scores that were mended by maps fitted to the other folds; None where a fold cannot be fitted.
    difference, low, high
        Its loss minus that of the chosen one, with a paired interval over clusters; None for the chosen one.
        The chosen one is the best of several on these data, so that differences are a little too large.
    reasons
        Why a number is None.
    """

    name: str
    loss: float | None
    difference: float | None
    low: float | None
    high: float | None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RecalibratorChoice(Result):
    """The best of some recalibrators by cross-validation.

    Attributes
    ----------
    chosen
        Name of the candidate with the smallest loss; of equally good ones the first.
    objective
        The loss: ``"brier"``, ``"log-loss"`` or ``"calibration"``.
    unchanged
        The loss of the scores as they are; None where it is infinite.
    candidates
        All that were tried, in their order.
    folds
        Parts of the data, each held out once.
    pairs, clusters
        Scores that count, and their clusters; None if scores are taken as independent.
    threshold
        Scores below it were left out.
    level
        Nominal coverage of the intervals.
    seed
        Of the folds; None when a generator was given.
    """

    chosen: str
    objective: str
    unchanged: float | None
    candidates: tuple[RecalibratorCandidate, ...]
    folds: int
    pairs: int
    clusters: int | None
    threshold: float
    level: float
    seed: int | None

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a candidate, and whether it was chosen."""
        rows = []
        for candidate in self.candidates:
            row = candidate.to_dict()
            del row["reasons"]
            rows.append({**row, "chosen": candidate.name == self.chosen})
        return rows
