"""Residuals of several classes as one table, in which each class counts alike whatever its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.metrics.residuals import ClusterCells, Residuals


@dataclass(frozen=True)
class Strata(Residuals):
    """Residuals whose bins belong to strata, which are never joined to each other.

    Attributes
    ----------
    stratum
        (B,) number of each bin's stratum, ascending.
    """

    stratum: Integers = field(kw_only=True)

    @property
    def part(self) -> Integers:
        """(B,) the bins' strata."""
        return self.stratum

    def joined(self, group: NDArray[np.int32], *, cells: bool = True) -> Strata:
        """The same pairs in wider bins."""
        wider = super().joined(group, cells=cells)
        assert isinstance(wider, Strata)
        first = np.flatnonzero(np.concatenate([[True], np.diff(group) > 0]))
        return replace(wider, stratum=self.stratum[first])


def stratified(tables: Sequence[Residuals], units: Sequence[Integers], clusters: int) -> Strata:
    """One table of the residuals of several classes, each with the same total weight.

    The debiased squared error of the result is the mean of those of the classes.

    Parameters
    ----------
    tables
        Residuals of each class.
    units
        For each class, what its clusters (or pairs) 0, 1, ... are called among all classes, so that a cluster
        that has scores of several classes is known as one.
    clusters
        Number of clusters in all; 0 where pairs are independent.
    """
    n = sum(table.total_n for table in tables)
    equal = [_reweighted(table, n / len(tables) / float(table.weight.sum())) for table in tables]
    columns = {
        name: np.concatenate([getattr(table, name) for table in equal], axis=-1)
        for name in ("n", "weight", "residual", "pair", "null", "score", "score2", "labels", "unit")
    }
    return Strata(
        weights_by_label=any(table.weights_by_label for table in tables),
        size=max(table.size for table in tables),
        **columns,
        cells=_merged([(table.cells, len(table.n)) for table in equal], units),
        clusters=clusters,
        weighted=True,
        stratum=np.repeat(np.arange(len(tables)), [len(table.n) for table in tables]),
    )


def _reweighted(table: Residuals, factor: float) -> Residuals:
    """The same residuals with each weight times ``factor``."""

    def powers(*exponents: int) -> Floats:
        return factor ** np.array(exponents, np.float64)[:, None]

    cells = table.cells
    return replace(
        table,
        weight=table.weight * factor,
        residual=table.residual * factor,
        pair=table.pair * powers(2, 2, 2),
        null=table.null * powers(2, 3),
        score=table.score * factor,
        score2=table.score2 * factor,
        labels=table.labels * powers(0, 1, 0, 1),
        unit=table.unit * powers(2, 2, 3, 4, 6),
        cells=None
        if cells is None
        else replace(cells, residual=cells.residual * factor, weight=cells.weight * factor),
    )


def _merged(
    parts: Sequence[tuple[ClusterCells | None, int]], units: Sequence[Integers]
) -> ClusterCells | None:
    """The cells of all classes (each with its number of bins), ordered by cluster."""
    clusters, bins, residuals, weights = [], [], [], []
    offset = 0
    for (cells, count), unit in zip(parts, units, strict=True):
        if cells is None:
            return None
        clusters.append(np.repeat(unit, np.diff(cells.start)))
        bins.append(cells.bin + np.int32(offset))
        residuals.append(cells.residual)
        weights.append(cells.weight)
        offset += count
    cluster = np.concatenate(clusters)
    order = np.argsort(cluster, kind="stable")
    return ClusterCells(
        np.concatenate([[0], np.cumsum(np.bincount(cluster))]).astype(np.int64),
        np.concatenate(bins)[order],
        np.concatenate(residuals)[order],
        np.concatenate(weights)[order],
    )
