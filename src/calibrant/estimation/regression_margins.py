"""Marginal effects and predicted means of regressions with predicted variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from calibrant._checks import Floats
from calibrant.estimation.regression_problems import LINKS, Family, Problem
from calibrant.estimation.regression_variance import Fit, variance_of

ROUNDING = 1e-12  # differences below are of rounding errors


@dataclass(frozen=True)
class Covariates:
    """Covariates that some variables would have at other values.

    Attributes
    ----------
    every
        (N, p) covariates of all rows, from predictions.
    gold
        (n, p) covariates of the labeled rows, from gold values.
    """

    every: Floats
    gold: Floats


@dataclass(frozen=True)
class Margin:
    """A mean over all rows, or a difference of two, divided by a distance.

    Attributes
    ----------
    at
        Covariates at which the outcome is predicted.
    against
        Covariates of the mean that is subtracted; None for a mean.
    distance
        Number that the difference is divided by.
    """

    at: Covariates
    against: Covariates | None = None
    distance: float = 1.0


class Estimate(NamedTuple):
    """A margin with its standard error and degrees of freedom."""

    value: float
    error: float
    freedom: float


def margin(problem: Problem, best: Fit, wanted: Margin, method: str) -> Estimate:
    """Return a marginal effect or a predicted mean, averaged over all rows, by the delta method.

    The variance is that of the sum of all contributions: those of labels and rows to the coefficients, times
    the derivatives of the mean, and those of the covariates of the rows, over which the mean is taken. With
    clusters, contributions are added within each.

    If covariates are predicted, the mean over all rows is corrected by the labeled rows, in which both are
    known (the difference estimator, with a tuned weight). The method ``labels`` then uses the labeled rows
    alone, and ``naive`` the predictions alone.

    Parameters
    ----------
    problem, best
        The regression, and its fit by this method.
    wanted
        The margin to estimate.
    method
        Method of the fit.

    Examples
    --------
    >>> from calibrant.estimation.regression import fit
    >>> rng = np.random.default_rng(0)
    >>> x = np.stack([np.ones(400), rng.normal(size=400)], axis=1)
    >>> y, rows = 1.0 * (rng.random(400) < 0.5), np.arange(100)
    >>> problem = Problem("logistic", ["1", "x"], x, y, rows, x[rows], y[rows], np.full(100, 0.25))
    >>> found = margin(problem, fit(problem, "labels"), Margin(Covariates(x, x[rows])), "labels")
    >>> round(found.value, 3), round(found.error, 3)
    (0.404, 0.05)
    """
    family, beta = problem.family, best.coefficients
    value, slope = _of_rows(family, beta, wanted, gold=False)
    value_gold, slope_gold = _of_rows(family, beta, wanted, gold=True)
    rows, count = problem.rows, len(problem.outcome)
    mass = np.full(count, 1 / count) if problem.survey is None else problem.survey / problem.survey.sum()
    whole = float(mass @ value)
    same = np.abs(value[rows] - value_gold).max() <= ROUNDING * max(1.0, float(np.abs(value_gold).max()))
    same = same and np.allclose(slope[rows], slope_gold, rtol=1e-9, atol=ROUNDING)
    if same or method == "naive":
        covariance, freedom = variance_of(
            problem, best.parts, (slope.T @ mass)[:, None], (mass * (value - whole))[:, None]
        )
        return Estimate(whole, float(np.sqrt(max(0.0, covariance[0, 0]))), float(freedom[0]))
    part = problem.weight / problem.weight.sum()
    weight = 0.0 if method == "labels" else _tuned(part, value_gold, value[rows])
    left = value_gold - weight * value[rows]
    middle = float(part @ left)
    gradient = weight * (slope.T @ mass) + part @ (slope_gold - weight * slope[rows])
    n = problem.units[1]
    of_labels = part * (left - middle) * np.sqrt(n / max(1, n - 2))
    of_rows = None if weight == 0 else (weight * mass * (value - whole))[:, None]
    covariance, freedom = variance_of(problem, best.parts, gradient[:, None], of_rows, of_labels[:, None])
    error = float(np.sqrt(max(0.0, covariance[0, 0])))
    return Estimate(weight * whole + middle, error, float(freedom[0]))


def _tuned(part: Floats, gold: Floats, guess: Floats) -> float:
    """Return the slope of gold values on those of predictions, from 0 to 1."""
    centered = guess - part @ guess
    spread = float(part @ centered**2)
    if spread <= ROUNDING:
        return 0.0
    return float(np.clip(part @ (gold * centered) / spread, 0, 1))


def _of_rows(family: Family, beta: Floats, wanted: Margin, *, gold: bool) -> tuple[Floats, Floats]:
    """Return the value of each row, and its derivatives by the coefficients."""
    design = wanted.at.gold if gold else wanted.at.every
    mean, slope = LINKS[family](design @ beta)
    derivatives: Floats = design * slope[:, None]
    if wanted.against is not None:
        other = wanted.against.gold if gold else wanted.against.every
        before, slope = LINKS[family](other @ beta)
        mean = mean - before
        derivatives = derivatives - other * slope[:, None]
    return mean / wanted.distance, derivatives / wanted.distance
