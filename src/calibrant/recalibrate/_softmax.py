"""Check logits of K classes, and map them back to probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._checks import Floats, Integers, as_array
from calibrant._kernels import log_odds as kernels
from calibrant._parallel import default_threads, fold, slices
from calibrant.exceptions import InputError
from calibrant.metrics.views import class_predictions, label_codes

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
            raise InputError(
                f"X[{row}, {column}] is {value[row, column]}, not a finite logit",
                "a probability of 0 has no finite logit: pass probabilities instead of logits",
                code="score-range",
                row=row,
            )
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
