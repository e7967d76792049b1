"""Records of calibration by slice: how far off the scores of each part of the data are, the worst first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.records.table import Cell, Column, Table, Undefined, between, interval_heading, known
from calibrant.records.words import percent
from calibrant.results._base import Result

NULL = "(none)"


@dataclass(frozen=True)
class SliceEstimate(Result):
    """One kind of error of one slice: as it stands, with its interval, and shrunken.

    Attributes
    ----------
    estimate
        From the slice alone, unbiased; the largest of many such estimates is not.
    standard_error
        Its estimated standard deviation.
    low, high
        Interval at the adjusted level of the table.
    p_value
        Of "this error is 0".
    adjusted_p_value
        The same, adjusted for the number of slices (Holm, Benjamini-Hochberg, or not at all).
    found
        Whether the adjusted p-value is at most 1 - level: this slice is miscalibrated.
    shrunken
        The estimate moved towards the mean of all slices, the more so the less is known of the slice: what to
        expect of it in new data, even if it was picked for being the worst.
    reasons
        For each field that is None, why.
    """

    estimate: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    p_value: float | None
    adjusted_p_value: float | None
    found: bool | None
    shrunken: float | None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SliceErrors(Result):
    """Calibration errors of one slice.

    Attributes
    ----------
    keys
        Values of the columns that make the slice; None where they are missing.
    n, positives
        Pairs, and those of them in which the event happened.
    clusters
        Clusters with pairs in the slice; None when pairs are independent.
    mean_score, frequency
        Weighted means of scores and labels.
    signed
        mean score - frequency, in [-1, 1]: positive where the model is overconfident about the event.
    squared
        Debiased squared calibration error: it also sees errors that cancel in ``signed``.
    reason
        Why the slice was not measured; None if it was.
    """

    keys: tuple[str | None, ...]
    n: int
    positives: int
    clusters: int | None
    mean_score: float
    frequency: float
    signed: SliceEstimate
    squared: SliceEstimate
    reason: str | None = None

    @property
    def name(self) -> str:
        """The keys as one text.

        Examples
        --------
        >>> nothing = SliceEstimate(None, None, None, None, None, None, None, None)
        >>> SliceErrors(("law", None), 5, 1, None, 0.5, 0.2, nothing, nothing).name
        'law, (none)'
        """
        return ", ".join(NULL if key is None else key for key in self.keys)


@dataclass(frozen=True)
class SliceSpread(Result):
    """How slices differ in one kind of error, beyond noise: what estimates are shrunken by.

    Attributes
    ----------
    mean
        Weighted mean of the slices.
    spread
        Standard deviation of the true errors between slices, without the noise of their estimates.
    reasons
        Why they are None.
    """

    mean: float | None
    spread: float | None
    reasons: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SliceTable(Result):
    """Calibration errors of every slice, the worst first.

    Attributes
    ----------
    by
        The columns that make the slices.
    rows
        The slices: those measured from the worst on, then those that were too small, from the largest on.
    rank
        What "worst" goes by: ``"error"`` (the shrunken squared error) or ``"signed"`` (the absolute shrunken
        signed error).
    level
        1 - level is the chance of even one miss (``"simultaneous"``), the expected share of misses among the
        slices found (``"fcr"``), or the chance of a miss in each slice alone (``"none"``).
    adjust
        ``"simultaneous"``, ``"fcr"`` or ``"none"``.
    adjustment
        Of p-values: ``"holm"``, ``"benjamini-hochberg"`` or ``"none"``.
    measured
        Slices measured: the number of comparisons.
    least
        Pairs that a slice needs to be measured.
    n
        Pairs of all slices.
    signed, squared
        Mean and spread between slices of the two errors.
    event
        The event that scores are about; None where tallies were given.
    file
        The table; None where tallies were given.
    """

    by: tuple[str, ...]
    rows: tuple[SliceErrors, ...]
    rank: str
    level: float
    adjust: str
    adjustment: str
    measured: int
    least: int
    n: int
    signed: SliceSpread
    squared: SliceSpread
    event: str | None = None
    file: str | None = None

    def to_rows(self) -> list[dict[str, Any]]:
        """One flat row a slice, the worst first; root errors beside the squared ones."""
        return [{"rank": place, **_flat(self.by, row)} for place, row in enumerate(self.rows, 1)]

    def to_tables(self) -> tuple[Table, ...]:
        """Return a row a slice, the worst first; slices that were too small say so."""
        kind = "shrunken" if self.rank == "error" else "shrunken difference"
        columns = (
            *(Column(f"by_{name}", name, "name") for name in self.by),
            Column("n", "n", "count"),
            Column("mean_score", "score"),
            Column("frequency", "frequency"),
            Column("error", "error"),
            Column("error", interval_heading(self.level), "interval"),
            Column("signed", "score - frequency"),
            Column("signed", interval_heading(self.level), "interval"),
            Column("shrunken", kind),
            Column("p_value", "p", "p-value"),
            Column("adjusted_p_value", "adjusted p", "p-value"),
        )
        where = "" if self.file is None else f" of {self.file}"
        event = "" if self.event is None else f", event {self.event}"
        caption = (
            f"Calibration errors{where} by {', '.join(self.by)}{event}: n = {self.n:,}; "
            f"{percent(self.level)} intervals, {self.adjust}; p-values adjusted by {self.adjustment}; "
            f"ranked by shrunken {'error' if self.rank == 'error' else 'difference'}"
        )
        rows = tuple(self._cells(row) for row in self.rows)
        return (Table(f"by {','.join(self.by)}", columns, rows, caption),)

    def _cells(self, row: SliceErrors) -> tuple[Cell, ...]:
        keys: tuple[Cell, ...] = tuple(NULL if key is None else key for key in row.keys)
        sizes: tuple[Cell, ...] = (*keys, row.n, row.mean_score, row.frequency)
        if row.reason is not None:
            return (*sizes, *[Undefined(row.reason)] * 7)
        squared, signed, by = row.squared, row.signed, ranked(row, self.rank)
        return (
            *sizes,
            known(root(squared.estimate), squared.reasons, "estimate"),
            between(root(squared.low), root(squared.high), squared.reasons, "low", "high"),
            known(signed.estimate, signed.reasons, "estimate"),
            between(signed.low, signed.high, signed.reasons, "low", "high"),
            known(root(by.shrunken) if self.rank == "error" else by.shrunken, by.reasons, "shrunken"),
            known(by.p_value, by.reasons, "p_value"),
            known(by.adjusted_p_value, by.reasons, "adjusted_p_value", "p_value"),
        )

    def found(self) -> tuple[SliceErrors, ...]:
        """The slices found to be miscalibrated, by what the table is ranked by."""
        return tuple(row for row in self.rows if ranked(row, self.rank).found)


def ranked(row: SliceErrors, rank: str) -> SliceEstimate:
    """The estimate that a table is ranked by."""
    return row.squared if rank == "error" else row.signed


def root(value: float | None) -> float | None:
    """Root of a squared error, 0 if it is negative.

    Examples
    --------
    >>> root(0.25), root(-0.01), root(None)
    (0.5, 0.0, None)
    """
    return None if value is None else float(max(0.0, value) ** 0.5)


def _flat(by: tuple[str, ...], row: SliceErrors) -> dict[str, Any]:
    signed, squared = row.signed, row.squared
    return {
        **dict(zip((f"by_{name}" for name in by), row.keys, strict=True)),
        **{name: getattr(row, name) for name in ("n", "positives", "clusters", "mean_score", "frequency")},
        **{f"signed_{name}": value for name, value in signed.to_dict().items() if name != "reasons"},
        **{f"squared_{name}": value for name, value in squared.to_dict().items() if name != "reasons"},
        "error": root(squared.estimate),
        "error_low": root(squared.low),
        "error_high": root(squared.high),
        "error_shrunken": root(squared.shrunken),
        "reason": row.reason,
    }


@dataclass(frozen=True)
class SliceTables(Result):
    """Several ways to slice the same predictions, each adjusted by itself.

    Attributes
    ----------
    tables
        One for each way.
    command
        The command line that made them; None where there is none.
    """

    tables: tuple[SliceTable, ...]
    command: str | None = None

    def to_rows(self) -> list[dict[str, Any]]:
        """The rows of all tables."""
        return [row for table in self.tables for row in table.to_rows()]

    def to_tables(self) -> tuple[Table, ...]:
        """Return a table for each way to slice."""
        return tuple(table for way in self.tables for table in way.to_tables())
