"""Logs as one long table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, cast

from calibrant.exceptions import InputError
from calibrant.io._logs_harness import NoOptionsError
from calibrant.io.batches import note_on_ties
from calibrant.io.log_formats import Log, LogKind, LogSettings, format_named, opened_logs
from calibrant.io.log_rows import COLUMNS, MOST_LEFT_OUT, Block, Normalise, View, first_of_largest
from calibrant.io.tables import Kind, listed

if TYPE_CHECKING:
    import pyarrow as pa

KEPT = 2_000_000  # options kept in memory, so that a log is parsed once


class LogTable:
    """One or several logs as a long table, with one row per option or one row per item.

    Parameters
    ----------
    path
        Path given by the user.
    kind
        Format that was detected.
    view
        ``"options"``: the class is the option, the label 1 if it is right. ``"top"``: the largest score of
        each item, and whether that option is right; the class is the right option.
    normalise, gold, scorer, allow_dropped
        As `calibrant.io.logs.open_log` has them.

    Attributes
    ----------
    models
        Names of the models, in order.
    notes
        Notes on what was left out; complete after the table was read.
    """

    first_row = 1
    rows: int | None = None
    metadata: Mapping[bytes, bytes] = {}

    def __init__(
        self,
        path: str | os.PathLike[str],
        kind: LogKind,
        *,
        view: View = "options",
        normalise: Normalise = "none",
        gold: Mapping[str, str] | None = None,
        scorer: str | None = None,
        allow_dropped: bool = False,
    ) -> None:
        self.name = os.fspath(path)
        self.kind = kind
        self.view: View = view
        self._allow_dropped = allow_dropped
        settings = LogSettings(normalise, gold, scorer)
        if not format_named(kind.format).probabilities:
            message = f"the log has scores and no probabilities ({kind.title})"
            hint = "compare runs with `calibrant compare`"
            raise NoOptionsError(message, hint, code="log-scores", file=self.name)
        unread: list[InputError] | None = list(kind.unread) if os.path.isdir(self.name) else None
        opened = cast("list[Log]", opened_logs(kind, settings, unread))
        if unread and not opened:
            raise unread[0]
        self._logs, self._notes = _newest(opened, self.name)
        self._notes += [_left_out_note(error) for error in unread or ()]
        self._blocks: list[list[Block] | None] = [None] * len(self._logs)
        self.models = list(dict.fromkeys(log.model for log in self._logs))
        repeats = any(getattr(log, "repeats", False) for log in self._logs)
        self.columns: tuple[str, ...] = (*COLUMNS, "cluster") if repeats else COLUMNS

    def of_model(self, model: str) -> LogTable:
        """Return the logs of one model alone.

        Raises
        ------
        InputError
            If there are no logs of the model.
        """
        if model not in self.models:
            hint = f"the models are {', '.join(self.models)}"
            raise InputError(f"there is no log of a model {model!r}", hint, code="parameter", file=self.name)
        new = self.seen_as(self.view)
        new._logs = [log for log in self._logs if log.model == model]
        new._blocks = [None] * len(new._logs)
        new._notes = [note for note in self._notes if note.endswith(f" of {model}.")]
        new.models = [model]
        return new

    def check_one_model(self, otherwise: str = "write a report, which shows models side by side") -> None:
        """Raise `InputError` where there are several models: together they are no model."""
        if len(self.models) > 1:
            message = f"the folder contains logs of {len(self.models)} models: {listed(self.models, most=5)}"
            hint = f"name the folder of one model, or {otherwise}"
            raise InputError(message, hint, code="parameter", file=self.name)

    @property
    def notes(self) -> list[str]:
        """Notes on what was left out, with reasons."""
        told = [note for log in self._logs for note in getattr(log, "notes", [])]
        return list(dict.fromkeys(self._notes + told))

    def seen_as(self, view: View) -> LogTable:
        """Return the same logs in another view; what has been parsed is not parsed again."""
        new = copy(self)
        new.view = view
        return new

    def tasks(self) -> dict[str, str]:
        """Return the task, and the subject if it has another name, of each item of one model."""
        return {
            item: task if subject in ("", task) else f"{task}: {subject}"
            for block in self._read()
            for item, task, subject in zip(block.item, block.task, block.subject, strict=True)
        }

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, task by task."""
        several, tied, items = len(self.models) > 1, 0, 0
        for block in self._read():
            if self.view == "top":
                tied, items = tied + first_of_largest(block.score, block.start)[1], items + len(block)
            rows = block.rows(self.view)
            if several:
                rows = _apart(rows)
            for start in range(0, rows.num_rows, size):
                yield rows.slice(start, size).select(list(columns))
        self._notes += note_on_ties(tied, items)

    def _read(self) -> Iterator[Block]:
        kept = 0
        unread: list[InputError] = []
        alone = len(self._logs) == 1
        for place, log in enumerate(self._logs):
            known = self._blocks[place]
            if known is not None:
                yield from known
                kept += sum(len(block.score) for block in known)
                continue
            held: list[Block] | None = []
            try:
                for block in log.blocks():
                    kept += len(block.score)
                    if kept > KEPT:
                        held = None
                    elif held is not None:
                        held.append(block)
                    yield block
            except InputError as error:
                if alone:
                    raise
                unread.append(error)
                self._notes.append(_left_out_note(error))
                held = []
            self._blocks[place] = held
        self._check_left_out()
        if len(unread) == len(self._logs):
            if not all(isinstance(error, NoOptionsError) for error in unread):
                raise unread[0]
            hint = "calibration needs the log-likelihoods of options"
            reasons = "; ".join(error.message for error in unread[:4])
            raise NoOptionsError(reasons, hint, code="log-scores", file=self.name)

    def _check_left_out(self) -> None:
        """Raise if many items are left out, or one with an answer: that may depend on the outcome."""
        logs = [log.left_out for log in self._logs if hasattr(log, "left_out")]
        lost, read = sum(log.counts.total() for log in logs), sum(log.read for log in logs)
        answered = next((log.answered for log in logs if log.answered is not None), None)
        few = answered is None and lost <= MOST_LEFT_OUT * (lost + read)
        if not lost or few or self._allow_dropped:
            return
        reasons = "; ".join(note for log in logs for note in log.notes())
        message = f"{lost:,} of {lost + read:,} {logs[0].unit}s would be dropped ({reasons})"
        if answered is not None:
            message += f", of which one has the answer {answered}"
        hint = "measure all that have an outcome, or allow it with `columns={'allow_dropped': ...}`"
        raise InputError(message, hint, code="log-scores", file=self.name)


def _left_out_note(error: InputError) -> str:
    """Return a note that names the file or task that was left out."""
    if isinstance(error, NoOptionsError):
        return f"Left out: {error.message}."
    where = "" if error.line is None else f", line {error.line}"
    return f"Left out: {Path(error.file or '').name}{where}: {error.message}."


def _apart(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Name the items of several models apart."""
    import pyarrow as pa
    from pyarrow import compute

    model = rows.column("model")
    columns = {
        name: compute.binary_join_element_wise(model, rows.column(name), ": ")
        if name in ("item", "cluster")
        else rows.column(name)
        for name in rows.schema.names
    }
    return pa.RecordBatch.from_arrays(list(columns.values()), list(columns))


def _newest(logs: Sequence[Log], name: str) -> tuple[list[Log], list[str]]:
    """Keep the newest run of each task of each model, and say which were left out."""
    newest: dict[tuple[str, str], Log] = {}
    notes = []
    for log in logs:
        key = (log.model, log.task)
        other = newest.get(key)
        if other is None:
            newest[key] = log
            continue
        if not log.date or not other.date or log.date == other.date:
            places = " and ".join(os.path.relpath(each.path, name) for each in (other, log))
            message = f"task {log.task} of {log.model} is in {places}"
            raise InputError(message, "keep one of them", code="duplicate", file=name)
        newest[key], older = (log, other) if log.date > other.date else (other, log)
        notes.append(f"Left out: {older.path.name}, an older run of {log.task} of {log.model}.")
    return list(newest.values()), notes
