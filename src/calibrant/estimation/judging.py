"""Compare systems by a judge's scores of all answers and labels of some: corrected means and differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np
from msgspec.structs import replace

from calibrant import _checks
from calibrant._checks import Integers
from calibrant.estimation.judged_means import (
    DUST,
    ENOUGH,
    METHODS,
    Answers,
    JudgedTable,
    answers_of,
    error_rates,
    gain_of,
    mean_by_method,
    mean_of,
    near_an_end,
    own_mean,
    warning_of,
    weighted_mean,
)
from calibrant.estimation.judged_transport import LabelMap, mean_from_source, transported
from calibrant.estimation.results.judging import (
    INCONCLUSIVE,
    TIED,
    JudgedDifference,
    JudgedMethod,
    JudgedSystem,
    JudgedSystems,
    TransportedSystem,
)
from calibrant.exceptions import InputError
from calibrant.metrics.multiplicity import adjusted_p_values, groups_not_distinguishable
from calibrant.metrics.tails import critical_value, tail
from calibrant.records import Quantity
from calibrant.records.words import counted

RULES = {
    "equal": "ppi++: if labeled answers are a random sample, it needs no assumption on the judge",
    "unequal": "dsl, and for grades ppi++ with labels weighted by one over their probability, since answers "
    "were chosen to be labeled with unequal probabilities",
}


def judged_systems(
    table: JudgedTable,
    *,
    methods: Sequence[str] | str | None = None,
    margin: float | None = None,
    transport_margin: float | None = None,
    transport_from: str | None = None,
    level: float = 0.95,
    power: float = 0.8,
) -> JudgedSystems:
    """Compare systems by the judge scores of all their answers and the labels of some.

    The estimates are prediction-powered: the mean of the labels, less a weight times the amount by which the
    judge scores of the labeled answers exceed those of all answers. The weight makes the variance least; it
    is 0, and the labels are used alone, if the judge's scores do not follow the labels. The weight of a
    difference comes from the differences within prompts.

    Parameters
    ----------
    table
        Judge scores and labels.
    methods
        Methods to show beside each other; ``all`` shows all. None: none.
    margin
        Difference that does not matter, in units of the labels: an interval within it is a tie.
    transport_margin
        Residual that does not matter. None: a tenth of the range of labels.
    transport_from
        System whose labels are tested on the others. None: the system with the most labels.
    level
        Level of the intervals and tests.
    power
        Power for which the labels needed are computed.

    Raises
    ------
    InputError
        If no system has 10 labels, or all labels are equal.

    Notes
    -----
    Variances are those of the units' influences with the correction CR2, where a unit is a prompt or a named
    cluster; each is counted with all its answers, so that labels of different prompts for each system, and of
    the same prompts, both have the right variance. Intervals are Student's, further out on the side of the
    skewness; means of labels that are 0 or 1 have those of `corrected_counts`.

    A map from judge scores to labels is learned on the source by isotonic regression. On another system, its
    mean residual is the error of a mean that is corrected by the source's labels. If two one-sided tests show
    that it is within the margin, a system with fewer than 10 labels has this mean. If the residual is shown
    to differ from 0 instead, it has none. If neither is shown, the interval is extended by that of the
    residual.

    References
    ----------
    .. [1] Angelopoulos, Duchi and Zrnic (2023). PPI++: efficient prediction-powered inference.
    .. [2] Schuirmann (1987). A comparison of the two one-sided tests procedure. Journal of Pharmacokinetics
       and Biopharmaceutics 15, 657-680.
    .. [3] Lang and Reiczigel (2014). Confidence limits for prevalence of disease adjusted for estimated
       sensitivity and specificity. Preventive Veterinary Medicine 113, 13-22.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random((2, 500)) < [[0.6], [0.4]]
    >>> judge = np.where(rng.random((2, 500)) < 0.9, truth, ~truth).astype(float)
    >>> judge[1] = np.maximum(judge[1], rng.random(500) < 0.7)  # it favors the second system
    >>> label = np.where(np.arange(500) < 100, truth, np.nan)
    >>> code, item = np.repeat([0, 1], 500), np.tile(np.arange(500), 2)
    >>> table = JudgedTable(("new", "old"), code, item, judge.ravel(), label.ravel())
    >>> [pair] = judged_systems(table).differences
    >>> round(pair.judge_difference, 2), pair.verdict
    (-0.27, 'new')
    """
    _checks.proportion(level, "level")
    _checks.proportion(power, "power", such_as=0.8)
    width = table.high - table.low
    for name, value in (("margin", margin), ("transport_margin", transport_margin)):
        if value is not None and not 0 < value < width:
            hint = f"give a difference above 0 in units of the labels, such as {0.1 * width:g}"
            raise InputError(f"{name} is {value!r}", hint, code="parameter")
    asked = METHODS if methods == "all" or (methods is not None and list(methods) == ["all"]) else methods
    asked = (asked,) if isinstance(asked, str) else tuple(asked or ())
    for method in asked:
        _checks.one_of(method, METHODS, "method")
    known = table.labelled
    counts = np.bincount(table.system[known], minlength=len(table.systems))
    if not known.any() or counts.max() < ENOUGH:
        most = table.systems[int(counts.argmax())]
        message = f"no system has {ENOUGH} labels: {most} has the most, {counts.max()}"
        hint = "label a random sample of the answers of each system, the same prompts for all"
        raise InputError(message, hint, code="empty")
    if np.ptp(table.label[known]) == 0:
        message = f"all {known.sum():,} labels are {table.label[known][0]:g}"
        raise InputError(message, "label answers of both kinds, or of several grades", code="undefined")
    source = int(counts.argmax())
    if transport_from is not None:
        _checks.one_of(transport_from, table.systems, "transport_from")
        source = table.systems.index(transport_from)
        if counts[source] < ENOUGH:
            message = f"{transport_from} has {counted(int(counts[source]), 'label')}, fewer than {ENOUGH}"
            raise InputError(message, "name a system with more labels", code="parameter")
    places = [np.flatnonzero(table.system == code) for code in range(len(table.systems))]
    answers = [answers_of(table, rows) for rows in places]
    limit = 0.1 * width if transport_margin is None else transport_margin
    fitted = LabelMap.of(answers[source])
    moved = {
        code: transported(table, fitted, own, code, limit, level, power)
        for code, own in enumerate(answers)
        if code != source
    }
    systems = [_system(table, own, code, moved.get(code), fitted, level) for code, own in enumerate(answers)]
    pairs, note = _differences(table, places, counts, level, power, margin)
    different = {
        frozenset((pair.first, pair.second)) for pair in pairs if pair.verdict in (pair.first, pair.second)
    }
    better = [
        (pair.verdict, pair.second if pair.verdict == pair.first else pair.first)
        for pair in pairs
        if pair.verdict in (pair.first, pair.second)
    ]
    order = sorted(
        systems,
        key=lambda row: -math.inf if row.corrected.estimate is None else row.corrected.estimate,
        reverse=True,
    )
    defined = [pair for pair in pairs if pair.difference.low is not None]
    compared = {name for pair in defined for name in (pair.first, pair.second)}
    ranked = [row.system for row in order if row.system in compared]
    letters = dict(zip(ranked, groups_not_distinguishable(ranked, different), strict=True))
    unequal = any(
        own.chance is not None and len(own.rows) and np.ptp(own.chance[own.rows]) > DUST for own in answers
    )
    rates = [error_rates(table, own, code, level) for code, own in enumerate(answers)]
    return JudgedSystems(
        systems=tuple(
            replace(
                row,
                letters=letters.get(row.system, ""),
                best_rank=1 + sum(worse == row.system for _, worse in better)
                if row.system in letters
                else None,
                worst_rank=len(ranked) - sum(best == row.system for best, _ in better)
                if row.system in letters
                else None,
            )
            for row in order
        ),
        differences=tuple(pairs),
        transport=tuple(moved[code] for code in sorted(moved) if counts[code] > 0),
        errors=tuple(row for row in rates if row is not None),
        methods=tuple(
            JudgedMethod(system=name, method=method, mean=mean_by_method(table, own, method, level))
            for name, own in zip(table.systems, answers, strict=True)
            for method in asked
        ),
        source=table.systems[source] if moved else None,
        transport_margin=limit,
        margin=margin,
        low=table.low,
        high=table.high,
        level=level,
        power=power,
        clusters="prompts" if table.cluster is None else "cluster",
        rule=RULES["unequal" if unequal else "equal"],
        items_warning=note,
    )


def _system(
    table: JudgedTable,
    answers: Answers,
    code: int,
    moved: TransportedSystem | None,
    fitted: LabelMap,
    level: float,
) -> JudgedSystem:
    rows, low, high = answers.rows, table.low, table.high
    alone = weighted_mean(answers.judge, np.ones(len(answers.judge)), answers.unit)
    labels_alone = corrected = Quantity(None, reason="there are no labels of its answers")
    gain, method, warned = Quantity(None, reason=f"fewer than {ENOUGH} labels"), None, None
    if len(rows):
        labels_alone = mean_by_method(table, answers, "labels", level)
    if len(rows) >= ENOUGH:
        unequal = answers.chance is not None and float(np.ptp(answers.chance[rows])) > DUST
        method = "dsl" if unequal and table.binary and not answers.clustered else "ppi++"
        corrected, warned = own_mean(table, answers, method, level)
        gain = gain_of(answers, level)
    elif moved is not None:
        corrected = mean_from_source(fitted, answers, moved, low, high, level)
        method = None if corrected.estimate is None else "transported"
    return JudgedSystem(
        system=table.systems[code],
        answers=len(answers.judge),
        labelled=len(rows),
        corrected=corrected,
        method=method,
        judge_alone=alone.interval(level, float(answers.judge.min()), float(answers.judge.max())),
        labels_alone=labels_alone,
        gain=gain,
        letters="",
        mean_warning=warned,
    )


def _differences(
    table: JudgedTable,
    places: Sequence[Integers],
    counts: Integers,
    level: float,
    power: float,
    margin: float | None,
) -> tuple[list[JudgedDifference], str | None]:
    """Return the paired differences of all pairs of systems, and a note on prompts that some lack."""
    items = int(table.item.max()) + 1
    systems_of = np.bincount(table.item, minlength=items)
    shared = np.flatnonzero(systems_of > 1)
    alone = int(np.count_nonzero(systems_of[np.unique(table.item)] < len(places)))
    note = None
    if alone and len(places) > 1:
        note = (
            f"{counted(alone, 'prompt')} {'was' if alone == 1 else 'were'} not answered by all systems: a "
            "difference uses the prompts that both answered"
        )
    place = np.full(items, -1, np.int64)
    place[shared] = np.arange(len(shared))
    judge, label, weight = (np.full((len(places), len(shared)), np.nan) for _ in range(3))
    unit = np.arange(len(shared))
    for code, rows in enumerate(places):
        own = place[table.item[rows]]
        rows, own = rows[own >= 0], own[own >= 0]
        judge[code, own], label[code, own] = table.judge[rows], table.label[rows]
        weight[code, own] = 1.0 if table.chance is None else 1 / table.chance[rows]
        if table.cluster is not None:
            unit[own] = table.cluster[rows]
    pairs: list[JudgedDifference] = []
    plans: list[tuple[float, float]] = []
    for one, other in combinations(range(len(places)), 2):
        both = ~np.isnan(judge[one]) & ~np.isnan(judge[other])
        units = np.arange(int(both.sum()))
        if table.cluster is not None:
            units = np.unique(unit[both], return_inverse=True)[1]
        answers = [
            Answers(judge[code, both], label[code, both], weight[code, both], units, True, None)
            for code in (one, other)
        ]
        few = [
            table.systems[code]
            for code, own in zip((one, other), answers, strict=True)
            if len(own.rows) < ENOUGH
        ]
        reason = f"fewer than {ENOUGH} labels of {' and of '.join(few)} on prompts that both answered"
        if not both.any():
            reason = "they have no prompt in common"
        first, second = (~np.isnan(own.label) for own in answers)
        pair = JudgedDifference(
            first=table.systems[one],
            second=table.systems[other],
            items=int(both.sum()),
            labelled=int((first | second).sum()),
            both_labelled=int((first & second).sum()),
            judge_difference=float((judge[one, both] - judge[other, both]).mean()) if both.any() else None,
            difference=Quantity(None, reason=reason),
            p_value=None,
        )
        plan = (0.0, 0.0)
        if both.any() and not few:
            pair, plan = _difference(table, pair, answers, level)
        pairs.append(pair)
        plans.append(plan)
    judged = []
    adjusted = adjusted_p_values([pair.p_value for pair in pairs])
    for pair, p_value, plan in zip(pairs, adjusted, plans, strict=True):
        verdict, needed = _verdict(pair, p_value, level, margin), None
        if verdict == INCONCLUSIVE and pair.difference.low is not None:
            needed = _labels_needed(pair, plan, margin, level, power)
        judged.append(replace(pair, holm_p_value=p_value, verdict=verdict, labels_needed=needed))
    return judged, note


def _difference(
    table: JudgedTable, pair: JudgedDifference, answers: Sequence[Answers], level: float
) -> tuple[JudgedDifference, tuple[float, float]]:
    """Return the difference of a pair; and its variance, and the part of it that falls with the labels."""
    units = int(answers[0].unit.max()) + 1
    labels = [own.label[own.rows] for own in answers]
    gap = mean_of(answers[0], units) - mean_of(answers[1], units)
    weight, width = gap.weight(), table.high - table.low
    estimate, alone = gap.with_weight(weight, tuned=True), gap.with_weight(0.0, tuned=False)
    difference = estimate.interval(level, -width, width)
    if difference.low is None:
        return replace(pair, difference=difference), (0.0, 0.0)
    judged = answers[0].judge - answers[1].judge
    of_all = np.bincount(answers[0].unit, judged - judged.mean(), minlength=units) / len(judged)
    labelled = estimate.influence - weight * of_all
    return replace(
        pair,
        difference=difference,
        p_value=tail(estimate.value / estimate.error, estimate.freedom, "two-sided"),
        gain=(alone.error / estimate.error) ** 2,
        judge_weight=weight,
        difference_warning=warning_of(estimate, gap.sizes.sum(axis=0))
        or next((text for text in map(partial(near_an_end, table), labels) if text is not None), None),
    ), (estimate.error**2, min(estimate.error**2, float((labelled * labelled).sum())))


def _verdict(pair: JudgedDifference, p_value: float | None, level: float, margin: float | None) -> str:
    low, high = pair.difference.low, pair.difference.high
    if low is None or high is None:
        return INCONCLUSIVE
    if p_value is not None and p_value <= 1 - level and not low <= 0 <= high:
        return pair.first if low > 0 else pair.second
    return TIED if margin is not None and -margin < low and high < margin else INCONCLUSIVE


def _labels_needed(
    pair: JudgedDifference, plan: tuple[float, float], margin: float | None, level: float, power: float
) -> int | None:
    """Return with how many labeled prompts a difference is shown; None if more prompts are needed."""
    variance, labelled = plan
    target = abs(pair.difference.estimate or 0.0) if margin is None else margin
    z = critical_value(level, math.inf, "two-sided") + critical_value(power, math.inf, "greater")
    spare = (target / z) ** 2 - (variance - labelled)
    if spare <= 0:
        return None
    needed = max(pair.labelled + 1, math.ceil(pair.labelled * labelled / spare))
    return needed if needed <= pair.items else None
