"""Records of counts that labels correct, and of what is computed from uncertain structures."""

from __future__ import annotations

import dataclasses
from typing import Annotated

from msgspec import structs

from calibrant._checks import Floats
from calibrant.estimation.results.groups import GroupDifference, GroupTrend
from calibrant.exceptions import InputError
from calibrant.records import Quantity, Record, Table, hidden, name, number, rows, setting, warning
from calibrant.records.words import decimal
from calibrant.results.errors import IntervalLevel

ALL = "all"
COUNTS, DATA = "Counts", "Data"
COUNT, DIFFERENCE, PROBABILITIES = "Count", "Difference", "Probabilities"
COVERAGE, UNIFORMITY = "Coverage", "Uniformity"
Samples = Annotated[int, setting("Samples", "Number of samples.", headline=True)]
Seed = Annotated[
    int | None, setting("Seed", "Seed; null if a generator was given.", unit="seed", headline=True)
]
Numbers = Annotated[int, setting("n", "Numbers that were predicted.", headline=True)]
Clusters = Annotated[
    int | None,
    setting("Clusters", "Clusters of the numbers; null if they are taken as independent.", headline=True),
]


class CorrectedMean(Record, frozen=True, kw_only=True):
    """Proportion of documents, and their number, by one method, in one period."""

    period: Annotated[str, name("Period", "Period; all for all documents together, which come first.")]
    method: Annotated[str, name("Method", "Method: uncorrected, labels, ppi, ppi++, dsl, prior-shift or em.")]
    documents: Annotated[int, number("Documents", "Documents of the period.", group=DATA, headline=True)]
    labelled: Annotated[int, number("Labeled", "Documents with a label.", group=DATA, headline=True)]
    effective: Annotated[
        float | None,
        number(
            "Effective labels",
            "Effective number of labels, or of clusters of labels if these are named, by Kish's formula. The "
            "interval has this number minus 1 degrees of freedom; with fewer than 10 it is wide. Null for "
            "uncorrected.",
            group=DATA,
        ),
    ]
    count: Annotated[
        Quantity,
        number(
            "Count",
            "Number of documents that are positive; for graded labels, their sum.",
            group=COUNTS,
            headline=True,
            digits=1,
        ),
    ]
    share: Annotated[
        Quantity,
        number(
            "Proportion",
            "The same as a proportion of the documents; for graded labels, the mean label.",
            group=COUNTS,
            headline=True,
            short="share",
        ),
    ]
    weight: Annotated[
        float | None,
        number(
            "Weight",
            "Weight of the scores: 0 ignores them, and 1 is that of ppi and dsl. Null for uncorrected, "
            "prior-shift and em.",
            group=DATA,
            digits=2,
        ),
    ] = None
    outcome: Annotated[
        str | None, name("Class", "Class that is counted; null if there is only one outcome.")
    ] = None
    simultaneous: Annotated[
        Quantity | None,
        number(
            "Simultaneous",
            "The same proportion, with an interval that is right for all classes together with the level "
            "(Bonferroni). Null if not all classes are estimated.",
            group=COUNTS,
            headline=True,
            interval="only",
            short="simultaneous",
        ),
    ] = None
    rates: Annotated[
        str | None,
        name(
            "Error rates",
            "Labels from which prior-shift and em take the errors of the scores: own, those of the period; "
            "pooled, all, which assumes that all periods have the same. Null for other methods.",
        ),
    ] = None
    few_warning: Annotated[str | None, warning("Few labels are positive, or few are negative.")] = None
    clusters_warning: Annotated[str | None, warning("The labels come from few effective clusters.")] = None
    dominant_warning: Annotated[str | None, warning("One cluster has most of the labels.")] = None
    shift_warning: Annotated[
        str | None, warning("Error rates of periods, which prior-shift and em take as equal, may differ.")
    ] = None
    uncorrected_warning: Annotated[str | None, warning("Labels contradict the mean score.")] = None


class CorrectedCounts(Record, frozen=True, kw_only=True):
    """Proportions and numbers of documents by period and method."""

    documents: Annotated[int, setting("Documents", "Number of documents.", headline=True)]
    labelled: Annotated[int, setting("Labeled", "Number of labeled documents.", headline=True)]
    population: Annotated[
        str,
        setting(
            "Population",
            "Documents that are counted: corpus, these documents; superpopulation, those that they were "
            "drawn from.",
            headline=True,
        ),
    ]
    clusters: Annotated[
        int | None,
        setting(
            "Clusters",
            "Clusters of the labeled documents; null if they are treated as independent.",
            headline=True,
        ),
    ]
    sampling: Annotated[
        str,
        setting(
            "Sampling",
            "Design of the labeled sample, on which the variance depends. simple: equal probabilities in "
            "each period; fixed: a fixed number of documents per stratum or group of equal probability; "
            "independent: each document independently, with its probability.",
            headline=True,
        ),
    ]
    sampling_detected: Annotated[
        bool,
        setting(
            "Sampling detected",
            "True if the design was inferred from the probabilities. If you know it, state it (sampling).",
            headline=True,
        ),
    ]
    level: IntervalLevel
    selection_warning: Annotated[
        str | None, warning("The data contradict the probabilities of being labeled.")
    ]
    rates_warning: Annotated[str | None, warning("Groups were labeled at different rates.")] = None
    class_warning: Annotated[str | None, warning("Labels have classes that scores never have.")] = None
    groups_warning: Annotated[
        str | None, warning("Groups were labeled as a whole, and labels are treated as independent.")
    ] = None
    command: Annotated[
        str | None, setting("Command", "Command line that reproduces the result; null if there is none.")
    ]
    estimates: Annotated[
        tuple[CorrectedMean, ...],
        rows("Counts", "Estimates of each method, first for all documents, then for the periods in order."),
    ]
    differences: Annotated[
        tuple[GroupDifference, ...],
        rows(
            "Differences",
            "Differences between groups, or consecutive periods, adjusted for their number.",
        ),
    ] = ()
    trends: Annotated[
        tuple[GroupTrend, ...], rows("Trends", "Linear trend over periods, for each series of at least 3.")
    ] = ()
    outcome: Annotated[
        str,
        setting(
            "Outcome", "binary (labels 0 and 1), grades (numbers, of which the mean is estimated) or classes."
        ),
    ] = "binary"
    score_warning: Annotated[
        str | None, warning("Labels show that the scores are not the probabilities they are used as.")
    ] = None
    shared_variance: Annotated[
        bool,
        setting(
            "Shared variance",
            "True if the intervals of ppi++ of the groups share the variance of the residuals.",
        ),
    ] = False
    reported: Annotated[
        str | None, setting("Reported", "Method to report; null if methods were chosen.", headline=True)
    ] = None
    reported_because: Annotated[
        str | None, setting("Reason", "Why this method is the one to report; null without it.")
    ] = None

    def to_tables(self) -> tuple[Table, ...]:
        """Return the tables, without the columns of classes and error rates if all are empty."""
        tables = super().to_tables()
        for column in ("outcome", "rates"):
            if all(getattr(one, column) is None for one in self.estimates):
                tables = tuple(_without(table, column) for table in tables)
        return tables

    def main_tables(self) -> tuple[Table, ...]:
        """Return the estimates of the reported method, and the differences and trends."""
        if self.reported is None:
            return self._with_comparisons(super().main_tables())
        shown = tuple(one for one in self.estimates if one.method == self.reported)
        return self._with_comparisons(
            super(CorrectedCounts, structs.replace(self, estimates=shown)).main_tables()
        )

    def _with_comparisons(self, tables: tuple[Table, ...]) -> tuple[Table, ...]:
        """Return tables, and those of differences and trends if there are some."""
        names = [name for name in ("differences", "trends") if getattr(self, name)]
        return (*tables, *(one for one in self.to_tables() if one.name in names))

    def summary(self) -> str:
        """Return the method to report, its reason, and what would be stated without a correction."""
        if self.reported is None:
            return ""
        raw = [one for one in self.estimates if one.method == "uncorrected" and one.period == ALL]
        share = raw[0].share.estimate if len(raw) == 1 else None
        what = "mean" if self.outcome == "grades" else "proportion"
        wrong = ", which labels contradict" if raw and raw[0].uncorrected_warning is not None else ""
        beside = "" if share is None else f" Without correction, the {what} would be {decimal(share)}{wrong}."
        return f"Report {self.reported}: {self.reported_because}.{beside}"


def _without(table: Table, column: str) -> Table:
    """Return a table without a column."""
    kept = [number for number, one in enumerate(table.columns) if one.name != column]
    rows = tuple(tuple(row[number] for number in kept) for row in table.rows)
    return dataclasses.replace(table, columns=tuple(table.columns[number] for number in kept), rows=rows)


class PropagatedQuantity(Record, frozen=True, kw_only=True):
    """Distribution of one quantity over samples of a structure."""

    quantity: Annotated[str, name("Quantity", "Name of the quantity.")]
    mean: Annotated[
        Quantity,
        number(
            "Mean",
            "Mean over the samples, with the central interval of the samples, whose ends are values that "
            "occur, and with its Monte Carlo standard error: sd / root of the number of samples.",
            group="Samples",
            headline=True,
        ),
    ]
    sd: Annotated[float, number("SD", "Standard deviation over the samples.", group="Samples", headline=True)]
    normal: Annotated[
        Quantity,
        number(
            "Normal approximation",
            "The mean with the interval of a normal distribution, mean -+ z sd.",
            group="Samples",
            headline=True,
            interval="only",
            short="normal",
        ),
    ]


class Propagated(Record, frozen=True, kw_only=True):
    """Distribution of quantities over samples of a structure."""

    quantities: Annotated[tuple[PropagatedQuantity, ...], rows("Quantities", "One entry per quantity.")]
    level: IntervalLevel
    samples: Samples
    seed: Seed
    drawn: Annotated[Floats | None, hidden()] = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the J quantities."""
        return tuple(row.quantity for row in self.quantities)

    @property
    def values(self) -> Floats:
        """The sampled quantities themselves, (samples, J).

        Raises
        ------
        InputError
            If the record was read from JSON, which does not contain them.
        """
        if self.drawn is None:
            raise InputError("a record read from JSON has no sampled values", "draw again", code="input")
        return self.drawn


class Exceedance(Record, frozen=True, kw_only=True):
    """Comparison of two uncertain quantities."""

    first: Annotated[str, name("First", "Name of the first quantity.")]
    second: Annotated[str, name("Second", "Name of the second quantity.")]
    greater: Annotated[
        float,
        number(
            "P(first greater)",
            "Probability that the first quantity is greater than the second.",
            group=PROBABILITIES,
            headline=True,
        ),
    ]
    equal: Annotated[
        float, number("P(equal)", "Probability that both are equal.", group=PROBABILITIES, headline=True)
    ]
    less: Annotated[
        float,
        number("P(first less)", "Probability that the first is less.", group=PROBABILITIES, headline=True),
    ]
    standard_error: Annotated[
        float,
        number(
            "Standard error",
            "Monte Carlo standard error of the probability that the first is greater; 0 where it is exact.",
            group=PROBABILITIES,
        ),
    ]
    difference: Annotated[
        Quantity,
        number(
            "Difference",
            "Mean of the first minus the second, with the central interval of the difference.",
            group=DIFFERENCE,
            headline=True,
        ),
    ]
    level: IntervalLevel
    samples: Annotated[
        int | None,
        setting("Samples", "Number of samples; null where probabilities are exact.", headline=True),
    ]


class Drift(Quantity, frozen=True, kw_only=True):
    """Standard deviation of the shifts of log-odds between periods."""

    periods: Annotated[
        int | None,
        setting(
            "Periods",
            "Labeled periods from which the drift was estimated: the posterior median with its central 95 % "
            "interval; null if it was given.",
        ),
    ] = None


Shared = Annotated[
    Quantity | None,
    number(
        "With shared uncertainty",
        "The same count with a total interval, which includes the uncertainty of the probabilities that all "
        "documents share; it is the one to quote, with its condition. Null without labeled documents.",
        group=COUNT,
        headline=True,
        interval="only",
        short="total interval",
        digits=2,
    ),
]
Expected = Annotated[
    Quantity,
    number(
        "Count",
        "Expected number of documents that count, which need not be whole, with the interval under the "
        "model, which includes only the model's own uncertainty, not errors that all documents share.",
        group=COUNT,
        headline=True,
        digits=2,
    ),
]
Deviation = Annotated[
    float,
    number("SD", "Standard deviation of the count under the model.", group=COUNT, headline=True, digits=2),
]
HowInterval = Annotated[
    str,
    setting(
        "Interval",
        "Method of the interval under the model: poisson-binomial, normal or samples.",
        headline=True,
    ),
]
HowDrift = Annotated[
    Drift | None,
    setting(
        "Drift",
        "Standard deviation of the shifts of log-odds between periods that the total interval includes; "
        "null for none.",
        headline=True,
    ),
]


class CountInterval(Record, frozen=True, kw_only=True):
    """Number of documents that count."""

    count: Expected
    sd: Deviation
    total: Shared = None
    documents: Annotated[int, setting("Documents", "Documents that may count.", headline=True)]
    level: IntervalLevel
    interval: HowInterval
    samples: Annotated[
        int | None, setting("Samples", "Samples of each document; null for exact probabilities.")
    ] = None
    refits: Annotated[
        int, setting("Refits", "Number of recalibrators behind the total interval.", headline=True)
    ] = 0
    failed_refits: Annotated[
        int, setting("Failed refits", "Draws of the labeled documents that gave no recalibrator.")
    ] = 0
    drift: HowDrift = None
    drift_warning: Annotated[
        str | None, warning("Without a drift, a score is assumed to have the same meaning in all periods.")
    ] = None


class LevelCoverage(Record, frozen=True, kw_only=True):
    """Coverage of the central intervals of one level."""

    nominal: Annotated[
        float, number("Nominal", "Level of the intervals.", group=COVERAGE, headline=True, digits=2)
    ]
    coverage: Annotated[
        Quantity,
        number("Coverage", "Proportion of true numbers inside the intervals.", group=COVERAGE, headline=True),
    ]


class QuantileCalibration(Record, frozen=True, kw_only=True):
    """Position of true numbers in the distributions of their samples."""

    statistic: Annotated[
        float | None,
        number(
            "Statistic",
            "Neyman's smooth test of uniformity of the randomized ranks, with four components; with clusters "
            "two (position, and distance from the middle).",
            group=UNIFORMITY,
        ),
    ]
    p_value: Annotated[
        float | None,
        number("p-value", "P-value of this test.", group=UNIFORMITY, unit="p-value", headline=True),
    ]
    reason: Annotated[str | None, setting("Reason", "Reason why there is no test; null if there is one.")] = (
        None
    )
    degenerate: Annotated[
        float,
        number(
            "Degenerate",
            "Proportion of predictions whose samples are all equal: they say nothing of the intervals.",
            group=UNIFORMITY,
        ),
    ]
    coverage: Annotated[
        tuple[LevelCoverage, ...], rows("Coverage", "Coverage of central intervals, one entry per level.")
    ]
    level: IntervalLevel
    n: Numbers
    clusters: Clusters
    samples: Samples
    seed: Seed
    transforms: Annotated[Floats | None, hidden()] = None

    @property
    def pit(self) -> Floats:
        """Randomized probability integral transforms, (n,); uniform if the samples are right.

        Raises
        ------
        InputError
            If the record was read from JSON, which does not contain them.
        """
        if self.transforms is None:
            raise InputError("a record read from JSON has no transforms", "compute it again", code="input")
        return self.transforms


class CentralSet(Record, frozen=True, kw_only=True):
    """Hits of the central sets of one level."""

    nominal: Annotated[
        float,
        number(
            "Nominal",
            "Level of the sets; sets of whole numbers state at least that.",
            group=COVERAGE,
            headline=True,
            digits=2,
        ),
    ]
    hits: Annotated[int, number("Hits", "True numbers inside.", group=COVERAGE, headline=True)]
    stated: Annotated[
        float, number("Stated", "Hits expected: the sum of the stated masses.", group=COVERAGE, headline=True)
    ]
    p_value: Annotated[
        float,
        number(
            "p-value",
            "Two-sided p-value; exact for independent predictions, with clusters after a design effect.",
            group=COVERAGE,
            unit="p-value",
            headline=True,
        ),
    ]


class CentralSets(Record, frozen=True, kw_only=True):
    """Hits of central sets against the mass that the samples state for them."""

    sets: Annotated[tuple[CentralSet, ...], rows("Sets", "One entry per level.")]
    n: Numbers
    clusters: Clusters
