"""Which events a table can be measured for, and the pairs of an event in a batch of rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs
from calibrant.exceptions import InputError
from calibrant.io import Batch, Predictions
from calibrant.metrics.events import ClassPredictions, class_event, pooled_event, top_event

CLASS = "class:"
KNOWN = "binary, top, class:NAME, classwise or pooled"


def asked_names(event: object) -> list[str] | None:
    """Return the names of events asked for; None for the defaults.

    Raises
    ------
    InputError
        It is neither a name nor a list of some.

    Examples
    --------
    >>> asked_names("top"), asked_names(("top", "pooled"))
    (['top'], ['top', 'pooled'])
    """
    if event is None:
        return None
    names = [event] if isinstance(event, str) else event
    if isinstance(names, Sequence) and names and all(isinstance(name, str) for name in names):
        return list(names)
    raise InputError(f"event is {event!r}", f"give {KNOWN}, a list of some, or None", code="event")


def asked_events(asked: Sequence[str] | None, predictions: Predictions) -> list[str]:
    """Return the events to measure, ``classwise`` still as one; the defaults where none is asked for.

    Raises
    ------
    InputError
        The event is unknown, or the table has not what it needs.
    """
    if not asked:
        if predictions.log is not None:
            return ["top", "pooled"]
        if predictions.form == "wide":
            return ["classwise"] if predictions.threshold is not None else ["top", "classwise"]
        return ["pooled", "classwise"] if predictions.has_classes else ["binary"]
    for event in asked:
        _check(event, predictions)
    return list(dict.fromkeys(asked))


def _check(event: object, predictions: Predictions) -> None:
    name = predictions.name
    known = ("binary", "top", "classwise", "pooled")
    possible = "binary"
    if predictions.has_classes:
        possible = "class:NAME, classwise or pooled"
        if predictions.form == "wide" or predictions.has_items:
            possible = f"top, {possible}"
    if not isinstance(event, str) or not (event in known or event.startswith(CLASS)):
        raise InputError(f"unknown event {event!r}", f"give {possible}", code="event", file=name)
    if predictions.has_classes and event == "binary":
        hint = f"name the event: {possible}"
        raise InputError("a table with classes has no binary event", hint, code="event", file=name)
    if not predictions.has_classes and event != "binary":
        hint = "give binary, or a table with a class column or one p_<class> column a class"
        raise InputError(f"a table without classes has no event {event!r}", hint, code="event", file=name)
    if event == "top" and predictions.threshold is not None:
        message = f"scores below {predictions.threshold:g} were dropped, so the top label is not known"
        raise InputError(message, "write the table without a threshold", code="threshold", file=name)
    if event == "top" and not (predictions.form == "wide" or predictions.has_items):
        message = "the top label needs to know which rows are the scores of one item"
        hint = "name the items in a column (`item`), or write a wide table with one p_<class> column a class"
        raise InputError(message, hint, code="event", file=name)


def expanded(events: Sequence[str], classes: Sequence[str]) -> list[str]:
    """Replace ``classwise`` by one event a class.

    Examples
    --------
    >>> expanded(["top", "classwise"], ["no", "yes"])
    ['top', 'class:no', 'class:yes']
    """
    every = [CLASS + name for name in classes]
    listed = [name for event in events for name in (every if event == "classwise" else [event])]
    return list(dict.fromkeys(listed))


def class_of(event: str, predictions: Predictions) -> int:
    """Return the code of the class of an event ``class:NAME``."""
    name = event.removeprefix(CLASS)
    classes = predictions.classes
    if name not in classes:
        known = ", ".join(classes[:12]) + (", ..." if len(classes) > 12 else "")
        hint = f"the classes are {known}"
        raise InputError(f"there is no class {name!r}", hint, code="class-unknown", file=predictions.name)
    return classes.index(name)


def pairs_of(event: str, batch: Batch, predictions: Predictions, first_row: int = 0) -> Pairs:
    """Return the pairs of one event in some rows; cluster codes count over the whole table.

    In ``pooled`` the item is a cluster even when none is named: its scores share one gold label.
    ``first_row`` numbers the items of a wide table.
    """
    if predictions.form == "wide":
        return _of_classes(event, batch, predictions, first_row)
    if event.startswith(CLASS) and batch.class_code is not None:
        # A class that no row has shown yet may still come.
        known = event.removeprefix(CLASS) in predictions.classes
        code = class_of(event, predictions) if known else -1
        batch = batch.take(np.flatnonzero(batch.class_code == code))
    cluster = batch.item if event == "pooled" and batch.cluster is None else batch.cluster
    return Pairs(batch.score, batch.label, batch.weight, cluster, _count(cluster))


def _of_classes(event: str, batch: Batch, predictions: Predictions, first_row: int) -> Pairs:
    cluster = batch.cluster
    if event == "pooled" and cluster is None:
        cluster = np.arange(first_row, first_row + len(batch))
    table = ClassPredictions(
        batch.label, batch.score, predictions.classes, batch.weight, cluster, _count(cluster)
    )
    if event == "top":
        return top_event(table)
    if event == "pooled":
        pairs = pooled_event(table)
    else:
        pairs = class_event(table, predictions.classes[class_of(event, predictions)])
    if predictions.threshold is None:
        return pairs
    kept = np.flatnonzero(pairs.score >= predictions.threshold)
    return Pairs(
        pairs.score[kept],
        pairs.outcome[kept],
        None if pairs.weight is None else pairs.weight[kept],
        None if pairs.cluster is None else pairs.cluster[kept],
        pairs.cluster_count,
    )


def _count(cluster: NDArray[np.int64] | None) -> int:
    return 0 if cluster is None or not len(cluster) else int(cluster.max()) + 1
