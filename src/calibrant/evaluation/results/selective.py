"""Records of the gain from abstaining on items of low confidence."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Quantity, Record, name, number, rows, setting
from calibrant.results.errors import IntervalLevel

CURVE, POINT = "Risk-coverage curve", "Most confident items"


class CoveragePoint(Record, frozen=True, kw_only=True):
    """Accuracy on the most confident items."""

    coverage: Annotated[float, name("Coverage", "Proportion of items kept.")]
    items: Annotated[int, number("Items", "Number of items kept.", group=POINT, headline=True)]
    threshold: Annotated[
        float, number("Threshold", "Smallest confidence of the kept items.", group=POINT, headline=True)
    ]
    accuracy: Annotated[
        Quantity,
        number(
            "Accuracy",
            "Proportion of kept items that are correct; the interval is for other items of this kind at the "
            "same coverage.",
            group=POINT,
            best=1,
            headline=True,
        ),
    ]


class RiskCoverage(Record, frozen=True, kw_only=True):
    """Gain from abstaining on items of low confidence."""

    area: Annotated[
        Quantity,
        number(
            "Area",
            "Area under the risk-coverage curve: mean over coverages of the error rate on the items kept. "
            "The area of an uninformative order is the error rate.",
            group=CURVE,
            best=0,
            headline=True,
        ),
    ]
    best_area: Annotated[
        float, number("Best area", "Area of the order that puts all errors last.", group=CURVE)
    ]
    excess_area: Annotated[
        float, number("Excess area", "Area minus best area.", group=CURVE, best=0, headline=True)
    ]
    error_rate: Annotated[
        float, number("Error rate", "Error rate at full coverage.", group=CURVE, best=0, headline=True)
    ]
    points: Annotated[tuple[CoveragePoint, ...], rows("Coverages", "Accuracy at the requested coverages.")]
    coverage: Annotated[
        tuple[float, ...],
        setting("Curve: coverage", "Proportion kept at each of at most 200 points of the curve."),
    ]
    risk: Annotated[tuple[float, ...], setting("Curve: risk", "Error rate of the items kept at each point.")]
    threshold: Annotated[
        tuple[float, ...], setting("Curve: threshold", "Smallest confidence of the items kept at each point.")
    ]
    n: Annotated[int, setting("n", "Number of items.", headline=True)]
    level: IntervalLevel
    clusters: Annotated[
        int | None,
        setting(
            "Clusters",
            "Clusters of dependent items; null if items are assumed to be independent.",
            headline=True,
        ),
    ] = None
