"""Records of proportions of classes under label shift."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Quantity, Record, name, number, rows, setting, warning
from calibrant.results.errors import IntervalLevel

SHARES = "Shares"


class ShiftedShare(Record, frozen=True, kw_only=True):
    """Proportion of one class in one group."""

    group: Annotated[str, name("Group", "Group of documents.")]
    label: Annotated[str, name("Class", "Class of the labels.")]
    documents: Annotated[int, number("Documents", "Documents of the group.", group=SHARES)]
    labels: Annotated[int, number("Labels", "Labels from which the error rates are estimated.", group=SHARES)]
    rates: Annotated[
        str,
        name(
            "Error rates",
            "own: error rates from labels of this group; pooled: from all labels, which assumes that all "
            "groups have the same.",
        ),
    ]
    share: Annotated[Quantity, number("Proportion", "Proportion of the class.", group=SHARES, headline=True)]
    few_warning: Annotated[str | None, warning("Few labels of a class carry the estimate.")] = None
    shift_warning: Annotated[str | None, warning("The labels contradict the estimate.")] = None


class LabelShift(Record, frozen=True, kw_only=True):
    """Proportions of classes in groups, from probabilities and the labels of some documents."""

    method: Annotated[
        str,
        setting("Method", "confusion (soft matrix) or em (expectation-maximization).", headline=True),
    ]
    documents: Annotated[int, setting("Documents", "Number of documents.", headline=True)]
    labelled: Annotated[int, setting("Labeled", "Number of labels.", headline=True)]
    clusters: Annotated[
        int | None, setting("Clusters", "Number of clusters; null if documents are treated as independent.")
    ]
    population: Annotated[str, setting("Population", "corpus or superpopulation.")]
    level: IntervalLevel
    shares: Annotated[tuple[ShiftedShare, ...], rows("Proportions", "One entry per group and class.")]
