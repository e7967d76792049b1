"""Predictions whose calibration error is known: drawn scores, and labels from Bernoulli(transform(score)).

Used to measure what estimates, intervals and tests do. Scores come from a Beta distribution; the transforms
are those of the thesis and of logistic miscalibration. Pairs of one cluster can share the noise of their
labels, and their scores.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats
from calibrant.exceptions import InputError
from calibrant.seeds import Seed, generator

Transform = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Shift:
    """The thesis' t(p): max(0, p - k) below one half, min(1, p + k) from there on (an underconfident model).

    Its text prints min(0, p + k), which would be 0 for all scores above one half.

    Examples
    --------
    >>> Shift(0.05)(np.array([0.02, 0.3, 0.6, 0.99])).round(2).tolist()
    [0.0, 0.25, 0.65, 1.0]
    """

    k: float

    def __call__(self, score: Floats) -> Floats:
        """Probability of the event at each score."""
        return np.where(score < 0.5, np.maximum(0.0, score - self.k), np.minimum(1.0, score + self.k))


@dataclass(frozen=True)
class LogitSlope:
    """The logit of the score times a slope, plus an intercept.

    With a slope above 1 the model is underconfident, below 1 overconfident.

    Examples
    --------
    >>> LogitSlope(2.0)(np.array([0.0, 0.2, 0.5, 1.0])).round(4).tolist()
    [0.0, 0.0588, 0.5, 1.0]
    >>> LogitSlope(1.0, -1.0)(np.array([0.5])).round(4).tolist()
    [0.2689]
    """

    slope: float
    intercept: float = 0.0

    def __call__(self, score: Floats) -> Floats:
        """Probability of the event at each score."""
        with np.errstate(divide="ignore", over="ignore"):
            odds = ((1.0 - score) / score) ** self.slope * np.exp(-self.intercept)
            probability: Floats = 1.0 / (1.0 + odds)
        return probability


@dataclass(frozen=True)
class BetaScores:
    """Quantile function of scores from Beta(a, b), in closed form where there is one.

    Examples
    --------
    >>> BetaScores(0.5, 0.5)(np.array([0.5])).round(6).tolist()
    [0.5]
    """

    a: float
    b: float

    def __call__(self, u: Floats) -> Floats:
        """Score at each level u, from 0 to 1."""
        a, b = self.a, self.b
        if b == 1:
            return u ** (1 / a)
        if a == b == 0.5:
            return np.sin(np.pi / 2 * u) ** 2
        if a == b == 2:
            return 0.5 - np.sin(np.arcsin(1 - 2 * u) / 3)
        from scipy.special import betaincinv

        quantile: Floats = betaincinv(a, b, u)
        return quantile


@dataclass(frozen=True)
class Sample:
    """Synthetic predictions.

    Attributes
    ----------
    label
        (n,) bool.
    score
        (n,) float64 in [0, 1].
    cluster
        (n,) int64, or None when pairs are independent.
    """

    label: NDArray[np.bool_]
    score: Floats
    cluster: NDArray[np.int64] | None


def sample(
    n: int,
    *,
    a: float,
    b: float,
    transform: Transform | None = None,
    cluster_size: int = 1,
    label_correlation: float = 0.0,
    score_correlation: float = 0.0,
    seed: Seed = None,
) -> Sample:
    """Draw scores from Beta(a, b) and labels with ``P(y = 1 | q) = transform(q)``.

    Parameters
    ----------
    n
        Number of pairs.
    a, b
        Parameters of the Beta distribution of the scores.
    transform
        `Shift`, `LogitSlope`, or any function of an array of scores; None: calibrated scores.
    cluster_size
        Pairs a cluster (the last may be smaller); 1 makes independent pairs without clusters.
    label_correlation
        Correlation of two labels of one cluster at equal scores: with probability sqrt(correlation) a label
        uses its cluster's uniform number, else a separate one.
    score_correlation
        Correlation of two scores of one cluster, on the normal scale (a Gaussian copula).
    seed
        Integer, generator or None.

    Examples
    --------
    >>> drawn = sample(1000, a=0.5, b=0.5, transform=Shift(0.1), cluster_size=20, label_correlation=0.3)
    >>> len(drawn.score), int(drawn.cluster.max())
    (1000, 49)
    """
    rng = generator(seed)
    uniform, threshold, cluster = draw_uniforms(
        n, cluster_size, rng, label_correlation=label_correlation, score_correlation=score_correlation
    )
    if not (a > 0 and b > 0):
        raise InputError(f"a and b are {a} and {b}", "give positive numbers", code="parameter")
    score = BetaScores(a, b)(uniform)
    probability = score if transform is None else transform(score)
    return Sample(threshold < probability, score, cluster)


def draw_uniforms(
    n: int,
    cluster_size: int | Sequence[int],
    rng: np.random.Generator,
    *,
    label_correlation: float,
    score_correlation: float,
) -> tuple[Floats, Floats, NDArray[np.int64] | None]:
    """Uniform numbers behind scores and labels (a label is 1 where its number is below p), and clusters.

    ``cluster_size`` is one size for all clusters, or the size of each. With a score correlation of 1 all
    pairs of a cluster have the same score.

    Examples
    --------
    >>> score, label, cluster = draw_uniforms(
    ...     6, 3, np.random.default_rng(0), label_correlation=1.0, score_correlation=0.0
    ... )
    >>> cluster.tolist(), len(set(label.tolist()))
    ([0, 0, 0, 1, 1, 1], 2)
    """
    for value, name in ((label_correlation, "label_correlation"), (score_correlation, "score_correlation")):
        if not 0 <= value <= 1:
            raise InputError(f"{name} is {value}", "give a number from 0 to 1", code="parameter")
    if n < 1 or np.min(cluster_size) < 1:
        raise InputError(f"n is {n} and cluster_size {cluster_size}", "give at least 1", code="parameter")
    if isinstance(cluster_size, int):
        if cluster_size == 1:
            return rng.random(n), rng.random(n), None
        cluster = np.arange(n, dtype=np.int64) // cluster_size
    else:
        cluster = np.repeat(np.arange(len(cluster_size), dtype=np.int64), cluster_size)
        if len(cluster) != n:
            message = f"the clusters have {len(cluster)} pairs, not {n}"
            raise InputError(message, "pass sizes that add up to n")
    clusters = int(cluster[-1]) + 1
    if score_correlation > 0:
        from scipy.special import ndtr

        common = np.sqrt(score_correlation) * rng.standard_normal(clusters)[cluster]
        score: Floats = ndtr(common + np.sqrt(1 - score_correlation) * rng.standard_normal(n))
    else:
        score = rng.random(n)
    label = rng.random(n)
    if label_correlation > 0:
        shared = rng.random(n) < np.sqrt(label_correlation)
        label = np.where(shared, rng.random(clusters)[cluster], label)
    return score, label, cluster


_PANELS = 40  # halvings towards each end of the quantile
_POINTS = 4_000  # in each panel


def mean_over(scores: Transform, function: Transform) -> float:
    """E[function(q)] for scores given by their quantile function, such as `BetaScores`.

    A midpoint rule on panels that halve towards both ends, so that it serves rare events, rounded scores and
    functions with many jumps alike.

    Examples
    --------
    >>> round(mean_over(BetaScores(2, 2), lambda q: q * (1 - q)), 6)
    0.2
    """
    points, mass = _midpoints(scores)
    return float(mass @ function(points))


@lru_cache(maxsize=16)
def _midpoints(scores: Transform) -> tuple[Floats, Floats]:
    """Scores at the midpoints of all steps of all panels, and the probability of each step."""
    half = 0.5 ** np.arange(_PANELS, 0, -1)
    edges = np.concatenate([[0.0], half, 1.0 - half[-2::-1], [1.0]])
    steps = (np.arange(_POINTS) + 0.5) / _POINTS
    width = np.diff(edges)[:, None]
    points = scores((edges[:-1, None] + width * steps).ravel())
    return points, np.repeat(width.ravel() / _POINTS, _POINTS)


def squared_error(scores: Transform, transform: Transform) -> float:
    """The true squared calibration error, E[(q - transform(q))^2], of scores with a quantile function.

    Its root is the target of the intervals.

    Examples
    --------
    >>> round(squared_error(BetaScores(2, 2), Shift(0.1)) ** 0.5, 4)
    0.0986
    """
    return mean_over(scores, lambda q: (q - transform(q)) ** 2)
