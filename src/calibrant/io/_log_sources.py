"""Which log a path is, told by its content, and the log as a long table."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from calibrant.exceptions import FormatError, InputError
from calibrant.io._log_rows import COLUMNS, Block, Normalise, View
from calibrant.io._log_text import lines, opened, whole
from calibrant.io._logs_harness import NAME, HarnessLog, NoOptionsError
from calibrant.io._logs_inspect import InspectLog
from calibrant.io._logs_openai import AnswerLog, response_of
from calibrant.io._tables import Kind, listed

if TYPE_CHECKING:
    import pyarrow as pa

Format = Literal["lm-eval", "inspect", "openai"]
TITLES: dict[Format, str] = {
    "lm-eval": "samples of lm-evaluation-harness (samples_TASK_DATE.jsonl)",
    "inspect": "a log of inspect_ai (.eval or .json)",
    "openai": "responses in OpenAI's format (.jsonl)",
}
KNOWN = "; ".join(TITLES.values())
ENDINGS = (".jsonl", ".jsonl.gz", ".eval", ".json")
MOST_FILES = 20_000
HEAD = 1 << 16
KEPT = 2_000_000  # options kept in memory, so that a log is parsed once


@dataclass(frozen=True)
class LogKind:
    """What a path was recognised as.

    Attributes
    ----------
    format
        ``lm-eval``, ``inspect`` or ``openai``.
    files
        The files to read; of a folder, all of its logs.
    """

    format: Format
    files: tuple[Path, ...]

    @property
    def title(self) -> str:
        """The format in words."""
        return TITLES[self.format]


class Log(Protocol):
    """One file of a log: a task of one model."""

    path: Path
    task: str
    date: str

    @property
    def model(self) -> str:
        """The model's name."""

    def blocks(self) -> Iterator[Block]:
        """Read its items."""


def recognise_log(path: object) -> LogKind | None:
    """Recognise a log by its content; None for anything else, such as a prediction table.

    Parameters
    ----------
    path
        A file, or a folder of logs (searched with its subfolders).

    Raises
    ------
    FormatError
        A folder without logs, or with logs of two formats; the results of a run without its samples.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "answers.jsonl")
    ...     _ = file.write_text('{"choices": [], "answer": "A"}')
    ...     recognise_log(file).format
    'openai'
    """
    if not isinstance(path, (str, os.PathLike)) or os.fspath(path) == "-":
        return None
    file = Path(path)
    if file.is_dir():
        return None if (file / "state.json").exists() else _in_folder(file)
    if not file.is_file():
        return None
    found = _format_of(file)
    return None if found is None else LogKind(found, (file,))


def _in_folder(folder: Path) -> LogKind:
    files = list(islice((each for each in folder.rglob("*") if each.is_file()), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        message = f"more than {MOST_FILES:,} files"
        raise InputError(message, "name a folder with logs alone", code="log", file=str(folder))
    candidates = sorted(each for each in files if each.name.endswith(ENDINGS))
    found: dict[Format, list[Path]] = {}
    for each in candidates:
        kind = None if each.suffix == ".json" and not _is_inspect(each) else _format_of(each)
        if kind is not None:
            found.setdefault(kind, []).append(each)
    if len(found) > 1:
        both = " and ".join(TITLES[kind] for kind in found)
        raise FormatError(f"logs of two formats: {both}", "name one file", code="log", file=str(folder))
    if not found:
        seen = ", ".join(each.name for each in sorted(files)[:6]) or "nothing"
        message = f"this is a folder without logs, it has {seen}"
        hint = f"name a file; known logs are {KNOWN}"
        raise InputError(message, hint, code="file-missing", file=str(folder))
    [(kind, logs)] = found.items()
    return LogKind(kind, tuple(logs))


def _is_inspect(path: Path) -> bool:
    """Whether a JSON file begins as a log of inspect_ai does."""
    with opened(path) as stream:
        head = stream.read(HEAD)
    return b'"version"' in head and b'"eval"' in head


def _format_of(path: Path) -> Format | None:
    name = path.name.lower()
    if name.endswith(".eval"):
        return "inspect"
    if name.endswith(".json"):
        if _is_inspect(path):
            return "inspect"
        if path.name.startswith("results"):
            message = "the results of a run without its samples"
            hint = "run lm_eval with --log_samples, and name a samples file or the folder"
            raise FormatError(message, hint, code="log", file=str(path))
        keys = ", ".join(_keys(path)) or "none"
        raise FormatError(f"no log: its keys are {keys}", f"known are {KNOWN}", code="log", file=str(path))
    if name.endswith((".jsonl", ".jsonl.gz")):
        first = _first(path)
        if response_of(first) is not None:
            return "openai"
        return (
            "lm-eval" if NAME.fullmatch(path.name) or {"doc_id", "filtered_resps"} <= first.keys() else None
        )
    return None


def _first(path: Path) -> dict[str, Any]:
    """The first object of a file of JSON lines; empty where that is none, which its reader will say."""
    try:
        return next((line for _, line in lines(path)), {})
    except FormatError as error:
        if error.code == "file-truncated" and path.suffix.lower() == ".gz":
            raise
        return {}


def _keys(path: Path) -> list[str]:
    return list(whole(path, dict))[:12]


class LogTable:
    """One or several logs as a long table: a row an option, or a row an item.

    Parameters
    ----------
    path
        What the user named.
    kind
        What it was recognised as.
    view
        ``"options"``: the class is the option, the label whether it is right. ``"top"``: the largest score of
        each item, and whether that option is right; the class is the right option.
    normalise, gold
        As `calibrant.io.logs.open_log` has them.

    Attributes
    ----------
    models
        Names of the models, in order.
    notes
        What was left out, and why; complete once the table has been read.
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
    ) -> None:
        self.name = os.fspath(path)
        self.kind = kind
        self.view: View = view
        self._logs, self._notes = _newest(_opened(kind, normalise, gold), self.name)
        self._blocks: list[list[Block] | None] = [None] * len(self._logs)
        self.models = list(dict.fromkeys(log.model for log in self._logs))
        repeats = any(getattr(log, "repeats", False) for log in self._logs)
        self.columns: tuple[str, ...] = (*COLUMNS, "cluster") if repeats else COLUMNS

    def of_model(self, model: str) -> LogTable:
        """Return the logs of one model alone.

        Raises
        ------
        InputError
            There are none of it.
        """
        if model not in self.models:
            hint = f"there are {', '.join(self.models)}"
            raise InputError(f"no log of a model {model!r}", hint, code="parameter", file=self.name)
        new = self.seen_as(self.view)
        new._logs = [log for log in self._logs if log.model == model]
        new._blocks = [None] * len(new._logs)
        new._notes = [note for note in self._notes if note.endswith(f" of {model}.")]
        new.models = [model]
        return new

    def check_one_model(self) -> None:
        """Raise `InputError` where there are several models: together they are no model."""
        if len(self.models) > 1:
            message = f"logs of {len(self.models)} models: {listed(self.models, most=5)}"
            hint = "name the folder of one, or make a report, which shows them side by side"
            raise InputError(message, hint, code="parameter", file=self.name)

    @property
    def notes(self) -> list[str]:
        """What was left out, and why."""
        told = [note for log in self._logs for note in getattr(log, "notes", [])]
        return list(dict.fromkeys(self._notes + told))

    def seen_as(self, view: View) -> LogTable:
        """Return the same logs in another view; what has been parsed is not parsed again."""
        new = object.__new__(LogTable)
        new.__dict__.update(self.__dict__)
        new.view = view
        return new

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, task by task."""
        several = len(self.models) > 1
        for block in self._read():
            rows = block.rows(self.view)
            if several:
                rows = _apart(rows)
            for start in range(0, rows.num_rows, size):
                yield rows.slice(start, size).select(list(columns))

    def _read(self) -> Iterator[Block]:
        kept = 0
        read: list[str] = []
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
            except NoOptionsError as error:
                if alone:
                    raise
                read.append(error.message)
                self._notes.append(f"Left out: {error.message}.")
                held = []
            self._blocks[place] = held
        if len(read) == len(self._logs):
            hint = "calibration needs the log-likelihoods of options"
            raise NoOptionsError("; ".join(read[:4]), hint, code="log-scores", file=self.name)


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


def _opened(kind: LogKind, normalise: Normalise, gold: Mapping[str, str] | None) -> list[Log]:
    for name, given, formats in (
        ("normalise", normalise != "none", ("lm-eval",)),
        ("gold", gold is not None, ("openai",)),
    ):
        if given and kind.format not in formats:
            message, hint = f"{name} is not for {kind.title}", "leave it out"
            raise InputError(message, hint, code="parameter", file=str(kind.files[0]))
    if kind.format == "lm-eval":
        return [HarnessLog(file, normalise) for file in kind.files]
    if kind.format == "inspect":
        return [InspectLog(file) for file in kind.files]
    return [AnswerLog(file, gold) for file in kind.files]


def _newest(logs: Sequence[Log], name: str) -> tuple[list[Log], list[str]]:
    """Keep the newest run of each task of each model, and say which were left out."""
    found: dict[tuple[str, str], Log] = {}
    notes = []
    for log in logs:
        key = (log.model, log.task)
        other = found.get(key)
        if other is None:
            found[key] = log
            continue
        if not log.date or not other.date or log.date == other.date:
            places = " and ".join(os.path.relpath(each.path, name) for each in (other, log))
            message = f"task {log.task} of {log.model} stands in {places}"
            raise InputError(message, "keep one of them", code="duplicate", file=name)
        found[key], older = (log, other) if log.date > other.date else (other, log)
        notes.append(f"Left out: {older.path.name}, an older run of {log.task} of {log.model}.")
    return list(found.values()), notes
