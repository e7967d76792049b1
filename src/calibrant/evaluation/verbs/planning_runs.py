"""Plan runs: items and runs per item that a comparison needs, from a pilot in logs or in a table."""

from __future__ import annotations

from typing import Any

from calibrant.evaluation.planned import plan_tasks
from calibrant.evaluation.results.planned import RunPlan
from calibrant.evaluation.verbs.comparing_runs import compare_logs, compare_table, is_run
from calibrant.exceptions import InputError


def plan_runs(
    source: Any,
    *,
    half_width: float | None = None,
    difference: float | None = None,
    item_cost: float = 0.0,
    system: str = "system",
    item: str | None = None,
    score: str | None = None,
    task: str | None = None,
    run: str | None = None,
    cluster: str | None = None,
    baseline: str | None = None,
    power: float = 0.8,
    level: float = 0.95,
) -> RunPlan:
    """Return the items that each number of runs per item needs, from the scores of a pilot.

    Parameters
    ----------
    source
        The pilot: logs of lm-evaluation-harness or inspect_ai (one folder, or a list of logs and folders), or
        a table with one row per system, item and run. Without several runs per item, only as many runs as the
        pilot has can be planned.
    half_width
        Half width of the interval, such as 0.02, that is wanted for the difference of each pair and for the
        mean of each system.
    difference
        Difference of two systems to detect, such as 0.02.
    item_cost
        Cost of a further item (writing, labeling), in answers of each system; 0 if there are enough items.
    system
        Column that names the system.
    item
        Column of the item. None: ``item``.
    score
        Column of scores, or the metric or scorer of logs. None: ``score``; for logs the only metric of a
        task, or ``acc``, ``accuracy`` or ``exact_match``.
    task
        Column of tasks. None: ``task``, if there is one.
    run
        Column that numbers the runs of an item. None: ``run`` or ``epoch``, if there is one.
    cluster
        Column of clusters, such as documents, or field of the samples of logs. None: ``cluster``, if a table
        has it.
    baseline
        Plan comparisons with this system only. None: all pairs.
    power
        Probability that the difference is detected, in (0, 1).
    level
        Confidence level of all intervals, between 0 and 1.

    Raises
    ------
    InputError
        As `calibrant.compare`; no goal or two goals are given; or the pilot has fewer than two items.

    Examples
    --------
    >>> import pyarrow as pa
    >>> columns = {"item": [*range(20)] * 4, "run": [1] * 20 + [2] * 20 + [1] * 20 + [2] * 20}
    >>> columns |= {"system": ["a"] * 40 + ["b"] * 40, "score": [1, 1, 0, 1, 0] * 8 + [1, 0, 0, 1] * 10}
    >>> plan = plan_runs(pa.table(columns), difference=0.1)
    >>> plan.plans[0].first, plan.plans[0].second, plan.plans[0].runs, plan.plans[0].items
    ('a', 'b', 1, 407)
    """
    several = list(source) if isinstance(source, (list, tuple)) else [source]
    given: dict[str, Any] = {"half_width": half_width, "difference": difference, "item_cost": item_cost}
    given |= {"baseline": baseline, "power": power, "level": level, "compute": plan_tasks}
    plan: Any
    if len(several) > 1 or is_run(several[0]):
        for name, value in {"item": item, "task": task, "run": run}.items():
            if value is not None:
                raise InputError(f"`{name}` has no meaning for logs", "leave it out", code="parameter")
        plan = compare_logs(several, score, cluster, **given)
    else:
        columns: dict[str, Any] = {
            "system": system,
            "item": item,
            "task": task,
            "run": run,
            "cluster": cluster,
        }
        plan = compare_table(several[0], score=score or "score", always=True, **columns, **given)
    assert isinstance(plan, RunPlan)
    return plan
