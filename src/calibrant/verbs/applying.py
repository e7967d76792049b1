"""A saved recalibrator at work on the scores of a table: what it takes, and what it makes of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs
from calibrant.exceptions import InputError
from calibrant.io import Batch, Columns, Predictions, open_predictions
from calibrant.io.predictions import listed
from calibrant.io.readers import Reader
from calibrant.io.saved import tally_view
from calibrant.io.saved_recalibrators import (
    TABLE_KINDS,
    SavedRecalibrator,
    TableKind,
    file_digest,
    load_recalibrator,
)
from calibrant.metrics.tally import Tally
from calibrant.verbs.sources import Rows, ViewSource

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Scored(Protocol):
    """A table with scores, with labels or without."""

    name: str
    has_classes: bool
    threshold: float | None

    @property
    def form(self) -> Any:
        """``long`` or ``wide``."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names by code; of a long table, those met so far."""


def kind_of(table: Scored) -> TableKind:
    """Return what the scores of a table are."""
    if table.form == "wide":
        return "wide"
    return "classes" if table.has_classes else "binary"


@contextmanager
def of_file(name: str) -> Iterator[None]:
    """Name the file in errors of those who only know its content."""
    try:
        yield
    except InputError as error:
        if error.file is None:
            error.file = name
        raise


class Mending:
    """Maps the scores of one table, batch by batch, and counts what it meets.

    With ``every_row``, it is given all rows of a long table in their order, so that errors name a row.

    Attributes
    ----------
    scores
        Scores so far.
    below, beyond
        Those below the threshold of the fit, which stay; those outside the range of the fit.
    """

    def __init__(self, model: SavedRecalibrator, table: Scored, *, every_row: bool = False) -> None:
        kind = kind_of(table)
        if kind != model.kind:
            message = f"the recalibrator is of {TABLE_KINDS[model.kind]}, and this is {TABLE_KINDS[kind]}"
            hint = "fit one on a table of the same form"
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
        """Classes met that were not there at the fit."""
        known = set(self._model.classes)
        return tuple(name for name in self._table.classes if name not in known)

    def __call__(self, scores: Floats, codes: Integers | None) -> Floats:
        """Return new scores (n,) of a long table with the codes of classes, or (n, K) of a wide one."""
        self.scores += scores.size
        threshold = self._model.threshold
        taken = None if threshold is None else scores >= threshold
        kept = scores if taken is None else scores[taken]
        self.below += scores.size - kept.size
        self.beyond += int(np.count_nonzero((kept < self._low) | (kept > self._high)))
        try:
            with of_file(self._table.name):
                return self._mapped(scores, codes, taken)
        except InputError as error:
            if error.code == "class-unknown" and codes is not None and self._every_row:
                new = np.array([name not in self._model.classes for name in self._table.classes])
                error.row = self.scores - scores.size + 1 + int(np.argmax(new[codes]))
            raise

    def _mapped(self, scores: Floats, codes: Integers | None, taken: NDArray[np.bool_] | None) -> Floats:
        if self._model.kind == "wide":
            return self._wide(scores)
        if taken is None or taken.all():
            return self._long(scores, codes)
        new = scores.copy()
        if taken.any():
            new[taken] = self._long(scores[taken], None if codes is None else codes[taken])
        return new

    def _long(self, scores: Floats, codes: Integers | None) -> Floats:
        recalibrator: Any = self._model.recalibrator
        new: Floats
        if codes is None:
            new = recalibrator.transform(scores)
        else:
            new = recalibrator.transform(scores, codes, names=self._table.classes)
        return new

    def _wide(self, scores: Floats) -> Floats:
        """Map rows in the model's order of classes; maps of single scores need new sums of 1."""
        names = list(self._table.classes)
        order = [names.index(name) for name in self._model.classes]
        recalibrator: Any = self._model.recalibrator
        width = len(order)
        new = np.empty(scores.shape)
        if recalibrator.n_features_in_ > 1:
            new[:, order] = recalibrator.transform(scores[:, order])
            return new
        codes = np.tile(np.arange(width), len(scores))
        single = recalibrator.transform(scores[:, order].ravel(), codes, names=self._model.classes)
        new[:, order] = normalised(single.reshape(-1, width))
        return new


def normalised(scores: Floats) -> Floats:
    """Divide rows by their sums; equal probabilities where all are 0.

    Examples
    --------
    >>> normalised(np.array([[0.3, 0.3], [0.0, 0.0]])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    total = scores.sum(axis=1, keepdims=True)
    equal = np.full(scores.shape, 1 / scores.shape[1])
    np.divide(scores, total, out=equal, where=total > 0)
    return equal


def _check_classes(model: SavedRecalibrator, table: Scored) -> None:
    if table.threshold is not None:
        message = "a wide table that left scores out has no rows of probabilities to map"
        raise InputError(message, "write a long table, or every score", code="threshold", file=table.name)
    for there, known, what in (
        (table.classes, model.classes, "is not among those of the recalibrator"),
        (model.classes, table.classes, "is missing"),
    ):
        lost = [name for name in there if name not in known]
        if lost:
            hint = f"the recalibrator's classes are {listed(model.classes)}"
            raise InputError(f"the class {lost[0]!r} {what}", hint, code="class-unknown", file=table.name)


class _MendedReader:
    """Reads a table with its scores recalibrated."""

    def __init__(self, reader: Reader, model: SavedRecalibrator, table: Predictions) -> None:
        self._reader = reader
        self._model = model
        self._table = table
        self.cluster_codes = reader.cluster_codes
        self.item_codes = reader.item_codes
        self.class_codes = reader.class_codes

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield checked batches with new scores."""
        change = Mending(self._model, self._table)
        for batch in self._reader.batches(size, items):
            yield replace(batch, score=change(batch.score.astype(np.float64, copy=False), batch.class_code))


def mended(predictions: Predictions, model: SavedRecalibrator) -> Predictions:
    """Return the same table with its scores recalibrated as it is read.

    Raises
    ------
    InputError
        If the model is of another kind.
    """
    Mending(model, predictions)
    return predictions.through(
        lambda reader: _MendedReader(reader, model, predictions), f"{predictions.name}, recalibrated"
    )


def before_and_after(
    sources: Sequence[Any], model: SavedRecalibrator | str | os.PathLike[str], columns: Columns | None
) -> tuple[list[Predictions], SavedRecalibrator, str, list[str]]:
    """The one table of a report as it is and recalibrated, the recalibrator, its name, and notes.

    Raises
    ------
    InputError
        If there are several tables, or the model does not go with this one.
    """
    if len(sources) != 1:
        message = f"{len(sources)} tables and a recalibrator are given"
        raise InputError(message, "give one table with it (`model`)", code="parameter")
    if not isinstance(sources[0], Predictions) and _is_tally(sources[0]):
        message, hint = "a tally does not keep its scores apart", "give the table itself"
        raise InputError(message, hint, code="parameter")
    called = "a recalibrator" if isinstance(model, SavedRecalibrator) else os.fspath(model)
    saved = model if isinstance(model, SavedRecalibrator) else load_recalibrator(model)
    before = open_predictions(sources[0], columns)
    how = saved.method if saved.group is None else f"{saved.method}, {saved.group}"
    fitted = "" if saved.source is None else f" on {saved.source}"
    notes = [f"After: the scores as {called} maps them ({how}; fitted{fitted})."]
    same = isinstance(sources[0], (str, os.PathLike)) and sources[0] != "-" and saved.digest is not None
    if same and file_digest(sources[0]) == saved.digest:
        notes.append("The map was fitted on these very data: its error here is too low.")
    return [before, mended(before, saved)], saved, called, notes


def by_row(source: ViewSource) -> ViewSource:
    """Say that pairs in memory are told apart by their rows alone, whatever was dropped of the table."""
    if not isinstance(source.source, Pairs):
        return source
    return replace(source, rows=Rows(source.source.outcome, None))


def _is_tally(source: Any) -> bool:
    return isinstance(source, Tally) or (
        isinstance(source, (str, os.PathLike)) and tally_view(source) is not None
    )
