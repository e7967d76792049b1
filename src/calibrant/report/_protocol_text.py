"""The parts of the page of an evaluation, as tables and lists of texts."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.report import _text as text
from calibrant.report._sections import Lines, TextTable
from calibrant.results.agreement import Agreement, PairAgreement
from calibrant.results.interval_estimate import IntervalEstimate
from calibrant.results.protocol import MetricComparison, Protocol, SystemEvaluation
from calibrant.results.significance import Comparison

P_VALUES = ("p", "Holm", "Benjamini-Hochberg")
MOST_LABELS = 20  # of a matrix that fits on a page
COEFFICIENTS = {
    "raw_agreement": ("raw agreement", "share of items (or pairs of labels) that are alike"),
    "cohen_kappa": ("Cohen's kappa", "beyond chance, each annotator with his own shares of the labels"),
    "scott_pi": ("Scott's pi", "beyond chance, both with the same shares"),
    "fleiss_kappa": ("Fleiss' kappa", "beyond chance, any number of annotators"),
    "krippendorff_alpha": ("Krippendorff's alpha", "the same, with missing labels"),
    "gwet_ac1": ("Gwet's AC1", "beyond a chance that is small where one label prevails"),
}
METRICS = {
    "accuracy": "accuracy",
    "f1_macro": "F1, mean over labels",
    "precision_macro": "precision, mean over labels",
    "recall_macro": "recall, mean over labels",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
}
ALTERNATIVES = {
    "two-sided": "two-sided: either system may be the better one",
    "greater": "one-sided: the first of a pair is the better one",
    "less": "one-sided: the first of a pair is the worse one",
}


def metric_name(name: str) -> str:
    """Word a metric.

    Examples
    --------
    >>> metric_name("f1:keep"), metric_name("accuracy")
    ('F1 of keep', 'accuracy')
    """
    kind, colon, label = name.partition(":")
    return f"{METRICS[kind]} of {label}" if colon else METRICS[kind]


def estimate(found: IntervalEstimate) -> str:
    """Write an estimate, and why it is undefined."""
    if found.estimate is None:
        return f"{text.UNDEFINED} ({found.reasons.get('estimate', 'the data do not say')})"
    return text.number(found.estimate, 3)


def interval(found: IntervalEstimate) -> str:
    """Write its interval."""
    return text.span(found.low, found.high, 3)


def task_lines(found: Protocol) -> Lines:
    """Step 1: what is decided, and what was settled before looking."""
    task = found.task
    lines = [("Task", task.name), ("Labels", ", ".join(task.labels))]
    if task.description:
        lines.insert(1, ("Description", task.description))
    if task.positive is not None:
        lines.append(("Looked for", task.positive))
    if task.budget is not None:
        lines.append(("Budget", f"at most {task.budget:,} items of a document are {task.positive}"))
    lines += [
        ("Metrics", "; ".join(metric_name(name) for name in found.metrics)),
        ("Decides", metric_name(found.metrics[0])),
        ("Level", text.percent(found.level)),
        ("Alternative", ALTERNATIVES[found.alternative]),
    ]
    return tuple(lines)


def reference_lines(found: Protocol) -> Lines:
    """Step 2: where the labels come from."""
    reference = found.reference
    rules = {
        "majority": "the majority of annotators",
        "adjudicated": "a file of settled labels",
        "annotator": "one annotator's labels",
    }
    lines = [("Rule", rules[reference.rule]), ("Items", text.count(reference.items))]
    if reference.documents is not None:
        lines.append(("Documents", f"{text.count(reference.documents)}; intervals and tests resample them"))
    else:
        lines.append(("Documents", "not known; intervals and tests resample items, as if independent"))
    if reference.rule == "majority":
        settled = [
            (reference.adjudicated, "settled by the adjudicated file"),
            (reference.by_ties, "settled by the rule for ties"),
            (reference.left_out, "left out"),
        ]
        told = [f"{number:,} {what}" for number, what in settled if number]
        lines.append(("Without majority", ", ".join([f"{reference.tied:,}", *told])))
        lines.append(("Labelled once", text.count(reference.single)))
    total = max(1, reference.items)
    shares = [
        f"{name} {number:,} ({text.percent(number / total)})" for name, number in reference.by_label.items()
    ]
    lines.append(("By label", ", ".join(shares)))
    return tuple(lines)


def agreement_tables(found: Agreement) -> tuple[TextTable, ...]:
    """Step 3: coefficients, labels, annotators, items."""
    level = text.percent(found.level)
    coefficients = []
    for key, (name, meaning) in COEFFICIENTS.items():
        value: IntervalEstimate = getattr(found, key)
        if found.annotators == 2 or key not in ("cohen_kappa", "scott_pi"):
            coefficients.append((name, estimate(value), interval(value), meaning))
    tables = [
        TextTable(
            "Agreement",
            ("coefficient", "value", f"{level} interval", "is"),
            tuple(coefficients),
            "1 where all agree, 0 where they agree as often as chance would have it.",
            words=1,
        ),
        TextTable(
            "By label",
            ("label", "given", "agreement on it", f"{level} interval"),
            tuple(
                (
                    each.label,
                    text.count(each.labels),
                    estimate(each.specific_agreement),
                    interval(each.specific_agreement),
                )
                for each in found.by_class
            ),
            "Where one annotator gives the label, how often another does; for two annotators, the F1 "
            "of one by the "
            "other, which no system can be expected to exceed by much.",
        ),
        TextTable(
            "By annotator",
            ("annotator", "items", "missing", "agreement with the others"),
            tuple(
                (each.annotator, text.count(each.items), text.count(each.missing), estimate(each.agreement))
                for each in found.by_annotator
            ),
        ),
    ]
    if len(found.by_pair) == 1 and len(found.labels) <= MOST_LABELS:
        tables.append(_confusion(found.by_pair[0], found.labels))
    if found.disputed:
        names = [each.annotator for each in found.by_annotator]
        tables.append(
            TextTable(
                "Items on which they differ most",
                ("item", "agreement", *names),
                tuple(
                    (
                        each.item,
                        text.number(each.agreement, 2),
                        *(each.labels.get(name, "") for name in names),
                    )
                    for each in found.disputed
                ),
                folded=True,
                words=len(names),
            )
        )
    return tuple(tables)


def _confusion(pair: PairAgreement, labels: Sequence[str]) -> TextTable:
    rows = tuple(
        (label, *(text.count(number) for number in row))
        for label, row in zip(labels, pair.confusion, strict=True)
    )
    return TextTable(f"{pair.first} (rows) and {pair.second} (columns)", ("label", *labels), rows)


def score_tables(found: Protocol) -> tuple[TextTable, ...]:
    """Step 4: the metrics, and every class."""
    level = text.percent(found.level)
    head: list[str] = ["system"]
    for name in found.metrics:
        head += [metric_name(name), f"{level} interval"]
    rows = []
    for system in found.systems:
        row = [system.name]
        for value in system.values.values():
            row += [estimate(value), interval(value)]
        rows.append(tuple(row))
    tables = [TextTable("Scores", tuple(head), tuple(rows), _about(found.systems))]
    for system in found.systems:
        tables.append(
            TextTable(
                f"All labels: {system.name}",
                ("label", "reference", "given", "correct", "precision", "recall", "F1", f"{level} interval"),
                tuple(
                    (
                        each.label,
                        *(text.count(number) for number in (each.reference, each.predicted, each.correct)),
                        *(estimate(value) for value in (each.precision, each.recall, each.f1)),
                        interval(each.f1),
                    )
                    for each in system.scores.by_class
                ),
                folded=True,
            )
        )
    return tuple(tables)


def _about(systems: Sequence[SystemEvaluation]) -> str:
    """What the systems are, in sentences."""
    told = []
    for system in systems:
        parts = [
            part for part in (system.description, system.decision and f"decides by {system.decision}") if part
        ]
        if parts:
            told.append(f"{system.name}: {'; '.join(parts)}.")
    return " ".join(told)


def selective_table(found: Protocol) -> TextTable | None:
    """What leaving out unsure items gains; None where no system gives probabilities."""
    chosen = [(system.name, system.selective) for system in found.systems if system.selective is not None]
    if not chosen:
        return None
    head = ["system"]
    for point in chosen[0][1].points:
        head += [f"accuracy on {text.percent(point.coverage)}", "interval"]
    rows = []
    for name, curve in chosen:
        row = [name]
        for point in curve.points:
            found_at = point.accuracy
            row += [text.number(found_at.estimate, 3), text.span(found_at.low, found_at.high, 3)]
        rows.append((*row, text.number(curve.area.estimate, 3), text.number(curve.best_area, 3)))
    return TextTable(
        "Accuracy on what it is surest of",
        (*head, "area", "best area"),
        tuple(rows),
        "Area is that under the curve of error rate by share kept, the smaller the better; best is "
        "what a model with as many errors would have that is surest where it is right.",
    )


def pair_table(found: MetricComparison, level: float, *, explain: bool = True) -> TextTable:
    """Step 5: each pair by one metric; how to read it is said once on a page."""
    rows = []
    for pair in found.pairs:
        plan = pair.detectable
        shown = text.UNDEFINED if plan is None else text.number(plan.detectable, 3)
        more = "–" if plan is None or plan.more is None else text.count(plan.more)
        rows.append(
            (
                f"{pair.first} {text.MINUS} {pair.second}",
                text.number(pair.difference, 3),
                text.span(pair.bootstrap.difference.low, pair.bootstrap.difference.high, 3),
                _p(pair.permutation.p_value),
                _p(pair.holm_p_value),
                _p(pair.benjamini_hochberg_p_value),
                shown,
                more,
            )
        )
    name = metric_name(found.metric)
    note = (
        f"Interval by paired bootstrap (Student's t with fewer than 30 {found.unit}s), p by permutation, "
        f"both of whole {found.unit}s. Holm and "
        "Benjamini-Hochberg allow for the number of pairs; intervals do not. Detectable is the difference "
        f"that so many {found.unit}s show, and the last column how many more it takes to settle one as large "
        "as the one seen."
    )
    return TextTable(
        f"{name[:1].upper()}{name[1:]}, on {found.units:,} {found.unit}s",
        (
            "pair",
            "difference",
            f"{text.percent(level)} interval",
            *P_VALUES,
            "detectable",
            f"more {found.unit}s",
        ),
        tuple(rows),
        note if explain else "",
    )


def fold_tables(found: Comparison, metric: str) -> tuple[TextTable, ...]:
    """Step 5 on folds of cross-validation."""
    level = text.percent(found.level)
    means = tuple(
        (
            each.system,
            text.number(each.mean.estimate, 3),
            text.span(each.mean.low, each.mean.high, 3),
            "" if each.corrected is None else text.span(each.corrected.low, each.corrected.high, 3),
        )
        for each in found.systems
    )
    pairs = tuple(
        (
            f"{pair.first} {text.MINUS} {pair.second}",
            text.number(pair.difference.estimate, 3),
            text.number(pair.t, 3),
            text.number(None if pair.corrected is None else pair.corrected.t, 3),
            text.number(pair.critical, 3),
            _p(None if pair.corrected is None else pair.corrected.p_value),
            _p(pair.holm_p_value),
        )
        for pair in found.pairs
    )
    note = ". ".join(f"{each[:1].upper()}{each[1:]}" for each in found.warnings()) + "."
    named = metric_name(metric) if metric != "score" else "score"
    repeats = f", {found.repeats} repeats" if found.repeats and found.repeats > 1 else ""
    return (
        TextTable(
            f"On {found.n} folds{repeats}: mean {named}",
            ("system", "mean", f"{level} interval", "corrected"),
            means,
        ),
        TextTable(
            "Differences over folds",
            ("pair", "difference", "t", "corrected t", "critical", "corrected p", "Holm"),
            pairs,
            note,
        ),
    )


def _p(value: float | None) -> str:
    if value is None:
        return text.UNDEFINED
    return "below 0.0001" if value < 0.0001 else f"{value:.4f}"
