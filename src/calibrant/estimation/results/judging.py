"""Records of systems that a judge scores, corrected by labels for some of the answers."""

from __future__ import annotations

from typing import Annotated

from calibrant.records import Quantity, Record, Table, name, number, rows, setting, warning
from calibrant.records.words import counted, decimal, percent
from calibrant.results.errors import IntervalLevel

DATA, DIFFERENCE, ERRORS, SCORES, WORTH = "Data", "Difference", "Error rates", "Scores", "Worth"
TOGETHER = "together"
INCONCLUSIVE, TIED = "inconclusive", "tied"
HOLDS, UNDECIDED, FAILS = "holds", "undecided", "does not hold"
MOST_SYSTEMS = 8  # whose pairs are printed in brief

System = Annotated[str, name("System", "Name of the system.")]
Labelled = Annotated[int, number("Labeled", "Answers with a label.", group=DATA, headline=True)]
LabelsNeeded = Annotated[
    int | None,
    number(
        "Labels needed",
        "Labeled prompts with which a true difference as large as the estimate (or as the margin, if there "
        "is one) would be shown with the power, by the variances of these data. Null if the difference is "
        "shown or tied, or if no number of labels for these prompts is enough.",
        group=DIFFERENCE,
        headline=True,
        short="labels needed",
    ),
]


class JudgedMean(Record, frozen=True, kw_only=True):
    """Mean label of some answers, estimated from all judge scores and some labels."""

    system: System
    answers: Annotated[int, number("Answers", "Answers with a judge score.", group=DATA, headline=True)]
    labelled: Labelled
    corrected: Annotated[
        Quantity,
        number(
            "Corrected mean",
            "Mean label of all answers, from the judge scores of all and the labels of some.",
            group=SCORES,
            headline=True,
            short="corrected",
        ),
    ]
    method: Annotated[
        str | None,
        number(
            "Method",
            "Method of the corrected mean: ppi++, map or dsl; transported, if it uses the labels of "
            "another system; null if there is none.",
            group=SCORES,
        ),
    ]
    judge_alone: Annotated[
        Quantity,
        number(
            "Judge alone",
            "Mean judge score, which is no estimate of the mean label: its interval ignores the judge's "
            "errors.",
            group=SCORES,
            headline=True,
            short="judge alone",
        ),
    ]
    labels_alone: Annotated[
        Quantity,
        number(
            "Labels alone",
            "Mean of the labels, without the judge.",
            group=SCORES,
            headline=True,
            short="labels alone",
        ),
    ]
    gain: Annotated[
        Quantity,
        number(
            "Gain in labels",
            "Variance of the mean of the labels over that of the corrected mean: n labels with the judge are "
            "worth gain times n labels without it. If the interval contains 1, the judge is not shown to "
            "help.",
            group=WORTH,
            headline=True,
            short="gain",
            digits=2,
        ),
    ]
    mean_warning: Annotated[str | None, warning("Conditions that limit the corrected mean.")] = None


class JudgedSystem(JudgedMean, frozen=True, kw_only=True):
    """Mean of one system's labels, estimated from all judge scores and some labels."""

    letters: Annotated[
        str,
        number(
            "Group",
            "Letters: two systems that share a letter are not shown to differ (Holm).",
            group=SCORES,
            headline=True,
        ),
    ]
    best_rank: Annotated[
        int | None,
        number("Best rank", "One more than the number of systems that are shown to be better.", group=SCORES),
    ] = None
    worst_rank: Annotated[
        int | None,
        number(
            "Worst rank",
            "Number of systems, less those that are shown to be worse; all ranks are from the best to the "
            "worst one at the same time, at the level.",
            group=SCORES,
        ),
    ] = None


class JudgedJudge(Record, frozen=True, kw_only=True):
    """Mean of one system by one of several judges, and what the judge is worth."""

    system: System
    judge: Annotated[
        str, name("Judge", "Name of the judge; together: all judges, with the weights that labels give them.")
    ]
    judge_alone: Annotated[
        Quantity,
        number(
            "Judge alone",
            "Mean score of this judge, which is no estimate of the mean label.",
            group=SCORES,
            headline=True,
            short="judge alone",
        ),
    ]
    corrected: Annotated[
        Quantity,
        number(
            "Corrected mean",
            "Mean label, from the scores of this judge and the labels.",
            group=SCORES,
            headline=True,
            short="corrected",
        ),
    ]
    gain: Annotated[
        Quantity,
        number(
            "Gain in labels",
            "Variance of the mean of the labels over that of the corrected mean.",
            group=WORTH,
            headline=True,
            short="gain",
            digits=2,
        ),
    ]


class JudgedDifference(Record, frozen=True, kw_only=True):
    """Difference of two systems on the prompts that both answered."""

    first: Annotated[str, name("First", "First system of the pair.")]
    second: Annotated[str, name("Second", "Second system of the pair.")]
    items: Annotated[
        int,
        number(
            "Prompts",
            "Prompts that both answered, or runs of them; comparisons of both, in a table of preferences.",
            group=DATA,
            headline=True,
        ),
    ]
    labelled: Annotated[
        int,
        number("Labeled", "Prompts with a label for at least one of both.", group=DATA, headline=True),
    ]
    both_labelled: Annotated[
        int, number("Both labeled", "Prompts with a label for both.", group=DATA, short="both")
    ]
    judge_difference: Annotated[
        float | None,
        number(
            "Judge's difference",
            "Difference of the mean judge scores, which is no estimate of the difference.",
            group=DIFFERENCE,
            headline=True,
            short="judge says",
            signed=True,
        ),
    ]
    difference: Annotated[
        Quantity,
        number(
            "Difference",
            "Mean label of first minus second, paired by prompt, from all judge scores and some labels.",
            group=DIFFERENCE,
            headline=True,
            signed=True,
        ),
    ]
    p_value: Annotated[
        float | None,
        number(
            "p-value",
            "P-value of the hypothesis that both have the same mean label.",
            group=DIFFERENCE,
            unit="p-value",
            short="p",
        ),
    ]
    holm_p_value: Annotated[
        float | None,
        number(
            "p-value (Holm)",
            "The p-value adjusted for the number of pairs, on which the verdict is based.",
            group=DIFFERENCE,
            unit="p-value",
            headline=True,
            short="p (Holm)",
        ),
    ] = None
    verdict: Annotated[
        str,
        number(
            "Verdict",
            "The better system; tied, if the whole interval is within the margin; or inconclusive.",
            group=DIFFERENCE,
            headline=True,
        ),
    ] = INCONCLUSIVE
    labels_needed: LabelsNeeded = None
    gain: Annotated[
        float | None,
        number(
            "Gain in labels",
            "Variance of the difference of the labels alone, over that of the difference.",
            group=WORTH,
            short="gain",
            digits=2,
        ),
    ] = None
    judge_weight: Annotated[
        float | None,
        number(
            "Weight",
            "Weight of the judge scores that makes the variance least: with 0, the labels are used alone.",
            group=WORTH,
            digits=2,
        ),
    ] = None
    difference_warning: Annotated[
        str | None, warning("Few clusters, few labels of a kind, or values that are very skewed.")
    ] = None


class JudgedStrength(Record, frozen=True, kw_only=True):
    """Bradley-Terry score of one system."""

    system: System
    score: Annotated[
        Quantity,
        number(
            "Score",
            "Log-odds of winning a comparison, with mean 0 over the systems, from all preferences of the "
            "judge and the labels of some.",
            group=SCORES,
            headline=True,
            signed=True,
        ),
    ]
    judge_alone: Annotated[
        float | None,
        number(
            "Judge alone",
            "The score from the judge's preferences alone.",
            group=SCORES,
            headline=True,
            signed=True,
            short="judge alone",
        ),
    ]


class JudgeErrors(Record, frozen=True, kw_only=True):
    """Error rates of a binary judge on the answers of one system."""

    system: System
    positives: Annotated[int, number("Positives", "Labels that are 1.", group=DATA, headline=True)]
    negatives: Annotated[int, number("Negatives", "Labels that are 0.", group=DATA, headline=True)]
    sensitivity: Annotated[
        Quantity,
        number(
            "Sensitivity",
            "Fraction of the answers with label 1 to which the judge gives 1.",
            group=ERRORS,
            headline=True,
        ),
    ]
    specificity: Annotated[
        Quantity,
        number(
            "Specificity",
            "Fraction of the answers with label 0 to which the judge gives 0.",
            group=ERRORS,
            headline=True,
        ),
    ]


class JudgedMethod(Record, frozen=True, kw_only=True):
    """Mean label of one system by one method."""

    system: System
    method: Annotated[
        str,
        name(
            "Method",
            "Method: labels, ppi, ppi++, map, dsl, prior-shift, rogan-gladen or rogan-gladen-pooled.",
        ),
    ]
    mean: Annotated[Quantity, number("Mean", "Mean label by this method.", group=SCORES, headline=True)]


class TransportedSystem(Record, frozen=True, kw_only=True):
    """Test if the labels of one system correct the judge's scores of another."""

    system: System
    labelled: Labelled
    residual: Annotated[
        Quantity,
        number(
            "Residual",
            "Mean of label minus the score that the source's map gives to the answer, with its interval: "
            "the error of a mean that is corrected by the source's labels.",
            group=ERRORS,
            headline=True,
            signed=True,
        ),
    ]
    least_margin: Annotated[
        float | None,
        number(
            "Smallest margin",
            "Smallest margin within which the residual is shown to be: the larger end, in absolute value, of "
            "its interval at 1 - 2 alpha (two one-sided tests).",
            group=ERRORS,
            headline=True,
            short="smallest margin",
        ),
    ]
    verdict: Annotated[
        str,
        number(
            "Verdict",
            "holds: the residual is shown to be within the margin. does not hold: it is shown to differ from "
            "0, and not to be within the margin. undecided: neither is shown.",
            group=ERRORS,
            headline=True,
        ),
    ]
    labels_needed: Annotated[
        int | None,
        number(
            "Labels needed",
            "Labels of this system with which the test would decide at the observed residual; null if it "
            "has decided, or if it is not known.",
            group=ERRORS,
            headline=True,
            short="labels needed",
        ),
    ] = None


class JudgeBias(Record, frozen=True, kw_only=True):
    """Association of the judge's error with a column."""

    column: Annotated[str, name("Column", "Name of the column.")]
    value: Annotated[
        str,
        name(
            "Value",
            "Value of the column that is compared with all other values; per SD: per standard deviation of a "
            "column of numbers.",
        ),
    ]
    labelled: Annotated[int, number("Labeled", "Labeled answers with the value.", group=DATA, headline=True)]
    error: Annotated[
        Quantity,
        number(
            "Judge's error",
            "Difference of judge minus label between answers with the value and others (or per standard "
            "deviation), within systems: above 0, the judge favors them.",
            group=ERRORS,
            headline=True,
            signed=True,
        ),
    ]
    p_value: Annotated[
        float | None,
        number("p-value", "P-value of no association.", group=ERRORS, unit="p-value", short="p"),
    ]
    holm_p_value: Annotated[
        float | None,
        number(
            "p-value (Holm)",
            "The p-value adjusted for the number of rows of this table.",
            group=ERRORS,
            unit="p-value",
            headline=True,
            short="p (Holm)",
        ),
    ] = None


class JudgedSystems(Record, frozen=True, kw_only=True):
    """Systems that a judge scores, compared by labels for some of the answers."""

    main_table = "systems"

    systems: Annotated[
        tuple[JudgedSystem, ...],
        rows("Systems", "Corrected means, the best first, beside the judge and the labels alone."),
    ]
    differences: Annotated[
        tuple[JudgedDifference, ...],
        rows("Differences, first minus second", "Paired differences of all pairs of systems."),
    ] = ()
    transport: Annotated[
        tuple[TransportedSystem, ...],
        rows(
            "Labels of the source on other systems",
            "Tests if a map from judge scores to labels, learned on the source, holds for the others.",
        ),
    ] = ()
    judges: Annotated[
        tuple[JudgedJudge, ...],
        rows("Judges", "Each of several judges alone, and all of them together."),
    ] = ()
    strengths: Annotated[
        tuple[JudgedStrength, ...],
        rows("Bradley-Terry scores", "Scores of the systems in a table of preferences."),
    ] = ()
    errors: Annotated[
        tuple[JudgeErrors, ...],
        rows("Error rates of the judge", "Sensitivity and specificity of a binary judge."),
    ] = ()
    bias: Annotated[
        tuple[JudgeBias, ...],
        rows("Error of the judge by column", "Association of the judge's error with columns."),
    ] = ()
    methods: Annotated[
        tuple[JudgedMethod, ...], rows("Methods", "Means by each method, if methods were asked for.")
    ] = ()
    source: Annotated[
        str | None,
        setting("Source", "System whose labels are tested on the others; null without one.", headline=True),
    ]
    transport_margin: Annotated[
        float,
        setting(
            "Transport margin",
            "Residual that does not matter, in units of the labels. A mean that is corrected by the source's "
            "labels may be wrong by it beyond its interval.",
            headline=True,
        ),
    ]
    margin: Annotated[
        float | None,
        setting("Margin", "Difference that does not matter; null if none was given.", headline=True),
    ]
    low: Annotated[float, setting("Lowest label", "Lower end of the range of labels.", headline=True)]
    high: Annotated[float, setting("Highest label", "Upper end of the range of labels.", headline=True)]
    level: IntervalLevel
    power: Annotated[
        float, setting("Power", "Power for which the labels needed are computed.", unit="percent")
    ]
    clusters: Annotated[
        str, setting("Clusters", "Column of the clusters: rows of one cluster may depend on each other.")
    ]
    rule: Annotated[str, setting("Method", "Rule by which the method of the corrected means is chosen.")]
    items_warning: Annotated[str | None, warning("Prompts that not all systems answered.")] = None
    command: Annotated[
        str | None, setting("Command", "Command line that reproduces the result; null if there is none.")
    ] = None

    def main_tables(self) -> tuple[Table, ...]:
        """Return the systems, their differences if they are few, and what qualifies them."""
        tables = {table.name: table for table in self.to_tables()}
        names = ["systems"]
        if self.differences and len(self.systems) <= MOST_SYSTEMS:
            names.append("differences")
        names += [
            part
            for part in ("judges", "strengths", "errors", "transport", "bias", "methods")
            if getattr(self, part)
        ]
        return tuple(tables[one] for one in names)

    def summary(self) -> str:
        """Return the verdict, the judge's preference if it is another, and failed transport."""
        settled = [pair for pair in self.differences if pair.verdict in (pair.first, pair.second)]
        parts = []
        if len(self.differences) == 1:
            parts.append(self._pair(self.differences[0]))
        elif self.differences and not any(row.letters for row in self.systems):
            parts.append(
                "No two systems have enough labels to be compared: label 10 answers or more of each."
                if any(pair.items for pair in self.differences)
                else "No two systems answered the same prompt, so they cannot be compared in pairs."
            )
        elif self.differences:
            best = next(row for row in self.systems if row.letters)
            others = [
                row.system for row in self.systems if row is not best and {*row.letters} & {*best.letters}
            ]
            beside = f", not distinguishable from {', '.join(others)}" if others else ""
            parts.append(f"{best.system} has the best corrected mean{beside}.")
            parts.append(f"{len(settled)} of {counted(len(self.differences), 'pair')} differ.")
        reversed_ = [
            pair
            for pair in settled
            if pair.judge_difference and pair.judge_difference * (pair.difference.estimate or 0.0) < 0
        ]
        if reversed_:
            pair = reversed_[0]
            favored = pair.first if (pair.judge_difference or 0) > 0 else pair.second
            parts.append(f"The judge alone would have preferred {favored}.")
        failing = [row.system for row in self.transport if row.verdict == FAILS]
        if failing:
            parts.append(
                f"The labels of {self.source} do not correct the judge's scores of {', '.join(failing)}."
            )
        helped = [row for row in self.systems if row.gain.low is not None]
        if helped and not any((row.gain.low or 0) > 1 for row in helped):
            parts.append("The judge is not shown to help: the labels alone are about as precise.")
        return " ".join(parts)

    def _pair(self, pair: JudgedDifference) -> str:
        """Return the verdict on the only pair."""
        ends = pair.difference
        if ends.low is None or ends.high is None:
            return f"The difference has no interval: {ends.reason}."
        within = f"{percent(self.level)} interval {decimal(ends.low)} to {decimal(ends.high)}"
        over = f"over {counted(pair.items, 'prompt')}"
        if pair.verdict in (pair.first, pair.second):
            other = pair.second if pair.verdict == pair.first else pair.first
            return (
                f"{pair.verdict} is better than {other} by {decimal(abs(ends.estimate or 0))} {over} "
                f"(first minus second: {within})."
            )
        if pair.verdict == TIED:
            return f"{pair.first} and {pair.second} are tied {over}: {within}."
        more = f" About {pair.labels_needed:,} labeled prompts would decide." if pair.labels_needed else ""
        return f"No difference is shown {over}: {within}.{more}"
