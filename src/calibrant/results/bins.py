"""The record of a binning: sums per bin and their ratios."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from calibrant._checks import Floats
from calibrant.records.record import plain


@dataclass(frozen=True, eq=False)
class Bins:
    """Sums of pairs per bin, in order of the score.

    Attributes
    ----------
    kind
        ``"adaptive"`` (equal counts), ``"information"`` (equal sums of q (1 - q)), ``"uniform"``, ``"edges"``
        or ``"isotonic"``.
    size
        Requested number of pairs per bin; None if bins were requested in another way.
    asked, used
        Requested number of bins, and actual number (smaller because of ties and empty ranges).
    edge_low, edge_high
        Edges of each bin. Uniform bins and edges are ``(edge_low, edge_high]``; the first bin also includes
        its low edge. For adaptive bins and bins of equal information, an edge is the first score of the next
        bin.
    n, positives
        Numbers of pairs and positive pairs; fractional if two bins share a tie.
    weight, weight_positives
        Sums of the weights (equal to ``n`` and ``positives`` without weights).
    weight2, weight2_positives
        Sums of the squared weights.
    sum_score, sum_score2, sum_score_positive
        Weighted sums of q, q^2 and q y.
    weighted
        True if weights were given.

    Examples
    --------
    >>> from calibrant.metrics.binning import adaptive_bins
    >>> bins = adaptive_bins([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.8], size=2)
    >>> bins.score.round(3).tolist(), bins.frequency.tolist()
    ([0.2, 0.7], [0.0, 1.0])
    """

    kind: str
    size: int | None
    asked: int | None
    used: int
    edge_low: Floats
    edge_high: Floats
    n: Floats
    positives: Floats
    weight: Floats
    weight_positives: Floats
    weight2: Floats
    weight2_positives: Floats
    sum_score: Floats
    sum_score2: Floats
    sum_score_positive: Floats
    weighted: bool = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bins):
            return NotImplemented
        return all(np.array_equal(value, vars(other)[name]) for name, value in vars(self).items())

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return self.used

    @property
    def score(self) -> Floats:
        """Mean score of each bin (q hat)."""
        return self.sum_score / self.weight

    @property
    def frequency(self) -> Floats:
        """Proportion of positives in each bin (p hat)."""
        return self.weight_positives / self.weight

    @property
    def residual(self) -> Floats:
        """Frequency minus mean score: above 0 the model is underconfident, below 0 overconfident."""
        return (self.weight_positives - self.sum_score) / self.weight

    @property
    def share(self) -> Floats:
        """Fraction of the total weight in each bin."""
        part: Floats = self.weight / self.weight.sum()
        return part

    @property
    def effective_n(self) -> Floats:
        """Kish's effective number of pairs, (sum w)^2 / sum w^2; `n` without weights."""
        if not self.weighted:
            return self.n
        return self.weight**2 / self.weight2

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per bin: n, positives, mean score, frequency and edges."""
        columns = {
            "n": self.n,
            "positives": self.positives,
            "weight": self.weight,
            "score": self.score,
            "frequency": self.frequency,
            "edge_low": self.edge_low,
            "edge_high": self.edge_high,
        }
        return [
            dict(zip(columns, plain(list(row)), strict=True)) for row in zip(*columns.values(), strict=True)
        ]

    def sums(self) -> Floats:
        """Return the nine summed columns as an array (9, bins), in the order of the fields."""
        names = [field.name for field in fields(self) if field.name in SUMS]
        return np.stack([getattr(self, name) for name in names])


SUMS = (
    "n",
    "positives",
    "weight",
    "weight_positives",
    "weight2",
    "weight2_positives",
    "sum_score",
    "sum_score2",
    "sum_score_positive",
)


@dataclass(frozen=True)
class BinIntervals:
    """Pointwise intervals of the frequencies of bins.

    Attributes
    ----------
    low, high
        (bins,) ends of the intervals, in [0, 1].
    level
        Nominal coverage of each interval.
    method
        ``"wilson"`` or ``"normal"`` (the papers').

    Examples
    --------
    >>> import numpy as np
    >>> BinIntervals(np.array([0.1]), np.array([0.3]), 0.95, "wilson").to_rows()
    [{'low': 0.1, 'high': 0.3}]
    """

    low: Floats
    high: Floats
    level: float
    method: str

    def to_rows(self) -> list[dict[str, Any]]:
        """Return one row per bin: the ends of its interval."""
        return [
            {"low": low, "high": high} for low, high in zip(plain(self.low), plain(self.high), strict=True)
        ]
