"""Tables of documents that were drawn to be labeled."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers
from calibrant.io.rewriting import output_format, write_batches
from calibrant.io.roles import blocks
from calibrant.io.tables import Table, one_column

if TYPE_CHECKING:
    import pyarrow as pa


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

    new = pa.table({name: values for name, values in columns.items()})
    if earlier is None:
        return new
    numbers = ("inclusion_probability", "round")
    kinds = {name: "number" if name in numbers else "name" for name in earlier.columns}
    batches = [block.rows for block in blocks(earlier, kinds)]  # type: ignore[arg-type]
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
    ...     write_sample(sample_table({"item": ["a"]}, None), f"{folder}/sample.csv")
    ...     Path(folder, "sample.csv").read_text().split()
    ['item', 'a']
    """
    name = os.fspath(output)
    write_batches(name, output_format(name, ""), iter(table.to_batches()))


def check_output(output: str | os.PathLike[str] | None, *sources: Any) -> None:
    """Raise at once if an output cannot be a table, or is a file that is read."""
    if output is not None:
        for source in sources:
            is_path = isinstance(source, (str, os.PathLike))
            output_format(os.fspath(output), os.fspath(source) if is_path else "")
