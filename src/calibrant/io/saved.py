"""Tallies in files: Parquet with a versioned header.

Parquet, because the rows of a tally are a table: every engine that can make one can write it, and any
tool can look into it; pages carry checksums, and a file cut short has no footer. The header is JSON
under the key ``calibrant.tally`` of the schema's metadata.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from calibrant._checks import LARGEST, LARGEST_WEIGHT, SMALLEST_WEIGHT
from calibrant.exceptions import FormatError, InputError
from calibrant.io._parts import notes_on_copies
from calibrant.io.atomic import writing
from calibrant.io.columns import as_numpy
from calibrant.io.envelope import Envelope, Version
from calibrant.io.origin import most_unpacked, parquet_file, reading, reads_once, too_large
from calibrant.io.table_formats import locate, parquet_parts
from calibrant.io.tables import TALLY_KEY

if TYPE_CHECKING:
    import pyarrow as pa

    from calibrant.metrics.tally import Tally

COUNTS = ("n", "positives")
NUMBER = 8  # bytes
ROUNDING = 1e-9  # of sums, as parts of their size


class _Header(Struct, frozen=True, kw_only=True):
    """Header of a tally's file."""

    version: Version
    kind: Literal["compressed", "exact"]
    weighted: bool
    view: str = msgspec.field(default="binary", name="event")  # the word of version 1 of the files
    pairs: int


ENVELOPE = Envelope(_Header, 1, "tally", "make one with save_tally", "save it again", key="version")


def save_tally(tally: Tally, path: str | os.PathLike[str], *, view: str | None = None) -> None:
    """Write a tally to a Parquet file, whole or not at all.

    Columns are the tally's rows (`Tally`); with clusters, ``cluster`` holds their names.

    Parameters
    ----------
    tally
        Tally to save.
    path
        Path that ends in ``.parquet``; ``NAME.tally.parquet`` distinguishes it from predictions.
    view
        View of the probabilities, for later measurements; None for that of the tally, or else ``binary``.

    Raises
    ------
    InputError
        If the name does not end in ``.parquet``, the place cannot be written, or the tally has another view.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.metrics.tally import Tally
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_tally(Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.7]), f"{folder}/dev.tally.parquet")
    ...     load_tally(f"{folder}/dev.tally.parquet").total_n
    2
    """
    from pyarrow import parquet

    if not os.fspath(path).endswith(".parquet"):
        hint = "name it NAME.tally.parquet: a tally is read back by this ending"
        raise InputError("a tally is a Parquet file", hint, code="file-kind", file=os.fspath(path))
    if view is not None and tally.view not in (None, view):
        message, hint = f"the tally is of the view {tally.view}, not {view}", "leave the view out"
        raise InputError(message, hint, code="view", file=os.fspath(path))
    table = table_of_tally(tally, view or tally.view or "binary")
    with writing(path) as file:
        parquet.write_table(table, file, compression="zstd", write_page_checksum=True)


def table_of_tally(tally: Tally, view: str = "binary") -> pa.Table:
    """Return a tally as an Arrow table, with its header in the metadata.

    Examples
    --------
    >>> from calibrant.metrics.tally import Tally
    >>> table = table_of_tally(Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.7]))
    >>> tally_of_table(table, "the table").total_n
    2
    """
    import pyarrow as pa

    from calibrant.metrics.tally import COLUMNS

    columns = {name: getattr(tally, name) for name in COLUMNS}
    if tally.cluster is not None and tally.clusters is not None:
        columns["cluster"] = tally.clusters[tally.cluster]
    header = _Header(
        version=ENVELOPE.version, kind=tally.kind, weighted=tally.weighted, view=view, pairs=tally.total_n
    )
    return pa.table(columns).replace_schema_metadata({TALLY_KEY: msgspec.json.encode(header)})


def load_tally(path: str | os.PathLike[str]) -> Tally:
    """Read a tally that `save_tally` wrote, in this version of calibrant or an older one.

    The tallies of a folder, or of a pattern, are merged.

    Raises
    ------
    FormatError
        The file is no tally, is damaged or cut short, or was written by a newer calibrant.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.metrics import Tally
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_tally(Tally.from_arrays(y_true=[0, 1], y_prob=[0.1, 0.9]), f"{folder}/tally.parquet")
    ...     load_tally(f"{folder}/tally.parquet").total_n
    2
    """
    parts = parquet_parts(path)
    if parts is None:
        return tally_of_table(_read(os.fspath(path)), os.fspath(path))
    total = tally_of_table(_read(os.fspath(parts[0])), os.fspath(parts[0]))
    for part in parts[1:]:
        tally = tally_of_table(_read(os.fspath(part)), os.fspath(part))
        try:
            total = total.merge(tally)
        except InputError as error:
            raise error.at(file=os.fspath(part)) from None
    return total


def copied_tallies(source: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return a note if tallies of a folder or pattern have the same content as others."""
    return notes_on_copies(parquet_parts(source) or ())


def tally_of_table(table: pa.Table, name: str) -> Tally:
    """Return the tally of a table of `table_of_tally`; ``name`` is that of its source in errors."""
    from calibrant.metrics.tally import COLUMNS, Tally

    text = (table.schema.metadata or {}).get(TALLY_KEY)
    if text is None:
        raise ENVELOPE.foreign(name)
    header = ENVELOPE.decode(text, name)
    columns: dict[str, Any] = {}
    for column in COLUMNS:
        if column not in table.column_names:
            raise FormatError(f"there is no column {column!r}", "save the tally again", file=name)
        columns[column] = _numbers(table, column, name)
    cluster, names = None, None
    if "cluster" in table.column_names:
        names, cluster = _coded(table, name)
    columns |= {"cluster": cluster, "clusters": names, "weighted": header.weighted, "view": header.view}
    tally = Tally(header.kind, **columns)
    if not (tally.total_n == header.pairs and _could_have_been_counted(tally)):
        raise _damaged(name)
    return tally


def _numbers(table: Any, column: str, name: str) -> NDArray[Any]:
    """Return a column that occurs once, has the type of a tally's column, and has no gaps."""
    kind = "int64" if column in COUNTS else "double"
    if table.column_names.count(column) > 1 or str(table[column].type) != kind or table[column].null_count:
        raise _damaged(name)
    return as_numpy(table[column].combine_chunks())


def _coded(table: Any, name: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the sorted names of clusters, and the place of each row's name among them."""
    import pyarrow as pa

    kind = table.schema.field(table.column_names.index("cluster")).type
    plain = pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if table.column_names.count("cluster") > 1 or not plain or table["cluster"].null_count:
        raise _damaged(name)
    encoded = table["cluster"].dictionary_encode().combine_chunks()
    values = encoded.dictionary
    # Only the different names are sorted: those of rows may be millions of texts.
    try:
        distinct = np.array(values.to_pylist()) if pa.types.is_string(kind) else as_numpy(values)
    except UnicodeDecodeError as error:
        raise _damaged(name) from error
    names, place = np.unique(distinct, return_inverse=True)
    return names, place.astype(np.int64)[as_numpy(encoded.indices)]


def tally_view(source: Any) -> str | None:
    """Return the view of a saved tally, or of those of a folder or pattern; None for anything else.

    Raises
    ------
    InputError
        If the first file is a tally and another is not, or has another view.
    """
    if not isinstance(source, (str, os.PathLike)) or reads_once(source):
        return None
    name = os.fspath(source)
    parts = parquet_parts(name) or ((name,) if name.endswith(".parquet") else ())
    views = (_view(os.fspath(part)) for part in parts)
    first = next(views, None)
    if first is not None:
        for part, view in zip(parts[1:], views, strict=True):
            if view != first:
                message = f"{parts[0]} is a tally of view {first}, and this is " + (
                    "no tally" if view is None else f"one of view {view}"
                )
                raise InputError(message, "measure them separately", code="view", file=os.fspath(part))
    return first


def _view(name: str) -> str | None:
    header = _header(name)
    return None if header is None else header.view


def _header(name: str) -> _Header | None:
    origin = locate(name)
    with reading(name):
        text = (parquet_file(origin.open()).schema_arrow.metadata or {}).get(TALLY_KEY)
    return None if text is None else ENVELOPE.decode(text, name)


def _read(name: str) -> pa.Table:
    if _header(name) is None:
        raise ENVELOPE.foreign(name)
    with reading(name):
        file = parquet_file(locate(name).open(), page_checksum_verification=True)
        most = most_unpacked(os.path.getsize(name))
        if file.metadata.num_rows * NUMBER * file.metadata.num_columns > most:
            raise too_large(name, most)
        return file.read()


@np.errstate(over="ignore", invalid="ignore")
def _could_have_been_counted(tally: Tally) -> bool:
    """Return True if the rows of a tally can be sums of pairs."""
    from calibrant.metrics.tally import COLUMNS

    n, positives, weight, positive = tally.n, tally.positives, tally.weight, tally.weight_positives
    if not all(np.isfinite(getattr(tally, name)).all() for name in COLUMNS):
        return False
    counted = (n > 0) & (positives >= 0) & (positives <= n)
    placed = (tally.low >= 0) & (tally.low <= tally.high) & (tally.high <= 1)
    placed &= (tally.anchor >= 0) & (tally.anchor <= 1)
    weighed = (weight >= SMALLEST_WEIGHT) & (weight <= n * LARGEST_WEIGHT)
    if not (counted.all() and placed.all() and weighed.all() and n.astype(np.float64).sum() < LARGEST):
        return False
    most, more = weight * (1 + ROUNDING), 1 + ROUNDING
    summed = (positive >= 0) & (positive <= most) & ((positive == 0) == (positives == 0))
    summed &= (tally.weight2 > 0) & (tally.weight2 <= most**2) & (weight**2 <= n * tally.weight2 * more)
    summed &= (tally.weight2_positives >= 0) & (tally.weight2_positives <= tally.weight2 * more)
    mean = tally.score
    inside = (mean >= tally.low - ROUNDING) & (mean <= tally.high + ROUNDING)
    inside &= (tally.offset2 >= 0) & (tally.offset2 <= most)
    inside &= tally.offset**2 <= weight * tally.offset2 * more + ROUNDING * weight**2
    inside &= np.abs(tally.offset_positive) <= positive * more
    ones = (weight, n), (positive, positives), (tally.weight2, n), (tally.weight2_positives, positives)
    unweighted = tally.weighted or all(np.array_equal(sums, count) for sums, count in ones)
    return bool(summed.all() and inside.all() and unweighted)


def _damaged(name: str) -> FormatError:
    return FormatError("the tally's rows are damaged", "save it again", code="file-broken", file=name)
