"""Sequential monitoring of a deployed model's calibration: evidence by betting, valid at every look.

The wealth of the bets is a martingale under the null. By Ville's inequality the probability that the evidence
ever reaches 1 / alpha is at most alpha, however often you look. This holds under the condition of the unit
(`CONDITIONS`), which every record names.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from msgspec import to_builtins
from numpy.typing import ArrayLike, NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers, Pairs, decoded
from calibrant.evaluation._kernels import betting as kernels
from calibrant.evaluation.monitor_checks import (
    VERSION,
    Day,
    MonitorState,
    Returns,
    Unit,
    check_evidence,
    check_state,
    checked_day,
    checked_edges,
    persistent_errors,
)
from calibrant.evaluation.persistent import PersistentDays
from calibrant.evaluation.results.monitoring import MonitoredDay, Monitoring
from calibrant.exceptions import InputError
from calibrant.metrics.intervals import error_interval
from calibrant.metrics.streaming import check_version, restored
from calibrant.records import Quantity
from calibrant.results.intervals import ErrorInterval

__all__ = ["CalibrationMonitor", "MonitorState", "Unit"]

CASH = 0.5  # of the wealth at the start, kept for changes that come later
REFERENCE_SHARE = 0.5  # fraction of alpha: the risk that the bounds from the reference are wrong
NEVER_CALIBRATED = (
    "the labels depart from the scores. A model that was never calibrated always raises this alarm, even if "
    "nothing changes: recalibrate it, or compare with a reference period"
)
CONDITIONS = {
    "day": "the errors of a window do not depend on those of earlier windows (labels of one window may "
    "depend on each other in any way); effects that persist break it: use the unit dependent-day",
    "cluster": "clusters are independent of each other and of earlier windows; no cluster has errors that "
    "persist",
    "item": "all labels are independent of each other and of earlier windows",
    "dependent-day": "the errors of windows are nearly a normal AR(1) process with a correlation of at most "
    "0.95 between adjacent windows, and noise; up to about 3 % of the windows may be off by any amount; the "
    "bound is checked by simulation and is not exact",
}
HAS_CHANGED = "labels depart from the scores by more than in the reference period"
NO_POWER = "the reference has too little evidence to detect a change in these regions: "
NO_TEST = (
    "nothing has been tested yet: windows are joined until the sum of q (1 - q) over their scores q reaches "
    "10, and scores of 0 and 1 add nothing. For such scores, use another unit"
)

EDGES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.98)
STRENGTHS = tuple(0.015 * 2.0**k for k in range(7))  # shares of the largest bet that cannot ruin
DAY_STRENGTHS = (0.15, 0.4, 0.8, 0.99)  # with one bet per day, smaller bets win nothing within years
SHAPES_SHARE = 0.5  # of the wealth, on directions that go over all regions
HALVINGS = 40
LEAST_LOSS = 0.01  # an upper bound may not promise more than this above what is possible


@dataclass(frozen=True)
class Bets:
    """Bets of a monitor, fixed before the first look.

    Attributes
    ----------
    edges
        Inner edges of the regions (low, high].
    weight
        (directions, regions) weight of the residuals, in [-1, 1].
    names
        Names of the directions.
    bound
        (2, regions) largest mean of y - q, and of q - y, that the null allows.
    loss
        (2, regions) largest distance of y - q, and of q - y, below 0.
    strength
        Fractions of the largest bet that cannot lose everything.
    log_prior
        (directions, strengths) log of the initial fractions of the wealth.
    """

    edges: Floats
    weight: Floats
    names: tuple[str, ...]
    bound: Floats
    loss: Floats
    strength: Floats
    log_prior: Floats


def bets_of(edges: Floats, bound: Floats, strengths: tuple[float, ...] = STRENGTHS) -> Bets:
    """Return bets on single regions and on all: scores too high or low, over- or underconfident."""
    ends = np.concatenate([[0.0], edges, [1.0]])
    regions = len(ends) - 1
    loss = np.array([ends[1:], 1 - ends[:-1]])
    shapes = {
        "frequencies above the scores": np.ones(regions),
        "frequencies below the scores": -np.ones(regions),
    }
    single: dict[str, Floats] = {}
    if regions > 1:
        slope = np.linspace(1.0, -1.0, regions)
        shapes |= {"scores overconfident": slope, "scores underconfident": -slope}
        for b in range(regions):
            place = f"scores from {ends[b]:.3g} to {ends[b + 1]:.3g}"
            single[f"frequency above {place}"] = np.eye(regions)[b]
            single[f"frequency below {place}"] = -np.eye(regions)[b]
    share = SHAPES_SHARE if single else 1.0
    prior = np.repeat([share / len(shapes), (1 - share) / max(1, len(single))], [len(shapes), len(single)])
    log_prior = np.repeat(np.log(prior / len(strengths))[:, None], len(strengths), axis=1)
    names = (*shapes, *single)
    weight = np.array([*shapes.values(), *single.values()])
    least = np.maximum(bound, LEAST_LOSS - loss)
    return Bets(edges, weight, names, least, loss, np.array(strengths), log_prior)


def regions_of(score: NDArray[np.floating], edges: Floats) -> Integers:
    """Return the region (low, high] of each score; 0 is in the first."""
    return np.searchsorted(edges, score.astype(np.float64), side="left")


def sums_by_group(
    residual: Floats, score: Floats, region: Integers, group: Integers, regions: int
) -> tuple[Floats, Floats, Floats]:
    """Return (groups, regions) sums of residuals and of scores, and counts."""
    shape = int(group.max()) + 1, regions
    cell = group * regions + region
    total, scores, count = (
        np.bincount(cell, weights, minlength=shape[0] * regions).astype(np.float64).reshape(shape)
        for weights in (residual, score, None)
    )
    return total, scores, count


def reference_bounds(total: Floats, count: Floats, edges: Floats, risk: float) -> Floats:
    """Return (2, regions) simultaneous upper bounds on the means of y - q and q - y, wrong with this risk.

    A bound is the smallest mean that bets reject (Waudby-Smith & Ramdas 2024). Groups have to be independent;
    the labels within a group need not be.
    """
    ends = np.concatenate([[0.0], edges, [1.0]])
    largest = np.array([1 - ends[:-1], ends[1:]])
    bound = largest.copy()
    for b in range(len(ends) - 1):
        there = count[:, b] > 0
        mean = total[there, b] / count[there, b]
        for side, sign in enumerate((1.0, -1.0)):
            bound[side, b] = upper_bound(sign * mean, float(largest[side, b]), risk / (2 * len(ends) - 2))
    return bound


def upper_bound(mean: Floats, largest: float, risk: float) -> float:
    """Return the smallest m that a mixture of bets on ``m - mean`` rejects at this risk, or ``largest``."""
    low, high = -1.0, largest
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _log_wealth(mean, middle, largest) >= math.log(1 / risk):
            high = middle
        else:
            low = middle
    return high


def _log_wealth(mean: Floats, bound: float, largest: float) -> float:
    gain = (bound - mean) / max(largest - bound, 1e-12)
    by_strength = np.array([np.log1p(strength * np.maximum(gain, -1.0)).sum() for strength in STRENGTHS])
    return float(np.logaddexp.reduce(by_strength)) - math.log(len(STRENGTHS))


class CalibrationMonitor:
    """Monitor that raises an alarm if labels depart from the scores, and rarely a false one.

    The null is, for every label of a day: *given all labels of earlier days and the scores of the day, its
    mean is its score* (``E[y - q] = 0``; with ``epsilon``, its mean is within epsilon of it). Against a
    reference (`against_reference`): given the past and the regions of the day's scores, the mean of y - q in
    each region, and of q - y, is at most that of the reference period plus ``epsilon``.

    Without restarts, P(an alarm is ever raised) <= alpha under the null. This needs a condition per unit:

    - ``unit="day"``: the errors of a day do not depend on those of earlier days. Labels of one day may depend
      on each other in any way; the bet is on the day's mean. Evidence grows slowly, whatever the number of
      items: a day with a mean error of d multiplies it by at most 1 + d / (mean score), or for scores that
      are too high by 1 + d / (1 - mean score), in any test with the same guarantee. Day effects that persist
      break the condition: with an AR(1) coefficient of 0.9, 66 to 97 % of streams had a false alarm.
    - ``unit="dependent-day"``: the errors of days may persist. They are modeled in log-odds as a stationary
      AR(1) process with noise, whose coefficient (up to 0.95) and variances are unknown; a change is a shift
      of the mean that this process does not explain. Up to about 3 % of the days may be outliers of any size,
      so that a large change needs a few days to be detected. Days are joined until their sum of q (1 - q)
      reaches 10, so that errors are nearly normal; the bound is checked by simulation. Small changes that
      resemble a persistent error are detected late or never. ``epsilon`` has to be 0.
    - ``unit="cluster"``: clusters (named at each update) are independent of each other given the past; labels
      within a cluster may depend in any way. A cluster that continues over several days with its specific
      errors breaks the null: use ``"dependent-day"``. A warning tells how many clusters return.
    - ``unit="item"``: labels are independent given the past.

    *Late labels*: a day is the day on which labels arrive. The bound holds if, given the score and the past,
    the delay of a label does not depend on its value. If positive labels arrive sooner than negative ones, it
    does not hold: wait until all labels of a day have arrived.

    Parameters
    ----------
    alpha
        Bound on the probability of any false alarm; with ``restart``, one divided by the mean number of looks
        until a false alarm.
    unit
        Unit that is independent given the past; with ``"dependent-day"``, none is.
    epsilon
        Largest mean error that the null tolerates.
    edges
        Inner edges of the regions of scores with separate bets, ascending, between 0 and 1.
    restart
        Start again after each alarm, and restore bets that have lost: later changes are detected sooner. The
        guarantee is then another one: under the null, at least 1 / alpha looks on average until the next
        alarm (Shin, Ramdas & Rinaldo 2024).

    References
    ----------
    S. Arnold, A. Henzi, J. Ziegel (2023), Sequentially valid tests for forecast calibration, Annals of
    Applied Statistics 17(3). A. Podkopaev, A. Ramdas (2022), Tracking the risk of a deployed model and
    detecting harmful distribution shifts, ICLR, arXiv:2110.06177. I. Waudby-Smith, A. Ramdas (2024),
    Estimating means of bounded random variables by betting, JRSS B 86(1). J. Shin, A. Ramdas, A. Rinaldo
    (2024), E-detectors: a nonparametric framework for sequential change detection, NEJSDS 2(2). L. Wasserman,
    A. Ramdas, S. Balakrishnan (2020), Universal inference, PNAS 117(29), for ``"dependent-day"``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> monitor = CalibrationMonitor(alpha=0.01, unit="item")
    >>> for day in range(30):
    ...     score = rng.random(200)
    ...     fault = 0.15 if day >= 20 else 0.0
    ...     row = monitor.update(day, rng.random(200) < score - fault, score)
    >>> monitor.result().alarms, row.leading
    ((20,), 'frequencies below the scores')
    """

    _log_cash: float
    _log_wealth: Floats
    _returns: Returns

    def __init__(
        self,
        *,
        alpha: float = 0.01,
        unit: Unit = "day",
        epsilon: float = 0.0,
        edges: Sequence[float] = EDGES,
        restart: bool = False,
    ) -> None:
        self.alpha = _checks.proportion(alpha, "alpha", such_as=0.01)
        _checks.one_of(unit, get_args(Unit), "unit")
        self.unit: Unit = unit
        self.epsilon = _checks.non_negative(epsilon, "epsilon")
        if self.epsilon >= 1:
            message = f"epsilon is {epsilon!r}, but a mean error is never above 1"
            raise InputError(message, "give a number below 1, such as 0.02", code="parameter")
        if self.epsilon and unit == "dependent-day":
            message = "epsilon has to be 0 where days depend on each other"
            raise InputError(message, "compare with a reference period instead", code="parameter")
        self.restart = bool(restart)
        self.against = "calibrated"
        inner = checked_edges(edges)
        self._set(inner, np.zeros((2, len(inner) + 1)))

    @classmethod
    def against_reference(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        days: ArrayLike | None = None,
        clusters: ArrayLike | None = None,
        regions: int = 5,
        alpha: float = 0.01,
        unit: Unit = "day",
        epsilon: float = 0.0,
        restart: bool = False,
    ) -> CalibrationMonitor:
        """Make a monitor that tests whether errors are larger than in a reference period.

        Its regions contain equal numbers of the reference's scores; scores of 0, or of 1, are one region if
        they are too many for that. Half of alpha is the risk that a bound from the reference is wrong; the
        bounds are valid for any number of groups, and wide for few.

        Parameters
        ----------
        y_true, y_prob
            (n,) labels 0 / 1 and scores of the reference period, which is before the first update.
        days
            (n,) days; needed with ``unit="day"`` and ``unit="dependent-day"``.
        clusters
            (n,) clusters; needed with ``unit="cluster"``.
        regions
            Number of regions of scores.
        alpha, unit, epsilon, restart
            As in the class.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> score = rng.random(5000)
        >>> label = rng.random(5000) < score**2  # never calibrated
        >>> monitor = CalibrationMonitor.against_reference(label, score, unit="item", alpha=0.05)
        >>> for day in range(50):
        ...     score = rng.random(200)
        ...     row = monitor.update(day, rng.random(200) < score**2, score)
        >>> row.alarm
        False
        """
        new = cls(alpha=alpha, unit=unit, epsilon=epsilon, restart=restart)
        pairs = _checks.pairs(y_true, y_prob)
        parts = _checks.positive_integer(regions, "regions")
        score = pairs.score.astype(np.float64)
        ends = score.min(where=score > 0, initial=2.0) / 2, score.max(where=score < 1, initial=0.0)
        grid = np.quantile(score, np.arange(1, parts) / parts)
        grid = np.select([grid == 0, grid == 1], ends, grid)  # many scores of 0, or of 1, are one region
        edges = np.unique(grid[(grid > 0) & (grid < 1)])
        kind = unit.removeprefix("dependent-")
        names = {"day": days, "cluster": clusters, "item": np.arange(len(pairs))}[kind]
        if names is None:
            hint = f"name the {kind} of each pair: {kind}s=..."
            raise InputError(f"a reference by {kind} needs its {kind}s", hint, code="cluster")
        group = _checks.cluster_codes(names, f"{kind}s")[0]
        _checks.same_length(f"{kind}s", len(group), "y_prob", len(pairs))
        total, _, count = _sums(pairs, edges, group)
        new.against = "reference"
        if unit == "dependent-day":
            new._set(edges, np.zeros((2, len(edges) + 1)))
            for errors, known in zip(total, _informations(pairs, edges, group), strict=True):
                new._persistent.add(errors, known, watched=False)
        else:
            new._set(edges, reference_bounds(total, count, edges, REFERENCE_SHARE * new.alpha))
        return new

    @property
    def threshold(self) -> float:
        """E-value at which an alarm is raised."""
        return 1 / (self.alpha if self.restart else self.alpha - self._risk)

    @property
    def _risk(self) -> float:
        """Fraction of alpha that is spent on bounds from the reference."""
        bounded = self.against == "reference" and self.unit != "dependent-day"
        return REFERENCE_SHARE * self.alpha if bounded else 0.0

    def update(
        self, day: Day, y_true: ArrayLike, y_prob: ArrayLike, *, clusters: ArrayLike | None = None
    ) -> MonitoredDay:
        """Add all labels that arrived on a day; invalid input changes nothing.

        Parameters
        ----------
        day
            A date, text or number after the last day (write dates as YYYY-MM-DD; v2 comes before v10).
            Omit days without labels.
        y_true, y_prob
            (n,) labels 0 / 1 and scores.
        clusters
            (n,) clusters; needed with ``unit="cluster"``. Otherwise they only affect the day's interval.

        Raises
        ------
        InputError
            A value is invalid, clusters are missing, or the day is not after the last one.
        """
        name = checked_day(day, [past.day for past in self._days])
        pairs = _checks.pairs(y_true, y_prob, clusters=clusters)
        group = self._groups(pairs)
        bets = self._bets
        sums = _sums(pairs, bets.edges, group)
        interval = error_interval(pairs)
        if self.unit == "cluster" and clusters is not None:
            self._returns = self._returns.after(_checks.cluster_codes(clusters)[1].tolist())
        if self.unit == "dependent-day":
            self._persistent.add(sums[0][0], _informations(pairs, bets.edges, group)[0])
        else:
            kept = self._log_cash, self._log_wealth, self._looks, self.restart
            self._log_cash, _ = look(sums, bets, *kept)
        row = self._looked(name, pairs, len(sums[0]), interval)
        self._days.append(row)
        return row

    def result(self) -> Monitoring:
        """Return the record of all days so far."""
        warnings = {}
        if self._alarms:
            warnings["alarm_warning"] = NEVER_CALIBRATED if self.against == "calibrated" else HAS_CHANGED
        blind = self._bets.bound - self.epsilon >= self._bets.loss[::-1] - 1e-9
        if self._risk and blind.any():
            regions = ", ".join(str(b + 1) for b in np.flatnonzero(blind.any(axis=0)))
            warnings["power_warning"] = NO_POWER + regions
        if self.unit == "dependent-day":
            if self._days and not (self._alarms or self._persistent.tested):
                warnings["power_warning"] = NO_TEST
        elif (warning := self._returns.warning() or self._persistence()) is not None:
            warnings["persistence_warning"] = warning
        return Monitoring(
            against=self.against,
            alpha=self.alpha,
            unit=self.unit,
            condition=CONDITIONS[self.unit],
            epsilon=self.epsilon,
            restart=self.restart,
            threshold=math.log10(self.threshold),
            edges=tuple(self._bets.edges.tolist()),
            bound_above=tuple(self._bets.bound[0].tolist()),
            bound_below=tuple(self._bets.bound[1].tolist()),
            days=tuple(self._days),
            alarms=tuple(self._alarms),
            **warnings,
        )

    def to_state(self) -> dict[str, Any]:
        """Return the state as plain values for JSON."""
        return {
            "version": VERSION,
            "against": self.against,
            "alpha": self.alpha,
            "unit": self.unit,
            "epsilon": self.epsilon,
            "restart": self.restart,
            "edges": self._bets.edges.tolist(),
            "bound": (self._bets.bound - self.epsilon).tolist(),
            "looks": self._looks,
            "log_cash": _written(self._log_cash),
            "log_wealth": [[_written(value) for value in row] for row in self._log_wealth.tolist()],
            "largest": _written(self._largest),
            "persistent": self._persistent.to_state() if self.unit == "dependent-day" else None,
            "alarms": list(self._alarms),
            "days": [day.to_dict() for day in self._days],
            "returns": to_builtins(self._returns),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any] | MonitorState) -> CalibrationMonitor:
        """Return the monitor that `to_state` was called on, ready for the next day.

        Examples
        --------
        >>> monitor = CalibrationMonitor(unit="item")
        >>> _ = monitor.update("2026-11-20", [0, 1], [0.2, 0.9])
        >>> CalibrationMonitor.from_state(monitor.to_state()).result().days[0].n
        2
        """
        if not isinstance(state, MonitorState):
            check_version(state, VERSION)
        return restored(lambda: cls._from_state(decoded(state, MonitorState)))

    @classmethod
    def _from_state(cls, state: MonitorState) -> CalibrationMonitor:
        new = cls(
            alpha=state.alpha,
            unit=state.unit,
            epsilon=state.epsilon,
            edges=state.edges,
            restart=state.restart,
        )
        new.against = state.against
        new._set(checked_edges(state.edges), np.array(state.bound))
        if new.unit == "dependent-day":
            if state.persistent is None:
                raise ValueError("$.persistent: days that depend on each other need it")
            new._persistent.take(state.persistent)
        wealth = np.array([[_read(value) for value in row] for row in state.log_wealth], np.float64)
        check_state(state, wealth, new._log_wealth.shape)
        new._log_wealth, new._log_cash = wealth, _read(state.log_cash)
        new._looks, new._largest = state.looks, _read(state.largest)
        new._alarms, new._days, new._returns = list(state.alarms), list(state.days), state.returns
        check_evidence(state, new._evidence(), new._largest, new.threshold)
        return new

    def _set(self, edges: Floats, bound: Floats) -> None:
        """Set all wealth to its value before the first look."""
        strengths = DAY_STRENGTHS if self.unit == "day" else STRENGTHS
        self._bets: Bets = bets_of(edges, bound + self.epsilon, strengths)
        prior = np.exp(np.logaddexp.reduce(self._bets.log_prior, axis=1))
        self._persistent = PersistentDays(
            self._bets.weight[::2], prior[::2] + prior[1::2], centred=self.against == "reference"
        )
        self._days: list[MonitoredDay] = []
        self._alarms: list[str | int] = []
        self._looks = 0
        self._returns = Returns()
        self._start()

    def _start(self) -> None:
        self._log_cash, self._log_wealth = start(self._bets, self.restart)
        self._persistent.restart()
        self._largest = -math.inf if self.restart else 0.0

    def _groups(self, pairs: Pairs) -> NDArray[np.int64]:
        if self.unit in ("day", "dependent-day"):
            return np.zeros(len(pairs), np.int64)
        if self.unit == "item":
            return np.arange(len(pairs))
        if pairs.cluster is None:
            hint = "name the clusters, or use unit='day'"
            raise InputError("a monitor by cluster needs clusters", hint, code="cluster")
        return pairs.cluster

    def _persistence(self) -> str | None:
        """Warn if errors persist over the days up to the first alarm."""
        # After a change of the model, errors always persist.
        until = next((place + 1 for place, day in enumerate(self._days) if day.alarm), len(self._days))
        days = self._days[:until]
        error = np.array([day.frequency - day.score for day in days])
        return persistent_errors(error, np.array([day.n for day in days], np.float64))

    def _evidence(self) -> float:
        """Return the log of the e-value."""
        if self.unit == "dependent-day":
            return self._persistent.log_e
        return float(kernels.log_sum(self._log_wealth, self._log_cash))

    def _leading(self) -> str:
        """Return the direction with the most evidence."""
        if self.unit == "dependent-day":
            best, above = self._persistent.leading
            return self._bets.names[2 * best + (not above)]
        by_direction = np.logaddexp.reduce(self._log_wealth, axis=1)
        gain = by_direction - np.logaddexp.reduce(self._bets.log_prior, axis=1)
        return self._bets.names[int(np.argmax(gain))]

    def _looked(self, name: str | int, pairs: Pairs, groups: int, interval: ErrorInterval) -> MonitoredDay:
        """Record the evidence after a look, and raise an alarm if it reaches the threshold."""
        self._looks += 1
        evidence = self._evidence()
        self._largest = largest = max(self._largest, evidence)
        raised = evidence >= math.log(self.threshold) and (self.restart or not self._alarms)
        leading = self._leading() if evidence > 0 else None
        p_value = None if self.restart else min(1.0, math.exp(-largest) + self._risk)
        if raised:
            self._alarms.append(name)
            if self.restart:
                self._start()
        return MonitoredDay(
            day=name,
            n=len(pairs),
            groups=groups,
            score=float(pairs.score.mean(dtype=np.float64)),
            frequency=float(pairs.label.mean()),
            log10_e=evidence / math.log(10),
            log10_largest=largest / math.log(10),
            p_value=p_value,
            alarm=raised if self.restart else bool(self._alarms),
            leading=leading,
            error=Quantity(interval.estimate, interval.low, interval.high, reason=interval.reason),
        )


def start(bets: Bets, restart: bool) -> tuple[float, Floats]:
    """Return the logs of the cash and of the wealth in bets before the first look."""
    if restart:
        return -math.inf, np.full_like(bets.log_prior, -math.inf)
    return math.log(CASH), bets.log_prior + math.log(1 - CASH)


def look(
    sums: tuple[Floats, Floats, Floats], bets: Bets, cash: float, wealth: Floats, looks: int, restart: bool
) -> tuple[float, float]:
    """Change the log wealth in bets by one look after others; return the logs of the cash and of the e-value.

    ``sums`` are (groups, regions) sums of label minus score, of scores, and of items.
    """
    factor = np.empty_like(wealth)
    kernels.log_factors(*sums, bets.weight, bets.bound, bets.strength, factor)
    cash = kernels.invest(wealth, cash, bets.log_prior, looks, restart)
    wealth += factor
    return cash, float(kernels.log_sum(wealth, cash))


def _sums(pairs: Pairs, edges: Floats, group: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    score = pairs.score.astype(np.float64)
    return sums_by_group(pairs.label - score, score, regions_of(score, edges), group, len(edges) + 1)


def _informations(pairs: Pairs, edges: Floats, group: NDArray[np.int64]) -> Floats:
    """Return (groups, regions) sums of q (1 - q)."""
    score = pairs.score.astype(np.float64)
    region = regions_of(score, edges)
    return sums_by_group(score * (1 - score), score, region, group, len(edges) + 1)[0]


def _written(value: float) -> float | None:
    return None if value == -math.inf else float(value)


def _read(value: float | None) -> float:
    return -math.inf if value is None else value
