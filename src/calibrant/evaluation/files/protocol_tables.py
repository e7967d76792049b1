"""Tables that an evaluation's file names: annotators' labels, reference, folds, outputs of systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calibrant._checks import Floats, Integers, shown
from calibrant.evaluation.files.protocol_file import NamedColumns, SystemFile
from calibrant.evaluation.ratings import Ratings, text
from calibrant.exceptions import InputError
from calibrant.io.columns import Column, class_name
from calibrant.io.predictions import BATCH_ROWS, Predictions, listed, open_predictions
from calibrant.io.readers import Batch
from calibrant.io.table_formats import open_table
from calibrant.io.tables import Kind, Table, one_column
from calibrant.io.text import open_lines

SUM_OFF = 1e-3
CONLL = (".conll", ".bio", ".iob")  # names of files with one token per line

__all__ = [
    "ItemLabels",
    "SystemOutput",
    "prediction_frame",
    "read_annotations",
    "read_folds",
    "read_item_labels",
    "read_system",
]


@dataclass(frozen=True)
class ItemLabels:
    """One name (a label, a fold) an item.

    Attributes
    ----------
    file
        As errors name it.
    names
        By item, in the order of the file.
    documents
        By item; empty where the table does not say.
    unlabelled
        How many items have none.
    tokens
        Word by item, of a file in CoNLL columns, whose documents are sentences; otherwise None.
    """

    file: str
    names: dict[str, str]
    documents: dict[str, str]
    unlabelled: int
    tokens: dict[str, str] | None = None


@dataclass(frozen=True)
class SystemOutput:
    """What a system says of each item.

    Attributes
    ----------
    file
        As errors name it.
    items
        Names.
    labels
        (items,) codes of the task's labels; None where there are probabilities.
    probabilities
        (items, labels) in the order of the task; None where there are labels.
    tokens
        As in `ItemLabels`.
    """

    file: str
    items: tuple[str, ...]
    labels: Integers | None
    probabilities: Floats | None
    tokens: dict[str, str] | None = None


def read_annotations(table: NamedColumns, labels: Sequence[str]) -> tuple[Ratings, dict[str, str]]:
    """Read labels by annotators; a row without a label says that there is none.

    Returns
    -------
    Ratings
        The labels.
    dict
        Document by item; empty where the table does not say.

    Raises
    ------
    InputError
        Naming the file, the row and the column: a column or a value is missing, a label is not of the task,
        an annotator labels an item twice, or an item is in two documents.

    Examples
    --------
    >>> from calibrant.data import example
    >>> found = NamedColumns(example("summaries").parent / "annotations.csv")
    >>> read_annotations(found, ["keep", "not keep"])[0].annotators
    ('first pass', 'second pass')
    """
    file = open_table(table.file)
    document = _document(file, table)
    parts = {"item": table.item, "annotator": table.annotator, "label": table.label}
    columns, rows, _ = _names(file, parts | document, gaps="label")
    try:
        ratings = Ratings.from_table(columns["item"], columns["annotator"], columns["label"], order=labels)
    except InputError as error:
        row = None if error.row is None else rows[error.row]
        raise error.at(file=file.name, row=row) from None
    return ratings, _one_document_each(file, columns, rows)


def read_item_labels(table: NamedColumns, labels: Sequence[str] | None, key: str = "label") -> ItemLabels:
    """Read one label (or fold) an item; of a long prediction table with a column ``class``, the gold classes.

    A file in CoNLL columns (``.conll``, ``.bio`` or ``.iob``, also as ``.gz``) has one token per line with
    its tag in the last column, and blank lines between sentences. Its items are tokens, its documents
    sentences.

    Parameters
    ----------
    table
        File and columns.
    labels
        Of the task; others are refused. None: any name.
    key
        ``label`` or ``fold``: the column to read.

    Raises
    ------
    InputError
        As `read_annotations`, or an item stands in two rows.

    Examples
    --------
    >>> from calibrant.data import example
    >>> found = read_item_labels(NamedColumns(example("summaries").parent / "adjudicated.csv"), None)
    >>> set(found.names.values()) == {"keep", "not keep"}
    True
    """
    if labels is not None and _is_conll(table.file):
        return _of_conll(table.file, labels)
    file = open_table(table.file)
    if labels is not None and {"class", "score"} <= set(file.columns):
        return _gold_of_classes(file.name, labels)
    document = _document(file, table)
    columns, rows, unlabelled = _names(
        file, {"item": table.item, key: getattr(table, key)} | document, gaps=key
    )
    items = columns["item"].tolist()
    _once(file, items, rows)
    if labels is not None:
        _check_labels(file, getattr(table, key), columns[key].tolist(), rows, labels)
    return ItemLabels(
        file.name,
        dict(zip(items, columns[key].tolist(), strict=True)),
        _one_document_each(file, columns, rows),
        unlabelled,
    )


def read_folds(table: NamedColumns) -> ItemLabels | None:
    """Read which fold each item is in; None for a table of scores by system and fold.

    Raises
    ------
    InputError
        As `read_item_labels`.
    """
    return None if "score" in open_table(table.file).columns else read_item_labels(table, None, "fold")


def read_system(system: SystemFile, labels: Sequence[str], positive: str | None) -> SystemOutput:
    """Read a system's labels or probabilities.

    A file in CoNLL columns is read as `read_item_labels` does.
    Probabilities stand in one column ``p_<label>`` a label, in a column ``probability`` (of the positive
    label), or in a long prediction table with a column ``class``, such as ``calibrant tag predict`` writes.

    Raises
    ------
    InputError
        Naming the file, the row and the column; as `read_item_labels`, or probabilities do not add up to 1.

    Examples
    --------
    >>> from calibrant.data import example
    >>> from calibrant.evaluation.files.protocol_file import read_protocol_file
    >>> found = read_protocol_file(example("summaries"))
    >>> read_system(found.systems[2], found.labels, found.positive).probabilities.shape
    (125, 2)
    """
    table = system.table
    if _is_conll(table.file):
        return _of_labels(read_item_labels(table, labels), labels)
    file = open_table(table.file)
    wide = [f"p_{label}" for label in labels]
    single = table.probability or "probability"
    if not system.names_label and not system.names_probability and {"class", "score"} <= set(file.columns):
        return _of_classes(file.name, labels)
    if not system.names_label and set(wide) <= set(file.columns):
        return _of_columns(file, table.item, wide)
    if system.names_probability or (not system.names_label and single in file.columns):
        if positive is None or len(labels) != 2:
            message = f"one column of probabilities ({single}) does not tell those of {len(labels)} labels"
            hint = f"write a column a label: {', '.join(wide[:5])}"
            raise InputError(message, hint, code="column-missing", file=file.name)
        found = _of_columns(file, table.item, [single])
        assert found.probabilities is not None
        score = found.probabilities[:, 0]
        both = [score, 1 - score] if labels[0] == positive else [1 - score, score]
        return SystemOutput(file.name, found.items, None, np.column_stack(both))
    lost = [column for column in wide if column not in file.columns]
    if table.label not in file.columns and len(lost) < len(wide):
        one_column(file.name, file.columns, lost[0], f"write a column a label, {listed(wide)}")
    return _of_labels(read_item_labels(table, labels), labels)


def prediction_frame(
    labels: Sequence[str],
    positive: str | None,
    true: Integers,
    probabilities: Floats,
    documents: Integers | None,
) -> Any:
    """Return a prediction table of a system, for `calibrant.verbs.report`.

    Parameters
    ----------
    labels, positive
        Of the task. With a positive label of two the table is of one event, otherwise of all classes.
    true, probabilities, documents
        (n,) codes of the reference, (n, K), (n,) or None.

    Returns
    -------
    pyarrow.Table

    Examples
    --------
    >>> import numpy as np
    >>> table = prediction_frame(["x", "y"], "x", np.array([0]), np.array([[0.9, 0.1]]), None)
    >>> table.to_pylist()
    [{'score': 0.9, 'label': 1}]
    """
    import pyarrow as pa

    if positive is not None and len(labels) == 2:
        place = list(labels).index(positive)
        columns: dict[str, Any] = {"score": probabilities[:, place], "label": (true == place).astype(np.int8)}
    else:
        columns = {f"p_{label}": probabilities[:, place] for place, label in enumerate(labels)}
        columns["label"] = pa.array(np.array(labels, object)[true], pa.string())
    if documents is not None:
        columns["cluster"] = documents
    return pa.table(columns)


def _of_labels(found: ItemLabels, labels: Sequence[str]) -> SystemOutput:
    code = {label: place for place, label in enumerate(labels)}
    codes = np.array([code[name] for name in found.names.values()], np.int64)
    return SystemOutput(found.file, tuple(found.names), codes, None, found.tokens)


def _is_conll(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(CONLL)


def _of_conll(path: Path, labels: Sequence[str]) -> ItemLabels:
    """Tags of tokens from a file in CoNLL columns; items are named by sentence and place, from 1."""
    names: dict[str, str] = {}
    documents: dict[str, str] = {}
    tokens: dict[str, str] = {}
    known = set(labels)
    sentence, place = 1, 0
    with open_lines(path) as (name, lines):
        for row, line in enumerate(lines, 1):
            if not line.strip():
                sentence, place = sentence + (place > 0), 0
                continue
            parts = line.split("\t") if "\t" in line else line.split()
            if len(parts) < 2 or not parts[-1]:
                message = f"a token has no tag: {shown(line)}"
                hint = "write the token, a tab and its tag; a blank line ends a sentence"
                raise InputError(message, hint, code="missing-value", file=name, row=row)
            if parts[-1] not in known:
                message = f"tag {shown(parts[-1])} is not one of the task's labels ({listed(labels)})"
                hint = "repair it, or name it among the labels"
                raise InputError(message, hint, code="class-unknown", file=name, row=row)
            place += 1
            item = f"{sentence}-{place}"
            names[item], documents[item], tokens[item] = parts[-1], str(sentence), parts[0]
    return ItemLabels(name, names, documents, 0, tokens)


def _document(file: Table, table: NamedColumns) -> dict[str, str]:
    """The column of documents: the one that is named, or the usual one if it is there."""
    if table.document is not None:
        return {"document": table.document}
    return {"document": "document"} if "document" in file.columns else {}


def _check_columns(file: Table, columns: dict[str, str]) -> None:
    for key, column in columns.items():
        one_column(file.name, file.columns, column, f"name it with the key {key}")


def _names(
    file: Table, columns: dict[str, str], gaps: str | None = None
) -> tuple[dict[str, NDArray[Any]], list[int], int]:
    """Columns as text by what they are, row numbers, and how many rows were left out for a gap."""
    _check_columns(file, columns)
    kinds: dict[str, Kind] = dict.fromkeys(columns.values(), "name")
    parts: dict[str, list[str]] = {key: [] for key in columns}
    rows: list[int] = []
    first = file.first_row
    for batch in file.batches(kinds, BATCH_ROWS):
        there = list(range(batch.num_rows))
        if gaps is not None:
            given = batch.column(columns[gaps]).is_valid().to_pylist()
            there = [row for row in there if given[row]]
        for key, column in columns.items():
            values = Column(batch.column(column), file.name, column, first)
            if key != gaps:
                values.complete()
            names = values.values.to_pylist()
            parts[key] += [text(names[row]) for row in there]
        rows += [first + row for row in there]
        first += batch.num_rows
    if not rows:
        raise InputError("there are no rows", "write a row an item", code="empty", file=file.name)
    left = first - file.first_row - len(rows)
    return {key: np.array(part, object) for key, part in parts.items()}, rows, left


def _once(file: Table, items: Sequence[str], rows: Sequence[int]) -> None:
    if len(set(items)) == len(items):
        return
    seen: set[str] = set()
    for item, row in zip(items, rows, strict=True):
        if item in seen:
            message, hint = f"item {shown(item)} stands in two rows", "keep one"
            raise InputError(message, hint, code="duplicate", file=file.name, row=row)
        seen.add(item)


def _check_labels(
    file: Table, column: str, names: Sequence[str], rows: Sequence[int], labels: Sequence[str]
) -> None:
    known = set(labels)
    for name, row in zip(names, rows, strict=True):
        if name not in known:
            message = f"label {shown(name)} is not one of the task's ({listed(labels)})"
            hint = "repair it, or name it among the labels"
            raise InputError(message, hint, code="class-unknown", file=file.name, row=row, column=column)


def _one_document_each(file: Table, columns: dict[str, NDArray[Any]], rows: Sequence[int]) -> dict[str, str]:
    if "document" not in columns:
        return {}
    found: dict[str, str] = {}
    for item, document, row in zip(columns["item"].tolist(), columns["document"].tolist(), rows, strict=True):
        if found.setdefault(item, document) != document:
            message, hint = f"item {shown(item)} is in two documents", "give it one"
            raise InputError(message, hint, code="cluster", file=file.name, row=row)
    return found


def _of_columns(file: Table, item: str, columns: list[str]) -> SystemOutput:
    """Probabilities from one column a label."""
    named, rows, _ = _names(file, {"item": item})
    items = named["item"].tolist()
    _once(file, items, rows)
    _check_columns(file, {"probability": columns[0]} | {name: name for name in columns[1:]})
    kinds: dict[str, Kind] = dict.fromkeys(columns, "number")
    parts = []
    first = file.first_row
    for batch in file.batches(kinds, BATCH_ROWS):
        scores = [Column(batch.column(name), file.name, name, first).scores() for name in columns]
        parts.append(np.column_stack(scores).astype(np.float64))
        first += batch.num_rows
    found = np.concatenate(parts)
    if len(columns) > 1:
        off = np.flatnonzero(np.abs(found.sum(axis=1) - 1) > SUM_OFF)
        if len(off):
            message = f"the probabilities add up to {found[off[0]].sum():.4g}"
            hint = "write those of all labels of the task"
            raise InputError(message, hint, code="class-sum", file=file.name, row=rows[off[0]])
    return SystemOutput(file.name, tuple(items), None, found)


def _of_classes(name: str, labels: Sequence[str]) -> SystemOutput:
    """Probabilities from a long prediction table of classes."""
    predictions, batch, items, place = _by_item(name, labels)
    if predictions.threshold is not None:
        message = f"scores below {predictions.threshold:g} were dropped"
        raise InputError(message, "write the table without a threshold", code="threshold", file=name)
    found = np.zeros((len(batch.score), len(labels)))
    found[:, place] = batch.score
    return SystemOutput(name, tuple(items), None, found)


def _gold_of_classes(name: str, labels: Sequence[str]) -> ItemLabels:
    """Gold classes of a long prediction table, its clusters as documents; items without one are left out."""
    predictions, batch, items, place = _by_item(name, labels)
    names = {
        item: labels[place[code]] for item, code in zip(items, batch.label.tolist(), strict=True) if code >= 0
    }
    documents: dict[str, str] = {}
    if batch.cluster is not None:
        called = [text(each) for each in predictions.clusters]
        documents = {item: called[code] for item, code in zip(items, batch.cluster.tolist(), strict=True)}
    return ItemLabels(name, names, documents, len(items) - len(names))


def _by_item(name: str, labels: Sequence[str]) -> tuple[Predictions, Batch, list[str], list[int]]:
    """A long table read by item: its scores, the items' names, and each class's place among the labels."""
    predictions = open_predictions(name).by_item()
    batch = predictions.read(items=True)
    classes = [class_name(each) for each in predictions.classes]
    unknown = [each for each in classes if each not in labels]
    if unknown:
        message = f"class {shown(unknown[0])} is not one of the task's labels ({listed(labels)})"
        raise InputError(message, "name it among the labels", code="class-unknown", file=name)
    assert batch.item is not None
    items = [text(predictions.items[code]) for code in batch.item.tolist()]
    return predictions, batch, items, [list(labels).index(each) for each in classes]
