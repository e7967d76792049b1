"""How many documents: sums of uncertain yes-or-no answers, and comparisons of two such sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, one_of, proportion
from calibrant.estimation.functions import central_interval, few_samples
from calibrant.estimation.results import CountInterval, Exceedance
from calibrant.exceptions import InputError
from calibrant.metrics.tails import quantile
from calibrant.records import Quantity

Interval = Literal["poisson-binomial", "normal", "samples"]
INTERVALS = ("poisson-binomial", "normal", "samples")
ROUNDING = 1e-9


@dataclass(frozen=True)
class CountDistribution:
    """The distribution of a whole number.

    Attributes
    ----------
    lowest
        Smallest value that is kept.
    probabilities
        Probabilities of ``lowest``, ``lowest + 1``, ...; values with tails below about 1e-25 are left out.

    Examples
    --------
    >>> poisson_binomial([0.5, 0.5]).interval(0.4)
    (1, 1)
    """

    lowest: int
    probabilities: Floats

    @property
    def values(self) -> Floats:
        """The values themselves."""
        return self.lowest + np.arange(len(self.probabilities), dtype=np.float64)

    @property
    def mean(self) -> float:
        """The expected value."""
        return float(self.values @ self.probabilities)

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return math.sqrt(float((self.values - self.mean) ** 2 @ self.probabilities))

    def interval(self, level: float) -> tuple[int, int]:
        """Return the central interval, the smallest with at most (1 - level) / 2 beyond each end.

        Parameters
        ----------
        level
            Between 0 and 1.
        """
        tail = (1 - proportion(level, "level")) / 2 * (1 + ROUNDING)
        last = len(self.probabilities) - 1
        low = int(np.searchsorted(np.cumsum(self.probabilities), tail, side="right"))
        high = int(np.searchsorted(np.cumsum(self.probabilities[::-1]), tail, side="right"))
        return self.lowest + min(low, last), self.lowest + max(0, last - high)


def poisson_binomial(probabilities: ArrayLike) -> CountDistribution:
    """Return the distribution of the number of independent events that happen.

    One event after another is convolved. All terms are positive: each probability has a relative error of at
    most 4 n 2^-53 (1e-11 for 20,000 events). Tails below 1e-30 are dropped on the way, at most 1e-24 in all
    for 100,000 events.

    Parameters
    ----------
    probabilities
        (n,) in [0, 1].

    References
    ----------
    Hong (2013), "On computing the distribution function for the Poisson binomial distribution".

    Examples
    --------
    >>> poisson_binomial([0.5, 0.5, 1.0]).probabilities.tolist()
    [0.25, 0.5, 0.25]
    """
    from calibrant.estimation._kernels import sum_of_steps

    up = probabilities_of(probabilities, "probabilities")
    certain = int(np.count_nonzero(up == 1))
    up = up[(up > 0) & (up < 1)]
    lowest, of_counts = sum_of_steps(np.zeros(len(up)), up)
    return CountDistribution(int(lowest) + certain, of_counts)


def probabilities_of(values: ArrayLike, name: str) -> Floats:
    """Return checked float64 probabilities; the list may be empty."""
    if np.size(values) == 0:
        return np.zeros(0)
    return np.ascontiguousarray(_checks.scores(values, name), np.float64)


def count_interval(
    probabilities: ArrayLike | None = None,
    *,
    bits: ArrayLike | None = None,
    interval: Interval = "poisson-binomial",
    level: float = 0.95,
) -> CountInterval:
    """Estimate the number of positive documents from the probability of each or samples of it.

    Documents are independent given the model. Errors that all documents share (a model that is wrong in one
    direction) are not in this interval and do not average out; `RefittedRecalibrator` includes them.

    Parameters
    ----------
    probabilities
        (D,) probabilities that each document counts. None: the proportions in ``bits``.
    bits
        (S, D) 1 if document d counts in sample s, else 0. Intervals of fewer than 20 samples are too narrow.
    interval
        ``"poisson-binomial"``: exact quantiles given the probabilities. ``"normal"``: the paper's mean -+ z
        sd, with a lower limit of at least 0. ``"samples"``: quantiles of the sums of ``bits``.
    level
        Level of the interval.

    Returns
    -------
    CountInterval

    Raises
    ------
    InputError
        If neither is given, or ``"samples"`` without bits.

    References
    ----------
    Nguyen and O'Connor (2015), section 6.2 (the normal approximation).

    Examples
    --------
    >>> interval = count_interval([0.9, 0.5, 0.5, 0.1])
    >>> interval.count.estimate, interval.count.low, interval.count.high
    (2.0, 1.0, 3.0)
    >>> round(count_interval([0.9, 0.5, 0.5, 0.1], interval="normal").count.low, 2)
    0.38
    """
    one_of(interval, INTERVALS, "interval")
    proportion(level, "level")
    drawn = None if bits is None else _bits(bits)
    if probabilities is not None:
        chance = probabilities_of(probabilities, "probabilities")
    elif drawn is not None:
        chance = drawn.mean(axis=0)
    else:
        raise InputError("neither probabilities nor bits are given", "give one", code="parameter")
    if drawn is not None and drawn.shape[1] != len(chance):
        message = f"there are {len(chance)} probabilities and {drawn.shape[1]} columns of bits"
        raise InputError(message, "give both for the same documents", code="length")
    noise, mean = float(chance @ (1 - chance)), float(chance.sum())
    return _counted(mean, noise, len(chance), drawn, lambda: poisson_binomial(chance), interval, level)


def number_interval(
    numbers: ArrayLike, *, interval: Interval = "poisson-binomial", level: float = 0.95
) -> CountInterval:
    """Estimate the total number over documents from samples of each document's number.

    As `count_interval`, for documents that may count more than once. Where no number is above 1, both are
    the same.

    Parameters
    ----------
    numbers
        (S, D) whole numbers of at least 0: of document d in sample s, for at least 20 samples.
    interval
        ``"poisson-binomial"``: exact quantiles of the sum of independent documents, each with the frequencies
        of its samples. ``"normal"`` and ``"samples"`` as in `count_interval`.
    level
        Level of the interval.

    Returns
    -------
    CountInterval

    Raises
    ------
    InputError
        If a number is negative or not whole, or there is no sample.

    Examples
    --------
    >>> interval = number_interval([[2, 1], [0, 1], [1, 0], [1, 0]])
    >>> interval.count.estimate, interval.count.low, interval.count.high
    (1.5, 0.0, 3.0)
    """
    one_of(interval, INTERVALS, "interval")
    proportion(level, "level")
    drawn = np.asarray(numbers)
    if drawn.ndim != 2 or not len(drawn):
        message = f"numbers have shape {drawn.shape}"
        raise InputError(message, "give (samples, documents)", code="shape")
    if drawn.dtype.kind not in "biu" or (drawn.size and drawn.min() < 0):
        message = "numbers are not all whole numbers of at least 0"
        raise InputError(message, "pass how many times each document counts", code="dtype")
    drawn = drawn.astype(np.int64)
    mean, noise = float(drawn.mean(axis=0).sum()), float(drawn.var(axis=0).sum())
    return _counted(mean, noise, drawn.shape[1], drawn, lambda: _sum_of(drawn), interval, level)


def _sum_of(numbers: NDArray[np.int64]) -> CountDistribution:
    """Distribution of the sum of independent documents, each with the frequencies of its column."""
    several = numbers.max(axis=0, initial=0) > 1
    independent = poisson_binomial(numbers[:, ~several].mean(axis=0))
    probabilities = independent.probabilities
    for column in numbers[:, several].T:
        probabilities = np.convolve(probabilities, np.bincount(column) / len(column))
    return CountDistribution(independent.lowest, probabilities)


def _counted(
    mean: float,
    noise: float,
    documents: int,
    drawn: NDArray[Any] | None,
    distribution: Callable[[], CountDistribution],
    interval: Interval,
    level: float,
) -> CountInterval:
    """The interval of a sum with some mean and variance."""
    size = None if drawn is None else len(drawn)
    # Proportions in S samples vary less around their mean than the documents do, by 1 - 1/S.
    sd = math.sqrt(noise * size / (size - 1)) if size is not None and size > 1 else math.sqrt(noise)
    if interval == "poisson-binomial":
        low, high = map(float, distribution().interval(level))
    elif interval == "normal":
        half = quantile(level) * sd
        low, high = max(0.0, mean - half), mean + half
    elif drawn is not None:
        limits = central_interval(drawn.sum(axis=1, dtype=np.float64), level)
        low, high = float(limits[0]), float(limits[1])
    else:
        message = "this interval needs bits"
        hint = "pass a matrix of bits: one row per sample, one column per document"
        raise InputError(message, hint, code="parameter")
    error = math.sqrt(noise / size) if size is not None else 0.0
    warning = few_samples(size, level) if interval == "samples" and size is not None else None
    return CountInterval(
        count=Quantity(mean, low, high, error, warning=warning),
        sd=sd,
        documents=documents,
        level=level,
        interval=interval,
        samples=size,
    )


def _bits(values: ArrayLike) -> NDArray[np.bool_]:
    array = np.asarray(values)
    if array.ndim != 2 or not len(array):
        message = f"bits have shape {array.shape}"
        raise InputError(message, "give (samples, documents)", code="shape")
    bits = array.astype(np.bool_, copy=False) if array.dtype.kind in "biuf" else None
    if bits is None or not (array == bits).all():
        message, hint = "bits are not all 0 or 1", "give 1 for documents that count, else 0"
        raise InputError(message, hint, code="label-value")
    return bits


def compare_counts(
    only_first: ArrayLike,
    only_second: ArrayLike,
    *,
    names: tuple[str, str] = ("first", "second"),
    level: float = 0.95,
) -> Exceedance:
    """Compare two counts that share documents, exactly.

    Documents in which both or neither happen change nothing; the others are a step up or down.

    Parameters
    ----------
    only_first, only_second
        (D,) probabilities that a document counts for the first and not the second (p10), and the reverse
        (p01); `joint_probabilities` has them from samples.
    names
        Names of the two.
    level
        Level of the interval of the difference.

    Returns
    -------
    Exceedance

    Raises
    ------
    InputError
        If a probability is outside [0, 1], or two of a document add up to more than 1.

    Examples
    --------
    >>> comparison = compare_counts([0.5, 0.5], [0.0, 0.5], names=("YUG", "IGONAT"))
    >>> comparison.greater, comparison.equal, comparison.less
    (0.5, 0.25, 0.25)
    """
    from calibrant.estimation._kernels import sum_of_steps

    proportion(level, "level")
    up, down = probabilities_of(only_first, "only_first"), probabilities_of(only_second, "only_second")
    _checks.same_length("only_first", len(up), "only_second", len(down))
    wrong = np.flatnonzero(up + down > 1 + ROUNDING)
    if len(wrong):
        row = int(wrong[0])
        message = f"p10 and p01 of document {row} are {up[row]:g} and {down[row]:g}, more than 1 together"
        raise InputError(message, "give probabilities whose sum is at most 1", code="class-sum", row=row)
    lowest, probabilities = sum_of_steps(down, up)
    difference = CountDistribution(int(lowest), probabilities)
    low, high = difference.interval(level)
    values = difference.values
    return Exceedance(
        first=names[0],
        second=names[1],
        greater=float(min(1.0, probabilities[values > 0].sum())),
        equal=float(min(1.0, probabilities[values == 0].sum())),
        less=float(min(1.0, probabilities[values < 0].sum())),
        standard_error=0.0,
        difference=Quantity(float((up - down).sum()), float(low), float(high)),
        level=level,
        samples=None,
    )


def joint_probabilities(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats, Floats, Floats]:
    """Return how often documents count for both, only the first, only the second, and neither.

    Parameters
    ----------
    first, second
        (S, D) bits of the same samples and documents.

    Returns
    -------
    tuple of four (D,) arrays
        p11, p10, p01, p00.

    Raises
    ------
    InputError
        If shapes differ, or a bit is neither 0 nor 1.

    Examples
    --------
    >>> [p.tolist() for p in joint_probabilities([[1], [1]], [[1], [0]])]
    [[0.5], [0.5], [0.0], [0.0]]
    """
    one, other = _bits(first), _bits(second)
    if one.shape != other.shape:
        message = f"bits have shapes {one.shape} and {other.shape}"
        raise InputError(message, "give bits of the same samples and documents", code="shape")
    both, first_only, second_only = (bits.mean(axis=0) for bits in (one & other, one & ~other, other & ~one))
    return both, first_only, second_only, (~(one | other)).mean(axis=0)
