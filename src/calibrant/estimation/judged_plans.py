"""Compute how many labels a judged mean or difference needs, from a pilot."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.estimation.judged_means import (
    ENOUGH,
    Answers,
    JudgedTable,
    Mean,
    answers_of,
    gain_of_units,
    mean_of,
    totals,
)
from calibrant.estimation.judged_pairs import Shared
from calibrant.estimation.judged_scores import chosen
from calibrant.estimation.judging import check_different, check_labels
from calibrant.estimation.results.judged_plans import JudgePlan, PlannedJudgment
from calibrant.exceptions import InputError
from calibrant.metrics.tails import critical_value
from calibrant.records import Quantity

SAFE = 0.8  # probability with which the safe number of labels is enough
LEAST_UNITS = 20  # labeled prompts or clusters of a pilot
NO_HELP = "the judge is not shown to help: plan with the labels alone, or choose a better judge"


@dataclass(frozen=True)
class Spread:
    """Variance of an estimate in the pilot: the part that falls with labels, and that with judged prompts."""

    of_labels: float
    of_prompts: float
    labelled: int
    items: int
    freedom: float

    @classmethod
    def of(cls, mean: Mean, weight: float, of_all: Floats, labelled: int, items: int) -> Spread:
        """Divide the variance of an estimate in which the judge's scores have a weight."""
        estimate = mean.with_weight(weight, tuned=weight > 0)
        own, every = estimate.influence - weight * of_all, estimate.influence
        variance = estimate.error**2
        part = min(1.0, float((own * own).sum()) / max(1e-300, float((every * every).sum())))
        return cls(variance * part, variance * (1 - part), labelled, items, estimate.freedom)

    def at(self, labels: int, prompts: int, *, safe: bool = False) -> tuple[float, float]:
        """Return the standard error, and its degrees of freedom, with other numbers of labels and prompts."""
        few = max(3.0, self.freedom)
        # The mean of one over the variance's estimate, of which the numbers of labels are made.
        part = self.of_labels * self.labelled / labels * few / (few - 2)
        if safe:  # the lower quantile of chi-square, by Wilson and Hilferty's approximation
            of = 2 / (9 * few)
            part *= (few - 2) / few
            part /= max(0.05, (1 - of - critical_value(SAFE, math.inf, "greater") * math.sqrt(of)) ** 3)
        freedom = max(1.0, self.freedom * labels / self.labelled)
        return math.sqrt(part + self.of_prompts * self.items / prompts), freedom


def judge_plan(
    table: JudgedTable,
    *,
    width: float | None = None,
    difference: float | None = None,
    prompts: int | None = None,
    power: float = 0.8,
    level: float = 0.95,
) -> JudgePlan:
    """Return how many labeled prompts a width of the means' intervals, or a difference, needs.

    The variance of the pilot has a part that falls with the number of labeled prompts, and one that falls
    with the number of prompts that the judge scores, which stays if these do. Labeled prompts are drawn as in
    the pilot; those for a difference have labels of both systems, if 10 of the pilot do.

    Parameters
    ----------
    table
        The pilot: judge scores and labels.
    width
        Wanted width of the interval of each mean.
    difference
        Difference between two systems to detect.
    prompts
        Prompts that the judge will score. None: those of the pilot.
    power
        Probability of detecting the difference.
    level
        Level of intervals and tests.

    Raises
    ------
    InputError
        If not exactly one goal is given, it is outside of the range of labels, no system has 10 labels, or
        all labels are equal.

    References
    ----------
    .. [1] Angelopoulos, Duchi and Zrnic (2023). PPI++: efficient prediction-powered inference.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.random((2, 1000))
    >>> judge = np.clip(quality + 0.2 * rng.normal(size=(2, 1000)), 0, 1)
    >>> label = np.where(np.arange(1000) < 60, quality, np.nan)
    >>> code, item = np.repeat([0, 1], 1000), np.tile(np.arange(1000), 2)
    >>> table = JudgedTable(("A", "B"), code, item, judge.ravel(), label.ravel())
    >>> [row] = judge_plan(table, difference=0.05).plans
    >>> row.labels < row.without
    True
    """
    goal, aim = _goal(width, difference, table.high - table.low)
    _checks.proportion(level, "level")
    if _checks.proportion(power, "power", such_as=0.8) < 0.5:
        raise InputError(f"power is {power:g}", "give at least 0.5", code="parameter")
    check_labels(table)
    check_different(table)
    used, method = chosen(table)
    places = [np.flatnonzero(table.system == code) for code in range(len(table.systems))]
    scored = len(np.unique(table.item)) if prompts is None else prompts
    if scored < ENOUGH:
        raise InputError(f"prompts is {scored}", f"give at least {ENOUGH}", code="parameter")
    tests = 1 if goal == "width" else max(1, math.comb(len(places), 2))
    adjusted = 1 - (1 - level) / tests

    def enough(error: float, freedom: float) -> bool:
        more = critical_value(power, freedom, "greater") if goal == "difference" else 0.0
        reach = (critical_value(adjusted, freedom, "two-sided") + more) * error
        return 2 * reach <= aim if goal == "width" else reach <= aim

    if goal == "width":
        plans = [
            _plan(table.systems[code], "", [answers_of(used, rows)], enough, scored, level)
            for code, rows in enumerate(places)
        ]
    else:
        if len(places) < 2:
            hint = "add another system, or give a width"
            raise InputError("there is one system, and so no difference", hint, code="parameter")
        shared = Shared.of(used, places)
        plans = [
            _plan(table.systems[one], table.systems[other], shared.pair(one, other)[0], enough, scored, level)
            for one, other in combinations(range(len(places)), 2)
        ]
    gains = [row.gain for row in plans if row.gain.low is not None]
    helps = not gains or any((gain.low or 0.0) > 1 for gain in gains)
    return JudgePlan(
        goal=goal,
        width=width,
        difference=difference,
        power=power if goal == "difference" else None,
        level=level,
        tests=tests,
        prompts=scored,
        method=method,
        pilot_warning=_few(table),
        judge_warning=None if helps else NO_HELP,
        plans=tuple(plans),
    )


def _few(table: JudgedTable) -> str | None:
    """Return a warning of systems with few labeled units: with 12 clusters, plans for 80 % had 58 %.

    Systems with fewer than 10 labels have no plan.
    """
    unit, known = (table.item if table.cluster is None else table.cluster), table.labelled
    few = {}
    for code, name in enumerate(table.systems):
        own = unit[known & (table.system == code)]
        if len(own) >= ENOUGH and len(np.unique(own)) < LEAST_UNITS:
            few[name] = len(np.unique(own))
    if not few:
        return None
    what = "prompts" if table.cluster is None else "clusters"
    names = ", ".join(f"{name} ({number})" for name, number in few.items())
    return f"few labeled {what} for a plan, whose power may be lower: {names}; read the safe labels"


def _goal(width: float | None, difference: float | None, most: float) -> tuple[str, float]:
    """Return the only goal, and its size."""
    goals = {"width": width, "difference": difference}
    given = {name: value for name, value in goals.items() if value is not None}
    if len(given) != 1:
        hint = "give a width of the interval, or a difference to detect"
        raise InputError("not exactly one of width and difference is given", hint, code="parameter")
    [(name, value)] = given.items()
    if not 0 < value < most:
        hint = f"give a {name} above 0 and below {most:g}, the range of labels, such as {0.05 * most:g}"
        raise InputError(f"{name} is {value!r}", hint, code="parameter")
    return name, value


def _plan(
    first: str,
    second: str,
    answers: list[Answers],
    enough: Callable[[float, float], bool],
    prompts: int,
    level: float,
) -> PlannedJudgment:
    """Return the plan of a mean, or of a difference of two systems."""
    items = len(answers[0].judge)
    both = np.all([~np.isnan(own.label) for own in answers], axis=0)
    if len(answers) == 2 and both.sum() >= ENOUGH:  # prompts with one label would be planned for, too
        answers = [replace(own, label=np.where(both, own.label, np.nan)) for own in answers]
    known = np.any([~np.isnan(own.label) for own in answers], axis=0) if items else np.zeros(0, np.bool_)
    labelled = int(known.sum())
    few = [len(own.rows) for own in answers if len(own.rows) < ENOUGH]
    if few or not items:
        reason = f"fewer than {ENOUGH} labels"
        return PlannedJudgment(
            first=first, second=second, labelled=labelled, labels=None, safe_labels=None, without=None,
            gain=Quantity(None, reason=reason),
        )  # fmt: skip
    mean, judged = mean_of(answers[0]), answers[0].judge
    if len(answers) == 2:
        mean, judged = mean - mean_of(answers[1]), judged - answers[1].judge
    of_all = totals(answers[0].unit, (judged - judged.mean()) / len(judged))
    weight = mean.weight()
    with_judge, alone = (Spread.of(mean, one, of_all, labelled, items) for one in (weight, 0.0))
    return PlannedJudgment(
        first=first,
        second=second,
        labelled=labelled,
        labels=_fewest(lambda n: enough(*with_judge.at(n, prompts)), prompts),
        safe_labels=_fewest(lambda n: enough(*with_judge.at(n, prompts, safe=True)), prompts),
        without=_fewest(lambda n: enough(*alone.at(n, prompts)), prompts),
        gain=gain_of_units(mean, 1 - labelled / items, level),
    )


def _fewest(enough: Callable[[int], bool], most: int) -> int | None:
    """Return the smallest number of labels that is enough; None if it is more than all prompts."""
    low, high = ENOUGH, most
    if not enough(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low
