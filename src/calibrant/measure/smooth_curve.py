"""The smooth calibration curve with a band: observed frequency as a smooth function of the score.

The curve is the score plus the kernel regression of the residual ``y - q``, at the bandwidth of the
smooth calibration error, so that its mean distance from the diagonal shows that error (Blasiok &
Nakkiran 2023). The band resamples pairs (or whole clusters) a grid cell at a time, so that it costs by
the tally and not by n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats, pairs, positive_integer, proportion
from calibrant._rng import Seed, generator
from calibrant.measure._cells import Cells, as_tally, cell_of_rows, cells_of, on_nodes
from calibrant.measure.binning import Source
from calibrant.measure.noise_floor import batches
from calibrant.measure.smooth import (
    NODES_PER_BANDWIDTH,
    SMALLEST_GRID,
    cosine_modes,
    fine_enough,
    fixed_points,
    nodes_of_tally,
    residual_nodes,
    smoothed,
)
from calibrant.measure.tally import Tally
from calibrant.results.errors import SmoothCurve

POINTS = SMALLEST_GRID + 1
SCORES = np.arange(POINTS) / SMALLEST_GRID


class _Nodes(NamedTuple):
    """Residuals and weights on the grid's nodes; one row a resample."""

    residual: Floats
    weight: Floats


def smooth_curve_of(
    source: Source, *, level: float = 0.95, resamples: int = 500, seed: Seed = None
) -> SmoothCurve:
    """Smooth calibration curve of pairs or of a tally (by cluster where it has clusters).

    See `smooth_curve`.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> curve = smooth_curve_of(pairs([0, 1] * 500, [0.5] * 1000), resamples=100, seed=1)
    >>> round(float(curve.frequency[128]), 3), bool(curve.low[128] < 0.5 < curve.high[128])
    (0.5, True)
    """
    level = proportion(level, "level")
    resamples = positive_integer(resamples, "resamples")
    rng = generator(seed)
    tally = as_tally(source)
    count, modes = fine_enough(nodes_of_tally(tally))
    bandwidth, error = (float(x[0]) for x in fixed_points(modes, count, NODES_PER_BANDWIDTH / count))
    cells = cells_of(tally, count)
    total = tally.total_weight
    nodes = _Nodes(residual_nodes(cells)[None, :] * total, on_nodes(cells.weight, cells.sum_score)[None, :])
    (frequency,), (density,) = _curves(nodes, bandwidth)
    effective_n = total**2 / tally.weight2.sum()
    # A reflected Gaussian of this bandwidth averages over about density * 2 sqrt(pi) s of the pairs.
    seen = effective_n * density / total * 2 * np.sqrt(np.pi) * bandwidth >= 1
    fewer = max(SMALLEST_GRID, count // 4)  # the band need not be exact to 1e-5
    draw = _resampler(tally, fewer)
    drawn = [
        _curves(draw(rng, batch), bandwidth)[0][:, seen]
        for batch in batches(resamples, max(fewer, tally.cluster_count))
    ]
    curves = np.concatenate(drawn)
    low, high = np.full(POINTS, np.nan), np.full(POINTS, np.nan)
    tail = (1 - level) / 2
    # A resample with no pair near a score knows nothing there: it widens the band to both sides.
    low[seen] = np.quantile(np.nan_to_num(curves, nan=0.0), tail, axis=0)
    high[seen] = np.quantile(np.nan_to_num(curves, nan=1.0), 1 - tail, axis=0)
    return SmoothCurve(
        score=SCORES,
        frequency=np.where(seen, frequency, np.nan),
        low=low,
        high=high,
        density=np.maximum(density / total, 0.0),
        bandwidth=bandwidth,
        level=level,
        resamples=resamples,
        seed=seed if isinstance(seed, int) else None,
        dependence="independent" if tally.cluster is None else "clusters",
        smooth_error=error,
        n=tally.total_n,
    )


def _curves(nodes: _Nodes, bandwidth: float) -> tuple[Floats, Floats]:
    """Smoothed frequency in [0, 1] and density of the weight at `SCORES` (a subset of the nodes)."""
    count = nodes.residual.shape[-1] - 1
    step = count // (POINTS - 1)
    residual, density = (
        smoothed(cosine_modes(mass, bandwidth), bandwidth, count)[:, ::step] for mass in nodes
    )
    ratio = np.divide(residual, density, out=np.full_like(residual, np.nan), where=density > 0)
    return np.clip(SCORES + ratio, 0.0, 1.0), density


def _resampler(tally: Tally, count: int) -> Callable[[np.random.Generator, int], _Nodes]:
    """Return what draws bootstrap resamples of the pairs, or of whole clusters."""
    if tally.cluster is not None:
        return _ClusterDraws(tally, count).draw
    cells = cells_of(tally, count)

    def draw(rng: np.random.Generator, times: int) -> _Nodes:
        return _resampled_pairs(cells, times, rng)

    return draw


def _resampled_pairs(cells: Cells, times: int, rng: np.random.Generator) -> _Nodes:
    """Each pair a Poisson(1) number of times: sums over the positive and negative pairs of a cell.

    A weighted sum is drawn as a multiple of a Poisson variable with its mean and variance.
    """
    positive = _poisson_sums(cells.weight_positives, cells.weight2_positives, times, rng)
    negative = _poisson_sums(
        cells.weight - cells.weight_positives, cells.weight2 - cells.weight2_positives, times, rng
    )
    mean1 = _ratio(cells.sum_score_positive, cells.weight_positives)
    mean0 = _ratio(cells.sum_score - cells.sum_score_positive, cells.weight - cells.weight_positives)
    residual1, residual0 = positive * (1 - mean1), -negative * mean0
    return _Nodes(
        on_nodes(residual1 + residual0, residual1 * mean1 + residual0 * mean0),
        on_nodes(positive + negative, positive * mean1 + negative * mean0),
    )


def _poisson_sums(weight: Floats, weight2: Floats, times: int, rng: np.random.Generator) -> Floats:
    unit = _ratio(weight2, weight)
    sums: Floats = unit * rng.poisson(_ratio(weight, unit), (times, len(weight)))
    return sums


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.zeros(len(top)), where=bottom > 0)


class _ClusterDraws:
    """Sums by cluster and cell, ready for drawing as many clusters as there are with replacement."""

    def __init__(self, tally: Tally, count: int) -> None:
        assert tally.cluster is not None
        self.count, self.clusters = count, tally.cluster_count
        both, index = np.unique(tally.cluster * count + cell_of_rows(tally, count), return_inverse=True)
        self.cluster, self.cell = np.divmod(both, count)
        columns = (
            tally.weight_positives - tally.sum_score,
            tally.sum_score_positive - tally.sum_score2,
            tally.weight,
            tally.sum_score,
        )
        self.columns = [np.bincount(index, column).astype(np.float64) for column in columns]

    def draw(self, rng: np.random.Generator, times: int) -> _Nodes:
        """Draw resamples."""
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
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 500,
    seed: Seed = None,
) -> SmoothCurve:
    """Observed frequency as a smooth function of the score, with a pointwise band.

    On the diagonal the model is calibrated, above it underconfident, below it overconfident. The band is
    made by resampling at the curve's own bandwidth: it holds the *smoothed* curve of the population at
    each score alone, about as often as ``level`` says, and leaves out what smoothing hides.

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1: whether the event happened.
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
        257 points; frequency and band are NaN where less than one pair is within reach of the kernel.

    Raises
    ------
    InputError
        For anything that is not such labels, scores, weights or clusters.

    References
    ----------
    J. Blasiok and P. Nakkiran (2024), Smooth ECE: principled reliability diagrams via kernel smoothing,
    ICLR. arXiv:2309.12236, section 3

    Examples
    --------
    >>> curve = smooth_curve([0, 1] * 500, [0.4, 0.6] * 500, resamples=50, seed=1)
    >>> bool(curve.frequency[0] < 0.4 < 0.6 < curve.frequency[-1])
    True
    """
    checked = pairs(y_true, y_prob, sample_weight=sample_weight, clusters=clusters)
    return smooth_curve_of(checked, level=level, resamples=resamples, seed=seed)
