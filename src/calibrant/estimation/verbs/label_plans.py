"""Compute the number of labels that an estimate needs, from a pilot in tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from calibrant._checks import proportion
from calibrant.estimation.planning import Pilot, labels_for, of_labels, of_scores, of_uncertainty
from calibrant.estimation.results.plans import EstimatePlan, PlannedLabels
from calibrant.estimation.verbs import INCLUSION, check_columns, labeled_rows
from calibrant.exceptions import InputError
from calibrant.io.roles import Role, from_file, open_table, read, read_table
from calibrant.io.tables import listed

LITTLE = 0.05  # proportion of labels saved, below which predictions do not help


def plan_estimate(
    predictions: Any,
    labels: Any = None,
    *,
    width: float | None = None,
    difference: float | None = None,
    by: str | None = None,
    power: float = 0.8,
    level: float = 0.95,
    score: str = "score",
    label: str = "label",
    item: str = "item",
) -> EstimatePlan:
    """Return how many labels an estimate needs for a wanted width or power, from a pilot.

    The plan assumes that the pilot's error rates hold, and that further labels are drawn by `calibrant
    sample`.

    Parameters
    ----------
    predictions
        Table (a file or a dataframe) of all documents with ``score`` and ``item``.
    labels
        Table of the pilot: documents with columns ``item`` and ``label``, and ``inclusion_probability`` if
        these differ. None: these columns of the table of scores.
    width
        Wanted width of the interval of the proportion, such as 0.04 for plus or minus 2 points.
    difference
        Difference between the proportions of the two groups of `by` to detect.
    by
        Column of two groups.
    power
        Probability of detecting the difference: its interval excludes 0.
    level
        Confidence level of all intervals, between 0 and 1.
    score
        Column of predicted probabilities.
    label
        Column of labels.
    item
        Column of document names.

    Raises
    ------
    InputError
        If not exactly one of a width and a difference is given, the pilot has fewer than 10 positive or 10
        negative labels, or there are not two groups.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), "PPI++"; Egami et al. (2023), "Using imperfect surrogates for
    downstream inference".

    Examples
    --------
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> score = rng.random(3000)
    >>> label = [int(rng.random() < p) if place < 100 else None for place, p in enumerate(score)]
    >>> plan = plan_estimate(pa.table({"item": range(3000), "score": score, "label": label}), width=0.06)
    >>> [(row.design, row.method) for row in plan.plans]
    [('simple', 'labels'), ('simple', 'ppi++'), ('uncertainty', 'dsl')]
    >>> plan.plans[2].labels < plan.plans[1].labels < plan.plans[0].labels
    True
    """
    if (width is None) == (difference is None):
        hint = "give a width of the interval, or a difference to detect"
        raise InputError("not exactly one of width and difference is given", hint, code="parameter")
    goal = "width" if difference is None else "difference"
    aim = width if difference is None else difference
    proportion(aim, goal, such_as=0.05)
    proportion(level, "level")
    if proportion(power, "power", such_as=0.8) < 0.5:
        raise InputError(f"power is {power:g}", "give at least 0.5", code="parameter")
    if (difference is None) != (by is None):
        message = (
            "a difference needs the column of its two groups" if by is None else "a width needs no groups"
        )
        hint = "name it with `by`" if by is None else "leave `by` out, or give a difference"
        raise InputError(message, hint, code="parameter")
    table, alone = open_table(predictions), labels is None
    items = Role("item", column=item, needed=not alone, once=True)
    groups = [Role("group", column=by, how="name it with `by`")] if by is not None else []
    roles = [
        Role("label", "label", label, gaps=True, how="name it with `label`"),
        Role(INCLUSION, "score", needed=False),
    ]
    scored = read_table(table, [Role("score", "score", score), items, *groups])
    labeled = read_table(table, roles) if alone else read(labels, [*roles, items])
    for name, what in (("cluster", "rows have clusters"), ("weight", "documents have survey weights")):
        for one in (table, labeled.table):
            if name in one.columns:
                message = f"{what}, and the plan is for independent rows that count alike"
                hint = "plan without the column, and multiply by the design effect that you expect"
                raise InputError(message, hint, code="parameter", file=one.name, column=name)
    check_columns(scored, labeled)
    rows = labeled_rows(labeled, scored, alone=alone)
    names = scored.names["group"] if by is not None else ()
    if by is not None and len(names) != 2:
        message = f"there are {len(names)} groups: {listed(names)}"
        hint = "plan for two groups: leave out the rows of the others"
        raise InputError(message, hint, code="parameter", file=table.name, column=by)
    chance = labeled.get(INCLUSION)
    weight = np.ones(len(rows)) if chance is None else 1 / chance
    group = scored["group"] if by is not None else np.zeros(len(scored["score"]), np.int64)
    with from_file(labeled.table, labeled.roles["label"].name):
        pilot = Pilot.of(scored["score"], group, rows, labeled["label"].astype(np.float64), weight)
    ways = [("simple", "labels", of_labels), ("simple", "ppi++", of_scores)]
    if difference is None and (scored["score"] % 1).any():
        ways.append(("uncertainty", "dsl", of_uncertainty))
    needed = [
        labels_for(way, pilot, width=width, difference=difference, power=power, level=level)
        for _, _, way in ways
    ]
    least = needed[0]
    plans = tuple(
        PlannedLabels(
            design=design,
            method=method,
            labels=count,
            saved=None if count is None or least is None else 1 - count / least,
        )
        for (design, method, _), count in zip(ways, needed, strict=True)
    )
    saved = max(plan.saved or 0.0 for plan in plans[1:])
    helps = saved >= LITTLE or (least is None and (any(needed) or pilot.explained >= LITTLE))
    warning = None
    if not helps:
        warning = (
            f"predictions do not help: they save fewer than {100 * LITTLE:.0f} % of the labels "
            f"(they explain {100 * pilot.explained:.0f} % of the variance of the pilot's labels)"
        )
    return EstimatePlan(
        goal=goal,
        width=width,
        difference=difference,
        power=None if difference is None else power,
        level=level,
        documents=len(scored["score"]),
        pilot=len(rows),
        groups=tuple(names),
        explained=pilot.explained,
        scores_warning=warning,
        plans=plans,
    )
