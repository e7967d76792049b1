"""Records of means and counts that a labelled subsample corrects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from calibrant.records.table import Column, Table, between, interval_heading, known, warnings_of
from calibrant.records.words import counted
from calibrant.results._base import Result


@dataclass(frozen=True)
class CorrectedMean(Result):
    """A share of documents, and their number, by one method, in one period.

    Attributes
    ----------
    period
        None for all documents together.
    method
        ``uncorrected``, ``labels``, ``ppi``, ``ppi++``, ``dsl`` or ``prior-shift``.
    documents, labelled
        How many there are, and how many have a label.
    effective
        Effective number of labels, or of clusters of labels where these are named, by Kish's formula. The
        interval has this number minus 1 degrees of freedom. None for ``uncorrected``.
    mean, low, high
        The share and its interval; None where they are undefined.
    count, count_low, count_high
        The same as numbers of documents.
    reasons
        Why a field is None, and warnings.
    """

    period: str | None
    method: str
    documents: int
    labelled: int
    effective: float | None
    mean: float | None
    low: float | None
    high: float | None
    reasons: dict[str, str] = field(default_factory=dict)

    @property
    def count(self) -> float | None:
        """The number of documents."""
        return None if self.mean is None else self.mean * self.documents

    @property
    def count_low(self) -> float | None:
        """Its lower limit."""
        return None if self.low is None else self.low * self.documents

    @property
    def count_high(self) -> float | None:
        """Its upper limit."""
        return None if self.high is None else self.high * self.documents

    def to_dict(self) -> dict[str, Any]:
        """Return the record with the counts."""
        counts = {"count": self.count, "count_low": self.count_low, "count_high": self.count_high}
        return {**super().to_dict(), **counts}


@dataclass(frozen=True)
class CorrectedCounts(Result):
    """Shares and numbers of documents by period and method.

    Attributes
    ----------
    estimates
        All documents first, then the periods in order; of each the methods.
    population
        ``corpus``: these documents. ``superpopulation``: whatever they were drawn from.
    level
        Of the intervals.
    labelled, documents
        In all.
    clusters
        Clusters of the labelled documents; None if they are taken as independent.
    sampling
        How documents were chosen to be labelled. ``simple``: with equal probabilities in each period.
        ``fixed``: a fixed number of each group of documents with one probability. ``independent``: each
        document by itself, with its own probability.
    sampling_detected
        Whether `sampling` was concluded from the probabilities.
    command
        That made it, if from the command line.
    """

    estimates: tuple[CorrectedMean, ...]
    population: str
    level: float
    documents: int
    labelled: int
    clusters: int | None
    sampling: str = "simple"
    sampling_detected: bool = False
    command: str | None = None

    def to_rows(self) -> list[dict[str, Any]]:
        """One row a period and method."""
        return [estimate.to_dict() for estimate in self.estimates]

    def to_tables(self) -> tuple[Table, ...]:
        """Return a row a period and method."""
        interval = interval_heading(self.level)
        columns = (
            Column("period", "period", "name"),
            Column("method", "method", "name"),
            Column("documents", "documents", "count"),
            Column("labelled", "labelled", "count"),
            Column("count", "count", digits=1),
            Column("count", interval, "interval", digits=1),
            Column("mean", "share"),
            Column("mean", interval, "interval"),
        )
        rows = tuple(
            (
                one.period or "all",
                one.method,
                one.documents,
                one.labelled,
                known(one.count, one.reasons, "mean"),
                between(one.count_low, one.count_high, one.reasons, "low", "high", "mean"),
                known(one.mean, one.reasons, "mean"),
                between(one.low, one.high, one.reasons, "low", "high", "mean"),
            )
            for one in self.estimates
        )
        units = "" if self.clusters is None else f" in {counted(self.clusters, 'cluster')}"
        designs = {
            "simple": "simple random sampling",
            "fixed": "fixed numbers of labels in groups",
            "independent": "independent sampling",
        }
        caption = (
            f"Counts of the {self.population}, by period and method: {self.labelled:,} of "
            f"{counted(self.documents, 'document')} labelled{units}; {interval}s of "
            f"{designs[self.sampling]}"
        )
        warned = (text for one in self.estimates for text in warnings_of(one.reasons))
        return (Table("counts", columns, rows, caption, tuple(dict.fromkeys(warned))),)
