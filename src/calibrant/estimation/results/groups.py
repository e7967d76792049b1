"""Records of differences and trends of groups."""

from __future__ import annotations

from typing import Annotated, Any

from calibrant.records import Quantity, Record, hidden, name, number

DIFFERENCE, TEST = "Difference", "Test"
Outcome = Annotated[str | None, name("Class", "Class that is counted; null if there is only one outcome.")]
Method = Annotated[str, name("Method", "Method of the estimates.")]
PValue = Annotated[
    float,
    number(
        "p-value",
        "Two-sided p-value of Student's t test that it is 0.",
        group=TEST,
        unit="p-value",
        short="p",
    ),
]
Holm = Annotated[
    float | None,
    number(
        "p-value (Holm)",
        "The p-value adjusted by Holm's method for the number of rows of this method.",
        group=TEST,
        unit="p-value",
        headline=True,
        short="p (Holm)",
    ),
]


class GroupDifference(Record, frozen=True, kw_only=True):
    """Difference of the proportions, or mean labels, of two groups or periods."""

    first: Annotated[
        str, name("First", "Group from whose proportion or mean that of the second is subtracted.")
    ]
    second: Annotated[str, name("Second", "Group that is subtracted: the baseline, or the earlier period.")]
    outcome: Outcome = None
    method: Method
    difference: Annotated[
        Quantity,
        number(
            "Difference",
            "Proportion (or mean label) of the first group minus that of the second. The interval is for "
            "this difference alone.",
            group=DIFFERENCE,
            headline=True,
        ),
    ]
    simultaneous: Annotated[
        Quantity | None,
        number(
            "Simultaneous",
            "The same with an interval of the level 1 - (1 - level) / rows, so that all intervals of this "
            "method are right with the level (Bonferroni). Null for one difference.",
            group=DIFFERENCE,
            headline=True,
            interval="only",
            short="simultaneous",
        ),
    ] = None
    p_value: PValue
    holm_p_value: Holm = None
    kept: Annotated[Any, hidden()] = None


class GroupTrend(Record, frozen=True, kw_only=True):
    """Linear trend of the proportions, or mean labels, of periods."""

    series: Annotated[str | None, name("Group", "Group of the periods; null if there are no other groups.")]
    outcome: Outcome = None
    method: Method
    first: Annotated[str, name("From", "First period with an estimate.")]
    last: Annotated[str, name("To", "Last period with an estimate.")]
    periods: Annotated[int, number("Periods", "Periods with an estimate.", group=DIFFERENCE, headline=True)]
    slope: Annotated[
        Quantity,
        number(
            "Slope",
            "Change of the proportion (or mean label) per period: slope of the least-squares line through "
            "the estimates, in which each period counts alike. Periods without documents count as time.",
            group=DIFFERENCE,
            headline=True,
        ),
    ]
    p_value: PValue
    holm_p_value: Holm = None
