"""Student's t: critical values and tails of tests, and the variance of sums over clusters."""

from __future__ import annotations

import math
from typing import Literal

from calibrant._checks import Floats

Alternative = Literal["two-sided", "greater", "less"]
ALTERNATIVES = ("two-sided", "greater", "less")
FEW_CLUSTERS = 10  # effective ones; below, results carry a warning


def critical_value(level: float, freedom: float, alternative: str) -> float:
    """Quantile of Student's t that a test of this level compares with; NaN without degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    upper = (1 + level) / 2 if alternative == "two-sided" else level
    if math.isinf(freedom):
        return float(ndtri(upper))
    return float(stdtrit(freedom, upper)) if freedom > 0 else math.nan


def tail(t: float | None, freedom: float, alternative: str) -> float | None:
    """p-value of a t statistic."""
    from scipy.special import stdtr

    if t is None:
        return None
    if alternative == "two-sided":
        return 2 * float(stdtr(freedom, -abs(t)))
    return float(stdtr(freedom, -t if alternative == "greater" else t))


def effective_number(size: Floats) -> float:
    """Number of clusters of equal size that give as much information (Kish).

    Examples
    --------
    >>> import numpy as np
    >>> effective_number(np.array([5.0, 5.0])), round(effective_number(np.array([70.0, 10, 10, 10])), 2)
    (2.0, 1.92)
    """
    return float(size.sum() ** 2 / (size @ size))


def few_clusters(size: Floats) -> str | None:
    """A warning that names the effective number of clusters, where it is below 10."""
    number = effective_number(size) if size.any() else 1.0
    if number >= FEW_CLUSTERS:
        return None
    return (
        f"the {len(size)} clusters count as {number:.1f} equal clusters, fewer than {FEW_CLUSTERS}: "
        "intervals depend on a few clusters and may cover less than they state"
    )


def cr2(size: Floats, total: Floats) -> tuple[float, float]:
    """Variance of a sum of residuals over clusters, and its degrees of freedom.

    Parameters
    ----------
    size
        (clusters,) items of each of two clusters or more.
    total
        (clusters,) sum of the residuals of each; their sum is 0.

    Returns
    -------
    variance : float
        CR2 of Bell and McCaffrey (2002), unbiased for independent items.
    freedom : float
        Degrees of freedom by Satterthwaite's approximation; clusters less one, if they have equal size.

    Examples
    --------
    >>> import numpy as np
    >>> variance, freedom = cr2(np.full(4, 5.0), np.array([1.0, -1.0, 2.0, -2.0]))
    >>> round(variance, 3), round(freedom, 3)
    (13.333, 3.0)
    """
    size, total = size[size > 0], total[size > 0]
    n = float(size.sum())
    if len(size) < 2:
        return math.inf, 0.0
    rest = 1 - size / n
    part = size**2 / (n * rest)
    products = float(part.sum() ** 2 - (part**2).sum())
    return float((total**2 / rest).sum()), n**2 / (float(size @ size) + products)
