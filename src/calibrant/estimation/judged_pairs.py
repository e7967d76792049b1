"""Paired differences of systems that a judge scores, and verdicts on them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from msgspec.structs import replace

from calibrant._checks import Floats, Integers
from calibrant.estimation.judged_means import (
    ENOUGH,
    Answers,
    JudgedTable,
    beyond,
    mean_of,
    totals,
    warning_of,
)
from calibrant.estimation.results.judging import INCONCLUSIVE, TIED, JudgedDifference
from calibrant.metrics.multiplicity import adjusted_p_values
from calibrant.metrics.tails import critical_value, tail
from calibrant.records import Quantity
from calibrant.records.words import counted


@dataclass(frozen=True)
class Pair:
    """A difference that has no verdict yet: its variance, and the part of it that falls with the labels."""

    row: JudgedDifference
    variance: float = 0.0
    of_labels: float = 0.0


@dataclass(frozen=True)
class Shared:
    """Prompts that two systems or more answered: (systems, prompts) values, NaN where there is none."""

    judge: Floats
    said: Floats  # scores of the judge alone
    label: Floats
    weight: Floats
    unit: Integers
    clustered: bool
    alone: int  # prompts that not all systems answered

    @classmethod
    def of(cls, table: JudgedTable, places: Sequence[Integers], judged: Floats | None = None) -> Shared:
        """Arrange the answers by prompt."""
        judged = table.judge if judged is None else judged
        items = int(table.item.max()) + 1
        systems_of = np.bincount(table.item, minlength=items)
        shared = np.flatnonzero(systems_of > 1)
        alone = int(np.count_nonzero(systems_of[np.unique(table.item)] < len(places)))
        place = np.full(items, -1, np.int64)
        place[shared] = np.arange(len(shared))
        judge, said, label, weight = (np.full((len(places), len(shared)), np.nan) for _ in range(4))
        unit = np.arange(len(shared))
        for code, rows in enumerate(places):
            own = place[table.item[rows]]
            rows, own = rows[own >= 0], own[own >= 0]
            judge[code, own], label[code, own] = table.judge[rows], table.label[rows]
            said[code, own] = judged[rows]
            weight[code, own] = 1.0 if table.chance is None else 1 / table.chance[rows]
            if table.cluster is not None:
                unit[own] = table.cluster[rows]
        return cls(judge, said, label, weight, unit, table.cluster is not None, alone)

    def pair(self, one: int, other: int) -> tuple[list[Answers], Floats]:
        """Return the answers of two systems to the prompts that both answered, and what the judge says."""
        both = ~np.isnan(self.judge[one]) & ~np.isnan(self.judge[other])
        units = np.arange(int(both.sum()))
        if self.clustered:
            units = np.unique(self.unit[both], return_inverse=True)[1]
        answers = [
            Answers(
                self.judge[code, both], self.label[code, both], self.weight[code, both], units, True, None
            )
            for code in (one, other)
        ]
        return answers, self.said[one, both] - self.said[other, both]


def paired_differences(
    table: JudgedTable, places: Sequence[Integers], level: float, judged: Floats | None = None
) -> tuple[list[Pair], str | None]:
    """Return the paired differences of all pairs of systems, and a note on prompts that some lack.

    ``judged`` are the scores of the judge alone, if those of the table are fitted to labels.
    """
    shared = Shared.of(table, places, judged)
    alone, note = shared.alone, None
    if alone and len(places) > 1:
        note = (
            f"{counted(alone, 'prompt')} {'was' if alone == 1 else 'were'} not answered by all systems: a "
            "difference uses the prompts that both answered"
        )
    pairs: list[Pair] = []
    for one, other in combinations(range(len(places)), 2):
        answers, said = shared.pair(one, other)
        items = len(said)
        few = [
            table.systems[code]
            for code, own in zip((one, other), answers, strict=True)
            if len(own.rows) < ENOUGH
        ]
        reason = f"fewer than {ENOUGH} labels of {' and of '.join(few)} on prompts that both answered"
        if not items:
            reason = "they have no prompt in common"
        first, second = (~np.isnan(own.label) for own in answers)
        row = JudgedDifference(
            first=table.systems[one],
            second=table.systems[other],
            items=items,
            labelled=int((first | second).sum()),
            both_labelled=int((first & second).sum()),
            judge_difference=float(said.mean()) if items else None,
            difference=Quantity(None, reason=reason),
            p_value=None,
        )
        pairs.append(_difference(table, row, answers, level) if items and not few else Pair(row))
    return pairs, note


def settled(
    pairs: Sequence[Pair], level: float, power: float, margin: float | None
) -> tuple[JudgedDifference, ...]:
    """Return the differences with verdicts, whose p-values are adjusted for their number."""
    judged = []
    adjusted = adjusted_p_values([pair.row.p_value for pair in pairs])
    for pair, p_value in zip(pairs, adjusted, strict=True):
        verdict, needed = _verdict(pair.row, p_value, level, margin), None
        if verdict == INCONCLUSIVE and pair.row.difference.low is not None:
            needed = _labels_needed(pair, margin, level, power)
        judged.append(replace(pair.row, holm_p_value=p_value, verdict=verdict, labels_needed=needed))
    return tuple(judged)


def _difference(table: JudgedTable, pair: JudgedDifference, answers: Sequence[Answers], level: float) -> Pair:
    """Return the difference of a pair."""
    labels = [own.label[own.rows] for own in answers]
    gap = mean_of(answers[0]) - mean_of(answers[1])
    weight, width = gap.weight(), table.high - table.low
    estimate, alone = gap.with_weight(weight, tuned=True), gap.with_weight(0.0, tuned=False)
    near = any(beyond(table, own) for own in labels)
    difference = estimate.interval(level, -width, width)
    if difference.low is None:
        return Pair(replace(pair, difference=difference))
    judged = answers[0].judge - answers[1].judge
    of_all = totals(answers[0].unit, (judged - judged.mean()) / len(judged))
    labelled = estimate.influence - weight * of_all
    row = replace(
        pair,
        difference=difference,
        p_value=tail(estimate.value / estimate.error, estimate.freedom, "two-sided"),
        gain=(alone.error / estimate.error) ** 2,
        judge_weight=weight,
        difference_warning=warning_of(estimate, gap.sizes.sum(axis=0), near=near),
    )
    variance = estimate.error**2
    return Pair(row, variance, min(variance, float((labelled * labelled).sum())))


def _verdict(pair: JudgedDifference, p_value: float | None, level: float, margin: float | None) -> str:
    low, high = pair.difference.low, pair.difference.high
    if low is None or high is None:
        return INCONCLUSIVE
    if p_value is not None and p_value <= 1 - level and not low <= 0 <= high:
        return pair.first if low > 0 else pair.second
    return TIED if margin is not None and -margin < low and high < margin else INCONCLUSIVE


def _labels_needed(pair: Pair, margin: float | None, level: float, power: float) -> int | None:
    """Return with how many labeled prompts a difference is shown; None if more prompts are needed."""
    row = pair.row
    target = abs(row.difference.estimate or 0.0) if margin is None else margin
    z = critical_value(level, math.inf, "two-sided") + critical_value(power, math.inf, "greater")
    spare = (target / z) ** 2 - (pair.variance - pair.of_labels)
    if spare <= 0:
        return None
    needed = max(row.labelled + 1, math.ceil(row.labelled * pair.of_labels / spare))
    return needed if needed <= row.items else None
