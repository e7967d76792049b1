"""Step 4 of an evaluation: each system's decisions, scores, calibration and selective accuracy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.evaluation.decisions import expected_f_decision, keep_above, keep_top
from calibrant.evaluation.files.protocol_file import ProtocolFile, SystemFile
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
    unused
        Number of items that are not in the reference.
    other_tokens
        Number of items whose token differs from the reference.
    documents
        True if its file names documents, and the reference does not (but may have sentences).
    """

    system: SystemFile
    label: Integers
    probability: Floats | None
    rule: str | None
    unused: int
    other_tokens: int = 0
    documents: bool = False


def decided(system: SystemFile, gold: Gold, plan: ProtocolFile) -> Decided:
    """Read a system, put its items in the order of the reference, and decide.

    Raises
    ------
    InputError
        The table cannot be read, or lacks items of the reference.
    """
    output = read_system(system, plan.labels, plan.positive)
    order = _order(system.name, output, gold.items)
    unused = len(output.items) - len(gold.items)
    fewer = gold.unit == "sentence" and output.documents < (gold.record.documents or 0)
    lost = output.documents > 0 and (gold.documents is None or fewer)
    if output.labels is not None:
        tokens, words = output.tokens or {}, zip(gold.items, gold.tokens or (), strict=False)
        other = sum(tokens.get(item, word) != word for item, word in words)
        return Decided(system, output.labels[order], None, None, unused, other, lost)
    assert output.probabilities is not None
    probability = output.probabilities[order]
    label, rule = _decide(system, probability, gold, plan)
    return Decided(system, label, probability, rule, unused, documents=lost)


def _order(name: str, output: SystemOutput, items: Sequence[str]) -> Integers:
    place = {item: row for row, item in enumerate(output.items)}
    lost = [item for item in items if item not in place]
    if lost:
        message = (
            f"{name} has no output for {len(lost)} of the reference's {len(items)} items, such as {lost[0]}"
        )
        hint = "systems are compared on the same items: add the item, or remove it from the reference"
        raise InputError(message, hint, code="missing-value", file=output.file)
    return np.array([place[item] for item in items], np.int64)


def _decide(system: SystemFile, probability: Floats, gold: Gold, plan: ProtocolFile) -> tuple[Integers, str]:
    if system.decision == "most-probable":
        label: Integers = probability.argmax(axis=1)
        return label, "the most probable label"
    assert plan.positive is not None
    positive = plan.labels.index(plan.positive)
    score = probability[:, positive]
    if system.decision == "threshold":
        assert system.threshold is not None
        kept = keep_above(score, system.threshold)
        rule = f"probability of at least {system.threshold:g}"
    elif system.decision == "expected-f":
        kept = expected_f_decision(score, gold.documents)
        rule = "best expected F" + ("" if gold.documents is None else " of each document")
    else:
        assert plan.budget is not None
        assert gold.documents is not None
        kept = keep_top(score, gold.documents, plan.budget, threshold=system.threshold or 0.0)
        rule = f"the {plan.budget} most probable of a document"
        rule += "" if system.threshold is None else f", with a probability of at least {system.threshold:g}"
    return np.where(kept, positive, 1 - positive), rule


def evaluated(found: Decided, gold: Gold, metrics: Sequence[Metric], plan: ProtocolFile) -> SystemEvaluation:
    """Score a system, and compute the gain from abstaining on items of low confidence."""
    names = np.array(plan.labels, object)
    scores = classification_scores(
        names[gold.label],
        names[found.label],
        labels=plan.labels,
        clusters=gold.documents,
        level=plan.level,
    )
    selective = None
    if found.probability is not None:
        sure = found.probability[np.arange(len(found.label)), found.label]
        right = found.label == gold.label
        selective = risk_coverage(right, sure, clusters=gold.documents, level=plan.level)
    return SystemEvaluation(
        name=found.system.name,
        description=found.system.description,
        gives="labels" if found.probability is None else "probabilities",
        decision=found.rule,
        values={metric.name: metric.of(scores, gold.label, found.label, plan.level) for metric in metrics},
        scores=scores,
        unused=found.unused,
        over_budget=over_budget(found.label, gold.documents, plan),
        selective=selective,
        reason=NO_PROBABILITIES if selective is None else None,
    )


def calibration(
    systems: Sequence[Decided], gold: Gold, plan: ProtocolFile, progress: Progress | None
) -> Report | None:
    """Measure and compare the calibration of systems with probabilities; return None without any."""
    given = [each for each in systems if each.probability is not None]
    if not given:
        return None
    tables = [
        prediction_frame(plan.labels, plan.positive, gold.label, each.probability, gold.documents)
        for each in given
        if each.probability is not None
    ]
    view = "binary" if plan.positive is not None and len(plan.labels) == 2 else "top"
    names = [each.system.name for each in given]
    # The default bin size would give only one or two bins for so few items.
    n = len(gold.items)
    bin_size = min(n, max(FEWEST, n // BINS)) if n < FEW else None
    return report(
        tables,
        names=names,
        view=view,
        bin_size=bin_size,
        level=plan.level,
        seed=plan.seed,
        progress=progress,
    )
