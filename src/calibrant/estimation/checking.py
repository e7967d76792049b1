"""Are sampled numbers right? Ranks of the truth among samples, and hits of central sets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, proportion
from calibrant.estimation.counts import poisson_binomial
from calibrant.estimation.results import (
    CentralSet,
    CentralSets,
    LevelCoverage,
    QuantileCalibration,
)
from calibrant.exceptions import InputError
from calibrant.metrics.tails import SMALLEST, cr2, effective_number, quantile
from calibrant.records import Quantity
from calibrant.seeds import Seed, generator

COMPONENTS = 4
CLUSTERED_COMPONENTS = 2  # with more, the test rejects 12 % at 40 clusters; with two, 5.5 %
FEWEST_CLUSTERS = 20
LEVELS = (*(place / 100 for place in range(5, 100, 5)), 0.99)
SET_LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
FEWEST_SAMPLES = 4


def quantile_calibration(
    samples: ArrayLike,
    truth: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    levels: Sequence[float] = LEVELS,
    level: float = 0.95,
    seed: Seed = 0,
) -> QuantileCalibration:
    """Check predictions of numbers: the truth should be one more draw from the samples.

    Then (rank + U (ties + 1)) / (L + 1) is uniform, where the rank counts the samples below the truth, the
    ties those equal to it, and U is uniform in [0, 1]. Predictions whose samples are all the same and right
    give nothing but U: their share is reported.

    Parameters
    ----------
    samples
        (n, L) L samples of each of n numbers.
    truth
        (n,) what they turned out to be.
    clusters
        (n,) clusters of dependent numbers, such as counts from one document.
    levels
        Levels of the central intervals whose coverage is computed.
    level
        Level of the intervals of the coverage.
    seed
        Seed of the randomization.

    Returns
    -------
    QuantileCalibration

    References
    ----------
    Cook, Gelman and Rubin (2006), "Validation of software for Bayesian models using posterior quantiles";
    Neyman (1937), "Smooth test for goodness of fit"; Czado, Gneiting and Held (2009), "Predictive model
    assessment for count data", for the randomization.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> samples, noise = rng.normal(size=(500, 100)), rng.normal(size=500)
    >>> right, wrong = quantile_calibration(samples, noise), quantile_calibration(samples, 2 * noise)
    >>> right.p_value > 0.05, wrong.p_value < 1e-6
    (True, True)
    """
    drawn, true, codes, count = _numbers(samples, truth, clusters)
    asked = _levels(levels)
    proportion(level, "level")
    size = drawn.shape[1]
    rank = (drawn < true[:, None]).sum(axis=1)
    ties = (drawn == true[:, None]).sum(axis=1)
    pit = (rank + generator(seed).random(len(true)) * (ties + 1)) / (size + 1)
    inside = np.abs(pit[:, None] - 0.5) <= asked / 2
    coverage, low, high = _coverage(inside.astype(np.float64), codes, count, level)
    statistic, p_value, reason = _smooth_test(pit, codes, count)
    known = int(seed) if isinstance(seed, (int, np.integer)) else None
    return QuantileCalibration(
        statistic=statistic,
        p_value=p_value,
        reason=reason,
        degenerate=float((drawn == drawn[:, :1]).all(axis=1).mean()),
        coverage=tuple(
            LevelCoverage(nominal=nominal, coverage=Quantity(*row))
            for nominal, *row in np.stack([asked, coverage, low, high], axis=1).tolist()
        ),
        level=level,
        n=len(true),
        clusters=count or None,
        samples=size,
        seed=known,
        transforms=pit,
    )


def central_set_hits(
    samples: ArrayLike,
    truth: ArrayLike,
    *,
    clusters: ArrayLike | None = None,
    levels: Sequence[float] = SET_LEVELS,
) -> CentralSets:
    """Compare how often the truth is in central sets with the mass of these sets.

    A central set of whole numbers has more mass than its level, so hits above the level are correct. One half
    of the samples determines the set, and the other half its mass. The test is exact: if the truth is one
    more draw, then, given how many of the other half and the truth are inside together, the truth is inside
    with that proportion as its probability. With clusters, the test is that of the number of independent
    predictions with the same variance.

    Parameters
    ----------
    samples, truth, clusters
        As in `quantile_calibration`; at least 4 samples.
    levels
        Levels of the sets.

    Returns
    -------
    CentralSets
        Hits, what is stated, and a two-sided p-value for each level.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> rate = rng.gamma(2, 2, size=(500, 1))
    >>> hits = central_set_hits(rng.poisson(rate, (500, 100)), rng.poisson(rate[:, 0]))
    >>> min(row.p_value for row in hits.sets) > 0.01
    True
    """
    drawn, true, codes, count = _numbers(samples, truth, clusters)
    asked = _levels(levels)
    if drawn.shape[1] < FEWEST_SAMPLES:
        message = f"there are only {drawn.shape[1]} samples per number"
        raise InputError(message, f"draw at least {FEWEST_SAMPLES}", code="parameter")
    making, stating = drawn[:, ::2], drawn[:, 1::2]
    rows = [_of_level(making, stating, true, float(one)) for one in asked]
    if codes is None:
        p_value = [_two_sided(row.chance, int(row.hit.sum())) for row in rows]
    else:
        effect = _design_effect(rows, codes, count)
        p_value = [_effective(row, effect) for row in rows]
    return CentralSets(
        sets=tuple(
            CentralSet(nominal=nominal, hits=int(row.hit.sum()), stated=row.stated, p_value=chance)
            for nominal, row, chance in zip(asked.tolist(), rows, p_value, strict=True)
        ),
        n=len(true),
        clusters=count or None,
    )


class _Level(NamedTuple):
    """Hits and masses of the central sets of one level."""

    hit: NDArray[np.bool_]
    stated: float
    chance: Floats


def _of_level(making: Floats, stating: Floats, true: Floats, level: float) -> _Level:
    tail = (1 - level) / 2
    low = np.quantile(making, tail, axis=1, method="lower")
    high = np.quantile(making, 1 - tail, axis=1, method="higher")
    hit = (low <= true) & (true <= high)
    within = ((low[:, None] <= stating) & (stating <= high[:, None])).sum(axis=1)
    return _Level(hit, float((within / stating.shape[1]).sum()), (within + hit) / (stating.shape[1] + 1))


def _design_effect(rows: Sequence[_Level], codes: Integers, count: int) -> float:
    """Variance of the hits over that of independent ones, pooled over levels: high ones have few misses."""
    observed = expected = 0.0
    for row in rows:
        sums = np.bincount(codes, row.hit - row.chance, minlength=count)
        observed += float(sums @ sums)
        expected += float(row.chance @ (1 - row.chance))
    return max(1.0, observed / expected) if expected else 1.0


def _effective(row: _Level, effect: float) -> float:
    """Two-sided p-value of hits that vary as those of n / effect independent predictions."""
    from scipy.special import betainc

    n, hits = len(row.hit) / effect, float(row.hit.sum()) / effect
    chance = float(row.chance.mean())
    below = float(betainc(n - hits, hits + 1, 1 - chance)) if hits < n else 1.0
    above = float(betainc(hits, n - hits + 1, chance)) if hits > 0 else 1.0
    return float(np.clip(2 * min(below, above), SMALLEST, 1.0))


def _two_sided(chance: Floats, hits: int) -> float:
    """Twice the smaller tail of the number of hits."""
    counts = poisson_binomial(chance)
    values = counts.values
    below = float(counts.probabilities[values <= hits].sum())
    above = float(counts.probabilities[values >= hits].sum())
    return float(np.clip(2 * min(below, above), SMALLEST, 1.0))


def _numbers(
    samples: ArrayLike, truth: ArrayLike, clusters: ArrayLike | None
) -> tuple[Floats, Floats, Integers | None, int]:
    drawn, true = _floats(samples, "samples"), _floats(truth, "truth")
    if drawn.ndim != 2 or not drawn.size:
        message = f"samples have shape {drawn.shape}"
        raise InputError(message, "pass one row of samples per number", code="shape")
    if true.shape != drawn.shape[:1]:
        message = f"truth has shape {true.shape} for {len(drawn)} numbers"
        raise InputError(message, "pass one true value per number", code="length")
    bad = np.flatnonzero(~(np.isfinite(drawn).all(axis=1) & np.isfinite(true)))
    if len(bad):
        message = f"number {bad[0]} or one of its samples is not finite"
        raise InputError(message, "leave it out", code="missing-value", row=int(bad[0]))
    return drawn, true, *_checks.clusters_of(clusters, "truth", len(true))


def _floats(values: ArrayLike, name: str) -> Floats:
    array = _checks.as_array(values, name)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{name} has dtype {array.dtype}", "pass numbers", code="dtype")
    return array.astype(np.float64)


def _levels(levels: Sequence[float]) -> Floats:
    if not _checks.is_list(levels):
        message = f"levels is {_checks.shown(levels)}"
        raise InputError(message, "pass a list of numbers between 0 and 1", code="parameter")
    if not len(levels):
        raise InputError("there are no levels", "give at least one", code="empty")
    return np.array([proportion(one, "a level") for one in levels])


def _coverage(
    inside: Floats, codes: Integers | None, count: int, level: float
) -> tuple[Floats, Floats, Floats]:
    """Share inside with Wilson's interval; with clusters of the effective number of predictions."""
    n, z = len(inside), quantile(level)
    share = inside.mean(axis=0)
    effective = np.full(len(share), float(n))
    if codes is not None:
        size = np.bincount(codes, minlength=count)
        z = quantile(level, effective_number(size))
        sums = (np.bincount(codes, one, minlength=count) for one in (inside - share).T)
        variance = np.array([cr2(size, one)[0] for one in sums]) / n**2
        noise = share * (1 - share)
        known = (variance > 0) & np.isfinite(variance) & (noise > 0)  # infinite for one cluster
        effective = np.full(len(share), float(count))
        effective[known] = np.minimum(n, noise[known] / variance[known])
    centre = (share + z**2 / (2 * effective)) / (1 + z**2 / effective)
    half = z / (1 + z**2 / effective) * np.sqrt(share * (1 - share) / effective + (z / effective) ** 2 / 4)
    return share, np.maximum(0, centre - half), np.minimum(1, centre + half)


def _smooth_test(
    pit: Floats, codes: Integers | None, count: int
) -> tuple[float | None, float | None, str | None]:
    """Neyman's smooth test; with clusters the components' covariance is that of the cluster sums."""
    from scipy.special import chdtrc, eval_legendre

    components = COMPONENTS if codes is None else CLUSTERED_COMPONENTS
    parts = np.stack([math.sqrt(2 * j + 1) * eval_legendre(j, 2 * pit - 1) for j in range(1, components + 1)])
    if codes is None:
        statistic = float((parts.sum(axis=1) ** 2).sum()) / len(pit)
        return statistic, max(SMALLEST, float(chdtrc(components, statistic))), None
    if count < FEWEST_CLUSTERS:
        why = f"{count} clusters are too few for a test of uniformity, which needs {FEWEST_CLUSTERS}"
        return None, None, why
    sums = np.stack([np.bincount(codes, part, minlength=count) for part in parts])
    total, spread = sums.sum(axis=1), sums @ sums.T
    if np.linalg.matrix_rank(spread) < components:
        return None, None, "the clusters do not vary"
    statistic = float(total @ np.linalg.solve(spread, total))
    return statistic, max(SMALLEST, float(chdtrc(components, statistic))), None
