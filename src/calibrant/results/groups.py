"""Records of calibration errors over the classes of a sparse tagset, and of their change by recalibration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.results._base import Result
from calibrant.results.intervals import ErrorDifference, ErrorInterval
from calibrant.results.table import Cell, Column, Table, between, interval_heading, known

NAMED = 3  # classes that stand for a group


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
        It is biased upward, the more so the fewer scores a bin has.
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
        relative change of the error without bins with its own. It takes the recalibration as given.
    reasons
        Why a number is None.
    """

    before: MarginalError
    after: MarginalError
    relative_change: float | None
    difference: ErrorDifference | None
    reasons: dict[str, str] = field(default_factory=dict)

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
        )
        whole = GroupChange((), 1.0, self.total)
        rows = tuple(_cells(group) for group in (whole, *self.groups))
        caption = (
            "Debiased calibration errors before and after recalibration; intervals take the map as given"
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
    )


def _ends(error: MarginalError) -> Cell:
    interval = error.interval
    if interval is None:
        return None
    return between(interval.low, interval.high, interval.reasons, "low", "high")


@dataclass(frozen=True)
class ResampledChange(Result):
    """A change by recalibration with intervals that count the recalibration set's chance as well.

    Attributes
    ----------
    change
        The change by the map that was fitted to all of dev; its own interval takes that map as given.
    level
        Nominal coverage.
    draws, failed
        Resampled dev sets, and those of them that no map could be fitted to.
    seed
        Of the draws; None when a generator was given.
    mse_low, mse_high
        Interval of ``change.difference.mse_difference`` for a dev set and a test set of these sizes.
    map_deviation
        Standard deviation of the debiased squared error after, over maps fitted to resampled dev sets.
    after_low, after_high
        Quantiles of the plug-in error after, over these maps, on this test set.
    relative_low, relative_high
        The same for its relative change. Maps of resampled sets fit a little worse than that of the whole.
    reasons
        Why a number is None.
    """

    change: MarginalChange
    level: float
    draws: int
    failed: int
    seed: int | None
    mse_low: float | None = None
    mse_high: float | None = None
    map_deviation: float | None = None
    after_low: float | None = None
    after_high: float | None = None
    relative_low: float | None = None
    relative_high: float | None = None
    reasons: dict[str, str] = field(default_factory=dict)

    def to_rows(self) -> list[dict[str, Any]]:
        """The row of the change, and the limits over maps as ``resampled_mse_low`` and so on."""
        (row,) = self.change.to_rows()
        names = ("mse_low", "mse_high", "after_low", "after_high", "relative_low", "relative_high", "draws")
        return [{**row, **{f"resampled_{name}": getattr(self, name) for name in names}}]
