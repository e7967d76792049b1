"""Base of the methods that scale the logits of K classes: items, softmax, fit and application of a map."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Integers, as_array
from calibrant._kernels import log_odds as kernels
from calibrant._parallel import default_threads, fold, slices
from calibrant.exceptions import InputError
from calibrant.metrics.views import by_label, class_predictions, label_codes
from calibrant.recalibrate.base import ArrayRecalibrator, check_width

Objective = Callable[[Floats], tuple[float, Floats]]

LARGE = 1e3
SMALL_GRADIENT = 1e-6  # mean over items
_MOST_STEPS = 2000
_NEWTON_STEPS = 25
_SMALL_MOVE = 0.01  # of log-odds
_RIDGE = 1e-13
_MOST_PARAMETERS = 4000  # more are not checked: their second derivatives take too long
_CELLS = 1 << 22  # of features in memory at once
_OPTIONS = {"maxiter": _MOST_STEPS, "maxfun": 2 * _MOST_STEPS, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}

ROWS = 1 << 14  # number of items per piece of work


@dataclass(frozen=True)
class LogitItems:
    """Checked items: logits, true classes, weights.

    Attributes
    ----------
    logit
        (n, K) finite logits: logarithms of probabilities, or the given logits.
    label
        (n,) indices of the true classes.
    weight
        (n,) positive weights.
    classes
        (K,) labels of the columns.
    clipped
        Number of probabilities of 0, which were raised.
    range
        Lowest and highest probability.
    cluster
        (n,) codes of clusters; None: items are independent.
    """

    logit: Floats
    label: Integers
    weight: Floats
    classes: NDArray[Any]
    clipped: int
    range: tuple[float, float]
    cluster: Integers | None = None


def logits_of(X: ArrayLike, *, logits: bool, clip: float) -> tuple[Floats, Floats]:
    """Return logits (n, K) of scores, and their probabilities.

    Logits stay unchanged. Probabilities become their logarithms. A 0 becomes the smallest other
    probability of its row, and at most the clip, which keeps the order of the row.

    Raises
    ------
    InputError
        If a logit is not finite, a probability is outside [0, 1], or a row does not sum to 1.
    """
    array = as_array(X, "X", "pass one row of K scores per item")
    if array.ndim != 2 or array.shape[1] < 2:
        hint = "pass one column per class, or (n,) scores of one event"
        raise InputError(f"X has shape {array.shape}, expected (n, K) with K >= 2", hint, code="shape")
    if not len(array):
        raise InputError("X is empty", "pass at least one item", code="empty")
    if array.dtype.kind not in "fiub":
        raise InputError(f"X has dtype {array.dtype}", "pass numbers", code="dtype")
    if logits:
        value = np.ascontiguousarray(array, np.float64)
        bad = np.argwhere(~np.isfinite(value))
        if len(bad):
            row, column = (int(index) for index in bad[0])
            message = f"X[{row}, {column}] is {value[row, column]}, not a finite logit"
            hint = "a probability of 0 has no finite logit: pass probabilities instead of logits"
            raise InputError(message, hint, code="score-range", row=row)
        count = value.shape[1]
        return value, softmax(value, np.ones(count), np.zeros(count))
    prob = class_predictions(np.zeros(len(array), np.int64), array).prob.astype(np.float64)
    return np.log(np.maximum(prob, np.where(prob > 0, prob, clip).min(axis=1, keepdims=True))), prob


def items_of(
    X: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    clusters: ArrayLike | None = None,
    *,
    classes: Sequence[str] | None,
    logits: bool,
    clip: float,
) -> LogitItems:
    """Check scores and labels of K classes.

    Raises
    ------
    InputError
        As `logits_of`, and for invalid labels or weights.
    """
    logit, prob = logits_of(X, logits=logits, clip=clip)
    code, labels = label_codes(y, prob.shape[1], classes)
    checked = class_predictions(code, prob, sample_weight=sample_weight, clusters=clusters)
    if len(checked) < len(prob):
        kept = as_array(sample_weight, "sample_weight") > 0
        logit, prob = logit[kept], prob[kept]
    if (logit == logit[0]).all():
        message = "all rows of scores are equal: there is no slope to fit"
        raise InputError(message, "pass scores that differ", code="undefined")
    weight = np.ones(len(prob)) if checked.weight is None else checked.weight
    clipped = 0 if logits else int((prob == 0).sum())
    limits = float(prob.min()), float(prob.max())
    logit = np.ascontiguousarray(logit)
    return LogitItems(logit, checked.label, weight, labels, clipped, limits, checked.cluster)


def softmax(logit: Floats, scale: Floats, bias: Floats) -> Floats:
    """Return the softmax (n, K) of ``scale * logit + bias``, on several threads if there are many rows."""
    out = np.empty_like(logit)

    def update(_: None, piece: slice) -> None:
        kernels.softmax_map(logit[piece], scale, bias, out[piece])

    fold(slices(len(logit), ROWS), lambda: None, update, _threads(logit))
    return out


def affine_softmax(logit: Floats, matrix: Floats, bias: Floats) -> Floats:
    """Softmax (n, K) of ``matrix @ logit + bias`` of every row."""
    count = len(bias)
    return softmax(np.ascontiguousarray(logit @ matrix.T), np.ones(count), bias)


def temperature_sums(items: LogitItems, inverse: float) -> Floats:
    """Return the negative log-likelihood at 1/T, and its first two derivatives by 1/T."""

    def add(piece: slice, sums: Floats) -> None:
        kernels.temperature_sums(items.logit[piece], items.label[piece], items.weight[piece], inverse, sums)

    return _summed(items, 3, add)


def vector_sums(items: LogitItems, scale: Floats, bias: Floats) -> Floats:
    """Return the negative log-likelihood, and its derivatives by the K scales and the K biases."""

    def add(piece: slice, sums: Floats) -> None:
        logit, label, weight = items.logit[piece], items.label[piece], items.weight[piece]
        kernels.vector_sums(logit, label, weight, scale, bias, sums)

    return _summed(items, 1 + 2 * len(scale), add)


def matrix_sums(items: LogitItems, matrix: Floats, bias: Floats) -> Floats:
    """Negative log-likelihood of softmax(matrix @ logit + bias), and its derivatives by matrix and bias.

    (1 + K * K + K,): the value, the derivatives by the matrix row by row, the derivatives by the bias.
    """

    def add(piece: slice, sums: Floats) -> None:
        part = items.logit[piece] @ matrix.T + bias
        sums[0] = kernels.softmax_residuals(part, items.label[piece], items.weight[piece])
        sums[1:] = np.concatenate([(part.T @ items.logit[piece]).ravel(), part.sum(axis=0)])

    return _summed(items, 1 + matrix.size + len(bias), add)


def _summed(items: LogitItems, width: int, add: Callable[[slice, Floats], None]) -> Floats:
    """Return sums over pieces of the items, in order, so that the number of threads does not matter."""
    pieces = list(slices(len(items.logit), ROWS))
    sums = np.zeros((len(pieces), width))

    def update(_: None, number: int) -> None:
        add(pieces[number], sums[number])

    fold(range(len(pieces)), lambda: None, update, _threads(items.logit))
    total: Floats = sums.sum(axis=0)
    return total


def _threads(logit: Floats) -> int:
    return default_threads() if logit.size > 1 << 20 else 1


class LogitScaling(ArrayRecalibrator):
    """Base of the maps of all K logits of an item to probabilities.

    A subclass implements ``_minimize``, which learns the map, and ``_mapped``, which applies it.
    """

    _status: ClassVar[tuple[str, ...]] = ("clipped_count_", "step_count_", "converged_")

    classes: Sequence[str] | None
    logits: bool
    clip: float
    clipped_count_: int
    step_count_: int
    converged_: bool

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
    ) -> Self:
        """Fit the map to scores and labels.

        Parameters
        ----------
        X
            (n, K) probabilities (or logits).
        y
            (n,) true classes: indices, or names (see ``classes``).
        sample_weight
            (n,) non-negative weights; None counts every item once.
        clusters
            (n,) clusters of dependent items (document, annotated item). The cross-validation of matrix
            scaling does not split them; vector scaling does not use them.

        Raises
        ------
        InputError
            If no finite map maximizes the likelihood.
        """
        self.check_parameters()
        X = by_label(X, y, self.classes)
        kept = clusters if self.splits else None
        items = items_of(X, y, sample_weight, kept, classes=self.classes, logits=self.logits, clip=self.clip)
        self._minimize(items)
        self.clipped_count_ = items.clipped
        self.score_range_ = items.range
        self.n_features_in_, self.classes_ = items.logit.shape[1], items.classes
        self.pair_count_ = len(items.label)
        return self

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
            If it has not been fitted, or for another number of columns than in `fit`.
        """
        self.check_fitted()
        X = by_label(X, self.classes_, self.classes_)
        logit, _ = logits_of(X, logits=self.logits, clip=self.clip)
        check_width(logit.shape[1], self.n_features_in_)
        return self._mapped(logit)

    @abstractmethod
    def _minimize(self, items: LogitItems) -> None:
        """Learn the map of checked items."""

    @abstractmethod
    def _mapped(self, logit: Floats) -> Floats:
        """Probabilities (n, K) of checked logits."""


def minimum(objective: Objective, start: Floats, **options: Any) -> tuple[Floats, int, float]:
    """Return where a smooth convex function is smallest, the steps of L-BFGS, and the largest derivative."""
    from scipy.optimize import minimize

    optimum = minimize(objective, start, jac=True, method="L-BFGS-B", options=_OPTIONS | options)
    return optimum.x, int(optimum.nit), float(np.abs(objective(optimum.x)[1]).max())


def is_endless(items: LogitItems, logit: Floats, features: Floats) -> bool:
    """True if the likelihood rises without limit from where a search ended: Newton's steps never get small.

    Where scores separate a class, its wrong probabilities fall as exp(-t), so every Newton step moves
    log-odds by about 1. At a finite maximum the first step is already small. The gradient alone does not
    tell these cases apart.

    Parameters
    ----------
    logit
        (n, K) outputs where the search ended.
    features
        (n, K, m) what the m parameters of each class multiply.
    """
    n, count, width = features.shape
    if count * width > _MOST_PARAMETERS:
        return False
    used = features.any(axis=0).ravel()
    for _ in range(_NEWTON_STEPS):
        slope, curvature = np.zeros(count * width), np.zeros((count * width, count * width))
        for piece in slices(n, max(1, _CELLS // (count * width))):
            _add_derivatives(items, piece, logit, features[piece], slope, curvature)
        size = np.sqrt(np.diag(curvature))
        flat = size == 0
        if flat[used].any():  # wrong probabilities are 0
            return True
        size[flat] = 1.0
        scaled = curvature / np.outer(size, size) + _RIDGE * np.eye(len(size))  # a common bias has no effect
        step = (np.linalg.solve(scaled, -slope / size) / size).reshape(count, width)
        moved = np.einsum("ikm,km->ik", features, step)
        moved -= moved[np.arange(n), items.label][:, None]
        most = float(np.abs(moved).max())
        if most < _SMALL_MOVE:
            return False
        logit = logit + moved / max(1.0, most)
    return True


def _add_derivatives(
    items: LogitItems, piece: slice, logit: Floats, features: Floats, slope: Floats, curvature: Floats
) -> None:
    """Add the first two derivatives of the negative log-likelihood of some items.

    They are sums over wrong classes, whose probabilities can be below the rounding error of the true one's.
    """
    n, count, width = features.shape
    label, weight, every = items.label[piece], items.weight[piece], np.arange(n)
    wrong = softmax(np.ascontiguousarray(logit[piece]), np.ones(count), np.zeros(count))
    wrong[every, label] = 0.0
    residual = wrong.copy()
    residual[every, label] = -wrong.sum(axis=1)
    part = (residual[:, :, None] * features).reshape(n, -1)
    slope += weight @ part
    curvature -= part.T @ (weight[:, None] * part)
    part = (wrong[:, :, None] * features).reshape(n, -1)
    for code in range(count):
        own = slice(code * width, (code + 1) * width)
        feature = weight[:, None] * features[:, code]
        curvature[own, own] += features[:, code].T @ (np.abs(residual[:, code])[:, None] * feature)
        rows = label == code
        cross = part[rows].T @ feature[rows]
        curvature[:, own] -= cross
        curvature[own] -= cross.T


def endless(what: str, remedy: str) -> InputError:
    """The error for labels that no finite map fits best."""
    message = f"{what} grow without limit, because scores separate some classes without error"
    return InputError(message, f"pass more items, or {remedy}", code="undefined")


def check_classes(items: LogitItems, remedy: str) -> None:
    """Raise if a class has no items.

    Raises
    ------
    InputError
        With code ``undefined``, naming the class.
    """
    count = np.bincount(items.label, minlength=len(items.classes))
    missing = items.classes[count == 0].tolist()
    if missing:
        message = f"no item is of the class {missing[0]!r}: its bias would be minus infinity"
        raise InputError(message, f"leave its column out, or {remedy}", code="undefined")
