"""Tallies computed inside an engine: DuckDB, Polars, Dask, PySpark, Ibis and what else Narwhals speaks.

A group-by aggregation sums scores and labels on the fixed grid of a compressed tally, so that only the
small table of sums travels. The tally equals `Tally.from_arrays(..., exact=False)` of the same pairs:
counts exactly, sums to 1e-12.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io import _engine_duckdb, _engine_frames
from calibrant.io._engine_checks import check_columns, raise_fault
from calibrant.io._engine_exact import tally_with_cuts
from calibrant.io._engine_rows import Sums, tally_of
from calibrant.io.columns import class_name, dictionary, objects
from calibrant.metrics.binning import adaptive, adaptive_ranks
from calibrant.metrics.tally import Tally
from calibrant.results.bins import Bins

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["engine_bins", "engine_tallies", "engine_tally", "is_lazy"]

Integers = NDArray[np.int64]
Key = tuple[str | None, ...]


def is_lazy(frame: Any) -> bool:
    """Return whether this is a lazy frame that Narwhals speaks, which an engine computes when it is asked.

    Examples
    --------
    >>> import polars as pl
    >>> is_lazy(pl.LazyFrame({"score": [0.5]})), is_lazy(pl.DataFrame({"score": [0.5]})), is_lazy("a.csv")
    (True, False, False)
    """
    import narwhals as nw

    return isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame)


def engine_tally(
    frame: Any,
    *,
    score: str = "score",
    label: str = "label",
    weight: str | None = None,
    cluster: str | None = None,
    name: str = "the dataframe",
) -> Tally:
    """Tally a lazy frame inside its engine, in one pass.

    Parameters
    ----------
    frame
        Lazy frame with one row per pair: a DuckDB relation, a Polars ``LazyFrame``, a Dask, PySpark or
        Ibis table.
    score, label
        Columns of scores in [0, 1], of any type of number (a DECIMAL becomes the double nearest
        to it), and of labels: 0 / 1 as numbers or text, or boolean.
    weight, cluster
        Its columns of weights and of clusters, if any. With clusters there is a row for every row of the grid
        and cluster that occurs.
    name
        Name of the frame in errors.

    Returns
    -------
    Tally
        Compressed; equal to ``Tally.from_arrays(..., exact=False)``, sums to 1e-12.

    Raises
    ------
    InputError
        A column is missing or no column of numbers; a value is missing or out of range (the message says
        how many are); there are no rows; or the engine cannot do it, or failed.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.LazyFrame({"score": [0.2, 0.7, 0.7], "label": [0, 1, 1]})
    >>> tally = engine_tally(frame)
    >>> tally.n.tolist(), tally.positives.tolist()
    ([1, 2], [0, 2])
    """
    names = [] if cluster is None else [cluster]
    sums, table = _summed(frame, score, label, weight, names, name)
    if cluster is None:
        return tally_of(sums)
    return tally_of(sums, *_clusters(table, cluster, name))


def engine_tallies(
    frame: Any,
    by: str | Sequence[str],
    *,
    score: str = "score",
    label: str = "label",
    weight: str | None = None,
    cluster: str | None = None,
    name: str = "the dataframe",
) -> dict[Key, Tally]:
    """Tally a lazy frame by the values of some of its columns, inside its engine and in the same pass.

    Parameters
    ----------
    by
        Names of columns. Their values become text; None where one is missing.
    frame, score, label, weight, cluster, name
        As in `engine_tally`.

    Returns
    -------
    dict
        A tally for every combination of values that occurs, in sorted order.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.LazyFrame({"score": [0.2, 0.7, 0.7], "label": [0, 1, 1], "task": ["a", "b", None]})
    >>> {key: tally.total_n for key, tally in engine_tallies(frame, ["task"]).items()}
    {('a',): 1, ('b',): 1, (None,): 1}
    """
    columns = [by] if isinstance(by, str) else list(by)
    if not columns:
        raise InputError("by is empty", "name one column or several", code="parameter")
    names = columns + ([] if cluster is None else [cluster])
    sums, table = _summed(frame, score, label, weight, names, name)
    code, keys = _keys(table, columns)
    clusters = None if cluster is None else _clusters(table, cluster, name)
    order = np.argsort(code, kind="stable")
    found: dict[Key, Tally] = {}
    for place, rows in enumerate(np.split(order, np.searchsorted(code[order], np.arange(1, len(keys))))):
        part = sums.take(rows)
        if clusters is None:
            found[keys[place]] = tally_of(part)
        else:
            used, own = np.unique(clusters[0][rows], return_inverse=True)
            found[keys[place]] = tally_of(part, own, clusters[1][used])
    return found


def engine_bins(
    frame: Any,
    *,
    size: int | None = None,
    n_bins: int | None = None,
    score: str = "score",
    label: str = "label",
    name: str = "the dataframe",
) -> Bins:
    """Return the exact adaptive bins of a lazy frame, without fetching its pairs.

    After the aggregation onto the grid, the rows in which bins end are looked into: what few distinct scores
    they hold is fetched, with counts; where that is much, the rows are divided further first.

    Parameters
    ----------
    frame, score, label, name
        As in `engine_tally`.
    size, n_bins
        As in `calibrant.metrics.binning.adaptive`: pairs a bin, or the number of bins.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.LazyFrame({"score": [0.1, 0.3, 0.6, 0.8, 0.9], "label": [0, 0, 1, 1, 1]})
    >>> engine_bins(frame, size=2).n.tolist()
    [2.0, 3.0]
    """
    tally = engine_tally(frame, score=score, label=label, name=name)
    ranks = adaptive_ranks(tally.total_n, size=size, n_bins=n_bins)
    cut = engine_cuts(frame, tally, ranks, np.zeros(0), score=score, label=label)
    return adaptive(cut, size=size, n_bins=n_bins)


def engine_cuts(
    frame: Any, tally: Tally, ranks: Integers, edges: NDArray[np.float64], *, score: str, label: str
) -> Tally:
    """Refine the `engine_tally` of a frame without weights so that bins with these cuts are exact."""
    import narwhals as nw

    return tally_with_cuts(nw.from_native(frame), tally, score, label, ranks, edges)


def row_count(frame: Any) -> int:
    """Count the rows of a lazy frame.

    Examples
    --------
    >>> import polars as pl
    >>> row_count(pl.LazyFrame({"score": [0.5, 0.7]}))
    2
    """
    import narwhals as nw

    lazy = nw.from_native(frame)
    try:
        counted = lazy.select(nw.len().alias("rows"))
    except Exception as error:
        raise _engine_frames.failure(lazy, "counting rows", error) from error
    return int(_engine_frames.collected(counted, "counting rows")["rows"][0].as_py())


def _summed(
    frame: Any, score: str, label: str, weight: str | None, names: Sequence[str], name: str
) -> tuple[Sums, pa.Table]:
    """Check the columns, and sum in the engine; what is wrong with a value is found by a second query."""
    import narwhals as nw

    lazy = nw.from_native(frame, pass_through=True)
    if not isinstance(lazy, nw.LazyFrame):
        message, hint = f"no lazy frame: a {type(frame).__name__}", "use calibrant.verbs.tally"
        raise InputError(message, hint, code="source", file=name)
    check_columns(lazy, score, label, weight, names, name)
    inside = _engine_duckdb if lazy.implementation.is_duckdb() else _engine_frames
    source = lazy.to_native() if inside is _engine_duckdb else lazy
    try:
        found: tuple[Sums, pa.Table] | None = inside.summed(source, score, label, weight, names)
    except InputError:
        raise_fault(lazy, score, label, weight, name)  # some engines fail at values, and only say that
        raise
    except Exception as error:
        raise _engine_frames.failure(lazy, "the expressions of the grid", error) from error
    if found is None or not all(
        np.isfinite(each).all() for each in (found[0].weight, found[0].first) if each is not None
    ):
        raise_fault(lazy, score, label, weight, name)
        raise InputError(
            f"{_engine_frames.engine_name(lazy)} could not sum the rows",
            "collect the frame and pass the result",
            code="engine",
            file=name,
        )
    if not len(found[0].n):
        raise_fault(lazy, score, label, weight, name)
        raise InputError("there are no rows", "write at least one", code="empty", file=name)
    return found


def _clusters(table: pa.Table, cluster: str, name: str) -> tuple[Integers, NDArray[Any]]:
    """The place of each group's cluster among their sorted names, and these."""
    column = _without_nan(table[cluster])
    if column.null_count:
        message, hint = "the value is missing in some rows", "fill it in or drop the rows"
        raise InputError(message, hint, code="missing-value", file=name, column=cluster)
    names, code = np.unique(np.array(objects(column)), return_inverse=True)
    return code, names


def _without_nan(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column whose NaN are missing values, as in a file."""
    import pyarrow as pa
    from pyarrow import compute

    if not pa.types.is_floating(column.type):
        return column
    return compute.if_else(compute.is_nan(column), pa.scalar(None, column.type), column)


def _keys(table: pa.Table, columns: Sequence[str]) -> tuple[Integers, list[Key]]:
    """Number the combinations of values as text, in sorted order, missing values last."""
    code: Mapping[Key, int]
    texts = []
    for column in columns:
        encoded = dictionary(_without_nan(table[column]).combine_chunks())
        words = [None if value is None else class_name(value) for value in objects(encoded.dictionary)]
        texts.append([None if place is None else words[place] for place in encoded.indices.to_pylist()])
    rows: list[Key] = list(zip(*texts, strict=True)) if texts else [()] * table.num_rows
    keys = sorted(set(rows), key=lambda key: [(value is None, value or "") for value in key])
    code = {key: place for place, key in enumerate(keys)}
    return np.array([code[row] for row in rows], np.int64), keys
