"""Histogram binning: each score becomes the proportion of positives in its bin."""

from __future__ import annotations

from typing import ClassVar

from calibrant._checks import Check
from calibrant.recalibrate._binned import BINS, StepRecalibrator, Strategy, cut
from calibrant.recalibrate.base import Source


class HistogramBinning(StepRecalibrator):
    """Replace a score by the observed frequency of its bin.

    Bins cover [0, 1], so scores outside the range of the fit have a bin too. Ties stay in one bin.

    Parameters
    ----------
    n_bins
        Number of bins. Ties, empty ranges and ``min_size`` can reduce it; see ``values_``.
    size
        Number of pairs per bin instead, for adaptive bins.
    strategy
        ``"adaptive"``: bins of equal mass, between order statistics; with weights, of equal weight.
        ``"uniform"``: bins (lo, hi] of equal width; an empty range is split in the middle between neighbors.
    min_size
        Bins with fewer pairs join the next bin; the last one joins the previous bin. More than the number
        of pairs: one bin.

    Attributes
    ----------
    edges_
        (n_bins + 1,) edges from 0 to 1; bin i holds ``edges_[i] <= score < edges_[i + 1]``
        (the last one 1 too).
    values_
        (n_bins,) proportion of positives among the pairs of each bin.
    sizes_
        (n_bins,) pairs in each bin.

    References
    ----------
    .. [1] Zadrozny and Elkan (2001). Obtaining calibrated probability estimates from decision trees and
       naive Bayesian classifiers. ICML.
    .. [2] Kranzlein, Liu and Schneider (2021). Making heads and tails of models with marginal calibration
       for sparse tagsets. Findings of EMNLP.

    Examples
    --------
    >>> model = HistogramBinning(n_bins=2).fit([0.1, 0.2, 0.7, 0.9], [0, 1, 1, 1])
    >>> model.transform([0.0, 0.15, 0.95]).tolist()
    [0.5, 0.5, 1.0]
    """

    method: ClassVar[str] = "histogram"
    _learned: ClassVar[tuple[str, ...]] = ("edges_", "values_", "sizes_")
    _parameters: ClassVar[dict[str, Check]] = BINS

    def __init__(
        self, n_bins: int = 15, *, size: int | None = None, strategy: Strategy = "adaptive", min_size: int = 1
    ) -> None:
        self.n_bins = n_bins
        self.size = size
        self.strategy = strategy
        self.min_size = min_size

    def _learn(self, source: Source) -> None:
        bins = cut(source, self.n_bins, self.size, self.strategy, self.min_size)
        self.edges_, self.values_, self.sizes_ = bins.edge, bins.frequency, bins.n
