"""Quantiles and tails of the distributions that intervals and tests use."""

from __future__ import annotations

import math

from calibrant.measure._moments import FEW_CLUSTERS


def quantile(level: float, clusters: int = 0) -> float:
    """Two-sided normal quantile; of Student's t (clusters - 1 degrees of freedom) below 30 clusters.

    Examples
    --------
    >>> round(quantile(0.95), 2), round(quantile(0.95, clusters=10), 2)
    (1.96, 2.26)
    """
    from scipy.special import ndtri, stdtrit

    upper = (1 + level) / 2
    return float(stdtrit(clusters - 1, upper) if 0 < clusters < FEW_CLUSTERS else ndtri(upper))


def critical_value(level: float, clusters: int) -> float:
    """Two-sided quantile of Student's t with clusters - 1 degrees of freedom; normal without clusters.

    For coefficients with a sandwich variance, where t is the custom however many clusters there are. The
    debiased errors take `quantile`: from 30 clusters on their distribution is nearer to the normal.

    Examples
    --------
    >>> round(critical_value(0.95, 0), 2), round(critical_value(0.95, 10), 2)
    (1.96, 2.26)
    """
    from scipy.special import ndtri, stdtrit

    upper = (1 + level) / 2
    return float(stdtrit(clusters - 1, upper) if clusters else ndtri(upper))


def p_value_of(statistic: float, skewness: float, clusters: int) -> float:
    """Upper tail of a gamma distribution moved and scaled to mean 0, variance 1 and the skewness."""
    from scipy.special import gammaincc, ndtr, ndtri, stdtr

    if skewness < 1e-3:
        tail = float(ndtr(-statistic))
    else:
        shape = 4 / skewness**2
        tail = float(gammaincc(shape, max(0.0, shape + statistic * math.sqrt(shape))))
    if 0 < clusters < FEW_CLUSTERS:
        tail = float(stdtr(clusters - 1, ndtri(tail)))
    return tail


def two_sided_p_value(statistic: float, clusters: int = 0) -> float:
    """Two-sided p-value of a standard normal statistic; of Student's t below 30 clusters.

    Examples
    --------
    >>> round(two_sided_p_value(1.96), 3)
    0.05
    """
    from scipy.special import ndtr, stdtr

    tail = stdtr(clusters - 1, -abs(statistic)) if 0 < clusters < FEW_CLUSTERS else ndtr(-abs(statistic))
    return 2 * float(tail)
