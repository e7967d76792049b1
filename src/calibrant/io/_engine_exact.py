"""Exact cuts of the pairs of an engine: passes over only the rows of the grid in which cuts fall."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant.io._engine_frames import collected, keyed, summed_by
from calibrant.io._engine_rows import FINE, cells
from calibrant.metrics.grid import grid, rows_of
from calibrant.metrics.tally import Tally

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

LARGEST_PULLED = 1 << 20  # pairs whose distinct scores are fetched
STEP, FINEST = 12, 36  # bits by which a row is divided further, and at most


@dataclass(frozen=True)
class Pieces:
    """Sums of consecutive ranges of scores; ``key`` names a range to the engine, -1 names none."""

    low: Floats
    high: Floats
    anchor: Floats
    n: Integers
    positives: Integers
    offset: Floats
    offset2: Floats
    offset_positive: Floats
    key: Integers

    def __len__(self) -> int:
        return len(self.n)

    def take(self, chosen: NDArray[Any]) -> Pieces:
        return Pieces(*(getattr(self, each.name)[chosen] for each in fields(self)))

    def joined(self, other: Pieces) -> Pieces:
        """Both, in order of the score."""
        both = Pieces(
            *(np.concatenate([getattr(self, each.name), getattr(other, each.name)]) for each in fields(self))
        )
        return both.take(np.lexsort((both.high, both.low)))

    def hit(self, ranks: Integers, edges: Floats) -> NDArray[np.bool_]:
        """Which pieces a rank begins in, or an edge divides."""
        found = np.zeros(len(self), bool)
        found[np.searchsorted(np.cumsum(self.n), ranks, side="right")] = True
        first = np.searchsorted(edges, self.low, side="left")
        first += _opened(self.low, self.high) & np.isin(self.low, edges)
        found |= first < np.searchsorted(edges, self.high, side="left")
        return found & (self.low < self.high)


def tally_with_cuts(
    frame: Any,
    tally: Tally,
    score: str,
    label: str,
    ranks: Integers,
    edges: Floats,
) -> Tally:
    """Refine a compressed tally, without weights, so that bins with these cuts are those of the pairs.

    Parameters
    ----------
    frame
        The lazy frame, as Narwhals has it, that the tally was made of.
    tally
        By score alone.
    score, label
        Columns of the frame.
    ranks, edges
        As in `calibrant.metrics.selection.select`.
    """
    inner = np.unique(edges[1:-1]) if len(edges) else edges
    pieces, bits = _rows(tally), 0
    while True:
        needed = pieces.hit(ranks, inner) & (pieces.key >= 0)
        if not needed.any():
            return _as_tally(pieces)
        wanted = pieces.take(needed)
        if bits >= FINEST or wanted.n.sum() <= LARGEST_PULLED:
            finer = _distinct(frame, score, label, wanted.key, bits)
        else:
            finer = _divided(frame, score, label, wanted.key, bits, bits + STEP)
            bits += STEP
        rest = pieces.take(~needed)
        rest.key[:] = -1
        pieces = rest.joined(finer)


def _opened(low: Floats, high: Floats) -> NDArray[np.bool_]:
    """Return True for each range that excludes its low end, because it follows a cut of the grid."""
    opened: NDArray[np.bool_] = (low < high) & np.isin(low, grid().cut)
    return opened


def _rows(tally: Tally) -> Pieces:
    """The rows of a tally; their keys are numbers of the grid's rows."""
    inside = np.where(_opened(tally.low, tally.high), np.nextafter(tally.low, 1), tally.low)
    row = rows_of(inside)[0]
    return Pieces(
        tally.low,
        tally.high,
        tally.anchor,
        tally.n,
        tally.positives,
        tally.offset,
        tally.offset2,
        tally.offset_positive,
        row,
    )


def _chosen(frame: Any, score: str, label: str, wanted: Integers, bits: int) -> Any:
    """The pairs of some pieces."""
    import narwhals as nw

    found = keyed(frame, score, label, None, [])
    if not bits:
        known = cells()
        key = known.key[np.isin(known.row, wanted)]
        return found.filter(nw.col("key").is_in(key.tolist()))
    found = found.with_columns(_finer(bits).alias("part"))
    return found.filter(nw.col("part").is_in(wanted.tolist()))


def _finer(bits: int) -> Any:
    import narwhals as nw

    return nw.col("key") * (1 << bits) + (nw.col("d") * float(1 << bits)).floor().cast(nw.Int64)


def _distinct(frame: Any, score: str, label: str, wanted: Integers, bits: int) -> Pieces:
    """Pieces of one score each."""
    import narwhals as nw

    found = _chosen(frame, score, label, wanted, bits).select("q", "y")
    table = collected(found.group_by("q", "y").agg(nw.len().alias("n")), "a group-by of scores")
    q, n = table["q"].to_numpy() + 0.0, table["n"].to_numpy().astype(np.int64)
    value, place = np.unique(q, return_inverse=True)
    total, positives = np.zeros(len(value), np.int64), np.zeros(len(value), np.int64)
    np.add.at(total, place, n)
    np.add.at(positives, place, np.where(table["y"].to_numpy() == 1, n, 0))
    zeros = np.zeros(len(value))
    done = np.full(len(value), -1, np.int64)
    return Pieces(value, value, value, total, positives, zeros, zeros, zeros, done)


def _divided(frame: Any, score: str, label: str, wanted: Integers, bits: int, finer: int) -> Pieces:
    """Pieces that divide each in 2^12."""
    found = _chosen(frame, score, label, wanted, bits).with_columns(_finer(finer).alias("piece"))
    table = collected(summed_by(found, ["piece", "y"], None), "a group-by of parts of rows")
    piece, place = np.unique(table["piece"].to_numpy(), return_inverse=True)
    known = cells()
    cell = known.find(piece >> finer)
    unit, least, above = known.unit[cell], known.least[cell], known.above[cell]

    def total(values: NDArray[Any]) -> NDArray[Any]:
        summed = np.zeros(len(piece), values.dtype)
        np.add.at(summed, place, values)
        return summed

    n = table["n"].to_numpy().astype(np.int64)
    positive = table["y"].to_numpy() == 1
    moved = unit[place] * 2.0**-FINE * (table["coarse"].to_numpy() + table["fine"].to_numpy())
    inside = (piece & ((1 << finer) - 1)).astype(np.float64) * 2.0**-finer
    begin, end = inside * unit, (inside + 2.0**-finer) * unit
    row = known.row[cell]
    return Pieces(
        np.maximum(grid().low[row], np.where(above, 1 - (least - begin), least + begin)),
        np.minimum(grid().high[row], np.where(above, 1 - (least - end), least + end)),
        np.where(above, 1 - least, least),
        total(n),
        total(np.where(positive, n, 0)),
        total(moved),
        total(unit[place] ** 2 * table["d2"].to_numpy()),
        total(np.where(positive, moved, 0.0)),
        piece,
    )


def _as_tally(pieces: Pieces) -> Tally:
    w, wk = pieces.n.astype(np.float64), pieces.positives.astype(np.float64)
    return Tally(
        "exact",
        pieces.low,
        pieces.high,
        pieces.anchor,
        pieces.n,
        pieces.positives,
        w,
        wk,
        w,
        wk,
        pieces.offset,
        pieces.offset2,
        pieces.offset_positive,
    )
