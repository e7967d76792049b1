"""Prediction tables in another form or format: long, wide, or an archive of arrays."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import WeightRange, shown
from calibrant.exceptions import InputError
from calibrant.io.atomic import keep_sources, writing
from calibrant.io.columns import Codes, as_arrow
from calibrant.io.predictions import Predictions
from calibrant.io.readers import Batch, Form, Names, TableReader, joined
from calibrant.io.rewriting import ROWS, output_format, write_batches
from calibrant.io.roles import KINDS, blocks, kinds_of
from calibrant.io.tables import RECALIBRATED_KEY, THRESHOLD_KEY, THRESHOLD_LINE

if TYPE_CHECKING:
    import pyarrow as pa

Count = Callable[[int], None]
ARCHIVE = ".npz"
CLASSES = 64  # scores of a row, about, by which the rows held at a time are divided


@dataclass(frozen=True)
class Written:
    """The written table.

    Attributes
    ----------
    form
        ``long`` or ``wide``; an archive is wide.
    rows
        Rows of the new table.
    columns
        Its columns, or the arrays of an archive.
    left_out
        Columns that the new form has no place for.
    """

    form: Form
    rows: int
    columns: tuple[str, ...]
    left_out: tuple[str, ...]


def write_predictions(
    predictions: Predictions,
    output: str | os.PathLike[str],
    to: Form | None = None,
    *,
    progress: Count | None = None,
) -> Written:
    """Write predictions in another form or format, whole or not at all.

    Tables are read and written in pieces; an archive is held in memory.

    Parameters
    ----------
    predictions
        Predictions from `calibrant.io.open_predictions`.
    output
        A name that ends in ``.parquet``, ``.arrow``, ``.csv``, ``.tsv``, ``.jsonl`` (text also as ``.gz``) or
        ``.npz``.
    to
        ``long`` or ``wide``; None: the form that the predictions have, and ``wide`` for ``.npz``.
    progress
        Called with the rows written so far.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> from calibrant.io import open_predictions
    >>> table = pa.table({"label": ["a", "b"], "p_a": [0.75, 0.5], "p_b": [0.25, 0.5]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = write_predictions(open_predictions(table), f"{folder}/long.csv", "long")
    ...     open_predictions(f"{folder}/long.csv").read().label.tolist(), found.columns
    ([True, False, False, True], ('score', 'label', 'class', 'item'))
    """
    predictions.check_one_cluster("a converted table")
    name = os.fspath(output)
    archive = name.lower().endswith(ARCHIVE)
    form = to or ("wide" if archive else predictions.form)
    if archive and form == "long":
        hint = "leave the form out, or write .parquet or .csv"
        raise InputError("an .npz archive has no long form", hint, code="parameter", file=name)
    if form == "wide" and predictions.form == "long":
        if not (predictions.has_classes and predictions.has_items):
            message = "a wide table needs the class and the item of each row, which are missing here"
            hint = "name the columns: `columns={'class': ...}` and `columns={'item': ...}`"
            raise InputError(message, hint, code="view", file=predictions.name)
        predictions = predictions.by_item()
    pieces = _Rows(predictions, form, keeps=not archive)
    if archive:
        return _write_archive(pieces, name, progress)
    reader = predictions.table_reader
    parts: Sequence[Any] = () if reader is None else getattr(reader.table, "files", ())
    kind = output_format(name, predictions.name, parts)
    head = b""
    if predictions.threshold is not None and kind.text:
        if not kind.notes:
            hint = "choose .parquet, .arrow, .csv or .tsv"
            raise InputError("JSON lines cannot store a table's threshold", hint, code="threshold", file=name)
        if RECALIBRATED_KEY in pieces.metadata:
            message = "a text file cannot record that a table with a threshold was recalibrated"
            raise InputError(message, "write .parquet or .arrow", code="threshold", file=name)
        head = f"{THRESHOLD_LINE}{predictions.threshold!r}\n".encode()
    rows = write_batches(name, kind, pieces.tables(), head=head, progress=progress)
    return Written(form, rows, pieces.columns, pieces.left_out)


class _Rows:
    """The rows of predictions in one form, in pieces.

    Attributes
    ----------
    columns, left_out
        As in `Written`; known after the first piece.
    metadata
        Metadata of the table that is read.
    """

    def __init__(self, predictions: Predictions, form: Form, *, keeps: bool) -> None:
        self.predictions = predictions
        self.form = form
        self.columns: tuple[str, ...] = ()
        self.left_out: tuple[str, ...] = ()
        self.metadata: dict[bytes, bytes] = {}
        self._keeps = keeps
        self._before = 0
        if predictions.threshold is not None:
            self.metadata[THRESHOLD_KEY] = repr(predictions.threshold).encode()
        reader = predictions.table_reader
        if reader is not None and RECALIBRATED_KEY in reader.table.metadata:
            self.metadata[RECALIBRATED_KEY] = reader.table.metadata[RECALIBRATED_KEY]

    def batches(self) -> Iterator[tuple[Batch, pa.RecordBatch | None]]:
        """Yield checked rows, and of tables that keep their rows all other columns."""
        predictions = self.predictions
        reader = predictions.table_reader
        size = max(1, ROWS // (1 if predictions.form == "long" else CLASSES))
        if reader is None or not self._keeps:
            for batch in predictions.batches(size, items=True):
                yield batch, None
            return
        used = {role.name for part, role in reader.roles.items() if part != "item"}
        item = reader.column_of("item")
        if item not in (None, "item"):
            used.add("item")  # the name that the column of items gets
        others = [name for name in reader.table.columns if name not in used]
        kinds = dict.fromkeys(others, KINDS["name"]) | kinds_of(reader.roles.values())
        renamed = ["item" if name == item else name for name in others]
        weights = WeightRange()
        reader.ignored = 0
        for block in blocks(reader.table, kinds, size):
            if item is not None:
                block.column(item).complete()
            # Items stay as they are: codes for millions of names would be the most work.
            batch, rest = reader.batch(block, False, weights), block.rows.select(others)
            if (counting := reader.counting(batch)) is not None:
                batch, rest = batch.take(counting), rest.take(as_arrow(counting))
            yield batch, rest.rename_columns(renamed)

    def tables(self) -> Iterator[pa.RecordBatch]:
        """Yield the pieces as record batches."""
        for batch, others in self.batches():
            if len(batch):
                yield self._table(batch, others)

    def _table(self, batch: Batch, others: pa.RecordBatch | None) -> pa.RecordBatch:
        import pyarrow as pa

        arrays = self._long(batch) if self.form == "long" else self._wide(batch)
        repeats = np.repeat(np.arange(len(batch)), len(arrays["label"]) // len(batch))
        kept = {} if others is None else dict(zip(others.schema.names, others.columns, strict=True))
        if self.form != self.predictions.form and "item" not in arrays and "item" not in kept:
            # Else rows of an item could not be told from others.
            arrays["item"] = as_arrow(self._before + 1 + repeats)
            self._before += len(batch)
        for name, values in kept.items():
            if name not in arrays:
                arrays[name] = values if len(repeats) == len(batch) else values.take(as_arrow(repeats))
        if not self.columns:
            self.columns = tuple(arrays)
            self.left_out = self._lost(arrays)
        rows = pa.record_batch(arrays)
        return rows.replace_schema_metadata(self.metadata or None)

    def _lost(self, written: Any) -> tuple[str, ...]:
        """Return the columns of the table that is read that have no place among those that are written."""
        reader = getattr(self.predictions.reader, "source", self.predictions.reader)
        if not isinstance(reader, TableReader):
            return ()
        used = {role.name for role in reader.roles.values()}
        return tuple(name for name in reader.table.columns if name not in used and name not in written)

    def _long(self, batch: Batch) -> dict[str, Any]:
        import pyarrow as pa

        predictions = self.predictions
        long = batch if predictions.form == "long" else batch.long()
        arrays = {
            "score": pa.array(long.score.astype(np.float64, copy=False)),
            "label": pa.array(long.label.astype(np.int8)),
        }
        if long.class_code is not None and predictions.form == "long":
            arrays["class"] = _named(predictions.reader.class_codes, long.class_code)
        elif long.class_code is not None:
            code = as_arrow(long.class_code.astype(np.int32))
            arrays["class"] = pa.DictionaryArray.from_arrays(code, pa.array(predictions.classes))
        return arrays | self._names(long)

    def _wide(self, batch: Batch) -> dict[str, Any]:
        import pyarrow as pa

        self.check_wide(batch)
        classes = self.predictions.classes
        arrays: dict[str, Any] = {"label": pa.array(classes).take(as_arrow(batch.label.astype(np.int64)))}
        scores = batch.score.astype(np.float64)
        for place, name in enumerate(classes):
            arrays[f"p_{name}"] = pa.array(np.ascontiguousarray(scores[:, place]))
        return arrays | self._names(batch)

    def check_wide(self, batch: Batch) -> None:
        """Raise if there is one class, one without a name, or an item without gold class."""
        name = self.predictions.name
        if "" in self.predictions.classes or len(self.predictions.classes) < 2:
            message = "a class has no name" if "" in self.predictions.classes else "there is only one class"
            hint = "a wide table has two or more classes with names: keep the long form"
            raise InputError(message, hint, code="view", file=name)
        lost = np.flatnonzero(batch.label < 0)
        if len(lost):
            item = (
                "" if batch.item is None else f"item {shown(self.predictions.items[batch.item[lost[0]]])}: "
            )
            message = f"{item}none of its rows has the label 1"
            hint = "a wide table needs the gold class of each item: add its row, or keep the long form"
            raise InputError(message, hint, code="class-unknown", file=name)

    def _names(self, batch: Batch) -> dict[str, Any]:
        import pyarrow as pa

        reader = self.predictions.reader
        arrays: dict[str, Any] = {}
        for part, codes, known in (
            ("cluster", batch.cluster, reader.cluster_codes),
            ("item", batch.item, reader.item_codes),
        ):
            if codes is not None:
                arrays[part] = _named(known, codes)
        if batch.weight is not None:
            arrays["weight"] = pa.array(batch.weight)
        return arrays


def _write_archive(pieces: _Rows, name: str, progress: Count | None) -> Written:
    predictions = pieces.predictions
    keep_sources(name, predictions.name)
    held: list[Batch] = []
    rows = 0
    for batch, _ in pieces.batches():
        pieces.check_wide(batch)
        held.append(batch)
        rows += len(batch)
        if progress is not None:
            progress(rows)
    whole = joined(held)
    arrays: dict[str, Any] = {
        "probs": whole.score,
        "labels": whole.label.astype(np.int64),
        "classes": np.array(predictions.classes),
    }
    for part, codes, known in (
        ("clusters", whole.cluster, predictions.clusters),
        ("items", whole.item, predictions.items),
    ):
        if codes is not None:
            arrays[part] = _plain(known)[codes]
    if whole.weight is not None:
        arrays["weights"] = whole.weight
    if predictions.threshold is not None:
        arrays["threshold"] = np.array(predictions.threshold)
    assert all(array.dtype.kind != "O" for array in arrays.values()), "nothing is pickled"
    with writing(name) as file:
        np.savez_compressed(file, **arrays)
    return Written("wide", rows, tuple(arrays), pieces._lost(()))


def _named(known: Names, codes: NDArray[np.int64]) -> pa.Array:
    assert isinstance(known, Codes)  # as every table keeps its names
    return known.named(codes)


def _plain(names: list[Any]) -> NDArray[Any]:
    """Names as an array of numbers or texts; what is neither is written as text."""
    array = np.array(names)
    return array if array.dtype.kind in "iuU" else np.array([str(name) for name in names])
