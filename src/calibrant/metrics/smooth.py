"""Smooth calibration error and smooth calibration curve (Blasiok & Nakkiran 2023).

The residuals ``y - q`` are smoothed over the scores by a Gaussian kernel reflected at 0 and 1;
the error at bandwidth s is the integral of the absolute smoothed residual, and *the* smooth
error is the one that equals its own bandwidth. No bins, and no choice is left to the user.

Reflection makes the kernel diagonal in cosines: smoothing multiplies the k-th cosine mode by
``exp(-(pi k s)^2 / 2)``. So the tally is put on a grid once (each pair's mass shared between its
two neighbors, which keeps its first moment) and every bandwidth costs one cosine transform.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from calibrant._checks import Floats, Pairs
from calibrant._parallel import default_threads, slices
from calibrant.metrics.binning import Source
from calibrant.metrics.grouping import ratio
from calibrant.metrics.sources import source_of
from calibrant.metrics.tally import LARGEST_EXACT, Cells, Tally, as_tally, cell_of_rows, cells_of, on_nodes
from calibrant.results.errors import SmoothError

NODES_PER_BANDWIDTH = 64
SMALLEST_GRID = 256
LARGEST_GRID = 1 << 17
TINY = 1e-300
# E|z^2 - 1| of a standard normal z: the integral of |k''| of a Gaussian kernel, times s^2.
CURVATURE = 4 * np.exp(-0.5) / np.sqrt(2 * np.pi)


def cosine_modes(nodes: Floats, smallest: float) -> Floats:
    """Return cosine modes ``sum_j v_j cos(pi k j / M)`` of masses v on the nodes j / M (last axis).

    Only the lowest ones: the others are smoothed to less than 1e-15 of themselves by every bandwidth
    from ``smallest`` on.
    """
    from calibrant._special import cosine_transform

    ends = np.ones(nodes.shape[-1])
    ends[[0, -1]] = 2.0
    modes = cosine_transform(nodes * ends) / 2
    return modes[..., : int(8.5 / np.pi / smallest) + 2]


def smoothed(modes: Floats, bandwidth: Floats | float, count: int) -> Floats:
    """Return the density on the nodes j / count after smoothing by the reflected Gaussian kernel.

    ``bandwidth`` is one number, or one number per row of ``modes``.

    Examples
    --------
    >>> smoothed(cosine_modes(np.eye(257)[100], 0.1), 10.0, 256)[[0, 100, 256]].round(6).tolist()
    [1.0, 1.0, 1.0]
    """
    from calibrant._special import cosine_transform

    frequency = np.pi * np.arange(modes.shape[-1])
    decay = np.exp(-0.5 * (np.expand_dims(np.asarray(bandwidth, np.float64), -1) * frequency) ** 2)
    lowest = modes * decay
    every = np.zeros((*lowest.shape[:-1], count + 1))
    every[..., : lowest.shape[-1]] = lowest
    return cosine_transform(every)


def mean_absolute(values: Floats) -> Floats:
    """Return the integral over [0, 1] of the absolute value of each row's function, linear between nodes.

    Examples
    --------
    >>> mean_absolute(np.array([[-1.0, 1.0]])).tolist()
    [0.5]
    """
    from calibrant._kernels import smooth as kernels

    mean = np.empty(len(values))
    kernels.mean_absolute(values, mean)
    return mean


def residual_nodes(cells: Cells) -> Floats:
    """Return the mean residual ``y - q`` of the cells as masses on the nodes."""
    mass = cells.weight_positives - cells.sum_score
    moment = cells.sum_score_positive - cells.sum_score2
    nodes: Floats = on_nodes(mass, moment) / cells.weight.sum()
    return nodes


def residual_nodes_of_pairs(source: Pairs) -> tuple[Floats, float]:
    """Return the mean residual of the pairs on the nodes of the finest grid, and the mean absolute one."""
    from concurrent.futures import ThreadPoolExecutor

    from calibrant._kernels.smooth import put_residuals

    def one(piece: slice) -> tuple[Floats, float, float]:
        part = source.part(piece)
        nodes = np.zeros(LARGEST_GRID + 1)
        weight = np.empty(0) if part.weight is None else part.weight
        return (nodes, *put_residuals(part.score, part.label, weight, nodes))

    nodes, total, absolute = np.zeros(LARGEST_GRID + 1), 0.0, 0.0
    with ThreadPoolExecutor(default_threads()) as pool:
        for part, weight, residual in pool.map(one, slices(len(source))):
            nodes += part
            total += weight
            absolute += residual
    return nodes / total, absolute / total


def coarser(nodes: Floats) -> Floats:
    """Return masses on every second node; each other node gives half of its mass to each neighbor.

    Examples
    --------
    >>> coarser(np.array([1.0, 2.0, 3.0, 4.0, 5.0])).tolist()
    [2.0, 6.0, 7.0]
    """
    kept = nodes[::2].copy()
    kept[:-1] += nodes[1::2] / 2
    kept[1:] += nodes[1::2] / 2
    return kept


def fixed_points(
    modes: Floats, count: int, smallest: float, tolerance: float = 1e-11
) -> tuple[Floats, Floats]:
    """Return bandwidths that equal their smooth error, one per row of modes, and these errors.

    The smooth error e(s) never increases with the bandwidth s, so log e(s) - log s decreases at least as fast
    as -log s. It has one zero, between ``smallest`` and e(``smallest``), and is at least as large as the
    distance to it. Regula falsi (Illinois) finds the zero. If the zero is below ``smallest``, the bandwidth
    is ``smallest`` with the error there; the fixed point is between the two.
    """

    def excess(log_bandwidth: Floats) -> Floats:
        error = mean_absolute(smoothed(modes, np.exp(log_bandwidth), count))
        return np.log(np.maximum(error, TINY)) - log_bandwidth

    error_there = mean_absolute(smoothed(modes, smallest, count))
    low = np.full(len(modes), np.log(smallest))
    above = np.log(np.maximum(error_there, TINY)) - low
    inside = above > 0
    high = low + np.maximum(above, 0.0)
    below = np.minimum(excess(high), 0.0)
    middle, side = low, np.zeros(len(modes))
    for _ in range(100):
        gap = above - below
        middle = low + (high - low) * ratio(above, gap)
        difference = excess(middle)
        if (~inside | (np.abs(difference) <= tolerance) | (high - low <= tolerance)).all():
            break
        up = difference > 0
        # Where the same end stays twice, its value is halved, so that both ends close in.
        below = np.where(up, np.where(side > 0, below / 2, below), difference)
        above = np.where(up, difference, np.where(side < 0, above / 2, above))
        low, high = np.where(up, middle, low), np.where(up, high, middle)
        side = np.where(up, 1.0, -1.0)
    bandwidth = np.where(inside, np.exp(middle), smallest)
    return bandwidth, np.where(inside, bandwidth, error_there)


def fixed_point(nodes_of: Callable[[int], Floats]) -> tuple[int, float, float]:
    """Return the cells of the coarsest grid that resolves the bandwidth, the bandwidth, and its smooth error.

    ``nodes_of`` gives the mean residuals on the nodes of a grid of so many cells.
    """
    count = SMALLEST_GRID
    while True:
        smallest = NODES_PER_BANDWIDTH / count
        modes = cosine_modes(nodes_of(count)[None, :], smallest)
        if count == LARGEST_GRID or mean_absolute(smoothed(modes, smallest, count))[0] >= smallest:
            bandwidth, error = fixed_points(modes, count, smallest)
            return count, float(bandwidth[0]), float(error[0])
        count *= 2


def nodes_of_tally(tally: Tally) -> Callable[[int], Floats]:
    """Return what puts a tally's residuals on a grid."""
    return lambda count: residual_nodes(cells_of(tally, count))


def grid_error(tally: Tally, count: int, bandwidth: float) -> float:
    """Return a bound on the error of the smooth error at a bandwidth due to the grid and the rows.

    A pair at distances a, b from the two nodes that share its mass is smoothed with an error of
    at most ``a b / 2`` times the kernel's second derivative; drawing straight lines between the
    nodes costs at most ``h^2 / 12`` times that of the smoothed residual. The rows of a compressed tally
    are wide against the bandwidths of some 10^6 pairs, and the bound far above the error then.
    """
    step = 1 / count
    left = cell_of_rows(tally, count) * step
    inside = (tally.low >= left) & (tally.high <= left + step)
    reach = np.maximum(np.abs(tally.low - left), np.abs(tally.high - left)) + step
    product = np.where(inside, step**2 / 4, reach**2)
    share, residual = _absolute_residuals(tally)
    terms: Floats = residual * (product / 2 + step**2 / 12)
    return float(CURVATURE / bandwidth**2 * np.dot(share, terms))


def _absolute_residuals(tally: Tally) -> tuple[Floats, Floats]:
    """Return the fraction of the weight and the mean absolute residual of each row."""
    total = tally.weight_positives + tally.sum_score - 2 * tally.sum_score_positive
    return tally.weight / tally.total_weight, np.maximum(total / tally.weight, 0.0)


def smooth_error(source: Source) -> SmoothError:
    """Return the smooth calibration error of pairs or of a tally, with its bandwidth and error bound.

    See `smooth_calibration_error`. If the fixed point is below the resolution of the finest grid
    (a bandwidth near 0.0005), the result is the error at that smallest bandwidth, and the
    distance to the fixed point is included in the error bound.

    Examples
    --------
    >>> from calibrant._checks import pairs
    >>> result = smooth_error(pairs([0] * 400, [0.1] * 200 + [1.0] * 200))
    >>> round(result.value, 3), result.value == result.bandwidth
    (0.55, True)
    """
    if isinstance(source, Pairs) and len(source) > LARGEST_EXACT:
        return _of_many_pairs(source)
    tally = as_tally(source)
    count, bandwidth, value = fixed_point(nodes_of_tally(tally))
    absolute = float(np.dot(*_absolute_residuals(tally)))
    return SmoothError(
        value=value,
        bandwidth=bandwidth,
        error_bound=grid_error(tally, count, bandwidth) + _beyond_grid(value, bandwidth, absolute),
        grid_points=count + 1,
        n=tally.total_n,
        weight_sum=tally.total_weight,
    )


def _of_many_pairs(source: Pairs) -> SmoothError:
    """As for a tally, but put on the grid pair by pair: a compressed tally would be too coarse."""
    finest, absolute = residual_nodes_of_pairs(source)

    def nodes_of(count: int) -> Floats:
        nodes = finest
        while len(nodes) > count + 1:
            nodes = coarser(nodes)
        return nodes

    count, bandwidth, value = fixed_point(nodes_of)
    of_grid = float(CURVATURE / (bandwidth * count) ** 2 * absolute * (1 / 8 + 1 / 12))
    return SmoothError(
        value=value,
        bandwidth=bandwidth,
        error_bound=of_grid + _beyond_grid(value, bandwidth, absolute),
        grid_points=count + 1,
        n=len(source),
        weight_sum=float(len(source) if source.weight is None else source.weight.sum()),
    )


def _beyond_grid(value: float, bandwidth: float, absolute: float) -> float:
    """How far the fixed point can lie from the value; the error never exceeds the mean absolute residual."""
    return max(0.0, min(bandwidth, absolute) - value)


def smooth_calibration_error(
    y_true: ArrayLike | Source, y_prob: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the smooth expected calibration error (smECE), a calibration error without bins.

    Residuals are smoothed by a reflected Gaussian kernel whose bandwidth equals the resulting
    error. Zero for residuals that vanish; continuous in the scores, so that a small change of the
    scores is a small change of the error. Like the binned error it is above zero for a calibrated
    model of finite n: read it beside its noise floor (`smooth_noise_floor`).

    Parameters
    ----------
    y_true
        (n,) labels 0 / 1: whether the event happened; or pairs or a tally, alone.
    y_prob
        (n,) predicted probabilities of the event, in [0, 1].
    sample_weight
        (n,) non-negative weights; None counts every pair once.

    Returns
    -------
    float
        In [0, 1]. Computed on a grid; `smooth_error` gives the bound of its error.

    References
    ----------
    J. Blasiok and P. Nakkiran (2024), Smooth ECE: principled reliability diagrams via kernel
    smoothing, ICLR. arXiv:2309.12236

    Examples
    --------
    >>> round(smooth_calibration_error([0, 0, 1, 1], [0.4, 0.4, 0.6, 0.6]), 3)
    0.174
    """
    return smooth_error(source_of(y_true, y_prob, sample_weight=sample_weight)).value
