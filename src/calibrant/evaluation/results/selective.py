"""Records of what is gained by leaving out what a model is unsure of."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Quantity, Record, name, number, rows, setting

CURVE, POINT = "Risk-coverage curve", "Most confident items"


class CoveragePoint(Record, frozen=True, kw_only=True):
    """Accuracy on the most confident items."""

    coverage: Annotated[float, name("Coverage", "Proportion of items kept.")]
    items: Annotated[int, number("Items", "Number of items kept.", group=POINT, headline=True)]
    threshold: Annotated[
        float, number("Threshold", "Least confidence among them.", group=POINT, headline=True)
    ]
    accuracy: Annotated[
        Quantity,
        number(
            "Accuracy",
            "Proportion of them that are right; interval for other items like these and the same coverage.",
            group=POINT,
            best=1,
            headline=True,
        ),
    ]


class RiskCoverage(Record, frozen=True, kw_only=True):
    """Gain from leaving out items of low confidence."""

    area: Annotated[
        Quantity,
        number(
            "Area",
            "Area under the risk-coverage curve: mean over coverages of the error rate on the items kept. An "
            "order that says nothing has the error rate itself.",
            group=CURVE,
            best=0,
            headline=True,
        ),
    ]
    best_area: Annotated[
        float, number("Best area", "Area of an order that puts every error last.", group=CURVE)
    ]
    excess_area: Annotated[
        float, number("Excess area", "Area minus best area.", group=CURVE, best=0, headline=True)
    ]
    error_rate: Annotated[
        float, number("Error rate", "Error rate at full coverage.", group=CURVE, best=0, headline=True)
    ]
    points: Annotated[tuple[CoveragePoint, ...], rows("Coverages", "Accuracy at the coverages asked for.")]
    coverage: Annotated[
        tuple[float, ...],
        setting("Curve: coverage", "Proportion kept at each of at most 200 points of the curve."),
    ]
    risk: Annotated[tuple[float, ...], setting("Curve: risk", "Error rate of the items kept at each point.")]
    threshold: Annotated[
        tuple[float, ...], setting("Curve: threshold", "Least confidence of the items kept at each point.")
    ]
    n: Annotated[int, setting("n", "Number of items.", headline=True)]
    level: Annotated[
        float, setting("Level", "Nominal coverage of the intervals.", unit="percent", headline=True)
    ]
    clusters: Annotated[
        int | None,
        setting("Clusters", "Clusters; null if items are taken as independent.", headline=True),
    ] = None
