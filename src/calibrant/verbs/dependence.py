"""Dependence that a table shows: items with several rows, and rows with the score of the row before."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers
from calibrant.io import Batch, Predictions
from calibrant.io.batches import note_on_ties
from calibrant.io.columns import JointCodes
from calibrant.io.predictions import BATCH_ROWS, ITEMS_NOTE
from calibrant.metrics.copies import Copies
from calibrant.metrics.tally_parts import TALLIED_AT_ONCE
from calibrant.records.words import counted, percent

IN_MEMORY = 10_000_000  # largest number of rows in memory; larger tables are tallied in one pass
FEW_NEIGHBORS = 50  # rows that do not show whether neighbors have equal scores
OFTEN_EQUAL = 0.1  # part of the rows
NO_REPEATS = (
    "No item repeats in the first {:,} rows, so the intervals treat all rows as independent. If items repeat "
    "later, name their column as the column of clusters."
)
CROSSED_NOTE = (
    "Two columns of clusters are named: the calibration error, its test, calibration in the large and Cox's "
    "line take both, and the intervals of bins and the noise floors only the first."
)


def with_item_clusters(
    predictions: Predictions, size: int = BATCH_ROWS, *, items: bool = False, whole: bool = False
) -> Iterator[Batch]:
    """Find out whether an item has several rows (in one slice), which then are a cluster; return the batches.

    Rows are held until an item repeats, at most 10^7. If a table is larger and has no clusters, its first
    2 * 10^6 rows decide, so that memory does not grow with the names of all items; ``whole`` holds all rows.
    An item of a long table with classes has each class once, so that its items repeat in no view of a class.
    ``items`` reads items in any case.
    """
    predictions.items_repeat = False
    if predictions.clustered or not predictions.has_items or predictions.is_long_with_classes:
        return predictions.batches(size, items=items)
    most = IN_MEMORY if (predictions.rows or 0) <= IN_MEMORY else TALLIED_AT_ONCE
    batches, held, joint = predictions.batches(size, items=True), list[Batch](), JointCodes()
    seen, rows = np.zeros(0, bool), 0
    for batch in batches:
        held.append(batch)
        rows += len(batch)
        code = _item_codes(batch, joint)
        count = np.bincount(code, minlength=len(seen))
        if (count > 1).any() or seen[count[: len(seen)].nonzero()].any():
            predictions.items_repeat = True
            return chain(held, batches)
        seen = np.append(seen, np.zeros(len(count) - len(seen), bool)) | (count > 0)
        if rows > most and not whole:
            predictions.notes = tuple(dict.fromkeys([*predictions.notes, NO_REPEATS.format(rows)]))
            return predictions.batches(size, items=items)
    return iter(held)


def _item_codes(batch: Batch, joint: JointCodes) -> Integers:
    """Return the codes of items, or of items in slices."""
    assert batch.item is not None
    return batch.item if batch.slice_code is None else joint.of(batch.slice_code, batch.item)


def with_note(
    predictions: Predictions, batches: Iterator[Batch], opened: Predictions, *, top: bool = False
) -> Iterator[Batch]:
    """Yield batches; then note items that are clusters, tied or without a gold class, and equal neighbors.

    The notes are added to the ``opened`` table, of which ``predictions`` may be another form.
    """
    codes, joint, unknown, tied, rows = [np.zeros(0, np.int64)], JointCodes(), 0, 0, 0
    alike: str | None = None
    copies = Copies()
    for done, batch in enumerate(batches):
        if not done and batch.score.ndim == 1 and batch.class_code is None:
            alike = equal_neighbors(batch.score[:TALLIED_AT_ONCE])
        if batch.score.ndim == 2:
            unknown += int(np.count_nonzero(batch.label < 0))
            if top:
                largest = batch.score == batch.score.max(axis=1, keepdims=True)
                tied, rows = tied + int(np.count_nonzero(largest.sum(axis=1) > 1)), rows + len(batch)
        if predictions.items_repeat and sum(map(len, codes)) <= IN_MEMORY:
            codes.append(_item_codes(batch, joint))
        add_rows(copies, batch, opened)
        yield batch
    notes = [*opened.notes, *predictions.notes, *note_on_ties(tied, rows)]
    if unknown:
        notes.append(
            f"Items without a row that has the label 1: {unknown:,}. Their top label counts as wrong; "
            "leave them out if they were not labeled."
        )
    if opened.crossed:
        notes.append(CROSSED_NOTE)
    if predictions.items_repeat:
        several = int(np.count_nonzero(np.bincount(np.concatenate(codes)) > 1))
        notes.append(ITEMS_NOTE.format(counted(several, "item")))
    if copied := copies_note(copies):
        notes.append(copied)
    elif alike and not (opened.clustered or predictions.items_repeat) and opened.log is None:
        notes.append(alike)
    opened.notes = tuple(dict.fromkeys(notes))


def add_rows(copies: Copies, batch: Batch, predictions: Predictions) -> None:
    """Add the rows of a batch; a row of a wide table is its top label."""
    if predictions.is_long_with_classes:  # where words recur, equal scores are no sign of copies
        return
    score, label = batch.score, batch.label
    if score.ndim == 2:
        score, label = score.max(axis=1), score.argmax(axis=1) == label
    copies.add(score, label.astype(bool), batch.item if batch.cluster is None else batch.cluster)


def copies_note(copies: Copies) -> str | None:
    """Return a note if rows seem to be copies of others."""
    if not (count := copies.count()):
        return None
    return (
        f"Rows seem to be copies of others: {count:,} of {copies.rows:,} have the score and the label of "
        "another row, more than by chance. Drop the copies; if equal rows are of one item or person, name "
        "its column as the column of items or clusters: otherwise the calibration error is too high, and its "
        "interval too narrow."
    )


def equal_neighbors(score: NDArray[np.floating[Any]]) -> str | None:
    """Return a note if rows often have the score of the row before, as several rows of an item have.

    Sorted scores, or such with few different values, do not count.
    """
    step = np.diff(score)
    if len(step) < FEW_NEIGHBORS or (equal := float(np.mean(step == 0))) < OFTEN_EQUAL:
        return None
    up, down = np.count_nonzero(step > 0), np.count_nonzero(step < 0)
    by_chance = float(np.sum((np.unique(score, return_counts=True)[1] / len(score)) ** 2))
    if min(up, down) < (up + down) / 4 or equal < by_chance + OFTEN_EQUAL:
        return None
    return (
        f"{percent(equal, 0)} of rows have the same score as the row before, by chance "
        f"{percent(by_chance, 0)}. If they are of one item or person, name its column as the column of "
        "clusters: otherwise the calibration error is too high, and its interval too narrow."
    )
