"""The table of the tasks of an evaluation, all models side by side."""

from __future__ import annotations

from collections.abc import Sequence

from calibrant.pages.sections import TaskTable
from calibrant.results.drawing import TaskErrors
from calibrant.results.slices import SliceErrors

Keys = tuple[str | None, ...]


def task_table(tasks: Sequence[TaskErrors]) -> TaskTable | None:
    """Put the tasks of all models into one table, the worst of any model first; None without tasks."""
    if not tasks:
        return None
    by_key: dict[Keys, list[SliceErrors | None]] = {}
    for place, each in enumerate(tasks):
        for row in each.table.slices:
            by_key.setdefault(row.keys, [None] * len(tasks))[place] = row
    order = sorted(by_key, key=lambda keys: (_worst(by_key[keys]), _name(keys)))
    return TaskTable(
        models=tuple(each.model for each in tasks),
        rows=tuple((_name(keys), tuple(by_key[keys])) for keys in order),
        level=tasks[0].table.level,
        measured=tuple(each.table.measured for each in tasks),
        least=tasks[0].table.least,
    )


def _worst(rows: Sequence[SliceErrors | None]) -> tuple[bool, float]:
    """Small for what is bad; tasks without an error come last, from the largest on."""
    known = (_expected(row) for row in rows if row is not None)
    errors = [value for value in known if value is not None]
    if errors:
        return False, -max(errors)
    return True, -max(row.n for row in rows if row is not None)


def _expected(row: SliceErrors) -> float | None:
    """The shrunken squared error, or the one of the task alone."""
    shrunken = row.squared.shrunken.estimate
    return row.squared.estimate if shrunken is None else shrunken


def _name(keys: Keys) -> str:
    task, subject = (key or "" for key in keys)
    return task if subject in ("", task) else f"{task}: {subject}"
