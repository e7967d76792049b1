"""Records of means, tests of a difference, and comparisons of many systems."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.records.table import Cell, Column, Table, between, interval_heading, known, warnings_of
from calibrant.records.words import counted
from calibrant.results._base import Result


@dataclass(frozen=True)
class MeanInterval(Result):
    """A mean with Student's interval.

    Attributes
    ----------
    mean
        The mean.
    standard_deviation
        Of the values (n - 1 in the denominator); None for one value.
    standard_error
        Of the mean; with clusters, from sums over clusters.
    low, high
        Interval of the mean, values (or clusters) being independent.
    corrected_low, corrected_high
        The same for folds of cross-validation, whose training data overlap; None without the ratio.
    n
        Values.
    level
        Nominal coverage.
    clusters
        Clusters; None where values are taken as independent.
    test_train_ratio
        Size of the test data over that of the training data; None where not known.
    freedom
        Degrees of freedom of Student's t; None for one value or cluster.
    reasons
        For each field that is None, why; and warnings, under ``warning``.
    """

    mean: float
    standard_deviation: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    corrected_low: float | None
    corrected_high: float | None
    n: int
    level: float
    clusters: int | None = None
    test_train_ratio: float | None = None
    freedom: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class PairedTest(Result):
    """A paired t-test of a difference, plain and corrected for overlapping training data.

    Attributes
    ----------
    difference
        Mean of first minus second.
    standard_deviation
        Of the differences; None for one of them.
    t
        Difference over its standard error.
    critical
        What ``t`` has to exceed at this level (its absolute value, if two-sided; for ``less``, -t).
    p_value
        Probability of a ``t`` at least as extreme if there is no difference.
    low, high
        Two-sided interval of the difference.
    corrected_t, corrected_p_value, corrected_low, corrected_high
        The same with the variance of Nadeau and Bengio, for folds of cross-validation; None without the
        ratio.
    alternative
        ``two-sided``, ``greater`` (the first has the greater mean) or ``less``.
    n
        Pairs.
    wins, ties, losses
        Pairs in which the first is greater, equal, less.
    level
        One minus the nominal size of the test; coverage of the intervals.
    clusters
        Clusters; None where pairs are taken as independent.
    test_train_ratio
        As in `MeanInterval`.
    freedom
        Degrees of freedom of Student's t; None for one pair or cluster.
    reasons
        For each field that is None, why; and warnings, under ``warning``.
    """

    difference: float
    standard_deviation: float | None
    t: float | None
    critical: float | None
    p_value: float | None
    low: float | None
    high: float | None
    corrected_t: float | None
    corrected_p_value: float | None
    corrected_low: float | None
    corrected_high: float | None
    alternative: str
    n: int
    wins: int
    ties: int
    losses: int
    level: float
    clusters: int | None = None
    test_train_ratio: float | None = None
    freedom: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ResampledTest(Result):
    """A test of a difference by resampling items or clusters.

    Attributes
    ----------
    method
        ``bootstrap`` (units drawn with replacement), ``t`` (Student's t of the linearized difference, for
        fewer than 30 items or clusters) or ``permutation`` (the systems swapped in units).
    difference
        Statistic of the first minus that of the second.
    p_value
        Of "there is no difference"; never 0 where it comes from draws.
    low, high
        Interval of the difference; None for a permutation.
    alternative
        As in `PairedTest`.
    units
        Items or clusters.
    samples
        Draws, or all swaps that there are, where ``exact``.
    exact
        Whether every swap was looked at.
    level, seed
        Of the interval, of the draws.
    reasons
        For each field that is None, why; and warnings, under ``warning``.
    """

    method: str
    difference: float | None
    p_value: float | None
    low: float | None
    high: float | None
    alternative: str
    units: int
    samples: int
    exact: bool
    level: float
    seed: int
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class McNemarTest(Result):
    """McNemar's test of the items that one system alone gets right.

    Attributes
    ----------
    first_only, second_only
        Items that the first alone, or the second alone, gets right.
    both, neither
        Items on which they do not differ.
    method
        ``exact`` (binomial) or ``chi-squared`` (with continuity correction).
    statistic
        The smaller of the two counts, or the chi-squared statistic.
    p_value
        Two-sided; None where they do not differ on any item.
    reasons
        For each field that is None, why.
    """

    first_only: int
    second_only: int
    both: int
    neither: int
    method: str
    statistic: float | None
    p_value: float | None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Detectable(Result):
    """What difference a number of items can show, and how many it takes to settle one.

    Attributes
    ----------
    detectable
        The smallest true difference that a test on ``n`` pairs finds with probability ``power``.
    difference
        The difference asked about; None if none.
    needed
        Pairs that find ``difference`` with that probability.
    more
        How many of them are lacking; 0 if none.
    n, standard_deviation
        Pairs, and standard deviation of their differences.
    level, power, alternative
        Of the test.
    reasons
        For each field that is None, why.
    """

    detectable: float | None
    difference: float | None
    needed: int | None
    more: int | None
    n: int
    standard_deviation: float
    level: float
    power: float
    alternative: str
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SystemMean(Result):
    """A system's mean score; fields as in `MeanInterval`, and its name."""

    system: str
    mean: MeanInterval

    def to_dict(self) -> dict[str, Any]:
        """Return the name and the mean's fields, all at the top."""
        return {"system": self.system, **self.mean.to_dict()}


@dataclass(frozen=True)
class SystemPair(Result):
    """How two systems differ.

    Attributes
    ----------
    first, second
        The systems.
    test
        The t-tests.
    holm_p_value, benjamini_hochberg_p_value
        The p-value among those of all pairs, by either method. None where it is undefined.
    adjusted_from
        Which p-value that is: ``corrected_p_value`` where it is there, else ``p_value``.
    better
        The system that is better at this level, by the p-value adjusted by Holm's method; None where neither
        is.
    bootstrap, permutation
        The same difference by resampling; None for folds.
    mcnemar
        Where all scores are 0 or 1; else None.
    detectable
        What difference these items can show; None for folds.
    reasons
        For each field that is None, why.
    """

    first: str
    second: str
    test: PairedTest
    holm_p_value: float | None
    benjamini_hochberg_p_value: float | None
    adjusted_from: str
    better: str | None
    bootstrap: ResampledTest | None
    permutation: ResampledTest | None
    mcnemar: McNemarTest | None
    detectable: Detectable | None
    reasons: dict[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the names, the t-tests' fields at the top, and the other tests below."""
        record = super().to_dict()
        test = record.pop("test")
        reasons = test.pop("reasons") | record.pop("reasons")
        names = {name: record.pop(name) for name in ("first", "second")}
        return {**names, **test, **record, "reasons": reasons}


@dataclass(frozen=True)
class Comparison(Result):
    """How systems compare on the same folds or items.

    Attributes
    ----------
    unit
        ``fold`` or ``item``.
    n
        Folds or items.
    systems
        Each system's mean.
    pairs
        Each pair of systems.
    alternative
        ``two-sided``, ``greater`` (the first of a pair has the greater mean) or ``less``.
    higher_is_better
        False for error rates and the like.
    level
        Of every test and interval.
    test_train_ratio
        Size of a fold's test data over that of its training data; None where not known.
    repeats
        Repeats of cross-validation; None where not known.
    clusters
        Clusters of items; None where items are taken as independent.
    samples, seed
        Of the resampled tests.
    reasons
        For each field that is None, why; and warnings, under ``warning``.
    """

    unit: str
    n: int
    systems: tuple[SystemMean, ...]
    pairs: tuple[SystemPair, ...]
    alternative: str
    higher_is_better: bool
    level: float
    test_train_ratio: float | None
    repeats: int | None
    clusters: int | None
    samples: int
    seed: int
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row a pair of systems."""
        return [pair.to_dict() for pair in self.pairs]

    def to_tables(self) -> tuple[Table, ...]:
        """Return the systems' means, and the tests of each pair."""
        interval = interval_heading(self.level)
        corrected = self.test_train_ratio is not None
        more = (Column("corrected", "corrected", "interval"),) if corrected else ()
        columns = (
            Column("system", "system", "name"),
            Column("mean", "mean"),
            Column("standard_deviation", "sd"),
            Column("mean", interval, "interval"),
            *more,
        )
        rows = []
        for system in self.systems:
            mean = system.mean
            deviation = known(mean.standard_deviation, mean.reasons, "standard_deviation")
            limits = between(mean.low, mean.high, mean.reasons, "low", "high")
            wider = between(mean.corrected_low, mean.corrected_high, mean.reasons, "corrected_low")
            rows.append((system.system, mean.mean, deviation, limits, *((wider,) if corrected else ())))
        inside = "" if self.clusters is None else f" in {counted(self.clusters, 'cluster')}"
        caption = f"Mean scores on {counted(self.n, self.unit)}{inside}; {interval}s"
        notes = warnings_of(self.reasons)
        return (Table("systems", columns, tuple(rows), caption, notes), self._pairs_table(corrected))

    def _pairs_table(self, corrected: bool) -> Table:
        kind = "corrected_" if corrected else ""
        columns = (
            Column("first", "first", "name"),
            Column("second", "second", "name"),
            Column("difference", "difference"),
            Column("difference", interval_heading(self.level), "interval"),
            Column(f"{kind}t", "t", digits=3),
            Column(f"{kind}p_value", "p", "p-value"),
            Column("holm_p_value", "p (Holm)", "p-value"),
            Column("better", "better", "text"),
        )
        rows = []
        for pair in self.pairs:
            test, reasons = pair.test, {**pair.test.reasons, **pair.reasons}
            low, high = f"{kind}low", f"{kind}high"
            row: tuple[Cell, ...] = (
                pair.first,
                pair.second,
                test.difference,
                between(getattr(test, low), getattr(test, high), reasons, low, high),
                known(getattr(test, f"{kind}t"), reasons, f"{kind}t", "t"),
                known(getattr(test, f"{kind}p_value"), reasons, f"{kind}p_value", "p_value", "t"),
                known(pair.holm_p_value, reasons, "holm_p_value"),
                known(pair.better, reasons, "better"),
            )
            rows.append(row)
        name = "corrected resampled t-test" if corrected else "paired t-test"
        side = self.alternative
        caption = f"Differences, first minus second, on {counted(self.n, self.unit)}: {side} {name}"
        return Table("pairs", columns, tuple(rows), caption)
