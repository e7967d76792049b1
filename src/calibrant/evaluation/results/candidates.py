"""Records of the test if a candidate, such as a model, may take an annotator's place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from calibrant.evaluation.results.interval_estimate import Few
from calibrant.records import Quantity, Record, Table, name, number, rows, setting
from calibrant.records.words import counted, percent
from calibrant.results.errors import IntervalLevel

ADVANTAGE, DATA, TEST = "Advantage", "Data", "Test"
MOST_NAMED = 10  # annotators
PASSES, WINS, NOT_SHOWN, NOT_TESTED = "passes", "wins", "not shown", "not tested"

Candidate = Annotated[str, name("Candidate", "Name of the candidate.")]


class CandidateScore(Record, frozen=True, kw_only=True):
    """Result of one candidate against all annotators."""

    candidate: Candidate
    annotators: Annotated[
        int,
        number(
            "Annotators",
            "Annotators with 30 items or more, against whom the candidate is tested.",
            group=DATA,
            headline=True,
        ),
    ]
    wins: Annotated[
        int, number("Wins", "Annotators against whom the candidate wins.", group=TEST, headline=True)
    ]
    winning_rate: Annotated[
        float,
        number(
            "Winning rate",
            "Proportion of the annotators against whom the candidate wins. The candidate passes if it is at "
            "least 0.5.",
            group=TEST,
            best=1,
            headline=True,
            short="winning rate",
        ),
    ]
    advantage: Annotated[
        Quantity,
        number(
            "Mean advantage",
            "Mean over annotators of the probability that the candidate is at least as close to the other "
            "annotators as this annotator is. Compare candidates by it.",
            group=ADVANTAGE,
            best=1,
            headline=True,
            short="advantage",
        ),
    ]
    needed: Annotated[
        int | None,
        number(
            "Items needed",
            "Items per annotator with which the candidate would win against half of the annotators, each "
            "with probability 80 %, if the observed proportions are the true ones; null if the difference to "
            "more than half of them is not below the margin.",
            group=TEST,
            headline=True,
            short="items needed",
        ),
    ] = None
    verdict: Annotated[
        str,
        number(
            "Verdict",
            "passes: the candidate wins against at least half of the annotators; otherwise not shown.",
            group=TEST,
            headline=True,
        ),
    ]


class CandidateComparison(Record, frozen=True, kw_only=True):
    """Comparison of a candidate with one annotator, by their closeness to the other annotators."""

    candidate: Candidate
    annotator: Annotated[str, name("Annotator", "Annotator who is left out.")]
    items: Annotated[
        int,
        number(
            "Items",
            "Items that the annotator and at least one other annotator labeled.",
            group=DATA,
            headline=True,
        ),
    ]
    candidate_advantage: Annotated[
        float | None,
        number(
            "Candidate at least as close",
            "Proportion of items on which the candidate is at least as close to the other annotators as the "
            "annotator is.",
            group=ADVANTAGE,
            headline=True,
            short="candidate",
        ),
    ]
    annotator_advantage: Annotated[
        float | None,
        number(
            "Annotator at least as close",
            "Proportion of items on which the annotator is at least as close to the others as the candidate "
            "is.",
            group=ADVANTAGE,
            headline=True,
            short="annotator",
        ),
    ]
    difference: Annotated[
        Quantity,
        number(
            "Difference",
            "The annotator's proportion less the candidate's. The candidate wins if it is below the margin.",
            group=ADVANTAGE,
            headline=True,
            signed=True,
        ),
    ]
    p_value: Annotated[
        float | None,
        number(
            "p-value",
            "P-value of the hypothesis that the difference is the margin or more (score test).",
            group=TEST,
            unit="p-value",
            headline=True,
            short="p",
        ),
    ]
    adjusted_p_value: Annotated[
        float | None,
        number(
            "p-value (Benjamini-Yekutieli)",
            "The p-value adjusted for the number of annotators; the candidate wins if it is at most the "
            "false discovery rate.",
            group=TEST,
            unit="p-value",
            headline=True,
            short="p (BY)",
        ),
    ] = None
    needed: Annotated[
        int | None,
        number(
            "Items needed",
            "Items with which the candidate would win against this annotator with probability 80 %, if the "
            "observed proportions are the true ones; null if the difference is not below the margin.",
            group=TEST,
            headline=True,
            short="items needed",
        ),
    ] = None
    verdict: Annotated[
        str,
        number("Verdict", "wins, not shown, or not tested (fewer than 30 items).", group=TEST, headline=True),
    ] = NOT_TESTED
    reason: Annotated[str | None, setting("Reason", "Reason why numbers are undefined, if they are.")] = None
    warning: Few = None


class CandidateTest(Record, frozen=True, kw_only=True):
    """Test if candidates, such as models, may take an annotator's place."""

    candidates: Annotated[
        tuple[CandidateScore, ...],
        rows("Candidates", "Each candidate against all annotators, in the order given."),
    ]
    by_annotator: Annotated[
        tuple[CandidateComparison, ...],
        rows("Annotators", "Each candidate against each annotator, who is left out."),
    ]
    margin: Annotated[
        float,
        setting(
            "Margin",
            "Difference by which the candidate may be less often close to the other annotators than the "
            "annotator whose place it takes.",
            headline=True,
        ),
    ]
    false_discovery_rate: Annotated[
        float,
        setting(
            "False discovery rate",
            "Expected proportion of false wins among the wins of a candidate (Benjamini and Yekutieli).",
            unit="percent",
            headline=True,
        ),
    ]
    distance: Annotated[
        str,
        setting(
            "Distance",
            "nominal: closeness is the number of equal labels; ordinal and interval: the root mean square "
            "difference of places or numbers.",
            headline=True,
        ),
    ]
    items: Annotated[int, setting("Items", "Items with labels of two annotators or more.", headline=True)]
    level: IntervalLevel
    clusters: Annotated[
        int | None,
        setting(
            "Clusters", "Clusters of dependent items; null if items are taken as independent.", headline=True
        ),
    ] = None

    def remarks(self) -> Iterator[tuple[str, str]]:
        """Return the condition under which a candidate wins."""
        yield (
            "candidates",
            f"a candidate wins if its difference to the annotator is below {self.margin:g}, with a false "
            f"discovery rate of {percent(self.false_discovery_rate)}",
        )
        people = list(dict.fromkeys(row.annotator for row in self.by_annotator))
        more = f" and {len(people) - MOST_NAMED} others" if len(people) > MOST_NAMED else ""
        yield "candidates", f"annotators, none of them a candidate: {', '.join(people[:MOST_NAMED])}{more}"

    def main_tables(self) -> tuple[Table, ...]:
        """Return the candidates; for a single one also its comparison with each annotator."""
        first, second, *_ = self.to_tables()
        return (first, second) if len(self.candidates) == 1 else (first,)

    def summary(self) -> str:
        """Return the verdict on a single candidate, or the number that pass."""
        if len(self.candidates) > 1:
            passing = [row.candidate for row in self.candidates if row.verdict == PASSES]
            names = f": {', '.join(passing)}" if passing else ""
            verb = "passes" if len(passing) == 1 else "pass"
            return f"{len(passing)} of {counted(len(self.candidates), 'candidate')} {verb}{names}."
        [row] = self.candidates
        wins = f"wins against {row.wins} of {counted(row.annotators, 'annotator')}"
        if row.verdict == PASSES:
            return f"{row.candidate} may take an annotator's place at a margin of {self.margin:g}: it {wins}."
        needed = (
            "For more than half of them, the observed difference is not below the margin."
            if row.needed is None
            else f"If the observed differences are the true ones, {counted(row.needed, 'item')} per "
            "annotator would probably show it."
        )
        return (
            f"It is not shown that {row.candidate} may take an annotator's place at a margin of "
            f"{self.margin:g}: it {wins}. {needed}"
        )
