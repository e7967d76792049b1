"""Cut scores into the bins of a map: equal scores share a bin, and the bins cover [0, 1]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from calibrant._checks import Check, Floats, Integers, option, optional, positive_integer
from calibrant._kernels import maps as kernels
from calibrant._parallel import CHUNK, default_threads, fold, slices
from calibrant.exceptions import InputError
from calibrant.metrics.binning import adaptive, uniform
from calibrant.recalibrate.base import BinaryRecalibrator, Source, broken_state

Strategy = Literal["adaptive", "uniform"]


@dataclass(frozen=True)
class Cut:
    """Bins as intervals that cover [0, 1]: bin i holds ``edge[i] <= score < edge[i + 1]`` (the last, 1 too).

    Attributes
    ----------
    edge
        (bins + 1,) from 0 to 1.
    n
        (bins,) numbers of pairs.
    weight, weight_positives, weight_score
        (bins,) sums of w, w y and w q.
    """

    edge: Floats
    n: Floats
    weight: Floats
    weight_positives: Floats
    weight_score: Floats

    @property
    def frequency(self) -> Floats:
        """Proportion of positives per bin."""
        return self.weight_positives / self.weight

    @property
    def score(self) -> Floats:
        """Mean score per bin."""
        return self.weight_score / self.weight


BINS: dict[str, Check] = {
    "n_bins": positive_integer,
    "size": optional(positive_integer),
    "strategy": option("adaptive", "uniform"),
    "min_size": positive_integer,
}


def cut(source: Source, bins: int, size: int | None, strategy: str, smallest: int) -> Cut:
    """Return bins of a source; bins of fewer than ``smallest`` pairs join the next (the last the previous).

    Raises
    ------
    InputError
        For fewer pairs than bins, or a size of uniform bins.
    """
    if strategy == "adaptive":
        pieces = (
            adaptive(source, n_bins=bins, ties="whole")
            if size is None
            else adaptive(source, size=size, ties="whole")
        )
        first = pieces.edge_low[1:]
    else:
        if size is not None:
            message = "size only applies to adaptive bins"
            raise InputError(message, "leave it out, or use strategy='adaptive'", code="parameter")
        pieces = uniform(source, bins)
        # Uniform bins contain their upper edge; empty ranges between them are split in the middle.
        first = np.nextafter((pieces.edge_high[:-1] + pieces.edge_low[1:]) / 2, 2.0)
    start = _large_enough(pieces.n, smallest)
    columns = (pieces.n, pieces.weight, pieces.weight_positives, pieces.sum_score)
    edge = np.concatenate([[0.0], first[start[1:] - 1], [1.0]])
    return Cut(edge, *(np.add.reduceat(column, start) for column in columns))


def step_map(edge: Floats, value: Floats, score: Floats) -> Floats:
    """Return the value of each score's bin."""
    inner = edge[1:-1]
    out = np.empty(len(score))
    in_pieces(lambda part: kernels.steps(inner, value, score[part], out[part]), len(score))
    return out


class StepRecalibrator(BinaryRecalibrator):
    """Base of the maps that are constant on bins of [0, 1]."""

    edges_: Floats
    values_: Floats
    sizes_: Floats

    def _map(self, score: Floats) -> Floats:
        return step_map(self.edges_, self.values_, score)

    def _restore(self, learned: dict[str, Any]) -> None:
        super()._restore(learned)
        edge, value, bins = self.edges_, self.values_, len(self.sizes_)
        rising = len(edge) > 1 and edge[0] == 0 and edge[-1] == 1 and (np.diff(edge) >= 0).all()
        if not (len(edge) == len(value) + 1 == bins + 1 and rising and ((value >= 0) & (value <= 1)).all()):
            raise broken_state("its bins do not cover [0, 1], or a value is not a probability")


def in_pieces(work: Callable[[slice], None], n: int) -> None:
    """Call ``work`` with slices that cover range(n), on several threads if n is large."""
    fold(slices(n), lambda: None, lambda _, part: work(part), default_threads() if n > CHUNK else 1)


def _large_enough(n: Floats, smallest: int) -> Integers:
    """Return the starts of merged bins that have at least ``smallest`` pairs each."""
    start = [0]
    inside = 0.0
    for i, count in enumerate(n.tolist()):
        if inside >= smallest:
            start.append(i)
            inside = 0.0
        inside += count
    if inside < smallest and len(start) > 1:
        start.pop()
    return np.array(start, np.int64)
