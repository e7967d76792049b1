"""Records of the gain from abstaining on items of low confidence."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Quantity, Record, Table, name, number, rows, setting
from calibrant.records.words import counted
from calibrant.results.errors import IntervalLevel

CURVE, POINT = "Risk-coverage curve", "Most confident items"
ORDER, CUT, ALL = "Order of the errors", "Answers", "All answers"

Auroc = Annotated[
    Quantity,
    number(
        "AUROC",
        "Probability that a correct answer has more confidence than a wrong one, ties counting one half. 0.5 "
        "is no order.",
        group=ORDER,
        best=1,
        headline=True,
    ),
]
RejectionRatio = Annotated[
    Quantity,
    number(
        "Prediction-rejection ratio",
        "Part of the possible reduction of the area that the confidence achieves: (error rate - area) / "
        "(error rate - best area). 0 is no order, below 0 a wrong one.",
        group=ORDER,
        best=1,
        headline=True,
        short="PRR",
    ),
]
Area = Annotated[
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
BestArea = Annotated[float, number("Best area", "Area of the order that puts all errors last.", group=CURVE)]
ExcessArea = Annotated[
    Quantity, number("Excess area", "Area minus best area.", group=CURVE, best=0, headline=True)
]
Clusters = Annotated[
    int | None,
    setting(
        "Clusters",
        "Clusters of dependent items; null if items are assumed to be independent.",
        headline=True,
    ),
]


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

    area: Area
    best_area: BestArea
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
    clusters: Clusters = None


class OrderQuality(Record, frozen=True, kw_only=True):
    """How well confidence orders wrong answers behind correct ones."""

    auroc: Auroc
    rejection_ratio: RejectionRatio
    excess_area: ExcessArea
    errors: Annotated[int, setting("Errors", "Number of wrong items.", headline=True)]
    n: Annotated[int, setting("n", "Number of items.", headline=True)]
    level: IntervalLevel
    clusters: Clusters = None


class KeptAnswers(Record, frozen=True, kw_only=True):
    """Answers that are kept at one threshold, and those that go to a person."""

    coverage: Annotated[float, name("Coverage", "Proportion of answers kept.")]
    threshold: Annotated[
        float,
        number(
            "Threshold",
            "Smallest confidence of the answers kept, as the table has it; of uncertainties, the largest.",
            group=CUT,
            headline=True,
        ),
    ]
    items: Annotated[int, number("Kept", "Number of answers kept.", group=CUT, headline=True)]
    accuracy: Annotated[
        Quantity,
        number(
            "Accuracy",
            "Proportion of the answers kept that are right; the interval is for other answers of this kind "
            "at the same coverage.",
            group=CUT,
            best=1,
            headline=True,
        ),
    ]
    errors: Annotated[
        int, number("Errors kept", "Wrong answers among those kept.", group=CUT, best=0, headline=True)
    ]
    to_person: Annotated[
        int, number("To a person", "Number of answers below the threshold.", group=CUT, headline=True)
    ]
    errors_found: Annotated[
        int,
        number("Errors among these", "Wrong answers below the threshold.", group=CUT, headline=True),
    ]


class AnswerSelection(Record, frozen=True, kw_only=True):
    """Answers to keep by their confidence, and answers that go to a person."""

    main_table = "points"

    points: Annotated[
        tuple[KeptAnswers, ...],
        rows("Most confident answers", "Thresholds, the accuracy of the answers kept, and their errors."),
    ]
    auroc: Auroc
    rejection_ratio: RejectionRatio
    area: Area
    best_area: BestArea
    excess_area: ExcessArea
    cut: Annotated[float, setting("Cut", "Coverage of the chosen row.", unit="percent", headline=True)]
    n: Annotated[int, setting("n", "Number of answers.", headline=True)]
    source: Annotated[str, setting("Source", "The table or log.")]
    output: Annotated[
        str | None, setting("Output", "Table of the answers below the threshold; null if none was written.")
    ] = None
    score_kind: Annotated[
        str,
        setting(
            "Kind of scores", "Meaning of the scores; only the order of a ranking counts.", headline=True
        ),
    ]
    level: IntervalLevel
    clusters: Clusters = None
    notes: Annotated[tuple[str, ...], setting("Notes", "How the source was read.")] = ()

    def remarks(self) -> tuple[tuple[str, str], ...]:
        """Return the notes."""
        return tuple(("", note) for note in self.notes)

    def main_tables(self) -> tuple[Table, ...]:
        """Return the thresholds and the numbers of the order."""
        first, *others = self.to_tables()
        return (first, *(table for table in others if table.name == "numbers"))

    def summary(self) -> str:
        """Return what the chosen threshold does to the accuracy."""
        kept = next(row for row in self.points if row.coverage == self.cut)
        whole, accuracy = self.points[-1].accuracy, kept.accuracy
        assert whole.estimate is not None
        assert accuracy.estimate is not None
        before = f"{100 * whole.estimate:.1f} %"
        if not kept.to_person:
            return f"All {counted(self.n, 'answer')} are kept, of which {before} are right."
        what, side = ("uncertainty", "less") if self.score_kind == "uncertainty" else ("confidence", "more")
        ends = ""
        if accuracy.low is not None and accuracy.high is not None:
            ends = f" [{100 * accuracy.low:.1f}, {100 * accuracy.high:.1f}]"
        after = f"{100 * accuracy.estimate:.1f} %{ends}"
        which = f"the most confident {100 * kept.coverage:.3g} % ({what} {kept.threshold:.4g} or {side})"
        if accuracy.estimate <= whole.estimate:
            return f"Keeping {which} does not raise accuracy: it is {after}, and {before} for all answers."
        return (
            f"Keeping {which} raises accuracy from {before} to {after}. {counted(kept.to_person, 'answer')} "
            f"go to a person, with {kept.errors_found:,} of the {kept.errors + kept.errors_found:,} errors."
        )
