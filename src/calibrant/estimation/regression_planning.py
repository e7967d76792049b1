"""Compute how many labels a coefficient of a regression needs, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from calibrant._checks import Floats
from calibrant.estimation.regression import fit
from calibrant.estimation.regression_problems import Problem
from calibrant.estimation.regression_variance import Fit
from calibrant.metrics.tails import critical_value

FEWEST = 20  # labels


@dataclass(frozen=True)
class CoefficientPilot:
    """Variances per row of one coefficient, from a pilot.

    Attributes
    ----------
    documents
        Number of all rows.
    coefficients
        Number of coefficients of the regression.
    whole
        Variance of a row's contribution to the coefficient, if all had labels.
    left
        Variance of what the predictions leave of it.
    """

    documents: int
    coefficients: int
    whole: float
    left: float

    @classmethod
    def of(cls, problem: Problem, term: int) -> CoefficientPilot:
        """Summarize a pilot, whose rows are independent.

        Examples
        --------
        >>> import numpy as np
        >>> rng = np.random.default_rng(0)
        >>> x = np.stack([np.ones(2000), rng.normal(size=2000)], axis=1)
        >>> y, rows = x @ [1, 2] + rng.normal(size=2000), np.arange(100)
        >>> guess = y + 0.5 * rng.normal(size=2000)
        >>> pilot = CoefficientPilot.of(
        ...     Problem("linear", ["1", "x"], x, guess, rows, x[rows], y[rows], np.full(100, 0.05)), 1
        ... )
        >>> round(pilot.whole, 1), round(pilot.left, 1)
        (1.0, 0.1)
        """
        every = _spread(problem, fit(problem, "labels"), term)
        rest = _spread(problem, fit(problem, "recalibrated"), term)
        return cls(len(problem.outcome), len(problem.names), every, min(every, rest))

    def of_labels(self, n: int) -> float:
        """Return the variance of the coefficient from n labels alone."""
        return self.whole / n

    def of_predictions(self, n: int) -> float:
        """Return the variance of the coefficient from n labels and all predictions."""
        return self.whole / self.documents + (1 / n - 1 / self.documents) * self.left

    def labels_for(
        self,
        variance: Callable[[int], float],
        *,
        width: float | None,
        effect: float | None,
        power: float,
        level: float,
    ) -> int | None:
        """Return the smallest number of labels with a narrow enough interval, or with enough power.

        Parameters
        ----------
        variance
            `of_labels` or `of_predictions`.
        width
            Wanted width of the interval; None with an effect.
        effect
            Coefficient that is to be told from 0 with this power.
        power, level
            Power and level of the interval.

        Returns
        -------
        int or None
            None if all rows have to be labeled.
        """

        def enough(n: int) -> bool:
            error = math.sqrt(variance(n))
            critical = critical_value(level, max(1, n - self.coefficients), "two-sided")
            if effect is not None:
                return effect >= (critical + critical_value(2 * power - 1, math.inf, "two-sided")) * error
            assert width is not None
            return 2 * critical * error <= width

        low, high = max(FEWEST, self.coefficients + 2), self.documents - 1
        if high < low or not enough(high):
            return None
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle + 1, high)
        return low


def _spread(problem: Problem, found: Fit, term: int) -> float:
    """Return the mean square of the contributions of labeled rows, times the number of rows."""
    assert found.parts.labeled is not None
    total: Floats = (found.parts.labeled @ found.parts.inverse)[:, term] / problem.weight
    return float(problem.weight @ total**2) * float(problem.weight.sum())
