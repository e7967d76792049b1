"""Variances of regressions with predicted variables, from the contributions of rows, labels and clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.estimation.regression_problems import BLOCK, LINKS, Problem, residuals
from calibrant.exceptions import InputError
from calibrant.metrics.tails import effective_number

SATURATED = 1e-8  # 1 - leverage of a label that alone determines a coefficient


def sums_of(values: Floats, code: Integers, count: int) -> Floats:
    """Return the sums (count, p) of rows (n, p) by code."""
    sums: Floats = np.stack([np.bincount(code, column, minlength=count) for column in values.T], axis=1)
    return sums


@dataclass(frozen=True)
class Leverage:
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
    def of(cls, scaled: Floats, code: Integers, count: int, *, clustered: bool) -> Leverage:
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
            inner = sums_of(self.basis * columns[:, [k]], self.code, self.count)
            result[:, k] += np.einsum(
                "ni,ni->n", self.basis, np.einsum("gij,gj->gi", self.kernel, inner)[self.code]
            )
        return result

    def freedom(self, inverse: NDArray[Any], omega: Floats) -> Floats:
        """Return Satterthwaite's degrees of freedom (k,) of CR2 variances (Bell and McCaffrey 2002).

        ``inverse`` (p, k) is the inverse of the information, times the contrasts of the coefficients.
        Residuals are taken as independent, with variances ``omega`` (n,). The matrix whose moments are needed
        is a diagonal plus one of low rank, so that nothing of size (n, n) is made.
        """
        width = self.basis.shape[1]
        part = self.adjusted(self.scaled) @ inverse
        middle = self.basis.T @ (self.basis * omega[:, None])
        core = np.block([[middle, -np.eye(width)], [-np.eye(width), np.zeros((width, width))]])
        freedom = np.empty(part.shape[1])
        for j in range(part.shape[1]):
            diagonal = np.bincount(self.code, omega * part[:, j] ** 2, minlength=self.count)
            outer = self.basis * part[:, [j]]
            both = [sums_of(one, self.code, self.count) for one in (outer, outer * omega[:, None])]
            low = np.concatenate(both, axis=1)
            inner = core @ (low.T @ low)
            first = diagonal.sum() + np.trace(inner)
            crossed = diagonal @ ((low @ core) * low).sum(axis=1)
            second = diagonal @ diagonal + 2 * crossed + np.trace(inner @ inner)
            freedom[j] = first**2 / second if second > 0 else 1.0
        return np.maximum(1.0, freedom)


@dataclass(frozen=True)
class Parts:
    """Contributions of labels and rows to estimated coefficients, whose variance is that of their sums.

    Attributes
    ----------
    inverse
        (p, p) inverse of the information, by which all contributions are multiplied.
    mixing
        (p, p) matrix that multiplies the moments of the predictions.
    gamma
        (p,) coefficients at which these moments are.
    labeled
        (n, p) contributions of the labeled rows, with the adjustment CR2; None for naive.
    leverage
        Leverages of the labeled rows; None for naive.
    moments
        (clusters, p) sums of the moments of the predictions, with CR2; None without clusters.
    of_rows
        Degrees of freedom (p,) of the variance from all rows.
    factor
        Correction of the squares of all rows for the number of coefficients.
    """

    inverse: NDArray[Any]
    mixing: Floats
    gamma: Floats
    labeled: Floats | None
    leverage: Leverage | None
    moments: Floats | None
    of_rows: Floats
    factor: float = 1.0


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
    parts
        Contributions of labels and rows.
    weight
        (p,) weights of the predictions; None for naive.
    carriers
        Effective number of labels (or clusters) whose errors make up the variance: about a third of all for
        normal errors, and the number of errors if predictions are almost always right.
    """

    coefficients: Floats
    covariance: Floats
    freedom: Floats
    parts: Parts
    weight: Floats | None = None
    carriers: float = math.inf


def sandwich(
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
    of_labels = Leverage.of(
        problem.gold_design * scale[:, None], code, count, clustered=problem.cluster is not None
    )
    if problem.cluster is None and (of_labels.rest < SATURATED).any():
        row = int(of_labels.rest.argmin())
        j = int(np.abs(of_labels.basis[row]).argmax())
        message = f"one label alone determines the coefficient of {problem.names[j]}"
        hint = "leave this term out, merge categories, or label more rows"
        raise InputError(message, hint, code="parameter")
    error = residuals(problem.gold_design, problem.gold_outcome, beta, problem.family)
    predicted = residuals(problem.own_design, problem.own_outcome, gamma, problem.family)
    both = np.stack([error, predicted], axis=1) * (problem.weight / scale)[:, None]
    both = of_labels.adjusted(both) * scale[:, None]
    if tuned:  # by as many weights as there are proxies
        both *= math.sqrt(count / max(1, count - problem.proxies))
    labeled = problem.gold_design * both[:, [0]] - (problem.own_design * both[:, [1]]) @ mixing.T
    moments, of_rows = None, np.full(len(beta), float(len(problem.outcome)))
    if mixing.any() and problem.cluster is not None:
        moments, of_rows = _clustered_moments(problem, gamma)
    parts = Parts(inverse, mixing, gamma, labeled, of_labels, moments, of_rows)
    covariance, freedom = variance_of(problem, parts, np.eye(len(beta)))
    # Squared errors per label: those of the moments, relative to those of errors of size 1.
    size = np.einsum("ij,jk,ik->i", labeled, inverse, labeled)
    unit = np.einsum("ij,jk,ik->i", problem.gold_design, inverse, problem.gold_design)
    square = np.bincount(code, size / np.maximum(unit, 1e-300))
    carriers = effective_number(square) if square.any() else 0.0
    return Fit(beta, covariance, freedom, parts, weight, carriers)


def naive_fit(problem: Problem) -> Fit:
    """Return the coefficients of the predictions with the usual sandwich covariance (HC1, or CR2)."""
    beta, information = problem.naive
    n, width = problem.design.shape
    moments, factor, freedom = None, n / max(1, n - width), np.full(width, max(1.0, n - width))
    if problem.cluster is not None:
        factor = 1.0
        moments, freedom = _clustered_moments(problem, beta)
    parts = Parts(
        np.linalg.inv(information), np.eye(width), beta, None, None, moments, freedom, factor=factor
    )
    covariance, freedom = variance_of(problem, parts, np.eye(width))
    return Fit(beta, covariance, freedom, parts)


def variance_of(
    problem: Problem,
    parts: Parts,
    contrast: Floats,
    of_rows: Floats | None = None,
    of_labels: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Return the covariance (k, k) of k functions of coefficients and rows, and degrees of freedom (k,).

    Parameters
    ----------
    problem, parts
        The regression, and the contributions to its coefficients.
    contrast
        (p, k) derivatives of the functions by the coefficients.
    of_rows, of_labels
        (N, k) and (n, k) contributions of rows and of labeled rows to the functions, besides those through
        the coefficients; None without.
    """
    inner = parts.inverse @ contrast
    through = parts.mixing.T @ inner
    labeled = np.zeros((len(problem.rows), contrast.shape[1]))
    if parts.labeled is not None:
        labeled = parts.labeled @ inner + (0.0 if of_labels is None else of_labels)
    if problem.cluster is None:
        meat, own = _row_products(problem, parts, through, of_rows)
        cross = own.T @ labeled
        alone = labeled.T @ labeled
        meat = meat * parts.factor + cross + cross.T + alone
    else:
        count = int(problem.cluster.max()) + 1
        whole = sums_of(labeled, problem.cluster[problem.rows], count)
        alone = whole.T @ whole
        if parts.moments is not None:
            whole = whole + parts.moments @ through
        if of_rows is not None:
            whole = whole + sums_of(of_rows, problem.cluster, count) * math.sqrt(count / max(1, count - 1))
        meat = whole.T @ whole
    if problem.stratum is not None and problem.cluster is None and parts.labeled is not None:
        pairs = _pairs(problem, labeled)
        if (np.diag(meat - pairs) > 0).all():
            meat = meat - pairs
    if parts.leverage is None:
        return meat, np.full(len(meat), parts.of_rows.min())
    # Satterthwaite's combination of the variances from the labels and from the rows.
    freedom = parts.leverage.freedom(inner, problem.weight / problem.weight.mean())
    variance, own_variance = np.diag(meat), np.diag(alone)
    rest = np.maximum(0, variance - own_variance)
    square = contrast**2
    every = (square.T @ parts.of_rows) / np.maximum(square.sum(axis=0), 1e-300)
    combined = own_variance**2 / freedom + rest**2 / np.maximum(1.0, every)
    freedom = np.maximum(variance, own_variance) ** 2 / np.maximum(combined, 1e-300)
    return meat, np.maximum(1.0, freedom)


def _row_products(
    problem: Problem, parts: Parts, through: Floats, of_rows: Floats | None
) -> tuple[Floats, Floats]:
    """Return the products (k, k) of the contributions of all rows, and those of the labeled rows (n, k)."""
    width, own = through.shape[1], np.zeros((len(problem.rows), through.shape[1]))
    products = np.zeros((width, width))
    if not through.any() and of_rows is None:
        return products, own
    residual = problem.mass(residuals(problem.design, problem.outcome, parts.gamma, problem.family))
    for first in range(0, len(residual), BLOCK):
        block = slice(first, first + BLOCK)
        each = (problem.design[block] * residual[block, None]) @ through
        each = each if of_rows is None else each + of_rows[block]
        products += each.T @ each
    own = (problem.design[problem.rows] * residual[problem.rows, None]) @ through
    return products, own if of_rows is None else own + of_rows[problem.rows]


def _pairs(problem: Problem, labeled: Floats) -> Floats:
    """Return what a fixed number of labels per stratum takes off the variance of independent labels."""
    assert problem.stratum is not None
    pairs = np.zeros((labeled.shape[1], labeled.shape[1]))
    for one in range(int(problem.stratum.max()) + 1):
        inside = problem.stratum == one
        n, chance = int(inside.sum()), float(problem.chance[inside][0])
        total = labeled[inside].sum(axis=0)
        product = np.outer(total, total) - labeled[inside].T @ labeled[inside]
        pairs += (1 - chance) / (n - 1) * product
    return pairs


def _clustered_moments(problem: Problem, gamma: Floats) -> tuple[Floats, Floats]:
    """Return the clusters' sums (clusters, p) of predicted moments with CR2, and degrees of freedom (p,)."""
    assert problem.cluster is not None
    mean, slope = LINKS[problem.family](problem.design @ gamma)
    mass = problem.mass(np.ones(len(mean)))
    scale, count = np.sqrt(mass * np.maximum(slope, 1e-300)), int(problem.cluster.max()) + 1
    scaled = problem.design * scale[:, None]
    leverage = Leverage.of(scaled, problem.cluster, count, clustered=True)
    adjusted = leverage.adjusted((mass * (problem.outcome - mean) / scale)[:, None])
    moments = sums_of(scaled * adjusted, problem.cluster, count)
    inverse = np.linalg.inv(scaled.T @ scaled)
    return moments, leverage.freedom(inverse, mass)
