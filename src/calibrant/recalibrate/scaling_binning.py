"""Scaling binning: a scaler fitted on one part of the pairs, and the means of its outputs on the other."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.base import clone

from calibrant import _checks
from calibrant._checks import Check, Floats, optional, proportion
from calibrant.exceptions import InputError
from calibrant.metrics.intervals import error_interval
from calibrant.recalibrate._binned import BINS, Strategy, cut, step_map
from calibrant.recalibrate._split import halves, with_scores
from calibrant.recalibrate.base import BinaryRecalibrator, Source, broken_state, check_estimator, one_column
from calibrant.recalibrate.histogram import check_steps
from calibrant.recalibrate.isotonic import Isotonic
from calibrant.results.intervals import ErrorInterval
from calibrant.seeds import Seed, generator


class ScalingBinning(BinaryRecalibrator):
    """Scale, then replace a scaled score by the mean scaled score of its bin.

    The scaler is fitted on one part of the pairs. The scaled scores of the other, the *bin part*, are cut
    into bins, and a bin's output is the mean of its scaled scores **in the bin part**: never of the scores
    that are being recalibrated, so that a score's output does not depend on what else is transformed. The
    outputs are few, so that their calibration error can be measured, and the labels of the bin part, which
    nothing was fitted to, measure it: ``error_``.

    Parameters
    ----------
    scaler
        An unfitted recalibrator of one event, which is cloned; `Isotonic` if not given, as in [2]_.
    bins, size, strategy, min_size
        Bins of the scaled scores, as for `HistogramBinning`.
    split
        Share of the pairs, or of the clusters, on which the scaler is fitted.
    seed
        Integer, generator or None, for the split.

    Attributes
    ----------
    scaler_
        The fitted scaler.
    edges_
        (bins + 1,) edges of the bins of scaled scores, from 0 to 1.
    values_
        (bins,) mean scaled score of the bin part in each: the outputs, increasing.
    sizes_
        (bins,) pairs of the bin part in each.
    error_
        `ErrorInterval` of the RMS calibration error of the outputs, from the bin part.

    Notes
    -----
    Equal pairs have no order, so that the split draws how many of them fall into each part: a fit from an
    exact tally is the same as from its pairs; from a compressed one, another draw. Above 2^20 pairs scores
    are taken to a compressed tally's grid. A weighted tally can be split by its clusters only.

    References
    ----------
    .. [1] Kumar, Liang and Ma (2019). Verified uncertainty calibration. NeurIPS. Section 4.
    .. [2] Kranzlein, Liu and Schneider (2021). Making heads and tails of models with marginal calibration
       for sparse tagsets. Findings of EMNLP. (Its public code averages the scores that are being calibrated.)

    Examples
    --------
    >>> score, label = [0.1, 0.2, 0.7, 0.9] * 50, [0, 0, 1, 0, 0, 1, 1, 1] * 25
    >>> model = ScalingBinning(bins=2, seed=1).fit(score, label)
    >>> model.transform([0.15, 0.8]).round(2).tolist()
    [0.31, 0.77]
    """

    method: ClassVar[str] = "scaling-binning"
    _learned: ClassVar[tuple[str, ...]] = ("scaler_", "edges_", "values_", "sizes_", "error_")
    _parameters: ClassVar[dict[str, Check]] = {
        **BINS,
        "scaler": optional(check_estimator),
        "split": proportion,
        "seed": lambda value, name: generator(value),
    }

    scaler_: BinaryRecalibrator
    edges_: Floats
    values_: Floats
    sizes_: Floats
    error_: ErrorInterval

    def __init__(
        self,
        scaler: BinaryRecalibrator | None = None,
        bins: int = 10,
        *,
        size: int | None = None,
        strategy: Strategy = "adaptive",
        min_size: int = 1,
        split: float = 0.5,
        seed: Seed = 0,
    ) -> None:
        self.scaler = scaler
        self.bins = bins
        self.size = size
        self.strategy = strategy
        self.min_size = min_size
        self.split = split
        self.seed = seed

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Learn the map from scores and labels.

        Parameters
        ----------
        X, y, sample_weight
            As for every recalibrator.
        clusters
            (n,) names of what is dependent (sentence, document). The split tears none apart, and ``error_``
            allows for them.

        Returns
        -------
        self

        Raises
        ------
        InputError
            For bad values, or where a part is too small for the scaler or the bins.
        """
        self.check_parameters()
        score = one_column(X)[0]
        pairs = _checks.pairs(
            y, score, sample_weight=sample_weight, clusters=clusters, label_name="y", score_name="X"
        )
        return self._fit_pairs(pairs)

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
            found = cut(scaled.without_clusters(), self.bins, self.size, self.strategy, self.min_size)
        except InputError as error:
            message = f"the bin part of the pairs: {error.message}"
            raise InputError(message, error.hint, code=error.code) from error
        self.edges_, self.values_, self.sizes_ = found.edge, found.score, found.n
        self.error_ = error_interval(with_scores(scaled, step_map(found.edge, found.score, scaled.score)))

    def _map(self, score: Floats) -> Floats:
        return step_map(self.edges_, self.values_, self.scaler_.transform(score))

    def _restore(self, learned: dict[str, Any]) -> None:
        error, scaler = learned.pop("error_"), learned.pop("scaler_")
        super()._restore(learned)
        if not isinstance(scaler, BinaryRecalibrator) or not isinstance(error, dict):
            raise broken_state("its scaler or its error is missing")
        scaler.check_fitted()
        self.scaler_, self.error_ = scaler, ErrorInterval.from_dict(error)
        check_steps(self.edges_, self.values_, self.sizes_)
