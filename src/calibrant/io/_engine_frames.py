"""A tally inside any engine that Narwhals speaks: the same key and sums, as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import LARGEST_WEIGHT, SMALLEST_WEIGHT
from calibrant.exceptions import InputError
from calibrant.io._engine_rows import (
    CUTS,
    FINE,
    LOWEST,
    ONE,
    PARTS_OF_OCTAVE,
    SPLIT,
    TINY,
    WRONG,
    ZERO,
    Sums,
    cells,
    key_of,
    too_unequal,
)
from calibrant.io.columns import ZERO_ONE

if TYPE_CHECKING:
    import pyarrow as pa


def engine_name(frame: Any) -> str:
    """Return the name of an engine."""
    name = frame.implementation.name.replace("_", " ").capitalize()
    return {"Duckdb": "DuckDB", "Pyspark": "PySpark"}.get(name, str(name))


def collected(frame: Any, doing: str) -> pa.Table:
    """Run a query; an engine that cannot is named, with what it cannot do."""
    # Polars holds what it computes in memory unless it is asked to stream.
    streaming = {"engine": "streaming"} if frame.implementation.is_polars() else {}
    try:
        found: pa.Table = frame.collect(backend="pyarrow", **streaming).to_arrow()
    except InputError:
        raise
    except Exception as error:
        raise failure(frame, doing, error) from error
    return found


def failure(frame: Any, doing: str, error: Exception) -> InputError:
    """The error of an engine that failed at a step."""
    reason = " ".join(str(error).split())[:200] or type(error).__name__
    hint = "collect the frame to see whether its query works; if so, pass the result, or write it to Parquet"
    return InputError(f"{engine_name(frame)} failed at {doing} ({reason})", hint, code="engine")


def keyed(frame: Any, score: str, label: str, weight: str | None, names: Sequence[str]) -> Any:
    """Columns x0, x1, ... (the names), y, w, key, and d: the place in the row, from 0 to 1.

    The key is `WRONG` for an invalid score, label or weight.
    """
    import narwhals as nw

    one, zero = nw.lit(1.0), nw.lit(0.0)
    q = nw.col(score).cast(nw.Float64)
    columns = [nw.col(name).alias(f"x{place}") for place, name in enumerate(names)]
    columns += [q.alias("q"), outcome(frame, label).alias("y")]
    if weight is not None:
        columns.append(nw.col(weight).cast(nw.Float64).alias("w"))
    found = frame.select(*columns)
    good = (nw.col("q") >= 0) & (nw.col("q") <= 1) & (nw.col("y") >= 0)
    if weight is not None:
        weighs = (nw.col("w") >= SMALLEST_WEIGHT) & (nw.col("w") <= LARGEST_WEIGHT)
        good = good & ((nw.col("w") == 0) | weighs)
    ordinary = (nw.col("q") >= LOWEST) & (nw.col("q") < 1)
    found = found.with_columns(nw.when(good).then(one).otherwise(zero).alias("good"))
    if weight is not None:  # what is wrong in a row that weighs nothing is wrong all the same
        found = found.filter((nw.col("w") != 0) | (nw.col("good") == 0))
    found = found.with_columns(nw.when(ordinary).then(nw.col("q")).otherwise(nw.lit(0.5)).alias("s"))
    found = found.with_columns(nw.when(nw.col("s") >= 0.5).then(one).otherwise(zero).alias("above"))
    found = found.with_columns(((1 - 2 * nw.col("above")) * (nw.col("s") - nw.col("above"))).alias("m"))
    found = found.with_columns((nw.col("m") * SPLIT).alias("c"))
    found = found.with_columns((nw.col("c") - (nw.col("c") - nw.col("m"))).alias("power"))
    found = found.with_columns(
        (nw.col("m") / nw.col("power") - 1).alias("gap"),
        # The logarithm of a power of two, rounded: no engine is so far off.
        (0.5 - nw.col("power").log(2)).floor().alias("octave"),
        (nw.col("s") * CUTS + 0.5).floor().alias("near"),
    )
    place = PARTS_OF_OCTAVE * nw.col("gap") + PARTS_OF_OCTAVE / 2 * (nw.col("gap") - nw.col("gap").abs())
    found = found.with_columns(((1 - 2 * nw.col("above")) * place).alias("place"))
    found = found.with_columns(
        nw.col("place").floor().alias("floor"),
        nw.when(nw.col("s") > nw.col("near") / CUTS).then(one).otherwise(zero).alias("over"),
    )
    key = key_of(nw.col("above"), nw.col("octave"), nw.col("floor"), nw.col("near") + nw.col("over"))
    known: Any = nw.when(nw.col("good") == 0).then(nw.lit(float(WRONG)))
    known = known.otherwise(
        nw.when(nw.col("q") >= 1).then(nw.lit(float(ONE)))
        .otherwise(
            nw.when(nw.col("q") <= 0).then(nw.lit(float(ZERO)))
            .otherwise(nw.when(nw.col("q") < LOWEST).then(nw.lit(float(TINY))).otherwise(key))
        )
    )  # fmt: skip
    inside = nw.when(nw.col("q") >= LOWEST).then(nw.col("place") - nw.col("floor"))
    kept = [*(f"x{place}" for place in range(len(names))), "q", "y", *(["w"] if weight is not None else [])]
    return found.select(
        *kept,
        known.cast(nw.Int64).alias("key"),
        inside.otherwise(nw.col("q") * (1 / LOWEST)).alias("d"),
    )


def outcome(frame: Any, label: str) -> Any:
    """A label as double: 0, 1, or -1 where it is neither."""
    import narwhals as nw

    column, kind = nw.col(label), frame.collect_schema()[label]
    if kind == nw.Boolean:
        is_one, is_zero = column == nw.lit(True), column == nw.lit(False)
    elif kind in (nw.String, nw.Categorical, nw.Enum):
        # Ibis strips no characters of one's choice.
        text = column.cast(nw.String).str.strip_chars(None if frame.implementation.is_ibis() else " \t\r")
        is_one, is_zero = (
            text.is_in([word for word, one in ZERO_ONE.items() if one == each]) for each in (1, 0)
        )
    else:
        is_one, is_zero = column == 1, column == 0
    rest = nw.when(is_zero).then(nw.lit(0.0)).otherwise(nw.lit(-1.0))
    return nw.when(is_one).then(nw.lit(1.0)).otherwise(rest)


def summed(
    frame: Any, score: str, label: str, weight: str | None, names: Sequence[str]
) -> tuple[Sums, pa.Table] | None:
    """Sum a frame by key and the columns ``names``; None where a value cannot be used, whichever it is."""
    import pyarrow as pa

    found = keyed(frame, score, label, weight, names)
    groups = ["key", "y", *(f"x{place}" for place in range(len(names)))]
    table = collected(summed_by(found, groups, weight), "a group-by aggregation")
    key = table["key"].to_numpy()
    if (key == WRONG).any() or too_unequal(table):
        return None
    extra = pa.table({name: table[f"x{place}"] for place, name in enumerate(names)})
    return _sums(table, weight is not None), extra


def summed_by(found: Any, groups: Sequence[str], weight: str | None) -> Any:
    """Count, and sum places in rows: what is coarse about them adds up exactly, and the rest apart."""
    import narwhals as nw

    d, coarse = nw.col("d"), nw.col("coarse")
    found = found.with_columns((d * 2**FINE).floor().alias("coarse"))
    parts = {"coarse": coarse, "fine": d * 2**FINE - coarse, "d2": d * d}
    if weight is not None:
        w = nw.col("w")
        parts = {"w": w, "w2": w * w} | {name: w * part for name, part in parts.items()}
    kept = {} if weight is None else dict.fromkeys(("lightest", "heaviest"), nw.col("w"))
    found = found.select(*groups, *(part.alias(name) for name, part in (parts | kept).items()))
    sums = [nw.len().alias("n"), *(nw.col(name).sum() for name in parts)]
    if weight is not None:
        sums += [nw.col("lightest").min(), nw.col("heaviest").max()]
    return found.group_by(*groups).agg(*sums)


def _sums(table: pa.Table, weighted: bool) -> Sums:
    def numbers(name: str) -> NDArray[Any]:
        return np.asarray(table[name].to_numpy(), np.float64)

    known = cells()
    found = known.find(table["key"].to_numpy())
    unit = known.unit[found]
    return Sums(
        known.row[found],
        numbers("y") == 1,
        np.asarray(table["n"].to_numpy(), np.int64),
        numbers("w") if weighted else None,
        numbers("w2") if weighted else None,
        unit * 2.0**-FINE * (numbers("coarse") + numbers("fine")),
        unit**2 * numbers("d2"),
    )
