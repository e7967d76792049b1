"""Monitor the predictions in a table, window by window, and continue from the state of the last run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import decoded
from calibrant.evaluation.files.timed import BY, WHOLE, RowStore, Windows, after, timed, window_of
from calibrant.evaluation.monitor_checks import order
from calibrant.evaluation.monitoring import CalibrationMonitor, MonitorState, Unit
from calibrant.evaluation.results.monitoring import MonitoredDay, Monitoring
from calibrant.exceptions import FormatError, InputError
from calibrant.io import Columns, Predictions, open_predictions
from calibrant.io.atomic import check_place, keep_sources, locked
from calibrant.io.envelope import Envelope, Version
from calibrant.verbs.figures import figure_kind, save_figure
from calibrant.verbs.sources import CLASS, pairs_of
from calibrant.verbs.tallying import one_view

MAKE = "name the state file of an earlier run, or a new file"
UNLABELED = (
    "rows left out because they have no label: {:,}. Labels that arrive after their window was counted are "
    "ignored: use the day of their arrival as time, or add a window when all its labels are known"
)
LATE = "rows that arrived after their window was counted are ignored: "


class _Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """Settings that a run with a saved state cannot change."""

    time: str
    by: str
    view: str
    against: str
    until: str | int | None
    alpha: float
    epsilon: float
    unit: Unit
    restart: bool


class _File(Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="calibrant monitor"):
    """State of a monitor: the monitor, the settings of its runs, and the rows of each window."""

    schema_version: Version
    settings: _Settings
    rows: dict[str, int]
    monitor: MonitorState
    checksum: str = ""


ENVELOPE = Envelope(_File, 2, "state of a monitor", MAKE, "go back to an earlier state", oldest=2)


def monitor(
    source: Any,
    *,
    time: str,
    by: str = "day",
    against: str = "calibrated",
    reference: str | int | None = None,
    alpha: float = 0.01,
    epsilon: float = 0.0,
    unit: str = "day",
    restart: bool = False,
    view: str | None = None,
    state: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    width: float | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
) -> Monitoring:
    """Monitor a stream of predictions for calibration errors, with a bounded probability of a false alarm.

    Parameters
    ----------
    source
        A table as `calibrant.verbs.measure` takes it, with a column of time. It is read once, batch
        by batch; one window at a time, and the reference, is held in memory whole (with ``unit="item"`` also
        the names of all items).
    time
        Column of dates (YYYY-MM-DD; a time after the date is ignored) or time stamps at which the labels
        arrived. Rows without a label are counted and left out.
    by
        Windows of time. ``value``: each value of the column, in the order of numbers or text (v2 before v10).
    against
        Null hypothesis: scores are calibrated, or errors are as in the reference period.
    reference
        Last day (with ``value``: last value) of the reference period, which is not monitored.
    alpha
        Bound on the probability of any false alarm. With `restart`: false alarms are on average at least 1 /
        alpha windows apart.
    epsilon
        Largest mean error that is tolerated.
    unit
        Units that are independent given the past. ``day``: the labels of one window may depend on each other.
        ``cluster``, ``item``: detect a change much sooner, if the assumption is true. ``dependent-day``: no
        unit is independent; errors may persist for days.
    restart
        Start again after each alarm.
    view
        View to monitor: ``binary`` or ``class:NAME``; for a wide table also ``top`` or ``pooled``. None: the
        only view of a table without classes.
    state
        Keep the state of the monitor in this file, written at the end; a later run skips the windows in this
        state. Run the monitor after the end of a window.
    output
        Path of a figure that ends in ``.svg``, ``.pdf`` or ``.png``; None: no figure.
    width
        As in `calibrant.verbs.save_figure`.
    columns
        Names of columns that differ from the defaults, such as ``{'score': 'p'}``.

    Returns
    -------
    Monitoring
        Result for all windows so far, including those of earlier runs.

    Raises
    ------
    InputError
        The table or a setting cannot be used, or a setting differs from the setting in the state.
    FormatError
        The state file is damaged.

    Examples
    --------
    >>> import pyarrow as pa
    >>> days = ["2026-11-20"] * 50 + ["2026-11-21"] * 50
    >>> table = pa.table({"score": [0.3] * 100, "label": [0, 1] * 50, "day": days})
    >>> record = monitor(table, time="day", unit="item")
    >>> [(row.day, row.n, row.alarm) for row in record.days]
    [('2026-11-20', 50, False), ('2026-11-21', 50, True)]
    """
    _checks.one_of(by, BY, "by")
    _checks.one_of(against, ("calibrated", "reference"), "against")
    if (against == "reference") != (reference is not None):
        given, hint = "but no reference period is given", "give its last day (`reference`)"
        if reference is not None:
            given, hint = "but a reference period is given", "compare with it (`against='reference'`)"
        raise InputError(f"against is {against!r}, {given}", hint, code="parameter")
    if output is not None:
        figure_kind(output)
    for place in (state, output):
        if place is not None:
            keep_sources(place, source)
            check_place(place)
    if state is not None and output is not None and Path(state).resolve() == Path(output).resolve():
        message = "the state and the figure have the same path"
        hint = "name another file for the figure (`output`)"
        raise InputError(message, hint, code="output", file=os.fspath(output))
    predictions = open_predictions(source, columns)
    name = one_view(view, predictions)
    until = None if reference is None else _until(reference, by)
    settings = _Settings(time, by, name, against, until, alpha, epsilon, cast(Unit, unit), bool(restart))
    with RowStore() as stored, _kept(state):
        table = _read(predictions, settings, stored)
        watched = _restored(state, settings) or _new(table, settings)
        late = _take(watched, table)
        record = structs.replace(watched.result(), late_warning=late, unlabeled_warning=table.warning)
        if not (table.names or record.days):
            raise InputError("no row has a label", "run the monitor when labels have arrived", code="empty")
        if state is not None:
            _save(state, settings, watched)
    if output is not None:
        from calibrant.evaluation.plots import evidence_over_time

        save_figure(evidence_over_time(record), output, width=width)
    return record


@dataclass(frozen=True)
class _Table:
    """Pairs of a view by window, the windows of the reference, and a warning of rows without a label."""

    stored: RowStore
    names: list[str | int]
    old: list[bool]
    warning: str | None
    single: bool  # if each row must be another item

    def windows(self) -> Iterator[tuple[str | int, list[int]]]:
        """Yield each window outside the reference, in order, with its numbers in the store."""
        numbers_of: dict[str | int, list[int]] = {}
        for number, name in enumerate(self.names):
            if not self.old[number] and number in self.stored.counts:
                numbers_of.setdefault(name, []).append(number)
        yield from sorted(numbers_of.items(), key=lambda item: order(item[0]))

    def rows(self, numbers: list[int]) -> dict[str, NDArray[Any]]:
        """Return the rows of some windows in the order of the table, with the number of their window."""
        parts = [self.stored.read(number) for number in numbers]
        rows = np.concatenate(parts)
        columns = {name: np.ascontiguousarray(rows[name]) for name in rows.dtype.names or ()}
        names = sorted({self.names[number] for number in numbers}, key=order)
        rank = {name: place for place, name in enumerate(names)}
        windows = [rank[self.names[number]] for number in numbers]
        columns["window"] = np.repeat(windows, [len(part) for part in parts])
        if len(numbers) > 1 and "row" in columns:
            by_row = np.argsort(columns["row"], kind="stable")
            columns = {name: values[by_row] for name, values in columns.items()}
        return columns


def _read(predictions: Predictions, settings: _Settings, stored: RowStore) -> _Table:
    """Store the pairs of the view by their windows, in one pass."""
    _check(predictions, settings)
    single = settings.unit == "item" and settings.view != "pooled" and not predictions.clustered
    clustered = single or settings.unit == "cluster"
    stream, labeled = timed(predictions, settings.time, settings.by, items=clustered)
    windows = Windows(settings.by, settings.until, labeled.place)
    seen = 0
    for batch in stream.batches(items=True):
        assert batch.item is not None
        number = windows.numbers(stream.items, batch.item, seen)
        batch = replace(batch, item=None)  # which is the time
        pairs, rows = pairs_of(settings.view, batch, stream, seen), np.arange(len(batch))
        if settings.view.startswith(CLASS) and batch.class_code is not None:
            name = settings.view.removeprefix(CLASS)
            code = stream.classes.index(name) if name in stream.classes else -1
            rows = np.flatnonzero(batch.class_code == code)
        if len(pairs):
            per_row = len(pairs) // len(rows)
            columns = {"score": pairs.score, "outcome": pairs.label}
            if pairs.cluster is not None:
                columns["cluster"] = pairs.cluster
            if settings.until is not None:
                columns["row"] = np.repeat(seen + rows, per_row)
            stored.add(np.repeat(number[rows], per_row), columns)
        seen += len(batch)
    names, old = windows.names()
    if seen and not stored.counts:
        hint = f"the classes are {', '.join(stream.classes[:12])}"
        raise InputError(f"view {settings.view} has no pairs", hint, code="class-unknown", file=stream.name)
    unlabeled = sum(map(len, labeled.unlabeled))
    return _Table(stored, names, old, UNLABELED.format(unlabeled) if unlabeled else None, single)


def _check(predictions: Predictions, settings: _Settings) -> None:
    predictions.check_one_model()
    predictions.check_one_cluster("a monitor")
    if settings.view in ("top", "pooled") and predictions.form == "long":
        hint = "write a wide table with one p_<class> column per class"
        message = f"a long table cannot be monitored for {settings.view}"
        raise InputError(message, hint, code="view", file=predictions.name)
    if predictions.form == "wide" and predictions.threshold is not None:
        hint = "write the table without a threshold"
        message = f"scores below {predictions.threshold:g} were dropped, but a monitor needs all scores"
        raise InputError(message, hint, code="threshold", file=predictions.name)
    if predictions.weighted:
        hint = "remove or rename the column of weights; if rows were sampled by label, monitor all rows"
        message = "a monitor does not use weights, so each row counts once"
        raise InputError(message, hint, code="parameter", file=predictions.name)
    if settings.unit == "cluster" and not (predictions.clustered or predictions.has_items):
        hint = (
            "name the column of clusters or items (`columns={'cluster': ...}`), or use days as units "
            "(`unit='day'`)"
        )
        message = "a monitor by cluster needs clusters"
        raise InputError(message, hint, code="cluster", file=predictions.name)


def _until(reference: str | int, by: str) -> str | int:
    if by != "value":
        return window_of(reference, "day")
    return int(reference) if isinstance(reference, str) and WHOLE.fullmatch(reference) else reference


def _new(table: _Table, settings: _Settings) -> CalibrationMonitor:
    """Return a monitor that has seen only its reference."""
    if settings.against == "calibrated":
        return CalibrationMonitor(
            alpha=settings.alpha, unit=settings.unit, epsilon=settings.epsilon, restart=settings.restart
        )
    numbers = [number for number, old in enumerate(table.old) if old and number in table.stored.counts]
    if not numbers:
        message = f"no labeled row is in the reference period, which ends at {settings.until}"
        raise InputError(message, "give a later day (`reference`)", code="empty")
    rows = table.rows(numbers)
    return CalibrationMonitor.against_reference(
        rows["outcome"],
        rows["score"],
        days=rows["window"],
        clusters=None if table.single else rows.get("cluster"),
        alpha=settings.alpha,
        unit=settings.unit,
        epsilon=settings.epsilon,
        restart=settings.restart,
    )


def _take(watched: CalibrationMonitor, table: _Table) -> str | None:
    """Pass new windows to the monitor; return a warning of windows with rows that arrived too late."""
    late = []
    days = watched.result().days
    counted = {str(day.day): day for day in days}
    for name, numbers in table.windows():
        count = sum(table.stored.counts[number] for number in numbers)
        day = counted.get(str(name))
        if days and (day is not None or not after(name, days[-1].day)):
            more = count - (day.n if day else 0)
            if more > 0 or day is None:
                late.append(f"{name} ({'at least ' if day else ''}{more:,})")
            elif more < 0 or not _same(day, table.rows(numbers)):
                late.append(f"{name} ({count:,}, unless they are among the {day.n:,} counted)")
            continue
        rows = table.rows(numbers)
        items = len(np.unique(rows["cluster"])) if table.single and "cluster" in rows else count
        if items < count:
            message = f"{count:,} rows of {name} are of only {items:,} items, and the monitor counts each row"
            hint = "remove the copies, or use items as clusters (`unit='cluster'`)"
            raise InputError(message, hint, code="duplicate")
        clusters = None if table.single else rows.get("cluster")
        watched.update(name, rows["outcome"], rows["score"], clusters=clusters)
    return LATE + ", ".join(late) if late else None


def _same(day: MonitoredDay, rows: dict[str, NDArray[Any]]) -> bool:
    """Return True if the rows have the sums of those of the window that were counted."""
    differences = [rows["score"].mean(dtype=np.float64) - day.score, rows["outcome"].mean() - day.frequency]
    return bool(np.abs(differences).max() < 1e-9)


def _kept(state: str | os.PathLike[str] | None) -> AbstractContextManager[object]:
    """Lock a state from before it is read until after it is written."""
    if state is None or (Path(state).exists() and not Path(state).is_file()):
        return nullcontext()
    place = Path(state).resolve()
    message, hint = f"another run writes the state {place.name}", "run this again when it has ended"
    # Two runs that read the same state would each write it without the other's windows.
    return locked(place.with_name(f".{place.name}.lock"), message, hint)


def _restored(state: str | os.PathLike[str] | None, settings: _Settings) -> CalibrationMonitor | None:
    """Return the monitor of an earlier run; None without such a run."""
    if state is None or not Path(state).exists():
        return None
    name = os.fspath(state)
    watched, before = opened(name)
    for key, value in structs.asdict(settings).items():
        made = getattr(before, key)
        if made != value:
            message = f"the state was made with {key} {made!r}, and {value!r} was given"
            hint = "give the same value, or start a new state file"
            raise InputError(message, hint, code="parameter", file=name)
    return watched


def opened(name: str) -> tuple[CalibrationMonitor, _Settings]:
    """Read a state: the monitor and the settings of its runs."""
    saved = ENVELOPE.read(name)
    settings, monitor = saved.settings, saved.monitor
    for key in ("against", "alpha", "epsilon", "unit", "restart"):
        if getattr(monitor, key) != getattr(settings, key):
            raise ENVELOPE.damaged(name, f"$.monitor.{key}: not as in the settings")
    if saved.rows != {str(day.day): day.n for day in monitor.days}:
        raise ENVELOPE.damaged(name, "$.rows: the windows differ from the monitor's")
    try:
        return CalibrationMonitor.from_state(monitor), settings
    except InputError as error:
        message = error.message.replace("$.", "$.monitor.", 1)
        raise FormatError(message, error.hint, code=error.code, file=name) from error


def _save(state: str | os.PathLike[str], settings: _Settings, watched: CalibrationMonitor) -> None:
    monitor = decoded(watched.to_state(), MonitorState)
    rows = {str(day.day): day.n for day in monitor.days}
    ENVELOPE.write(state, _File(ENVELOPE.version, settings, rows, monitor))
