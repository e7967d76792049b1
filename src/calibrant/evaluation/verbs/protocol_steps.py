"""Complete evaluation from one file: task, reference, agreement, systems, statistics, conclusions."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from calibrant._checks import Floats, Integers
from calibrant._version import __version__
from calibrant.data import example
from calibrant.evaluation.coefficients import agreement
from calibrant.evaluation.comparison import compare_systems, pairs_of
from calibrant.evaluation.detectable import minimum_detectable_difference
from calibrant.evaluation.files.protocol_file import ProtocolFile, read_protocol_file
from calibrant.evaluation.files.protocol_tables import ItemLabels, read_folds
from calibrant.evaluation.files.tables import read_results
from calibrant.evaluation.paired import mcnemar, paired_bootstrap, paired_permutation, uneven
from calibrant.evaluation.results.agreement import Agreement
from calibrant.evaluation.results.interval_estimate import IntervalEstimate
from calibrant.evaluation.results.protocol import (
    ControlTask,
    Finding,
    MetricComparison,
    MetricPair,
    Protocol,
    Reference,
    SystemEvaluation,
)
from calibrant.evaluation.results.significance import Comparison, Detectable, SystemPair
from calibrant.evaluation.significance import adjusted_p_values
from calibrant.evaluation.verbs._protocol_metrics import Metric, metrics_of
from calibrant.evaluation.verbs._protocol_reference import Gold, reference_of
from calibrant.evaluation.verbs._protocol_systems import Decided, calibration, decided, evaluated
from calibrant.exceptions import InputError
from calibrant.io.atomic import writing
from calibrant.metrics.tails import critical_value, tail
from calibrant.progress import Progress, tell
from calibrant.records import Quantity
from calibrant.records.words import counted
from calibrant.results.drawing import Report

PERMUTATIONS = 10_000
NORMAL = 1e9  # degrees of freedom, as good as infinite
NOT_ACCURACY = "the test is for accuracy"
FROM_OWN = (
    "the score of one system rests on far fewer units than that of the other: interval and p-value come from "
    "the two scores' own intervals, as if the systems were independent"
)
IN_CLUSTERS = "items of a document depend on each other"


def compared(
    systems: Sequence[Decided],
    scored: Sequence[SystemEvaluation],
    gold: Gold,
    metric: Metric,
    plan: ProtocolFile,
) -> MetricComparison:
    """Compare each pair of systems by one metric on the same items; units are documents, if known."""
    sums = [metric.sums(gold.label, system.label) for system in systems]
    pairs = [
        _pair(scored[one], scored[other], sums[one], sums[other], gold, metric, plan)
        for one, other in pairs_of([system.system.name for system in systems], plan.evaluation.baseline)
    ]
    p_values = [pair.p_value for pair in pairs]
    holm, hochberg = adjusted_p_values(p_values), adjusted_p_values(p_values, "benjamini-hochberg")
    return MetricComparison(
        metric=metric.name,
        unit=metric.unit,
        units=metric.units or len(gold.items),
        pairs=tuple(
            replace(
                pair,
                holm_p_value=first,
                benjamini_hochberg_p_value=second,
                better=_better(pair, first, plan.evaluation.level),
            )
            for pair, first, second in zip(pairs, holm, hochberg, strict=True)
        ),
    )


def _better(pair: MetricPair, p_value: float | None, level: float) -> str | None:
    difference, low, high = pair.difference.estimate, pair.difference.low, pair.difference.high
    careful = pair.permutation.alternative == "two-sided" or pair.difference.warning == FROM_OWN
    unsure = careful and low is not None and low <= 0 <= (high or 0)
    if unsure or p_value is None or difference is None or p_value >= 1 - level:
        return None
    return pair.first if difference > 0 else pair.second


def _pair(
    one: SystemEvaluation,
    other: SystemEvaluation,
    first: Floats,
    second: Floats,
    gold: Gold,
    metric: Metric,
    plan: ProtocolFile,
) -> MetricPair:
    bootstrap, permutation = (
        test(
            first,
            second,
            statistic=metric.value,
            clusters=metric.clusters,
            alternative=plan.evaluation.alternative,
            level=plan.evaluation.level,
            samples=samples,
            seed=plan.evaluation.seed,
        )
        for test, samples in ((paired_bootstrap, plan.evaluation.samples), (paired_permutation, PERMUTATIONS))
    )
    difference, p_value = bootstrap.difference, permutation.p_value
    warning = uneven(first, second, metric.value, metric.clusters)
    if warning is not None:
        ends = _of_ends(one.values[metric.name], other.values[metric.name], plan)
        difference, p_value = ends or (difference, p_value)
    without = NOT_ACCURACY if metric.name != "accuracy" else None if gold.documents is None else IN_CLUSTERS
    return MetricPair(
        first=one.name,
        second=other.name,
        difference=difference,
        p_value=p_value,
        bootstrap=bootstrap,
        permutation=permutation,
        mcnemar=mcnemar(first[:, 0], second[:, 0]) if without is None else None,
        mcnemar_reason=without,
        detectable=_detectable(first, second, metric, plan, bootstrap.difference.estimate),
        reason=permutation.reason,
    )


def _of_ends(
    first: IntervalEstimate, second: IntervalEstimate, plan: ProtocolFile
) -> tuple[Quantity, float] | None:
    """Return the difference of two scores with interval and p-value from the scores' own intervals.

    The square of each end's distance is the sum of those of the two scores (MOVER): right for independent
    scores, and too wide for those of the same items.

    References
    ----------
    Zou and Donner (2008). Construction of confidence limits about effect measures. Statistics in Medicine
    27, 1693-1702.
    """
    ends = [(score.estimate, score.low, score.high) for score in (first, second)]
    if any(None in end for end in ends):
        return None
    (one, low, high), (other, lowest, highest) = np.array(ends, np.float64).tolist()
    difference = one - other
    below, above = math.hypot(one - low, highest - other), math.hypot(high - one, other - lowest)
    toward = below if difference > 0 else above
    t = critical_value(plan.evaluation.level, NORMAL, "two-sided") * difference / toward if toward else None
    interval = Quantity(difference, difference - below, difference + above, warning=FROM_OWN)
    return interval, 1.0 if t is None else tail(t, NORMAL, plan.evaluation.alternative) or 1.0


def _detectable(
    first: Floats, second: Floats, metric: Metric, plan: ProtocolFile, difference: float | None
) -> Detectable | None:
    """Compute the difference that the units detect, from their jackknife pseudo-values."""
    if metric.clusters is not None:
        first, second = (_by_cluster(sums, metric.clusters) for sums in (first, second))
    n = len(first)
    if n < 2 or difference is None:
        return None
    without = metric.value(first.sum(axis=0) - first) - metric.value(second.sum(axis=0) - second)
    if np.isnan(without).any():
        return None
    pseudo = n * difference - (n - 1) * without
    deviation = float(pseudo.std(ddof=1))
    if deviation < 1e-9:  # All units have the same value, up to the rounding error of the subtraction.
        return None
    return minimum_detectable_difference(
        deviation,
        n,
        difference=difference,
        power=plan.evaluation.power,
        level=plan.evaluation.level,
        alternative=plan.evaluation.alternative,
    )


def _by_cluster(sums: Floats, clusters: Integers) -> Floats:
    total = np.zeros((int(clusters.max()) + 1, sums.shape[1]))
    np.add.at(total, clusters, sums)
    return total


def on_folds(
    systems: Sequence[Decided], gold: Gold, metric: Metric, plan: ProtocolFile
) -> tuple[Comparison | None, str | None, list[str]]:
    """Compare systems on folds; return the comparison, the metric of the scores, and notes.

    Raises
    ------
    InputError
        Items of the reference have no fold, or the systems of the scores differ from those of the file.
    """
    if plan.folds is None:
        return None, None, []
    folds = read_folds(plan.folds)
    if folds is None:
        return _of_scores(plan), "score", []
    code = _fold_codes(folds, gold)
    count = int(code.max()) + 1
    if count < 2:
        raise InputError("there is one fold", "write two or more", code="setting", file=folds.file)
    scores = np.empty((len(systems), count))
    for row, system in enumerate(systems):
        scores[row] = metric.value(_by_cluster(metric.sums(gold.label, system.label), code))
    if np.isnan(scores).any():
        name = systems[int(np.argwhere(np.isnan(scores))[0, 0])].system.name
        why = f"No test on folds: {metric.name} of {name} is undefined on one of the {count} folds."
        return None, None, [why]
    sizes = np.bincount(code)
    notes = []
    if sizes.max() > 1.25 * sizes.min():
        notes.append(
            f"Folds have from {sizes.min():,} to {sizes.max():,} items; all folds have the same weight."
        )
    names = [system.system.name for system in systems]
    return _compared(names, scores, np.zeros(count, np.int64), plan), metric.name, notes


def _compared(
    names: Sequence[str], scores: Floats, repeat: Integers | None, plan: ProtocolFile
) -> Comparison:
    """Compare scores on folds by the settings of the file."""
    return compare_systems(
        names,
        scores,
        unit="fold",
        repeat=repeat,
        test_train_ratio=None if plan.folds is None else plan.folds.test_train_ratio,
        alternative=plan.evaluation.alternative,
        baseline=plan.evaluation.baseline,
        power=plan.evaluation.power,
        level=plan.evaluation.level,
        samples=plan.evaluation.samples,
        seed=plan.evaluation.seed,
    )


def _of_scores(plan: ProtocolFile) -> Comparison:
    """Compare the scores of a table, by system, fold and optionally repeat."""
    assert plan.folds is not None
    table = read_results(plan.folds.file, fold=plan.folds.fold or "fold")
    names = [system.name for system in plan.systems]
    if set(table.systems) != set(names):
        odd = next(name for name in [*table.systems, *names] if (name in table.systems) != (name in names))
        hint = "use the same names of systems in both, and give each a score"
        message = f"system {odd!r} is only in the table of folds, or only in the file of the evaluation"
        raise InputError(message, hint, code="setting", file=table.name)
    order = [table.systems.index(name) for name in names]
    return _compared(names, table.scores[order], table.repeat, plan)


def _fold_codes(folds: ItemLabels, gold: Gold) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    lost = [item for item in gold.items if item not in folds.names]
    if lost:
        message = f"item {lost[0]} has no fold ({len(lost)} of {len(gold.items)} items of the reference)"
        raise InputError(message, "give each item a fold", code="missing-value", file=folds.file)
    names = list(dict.fromkeys(folds.names[item] for item in gold.items))
    place = {name: code for code, name in enumerate(names)}
    return np.array([place[folds.names[item]] for item in gold.items], np.int64)


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
    """Return the conclusions as sentences, in the order of the steps."""
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
            "The reliability of the reference is unknown: there are fewer than two annotators. Scores are "
            "relative to this reference."
        )
        return Finding("reference", False, text)
    alpha = agreement.krippendorff_alpha
    if alpha.estimate is None or alpha.low is None or alpha.high is None:
        why = alpha.reason or "the data do not say"
        text = f"Agreement between annotators is undefined: {why}."
        return Finding("reference", False, text)
    said = f"Krippendorff's alpha is {_number(alpha.estimate)}, {_interval(alpha.low, alpha.high, level)}"
    if alpha.low <= 0:
        text = f"The data do not show that annotators agree beyond chance: {said}."
        return Finding("reference", False, text)
    if alpha.low >= RELIABLE:
        return Finding("reference", True, f"The reference is reliable: {said}, entirely above {RELIABLE}.")
    if alpha.low >= TENTATIVE:
        text = f"The reference allows tentative conclusions: {said}, entirely above {TENTATIVE}."
        return Finding("reference", True, text)
    text = (
        f"Annotators agree beyond chance, but the data do not show that the reference is reliable: {said}, "
        "not "
        f"entirely above the customary {TENTATIVE}. Other annotators could rank close systems differently."
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
            f"difference in {comparison.metric} {_number(difference.estimate, '+')}, "
            f"{_interval(difference.low, difference.high, level)}, {_p(pair.holm_p_value)}"
        )
        yield _verdict(pair, said, pair, comparison.unit)


def _of_folds(folds: Comparison, comparison: MetricComparison, level: float) -> Iterator[Finding]:
    for pair, on_items in zip(folds.pairs, comparison.pairs, strict=True):
        difference = pair.difference
        interval = _interval(difference.low, difference.high, level)
        said = f"difference over {pair.n} folds {_number(difference.estimate or 0.0, '+')}, {interval}"
        if pair.holm_p_value is None:
            why = pair.reason or "the data do not say"
            text = f"{pair.first} and {pair.second} cannot be compared on folds: {why}."
            yield Finding("difference", False, text)
        else:
            said += f", {_p(pair.holm_p_value)}"
            yield _verdict(pair, said, on_items, comparison.unit)


def _verdict(pair: MetricPair | SystemPair, said: str, on_items: MetricPair, unit: str) -> Finding:
    """Return which system of a pair is better, or that the data do not show it."""
    if pair.better is not None:
        worse = pair.second if pair.better == pair.first else pair.first
        return Finding("difference", True, f"{pair.better} is better than {worse}: {said}.")
    asked = {
        "two-sided": f"a difference between {pair.first} and {pair.second}",
        "greater": f"that {pair.first} is better than {pair.second}",
        "less": f"that {pair.second} is better than {pair.first}",
    }[on_items.permutation.alternative]
    return Finding(
        "difference", False, f"The data do not show {asked}: {said}." + _plan(on_items.detectable, unit)
    )


def _plan(plan: Detectable | None, unit: str) -> str:
    if plan is None:
        return ""
    units, difference = counted(plan.n, unit), _number(plan.detectable)
    text = f" {units} detect a true difference of {difference} in {100 * plan.power:.12g} % of cases"
    if plan.more:
        text += f"; a difference as small as the observed one needs {counted(plan.more, f'more {unit}')}"
    return f"{text}."


def _of_calibration(calibration: Report | None, level: float) -> Iterator[Finding]:
    for model in calibration.models if calibration is not None else ():
        view = model.measured.views[0]
        low, high = view.calibration_error.low, view.calibration_error.high
        if low is None or high is None:
            why = view.calibration_error.reason or "the data do not say"
            text = f"The calibration of {model.name} is undefined: {why}."
            yield Finding("calibration", False, text)
        elif low > 0:
            text = (
                f"The probabilities of {model.name} are miscalibrated: calibration error at least "
                f"{_number(low)}, {_interval(low, high, level)}."
            )
            yield Finding("calibration", True, text)
        else:
            text = (
                f"The data do not show that the probabilities of {model.name} are miscalibrated; their "
                f"calibration error may be 0, or as large as {_number(high)} ({100 * level:.12g} % interval)."
            )
            yield Finding("calibration", False, text)


def _of_selection(systems: Sequence[SystemEvaluation], level: float) -> Iterator[Finding]:
    for system in systems:
        selective = system.selective
        if selective is None:
            continue
        half = next((point for point in selective.points if point.coverage <= 0.75), None)
        if half is None:  # one item has no half
            continue
        kept, right = half.accuracy, 1 - selective.error_rate
        said = (
            f"{system.name} is correct on {_percent(kept.estimate or 0.0)} of its most confident half, "
            f"{_interval(kept.low, kept.high, level, _percent)}, and on {_percent(right)} of all items"
        )
        gains = kept.low is not None and kept.low > right
        text = f"{said}." if gains else f"{said}: the data do not show a gain."
        yield Finding("selective", gains, text)


def _of_budget(task: ControlTask, systems: Sequence[SystemEvaluation]) -> Iterator[Finding]:
    for system in systems:
        if system.over_budget:
            text = (
                f"{system.name} gives {task.positive} more than {task.budget} times in "
                f"{system.over_budget:,} documents, so its scores are not valid for the task."
            )
            yield Finding("score", False, text)


def _of_scope(reference: Reference, comparison: MetricComparison) -> Finding:
    text = (
        f"These conclusions are about {comparison.unit}s like the {comparison.units:,} in this sample, and "
        "about the "
        f"first metric, {comparison.metric}; they do not extend to other kinds of {comparison.unit}s"
    )
    if comparison.metric.startswith("entity_"):
        text += " or, if errors follow names, to other names"
    left = (
        f"; {reference.left_out:,} items without a reference label are excluded" if reference.left_out else ""
    )
    return Finding("scope", False, f"{text}{left}.")


def _number(value: float, sign: str = "") -> str:
    return f"{value:{sign}.3f}".replace("-", "\N{MINUS SIGN}")


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def _interval(
    low: float | None, high: float | None, level: float, shown: Callable[[float], str] = _number
) -> str:
    if low is None or high is None:
        return "no interval"
    return f"{100 * level:.12g} % interval {shown(low)} to {shown(high)}"


def _p(value: float | None) -> str:
    if value is None:
        return "p undefined"
    return "adjusted p below 0.001" if value < 0.001 else f"adjusted p = {value:.3f}"


NO_ANNOTATORS = "the file names no annotators"
ONE_ANNOTATOR = "there is one annotator, and agreement needs two or more"


def protocol(
    path: str | os.PathLike[str], *, progress: Progress | None = None, command: str | None = None
) -> Protocol:
    """Evaluate systems in five steps, as a file describes them.

    The steps: define a control task; build a reference from annotators or a file; assess it by the
    annotators' agreement; score systems against it, with intervals, and measure the calibration of their
    probabilities; test their differences. The units are documents if known, otherwise items.

    Parameters
    ----------
    path
        A TOML file; see `calibrant.evaluation.files.protocol_file.ProtocolFile`. Paths in it are relative to
        its folder.
    progress
        Function that is called repeatedly with a stage, the work done and the total work (or None).
    command
        Command line to record.

    Returns
    -------
    Protocol
        Record of the evaluation; `calibrant.evaluation.protocol_page` makes a page from it.

    Raises
    ------
    InputError
        An input cannot be used. The error names the file and the line, or the row and column.

    Examples
    --------
    >>> from calibrant.data import example
    >>> agreement = protocol(example("summaries"))
    >>> agreement.reference.items, agreement.reference.documents, agreement.metrics
    (125, 12, ('f1:keep', 'accuracy'))
    """
    plan = read_protocol_file(path)
    gold = reference_of(plan)
    agreement = _agreement(plan, gold)
    systems = [decided(system, gold, plan) for system in plan.systems]
    metrics = metrics_of(plan.metrics, plan.labels, gold, [system.label for system in systems])
    scored = []
    for done, system in enumerate(systems):
        tell(progress, "scoring", done, len(systems))
        scored.append(evaluated(system, gold, metrics, plan))
    measured = calibration(systems, gold, plan, progress)
    comparisons = []
    for done, metric in enumerate(metrics):
        tell(progress, "comparing", done, len(metrics))
        comparisons.append(compared(systems, scored, gold, metric, plan))
    folds, fold_metric, notes = on_folds(systems, gold, metrics[0], plan)
    task = ControlTask(plan.task.name, plan.task.description, plan.labels, plan.positive, plan.task.budget)
    reason = None
    if agreement is None:
        reason = NO_ANNOTATORS if gold.ratings is None else ONE_ANNOTATOR
    return Protocol(
        file=plan.path,
        task=task,
        reference=gold.record,
        agreement=agreement,
        agreement_reason=reason,
        systems=tuple(scored),
        calibration=measured,
        metrics=plan.metrics,
        comparisons=tuple(comparisons),
        folds=folds,
        fold_metric=fold_metric,
        findings=findings_of(
            task, gold.record, agreement, scored, measured, comparisons[0], folds, plan.evaluation.level
        ),
        level=plan.evaluation.level,
        alternative=plan.evaluation.alternative,
        power=plan.evaluation.power,
        samples=plan.evaluation.samples,
        seed=plan.evaluation.seed,
        notes=(*notes, *_notes(gold.record, agreement, scored), *_output_notes(systems, gold)),
        version=__version__,
        command=command,
    )


def _agreement(plan: ProtocolFile, gold: Gold) -> Agreement | None:
    if gold.ratings is None or len(gold.ratings.annotators) < 2:
        return None
    return agreement(
        gold.ratings,
        distance=plan.evaluation.distance,
        clusters=gold.rated_documents,
        level=plan.evaluation.level,
    )


def _notes(
    reference: Reference, agreement: Agreement | None, systems: Sequence[SystemEvaluation]
) -> list[str]:
    """Return the notes on the data."""
    notes = []
    if agreement is not None and agreement.missing:
        notes.append(
            f"{agreement.missing:,} labels of annotators are missing; coefficients that allow missing labels "
            "use the others."
        )
    if reference.left_out:
        notes.append(f"{reference.left_out:,} items have no reference label and are excluded.")
    over = {"The reference": reference.over_budget} | reference.annotators_over_budget
    notes += [
        f"{name} exceeds the budget in {number:,} documents." for name, number in over.items() if number
    ]
    notes += [
        f"{system.name} has {counted(system.unused, 'item')} that the reference does not have."
        for system in systems
        if system.unused
    ]
    return notes


def _output_notes(systems: Sequence[Decided], gold: Gold) -> Iterator[str]:
    for system in systems:
        name = system.system.name
        if system.documents:
            yield (
                f"{name} names documents and the reference does not, so intervals ignore that items of a "
                "document depend on each other; add the documents to the reference."
            )
        if system.ignored:
            ignored = counted(system.ignored, "item")
            yield f"{name} decides by document without {ignored} of unknown documents."
        if system.other_tokens:
            yield (
                f"{name} has {system.other_tokens:,} of {len(gold.items):,} tokens that differ from "
                "the reference; tags are compared by sentence and position."
            )


def write_example(name: str, folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Write an example evaluation that ships with the package into a new folder.

    Parameters
    ----------
    name
        Name of the example, as in `calibrant.data.example`.
    folder
        Folder to write; None: a folder of that name in the working directory.

    Returns
    -------
    list of str
        Paths of the files.

    Raises
    ------
    InputError
        There is no such example, or the folder exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     [Path(path).name for path in write_example("sentiment", Path(here) / "sentiment")]
    ['eval.toml', 'sentiment-dated-logistic-regression.parquet', 'sentiment-dated-naive-bayes.parquet']
    """
    source = example(name)
    place = Path(name if folder is None else folder)
    if place.exists():
        hint = "remove it, or change to another directory"
        raise InputError("this folder or file exists", hint, code="output", file=str(place))
    files = {path.name: path for path in read_protocol_file(source).files}
    files |= {path.name: path for path in source.parent.glob("*.csv")} | {"eval.toml": source}
    place.mkdir(parents=True)
    for target, path in sorted(files.items()):
        with writing(place / target) as file:
            file.write(path.read_bytes())
    return [str(place / target) for target in sorted(files)]
