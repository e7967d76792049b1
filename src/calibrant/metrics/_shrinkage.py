"""Empirical Bayes: many noisy estimates, each replaced by what to expect of its truth, given all of them.

How the truths are spread is learned from the estimates by maximum likelihood; what is expected of one, given
its estimate and its variance, remains right for those that were picked for their estimates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats

FEWEST = 4  # fewer estimates hardly tell how far the truths lie apart
_ROUNDS = 500
_CELLS = 400
_SHAPES = np.geomspace(0.02, 200, 25)
_MEANS = np.geomspace(1e-3, 1, 25)  # of the largest truth thinkable
_NEAR = np.geomspace(0.75, 1 / 0.75, 13)
_MOST_SKEWED = 1.4
_CERTAIN = 9.0  # standard errors above the largest estimate that no truth exceeds


@dataclass(frozen=True)
class Shrinkage:
    """What the truths are like, and what to expect of each.

    Attributes
    ----------
    mean, spread
        Of the distribution of truths: mean and standard deviation.
    estimate
        (m,) mean of each truth given its estimate.
    """

    mean: float
    spread: float
    estimate: Floats


def shrunken(value: Floats, variance: Floats) -> Shrinkage:
    """Shrink estimates of known variances; truths are a mixture of normal distributions about one mean.

    With one standard deviation this is the classical normal model; several let a few truths lie far out.

    References
    ----------
    .. [1] Stephens (2017). False discovery rates: a new deal. Biostatistics 18, 275-294.

    Examples
    --------
    >>> import numpy as np
    >>> found = shrunken(np.array([0.0, 1.0, 2.0, 9.0]), np.ones(4))
    >>> round(found.mean, 1), found.estimate.round(1).tolist()
    (1.1, [1.0, 1.0, 1.1, 8.9])
    """
    noise = np.maximum(variance, np.finfo(float).tiny)
    mean = float(np.median(value))
    largest = 2 * max(float(np.abs(value - mean).max()), float(noise.min()) ** 0.5)
    smallest = min(largest, float(noise.min()) ** 0.5 / 4)
    steps = int(np.ceil(2 * np.log2(largest / smallest))) + 1
    between = np.concatenate([[0.0], np.geomspace(smallest, largest, min(steps, 60)) ** 2])
    total = noise[:, np.newaxis] + between
    share = np.full(len(between), 1 / len(between))
    part = share
    for _ in range(_ROUNDS):
        log = np.log(np.maximum(share, 1e-300)) - np.log(total) / 2
        log -= (value[:, np.newaxis] - mean) ** 2 / total / 2
        part = np.exp(log - log.max(axis=1, keepdims=True))
        part /= part.sum(axis=1, keepdims=True)
        weight = (part / total).sum(axis=1)
        before, share, mean = share, part.mean(axis=0), float(weight @ value / weight.sum())
        if np.abs(share - before).max() < 1e-6:
            break
    kept = (part * between / total).sum(axis=1)
    return Shrinkage(mean, float(share @ between) ** 0.5, mean + kept * (value - mean))


def shrunken_positive(value: Floats, variance: Floats, slope: Floats, skewness: Floats) -> Shrinkage:
    """Shrink estimates, negative ones too, of truths that are not: these have a gamma distribution.

    The variance of an estimate whose truth is theta is ``variance + slope * theta``; its first part is skewed
    by chance, and large estimates without any truth are then more likely than a normal distribution has it.

    Examples
    --------
    >>> import numpy as np
    >>> value = np.array([-0.001, 0.0, 0.001, 0.009])
    >>> shrunken_positive(value, np.full(4, 1e-6), np.zeros(4), np.zeros(4)).estimate.round(4).tolist()
    [0.0001, 0.0001, 0.0003, 0.0089]
    """
    from scipy.special import gammainc

    reach = _CERTAIN * float(np.sqrt(variance.max()))
    most = max(float(value.max()), 0.0)
    most = min(1.0, most + reach + _CERTAIN * float(np.sqrt(slope.max() * most)))
    # Equal steps of the root: fine near 0, where most truths are.
    edges = np.linspace(0, most**0.5, _CELLS + 1) ** 2
    theta = (edges[1:] + edges[:-1]) / 2
    width2 = np.diff(edges) ** 2 / 12
    total = variance[:, np.newaxis] + slope[:, np.newaxis] * theta + width2
    skewed = np.minimum(skewness, _MOST_SKEWED)[:, np.newaxis] * (variance[:, np.newaxis] / total) ** 1.5
    log = _log_density((value[:, np.newaxis] - theta) / np.sqrt(total), skewed) - np.log(total) / 2
    likelihood = np.exp(log - log.max(axis=1, keepdims=True))
    shape, mean = _SHAPES, _MEANS * most
    best = -np.inf
    for _ in range(2):  # all over, then near the best
        for each in shape:
            cells = np.diff(gammainc(each, edges * each / mean[:, np.newaxis]))
            cells /= np.maximum(cells.sum(axis=1, keepdims=True), 1e-300)
            found = np.log(np.maximum(likelihood @ cells.T, 1e-300)).sum(axis=0)
            place = int(found.argmax())
            if found[place] > best:
                best, mass, chosen = float(found[place]), cells[place], (each, mean[place])
        shape, mean = chosen[0] * _NEAR[::2], chosen[1] * _NEAR
    part = likelihood * mass
    centre = float(mass @ theta)
    spread = float(mass @ (theta - centre) ** 2) ** 0.5
    return Shrinkage(centre, spread, part @ theta / part.sum(axis=1))


def _log_density(z: Floats, skewness: Floats) -> Floats:
    """Of noise with mean 0 and variance 1: gamma, and a little of a normal, so that nothing is impossible."""
    from scipy.special import gammaln

    shape = 4 / np.maximum(skewness, 0.05) ** 2
    point = np.maximum(shape + z * np.sqrt(shape), 1e-300)
    gamma = (shape - 1) * np.log(point) - point - gammaln(shape) + np.log(shape) / 2
    normal = -(z**2) / 2 - np.log(2 * np.pi) / 2
    density: Floats = np.logaddexp(gamma, normal + np.log(0.01))
    return density
