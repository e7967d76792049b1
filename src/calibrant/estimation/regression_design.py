"""Designs of the labels of a regression, and fixed effects that it absorbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.estimation.sampling import EQUAL
from calibrant.exceptions import InputError

FAR = 5.0  # standard errors between the number of rows and that which probabilities imply


@dataclass(frozen=True)
class Matrices:
    """Covariates and outcomes of a formula.

    Attributes
    ----------
    names
        Names of the p terms.
    design, outcome
        (N, p) and (N,) of all rows, from predictions.
    gold_design, gold_outcome
        (n, p) and (n,) of the labeled rows, from gold values.
    spec
        Formulaic's description of the covariates, by which they are made from other values.
    """

    names: list[str]
    design: Floats
    outcome: Floats
    gold_design: Floats
    gold_outcome: Floats
    spec: Any = None


class Design(NamedTuple):
    """Design of a labeled sample.

    Attributes
    ----------
    stratum
        (n,) groups of which a fixed number of rows was labeled; None for independent or equal choices.
    name
        simple, fixed or independent.
    warning
        Warning of probabilities that the data contradict; None without.
    """

    stratum: Integers | None
    name: str
    warning: str | None


def labels_design(chance: Floats | None, count: int, sampling: str, *, clustered: bool) -> Design:
    """Return the design of labels with these inclusion probabilities, in a table of ``count`` rows.

    Examples
    --------
    >>> labels_design(np.repeat([0.5, 0.1], [20, 6]), 100, "detect", clustered=False).name
    'fixed'
    """
    if chance is None or np.ptp(chance) <= EQUAL:
        return Design(None, "simple", None if chance is None else _implied(chance, count))
    order = np.sort(chance)
    starts = order[np.concatenate([[True], np.diff(order) > EQUAL])]
    group = np.searchsorted(starts, chance, side="right") - 1
    sizes = np.bincount(group) / starts
    fixed = np.bincount(group).min() >= 2 and abs(sizes.sum() - count) <= max(0.5, 1e-4 * count)
    whole = bool((np.abs(sizes - np.rint(sizes)) <= np.maximum(1e-4 * sizes, 1e-6)).all())
    if sampling == "fixed" and not fixed:
        message = f"the probabilities imply {sizes.sum():,.0f} rows, and there are {count:,}"
        hint = "give the number of labels over the number of rows of each group, or state independent choices"
        raise InputError(message, hint, code="parameter")
    if sampling != "independent" and fixed and (whole or sampling == "fixed"):
        return Design(None if clustered else group, "fixed", None)
    return Design(None, "independent", _implied(chance, count))


def _implied(chance: Floats, count: int) -> str | None:
    """Return a warning if the probabilities imply another number of rows."""
    implied = float((1 / chance).sum())
    error = float(np.sqrt(((1 - chance) / chance**2).sum()))
    if abs(implied - count) <= max(FAR * error, 0.5):
        return None
    return (
        f"the inclusion probabilities imply {implied:,.0f} rows, and there are {count:,}: they may not be "
        "those with which the labeled rows were chosen"
    )


def absorb(
    made: Matrices, rows: Integers, effects: Integers, chance: Floats | None, survey: Floats | None = None
) -> tuple[Matrices, tuple[Floats, Floats]]:
    """Return covariates and outcomes without fixed effects.

    The second are covariates and outcome of the labeled rows, from predictions, without the fixed effects of
    these rows. Gold values are without the fixed effects of the labeled rows, too.
    """
    varied = [j for j in range(len(made.names)) if np.ptp(made.design[:, j])]
    design, weight = made.design[:, varied], None if chance is None else 1 / chance
    if survey is not None:
        weight = survey[rows] * (1.0 if weight is None else weight)
    code = effects[rows]
    gold = _within(np.column_stack([made.gold_design[:, varied], made.gold_outcome]), code, weight)
    own = _within(np.column_stack([design[rows], made.outcome[rows]]), code, weight)
    whole = _within(np.column_stack([design, made.outcome]), effects, survey)
    names = [made.names[j] for j in varied]
    return Matrices(names, whole[:, :-1], whole[:, -1], gold[:, :-1], gold[:, -1]), (own[:, :-1], own[:, -1])


def _within(values: Floats, code: Integers, weight: Floats | None) -> Floats:
    """Return values (n, p) without the mean of their group."""
    total = np.bincount(code, weight)
    means = [np.bincount(code, column if weight is None else weight * column) for column in values.T]
    with np.errstate(invalid="ignore"):
        centered: Floats = values - (np.stack(means, axis=1) / total[:, None])[code]
    return centered
