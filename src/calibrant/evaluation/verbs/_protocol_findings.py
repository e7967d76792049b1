"""What an evaluation allows to conclude, and what not: a sentence each, never surer than its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from calibrant.evaluation.results.agreement import Agreement
from calibrant.evaluation.results.protocol import (
    ControlTask,
    Finding,
    MetricComparison,
    Reference,
    SystemEvaluation,
)
from calibrant.evaluation.results.significance import Comparison, Detectable
from calibrant.results.drawing import Report

TENTATIVE, RELIABLE = 0.667, 0.8  # Krippendorff's customary bars for alpha


def findings_of(
    task: ControlTask,
    reference: Reference,
    agreement: Agreement | None,
    systems: Sequence[SystemEvaluation],
    calibration: Report | None,
    comparison: MetricComparison,
    folds: Comparison | None,
    level: float,
) -> tuple[Finding, ...]:
    """Word the findings, in the order of the steps."""
    return (
        _of_agreement(agreement, level),
        *_of_pairs(comparison, folds, level),
        *_of_calibration(calibration, level),
        *_of_selection(systems, level),
        *_of_budget(task, systems),
        _of_scope(reference, comparison),
    )


def _of_agreement(agreement: Agreement | None, level: float) -> Finding:
    if agreement is None:
        text = (
            "How reliable the reference is cannot be said: there are no two annotators. What systems score "
            "holds for this reference."
        )
        return Finding("reference", False, text)
    alpha = agreement.krippendorff_alpha
    if alpha.estimate is None or alpha.low is None or alpha.high is None:
        why = alpha.reason or "the data do not say"
        text = f"Whether annotators agree beyond chance cannot be said: {why}."
        return Finding("reference", False, text)
    said = f"Krippendorff's alpha is {_number(alpha.estimate)}, {_interval(alpha.low, alpha.high, level)}"
    if alpha.low <= 0:
        text = f"Annotators do not agree beyond chance for all that these data say: {said}."
        return Finding("reference", False, text)
    if alpha.low >= RELIABLE:
        return Finding("reference", True, f"The reference is reliable: {said}, all above {RELIABLE}.")
    if alpha.low >= TENTATIVE:
        text = f"The reference allows tentative conclusions: {said}, all above {TENTATIVE}."
        return Finding("reference", True, text)
    text = (
        f"Annotators agree beyond chance, but the reference is not shown to be reliable: {said}, not "
        f"all above "
        f"the customary {TENTATIVE}. Other annotators could rank close systems otherwise."
    )
    return Finding("reference", False, text)


def _of_pairs(comparison: MetricComparison, folds: Comparison | None, level: float) -> Iterator[Finding]:
    if not comparison.pairs:
        yield Finding("difference", False, "There is one system, so nothing is compared.")
    if folds is not None:
        yield from _of_folds(folds, comparison, level)
        return
    for pair in comparison.pairs:
        difference = pair.difference
        if difference.estimate is None:
            why = difference.reason or pair.bootstrap.reason or "the data do not say"
            text = f"{pair.first} and {pair.second} cannot be compared by {comparison.metric}: {why}."
            yield Finding("difference", False, text)
            continue
        said = (
            f"difference in {comparison.metric} {_signed(difference.estimate)}, "
            f"{_interval(difference.low, difference.high, level)}, {_p(pair.holm_p_value)}"
        )
        if pair.better is not None:
            worse = pair.second if pair.better == pair.first else pair.first
            yield Finding("difference", True, f"{pair.better} is better than {worse}: {said}.")
        else:
            plan = _plan(pair.detectable, comparison.unit)
            text = f"{pair.first} and {pair.second} are not told apart: {said}.{plan}"
            yield Finding("difference", False, text)


def _of_folds(folds: Comparison, comparison: MetricComparison, level: float) -> Iterator[Finding]:
    for pair, on_items in zip(folds.pairs, comparison.pairs, strict=True):
        difference = pair.difference
        interval = _interval(difference.low, difference.high, level)
        said = f"difference over {pair.n} folds {_signed(difference.estimate or 0.0)}, {interval}"
        if pair.better is not None:
            worse = pair.second if pair.better == pair.first else pair.first
            text = f"{pair.better} is better than {worse}: {said}, {_p(pair.holm_p_value)}."
            yield Finding("difference", True, text)
        elif pair.holm_p_value is None:
            why = pair.reason or "the data do not say"
            text = f"{pair.first} and {pair.second} cannot be told apart on folds: {why}."
            yield Finding("difference", False, text)
        else:
            plan = _plan(on_items.detectable, comparison.unit)
            text = (
                f"{pair.first} and {pair.second} are not told apart: {said}, {_p(pair.holm_p_value)}.{plan}"
            )
            yield Finding("difference", False, text)


def _plan(plan: Detectable | None, unit: str) -> str:
    if plan is None or plan.detectable is None:
        return ""
    units = f"{plan.n:,} {unit}s"
    text = (
        f" {units} show a difference, if there is one of {_number(plan.detectable)}, in "
        f"{100 * plan.power:.12g} % of cases"
    )
    if plan.more:
        text += f"; if it is as small as was seen, {plan.more:,} more are needed"
    return f"{text}."


def _of_calibration(calibration: Report | None, level: float) -> Iterator[Finding]:
    for model in calibration.models if calibration is not None else ():
        found = model.measured.events[0]
        low, high = found.calibration_error.low, found.calibration_error.high
        if low is None or high is None:
            why = found.calibration_error.reason or "the data do not say"
            text = f"How calibrated {model.name} is cannot be said: {why}."
            yield Finding("calibration", False, text)
        elif low > 0:
            text = (
                f"The probabilities of {model.name} are off: calibration error at least {_number(low)}, "
                f"{_interval(low, high, level)}."
            )
            yield Finding("calibration", True, text)
        else:
            text = (
                f"The probabilities of {model.name} are not shown to be off; their calibration error "
                f"may be 0, or "
                f"as much as {_number(high)} ({100 * level:.12g} % interval)."
            )
            yield Finding("calibration", False, text)


def _of_selection(systems: Sequence[SystemEvaluation], level: float) -> Iterator[Finding]:
    for system in systems:
        found = system.selective
        if found is None:
            continue
        half = next(point for point in found.points if point.coverage <= 0.75)
        kept, right = half.accuracy, 1 - found.error_rate
        said = (
            f"{system.name} is right on {_percent(kept.estimate or 0.0)} of the half that it is surest of, "
            f"{_interval(kept.low, kept.high, level)}, against {_percent(right)} of all"
        )
        gains = kept.low is not None and kept.low > right
        text = f"{said}." if gains else f"{said}: no gain is shown."
        yield Finding("selective", gains, text)


def _of_budget(task: ControlTask, systems: Sequence[SystemEvaluation]) -> Iterator[Finding]:
    for system in systems:
        if system.over_budget:
            text = (
                f"{system.name} gives {task.positive} more than {task.budget} times in "
                f"{system.over_budget:,} "
                "documents, so that its scores are not those of the task."
            )
            yield Finding("score", False, text)


def _of_scope(reference: Reference, comparison: MetricComparison) -> Finding:
    text = (
        f"All of this is of {comparison.units:,} {comparison.unit}s, taken as a sample of others like "
        f"them, and of "
        f"the first metric, {comparison.metric}; nothing is said of other kinds of {comparison.unit}s"
    )
    left = (
        f"; {reference.left_out:,} items without a label of reference count nowhere"
        if reference.left_out
        else ""
    )
    return Finding("scope", False, f"{text}{left}.")


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "\N{MINUS SIGN}")


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _interval(low: float | None, high: float | None, level: float) -> str:
    if low is None or high is None:
        return "no interval"
    return f"{100 * level:.12g} % interval {_number(low)} to {_number(high)}"


def _p(value: float | None) -> str:
    if value is None:
        return "p undefined"
    return "adjusted p below 0.001" if value < 0.001 else f"adjusted p = {value:.3f}"
