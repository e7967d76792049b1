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

from calibrant._checks import LARGEST_RATIO, LARGEST_WEIGHT, SMALLEST_WEIGHT, range_hint, too_unequal
from calibrant.exceptions import InputError
from calibrant.io import _engine_duckdb, _engine_frames
from calibrant.io._engine_exact import tally_with_cuts
from calibrant.io._engine_rows import Sums, tally_of
from calibrant.io.columns import class_name, dictionary, objects
from calibrant.io.tables import one_column
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
    return _row_count(frame, "counting rows")


def has_repeats(frame: Any, columns: Sequence[str]) -> bool:
    """Return True if two rows of a lazy frame have the same values in some columns.

    Examples
    --------
    >>> import polars as pl
    >>> frame = pl.LazyFrame({"item": [1, 1, 2], "model": ["a", "b", "a"]})
    >>> has_repeats(frame, ["item"]), has_repeats(frame, ["item", "model"])
    (True, False)
    """
    import narwhals as nw

    lazy = nw.from_native(frame)
    distinct = lazy.select(*dict.fromkeys(columns)).unique().to_native()
    return _row_count(distinct, "counting items") < row_count(frame)


def _row_count(frame: Any, doing: str) -> int:
    import narwhals as nw

    lazy = nw.from_native(frame)
    try:
        counted = lazy.select(nw.len().alias("rows"))
    except Exception as error:
        raise _engine_frames.failure(lazy, doing, error) from error
    return int(_engine_frames.collected(counted, doing)["rows"][0].as_py())


def _summed(
    frame: Any, score: str, label: str, weight: str | None, names: Sequence[str], name: str
) -> tuple[Sums, pa.Table]:
    """Check the columns, and sum in the engine; what is wrong with a value is found by a second query."""
    import narwhals as nw

    lazy = nw.from_native(frame, pass_through=True)
    if not isinstance(lazy, nw.LazyFrame):
        message, hint = f"no lazy frame: a {type(frame).__name__}", "use calibrant.verbs.tally"
        raise InputError(message, hint, code="source", file=name)
    _check_columns(lazy, score, label, weight, names, name)
    inside = _engine_duckdb if lazy.implementation.is_duckdb() else _engine_frames
    source = lazy.to_native() if inside is _engine_duckdb else lazy
    try:
        found: tuple[Sums, pa.Table] | None = inside.summed(source, score, label, weight, names)
    except InputError:
        _raise_fault(lazy, score, label, weight, name)  # some engines fail at values, and only say that
        raise
    except Exception as error:
        raise _engine_frames.failure(lazy, "the expressions of the grid", error) from error
    if found is None or not all(
        np.isfinite(each).all() for each in (found[0].weight, found[0].first) if each is not None
    ):
        _raise_fault(lazy, score, label, weight, name)
        raise InputError(
            f"{_engine_frames.engine_name(lazy)} could not sum the rows",
            "collect the frame and pass the result",
            code="engine",
            file=name,
        )
    if not len(found[0].n):
        _raise_fault(lazy, score, label, weight, name)
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


def _check_columns(
    frame: Any, score: str, label: str, weight: str | None, names: Sequence[str], name: str
) -> None:
    """Raise unless all columns are there and those of numbers hold numbers."""
    import narwhals as nw

    schema = frame.collect_schema()
    for column in (score, label, *([] if weight is None else [weight]), *names):
        one_column(name, schema.names(), column)
    for column in names:
        if schema[column].is_nested() or schema[column] == nw.Object:
            message, hint = "a column of lists or objects names nothing", "choose one of texts or numbers"
            raise InputError(message, hint, code="column-type", file=name, column=column)
    for column in (score, *([] if weight is None else [weight])):
        if not schema[column].is_numeric():
            message, hint = f"a column of type {schema[column]} holds no numbers", "write numbers"
            raise InputError(message, hint, code="column-type", file=name, column=column)
    kind = schema[label]
    words = (nw.String, nw.Categorical, nw.Enum, nw.Boolean)
    if not (kind.is_numeric() or kind in words):
        message, hint = f"a column of type {kind} holds no labels", "write 0 and 1, or true and false"
        raise InputError(message, hint, code="column-type", file=name, column=label)


def _raise_fault(frame: Any, score: str, label: str, weight: str | None, name: str) -> None:
    """Count what is missing or out of range, in one query, and raise for the first kind; or do nothing."""
    row = _counts(frame, score, label, weight)

    def fault(message: str, hint: str, code: str, column: str | None) -> InputError:
        return InputError(message, hint, code=code, file=name, column=column)

    rows = int(row["rows"])
    for key, column in (("q_null", score), ("y_null", label), ("w_null", weight)):
        if row.get(key):
            message = f"the value is missing in {int(row[key]):,} of {rows:,} rows"
            raise fault(message, "fill it in or drop the rows", "missing-value", column)
    if row["outside"]:
        message = (
            f"{int(row['outside']):,} of {rows:,} rows are not probabilities in [0, 1]; the smallest is "
            f"{row['least']!r}, the largest {row['most']!r}"
        )
        raise fault(message, range_hint(row["least"], row["most"], "them"), "score-range", score)
    if row["inside"] < rows:
        message = f"{int(rows - row['inside']):,} of {rows:,} rows are not finite"
        raise fault(message, "drop the rows or repair the model's output", "score-range", score)
    if row["y_bad"]:
        message = f"the label is not 0 or 1 in {int(row['y_bad']):,} of {rows:,} rows"
        hint = "write 1, true or yes where the event happened, and 0, false or no elsewhere"
        raise fault(message, hint, "label-value", label)
    least, most = SMALLEST_WEIGHT, LARGEST_WEIGHT
    if weight is not None and row["w_outside"]:
        message = f"{int(row['w_outside']):,} of {rows:,} rows have weights outside {least:g} to {most:g}"
        hint = "scale the weights so that they are near 1; only their ratios matter"
        raise fault(message, hint, "weight-value", weight)
    if weight is not None and row["w_good"] < rows:
        message = f"{int(rows - row['w_good']):,} of {rows:,} rows have no finite weight >= 0"
        raise fault(message, "drop the rows or repair the weights", "weight-value", weight)
    if weight is not None and rows and row["w_zero"] == rows:
        hint = "leave the column out to count every row once"
        raise fault("every weight is zero", hint, "weight-value", weight)
    if weight is not None and row["heaviest"] > LARGEST_RATIO * row["lightest"]:
        what, hint = too_unequal(row["lightest"], row["heaviest"])
        raise fault(f"some weights are {what}", hint, "weight-value", weight)


def _counts(frame: Any, score: str, label: str, weight: str | None) -> dict[str, Any]:
    """How many rows there are of each kind, and the smallest and largest finite score."""
    import narwhals as nw

    q = nw.col(score).cast(nw.Float64)
    columns = [q.alias("q"), nw.col(score).is_null().alias("q_null"), nw.col(label).is_null().alias("y_null")]
    columns.append(_engine_frames.outcome(frame, label).alias("y"))
    if weight is not None:
        columns += [nw.col(weight).cast(nw.Float64).alias("w"), nw.col(weight).is_null().alias("w_null")]
    found = frame.select(*columns)

    def count(condition: Any) -> Any:
        return nw.when(condition).then(nw.lit(1)).otherwise(nw.lit(0))

    # DuckDB decides comparisons, and whether there is NaN, by the extremes of a file, which leave NaN out.
    finite = (nw.col("q") - nw.col("q")) == 0
    inside = (nw.col("q") >= 0) & (nw.col("q") <= 1) & finite
    outside = ((nw.col("q") < 0) | (nw.col("q") > 1)) & finite
    flags = {
        "rows": nw.lit(1),
        "q_null": count(nw.col("q_null")),
        "inside": count(inside),
        "outside": count(outside),
        "y_null": count(nw.col("y_null")),
        "y_bad": count(nw.col("y") < 0),
    }
    if weight is not None:
        flags["w_null"] = count(nw.col("w_null"))
        flags["w_good"] = count((nw.col("w") >= 0) & ((nw.col("w") - nw.col("w")) == 0))
        flags["w_zero"] = count(nw.col("w") == 0)
        small, large = nw.col("w") < SMALLEST_WEIGHT, nw.col("w") > LARGEST_WEIGHT
        positive = (nw.col("w") > 0) & ((nw.col("w") - nw.col("w")) == 0)
        flags["w_outside"] = count(positive & (small | large))
    extremes = {"least": nw.when(finite).then(nw.col("q"))}
    extremes["most"] = extremes["least"]
    if weight is not None:
        extremes["lightest"] = extremes["heaviest"] = nw.when(positive).then(nw.col("w"))
    found = found.select(
        *(flag.alias(column) for column, flag in flags.items()),
        *(value.alias(column) for column, value in extremes.items()),
    )
    found = found.select(
        *(nw.col(column).sum() for column in flags),
        *(
            nw.col(column).min() if column in ("least", "lightest") else nw.col(column).max()
            for column in extremes
        ),
    )
    return {
        key: value or 0
        for key, value in _engine_frames.collected(found, "an aggregation").to_pylist()[0].items()
    }
