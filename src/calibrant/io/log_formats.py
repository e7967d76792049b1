"""The formats of logs of evaluations, and which of them a path holds: a new one gets a row here.

Other packages add formats by entry points of the group ``calibrant.log_formats``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from calibrant.exceptions import FormatError, InputError
from calibrant.io.log_rows import Block, Normalise
from calibrant.io.origin import check_name
from calibrant.io.table_formats import ending_of, is_format
from calibrant.plugins import LOG_FORMATS, find, load_all

JSON_LINES = (".jsonl", ".jsonl.gz")
MOST_FILES = 20_000


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


@dataclass(frozen=True)
class LogSettings:
    """Settings of some formats, as in `calibrant.io.logs.open_log`."""

    normalise: Normalise = "none"
    gold: Mapping[str, str] | None = None
    scorer: str | None = None

    def given(self) -> list[str]:
        """Return the names of the settings that differ from their defaults."""
        return [name for name in vars(self) if getattr(self, name) != getattr(LogSettings, name)]


@dataclass(frozen=True)
class LogFormat:
    """A format of logs.

    Attributes
    ----------
    title
        Name in messages.
    endings
        Endings of the names of files that may be such logs.
    module
        Module of its reader, loaded when a file may be such a log. Its function ``holds`` says whether a file
        with one of these endings is one, by its path and the first object of JSON lines (an empty one in
        other files).
    reader
        The class there that makes a `Log` of a path and the settings.
    settings
        Names of its settings in `LogSettings`.
    """

    title: str
    endings: tuple[str, ...]
    module: str
    reader: str
    settings: tuple[str, ...] = ()

    def holds(self, path: Path, first: Mapping[str, Any]) -> bool:
        """Return True if a file is such a log."""
        answer: bool = import_module(self.module).holds(path, first)
        return answer

    def open(self, path: Path, settings: LogSettings) -> Log:
        """Open a log."""
        taken = {name: getattr(settings, name) for name in self.settings}
        log: Log = getattr(import_module(self.module), self.reader)(path, **taken)
        return log


# In the order in which a file is asked whether it is one.
FORMATS: dict[str, LogFormat] = {
    "openai": LogFormat(
        "responses in OpenAI's format (.jsonl)",
        JSON_LINES,
        "calibrant.io._logs_openai",
        "AnswerLog",
        settings=("gold",),
    ),
    "inspect": LogFormat(
        "a log of inspect_ai (.eval or .json)",
        (".eval", ".json"),
        "calibrant.io._logs_inspect",
        "InspectLog",
        settings=("scorer",),
    ),
    "lm-eval": LogFormat(
        "samples of lm-evaluation-harness (samples_TASK_DATE.jsonl)",
        JSON_LINES,
        "calibrant.io._logs_harness",
        "HarnessLog",
        settings=("normalise",),
    ),
}
AS_TABLE = "write other results as a table (.csv or .jsonl) with one row per answer"
KNOWN = "; ".join(form.title for form in reversed(FORMATS.values()))


@dataclass(frozen=True)
class LogKind:
    """Format of a recognized log.

    Attributes
    ----------
    format
        Its name, such as ``lm-eval``.
    files
        The files to read; of a folder, all of its logs.
    """

    format: str
    files: tuple[Path, ...]

    @property
    def title(self) -> str:
        """The format in words."""
        return format_named(self.format).title


def format_named(name: str) -> LogFormat:
    """Return a format of `FORMATS`, or one of another package.

    Raises
    ------
    InputError
        If there is no such format, or it cannot be imported.

    Examples
    --------
    >>> format_named("inspect").endings
    ('.eval', '.json')
    """
    form: LogFormat = find(name, FORMATS, LOG_FORMATS, LogFormat, "log_format")
    return form


def recognise_log(path: object, log_format: str | None = None) -> LogKind | None:
    """Recognize a log by its content; None for anything else, such as a prediction table.

    Parameters
    ----------
    path
        A file, or a folder of logs (searched with its subfolders).
    log_format
        Name of the format, if it is known. Formats of other packages are tried only for files that are
        neither logs nor tables of the formats here.

    Raises
    ------
    FormatError
        A folder without logs, or with logs of two formats; the results of a run without its samples; a file
        that is no log of the format named.

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
        return None if (file / "state.json").exists() else _in_folder(file, log_format)
    if not file.is_file():
        return None
    if log_format is not None:
        form = format_named(log_format)
        if _recognised({log_format: form}, file) is None:
            message = f"the file is not {form.title}"
            raise FormatError(message, "leave the format out", code="log", file=str(file))
        return LogKind(log_format, (file,))
    kind = _format_of(file)
    return None if kind is None else LogKind(kind, (file,))


def _in_folder(folder: Path, log_format: str | None) -> LogKind:
    files = list(islice((path for path in folder.rglob("*") if path.is_file()), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        message = f"more than {MOST_FILES:,} files"
        raise InputError(message, "name a folder that contains only logs", code="log", file=str(folder))
    forms = FORMATS if log_format is None else {log_format: format_named(log_format)}
    logs = _logs_of(forms, files)
    if not logs and log_format is None:
        logs = _logs_of(dict(load_all(LOG_FORMATS, LogFormat)), files)
    if len(logs) > 1:
        both = " and ".join(format_named(kind).title for kind in logs)
        raise FormatError(f"logs of two formats: {both}", "name one file", code="log", file=str(folder))
    if not logs:
        seen = ", ".join(path.name for path in sorted(files)[:6]) or "nothing"
        message = f"the folder has no .parquet files and no logs; it contains {seen}"
        hint = f"name a file, or a folder of the .parquet parts of one table or of logs: {KNOWN}"
        if files and all(path.suffix == ".npz" for path in files):
            hint = "write each as .parquet into a new folder with `calibrant convert`, and name the folder"
        splits = sorted(str(path.parent) for path in files if path.name == "state.json")
        if splits:
            message = "the folder contains saved data sets, such as the splits of a DatasetDict"
            hint = f"name one of them: {', '.join(splits[:6])}"
        raise InputError(message, hint, code="file-missing", file=str(folder))
    [(kind, paths)] = logs.items()
    return LogKind(kind, tuple(paths))


def _logs_of(forms: Mapping[str, LogFormat], files: Iterable[Path]) -> dict[str, list[Path]]:
    """Return the files that are logs, by their format."""
    endings = tuple(ending for form in forms.values() for ending in form.endings)
    candidates = sorted(file for file in files if file.name.endswith(endings))
    for file in candidates:
        check_name(str(file))
    logs: dict[str, list[Path]] = {}
    for file in candidates:
        kind = _recognised(forms, file)
        if kind is not None:
            logs.setdefault(kind, []).append(file)
    return logs


def _recognised(forms: Mapping[str, LogFormat], path: Path) -> str | None:
    """The first format that holds a file."""
    name = path.name.lower()
    first = _first(path) if name.endswith(JSON_LINES) else {}
    holding = (
        kind for kind, form in forms.items() if name.endswith(form.endings) and form.holds(path, first)
    )
    return next(holding, None)


def _format_of(path: Path) -> str | None:
    """The format of a file that somebody named; a JSON file has to be a log."""
    kind = _recognised(FORMATS, path)
    if kind is None and not is_format(ending_of(path.name)[0]):
        kind = _recognised(dict(load_all(LOG_FORMATS, LogFormat)), path)
    if kind is not None or not path.name.lower().endswith(".json"):
        return kind
    if path.name.startswith("results"):
        message = "the file contains the results of a run without its samples"
        hint = "run lm_eval with --log_samples, and name a samples file or the folder"
        raise FormatError(message, hint, code="log", file=str(path))
    keys = ", ".join(_keys(path)) or "none"
    message = f"the keys are those of no supported log: {keys}"
    raise FormatError(message, f"supported logs are {KNOWN}; {AS_TABLE}", code="log", file=str(path))


def _first(path: Path) -> dict[str, Any]:
    """Return the first object of a file of JSON lines; empty if it is not an object."""
    from calibrant.io._log_text import lines

    try:
        return next((line for _, line in lines(path)), {})
    except FormatError as error:
        if error.code in ("file-truncated", "file-broken") and path.suffix.lower() == ".gz":
            raise
        return {}


def _keys(path: Path) -> list[str]:
    from calibrant.io._log_text import whole

    return list(whole(path, dict))[:12]


def opened_logs(kind: LogKind, settings: LogSettings) -> list[Log]:
    """Return the logs of a path, with the settings of its format."""
    form = format_named(kind.format)
    for name in settings.given():
        if name not in form.settings:
            message, hint = f"{name} is not for {kind.title}", "leave it out"
            raise InputError(message, hint, code="parameter", file=str(kind.files[0]))
    return [form.open(file, settings) for file in kind.files]
