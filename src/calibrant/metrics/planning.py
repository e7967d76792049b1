"""Compute the number of labeled pairs that detect a calibration error, or a difference of two errors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import is_list, non_negative, positive, positive_integer, proportion, shown
from calibrant._checks import scores as checked_scores
from calibrant.exceptions import InputError
from calibrant.metrics.residuals import estimator_bin_size
from calibrant.metrics.tails import quantile
from calibrant.results.intervals import LabelPlan

SMALLEST = 40
LARGEST = 10**9
USUAL_ERROR = 0.05
WHY_FEWER = (
    "labels grow by less than the design effect: the squared error is estimated from pairs of different "
    "clusters, so that clusters hardly add to the noise of a calibrated model"
)


def labels_needed(
    *,
    error: float | None = None,
    difference: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    scores: ArrayLike | None = None,
    beta: tuple[float, float] = (1.0, 1.0),
    cluster_size: int = 1,
    label_correlation: float = 0.0,
) -> LabelPlan:
    """Return the smallest number of labels with which the interval excludes 0 with the required power.

    Uses the large-sample variance of the debiased squared error that the intervals use; checked by
    simulation in the tests.

    With clusters, labels grow by less than the design effect, and for a small error by little: the squared
    error is estimated from products of residuals of different clusters at like scores, so that the noise
    of a calibrated model hardly grows. The design effect multiplies only the noise that comes with
    the error itself, whose share grows with the error.

    Parameters
    ----------
    error
        RMS calibration error to detect: the interval should exclude 0. With ``difference``, the
        error of the worse model (0.05 if not given).
    difference
        Difference of two models' RMS errors on the same items to be seen: the interval of the difference
        of squared errors should exclude 0.
    power
        Wanted probability of that.
    level
        Level of the interval.
    scores
        (n,) scores of a pilot; their labels are not needed.
    beta
        Parameters (a, b) of the Beta distribution that scores are assumed to have, without a pilot.
    cluster_size
        Number of pairs per cluster (sentence, document); 1 for independent pairs.
    label_correlation
        Correlation of two labels of one cluster, given their scores.

    Returns
    -------
    LabelPlan
        Labels, clusters, and every assumption in a sentence.

    Raises
    ------
    InputError
        If neither or impossible goals are given.

    Examples
    --------
    >>> plan = labels_needed(error=0.05, beta=(2, 2))
    >>> 5000 < plan.labels < 8000
    True
    >>> labels_needed(error=0.05, beta=(2, 2), cluster_size=20, label_correlation=0.3).labels > plan.labels
    True
    """
    proportion(power, "power")
    z = quantile(proportion(level, "level"))
    positive_integer(cluster_size, "cluster_size")
    if non_negative(label_correlation, "label_correlation") > 1:
        raise InputError(
            f"label_correlation is {label_correlation}", "give a number from 0 to 1", code="parameter"
        )
    if error is None and difference is None:
        raise InputError(
            "neither an error nor a difference is given", "give error, difference or both", code="parameter"
        )
    worse = _goal(USUAL_ERROR if error is None else error, "error")
    if difference is not None and not _goal(difference, "difference") <= worse:
        raise InputError(
            f"difference is {difference}, more than the worse model's error {worse}",
            "give a larger error",
            code="parameter",
        )
    variance, variance2 = _label_variance(scores, beta)
    effect = 1 + (cluster_size - 1) * label_correlation
    extra = ((effect - 1) * variance) ** 2

    def null_variance(n: float) -> float:
        return 2 * variance2 / (n * (estimator_bin_size(n) - 1)) + 2 * extra / n**2

    def of_error(n: float) -> float:
        theta = worse**2
        spread = math.sqrt(null_variance(n) + 4 * variance * effect * theta / n)
        return (theta - z * math.sqrt(null_variance(n))) / spread

    def of_difference(n: float) -> float:
        better = worse - (difference or 0.0)
        linear = 4 * variance * effect * (worse**2 + better**2) / n
        return (worse**2 - better**2) / math.sqrt(2 * null_variance(n) + linear) - z

    labels = _smallest(of_error if difference is None else of_difference, power, cluster_size)
    return LabelPlan(
        goal="error" if difference is None else "difference",
        labels=labels,
        clusters=labels // cluster_size if labels is not None and cluster_size > 1 else None,
        power=power,
        level=level,
        error=worse,
        difference=difference,
        cluster_size=cluster_size,
        label_correlation=label_correlation,
        mean_variance=variance,
        design_effect=effect,
        assumptions=_assumptions(scores, beta, difference, worse, cluster_size),
        reason=None if labels is not None else f"more than {LARGEST:,} labels would be needed",
    )


def _goal(value: float, name: str) -> float:
    """Return an error strictly between 0 and 1, or raise."""
    try:
        return proportion(value, name)
    except InputError as error:
        hint = "give a number between 0 and 1, such as 0.02"
        raise InputError(error.message, hint, code=error.code) from None


def _label_variance(scores: ArrayLike | None, beta: tuple[float, float]) -> tuple[float, float]:
    """E[q (1 - q)] and E[(q (1 - q))^2], of the pilot or of a Beta distribution."""
    if scores is not None:
        pilot = checked_scores(scores, "scores").astype(np.float64)
        one = pilot * (1 - pilot)
        variance, variance2 = float(np.mean(one)), float(np.mean(one**2))
        if variance == 0:
            raise InputError("all pilot scores are 0 or 1", "give scores that vary", code="parameter")
        return variance, variance2
    if not is_list(beta) or len(beta) != 2:
        raise InputError(f"beta is {shown(beta)}", "give two positive numbers", code="parameter")
    a, b = (positive(value, "beta") for value in beta)
    total = a + b
    variance = a * b / (total * (total + 1))
    return variance, variance * (a + 1) * (b + 1) / ((total + 2) * (total + 3))


def _smallest(score_of: Callable[[float], float], power: float, cluster_size: int) -> int | None:
    """Return the smallest multiple of the cluster size whose standardized margin reaches the power's."""
    from calibrant._special import ndtri

    wanted = float(ndtri(power))
    low = 1
    high = max(1, math.ceil(SMALLEST / cluster_size))
    if score_of(high * cluster_size) >= wanted:
        return high * cluster_size
    while score_of(high * cluster_size) < wanted:
        low, high = high, 2 * high
        if high * cluster_size > LARGEST:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if score_of(middle * cluster_size) >= wanted else (middle, high)
    return high * cluster_size


def _assumptions(
    scores: ArrayLike | None,
    beta: tuple[float, float],
    difference: float | None,
    worse: float,
    cluster_size: int,
) -> tuple[str, ...]:
    source = "like those of the pilot" if scores is not None else f"from Beta({beta[0]:g}, {beta[1]:g})"
    found = [
        f"scores are {source}",
        "the error has the same size at all scores",
        "labels vary as the scores say: with variance q (1 - q)",
    ]
    if difference is not None:
        found += [
            f"the worse model's RMS error is {worse:g}",
            "the two models' deviations are not correlated (similar models' are, and need fewer labels)",
        ]
    if cluster_size > 1:
        found.append("scores of one cluster are as different as those of different clusters")
        found.append(WHY_FEWER)
    else:
        found.append("pairs are independent")
    return tuple(found)
