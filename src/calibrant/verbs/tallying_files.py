"""Tally a table in many files with processes or a cluster; only the small tallies are transferred."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from functools import partial, reduce
from pathlib import Path
from typing import Any

from calibrant._checks import is_list
from calibrant.exceptions import InputError
from calibrant.io import Columns
from calibrant.metrics.tally import Tally
from calibrant.progress import Progress, tell
from calibrant.verbs.executors import workers_of
from calibrant.verbs.sources import merge_part
from calibrant.verbs.tallying import tally


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
        If there is no file or row, a file is listed twice or unusable, or only some files have clusters.
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
        doing = partial(_tallied, view=view, exact=exact, columns=columns, threads=threads)
        with closing(pool.map(doing, files, lambda file: f"the file {file}")) as found:
            merged: list[tuple[int, Tally]] = []
            for part in _full(found, files, progress):
                merge_part(merged, part)
    if not merged:
        raise InputError("there are no rows in any file", "write at least one", code="empty", file=files[0])
    return reduce(lambda right, left: left.merge(right), [part for _, part in reversed(merged)])


def _tallied(file: str, **settings: Any) -> Tally | None:
    """Return the tally of a file; None without rows."""
    try:
        return tally(file, **settings)
    except InputError as error:
        if error.message == "there are no rows":
            return None  # an empty part, as Spark writes
        raise


def _full(found: Iterable[Tally | None], files: Sequence[str], progress: Progress | None) -> Iterable[Tally]:
    first: tuple[str, bool] | None = None
    for number, (each, file) in enumerate(zip(found, files, strict=True), 1):
        if each is not None:
            first = first or (file, each.cluster is not None)
            if first[1] != (each.cluster is not None):
                message = f"the file has {'no clusters' if first[1] else 'clusters'}, unlike {first[0]}"
                raise InputError(message, "add clusters to all files, or to none", code="cluster", file=file)
            yield each
        tell(progress, "tallying", number, len(files))
