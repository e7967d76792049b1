"""Find rows of a test table in the table to which a recalibrator was fitted."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from calibrant._checks import Integers
from calibrant.io import Predictions
from calibrant.io.readers import joined
from calibrant.records.words import counted

MOST = 1 << 21  # scores of each table; larger ones are not compared
NEARLY_ALL = 0.9
FEWEST = 20  # scores that tell rows apart
BY_CHANCE = 1e-3
SAME_DATA = "The maps were fitted to the same data, so their errors here are underestimated."


@dataclass(frozen=True)
class _Scores:
    """Scores of a table, one per item and class.

    Attributes
    ----------
    place
        (n,) code of the item and class, equal in both tables; None if a table names no items.
    item
        (n,) code of the item, or None.
    key
        (n,) code of the class, the score in float32 and, in the lowest bit, the label.
    """

    place: Integers | None
    item: Integers | None
    key: Integers


def overlap_note(test: Predictions, dev: Predictions) -> str | None:
    """Return a note if items or rows of a test table are in dev; None if none are found.

    Names of items are not enough, because many tables number their items from 1: rows of the same name must
    have the same score and label, more often than by chance. Without names, rows are found by scores that
    only one row of each table has, or because all rows are equal in their order. Scores are compared in
    float32, as one of the files may have them.
    """
    classes: dict[str, int] = {}
    items: dict[str, int] = {}
    one, other = _scores(test, classes, items), _scores(dev, classes, items)
    if one is None or other is None:
        return None
    chance = _chance(one.key, other.key)
    if one.place is not None and one.item is not None and other.place is not None:
        _, mine, theirs = np.intersect1d(one.place, other.place, return_indices=True)
        equal = one.key[mine] == other.key[theirs]
        found = np.count_nonzero(equal)
        if found and equal.mean() >= NEARLY_ALL and chance <= 0.5 and chance**found < BY_CHANCE:
            shared, whole = len(np.unique(one.item[mine[equal]])), len(np.unique(one.item))
            if shared == whole:
                return SAME_DATA
            return (
                f"{shared} of {counted(whole, 'item')} of the test table are in dev: the maps were fitted to "
                "them, so their errors here are underestimated."
            )
    return SAME_DATA if _same_rows(one.key, other.key) or _in_order(one.key, other.key, chance) else None


def _scores(table: Predictions, classes: dict[str, int], items: dict[str, int]) -> _Scores | None:
    """Read the scores of a table; new names of classes and items get the next codes of both tables."""
    held, rows = [], 0
    for batch in table.batches(items=True):
        long = batch.long() if table.form == "wide" else batch
        held.append(replace(long, weight=None, cluster=None, slice_code=None))
        rows += len(long)
        if rows > MOST:
            return None
    if not held:
        return None
    whole = joined(held)
    bits = whole.score.astype(np.float32).view(np.uint32).astype(np.int64)
    key = bits << 1 | whole.label.astype(np.int64)
    code = np.zeros(rows, np.int64)
    if whole.class_code is not None:
        code = np.array([classes.setdefault(name, len(classes)) for name in table.classes])[whole.class_code]
        key |= code << 33
    if whole.item is None:
        return _Scores(None, None, key)
    item = np.array([items.setdefault(str(name), len(items)) for name in table.items])[whole.item]
    return _Scores(item << 20 | code, item, key)


def _chance(one: Integers, other: Integers) -> float:
    """Return the probability that a row of each table are equal."""
    (known, count), (others, other_count) = (np.unique(key, return_counts=True) for key in (one, other))
    _, mine, theirs = np.intersect1d(known, others, assume_unique=True, return_indices=True)
    return float((count[mine] / len(one)) @ (other_count[theirs] / len(other)))


def _same_rows(one: Integers, other: Integers) -> bool:
    """Return True if nearly all scores that one row of test has are of one row of dev, with its label.

    Scores of a few digits that differ from row to row are found in one row of another dev table with a
    probability of at most 1 / e.
    """
    (known, key), (others, other_key) = _single(one), _single(other)
    _, mine, theirs = np.intersect1d(known, others, assume_unique=True, return_indices=True)
    found = np.count_nonzero(key[mine] == other_key[theirs])
    return len(key) >= FEWEST and bool(found >= NEARLY_ALL * len(key))


def _single(key: Integers) -> tuple[Integers, Integers]:
    """Return the scores that only one row has, and the keys of these rows."""
    score, first, count = np.unique(key >> 1, return_index=True, return_counts=True)
    return score[count == 1], key[first[count == 1]]


def _in_order(one: Integers, other: Integers, chance: float) -> bool:
    """Return True if all rows are equal in their order, which sorted rows of few scores can be by chance."""
    is_sorted = not ((one[1:] < one[:-1]).any() and (one[1:] > one[:-1]).any())
    return bool(np.array_equal(one, other) and not is_sorted and chance ** len(one) < BY_CHANCE)
