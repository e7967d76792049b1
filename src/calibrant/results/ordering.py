"""The record of what a recalibration does to the order of the scores."""

from __future__ import annotations

from dataclasses import dataclass, field

from calibrant.results._base import Result


@dataclass(frozen=True)
class OrderEffect(Result):
    """Ties and AUC before and after a recalibration.

    Attributes
    ----------
    distinct_before, distinct_after
        Number of distinct scores.
    tied_before, tied_after
        Share of the combinations of a positive and a negative pair that have the same score; None where
        there are none.
    auc_before, auc_after
        Area under the ROC curve, ties counting one half; None where all labels are the same.
    auc_change
        ``auc_after - auc_before``.
    reasons
        For each field that is None, why.
    """

    distinct_before: int
    distinct_after: int
    tied_before: float | None
    tied_after: float | None
    auc_before: float | None
    auc_after: float | None
    auc_change: float | None
    reasons: dict[str, str] = field(default_factory=dict)
