"""Scaling binning: a scaler fitted to one part of the pairs, and means of its outputs on the other part."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from calibrant import _checks
from calibrant._checks import Check, Floats, Pairs, optional, proportion
from calibrant.exceptions import InputError
from calibrant.metrics.intervals import error_interval
from calibrant.metrics.tally import COLUMNS, LARGEST_EXACT, Tally
from calibrant.recalibrate._binned import BINS, StepRecalibrator, Strategy, cut, step_map
from calibrant.recalibrate.base import BinaryRecalibrator, Source, broken_state, check_estimator
from calibrant.recalibrate.draws import content_order
from calibrant.recalibrate.isotonic import Isotonic
from calibrant.results.intervals import ErrorInterval
from calibrant.seeds import Seed, generator


def halves(source: Source, share: float, rng: np.random.Generator) -> tuple[Tally, Tally]:
    """Split pairs into two parts, the first with about the fraction ``share``; clusters stay whole.

    Equal pairs have no order, so only the number of them in each part is random; the parts of a tally are
    therefore those of its pairs. Above 2^20 pairs, both are moved to the grid.
    """
    if isinstance(source, Pairs) and source.weight is not None and source.cluster is None:
        return _halves_of_weighted(source, share, rng)
    tally = source if isinstance(source, Tally) else Tally.from_pairs(source)
    if tally.cluster is not None:
        return _halves_by_cluster(tally, share, rng)
    if tally.weighted:
        hint = "fit from arrays, or tally with clusters"
        raise InputError("the pairs of a weighted tally cannot be split", hint, code="undefined")
    positives = rng.binomial(tally.positives, share)
    negatives = rng.binomial(tally.n - tally.positives, share)
    first = _portion(tally, positives, negatives)
    second = _portion(tally, tally.positives - positives, tally.n - tally.positives - negatives)
    return first, second


def with_scores(tally: Tally, score: Floats) -> Tally:
    """Return the same pairs with new scores of rows; rows with equal score (and cluster) are merged."""
    zeros = np.zeros(len(tally))
    moved = replace(
        tally,
        kind="exact",
        low=score,
        high=score,
        anchor=score,
        offset=zeros,
        offset2=zeros,
        offset_positive=zeros,
    )
    return moved.merge(rows(moved, np.zeros(len(tally), bool)))  # merging with an empty tally sums equal rows


def rows(tally: Tally, kept: NDArray[np.bool_]) -> Tally:
    """Return some rows of a tally, with their clusters."""
    columns: dict[str, Any] = {name: getattr(tally, name)[kept] for name in COLUMNS}
    if tally.cluster is not None:
        used, code = np.unique(tally.cluster[kept], return_inverse=True)
        columns |= {"cluster": code.astype(np.int64), "clusters": tally.cluster_names[used]}
    return replace(tally, **columns)


def _halves_by_cluster(tally: Tally, share: float, rng: np.random.Generator) -> tuple[Tally, Tally]:
    count = tally.cluster_count
    if count < 2 or tally.cluster is None:
        message, hint = "all pairs are in one cluster", "pass pairs of at least two clusters"
        raise InputError(message, hint, code="undefined")
    chosen = np.zeros(count, bool)
    weights = [
        column.astype(np.float32) for column in (tally.weight, tally.weight_positives)
    ]  # sums are rounded
    order = content_order([tally.low, tally.n], [tally.positives, *weights], tally.cluster, count)
    chosen[order[rng.permutation(count)[: min(count - 1, max(1, round(share * count)))]]] = True
    first = chosen[tally.cluster]
    return rows(tally, first), rows(tally, ~first)


def _halves_of_weighted(pairs: Pairs, share: float, rng: np.random.Generator) -> tuple[Tally, Tally]:
    weight = np.ones(len(pairs)) if pairs.weight is None else pairs.weight
    first = np.empty(len(pairs), bool)
    first[np.lexsort((weight, pairs.label, pairs.score))] = rng.random(len(pairs)) < share
    if first.all() or not first.any():
        raise _nothing_left()
    exact = len(pairs) <= LARGEST_EXACT
    parts = [
        _checks.pairs(pairs.outcome[kept], pairs.score[kept], sample_weight=weight[kept])
        for kept in (first, ~first)
    ]
    return Tally.from_pairs(parts[0], exact=exact), Tally.from_pairs(parts[1], exact=exact)


def _portion(tally: Tally, positives: NDArray[Any], negatives: NDArray[Any]) -> Tally:
    """Return the tally of a number of each row's pairs, at the mean score of the row."""
    n = positives + negatives
    if not n.any():
        raise _nothing_left()
    of_positives = positives / np.maximum(1, tally.positives)
    of_negatives = negatives / np.maximum(1, tally.n - tally.positives)
    offset_positive = tally.offset_positive * of_positives
    weight, weight_positives = n.astype(np.float64), positives.astype(np.float64)
    part = replace(
        tally,
        n=n,
        positives=positives,
        weight=weight,
        weight_positives=weight_positives,
        weight2=weight,
        weight2_positives=weight_positives,
        offset=offset_positive + (tally.offset - tally.offset_positive) * of_negatives,
        offset2=tally.offset2 * (n / tally.n),
        offset_positive=offset_positive,
    )
    return rows(part, n > 0)


def _nothing_left() -> InputError:
    message, hint = "one part of the pairs is empty", "pass more pairs, or a fraction nearer 1/2"
    return InputError(message, hint, code="undefined")


class ScalingBinning(StepRecalibrator):
    """Scale, then replace a scaled score by the mean scaled score of its bin.

    The scaler is fitted to one part of the pairs. The scaled scores of the other part, the *bin part*, are
    cut into bins. A bin's output is the mean of its scaled scores **in the bin part**, not of the scores that
    are recalibrated, so the output of a score does not depend on other scores. There are few outputs, so
    their calibration error can be measured on the labels of the bin part, which were not used in a fit:
    ``error_``.

    Parameters
    ----------
    scaler
        Unfitted recalibrator of one event, which is cloned; by default `Isotonic`, as in [2]_.
    n_bins, size, strategy, min_size
        Bins of the scaled scores, as in `HistogramBinning`.
    split
        Fraction of the pairs, or of the clusters, for the fit of the scaler.
    seed
        Seed of the split: integer, generator or None.

    Attributes
    ----------
    scaler_
        The fitted scaler.
    edges_
        (n_bins + 1,) edges of the bins of scaled scores, from 0 to 1.
    values_
        (n_bins,) mean scaled scores of the bin part in each bin, the increasing outputs.
    sizes_
        (n_bins,) numbers of pairs of the bin part in each bin.
    error_
        `ErrorInterval` of the RMS calibration error of the outputs, from the bin part, with its clusters.

    Notes
    -----
    Equal pairs have no order, so the split draws the number of them in each part. A fit to an exact tally
    equals that to its pairs; a compressed tally gives another draw. The order of pairs and the names of
    clusters do not matter. Above 2^20 pairs, scores are moved to the grid of a compressed tally. A weighted
    tally can only be split by clusters.

    References
    ----------
    .. [1] Kumar, Liang and Ma (2019). Verified uncertainty calibration. NeurIPS. Section 4.
    .. [2] Kranzlein, Liu and Schneider (2021). Making heads and tails of models with marginal calibration
       for sparse tagsets. Findings of EMNLP. (Its public code averages the scores that are calibrated.)

    Examples
    --------
    >>> score, label = [0.1, 0.2, 0.7, 0.9] * 50, [0, 0, 1, 0, 0, 1, 1, 1] * 25
    >>> model = ScalingBinning(n_bins=2, seed=1).fit(score, label)
    >>> model.transform([0.15, 0.8]).round(2).tolist()
    [0.31, 0.77]
    """

    method: ClassVar[str] = "scaling-binning"
    splits: ClassVar[bool] = True
    _learned: ClassVar[tuple[str, ...]] = ("scaler_", "edges_", "values_", "sizes_", "error_")
    _parameters: ClassVar[dict[str, Check]] = {
        **BINS,
        "scaler": optional(check_estimator),
        "split": proportion,
        "seed": lambda value, name: generator(value),
    }

    scaler_: BinaryRecalibrator
    error_: ErrorInterval

    def __init__(
        self,
        scaler: BinaryRecalibrator | None = None,
        n_bins: int = 10,
        *,
        size: int | None = None,
        strategy: Strategy = "adaptive",
        min_size: int = 1,
        split: float = 0.5,
        seed: Seed = 0,
    ) -> None:
        self.scaler = scaler
        self.n_bins = n_bins
        self.size = size
        self.strategy = strategy
        self.min_size = min_size
        self.split = split
        self.seed = seed

    @property
    def fits_mean(self) -> bool:
        """False: the mean depends on which pairs the seed draws for the fit, in resamples as well."""
        return False

    def _learn(self, source: Source) -> None:
        scaler = Isotonic() if self.scaler is None else self.scaler
        scaling, binning = halves(source, float(self.split), generator(self.seed))
        try:
            self.scaler_ = clone(scaler).fit_tally(scaling.without_clusters())
        except InputError as error:
            message = f"the scaler's part of the pairs: {error.message}"
            raise InputError(message, error.hint, code=error.code) from error
        scaled = with_scores(binning, self.scaler_.transform(binning.score))
        try:
            bins = cut(scaled.without_clusters(), self.n_bins, self.size, self.strategy, self.min_size)
        except InputError as error:
            message = f"the bin part of the pairs: {error.message}"
            raise InputError(message, error.hint, code=error.code) from error
        self.edges_, self.values_, self.sizes_ = bins.edge, bins.score, bins.n
        self.error_ = error_interval(with_scores(scaled, step_map(bins.edge, bins.score, scaled.score)))

    def _map(self, score: Floats) -> Floats:
        return super()._map(self.scaler_.transform(score))

    def _restore(self, learned: dict[str, Any]) -> None:
        error, scaler = learned.pop("error_"), learned.pop("scaler_")
        super()._restore(learned)
        if not isinstance(scaler, BinaryRecalibrator) or not isinstance(error, dict):
            raise broken_state("its scaler or its error is missing")
        scaler.check_fitted()
        self.scaler_, self.error_ = scaler, ErrorInterval.from_dict(error)
