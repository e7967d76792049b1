"""Bayesian binning into quantiles: histogram binnings of many numbers of bins, averaged by their evidence."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Check, Floats, Integers, positive, shown
from calibrant.exceptions import InputError
from calibrant.metrics.tally import Tally
from calibrant.recalibrate._binned import StepRecalibrator
from calibrant.recalibrate._log_odds import CLIP
from calibrant.recalibrate.base import Source, broken_state

MOST_BINS = 2000  # of one binning: that many are asked for from 8 million pairs on
NEGLIGIBLE = 1e-12  # of the largest weight


def _check_spread(value: object, name: str) -> None:
    if positive(value, name) < 1:
        raise InputError(f"{name} is {shown(value)}", "give a number of at least 1", code="parameter")


class BBQ(StepRecalibrator):
    """Average the frequencies of many binnings, each weighted by how well it explains the labels.

    The binnings have bins of equal mass, n^(1/3) / spread to n^(1/3) * spread of them. A bin's frequency has
    a Beta prior with the middle of the bin as its mean, so that the evidence (marginal likelihood) of a
    binning has a closed form. All numbers of bins are equally likely beforehand.

    Parameters
    ----------
    spread
        At least 1: how far numbers of bins go below and above n^(1/3); C in the paper.
    strength
        Weight of the prior in pairs, divided equally among the bins of a binning; N' in the paper.

    Attributes
    ----------
    edges_
        (cells + 1,) edges of all binnings that count, from 0 to 1; cell i holds ``edges_[i] <= score <
        edges_[i + 1]`` (the last one 1 too).
    values_
        (cells,) mean of the binnings' posterior means, which are within (0, 1).
    sizes_
        (cells,) pairs in each.
    bin_counts_, weights_
        (binnings,) numbers of bins, and posterior probabilities of the binnings. Binnings that are less
        probable than the best one by a factor of 10^12 are left out.

    Notes
    -----
    Ties stay in one bin, so that a binning can have fewer bins than it was asked for. Edges are halfway
    between the scores of two bins. No binning has more than 2,000 bins. Pairs count as independent, also
    those of one cluster: many labels per item lead to too many bins. Weights count pairs: doubling all of
    them is more evidence. The map need not rise where the score rises.

    References
    ----------
    M. P. Naeini, G. F. Cooper and M. Hauskrecht (2015), Obtaining well calibrated probabilities using
    Bayesian binning, AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(20_000)
    >>> model = BBQ().fit(score, rng.random(20_000) < score**2)
    >>> model.transform([0.1, 0.5, 0.9]).round(2).tolist()
    [0.0, 0.26, 0.82]
    """

    method: ClassVar[str] = "bbq"
    copies_mislead: ClassVar[bool] = True  # a bin of copies has equal labels
    _learned: ClassVar[tuple[str, ...]] = ("edges_", "values_", "sizes_", "bin_counts_", "weights_")
    _parameters: ClassVar[dict[str, Check]] = {"spread": _check_spread, "strength": positive}

    bin_counts_: Floats
    weights_: Floats

    def __init__(self, spread: float = 10.0, strength: float = 2.0) -> None:
        self.spread = spread
        self.strength = strength

    def _learn(self, source: Source) -> None:
        whole = source if isinstance(source, Tally) else Tally.from_pairs(source)
        tally = whole.without_clusters()
        bins = _binned(tally, float(self.spread))
        evidence, mean = _evidence(bins, float(self.strength))
        weight = np.exp(evidence - evidence.max())
        kept = np.flatnonzero(weight >= NEGLIGIBLE)
        weight = weight[kept] / weight[kept].sum()
        row = np.unique(np.concatenate([bins.start[np.isin(bins.binning, kept)], [len(tally)]]))
        value = np.zeros(len(row) - 1)
        for number, share in zip(kept.tolist(), weight.tolist(), strict=True):
            own = slice(*np.searchsorted(bins.binning, [number, number + 1]))
            value += share * mean[own][np.searchsorted(bins.start[own], row[:-1], side="right") - 1]
        self.edges_, self.values_ = _edges(tally)[row], value
        self.sizes_ = np.diff(_sums(tally.n)[row])
        self.bin_counts_, self.weights_ = bins.asked[kept].astype(np.float64), weight

    def _restore(self, learned: dict[str, Any]) -> None:
        super()._restore(learned)
        paired = len(self.bin_counts_) == len(self.weights_) > 0
        if not paired or (self.weights_ <= 0).any() or abs(self.weights_.sum() - 1) > 1e-6:
            raise broken_state("the weights of its binnings are no probabilities")


class _Bins(NamedTuple):
    """All bins of all binnings, one binning after the other.

    ``asked`` is (binnings,) the numbers of bins asked for. By bin: ``binning``, ``start`` (its first row of
    the tally), ``weight``, ``positives`` and ``middle``.
    """

    asked: Integers
    binning: Integers
    start: Integers
    weight: Floats
    positives: Floats
    middle: Floats


def _binned(tally: Tally, spread: float) -> _Bins:
    """Cut a tally into bins of equal mass, once for each number of bins; ties go to the nearer side."""
    end = _sums(tally.weight)
    root = float(np.cbrt(end[-1]))
    most = int(min(max(1.0, spread * root), MOST_BINS, len(tally)))
    asked = np.arange(min(max(1, int(root / spread)), most), most + 1)
    binning = np.repeat(np.arange(len(asked)), asked + 1)
    number = np.arange(len(binning)) - np.repeat(np.cumsum(asked + 1) - asked - 1, asked + 1)
    target = end[-1] * (number / asked[binning])
    after = np.minimum(np.searchsorted(end, target), len(tally))
    before = np.maximum(after - 1, 0)
    row = np.where(end[after] - target < target - end[before], after, before)
    row[number == 0], row[number == asked[binning]] = 0, len(tally)
    used = np.concatenate([[True], (np.diff(row) > 0) | (np.diff(binning) > 0)])
    row, binning = row[used], binning[used]
    inside = np.diff(binning) == 0  # between the last edge of a binning and the first of the next is no bin
    start, stop = row[:-1][inside], row[1:][inside]
    edge, positive = _edges(tally), _sums(tally.weight_positives)
    weight = end[stop] - end[start]
    positives = np.clip(positive[stop] - positive[start], 0, weight)
    return _Bins(asked, binning[:-1][inside], start, weight, positives, (edge[start] + edge[stop]) / 2)


def _evidence(bins: _Bins, strength: float) -> tuple[Floats, Floats]:
    """Log marginal likelihood of each binning, and the posterior mean of each bin's frequency."""
    from calibrant._special import gammaln

    share = strength / np.bincount(bins.binning)[bins.binning]
    middle = np.clip(bins.middle, CLIP, 1 - CLIP)
    of_positives, of_negatives = share * middle, share * (1 - middle)
    log: Floats = gammaln(share) - gammaln(share + bins.weight)
    for prior, seen in ((of_positives, bins.positives), (of_negatives, bins.weight - bins.positives)):
        log += gammaln(prior + seen) - gammaln(prior)
    evidence: Floats = np.bincount(bins.binning, log).astype(np.float64)
    return evidence, (of_positives + bins.positives) / (share + bins.weight)


def _edges(tally: Tally) -> Floats:
    """Edges (rows + 1,) of bins that begin at each row: halfway from the row before; 0 and 1 at the ends."""
    high, low = tally.high[:-1], tally.low[1:]
    return np.concatenate([[0.0], np.maximum((high + low) / 2, np.nextafter(high, 2.0)), [1.0]])


def _sums(column: NDArray[Any]) -> Floats:
    """Cumulative sums that begin with 0."""
    return np.concatenate([[0.0], np.cumsum(column, dtype=np.float64)])
