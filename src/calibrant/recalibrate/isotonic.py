"""Isotonic regression: the monotone map that fits the labels best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Check, Floats, Integers, Pairs, flag, option
from calibrant._kernels import isotonic as kernels
from calibrant._kernels import maps as map_kernels
from calibrant._parallel import default_threads, fold, slices
from calibrant.metrics.grid import keys_of, scores_of
from calibrant.metrics.tally import Tally
from calibrant.recalibrate._binned import in_pieces
from calibrant.recalibrate.base import BinaryRecalibrator, Source, broken_state

LARGEST_SORTED = 1 << 17  # largest number of pairs for which sorting is as fast
PAIRS_A_RANGE = 16  # approximate number of pairs per range of scores between those of a sample
MOST_RANGES = 1 << 22
HALF_A_PAIR = 0.5
_SAMPLED = 4096
_ROUNDING = 1e-14


@dataclass(frozen=True)
class Blocks:
    """Runs of scores on which an isotonic regression is constant, in order of the score.

    Attributes
    ----------
    first, last
        (blocks,) lowest and highest score of each run.
    frequency
        (blocks,) proportion of positives; strictly increasing.
    """

    first: Floats
    last: Floats
    frequency: Floats


@dataclass(frozen=True)
class _Ranges:
    """Ranges of scores; the range of a key is ``(key >> shift) - low``, clipped to the existing ranges."""

    low: int
    shift: int
    count: int

    @classmethod
    def fitting(cls, pairs: Pairs) -> _Ranges:
        """Return ranges that are fine where scores are dense; the end ranges include more extreme scores."""
        key = keys_of(pairs.score[:: len(pairs) // _SAMPLED + 1])
        first, last = int(key.min()), int(key.max())
        most = min(MOST_RANGES, len(pairs) // PAIRS_A_RANGE)
        shift = max(0, (last - first).bit_length() - most.bit_length())
        low = (first >> shift) - 1
        return cls(low, shift, (last >> shift) - low + 2)


def pooled(source: Source, *, added: float = 0.0) -> Blocks:
    """Pool adjacent violators. A row of a compressed tally is one score, its mean.

    ``added`` is the number of pairs of mean weight that are added at each end: positive at the lowest score,
    negative at the highest.
    """
    if isinstance(source, Pairs) and source.weight is None and len(source) > LARGEST_SORTED:
        return _pooled_without_sorting(source, added)
    tally = source if isinstance(source, Tally) else Tally.from_pairs(source, exact=True)
    tally = tally.without_clusters()
    added *= tally.total_weight / tally.total_n
    return _blocks(tally.score, tally.weight, tally.weight_positives, added)


def _blocks(score: Floats, weight: Floats, weight_positives: Floats, added: float) -> Blocks:
    if added:
        weight, weight_positives = weight.copy(), weight_positives.copy()
        weight_positives[0] += added
        weight[0] += added
        weight[-1] += added
    start = kernels.pool_adjacent_violators(weight, weight_positives)
    total = np.add.reduceat(weight, start)
    frequency = np.minimum(1.0, np.add.reduceat(weight_positives, start) / total)
    return Blocks(score[start], score[np.append(start[1:], len(score)) - 1], frequency)


def _pooled_without_sorting(pairs: Pairs, added: float) -> Blocks:
    ranges = _Ranges.fitting(pairs)
    n, positives = _counted(pairs, ranges)
    used = np.flatnonzero(n)
    n, positives = n[used], positives[used]
    start = kernels.pool_adjacent_violators(n.astype(np.float64), positives.astype(np.float64))
    looked_at = kernels.may_have_corners(n, positives, start, _ROUNDING)
    wanted = np.zeros(ranges.count, bool)
    wanted[used[looked_at]] = True
    key, count = _by_key(pairs, ranges, wanted)
    whole = np.flatnonzero(~looked_at & np.append(True, looked_at[:-1]))  # runs of other ranges begin here
    place = np.searchsorted(key, (used[whole] + ranges.low) << ranges.shift)
    score = np.insert(scores_of(key), place, np.nan)  # no block begins or ends in them
    all_n = np.insert(count.sum(axis=1), place, _sums(np.where(looked_at, 0, n), whole))
    all_positives = np.insert(count[:, 1], place, _sums(np.where(looked_at, 0, positives), whole))
    # Pairs added at the ends move no corner of the pooled blocks, so the corners found without them suffice.
    return _blocks(score, all_n.astype(np.float64), all_positives.astype(np.float64), added)


def _counted(pairs: Pairs, ranges: _Ranges) -> tuple[Integers, Integers]:
    """Return the numbers of pairs and positive pairs by range of scores."""
    narrow = np.uint32 if len(pairs) < 1 << 32 else np.int64  # half as much to keep in the caches
    counts = fold(
        slices(len(pairs)),
        lambda: np.zeros(2 * ranges.count, narrow),
        lambda count, part: kernels.count_labels(
            pairs.score[part], pairs.outcome[part], ranges.low, ranges.shift, count
        ),
        default_threads(),
    )
    by_label = sum(counts[1:], counts[0]).reshape(-1, 2).astype(np.int64)
    return by_label[:, 0] + by_label[:, 1], by_label[:, 1]


@dataclass
class _PairsOfThread:
    """Pairs of one thread: those with the first score of their range are counted, the others packed."""

    first: Integers
    count: Integers
    packed: list[Integers]


def _by_key(pairs: Pairs, ranges: _Ranges, wanted: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Return sorted keys of the scores in selected ranges, with their pairs by label (keys, 2)."""

    def new() -> _PairsOfThread:
        return _PairsOfThread(np.full(len(wanted), kernels.NO_KEY), np.zeros(2 * len(wanted), np.int64), [])

    def update(thread: _PairsOfThread, part: slice) -> None:
        score, outcome = pairs.score[part], pairs.outcome[part]
        buffer = np.empty(len(score), np.int64)
        used = kernels.gather(
            score, outcome, ranges.low, ranges.shift, wanted, thread.first, thread.count, buffer
        )
        thread.packed.append(buffer[:used].copy())

    threads = fold(slices(len(pairs)), new, update, default_threads())
    packed = np.concatenate([part for thread in threads for part in thread.packed])
    packed.sort()
    met = [np.flatnonzero(thread.first != kernels.NO_KEY) for thread in threads]
    tied = np.concatenate([thread.first[rows] for thread, rows in zip(threads, met, strict=True)])
    tied_count = np.concatenate(
        [thread.count.reshape(-1, 2)[rows] for thread, rows in zip(threads, met, strict=True)]
    )
    order = np.argsort(tied)
    key = np.empty(len(packed) + len(tied), np.int64)
    count = np.empty((len(key), 2), np.int64)
    distinct = kernels.merge_by_key(packed, tied[order], tied_count[order], key, count)
    return key[:distinct], count[:distinct]


def _sums(values: Integers, start: Integers) -> Integers:
    """Return sums of the runs that begin at ``start``."""
    return np.add.reduceat(values, start) if len(start) else values[:0]


Between = Literal["linear", "steps"]


class Isotonic(BinaryRecalibrator):
    """Isotonic regression of the labels on the scores, by pooling adjacent violators.

    The map never reverses the order of two scores, but it makes ties; `order_effect` returns their number and
    their effect on the AUC. Equal scores share their labels.

    Parameters
    ----------
    between
        Values between two blocks: ``"linear"`` interpolation from the highest score of one to the
        lowest of the next, or ``"steps"``, by which a block's value applies until the next block begins.
    smoothing
        True to add half a positive pair at the lowest score and half a negative pair at the highest (of mean
        weight). No value is then 0 or 1, so the log loss of other labels is finite.

    Attributes
    ----------
    first_, last_
        (blocks,) lowest and highest score of each block of the fit; below the first and above the last
        block the map is flat.
    values_
        (blocks,) proportion of positives in each block, strictly increasing.

    Notes
    -----
    A row of a compressed tally is one score, its mean, so the fit is that of scores rounded to 1/256 of an
    octave of min(q, 1 - q). The fit to arrays of any size is exact.

    References
    ----------
    .. [1] Zadrozny and Elkan (2002). Transforming classifier scores into accurate multiclass probability
       estimates. KDD.

    Examples
    --------
    >>> model = Isotonic().fit([0.1, 0.4, 0.5, 0.9], [0, 1, 0, 1])
    >>> model.transform([0.0, 0.25, 0.45, 0.7, 1.0]).round(3).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    >>> Isotonic(smoothing=True).fit([0.1, 0.4, 0.5, 0.9], [0, 1, 0, 1]).values_.round(3).tolist()
    [0.333, 0.5, 0.667]
    """

    method: ClassVar[str] = "isotonic"
    _learned: ClassVar[tuple[str, ...]] = ("first_", "last_", "values_")
    _parameters: ClassVar[dict[str, Check]] = {"between": option("linear", "steps"), "smoothing": flag}

    first_: Floats
    last_: Floats
    values_: Floats

    def __init__(self, *, between: Between = "linear", smoothing: bool = False) -> None:
        self.between = between
        self.smoothing = smoothing

    def _learn(self, source: Source) -> None:
        blocks = pooled(source, added=HALF_A_PAIR if self.smoothing else 0.0)
        self.first_, self.last_, self.values_ = blocks.first, blocks.last, blocks.frequency

    def _map(self, score: Floats) -> Floats:
        out = np.empty(len(score))
        if self.between == "steps":
            edge, value = self.first_[1:], self.values_
            in_pieces(lambda part: map_kernels.steps(edge, value, score[part], out[part]), len(score))
            return out
        several = np.flatnonzero(self.last_ > self.first_)
        knot = np.insert(self.last_, several, self.first_[several])
        value = np.insert(self.values_, several, self.values_[several])
        in_pieces(lambda part: map_kernels.interpolate(knot, value, score[part], out[part]), len(score))
        return out

    def _restore(self, learned: dict[str, Any]) -> None:
        super()._restore(learned)
        first, last, value = self.first_, self.last_, self.values_
        if not (len(first) == len(last) == len(value) > 0):
            raise broken_state("its blocks have different numbers of scores and values")
        ordered = (first <= last).all() and (last[:-1] <= first[1:]).all() and (np.diff(value) >= 0).all()
        if not (ordered and first[0] >= 0 and last[-1] <= 1 and value[0] >= 0 and value[-1] <= 1):
            raise broken_state("its blocks are not in order, or a value is not a probability")
