"""Bins: adaptive (Algorithm 1), of equal information, equal-width, with custom edges, isotonic.

Bins are a function of a `Tally`. From arrays too large for an exact one, the cuts are found by selection
(`calibrant.metrics.selection`) instead of sorting; the bins are equal.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers, Pairs, positive_integer
from calibrant._kernels import tally as kernels
from calibrant._parallel import default_threads, slices
from calibrant.exceptions import InputError
from calibrant.metrics.grid import grid, rows_of
from calibrant.metrics.selection import Chunks, CutSums, UncheckedValuesError, select
from calibrant.metrics.tally import LARGEST_EXACT, Tally
from calibrant.records.words import counted
from calibrant.results.bins import SUMS, Bins

Source = Pairs | Tally
Ties = Literal["shared", "whole"]

MOST_BINS = 1_000_000  # of equal width: more than anyone reads, and few enough for any memory
LARGEST_SORTED = 1 << 16  # pairs; from there on few cuts are found sooner by selection
CROWDED = 0.05  # scores this near to 0 or 1 make one heap on a linear axis
LARGEST_SHOWN = 5000  # pairs per bin: the papers' choice
PAIRS_A_CUT = 64  # with fewer, selection pays only for pairs that are too many to be sorted


def adaptive(
    source: Source,
    *,
    size: int | None = None,
    n_bins: int | None = None,
    ties: Ties = "shared",
    threads: int | None = None,
) -> Bins:
    """Cut pairs, in order of the score, into bins of equal mass (Algorithm 1).

    Parameters
    ----------
    source
        Checked pairs or a tally.
    size
        Pairs per bin, b. The k-th pair gets bin floor((k - 1) / b) + 1 and a last bin smaller than b joins
        the one before it; fewer than b pairs are one bin. With weights a bin holds b / n of the weight.
    n_bins
        The number of bins instead: bin j ends at rank floor(j n / n_bins).
    ties
        ``"shared"``: where a bin edge falls inside a tie the tied mass is shared in proportion, since tied
        pairs have no order. ``"whole"``: the edge moves to the nearer end of the tie (for debiased
        estimates, where the shared parts would be the same data).
    threads
        Threads for large arrays; by default all processors, at most 8.

    Raises
    ------
    InputError
        If not exactly one of ``size`` and ``count`` is given, it is below 1, or ``count`` is above n.

    References
    ----------
    .. [1] Nguyen and O'Connor (2015). Posterior calibration and exploratory analysis for natural language
       processing models. EMNLP. Algorithm 1.

    Examples
    --------
    >>> tally = Tally.from_arrays(y_true=[0, 1, 1, 1], y_prob=[0.1, 0.2, 0.8, 0.9])
    >>> adaptive(tally, size=2).frequency.tolist()
    [0.5, 1.0]
    """
    n = len(source) if isinstance(source, Pairs) else source.total_n
    return at_ranks(
        source, Cuts("adaptive", size, adaptive_ranks(n, size=size, n_bins=n_bins)), ties, threads
    )


class Cuts(NamedTuple):
    """Ranks at which pairs are cut into bins, in order of the score.

    Attributes
    ----------
    kind
        ``"adaptive"`` or ``"information"``, as in `Bins`.
    size
        Pairs per bin; None where a number of bins was asked for.
    ranks
        Increasing, without 0 and n.
    """

    kind: str
    size: int | None
    ranks: Integers


def at_ranks(source: Source, cuts: Cuts, ties: Ties = "shared", threads: int | None = None) -> Bins:
    """Cut pairs at ranks; of a tally that was made for these ranks the bins are exact. See `adaptive`.

    Examples
    --------
    >>> tally = Tally.from_arrays(y_true=[0, 1, 1, 1], y_prob=[0.1, 0.2, 0.8, 0.9])
    >>> at_ranks(tally, Cuts("adaptive", None, np.array([1]))).n.tolist()
    [1.0, 3.0]
    """
    n = len(source) if isinstance(source, Pairs) else source.total_n
    tally = source if isinstance(source, Tally) else tally_with_cuts(source, [cuts.ranks], threads=threads)
    tally = tally.without_clusters()
    mass = tally.weight if tally.weighted else tally.n.astype(np.float64)
    at = cuts.ranks * (mass.sum() / n) if tally.weighted else cuts.ranks.astype(np.float64)
    columns, edges = _cut_mass(tally, mass, at, ties)
    return _bins(
        cuts.kind,
        cuts.size,
        len(cuts.ranks) + 1,
        columns,
        np.concatenate([[0.0], edges]),
        np.append(edges, 1.0),
        tally.weighted,
    )


def display(source: Source) -> Bins:
    """Cut pairs into bins that show a calibration curve; the default where no bins are asked for.

    The bins have equal counts: about n^0.6 pairs (100 pairs make 6 bins, 300 make 9), from 1,800 pairs on
    n // 20, and at most 5,000. If more than a quarter of the scores q are within 0.05 of 0 or 1, such
    bins would put most points there. The bins then have equal information instead, which is the sum of
    q (1 - q), so that all points have about the same precision in log-odds. There are as many of them as
    for 4 sum(q (1 - q)) pairs, which is n if all scores are 0.5; equal counts if that is fewer than two.
    Equal scores are in one bin. Bins depend on the scores only, and not on the labels.

    Parameters
    ----------
    source
        As in `adaptive`.

    Examples
    --------
    >>> tally = Tally.from_arrays(y_true=[0, 1] * 150, y_prob=np.linspace(0, 1, 300))
    >>> display(tally).kind, len(display(tally))
    ('adaptive', 9)
    >>> crowded = Tally.from_arrays(y_true=[0] * 3000, y_prob=np.linspace(0, 1, 3000) ** 8)
    >>> display(crowded).kind, display(crowded).n[[0, -1]].tolist()
    ('information', [2081.0, 110.0])
    """
    return at_ranks(source, display_cuts(source), "whole")


def display_cuts(source: Source) -> Cuts:
    """Return the ranks at which `display` cuts.

    Examples
    --------
    >>> display_cuts(_checks.pairs([0, 1] * 50, np.linspace(0, 1, 100))).ranks.tolist()
    [16, 32, 48, 64, 80]
    """
    n = len(source) if isinstance(source, Pairs) else source.total_n
    size = min(n, _display_size(n))
    if size < LARGEST_SHOWN:
        size = n // (n // size)  # so that the last bin, which has the rest, is hardly larger
    scores = grid()
    mass = _mass_on_grid(source)[scores.order]
    middle = (scores.low + scores.high)[scores.order] / 2
    crowded = mass[(middle < CROWDED) | (middle > 1 - CROWDED)].sum() > mass.sum() / 4
    information = np.cumsum(mass * middle * (1 - middle))
    fair = 4 * information[-1] / mass.sum() * n  # pairs of score 0.5 with the same information
    count = int(fair / max(1, _display_size(fair)))
    if not crowded or count < 2:
        return Cuts("adaptive", size, adaptive_ranks(n, size=size))
    inner = np.arange(1, count) / count * information[-1]
    share = np.interp(inner, information, np.cumsum(mass)) / mass.sum()
    ranks = np.unique(np.rint(share * n).astype(np.int64))
    return Cuts("information", None, ranks[(ranks > 0) & (ranks < n)])


def _display_size(n: float) -> int:
    return min(LARGEST_SHOWN, max(math.ceil(math.pow(n, 0.6)), int(n // 20)))


def _mass_on_grid(source: Source) -> Floats:
    """Weight of the pairs in each row of the grid: bins of a table and of its tally are then the same."""
    mass = np.zeros(len(grid().low))
    if isinstance(source, Tally):
        counted = np.asarray(source.weight if source.weighted else source.n, np.float64)
        mass += np.bincount(rows_of(source.score)[0], counted, len(mass))
        return mass
    for piece in slices(len(source)):
        weight = None if source.weight is None else source.weight[piece]
        mass += np.bincount(rows_of(source.score[piece])[0], weight, len(mass))
    return mass


def adaptive_ranks(n: int, *, size: int | None = None, n_bins: int | None = None) -> Integers:
    """Return the ranks before which `adaptive` cuts n pairs, without 0 and n.

    Examples
    --------
    >>> adaptive_ranks(11, size=3).tolist(), adaptive_ranks(11, n_bins=2).tolist()
    ([3, 6], [5])
    >>> adaptive_ranks(11, size=12).tolist()
    []
    """
    if (size is None) == (n_bins is None):
        message = "size and n_bins exclude each other"
        raise InputError(message, "give one; Nguyen & O'Connor (2015) use size=5000", code="parameter")
    if size is not None:
        return np.arange(1, max(1, n // positive_integer(size, "size")), dtype=np.int64) * size
    asked = positive_integer(n_bins if n_bins is not None else 1, "n_bins")
    if asked > n:
        message = f"{counted(asked, 'bin')} cannot be made of {counted(n, 'pair')}"
        raise InputError(message, "ask for fewer bins, or give more pairs", code="parameter")
    return np.arange(1, asked, dtype=np.int64) * n // asked


def default_bin_size(n: int) -> int:
    """Return the papers' pairs per bin: min(5000, max(200, n // 20)), one bin under 200 pairs.

    200 is their floor, 5,000 their choice. Figures and plug-in errors have smaller bins (`display`).

    Examples
    --------
    >>> [default_bin_size(n) for n in (100, 6_000, 1_000_000)]
    [100, 300, 5000]
    """
    return min(n, 5000, max(200, n // 20))


def uniform(source: Source, n_bins: int = 15, *, threads: int | None = None) -> Bins:
    """Cut [0, 1] into ``n_bins`` bins (lo, hi] of equal width; a score of 0 belongs to the first.

    Empty bins are left out (``used`` counts the rest). From a compressed tally, 10, 15 and 20 bins (and
    their divisors) are exact; for other counts, rows across an edge are shared in proportion to their width.

    References
    ----------
    .. [1] Guo, Pleiss, Sun and Weinberger (2017). On calibration of modern neural networks. ICML. Eq. 3.

    Examples
    --------
    >>> tally = Tally.from_arrays(y_true=[0, 1, 1, 1], y_prob=[0.1, 0.2, 0.8, 0.9])
    >>> uniform(tally, 2).score.round(2).tolist()
    [0.15, 0.85]
    """
    count = positive_integer(n_bins, "n_bins", most=MOST_BINS)
    edges = np.arange(count + 1) / count
    return _between(source, edges, "uniform", threads)


def at_edges(source: Source, edges: Sequence[float] | Floats, *, threads: int | None = None) -> Bins:
    """Return bins with given edges: (edges[i], edges[i + 1]], the first including its low edge.

    Raises
    ------
    InputError
        If the edges are not strictly increasing from 0 to 1.

    Examples
    --------
    >>> tally = Tally.from_arrays(y_true=[0, 1, 1, 1], y_prob=[0.1, 0.2, 0.8, 0.9])
    >>> at_edges(tally, [0, 0.15, 1]).n.tolist()
    [1.0, 3.0]
    """
    checked = np.asarray(edges, np.float64)
    if (
        checked.ndim != 1
        or len(checked) < 2
        or checked[0] != 0
        or checked[-1] != 1
        or not (np.diff(checked) > 0).all()
    ):
        message = f"edges are {checked.tolist()}"
        raise InputError(message, "give increasing scores that begin with 0 and end with 1", code="parameter")
    return _between(source, checked, "edges", threads)


def isotonic(source: Source) -> Bins:
    """Return the blocks on which the isotonic regression of y on q is constant.

    A block's `frequency` is the recalibrated probability of CORP reliability diagrams.

    References
    ----------
    .. [1] Dimitriadis, Gneiting and Jordan (2021). Stable reliability diagrams for probabilistic
       classifiers. PNAS 118(8). https://doi.org/10.1073/pnas.2016191118

    Examples
    --------
    >>> tally = Tally.from_arrays(y_true=[0, 1, 1, 1], y_prob=[0.1, 0.2, 0.8, 0.9])
    >>> isotonic(tally).frequency.tolist()
    [0.0, 1.0]
    """
    from calibrant._kernels.isotonic import pool_adjacent_violators

    tally = source if isinstance(source, Tally) else Tally.from_pairs(source)
    tally = tally.without_clusters()
    start = pool_adjacent_violators(tally.weight, tally.weight_positives)
    rows = np.arange(len(tally))
    columns = _sum_runs(tally, start, rows, np.ones(len(rows)))
    low = tally.low[start]
    high = tally.high[np.append(start[1:], len(tally)) - 1]
    return _bins("isotonic", None, None, columns, low, high, tally.weighted)


def adaptive_bins(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    size: int | None = None,
    n_bins: int | None = None,
    sample_weight: ArrayLike | None = None,
    threads: int | None = None,
) -> Bins:
    """Return bins of equal mass from labels and scores; see `adaptive`.

    Examples
    --------
    >>> adaptive_bins([0, 0, 1, 1, 1], [0.1, 0.3, 0.6, 0.8, 0.9], size=2).n.tolist()
    [2.0, 3.0]
    """
    large = sample_weight is None and np.size(y_prob) > LARGEST_EXACT
    source = _checks.pairs(y_true, y_prob, sample_weight=sample_weight, values_are_checked_later=large)
    try:
        return adaptive(source, size=size, n_bins=n_bins, threads=threads)
    except UncheckedValuesError:
        checked = _checks.pairs(y_true, y_prob)  # names the row, or makes -0.0 to 0.0
        return adaptive(checked, size=size, n_bins=n_bins, threads=threads)


def uniform_bins(
    y_true: ArrayLike, y_prob: ArrayLike, *, n_bins: int = 15, sample_weight: ArrayLike | None = None
) -> Bins:
    """Return bins of equal width from labels and scores; see `uniform`.

    Examples
    --------
    >>> uniform_bins([0, 0, 1], [0.0, 0.5, 1.0], n_bins=2).n.tolist()
    [2.0, 1.0]
    """
    return uniform(_checks.pairs(y_true, y_prob, sample_weight=sample_weight), n_bins)


def isotonic_bins(y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None) -> Bins:
    """Return isotonic (CORP) blocks from labels and scores; see `isotonic`.

    Examples
    --------
    >>> isotonic_bins([0, 1, 0, 1], [0.1, 0.4, 0.5, 0.9]).frequency.tolist()
    [0.0, 0.5, 1.0]
    """
    return isotonic(_checks.pairs(y_true, y_prob, sample_weight=sample_weight))


def tally_with_cuts(
    pairs: Pairs,
    ranks: Sequence[Integers] = (),
    edges: Sequence[Floats] = (),
    *,
    threads: int | None = None,
) -> Tally:
    """Return a tally with exact bins at these cuts: few pairs are sorted, many are selected.

    Rows of a selected tally are as wide as the cuts allow; other bins of it are not exact.
    """
    cuts = sum(map(len, ranks)) + sum(map(len, edges))
    sorted_up_to = LARGEST_SORTED if cuts <= len(pairs) // PAIRS_A_CUT else LARGEST_EXACT
    if len(pairs) <= sorted_up_to or pairs.weight is not None or pairs.cluster is not None:
        return Tally.from_pairs(pairs, exact=True, threads=threads).without_clusters()
    return select_tally(
        lambda: ((pairs.score[piece], pairs.outcome[piece]) for piece in slices(len(pairs))),
        ranks,
        edges,
        threads=threads,
    )


def select_tally(
    chunks: Chunks, ranks: Sequence[Integers], edges: Sequence[Floats], *, threads: int | None = None
) -> Tally:
    """Tally a re-iterable stream in two passes so that bins with these cuts are exact."""
    cells = select(
        chunks,
        np.unique(np.concatenate([np.zeros(0, np.int64), *ranks])),
        np.unique(np.concatenate([np.zeros(0), *(edge[1:-1] for edge in edges)])),
        threads=default_threads() if threads is None else threads,
    )
    return _tally_of_cells(cells)


def _tally_of_cells(cells: CutSums) -> Tally:
    w, wk = cells.n.astype(np.float64), cells.positives.astype(np.float64)
    tie = cells.low == cells.high
    mean = np.where(tie, cells.low, cells.sum_score / w)
    return Tally(
        "exact",
        cells.low,
        cells.high,
        mean,
        cells.n,
        cells.positives,
        w,
        wk,
        w,
        wk,
        offset=np.where(tie, 0.0, cells.sum_score - w * mean),
        offset2=np.where(
            tie, 0.0, np.maximum(0.0, cells.sum_score2 - 2 * mean * cells.sum_score + w * mean**2)
        ),
        offset_positive=np.where(tie, 0.0, cells.sum_score_positive - wk * mean),
    )


def _cut_mass(tally: Tally, mass: Floats, cuts: Floats, ties: Ties) -> tuple[Floats, Floats]:
    """Sum rows between cuts in cumulative mass; return the nine sums by bin and the inner edges."""
    end = np.cumsum(mass)
    row = np.searchsorted(end, cuts, side="right")
    _checks.one_of(ties, ("shared", "whole"), "ties")
    if ties == "whole":
        before = end[row] - mass[row]
        after = cuts - before > end[row] - cuts
        moved = np.setdiff1d(row[after] + 1, row[~after])
        row = np.unique(np.where(after, row + 1, row))
        row = row[(row > 0) & (row < len(tally))]
        start = np.concatenate([[0], row])
        return _sum_runs(tally, start, np.arange(len(tally)), np.ones(len(tally))), _first_scores(
            tally, row, moved
        )
    inside = cuts > end[row] - mass[row]
    piece_end = np.unique(np.concatenate([end, cuts]))
    piece_start = np.concatenate([[0.0], piece_end[:-1]])
    piece_row = np.searchsorted(end, piece_start, side="right")
    whole = (piece_start == end[piece_row] - mass[piece_row]) & (piece_end == end[piece_row])
    fraction = np.where(whole, 1.0, (piece_end - piece_start) / mass[piece_row])
    start = np.concatenate([[0], np.searchsorted(piece_start, cuts)])
    edges = np.where(inside, tally.score[row], tally.low[row])
    return _sum_runs(tally, start, piece_row, fraction), edges


def _first_scores(tally: Tally, row: Integers, moved: Integers) -> Floats:
    """The first score of the bin that begins with each row.

    Where the cut was moved to the end of a tie, that is whatever follows the tie's score, so that it does
    not depend on how far away the next pair lies; and a row of the grid that follows a cut begins after it.
    """
    low, high_before = tally.low[row], tally.high[row - 1]
    after_tie = np.isin(row, moved) & (tally.low[row - 1] == high_before)
    after_cut = (tally.anchor[row] < low) if tally.kind == "compressed" else np.zeros(len(row), bool)
    first: Floats = np.where(after_tie, np.nextafter(high_before, 2.0), low)
    return np.where(after_cut & ~after_tie, np.nextafter(low, 2.0), first)


def _between(source: Source, edges: Floats, kind: str, threads: int | None) -> Bins:
    """Sum rows between scores; a row across an edge is shared in proportion to its width."""
    tally = source if isinstance(source, Tally) else tally_with_cuts(source, [], [edges], threads=threads)
    tally = tally.without_clusters()
    inner = edges[1:-1]
    first = np.searchsorted(inner, tally.score, side="left")
    low_bin = np.searchsorted(inner, tally.low, side="right")
    high_bin = np.searchsorted(inner, tally.high, side="left")
    row, bin_of, fraction = np.arange(len(tally)), first, np.ones(len(tally))
    split = np.flatnonzero((tally.low < tally.high) & (low_bin < high_bin))
    if len(split):
        parts = [(r, b) for r in split.tolist() for b in range(low_bin[r], high_bin[r] + 1)]
        keep = np.ones(len(tally), bool)
        keep[split] = False
        extra_row = np.array([r for r, _ in parts])
        extra_bin = np.array([b for _, b in parts])
        low = np.maximum(edges[extra_bin], tally.low[extra_row])
        high = np.minimum(edges[extra_bin + 1], tally.high[extra_row])
        width = tally.high[extra_row] - tally.low[extra_row]
        row = np.concatenate([row[keep], extra_row])
        bin_of = np.concatenate([first[keep], extra_bin])
        fraction = np.concatenate([fraction[keep], (high - low) / width])
        order = np.argsort(bin_of, kind="stable")
        row, bin_of, fraction = row[order], bin_of[order], fraction[order]
    used, start = np.unique(bin_of, return_index=True)
    columns = _sum_runs(tally, start, row, fraction)
    return _bins(kind, None, len(edges) - 1, columns, edges[used], edges[used + 1], tally.weighted)


def _sum_runs(tally: Tally, start: Integers, row: Integers, fraction: Floats) -> Floats:
    columns = np.stack([np.asarray(getattr(tally, name), np.float64) for name in SUMS])
    sums = np.zeros((len(columns), len(start)))
    kernels.sum_runs(columns, start.astype(np.int64), row.astype(np.int64), fraction, sums)
    return sums


def _bins(
    kind: str, size: int | None, asked: int | None, columns: Floats, low: Floats, high: Floats, weighted: bool
) -> Bins:
    sums = dict(zip(SUMS, columns, strict=True))
    return Bins(
        kind=kind,
        size=size,
        asked=asked,
        used=len(low),
        edge_low=low,
        edge_high=high,
        weighted=weighted,
        **sums,
    )
