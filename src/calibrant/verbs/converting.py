"""Write a prediction table in another form or format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from calibrant.exceptions import InputError
from calibrant.io.converting import write_predictions
from calibrant.io.opening import Columns, open_predictions
from calibrant.io.predictions import Form
from calibrant.progress import Progress, tell
from calibrant.results.conversion import ConvertedTable


def convert(
    source: Any,
    output: str | os.PathLike[str],
    *,
    to: Form | None = None,
    columns: Columns | Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> ConvertedTable:
    """Write a prediction table in another form (long, wide) or format, with its items, clusters and weights.

    Columns get their default names, and logits become probabilities. All other columns are kept, except from
    long to wide and in archives. A long table from a wide table without items has a column ``item`` with the
    row numbers of the wide table.

    Parameters
    ----------
    source
        As in `calibrant.open_predictions`: a file, a dataframe, or a log. It needs labels.
    output
        Path of the table: ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl`` (text also as ``.gz``),
        or an archive of arrays, ``.npz``.
    to
        Form of the new table. ``long``: one score per row. ``wide``: one row per item with one score per
        class. None: the form of the source; ``wide`` for .npz.
    columns
        Names of columns that differ from the defaults, such as ``{'score': 'p'}``.
    progress
        Called now and then with a stage, the rows done, and all rows (or None).

    Returns
    -------
    ConvertedTable

    Raises
    ------
    InputError
        If the table cannot be read, written, or brought into this form. Nothing is written then.

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
    try:
        predictions = open_predictions(source, columns)
    except InputError as error:
        if error.code == "column-missing" and "'label'" in error.message:
            error.hint += "; a table without labels cannot be converted"
        raise
    whole = predictions.rows if to in (None, predictions.form) else None

    def report(rows: int) -> None:
        tell(progress, "writing", rows, whole)

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
        notes=predictions.told,
    )
