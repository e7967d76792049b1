"""Tally a prediction table in batches, to keep, to merge with others, and to measure later."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np

from calibrant._checks import Pairs
from calibrant._parallel import check_threads
from calibrant.exceptions import InputError
from calibrant.io import Predictions
from calibrant.measure.tally import Tally
from calibrant.workflow._events import asked_events
from calibrant.workflow._sources import Progress, event_sources, ordered, tally_of_pairs
from calibrant.workflow.measuring import Columns


def tally(
    source: Any,
    *,
    event: str | None = None,
    exact: bool = False,
    columns: Columns | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Tally the pairs of one event of a prediction table or dataframe.

    Tallies of parts of the data merge to the tally of the whole (`calibrant.measure.tally.Tally.merge`);
    `calibrant.io.save_tally` keeps one, and `calibrant.workflow.measure` measures what was kept.

    Parameters
    ----------
    source
        As in `calibrant.workflow.measure`.
    event
        ``binary``, ``top``, ``class:NAME`` or ``pooled``. May be left out for a table without classes.
    exact
        A row a distinct score, which takes the table into memory, instead of the fixed grid.
    columns
        Names of columns that are called otherwise.
    threads
        Threads to use; None for all processors.
    progress
        Called now and then with a stage, the work done and the whole work (or None).

    Returns
    -------
    Tally
        By cluster where the table names clusters; in ``pooled`` by item where it does not.

    Raises
    ------
    InputError
        The table cannot be used, or the event is not named.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one = tally(pa.table({"score": [0.2, 0.7], "label": [0, 1], "cluster": ["a", "b"]}))
    >>> other = tally(pa.table({"score": [0.4], "label": [1], "cluster": ["a"]}))
    >>> (one + other).clusters.tolist(), (one + other).total_n
    (['a', 'b'], 3)
    """
    check_threads(threads)
    predictions = (columns or Columns()).open(source)
    if event is None and predictions.has_classes:
        hint = "give top, class:NAME or pooled"
        raise InputError("a tally is of one event", hint, code="event", file=predictions.name)
    events = asked_events(None if event is None else [event], predictions)
    if events == ["classwise"]:
        raise InputError("a tally is of one event", "give class:NAME", code="event", file=predictions.name)
    found = event_sources(predictions, events, whole=exact, threads=threads, progress=progress)[0][0]
    result = tally_of_pairs(found.source, exact=exact) if isinstance(found.source, Pairs) else found.source
    return _named(result, predictions, found.codes)


def _named(found: Tally, predictions: Predictions, codes: Any) -> Tally:
    """Name the clusters of a tally as the table names them, in sorted order."""
    if found.cluster is None or found.clusters is None:
        return found
    code = found.clusters if codes is None else codes[found.clusters]
    known = predictions.clusters or predictions.items
    if known:
        names = np.array(known)[code]
    else:  # rows that nobody named must not be taken for rows of another table
        table = uuid4().hex
        names = np.array([f"{table}#{place}" for place in code])
    return replace(ordered(found, names), clusters=np.sort(names))
