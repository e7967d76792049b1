"""Regressions with predicted variables, corrected by labels of some rows: estimates and their variance."""

from __future__ import annotations

from typing import Literal

import numpy as np

from calibrant._checks import Floats
from calibrant.estimation.regression_problems import BLOCK, LINKS, STEPS, TOLERANCE, Problem, residuals
from calibrant.estimation.regression_variance import Fit, naive_fit, sandwich, sums_of
from calibrant.exceptions import InputError
from calibrant.metrics.tails import NARROW, effective_number

Method = Literal["recalibrated", "ppi++", "dsl", "labels", "naive"]
METHODS = ("recalibrated", "ppi++", "dsl", "labels", "naive")
DEPENDENT = 1e-10  # share of a column's sum of squares that the columns before it do not explain
FEW, FEW_CARRIERS = 10, 8  # effective labels below which results carry a warning
LARGEST = 100.0  # weight of predictions, which are in other units if it is far from 1


def fit(problem: Problem, method: Method) -> Fit:
    """Fit a regression by one method.

    Parameters
    ----------
    problem
        The regression.
    method
        ``naive``: predictions as if they were gold. ``labels``: labeled rows alone, weighted by 1 / chance.
        ``dsl``: predictions with the correction of design-based supervised learning [1]_. ``ppi++``: the
        same with a tuned weight of the predictions [2]_. ``recalibrated``: predictions enter by their
        residuals from the naive regression, with a tuned weight [3]_ [4]_.

    References
    ----------
    .. [1] Egami, Hinck, Stewart and Wei (2023), "Using imperfect surrogates for downstream inference:
       design-based supervised learning for social science applications of large language models".
    .. [2] Angelopoulos, Duchi and Zrnic (2023), "PPI++: efficient prediction-powered inference".
    .. [3] Ji, Lei and Zrnic (2025), "Predictions as surrogates: revisiting surrogate outcomes in the age of
       AI".
    .. [4] Chen and Chen (2000), "A unified approach to regression analysis under double-sampling designs".
    """
    try:
        return _fit(problem, method)
    except np.linalg.LinAlgError:
        message = f"the {problem.family} regression is singular: covariates nearly separate the outcomes"
        hint = "leave out covariates, or label more rows"
        raise InputError(message, hint, code="parameter") from None


def _fit(one: Problem, method: Method) -> Fit:
    every = one.family
    if method == "naive":
        return naive_fit(one)
    labels, information = one.solve_gold()
    width = len(one.names)
    if method == "labels":
        return sandwich(one, labels, labels, information, np.zeros((width, width)), np.zeros(width))
    own, outcome = one.own_design, one.own_outcome
    if method == "recalibrated":
        gamma, naive = one.naive
        weight = _tuned(one, labels, gamma, information, naive)
        # With one weight for all, an outcome exists whose ordinary regression has the same coefficients.
        mixing = weight[0] * np.eye(width)
        if one.covariates_are_predicted:
            mixing = information @ (weight[:, None] * np.linalg.inv(naive))
        target = mixing @ (own.T @ (one.weight * residuals(own, outcome, gamma, every)))
        beta, information = one.solve_gold(target)
        return sandwich(one, beta, gamma, information, mixing, weight, tuned=True)
    weight = np.ones(width)
    if method == "ppi++":
        weight[:] = _tuned(one, labels, labels, information, information, shared=True)
    beta, information = _common(one, labels, float(weight[0]))
    mixing = weight[0] * np.eye(width)
    return sandwich(one, beta, beta, information, mixing, weight, tuned=method == "ppi++")


def _common(problem: Problem, start: Floats, weight: float) -> tuple[Floats, Floats]:
    """Return the root of the corrected equation, in which one vector of coefficients is everywhere."""
    link, beta = LINKS[problem.family], start
    own_design, own_outcome = problem.own_design, problem.own_outcome
    parts = (
        (problem.design, problem.outcome, problem.mass(np.full(len(problem.outcome), weight))),
        (problem.gold_design, problem.gold_outcome, problem.weight),
        (own_design, own_outcome, -weight * problem.weight),
    )

    def equation(at: Floats) -> tuple[Floats, Floats]:
        score, information = np.zeros(len(at)), np.zeros((len(at), len(at)))
        for design, outcome, weights in parts:
            mean, slope = link(design @ at)
            score += design.T @ (weights * (outcome - mean))
            information += design.T @ (design * (weights * slope)[:, None])
        return score, information

    score, information = equation(beta)
    for _ in range(STEPS):
        if not _is_definite(information):
            break
        step = np.linalg.solve(information, score)
        size = 1.0
        while size > 1e-6:
            after, changed = equation(beta + size * step)
            if float(after @ np.linalg.solve(information, after)) <= float(score @ step):
                break
            size /= 2
        beta, score, information = beta + size * step, after, changed
        if np.abs(step).max() <= TOLERANCE * max(1.0, float(np.abs(beta).max())):
            if not _is_definite(information):
                break
            return beta, information
    message = "the corrected equation has no solution near that of the labels"
    raise InputError(message, "use the method recalibrated, or label more rows", code="parameter")


def _is_definite(information: Floats) -> bool:
    """Return True if a matrix is positive definite by far more than rounding errors."""
    if not np.isfinite(information).all():
        return False
    values = np.linalg.eigvalsh(information)
    return bool(values[0] > DEPENDENT * values[-1])


def _moment_sums(problem: Problem, gamma: Floats) -> tuple[Floats, Floats]:
    """Return the predicted moments of labeled rows (n, p), and the sum of products of all rows' (p, p).

    With clusters, the second are the sums of each cluster, (clusters, p).
    """
    design, width = problem.design, problem.design.shape[1]
    of_own = residuals(problem.own_design, problem.own_outcome, gamma, problem.family)
    own = problem.own_design * of_own[:, None]
    residual = problem.mass(residuals(design, problem.outcome, gamma, problem.family))
    if problem.cluster is None:
        products = np.zeros((width, width))
        for first in range(0, len(residual), BLOCK):
            moment = design[first : first + BLOCK] * residual[first : first + BLOCK, None]
            products += moment.T @ moment
        return own, products
    count = int(problem.cluster.max()) + 1
    sums = [np.bincount(problem.cluster, design[:, j] * residual, minlength=count) for j in range(width)]
    return own, np.stack(sums, axis=1)


def _tuned(
    problem: Problem,
    beta: Floats,
    gamma: Floats,
    information: Floats,
    naive: Floats,
    *,
    shared: bool = False,
) -> Floats:
    """Return weights (p,) of the predictions that minimize the variances of the coefficients.

    If only the outcome is predicted, or if it is `shared`, one weight minimizes the sum of their variances
    relative to those of the labels alone.
    """
    shared = shared or not problem.covariates_are_predicted
    inverse = np.linalg.inv(information)
    inside = inverse if shared else np.linalg.inv(naive)
    own, every = _moment_sums(problem, gamma)
    residual = residuals(problem.gold_design, problem.gold_outcome, beta, problem.family)
    gold = (problem.weight[:, None] * problem.gold_design * residual[:, None]) @ inverse
    if problem.cluster is None:
        labeled = own @ inside
        mass = (problem.weight * problem.chance)[:, None]
        without = np.einsum("ij,jk,ki->i", inside, every, inside) - ((mass * labeled) ** 2).sum(axis=0)
        control = (problem.weight[:, None] - mass) * labeled
        squares = (control**2).sum(axis=0) + np.maximum(0, without)
    else:
        count, place = len(every), problem.cluster[problem.rows]
        gold = sums_of(gold, place, count)
        control = (sums_of(problem.weight[:, None] * own, place, count) - every) @ inside
        squares = (control**2).sum(axis=0)
    products, variance = (gold * control).sum(axis=0), (gold**2).sum(axis=0)
    if shared:
        known = (variance > 0) & (squares > 0)
        products[:] = (products[known] / variance[known]).sum()
        squares[:] = (squares[known] / variance[known]).sum()
    weight = np.zeros(len(squares))
    np.divide(products, squares, out=weight, where=squares > 0)
    clipped: Floats = np.clip(weight, 0, LARGEST)
    return clipped


def check(problem: Problem) -> None:
    """Raise if covariates are collinear, or labels or clusters are too few for the coefficients.

    Raises
    ------
    InputError
        Naming the first covariate that the others determine.
    """
    width, labels = len(problem.names), len(problem.rows)
    hint = "leave out covariates, or label more rows"
    if labels < width + 2:
        message = f"{width} coefficients need at least {width + 2} labels, and there are {labels}"
        raise InputError(message, hint, code="undefined")
    if not np.ptp(problem.gold_outcome):
        message = f"all gold outcomes are {problem.gold_outcome[0]:g}"
        raise InputError(message, "label more rows, until outcomes differ", code="undefined")
    count = problem.units[1]
    if problem.cluster is not None and count <= width:
        message = (
            f"{width} coefficients need labels from at least {width + 1} clusters, and there are {count}"
        )
        raise InputError(message, hint, code="undefined")
    for design, of in ((problem.design, "the rows"), (problem.gold_design, "the labeled rows")):
        gram = design.T @ design
        scale = np.sqrt(np.diag(gram))
        for j in range(width):
            message = f"the term {problem.names[j]} is a linear combination of other terms in {of}"
            if not scale[j]:
                message = f"the term {problem.names[j]} is 0 in all of {of}"
            else:
                before = gram[:j, :j] / np.outer(scale[:j], scale[:j])
                along = gram[:j, j] / (scale[:j] * scale[j])
                if 1 - (along @ np.linalg.solve(before, along) if j else 0.0) > DEPENDENT:
                    continue
            raise InputError(message, "leave it out of the formula", code="parameter")


def adjusted_outcome(problem: Problem, method: Method, naive: Floats, best: Fit) -> Floats:
    """Return the outcome (N,) whose ordinary regression has the corrected coefficients.

    It is a recalibrated prediction, plus the error of this prediction / chance in labeled rows. Only the
    outcome may be predicted.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.stack([np.ones(100), rng.normal(size=100)], axis=1)
    >>> y, rows = x @ [1, 2] + rng.normal(size=100), np.arange(30)
    >>> problem = Problem("linear", ["1", "x"], x, 0.5 * y, rows, x[rows], y[rows], np.full(30, 0.3))
    >>> best = fit(problem, "recalibrated")
    >>> adjusted = adjusted_outcome(problem, "recalibrated", fit(problem, "naive").coefficients, best)
    >>> np.allclose(np.linalg.lstsq(x, adjusted)[0], best.coefficients)
    True
    """
    link, weight = LINKS[problem.family], 0.0 if best.weight is None else best.weight[0]
    start = naive if method == "recalibrated" else best.coefficients

    def recalibrated(design: Floats, outcome: Floats) -> Floats:
        mean = link(design @ best.coefficients)[0]
        moved: Floats = mean + weight * (outcome - link(design @ start)[0])
        return moved

    adjusted = recalibrated(problem.design, problem.outcome)
    own = recalibrated(problem.own_design, problem.own_outcome)
    adjusted[problem.rows] += (problem.gold_outcome - own) / problem.chance
    return adjusted


def few_labels(problem: Problem, best: Fit) -> str | None:
    """Return a warning if few labels have the rarer outcome, or few make up the variance.

    In simulations, 95 % intervals then covered 60 to 93 % (linear), and 75 to 97 % (logistic).
    """
    outcome = problem.gold_outcome
    groups = [outcome > 0] if problem.family == "poisson" else []
    if set(np.unique(outcome).tolist()) == {0.0, 1.0}:
        groups = [outcome == 0, outcome == 1]
    effective = [effective_number(problem.weight[one]) if one.any() else 0.0 for one in groups]
    if effective and min(effective) < FEW:
        what = "outcomes above 0" if problem.family == "poisson" else "labels of the rarer outcome"
        return f"the {what} count as {min(effective):.1f} equal labels, fewer than {FEW}: {NARROW}"
    if best.carriers < FEW_CARRIERS:
        return (
            f"the errors of {best.carriers:.1f} effective labels, fewer than {FEW_CARRIERS}, determine the "
            f"standard errors: {NARROW}"
        )
    return None
