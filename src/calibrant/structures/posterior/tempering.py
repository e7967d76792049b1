"""Temperature scaling of a chain: recalibrated tags, pairs of tags and spans from one distribution.

Recalibrating the scores of single tags does not change pairs and spans. Dividing the log-potentials by a
temperature T gives another distribution over whole tag sequences, P(y | x)^(1/T) normalized. All queries of
this distribution are consistent, and the most probable sequence stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant.exceptions import InputError
from calibrant.metrics.debiased import debiased_squared_error_of
from calibrant.results.recalibration import ChainTemperature
from calibrant.structures.posterior._query import Query
from calibrant.structures.posterior._query_gold import UNSEEN, Gold, GoldTags
from calibrant.structures.posterior.chain import ChainPosterior
from calibrant.structures.posterior.queries import all_tags

Objective = Literal["likelihood", "calibration"]

LARGEST = 1024.0  # the smallest temperature is its inverse
TRIED = np.geomspace(1 / 8, 8, 19)  # grid of temperatures for the calibration error
TOLERANCE = 1e-3  # of the logarithm of a temperature, for the minimization of a noisy error


def tempered(posterior: ChainPosterior, temperature: float) -> ChainPosterior:
    """Divide the log-potentials by a temperature.

    Parameters
    ----------
    posterior
        Distribution of any chain.
    temperature
        Positive number. Above 1 the probabilities of sequences become more equal, below 1 less equal; their
        order does not change. Forbidden tags and pairs of tags stay forbidden.

    Returns
    -------
    ChainPosterior
        Distribution over the same sentences and tags.

    Raises
    ------
    InputError
        If the temperature is not positive and finite, or so small that a potential overflows.

    References
    ----------
    Guo, Pleiss, Sun and Weinberger (2017), "On calibration of modern neural networks", section 4.2, for
    classifiers.

    Examples
    --------
    >>> sure = ChainPosterior(np.log([[0.9, 0.1]]))
    >>> tempered(sure, 2).marginals().round(2).tolist()
    [[0.75, 0.25]]
    """
    value = _checks.positive(temperature, "temperature")
    with np.errstate(over="ignore"):  # infinite potentials raise an error below
        transition = None if posterior.transition is None else posterior.transition / value
        unary = posterior.unary / value
    return ChainPosterior(unary, transition, lengths=posterior.lengths, tags=posterior.tags)


def fit_temperature(
    posterior: ChainPosterior,
    gold: GoldTags,
    *,
    objective: Objective = "likelihood",
    query: Callable[..., Query] = all_tags,
    clusters: ArrayLike | None = None,
    threads: int | None = None,
) -> ChainTemperature:
    """Fit the temperature that suits gold tags best, on data that the model was not trained on.

    The negative log-likelihood is convex in 1/T, and its minimum is found exactly: there the mean negative
    log-probability of the gold sequences equals the mean entropy. The calibration error is neither convex nor
    smooth; it is evaluated on a grid from 1/8 to 8 and then minimized near the best grid point.

    Parameters
    ----------
    posterior
        Distribution over S sentences, at temperature 1.
    gold
        As in `calibrant.structures.posterior.queries.tag_is`.
    objective
        ``"likelihood"`` maximizes the likelihood of whole sequences; sentences with a gold tag that the model
        has never seen, or whose gold sequence it forbids, are left out and counted. ``"calibration"``
        minimizes the debiased squared calibration error of ``query`` on all sentences.
    query
        Query for ``"calibration"``: `all_tags`, `calibrant.structures.posterior.queries.tag_pairs`, or any
        function of a posterior and gold that takes ``clusters``. Use
        `calibrant.structures.posterior.queries.spans` only with a threshold near 0: with a larger one, each
        temperature leaves out different spans, and the errors are not comparable.
    clusters
        (S,) cluster of each sentence, for ``"calibration"``; None: each sentence is a cluster.
    threads
        Threads to use; by default all processors, at most 8.

    Returns
    -------
    ChainTemperature

    Raises
    ------
    InputError
        If gold does not fit the sentences, no sentence is left, or there is no minimum: the likelihood
        increases towards temperature 0 (every gold sequence is the most probable one) or towards infinity, or
        the error is smallest at an end of the grid.

    Examples
    --------
    >>> posterior = ChainPosterior([np.log([[0.99, 0.01]])] * 4, tags=["N", "V"])
    >>> found = fit_temperature(posterior, [["N"], ["N"], ["N"], ["V"]])
    >>> tempered(posterior, found.temperature).marginals()[0].round(4).tolist()
    [0.75, 0.25]
    """
    checked = Gold.of(posterior, gold, clusters)
    if objective == "likelihood":
        return _by_likelihood(posterior, checked, threads)
    if objective == "calibration":
        return _by_calibration(posterior, gold, checked, query, clusters, threads)
    raise InputError(f"objective is {objective!r}", "give likelihood or calibration", code="parameter")


def _by_likelihood(posterior: ChainPosterior, gold: Gold, threads: int | None) -> ChainTemperature:
    """Fit the temperature at which the mean loss equals the mean entropy, where the loss is smallest."""
    from scipy.optimize import brentq

    kept, codes = _possible(posterior, gold)

    def loss_and_slope(temperature: float) -> tuple[float, float]:
        """Return the mean loss, and its derivative by 1/T: T times loss minus entropy."""
        chain = tempered(kept, temperature)
        chain.marginals(threads=threads)
        loss = -float(chain.log_probability(codes).mean())
        return loss, (loss - float(chain.entropy(threads=threads).mean())) * temperature

    def slope(logarithm: float) -> float:
        return loss_and_slope(math.exp(logarithm))[1]

    before, at_one = loss_and_slope(1.0)
    low, high = _bracket(slope, at_one)
    temperature = 1.0 if low == high else math.exp(brentq(slope, low, high, xtol=1e-10))
    return ChainTemperature(
        temperature,
        "likelihood",
        before,
        loss_and_slope(temperature)[0],
        kept.sentence_count,
        posterior.sentence_count - kept.sentence_count,
        gold.unseen,
    )


def _bracket(slope: Callable[[float], float], at_one: float) -> tuple[float, float]:
    """Return logarithms of two temperatures that enclose the best one; equal ones if 1 is best."""
    if at_one == 0:
        return 0.0, 0.0
    # If the loss increases with 1/T, the best T is larger.
    step = math.copysign(math.log(2), at_one)
    near, far = 0.0, step
    while slope(far) * at_one > 0:
        near, far = far, far + step
        if abs(far) > math.log(LARGEST) + 1e-9:
            why = (
                "every gold sequence becomes more probable as the temperature decreases to 0"
                if step < 0
                else "gold sequences are not more probable than other sequences"
            )
            raise InputError(f"there is no best temperature: {why}", "give more gold data", code="undefined")
    return (near, far) if near < far else (far, near)


def _possible(posterior: ChainPosterior, gold: Gold) -> tuple[ChainPosterior, NDArray[np.int64]]:
    """Return the sentences whose gold sequence has positive probability, and its codes."""
    known = np.where(gold.codes == UNSEEN, 0, gold.codes)
    first = posterior.offsets[:-1]
    possible = ~np.logical_or.reduceat(gold.codes == UNSEEN, first)
    possible &= np.isfinite(posterior.log_probability(known))
    if possible.all():
        return posterior, gold.codes
    if not possible.any():
        message = "no gold sequence has positive probability under the model"
        raise InputError(message, "give gold tags of the model's tagset", code="empty")
    tokens = np.repeat(possible, posterior.lengths)
    chain = ChainPosterior(
        posterior.unary[tokens],
        posterior.transition,
        lengths=posterior.lengths[possible],
        tags=posterior.tags,
    )
    return chain, gold.codes[tokens]


def _by_calibration(
    posterior: ChainPosterior,
    gold: GoldTags,
    checked: Gold,
    query: Callable[..., Query],
    clusters: Any,
    threads: int | None,
) -> ChainTemperature:
    from scipy.optimize import minimize_scalar

    def error(logarithm: float) -> float:
        asked = query(tempered(posterior, math.exp(logarithm)), gold, clusters=clusters)
        return debiased_squared_error_of(asked.tally(by_cluster=True, threads=threads))

    tried = [error(math.log(temperature)) for temperature in TRIED]
    best = int(np.argmin(tried))
    if best in (0, len(TRIED) - 1):
        message = (
            f"there is no best temperature: the error is smallest at {TRIED[best]:g}, an end of the grid"
        )
        raise InputError(message, "give more gold data, or fit by likelihood", code="undefined")
    limits = np.log(TRIED[[best - 1, best + 1]])
    found = minimize_scalar(error, bounds=limits, method="bounded", options={"xatol": TOLERANCE})
    logarithm = float(found.x) if found.fun <= tried[best] else math.log(TRIED[best])
    return ChainTemperature(
        math.exp(logarithm),
        "calibration",
        error(0.0),
        min(float(found.fun), tried[best]),
        posterior.sentence_count,
        0,
        checked.unseen,
    )
