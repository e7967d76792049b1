"""Reader of evaluation files: task, annotators, reference, systems, folds, statistics."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct, structs

from calibrant._checks import LARGEST, repeated, shown
from calibrant.exceptions import FormatError, InputError
from calibrant.io.origin import reads_once, unreadable
from calibrant.records.words import closest

Text = Annotated[str, Meta(pattern=r"\S")]
Share = Annotated[float, Meta(gt=0, lt=1)]
Kind = TypeVar("Kind", bound=Struct)
Steps = tuple[str | int, ...]

HEADER = re.compile(r"\s*\[+\s*([\w.-]+)\s*\]+")
FIELD = re.compile(r"Object (contains unknown|missing required) field `(.*)`", re.DOTALL)
WORDS = {"str": "text", "int": "whole number", "float": "number", "object": "table", "array": "list"}


class Settings:
    """A TOML file.

    Parameters
    ----------
    path
        The file.

    Raises
    ------
    InputError
        The file does not exist.
    FormatError
        The file is not TOML.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.file = os.fspath(path)
        try:
            self._text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise self._broken("the file is not UTF-8 text", "save it as UTF-8") from error
        except OSError as error:
            raise unreadable(self.file, error) from error
        try:
            self._values: dict[str, Any] = tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            raise self._broken(f"not TOML: {error}", "repair that line") from error
        except (ValueError, RecursionError) as error:
            message = "not TOML: nested too deep, or a number is too long"
            raise self._broken(message, "shorten it") from error

    def decoded(self, kind: type[Kind]) -> Kind:
        """Return the settings as a struct; raise `InputError` with the line of an invalid setting.

        Paths are relative to the folder of the file.
        """
        try:
            return msgspec.convert(self._values, kind, dec_hook=self._path)
        except msgspec.ValidationError as error:
            what, _, path = str(error).rpartition(" - at `$")
            whole = FIELD.fullmatch(str(error))
            if not what or (whole is not None and whole[2] in self._values):  # a key may hold " - at `$"
                what, path = str(error), ""
            raise self._unfit(kind, path.strip(".`"), what) from error

    def error(self, where: str, message: str, hint: str, code: str = "setting") -> InputError:
        """Return an error about a setting, a table or the file.

        Parameters
        ----------
        where
            A path such as ``systems[1].name`` or ``task``; empty for the file.
        message, hint, code
            As in `InputError`.
        """
        return InputError(message, hint, code=code, file=self.file, line=self._line(_steps(where)))

    def _path(self, kind: type, value: Any) -> Path:
        if kind is not Path:
            raise NotImplementedError
        if not isinstance(value, str):
            raise ValueError("Expected `str`")
        if not value.strip():
            raise ValueError(r"Expected `str` matching regex '\\S'")
        return Path(self.file).parent / value

    def _broken(self, message: str, hint: str) -> FormatError:
        return FormatError(message, hint, code="file-broken", file=self.file)

    def _unfit(self, kind: type[Struct], where: str, what: str) -> InputError:
        """Return the error for the problem that msgspec found at a path."""
        info: Any = msgspec.inspect.type_info(kind)
        value: Any = self._values
        for step in _steps(where):
            info, value = _inner(info, step), value[step]
        table, field = where.partition("[")[0], FIELD.fullmatch(what)
        if field is None:
            near = _nearest(value, getattr(info, "values", ())) if isinstance(value, str) else ""
            return self.error(where, f"{where} is {shown(value)}", near or _wanted(what))
        key, where_in = field[2], f" in [{table}]" if table else ""
        if field[1] == "missing required":
            message, write = (
                (f"{key} is missing", f"{key} = ...") if table else ("there is no table", f"[{key}]")
            )
            return self.error(where, f"{message}{where_in or f' [{key}]'}", f"write {write}")
        message = f"there is no {'key' if table else 'table'} {shown(key)}{where_in}"
        hint = _nearest(key, [field_type.name for field_type in info.fields])
        return self.error(f"{where}.{key}".strip("."), message, hint)

    def _line(self, path: Steps) -> int | None:
        """Return the line of a key or of its table's head; None if it cannot be found."""
        name = path[0] if path else ""
        number = next((step for step in path[1:2] if isinstance(step, int)), 0)
        key = next((step for step in path[1:] if isinstance(step, str)), None)
        current, seen, head = "", -1, None
        for place, line in enumerate(self._text.splitlines(), 1):
            header = HEADER.match(line)
            if header is not None:
                current = header[1]
                seen += current == name
                if current == name and seen == number:
                    head = place
            here = current == name and seen == number if key is not None else not current
            if here and re.match(rf"""\s*["']?{re.escape(str(key or name))}["']?\s*=""", line):
                return place
        return head


def _steps(path: str) -> Steps:
    """Return the keys and indices of a path such as ``systems[1].name``."""
    return tuple(
        int(place) if place else key for key, place in re.findall(r"([^.\[\]]+)(?!\])|\[(\d+)\]", path)
    )


def _inner(info: Any, step: str | int) -> Any:
    """Return the type of a field of a struct or of a list's elements, without None."""
    inner = info.item_type if isinstance(step, int) else {kind.name: kind.type for kind in info.fields}[step]
    return next(
        (kind for kind in getattr(inner, "types", ()) if type(kind) is not msgspec.inspect.NoneType), inner
    )


def _nearest(word: str, known: Sequence[str]) -> str:
    """Suggest the nearest of several words, or all of them."""
    near = closest(word, known)
    return f"did you mean {near!r}?" if near else f"use one of {', '.join(known)}" if known else ""


def _wanted(what: str) -> str:
    """Describe the value that msgspec expected."""
    expected = re.fullmatch(r"Expected `(.*?)(?: \| null)?`(.*?)(?:, got .*)?", what, re.DOTALL)
    if expected is None:
        return what
    kinds = " or a ".join(WORDS[kind] for kind in expected[1].split(" | "))
    return f"write a {kinds}{expected[2]}".replace(r" matching regex '\\S'", " that is not blank")


Alternative = Literal["two-sided", "greater", "less"]
Distance = Literal["nominal", "ordinal", "interval", "ratio"]
Decision = Literal["most-probable", "threshold", "top", "expected-f"]
Rule = Literal["majority", "adjudicated", "annotator"]
Label = Text | Annotated[int, Meta(gt=-LARGEST, lt=LARGEST)]
AVERAGES = ("accuracy", "f1_macro", "precision_macro", "recall_macro")
OF_A_LABEL = ("f1", "precision", "recall")
OF_ENTITIES = tuple(f"{unit}_{score}" for unit in ("entity", "surface") for score in OF_A_LABEL)
LEAVE_OUT = "leave-out"

__all__ = ["Annotators", "Folds", "ProtocolFile", "Reference", "System", "read_protocol_file"]


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Table of the file; its fields are the keys.

    Keys ``item``, ``label``, ``annotator``, ``document``, ``fold`` and ``probability`` name columns of the
    table's file. None: the column of the same name, if there is one.
    """


class Task(_Table, frozen=True):
    """Description of the task; the positive label and the name have defaults that depend on the file."""

    labels: Annotated[tuple[Label, ...], Meta(min_length=2)]
    name: Text = ""
    description: Text = ""
    positive: Text | None = None
    budget: Annotated[int, Meta(ge=1)] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Labels as texts."""
        return tuple(str(label) for label in self.labels)


class Annotators(_Table, frozen=True):
    """Table of the annotators' labels."""

    file: Path
    item: Text | None = None
    label: Text | None = None
    annotator: Text | None = None
    document: Text | None = None


class Reference(_Table, frozen=True):
    """Construction of the reference: the rule, adjudicated labels, ties, and the annotator to follow."""

    rule: Rule | None = None
    file: Path | None = None
    item: Text | None = None
    label: Text | None = None
    document: Text | None = None
    ties: Text | None = None
    annotator: Text | None = None


class System(_Table, frozen=True):
    """System to evaluate: its outputs, and the rule that turns probabilities into labels.

    ``threshold`` is the threshold of the decision ``threshold`` (default 0.5), and the smallest probability
    that ``top`` keeps.
    """

    name: Text
    file: Path
    description: Text = ""
    decision: Decision | None = None
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    item: Text | None = None
    label: Text | None = None
    probability: Text | None = None


class Folds(_Table, frozen=True):
    """Fold of each item, or scores by fold, and the ratio of test to training data."""

    file: Path
    item: Text | None = None
    fold: Text | None = None
    test_train_ratio: Annotated[float, Meta(gt=0, le=sys.float_info.max)] | None = None


class Evaluation(_Table, frozen=True):
    """Settings of the statistics, as in `compare_systems` and `coefficients` of `calibrant.evaluation`.

    ``metrics`` are ``accuracy``, ``f1:LABEL``, ``entity_f1`` and so on; the first one decides the conclusion.
    """

    metrics: Annotated[tuple[Text, ...], Meta(min_length=1)] | None = None
    level: Share = 0.95
    alternative: Alternative = "two-sided"
    baseline: Text | None = None
    power: Share = 0.8
    samples: Annotated[int, Meta(ge=100)] = 2000
    seed: Annotated[int, Meta(ge=0)] = 0
    distance: Distance = "nominal"


class _Tables(_Table, frozen=True):
    task: Task
    systems: tuple[System, ...] = ()
    annotators: Annotators | None = None
    reference: Reference = Reference()
    folds: Folds | None = None
    evaluation: Evaluation = Evaluation()


class ProtocolFile(_Tables, frozen=True, kw_only=True):
    """Evaluation as its file describes it; ``path`` is the path of the file."""

    path: str

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of the tables that the file names."""
        tables = (self.annotators, self.reference, self.folds, *self.systems)
        files = (table.file for table in tables if table is not None)
        return tuple(dict.fromkeys(file for file in files if file is not None))

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the task."""
        return self.task.names

    @property
    def positive(self) -> str | None:
        """Positive label; by default the first one if there are two labels or a budget."""
        default = self.task.budget is not None or len(self.labels) == 2
        return self.task.positive or (self.labels[0] if default else None)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics."""
        default = ("accuracy", "f1_macro") if self.positive is None else (f"f1:{self.positive}", "accuracy")
        return self.evaluation.metrics or default

    @property
    def rule(self) -> Rule:
        """Rule that makes the reference."""
        return self.reference.rule or ("adjudicated" if self.annotators is None else "majority")

    def decision(self, system: System) -> Decision:
        """Return the rule that turns a system's probabilities into labels."""
        by_budget = self.task.budget is not None and len(self.labels) == 2
        return system.decision or ("top" if by_budget else "most-probable")


def read_protocol_file(path: str | os.PathLike[str]) -> ProtocolFile:
    """Read and check the TOML file of an evaluation.

    Parameters
    ----------
    path
        Path of the file. The tables that it names are not read.

    Returns
    -------
    ProtocolFile

    Raises
    ------
    InputError
        A key is unknown or missing, a value has the wrong type, or values contradict each other. The error
        names the file and the line, and for an unknown key the nearest known one.

    Examples
    --------
    >>> from calibrant.data import example
    >>> protocol = read_protocol_file(example("summaries"))
    >>> protocol.labels, protocol.task.budget, [system.name for system in protocol.systems]
    (('keep', 'not keep'), 3, ['first sentences', 'centroid', 'logistic'])
    """
    settings = Settings(path)
    tables = settings.decoded(_Tables)
    task = tables.task if tables.task.name else structs.replace(tables.task, name=Path(path).stem)
    protocol = ProtocolFile(**{**structs.asdict(tables), "task": task}, path=settings.file)
    labels = _different(settings, "task.labels", protocol.labels)
    _check_label(settings, "task.positive", task.positive, labels)
    for file in protocol.files:
        if reads_once(file):
            hint = "give the path of a file, which the evaluation can read again"
            raise InputError("this is a pipe", hint, code="file-kind", file=str(file))
    _check_rule(settings, protocol)
    _check_systems(settings, protocol)
    _check_metrics(settings, protocol.evaluation.metrics, labels)
    names, baseline = [system.name for system in protocol.systems], protocol.evaluation.baseline
    if baseline is not None and baseline not in names:
        hint = f"the systems are {', '.join(names[:20])}"
        raise settings.error("evaluation.baseline", f"there is no system {baseline!r}", hint)
    return protocol


def _check_rule(settings: Settings, protocol: ProtocolFile) -> None:
    """Raise if keys that belong to the rule of the reference are missing or contradict it."""
    reference, rule = protocol.reference, protocol.rule
    if reference.ties != LEAVE_OUT:
        _check_label(settings, "reference.ties", reference.ties, protocol.labels)
    if rule == "adjudicated" and reference.file is None:
        hint = 'write [reference] with file = "...", or add [annotators]'
        message = "the rule adjudicated lacks a file of labels"
        raise settings.error(where="reference", message=message, hint=hint)
    if rule != "adjudicated" and protocol.annotators is None:
        raise settings.error("", f"the rule {rule} needs annotators", 'write [annotators] with file = "..."')
    if (rule == "annotator") != (reference.annotator is not None):
        hint = 'write rule = "annotator" and annotator = "NAME", or neither'
        message = "the rule annotator and the key annotator go together"
        raise settings.error("reference.annotator", message, hint)
    if rule != "majority" and reference.ties is not None:
        raise settings.error("reference.ties", f"the rule {rule} has no ties", "leave ties out")


def _check_systems(settings: Settings, protocol: ProtocolFile) -> None:
    """Raise if there are no systems, two have one name, or keys of a system contradict each other."""
    if not protocol.systems:
        raise settings.error("", "there are no systems", "write [[systems]] with name and file", "empty")
    names: list[str] = []
    for place, system in enumerate(protocol.systems):
        here, threshold, decision = f"systems[{place}]", system.threshold, protocol.decision(system)
        if system.name in names:
            message = f"two systems have the name {system.name!r}"
            raise settings.error(f"{here}.name", message, "rename one", "duplicate")
        if decision != "most-probable" and len(protocol.labels) != 2:
            message = f"the decision {decision} is for two labels"
            raise settings.error(f"{here}.decision", message, "use most-probable")
        if decision == "top" and protocol.task.budget is None:
            message = "the decision top lacks a budget"
            raise settings.error(f"{here}.decision", message, "write budget in [task]")
        if threshold is not None and decision not in ("top", "threshold"):
            hint = "leave it out, or use it with the decision threshold or top"
            raise settings.error(f"{here}.threshold", f"threshold is {threshold:g}", hint)
        if system.label is not None and system.probability is not None:
            hint = "keep one: labels, or probabilities that are decided here"
            raise settings.error(f"{here}.label", "a system has a label and a probability", hint)
        names.append(system.name)


def _different(settings: Settings, where: str, names: Sequence[str]) -> tuple[str, ...]:
    if len(set(names)) < len(names):
        message = f"{where} has {repeated(names)!r} twice"
        raise settings.error(where, message, "name it once", "duplicate")
    return tuple(names)


def _check_label(
    settings: Settings, where: str, value: str | None, labels: tuple[str, ...], kind: str = "label"
) -> None:
    if value is not None and value not in labels:
        hint = f"the {kind}s are {', '.join(labels[:20])}"
        message = f"{where} is {shown(value)}, not a {kind} of the task"
        raise settings.error(where, message, hint, "class-unknown")


def _check_metrics(settings: Settings, metrics: Sequence[str] | None, labels: tuple[str, ...]) -> None:
    for place, name in enumerate(_different(settings, "evaluation.metrics", metrics or ())):
        kind, colon, label = name.partition(":")
        where = f"evaluation.metrics[{place}]"
        if kind in OF_ENTITIES:
            _check_tags(settings, where, name, labels)
            types = tuple(dict.fromkeys(tag[2:] for tag in labels if tag != "O"))
            _check_label(settings, where, label if colon else None, types, "type")
        elif name not in AVERAGES and not (colon and kind in OF_A_LABEL):
            every = [*AVERAGES, *(f"{part}:LABEL" for part in OF_A_LABEL), *OF_ENTITIES, "entity_f1:TYPE"]
            raise settings.error(where, f"there is no metric {name!r}", f"use {', '.join(every)}")
        elif colon:
            _check_label(settings, where, label, labels)


def _check_tags(settings: Settings, where: str, name: str, labels: tuple[str, ...]) -> None:
    wrong = [label for label in labels if label != "O" and not re.match("[BI]-.", label)]
    if wrong or "O" not in labels:
        message = f"{name} evaluates entities, but the labels " + (
            f"have {shown(wrong[0])}" if wrong else "lack O"
        )
        raise settings.error(where, message, "write the labels as O, B-TYPE and I-TYPE", "class-unknown")
