"""A tally inside DuckDB: one aggregation whose group key is a 16-bit number, made by arithmetic on doubles.

A small key lets DuckDB address groups directly instead of hashing them (on a connection where
``perfect_ht_threshold`` is 17 or more), and its double arithmetic is vectorized where integer arithmetic,
which checks for overflow, and CASE are not. An invalid score, or a label other than 0 and 1, makes the key
overflow, and the query fails.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import LARGEST_WEIGHT, SMALLEST_WEIGHT, Floats, Integers
from calibrant.exceptions import InputError
from calibrant.io._engine_rows import LOWEST, Sums, anchors, first_scores, lattice, too_unequal
from calibrant.io.columns import ZERO_ONE
from calibrant.metrics.grid import rows_of

if TYPE_CHECKING:
    import pyarrow as pa


KEY_BITS = 17  # of the 16-bit key and of null: the threshold for direct addressing
LABEL = 1 << 15
BASE = 16512  # 64 octaves of 256 rows, and half an octave more
GAP = 188  # between the keys below and above one half
NEVER = 100_000  # beyond any key

# 1e-300 keeps 0 / 0 away, and is lost in any score from 2^-64 on. A literal 0.25 is a DECIMAL, which is slow
# where it is not folded away.
STEPS = (
    "{kept}, {score} AS q, ({score} >= 0.5)::DOUBLE AS above",
    "{kept}, q, above, 1 - 2 * above AS side, (1 - 2 * above) * (q - above) AS m",
    "{kept}, q, above, side, m, m * 4503599627370497 - (m * 4503599627370497 - m) AS power",
    "{kept}, q, above, side, m, (m + 6e-301) / (power + 1e-300) - 1 AS gap, "
    "bit_count((power * -18446744073709551616)::BIGINT)::DOUBLE AS octave",
    "{kept}, q, above, side, m, octave, side * (256 * gap + 128 * (gap - abs(gap))) AS place, "
    "floor(q * 60 + 0.5) AS near",
    "{kept}, m, floor(place) - place AS d, (16512 + 188 * above - side * 256 * octave + floor(place) + near "
    "+ (q > near / 60)::DOUBLE + 100000 * (m < 0)::DOUBLE + 32768 * y)::USMALLINT AS key",
)
# Many equal scores make a plain sum drift, by 1e-8 of itself at most: too much for m, and nothing for the
# squares of places in rows, which are 2^-16 of those of the scores.
PLAIN = "count(*) AS n, fsum(m) AS m, sum(d * d) AS d2"
WEIGHTED = (
    "count(*) AS n, fsum(w) AS w, fsum(w * w) AS w2, fsum(w * m) AS m, fsum(w * d * d) AS d2, "
    "min(w) AS lightest, max(w) AS heaviest"
)


@dataclass(frozen=True)
class Codes:
    """Row of each 16-bit key, without its label; -1 for unused keys."""

    row: Integers
    least: Floats
    unit: Floats
    above: NDArray[np.bool_]


@cache
def codes() -> Codes:
    """The keys of all rows, made once."""
    row = np.full(LABEL, -1, np.int64)
    least, unit, above = np.zeros(LABEL), np.zeros(LABEL), np.zeros(LABEL, bool)
    score = first_scores()
    score = score[(score >= LOWEST) & (score < 1)]
    side, octave, place, cuts = lattice(score)
    key = (BASE + GAP * side - (1 - 2 * side) * 256 * octave + place + cuts).astype(np.int64)
    row[key], above[key] = rows_of(score)[0], side > 0
    least[key], unit[key] = anchors(side, octave, place)
    zero, tiny, one = rows_of(np.array([0.0, LOWEST / 2, 1.0]))[0]
    # Below 2^-64 the place is between 512 (0.6 - 1) and 128; the lower half of the octave is -128 .. -1.
    row[BASE - 204 : BASE + 130] = tiny
    row[1 : BASE - 64 * 256 + 1] = tiny
    row[BASE - 205] = zero
    row[BASE + GAP + 204 + 60] = one
    above[BASE + GAP + 204 + 60] = True
    return Codes(row, least, unit, above)


def relation_of(files: Sequence[Path], partitions: Mapping[str, str] | None = None) -> Any:
    """Return Parquet files as a relation of a new connection; partition columns have types of SQL."""
    # DuckDB reads each name as a pattern, and a leading ~ as the home directory.
    names = [glob.escape(os.path.abspath(file)) for file in files]
    types = ", ".join(f"{quoted(name)}: {kind}" for name, kind in (partitions or {}).items())
    hive = f"hive_partitioning = true, hive_types = {{{types}}}" if types else "hive_partitioning = false"
    listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    with _told():
        return _connection().sql(f"SELECT * FROM read_parquet([{listed}], {hive}, union_by_name = true)")


@contextmanager
def _told() -> Iterator[None]:
    """Raise an error of DuckDB as `InputError`."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"DuckDB cannot run the query ({reason})", "repair the relation that you passed", code="engine"
        ) from error


@cache  # before DuckDB 2 a relation does not keep its connection open
def _connection() -> Any:
    """A connection on which small keys are addressed directly."""
    try:
        import duckdb
    except ImportError as error:
        message, hint = "DuckDB is not installed", "pip install 'calibrant[duckdb]'"
        raise InputError(message, hint, code="engine") from error
    connection = duckdb.connect()
    connection.execute(f"SET perfect_ht_threshold = {KEY_BITS}")
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def quoted(name: str) -> str:
    """A name of a column as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def outcome(label: str, kind: str) -> str:
    """SQL for a label as double 0 or 1, and far beyond where it is neither."""
    column = quoted(label)
    if kind.endswith(("BOOLEAN", "INT", "INTEGER")):
        return f"{column}::DOUBLE"
    if kind.startswith(("VARCHAR", "ENUM")):
        words = [
            ", ".join(f"'{word}'" for word, is_one in ZERO_ONE.items() if is_one == each) for each in (0, 1)
        ]
        text = f"trim({column}::VARCHAR, E' \\t\\r')"
        return (
            f"CASE WHEN {text} IN ({words[0]}) THEN 0::DOUBLE WHEN {text} IN ({words[1]}) THEN 1::DOUBLE "
            f"WHEN {column} IS NULL THEN NULL ELSE {NEVER}::DOUBLE END"
        )
    return (
        f"CASE WHEN {column} = 0 THEN 0::DOUBLE WHEN {column} = 1 THEN 1::DOUBLE "
        f"WHEN {column} IS NULL THEN NULL ELSE {NEVER}::DOUBLE END"
    )


def summed(
    relation: Any, score: str, label: str, weight: str | None, names: Sequence[str]
) -> tuple[Sums, pa.Table] | None:
    """Sum a relation by key and the columns ``names``; None where a value cannot be used, whichever it is."""
    import duckdb
    import pyarrow as pa

    kinds = dict(zip(relation.columns, map(str, relation.types), strict=True))
    kept = [f"{quoted(name)} AS x{place}" for place, name in enumerate(names)]
    y = outcome(label, kinds[label])
    if weight is not None:
        w = f"{quoted(weight)}::DOUBLE"
        good = f"{w} = 0 OR {w} BETWEEN {SMALLEST_WEIGHT!r} AND {LARGEST_WEIGHT!r}"
        y = f"CASE WHEN {good} THEN {y} ELSE {NEVER}::DOUBLE END"
    kept.append(f"{y} AS y")
    wider = [f"x{place}" for place in range(len(names))]
    found = relation
    if weight is not None:  # what is wrong in a row that weighs nothing is wrong all the same
        q = f"{quoted(score)}::DOUBLE"
        usable = f"{q} BETWEEN 0 AND 1 AND {q} - {q} = 0 AND ({y}) IN (0, 1)"
        found = found.filter(f"{quoted(weight)} IS DISTINCT FROM 0 OR NOT coalesce({usable}, false)")
        kept.append(f"{quoted(weight)}::DOUBLE AS w")
    for place, step in enumerate(STEPS):
        carried = kept if place == 0 else [*wider, "y", *(["w"] if weight is not None else [])]
        column = f"{quoted(score)}::DOUBLE"
        found = found.project(step.format(kept=", ".join(carried), score=column))
    groups = ", ".join(["key", *wider])
    found = found.aggregate(f"{groups}, {PLAIN if weight is None else WEIGHTED}", groups)
    with _told():
        try:
            table = found.to_arrow_table()
        except (duckdb.ConversionException, duckdb.OutOfRangeException, duckdb.InvalidInputException):
            return None
    if table["key"].null_count or too_unequal(table):
        return None
    extra = pa.table({name: table[f"x{place}"] for place, name in enumerate(names)})
    return _sums(table, weight is not None), extra


def _numbers(table: pa.Table, name: str) -> NDArray[Any]:
    values: NDArray[Any] = table[name].to_numpy()
    return values


def _sums(table: pa.Table, weighted: bool) -> Sums:
    key = _numbers(table, "key").astype(np.int64)
    known, code = codes(), key & (LABEL - 1)
    row = known.row[code]
    if (row < 0).any():
        raise ArithmeticError("the engine's arithmetic differs from IEEE 754")
    n = _numbers(table, "n").astype(np.int64)
    weight = _numbers(table, "w") if weighted else n.astype(np.float64)
    sign = np.where(known.above[code], -1.0, 1.0)
    first = sign * (_numbers(table, "m") - weight * known.least[code])
    second = _numbers(table, "d2") * known.unit[code] ** 2
    rest = known.unit[code] == 0  # rows without width: 0 and 1, and all below 2^-64
    second[rest] = first[rest] ** 2 / weight[rest]
    return Sums(
        row,
        key >= LABEL,
        n,
        weight if weighted else None,
        _numbers(table, "w2") if weighted else None,
        first,
        second,
    )
