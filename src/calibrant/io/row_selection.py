"""Some rows of a table, with all their columns; from CSV to CSV, their bytes stay as they are."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from calibrant.exceptions import InputError
from calibrant.io.atomic import writing
from calibrant.io.predictions import Predictions
from calibrant.io.rewriting import ROWS, output_format, write_batches
from calibrant.io.roles import KINDS, blocks
from calibrant.io.table_formats import written_format
from calibrant.io.tables import CsvTable, Table


def write_rows(predictions: Predictions, chosen: NDArray[np.bool_], output: str | os.PathLike[str]) -> int:
    """Write some rows of a table, whole or not at all, and return their number.

    Parameters
    ----------
    predictions
        The open table, with one row per answer.
    chosen
        (n,) True for each row that is written.
    output
        A name that ends in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl`` (text also as ``.gz``).

    Raises
    ------
    InputError
        The rows of the table are not those of ``chosen``, or the output cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from calibrant.io import open_predictions
    >>> table = pa.table({"score": [0.2, 0.9], "label": [0, 1], "text": ["no", "yes"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = write_rows(open_predictions(table), np.array([True, False]), f"{folder}/low.csv")
    ...     print(rows, Path(folder, "low.csv").read_text().split())
    1 ['score,label,text', '0.2,0,"no"']
    """
    name, table = os.fspath(output), predictions.table
    if table is None or predictions.lazy is not None or len(chosen) != (predictions.rows or len(chosen)):
        message = "its rows are not those of the answers, or have no order"
        hint = "write a table with one row per answer first: `calibrant convert --to wide`"
        raise InputError(message, hint, code="view", file=predictions.name)
    form = output_format(name, predictions.name, getattr(table, "files", ()))
    if isinstance(table, CsvTable) and table.format == written_format(name, stdout=False):
        with writing(name) as file:
            for piece in table.selected(chosen):
                file.write(piece)
        return int(chosen.sum())
    return write_batches(name, form, _batches(table, chosen))


def _batches(table: Table, chosen: NDArray[np.bool_]) -> Iterator[pa.RecordBatch]:
    start = 0
    for block in blocks(table, dict.fromkeys(table.columns, KINDS["name"]), ROWS):
        count = block.rows.num_rows
        part = block.rows.filter(pa.array(chosen[start : start + count]))
        start += count
        if part.num_rows:
            yield part.replace_schema_metadata(dict(table.metadata))
