"""The data of a fit: labeled scores with the codes of their classes, or one tally per class."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers, Pairs
from calibrant.exceptions import InputError
from calibrant.io import Batch, Predictions
from calibrant.io.readers import joined
from calibrant.metrics.tally import Tally
from calibrant.metrics.views import reaching
from calibrant.progress import Progress, tell
from calibrant.verbs.sources import IN_MEMORY, TALLIED_AT_ONCE


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
    for batch in predictions.batches(items=units and not predictions.clustered):
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


def _tallies(parts: Iterable[Batch]) -> dict[int, Tally]:
    found: dict[int, Tally] = {}
    waiting: list[Batch] = []
    rows = 0
    for part in parts:
        waiting.append(part)
        rows += len(part)
        if rows >= TALLIED_AT_ONCE:
            _add(found, joined(waiting))
            waiting, rows = [], 0
    if waiting:
        _add(found, joined(waiting))
    return found


def _add(found: dict[int, Tally], part: Batch) -> None:
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
        found[code] = found[code].merge(tally) if code in found else tally
