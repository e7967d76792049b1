"""Compute the number of labels that a coefficient of a regression needs, from a pilot in tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from calibrant._checks import one_of, positive, proportion, shown
from calibrant.estimation.regression import few_labels, fit
from calibrant.estimation.regression_planning import CoefficientPilot
from calibrant.estimation.results.plans import PlannedLabels, RegressionPlan
from calibrant.estimation.verbs.formulas import parsed
from calibrant.estimation.verbs.regression_tables import prepare, read_columns
from calibrant.exceptions import InputError
from calibrant.io.tables import listed

LITTLE = 0.05  # proportion of labels saved, below which predictions do not help


def plan_regress(
    predictions: Any,
    formula: str,
    labels: Any = None,
    *,
    term: str,
    width: float | None = None,
    effect: float | None = None,
    predicted: Sequence[str] | str | None = None,
    family: Literal["linear", "logistic", "poisson"] = "linear",
    power: float = 0.8,
    level: float = 0.95,
    item: str = "item",
    inclusion_probability: str | None = None,
) -> RegressionPlan:
    """Return how many labels a coefficient needs for a wanted width or power, from a pilot.

    The plan assumes that the pilot's errors hold, that rows are independent, and that a simple random sample
    is labeled. The method is ``recalibrated``, beside the labels alone.

    Parameters
    ----------
    predictions
        As in `calibrant.estimation.verbs.regressing.regress`.
    formula
        As in `calibrant.estimation.verbs.regressing.regress`.
    labels
        Table of the labeled rows of the pilot. None: the gold columns of the table of predictions.
    term
        Term of the formula whose coefficient is planned for, as `regress` prints it.
    width
        Wanted width of the interval of the coefficient.
    effect
        Coefficient that is to be told from 0.
    predicted
        As in `calibrant.estimation.verbs.regressing.regress`.
    family
        As in `calibrant.estimation.verbs.regressing.regress`.
    power
        Probability of detecting the effect: its interval excludes 0.
    level
        Confidence level of all intervals, between 0 and 1.
    item
        As in `calibrant.estimation.verbs.regressing.regress`.
    inclusion_probability
        As in `calibrant.estimation.verbs.regressing.regress`.

    Raises
    ------
    InputError
        If not exactly one of a width and an effect is given, the term is not in the formula, or rows have
        clusters.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=3000)
    >>> y = 1 + 0.2 * x + rng.normal(size=3000)
    >>> gold = [value if row < 100 else None for row, value in enumerate(y)]
    >>> posts = pa.table({"y": gold, "pred_y": y + 0.7 * rng.normal(size=3000), "x": x})
    >>> plan = plan_regress(posts, "y ~ x", term="x", width=0.15)
    >>> [(one.method, one.labels) for one in plan.plans]
    [('labels', 887), ('recalibrated', 333)]
    """
    if (width is None) == (effect is None):
        hint = "give a width of the interval, or an effect to detect"
        raise InputError("not exactly one of width and effect is given", hint, code="parameter")
    if width is not None:
        positive(width, "width")
    if effect is not None and not (np.isfinite(effect) and effect):
        raise InputError(f"effect is {effect:g}", "give a number other than 0", code="parameter")
    one_of(family, ("linear", "logistic", "poisson"), "family")
    proportion(level, "level")
    if proportion(power, "power", such_as=0.8) < 0.5:
        raise InputError(f"power is {power:g}", "give at least 0.5", code="parameter")
    read, variables = parsed(formula)
    columns = read_columns(
        predictions, labels, variables, predicted, item, None, None, inclusion_probability, None
    )
    if columns.clusters is not None:
        message = "rows have clusters, and the plan is for independent rows"
        hint = "plan without the column, and multiply by the design effect that you expect"
        raise InputError(message, hint, code="parameter", file=columns.table.name, column="cluster")
    problem = prepare(formula, columns, read, family, "independent", fixed=False).problem
    if term not in problem.names:
        message = f"{shown(term)} is no term of the formula"
        raise InputError(message, f"its terms are {listed(problem.names)}", code="parameter")
    pilot = CoefficientPilot.of(problem, problem.names.index(term))
    goal = "width" if effect is None else "effect"
    wanted: dict[str, Any] = {
        "width": width,
        "effect": None if effect is None else abs(effect),
        "power": power,
        "level": level,
    }
    alone = pilot.labels_for(pilot.of_labels, **wanted)
    needed = pilot.labels_for(pilot.of_predictions, **wanted)
    saved = None if alone is None or needed is None else 1 - needed / alone
    explained = 1 - pilot.left / pilot.whole if pilot.whole else 0.0
    warning = None
    useful = saved if saved is not None else 1.0 if needed is not None else explained
    if useful < LITTLE:
        warning = (
            f"predictions do not help: they save fewer than {100 * LITTLE:.0f} % of the labels (they explain "
            f"{100 * explained:.0f} % of the variance of the coefficient in the pilot)"
        )
    return RegressionPlan(
        goal=goal,
        formula=formula,
        family=family,
        term=term,
        width=width,
        effect=effect,
        power=None if effect is None else power,
        level=level,
        documents=len(problem.outcome),
        pilot=len(problem.rows),
        explained=explained,
        few_warning=few_labels(problem, fit(problem, "recalibrated")),
        predictions_warning=warning,
        plans=(
            PlannedLabels(
                design="simple", method="labels", labels=alone, saved=None if alone is None else 0.0
            ),
            PlannedLabels(design="simple", method="recalibrated", labels=needed, saved=saved),
        ),
    )
