"""A whole evaluation from one file: task, reference, agreement, systems, statistics, conclusions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from calibrant import __version__
from calibrant.data import example
from calibrant.evaluation.coefficients import agreement
from calibrant.evaluation.files.protocol_file import ProtocolFile, read_protocol_file
from calibrant.evaluation.results.agreement import Agreement
from calibrant.evaluation.results.protocol import ControlTask, Protocol, Reference, SystemEvaluation
from calibrant.evaluation.verbs._protocol_findings import findings_of
from calibrant.evaluation.verbs._protocol_metrics import metric_of
from calibrant.evaluation.verbs._protocol_reference import Gold, reference_of
from calibrant.evaluation.verbs._protocol_systems import calibration, decided, evaluated
from calibrant.evaluation.verbs._protocol_tests import compared, on_folds
from calibrant.exceptions import InputError
from calibrant.io.atomic import writing
from calibrant.progress import Progress

NO_ANNOTATORS = "the file names no annotators"
ONE_ANNOTATOR = "there is one annotator, and agreement needs two or more"


def protocol(
    path: str | os.PathLike[str], *, progress: Progress | None = None, command: str | None = None
) -> Protocol:
    """Evaluate systems as a file describes it, in five steps.

    The steps: a control task is defined; annotators (or a file) give a reference; their agreement says how
    good it is; systems are scored against it, with intervals, and their probabilities are measured; tests say
    which differences are more than chance. Documents are resampled where they are known, otherwise items.

    Parameters
    ----------
    path
        A TOML file; see `calibrant.evaluation.files.protocol_file.ProtocolFile`. Paths in it are relative to
        its folder.
    progress
        Called now and then with a stage, the work done and the whole work (or None).
    command
        The command line to record.

    Returns
    -------
    Protocol
        For `calibrant.evaluation.protocol_page`.

    Raises
    ------
    InputError
        Naming the file, and the line, row or column, of what cannot be used.

    Examples
    --------
    >>> from calibrant.data import example
    >>> found = protocol(example("summaries"))
    >>> found.reference.items, found.reference.documents, found.metrics
    (125, 12, ('f1:keep', 'accuracy'))
    """
    plan = read_protocol_file(path)
    gold = reference_of(plan)
    found = _agreement(plan, gold)
    metrics = [metric_of(name, plan.labels) for name in plan.metrics]
    systems = [decided(system, gold, plan) for system in plan.systems]
    scored = []
    for done, each in enumerate(systems):
        _say(progress, "scoring", done, len(systems))
        scored.append(evaluated(each, gold, metrics, plan))
    measured = calibration(systems, gold, plan, progress)
    comparisons = []
    for done, metric in enumerate(metrics):
        _say(progress, "comparing", done, len(metrics))
        comparisons.append(compared(systems, gold, metric, plan))
    folds, fold_metric, notes = on_folds(systems, gold, metrics[0], plan)
    task = ControlTask(plan.name, plan.description, plan.labels, plan.positive, plan.budget)
    reason = None
    if found is None:
        reason = NO_ANNOTATORS if gold.ratings is None else ONE_ANNOTATOR
    return Protocol(
        file=plan.path,
        task=task,
        reference=gold.record,
        agreement=found,
        agreement_reason=reason,
        systems=tuple(scored),
        calibration=measured,
        metrics=plan.metrics,
        comparisons=tuple(comparisons),
        folds=folds,
        fold_metric=fold_metric,
        findings=findings_of(task, gold.record, found, scored, measured, comparisons[0], folds, plan.level),
        level=plan.level,
        alternative=plan.alternative,
        power=plan.power,
        samples=plan.samples,
        seed=plan.seed,
        notes=(*notes, *_notes(gold.record, found, scored)),
        version=__version__,
        command=command,
    )


def _agreement(plan: ProtocolFile, gold: Gold) -> Agreement | None:
    if gold.ratings is None or len(gold.ratings.annotators) < 2:
        return None
    return agreement(
        gold.ratings,
        distance=plan.distance,
        clusters=gold.rated_documents,
        level=plan.level,
    )


def _notes(reference: Reference, found: Agreement | None, systems: Sequence[SystemEvaluation]) -> list[str]:
    """What the reader must know of the data."""
    notes = []
    if found is not None and found.missing:
        notes.append(
            f"{found.missing:,} labels of an annotator are missing; what allows for it uses the others."
        )
    if reference.left_out:
        notes.append(f"{reference.left_out:,} items have no label of reference, and count nowhere.")
    if reference.over_budget:
        notes.append(f"The reference exceeds the budget in {reference.over_budget:,} documents.")
    notes += [
        f"{name} exceeds the budget in {number:,} documents."
        for name, number in reference.annotators_over_budget.items()
        if number
    ]
    notes += [
        f"{system.name} has {system.unused:,} items that the reference has not."
        for system in systems
        if system.unused
    ]
    return notes


def _say(progress: Progress | None, stage: str, done: int, whole: int) -> None:
    if progress is not None:
        progress(stage, done, whole)


def write_example(name: str, folder: str | os.PathLike[str] | None = None) -> list[str]:
    """Write an evaluation that ships with the package into a new folder, to start from.

    Parameters
    ----------
    name
        As in `calibrant.data.example`.
    folder
        Where to; None: a folder of that name here.

    Returns
    -------
    list of str
        The files.

    Raises
    ------
    InputError
        There is no such example, or the folder exists.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as here:
    ...     [Path(path).name for path in write_example("sentiment", Path(here) / "sentiment")]
    ['eval.toml', 'sentiment-dated-logistic-regression.parquet', 'sentiment-dated-naive-bayes.parquet']
    """
    source = example(name)
    place = Path(name if folder is None else folder)
    if place.exists():
        hint = "remove it, or go to another folder"
        raise InputError("there is such a folder or file", hint, code="output", file=str(place))
    files = {path.name: path for path in read_protocol_file(source).files}
    files |= {path.name: path for path in source.parent.glob("*.csv")} | {"eval.toml": source}
    place.mkdir(parents=True)
    for target, path in sorted(files.items()):
        with writing(place / target) as file:
            file.write(path.read_bytes())
    return [str(place / target) for target in sorted(files)]
