"""Logs of evaluations in a report: a source for each model, and the errors task by task."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from calibrant.io import Predictions
from calibrant.metrics.slices import slice_errors
from calibrant.results.drawing import TaskErrors
from calibrant.verbs.measuring import Columns
from calibrant.verbs.tallying import tally_by

BY = ("task", "subject")


def by_model(
    sources: Sequence[Any], names: Sequence[str] | None, columns: Columns | None
) -> tuple[list[Any], Sequence[str] | None]:
    """Open the logs among sources, one for each of their models, which give the names if all are logs."""
    found: list[Any] = []
    models: list[str] = []
    for source in sources:
        path = isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-"
        opened = (columns or Columns()).open(source) if path and is_log(source) else None
        if opened is None or opened.log is None:
            found.append(source)
            continue
        several = len(opened.log.models) > 1
        found += [opened.of_model(model) for model in opened.log.models] if several else [opened]
        models += opened.log.models
    named = len(models) == len(found) == len(set(models))
    return found, models if names is None and named else names


def is_log(path: Any) -> bool:
    """Whether a path is a log."""
    from calibrant.io.logs import recognise_log

    return recognise_log(path) is not None


def task_errors(
    names: Sequence[str], sources: Sequence[Any], level: float
) -> tuple[tuple[TaskErrors, ...], list[str]]:
    """Errors of the top labels of each model's tasks, where there are several; and what logs left out."""
    found, notes = [], []
    logs = {name: each for name, each in zip(names, sources, strict=True) if isinstance(each, Predictions)}
    for name, predictions in logs.items():
        if predictions.log is None:
            continue
        tallies = tally_by(predictions, BY, event="top")
        found.append(TaskErrors(name, slice_errors(tallies, by=BY, level=level)))
        notes += [note if len(names) == 1 else f"{name}: {note}" for note in predictions.log.notes]
    several = any(len(each.table.slices) > 1 for each in found)
    return (tuple(found) if several else ()), notes
