"""The two errors of one slice: signed, and squared without bias. Intervals hold far out in the tails too.

Among a thousand slices the intervals are at levels near 1, where normal quantiles no longer do for a skewed
estimate, nor a variance by the labels where nearly all of them are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from calibrant.metrics._moments import Moments, moments, undefined
from calibrant.metrics.intervals import inverted, standard_error
from calibrant.metrics.logistic import BALANCED, mean_residual
from calibrant.metrics.residuals import residuals
from calibrant.metrics.tails import p_value_of, quantile, two_sided_p_value
from calibrant.metrics.tally import Tally

NO_NOISE = "every score is 0 or 1 and every label equals its score, so nothing shows the noise of the labels"
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
        0 when pairs are independent.
    balanced
        Whether the error is 0 in every cluster, whatever the model.
    """

    estimate: float
    mean_score: float
    error: float
    binomial_n: float
    clusters: int
    balanced: bool

    @classmethod
    def of(cls, tally: Tally) -> SignedError:
        found = mean_residual(tally, 0.95)
        total = tally.total_weight
        mean = min(1.0, float(tally.sum_score.sum()) / total)
        null = float(np.sum(tally.weight2 * tally.score * (1 - tally.score))) / total**2
        return cls(
            estimate=-found.estimate if found.estimate else 0.0,
            mean_score=mean,
            error=found.standard_error or 0.0,
            binomial_n=mean * (1 - mean) / null if null > 0 else total**2 / float(tally.weight2.sum()),
            clusters=tally.cluster_count,
            balanced=found.warning == BALANCED,
        )

    @property
    def variance(self) -> float:
        """The larger of the two views."""
        null = self.mean_score * (1 - self.mean_score) / self.binomial_n
        return max(self.error**2, null)

    @property
    def p_value(self) -> float:
        """Two-sided; the larger one of the test by the standard error and of the binomial test."""
        from scipy.special import betainc

        by_error = 1.0 if self.estimate == 0 else 0.0
        if self.error > 0:
            by_error = two_sided_p_value(self.estimate / self.error, self.clusters)
        n, x = self.binomial_n, self.binomial_n * self._frequency
        upper = float(betainc(x, n - x + 1, self.mean_score)) if x > 0 else 1.0
        lower = float(betainc(n - x, x + 1, 1 - self.mean_score)) if x < n else 1.0
        return max(by_error, min(1.0, 2 * min(lower, upper)))

    def interval(self, level: float) -> tuple[float, float]:
        """Every error that either of the two tests accepts."""
        reach = quantile(level, self.clusters) * self.error
        least, most = _clopper_pearson(self._frequency, self.binomial_n, level)
        low = min(self.estimate - reach, self.mean_score - most)
        high = max(self.estimate + reach, self.mean_score - least)
        return max(low, self.mean_score - 1), min(high, self.mean_score)

    @property
    def _frequency(self) -> float:
        return min(1.0, max(0.0, self.mean_score - self.estimate))


def _clopper_pearson(frequency: float, n: float, level: float) -> tuple[float, float]:
    from scipy.special import betaincinv

    x, tail = n * frequency, (1 - level) / 2
    low = float(betaincinv(x, n - x + 1, tail)) if x > 0 else 0.0
    high = 1 - float(betaincinv(n - x, x + 1, tail)) if x < n else 1.0
    return low, high


@dataclass(frozen=True)
class SquaredError:
    """Debiased squared error and its moments.

    Attributes
    ----------
    moments
        The estimate and its moments.
    clusters
        Effective number; 0 when pairs are independent.
    rarer
        Number of positives, or of negatives where they are fewer.
    """

    moments: Moments
    clusters: float
    rarer: float

    @classmethod
    def of(cls, tally: Tally) -> SquaredError | str:
        """The error, or why there is none."""
        table = residuals(tally)
        found = moments(table)
        if found is None:
            return undefined(table) or NO_NOISE
        if found.null_variance == 0:
            return NO_NOISE
        return cls(found, table.effective_clusters, float(min(table.labels[0].sum(), table.labels[2].sum())))

    @property
    def standard_error(self) -> float:
        return standard_error(self.moments)

    @property
    def p_value(self) -> float:
        """One-sided: large errors speak against calibration."""
        found = self.moments
        return p_value_of(found.estimate / math.sqrt(found.null_variance), found.null_skewness, self.clusters)

    def interval(self, level: float) -> tuple[float, float]:
        """As `inverted`, but the lower end takes the estimate's skewness into account.

        The skewness is all in the part of the estimate that is there without any error, so that it fades as
        the error grows.
        """
        found = self.moments
        high = inverted(found, quantile(level, self.clusters))[1]
        low, least = 0.0, found.estimate
        if self._excess(0.0, level) > 0:
            for _ in range(60):
                middle = (low + least) / 2
                low, least = (middle, least) if self._excess(middle, level) > 0 else (low, middle)
        return min(1.0, low), min(1.0, high)

    def _excess(self, theta: float, level: float) -> float:
        """By how much the estimate is larger than what the test of theta accepts."""
        found = self.moments
        variance = found.variance(theta)
        skewness = found.null_skewness * (found.null_variance / variance) ** 1.5
        return found.estimate - theta - upper_point(level, skewness, self.clusters) * math.sqrt(variance)


def upper_point(level: float, skewness: float, clusters: float) -> float:
    """The point that `p_value_of` gives half of 1 - level.

    Examples
    --------
    >>> round(upper_point(0.95, 0.0, 0), 2), round(upper_point(0.95, 1.0, 0), 2)
    (1.96, 2.38)
    """
    from scipy.special import gammainccinv, ndtr, ndtri

    tail = float(ndtr(-quantile(level, clusters)))
    if skewness < _SYMMETRIC:
        return -float(ndtri(tail))
    shape = 4 / skewness**2
    return float((gammainccinv(shape, tail) - shape) / math.sqrt(shape))
