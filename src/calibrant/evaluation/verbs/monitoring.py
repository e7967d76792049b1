"""Monitor the predictions in a table, window by window, and go on where the last run ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from calibrant import _checks
from calibrant._checks import Pairs, decoded
from calibrant.evaluation.files.timed import BY, WHOLE, timed, window_of, windows_of
from calibrant.evaluation.monitoring import CalibrationMonitor, MonitorState, Unit
from calibrant.evaluation.results.monitoring import Monitoring
from calibrant.exceptions import FormatError, InputError
from calibrant.io import Columns, Predictions, open_predictions
from calibrant.io.atomic import check_place, keep_sources
from calibrant.io.envelope import Envelope, Version
from calibrant.verbs.figures import figure_kind, save_figure
from calibrant.verbs.sources import pairs_of
from calibrant.verbs.tallying import one_view

MAKE = "name the file of an earlier run, or one that is not there yet"
LATE = "rows that came after their window was taken are not counted: "


class _Settings(Struct, frozen=True, forbid_unknown_fields=True):
    """What a run may not change when it goes on with a saved state."""

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
    """The monitor of a state, the settings of its runs, and the rows of each window."""

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
    columns: Columns | None = None,
) -> Monitoring:
    """Watch a stream of predictions for errors of calibration, with alarms that are seldom false.

    Parameters
    ----------
    source
        A table as `calibrant.verbs.measure` takes it, with a column of time. It is read into memory.
    time
        Name of that column: dates (YYYY-MM-DD, a time after it is left out) or time stamps. Where labels come
        late, the day on which they came.
    by
        ``day``, ``week``, ``month``, or ``value``: whole numbers or text, in their order.
    against
        ``calibrated``, or ``reference``: no worse than the rows up to ``reference``.
    reference
        The last day (with ``value``: the last value) of the reference period, which is not monitored.
    alpha, epsilon, unit, restart
        As in `calibrant.evaluation.CalibrationMonitor`; ``unit="day"`` and ``unit="dependent-day"`` take a
        window as one, however long it is.
    view
        ``binary``, ``class:NAME``, ``top`` or ``pooled`` (wide tables). May be left out for a table without
        classes.
    state
        File that keeps the monitor. If it is there, windows it has taken are passed over, and the others
        are taken in order; it is written at the end. Run it when a window is over.
    output
        A figure: a name that ends in ``.svg``, ``.pdf`` or ``.png``.
    width
        As in `calibrant.verbs.save_figure`.
    columns
        Names of columns that are called otherwise.

    Returns
    -------
    Monitoring
        All windows so far, those of earlier runs included.

    Raises
    ------
    InputError
        The table or a setting cannot be used, or differs from that of the state.
    FormatError
        The state is damaged.

    Examples
    --------
    >>> import pyarrow as pa
    >>> days = ["2026-11-20"] * 50 + ["2026-11-21"] * 50
    >>> table = pa.table({"score": [0.3] * 100, "label": [0, 1] * 50, "day": days})
    >>> found = monitor(table, time="day", unit="item")
    >>> [(row.day, row.n, row.alarm) for row in found.days]
    [('2026-11-20', 50, False), ('2026-11-21', 50, True)]
    """
    _checks.one_of(by, BY, "by")
    _checks.one_of(against, ("calibrated", "reference"), "against")
    if (against == "reference") != (reference is not None):
        hint = "give the last day of the reference period (`reference`)"
        hint = hint if reference is None else "compare with it (`against='reference'`)"
        raise InputError(f"the monitor is against {against}", hint, code="parameter")
    if output is not None:
        figure_kind(output)
    for place in (state, output):
        if place is not None:
            keep_sources(place, source)
            check_place(place)
    if state is not None and output is not None and Path(state).resolve() == Path(output).resolve():
        message, hint = "the state and the figure are one file", "name another (`output`)"
        raise InputError(message, hint, code="output", file=os.fspath(output))
    predictions = open_predictions(source, columns)
    name = one_view(view, predictions)
    until = None if reference is None else _until(reference, by)
    settings = _Settings(time, by, name, against, until, alpha, epsilon, cast(Unit, unit), bool(restart))
    table = _read(predictions, settings)
    watched, taken = _restored(state, settings) or (None, {})
    if watched is None:
        watched = _new(table, settings)
    late = _take(watched, table, taken)
    if state is not None:
        _save(state, settings, watched, taken)
    found = watched.result()
    if late:
        found = structs.replace(found, late_warning=LATE + ", ".join(late))
    if output is not None:
        from calibrant.evaluation.plots import evidence_over_time

        save_figure(evidence_over_time(found), output, width=width)
    return found


@dataclass(frozen=True)
class _Table:
    """The pairs of a view, their windows, and (against a reference) which rows are of the reference."""

    pairs: Pairs
    window: NDArray[np.int64]
    names: list[str | int]
    reference: NDArray[np.bool_]

    def windows(self) -> Iterator[tuple[str | int, NDArray[np.int64]]]:
        """Each window that is not of the reference, in order, with its rows."""
        rows = np.flatnonzero(~self.reference)
        rows = rows[np.argsort(self.window[rows], kind="stable")]
        ends = np.flatnonzero(np.diff(self.window[rows])) + 1
        for part in np.split(rows, ends):
            if len(part):
                yield self.names[self.window[part[0]]], part


def _read(predictions: Predictions, settings: _Settings) -> _Table:
    """Read the pairs of the view with their windows."""
    if settings.view in ("top", "pooled") and predictions.form == "long":
        hint = "write a wide table with one p_<class> column a class"
        message = f"a long table cannot be watched for {settings.view}"
        raise InputError(message, hint, code="view", file=predictions.name)
    found, first = timed(predictions, settings.time)
    batch = found.read(items=True)
    assert batch.item is not None
    item = batch.item
    if found.weighted:
        message = "a monitor takes no weights"
        raise InputError(message, "leave the column out", code="parameter", file=predictions.name)

    if settings.unit == "cluster" and not found.clustered:
        hint = "name the column of clusters (`cluster`), or take days (`unit='day'`)"
        message = "a monitor by cluster needs clusters"
        raise InputError(message, hint, code="cluster", file=predictions.name)

    def place(code: int) -> tuple[str, int, str]:
        return predictions.name, first + int(np.flatnonzero(item == code)[0]), settings.time

    times = found.items
    names = windows_of(times, settings.by, place)
    ordered = sorted(set(names), key=lambda name: (isinstance(name, str), name))
    rank = {name: number for number, name in enumerate(ordered)}
    old = np.zeros(len(times), np.bool_)
    if settings.until is not None:
        points = names if settings.by == "value" else [window_of(value, "day") for value in times]
        until = str(settings.until) if isinstance(points[0], str) else settings.until
        if type(points[0]) is not type(until):
            message = f"the reference ends at {until!r}, and the column holds {points[0]!r}"
            raise InputError(message, "give a value of the same kind", code="parameter")
        old = np.array([not _after(point, until) for point in points])
    code = np.array([rank[name] for name in names], np.int64)
    if settings.view.startswith("class:") and batch.class_code is not None:
        pairs = pairs_of(settings.view, batch, found)
        rows = (
            np.flatnonzero(batch.class_code == found.classes.index(settings.view[6:])) if len(pairs) else None
        )
    else:
        pairs, rows = pairs_of(settings.view, batch, found), np.arange(len(batch))
    if rows is None or not len(pairs):
        hint = f"the classes are {', '.join(found.classes[:12])}"
        raise InputError(f"view {settings.view} has no pairs", hint, code="class-unknown", file=found.name)
    item = np.repeat(item[rows], len(pairs) // len(rows))
    return _Table(pairs, code[item], ordered, old[item])


def _after(point: str | int, until: str | int) -> bool:
    if isinstance(point, int) and isinstance(until, int):
        return point > until
    return str(point) > str(until)


def _until(reference: str | int, by: str) -> str | int:
    if by != "value":
        return window_of(reference, "day")
    return int(reference) if isinstance(reference, str) and WHOLE.fullmatch(reference) else reference


def _new(table: _Table, settings: _Settings) -> CalibrationMonitor:
    """A monitor that has seen nothing but its reference."""
    arguments: dict[str, Any] = {
        "alpha": settings.alpha,
        "unit": settings.unit,
        "epsilon": settings.epsilon,
        "restart": settings.restart,
    }
    if settings.against == "calibrated":
        return CalibrationMonitor(**arguments)
    rows = np.flatnonzero(table.reference)
    if not len(rows):
        message = f"no row lies in the reference period, which ends at {settings.until}"
        raise InputError(message, "give a later day (`reference`)", code="empty")
    pairs = table.pairs
    return CalibrationMonitor.against_reference(
        pairs.outcome[rows],
        pairs.score[rows],
        days=table.window[rows],
        clusters=None if pairs.cluster is None else pairs.cluster[rows],
        **arguments,
    )


def _take(watched: CalibrationMonitor, table: _Table, taken: dict[str, int]) -> list[str]:
    """Give the monitor each window that it has not taken; return those with rows that came too late."""
    late = []
    days = watched.result().days
    last = days[-1].day if days else None
    pairs = table.pairs
    for name, rows in table.windows():
        if last is not None and (str(name) in taken or not _after(name, last)):
            more = len(rows) - taken.get(str(name), 0)
            if more > 0:
                late.append(f"{name} ({more:,})")
            continue
        clusters = None if pairs.cluster is None else pairs.cluster[rows]
        watched.update(name, pairs.outcome[rows], pairs.score[rows], clusters=clusters)
        taken[str(name)] = len(rows)
    return late


def _restored(
    state: str | os.PathLike[str] | None, settings: _Settings
) -> tuple[CalibrationMonitor, dict[str, int]] | None:
    """The monitor of an earlier run and the rows of each window it took; None if there was none."""
    if state is None or not Path(state).exists():
        return None
    name = os.fspath(state)
    watched, before, rows = opened(name)
    for key, value in structs.asdict(settings).items():
        made = getattr(before, key)
        if made != value:
            message = f"the state was made with {key} {made!r}, and {value!r} was given"
            hint = "give the same, or begin another state"
            raise InputError(message, hint, code="parameter", file=name)
    return watched, rows


def opened(name: str) -> tuple[CalibrationMonitor, _Settings, dict[str, int]]:
    """Read the monitor of a state, the settings of its runs, and the rows of each window."""
    saved = ENVELOPE.read(name)
    settings, monitor = saved.settings, saved.monitor
    for key in ("against", "alpha", "epsilon", "unit", "restart"):
        if getattr(monitor, key) != getattr(settings, key):
            raise ENVELOPE.damaged(name, f"$.monitor.{key}: not as in the settings")
    if saved.rows != {str(day.day): day.n for day in monitor.days}:
        raise ENVELOPE.damaged(name, "$.rows: not those of the monitor's windows")
    try:
        return CalibrationMonitor.from_state(monitor), settings, saved.rows
    except InputError as error:
        message = error.message.replace("$.", "$.monitor.", 1)
        raise FormatError(message, error.hint, code=error.code, file=name) from error


def _save(
    state: str | os.PathLike[str], settings: _Settings, watched: CalibrationMonitor, taken: dict[str, int]
) -> None:
    monitor = decoded(watched.to_state(), MonitorState)
    ENVELOPE.write(state, _File(ENVELOPE.version, settings, taken, monitor))
