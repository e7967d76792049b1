"""Records of how far annotators agree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.results._base import Result
from calibrant.results._words import counted
from calibrant.results.interval_estimate import IntervalEstimate, estimate_cells, estimate_columns, flattened
from calibrant.results.table import Column, Table, interval_heading, known, warnings_of

COEFFICIENTS = {
    "raw_agreement": "Raw agreement",
    "cohen_kappa": "Cohen's kappa",
    "scott_pi": "Scott's pi",
    "fleiss_kappa": "Fleiss' kappa",
    "krippendorff_alpha": "Krippendorff's alpha",
    "gwet_ac1": "Gwet's AC1",
}


@dataclass(frozen=True)
class PairAgreement(Result):
    """How far two annotators agree, on the items that both labelled.

    Attributes
    ----------
    first, second
        The annotators.
    items
        Items that both labelled.
    confusion
        ``confusion[i][j]``: items that the first gave the i-th label and the second the j-th.
    raw_agreement
        Share of items with the same label (weighted, partial agreement counts in part).
    cohen_kappa
        Agreement beyond chance, each annotator with its own shares of the labels.
    scott_pi
        The same, both with the same shares.
    reasons
        For each field that is None, why.
    """

    first: str
    second: str
    items: int
    confusion: tuple[tuple[int, ...], ...]
    raw_agreement: IntervalEstimate
    cohen_kappa: IntervalEstimate
    scott_pi: IntervalEstimate
    reasons: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the record with each coefficient as a number, and its interval beside it."""
        return flattened(super().to_dict())


@dataclass(frozen=True)
class ClassAgreement(Result):
    """How far annotators agree on one label.

    Attributes
    ----------
    label
        The label.
    labels
        How often it was given, on items with two or more labels.
    specific_agreement
        Where one annotator gives it, how often another does; for two annotators the F score of one by the
        other.
    kappa
        Fleiss' kappa of this label against all others.
    reasons
        For each field that is None, why.
    """

    label: str
    labels: int
    specific_agreement: IntervalEstimate
    kappa: IntervalEstimate
    reasons: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the record with each coefficient as a number, and its interval beside it."""
        return flattened(super().to_dict())


@dataclass(frozen=True)
class AnnotatorAgreement(Result):
    """How far one annotator agrees with the others.

    Attributes
    ----------
    annotator
        The annotator.
    items
        Items that the annotator labelled.
    missing
        Items that the annotator did not label.
    agreement
        Mean share of the other labels of an item that equal this annotator's.
    alpha_without
        Krippendorff's alpha of the others; above that of all, this is the one who differs. None for two
        annotators.
    shares
        Shares of this annotator's labels, by label.
    reasons
        For each field that is None, why.
    """

    annotator: str
    items: int
    missing: int
    agreement: IntervalEstimate
    alpha_without: float | None
    shares: dict[str, float]
    reasons: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the record with the agreement as a number, and its interval beside it."""
        return flattened(super().to_dict())


@dataclass(frozen=True)
class DisputedItem(Result):
    """An item on which annotators differ.

    Attributes
    ----------
    item
        The item.
    agreement
        Share of its pairs of labels that are equal.
    labels
        Label by annotator.
    """

    item: str
    agreement: float
    labels: dict[str, str]


@dataclass(frozen=True)
class Agreement(Result):
    """How far annotators (people or systems) agree.

    Attributes
    ----------
    items
        Items with at least one label.
    annotators
        How many there are; ``by_annotator`` names them.
    labels
        The labels, in order.
    given
        Labels given in all; ``missing`` would make one of each annotator to each item.
    missing
        Items without a label of an annotator, summed over annotators.
    single
        Items with a single label, which say nothing of agreement.
    raw_agreement
        Mean over items of the share of equal pairs of labels.
    cohen_kappa
        Of two annotators; None for more (``by_pair`` has each pair).
    scott_pi
        Of two annotators, likewise.
    fleiss_kappa
        Of any number of annotators, all with the same shares of the labels.
    krippendorff_alpha
        Of any number, with missing labels, and with ``distance`` between labels.
    gwet_ac1
        Of any number; its chance agreement is small where one label prevails.
    distance
        Of alpha: ``nominal``, ``ordinal``, ``interval`` or ``ratio``.
    weights
        Of Cohen's kappa: None, ``linear`` or ``quadratic``.
    by_pair, by_class, by_annotator
        The same for each pair of annotators (of at most 12), each label, each annotator.
    disputed
        The items on which annotators differ most.
    level
        Nominal coverage of the intervals.
    clusters
        Clusters of dependent items; None where items are taken as independent.
    reasons
        For each field that is None, why; and warnings, under ``warning``.
    """

    items: int
    annotators: int
    labels: tuple[str, ...]
    given: int
    missing: int
    single: int
    raw_agreement: IntervalEstimate
    cohen_kappa: IntervalEstimate
    scott_pi: IntervalEstimate
    fleiss_kappa: IntervalEstimate
    krippendorff_alpha: IntervalEstimate
    gwet_ac1: IntervalEstimate
    distance: str
    weights: str | None
    by_pair: tuple[PairAgreement, ...]
    by_class: tuple[ClassAgreement, ...]
    by_annotator: tuple[AnnotatorAgreement, ...]
    disputed: tuple[DisputedItem, ...]
    level: float
    clusters: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the record with each coefficient as a number, and its interval beside it."""
        return flattened(super().to_dict())

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row a coefficient, with its interval."""
        return [{"name": name, **getattr(self, name).to_dict()} for name in COEFFICIENTS]

    def to_tables(self) -> tuple[Table, ...]:
        """Return the coefficients, then pairs of annotators, labels and annotators."""
        columns = Column("coefficient", "", "name"), *estimate_columns("value", "value", self.level)
        rows = tuple(
            (heading, *estimate_cells(getattr(self, name), getattr(self, name).reasons))
            for name, heading in COEFFICIENTS.items()
        )
        inside = "" if self.clusters is None else f" in {counted(self.clusters, 'cluster')}"
        caption = (
            f"Agreement of {counted(self.annotators, 'annotator')} on {counted(self.items, 'item')}{inside}, "
            f"{counted(len(self.labels), 'label')}, with {interval_heading(self.level)}s"
        )
        kappa = estimate_columns("kappa", "kappa", self.level)
        pairs = tuple(
            (
                *(pair.first, pair.second, pair.items),
                known(pair.raw_agreement.estimate, pair.raw_agreement.reasons, "estimate"),
                *estimate_cells(pair.cohen_kappa, pair.cohen_kappa.reasons),
            )
            for pair in self.by_pair
        )
        labels = tuple(
            (
                *(each.label, each.labels),
                known(each.specific_agreement.estimate, each.specific_agreement.reasons, "estimate"),
                *estimate_cells(each.kappa, each.kappa.reasons),
            )
            for each in self.by_class
        )
        people = tuple(
            (
                *(each.annotator, each.items),
                *estimate_cells(each.agreement, each.agreement.reasons),
                known(each.alpha_without, each.reasons, "alpha_without"),
            )
            for each in self.by_annotator
        )
        items, agreement = Column("items", "items", "count"), Column("agreement", "agreement")
        names = Column("first", "first", "name"), Column("second", "second", "name")
        about = (
            Column("annotator", "annotator", "name"),
            items,
            *estimate_columns("agreement", "agreement with others", self.level),
            Column("alpha_without", "alpha without"),
        )
        given = Column("label", "label", "name"), Column("given", "given", "count")
        return (
            Table("coefficients", columns, rows, caption, warnings_of(self.reasons)),
            Table("pairs", (*names, items, agreement, *kappa), pairs, "Pairs of annotators"),
            Table("labels", (*given, agreement, *kappa), labels, "Labels"),
            Table("annotators", about, people, "Annotators"),
        )
