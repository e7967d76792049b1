"""Proportions of classes that a judge names, corrected by labels, and the judge's confusion matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec.structs import asdict, replace

from calibrant import _checks
from calibrant._checks import Floats, shown
from calibrant.estimation.judged_means import (
    Answers,
    JudgedTable,
    answers_of,
    own_mean,
    proportion_of,
)
from calibrant.estimation.judged_pairs import Pair, paired_differences, settled
from calibrant.estimation.judged_scores import together
from calibrant.estimation.judging import RULES, check_labels, check_margins, corrected_mean
from calibrant.estimation.results.judged_classes import (
    JudgeConfusion,
    JudgedClasses,
    JudgedShare,
    JudgedShareDifference,
)
from calibrant.exceptions import InputError
from calibrant.records import Quantity


def judged_classes(
    tables: Mapping[str, JudgedTable],
    *,
    margin: float | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> JudgedClasses:
    """Compare systems by the classes that a judge names for all their answers, and labels of some.

    Each class is corrected as the mean of a label that is 1 for the class and 0 for others, as by
    `judged_systems`. The corrected proportions of a system are estimated one by one, so that their sum may
    differ from 1 by less than their intervals.

    Parameters
    ----------
    tables
        By class: 1 for the answers for which the judge names the class, and 0 for others, and the same of the
        labels (or the proportion of an answer's labels that name the class). All tables have the same rows.
    margin
        Difference of proportions that does not matter: an interval within it is a tie.
    level
        Level of the intervals and tests.
    power
        Power for which the labels needed are computed.

    Raises
    ------
    InputError
        If no system has 10 labels, or all labels are of one class.

    Notes
    -----
    Intervals are for one class; ``simultaneous`` has intervals for all classes of a system at once, each at
    level 1 - (1 - level) / K (Bonferroni; two classes are one proportion). P-values of the differences are
    adjusted over all classes and pairs of systems (Holm). The confusion matrix has Clopper and Pearson's
    intervals, with an effective number of labels where those of a prompt or cluster depend on each other.

    References
    ----------
    .. [1] Angelopoulos, Duchi and Zrnic (2023). PPI++: efficient prediction-powered inference.
    .. [2] Korn and Graubard (1998). Confidence intervals for proportions with small expected number of
       positive counts estimated from survey data. Survey Methodology 24, 193-201.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.choice(3, 600, p=[0.5, 0.3, 0.2])
    >>> judge = np.where(rng.random(600) < 0.8, truth, 0)  # it says the first class too often
    >>> known = np.arange(600) < 150
    >>> tables = {
    ...     name: JudgedTable(
    ...         ("A",), np.zeros(600, int), np.arange(600), (judge == k) * 1.0,
    ...         np.where(known, truth == k, np.nan),
    ...     )
    ...     for k, name in enumerate(("good", "fair", "bad"))
    ... }
    >>> [(row.kind, f"{row.judge_alone.estimate:.2f}", f"{row.corrected.estimate:.2f}")
    ...  for row in judged_classes(tables).shares]
    [('good', '0.55', '0.45'), ('fair', '0.26', '0.30'), ('bad', '0.19', '0.25')]
    """
    _checks.proportion(level, "level")
    _checks.proportion(power, "power", such_as=0.8)
    first = next(iter(tables.values()))
    check_margins({"margin": margin}, 1.0)
    for name, table in tables.items():
        check_labels(table)
        known = table.label[table.labelled]
        if (known == 1).all():
            message = f"all {len(known):,} labels are {shown(name)}"
            raise InputError(message, "label answers of several classes", code="undefined")
    places = [np.flatnonzero(first.system == code) for code in range(len(first.systems))]
    number = len(tables)
    at_once = 1 - (1 - level) / (1 if number == 2 else number)
    shares: list[JudgedShare] = []
    pairs: list[tuple[str, Pair]] = []
    note, unequal = None, False
    for name, alone in tables.items():
        table = together(alone) if alone.scores is not None else alone
        answers = [answers_of(table, rows) for rows in places]
        for code, own in enumerate(answers):
            judged = own if table is alone else answers_of(alone, places[code])
            mean = corrected_mean(table, own, code, level, judged)
            together = mean.corrected
            if mean.method is not None and at_once != level:
                together = own_mean(table, own, mean.method, at_once)[0]
            shares.append(JudgedShare(**asdict(mean), kind=name, simultaneous=together))
            unequal |= own.unequal
        raw, note = paired_differences(table, places, level, alone.judge)
        pairs += [(name, pair) for pair in raw]
    order = {name: place for place, name in enumerate(first.systems)}
    return JudgedClasses(
        shares=tuple(sorted(shares, key=lambda row: order[row.system])),
        differences=_differences(pairs, number, level, power, margin),
        confusion=_confusion(tables, level),
        classes=tuple(tables),
        margin=margin,
        level=level,
        power=power,
        clusters="prompts" if first.cluster is None else "cluster",
        rule=RULES["unequal" if unequal else "equal"],
        items_warning=note,
    )


def _differences(
    pairs: list[tuple[str, Pair]], number: int, level: float, power: float, margin: float | None
) -> tuple[JudgedShareDifference, ...]:
    """Return the differences of all classes with verdicts; those of two classes are one test."""
    half = len(pairs) // 2 if number == 2 else len(pairs)
    rows = settled([pair for _, pair in pairs[:half]], level, power, margin)
    if number == 2:
        mirrored = settled([pair for _, pair in pairs[half:]], level, power, margin)
        rows += tuple(
            replace(row, p_value=one.p_value, holm_p_value=one.holm_p_value)
            for row, one in zip(mirrored, rows, strict=True)
        )
    return tuple(
        JudgedShareDifference(**asdict(row), kind=name) for (name, _), row in zip(pairs, rows, strict=True)
    )


def _confusion(tables: Mapping[str, JudgedTable], level: float) -> tuple[JudgeConfusion, ...]:
    """Return the fraction of each class of labels for which the judge names each class."""
    first = next(iter(tables.values()))
    places = np.flatnonzero(first.labelled)
    whole: Answers = answers_of(first, places)
    clustered = whole.clustered or len(first.systems) > 1
    rows = []
    for label, by_label in tables.items():
        given: Floats = by_label.label[places]
        own = np.flatnonzero(given > 0)
        weight = given[own] * whole.weight[own]
        for judge, by_judge in tables.items():
            fraction = Quantity(None, reason="no answer has this label")
            if len(own):
                fraction = proportion_of(
                    by_judge.judge[places][own], weight, whole.unit[own], level, clustered=clustered
                )
            rows.append(
                JudgeConfusion(label=label, judge=judge, labelled=float(given.sum()), fraction=fraction)
            )
    return tuple(rows)
