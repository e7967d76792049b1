"""Recalibration maps on the log-odds of one event, and on the logits of K classes."""

from __future__ import annotations

import math

import numpy as np

from calibrant._kernels.jit import Floats, Integers, by_size


@by_size
def log_odds_map(score: Floats, a: float, b: float, c: float, clip: float, out: Floats) -> None:
    """Write 1 / (1 + exp(-(a ln q - b ln(1 - q) + c))), with q moved into [clip, 1 - clip]."""
    for i in range(len(score)):
        q = min(max(score[i], clip), 1.0 - clip)
        out[i] = 1.0 / (1.0 + math.exp(b * math.log1p(-q) - a * math.log(q) - c))


@by_size
def softmax_map(logit: Floats, scale: Floats, bias: Floats, out: Floats) -> None:
    """Write the softmax of every row (n, K) of ``scale * logit + bias``."""
    classes = logit.shape[1]
    for i in range(logit.shape[0]):
        largest = -np.inf
        for k in range(classes):
            out[i, k] = scale[k] * logit[i, k] + bias[k]
            largest = max(largest, out[i, k])
        total = 0.0
        for k in range(classes):
            out[i, k] = math.exp(out[i, k] - largest)
            total += out[i, k]
        for k in range(classes):
            out[i, k] /= total


@by_size
def temperature_sums(logit: Floats, label: Integers, weight: Floats, inverse: float, sums: Floats) -> None:
    """Add the negative log-likelihood of softmax(inverse * logit) and its two derivatives to ``sums``."""
    classes = logit.shape[1]
    for i in range(logit.shape[0]):
        largest = -np.inf
        for k in range(classes):
            largest = max(largest, inverse * logit[i, k])
        own = logit[i, label[i]]
        mass = 0.0
        first = 0.0
        second = 0.0
        for k in range(classes):
            part = math.exp(inverse * logit[i, k] - largest)
            gap = logit[i, k] - own
            mass += part
            first += part * gap
            second += part * gap * gap
        mean = first / mass
        w = weight[i]
        sums[0] += w * (math.log(mass) + largest - inverse * own)
        sums[1] += w * mean
        sums[2] += w * (second / mass - mean * mean)


@by_size
def vector_sums(
    logit: Floats, label: Integers, weight: Floats, scale: Floats, bias: Floats, sums: Floats
) -> None:
    """Add the negative log-likelihood of softmax(scale * logit + bias) and its 2K derivatives to ``sums``.

    ``sums`` is (1 + 2K,): the value, the derivatives by scale, the derivatives by bias.
    """
    classes = logit.shape[1]
    part = np.empty(classes)
    for i in range(logit.shape[0]):
        largest = -np.inf
        for k in range(classes):
            part[k] = scale[k] * logit[i, k] + bias[k]
            largest = max(largest, part[k])
        y = label[i]
        own = part[y]
        mass = 0.0
        for k in range(classes):
            part[k] = math.exp(part[k] - largest)
            mass += part[k]
        w = weight[i]
        sums[0] += w * (math.log(mass) + largest - own)
        for k in range(classes):
            residual = w * (part[k] / mass - (1.0 if k == y else 0.0))
            sums[1 + k] += residual * logit[i, k]
            sums[1 + classes + k] += residual


@by_size
def softmax_residuals(part: Floats, label: Integers, weight: Floats) -> float:
    """Return the negative log-likelihood of the softmax of the rows, which become its derivatives."""
    classes = part.shape[1]
    total = 0.0
    for i in range(part.shape[0]):
        y, w = label[i], weight[i]
        own = part[i, y]
        largest = -np.inf
        for k in range(classes):
            largest = max(largest, part[i, k])
        mass = 0.0
        for k in range(classes):
            part[i, k] = math.exp(part[i, k] - largest)
            mass += part[i, k]
        total += w * (math.log(mass) + largest - own)
        for k in range(classes):
            part[i, k] = w * (part[i, k] / mass - (1.0 if k == y else 0.0))
    return total


@by_size
def logistic_sums(
    design: Floats, weight: Floats, positives: Floats, beta: Floats, gradient: Floats, information: Floats
) -> float:
    """Return the log-likelihood of a logistic regression; write its gradient, and minus its Hessian.

    Row i has weight ``weight[i]``, of which ``positives[i]`` are events; ``design`` is (n, k). One pass:
    products of such narrow matrices gain nothing from a library's threads and lose much to them.
    """
    columns = len(beta)
    gradient[:] = 0.0
    information[:] = 0.0
    value = 0.0
    for i in range(len(weight)):
        log_odds = 0.0
        for j in range(columns):
            log_odds += design[i, j] * beta[j]
        against = math.exp(-abs(log_odds))  # odds against the likelier outcome
        rarer = against / (1.0 + against)
        likelier = 1.0 / (1.0 + against)
        unlikely = weight[i] - positives[i] if log_odds > 0.0 else positives[i]
        value -= weight[i] * math.log1p(against) + unlikely * abs(log_odds)
        residual = positives[i] - weight[i] * (likelier if log_odds > 0.0 else rarer)
        spread = weight[i] * rarer * likelier
        for j in range(columns):
            gradient[j] += residual * design[i, j]
            for k in range(columns):
                information[j, k] += spread * design[i, j] * design[i, k]
    return value
