"""Calibration in the large and Cox's logistic recalibration.

These models test whether the mean score equals the base rate, and whether scores are over- or underconfident.

Both are computed from the rows of a tally. Standard errors are robust: they are valid also if the logistic
model is wrong, with weights, and with clusters (whole clusters as units, t quantiles). Without clusters those
of the logistic fits are not below the model's. A score of exactly 0 or 1 has no logit; such pairs are left
out of the fits and counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Integers, proportion
from calibrant._kernels.logistic import log_likelihood
from calibrant.metrics.binning import Source
from calibrant.metrics.crossed import CrossedPairs, by_both, clustered_pairs, two_way
from calibrant.metrics.tails import cr2, effective_number, few_events, quantile, wilson
from calibrant.metrics.tally import Tally, as_tally
from calibrant.results.errors import CalibrationInTheLarge, CoxCalibration, Estimate

NO_LOGIT = "no score lies strictly between 0 and 1"
ONE_CLASS = "only one class occurs among the scores that have a logit"
ONE_SCORE = "all scores are equal, so there is no slope"
SEPARATED = "one threshold of the score separates the classes, so the slope has no finite estimate"
ONE_CLUSTER = "there is one cluster, so the spread between clusters is unknown"
ONE_PAIR = "there is one pair"
NO_NOISE = "every score is 0 or 1 and every label equals its score, so nothing shows the noise of the labels"

BALANCED = (
    "the scores of every cluster add up to its positives, as do those of all classes pooled: "
    "calibration in the large is 0 for any model"
)

_ROUNDING = 1e-12  # by how much, relatively, a log-likelihood may fall without meaning it
_SAME = 1e-6  # difference of the logits of scores that are equal but for rounding to float32
_SUM_ROUNDING = 1e-6  # by how much, relatively, float32 probabilities may fail to add up to 1


@dataclass(frozen=True)
class _Rows:
    """Rows of a tally whose score has a logit."""

    logit: Floats
    weight: Floats
    weight_positives: Floats
    weight2: Floats
    weight2_positives: Floats
    cluster: Integers | None

    @classmethod
    def of(cls, tally: Tally) -> _Rows:
        keep = inside(tally)
        score = tally.score[keep]
        return cls(
            logit=np.log(score) - np.log1p(-score),
            weight=tally.weight[keep],
            weight_positives=tally.weight_positives[keep],
            weight2=tally.weight2[keep],
            weight2_positives=tally.weight2_positives[keep],
            cluster=None if tally.cluster is None else tally.cluster[keep],
        )

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


def inside(tally: Tally) -> NDArray[np.bool_]:
    """Return the rows whose mean score is strictly between 0 and 1."""
    score = tally.score
    return (score > 0) & (score < 1)


def fit(rows: _Rows, *, slope: bool) -> Floats:
    """Return the maximum likelihood intercept and slope of a logistic regression on the logits.

    The slope stays 1 unless asked for. Steps that would lower the likelihood are halved; it is concave, so
    that this converges wherever the estimate exists.
    """
    free = 2 if slope else 1
    beta = np.array([0.0, 0.0 if slope else 1.0])
    here = _derivatives(rows, beta)
    for _ in range(200):
        step = np.zeros(2)
        step[:free] = np.linalg.solve(here.information[:free, :free], here.gradient[:free])
        if np.abs(step).max() <= 1e-12 * (1 + np.abs(beta).max()):
            return beta + step
        least = here.value - _ROUNDING * abs(here.value)
        reached = _derivatives(rows, beta + step)
        while reached.value < least and np.abs(step).max() > 1e-12:
            step /= 2
            reached = _derivatives(rows, beta + step)
        beta, here = beta + step, reached
    return beta


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
    from calibrant._special import expit

    design = np.stack([np.ones(len(rows.logit)), rows.logit][: 2 if slope else 1])
    p = expit(beta[0] + beta[1] * rows.logit)
    bread = np.linalg.inv(_derivatives(rows, beta).information[: len(design), : len(design)])
    influence = bread @ design
    if rows.cluster is None:
        squares = rows.weight2_positives * (1 - p) ** 2 + (rows.weight2 - rows.weight2_positives) * p**2
        robust, model = ((influence * each) @ influence.T for each in (squares, rows.weight2 * p * (1 - p)))
        wider = np.sqrt(np.maximum(1, np.diag(model) / np.diag(robust)))
        return robust * np.outer(wider, wider), np.zeros(len(design))
    count = int(np.count_nonzero(np.bincount(rows.cluster)))
    residual, information = rows.weight_positives - rows.weight * p, rows.weight * p * (1 - p)
    sums = np.stack([np.bincount(rows.cluster, residual * each) for each in influence])
    parts = np.stack([np.bincount(rows.cluster, information * each**2) for each in influence])
    fraction = parts / np.diag(bread)[:, None]
    jackknifed = sums / np.maximum(1 - fraction, _ROUNDING)
    covariance: Floats = jackknifed @ jackknifed.T * ((count - 1) / count)
    of_sizes = effective_number(np.bincount(rows.cluster, rows.weight))
    return covariance, np.array([min(of_sizes, effective_number(each)) for each in fraction])


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


def calibration_in_the_large_of(source: Source, *, level: float = 0.95) -> CalibrationInTheLarge:
    """Return calibration in the large of pairs or of a tally (by cluster if it has clusters).

    See `calibration_in_the_large`.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> result = calibration_in_the_large_of(pairs([0, 1, 0, 1], [0.2, 0.4, 0.2, 0.4]))
    >>> round(result.difference.estimate, 3), round(result.intercept.estimate, 3)
    (0.2, 0.896)
    """
    from calibrant._special import expit

    level = proportion(level, "level")
    tallies = _tallies(source)
    tally = tallies[0]
    total = tally.total_weight
    base_rate = float(tally.weight_positives.sum() / total)
    mean_score = float(tally.sum_score.sum() / total)
    ways = [_Rows.of(each) for each in tallies]
    problem = ways[0].problem(slope=False)
    if problem:
        intercept = Estimate(None, reason=problem, level=level)
    else:
        beta = fit(ways[0], slope=False)
        covariance, clusters = _robust_covariance(ways, beta, slope=False)
        intercept = _estimate(
            float(beta[0]), float(covariance[0, 0]), level, float(clusters[0]), _few_events(ways)
        )
        if any(
            rows.cluster is not None
            and _is_balanced(rows.cluster, rows.weight_positives, rows.weight * expit(rows.logit))
            for rows in ways[:2]
        ):
            intercept = Estimate(0.0, 0.0, 0.0, 0.0, warning=BALANCED, level=level)
    return CalibrationInTheLarge(
        base_rate=base_rate,
        mean_score=mean_score,
        difference=_with_noise_of_labels(_two_way(tallies, level), tallies, level),
        intercept=intercept,
        n=tally.total_n,
        clusters=tally.cluster_count or None,
        left_out=int(tally.n[~inside(tally)].sum()),
    )


def _tallies(source: Source) -> list[Tally]:
    """Return the tally; of pairs in crossed clusters, those by first cluster, by second and by both."""
    if not isinstance(source, CrossedPairs):
        return [as_tally(source)]
    return [as_tally(part) for part in by_both(source)]


def _two_way(tallies: Sequence[Tally], level: float) -> Estimate:
    """Return the mean residual, with the two-way sum of the variances if there are three tallies."""
    ways = [mean_residual(tally, level) for tally in tallies]
    if len(ways) == 1 or any(way.reason or way.warning == BALANCED for way in ways[:2]):
        return next((way for way in ways[:2] if way.reason or way.warning == BALANCED), ways[0])
    variance = two_way([(way.standard_error or 0.0) ** 2 for way in ways])
    fewest = min(tally.effective_clusters for tally in tallies[:2])
    return _estimate(ways[0].estimate or 0.0, variance, level, fewest)


def _robust_covariance(ways: Sequence[_Rows], beta: Floats, *, slope: bool) -> tuple[Floats, Floats]:
    """Return the covariance of one or of crossed clusterings, and the smaller numbers of clusters."""
    found = [robust_covariance(rows, beta, slope=slope) for rows in ways]
    covariance, clusters = found[0]
    if len(found) == 1:
        return covariance, clusters
    own = np.stack([np.diag(each) for each, _ in found])
    wider = np.sqrt([two_way(values) / values[0] if values[0] > 0 else 1.0 for values in own.T.tolist()])
    return covariance * np.outer(wider, wider), np.minimum(clusters, found[1][1])


def _few_events(ways: Sequence[_Rows]) -> str | None:
    each = (few_events(rows.cluster, rows.weight, rows.weight_positives) for rows in ways[:2])
    return next(filter(None, each), None)


def _with_noise_of_labels(found: Estimate, tallies: Sequence[Tally], level: float) -> Estimate:
    """Widen the interval to Wilson's of the frequency, less the mean score: few events have a skewed mean.

    Its number is that of equal coins whose mean has the standard error (Korn and Graubard 1998), and for
    equal labels, whose residuals hide that labels are random, the effective number of clusters or pairs.
    """
    if found.low is None or found.high is None or found.warning == BALANCED:
        return found
    tally = min(tallies[:2], key=lambda each: each.effective_clusters)
    positives = int(tally.positives.sum())
    total, warning = tally.total_weight, None
    clusters = effective_units(tally)
    if 0 < positives < tally.total_n:
        error = (found.standard_error or 0.0) * quantile(level, clusters) / quantile(level)
        if not error:
            return Estimate(found.estimate, reason=NO_NOISE, level=level)
        warning = few_events(tally.cluster, tally.weight, tally.weight_positives)
        frequency = float(tally.weight_positives.sum() / total)
        units = frequency * (1 - frequency) / error**2
    else:
        frequency, units = float(positives > 0), clusters or total**2 / float(tally.weight2.sum())
    ends = wilson(np.array([frequency]), np.array([units]), level)
    mean_score = float(tally.sum_score.sum() / total)
    low, high = (float(end[0]) - mean_score for end in ends)
    low, high = min(low, found.low), max(high, found.high)
    return msgspec.structs.replace(found, low=low, high=high, warning=warning)


def mean_residual(tally: Tally, level: float) -> Estimate:
    """Return the weighted mean residual with its standard error."""
    residual = tally.weight_positives - tally.sum_score
    total = tally.total_weight
    mean = float(residual.sum() / total)
    if tally.cluster is not None and _is_balanced(tally.cluster, tally.weight_positives, tally.sum_score):
        return Estimate(0.0, 0.0, 0.0, 0.0, warning=BALANCED, level=level)
    if tally.cluster is not None:
        size = np.bincount(tally.cluster, tally.weight)
        variance = cr2(size, np.bincount(tally.cluster, residual - mean * tally.weight))[0] / total**2
        # Equal clusters do not make the noise of the labels less than that of independent pairs.
        return _estimate(mean, variance or _independent(tally, mean), level, tally.effective_clusters)
    if tally.total_n == 1:
        return Estimate(mean, reason=ONE_PAIR, level=level)
    return _estimate(mean, _independent(tally, mean), level, effective_units(tally))


def effective_units(tally: Tally) -> float:
    """Return the effective number of clusters, or of weighted pairs; 0 for pairs that count alike."""
    if tally.cluster is not None or not tally.weighted:
        return tally.effective_clusters
    units = tally.total_weight**2 / float(tally.weight2.sum())
    return units if units < (1 - 1e-9) * tally.total_n else 0.0


def _independent(tally: Tally, mean: float) -> float:
    """Variance of a mean residual of independent pairs."""
    positive = tally.weight2_positives * (1 - tally.score - mean) ** 2
    negative = (tally.weight2 - tally.weight2_positives) * (tally.score + mean) ** 2
    rest = 1 - float(tally.weight2.sum()) / tally.total_weight**2
    return float((positive + negative).sum() / tally.total_weight**2 / max(rest, 1e-9))


def _is_balanced(cluster: Integers, events: Floats, scores: Floats) -> bool:
    """Return True if the scores of each cluster sum to its events, up to rounding."""
    difference = np.bincount(cluster, events - scores)
    summed = np.bincount(cluster, events + scores)
    close = np.abs(difference) <= _SUM_ROUNDING * (summed + summed.mean())
    noisy = np.abs(events - scores) > _SUM_ROUNDING * (events + scores)  # else nothing cancels
    return bool(close.all()) and bool(noisy.any()) and bool((cluster != cluster[0]).any())


def cox_calibration_of(source: Source, *, level: float = 0.95) -> CoxCalibration:
    """Return the Cox intercept and slope of pairs or of a tally (by cluster if it has clusters).

    See `cox_calibration`.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> cox_calibration_of(pairs([0, 1], [0.2, 0.9])).slope.reason
    'one threshold of the score separates the classes, so the slope has no finite estimate'
    """
    level = proportion(level, "level")
    tallies = _tallies(source)
    tally, ways = tallies[0], [_Rows.of(each) for each in tallies]
    problem = ways[0].problem(slope=True)
    intercept = slope = Estimate(None, reason=problem or None, level=level)
    shared = None
    if not problem:
        beta = fit(ways[0], slope=True)
        (covariance, clusters), few = _robust_covariance(ways, beta, slope=True), _few_events(ways)
        intercept, slope = (
            _estimate(float(beta[i]), float(covariance[i, i]), level, float(clusters[i]), few) for i in (0, 1)
        )
        shared = None if 1 in clusters else float(covariance[0, 1])
    outside = ~inside(tally)
    left_out = int(tally.n[outside].sum())
    wrong = int(np.where(tally.score <= 0, tally.positives, tally.n - tally.positives)[outside].sum())
    if left_out and not problem:
        warning = (
            f"{left_out:,} of {tally.total_n:,} scores are exactly 0 or 1 and have no log-odds: "
            f"Cox slope and intercept leave them out, {wrong:,} of them wrong"
        )
        warning = "; ".join(filter(None, (slope.warning, warning)))
        intercept, slope = (msgspec.structs.replace(each, warning=warning) for each in (intercept, slope))
    return CoxCalibration(
        intercept=intercept,
        slope=slope,
        covariance=shared,
        n=tally.total_n,
        clusters=tally.cluster_count or None,
        left_out=left_out,
        left_out_wrong=wrong,
    )


def calibration_in_the_large(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
) -> CalibrationInTheLarge:
    """Do the scores add up to the events? Base rate minus mean score, and the same on the logit scale.

    Both numbers are 0 for a model that is calibrated in the large, positive when its scores are too low.
    A model can pass and still be far from calibrated: gaps of opposite sign cancel.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1: whether the event happened.
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

    Raises
    ------
    InputError
        For anything that is not such labels, scores, weights or clusters.

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
    checked = clustered_pairs(y_true, y_prob, sample_weight=sample_weight, clusters=clusters)
    return calibration_in_the_large_of(checked, level=level)


def cox_calibration(
    y_true: ArrayLike,
    y_prob: ArrayLike,
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
    checked = clustered_pairs(y_true, y_prob, sample_weight=sample_weight, clusters=clusters)
    return cox_calibration_of(checked, level=level)
