"""Likelihoods of a change of the mean in a series of days whose errors persist.

The observation of a day is its error in log-odds, with an information x. The model is ``mean + a + noise``:
the noise has variance ``spread / x``, and ``a`` is a stationary AR(1) process with standard deviation
``effect`` and correlation ``memory`` between adjacent days. Under the null the mean is constant: 0, or
unknown (a flat prior, as in REML). Under the alternative it changes by a normal amount at one observation.
"""

from __future__ import annotations

import math

from calibrant._kernels.jit import Floats, jit

RENEWED_FROM = 16.0  # the k-th place of a change has probability 16 / ((16 + k) (17 + k))
LARGEST_LOG = 600.0  # larger evidence is cut, far beyond any threshold


@jit
def observe(
    observed: float,
    information: float,
    gap: int,
    centred: bool,
    model: Floats,
    size: Floats,
    state: Floats,
    start: Floats,
    starts: int,
) -> tuple[float, float]:
    """Return the log e-value after one more observation, and the change with the largest evidence.

    ``model`` is (models, 3): spread, effect, memory. ``state`` is (models, 6): filtered error and its
    variance, filtered level, its information and score, log likelihood. ``start`` is (4, models, places):
    filtered change, its information, score and cross term. Both are changed; they begin at 0, the variances
    at ``effect ** 2``. The e-value is the mean over all models of the likelihoods with a change, over the
    largest likelihood of the null: at most the ratio at the true model, which is a martingale.
    """
    top = -math.inf
    for m in range(len(model)):
        spread, effect, memory = model[m]
        decay = memory**gap
        state[m, 0] *= decay
        state[m, 1] = effect**2 + decay**2 * (state[m, 1] - effect**2)
        state[m, 2] *= decay
        total = state[m, 1] + spread / information
        gain = state[m, 1] / total
        surprise, level = observed - state[m, 0], 1.0 - state[m, 2]
        state[m, 0] += gain * surprise
        state[m, 1] *= 1.0 - gain
        state[m, 2] += gain * level
        state[m, 3] += level**2 / total
        state[m, 4] += level * surprise / total
        state[m, 5] -= 0.5 * (math.log(total) + surprise**2 / total)
        for j in range(starts):
            change = 1.0 - decay * start[0, m, j]
            start[0, m, j] = decay * start[0, m, j] + gain * change
            start[1, m, j] += change**2 / total
            start[2, m, j] += change * surprise / total
            start[3, m, j] += change * level / total
        top = max(top, _null(state[m], centred))
    found, best, leading = 0.0, 0.0, 0.0
    for m in range(len(model)):
        likelihood = math.exp(_null(state[m], centred) - top) / len(model)
        rest = 1.0
        for j in range(starts):
            weight = RENEWED_FROM / ((RENEWED_FROM + j) * (RENEWED_FROM + j + 1.0))
            rest -= weight
            known, score = start[1, m, j], start[2, m, j]
            if centred:
                known -= start[3, m, j] ** 2 / state[m, 3]
                score -= start[3, m, j] * state[m, 4] / state[m, 3]
            for s in size:
                scale = 1.0 + s * s * max(known, 0.0)
                ratio = math.exp(min(0.5 * (s * score) ** 2 / scale, LARGEST_LOG)) / math.sqrt(scale)
                gained = likelihood * weight * ratio / len(size)
                found += gained
                if gained > best:
                    best, leading = gained, s * s * score / scale
        found += likelihood * rest
    return math.log(found), leading


@jit
def _null(state: Floats, centred: bool) -> float:
    """Return the log likelihood of a constant mean."""
    if not centred:
        return float(state[5])
    return float(state[5] + 0.5 * (state[4] ** 2 / state[3] - math.log(state[3])))
