"""Write a prediction table in another form or format."""

from __future__ import annotations

import os
from typing import Any

from calibrant.io.converting import write_predictions
from calibrant.io.predictions import Columns, Form, open_predictions
from calibrant.progress import Progress
from calibrant.results.conversion import ConvertedTable


def convert(
    source: Any,
    output: str | os.PathLike[str],
    *,
    to: Form | None = None,
    columns: Columns | None = None,
    progress: Progress | None = None,
) -> ConvertedTable:
    """Write a prediction table in another form (long, wide) or format, with its items, clusters and weights.

    Columns get their usual names, and logits become probabilities. All other columns stay, except from long
    to wide and in archives. A long table that is made of a wide one without items has a column ``item`` that
    numbers the rows of the wide one.

    Parameters
    ----------
    source
        As in `calibrant.open_predictions`: a file, a dataframe, or a log.
    output
        The table to write: ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl`` (text also as ``.gz``),
        or an archive of arrays, ``.npz``.
    to
        ``long`` or ``wide``; None: the form that the source has, and ``wide`` for ``.npz``.
    columns
        Names of columns that are called otherwise.
    progress
        Called now and then with a stage, the rows done, and all rows (or None).

    Returns
    -------
    ConvertedTable

    Raises
    ------
    InputError
        The table cannot be read, written, or brought into this form. Nothing is written then.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from calibrant import measure
    >>> table = pa.table({"label": ["a", "b"], "p_a": [0.75, 0.5], "p_b": [0.25, 0.5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = convert(table, f"{folder}/new.parquet", to="long")
    ...     found = measure(f"{folder}/new.parquet", view="pooled")["pooled"]
    >>> done.rows, done.columns, found.n
    (4, ('score', 'label', 'class', 'item'), 4)
    """
    predictions = open_predictions(source, columns)
    whole = predictions.rows if to in (None, predictions.form) else None

    def report(rows: int) -> None:
        if progress is not None:
            progress("writing", rows, whole)

    written = write_predictions(predictions, output, to, progress=report)
    return ConvertedTable(
        source=predictions.name,
        output=os.fspath(output),
        form_read=predictions.form,
        form_written=written.form,
        rows=written.rows,
        classes=len(predictions.classes) or None,
        columns=written.columns,
        left_out=written.left_out,
        threshold=predictions.threshold,
    )
