"""Logistic regression on several columns, optionally with non-negative coefficients."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats
from calibrant._kernels import log_odds as kernels
from calibrant.exceptions import InputError

_MOST_STEPS = 200
_ROUNDING = 1e-12  # relative decrease of a log-likelihood that is treated as rounding error


class LogisticFit(NamedTuple):
    """Coefficients, the number of Newton steps, and convergence."""

    coefficients: Floats
    steps: int
    converged: bool


def fit(
    design: Floats,
    weight: Floats,
    positives: Floats,
    *,
    nonnegative: NDArray[np.bool_] | None = None,
) -> LogisticFit:
    """Return maximum likelihood coefficients of a logistic regression on rows, by Newton's method.

    Steps that would decrease the likelihood are halved. The likelihood is concave, so the method converges
    from 0 if the estimate exists. A non-negative coefficient stays at 0 while the likelihood decreases in its
    direction, and a step ends where the coefficient would become negative (projected Newton).

    Parameters
    ----------
    design
        (n, k) columns.
    weight, positives
        (n,) weight of each row, and its weight with label 1.
    nonnegative
        (k,) True for coefficients that must not be negative; by default none.

    References
    ----------
    D. P. Bertsekas (1982), Projected Newton methods for optimization problems with simple constraints,
    SIAM Journal on Control and Optimization 20, 221-246. doi:10.1137/0320018
    """
    columns = design.shape[1]
    bounded = np.zeros(columns, bool) if nonnegative is None else nonnegative
    low = np.where(bounded, 0.0, -np.inf)
    gradient, information = np.empty(columns), np.empty((columns, columns))

    def log_likelihood(beta: Floats) -> float:
        return kernels.logistic_sums(design, weight, positives, beta, gradient, information)

    beta = np.zeros(columns)
    current = log_likelihood(beta)
    for step_number in range(1, _MOST_STEPS + 1):
        free = ~(bounded & (beta <= 0) & (gradient <= 0))
        step = np.zeros(columns)
        try:
            step[free] = np.linalg.solve(information[np.ix_(free, free)], gradient[free])
        except np.linalg.LinAlgError:
            message = "the scores that decide about the slope differ by rounding only"
            raise InputError(message, "use a method with fewer parameters", code="undefined") from None
        least = current - _ROUNDING * abs(current)
        scale = 1.0
        while True:
            new = np.maximum(beta + scale * step, low)
            reached = log_likelihood(new)
            if reached >= least or scale < 1e-8:
                break
            scale /= 2
        moved = float(np.abs(new - beta).max())
        beta, current = new, reached
        if moved <= 1e-12 * (1 + np.abs(beta).max()):
            return LogisticFit(beta, step_number, True)
    return LogisticFit(beta, _MOST_STEPS, False)
