"""Scores of the samples in logs: which samples a run got right, task by task, as the harness scored them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np

from calibrant._checks import shown
from calibrant.exceptions import InputError
from calibrant.io.log_formats import LogSettings, opened_logs, recognise_log
from calibrant.records.words import counted

PREFERRED = ("acc", "accuracy", "exact_match")  # of several metrics
AGREES = 1e-9  # with the log's own mean


@dataclass(frozen=True)
class SampleScore:
    """Score of one sample in one run.

    Attributes
    ----------
    item
        Name of the sample within its task.
    metric
        Name of the metric or scorer, with its filter after a comma if there are several.
    value
        The score.
    run
        Number of the epoch or repeat, from 1.
    content
        Hash of the question, by which samples of different logs are the same; None if the log has none.
    prompt
        Hash of the prompt, which may differ between runs of a question.
    """

    item: str
    metric: str
    value: float
    run: int = 1
    content: str | None = None
    prompt: str | None = None


@runtime_checkable
class ScoredLog(Protocol):
    """A log with scores of samples."""

    path: Path
    task: str
    model: str

    def scores(self) -> Iterator[SampleScore]:
        """Yield every score of every sample that ended."""

    def aggregates(self) -> Mapping[str, float]:
        """Return the log's own mean of each metric."""


@dataclass(frozen=True)
class TaskScores:
    """Scores of one model on one task by one metric.

    Attributes
    ----------
    model, task, metric
        Names.
    values
        By item: the scores of its runs.
    contents, prompts
        By item: hashes of its question and of its prompt, where the log has them.
    note
        Why the mean of the scores is not the log's own; None if it is, or if the log states none.
    """

    model: str
    task: str
    metric: str
    values: Mapping[str, list[float]]
    contents: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)
    note: str | None = None


def read_log_scores(path: str | os.PathLike[str], metric: str | None = None) -> list[TaskScores]:
    """Read the scores of the samples of a log, or of a folder of logs.

    Parameters
    ----------
    path
        A log of lm-evaluation-harness or inspect_ai, or a folder of such logs.
    metric
        Metric or scorer to read, with its filter after a comma if a task has several filters. None: the only
        one of a task, or ``acc``, ``accuracy`` or ``exact_match``.

    Raises
    ------
    InputError
        If the path holds no log with scores, a task has several metrics of which none is named, a score is
        outside [0, 1], or a sample has two scores in one run.
    """
    name = os.fspath(path)
    kind = recognise_log(path)
    if kind is None:
        hint = "name a log or a folder of logs, or a table with the columns system, item and score"
        raise InputError("this is no log of an evaluation", hint, code="log", file=name)
    tasks: dict[tuple[str, str], tuple[str, TaskScores]] = {}
    for log in opened_logs(kind, LogSettings()):
        if not isinstance(log, ScoredLog):
            hint = "write a table with the columns system, item and score"
            raise InputError(f"{kind.title} has no scores", hint, code="log-scores", file=str(log.path))
        found = _scores_of(log, metric)
        key = found.model, found.task
        date = getattr(log, "date", "")
        if key not in tasks or tasks[key][0] < date:  # of several logs of a task, the newest
            tasks[key] = date, found
    return [found for _, found in tasks.values()]


def _scores_of(log: ScoredLog, metric: str | None) -> TaskScores:
    """Return the scores of a log by one metric."""
    runs: dict[str, dict[tuple[str, int], float]] = {}
    contents: dict[str, str] = {}
    prompts: dict[str, str] = {}
    for score in log.scores():
        own = runs.setdefault(score.metric, {})
        if (score.item, score.run) in own:
            message = f"sample {score.item} has two scores of {score.metric} in one run"
            raise InputError(message, "keep one log per run", code="duplicate", file=str(log.path))
        own[score.item, score.run] = score.value
        if score.content is not None:
            contents[score.item] = score.content
        if score.prompt is not None:
            prompts[score.item] = score.prompt
    chosen = _metric_of(log, list(runs), metric)
    values: dict[str, list[float]] = {}
    for (item, _), value in sorted(runs[chosen].items(), key=lambda pair: pair[0][1]):
        if not 0 <= value <= 1:
            message = f"sample {item}: the score {value!r} of {chosen} is not in [0, 1]"
            raise InputError(message, "name another metric", code="score-range", file=str(log.path))
        values.setdefault(item, []).append(value)
    found = TaskScores(log.model, log.task, chosen, values, contents, prompts)
    return replace(found, note=_difference_from(log, found))


def _metric_of(log: ScoredLog, names: list[str], metric: str | None) -> str:
    if not names:
        message = f"task {log.task} has no scores"
        raise InputError(message, "was it scored?", code="log-scores", file=str(log.path))
    wanted = [metric] if metric is not None else PREFERRED if len(names) > 1 else names
    matching = [name for want in wanted for name in names if name == want or name.partition(",")[0] == want]
    chosen = [name for name in matching if name.partition(",")[0] == matching[0].partition(",")[0]]
    if len(chosen) != 1:
        what = f"no score {metric!r}" if metric is not None and not chosen else "several scores"
        hint = f"name one with `score`: {', '.join(names)}"
        raise InputError(f"task {log.task} has {what}", hint, code="parameter", file=str(log.path))
    return chosen[0]


def _difference_from(log: ScoredLog, found: TaskScores) -> str | None:
    """Return why the mean of the scores is not the log's own."""
    own = log.aggregates().get(found.metric)
    mean = float(np.mean([np.mean(values) for values in found.values.values()]))
    if own is None or abs(own - mean) <= AGREES:
        return None
    samples = counted(len(found.values), "sample")
    return (
        f"{found.task}: the log states {found.metric} as {own:.6g}, and its {samples} have the mean "
        f"{mean:.6g}: the log leaves samples out, or takes another mean"
    )


def number_of(value: object) -> float | None:
    """Return a score as a number; None for anything else.

    Examples
    --------
    >>> number_of(True), number_of(0.5), number_of([1, 2])
    (1.0, 0.5, None)
    """
    return float(value) if isinstance(value, (bool, int, float)) else None


def bad_value(value: object, metric: str, item: str, path: Path) -> InputError:
    """Make the error for a score that is no number."""
    message = f"sample {item}: the score {shown(value)} of {metric} is not a number"
    return InputError(message, "name another metric", code="score-range", file=str(path))
