"""Check shapes, ranges and labels once, at the edge; everything inside trusts `Pairs`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._kernels import checks as kernels
from calibrant.exceptions import InputError

T = TypeVar("T", bound=Hashable)
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST = (1 << 63) - 1  # what arrays of whole numbers hold
SMALLEST_WEIGHT = 1e-30  # and 1e30 the largest: sixth powers of their sums must not overflow


@dataclass(frozen=True)
class Pairs:
    """Checked pairs of a predicted probability and whether the event happened.

    Attributes
    ----------
    score
        (n,) float32 or float64 in [0, 1]; float32 is widened where it is used, not here.
    outcome
        (n,) zeros and ones of the dtype that was given (bool, integer or float): a large array is not copied.
        `label` is the same as bool.
    weight
        (n,) float64, non-negative, not all zero; None when every pair counts once.
    cluster
        (n,) int64 codes 0..cluster_count - 1 of what is dependent; None when pairs are independent.
    cluster_count
        The number of clusters; 0 without clusters.
    """

    score: NDArray[np.floating[Any]]
    outcome: NDArray[Any]
    weight: Floats | None = None
    cluster: Integers | None = None
    cluster_count: int = 0

    def __len__(self) -> int:
        return len(self.score)

    @property
    def label(self) -> NDArray[np.bool_]:
        """(n,) bool: True where the event happened."""
        return self.outcome if self.outcome.dtype == np.bool_ else self.outcome != 0

    def part(self, piece: slice) -> Pairs:
        """Return some of the pairs, with the same cluster codes."""
        return Pairs(
            self.score[piece],
            self.outcome[piece],
            None if self.weight is None else self.weight[piece],
            None if self.cluster is None else self.cluster[piece],
            self.cluster_count,
        )


def one_dimensional(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return ``values`` as a one-dimensional array, or raise; (n, 1) is not taken for (n,)."""
    if np.ma.is_masked(values):
        raise InputError(f"{name} has masked values", "drop those rows", code="missing-value")
    array = np.asarray(values)
    if array.ndim != 1:
        hint = "pass one column, or name the event" if array.ndim == 2 else "pass a 1-D array"
        raise InputError(f"{name} has shape {array.shape}, expected (n,)", hint, code="shape")
    if array.size == 0:
        raise InputError(f"{name} is empty", "pass at least one pair", code="empty")
    return array


def not_ragged(values: ArrayLike, name: str, hint: str) -> NDArray[Any]:
    """Return an array of any shape, or raise where lists of different lengths make none."""
    try:
        return np.asarray(values)
    except ValueError as ragged:
        message = f"{name} holds lists of different lengths"
        raise InputError(message, hint, code="shape") from ragged


def same_length(name: str, length: int, other: str, other_length: int) -> None:
    """Raise if two arguments differ in length."""
    if length != other_length:
        raise InputError(
            f"{name} has {length} values and {other} has {other_length}",
            "pass one of each a pair",
            code="length",
        )


def scores(values: ArrayLike, name: str = "y_prob", *, in_range: bool = True) -> NDArray[np.floating[Any]]:
    """Return scores as float32 or float64 within [0, 1], contiguous."""
    array = one_dimensional(values, name)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}", "pass numbers in [0, 1]", code="dtype")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    array = np.ascontiguousarray(array)
    row = kernels.first_outside_unit_interval(array) if in_range else -1
    if row >= 0:
        low, high = np.fmin.reduce(array), np.fmax.reduce(array)
        raise score_error(float(array[row]), row, name, float(low), float(high))
    return array


def score_error(value: float, row: int, name: str, low: float, high: float) -> InputError:
    """Say why one score is refused, with a guess at what the column holds."""
    if np.isnan(value) or np.isinf(value):
        hint = "drop the row or repair the model's output"
    elif low < -1 or (low < 0 and high > 1):
        hint = "these look like logits; apply a sigmoid or softmax first"
    elif low >= 0 and 10 < high <= 100:
        hint = "these look like percentages; divide by 100"
    elif low > -1e-3 and high < 1 + 1e-3:
        hint = "clip it if it is rounding error; nothing is guessed"
    else:
        hint = "pass probabilities; nothing is clipped or guessed"
    return InputError(
        f"{name}[{row}] is {value!r}, not a probability in [0, 1]", hint, code="score-range", row=row
    )


def labels(values: ArrayLike, name: str = "y_true", *, in_range: bool = True) -> NDArray[Any]:
    """Return labels 0 / 1 (bool, integer or float) as they are, contiguous."""
    array = np.ascontiguousarray(one_dimensional(values, name))
    if array.dtype.kind not in "fiub":
        raise InputError(
            f"{name} has dtype {array.dtype}", "pass labels 0 and 1, or name the event", code="dtype"
        )
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):  # which kernels do not know
        array = array.astype(np.float64)
    if not in_range or array.dtype == np.bool_:
        return array
    suspect = array.dtype.kind == "f" or kernels.any_other_integer(array)
    bad = kernels.first_other_label(array) if suspect else -1
    if bad >= 0:
        raise InputError(
            f"{name}[{bad}] is {array[bad].item()!r}, not 0 or 1",
            "pass whether the event happened; for class labels name the event",
            code="label-value",
            row=int(bad),
        )
    return array


def weights(values: ArrayLike, name: str = "sample_weight") -> Floats:
    """Return finite, non-negative weights that are not all zero."""
    array = one_dimensional(values, name)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}", "pass non-negative numbers", code="dtype")
    array = np.ascontiguousarray(array, dtype=np.float64)
    bad = np.flatnonzero(~((array >= 0) & (array < np.inf)))
    if len(bad):
        raise InputError(
            f"{name}[{bad[0]}] is {array[bad[0]].item()!r}, not a finite number >= 0",
            "drop the row or repair the weight",
            code="weight-value",
            row=int(bad[0]),
        )
    if not array.any():
        raise InputError(
            f"{name} is zero everywhere", "leave it out to count every pair once", code="weight-value"
        )
    used = array[array > 0]
    if used.min() < SMALLEST_WEIGHT or used.max() > 1 / SMALLEST_WEIGHT:
        out = (array > 0) & ((array < SMALLEST_WEIGHT) | (array > 1 / SMALLEST_WEIGHT))
        row = int(np.flatnonzero(out)[0])
        hint = "scale the weights so that they lie near 1; only their ratios matter"
        raise InputError(f"{name}[{row}] is {array[row].item()!r}", hint, code="weight-value", row=row)
    return array


def cluster_codes(values: ArrayLike, name: str = "clusters") -> tuple[Integers, NDArray[Any]]:
    """Return int64 codes 0..C-1 and the C cluster names they stand for (in sorted order)."""
    array = one_dimensional(values, name)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        row = int(np.flatnonzero(~np.isfinite(array))[0])
        raise InputError(
            f"{name}[{row}] is missing", "name the cluster of every pair", code="cluster", row=row
        )
    if array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        if low >= 0 and high < 4 * len(array) + 64:  # dense integers: no sort needed
            used = np.bincount(array, minlength=high + 1) > 0
            names = np.flatnonzero(used)
            code_of = np.cumsum(used) - 1
            return code_of[array].astype(np.int64, copy=False), names
    if array.dtype.kind == "O":
        missing = [i for i, value in enumerate(array) if value is None or value != value]
        if missing:
            raise InputError(
                f"{name}[{missing[0]}] is missing",
                "name the cluster of every pair",
                code="cluster",
                row=missing[0],
            )
        array = array.astype(str)
    names, codes = np.unique(array, return_inverse=True)
    return codes.astype(np.int64, copy=False), names


def pairs(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    values_are_checked_later: bool = False,
    label_name: str = "y_true",
    score_name: str = "y_prob",
) -> Pairs:
    """Check labels and scores (and weights and clusters) and return them as `Pairs`.

    Pairs of weight zero count for nothing and are dropped here, so that counts and bins never
    see them. ``values_are_checked_later`` leaves the range of scores and labels to the pass that
    the caller makes over them anyway. Errors call the arguments by ``label_name`` and ``score_name``.

    Raises
    ------
    InputError
        Naming the argument, the row, the value and what to do.

    Examples
    --------
    >>> len(pairs([0, 1], [0.2, 0.9]))
    2
    """
    score = scores(y_prob, score_name, in_range=not values_are_checked_later)
    outcome = labels(y_true, label_name, in_range=not values_are_checked_later)
    same_length(label_name, len(outcome), score_name, len(score))
    weight = None
    codes: Integers | None = None
    count = 0
    if sample_weight is not None:
        weight = weights(sample_weight)
        same_length("sample_weight", len(weight), score_name, len(score))
    if clusters is not None:
        codes, names = cluster_codes(clusters)
        same_length("clusters", len(codes), score_name, len(score))
        count = len(names)
    if weight is not None and not weight.all():
        keep = weight > 0
        score, outcome, weight = score[keep], outcome[keep], weight[keep]
        if codes is not None:
            codes, names = cluster_codes(codes[keep])
            count = len(names)
    return Pairs(score, outcome, weight, codes, count)


def positive_integer(value: object, name: str, *, largest: int | None = None) -> int:
    """Return a whole number from 1 to ``largest``, or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
        raise InputError(f"{name} is {value!r}", "give a whole number of at least 1", code="parameter")
    if largest is not None and value > largest:
        raise InputError(
            f"{name} is {value}, more than the {largest} pairs", f"give at most {largest}", code="parameter"
        )
    if value > LARGEST:
        raise InputError(f"{name} is {value:.2e}", f"give at most {LARGEST}", code="parameter")
    return int(value)


def non_negative(value: object, name: str) -> float:
    """Return a finite number of at least 0, or raise."""
    numbers = (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, numbers) or not 0 <= value <= sys.float_info.max:
        raise InputError(f"{name} is {value!r:.40}", "give a finite number of at least 0", code="parameter")
    return float(value)


def positive(value: object, name: str) -> float:
    """Return a finite number above 0, or raise."""
    numbers = (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, numbers) or not 0 < value <= sys.float_info.max:
        raise InputError(f"{name} is {value!r:.40}", "give a positive, finite number", code="parameter")
    return float(value)


def is_list(values: object) -> bool:
    """Whether values have a length and an order and are no text: a list, a tuple, an array, a column."""
    if isinstance(values, (list, tuple)):
        return True
    ordered = isinstance(values, Sequence) or getattr(values, "ndim", 0) > 0
    return ordered and not isinstance(values, (str, bytes))


def repeated(values: Iterable[T]) -> T:
    """Return the first value that is there more than once."""
    return next(value for value, times in Counter(values).items() if times > 1)


def one_of(value: object, options: Sequence[str], name: str) -> None:
    """Raise unless a value is one of some names."""
    if not (isinstance(value, str) and value in options):
        raise InputError(f"{name} is {value!r:.40}", f"use one of {', '.join(options)}", code="parameter")


def proportion(value: object, name: str, *, such_as: float = 0.95) -> float:
    """Return a number strictly between 0 and 1, or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0 < value < 1:
        hint = f"give a number between 0 and 1, such as {such_as}"
        raise InputError(f"{name} is {value!r}", hint, code="parameter")
    return float(value)


def instance(value: object, kind: type[Any], name: str, hint: str) -> None:
    """Raise unless a value is of a class."""
    if not isinstance(value, kind):
        message = f"{name} is of the type {type(value).__name__}, not {kind.__name__}"
        raise InputError(message, hint, code="parameter")
