"""Compare systems by a judge's scores of all answers and labels of some: corrected means and differences."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec.structs import asdict, replace

from calibrant import _checks
from calibrant._checks import Integers
from calibrant.estimation.judged_means import (
    ENOUGH,
    METHODS,
    Answers,
    ErrorsOfAll,
    JudgedTable,
    answers_of,
    check_table,
    error_rates,
    gain_of,
    mean_by_method,
    own_mean,
    weighted_mean,
)
from calibrant.estimation.judged_pairs import paired_differences, settled
from calibrant.estimation.judged_scores import chosen, mapped
from calibrant.estimation.judged_transport import LabelMap, mean_from_source, transported
from calibrant.estimation.results.judging import (
    TOGETHER,
    JudgedJudge,
    JudgedMean,
    JudgedMethod,
    JudgedSystem,
    JudgedSystems,
    TransportedSystem,
)
from calibrant.exceptions import InputError
from calibrant.metrics.multiplicity import groups_not_distinguishable
from calibrant.records import Quantity
from calibrant.records.words import counted

RULES = {
    "equal": "ppi++: if labeled answers are a random sample, it needs no assumption on the judge",
    "map": "map: ppi++ with the judge's scores on the scale of labels, by isotonic maps from the labels of "
    "other prompts, since these leave at most 95 % of the variance that the scores leave",
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

    The scores of one judge are used as they are, or by isotonic maps to labels if labels show that they are
    not linear in them; several judges are combined linearly. Both are learned without the labels of the
    prompt that they score (cross-fitting).

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
        If no system has 10 labels, all labels are equal, or a value is outside of the range of labels.

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
    check_margins({"margin": margin, "transport_margin": transport_margin}, width)
    asked = METHODS if methods == "all" or (methods is not None and list(methods) == ["all"]) else methods
    asked = (asked,) if isinstance(asked, str) else tuple(asked or ())
    for method in asked:
        _checks.one_of(method, METHODS, "method")
    counts = check_labels(table)
    check_different(table)
    source = int(counts.argmax())
    if transport_from is not None:
        _checks.one_of(transport_from, table.systems, "transport_from")
        source = table.systems.index(transport_from)
        if counts[source] < ENOUGH:
            message = f"{transport_from} has {counted(int(counts[source]), 'label')}, fewer than {ENOUGH}"
            raise InputError(message, "name a system with more labels", code="parameter")
    places = [np.flatnonzero(table.system == code) for code in range(len(table.systems))]
    alone = table
    table, way = chosen(table)
    answers = [answers_of(table, rows) for rows in places]
    said = answers if table is alone else [answers_of(alone, rows) for rows in places]
    limit = 0.1 * width if transport_margin is None else transport_margin
    fitted = LabelMap.of(said[source])
    moved = {
        code: transported(table, fitted, own, code, limit, level, power)
        for code, own in enumerate(said)
        if code != source
    }
    systems = [
        _system(table, own, judged, code, moved.get(code), fitted, level, way)
        for code, (own, judged) in enumerate(zip(answers, said, strict=True))
    ]
    raw, note = paired_differences(table, places, level, alone.judge)
    pairs = settled(raw, level, power, margin)
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
    unequal = any(own.unequal for own in answers)
    rates = [error_rates(alone, own, code, level) for code, own in enumerate(said)]
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
        differences=pairs,
        transport=tuple(moved[code] for code in sorted(moved) if counts[code] > 0),
        errors=tuple(row for row in rates if row is not None),
        methods=_by_methods(table, alone, places, asked, level),
        judges=_judges(alone, places, level, systems),
        source=table.systems[source] if moved else None,
        transport_margin=limit,
        margin=margin,
        low=table.low,
        high=table.high,
        level=level,
        power=power,
        clusters="prompts" if table.cluster is None else "cluster",
        rule=RULES[way if way == "map" else "unequal" if unequal else "equal"] + _combined(alone, table),
        items_warning=note,
    )


def _combined(alone: JudgedTable, table: JudgedTable) -> str:
    """Return how several judges are combined, as the end of the rule."""
    if alone.scores is None:
        return ""
    if table is alone:
        return f"; the mean of the judges, since fewer than {ENOUGH} labeled prompts (or clusters) per judge"
    return "; judges have the weights that labels of other prompts give them (by folds)"


def _judges(
    table: JudgedTable, places: Sequence[Integers], level: float, combined: Sequence[JudgedMean]
) -> tuple[JudgedJudge, ...]:
    """Return what each of several judges says, and is worth, beside all of them together."""
    if table.scores is None:
        return ()
    rows = []
    for code, own in enumerate(places):
        means = [
            (name, corrected_mean(alone, answers_of(alone, own), code, level))
            for name, score in zip(table.judges, table.scores, strict=True)
            for alone in [dataclasses.replace(table, judge=score, judges=(), scores=None)]
        ]
        rows += [
            JudgedJudge(
                system=row.system,
                judge=name,
                judge_alone=row.judge_alone,
                corrected=row.corrected,
                gain=row.gain,
            )
            for name, row in [*means, (TOGETHER, combined[code])]
        ]
    return tuple(rows)


def _by_methods(
    table: JudgedTable, alone: JudgedTable, places: Sequence[Integers], asked: Sequence[str], level: float
) -> tuple[JudgedMethod, ...]:
    """Return the mean of each system by each method."""
    tables = dict.fromkeys(asked, table if alone.scores is not None else alone)
    if "map" in tables and alone.scores is None:
        tables["map"] = mapped(alone)
    tables |= {method: alone for method in asked if method.startswith("rogan-gladen")}
    labelled = np.flatnonzero(alone.labelled)
    of_all = ErrorsOfAll.of(alone.judge[labelled], alone.label[labelled], alone.system[labelled])
    return tuple(
        JudgedMethod(
            system=table.systems[code],
            method=method,
            mean=Quantity(None, reason="it is for one judge")
            if method == "map" and alone.scores is not None
            else mean_by_method(one, answers_of(one, rows), method, level, of_all),
        )
        for code, rows in enumerate(places)
        for method, one in tables.items()
    )


def check_margins(margins: Mapping[str, float | None], width: float) -> None:
    """Raise an error for a margin that is not a difference of labels."""
    for name, value in margins.items():
        if value is not None and not 0 < value < width:
            hint = (
                f"give a difference above 0 and below {width:g}, the range of labels, such as {0.1 * width:g}"
            )
            raise InputError(f"{name} is {value!r}", hint, code="parameter")


def check_labels(table: JudgedTable) -> Integers:
    """Return the number of labels of each system; raise an error if they are too few, or values invalid."""
    check_table(table)
    known = table.labelled
    counts = np.bincount(table.system[known], minlength=len(table.systems))
    if not known.any() or counts.max() < ENOUGH:
        most = table.systems[int(counts.argmax())]
        message = f"no system has {ENOUGH} labels: {most} has the most, {counts.max()}"
        hint = "label a random sample of the answers of each system, the same prompts for all"
        raise InputError(message, hint, code="empty")
    unit = table.item if table.cluster is None else table.cluster
    for code in np.flatnonzero(counts >= 2).tolist():  # prompts differ within a system
        if np.ptp(unit[known & (table.system == code)]) == 0:
            message = f"all {counts[code]:,} labels of {table.systems[code]} are of one cluster"
            hint = "label answers of several clusters, or correct the column of clusters"
            raise InputError(message, hint, code="cluster")
    return counts


def check_different(table: JudgedTable) -> None:
    """Raise an error if all labels are equal, so that nothing shows how the judge errs."""
    known = table.label[table.labelled]
    if np.ptp(known) == 0:
        message = f"all {len(known):,} labels are {known[0]:g}"
        raise InputError(message, "label answers of both kinds, or of several grades", code="undefined")


def corrected_mean(
    table: JudgedTable, answers: Answers, code: int, level: float, judged: Answers | None = None
) -> JudgedMean:
    """Return the mean of a system by its own labels, beside those of the judge and the labels alone.

    ``judged`` has the scores of the judge alone, if those of the answers are fitted to labels.
    """
    rows = answers.rows
    said = (answers if judged is None else judged).judge
    alone = weighted_mean(said, np.ones(len(said)), answers.unit)
    labels_alone = corrected = Quantity(None, reason="there are no labels of its answers")
    gain, method, warned = Quantity(None, reason=f"fewer than {ENOUGH} labels"), None, None
    if len(rows):
        labels_alone = mean_by_method(table, answers, "labels", level)
        corrected = Quantity(
            None, reason=f"{counted(len(rows), 'label')} of its answers, fewer than {ENOUGH}"
        )
    if len(rows) >= ENOUGH:
        method = "dsl" if answers.unequal and table.binary and not answers.clustered else "ppi++"
        corrected, warned = own_mean(table, answers, method, level)
        gain = gain_of(answers, level)
    return JudgedMean(
        system=table.systems[code],
        answers=len(answers.judge),
        labelled=len(rows),
        corrected=corrected,
        method=method,
        judge_alone=alone.interval(level, float(said.min()), float(said.max())),
        labels_alone=labels_alone,
        gain=gain,
        mean_warning=warned,
    )


def _system(
    table: JudgedTable,
    answers: Answers,
    judged: Answers,
    code: int,
    moved: TransportedSystem | None,
    fitted: LabelMap,
    level: float,
    way: str,
) -> JudgedSystem:
    """Return the mean of a system; with few labels, from those of the source."""
    mean = corrected_mean(table, answers, code, level, judged)
    mean = replace(mean, method=way if mean.method == "ppi++" else mean.method)
    if mean.method is None and moved is not None:
        corrected = mean_from_source(fitted, judged, moved, table.low, table.high, level)
        mean = replace(
            mean, corrected=corrected, method=None if corrected.estimate is None else "transported"
        )
    return JudgedSystem(**asdict(mean), letters="")
