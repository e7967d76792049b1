"""Sums on the grid of a compressed tally, by one thread of a streaming pass, and their merge."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs
from calibrant._kernels import tally as kernels
from calibrant._kernels.selection import fold_compensated
from calibrant.metrics.grid import grid

Floats = NDArray[np.float64]

_FOLD_AFTER = 1 << 20  # pairs summed plainly before they are folded into compensated totals


class _Compensated:
    """Sums of the latest pairs, and totals that keep what rounding loses."""

    def __init__(self, columns: int) -> None:
        shape = (2 * len(grid().low), columns)
        self.part, self.total, self.lost = np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def fold(self) -> None:
        fold_compensated(self.part.reshape(-1), self.total.reshape(-1), self.lost.reshape(-1))

    def absorb(self, other: _Compensated) -> None:
        fold_compensated(other.total.reshape(-1), self.total.reshape(-1), self.lost.reshape(-1))
        self.lost += other.lost

    def sums(self) -> Floats:
        """Array (rows, label, columns)."""
        return (self.total + self.lost).reshape(len(self.total) // 2, 2, -1)


class GridSums:
    """One thread's sums by row and label: plain pairs and weighted pairs apart."""

    def __init__(self) -> None:
        self._plain = _Compensated(4)
        self._weighted: _Compensated | None = None
        self._pending = 0

    def add(self, pairs: Pairs) -> None:
        """Add checked pairs; their clusters are ignored."""
        shared = grid()
        if pairs.weight is None:
            kernels.tally(pairs.score, pairs.outcome, shared.part_of, shared.cut, self._plain.part)
        else:
            self._weighted = self._weighted or _Compensated(5)
            kernels.tally_weighted(
                pairs.score, pairs.outcome, pairs.weight, shared.part_of, shared.cut, self._weighted.part
            )
        self._pending += len(pairs)
        if self._pending >= _FOLD_AFTER:
            self._fold()

    def room(self, additions: int) -> Floats:
        """Where a kernel may add sums of pairs without weights, as `tally` does: at most so many to a row."""
        if self._pending + additions > _FOLD_AFTER:
            self._fold()
        self._pending += additions
        return self._plain.part

    def _fold(self) -> None:
        self._pending = 0
        self._plain.fold()
        if self._weighted is not None:
            self._weighted.fold()

    def absorb(self, other: GridSums) -> None:
        """Add another thread's sums."""
        self._fold()
        other._fold()
        self._plain.absorb(other._plain)
        if other._weighted is not None:
            self._weighted = self._weighted or _Compensated(5)
            self._weighted.absorb(other._weighted)

    def columns(self) -> dict[str, Any]:
        """The columns of a tally: the rows that hold pairs, in order of the score."""
        self._fold()
        plain = self._plain.sums()
        n, d, d2 = plain[:, :, 0], plain[:, :, 1], plain[:, :, 2]
        w, w2 = n, n
        if self._weighted is not None:
            sums = self._weighted.sums()
            n, w, w2 = n + sums[:, :, 0], w + sums[:, :, 1], w2 + sums[:, :, 2]
            d, d2 = d + sums[:, :, 3], d2 + sums[:, :, 4]
        shared = grid()
        kept = shared.order[n.sum(axis=1)[shared.order] > 0]
        return {
            "low": shared.low[kept],
            "high": shared.high[kept],
            "anchor": shared.anchor[kept],
            "n": n[kept].sum(axis=1).astype(np.int64),
            "positives": n[kept, 1].astype(np.int64),
            "weight": w[kept].sum(axis=1),
            "weight_positives": w[kept, 1],
            "weight2": w2[kept].sum(axis=1),
            "weight2_positives": w2[kept, 1],
            "offset": d[kept].sum(axis=1),
            "offset2": d2[kept].sum(axis=1),
            "offset_positive": d[kept, 1],
            "weighted": self._weighted is not None,
        }
