"""Beta calibration: logistic regression on ln q and -ln(1 - q) with non-negative slopes."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

import numpy as np

from calibrant._checks import Check, option
from calibrant.recalibrate._log_odds import CLIP, LogOddsRecalibrator, Points, check_clip, fit_logistic

Parameters = Literal["abm", "ab", "am"]


class Beta(LogOddsRecalibrator):
    """Beta calibration: logit p = a ln q - b ln(1 - q) + c with a, b >= 0, by maximum likelihood.

    These maps are correct if the scores of each class have a beta distribution. They include sigmoids,
    inverse sigmoids, and the identity (a = b = 1, c = 0), and never reverse the order of scores.

    Parameters
    ----------
    parameters
        Free parameters: ``"abm"`` all three; ``"ab"`` with a score of 1/2 fixed at 1/2 (m = 1/2); ``"am"``
        with a = b, which is `Platt` with a non-negative slope.
    clip
        Smallest distance of scores from 0 and 1; scores nearer are moved to it, as in `Platt`.

    Attributes
    ----------
    a_, b_, c_
        The fitted map. c = b ln(1 - m) - a ln m, m the score that is mapped to 1/2.
    converged_, step_count_
        True if Newton's method has converged, and its number of steps.
    clipped_count_
        Number of pairs of the fit whose score was moved by ``clip``.
    pair_count_, score_range_
        As in `Recalibrator`.

    Notes
    -----
    The constrained maximum is computed by projected Newton steps. (The authors' code drops a feature with a
    negative slope and fits again, which gives the same result if one slope is negative.) Many pairs and
    compressed tallies are summed on the grid, as in `Platt`. Separable labels raise an error.

    References
    ----------
    M. Kull, T. de Menezes e Silva Filho and P. Flach (2017), Beta calibration: a well-founded and easily
    implemented improvement on logistic calibration for binary classifiers, AISTATS. PMLR 54, 623-631.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> q = rng.random(500_000)
    >>> beta = Beta().fit(q, rng.random(500_000) < q**2 / (q**2 + 1 - q))
    >>> round(beta.a_, 1), round(beta.b_, 1), round(abs(beta.c_), 1)
    (2.0, 1.0, 0.0)
    """

    method: ClassVar[str] = "beta"
    _learned: ClassVar[tuple[str, ...]] = ("a_", "b_", "c_", *LogOddsRecalibrator._status)
    _parameters: ClassVar[dict[str, Check]] = {
        "parameters": option(*get_args(Parameters)),
        "clip": check_clip,
    }

    a_: float
    b_: float
    c_: float

    def __init__(self, parameters: Parameters = "abm", clip: float = CLIP) -> None:
        self.parameters = parameters
        self.clip = clip

    @property
    def fits_mean(self) -> bool:
        """False for ``"ab"``: a score of 1/2 stays 1/2."""
        return self.parameters != "ab"

    def _learn_points(self, points: Points) -> None:
        points.check_slope("beta calibration", parameters=len(self.parameters))
        fixed = 0.5 if self.parameters == "ab" else None
        points.check_overlap("beta calibration", at=fixed)
        one = np.ones(len(points.score))
        if self.parameters == "abm":
            columns = [points.log_score, -points.log_rest, one]
        elif self.parameters == "ab":
            columns = [points.log_score + np.log(2), -points.log_rest - np.log(2)]
        else:
            columns = [points.log_odds, one]
        slopes = np.array([column is not one for column in columns])
        fit = fit_logistic(np.stack(columns, axis=1), points.weight, points.positives, nonnegative=slopes)
        a, *rest = (float(value) for value in fit.coefficients)
        if self.parameters == "am":
            self.a_, self.b_, self.c_ = a, a, rest[0]
        elif self.parameters == "ab":
            self.a_, self.b_, self.c_ = a, rest[0], (a - rest[0]) * float(np.log(2))
        else:
            self.a_, self.b_, self.c_ = a, rest[0], rest[1]
        self.step_count_, self.converged_ = fit.steps, fit.converged

    def _coefficients(self) -> tuple[float, float, float]:
        return self.a_, self.b_, self.c_
