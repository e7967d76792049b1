"""Draws for intervals and tests: Algorithm 2, bootstrap, redrawn labels, flipped signs.

All of them cost by the number of bins (or of cells cluster x bin), not by the number of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from calibrant._checks import Floats
from calibrant._kernels import clusters as cluster_kernels
from calibrant._kernels import debiased as kernels
from calibrant.exceptions import InputError
from calibrant.metrics.residuals import Residuals
from calibrant.results import Bins

_NUMBERS_A_CHUNK = 1 << 17


def _chunks(draws: int, width: int) -> Iterator[slice]:
    step = max(1, _NUMBERS_A_CHUNK // width)
    for start in range(0, draws, step):
        yield slice(start, min(draws, start + step))


def algorithm_2(bins: Bins, samples: int, rng: np.random.Generator, *, clip: bool) -> Floats:
    """Mean squared errors (samples,) of frequencies drawn from N(p, p (1 - p) / n)."""
    frequency, score, share = bins.frequency, bins.score, bins.share
    spread = np.sqrt(np.maximum(frequency * (1 - frequency), 0) / bins.effective_n)
    squared = np.empty(samples)
    buffer = np.empty((min(samples, max(1, _NUMBERS_A_CHUNK // len(bins))), len(bins)))
    for piece in _chunks(samples, len(bins)):
        normal = buffer[: piece.stop - piece.start]
        rng.standard_normal(out=normal)
        kernels.sampled_errors(normal, frequency, spread, score, share, clip, squared[piece])
    return squared


def bootstrap(table: Residuals, samples: int, rng: np.random.Generator) -> Floats:
    """Debiased squared errors (samples,) of resampled clusters (or pairs); the bins stay.

    The copies of one cluster are one cluster, so their products stay out; counting them as different
    would bring the plug-in's bias back.
    """
    if table.cells is None:
        return _bootstrap_pairs(table, samples, rng)
    cells = table.cells
    units = len(cells.start) - 1
    sums = np.empty((4, len(table.n)))
    estimates = np.empty(samples)
    for s in range(samples):
        copies = np.bincount(rng.integers(units, size=units), minlength=units)
        cluster_kernels.resampled_sums(cells.start, cells.bin, cells.residual, cells.weight, copies, sums)
        estimates[s] = _estimates(*sums)
    return estimates


def _bootstrap_pairs(table: Residuals, samples: int, rng: np.random.Generator) -> Floats:
    """Resample the counts of each bin's positives and negatives; a label's residual is its bin's mean."""
    _refuse_weights(table)
    positives, sum_positive, negatives, sum_negative = table.labels
    counts = np.concatenate([positives, negatives])
    gap = np.divide(
        np.concatenate([sum_positive, sum_negative]), counts, out=np.zeros(len(counts)), where=counts > 0
    )
    n = round(float(counts.sum()))
    estimates = np.empty(samples)
    for piece in _chunks(samples, len(counts)):
        copies = rng.multinomial(n, counts / counts.sum(), size=piece.stop - piece.start).astype(np.float64)
        # Expected sum of squared copies of the pairs of a cell, given how many copies the cell has.
        squares = copies * (1 + np.divide(copies - 1, counts, out=np.zeros_like(copies), where=counts > 0))
        estimates[piece] = _estimates(
            _both(copies * gap), _both(squares * gap**2), _both(copies), _both(squares)
        )
    return estimates


def _refuse_weights(table: Residuals) -> None:
    if table.weighted:
        raise InputError(
            "weighted bins do not hold the pairs to resample", "pass the pairs", code="parameter"
        )


def _both(values: Floats) -> Floats:
    """Positives plus negatives, by bin."""
    half = values.shape[-1] // 2
    total: Floats = values[..., :half] + values[..., half:]
    return total


def _estimates(residual: Floats, residual2: Floats, weight: Floats, weight2: Floats) -> Floats:
    """T from sums by bin (last axis); a bin left with a single unit says nothing and drops out."""
    denominator = weight**2 - weight2
    some = denominator > 1e-9 * weight**2
    mean = np.divide(residual**2 - residual2, denominator, out=np.zeros_like(residual), where=some)
    used = weight * some
    estimate: Floats = (used * mean).sum(axis=-1) / used.sum(axis=-1)
    return estimate


def redrawn(table: Residuals, samples: int, rng: np.random.Generator) -> Floats:
    """Debiased squared errors (samples,) when labels are drawn from the scores, independently.

    The number of positives of a bin is drawn as binomial with the bin's mean score.
    """
    if table.clusters or table.weighted:
        raise InputError(
            "labels cannot be redrawn for clusters or weights: their dependence is unknown",
            'use method="sign-flip" or the default',
            code="parameter",
        )
    n = np.round(table.n).astype(np.int64)
    mean = np.clip(table.score / table.weight, 0, 1)
    factor = table.factor
    estimates = np.empty(samples)
    for piece in _chunks(samples, len(n)):
        positives = rng.binomial(n, mean, size=(piece.stop - piece.start, len(n)))
        squares = positives * (1 - 2 * mean) + table.score2
        estimates[piece] = ((positives - table.score) ** 2 - squares) @ factor
    return estimates


def sign_flipped(table: Residuals, samples: int, rng: np.random.Generator) -> Floats:
    """Debiased squared errors (samples,) when a cluster's (or pair's) residuals change sign together."""
    factor = table.factor
    own = float(np.sum(factor * table.unit[1]))
    estimates = np.empty(samples)
    if table.cells is None:
        _refuse_weights(table)
        positives, sum_positive, negatives, sum_negative = table.labels
        counts = np.round(np.concatenate([positives, negatives])).astype(np.int64)
        gap = np.concatenate([sum_positive, sum_negative]) / np.maximum(counts, 1)
        for piece in _chunks(samples, len(counts)):
            kept = rng.binomial(counts, 0.5, size=(piece.stop - piece.start, len(counts)))
            estimates[piece] = _both((2 * kept - counts) * gap) ** 2 @ factor - own
        return estimates
    cells = table.cells
    units = len(cells.start) - 1
    residual = np.empty(len(table.n))
    for s in range(samples):
        sign = 2 * rng.integers(2, size=units).astype(np.float64) - 1
        cluster_kernels.signed_sums(cells.start, cells.bin, cells.residual, sign, residual)
        estimates[s] = float(factor @ residual**2) - own
    return estimates
