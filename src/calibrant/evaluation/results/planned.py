"""Records of a plan of runs: the items and runs per item that a comparison needs, from a pilot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.records import Record, name, number, rows, setting
from calibrant.results.errors import IntervalLevel

NEEDED, PILOT = "Needed", "Pilot"
HALF_WIDTH, DIFFERENCE = "half width", "difference"

First = Annotated[str, name("First", "The system, or the first system of the pair.")]
Second = Annotated[str, name("Second", "Second system of the pair; empty for the mean of one system.")]


class PlannedRuns(Record, frozen=True, kw_only=True):
    """Items that a comparison needs with a number of runs per item."""

    first: First
    second: Second
    runs: Annotated[
        int, number("Runs", "Runs per item of each system.", group=NEEDED, headline=True, digits=0)
    ]
    items: Annotated[
        int | None,
        number("Items", "Smallest number of items that reaches the goal.", group=NEEDED, headline=True),
    ]
    safe_items: Annotated[
        int | None,
        number(
            "Safe items",
            "Items that are needed if the variance is at the upper end of its interval from the pilot.",
            group=NEEDED,
            headline=True,
        ),
    ]
    answers: Annotated[
        int | None,
        number("Answers", "Safe items times runs: answers of each system.", group=NEEDED, headline=True),
    ]
    cost: Annotated[
        float | None,
        number(
            "Cost",
            "Safe items times (item cost + runs): the unit is one answer of each system.",
            group=NEEDED,
            headline=True,
            digits=0,
        ),
    ]
    cheapest: Annotated[
        bool,
        number(
            "Cheapest", "True for the number of runs with the smallest cost.", group=NEEDED, headline=True
        ),
    ]
    reason: Annotated[str | None, setting("Reason", "Reason why the items are undefined, if they are.")] = (
        None
    )


class PilotVariance(Record, frozen=True, kw_only=True):
    """Variances of a pilot: of a system's scores, or of the differences of a pair."""

    first: First
    second: Second
    items: Annotated[int, number("Items", "Items of the pilot.", group=PILOT, headline=True)]
    runs: Annotated[
        float, number("Runs", "Mean number of runs per item.", group=PILOT, headline=True, digits=1)
    ]
    estimate: Annotated[
        float,
        number(
            "Estimate", "Mean, or mean difference, in the pilot.", group=PILOT, headline=True, signed=True
        ),
    ]
    item_variance: Annotated[
        float,
        number(
            "Variance between items",
            "Variance of the expected score (or difference) of an item; with clusters, n times the variance "
            "of the mean. With one run per item, it includes the variance between runs.",
            group=PILOT,
            headline=True,
            short="between items",
        ),
    ]
    run_variance: Annotated[
        float | None,
        number(
            "Variance between runs",
            "Mean variance between the runs of an item, of a pair the sum of both; null if an item has one "
            "run.",
            group=PILOT,
            headline=True,
            short="between runs",
        ),
    ]


class RunPlan(Record, frozen=True, kw_only=True):
    """Items and runs per item that reach a width of the interval, or detect a difference."""

    main_table = "plans"

    goal: Annotated[
        str,
        setting(
            "Goal",
            "half width (of the interval, on average) or difference (detected with the power).",
            headline=True,
        ),
    ]
    wanted: Annotated[float, setting("Wanted", "Half width, or difference to detect.", headline=True)]
    plans: Annotated[tuple[PlannedRuns, ...], rows("Plans", "Items that each number of runs per item needs.")]
    pilot: Annotated[tuple[PilotVariance, ...], rows("Pilot", "Variances of the pilot.")]
    item_cost: Annotated[
        float, setting("Item cost", "Cost of a further item, in answers of each system.", headline=True)
    ]
    level: IntervalLevel
    power: Annotated[
        float, setting("Power", "Probability that the difference is detected.", unit="percent", headline=True)
    ]
    clusters: Annotated[
        bool, setting("Clusters", "True if items are in clusters that were named.", headline=True)
    ]
    assumptions: Annotated[tuple[str, ...], setting("Assumptions", "Each assumption in a sentence.")] = ()

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the assumptions."""
        yield from (("", f"Assumed: {assumption}") for assumption in self.assumptions)

    def summary(self) -> str:
        """Return the cheapest plan of the first row."""
        best = next((plan for plan in self.plans if plan.cheapest), None)
        if best is None or best.items is None:
            return "No plan reaches the goal."
        what = f"{best.first} - {best.second}" if best.second else best.first
        runs = "one run" if best.runs == 1 else f"{best.runs} runs"
        goal = (
            f"an interval of +-{self.wanted:g}"
            if self.goal == HALF_WIDTH
            else f"a difference of {self.wanted:g} with a power of {100 * self.power:g} %"
        )
        cost = f"costs {self.item_cost:g} answers" if self.item_cost else "costs nothing"
        items = f"{best.items:,} items (to be safe, {best.safe_items:,}) with {runs} each"
        return f"{what}: {items} are the cheapest way to {goal}, if a further item {cost}."
