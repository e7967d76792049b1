"""Records of means, tests of a difference, and comparisons of many systems."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated

from calibrant.evaluation.results.interval_estimate import Few
from calibrant.records import Quantity, Record, Table, name, number, part, rows, setting, warning
from calibrant.records.words import counted, decimal, percent

MEAN, DIFFERENCE, COUNTS, ITEMS = "Mean", "Difference", "Counts", "Items needed"
MOST_IN_FULL = 3  # pairs of systems
MOST_RANKED = 6  # systems that a summary names

Level = Annotated[
    float, setting("Level", "Coverage of intervals; one minus the nominal size of tests.", unit="percent")
]
Alternative = Annotated[
    str,
    setting(
        "Alternative",
        "Hypothesis of the test: two-sided, greater (the first system has the greater mean) or less.",
        headline=True,
    ),
]
Clusters = Annotated[
    int | None,
    setting("Clusters", "Clusters of dependent items; null if items are independent.", headline=True),
]
Ratio = Annotated[
    float | None,
    setting(
        "Test-train ratio",
        "Size of a fold's test data over that of its training data; null if unknown, or for items.",
        headline=True,
    ),
]
Freedom = Annotated[
    float | None, setting("Degrees of freedom", "Degrees of freedom of Student's t; null for one value.")
]
Seed = Annotated[int, setting("Seed", "Seed of the draws.", unit="seed", headline=True)]
Reason = Annotated[str | None, setting("Reason", "Reason why numbers are undefined, if they are.")]
PValue = Annotated[
    float | None,
    number(
        "p-value",
        "Probability of a difference at least as extreme under the null hypothesis.",
        group=DIFFERENCE,
        unit="p-value",
        headline=True,
        short="p",
    ),
]


class MeanInterval(Record, frozen=True, kw_only=True):
    """A mean with Student's interval, extended on the side of its skewness."""

    mean: Annotated[
        Quantity,
        number(
            "Mean",
            "Mean score. With the ratio of test to training data, the interval allows for the overlap of "
            "training data between folds (Nadeau and Bengio); without it, values (or clusters) are assumed "
            "to be independent.",
            group=MEAN,
            headline=True,
        ),
    ]
    plain: Annotated[
        Quantity | None,
        number(
            "Mean, as if folds were independent",
            "The same mean with an interval that ignores the overlap of training data between folds, and is "
            "too narrow; null without the ratio of test to training data.",
            group=MEAN,
            headline=True,
            interval="only",
            short="as if independent",
        ),
    ] = None
    standard_deviation: Annotated[
        Quantity,
        number(
            "Standard deviation",
            "Standard deviation of the values, n - 1 in the denominator.",
            group=MEAN,
            headline=True,
            interval=False,
            short="sd",
        ),
    ]
    n: Annotated[int, setting("n", "Number of values.")]
    level: Level
    clusters: Clusters = None
    test_train_ratio: Ratio = None
    freedom: Freedom = None
    warning: Few = None


class PlainTest(Record, frozen=True, kw_only=True):
    """Plain t-test of a difference on folds, which takes them as independent."""

    difference: Annotated[
        Quantity,
        number(
            "Difference",
            "Difference with an interval that ignores the overlap of training data and is too narrow.",
            group=DIFFERENCE,
            signed=True,
        ),
    ]
    t: Annotated[
        float | None, number("t", "Difference divided by its plain standard error.", group=DIFFERENCE)
    ]
    p_value: Annotated[
        float | None,
        number(
            "p-value", "P-value of the plain t-test, which is too small.", group=DIFFERENCE, unit="p-value"
        ),
    ]
    reason: Reason = None


class PairedTest(Record, frozen=True, kw_only=True):
    """A paired t-test of a difference, corrected for overlapping training data where the ratio is known."""

    difference: Annotated[
        Quantity,
        number(
            "Difference",
            "Mean of first minus second; two-sided interval. With the ratio of test to training data, the "
            "interval, t and the p-value allow for the overlap of training data between folds (Nadeau and "
            "Bengio).",
            group=DIFFERENCE,
            headline=True,
            signed=True,
        ),
    ]
    standard_deviation: Annotated[
        float | None, number("Standard deviation", "Standard deviation of the differences.", group=DIFFERENCE)
    ]
    t: Annotated[float | None, number("t", "Difference divided by its standard error.", group=DIFFERENCE)]
    critical: Annotated[
        float | None,
        number(
            "Critical value",
            "Value that t has to exceed at this level (its absolute value, if two-sided; -t for less).",
            group=DIFFERENCE,
        ),
    ]
    p_value: PValue
    wins: Annotated[int, number("Wins", "Pairs in which the first score is better.", group=COUNTS)]
    ties: Annotated[int, number("Ties", "Pairs in which the scores are equal.", group=COUNTS)]
    losses: Annotated[int, number("Losses", "Pairs in which the first score is worse.", group=COUNTS)]
    plain: Annotated[
        PlainTest | None,
        part(
            "As if folds were independent",
            "The plain t-test, which ignores the overlap of training data between folds, and finds "
            "differences that are not there; null without the ratio of test to training data.",
            group="Plain t-test, which ignores that folds share training data",
        ),
    ] = None
    n: Annotated[int, setting("n", "Number of pairs.", headline=True)]
    alternative: Alternative
    level: Level
    clusters: Clusters = None
    test_train_ratio: Ratio = None
    freedom: Freedom = None
    reason: Reason = None
    warning: Few = None


class ResampledTest(Record, frozen=True, kw_only=True):
    """A test of a difference by resampling items or clusters."""

    method: Annotated[
        str,
        setting(
            "Method",
            "Method: bootstrap (units drawn with replacement), permutation (the systems swapped in units) or "
            "t (Student's t of the linearized difference, for fewer than 30 units).",
        ),
    ]
    difference: Annotated[
        Quantity,
        number(
            "Difference", "Statistic of the first minus that of the second.", group=DIFFERENCE, signed=True
        ),
    ]
    p_value: Annotated[
        float | None,
        number(
            "p-value",
            "Probability of a difference at least as extreme under the null hypothesis; never 0 if estimated "
            "from draws.",
            group=DIFFERENCE,
            unit="p-value",
        ),
    ]
    alternative: Alternative
    units: Annotated[int, setting("Units", "Number of items or clusters that are resampled.")]
    samples: Annotated[int, setting("Samples", "Number of draws, or of all swaps if exact.")]
    exact: Annotated[bool, setting("Exact", "True if all swaps were enumerated.")]
    level: Level
    seed: Seed
    reason: Reason = None
    warning: Annotated[
        str | None,
        warning("Few clusters, differing units or samples, or skewed values limit the test or its interval."),
    ] = None


class McNemarTest(Record, frozen=True, kw_only=True):
    """McNemar's test of the items on which one system alone is correct."""

    first_only: Annotated[
        int, number("First correct only", "Items on which only the first system is correct.", group=COUNTS)
    ]
    second_only: Annotated[
        int, number("Second correct only", "Items on which only the second system is correct.", group=COUNTS)
    ]
    both: Annotated[int, number("Both correct", "Items on which both systems are correct.", group=COUNTS)]
    neither: Annotated[
        int, number("Neither correct", "Items on which neither system is correct.", group=COUNTS)
    ]
    method: Annotated[
        str, setting("Method", "Method: exact (binomial) or chi-squared (with continuity correction).")
    ]
    statistic: Annotated[
        float | None, setting("Statistic", "Smaller of the two counts, or the chi-squared statistic.")
    ]
    p_value: Annotated[
        float | None,
        number(
            "p-value",
            "Two-sided probability of counts at least as unequal if neither system is better.",
            group=DIFFERENCE,
            unit="p-value",
        ),
    ]
    reason: Reason = None


class Detectable(Record, frozen=True, kw_only=True):
    """Difference that a number of items detects, and the number of items that a difference needs."""

    detectable: Annotated[
        float,
        number(
            "Smallest difference",
            "Smallest true difference that a test on n pairs detects with this power.",
            group=ITEMS,
        ),
    ]
    difference: Annotated[
        float | None, setting("Difference", "Difference to detect, as given; null if none was given.")
    ]
    needed: Annotated[
        int | None,
        number("Items", "Number of pairs that detect this difference with this power.", group=ITEMS),
    ]
    more: Annotated[
        int | None,
        number(
            "Items missing", "Number of pairs needed in addition to the present ones; 0 if none.", group=ITEMS
        ),
    ]
    n: Annotated[int, setting("n", "Number of pairs.")]
    standard_deviation: Annotated[
        float, setting("Standard deviation", "Standard deviation of the differences of pairs.")
    ]
    level: Level
    power: Annotated[
        float, setting("Power", "Probability that the test detects the difference.", unit="percent")
    ]
    alternative: Alternative
    reason: Reason = None


class SystemMean(MeanInterval, frozen=True, kw_only=True):
    """Mean score of a system."""

    system: Annotated[str, name("System", "Name of the system.")]


class SystemPair(PairedTest, frozen=True, kw_only=True):
    """Difference of two systems."""

    first: Annotated[str, name("First", "First system.")]
    second: Annotated[str, name("Second", "Second system.")]
    holm_p_value: Annotated[
        float | None,
        number(
            "p-value (Holm)",
            "The p-value adjusted for the number of pairs, which controls the probability of any false "
            "discovery.",
            group=DIFFERENCE,
            unit="p-value",
            headline=True,
            short="p (Holm)",
        ),
    ]
    benjamini_hochberg_p_value: Annotated[
        float | None,
        number(
            "p-value (Benjamini-Hochberg)",
            "The p-value adjusted to control the false discovery rate.",
            group=DIFFERENCE,
            unit="p-value",
        ),
    ]
    better: Annotated[
        str | None,
        number(
            "Better",
            "System that is better at this level by Holm's p-value, and for items also by the permutation "
            "test and the interval (of 90 % for a one-sided 95 %); empty if neither is shown to be.",
            group=DIFFERENCE,
            headline=True,
        ),
    ] = None
    bootstrap: Annotated[
        ResampledTest | None,
        part("Bootstrap", "Difference by resampling; null for folds and for too many items."),
    ] = None
    permutation: Annotated[
        ResampledTest | None,
        part("Permutation", "Difference by swapping the systems; null for folds and for too many items."),
    ] = None
    mcnemar: Annotated[
        McNemarTest | None,
        part("McNemar", "McNemar's test; null unless all scores are 0 or 1 and items are independent."),
    ] = None
    detectable: Annotated[
        Detectable | None, part("Power", "Difference that these items detect; null for folds.")
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the conclusion, and a note if Student's t replaces the bootstrap."""
        if self.bootstrap is not None and self.bootstrap.method == "t":
            yield "bootstrap.difference", "Student's t: too few units to resample"
        plan, swaps = self.detectable, self.permutation
        if self.better is not None:
            yield "", f"{self.better} is better, at {percent(self.level)}"
        elif self.holm_p_value is not None and self.holm_p_value <= 1 - self.level:
            if plan is None:
                needed = "the ratio of test to training data"
            elif swaps is not None and swaps.warning is not None and not swaps.exact:
                needed = "more samples of the permutation test"
            else:
                needed = "more items" if self.clusters is None else "more clusters"
            yield "", f"The data do not show which system is better without {needed}"
        elif self.holm_p_value is not None:
            yield "", f"No difference is shown, at {percent(self.level)}"
            if plan is not None:
                items = counted(plan.n, "item")
                lacking = None if plan.more is None else counted(plan.more, "more item")
                if self.clusters is not None:
                    items += f" in {counted(self.clusters, 'cluster')}"
                    if plan.more is not None:
                        clusters = math.ceil(plan.more * self.clusters / plan.n)
                        lacking = f"about {counted(clusters, 'more cluster')} like these ({lacking})"
                show = f"{items} show one of {decimal(plan.detectable)} in {percent(plan.power)} of cases"
                yield "", show if lacking is None else f"{show}; to settle this one takes {lacking}"


class Comparison(Record, frozen=True, kw_only=True):
    """Comparison of systems on the same folds or items."""

    main_table = "pairs"
    unit: Annotated[str, setting("Unit", "Unit that has a score: fold or item.", headline=True)]
    n: Annotated[int, setting("n", "Number of folds or items.", headline=True)]
    systems: Annotated[tuple[SystemMean, ...], rows("Systems", "Mean score of each system.")]
    pairs: Annotated[
        tuple[SystemPair, ...],
        rows("Pairs, first minus second", "Differences, first minus second: paired t-tests."),
    ]
    alternative: Alternative
    higher_is_better: Annotated[
        bool, setting("Higher is better", "False for error rates and the like.", headline=True)
    ]
    level: Annotated[
        float, setting("Level", "Level of every test and interval.", unit="percent", headline=True)
    ]
    test_train_ratio: Ratio
    repeats: Annotated[
        int | None, setting("Repeats", "Repeats of cross-validation; null if unknown.", headline=True)
    ]
    clusters: Clusters
    samples: Annotated[int, setting("Samples", "Draws of each resampled test.", headline=True)]
    seed: Seed
    warning: Few = None
    folds_warning: Annotated[
        str | None, warning("Warning that folds share training data, and if intervals allow for it.")
    ] = None
    items_warning: Annotated[
        str | None, warning("Number and names of the items left out: a system has no score for them.")
    ] = None
    pairs_warning: Annotated[str | None, warning("Reason why nothing is compared: there is one system.")] = (
        None
    )

    def summary(self) -> str:
        """Return a sentence on the means, and one on the differences."""
        known = [(row.mean.estimate, row.system) for row in self.systems if row.mean.estimate is not None]
        ranked = sorted(known, reverse=self.higher_is_better)[:MOST_RANKED]
        means = ", ".join(f"{system} {decimal(mean)}" for mean, system in ranked)
        shown = sum(pair.better is not None for pair in self.pairs)
        pairs = counted(len(self.pairs), "pair")
        return f"Means, the best first: {means}. A difference is shown for {shown} of {pairs}."

    def more_tables(self) -> tuple[Table, ...]:
        """Return every number of each pair, if the pairs are few."""
        if len(self.pairs) > MOST_IN_FULL:
            return ()
        return tuple(
            replace(table, name=f"{pair.first} - {pair.second}", title=f"{pair.first} - {pair.second}")
            for pair in self.pairs
            for table in pair.to_tables()
        )
