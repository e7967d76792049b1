"""Calibration curves from the rows of a record, that is, without the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibrant.results import Bins
from calibrant.results.bins import BinIntervals
from calibrant_studies._base import Row

COLUMNS = ("n", "positives", "score", "edge_low", "edge_high")


def drawable(rows: Sequence[Row], method: str) -> tuple[Bins, BinIntervals]:
    """Return the bins of a curve and their intervals by a method, from the record's rows."""
    low, high = (np.array([row[key] for row in rows]) for key in ("low", "high"))
    return bins_of(rows, "adaptive"), BinIntervals(low, high, 0.95, method)


def bins_of(rows: Sequence[Row], kind: str) -> Bins:
    """Return the bins of a record's rows."""
    column = {key: np.array([row[key] for row in rows]) for key in COLUMNS}
    n, positives = column["n"], column["positives"]
    return Bins(
        kind=kind,
        size=None,
        asked=None,
        used=len(rows),
        edge_low=column["edge_low"],
        edge_high=column["edge_high"],
        n=n,
        positives=positives,
        weight=n,
        weight_positives=positives,
        weight2=n,
        weight2_positives=positives,
        sum_score=n * column["score"],
        sum_score2=n * column["score"] ** 2,
        sum_score_positive=positives * column["score"],
    )
