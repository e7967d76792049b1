"""A tally coarsened to equal cells of [0, 1], and its mass put on the cells' end points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, Integers, Pairs
from calibrant.metrics.tally import Tally


def as_tally(source: Pairs | Tally) -> Tally:
    """Return the tally of pairs (or the tally itself)."""
    return source if isinstance(source, Tally) else Tally.from_pairs(source)


@dataclass(frozen=True)
class Cells:
    """Sums of a tally over equal cells of [0, 1]; each array has one entry a cell."""

    weight: Floats
    weight_positives: Floats
    weight2: Floats
    weight2_positives: Floats
    sum_score: Floats
    sum_score2: Floats
    sum_score_positive: Floats


def cell_of_rows(tally: Tally, count: int) -> Integers:
    """Cell of each row by its mean score; a score of exactly 1 belongs to the last cell."""
    return np.minimum((tally.score * count).astype(np.int64), count - 1)


def cells_of(tally: Tally, count: int) -> Cells:
    """Add the rows of a tally up by cell."""
    cell = cell_of_rows(tally, count)

    def total(values: Floats) -> Floats:
        return np.bincount(cell, values, minlength=count).astype(np.float64, copy=False)

    return Cells(
        weight=total(tally.weight),
        weight_positives=total(tally.weight_positives),
        weight2=total(tally.weight2),
        weight2_positives=total(tally.weight2_positives),
        sum_score=total(tally.sum_score),
        sum_score2=total(tally.sum_score2),
        sum_score_positive=total(tally.sum_score_positive),
    )


def on_nodes(mass: Floats, moment: Floats) -> Floats:
    """Share each cell's mass between its two end points so that mass and first moment are kept.

    Parameters
    ----------
    mass, moment
        (..., count) sums of v and of v q over the cell's pairs, for any v.

    Returns
    -------
    ndarray
        (..., count + 1) masses at the nodes j / count.

    Examples
    --------
    >>> on_nodes(np.array([1.0, 2.0]), np.array([0.25, 1.5])).tolist()
    [0.5, 1.5, 1.0]
    """
    count = mass.shape[-1]
    right = moment * count - mass * np.arange(count)
    nodes = np.zeros((*mass.shape[:-1], count + 1))
    nodes[..., :-1] = mass - right
    nodes[..., 1:] += right
    return nodes
