"""Compare runs: scores from logs, or from a table with several tasks or several runs of an item."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import Floats
from calibrant.evaluation.results.runs import RunComparison
from calibrant.evaluation.runs import TaskTable, compare_tasks, items_note
from calibrant.exceptions import InputError
from calibrant.io import open_predictions
from calibrant.io.log_formats import recognise_logs
from calibrant.io.log_scores import TaskScores, read_log_scores
from calibrant.io.roles import FoundColumns, Role, open_table, read_table
from calibrant.records.words import counted

METRICS = ("accuracy", "brier", "log-loss")  # of tables of predictions
RUNS = ("run", "epoch")  # columns that number the runs of an item
Scores = Mapping[str, Mapping[str, Mapping[str, Sequence[float]]]]  # by task, system and item: one a run


def is_run(source: Any) -> bool:
    """Return True if a source is a log or a folder of logs."""
    if not isinstance(source, (str, os.PathLike)):
        return False
    try:
        return bool(recognise_logs(source))
    except InputError as error:
        return error.code == "log" or Path(source).is_dir()


def compare_logs(
    sources: Sequence[Any],
    metric: str | None,
    cluster: str | None,
    gold: str | os.PathLike[str] | None = None,
    **settings: Any,
) -> RunComparison:
    """Compare the runs of logs, one or several models each; items are matched by task and name.

    With ``cluster``, a field of the samples names their cluster within their task; ``gold`` is a file with
    right answers.
    """
    runs: list[tuple[str, TaskScores]] = []
    notes: list[str] = []
    for source in sources:
        if isinstance(source, (str, os.PathLike)) and not Path(source).exists():
            raise InputError("no such file", "check the path", code="file-missing", file=os.fspath(source))
        if not is_run(source):
            message = "a table is given beside a log"
            hint = "compare logs with logs, and tables of predictions with tables of predictions"
            raise InputError(message, hint, code="log", file=str(source))
        read = read_log_scores(source, metric, cluster, gold=gold)
        runs += [(os.fspath(source), task) for task in read.tasks]
        notes += read.notes if len(sources) == 1 else [f"{os.fspath(source)}: {note}" for note in read.notes]
    names = _names(runs, sources)
    scores: dict[str, dict[str, dict[str, Sequence[float]]]] = {}
    metrics: dict[str, str] = {}
    clusters: dict[str, dict[str, str]] = {}
    contents: dict[str, dict[str, int]] = {}
    prompts: dict[str, dict[str, int]] = {}
    other_metrics: list[InputError] = []
    other_prompts: Counter[str] = Counter()
    other_questions: list[str] = []
    other_clusters: list[str] = []
    for (file, task), name in zip(runs, names, strict=True):
        if metrics.setdefault(task.task, task.metric) != task.metric:
            first = metrics[task.task]
            message = f"task {task.task} has {task.metric} here and {first} in another log"
            other_metrics.append(InputError(message, "name one with `score`", code="parameter", file=file))
            notes.append(f"left out: {task.task} of {name}, whose score is {task.metric}, not {first}")
            continue
        own = scores.setdefault(task.task, {}).setdefault(name, {})
        known, asked = contents.setdefault(task.task, {}), prompts.setdefault(task.task, {})
        for place, (item, values) in enumerate(task.values.items()):
            content, prompt = int(task.contents[place]), int(task.prompts[place])
            if content and known.setdefault(item, content) != content:
                other_questions.append(f"{task.task}/{item}")
                continue
            if task.clusters is not None:
                group = f"{task.task}/{task.clusters[place]}"
                if clusters.setdefault(task.task, {}).setdefault(item, group) != group:
                    other_clusters.append(f"{task.task}/{item}")
                    continue
            if prompt and asked.setdefault(item, prompt) != prompt:
                other_prompts[task.task] += 1
            own[item] = values
    notes += [
        note if len({*names}) == 1 else f"{name}: {note}"
        for (_, task), name in zip(runs, names, strict=True)
        for note in task.notes
    ]
    notes += [
        f"{task}: {counted(count, 'sample')} asked with another prompt"
        for task, count in other_prompts.items()
    ]
    for what, samples in (("question", other_questions), ("cluster", other_clusters)):
        if samples:
            notes.append(
                f"left out, since other logs have another {what} under the name: "
                f"{counted(len(samples), 'sample')} ({', '.join(samples[:3])})"
            )
    try:
        return _compared(scores, metrics, clusters, notes, **settings)
    except InputError as error:
        if other_metrics and error.code == "empty":
            raise other_metrics[0] from None
        raise


def compare_predictions(
    sources: Sequence[Any],
    metric: str | None,
    *,
    item: str | None,
    cluster: str | None,
    **settings: Any,
) -> RunComparison:
    """Compare tables of predictions, one per system, by accuracy, Brier score or log loss of the same items.

    Without a column of items, rows are paired in their order, if their number and all labels are equal.
    """
    metric = metric or "accuracy"
    _checks.one_of(metric, METRICS, "score")
    columns = {part: name for part, name in (("item", item), ("cluster", cluster)) if name is not None}
    tables = [_read_predictions(source, columns, metric) for source in sources]
    systems = [table.name for table in tables]
    if len({*systems}) < len(systems):
        ends = _told_apart([os.fspath(s) if isinstance(s, (str, os.PathLike)) else "" for s in sources])
        systems = [ends.get(str(s), f"table {place}") for place, s in enumerate(sources, 1)]
    if len({*systems}) < len(systems):
        raise InputError("a file is given twice", "name each file once", code="parameter", file=systems[0])
    first = tables[0]
    for table in tables[1:]:
        if (table.items is None) != (first.items is None):
            message = f"it has {'no ' if table.items is None else 'a '}column of items, unlike {first.name}"
            raise InputError(
                message, "name the column of items (`item`) in all", code="column-missing", file=table.name
            )
        if (table.clusters is None) != (first.clusters is None):
            message = (
                f"it has {'no ' if table.clusters is None else 'a '}column of clusters, unlike {first.name}"
            )
            raise InputError(
                message, "give all tables the same clusters", code="column-missing", file=table.name
            )
        if table.items is None and not np.array_equal(table.truth, first.truth):
            message = f"its rows differ from those of {first.name} in number or labels"
            hint = "add a column of items, so that rows are paired by name"
            raise InputError(message, hint, code="label-value", file=table.name)
    names = [
        np.arange(len(table.values)).astype(str) if table.items is None else table.items for table in tables
    ]
    known, codes = np.unique(np.concatenate(names), return_inverse=True)
    values = np.full((len(tables), len(known)), np.nan)
    truth = np.empty(len(known), object)
    clusters = None if first.clusters is None else np.empty(len(known), object)
    met = np.zeros(len(known), bool)  # items of the tables so far
    starts = np.cumsum([0, *map(len, names)])
    for place, table in enumerate(tables):
        own = codes[starts[place] : starts[place + 1]]
        for what, kept, given in (("label", truth, table.truth), ("cluster", clusters, table.clusters)):
            if kept is None or given is None:
                continue
            differ = np.flatnonzero(met[own] & (kept[own] != given))
            if len(differ):
                message = f"item {known[own[differ[0]]]} has {what} {given[differ[0]]} here, and"
                message += f" {kept[own[differ[0]]]} in another table"
                raise InputError(message, "correct the tables", code="label-value", file=table.name)
            kept[own] = given
        met[own] = True
        values[place, own] = table.values
    lacking = [[str(name) for name in known[np.isnan(row)]] for row in values]
    runs = (~np.isnan(values)).astype(np.int64)
    right = metric == "accuracy"
    return compare_tasks(
        systems,
        [TaskTable("all", metric, values, runs, clusters, None, right)],
        higher_is_better=right,
        metric=metric,
        notes=[f"{metric} of rows paired {'in their order' if first.items is None else 'by item'}"],
        warning=items_note(systems, lacking),
        **settings,
    )


@dataclass(frozen=True)
class _Scored:
    """Scores of the rows of a table of predictions, with their gold labels, items and clusters."""

    name: str
    values: Floats
    truth: NDArray[Any]
    items: NDArray[Any] | None
    clusters: NDArray[Any] | None


def _read_predictions(source: Any, columns: Mapping[str, str], metric: str) -> _Scored:
    predictions = open_predictions(source, columns or None)
    predictions.check_one_model()
    predictions.check_one_cluster("a comparison")
    name = predictions.name
    if predictions.weighted:
        raise InputError("rows have weights", "remove the column of weights", code="view", file=name)
    if predictions.is_long_with_classes:
        hint = "write one row per item: `calibrant convert --to wide`"
        raise InputError("an item has one row per class", hint, code="view", file=name)
    batch = predictions.read(items=True)
    score = batch.score.astype(np.float64)
    rows = np.arange(len(score))
    if predictions.form == "wide":
        right = score.argmax(1) == batch.label
        hit = np.zeros(score.shape)
        known = batch.label >= 0
        hit[rows[known], batch.label[known]] = 1.0
        loss = ((score - hit) ** 2).sum(1) + ~known
        given = (score * hit).sum(1)  # to what happened
        truth = np.array([*predictions.classes, "none of its classes"], object)[batch.label]
    else:
        # A row with the column `prediction` is an answer, whose label is whether it is right.
        right = batch.label if predictions.answers else (score >= 0.5) == batch.label
        loss = (score - batch.label) ** 2
        given = np.where(batch.label, score, 1 - score)
        truth = np.full(len(score), None, object) if predictions.answers else batch.label.astype(object)
    items = None if batch.item is None else np.array(predictions.items, object)[batch.item].astype(str)
    if items is not None and len(np.unique(items)) < len(items):
        first = np.unique(items, return_index=True)[1]
        twice = np.setdiff1d(rows, first)[0]
        message = f"item {items[twice]} has two rows"
        raise InputError(
            message, "give each row its own item", code="duplicate", file=name, row=int(twice) + 1
        )
    clusters = None if batch.cluster is None else np.array(predictions.clusters, object)[batch.cluster]
    if metric == "log-loss":
        if not given.all():
            row = int(np.flatnonzero(given == 0)[0]) + 1
            message = "the probability of what happened is 0, so the log loss is infinite"
            raise InputError(message, "compare by `brier`", code="score-range", file=name, row=row)
        loss = -np.log(given)
    values = right.astype(np.float64) if metric == "accuracy" else loss
    return _Scored(Path(name).name, values, truth, items, clusters)


def compare_table(
    source: Any,
    *,
    system: str,
    item: str | None,
    score: str,
    task: str | None,
    run: str | None,
    cluster: str | None,
    always: bool = False,
    **settings: Any,
) -> RunComparison | None:
    """Compare the systems of a table with tasks or runs; None if it has neither, unless ``always``."""
    table = open_table(source)
    run = run or next((name for name in RUNS if name in table.columns), None)
    if task is None and "task" in table.columns:
        task = "task"
    plain = (task is None and run is None) or (item is None and "item" not in table.columns)
    if plain and not always:
        return None
    roles = [Role("system", column=system), Role("item", column=item), Role("score", "finite", score)]
    roles += [Role("task", column=task)] * (task is not None) + [Role("run", column=run)] * (run is not None)
    roles.append(Role("cluster", column=cluster, needed=False))
    columns = read_table(table, roles)
    scores, clusters = _by_task(columns)
    return _compared(scores, dict.fromkeys(scores, score), clusters, [], **settings)


def _by_task(columns: FoundColumns) -> tuple[Scores, dict[str, dict[str, str]]]:
    """Return the scores of a table by task, system and item, and the cluster of each item of a task."""
    parts = {
        part: columns.texts(part) for part in ("system", "item", "task", "run", "cluster") if part in columns
    }
    scores: dict[str, dict[str, dict[str, list[float]]]] = {}
    clusters: dict[str, dict[str, str]] = {}
    seen: set[tuple[str, ...]] = set()
    tasks = parts.get("task", np.full(len(parts["item"]), "all"))
    for row, (task, system, item, value) in enumerate(
        zip(tasks, parts["system"], parts["item"], columns["score"].tolist(), strict=True)
    ):
        key = (task, system, item, *([parts["run"][row]] if "run" in parts else []))
        if key in seen:
            of = f", run {parts['run'][row]}" if "run" in parts else ""
            message = f"{system} has two scores for item {item}{of}"
            raise columns.error(row, message, "name the column of runs with `run`", "duplicate")
        seen.add(key)
        scores.setdefault(task, {}).setdefault(system, {}).setdefault(item, []).append(value)
        if "cluster" in parts:
            own = str(parts["cluster"][row])
            if clusters.setdefault(task, {}).setdefault(item, own) != own:
                message = f"item {item} is in two clusters"
                raise columns.error(row, message, "write one cluster per item", "cluster", part="cluster")
    return scores, clusters


def _compared(
    scores: Scores,
    metrics: Mapping[str, str],
    clusters: Mapping[str, Mapping[str, str]],
    notes: Iterable[str],
    compute: Callable[..., Any] = compare_tasks,
    **settings: Any,
) -> RunComparison:
    """Compare on the tasks that all systems have, or pass them to ``compute``; the others are named."""
    systems = list(dict.fromkeys(system for by_system in scores.values() for system in by_system))
    if len(systems) < 2 and compute is compare_tasks:
        message = f"there is one system, {systems[0]}, and nothing to compare it with"
        raise InputError(message, "add the log or the rows of another system", code="empty")
    common = [task for task, by_system in scores.items() if len(by_system) == len(systems)]
    if not common:
        ran = {system: [task for task in scores if system in scores[task]] for system in systems}
        shown = "; ".join(
            f"{system}: {', '.join(ran[system][:3])}"
            + (len(ran[system]) > 3) * f" and {len(ran[system]) - 3} more"
            for system in sorted(systems, key=lambda system: len(ran[system]))[:3]
        )
        hint = "compare runs of the same tasks, or leave out the systems that ran few of them"
        raise InputError(f"no task was run by all systems ({shown})", hint, code="empty")
    told = [
        *notes,
        *(
            f"task {task} was not run by all systems, and is left out"
            for task in scores
            if task not in common
        ),
    ]
    tables: list[TaskTable] = []
    lacking: list[list[str]] = [[] for _ in systems]
    for task in common:
        items = list(dict.fromkeys(item for system in systems for item in scores[task].get(system, {})))
        values = np.full((len(systems), len(items)), np.nan)
        variances = np.full((len(systems), len(items)), np.nan)
        runs = np.zeros((len(systems), len(items)), np.int64)
        for place, system in enumerate(systems):
            own = scores[task][system]
            for number, item in enumerate(items):
                if item not in own:
                    lacking[place].append(f"{task}/{item}")
                    continue
                runs[place, number] = len(own[item])
                if len(own[item]) == 1:
                    values[place, number] = own[item][0]
                else:
                    values[place, number] = np.mean(own[item])
                    variances[place, number] = np.var(own[item], ddof=1)
        named = clusters.get(task)
        codes = None if named is None else np.array([named[item] for item in items], object)
        binary = all(
            score in (0, 1) for by_item in scores[task].values() for own in by_item.values() for score in own
        )
        tables.append(TaskTable(task, metrics[task], values, runs, codes, variances, binary))
    warning = items_note(systems, lacking)
    compared: RunComparison = compute(systems, tables, notes=told, warning=warning, **settings)
    return compared


def _names(runs: Sequence[tuple[str, TaskScores]], sources: Sequence[Any]) -> list[str]:
    """Return the system of each task's scores: its model, or its file if a model is in two files."""
    files: dict[str, set[str]] = {}
    for file, task in runs:
        files.setdefault(task.model, set()).add(file)
    called = _told_apart([os.fspath(source) for source in sources])
    twice = any(len(own) > 1 for own in files.values())
    several = {file for file, _ in runs if len({task.model for other, task in runs if other == file}) > 1}
    return [
        task.model if not twice else f"{called[file]}: {task.model}" if file in several else called[file]
        for file, task in runs
    ]


def _told_apart(files: Sequence[str]) -> dict[str, str]:
    """Return the shortest ends of paths that differ."""
    for parts in range(1, max(len(Path(file).parts) for file in files)):
        ends = [str(Path(*Path(file).parts[-parts:])) for file in files]
        if len({*ends}) == len(files):
            return dict(zip(files, ends, strict=True))
    return {file: file for file in files}
