"""Distributions of scores, and transforms from scores to probabilities, of the simulated situations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant.synthetic import Transform
from calibrant_studies.arrays import Floats


@dataclass(frozen=True)
class Identity:
    """A calibrated model: p_q = q.

    Examples
    --------
    >>> Identity()(np.array([0.2, 0.7])).tolist()
    [0.2, 0.7]
    """

    def __call__(self, score: Floats) -> Floats:
        """Probability of the event at each score."""
        return score


@dataclass(frozen=True)
class Scaled:
    """The score times a factor: a model that overstates each probability alike.

    Examples
    --------
    >>> Scaled(0.5)(np.array([0.2, 0.8])).tolist()
    [0.1, 0.4]
    """

    factor: float

    def __call__(self, score: Floats) -> Floats:
        """Probability of the event at each score."""
        return self.factor * score


@dataclass(frozen=True)
class Sawtooth:
    """The score plus a height on every other tooth, minus the height between; cut at 0 and 1.

    Examples
    --------
    >>> Sawtooth(0.1, 0.25)(np.array([0.2, 0.4, 0.6, 0.95])).round(2).tolist()
    [0.3, 0.3, 0.7, 0.85]
    """

    height: float
    tooth: float

    def __call__(self, score: Floats) -> Floats:
        """Probability of the event at each score."""
        sign = 1.0 - 2.0 * (np.floor(score / self.tooth) % 2)
        return np.clip(score + self.height * sign, 0.0, 1.0)


@dataclass(frozen=True)
class LogitNormalScores:
    """Quantile function of scores whose log-odds are normal.

    Examples
    --------
    >>> LogitNormalScores(0.0, 2.0)(np.array([0.5])).tolist()
    [0.5]
    """

    mean: float
    sd: float

    def __call__(self, u: Floats) -> Floats:
        """Score at each level u, from 0 to 1."""
        from scipy.special import expit, ndtri

        scores: Floats = expit(self.mean + self.sd * ndtri(u))
        return scores


@dataclass(frozen=True)
class RoundedScores:
    """Scores rounded to a number of decimal digits.

    Examples
    --------
    >>> from calibrant.synthetic import BetaScores
    >>> RoundedScores(BetaScores(1, 1), 1)(np.array([0.51, 0.58])).tolist()
    [0.5, 0.6]
    """

    scores: Transform
    digits: int

    def __call__(self, u: Floats) -> Floats:
        """Score at each level u, from 0 to 1."""
        return np.round(self.scores(u), self.digits)


@dataclass(frozen=True)
class TransformedScores:
    """A transform of scores, as scores.

    Examples
    --------
    >>> from calibrant.synthetic import BetaScores
    >>> TransformedScores(BetaScores(1, 1), Scaled(0.5))(np.array([0.5])).tolist()
    [0.25]
    """

    scores: Transform
    transform: Transform

    def __call__(self, u: Floats) -> Floats:
        """Score at each level u, from 0 to 1."""
        return self.transform(self.scores(u))
