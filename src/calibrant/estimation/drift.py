"""Drift: how far the log-odds of probabilities shift from one period to another."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.estimation.counts import probabilities_of
from calibrant.estimation.results.propagation import Drift
from calibrant.exceptions import InputError

FEWEST_PERIODS = 3
LARGEST = 3.0  # standard deviation in log-odds, beyond which no prior weight lies
SCALE = 0.5  # of the half-Cauchy prior of the standard deviation
CLIP = 1e-9
SHIFTS = np.linspace(-6, 6, 301)
MEANS = np.linspace(-3, 3, 61)
DEVIATIONS = np.concatenate([[0.0], np.geomspace(0.01, LARGEST, 60)])


def given_drift(sd: object) -> Drift:
    """Check a standard deviation of shifts that is known.

    Raises
    ------
    InputError
        If it is negative, above 3, or no number.
    """
    value = _checks.non_negative(sd, "drift")
    if value > LARGEST:
        message = f"drift is {value:g}"
        raise InputError(
            message, f"give a standard deviation in log-odds, at most {LARGEST:g}", code="parameter"
        )
    return Drift(value)


def estimate_drift(y_true: ArrayLike, y_prob: ArrayLike, periods: ArrayLike) -> tuple[Drift, Floats]:
    """Estimate how much the log-odds of probabilities shift between periods, from labels of several.

    The shift of each period is drawn from a normal distribution, and the labels of the period from the
    shifted probabilities. The standard deviation of shifts has a half-Cauchy prior of scale 0.5, so that
    its uncertainty is taken along: a few periods that happen to agree do not exclude a drift. Dependent
    labels within a period look like drift, and widen the estimate.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1.
    y_prob
        (n,) calibrated probabilities.
    periods
        (n,) the period of each; at least 3.

    Returns
    -------
    tuple of a `Drift` and an array
        The posterior median of the standard deviation with its central 95 % interval; and the posterior
        probability of each standard deviation in `DEVIATIONS`.

    Raises
    ------
    InputError
        For bad values, or fewer than 3 periods.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q, period = rng.random(4000), np.repeat(np.arange(8), 500)
    >>> odds = np.log(q / (1 - q)) + rng.normal(0, 0.5, 8)[period]
    >>> found, _ = estimate_drift(rng.random(4000) < 1 / (1 + np.exp(-odds)), q, period)
    >>> found.periods, found.low < 0.5 < found.high
    (8, True)
    """
    label = np.asarray(_checks.labels(y_true, "y_true"), np.float64)
    score = probabilities_of(y_prob, "y_prob")
    code, names = _checks.cluster_codes(periods, "periods")
    _checks.same_length("y_prob", len(score), "y_true", len(label))
    _checks.same_length("periods", len(code), "y_true", len(label))
    if len(names) < FEWEST_PERIODS:
        message = f"the labels are from only {len(names)} periods"
        hint = f"label at least {FEWEST_PERIODS} periods, or give the standard deviation of the drift"
        raise InputError(message, hint, code="parameter")
    posterior = _posterior(label, score, code, len(names))
    below = np.cumsum(posterior)
    low, middle, high = (
        float(DEVIATIONS[min(int(np.searchsorted(below, at)), len(DEVIATIONS) - 1)])
        for at in (0.025, 0.5, 0.975)
    )
    return Drift(middle, low, high, periods=len(names)), posterior


def _posterior(label: Floats, score: Floats, code: Integers, count: int) -> Floats:
    """Posterior probabilities of `DEVIATIONS`."""
    from scipy.special import expit, logit

    odds = logit(np.clip(score, CLIP, 1 - CLIP))
    each = np.empty((count, len(SHIFTS)))
    for place, shift in enumerate(SHIFTS):
        moved = expit(np.where(label == 1, odds + shift, -odds - shift))
        each[:, place] = np.bincount(code, np.log(np.maximum(moved, 1e-300)), count)
    likelihood = np.exp(each - each.max(axis=1, keepdims=True))
    total = np.log(np.maximum(_densities() @ likelihood.T, 1e-300)).sum(axis=-1)
    marginal = np.exp(total - total.max()).sum(axis=1)
    weight = np.gradient(DEVIATIONS) / (1 + (DEVIATIONS / SCALE) ** 2)
    found: Floats = marginal * weight
    found /= found.sum()
    return found


@lru_cache(maxsize=1)
def _densities() -> Floats:
    """Normal densities of `SHIFTS` for each of `DEVIATIONS` and of `MEANS`."""
    sd = np.maximum(DEVIATIONS, 0.02)[:, None, None]
    density: Floats = np.exp(-0.5 * ((SHIFTS - MEANS[:, None]) / sd) ** 2)
    density /= density.sum(axis=-1, keepdims=True)
    return density


def shifts_of(
    drift: Drift, posterior: Floats | None, labelled: float, count: int, rng: np.random.Generator
) -> Floats:
    """Draw shifts of a period without labels from the labeled periods.

    Parameters
    ----------
    drift
        Known or estimated.
    posterior
        Probabilities of `DEVIATIONS`; None if the standard deviation is known.
    labelled
        Effective number of labeled periods: their mean shift is in the fitted map.
    count
        Number of draws, which are spread evenly over the distribution.
    rng
        Puts them in order.
    """
    from scipy.special import ndtri

    even = (np.arange(count) + 0.5) / count
    normal = rng.permutation(ndtri(even)) * np.sqrt(1 + 1 / labelled)
    if posterior is None:
        known: Floats = normal * (drift.estimate or 0.0)
        return known
    place = np.searchsorted(np.cumsum(posterior), rng.permutation(even))
    shifts: Floats = normal * DEVIATIONS[np.minimum(place, len(DEVIATIONS) - 1)]
    return shifts
