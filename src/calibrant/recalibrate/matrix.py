"""Matrix scaling: every class's logit may count for every class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from calibrant._checks import Check, Floats, flag, list_of_names, non_negative, optional
from calibrant.recalibrate._log_odds import CLIP, check_clip
from calibrant.recalibrate._logit_scaling import (
    LARGE,
    SMALL_GRADIENT,
    LogitItems,
    LogitScaling,
    affine_softmax,
    check_classes,
    endless,
    is_endless,
    matrix_sums,
    minimum,
)
from calibrant.recalibrate.base import numbers_of
from calibrant.recalibrate.draws import content_order, dealt

PENALTIES = tuple(10.0**power for power in range(5, -5, -1))
FOLDS = 5
WORSE = 1.01  # of the least loss: weaker penalties, which take longest, are then not tried
REMEDY = "leave the penalty to cross-validation"
_DIGITS = 6  # of logits that tell items apart; logarithms of probabilities have rounding errors
_ROUGH = {"ftol": 1e-9, "gtol": 1e-5}  # of fits that choose a penalty


class MatrixScaling(LogitScaling):
    """Matrix scaling: softmax(matrix @ logits + bias), with a K x K matrix, by penalized maximum likelihood.

    The penalty (ODIR) draws the matrix toward a diagonal one and the bias toward 0, since K^2 + K parameters
    overfit where classes are many. Its strength is chosen by cross-validation if you do not give it. Guo et
    al. have no penalty; ``penalty=0`` is their method. It can change the top label.

    Parameters
    ----------
    classes, logits, clip
        As in `VectorScaling`.
    penalty
        Factor of the penalty that is added to the mean negative log-likelihood: the mean square of the
        K (K - 1) off-diagonal elements plus the mean square of the bias. None chooses the factor
        among 1e5, 1e4, ..., 1e-4 with the smallest log loss in five-fold cross-validation. 0 is
        plain maximum likelihood.

    Attributes
    ----------
    matrix_
        (K, K); row i has the weights of all logits for class i. The off-diagonal elements of each column sum
        to 0, since a constant for a whole column changes nothing.
    bias_
        (K,) which sums to 0.
    penalty_
        Factor of the penalty, as given or chosen.
    converged_, step_count_, clipped_count_, n_features_in_, pair_count_, score_range_
        As in `VectorScaling`.

    Notes
    -----
    The folds are drawn over clusters, or else items, with a fixed seed; the order of items does not matter.
    With fewer than 10 items or 5 clusters, the strongest penalty is taken. Strong penalties are tried first,
    and weaker ones until the log loss is 1 % above the least, since weak ones take longest where classes are
    many. The diagonal is not penalized, so that a strong penalty gives vector scaling without biases. With
    two classes matrix and vector scaling are the same family of maps.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Weinberger (2017), On calibration of modern neural networks, ICML.
    arXiv:1706.04599

    M. Kull, M. Perello-Nieto, M. Kaengsepp, T. Silva Filho, H. Song and P. Flach (2019), Beyond temperature
    scaling: obtaining well-calibrated multiclass probabilities with Dirichlet calibration, NeurIPS, section 4
    (ODIR). arXiv:1910.12656

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> logits = rng.normal(size=(20_000, 3))
    >>> y = (logits + rng.gumbel(size=(20_000, 3))).argmax(axis=1)
    >>> mixed = logits @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    >>> fitted = MatrixScaling(logits=True).fit(mixed, y)
    >>> (fitted.matrix_[1] - fitted.matrix_[2]).round(1).tolist()
    [-0.5, 1.0, -0.5]
    """

    method: ClassVar[str] = "matrix"
    splits: ClassVar[bool] = True
    _learned: ClassVar[tuple[str, ...]] = ("matrix_", "bias_", "penalty_", *LogitScaling._status)
    _parameters: ClassVar[dict[str, Check]] = {
        "classes": optional(list_of_names),
        "logits": flag,
        "penalty": optional(non_negative),
        "clip": check_clip,
    }

    matrix_: Floats
    bias_: Floats
    penalty_: float

    def __init__(
        self,
        classes: Sequence[str] | None = None,
        logits: bool = False,
        penalty: float | None = None,
        clip: float = CLIP,
    ) -> None:
        self.classes = classes
        self.logits = logits
        self.penalty = penalty
        self.clip = clip

    def _minimize(self, items: LogitItems) -> None:
        penalty = _chosen(items) if self.penalty is None else float(self.penalty)
        if not penalty:
            check_classes(items, REMEDY)
        count = items.logit.shape[1]
        matrix, bias, self.step_count_, gradient = _fitted(items, penalty, np.eye(count), np.zeros(count))
        far = gradient > SMALL_GRADIENT and float(np.abs(matrix).max()) > LARGE
        features = items.logit[:, :, None]  # of what no penalty holds back
        if not penalty:
            whole = np.column_stack([items.logit, np.ones(len(items.logit))])
            features = np.broadcast_to(whole[:, None], (len(whole), count, count + 1))
        decided = matrix if not penalty else np.diag(np.diag(matrix))
        alone = items.logit @ decided.T + (bias if not penalty else 0.0)
        separated = np.array_equal(alone.argmax(axis=1), items.label)
        if far or separated or is_endless(items, items.logit @ matrix.T + bias, features):
            raise endless(
                "elements of the matrix", "use a method with fewer parameters" if penalty else REMEDY
            )
        # Several matrices are the same map; in this one, off-diagonal elements sum to 0 in each column.
        shift = (matrix.sum(axis=0) - np.diag(matrix)) / (count - 1)
        self.matrix_, self.bias_, self.penalty_ = matrix - shift, bias - bias.mean(), penalty
        self.converged_ = gradient <= SMALL_GRADIENT

    def _mapped(self, logit: Floats) -> Floats:
        return affine_softmax(logit, self.matrix_, self.bias_)

    def _restore(self, learned: dict[str, Any]) -> None:
        rows = learned.pop("matrix_")
        if not isinstance(rows, list):
            raise ValueError("its matrix is not a list of rows")
        super()._restore(learned)
        self.matrix_ = np.array([numbers_of(row) for row in rows])
        count = self.n_features_in_
        if self.matrix_.shape != (count, count) or self.bias_.shape != (count,) or not self.penalty_ >= 0:
            raise ValueError("matrix and biases do not match the classes")


def _fitted(
    items: LogitItems, penalty: float, start: Floats, bias: Floats, **options: float
) -> tuple[Floats, Floats, int, float]:
    """Matrix and bias that fit best, the steps of the search, and the largest derivative at its end."""
    count = items.logit.shape[1]
    whole = float(items.weight.sum())
    off = 1 - np.eye(count)

    def objective(x: Floats) -> tuple[float, Floats]:
        matrix, shift = x[: count * count].reshape(count, count), x[count * count :]
        sums = matrix_sums(items, matrix, shift) / whole
        outside = off * matrix
        size = np.sum(outside**2) / (count * (count - 1)) + np.mean(shift**2)
        slopes = [2 * outside.ravel() / (count * (count - 1)), 2 * shift / count]
        return float(sums[0] + penalty * size), sums[1:] + penalty * np.concatenate(slopes)

    first = np.concatenate([start.ravel(), bias])
    solution, steps, gradient = minimum(objective, first, **options)
    return solution[: count * count].reshape(count, count), solution[count * count :], steps, gradient


def _chosen(items: LogitItems) -> float:
    """Penalty of the least log loss in cross-validation, from the strongest on; that for few items."""
    unit = items.cluster
    n = len(items.label)
    units = n if unit is None else int(unit.max()) + 1
    if n < 2 * FOLDS or units < FOLDS:
        return PENALTIES[0]
    scores = [*items.logit.round(_DIGITS).T]
    order = content_order(scores, [items.label, items.weight], unit, units)
    fold = dealt(order, FOLDS, np.random.default_rng(0))
    fold = fold if unit is None else fold[unit]
    parts = [(_part(items, fold != number), _part(items, fold == number)) for number in range(FOLDS)]
    solutions = [(np.eye(items.logit.shape[1]), np.zeros(items.logit.shape[1]))] * FOLDS
    losses: list[float] = []
    for penalty in PENALTIES:
        solutions = [
            _fitted(fitting, penalty, matrix, bias, **_ROUGH)[:2]
            for (fitting, _), (matrix, bias) in zip(parts, solutions, strict=True)
        ]
        losses.append(
            sum(
                float(matrix_sums(held, *solution)[0])
                for (_, held), solution in zip(parts, solutions, strict=True)
            )
        )
        if losses[-1] > WORSE * min(losses):
            break
    return PENALTIES[int(np.argmin(losses))]


def _part(items: LogitItems, rows: Any) -> LogitItems:
    return replace(
        items, logit=items.logit[rows], label=items.label[rows], weight=items.weight[rows], cluster=None
    )
