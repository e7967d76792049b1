"""Records of what is made of uncertain structures: quantities, counts, comparisons, and checks of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.results._base import Result

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Propagated(Result):
    """The distribution of quantities over samples of a structure.

    Attributes
    ----------
    names
        Of the J quantities.
    mean, sd
        (J,) over the samples.
    standard_error
        (J,) Monte Carlo standard error of the mean: sd / sqrt(samples).
    low, high
        (J,) limits of the central interval of the samples, each a value that occurs.
    normal_low, normal_high
        (J,) limits of the normal approximation, mean -+ z sd.
    level
        Of the intervals.
    samples
        How many.
    seed
        None when a generator was given.
    values
        (samples, J) the quantities themselves.
    """

    names: tuple[str, ...]
    mean: Floats
    sd: Floats
    standard_error: Floats
    low: Floats
    high: Floats
    normal_low: Floats
    normal_high: Floats
    level: float
    samples: int
    seed: int | None
    values: Floats = field(repr=False)

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a quantity."""
        columns = ("mean", "sd", "standard_error", "low", "high", "normal_low", "normal_high")
        return [
            {"name": name, **{column: float(getattr(self, column)[place]) for column in columns}}
            for place, name in enumerate(self.names)
        ]


@dataclass(frozen=True)
class Exceedance(Result):
    """How probable it is that one quantity is greater than another.

    Attributes
    ----------
    first, second
        Names of the quantities.
    greater, equal, less
        Probabilities that the first is greater than, equal to, and less than the second.
    standard_error
        Monte Carlo standard error of ``greater``; 0 where it is exact.
    mean_difference
        Mean of the first minus the second.
    low, high
        Limits of the central interval of the difference.
    level
        Of the interval.
    samples
        None where it is exact given probabilities.
    """

    first: str
    second: str
    greater: float
    equal: float
    less: float
    standard_error: float
    mean_difference: float
    low: float
    high: float
    level: float
    samples: int | None


@dataclass(frozen=True)
class Drift(Result):
    """How far the log-odds of probabilities shift from period to period.

    Attributes
    ----------
    sd
        Standard deviation of the shifts; if it is estimated, the posterior median.
    low, high
        The central 95 % interval of the standard deviation; equal to it if it was given.
    periods
        Labelled periods that it was estimated from; None if it was given.
    """

    sd: float
    low: float
    high: float
    periods: int | None


@dataclass(frozen=True)
class CountInterval(Result):
    """A number of documents, and how sure it is.

    Attributes
    ----------
    documents
        Documents that were asked.
    mean, sd
        Of the count.
    low, high
        The interval under the model: only what the model itself is unsure of. Errors that all documents
        share are not in it.
    low_total, high_total
        The interval with the recalibration's doubt as well; None without labelled data.
    level
        Of both intervals.
    interval
        ``poisson-binomial``, ``normal`` or ``samples``.
    samples
        Samples a document; None for exact probabilities.
    standard_error
        Monte Carlo standard error of the mean, sqrt(sum p(1-p) / samples); 0 for exact probabilities.
    refits, failed_refits
        Recalibrators behind the total interval, and draws of the labelled data that gave none.
    drift
        The drift between periods that the total interval includes; None for none.
    reasons
        Why a field is None, and warnings.
    """

    documents: int
    mean: float
    sd: float
    low: float
    high: float
    level: float
    interval: str
    samples: int | None = None
    standard_error: float = 0.0
    low_total: float | None = None
    high_total: float | None = None
    refits: int = 0
    failed_refits: int = 0
    drift: Drift | None = None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class QuantileCalibration(Result):
    """Whether the truth lies in the samples' distribution as often as it should.

    Attributes
    ----------
    pit
        (n,) randomised probability integral transforms, uniform if the samples are right.
    levels
        (k,) levels of central intervals.
    coverage, coverage_low, coverage_high
        (k,) share of the truths inside, and its interval.
    level
        Of the intervals of the coverage.
    statistic, p_value
        Neyman's smooth test of uniformity, with four components; with clusters two (where the truth lies, and
        how far out). None where it is undefined.
    degenerate
        Share of predictions whose samples are all the same: they have no power.
    n, clusters
        Predictions, and their clusters; None if they are taken as independent.
    samples
        Samples a prediction.
    seed
        Of the randomisation; None when a generator was given.
    reasons
        Why a field is None, and warnings.
    """

    pit: Floats = field(repr=False)
    levels: Floats
    coverage: Floats
    coverage_low: Floats
    coverage_high: Floats
    level: float
    statistic: float | None
    p_value: float | None
    degenerate: float
    n: int
    clusters: int | None
    samples: int
    seed: int | None
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a level."""
        columns = ("coverage", "coverage_low", "coverage_high")
        return [
            {"level": float(level), **{name: float(getattr(self, name)[place]) for name in columns}}
            for place, level in enumerate(self.levels)
        ]


@dataclass(frozen=True)
class CentralSets(Result):
    """How often the truth lies in central sets, against the mass that the samples state for them.

    Attributes
    ----------
    levels
        (k,) nominal levels of the sets; discrete ones state at least that.
    hits
        (k,) truths inside.
    stated
        (k,) hits expected: the sum of the stated masses.
    p_value
        (k,) two-sided: exact for independent predictions; with clusters after a design effect.
    n, clusters
        Predictions, and their clusters; None if they are taken as independent.
    """

    levels: Floats
    hits: NDArray[np.int64]
    stated: Floats
    p_value: Floats
    n: int
    clusters: int | None

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a level."""
        return [
            {
                "level": float(self.levels[k]),
                "hits": int(self.hits[k]),
                "stated": float(self.stated[k]),
                "p_value": float(self.p_value[k]),
            }
            for k in range(len(self.levels))
        ]
