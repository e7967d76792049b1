"""Venn-Abers prediction: two isotonic regressions, one for each possible label of the new item."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Check, Floats, Pairs, flag, optional
from calibrant._kernels import maps
from calibrant.metrics.tally import Tally
from calibrant.recalibrate._binned import in_pieces
from calibrant.recalibrate.base import BinaryRecalibrator, Source, broken_state, one_column


class VennAbers(BinaryRecalibrator):
    """Inductive Venn-Abers prediction: a pair (p0, p1) per score, which is merged into one probability.

    p0 is the isotonic regression at the score if the item is added to the fit with label 0, and p1 with label
    1. The probability of the true label is calibrated for any number of pairs of the fit. The distance of p0
    and p1 shows how little is known near the score, but the pair is not a confidence interval for the
    probability of the event. `transform` merges it into p1 / (1 - p0 + p1), the minimax choice for log loss.

    Parameters
    ----------
    exact
        True: one row per distinct score. False: the rows of a compressed tally, at most about 30,000. None:
        exact up to 2^20 pairs. A fit to a tally uses the tally's rows.

    Attributes
    ----------
    low_, high_
        (rows,) lowest and highest score of each row; equal for a single score.
    p0_, p1_
        (rows,) pairs of the rows. Between two rows, p0 is that of the lower row and p1 that of the upper row;
        below all rows p0 is 0, and above all rows p1 is 1.
    grid_error_
        Largest difference of p0 and p1 from an exact fit, for any order of the pairs in the rows of a
        compressed tally; 0 for an exact fit.
    mean_grid_error_
        Mean of this bound over the pairs of the fit.

    Notes
    -----
    A new item has weight 1. A fit is possible with a single label: the pair then shows how little it
    determines. The running time is linear in the number of sorted rows.

    References
    ----------
    .. [1] Vovk and Petej (2014). Venn-Abers predictors. UAI.
    .. [2] Vovk, Petej and Fedorova (2015). Large-scale probabilistic predictors with and without guarantees
       of validity. NeurIPS. (How the pair is merged.)

    Examples
    --------
    >>> model = VennAbers().fit([0.2, 0.4, 0.8], [0, 0, 1])
    >>> p0, p1 = model.intervals([0.3, 0.9])
    >>> p0.round(3).tolist(), p1.round(3).tolist()
    ([0.0, 0.5], [0.5, 1.0])
    >>> model.transform([0.3, 0.9]).round(3).tolist()
    [0.333, 0.667]
    """

    method: ClassVar[str] = "venn-abers"
    _learned: ClassVar[tuple[str, ...]] = ("low_", "high_", "p0_", "p1_", "grid_error_", "mean_grid_error_")
    _parameters: ClassVar[dict[str, Check]] = {"exact": optional(flag)}
    _one_label_is_enough: ClassVar[bool] = True

    low_: Floats
    high_: Floats
    p0_: Floats
    p1_: Floats
    grid_error_: float
    mean_grid_error_: float

    def __init__(self, *, exact: bool | None = None) -> None:
        self.exact = exact

    def intervals(self, X: ArrayLike) -> tuple[Floats, Floats]:
        """Return the pair of each score.

        Parameters
        ----------
        X
            (n,) or (n, 1) scores in [0, 1].

        Returns
        -------
        p0, p1 : ndarray of float64
            Probabilities in the shape of X, with ``0 <= p0 <= p1 <= 1``; neither decreases with the score.

        Raises
        ------
        InputError
            If it has not been fitted, or a score is not in [0, 1].

        Examples
        --------
        >>> VennAbers().fit([0.5], [1]).intervals([0.5])
        (array([0.5]), array([1.]))
        """
        self.check_fitted()
        column, shape = one_column(X)
        score = _checks.scores(column, "X").astype(np.float64, copy=False)
        p0, p1 = self._pair(score)
        return p0.reshape(shape), p1.reshape(shape)

    def _learn(self, source: Source) -> None:
        tally = Tally.from_pairs(source, exact=self.exact) if isinstance(source, Pairs) else source
        tally = tally.without_clusters()
        weight, positive = tally.weight, np.minimum(tally.weight, tally.weight_positives)
        self.low_, self.high_ = _ends(tally)
        self.p1_ = _with_positive(weight, positive)
        self.p0_ = np.minimum(1 - _with_positive(weight[::-1], (weight - positive)[::-1])[::-1], self.p1_)
        self.grid_error_ = self.mean_grid_error_ = 0.0
        if tally.kind == "compressed":
            error = np.maximum(
                _error_with_positive(self.p1_, weight, positive),
                _error_with_positive(1 - self.p0_[::-1], weight[::-1], (weight - positive)[::-1])[::-1],
            )
            self.grid_error_ = float(error.max())
            # Rounding can make a mean of equal errors larger than each error.
            self.mean_grid_error_ = min(float(np.average(error, weights=weight)), self.grid_error_)

    def _map(self, score: Floats) -> Floats:
        p0, p1 = self._pair(score)
        return p1 / (1 - p0 + p1)

    def _pair(self, score: Floats) -> tuple[Floats, Floats]:
        p0, p1 = np.empty(len(score)), np.empty(len(score))
        below, beyond = np.append(0.0, self.p0_), np.append(self.p1_, 1.0)
        low, after = self.low_, np.nextafter(self.high_, 2.0)

        def work(part: slice) -> None:
            maps.steps(low, below, score[part], p0[part])
            maps.steps(after, beyond, score[part], p1[part])

        in_pieces(work, len(score))
        return p0, p1

    def _restore(self, learned: dict[str, Any]) -> None:
        super()._restore(learned)
        rows = len(self.low_)
        if not rows or any(len(column) != rows for column in (self.high_, self.p0_, self.p1_)):
            raise broken_state("its rows have different numbers of scores and probabilities")
        ordered = (self.low_ <= self.high_).all() and (self.high_[:-1] < self.low_[1:]).all()
        within = (self.p0_ >= 0).all() and (self.p0_ <= self.p1_).all() and (self.p1_ <= 1).all()
        if not (ordered and within and 0 <= self.mean_grid_error_ <= self.grid_error_):
            raise broken_state("its rows are not in order, or a value is no probability")


def _ends(tally: Tally) -> tuple[Floats, Floats]:
    """Return the first and last score of each row; a score between two rows belongs to one of them."""
    low, high = tally.low.copy(), tally.high.copy()
    if tally.kind == "compressed":
        after_cut = tally.anchor < low
        low[after_cut] = np.nextafter(low[after_cut], 2.0)
        touching = np.flatnonzero(high[:-1] >= low[1:])
        high[touching] = np.nextafter(low[touching + 1], 0.0)
    return low, high


def _points(weight: Floats, positive: Floats) -> tuple[Floats, Floats]:
    """Return cumulative sums, from (0, 0)."""
    return np.append(0.0, np.cumsum(weight)), np.append(0.0, np.cumsum(positive))


def _with_positive(weight: Floats, positive: Floats) -> Floats:
    """Return the isotonic regression at each row after a positive pair is added to it."""
    points = _points(weight, positive)
    row = np.arange(len(weight))
    slope: Floats = np.minimum(1.0, maps.slopes_with_positive(*points, *points, row, row))
    return slope


def _error_with_positive(value: Floats, weight: Floats, positive: Floats) -> Floats:
    """How far `_with_positive` may be from what the pairs' own order would give.

    More points on the left of the new pair can only raise its value, more on the right only lower it; the
    furthest they can go inside a row is with its negatives first.
    """
    whole = _points(weight, positive)
    apart = np.column_stack([weight - positive, positive]).ravel()
    split = _points(apart, np.column_stack([np.zeros(len(positive)), positive]).ravel())
    row = np.arange(len(weight))
    high = maps.slopes_with_positive(*split, *whole, 2 * (row + 1), row + 1)
    low = maps.slopes_with_positive(*whole, *split, row, 2 * row)
    return np.maximum(high - value, value - low)
