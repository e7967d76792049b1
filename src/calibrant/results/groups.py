"""Records of calibration errors over the classes of a sparse tagset, and of their change by recalibration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from calibrant.records.table import Cell, Column, Table, between, interval_heading, known
from calibrant.results._base import Result
from calibrant.results.intervals import ErrorDifference, ErrorInterval

NAMED = 3  # classes that stand for a group
Verdict = Literal["better", "worse", "inconclusive"]
# How intervals of a change by recalibration treat the calibration map.
MAPS = {
    "fixed": "treat the calibration map as fixed and ignore the sampling error of the dev set",
    "resampled": "include the sampling error of the calibration map (the dev set was resampled)",
    None: "compare the scores as they are",
}


@dataclass(frozen=True)
class MarginalError(Result):
    """A marginal calibration error: of each class (MCE), of all together (SMCE) or of a group (GMCE).

    Attributes
    ----------
    measure
        ``"mce"``, ``"smce"`` or ``"gmce"``.
    group
        Name of the group, for ``"gmce"``.
    calibration_error
        The plug-in of the papers: root of the mean squared gap on adaptive bins; None where no score is left.
        Noise biases it upward, the more so the fewer scores a bin has; wide bins bias it downward.
    debiased_mse
        Estimate without the bias of bins of the squared error; can be negative.
    debiased_error
        sqrt(max(0, debiased_mse)).
    interval
        For the error without bins, sqrt(E[(q - p_q)^2]), None where no score is left.
    n, positives
        Scores that count, and those of them whose class is the true one.
    below_threshold
        Scores left out since they are below the threshold.
    threshold
        Scores below it are left out; it stays itself.
    classes
        Classes with a score that counts.
    classes_left_out
        Classes left out of an ``"mce"`` since they have too few scores; their scores are not in ``n``.
    bin_count
        Bins asked for; a class or group with fewer scores gets one bin a score.
    clusters
        Clusters behind the interval; None if scores are taken as independent.
    reasons
        Why a number is None.
    """

    measure: str
    group: str | None
    calibration_error: float | None
    debiased_mse: float | None
    debiased_error: float | None
    interval: ErrorInterval | None
    n: int
    positives: int
    below_threshold: int
    threshold: float
    classes: int
    classes_left_out: int
    bin_count: int
    clusters: int | None
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat row: the numbers, and the limits of the interval as ``low`` and ``high``."""
        row = self.to_dict()
        del row["interval"], row["reasons"]
        low, high = (None, None) if self.interval is None else (self.interval.low, self.interval.high)
        return [{**row, "low": low, "high": high}]


@dataclass(frozen=True)
class MarginalChange(Result):
    """A marginal calibration error before and after recalibration, on the same scores.

    Attributes
    ----------
    before, after
        The two errors. The scores that count are those whose score *before* is not below the threshold.
    relative_change
        (after - before) / before of the plug-in errors, as papers give it: -0.6 is a fall by 60 %.
    difference
        The change of the debiased squared error (before minus after) with its paired interval, and the
        relative change of the error without bins with its own. Its ``calibration_map`` states whether the
        intervals treat the calibration map as fixed.
    reasons
        Why a number is None.
    adjusted_p_value
        The p-value of ``difference``, adjusted by Holm's method for all comparisons of one table; None before
        `calibrant.measure.with_verdicts`.
    verdict
        ``"better"`` or ``"worse"`` if the adjusted p-value is at most 1 - level, else ``"inconclusive"``;
        None before `calibrant.measure.with_verdicts`.
    """

    before: MarginalError
    after: MarginalError
    relative_change: float | None
    difference: ErrorDifference | None
    reasons: dict[str, str] = field(default_factory=dict)
    adjusted_p_value: float | None = None
    verdict: Verdict | None = None

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat row: what was measured, before, after, and the changes with their intervals."""
        paired = self.difference
        return [
            {
                "measure": self.before.measure,
                "group": self.before.group,
                "n": self.before.n,
                "classes": self.before.classes,
                "before": self.before.calibration_error,
                "after": self.after.calibration_error,
                "relative_change": self.relative_change,
                "debiased_before": self.before.debiased_error,
                "debiased_after": self.after.debiased_error,
                **{
                    f"debiased_{name}": None if paired is None else getattr(paired, name)
                    for name in (
                        *("mse_difference", "mse_low", "mse_high", "p_value"),
                        *("relative_change", "relative_low", "relative_high"),
                    )
                },
                "adjusted_p_value": self.adjusted_p_value,
                "verdict": self.verdict,
                "calibration_map": None if paired is None else paired.calibration_map,
            }
        ]


@dataclass(frozen=True)
class GroupChange(Result):
    """What recalibration does to the scores of one group of classes.

    Attributes
    ----------
    classes
        Of the group, in its order: those by frequency from the most frequent on.
    share
        Of the group among all counted occurrences of classes (in the training data, say), in [0, 1].
    change
        The error before and after, with the paired difference.
    """

    classes: tuple[str, ...]
    share: float
    change: MarginalChange

    @property
    def label(self) -> str:
        """The group by its first classes, such as ``CD MD TO and 24 more``; marks among them are quoted."""
        shown = [name if name.isalnum() else f'"{name}"' for name in self.classes]
        if len(shown) <= NAMED + 1:
            return " ".join(shown)
        return f"{' '.join(shown[:NAMED])} and {len(shown) - NAMED} more"

    def to_rows(self) -> list[dict[str, Any]]:
        """The row of the change, and what the group is."""
        (row,) = self.change.to_rows()
        return [{**row, "members": ", ".join(self.classes), "share": self.share}]


@dataclass(frozen=True)
class GroupedChanges(Result):
    """What recalibration does to all scores together, and to those of each group of classes.

    Attributes
    ----------
    total
        Of all scores on one set of bins: errors of opposite sign of two groups can cancel in it.
    groups
        Each group by itself, in their order.

    The verdicts of the total and of all groups are adjusted together.
    """

    total: MarginalChange
    groups: tuple[GroupChange, ...]

    def to_rows(self) -> list[dict[str, Any]]:
        """One row for all scores, and one a group."""
        whole = {**self.total.to_rows()[0], "members": None, "share": 1.0}
        return [whole, *(row for group in self.groups for row in group.to_rows())]

    def to_tables(self) -> tuple[Table, ...]:
        """Return the errors of all scores and of each group, before and after."""
        paired = self.total.difference
        interval = interval_heading(0.95 if paired is None else paired.level)
        columns = (
            Column("members", "classes", "name"),
            Column("share", "share"),
            Column("n", "n", "count"),
            Column("debiased_before", "before"),
            Column("before", interval, "interval"),
            Column("debiased_after", "after"),
            Column("after", interval, "interval"),
            Column("mse_difference", "fall of the square"),
            Column("mse_difference", interval, "interval"),
            Column("adjusted_p_value", "adjusted p", "p-value"),
            Column("verdict", "verdict", "text"),
        )
        whole = GroupChange((), 1.0, self.total)
        rows = tuple(_cells(group) for group in (whole, *self.groups))
        caption = (
            "Debiased calibration errors before and after recalibration; intervals of the change "
            f"{MAPS[None if paired is None else paired.calibration_map]}; p-values adjusted by Holm's method"
        )
        return (Table("groups", columns, rows, caption),)


def _cells(group: GroupChange) -> tuple[Cell, ...]:
    change = group.change
    before, after, paired = change.before, change.after, change.difference
    return (
        group.label or "all",
        group.share,
        before.n,
        known(before.debiased_error, before.reasons, "debiased_error"),
        _ends(before),
        known(after.debiased_error, after.reasons, "debiased_error"),
        _ends(after),
        None if paired is None else known(paired.mse_difference, paired.reasons, "mse_difference"),
        None
        if paired is None
        else between(paired.mse_low, paired.mse_high, paired.reasons, "mse_low", "mse_high"),
        None
        if paired is None
        else known(change.adjusted_p_value, paired.reasons, "adjusted_p_value", "p_value"),
        change.verdict,
    )


def _ends(error: MarginalError) -> Cell:
    interval = error.interval
    if interval is None:
        return None
    reasons = {} if interval.reason is None else {"low": interval.reason}
    return between(interval.low, interval.high, reasons, "low")


@dataclass(frozen=True)
class ResampledChange(Result):
    """A change by recalibration with intervals that include the sampling error of the calibration map.

    Attributes
    ----------
    change
        The change by the map fitted to all of dev. The intervals of its ``difference`` are for the mean
        change over dev sets of this size; where ``reasons`` explains why they cannot be computed, they treat
        the map as fixed.
    fixed
        The same difference with intervals that treat the map as fixed; None where the change is undefined.
    level
        Nominal coverage.
    dev_clusters
        Effective number of clusters of dev, (sum of sizes)^2 / sum of squared sizes; None if rows are drawn.
    draws, failed
        Resampled dev sets, and those of them to which no map could be fitted.
    seed
        Of the draws; None when a generator was given.
    map_deviation
        Standard deviation of the debiased squared error after, over maps fitted to resampled dev sets.
    after_low, after_high
        Quantiles of the plug-in error after, over these maps, on this test set.
    relative_low, relative_high
        The same for its relative change. Maps of resampled sets fit a little worse than the map of the whole
        set.
    reasons
        Why a number is None; warnings, under ``warning``.
    """

    change: MarginalChange
    fixed: ErrorDifference | None
    level: float
    dev_clusters: float | None
    draws: int
    failed: int
    seed: int | None
    map_deviation: float | None = None
    after_low: float | None = None
    after_high: float | None = None
    relative_low: float | None = None
    relative_high: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """The row of the change, with the limits for the fixed map as ``fixed_mse_low`` and so on."""
        (row,) = self.change.to_rows()
        fixed = {
            f"fixed_{name}": None if self.fixed is None else getattr(self.fixed, name)
            for name in ("mse_low", "mse_high", "p_value")
        }
        names = ("after_low", "after_high", "relative_low", "relative_high", "draws")
        return [{**row, **fixed, **{f"resampled_{name}": getattr(self, name) for name in names}}]
