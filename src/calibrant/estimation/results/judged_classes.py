"""Records of the classes of answers that a judge names, corrected by labels for some of the answers."""

from __future__ import annotations

from typing import Annotated

from calibrant.estimation.results.judging import (
    DATA,
    ERRORS,
    MOST_SYSTEMS,
    SCORES,
    JudgedDifference,
    JudgedMean,
)
from calibrant.records import Quantity, Record, Table, name, number, rows, setting, warning
from calibrant.records.words import counted, decimal
from calibrant.results.errors import IntervalLevel

MOST_CLASSES = 12  # whose confusion is printed in brief


class JudgedShare(JudgedMean, frozen=True, kw_only=True):
    """Proportion of one class in one system's answers, estimated from all judge classes and some labels."""

    kind: Annotated[str, name("Class", "Name of the class.")]
    simultaneous: Annotated[
        Quantity,
        number(
            "Simultaneous",
            "The corrected proportion with an interval that contains the truth for all classes of the system "
            "at once with the probability of the level (Bonferroni).",
            group=SCORES,
            headline=True,
            interval="only",
            short="all classes",
        ),
    ]


class JudgedShareDifference(JudgedDifference, frozen=True, kw_only=True):
    """Difference between two systems' proportions of one class, on the prompts that both answered."""

    kind: Annotated[str, name("Class", "Name of the class.")]


class JudgeConfusion(Record, frozen=True, kw_only=True):
    """How often the judge names a class for answers with a label."""

    label: Annotated[str, name("Label", "Class of the label.")]
    judge: Annotated[str, name("Judge", "Class that the judge names.")]
    labelled: Annotated[
        float,
        number(
            "Labeled",
            "Answers with this label; an answer with several labels counts for each class in proportion.",
            group=DATA,
            headline=True,
            digits=1,
        ),
    ]
    fraction: Annotated[
        Quantity,
        number(
            "Fraction",
            "Fraction of the answers with this label for which the judge names this class, in all systems "
            "together. For two classes: the judge's sensitivity and specificity.",
            group=ERRORS,
            headline=True,
        ),
    ]


class JudgedClasses(Record, frozen=True, kw_only=True):
    """Proportions of classes that a judge names, corrected by labels for some of the answers."""

    main_table = "shares"

    shares: Annotated[
        tuple[JudgedShare, ...],
        rows("Proportions of classes", "Corrected proportions, beside the judge and the labels alone."),
    ]
    differences: Annotated[
        tuple[JudgedShareDifference, ...],
        rows(
            "Differences, first minus second",
            "Paired differences of the proportion of each class, of all pairs of systems.",
        ),
    ] = ()
    confusion: Annotated[
        tuple[JudgeConfusion, ...],
        rows("Confusion of the judge", "Classes that the judge names for answers with a label."),
    ] = ()
    classes: Annotated[tuple[str, ...], setting("Classes", "Names of the classes.", headline=True)]
    margin: Annotated[
        float | None,
        setting("Margin", "Difference that does not matter; null if none was given.", headline=True),
    ]
    level: IntervalLevel
    power: Annotated[
        float, setting("Power", "Power for which the labels needed are computed.", unit="percent")
    ]
    clusters: Annotated[
        str, setting("Clusters", "Column of the clusters: rows of one cluster may depend on each other.")
    ]
    rule: Annotated[str, setting("Method", "Rule by which the method of the proportions is chosen.")]
    items_warning: Annotated[str | None, warning("Prompts that not all systems answered.")] = None
    command: Annotated[
        str | None, setting("Command", "Command line that reproduces the result; null if there is none.")
    ] = None

    def main_tables(self) -> tuple[Table, ...]:
        """Return the proportions, their differences if they are few, and the judge's confusion."""
        tables = {table.name: table for table in self.to_tables()}
        names = ["shares"]
        if self.differences and len({row.system for row in self.shares}) <= MOST_SYSTEMS:
            names.append("differences")
        if self.confusion and len(self.classes) <= MOST_CLASSES:
            names.append("confusion")
        return tuple(tables[one] for one in names)

    def summary(self) -> str:
        """Return how many differences are shown, the largest of them, and where the judge errs most."""
        parts = []
        settled = [row for row in self.differences if row.verdict in (row.first, row.second)]
        if self.differences:
            total = counted(len(self.differences), "difference")
            parts.append(
                f"{len(settled)} of {total} between systems are shown (Holm over classes and pairs)."
            )
        if settled:
            row = max(settled, key=lambda one: abs(one.difference.estimate or 0.0))
            other = row.second if row.verdict == row.first else row.first
            size = decimal(abs(row.difference.estimate or 0.0))
            more = f"the proportion of {row.kind} is {size} higher for {row.verdict} than for {other}"
            parts.append(f"The largest: {more}.")
        wrong = [
            row for row in self.confusion if row.label != row.judge and row.fraction.estimate is not None
        ]
        if wrong:
            most = max(wrong, key=lambda one: one.fraction.estimate or 0.0)
            share = decimal(most.fraction.estimate or 0.0)
            parts.append(f"The judge most often confuses {most.label} with {most.judge}: {share} of them.")
        return " ".join(parts)
