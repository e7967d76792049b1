"""Tables of documents that were drawn to be labeled, and groups that were labeled as a whole."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers
from calibrant.exceptions import CalibrantError
from calibrant.io.rewriting import output_format, write_batches
from calibrant.io.roles import blocks
from calibrant.io.tables import Kind, Table, one_column

if TYPE_CHECKING:
    import pyarrow as pa

RARE = 0.001  # probability of a simple sample with the same whole groups, below which they are reported
LONGEST = 60  # mean characters of a column of groups; longer ones are texts


def kept_columns(table: Table, names: Sequence[str], rows: Integers) -> dict[str, pa.Array]:
    """Return some rows of the columns to keep, as they are.

    Parameters
    ----------
    table
        The table.
    names
        Columns.
    rows
        (n,) places of rows from 0, in ascending order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io.roles import open_table
    >>> table = open_table(pa.table({"item": [1, 2, 3], "text": ["x", "y", "z"]}))
    >>> kept_columns(table, ["text"], np.array([0, 2]))["text"].to_pylist()
    ['x', 'z']
    """
    import pyarrow as pa

    for name in names:
        one_column(table.name, table.columns, name, "name a column with `keep`")
    if not names:
        return {}
    parts, first = [], 0
    for block in blocks(table, dict.fromkeys(names, "name")):
        last = first + block.rows.num_rows
        inside = rows[(rows >= first) & (rows < last)] - first
        parts.append(pa.Table.from_batches([block.rows]).take(pa.array(inside)))
        first = last
    whole = pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    return {name: whole.column(name).combine_chunks() for name in names}


def sample_table(columns: Mapping[str, NDArray[Any] | pa.Array], earlier: Table | None) -> pa.Table:
    """Return the table of a sample, after the rows of earlier rounds.

    Columns of earlier rounds, such as labels, are kept, and are empty in new rows.

    Parameters
    ----------
    columns
        Columns of the new rows, by name.
    earlier
        Table of earlier rounds, without a column ``round`` if there was one; None if there was none.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io.roles import open_table
    >>> first = open_table(pa.table({"item": ["a"], "inclusion_probability": [0.5], "label": ["1"]}))
    >>> new = {"item": ["b"], "inclusion_probability": [0.25], "round": [2]}
    >>> sample_table(new, first).to_pylist()[1]
    {'item': 'b', 'inclusion_probability': 0.25, 'round': 2, 'label': None}
    """
    import pyarrow as pa

    new = pa.table(dict(columns))
    if earlier is None:
        return new
    numbers = ("inclusion_probability", "round")
    kinds: dict[str, Kind] = {name: "number" if name in numbers else "name" for name in earlier.columns}
    batches = [block.rows for block in blocks(earlier, kinds)]
    before = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches])
    if "round" not in before.column_names:
        before = before.append_column("round", pa.array(np.ones(before.num_rows, np.int64)))
    names = [*new.column_names, *(name for name in before.column_names if name not in new.column_names)]
    tables = []
    for table in (before, new):
        arrays = []
        for name in names:
            kind = pa.int64() if name == "round" else pa.float64() if name in numbers else pa.string()
            there = name in table.column_names
            arrays.append(table[name].cast(kind) if there else pa.nulls(table.num_rows, kind))
        tables.append(pa.table(arrays, names=names))
    return pa.concat_tables(tables).combine_chunks()


def write_sample(table: pa.Table, output: str | os.PathLike[str]) -> None:
    """Write a table of drawn documents, whole or not at all.

    Parameters
    ----------
    table
        From `sample_table`.
    output
        A name that ends in ``.csv``, ``.tsv``, ``.jsonl``, ``.parquet`` or ``.arrow``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_sample(sample_table({"round": [1]}, None), f"{folder}/sample.csv")
    ...     Path(folder, "sample.csv").read_text().split()
    ['round', '1']
    """
    name = os.fspath(output)
    write_batches(name, output_format(name, ""), iter(table.to_batches()))


def check_output(output: str | os.PathLike[str] | None, *sources: Any) -> None:
    """Raise at once if an output cannot be a table, or is a file that is read."""
    if output is not None:
        for source in sources:
            is_path = isinstance(source, (str, os.PathLike))
            output_format(os.fspath(output), os.fspath(source) if is_path else "")


class WholeGroups(NamedTuple):
    """A column whose labeled groups have a label for each of their documents.

    Attributes
    ----------
    column
        Name of the column.
    labeled, groups
        Number of labeled groups, and of all.
    """

    column: str
    labeled: int
    groups: int


def whole_groups(table: Table, labeled: Integers, used: Collection[str]) -> WholeGroups | None:
    """Return the column of groups of which all labeled ones were labeled as a whole; None if there is none.

    A simple sample of documents has such groups by chance with a probability below 0.001. If several
    columns have such groups, such as threads and their authors, the one with the fewest is returned.

    Parameters
    ----------
    table
        The table of all documents.
    labeled
        (n,) places of the labeled documents from 0.
    used
        Columns that are no groups, such as scores.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from calibrant.io.roles import open_table
    >>> table = open_table(pa.table({"author": [f"a{place // 4}" for place in range(400)]}))
    >>> whole_groups(table, np.arange(40), ())
    WholeGroups(column='author', labeled=10, groups=100)
    >>> whole_groups(table, np.arange(0, 400, 10), ())
    """
    names = [name for name in table.columns if name not in used]
    if not names or getattr(table, "lazy", None) is not None:
        return None
    try:
        first = next(iter(blocks(table, dict.fromkeys(names, "name"))), None)
        names = [] if first is None else [name for name in names if _may_be_groups(first.rows.column(name))]
        parts: dict[str, list[Any]] = {name: [] for name in names}
        for block in blocks(table, dict.fromkeys(names, "name")) if names else ():
            for name in names:
                parts[name].append(block.rows.column(name))
    except CalibrantError:  # the command does not need these columns
        return None
    reported = None
    for name in names:
        groups = _whole(parts[name], name, labeled)
        if groups is not None and (reported is None or groups.groups < reported.groups):
            reported = groups
    return reported


def _may_be_groups(column: pa.Array) -> bool:
    """Return True for names of groups: whole numbers, or short texts."""
    import pyarrow as pa
    from pyarrow import compute

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_integer(kind) or pa.types.is_date(kind):
        return True
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return False
    texts = column.cast(kind) if pa.types.is_dictionary(column.type) else column
    return bool((compute.mean(compute.utf8_length(texts)).as_py() or 0) <= LONGEST)


def _whole(columns: list[pa.Array], name: str, labeled: Integers) -> WholeGroups | None:
    """Return the labeled groups of a column if each was labeled as a whole."""
    import pyarrow as pa

    values = pa.chunked_array(
        [column.dictionary_decode() if pa.types.is_dictionary(column.type) else column for column in columns]
    )
    coded = values.combine_chunks().dictionary_encode()
    coded = coded.chunk(0) if isinstance(coded, pa.ChunkedArray) else coded
    code = coded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    if pa.types.is_string(coded.dictionary.type) or pa.types.is_large_string(coded.dictionary.type):
        code[code == coded.dictionary.index("").as_py()] = -1
    if (code[labeled] < 0).any():
        return None
    size = np.bincount(code[code >= 0], minlength=1)
    own = np.bincount(code[labeled], minlength=len(size))
    touched = own > 0
    # A column that only labeled documents have a value in, such as another label, has no unlabeled groups.
    if (own[touched] < size[touched]).any() or not (size[~touched] > 0).any():
        return None
    improbable = (len(labeled) / len(code)) ** min(float((size[touched] - 1).sum()), 1e6) < RARE
    return WholeGroups(name, int(touched.sum()), int((size > 0).sum())) if improbable else None
