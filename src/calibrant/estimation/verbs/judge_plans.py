"""How many labels judged systems need, from a table of a pilot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from calibrant.estimation.judged_plans import judge_plan
from calibrant.estimation.results.judged_plans import JudgePlan
from calibrant.estimation.verbs.judged_tables import (
    Asked,
    check_weight,
    class_of,
    label_columns,
    names_of,
    range_of,
    read_answers,
)
from calibrant.exceptions import InputError
from calibrant.io.roles import from_file, open_table


def plan_judge(
    source: Any,
    *,
    width: float | None = None,
    difference: float | None = None,
    prompts: int | None = None,
    view: str | None = None,
    label_range: tuple[float, float] | None = None,
    system: str = "system",
    item: str = "item",
    judge: str | Sequence[str] | None = None,
    label: str | Sequence[str] | None = None,
    annotator: str | None = None,
    inclusion_probability: str | None = None,
    cluster: str | None = None,
    run: str | None = None,
    power: float = 0.8,
    level: float = 0.95,
) -> JudgePlan:
    """Return how many labeled prompts a comparison by a judge needs, and if the judge helps, from a pilot.

    Parameters
    ----------
    source
        Table of the pilot, as for `calibrant.judge`: judge scores of all answers, and labels of some.
    width
        Wanted width of the interval of each system's mean, in units of the labels.
    difference
        Difference of two systems to detect, in units of the labels.
    prompts
        Prompts that the judge will score. None: those of the table.
    view
        Class whose proportion is planned for, ``class:NAME``, if judge and labels are class names. None: both
        are numbers.
    label_range
        As in `calibrant.estimation.verbs.judging.judge`.
    system
        As in `calibrant.estimation.verbs.judging.judge`.
    item
        As in `calibrant.estimation.verbs.judging.judge`.
    judge
        As in `calibrant.estimation.verbs.judging.judge`.
    label
        As in `calibrant.estimation.verbs.judging.judge`.
    annotator
        As in `calibrant.estimation.verbs.judging.judge`.
    inclusion_probability
        As in `calibrant.estimation.verbs.judging.judge`.
    cluster
        As in `calibrant.estimation.verbs.judging.judge`.
    run
        As in `calibrant.estimation.verbs.judging.judge`.
    power
        Probability of detecting the difference, with a test that is adjusted for all pairs of systems.
    level
        Confidence level of all intervals, between 0 and 1.

    Raises
    ------
    InputError
        If not exactly one of a width and a difference is given, the table cannot be read, has weights or
        preferences, or no system has 10 labels.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow as pa
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.random(1000)
    >>> score = np.clip(quality + 0.1 * rng.normal(size=1000), 0, 1)
    >>> labels = [value if row < 60 else None for row, value in enumerate(quality)]
    >>> table = pa.table({"system": ["A"] * 1000, "item": range(1000), "judge": score, "label": labels})
    >>> [row] = plan_judge(table, width=0.06).plans
    >>> row.labels < row.without
    True
    """
    if view is not None and not view.startswith("class:"):
        raise InputError(f"{view!r} is no class", "write `view='class:NAME'`", code="parameter")
    table = open_table(source)
    check_weight(table)
    if system not in table.columns and {"system_a", "system_b"} <= {*table.columns}:
        message = "the table has preferences, and the plan is for one row per answer"
        hint = "read the column labels needed of `calibrant judge`, which plans each difference"
        raise InputError(message, hint, code="parameter", file=table.name, column="system_a")
    asked = Asked(
        names_of(judge) or ("judge",), label_columns(table, names_of(label)), system, item, cluster,
        annotator, inclusion_probability, run=run,
    )  # fmt: skip
    read = read_answers(table, asked, classes=view is not None)
    if read.classes and view is None:
        message = "judge and labels are class names"
        raise InputError(message, "name a class, `view='class:NAME'`", code="parameter", file=table.name)
    low, high = (0.0, 1.0) if read.classes else range_of(read, label_range)
    judged = read.table(low, high, class_of(read, view) if view is not None else None)
    with from_file(table, asked.labels[0]):
        return judge_plan(
            judged, width=width, difference=difference, prompts=prompts, power=power, level=level
        )
