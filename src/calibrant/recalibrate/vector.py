"""Vector scaling: a scale and a bias for each of K logits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from calibrant._checks import Check, Floats, flag, list_of_names, non_negative, optional
from calibrant.recalibrate._log_odds import CLIP, check_clip
from calibrant.recalibrate._logit_scaling import (
    LARGE,
    SMALL_GRADIENT,
    LogitItems,
    LogitScaling,
    check_classes,
    endless,
    is_endless,
    minimum,
    softmax,
    vector_sums,
)

REMEDY = "set a penalty such as 1e-4"
_ROUNDING = 1e-13


class VectorScaling(LogitScaling):
    """Vector scaling: softmax(scale * logits + bias), with a scale and a bias for each class.

    The likelihood is concave. Biases sum to 0, because a common constant has no effect. The map can change
    the top label. Maps on logits and on log-probabilities differ, because the normalizing constant of
    log-probabilities is scaled too.

    Parameters
    ----------
    classes
        K class names, if the columns are not in the sorted order of the labels. None: labels are indices
        0..K - 1, or K names in sorted order.
    logits
        True if X contains logits. By default, X contains probabilities, whose logarithms are used.
    penalty
        Penalty; the mean negative log-likelihood is increased by penalty / 2 times the sum of (scale - 1)^2
        and bias^2. 0 is plain maximum likelihood. With a penalty, classes without items keep a finite bias.
    clip
        Probability that replaces 0, which has no logarithm, in the fit and in its application; a row with a
        smaller positive probability takes that one.

    Attributes
    ----------
    scale_, bias_
        (K,) the fitted map.
    converged_, step_count_
        True if the gradient is nearly 0 (1e-6, as a mean over items), and the number of steps of L-BFGS.
    clipped_count_
        Number of probabilities of 0 in the fit.
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
    _learned: ClassVar[tuple[str, ...]] = ("scale_", "bias_", *LogitScaling._status)
    _parameters: ClassVar[dict[str, Check]] = {
        "classes": optional(list_of_names),
        "logits": flag,
        "penalty": non_negative,
        "clip": check_clip,
    }

    scale_: Floats
    bias_: Floats

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

    def _minimize(self, items: LogitItems) -> None:
        penalty = float(self.penalty)
        if not penalty:
            check_classes(items, REMEDY)
        count = items.logit.shape[1]
        identity = np.concatenate([np.ones(count), np.zeros(count)])
        whole = float(items.weight.sum())

        def objective(x: Floats) -> tuple[float, Floats]:
            sums = vector_sums(items, x[:count], x[count:]) / whole
            gap = x - identity
            return float(sums[0] + penalty / 2 * gap @ gap), sums[1:] + penalty * gap

        solution, self.step_count_, gradient = minimum(objective, identity)
        if not penalty:
            far = gradient > SMALL_GRADIENT and float(np.abs(solution).max()) > LARGE
            output = solution[:count] * items.logit + solution[count:]
            certain = far or np.array_equal(output.argmax(axis=1), items.label)
            if certain or is_endless(items, output, _features(items.logit, output)):
                raise endless("scales or biases", REMEDY)
        self.scale_ = solution[:count]
        self.bias_ = solution[count:] - solution[count:].mean()
        self.converged_ = gradient <= SMALL_GRADIENT

    def _mapped(self, logit: Floats) -> Floats:
        return softmax(logit, self.scale_, self.bias_)

    def _restore(self, learned: dict[str, Any]) -> None:
        super()._restore(learned)
        if self.scale_.shape != (self.n_features_in_,) or self.bias_.shape != self.scale_.shape:
            raise ValueError("there is not one scale and one bias per class")


def _features(logit: Floats, output: Floats) -> Floats:
    """Return (n, K, 2): what scale and bias multiply, with logits relative to a center of each class."""
    one = np.ones(logit.shape[1])
    prob = softmax(np.ascontiguousarray(output), one, 0 * one)
    unsure = prob * (1 - prob)
    # At the center, where the class is unsure, the map may be exact, as for equal logits at the boundary of
    # separated ones. The slope there is then distinct from the bias, whose curvature is much larger.
    away = logit - np.sum(unsure * logit, axis=0) / np.maximum(unsure.sum(axis=0), np.finfo(float).tiny)
    away[np.abs(away) <= _ROUNDING * np.abs(logit).max(axis=0)] = 0.0
    return np.stack([away, np.ones_like(away)], axis=2)
