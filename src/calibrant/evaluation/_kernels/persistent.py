"""Likelihoods of a change of the mean in a series of days whose errors persist, with outliers.

The observation of a day is its error in log-odds, with an information x. The model is ``mean + a + noise``:
the noise has variance ``spread / x``, and ``a`` is a stationary AR(1) process with standard deviation
``effect`` and correlation ``memory`` between adjacent days. A fraction of the days are outliers: a Cauchy
error of any size is added for one day. Under the null the mean is constant: 0, or unknown. Under the
alternative it changes by a normal amount at one observation.

A Kalman filter predicts each observation. The posterior after it is a mixture (the day is an outlier or not),
of which the filter keeps mean and variance, so a likelihood is a product of predictive densities.
"""

from __future__ import annotations

import math

from calibrant._kernels.jit import Floats, jit

RENEWED_FROM = 64.0  # the k-th place of a change has probability 64 / ((64 + k) (65 + k))
LARGEST_LOG = 600.0  # larger evidence is cut, far beyond any threshold
OUTLIERS = 0.03  # fraction of days
WIDTH = 2.0  # of the Cauchy distribution of an outlier's error, in log-odds
HOPELESS = 12.0  # log likelihood below that of the null from which a change is no longer followed
ROOT = math.sqrt(2 * math.pi)


@jit
def observe(
    observed: float,
    information: float,
    gap: int,
    model: Floats,
    size: Floats,
    null: Floats,
    changed: Floats,
    places: int,
    watched: bool,
) -> tuple[float, float]:
    """Return the log e-value after one more observation, and the change with the largest evidence.

    ``model`` is (models, 3): spread, effect, memory. ``null`` is (models, 10) and ``changed`` is (models,
    places, sizes, 10): the filter's means of error, mean and change, the six covariances of these, and the
    log likelihood. A change may begin at each observation that is ``watched``: the last place then is new.
    The e-value is the mean over all models of the likelihoods with a change, over the largest likelihood of
    the null: at most the ratio at the true model, which is a martingale.
    """
    top = -math.inf
    for m in range(len(model)):
        spread, effect, memory = model[m]
        decay = memory**gap
        noise = spread / information
        for s in range(len(size)):
            if watched:
                changed[m, places - 1, s] = null[m]
                changed[m, places - 1, s, 8] = size[s] ** 2
            for j in range(places):
                if changed[m, j, s, 9] > -math.inf:
                    _filter(changed[m, j, s], observed, noise, decay, effect, 1.0)
        _filter(null[m], observed, noise, decay, effect, 0.0)
        top = max(top, null[m, 9])
    average, best, leading = 0.0, 0.0, 0.0
    for m in range(len(model)):
        rest = 1.0
        for j in range(places):
            weight = RENEWED_FROM / ((RENEWED_FROM + j) * (RENEWED_FROM + j + 1.0))
            rest -= weight
            for s in range(len(size)):
                ratio = changed[m, j, s, 9] - top
                if ratio < -HOPELESS:
                    changed[m, j, s, 9] = -math.inf
                    continue
                gained = weight * math.exp(min(ratio, LARGEST_LOG)) / (len(size) * len(model))
                average += gained
                if gained > best:
                    best, leading = gained, changed[m, j, s, 2]
        average += rest * math.exp(null[m, 9] - top) / len(model)
    return math.log(average), leading


@jit
def _filter(
    state: Floats, observed: float, noise: float, decay: float, effect: float, present: float
) -> None:
    """Predict an observation with a filter, and update it; the change is ``present`` (1) or not yet (0)."""
    state[0] *= decay
    state[3] = effect**2 + decay**2 * (state[3] - effect**2)
    state[4] *= decay
    state[5] *= decay
    of_error = state[3] + state[4] + present * state[5]
    of_mean = state[4] + state[6] + present * state[7]
    of_change = state[5] + state[7] + present * state[8]
    total = of_error + of_mean + present * of_change + noise
    surprise = observed - state[0] - state[1] - present * state[2]
    usual = (1.0 - OUTLIERS) * math.exp(-0.5 * surprise**2 / total) / (ROOT * math.sqrt(total))
    density = usual + OUTLIERS * WIDTH / (math.pi * (WIDTH**2 + surprise**2))
    state[9] += math.log(density)
    likely = usual / density  # that the day is no outlier
    gain = likely * surprise / total
    state[0] += gain * of_error
    state[1] += gain * of_mean
    state[2] += gain * of_change
    shrinkage = likely * ((1.0 - likely) * surprise**2 / total - 1.0) / total
    state[3] += shrinkage * of_error**2
    state[4] += shrinkage * of_error * of_mean
    state[5] += shrinkage * of_error * of_change
    state[6] += shrinkage * of_mean**2
    state[7] += shrinkage * of_mean * of_change
    state[8] += shrinkage * of_change**2
