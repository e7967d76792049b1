"""The record of the change of the scores' order by a recalibration."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Record, number, setting

TIES, AUC = "Ties", "Order"
TIED = "Proportion of the combinations of a positive and a negative pair that have the same score"
AREA = "Area under the ROC curve, ties counting one half"


class OrderEffect(Record, frozen=True, kw_only=True):
    """Ties and AUC before and after a recalibration."""

    distinct_before: Annotated[
        int, number("Distinct scores before", "Number of distinct scores before.", group=TIES)
    ]
    distinct_after: Annotated[
        int, number("Distinct scores after", "Number of distinct scores after.", group=TIES)
    ]
    tied_before: Annotated[float | None, number("Tied before", f"{TIED}, before.", group=TIES)]
    tied_after: Annotated[float | None, number("Tied after", f"{TIED}, after.", group=TIES)]
    auc_before: Annotated[float | None, number("AUC before", f"{AREA}, before.", group=AUC, best=1)]
    auc_after: Annotated[float | None, number("AUC after", f"{AREA}, after.", group=AUC, best=1)]
    auc_change: Annotated[
        float | None, number("AUC change", "AUC after minus AUC before.", group=AUC, headline=True)
    ]
    reason: Annotated[str | None, setting("Reason", "Reason why numbers are undefined, if they are.")] = None
