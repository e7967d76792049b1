"""Records of agreement between annotators."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.evaluation.results.interval_estimate import Few, IntervalEstimate
from calibrant.records import Record, Table, name, number, rows, setting, warning
from calibrant.records.formats import confusion_table
from calibrant.records.words import counted
from calibrant.results.errors import IntervalLevel

AGREEMENT, DATA = "Agreement", "Data"


class PairAgreement(Record, frozen=True, kw_only=True):
    """Agreement of two annotators, on the items that both labeled."""

    first: Annotated[str, name("First", "First annotator.")]
    second: Annotated[str, name("Second", "Second annotator.")]
    items: Annotated[int, number("Items", "Items that both labeled.", group=DATA, headline=True)]
    confusion: Annotated[
        tuple[tuple[int, ...], ...],
        setting(
            "Confusion",
            "confusion[i][j]: items to which the first gave the i-th label and the second the j-th.",
        ),
    ]
    raw_agreement: Annotated[
        IntervalEstimate,
        number(
            "Agreement",
            "Proportion of items with the same label; with weights, partial agreement counts in part.",
            group=AGREEMENT,
            best=1,
            headline=True,
            interval=False,
        ),
    ]
    cohen_kappa: Annotated[
        IntervalEstimate,
        number(
            "Kappa",
            "Cohen's kappa: agreement beyond chance, with separate label proportions per annotator.",
            group=AGREEMENT,
            best=1,
            headline=True,
        ),
    ]
    scott_pi: Annotated[
        IntervalEstimate,
        number(
            "Scott's pi",
            "Agreement beyond chance, with common label proportions for both annotators.",
            group=AGREEMENT,
            best=1,
        ),
    ]
    warning: Few = None

    def more_tables(self, labels: tuple[str, ...] = ()) -> tuple[Table, ...]:
        """Return the confusion matrix of few labels, for a record of two annotators."""
        title = f"Labels of {self.first} (rows) and of {self.second} (columns)"
        return confusion_table(labels, self.confusion, title)


class ClassAgreement(Record, frozen=True, kw_only=True):
    """Agreement of annotators on one label."""

    label: Annotated[str, name("Label", "Name of the label.")]
    labels: Annotated[
        int,
        number(
            "Given", "Number of times that the label was given, on items with two or more labels.", group=DATA
        ),
    ]
    specific_agreement: Annotated[
        IntervalEstimate,
        number(
            "Agreement",
            "Where one annotator gives the label, how often another does; for two annotators the F score of "
            "one by the other.",
            group=AGREEMENT,
            best=1,
            interval=False,
        ),
    ]
    kappa: Annotated[
        IntervalEstimate,
        number("Kappa", "Fleiss' kappa of this label against all others.", group=AGREEMENT, best=1),
    ]


class AnnotatorAgreement(Record, frozen=True, kw_only=True):
    """Agreement of one annotator with the others."""

    annotator: Annotated[str, name("Annotator", "Name of the annotator.")]
    items: Annotated[int, number("Items", "Items that the annotator labeled.", group=DATA, headline=True)]
    missing: Annotated[int, number("Missing", "Items that the annotator did not label.", group=DATA)]
    agreement: Annotated[
        IntervalEstimate,
        number(
            "Agreement with others",
            "Mean proportion of the other labels of an item that equal this annotator's.",
            group=AGREEMENT,
            best=1,
            headline=True,
        ),
    ]
    alpha_without: Annotated[
        float | None,
        number(
            "Alpha without",
            "Krippendorff's alpha without this annotator. If it is above the alpha of all, this annotator "
            "differs from the others.",
            group=AGREEMENT,
            headline=True,
        ),
    ]
    shares: Annotated[
        dict[str, float], setting("Proportions", "Proportions of this annotator's labels, by label.")
    ]
    reason: Annotated[str | None, setting("Reason", "Reason why alpha_without is undefined, if it is.")] = (
        None
    )


class DisputedItem(Record, frozen=True):
    """An item on which annotators differ."""

    item: Annotated[str, name("Item", "Name of the item.")]
    agreement: Annotated[
        float,
        number("Agreement", "Proportion of its pairs of labels that are equal.", group=AGREEMENT, best=1),
    ]
    labels: Annotated[dict[str, str], setting("Labels", "Label of each annotator.")]


class Agreement(Record, frozen=True, kw_only=True):
    """Agreement of annotators (people or systems)."""

    items: Annotated[int, number("Items", "Items with at least one label.", group=DATA)]
    annotators: Annotated[int, number("Annotators", "Number of annotators.", group=DATA)]
    labels: Annotated[tuple[str, ...], setting("Labels", "Labels, in order.")]
    given: Annotated[int, number("Labels given", "Total number of labels.", group=DATA)]
    missing: Annotated[
        int,
        number(
            "Labels missing", "Items without a label of an annotator, summed over annotators.", group=DATA
        ),
    ]
    unlabeled: Annotated[
        int,
        number("Unlabeled items", "Items of the table without any label, left out.", group=DATA),
    ] = 0
    single: Annotated[
        int,
        number("Single labels", "Items with one label, which do not contribute to agreement.", group=DATA),
    ]
    raw_agreement: Annotated[
        IntervalEstimate,
        number(
            "Raw agreement",
            "Mean over items of the proportion of equal pairs of labels, in [0, 1]; high by chance where one "
            "label prevails.",
            group=AGREEMENT,
            best=1,
            headline=True,
        ),
    ]
    cohen_kappa: Annotated[
        IntervalEstimate,
        number(
            "Cohen's kappa",
            "Agreement of two annotators beyond chance, each with its own proportions of the labels; "
            "undefined for more, see by_pair. By convention 0.8 is good and 0.67 the least; low where one "
            "label prevails.",
            group=AGREEMENT,
            best=1,
            headline=True,
        ),
    ]
    scott_pi: Annotated[
        IntervalEstimate,
        number(
            "Scott's pi",
            "Agreement of two annotators beyond chance, with common label proportions.",
            group=AGREEMENT,
            best=1,
        ),
    ]
    fleiss_kappa: Annotated[
        IntervalEstimate,
        number(
            "Fleiss' kappa",
            "Agreement of any number of annotators, all with the same proportions of the labels.",
            group=AGREEMENT,
            best=1,
        ),
    ]
    krippendorff_alpha: Annotated[
        IntervalEstimate,
        number(
            "Krippendorff's alpha",
            "Agreement of any number of annotators, with missing labels and a distance between labels; the "
            "recommended default.",
            group=AGREEMENT,
            best=1,
            headline=True,
        ),
    ]
    gwet_ac1: Annotated[
        IntervalEstimate,
        number(
            "Gwet's AC1",
            "Agreement of any number of annotators; its chance agreement is small where one label prevails. "
            "High for a rare label that nobody agrees on: see by_class.",
            group=AGREEMENT,
            best=1,
        ),
    ]
    distance: Annotated[
        str, setting("Distance", "Distance in alpha: nominal, ordinal, interval or ratio.", headline=True)
    ]
    weights: Annotated[
        str | None, setting("Weights", "Weights of Cohen's kappa: null, linear or quadratic.", headline=True)
    ]
    by_pair: Annotated[
        tuple[PairAgreement, ...],
        rows("Pairs", "Agreement of each pair of annotators, if there are at most 12 annotators."),
    ]
    by_class: Annotated[tuple[ClassAgreement, ...], rows("Labels", "Agreement on each label.")]
    by_annotator: Annotated[
        tuple[AnnotatorAgreement, ...], rows("Annotators", "Agreement of each annotator with the others.")
    ]
    disputed: Annotated[
        tuple[DisputedItem, ...], rows("Disputed items", "Items on which annotators differ most.")
    ]
    level: IntervalLevel
    clusters: Annotated[
        int | None,
        setting(
            "Clusters", "Clusters of dependent items; null if items are taken as independent.", headline=True
        ),
    ] = None
    warning: Few = None
    inclusion_warning: Annotated[str | None, warning("Items were drawn with unequal probabilities.")] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return how the intervals were made, and which part of the record is empty."""
        units = "items" if self.clusters is None else counted(self.clusters, "cluster")
        yield "", f"Intervals: goodness-of-fit test of {units}"

    def more_tables(self) -> tuple[Table, ...]:
        """Return the confusion matrix of two annotators."""
        return self.by_pair[0].more_tables(self.labels) if self.annotators == 2 else ()
