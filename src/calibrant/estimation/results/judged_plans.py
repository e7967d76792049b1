"""Records of how many labels a judged mean or difference needs."""

from __future__ import annotations

from typing import Annotated

from calibrant.estimation.results.judging import DATA, WORTH
from calibrant.records import Quantity, Record, name, number, rows, setting, warning
from calibrant.records.words import percent
from calibrant.results.errors import IntervalLevel

NEEDED = "Needed"


class PlannedJudgment(Record, frozen=True, kw_only=True):
    """Number of labeled prompts that the mean of a system, or the difference of two, needs."""

    first: Annotated[str, name("First", "The system, or the first of a pair.")]
    second: Annotated[str, name("Second", "Second system of a pair; empty for a mean.")]
    labelled: Annotated[
        int, number("Pilot", "Labeled prompts of the pilot that the plan uses.", group=DATA, headline=True)
    ]
    labels: Annotated[
        int | None,
        number(
            "Labels",
            "Labeled prompts that are needed, with those of the pilot if they are used again; for a "
            "difference, with labels of both systems. Null if labels for all judged prompts are not enough.",
            group=NEEDED,
            headline=True,
        ),
    ]
    safe_labels: Annotated[
        int | None,
        number(
            "Safe labels",
            "Labeled prompts that are enough with a probability of 80 %, since the pilot's variance is "
            "uncertain, too.",
            group=NEEDED,
            headline=True,
        ),
    ]
    without: Annotated[
        int | None,
        number(
            "Without judge",
            "Labeled prompts that are needed without the judge; null if more than all judged prompts.",
            group=NEEDED,
            headline=True,
        ),
    ]
    gain: Annotated[
        Quantity,
        number(
            "Gain in labels",
            "Variance of the pilot's labels alone over that with the judge: n labels with it are worth gain "
            "times n labels without it. If the interval contains 1, the judge is not shown to help.",
            group=WORTH,
            headline=True,
            digits=2,
        ),
    ]


class JudgePlan(Record, frozen=True, kw_only=True):
    """Number of labeled prompts that judged means or differences need, from a pilot."""

    goal: Annotated[
        str, setting("Goal", "width of the interval of a mean, or a difference to detect.", headline=True)
    ]
    width: Annotated[float | None, setting("Width", "Wanted width; null for a difference.", headline=True)]
    difference: Annotated[
        float | None, setting("Difference", "Difference to detect; null for a width.", headline=True)
    ]
    power: Annotated[
        float | None,
        setting(
            "Power",
            "Probability of detecting the difference; null for a width.",
            unit="percent",
            headline=True,
        ),
    ]
    level: IntervalLevel
    tests: Annotated[
        int,
        setting(
            "Tests",
            "Pairs of systems, for whose number the level of tests is adjusted (Bonferroni); 1 for widths.",
        ),
    ]
    prompts: Annotated[int, setting("Prompts", "Prompts that the judge scores.", headline=True)]
    method: Annotated[str, setting("Method", "Method that the plan is for: ppi++ or map.")]
    pilot_warning: Annotated[str | None, warning("The pilot has few prompts or clusters with labels.")] = None
    judge_warning: Annotated[str | None, warning("The judge is not shown to help.")] = None
    plans: Annotated[tuple[PlannedJudgment, ...], rows("Labels", "One row per system or pair of systems.")]

    def summary(self) -> str:
        """Return the number of labels that is enough for all rows, and what the judge saves."""
        if any(row.labels is None for row in self.plans):
            return (
                f"Labels for all {self.prompts:,} prompts are not enough, or too few are known: see the rows."
            )
        labels = max((row.labels or 0 for row in self.plans), default=0)
        safe = max((row.safe_labels or self.prompts for row in self.plans), default=0)
        aim = (
            f"an interval of width {self.width:g}"
            if self.width is not None
            else f"a difference of {self.difference:g} with {percent(self.power or 0)} power"
        )
        return f"{labels:,} labeled prompts are needed for {aim} (to be safe, {safe:,})."
