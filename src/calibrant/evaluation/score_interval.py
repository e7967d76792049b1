"""Intervals that invert a goodness-of-fit test, for any coefficient of the counts of items in cells.

Items fall into cells, such as the pairs of labels that two annotators give. For each value that a coefficient
may have, the solver finds the most likely cell probabilities that give the coefficient this value. Pearson's
statistic compares the counts with them, and the interval contains the values that the test does not reject.
For a proportion this is Wilson's interval. For kappa it is the test of Donner and Eliasziw (1992), with the
nuisance probabilities estimated under each value instead of held at their estimates. Cells without items may
have probability, so the interval exists where all annotators agree and where one item carries a rare label.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, Integers, proportion
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.metrics.tails import cr2, critical_value, effective_number, few_clusters

Value = Callable[[Floats], Floats]
ONE_UNIT = "an interval needs two items or more"
ONE_CLUSTER = "an interval needs two clusters or more"
ONE_CARRIES = "an interval needs two clusters or more with items that the estimate depends on"
ALIKE = "the items are too much alike for an interval"
_STEP = 1e-6  # of the numerical derivative, in units of the largest entry of a column
_MOST_ITERATIONS = 60
_NEAREST = 2e-6  # precision of the ends
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
    """

    value: Value
    undefined: str = "it is 0 / 0"
    quotient: tuple[Integers, Integers] | None = None
    warning: str | None = None


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


def with_possible(rows: Floats, count: Integers, equal: Floats) -> Floats:
    """Merge the empty cells of a kind (agreement or disagreement), if all cells of that kind are empty.

    The best probabilities are not unique if several empty cells fit equally well. If all annotators agree,
    the merged cell is the mean of the cells with the smallest proportion of equal labels, which gives the
    widest interval.
    """
    found = rows.copy()
    for kind in (equal == 1, equal < 1):
        if kind.any() and not count[kind].any():
            found[kind] = rows[equal == equal[kind].min()].mean(axis=0)
    return found


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
    low, high = fit.interval(critical_value(level, freedom, "two-sided") * root)
    if low == high:
        return IntervalEstimate(fit.estimate, reason=ALIKE, level=level, units=units)
    error = fit.standard_error * root
    return IntervalEstimate(fit.estimate, low, high, error, warning=warning, level=level, units=units)


def proportion_interval(
    successes: float, trials: float, critical: float, *, near_none: bool = True
) -> tuple[float, float]:
    """Compute Wilson's interval of a proportion, with a modified end for one to three failures or successes.

    There, Wilson's interval covers too little for any number of items. The modification is that of
    Brown, Cai and DasGupta (2001), Interval estimation for a binomial proportion, Statistical Science 16.
    """
    from scipy.special import chdtri, ndtr

    share, square = successes / trials, critical**2 / trials
    center = (share + square / 2) / (1 + square)
    half = math.sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    low, high = max(0.0, center - half), min(1.0, center + half)
    most = (2 if trials <= 50 else 3) if near_none else 0
    confidence = 1 - 2 * ndtr(-critical)
    if 1 <= successes <= most:
        low = min(low, float(chdtri(2 * successes, confidence)) / (2 * trials))
    if 1 <= trials - successes <= most:
        high = max(high, 1 - float(chdtri(2 * (trials - successes), confidence)) / (2 * trials))
    return low, high


class GoodnessOfFit:
    """Pearson's statistic for each value of a coefficient.

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
        used = (rows != 0).any(axis=0)
        self._columns, self._used = rows.shape[1], np.flatnonzero(used)
        self._n, self._count, self._seen = max(1.0, float(count.sum())), count, count > 0
        self._rows, self._value = rows[:, used], statistic.value
        self._quotient: tuple[Floats, Floats] | None = None
        if statistic.quotient is not None:
            above, below = statistic.quotient
            self._quotient = rows[:, above].sum(axis=1), rows[:, below].sum(axis=1)
        self._step = _STEP * np.abs(self._rows).max(axis=0, initial=0.0)
        self._start = count / self._n
        self._tilted = 0.0
        self.estimate = float(self._values(self._start[None] @ self._rows)[0])
        self.influence = np.zeros(len(rows)) if math.isnan(self.estimate) else self._influence()

    @property
    def denominator(self) -> Floats | None:
        """Return the contribution (cells,) of an item of each cell to the denominator of a quotient."""
        return None if self._quotient is None else self._quotient[1]

    @property
    def standard_error(self) -> float:
        """Return the standard error of the estimate for independent items, from their influences."""
        return math.sqrt(float(self._start @ self.influence**2) / self._n)

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

    def _binomial(self) -> tuple[float, float, float, float] | None:
        """Return contributions, trials and successes of a quotient with two kinds of items."""
        if self._quotient is None:
            return None
        above, below = self._quotient
        right, wrong = (below > 0) & (above == below), (below > 0) & (above == 0)
        added, missed = np.unique(below[right]), np.unique(below[wrong])
        if (right | wrong).sum() < (below > 0).sum() or max(len(added), len(missed)) > 1:
            return None
        success = float(added[0]) if len(added) else float(missed[0])
        failure = float(missed[0]) if len(missed) else success
        return (
            success,
            failure,
            float(self._count[right | wrong].sum()),
            float(self._count[right].sum()),
        )

    def statistic(self, value: float, share: Floats | None = None) -> tuple[float, Floats]:
        """Return Pearson's statistic and the best probabilities; infinite if the value is impossible."""
        share = self._start if share is None else share
        if self._quotient is not None:
            gap = self._quotient[0] - value * self._quotient[1]
            # A success and a failure are always possible.
            least, greatest = min(float(gap.min()), -value), max(float(gap.max()), 1 - value)
            tilt = self._tilt(gap, least, greatest)
            return (math.inf if tilt is None else max(0.0, tilt * float(self._count @ gap))), share
        statistic, relax, move = math.inf, 1.0, np.zeros(0)
        for _ in range(_MOST_ITERATIONS):
            influence, now = self._linear(share)
            gap = influence + now - value
            tilt = self._tilt(gap, float(gap.min()), float(gap.max()))
            if tilt is None:
                return math.inf, share
            fitted = np.zeros(len(gap))
            fitted[self._seen] = self._start[self._seen] / (1 + tilt * gap[self._seen])
            # The rest of the probability is that of the empty cell that bounds the tilt.
            fitted[np.argmax(gap) if tilt < 0 else np.argmin(gap)] += max(0.0, 1 - float(fitted.sum()))
            before, statistic = statistic, max(0.0, tilt * float(self._count @ gap))
            last, move = move, fitted - share
            if np.abs(move).max() < _NEAREST or abs(statistic - before) < 1e-6 * (1 + statistic):
                return statistic, fitted
            if len(last):
                # Aitken's relaxation: longer steps where they shrink slowly, shorter where they alternate.
                turn = move - last
                relax = float(np.clip(-relax * (last @ turn) / max(float(turn @ turn), 1e-300), 0.02, 4.0))
            ahead = share + relax * move
            share = ahead if (ahead >= fitted / 10).all() else fitted
        close = abs(statistic - before) < 0.02 * (1 + statistic)
        return (max(statistic, before) if close else math.inf), share

    def _influence(self) -> Floats:
        if self._quotient is not None:
            above, below = self._quotient
            return (above - self.estimate * below) / float(self._start @ below)
        influence, _ = self._linear(self._start)
        influence[np.abs(influence) < _NEAREST] = 0.0
        return influence

    def _values(self, means: Floats) -> Floats:
        totals = np.zeros((len(means), self._columns))
        totals[:, self._used] = means * self._n
        return self._value(totals)

    def _linear(self, share: Floats) -> tuple[Floats, float]:
        """Return the influence (cells,) of an item, with mean 0 under ``share``, and the coefficient."""
        mean = share @ self._rows
        columns = len(mean)
        moved = np.repeat(mean[None], 2 * columns + 1, axis=0)
        place = np.arange(columns)
        below = np.maximum(mean - self._step, 0.0)
        moved[place, place], moved[columns + place, place] = mean + self._step, below
        found = self._values(moved)
        slope = (found[:columns] - found[columns:-1]) / (mean + self._step - below)
        slope[np.isnan(slope)] = 0.0
        return self._rows @ slope - mean @ slope, float(found[-1])

    def _tilt(self, gap: Floats, least: float, greatest: float) -> float | None:
        """Return the multiplier of the constraint that the mean of ``gap`` is 0; None if it cannot be met."""
        if not least < 0 < greatest:
            return None
        low, high = -1 / greatest, -1 / least
        own, count = gap[self._seen], self._count[self._seen]
        # An empty cell may bound the multiplier before the constraint is met; it then takes the rest.
        if float(own.max()) < greatest * (1 - 1e-9) and float(count @ (own / (1 + low * own))) < 0:
            return low
        if float(own.min()) > least * (1 - 1e-9) and float(count @ (own / (1 + high * own))) > 0:
            return high
        tilt = self._tilted if low < self._tilted < high else 0.0
        for _ in range(200):
            share = own / (1 + tilt * own)
            error = float(count @ share)
            low, high = (tilt, high) if error > 0 else (low, tilt)
            new = tilt + error / float(count @ share**2)
            if not low < new < high:
                new = (low + high) / 2
            done, tilt = abs(new - tilt) <= 1e-11 * abs(new) or high - low <= 1e-11 * abs(new), new
            if done:
                break
        self._tilted = tilt
        return tilt

    def _end(self, side: int, critical: float) -> float:
        """Follow the best probabilities away from the estimate until the test rejects."""
        self._tilted = 0.0
        inside, root, share = self.estimate, 0.0, self._start
        step = critical * self.standard_error / 4 if self.standard_error > 1e-6 else 0.02
        rejected = math.inf  # the nearest value found so far that the test rejects, and its root
        beyond = math.inf
        while step > _NEAREST:
            value = inside + side * step
            statistic, found = self.statistic(value, share)
            new = math.sqrt(statistic)
            if new > critical:
                rejected, beyond = abs(value - self.estimate), new
            else:
                slope = (new - root) / step
                inside, root, share = value, new, found
                step = min(
                    2 * step, max(critical / 4, 1.02 * (critical - root)) / slope if slope > 0 else step
                )
                if root > critical * (1 - 1e-5):
                    break
            room = rejected - abs(inside - self.estimate)
            if math.isfinite(beyond):
                step = room * min(0.9, max(0.1, (critical - root) / max(beyond - root, 1e-12)))
                step = max(step, min(room / 2, 2 * _NEAREST)) if room > 2 * _NEAREST else 0.0
            elif math.isfinite(rejected):
                step = min(step, room / 2)
        return inside
