"""The log-likelihood of a logistic regression on one variable, with its derivatives, in one pass."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._kernels.jit import Floats, Integers, by_size, by_size_or

_BLOCK = 4096  # rows summed plainly, so that rounding grows by blocks and not by rows


def log_likelihood_in_arrays(
    x: Floats, weight: Floats, positives: Floats, intercept: float, slope: float, sums: Floats
) -> None:
    """Do what `log_likelihood` does, to the same bit."""
    sums[:] = 0.0
    for start in range(0, len(x), _BLOCK):
        rows = slice(start, start + _BLOCK)
        log_odds = intercept + slope * x[rows]
        size = np.abs(log_odds)
        against = np.array([math.exp(-value) for value in size.tolist()])
        rarer, likelier = against / (1.0 + against), 1.0 / (1.0 + against)
        unlikely = np.where(log_odds > 0.0, weight[rows] - positives[rows], positives[rows])
        loss = np.array([math.log1p(value) for value in against.tolist()])
        residual = positives[rows] - weight[rows] * np.where(log_odds > 0.0, likelier, rarer)
        information = weight[rows] * rarer * likelier
        terms = np.stack(
            [
                -(weight[rows] * loss + unlikely * size),
                residual,
                residual * x[rows],
                information,
                information * x[rows],
                information * x[rows] * x[rows],
            ]
        )
        sums += np.add.accumulate(terms, axis=1)[:, -1]


@by_size_or(log_likelihood_in_arrays)
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


def sums_by_cluster_in_arrays(
    x: Floats,
    weight: Floats,
    positives: Floats,
    cluster: Integers,
    intercept: float,
    slope: float,
    sums: Floats,
) -> None:
    """Do what `sums_by_cluster` does, to the same bit."""
    log_odds = intercept + slope * x
    against = np.array([math.exp(-value) for value in np.abs(log_odds).tolist()])
    rarer, likelier = against / (1.0 + against), 1.0 / (1.0 + against)
    residual = positives - weight * np.where(log_odds > 0.0, likelier, rarer)
    information = weight * rarer * likelier
    terms = (residual, residual * x, information, information * x, information * x * x)
    for column, term in enumerate(terms):
        sums[:, column] = np.bincount(cluster, term, len(sums))


@by_size_or(sums_by_cluster_in_arrays)
def sums_by_cluster(
    x: Floats,
    weight: Floats,
    positives: Floats,
    cluster: Integers,
    intercept: float,
    slope: float,
    sums: Floats,
) -> None:
    """Add the gradient (2) and minus its derivatives (3) of `log_likelihood` to ``sums`` (clusters, 5)."""
    for i in range(len(x)):
        log_odds = intercept + slope * x[i]
        against = math.exp(-abs(log_odds))
        rarer = against / (1.0 + against)
        likelier = 1.0 / (1.0 + against)
        residual = positives[i] - weight[i] * (likelier if log_odds > 0.0 else rarer)
        information = weight[i] * rarer * likelier
        c = cluster[i]
        sums[c, 0] += residual
        sums[c, 1] += residual * x[i]
        sums[c, 2] += information
        sums[c, 3] += information * x[i]
        sums[c, 4] += information * x[i] * x[i]


_TINY = 1e-100
_FULL = 1e-200
_SMALL = 2.0**-10


@by_size
def log_loss_sums(score: NDArray[Any], label: NDArray[np.bool_]) -> tuple[float, int]:
    """Sum of -log(probability of the outcome) over the pairs where it is finite, and the others' number.

    Losses below 2^-10 are summed as the series of -log(1 - d), which keeps their relative
    precision; other probabilities are multiplied up and the logarithm is taken when the product
    nears underflow, some hundreds of pairs later.
    """
    product = 1.0
    small = 0.0
    logs = 0.0
    impossible = 0
    for i in range(len(score)):
        q = np.float64(score[i])
        wrong = 1.0 - q if label[i] else q
        if wrong < _SMALL:
            small += wrong * (
                1.0 + wrong * (1 / 2 + wrong * (1 / 3 + wrong * (1 / 4 + wrong * (1 / 5 + wrong / 6))))
            )
            continue
        right = q if label[i] else 1.0 - q
        if right > _TINY:
            product *= right
            if product < _FULL:
                logs -= math.log(product)
                product = 1.0
        elif right > 0.0:
            logs -= math.log(right)
        else:
            impossible += 1
    return logs - math.log(product) + small, impossible


@by_size
def weighted_log_loss_sums(
    score: NDArray[Any], label: NDArray[np.bool_], weight: Floats
) -> tuple[float, int]:
    """As `log_loss_sums`, each pair times its weight."""
    total = 0.0
    impossible = 0
    for i in range(len(score)):
        q = np.float64(score[i])
        right = q if label[i] else 1.0 - q
        if right > 0.0:
            total -= weight[i] * (math.log(right) if label[i] else math.log1p(-q))
        else:
            impossible += 1
    return total, impossible
