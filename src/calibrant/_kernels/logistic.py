"""The log-likelihood of a logistic regression on one variable, with its derivatives, in one pass."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import jit

Floats = NDArray[np.float64]

_BLOCK = 4096  # rows summed plainly, so that rounding grows by blocks and not by rows


@jit
def log_likelihood(
    x: Floats, weight: Floats, positives: Floats, intercept: float, slope: float, sums: Floats
) -> None:
    """Write the log-likelihood, its gradient (2) and minus its second derivatives (3) to ``sums``.

    Row i has weight ``weight[i]``, of which ``positives[i]`` are events of log-odds intercept + slope x[i].
    """
    sums[:] = 0.0
    for start in range(0, len(x), _BLOCK):
        value, first, first_x, second, second_x, second_xx = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(start, min(len(x), start + _BLOCK)):
            log_odds = intercept + slope * x[i]
            against = math.exp(-abs(log_odds))  # odds against the likelier outcome
            rarer = against / (1.0 + against)
            likelier = 1.0 / (1.0 + against)
            unlikely = weight[i] - positives[i] if log_odds > 0.0 else positives[i]
            value -= weight[i] * math.log1p(against) + unlikely * abs(log_odds)
            residual = positives[i] - weight[i] * (likelier if log_odds > 0.0 else rarer)
            information = weight[i] * rarer * likelier
            first += residual
            first_x += residual * x[i]
            second += information
            second_x += information * x[i]
            second_xx += information * x[i] * x[i]
        sums[0] += value
        sums[1] += first
        sums[2] += first_x
        sums[3] += second
        sums[4] += second_x
        sums[5] += second_xx
