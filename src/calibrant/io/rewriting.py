"""Tables with new scores: read batch by batch, the scores replaced, every other column kept."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from calibrant._checks import Floats, Integers
from calibrant.exceptions import InputError
from calibrant.io.atomic import keep_sources, writing
from calibrant.io.frames import FrameTable
from calibrant.io.opening import prediction_roles
from calibrant.io.origin import reads_once
from calibrant.io.predictions import Form, Predictions, class_names
from calibrant.io.roles import KINDS, Block, blocks, kinds_of, open_table
from calibrant.io.table_formats import TableFormat, format_of, locate, written_format
from calibrant.io.tables import RECALIBRATED_KEY, CsvTable, Table, one_column, threshold_of

if TYPE_CHECKING:
    import pyarrow as pa

    from calibrant.io.score_kinds import ScoreKind
    from calibrant.records.fields import Library

Change = Callable[[Floats, Integers | None], Floats]
Item = TypeVar("Item")

ROWS = 1 << 19  # rows held at a time, and in a row group of Parquet


class ScoreTable:
    """A prediction table whose scores are to be replaced; made by `open_scores`.

    Attributes
    ----------
    name
        The file, as errors name it.
    form
        ``long`` or ``wide``.
    has_classes
        True if rows or columns belong to classes.
    threshold
        Threshold below which scores were not written; None if all were.
    recalibrated
        The note of an earlier recalibration, or None.
    rows
        Number of rows, or None where only reading tells.
    """

    def __init__(
        self,
        table: Table,
        form: Form | None,
        score: str | None,
        class_column: str | None,
        kind: ScoreKind = "probability",
    ) -> None:
        for name in table.columns:
            one_column(table.name, table.columns, name)
        roles = prediction_roles(table, form, {"score": score, "class": class_column}, kind)
        names, threshold = class_names(roles), threshold_of(table)
        self._predictions = predictions = Predictions(table, roles, classes=names, threshold=threshold)
        predictions.score_kind = kind
        self._roles, self._table = roles, table
        self.name, self.form, self.rows = table.name, predictions.form, table.rows
        self.has_classes, self.threshold = predictions.has_classes, threshold
        note = table.metadata.get(RECALIBRATED_KEY)
        self.recalibrated = None if note is None else note.decode("utf-8", "replace")

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names by code; of a long table, those met so far."""
        return self._predictions.classes

    def rewrite(
        self,
        output: str | os.PathLike[str],
        change: Change,
        *,
        note: str,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Write the table with changed scores, whole or not at all, in bounded memory.

        Scores become float64. ``logit_`` columns become ``p_`` columns: what is written are probabilities.
        From CSV to CSV, all other bytes of the file stay as they are.

        Parameters
        ----------
        output
            A name that ends in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv`` or ``.jsonl`` (text also as
            ``.gz``).
        change
            Makes new scores from old ones: (n,) and the codes of classes (or None) of a long table, or
            (n, K) of a wide one.
        note
            Note on the change for the file's metadata; text files have no metadata.
        progress
            Function that is called with the rows written so far.

        Returns
        -------
        int
            The rows written.

        Raises
        ------
        InputError
            If the output is the table itself or of no kind that can be written, a text file would have to
            note a threshold, there are no rows, or a value is bad; it names the row.
        """
        name = os.fspath(output)
        form = output_format(name, self.name, getattr(self._table, "files", ()))
        if form.text and self.threshold is not None:
            message = "a text file cannot record that a table with a threshold was recalibrated"
            raise InputError(message, "write .parquet or .arrow", code="threshold", file=name)
        if isinstance(self._table, CsvTable) and self._table.format == written_format(name, stdout=False):
            return self._splice(self._table, name, change, progress)
        return write_batches(name, form, self._changed(change, note), progress=progress)

    def _splice(
        self, table: CsvTable, name: str, change: Change, progress: Callable[[int], None] | None
    ) -> int:
        """Write the file with other scores; all other bytes stay."""
        scores = self._score_columns
        order = np.argsort([table.columns.index(column) for column in scores])
        kinds = kinds_of(self._roles.values())
        new = (
            change(*self._read(block)).reshape(-1, len(scores))[:, order]
            for block in blocks(table, kinds, ROWS)
            if block.rows.num_rows
        )
        names = {column: self._new_name(column) for column in scores if self._new_name(column) != column}
        rows = 0
        with writing(name) as file:
            for piece, count in table.spliced(new, scores, names):
                file.write(piece)
                rows += count
                if progress is not None:
                    progress(rows)
        return rows

    def frame(self, change: Change, *, note: str, library: Library) -> Any:
        """Return the table with changed scores as a dataframe; a dataframe keeps its library and index.

        Parameters
        ----------
        change, note
            As in `rewrite`.
        library
            ``pandas``, ``polars`` or ``pyarrow``, for a file or a lazy frame.

        Raises
        ------
        InputError
            There are no rows, or a value is bad; or a threshold would have to be noted, which only PyArrow
            can.
        """
        import narwhals as nw
        import pyarrow as pa

        eager = self._table.eager if isinstance(self._table, FrameTable) else None
        if eager is not None and not eager.implementation.is_pyarrow():
            return self._with_columns(eager, change)
        library = library if eager is None else "pyarrow"
        if library != "pyarrow" and self.threshold is not None:
            message = f"a dataframe of {library} cannot record that a table with a threshold was recalibrated"
            raise InputError(message, "write .parquet or .arrow (`output`)", code="threshold", file=self.name)
        table = pa.Table.from_batches(self._changed(change, note))
        return table if library == "pyarrow" else nw.from_arrow(table, backend=library).to_native()

    def _with_columns(self, frame: Any, change: Change) -> Any:
        """The dataframe with new columns of scores; the other columns are not looked at."""
        import narwhals as nw

        kinds = kinds_of(self._roles.values())
        parts = [change(*self._read(block)) for block in blocks(self._table, kinds, ROWS)]
        new = np.concatenate(parts).reshape(frame.shape[0], -1)
        names = self._score_columns
        columns = [
            nw.new_series(name, np.ascontiguousarray(values), backend=frame.implementation)
            for name, values in zip(names, new.T, strict=True)
        ]
        return frame.with_columns(*columns).rename({name: self._new_name(name) for name in names}).to_native()

    def _new_name(self, name: str) -> str:
        """The name of a column of scores: logits become probabilities."""
        role = self._roles.get(name)
        return "p_" + name.removeprefix("logit_") if role is not None and role.what == "finite" else name

    def _changed(self, change: Change, note: str) -> Iterator[pa.RecordBatch]:
        kinds = dict.fromkeys(self._table.columns, KINDS["name"])
        kinds |= kinds_of(role for part, role in self._roles.items() if part != "class")
        for block in blocks(self._table, kinds, ROWS):
            if block.rows.num_rows:
                yield self._with(block.rows, change(*self._read(block)), note)

    @property
    def _score_columns(self) -> tuple[str, ...]:
        return tuple(role.name for part, role in self._roles.items() if part != "class")

    def _read(self, block: Block) -> tuple[Floats, Integers | None]:
        """Checked scores and codes of classes."""
        score = self._predictions.scores(block).astype(np.float64, copy=False)
        if "class" not in self._roles:
            return score, None
        names = block.column(self._roles["class"].name)
        return score, names.codes(self._predictions.codes["class"], words=False)

    def _with(self, batch: pa.RecordBatch, scores: Floats, note: str) -> pa.RecordBatch:
        """The batch with new scores in the places of the old ones."""
        import pyarrow as pa

        new = dict(zip(self._score_columns, scores.reshape(len(scores), -1).T, strict=True))
        fields, arrays = [], []
        for field, array in zip(batch.schema, batch.columns, strict=True):
            if field.name in new:
                name = self._new_name(field.name)
                fields.append(pa.field(name, pa.float64(), field.nullable, field.metadata))
                arrays.append(pa.array(np.ascontiguousarray(new[field.name])))
            else:
                fields.append(field)
                arrays.append(array)
        metadata = {**self._table.metadata, RECALIBRATED_KEY: note.encode()}
        return pa.record_batch(arrays, schema=pa.schema(fields, metadata=metadata))


def open_scores(
    source: Any,
    *,
    form: Form | None = None,
    score: str | None = None,
    class_column: str | None = None,
    score_kind: ScoreKind = "probability",
) -> ScoreTable:
    """Open a prediction table to replace its scores; it needs no labels.

    Parameters
    ----------
    source
        As in `calibrant.io.open_predictions`; an ``.npz`` archive needs no labels.
    form, score, class_column, score_kind
        As there.

    Returns
    -------
    ScoreTable

    Raises
    ------
    InputError
        As there.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from calibrant.io import open_predictions
    >>> table = pa.table({"word": ["a", "b"], "score": [0.2, 0.9], "label": [0, 1]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = open_scores(table).rewrite(f"{folder}/new.csv", lambda q, _: q**2, note="squared")
    ...     open_predictions(f"{folder}/new.csv").read().score.round(2).tolist()
    [0.04, 0.81]
    """
    path = isinstance(source, (str, os.PathLike)) and not reads_once(source)
    if path and os.fspath(source).lower().endswith(".npz"):
        from calibrant.io._archive import archive_table

        return ScoreTable(archive_table(locate(source)), form, score, class_column)
    return ScoreTable(open_table(source), form, score, class_column, score_kind)


def output_format(name: str, source: str, parts: Sequence[Path] = ()) -> TableFormat:
    """Return the format of a table to write, which is no file that is read.

    Parameters
    ----------
    name
        The output.
    source, parts
        The table that is read, and its files where there are several.

    Raises
    ------
    InputError
        If the name says no kind of table that can be written, or the output would be read.

    Examples
    --------
    >>> output_format("new.csv", "old.csv").text
    True
    """
    if not name:
        raise InputError("the output has no name", "name a file", code="output")
    form = format_of(written_format(name, stdout=False))
    keep_sources(name, source)
    place = Path(name).resolve().parent
    read = {part.resolve().parent for part in parts}
    if parts and Path(source).is_dir() and place.is_relative_to(Path(source).resolve()):
        read.add(place)
    if name.lower().endswith(".parquet") and place in read:
        message = "the output would be in the folder that is read"
        raise InputError(message, "choose another folder (`output`)", code="output", file=name)
    return form


def write_batches(
    name: str,
    form: TableFormat,
    batches: Iterator[pa.RecordBatch],
    *,
    head: bytes = b"",
    progress: Callable[[int], None] | None = None,
) -> int:
    """Write record batches of one schema as a table, whole or not at all; return the number of rows.

    Parameters
    ----------
    name, form
        The output and its format.
    batches
        At least one; the next one is made while one is written.
    head
        Written before the table.
    progress
        Called with the rows written so far.

    Raises
    ------
    InputError
        If the output or a column cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     batch = pa.record_batch({"score": [0.5]})
    ...     write_batches(f"{folder}/new.csv", format_of("csv"), iter([batch]))
    1
    """
    assert form.batches is not None
    rows = 0
    with writing(name) as file, closing(_ahead(batches)) as coming:
        file.write(head)
        sink: Any = None
        try:
            for batch in coming:
                with _refusals(name):
                    sink = form.batches(file, batch.schema) if sink is None else sink
                    sink.write_batch(batch)
                rows += batch.num_rows
                if progress is not None:
                    progress(rows)
        except BaseException:
            with suppress(Exception):
                sink.close()  # while the file is open: Parquet's writer closes itself later, in vain
            raise
        sink.close()
    return rows


def _ahead(items: Iterator[Item]) -> Generator[Item]:
    """Make the next item while the last one is used."""
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(next, items, None)
        while (item := waiting.result()) is not None:
            waiting = pool.submit(next, items, None)
            yield item


@contextmanager
def _refusals(name: str) -> Iterator[None]:
    """Turn Arrow's refusal to write a value into an error that names the file."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:
        reason = " ".join(str(error).split())[:160]
        message, hint = f"a column cannot be written so ({reason})", "write .parquet"
        raise InputError(message, hint, code="column-type", file=name) from error
