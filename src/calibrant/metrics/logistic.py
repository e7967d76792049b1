"""Calibration in the large and Cox's logistic recalibration.

These models test whether the mean score equals the base rate, and whether scores are over- or underconfident.

Both are computed from the rows of a tally, or from pairs with clusters. Standard errors are robust: they are
valid also if the logistic model is wrong, with weights, and with clusters (whole clusters as units, t
quantiles). Without clusters those of the logistic fits are not below the model's. A score of exactly 0 or 1
has no logit; such pairs are left out of the fits and counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Integers, proportion
from calibrant._kernels.logistic import log_likelihood, sums_by_cluster
from calibrant.metrics.binning import Source
from calibrant.metrics.crossed import CrossedPairs, by_both, two_way
from calibrant.metrics.rows import PairRows, rows_of
from calibrant.metrics.sources import source_of
from calibrant.metrics.tails import cr2, effective_number, few_events, quantile, wilson
from calibrant.metrics.tally import Tally
from calibrant.results.errors import CalibrationInTheLarge, CoxCalibration, Estimate

NO_LOGIT = "no score lies strictly between 0 and 1"
ONE_CLASS = "only one class occurs among the scores that have a logit"
ONE_SCORE = "all scores are equal, so there is no slope"
SEPARATED = "one threshold of the score separates the classes, so the slope has no finite estimate"
ONE_CLUSTER = "there is one cluster, so the spread between clusters is unknown"
ONE_PAIR = "there is one pair"
FLAT = "the scores are so near 0 and 1 that no precise estimate can be computed"
NO_NOISE = "every score is 0 or 1 and every label equals its score, so nothing shows the noise of the labels"

BALANCED = (
    "the scores of every cluster add up to its positives, as do those of all classes pooled: "
    "calibration in the large is 0 for any model"
)

_ROUNDING = 1e-12  # by how much, relatively, a log-likelihood may fall without meaning it
_SAME = 1e-6  # difference of the logits of scores that are equal but for rounding to float32
_SUM_ROUNDING = 1e-6  # by how much, relatively, float32 probabilities may fail to add up to 1
_CELLS = 1 << 16  # of log-odds, whose fit is where that of many more rows begins


@dataclass(frozen=True)
class _Rows:
    """Rows whose score has a logit; those with clusters have no squares of weights, but the weights twice."""

    logit: Floats
    weight: Floats
    weight_positives: Floats
    weight2: Floats
    weight2_positives: Floats
    cluster: Integers | None

    @classmethod
    def of(cls, rows: Tally | PairRows) -> _Rows:
        keep, score = inside(rows), rows.score
        part = slice(None) if keep.all() else keep  # a slice copies nothing
        score = score[part]
        logit = np.log(score) - np.log1p(-score)
        weight, positives = rows.weight[part], rows.weight_positives[part]
        if rows.cluster is not None:  # the units are clusters, so squares of the rows' weights say nothing
            return cls(logit, weight, positives, weight, positives, rows.cluster[part])
        return cls(logit, weight, positives, rows.weight2[part], rows.weight2_positives[part], None)

    def coarse(self) -> _Rows:
        """Return sums over cells of the log-odds, without clusters."""
        low = float(self.logit.min())
        scale = (_CELLS - 1) / max(float(self.logit.max()) - low, _SAME)
        cell = ((self.logit - low) * scale).astype(np.int64)
        weight, positives, moment = (
            np.bincount(cell, values).astype(np.float64, copy=False)
            for values in (self.weight, self.weight_positives, self.weight * self.logit)
        )
        used = weight > 0
        weight, positives = weight[used], positives[used]
        return _Rows(moment[used] / weight, weight, positives, weight, positives, None)

    def problem(self, slope: bool) -> str | None:
        """Return the reason why the maximum likelihood estimate does not exist; None if it exists."""
        events, others = self.weight_positives > 0, self.weight > self.weight_positives
        if not len(self.logit):
            return NO_LOGIT
        if not events.any() or not others.any():
            return ONE_CLASS
        if not slope:
            return None
        if np.ptp(self.logit) <= _SAME:
            return ONE_SCORE
        with_event, without = self.logit[events], self.logit[others]
        if min(without.max() - with_event.min(), with_event.max() - without.min()) <= _SAME:
            return SEPARATED
        return None


def inside(rows: Tally | PairRows) -> NDArray[np.bool_]:
    """Return the rows whose mean score is strictly between 0 and 1."""
    score = rows.score
    return (score > 0) & (score < 1)


def _left_out(rows: Tally | PairRows) -> tuple[int, int]:
    """Return the number of pairs whose score is 0 or 1, and how many of them are wrong."""
    outside = ~inside(rows)
    n, positives = rows.n[outside], rows.positives[outside]
    return int(n.sum()), int(np.where(rows.score[outside] <= 0, positives, n - positives).sum())


def fit(rows: _Rows, *, slope: bool) -> Floats:
    """Return the maximum likelihood intercept and slope of a logistic regression on the logits.

    The slope stays 1 unless asked for. Steps that would lower the likelihood are halved; it is concave, so
    that this converges wherever the estimate exists. Many rows are first summed to cells, whose estimate is
    so close that two passes over all rows suffice.
    """
    if not slope:
        return np.array([_shift(rows), 1.0])
    beta = np.zeros(2)
    if len(rows.logit) > 4 * _CELLS:
        cells = rows.coarse()
        beta = beta if cells.problem(slope=True) else fit(cells, slope=True)
    here = _derivatives(rows, beta)
    for _ in range(200):
        step = np.linalg.solve(here.information, here.gradient)
        if np.abs(step).max() <= 1e-12 * (1 + np.abs(beta).max()):
            return beta + step
        least = here.value - _ROUNDING * abs(here.value)
        reached = _derivatives(rows, beta + step)
        while reached.value < least and np.abs(step).max() > 1e-12:
            step /= 2
            reached = _derivatives(rows, beta + step)
        beta, here = beta + step, reached
    return beta


def _shift(rows: _Rows) -> float:
    """Return the number that, added to every logit, makes the probabilities add up to the events."""
    events = float(rows.weight_positives.sum())
    base = math.log(events) - math.log(float(rows.weight.sum()) - events)
    low, high = base - float(rows.logit.max()) - _SAME, base - float(rows.logit.min()) + _SAME
    shift, reach = min(max(0.0, low), high), math.inf
    for _ in range(200):
        here = _derivatives(rows, np.array([shift, 1.0]))
        gradient, information = float(here.gradient[0]), float(here.information[0, 0])
        low, high = (shift, high) if gradient > 0 else (low, shift)
        step = gradient / information if information > 0 else math.inf
        # Newton's method leaves the bracket if all scores are tiny: the information underflows.
        if not low <= shift + step <= high or abs(step) > reach / 2:
            step = (low + high) / 2 - shift
        shift, reach = shift + step, abs(step)
        if reach <= _ROUNDING * (1 + abs(shift)):
            break
    return shift


class _Derivatives(NamedTuple):
    """A log-likelihood, its gradient, and minus its second derivatives."""

    value: float
    gradient: Floats
    information: Floats


def _derivatives(rows: _Rows, beta: Floats) -> _Derivatives:
    sums = np.empty(6)
    log_likelihood(rows.logit, rows.weight, rows.weight_positives, beta[0], beta[1], sums)
    return _Derivatives(float(sums[0]), sums[1:3], sums[[3, 4, 4, 5]].reshape(2, 2))


def robust_covariance(rows: _Rows, beta: Floats, *, slope: bool) -> tuple[Floats, Floats]:
    """Return the sandwich covariance of the coefficients, and their effective clusters (0 without).

    Without clusters each pair is a unit (HC0), and no variance is below that of the model, which few events
    do not make too small. With clusters it is that of a jackknife to first order: (G - 1) / G times the
    products of their influences, each divided by 1 minus the cluster's fraction of the information. Clusters
    count by this fraction, too, which is small if their scores are near 0 or 1, and at most by their sizes.
    """
    free = 2 if slope else 1
    if rows.cluster is None:
        return _covariance_of_pairs(rows, beta, free), np.zeros(free)
    count = int(rows.cluster.max()) + 1
    sums = np.zeros((count, 5))  # of residuals times (1, x), and of information times (1, x, x^2)
    sums_by_cluster(rows.logit, rows.weight, rows.weight_positives, rows.cluster, beta[0], beta[1], sums)
    bread = np.linalg.inv(sums.sum(axis=0)[[2, 3, 3, 4]].reshape(2, 2)[:free, :free])
    jackknifed, effective = np.empty((free, count)), np.empty(free)
    size = np.bincount(rows.cluster, rows.weight)
    for i, influence in enumerate(bread):  # of a pair: its residual times (1, x) times this row
        part = sums[:, 2] * influence[0] ** 2
        if slope:
            part += sums[:, 3] * (2 * influence[0] * influence[1]) + sums[:, 4] * influence[1] ** 2
        fraction = np.maximum(part, 0) / bread[i, i]
        jackknifed[i] = sums[:, :free] @ influence / np.maximum(1 - fraction, _ROUNDING)
        effective[i] = min(effective_number(size), effective_number(fraction))
    used = int(np.count_nonzero(size))
    covariance: Floats = jackknifed @ jackknifed.T * ((used - 1) / used)
    return covariance, effective


def _covariance_of_pairs(rows: _Rows, beta: Floats, free: int) -> Floats:
    from calibrant._special import expit

    design = np.stack([np.ones(len(rows.logit)), rows.logit][:free])
    p = expit(beta[0] + beta[1] * rows.logit)
    bread = np.linalg.inv(_derivatives(rows, beta).information[:free, :free])
    influence = bread @ design
    squares = rows.weight2_positives * (1 - p) ** 2 + (rows.weight2 - rows.weight2_positives) * p**2
    robust, model = ((influence * square) @ influence.T for square in (squares, rows.weight2 * p * (1 - p)))
    wider = np.sqrt(np.maximum(1, np.diag(model) / np.diag(robust)))
    covariance: Floats = robust * np.outer(wider, wider)
    return covariance


def _fitted(rows: _Rows, *, slope: bool) -> tuple[Floats, Floats, Floats] | None:
    """Return coefficients, their covariance and effective clusters; None if floats cannot hold them."""
    try:  # where scores are tiny and others near 1, the likelihood can be flat to the last digit
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            beta = fit(rows, slope=slope)
            covariance, clusters = robust_covariance(rows, beta, slope=slope)
    except np.linalg.LinAlgError:
        return None
    return (beta, covariance, clusters) if np.isfinite(covariance).all() else None


def _estimate(
    value: float, variance: float, level: float, clusters: float, warning: str | None = None
) -> Estimate:
    """An estimate with its interval; without one where a single cluster shows no spread."""
    if clusters == 1:
        return Estimate(value, reason=ONE_CLUSTER, level=level)
    error = float(np.sqrt(variance))
    reach = quantile(level, clusters) * error
    value = value if abs(value) > 1e-12 * error else 0.0  # recalibrated scores leave rounding errors
    return Estimate(value, value - reach, value + reach, error, warning=warning, level=level)


def _two_way(ways: Sequence[Estimate]) -> Estimate:
    """Return the estimate with the two-way sum of variances; each end is the farther one of both kinds."""
    undefined = next((way for way in ways[:2] if way.reason or not way.standard_error), None)
    if undefined is not None:
        return undefined
    error = math.sqrt(two_way([(way.standard_error or 0.0) ** 2 for way in ways]))
    estimate = ways[0].estimate or 0.0
    reaches = [
        max(abs((end or 0.0) - estimate) * error / (way.standard_error or 1.0) for way, end in ends)
        for ends in ([(way, way.low) for way in ways[:2]], [(way, way.high) for way in ways[:2]])
    ]
    return msgspec.structs.replace(
        ways[0],
        low=estimate - reaches[0],
        high=estimate + reaches[1],
        standard_error=error,
        warning=ways[0].warning or ways[1].warning,
    )


def mean_error(source: Source | PairRows, *, level: float = 0.95) -> Estimate:
    """Return mean score minus base rate; see `calibration_in_the_large`.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> round(mean_error(pairs([0, 1, 0, 1], [0.2, 0.4, 0.2, 0.4])).estimate, 3)
    -0.2
    """
    if isinstance(source, CrossedPairs):
        return _two_way([mean_error(part, level=level) for part in by_both(source)])
    rows = rows_of(source)
    return _with_noise_of_labels(simple_mean_error(rows, level), rows, level)


def _with_noise_of_labels(fitted: Estimate, tally: Tally | PairRows, level: float) -> Estimate:
    """Widen the interval to the mean score less Wilson's of the frequency: few events have a skewed mean.

    Its number is that of equal coins whose mean has the standard error (Korn and Graubard 1998), and for
    equal labels, whose residuals hide that labels are random, the effective number of clusters or pairs.
    """
    if fitted.low is None or fitted.high is None or fitted.warning == BALANCED:
        return fitted
    positives = int(tally.positives.sum())
    total, warning = tally.total_weight, None
    clusters = effective_units(tally)
    if 0 < positives < tally.total_n:
        error = (fitted.standard_error or 0.0) * quantile(level, clusters) / quantile(level)
        if not error:
            return Estimate(fitted.estimate, reason=NO_NOISE, level=level)
        warning = few_events(tally.cluster, tally.weight, tally.weight_positives)
        frequency = float(tally.weight_positives.sum() / total)
        units = frequency * (1 - frequency) / error**2
    else:
        frequency, units = float(positives > 0), clusters or total**2 / float(tally.weight2.sum())
    ends = wilson(np.array([frequency]), np.array([units]), level)
    mean_score = float(tally.sum_score.sum() / total)
    high, low = (mean_score - float(end[0]) for end in ends)
    low, high = min(low, fitted.low), max(high, fitted.high)
    return msgspec.structs.replace(fitted, low=low, high=high, warning=warning)


def simple_mean_error(tally: Tally | PairRows, level: float) -> Estimate:
    """Return the weighted mean of score minus label with its standard error."""
    error = tally.sum_score - tally.weight_positives
    total = tally.total_weight
    mean = float(error.sum() / total)
    if tally.cluster is not None and _is_balanced(tally.cluster, tally.weight_positives, tally.sum_score):
        return Estimate(0.0, 0.0, 0.0, 0.0, warning=BALANCED, level=level)
    if tally.cluster is not None:
        size = np.bincount(tally.cluster, tally.weight)
        variance = cr2(size, np.bincount(tally.cluster, error - mean * tally.weight))[0] / total**2
        # Equal clusters do not make the noise of the labels less than that of independent pairs.
        return _estimate(mean, variance or _independent(tally, mean), level, tally.effective_clusters)
    if tally.total_n == 1:
        return Estimate(mean, reason=ONE_PAIR, level=level)
    return _estimate(mean, _independent(tally, mean), level, effective_units(tally))


def effective_units(tally: Tally | PairRows) -> float:
    """Return the effective number of clusters, or of weighted pairs; 0 for pairs that count alike."""
    if tally.cluster is not None or not tally.weighted:
        return tally.effective_clusters
    units = tally.total_weight**2 / float(tally.weight2.sum())
    return units if units < (1 - 1e-9) * tally.total_n else 0.0


def _independent(tally: Tally | PairRows, mean: float) -> float:
    """Variance of a mean error of independent pairs."""
    positive = tally.weight2_positives * (1 - tally.score + mean) ** 2
    negative = (tally.weight2 - tally.weight2_positives) * (tally.score - mean) ** 2
    rest = 1 - float(tally.weight2.sum()) / tally.total_weight**2
    return float((positive + negative).sum() / tally.total_weight**2 / max(rest, 1e-9))


def _is_balanced(cluster: Integers, events: Floats, scores: Floats) -> bool:
    """Return True if the scores of each cluster sum to its events, up to rounding."""
    difference = np.bincount(cluster, events - scores)
    summed = np.bincount(cluster, events + scores)
    if (np.abs(difference) > _SUM_ROUNDING * (summed + summed.mean())).any():
        return False
    noisy = np.abs(events - scores) > _SUM_ROUNDING * (events + scores)  # else nothing cancels
    return bool(noisy.any()) and bool((cluster != cluster[0]).any())


def calibration_in_the_large(
    y_true: ArrayLike | Source | PairRows,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> CalibrationInTheLarge:
    """Do the scores add up to the events? Return the mean error, and a shift of the logits that corrects it.

    Both numbers are 0 for a model that is calibrated in the large. If its scores are too high, the mean error
    (mean score minus base rate) is positive, and the intercept, which corrects them, negative. A model can
    pass and still be far from calibrated: errors of opposite sign cancel.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1: whether the event happened; or pairs or a tally, alone.
    y_prob
        (n,) predicted probabilities of the event, in [0, 1].
    sample_weight
        (n,) non-negative weights; None counts every pair once.
    clusters
        (n,) what each pair depends on (sentence, document); standard errors treat clusters as units. Two
        kinds that are crossed, such as items and annotators, are (n, 2), or a pair of arrays.
    level
        Nominal coverage of the intervals.

    Returns
    -------
    CalibrationInTheLarge
        Estimates, with reasons for undefined values.

    References
    ----------
    M. E. Miller, S. L. Hui and W. M. Tierney (1991), Validation techniques for logistic regression models,
    Statistics in Medicine 10, 1213-1226. doi:10.1002/sim.4780100805

    Examples
    --------
    >>> result = calibration_in_the_large([0, 1, 0, 1], [0.2, 0.4, 0.2, 0.4])
    >>> round(result.mean_score, 3), result.base_rate
    (0.3, 0.5)
    """
    from calibrant._special import expit

    level = proportion(level, "level")
    source = source_of(y_true, y_prob, sample_weight=sample_weight, clusters=clusters, crossed=True)
    if isinstance(source, CrossedPairs):
        ways = [calibration_in_the_large(part, level=level) for part in by_both(source)]
        return msgspec.structs.replace(
            ways[0],
            mean_error=_two_way([way.mean_error for way in ways]),
            intercept=_two_way([way.intercept for way in ways]),
        )
    tally = rows_of(source)
    total = tally.total_weight
    base_rate = float(tally.weight_positives.sum() / total)
    mean_score = float(tally.sum_score.sum() / total)
    rows = _Rows.of(tally)
    problem = rows.problem(slope=False)
    fitted = None if problem else _fitted(rows, slope=False)
    if fitted is None:
        intercept = Estimate(None, reason=problem or FLAT, level=level)
    else:
        beta, covariance, clusters = fitted
        few = few_events(rows.cluster, rows.weight, rows.weight_positives)
        intercept = _estimate(float(beta[0]), float(covariance[0, 0]), level, float(clusters[0]), few)
        if rows.cluster is not None and _is_balanced(
            rows.cluster, rows.weight_positives, rows.weight * expit(rows.logit)
        ):
            intercept = Estimate(0.0, 0.0, 0.0, 0.0, warning=BALANCED, level=level)
    return CalibrationInTheLarge(
        base_rate=base_rate,
        mean_score=mean_score,
        mean_error=mean_error(tally, level=level),
        intercept=intercept,
        n=tally.total_n,
        clusters=tally.cluster_count or None,
        left_out=_left_out(tally)[0],
    )


def cox_calibration(
    y_true: ArrayLike | Source | PairRows,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> CoxCalibration:
    """Return Cox's calibration intercept and slope: logit P(event) = intercept + slope * logit(score).

    A calibrated model has intercept 0 and slope 1. If the slope is below 1, scores are overconfident; above
    1, underconfident. The fit only represents straight lines on the logit scale.

    Parameters and errors are those of `calibration_in_the_large`.

    References
    ----------
    D. R. Cox (1958), Two further applications of a model for binary regression, Biometrika 45, 562-565.
    doi:10.1093/biomet/45.3-4.562

    Examples
    --------
    >>> result = cox_calibration([0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.3, 0.6, 0.8, 0.9])
    >>> round(result.slope.estimate, 2), result.left_out
    (1.11, 0)
    """
    level = proportion(level, "level")
    source = source_of(y_true, y_prob, sample_weight=sample_weight, clusters=clusters, crossed=True)
    if isinstance(source, CrossedPairs):
        crossed = [cox_calibration(part, level=level) for part in by_both(source)]
        intercept, slope = (
            _two_way([getattr(way, name) for way in crossed]) for name in ("intercept", "slope")
        )
        return msgspec.structs.replace(crossed[0], intercept=intercept, slope=slope)
    tally = rows_of(source)
    rows = _Rows.of(tally)
    problem = rows.problem(slope=True)
    fitted = None if problem else _fitted(rows, slope=True)
    intercept = slope = Estimate(None, reason=problem or FLAT, level=level)
    shared = None
    if fitted is not None:
        beta, covariance, clusters = fitted
        few = few_events(rows.cluster, rows.weight, rows.weight_positives)
        intercept, slope = (
            _estimate(float(beta[i]), float(covariance[i, i]), level, float(clusters[i]), few) for i in (0, 1)
        )
        shared = None if 1 in clusters else float(covariance[0, 1])
    left_out, wrong = _left_out(tally)
    if left_out and fitted is not None:
        warning = (
            f"{left_out:,} of {tally.total_n:,} scores are exactly 0 or 1 and have no log-odds: "
            f"Cox slope and intercept leave them out, {wrong:,} of them wrong"
        )
        warning = "; ".join(filter(None, (slope.warning, warning)))
        intercept, slope = (msgspec.structs.replace(number, warning=warning) for number in (intercept, slope))
    return CoxCalibration(
        intercept=intercept,
        slope=slope,
        covariance=shared,
        n=tally.total_n,
        clusters=tally.cluster_count or None,
        left_out=left_out,
        left_out_wrong=wrong,
    )
