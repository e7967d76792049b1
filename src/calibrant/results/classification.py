"""Records of how well labels match the reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.results._base import Result
from calibrant.results.interval_estimate import IntervalEstimate, flattened


@dataclass(frozen=True)
class ClassScore(Result):
    """How well one class is found.

    Attributes
    ----------
    label
        The class.
    reference
        Items that have it in the reference.
    predicted
        Items to which the system gave it.
    correct
        Items that have it in both.
    precision
        Share of the predicted that are correct; None where none was predicted.
    recall
        Share of those in the reference that are found; None where there are none.
    f1
        Their harmonic mean, 2 correct / (reference + predicted); None where both are 0.
    reasons
        For each field that is None, why.
    """

    label: str
    reference: int
    predicted: int
    correct: int
    precision: IntervalEstimate
    recall: IntervalEstimate
    f1: IntervalEstimate
    reasons: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the record with each score as a number, and its interval beside it."""
        return flattened(super().to_dict())


@dataclass(frozen=True)
class Classification(Result):
    """How well a system's labels match the reference.

    Attributes
    ----------
    n
        Items.
    labels
        The classes, in order.
    confusion
        ``confusion[i][j]``: items that the system gave the i-th class and the reference the j-th.
    accuracy
        Share of items with the class of the reference.
    precision_micro, recall_micro, f1_micro
        From counts summed over the classes in ``averaged``; all are the accuracy where those are all classes.
    precision_macro, recall_macro, f1_macro
        Means over those classes that occur; a class that is never predicted has precision 0, one that the
        reference never has recall 0.
    averaged
        The classes that micro and macro scores are over.
    by_class
        The same for each class.
    level
        Nominal coverage of the intervals.
    clusters
        Clusters of dependent items; None where items are taken as independent.
    reasons
        For each field that is None, why; and warnings, under ``warning``.
    """

    n: int
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    accuracy: IntervalEstimate
    precision_micro: IntervalEstimate
    recall_micro: IntervalEstimate
    f1_micro: IntervalEstimate
    precision_macro: IntervalEstimate
    recall_macro: IntervalEstimate
    f1_macro: IntervalEstimate
    averaged: tuple[str, ...]
    by_class: tuple[ClassScore, ...]
    level: float
    clusters: int | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, label: str) -> ClassScore:
        """Return the scores of one class."""
        return {each.label: each for each in self.by_class}[label]

    def to_dict(self) -> dict[str, Any]:
        """Return the record with each score as a number, and its interval beside it."""
        return flattened(super().to_dict())

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row a class."""
        return [each.to_dict() for each in self.by_class]
