"""Quantiles and tails of the distributions that intervals and tests use.

With clusters they are those of Student's t with one degree of freedom less than there are (effective)
clusters, however many there are; without clusters those of the normal distribution.
"""

from __future__ import annotations

import math

FEW_CLUSTERS = 10
"""Effective clusters below which results carry a warning."""


def quantile(level: float, clusters: float = 0) -> float:
    """Two-sided quantile of Student's t with clusters - 1 degrees of freedom; normal without clusters.

    Examples
    --------
    >>> round(quantile(0.95), 2), round(quantile(0.95, clusters=10), 2)
    (1.96, 2.26)
    """
    from scipy.special import ndtri, stdtrit

    upper = (1 + level) / 2
    return float(stdtrit(_freedom(clusters), upper) if clusters else ndtri(upper))


def p_value_of(statistic: float, skewness: float, clusters: float) -> float:
    """Upper tail of a gamma distribution moved and scaled to mean 0, variance 1 and the skewness."""
    from scipy.special import gammaincc, ndtr, ndtri, stdtr

    if skewness < 1e-3:
        tail = float(ndtr(-statistic))
    else:
        shape = 4 / skewness**2
        tail = float(gammaincc(shape, max(0.0, shape + statistic * math.sqrt(shape))))
    if clusters:
        tail = float(stdtr(_freedom(clusters), ndtri(tail)))
    return tail


def two_sided_p_value(statistic: float, clusters: float = 0) -> float:
    """Two-sided p-value of a standard normal statistic; of Student's t with clusters.

    Examples
    --------
    >>> round(two_sided_p_value(1.96), 3)
    0.05
    """
    from scipy.special import ndtr, stdtr

    tail = stdtr(_freedom(clusters), -abs(statistic)) if clusters else ndtr(-abs(statistic))
    return 2 * float(tail)


def _freedom(clusters: float) -> float:
    return max(1.0, clusters - 1)
