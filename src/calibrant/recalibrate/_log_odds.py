"""Base of Platt, temperature and beta scaling of one event: points of log-odds, their fit, and the map."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Pairs, shown
from calibrant._kernels import log_odds as kernels
from calibrant.exceptions import InputError
from calibrant.metrics.tally import Tally
from calibrant.recalibrate._binned import in_pieces
from calibrant.recalibrate.base import BinaryRecalibrator, Source

CLIP = 2.0**-53  # distance of the largest float64 below 1 from 1
LARGEST_LISTED = 1 << 16  # more pairs than this are summed on the grid first

_MOST_STEPS = 200
_ROUNDING = 1e-12  # relative decrease of a log-likelihood that is treated as rounding error


class LogisticFit(NamedTuple):
    """Coefficients, the number of Newton steps, and convergence."""

    coefficients: Floats
    steps: int
    converged: bool


def fit_logistic(
    design: Floats,
    weight: Floats,
    positives: Floats,
    *,
    nonnegative: NDArray[np.bool_] | None = None,
) -> LogisticFit:
    """Return maximum likelihood coefficients of a logistic regression on rows, by Newton's method.

    Steps that would decrease the likelihood are halved. The likelihood is concave, so the method converges
    from 0 if the estimate exists. A non-negative coefficient stays at 0 while the likelihood decreases in its
    direction, and a step ends where the coefficient would become negative (projected Newton).

    Parameters
    ----------
    design
        (n, k) columns.
    weight, positives
        (n,) weight of each row, and its weight with label 1.
    nonnegative
        (k,) True for coefficients that must not be negative; by default none.

    References
    ----------
    D. P. Bertsekas (1982), Projected Newton methods for optimization problems with simple constraints,
    SIAM Journal on Control and Optimization 20, 221-246. doi:10.1137/0320018
    """
    columns = design.shape[1]
    bounded = np.zeros(columns, bool) if nonnegative is None else nonnegative
    low = np.where(bounded, 0.0, -np.inf)
    gradient, information = np.empty(columns), np.empty((columns, columns))

    def log_likelihood(beta: Floats) -> float:
        return kernels.logistic_sums(design, weight, positives, beta, gradient, information)

    beta = np.zeros(columns)
    current = log_likelihood(beta)
    for step_number in range(1, _MOST_STEPS + 1):
        free = ~(bounded & (beta <= 0) & (gradient <= 0))
        step = np.zeros(columns)
        try:
            step[free] = np.linalg.solve(information[np.ix_(free, free)], gradient[free])
        except np.linalg.LinAlgError:
            message = "the scores that decide about the slope differ by rounding only"
            raise InputError(message, "use a method with fewer parameters", code="undefined") from None
        least = current - _ROUNDING * abs(current)
        scale = 1.0
        while True:
            new = np.maximum(beta + scale * step, low)
            reached = log_likelihood(new)
            if reached >= least or scale < 1e-8:
                break
            scale /= 2
        moved = float(np.abs(new - beta).max())
        beta, current = new, reached
        if moved <= 1e-12 * (1 + np.abs(beta).max()):
            return LogisticFit(beta, step_number, True)
    return LogisticFit(beta, _MOST_STEPS, False)


@dataclass(frozen=True)
class Points:
    """Scores clipped away from 0 and 1, with their weights and the weights of positives.

    Attributes
    ----------
    score
        (m,) in [clip, 1 - clip].
    weight, positives
        (m,) total weight, and weight of the positive pairs.
    clipped
        Number of pairs whose score was clipped.
    """

    score: Floats
    weight: Floats
    positives: Floats
    clipped: int

    @property
    def log_score(self) -> Floats:
        """(m,) ln q."""
        return np.log(self.score)

    @property
    def log_rest(self) -> Floats:
        """(m,) ln(1 - q)."""
        return np.log1p(-self.score)

    @property
    def log_odds(self) -> Floats:
        """(m,) ln q - ln(1 - q)."""
        return self.log_score - self.log_rest

    def check_slope(self, name: str, parameters: int = 2) -> None:
        """Raise an error if there are too few different scores for a number of parameters."""
        distinct = len(np.unique(self.score))
        if distinct == 1:
            hint = "pass scores that differ; equal scores only determine the fraction of positives"
            raise InputError(f"all scores are equal: {name} has no slope to fit", hint, code="undefined")
        if distinct < parameters:
            message = f"there are {distinct} different scores, and {name} has {parameters} parameters"
            hint = "use a method with fewer parameters, such as platt-smoothed"
            raise InputError(message, hint, code="undefined")

    def check_overlap(self, name: str, *, at: float | None = None, turned: bool = False) -> None:
        """Raise an error if the scores order the labels without error, which makes the slope infinite.

        A positive and a negative may have the same score: no finite slope fits the other scores.

        Parameters
        ----------
        name
            Name of the map for the message.
        at
            The only threshold to check, if the map is fixed at 1/2; None to check all thresholds.
        turned
            True to check for positives below the threshold too, for a slope that may be negative.
        """
        positive, negative = self.score[self.positives > 0], self.score[self.positives < self.weight]
        if at is not None and negative.max() <= at <= positive.min():
            separation = f"no positive has a score below {at:g}, and no negative one above it"
        elif at is None and negative.max() <= positive.min():
            separation = "no negative has a higher score than a positive"
        elif turned and positive.max() <= negative.min():
            separation = "no positive has a higher score than a negative"
        else:
            return
        hint = "use Platt(smoothing=True), the method platt-smoothed"
        raise InputError(f"{separation}: the slope of {name} would be infinite", hint, code="undefined")


def points_of(source: Source, clip: float) -> Points:
    """Return the points of pairs or of a tally.

    A row of a compressed tally has two points: the mean scores of its positives and of its negatives.
    """
    if isinstance(source, Pairs) and len(source) > LARGEST_LISTED:
        source = Tally.from_pairs(Pairs(source.score, source.outcome, source.weight), exact=False)
    if isinstance(source, Pairs):
        score = source.score.astype(np.float64)
        weight = np.ones(len(score)) if source.weight is None else source.weight
        positives, count = weight * source.label, np.ones(len(score), np.int64)
    else:
        means = means_by_label(source.without_clusters())
        score, weight, count = means.score, means.weight, means.pairs
        positives = np.where(means.label, weight, 0.0)
    moved = (score < clip) | (score > 1 - clip)
    return Points(np.clip(score, clip, 1 - clip), weight, positives, int(count[moved].sum()))


class Means(NamedTuple):
    """Means of the scores of the positives, then of the negatives, of each row of a tally that has any."""

    score: Floats
    label: NDArray[np.bool_]
    weight: Floats
    pairs: NDArray[np.int64]
    row: NDArray[np.int64]


def means_by_label(tally: Tally) -> Means:
    """Return the mean scores of positives and negatives of a tally without clusters."""
    some, others = np.flatnonzero(tally.positives), np.flatnonzero(tally.positives < tally.n)
    row = np.concatenate([some, others])
    label = np.arange(len(row)) < len(some)
    weight = np.where(label, tally.weight_positives[row], (tally.weight - tally.weight_positives)[row])
    offset = np.where(label, tally.offset_positive[row], (tally.offset - tally.offset_positive)[row])
    score = np.clip(tally.anchor[row] + offset / weight, tally.low[row], tally.high[row])
    count = np.where(label, tally.positives[row], (tally.n - tally.positives)[row])
    return Means(score, label, weight, count, row)


def check_clip(value: object, name: str) -> None:
    """Raise an error unless a value is a valid clip, from 2^-64 to below 1/2."""
    if not (isinstance(value, (int, float, np.floating)) and 2.0**-64 <= value < 0.5):
        hint = "give a number from 2**-64 to below 0.5"
        raise InputError(f"{name} is {shown(value)}", hint, code="parameter")


def mapped(score: Floats, a: float, b: float, c: float, clip: float) -> Floats:
    """Return 1 / (1 + exp(-(a ln q - b ln(1 - q) + c))) of scores (n,), on several threads if n is large."""
    out = np.empty(len(score))
    in_pieces(lambda part: kernels.log_odds_map(score[part], a, b, c, clip, out[part]), len(score))
    return out


class LogOddsRecalibrator(BinaryRecalibrator):
    """Base of maps p = 1 / (1 + exp(-(a ln q - b ln(1 - q) + c))).

    A subclass implements ``_learn_points`` and ``_coefficients``, and has a parameter ``clip``.
    """

    clip: float
    clipped_count_: int
    step_count_: int
    converged_: bool

    _status: ClassVar[tuple[str, ...]] = ("clipped_count_", "step_count_", "converged_")

    def _learn(self, source: Source) -> None:
        points = points_of(source, float(self.clip))
        self._learn_points(points)
        self.clipped_count_ = points.clipped

    def _map(self, score: Floats) -> Floats:
        a, b, c = (float(coefficient) for coefficient in self._coefficients())
        return mapped(score, a, b, c, float(self.clip))

    def _restore(self, learned: dict[str, Any]) -> None:
        super()._restore(learned)
        coefficients = np.array(self._coefficients(), dtype=np.float64)
        if coefficients.ndim != 1 or not np.isfinite(coefficients).all():
            raise ValueError("a coefficient is not a finite number")

    @abstractmethod
    def _learn_points(self, points: Points) -> None:
        """Fit the map to points."""

    @abstractmethod
    def _coefficients(self) -> tuple[float, float, float]:
        """Return a, b and c."""
