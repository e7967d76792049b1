"""Logistic regression on several columns, with coefficients that may be kept from being negative."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats

_MOST_STEPS = 200
_ROUNDING = 1e-12  # by how much, relatively, a log-likelihood may fall without meaning it


class LogisticFit(NamedTuple):
    """Coefficients, the Newton steps they took, and whether the last one was next to nothing."""

    coefficients: Floats
    steps: int
    converged: bool


def fit(
    design: Floats,
    weight: Floats,
    positives: Floats,
    offset: Floats | float = 0.0,
    *,
    nonnegative: NDArray[np.bool_] | None = None,
) -> LogisticFit:
    """Maximum likelihood coefficients of a logistic regression on rows, by Newton's method.

    Steps that would lower the likelihood are halved; it is concave, so that this converges from 0
    wherever the estimate exists. A coefficient that must not be negative stays at 0 while the likelihood
    falls in its direction, and a step ends where it would become negative (projected Newton).

    Parameters
    ----------
    design
        (n, k) columns.
    weight, positives
        (n,) weight of a row, and the part of it whose label is 1.
    offset
        (n,) added to the log-odds.
    nonnegative
        (k,) which coefficients must not be negative; none if not given.

    References
    ----------
    D. P. Bertsekas (1982), Projected Newton methods for optimization problems with simple constraints,
    SIAM Journal on Control and Optimization 20, 221-246. doi:10.1137/0320018
    """
    bounded = np.zeros(design.shape[1], bool) if nonnegative is None else nonnegative
    low = np.where(bounded, 0.0, -np.inf)
    beta = np.zeros(design.shape[1])
    current = _log_likelihood(weight, positives, design @ beta + offset)
    for step_number in range(1, _MOST_STEPS + 1):
        p = _sigmoid(design @ beta + offset)
        gradient = design.T @ (positives - weight * p)
        free = ~(bounded & (beta <= 0) & (gradient <= 0))
        part = design[:, free]
        step = np.zeros(len(beta))
        step[free] = np.linalg.solve((part * (weight * p * (1 - p))[:, None]).T @ part, gradient[free])
        scale = 1.0
        least = current - _ROUNDING * abs(current)
        while True:
            new = np.maximum(beta + scale * step, low)
            reached = _log_likelihood(weight, positives, design @ new + offset)
            if reached >= least or scale < 1e-8:
                break
            scale /= 2
        moved = float(np.abs(new - beta).max())
        beta, current = new, reached
        if moved <= 1e-12 * (1 + np.abs(beta).max()):
            return LogisticFit(beta, step_number, True)
    return LogisticFit(beta, _MOST_STEPS, False)


def _sigmoid(eta: Floats) -> Floats:
    from scipy.special import expit

    p: Floats = expit(eta)
    return p


def _log_likelihood(weight: Floats, positives: Floats, eta: Floats) -> float:
    """Sum of y eta - w ln(1 + e^eta)."""
    return float(np.dot(positives, eta) - np.dot(weight, np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta)))))
