"""Bins of very many pairs, drawn bin by bin, to test if a cap of 10^4 bins is fine enough."""

from __future__ import annotations

import numpy as np

from calibrant.metrics.intervals import error_interval
from calibrant.results import Bins
from calibrant.synthetic import BetaScores, Transform, squared_error
from calibrant_studies._base import Row
from calibrant_studies._designs import LEVEL, number
from calibrant_studies._situations import SCORES, TRANSFORMS, beta_name
from calibrant_studies.arrays import Floats

_NODES = 8


def expected_bins(a: float, b: float, transform: Transform, bins: int) -> Floats:
    """(4, bins) means of q, q^2, p and q p in bins of equal mass, by Gauss-Legendre within each.

    Examples
    --------
    >>> from calibrant_studies._populations import Identity
    >>> expected_bins(2, 2, Identity(), 2)[0].round(2).tolist()
    [0.31, 0.69]
    """
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    u = (np.arange(bins)[:, None] + (nodes + 1) / 2) / bins
    q = BetaScores(a, b)(u.ravel())
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


def cap_rows(seed: int) -> list[Row]:
    """Measure coverage and bias in 100 draws, with 10^3 and 10^4 bins of 10^7 to 10^9 pairs."""
    rows = []
    for n in (10**7, 10**8, 10**9):
        for bins in (10**3, 10**4):
            for scores in SCORES:
                rng = np.random.default_rng([seed, n, bins, round(10 * scores.a)])
                row: Row = {"n": f"{n:.0e}".replace("e+0", "e"), "bins": bins, "scores": beta_name(scores)}
                biases = []
                for name, transform in TRANSFORMS.items():
                    expected = expected_bins(scores.a, scores.b, transform, bins)
                    found = np.array([_interval(draw_bins(expected, n, rng)) for _ in range(100)])
                    theta = squared_error(scores, transform)
                    estimate, low, high = found.T
                    row[name] = f"{100 * np.mean((low**2 <= theta) & (theta <= high**2)):.1f}"
                    biases.append(float((estimate.mean() - theta) / estimate.std()))
                rows.append({**row, "largest bias in sd": f"{max(biases, key=abs):+.2f}"})
    return rows


def _interval(bins: Bins) -> tuple[float, float, float]:
    found = error_interval(bins, level=LEVEL)
    return number(found.debiased_squared_error), number(found.low), number(found.high)
