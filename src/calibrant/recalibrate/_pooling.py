"""The blocks of an isotonic regression, from a tally, or from many pairs without sorting them.

The isotonic regression is the slope of the greatest convex minorant of the cumulative sums (n, positives).
Sums over ranges of scores give some of its points. Whatever the order inside a range, the cumulative sums
there stay above those of "all negatives first": where even these stay above the minorant of the known
points, the range has no corner, and its pairs need not be looked at one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, Pairs
from calibrant._kernels import isotonic as kernels
from calibrant._parallel import default_threads, fold, slices
from calibrant.measure._key_tree import keys_of, scores_of
from calibrant.measure.tally import LARGEST_EXACT, Tally
from calibrant.recalibrate._base import Source

_PAIRS_A_RANGE = 16  # of the scores that lie between those of a sample, about
_MOST_RANGES = 1 << 22
_SAMPLED = 4096
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Blocks:
    """Runs of scores on which an isotonic regression is constant, in order of the score.

    Attributes
    ----------
    first, last
        (blocks,) lowest and highest score of each.
    frequency
        (blocks,) share of positives; strictly increasing.
    """

    first: Floats
    last: Floats
    frequency: Floats


@dataclass(frozen=True)
class _Ranges:
    """Ranges of scores: a key's is ``(key >> shift) - low``, cut to those there are."""

    low: int
    shift: int
    count: int

    @classmethod
    def fitting(cls, pairs: Pairs) -> _Ranges:
        """Ranges that are fine where the scores are; the end ones take what lies beyond a sample."""
        key = keys_of(pairs.score[:: len(pairs) // _SAMPLED + 1])
        first, last = int(key.min()), int(key.max())
        most = min(_MOST_RANGES, len(pairs) // _PAIRS_A_RANGE)
        shift = max(0, (last - first).bit_length() - most.bit_length())
        low = (first >> shift) - 1
        return cls(low, shift, (last >> shift) - low + 2)


def pooled(source: Source) -> Blocks:
    """Pool adjacent violators. A row of a compressed tally counts as one score, its mean."""
    if isinstance(source, Pairs) and source.weight is None and len(source) > LARGEST_EXACT:
        return _pooled_without_sorting(source)
    tally = source if isinstance(source, Tally) else Tally.from_pairs(source, exact=True)
    tally = tally.without_clusters()
    return _blocks(tally.score, tally.weight, tally.weight_positives)


def _blocks(score: Floats, weight: Floats, weight_positives: Floats) -> Blocks:
    start = kernels.pool_adjacent_violators(weight, weight_positives)
    total = np.add.reduceat(weight, start)
    frequency = np.minimum(1.0, np.add.reduceat(weight_positives, start) / total)
    return Blocks(score[start], score[np.append(start[1:], len(score)) - 1], frequency)


def _pooled_without_sorting(pairs: Pairs) -> Blocks:
    ranges = _Ranges.fitting(pairs)
    n, positives = _counted(pairs, ranges)
    used = np.flatnonzero(n)
    wanted = np.zeros(len(n), bool)
    wanted[used] = _may_have_corners(n[used], positives[used])
    whole = used[~wanted[used]]
    key, key_n, key_positives = _by_key(pairs, ranges, wanted)
    row = np.clip((key >> ranges.shift) - ranges.low, 0, ranges.count - 1)
    unknown = np.full(len(whole), np.nan)  # blocks begin and end in ranges that were looked at
    order = np.argsort(np.concatenate([row, whole]), kind="stable")
    score = np.concatenate([scores_of(key), unknown])[order]
    weight = np.concatenate([key_n, n[whole]])[order].astype(np.float64)
    weight_positives = np.concatenate([key_positives, positives[whole]])[order].astype(np.float64)
    return _blocks(score, weight, weight_positives)


def _counted(pairs: Pairs, ranges: _Ranges) -> tuple[Integers, Integers]:
    """Pairs and positive pairs by range of scores."""
    counts = fold(
        slices(len(pairs)),
        lambda: np.zeros(2 * ranges.count, np.int64),
        lambda count, part: kernels.count_labels(
            pairs.score[part], pairs.outcome[part], ranges.low, ranges.shift, count
        ),
        default_threads(),
    )
    by_label = sum(counts[1:], counts[0]).reshape(-1, 2)
    return by_label.sum(axis=1), by_label[:, 1]


def _may_have_corners(n: Integers, positives: Integers) -> NDArray[np.bool_]:
    """The ranges in which a block may begin or end."""
    start = kernels.pool_adjacent_violators(n.astype(np.float64), positives.astype(np.float64))
    block = np.repeat(np.arange(len(start)), np.diff(np.append(start, len(n))))
    before, positives_before = np.cumsum(n) - n, np.cumsum(positives) - positives
    total = np.add.reduceat(n, start)[block].astype(np.float64)
    total_positives = np.add.reduceat(positives, start)[block].astype(np.float64)
    inside = (before - before[start][block] + n - positives).astype(np.float64)
    lowest = (positives_before - positives_before[start][block]) * total
    deep = lowest < inside * total_positives * (1 + _ROUNDING)
    wanted: NDArray[np.bool_] = deep & (positives > 0) & (positives < n)
    wanted[start] = True
    wanted[np.append(start[1:], len(n)) - 1] = True
    return wanted


@dataclass
class _Found:
    """One thread's pairs: those with the first score of their range counted, the others packed."""

    first: Integers
    count: Integers
    packed: list[Integers]


def _by_key(pairs: Pairs, ranges: _Ranges, wanted: NDArray[np.bool_]) -> tuple[Integers, Integers, Integers]:
    """Sorted keys of the scores in the wanted ranges, with their pairs and positive pairs."""

    def new() -> _Found:
        return _Found(np.full(len(wanted), kernels.NO_KEY), np.zeros(2 * len(wanted), np.int64), [])

    def update(found: _Found, part: slice) -> None:
        score, outcome = pairs.score[part], pairs.outcome[part]
        buffer = np.empty(len(score), np.int64)
        used = kernels.gather(
            score, outcome, ranges.low, ranges.shift, wanted, found.first, found.count, buffer
        )
        found.packed.append(buffer[:used].copy())

    threads = fold(slices(len(pairs)), new, update, default_threads())
    packed = np.concatenate([part for found in threads for part in found.packed])
    packed.sort()
    start = np.flatnonzero(np.diff(packed >> 1, prepend=kernels.NO_KEY))
    runs = [(packed[start] >> 1, np.diff(np.append(start, len(packed))), _sums(packed & 1, start))]
    for found in threads:
        met = np.flatnonzero(found.first != kernels.NO_KEY)
        by_label = found.count.reshape(-1, 2)[met]
        runs.append((found.first[met], by_label.sum(axis=1), by_label[:, 1]))
    key, n, positives = (np.concatenate(column) for column in zip(*runs, strict=True))
    order = np.argsort(key, kind="stable")  # a merge of sorted runs
    start = np.flatnonzero(np.diff(key[order], prepend=kernels.NO_KEY))
    return key[order][start], _sums(n[order], start), _sums(positives[order], start)


def _sums(values: Integers, start: Integers) -> Integers:
    """Sums of the runs that begin at ``start``."""
    total: Integers = np.add.reduceat(values, start) if len(start) else values[:0]
    return total
