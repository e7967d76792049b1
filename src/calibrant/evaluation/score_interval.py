"""Intervals that invert a goodness-of-fit test, for any coefficient of the counts of items in cells.

Items fall into cells, such as the pairs of labels that two annotators give. Pearson's statistic compares the
counts with cell probabilities, and the interval is the range of the coefficient over the probabilities that
the test does not reject: a value is inside if the smallest statistic of all probabilities that give it is at
most the critical value. For a proportion this is Wilson's interval. For kappa it is the test of Donner and
Eliasziw (1992), with the nuisance probabilities fitted to each value instead of held at their estimates.
Cells without items may have probability, so the interval exists where all annotators agree and where one item
carries a rare label.

The probabilities that are not rejected are a convex set. The solver climbs in it: an extreme point for the
current influences has a closed form up to one root, and each step is a line search (Frank and Wolfe 1956).
All points of the search are in the set, so an end is the value of probabilities that are not rejected, and
intervals of greater levels contain those of smaller ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, Integers, proportion
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.metrics.resampling import by_cluster
from calibrant.metrics.tails import cr2, critical_value, effective_number, few_clusters

Value = Callable[[Floats], Floats]
ONE_UNIT = "an interval needs two items or more"
ONE_CLUSTER = "an interval needs two clusters or more"
ONE_CARRIES = "an interval needs two clusters or more with items that the estimate depends on"
ALIKE = "the items are too much alike for an interval"
_STEP = 1e-6  # of the numerical derivative, in units of the largest entry of a column
_MOST_ITERATIONS = 200
_NEAREST = 2e-6  # precision of the ends
_PARTS = (0.01, 0.99)  # starts: of the greatest probability that empty cells may have
_FEW = 20  # items; of fewer, the search starts also where single empty cells have all of that probability
_STEPS = np.geomspace(1e-3, 1.0, 16)  # of a line search
_NUMBERS_A_CHUNK = 1 << 22
_FURTHER = np.geomspace(0.25, 64.0, 17)
_BY_SQUARES = 0.75  # how much of a cluster's information is from the squares of its influences
_EQUAL = 0.6  # effective clusters per cluster; below, sizes are unequal
CARRYING = 30  # effective clusters that carry an estimate; below, it has a warning


@dataclass(frozen=True)
class Statistic:
    """Function of totals over items.

    Attributes
    ----------
    value
        Function from totals (draws, columns) to values (draws,), NaN if undefined.
    undefined
        Reason why it is undefined, if it is.
    quotient
        Columns whose sums are the numerator and the denominator, if the function is their quotient.
    warning
        Condition of the items under which intervals cover less.
    biased
        True if rare classes bias the function and add variance that its slopes do not show, as a mean over
        classes: the interval is then extended to the jackknife's.
    """

    value: Value
    undefined: str = "it is 0 / 0"
    quotient: tuple[Integers, Integers] | None = None
    warning: str | None = None
    biased: bool = False


@dataclass(frozen=True)
class Cells:
    """Items by cell; items of one cell contribute the same to the totals.

    Attributes
    ----------
    rows
        (cells, columns) contribution of an item of each cell.
    count
        (cells,) number of items in each cell; 0 for cells that are possible and empty.
    item
        (items,) cell of each item, -1 for omitted items; None without clusters.
    cluster
        (items,) cluster of each item; None if items are independent.
    """

    rows: Floats
    count: Integers
    item: Integers | None = None
    cluster: Integers | None = None

    @property
    def totals(self) -> Floats:
        """(columns,) sums over all items."""
        totals: Floats = self.count @ self.rows
        return totals

    def by_cluster(self, influence: Floats) -> tuple[Floats, Floats]:
        """Return the number of items per cluster and the sum of their influences, for clusters with items."""
        assert self.item is not None
        assert self.cluster is not None
        kept = self.item >= 0
        cluster = self.cluster[kept]
        size: Floats = np.bincount(cluster).astype(np.float64)
        total = np.bincount(cluster, influence[self.item[kept]], minlength=len(size)).astype(np.float64)
        return size[size > 0], total[size > 0]

    def without_each(self, value: Value) -> tuple[Floats, Integers]:
        """Return the values without each kind of item (or each cluster), and how many there are of it."""
        rows, number = self.rows[self.count > 0], self.count[self.count > 0]
        if self.cluster is not None:
            assert self.item is not None
            kept = self.item >= 0
            _, code = np.unique(self.cluster[kept], return_inverse=True)
            rows = by_cluster(self.rows[self.item[kept]], code, int(code.max()) + 1).sums
            number = np.ones(len(rows), np.int64)
        totals, step = self.totals, max(1, _NUMBERS_A_CHUNK // self.rows.shape[1])
        parts = [value(totals - rows[start : start + step]) for start in range(0, len(rows), step)]
        return np.concatenate(parts), number

    def information(self, fit: GoodnessOfFit) -> Floats:
        """Return the effective size of each cluster, in items.

        For a quotient, items count by its denominator: a recall depends on the clusters that have the label.
        """
        return information_of(self.relevant(fit), self.by_cluster(fit.influence**2)[1])

    def relevant(self, fit: GoodnessOfFit) -> Floats:
        """Return the number of items per cluster; for a quotient, the cluster's part of the denominator."""
        if fit.denominator is None:
            return self.by_cluster(fit.influence)[0]
        below = self.by_cluster(fit.denominator)[1]
        # In items: the largest addition to the denominator counts as one.
        relevant: Floats = below / fit.denominator.max()
        return relevant


def information_of(size: Floats, square: Floats) -> Floats:
    """Return the effective size of each cluster, from its items and the squares of their influences.

    A quarter comes from the items. The rest comes from the squares: rare errors may all be in a few clusters.
    In simulations, equal halves cover up to 6 percentage points less, and intervals from squares alone are up
    to 70 % wider.
    """
    if not square.any():
        return size
    information: Floats = (1 - _BY_SQUARES) * size + _BY_SQUARES * square * (size.sum() / square.sum())
    return information


def cells_of(rows: Floats, cluster: Integers | None) -> Cells:
    """Return the cells of items, from the contribution of each item (items, columns)."""
    distinct, item, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return Cells(distinct, count, item.reshape(-1), cluster)


def warning_of(cells: Cells) -> str | None:
    """Return a warning if clusters are few or one has most of the items; otherwise None."""
    if cells.cluster is None or not cells.count.any():
        return None
    size, _ = cells.by_cluster(np.zeros(len(cells.rows)))
    return few_clusters(size)


def estimates(cells: Cells, statistics: Mapping[str, Statistic], level: float) -> dict[str, IntervalEstimate]:
    """Compute each statistic with its interval.

    Items of one cluster may depend on each other: the statistic of the test is divided by a design effect
    (Rao and Scott 1981) from the CR2 variance of the clusters' influences, and compared with Student's t.

    References
    ----------
    .. [1] Donner and Eliasziw (1992). A goodness-of-fit approach to inference procedures for the kappa
       statistic. Statistics in Medicine 11, 1511-1519.
    .. [2] Wilson (1927). Probable inference, the law of succession, and statistical inference. Journal of the
       American Statistical Association 22, 209-212.
    .. [3] Rao and Scott (1981). The analysis of categorical data from complex sample surveys. Journal of the
       American Statistical Association 76, 221-230.
    .. [4] Bell and McCaffrey (2002). Bias reduction in standard errors for linear regression with multi-stage
       samples. Survey Methodology 28, 169-181.
    """
    level = proportion(level, "level")
    return {name: _estimate(cells, statistic, level) for name, statistic in statistics.items()}


def clusters_warning(size: Floats, square: Floats) -> str | None:
    """Return the condition under which intervals cover less than 93 % in the study of agreement."""
    number, carrying = effective_number(size), effective_number(square) if square.any() else 1.0
    if carrying < CARRYING:
        what = f"the estimate depends on {carrying:.1f} effective clusters, fewer than {CARRYING}"
    elif number < _EQUAL * len(size):
        what = f"the {len(size)} clusters have unequal sizes and count as {number:.1f} equal clusters"
    else:
        return None
    return f"{what}: its interval may cover less than it states"


def _estimate(cells: Cells, statistic: Statistic, level: float) -> IntervalEstimate:
    fit = GoodnessOfFit(cells.rows, cells.count.astype(np.float64), statistic)
    units = int(cells.count.sum())
    total = np.zeros(0)
    if cells.cluster is not None:
        total = cells.by_cluster(fit.influence)[1]
        units = len(total)
    if math.isnan(fit.estimate):
        return IntervalEstimate(None, reason=statistic.undefined, level=level, units=units)
    if units < 2:
        why = ONE_UNIT if cells.cluster is None else ONE_CLUSTER
        return IntervalEstimate(fit.estimate, reason=why, level=level, units=units)
    effect, freedom, warning = 1.0, math.inf, statistic.warning
    if cells.cluster is not None:
        variance, freedom = cr2(cells.information(fit), total)
        if freedom == 0:
            return IntervalEstimate(fit.estimate, reason=ONE_CARRIES, level=level, units=units)
        alone, size = float(cells.count @ fit.influence**2), cells.relevant(fit)
        # Without differences between items, each cluster counts as one item.
        effect = max(1.0, variance / alone) if alone > 0 else float(size @ size) / float(size.sum())
        warning = clusters_warning(*cells.by_cluster(fit.influence**2)) or warning
    root = math.sqrt(effect)
    critical = critical_value(level, freedom, "two-sided")
    low, high = fit.interval(critical * root)
    high = max(high, fit.end_near_1(critical, effect))
    if statistic.biased:
        below, above = _jackknife(fit.estimate, *cells.without_each(statistic.value), critical)
        low, high = min(low, max(0.0, below)), max(high, min(1.0, above))
    if low == high:
        return IntervalEstimate(fit.estimate, reason=ALIKE, level=level, units=units)
    error = fit.standard_error * root
    return IntervalEstimate(fit.estimate, low, high, error, warning=warning, level=level, units=units)


def _jackknife(estimate: float, without: Floats, number: Integers, critical: float) -> tuple[float, float]:
    """Return the ends of the jackknife interval of a score (Quenouille 1956, Tukey 1958).

    If a score is undefined without some item, both ends are the estimate.
    """
    if np.isnan(without).any():
        return estimate, estimate
    n = int(number.sum())
    mean = float(number @ without) / n
    error = math.sqrt((n - 1) / n * float(number @ (without - mean) ** 2))
    corrected = estimate - (n - 1) * (mean - estimate)
    return corrected - critical * error, corrected + critical * error


def proportion_interval(
    successes: float, trials: float, critical: float, *, near_none: bool = True
) -> tuple[float, float]:
    """Compute Wilson's interval of a proportion, with a modified end for one to three failures or successes.

    There, Wilson's interval covers too little for any number of items. The modification is that of
    Brown, Cai and DasGupta (2001), Interval estimation for a binomial proportion, Statistical Science 16.
    """
    share, square = successes / trials, critical**2 / trials
    center = (share + square / 2) / (1 + square)
    half = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    low, high = max(0.0, center - half), min(1.0, center + half)
    if near_none:
        low = min(low, share * _least_rate(successes, trials, critical))
        high = max(high, 1 - (1 - share) * _least_rate(trials - successes, trials, critical))
    return low, high


def _least_rate(failures: float, trials: float, critical: float) -> float:
    """Return the smallest failure rate that so few failures leave possible, in units of the observed rate."""
    from scipy.special import chdtri, ndtr

    if not 0 < failures <= (2 if trials <= 50 else 3):
        return 1.0
    return float(chdtri(2 * failures, 1 - 2 * ndtr(-critical))) / (2 * failures)


class GoodnessOfFit:
    """Values of a coefficient that Pearson's test does not reject.

    Parameters
    ----------
    rows
        (cells, columns) contribution of an item of each cell to the totals.
    count
        (cells,) number of items in each cell; 0 for cells that are possible and empty.
    statistic
        Coefficient to invert.
    """

    def __init__(self, rows: Floats, count: Floats, statistic: Statistic) -> None:
        self._n, self._cells = max(1.0, float(count.sum())), len(rows)
        self._quotient = statistic.quotient is not None
        if statistic.quotient is None:
            self._value, self._columns = statistic.value, rows.shape[1]
            self._used = np.flatnonzero((rows != 0).any(axis=0))
            self._rows = rows[:, self._used]
        else:
            parts = np.column_stack([rows[:, part].sum(axis=1) for part in statistic.quotient])
            # A success and a failure are always possible.
            self._rows, self._columns = np.vstack([parts, [[1.0, 1.0], [0.0, 1.0]]]), 2
            self._value, self._used = _ratio, np.arange(2)
            count = np.append(count, [0.0, 0.0])
        self._count, self._seen = count, count > 0
        self._step = _STEP * np.abs(self._rows).max(axis=0, initial=0.0)
        self._start = count / self._n
        self.estimate = float(self._values((self._start @ self._rows)[None])[0])
        self.influence = np.zeros(self._cells) if math.isnan(self.estimate) else self._influence()

    @property
    def denominator(self) -> Floats | None:
        """Return the contribution (cells,) of an item of each cell to the denominator of a quotient."""
        return self._rows[: self._cells, 1] if self._quotient else None

    @property
    def standard_error(self) -> float:
        """Return the standard error of the estimate for independent items, from their influences."""
        return math.sqrt(float(self._start[: self._cells] @ self.influence**2) / self._n)

    def interval(self, critical: float) -> tuple[float, float]:
        """Return the ends of the values whose statistic is at most the square of ``critical``."""
        kinds = self._binomial()
        if kinds is None:
            return self._end(-1, critical), self._end(1, critical)
        success, failure, trials, successes = kinds
        low, high = proportion_interval(successes, trials, critical, near_none=success == failure)
        low, high = (
            share * success / (share * success + (1 - share) * failure) if share > 0 else 0.0
            for share in (low, high)
        )
        return min(low, self.estimate), max(high, self.estimate)

    def end_near_1(self, critical: float, effect: float = 1.0) -> float:
        """Return the upper end that one to three items with errors need, as for a proportion.

        An item has errors if the coefficient of this item alone is less than 1. The loss, which is 1 less the
        coefficient, has the smallest value of the items' failure rate in its own units. For kappa, this is
        the loss of raw agreement over that of agreement by chance. Dependent items count less, by ``effect``.
        """
        own = self._values(self._rows[: self._cells] / self._n)
        count = self._count[: self._cells]
        failures = float(count @ (own < 1 - _NEAREST)) / effect
        trials = self._n if self.denominator is None else float(count @ (self.denominator > 0))
        return 1 - (1 - self.estimate) * _least_rate(failures, trials / effect, critical)

    def _binomial(self) -> tuple[float, float, float, float] | None:
        """Return contributions, trials and successes of a quotient with two kinds of items."""
        if not self._quotient:
            return None
        (above, below), count = self._rows[: self._cells].T, self._count[: self._cells]
        right, wrong = (below > 0) & (above == below), (below > 0) & (above == 0)
        added, missed = np.unique(below[right]), np.unique(below[wrong])
        if (right | wrong).sum() < (below > 0).sum() or max(len(added), len(missed)) > 1:
            return None
        success = float(added[0]) if len(added) else float(missed[0])
        failure = float(missed[0]) if len(missed) else success
        return success, failure, float(count[right | wrong].sum()), float(count[right].sum())

    def _influence(self) -> Floats:
        influence = self._linear(self._start)[0][: self._cells]
        if not self._quotient:
            influence[np.abs(influence) < _NEAREST] = 0.0
        return influence

    def _values(self, means: Floats) -> Floats:
        totals = np.zeros((len(means), self._columns))
        totals[:, self._used] = means * self._n
        return self._value(totals)

    def _linear(self, share: Floats) -> tuple[Floats, float]:
        """Return the influence (cells,) of an item, with mean 0 under ``share``, and the coefficient."""
        mean = share @ self._rows
        if self._quotient:
            value = float(mean[0] / mean[1])
            return (self._rows[:, 0] - value * self._rows[:, 1]) / float(mean[1]), value
        columns = len(mean)
        moved = np.repeat(mean[None], 2 * columns + 1, axis=0)
        place = np.arange(columns)
        below = np.maximum(mean - self._step, 0.0)
        moved[place, place], moved[columns + place, place] = mean + self._step, below
        values = self._values(moved)
        slope = (values[:columns] - values[columns:-1]) / (mean + self._step - below)
        slope[np.isnan(slope)] = 0.0
        return self._rows @ slope - mean @ slope, float(values[-1])

    def _end(self, side: int, critical: float) -> float:
        """Return the most extreme value over the probabilities that the test does not reject."""
        room, best = critical**2 / self._n, self.estimate
        for share in self._starts(side, room):
            best = side * max(side * best, self._climb(side, room, share))
        return best if abs(best - self.estimate) > _NEAREST else self.estimate

    def _starts(self, side: int, room: float) -> list[Floats]:
        """Return probabilities to start from, without those that the test rejects."""
        # The coefficient may have several local extremes, or jump where an empty cell gets probability.
        empty = np.flatnonzero(~self._seen)
        if not len(empty):
            return [self._start]
        rests = [part * room / (1 + room) for part in _PARTS]
        starts = [(1 - rest) * self._start + rest * ~self._seen / len(empty) for rest in rests]
        if self._n < _FEW:
            alone = (1 - rests[-1]) * self._start + rests[-1] * np.eye(len(self._start))[empty]
            value = np.nan_to_num(side * self._values(alone @ self._rows), nan=-np.inf)
            starts.extend(alone[np.argsort(-value, kind="stable")[:3]])
        return starts

    def _climb(self, side: int, room: float, share: Floats) -> float:
        """Return the greatest value, times ``side``, that is found from probabilities ``share``."""
        empty, past, now = ~self._seen, [share], -math.inf
        # Every step stays among the probabilities that are not rejected, so the value is valid even if the
        # search ends early.
        for _ in range(_MOST_ITERATIONS):
            influence, value = self._linear(share)
            if math.isnan(value):
                break
            gain, before = side * influence, side * value
            toward = self._extreme(gain, room) - share
            now = before
            if float(gain @ toward) > _NEAREST / 2:
                share, now = self._search(side, share, toward, _STEPS, now)
            given = empty & (share > 1e-9)
            if given.any():
                # Pearson's statistic does not change if one empty cell gives its probability to another.
                swap, worst = np.zeros(len(share)), int(np.argmin(np.where(given, gain, np.inf)))
                swap[worst] -= share[worst]
                swap[np.argmax(np.where(empty, gain, -np.inf))] += share[worst]
                if float(gain @ swap) > _NEAREST / 2:
                    share, now = self._search(side, share, swap, _STEPS, now)
            # Steps that alternate between two directions have their sum as a third.
            for earlier in past[-3:-1]:
                move = share - earlier
                share, now = self._search(side, share, move, self._allowed(share, move, room), now)
            past.append(share)
            if now - before < _NEAREST / 20:
                break
        return now

    def _extreme(self, gain: Floats, room: float) -> Floats:
        """Return the probabilities with the greatest mean of ``gain`` that the test does not reject."""
        from scipy.optimize import brentq

        own, start = gain[self._seen], self._start[self._seen]
        top = float(gain.max())
        spread = top - float(own.min())
        if spread <= 0:
            return self._start
        short = (top - own) / spread

        def root_of(more: float) -> Floats:
            root: Floats = np.sqrt(short + more)
            return root

        def left(more: float) -> float:
            """Return how far the statistic is below its limit, in a scale that is almost linear."""
            root = root_of(more)
            statistic = float((start / root).sum()) * float(start @ root) - 1
            return 1 / math.sqrt(max(statistic, 1e-300)) - 1 / math.sqrt(room)

        share = np.zeros(len(gain))
        least = 0.0 if short.min() > 1e-12 else 1e-18
        if least == 0.0 and left(0.0) > 0:
            # The empty cells with the greatest gain take the rest.
            share[self._seen] = start / root_of(0.0) * float(start @ root_of(0.0)) / (1 + room)
            best = ~self._seen & (gain >= top - 1e-9 * spread)
            share[best] = max(0.0, 1 - float(share.sum())) / best.sum()
            return share
        most = 1.0
        while left(most) < 0:
            most *= 4
        more = least if left(least) >= 0 else brentq(left, least, most, xtol=1e-300, rtol=1e-10)
        fitted = start / root_of(more)
        share[self._seen] = fitted / fitted.sum()
        return share

    def _search(
        self, side: int, share: Floats, move: Floats, steps: Floats, value: float
    ) -> tuple[Floats, float]:
        """Return the best of the probabilities at some steps of a move, and its value times ``side``."""
        mean, change = share @ self._rows, move @ self._rows

        def values(steps: Floats) -> Floats:
            signed = side * self._values(np.maximum(mean + steps[:, None] * change, 0.0))
            return np.where(np.isnan(signed), -np.inf, signed)

        if not len(steps):
            return share, value
        objective = np.append(value, values(steps))
        steps = np.append(0.0, steps)
        best = int(np.argmax(objective))
        step, value = float(steps[best]), float(objective[best])
        near = slice(best - 1, best + 2)
        if 0 < best < len(steps) - 1 and np.isfinite(objective[near]).all():
            # The top of the parabola through the best step and its neighbors.
            x, y = steps[near], objective[near]
            first, second = np.diff(y) / np.diff(x)
            top = (x[0] + x[1]) / 2 - first * (x[2] - x[0]) / (2 * (second - first))
            higher = float(values(np.array([top]))[0])
            if higher > value:
                step, value = float(top), higher
        return share + step * move, value

    def _allowed(self, share: Floats, move: Floats, room: float) -> Floats:
        """Return steps further along a move to probabilities that the test does not reject."""
        moved = share + _FURTHER[:, None] * move
        own = moved[:, self._seen]
        possible = (moved >= 0).all(axis=1) & (own > 0).all(axis=1)
        statistic = (self._start[self._seen] ** 2 / np.where(own > 0, own, 1.0)).sum(axis=1) - 1
        allowed: Floats = _FURTHER[possible & (statistic <= room)]
        return allowed


def _ratio(totals: Floats) -> Floats:
    unknown = np.full(len(totals), np.nan)
    ratio: Floats = np.divide(totals[:, 0], totals[:, 1], out=unknown, where=totals[:, 1] > 0)
    return ratio
