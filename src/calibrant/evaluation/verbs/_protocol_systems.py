"""Step 4 of an evaluation: each system's decisions, scores, calibration and selective accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.evaluation.decisions import expected_f_decision, keep_above, keep_top
from calibrant.evaluation.files.protocol_file import ProtocolFile, System
from calibrant.evaluation.files.protocol_tables import SystemOutput, prediction_frame, read_system
from calibrant.evaluation.results.protocol import SystemEvaluation
from calibrant.evaluation.scores import classification_scores
from calibrant.evaluation.selective import risk_coverage
from calibrant.evaluation.verbs._protocol_metrics import Metric
from calibrant.evaluation.verbs._protocol_reference import Gold, over_budget
from calibrant.exceptions import InputError
from calibrant.progress import Progress
from calibrant.results.drawing import Report
from calibrant.verbs.reporting import report

FEW, BINS, FEWEST = 2000, 10, 12
NO_PROBABILITIES = "the system gives labels instead of probabilities"


@dataclass(frozen=True)
class Decided:
    """Output of a system on the items of the reference.

    Attributes
    ----------
    system
        System as the file describes it.
    label
        (items,) codes of its labels.
    probability
        (items, labels); None if the system gives labels.
    rule
        Description of the rule that turned probabilities into labels; None for labels.
    over_budget
        Number of documents with more positive labels than the budget.
    unused
        Number of items that are not in the reference.
    other_tokens
        Number of items whose token differs from the reference.
    documents
        True if its file names documents, and the reference does not (but may have sentences).
    ignored
        Number of items that a decision by document ignores, since their document is not known.
    """

    system: System
    label: Integers
    probability: Floats | None
    rule: str | None
    over_budget: int
    unused: int
    other_tokens: int = 0
    documents: bool = False
    ignored: int = 0


def decided(system: System, gold: Gold, plan: ProtocolFile) -> Decided:
    """Read a system, put its items in the order of the reference, and decide.

    Items without a reference label take part in the decisions and the budget of their document.

    Raises
    ------
    InputError
        The table cannot be read or lacks items of the reference, or a decision is set for labels.
    """
    output = read_system(system, plan.labels, plan.positive)
    order, documents = _order(system.name, output, gold)
    n = len(gold.items)
    unused = len(output.items) - n
    fewer = gold.unit == "sentence" and output.documents < (gold.record.documents or 0)
    lost = output.documents > 0 and (gold.documents is None or fewer)
    if output.labels is not None:
        if system.decision is not None or system.threshold is not None:
            hint = "leave out decision and threshold, or give probabilities"
            message = f"{system.name} gives labels, so there is nothing to decide"
            raise InputError(message, hint, code="setting", file=output.file)
        label = output.labels[order]
        tokens, words = output.tokens or {}, zip(gold.items, gold.tokens or (), strict=False)
        other = sum(tokens.get(item, word) != word for item, word in words)
        return Decided(
            system, label[:n], None, None, over_budget(label, documents, plan), unused, other, lost
        )
    assert output.probabilities is not None
    probability = output.probabilities[order]
    label, rule = _decide(system, probability, documents, plan)
    over = over_budget(label, documents, plan)
    by_document = documents is not None and plan.decision(system) in ("top", "expected-f")
    ignored = len(output.items) - len(order) if by_document else 0
    return Decided(system, label[:n], probability[:n], rule, over, unused, documents=lost, ignored=ignored)


def _order(name: str, output: SystemOutput, gold: Gold) -> tuple[Integers, Integers | None]:
    """Return the rows of the reference's items, then of others of known documents, and their documents."""
    place = {item: row for row, item in enumerate(output.items)}
    lost = [item for item in gold.items if item not in place]
    if lost:
        message = (
            f"{name} has no output for {len(lost)} of the reference's {len(gold.items)} items, "
            f"such as {lost[0]}"
        )
        hint = "systems are compared on the same items: add the item, or remove it from the reference"
        raise InputError(message, hint, code="missing-value", file=output.file)
    others = {item: code for item, code in gold.others.items() if item in place}
    rows = np.array([place[item] for item in (*gold.items, *others)], np.int64)
    if gold.documents is None:
        return rows, None
    return rows, np.concatenate([gold.documents, np.array([*others.values()], np.int64)])


def _decide(
    system: System, probability: Floats, documents: Integers | None, plan: ProtocolFile
) -> tuple[Integers, str]:
    if plan.decision(system) == "most-probable":
        label: Integers = probability.argmax(axis=1)
        return label, "the most probable label"
    assert plan.positive is not None
    positive = plan.labels.index(plan.positive)
    score = probability[:, positive]
    if plan.decision(system) == "threshold":
        threshold = 0.5 if system.threshold is None else system.threshold
        kept = keep_above(score, threshold)
        rule = f"probability of at least {threshold:g}"
    elif plan.decision(system) == "expected-f":
        kept = expected_f_decision(score, documents)
        rule = "best expected F" + ("" if documents is None else " of each document")
    else:
        assert plan.task.budget is not None
        assert documents is not None
        kept = keep_top(score, documents, plan.task.budget, threshold=system.threshold or 0.0)
        rule = f"the {plan.task.budget} most probable of a document"
        rule += "" if system.threshold is None else f", with a probability of at least {system.threshold:g}"
    return np.where(kept, positive, 1 - positive), rule


def evaluated(
    decided: Decided, gold: Gold, metrics: Sequence[Metric], plan: ProtocolFile
) -> SystemEvaluation:
    """Score a system, and compute the gain from abstaining on items of low confidence."""
    names = np.array(plan.labels, object)
    scores = classification_scores(
        names[gold.label],
        names[decided.label],
        labels=plan.labels,
        clusters=gold.documents,
        level=plan.evaluation.level,
    )
    selective = None
    if decided.probability is not None:
        sure = decided.probability[np.arange(len(decided.label)), decided.label]
        right = decided.label == gold.label
        selective = risk_coverage(right, sure, clusters=gold.documents, level=plan.evaluation.level)
    return SystemEvaluation(
        name=decided.system.name,
        description=decided.system.description,
        gives="labels" if decided.probability is None else "probabilities",
        decision=decided.rule,
        values={
            metric.name: metric.of(scores, gold.label, decided.label, plan.evaluation.level)
            for metric in metrics
        },
        scores=scores,
        unused=decided.unused,
        over_budget=decided.over_budget,
        selective=selective,
        reason=NO_PROBABILITIES if selective is None else None,
    )


def calibration(
    systems: Sequence[Decided], gold: Gold, plan: ProtocolFile, progress: Progress | None
) -> Report | None:
    """Measure and compare the calibration of systems with probabilities; return None without any."""
    given = [system for system in systems if system.probability is not None]
    if not given:
        return None
    tables = [
        prediction_frame(plan.labels, plan.positive, gold.label, system.probability, gold.documents)
        for system in given
        if system.probability is not None
    ]
    view = "binary" if plan.positive is not None and len(plan.labels) == 2 else "top"
    names = [system.system.name for system in given]
    # The default bin size would give only one or two bins for so few items.
    n = len(gold.items)
    bin_size = min(n, max(FEWEST, n // BINS)) if n < FEW else None
    return report(
        tables,
        names=names,
        view=view,
        bin_size=bin_size,
        level=plan.evaluation.level,
        seed=plan.evaluation.seed,
        progress=progress,
    )
