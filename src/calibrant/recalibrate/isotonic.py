"""Isotonic regression: the monotone map that fits the labels best."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np

from calibrant._checks import Check, Floats, option
from calibrant._kernels import maps as kernels
from calibrant.recalibrate._binned import in_pieces
from calibrant.recalibrate._pooling import pooled
from calibrant.recalibrate.base import BinaryRecalibrator, Source, broken_state

Between = Literal["linear", "steps"]


class Isotonic(BinaryRecalibrator):
    """Isotonic regression of the labels on the scores, by pooling adjacent violators.

    The map never reverses the order of two scores, but it makes ties: `order_effect` counts them and says
    what they do to the AUC. Ties in the scores share their labels.

    Parameters
    ----------
    between
        What happens between two blocks: ``"linear"`` interpolation from the highest score of one to the
        lowest of the next, or ``"steps"``: a block's value holds until the next block begins.

    Attributes
    ----------
    first_, last_
        (blocks,) lowest and highest score of each block of the fit; below the first and above the last
        block the map is flat.
    values_
        (blocks,) share of positives in each block, strictly increasing.

    Notes
    -----
    From a compressed tally a row counts as one score, its mean: the fit is that of scores rounded to
    a 256th of an octave of min(q, 1 - q). From arrays it is exact, however many there are.

    References
    ----------
    .. [1] Zadrozny and Elkan (2002). Transforming classifier scores into accurate multiclass probability
       estimates. KDD.

    Examples
    --------
    >>> model = Isotonic().fit([0.1, 0.4, 0.5, 0.9], [0, 1, 0, 1])
    >>> model.transform([0.0, 0.25, 0.45, 0.7, 1.0]).round(3).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    method: ClassVar[str] = "isotonic"
    _learned: ClassVar[tuple[str, ...]] = ("first_", "last_", "values_")
    _parameters: ClassVar[dict[str, Check]] = {"between": option("linear", "steps")}

    first_: Floats
    last_: Floats
    values_: Floats

    def __init__(self, *, between: Between = "linear") -> None:
        self.between = between

    def _learn(self, source: Source) -> None:
        blocks = pooled(source)
        self.first_, self.last_, self.values_ = blocks.first, blocks.last, blocks.frequency

    def _map(self, score: Floats) -> Floats:
        out = np.empty(len(score))
        if self.between == "steps":
            edge, value = self.first_[1:], self.values_
            in_pieces(lambda part: kernels.steps(edge, value, score[part], out[part]), len(score))
            return out
        several = np.flatnonzero(self.last_ > self.first_)
        knot = np.insert(self.last_, several, self.first_[several])
        value = np.insert(self.values_, several, self.values_[several])
        in_pieces(lambda part: kernels.interpolate(knot, value, score[part], out[part]), len(score))
        return out

    def _restore(self, learned: dict[str, Any]) -> None:
        super()._restore(learned)
        first, last, value = self.first_, self.last_, self.values_
        if not (len(first) == len(last) == len(value) > 0):
            raise broken_state("its blocks have different numbers of scores and values")
        ordered = (first <= last).all() and (last[:-1] <= first[1:]).all() and (np.diff(value) >= 0).all()
        if not (ordered and first[0] >= 0 and last[-1] <= 1 and value[0] >= 0 and value[-1] <= 1):
            raise broken_state("its blocks are not in order, or a value is no probability")
