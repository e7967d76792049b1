"""Pair the rows of two models on the same items, and find test rows to which a recalibrator was fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from calibrant._checks import Integers, Pairs, shown
from calibrant.exceptions import InputError
from calibrant.io import Predictions
from calibrant.io.batches import joined
from calibrant.io.predictions import listed
from calibrant.metrics.compare import accuracy, error_difference, mean_difference
from calibrant.metrics.crossed import CrossedPairs
from calibrant.metrics.multiplicity import adjusted_p_values
from calibrant.metrics.tally_parts import compact
from calibrant.records.words import counted
from calibrant.results.drawing import AccuracyDifference
from calibrant.results.intervals import ErrorDifference
from calibrant.seeds import Seed
from calibrant.verbs.applying import SAME_DATA
from calibrant.verbs.sources import CLASS, Names, Rows, ViewSource

NOT_PAIRED = (
    "their rows are not paired by a column of items, and in the order of rows their labels or classes differ"
)

ANSWERS = ("top", "binary")  # views of answers that are right or wrong
MOST = 1 << 21  # scores of each table; larger ones are not compared
NEARLY_ALL = 0.9
FEWEST = 20  # scores that tell rows apart
BY_CHANCE = 1e-3


def difference_of(one: ViewSource, other: ViewSource, *, level: float, seed: Seed) -> ErrorDifference | str:
    """Return the difference of two models' errors for one view, or the reason why there is none.

    Raises
    ------
    InputError
        If the tables have different gold labels for an item.
    """
    both = paired(one, other)
    if isinstance(both, str):
        return both
    if any(isinstance(pairs, CrossedPairs) for pairs in both):
        return "two columns of clusters are named, and a difference takes one"
    first, second = both[0], _clustered_as(*both)
    for name, mine, theirs in (
        ("clusters", first.cluster, second.cluster),
        ("weights", first.weight, second.weight),
    ):
        if (mine is None) != (theirs is None):
            return f"only one of them has {name}"
        if not np.array_equal(
            np.zeros(0) if mine is None else mine, np.zeros(0) if theirs is None else theirs
        ):
            return f"their {name} differ"
    return error_difference(first, second, level=level, seed=seed)


def accuracies_of(
    names: Sequence[str],
    sources: Sequence[Sequence[ViewSource]],
    tasks: Sequence[Mapping[str, str]],
    level: float,
) -> tuple[AccuracyDifference, ...]:
    """Return the differences of the models' accuracies, over all items and by task.

    Parameters
    ----------
    names
        Names of the models.
    sources
        Views of each model; the accuracy is that of ``top``, or of ``binary`` with scores of at least 0.5.
    tasks
        Task of each item of each model; empty without tasks.
    level
        Nominal coverage of each interval.
    """
    by_view = [{source.view: source for source in views} for views in sources]
    over_all: list[AccuracyDifference] = []
    by_task: list[AccuracyDifference] = []
    for first, second in combinations(range(len(names)), 2):
        view = next((view for view in ANSWERS if view in by_view[first] and view in by_view[second]), None)
        if view is None:
            continue
        pair = by_view[first][view], by_view[second][view]
        called = names[first], names[second]
        over_all += _accuracies(*pair, called, None, level)
        parts = [
            _by_task(source, own) for source, own in zip(pair, (tasks[first], tasks[second]), strict=True)
        ]
        shared = [task for task in parts[0] if task in parts[1]]
        if len({*parts[0], *parts[1]}) > 1:
            for task in shared:
                by_task += _accuracies(parts[0][task], parts[1][task], called, task, level)
    return tuple(
        structs.replace(row, adjusted_p_value=p_value)
        for rows in (over_all, by_task)
        for row, p_value in zip(rows, adjusted_p_values([row.p_value for row in rows]), strict=True)
    )


def _accuracies(
    one: ViewSource, other: ViewSource, names: tuple[str, str], task: str | None, level: float
) -> list[AccuracyDifference]:
    """Return the difference of the accuracies on the items that both have; none if they cannot be paired."""
    mine, theirs, _ = in_common(one, other, names)
    both = paired(mine, theirs)
    if isinstance(both, str) or any(isinstance(pairs, CrossedPairs) for pairs in both):
        return []
    first, second = both[0], _clustered_as(*both)
    if any(
        (a is None) != (b is None)
        for a, b in ((first.cluster, second.cluster), (first.weight, second.weight))
    ):
        return []
    right = [
        pairs.label if one.view == "top" else (pairs.score >= 0.5) == pairs.label for pairs in (first, second)
    ]
    gap, p_value = mean_difference(right[0].astype(np.float64) - right[1], first, level)
    if gap.low is not None and gap.high is not None:
        gap = structs.replace(gap, low=max(-1.0, gap.low), high=min(1.0, gap.high))
    return [
        AccuracyDifference(
            task=task,
            view=one.view,
            first=names[0],
            second=names[1],
            items=len(first),
            first_accuracy=accuracy(right[0], first, level),
            second_accuracy=accuracy(right[1], second, level),
            difference=gap,
            p_value=p_value,
            adjusted_p_value=None,
            level=level,
        )
    ]


def _by_task(source: ViewSource, tasks: Mapping[str, str]) -> dict[str, ViewSource]:
    """Return the pairs of each task."""
    if not tasks or source.rows is None or source.rows.item is None or not isinstance(source.source, Pairs):
        return {}
    item = source.rows.item
    known, code = np.unique([tasks[str(name)] for name in item.known.tolist()], return_inverse=True)
    own = code[item.code]
    return {str(task): _of(source, np.flatnonzero(own == place)) for place, task in enumerate(known)}


def in_common(
    one: ViewSource, other: ViewSource, names: tuple[str, str]
) -> tuple[ViewSource, ViewSource, list[str]]:
    """Return both models' pairs of the items that both have, and a note on the items left out.

    The sources are returned unchanged if their items are unknown, repeated, the same, or all different.
    """
    known = [
        view.rows.item
        for view in (one, other)
        if isinstance(view.source, Pairs) and view.rows and view.rows.item and not view.rows.repeated
    ]
    if len(known) < 2:
        return one, other, []
    first, second, count = _shared(*known)
    has = [np.bincount(codes, minlength=count) > 0 for codes in (first, second)]
    both = has[0] & has[1]
    if not both.any() or np.array_equal(has[0], has[1]):
        return one, other, []
    left_out = []
    for name, item, codes in zip(names, known, (first, second), strict=True):
        alone = list(map(str, np.sort(item.part(~both[codes]).known).tolist()))
        if alone:
            left_out.append(f"{counted(len(alone), 'item')} of {name} only ({listed(alone, most=3)})")
    kept = counted(int(np.count_nonzero(both)), "item")
    note = (
        f"The difference of {names[0]} and {names[1]} ({one.view}) is of the {kept} that both have. "
        f"It leaves out {' and '.join(left_out)}."
    )
    return _of(one, np.flatnonzero(both[first])), _of(other, np.flatnonzero(both[second])), [note]


def _of(view: ViewSource, places: Integers) -> ViewSource:
    """Return some pairs of a view in memory, with the names of these rows."""
    assert isinstance(view.source, Pairs)
    assert view.rows is not None
    truth, item, part = view.rows.truth, view.rows.item, view.rows.part
    rows = Rows(
        None if truth is None else truth[places],
        None if item is None else item.part(places),
        part=None if part is None else part.part(places),
    )
    return ViewSource(view.view, compact(view.source.part(places))[0], view.threads, rows=rows)


def paired(one: ViewSource, other: ViewSource) -> tuple[Pairs, Pairs] | str:
    """Return the pairs of two models in the same order: by item if both have items, else by row.

    Return a reason instead for tallies, repeated items, different items, or (without item names) different
    numbers of items or gold labels.
    """
    if not isinstance(one.source, Pairs) or not isinstance(other.source, Pairs):
        return "a tally does not contain single items"
    if one.rows is None or other.rows is None:
        return "scores below a threshold were dropped, so the pairs have different items and classes"
    if repeated := list(dict.fromkeys(one.rows.repeated + other.rows.repeated)):
        hint = "Give each row its own item, such as q7/run2, and name the column with q7 as the cluster"
        return f"items are in more than one row: {listed(repeated, most=5)}. {hint}"
    if len(one.source) != len(other.source):
        count = f"they have {len(one.source):,} and {len(other.source):,} pairs"
        return _unlike(one.rows, other.rows) or count
    if one.rows.item is None or other.rows.item is None:
        mine, theirs = one.rows.truth, other.rows.truth
        same = mine is not None and theirs is not None and np.array_equal(mine, theirs)
        if one.rows.part is not None and other.rows.part is not None:
            same = same and np.array_equal(*_shared(one.rows.part, other.rows.part)[:2])
        return (one.source, other.source) if same else NOT_PAIRED
    order = _orders(one.rows, other.rows)
    if isinstance(order, str):
        return order
    _check_truth(one.rows, other.rows, order, one.view)
    return one.source.part(order[0]), other.source.part(order[1])


def _orders(one: Rows, other: Rows) -> tuple[Integers, Integers] | str:
    """Return orders that align the items, and the classes of pooled pairs; else the reason why none do."""
    assert one.item is not None
    assert other.item is not None
    first, second, _ = _shared(one.item, other.item)
    if one.part is not None and other.part is not None:
        mine, theirs, count = _shared(one.part, other.part)
        first, second = first * count + mine, second * count + theirs
    if np.array_equal(first, second):
        mine = theirs = np.arange(len(first))
    else:
        mine, theirs = np.argsort(first, kind="stable"), np.argsort(second, kind="stable")
        first, second = first[mine], second[theirs]
        if not np.array_equal(first, second):
            return _unlike(one, other) or "the classes of their items differ"
    return mine, theirs


def _unlike(one: Rows, other: Rows) -> str:
    """Return examples of items if two models have none in common, and what to do; else nothing."""
    if (
        one.item is None
        or other.item is None
        or len(np.intersect1d(*_alike(one.item.known, other.item.known)))
    ):
        return ""
    first, second = (listed([*map(str, names.known.tolist())], most=3) for names in (one.item, other.item))
    return f"they have no item in common ({first}; {second}). Write the same names in both files"


def _shared(one: Names, other: Names) -> tuple[Integers, Integers, int]:
    """Return the names of both as codes of one list, and its length."""
    first, second = _alike(one.known, other.known)
    known, code = np.unique(np.concatenate([first, second]), return_inverse=True)
    return code[: len(first)][one.code], code[len(first) :][other.code], len(known)


def _alike(first: NDArray[Any], second: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both lists of names as text if only one of them is text."""
    if isinstance(first[0], str) != isinstance(second[0], str):
        return first.astype(str), second.astype(str)
    return first, second


def _check_truth(one: Rows, other: Rows, order: tuple[Integers, Integers], view: str) -> None:
    assert one.item is not None
    if one.truth is None or other.truth is None:
        return
    differ = np.flatnonzero(one.truth[order[0]] != other.truth[order[1]])
    if len(differ):
        place = int(order[0][differ[0]])
        [item] = one.item.known[[one.item.code[place]]].tolist()
        message = (
            f"the tables have different labels of item {shown(item)} ({len(differ)} such items; view {view})"
        )
        hint = "compare predictions with the same gold labels"
        if view != "top":
            hint += "; if a label tells whether the model's own answer is right, add `view='top'`"
        raise InputError(message, hint, code="label-value")


def _clustered_as(first: Pairs, second: Pairs) -> Pairs:
    """Return the second pairs with the first pairs' numbers of clusters, if clusters are the same sets."""
    if first.cluster is None or second.cluster is None:
        return second
    both = np.unique(first.cluster * second.cluster_count + second.cluster)
    if not len(both) == first.cluster_count == second.cluster_count:
        return second
    return replace(second, cluster=first.cluster)


def view_notes(names: Sequence[str], views: Sequence[Sequence[str]]) -> list[str]:
    """Return notes on models that were not measured for a view of the others.

    Examples
    --------
    >>> view_notes(["a", "b"], [["binary"], ["top", "binary"]])
    ['top was measured only for b.']
    """
    every = list(dict.fromkeys(view for own in views for view in own))
    notes = []
    for view in every:
        having = [name for name, own in zip(names, views, strict=True) if view in own]
        if not view.startswith(CLASS) and len(having) < len(names):
            notes.append(f"{view} was measured only for {listed(having)}.")
    classes = {view for view in every if view.startswith(CLASS)}
    lacking = [name for name, own in zip(names, views, strict=True) if not classes <= set(own)]
    if len(classes) > 1 and len(lacking) == len(names):
        notes.append("There is no table of classes: no model was measured for the classes of all models.")
    elif len(classes) > 1 and lacking:
        notes.append(
            f"The table of classes leaves out {listed(lacking)}, which were not measured for these classes."
        )
    return notes


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
        matches = np.count_nonzero(equal)
        if matches and equal.mean() >= NEARLY_ALL and chance <= 0.5 and chance**matches < BY_CHANCE:
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
    """Return True if nearly all scores that one row of test has are of one row of dev, with its label."""
    (known, key), (others, other_key) = _single(one), _single(other)
    _, mine, theirs = np.intersect1d(known, others, assume_unique=True, return_indices=True)
    matches = np.count_nonzero(key[mine] == other_key[theirs])
    # Scores of a few digits that differ from row to row are found in one row of another dev table with a
    # probability of at most 1 / e.
    return len(key) >= FEWEST and bool(matches >= NEARLY_ALL * len(key))


def _single(key: Integers) -> tuple[Integers, Integers]:
    """Return the scores that only one row has, and the keys of these rows."""
    score, first, count = np.unique(key >> 1, return_index=True, return_counts=True)
    return score[count == 1], key[first[count == 1]]


def _in_order(one: Integers, other: Integers, chance: float) -> bool:
    """Return True if all rows are equal in their order, which sorted rows of few scores can be by chance."""
    is_sorted = not ((one[1:] < one[:-1]).any() and (one[1:] > one[:-1]).any())
    return bool(np.array_equal(one, other) and not is_sorted and chance ** len(one) < BY_CHANCE)
