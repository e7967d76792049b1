"""Differences and trends of the estimates of groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from calibrant import _checks
from calibrant._checks import Floats, Integers, shown
from calibrant.estimation.results.groups import GroupDifference, GroupTrend
from calibrant.exceptions import InputError
from calibrant.metrics.multiplicity import adjusted_p_values
from calibrant.metrics.tails import critical_value, tail
from calibrant.records import Quantity

MOST_PAIRS = 45  # all pairs of 10 groups
FEWEST_PERIODS = 3  # of a trend
PAIR = 2
DUST = 1e-12


@dataclass(frozen=True)
class Groups:
    """Groups of documents, which may be periods of time.

    Attributes
    ----------
    names
        Names of the G groups.
    code
        (N,) code of each document's group.
    step
        Number of each group's period, in units of periods; None if groups are no periods.
    series
        Group of each period without its time; empty names if groups are only periods.
    """

    names: tuple[str, ...]
    code: Integers
    step: tuple[int, ...] | None = None
    series: tuple[str, ...] = field(default=())

    def pairs(self, known: Sequence[int], baseline: str | None) -> list[tuple[int, int]]:
        """Return the pairs to compare: with a baseline, consecutive periods, or all pairs of few groups."""
        if baseline is not None:
            if baseline not in self.names:
                message = f"no group is {shown(baseline)}"
                hint = f"the groups are {', '.join(self.names[:20])}"
                raise InputError(message, hint, code="parameter")
            first = self.names.index(baseline)
            return [(one, first) for one in known if one != first] if first in known else []
        if self.step is None:
            every = [(later, earlier) for earlier, later in combinations(known, 2)]
            return every if len(every) <= MOST_PAIRS else []
        return [
            (later, earlier)
            for name in dict.fromkeys(self.series)
            for earlier, later in pairwise(self.periods(name, known))
        ]

    def periods(self, series: str, known: Sequence[int]) -> list[int]:
        """Return the periods of one series in order of time."""
        assert self.step is not None
        step = self.step
        return sorted((one for one in known if self.series[one] == series), key=lambda one: step[one])


def groups_of(periods: ArrayLike | Groups | None, documents: int) -> Groups:
    """Return the groups of documents, from the name of each one's group."""
    if periods is None:
        return Groups(("all",), np.zeros(documents, np.int64))
    if not isinstance(periods, Groups):
        code, names = _checks.cluster_codes(periods, "periods")
        periods = Groups(tuple(map(str, names)), code)
    _checks.same_length("periods", len(periods.code), "scores", documents)
    return periods


class Part(NamedTuple):
    """Estimate of one group, with standard errors on both sides.

    Attributes
    ----------
    value
        The estimate.
    below, above
        Standard errors on both sides: distances from the ends of an interval with the normal critical value,
        in units of it.
    error
        Standard error at the estimate, without bias.
    freedom
        Degrees of freedom.
    influence
        (clusters,) influence of each cluster; None if the groups are independent of each other.
    """

    value: float
    below: float
    above: float
    error: float
    freedom: float
    influence: Floats | None = None


class Combined(NamedTuple):
    """Linear combination of estimates, with standard errors on both sides."""

    value: float
    below: float
    above: float
    freedom: float

    def interval(self, level: float) -> Quantity:
        """Return the combination with its interval."""
        t = critical_value(level, self.freedom, "two-sided")
        return Quantity(self.value, self.value - t * self.below, self.value + t * self.above)

    def p_value(self) -> float:
        """Return the p-value of Student's test that the combination is 0."""
        error = self.below if self.value > 0 else self.above
        if error <= DUST:
            return 1.0 if abs(self.value) <= DUST else 0.0
        return tail(self.value / error, self.freedom, "two-sided") or 0.0


def part_of(estimate: Quantity, level: float, units: float, influence: Floats | None) -> Part:
    """Return an estimate from its interval with the normal critical value and its standard error.

    Parameters
    ----------
    estimate
        Estimate, ends and standard error.
    level
        Level of the interval.
    units
        Effective number of labels or clusters.
    influence
        See `Part`.

    Examples
    --------
    >>> part = part_of(Quantity(0.5, 0.3, 0.7, 0.1), 0.95, 20.0, None)
    >>> round(part.below, 3), part.freedom
    (0.102, 19.0)
    """
    value, low, high = (float(end or 0) for end in (estimate.estimate, estimate.low, estimate.high))
    z, error = critical_value(level, math.inf, "two-sided"), float(estimate.standard_error or 0)
    return Part(value, (value - low) / z, (high - value) / z, error, max(1.0, units - 1), influence)


def combined(weights: Floats, parts: Sequence[Part], *, pooled: bool) -> Combined:
    """Return a weighted sum of estimates of groups.

    Each side of its interval has the variance that follows from the sides of the estimates' intervals which
    are in its direction, so that it keeps their asymmetry. A sum of more than two has at least the standard
    errors at the estimates: each group then deviates by less, and ends near those of the range are too near.
    Groups that have labels of the same clusters are correlated, by the influence of each cluster on both.

    Parameters
    ----------
    weights
        (G,) weights of the estimates.
    parts
        Estimates of the groups.
    pooled
        True if they share their variance, and its degrees of freedom.

    References
    ----------
    Zou, Huang and Zhang (2009), "A note on confidence interval estimation for a linear function of binomial
    proportions", Computational Statistics and Data Analysis 53.

    Examples
    --------
    >>> two = [Part(0.5, 0.03, 0.03, 0.03, 99.0), Part(0.3, 0.04, 0.04, 0.04, 99.0)]
    >>> print(combined(np.array([1.0, -1.0]), two, pooled=True).interval(0.95))
    0.2000 [0.1008, 0.2992]
    """
    value = float(sum(weight * one.value for weight, one in zip(weights, parts, strict=True)))
    size = np.abs(weights)
    sides = np.array([(one.below, one.above) for one in parts])
    if len(parts) > PAIR:
        sides = np.maximum(sides, np.array([one.error for one in parts])[:, None])
    errors = size[:, None] * np.where(weights[:, None] > 0, sides, sides[:, ::-1])
    correlation = _correlation([one.influence for one in parts])
    sign = np.sign(weights)
    variance = [
        float((errors[:, side] ** 2).sum())
        if correlation is None
        else float((sign * errors[:, side]) @ correlation @ (sign * errors[:, side]))
        for side in (0, 1)
    ]
    freedoms = np.array([one.freedom for one in parts])
    square = (errors**2).mean(axis=1)
    uncertain = float((square**2 / np.maximum(1.0, freedoms)).sum())
    freedom = float(square.sum() ** 2 / uncertain) if uncertain > 0 else math.inf
    if pooled:
        freedom = float(freedoms.min())
    below, above = (math.sqrt(max(0.0, one)) for one in variance)
    return Combined(value, below, above, freedom)


def _correlation(influences: Sequence[Floats | None]) -> Floats | None:
    """Return the correlations of estimates by the influence of clusters; None if all are independent."""
    if any(one is None for one in influences):
        return None
    sums = np.stack([one for one in influences if one is not None])
    norm = np.sqrt((sums**2).sum(axis=1))
    sums = sums / np.where(norm > DUST, norm, 1)[:, None]
    matrix: Floats = sums @ sums.T
    np.fill_diagonal(matrix, 1.0)
    return matrix


def differences(
    groups: Groups,
    parts: Sequence[Part | None],
    method: str,
    *,
    baseline: str | None,
    level: float,
    pooled: bool = False,
    outcome: str | None = None,
    span: float = 1.0,
) -> list[GroupDifference]:
    """Return differences between groups, or consecutive periods, without adjustment for their number.

    Parameters
    ----------
    groups, parts
        The groups and their estimates; None for a group without an interval.
    method, outcome
        Method and class to name in the records.
    baseline
        Group with which all others are compared; None for all pairs of up to 10 groups, or consecutive
        periods.
    level
        Level of the intervals.
    pooled
        True if groups share their variance.
    span
        Largest possible difference.
    """
    known = [number for number, one in enumerate(parts) if one is not None]
    made = []
    for first, second in groups.pairs(known, baseline):
        both = [parts[first], parts[second]]
        of = combined(np.array([1.0, -1.0]), [one for one in both if one is not None], pooled=pooled)
        made.append(
            GroupDifference(
                outcome=outcome,
                method=method,
                first=groups.names[first],
                second=groups.names[second],
                difference=_within(of.interval(level), span),
                p_value=of.p_value(),
                kept=of,
            )
        )
    return made


def trends(
    groups: Groups,
    parts: Sequence[Part | None],
    method: str,
    *,
    level: float,
    pooled: bool = False,
    outcome: str | None = None,
) -> list[GroupTrend]:
    """Return the slope of the estimates of periods over time, for each series of at least 3 periods.

    It is that of the least-squares line through the estimates, in which each period counts alike. See
    `differences` for the parameters.
    """
    if groups.step is None:
        return []
    known = [number for number, one in enumerate(parts) if one is not None]
    made = []
    for name in dict.fromkeys(groups.series):
        places = groups.periods(name, known)
        if len(places) < FEWEST_PERIODS:
            continue
        step = np.array([groups.step[one] for one in places], np.float64)
        step -= step.mean()
        own = [one for one in (parts[place] for place in places) if one is not None]
        of = combined(step / float(step @ step), own, pooled=pooled)
        made.append(
            GroupTrend(
                outcome=outcome,
                method=method,
                series=name or None,
                first=groups.names[places[0]],
                last=groups.names[places[-1]],
                periods=len(places),
                slope=of.interval(level),
                p_value=of.p_value(),
            )
        )
    return made


def adjusted(
    found: Sequence[GroupDifference], level: float, span: float = 1.0
) -> tuple[GroupDifference, ...]:
    """Return differences with Holm's p-values, and intervals that are all right with the level, by method.

    The intervals are Bonferroni's: each has the level 1 - (1 - level) / number.
    """
    from msgspec.structs import replace

    made: list[GroupDifference] = []
    for method in dict.fromkeys(one.method for one in found):
        own = [one for one in found if one.method == method]
        joint = 1 - (1 - level) / len(own)
        holm = adjusted_p_values([one.p_value for one in own])
        for one, p_value in zip(own, holm, strict=True):
            ends = _within(one.kept.interval(joint), span) if len(own) > 1 else None
            made.append(replace(one, holm_p_value=p_value, simultaneous=ends))
    return tuple(made)


def adjusted_trends(found: Sequence[GroupTrend]) -> tuple[GroupTrend, ...]:
    """Return trends with Holm's p-values, by method."""
    from msgspec.structs import replace

    made: list[GroupTrend] = []
    for method in dict.fromkeys(one.method for one in found):
        own = [one for one in found if one.method == method]
        holm = adjusted_p_values([one.p_value for one in own])
        made += [replace(one, holm_p_value=p_value) for one, p_value in zip(own, holm, strict=True)]
    return tuple(made)


def _within(value: Quantity, span: float) -> Quantity:
    assert value.low is not None
    assert value.high is not None
    return Quantity(value.estimate, max(-span, value.low), min(span, value.high))
