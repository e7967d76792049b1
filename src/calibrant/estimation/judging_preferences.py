"""Preferences between the answers of two systems: win rates and Bradley-Terry scores, corrected by labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.estimation.judged_means import ENOUGH, JudgedTable, totals
from calibrant.estimation.results.judging import JudgedStrength
from calibrant.metrics.tails import quantile
from calibrant.records import Quantity

STEPS = 100
FARTHEST = 15.0  # log-odds from which on a score is infinite


def preference_table(
    systems: tuple[str, ...],
    first: Integers,
    second: Integers,
    judge: Floats,
    label: Floats,
    unit: Integers,
    chance: Floats | None = None,
) -> JudgedTable:
    """Return a table with two rows per comparison: what each system gets of it, 1, 0 or one half.

    Means are win rates, in which a tie counts as one half, and the difference of a pair is that of their win
    rates in the comparisons of these two.

    Parameters
    ----------
    systems
        Names of the systems.
    first, second
        (n,) systems of each comparison, in the order in which the judge saw them.
    judge, label
        (n,) 1 if the first is preferred, 0 if the second is, 0.5 for a tie; labels may be NaN.
    unit
        (n,) prompt or cluster of each comparison: both orders of two answers are in one.
    chance
        (n,) probability of having been labeled; None if it is the same for all.

    Examples
    --------
    >>> wins, unknown = np.array([1.0, 0.5]), np.array([1.0, np.nan])
    >>> table = preference_table(("A", "B"), np.array([0, 0]), np.array([1, 1]), wins, unknown, np.arange(2))
    >>> table.system.tolist(), table.judge.tolist()
    ([0, 0, 1, 1], [1.0, 0.5, 0.0, 0.5])
    """
    rows = np.arange(len(first))
    return JudgedTable(
        systems,
        np.concatenate([first, second]),
        np.concatenate([rows, rows]),
        np.concatenate([judge, 1 - judge]),
        np.concatenate([label, 1 - label]),
        np.concatenate([unit, unit]),
        None if chance is None else np.concatenate([chance, chance]),
    )


def bradley_terry(table: JudgedTable, *, level: float = 0.95) -> tuple[JudgedStrength, ...]:
    """Return Bradley-Terry scores from all preferences of the judge, corrected by the labels of some.

    The estimating equations are prediction-powered: those of the labels, less a weight times the difference
    of those of the judge in labeled and in all comparisons. The weight is the slope of the labels on the
    judge's preferences. Scores are log-odds with mean 0: the system with a score that is higher by d wins
    1 / (1 + exp(-d)) of its comparisons with another. Variances are those of the sandwich, by clusters.

    Parameters
    ----------
    table
        From `preference_table`.
    level
        Level of the intervals.

    References
    ----------
    .. [1] Bradley and Terry (1952). Rank analysis of incomplete block designs: the method of paired
       comparisons. Biometrika 39, 324-345.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> first, second = rng.permuted(np.tile([0, 1, 2], (900, 1)), axis=1)[:, :2].T
    >>> odds = np.array([0.8, 0.0, -0.8])
    >>> wins = (rng.random(900) < 1 / (1 + np.exp(odds[second] - odds[first]))).astype(float)
    >>> judge = np.where(rng.random(900) < 0.9, wins, 1 - wins)
    >>> label = np.where(np.arange(900) < 300, wins, np.nan)
    >>> table = preference_table(("A", "B", "C"), first, second, judge, label, np.arange(900))
    >>> [(row.system, f"{row.score:.1f}") for row in bradley_terry(table)]
    [('A', '0.8 [0.6, 0.9]'), ('B', '-0.1 [-0.2, 0.1]'), ('C', '-0.7 [-0.8, -0.5]')]
    """
    half = len(table.system) // 2
    first, second = table.system[:half], table.system[half:]
    judge, label = table.judge[:half], table.label[:half]
    known = ~np.isnan(label)
    mass = known / (1.0 if table.chance is None else table.chance[:half])
    mass = np.where(known, mass, 0.0) / mass[known].sum()
    y, f = np.where(known, label, 0.0), judge
    gap, scores = f - float(mass @ f), y - float(mass @ y)
    square = float(mass @ gap**2)
    weight = max(0.0, float(mass @ (gap * scores)) / square) if square > 1e-12 else 0.0
    systems = len(table.systems)
    design = np.zeros((half, systems))
    rows = np.arange(half)
    design[rows, first], design[rows, second] = 1.0, -1.0
    corrected, information, residual = _solved(design, weight, f, mass, y, half)
    alone, _, _ = _solved(design, 1.0, f, np.zeros(half), y, half)
    reason = None
    if corrected is None or information is None or residual is None:
        reason = "a system wins or loses all its comparisons, or two groups of systems are never compared"
    elif known.sum() < ENOUGH:
        reason = f"fewer than {ENOUGH} labels"
    strengths: list[JudgedStrength] = []
    unit = np.zeros(half, np.int64) if table.cluster is None else table.cluster[:half]
    errors = np.zeros(systems)
    if corrected is not None and information is not None and residual is not None:
        inverse = np.linalg.pinv(information, rcond=1e-10, hermitian=True)
        influence = (residual[:, None] * design) @ inverse
        sums = np.stack([totals(unit, influence[:, place]) for place in range(systems)])
        held = totals(unit, mass)
        units = int(np.count_nonzero(held))
        errors = np.sqrt((sums**2).sum(axis=1) * units / max(1, units - 1))
        critical = quantile(level, units)
    for place, name in enumerate(table.systems):
        score = Quantity(None, reason=reason)
        if reason is None and corrected is not None:
            value, error = float(corrected[place]), float(errors[place])
            score = Quantity(value, value - critical * error, value + critical * error, error)
        judged = None if alone is None else float(alone[place])
        strengths.append(JudgedStrength(system=name, score=score, judge_alone=judged))
    return tuple(sorted(strengths, key=lambda row: -(row.score.estimate or 0.0)))


def _solved(
    design: Floats, weight: float, judge: Floats, mass: Floats, label: Floats, count: int
) -> tuple[Floats | None, NDArray[np.float64] | None, Floats | None]:
    """Return the root of the estimating equations, their information, and the weighted residuals."""
    of_judge = weight * (1 / count - mass)
    score = np.zeros(design.shape[1])
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(-(design @ score)))
        residual = of_judge * (judge - expected) + mass * (label - expected)
        curvature = (of_judge + mass) * expected * (1 - expected)
        information = design.T @ (curvature[:, None] * design)
        if np.linalg.matrix_rank(information, tol=1e-10) < design.shape[1] - 1:
            return None, None, None
        step = np.linalg.pinv(information, rcond=1e-10, hermitian=True) @ (design.T @ residual)
        step *= min(1.0, 2.0 / max(1e-300, float(np.abs(step).max())))
        score = score + step
        if np.abs(score).max() > FARTHEST:
            return None, None, None
        if np.abs(step).max() < 1e-10:
            return score, information, residual
    return None, None, None
