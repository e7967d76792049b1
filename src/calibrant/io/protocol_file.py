"""The file that describes an evaluation: task, annotators, reference, systems, folds, statistics."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast, get_args

from calibrant._checks import shown
from calibrant.io._settings import Section, read_settings

Alternative = Literal["two-sided", "greater", "less"]
Distance = Literal["nominal", "ordinal", "interval", "ratio"]
DECISIONS = ("most-probable", "threshold", "top", "expected-f")
RULES = ("majority", "adjudicated", "annotator")
AVERAGES = ("accuracy", "f1_macro", "precision_macro", "recall_macro")
OF_A_LABEL = ("f1", "precision", "recall")
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
        Names of columns; ``document`` None: ``document``, if it is there.
    probability
        Column of the positive label's probability; None: ``probability``, if it is there.
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
    """A system: its outputs, and how probabilities become labels.

    Attributes
    ----------
    name, description
        For the report.
    table
        Its outputs.
    decision
        ``most-probable``, ``threshold``, ``top`` or ``expected-f``.
    threshold
        Of the decision ``threshold``; the least probability that ``top`` keeps.
    names_label, names_probability
        Whether the file names that column, so that it is the one to be read.
    """

    name: str
    description: str
    table: NamedColumns
    decision: str
    threshold: float | None
    names_label: bool
    names_probability: bool


@dataclass(frozen=True)
class ProtocolFile:
    """An evaluation as its file describes it.

    Attributes
    ----------
    path
        Of the file; paths in it are relative to its folder.
    name, description, labels, positive, budget
        The task.
    annotators
        Their labels; None where there are none.
    rule, reference, ties, annotator
        How the reference is made: the rule, the adjudicated labels (or None), what happens to ties
        (``leave-out`` or a label), and the annotator to follow (or None).
    systems
        At least one.
    folds, test_train_ratio
        Which fold an item is in, or scores by fold; None without folds, or where the ratio is not given.
    metrics
        ``accuracy``, ``f1:LABEL`` and so on; the first decides.
    level, alternative, baseline, power, samples, seed, distance
        As in `calibrant.evaluate.compare_systems` and `calibrant.evaluate.agreement`.
    """

    path: str
    name: str
    description: str
    labels: tuple[str, ...]
    positive: str | None
    budget: int | None
    annotators: NamedColumns | None
    rule: str
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
        """The tables that it names."""
        tables = (self.annotators, self.reference, self.folds, *(system.table for system in self.systems))
        return tuple(dict.fromkeys(table.file for table in tables if table is not None))


def read_protocol_file(path: str | os.PathLike[str]) -> ProtocolFile:
    """Read the TOML file of an evaluation, and check it.

    Parameters
    ----------
    path
        The file. Tables that it names are not read yet.

    Returns
    -------
    ProtocolFile

    Raises
    ------
    InputError
        Naming the file and the line: an unknown key (with the nearest known one), a missing one, a value of
        the wrong kind, or values that do not go together.

    Examples
    --------
    >>> from calibrant.data import example
    >>> found = read_protocol_file(example("summaries"))
    >>> found.labels, found.budget, [system.name for system in found.systems]
    (('keep', 'not keep'), 3, ['first sentences', 'centroid', 'logistic'])
    """
    top = read_settings(path).only(("task", "annotators", "reference", "systems", "folds", "evaluation"))
    task = _needed(top, "task").only(("name", "description", "labels", "positive", "budget"))
    labels = task.texts("labels")
    if labels is None or len(labels) < 2:
        raise task.error("the task has fewer than two labels", 'write labels = ["...", "..."]', key="labels")
    positive, budget = task.text("positive"), task.whole("budget", 1)
    _check_label(task, "positive", positive, labels)
    if positive is None and (budget is not None or len(labels) == 2):
        positive = labels[0]
    annotators = top.table("annotators")
    reference = top.table("reference") or Section(top.file, "", "reference", {})
    evaluation = top.table("evaluation") or Section(top.file, "", "evaluation", {})
    rule, ties, follow = _reference(top, reference, annotators, labels)
    systems = _systems(top, positive, budget, len(labels))
    folds = top.table("folds")
    if folds is not None:
        folds.only(("file", "item", "fold", "test_train_ratio"))
    given = reference.file_of("file")
    default = ("accuracy", "f1_macro") if positive is None else (f"f1:{positive}", "accuracy")
    return ProtocolFile(
        path=top.file,
        name=task.text("name") or Path(path).stem,
        description=task.text("description") or "",
        labels=labels,
        positive=positive,
        budget=budget,
        annotators=None if annotators is None else _table(annotators, ("annotator", "document")),
        rule=rule,
        reference=None
        if given is None
        else _table(reference, ("document",), also=("rule", "ties", "annotator")),
        ties=ties,
        annotator=follow,
        systems=systems,
        folds=None if folds is None else NamedColumns(_file(folds), **_columns(folds, ("item", "fold"))),
        test_train_ratio=None if folds is None else _ratio(folds),
        metrics=_metrics(evaluation, labels) or default,
        level=evaluation.share("level", 0.95),
        alternative=cast("Alternative", evaluation.choice("alternative", get_args(Alternative), "two-sided")),
        baseline=_baseline(evaluation, systems),
        power=evaluation.share("power", 0.8),
        samples=evaluation.whole("samples", 100) or 2000,
        seed=evaluation.whole("seed", 0) or 0,
        distance=cast("Distance", evaluation.choice("distance", get_args(Distance), "nominal")),
    )


def _needed(top: Section, key: str) -> Section:
    found = top.table(key)
    if found is None:
        raise top.error(f"there is no table [{key}]", f"write [{key}] and its keys")
    return found


def _reference(
    top: Section, reference: Section, annotators: Section | None, labels: tuple[str, ...]
) -> tuple[str, str, str | None]:
    """Rule, what happens to ties, and whom to follow."""
    reference.only(("rule", "file", "item", "label", "document", "ties", "annotator"))
    rule = reference.choice("rule", RULES, "majority" if annotators is not None else "adjudicated")
    ties, follow = reference.text("ties") or LEAVE_OUT, reference.text("annotator")
    if ties != LEAVE_OUT:
        _check_label(reference, "ties", ties, labels)
    if rule == "adjudicated" and "file" not in reference:
        hint = 'write [reference] with file = "...", or add [annotators]'
        raise reference.error("the rule adjudicated lacks a file of labels", hint)
    if rule != "adjudicated" and annotators is None:
        raise top.error(f"the rule {rule} needs annotators", 'write [annotators] with file = "..."')
    if (rule == "annotator") != (follow is not None):
        hint = 'write rule = "annotator" and annotator = "NAME", or neither'
        raise reference.error("the rule annotator and the key annotator go together", hint, key="annotator")
    if rule != "majority" and "ties" in reference:
        raise reference.error(f"the rule {rule} has no ties", "leave ties out", key="ties")
    return rule, ties, follow


def _systems(top: Section, positive: str | None, budget: int | None, labels: int) -> tuple[SystemFile, ...]:
    found: list[SystemFile] = []
    own = ("name", "description", "decision", "threshold")
    for section in top.tables("systems"):
        table = _table(section, ("probability",), also=own)
        name = section.needed("name")
        if name in [each.name for each in found]:
            raise section.error(
                f"two systems have the name {name!r}", "rename one", key="name", code="duplicate"
            )
        binary = labels == 2 and positive is not None
        default = "top" if budget is not None and binary else "most-probable"
        decision, threshold = section.choice("decision", DECISIONS, default), section.number("threshold")
        if decision != "most-probable" and not binary:
            hint = "use most-probable"
            raise section.error(f"the decision {decision} is for two labels", hint, key="decision")
        if decision == "top" and budget is None:
            raise section.error("the decision top lacks a budget", "write budget in [task]", key="decision")
        if threshold is not None and not (0 <= threshold <= 1 and decision in ("top", "threshold")):
            hint = "write a number in [0, 1], with the decision threshold or top"
            raise section.error(f"threshold is {threshold:g}", hint, key="threshold")
        if decision == "threshold" and threshold is None:
            threshold = 0.5
        if "label" in section and "probability" in section:
            hint = "keep one: labels, or probabilities that are decided here"
            raise section.error("a system has a label and a probability", hint, key="label")
        found.append(
            SystemFile(
                name,
                section.text("description") or "",
                table,
                decision,
                threshold,
                "label" in section,
                "probability" in section,
            )
        )
    if not found:
        raise top.error("there are no systems", "write [[systems]] with name and file", code="empty")
    return tuple(found)


def _table(section: Section, columns: tuple[str, ...], also: tuple[str, ...] = ()) -> NamedColumns:
    columns = ("item", "label", *columns)
    section.only((*also, "file", *columns))
    return NamedColumns(_file(section), **_columns(section, columns))


def _columns(section: Section, keys: tuple[str, ...]) -> dict[str, str]:
    found = {key: section.text(key) for key in keys}
    return {key: value for key, value in found.items() if value is not None}


def _file(section: Section) -> Path:
    section.needed("file")
    found = section.file_of("file")
    assert found is not None
    return found


def _ratio(folds: Section) -> float | None:
    ratio = folds.number("test_train_ratio")
    if ratio is not None and ratio <= 0:
        raise folds.error(
            f"test_train_ratio is {ratio:g}", "write 1 / (k - 1) for k folds", "test_train_ratio"
        )
    return ratio


def _check_label(section: Section, key: str, value: str | None, labels: tuple[str, ...]) -> None:
    if value is not None and value not in labels:
        hint = f"the labels are {', '.join(labels[:20])}"
        raise section.error(
            f"{key} is {shown(value)}, not a label of the task", hint, key, code="class-unknown"
        )


def _metrics(evaluation: Section, labels: tuple[str, ...]) -> tuple[str, ...] | None:
    known = ("metrics", "level", "alternative", "baseline", "power", "samples", "seed", "distance")
    metrics = evaluation.only(known).texts("metrics")
    for name in metrics or ():
        kind, colon, label = name.partition(":")
        if name not in AVERAGES and not (colon and kind in OF_A_LABEL):
            every = [*AVERAGES, *(f"{part}:LABEL" for part in OF_A_LABEL)]
            raise evaluation.error(f"there is no metric {name!r}", f"use {', '.join(every)}", key="metrics")
        if colon:
            _check_label(evaluation, f"the label of {name!r}", label, labels)
    return metrics


def _baseline(evaluation: Section, systems: tuple[SystemFile, ...]) -> str | None:
    baseline = evaluation.text("baseline")
    names = [system.name for system in systems]
    if baseline is not None and baseline not in names:
        hint = f"the systems are {', '.join(names[:20])}"
        raise evaluation.error(f"there is no system {baseline!r}", hint, key="baseline")
    return baseline
