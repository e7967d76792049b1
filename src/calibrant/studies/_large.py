"""Bins of very many pairs, drawn bin by bin, to see whether a cap of 10^4 bins is fine enough."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant.measure._moments import Moments, moments
from calibrant.measure._residuals import residuals
from calibrant.results import Bins
from calibrant.synthetic import Transform, beta_quantile

Floats = NDArray[np.float64]
_NODES = 8


def expected_bins(a: float, b: float, transform: Transform, bins: int) -> Floats:
    """(4, bins) means of q, q^2, p and q p in bins of equal mass, by Gauss-Legendre within each.

    Examples
    --------
    >>> from calibrant.synthetic import Identity
    >>> expected_bins(2, 2, Identity(), 2)[0].round(2).tolist()
    [0.31, 0.69]
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    u = (np.arange(bins)[:, None] + (nodes + 1) / 2) / bins
    q = beta_quantile(u.ravel(), a, b)
    p = transform(q)
    means = np.stack([q, q**2, p, q * p]).reshape(4, bins, _NODES)
    expected: Floats = means @ (weights / 2)
    return expected


def draw_bins(expected: Floats, n: int, rng: np.random.Generator) -> Bins:
    """Bins of ``n`` pairs in all: scores at their means, positives binomial."""
    score, score2, probability, product = expected
    bins = len(score)
    count = np.full(bins, n // bins, dtype=np.float64)
    positives = rng.binomial(n // bins, np.clip(probability, 0, 1)).astype(np.float64)
    given_positive = np.divide(product, probability, out=score.copy(), where=probability > 0)
    return Bins(
        kind="adaptive",
        size=n // bins,
        asked=bins,
        used=bins,
        edge_low=score,
        edge_high=score,
        n=count,
        positives=positives,
        weight=count,
        weight_positives=positives,
        weight2=count,
        weight2_positives=positives,
        sum_score=count * score,
        sum_score2=count * score2,
        sum_score_positive=positives * given_positive,
    )


def draw_moments(
    a: float, b: float, transform: Transform, n: int, bins: int, replications: int, rng: np.random.Generator
) -> list[Moments]:
    """Moments of the debiased squared error of ``n`` pairs on ``bins`` bins, replicated."""
    expected = expected_bins(a, b, transform, bins)
    drawn = [moments(residuals(draw_bins(expected, n, rng))) for _ in range(replications)]
    return [found for found in drawn if found is not None]
