"""Tally a prediction table in batches, or many files in processes, to save, merge and measure later."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._checks import Pairs, is_list
from calibrant._parallel import check_threads
from calibrant.exceptions import InputError
from calibrant.io import Batch, Columns, Predictions, open_predictions
from calibrant.io.columns import JointCodes
from calibrant.io.slice_columns import Keys, Slices
from calibrant.io.slicing import sliced
from calibrant.metrics.tally import LARGEST_EXACT, Tally, ordered
from calibrant.metrics.tally_parts import TallyParts, merge_part, tally_of_pairs
from calibrant.metrics.views import reaching
from calibrant.progress import Progress, tell
from calibrant.verbs.dependence import IN_MEMORY, with_item_clusters, with_note
from calibrant.verbs.executors import workers_of
from calibrant.verbs.on_workers import slices_on_workers
from calibrant.verbs.sliced_tallies import by_slice, cluster_names
from calibrant.verbs.sources import (
    CLASS,
    asked_views,
    class_of,
    long_pairs,
    pairs_of,
    reported,
    view_sources,
)

CLASS_COLUMN = "class"


def tally(
    source: Any,
    *,
    view: str | None = None,
    exact: bool = False,
    columns: Columns | Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Tally the pairs of one view of a prediction table or dataframe.

    Tallies of parts of the data merge to the tally of the whole (`calibrant.metrics.tally.Tally.merge`);
    `calibrant.io.save_tally` saves a tally, and `calibrant.verbs.measure` measures it.

    Parameters
    ----------
    source
        As in `calibrant.verbs.measure`.
    view
        ``binary``, ``top``, ``class:NAME`` or ``pooled``. Optional for a table without classes.
    exact
        One row per distinct score, which reads the table into memory, instead of the fixed grid.
    columns
        Names of columns that differ from the defaults, such as ``{'score': 'p'}``.
    threads
        Number of threads; None for all processors, at most 8.
    progress
        Function that is called with the stage, the work done and the whole work (or None).

    Returns
    -------
    Tally
        Tally by cluster if the table has clusters; without them by item, in ``pooled`` and if items repeat.

    Raises
    ------
    InputError
        If the table cannot be used, or the view is not given.

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
    predictions.check_one_cluster("a tally")
    views = [one_view(view, predictions)]
    (view_source,), _ = view_sources(
        predictions, views, whole=exact, fetched=0, threads=threads, progress=progress
    )
    result = (
        tally_of_pairs(view_source.source, exact=exact)
        if isinstance(view_source.source, Pairs)
        else view_source.source
    )
    return replace(_named(result, predictions, view_source.codes), view=view_source.view)


def tally_by(
    source: Any,
    by: str | Sequence[str],
    *,
    view: str | None = None,
    exact: bool = False,
    columns: Columns | Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> dict[Keys, Tally]:
    """Tally the pairs of one view for each value of a column, in one pass.

    Parameters
    ----------
    source
        As in `calibrant.verbs.measure`; a file or a lazy frame is read in batches and may be larger than
        memory, and a frame of scores and labels of Dask or PySpark is tallied on its workers.
    by
        Columns of texts, whole numbers, dates or truth values; several are crossed. ``NAME:4`` cuts the
        numbers of a column into four bands with about the same number of rows, with equal numbers in the same
        band (this needs one more pass). ``class`` splits the view ``pooled`` into its classes, also for a
        table without such a column.
    view
        As in `tally`.
    exact
        One row per distinct score, as `calibrant.verbs.measure` has them, for at most 2^20 pairs in all; more
        are on the fixed grid.
    columns, threads, progress
        As in `tally`.

    Returns
    -------
    dict of tuple of str or None to Tally
        Tallies by the values of the columns as text, with None for missing values, by cluster if the table
        has clusters, or by item if items repeat within slices.

    Raises
    ------
    InputError
        If there are more than 10,000 slices.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = {"score": [0.2, 0.7, 0.4], "label": [0, 1, 1], "subject": ["law", "art", "law"]}
    >>> {keys: tally.total_n for keys, tally in tally_by(pa.table(table), "subject").items()}
    {('law',): 2, ('art',): 1}
    """
    check_threads(threads)
    names = [by] if isinstance(by, str) else by
    if not is_list(names) or not len(names) or not all(isinstance(name, str) for name in names):
        raise InputError(f"by is {by!r:.60}", "name one column or several", code="parameter")
    opened = predictions = open_predictions(source, columns)
    predictions.check_one_cluster("a table of slices")
    view = one_view(view, predictions)
    classes = _class_slices(predictions, names, view, columns)
    if view == "top" and predictions.log is not None:
        predictions = predictions.of_top_labels()
    if classes is not None:
        names = [name for name in names if name != classes.name]
    on_workers = slices_on_workers(predictions, names, LARGEST_EXACT * exact) if classes is None else None
    if on_workers is not None:
        return on_workers
    slices = Slices(())
    if names:
        with _bands_of(names):
            predictions, slices = sliced(predictions, names)
    if view == "top" and predictions.form == "long" and predictions.has_classes:
        predictions = predictions.by_item()
    items = view == "pooled" and not predictions.clustered and classes is None
    # A column that is cut into bands has numbers, and no names of items.
    banded = any(name.startswith(f"{opened.column_of('item')}:") for name in names)
    small = not (banded or predictions.clustered) and (predictions.rows or 0) <= IN_MEMORY
    batches = predictions.batches() if banded else with_item_clusters(predictions, items=items or small)
    by_item = items and (predictions.form == "wide" or predictions.has_items)
    units = JointCodes() if predictions.clustered or predictions.items_repeat or by_item else None
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        parts, first_row = TallyParts(pool), 0
        batches = with_note(predictions, batches, opened, top=view == "top")
        for batch in reported(batches, predictions.rows, progress):
            if classes is not None:
                batch = classes.long(batch)
            unit = batch.slice_code
            assert unit is not None
            if units is not None:
                cluster = batch.cluster if predictions.clustered else batch.item
                if cluster is None:  # the rows of a wide table are items
                    cluster = np.arange(first_row, first_row + len(batch))
                unit = units.of(unit, cluster)
            batch = replace(batch, cluster=unit)
            parts.add(pairs_of(view, batch, predictions) if classes is None else long_pairs(batch))
            first_row += len(batch)
        whole = parts.tally(exact=exact)
    if whole is None:
        if view.startswith(CLASS):
            class_of(view, predictions)
        message, hint = f"view {view} has no pairs", "name another view"
        raise InputError(message, hint, code="empty", file=predictions.name)
    keys = slices.keys() if classes is None else classes.keys(slices.keys() if names else [()])
    return by_slice(whole, keys, units, predictions, view)


@contextmanager
def _bands_of(names: Sequence[str]) -> Iterator[None]:
    """Explain in errors about values that are not numbers why numbers are needed."""
    try:
        yield
    except InputError as error:
        if error.code == "column-type" and any(name.startswith(f"{error.column}:") for name in names):
            error.message += ", so the column cannot be cut into bands"
            error.hint = f"slice by its values: {error.column}"
        raise


class _ClassSlices:
    """Slices of a wide table by class: each row becomes one row per class, as in a long table."""

    def __init__(self, predictions: Predictions, name: str, place: int) -> None:
        self.name = name
        self._classes = predictions.classes
        self._threshold = predictions.threshold
        self._place = place
        self._codes = JointCodes()

    def long(self, batch: Batch) -> Batch:
        """Return a row per item and class; its slice is that of its item and its class."""
        long = batch.long()
        assert long.class_code is not None
        within = np.zeros(len(long), np.int64) if long.slice_code is None else long.slice_code
        long = replace(long, slice_code=self._codes.of(within, long.class_code))
        if self._threshold is None:
            return long
        return long.take(np.flatnonzero(reaching(long.score, self._threshold)))

    def keys(self, within: Sequence[Keys]) -> list[Keys]:
        """Return the key of each code, with the class in its place."""
        place = self._place
        return [
            (*within[one][:place], self._classes[own], *within[one][place:])
            for one, own in zip(*self._codes.parts(), strict=True)
        ]


def _class_slices(
    predictions: Predictions, names: Sequence[str], view: str, columns: Columns | Mapping[str, Any] | None
) -> _ClassSlices | None:
    """Return the slices by class of a wide table; None if not requested, or if a column has the class."""
    name = Columns.of(columns).class_column or CLASS_COLUMN
    if name not in names or not predictions.has_classes:
        return None
    if name in predictions.columns and predictions.form == "wide":
        return None
    if view == "top" or (view != "pooled" and predictions.form == "wide"):
        hint = "slice the view pooled (`view='pooled'`)"
        raise InputError(f"view {view} has no slices by class", hint, code="view", file=predictions.name)
    if predictions.form != "wide":
        return None
    if [*names].count(name) > 1:
        message, hint = "the column is named twice", "name each column once"
        raise InputError(message, hint, code="column", file=predictions.name, column=name)
    return _ClassSlices(predictions, name, [*names].index(name))


def one_view(view: str | None, predictions: Predictions) -> str:
    """Return the one view to tally; None stands for the binary one of a table without classes."""
    if view is None and predictions.has_classes:
        hint = "name it (`view`): class:NAME, pooled, or top if the items of rows are known"
        message = "a table with classes has several views, and this function needs one"
        raise InputError(message, hint, code="view", file=predictions.name)
    name = asked_views(None if view is None else [view], predictions)[0]
    if name == "classwise":
        message = "classwise consists of several views, and a tally has one"
        raise InputError(message, "give class:NAME", code="view", file=predictions.name)
    return name


def _named(summed: Tally, predictions: Predictions, codes: Any) -> Tally:
    """Return the tally with the table's names of clusters, in sorted order."""
    if summed.cluster is None or summed.clusters is None:
        return summed
    if predictions.form == "long" and not (predictions.clusters or predictions.items):
        return summed  # workers have named them
    code = summed.clusters if codes is None else codes[summed.clusters]
    names = cluster_names(predictions, code)
    return replace(ordered(summed, names), clusters=np.sort(names))


def tally_files(
    paths: Sequence[str | os.PathLike[str]],
    *,
    view: str | None = None,
    exact: bool = False,
    columns: Columns | Mapping[str, Any] | None = None,
    workers: int = 1,
    executor: Executor | str | None = None,
    progress: Progress | None = None,
) -> Tally:
    """Tally many files in parallel, and merge the tallies.

    Each file counts exactly once, even if its worker was lost and another repeated it. Tallies are merged in
    the order of the files, so the result is identical on any executor.

    Parameters
    ----------
    paths
        Paths of tables, as for `calibrant.verbs.tally`. The workers of a cluster need the same paths.
    view, exact, columns
        As in `calibrant.verbs.tally`.
    workers
        Number of processes. With more than one, a script that calls this must be importable
        (``if __name__ == "__main__":``).
    executor
        Executor to use instead: a `concurrent.futures.Executor`, which receives ``workers`` files at a time,
        or the address of a Dask scheduler (``tcp://...``).
    progress
        Function that is called with the stage, the files done and all files.

    Returns
    -------
    Tally

    Raises
    ------
    InputError
        If there is no file or row, a file is listed twice or unusable, or only some have clusters or weights.
    CalibrantError
        If workers were lost repeatedly, or all workers or the scheduler were lost (code ``worker``).
    MissingExtraError
        If Dask is needed and not installed.

    Examples
    --------
    >>> import pyarrow as pa, tempfile
    >>> from pyarrow import parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = [f"{folder}/{day}.parquet" for day in ("monday", "tuesday")]
    ...     for file in files:
    ...         parquet.write_table(pa.table({"score": [0.2, 0.7], "label": [0, 1]}), file)
    ...     tally_files(files).total_n
    4
    """
    if not is_list(paths) or not all(isinstance(path, (str, os.PathLike)) for path in paths):
        raise InputError(f"paths is {paths!r:.60}", "give a list of paths", code="parameter")
    files = [os.path.abspath(path) for path in paths]
    if not files:
        raise InputError("there are no files", "name at least one", code="empty")
    places = [Path(file).resolve() for file in files]
    seen = Counter(places)
    for place, path in zip(places, paths, strict=True):
        if seen[place] > 1 or any(parent in seen for parent in place.parents):
            hint = "name it once, because its rows would count twice"
            raise InputError("the file is listed twice", hint, code="duplicate", file=os.fspath(path))
    with workers_of(executor, workers) as pool:
        threads = None if executor is None and workers == 1 else 1
        tally_one = partial(_tallied, view=view, exact=exact, columns=columns, threads=threads)
        with closing(pool.map(tally_one, files, lambda file: f"the file {file}")) as tallies:
            merged: list[tuple[int, Tally]] = []
            for part in _full(tallies, files, progress):
                merge_part(merged, part)
    if not merged:
        raise InputError("there are no rows in any file", "write at least one", code="empty", file=files[0])
    return reduce(lambda right, left: left.merge(right), [part for _, part in reversed(merged)])


def _tallied(file: str, **settings: Any) -> Tally | None:
    try:
        return tally(file, **settings)
    except InputError as error:
        if error.message == "there are no rows":
            return None  # an empty part, as Spark writes
        raise


def _full(
    tallies: Iterable[Tally | None], files: Sequence[str], progress: Progress | None
) -> Iterable[Tally]:
    first: tuple[str, Tally] | None = None
    for number, (summed, file) in enumerate(zip(tallies, files, strict=True), 1):
        if summed is not None:
            first = first or (file, summed)
            for what, one in (("clusters", summed.cluster is not None), ("weights", summed.weighted)):
                if one != (first[1].weighted if what == "weights" else first[1].cluster is not None):
                    message = f"the file has {what if one else f'no {what}'}, unlike {first[0]}"
                    hint = f"add {what} to all files, or to none"
                    if what == "clusters":  # items repeat in some of the files only
                        hint += "; for items that repeat, name their column: columns={'cluster': ...}"
                    raise InputError(message, hint, code="cluster", file=file)
            yield summed
        tell(progress, "tallying", number, len(files))
