"""Means of labels that a judge's scores make more precise, with the influence of each prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import Floats, Integers
from calibrant.estimation.estimating import corrected_counts
from calibrant.estimation.results.judging import JudgeErrors
from calibrant.exceptions import InputError
from calibrant.metrics.tails import (
    clopper_pearson,
    critical_value,
    effective_number,
    few_clusters,
    quantile,
    satterthwaite,
    skewed,
    skewness_of,
    student,
)
from calibrant.records import Quantity
from calibrant.records.words import counted

ENOUGH = 10  # labels of a system, from which on it has a corrected mean of its own
METHODS = ("labels", "ppi", "ppi++", "map", "dsl", "prior-shift", "rogan-gladen", "rogan-gladen-pooled")
LEAST_DISTANCE = 5.0  # labels times their distance from an end of the range
FAR = 0.25  # labels at the other end of the range, which labels near one end may lack
DUST = 1e-12
ALIKE = 1 - 1e-8  # correlation of a judge and labels that agree
DIFFER = 0.05  # p-value from which error rates of systems are shown to differ


@dataclass(frozen=True)
class JudgedTable:
    """Judge scores of the answers of systems, and labels of some.

    Attributes
    ----------
    systems
        Names of the S systems.
    system, item
        (n,) system and prompt of each row; no two rows have both in common.
    judge
        (n,) judge scores.
    label
        (n,) labels; NaN for an answer without one.
    cluster
        (n,) cluster of each row; None if each prompt is its own cluster.
    chance
        (n,) probability of having been labeled; None if it is the same for all answers of a system.
    low, high
        Ends of the range of labels.
    judges
        Names of several judges, of whose scores ``judge`` is the mean; empty for one.
    scores
        (judges, n) scores of each; None for one.
    """

    systems: tuple[str, ...]
    system: Integers
    item: Integers
    judge: Floats
    label: Floats
    cluster: Integers | None = None
    chance: Floats | None = None
    low: float = 0.0
    high: float = 1.0
    judges: tuple[str, ...] = ()
    scores: Floats | None = None

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """(n,) True for rows with a label."""
        return ~np.isnan(self.label)

    @property
    def binary(self) -> bool:
        """True if each label is 0 or 1, and judge scores are in [0, 1]."""
        known = self.label[self.labelled]
        return (self.low, self.high) == (0, 1) and bool(((known == 0) | (known == 1)).all())


def check_table(table: JudgedTable) -> None:
    """Raise an error for columns of different lengths, repeated rows, and values outside of their range."""
    count = len(table.judge)
    for name in ("system", "item", "label", "cluster", "chance"):
        values = getattr(table, name)
        if values is not None:
            _checks.same_length("judge", count, name, len(values))
    codes = np.flatnonzero((table.system < 0) | (table.system >= len(table.systems)))
    if len(codes):
        row = int(codes[0])
        message = f"system[{row}] is {table.system[row]}, and there are {len(table.systems)} systems"
        raise InputError(message, "number the systems from 0", code="parameter", row=row)
    order = np.lexsort((table.system, table.item))
    same = (np.diff(table.system[order]) == 0) & (np.diff(table.item[order]) == 0)
    if same.any():
        row = int(order[1:][same].min())
        message = f"row {row} has the system and prompt of another row"
        raise InputError(message, "keep one row per system and prompt", code="duplicate", row=row)
    if not table.low < table.high:
        message = f"the range of labels is {table.low:g} to {table.high:g}"
        raise InputError(message, "give a lower and a higher label", code="parameter")
    said = table.judge[None] if table.scores is None else table.scores
    for name, values in (("judge", said), ("label", table.label[None])):
        wrong = ~((values >= table.low) & (values <= table.high))
        if name == "label":
            wrong &= ~np.isnan(values)
        if wrong.any():
            row = int(np.flatnonzero(wrong.any(axis=0))[0])
            value = values[wrong[:, row].argmax(), row]
            message = (
                f"{name}[{row}] is {value:g}, outside the range of labels, {table.low:g} to {table.high:g}"
            )
            hint = "repair it, or give the lowest and the highest possible label as `low` and `high`"
            raise InputError(message, hint, code="score-range", row=row)
    if table.chance is not None:
        rows = np.flatnonzero(table.labelled & ~((table.chance > 0) & (table.chance <= 1)))
        if len(rows):
            message = f"chance[{rows[0]}] is {table.chance[rows[0]]:g}, not a probability above 0"
            hint = "give the probability with which the answer was chosen to be labeled"
            raise InputError(message, hint, code="score-range", row=int(rows[0]))


@dataclass(frozen=True)
class Answers:
    """Answers of one system: judge scores, labels (NaN without one), weights of labels, and clusters."""

    judge: Floats
    label: Floats
    weight: Floats
    unit: Integers  # cluster, or prompt
    clustered: bool
    chance: Floats | None

    @property
    def rows(self) -> Integers:
        """Places of the labeled answers."""
        return np.flatnonzero(~np.isnan(self.label))

    @property
    def unequal(self) -> bool:
        """True if the labeled answers had different probabilities of being labeled."""
        return self.chance is not None and bool(
            np.ptp(self.chance[self.rows]) > DUST if len(self.rows) else 0
        )


@dataclass(frozen=True)
class Mean:
    """Sums over answers, of which every estimate is a combination: labels alone, and the judge's correction.

    Attributes
    ----------
    labels
        Mean of the labels.
    excess
        Mean judge score of the labeled answers minus that of all answers.
    of_labels, of_excess
        (answers,) influence of each answer on both; (prompts,) of both answers to a prompt on a difference.
    shares
        (systems, answers) fraction of the weight of each system's labels.
    unit
        (answers,) prompt or cluster.
    """

    labels: float
    excess: float
    of_labels: Floats
    of_excess: Floats
    shares: Floats
    unit: Integers

    def __sub__(self, other: Mean) -> Mean:
        return Mean(
            self.labels - other.labels,
            self.excess - other.excess,
            self.of_labels - other.of_labels,
            self.of_excess - other.of_excess,
            np.vstack([self.shares, other.shares]),
            self.unit,
        )

    @cached_property
    def sizes(self) -> Floats:
        """(systems, units) fraction of the weight of each system's labels that is in each unit."""
        return sums_of(self.unit, self.shares)

    @property
    def units(self) -> int:
        """Number of units with labels."""
        return int(np.count_nonzero(self.sizes.any(axis=0)))

    @cached_property
    def sums(self) -> tuple[Floats, Floats]:
        """(units,) influence of each unit on the labels' mean, and on the excess."""
        return totals(self.unit, self.of_labels), totals(self.unit, self.of_excess)

    def weight(self) -> float:
        """Return the weight of the judge scores with the least variance; 0 for one below it or few units."""
        if self.units < ENOUGH:
            return 0.0
        labels, excess = self.sums
        # Not a product of BLAS, whose threads wait for each other at this size.
        square = float((excess * excess).sum())
        return max(0.0, float((labels * excess).sum()) / square) if square > DUST**2 else 0.0

    def with_weight(self, weight: float, *, tuned: bool) -> Estimate:
        """Return the estimate in which the judge scores have a weight; ``tuned`` if these data chose it."""
        influence = self.of_labels - weight * self.of_excess
        variance, freedom = variance_of_sum(influence, self.shares, self.unit)
        if tuned and weight:  # the regression on the judge's scores takes one degree of freedom
            units = effective_number(self.sizes.sum(axis=0))
            variance *= max(1, units - 1) / max(1, units - 2)
            freedom = max(1.0, freedom - 1)
        value = self.labels - weight * self.excess
        return Estimate(value, math.sqrt(variance), freedom, totals(self.unit, influence), weight)


@dataclass(frozen=True)
class Estimate:
    """A mean or a difference, with its standard error and the influence of each unit."""

    value: float
    error: float
    freedom: float
    influence: Floats
    weight: float

    @cached_property
    def skewness(self) -> float:
        """Skewness of the estimate."""
        return skewness_of(self.influence)

    def interval(
        self, level: float, low: float, high: float, gaps: Sequence[float] = (), units: int = 1
    ) -> Quantity:
        """Return the estimate with its interval, both within a range.

        For each gap but 0, the interval reaches as far as that of the labels with a quarter of another one,
        which is the gap away: means of 30 labels in [0, 1] near 0.02 then cover 96 % or more, and 62 to 94 %
        without it, in simulations with six distributions.
        """
        inside = min(high, max(low, self.value))
        if self.error <= DUST * max(1.0, abs(high), abs(low)):
            return Quantity(inside, reason="its values are equal, so their variance is unknown")
        ends = [*student(self.value, self.error, self.freedom, level, self.skewness)]
        for gap in gaps:
            step = math.sqrt(FAR) * gap / (units + FAR)  # a weight of 1 / 4 has a variance of 1 / 4
            influence = np.append(self.influence * (units / (units + FAR)), step)
            error = math.hypot(self.error * units / (units + FAR), step)
            if gap:
                value = self.value + math.sqrt(FAR) * step
                further = student(value, error, self.freedom, level, skewness_of(influence))
                ends.append(further[1] if gap > 0 else further[0])
        least, most = (min(high, max(low, end)) for end in (min(ends), max(ends)))
        return Quantity(inside, least, most, self.error)


def variance_of_sum(influence: Floats, shares: Floats, unit: Integers) -> tuple[float, float]:
    """Return the variance of a sum of the answers' influences, CR2, and its degrees of freedom.

    Units with labels of other systems than the rest are strata, as in Welch's test, and so are those without
    labels, whose size is the number of their answers.
    """
    sizes, total = sums_of(unit, shares), totals(unit, influence)
    pattern = (sizes > 0).T @ (1 << np.arange(len(sizes)))
    kinds = [pattern == kind for kind in np.unique(pattern) if kind]
    if any(np.count_nonzero(kind) < 2 for kind in kinds):
        kinds = [pattern > 0]
    every = totals(unit, np.ones(len(unit))) / len(unit)
    strata = [
        (kind, sizes[:, kind].sum(axis=0), sizes[:, kind].max(axis=0), shares.sum(axis=0)) for kind in kinds
    ]
    without = pattern == 0
    if without.any() and total[without].any():
        strata.append((without, every[without], every[without], np.full(len(unit), 1 / len(unit))))
    variance, uncertainty = 0.0, 0.0
    for kind, size, leverage, weight in strata:
        own = kind[unit]
        items = float(weight[own] @ weight[own]), float(influence[own] @ influence[own])
        expected, freedom = satterthwaite(size, total[kind], items) if len(size) > 1 else (1.0, 1.0)
        part = float((total[kind] ** 2 / np.maximum(1 - leverage, DUST)).sum()) / expected
        variance += part
        uncertainty += part**2 / max(1.0, freedom)
    return variance, variance**2 / uncertainty if uncertainty else 1.0


def mean_of(answers: Answers) -> Mean:
    """Return the sums of one system."""
    rows, count = answers.rows, len(answers.judge)
    share = np.zeros(count)
    share[rows] = answers.weight[rows] / answers.weight[rows].sum()
    label = np.where(share > 0, answers.label, 0.0)
    mean, of_labelled, of_all = (
        float(share @ label),
        float(share @ answers.judge),
        float(answers.judge.mean()),
    )
    of_excess = share * (answers.judge - of_labelled) - (answers.judge - of_all) / count
    return Mean(mean, of_labelled - of_all, share * (label - mean), of_excess, share[None], answers.unit)


def totals(unit: Integers, values: Floats) -> Floats:
    """Return (units,) sums of values."""
    return np.bincount(unit, values).astype(np.float64)


def sums_of(unit: Integers, shares: Floats) -> Floats:
    """Return (systems, units) sums of (systems, answers) values."""
    return np.stack([totals(unit, share) for share in shares])


def answers_of(table: JudgedTable, rows: Integers) -> Answers:
    """Return the answers of one system."""
    chance = None if table.chance is None else table.chance[rows]
    weight = np.ones(len(rows)) if chance is None else np.where(np.isnan(chance), 1.0, 1 / chance)
    unit = table.item[rows] if table.cluster is None else table.cluster[rows]
    return Answers(
        table.judge[rows],
        table.label[rows],
        weight,
        np.unique(unit, return_inverse=True)[1],
        table.cluster is not None,
        chance,
    )


def weighted_mean(values: Floats, weight: Floats, unit: Integers) -> Estimate:
    """Return a weighted mean with its standard error over units."""
    share = weight / weight.sum()
    mean = float(share @ values)
    influence = share * (values - mean)
    variance, freedom = variance_of_sum(influence, share[None], unit)
    return Estimate(mean, math.sqrt(variance), freedom, totals(unit, influence), 0.0)


def own_mean(table: JudgedTable, answers: Answers, method: str, level: float) -> tuple[Quantity, str | None]:
    """Return the mean from a system's own labels, and a warning."""
    rows = answers.rows
    # New clusters may differ in all answers, and `corrected_counts` knows the clusters of labels only.
    if table.binary and (method in ("dsl", "prior-shift") or not answers.clustered):
        counts = corrected_counts(
            answers.judge,
            rows,
            answers.label[rows],
            inclusion_probabilities=None if answers.chance is None else answers.chance[rows],
            clusters=answers.unit[rows] if answers.clustered else None,
            document_clusters=answers.unit if answers.clustered else None,
            methods=[method],
            population="superpopulation",
            level=level,
        )
        [row] = counts.estimates
        warnings = (row.few_warning, row.clusters_warning, row.dominant_warning, counts.selection_warning)
        return row.share, next((text for text in warnings if text is not None), None)
    if method in ("dsl", "prior-shift"):
        return Quantity(None, reason="it is for labels that are 0 or 1"), None
    mean = mean_of(answers)
    weight = {"labels": 0.0, "ppi": 1.0, "ppi++": mean.weight()}[method]
    estimate = mean.with_weight(weight, tuned=method == "ppi++")
    gap = beyond(table, answers.label[rows])
    interval = estimate.interval(level, table.low, table.high, [gap], mean.units)
    return interval, warning_of(estimate, mean.sizes[0], near=gap != 0)


def warning_of(estimate: Estimate, size: Floats, *, near: bool) -> str | None:
    """Return a warning if the labels are of few units, or very skewed but not near an end of the range."""
    few = few_clusters(size[size > 0], "labeled cluster")
    return few or (None if near else skewed(estimate.skewness, int(np.count_nonzero(size))))


def beyond(table: JudgedTable, label: Floats) -> float:
    """Return the distance of the mean label to the far end of the range; 0 unless it is near the other end.

    So near an end, the labels of the tail may be missing.
    """
    mean = float(label.mean())
    below, above = mean - table.low, table.high - mean
    if len(label) * min(below, above) >= LEAST_DISTANCE * (table.high - table.low):
        return 0.0
    return above if below < above else -below


def mean_by_method(
    table: JudgedTable, answers: Answers, method: str, level: float, of_all: ErrorsOfAll | None = None
) -> Quantity:
    """Return the mean label of a system by one of the methods; ``of_all`` are for the pooled one."""
    if method == "rogan-gladen-pooled" and table.binary and of_all is not None:
        if of_all.p_value <= DIFFER:
            reason = (
                f"labels show that the judge's error rates differ between systems (p = {of_all.p_value:.2g})"
            )
            return Quantity(None, reason=reason)
        return rogan_gladen(answers.judge, answers.label, level, rates=of_all.rates)
    if method.startswith("rogan-gladen"):
        return rogan_gladen(answers.judge, answers.label, level) if table.binary else _binary_only()
    if len(answers.rows) < (2 if method == "labels" else ENOUGH):
        return Quantity(None, reason=f"{counted(len(answers.rows), 'label')}: too few")
    return own_mean(table, answers, "ppi++" if method == "map" else method, level)[0]


@dataclass(frozen=True)
class ErrorsOfAll:
    """Labels of a binary judge for all systems: labels of 1 and how many the judge gives 1, and so for 0.

    ``p_value`` is that of Pearson's test of equal error rates in all systems.
    """

    rates: tuple[float, float, float, float]
    p_value: float

    @classmethod
    def of(cls, judge: Floats, label: Floats, system: Integers) -> ErrorsOfAll:
        """Count the labels of all systems."""
        from calibrant._special import gammaincc

        rates: list[float] = []
        statistic, freedom = 0.0, 0
        for kind in (1, 0):
            own = label == kind
            count, right = np.bincount(system[own]), np.bincount(system[own], judge[own] == kind)
            rates += [float(count.sum()), float(right.sum())]
            share = right.sum() / max(1, count.sum())
            if 0 < share < 1:
                used = count > 0
                spread = count[used] * share * (1 - share)
                statistic += float(((right[used] - count[used] * share) ** 2 / spread).sum())
                freedom += int(used.sum()) - 1
        p_value = float(gammaincc(freedom / 2, statistic / 2)) if freedom else 1.0
        return cls((rates[0], rates[1], rates[2], rates[3]), p_value)


def _binary_only() -> Quantity:
    return Quantity(None, reason="it is for judges and labels that are 0 or 1")


def rogan_gladen(
    judge: Floats, label: Floats, level: float, *, rates: tuple[float, float, float, float] | None = None
) -> Quantity:
    """Return the mean label from the error rates of a binary judge, with Lang and Reiczigel's interval.

    Parameters
    ----------
    judge
        (n,) scores, each 0 or 1.
    label
        (n,) labels, each 0 or 1; NaN without one.
    level
        Nominal coverage.
    rates
        Number of labels of 1, and of those the judge's 1; number of labels of 0, and of those the judge's 0.
        None: those of the answers.

    Examples
    --------
    >>> judge = np.repeat([1.0, 0, 1, 0, 1, 0], [45, 5, 5, 45, 300, 200])
    >>> label = np.repeat([1.0, 1, 0, 0, np.nan, np.nan], [45, 5, 5, 45, 300, 200])
    >>> print(rogan_gladen(judge, label, 0.95))
    0.6042 [0.5146, 0.7072]
    """
    if not np.isin(judge, (0, 1)).all():
        return _binary_only()
    if rates is None:
        known = np.flatnonzero(~np.isnan(label))
        rates = ErrorsOfAll.of(judge[known], label[known], np.zeros(len(known), np.int64)).rates
    positives, right, negatives, rejected = rates
    if not positives or not negatives:
        return Quantity(None, reason="there are labels of one kind only")
    z, n, p = quantile(level), float(len(judge)), float(judge.mean())
    plain = right / positives + rejected / negatives - 1
    # The interval adds labels and scores to each proportion, as Agresti and Coull's does.
    sensitivity, specificity = (right + 1) / (positives + 2), (rejected + 1) / (negatives + 2)
    youden = sensitivity + specificity - 1
    if plain <= 0 or youden <= 0:
        return Quantity(None, reason="the judge does not favor labels of 1 over labels of 0")
    share, size = (n * p + z * z / 2) / (n + z * z), n + z * z
    theta = (share + specificity - 1) / youden
    of_sensitivity = sensitivity * (1 - sensitivity) / (positives + 2)
    of_specificity = specificity * (1 - specificity) / (negatives + 2)
    shift = 2 * z * z * (theta * of_sensitivity - (1 - theta) * of_specificity)
    variance = share * (1 - share) / size + (1 - theta) ** 2 * of_specificity + theta**2 * of_sensitivity
    half = z * math.sqrt(variance) / youden
    estimate = min(1.0, max(0.0, (p + rejected / negatives - 1) / plain))
    least, most = (min(1.0, max(0.0, theta + shift + sign * half)) for sign in (-1, 1))
    return Quantity(estimate, min(least, estimate), max(most, estimate))


def gain_of(answers: Answers, level: float) -> Quantity:
    """Return the variance of the labels' mean over that of the corrected mean, by their correlation.

    The interval is that of the correlation, by Fisher's transformation with the variance of its influence.
    """
    rows = answers.rows
    share = answers.weight[rows] / answers.weight[rows].sum()
    label, judge = (values - share @ values for values in (answers.label[rows], answers.judge[rows]))
    spread, scores = float(share @ label**2), float(share @ judge**2)
    if spread <= DUST or scores <= DUST:
        return Quantity(None, reason="all its labels, or the judge's scores of them, are equal")
    label, judge = label / math.sqrt(spread), judge / math.sqrt(scores)
    correlation = min(1 - 1e-9, max(-1 + 1e-9, float(share @ (label * judge))))
    influence = share * (label * judge - correlation * (label**2 + judge**2) / 2)
    unit = np.unique(answers.unit[rows], return_inverse=True)[1]
    units = effective_number(totals(unit, share))
    variance, freedom = variance_of_sum(influence, share[None], unit)
    error = math.sqrt(variance) / (1 - correlation**2)
    half = critical_value(level, freedom, "two-sided") * error
    unlabelled = 1 - len(rows) / len(answers.judge)
    cost = max(1.0, units - 2) / max(1.0, units - 1)  # of estimating the weight

    def worth(of: float) -> float:
        return cost / (1 - unlabelled * max(0.0, of) ** 2)

    if correlation > ALIKE:  # whose influence on the correlation is 0
        reason = "the judge agrees with all labels, so the interval of its gain is unknown"
        return Quantity(worth(correlation), reason=reason)
    low, middle, high = (worth(math.tanh(math.atanh(correlation) + sign * half)) for sign in (-1, 0, 1))
    return Quantity(middle, low, high)


def gain_of_units(mean: Mean, unlabelled: float, level: float) -> Quantity:
    """Return the same of a mean or a difference, by the correlation of its units' influences.

    ``unlabelled`` is the part of the judged prompts that has no label.
    """
    own = mean.sizes.any(axis=0)
    label, judge = (sums[own] for sums in mean.sums)
    label, judge = label - label.mean(), judge - judge.mean()
    spread, scores, units = float(label @ label), float(judge @ judge), len(label)
    if units < ENOUGH or spread <= DUST**2 or scores <= DUST**2:
        return Quantity(None, reason="labels, or the judge's scores of them, are too few or equal")
    label, judge = label / math.sqrt(spread), judge / math.sqrt(scores)
    correlation = min(1 - 1e-9, max(-1 + 1e-9, float(label @ judge)))
    influence = label * judge - correlation * (label**2 + judge**2) / 2
    error = math.sqrt(float(influence @ influence) * units / (units - 1)) / (1 - correlation**2)
    half = critical_value(level, units - 1, "two-sided") * error
    cost = (units - 2) / (units - 1)
    low, middle, high = (
        cost / (1 - unlabelled * max(0.0, math.tanh(math.atanh(correlation) + sign * half)) ** 2)
        for sign in (-1, 0, 1)
    )
    return Quantity(middle, low, high)


def proportion_of(
    values: Floats, weight: Floats, unit: Integers, level: float, *, clustered: bool
) -> Quantity:
    """Return the proportion of values that are 1, with Clopper and Pearson's interval.

    Clusters, and unequal weights, make the number of values the effective one of Korn and Graubard (1998).
    """
    number, rate = effective_number(weight), min(1.0, float(weight @ values / weight.sum()))
    if clustered and 0 < rate < 1:
        spread = weighted_mean(values, weight, np.unique(unit, return_inverse=True)[1])
        if spread.error:
            number = min(number, rate * (1 - rate) / spread.error**2)
    return Quantity(rate, *clopper_pearson(rate, number, level))


def error_rates(table: JudgedTable, answers: Answers, code: int, level: float) -> JudgeErrors | None:
    """Return the error rates of a binary judge; None if it, or the labels, are not binary."""
    rows = answers.rows
    if not table.binary or not len(rows) or not np.isin(answers.judge, (0, 1)).all():
        return None
    rates, numbers = [], []
    for kind in (1, 0):
        own = answers.label[rows] == kind
        right = (answers.judge[rows] == kind)[own]
        numbers.append(int(own.sum()))
        if not own.any():
            rates.append(Quantity(None, reason=f"no label is {kind}"))
            continue
        rates.append(
            proportion_of(
                right.astype(np.float64),
                np.ones(len(right)),
                answers.unit[rows][own],
                level,
                clustered=answers.clustered,
            )
        )
    return JudgeErrors(
        system=table.systems[code],
        positives=numbers[0],
        negatives=numbers[1],
        sensitivity=rates[0],
        specificity=rates[1],
    )
