"""Streams whose days depend on each other: false alarms and delays of monitors."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibrant.evaluation.monitor_checks import persistent_errors
from calibrant.evaluation.monitoring import EDGES, regions_of, sums_by_group
from calibrant.evaluation.persistent import PersistentDays
from calibrant_studies import _streams as simulation
from calibrant_studies._base import Row
from calibrant_studies._streams import expit, logit
from calibrant_studies.arrays import Floats

DAYS = 180
CHANGE = 60
ALPHA = 0.01
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
WEEK = np.array([1.0, 1.0, 1.0, 1.0, 1.0, -2.5, -2.5])


@dataclass(frozen=True)
class Cell:
    """One kind of stream; the scores are the true probabilities on average over days.

    Attributes
    ----------
    name
        For the table.
    memory, effect
        Correlation of the errors of adjacent days, and their standard deviation in log-odds.
    week
        Log-odds that weekdays have more; on Saturday and Sunday it is 2.5 times as much less.
    rate
        Base rate; None for scores from Beta(1/2, 1/2).
    items, days
        Items per day, and days.
    outliers, size
        Fraction of days that are off by ``size`` log-odds more, up or down.
    late
        Mean number of days by which labels come late, whatever they are.
    """

    name: str
    memory: float = 0.0
    effect: float = 0.0
    week: float = 0.0
    rate: float | None = None
    items: int = 100
    days: int = DAYS
    outliers: float = 0.0
    size: float = 0.0
    late: float = 0.0


INDEPENDENT = Cell("independent days")
HALF = Cell("AR(0.5) day effects, 0.3 logits", 0.5, 0.3)
NINE = Cell("AR(0.9) day effects, 0.3 logits", 0.9, 0.3)
OUTLIERS = (
    Cell("independent, 1 % of days off by 2 logits", items=400, outliers=0.01, size=2.0),
    Cell("independent, 3 % of days off by 3 logits", items=400, outliers=0.03, size=3.0),
    Cell("AR(0.5), 0.3 logits, 3 % of days off by 2 logits", 0.5, 0.3, items=400, outliers=0.03, size=2.0),
)
CELLS = (
    INDEPENDENT,
    Cell("independent day effects, 0.5 logits", 0.0, 0.5),
    Cell("AR(0.5) day effects, 0.5 logits", 0.5, 0.5),
    Cell("AR(0.9) day effects, 0.5 logits", 0.9, 0.5),
    Cell("AR(0.9) day effects, 1 logit", 0.9, 1.0),
    Cell("weekly pattern, 0.3 logits", week=0.3),
    Cell("AR(0.9), 0.5 logits, 30 days", 0.9, 0.5, days=30),
    Cell("AR(0.9), 0.5 logits, base rate 1 %", 0.9, 0.5, rate=0.01, items=200),
    Cell("independent days, base rate 1 %", rate=0.01, items=200),
    Cell("AR(0.9), 0.5 logits, labels 3 days late", 0.9, 0.5, late=3.0),
    Cell("AR(0.98), 0.5 logits (beyond the condition)", 0.98, 0.5),
)
CHANGED = (INDEPENDENT, HALF, NINE)
SHIFTS = (0.6, 1.2)


@dataclass(frozen=True)
class Days:
    """(days, regions) sums of y - q, of q and of q (1 - q), and counts."""

    total: Floats
    score: Floats
    information: Floats
    count: Floats

    @property
    def stream(self) -> simulation.Stream:
        """Compute the same for bets on days."""
        total, score, count = (values[:, None, :] for values in (self.total, self.score, self.count))
        return simulation.Stream(total, score, count, np.zeros(len(self.total)))


def simulate(random: np.random.Generator, cell: Cell, shift: float = 0.0) -> Days:
    """Draw a stream; from day `CHANGE` on its log-odds are lower by ``shift``."""
    n = cell.days * cell.items
    if cell.rate is None:
        base = np.sin(0.5 * math.pi * random.random(n)) ** 2
    else:
        base = random.beta(0.3, 0.3 / cell.rate - 0.3, n)
    level = logit(np.clip(base, 1e-7, 1 - 1e-7))
    day = np.repeat(np.arange(cell.days), cell.items)
    week = cell.week * WEEK
    effect = _autoregressive(random, cell)[day] + week[day % 7]
    if cell.outliers:
        outlying = random.random(cell.days) < cell.outliers
        effect += (outlying * random.choice([-cell.size, cell.size], cell.days))[day]
    score = np.zeros(n)
    for node, weight in zip(cell.effect * NODES, WEIGHTS / WEIGHTS.sum(), strict=True):
        for add in np.unique(week):
            score += weight * (week == add).mean() * expit(level + node + add)
    label = random.random(n) < expit(level + effect - shift * (day >= CHANGE))
    if cell.late:
        day = day + random.geometric(1 / (1 + cell.late), n) - 1
    here = day < cell.days
    score, residual, day = score[here], (label - score)[here], day[here]
    edges = np.array(EDGES)
    region = regions_of(score, edges)
    total, scores, count = sums_by_group(residual, score, region, day, len(edges) + 1)
    information, _, _ = sums_by_group(score * (1 - score), score, region, day, len(edges) + 1)
    return Days(total, scores, information, count)


def _autoregressive(random: np.random.Generator, cell: Cell) -> Floats:
    found = random.normal(0, cell.effect, cell.days)
    for day in range(1, cell.days):
        found[day] = cell.memory * found[day - 1] + math.sqrt(1 - cell.memory**2) * found[day]
    return found


def evidence(days: Days) -> Floats:
    """Return the log e-value of a monitor by dependent days after each day."""
    bets = simulation.plain_bets()
    prior = np.exp(np.logaddexp.reduce(bets.log_prior, axis=1))
    watched = PersistentDays(bets.weight[::2], prior[::2] + prior[1::2], centred=False)
    found = np.empty(len(days.total))
    for place, (total, information) in enumerate(zip(days.total, days.information, strict=True)):
        watched.add(total, information)
        found[place] = watched.log_e
    return found


def false_alarms(seed: int, streams: int, cells: tuple[Cell, ...] = CELLS) -> list[Row]:
    """Return percentages of streams with a false alarm at 1 %, and with a warning of persistent errors."""
    bets, level = simulation.plain_bets("day"), math.log(1 / ALPHA)
    rows: list[Row] = []
    for cell in cells:

        def work(random: np.random.Generator, cell: Cell = cell) -> Floats:
            days = simulate(random, cell)
            by_day = simulation.evidence(days.stream, bets)
            until = int(np.argmax(by_day >= level)) + 1 if (by_day >= level).any() else cell.days
            n = days.count.sum(axis=1)
            error = days.total.sum(axis=1) / np.maximum(n, 1)
            warned = persistent_errors(error[:until], n[:until]) is not None
            return np.array([by_day.max() >= level, evidence(days).max() >= level, warned], np.float64)

        found = np.array(list(simulation.each_stream(seed, cell.name, streams, work)))
        shares = found.mean(axis=0)
        rows.append(
            {
                "days": cell.name,
                "unit day, %": 100 * float(shares[0]),
                "unit dependent-day, %": 100 * float(shares[1]),
                "at most (95 %)": simulation.upper(float(shares[1]), streams),
                "warned by unit day, %": 100 * float(shares[2]),
            }
        )
    return rows


def delays(seed: int, streams: int) -> list[Row]:
    """Return median days from a change to the first alarm at 1 %, and percentages never found."""
    bets, level = simulation.plain_bets("day"), math.log(1 / ALPHA)
    rows: list[Row] = []
    for cell in (replace(cell, days=2 * DAYS) for cell in CHANGED):
        for shift in SHIFTS:

            def work(random: np.random.Generator, cell: Cell = cell, shift: float = shift) -> Floats:
                days = simulate(random, cell, shift)
                found = simulation.evidence(days.stream, bets), evidence(days)
                return np.array([_delay(each >= level) for each in found])

            found = np.array(list(simulation.each_stream(seed, f"{cell.name} {shift}", streams, work)))
            middle = np.median(found, axis=0)
            rows.append(
                {
                    "days": cell.name,
                    "shift, logits": shift,
                    "unit day": None if cell.memory else _finite(middle[0]),
                    "unit dependent-day": _finite(middle[1]),
                    "not found in 300 days, %": 100 * float(np.isinf(found[:, 1]).mean()),
                }
            )
    return rows


def _delay(alarm: NDArray[np.bool_]) -> float:
    after = np.flatnonzero(alarm[CHANGE:])
    return float(after[0] + 1) if len(after) else math.inf


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
