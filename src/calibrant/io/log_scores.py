"""Scores of the samples in logs: which samples a run got right, task by task, as the harness scored them."""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from calibrant._checks import shown
from calibrant.exceptions import InputError
from calibrant.io.log_formats import LogSettings, opened_logs, recognise_logs
from calibrant.io.tables import listed
from calibrant.io.text import read_class_table
from calibrant.records.words import counted

PREFERRED = ("acc", "accuracy", "exact_match", "success")  # of several metrics
AGREES = 1e-9  # with the log's own mean
MOST_NAMED = 3
LACKING = "without the field"


class SampleScore(msgspec.Struct, frozen=True, gc=False):
    """Score of one sample in one run.

    Attributes
    ----------
    item
        Name of the sample within its task.
    metric
        Name of the metric or scorer.
    value
        The score; NaN if it is not a number.
    filter
        Name of the filter or split, if a task can have several with the same metrics.
    run
        Number of the epoch or repeat, from 1.
    content
        Hash of the question, by which samples of different logs are the same; 0 if the log has none.
    prompt
        Hash of the prompt, which may differ between runs of a question; 0 if the log has none.
    cluster
        Cluster of the item, if one was asked for.
    problem
        Why the sample has no score at all, such as ``that ended with an error``; empty if it has.
    """

    item: str
    metric: str = ""
    value: float = float("nan")
    filter: str = ""
    run: int = 1
    content: int = 0
    prompt: int = 0
    cluster: str | None = None
    problem: str = ""


@runtime_checkable
class ScoredLog(Protocol):
    """A log with scores of samples."""

    path: Path
    task: str
    date: str

    @property
    def model(self) -> str:
        """The model's name."""

    def scores(self, cluster: str | None = None) -> Iterator[SampleScore]:
        """Yield every score of every sample, with its cluster by a field of the sample."""

    def aggregates(self) -> Mapping[str, float]:
        """Return the log's own mean of each metric, with its filter after a comma if there is one."""


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
        For each item in this order: hash of its question and of its prompt, 0 if the log has none.
    clusters
        For each item: its cluster; None if none was asked for.
    notes
        Samples that were left out, and why the mean of the scores is not the log's own.
    """

    model: str
    task: str
    metric: str
    values: Mapping[str, Sequence[float]]
    contents: Sequence[int] = ()
    prompts: Sequence[int] = ()
    clusters: Sequence[str] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class LogScores:
    """Scores of the logs of a path.

    Attributes
    ----------
    tasks
        One entry for each model and task.
    notes
        Logs that were left out.
    """

    tasks: list[TaskScores]
    notes: tuple[str, ...] = ()


@dataclass
class _Column:
    """Scores by one metric: places of the items, runs and values."""

    items: array[int] = field(default_factory=lambda: array("q"))
    runs: array[int] = field(default_factory=lambda: array("q"))
    values: array[float] = field(default_factory=lambda: array("d"))


def read_log_scores(
    path: str | os.PathLike[str],
    metric: str | None = None,
    cluster: str | None = None,
    *,
    gold: str | os.PathLike[str] | None = None,
) -> LogScores:
    """Read the scores of the samples of a log, or of a folder of logs.

    In a folder, logs that cannot be read and those without the metric are left out, with a note. Samples
    without a score are left out of every log, with a note.

    Parameters
    ----------
    path
        A log with scores, or a folder of such logs, of one or several formats.
    metric
        Metric or scorer to read, with its filter after a comma if a task has several filters. None: the only
        one of a task, or ``acc``, ``accuracy``, ``exact_match`` or ``success``.
    cluster
        Field of the samples that names their cluster.
    gold
        File with the right answers of responses in OpenAI's format: lines of a name, a tab and the answer.
        None: they are in the log.

    Raises
    ------
    InputError
        If the path has no log with scores. If every log of it is unusable, the error of the first: a task
        has several metrics of which none is named, a score is outside [0, 1], or a sample has two scores in
        one run.
    """
    name = os.fspath(path)
    kinds = recognise_logs(path)
    if not kinds:
        hint = "name a log or a folder of logs, or a table with the columns system, item and score"
        raise InputError("this is no log of an evaluation", hint, code="log", file=name)
    folder = Path(path).is_dir()
    settings = LogSettings() if gold is None else LogSettings(gold=read_class_table(gold))
    unread: list[InputError] = list(kinds[0].unread)
    notes: list[str] = []
    tasks: dict[tuple[str, str], tuple[ScoredLog, TaskScores]] = {}
    for kind in kinds:
        for log in opened_logs(kind, settings, unread if folder else None):
            try:
                if not isinstance(log, ScoredLog):
                    hint = "write a table with the columns system, item and score"
                    raise InputError(
                        f"{kind.title} has no scores", hint, code="log-scores", file=str(log.path)
                    )
                scores = _scores_of(log, metric, cluster, folder)
            except InputError as error:
                unread.append(error)
                continue
            key = scores.model, scores.task
            if key not in tasks:
                tasks[key] = log, scores
                continue
            other = tasks[key][0]  # of several logs of a task, the newest is kept
            older: ScoredLog = log
            if log.date > other.date:
                older, tasks[key] = other, (log, scores)
            called = os.path.relpath(older.path, name) if folder else older.path.name
            which = "another" if log.date == other.date else "an older"
            notes.append(f"left out: {called}, {which} run of {key[1]} of {key[0]}")
    if not tasks:
        raise unread[0]
    return LogScores([scores for _, scores in tasks.values()], (*_unread_notes(unread), *notes))


def _unread_notes(errors: Sequence[InputError]) -> list[str]:
    """Return a note that counts the logs that were left out, and names the first with the reasons."""
    if not errors:
        return []
    named = [f"{Path(error.file or '').name} ({error.message})" for error in errors[:MOST_NAMED]]
    more = f" and {len(errors) - MOST_NAMED:,} more" if len(errors) > MOST_NAMED else ""
    return [f"left out: {counted(len(errors), 'log')} without usable scores: {'; '.join(named)}{more}"]


def _scores_of(log: ScoredLog, metric: str | None, cluster: str | None, folder: bool) -> TaskScores:
    """Return the scores of a log by one metric."""
    places: dict[str, int] = {}
    contents, prompts, clusters = array("q"), array("q"), list[str]()
    columns: dict[tuple[str, str], _Column] = {}
    problems: dict[str, list[str]] = {}
    cut = False
    try:
        for score in log.scores(cluster):
            if score.problem:
                problems.setdefault(score.problem, []).append(score.item)
                continue
            place = places.setdefault(score.item, len(places))
            if place == len(contents):
                contents.append(score.content)
                prompts.append(score.prompt)
                if score.cluster is not None:
                    clusters.append(score.cluster)
            column = columns.get((score.metric, score.filter))
            if column is None:
                column = columns[score.metric, score.filter] = _Column()
            column.items.append(place)
            column.runs.append(score.run)
            column.values.append(score.value)
    except InputError as error:
        if error.code != "file-truncated" or not folder or not columns:
            raise
        cut = True
    items = list(places)
    numbers = {key: np.array(column.values) for key, column in columns.items()}
    usable = [key for key in columns if not np.isnan(numbers[key]).all()]
    if not usable and problems:
        reason, _ = next(iter(problems.items()))
        missing = cluster is not None and reason.startswith(LACKING)
        code = "column-missing" if missing else "log-scores"
        message = f"no sample has a score; {_problem_notes(problems)[0]}"
        hint = "name another field" if missing else "check the log"
        raise InputError(message, hint, code=code, file=str(log.path))
    chosen, called = _metric_of(log, usable, metric)
    at, runs, values = np.array(columns[chosen].items), np.array(columns[chosen].runs), numbers[chosen]
    known = ~np.isnan(values)
    if not known.all():
        lacking = [items[one] for one in at[~known]]
        problems.setdefault(f"whose {called} is not a number", []).extend(lacking)
        at, runs, values = at[known], runs[known], values[known]
    outside = np.flatnonzero((values < 0) | (values > 1))
    if len(outside):
        message = f"sample {items[at[outside[0]]]}: the score {float(values[outside[0]])!r} of {called}"
        message += " is not in [0, 1]"
        raise InputError(message, "name another metric", code="score-range", file=str(log.path))
    order = np.lexsort((runs, at))
    at, runs, values = at[order], runs[order], values[order]
    twice = np.flatnonzero((at[1:] == at[:-1]) & (runs[1:] == runs[:-1]))
    if len(twice):
        message = f"sample {items[at[twice[0]]]} has two scores of {called} in one run"
        raise InputError(message, "keep one log per run", code="duplicate", file=str(log.path))
    starts = np.flatnonzero(np.diff(at, prepend=-1))
    kept = at[starts]
    notes = [f"{log.task}: {note}" for note in _problem_notes(problems)]
    if cut:
        read = counted(len(kept), "sample")
        notes.append(f"{log.task}: the log ends too early; left out: all after the first {read}")
    means = np.add.reduceat(values, starts) / np.diff(starts, append=len(values))
    notes += _difference_from(log, chosen, means, complete=not problems)
    # Two files of one task, such as old.jsonl and new.jsonl, do not say what their task is called.
    unnamed = not folder and getattr(log, "task_from_name", False)
    return TaskScores(
        log.model,
        "all" if unnamed else log.task,
        called,
        _by_item([items[one] for one in kept], starts, values),
        np.array(contents)[kept],
        np.array(prompts)[kept],
        [clusters[one] for one in kept] if cluster is not None else None,
        tuple(notes),
    )


def _by_item(
    items: Sequence[str], starts: NDArray[np.int64], values: NDArray[np.float64]
) -> dict[str, tuple[float, ...]]:
    """Return the scores of each item; equal scores share their memory."""
    shared: dict[tuple[float, ...], tuple[float, ...]] = {}
    numbers, ends = values.tolist(), [*starts[1:].tolist(), len(values)]
    by_item = {}
    for item, start, end in zip(items, starts.tolist(), ends, strict=True):
        scores = tuple(numbers[start:end])
        by_item[item] = shared.setdefault(scores, scores)
    return by_item


def _metric_of(
    log: ScoredLog, usable: Sequence[tuple[str, str]], metric: str | None
) -> tuple[tuple[str, str], str]:
    """Return the metric with its filter, and its name."""
    if not usable:
        message = f"task {log.task} has no scores"
        raise InputError(message, "was it scored?", code="log-scores", file=str(log.path))
    several = len({kind for _, kind in usable}) > 1
    names = {key: ",".join(key) if several else key[0] for key in usable}
    wanted = [metric] if metric is not None else PREFERRED if len(usable) > 1 else [usable[0][0]]
    matching = [key for want in wanted for key in usable if want in (key[0], ",".join(key))]
    chosen = [key for key in matching if key[0] == matching[0][0]]
    if len(chosen) != 1:
        what = f"no score {metric!r}" if metric is not None and not chosen else "several scores"
        hint = f"name one with `score`: {listed([*names.values()], most=12)}"
        raise InputError(f"task {log.task} has {what}", hint, code="parameter", file=str(log.path))
    return chosen[0], names[chosen[0]]


def _problem_notes(problems: Mapping[str, Sequence[str]]) -> list[str]:
    """Return a note for each reason, with the first samples."""
    notes = []
    for problem, items in problems.items():
        names = list(dict.fromkeys(items))
        more = ", ..." if len(names) > MOST_NAMED else ""
        named = ", ".join(name[:40] for name in names[:MOST_NAMED])
        notes.append(f"left out: {counted(len(items), 'sample')} {problem} ({named}{more})")
    return notes


def _difference_from(
    log: ScoredLog, chosen: tuple[str, str], means: NDArray[np.float64], *, complete: bool
) -> list[str]:
    """Return why the mean of the scores is not the log's own."""
    stated = log.aggregates()
    own = stated.get(",".join(chosen), stated.get(chosen[0]))
    mean = float(means.mean())
    if own is None or abs(own - mean) <= AGREES:
        return []
    why = "the log leaves samples out" if complete else "the log counts samples that are left out here"
    return [
        f"{log.task}: the log states {chosen[0]} as {own:.6g}, and its {counted(len(means), 'sample')} have "
        f"the mean {mean:.6g}: {why}, or takes another mean"
    ]


def number_of(value: object) -> float | None:
    """Return a score as a number; None for anything else.

    Examples
    --------
    >>> number_of(True), number_of(0.5), number_of([1, 2])
    (1.0, 0.5, None)
    """
    return float(value) if isinstance(value, (bool, int, float)) else None


def score_of(value: object) -> float:
    """Return a score as a number; NaN for anything else, and for numbers that no float holds."""
    try:
        return float(value) if isinstance(value, (bool, int, float)) else float("nan")
    except OverflowError:
        return float("nan")


def cluster_of(fields: Mapping[str, Any], name: str | None) -> tuple[str | None, str]:
    """Return the value of a field that names a cluster, and the problem if there is none.

    Without a name there is neither.

    A name with dots, such as ``source.page``, is looked up in nested objects too.

    Examples
    --------
    >>> cluster_of({"passage": 7}, "passage"), cluster_of({"a": {"b": "x"}}, "a.b")
    (('7', ''), ('x', ''))
    >>> cluster_of({"passage": 7}, "page")
    (None, "without the field 'page' (there are: passage)")
    """
    if name is None:
        return None, ""
    value: Any = fields.get(name)
    if value is None:
        value = fields
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, (str, bool, int, float)) and value != "":
        return str(value), ""
    there = ", ".join(list(map(str, fields))[:12]) or "none"
    return None, f"{LACKING} {shown(name)} (there are: {there})"


def digest(value: object) -> int:
    """Return a number by which two texts are compared; 0 for no text."""
    return hash(value) or 1 if isinstance(value, str) and value else 0
