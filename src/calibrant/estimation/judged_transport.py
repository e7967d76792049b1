"""Test if a map from judge scores to labels, learned on one system, holds for another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from msgspec.structs import replace

from calibrant._checks import Floats
from calibrant._kernels.isotonic import pool_adjacent_violators
from calibrant.estimation.judged_means import (
    DUST,
    ENOUGH,
    Answers,
    Estimate,
    JudgedTable,
    totals,
    weighted_mean,
)
from calibrant.estimation.results.judging import FAILS, HOLDS, UNDECIDED, TransportedSystem
from calibrant.metrics.tails import critical_value
from calibrant.records import Quantity
from calibrant.records.words import counted

GROUPS = 20  # of the source's clusters, left out in turn


@dataclass(frozen=True)
class LabelMap:
    """Isotonic map from judge scores to labels, and those without each group of the source's clusters."""

    scores: Floats
    whole: Floats
    without: list[tuple[Floats, Floats]]
    spread: float  # standard deviation of the residuals

    @classmethod
    def of(cls, source: Answers) -> LabelMap:
        """Fit the map to the labels of the source."""
        rows = source.rows
        judge, label, weight = source.judge[rows], source.label[rows], source.weight[rows]
        scores, values = isotonic(judge, label, weight)
        unit = np.unique(source.unit[rows], return_inverse=True)[1]
        group = unit % min(GROUPS, int(unit.max()) + 1)
        without = [
            isotonic(judge[group != one], label[group != one], weight[group != one])
            for one in range(int(group.max()) + 1)
            if (group != one).any()
        ]
        residual = label - np.interp(judge, scores, values)
        return cls(scores, values, without, float(residual.std(ddof=1)))

    def of_scores(self, judge: Floats) -> Floats:
        """Return the labels that the map gives to scores."""
        return np.interp(judge, self.scores, self.whole)


def isotonic(judge: Floats, label: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the distinct scores, and the isotonic regression of the labels on them."""
    scores, place = np.unique(judge, return_inverse=True)
    mass, total = totals(place, weight), totals(place, weight * label)
    start = pool_adjacent_violators(mass, total)
    means = np.add.reduceat(total, start) / np.add.reduceat(mass, start)
    return scores, np.repeat(means, np.diff(np.append(start, len(scores))))


def transported(
    table: JudgedTable,
    fitted: LabelMap,
    answers: Answers,
    code: int,
    margin: float,
    level: float,
    power: float,
) -> TransportedSystem:
    """Test whether the source's map holds for a system: its mean residual is within the margin."""
    rows, width = answers.rows, table.high - table.low
    undecided = TransportedSystem(
        system=table.systems[code],
        labelled=len(rows),
        residual=Quantity(None, reason=f"{counted(len(rows), 'label')}: at least 2 are needed"),
        least_margin=None,
        verdict=UNDECIDED,
    )
    if len(rows) < 2:
        return undecided
    residual = answers.label[rows] - fitted.of_scores(answers.judge[rows])
    estimate = weighted_mean(residual, answers.weight[rows], answers.unit[rows])
    error = estimate.error
    if len(rows) < ENOUGH:  # whose variance may be small by chance
        error = max(error, fitted.spread / math.sqrt(len(rows)))
    if estimate.freedom < 1 or error <= DUST:
        return replace(undecided, residual=Quantity(None, reason="its labels have no variance"))
    estimate = Estimate(estimate.value, error, estimate.freedom, estimate.influence, 0.0)
    ends = estimate.interval(level, -width, width)
    least = abs(estimate.value) + critical_value(level, estimate.freedom, "greater") * error
    different = ends.low is not None and ends.high is not None and not ends.low <= 0 <= ends.high
    verdict = HOLDS if least <= margin else FAILS if different else UNDECIDED
    needed = None
    if verdict == UNDECIDED:
        # The nearer of both decisions: within the margin, or different from 0.
        distance = max(margin - abs(estimate.value), abs(estimate.value))
        z = critical_value(level, math.inf, "greater") + critical_value(power, math.inf, "greater")
        needed = max(len(rows) + 1, math.ceil(len(rows) * (z * error / distance) ** 2))
    return replace(undecided, residual=ends, least_margin=least, verdict=verdict, labels_needed=needed)


def mean_from_source(
    fitted: LabelMap, answers: Answers, moved: TransportedSystem, low: float, high: float, level: float
) -> Quantity:
    """Return the mean of a system with few labels from the source's labels, if the test lets it."""
    labelled = f"{counted(moved.labelled, 'label')} of its answers, fewer than {ENOUGH}"
    if moved.residual.low is None or moved.residual.high is None:
        return Quantity(None, reason=f"{labelled}, and nothing shows that others' labels hold for it")
    if moved.verdict == FAILS:
        return Quantity(None, reason=f"{labelled}, and others' labels are shown not to hold for it")
    own = weighted_mean(fitted.of_scores(answers.judge), np.ones(len(answers.judge)), answers.unit)
    left_out = np.array([np.interp(answers.judge, *one).mean() for one in fitted.without])
    groups = len(left_out)
    jackknife = (groups - 1) / groups * float(((left_out - left_out.mean()) ** 2).sum())
    half = critical_value(level, groups - 1, "two-sided") * math.sqrt(own.error**2 + jackknife)
    least, most = own.value - half, own.value + half
    if moved.verdict == UNDECIDED:
        least, most = least + min(0.0, moved.residual.low), most + max(0.0, moved.residual.high)
    least, most = (min(high, max(low, end)) for end in (least, most))
    warned = f"from others' labels, which are shown to hold up to an error of {moved.least_margin:.3g}"
    if moved.verdict == UNDECIDED:
        warned = "from others' labels, which may not hold for it"
        if moved.labels_needed is not None:
            warned += f": {moved.labels_needed:,} labels of its answers would decide"
    return Quantity(own.value, least, most, warning=warned)
