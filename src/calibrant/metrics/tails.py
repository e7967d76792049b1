"""Quantiles and tails of the distributions that intervals and tests use, and variances over clusters.

With clusters they are those of Student's t with one degree of freedom less than there are (effective)
clusters, however many there are; without clusters those of the normal distribution.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats

SKEWED = 0.35
"""Skewness of a mean from which on its interval has a warning."""
SMALLEST = 5e-324  # a p-value is not 0
FEW_CLUSTERS = 10
NARROW = "intervals may be too narrow"
"""Effective clusters below which results carry a warning."""


def quantile(level: float, clusters: float = 0) -> float:
    """Return the two-sided quantile of Student's t with clusters - 1 degrees of freedom (normal without).

    Examples
    --------
    >>> round(quantile(0.95), 2), round(quantile(0.95, clusters=10), 2)
    (1.96, 2.26)
    """
    return critical_value(level, _freedom(clusters) if clusters else math.inf, "two-sided")


def wilson(p: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
    """Return the ends of Wilson's intervals for frequencies ``p`` of effective numbers ``n``.

    Examples
    --------
    >>> [end.round(3).tolist() for end in wilson(np.array([0.0, 0.5]), np.array([40.0, 40.0]), 0.95)]
    [[0.0, 0.352], [0.088, 0.648]]
    """
    z = quantile(level)
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    # Rounding must not push the frequency of a bin of equal labels out of its interval.
    return np.clip(np.minimum(middle - half, p), 0, 1), np.clip(np.maximum(middle + half, p), 0, 1)


def clopper_pearson(frequency: float, n: float, level: float) -> tuple[float, float]:
    """Return the ends of the exact binomial interval; ``n`` may be an effective number."""
    from calibrant._special import betaincinv

    x, tail = n * frequency, (1 - level) / 2
    low = float(betaincinv(x, n - x + 1, tail)) if x > 0 else 0.0
    high = 1 - float(betaincinv(n - x, x + 1, tail)) if x < n else 1.0
    return low, high


def p_value_of(statistic: float, skewness: float, clusters: float) -> float:
    """Return the upper tail of a gamma distribution with mean 0, variance 1 and the skewness."""
    from calibrant._special import gammaincc, ndtr, ndtri, stdtr

    if skewness < 1e-3:
        tail = float(ndtr(-statistic))
    else:
        shape = 4 / skewness**2
        tail = float(gammaincc(shape, max(0.0, shape + statistic * math.sqrt(shape))))
    if clusters:
        tail = float(stdtr(_freedom(clusters), ndtri(tail)))
    return max(tail, SMALLEST)


def two_sided_p_value(statistic: float, clusters: float = 0) -> float:
    """Return the two-sided p-value of a standard normal statistic; of Student's t with clusters.

    Examples
    --------
    >>> round(two_sided_p_value(1.96), 3)
    0.05
    """
    from calibrant._special import ndtr, stdtr

    tail = stdtr(_freedom(clusters), -abs(statistic)) if clusters else ndtr(-abs(statistic))
    return max(2 * float(tail), SMALLEST)


def _freedom(clusters: float) -> float:
    return max(1.0, clusters - 1)


Alternative = Literal["two-sided", "greater", "less"]
ALTERNATIVES = ("two-sided", "greater", "less")


def critical_value(level: float, freedom: float, alternative: str) -> float:
    """Return the critical value of Student's t at a level; NaN without degrees of freedom."""
    from calibrant._special import ndtri, stdtrit

    upper = (1 + level) / 2 if alternative == "two-sided" else level
    if math.isinf(freedom):
        return float(ndtri(upper))
    return float(stdtrit(freedom, upper)) if freedom > 0 else math.nan


def tail(t: float | None, freedom: float, alternative: str) -> float | None:
    """Return the p-value of a t statistic."""
    from calibrant._special import stdtr

    if t is None:
        return None
    if alternative == "two-sided":
        return max(2 * float(stdtr(freedom, -abs(t))), SMALLEST)
    return max(float(stdtr(freedom, -t if alternative == "greater" else t)), SMALLEST)


def student(
    mean: float, error: float, freedom: float, level: float, skewness: float = 0.0
) -> tuple[float, float]:
    """Return the ends of Student's interval of a mean, further out on the side of its skewness.

    Where Hall's cubic transformation of t puts an end further out, the end is there [1]_: Student's intervals
    of skewed values are too short on that side. The skewness counts up to 0.4, or 0.8 / t: beyond 1 / t, the
    transformation puts ends several times as far out as Student's.

    References
    ----------
    .. [1] Hall (1992). On the removal of skewness by transformation. Journal of the Royal Statistical
       Society B 54, 221-228.

    Examples
    --------
    >>> [[round(end, 2) for end in student(0, 1, 19, 0.95, skewness)] for skewness in (0, 0.2)]
    [[-2.09, 2.09], [-2.09, 2.53]]
    """
    t = critical_value(level, freedom, "two-sided")
    most = 0.8 / max(2.0, t)
    ends, skewness = [-t, t], float(np.clip(skewness, -most, most))
    if abs(skewness) > 1e-6:
        ends += (-3 / skewness * (np.cbrt(1 + skewness * (np.array(ends) - skewness / 6)) - 1)).tolist()
    return mean + error * min(ends), mean + error * max(ends)


def skewness_of(values: NDArray[Any]) -> float:
    """Return the skewness of the sum of independent values with mean 0; 0 if all are 0.

    Examples
    --------
    >>> round(skewness_of(np.array([-1.0, -1, -1, 3])), 3)
    0.577
    """
    most = float(np.abs(values).max())
    if not most:
        return 0.0
    values = values / most  # whose cubes neither overflow nor underflow
    return float((values * values * values).sum() / (values @ values) ** 1.5)


def effective_number(size: NDArray[Any]) -> float:
    """Return the number of clusters of equal size with the same information (Kish).

    Examples
    --------
    >>> effective_number(np.array([5.0, 5.0])), round(effective_number(np.array([70.0, 10, 10, 10])), 2)
    (2.0, 1.92)
    """
    return float(size.sum() ** 2 / (size @ size))


def few_clusters(size: NDArray[Any], unit: str = "cluster") -> str | None:
    """Return a warning with the effective number of clusters (or items) if it is below 10."""
    number = effective_number(size) if size.any() else 1.0
    if number >= FEW_CLUSTERS:
        return None
    return (
        f"the {len(size)} {unit}s count as {number:.1f} equal {unit}s, fewer than {FEW_CLUSTERS}: "
        f"intervals depend on a few {unit}s and may cover less than they state"
    )


def events_of_clusters(
    cluster: NDArray[Any], weight: NDArray[Any], positives: NDArray[Any]
) -> tuple[float, float, float]:
    """Return the effective numbers of clusters: of all, of those with positives, of those with negatives."""
    held = (np.bincount(cluster, total) for total in (weight, positives, weight - positives))
    every, positive, negative = (effective_number(total) if total.any() else 0.0 for total in held)
    return every, positive, negative


def few_events(
    cluster: NDArray[Any] | None, weight: NDArray[Any], positives: NDArray[Any], effect: str = NARROW
) -> str | None:
    """Return a warning of the effect if few clusters contain the events, or the others.

    Shared labels then make intervals too narrow: in simulations with 40 to 200 clusters they covered 81 to
    92 % where the rarer class counted as fewer than 40 clusters and as less than half of all.
    """
    if cluster is None:
        return None
    every, positives_of, negatives_of = events_of_clusters(cluster, weight, positives)
    fewer, name = min((positives_of, "positives"), (negatives_of, "negatives"))
    if fewer >= max(FEW_CLUSTERS, min(40, every / 2)):
        return None
    what = f"the {name} count as those of {fewer:.1f} equal clusters" if fewer else f"there are no {name}"
    return f"{what}, so that {effect}"


def skewed(skewness: float, units: float) -> str | None:
    """Return a warning if a mean of units is so skewed that even `student` may cover too little.

    The skewness of a few units is noise: that of less than 5 / units has no warning.
    """
    return (
        "the values are so skewed for their number that the interval may cover less than it states"
        if abs(skewness) > max(SKEWED, 5 / units)
        else None
    )


def cr2(
    size: NDArray[Any], total: NDArray[Any], items: tuple[float, float] | None = None
) -> tuple[float, float]:
    """Return the variance of a sum of residuals over clusters, and its degrees of freedom.

    Parameters
    ----------
    size
        (clusters,) items of each of two clusters or more, or sum of their weights.
    total
        (clusters,) sum of the residuals of each; their sum is 0.
    items
        Sums of squares of all items' weights, and of their residuals times weights. None: items of a cluster
        are independent.

    Returns
    -------
    variance : float
        CR2 of Bell and McCaffrey (2002), unbiased for items with the correlation within clusters that the
        residuals have (Imbens and Kolesár 2016).
    freedom : float
        Degrees of freedom by Satterthwaite's approximation for this correlation: clusters less one, if they
        have equal size, and fewer if large clusters have most of the variance.

    References
    ----------
    Bell and McCaffrey (2002), "Bias reduction in standard errors for linear regression with multi-stage
    samples", Survey Methodology 28; Imbens and Kolesár (2016), "Robust standard errors in small samples: some
    practical advice", Review of Economics and Statistics 98.

    Examples
    --------
    >>> variance, freedom = cr2(np.full(4, 5.0), np.array([1.0, -1.0, 2.0, -2.0]))
    >>> round(variance, 3), round(freedom, 3)
    (13.333, 3.0)
    >>> size, total = np.array([1.0, 2, 4, 8]), np.array([1.0, -2, 4, -3])
    >>> [[round(value, 1) for value in cr2(size, total, items)] for items in (None, (15, 10))]
    [[46.8, 1.9], [56.1, 1.5]]
    """
    size, total = size[size > 0], total[size > 0]
    if len(size) < 2:
        return math.inf, 0.0
    expected, freedom = satterthwaite(size, total, items)
    return float((total**2 / (1 - size / size.sum())).sum()) / expected, freedom


def satterthwaite(
    size: NDArray[Any], total: NDArray[Any], items: tuple[float, float] | None
) -> tuple[float, float]:
    """Return the expected CR2 of `cr2` over the variance, and its degrees of freedom."""
    n, square = float(size.sum()), float(size @ size)
    part, spread = size / n, size.astype(np.float64)
    if items is not None and items[1] > 0 and square > items[0] * (1 + 1e-9):
        shared = (float(total @ total) - items[1]) / items[1] * items[0] / (square - items[0])
        shared = min(1.0, max(0.0, shared))  # the correlation within clusters
        spread = (1 - shared) * items[0] / n * size + shared * size**2
    weight, variance = 1 / (1 - part), float(spread.sum())
    own = spread - 2 * part * spread + part**2 * variance  # expected squares of totals
    parts, spreads, both = (float(weight @ product) for product in (part**2, spread**2, part * spread))
    squares = float(weight**2 @ (spread * (2 * own - spread)))
    squares += 2 * parts * spreads + (variance * parts - 2 * both) ** 2 - 2 * both**2
    expected = float(weight @ own)
    return expected / variance, expected**2 / squares
