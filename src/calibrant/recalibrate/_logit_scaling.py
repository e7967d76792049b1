"""Base of the methods that scale the logits of K classes: checks, fit and application of a map."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats
from calibrant._parallel import slices
from calibrant.exceptions import InputError
from calibrant.metrics.views import by_label
from calibrant.recalibrate._softmax import LogitItems, items_of, logits_of, softmax
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
            For bad values (with the row), or if no finite map maximizes the likelihood.
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
            If it has not been fitted, for bad values, or for another number of columns than in `fit`.
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

    found = minimize(objective, start, jac=True, method="L-BFGS-B", options=_OPTIONS | options)
    return found.x, int(found.nit), float(np.abs(objective(found.x)[1]).max())


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
    return InputError(
        f"{what} grow without limit, because scores separate some classes without error",
        f"pass more items, or {remedy}",
        code="undefined",
    )


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
        raise InputError(
            f"no item is of the class {missing[0]!r}: its bias would be minus infinity",
            f"leave its column out, or {remedy}",
            code="undefined",
        )
