"""Temperature scaling of one event or of K classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Check, Floats, flag, list_of_names, optional
from calibrant.exceptions import InputError
from calibrant.metrics.views import by_label
from calibrant.recalibrate._log_odds import CLIP, LogOddsRecalibrator, Points, check_clip, fit_logistic
from calibrant.recalibrate._logit_scaling import LogitItems, items_of, logits_of, softmax, temperature_sums
from calibrant.recalibrate.base import check_width, one_column

_MOST_STEPS = 100
_LARGEST_INVERSE = 1e6
_SMALL_STEP = 1e-9  # relative size; Newton's next step would be about its square


class Temperature(LogOddsRecalibrator):
    """Temperature scaling: softmax(logits / T) with one T, by maximum likelihood.

    For one event, p = sigmoid(logit(q) / T). T > 1 makes scores less extreme, and T < 1 more extreme. The
    order of an item's classes and its top label do not change. The likelihood is concave in 1/T, and Newton's
    method finds its unique maximum without a learning rate or a start value.

    Parameters
    ----------
    classes
        K class names, if the columns are not in the sorted order of the labels. None: labels are 0 / 1,
        indices 0..K - 1, or K names in sorted order.
    logits
        True if X contains logits of K classes. By default, X contains probabilities, whose logarithms are
        used.
    clip
        For one event, as in `Platt`. For K classes, the probability that replaces 0, as in `VectorScaling`.

    Attributes
    ----------
    temperature_
        T.
    converged_, step_count_
        True if Newton's method has converged, and its number of steps.
    clipped_count_
        Number of pairs that were moved by ``clip``, or of probabilities of 0 of K classes.
    n_features_in_
        1 for one event, K for K classes.
    pair_count_, score_range_
        As in `Recalibrator`.

    Notes
    -----
    X is (n,) or (n, 1) for one event and (n, K) for K classes; only the former fits from a tally. If every
    label is the top label the likelihood grows without end as T falls to 0; if scores predict no better
    than random guessing, it is largest at an infinite T. Both raise an error.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger (2017), On calibration of modern neural networks, ICML.
    arXiv:1706.04599

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(5000, 3))
    >>> y = (logits + rng.gumbel(size=(5000, 3))).argmax(axis=1)
    >>> temperature = Temperature(logits=True).fit(3 * logits, y)
    >>> round(temperature.temperature_, 1), temperature.transform([[3.0, 0.0, 0.0]]).round(2).tolist()
    (3.0, [[0.58, 0.21, 0.21]])
    """

    method: ClassVar[str] = "temperature"
    _learned: ClassVar[tuple[str, ...]] = ("temperature_", *LogOddsRecalibrator._status)

    _parameters: ClassVar[dict[str, Check]] = {
        "classes": optional(list_of_names),
        "logits": flag,
        "clip": check_clip,
    }

    temperature_: float

    @property
    def fits_mean(self) -> bool:
        """False: a score of 1/2 stays 1/2."""
        return False

    def __init__(
        self, classes: Sequence[str] | None = None, logits: bool = False, clip: float = CLIP
    ) -> None:
        self.classes = classes
        self.logits = logits
        self.clip = clip

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit T to scores and labels.

        Parameters
        ----------
        X
            (n,) or (n, 1) scores of one event, or (n, K) probabilities (or logits) of K classes.
        y
            (n,) labels 0 or 1, or true classes: indices, or names (see ``classes``).
        sample_weight
            (n,) non-negative weights; None counts every item once.
        clusters
            Not used.

        Raises
        ------
        InputError
            If no positive, finite T maximizes the likelihood.
        """
        self.check_parameters()
        column, _ = one_column(by_label(X, y, self.classes))
        if np.ndim(column) < 2 and not self.logits:
            return super().fit(X, y, sample_weight, clusters)
        items = items_of(column, y, sample_weight, classes=self.classes, logits=self.logits, clip=self.clip)
        self._learn_items(items)
        self.clipped_count_ = items.clipped
        self._fitted_on(len(items.label), *items.range)
        self.n_features_in_, self.classes_ = items.logit.shape[1], items.classes
        return self

    def transform(self, X: ArrayLike) -> Floats:
        """Return recalibrated probabilities.

        Parameters
        ----------
        X
            As in `fit`.

        Returns
        -------
        ndarray of float64
            Probabilities in [0, 1] in the shape of X; rows of K classes sum to 1.

        Raises
        ------
        InputError
            If it has not been fitted, or for another number of columns than in `fit`.
        """
        self.check_fitted()
        column, shape = one_column(by_label(X, self.classes_, self.classes_))
        width = shape[1] if np.ndim(column) == 2 else 1
        check_width(width, self.n_features_in_)
        if width == 1:
            return super().transform(X)
        logit, _ = logits_of(column, logits=self.logits, clip=self.clip)
        return softmax(logit, np.full(width, 1 / self.temperature_), np.zeros(width))

    def _restore(self, learned: dict[str, Any]) -> None:
        super()._restore(learned)
        if not self.temperature_ > 0:
            raise ValueError("the temperature is not a number above 0")

    def _check_map(self) -> None:
        if self.n_features_in_ == 1:
            super()._check_map()

    def _learn_points(self, points: Points) -> None:
        points.check_slope("a temperature", parameters=1)
        points.check_overlap("a temperature", at=0.5)
        log_odds = points.log_odds
        if float(np.dot(points.positives - points.weight / 2, log_odds)) <= 0:
            raise _worse_than_chance()
        fit = fit_logistic(log_odds[:, None], points.weight, points.positives)
        self.temperature_ = 1 / float(fit.coefficients[0])
        self.step_count_, self.converged_ = fit.steps, fit.converged

    def _learn_items(self, items: LogitItems) -> None:
        own = items.logit[np.arange(len(items.label)), items.label]
        if (own == items.logit.max(axis=1)).all():
            message, hint = "every label is the top label: T would be 0", "pass more items"
            raise InputError(message, hint, code="undefined")
        if temperature_sums(items, 0.0)[1] >= 0:
            raise _worse_than_chance()
        inverse, self.step_count_, self.converged_ = _newton(items)
        self.temperature_ = 1 / inverse

    def _coefficients(self) -> tuple[float, float, float]:
        return 1 / self.temperature_, 1 / self.temperature_, 0.0


def _newton(items: LogitItems) -> tuple[float, int, bool]:
    """Return the 1/T with derivative 0 by bracketed Newton steps, the number of steps, and convergence."""
    low, high, inverse = 0.0, np.inf, 1.0
    for step in range(1, _MOST_STEPS + 1):
        _, slope, curvature = temperature_sums(items, inverse)
        new = inverse - slope / curvature if curvature > 0 else np.nan
        if abs(new - inverse) <= _SMALL_STEP * inverse:
            return float(new), step, True
        low, high = (inverse, high) if slope < 0 else (low, inverse)
        if not low < new < high:
            new = 2 * low if np.isinf(high) else (low + high) / 2
        inverse = float(min(new, _LARGEST_INVERSE))
    return inverse, _MOST_STEPS, False


def _worse_than_chance() -> InputError:
    message = (
        "the scores predict the labels no better than random guessing, so the best temperature is infinite"
    )
    return InputError(message, "check that scores and labels belong together", code="undefined")
