"""Tables whose scores are lists: outputs of Hugging Face models, in data sets saved to disk and in files.

A row is a text with the scores of all classes and a label, or a text of tokens with such a list and a
label for each of them. Labels of -100 are of tokens that do not count: they are left out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from calibrant._checks import is_unicode
from calibrant.exceptions import FormatError, InputError
from calibrant.io.columns import as_arrow, as_numpy
from calibrant.io.predictions import LISTS, Predictions
from calibrant.io.roles import Block, Role
from calibrant.io.table_formats import FORMATS, locate
from calibrant.io.tables import ArrowTable, Kind, ParquetTable, Table, one_column

if TYPE_CHECKING:
    import pyarrow as pa

SCORES = {"logits": True, "predictions": True, "probs": False, "probabilities": False, "scores": False}
LABELS = ("labels", "label", "label_ids")
ITEMS = ("item", "id", "idx")
TEXT = "calibrant.text"  # column of the numbers of texts, which are the clusters of tokens


class ListTable:
    """One or several tables with lists, one after another, with a column of the numbers of rows.

    Parameters
    ----------
    tables
        The tables, with the same columns.
    name
        Name given by the user.
    """

    first_row = 1
    metadata: Mapping[bytes, bytes] = {}
    rows: int | None = None

    def __init__(self, tables: Sequence[Table], name: str) -> None:
        self.name, self.columns, self._tables = name, tables[0].columns, tables

    def batches(self, columns: Mapping[str, Kind], size: int) -> Iterator[pa.RecordBatch]:
        """Yield record batches of the columns asked for, in file order."""
        stored, first = {name: kind for name, kind in columns.items() if name != TEXT}, 1
        for table in self._tables:
            for rows in table.batches(stored, max(1, size >> 6)):  # a text has many scores
                number = as_arrow(np.arange(first, first + rows.num_rows))
                first += rows.num_rows
                yield rows.append_column(TEXT, number) if TEXT in columns else rows


def open_lists(tables: Sequence[Table], name: str) -> Predictions | None:
    """Open Arrow or Parquet tables whose scores are lists; return None if they are not."""
    import pyarrow as pa

    def is_list(kind: Any) -> bool:
        return bool(
            pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
        )

    if not isinstance(tables[0], ArrowTable | ParquetTable):
        return None
    schema = tables[0].schema
    kinds: Mapping[str, Any] = {field.name: field.type for field in schema}
    score = next((column for column in SCORES if column in kinds and is_list(kinds[column])), None)
    label = next((column for column in LABELS if column in kinds), None)
    if score is None or label is None:
        return None
    by_token = is_list(kinds[score].value_type)
    inner = kinds[label].value_type if is_list(kinds[label]) else kinds[label]
    if by_token != is_list(kinds[label]) or not pa.types.is_integer(inner):
        message = f"{score} is {kinds[score]} and {label} is {kinds[label]}"
        hint = "write class positions: one for each list of scores"
        raise InputError(message, hint, code="column-type", file=name, column=label)
    item = next((column for column in ITEMS if column in kinds and not is_list(kinds[column])), None)
    for column in filter(None, (score, label, item)):
        one_column(name, schema.names, column)
    roles = {
        LISTS: Role(LISTS, "finite" if SCORES[score] else "score", score),
        "label": Role("label", "position", label),
    }
    if by_token:
        roles["cluster"] = Role("cluster", column=TEXT)
    elif item is not None:
        roles["item"] = Role("item", column=item)
    table = ListTable(tables, name)
    classes = _names(schema, label) or _positions(table, score, by_token)
    if len(classes) < 2:
        raise InputError("one score per row", "write one per class, two or more", code="shape", file=name)
    predictions = Predictions(table, roles, classes=classes)
    if by_token:
        predictions.change, predictions.padded = partial(_by_token, score=score, label=label), True
    return predictions


def open_dataset(folder: Path) -> Predictions:
    """Open a data set saved to disk."""
    name = str(folder)
    origins = map(locate, _dataset_files(folder))
    tables = [FORMATS[origin.format].table(origin) for origin in origins]
    predictions = open_lists(tables, name)
    if predictions is None:
        message = f"the data set has no lists of scores; its columns are {', '.join(tables[0].columns[:12])}"
        hint = f"it needs one column of {', '.join(SCORES)} and one of {', '.join(LABELS)}; "
        hint += "for one score per row, name its .arrow file, or write one Parquet file (to_parquet)"
        raise InputError(message, hint, code="column-missing", file=name)
    return predictions


def _by_token(block: Block, score: str, label: str) -> Block:
    """Return texts with lists of tokens as one row per token, whose place is that of its text."""
    import pyarrow as pa
    from pyarrow import compute

    scores, labels = block.column(score), block.column(label)
    scores.complete()
    labels.complete()
    lengths, expected = (as_numpy(compute.list_value_length(lists.values)) for lists in (scores, labels))
    wrong = np.flatnonzero(lengths != expected)
    if len(wrong):
        message = f"{lengths[wrong[0]]} lists of scores, but {expected[wrong[0]]} labels"
        raise scores.error(int(wrong[0]), message, "write one per token", "length")
    text, number = np.repeat(np.arange(len(lengths)), lengths), block.rows.column(TEXT)
    values = [scores.values.flatten(), labels.values.flatten(), number.take(as_arrow(text))]
    rows = pa.RecordBatch.from_arrays(values, [score, label, TEXT])
    return Block(rows, block.file, block.first, text)


def _positions(table: Table, score: str, by_token: bool) -> tuple[str, ...]:
    """Return the positions of the scores in the first list as the names of classes."""
    for rows in table.batches({score: "number"}, 1):
        lists = rows.column(0)
        one = (lists.flatten() if by_token else lists).drop_null()[:1]
        if len(one):
            return tuple(map(str, range(len(one[0]))))
    raise InputError("there are no rows", "write at least one", code="empty", file=table.name)


def _dataset_files(folder: Path) -> tuple[Path, ...]:
    """Files of a data set saved to disk, from its state; names that lead out of the folder are refused."""
    try:
        state = json.loads((folder / "state.json").read_text(encoding="utf-8"))
        names = [str(file["filename"]) for file in state["_data_files"]]
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


def _names(schema: pa.Schema, label: str) -> tuple[str, ...] | None:
    """Class names from what the `datasets` library notes about the column."""
    try:
        note = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"][label]
    except (KeyError, TypeError, ValueError):
        return None
    for _ in range(2):
        if isinstance(note, dict) and isinstance(note.get("names"), list):
            names = tuple(map(str, note["names"]))
            return names if all(map(is_unicode, names)) else None
        note = (
            note.get("feature")
            if isinstance(note, dict)
            else note[0]
            if isinstance(note, list) and note
            else None
        )
    return None
