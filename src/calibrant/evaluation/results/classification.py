"""Records of labels compared with the reference."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from calibrant.evaluation.results.interval_estimate import Few, IntervalEstimate
from calibrant.records import Record, Table, name, number, rows, setting
from calibrant.records.formats import confusion_table
from calibrant.results.errors import IntervalLevel

COUNTS, SCORES, MICRO, MACRO = "Counts", "Scores", "Micro averages", "Macro averages"


def _score(label: str, meaning: str, group: str, *, headline: bool = True) -> Meta:
    return number(label, meaning, group=group, best=1, headline=headline)


class ClassScore(Record, frozen=True, kw_only=True):
    """Precision, recall and F1 of one class."""

    label: Annotated[str, name("Class", "Name of the class.")]
    reference: Annotated[
        int, number("Reference", "Items of the class in the reference.", group=COUNTS, headline=True)
    ]
    predicted: Annotated[
        int, number("Predicted", "Items to which the system gave the class.", group=COUNTS, headline=True)
    ]
    correct: Annotated[int, number("Correct", "Items of the class in both.", group=COUNTS, headline=True)]
    precision: Annotated[
        IntervalEstimate, _score("Precision", "Proportion of predicted items that are correct.", SCORES)
    ]
    recall: Annotated[
        IntervalEstimate,
        _score("Recall", "Proportion of the reference's items that the system found.", SCORES),
    ]
    f1: Annotated[
        IntervalEstimate,
        _score("F1", "Harmonic mean of precision and recall, 2 correct / (reference + predicted).", SCORES),
    ]


class Classification(Record, frozen=True, kw_only=True):
    """Accuracy, precision, recall and F1 of a system's labels against the reference."""

    n: Annotated[int, setting("n", "Number of items.", headline=True)]
    labels: Annotated[tuple[str, ...], setting("Classes", "Classes, in order.")]
    confusion: Annotated[
        tuple[tuple[int, ...], ...],
        setting(
            "Confusion",
            "confusion[i][j]: items to which the system gave the i-th class and the reference the j-th.",
        ),
    ]
    accuracy: Annotated[
        IntervalEstimate, _score("Accuracy", "Proportion of items with the class of the reference.", SCORES)
    ]
    precision_micro: Annotated[
        IntervalEstimate,
        _score(
            "Precision (micro)",
            "Precision of counts summed over the averaged classes; equal to the accuracy if all classes are "
            "averaged.",
            MICRO,
            headline=False,
        ),
    ]
    recall_micro: Annotated[
        IntervalEstimate, _score("Recall (micro)", "Recall of the summed counts.", MICRO, headline=False)
    ]
    f1_micro: Annotated[IntervalEstimate, _score("F1 (micro)", "F1 of the summed counts.", MICRO)]
    precision_macro: Annotated[
        IntervalEstimate,
        _score(
            "Precision (macro)",
            "Mean precision of the averaged classes that occur; 0 for a class that is never predicted.",
            MACRO,
            headline=False,
        ),
    ]
    recall_macro: Annotated[
        IntervalEstimate,
        _score(
            "Recall (macro)",
            "Mean recall of these classes; 0 for a class that is not in the reference.",
            MACRO,
            headline=False,
        ),
    ]
    f1_macro: Annotated[IntervalEstimate, _score("F1 (macro)", "Mean F1 of these classes.", MACRO)]
    averaged: Annotated[
        tuple[str, ...],
        setting("Averaged", "Classes over which micro and macro scores are computed.", headline=True),
    ]
    by_class: Annotated[tuple[ClassScore, ...], rows("Classes", "Scores of each class.")]
    level: IntervalLevel
    clusters: Annotated[
        int | None,
        setting("Clusters", "Clusters of dependent items; null if items are independent.", headline=True),
    ] = None
    warning: Few = None

    def __getitem__(self, label: object) -> ClassScore:
        """Return the scores of one class."""
        return {row.label: row for row in self.by_class}[str(label)]

    def more_tables(self) -> tuple[Table, ...]:
        """Return the confusion matrix of few classes."""
        title = "Classes of the system (rows) and of the reference (columns)"
        return confusion_table(self.labels, self.confusion, title)
