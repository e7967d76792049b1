"""Records of means and counts that a labeled subsample corrects."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Quantity, Record, name, number, rows, setting, warning
from calibrant.results.errors import IntervalLevel

ALL = "all"
COUNTS, DATA = "Counts", "Data"


class CorrectedMean(Record, frozen=True, kw_only=True):
    """Proportion of documents, and their number, by one method, in one period."""

    period: Annotated[str, name("Period", "Period; all for all documents together, which come first.")]
    method: Annotated[str, name("Method", "Method: uncorrected, labels, ppi, ppi++, dsl or prior-shift.")]
    documents: Annotated[int, number("Documents", "Documents of the period.", group=DATA, headline=True)]
    labelled: Annotated[int, number("Labeled", "Documents with a label.", group=DATA, headline=True)]
    effective: Annotated[
        float | None,
        number(
            "Effective labels",
            "Effective number of labels, or of clusters of labels if these are named, by Kish's formula. The "
            "interval has this number minus 1 degrees of freedom; with fewer than 10 it is wide. Null for "
            "uncorrected.",
            group=DATA,
        ),
    ]
    count: Annotated[
        Quantity,
        number("Count", "Number of documents that are positive.", group=COUNTS, headline=True, digits=1),
    ]
    share: Annotated[
        Quantity,
        number(
            "Proportion",
            "The same as a proportion of the documents.",
            group=COUNTS,
            headline=True,
            short="share",
        ),
    ]
    few_warning: Annotated[str | None, warning("Few labels are positive, or few are negative.")] = None
    clusters_warning: Annotated[str | None, warning("The labels come from few effective clusters.")] = None
    dominant_warning: Annotated[str | None, warning("One cluster has most of the labels.")] = None
    weight_warning: Annotated[str | None, warning("The scores have weight 0.")] = None
    pooled_warning: Annotated[str | None, warning("A period has too few labels to be a stratum.")] = None


class CorrectedCounts(Record, frozen=True, kw_only=True):
    """Proportions and numbers of documents by period and method."""

    documents: Annotated[int, setting("Documents", "Number of documents.", headline=True)]
    labelled: Annotated[int, setting("Labeled", "Number of labeled documents.", headline=True)]
    population: Annotated[
        str,
        setting(
            "Population",
            "Documents that are counted: corpus, these documents; superpopulation, those that they were "
            "drawn from.",
            headline=True,
        ),
    ]
    clusters: Annotated[
        int | None,
        setting(
            "Clusters",
            "Clusters of the labeled documents; null if they are treated as independent.",
            headline=True,
        ),
    ]
    sampling: Annotated[
        str,
        setting(
            "Sampling",
            "Design of the labeled sample, on which the variance depends. simple: equal probabilities in "
            "each period; fixed: a fixed number of documents per group of equal probability; independent: "
            "each document independently, with its probability.",
            headline=True,
        ),
    ]
    sampling_detected: Annotated[
        bool,
        setting(
            "Sampling detected",
            "True if the design was inferred from the probabilities. If you know it, state it (sampling).",
            headline=True,
        ),
    ]
    level: IntervalLevel
    selection_warning: Annotated[
        str | None, warning("The data contradict the probabilities of being labeled.")
    ]
    class_warning: Annotated[str | None, warning("Labels have classes that scores never have.")] = None
    command: Annotated[
        str | None, setting("Command", "Command line that reproduces the result; null if there is none.")
    ]
    estimates: Annotated[
        tuple[CorrectedMean, ...],
        rows("Counts", "Estimates of each method, first for all documents, then for the periods in order."),
    ]
