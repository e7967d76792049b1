"""Temperature scaling of chains and of antecedents: recalibrated parts of structures from one distribution.

Recalibrating the scores of single tags does not change pairs and spans. Dividing the log-potentials by a
temperature T gives another distribution over whole tag sequences, P(y | x)^(1/T) normalized. All queries of
this distribution are consistent, and the most probable sequence stays the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.exceptions import InputError
from calibrant.metrics.debiased import debiased_squared_error
from calibrant.results.recalibration import ChainTemperature
from calibrant.structures.posterior._query import UNSEEN, Gold, GoldTags, Query
from calibrant.structures.posterior.antecedent import AntecedentPosterior
from calibrant.structures.posterior.chain import ChainPosterior
from calibrant.structures.posterior.queries import all_tags
from calibrant.structures.results.coreference import AntecedentTemperature

Objective = Literal["likelihood", "calibration"]

LARGEST = 1024.0  # the smallest temperature is its inverse
TRIED = np.geomspace(1 / 8, 8, 19)  # grid of temperatures for the calibration error
TOLERANCE = 1e-3  # of the logarithm of a temperature, for the minimization of a noisy error
Clusters = Sequence[Sequence[Hashable | None]]
GRID = np.geomspace(1 / 16, 16, 25)  # grid of temperatures for the loss


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
    >>> fitted = fit_temperature(posterior, [["N"], ["N"], ["N"], ["V"]])
    >>> tempered(posterior, fitted.temperature).marginals()[0].round(4).tolist()
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
    low, high = bracket(slope, at_one)
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


def bracket(slope: Callable[[float], float], at_one: float) -> tuple[float, float]:
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
        return debiased_squared_error(asked.tally(by_cluster=True, threads=threads))

    tried = [error(math.log(temperature)) for temperature in TRIED]
    best = int(np.argmin(tried))
    if best in (0, len(TRIED) - 1):
        message = (
            f"there is no best temperature: the error is smallest at {TRIED[best]:g}, an end of the grid"
        )
        raise InputError(message, "give more gold data, or fit by likelihood", code="undefined")
    limits = np.log(TRIED[[best - 1, best + 1]])
    minimum = minimize_scalar(error, bounds=limits, method="bounded", options={"xatol": TOLERANCE})
    logarithm = float(minimum.x) if minimum.fun <= tried[best] else math.log(TRIED[best])
    return ChainTemperature(
        math.exp(logarithm),
        "calibration",
        error(0.0),
        min(float(minimum.fun), tried[best]),
        posterior.sentence_count,
        0,
        checked.unseen,
    )


def antecedent_losses(posterior: AntecedentPosterior, clusters: Clusters) -> Floats:
    """Return the negative log-probability of the correct choices of each mention, in nats.

    All candidates of the mention's entity are correct; without such a candidate, starting an entity is
    correct.

    Parameters
    ----------
    posterior
        Posterior of M mentions in D documents.
    clusters
        Gold entity of each mention, per document; None: the correct choice is unknown.

    Returns
    -------
    ndarray of float64, shape (M,)
        Losses; infinite if the correct choices have probability 0, NaN if they are unknown.

    References
    ----------
    Durrett and Klein (2013). Easy victories and uphill battles in coreference resolution. EMNLP, equation 2.

    Examples
    --------
    >>> posterior = AntecedentPosterior.from_probabilities([[[1.0], [0.5, 0.5], [0.25, 0.5, 0.25]]])
    >>> np.exp(-antecedent_losses(posterior, [["a", "a", "a"]])).round(2).tolist()
    [1.0, 0.5, 0.75]
    """
    right = _right(posterior, clusters)
    return _losses(posterior, right, 1.0)


def fit_antecedent_temperature(posterior: AntecedentPosterior, clusters: Clusters) -> AntecedentTemperature:
    """Fit the temperature that suits gold entities best, on data that the model was not trained on.

    The temperature minimizes the mean of `antecedent_losses`, between 1/16 and 16.

    Parameters
    ----------
    posterior, clusters
        As in `antecedent_losses`.

    Returns
    -------
    AntecedentTemperature
        Temperature for `AntecedentPosterior.tempered`, and losses before and after.

    Raises
    ------
    InputError
        If clusters do not fit, no mention is left, or the loss is smallest at an end of the range.

    Examples
    --------
    >>> sure = AntecedentPosterior.from_probabilities([[[1.0], [0.01, 0.99]]] * 4)
    >>> fitted = fit_antecedent_temperature(sure, [["a", "b"]] * 3 + [["a", "a"]])
    >>> sure.tempered(fitted.temperature).new_probabilities()[1].round(3).item()
    0.75
    """
    from scipy.optimize import minimize_scalar

    right = _right(posterior, clusters)
    before = _losses(posterior, right, 1.0)
    used = np.isfinite(before)
    if not used.any():
        message = "no mention has a gold entity whose antecedents have positive probability"
        raise InputError(message, "give documents with gold entities", code="empty")

    def loss(logarithm: float) -> float:
        return float(_losses(posterior, right, math.exp(logarithm))[used].mean())

    grid = np.log(GRID)
    tried = [loss(float(value)) for value in grid]
    best = int(np.argmin(tried))
    if best in (0, len(grid) - 1):
        message = f"there is no best temperature: the loss is smallest at {GRID[best]:g}, an end of the range"
        raise InputError(message, "give more gold data", code="undefined")
    limits = (float(grid[best - 1]), float(grid[best + 1]))
    minimum = minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-8})
    return AntecedentTemperature(
        temperature=math.exp(minimum.x),
        before=float(before[used].mean()),
        after=float(minimum.fun),
        mentions=int(used.sum()),
        left_out=int((~used).sum()),
    )


def _right(posterior: AntecedentPosterior, clusters: Clusters) -> NDArray[np.bool_]:
    """Return a mask of correct entries, all False for mentions without a gold entity."""
    codes = _codes(posterior, clusters)
    size = np.diff(posterior.row_offsets)
    mention = np.repeat(np.arange(posterior.mention_count), size)
    document_start = np.repeat(posterior.document_offsets[:-1], posterior.mention_counts)
    candidate = np.arange(len(mention)) - np.repeat(posterior.row_offsets[:-1], size)
    candidate += np.repeat(posterior.first + document_start, size)
    # The last entry of a row, for starting an entity, has the index of the mention, or one past the window.
    last = posterior.row_offsets[1:] - 1
    candidate[last] = np.arange(posterior.mention_count)
    right: NDArray[np.bool_] = (codes[candidate] == codes[mention]) & (codes[mention] >= 0)
    right[last] = False
    has_antecedent = np.logical_or.reduceat(right, posterior.row_offsets[:-1]) if len(right) else right
    right[last] = ~has_antecedent & (codes >= 0)
    return right


def _codes(posterior: AntecedentPosterior, clusters: Clusters) -> NDArray[np.int64]:
    """Return the number of each mention's entity within its document, or -1."""
    if len(clusters) != posterior.document_count:
        message = f"there are clusters of {len(clusters)} documents for {posterior.document_count} documents"
        raise InputError(message, "give one list per document", code="length")
    codes: list[int] = []
    for name, count, entities in zip(posterior.names, posterior.mention_counts, clusters, strict=True):
        if len(entities) != count:
            message = f"document {name!r}: there are {len(entities)} clusters for {count} mentions"
            raise InputError(message, "give one cluster or None per mention", code="length")
        places: dict[Hashable, int] = {}
        codes += [-1 if entity is None else places.setdefault(entity, len(places)) for entity in entities]
    return np.array(codes, np.int64)


def _losses(posterior: AntecedentPosterior, right: NDArray[np.bool_], temperature: float) -> Floats:
    if not len(right):
        return np.empty(0)
    scores = posterior.log_probabilities / temperature
    start = posterior.row_offsets[:-1]
    whole = np.logaddexp.reduceat(scores, start)
    losses: Floats = whole - np.logaddexp.reduceat(np.where(right, scores, -np.inf), start)
    return np.where(np.logical_or.reduceat(right, start), np.maximum(losses, 0.0), np.nan)
