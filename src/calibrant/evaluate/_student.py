"""Student's t: critical values and tails of one- and two-sided tests."""

from __future__ import annotations

import math
from typing import Literal

Alternative = Literal["two-sided", "greater", "less"]
ALTERNATIVES = ("two-sided", "greater", "less")


def critical_value(level: float, freedom: int, alternative: str) -> float:
    """Quantile of Student's t that a test of this level compares with; NaN without degrees of freedom."""
    from scipy.special import stdtrit

    upper = (1 + level) / 2 if alternative == "two-sided" else level
    return float(stdtrit(freedom, upper)) if freedom > 0 else math.nan


def tail(t: float | None, freedom: int, alternative: str) -> float | None:
    """p-value of a t statistic."""
    from scipy.special import stdtr

    if t is None:
        return None
    if alternative == "two-sided":
        return 2 * float(stdtr(freedom, -abs(t)))
    return float(stdtr(freedom, -t if alternative == "greater" else t))
