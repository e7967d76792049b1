"""Dependence of the judge's error on the length of an answer, its position, or any other column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers
from calibrant.estimation.judged_means import JudgedTable
from calibrant.estimation.results.judging import JudgeBias
from calibrant.exceptions import InputError
from calibrant.metrics.multiplicity import adjusted_p_values
from calibrant.metrics.tails import cr2, skewness_of, student, tail
from calibrant.records import Quantity

FEW_VALUES = 10  # a column of numbers with at most so many is a column of groups
MOST_VALUES = 30
LEAST = 5  # labeled answers with a value, and without it


def judge_bias(
    table: JudgedTable, columns: Mapping[str, NDArray[Any]], *, level: float = 0.95
) -> tuple[JudgeBias, ...]:
    """Return how far the judge's error depends on columns, within systems.

    The error is judge minus label. Its mean in each system is removed, and so is the part that follows the
    label in a line: judges that use less of the range give too much to bad answers, whatever these contain.
    A column of more than 10 different numbers gives one row, with the slope per standard deviation; any other
    column one row for each value, which is compared with all other values.

    Parameters
    ----------
    table
        Judge scores and labels.
    columns
        By name: (n,) values of the labeled rows, as text.
    level
        Level of the intervals.

    Raises
    ------
    InputError
        If a column has one value, or more than 30 that are no numbers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> quality, length = rng.random((2, 200))
    >>> judge = np.clip(0.7 * quality + 0.3 * length, 0, 1)
    >>> table = JudgedTable(("A",), np.zeros(200, int), np.arange(200), judge, quality)
    >>> [row] = judge_bias(table, {"length": length.astype(str)})
    >>> print(row.value, f"{row.error:.2f}")
    per SD 0.09
    """
    rows = np.flatnonzero(table.labelled)
    system = np.unique(table.system[rows], return_inverse=True)[1]
    unit = np.unique((table.item if table.cluster is None else table.cluster)[rows], return_inverse=True)[1]
    known = np.column_stack([_centered(table.label[rows], system)])
    error = _centered(table.judge[rows] - table.label[rows], system)
    width, slopes = table.high - table.low, []
    for name, texts in columns.items():
        values, place = np.unique(texts, return_inverse=True)
        if len(values) < 2:
            raise InputError(f"column {name!r} has one value, {values[0]}", "leave it out", code="undefined")
        numbers = _numbers(values)
        parts: list[tuple[str, Floats, int]]
        if numbers is not None and len(values) > FEW_VALUES:
            parts = [("per SD", numbers[place] / float(numbers[place].std()), len(rows))]
        elif len(values) > MOST_VALUES:
            message = f"column {name!r} has {len(values):,} values that are no numbers"
            raise InputError(message, f"group them into at most {MOST_VALUES}", code="parameter")
        else:
            parts = [
                (str(value), (place == code).astype(np.float64), int((place == code).sum()))
                for code, value in enumerate(values)
            ]
        for value, regressor, count in parts[1:] if len(parts) == 2 else parts:
            slope, p_value = _slope(error, _centered(regressor, system), known, unit, level, width)
            if value != "per SD" and not LEAST <= count <= len(rows) - LEAST:
                reason = f"fewer than {LEAST} labeled answers have the value, or another one"
                slope, p_value = Quantity(None, reason=reason), None
            slopes.append(JudgeBias(column=name, value=value, labelled=count, error=slope, p_value=p_value))
    adjusted = adjusted_p_values([row.p_value for row in slopes])
    return tuple(replace(row, holm_p_value=p_value) for row, p_value in zip(slopes, adjusted, strict=True))


def _numbers(values: NDArray[Any]) -> Floats | None:
    try:
        numbers = values.astype(np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _centered(values: Floats, system: Integers) -> Floats:
    """Return values less the mean of their system."""
    centered: Floats = values - (np.bincount(system, values) / np.bincount(system))[system]
    return centered


def _slope(
    error: Floats, regressor: Floats, known: Floats, unit: Integers, level: float, width: float
) -> tuple[Quantity, float | None]:
    """Return the slope of the errors on a regressor beside the known ones, and its p-value, by clusters."""
    solved = np.linalg.lstsq(known, np.column_stack([regressor, error]), rcond=None)[0]
    regressor, error = (values - known @ solved[:, place] for place, values in enumerate((regressor, error)))
    square = float(regressor @ regressor)
    if square < 1e-9 * len(regressor):
        return Quantity(None, reason="the column does not vary within systems"), None
    slope = float(regressor @ error) / square
    total = np.bincount(unit, regressor * (error - slope * regressor))
    # A cluster has as much leverage as its part of the regressor's sum of squares.
    variance, freedom = cr2(np.bincount(unit, regressor**2), total)
    deviation = math.sqrt(variance) / square
    if deviation <= 1e-12 * width or freedom < 1:
        return Quantity(slope, reason="the errors do not vary"), None
    low, high = student(slope, deviation, freedom, level, skewness_of(total))
    return Quantity(slope, low, high, deviation), tail(slope / deviation, freedom, "two-sided")
