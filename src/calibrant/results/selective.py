"""Records of what is gained by leaving out what a model is unsure of."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.results._base import Result


@dataclass(frozen=True)
class CoveragePoint(Result):
    """Accuracy on the most confident items.

    Attributes
    ----------
    coverage
        Share of items kept.
    items
        How many they are.
    threshold
        The least confidence among them.
    accuracy
        Share of them that are right.
    low, high
        Its interval, for other items like these and the same coverage.
    """

    coverage: float
    items: int
    threshold: float
    accuracy: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RiskCoverage(Result):
    """What is gained by leaving out what a model is unsure of.

    Attributes
    ----------
    area
        Area under the risk-coverage curve: mean over coverages of the error rate on what is kept. 0 is best;
        an order that says nothing has the error rate itself.
    area_low, area_high, area_standard_error
        Its interval and standard error; None where undefined.
    best_area
        What an order that puts every error last would have.
    excess_area
        ``area - best_area``.
    error_rate
        At full coverage.
    points
        Accuracy at the coverages asked for.
    coverage, risk, threshold
        The curve: share kept, error rate of what is kept, least confidence of what is kept; at most 200
        points.
    n
        Items.
    level
        Nominal coverage of the intervals.
    clusters
        Clusters; None where items are taken as independent.
    reasons
        For each field that is None, why.
    """

    area: float
    area_low: float | None
    area_high: float | None
    area_standard_error: float | None
    best_area: float
    excess_area: float
    error_rate: float
    points: tuple[CoveragePoint, ...]
    coverage: tuple[float, ...]
    risk: tuple[float, ...]
    threshold: tuple[float, ...]
    n: int
    level: float
    clusters: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row a point of the curve."""
        columns = zip(self.coverage, self.risk, self.threshold, strict=True)
        return [{"coverage": c, "risk": r, "threshold": t} for c, r, t in columns]
