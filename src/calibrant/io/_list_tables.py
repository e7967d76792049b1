"""Tables whose scores are lists: outputs of Hugging Face models, in data sets saved to disk and in files.

A row is a text with the scores of all classes and a label, or a text of tokens with such a list and a
label for each of them. Labels of -100 are of tokens that do not count: they are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Integers, is_unicode
from calibrant.exceptions import FormatError, InputError
from calibrant.io.columns import IGNORED, Codes, Column, as_numpy
from calibrant.io.origin import arrow_reader, parquet_file, reading, stored_batches
from calibrant.io.readers import Batch, check_logits, check_range, check_sums, softmax
from calibrant.io.tables import one_column

if TYPE_CHECKING:
    import pyarrow as pa

SCORES = {"logits": True, "predictions": True, "probs": False, "probabilities": False, "scores": False}
LABELS = ("labels", "label", "label_ids")
ITEMS = ("item", "id", "idx")


@dataclass(frozen=True)
class ListColumns:
    """Which columns are which.

    Attributes
    ----------
    score, logits
        The lists of scores, and whether they are logits.
    label
        Class positions, or lists of them.
    by_token
        True if a row is a text of tokens.
    item
        Names of rows; None if there are none.
    classes
        Names of the classes; None where the file names none.
    """

    score: str
    logits: bool
    label: str
    by_token: bool
    item: str | None
    classes: tuple[str, ...] | None


@dataclass
class ListReader:
    """Reads such a table from one or several Arrow or Parquet files.

    Attributes
    ----------
    name
        Name given by the user.
    files
        Files, read in order.
    columns
        Roles of the columns.
    """

    name: str
    files: tuple[Path, ...]
    columns: ListColumns
    cluster_codes: Codes = field(default_factory=Codes)
    item_codes: Codes = field(default_factory=Codes)
    class_codes: Codes = field(default_factory=Codes)
    width: int = 0

    def batches(self, size: int, items: bool) -> Iterator[Batch]:
        """Yield checked batches with one row per text, or one row per token with its text as cluster."""
        first, found = 1, False
        names = [self.columns.score, self.columns.label]
        names += [self.columns.item] if self.columns.item else []
        for file in self.files:
            with reading(str(file)):
                for arrow in record_batches(file, names, max(1, size >> 6)):
                    batch = self._batch(arrow, first, items)
                    first += arrow.num_rows
                    found = found or bool(len(batch))
                    if len(batch):
                        yield batch
        if not found:
            hint = "write at least one; labels of -100 do not count"
            raise InputError("there are no labeled rows", hint, code="empty", file=self.name)

    def _batch(self, arrow: pa.RecordBatch, first: int, items: bool) -> Batch:
        import pyarrow as pa

        columns = self.columns
        for name in (columns.score, columns.label):
            Column(arrow.column(name), self.name, name, first).complete()
        scores, labels = arrow.column(columns.score), arrow.column(columns.label)
        row: Integers = np.arange(len(labels), dtype=np.int64)
        if columns.by_token:
            each = self._lengths(scores)
            given = self._lengths(labels)
            wrong = np.flatnonzero(each != given)
            if len(wrong):
                message = f"{each[wrong[0]]} lists of scores, but {given[wrong[0]]} labels"
                where = first + int(wrong[0])
                raise self._error(message, "write one per token", "length", where, columns.score)
            scores, labels, row = scores.flatten(), labels.flatten(), np.repeat(row, each)
        matrix = self._matrix(scores, row + first)
        gold = Column(labels.cast(pa.int64()), self.name, columns.label, first, row)
        gold.complete()
        label = as_numpy(gold.values)
        kept = label != IGNORED
        matrix, label, row = matrix[kept], label[kept], row[kept]
        bad = np.flatnonzero((label < 0) | (label >= self.width))
        if len(bad):
            message = f"label {label[bad[0]]} is not a class position from 0 to {self.width - 1}"
            where = first + int(row[bad[0]])
            raise self._error(message, "repair it", "class-unknown", where, columns.label)
        if columns.logits:
            check_logits(matrix, self.name, columns.score)
        matrix = check_range(matrix, self.name, first, columns.logits, row)
        if columns.logits:
            matrix = softmax(matrix)
        else:
            check_sums(matrix, self.name, first, False, row)
        cluster = self.cluster_codes.of(pa.array(row + first)) if columns.by_token else None
        item = None
        if items and columns.item is not None and not columns.by_token:
            item = Column(arrow.column(columns.item), self.name, columns.item, first).codes(self.item_codes)[
                row
            ]
        return Batch(matrix, label, None, cluster, item)

    def _matrix(self, lists: pa.Array, rows: Integers) -> NDArray[np.float64]:
        import pyarrow as pa

        lengths = self._lengths(lists)
        self.width = self.width or (int(lengths[0]) if len(lengths) else 0)
        wrong = np.flatnonzero(lengths != self.width)
        if len(wrong):
            message = f"{lengths[wrong[0]]} scores, and earlier rows have {self.width}"
            where, name = int(rows[wrong[0]]), self.columns.score
            raise self._error(message, "write a score for every class", "length", where, name)
        if len(lengths) and self.width < 2:
            raise self._error("one score per row", "write one per class, two or more", "shape", None, None)
        flat = lists.flatten()
        if lists.null_count or flat.null_count:
            raise self._error("a score is missing", "repair it", "missing-value", None, self.columns.score)
        return as_numpy(flat.cast(pa.float64())).reshape(-1, max(self.width, 1))

    def _lengths(self, lists: pa.Array) -> Integers:
        from pyarrow import compute

        return as_numpy(compute.list_value_length(lists)).astype(np.int64)

    def _error(self, message: str, hint: str, code: str, row: int | None, column: str | None) -> InputError:
        return InputError(message, hint, code=code, file=self.name, row=row, column=column)


def open_lists(path: Path) -> ListReader | None:
    """A reader of an Arrow or Parquet file whose scores are lists; None for any other file."""
    if path.suffix.lower() not in (".arrow", ".parquet"):
        return None
    with reading(str(path)):
        columns = _columns(_schema(path), str(path))
    return None if columns is None else ListReader(str(path), (path,), columns)


def open_dataset(folder: Path) -> ListReader:
    """A reader of a data set saved to disk."""
    name, files = str(folder), _dataset_files(folder)
    with reading(name):
        schema = _schema(files[0])
        columns = _columns(schema, name)
    if columns is None:
        message = f"the data set has no lists of scores; its columns are {', '.join(schema.names[:12])}"
        hint = f"it needs one column of {', '.join(SCORES)} and one of {', '.join(LABELS)}; "
        hint += "for one score per row, name its .arrow file, or write one Parquet file (to_parquet)"
        raise InputError(message, hint, code="column-missing", file=name)
    return ListReader(name, files, columns)


def class_names(reader: ListReader) -> tuple[str, ...]:
    """Names of the classes, as noted or by position."""
    if reader.columns.classes is not None:
        return reader.columns.classes
    with reading(str(reader.files[0])):
        for arrow in record_batches(reader.files[0], [reader.columns.score], 1):
            lists = arrow.column(0)
            one = (lists.flatten() if reader.columns.by_token else lists).drop_null()[:1]
            if len(one):
                return tuple(str(place) for place in range(len(one[0])))
    raise InputError("there are no rows", "write at least one", code="empty", file=reader.name)


def record_batches(file: Path, names: list[str], size: int) -> Iterator[pa.RecordBatch]:
    """Batches of some columns of an Arrow or Parquet file."""
    import pyarrow as pa

    if file.suffix.lower() == ".parquet":
        yield from parquet_file(file).iter_batches(batch_size=size, columns=names)
        return
    with pa.memory_map(os.fsencode(file)) as source:
        for batch in stored_batches(arrow_reader(source)):
            batch.validate(full=True)  # the library trusts what lengths and places a file states
            for start in range(0, batch.num_rows, size):
                yield batch.slice(start, size).select(names)


def _schema(file: Path) -> pa.Schema:
    import pyarrow as pa

    if file.suffix.lower() == ".parquet":
        return parquet_file(file).schema_arrow
    with pa.memory_map(os.fsencode(file)) as source:
        return arrow_reader(source).schema


def _dataset_files(folder: Path) -> tuple[Path, ...]:
    """Files of a data set saved to disk, from its state; names that lead out of the folder are refused."""
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        names = [str(each["filename"]) for each in state["_data_files"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        message = "its state.json is not the file of a saved data set"
        raise FormatError(message, "save it again", code="file-broken", file=str(folder)) from error
    files = tuple(folder / name for name in names)
    for name, file in zip(names, files, strict=True):
        if Path(name).name != name or not os.path.isfile(file):
            message = f"the file {name!r} of the data set is missing"
            raise FormatError(message, "save it again", code="file-broken", file=str(folder))
    if not files:
        raise InputError("the data set is empty", "write rows", code="empty", file=str(folder))
    return files


def _columns(schema: pa.Schema, name: str) -> ListColumns | None:
    import pyarrow as pa

    def is_list(kind: Any) -> bool:
        return bool(
            pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        )

    kinds: Mapping[str, Any] = {field.name: field.type for field in schema}
    score = next((each for each in SCORES if each in kinds and is_list(kinds[each])), None)
    label = next((each for each in LABELS if each in kinds), None)
    if score is None or label is None:
        return None
    by_token = is_list(kinds[score].value_type)
    inner = kinds[label].value_type if is_list(kinds[label]) else kinds[label]
    if by_token != is_list(kinds[label]) or not pa.types.is_integer(inner):
        message = f"{score} is {kinds[score]} and {label} is {kinds[label]}"
        hint = "write class positions: one for each list of scores"
        raise InputError(message, hint, code="column-type", file=name, column=label)
    item = next((each for each in ITEMS if each in kinds and not is_list(kinds[each])), None)
    for each in filter(None, (score, label, item)):
        one_column(name, schema.names, each)
    return ListColumns(score, SCORES[score], label, by_token, item, _names(schema, label))


def _names(schema: pa.Schema, label: str) -> tuple[str, ...] | None:
    """Class names from what the `datasets` library notes about the column."""
    try:
        note = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][label]
    except (KeyError, TypeError, ValueError):
        return None
    for _ in range(2):
        if isinstance(note, dict) and isinstance(note.get("names"), list):
            names = tuple(str(each) for each in note["names"])
            return names if all(is_unicode(each) for each in names) else None
        note = (
            note.get("feature")
            if isinstance(note, dict)
            else note[0]
            if isinstance(note, list) and note
            else None
        )
    return None
