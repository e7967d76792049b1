"""Residuals summed by fine bin and by cluster, for the debiased error and its variance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, Pairs, instance, positive_integer
from calibrant._kernels import clusters as kernels
from calibrant._kernels import debiased as bin_kernels
from calibrant.exceptions import InputError
from calibrant.metrics.crossed import CrossedPairs, by_both
from calibrant.metrics.grouping import ratio, sorted_by
from calibrant.metrics.tally import Tally
from calibrant.results import Bins

LARGEST_BIN_COUNT = 10_000
LARGEST_SORT = 1 << 25  # more pairs than this are tallied first: a bin then holds thousands of them
SECTION = np.pi / 32
"""Width on the scale arcsin(sqrt(q)) of the sections of the score that a bin does not leave.

The scale has constant variance: a frequency of n pairs has variance 1/(4n) on it wherever it lies. Where
scores are sparse, bins of equal mass would reach from 0.3 to 0.9, and differences of unequal size would be
averaged before they are squared. The first and the last section, where q may be 10^-6 and p 10^-2, are
divided into octaves of q (or of 1 - q). Sections are fixed, so that a change of scores near 0 leaves the bins
elsewhere as they are.
"""
FEWEST_UNITS = 4.0
"""Clusters, or effective pairs, that a bin needs: pairs of units of a bin are all that its estimate has."""
_OUTER = np.sin(SECTION) ** 2 / 2.0 ** np.arange(30, 0, -1)
EDGES: Floats = np.concatenate([_OUTER, np.sin(SECTION * np.arange(1, 16)) ** 2, 1 - _OUTER[::-1]])
"""Ascending scores at which sections begin, but for the first, which begins at 0."""
_FEWEST_UNITS_EVER = 1.5  # below, one unit has most of the weight of a bin
_NO_UNIT = np.empty(0, np.int64)
_MIX, _OTHER_MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)  # odd: a hash of 64 bits
_ENOUGH_COPIES = 100_000
_SMALLEST_BIN = 20
_BIN_OF_LABELLED_WEIGHTS = 500
_LEAST_DIFFERENCE = 0.05  # of the mean weights of positives and negatives, relative to their mean
_BEYOND_CHANCE = 4.0  # standard errors
_ROWS_AN_OCTAVE = 11  # bits of a key's mantissa that look up a bin


@dataclass(frozen=True)
class ClusterCells:
    """Residuals and weights summed by cell (cluster, bin), ordered by cluster: c's are ``start[c]:...``."""

    start: Integers
    bin: NDArray[np.int32]
    residual: Floats
    weight: Floats

    def grouped(self, group: NDArray[np.int32]) -> ClusterCells:
        """Return the cells of wider windows of adjacent bins."""
        return _cells(self.start, self.bin, self.residual, self.weight, group)

    def power_sums(self, bins: int) -> Floats:
        """Return (5, bins) sums of W^2, U^2, U^3, U^4 and U^6 over the cells of each bin."""
        sums = np.zeros((bins, 5))
        kernels.power_sums(self.bin, self.residual, self.weight, sums)
        return sums.T


def _cells(
    start: Integers, row_bin: NDArray[np.int32], residual: Floats, weight: Floats, group: NDArray[np.int32]
) -> ClusterCells:
    rows = len(row_bin)
    cells = ClusterCells(
        np.empty(len(start), np.int64), np.empty(rows, np.int32), np.empty(rows), np.empty(rows)
    )
    used = kernels.write_cells(
        start, row_bin, residual, weight, group, cells.start, cells.bin, cells.residual, cells.weight
    )
    return ClusterCells(cells.start, cells.bin[:used], cells.residual[:used], cells.weight[:used])


@dataclass(frozen=True)
class Residuals:
    """Sums a fine bin, for bins in order of the score.

    Attributes
    ----------
    size
        Target number of pairs a bin.
    n, weight, residual
        (B,) pairs, sum of w and sum of w u, where u = y - q.
    pair
        (3, B) sums over pairs of w^2, w^2 u and w^2 u^2.
    null
        (2, B) sums over pairs of w^2 v and w^3 v (1 - 2q), v = q (1 - q): the residuals' second and third
        moments if the scores are calibrated.
    score
        (B,) sums of w q.
    score2
        (B,) sums of w q^2.
    labels
        (4, B) positive pairs, their sum of w u, negative pairs, their sum of w u.
    unit
        (5, B) sums of W^2, U^2, U^3, U^4 and U^6 over the units of the bin, each of weight W and residual
        U. A unit is all pairs of one cluster, or one pair.
    cells
        Sums by cluster, if there are clusters (or weighted pairs, each of which is a cluster).
    clusters
        Number of clusters; 0 if pairs are independent.
    weighted
        True if pairs have weights.
    weights_by_label
        True if the weights differ between positives and negatives of equal score.
    """

    size: int
    n: Floats
    weight: Floats
    residual: Floats
    pair: Floats
    null: Floats
    score: Floats
    score2: Floats
    labels: Floats
    unit: Floats
    cells: ClusterCells | None = None
    clusters: int = 0
    weighted: bool = False
    weights_by_label: bool = False

    @property
    def total_n(self) -> float:
        """Number of pairs."""
        return float(self.n.sum())

    @property
    def denominator(self) -> Floats:
        """Weight of the ordered pairs of units in each bin: W^2 - sum of W_c^2."""
        ordered: Floats = self.weight**2 - self.unit[0]
        return ordered

    @property
    def factor(self) -> Floats:
        """Factor of each bin's sum of products over pairs of units: (W_b / W) / D_b."""
        multiplier: Floats = self.weight / self.weight.sum() / self.denominator
        return multiplier

    @property
    def part(self) -> Integers:
        """(B,) ascending numbers; bins of different parts are never joined."""
        return np.zeros(len(self.n), np.int64)

    @cached_property
    def cluster_weight(self) -> Floats:
        """(clusters,) weights; empty when pairs are independent."""
        if not self.clusters or self.cells is None:
            return np.empty(0)
        whole = np.concatenate([[0.0], np.cumsum(self.cells.weight)])
        return np.diff(whole[self.cells.start])

    @property
    def effective_clusters(self) -> float:
        """Kish's number (sum W_c)^2 / sum W_c^2 of clusters; 0 when pairs are independent."""
        weight = self.cluster_weight
        return float(weight.sum() ** 2 / np.sum(weight**2)) if len(weight) else 0.0

    @property
    def largest_cluster(self) -> float:
        """Fraction of all weight that the largest cluster has; 0 when pairs are independent."""
        weight = self.cluster_weight
        return float(weight.max() / weight.sum()) if len(weight) else 0.0

    def joined(
        self, group: NDArray[np.int32], *, cells: bool = True, unit: Floats | None = None
    ) -> Residuals:
        """Return the same pairs in wider bins; without ``cells``, ``unit`` has their power sums if known."""
        bins = int(group[-1]) + 1
        grouped = self.cells.grouped(group) if self.cells is not None and cells else None

        def total(values: Floats) -> Floats:
            return sum_by(group, values, bins)

        return replace(
            self,
            n=total(self.n),
            weight=total(self.weight),
            residual=total(self.residual),
            pair=np.stack([total(row) for row in self.pair]),
            null=np.stack([total(row) for row in self.null]),
            score=total(self.score),
            score2=total(self.score2),
            labels=np.stack([total(row) for row in self.labels]),
            unit=grouped.power_sums(bins)
            if grouped is not None
            else np.stack([total(row) for row in self.unit])
            if unit is None
            else unit,
            cells=grouped,
        )


@dataclass(frozen=True)
class CrossedResiduals(Residuals):
    """Sums of pairs in crossed clusters, such as items and annotators.

    `unit` has the two-way sums of W^2 and U^2, S_first + S_second - S_both, so that `denominator`, `factor`
    and the estimate are those of pairs that share no cluster of either kind. All other fields are those of
    the kind with fewer effective clusters.

    Attributes
    ----------
    ways
        The sums by first cluster, by second, and by what is in the same cluster of both kinds.
    """

    ways: tuple[Residuals, ...] = ()

    @classmethod
    def of(cls, ways: Sequence[Residuals]) -> CrossedResiduals:
        """Return the two-way sums of three tables of the same bins."""
        fewest = min(ways[:2], key=lambda way: way.effective_clusters)
        unit = fewest.unit.copy()
        unit[:2] = ways[0].unit[:2] + ways[1].unit[:2] - ways[2].unit[:2]
        values = {column.name: getattr(fewest, column.name) for column in fields(Residuals)}
        return cls(**values | {"unit": unit}, ways=tuple(ways))

    @property
    def largest_cluster(self) -> float:
        """Fraction of all weight that the largest cluster of either kind has."""
        return max(way.largest_cluster for way in self.ways[:2])

    def joined(
        self, group: NDArray[np.int32], *, cells: bool = True, unit: Floats | None = None
    ) -> CrossedResiduals:
        """Return the same pairs in wider bins, with all their sums by cluster."""
        return self.of([way.joined(group) for way in self.ways])


def sum_by(group: NDArray[np.int32], values: Floats | Integers, groups: int) -> Floats:
    """Sum values by group, as float64 even where there is nothing to sum."""
    return np.bincount(group, values, groups).astype(np.float64, copy=False)


def estimator_bin_size(n: float) -> int:
    """Return the estimator's pairs per bin: n^(1/3), at least 20, with at most 10^4 bins.

    Examples
    --------
    >>> [estimator_bin_size(n) for n in (1_000, 1_000_000, 100_000_000)]
    [20, 100, 10000]
    """
    return int(max(_SMALLEST_BIN, round(n ** (1 / 3)), np.ceil(n / LARGEST_BIN_COUNT)))


def residuals(
    source: Pairs | Tally | Bins | Residuals, bin_size: int | None = None, *, edges: Floats | None = None
) -> Residuals:
    """Sum residuals over fine bins that keep ties whole, and by cluster where there are clusters.

    A bin ends at ``bin_size`` pairs (by default `estimator_bin_size`; pairs of one cluster that share a score
    count as one), or where a section of the score ends; sections begin at the ascending ``edges``, by default
    those that `SECTION` describes. Fewer than ``bin_size`` pairs are one bin for each section, as in
    Algorithm 1.
    """
    if isinstance(source, Residuals):
        return source
    if isinstance(source, Bins):
        if bin_size is not None:
            raise InputError("bin_size does not apply to existing bins", "leave it out", code="parameter")
        return _separable(_of_bins(source), 2.0)
    if not isinstance(source, Pairs):
        instance(source, Tally, "the source", "pass pairs, a tally or bins")
    n = len(source) if isinstance(source, Pairs) else source.total_n
    size = estimator_bin_size(n) if bin_size is None else min(n, positive_integer(bin_size, "bin_size"))
    if isinstance(source, Pairs) and len(source) > LARGEST_SORT and source.cluster is None:
        source = Tally.from_pairs(source)
    if isinstance(source, CrossedPairs):
        return _crossed(source, bin_size, edges)

    if bin_size is None and source.cluster is not None:
        copies = _copies(source)
        size = min(int(n), round(copies * estimator_bin_size(n / copies)))

    def summed(size: int) -> Residuals:
        cuts = EDGES if edges is None else edges
        return _of_pairs(source, size, cuts) if isinstance(source, Pairs) else _of_tally(source, size, cuts)

    table = summed(size)
    if table.weights_by_label and bin_size is None:
        # A bin's error is a ratio of weighted sums, and small bins bias it where weights follow the labels.
        table = summed(max(size, min(n, max(_BIN_OF_LABELLED_WEIGHTS, round(2 * n**0.5)))))
    return _separable(table, max(2.0, min(FEWEST_UNITS, size)))


def _crossed(source: CrossedPairs, bin_size: int | None, edges: Floats | None) -> CrossedResiduals:
    """Sum by each kind of clusters, and by both, over bins with enough clusters of each kind."""
    parts = by_both(source)
    size = residuals(parts[0], bin_size, edges=edges).size
    ways = [_of_pairs(part, size, EDGES if edges is None else edges) for part in parts]
    for kind in (0, 1):
        group = _thin_bins(ways[kind], max(2.0, min(FEWEST_UNITS, size)))
        ways = ways if group is None else [way.joined(group) for way in ways]
    return CrossedResiduals.of(ways)


def _copies(source: Pairs | Tally) -> float:
    """Mean number of pairs that share both cluster and score: labels of one item, say."""
    assert source.cluster is not None
    if isinstance(source, Tally):
        return source.total_n / len(source.n) if source.kind == "exact" else 1.0
    if source.cluster_count == len(source):
        return 1.0
    score, cluster = source.score, source.cluster
    step = len(source) // _ENOUGH_COPIES
    if step > 1:  # some of the clusters tell it
        some = np.flatnonzero(cluster % step == step // 2)
        score, cluster = (score[some], cluster[some]) if len(some) else (score, cluster)
    bits = (score.astype(np.float64) + 0.0).view(np.uint64)
    key = (bits ^ (bits >> np.uint64(29))) * _MIX + cluster.astype(np.uint64) * _OTHER_MIX
    key.sort()
    return len(key) / (1 + int(np.count_nonzero(np.diff(key))))


def _of_pairs(source: Pairs, size: int, edges: Floats) -> Residuals:
    n = len(source)
    # Bits * 2 + label sort by score, then label: bits of floats >= 0 keep their order, and -0.0 becomes 0.0.
    packed = np.empty(n, np.int64)
    np.add(source.score, 0.0, out=packed.view(np.float64))
    packed *= 2
    packed += source.label
    packed.sort()
    most = n // size + 1 + len(edges)
    first_key = np.empty(most, np.int64)
    sums = np.empty((most, 5))
    used = bin_kernels.sum_whole_ties(packed, size, _least_pairs(size), edges.view(np.int64), first_key, sums)
    first_key = first_key[:used]
    count, positives, *scores = sums[:used].T
    table = _independent(
        size, count, positives, (count, positives), (count, positives), scores, weighted=False
    )
    if source.cluster is None and source.weight is None:
        return table
    residual: Floats = source.label - source.score.astype(np.float64)
    if source.weight is not None:
        residual = residual * source.weight
    rows = _rows_by_cluster(source, residual, first_key)
    if source.weight is not None:
        table = _weighted(table, *rows[1:], scores[0] / count)
        keys = (source.score.astype(np.float64) + 0.0).view(np.int64)
        row_bin = (np.searchsorted(first_key, keys, side="right") - 1).astype(np.int32)
        positive = source.label.astype(np.float64)
        powers = (source.weight**k * part for k in range(3) for part in (positive, 1 - positive))
        sums_by_label = [sum_by(row_bin, values, used) for values in powers]
        table = replace(table, weights_by_label=_follow_labels(*sums_by_label))
    return _by_unit(table, _cells(*rows, _every_bin(table)), source.cluster_count)


def _of_tally(source: Tally, size: int, edges: Floats) -> Residuals:
    row_bin = np.empty(len(source.n), np.int32)
    bins = bin_kernels.bins_of_rows(source.low, source.n, size, _least_pairs(size), edges, row_bin)

    def total(values: Floats | Integers) -> Floats:
        return sum_by(row_bin, values, bins)

    table = _independent(
        size,
        total(source.n),
        total(source.positives),
        (total(source.weight), total(source.weight_positives)),
        (total(source.weight2), total(source.weight2_positives)),
        [total(source.sum_score), total(source.sum_score2), total(source.sum_score_positive)],
        weighted=source.weighted,
    )
    if source.weighted:
        sums = (
            (source.positives, source.n),
            (source.weight_positives, source.weight),
            (source.weight2_positives, source.weight2),
        )
        sums_by_label = [total(part) for positive, whole in sums for part in (positive, whole - positive)]
        table = replace(table, weights_by_label=_follow_labels(*sums_by_label))
    if source.cluster is None:
        return table
    order = sorted_by(source.cluster)
    start = np.concatenate([[0], np.cumsum(np.bincount(source.cluster))])
    residual = (source.weight_positives - source.sum_score)[order]
    cells = _cells(start.astype(np.int64), row_bin[order], residual, source.weight[order], _every_bin(table))
    return _by_unit(table, cells, len(start) - 1)


def _of_bins(bins: Bins) -> Residuals:
    used = bins.n > 0
    return _independent(
        bins.size if bins.size is not None else max(1, round(bins.n.sum() / max(1, used.sum()))),
        bins.n[used],
        bins.positives[used],
        (bins.weight[used], bins.weight_positives[used]),
        (bins.weight2[used], bins.weight2_positives[used]),
        [bins.sum_score[used], bins.sum_score2[used], bins.sum_score_positive[used]],
        weighted=bins.weighted,
    )


def _independent(
    size: int,
    n: Floats,
    positives: Floats,
    weights: tuple[Floats, Floats],
    squares: tuple[Floats, Floats],
    scores: list[Floats],
    *,
    weighted: bool,
) -> Residuals:
    """Every pair is a unit. Powers of u take the mean score of the bin's positives and of its negatives."""
    (weight, weight_positives), (weight2, weight2_positives) = weights, squares
    score, score2, score_positive = scores
    residual = weight_positives - score
    gap_one = 1 - ratio(score_positive, weight_positives)
    gap_zero = -ratio(score - score_positive, weight - weight_positives)
    classes = (
        (positives, weight2_positives, gap_one),
        (n - positives, weight2 - weight2_positives, gap_zero),
    )

    def power(exponent: int) -> Floats:
        total = np.zeros(len(n))
        for count, square, gap in classes:
            total += count * (np.sqrt(np.maximum(ratio(square, count), 0)) * gap) ** exponent
        return total

    mean = score / weight
    variance = mean * (1 - mean)
    if weighted:
        pair = np.stack([weight2, weight2_positives - weight2 * mean, power(2)])
        null = weight2 * variance
    else:  # exact: sums of squares do without class means
        pair = np.stack([n, residual, positives - 2 * score_positive + score2])
        null = score - score2
    third = null * (1 - 2 * mean) * np.sqrt(weight2 / n)
    unit = np.stack([weight2, pair[2], power(3), power(4), power(6)])
    labels = np.stack(
        [positives, weight_positives * gap_one, n - positives, (weight - weight_positives) * gap_zero]
    )
    return Residuals(
        size,
        n,
        weight,
        residual,
        pair,
        np.stack([null, third]),
        score,
        score2,
        labels,
        unit,
        weighted=weighted,
    )


def _rows_by_cluster(
    source: Pairs, residual: Floats, first_key: Integers
) -> tuple[Integers, NDArray[np.int32], Floats, Floats]:
    """Order residuals by cluster (each pair its own, without clusters): starts, bins, residuals, weights."""
    n = len(source)
    if source.cluster is None:
        cluster, start = np.arange(n), np.arange(n + 1)
    else:
        cluster = source.cluster
        counts = np.bincount(cluster, minlength=source.cluster_count)
        start = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    shift = 52 - _ROWS_AN_OCTAVE
    low, high = int(first_key[0]) >> shift, int(first_key[-1]) >> shift
    low = max(low, high - (64 << _ROWS_AN_OCTAVE))  # lower scores share a cell
    keys = np.arange(low, high + 1) << shift
    # For each range of keys, the last bin that starts at or before the range's first key.
    table = np.maximum(np.searchsorted(first_key, keys, side="right") - 1, 0).astype(np.int32)
    row_bin = np.empty(n, np.int32)
    row_residual = np.empty(n)
    weight = np.empty(0) if source.weight is None else source.weight
    row_weight = np.empty(len(weight))
    kernels.scatter_by_cluster(
        source.score,
        residual,
        weight,
        cluster,
        first_key,
        table,
        low,
        shift,
        start[:-1].copy(),
        row_bin,
        row_residual,
        row_weight,
    )
    return start, row_bin, row_residual, row_weight


def _weighted(
    table: Residuals, row_bin: NDArray[np.int32], residual: Floats, weight: Floats, mean: Floats
) -> Residuals:
    """The same bins with weights: sums over pairs are exact, null moments take the bin's mean score."""

    def total(values: Floats) -> Floats:
        return sum_by(row_bin, values, len(table.n))

    whole, squares = total(weight), total(weight**2)
    null = squares * mean * (1 - mean)
    return replace(
        table,
        weighted=True,
        weight=whole,
        residual=total(residual),
        pair=np.stack([squares, total(weight * residual), total(residual**2)]),
        null=np.stack([null, null * (1 - 2 * mean) * np.sqrt(squares / table.n)]),
        score=whole * mean,
        score2=whole * mean**2,
    )


def _follow_labels(
    positives: Floats, negatives: Floats, weight1: Floats, weight0: Floats, squares1: Floats, squares0: Floats
) -> bool:
    """Return True if the mean weights of positives and negatives differ within bins.

    The arguments are sums over the pairs of each bin, of positives and of negatives.
    """
    both = (positives > 0) & (negatives > 0)
    if not both.any():
        return False
    n1, n0 = positives[both], negatives[both]
    share = n1 * n0 / (n1 + n0)
    mean1, mean0 = weight1[both] / n1, weight0[both] / n0
    spread = (
        np.maximum(squares1[both] / n1 - mean1**2, 0) / n1
        + np.maximum(squares0[both] / n0 - mean0**2, 0) / n0
    )
    difference = float(np.sum(share * (mean1 - mean0)))
    least = _LEAST_DIFFERENCE * float(np.sum(share * (mean1 + mean0) / 2))
    return abs(difference) > max(least, _BEYOND_CHANCE * float(np.sqrt(np.sum(share**2 * spread))))


def _every_bin(table: Residuals) -> NDArray[np.int32]:
    return np.arange(len(table.n), dtype=np.int32)


def _by_unit(table: Residuals, cells: ClusterCells, clusters: int) -> Residuals:
    """Take the clusters (or the weighted pairs) of ``cells`` as units."""
    return replace(table, unit=cells.power_sums(len(table.n)), cells=cells, clusters=clusters)


def _least_pairs(size: int) -> int:
    return min(size, int(FEWEST_UNITS))


def _separable(table: Residuals, least: float) -> Residuals:
    """Join bins of fewer than ``least`` units to their neighbors."""
    group = _thin_bins(table, least)
    return table if group is None else table.joined(group)


def _thin_bins(table: Residuals, least: float) -> NDArray[np.int32] | None:
    """Group bins of fewer than ``least`` units with their neighbors; None if there are none.

    A bin says something only through pairs of different units. Which bins are joined depends on scores,
    weights and clusters but not on labels, so it adds no bias.
    """
    bins = len(table.n)
    if table.cells is None or not table.clusters:  # a unit is in one bin only
        start, unit, weight, alone = np.zeros(bins + 1, np.int64), _NO_UNIT, np.empty(0), table.unit[0]
        fewest, whole = 0, float(table.weight.sum() ** 2 / table.unit[0].sum())
        least = max(_FEWEST_UNITS_EVER, min(least, whole / 2))
        if np.all(table.weight**2 >= least * table.unit[0]):
            return None
    else:
        # Clusters count as they are, and not by their effective number: a bin of so many effective ones would
        # swallow a third of the scores next to a large cluster with one score.
        cells, alone = table.cells, np.zeros(bins)
        fewest, least = min(int(least), table.clusters // 2), _FEWEST_UNITS_EVER
        units_in = np.bincount(cells.bin, minlength=bins)
        if np.all(units_in >= fewest) and np.all(table.weight**2 >= least * table.unit[0]):
            return None
        start = np.concatenate([[0], np.cumsum(units_in)]).astype(np.int64)
        order = np.argsort(cells.bin, kind="stable")
        unit = np.repeat(np.arange(len(cells.start) - 1), np.diff(cells.start))[order]
        weight = cells.weight[order]
    group = np.empty(bins, np.int32)
    units = int(unit.max()) + 1 if len(unit) else 0
    bin_kernels.join_thin(start, unit, weight, alone, table.weight, units, fewest, least, group)
    return group
