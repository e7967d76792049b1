"""Step 5 of an evaluation: pairs of systems by each metric, and on folds of cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from msgspec.structs import replace

from calibrant._checks import Floats
from calibrant.evaluation.comparison import compare_systems
from calibrant.evaluation.detectable import minimum_detectable_difference
from calibrant.evaluation.files.protocol_file import ProtocolFile
from calibrant.evaluation.files.protocol_tables import ItemLabels, read_folds
from calibrant.evaluation.files.tables import read_results
from calibrant.evaluation.paired import mcnemar, paired_bootstrap, paired_permutation
from calibrant.evaluation.results.protocol import MetricComparison, MetricPair
from calibrant.evaluation.results.significance import Comparison, Detectable
from calibrant.evaluation.significance import adjusted_p_values
from calibrant.evaluation.verbs._protocol_metrics import Metric
from calibrant.evaluation.verbs._protocol_reference import Gold
from calibrant.evaluation.verbs._protocol_systems import Decided
from calibrant.exceptions import InputError

PERMUTATIONS = 10_000
NOT_ACCURACY = "the test is of accuracy"
IN_CLUSTERS = "items of a document depend on each other"


def pairs_of(names: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    """Return all pairs of systems, or each with the baseline.

    Examples
    --------
    >>> pairs_of(["a", "b", "c"], None), pairs_of(["a", "b", "c"], "b")
    ([(0, 1), (0, 2), (1, 2)], [(0, 1), (2, 1)])
    """
    if baseline is None:
        return list(combinations(range(len(names)), 2))
    base = list(names).index(baseline)
    return [(place, base) for place in range(len(names)) if place != base]


def compared(systems: Sequence[Decided], gold: Gold, metric: Metric, plan: ProtocolFile) -> MetricComparison:
    """Compare each pair of systems by one metric on the same items, documents being the units if known."""
    names = [each.system.name for each in systems]
    sums = [metric.sums(gold.label, each.label) for each in systems]
    pairs = [
        _pair(systems[one], systems[other], sums[one], sums[other], gold, metric, plan)
        for one, other in pairs_of(names, plan.baseline)
    ]
    p_values = [pair.permutation.p_value for pair in pairs]
    holm, hochberg = adjusted_p_values(p_values), adjusted_p_values(p_values, "benjamini-hochberg")
    units = len(gold.items) if gold.documents is None else len(gold.document_names)
    return MetricComparison(
        metric=metric.name,
        unit="item" if gold.documents is None else "document",
        units=units,
        pairs=tuple(
            replace(
                pair,
                holm_p_value=first,
                benjamini_hochberg_p_value=second,
                better=_better(pair, first, plan.level),
            )
            for pair, first, second in zip(pairs, holm, hochberg, strict=True)
        ),
    )


def _better(pair: MetricPair, p_value: float | None, level: float) -> str | None:
    difference = pair.difference.estimate
    if p_value is None or difference is None or p_value >= 1 - level:
        return None
    return pair.first if difference > 0 else pair.second


def _pair(
    one: Decided,
    other: Decided,
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
            clusters=gold.documents,
            alternative=plan.alternative,
            level=plan.level,
            samples=samples,
            seed=plan.seed,
        )
        for test, samples in ((paired_bootstrap, plan.samples), (paired_permutation, PERMUTATIONS))
    )
    without = NOT_ACCURACY if metric.name != "accuracy" else None if gold.documents is None else IN_CLUSTERS
    return MetricPair(
        first=one.system.name,
        second=other.system.name,
        difference=bootstrap.difference,
        p_value=permutation.p_value,
        bootstrap=bootstrap,
        permutation=permutation,
        mcnemar=mcnemar(first[:, 0], second[:, 0]) if without is None else None,
        mcnemar_reason=without,
        detectable=_detectable(first, second, gold, metric, plan, bootstrap.difference.estimate),
        reason=permutation.reason,
    )


def _detectable(
    first: Floats, second: Floats, gold: Gold, metric: Metric, plan: ProtocolFile, difference: float | None
) -> Detectable | None:
    """What difference the units show, each unit counting by its jackknife pseudo-value."""
    if gold.documents is not None:
        first, second = (_by_document(sums, gold) for sums in (first, second))
    n = len(first)
    if n < 2 or difference is None:
        return None
    without = metric.value(first.sum(axis=0) - first) - metric.value(second.sum(axis=0) - second)
    if np.isnan(without).any():
        return None
    pseudo = n * difference - (n - 1) * without
    deviation = float(pseudo.std(ddof=1))
    # Dust of subtraction where every unit says the same.
    deviation = 0.0 if deviation < 1e-9 else deviation
    return minimum_detectable_difference(
        deviation, n, difference=difference, power=plan.power, level=plan.level, alternative=plan.alternative
    )


def _by_document(sums: Floats, gold: Gold) -> Floats:
    assert gold.documents is not None
    total = np.zeros((len(gold.document_names), sums.shape[1]))
    np.add.at(total, gold.documents, sums)
    return total


def on_folds(
    systems: Sequence[Decided], gold: Gold, metric: Metric, plan: ProtocolFile
) -> tuple[Comparison | None, str | None, list[str]]:
    """Compare systems on folds: the comparison, what the scores are, and notes.

    Raises
    ------
    InputError
        Items of the reference have no fold, or the scores' systems are not those of the file.
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
    for row, each in enumerate(systems):
        sums = metric.sums(gold.label, each.label)
        totals = np.zeros((count, sums.shape[1]))
        np.add.at(totals, code, sums)
        scores[row] = metric.value(totals)
    if np.isnan(scores).any():
        name = systems[int(np.argwhere(np.isnan(scores))[0, 0])].system.name
        why = f"No test on folds: {metric.name} of {name} is undefined on one of the {count} folds."
        return None, None, [why]
    sizes = np.bincount(code)
    notes = []
    if sizes.max() > 1.25 * sizes.min():
        notes.append(f"Folds have from {sizes.min():,} to {sizes.max():,} items; each counts alike.")
    found = compare_systems(
        [each.system.name for each in systems],
        scores,
        unit="fold",
        repeat=np.zeros(count, np.int64),
        test_train_ratio=plan.test_train_ratio,
        alternative=plan.alternative,
        baseline=plan.baseline,
        power=plan.power,
        level=plan.level,
        samples=plan.samples,
        seed=plan.seed,
    )
    return found, metric.name, notes


def _of_scores(plan: ProtocolFile) -> Comparison:
    """Compare scores that a table gives, by system, fold and perhaps repeat."""
    assert plan.folds is not None
    table = read_results(plan.folds.file, fold=plan.folds.fold)
    names = [system.name for system in plan.systems]
    if set(table.systems) != set(names):
        odd = next(name for name in [*table.systems, *names] if (name in table.systems) != (name in names))
        hint = "name the systems alike, and score each"
        message = f"system {odd!r} is in one of the two: the table of folds and the file of the evaluation"
        raise InputError(message, hint, code="setting", file=table.name)
    order = [table.systems.index(name) for name in names]
    return compare_systems(
        names,
        table.scores[order],
        unit="fold",
        repeat=table.repeat,
        test_train_ratio=plan.test_train_ratio,
        alternative=plan.alternative,
        baseline=plan.baseline,
        power=plan.power,
        level=plan.level,
        samples=plan.samples,
        seed=plan.seed,
    )


def _fold_codes(folds: ItemLabels, gold: Gold) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    lost = [item for item in gold.items if item not in folds.names]
    if lost:
        message = f"item {lost[0]} has no fold ({len(lost)} of {len(gold.items)} items of the reference)"
        raise InputError(message, "give each item one", code="missing-value", file=folds.file)
    names = list(dict.fromkeys(folds.names[item] for item in gold.items))
    place = {name: code for code, name in enumerate(names)}
    return np.array([place[folds.names[item]] for item in gold.items], np.int64)
