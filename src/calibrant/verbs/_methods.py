"""Estimators by the names of methods and groupings, and the labeled scores of tables to fit them to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers, Pairs, positive_integer
from calibrant.exceptions import InputError
from calibrant.io import Batch, Predictions
from calibrant.io.batches import joined
from calibrant.io.text import read_class_table
from calibrant.metrics.copies import Copies
from calibrant.metrics.groups import by_frequency
from calibrant.metrics.tally import Tally
from calibrant.metrics.tally_parts import TALLIED_AT_ONCE
from calibrant.metrics.views import reaching
from calibrant.progress import Progress, tell
from calibrant.recalibrate.methods import DRAWS, method_named, with_setting
from calibrant.seeds import Seed
from calibrant.verbs.dependence import IN_MEMORY, add_rows, copies_note

SHARED, PER_CLASS, FREQUENCY = "shared", "class", "frequency"
FEW_GROUPS = 5  # default number of groups by frequency, as in the paper
MOST_DIGITS = 18  # largest number of digits of a count


@dataclass(frozen=True)
class Labelled:
    """Labeled scores in memory.

    Attributes
    ----------
    score
        (n,) scores, or (n, K) scores of a wide table whose rows are mapped as a whole.
    label
        (n,) outcomes 0 or 1 of any type, or positions of the true classes.
    weight
        (n,) weights, or None.
    code
        (n,) codes of classes, or None.
    unit
        (n,) codes of dependent units, if they were requested and exist; else None.
    """

    score: NDArray[np.floating[Any]]
    label: NDArray[Any]
    weight: NDArray[np.float64] | None
    code: Integers | None
    unit: Integers | None = None


def labelled_scores(
    predictions: Predictions,
    threshold: float | None,
    *,
    joint: bool,
    units: bool = False,
    progress: Progress | None,
) -> Labelled | dict[int, Tally]:
    """Read a table into memory, or more than 10^7 rows into one tally per class.

    Scores below the threshold are left out. ``joint`` keeps the rows of a wide table whole, in memory; else
    each score is used by itself. Without classes, the only tally has the key 0. ``units`` requests clusters;
    without a column of clusters, items; and without items, the rows of a wide table.
    """
    predictions.check_one_cluster("a recalibrator")
    parts = _parts(predictions, threshold, joint=joint, units=units, progress=progress)
    held: list[Batch] = []
    rows = 0
    for part in parts:
        held.append(part)
        rows += len(part)
        if rows > IN_MEMORY and not joint:
            return _tallies(chain(held, parts))
    if not rows:
        message = f"no score is as high as the threshold {threshold:g}"
        raise InputError(message, "lower the threshold", code="threshold", file=predictions.name)
    whole = joined(held)
    return Labelled(
        whole.score, whole.label, whole.weight, whole.class_code, whole.cluster if units else None
    )


def _parts(
    predictions: Predictions, threshold: float | None, *, joint: bool, units: bool, progress: Progress | None
) -> Iterator[Batch]:
    """Yield rows of a long table for any form, or rows of a wide table if they stay whole."""
    done = 0
    copies = Copies()
    for batch in predictions.batches(items=units and not predictions.clustered):
        add_rows(copies, batch, predictions)
        if units and batch.cluster is None:
            rows = np.arange(done, done + len(batch)) if predictions.form == "wide" else None
            batch = replace(batch, cluster=rows if batch.item is None else batch.item)
        done += len(batch)
        tell(progress, "reading", done, predictions.rows)
        part = batch if joint or predictions.form == "long" else batch.long()
        if threshold is not None:
            part = part.take(reaching(part.score, threshold))
        if len(part):
            yield part
    if copied := copies_note(copies):
        predictions.notes = tuple(dict.fromkeys([*predictions.notes, copied]))


def _tallies(parts: Iterable[Batch]) -> dict[int, Tally]:
    tallies: dict[int, Tally] = {}
    waiting: list[Batch] = []
    rows = 0
    for part in parts:
        waiting.append(part)
        rows += len(part)
        if rows >= TALLIED_AT_ONCE:
            _add(tallies, joined(waiting))
            waiting, rows = [], 0
    if waiting:
        _add(tallies, joined(waiting))
    return tallies


def _add(tallies: dict[int, Tally], part: Batch) -> None:
    """Add the rows of each class to its tally."""
    if part.class_code is None:
        pieces: list[tuple[int, Batch]] = [(0, part)]
    else:
        order = np.argsort(part.class_code, kind="stable")
        codes, start = np.unique(part.class_code[order], return_index=True)
        pieces = [
            (code, part.take(rows))
            for code, rows in zip(codes.tolist(), np.split(order, start[1:]), strict=True)
        ]
    for code, piece in pieces:
        tally = Tally.from_pairs(Pairs(piece.score, piece.label, piece.weight), exact=False)
        tallies[code] = tallies[code].merge(tally) if code in tallies else tally


@dataclass(frozen=True)
class Grouping:
    """Groups of classes to measure, with settings; the defaults are those of `group_changes`."""

    group: str | Mapping[str, str] | None = None
    groups: int | None = None
    counts: Mapping[str, int] | str | os.PathLike[str] | None = None
    draws: int = DRAWS
    level: float = 0.95
    seed: Seed = 0


def estimator_of(method: str, n_bins: int | Literal["auto"] | None, **settings: Any) -> Any:
    """Return an unfitted estimator; settings that are None keep its defaults.

    Examples
    --------
    >>> estimator_of("histogram", 10)
    HistogramBinning(n_bins=10)
    """
    chosen = method_named(method)
    requested = {"n_bins": n_bins, **settings}
    parameters = {name: value for name, value in requested.items() if value is not None}
    for name in parameters:
        takers = with_setting(name)
        if method not in takers:
            hint = f"leave `{name}` out" + (f", or choose {' or '.join(takers)}" if takers else "")
            raise InputError(f"the method {method} has no {name}", hint, code="parameter")
    if n_bins == "auto":
        del parameters["n_bins"]
    return chosen.make(**parameters)


def class_counts(data: Labelled | dict[int, Tally], classes: Sequence[str]) -> dict[str, int]:
    """Return how often each class is the true class."""
    if isinstance(data, dict):
        return {classes[code]: tally.total_positives for code, tally in data.items()}
    assert data.code is not None
    count = np.bincount(data.code[data.label.astype(bool)], minlength=len(classes))
    return dict(zip(classes, count.tolist(), strict=True))


def named_groups_of(group: str | Mapping[str, str]) -> tuple[str | Mapping[str, str], str]:
    """Return a grouping, read from its file if it is a path, and the name of the grouping."""
    if isinstance(group, Mapping):
        return {str(name): str(home) for name, home in group.items()}, "given"
    if group in (SHARED, PER_CLASS, FREQUENCY):
        return group, group
    try:
        return read_class_table(group), group
    except InputError as error:
        if error.code != "file-missing":
            raise
        hint = "use 'shared', 'class' or 'frequency', or name a file with a class, a tab and a group per line"
        message = f"{group!r} is neither a grouping nor an existing file"
        raise InputError(message, hint, code="file-missing") from error


def counts_of(counts: Mapping[str, int] | str | os.PathLike[str]) -> dict[str, int]:
    """Return how often classes occur, from a mapping or a file."""
    if isinstance(counts, Mapping):
        return dict(counts)
    count_of: dict[str, int] = {}
    for row, (name, text) in enumerate(read_class_table(counts).items(), 1):
        if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
            shown = text if len(text) <= MOST_DIGITS else f"{text[:MOST_DIGITS]}..."
            message = f"the count of {name!r} is {shown!r}"
            hint = f"write a whole number of at most {MOST_DIGITS} digits"
            raise InputError(message, hint, code="column-type", file=os.fspath(counts), row=row)
        count_of[name] = int(text)
    return count_of


def composed(
    estimator: Any,
    group: str | Mapping[str, str],
    groups: int,
    counts: Mapping[str, int],
    min_scores: int | None,
) -> Any:
    """Return an estimator for all classes, made of copies of a single one."""
    from calibrant import recalibrate

    if group == SHARED:
        return recalibrate.Shared(estimator)
    if group == PER_CLASS:
        least: dict[str, Any] = {} if min_scores is None else {"min_scores": min_scores}
        return recalibrate.PerClass(estimator, **least)
    if group == FREQUENCY:
        return recalibrate.PerGroup(estimator, by_frequency(counts, positive_integer(groups, "groups")))
    assert not isinstance(group, str)
    return recalibrate.PerGroup(estimator, members_of(group))


def members_of(homes: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the classes of each group, from the group of each class.

    Examples
    --------
    >>> members_of({"NN": "noun", "VB": "verb", "NNS": "noun"})
    {'noun': ['NN', 'NNS'], 'verb': ['VB']}
    """
    members: dict[str, list[str]] = {}
    for name, home in homes.items():
        members.setdefault(home, []).append(name)
    return members


def check_grouping(group: str, settings: Mapping[str, object]) -> None:
    """Raise an error if a setting of another grouping is given."""
    for name, grouping in (("groups", FREQUENCY), ("counts", FREQUENCY), ("min_scores", PER_CLASS)):
        if settings[name] is not None and group != grouping:
            message = f"{name} is only for groups by {grouping}"
            hint = f"leave `{name}` out, or choose these groups (`group='{grouping}'`)"
            raise InputError(message, hint, code="parameter")


def fit_to(estimator: Any, data: Labelled | dict[int, Tally], classes: Sequence[str]) -> None:
    """Fit to scores in memory, or to tallies."""
    if isinstance(data, dict):
        if classes:
            estimator.fit_tallies({classes[code]: tally for code, tally in data.items()})
        else:
            estimator.fit_tally(data[0])
    elif data.code is not None:
        estimator.fit(data.score, data.label, data.code, data.weight, data.unit, names=classes)
    elif data.score.ndim == 1:
        estimator.fit(data.score, data.label, data.weight, data.unit)
    else:
        label = data.label
        estimator.set_params(classes=list(classes))  # errors then name them
        if any(name.lstrip("-").isdigit() for name in classes):  # else they could be read as positions
            label = np.array(classes)[label]
        estimator.fit(data.score, label, data.weight, data.unit)


def map_count(recalibrator: Any) -> int:
    """Return the number of maps of a recalibrator."""
    maps = getattr(recalibrator, "parts_", None)
    return 1 if maps is None else len(maps)
