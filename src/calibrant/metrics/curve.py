"""The smooth calibration curve with a band: observed frequency as a smooth function of the score.

The curve is the local linear regression of the labels on the scores, with the kernel and the bandwidth of
the smooth calibration error (Blasiok & Nakkiran 2023), which is wide for a model that is far off. For a model
that is nearly calibrated that bandwidth is so small that the curve would follow the noise of single pairs: it
is at least 0.3 m^(-1/5), where m = 4 sum(q (1 - q)) counts pairs by their information. A local mean of the
residuals would carry those of other scores along: labels that are all 0 would draw a rising curve. A line
through the window does not, and keeps a calibrated model on the diagonal (Fan 1992). The band resamples pairs
(or whole clusters) a grid cell at a time, so that it costs by the tally and not by n.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats, proportion, sample_count
from calibrant.metrics.binning import Source
from calibrant.metrics.grouping import group_by, ratio
from calibrant.metrics.noise_floor import batches
from calibrant.metrics.resampling import expanded
from calibrant.metrics.smooth import SMALLEST_GRID, cosine_modes, fixed_point, nodes_of_tally, smoothed
from calibrant.metrics.sources import source_of
from calibrant.metrics.tails import quantile, wilson
from calibrant.metrics.tally import Cells, Tally, as_tally, cell_of_rows, cells_of, on_nodes
from calibrant.results.errors import SmoothCurve
from calibrant.seeds import Seed, generator

POINTS = SMALLEST_GRID + 1
SCORES = np.arange(POINTS) / SMALLEST_GRID
FEWEST = 10  # effective pairs behind a point that is shown
LEAST_BANDWIDTH = 0.3  # times n^(-1/5), the rate at which noise and bias of a local line are balanced
WIDEST = 0.15
RIDGE = 1e-3  # of the bandwidth squared: scores that hardly differ show no slope


class _Nodes(NamedTuple):
    """Weights of the positive pairs and of all pairs on the grid's nodes; one row a resample."""

    positives: Floats
    weight: Floats


class _Windows(NamedTuple):
    """Kernel-weighted sums at each of `SCORES`, of 1, d, d^2 (with its ridge), y and d y: d = q - score."""

    weight: Floats
    first: Floats
    second: Floats
    positives: Floats
    first_positives: Floats

    @property
    def determinant(self) -> Floats:
        """Return the determinant of the weighted least squares; NaN without pairs."""
        determinant: Floats = self.weight * self.second - self.first**2
        return np.where((self.weight > 0) & (determinant > 0), determinant, np.nan)

    @property
    def frequency(self) -> Floats:
        """Height of each window's line at its score, in [0, 1]."""
        top = self.second * self.positives - self.first * self.first_positives
        return np.clip(top / self.determinant, 0.0, 1.0)


def _effective_in_clusters(n: Floats, clusters: Floats, frequency: Floats, noise: Floats) -> Floats:
    """Return the effective number of pairs behind each point, from ``noise``, the variance over resamples."""
    labels, more = frequency * (1 - frequency), np.maximum(n / clusters - 1, 0)
    possible = float(np.sum(labels * more))
    correlation = float(np.clip(np.sum(noise * n - labels) / possible, 0, 1)) if possible > 0 else 0.0
    # Where positives or negatives are rare, few clusters have any, and the noise of a point is too small:
    # the correlation of labels in a cluster is at least that of all points together.
    effective: Floats = n / np.maximum(ratio(noise * n, labels), 1 + more * correlation)
    return effective


def _percentiles(curves: Floats, share: Floats) -> Floats:
    """Return a percentile of the resamples at each point, the point's own ``share`` of them below it."""
    ordered, place = np.sort(curves, axis=0), share * (len(curves) - 1)
    below = place.astype(int)
    first, second = (
        np.take_along_axis(ordered, at[None], 0)[0] for at in (below, np.minimum(below + 1, len(curves) - 1))
    )
    percentiles: Floats = first + (place - below) * (second - first)
    return percentiles


def _least_bandwidth(tally: Tally) -> float:
    """Bandwidth below which the curve follows noise; as for 4 sum(q (1 - q)) pairs of score 0.5."""
    fair = 4 * float((tally.sum_score - tally.sum_score2).sum()) / tally.total_weight * tally.total_n
    return min(WIDEST, LEAST_BANDWIDTH * math.pow(max(1.0, fair), -0.2))


def _nodes_of(cells: Cells) -> _Nodes:
    return _Nodes(
        on_nodes(cells.weight_positives, cells.sum_score_positive)[None, :],
        on_nodes(cells.weight, cells.sum_score)[None, :],
    )


def _windows(nodes: _Nodes, bandwidth: float) -> _Windows:
    """Sums over the windows of `SCORES` (a subset of the nodes), one row a resample."""
    count = nodes.weight.shape[-1] - 1
    step, at = count // (POINTS - 1), np.arange(count + 1) / count

    def total(mass: Floats) -> Floats:
        return smoothed(cosine_modes(mass, bandwidth), bandwidth, count)[:, ::step]

    weight, moment, moment2 = (total(nodes.weight * at**power) for power in range(3))
    positives, moment_positives = total(nodes.positives), total(nodes.positives * at)
    second = moment2 - 2 * SCORES * moment + SCORES**2 * weight
    return _Windows(
        weight=weight,
        first=moment - SCORES * weight,
        second=np.maximum(second, 0.0) + RIDGE * bandwidth**2 * weight,
        positives=positives,
        first_positives=moment_positives - SCORES * positives,
    )


def _effective_n(tally: Tally, count: int, bandwidth: float) -> Floats:
    """Kish's effective number of pairs behind each point: 1 / sum of the squared weights of its labels."""
    cells = cells_of(tally, count)
    mean = ratio(cells.sum_score, cells.weight)
    weight2 = on_nodes(cells.weight2, cells.weight2 * mean)
    windows = _windows(_nodes_of(cells), bandwidth)
    alone = np.eye(1, count + 1)  # a unit of mass at 0, which the reflection doubles
    half = smoothed(cosine_modes(alone, bandwidth), bandwidth, count)[0] / 2
    kernel = np.concatenate([half[:0:-1], half, half[-2::-1]])  # from -1 to 2, in steps of the grid
    at, squares = np.arange(count + 1) / count, np.zeros(POINTS)
    for point, score in enumerate(SCORES):
        place = point * (count // (POINTS - 1))
        reflected = kernel[place : place + count + 1][::-1] + kernel[place + count : place + 2 * count + 1]
        height = windows.second[0, point] - windows.first[0, point] * (at - score)
        squares[point] = weight2 @ (reflected * height) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = windows.determinant[0] ** 2 / squares
    return np.where(np.isfinite(effective), effective, 0.0)


def _resampler(tally: Tally, count: int) -> Callable[[np.random.Generator, int], _Nodes]:
    """Return what draws bootstrap resamples of the pairs, or of whole clusters."""
    if tally.cluster is not None:
        return _ClusterDraws(tally, count).draw
    cells = cells_of(tally, count)

    return lambda rng, times: _resampled_pairs(cells, times, rng)


def _resampled_pairs(cells: Cells, times: int, rng: np.random.Generator) -> _Nodes:
    """Each pair a Poisson(1) number of times: sums over the positive and negative pairs of a cell.

    A weighted sum is drawn as a multiple of a Poisson variable with its mean and variance.
    """
    positive = _poisson_sums(cells.weight_positives, cells.weight2_positives, times, rng)
    negative = _poisson_sums(
        cells.weight - cells.weight_positives, cells.weight2 - cells.weight2_positives, times, rng
    )
    mean1 = ratio(cells.sum_score_positive, cells.weight_positives)
    mean0 = ratio(cells.sum_score - cells.sum_score_positive, cells.weight - cells.weight_positives)
    return _Nodes(
        on_nodes(positive, positive * mean1),
        on_nodes(positive + negative, positive * mean1 + negative * mean0),
    )


def _poisson_sums(weight: Floats, weight2: Floats, times: int, rng: np.random.Generator) -> Floats:
    unit = ratio(weight2, weight)
    return unit * rng.poisson(ratio(weight, unit), (times, len(weight)))


class _ClusterDraws:
    """Sums by cluster and cell, ready for drawing as many clusters as there are with replacement."""

    def __init__(self, tally: Tally, count: int) -> None:
        assert tally.cluster is not None
        self.count, self.clusters = count, tally.cluster_count
        cell = cell_of_rows(tally, count)
        groups = group_by(tally.cluster, cell)
        self.cluster, self.cell = groups.first(tally.cluster), groups.first(cell)
        columns = (
            tally.weight_positives,
            tally.sum_score_positive,
            tally.weight,
            tally.sum_score,
        )
        self.columns = [groups.sum(column) for column in columns]

    def draw(self, rng: np.random.Generator, times: int) -> _Nodes:
        from calibrant._kernels.smooth import add_by_cluster

        taken = rng.multinomial(self.clusters, np.full(self.clusters, 1 / self.clusters), times)
        factor = np.ascontiguousarray(taken.T, dtype=np.float64)
        sums = []
        for column in self.columns:
            total = np.zeros((self.count, times))
            add_by_cluster(self.cell, self.cluster, column, factor, total)
            sums.append(np.ascontiguousarray(total.T))
        return _Nodes(on_nodes(sums[0], sums[1]), on_nodes(sums[2], sums[3]))


def smooth_curve(
    y_true: ArrayLike | Source,
    y_prob: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 500,
    seed: Seed = None,
) -> SmoothCurve:
    """Return the observed frequency as a smooth function of the score, with a pointwise band.

    On the diagonal the model is calibrated, above it underconfident, below it overconfident. The band is
    made by resampling at the curve's own bandwidth, and is never narrower than Wilson's interval: it holds
    the *smoothed* curve of the population at each score alone, about as often as ``level`` says, and leaves
    out what smoothing hides.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1: whether the event happened; or pairs or a tally, alone.
    y_prob
        (n,) predicted probabilities of the event, in [0, 1].
    sample_weight
        (n,) non-negative weights; None counts every pair once.
    clusters
        (n,) what each pair depends on; whole clusters are resampled.
    level
        Nominal coverage of the band at each score.
    resamples
        Resamples behind the band, at least 1.
    seed
        Seed of the resampling.

    Returns
    -------
    SmoothCurve
        257 points; frequency and band are NaN where fewer than 10 effective pairs carry the point, and more
        than a bandwidth beyond the lowest and highest scores.

    References
    ----------
    J. Blasiok and P. Nakkiran (2024), Smooth ECE: principled reliability diagrams via kernel smoothing,
    ICLR. arXiv:2309.12236, section 3

    J. Fan (1992), Design-adaptive nonparametric regression, JASA 87, 998-1004

    Examples
    --------
    >>> curve = smooth_curve([0, 0, 0, 1, 1, 1, 0, 1] * 99, [0.3, 0.4, 0.6, 0.7] * 198, resamples=50, seed=1)
    >>> bool(curve.frequency[77] < curve.frequency[179]), bool(np.isnan(curve.frequency[0]))
    (True, True)
    """
    level = proportion(level, "level")
    resamples = sample_count(resamples, "resamples")
    rng = generator(seed)
    tally = as_tally(source_of(y_true, y_prob, sample_weight=sample_weight, clusters=clusters))
    count, own, error = fixed_point(nodes_of_tally(tally))
    bandwidth = max(own, _least_bandwidth(tally))
    windows = _windows(_nodes_of(cells_of(tally, count)), bandwidth)
    near = (tally.low.min() - bandwidth <= SCORES) & (tally.high.max() + bandwidth >= SCORES)
    effective_n = _effective_n(tally, max(SMALLEST_GRID, count // 8), bandwidth)
    seen = near & (effective_n >= FEWEST)
    frequency = np.where(seen, windows.frequency[0], np.nan)
    low, high = np.full(POINTS, np.nan), np.full(POINTS, np.nan)
    fewer = max(SMALLEST_GRID, count // 4)  # the band need not be exact to 1e-5
    draw = _resampler(tally, fewer)
    sizes = batches(resamples, max(fewer, tally.cluster_count))
    drawn = [_windows(draw(rng, batch), bandwidth) for batch in sizes]
    curves = np.concatenate([block.frequency[:, seen] for block in drawn])
    f, n, tail = frequency[seen], effective_n[seen], np.full(seen.sum(), (1 - level) / 2)
    if tally.cluster_count:
        carried = np.concatenate([block.weight[:, seen] for block in drawn]) / windows.weight[0, seen]
        # The spread of a point's relative weight over resamples tells how many clusters are behind it.
        number = 1 / (np.var(carried, axis=0) + 1 / tally.cluster_count)
        tail = np.array([expanded(level, clusters_here)[0] for clusters_here in number])
        n = _effective_in_clusters(n, number, f, np.nanvar(curves, axis=0))
        n /= np.array([quantile(level, clusters_here) / quantile(level) for clusters_here in number]) ** 2
    # Resamples of labels that are nearly all alike hardly differ: there Wilson's interval is the wider one.
    least, most = wilson(f, n, level)
    # A resample with no pair near a score knows nothing there: it widens the band to both sides.
    low[seen] = np.minimum(least, _percentiles(np.nan_to_num(curves, nan=0.0), tail))
    high[seen] = np.maximum(most, _percentiles(np.nan_to_num(curves, nan=1.0), 1 - tail))
    return SmoothCurve(
        score=SCORES,
        frequency=frequency,
        low=low,
        high=high,
        density=np.maximum(windows.weight[0] / tally.total_weight, 0.0),
        bandwidth=bandwidth,
        level=level,
        resamples=resamples,
        seed=seed if isinstance(seed, int) else None,
        dependence="independent" if tally.cluster is None else "clusters",
        smooth_error=error,
        n=tally.total_n,
    )
