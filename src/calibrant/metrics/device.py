"""A tally that is summed on the device where the scores are, with functions of the array API standard."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import SUM_TOLERANCE, Floats, Integers, flag, one_of
from calibrant.exceptions import InputError
from calibrant.metrics.grid import grid, rows_of
from calibrant.metrics.tally import Tally

WAITING = 1 << 16  # pairs; a small batch waits for others
LARGEST_CHUNK = 1 << 18  # pairs: sums of so many squares of places fit into 63 bits
PLACE_BITS, HALF_BITS, CARRY_BITS = 44, 22, 40  # of a place in a row, of half of it, of a sum's lower part
FAULTS = {
    "score-range": ("a score that is NaN or outside [0, 1]", "pass probabilities, or set `logits=True`"),
    "class-sum": ("a row of probabilities that does not sum to 1", "divide by the sum, or set `logits=True`"),
    "label-value": ("a label that is no class of the scores", "pass 0 and 1, or class positions 0 to K - 1"),
}


class _Cells(NamedTuple):
    """The rows of the fixed grid in order of the score: what a device needs to find them."""

    first: Floats  # first score of each row
    anchor: Floats
    scale: Floats  # places in a row are whole numbers below 2^44
    row: Integers  # number in `calibrant.metrics.grid.grid`


@cache
def _cells() -> _Cells:
    shared = grid()
    cut = shared.cut[(shared.cut >= 0) & (shared.cut < 1)]
    first = np.unique(np.concatenate([shared.anchor, np.nextafter(cut, 1.0)]))
    row = rows_of(first)[0]
    anchor = shared.anchor[row]
    lesser = np.where(anchor < 0.5, anchor, 1 - anchor)
    # A row is 1/256 of the octave of min(q, 1 - q); above one half the octave excludes its upper end.
    exponent = np.where(
        anchor < 0.5, np.frexp(lesser)[1] - 1, np.ceil(np.log2(np.where(lesser > 0, lesser, 1))) - 1
    )
    scale = np.exp2(PLACE_BITS + 8 - exponent)
    scale[(anchor <= 0) | (anchor >= 1)] = 0.0  # rows without a width are summed apart
    return _Cells(first, anchor, scale, row)


class DeviceTally:
    """Adds batches of predictions up to one `Tally` on the device where they are.

    Scores are sorted into the fixed grid of a compressed tally and summed with functions of the array API
    standard; only the sums travel to the host, when `result` is called. Nothing waits for the device before.
    The rows and counts are exactly those of ``Tally.from_arrays(..., exact=False)`` for the same
    probabilities. Sums of offsets are kept as whole numbers: they depend neither on the device nor on the
    order of batches, and agree with the host's to 1e-12.

    Parameters
    ----------
    view
        None: batches are (n,) scores and labels 0 / 1. ``binary``: (n, 2); ``top``: (n, K) probabilities,
        with class positions as labels.
    logits
        True if batches contain log-odds, or with a view logits. The sigmoid or softmax is computed in
        float64 if the device supports it, else in float32.

    Raises
    ------
    InputError
        The view is unknown.

    Notes
    -----
    The library has to offer 64-bit integers: in JAX, set ``jax_enable_x64``. PyTorch needs the package
    ``array-api-compat``. A device that takes subnormal numbers for 0 counts scores below 1e-307 (in float32
    1e-37) as 0. Weights and clusters are not taken; `TallyAccumulator` takes them on the host.

    Examples
    --------
    >>> import numpy as np
    >>> tally = DeviceTally(view="top", logits=True)
    >>> tally.update(np.array([0, 1]), np.array([[2.0, 0.0], [1.0, 0.0]]))
    >>> tally.result().n.tolist(), tally.result().positives.tolist()
    ([1, 1], [0, 1])
    """

    def __init__(self, view: str | None = None, *, logits: bool = False) -> None:
        if view is not None:
            one_of(view, ("binary", "top"), "view")
        self.view, self.logits = view, flag(logits, "logits")
        self.reset()

    def reset(self) -> None:
        """Forget all batches."""
        self._xp: Any = None
        self._device: Any = None
        self._batches = 0
        self._n = 0
        self._waiting: list[tuple[Any, Any]] = []
        self._tables: dict[str, Any] = {}
        self._sums: Any = None  # (2, planes, 2 cells) lower and upper parts
        self._lowest: Any = None
        self._faults: dict[str, Any] = {}

    @property
    def n(self) -> int:
        """Number of pairs so far."""
        return self._n

    def update(self, y_true: Any, y_prob: Any) -> None:
        """Add a batch without waiting for the device.

        Parameters
        ----------
        y_true
            (n,) labels or class positions, on the device of the scores.
        y_prob
            (n,) or (n, K) scores of any real floating type.

        Raises
        ------
        InputError
            The arrays are of different libraries or devices, or have a wrong shape or type. Values are
            checked on the device; `result` raises for those.
        """
        xp = _namespace(y_prob, "y_prob")
        score, label = self._checked(xp, y_true, y_prob)
        if self._xp is None:
            self._start(xp, y_prob)
        self._batches += 1
        score = xp.astype(score, self._tables["first"].dtype)
        if self.view is None:
            score = 1 / (1 + xp.exp(-score)) if self.logits else score
            good = (label == 0) | (label == 1)
            positive = label == 1
        else:
            score, label, good, positive = self._of_classes(score, label)
        self._note("label-value", ~good)
        usable = (score >= 0) & (score <= 1)
        self._note("score-range", ~usable)
        self._waiting.append((xp.where(usable, score, xp.zeros_like(score)), positive))
        self._n += score.shape[0]
        if sum(each[0].shape[0] for each in self._waiting) >= WAITING:
            self._flush()

    def result(self) -> Tally:
        """Copy the sums to the host and return the tally of all batches so far.

        Raises
        ------
        InputError
            There was no batch, or a value could not be used; the error names the first batch that has one.
        """
        if not self._batches:
            raise InputError("no batch was added yet", "call update first", code="empty")
        for code, first in self._faults.items():
            batch = int(first)
            if batch <= self._batches:
                message, hint = FAULTS[code]
                message = f"batch {batch} (counting from 1) has {message}"
                raise InputError(message, f"{hint}; then reset and update again", code=code)
        self._flush()
        return _tally(_host(self._sums), _host(self._lowest))

    def _checked(self, xp: Any, y_true: Any, y_prob: Any) -> tuple[Any, Any]:
        """Check types, shapes and places, which needs no value."""
        if not xp.isdtype(y_prob.dtype, "real floating"):
            hint = "pass real floating scores"
            raise InputError(f"y_prob has dtype {y_prob.dtype}", hint, code="dtype")
        shape = tuple(y_prob.shape)
        wanted = {None: "(n,)", "binary": "(n, 2)", "top": "(n, K) with K >= 2"}[self.view]
        classes = shape[1] if len(shape) == 2 else 0
        fits = len(shape) == 1 if self.view is None else classes >= 2 and (self.view == "top" or classes == 2)
        if not fits or not shape[0]:
            message = f"y_prob has shape {shape}, expected {wanted} with n >= 1"
            raise InputError(message, "pass one row per item, or name another view", code="shape")
        of = _namespace(y_true, "y_true")
        if of is not xp:
            message = f"y_true is an array of {of.__name__}, but y_prob of {xp.__name__}"
            raise InputError(message, "pass two arrays of the same library", code="device")
        if tuple(y_true.shape) != shape[:1]:
            message = f"y_true has shape {tuple(y_true.shape)}, expected {shape[:1]}"
            raise InputError(message, "pass one label per row of y_prob", code="shape")
        if not xp.isdtype(y_true.dtype, ("bool", "integral", "real floating")):
            message = f"y_true has dtype {y_true.dtype}"
            raise InputError(message, "pass 0 and 1, or class positions", code="dtype")
        place, other = y_prob.device, y_true.device
        if place != other:
            message = f"y_true is on {other} and y_prob on {place}"
            raise InputError(message, "move both to one device", code="device")
        if self._xp is not None and (xp is not self._xp or place != self._device):
            message = f"this batch is on {place} ({xp.__name__}), earlier ones on {self._device}"
            raise InputError(message, "keep one tally per device and merge the results", code="device")
        return y_prob, xp.astype(y_true, xp.int64) if xp.isdtype(y_true.dtype, "bool") else y_true

    def _start(self, xp: Any, like: Any) -> None:
        """Put the grid on the device."""
        place = like.device
        wide = xp.asarray([0], dtype=xp.int64, device=place)
        if str(wide.dtype).endswith("int32"):
            hint = 'turn them on: in JAX, jax.config.update("jax_enable_x64", True)'
            raise InputError("the device tally needs 64-bit integers", hint, code="dtype")
        cells = _cells()
        try:
            double = xp.asarray([0.5], dtype=xp.float64, device=place).dtype
            first = cells.first
        except (TypeError, RuntimeError, ValueError, AttributeError):  # as on Apple's GPUs
            double, first = xp.float32, _next_float32(cells.first)
        count = len(first)
        self._tables = {
            name: xp.asarray(values.tolist(), dtype=double, device=place)
            for name, values in (("first", first), ("anchor", cells.anchor), ("scale", cells.scale))
        }
        self._tables["ends"] = xp.arange(2 * count + 1, dtype=xp.int64, device=place)
        self._sums = xp.zeros((2, 5, 2 * count), dtype=xp.int64, device=place)
        self._lowest = xp.zeros((4,), dtype=double, device=place)
        self._faults = {code: xp.asarray(2**62, dtype=xp.int64, device=place) for code in FAULTS}
        self._xp, self._device = xp, place

    def _note(self, code: str, wrong: Any) -> None:
        """Remember the first batch with a fault, on the device."""
        xp, first = self._xp, self._faults[code]
        batch = xp.asarray(self._batches, dtype=xp.int64, device=self._device)
        self._faults[code] = xp.where(xp.any(wrong) & (batch < first), batch, first)

    def _of_classes(self, score: Any, label: Any) -> tuple[Any, Any, Any, Any]:
        """Scores and labels of the view of a matrix, and which labels are classes."""
        xp = self._xp
        if self.logits:
            score = xp.exp(score - xp.max(score, axis=1, keepdims=True))
            score = score / xp.sum(score, axis=1, keepdims=True)
        else:
            self._note("score-range", ~xp.all((score >= 0) & (score <= 1), axis=1))
            self._note("class-sum", ~(xp.abs(xp.sum(score, axis=1) - 1) <= SUM_TOLERANCE))
        good = (label >= 0) & (label < score.shape[1])
        if xp.isdtype(label.dtype, "real floating"):
            good = good & (xp.floor(label) == label)
        if self.view == "binary":
            return score[:, 1], label, good, label == 1
        top = xp.argmax(score, axis=1)
        return xp.max(score, axis=1), label, good, xp.astype(top, label.dtype) == label

    def _flush(self) -> None:
        """Sum the pairs that wait."""
        if not self._waiting:
            return
        xp = self._xp
        scores, positives = (xp.concat([each[part] for each in self._waiting]) for part in (0, 1))
        self._waiting = []
        for start in range(0, scores.shape[0], LARGEST_CHUNK):
            stop = min(start + LARGEST_CHUNK, scores.shape[0])
            self._add(scores[start:stop], positives[start:stop])

    def _add(self, score: Any, positive: Any) -> None:
        """Sum counts, places in rows and their squares by row and label, as whole numbers."""
        xp, tables = self._xp, self._tables
        cell = xp.astype(xp.searchsorted(tables["first"], score, side="right"), xp.int64) - 1
        one = xp.ones_like(
            cell
        )  # the second row begins at the least number above 0, which devices may not know
        cell = xp.where(score > 0, xp.where(cell < 1, one, cell), cell - cell)
        offset = score - xp.take(tables["anchor"], cell)
        place = xp.astype(offset * xp.take(tables["scale"], cell), xp.int64)
        low = xp.where(cell < 2, score, xp.zeros_like(score))
        high = xp.where(positive, low, xp.zeros_like(low))
        sums = [xp.sum(values) for values in (low, high, low * low, high * high)]
        self._lowest = self._lowest + xp.stack(sums)

        group = 2 * cell + xp.astype(positive, xp.int64)
        order = xp.argsort(group)
        ends = xp.searchsorted(xp.take(group, order), tables["ends"])
        count = xp.astype(ends[1:] - ends[:-1], xp.int64)
        place = xp.take(place, order)
        upper = xp.bitwise_right_shift(place, xp.asarray(HALF_BITS, dtype=xp.int64, device=self._device))
        lower = place - upper * 2**HALF_BITS
        planes = [count]
        for values in (place, upper * upper, upper * lower, lower * lower):
            total = xp.concat([xp.zeros_like(values[:1]), xp.cumulative_sum(values)])
            total = xp.take(total, ends)
            planes.append(total[1:] - total[:-1])
        lesser = self._sums[0, ...] + xp.stack(planes)
        shift = xp.asarray(CARRY_BITS, dtype=xp.int64, device=self._device)
        carry = xp.bitwise_right_shift(lesser, shift)
        self._sums = xp.stack([lesser - carry * 2**CARRY_BITS, self._sums[1, ...] + carry])


def _tally(sums: Integers, lowest: Floats) -> Tally:
    """The compressed tally of a device's sums."""
    shared, cells = grid(), _cells()
    whole = sums[1].astype(np.float64) * 2.0**CARRY_BITS + sums[0]
    n = (sums[1, 0] << CARRY_BITS) + sums[0, 0]
    n = n.reshape(-1, 2)
    width = np.divide(1.0, cells.scale, out=np.zeros(len(cells.scale)), where=cells.scale > 0)[:, None]
    first = whole[1].reshape(-1, 2) * width
    squares = whole[2] * 2.0 ** (2 * HALF_BITS) + whole[3] * 2.0 ** (HALF_BITS + 1) + whole[4]
    second = squares.reshape(-1, 2) * width**2
    first[1] += [lowest[0] - lowest[1], lowest[1]]  # of the scores above 0 and below 2^-64
    second[1] += [lowest[2] - lowest[3], lowest[3]]
    kept = np.flatnonzero(n.sum(axis=1))
    row, n, first, second = cells.row[kept], n[kept], first[kept], second[kept]
    count, positives = n.sum(axis=1), n[:, 1].copy()
    weight, weight_positives = count.astype(np.float64), positives.astype(np.float64)
    return Tally(
        "compressed",
        shared.low[row],
        shared.high[row],
        shared.anchor[row],
        count,
        positives,
        weight,
        weight_positives,
        weight,
        weight_positives,
        first.sum(axis=1),
        second.sum(axis=1),
        first[:, 1].copy(),
    )


def _next_float32(values: Floats) -> Floats:
    """The least float32 that is not below each value: comparisons of float32 scores come out the same."""
    near = values.astype(np.float32)
    return np.where(near < values, np.nextafter(near, np.float32(2)), near).astype(np.float64)


def _namespace(values: Any, name: str) -> Any:
    """The functions of the library of an array."""
    if hasattr(values, "__array_namespace__"):
        return values.__array_namespace__()
    if hasattr(values, "__dlpack__"):
        try:
            from array_api_compat import array_namespace
        except ImportError:
            message = f"{name} is of {type(values).__module__}, which differs from the array API standard"
            raise InputError(message, "pip install array-api-compat", code="dtype") from None
        return array_namespace(values)
    message = f"{name} is of the type {type(values).__name__}, not an array on a device"
    raise InputError(message, "pass arrays of JAX, PyTorch, CuPy or NumPy", code="dtype")


def _host(values: Any) -> NDArray[Any]:
    """Copy an array to the host."""
    if hasattr(values, "detach"):  # PyTorch
        values = values.detach().cpu()
    elif hasattr(values, "get"):  # CuPy
        values = values.get()
    return np.asarray(values)
