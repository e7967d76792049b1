"""Platt scaling: logistic regression on the log-odds of the score."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from calibrant._checks import Check, Floats, flag
from calibrant.recalibrate._log_odds import CLIP, LogOddsRecalibrator, Points, check_clip, fit_logistic


class Platt(LogOddsRecalibrator):
    """Platt scaling: p = sigmoid(slope * logit(q) + intercept), by maximum likelihood.

    The regression is on log-odds, so slope 1 and intercept 0 leave scores unchanged; a regression on
    probabilities could not express the identity. The slope can be negative: then the map reverses the order
    of the scores.

    Parameters
    ----------
    smoothing
        True to fit to Platt's targets (N+ + 1) / (N+ + 2) and 1 / (N- + 2) instead of 1 and 0, where N+ and
        N- are the weights of the positive and negative pairs. The estimate is then finite for separable
        labels.
    clip
        Smallest distance of scores from 0 and 1, which have no log-odds; scores nearer are moved to it, in
        the fit and in its application. The default limits log-odds to 36.7. If float32 has rounded scores to
        1, ``2**-24`` (16.6) is a better choice.

    Attributes
    ----------
    slope_, intercept_
        The fitted map.
    converged_, step_count_
        True if Newton's method has converged, and its number of steps.
    clipped_count_
        Number of pairs of the fit whose score was moved by ``clip``.
    pair_count_, score_range_
        As in `Recalibrator`.

    Notes
    -----
    More than 65,536 pairs are first summed on the grid of a compressed tally: each row then has one point for
    its positives at their mean score, and one for its negatives. This changes slope and intercept by about
    1e-7 (relative), far less than their standard error.

    Separable labels, also with a tie at the threshold, raise an error unless smoothed: the slope is infinite.

    References
    ----------
    J. Platt (1999), Probabilistic outputs for support vector machines and comparisons to regularized
    likelihood methods, Advances in Large Margin Classifiers.

    D. R. Cox (1958), Two further applications of a model for binary regression, Biometrika 45, 562-565.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(100_000)
    >>> overconfident = p**2 / (p**2 + (1 - p) ** 2)
    >>> platt = Platt().fit(overconfident, rng.random(100_000) < p)
    >>> round(platt.slope_, 1), platt.transform([0.5, 0.9]).round(2).tolist()
    (0.5, [0.5, 0.75])
    """

    method: ClassVar[str] = "platt"
    _learned: ClassVar[tuple[str, ...]] = ("slope_", "intercept_", *LogOddsRecalibrator._status)
    _parameters: ClassVar[dict[str, Check]] = {"smoothing": flag, "clip": check_clip}

    slope_: float
    intercept_: float

    def __init__(self, smoothing: bool = False, clip: float = CLIP) -> None:
        self.smoothing = smoothing
        self.clip = clip

    def _learn_points(self, points: Points) -> None:
        points.check_slope("Platt scaling")
        if not self.smoothing:
            points.check_overlap("Platt scaling", turned=True)
        log_odds = points.log_odds
        design = np.stack([np.ones(len(log_odds)), log_odds], axis=1)
        fit = fit_logistic(design, points.weight, _targets(points) if self.smoothing else points.positives)
        self.intercept_, self.slope_ = (float(value) for value in fit.coefficients)
        self.step_count_, self.converged_ = fit.steps, fit.converged

    def _coefficients(self) -> tuple[float, float, float]:
        return self.slope_, self.slope_, self.intercept_


def _targets(points: Points) -> Floats:
    """Return Platt's targets times the weight of each point."""
    positive = float(points.positives.sum())
    negative = float(points.weight.sum()) - positive
    high, low = (positive + 1) / (positive + 2), 1 / (negative + 2)
    return points.positives * high + (points.weight - points.positives) * low
