"""An interval for each bin's frequency: Wilson's, or the papers' normal one; n is an effective number."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, one_of, proportion
from calibrant._kernels.clusters import squares_by_bin
from calibrant._parallel import slices
from calibrant.exceptions import InputError
from calibrant.metrics.binning import Source
from calibrant.metrics.rows import PairRows, in_order_of_clusters, rows_of
from calibrant.metrics.tails import quantile, wilson
from calibrant.results.bins import BinIntervals, Bins

Method = Literal["wilson", "normal"]


def bin_intervals(
    bins: Bins, *, level: float = 0.95, method: Method = "wilson", clustered: Source | PairRows | None = None
) -> BinIntervals:
    """Return a pointwise interval for the proportion of positives in each bin.

    At 95 %, one of 20 intervals is expected to miss. The estimand is the mean of p_q over the bin's pairs.

    Parameters
    ----------
    bins
        Any bins.
    level
        Nominal coverage of each interval, between 0 and 1.
    method
        ``"wilson"``, or ``"normal"``: ``p_hat +- z sqrt(p_hat (1 - p_hat) / n)`` as in the papers, which has
        no width where all labels of a bin are equal; cut to [0, 1].
    clustered
        The same pairs with clusters, or a tally of them by cluster: n is then divided by the design effect
        of each bin. With weights n is Kish's effective number, ``(sum w)^2 / sum w^2``.

    Notes
    -----
    The design effect is ``1 + (m - 1) rho`` (Kish): m the mean number of pairs that share bin and cluster
    with a pair (itself included), rho their correlation, estimated over all bins and not below 0. Intervals
    have the length of those by Student's t with one degree of freedom less than the effective clusters.

    References
    ----------
    .. [1] Wilson (1927). Probable inference, the law of succession, and statistical inference. JASA 22,
       209-212.
    .. [2] Nguyen and O'Connor (2015), Algorithm 1, for ``normal``.

    Examples
    --------
    >>> from calibrant.metrics.binning import uniform_bins
    >>> intervals = bin_intervals(uniform_bins([0] * 8 + [1] * 2, [0.3] * 10, n_bins=1))
    >>> intervals.low.round(3).tolist(), intervals.high.round(3).tolist()
    ([0.057], [0.51])
    """
    one_of(method, ("wilson", "normal"), "method")
    level = proportion(level, "level")
    n = bins.effective_n
    if clustered is not None:
        clustered = rows_of(clustered)
        n = n / design_effects(bins, clustered)
        n = n * (quantile(level) / quantile(level, clustered.effective_clusters)) ** 2
    p = bins.frequency
    low, high = wilson(p, n, level) if method == "wilson" else _normal(p, n, level)
    return BinIntervals(low=low, high=high, level=level, method=method)


def _normal(p: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    half = quantile(level) * np.sqrt(p * (1 - p) / n)
    return np.clip(p - half, 0, 1), np.clip(p + half, 0, 1)


def design_effects(bins: Bins, clustered: Source | PairRows) -> Floats:
    """Return the factors (bins,), at least 1, of the variance of each bin's frequency due to clusters.

    Examples
    --------
    >>> from calibrant.metrics.binning import uniform
    >>> from calibrant.metrics.tally import Tally
    >>> tally = Tally.from_arrays(y_true=[0, 0, 1, 1], y_prob=[0.5] * 4, clusters=["a", "a", "b", "b"])
    >>> design_effects(uniform(tally, 1), tally).tolist()
    [2.0]
    """
    rows = rows_of(clustered)
    if rows.cluster is None:
        raise InputError("the tally has no clusters", "tally the pairs with their clusters", code="parameter")
    row_bin, p = bin_of_scores(bins, rows.score), bins.frequency
    mass, squares, positives2 = (
        np.bincount(row_bin, values, len(bins)).astype(np.float64, copy=False)
        for values in (rows.weight, rows.weight2, rows.weight2_positives)
    )
    sums = np.zeros((len(bins), 3))
    start, row_bin, weight, positives = in_order_of_clusters(
        rows, row_bin, rows.weight, rows.weight_positives
    )
    squares_by_bin(start, row_bin, weight, positives, p, mass, sums)
    mass2, residual2, terms = sums.T  # CR2: the frequency of a bin follows its clusters
    products, mixed = residual2.sum(), terms > 0  # one cluster has no residual
    products -= np.sum((positives2 * (1 - p) ** 2 + (squares - positives2) * p**2)[mixed])
    possible = float(np.sum((p * (1 - p) * (mass2 - squares))[mixed]))
    correlation = min(1.0, max(0.0, float(products) / possible)) if possible > 0 else 1.0  # equal labels
    effect = 1 + np.maximum(0.0, mass2 / np.maximum(squares, np.finfo(float).tiny) - 1) * correlation
    # A bin inside a tie has no rows; the last bin of the tie has them.
    return effect[np.where(squares > 0, np.arange(len(bins)), bin_of_scores(bins, bins.edge_high))]


def bin_of_scores(bins: Bins, score: Floats) -> NDArray[np.int32]:
    """Return the bin of each score; of a tie that edges divide, the last of its bins.

    Examples
    --------
    >>> from calibrant.metrics.binning import adaptive_bins, uniform_bins
    >>> label, score = [0, 1, 0, 1], np.array([0.25, 0.25, 0.5, 0.5])
    >>> [bin_of_scores(cut(label, score, n_bins=2), score).tolist() for cut in (adaptive_bins, uniform_bins)]
    [[0, 0, 1, 1], [0, 0, 0, 0]]
    """
    # An adaptive edge is the first score beyond the bin, any other the last score in it.
    side: Literal["left", "right"] = "right" if bins.kind in ("adaptive", "information") else "left"
    bin_of = np.empty(len(score), np.int32)
    for part in slices(len(score)):
        bin_of[part] = np.minimum(np.searchsorted(bins.edge_high, score[part], side), len(bins) - 1)
    return bin_of
