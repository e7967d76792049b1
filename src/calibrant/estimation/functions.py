"""Any function of a sampled structure, and its distribution."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import FEWEST_SAMPLED, Floats, list_of_names, proportion, sample_count
from calibrant.estimation.results import Exceedance, Propagated, PropagatedQuantity
from calibrant.exceptions import InputError
from calibrant.metrics.tails import quantile
from calibrant.records import Quantity
from calibrant.seeds import Seed, generator_of, number

Structure = Any
FEWEST = 2
ROUNDING = 1e-9  # (19 + 1) (1 - 0.9) / 2 is 1


class Sampled(Protocol):
    """Source of sampled structures: a chain's tags, a document's entities, or stages of these."""

    def sample(self, size: int, *, seed: Seed = None) -> Iterable[Structure]:
        """Yield ``size`` structures."""


class Stages:
    """A chain of models in which each stage is given a sample of the one before.

    One sample of the chain is a sample of the first stage, then a sample of the second stage given the first,
    and so on. So the uncertainty of each stage reaches the next; passing on the best structure would lose it.

    Parameters
    ----------
    first
        A posterior, such as a `ChainPosterior` of tags.
    following
        For each further stage a function that takes the structure sampled last and returns a posterior,
        such as an `AntecedentPosterior` of the mentions that these tags make. Called once for each
        different structure.

    Raises
    ------
    InputError
        If there is no further stage.

    References
    ----------
    Finkel, Manning and Ng (2006), "Solving the problem of cascading errors: approximate Bayesian inference
    for linguistic annotation pipelines", EMNLP.

    Examples
    --------
    >>> from calibrant.structures.posterior import ChainPosterior
    >>> weather = ChainPosterior(np.log([[0.5, 0.5]]))
    >>> def mood(sunny):
    ...     return ChainPosterior(np.log([[0.1, 0.9]] if sunny[0] else [[0.9, 0.1]]))
    >>> both = propagate(lambda sample: sample[0][0] == sample[1][0], Stages(weather, mood), 2000, seed=1)
    >>> abs(both.quantities[0].mean.estimate - 0.9) < 0.03
    True
    """

    def __init__(self, first: Sampled, *following: Callable[[Structure], Sampled]) -> None:
        if not following:
            message = "there is only one stage"
            raise InputError(message, "pass a function for each stage after the first", code="parameter")
        self.first = first
        self.following = following

    def sample(self, size: int, *, seed: Seed = None) -> list[tuple[Structure, ...]]:
        """Sample the chain.

        The draws of a stage depend only on the seed, the stage and the number of the sample, so the first 10
        of 100 samples are the 10 samples of that seed.

        Parameters
        ----------
        size
            How many.
        seed
            A non-negative integer, a generator, or None.

        Returns
        -------
        list of tuples
            The structure of each stage.
        """
        start = number(seed)
        samples: list[tuple[Structure, ...]] = [(one,) for one in self.first.sample(size, seed=start)]
        for stage, following in enumerate(self.following, 1):
            posteriors: dict[bytes, Sampled] = {}
            longer = []
            for place, structures in enumerate(samples):
                last = structures[-1]
                key = last.tobytes() if isinstance(last, np.ndarray) else repr(last).encode()
                if key not in posteriors:
                    posteriors[key] = following(last)
                own = int(generator_of(start, f"stage {stage} sample {place}").integers(2**63))
                longer.append((*structures, next(iter(posteriors[key].sample(1, seed=own)))))
            samples = longer
        return samples


def propagate(
    f: Callable[[Structure], Any],
    posterior: Sampled,
    samples: int = 100,
    *,
    seed: Seed = 0,
    level: float = 0.95,
    vectorised: bool = False,
) -> Propagated:
    """Return the distribution of a function of an uncertain structure, from samples of the structure.

    Parameters
    ----------
    f
        Takes one structure; returns a number, several, or a mapping of names to numbers.
    posterior
        A `ChainPosterior` (a structure is the (N,) codes of tags), an `AntecedentPosterior` (the (M,) entity
        of each mention), `Stages` (a tuple of them), or anything with such a method ``sample(size, seed=)``.
    samples
        Number of samples, at least 20. An interval of 95 % needs 39, and one of 99 % 199: of fewer samples it
        goes from the least value to the greatest, and has a warning.
    seed
        A non-negative integer, a generator, or None.
    level
        Level of the intervals.
    vectorised
        True if ``f`` takes all samples at once, and returns (samples,) or (samples, J) values.

    Returns
    -------
    Propagated
        Mean, standard deviation, Monte Carlo standard error and intervals of each quantity. Quantities of
        one call belong together sample by sample: `exceedance` compares them.

    Raises
    ------
    InputError
        If ``f`` returns no finite numbers, or not equally many for each sample.

    References
    ----------
    Nguyen and O'Connor (2015), section 6.2 and appendix, section 1.

    Examples
    --------
    >>> from calibrant.structures.posterior import ChainPosterior
    >>> tags = ChainPosterior(np.log([[0.9, 0.1], [0.5, 0.5]]), tags=["N", "V"])
    >>> verbs = propagate(lambda codes: int((codes == 1).sum()), tags, 1000, seed=1)
    >>> mean = verbs.quantities[0].mean
    >>> round(mean.estimate, 1), mean.low, mean.high
    (0.6, 0.0, 2.0)
    """
    size = sample_count(samples, least=FEWEST_SAMPLED)
    proportion(level, "level")
    drawn = posterior.sample(size, seed=seed)
    results = f(drawn) if vectorised else [f(structure) for structure in drawn]
    names, values = _names_and_values(results)
    if len(values) != size:
        message = f"there are {len(values)} values for {size} samples"
        raise InputError(message, "return one row per sample", code="shape")
    known = int(seed) if isinstance(seed, (int, np.integer)) else None
    return summary(values, names, level=level, seed=known)


def summary(
    values: ArrayLike, names: Sequence[str], *, level: float = 0.95, seed: int | None = None
) -> Propagated:
    """Return mean, spread and intervals of sampled quantities.

    Parameters
    ----------
    values
        (samples, J) finite numbers, at least two samples.
    names
        Different names of the J quantities.
    level
        Level of the intervals. The central interval leaves out as many values at either end as a new draw's
        coverage allows; of fewer samples than it needs it leaves out none, and has a warning.
    seed
        Seed to record.

    Raises
    ------
    InputError
        If values have another shape, or are not finite, a name is there twice, or the level is not between
        0 and 1.

    Examples
    --------
    >>> round(summary([[1.0], [2.0], [3.0]], ["entities"]).quantities[0].mean.standard_error, 4)
    0.5774
    """
    level, names = proportion(level, "level"), list_of_names(names, "names")
    array = np.asarray(values, np.float64)
    if array.ndim != 2 or len(array) < FEWEST or array.shape[1] != len(names):
        message = f"values have shape {array.shape} for {len(names)} names"
        raise InputError(message, "give (samples, quantities), at least two samples", code="shape")
    bad = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if len(bad):
        message = f"sample {bad[0]} gives {array[bad[0]].tolist()}"
        raise InputError(message, "return finite numbers", code="parameter", row=int(bad[0]))
    mean, sd = array.mean(axis=0), array.std(axis=0, ddof=1)
    low, high = central_interval(array, level)
    error, half = sd / math.sqrt(len(array)), quantile(level) * sd
    warning = few_samples(len(array), level)
    columns = (mean, low, high, error, sd, mean - half, mean + half)
    quantities = tuple(
        PropagatedQuantity(
            quantity=name,
            mean=Quantity(row[0], row[1], row[2], row[3], warning=warning),
            sd=row[4],
            normal=Quantity(row[0], *row[5:]),
        )
        for name, row in zip(names, np.stack(columns, axis=1).tolist(), strict=True)
    )
    return Propagated(quantities=quantities, level=level, samples=len(array), seed=seed, drawn=array)


def central_interval(values: Floats, level: float) -> tuple[Floats, Floats]:
    """Return limits among the samples between which a new draw lies with at least the probability ``level``.

    A new draw is in each of the n + 1 gaps of n values with the same probability: (n + 1) (1 - level) / 2
    gaps, rounded down, are left out at either end. If that is less than 1, no value is left out, see
    `few_samples`.
    """
    size = len(values)
    place = max(int((size + 1) * (1 - level) / 2 + ROUNDING), 1) - 1
    ordered = np.partition(values, (place, size - 1 - place), axis=0)
    return ordered[place], ordered[size - 1 - place]


def few_samples(size: int, level: float) -> str | None:
    """Return the warning on a central interval of too few samples, or None if there are enough.

    Examples
    --------
    >>> few_samples(20, 0.95)
    '20 samples are few: the interval of all of them covers about 90 %. A level of 95 % needs 39.'
    """
    needed = math.ceil(2 / (1 - level) - ROUNDING) - 1
    if size >= needed:
        return None
    covered = math.floor(100 * (size - 1) / (size + 1))
    return (
        f"{size} samples are few: the interval of all of them covers about {covered} %. "
        f"A level of {100 * level:g} % needs {needed:,}."
    )


def _names_and_values(results: Any) -> tuple[tuple[str, ...], Floats]:
    """Names of quantities, and (samples, J) values, from what the function returned."""
    names: tuple[str, ...] = ()
    if isinstance(results, Mapping):
        names = tuple(map(str, results))
        results = list(zip(*results.values(), strict=True))
    elif len(results) and isinstance(results[0], Mapping):
        keys = list(results[0])
        names = tuple(map(str, keys))
        if any(not isinstance(one, Mapping) or list(one) != keys for one in results):
            hint = "return the same names for each sample"
            raise InputError("the function returns different names", hint, code="shape")
        results = [list(one.values()) for one in results]
    try:
        values = np.asarray(results, np.float64)
    except (TypeError, ValueError) as error:
        hint = "return one number, or the same number of numbers, for each sample"
        raise InputError(f"the function does not return numbers ({error})", hint, code="dtype") from None
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2:
        message = f"the function's values have shape {values.shape}"
        raise InputError(message, "return a number, or a list of numbers, for each sample", code="shape")
    width = values.shape[1]
    return names or (("f",) if width == 1 else tuple(f"f{place}" for place in range(width))), values


def exceedance(propagated: Propagated, first: str | int = 0, second: str | int = 1) -> Exceedance:
    """Estimate the probability that one quantity is greater than another, sample by sample.

    Parameters
    ----------
    propagated
        From `propagate` with a function of both.
    first, second
        Names or numbers of the quantities.

    Returns
    -------
    Exceedance
        Its standard error is that of the proportion (k + 1) / (n + 2) for k of n samples: also where all or
        none are greater, more samples may differ.

    Examples
    --------
    >>> propagated = summary([[2, 1], [3, 3], [1, 0], [0, 2]], ["A", "B"])
    >>> result = exceedance(propagated, "A", "B")
    >>> result.greater, result.equal, result.less
    (0.5, 0.25, 0.25)
    """
    places = [_place(propagated, one) for one in (first, second)]
    difference = propagated.values[:, places[0]] - propagated.values[:, places[1]]
    above = int((difference > 0).sum())
    near = (above + 1) / (propagated.samples + 2)  # of 0 or 1, the standard error would be 0
    low, high = central_interval(difference, propagated.level)
    return Exceedance(
        first=propagated.names[places[0]],
        second=propagated.names[places[1]],
        greater=above / propagated.samples,
        equal=float((difference == 0).mean()),
        less=float((difference < 0).mean()),
        standard_error=math.sqrt(near * (1 - near) / propagated.samples),
        difference=Quantity(
            float(difference.mean()),
            float(low),
            float(high),
            warning=few_samples(propagated.samples, propagated.level),
        ),
        level=propagated.level,
        samples=propagated.samples,
    )


def _place(propagated: Propagated, name: str | int) -> int:
    if isinstance(name, str) and name in propagated.names:
        return propagated.names.index(name)
    if isinstance(name, int) and not isinstance(name, bool) and 0 <= name < len(propagated.names):
        return name
    hint = f"use one of {', '.join(propagated.names)}"
    raise InputError(f"there is no quantity {name!r}", hint, code="parameter")
