"""Calibration by slice, the worst slices first, with adjustment for the number of slices.

The worst of many slices looks worse than it is: its error is overestimated, and its 95 % interval is not
valid. Therefore intervals and p-values are adjusted for the number of slices, and estimates are shrunken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import numpy as np
from msgspec.structs import replace

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.exceptions import InputError
from calibrant.metrics.intervals import standard_error
from calibrant.metrics.logistic import BALANCED, NO_NOISE, simple_mean_error
from calibrant.metrics.moments import Moments, undefined
from calibrant.metrics.multiplicity import Adjustment, adjusted_p_values
from calibrant.metrics.residuals import residuals
from calibrant.metrics.resolutions import Resolutions, resolutions_of
from calibrant.metrics.tails import (
    FEW_CLUSTERS,
    clopper_pearson,
    few_events,
    p_value_of,
    quantile,
    two_sided_p_value,
)
from calibrant.metrics.tally import Tally
from calibrant.records import Quantity
from calibrant.records.words import counted
from calibrant.results.slices import NULL, SliceErrors, SliceEstimate, SliceSpread, SliceTable

_SYMMETRIC = 1e-3  # skewness below which a gamma distribution is taken for a normal one


@dataclass(frozen=True)
class SignedError:
    """Mean score - frequency, with two views of its noise.

    Attributes
    ----------
    estimate, mean_score
        The error, and the mean score.
    error
        Standard error by the residuals (and clusters).
    binomial_n
        Number of equal coins whose mean varies as the labels' mean does if the scores are calibrated; the
        number of pairs where all scores are 0 or 1, and nothing should vary.
    clusters
        Effective number; 0 if pairs are independent.
    balanced
        True if the error is 0 in every cluster for any model.
    """

    estimate: float
    mean_score: float
    error: float
    binomial_n: float
    clusters: float
    balanced: bool

    @classmethod
    def of(cls, tally: Tally) -> SignedError:
        """Return the signed error of the pairs of a slice."""
        estimate = simple_mean_error(tally, 0.95)
        total = tally.total_weight
        mean = min(1.0, float(tally.sum_score.sum()) / total)
        null = float(np.sum(tally.weight2 * tally.score * (1 - tally.score))) / total**2
        coins = mean * (1 - mean) / null if null > 0 else total**2 / float(tally.weight2.sum())
        if tally.cluster is not None and tally.positives.sum() in (0, tally.total_n):
            coins = min(coins, tally.effective_clusters)  # equal labels hide that clusters differ
        return cls(
            estimate=estimate.estimate or 0.0,
            mean_score=mean,
            error=estimate.standard_error or 0.0,
            binomial_n=coins,
            clusters=tally.effective_clusters,
            balanced=estimate.warning == BALANCED,
        )

    @property
    def variance(self) -> float:
        """The larger of the two views."""
        null = self.mean_score * (1 - self.mean_score) / self.binomial_n
        return max(self.error**2, null)

    @property
    def p_value(self) -> float:
        """Two-sided; the larger one of the test by the standard error and of the binomial test."""
        from calibrant._special import betainc

        by_error = 1.0 if self.estimate == 0 else 0.0
        if self.error > 0:
            by_error = two_sided_p_value(self.estimate / self.error, self.clusters)
        n, x = self.binomial_n, self.binomial_n * self._frequency
        upper = float(betainc(x, n - x + 1, self.mean_score)) if x > 0 else 1.0
        lower = float(betainc(n - x, x + 1, 1 - self.mean_score)) if x < n else 1.0
        return max(by_error, min(1.0, 2 * min(lower, upper)))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the range of errors that either of the two tests accepts.

        With clusters, the binomial test has at most as many trials as give the standard error.
        """
        reach, n, frequency = quantile(level, self.clusters) * self.error, self.binomial_n, self._frequency
        if self.clusters and self.error > 1e-150:  # the square of a smaller one underflows
            n = min(n, frequency * (1 - frequency) * (quantile(level) / reach) ** 2 or n)
        least, most = clopper_pearson(frequency, n, level)
        low = max(-1.0, min(self.estimate - reach, self.mean_score - most))
        return low, min(1.0, max(self.estimate + reach, self.mean_score - least))

    @property
    def _frequency(self) -> float:
        return min(1.0, max(0.0, self.mean_score - self.estimate))


@dataclass(frozen=True)
class SquaredError:
    """Debiased squared error at every resolution.

    Attributes
    ----------
    resolutions
        The estimate, its interval and its test.
    rarer
        Number of positives, or of negatives where they are fewer.
    """

    resolutions: Resolutions
    rarer: float

    @classmethod
    def of(cls, tally: Tally) -> SquaredError | str:
        """Return the error, or the reason why it is undefined."""
        table = residuals(tally)
        resolutions = resolutions_of(table)
        if resolutions is None:
            return undefined(table) or NO_NOISE
        if resolutions.reason is not None:
            return resolutions.reason
        return cls(resolutions, float(min(table.labels[0].sum(), table.labels[2].sum())))

    @property
    def moments(self) -> Moments:
        """Moments in the finest bins."""
        return self.resolutions.finest

    @property
    def clusters(self) -> float:
        """Effective number of clusters; 0 when pairs are independent."""
        return self.resolutions.clusters

    @property
    def estimate(self) -> float:
        """Estimate of the squared error."""
        return self.resolutions.estimate() ** 2

    @property
    def standard_error(self) -> float:
        """Standard error of the squared error in the finest bins."""
        return standard_error(self.moments)

    @property
    def p_value(self) -> float | None:
        """One-sided: large errors speak against calibration; None if few labels hide that clusters differ."""
        if self.clusters and self.rarer < LEAST_POSITIVES:
            return None
        return self.resolutions.p_value()

    @property
    def least_p_value(self) -> float:
        """The p-value of an error that all clusters share equally; 0 without clusters."""
        clusters = self.clusters
        root = math.sqrt(clusters * (clusters - 1) / 2)
        return p_value_of(root, (2 * clusters - 3) / root, clusters) if clusters else 0.0

    def interval(self, level: float) -> tuple[float, float]:
        """Return an interval of the squared error."""
        low, high = self.resolutions.interval(level)
        return low**2, high**2


FEWEST = 4  # fewer estimates hardly tell how far the truths lie apart
_ROUNDS = 500
_CELLS = 400
_SHAPES = np.geomspace(0.02, 200, 25)
_MEANS = np.geomspace(1e-3, 1, 25)  # of the largest truth thinkable
_NEAR = np.geomspace(0.75, 1 / 0.75, 13)
_MOST_SKEWED = 1.4
_CERTAIN = 9.0  # standard errors above the largest estimate that no truth exceeds


@dataclass(frozen=True)
class Shrinkage:
    """Distribution of the true errors, and the expectation of each.

    Attributes
    ----------
    mean, spread
        Mean and standard deviation of the distribution of true errors.
    estimate
        (m,) mean of each true error given its estimate.
    """

    mean: float
    spread: float
    estimate: Floats


def shrunken(value: Floats, variance: Floats) -> Shrinkage:
    """Shrink estimates with known variances; true errors are a mixture of normals around one mean.

    With one standard deviation this is the classical normal model; several let a few truths lie far out.

    References
    ----------
    .. [1] Stephens (2017). False discovery rates: a new deal. Biostatistics 18, 275-294.

    Examples
    --------
    >>> import numpy as np
    >>> shrinkage = shrunken(np.array([0.0, 1.0, 2.0, 9.0]), np.ones(4))
    >>> round(shrinkage.mean, 1), shrinkage.estimate.round(1).tolist()
    (1.1, [1.0, 1.0, 1.1, 8.9])
    """
    noise = np.maximum(variance, np.finfo(float).tiny)
    mean = float(np.median(value))
    largest = 2 * max(float(np.abs(value - mean).max()), float(noise.min()) ** 0.5)
    smallest = min(largest, float(noise.min()) ** 0.5 / 4)
    steps = int(np.ceil(2 * np.log2(largest / smallest))) + 1
    between = np.concatenate([[0.0], np.geomspace(smallest, largest, min(steps, 60)) ** 2])
    total = noise[:, np.newaxis] + between
    share = np.full(len(between), 1 / len(between))
    part = share
    for _ in range(_ROUNDS):
        log = np.log(np.maximum(share, 1e-300)) - np.log(total) / 2
        log -= (value[:, np.newaxis] - mean) ** 2 / total / 2
        part = np.exp(log - log.max(axis=1, keepdims=True))
        part /= part.sum(axis=1, keepdims=True)
        weight = (part / total).sum(axis=1)
        before, share, mean = share, part.mean(axis=0), float(weight @ value / weight.sum())
        if np.abs(share - before).max() < 1e-6:
            break
    kept = (part * between / total).sum(axis=1)
    return Shrinkage(mean, float(share @ between) ** 0.5, mean + kept * (value - mean))


def shrunken_positive(value: Floats, variance: Floats, slope: Floats, skewness: Floats) -> Shrinkage:
    """Shrink estimates of non-negative true errors, which have a gamma distribution.

    The variance of an estimate whose truth is theta is ``variance + slope * theta``; its first part is
    skewed: large estimates by chance alone are more frequent than under a normal distribution.

    Examples
    --------
    >>> import numpy as np
    >>> value = np.array([-0.001, 0.0, 0.001, 0.009])
    >>> shrunken_positive(value, np.full(4, 1e-6), np.zeros(4), np.zeros(4)).estimate.round(4).tolist()
    [0.0001, 0.0001, 0.0003, 0.0089]
    """
    from calibrant._special import gammainc

    reach = _CERTAIN * float(np.sqrt(variance.max()))
    most = max(float(value.max()), 0.0)
    most = min(1.0, most + reach + _CERTAIN * float(np.sqrt(slope.max() * most)))
    # Equal steps of the root: fine near 0, where most truths are.
    edges = np.linspace(0, most**0.5, _CELLS + 1) ** 2
    theta = (edges[1:] + edges[:-1]) / 2
    width2 = np.diff(edges) ** 2 / 12
    total = variance[:, np.newaxis] + slope[:, np.newaxis] * theta + width2
    skewed = np.minimum(skewness, _MOST_SKEWED)[:, np.newaxis] * (variance[:, np.newaxis] / total) ** 1.5
    log = _log_density((value[:, np.newaxis] - theta) / np.sqrt(total), skewed) - np.log(total) / 2
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    shape, mean = _SHAPES, _MEANS * most
    best = -np.inf
    for _ in range(2):  # all over, then near the best
        for alpha in shape:
            cells = np.diff(gammainc(alpha, edges * alpha / mean[:, np.newaxis]))
            cells /= np.maximum(cells.sum(axis=1, keepdims=True), 1e-300)
            log_likelihood = np.log(np.maximum(likelihood @ cells.T, 1e-300)).sum(axis=0)
            place = int(log_likelihood.argmax())
            if log_likelihood[place] > best:
                best, mass, chosen = float(log_likelihood[place]), cells[place], (alpha, mean[place])
        shape, mean = chosen[0] * _NEAR[::2], chosen[1] * _NEAR
    part = likelihood * mass
    centre = float(mass @ theta)
    spread = float(mass @ (theta - centre) ** 2) ** 0.5
    return Shrinkage(centre, spread, part @ theta / part.sum(axis=1))


def _log_density(z: Floats, skewness: Floats) -> Floats:
    """Return the log density of noise (mean 0, variance 1): gamma, with a small normal component."""
    from calibrant._special import gammaln

    shape = 4 / np.maximum(skewness, 0.05) ** 2
    point = np.maximum(shape + z * np.sqrt(shape), 1e-300)
    gamma = (shape - 1) * np.log(point) - point - gammaln(shape) + np.log(shape) / 2
    normal = -(z**2) / 2 - np.log(2 * np.pi) / 2
    density: Floats = np.logaddexp(gamma, normal + np.log(0.01))
    return density


Adjust = Literal["simultaneous", "fcr", "none"]
Rank = Literal["error", "signed"]
Keys = tuple[str | None, ...]
Key = TypeVar("Key", bound=Keys)

ADJUSTMENTS: dict[str, Adjustment | None] = {
    "simultaneous": "holm",
    "fcr": "benjamini-hochberg",
    "none": None,
}
RANKS = ("error", "signed")
LEAST_PAIRS = 30
LEAST_CLUSTERS = 5
ALIKE = 0.1  # typical standard errors, below which the spread of slices is taken for none
LEAST_POSITIVES = 10  # and negatives, for an interval of the squared error
TOO_RARE = "too few positives or negatives ({:.0f}): the pairs that carry the error may be missing"
NOT_FOUND = "not found to be miscalibrated: intervals of false coverage rate are for the slices found"
TOO_FEW_CLUSTERS = (
    "These slices have too few clusters to be found: even if all clusters of a slice had the same error, its "
    "adjusted p-value would be at least {:.3g}. Use fewer slices or more clusters, or rank by the "
    "mean error (signed)."
)
WEAK_CLUSTERS = (
    "The clusters of {} count as fewer than {} equal ones: intervals may cover less than they state."
)
FEW_EVENTS = "In {}, few clusters have positives, or negatives: intervals may cover less than they state."
FEW_CONTRARY = (
    "In {}, fewer than {} labels are on the other side of 0.5 than their scores: intervals may cover less "
    "than they state."
)
TOO_FEW_SLICES = f"fewer than {FEWEST} slices were measured"


def slice_errors(
    tallies: Mapping[Key, Tally],
    *,
    by: Sequence[str] | None = None,
    level: float = 0.95,
    adjust: Adjust = "simultaneous",
    rank: Rank = "error",
    least: int = LEAST_PAIRS,
) -> SliceTable:
    """Return calibration errors of every slice, with adjusted intervals and shrunken estimates.

    Two errors are measured: the *signed* one, mean score - frequency, and the *squared* one, which also sees
    errors that cancel in the mean. Each is adjusted over all slices by itself.

    Parameters
    ----------
    tallies
        A tally a slice, by its keys (a tuple, None for a missing value), as `calibrant.verbs.tally_by`
        makes them: all with clusters, or all without.
    by
        Names of the columns behind the keys; "slice", or "slice 1" and so on, if not given.
    level
        1 - level is what ``adjust`` is about.
    adjust
        ``"simultaneous"``: the probability that any interval misses is at most 1 - level (Bonferroni;
        p-values after Holm). ``"fcr"``: slices are found by Benjamini and Hochberg's method at 1 - level, and
        of the intervals of the slices found, on average a proportion of at most 1 - level misses; their level
        is 1 - R (1 - level) / m for R found of m. ``"none"``: each slice alone.
    rank
        Number by which slices are sorted: the shrunken squared error (``"error"``) or the absolute shrunken
        signed error (``"signed"``); unshrunken estimates for fewer than 4 slices; and the p-value if slices
        hardly differ.
    least
        Pairs that a slice needs. Smaller ones (and those of fewer than 5 clusters) are listed with a reason
        instead of numbers, and do not count as comparisons.

    Returns
    -------
    SliceTable
        The worst slice first.

    Raises
    ------
    InputError
        If there are no slices, or they have different numbers of keys.

    Notes
    -----
    The interval of the squared error inverts a test, as `calibration_error` does, with the quantile of a
    gamma distribution at its lower end, because normal quantiles are too small at the levels of many slices.
    The interval of the signed error contains a normal interval by the residuals and Clopper and Pearson's
    interval, with the number of trials for which the frequency varies as for calibrated scores (after Korn
    and Graubard).

    Shrunken estimates are means of the true errors given their estimates, for true errors that are normal
    over slices: unlike the estimates, they remain right for slices picked by them, as far as that assumption
    holds. A few bad slices among many good ones are shrunken too far: look at their intervals.

    References
    ----------
    .. [1] Benjamini and Yekutieli (2005). False discovery rate-adjusted multiple confidence intervals for
       selected parameters. JASA 100, 71-81.
    .. [2] Korn and Graubard (1998). Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data. Survey Methodology 24, 193-201.
    .. [3] Efron (2011). Tweedie's formula and selection bias. JASA 106, 1602-1614.

    Examples
    --------
    >>> labels = {"law": [1] * 60 + [0] * 40, "art": [1] * 80 + [0] * 20}
    >>> tallies = {(name,): Tally.from_arrays(y_true=y, y_prob=[0.8] * 100) for name, y in labels.items()}
    >>> table = slice_errors(tallies, by=["subject"])
    >>> [(row.slice, round(row.signed.estimate, 2), row.signed.found) for row in table.slices]
    [('law', 0.2, True), ('art', 0.0, False)]
    """
    level = _checks.proportion(level, "level")
    least = _checks.positive_integer(least, "least")
    _checks.one_of(adjust, tuple(ADJUSTMENTS), "adjust")
    _checks.one_of(rank, RANKS, "rank")
    names = _names(tallies, by)
    tallies = dict(sorted(tallies.items(), key=lambda item: _in_order(item[0])))  # sums depend on no order
    reasons = {keys: _too_small(tally, least) for keys, tally in tallies.items()}
    large = {keys: tally for keys, tally in tallies.items() if reasons[keys] is None}
    signed, signed_spread = _signed(list(large.values()), level, adjust)
    squared, squared_spread, limit = _squared(list(large.values()), level, adjust)
    weak = sum(0 < tally.effective_clusters < FEW_CLUSTERS for tally in large.values())
    notes = [WEAK_CLUSTERS.format(counted(weak, "slice"), FEW_CLUSTERS)] if weak else []
    few = sum(
        bool(few_events(tally.cluster, tally.weight, tally.weight_positives)) for tally in large.values()
    )
    notes += [FEW_EVENTS.format(counted(few, "slice"))] if few else []
    sharp = sum(
        count < LEAST_POSITIVES and (other.low is not None or (one.low is not None and expected < 1))
        for (count, expected), one, other in zip(map(_contrary, large.values()), signed, squared, strict=True)
    )
    notes += [FEW_CONTRARY.format(counted(sharp, "slice"), LEAST_POSITIVES)] if sharp else []
    hopeless = rank == "error" and limit > 1 - level and not any(estimate.found for estimate in squared)
    rows = [
        _row(keys, tally, one, other)
        for (keys, tally), one, other in zip(large.items(), signed, squared, strict=True)
    ]
    for keys, tally in tallies.items():
        reason = reasons[keys]
        if reason is not None:
            nothing = _undefined(reason)
            rows.append(replace(_row(keys, tally, nothing, nothing), reason=reason))
    errors, spread = (squared, squared_spread.spread) if rank == "error" else (signed, signed_spread.spread)
    noise = [error.standard_error for error in errors if error.standard_error is not None]
    alike = spread is not None and spread < ALIKE * float(np.median(noise))
    return SliceTable(
        by=names,
        slices=tuple(sorted(rows, key=lambda row: _order(row, rank, alike))),
        rank=rank,
        level=level,
        adjust=adjust,
        adjustment=ADJUSTMENTS[adjust] or "none",
        measured=len(large),
        least=least,
        n=sum(row.n for row in rows),
        signed=signed_spread,
        squared=squared_spread,
        notes=(*notes, *([TOO_FEW_CLUSTERS.format(limit)] if hopeless else [])),
    )


def _names(tallies: Mapping[Key, Tally], by: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names of the keys' columns; raise an error if keys have no or different lengths."""
    if not tallies:
        raise InputError("there are no slices", "pass at least one tally", code="empty")
    if not all(isinstance(keys, tuple) for keys in tallies):
        raise InputError("the keys of tallies are not tuples", 'write ("law",), not "law"', code="parameter")
    widths = {len(keys) for keys in tallies}
    if len(widths) > 1 or 0 in widths:
        raise InputError("slices have different numbers of keys", "give all the same number", code="length")
    if len({tally.cluster is None for tally in tallies.values()}) > 1:
        message = "some tallies have clusters and others have none"
        raise InputError(message, "tally all with clusters or all without", code="parameter")
    width = widths.pop()
    if by is None:
        return ("slice",) if width == 1 else tuple(f"slice {place}" for place in range(1, width + 1))
    if not _checks.is_list(by):
        raise InputError(f"by is {_checks.shown(by)}", "pass a list of names", code="parameter")
    _checks.same_length("by", len(by), "the keys of a slice", width)
    return tuple(by)


def _contrary(tally: Tally) -> tuple[int, float]:
    """Count the labels on the other side of 0.5 than their scores, and how many the scores expect there."""
    contrary = np.where(tally.score < 0.5, tally.positives, tally.n - tally.positives)
    return int(contrary.sum()), float(tally.n @ np.minimum(tally.score, 1 - tally.score))


def _too_small(tally: Tally, least: int) -> str | None:
    if tally.total_n < least:
        return f"{counted(tally.total_n, 'pair')}, fewer than {least}"
    if 0 < tally.cluster_count < LEAST_CLUSTERS:
        return f"{counted(tally.cluster_count, 'cluster')}, fewer than {LEAST_CLUSTERS}"
    return None


def _signed(tallies: Sequence[Tally], level: float, adjust: str) -> tuple[list[SliceEstimate], SliceSpread]:
    if not tallies:
        return [], _spread(None)
    errors = [SignedError.of(tally) for tally in tallies]
    if all(error.balanced for error in errors):
        return [_undefined(BALANCED)] * len(errors), SliceSpread(None, None, BALANCED)
    parts = np.array([(error.estimate, error.variance) for error in errors]).T
    shrinkage = shrunken(*parts.copy()) if len(errors) >= FEWEST else None
    numbers = [(error.estimate, error.variance**0.5) for error in errors]
    return _estimates(errors, numbers, shrinkage, level, adjust), _spread(shrinkage)


def _squared(
    tallies: Sequence[Tally], level: float, adjust: str
) -> tuple[list[SliceEstimate], SliceSpread, float]:
    """Return the errors, their spread, and the smallest adjusted p-value that so few clusters can give."""
    every = [SquaredError.of(tally) for tally in tallies]
    errors = [error for error in every if isinstance(error, SquaredError)]
    shrinkage = None
    if len(errors) >= FEWEST:
        parts = [
            (m.estimate, m.null_variance, m.slope + m.curvature * max(0.0, m.estimate), m.null_skewness)
            for m in (error.moments for error in errors)
        ]
        shrinkage = shrunken_positive(*np.array(parts).T)
    numbers = [(error.estimate, error.standard_error) for error in errors]
    estimates = iter(_estimates(errors, numbers, shrinkage, level, adjust))
    least = _adjusted([error.least_p_value for error in errors], adjust)
    estimated = [_undefined(error) if isinstance(error, str) else next(estimates) for error in every]
    return estimated, _spread(shrinkage), min((p for p in least if p is not None), default=0.0)


def _adjusted(p_values: Sequence[float | None], adjust: str) -> list[float | None]:
    method = ADJUSTMENTS[adjust]
    return list(p_values) if method is None else adjusted_p_values(p_values, method)


def _intervals(
    makers: Sequence[Callable[[float], tuple[float, float]]],
    adjusted: Sequence[float | None],
    level: float,
    adjust: str,
) -> list[tuple[float, float] | str]:
    """Make the intervals at the levels that the adjustment wants; a reason for slices that get none."""
    count = len(makers)
    if adjust == "none":
        return [make(level) for make in makers]
    if adjust == "simultaneous":
        return [make(1 - (1 - level) / count) for make in makers]
    significant = [p is not None and p <= 1 - level for p in adjusted]
    share = sum(significant) * (1 - level) / max(1, count)
    return [make(1 - share) if large else NOT_FOUND for make, large in zip(makers, significant, strict=True)]


def _spread(shrinkage: Shrinkage | None) -> SliceSpread:
    if shrinkage is None:
        return SliceSpread(None, None, TOO_FEW_SLICES)
    return SliceSpread(shrinkage.mean, shrinkage.spread)


def _estimates(
    errors: Sequence[SignedError | SquaredError],
    numbers: Sequence[tuple[float, float]],
    shrinkage: Shrinkage | None,
    level: float,
    adjust: str,
) -> list[SliceEstimate]:
    """Return the records of errors, of which ``numbers`` has estimates and standard errors."""
    p_values = [error.p_value for error in errors]
    adjusted = _adjusted(p_values, adjust)
    intervals = _intervals([error.interval for error in errors], adjusted, level, adjust)
    records = []
    for place, (error, interval, p) in enumerate(zip(errors, intervals, adjusted, strict=True)):
        if isinstance(error, SquaredError) and error.rarer < LEAST_POSITIVES:
            interval = TOO_RARE.format(error.rarer)
        reason, (low, high) = (interval, (None, None)) if isinstance(interval, str) else (None, interval)
        value = None if shrinkage is None else float(shrinkage.estimate[place])
        records.append(
            SliceEstimate(
                estimate=numbers[place][0],
                standard_error=numbers[place][1],
                low=low,
                high=high,
                reason=reason,
                shrunken=Quantity(value, reason=TOO_FEW_SLICES if value is None else None),
                p_value=p_values[place],
                adjusted_p_value=p,
                found=p is not None and p <= 1 - level,
            )
        )
    return records


def _undefined(reason: str) -> SliceEstimate:
    return SliceEstimate(estimate=None, reason=reason, shrunken=Quantity(None, reason=reason))


def _row(keys: Keys, tally: Tally, signed: SliceEstimate, squared: SliceEstimate) -> SliceErrors:
    total = tally.total_weight
    root = {name: _root(getattr(squared, name)) for name in ("estimate", "low", "high")}
    shrunken = replace(squared.shrunken, estimate=_root(squared.shrunken.estimate))
    return SliceErrors(
        slice=", ".join(NULL if key is None else key for key in keys),
        keys=keys,
        n=tally.total_n,
        positives=tally.total_positives,
        clusters=tally.cluster_count or None,
        mean_score=float(tally.sum_score.sum() / total),
        frequency=float(tally.weight_positives.sum() / total),
        signed=signed,
        error=replace(squared, **root, standard_error=None, shrunken=shrunken),
        squared=squared,
    )


def _root(value: float | None) -> float | None:
    """Root of a squared error, 0 if it is negative."""
    return None if value is None else float(max(0.0, value) ** 0.5)


def _order(row: SliceErrors, rank: str, alike: bool) -> tuple[object, ...]:
    """Measured slices from the worst on, then the others from the largest on; ties by p-value and name."""
    chosen = row.squared if rank == "error" else row.signed
    shrunk = chosen.shrunken.estimate
    value = chosen.estimate if shrunk is None else shrunk
    named = _in_order(row.keys)
    if value is None or chosen.p_value is None:
        return (1, row.reason is not None, -row.n, named)
    size = value if rank == "error" else abs(value)
    # The shrunken errors of slices that are alike are nearly equal: their order has no meaning.
    return (0, 0.0 if alike else -size, chosen.p_value, -size, named)


def _in_order(keys: Keys) -> tuple[tuple[bool, str], ...]:
    """Return a sort key of slices; missing values come last."""
    return tuple((key is None, key or "") for key in keys)
