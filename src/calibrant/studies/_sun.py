"""The interval of Sun, Chaudhari, Barnett & Dobriban (2024), for comparison in the coverage study."""

from __future__ import annotations

import math

import numpy as np

from calibrant.measure._moments import moments
from calibrant.measure._residuals import residuals
from calibrant.results import Bins

BINS = 50  # of equal width, as in the paper's simulations


def interval(bins: Bins, level: float) -> tuple[float, float]:
    """Limits of the squared error: normal for a miscalibrated model, adjusted for what cannot be negative.

    With T the debiased squared error on equal-width bins, s its first-order standard error, z one-sided and
    z2 two-sided quantiles: low is T - z2 s where T >= 2 z2 s, T / 2 where T >= 2 z s, and T - z s (cut at 0)
    below; high is T + z2 s. Where calibration is not rejected 0 belongs to the set, and here all between.

    References
    ----------
    Y. Sun, P. Chaudhari, I. Barnett and E. Dobriban (2024), A confidence interval for the l2 expected
    calibration error. arXiv:2408.08998

    Examples
    --------
    >>> from calibrant.measure.binning import uniform_bins
    >>> low, high = interval(uniform_bins([0] * 50 + [1] * 50, [0.3] * 100, count=50), 0.95)
    >>> round(low, 4), round(high, 4)
    (0.0046, 0.0767)
    """
    from scipy.special import ndtri

    one_sided, two_sided = float(ndtri(level)), float(ndtri((1 + level) / 2))
    n = float(bins.n.sum())
    gap = bins.residual
    second = (bins.positives - 2 * bins.sum_score_positive + bins.sum_score2) / bins.n
    share = bins.n / n
    products = bins.n * gap**2 - second
    products *= np.divide(bins.n, bins.n - 1, out=np.ones_like(bins.n), where=bins.n > 1)
    estimate = max(0.0, float(products.sum()) / n)
    variance = float(np.sum(share * (4 * gap**2 * second - 3 * gap**4)) - np.sum(share * gap**2) ** 2)
    error = math.sqrt(max(0.0, variance) / n)
    if estimate >= 2 * two_sided * error:
        low = estimate - two_sided * error
    elif estimate >= 2 * one_sided * error:
        low = estimate / 2
    else:
        low = max(0.0, estimate - one_sided * error)
    null = moments(residuals(bins))
    if null is not None and null.estimate < one_sided * math.sqrt(null.null_variance):
        low = 0.0
    return low, estimate + two_sided * error
