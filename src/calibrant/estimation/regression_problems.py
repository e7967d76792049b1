"""Regressions of which some rows have gold values beside predicted ones, and their score equations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError

Family = Literal["linear", "logistic", "poisson"]
STEPS = 60  # of Newton's method; regular problems need fewer than 15
TOLERANCE = 1e-10  # relative size of the last step
FARTHEST = 30.0  # linear predictor from which on a fitted probability is 0 or 1
BLOCK = 1 << 16  # rows whose moments are in memory at one time


def _logistic(eta: Floats) -> tuple[Floats, Floats]:
    mean = 1 / (1 + np.exp(-np.clip(eta, -700, 700)))
    return mean, mean * (1 - mean)


def _poisson(eta: Floats) -> tuple[Floats, Floats]:
    mean = np.exp(np.minimum(eta, 700))
    return mean, mean


LINKS: dict[str, Callable[[Floats], tuple[Floats, Floats]]] = {
    "linear": lambda eta: (eta, np.ones_like(eta)),
    "logistic": _logistic,
    "poisson": _poisson,
}
"""Mean and its derivative at a linear predictor, by family; all have the canonical link."""


@dataclass(frozen=True)
class Problem:
    """A regression, of which some rows have gold values beside the predicted ones.

    Attributes
    ----------
    family
        Distribution, with its canonical link.
    names
        Names of the p coefficients.
    design, outcome
        (N, p) and (N,) covariates and outcome of all rows, from predictions.
    rows
        (n,) positions of the labeled rows.
    gold_design, gold_outcome
        (n, p) and (n,) covariates and outcome of the labeled rows, from gold values.
    chance
        (n,) probabilities with which these rows were chosen.
    stratum
        (n,) groups of which a fixed number of rows was chosen; None for independent choices.
    cluster
        (N,) codes of clusters; None for independent rows.
    absorbed
        Covariates (n, p) and outcome (n,) of the labeled rows, from predictions, without the fixed effects of
        the labeled rows; the other arrays are without fixed effects, too. None if there are none.
    survey
        (N,) weights of the rows, such as survey weights, whose mean is 1; None if they are equal.
    proxies
        Number of proxies of which the predictions are a weighted mean.
    """

    family: Family
    names: Sequence[str]
    design: Floats
    outcome: Floats
    rows: Integers
    gold_design: Floats
    gold_outcome: Floats
    chance: Floats
    stratum: Integers | None = None
    cluster: Integers | None = None
    absorbed: tuple[Floats, Floats] | None = None
    survey: Floats | None = None
    proxies: int = 1

    @cached_property
    def weight(self) -> Floats:
        """(n,) number of rows that each labeled row represents."""
        return 1 / self.chance if self.survey is None else self.survey[self.rows] / self.chance

    def mass(self, values: Floats) -> Floats:
        """Return values (N,) of all rows times the weights of the rows."""
        return values if self.survey is None else values * self.survey

    def solve_gold(self, target: Floats | None = None) -> tuple[Floats, Floats]:
        """Return coefficients of the labeled rows whose score is ``target``, and the information."""
        own = self.gold_design, self.gold_outcome, self.weight, self.family, target
        return solve(*own, names=self.names)

    @cached_property
    def own_design(self) -> Floats:
        """(n, p) covariates of the labeled rows, from predictions."""
        return self.design[self.rows] if self.absorbed is None else self.absorbed[0]

    @cached_property
    def own_outcome(self) -> Floats:
        """(n,) outcome of the labeled rows, from predictions."""
        return self.outcome[self.rows] if self.absorbed is None else self.absorbed[1]

    @cached_property
    def naive(self) -> tuple[Floats, Floats]:
        """(p,) coefficients of the predictions, and their information (p, p)."""
        return solve(self.design, self.outcome, self.survey, self.family, of="predicted", names=self.names)

    @cached_property
    def covariates_are_predicted(self) -> bool:
        """True if gold covariates of a labeled row differ from the predicted ones."""
        return not np.array_equal(self.own_design, self.gold_design)

    @cached_property
    def units(self) -> tuple[Integers, int]:
        """(n,) codes of the labeled rows' clusters, or of the rows themselves, and their number."""
        if self.cluster is None:
            return np.arange(len(self.rows)), len(self.rows)
        names, code = np.unique(self.cluster[self.rows], return_inverse=True)
        return code, len(names)


def solve(
    design: Floats,
    outcome: Floats,
    weight: Floats | None,
    family: Family,
    target: Floats | None = None,
    *,
    of: str = "gold",
    names: Sequence[str] = (),
) -> tuple[Floats, Floats]:
    """Return coefficients whose weighted score is `target` (0), and the information there.

    The score of a canonical link is the gradient of a concave function; Newton's steps are halved until it
    increases.

    Raises
    ------
    InputError
        If there is no solution: the outcome is separated by the covariates.
    """
    link = LINKS[family]
    width = design.shape[1]
    aim = np.zeros(width) if target is None else target
    beta = np.zeros(width)
    ones = np.ones(len(outcome)) if weight is None else weight
    if family == "poisson":
        constant = np.flatnonzero(np.ptp(design, axis=0) == 0)
        if len(constant) and design[0, constant[0]]:
            level = max(float(ones @ outcome), 1e-300) / float(ones.sum())
            beta[constant[0]] = math.log(level) / design[0, constant[0]]

    def gain(eta: Floats, at: Floats) -> float:
        if family == "linear":
            inside = eta**2 / 2
        else:
            inside = np.logaddexp(0, eta) if family == "logistic" else np.exp(np.minimum(eta, 700))
        return float(ones @ (outcome * eta - inside)) - float(aim @ at)

    eta = design @ beta
    value = gain(eta, beta)
    for _ in range(STEPS):
        mean, slope = link(eta)
        score = design.T @ (ones * (outcome - mean)) - aim
        information = design.T @ (design * (ones * slope)[:, None])
        try:
            step = np.linalg.solve(information, score)
        except np.linalg.LinAlgError:
            break
        if not np.isfinite(step).all():
            break
        size = 1.0
        while size > 1e-8:
            new = design @ (beta + size * step)
            after = gain(new, beta + size * step)
            if after >= value - 1e-12 * abs(value):
                break
            size /= 2
        beta, eta, value = beta + size * step, new, after
        if np.abs(step).max() <= TOLERANCE * max(1.0, float(np.abs(beta).max())):
            mean, slope = link(eta)
            if family != "linear" and float(np.abs(eta).max()) > FARTHEST and _is_flat(slope, ones):
                break
            return beta, design.T @ (design * (ones * slope)[:, None])
    raise _separated(design, outcome, beta, family, of, names)


def _separated(
    design: Floats, outcome: Floats, beta: Floats, family: str, of: str, names: Sequence[str]
) -> InputError:
    """Make the error of covariates that separate the outcomes; it names that with the largest effect."""
    if not np.ptp(outcome):
        message = f"all {of} outcomes are {outcome[0]:g}, so that their {family} regression has no solution"
        return InputError(message, "give outcomes that differ", code="parameter")
    message = f"the {family} regression of {of} outcomes has no finite solution: covariates separate them"
    effect = np.abs(np.nan_to_num(beta)) * design.std(axis=0)
    if len(names) and effect.any():
        message += f", {names[int(effect.argmax())]} above all"
    hint = "leave out the covariate that does, merge its categories, or label more rows"
    return InputError(message, hint, code="parameter")


def _is_flat(slope: Floats, weight: Floats) -> bool:
    return bool((slope[weight > 0] < 1e-9).any())


def residuals(design: Floats, outcome: Floats, beta: Floats, family: Family) -> Floats:
    """Return outcomes minus their means at these coefficients."""
    residual: Floats = outcome - LINKS[family](design @ beta)[0]
    return residual
