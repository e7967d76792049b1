"""Records of calibration errors over the classes of a sparse tagset, and of their change by recalibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec.structs import asdict

from calibrant.records import Quantity, Record, Table, name, number, part, rows, setting, warning
from calibrant.records.record import columns_of
from calibrant.results.intervals import ErrorDifference, ErrorInterval

NAMED = 3  # classes in the name of a group
DATA, ERROR, CHANGE, MAPS_DRAWN = "Data", "Error", "Change", "Over maps"
Verdict = Literal["better", "worse", "inconclusive"]
# How intervals of a change by recalibration treat the calibration map.
MAPS = {
    "fixed": "treat the calibration map as fixed and ignore the sampling error of the dev set",
    "resampled": "include the sampling error of the calibration map (the dev set was resampled)",
    None: "compare the scores without recalibration",
}
# Columns of two errors and their difference that a table of groups has no room for.
ASIDE = ("after.n", "difference.n", "difference.rms_difference", "difference.p_value")

FewDraws = Annotated[
    str | None, warning("Few clusters of dev, so the sampling error of the map is uncertain.")
]


class MarginalError(Record, frozen=True, kw_only=True):
    """Marginal calibration error of each class (MCE), of all classes (SMCE) or of a group (GMCE)."""

    measure: Annotated[str, name("Measure", "mce, smce or gmce; top for the top label of rows of K classes.")]
    group: Annotated[str | None, name("Group", "Name of the group, for gmce; null otherwise.")]
    n: Annotated[int, number("n", "Number of scores used.", group=DATA, headline=True)]
    positives: Annotated[int, number("Positives", "Scores used whose class is the true class.", group=DATA)]
    below_threshold: Annotated[
        int,
        number("Below the threshold", "Scores left out because they are below the threshold.", group=DATA),
    ]
    classes: Annotated[int, number("Classes", "Classes with a score that is used.", group=DATA)]
    classes_left_out: Annotated[
        int,
        number(
            "Classes left out",
            "Classes left out of an mce because they have too few scores, which are not in n.",
            group=DATA,
        ),
    ]
    calibration_error: Annotated[
        Quantity,
        number(
            "Error",
            "Error without bins, sqrt(E[(q - p_q)^2]), corrected for the noise of small bins.",
            group=ERROR,
            best=0,
            headline=True,
        ),
    ]
    debiased_squared_error: Annotated[
        float | None,
        number(
            "Its square, signed", "Squared error before rounding up to zero; can be negative.", group=ERROR
        ),
    ]
    plug_in_calibration_error: Annotated[
        float | None,
        number(
            "Plug-in error",
            "Error that papers report: root of the mean squared gap on adaptive bins. Noise biases it "
            "upward, more with fewer scores per bin; wide bins bias it downward.",
            group=ERROR,
            best=0,
        ),
    ]
    interval: Annotated[
        ErrorInterval | None,
        part("Interval", "Settings of the interval of the error; null if no score is left."),
    ]
    threshold: Annotated[float, setting("Threshold", "Scores below it are left out.", headline=True)]
    n_bins: Annotated[
        int,
        setting(
            "Bins",
            "Requested bins; a class or group with fewer scores gets one bin per score.",
            headline=True,
        ),
    ]
    clusters: Annotated[
        int | None,
        setting(
            "Clusters",
            "Clusters behind the interval; null if scores are treated as independent.",
            headline=True,
        ),
    ]
    reason: Annotated[
        str | None, setting("Reason", "Reason why a number of the error is undefined, if one is.")
    ] = None


class MarginalChange(Record, frozen=True, kw_only=True):
    """Marginal calibration error before and after recalibration, of the same scores."""

    before: Annotated[
        MarginalError,
        part("Before", "Error before. Scores at or above the threshold before recalibration are used."),
    ]
    after: Annotated[MarginalError, part("After", "Error after, of the same scores.")]
    relative_change: Annotated[
        Quantity,
        number(
            "Relative change",
            "(after - before) / before of the plug-in errors, as papers give it: -0.6 is a fall by 60 %.",
            group=CHANGE,
            interval=False,
        ),
    ]
    difference: Annotated[
        ErrorDifference | None,
        part("Difference", "Before minus after, of the errors without bins; null where no score is left."),
    ]
    adjusted_p_value: Annotated[
        float | None,
        number(
            "Adjusted p-value",
            "The p-value of the difference, adjusted by Holm's method for all comparisons of one table; null "
            "without verdicts.",
            group=CHANGE,
            unit="p-value",
            headline=True,
            short="adjusted p",
        ),
    ] = None
    verdict: Annotated[
        Verdict | None,
        number(
            "Verdict",
            "better or worse if the adjusted p-value is at most 1 - level, else inconclusive; null without "
            "verdicts.",
            group=CHANGE,
            headline=True,
        ),
    ] = None
    verdict_warning: Annotated[
        str | None, warning("The change rests on few positives, negatives or clusters.")
    ] = None


class GroupChange(MarginalChange, frozen=True, kw_only=True):
    """Calibration error of one group of classes before and after recalibration."""

    label: Annotated[str, name("Classes", "First classes of the group, and how many more there are.")]
    classes: Annotated[
        tuple[str, ...],
        setting("Classes of the group", "Classes in their order: by frequency from the most frequent on."),
    ]
    share: Annotated[
        float,
        number(
            "Share",
            "Fraction of the group among all counted occurrences of classes (such as in the training data).",
            group=DATA,
            headline=True,
        ),
    ]


def label_of(classes: Sequence[str]) -> str:
    """Name a group by its first classes; marks among them are quoted.

    Examples
    --------
    >>> label_of(["CD", "MD", ",", "TO", "NN"])
    'CD MD "," and 2 more'
    """
    shown = [name if name.isalnum() else f'"{name}"' for name in classes]
    if len(shown) <= NAMED + 1:
        return " ".join(shown)
    return f"{' '.join(shown[:NAMED])} and {len(shown) - NAMED} more"


class GroupedChanges(Record, frozen=True):
    """Calibration errors of all classes and of each group, before and after recalibration."""

    total: Annotated[
        MarginalChange,
        part(
            "Total",
            "Change of all scores on one set of bins. It can look better than every group, because errors of "
            "opposite sign of two groups can cancel.",
        ),
    ]
    groups: Annotated[
        tuple[GroupChange, ...],
        rows("Groups", "Change of each group, in their order; verdicts are adjusted together."),
    ]

    def to_tables(self) -> tuple[Table, ...]:
        """Return the errors of all scores and of each group, before and after."""
        whole = GroupChange(label="all", classes=(), share=1.0, **asdict(self.total))
        paired = self.total.difference
        columns, lines = columns_of((whole, *self.groups), 0.95 if paired is None else paired.level)
        kept = [place for place, column in enumerate(columns) if column.name not in ASIDE]
        kept.sort(key=lambda place: columns[place].name not in ("label", "share"))
        caption = (
            "Debiased calibration errors before and after recalibration; intervals of the change "
            f"{MAPS[None if paired is None else paired.calibration_map]}; p-values adjusted by Holm's method"
        )
        table = Table(
            "groups",
            tuple(columns[place] for place in kept),
            tuple(tuple(line[place] for place in kept) for line in lines),
            caption,
            tuple(f"{row.label}: {row.verdict_warning}" for row in self.groups if row.verdict_warning),
        )
        return (table,)


class ResampledChange(Record, frozen=True, kw_only=True):
    """Change by recalibration with intervals that include the sampling error of the calibration map."""

    change: Annotated[
        MarginalChange,
        part(
            "Change",
            "Change by the map that is fitted to all of dev: the change to report for the method. The "
            "intervals of its difference are for the mean change over dev sets of this size. If they cannot "
            "be computed, they treat the map as fixed.",
        ),
    ]
    fixed: Annotated[
        ErrorDifference | None,
        part(
            "Fixed map",
            "Same difference with intervals that treat the map as fixed; null if no score is left.",
        ),
    ]
    map_deviation: Annotated[
        Quantity,
        number(
            "Deviation over maps",
            "Standard deviation of the debiased squared error after, over maps fitted to resampled dev sets.",
            group=MAPS_DRAWN,
            interval=False,
            headline=True,
        ),
    ]
    after: Annotated[
        Quantity,
        number(
            "Plug-in error after",
            "Plug-in error after, with its quantiles over these maps, on this test set. Maps of resampled "
            "sets fit slightly worse than the map of the whole set.",
            group=MAPS_DRAWN,
            headline=True,
        ),
    ]
    relative_change: Annotated[
        Quantity,
        number("Relative change", "Same change, relative to the plug-in error before.", group=MAPS_DRAWN),
    ]
    level: Annotated[float, setting("Level", "Nominal coverage.", unit="percent", headline=True)]
    dev_clusters: Annotated[
        float | None,
        setting(
            "Clusters of dev",
            "Effective number of clusters of dev, (sum of sizes)^2 / sum of squared sizes; null if rows are "
            "drawn.",
        ),
    ]
    draws: Annotated[int, setting("Draws", "Resampled dev sets.", headline=True)]
    failed: Annotated[int, setting("Failed draws", "Draws to which no map could be fitted.")]
    seed: Annotated[
        int | None,
        setting("Seed", "Seed of the draws; null if a generator was given.", unit="seed", headline=True),
    ]
    warning: FewDraws = None
