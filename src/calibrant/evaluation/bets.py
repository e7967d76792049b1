"""The bets of a monitor: regions of scores, directions, strengths, and bounds from a reference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

EDGES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
STRENGTHS = tuple(0.015 * 2.0**k for k in range(7))  # shares of the largest bet that cannot ruin
DAY_STRENGTHS = (0.15, 0.4, 0.8, 0.99)  # with one bet per day, smaller bets win nothing within years
SHAPES_SHARE = 0.5  # of the wealth, on directions that go over all regions
HALVINGS = 40
LEAST_LOSS = 0.01  # an upper bound may not promise more than this above what is possible


@dataclass(frozen=True)
class Bets:
    """Bets of a monitor, fixed before the first look.

    Attributes
    ----------
    edges
        Inner edges of the regions (low, high].
    weight
        (directions, regions) weight of the residuals, in [-1, 1].
    names
        Names of the directions.
    bound
        (2, regions) largest mean of y - q, and of q - y, that the null allows.
    loss
        (2, regions) largest distance of y - q, and of q - y, below 0.
    strength
        Fractions of the largest bet that cannot lose everything.
    log_prior
        (directions, strengths) log of the initial fractions of the wealth.
    """

    edges: Floats
    weight: Floats
    names: tuple[str, ...]
    bound: Floats
    loss: Floats
    strength: Floats
    log_prior: Floats


def bets_of(edges: Floats, bound: Floats, strengths: tuple[float, ...] = STRENGTHS) -> Bets:
    """Return bets on single regions and on all: scores too high or low, over- or underconfident."""
    ends = np.concatenate([[0.0], edges, [1.0]])
    regions = len(ends) - 1
    loss = np.array([ends[1:], 1 - ends[:-1]])
    shapes = {
        "frequencies above the scores": np.ones(regions),
        "frequencies below the scores": -np.ones(regions),
    }
    single: dict[str, Floats] = {}
    if regions > 1:
        slope = np.linspace(1.0, -1.0, regions)
        shapes |= {"scores overconfident": slope, "scores underconfident": -slope}
        for b in range(regions):
            place = f"scores from {ends[b]:.3g} to {ends[b + 1]:.3g}"
            single[f"frequency above {place}"] = np.eye(regions)[b]
            single[f"frequency below {place}"] = -np.eye(regions)[b]
    share = SHAPES_SHARE if single else 1.0
    prior = np.repeat([share / len(shapes), (1 - share) / max(1, len(single))], [len(shapes), len(single)])
    log_prior = np.repeat(np.log(prior / len(strengths))[:, None], len(strengths), axis=1)
    names = (*shapes, *single)
    weight = np.array([*shapes.values(), *single.values()])
    least = np.maximum(bound, LEAST_LOSS - loss)
    return Bets(edges, weight, names, least, loss, np.array(strengths), log_prior)


def regions_of(score: NDArray[np.floating], edges: Floats) -> Integers:
    """Return the region (low, high] of each score; 0 is in the first."""
    return np.searchsorted(edges, score.astype(np.float64), side="left")


def sums_by_group(
    residual: Floats, score: Floats, region: Integers, group: Integers, regions: int
) -> tuple[Floats, Floats, Floats]:
    """Return (groups, regions) sums of residuals and of scores, and counts."""
    shape = int(group.max()) + 1, regions
    cell = group * regions + region
    total, scores, count = (
        np.bincount(cell, weights, minlength=shape[0] * regions).astype(np.float64).reshape(shape)
        for weights in (residual, score, None)
    )
    return total, scores, count


def reference_bounds(total: Floats, count: Floats, edges: Floats, risk: float) -> Floats:
    """Return (2, regions) simultaneous upper bounds on the means of y - q and q - y, wrong with this risk.

    A bound is the smallest mean that bets reject (Waudby-Smith & Ramdas 2024). Groups have to be independent;
    the labels within a group need not be.
    """
    ends = np.concatenate([[0.0], edges, [1.0]])
    largest = np.array([1 - ends[:-1], ends[1:]])
    bound = largest.copy()
    for b in range(len(ends) - 1):
        there = count[:, b] > 0
        mean = total[there, b] / count[there, b]
        for side, sign in enumerate((1.0, -1.0)):
            bound[side, b] = upper_bound(sign * mean, float(largest[side, b]), risk / (2 * len(ends) - 2))
    return bound


def upper_bound(mean: Floats, largest: float, risk: float) -> float:
    """Return the smallest m that a mixture of bets on ``m - mean`` rejects at this risk, or ``largest``."""
    low, high = -1.0, largest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _log_wealth(mean, middle, largest) >= math.log(1 / risk):
            high = middle
        else:
            low = middle
    return high


def _log_wealth(mean: Floats, bound: float, largest: float) -> float:
    gain = (bound - mean) / max(largest - bound, 1e-12)
    each = np.array([np.log1p(strength * np.maximum(gain, -1.0)).sum() for strength in STRENGTHS])
    return float(np.logaddexp.reduce(each)) - math.log(len(STRENGTHS))
