"""Group keys that an engine computes for scores, back to rows of the fixed grid of a compressed tally.

With m = min(q, 1 - q), P the power of two nearest to m and p = 256 (m / P - 1), doubled where it is negative,
the row of the grid is told by log2 P and floor(p): floor(-p) above one half, where rows are closed at the
other end. P comes by a multiplication and two subtractions (Veltkamp's splitting, to one bit), all exact.
Cuts of the grid at multiples of 1/60 are counted beside it. Nothing of the key needs to be decoded: keys
of the first score of every row, computed here by the same steps, are looked up.

References
----------
.. [1] Dekker (1971). A floating-point technique for extending the available precision. Numerische
   Mathematik 18.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import LARGEST_RATIO, Floats, Integers
from calibrant.metrics.grid import grid, rows_of
from calibrant.metrics.tally import Tally, sum_equal_rows

SPLIT = 2.0**52 + 1  # Veltkamp's factor that keeps one bit
LOWEST = 2.0**-64  # where the octaves of the grid begin
PARTS_OF_OCTAVE = 256
CUTS = 60  # 1/10, 1/15 and 1/20 are multiples of 1/60
TINY, ZERO, ONE, WRONG = 1, 0, 2, -1  # keys of 0 < q < 2^-64, of 0, of 1, and of what is no score
SIDE = 1 << 16
FINE = 20  # bits of a place in a row whose sum is exact; the rest is summed apart


@dataclass(frozen=True)
class Cells:
    """Rows of the grid by key, sorted by the key.

    Attributes
    ----------
    key
        The key of every cell.
    row
        Its row of the grid, numbered as `calibrant.metrics.grid.rows_of` does.
    least
        min(q, 1 - q) at the anchor from which offsets count.
    unit
        Width of the row: an offset is the position in the row times the width.
    above
        True if the row is above one half.
    """

    key: Integers
    row: Integers
    least: Floats
    unit: Floats
    above: NDArray[np.bool_]

    def find(self, key: Integers) -> Integers:
        """The place of each key."""
        found: Integers = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        if (self.key[found] != key).any():
            raise ArithmeticError("the engine's arithmetic differs from IEEE 754")
        return found


@dataclass(frozen=True)
class Sums:
    """Sums of an engine by key and label (and cluster); all arrays have one entry per group.

    ``first`` and ``second`` are sums of w d and w d^2 with d the offset from the row's anchor.
    """

    row: Integers
    label: NDArray[np.bool_]
    n: Integers
    weight: Floats | None
    weight2: Floats | None
    first: Floats
    second: Floats

    def take(self, chosen: NDArray[Any]) -> Sums:
        """Some of the groups."""

        def some(values: Any) -> Any:
            return None if values is None else values[chosen]

        return Sums(*(some(getattr(self, each.name)) for each in fields(self)))


def too_unequal(table: Any) -> bool:
    """Return whether weights of an engine's groups (``lightest``, ``heaviest``) differ too much."""
    if "heaviest" not in table.column_names or not table.num_rows:
        return False
    least, most = table["lightest"].to_numpy().min(), table["heaviest"].to_numpy().max()
    return bool(most > LARGEST_RATIO * least)


def first_scores() -> Floats:
    """The first score of every cell: of the rows of the grid, and after each multiple of 1/60."""
    starts = np.unique(grid().anchor)
    cuts = np.arange(CUTS + 1) / CUTS
    return np.unique(np.concatenate([starts, cuts, np.nextafter(cuts[:-1], 1)]))


def lattice(score: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the side (0 or 1), log2 of 1 / P, floor(+-p) and the cuts below, of scores in (0, 1)."""
    above = (score >= 0.5).astype(np.float64)
    sign = 1 - 2 * above
    least = sign * (score - above)
    power = least * SPLIT - (least * SPLIT - least)
    gap = least / power - 1
    place = np.floor(sign * (PARTS_OF_OCTAVE * gap + PARTS_OF_OCTAVE / 2 * (gap - np.abs(gap))))
    near = np.floor(score * CUTS + 0.5)
    return above, -np.log2(power), place, near + (score > near / CUTS)


@cache
def cells() -> Cells:
    """The cells of `key_of`, made once."""
    score = first_scores()
    ordinary = score[(score >= LOWEST) & (score < 1)]
    above, octave, place, cuts = lattice(ordinary)
    key = key_of(above, octave, place, cuts)
    least, unit = anchors(above, octave, place)
    row = rows_of(np.concatenate([ordinary, [0.0, 2.0**-65, 1.0]]))[0]
    return _sorted(
        np.append(key, [ZERO, TINY, ONE]),
        row,
        np.append(least, [0.0, 0.0, 0.0]),
        np.append(unit, [1.0, LOWEST, 1.0]),
        np.append(above > 0, [False, False, True]),
    )


def _sorted(key: NDArray[Any], row: Integers, least: Floats, unit: Floats, above: NDArray[np.bool_]) -> Cells:
    found, order = np.unique(key.astype(np.int64), return_index=True)
    return Cells(found, row[order], least[order], unit[order], above[order])


def key_of(above: Any, octave: Any, place: Any, cuts: Any) -> Any:
    """Put the parts of `lattice` into one whole number; arrays, or an engine's expressions."""
    return ((2 * above - 1) * PARTS_OF_OCTAVE * octave + place + SIDE * (above + 1)) * 64 + cuts


def anchors(above: Floats, octave: Floats, place: Floats) -> tuple[Floats, Floats]:
    """Return min(q, 1 - q) at the anchor of the row, and the row's width."""
    power = np.exp2(-octave)
    lower_octave = (place < 0) == (above == 0)
    steps = np.where(above == 0, place, -place)
    width = np.where(lower_octave, power / (2 * PARTS_OF_OCTAVE), power / PARTS_OF_OCTAVE)
    return power + steps * width, width


def tally_of(sums: Sums, cluster: Integers | None = None, names: NDArray[Any] | None = None) -> Tally:
    """The compressed tally of an engine's sums."""
    shared, positive = grid(), sums.label
    weighted = sums.weight is not None and sums.weight2 is not None
    weight = sums.weight if sums.weight is not None else sums.n.astype(np.float64)
    weight2 = sums.weight2 if sums.weight2 is not None else weight
    apart = Tally(
        "compressed",
        shared.low[sums.row],
        shared.high[sums.row],
        shared.anchor[sums.row],
        sums.n,
        np.where(positive, sums.n, 0),
        weight,
        np.where(positive, weight, 0.0),
        weight2,
        np.where(positive, weight2, 0.0),
        sums.first,
        sums.second,
        np.where(positive, sums.first, 0.0),
        cluster,
        names,
        weighted,
    )
    return sum_equal_rows([apart], cluster, names)
