"""Records of calibration by slice: the calibration errors of each part of the data, the worst first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from calibrant.records import Column, Quantity, Record, Table, name, number, part, rows, setting
from calibrant.records.words import percent

NULL = "(none)"
DATA, ERRORS, BETWEEN = "Data", "Errors", "Between slices"
PROMISES = {
    "simultaneous": "all of them hold together with {} (Bonferroni; p-values after Holm)",
    "fcr": "of those of the slices found, {} hold on average (Benjamini and Yekutieli; p-values after "
    "Benjamini and Hochberg)",
    "none": "each holds with {} for its slice alone; of many slices some miss",
}


class SliceEstimate(Quantity, frozen=True, kw_only=True):
    """An error of one slice: as it is, with its interval at the adjusted level, and shrunken."""

    shrunken: Annotated[
        Quantity,
        number(
            "Shrunken",
            "Estimate moved towards the mean of all slices, the more so the less is known of the slice: the "
            "error to expect of it in new data, even if it was picked for being the worst.",
            group=ERRORS,
            best=0,
            headline=True,
            interval=False,
            short="shrunken",
        ),
    ]
    p_value: Annotated[
        float | None, number("p-value", "Test of an error of 0.", group=ERRORS, unit="p-value")
    ] = None
    adjusted_p_value: Annotated[
        float | None,
        number(
            "adjusted p-value",
            "The p-value, adjusted for the number of slices (Holm, Benjamini-Hochberg, or not at all).",
            group=ERRORS,
            unit="p-value",
            headline=True,
            short="adjusted p",
        ),
    ] = None
    found: Annotated[
        bool | None,
        setting("Found", "If the adjusted p-value is at most 1 - level, the slice is miscalibrated."),
    ] = None


class SliceErrors(Record, frozen=True, kw_only=True):
    """Calibration errors of one slice."""

    slice: Annotated[str, name("Slice", "Values of the columns that make the slice, as one text.")]
    keys: Annotated[
        tuple[str | None, ...],
        setting("Keys", "Values of the columns that make the slice; null where they are missing."),
    ]
    n: Annotated[int, number("n", "Pairs.", group=DATA, headline=True)]
    positives: Annotated[int, number("Positives", "Pairs with label 1.", group=DATA)]
    clusters: Annotated[
        int | None, setting("Clusters", "Clusters with pairs in the slice; null if pairs are independent.")
    ]
    mean_score: Annotated[float, number("Score", "Weighted mean of the scores.", group=DATA, headline=True)]
    frequency: Annotated[
        float, number("Frequency", "Weighted mean of the labels.", group=DATA, headline=True)
    ]
    signed: Annotated[
        SliceEstimate,
        number(
            "Difference",
            "Mean score - frequency, in [-1, 1]: positive where scores are too high. Errors of opposite sign "
            "cancel in it. Unbiased; the largest of many such estimates is not.",
            group=ERRORS,
            best=0,
            headline=True,
            signed=True,
        ),
    ]
    error: Annotated[
        SliceEstimate,
        number(
            "Error",
            "RMS calibration error, debiased: it also sees errors that cancel in the difference.",
            group=ERRORS,
            best=0,
            headline=True,
        ),
    ]
    squared: Annotated[
        SliceEstimate,
        number(
            "Squared error",
            "Debiased squared calibration error before rounding up to zero, which makes it unbiased.",
            group=ERRORS,
            best=0,
        ),
    ]
    reason: Annotated[
        str | None, setting("Reason", "Reason why the slice was not measured; null if it was.")
    ] = None


class SliceSpread(Record, frozen=True):
    """How slices differ in one kind of error, beyond noise; estimates are shrunken by it."""

    mean: Annotated[float | None, number("Mean", "Weighted mean of the slices.", group=BETWEEN, signed=True)]
    spread: Annotated[
        float | None,
        number(
            "Spread",
            "Standard deviation of the true errors between slices, without the noise of their estimates.",
            group=BETWEEN,
        ),
    ]
    reason: Annotated[str | None, setting("Reason", "Reason why both are undefined, if they are.")] = None


class SliceTable(Record, frozen=True, kw_only=True):
    """Calibration errors of every slice, the worst first."""

    file: Annotated[
        str | None, setting("File", "Name of the table; null if tallies were given.", headline=True)
    ] = None
    by: Annotated[tuple[str, ...], setting("By", "Columns that make the slices.", headline=True)]
    view: Annotated[
        str | None,
        setting("View", "View that the scores are about; null if tallies were given.", headline=True),
    ] = None
    slices: Annotated[
        tuple[SliceErrors, ...],
        rows(
            "Slices",
            "Slices that were measured, the worst first; then those that were too small, the largest first.",
            most=20,
            ranked=True,
        ),
    ]
    n: Annotated[int, number("n", "Pairs of all slices.", group=DATA, headline=True)]
    measured: Annotated[int, number("Slices measured", "Number of comparisons.", group=DATA, headline=True)]
    signed: Annotated[SliceSpread, part("Difference", "How slices differ in the difference.")]
    squared: Annotated[SliceSpread, part("Squared error", "How slices differ in the squared error.")]
    rank: Annotated[
        str,
        setting(
            "Ranked by",
            "Order of the slices: error (shrunken RMS error) or signed (absolute shrunken difference).",
            headline=True,
        ),
    ]
    level: Annotated[
        float,
        setting(
            "Level",
            "1 - level is the probability of even one miss (simultaneous), the expected proportion of misses "
            "among the slices found (fcr), or the probability of a miss in each slice alone (none).",
            unit="percent",
            headline=True,
        ),
    ]
    adjust: Annotated[str, setting("Adjustment", "simultaneous, fcr or none.", headline=True)]
    adjustment: Annotated[
        str,
        setting("p-values", "Adjustment of p-values: holm, benjamini-hochberg or none.", headline=True),
    ]
    least: Annotated[int, setting("Pairs needed", "Pairs that a slice needs to be measured.", headline=True)]

    def found(self) -> tuple[SliceErrors, ...]:
        """Return the slices found to be miscalibrated, by the error that the table is ranked by."""
        return tuple(row for row in self.slices if getattr(row, self.rank).found)

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return how many slices were found, and how far their intervals can be trusted."""
        kind = "a calibration error" if self.rank == "error" else "scores too high or too low on average"
        share = percent(round(1 - self.level, 12))
        yield "slices", f"{len(self.found())} of {self.measured} found to have {kind} (adjusted p <= {share})"
        yield "slices", f"Intervals: {PROMISES[self.adjust].format(percent(self.level))}"

    def to_tables(self) -> tuple[Table, ...]:
        """Return the slices, one column per key and the errors that they are ranked by; then the means."""
        own, *others = super().to_tables()
        aside = ("signed" if self.rank == "error" else "error") + "."
        kept = [
            place
            for place, column in enumerate(own.columns)
            if column.kind != "name" and not column.name.startswith(aside)
        ]
        ways = ",".join(self.by)
        table = replace(
            own,
            name=f"by {ways}",
            title=f"Slices by {', '.join(self.by)}",
            columns=(
                *(Column(f"by_{key}", key, "name") for key in self.by),
                *(own.columns[place] for place in kept),
            ),
            rows=tuple(
                (*(NULL if key is None else key for key in found.keys), *(row[place] for place in kept))
                for found, row in zip(self.slices, own.rows, strict=True)
            ),
        )
        about = f"All slices by {', '.join(self.by)}"
        return (table, *(replace(each, name=f"{each.name} by {ways}", title=about) for each in others))


class SliceTables(Record, frozen=True):
    """Several ways to slice the same predictions, each adjusted by itself."""

    tables: Annotated[tuple[SliceTable, ...], rows("Tables", "One table per way to slice.")]
    command: Annotated[
        str | None, setting("Command", "Command line that does it again; null if there is none.")
    ] = None

    def to_tables(self) -> tuple[Table, ...]:
        """Return the tables of each way to slice."""
        return tuple(table for way in self.tables for table in way.to_tables())
