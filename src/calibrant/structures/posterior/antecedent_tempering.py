"""Temperature scaling of antecedents: recalibrated pairs, entities and singletons from one distribution."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.structures.posterior.antecedent import AntecedentPosterior
from calibrant.structures.results.coreference import AntecedentTemperature

Floats = NDArray[np.float64]
Clusters = Sequence[Sequence[Hashable | None]]

TRIED = np.geomspace(1 / 16, 16, 25)  # grid of temperatures for the loss


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

    Raises
    ------
    InputError
        If there is not one cluster per mention and one list per document.

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
    >>> found = fit_antecedent_temperature(sure, [["a", "b"]] * 3 + [["a", "a"]])
    >>> sure.tempered(found.temperature).new_probabilities()[1].round(3).item()
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

    grid = np.log(TRIED)
    tried = [loss(float(value)) for value in grid]
    best = int(np.argmin(tried))
    if best in (0, len(grid) - 1):
        message = (
            f"there is no best temperature: the loss is smallest at {TRIED[best]:g}, an end of the range"
        )
        raise InputError(message, "give more gold data", code="undefined")
    limits = (float(grid[best - 1]), float(grid[best + 1]))
    found = minimize_scalar(loss, bounds=limits, method="bounded", options={"xatol": 1e-8})
    return AntecedentTemperature(
        temperature=math.exp(found.x),
        before=float(before[used].mean()),
        after=float(found.fun),
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
    found = np.logical_or.reduceat(right, posterior.row_offsets[:-1]) if len(right) else right
    right[last] = ~found & (codes >= 0)
    return right


def _codes(posterior: AntecedentPosterior, clusters: Clusters) -> NDArray[np.int64]:
    """Return the number of each mention's entity within its document, or -1."""
    if len(clusters) != posterior.document_count:
        message = f"there are clusters of {len(clusters)} documents for {posterior.document_count} documents"
        raise InputError(message, "give one list per document", code="length")
    found: list[int] = []
    for name, count, entities in zip(posterior.names, posterior.mention_counts, clusters, strict=True):
        if len(entities) != count:
            message = f"document {name!r}: there are {len(entities)} clusters for {count} mentions"
            raise InputError(message, "give one cluster or None per mention", code="length")
        places: dict[Hashable, int] = {}
        found += [-1 if each is None else places.setdefault(each, len(places)) for each in entities]
    return np.array(found, np.int64)


def _losses(posterior: AntecedentPosterior, right: NDArray[np.bool_], temperature: float) -> Floats:
    if not len(right):
        return np.empty(0)
    scores = posterior.log_probabilities / temperature
    start = posterior.row_offsets[:-1]
    whole = np.logaddexp.reduceat(scores, start)
    losses: Floats = whole - np.logaddexp.reduceat(np.where(right, scores, -np.inf), start)
    return np.where(np.logical_or.reduceat(right, start), np.maximum(losses, 0.0), np.nan)
