"""Tallies in files: Parquet with a versioned header.

Parquet, because the rows of a tally are a table: every engine that can make one can write it, and any
tool can look into it; pages carry checksums, and a file cut short has no footer. The header is JSON
under the key ``calibrant.tally`` of the schema's metadata.
"""

from __future__ import annotations

import json
import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import FormatError, InputError
from calibrant.io._atomic import writing
from calibrant.io._columns import as_numpy
from calibrant.io._origin import reading
from calibrant.io._parts import parquet_parts
from calibrant.io._table_formats import locate

if TYPE_CHECKING:
    from calibrant.measure.tally import Tally

VERSION = 1
KEY = b"calibrant.tally"
APART = ("kind", "cluster", "clusters", "weighted")  # fields of a tally that are no columns


def save_tally(tally: Tally, path: str | os.PathLike[str], *, event: str = "binary") -> None:
    """Write a tally to a Parquet file, whole or not at all.

    Columns are the tally's rows (`Tally`); with clusters, ``cluster`` holds their names.

    Parameters
    ----------
    tally
        What to save.
    path
        A name that ends in ``.parquet``; ``NAME.tally.parquet`` tells it from predictions.
    event
        What the probabilities are of, for those who measure it later.

    Raises
    ------
    InputError
        If the name does not end in ``.parquet``, or the place cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.measure.tally import Tally
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_tally(Tally.from_arrays(y_true=[0, 1], y_prob=[0.2, 0.7]), f"{folder}/dev.tally.parquet")
    ...     load_tally(f"{folder}/dev.tally.parquet").total_n
    2
    """
    import pyarrow as pa
    from pyarrow import parquet

    if not os.fspath(path).endswith(".parquet"):
        hint = "name it NAME.tally.parquet: a tally is read back by this ending"
        raise InputError("a tally is a Parquet file", hint, code="file-kind", file=os.fspath(path))
    columns = {field.name: getattr(tally, field.name) for field in fields(tally) if field.name not in APART}
    if tally.cluster is not None and tally.clusters is not None:
        columns["cluster"] = tally.clusters[tally.cluster]
    header = {
        "version": VERSION,
        "kind": tally.kind,
        "weighted": tally.weighted,
        "event": event,
        "pairs": tally.total_n,
    }
    table = pa.table(columns).replace_schema_metadata({KEY: json.dumps(header)})
    with writing(path) as file:
        parquet.write_table(table, file, compression="zstd", write_page_checksum=True)


def load_tally(path: str | os.PathLike[str]) -> Tally:
    """Read a tally that `save_tally` wrote, in this version of calibrant or an older one.

    Raises
    ------
    FormatError
        The file is no tally, is damaged or cut short, or was written by a newer calibrant.

    Examples
    --------
    >>> import tempfile
    >>> from calibrant.measure import Tally
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_tally(Tally.from_arrays(y_true=[0, 1], y_prob=[0.1, 0.9]), f"{folder}/tally.parquet")
    ...     load_tally(f"{folder}/tally.parquet").total_n
    2
    """
    from calibrant.measure.tally import Tally

    name = os.fspath(path)
    header, table = _read(name)
    columns: dict[str, Any] = {}
    for field in fields(Tally):
        if field.name in APART:
            continue
        if field.name not in table.column_names:
            raise FormatError(f"there is no column {field.name!r}", "save the tally again", file=name)
        columns[field.name] = as_numpy(table[field.name].combine_chunks())
    cluster, names = None, None
    if "cluster" in table.column_names:
        names, cluster = _coded(table["cluster"])
    tally = Tally(header["kind"], cluster=cluster, clusters=names, weighted=header["weighted"], **columns)
    _check(tally, header, name)
    return tally


def _coded(column: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Sorted names in a column, and the place of each row's name among them."""
    encoded = column.dictionary_encode().combine_chunks()
    values = encoded.dictionary
    text = str(values.type) == "string"
    # Only the different names are sorted: those of rows may be millions of texts.
    names, place = np.unique(np.array(values.to_pylist()) if text else as_numpy(values), return_inverse=True)
    return names, place.astype(np.int64)[as_numpy(encoded.indices)]


def tally_event(path: str | os.PathLike[str]) -> str | None:
    """Return the event of a saved tally, or None if the file is no tally."""
    name = os.fspath(path)
    if not name.endswith(".parquet") or parquet_parts(name) is not None:
        return None
    header = _header(name)
    return None if header is None else str(header.get("event", "binary"))


def _header(name: str) -> dict[str, Any] | None:
    from pyarrow import parquet

    origin = locate(name)
    with reading(name):
        text = (parquet.read_schema(origin.open()).metadata or {}).get(KEY)
    if text is None:
        return None
    try:
        header = json.loads(text)
        version = int(header["version"])
    except (ValueError, KeyError, TypeError) as error:
        raise FormatError("the tally's header is damaged", "save it again", file=name) from error
    if version > VERSION:
        message = f"the tally has format version {version}, this calibrant reads up to {VERSION}"
        raise FormatError(message, "install a newer calibrant", code="file-newer", file=name)
    known: dict[str, Any] = header
    return known


def _read(name: str) -> tuple[dict[str, Any], Any]:
    from pyarrow import parquet

    header = _header(name)
    if header is None:
        raise FormatError(
            "this is no saved tally", "make one with save_tally", code="file-mislabelled", file=name
        )
    with reading(name):
        file = parquet.ParquetFile(locate(name).open(), page_checksum_verification=True)
        return header, file.read()


def _check(tally: Tally, header: dict[str, Any], name: str) -> None:
    """Raise unless the rows are what the header says and could have been counted."""
    sound = (
        header["kind"] in ("compressed", "exact")
        and tally.total_n == header["pairs"]
        and bool((tally.n > 0).all())
        and bool(((tally.positives >= 0) & (tally.positives <= tally.n)).all())
        and bool(((tally.low >= 0) & (tally.low <= tally.high) & (tally.high <= 1)).all())
        and all(np.isfinite(getattr(tally, column)).all() for column in ("weight", "offset", "offset2"))
    )
    if not sound:
        raise FormatError("the tally's rows are damaged", "save it again", code="file-broken", file=name)
