"""Smallest difference that a number of items can detect, and the items needed to detect a difference."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from calibrant import _checks
from calibrant.evaluation.results.significance import Detectable
from calibrant.exceptions import InputError
from calibrant.metrics.tails import ALTERNATIVES, Alternative, critical_value

NEVER = "the differences have no variance"
NO_NEED = "the difference is 0"
MOST_PAIRS = 10**9
Power = Callable[[float, int], float]

__all__ = ["minimum_detectable_difference"]


def minimum_detectable_difference(
    standard_deviation: float,
    n: int,
    *,
    difference: float | None = None,
    power: float = 0.8,
    level: float = 0.95,
    alternative: Alternative = "two-sided",
    freedom: float | None = None,
) -> Detectable:
    """Compute the difference that a paired t-test on ``n`` items detects, and the items that one needs.

    Parameters
    ----------
    standard_deviation
        Standard deviation of the items' differences.
    n
        Number of items, two or more.
    difference
        Difference to detect, such as the observed one. None: only the difference that ``n`` items detect.
    power
        Probability that the test detects the difference, in (0, 1).
    level, alternative
        Level and alternative of the test.
    freedom
        Degrees of freedom of the test on ``n`` items; they grow in proportion to the items. None: n - 1.
        Clustered items have fewer.

    Examples
    --------
    >>> detectable = minimum_detectable_difference(0.5, 400, difference=0.02)
    >>> round(detectable.detectable, 3), detectable.needed, detectable.more
    (0.07, 4908, 4508)
    """
    _checks.one_of(alternative, ALTERNATIVES, "alternative")
    level, power = _checks.proportion(level, "level"), _checks.proportion(power, "power", such_as=0.8)
    if power <= 1 - level:
        raise InputError(f"power is {power}", f"give more than {1 - level:.3g}", code="parameter")
    deviation = _checks.non_negative(standard_deviation, "standard_deviation")
    if _checks.positive_integer(n, "n") < 2:
        raise InputError("n is 1", "a test needs two items or more", code="parameter")
    if difference is not None:
        difference = _checks.finite(difference, "difference")
    if freedom is not None:
        freedom = _checks.positive(freedom, "freedom")
    reason = None
    share = 1.0 if freedom is None else freedom / (n - 1)

    def power_of(size: float, pairs: int) -> float:
        """Power of a test by the number of pairs and the difference in standard deviations."""
        return _power(size, pairs, share * (pairs - 1), level, alternative)

    effect = _effect(n, power, power_of)
    needed = None
    if difference is not None:
        wrong_side = {"greater": difference <= 0, "less": difference >= 0, "two-sided": difference == 0}
        if wrong_side[alternative]:
            reason = NO_NEED
        elif deviation == 0:
            reason = NEVER
        else:
            needed = _needed(abs(difference) / deviation, power, power_of)
            reason = f"more than {MOST_PAIRS:,} items" if needed is None else None
    return Detectable(
        detectable=effect * deviation,
        difference=difference,
        needed=needed,
        more=None if needed is None else max(0, needed - n),
        n=n,
        standard_deviation=deviation,
        level=level,
        power=power,
        alternative=alternative,
        reason=reason,
    )


def _effect(n: int, power: float, power_of: Power) -> float:
    """Return the difference, in standard deviations, that n pairs detect with that power."""
    from scipy.optimize import brentq

    def lacking(effect: float) -> float:
        return power_of(effect, n) - power

    largest = 1.0
    while lacking(largest) < 0:
        largest *= 2
    return float(brentq(lacking, 0, largest, xtol=1e-10))


def _needed(effect: float, power: float, power_of: Power) -> int | None:
    """Return the smallest number of pairs that detect an effect with that power."""
    low, high = 1, 2
    while power_of(effect, high) < power:
        low, high = high, 2 * high
        if high > MOST_PAIRS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if power_of(effect, middle) >= power else (middle, high)
    return high


def _power(effect: float, n: int, freedom: float, level: float, alternative: str) -> float:
    """Return the power of a test of n pairs for an effect in standard deviations of the differences."""
    from scipy.special import ndtr

    centre = effect * math.sqrt(n)
    critical = critical_value(level, freedom, alternative)
    two = alternative == "two-sided"
    if freedom > 1000 or centre > 30:  # there the noncentral t is normal to four digits
        return float(ndtr(centre - critical) + (ndtr(-centre - critical) if two else 0))
    from scipy.special import nctdtr

    # The far tail is NaN where it is too small to be computed.
    far = float(np.nan_to_num(nctdtr(freedom, centre, -critical))) if two else 0.0
    return 1 - float(nctdtr(freedom, centre, critical)) + far
