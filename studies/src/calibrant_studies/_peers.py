"""Intervals for the calibration error by other authors, for comparison in the coverage study."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant.metrics import Pairs
from calibrant.metrics.binning import uniform
from calibrant.metrics.intervals import calibration_test, error_interval
from calibrant.results import Bins
from calibrant_studies._designs import LEVEL, number
from calibrant_studies.arrays import Floats

METHODS = ("Sun et al. 2024", "uncertainty-calibration", "Algorithm 2", "bootstrap")
SUN_BINS = 50  # of equal width, as in the paper's simulations
ALGORITHM_2_SIZE, ALGORITHM_2_DRAWS = 200, 500  # 200 pairs are the papers' floor
BOOTSTRAP_DRAWS = 200
RESAMPLES = 100  # of uncertainty-calibration, which does not let its user choose
KUMAR_BINS = 15
_DISCRETE = 0.25  # share of distinct scores below which uncertainty-calibration takes each for a bin


def limits(source: Pairs, rng: np.random.Generator, *, own: bool) -> Floats:
    """Limits (methods, 2) of the RMS error by `METHODS`; NaN where one is undefined.

    ``own``: calibrant's bootstrap as well.
    """
    found = np.full((len(METHODS), 2), np.nan)
    plain = Pairs(source.score, source.outcome)  # what knows neither clusters nor weights
    found[0] = np.sqrt(np.maximum(0.0, sun_interval(uniform(plain, SUN_BINS), LEVEL)))
    found[1] = resampled_interval(plain.label, plain.score.astype(np.float64), rng)
    size = min(ALGORITHM_2_SIZE, len(plain))
    drawn = error_interval(plain, method="sampling", seed=rng, samples=ALGORITHM_2_DRAWS, bin_size=size)
    found[2] = number(drawn.low), number(drawn.high)
    if own:
        other = error_interval(source, method="bootstrap", seed=rng, samples=BOOTSTRAP_DRAWS)
        found[3] = number(other.low), number(other.high)
    return found


def sun_interval(bins: Bins, level: float) -> tuple[float, float]:
    """Limits of the squared error by Sun, Chaudhari, Barnett and Dobriban (2024).

    The interval is normal for a miscalibrated model, adjusted for what cannot be negative. With T the
    debiased squared error on equal-width bins, s its first-order standard error, z one-sided and z2 two-sided
    quantiles: low is T - z2 s where T >= 2 z2 s, T / 2 where T >= 2 z s, and T - z s (cut at 0) below; high
    is T + z2 s. Where calibration is not rejected 0 belongs to the set, and here all between.

    References
    ----------
    Y. Sun, P. Chaudhari, I. Barnett and E. Dobriban (2024), A confidence interval for the l2 expected
    calibration error. arXiv:2408.08998

    Examples
    --------
    >>> from calibrant.metrics.binning import uniform_bins
    >>> low, high = sun_interval(uniform_bins([0] * 50 + [1] * 50, [0.3] * 100, n_bins=50), 0.95)
    >>> round(low, 4), round(high, 4)
    (0.0046, 0.0767)
    """
    from scipy.special import ndtri

    one_sided, two_sided = float(ndtri(level)), float(ndtri((1 + level) / 2))
    used = bins.n > 0
    count, gap = bins.n[used], bins.residual[used]
    n = float(count.sum())
    second = (bins.positives - 2 * bins.sum_score_positive + bins.sum_score2)[used] / count
    share = count / n
    products = count * gap**2 - second
    products *= np.divide(count, count - 1, out=np.ones_like(count), where=count > 1)
    estimate = max(0.0, float(products.sum()) / n)
    variance = float(np.sum(share * (4 * gap**2 * second - 3 * gap**4)) - np.sum(share * gap**2) ** 2)
    error = math.sqrt(max(0.0, variance) / n)
    if estimate >= 2 * two_sided * error:
        low = estimate - two_sided * error
    elif estimate >= 2 * one_sided * error:
        low = estimate / 2
    else:
        low = max(0.0, estimate - one_sided * error)
    p_value = calibration_test(bins, method="normal").p_value
    if p_value is not None and p_value > 1 - level:
        low = 0.0
    return low, estimate + two_sided * error


def resampled_interval(
    label: NDArray[np.bool_], score: Floats, rng: np.random.Generator
) -> tuple[float, float]:
    """Limits of the RMS error by `get_calibration_error_uncertainties` of uncertainty-calibration 0.1.4.

    The package reflects percentiles of the plug-in error of 100 resamples at the plug-in error (a basic
    bootstrap). Bins are 15 of equal mass, or one per distinct score where there are few, computed again in
    each resample. It reads its ``alpha`` in percent though its documentation has 0.1 for 90 %; here the level
    is the nominal one.

    References
    ----------
    A. Kumar, P. Liang and T. Ma (2019), Verified uncertainty calibration, NeurIPS. arXiv:1909.10155

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(2_000)
    >>> low, high = resampled_interval(rng.random(2_000) < q**2, q, rng)
    >>> round(low, 1), round(high, 1)
    (0.2, 0.2)
    """
    order = np.argsort(score, kind="stable")
    score, gap = score[order], (score - label)[order]
    n = len(score)
    plug_in = plug_in_error(score, gap)
    resampled = np.empty(RESAMPLES)
    for draw in range(RESAMPLES):
        chosen = np.repeat(np.arange(n), np.bincount(rng.integers(0, n, n), minlength=n))
        resampled[draw] = plug_in_error(score[chosen], gap[chosen])
    tail = 100 * (1 - LEVEL) / 2
    low, high = 2 * plug_in - np.percentile(resampled, [100 - tail, tail])
    return float(low), float(high)


def plug_in_error(score: Floats, gap: Floats) -> float:
    """Plug-in RMS error of uncertainty-calibration, from scores in ascending order and score minus label.

    Examples
    --------
    >>> plug_in_error(np.array([0.25, 0.25, 0.25, 0.25, 0.25]), np.array([0.25, 0.25, 0.25, 0.25, -0.75]))
    0.05
    """
    n = len(score)
    distinct = np.flatnonzero(np.diff(score)) + 1
    if len(distinct) + 1 < _DISCRETE * n:
        cuts = distinct
    else:
        bins = min(KUMAR_BINS, n)
        ranks = np.cumsum([n // bins + (place < n % bins) for place in range(bins - 1)])
        edges = np.unique((score[ranks - 1] + score[ranks]) / 2)
        cuts = np.searchsorted(score, edges, side="right")
    edges_at = np.concatenate([[0], cuts, [n]])
    count = np.diff(edges_at)
    sums = np.diff(np.concatenate([[0.0], np.cumsum(gap)])[edges_at])
    used = count > 0
    return math.sqrt(float(np.sum(sums[used] ** 2 / count[used])) / n)
