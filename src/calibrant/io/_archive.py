"""``.npz`` archives of class probabilities or logits, read without pickle."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from calibrant.exceptions import FormatError, InputError
from calibrant.io.batches import note_on_ignored
from calibrant.io.columns import IGNORED, Column, class_name
from calibrant.io.origin import Origin, array_of, members, reading
from calibrant.io.predictions import LISTS, Predictions
from calibrant.io.roles import Role
from calibrant.io.score_columns import check_logits
from calibrant.io.tables import THRESHOLD_KEY, MemoryTable, threshold_of

if TYPE_CHECKING:
    import pyarrow as pa

KNOWN = ("probs", "logits", "labels", "classes", "clusters", "items", "weights", "threshold")
# Usual names of others: the trainer of Hugging Face, whose metrics are no arrays and are not read, and
# scikit-learn.
USUAL = {
    "predictions": "logits",
    "y_prob": "probs",
    "y_proba": "probs",
    "y_score": "probs",
    "label_ids": "labels",
    "y_true": "labels",
    "ids": "items",
}
NUMBERED = re.compile(
    r"(logits|probs|labels)_\d+"
)  # arrays of several models or outputs, of which one is read


def open_archive(origin: Origin) -> Predictions:
    """Open the arrays as a wide table with one column of lists of scores; one score per row as a long one."""
    loaded = _load(origin, labelled=True)
    if loaded.get("probs", np.empty((0, 0))).ndim == 1:
        return _open_long(origin, loaded)
    rows, classes, left_out = _rows(origin, loaded, labelled=True)
    score, label = rows.schema.names[0], rows.schema.field("labels").type
    roles = {
        LISTS: Role(LISTS, "finite" if score == "logits" else "score", score),
        "label": Role("label", "label" if _is_text(label) else "position", "labels"),
    }
    for part in ("cluster", "item", "weight"):
        if f"{part}s" in rows.schema.names:
            roles[part] = Role(part, "finite" if part == "weight" else "name", f"{part}s")
    table = MemoryTable(rows, origin.name)
    predictions = Predictions(table, roles, classes=classes, threshold=threshold_of(table))
    if left_out:
        predictions.notes = predictions.source_notes = (note_on_ignored(left_out),)
    return predictions


def _open_long(origin: Origin, arrays: dict[str, NDArray[Any]]) -> Predictions:
    """Open probabilities of one event as a long table."""
    import pyarrow as pa

    score = arrays["probs"]
    labels = _column(origin, arrays, "labels", len(score))
    if labels is None:
        hint = f"add it as (n,) labels, 0 or 1; the archive contains {_list(arrays)}"
        raise _error(origin, "the archive has no labels", hint, "column-missing")
    roles = {"score": Role("score", "score", "probs"), "label": Role("label", "label", "labels")}
    columns: dict[str, Any] = {"probs": pa.array(score), "labels": pa.array(labels)}
    for part in ("cluster", "item", "weight"):
        values = _column(origin, arrays, f"{part}s", len(score))
        if values is not None:
            roles[part] = Role(part, "finite" if part == "weight" else "name", f"{part}s")
            columns[f"{part}s"] = pa.array(values.astype(np.float64) if part == "weight" else values.tolist())
    return Predictions(MemoryTable(pa.RecordBatch.from_pydict(columns), origin.name), roles)


def archive_table(origin: Origin) -> MemoryTable:
    """Return an archive, with or without labels, as a wide table with the scores as they are."""
    import pyarrow as pa

    rows, classes, _ = _rows(origin, _load(origin, labelled=False), labelled=False)
    stored = rows.schema.names
    columns = {part: rows.column(f"{part}s") for part in ("item", "cluster") if f"{part}s" in stored}
    if "labels" in stored:
        label = Column(rows.column("labels"), origin.name, "labels", 1)
        if not _is_text(label.values.type):
            columns["label"] = pa.array(np.array(classes, object)[label.class_positions(len(classes))])
        else:
            label.class_index({name: place for place, name in enumerate(classes)})
            columns["label"] = label.values
    if "weights" in stored:
        columns["weight"] = rows.column("weights")
    score = stored[0]
    kind = "logit_" if score == "logits" else "p_"
    matrix = Column(rows.column(0), origin.name, score, 1).lists(len(classes))
    columns |= {f"{kind}{name}": pa.array(values) for name, values in zip(classes, matrix.T, strict=True)}
    made = pa.RecordBatch.from_pydict(columns)
    return MemoryTable(made.replace_schema_metadata(rows.schema.metadata), origin.name)


def _rows(
    origin: Origin, loaded: dict[str, NDArray[Any]], *, labelled: bool
) -> tuple[pa.RecordBatch, tuple[str, ...], int]:
    """Return the arrays as columns, first the lists of scores, the classes, and how many rows do not count.

    If not ``labelled``, an archive without labels is read too.
    """
    import pyarrow as pa

    arrays = _counted(origin, loaded)
    stored = [name for name in ("probs", "logits") if name in arrays]
    if len(stored) != 1:
        what = "both probs and logits" if stored else "neither probs nor logits"
        raise _error(
            origin, f"the archive has {what}", f"store exactly one of them; it holds {_list(arrays)}"
        )
    (score,) = stored
    matrix = arrays[score]
    if matrix.ndim != 2 or matrix.shape[1] < 2:
        hint = "store one column per class, two or more; for one view write a long table with score and label"
        raise _error(origin, f"{score} has shape {matrix.shape}, expected (n, K)", hint, "shape")
    if matrix.dtype.kind not in "fiu":
        raise _error(origin, f"{score} has dtype {matrix.dtype}", "store numbers", "column-type")
    rows, width = matrix.shape
    if rows == 0:
        raise _error(origin, "there are no rows", "write at least one; labels of -100 do not count", "empty")
    classes = tuple(class_name(value) for value in arrays.get("classes", np.arange(width)).ravel().tolist())
    if len(classes) != width or len(set(classes)) != width:
        raise _error(
            origin,
            f"classes has {len(classes)} names ({len(set(classes))} distinct) and {score} {width} columns",
            "name each column once",
            "length",
        )
    flat = np.ascontiguousarray(matrix, np.float64).ravel()
    columns: dict[str, Any] = {score: pa.FixedSizeListArray.from_arrays(pa.array(flat), width)}
    labels = _column(origin, arrays, "labels", rows)
    if labels is not None:
        if labels.dtype.kind not in "iub" and not (labels.dtype.kind == "U" and "classes" in arrays):
            hint = "store each label as a whole number, the position of its class from 0, or add classes"
            raise _error(origin, f"labels has dtype {labels.dtype}", hint, "column-type")
        columns["labels"] = pa.array(labels)
    elif labelled:
        hint = f"add it as (n,) class positions; the archive contains {_list(arrays)}"
        raise _error(origin, "the archive has no labels", hint, "column-missing")
    for name in ("clusters", "items", "weights"):
        values = _column(origin, arrays, name, rows)
        if values is None:
            continue
        if name == "weights" and values.dtype.kind in "fiub":
            columns[name] = pa.array(values.astype(np.float64))
        elif name == "clusters" and "clusters" not in loaded:
            columns[name] = _texts(origin, arrays)
        else:  # hashes of 64 bits exceed Arrow's default
            columns[name] = pa.array(values.tolist(), pa.uint64() if values.dtype.kind == "u" else None)
    metadata = {}
    if (threshold := arrays.get("threshold")) is not None:
        if threshold.ndim or threshold.dtype.kind not in "fiu" or not 0 <= threshold < 1:
            message, hint = "threshold is not one number in [0, 1)", "store a single number, or leave it out"
            raise _error(origin, message, hint, "threshold")
        metadata[THRESHOLD_KEY] = repr(float(threshold)).encode()
    left_out = len(loaded["labels"]) - rows if "labels" in loaded and loaded["labels"].ndim == 1 else 0
    return pa.RecordBatch.from_pydict(columns).replace_schema_metadata(metadata), classes, left_out


def _texts(origin: Origin, arrays: dict[str, NDArray[Any]]) -> pa.Array:
    """Return names of the texts of tokens with the file's name, since other files number theirs alike.

    Files of the same name in different folders differ in the checksum of their labels.
    """
    import pyarrow as pa

    texts, code = np.unique(arrays["clusters"], return_inverse=True)
    file = f"{Path(origin.name).stem}-{crc32(arrays['labels'].astype(np.int64).tobytes()):08x}"
    names = [f"{file}:{text}" for text in texts.tolist()]
    return pa.DictionaryArray.from_arrays(pa.array(code), pa.array(names))


def _is_text(kind: pa.DataType) -> bool:
    """Return True for the type of names of classes, False for that of their positions."""
    return str(kind) in ("string", "large_string", "string_view")


def _load(origin: Origin, *, labelled: bool) -> dict[str, NDArray[Any]]:
    with reading(origin.name), origin.open() as file, zipfile.ZipFile(file) as archive:
        there = {name.removesuffix(".npy"): name for name in archive.namelist()}
        names = list(there)
        trainer = "predictions" in names and "logits" not in names
        if labelled and names == ["predictions"]:
            hint = "save the labels too: numpy.savez(FILE, predictions=..., label_ids=...)"
            raise _error(origin, "the archive has predictions without label_ids", hint, "column-missing")
        if "predictions" in names and "label_ids" in names:
            names = [name for name in names if name != "metrics"]
        meanings = [_meaning(name) for name in names]
        for name, meaning in zip(names, meanings, strict=True):
            if meanings.count(meaning) > 1:
                hint = "write an archive with one of them"
                raise _error(origin, f"{name} is not the only array of {meaning}", hint, "column-ambiguous")
        unknown = [name for name, meaning in zip(names, meanings, strict=True) if meaning not in KNOWN]
        if unknown:
            hint = f"rename it or leave it out; the names are {', '.join(KNOWN)}"
            raise _error(origin, f"unknown array {unknown[0]!r}", hint, "column")
        unpacked = members(archive, [there[name] for name in names], file.size(), origin.name)
        arrays = {
            _meaning(name): _array(origin, name, content)
            for name, (_, content) in zip(names, unpacked, strict=True)
        }
        if trainer and arrays["logits"].ndim > 1 and arrays["logits"].dtype.kind in "fiu":
            check_logits(arrays["logits"], origin.name, "predictions", fewest=1)
    return arrays


def _meaning(name: str) -> str:
    numbered = NUMBERED.fullmatch(name)
    return numbered[1] if numbered else USUAL.get(name, name)


def _array(origin: Origin, name: str, content: bytes) -> NDArray[Any]:
    try:
        array = array_of(content)
        if array.ndim > 1 and len(array) and not array.size:
            raise ValueError("its rows have no columns")
        return array
    except (ValueError, MemoryError) as error:
        if "pickle" in str(error).lower():
            hint = "store text as a NumPy string array, not as objects"
            if name in ("predictions", "logits", "probs"):
                hint = f"store one array; of a tuple the one with a score per class, often {name}[0]"
            raise _error(origin, f"{name} holds Python objects", hint, "column-type") from error
        raise _error(origin, f"{name} is no array, or damaged", "write the archive again") from error


def _counted(origin: Origin, arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Put tokens of texts (n, tokens, K) below each other, the text as cluster, without ignored labels."""
    name = "logits" if "logits" in arrays else "probs"
    labels, matrix = arrays.get("labels"), arrays.get(name)
    if labels is None or matrix is None or labels.dtype.kind not in "iu":
        return arrays
    if not labels.ndim or not matrix.ndim:  # refused by whoever needs them, with their shape
        return arrays
    if matrix.shape == labels.shape and matrix.dtype.kind in "iu":
        message = f"{name} has the shape of labels, {matrix.shape}, and whole numbers"
        hint = "these look like predicted classes (argmax): save the scores of all classes"
        raise _error(origin, message, hint, "shape")
    texts = np.arange(len(labels))
    if matrix.ndim == 3:
        if labels.shape != matrix.shape[:2]:
            message = f"labels has shape {labels.shape} and {name} {matrix.shape}"
            raise _error(origin, message, "store one label per token", "length")
        longest, width = matrix.shape[1:]
        matrix, labels, texts = matrix.reshape(-1, width), labels.ravel(), np.repeat(texts, longest)
        arrays = {**arrays, name: matrix, "labels": labels}
        for part in ("clusters", "weights"):
            if part in arrays and arrays[part].ndim == 1 and len(arrays[part]) * longest == len(labels):
                arrays[part] = np.repeat(arrays[part], longest)
        arrays.setdefault("clusters", texts)
    kept = labels != IGNORED
    if labels.ndim != 1 or kept.all() or len(matrix) != len(labels):
        return arrays
    parts = (name, "labels", "clusters", "items", "weights")
    return {
        part: values[kept] if part in parts and values.ndim and len(values) == len(kept) else values
        for part, values in arrays.items()
    }


def _column(origin: Origin, arrays: dict[str, NDArray[Any]], name: str, rows: int) -> NDArray[Any] | None:
    array = arrays.get(name)
    if array is None:
        return None
    hint = "store one value per row"
    if array.ndim != 1:
        if name == "labels":
            hint += (
                ", the position of its class; repeat the row of an item with several labels, and add clusters"
            )
        raise _error(origin, f"{name} has shape {array.shape}, expected (n,)", hint, "shape")
    if array.dtype.kind in "Vc":
        raise _error(origin, f"{name} has dtype {array.dtype}", hint, "dtype")
    if len(array) != rows:
        raise _error(origin, f"{name} has {len(array)} values for {rows} rows", hint, "length")
    return array


def _list(arrays: dict[str, NDArray[Any]]) -> str:
    return ", ".join(sorted(arrays)) or "nothing"


def _error(origin: Origin, message: str, hint: str, code: str = "archive") -> InputError:
    kind = FormatError if code == "archive" else InputError
    return kind(message, hint, code=code, file=origin.name)
