"""Draw documents to label: permanent random numbers, allocations to strata and inclusion probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from calibrant._checks import Floats, Integers, shown
from calibrant.exceptions import InputError
from calibrant.records.words import counted

DESIGNS = ("simple", "stratified", "uncertainty", "cluster")
ALLOCATIONS = ("proportional", "neyman", "equal")
LEAST = 2  # labels of a stratum, from which a variance can be estimated
TO_UNIT = 2.0**-53


def permanent_numbers(names: Sequence[str], seed: int, stage: str = "") -> Floats:
    """Return one uniform random number per name, which depends on the name, the seed and the stage alone.

    Parameters
    ----------
    names
        (n,) different names.
    seed
        A non-negative integer.
    stage
        Name of the draw. Draws of different stages are independent.

    References
    ----------
    Ohlsson (1995), "Coordination of samples using permanent random numbers".

    Examples
    --------
    >>> first, second = permanent_numbers(["a", "b"], 1)
    >>> bool(permanent_numbers(["c", "b"], 1)[1] == second != first)
    True
    """
    key = blake2b(f"{seed} {stage}".encode(), digest_size=16).digest()
    digests = b"".join([blake2b(name.encode(), digest_size=8, key=key).digest() for name in names])
    bits = np.frombuffer(digests, ">u8") >> np.uint64(11)
    numbers: Floats = (bits.astype(np.float64) + 0.5) * TO_UNIT
    return numbers


def scaled(values: Floats, total: float, low: Floats | float, high: Floats | float) -> Floats:
    """Return values times one factor, cut to limits, so that they add up to a total.

    Parameters
    ----------
    values
        (n,) numbers of at least 0.
    total
        Between the sums of the limits. If all values above 0 are at their upper limit and the sum is still
        smaller, the others are raised evenly.
    low, high
        Limits of each value.

    Examples
    --------
    >>> scaled(np.array([0.0, 1.0, 1.0, 8.0]), 2.0, 0.1, 1.0).round(2).tolist()
    [0.1, 0.45, 0.45, 1.0]
    """
    from scipy.optimize import brentq

    low, high = np.broadcast_to(low, values.shape), np.broadcast_to(high, values.shape)
    positive = values > 0
    most = float(high[positive].sum() + low[~positive].sum())
    if most < total:
        raised = np.where(positive, high, low)
        room = (high - raised).sum()
        filled: Floats = raised + (high - raised) * ((total - most) / room)
        return filled

    def excess(log_factor: float) -> float:
        return float(np.clip(values * np.exp(log_factor), low, high).sum()) - total

    start = np.log(max(total, 1e-9) / float(values.sum()))
    smallest, largest = start - 60, start + 60
    if excess(smallest) >= 0:
        return np.array(low, np.float64)
    factor = np.exp(brentq(excess, smallest, largest, xtol=1e-13)) if excess(largest) > 0 else np.exp(largest)
    cut = np.clip(values * factor, low, high)
    free = (cut > low) & (cut < high)
    if free.any():
        cut[free] *= (total - cut[~free].sum()) / cut[free].sum()
    limited: Floats = np.clip(cut, low, high)
    return limited


def inclusion_probabilities(spread: Floats, size: int, floor: float) -> Floats:
    """Return inclusion probabilities proportional to the spread of each document, with a lower limit.

    If the spread is the standard deviation of a document's label given its score, no other probabilities
    give a smaller variance of ``dsl`` for this size (Neyman 1934; Isaki and Fuller 1982).

    Parameters
    ----------
    spread
        (N,) numbers of at least 0, such as sqrt(p (1 - p)).
    size
        Number of documents to draw, to which the probabilities add up.
    floor
        Lower limit of a probability, as a proportion of size / N.

    Examples
    --------
    >>> inclusion_probabilities(np.array([0.0, 0.3, 0.5, 0.2]), 2, 0.2).round(2).tolist()
    [0.1, 0.57, 0.95, 0.38]
    """
    return scaled(spread, float(size), floor * size / len(spread), 1.0)


def systematic(probabilities: Floats, start: float) -> Integers:
    """Return the places of a systematic sample: one for each step of 1 in the summed probabilities.

    If the documents are in random order (Goodman and Kish 1950; Hartley and Rao 1962), the sample has a fixed
    size, and each document is drawn with exactly its probability.

    Parameters
    ----------
    probabilities
        (N,) that add up to a whole number.
    start
        A uniform random number in (0, 1).

    Examples
    --------
    >>> systematic(np.array([0.5, 1.0, 0.25, 0.25]), 0.6).tolist()
    [1, 2]
    """
    certain = probabilities >= 1
    rest = np.flatnonzero(~certain)
    summed = np.cumsum(probabilities[rest])
    count = round(float(summed[-1])) if len(rest) else 0
    if not count:
        return np.flatnonzero(certain)
    places = np.searchsorted(summed * (count / summed[-1]), start + np.arange(count), side="right")
    return np.union1d(np.flatnonzero(certain), rest[np.minimum(places, len(rest) - 1)])


def allocate(sizes: Integers, weights: Floats, size: int, name: Callable[[int], str]) -> Integers:
    """Return the number of documents to draw from each stratum: proportional to weights, at least 2.

    Parameters
    ----------
    sizes
        (H,) documents of each stratum.
    weights
        (H,) such as the sizes (proportional allocation), or the sizes times the standard deviations of the
        labels (Neyman's).
    size
        Number of documents to draw in all.
    name
        Returns the name of a stratum for errors.

    Raises
    ------
    InputError
        If the size is too small for 2 documents per stratum.

    Examples
    --------
    >>> allocate(np.array([100, 50, 1]), np.array([10.0, 40.0, 0.0]), 21, str).tolist()
    [4, 16, 1]
    """
    least = np.minimum(sizes, LEAST).astype(np.float64)
    if size < least.sum():
        message = f"size is {size}, too few for {LEAST} documents from each of {len(sizes):,} strata"
        hint = f"give at least {int(least.sum()):,}, or join strata such as {name(int(sizes.argmin()))}"
        raise InputError(message, hint, code="parameter")
    parts = scaled(weights, float(size), least, sizes.astype(np.float64))
    counts = np.floor(parts + 1e-9).astype(np.int64)
    missing = size - int(counts.sum())
    order = np.argsort(counts - parts, kind="stable")
    counts[order[counts[order] < sizes[order]][:missing]] += 1
    return counts


@dataclass(frozen=True)
class Population:
    """Documents from which some are drawn.

    Attributes
    ----------
    names
        (N,) different names.
    score
        (N,) the model's probabilities; None if they are not needed.
    stratum, strata
        (N,) codes of strata, and their names.
    cluster, clusters
        (N,) codes of clusters, and their names; None if documents are drawn one by one.
    """

    names: Sequence[str]
    score: Floats | None
    stratum: Integers
    strata: Sequence[str]
    cluster: Integers | None = None
    clusters: Sequence[str] = ()

    @property
    def spread(self) -> Floats:
        """(N,) standard deviations of the labels, if the scores are calibrated."""
        assert self.score is not None
        return np.sqrt(self.score * (1 - self.score))


def draw(
    population: Population,
    size: int,
    design: str,
    *,
    allocation: str = "proportional",
    floor: float = 0.25,
    seed: int = 0,
    stage: str = "",
) -> tuple[Integers, Floats]:
    """Return the rows of the drawn documents, and the (N,) inclusion probabilities of all.

    Parameters
    ----------
    population
        The documents.
    size
        Number of documents to draw; with the design ``cluster``, of clusters.
    design
        One of `DESIGNS`.
    allocation
        One of `ALLOCATIONS`, for the design ``stratified``.
    floor
        As in `inclusion_probabilities`, for the design ``uncertainty``.
    seed, stage
        As in `permanent_numbers`.

    Raises
    ------
    InputError
        If there are too few documents, or scores do not have the uncertainty that a design needs.

    Examples
    --------
    >>> population = Population(["a", "b", "c"], np.array([0.5, 0.9, 0.9]), np.zeros(3, np.int64), ["all"])
    >>> rows, probabilities = draw(population, 2, "uncertainty")
    >>> len(rows), probabilities.round(3).tolist()
    (2, [0.909, 0.545, 0.545])
    """
    documents = len(population.names)
    units, what = (documents, "documents") if design != "cluster" else (len(population.clusters), "clusters")
    if size > units:
        message = f"size is {size:,}, but there are {units:,} {what} to draw from"
        raise InputError(message, f"give at most {units:,}", code="parameter")
    if design == "cluster":
        assert population.cluster is not None
        numbers = permanent_numbers(population.clusters, seed, stage)
        chosen = np.zeros(units, np.bool_)
        chosen[np.argsort(numbers, kind="stable")[:size]] = True
        return np.flatnonzero(chosen[population.cluster]), np.full(documents, size / units)
    numbers = permanent_numbers(population.names, seed, stage)
    if design == "uncertainty":
        spread = population.spread
        if not spread.any():
            message = "all scores are 0 or 1, so they state no uncertainty"
            hint = (
                "give probabilities, or draw from strata by the model's class (`design='stratified'`, `by`)"
            )
            raise InputError(message, hint, code="parameter")
        # In the order of the random numbers, so that rounding errors of sums do not depend on the rows.
        order = np.argsort(numbers, kind="stable")
        ordered = inclusion_probabilities(spread[order], size, floor)
        chance = np.empty(documents)
        chance[order] = ordered
        start = float(permanent_numbers(["start"], seed, f"{stage} start")[0])
        return np.sort(order[systematic(ordered, start)]), chance
    sizes = np.bincount(population.stratum, minlength=len(population.strata))
    counts = np.array([size]) if design == "simple" else _counts(population, sizes, size, allocation)
    order = np.lexsort((numbers, population.stratum))
    place = np.arange(documents) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows: Integers = np.sort(order[place < counts[population.stratum[order]]])
    return rows, (counts / sizes)[population.stratum]


def _counts(population: Population, sizes: Integers, size: int, allocation: str) -> Integers:
    """Return how many documents to draw from each stratum."""
    if allocation == "equal":
        counts = np.full(len(sizes), size // len(sizes))
        counts[: size % len(sizes)] += 1
        small = np.flatnonzero(counts > sizes)
        if len(small):
            first = int(small[0])
            message = f"the allocation of stratum {shown(population.strata[first])} is {counts[first]:,}, "
            message += f"but it has {counted(int(sizes[first]), 'document')}"
            hint = f"give a size of at most {len(sizes) * int(sizes.min()):,}, or another allocation"
            raise InputError(message, hint, code="parameter")
        if counts.min() < LEAST:
            return allocate(sizes, np.ones(len(sizes)), size, lambda code: shown(population.strata[code]))
        return counts
    weights = sizes.astype(np.float64)
    if allocation == "neyman":
        variance = np.bincount(population.stratum, population.spread**2, minlength=len(sizes)) / sizes
        weights *= np.sqrt(variance)
        if not weights.any():
            message = "all scores are 0 or 1, so they state no uncertainty"
            hint = "give `allocation='proportional'` or `allocation='equal'`"
            raise InputError(message, hint, code="parameter")
    return allocate(sizes, weights, size, lambda code: shown(population.strata[code]))
