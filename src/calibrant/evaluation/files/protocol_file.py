"""Reader of evaluation files: task, annotators, reference, systems, folds, statistics."""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from calibrant._checks import LARGEST, closest, repeated, shown
from calibrant.exceptions import FormatError, InputError
from calibrant.io.origin import reads_once, unreadable

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
        """Return the settings as a struct; raise `InputError` with the line of an invalid setting."""
        try:
            return msgspec.convert(self._values, kind)
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
        hint = _nearest(key, [other.name for other in info.fields])
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
    inner = info.item_type if isinstance(step, int) else {key.name: key.type for key in info.fields}[step]
    return next(
        (kind for kind in getattr(inner, "types", ()) if type(kind) is not msgspec.inspect.NoneType), inner
    )


def _nearest(word: str, known: Sequence[str]) -> str:
    """Suggest the nearest of several words, or all of them."""
    near = closest(word, known)
    return f"did you mean {near!r}?" if near else f"use one of {', '.join(known)}" if known else ""


def _wanted(what: str) -> str:
    """Describe the value that msgspec expected."""
    match = re.fullmatch(r"Expected `(.*?)(?: \| null)?`(.*?)(?:, got .*)?", what, re.DOTALL)
    if match is None:
        return what
    kinds = " or a ".join(WORDS[kind] for kind in match[1].split(" | "))
    return f"write a {kinds}{match[2]}".replace(r" matching regex '\\S'", " that is not blank")


Alternative = Literal["two-sided", "greater", "less"]
Distance = Literal["nominal", "ordinal", "interval", "ratio"]
Decision = Literal["most-probable", "threshold", "top", "expected-f"]
Rule = Literal["majority", "adjudicated", "annotator"]
Label = Text | Annotated[int, Meta(gt=-LARGEST, lt=LARGEST)]
AVERAGES = ("accuracy", "f1_macro", "precision_macro", "recall_macro")
OF_A_LABEL = ("f1", "precision", "recall")
OF_ENTITIES = tuple(f"{unit}_{score}" for unit in ("entity", "surface") for score in OF_A_LABEL)
LEAVE_OUT = "leave-out"

__all__ = ["NamedColumns", "ProtocolFile", "SystemFile", "read_protocol_file"]


@dataclass(frozen=True)
class NamedColumns:
    """A table and the names of its columns.

    Attributes
    ----------
    file
        Path of the table.
    item, label, annotator, document, fold
        Names of columns; ``document`` None: ``document``, if there is such a column.
    probability
        Column of the positive label's probability; None: ``probability``, if there is such a column.
    """

    file: Path
    item: str = "item"
    label: str = "label"
    annotator: str = "annotator"
    document: str | None = None
    fold: str = "fold"
    probability: str | None = None


@dataclass(frozen=True)
class SystemFile:
    """System to evaluate: its outputs, and the rule that turns probabilities into labels.

    Attributes
    ----------
    name, description
        Name and description in the report.
    table
        Table of its outputs.
    decision
        ``most-probable``, ``threshold``, ``top`` or ``expected-f``.
    threshold
        Threshold of the decision ``threshold``; smallest probability that ``top`` keeps.
    names_label, names_probability
        True if the file names that column, which is then the one to read.
    names_decision
        True if the file sets the decision or its threshold, which only probabilities have.
    """

    name: str
    description: str
    table: NamedColumns
    decision: Decision
    threshold: float | None
    names_label: bool
    names_probability: bool
    names_decision: bool


@dataclass(frozen=True)
class ProtocolFile:
    """Evaluation as its file describes it.

    Attributes
    ----------
    path
        Path of the file; paths in it are relative to its folder.
    name, description, labels, positive, budget
        Description of the task.
    annotators
        Table of their labels; None without annotators.
    rule, reference, ties, annotator
        Construction of the reference: the rule, the adjudicated labels (or None), the treatment of ties
        (``leave-out`` or a label), and the annotator to follow (or None).
    systems
        At least one.
    folds, test_train_ratio
        Fold of each item, or scores by fold, and the ratio of test to training data; None if not given.
    metrics
        ``accuracy``, ``f1:LABEL``, ``entity_f1`` and so on; the first one decides the conclusion.
    level, alternative, baseline, power, samples, seed, distance
        As in `calibrant.evaluation.compare_systems` and `calibrant.evaluation.coefficients`.
    """

    path: str
    name: str
    description: str
    labels: tuple[str, ...]
    positive: str | None
    budget: int | None
    annotators: NamedColumns | None
    rule: Rule
    reference: NamedColumns | None
    ties: str
    annotator: str | None
    systems: tuple[SystemFile, ...]
    folds: NamedColumns | None
    test_train_ratio: float | None
    metrics: tuple[str, ...]
    level: float
    alternative: Alternative
    baseline: str | None
    power: float
    samples: int
    seed: int
    distance: Distance

    @property
    def files(self) -> tuple[Path, ...]:
        """Paths of the tables that the file names."""
        tables = (self.annotators, self.reference, self.folds, *(system.table for system in self.systems))
        return tuple(dict.fromkeys(table.file for table in tables if table is not None))


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """Table of the file. The subclasses declare the keys of each table. None means the default."""


class _Task(_Table, frozen=True):
    labels: Annotated[tuple[Label, ...], Meta(min_length=2)]
    name: Text | None = None
    description: Text = ""
    positive: Text | None = None
    budget: Annotated[int, Meta(ge=1)] | None = None


class _Annotators(_Table, frozen=True):
    file: Text
    item: Text | None = None
    label: Text | None = None
    annotator: Text | None = None
    document: Text | None = None


class _Reference(_Table, frozen=True):
    rule: Rule | None = None
    file: Text | None = None
    item: Text | None = None
    label: Text | None = None
    document: Text | None = None
    ties: Text | None = None
    annotator: Text | None = None


class _System(_Table, frozen=True):
    name: Text
    file: Text
    description: Text = ""
    decision: Decision | None = None
    threshold: Annotated[float, Meta(ge=0, le=1)] | None = None
    item: Text | None = None
    label: Text | None = None
    probability: Text | None = None


class _Folds(_Table, frozen=True):
    file: Text
    item: Text | None = None
    fold: Text | None = None
    test_train_ratio: Annotated[float, Meta(gt=0, le=sys.float_info.max)] | None = None


class _Evaluation(_Table, frozen=True):
    metrics: Annotated[tuple[Text, ...], Meta(min_length=1)] | None = None
    level: Share = 0.95
    alternative: Alternative = "two-sided"
    baseline: Text | None = None
    power: Share = 0.8
    samples: Annotated[int, Meta(ge=100)] = 2000
    seed: Annotated[int, Meta(ge=0)] = 0
    distance: Distance = "nominal"


class _File(_Table, frozen=True):
    task: _Task
    systems: tuple[_System, ...] = ()
    annotators: _Annotators | None = None
    reference: _Reference = _Reference()
    folds: _Folds | None = None
    evaluation: _Evaluation = _Evaluation()


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
    >>> plan = read_protocol_file(example("summaries"))
    >>> plan.labels, plan.budget, [system.name for system in plan.systems]
    (('keep', 'not keep'), 3, ['first sentences', 'centroid', 'logistic'])
    """
    settings = Settings(path)
    file = settings.decoded(_File)
    task, reference, folds, evaluation = file.task, file.reference, file.folds, file.evaluation
    labels = _different(settings, "task.labels", [str(label) for label in task.labels])
    positive = task.positive
    _check_label(settings, "task.positive", positive, labels)
    if positive is None and (task.budget is not None or len(labels) == 2):
        positive = labels[0]
    folder = Path(path).parent
    rule = _rule(settings, file, labels)
    systems = _systems(settings, file, positive, folder)
    default = ("accuracy", "f1_macro") if positive is None else (f"f1:{positive}", "accuracy")
    return ProtocolFile(
        path=settings.file,
        name=task.name or Path(path).stem,
        description=task.description,
        labels=labels,
        positive=positive,
        budget=task.budget,
        annotators=_columns(file.annotators, folder, "item", "label", "annotator", "document"),
        rule=rule,
        reference=_columns(reference, folder, "item", "label", "document"),
        ties=reference.ties or LEAVE_OUT,
        annotator=reference.annotator,
        systems=systems,
        folds=_columns(folds, folder, "item", "fold"),
        test_train_ratio=None if folds is None else folds.test_train_ratio,
        metrics=_metrics(settings, evaluation.metrics, labels) or default,
        level=evaluation.level,
        alternative=evaluation.alternative,
        baseline=_baseline(settings, evaluation.baseline, systems),
        power=evaluation.power,
        samples=evaluation.samples,
        seed=evaluation.seed,
        distance=evaluation.distance,
    )


def _columns(
    table: _Annotators | _Reference | _System | _Folds | None, folder: Path, *columns: str
) -> NamedColumns | None:
    """Return the file that a table names, with its names of columns."""
    if table is None or table.file is None:
        return None
    file = folder / table.file
    if reads_once(file):
        hint = "give the path of a file, which the evaluation can read again"
        raise InputError("this is a pipe", hint, code="file-kind", file=str(file))
    given = {column: getattr(table, column) for column in columns}
    return NamedColumns(file, **{key: name for key, name in given.items() if name is not None})


def _rule(settings: Settings, file: _File, labels: tuple[str, ...]) -> Rule:
    """Return the rule that makes the reference, after a check of the keys that belong to it."""
    reference = file.reference
    rule: Rule = reference.rule or ("adjudicated" if file.annotators is None else "majority")
    if reference.ties != LEAVE_OUT:
        _check_label(settings, "reference.ties", reference.ties, labels)
    if rule == "adjudicated" and reference.file is None:
        hint = 'write [reference] with file = "...", or add [annotators]'
        message = "the rule adjudicated lacks a file of labels"
        raise settings.error(where="reference", message=message, hint=hint)
    if rule != "adjudicated" and file.annotators is None:
        raise settings.error("", f"the rule {rule} needs annotators", 'write [annotators] with file = "..."')
    if (rule == "annotator") != (reference.annotator is not None):
        hint = 'write rule = "annotator" and annotator = "NAME", or neither'
        message = "the rule annotator and the key annotator go together"
        raise settings.error("reference.annotator", message, hint)
    if rule != "majority" and reference.ties is not None:
        raise settings.error("reference.ties", f"the rule {rule} has no ties", "leave ties out")
    return rule


def _systems(settings: Settings, file: _File, positive: str | None, folder: Path) -> tuple[SystemFile, ...]:
    budget, binary = file.task.budget, len(file.task.labels) == 2 and positive is not None
    default: Decision = "top" if budget is not None and binary else "most-probable"
    systems: list[SystemFile] = []
    for place, entry in enumerate(file.systems):
        here, threshold = f"systems[{place}]", entry.threshold
        decision = entry.decision or default
        if entry.name in [system.name for system in systems]:
            message = f"two systems have the name {entry.name!r}"
            raise settings.error(f"{here}.name", message, "rename one", "duplicate")
        if decision != "most-probable" and not binary:
            message = f"the decision {decision} is for two labels"
            raise settings.error(f"{here}.decision", message, "use most-probable")
        if decision == "top" and budget is None:
            message = "the decision top lacks a budget"
            raise settings.error(f"{here}.decision", message, "write budget in [task]")
        if threshold is not None and decision not in ("top", "threshold"):
            hint = "leave it out, or use it with the decision threshold or top"
            raise settings.error(f"{here}.threshold", f"threshold is {threshold:g}", hint)
        if entry.label is not None and entry.probability is not None:
            hint = "keep one: labels, or probabilities that are decided here"
            raise settings.error(f"{here}.label", "a system has a label and a probability", hint)
        table = _columns(entry, folder, "item", "label", "probability")
        assert table is not None
        systems.append(
            SystemFile(
                entry.name,
                entry.description,
                table,
                decision,
                0.5 if decision == "threshold" and threshold is None else threshold,
                entry.label is not None,
                entry.probability is not None,
                entry.decision is not None or threshold is not None,
            )
        )
    if not systems:
        raise settings.error("", "there are no systems", "write [[systems]] with name and file", "empty")
    return tuple(systems)


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


def _metrics(settings: Settings, metrics: Sequence[str] | None, labels: tuple[str, ...]) -> tuple[str, ...]:
    chosen = _different(settings, "evaluation.metrics", metrics or ())
    for place, name in enumerate(chosen):
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
    return chosen


def _check_tags(settings: Settings, where: str, name: str, labels: tuple[str, ...]) -> None:
    wrong = [label for label in labels if label != "O" and not re.match("[BI]-.", label)]
    if wrong or "O" not in labels:
        message = f"{name} evaluates entities, but the labels " + (
            f"have {shown(wrong[0])}" if wrong else "lack O"
        )
        raise settings.error(where, message, "write the labels as O, B-TYPE and I-TYPE", "class-unknown")


def _baseline(settings: Settings, baseline: str | None, systems: tuple[SystemFile, ...]) -> str | None:
    names = [system.name for system in systems]
    if baseline is not None and baseline not in names:
        hint = f"the systems are {', '.join(names[:20])}"
        raise settings.error("evaluation.baseline", f"there is no system {baseline!r}", hint)
    return baseline
