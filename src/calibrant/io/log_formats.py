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
from typing import Any, Protocol, runtime_checkable

from calibrant.exceptions import FormatError, InputError
from calibrant.io.log_rows import Block, Normalise
from calibrant.io.origin import check_name
from calibrant.io.table_formats import ending_of, is_format
from calibrant.plugins import LOG_FORMATS, find, load_all

JSON_LINES = (".jsonl", ".jsonl.gz")
MOST_FILES = 20_000


class AnyLog(Protocol):
    """A task of one model in a file of a log."""

    path: Path
    task: str
    date: str

    @property
    def model(self) -> str:
        """The model's name."""


class Log(AnyLog, Protocol):
    """A log with probabilities."""

    def blocks(self) -> Iterator[Block]:
        """Read its items."""


@runtime_checkable
class ManyLogs(Protocol):
    """A file with the logs of several models or tasks."""

    def logs(self) -> list[AnyLog]:
        """Return a log for each model and task."""


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
        The class there that makes a `Log` or `ManyLogs` of a path and the settings.
    settings
        Names of its settings in `LogSettings`.
    probabilities
        False if its logs have scores only, so that runs can be compared, and nothing can be calibrated.
    """

    title: str
    endings: tuple[str, ...]
    module: str
    reader: str
    settings: tuple[str, ...] = ()
    probabilities: bool = True

    def holds(self, path: Path, first: Mapping[str, Any]) -> bool:
        """Return True if a file is such a log."""
        answer: bool = import_module(self.module).holds(path, first)
        return answer

    def open(self, path: Path, settings: LogSettings) -> list[AnyLog]:
        """Open the logs of a file."""
        taken = {name: getattr(settings, name) for name in self.settings}
        log = getattr(import_module(self.module), self.reader)(path, **taken)
        return log.logs() if isinstance(log, ManyLogs) else [log]


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
    "lighteval": LogFormat(
        "details of lighteval (details_TASK_DATE.parquet)",
        (".parquet",),
        "calibrant.io._logs_lighteval",
        "DetailsLog",
    ),
    "promptfoo": LogFormat(
        "results of promptfoo (.json or .jsonl)",
        (".json", *JSON_LINES),
        "calibrant.io._logs_promptfoo",
        "PromptfooFile",
        probabilities=False,
    ),
    "alpaca-eval": LogFormat(
        "annotations of alpaca_eval (.json)",
        (".json",),
        "calibrant.io._logs_alpaca",
        "AlpacaFile",
        probabilities=False,
    ),
    "helm": LogFormat(
        "the statistics of HELM (per_instance_stats.json)",
        (".json",),
        "calibrant.io._logs_helm",
        "HelmLog",
        probabilities=False,
    ),
    "deepeval": LogFormat(
        "a test run of DeepEval (.json)",
        (".json",),
        "calibrant.io._logs_deepeval",
        "DeepEvalLog",
        probabilities=False,
    ),
    "openai-evals": LogFormat(
        "records of openai/evals (.jsonl)",
        JSON_LINES,
        "calibrant.io._logs_evals",
        "EvalsLog",
        probabilities=False,
    ),
}
AS_TABLE = "write other results as a table (.csv or .jsonl) with one row per answer"
KNOWN = "; ".join(FORMATS[name].title for name in ("lm-eval", "inspect", "openai", *list(FORMATS)[3:]))


@dataclass(frozen=True)
class LogKind:
    """Format of a recognized log.

    Attributes
    ----------
    format
        Its name, such as ``lm-eval``.
    files
        The files to read; of a folder, all of its logs.
    unread
        Errors of files of a folder that cannot be recognized.
    """

    format: str
    files: tuple[Path, ...]
    unread: tuple[InputError, ...] = ()

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
    kinds = recognise_logs(path, log_format)
    if len(kinds) > 1:
        both = " and ".join(kind.title for kind in kinds)
        message, hint = f"logs of several formats: {both}", "name one file, or the format"
        raise FormatError(message, hint, code="log", file=str(path))
    return kinds[0] if kinds else None


def recognise_logs(path: Any, log_format: str | None = None) -> list[LogKind]:
    """Recognize the logs of a file or a folder, as `recognise_log` does, but of several formats.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "samples_a.jsonl").write_text('{"doc_id": 0, "filtered_resps": []}')
    ...     _ = Path(folder, "answers.jsonl").write_text('{"choices": [], "answer": "A"}')
    ...     [kind.format for kind in recognise_logs(folder)]
    ['openai', 'lm-eval']
    """
    if not isinstance(path, (str, os.PathLike)) or os.fspath(path) == "-":
        return []
    file = Path(path)
    if file.is_dir():
        return [] if (file / "state.json").exists() else _in_folder(file, log_format)
    if not file.is_file():
        return []
    if log_format is not None:
        form = format_named(log_format)
        if _recognised({log_format: form}, file) is None:
            message = f"the file is not {form.title}"
            raise FormatError(message, "leave the format out", code="log", file=str(file))
        return [LogKind(log_format, (file,))]
    kind = _format_of(file)
    return [] if kind is None else [LogKind(kind, (file,))]


def _in_folder(folder: Path, log_format: str | None) -> list[LogKind]:
    files = list(islice((path for path in folder.rglob("*") if path.is_file()), MOST_FILES + 1))
    if len(files) > MOST_FILES:
        message = f"more than {MOST_FILES:,} files"
        raise InputError(message, "name a folder that contains only logs", code="log", file=str(folder))
    forms = FORMATS if log_format is None else {log_format: format_named(log_format)}
    logs, unread = _logs_of(forms, files)
    if not logs and log_format is None:
        logs, more = _logs_of(dict(load_all(LOG_FORMATS, LogFormat)), files)
        unread += more
    if not logs:
        if unread:
            raise unread[0]
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
    return [LogKind(kind, tuple(paths), tuple(unread)) for kind, paths in logs.items()]


def _logs_of(
    forms: Mapping[str, LogFormat], files: Iterable[Path]
) -> tuple[dict[str, list[Path]], list[InputError]]:
    """Return the files that are logs, by their format, and the errors of those that cannot be read."""
    endings = tuple(ending for form in forms.values() for ending in form.endings)
    candidates = sorted(file for file in files if file.name.endswith(endings))
    for file in candidates:
        check_name(str(file))
    logs: dict[str, list[Path]] = {}
    unread = []
    for file in candidates:
        try:
            kind = _recognised(forms, file)
        except InputError as error:
            unread.append(error)
            continue
        if kind is not None:
            logs.setdefault(kind, []).append(file)
    return {kind: logs[kind] for kind in forms if kind in logs}, unread


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
    from calibrant.io._log_text import mapping, whole

    content = whole(path, (dict, list))
    return list(content if isinstance(content, dict) else mapping(next(iter(content), None)))[:12]


def opened_logs(kind: LogKind, settings: LogSettings, unread: list[InputError] | None = None) -> list[AnyLog]:
    """Return the logs of a path, with the settings of its format.

    With a list ``unread``, the errors of files that cannot be opened are added to it.
    """
    form = format_named(kind.format)
    for name in settings.given():
        if name not in form.settings:
            message, hint = f"{name} is not for {kind.title}", "leave it out"
            raise InputError(message, hint, code="parameter", file=str(kind.files[0]))
    logs = []
    for file in kind.files:
        try:
            logs += form.open(file, settings)
        except InputError as error:
            if unread is None:
                raise
            unread.append(error)
    return logs
