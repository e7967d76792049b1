"""Apply a saved recalibrator to the scores of a table."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, Pairs, as_array, shown
from calibrant._checks import scores as unit_scores
from calibrant.exceptions import InputError
from calibrant.io import Batch, Columns, Predictions, open_predictions
from calibrant.io.frames import in_library_of
from calibrant.io.predictions import listed
from calibrant.io.saved_recalibrators import (
    TABLE_KINDS,
    SavedRecalibrator,
    TableKind,
    file_digest,
    load_recalibrator,
)
from calibrant.io.score_kinds import from_numbers
from calibrant.metrics.views import class_probabilities, reaching
from calibrant.verbs.sources import Rows, ViewSource

SAME_DATA = "The maps were fitted to the same data, so their errors here are underestimated."


class Scored(Protocol):
    """A table with scores, with or without labels."""

    name: str
    has_classes: bool
    threshold: float | None

    @property
    def form(self) -> Any:
        """``long`` or ``wide``."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names by code; for a long table, the classes read so far."""


def kind_of(table: Scored) -> TableKind:
    """Return the kind of a table."""
    if table.form == "wide":
        return "wide"
    return "classes" if table.has_classes else "binary"


@contextmanager
def of_file(name: str) -> Iterator[None]:
    """Add the file's name to errors of code that only knows the content."""
    try:
        yield
    except InputError as error:
        if error.file is None:
            error.file = name
        raise


class Recalibration:
    """Map from the scores of one table to recalibrated scores, by batches, with counts.

    With ``every_row``, it receives all rows of a long table in their order, so that errors can name a row.

    Attributes
    ----------
    scores
        Number of scores so far.
    below, beyond
        Numbers of scores below the threshold of the fit, which stay unchanged, and outside its range.
    """

    def __init__(self, model: SavedRecalibrator, table: Scored, *, every_row: bool = False) -> None:
        kind = kind_of(table)
        if kind != model.kind:
            fitted, given = TABLE_KINDS[model.kind], TABLE_KINDS[kind]
            hint = "fit a recalibrator to a table of the same form"
            if model.kind == "classes" and kind == "binary":
                hint = f"name the column of its classes or groups by `columns={{'class': ...}}`, or {hint}"
            if "binary" not in (kind, model.kind):
                hint += f", or convert it: `calibrant convert --to {'long' if kind == 'wide' else 'wide'}`"
            message = f"the recalibrator is for {fitted}, and the table is {given}"
            raise InputError(message, hint, code="view", file=table.name)
        if kind == "wide":
            _check_classes(model, table)
        self._model = model
        self._table = table
        self._every_row = every_row
        self._low, self._high = model.recalibrator.score_range_
        self.scores = 0
        self.below = 0
        self.beyond = 0

    @property
    def new_classes(self) -> tuple[str, ...]:
        """Classes of the table that were not in the fit."""
        known = set(self._model.classes)
        return tuple(name for name in self._table.classes if name not in known)

    def __call__(self, scores: Floats, codes: Integers | None) -> Floats:
        """Return recalibrated scores, (n,) of a long table with codes of classes or (n, K) of a wide one."""
        self.scores += scores.size
        threshold = self._model.threshold
        reached = None if threshold is None else reaching(scores, threshold)
        kept = scores if reached is None else scores[reached]
        self.below += scores.size - kept.size
        self.beyond += int(np.count_nonzero((kept < self._low) | (kept > self._high)))
        try:
            with of_file(self._table.name):
                return self._mapped(scores, codes, reached)
        except InputError as error:
            if error.code == "class-unknown" and codes is not None and self._every_row:
                new = np.array([name not in self._model.classes for name in self._table.classes])
                error.row = self.scores - scores.size + 1 + int(np.argmax(new[codes]))
            raise

    def _mapped(self, scores: Floats, codes: Integers | None, reached: NDArray[np.bool_] | None) -> Floats:
        if self._model.kind == "wide":
            recalibrator: Any = self._model.recalibrator
            names = list(self._table.classes)
            order = [names.index(name) for name in self._model.classes]
            rows = np.empty(scores.shape)
            rows[:, order] = recalibrator.transform(scores[:, order])
            return rows
        if reached is None or reached.all():
            return self._long(scores, codes)
        new = scores.copy()
        if reached.any():
            new[reached] = self._long(scores[reached], None if codes is None else codes[reached])
        return new

    def _long(self, scores: Floats, codes: Integers | None) -> Floats:
        recalibrator: Any = self._model.recalibrator
        new: Floats
        if codes is None:
            new = recalibrator.transform(scores)
        else:
            new = recalibrator.transform(scores, codes, names=self._table.classes)
        return new


@dataclass
class _Array:
    """Scores in memory, in the recalibrator's order of classes."""

    form: str
    classes: tuple[str, ...] = ()
    has_classes: bool = False
    name: str = "p"
    threshold: float | None = None


def array_scores(model: SavedRecalibrator, source: Any) -> Any:
    """Return recalibrated scores as an array of the library of ``source``.

    ``source`` is (n,) scores, (n, 2) of two classes for a recalibrator of binary tables, or (n, K) with the
    recalibrator's classes in its order.
    """
    scores = as_array(source, "p")
    if scores.ndim not in (1, 2) or scores.dtype.kind not in "iuf":
        message = f"p is {shown(source)}, not a table or array of probabilities"
        hint = "pass a table, (n,) scores of one event, or (n, K) of K classes"
        raise InputError(message, hint, code="source")
    matrix = scores.astype(np.float64)
    if scores.ndim == 1:
        if model.score_kind != "probability":
            matrix = from_numbers(matrix, model.score_kind)
        matrix = unit_scores(matrix, "p").astype(np.float64, copy=False)
    else:
        matrix = class_probabilities(matrix, "p").astype(np.float64, copy=False)
    width = 1 if scores.ndim == 1 else matrix.shape[1]
    if model.kind == "binary" and width == 2:
        new = Recalibration(model, _Array("long"))(np.ascontiguousarray(matrix[:, 1]), None)
        return in_library_of(source, np.column_stack([1 - new, new]))
    if model.kind == "wide" and width not in (1, len(model.classes)):
        message = f"p has {width} columns, and the recalibrator has {len(model.classes)} classes"
        hint = f"pass one column per class, in this order: {listed(model.classes)}"
        raise InputError(message, hint, code="shape")
    array = _Array("long") if scores.ndim == 1 else _Array("wide", model.classes, has_classes=True)
    return in_library_of(source, Recalibration(model, array)(matrix, None))


def _check_classes(model: SavedRecalibrator, table: Scored) -> None:
    if table.threshold is not None:
        message = "scores below a threshold were left out, so rows of the wide table are incomplete"
        hint = "write all scores, or a long table"
        raise InputError(message, hint, code="threshold", file=table.name)
    for own, known, what in (
        (table.classes, model.classes, "is not among those of the recalibrator"),
        (model.classes, table.classes, "is missing"),
    ):
        lost = [name for name in own if name not in known]
        if lost:
            hint = f"the recalibrator's classes are {listed(model.classes)}"
            raise InputError(f"the class {lost[0]!r} {what}", hint, code="class-unknown", file=table.name)


def recalibrated(predictions: Predictions, model: SavedRecalibrator) -> Predictions:
    """Return the same table with scores that are recalibrated when they are read."""
    Recalibration(model, predictions)

    def read(size: int, items: bool) -> Iterator[Batch]:
        change = Recalibration(model, predictions)
        for batch in predictions.batches(size, items=items):
            yield replace(batch, score=change(batch.score.astype(np.float64, copy=False), batch.class_code))

    return predictions.through(read, f"{predictions.name}, recalibrated")


def before_and_after(
    sources: Sequence[Any],
    model: SavedRecalibrator | str | os.PathLike[str],
    columns: Columns | Mapping[str, Any] | None,
) -> tuple[list[Predictions], SavedRecalibrator, str, list[str]]:
    """Return a table before and after recalibration, the recalibrator, its name, and notes."""
    if len(sources) != 1:
        message = f"{len(sources)} tables are given with a recalibrator"
        raise InputError(message, "give one table with the recalibrator (`model`)", code="parameter")
    saved = load_recalibrator(model)
    called = "a recalibrator" if isinstance(model, SavedRecalibrator) else os.fspath(model)
    named = Columns.of(columns)
    if named.score_kind == "probability":
        named = replace(named, score_kind=saved.score_kind)
    before = open_predictions(sources[0], named)
    how = saved.method if saved.group is None else f"{saved.method}, {saved.group}"
    fitted = "" if saved.source is None else f" on {saved.source}"
    notes = [f"After: the scores as {called} maps them ({how}; fitted{fitted})."]
    if saved.digest is not None and saved.digest == digest_of(sources[0], before):
        notes.append(SAME_DATA)
    return [before, recalibrated(before, saved)], saved, called, notes


def digest_of(source: Any, opened: Predictions) -> str | None:
    """Return the SHA-256 of a file, or of the scores and labels of a table in memory; None if neither."""
    if isinstance(source, (str, os.PathLike)):
        return file_digest(source)
    if opened.lazy is not None:
        return None
    digest = hashlib.sha256()
    for batch in opened.batches():
        digest.update(batch.score.astype(np.float64).tobytes() + batch.label.astype(np.int64).tobytes())
    return digest.hexdigest()


def by_row(source: ViewSource) -> ViewSource:
    """Return a source whose pairs in memory are identified by their rows, even if top labels differ."""
    if not isinstance(source.source, Pairs):
        return source
    return replace(source, rows=Rows(source.source.outcome * (source.view != "top"), None))
