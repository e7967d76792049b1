"""Vector scaling: a scale and a bias for each of K logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Check, Floats, flag, list_of_names, non_negative, optional
from calibrant.exceptions import InputError
from calibrant.recalibrate._log_odds import CLIP, check_clip
from calibrant.recalibrate._softmax import LogitItems, items_of, logits_of, softmax, vector_sums
from calibrant.recalibrate.base import ArrayRecalibrator

_MOST_STEPS = 2000
_OPTIONS = {"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
_LARGE = 1e3
_SMALL_GRADIENT = 1e-6  # mean over items


class VectorScaling(ArrayRecalibrator):
    """Vector scaling: softmax(scale * logits + bias), a scale and a bias a class, by maximum likelihood.

    The likelihood is concave; biases sum to 0, since a constant for all of them changes nothing. It can
    change the top label. On logits and on log-probabilities it is not the same map, since what the latter
    subtract from a row's logits is scaled as well.

    Parameters
    ----------
    classes
        K class names, if the columns are not in the sorted order of the labels. None: labels are indices
        0..K - 1, or K names in sorted order.
    logits
        Whether X holds logits. By default it holds probabilities, of which logarithms are taken.
    penalty
        Added to the mean negative log-likelihood: penalty / 2 times the sum of (scale - 1)^2 and bias^2. 0 is
        plain maximum likelihood. With a penalty, classes that no item has keep a finite bias.
    clip
        Probabilities below it are raised to it, when fitting and when applying, since 0 has no logarithm.

    Attributes
    ----------
    scale_, bias_
        (K,) the fitted map.
    converged_, step_count_
        Whether the gradient is next to 0 (1e-6, the mean over items), and the steps of L-BFGS.
    clipped_count_
        Probabilities that were moved by ``clip``.
    n_features_in_
        K.
    pair_count_, score_range_
        As in `Recalibrator`; items and their probabilities.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger (2017), On calibration of modern neural networks, ICML.
    arXiv:1706.04599

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(20_000, 3))
    >>> y = (logits + rng.gumbel(size=(20_000, 3))).argmax(axis=1)
    >>> fitted = VectorScaling(logits=True).fit(logits * [2, 1, 1] + [0, 0, 1], y)
    >>> fitted.scale_.round(1).tolist(), fitted.bias_.round(1).tolist()
    ([0.5, 1.0, 1.0], [0.3, 0.3, -0.7])
    """

    method: ClassVar[str] = "vector"
    _learned: ClassVar[tuple[str, ...]] = ("scale_", "bias_", "clipped_count_", "step_count_", "converged_")
    _parameters: ClassVar[dict[str, Check]] = {
        "classes": optional(list_of_names),
        "logits": flag,
        "penalty": non_negative,
        "clip": check_clip,
    }

    scale_: Floats
    bias_: Floats
    clipped_count_: int
    step_count_: int
    converged_: bool

    def __init__(
        self,
        classes: Sequence[str] | None = None,
        logits: bool = False,
        penalty: float = 0.0,
        clip: float = CLIP,
    ) -> None:
        self.classes = classes
        self.logits = logits
        self.penalty = penalty
        self.clip = clip

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn scales and biases from scores and labels.

        Parameters
        ----------
        X
            (n, K) probabilities (or logits).
        y
            (n,) true classes: indices, or names (see ``classes``).
        sample_weight
            (n,) non-negative weights; None counts every item once.

        Raises
        ------
        InputError
            For bad values (naming the row), or where no finite scales and biases are best.
        """
        self.check_parameters()
        penalty, clip = float(self.penalty), float(self.clip)
        items = items_of(X, y, sample_weight, classes=self.classes, logits=self.logits, clip=clip)
        if not penalty:
            _check_classes(items)
        self._minimize(items, penalty)
        self.clipped_count_ = items.clipped
        self.score_range_ = items.range
        self.n_features_in_, self.classes_ = items.logit.shape[1], items.classes
        self.pair_count_ = len(items.label)
        return self

    def _minimize(self, items: LogitItems, penalty: float) -> None:
        from scipy.optimize import minimize

        count = items.logit.shape[1]
        identity = np.concatenate([np.ones(count), np.zeros(count)])
        whole = float(items.weight.sum())

        def objective(x: Floats) -> tuple[float, Floats]:
            sums = vector_sums(items, x[:count], x[count:]) / whole
            gap = x - identity
            return float(sums[0] + penalty / 2 * gap @ gap), sums[1:] + penalty * gap

        found = minimize(objective, identity, jac=True, method="L-BFGS-B", options=_OPTIONS)
        gradient = float(np.abs(objective(found.x)[1]).max())
        top = (found.x[:count] * items.logit + found.x[count:]).argmax(axis=1)
        endless = gradient > _SMALL_GRADIENT and float(np.abs(found.x).max()) > _LARGE
        if not penalty and (endless or np.array_equal(top, items.label)):
            raise InputError(
                "scales or biases grow without end: some classes can be told apart without error",
                "pass more items, or set a penalty such as 1e-4",
                code="undefined",
            )
        self.scale_ = found.x[:count]
        self.bias_ = found.x[count:] - found.x[count:].mean()
        self.step_count_, self.converged_ = int(found.nit), gradient <= _SMALL_GRADIENT

    def transform(self, X: ArrayLike) -> Floats:
        """Return recalibrated probabilities.

        Parameters
        ----------
        X
            (n, K) probabilities (or logits) of the same classes.

        Returns
        -------
        ndarray of float64
            (n, K) in [0, 1]; rows sum to 1.

        Raises
        ------
        InputError
            If it has not been fitted, for bad values, or for another number of columns than in `fit`.
        """
        self.check_fitted()
        logit, _ = logits_of(X, logits=self.logits, clip=self.clip)
        if logit.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {logit.shape[1]} columns, and the scales were fitted on {self.n_features_in_}",
                "pass the scores of the same classes",
                code="shape",
            )
        return softmax(logit, self.scale_, self.bias_)

    def _restore(self, learned: dict[str, Any]) -> None:
        super()._restore(learned)
        if self.scale_.shape != (self.n_features_in_,) or self.bias_.shape != self.scale_.shape:
            raise ValueError("scales and biases are not one a class")


def _check_classes(items: LogitItems) -> None:
    count = np.bincount(items.label, minlength=len(items.classes))
    missing = items.classes[count == 0].tolist()
    if missing:
        raise InputError(
            f"no item is of the class {missing[0]!r}: its bias would be minus infinity",
            "leave its column out, or set a penalty such as 1e-4",
            code="undefined",
        )
