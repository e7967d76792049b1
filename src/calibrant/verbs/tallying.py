"""Tally a prediction table in batches, to keep, to merge with others, and to measure later."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Pairs, is_list
from calibrant._parallel import check_threads
from calibrant.exceptions import InputError
from calibrant.io import Columns, Predictions, open_predictions
from calibrant.io.slice_columns import JointCodes, Keys
from calibrant.io.slicing import sliced, tallies_in_engine
from calibrant.metrics.grouping import sorted_by
from calibrant.metrics.tally import Tally
from calibrant.progress import Progress
from calibrant.verbs.measuring import check_model
from calibrant.verbs.sources import (
    CLASS,
    TallyParts,
    asked_views,
    class_of,
    ordered,
    pairs_of,
    reported,
    tally_of_pairs,
    view_sources,
)


def tally(
    source: Any,
    *,
    view: str | None = None,
    exact: bool = False,
    columns: Columns | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Tally the pairs of one view of a prediction table or dataframe.

    Tallies of parts of the data merge to the tally of the whole (`calibrant.metrics.tally.Tally.merge`);
    `calibrant.io.save_tally` keeps one, and `calibrant.verbs.measure` measures what was kept.

    Parameters
    ----------
    source
        As in `calibrant.verbs.measure`.
    view
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
        The table cannot be used, or the view is not named.

    Examples
    --------
    >>> import pyarrow as pa
    >>> one = tally(pa.table({"score": [0.2, 0.7], "label": [0, 1], "cluster": ["a", "b"]}))
    >>> other = tally(pa.table({"score": [0.4], "label": [1], "cluster": ["a"]}))
    >>> (one + other).clusters.tolist(), (one + other).total_n
    (['a', 'b'], 3)
    """
    check_threads(threads)
    predictions = open_predictions(source, columns)
    check_model(predictions)
    views = [one_view(view, predictions)]
    found = view_sources(predictions, views, whole=exact, collected=0, threads=threads, progress=progress)[0][
        0
    ]
    result = tally_of_pairs(found.source, exact=exact) if isinstance(found.source, Pairs) else found.source
    return _named(result, predictions, found.codes)


def tally_by(
    source: Any,
    by: str | Sequence[str],
    *,
    view: str | None = None,
    columns: Columns | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[Keys, Tally]:
    """Tally the pairs of one view slice by slice, in one pass: a tally for each value of a column.

    Parameters
    ----------
    source
        As in `calibrant.verbs.measure`; a file is read in batches, however large it is, and a
        lazy frame of scores and labels is tallied inside its engine.
    by
        Columns of texts, whole numbers, dates or truth values; several are crossed. ``NAME:4`` cuts the
        numbers of a column into four bands of about as many rows, equal numbers in one band (a pass more).
    view
        As in `tally`.
    columns, threads, progress
        As in `tally`.

    Returns
    -------
    dict of tuple of str or None to Tally
        By the values of the columns as text, None where one is missing. The tallies are on the fixed grid, by
        cluster where the table names clusters.

    Raises
    ------
    InputError
        As in `tally`; a column is not there, is named twice or is the score or the label; or there are more
        than 10,000 slices.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = {"score": [0.2, 0.7, 0.4], "label": [0, 1, 1], "subject": ["law", "art", "law"]}
    >>> {keys: found.total_n for keys, found in tally_by(pa.table(table), "subject").items()}
    {('law',): 2, ('art',): 1}
    """
    check_threads(threads)
    names = [by] if isinstance(by, str) else by
    if not is_list(names) or not len(names) or not all(isinstance(name, str) for name in names):
        raise InputError(f"by is {by!r:.60}", "name one column or several", code="parameter")
    predictions = open_predictions(source, columns)
    view = one_view(view, predictions)
    if view == "top" and predictions.log is not None:
        predictions = predictions.of_top_labels()
    inside = tallies_in_engine(predictions, names)
    if inside is not None:
        return inside
    predictions, slices = sliced(predictions, names)
    if view == "top" and predictions.form == "long" and predictions.has_classes:
        predictions = predictions.by_item()
    items = view == "pooled" and not predictions.clustered
    in_clusters = predictions.clustered or (items and (predictions.form == "wide" or predictions.has_items))
    units = JointCodes() if in_clusters else None
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        parts, first_row = TallyParts(pool), 0
        for batch in reported(predictions.batches(items=items), predictions.rows, progress):
            unit = batch.slice_code
            assert unit is not None
            if units is not None:
                cluster = batch.cluster if predictions.clustered else batch.item
                if cluster is None:  # the rows of a wide table are items
                    cluster = np.arange(first_row, first_row + len(batch))
                unit = units.of(unit, cluster)
            parts.add(pairs_of(view, replace(batch, cluster=unit), predictions))
            first_row += len(batch)
        whole = parts.tally()
    if whole is None:
        if view.startswith(CLASS):
            class_of(view, predictions)
        raise InputError(
            f"view {view} has no pairs", "name another view", code="empty", file=predictions.name
        )
    return _by_slice(whole, slices.keys(), units, predictions)


def _by_slice(
    whole: Tally, keys: Sequence[Keys], units: JointCodes | None, predictions: Predictions
) -> dict[Keys, Tally]:
    """Take apart a tally whose clusters are slices, or the parts of clusters that lie in one slice."""
    assert whole.cluster is not None
    assert whole.clusters is not None
    code = whole.clusters[whole.cluster]
    rank, names = np.zeros(len(code), np.int64), np.empty(0)
    if units is not None:
        slice_of, cluster_of = units.parts()
        used, rank = np.unique(cluster_of[code], return_inverse=True)
        code = slice_of[code]
        names = cluster_names(predictions, used)
        order = np.argsort(names, kind="stable")
        names, rank = names[order], np.argsort(order)[rank]
    new_score = (np.diff(whole.low, prepend=-1) > 0) | (np.diff(whole.high, prepend=-1) > 0)
    rows = sorted_by(code, np.cumsum(new_score, dtype=np.int64), rank)
    apart = ("kind", "cluster", "clusters", "weighted")
    columns = {each.name: getattr(whole, each.name)[rows] for each in fields(Tally) if each.name not in apart}
    code, rank = code[rows], rank[rows]
    ends = np.append(np.flatnonzero(np.diff(code)) + 1, len(code))
    found: dict[Keys, Tally] = {}
    for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True):
        part = Tally(whole.kind, **{name: column[start:end] for name, column in columns.items()})
        part = replace(part, weighted=whole.weighted)
        if units is not None:
            present, cluster = np.unique(rank[start:end], return_inverse=True)
            part = replace(part, cluster=cluster, clusters=names[present])
        key = keys[code[start]]
        found[key] = found[key] + part if key in found else part
    return found


def one_view(view: str | None, predictions: Predictions) -> str:
    """Return the one view to tally; None stands for the binary one of a table without classes."""
    if view is None and predictions.has_classes:
        hint = "give top, class:NAME or pooled"
        raise InputError("a tally is of one view", hint, code="view", file=predictions.name)
    name = asked_views(None if view is None else [view], predictions)[0]
    if name == "classwise":
        raise InputError("a tally is of one view", "give class:NAME", code="view", file=predictions.name)
    return name


def _named(found: Tally, predictions: Predictions, codes: Any) -> Tally:
    """Name the clusters of a tally as the table names them, in sorted order."""
    if found.cluster is None or found.clusters is None:
        return found
    if predictions.form == "long" and not (predictions.clusters or predictions.items):
        return found  # an engine has named them
    code = found.clusters if codes is None else codes[found.clusters]
    names = cluster_names(predictions, code)
    return replace(ordered(found, names), clusters=np.sort(names))


def cluster_names(predictions: Predictions, code: NDArray[Any]) -> NDArray[Any]:
    """Name clusters by their codes; rows that nobody named must not be taken for rows of another table."""
    known = predictions.clusters or predictions.items
    if known:
        names: NDArray[Any] = np.array(known)[code]
        return names
    table = uuid4().hex
    return np.array([f"{table}#{place}" for place in code])
