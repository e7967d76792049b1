"""Regressions with predicted variables, corrected by labels of some rows: estimates and their variance."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError
from calibrant.metrics.tails import NARROW, effective_number

Family = Literal["linear", "logistic", "poisson"]
Method = Literal["recalibrated", "ppi++", "dsl", "labels", "naive"]
METHODS = ("recalibrated", "ppi++", "dsl", "labels", "naive")
STEPS = 60  # of Newton's method; regular problems need fewer than 15
TOLERANCE = 1e-10  # relative size of the last step
FARTHEST = 30.0  # linear predictor from which on a fitted probability is 0 or 1
DEPENDENT = 1e-10  # share of a column's sum of squares that the columns before it do not explain
FEW, FEW_CARRIERS = 10, 8  # effective labels below which results carry a warning
SATURATED = 1e-8  # 1 - leverage of a label that alone determines a coefficient
LARGEST = 100.0  # weight of predictions, which are in other units if it is far from 1
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

    @cached_property
    def weight(self) -> Floats:
        """(n,) number of rows that each labeled row represents."""
        return 1 / self.chance

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
        return solve(self.design, self.outcome, None, self.family, of="predicted")

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


@dataclass(frozen=True)
class Fit:
    """Coefficients with their covariance.

    Attributes
    ----------
    coefficients
        (p,) estimates.
    covariance
        (p, p) their estimated covariance.
    freedom
        (p,) degrees of freedom of each standard error.
    weight
        (p,) weights of the predictions; None for naive.
    carriers
        Effective number of labels (or clusters) whose errors make up the variance: about a third of all for
        normal errors, and the number of errors if predictions are almost always right.
    """

    coefficients: Floats
    covariance: Floats
    freedom: Floats
    weight: Floats | None = None
    carriers: float = math.inf


def solve(
    design: Floats,
    outcome: Floats,
    weight: Floats | None,
    family: Family,
    target: Floats | None = None,
    *,
    of: str = "gold",
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
    message = f"the {family} regression of {of} outcomes has no finite solution: covariates separate them"
    hint = "leave out the covariate that does, merge its categories, or label more rows"
    raise InputError(message, hint, code="parameter")


def _is_flat(slope: Floats, weight: Floats) -> bool:
    return bool((slope[weight > 0] < 1e-9).any())


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
        return _naive(one, *one.naive)
    labels, information = solve(one.gold_design, one.gold_outcome, one.weight, every)
    width = len(one.names)
    if method == "labels":
        return _sandwich(one, labels, labels, information, np.zeros((width, width)), np.zeros(width))
    own, outcome = one.own_design, one.own_outcome
    if method == "recalibrated":
        gamma, naive = one.naive
        weight = _tuned(one, labels, gamma, information, naive)
        # With one weight for all, an outcome exists whose ordinary regression has the same coefficients.
        mixing = weight[0] * np.eye(width)
        if one.covariates_are_predicted:
            mixing = information @ (weight[:, None] * np.linalg.inv(naive))
        target = mixing @ (own.T @ (one.weight * _residuals(own, outcome, gamma, every)))
        beta, information = solve(one.gold_design, one.gold_outcome, one.weight, every, target)
        return _sandwich(one, beta, gamma, information, mixing, weight, tuned=True)
    weight = np.ones(width)
    if method == "ppi++":
        weight[:] = _tuned(one, labels, labels, information, information, shared=True)
    beta, information = _common(one, labels, float(weight[0]))
    mixing = weight[0] * np.eye(width)
    return _sandwich(one, beta, beta, information, mixing, weight, tuned=method == "ppi++")


def _residuals(design: Floats, outcome: Floats, beta: Floats, family: Family) -> Floats:
    residual: Floats = outcome - LINKS[family](design @ beta)[0]
    return residual


def _common(problem: Problem, start: Floats, weight: float) -> tuple[Floats, Floats]:
    """Return the root of the corrected equation, in which one vector of coefficients is everywhere."""
    link, beta = LINKS[problem.family], start
    own_design, own_outcome = problem.own_design, problem.own_outcome
    parts = (
        (problem.design, problem.outcome, np.full(len(problem.outcome), weight)),
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
    design, outcome = problem.design, problem.outcome
    width = design.shape[1]
    of_own = _residuals(problem.own_design, problem.own_outcome, gamma, problem.family)
    own = problem.own_design * of_own[:, None]
    residual = _residuals(design, outcome, gamma, problem.family)
    if problem.cluster is None:
        products = np.zeros((width, width))
        for first in range(0, len(outcome), BLOCK):
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
    residual = _residuals(problem.gold_design, problem.gold_outcome, beta, problem.family)
    gold = (problem.weight[:, None] * problem.gold_design * residual[:, None]) @ inverse
    if problem.cluster is None:
        labeled = own @ inside
        without = np.einsum("ij,jk,ki->i", inside, every, inside) - (labeled**2).sum(axis=0)
        control = (problem.weight[:, None] - 1) * labeled
        squares = (control**2).sum(axis=0) + np.maximum(0, without)
    else:
        count, place = len(every), problem.cluster[problem.rows]
        gold = _sums(gold, place, count)
        control = (_sums(problem.weight[:, None] * own, place, count) - every) @ inside
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


def _sums(values: Floats, code: Integers, count: int) -> Floats:
    sums: Floats = np.stack([np.bincount(code, column, minlength=count) for column in values.T], axis=1)
    return sums


@dataclass(frozen=True)
class _Leverage:
    """Leverages of a weighted regression, by clusters.

    Attributes
    ----------
    scaled
        (n, p) covariates times the roots of the weights.
    basis
        (n, p) orthonormal basis of these columns.
    code, count
        (n,) codes of clusters, or of the rows, and their number.
    kernel
        (clusters, p, p) matrices of CR2's adjustment; None for independent rows.
    """

    scaled: Floats
    basis: Floats
    code: Integers
    count: int
    kernel: Floats | None

    @classmethod
    def of(cls, scaled: Floats, code: Integers, count: int, *, clustered: bool) -> _Leverage:
        """Compute the leverages."""
        gram = scaled.T @ scaled
        basis = np.linalg.solve(np.linalg.cholesky(gram), scaled.T).T
        if not clustered:
            return cls(scaled, basis, code, count, None)
        width = basis.shape[1]
        grams = np.empty((count, width, width))
        for j in range(width):
            for k in range(j + 1):
                grams[:, j, k] = np.bincount(code, basis[:, j] * basis[:, k], minlength=count)
                grams[:, k, j] = grams[:, j, k]
        values, vectors = np.linalg.eigh(grams)
        values = np.clip(values, 0, 1)
        inside = np.maximum(1 - values, SATURATED)
        # A direction that a cluster alone determines has residuals 0, whose adjustment is 0 as well.
        change = np.where(1 - values > SATURATED, 1 / np.sqrt(inside) - 1, -1.0)
        change = np.where(values > 1e-12, change / np.maximum(values, 1e-12), 0.5)
        return cls(scaled, basis, code, count, np.einsum("gij,gj,gkj->gik", vectors, change, vectors))

    @property
    def rest(self) -> Floats:
        """(n,) 1 - leverage of each row."""
        rest: Floats = 1 - (self.basis**2).sum(axis=1)
        return rest

    def adjusted(self, columns: Floats) -> Floats:
        """Return columns (n, k) of scaled residuals with the adjustment CR2, or HC2 without clusters."""
        if self.kernel is None:
            return columns / np.sqrt(self.rest)[:, None]
        result = columns.copy()
        for k in range(columns.shape[1]):
            inner = _sums(self.basis * columns[:, [k]], self.code, self.count)
            result[:, k] += np.einsum(
                "ni,ni->n", self.basis, np.einsum("gij,gj->gi", self.kernel, inner)[self.code]
            )
        return result

    def freedom(self, inverse: NDArray[Any], omega: Floats) -> Floats:
        """Return Satterthwaite's degrees of freedom (p,) of CR2 variances (Bell and McCaffrey 2002).

        Residuals are taken as independent, with variances ``omega`` (n,). The matrix whose moments are needed
        is a diagonal plus one of low rank, so that nothing of size (n, n) is made.
        """
        width = self.basis.shape[1]
        part = self.adjusted(self.scaled) @ inverse
        middle = self.basis.T @ (self.basis * omega[:, None])
        core = np.block([[middle, -np.eye(width)], [-np.eye(width), np.zeros((width, width))]])
        freedom = np.empty(width)
        for j in range(width):
            diagonal = np.bincount(self.code, omega * part[:, j] ** 2, minlength=self.count)
            outer = self.basis * part[:, [j]]
            both = [_sums(one, self.code, self.count) for one in (outer, outer * omega[:, None])]
            low = np.concatenate(both, axis=1)
            inner = core @ (low.T @ low)
            first = diagonal.sum() + np.trace(inner)
            crossed = diagonal @ ((low @ core) * low).sum(axis=1)
            second = diagonal @ diagonal + 2 * crossed + np.trace(inner @ inner)
            freedom[j] = first**2 / second if second > 0 else 1.0
        return np.maximum(1.0, freedom)


def _sandwich(
    problem: Problem,
    beta: Floats,
    gamma: Floats,
    information: Floats,
    mixing: Floats,
    weight: Floats,
    *,
    tuned: bool = False,
) -> Fit:
    """Return coefficients with their sandwich covariance (CR2) and Satterthwaite's degrees of freedom.

    The moments of the predictions are multiplied by the matrix ``mixing`` (p, p).
    """
    inverse = np.linalg.inv(information)
    code, count = problem.units
    slope = LINKS[problem.family](problem.gold_design @ beta)[1]
    scale = np.sqrt(problem.weight * np.maximum(slope, 1e-300))
    of_labels = _Leverage.of(
        problem.gold_design * scale[:, None], code, count, clustered=problem.cluster is not None
    )
    if problem.cluster is None and (of_labels.rest < SATURATED).any():
        row = int(of_labels.rest.argmin())
        j = int(np.abs(of_labels.basis[row]).argmax())
        message = f"one label alone determines the coefficient of {problem.names[j]}"
        hint = "leave this term out, merge categories, or label more rows"
        raise InputError(message, hint, code="parameter")
    error = _residuals(problem.gold_design, problem.gold_outcome, beta, problem.family)
    predicted = _residuals(problem.own_design, problem.own_outcome, gamma, problem.family)
    both = np.stack([error, predicted], axis=1) * (problem.weight / scale)[:, None]
    both = of_labels.adjusted(both) * scale[:, None]
    if tuned:
        both *= math.sqrt(count / max(1, count - 1))
    labeled = problem.gold_design * both[:, [0]] - (problem.own_design * both[:, [1]]) @ mixing.T
    freedom = of_labels.freedom(inverse, problem.weight / problem.weight.mean())
    sums = labeled if problem.cluster is None else _sums(labeled, code, count)
    meat = sums.T @ sums
    alone = np.einsum("ij,jk,ki->i", inverse, meat, inverse)
    of_rows = np.full(len(beta), float(len(problem.outcome)))
    if mixing.any() and problem.cluster is None:
        own, every = _moment_sums(problem, gamma)
        cross = mixing @ own.T @ labeled
        meat = mixing @ every @ mixing.T + cross + cross.T + meat
    elif mixing.any() and problem.cluster is not None:
        moments, of_rows = _clustered_moments(problem, gamma)
        whole = moments @ mixing.T + _sums(labeled, problem.cluster[problem.rows], len(moments))
        meat = whole.T @ whole
    if problem.stratum is not None and problem.cluster is None:
        pairs = np.zeros_like(meat)
        for one in range(int(problem.stratum.max()) + 1):
            inside = problem.stratum == one
            n, chance = int(inside.sum()), float(problem.chance[inside][0])
            total = labeled[inside].sum(axis=0)
            product = np.outer(total, total) - labeled[inside].T @ labeled[inside]
            pairs += (1 - chance) / (n - 1) * product
        if (np.diag(inverse @ (meat - pairs) @ inverse) > 0).all():
            meat = meat - pairs
    covariance = inverse @ meat @ inverse
    # Satterthwaite's combination of the variances from the labels and from the rows.
    variance = np.diag(covariance)
    rest = np.maximum(0, variance - alone)
    freedom = np.maximum(variance, alone) ** 2 / np.maximum(alone**2 / freedom + rest**2 / of_rows, 1e-300)
    # Squared errors per label: those of the moments, relative to those of errors of size 1.
    size = np.einsum("ij,jk,ik->i", labeled, inverse, labeled)
    unit = np.einsum("ij,jk,ik->i", problem.gold_design, inverse, problem.gold_design)
    square = np.bincount(code, size / np.maximum(unit, 1e-300))
    return Fit(beta, covariance, freedom, weight, effective_number(square) if square.any() else 0.0)


def _clustered_moments(problem: Problem, gamma: Floats) -> tuple[Floats, Floats]:
    """Return the clusters' sums (clusters, p) of predicted moments with CR2, and degrees of freedom (p,)."""
    assert problem.cluster is not None
    mean, slope = LINKS[problem.family](problem.design @ gamma)
    scale, count = np.sqrt(np.maximum(slope, 1e-300)), int(problem.cluster.max()) + 1
    scaled = problem.design * scale[:, None]
    leverage = _Leverage.of(scaled, problem.cluster, count, clustered=True)
    adjusted = leverage.adjusted(((problem.outcome - mean) / scale)[:, None])
    moments = _sums(scaled * adjusted, problem.cluster, count)
    inverse = np.linalg.inv(scaled.T @ scaled)
    return moments, leverage.freedom(inverse, np.ones(len(scale)))


def _naive(problem: Problem, beta: Floats, information: Floats) -> Fit:
    """Return the coefficients of the predictions with the usual sandwich covariance (HC1, or CR2)."""
    inverse = np.linalg.inv(information)
    n, width = problem.design.shape
    if problem.cluster is None:
        meat = _moment_sums(problem, beta)[1] * n / max(1, n - width)
        freedom = np.full(width, max(1.0, n - width))
    else:
        moments, freedom = _clustered_moments(problem, beta)
        meat = moments.T @ moments
    return Fit(beta, inverse @ meat @ inverse, freedom)


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
        message = f"{labels} labels are too few for {width} coefficients"
        raise InputError(message, hint, code="parameter")
    if not np.ptp(problem.gold_outcome):
        message = f"all gold outcomes are {problem.gold_outcome[0]:g}"
        raise InputError(message, "label more rows, until outcomes differ", code="parameter")
    count = problem.units[1]
    if problem.cluster is not None and count <= width:
        message = f"the labels are from {count} clusters, too few for {width} coefficients"
        raise InputError(message, hint, code="parameter")
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
    adjusted[problem.rows] += problem.weight * (problem.gold_outcome - own)
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
