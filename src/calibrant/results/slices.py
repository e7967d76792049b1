"""Records of calibration by slice: the calibration errors of each slice, the worst first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any

from calibrant.records import Column, Quantity, Record, Table, name, number, part, rows, setting
from calibrant.records.words import percent

if TYPE_CHECKING:
    from calibrant.records.record import Display

NULL = "(none)"
DATA, ERRORS, BETWEEN = "Data", "Errors", "Between slices"
PROMISES = {
    "simultaneous": "all contain their true values with probability {} (Bonferroni; p-values after Holm)",
    "fcr": "of the intervals of the slices found, {} contain their true values on average (Benjamini and "
    "Yekutieli; p-values after Benjamini and Hochberg)",
    "none": "each contains its true value with probability {}; of many intervals some miss",
}


class SliceEstimate(Quantity, frozen=True, kw_only=True):
    """An error of one slice with its interval at the adjusted level, and the shrunken error."""

    shrunken: Annotated[
        Quantity,
        number(
            "Shrunken",
            "Estimate moved toward the mean of all slices, more for slices with less data: the error to "
            "expect in new data, even for a slice that was chosen because it is the worst.",
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

    slice: Annotated[str, name("Slice", "Values of the columns that define the slice, as one text.")]
    keys: Annotated[
        tuple[str | None, ...],
        setting("Keys", "Values of the columns that define the slice; null for missing values."),
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
            "Mean error",
            "Mean score - frequency, in [-1, 1]: positive if scores are too high. Errors of opposite sign "
            "cancel in it. Each estimate is unbiased; the largest of many is biased. Its standard error is "
            "at least that of calibrated scores, and otherwise as in `measure`.",
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
            "Debiased RMS calibration error, in which errors of opposite sign do not cancel.",
            group=ERRORS,
            best=0,
            headline=True,
        ),
    ]
    squared: Annotated[
        SliceEstimate,
        number(
            "Squared error",
            "Debiased squared calibration error before rounding up to zero, which makes it unbiased. More "
            "than a million pairs are summed on a grid of scores, so bins differ from those of `measure`.",
            group=ERRORS,
            best=0,
        ),
    ]
    reason: Annotated[
        str | None, setting("Reason", "Reason why the slice was not measured; null if it was.")
    ] = None


class SliceSpread(Record, frozen=True):
    """Variation of one kind of error between slices, beyond noise; estimates are shrunken by it."""

    mean: Annotated[
        float | None,
        number(
            "Mean",
            "Weighted mean of the slices; those far from most others count less.",
            group=BETWEEN,
            signed=True,
        ),
    ]
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
    by: Annotated[tuple[str, ...], setting("By", "Columns that define the slices.", headline=True)]
    view: Annotated[
        str | None,
        setting("View", "View of the scores; null if tallies were given.", headline=True),
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
    signed: Annotated[SliceSpread, part("Mean error", "Variation of the mean error between slices.")]
    squared: Annotated[SliceSpread, part("Squared error", "Variation of the squared error between slices.")]
    rank: Annotated[
        str,
        setting(
            "Ranked by",
            "Order of the slices: error (shrunken RMS error) or signed (absolute shrunken mean error).",
            headline=True,
        ),
    ]
    level: Annotated[
        float,
        setting(
            "Level",
            "1 - level is the probability of at least one miss (simultaneous), the expected proportion of "
            "misses among the slices found (fcr), or the probability of a miss in each slice (none).",
            unit="percent",
            headline=True,
        ),
    ]
    adjust: Annotated[str, setting("Adjustment", "simultaneous, fcr or none.", headline=True)]
    adjustment: Annotated[
        str,
        setting("p-values", "Adjustment of p-values: holm, benjamini-hochberg or none.", headline=True),
    ]
    least: Annotated[
        int, setting("Pairs needed", "Number of pairs that a slice needs to be measured.", headline=True)
    ]
    notes: Annotated[
        tuple[str, ...], setting("Notes", "Items as clusters; seeming copies; too few clusters.")
    ] = ()

    def plot(self, ax: Any = None, *, most: int = 20) -> Display:
        """Draw the worst slices on matplotlib axes, or on a new figure, which a notebook shows.

        Parameters
        ----------
        ax
            matplotlib axes to draw on; None makes a figure.
        most
            Slices to draw.

        Returns
        -------
        calibrant.verbs.displays.SliceDisplay

        Raises
        ------
        InputError
            If no slice was measured, or ``ax`` are no axes.
        """
        # By name: figures are a layer above the records.
        drawn: Display = import_module("calibrant.verbs.displays").draw_slices(self, ax, most=most)
        return drawn

    def called(self) -> str:
        """Return the columns that make the slices."""
        return ",".join(self.by)

    def found(self) -> tuple[SliceErrors, ...]:
        """Return the slices found to be miscalibrated, by the error that the table is ranked by."""
        return tuple(row for row in self.slices if getattr(row, self.rank).found)

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return remarks on the number of slices found and on the coverage of their intervals."""
        kind = "a calibration error" if self.rank == "error" else "scores too high or too low on average"
        share = percent(round(1 - self.level, 12))
        yield "slices", f"{len(self.found())} of {self.measured} found to have {kind} (adjusted p <= {share})"
        yield "slices", f"Intervals: {PROMISES[self.adjust].format(percent(self.level))}"
        yield from (("slices", note) for note in self.notes)

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
                (*(NULL if key is None else key for key in errors.keys), *(row[place] for place in kept))
                for errors, row in zip(self.slices, own.rows, strict=True)
            ),
        )
        about = f"All slices by {', '.join(self.by)}"
        return (table, *(replace(other, name=f"{other.name} by {ways}", title=about) for other in others))


class SliceTables(Record, frozen=True):
    """Several partitions of the same predictions into slices, each adjusted separately."""

    tables: Annotated[tuple[SliceTable, ...], rows("Tables", "One table per partition.")]
    command: Annotated[
        str | None, setting("Command", "Command line that reproduces the result; null if there is none.")
    ] = None

    def to_tables(self) -> tuple[Table, ...]:
        """Return the tables of each partition."""
        return tuple(table for way in self.tables for table in way.to_tables())

    def main_tables(self) -> tuple[Table, ...]:
        """Return the slices of each partition."""
        return tuple(way.to_tables()[0] for way in self.tables)
