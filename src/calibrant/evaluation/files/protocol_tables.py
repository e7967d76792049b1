"""Tables of an evaluation file: annotators' labels, reference, folds, outputs of systems."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from calibrant._checks import Floats, Integers, shown
from calibrant.evaluation.files.protocol_file import Annotators, Folds, Reference, System
from calibrant.evaluation.files.tables import rating_table
from calibrant.evaluation.ratings import Ratings, text
from calibrant.exceptions import InputError
from calibrant.io.batches import Batch
from calibrant.io.columns import class_name
from calibrant.io.opening import open_predictions
from calibrant.io.predictions import Predictions, listed
from calibrant.io.roles import Role, open_table, read_table
from calibrant.io.tables import Table, one_column
from calibrant.io.text import open_lines

SUM_OFF = 1e-3
CONLL = (".conll", ".bio", ".iob")  # names of files with one token per line
DOCUMENT_START = "-DOCSTART-"  # in the format of CoNLL-2003
CONLLU = (".conllu",)
CONLLU_TAGS = {"label": 3, "upos": 3, "xpos": 4, "deprel": 7}  # by the key `label`, whose default is label
CONLLU_COLUMNS = 10
OTHER_NODE = re.compile(r"\d+[-.]\d+")  # multiword tokens and empty nodes
NEW_DOCUMENT = re.compile(r"#\s*newdoc\b")

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
    """One name per item: a label or a fold.

    Attributes
    ----------
    file
        Name of the file in error messages.
    names
        Name of each item, in the order of the file.
    documents
        Document of each item; empty if the table has no documents.
    unlabelled
        Number of items without a name.
    tokens
        Word of each item of a file in CoNLL columns; otherwise None.
    """

    file: str
    names: dict[str, str]
    documents: dict[str, str]
    unlabelled: int
    tokens: dict[str, str] | None = None


@dataclass(frozen=True)
class SystemOutput:
    """Outputs of a system, one per item.

    Attributes
    ----------
    file
        Name of the file in error messages.
    items
        Names of the items.
    labels
        (items,) codes of the task's labels; None if the system gives probabilities.
    probabilities
        (items, labels) in the order of the task; None if the system gives labels.
    tokens
        As in `ItemLabels`.
    documents
        Number of documents that a table of labels names; 1 if a table of probabilities names any, else 0.
    """

    file: str
    items: tuple[str, ...]
    labels: Integers | None
    probabilities: Floats | None
    tokens: dict[str, str] | None = None
    documents: int = 0


def read_annotations(table: Annotators, labels: Sequence[str]) -> tuple[Ratings, dict[str, str]]:
    """Read labels by annotators; a row with an empty label means that the annotator gave none.

    Returns
    -------
    Ratings
        Labels of the annotators.
    dict
        Document of each item; empty if the table has no documents.

    Raises
    ------
    InputError
        A column or a value is missing, a label is not one of the task's, an annotator labels an item twice,
        or an item is in two documents. The error names the file, the row and the column.

    Examples
    --------
    >>> from calibrant.data import example
    >>> annotations = Annotators(example("summaries").parent / "annotations.csv")
    >>> read_annotations(annotations, ["keep", "not keep"])[0].annotators
    ('first pass', 'second pass')
    """
    roles = [_role(table, "item"), _role(table, "annotator"), _role(table, "label", gaps=True)]
    annotations = rating_table(table.file, [*roles, _role(table, "document", needed=False)], labels)
    return annotations.ratings, _groups(annotations.ratings.items, annotations.clusters, annotations.groups)


def read_item_labels(
    table: Reference | System | Folds,
    labels: Sequence[str] | None,
    key: str = "label",
    *,
    file: Table | None = None,
) -> ItemLabels:
    """Read one label or fold per item.

    A long prediction table with a column ``class`` gives the gold classes.

    A file in CoNLL columns (``.conll``, ``.bio`` or ``.iob``, also as ``.gz``) has one token per line with
    its tag in the last column, and blank lines between sentences. Its items are tokens. Its documents
    are sentences, unless lines with the token ``-DOCSTART-`` mark the documents. In CoNLL-U (``.conllu``)
    tags are the column ``upos``, or the one of the key ``label``: ``xpos`` or ``deprel``. Comments
    ``# newdoc`` mark documents; multiword tokens and empty nodes are left out.

    Parameters
    ----------
    table
        File and columns.
    labels
        Labels of the task; any other name is an error. None: any name.
    key
        Column to read: ``label`` or ``fold``.
    file
        The table, if it is already open.

    Raises
    ------
    InputError
        As in `read_annotations`, or an item has two rows.

    Examples
    --------
    >>> from calibrant.data import example
    >>> columns = read_item_labels(Reference(file=example("summaries").parent / "adjudicated.csv"), None)
    >>> set(columns.names.values()) == {"keep", "not keep"}
    True
    """
    assert table.file is not None
    if labels is not None and file is None and _is_conll(table.file):
        return _of_conll(table.file, getattr(table, "label", None) or "label", labels)
    file = open_table(table.file) if file is None else file
    if labels is not None and {"class", "score"} <= set(file.columns):
        return _gold_of_classes(file.name, labels)
    roles = _role(table, "item", once=True), _role(table, key, gaps=True)
    columns = read_table(file, [*roles, _role(table, "document", needed=False)])
    names = columns.texts(key)
    if labels is not None:
        for code, name in enumerate(columns.names[key]):
            if name not in labels:
                message = f"label {shown(name)} is not one of the task's ({listed(labels)})"
                hint = "repair it, or name it among the labels"
                row = int(np.flatnonzero(columns[key] == code)[0])
                raise columns.error(row, message, hint, "class-unknown", part=key)
    items = columns.names["item"]
    documents = _groups(items, columns.get("document"), columns.names.get("document", ()))
    return ItemLabels(file.name, dict(zip(items, names.tolist(), strict=True)), documents, columns.left_out)


def read_folds(table: Folds) -> ItemLabels | None:
    """Read the fold of each item; return None for a table of scores by system and fold.

    Raises
    ------
    InputError
        As `read_item_labels`.
    """
    file = open_table(table.file)
    return None if "score" in file.columns else read_item_labels(table, None, "fold", file=file)


def read_system(system: System, labels: Sequence[str], positive: str | None) -> SystemOutput:
    """Read a system's labels or probabilities.

    A file in CoNLL columns is read as `read_item_labels` does.
    Probabilities are in one column ``p_<label>`` per label, in a column ``probability`` (of the positive
    label), or in a long prediction table with a column ``class``, such as ``calibrant tag predict`` writes.

    Raises
    ------
    InputError
        As in `read_item_labels`, or probabilities do not add up to 1.

    Examples
    --------
    >>> from calibrant.data import example
    >>> from calibrant.evaluation.files.protocol_file import read_protocol_file
    >>> output = read_protocol_file(example("summaries"))
    >>> read_system(output.systems[2], output.labels, output.positive).probabilities.shape
    (125, 2)
    """
    if _is_conll(system.file):
        return _of_labels(read_item_labels(system, labels), labels)
    file = open_table(system.file)
    wide = [f"p_{label}" for label in labels]
    single = system.probability or "probability"
    if system.label is None and system.probability is None and {"class", "score"} <= set(file.columns):
        return _of_classes(file.name, labels)
    if system.label is None and set(wide) <= set(file.columns):
        return _of_columns(file, system, [Role(name, "score") for name in wide])
    if system.probability is not None or (system.label is None and single in file.columns):
        if positive is None or len(labels) != 2:
            message = f"one column of probabilities ({single}) is not enough for {len(labels)} labels"
            hint = f"write one column per label: {', '.join(wide[:5])}"
            raise InputError(message, hint, code="column-missing", file=file.name)
        how = NAMED.format("probability")
        output = _of_columns(file, system, [Role("probability", "score", single, how=how)])
        assert output.probabilities is not None
        score = output.probabilities[:, 0]
        both = [score, 1 - score] if labels[0] == positive else [1 - score, score]
        return replace(output, probabilities=np.column_stack(both))
    lost = [column for column in wide if column not in file.columns]
    if (system.label or "label") not in file.columns and len(lost) < len(wide):
        how = f"write one column per label, {listed(wide)}"
        one_column(file.name, file.columns, lost[0], how, others=wide)
    return _of_labels(read_item_labels(system, labels, file=file), labels)


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
        Labels of the task. The table is binary if the task has two labels and one of them is positive;
        otherwise it has all classes.
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


def _of_labels(labeled: ItemLabels, labels: Sequence[str]) -> SystemOutput:
    code = {label: place for place, label in enumerate(labels)}
    codes = np.array([code[name] for name in labeled.names.values()], np.int64)
    documents = len(set(labeled.documents.values()))
    return SystemOutput(labeled.file, tuple(labeled.names), codes, None, labeled.tokens, documents)


def _is_conll(path: Path) -> bool:
    return path.name.removesuffix(".gz").endswith(CONLL + CONLLU)


def _of_conll(file: Path, tag: str, labels: Sequence[str]) -> ItemLabels:
    """Read tags of tokens from a file in CoNLL columns; items are named by sentence and position, from 1."""
    names: dict[str, str] = {}
    documents: dict[str, str] = {}
    tokens: dict[str, str] = {}
    known = set(labels)
    universal = file.name.removesuffix(".gz").endswith(CONLLU)
    sentence, place, document = 1, 0, 0
    with open_lines(file) as (name, lines):
        if universal and tag not in CONLLU_TAGS:
            message = f"there is no column {shown(tag)} with tags"
            hint = f"set the key label to one of {listed(list(CONLLU_TAGS)[1:])}"
            raise InputError(message, hint, code="column-missing", file=name)
        for number, line in enumerate(lines, 1):
            marked = NEW_DOCUMENT.match(line) if universal else line.startswith(DOCUMENT_START)
            if marked or not line.strip():
                sentence, place, document = sentence + (place > 0), 0, document + bool(marked)
                continue
            if universal:
                parts = _conllu_word(line, place + 1, tag, name, number)
                if not parts:
                    continue
            else:
                parts = line.split("\t") if "\t" in line else line.split()
            if len(parts) < 2 or not parts[-1]:
                message = f"a token has no tag: {shown(line)}"
                hint = "write the token, a tab and its tag; a blank line ends a sentence"
                raise InputError(message, hint, code="missing-value", file=name, line=number)
            if parts[-1] not in known:
                message = f"tag {shown(parts[-1])} is not one of the task's labels ({listed(labels)})"
                hint = "repair it, or name it among the labels"
                raise InputError(message, hint, code="class-unknown", file=name, line=number)
            place += 1
            item = f"{sentence}-{place}"
            names[item], tokens[item] = parts[-1], parts[0]
            documents[item] = f"document {document}" if document else str(sentence)
    return ItemLabels(name, names, documents, 0, tokens)


def _conllu_word(line: str, following: int, column: str, file: str, number: int) -> list[str]:
    """Return a word and its tag; nothing for a comment, a multiword token or an empty node."""
    fields = line.split("\t")
    if line.startswith("#") or (len(fields) == CONLLU_COLUMNS and OTHER_NODE.fullmatch(fields[0])):
        return []
    if len(fields) != CONLLU_COLUMNS or fields[0] != str(following):
        message = f"the line is not word {following} of a sentence in ten columns: {shown(line)}"
        hint = "separate the ten columns of CoNLL-U by tabs, and put a blank line after each sentence"
        raise InputError(message, hint, code="file-row", file=file, line=number)
    return [fields[1], fields[CONLLU_TAGS[column]]]


NAMED = "name it with the key {}"


def _role(table: Annotators | Reference | System | Folds, part: str, **more: Any) -> Role:
    # The column of documents is the only one that may be missing if no key names it.
    column = getattr(table, part, None) or (None if part == "document" else part)
    return Role(part, column=column, how=NAMED.format(part), **more)


def _groups(items: Sequence[str], group: Integers | None, names: Sequence[str]) -> dict[str, str]:
    """Return the name of each item's group; empty if there are no groups."""
    return {} if group is None else dict(zip(items, (names[code] for code in group.tolist()), strict=True))


def _of_columns(file: Table, table: System, columns: Sequence[Role]) -> SystemOutput:
    """Read probabilities from one column per label."""
    given = read_table(file, [_role(table, "item", once=True), *columns])
    matrix = np.column_stack([given[role.part] for role in columns])
    off = np.flatnonzero(np.abs(matrix.sum(axis=1) - 1) > SUM_OFF)
    if len(columns) > 1 and len(off):
        message = f"the probabilities add up to {matrix[off[0]].sum():.4g}"
        raise given.error(
            int(off[0]), message, "write the probabilities of all labels of the task", "class-sum"
        )
    return SystemOutput(file.name, given.names["item"], None, matrix, None, int("document" in file.columns))


def _of_classes(name: str, labels: Sequence[str]) -> SystemOutput:
    """Read probabilities from a long prediction table of classes."""
    predictions, batch, items, place = _by_item(name, labels)
    if predictions.threshold is not None:
        message = f"scores below {predictions.threshold:g} were dropped"
        raise InputError(message, "write the table without a threshold", code="threshold", file=name)
    probabilities = np.zeros((len(batch.score), len(labels)))
    probabilities[:, place] = batch.score
    return SystemOutput(name, tuple(items), None, probabilities)


def _gold_of_classes(name: str, labels: Sequence[str]) -> ItemLabels:
    """Read the gold classes of a long prediction table, and its clusters as documents."""
    predictions, batch, items, place = _by_item(name, labels)
    names = {
        item: labels[place[code]] for item, code in zip(items, batch.label.tolist(), strict=True) if code >= 0
    }
    documents: dict[str, str] = {}
    if batch.cluster is not None:
        called = [text(name_of_cluster) for name_of_cluster in predictions.clusters]
        documents = {item: called[code] for item, code in zip(items, batch.cluster.tolist(), strict=True)}
    return ItemLabels(name, names, documents, len(items) - len(names))


def _by_item(name: str, labels: Sequence[str]) -> tuple[Predictions, Batch, list[str], list[int]]:
    """Read a long table by item: scores, names of items, and the index of each class among the labels."""
    predictions = open_predictions(name).by_item()
    batch = predictions.read(items=True)
    classes = [class_name(class_of) for class_of in predictions.classes]
    unknown = [class_of for class_of in classes if class_of not in labels]
    if unknown:
        message = f"class {shown(unknown[0])} is not one of the task's labels ({listed(labels)})"
        raise InputError(message, "name it among the labels", code="class-unknown", file=name)
    assert batch.item is not None
    items = [text(predictions.items[code]) for code in batch.item.tolist()]
    return predictions, batch, items, [list(labels).index(class_of) for class_of in classes]
