"""Noise floors: the error that a perfectly calibrated model would have.

Consistency resampling (Broecker & Smith 2007): keep the scores, redraw the labels from them,
recompute the error. Labels are redrawn a bin or a grid cell at a time, so that the cost does not
depend on n: the number of events in a bin is a sum of unequal Bernoulli variables, drawn as the
binomial with the same mean and variance (exact where the scores of the bin are equal).

With clusters the residuals of whole clusters are sign-flipped instead, which keeps whatever
dependence they have. Where few events happened, these residuals are smaller than the scores imply,
and are enlarged. That floor is conservative for a model that is far from calibrated. Where clusters are many
and bins few, most clusters have a small part in every bin: the sums of their flipped residuals are drawn as
normal variables with the same covariance matrix, at a cost that does not depend on the number of clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, proportion, sample_count
from calibrant.exceptions import InputError
from calibrant.metrics.binning import Source
from calibrant.metrics.frequencies import bin_of_scores
from calibrant.metrics.grouping import ratio
from calibrant.metrics.proper_scores import brier_score
from calibrant.metrics.rows import ClusterCells, PairRows, cells_by_cluster, rows_of
from calibrant.metrics.tally import Cells, Tally, as_tally, cell_of_rows, cells_of, on_nodes
from calibrant.results import Bins
from calibrant.results.errors import ConsistencyBars, NoiseFloor
from calibrant.seeds import Seed, generator

BATCH = 1 << 20
MOST_FLIPPED = 10_000  # clusters; the rest of them has at most 1 % of the variance of any of MOST_NORMAL bins
MOST_NORMAL = 100  # bins
NODES_PER_RESAMPLE = 16  # of a grid that shows noise, which need not be exact to 1e-5
ERRORS = (
    "plug_in_calibration_error",
    "plug_in_squared_error",
    "expected_calibration_error",
    "max_calibration_error",
)


@dataclass(frozen=True)
class MatchedBinomial:
    """Binomials with the mean and variance of weighted sums of labels drawn from their scores.

    Attributes
    ----------
    trials, probability
        Trials and probability of each binomial; trials are 0 where nothing is random.
    scale
        Weight of one unit: ``sum w^2 / sum w`` (1 without weights).
    flipped
        Where the rarer outcome, so the one drawn, is the non-event.
    weight
        Largest possible sum.
    """

    trials: Integers
    probability: Floats
    scale: Floats
    flipped: NDArray[np.bool_]
    weight: Floats

    @classmethod
    def of(cls, bins: Bins | Cells) -> MatchedBinomial:
        """Return binomials that match the sums of every bin or cell."""
        weight = bins.weight
        scale = np.divide(bins.weight2, weight, out=np.ones_like(weight), where=weight > 0)
        flipped = bins.sum_score > weight / 2
        mean = np.where(flipped, weight - bins.sum_score, bins.sum_score) / scale
        variance = (bins.sum_score - bins.sum_score2) / scale
        probability = 1 - ratio(variance, mean)
        most = np.maximum(np.rint(weight / scale), 1)
        wished = np.divide(mean, probability, out=most.copy(), where=probability > mean / most)
        trials = np.where(mean > 0, np.clip(np.rint(wished), 1, most), 0)
        probability = ratio(mean, trials)
        return cls(trials.astype(np.int64), np.clip(probability, 0.0, 1.0), scale, flipped, weight)

    def as_sums(self, counts: Floats | Integers) -> Floats:
        """Turn drawn counts into sums of weights of events."""
        drawn = counts * self.scale
        return np.where(self.flipped, self.weight - drawn, drawn)

    def draw(self, rng: np.random.Generator, times: int) -> Floats:
        """Draw (times, bins) sums of weights of events."""
        return self.as_sums(rng.binomial(self.trials, self.probability, (times, len(self.trials))))


class Flips:
    """The residuals of whole clusters summed by place (bin or cell), ready for drawing their signs.

    If clusters are more than `MOST_FLIPPED`, those with the largest parts of a place's variance are flipped.
    Each of the others has so small a part that their sums are normal.
    """

    normal_root: Floats | None

    def __init__(self, source: Source | PairRows, place: NDArray[np.int32], places: int) -> None:
        rows = rows_of(source)
        if rows.cluster is None:
            message = "the tally has no clusters"
            raise InputError(message, "tally the pairs with clusters, or leave the argument out")
        expected = float((rows.sum_score - rows.sum_score2).sum()) / rows.total_weight
        observed = brier_score(
            rows if isinstance(rows, Tally) else replace(rows.pairs, cluster=None, cluster_count=0)
        )
        scale = max(1.0, expected / (observed or 1.0)) ** 0.5  # above 1 if few events happened
        cells = cells_by_cluster(rows, place, places, (rows.weight_positives - rows.sum_score) * scale)
        self.places, self.normal_root = places, None
        if places <= MOST_NORMAL and np.count_nonzero(np.diff(cells.start)) > MOST_FLIPPED:
            cells, others = _largest_apart(cells, places)
            self.normal_root = _root_of_covariance(others, places)
        self.clusters = len(cells.start) - 1
        self.cluster, self.place, self.residual = cells.cluster, cells.place.astype(np.int64), cells.value
        # Signs are drawn in an order of the clusters that does not depend on their names or that of the rows.
        sums = [
            np.round(np.bincount(self.cluster, self.residual * by, self.clusters), 12)
            for by in (self.place + 1.0, np.ones(len(self.place)))
        ]
        self.order = np.lexsort(sums)

    def draw(self, rng: np.random.Generator, times: int) -> Floats:
        """Return (times, places) sums of residuals, with new random signs of clusters each time."""
        from calibrant._kernels.smooth import add_by_cluster

        sign = np.empty((self.clusters, times))
        sign[self.order] = rng.integers(0, 2, (self.clusters, times)) * 2.0 - 1
        sums = np.zeros((self.places, times))
        add_by_cluster(self.place, self.cluster, self.residual, sign, sums)
        if self.normal_root is not None:
            sums += self.normal_root @ rng.standard_normal((self.places, times))
        return np.ascontiguousarray(sums.T)


def _largest_apart(cells: ClusterCells, places: int) -> tuple[ClusterCells, ClusterCells]:
    """Return the `MOST_FLIPPED` clusters with the largest parts of a place's variance, and the others."""
    size = np.diff(cells.start)
    used, square = size > 0, cells.value**2
    part = np.zeros(len(size))
    variance = np.bincount(cells.place, square, places).astype(np.float64, copy=False)
    share = ratio(square, variance[cells.place])
    part[used] = np.maximum.reduceat(share, cells.start[:-1][used])
    largest = np.zeros(len(size), bool)
    largest[np.argpartition(part, -MOST_FLIPPED)[-MOST_FLIPPED:]] = True

    def kept(cluster: NDArray[np.bool_]) -> ClusterCells:
        entry = np.repeat(cluster, size)
        start = np.append(0, np.cumsum(size[cluster]))
        return ClusterCells(start, cells.place[entry], cells.value[entry], cells.weight[entry])

    return kept(largest), kept(~largest)


def _root_of_covariance(cells: ClusterCells, places: int) -> Floats:
    """Return the symmetric root of the covariance matrix of the sums by place, if clusters are flipped."""
    from calibrant._kernels.clusters import products

    covariance = np.zeros((places, places))
    products(cells.start, cells.place, cells.value, covariance)
    values, vectors = np.linalg.eigh(covariance)
    # The symmetric root does not depend on the signs of eigenvectors, which differ between platforms.
    root: Floats = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return root


def noise_floors(
    bins: Bins,
    *,
    clustered: Source | PairRows | None = None,
    resamples: int = 1000,
    level: float = 0.95,
    seed: Seed = None,
) -> dict[str, NoiseFloor]:
    """Return the noise floor of every plug-in error on the bins.

    An error below its floor's ``high`` is what a calibrated model would show too: no sign of
    miscalibration. The floor depends on the scores and the bins, not on the labels. A tie that two bins
    share is drawn in each of them apart.

    Parameters
    ----------
    bins
        The bins on which the errors were computed.
    clustered
        The same pairs with clusters, or a tally of them by cluster; flips the residuals of whole clusters.
        None takes labels as independent given their scores, which gives too low a floor if they are not.
    resamples
        How often labels are redrawn, at least 1.
    level
        Probability with which a calibrated model stays below ``high``.
    seed
        Seed of the draws.

    Returns
    -------
    dict
        `NoiseFloor` by the name of the error: ``plug_in_calibration_error``, ``plug_in_squared_error``,
        ``expected_calibration_error``, ``max_calibration_error``.

    References
    ----------
    J. Broecker and L. A. Smith (2007), Increasing the reliability of reliability diagrams,
    Weather and Forecasting 22, 651-661. doi:10.1175/WAF993.1

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> bins = uniform(pairs([0, 1] * 500, [0.5] * 1000), n_bins=1)
    >>> floor = noise_floors(bins, seed=1)["expected_calibration_error"]
    >>> round(floor.mean, 2), round(floor.high, 2)  # sd of a mean of 1000 fair coins: 0.0158
    (0.01, 0.03)
    """
    resamples = sample_count(resamples, "resamples")
    level = proportion(level, "level")
    rng = generator(seed)
    matched = MatchedBinomial.of(bins)
    flips = None
    if clustered is not None:
        clustered = rows_of(clustered)
        flips = Flips(clustered, bin_of_scores(bins, clustered.score), len(bins))
    draws: list[Floats] = []
    for batch in batches(resamples, len(bins) if flips is None else flips.clusters):
        residual = matched.draw(rng, batch) - bins.sum_score if flips is None else flips.draw(rng, batch)
        gaps = residual / bins.weight
        mse, size = gaps**2 @ bins.share, np.abs(gaps)
        draws.append(np.stack([np.sqrt(mse), mse, size @ bins.share, size.max(axis=1)]))
    how = "independent" if clustered is None else "clusters"
    return {
        name: floor_of(name, drawn, level, how, seed)
        for name, drawn in zip(ERRORS, np.concatenate(draws, axis=1), strict=True)
    }


def smooth_noise_floor(
    source: Source, *, resamples: int = 500, level: float = 0.95, seed: Seed = None
) -> NoiseFloor:
    """Return the noise floor of the smooth calibration error, with a new bandwidth for each resample.

    Labels are redrawn a grid cell at a time, so that the cost depends on the grid and not on n.
    With clusters in ``source`` the residuals of whole clusters are sign-flipped.

    Parameters, errors and reference are those of `noise_floors`.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> floor = smooth_noise_floor(pairs([0, 1] * 500, [0.5] * 1000), seed=1)
    >>> 0.01 < floor.mean < floor.high < 0.04
    True
    """
    from calibrant.metrics import smooth

    resamples = sample_count(resamples, "resamples")
    level = proportion(level, "level")
    rng = generator(seed)
    tally = as_tally(source)
    count = smooth.SMALLEST_GRID
    # A grid that resolves half the bandwidth of one draw resolves nearly all draws.
    while count < smooth.LARGEST_GRID:
        smallest = NODES_PER_RESAMPLE / count
        first = smooth.cosine_modes(_redraw(tally, count)(rng, 1), smallest)
        if smooth.mean_absolute(smooth.smoothed(first, 2 * smallest, count))[0] >= 2 * smallest:
            break
        count *= 2
    draw, smallest = _redraw(tally, count), NODES_PER_RESAMPLE / count
    values = [
        smooth.fixed_points(smooth.cosine_modes(draw(rng, n), smallest), count, smallest, tolerance=1e-4)[1]
        for n in batches(resamples, max(count, tally.cluster_count))
    ]
    dependence = "independent" if tally.cluster is None else "clusters"
    return floor_of("smooth_calibration_error", np.concatenate(values), level, dependence, seed)


def _redraw(tally: Tally, count: int) -> Callable[[np.random.Generator, int], Floats]:
    """Return what draws (times, count + 1) mean residuals on a grid's nodes, as for a calibrated model."""
    cells = cells_of(tally, count)
    position = ratio(cells.sum_score, cells.weight)
    matched = MatchedBinomial.of(cells)
    flips = (
        None if tally.cluster is None else Flips(tally, cell_of_rows(tally, count).astype(np.int32), count)
    )

    def draw(rng: np.random.Generator, times: int) -> Floats:
        mass = matched.draw(rng, times) - cells.sum_score if flips is None else flips.draw(rng, times)
        return on_nodes(mass, mass * position) / tally.total_weight

    return draw


def floor_of(error: str, draws: Floats, level: float, dependence: str, seed: Seed) -> NoiseFloor:
    """Return the noise floor of the drawn errors."""
    return NoiseFloor(
        error=error,
        mean=float(draws.mean()),
        high=float(np.quantile(draws, level)),
        level=level,
        resamples=len(draws),
        dependence=dependence,
        seed=seed if isinstance(seed, int) else None,
    )


def batches(times: int, width: int) -> list[int]:
    """Cut a number of resamples into batches whose arrays stay small."""
    most = max(1, BATCH // max(1, width))
    return [most] * (times // most) + ([times % most] if times % most else [])


def binomial_quantile(share: float, trials: Integers, probability: Floats) -> Floats:
    """Return the smallest counts whose binomial distribution function reaches ``share``, in (0, 1).

    The result equals `scipy.stats.binom.ppf`, without importing scipy.stats, which takes longer than a
    report.

    Examples
    --------
    >>> binomial_quantile(0.975, np.array([100, 10]), np.array([0.5, 0.0])).tolist()
    [60.0, 0.0]
    """
    from calibrant._special import bdtr, bdtrik

    inside = (probability > 0) & (probability < 1)
    usual = np.where(inside, probability, 0.5)
    count = np.ceil(bdtrik(share, trials, usual))
    # Its rounding, which differs by version, can be one count off to either side.
    below = np.maximum(count - 1, 0)
    count = np.where(bdtr(below, trials, usual) >= share, below, count)
    count = np.where(bdtr(count, trials, usual) < share, count + 1, count)
    return np.where(inside, count, np.where(probability > 0, trials, 0.0))


def consistency_bars(bins: Bins, *, level: float = 0.95) -> ConsistencyBars:
    """Return the range of each bin's frequency, with probability ``level``, if the model is calibrated.

    Pointwise: each bar is for its bin alone; of 20 bins one is expected outside at 95 %. Labels
    are taken as independent given their scores. Ends are quantiles of the exact (or moment-matched)
    binomial, so a bar holds its frequency with at least the level, up to that matching.

    Parameters
    ----------
    bins
        Any bins.
    level
        Between 0 and 1.

    References
    ----------
    J. Broecker and L. A. Smith (2007), Increasing the reliability of reliability diagrams,
    Weather and Forecasting 22, 651-661. doi:10.1175/WAF993.1

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> from calibrant.metrics.binning import uniform
    >>> bars = consistency_bars(uniform(pairs([0, 1] * 50, [0.5] * 100), n_bins=1))
    >>> bars.low.tolist(), bars.high.tolist()
    ([0.4], [0.6])
    """
    level = proportion(level, "level")
    matched = MatchedBinomial.of(bins)

    def quantile(share: float) -> Floats:
        counts = binomial_quantile(share, np.maximum(matched.trials, 1), matched.probability)
        return np.clip(matched.as_sums(counts) / bins.weight, 0, 1)

    tail = (1 - level) / 2
    one, other = quantile(tail), quantile(1 - tail)
    return ConsistencyBars(
        level=level, score=bins.score, low=np.minimum(one, other), high=np.maximum(one, other)
    )
