"""Check shapes, ranges and labels once, at the edge; everything inside trusts `Pairs`."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant._kernels import tally as kernels
from calibrant.exceptions import InputError

if TYPE_CHECKING:
    import msgspec

T = TypeVar("T", bound=Hashable)
Kind = TypeVar("Kind")
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Check = Callable[[object, str], object]  # of a value and the name of its argument; it raises `InputError`

LARGEST = (1 << 63) - 1  # what arrays of whole numbers hold
MOST_SAMPLES = 10_000_000
FEWEST_SAMPLED = 20  # structures: 95 % quantiles of 10 samples cover 87 to 95 %, those of 20 94 to 98 %
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-30, 1e30  # sixth powers of their sums must not overflow
SUM_TOLERANCE = 0.01 + 1e-9  # of the probabilities of an item's classes: 1.01 passes, as the messages say
LONGEST_REASON = 200  # characters of an error that may quote a file
LARGEST_RATIO = 1e9  # of two weights: more digits than that are lost when one is subtracted from a sum


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

    def part(self, piece: slice | Integers) -> Pairs:
        """Return some of the pairs, with the same cluster codes."""
        return Pairs(
            self.score[piece],
            self.outcome[piece],
            None if self.weight is None else self.weight[piece],
            None if self.cluster is None else self.cluster[piece],
            self.cluster_count,
        )

    @staticmethod
    def joined(parts: Sequence[Pairs]) -> Pairs:
        """Return all pairs of some parts, whose clusters have the same codes."""
        names = ("score", "outcome", "weight", "cluster")
        columns: Any = (join(getattr(part, name) for part in parts) for name in names)
        score, outcome, weight, cluster = columns
        return Pairs(score, outcome, weight, cluster, max(part.cluster_count for part in parts))


def join(parts: Iterable[NDArray[Any] | None]) -> NDArray[Any] | None:
    """Return one array of those parts that exist; None if there are none."""
    present = [part for part in parts if part is not None]
    return np.concatenate(present) if present else None


def as_array(values: Any, name: str, hint: str = "pass one value per row") -> NDArray[Any]:
    """Return an array, a list, a column, a tensor, or what has ``__array__`` or DLPack, as an array.

    A PyTorch tensor is detached from its gradient and copied to the CPU, as is a CuPy array. Types that NumPy
    lacks, such as bfloat16, become float32, and bytes get the machine's order. A list that mixes texts with
    other values keeps them as they are; objects that are all integers, floats or truth values become numbers.

    Raises
    ------
    InputError
        If it is ragged, has masked values, or is on another device.

    Examples
    --------
    >>> as_array([1, 0], "y_true"), as_array(["1", 1], "clusters")
    (array([1, 0]), array(['1', 1], dtype=object))
    """
    if "numpy.ma" in sys.modules and np.ma.is_masked(values):
        raise InputError(f"{name} has masked values", "drop those rows", code="missing-value")
    try:
        if hasattr(values, "detach") and hasattr(values, "is_floating_point"):
            values = values.detach().cpu()
            known = str(values.dtype).endswith((".float16", ".float32", ".float64"))
            if not known and values.is_floating_point():  # a type that NumPy lacks
                values = values.float()
        elif type(values).__module__.partition(".")[0] == "cupy":
            values = values.get()  # CuPy copies to the host only if told to
        if not hasattr(values, "__array__") and hasattr(values, "__dlpack__"):
            return np.from_dlpack(values, device="cpu")
        array = np.asarray(values)
        if array.dtype.name == "bfloat16":  # of JAX
            array = array.astype(np.float32)
        if array.dtype.kind in "US" and not hasattr(values, "__array__"):
            mixed = np.asarray(values, dtype=object)
            return array if all(isinstance(item, (str, bytes)) for item in mixed.flat) else mixed
        if array.dtype.kind == "O" and set(map(type, array.flat)) in ({bool}, {int}, {float}):
            return np.asarray(array.tolist())
        return array.astype(array.dtype.newbyteorder("="), copy=False)  # which kernels and Arrow read
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        if "inhomogeneous" in str(error):
            raise InputError(f"{name} contains lists of different lengths", hint, code="shape") from error
        message = f"{name} cannot be read as an array ({' '.join(str(error).split())[:80]})"
        hint = "pass numbers on the CPU, such as tensor.detach().cpu() in PyTorch"
        raise InputError(message, hint, code="dtype") from error


def one_dimensional(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return ``values`` as a one-dimensional array, or raise; (n, 1) is not taken for (n,)."""
    array = as_array(values, name)
    if array.ndim != 1:
        hint = "pass one column" if array.ndim == 2 else "pass a 1-D array"
        if array.ndim == 2 and array.shape[1] > 1:
            hint += " at a time; calibrant.measure takes labels (n,) and probabilities (n, K) of K classes"
        raise InputError(f"{name} has shape {array.shape}, expected (n,)", hint, code="shape")
    if array.size == 0:
        raise InputError(f"{name} is empty", "pass at least one pair", code="empty")
    return array


def same_length(name: str, length: int, other: str, other_length: int) -> None:
    """Raise if two arguments differ in length."""
    if length != other_length:
        message = f"{name} has {length} values and {other} has {other_length}"
        raise InputError(message, "pass one of each per pair", code="length")


def same_rows(**named: Any) -> tuple[str, ...]:
    """Raise if the indexes of two pandas objects tell that their positions are of different rows.

    Either both have the same index in different orders, or their indexes overlap, and neither counts from 0.
    If one counts from 0, and the other has most of these numbers, return a note.

    Examples
    --------
    >>> import pandas as pd
    >>> same_rows(y=pd.Series([0, 1]), p=pd.Series([0.2, 0.9]), clusters=["a", "b"])
    ()
    >>> same_rows(y=pd.Series([0, 1]), p=pd.Series([0.2, 0.9], index=[1, 0]))
    Traceback (most recent call last):
    calibrant.exceptions.InputError: y and p have the same index in different orders: pair them by index...
    """
    known = {name: values.index for name, values in named.items() if hasattr(values, "iloc")}
    notes = []
    for (first, one), (second, other) in combinations(known.items(), 2):
        if len(one) != len(other) or one.equals(other):
            continue
        shared = one.isin(other)
        message = f"{first} and {second} have the same index in different orders"
        hint = f"pair them by index with {second}.loc[{first}.index], or by position with .to_numpy()"
        if not shared.all():
            counted = np.arange(len(one))
            if not shared.any() or any(np.array_equal(column, counted) for column in (one, other)):
                if 2 * shared.sum() > len(one):
                    notes.append(f"{first} and {second} have different indexes, and were paired by position.")
                continue
            message = f"the indexes of {first} and {second} share only {shared.sum()} of {len(one)} rows"
            hint = "pass the same rows, or pair them by position with .to_numpy()"
        raise InputError(message, hint, code="row-order")
    return tuple(notes)


def scores(values: ArrayLike, name: str = "y_prob", *, in_range: bool = True) -> NDArray[np.floating[Any]]:
    """Return scores as float32 or float64 within [0, 1], contiguous, zeros without a sign."""
    array = one_dimensional(values, name)
    if not in_range:
        return _floats(array, name)
    array, row = unit_interval(array, name)
    if row >= 0:
        low, high = np.fmin.reduce(array), np.fmax.reduce(array)
        raise score_error(float(array[row]), row, name, float(low), float(high))
    return array


def _floats(array: NDArray[Any], name: str) -> NDArray[np.floating[Any]]:
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}", "pass floats in [0, 1]", code="dtype")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return np.ascontiguousarray(array)


def unit_interval(array: NDArray[Any], name: str) -> tuple[NDArray[np.floating[Any]], int]:
    """Return numbers as float32 or float64, contiguous, and the place of the first that is no score.

    Every score enters here, from arrays, files and frames: a score of -0.0 becomes 0.0, since what is behind
    this works with the bits of scores.

    Returns
    -------
    tuple
        The array, and the index into its flat form of the first value that is not in [0, 1], or -1.

    Examples
    --------
    >>> unit_interval(np.array([[0.5, -0.0], [2.0, 1.0]]), "y_prob")
    (array([[0.5, 0. ],
           [2. , 1. ]]), 2)
    """
    array = _floats(array, name)
    bits = np.dtype(f"u{array.dtype.itemsize}")
    largest = np.ones(1, array.dtype).view(bits)[0]
    place = kernels.first_above(array.reshape(-1).view(bits), largest)
    if place >= 0:
        with np.errstate(invalid="ignore"):  # a damaged NaN may be a signaling one
            array = array + array.dtype.type(0)  # -0.0 + 0.0 is 0.0; a large array is copied only if needed
        place = kernels.first_above(array.reshape(-1).view(bits), largest)
    return array, int(place)


def score_error(value: float, row: int, name: str, low: float, high: float) -> InputError:
    """Return the error for one invalid score, with a hint about the probable content of the column."""
    hint = range_hint(low, high, "it") if np.isfinite(value) else "drop the row or repair the model's output"
    message = f"{name}[{row}] is {value!r}, not a probability in [0, 1]"
    return InputError(message, hint, code="score-range", row=row)


def range_hint(low: float, high: float, what: str) -> str:
    """Return a hint about scores from low to high, some of which (``what``) are outside [0, 1]."""
    if low < -1e-3 and high <= 0:
        return "these look like log-probabilities (pass their exponentials) or logits (pass their sigmoids)"
    if low < -1 or (low < 0 and high > 1):
        return "these look like logits; apply a sigmoid or softmax first"
    if low >= 0 and 10 < high <= 100:
        return "these look like percentages; divide by 100"
    if low > -1e-3 and high < 1 + 1e-3:
        return f"clip {what} if it is rounding error"
    return "pass probabilities; calibrant does not clip them"


def labels(values: ArrayLike, name: str = "y_true", *, in_range: bool = True) -> NDArray[Any]:
    """Return labels 0 / 1 (bool, integer or float) as they are, contiguous."""
    array = np.ascontiguousarray(one_dimensional(values, name))
    if array.dtype.kind not in "fiub":
        if array.dtype.kind == "O":
            cluster_codes(array, name, hint="drop rows without a label", code="missing-value")
        hint = f"pass labels 0 and 1, such as {name} == 'yes'"
        raise InputError(f"{name} has dtype {array.dtype}", hint, code="dtype")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):  # which kernels do not know
        array = array.astype(np.float64)
    if not in_range or array.dtype == np.bool_:
        return array
    suspect = array.dtype.kind == "f" or kernels.any_other_integer(array)
    bad = kernels.first_other_label(array) if suspect else -1
    if bad >= 0:
        value = array[bad].item()
        hint = "pass 1 where the event happened and 0 elsewhere, or, for more than two classes, a matrix of "
        hint += "probabilities with one column per class"
        hint = hint if value == value else "drop rows without a label"
        raise InputError(f"{name}[{bad}] is {value!r}, not 0 or 1", hint, code="label-value", row=int(bad))
    return array


@dataclass
class WeightRange:
    """Smallest and largest positive weight seen so far, over all batches of a table.

    Examples
    --------
    >>> seen = WeightRange()
    >>> seen.add(np.array([0.0, 2.0, 1.0]))
    >>> seen.least, seen.most
    (1.0, 2.0)
    """

    least: float = np.inf
    most: float = 0.0

    def add(self, weight: Floats, name: str | None = None) -> None:
        """Check weights, which errors call by a name (None: by their value), and take them in.

        Raises
        ------
        InputError
            Naming the first row whose weight is negative, missing, infinite, outside 1e-30 to 1e30, or more
            than 1e9 times as large or as small as another's. A weight of 0 is allowed.
        """
        least, most = SMALLEST_WEIGHT, LARGEST_WEIGHT
        bad = np.flatnonzero(~((weight == 0) | ((weight >= least) & (weight <= most))))
        if len(bad):
            row, value = int(bad[0]), weight[bad[0]].item()
            what, hint = "not a finite weight >= 0", "drop the row or repair the weight"
            if 0 < value < np.inf:
                what = f"outside {least:g} to {most:g}"
                hint = "scale the weights so that they are near 1; only their ratios matter"
            raise _weight_error(name, row, value, what, hint)
        used = weight[weight > 0]
        if not len(used):
            return
        low, high = min(self.least, float(used.min())), max(self.most, float(used.max()))
        if high > LARGEST_RATIO * low:
            far = np.abs(np.log(used / np.median(used)))
            row = int(np.flatnonzero(weight > 0)[np.argmax(far)])
            raise _weight_error(name, row, weight[row].item(), *too_unequal(low, high))
        self.least, self.most = low, high


def too_unequal(low: float, high: float) -> tuple[str, str]:
    """Return what is wrong with a weight that is far from the others, and the remedy."""
    what = (
        f"too unequal to others: weights from {low:g} to {high:g} differ by a factor above {LARGEST_RATIO:g}"
    )
    return what, "repair the weight, or make the smallest ones 0, which leaves their rows out"


def _weight_error(name: str | None, row: int, value: float, what: str, hint: str) -> InputError:
    subject = f"{value!r} is" if name is None else f"{name}[{row}] is {value!r},"
    return InputError(f"{subject} {what}", hint, code="weight-value", row=row)


def weights(values: ArrayLike, name: str = "sample_weight") -> Floats:
    """Return finite, non-negative weights that are not all zero, within the range of `WeightRange`."""
    array = one_dimensional(values, name)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}", "pass non-negative numbers", code="dtype")
    array = np.ascontiguousarray(array, dtype=np.float64)
    WeightRange().add(array, name)
    if not array.any():
        message, hint = f"{name} is zero everywhere", "leave it out to count every pair once"
        raise InputError(message, hint, code="weight-value")
    return array


def cluster_codes(
    values: ArrayLike,
    name: str = "clusters",
    *,
    hint: str = "name the cluster of every pair",
    code: str = "cluster",
) -> tuple[Integers, NDArray[Any]]:
    """Return int64 codes 0..C-1 and their C names in sorted order.

    Raises
    ------
    InputError
        Naming the row: a name is missing (None, NaN, NaT, ``pandas.NA``) or is a list, or two names of
        different types read the same (1 and "1"). Missing names have the ``hint`` and the ``code`` given.
    """
    array = one_dimensional(values, name)
    if array.dtype.kind in "fcmM":
        missing = ~np.isfinite(array)  # of times: NaT
        if missing.any():
            row = int(np.flatnonzero(missing)[0])
            raise InputError(f"{name}[{row}] is missing", hint, code=code, row=row)
    if array.dtype.kind == "f":
        check_not_merged(array)
    if array.dtype.kind in "iu":
        low, high = int(array.min()), int(array.max())
        if low >= 0 and high < 4 * len(array) + 64:  # dense integers: no sort needed
            used = np.bincount(array, minlength=high + 1) > 0
            names = np.flatnonzero(used)
            code_of = np.cumsum(used) - 1
            return code_of[array].astype(np.int64, copy=False), names
    if array.dtype.kind == "O":
        return _codes_of_objects(array.tolist(), name, hint, code)
    names, codes = np.unique(array, return_inverse=True)
    codes = codes.astype(np.int64, copy=False)
    _check_unicode(names, codes, name)
    return codes, names


def clusters_of(values: ArrayLike | None, other: str, length: int) -> tuple[Integers | None, int]:
    """Return the codes and the number of the clusters of another argument's values; None and 0 without."""
    if values is None:
        return None, 0
    codes, names = cluster_codes(values)
    same_length("clusters", len(codes), other, length)
    return codes, len(names)


def _check_unicode(names: NDArray[Any], codes: Integers, name: str) -> None:
    """Raise where a name has half of a character, which no file and no page can hold."""
    if names.dtype.kind != "U" or is_unicode("".join(names.tolist())):
        return
    bad = next(code for code, text in enumerate(names.tolist()) if not is_unicode(text))
    row = int(np.flatnonzero(codes == bad)[0])
    message = f"{name}[{row}] has an incomplete character (a lone surrogate)"
    raise InputError(message, "correct it", code="dtype", row=row)


def _codes_of_objects(values: list[Any], name: str, hint: str, code: str) -> tuple[Integers, NDArray[Any]]:
    """Codes of values of any type, which are named by their texts."""
    place: dict[Any, int] = {}
    rows: list[int] = []
    codes = np.empty(len(values), np.int64)
    for row, value in enumerate(values):
        if is_missing(value):
            raise InputError(f"{name}[{row}] is missing", hint, code=code, row=row)
        try:
            codes[row] = place.setdefault(value, len(place))
        except TypeError as error:
            message = f"{name}[{row}] is of the type {type(value).__name__}, which cannot be a name"
            raise InputError(message, "use texts or numbers", code="dtype", row=row) from error
        if len(place) > len(rows):
            rows.append(row)
    texts = [str(value).rstrip("\0") for value in place]  # NumPy drops zeros at the end
    names, order = np.unique(texts, return_inverse=True)
    if len(names) < len(texts):
        later = next(i for i, text in enumerate(texts) if text in texts[:i])
        earlier = texts.index(texts[later])
        one, two = (f"{name}[{rows[i]}] is {values[rows[i]]!r:.40}" for i in (earlier, later))
        message = f"{one} and {two}: two different values are written as the same text"
        raise InputError(message, "write one type of names", code="dtype", row=rows[later])
    codes = order.astype(np.int64)[codes]
    _check_unicode(names, codes, name)
    return codes, names


def is_unicode(text: str) -> bool:
    r"""Return whether a text can be written, which half of a surrogate pair cannot.

    Examples
    --------
    >>> is_unicode("caf\u00e9"), is_unicode("\ud800")
    (True, False)
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, NaT or ``pandas.NA``.

    Examples
    --------
    >>> is_missing(None), is_missing(float("nan")), is_missing(""), is_missing([1])
    (True, True, False, False)
    """
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal to itself nor different
        return True
    except ValueError:  # of an array: each of its values
        return False


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
    same_rows(
        **{label_name: y_true, score_name: y_prob, "sample_weight": sample_weight, "clusters": clusters}
    )
    score = scores(y_prob, score_name, in_range=not values_are_checked_later)
    outcome = labels(y_true, label_name, in_range=not values_are_checked_later)
    same_length(label_name, len(outcome), score_name, len(score))
    weight = None
    if sample_weight is not None:
        weight = weights(sample_weight)
        same_length("sample_weight", len(weight), score_name, len(score))
    codes, count = clusters_of(clusters, score_name, len(score))
    if weight is not None and not weight.all():
        keep = weight > 0
        score, outcome, weight = score[keep], outcome[keep], weight[keep]
        if codes is not None:
            codes, names = cluster_codes(codes[keep])
            count = len(names)
    return Pairs(score, outcome, weight, codes, count)


def check_not_merged(names: NDArray[np.floating[Any]]) -> None:
    """Raise `InputError` with the row of a name whose next whole number is no float of its type.

    Examples
    --------
    >>> check_not_merged(np.array([2.0**53 - 1]))
    """
    large = np.abs(names) >= 2.0 ** (np.finfo(names.dtype).nmant + 1)
    if large.any():
        row = int(large.argmax())
        what = "a float of 2^53 or more: different whole numbers may have become one"
        message = f"{names[row].item()!r} is {what}"
        hint = "give whole numbers of an integer type, or text"
        raise InputError(message, hint, code="column-type", row=row)


def shown(value: object, most: int = 60) -> str:
    """Write a value for a message, a long one shortened.

    Examples
    --------
    >>> shown("spam"), shown("a long text", most=6)
    ("'spam'", "'a long...'")
    """
    if isinstance(value, str) and len(value) > most:
        return repr(value[:most] + "...")
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no more than 4300 digits
        return "a number with thousands of digits"
    return text if isinstance(value, str) or len(text) <= most else text[:most] + "..."


def positive_integer(value: object, name: str, *, least: int = 1, most: int = LARGEST) -> int:
    """Return a whole number from ``least`` to ``most``, or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        hint = f"give a whole number of at least {least}"
        raise InputError(f"{name} is {shown(value)}", hint, code="parameter")
    if value > most:
        raise InputError(f"{name} is {shown(value)}", f"give at most {most:,}", code="parameter")
    return int(value)


def sample_count(value: object, name: str = "samples", *, least: int = 1) -> int:
    """Return a number of random draws, at most 10^7, or raise: more would take hours and add no precision."""
    return positive_integer(value, name, least=least, most=MOST_SAMPLES)


def non_negative(value: object, name: str) -> float:
    """Return a finite number of at least 0, or raise."""
    number = finite(value, name)
    if number < 0:
        raise InputError(f"{name} is {shown(value)}", "give a finite number of at least 0", code="parameter")
    return number


def finite(value: object, name: str) -> float:
    """Return a finite number, or raise."""
    numbers, most = (int, float, np.integer, np.floating), sys.float_info.max
    if isinstance(value, bool) or not isinstance(value, numbers) or not -most <= value <= most:
        raise InputError(f"{name} is {shown(value)}", "give a finite number", code="parameter")
    return float(value)


def positive(value: object, name: str) -> float:
    """Return a finite number above 0, or raise."""
    numbers = (int, float, np.integer, np.floating)
    if isinstance(value, bool) or not isinstance(value, numbers) or not 0 < value <= sys.float_info.max:
        raise InputError(f"{name} is {shown(value)}", "give a positive, finite number", code="parameter")
    return float(value)


def is_list(values: object) -> bool:
    """Return True if values are ordered with a length, and not text: a list, tuple, array or column."""
    if isinstance(values, (list, tuple)):
        return True
    ordered = isinstance(values, Sequence) or getattr(values, "ndim", 0) > 0
    return ordered and not isinstance(values, (str, bytes))


def repeated(values: Iterable[T]) -> T:
    """Return the first value that is there more than once."""
    return next(value for value, times in Counter(values).items() if times > 1)


def one_of(value: object, options: Collection[str], name: str) -> None:
    """Raise unless a value is one of some names."""
    if not (isinstance(value, str) and value in options):
        raise InputError(f"{name} is {shown(value)}", f"use one of {', '.join(options)}", code="parameter")


def proportion(value: object, name: str, *, such_as: float = 0.95) -> float:
    """Return a number strictly between 0 and 1, or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.floating)) or not 0 < value < 1:
        hint = f"give a number between 0 and 1, such as {such_as}"
        raise InputError(f"{name} is {shown(value)}", hint, code="parameter")
    return float(value)


def instance(value: object, kind: type[Any], name: str, hint: str) -> None:
    """Raise unless a value is of a class."""
    if not isinstance(value, kind):
        message = f"{name} is of the type {type(value).__name__}, not {kind.__name__}"
        raise InputError(message, hint, code="parameter")


def flag(value: object, name: str) -> bool:
    """Return True or False, or raise."""
    if not isinstance(value, (bool, np.bool_)):
        raise InputError(f"{name} is {shown(value)}", "give True or False", code="parameter")
    return bool(value)


def list_of_names(value: object, name: str) -> tuple[str, ...]:
    """Return different names as texts, or raise."""
    if not is_list(value):
        raise InputError(f"{name} is {shown(value)}", "pass a list of names", code="parameter")
    names = tuple(str(item) for item in cast(Sequence[object], value))
    if len(set(names)) < len(names):
        raise InputError(f"{name} names {repeated(names)!r} twice", "pass different names", code="parameter")
    return names


def optional(check: Check) -> Check:
    """Return a check that takes None as well."""
    return lambda value, name: None if value is None else check(value, name)


def option(*options: str) -> Check:
    """Return a check that a value is one of some names."""
    return lambda value, name: one_of(value, options, name)


def decoded(values: Any, kind: type[Kind], at: str = "$") -> Kind:
    """Return plain values as a struct, or as another type that is declared.

    Parameters
    ----------
    values
        As JSON or TOML has them; a struct of the kind is returned as it is.
    kind
        A `msgspec.Struct`, a dataclass, or any annotation that msgspec knows.
    at
        Path of the values in their file.

    Raises
    ------
    ValueError
        Its text begins with the path of the first value that does not fit.

    Examples
    --------
    >>> decoded({"n": ["1"]}, dict[str, list[int]])
    Traceback (most recent call last):
    ValueError: $[...][0]: expected int, got str
    """
    import msgspec

    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise ValueError(located(error, at)) from error


def located(error: msgspec.DecodeError, at: str = "$") -> str:
    """Return what msgspec found, its path first.

    Examples
    --------
    >>> import msgspec
    >>> located(msgspec.ValidationError("Expected `int`, got `str` - at `$.n`"), "$.state")
    '$.state.n: expected int, got str'
    """
    what, _, where = str(error).replace("`", "").rpartition(" - at ")
    if not what:
        what, where = where, "$"
    what = what if what.startswith("JSON") else what[:1].lower() + what[1:]
    return f"{where.replace('$', at, 1)}: {what:.{LONGEST_REASON}}"
